/*
** The value representation, the arena that values are built in, and the arithmetic on leaves.
** Shared by the files of the algebra; nothing here is installed.
*/
#ifndef LUTILE_ALGEBRA_VALUE_H
#define LUTILE_ALGEBRA_VALUE_H

#include <stdarg.h>
#include <string.h>

#include "integer.h"
#include "lutile.h"

/*
** One node of a value. A value is a node followed by the nodes of its children, in prefix order,
** so that a subtree is itself a value, a copy is one memcpy, and the next sibling is 'length' nodes
** away.
**
**   kind           value         promise   children
**   LT_INTEGER     the integer   see below none
**   LT_WILDCARD    0             0         none
**   LT_BASIS       coefficient   see below the path, outermost mode first: static integers
**   LT_TUPLE       rank          0         the elements
**   LT_LAYOUT      0             0         shape, stride (congruent)
**   LT_SWIZZLE     0             0         B, M, S: static integers
**   LT_SMEM        element bits  0         none; the offset of CuTe's shared memory form
**   LT_COMPOSED    0             0         A (swizzle or layout), offset, B (layout)
**   LT_TENSOR      0             0         offset (integer or tuple), layout
**   LT_MAJOR       0 left 1 right 0        none
**
** 'promise' is 0 for a static integer, and n >= 1 for a dynamic one that is always a multiple of n.
*/
struct lt_value {
  int64_t value;
  int64_t promise;
  uint32_t length; /* nodes in this subtree, this one included */
  uint32_t kind;   /* an lt_kind */
};

/* ---- Walking a value ------------------------------------------------------------------------ */

static inline const lt_value *ltA_first(const lt_value *v) { return v + 1; }
static inline const lt_value *ltA_next(const lt_value *v) { return v + v->length; }
static inline bool ltA_is_tuple(const lt_value *v) { return v->kind == LT_TUPLE; }
static inline bool ltA_is_integer(const lt_value *v) { return v->kind == LT_INTEGER; }
static inline bool ltA_is_layout(const lt_value *v) { return v->kind == LT_LAYOUT; }
static inline bool ltA_is_composed(const lt_value *v) { return v->kind == LT_COMPOSED; }

static inline lt_int ltA_int(const lt_value *leaf) { return (lt_int){leaf->value, leaf->promise}; }

/* Whether 'tuple' has a leaf after its element: of elements that are empty tuples none is the last. */
static inline bool ltA_has_leaf_after(const lt_value *element, const lt_value *tuple) {
  const lt_value *node = ltA_next(element), *end = ltA_next(tuple);
  while (node < end && node->kind == LT_TUPLE) node++;
  return node < end;
}

/* An integer or a scaled basis: what a stride's leaf may be. */
static inline bool ltA_is_stride_leaf(const lt_value *v) {
  return v->kind == LT_INTEGER || v->kind == LT_BASIS;
}

/* Elements of a tuple; 1 for anything else. */
static inline size_t ltA_rank(const lt_value *v) {
  return v->kind == LT_TUPLE ? (size_t)v->value : 1;
}

static inline const lt_value *ltA_shape(const lt_value *layout) { return layout + 1; }
static inline const lt_value *ltA_stride(const lt_value *layout) { return ltA_next(layout + 1); }
static inline const lt_value *ltA_layout_a(const lt_value *composed) { return composed + 1; }
static inline const lt_value *ltA_offset(const lt_value *composed) {
  return ltA_next(composed + 1);
}
static inline const lt_value *ltA_layout_b(const lt_value *composed) {
  return ltA_next(ltA_next(composed + 1));
}

static inline const lt_value *ltA_tensor_layout(const lt_value *tensor) {
  return ltA_next(tensor + 1);
}
/* 'tensor' with another layout; NULL (after a failure) gives NULL. */
const lt_value *ltA_with_tensor_layout(lt_arena *arena, const lt_value *tensor,
                                       const lt_value *layout);

/* A layout as its two trees, which need not lie one behind the other: a mode is one without a copy. */
typedef struct ltA_view {
  const lt_value *shape;
  const lt_value *stride; /* congruent with the shape */
} ltA_view;

static inline ltA_view ltA_view_of(const lt_value *layout) {
  return (ltA_view){ltA_shape(layout), ltA_stride(layout)};
}
/* Mode 'i' < rank; the only mode of an integer layout is itself. */
ltA_view ltA_view_mode(ltA_view view, size_t i);
/* The mode after 'mode', which is one of a tuple's; after the last one it is none. */
static inline ltA_view ltA_view_next(ltA_view mode) {
  return (ltA_view){ltA_next(mode.shape), ltA_next(mode.stride)};
}
/* The layout itself, for messages. */
const lt_value *ltA_view_layout(lt_arena *arena, ltA_view view);

/* The compact stride of one mode of extent 'n', as a leaf: CuTe gives static 1 the stride 0. */
static inline lt_value ltA_compact_stride(const lt_value *n) {
  bool is_one = n->value == 1 && n->promise == 0;
  return (lt_value){is_one ? 0 : 1, 0, 1, LT_INTEGER};
}

/* Element 'i' of a tuple; 'i' is less than its rank. */
const lt_value *ltA_element(const lt_value *tuple, size_t i);

/* The shape that stands for 'v': of a layout (composed, tensor) its shape, else 'v' itself. */
const lt_value *ltA_shape_of(const lt_value *v);

/* Leaves (integers, bases, wildcards) below 'v'. */
size_t ltA_count_leaves(const lt_value *v);

/* A shape with a zero in it. */
bool ltA_has_no_elements(const lt_value *shape);

/* A copy in the arena, which the caller may still change. */
lt_value *ltA_copy(lt_arena *arena, const lt_value *v);

/* Same nodes, flags and promises included. */
static inline bool ltA_equal(const lt_value *a, const lt_value *b) {
  return a->length == b->length && memcmp(a, b, a->length * sizeof *a) == 0;
}

/* ---- The arena ------------------------------------------------------------------------------ */

/* A stretch of memory, handed out from its start on; the bytes follow the header. */
typedef struct ltA_chunk {
  struct ltA_chunk *older;
  size_t capacity;
  size_t used;
} ltA_chunk;

/* A place in the arena to go back to. */
typedef struct ltA_mark {
  struct ltA_chunk *chunk;
  size_t used;
} ltA_mark;

struct lt_arena {
  lt_allocator allocator;
  lt_error *error;
  struct ltA_chunk *chunk; /* the newest; the oldest is kept by lt_arena_reset */
};

/* 'count' uninitialised nodes (or bytes), or NULL with the error set. */
lt_value *ltA_new_nodes(lt_arena *arena, size_t count);
void *ltA_new_bytes(lt_arena *arena, size_t size);

static inline ltA_mark ltA_get_mark(const lt_arena *arena) {
  return (ltA_mark){arena->chunk, arena->chunk == NULL ? 0 : arena->chunk->used};
}

/* Gives back all that was made since 'mark'. */
void ltA_release(lt_arena *arena, ltA_mark mark);

/*
** Gives back all that was made since 'mark' but for 'v', which moves there. Returns its new place;
** NULL stays NULL.
*/
const lt_value *ltA_keep_moved(lt_arena *arena, ltA_mark mark, const lt_value *v);

static inline const lt_value *ltA_keep(lt_arena *arena, ltA_mark mark, const lt_value *v) {
  const ltA_chunk *chunk = arena->chunk;
  if (v != NULL && chunk != NULL && chunk == mark.chunk &&
      (const char *)v == (const char *)(chunk + 1) + mark.used &&
      chunk->used == mark.used + v->length * sizeof *v)
    return v; /* nothing else was made */
  return ltA_keep_moved(arena, mark, v);
}

/* ---- Errors --------------------------------------------------------------------------------- */

/* After the first failure nothing more is computed: every function returns NULL (or 0) at once. */
static inline bool ltA_failed(const lt_arena *arena) { return arena->error->status != LT_OK; }

/*
** Records an error unless one is recorded already. The format knows %d (int), %z (size_t),
** %I (int64_t), %s, %i (lt_int), %v (const lt_value *, cut where it is long) and %%. Returns NULL.
*/
void *ltA_fail(lt_arena *arena, lt_status status, const char *format, ...);
void *ltA_no_memory(lt_arena *arena);

/* ---- Building ------------------------------------------------------------------------------- */

/*
** A value under construction, in prefix order. Appending never fails on the spot: it records the
** error in the arena, and finishing returns NULL.
*/
typedef struct ltA_builder {
  lt_arena *arena;
  lt_value *nodes;
  size_t count;
  size_t capacity;
  lt_value initial[40]; /* enough for most values; 'nodes' moves to the arena beyond */
} ltA_builder;

void ltA_begin(ltA_builder *b, lt_arena *arena);
void ltA_grow(ltA_builder *b, size_t more);

static inline lt_value *ltA_append_nodes(ltA_builder *b, size_t count) {
  if (b->count + count > b->capacity) {
    ltA_grow(b, count);
    if (b->count + count > b->capacity) return NULL; /* out of memory, recorded */
  }
  lt_value *at = b->nodes + b->count;
  b->count += count;
  return at;
}

static inline void ltA_append(ltA_builder *b, const lt_value *v) {
  lt_value *at = ltA_append_nodes(b, v->length);
  if (at != NULL) memcpy(at, v, v->length * sizeof *v);
}

static inline void ltA_append_int(ltA_builder *b, lt_int x) {
  lt_value *at = ltA_append_nodes(b, 1);
  if (at != NULL) *at = (lt_value){x.value, x.promise, 1, LT_INTEGER};
}

/* Opens a node of 'kind'; what is appended before the matching close becomes its children. */
size_t ltA_open(ltA_builder *b, lt_kind kind);
/* 'rank' is the number of children of a tuple; 0 for other kinds. */
void ltA_close(ltA_builder *b, size_t open, size_t rank);

/* The finished value in the arena, or NULL. Checks the depth limit. */
const lt_value *ltA_finish(ltA_builder *b);
/* The layout of a finished shape and stride. */
const lt_value *ltA_finish_layout(ltA_builder *shape, ltA_builder *stride);
/* The layout of two values, which must be congruent (not checked). */
const lt_value *ltA_pair(lt_arena *arena, const lt_value *shape, const lt_value *stride);
/* A node of 'kind' with the given children. */
const lt_value *ltA_node(lt_arena *arena, lt_kind kind, const lt_value *const *children, size_t n);
const lt_value *ltA_from_int(lt_arena *arena, lt_int x);

/* A layout under construction: the trees of its shape and its stride, which grow in step. */
typedef struct ltA_layout_builder {
  ltA_builder shape, stride;
} ltA_layout_builder;

/* Where the builder stood: at an open tuple, or at what may be taken back. */
typedef struct ltA_place {
  size_t shape, stride;
} ltA_place;

void ltA_layout_begin(ltA_layout_builder *b, lt_arena *arena);
ltA_place ltA_layout_open(ltA_layout_builder *b);
void ltA_layout_close(ltA_layout_builder *b, ltA_place open, size_t rank);
static inline ltA_place ltA_layout_place(const ltA_layout_builder *b) {
  return (ltA_place){b->shape.count, b->stride.count};
}
static inline void ltA_layout_append(ltA_layout_builder *b, ltA_view view) {
  ltA_append(&b->shape, view.shape);
  ltA_append(&b->stride, view.stride);
}
const lt_value *ltA_layout_finish(ltA_layout_builder *b);

/* A layout under construction from the layouts of its modes. */
typedef struct ltA_join {
  ltA_layout_builder layout;
  ltA_place open;
  size_t rank;
} ltA_join;

void ltA_join_begin(ltA_join *join, lt_arena *arena);
/* 'layout' becomes the next mode; NULL (after a failure) is passed over. */
void ltA_join_append(ltA_join *join, const lt_value *layout);
const lt_value *ltA_join_finish(ltA_join *join);

/* The layout of mode 'i' < rank; the only mode of an integer layout is itself. */
const lt_value *ltA_mode_of(lt_arena *arena, const lt_value *layout, size_t i);

/* ---- Internal operations shared between files -------------------------------------------------
 */

/*
** What shapes, layouts, composed layouts and tensors must satisfy (layout.c), or an error that
** names 'operation'.
*/
bool ltA_check_shape(lt_arena *arena, const char *operation, const lt_value *shape);
bool ltA_check_layout(lt_arena *arena, const char *operation, const lt_value *shape,
                      const lt_value *stride);
/* The same for a layout of integers and strides that an operation has made. */
bool ltA_check_limits(lt_arena *arena, const lt_value *layout);

/*
** Multiplies 'size' by the extent of a mode, and adds to 'reach' what its strides span. False where
** the extent is negative or 64 bits do not hold the numbers; 'size' must also stay below LT_MAX_SIZE.
*/
static inline bool ltA_count_mode(int64_t *size, int64_t *reach, int64_t extent, int64_t stride) {
  if (extent <= 1) return extent >= 0; /* 0 is left out of the size */
  int64_t span;
  if (__builtin_mul_overflow(*size, extent, size)) return false;
  if (__builtin_mul_overflow(extent - 1, stride, &span)) return false;
  return span < 0 ? !__builtin_sub_overflow(*reach, span, reach)
                  : !__builtin_add_overflow(*reach, span, reach);
}
bool ltA_check_composed(lt_arena *arena, const char *operation, const lt_value *a,
                        const lt_value *offset, const lt_value *b);
bool ltA_check_tensor(lt_arena *arena, const char *operation, const lt_value *offset,
                      const lt_value *layout);

/* ---- Products and sums ------------------------------------------------------------------------
 */

/* Product of all leaves of a shape; records an error where a leaf is no integer. */
lt_int ltA_product(lt_arena *arena, const lt_value *shape);

/* The part of a linear index within a mode; 'index' becomes what is left for the next modes. */
lt_int ltA_split_index(lt_arena *arena, lt_int *index, const lt_value *mode);

/*
** The offset of a linear index, flags left aside. False beyond 64 bits, where a mode but the last
** is of size 0 and where a stride is no integer; then the general way says what is wrong.
*/
bool ltA_offset_at(const lt_value *shape, const lt_value *stride, int64_t index, int64_t *offset);

/*
** Sums of indices: integers, scaled bases and (arithmetic) tuples of them. A basis k@i stands for
** the tuple with k in mode i and static zeros before it; tuples of unlike rank are padded with
** static 0; static 0 adds to anything. Source: CuTe's ArithmeticTuple.
*/
const lt_value *ltA_add_values(lt_arena *arena, const lt_value *x, const lt_value *y);
/* 'x' (integer, basis or tuple) times an integer. */
const lt_value *ltA_scale_value(lt_arena *arena, const lt_value *x, lt_int factor);
/* A basis as a tuple; anything else is itself. */
const lt_value *ltA_as_tuple(lt_arena *arena, const lt_value *x);

/* 'value' in the place that 'leaf', an integer or a scaled basis, names; its own number aside. */
typedef struct ltA_term {
  const lt_value *leaf;
  lt_int value;
} ltA_term;

/* The sum of 'n' terms, as ltA_add_values would make it one by one; reorders them. */
const lt_value *ltA_sum_terms(lt_arena *arena, ltA_term *terms, size_t n);

/* ---- Recast ---------------------------------------------------------------------------------- */

/*
** Bits from the start of element 0 of a layout over memory to that of element 0 of its recast: where
** strides are negative the two differ. The recast itself must be possible.
*/
bool ltA_recast_start(lt_arena *arena, const lt_value *layout, int64_t old_bits, int64_t new_bits,
                      int64_t *bits);

/* ---- Sorting -------------------------------------------------------------------------------- */

/* Sorts items of at most 64 bytes in place; equal ones may come in any order. */
void ltA_sort(void *items, size_t count, size_t size, int (*compare)(const void *x, const void *y));

#endif
