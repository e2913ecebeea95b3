# Headers of the CUDA Toolkit, 12 or later, for src/cuda. Its libraries are opened at run time.
# CUDAToolkit_ROOT names the toolkit, as it does for find_package(CUDAToolkit); so do the environment's
# CUDAToolkit_ROOT, CUDA_HOME and CUDA_PATH. LUTILE_CUDA_INCLUDE_DIR is empty where there are no
# headers: then lutile.cuda says so.

option(LUTILE_CUDA "Build CUDA support where the toolkit's headers are found" ON)

if(LUTILE_CUDA)
  find_path(LUTILE_CUDA_INCLUDE_DIR nvrtc.h
    HINTS ${CUDAToolkit_ROOT} ENV CUDAToolkit_ROOT ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /opt/cuda
    PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
  mark_as_advanced(LUTILE_CUDA_INCLUDE_DIR)
  if(LUTILE_CUDA_INCLUDE_DIR AND NOT EXISTS ${LUTILE_CUDA_INCLUDE_DIR}/cuda.h)
    set_property(CACHE LUTILE_CUDA_INCLUDE_DIR PROPERTY VALUE LUTILE_CUDA_INCLUDE_DIR-NOTFOUND)
  endif()
  if(NOT LUTILE_CUDA_INCLUDE_DIR)
    message(STATUS "No CUDA Toolkit (cuda.h, nvrtc.h): lutile is built without CUDA")
  endif()
endif()

# What is compiled, of the sources in the rooms' folders.
function(lutile_choose_cuda core lua)
  file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.[ch])
  if(LUTILE_CUDA AND LUTILE_CUDA_INCLUDE_DIR)
    list(FILTER ${lua} EXCLUDE REGEX "/cuda_absent\\.c$")
  else()
    list(FILTER cuda_sources INCLUDE REGEX "/(emit|emit_modes|match)\\.c$")
    set(parts memory|pinned|stream|graph|compile|batch|launch|tensor_map|note)
    list(FILTER ${lua} EXCLUDE REGEX "/cuda(_(${parts}))?\\.[ch]$")
  endif()
  set(${core} ${${core}} ${cuda_sources} PARENT_SCOPE)
  set(${lua} ${${lua}} PARENT_SCOPE)
endfunction()

function(lutile_compile_cuda target)
  if(LUTILE_CUDA AND LUTILE_CUDA_INCLUDE_DIR)
    target_include_directories(${target} SYSTEM PRIVATE ${LUTILE_CUDA_INCLUDE_DIR})
  endif()
endfunction()
