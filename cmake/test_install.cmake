# Uses the package installed in ${tree} as others would: ${test} says how.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(ENV{PKG_CONFIG_PATH} ${tree}/${libdir}/pkgconfig)
set(script ${source}/examples/embed/plan.lua)

# Options that pkg-config has for a package whose .pc file names another prefix than ${tree}.
function(pkg_config result package)
  execute_process(COMMAND pkg-config --define-variable=prefix=${tree} ${ARGN} ${package}
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
  pkg_config(lutile lutile-lua --cflags --libs)
  pkg_config(lua lua5.4 --cflags --libs)
  run(${compiler} ${source}/examples/embed/host.c -o ${work}/host ${lutile} ${lua})
  run(${work}/host ${script})

elseif(test STREQUAL shared)
  pkg_config(lutile lutile --cflags --libs)
  file(GLOB sources ${source}/spec/capi/algebra.c)
  run(${compiler} ${sources} -o ${work}/capi ${lutile} -Wl,-rpath,${tree}/${libdir})
  run(${work}/capi)

elseif(test STREQUAL stock_lua)
  set(ENV{LUA_PATH} "${tree}/${lua_dir}/?.lua")
  set(ENV{LUA_CPATH} "${tree}/${lua_cdir}/?.so")
  run(lua5.4 -e "local lutile = require 'lutile'; print(lutile.parse '(4,2):(2,1)' .. lutile.parse '(2,2):(1,2)')")
  run(lua5.4 -e "assert(require 'lutile.help'.make)")

elseif(test STREQUAL command)
  file(COPY ${tree}/bin/lutile DESTINATION ${work})
  set(ENV{LUA_PATH} "")
  set(ENV{LUA_CPATH} "")
  run(${work}/lutile -e "print(~make_layout({3, 8}, {1, 3}) .. make_layout({3, 8}, {8, 1}))")
  run(${work}/lutile -e "assert(require 'lutile.help'.make)")

else()
  message(FATAL_ERROR "no such test: ${test}")
endif()
