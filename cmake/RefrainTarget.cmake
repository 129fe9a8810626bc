# refrain_target_defaults(<target>): the language level, warnings and sanitizers that every target of
# this project shares. None of it reaches a consumer.

if(NOT REFRAIN_SANITIZE MATCHES "^(|address|undefined|address,undefined|thread)$")
  message(FATAL_ERROR "REFRAIN_SANITIZE is empty, \"address,undefined\" or \"thread\", not \"${REFRAIN_SANITIZE}\"")
endif()

function(refrain_target_defaults target)
  set_target_properties(
    ${target}
    PROPERTIES CXX_STANDARD 20
               CXX_STANDARD_REQUIRED ON
               CXX_EXTENSIONS OFF
               CUDA_STANDARD 20
               CUDA_STANDARD_REQUIRED ON
               CUDA_EXTENSIONS OFF
               POSITION_INDEPENDENT_CODE ON
               CUDA_RUNTIME_LIBRARY "$<IF:$<STREQUAL:${REFRAIN_CUDART},static>,Static,Shared>")

  target_compile_options(
    ${target}
    PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;$<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>;-Wnon-virtual-dtor;-Woverloaded-virtual>"
      "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra>")
  # GCC 12 sees overlapping copies in std::string's operator+ (GCC bug 105651) and unset values in empty std::optionals
  # where there are none.
  target_compile_options(
    ${target}
    PRIVATE "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-maybe-uninitialized>")
  if(REFRAIN_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                                             "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>")
  endif()

  if(REFRAIN_SANITIZE)
    set(sanitize -fsanitize=${REFRAIN_SANITIZE} -fno-omit-frame-pointer)
    if(REFRAIN_SANITIZE MATCHES "undefined")
      # Null is looked at by the address sanitizer; at each use once more it doubles the time of compiling.
      list(APPEND sanitize -fno-sanitize-recover=all -fno-sanitize=null)
    endif()
    foreach(flag IN LISTS sanitize)
      string(REPLACE "," "\\," nvcc_flag "${flag}")
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${flag}>"
                                               "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${nvcc_flag}>")
    endforeach()
    # A static library is linked by whoever uses it.
    target_link_options(${target} PRIVATE -fsanitize=${REFRAIN_SANITIZE})
  endif()
endfunction()
