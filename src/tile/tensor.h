/*
** Tensors over memory: offset o layout over a buffer, and what is done to all their elements.
*/
#ifndef LUTILE_TILE_TENSOR_H
#define LUTILE_TILE_TENSOR_H

#include "algebra/composed.h"
#include "algebra/value.h"
#include "element.h"
#include "shadow.h"

/* ---- Buffers, tensors ----------------------------------------------------------------------- */

/* Where a buffer lives on the GPU that is simulated. */
typedef enum ltT_space { LT_GLOBAL, LT_SHARED, LT_REGISTER } ltT_space;

/* Bytes that tensors look at; whoever makes the buffer owns them. */
typedef struct ltT_buffer {
  uint8_t *bytes;
  size_t size;
  ltT_space space;
  ltT_shadow *shadow; /* NULL: nobody watches */
} ltT_buffer;

typedef enum ltT_fault_kind {
  LT_NO_FAULT,
  LT_FAULT_OUTSIDE,   /* of the buffer */
  LT_FAULT_UNWRITTEN, /* read before anything was written there */
  LT_FAULT_RACE,      /* another thread is at it, with no barrier between */
  LT_FAULT_IN_FLIGHT  /* an asynchronous copy that writes it was not waited for */
} ltT_fault_kind;

/* The first element that an operation found at fault. */
typedef struct ltT_fault {
  ltT_fault_kind kind;
  int64_t index;  /* of the element, in the order of the layout's coordinates */
  int64_t offset; /* where it is or would be, in elements */
  ltT_clash clash;
} ltT_fault;

/* Who counts the accesses, and for which thread. */
typedef struct ltT_counter {
  struct ltT_traffic *traffic;
  const ltT_actor *actor;
} ltT_counter;

/* Element c of the tensor is element 'offset + layout(c)' of the buffer. */
typedef struct lt_tensor {
  lt_element element;
  int64_t offset;
  const lt_value *layout; /* plain or composed, with integer strides */
  ltT_buffer *buffer;
  const char *name;                  /* for messages */
  const struct ltT_counter *counter; /* of memory traffic; NULL: nobody counts */
  int thread;                        /* of a block, that brings the tensor */
  int vector;                        /* elements that one access may take together; 0 is 1 */
  ltT_flight flight;                 /* of the writes to it */
  ltT_fault fault;
} lt_tensor;

/* Whole elements in the tensor's buffer. */
int64_t ltT_capacity(const lt_tensor *t);
/* Product of the shape. */
int64_t ltT_size(lt_arena *arena, const lt_tensor *t);
/* A layout that memory can have: fails, naming 'operation', for coordinate strides. */
bool ltT_check_layout(lt_arena *arena, const char *operation, const lt_value *layout);
/* Elements that 'layout' needs from offset 0 on: its largest offset + 1; none may be negative. */
int64_t ltT_extent(lt_arena *arena, const char *operation, const lt_value *layout);

/* Fails with a message on the element that 't->fault' tells of. */
void *ltT_fail_fault(lt_arena *arena, const char *operation, const lt_tensor *t);
/*
** Notes an access to 'n' elements of 't', the first of them the 'first' in the order of its
** coordinates. False, with the error and the fault set, where one is not in the buffer, or is
** read or written as the buffer's shadow does not allow.
*/
bool ltT_access_elements(lt_arena *arena, const char *operation, lt_tensor *t,
                         const int64_t *offsets, size_t n, int64_t first, ltT_access access);
/* The same for one element. */
bool ltT_access_element(lt_arena *arena, const char *operation, lt_tensor *t, int64_t index,
                        int64_t offset, ltT_access access);
/* Everything in the buffer counts as written. */
void ltT_mark_written(ltT_buffer *buffer);

/* ---- Walking a layout ----------------------------------------------------------------------- */

/* Elements that the operations handle at a time. */
#define LTT_CHUNK 256

/* The offsets of a tensor's elements, in the order of its coordinates (first mode fastest). */
typedef struct ltT_walk {
  lt_arena *arena;
  const lt_tensor *tensor;
  int64_t *modes; /* shape, stride and index of each merged mode */
  size_t count;
  int64_t size;
  int64_t left;  /* elements still to come */
  int64_t reach; /* how far the offsets may spread */
  int64_t raw;   /* the plain part's offset of the next one */
  ltA_swizzle swizzle;
  const lt_value *outer; /* A of a composed layout; NULL for a plain one */
  int64_t inner_offset;  /* the offset inside a composed layout */
  int element_bits;      /* of the shared memory form, where the swizzle acts on bytes; else 0 */
} ltT_walk;

bool ltT_begin_walk(ltT_walk *w, lt_arena *arena, const lt_tensor *t);
/* All elements lie one behind the other, in the order of the coordinates. */
bool ltT_is_run(const ltT_walk *w);
/* The next offsets, at most 'n' of them; returns how many. */
size_t ltT_next_offsets(ltT_walk *w, int64_t *offsets, size_t n);
/* The same, as an access that is checked; 't' is the tensor that is walked. */
bool ltT_next_checked(ltT_walk *w, const char *operation, lt_tensor *t, int64_t *offsets, size_t *n,
                      ltT_access access);

/*
** Offsets of all 'n' elements, checked against the buffer: an array in the arena. NULL with the
** error and 't->fault' set where one is outside.
*/
const int64_t *ltT_offsets(lt_arena *arena, const char *operation, lt_tensor *t, int64_t *n,
                           ltT_access access);

/* Offset of the element at a coordinate of the shape, as an access that is checked. */
bool ltT_locate(lt_arena *arena, const char *operation, lt_tensor *t, const lt_value *coordinate,
                ltT_access access, int64_t *offset);

/* ---- Whole tensors -------------------------------------------------------------------------- */

/*
** Each returns false with the error set, and the fault of the tensor at hand where that is the
** reason. Elements before the fault are done. Where types differ, numbers are converted.
*/
bool ltT_fill(lt_arena *arena, const char *operation, lt_tensor *t, lt_number x);
/* 'predicate' (NULL: all) says by a nonzero element which ones are copied. */
bool ltT_copy(lt_arena *arena, const char *operation, lt_tensor *predicate, lt_tensor *source,
              lt_tensor *target);
/* y = alpha * x + beta * y; y is not read when beta is 0. */
bool ltT_axpby(lt_arena *arena, double alpha, lt_tensor *x, double beta, lt_tensor *y);
/* Element i becomes the offset of index i of 'layout', of as many elements; every number fits. */
bool ltT_write_offsets(lt_arena *arena, const lt_value *layout, lt_tensor *t);
/*
** d = c + a * b, as CuTe's gemm over the scalar multiply-add: (M)x(N), (M,K)x(N,K), or the same
** behind a mode of one value. Each step is rounded to d's type.
*/
bool ltT_gemm(lt_arena *arena, lt_tensor *d, lt_tensor *a, lt_tensor *b, lt_tensor *c);

/* Fails unless both have the same number of elements. */
bool ltT_check_sizes(lt_arena *arena, const char *operation, const lt_tensor *x,
                     const lt_tensor *y);

#endif
