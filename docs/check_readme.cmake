# Fails unless the first ```cpp block of `readme` is the text of `example`.

foreach(file IN ITEMS readme example)
  if(NOT EXISTS "${${file}}")
    message(FATAL_ERROR "${${file}} does not exist")
  endif()
  file(READ "${${file}}" ${file}_text)
endforeach()

set(fence "```cpp\n")
string(FIND "${readme_text}" "${fence}" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${readme} has no ```cpp block")
endif()
string(LENGTH "${fence}" fence_length)
math(EXPR begin "${begin} + ${fence_length}")
string(SUBSTRING "${readme_text}" ${begin} -1 block)
string(FIND "${block}" "\n```" length)
if(length EQUAL -1)
  message(FATAL_ERROR "the first ```cpp block of ${readme} does not end")
endif()
string(SUBSTRING "${block}" 0 ${length} block)

string(STRIP "${block}" block)
string(STRIP "${example_text}" example_text)
if(NOT block STREQUAL example_text)
  message(FATAL_ERROR "The first ```cpp block of ${readme} differs from ${example}.\n"
                      "In the README:\n${block}\n\nIn the example:\n${example_text}")
endif()
