/*
** A libcuda for specs on machines without a GPU: memory of the host in the place of a device's,
** kernels that do nothing. What is asked of it is written, a line a call, to the file that
** FAKE_CUDA_LOG names.
**
**   FAKE_CUDA_MEMORY     bytes of a device (default 1 GiB); FAKE_CUDA_DEVICES of them (default 1)
**   FAKE_CUDA_CAPABILITY 80 or another (default 80)
**   FAKE_CUDA_ARGUMENTS  sizes of a kernel's arguments, "8,4": launches write their bytes; what the
**                        driver says of parameters, too, which it else does not know
**   FAKE_CUDA_FAULT      an error number that synchronizing gives after a launch
**   FAKE_CUDA_FAIL       "cuGraphLaunch=2": the call gives this error instead of doing its work;
**                        "cuGraphLaunch=2,5" from the fifth time on, "cuGraphLaunch=2,5-6" the
**                        fifth and the sixth; more of them after ";"
**   FAKE_CUDA_CAPTURING  1: every stream is recorded, by somebody else
**   FAKE_CUDA_TIMES      milliseconds that launches take by their dynamic shared memory,
**                        "0=0.1,1024=2": what events tell, which are else always 1.5 apart
*/
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  OPERATING_SYSTEM = 304,
  NOT_FOUND = 500,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_UNJOINED = 904,
  CAPTURED_EVENT = 907
};

typedef struct allocation {
  struct allocation *next;
  size_t size;
} allocation;

static allocation *allocations;
static size_t used;
static int launches;
static double clock_now; /* milliseconds, of all streams */
static void *current;
static int contexts[16];

static void note(const char *line) {
  const char *name = getenv("FAKE_CUDA_LOG");
  FILE *file = name == NULL ? NULL : fopen(name, "a");
  if (file == NULL) return;
  fprintf(file, "%s\n", line);
  fclose(file);
}

static int note_call(const char *line) {
  note(line);
  return SUCCESS;
}

static size_t setting(const char *name, size_t otherwise) {
  const char *text = getenv(name);
  return text == NULL ? otherwise : (size_t)strtoull(text, NULL, 10);
}

/* The error that FAKE_CUDA_FAIL has for a call, 'count' times made before. */
static int failure(const char *call, unsigned count) {
  const char *text = getenv("FAKE_CUDA_FAIL");
  size_t length = strlen(call);
  for (; text != NULL; text = strchr(text, ';')) {
    text += *text == ';';
    if (strncmp(text, call, length) != 0 || text[length] != '=') continue;
    char *end;
    int error = (int)strtol(text + length + 1, &end, 10);
    unsigned long first = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
    unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : ULONG_MAX;
    return count + 1 < first || count + 1 > last ? SUCCESS : error;
  }
  return SUCCESS;
}

#define MAY_FAIL()                          \
  do {                                      \
    static unsigned count;                  \
    int error = failure(__func__, count++); \
    if (error != SUCCESS) return error;     \
  } while (0)

static int fault(void) { return launches > 0 ? (int)setting("FAKE_CUDA_FAULT", SUCCESS) : SUCCESS; }

/* ---- Time ----------------------------------------------------------------------------------- */

static double time_of(unsigned shared) {
  const char *times = getenv("FAKE_CUDA_TIMES");
  while (times != NULL && *times != '\0') {
    char *end;
    unsigned long bytes = strtoul(times, &end, 10);
    if (*end != '=') return 1;
    double milliseconds = strtod(end + 1, &end);
    if (bytes == shared) return milliseconds;
    times = *end == ',' ? end + 1 : end;
  }
  return 1;
}

/* ---- What is captured ------------------------------------------------------------------------- */

/* A copy or a fill that a graph does. */
typedef struct transfer {
  struct transfer *next;
  void *to;
  const void *from; /* NULL: a fill */
  unsigned char byte;
  size_t size;
} transfer;

typedef struct graph {
  double time; /* milliseconds */
  int launches;
  transfer *first, **last;
} graph;

typedef struct stream {
  struct stream *next;
  int is_captured;
} stream;

typedef struct event {
  double time; /* when it was recorded */
  int is_captured;
} event;

static stream *streams;
static graph *captured; /* NULL: nothing is */
static void *capturing; /* the context of what is */

static graph *new_graph(double time) {
  graph *g = calloc(1, sizeof *g);
  if (g == NULL) return NULL;
  g->time = time;
  g->last = &g->first;
  return g;
}

static void empty_graph(graph *g) {
  while (g->first != NULL) {
    transfer *t = g->first;
    g->first = t->next;
    free(t);
  }
  g->last = &g->first;
}

static void add_transfer(graph *g, transfer t) {
  transfer *own = malloc(sizeof *own);
  if (own == NULL) return;
  *own = t;
  own->next = NULL;
  *g->last = own;
  g->last = &own->next;
}

static void copy_graph(graph *to, const graph *from) {
  empty_graph(to);
  to->time = from->time;
  to->launches = from->launches;
  for (const transfer *t = from->first; t != NULL; t = t->next) add_transfer(to, *t);
}

static int is_captured(const void *s) {
  return captured != NULL && s != NULL && ((const stream *)s)->is_captured;
}

static void pass_time(const void *s, double milliseconds) {
  if (is_captured(s))
    captured->time += milliseconds;
  else
    clock_now += milliseconds;
}

static void count_launch(const void *s) {
  if (is_captured(s))
    captured->launches++;
  else
    launches++;
}

static int do_transfer(const transfer *t) {
  if (t->from != NULL)
    memcpy(t->to, t->from, t->size);
  else
    memset(t->to, t->byte, t->size);
  return SUCCESS;
}

static int transfer_on(const void *s, transfer t) {
  if (!is_captured(s)) return do_transfer(&t);
  add_transfer(captured, t);
  return SUCCESS;
}

/* ---- Devices -------------------------------------------------------------------------------- */

API int cuInit(unsigned flags) {
  MAY_FAIL();
  (void)flags;
  return SUCCESS;
}

API int cuDriverGetVersion(int *version) {
  MAY_FAIL();
  *version = 13000;
  return SUCCESS;
}

API int cuDeviceGetCount(int *count) {
  MAY_FAIL();
  *count = (int)setting("FAKE_CUDA_DEVICES", 1);
  return SUCCESS;
}

API int cuDeviceGet(int *device, int ordinal) {
  MAY_FAIL();
  *device = ordinal;
  return SUCCESS;
}

API int cuDeviceGetName(char *name, int size, int device) {
  MAY_FAIL();
  snprintf(name, (size_t)size, "Fake %d", device);
  return SUCCESS;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  MAY_FAIL();
  (void)device;
  *bytes = setting("FAKE_CUDA_MEMORY", (size_t)1 << 30);
  return SUCCESS;
}

/* 108 multiprocessors, 163 KB of shared memory for a block that opts in, 227 KB since 9.0. */
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  MAY_FAIL();
  (void)device;
  switch (attribute) {
    case 75: *value = (int)setting("FAKE_CUDA_CAPABILITY", 80) / 10; break;
    case 76: *value = (int)setting("FAKE_CUDA_CAPABILITY", 80) % 10; break;
    case 16: *value = 108; break;
    case 1: *value = 1024; break;
    case 10: *value = 32; break;
    case 8: *value = 49152; break;
    case 97: *value = setting("FAKE_CUDA_CAPABILITY", 80) < 90 ? 166912 : 232448; break;
    case 81: *value = 167936; break;
    case 38: *value = 40 << 20; break;
    default: *value = 0; break;
  }
  return SUCCESS;
}

API int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  MAY_FAIL();
  (void)device;
  (void)peer;
  *can = 1;
  return SUCCESS;
}

/* ---- Contexts ------------------------------------------------------------------------------- */

API int cuDevicePrimaryCtxRetain(void **context, int device) {
  MAY_FAIL();
  *context = &contexts[device];
  return note_call("retain");
}

API int cuDevicePrimaryCtxRelease_v2(int device) {
  MAY_FAIL();
  (void)device;
  return note_call("release");
}

API int cuCtxGetCurrent(void **context) {
  MAY_FAIL();
  *context = current;
  return SUCCESS;
}

API int cuCtxSetCurrent(void *context) {
  MAY_FAIL();
  current = context;
  return SUCCESS;
}

/* One level is as deep as this needs to be. */
static void *below;

API int cuCtxPushCurrent_v2(void *context) {
  MAY_FAIL();
  below = current;
  current = context;
  return SUCCESS;
}

API int cuCtxPopCurrent_v2(void **context) {
  MAY_FAIL();
  *context = current;
  current = below;
  return SUCCESS;
}

API int cuCtxSynchronize(void) {
  MAY_FAIL();
  if (captured != NULL && capturing == current) return CAPTURE_UNSUPPORTED;
  return fault();
}

API int cuCtxEnablePeerAccess(void *context, unsigned flags) {
  MAY_FAIL();
  (void)context;
  (void)flags;
  return SUCCESS;
}

/* ---- Errors --------------------------------------------------------------------------------- */

static const struct {
  int error;
  const char *name, *text;
} errors[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted in a capture"},
    {CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "unjoined work"},
    {CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "not permitted on a captured event"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}};

static int find_error(int error, const char **text, int wants_name) {
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    if (errors[i].error != error) continue;
    *text = wants_name ? errors[i].name : errors[i].text;
    return SUCCESS;
  }
  *text = NULL;
  return INVALID_VALUE;
}

API int cuGetErrorName(int error, const char **text) { return find_error(error, text, 1); }
API int cuGetErrorString(int error, const char **text) { return find_error(error, text, 0); }

/* ---- Memory --------------------------------------------------------------------------------- */

API int cuMemAlloc_v2(uint64_t *p, size_t size) {
  MAY_FAIL();
  if (size == 0) return INVALID_VALUE;
  if (size > setting("FAKE_CUDA_MEMORY", (size_t)1 << 30) - used) {
    note("out of memory");
    return OUT_OF_MEMORY;
  }
  allocation *a = calloc(1, sizeof *a + 256 + size);
  if (a == NULL) return OUT_OF_MEMORY;
  a->next = allocations;
  a->size = size;
  allocations = a;
  used += size;
  *p = ((uint64_t)(uintptr_t)(a + 1) + 255) / 256 * 256;
  return note_call("alloc");
}

API int cuMemFree_v2(uint64_t p) {
  MAY_FAIL();
  for (allocation **at = &allocations; *at != NULL; at = &(*at)->next) {
    allocation *a = *at;
    if (((uint64_t)(uintptr_t)(a + 1) + 255) / 256 * 256 != p) continue;
    used -= a->size;
    *at = a->next;
    free(a);
    return note_call("free");
  }
  note("free of what is not there");
  return INVALID_VALUE;
}

API int cuMemGetInfo_v2(size_t *available, size_t *total) {
  MAY_FAIL();
  *total = setting("FAKE_CUDA_MEMORY", (size_t)1 << 30);
  *available = *total - used;
  return SUCCESS;
}

/* Memory that is pinned: at most so many at once. */
static struct {
  const unsigned char *memory;
  size_t size;
} pinned[64];

API int cuMemHostRegister_v2(void *p, size_t size, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  if ((uintptr_t)p % 4096 != 0 || size % 4096 != 0) return INVALID_VALUE;
  for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++) {
    if (pinned[i].memory != NULL) continue;
    pinned[i].memory = p;
    pinned[i].size = size;
    return note_call("pin");
  }
  return OUT_OF_MEMORY;
}

API int cuMemHostUnregister(void *p) {
  MAY_FAIL();
  for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++)
    if (pinned[i].memory == p) pinned[i].memory = NULL;
  return note_call("unpin");
}

static int is_pinned(const void *p, size_t size) {
  for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++) {
    const unsigned char *memory = pinned[i].memory, *bytes = p;
    if (memory != NULL && bytes >= memory && bytes + size <= memory + pinned[i].size) return 1;
  }
  return 0;
}

API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  MAY_FAIL();
  if (is_captured(stream) && !is_pinned(from, size)) return CAPTURE_UNSUPPORTED;
  return transfer_on(stream, (transfer){NULL, (void *)(uintptr_t)to, from, 0, size});
}

API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  MAY_FAIL();
  if (is_captured(stream) && !is_pinned(to, size)) return CAPTURE_UNSUPPORTED;
  return transfer_on(stream, (transfer){NULL, to, (const void *)(uintptr_t)from, 0, size});
}

API int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream) {
  MAY_FAIL();
  return transfer_on(
      stream, (transfer){NULL, (void *)(uintptr_t)to, (const void *)(uintptr_t)from, 0, size});
}

API int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t size, void *stream) {
  MAY_FAIL();
  return transfer_on(stream, (transfer){NULL, (void *)(uintptr_t)to, NULL, byte, size});
}

/* ---- What launches pass --------------------------------------------------------------------- */

static void note_arguments(void **arguments) {
  const char *sizes = getenv("FAKE_CUDA_ARGUMENTS");
  for (int i = 0; sizes != NULL && *sizes != '\0'; i++) {
    char line[1024] = "argument", *end;
    unsigned long size = strtoul(sizes, &end, 10);
    for (unsigned long k = 0; k < size && k < 256; k++)
      snprintf(line + strlen(line), 4, " %02x", ((unsigned char *)arguments[i])[k]);
    note(line);
    sizes = *end == ',' ? end + 1 : end;
  }
}

/* Offset and size of argument i, as FAKE_CUDA_ARGUMENTS has them. */
API int cuFuncGetParamInfo(void *function, size_t i, size_t *offset, size_t *size) {
  MAY_FAIL();
  const char *sizes = getenv("FAKE_CUDA_ARGUMENTS");
  size_t at = 0;
  (void)function;
  if (sizes == NULL) return NOT_SUPPORTED;
  for (; *sizes != '\0'; i--) {
    char *end;
    size_t bytes = strtoul(sizes, &end, 10), alignment = bytes < 8 ? bytes : 8;
    at = (at + alignment - 1) / alignment * alignment;
    *offset = at;
    *size = bytes;
    if (i == 0) return SUCCESS;
    at += bytes;
    sizes = *end == ',' ? end + 1 : end;
  }
  return INVALID_VALUE;
}

/* ---- Streams, events, graphs ---------------------------------------------------------------- */

API int cuStreamCreate(void **out, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  stream *s = calloc(1, sizeof *s);
  if (s == NULL) return OUT_OF_MEMORY;
  s->next = streams;
  streams = s;
  *out = s;
  return note_call("stream");
}

API int cuStreamDestroy_v2(void *s) {
  MAY_FAIL();
  for (stream **at = &streams; *at != NULL; at = &(*at)->next) {
    if (*at != s) continue;
    *at = (*at)->next;
    free(s);
    return note_call("destroy stream");
  }
  return INVALID_VALUE;
}

API int cuStreamSynchronize(void *s) {
  MAY_FAIL();
  return is_captured(s) ? CAPTURE_UNSUPPORTED : fault();
}

API int cuStreamQuery(void *s) {
  MAY_FAIL();
  return is_captured(s) ? CAPTURE_UNSUPPORTED : SUCCESS;
}

/* What waits for an event that was captured is captured too. */
API int cuStreamWaitEvent(void *s, void *e, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  if (captured != NULL && s != NULL && ((const event *)e)->is_captured)
    ((stream *)s)->is_captured = 1;
  return SUCCESS;
}

API int cuStreamBeginCapture_v2(void *s, int mode) {
  MAY_FAIL();
  (void)mode;
  captured = new_graph(0);
  capturing = current;
  ((stream *)s)->is_captured = 1;
  return note_call("begin capture");
}

API int cuStreamEndCapture(void *s, void **out) {
  MAY_FAIL();
  (void)s;
  for (stream *each = streams; each != NULL; each = each->next) each->is_captured = 0;
  *out = captured;
  captured = NULL;
  return note_call("end capture");
}

API int cuStreamIsCapturing(void *s, int *status) {
  MAY_FAIL();
  *status = is_captured(s) ? 1 : (int)setting("FAKE_CUDA_CAPTURING", 0);
  return SUCCESS;
}

API int cuThreadExchangeStreamCaptureMode(int *mode) {
  MAY_FAIL();
  (void)mode;
  return SUCCESS;
}

API int cuGraphCreate(void **out, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  *out = new_graph(0);
  return note_call("create graph");
}

/* CUDA_KERNEL_NODE_PARAMS, as far as it is looked at here. */
typedef struct node_parameters {
  void *function;
  unsigned grid[3], block[3], shared;
  void **arguments;
} node_parameters;

static int note_node(const char *what, const node_parameters *p) {
  char line[160];
  snprintf(line, sizeof line, "%s %ux%ux%u %ux%ux%u %u", what, p->grid[0], p->grid[1], p->grid[2],
           p->block[0], p->block[1], p->block[2], p->shared);
  note(line);
  note_arguments(p->arguments);
  return SUCCESS;
}

API int cuGraphAddKernelNode_v2(void **node, graph *g, const void *dependencies, size_t count,
                                const node_parameters *parameters) {
  MAY_FAIL();
  (void)dependencies;
  (void)count;
  *node = g;
  g->time = time_of(parameters->shared);
  g->launches = 1;
  return note_node("node", parameters);
}

API int cuGraphExecKernelNodeSetParams_v2(void *executable, void *node,
                                          const node_parameters *parameters) {
  MAY_FAIL();
  (void)executable;
  (void)node;
  return note_node("set node", parameters);
}

API int cuGraphKernelNodeSetAttribute(void *node, int attribute, const unsigned *value) {
  MAY_FAIL();
  char line[80];
  (void)node;
  snprintf(line, sizeof line, "node attribute %d = %ux%ux%u", attribute, value[0], value[1],
           value[2]);
  return note_call(line);
}

API int cuGraphInstantiateWithFlags(graph **executable, const graph *g, unsigned long long flags) {
  MAY_FAIL();
  (void)flags;
  *executable = new_graph(0);
  copy_graph(*executable, g);
  return note_call("instantiate");
}

API int cuGraphExecUpdate_v2(graph *executable, const graph *g, void *info) {
  MAY_FAIL();
  (void)info;
  copy_graph(executable, g);
  return note_call("update graph");
}

API int cuGraphLaunch(const graph *executable, void *s) {
  MAY_FAIL();
  if (is_captured(s)) return CAPTURE_UNSUPPORTED;
  pass_time(s, executable->time);
  launches += executable->launches;
  for (const transfer *t = executable->first; t != NULL; t = t->next) do_transfer(t);
  return note_call("launch graph");
}

API int cuGraphExecDestroy(graph *executable) {
  MAY_FAIL();
  empty_graph(executable);
  free(executable);
  return note_call("destroy executable");
}

API int cuGraphDestroy(graph *g) {
  MAY_FAIL();
  empty_graph(g);
  free(g);
  return note_call("destroy graph");
}

API int cuEventCreate(void **out, unsigned flags) {
  MAY_FAIL();
  (void)flags;
  event *e = calloc(1, sizeof *e);
  if (e == NULL) return OUT_OF_MEMORY;
  e->time = clock_now;
  *out = e;
  return SUCCESS;
}

API int cuEventDestroy_v2(void *e) {
  MAY_FAIL();
  free(e);
  return SUCCESS;
}

API int cuEventRecord(event *e, void *s) {
  MAY_FAIL();
  e->time = clock_now;
  e->is_captured = is_captured(s);
  return SUCCESS;
}

API int cuEventQuery(const event *e) {
  MAY_FAIL();
  return e->is_captured ? CAPTURED_EVENT : SUCCESS;
}

API int cuEventSynchronize(const event *e) {
  MAY_FAIL();
  return e->is_captured ? CAPTURED_EVENT : fault();
}

API int cuEventElapsedTime(float *milliseconds, const event *from, const event *to) {
  MAY_FAIL();
  *milliseconds = 1.5f;
  if (getenv("FAKE_CUDA_TIMES") != NULL) *milliseconds = (float)(to->time - from->time);
  return SUCCESS;
}

/* ---- Kernels -------------------------------------------------------------------------------- */

API int cuModuleLoadData(void **module, const void *image) {
  MAY_FAIL();
  (void)image;
  *module = malloc(1);
  return note_call("load");
}

API int cuModuleUnload(void *module) {
  MAY_FAIL();
  free(module);
  return note_call("unload");
}

API int cuModuleGetFunction(void **function, void *module, const char *name) {
  MAY_FAIL();
  (void)name;
  *function = module;
  return SUCCESS;
}

/* A tensor map as spec/plan/emulator_sm90.hpp reads it. */
typedef struct tensor_map {
  uint64_t address;
  uint16_t rank, bytes, swizzle, unused;
  uint32_t extents[5], box[5];
  uint64_t strides[5];
  unsigned char rest[32];
} tensor_map;

/* Bytes of an element, by CUDA's number of its type. */
static uint16_t element_bytes(int type) {
  static const unsigned char bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return bytes[type];
}

static void fill_map(tensor_map *m, int type, unsigned rank, const uint64_t *extents,
                     const uint64_t *strides, const uint32_t *box) {
  m->rank = (uint16_t)rank;
  m->bytes = element_bytes(type);
  m->strides[0] = m->bytes;
  for (unsigned i = 0; i < rank; i++) {
    m->extents[i] = (uint32_t)extents[i];
    m->box[i] = box[i];
    if (i > 0) m->strides[i] = strides[i - 1];
  }
}

API int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address,
                               const uint64_t *extents, const uint64_t *strides,
                               const uint32_t *box, const uint32_t *element_strides, int interleave,
                               int swizzle, int promotion, int fill) {
  MAY_FAIL();
  char line[512];
  int n = snprintf(line, sizeof line, "tensor map type %d swizzle %d promotion %d fill %d", type,
                   swizzle, promotion, fill);
  for (unsigned i = 0; i < rank; i++)
    n += snprintf(line + n, sizeof line - (size_t)n, "; %llu by %llu box %u step %u",
                  (unsigned long long)extents[i],
                  i == 0 ? 0ull : (unsigned long long)strides[i - 1], box[i], element_strides[i]);
  note(line);
  tensor_map *m = memset(map, 0, sizeof *m);
  m->address = (uint64_t)(uintptr_t)address;
  m->swizzle = (uint16_t)(16 << swizzle);
  fill_map(m, type, rank, extents, strides, box);
  return interleave == 0 ? SUCCESS : INVALID_VALUE;
}

/* 16 bytes of static shared memory, 32 registers, no spills. */
API int cuFuncGetAttribute(int *value, int attribute, void *function) {
  MAY_FAIL();
  (void)function;
  *value = attribute == 0 ? 1024 : attribute == 1 ? 16 : attribute == 4 ? 32 : 0;
  return SUCCESS;
}

API int cuFuncSetAttribute(void *function, int attribute, int value) {
  MAY_FAIL();
  char line[64];
  (void)function;
  snprintf(line, sizeof line, "attribute %d = %d", attribute, value);
  return note_call(line);
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                    size_t shared) {
  MAY_FAIL();
  (void)function;
  (void)shared;
  *blocks = 2048 / threads;
  return SUCCESS;
}

static int note_launch(const unsigned grid[3], const unsigned block[3], unsigned shared,
                       void **arguments) {
  char line[160];
  snprintf(line, sizeof line, "launch %ux%ux%u %ux%ux%u %u", grid[0], grid[1], grid[2], block[0],
           block[1], block[2], shared);
  note(line);
  note_arguments(arguments);
  return SUCCESS;
}

API int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       void *stream, void **arguments, void **extra) {
  MAY_FAIL();
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  (void)function;
  (void)extra;
  pass_time(stream, time_of(shared));
  count_launch(stream);
  return note_launch(grid, block, shared, arguments);
}

/* CUlaunchConfig; attributes have an id, padding, and 64 bytes. */
typedef struct launch_config {
  unsigned grid[3], block[3], shared;
  void *stream;
  const struct {
    unsigned id, padding;
    unsigned value[16];
  } * attributes;
  unsigned count;
} launch_config;

API int cuLaunchKernelEx(const launch_config *config, void *function, void **arguments,
                         void **extra) {
  MAY_FAIL();
  (void)function;
  (void)extra;
  for (unsigned i = 0; i < config->count; i++) {
    char line[80];
    snprintf(line, sizeof line, "launch attribute %u = %u", config->attributes[i].id,
             config->attributes[i].value[0]);
    note(line);
  }
  pass_time(config->stream, time_of(config->shared));
  count_launch(config->stream);
  return note_launch(config->grid, config->block, config->shared, arguments);
}
