# Configures, builds and runs one consumer project. Arguments: see CMakeLists.txt.

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${how}: exit status ${status}")
  endif()
endfunction()

if(how STREQUAL "find_package")
  file(REMOVE_RECURSE "${prefix}" "${binary_dir}")
  step("${CMAKE_COMMAND}" --install "${refrain_binary_dir}" --prefix "${prefix}" --config "${config}")
  set(arguments "-DCMAKE_PREFIX_PATH=${prefix}")
else()
  set(arguments "-DREFRAIN_SOURCE_DIR=${refrain_source_dir}" -DREFRAIN_CUDA=OFF)
endif()

include(ProcessorCount)
ProcessorCount(jobs)
step("${CMAKE_COMMAND}" -S "${source_dir}" -B "${binary_dir}" -G "${generator}"
     "-DCMAKE_CXX_COMPILER=${cxx}" "-DCMAKE_BUILD_TYPE=${config}" ${arguments})
step("${CMAKE_COMMAND}" --build "${binary_dir}" --config "${config}" --parallel ${jobs})
find_program(consumer consumer PATHS "${binary_dir}" PATH_SUFFIXES "${config}" NO_DEFAULT_PATH REQUIRED)
step("${consumer}")
find_program(curand_consumer curand_consumer PATHS "${binary_dir}" PATH_SUFFIXES "${config}" NO_DEFAULT_PATH)
if(curand_consumer)
  step("${curand_consumer}")
endif()
