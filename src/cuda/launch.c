/*
** Launches of kernels.
*/
#include "device.h"

static bool has_attributes(const lt_cuda_launch *l) {
  return l->cluster[0] != 0 || l->dependent || l->cooperative;
}

static unsigned list_attributes(const lt_cuda_launch *l, CUlaunchAttribute attributes[3]) {
  unsigned n = 0;
  if (l->cluster[0] != 0) {
    attributes[n].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[n].value.clusterDim.x = l->cluster[0];
    attributes[n].value.clusterDim.y = l->cluster[1];
    attributes[n++].value.clusterDim.z = l->cluster[2];
  }
  if (l->dependent) {
    attributes[n].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[n++].value.programmaticStreamSerializationAllowed = 1;
  }
  if (l->cooperative) {
    attributes[n].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[n++].value.cooperative = 1;
  }
  return n;
}

static CUresult launch_with_attributes(lt_cuda *cuda, CUfunction function, const lt_cuda_launch *l,
                                       void **arguments) {
  CUlaunchAttribute attributes[3];
  memset(attributes, 0, sizeof attributes);
  CUlaunchConfig config = {.gridDimX = l->grid[0],
                           .gridDimY = l->grid[1],
                           .gridDimZ = l->grid[2],
                           .blockDimX = l->block[0],
                           .blockDimY = l->block[1],
                           .blockDimZ = l->block[2],
                           .sharedMemBytes = (unsigned)l->shared,
                           .hStream = l->stream,
                           .attrs = attributes,
                           .numAttrs = list_attributes(l, attributes)};
  return cuda->driver.cuLaunchKernelEx(&config, function, arguments, NULL);
}

static CUresult launch(lt_cuda *cuda, CUfunction function, const lt_cuda_launch *l,
                       void **arguments) {
  if (has_attributes(l)) return launch_with_attributes(cuda, function, l, arguments);
  return cuda->driver.cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                     l->block[1], l->block[2], (unsigned)l->shared, l->stream,
                                     arguments, NULL);
}

/* What a stream records is not launched. */
static void note_launch(lt_cuda *cuda, const lt_cuda_kernel *kernel, int device,
                        const lt_cuda_launch *l) {
  if (cuda->recording.stream != NULL && lt_cuda_is_recorded(cuda, device, l->stream)) {
    ltD_note_recorded(cuda, kernel);
    return;
  }
  cuda->last.kernel = kernel;
  cuda->last.device = device;
  cuda->last.launch = *l;
  cuda->last.is_graph = false;
  cuda->statistics.launches++;
}

bool lt_cuda_launch_kernel(lt_cuda *cuda, lt_cuda_kernel *kernel, int device,
                           const lt_cuda_launch *l, void **arguments) {
  CUcontext before;
  ltD_loaded *loaded = ltD_enter_kernel(cuda, kernel, device, &before);
  if (loaded == NULL) return false;
  bool good = ltD_opt_in(cuda, kernel, device, loaded, l->shared);
  if (good && has_attributes(l) && cuda->driver.cuLaunchKernelEx == NULL)
    good = ltD_fail(cuda, LT_DEVICE, "the NVIDIA driver is too old: it has no cuLaunchKernelEx");
  CUresult result = CUDA_SUCCESS;
  if (good && !ltD_launch_repeat(cuda, kernel, device, loaded->function, l, arguments))
    LTD_TAKE(cuda, device, result, launch(cuda, loaded->function, l, arguments));
  ltD_leave(cuda, device, before);
  if (!good) return false;
  if (result != CUDA_SUCCESS)
    return ltD_check_for(cuda, result, has_attributes(l) ? "cuLaunchKernelEx" : "cuLaunchKernel",
                         " for kernel '%s', grid %u x %u x %u, block %u x %u x %u, shared %zu",
                         kernel->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                         l->block[2], l->shared);
  note_launch(cuda, kernel, device, l);
  return true;
}
