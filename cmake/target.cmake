# What every target of the project is compiled and linked with.

set(LUTILE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wwrite-strings
  -Wmissing-prototypes -Wold-style-definition -Wundef -Wvla)

if(LUTILE_SANITIZE)
  set(LUTILE_SANITIZE_FLAGS -fsanitize=${LUTILE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
endif()

# What layouts are worked out with is worth the size of -O3, CMake's default for a release; most of
# the rest is not.
file(GLOB fastest_sources src/algebra/arena.c src/algebra/arrange.c src/algebra/build.c
  src/algebra/coalesce.c src/algebra/complement.c src/algebra/composition*.c src/algebra/divide.c
  src/algebra/evaluate.c src/algebra/flat.c src/algebra/integer.c src/algebra/inverse.c
  src/algebra/layout.c src/algebra/offset*.c src/algebra/product.c src/algebra/value.c)
file(GLOB fast_sources src/algebra/*.c src/tile/*.c src/lua/arithmetic.c src/lua/convert.c
  src/lua/operations.c src/lua/state.c src/lua/tensor.c src/lua/values.c)
file(GLOB small_sources src/cuda/*.c src/cli/*.c src/lua/*.c)
list(REMOVE_ITEM small_sources ${fast_sources})
# Of these two rooms: text, errors, names, and what is asked once a plan.
file(GLOB rare_sources src/algebra/codomain.c src/algebra/composed_inverse.c
  src/algebra/composition_error.c src/algebra/error.c src/algebra/function*.c src/algebra/image.c
  src/algebra/modes.c src/algebra/parse.c src/algebra/recast.c src/algebra/relations.c
  src/algebra/slice_composed.c src/algebra/text.c src/algebra/vector.c src/tile/architecture.c
  src/tile/copy_atom.c src/tile/copy_table.c src/tile/gmma_smem.c src/tile/mma_atom.c
  src/tile/mma_table.c src/tile/order.c src/tile/plan_*.c src/tile/tiled_copy.c
  src/tile/tiled_mma.c src/tile/tma.c src/tile/tma_descriptor.c src/tile/traffic.c)
list(APPEND small_sources ${rare_sources})
list(REMOVE_ITEM fast_sources ${fastest_sources} ${rare_sources})
set_source_files_properties(${fast_sources} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
set_source_files_properties(${small_sources} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)

function(lutile_compile target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE ${LUTILE_WARNINGS} ${LUTILE_SANITIZE_FLAGS}
    $<$<BOOL:${LUTILE_WERROR}>:-Werror>)
endfunction()

function(lutile_link target)
  target_link_options(${target} PRIVATE ${LUTILE_SANITIZE_FLAGS})
  target_link_libraries(${target} PRIVATE m)
endfunction()
