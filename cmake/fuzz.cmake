# Fuzz targets (libFuzzer, so clang): one program a file fuzz_<name>, under Address- and
# UndefinedBehaviorSanitizer. Run one as
#
#     build/fuzz/fuzz_ops -max_total_time=60 <new inputs' folder> spec/fuzz/corpus/ops

if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "LUTILE_FUZZ needs clang, for libFuzzer: use the preset 'fuzz'")
endif()

# The library is watched for coverage; comparisons are not, which would take half of the time.
set(fuzz_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
set(fuzz_coverage -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)

file(GLOB fuzz_core CONFIGURE_DEPENDS src/algebra/*.c)
add_library(fuzz_core OBJECT ${fuzz_core})
lutile_compile(fuzz_core)
target_compile_options(fuzz_core PRIVATE ${fuzz_sanitizers} ${fuzz_coverage})

file(GLOB fuzz_support CONFIGURE_DEPENDS spec/fuzz/support/*.c)
file(GLOB fuzz_targets CONFIGURE_DEPENDS spec/fuzz/*.c)
foreach(source ${fuzz_targets})
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source} ${fuzz_support} $<TARGET_OBJECTS:fuzz_core>)
  lutile_compile(fuzz_${name})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/spec/fuzz/support)
  target_compile_options(fuzz_${name} PRIVATE ${fuzz_sanitizers})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_${name} PRIVATE m)
endforeach()
