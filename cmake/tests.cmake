# The tests, run by CTest: the specs, the C API, hosts that embed, the examples, an installation.

set(test_environment LUTILE_COMMAND=$<TARGET_FILE:lutile_command>
  LUTILE_CACHE=${PROJECT_BINARY_DIR}/kernels)

# ---- Specs, by busted in the command itself: a test each file ----------------------------------

file(GLOB_RECURSE specs RELATIVE ${PROJECT_SOURCE_DIR}/spec CONFIGURE_DEPENDS spec/*_spec.lua)
foreach(spec ${specs})
  string(REGEX REPLACE "_spec\\.lua$" "" name ${spec})
  string(REPLACE "/" "_" name ${name})
  add_test(NAME spec_${name} COMMAND lutile_command spec/run.lua --output=plainTerminal spec/${spec}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(spec_${name} PROPERTIES ENVIRONMENT "${test_environment}")
endforeach()

# Those that compile kernels for the host take longest: they start first.
set_tests_properties(spec_plan_sm90_run spec_plan_run spec_plan_edit spec_plan_simt
  spec_cuda_kernels PROPERTIES COST 100 LABELS emulated)

# ---- C: each file is a program that prints "N passed, N failed" -------------------------------

file(GLOB capi_tests CONFIGURE_DEPENDS spec/capi/*.c)
foreach(source ${capi_tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(capi_${name} ${source})
  lutile_compile(capi_${name})
  lutile_link(capi_${name})
  target_link_libraries(capi_${name} PRIVATE lutile Threads::Threads)
  add_test(NAME capi_${name} COMMAND capi_${name})
endforeach()

if(LUTILE_CUDA AND LUTILE_CUDA_INCLUDE_DIR)
  foreach(name batch memory)
    add_executable(cuda_${name} spec/cuda/${name}.c)
    lutile_compile(cuda_${name})
    lutile_link(cuda_${name})
    target_link_libraries(cuda_${name} PRIVATE lutile)
    add_test(NAME cuda_${name} COMMAND cuda_${name})
  endforeach()

  add_library(cuda_fake_driver MODULE spec/cuda/fake_driver.c) # default visibility: it exports
  add_executable(cuda_states spec/cuda/states.c)
  lutile_compile(cuda_states)
  lutile_link(cuda_states)
  target_include_directories(cuda_states SYSTEM PRIVATE ${LUA_INCLUDE_DIR})
  target_link_libraries(cuda_states PRIVATE lutile_lua ${LUTILE_LUA_LIBRARIES})
  add_test(NAME cuda_states COMMAND cuda_states)
  set_tests_properties(cuda_states PROPERTIES ENVIRONMENT
    "LUTILE_LIBCUDA=$<TARGET_FILE:cuda_fake_driver>;LUTILE_CACHE=${PROJECT_BINARY_DIR}/cuda_cache;FAKE_CUDA_ARGUMENTS=16,4")
endif()

add_test(NAME cmake_cuda COMMAND ${CMAKE_COMMAND} -Dwork=${PROJECT_BINARY_DIR}/cuda_test
  -P ${PROJECT_SOURCE_DIR}/cmake/test_cuda.cmake)

file(GLOB embed_tests CONFIGURE_DEPENDS spec/embed/*.c)
foreach(source ${embed_tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(embed_${name} ${source})
  lutile_compile(embed_${name})
  lutile_link(embed_${name})
  target_include_directories(embed_${name} SYSTEM PRIVATE ${LUA_INCLUDE_DIR})
  target_link_libraries(embed_${name} PRIVATE lutile_lua ${LUTILE_LUA_LIBRARIES})
  add_test(NAME embed_${name} COMMAND embed_${name})
endforeach()
target_link_options(embed_version PRIVATE LINKER:--wrap=luaL_checkversion_)

# ---- Examples ---------------------------------------------------------------------------------

file(GLOB examples CONFIGURE_DEPENDS examples/*.lua)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/examples) # where they write
foreach(source ${examples})
  get_filename_component(name ${source} NAME_WE)
  add_test(NAME example_${name} COMMAND lutile_command ${source}
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()

# ---- The installed package --------------------------------------------------------------------

if(LUTILE_SANITIZE)
  return() # a host would have to be built with the sanitizer too
endif()

set(install_tree ${PROJECT_BINARY_DIR}/install_tree)
add_test(NAME install COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${install_tree})
set_tests_properties(install PROPERTIES FIXTURES_SETUP install_tree)

function(add_install_test name)
  add_test(NAME install_${name} COMMAND ${CMAKE_COMMAND} -Dtest=${name} -Dtree=${install_tree}
    -Dlibdir=${CMAKE_INSTALL_LIBDIR} -Dlua_dir=${LUTILE_LUA_DIR} -Dlua_cdir=${LUTILE_LUA_CDIR}
    -Dsource=${PROJECT_SOURCE_DIR} -Dwork=${PROJECT_BINARY_DIR}/install_test/${name}
    -Dcompiler=${CMAKE_C_COMPILER} -Dgenerator=${CMAKE_GENERATOR}
    -P ${PROJECT_SOURCE_DIR}/cmake/test_install.cmake)
  set_tests_properties(install_${name} PROPERTIES FIXTURES_REQUIRED install_tree)
endfunction()

add_install_test(cmake)      # examples/embed by find_package
add_install_test(pkgconfig)  # examples/embed by pkg-config
add_install_test(shared)     # the C API from the shared library
add_install_test(stock_lua)  # require "lutile" in lua5.4
add_install_test(command)    # the command alone, copied elsewhere
