/*
** Layouts as flat lists of modes: what coalescing, composition, complement and the inverses walk.
*/
#ifndef LUTILE_ALGEBRA_FLAT_H
#define LUTILE_ALGEBRA_FLAT_H

#include "value.h"

/* One shape leaf and its stride leaf. */
typedef struct ltA_mode {
  lt_int shape;
  lt_int stride;         /* of a scaled basis: its coefficient */
  const lt_value *basis; /* the LT_BASIS node whose path the stride has; NULL for an integer */
} ltA_mode;

/* A list of modes in memory of its own or of the arena. */
typedef struct ltA_modes {
  lt_arena *arena;
  ltA_mode *items;
  size_t count;
  size_t capacity;
  ltA_mode initial[16];
} ltA_modes;

static inline void ltA_modes_begin(ltA_modes *modes, lt_arena *arena) {
  modes->arena = arena;
  modes->items = modes->initial;
  modes->count = 0;
  modes->capacity = sizeof modes->initial / sizeof modes->initial[0];
}

/* Room for 'more' modes; false once memory has run out, which the arena remembers. */
bool ltA_modes_grow(ltA_modes *modes, size_t more);
static inline bool ltA_modes_reserve(ltA_modes *modes, size_t more) {
  return more <= modes->capacity - modes->count || ltA_modes_grow(modes, more);
}

static inline void ltA_modes_append(ltA_modes *modes, ltA_mode mode) {
  if (ltA_modes_reserve(modes, 1)) modes->items[modes->count++] = mode;
}

static inline ltA_mode ltA_make_mode(const lt_value *shape_leaf, const lt_value *stride_leaf) {
  const lt_value *basis = stride_leaf->kind == LT_BASIS ? stride_leaf : NULL;
  return (ltA_mode){ltA_int(shape_leaf), ltA_int(stride_leaf), basis};
}

/*
** Appends an extent without a stride, for lists that are shapes: it is multiplied into the last one
** where both are static or both dynamic. Source: CuTe's coalesce of a shape.
*/
void ltA_modes_append_extent(ltA_modes *extents, lt_int x);

/* Appends the leaves of congruent 'shape' and 'stride', left to right; none without memory. */
void ltA_modes_flatten(ltA_modes *modes, const lt_value *shape, const lt_value *stride);

/*
** Drops static size-1 modes and merges neighbours, as CuTe's coalesce does; the function on indices
** below the size stays. Nothing left gives 1:0.
*/
void ltA_modes_coalesce(ltA_modes *modes);

/* As before, but the function also stays past the size, where the last mode runs on. */
void ltA_modes_coalesce_x(ltA_modes *modes);

/* Elements, and the largest offset + 1 (0 without elements; strides must be integers). */
lt_int ltA_modes_size(const ltA_modes *modes);
lt_int ltA_modes_cosize(const ltA_modes *modes);

/*
** The component along 'basis' (NULL: integer strides) at 'index', past the size too, where the last
** mode runs on. Wraps around on overflow: to compare functions, not to compute offsets. No shape
** but the last may be 0.
*/
uint64_t ltA_modes_evaluate(const ltA_modes *modes, int64_t index, const lt_value *basis);

void ltA_modes_append_trees(const ltA_modes *modes, ltA_layout_builder *layout);
/* Appends the modes, of which there is one at least, to a layout's trees: one as a leaf, several as a
** tuple. */
static inline void ltA_modes_append_to(const ltA_modes *modes, ltA_layout_builder *layout) {
  if (modes->count == 1 && modes->items[0].basis == NULL) {
    ltA_append_int(&layout->shape, modes->items[0].shape);
    ltA_append_int(&layout->stride, modes->items[0].stride);
  } else {
    ltA_modes_append_trees(modes, layout);
  }
}
const lt_value *ltA_modes_to_layout(const ltA_modes *modes);

/* Both integers, or bases with one path. */
bool ltA_same_path(const lt_value *a, const lt_value *b);
static inline bool ltA_same_basis(const lt_value *a, const lt_value *b) {
  return a == b || (a != NULL && b != NULL && ltA_same_path(a, b));
}

/* CuTe's is_constant<0, Stride>: a scaled basis is none. */
static inline bool ltA_is_static_zero(const ltA_mode *mode) {
  return mode->basis == NULL && ltA_is_constant(mode->stride, 0);
}

#endif
