# Uses the package installed in ${tree} as others would: ${test} says how.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(ENV{PKG_CONFIG_PATH} ${tree}/${libdir}/pkgconfig)
set(script ${source}/examples/embed/plan.lua)

function(pkg_config result)
  execute_process(COMMAND pkg-config --cflags --libs ${ARGN}
    OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(options UNIX_COMMAND "${options}")
  set(${result} ${options} PARENT_SCOPE)
endfunction()

if(test STREQUAL cmake)
  run(${CMAKE_COMMAND} -S ${source}/examples/embed -B ${work} -G ${generator}
    -DCMAKE_C_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${tree})
  run(${CMAKE_COMMAND} --build ${work})
  run(${work}/host ${script})

elseif(test STREQUAL pkgconfig)
  file(COPY ${source}/examples/embed/ DESTINATION ${work})
  run(make -C ${work} CC=${compiler})
  run(${work}/host ${script})

elseif(test STREQUAL shared)
  pkg_config(options lutile)
  list(APPEND options -Wl,-rpath,${tree}/${libdir})
  run(${compiler} ${source}/spec/capi/algebra.c -o ${work}/capi ${options})
  run(${work}/capi)
  # The program in the README, which says what it prints.
  file(READ ${source}/README.md readme)
  string(REGEX MATCH "```c\n([^`]*)```[^`]*`([^`]*)`" shown "${readme}")
  file(WRITE ${work}/readme.c "${CMAKE_MATCH_1}")
  set(expected "${CMAKE_MATCH_2}\n")
  run(${compiler} ${work}/readme.c -o ${work}/readme ${options})
  execute_process(COMMAND ${work}/readme OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT printed STREQUAL expected)
    message(FATAL_ERROR "the program in README.md prints ${printed}")
  endif()

elseif(test STREQUAL stock_lua)
  set(ENV{LUA_PATH} "${tree}/${lua_dir}/?.lua")
  set(ENV{LUA_CPATH} "${tree}/${lua_cdir}/?.so")
  run(lua5.4 -e "print(require 'lutile'.make_layout({4, 2}, {2, 1}):complement(16))")
  run(lua5.4 -e "assert(require 'lutile.help'.make)")

elseif(test STREQUAL command)
  file(COPY ${tree}/bin/lutile DESTINATION ${work})
  set(ENV{LUA_PATH} "")
  set(ENV{LUA_CPATH} "")
  run(strip ${work}/lutile)
  file(SIZE ${work}/lutile size)
  if(size GREATER 1048576)
    message(FATAL_ERROR "the stripped command has ${size} bytes, more than 1 MiB")
  endif()
  run(${work}/lutile -e "print(~make_layout({3, 8}, {1, 3}) .. make_layout({3, 8}, {8, 1}))")
  run(${work}/lutile -e "assert(require 'lutile.help'.make)")

else()
  message(FATAL_ERROR "no such test: ${test}")
endif()
