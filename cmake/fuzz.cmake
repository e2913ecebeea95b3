# Fuzz targets (libFuzzer, so clang): one program a file fuzz_<name>, under Address- and
# UndefinedBehaviorSanitizer. Run one as
#
#     build/fuzz/fuzz_ops -max_total_time=60 <new inputs' folder> spec/fuzz/corpus/ops

if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "LUTILE_FUZZ needs clang, for libFuzzer: use the preset 'fuzz'")
endif()

set(fuzz_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
  -fno-omit-frame-pointer)

file(GLOB fuzz_sources CONFIGURE_DEPENDS src/algebra/*.c spec/fuzz/support/*.c)
add_library(fuzz_core OBJECT ${fuzz_sources})
lutile_compile(fuzz_core)
target_compile_options(fuzz_core PRIVATE ${fuzz_flags})

file(GLOB fuzz_targets CONFIGURE_DEPENDS spec/fuzz/*.c)
foreach(source ${fuzz_targets})
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source} $<TARGET_OBJECTS:fuzz_core>)
  lutile_compile(fuzz_${name})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/spec/fuzz/support)
  target_compile_options(fuzz_${name} PRIVATE ${fuzz_flags})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_${name} PRIVATE m)
endforeach()
