# Lua 5.4: LUA_INCLUDE_DIR for the Lua layer, LUTILE_LUA_LIBRARIES for programs that hold Lua.

find_package(Lua 5.4 EXACT REQUIRED)
set(LUTILE_LUA_LIBRARIES ${LUA_LIBRARIES})

if(LUTILE_STATIC_LUA)
  find_library(LUTILE_LUA_ARCHIVE NAMES liblua5.4.a liblua-5.4.a liblua54.a liblua.a
    HINTS ENV LUA_DIR PATH_SUFFIXES lib)
  mark_as_advanced(LUTILE_LUA_ARCHIVE)
  if(LUTILE_LUA_ARCHIVE)
    set(LUTILE_LUA_LIBRARIES ${LUTILE_LUA_ARCHIVE} m ${CMAKE_DL_LIBS})
  else()
    message(STATUS "No static Lua library: the lutile command needs the shared one to run")
  endif()
endif()
