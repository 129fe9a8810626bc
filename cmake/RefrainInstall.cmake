# Install rules and the CMake package: find_package(refrain) gives refrain::refrain.

include(CMakePackageConfigHelpers)

set(refrain_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/refrain")

install(
  TARGETS refrain
  EXPORT refrainTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILE_SET cuda_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(
  EXPORT refrainTargets
  NAMESPACE refrain::
  DESTINATION "${refrain_package_dir}")

# A static library leaves its own dependencies to whoever links it.
get_target_property(refrain_type refrain TYPE)
set(REFRAIN_NEEDS_THREADS OFF)
set(REFRAIN_NEEDS_CUDA OFF)
if(refrain_type STREQUAL "STATIC_LIBRARY")
  set(REFRAIN_NEEDS_THREADS ON)
  set(REFRAIN_NEEDS_CUDA ${REFRAIN_HAS_CUDA})
endif()

configure_package_config_file(cmake/refrainConfig.cmake.in "${PROJECT_BINARY_DIR}/refrainConfig.cmake"
                              INSTALL_DESTINATION "${refrain_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/refrainConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/refrainConfig.cmake" "${PROJECT_BINARY_DIR}/refrainConfigVersion.cmake"
        DESTINATION "${refrain_package_dir}")
