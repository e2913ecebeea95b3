/*
** Kernels on devices.
*/
#include "device.h"

/* Shared memory that a block gets without opting in, static and dynamic together. */
#define SHARED_WITHOUT_OPT_IN ((size_t)48 * 1024)

/* ---- Kernels on devices --------------------------------------------------------------------- */

static bool make_room(lt_cuda *cuda, lt_cuda_kernel *k) {
  if (k->loaded != NULL) return true;
  k->loaded = ltD_new(cuda, (size_t)cuda->device_count * sizeof *k->loaded);
  if (k->loaded != NULL) k->devices = cuda->device_count;
  return k->loaded != NULL;
}

/* 0 where it fails; '*result' keeps the first failure. */
static int attribute(lt_cuda *cuda, CUfunction function, CUfunction_attribute which,
                     CUresult *result) {
  int value = 0;
  CUresult own = cuda->driver.cuFuncGetAttribute(&value, which, function);
  if (*result == CUDA_SUCCESS) *result = own;
  return own == CUDA_SUCCESS ? value : 0;
}

static bool check_attributes(lt_cuda *cuda, const lt_cuda_kernel *k, CUresult result) {
  return ltD_check_for(cuda, result, "cuFuncGetAttribute", " for kernel '%s'", k->name);
}

static bool find_function(lt_cuda *cuda, const lt_cuda_kernel *k, CUmodule module, ltD_loaded *l) {
  CUresult result = cuda->driver.cuModuleGetFunction(&l->function, module, k->name);
  if (!ltD_check_for(cuda, result, "cuModuleGetFunction", " for kernel '%s' (is it extern \"C\"?)",
                     k->name))
    return false;
  l->static_shared =
      (size_t)attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &result);
  return check_attributes(cuda, k, result);
}

/* Within the device's context. */
static bool load(lt_cuda *cuda, lt_cuda_kernel *k, int device) {
  ltD_loaded *l = &k->loaded[device];
  CUmodule module;
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuModuleLoadData(&module, k->image));
  if (!ltD_check_for(cuda, result, "cuModuleLoadData", " for kernel '%s', compiled for %s", k->name,
                     k->arch))
    return false;
  if (!find_function(cuda, k, module, l)) {
    cuda->driver.cuModuleUnload(module);
    return false;
  }
  if (l->module != NULL) cuda->driver.cuModuleUnload(l->module); /* a finalizer's */
  l->module = module;
  cuda->statistics.loads++;
  return true;
}

ltD_loaded *ltD_enter_kernel(lt_cuda *cuda, lt_cuda_kernel *k, int device, CUcontext *before) {
  if (!ltD_enter(cuda, device, before)) return NULL;
  if (make_room(cuda, k) && (k->loaded[device].module != NULL || load(cuda, k, device)))
    return &k->loaded[device];
  ltD_leave(cuda, device, *before);
  return NULL;
}

bool lt_cuda_get_resources(lt_cuda *cuda, lt_cuda_kernel *kernel, int device,
                           lt_cuda_resources *out) {
  CUcontext before;
  ltD_loaded *l = ltD_enter_kernel(cuda, kernel, device, &before);
  if (l == NULL) return false;
  CUresult result = CUDA_SUCCESS;
  out->registers = attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_NUM_REGS, &result);
  out->local_memory = attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &result);
  out->shared_memory = (int)l->static_shared;
  out->max_threads = attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &result);
  ltD_leave(cuda, device, before);
  return check_attributes(cuda, kernel, result);
}

bool lt_cuda_get_parameter(lt_cuda *cuda, lt_cuda_kernel *kernel, int device, size_t i,
                           size_t *offset, size_t *size) {
  CUcontext before;
  if (!lt_cuda_available(cuda) || cuda->driver.cuFuncGetParamInfo == NULL) return false;
  ltD_loaded *l = ltD_enter_kernel(cuda, kernel, device, &before);
  if (l == NULL) return false;
  CUresult result = cuda->driver.cuFuncGetParamInfo(l->function, i, offset, size);
  ltD_leave(cuda, device, before);
  return result == CUDA_SUCCESS;
}

/* ---- Shared memory -------------------------------------------------------------------------- */

static bool fail_shared(lt_cuda *cuda, const lt_cuda_kernel *k, int device, const ltD_loaded *l,
                        size_t shared, size_t most) {
  return ltD_fail(cuda, LT_INVALID,
                  "kernel '%s': %zu bytes of dynamic shared memory and %zu static are %zu, where a "
                  "block on device %d has %zu",
                  k->name, shared, l->static_shared, shared + l->static_shared, device, most);
}

bool ltD_opt_in(lt_cuda *cuda, lt_cuda_kernel *k, int device, ltD_loaded *l, size_t shared) {
  lt_cuda_device info;
  if (shared <= l->shared || shared + l->static_shared <= SHARED_WITHOUT_OPT_IN) return true;
  if (!lt_cuda_get_device(cuda, device, &info)) return false;
  if (shared + l->static_shared > info.shared_memory_most)
    return fail_shared(cuda, k, device, l, shared, info.shared_memory_most);
  CUresult result = cuda->driver.cuFuncSetAttribute(
      l->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared);
  if (!ltD_check_for(cuda, result, "cuFuncSetAttribute", " for %zu bytes of shared memory", shared))
    return false;
  l->shared = shared;
  return true;
}

bool lt_cuda_occupancy(lt_cuda *cuda, lt_cuda_kernel *kernel, int device, int threads,
                       size_t shared, int *blocks) {
  CUcontext before;
  ltD_loaded *l = ltD_enter_kernel(cuda, kernel, device, &before);
  if (l == NULL) return false;
  bool good = ltD_opt_in(cuda, kernel, device, l, shared);
  CUresult result = !good ? CUDA_SUCCESS
                          : cuda->driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                blocks, l->function, threads, shared);
  ltD_leave(cuda, device, before);
  return good && ltD_check(cuda, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
