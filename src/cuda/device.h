/*
** What the files on CUDA share: the libraries' functions, devices, the state of an lt_cuda.
*/
#ifndef LUTILE_CUDA_DEVICE_H
#define LUTILE_CUDA_DEVICE_H

#include <cuda.h>
#include <nvrtc.h>
#include <string.h>

#include "cache.h"
#include "lutile_cuda.h"

/* ---- Functions of the libraries, by their exact symbols -------------------------------------- */

#define LTD_DRIVER_FUNCTIONS(X)                  \
  X(cuCtxGetCurrent)                             \
  X(cuCtxPopCurrent_v2)                          \
  X(cuCtxPushCurrent_v2)                         \
  X(cuCtxSetCurrent)                             \
  X(cuCtxEnablePeerAccess)                       \
  X(cuCtxSynchronize)                            \
  X(cuDeviceCanAccessPeer)                       \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetName)                             \
  X(cuDevicePrimaryCtxRelease_v2)                \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDeviceTotalMem_v2)                         \
  X(cuDriverGetVersion)                          \
  X(cuEventCreate)                               \
  X(cuEventDestroy_v2)                           \
  X(cuEventElapsedTime)                          \
  X(cuEventQuery)                                \
  X(cuEventRecord)                               \
  X(cuEventSynchronize)                          \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuGraphCreate)                               \
  X(cuGraphDestroy)                              \
  X(cuGraphExecDestroy)                          \
  X(cuGraphInstantiateWithFlags)                 \
  X(cuGraphLaunch)                               \
  X(cuInit)                                      \
  X(cuLaunchKernel)                              \
  X(cuMemAlloc_v2)                               \
  X(cuMemFree_v2)                                \
  X(cuMemGetInfo_v2)                             \
  X(cuMemHostRegister_v2)                        \
  X(cuMemHostUnregister)                         \
  X(cuMemcpyAsync)                               \
  X(cuMemcpyDtoHAsync_v2)                        \
  X(cuMemcpyHtoDAsync_v2)                        \
  X(cuMemsetD8Async)                             \
  X(cuModuleGetFunction)                         \
  X(cuModuleLoadData)                            \
  X(cuModuleUnload)                              \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuStreamBeginCapture_v2)                     \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy_v2)                          \
  X(cuStreamEndCapture)                          \
  X(cuStreamIsCapturing)                         \
  X(cuStreamQuery)                               \
  X(cuStreamSynchronize)                         \
  X(cuStreamWaitEvent)                           \
  X(cuThreadExchangeStreamCaptureMode)

/* Those that older drivers lack: NULL there. */
#define LTD_NEWER_DRIVER_FUNCTIONS(X)  \
  X(cuFuncGetParamInfo)                \
  X(cuGraphAddKernelNode_v2)           \
  X(cuGraphExecKernelNodeSetParams_v2) \
  X(cuGraphExecUpdate_v2)              \
  X(cuGraphKernelNodeSetAttribute)     \
  X(cuLaunchKernelEx)                  \
  X(cuTensorMapEncodeTiled)

#define LTD_COMPILER_FUNCTIONS(X) \
  X(nvrtcCompileProgram)          \
  X(nvrtcCreateProgram)           \
  X(nvrtcDestroyProgram)          \
  X(nvrtcGetCUBIN)                \
  X(nvrtcGetCUBINSize)            \
  X(nvrtcGetErrorString)          \
  X(nvrtcGetNumSupportedArchs)    \
  X(nvrtcGetPTX)                  \
  X(nvrtcGetPTXSize)              \
  X(nvrtcGetProgramLog)           \
  X(nvrtcGetProgramLogSize)       \
  X(nvrtcGetSupportedArchs)       \
  X(nvrtcVersion)

#define LTD_FIELD(name) __typeof__(name) *name;

typedef struct ltD_library {
  void *handle; /* NULL: not open */
  bool tried;
  char *path;
  char *reason; /* why it is not open */
} ltD_library;

typedef struct ltD_driver {
  ltD_library library;
  LTD_DRIVER_FUNCTIONS(LTD_FIELD)
  LTD_NEWER_DRIVER_FUNCTIONS(LTD_FIELD)
} ltD_driver;

typedef struct ltD_compiler {
  ltD_library library;
  char *identity; /* path, size and date of the library: its version, without opening it */
  int version;
  LTD_COMPILER_FUNCTIONS(LTD_FIELD)
} ltD_compiler;

/* ---- Devices, kernels ----------------------------------------------------------------------- */

typedef struct ltD_device {
  CUdevice device;
  CUcontext context; /* the primary one, retained at first use; NULL before */
  size_t used, limit;
  uint64_t peers; /* bit i: access to the memory of device i was enabled */
} ltD_device;

/* A kernel on one device. */
typedef struct ltD_loaded {
  CUmodule module; /* NULL: not loaded */
  CUfunction function;
  size_t static_shared;
  size_t shared; /* dynamic shared memory that it is opted in for */
} ltD_loaded;

struct lt_cuda_kernel {
  lt_cuda_kernel *next; /* in its bucket */
  ltD_key key;
  char *name;
  char *arch;
  char *log; /* of NVRTC; NULL: none */
  void *image;
  size_t size;
  lt_cuda_origin origin;
  ltD_loaded *loaded; /* one a device */
  int devices;
};

#define LTD_BUCKETS 64

/* The kernels of a graph, each once, in the order of their first launches. */
#define LTD_NAMED_KERNELS 8
typedef struct ltD_kernels {
  const lt_cuda_kernel *list[LTD_NAMED_KERNELS]; /* the first of them */
  size_t count;                                  /* more than those: at least one is left out */
} ltD_kernels;

/* What was launched last, for messages: a kernel or a graph. */
typedef struct ltD_last_launch {
  const lt_cuda_kernel *kernel; /* NULL: none */
  int device;
  lt_cuda_launch launch;
  bool is_graph;
  ltD_kernels kernels; /* of the graph */
} ltD_last_launch;

/* What memory there was when a call had too little. */
typedef struct ltD_shortage {
  int device;
  size_t available, total; /* total 0: not known */
} ltD_shortage;

/* What a stream records; other streams take part that wait for its events. */
typedef struct ltD_recording {
  lt_cuda_stream stream; /* NULL: none records */
  int device;
  ltD_kernels kernels;
} ltD_recording;

/*
** A launch that repeats, and its graph of one kernel: see repeat.c. Launches have their slot by what
** they are without their arguments.
*/
typedef struct ltD_repeat {
  const lt_cuda_kernel *kernel; /* NULL: the slot is free */
  int device;
  lt_cuda_launch launch;
  unsigned count;  /* launches seen, as long as there is no graph */
  unsigned credit; /* other launches that it outlasts in its slot */
  bool refused;    /* no graph can be had */
  CUgraph graph;   /* which the node is of */
  CUgraphNode node;
  CUgraphExec executable;          /* NULL: none yet */
  struct ltD_arguments *arguments; /* of the launch before */
} ltD_repeat;

#define LTD_REPEATS 64

struct lt_cuda {
  lt_allocator allocator;
  lt_error *error;
  ltD_driver driver;
  ltD_compiler compiler;
  int device_count; /* -1: not looked for */
  char *reason;     /* why there is no device */
  ltD_device *devices;
  ltD_cache cache;
  lt_cuda_kernel *kernels[LTD_BUCKETS];
  ltD_last_launch last;
  ltD_recording recording;
  ltD_shortage shortage;
  void (*collect)(void *context); /* NULL: nothing is */
  void *collect_context;
  bool is_collecting;
  ltD_repeat repeats[LTD_REPEATS];
  bool has_dependents; /* a dependent launch was made */
  lt_cuda_statistics statistics;
  char *log;
  char *warnings;
  char *taken; /* warnings handed out */
  char *note;  /* the one that was read last */
  size_t note_size;
};

/* ---- Memory of the host (state.c) ------------------------------------------------------------ */

void *ltD_new(lt_cuda *cuda, size_t size); /* zeros; NULL with the error set */
void ltD_delete(lt_cuda *cuda, void *block, size_t size);
/* A formatted string; NULL with the error set. Freed by ltD_delete_text, which takes NULL too. */
char *ltD_text(lt_cuda *cuda, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ltD_delete_text(lt_cuda *cuda, char *text);

/* ---- Errors (state.c) ------------------------------------------------------------------------ */

/* Sets the error; returns false. */
bool ltD_fail(lt_cuda *cuda, lt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
** True for success; else the error is 'call' with CUDA's name and text, and what 'format' says of the
** circumstances. After an error that ends the context: the last launch.
*/
bool ltD_check(lt_cuda *cuda, CUresult result, const char *call);
bool ltD_check_for(lt_cuda *cuda, CUresult result, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void ltD_warn(lt_cuda *cuda, const char *text);

/* ---- Where memory runs out (shortage.c) -------------------------------------------------------- */

/*
** result = call, which takes memory. Where there is too little, garbage is collected, whose finalizers
** may use 'cuda', and the call is made once more; ltD_check then gives the figures. All within the
** device's context.
*/
#define LTD_TAKE(cuda, device, result, call)                                        \
  do {                                                                              \
    (result) = (call);                                                              \
    if ((result) != CUDA_ERROR_OUT_OF_MEMORY) break;                                \
    ltD_make_room(cuda, device);                                                    \
    (result) = (call);                                                              \
    if ((result) != CUDA_ERROR_OUT_OF_MEMORY) (cuda)->shortage = (ltD_shortage){0}; \
  } while (0)

/* Collects garbage, and notes what memory there is then. */
void ltD_make_room(lt_cuda *cuda, int device);
void ltD_collect(lt_cuda *cuda);

/* ---- Libraries (load.c), devices (driver.c) --------------------------------------------------- */

/* Opens the library if that was not tried; false with the error set where it is not there. */
bool ltD_open_driver(lt_cuda *cuda);
bool ltD_open_compiler(lt_cuda *cuda);
/* Finds the compiler's library, and its identity, without opening it. */
bool ltD_find_compiler(lt_cuda *cuda);
void ltD_close_libraries(lt_cuda *cuda);

/*
** Makes the device's context current on this thread, and back: the context that the program had is
** restored; where it had none, ours stays.
*/
bool ltD_enter(lt_cuda *cuda, int device, CUcontext *before);
void ltD_leave(lt_cuda *cuda, int device, CUcontext before);
void ltD_release_devices(lt_cuda *cuda);

/* A kernel that the recording under way launches (graph.c). */
void ltD_note_recorded(lt_cuda *cuda, const lt_cuda_kernel *kernel);

/* ---- Kernels (compile.c, nvrtc.c, kernel.c, launch.c, repeat.c) ------------------------------- */

/*
** A kernel to compile. Any thread may run it, for running touches nothing else and takes no memory
** of the allocator's; all before and after that is for the thread that has the lt_cuda.
*/
typedef struct ltD_job {
  const lt_cuda_source *source;
  char arch[32];
  ltD_key key;
  char option[64]; /* NVRTC's, for the architecture */
  bool is_ptx;
  nvrtcProgram program; /* NULL: none yet, or no more */
  nvrtcResult created, compiled;
} ltD_job;

/* Says which kernel it is: the architecture and the key. */
bool ltD_name_job(lt_cuda *cuda, const lt_cuda_source *source, ltD_job *job);
/* The kernel from memory or disk; NULL where it is to be compiled. */
bool ltD_find_kernel(lt_cuda *cuda, const ltD_job *job, lt_cuda_kernel **k);
bool ltD_start_job(lt_cuda *cuda, ltD_job *job);
void ltD_run_job(const ltD_compiler *compiler, ltD_job *job);
/* The kernel that was compiled, kept in memory and on disk; NULL with the error and the log set. */
lt_cuda_kernel *ltD_end_job(lt_cuda *cuda, ltD_job *job);
/* A job that ran and is not wanted any more. */
void ltD_drop_job(lt_cuda *cuda, ltD_job *job);

/* Ends a job; '*image' is of ltD_new. */
bool ltD_take_image(lt_cuda *cuda, ltD_job *job, void **image, size_t *size);
void ltD_forget_log(lt_cuda *cuda);
void ltD_free_kernels(lt_cuda *cuda);
/* Enters the device with the kernel loaded there. */
ltD_loaded *ltD_enter_kernel(lt_cuda *cuda, lt_cuda_kernel *k, int device, CUcontext *before);
/* Opts the kernel in for more shared memory than a block gets without. */
bool ltD_opt_in(lt_cuda *cuda, lt_cuda_kernel *k, int device, ltD_loaded *l, size_t shared);
/*
** Launches through the graph that this launch has, if it has been repeated often enough for one. False
** where nothing was launched: it is to be launched by itself, and reports what fails then.
*/
bool ltD_launch_repeat(lt_cuda *cuda, const lt_cuda_kernel *k, int device, CUfunction function,
                       const lt_cuda_launch *l, void **arguments);
void ltD_free_repeats(lt_cuda *cuda);

#endif
