# What every target of the project is compiled and linked with.

set(LUTILE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wwrite-strings
  -Wmissing-prototypes -Wold-style-definition -Wundef -Wvla)

if(LUTILE_SANITIZE)
  set(LUTILE_SANITIZE_FLAGS -fsanitize=${LUTILE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
endif()

function(lutile_compile target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # The algebra is worth the size of -O3, CMake's default; the rest is not.
  if(NOT target MATCHES "^(core|bench)")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  target_compile_options(${target} PRIVATE ${LUTILE_WARNINGS} ${LUTILE_SANITIZE_FLAGS}
    $<$<BOOL:${LUTILE_WERROR}>:-Werror>)
endfunction()

function(lutile_link target)
  target_link_options(${target} PRIVATE ${LUTILE_SANITIZE_FLAGS})
  target_link_libraries(${target} PRIVATE m)
endfunction()
