# Installs the library, the headers, the command, and what other projects find it by: CMake package and pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pooljit)
install(TARGETS pooljit EXPORT pooljitTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT library NAMELINK_COMPONENT dev)
install(EXPORT pooljitTargets NAMESPACE pooljit:: DESTINATION ${package_dir} COMPONENT dev)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(TARGET pooljit_static)
  install(TARGETS pooljit_static EXPORT pooljitStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(EXPORT pooljitStaticTargets NAMESPACE pooljit:: DESTINATION ${package_dir} COMPONENT dev)
endif()
if(TARGET pooljit_llvm_module)
  install(TARGETS pooljit_llvm_module LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT llvm)
endif()
if(TARGET pooljit_command)
  install(TARGETS pooljit_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()

configure_package_config_file(cmake/pooljitConfig.cmake.in pooljitConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(pooljitConfigVersion.cmake COMPATIBILITY SameMajorVersion)
# From the folder of the pkg-config file up to the prefix, so that an installation can be moved.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/pooljit.pc.in pooljit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pooljitConfig.cmake ${PROJECT_BINARY_DIR}/pooljitConfigVersion.cmake
              cmake/pooljitAddKernels.cmake
        DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/pooljit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
include(cmake/packages.cmake)
