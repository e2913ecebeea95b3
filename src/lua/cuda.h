/*
** What the binding's files on CUDA share: the state of lutile.cuda in one lua_State, and its types.
**
** Every function has the module's state as upvalue 1, as all of the binding, and the ltL_cuda as
** upvalue 2.
*/
#ifndef LUTILE_LUA_CUDA_H
#define LUTILE_LUA_CUDA_H

#include "lutile_cuda.h"
#include "tiles.h"

typedef struct ltL_cuda {
  lt_cuda *cuda; /* NULL once the state has closed */
  lt_error error;
  lua_Alloc allocate;
  void *allocate_context;
  lua_State *collector;         /* a thread to collect garbage in, whichever runs; user value 2 */
  const void *buffer_metatable; /* identity, as lua_topointer gives it */
  bool is_recording;            /* a stream records for a graph: see cuda_graph.c */
  uint64_t recording;           /* the number of the recording, the last one where none is */
  uint64_t frees;               /* how often memory was freed by name */
} ltL_cuda;

/* The ltL_cuda of a call; raises where the state is being closed. */
ltL_cuda *ltL_begin_cuda(lua_State *L);
/*
** Gives the userdata at the top, which has nothing to release yet, the metatable 'name'. What it has
** later is released when the lua_State closes, at the latest.
*/
void ltL_set_cuda_type(lua_State *L, const char *name);
/* Raises the error of the last call. */
int ltL_raise_cuda(lua_State *L, const ltL_cuda *C);
/* Raises it unless 'good'. */
void ltL_require_cuda(lua_State *L, const ltL_cuda *C, bool good);
/* Hands warnings on to Lua. */
void ltL_pass_warnings(lua_State *L, ltL_cuda *C);

/* A device number, argument 'index', 0 where there is none. Raises if there is no such device. */
int ltL_check_device(lua_State *L, ltL_cuda *C, int index);

/* ---- Device buffers -------------------------------------------------------------------------- */

/* Memory of a device. Views, tensors, hold it as their data. */
typedef struct ltL_device_buffer {
  lt_cuda *cuda;
  lt_cuda_pointer pointer; /* 0: freed, or not there yet */
  size_t size;             /* bytes */
  lt_element element;
  int64_t count;
  int device;
} ltL_device_buffer;

/* The buffer at 'index', or NULL. */
ltL_device_buffer *ltL_test_device_buffer(lua_State *L, const ltL_cuda *C, int index);
ltL_device_buffer *ltL_check_device_buffer(lua_State *L, const ltL_cuda *C, int index);

/* Whether the buffer of the host at 'buffer' has pinned memory. */
bool ltL_is_pinned(lua_State *L, int buffer);

/* ---- Streams -------------------------------------------------------------------------------- */

typedef struct ltL_stream {
  lt_cuda *cuda; /* NULL: closed */
  lt_cuda_stream stream;
  int device;
  bool capturing; /* it is the one that records */
} ltL_stream;

#define LTL_STREAM "lutile stream"

/* The stream at 'index', open. */
ltL_stream *ltL_check_stream(lua_State *L, int index);
/* The same; NULL where there is nil or none: the default stream. */
ltL_stream *ltL_optional_stream(lua_State *L, int index);

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* Methods of streams. */
int ltL_stream_capture(lua_State *L);
int ltL_stream_keep(lua_State *L);
/* Whether what goes to the stream is recorded; NULL is the default stream. */
bool ltL_is_recorded(const ltL_cuda *C, const ltL_stream *s);
/* The graph that is recorded will keep the value at 'index', of a tensor its memory. */
void ltL_keep(lua_State *L, int index);

/* ---- Kernels -------------------------------------------------------------------------------- */

typedef enum ltL_parameter_kind {
  LT_PARAMETER_POINTER, /* T *: of a tensor or device buffer, or nil */
  LT_PARAMETER_TENSOR,  /* lutile::tensor<T, L> */
  LT_PARAMETER_LAYOUT,  /* L */
  LT_PARAMETER_SIGNED,
  LT_PARAMETER_UNSIGNED,
  LT_PARAMETER_NUMBER,    /* of a floating element type */
  LT_PARAMETER_TENSOR_MAP /* tma::Map, CUtensorMap */
} ltL_parameter_kind;

typedef struct ltL_parameter {
  ltL_parameter_kind kind;
  lt_element element;      /* LT_ELEMENT_COUNT: any */
  int bits;                /* of an integer, or of the index of a layout */
  size_t offset, size;     /* in the block of arguments */
  const lt_value *pattern; /* the layout that was compiled */
  size_t dynamic_count;
  const char *name;
} ltL_parameter;

/*
** The userdata of a kernel. User value 1 is the table that it was compiled from, 2 a list that keeps
** what the pointers here point to.
*/
typedef struct ltL_kernel {
  lt_cuda_kernel *kernel;
  ltL_cuda *state;
  lt_cuda_origin origin; /* of the code, when this kernel was asked for */
  const char *name;
  int device;        /* where launches without a stream go */
  size_t block_size; /* bytes of all arguments */
  size_t count;
  ltL_parameter parameters[];
} ltL_kernel;

#define LTL_KERNEL "lutile kernel"
/* Bytes that a kernel's arguments may have together, and how many there may be. */
#define LTL_MAX_BLOCK 4096
#define LTL_MAX_PARAMETERS 256

/*
** A kernel that is to be compiled. User value 1 is a list that keeps what 'source' points to, 2 the
** kernel's userdata, which is no kernel before it has its code.
*/
typedef struct ltL_order {
  lt_cuda_source source;
  ltL_kernel *kernel;
} ltL_order;

#define LTL_ORDER "lutile order"

/*
** Pushes the kernel of the order at 'index' with its code. Pushes a message instead, and is false,
** where there is none: that of the last call on CUDA.
*/
bool ltL_push_compiled(lua_State *L, ltL_cuda *C, int index, lt_cuda_kernel *code);

/* ---- Tensor maps ---------------------------------------------------------------------------- */

typedef struct ltL_tensor_map {
  const ltL_device_buffer *buffer; /* kept by user value 1 */
  lt_cuda_tensor_map map;
} ltL_tensor_map;

#define LTL_TENSOR_MAP "lutile tensor map"

/* ---- The parts of the module ---------------------------------------------------------------- */

/* Sets functions with both upvalues in the table at the top. */
void ltL_set_cuda_functions(lua_State *L, const luaL_Reg *functions);
/* Pushes a new metatable 'name' with these; its index is the methods. */
void ltL_make_cuda_type(lua_State *L, const char *name, const luaL_Reg *methods,
                        const luaL_Reg *metamethods);

/* Each adds its functions to the module at the top of the stack. */
void ltL_open_cuda_memory(lua_State *L);
void ltL_open_cuda_pinned(lua_State *L);
void ltL_open_cuda_streams(lua_State *L);
void ltL_open_cuda_graphs(lua_State *L);
void ltL_open_cuda_compile(lua_State *L);
void ltL_open_cuda_batch(lua_State *L);
void ltL_open_cuda_launch(lua_State *L);
void ltL_open_cuda_tensor_maps(lua_State *L);
void ltL_open_cuda_notes(lua_State *L);

#endif
