# lutile_embed(result files...): 'result' becomes a C source, made at build time, that holds the
# files as arrays under the names that src/lua/embedded.h declares.

function(lutile_embed result)
  set(source ${PROJECT_BINARY_DIR}/embedded.c)
  list(JOIN ARGN "|" files) # a list would be split into arguments
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-Droot=${PROJECT_SOURCE_DIR}" "-Dfiles=${files}" "-Dsource=${source}"
            -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
    COMMENT "Embedding Lua modules and kernel templates" VERBATIM)
  set(${result} ${source} PARENT_SCOPE)
endfunction()
