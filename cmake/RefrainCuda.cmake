# Decides whether the CUDA backend is built. Sets REFRAIN_HAS_CUDA (ON or OFF) and, if ON,
# REFRAIN_CUDART_TARGET (the CUDA runtime that the library, tests and benchmarks share).

set(REFRAIN_HAS_CUDA OFF)

if(NOT REFRAIN_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "REFRAIN_CUDA is AUTO, ON or OFF, not \"${REFRAIN_CUDA}\"")
endif()
if(NOT REFRAIN_CUDART MATCHES "^(static|shared)$")
  message(FATAL_ERROR "REFRAIN_CUDART is static or shared, not \"${REFRAIN_CUDART}\"")
endif()
if(REFRAIN_CUDA STREQUAL "OFF")
  return()
endif()

# A toolkit installed after the first configure is found by the second.
if(DEFINED CACHE{CMAKE_CUDA_COMPILER} AND NOT CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE)
endif()
# NVIDIA's packages put nvcc in a folder that is on nobody's PATH.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(REFRAIN_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
               PATH_SUFFIXES bin)
  mark_as_advanced(REFRAIN_NVCC)
  if(REFRAIN_NVCC)
    set(CMAKE_CUDA_COMPILER "${REFRAIN_NVCC}")
  endif()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(REFRAIN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "REFRAIN_CUDA=ON, but no CUDA compiler was found: put nvcc on PATH or set CUDACXX")
  endif()
  return()
endif()

# Machine code for 8.0 and 9.0, and PTX for what is newer. ("native" needs a GPU at build time.)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
endif()

enable_language(CUDA)
find_package(CUDAToolkit 12.5 REQUIRED GLOBAL)

# CMake 3.25 does not know how to ask nvcc for C++20; newer ones do. The caller's scope learns it too:
# its CUDA targets that link refrain::refrain need C++20.
foreach(kind IN ITEMS STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
    if(NOT PROJECT_IS_TOP_LEVEL)
      set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20" PARENT_SCOPE)
    endif()
  endif()
endforeach()

if(REFRAIN_CUDART STREQUAL "static")
  set(REFRAIN_CUDART_TARGET CUDA::cudart_static)
else()
  set(REFRAIN_CUDART_TARGET CUDA::cudart)
endif()
set(REFRAIN_HAS_CUDA ON)
