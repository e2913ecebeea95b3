/*
** Devices and their primary contexts; memory and copies.
*/
#include <stdio.h>

#include "device.h"

/* ---- Devices -------------------------------------------------------------------------------- */

/* Records why there is no device. */
static bool refuse(lt_cuda *cuda, const char *reason) {
  cuda->device_count = 0;
  ltD_delete_text(cuda, cuda->reason);
  cuda->reason = ltD_text(cuda, "%s", reason);
  return cuda->reason != NULL && ltD_fail(cuda, LT_DEVICE, "%s", cuda->reason);
}

static bool get_devices(lt_cuda *cuda, ltD_device *devices, int count) {
  for (int i = 0; i < count; i++) {
    devices[i].limit = SIZE_MAX;
    CUresult result = cuda->driver.cuDeviceGet(&devices[i].device, i);
    if (!ltD_check(cuda, result, "cuDeviceGet")) return false;
  }
  return true;
}

static bool list_devices(lt_cuda *cuda, int count) {
  size_t size = (size_t)count * sizeof *cuda->devices;
  ltD_device *devices = ltD_new(cuda, size);
  if (devices == NULL) return false;
  if (!get_devices(cuda, devices, count)) {
    ltD_delete(cuda, devices, size);
    return false;
  }
  cuda->devices = devices;
  cuda->device_count = count;
  return true;
}

bool lt_cuda_available(lt_cuda *cuda) {
  if (cuda->device_count > 0) return true;
  if (cuda->device_count == 0) return ltD_fail(cuda, LT_DEVICE, "%s", cuda->reason);
  char reason[LT_ERROR_SIZE];
  int count = 0;
  if (!ltD_open_driver(cuda) || !ltD_check(cuda, cuda->driver.cuInit(0), "cuInit") ||
      !ltD_check(cuda, cuda->driver.cuDeviceGetCount(&count), "cuDeviceGetCount")) {
    snprintf(reason, sizeof reason, "%s", cuda->error->message);
    return refuse(cuda, reason);
  }
  if (count == 0) return refuse(cuda, "the NVIDIA driver knows no device");
  return list_devices(cuda, count);
}

int lt_cuda_device_count(lt_cuda *cuda) { return lt_cuda_available(cuda) ? cuda->device_count : 0; }

static bool check_device(lt_cuda *cuda, int device) {
  if (!lt_cuda_available(cuda)) return false;
  if (device >= 0 && device < cuda->device_count) return true;
  return ltD_fail(cuda, LT_INVALID, "no device %d: there are %d, from 0 on", device,
                  cuda->device_count);
}

/* 0 where it fails; '*result' keeps the first failure. */
static size_t attribute(lt_cuda *cuda, int device, CUdevice_attribute which, CUresult *result) {
  int value = 0;
  CUresult own = cuda->driver.cuDeviceGetAttribute(&value, which, cuda->devices[device].device);
  if (*result == CUDA_SUCCESS) *result = own;
  return own != CUDA_SUCCESS || value < 0 ? 0 : (size_t)value;
}

static bool get_attributes(lt_cuda *cuda, int device, lt_cuda_device *out) {
  CUresult r = CUDA_SUCCESS;
  out->major = (int)attribute(cuda, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &r);
  out->minor = (int)attribute(cuda, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &r);
  out->multiprocessors = (int)attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &r);
  out->max_threads = (int)attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &r);
  out->warp_size = (int)attribute(cuda, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE, &r);
  out->shared_memory = attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &r);
  out->shared_memory_most =
      attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &r);
  out->shared_memory_multiprocessor =
      attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &r);
  out->l2_cache = attribute(cuda, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &r);
  return ltD_check_for(cuda, r, "cuDeviceGetAttribute", " for device %d", device);
}

bool lt_cuda_get_device(lt_cuda *cuda, int device, lt_cuda_device *out) {
  if (!check_device(cuda, device)) return false;
  memset(out, 0, sizeof *out);
  CUdevice handle = cuda->devices[device].device;
  CUresult result = cuda->driver.cuDeviceGetName(out->name, (int)sizeof out->name, handle);
  if (!ltD_check(cuda, result, "cuDeviceGetName")) return false;
  result = cuda->driver.cuDeviceTotalMem_v2(&out->memory, handle);
  if (!ltD_check(cuda, result, "cuDeviceTotalMem")) return false;
  return get_attributes(cuda, device, out);
}

/* ---- Contexts ------------------------------------------------------------------------------- */

static bool retain(lt_cuda *cuda, int device) {
  ltD_device *d = &cuda->devices[device];
  CUcontext context;
  CUresult result;
  if (d->context != NULL) return true;
  LTD_TAKE(cuda, device, result, cuda->driver.cuDevicePrimaryCtxRetain(&context, d->device));
  if (!ltD_check_for(cuda, result, "cuDevicePrimaryCtxRetain", " for device %d", device))
    return false;
  if (d->context != NULL) cuda->driver.cuDevicePrimaryCtxRelease_v2(d->device); /* a finalizer's */
  d->context = context;
  return true;
}

bool ltD_enter(lt_cuda *cuda, int device, CUcontext *before) {
  if (!check_device(cuda, device) || !retain(cuda, device)) return false;
  CUcontext context = cuda->devices[device].context;
  CUresult result = cuda->driver.cuCtxGetCurrent(before);
  if (!ltD_check(cuda, result, "cuCtxGetCurrent")) return false;
  if (*before == context) return true;
  if (*before == NULL)
    return ltD_check(cuda, cuda->driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return ltD_check(cuda, cuda->driver.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
}

void ltD_leave(lt_cuda *cuda, int device, CUcontext before) {
  if (before == NULL || before == cuda->devices[device].context) return;
  CUcontext popped;
  cuda->driver.cuCtxPopCurrent_v2(&popped);
}

/* A context that stayed current is not left behind for other code of this thread to trip over. */
static void forget_current(lt_cuda *cuda, CUcontext context) {
  CUcontext current = NULL;
  if (cuda->driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context)
    cuda->driver.cuCtxSetCurrent(NULL);
}

/* Errors are passed over: the driver may be gone already when a process ends. */
void ltD_release_devices(lt_cuda *cuda) {
  if (cuda->devices == NULL) return;
  size_t count = cuda->device_count > 0 ? (size_t)cuda->device_count : 0;
  for (size_t i = 0; i < count; i++) {
    ltD_device *d = &cuda->devices[i];
    if (d->context == NULL) continue;
    forget_current(cuda, d->context);
    cuda->driver.cuDevicePrimaryCtxRelease_v2(d->device);
  }
  ltD_delete(cuda, cuda->devices, count * sizeof *cuda->devices);
  cuda->devices = NULL;
}

/* ---- Memory --------------------------------------------------------------------------------- */

bool lt_cuda_memory(lt_cuda *cuda, int device, size_t *available, size_t *total) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result = cuda->driver.cuMemGetInfo_v2(available, total);
  ltD_leave(cuda, device, before);
  return ltD_check(cuda, result, "cuMemGetInfo");
}

static bool is_over(const ltD_device *d, size_t size) {
  return size > d->limit || d->used > d->limit - size;
}

/* Fails where the device counts as full, garbage apart. */
static bool check_limit(lt_cuda *cuda, int device, size_t size) {
  const ltD_device *d = &cuda->devices[device];
  if (is_over(d, size)) ltD_collect(cuda);
  return !is_over(d, size) ||
         ltD_fail(cuda, LT_NO_MEMORY,
                  "%zu bytes wanted on device %d, where %zu are held here of at most %zu", size,
                  device, d->used, d->limit);
}

lt_cuda_pointer lt_cuda_alloc(lt_cuda *cuda, int device, size_t size) {
  CUcontext before;
  CUdeviceptr p = 0;
  CUresult result;
  if (size == 0) size = 1;
  if (!check_device(cuda, device) || !check_limit(cuda, device, size)) return 0;
  if (!ltD_enter(cuda, device, &before)) return 0;
  LTD_TAKE(cuda, device, result, cuda->driver.cuMemAlloc_v2(&p, size));
  ltD_leave(cuda, device, before);
  if (!ltD_check_for(cuda, result, "cuMemAlloc", " for %zu bytes on device %d", size, device))
    return 0;
  cuda->devices[device].used += size;
  return p;
}

void lt_cuda_free(lt_cuda *cuda, int device, lt_cuda_pointer p, size_t size) {
  CUcontext before;
  lt_error error = *cuda->error;
  if (p != 0 && ltD_enter(cuda, device, &before)) {
    cuda->driver.cuMemFree_v2(p);
    ltD_leave(cuda, device, before);
    cuda->devices[device].used -= size == 0 ? 1 : size;
  }
  *cuda->error = error;
}

static bool has_device(const lt_cuda *cuda, int device) {
  return device >= 0 && device < cuda->device_count;
}

size_t lt_cuda_used(const lt_cuda *cuda, int device) {
  return has_device(cuda, device) ? cuda->devices[device].used : 0;
}

void lt_cuda_set_limit(lt_cuda *cuda, int device, size_t limit) {
  if (check_device(cuda, device)) cuda->devices[device].limit = limit;
}

size_t lt_cuda_limit(const lt_cuda *cuda, int device) {
  return has_device(cuda, device) ? cuda->devices[device].limit : SIZE_MAX;
}

bool lt_cuda_pin(lt_cuda *cuda, int device, void *p, size_t size) {
  CUcontext before;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result,
           cuda->driver.cuMemHostRegister_v2(p, size, CU_MEMHOSTREGISTER_PORTABLE));
  ltD_leave(cuda, device, before);
  return ltD_check_for(cuda, result, "cuMemHostRegister", " for %zu bytes of the host", size);
}

/* The memory is portable: any device may be at work on it. */
static void wait_for_all(lt_cuda *cuda) {
  for (int i = 0; i < cuda->device_count; i++)
    if (cuda->devices[i].context != NULL && !lt_cuda_records(cuda, i)) lt_cuda_synchronize(cuda, i);
}

void lt_cuda_unpin(lt_cuda *cuda, int device, void *p) {
  CUcontext before;
  lt_error error = *cuda->error;
  wait_for_all(cuda);
  if (ltD_enter(cuda, device, &before)) {
    cuda->driver.cuMemHostUnregister(p);
    ltD_leave(cuda, device, before);
  }
  *cuda->error = error;
}

/* ---- Copies --------------------------------------------------------------------------------- */

/* A copy of nothing touches no device. */
bool lt_cuda_to_device(lt_cuda *cuda, int device, lt_cuda_pointer to, const void *from, size_t size,
                       lt_cuda_stream stream) {
  CUcontext before;
  if (size == 0) return true;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuMemcpyHtoDAsync_v2(to, from, size, stream));
  ltD_leave(cuda, device, before);
  return ltD_check_for(cuda, result, "cuMemcpyHtoDAsync", " for %zu bytes", size);
}

/* Into pinned memory the copy may still be under way on return. */
bool lt_cuda_to_host(lt_cuda *cuda, int device, void *to, lt_cuda_pointer from, size_t size,
                     lt_cuda_stream stream) {
  CUcontext before;
  if (size == 0) return true;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuMemcpyDtoHAsync_v2(to, from, size, stream));
  ltD_leave(cuda, device, before);
  return ltD_check_for(cuda, result, "cuMemcpyDtoHAsync", " for %zu bytes", size);
}

/* Between devices too: unified addressing tells where each address is. */
bool lt_cuda_on_device(lt_cuda *cuda, int device, lt_cuda_pointer to, lt_cuda_pointer from,
                       size_t size, lt_cuda_stream stream) {
  CUcontext before;
  if (size == 0) return true;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuMemcpyAsync(to, from, size, stream));
  ltD_leave(cuda, device, before);
  return ltD_check_for(cuda, result, "cuMemcpyAsync", " for %zu bytes", size);
}

bool lt_cuda_fill(lt_cuda *cuda, int device, lt_cuda_pointer to, uint8_t byte, size_t size,
                  lt_cuda_stream stream) {
  CUcontext before;
  if (size == 0) return true;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result, cuda->driver.cuMemsetD8Async(to, byte, size, stream));
  ltD_leave(cuda, device, before);
  return ltD_check_for(cuda, result, "cuMemsetD8Async", " for %zu bytes", size);
}

/* ---- Peers ---------------------------------------------------------------------------------- */

bool lt_cuda_can_access_peer(lt_cuda *cuda, int device, int other) {
  int can = 0;
  if (!check_device(cuda, device) || !check_device(cuda, other)) return false;
  if (device == other) return true;
  CUresult result = cuda->driver.cuDeviceCanAccessPeer(&can, cuda->devices[device].device,
                                                       cuda->devices[other].device);
  return ltD_check(cuda, result, "cuDeviceCanAccessPeer") && can != 0;
}

bool lt_cuda_enable_peer(lt_cuda *cuda, int device, int other) {
  CUcontext before;
  if (!check_device(cuda, other) || !retain(cuda, other)) return false;
  if (!ltD_enter(cuda, device, &before)) return false;
  CUresult result;
  LTD_TAKE(cuda, device, result,
           cuda->driver.cuCtxEnablePeerAccess(cuda->devices[other].context, 0));
  ltD_leave(cuda, device, before);
  if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) result = CUDA_SUCCESS;
  if (result == CUDA_SUCCESS && other < 64) cuda->devices[device].peers |= (uint64_t)1 << other;
  return ltD_check_for(cuda, result, "cuCtxEnablePeerAccess", " from device %d to device %d",
                       device, other);
}

bool lt_cuda_is_peer(const lt_cuda *cuda, int device, int other) {
  if (device == other) return true;
  return has_device(cuda, device) && other >= 0 && other < 64 &&
         (cuda->devices[device].peers >> other & 1) != 0;
}
