/*
** What the binding's files on tiles share: tensors over memory, MMA atoms, the host executor.
*/
#ifndef LUTILE_LUA_TILES_H
#define LUTILE_LUA_TILES_H

#include "../tile/mma.h"
#include "../tile/tensor.h"
#include "../tile/tiled_mma.h"
#include "binding.h"

/* ---- Buffers -------------------------------------------------------------------------------- */

/*
** Memory of the host that tensors look at: a userdata, the bytes behind it. User value 1 is what
** watches it within a kernel, or what closes it where it has a __close: of pinned memory.
*/
typedef struct ltL_buffer {
  ltT_buffer buffer;
  lt_element element;
  bool is_freed; /* by name: not to be used any more; the bytes are the collector's */
  int64_t count;
} ltL_buffer;

/* Pushes a new buffer of zeros; within a kernel, registers and shared memory are watched. */
ltL_buffer *ltL_new_buffer(lua_State *L, ltL_state *S, lt_element element, int64_t count,
                           ltT_space space);
/* The same for global memory that starts at a multiple of 'alignment', and has whole ones to itself. */
ltL_buffer *ltL_new_aligned_buffer(lua_State *L, ltL_state *S, lt_element element, int64_t count,
                                   size_t alignment);
/* The buffer at 'index', or NULL. */
ltL_buffer *ltL_test_buffer(lua_State *L, int index);
/* The element type that the string at 'index' names; LT_ELEMENT_COUNT if it is none. */
lt_element ltL_test_element(lua_State *L, int index);
lt_element ltL_check_element(lua_State *L, const char *function, int index);

/* ---- Tensors -------------------------------------------------------------------------------- */

/*
** The userdata of a tensor: this, and the layout's nodes behind it. User value 1 is its data: a
** buffer of the host, or another object whose memory the host cannot reach.
*/
typedef struct ltL_tensor {
  ltT_buffer *buffer; /* of an ltL_buffer; NULL: not the host's */
  int64_t offset;
  lt_element element;
  int64_t nodes[]; /* the layout */
} ltL_tensor;

static inline const lt_value *ltL_layout_of(const ltL_tensor *t) {
  return (const lt_value *)(const void *)t->nodes;
}

/* Pushes offset o layout over the data at 'data'. */
void ltL_push_tensor(lua_State *L, ltL_state *S, int data, lt_element element, int64_t offset,
                     const lt_value *layout);
/* Pushes a tensor with memory of its own for 'layout', in registers within a kernel. */
void ltL_push_owning_tensor(lua_State *L, ltL_state *S, const char *function, lt_element element,
                            const lt_value *layout);
/* Pushes the table of the methods that tensors alone have. */
void ltL_push_tensor_methods(lua_State *L);
const ltL_tensor *ltL_check_tensor(lua_State *L, ltL_state *S, const char *function, int index);
/* As the core sees it, 'role' its name for messages; raises for memory that is not the host's. */
lt_tensor ltL_core_tensor(lua_State *L, const ltL_tensor *t, const char *role);
/* The tensor at 'index' as the core sees it. */
lt_tensor ltL_check_core(lua_State *L, ltL_state *S, const char *function, int index,
                         const char *role);

/*
** Pushes a part, offset o layout, of what is at 'index': of a tensor a view, of a counting tensor
** or a layout a counting tensor.
*/
int ltL_push_part(lua_State *L, ltL_state *S, int index, const lt_value *part);

/* Name of the variable of the calling script that holds the value at 'index', or NULL. */
const char *ltL_variable_name(lua_State *L, int index);
/*
** Raises the arena's error. Where the reason is a fault of one of the 'n' tensors, which are at
** 'slots', the message names the script's variable.
*/
int ltL_raise_fault(lua_State *L, ltL_state *S, const char *function, lt_tensor *const *tensors,
                    const int *slots, size_t n);

/* Pushes an element: a number, or two for complex types. */
int ltL_push_element(lua_State *L, const lt_tensor *t, int64_t offset);
/* The number, boolean or {re, im} at 'index'. */
lt_number ltL_check_element_value(lua_State *L, int index, const char *function);

/* ---- MMA ------------------------------------------------------------------------------------ */

typedef enum ltL_mma_kind { LT_MMA_IS_ATOM, LT_MMA_IS_TILED, LT_MMA_IS_SLICE } ltL_mma_kind;

/* The userdata of an atom or TiledMMA. A slice has the TiledMMA as its user value 1. */
typedef struct ltL_mma {
  ltL_mma_kind kind;
  ltT_mma_atom atom;
  const struct ltL_mma *tiled; /* of a slice; of the others, itself */
  int64_t thread_count;        /* of a TiledMMA: ThrV * ThrM * ThrN * ThrK */
  int64_t thread_span;         /* the largest thread + 1 */
  size_t threads_at;           /* bytes from the start to 'thread_count' thread numbers, in order
                                  of (ThrV,ThrM,ThrN,ThrK), then 'thread_span' indices into them
                                  (-1: a thread that has no part) */
  int64_t nodes[];             /* the value; of a slice, its coordinate */
} ltL_mma;

static inline const lt_value *ltL_mma_value(const ltL_mma *m) {
  return (const lt_value *)(const void *)m->nodes;
}
static inline const int32_t *ltL_mma_threads(const ltL_mma *m) {
  return (const int32_t *)(const void *)((const char *)m + m->threads_at);
}
/* The atom's own value. */
const lt_value *ltL_mma_atom_value(const ltL_mma *m);

const ltL_mma *ltL_test_mma(lua_State *L, int index);

/* ---- The host executor ---------------------------------------------------------------------- */

/*
** Pushes what watches the memory that kernels make now, to be kept alive by it, and returns who
** accesses memory; nil and NULL where there is no kernel, or it runs without checks.
*/
const ltT_actor *ltL_push_watch(lua_State *L);
/* Says which thread brings the tensor, from which line of the script, and who counts. */
void ltL_watch(lua_State *L, lt_tensor *t);
/* Counts registers that the running thread makes, and floating point operations. */
void ltL_count_registers(lua_State *L, size_t bytes);
void ltL_count_operations(lua_State *L, double operations);

/* What copy and copy_if do without an atom. */
int ltL_plain_copy(lua_State *L);
int ltL_plain_copy_if(lua_State *L);
/* size and tile_size of all but copies. */
int ltL_plain_size(lua_State *L);
int ltL_plain_tile_size(lua_State *L);

/* Whether 'L' runs a thread of a kernel. */
bool ltL_in_kernel(lua_State *L);
/*
** What a thread brings to an operation of several threads of its block, which meet there: gemm
** over an atom, a copy of a warp. The last thread to come runs it for all of them.
*/
typedef struct ltL_meeting {
  const char *function;   /* for messages */
  const char *atom;       /* its name, */
  const lt_value *value;  /* and what all bring alike */
  int base, size;         /* the threads that meet: 'size' of them, from thread 'base' on, */
  const int32_t *threads; /* at these distances; NULL: one after the other */
  lt_tensor tensors[6];   /* what this thread brings: 4, */
  int further;            /* and so many more */
  /* Runs it; false with the error set, '*culprit' the one of them at fault. */
  bool (*run)(ltL_state *S, const struct ltL_meeting *self, struct ltL_meeting *all,
              size_t *culprit);
  const void *object;    /* for 'run' */
  double number, result; /* of an exchange of numbers */
  int parameter;         /* its lane, mask or distance */
  bool has_result;       /* the call returns 'result' */
  bool may_diverge;      /* from different lines of the script */
} ltL_meeting;

/* The running thread's number in its block, and that of the block's threads in '*count'. */
int ltL_check_thread(lua_State *L, const char *function, const char *atom, int *count);
/* Meets: the tensors are at 'slots' of the stack. Returns as a C function does, and may yield. */
int ltL_meet(lua_State *L, ltL_state *S, const ltL_meeting *meeting, const int slots[]);

/* ---- The parts of the module ---------------------------------------------------------------- */

/* Each adds its functions to the module at the top of the stack. */
void ltL_open_tiles(lua_State *L); /* all of the following */
void ltL_open_buffers(lua_State *L);
void ltL_open_tensors(lua_State *L);
void ltL_open_algorithms(lua_State *L);
void ltL_open_mma(lua_State *L);
void ltL_open_gemm(lua_State *L);
void ltL_open_host_gemm(lua_State *L);
void ltL_open_host(lua_State *L);

/* Sets 'functions' with the state as upvalue 1 in the table at the top. */
void ltL_set_tile_functions(lua_State *L, const luaL_Reg *functions);

#endif
