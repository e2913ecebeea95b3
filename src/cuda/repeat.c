/*
** Launches that repeat. A graph of one kernel, instantiated once, takes the host half the time of
** cuLaunchKernel: on an H200 2.0 us, 2.5 with new arguments, against 4.2. To make it takes 33 us, to
** destroy it 10, and the driver holds some 110 KiB of the device for it: so it is made when a launch
** has been repeated a while, and few are kept.
**
** A launch through the graph is in the order of its stream as any other. One graph runs after its
** launch before, so each stream has its own.
*/
#include "device.h"

#define REPEATED 16 /* launches before there is a graph: what it saves by 20 pays for it */
#define MOST_CREDIT 8
#define WAYS 4 /* slots that a launch may have */

/* ---- Slots ---------------------------------------------------------------------------------- */

static bool equal_extents(const unsigned a[3], const unsigned b[3]) {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static bool is_for(const ltD_repeat *r, const lt_cuda_kernel *k, int device,
                   const lt_cuda_launch *l) {
  return r->kernel == k && r->device == device && r->launch.stream == l->stream &&
         r->launch.shared == l->shared && equal_extents(r->launch.grid, l->grid) &&
         equal_extents(r->launch.block, l->block) && equal_extents(r->launch.cluster, l->cluster);
}

static size_t hash_of(const lt_cuda_kernel *k, int device, const lt_cuda_launch *l) {
  uint64_t hash = (uintptr_t)k + (uint64_t)device;
  const uint64_t parts[] = {(uintptr_t)l->stream,
                            l->grid[0] | (uint64_t)l->grid[1] << 32,
                            l->grid[2] | (uint64_t)l->block[0] << 32,
                            l->block[1] | (uint64_t)l->block[2] << 32,
                            l->cluster[0] + 32 * l->cluster[1] + 1024 * (uint64_t)l->cluster[2],
                            l->shared};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    hash = (hash ^ parts[i]) * 0x9E3779B97F4A7C15u;
  return hash >> 32;
}

/* The launch's slot, else a free one, else the first that it may have. */
static ltD_repeat *slot_of(lt_cuda *cuda, const lt_cuda_kernel *k, int device,
                           const lt_cuda_launch *l) {
  const size_t first = hash_of(k, device, l);
  ltD_repeat *unused = NULL;
  for (size_t i = 0; i < WAYS; i++) {
    ltD_repeat *r = &cuda->repeats[(first + i) % LTD_REPEATS];
    if (is_for(r, k, device, l)) return r;
    if (unused == NULL && r->kernel == NULL) unused = r;
  }
  return unused != NULL ? unused : &cuda->repeats[first % LTD_REPEATS];
}

/* ---- Arguments ------------------------------------------------------------------------------ */

typedef struct ltD_arguments {
  size_t size; /* of this block */
  size_t count;
  uint8_t *bytes;
  size_t sizes[];
} ltD_arguments;

/* How many parameters the function has, and their bytes; false where the driver does not say. */
static bool measure_arguments(lt_cuda *cuda, CUfunction function, size_t *count, size_t *bytes) {
  size_t offset, size;
  CUresult result;
  for (*count = *bytes = 0;; ++*count, *bytes += size) {
    result = cuda->driver.cuFuncGetParamInfo(function, *count, &offset, &size);
    if (result != CUDA_SUCCESS) return result == CUDA_ERROR_INVALID_VALUE; /* beyond the last */
  }
}

static ltD_arguments *new_arguments(lt_cuda *cuda, CUfunction function) {
  size_t count, bytes, offset;
  if (!measure_arguments(cuda, function, &count, &bytes)) return NULL;
  size_t size = sizeof(ltD_arguments) + count * sizeof(size_t) + bytes;
  ltD_arguments *a = ltD_new(cuda, size);
  if (a == NULL) return NULL;
  a->size = size;
  a->count = count;
  a->bytes = (uint8_t *)(a->sizes + count);
  for (size_t i = 0; i < count; i++)
    cuda->driver.cuFuncGetParamInfo(function, i, &offset, &a->sizes[i]);
  return a;
}

/* Takes these over; whether they differ from what there was. */
static bool take_arguments(ltD_arguments *a, void **arguments) {
  bool differ = false;
  uint8_t *at = a->bytes;
  for (size_t i = 0; i < a->count; at += a->sizes[i++]) {
    if (memcmp(at, arguments[i], a->sizes[i]) == 0) continue;
    memcpy(at, arguments[i], a->sizes[i]);
    differ = true;
  }
  return differ;
}

/* ---- Graphs of one kernel ------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS node_of(CUfunction function, const lt_cuda_launch *l,
                                       void **arguments) {
  return (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                   .gridDimX = l->grid[0],
                                   .gridDimY = l->grid[1],
                                   .gridDimZ = l->grid[2],
                                   .blockDimX = l->block[0],
                                   .blockDimY = l->block[1],
                                   .blockDimZ = l->block[2],
                                   .sharedMemBytes = (unsigned)l->shared,
                                   .kernelParams = arguments};
}

/* Within the device's context. */
static void destroy(lt_cuda *cuda, ltD_repeat *r) {
  if (r->executable != NULL) cuda->driver.cuGraphExecDestroy(r->executable);
  if (r->graph != NULL) cuda->driver.cuGraphDestroy(r->graph);
  r->executable = NULL;
  r->graph = NULL;
}

static void drop_arguments(lt_cuda *cuda, ltD_repeat *r) {
  if (r->arguments != NULL) ltD_delete(cuda, r->arguments, r->arguments->size);
  r->arguments = NULL;
}

/* Frees the slot; enters the device, which may be another than that of the launch at hand. */
static void forget(lt_cuda *cuda, ltD_repeat *r) {
  CUcontext before;
  lt_error error = *cuda->error;
  if (r->graph != NULL && ltD_enter(cuda, r->device, &before)) {
    destroy(cuda, r);
    ltD_leave(cuda, r->device, before);
  }
  *cuda->error = error;
  drop_arguments(cuda, r);
  *r = (ltD_repeat){.kernel = NULL};
}

void ltD_free_repeats(lt_cuda *cuda) {
  for (size_t i = 0; i < LTD_REPEATS; i++) forget(cuda, &cuda->repeats[i]);
}

static bool add_node(lt_cuda *cuda, ltD_repeat *r, CUfunction function, void **arguments) {
  const ltD_driver *d = &cuda->driver;
  CUDA_KERNEL_NODE_PARAMS node = node_of(function, &r->launch, arguments);
  CUlaunchAttributeValue cluster;
  if (d->cuGraphCreate(&r->graph, 0) != CUDA_SUCCESS) return false;
  if (d->cuGraphAddKernelNode_v2(&r->node, r->graph, NULL, 0, &node) != CUDA_SUCCESS) return false;
  if (r->launch.cluster[0] == 0) return true;
  memset(&cluster, 0, sizeof cluster);
  cluster.clusterDim.x = r->launch.cluster[0];
  cluster.clusterDim.y = r->launch.cluster[1];
  cluster.clusterDim.z = r->launch.cluster[2];
  return d->cuGraphKernelNodeSetAttribute(r->node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                          &cluster) == CUDA_SUCCESS;
}

/*
** Instantiating allocates. Were this thread not let off for it, that would end a capture which another
** library has under way in the strictest mode.
*/
static bool instantiate(lt_cuda *cuda, ltD_repeat *r) {
  const ltD_driver *d = &cuda->driver;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (d->cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) return false;
  CUresult result = d->cuGraphInstantiateWithFlags(&r->executable, r->graph, 0);
  d->cuThreadExchangeStreamCaptureMode(&mode);
  if (result != CUDA_SUCCESS) r->executable = NULL;
  return result == CUDA_SUCCESS;
}

static bool can_make(const ltD_driver *d) {
  return d->cuFuncGetParamInfo != NULL && d->cuGraphAddKernelNode_v2 != NULL &&
         d->cuGraphExecKernelNodeSetParams_v2 != NULL && d->cuGraphKernelNodeSetAttribute != NULL;
}

/* A graph that launches with these arguments. What fails here is no error: a plain launch remains. */
static bool make_graph(lt_cuda *cuda, ltD_repeat *r, CUfunction function, void **arguments) {
  lt_error error = *cuda->error;
  if (can_make(&cuda->driver)) r->arguments = new_arguments(cuda, function);
  *cuda->error = error;
  if (r->arguments == NULL) return false;
  take_arguments(r->arguments, arguments);
  return add_node(cuda, r, function, arguments) && instantiate(cuda, r);
}

/* ---- Launching ------------------------------------------------------------------------------ */

/* A launch that a stream records must be the kernel itself. */
static bool is_recording(lt_cuda *cuda, lt_cuda_stream stream) {
  CUstreamCaptureStatus status;
  return cuda->driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* The launch's slot, for which another one may have to make room; NULL where that one stays. */
static ltD_repeat *claim(lt_cuda *cuda, const lt_cuda_kernel *k, int device,
                         const lt_cuda_launch *l) {
  ltD_repeat *r = slot_of(cuda, k, device, l);
  if (!is_for(r, k, device, l)) {
    if (r->credit > 0) {
      r->credit--;
      return NULL;
    }
    forget(cuda, r);
    r->kernel = k;
    r->device = device;
    r->launch = *l;
  }
  if (r->credit < MOST_CREDIT) r->credit++;
  return r;
}

static bool launch(lt_cuda *cuda, ltD_repeat *r, CUfunction function, void **arguments) {
  const ltD_driver *d = &cuda->driver;
  if (take_arguments(r->arguments, arguments)) {
    CUDA_KERNEL_NODE_PARAMS node = node_of(function, &r->launch, arguments);
    if (d->cuGraphExecKernelNodeSetParams_v2(r->executable, r->node, &node) != CUDA_SUCCESS)
      return false;
  }
  return d->cuGraphLaunch(r->executable, r->launch.stream) == CUDA_SUCCESS;
}

/*
** A dependent launch overlaps with the kernel before it, not with a graph; and cooperative ones are
** long enough.
*/
bool ltD_launch_repeat(lt_cuda *cuda, const lt_cuda_kernel *k, int device, CUfunction function,
                       const lt_cuda_launch *l, void **arguments) {
  cuda->has_dependents = cuda->has_dependents || l->dependent;
  if (cuda->has_dependents || l->cooperative) return false;
  ltD_repeat *r = claim(cuda, k, device, l);
  if (r == NULL || r->refused || (r->executable == NULL && ++r->count <= REPEATED)) return false;
  if (is_recording(cuda, l->stream)) return false;
  bool is_ready = r->executable != NULL || make_graph(cuda, r, function, arguments);
  if (is_ready && launch(cuda, r, function, arguments)) return true;
  destroy(cuda, r);
  drop_arguments(cuda, r);
  r->refused = true;
  return false;
}
