# Installation: headers, libraries, the Lua module and its Lua files, kernels, the command; packages
# for CMake and pkg-config.

include(CMakePackageConfigHelpers)

set(LUTILE_LUA_CDIR lib/lua/5.4 CACHE STRING "Where lutile.so is installed, for package.cpath")
set(LUTILE_LUA_DIR share/lua/5.4 CACHE STRING "Where Lua modules are installed, for package.path")
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lutile)

install(FILES src/lutile.h src/lutile_cuda.h src/lutile_lua.h TYPE INCLUDE)
install(TARGETS lutile lutile_shared lutile_lua EXPORT lutile)
install(TARGETS lutile_command)
install(TARGETS lutile_module LIBRARY DESTINATION ${LUTILE_LUA_CDIR})
install(DIRECTORY lua/lutile DESTINATION ${LUTILE_LUA_DIR} FILES_MATCHING PATTERN "*.lua")
install(FILES ${kernels} DESTINATION ${CMAKE_INSTALL_DATADIR}/lutile/kernels)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT lutile NAMESPACE lutile:: DESTINATION ${package_dir} FILE lutileTargets.cmake)
configure_package_config_file(cmake/lutileConfig.cmake.in lutileConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(lutileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lutileConfig.cmake ${PROJECT_BINARY_DIR}/lutileConfigVersion.cmake
  DESTINATION ${package_dir})

# lutile.pc is the C API; lutile-lua.pc has the Lua layer as well. They name no absolute path, for the
# prefix may be chosen when installing.
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name lutile lutile-lua)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
