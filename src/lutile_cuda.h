/*
** CUDA for lutile: devices, memory, streams, graphs, and kernels compiled at run time for the
** layouts that a program works out. No CUDA types: the driver (libcuda) and the compiler (NVRTC)
** are opened when they are first needed, and one binary serves machines with and without them.
** LUTILE_LIBCUDA and LUTILE_NVRTC may name their files; LUTILE_CUDA=off does without.
**
**     lt_error error = {LT_OK, ""};
**     lt_cuda *cuda = lt_cuda_open(NULL, &error);
**     if (!lt_cuda_available(cuda)) puts(error.message);
**     lt_cuda_pointer p = lt_cuda_alloc(cuda, 0, 1 << 20);
**     ...
**     lt_cuda_close(cuda);
**
** Errors go to the lt_error that was passed when opening; each call that fails replaces it, and
** returns false (0, NULL). A message has the call, CUDA's name for the error and its text. The
** status is LT_DEVICE, or LT_NO_MEMORY where the host or the device has too little.
**
** An lt_cuda belongs to one thread at a time. Several of them share nothing but the devices.
** Devices are numbered from 0.
*/
#ifndef LUTILE_CUDA_H
#define LUTILE_CUDA_H

#include "lutile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_cuda lt_cuda;

/* NULL only when there is no memory: a machine without CUDA is a state that can be asked for. */
LT_API lt_cuda *lt_cuda_open(const lt_allocator *allocator, lt_error *error);
/* Unloads the kernels and leaves the devices. What was made with 'cuda' must be freed before. */
LT_API void lt_cuda_close(lt_cuda *cuda);

/*
** 'collect' is called where memory of a device runs out, before what needed it is tried once more: it
** frees what is not needed, by the functions here.
*/
LT_API void lt_cuda_set_collector(lt_cuda *cuda, void (*collect)(void *context), void *context);

/* ---- What there is -------------------------------------------------------------------------- */

/* Whether there is a driver and a device; else the error says what is missing. */
LT_API bool lt_cuda_available(lt_cuda *cuda);
/* Whether NVRTC is found; else the error says where it was looked for. */
LT_API bool lt_cuda_has_compiler(lt_cuda *cuda);

typedef struct lt_cuda_versions {
  int driver;              /* CUDA version of the driver, 1000 * major + 10 * minor; 0: none */
  int compiler;            /* of NVRTC; 0: none */
  const char *driver_path; /* "" where there is none */
  const char *compiler_path;
  const char *compiler_identity; /* path, size and date: what the cache knows NVRTC by */
} lt_cuda_versions;

/* Opens both libraries. */
LT_API void lt_cuda_get_versions(lt_cuda *cuda, lt_cuda_versions *versions);
/* The paths without opening the compiler; 'compiler' is 0 if it is not open. */
LT_API void lt_cuda_find_versions(lt_cuda *cuda, lt_cuda_versions *versions);

typedef struct lt_cuda_device {
  char name[128];
  int major, minor; /* compute capability */
  int multiprocessors;
  int max_threads; /* of a block */
  int warp_size;
  size_t shared_memory;      /* of a block, without opting in */
  size_t shared_memory_most; /* of a block that opts in */
  size_t shared_memory_multiprocessor;
  size_t l2_cache;
  size_t memory;
} lt_cuda_device;

LT_API int lt_cuda_device_count(lt_cuda *cuda);
LT_API bool lt_cuda_get_device(lt_cuda *cuda, int device, lt_cuda_device *out);

/* ---- Memory --------------------------------------------------------------------------------- */

typedef uint64_t lt_cuda_pointer; /* an address on a device; 0 is none */
typedef void *lt_cuda_stream;     /* NULL: the device's default stream */
typedef void *lt_cuda_event;
typedef void *lt_cuda_graph;

/* At least one byte is allocated. Running out of memory gives LT_NO_MEMORY with the figures. */
LT_API lt_cuda_pointer lt_cuda_alloc(lt_cuda *cuda, int device, size_t size);
/* Waits for work on the device that may use it. Errors are passed over. */
LT_API void lt_cuda_free(lt_cuda *cuda, int device, lt_cuda_pointer p, size_t size);
/* Bytes that 'cuda' holds on a device. */
LT_API size_t lt_cuda_used(const lt_cuda *cuda, int device);
/* What lt_cuda_alloc may hold at most; beyond it the device counts as full. SIZE_MAX at first. */
LT_API void lt_cuda_set_limit(lt_cuda *cuda, int device, size_t limit);
LT_API size_t lt_cuda_limit(const lt_cuda *cuda, int device);
LT_API bool lt_cuda_memory(lt_cuda *cuda, int device, size_t *available, size_t *total);

/*
** Pins host memory in whole pages, so that devices reach it directly and copies need no detour.
** Unpins it, before it is freed; waits for work that may use it, but not for a device of which a
** stream records.
*/
LT_API bool lt_cuda_pin(lt_cuda *cuda, int device, void *p, size_t size);
LT_API void lt_cuda_unpin(lt_cuda *cuda, int device, void *p);

/*
** Copies, in the order of the stream. From and to host memory that is not pinned,
** they have read and written it when they return; with pinned memory they do not wait. 'device' is
** the one that the stream is of. A stream that records takes no host memory that is not pinned.
*/
LT_API bool lt_cuda_to_device(lt_cuda *cuda, int device, lt_cuda_pointer to, const void *from,
                              size_t size, lt_cuda_stream stream);
LT_API bool lt_cuda_to_host(lt_cuda *cuda, int device, void *to, lt_cuda_pointer from, size_t size,
                            lt_cuda_stream stream);
LT_API bool lt_cuda_on_device(lt_cuda *cuda, int device, lt_cuda_pointer to, lt_cuda_pointer from,
                              size_t size, lt_cuda_stream stream);
LT_API bool lt_cuda_fill(lt_cuda *cuda, int device, lt_cuda_pointer to, uint8_t byte, size_t size,
                         lt_cuda_stream stream);

/* Whether 'device' can reach the memory of 'other', and letting it. */
LT_API bool lt_cuda_can_access_peer(lt_cuda *cuda, int device, int other);
LT_API bool lt_cuda_enable_peer(lt_cuda *cuda, int device, int other);
/* Whether that was done, or they are one. */
LT_API bool lt_cuda_is_peer(const lt_cuda *cuda, int device, int other);

/* ---- Streams, events, graphs ---------------------------------------------------------------- */

/* Waits for all work on the device. */
LT_API bool lt_cuda_synchronize(lt_cuda *cuda, int device);

/* A stream that does not wait for the default stream. */
LT_API lt_cuda_stream lt_cuda_new_stream(lt_cuda *cuda, int device);
LT_API void lt_cuda_free_stream(lt_cuda *cuda, int device, lt_cuda_stream stream);
/* NULL waits for the work on the default stream alone. */
LT_API bool lt_cuda_stream_synchronize(lt_cuda *cuda, int device, lt_cuda_stream stream);
LT_API bool lt_cuda_stream_wait(lt_cuda *cuda, int device, lt_cuda_stream stream,
                                lt_cuda_event event);
/* Whether the stream's work is done, in 'done'. */
LT_API bool lt_cuda_stream_query(lt_cuda *cuda, int device, lt_cuda_stream stream, bool *done);

LT_API lt_cuda_event lt_cuda_new_event(lt_cuda *cuda, int device);
LT_API void lt_cuda_free_event(lt_cuda *cuda, int device, lt_cuda_event event);
LT_API bool lt_cuda_record(lt_cuda *cuda, int device, lt_cuda_event event, lt_cuda_stream stream);
LT_API bool lt_cuda_event_synchronize(lt_cuda *cuda, int device, lt_cuda_event event);
LT_API bool lt_cuda_event_query(lt_cuda *cuda, int device, lt_cuda_event event, bool *done);
LT_API bool lt_cuda_elapsed(lt_cuda *cuda, int device, lt_cuda_event from, lt_cuda_event to,
                            float *milliseconds);

/*
** From here on, what goes to the stream is recorded instead of run; so is what goes to streams that
** wait for its events. One stream records at a time. Memory, kernels and other streams are used as
** ever meanwhile. What waits for a stream that records, or for its device, fails.
*/
LT_API bool lt_cuda_begin_capture(lt_cuda *cuda, int device, lt_cuda_stream stream);
/*
** Ends the recording. Into '*graph': a new executable graph if that is NULL; else the one there is
** updated in place where its form is the same, and replaced where it is not ('*updated' says
** which). After a failure '*graph' is as it was. A graph keeps nothing of what it uses: memory and
** kernels must outlive it.
*/
LT_API bool lt_cuda_end_capture(lt_cuda *cuda, int device, lt_cuda_stream stream,
                                lt_cuda_graph *graph, bool *updated);
/* Ends a recording that is not wanted any more. */
LT_API void lt_cuda_drop_capture(lt_cuda *cuda, int device, lt_cuda_stream stream);
/* Whether a stream of the device records. */
LT_API bool lt_cuda_records(const lt_cuda *cuda, int device);
/* Whether what goes to the stream is recorded: it records, or waited for an event of one that does. */
LT_API bool lt_cuda_is_recorded(lt_cuda *cuda, int device, lt_cuda_stream stream);
LT_API bool lt_cuda_replay(lt_cuda *cuda, int device, lt_cuda_graph graph, lt_cuda_stream stream);
LT_API void lt_cuda_free_graph(lt_cuda *cuda, int device, lt_cuda_graph graph);

/* ---- Kernels -------------------------------------------------------------------------------- */

/*
** What is compiled. All that the result depends on stands here, and is the key of the kernels in
** memory and on disk; else 'reads_files' says so, and the kernel is compiled each time, and kept on
** no disk.
*/
typedef struct lt_cuda_source {
  const char *kernel; /* the function, declared extern "C" */
  const char *file;   /* the text's name in messages */
  const char *text;
  const char *const *header_names; /* what the text includes by name */
  const char *const *header_texts;
  size_t headers;
  bool reads_files;           /* NVRTC may find others itself, in the folders that it looks in */
  const char *const *options; /* NVRTC's, without the architecture */
  size_t option_count;
  const char *arch; /* "sm_90a"; NULL: of 'device' */
  int device;
} lt_cuda_source;

/* Machine code of a kernel, and the kernel on each device that it was loaded on. */
typedef struct lt_cuda_kernel lt_cuda_kernel;

/*
** The kernel from memory, from disk, or compiled; it lives until lt_cuda_close. On failure of the
** compiler, lt_cuda_log has its messages with the lines that they are about.
*/
LT_API lt_cuda_kernel *lt_cuda_compile(lt_cuda *cuda, const lt_cuda_source *source);
LT_API const char *lt_cuda_log(const lt_cuda *cuda);

/*
** Several kernels, compiled by several threads:
**
**     lt_cuda_batch *batch = lt_cuda_start_batch(cuda, sources, count, 0);
**     while (lt_cuda_next_of_batch(batch, &i, &kernel))
**       if (kernel == NULL) printf("%s: %s\n", sources[i].kernel, error.message);
**     lt_cuda_end_batch(batch);
**
** The threads run NVRTC and nothing else, with all signals blocked; 'cuda' and its allocator stay
** the calling thread's, which may use them meanwhile. NVRTC before CUDA 12.3 compiles but one kernel
** at a time in its later phases.
*/
typedef struct lt_cuda_batch lt_cuda_batch;

/*
** Starts 'threads' threads at most (0: one for each processor that this one may run on). The sources
** stay as they are until lt_cuda_end_batch. NULL where there is no memory.
*/
LT_API lt_cuda_batch *lt_cuda_start_batch(lt_cuda *cuda, const lt_cuda_source *sources,
                                          size_t count, int threads);
/*
** Waits for one of those that were not given yet: its index, and what lt_cuda_compile would give and
** say of it. False after the last.
*/
LT_API bool lt_cuda_next_of_batch(lt_cuda_batch *batch, size_t *index, lt_cuda_kernel **kernel);
/* Waits for what is being compiled; what was not begun is left. NULL is fine. */
LT_API void lt_cuda_end_batch(lt_cuda_batch *batch);

/* Warnings since the last call, a line each; "" for none. */
LT_API const char *lt_cuda_take_warnings(lt_cuda *cuda);

typedef enum lt_cuda_origin {
  LT_CUDA_COMPILED,
  LT_CUDA_FROM_DISK,
  LT_CUDA_FROM_MEMORY
} lt_cuda_origin;

LT_API lt_cuda_origin lt_cuda_kernel_origin(const lt_cuda_kernel *kernel);
LT_API const char *lt_cuda_kernel_arch(const lt_cuda_kernel *kernel);
/* 32 hexadecimal digits: of the cache's key. */
LT_API const char *lt_cuda_kernel_key(const lt_cuda_kernel *kernel);
/*
** NVRTC's warnings, as lt_cuda_log has messages, of a kernel that 'cuda' compiled; "" for none, and
** for a kernel from disk.
*/
LT_API const char *lt_cuda_kernel_log(const lt_cuda_kernel *kernel);
/* The cubin, or PTX where NVRTC does not know the architecture. */
LT_API const void *lt_cuda_kernel_image(const lt_cuda_kernel *kernel, size_t *size);

typedef struct lt_cuda_resources {
  int registers;     /* of a thread */
  int local_memory;  /* bytes of a thread: spills */
  int shared_memory; /* static, of a block */
  int max_threads;   /* of a block */
} lt_cuda_resources;

/* Loads the kernel on the device, if it is not there. */
LT_API bool lt_cuda_get_resources(lt_cuda *cuda, lt_cuda_kernel *kernel, int device,
                                  lt_cuda_resources *out);
/* Offset and size of parameter 'i'; false beyond the last, and with drivers before CUDA 12.4. */
LT_API bool lt_cuda_get_parameter(lt_cuda *cuda, lt_cuda_kernel *kernel, int device, size_t i,
                                  size_t *offset, size_t *size);
/* Blocks that one multiprocessor runs at once. */
LT_API bool lt_cuda_occupancy(lt_cuda *cuda, lt_cuda_kernel *kernel, int device, int threads,
                              size_t shared, int *blocks);

typedef struct lt_cuda_launch {
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster[3]; /* zeros: none */
  size_t shared;       /* dynamic shared memory, in bytes; beyond 48 KB the kernel is opted in */
  lt_cuda_stream stream;
  bool dependent;   /* programmatic dependent launch: may start before the one before it ends */
  bool cooperative; /* all blocks run at once */
} lt_cuda_launch;

/*
** 'arguments' points to each argument in turn. A launch that has been repeated a while, whatever its
** arguments, goes through a graph of one kernel, in half the host time; the driver holds some 110 KiB
** of the device for each of at most 64 of them. This changes nothing else: the stream's order, what
** captures record and how errors are reported stay the same.
*/
LT_API bool lt_cuda_launch_kernel(lt_cuda *cuda, lt_cuda_kernel *kernel, int device,
                                  const lt_cuda_launch *launch, void **arguments);

/* ---- Tensor maps ---------------------------------------------------------------------------- */

#define LT_CUDA_TENSOR_MAP_RANK 5

/* A CUtensorMap: an argument of kernels that copy by TMA (compute capability 9.0). */
typedef struct lt_cuda_tensor_map {
  uint64_t words[16];
} lt_cuda_tensor_map;

/* What cuTensorMapEncodeTiled takes, mode 0 first, which is contiguous. */
typedef struct lt_cuda_tensor_map_request {
  const char *type; /* of the elements, by CuTe's name */
  lt_cuda_pointer address;
  unsigned rank;
  uint64_t extents[LT_CUDA_TENSOR_MAP_RANK];
  uint64_t strides[LT_CUDA_TENSOR_MAP_RANK - 1]; /* bytes, from mode 1 on */
  uint32_t box[LT_CUDA_TENSOR_MAP_RANK];
  uint32_t element_strides[LT_CUDA_TENSOR_MAP_RANK];
  const char *swizzle;      /* "none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_64B" */
  const char *l2_promotion; /* "none", "64B", "128B", "256B" */
  const char *oob_fill;     /* "zero", "nan" */
} lt_cuda_tensor_map_request;

/* False with the rule that is broken, or the driver's error. */
LT_API bool lt_cuda_encode_tensor_map(lt_cuda *cuda, const lt_cuda_tensor_map_request *request,
                                      lt_cuda_tensor_map *out);
/* Bytes from the address to the end of the last element; UINT64_MAX for more than there can be. */
LT_API uint64_t lt_cuda_tensor_map_reach(const lt_cuda_tensor_map_request *request);

/* ---- The cache ------------------------------------------------------------------------------ */

typedef struct lt_cuda_cache {
  const char *folder; /* "" where there is none */
  const char *reason; /* why it is not used, or not written; "" where it is */
  uint64_t size;      /* bytes */
  uint64_t limit;
  uint64_t entries;
} lt_cuda_cache;

/* Looks at the folder: LUTILE_CACHE, else lutile in XDG's cache home. */
LT_API void lt_cuda_get_cache(lt_cuda *cuda, lt_cuda_cache *out);

/*
** Notes: small files of text in the cache's folder, by its rules: none is read that others could have
** written, and none is ever seen half written. A name is of small letters, '_' and '.'.
*/
#define LT_CUDA_NOTE_SIZE ((size_t)1 << 20) /* bytes at most */

/*
** The note's text, which lives until another is read; '*text' is NULL where there is none. False,
** with the reason as the error, where it is not to be used.
*/
LT_API bool lt_cuda_read_note(lt_cuda *cuda, const char *name, const char **text, size_t *size);
LT_API bool lt_cuda_write_note(lt_cuda *cuda, const char *name, const char *text, size_t size);
/*
** Between these, no other lt_cuda on the machine is between them: for a note that is read, changed
** and written. Where the file system has no locks, they do nothing.
*/
LT_API void lt_cuda_lock_notes(lt_cuda *cuda);
LT_API void lt_cuda_unlock_notes(lt_cuda *cuda);

typedef struct lt_cuda_statistics {
  uint64_t compiled, from_disk, from_memory, loads, launches;
} lt_cuda_statistics;

LT_API lt_cuda_statistics lt_cuda_get_statistics(const lt_cuda *cuda);

/* ---- Layouts as CUDA C++ -------------------------------------------------------------------- */

/* Where lt_cuda_emit_layout's text goes: 'write' returns false when there is no memory. */
typedef struct lt_cuda_writer {
  bool (*write)(void *context, const char *text, size_t length);
  void *context;
} lt_cuda_writer;

/*
** Writes 'layout' (a layout, composed layout, swizzle or counting tensor) as the type 'name', whose
** functions kernels/lutile.cuh describes. Its dynamic integers are members, in the order of
** lt_cuda_dynamic_values, each of 'index_bits' (32 or 64) bits.
*/
LT_API bool lt_cuda_emit_layout(lt_arena *arena, const lt_value *layout, const char *name,
                                int index_bits, const lt_cuda_writer *writer);
/*
** The value in which the dynamic integers of 'layout' are those that lt_cuda_emit_layout's members
** stand for, in order: 'layout' itself, but for the shared memory form.
*/
LT_API const lt_value *lt_cuda_emitted_form(lt_arena *arena, const lt_value *layout);
LT_API size_t lt_cuda_count_dynamic(const lt_value *layout);
/*
** Writes the dynamic integers of 'v' to 'values' if 'v' is 'pattern' with other numbers in the
** place of its dynamic ones, each a multiple of what is promised there; else false, with an error
** in the arena that 'what' starts.
*/
LT_API bool lt_cuda_match(lt_arena *arena, const char *what, const lt_value *pattern,
                          const lt_value *v, int64_t *values);
/*
** Least and largest offset of a plain layout with elements. False for others, and beyond 64 bits.
*/
LT_API bool lt_cuda_reach(const lt_value *layout, int64_t *least, int64_t *largest);
/* Whether every index and offset of the layout stays within 32 bits, signed. */
LT_API bool lt_cuda_fits_32_bits(const lt_value *layout);
/*
** Writes the text with dynamic numbers blanked, (?{8},2):(2,1), into a buffer that is large enough for
** lt_to_string's. Returns its length; where the buffer is too small, the size it should have had.
*/
LT_API size_t lt_cuda_blank_text(const lt_value *v, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
