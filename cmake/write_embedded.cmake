# Writes ${source}: each of ${files} (separated by '|') compressed, as an array of bytes, and the table
# of them. A module lua/lutile/plan/gemm.lua is named lutile.plan.gemm, a kernel kernels/gemm.cu by
# its path. ${source}.gz is written on the way.

string(REPLACE "|" ";" files "${files}")
set(arrays "")
set(entries "")
set(index 0)
foreach(file IN LISTS files)
  file(RELATIVE_PATH name ${root} ${file})
  if(name MATCHES "^lua/(.*)\\.lua$")
    string(REPLACE "/" "." name ${CMAKE_MATCH_1})
    string(REGEX REPLACE "\\.init$" "" name ${name})
  endif()
  file(SIZE ${file} size)
  file(ARCHIVE_CREATE OUTPUT ${source}.gz PATHS ${file} FORMAT raw COMPRESSION GZip
       COMPRESSION_LEVEL 9)
  file(SIZE ${source}.gz packed_size)
  file(READ ${source}.gz bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n  " bytes "${bytes}")
  string(APPEND arrays "static const unsigned char file_${index}[] = {\n  ${bytes}};\n\n")
  string(APPEND entries "  {\"${name}\", file_${index}, ${packed_size}, ${size}},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${source} "/* Made by cmake/write_embedded.cmake. */
#include \"lua/embedded.h\"

${arrays}const ltL_embedded ltL_embedded_files[] = {
${entries}  {NULL, NULL, 0, 0}};
")
