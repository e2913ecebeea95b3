# Writes ${source}: the ${files} (separated by '|') compressed, as arrays of bytes, and the table of
# them. Files of a group are compressed together, for they are alike and used together. A module
# lua/lutile/plan/gemm.lua is named lutile.plan.gemm, a kernel kernels/gemm.cu by its path.
# ${source}.text and ${source}.gz are written on the way.

string(REPLACE "|" ";" files "${files}")

# Deflate finds what is alike within 32 KiB: with these first, and headers last, files take 1 % less
# than in the order of their names.
foreach(name cuda/init meta plan/operand plan/result)
  list(REMOVE_ITEM files ${root}/lua/lutile/${name}.lua)
  list(PREPEND files ${root}/lua/lutile/${name}.lua)
endforeach()

set(groups kernels plan rest)
foreach(file IN LISTS files)
  file(RELATIVE_PATH name ${root} ${file})
  if(name MATCHES "\\.cuh$")
    list(APPEND headers ${file})
  elseif(name MATCHES "^kernels/")
    list(APPEND files_of_kernels ${file})
  elseif(name MATCHES "^lua/lutile/(plan|tune)/")
    list(APPEND files_of_plan ${file})
  else()
    list(APPEND files_of_rest ${file})
  endif()
endforeach()
list(APPEND files_of_kernels ${headers})

# The text of a file. Of a Lua module's comments it has those above functions that others may have,
# for help shows them, and annotations, of a kernel's headers' none; other lines of comments are
# empty, so that messages count lines as in the file.
string(ASCII 1 kept)
function(read_text result file)
  file(READ ${file} text)
  if(file MATCHES "\\.lua$" AND NOT file MATCHES "/meta\\.lua$")
    string(PREPEND text "\n")
    set(before "")
    while(NOT text STREQUAL before) # from the line above the function up
      set(before "${text}")
      string(REGEX REPLACE "\n( *)--([^\n]*\n *(${kept}|function|return function))"
             "\n\\1${kept}\\2" text "${text}")
    endwhile()
    string(REGEX REPLACE "\n *--[^[\n][^\n]*" "\n" text "${text}") # --[[ has lines of its own
    string(REPLACE ${kept} "--" text "${text}")
    string(SUBSTRING "${text}" 1 -1 text)
  endif()
  if(file MATCHES "\\.cuh$")
    string(REGEX REPLACE "\n *(/\\*|\\*\\*|\\*/)[^\n]*" "\n" text "\n${text}")
    string(SUBSTRING "${text}" 1 -1 text)
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(rows "")
set(entries "")
set(number 0)
foreach(group IN LISTS groups)
  set(offset 0)
  file(WRITE ${source}.text "")
  foreach(file IN LISTS files_of_${group})
    file(RELATIVE_PATH name ${root} ${file})
    if(name MATCHES "^lua/(.*)\\.lua$")
      string(REPLACE "/" "." name ${CMAKE_MATCH_1})
      string(REGEX REPLACE "\\.init$" "" name ${name})
    endif()
    read_text(text ${file})
    file(APPEND ${source}.text "${text}")
    string(LENGTH "${text}" size)
    string(APPEND entries "  {\"${name}\", ${number}, ${offset}, ${size}},\n")
    math(EXPR offset "${offset} + ${size}")
  endforeach()
  file(ARCHIVE_CREATE OUTPUT ${source}.gz PATHS ${source}.text FORMAT raw COMPRESSION GZip
       COMPRESSION_LEVEL 9)
  file(SIZE ${source}.gz packed_size)
  file(READ ${source}.gz bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n  " bytes "${bytes}")
  string(APPEND arrays "static const unsigned char ${group}[] = {\n  ${bytes}};\n\n")
  string(APPEND rows "  {${group}, ${packed_size}, ${offset}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${source} "/* Made by cmake/write_embedded.cmake. */
#include \"lua/embedded.h\"

${arrays}const ltL_embedded_group ltL_embedded_groups[] = {
${rows}};

const ltL_embedded ltL_embedded_files[] = {
${entries}  {NULL, 0, 0, 0}};
")
