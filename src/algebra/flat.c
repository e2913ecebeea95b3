/*
** Flat lists of modes.
*/
#include "flat.h"

void ltA_modes_begin(ltA_modes *modes, lt_arena *arena) {
  modes->arena = arena;
  modes->items = modes->initial;
  modes->count = 0;
  modes->capacity = sizeof modes->initial / sizeof modes->initial[0];
}

void ltA_modes_grow(ltA_modes *modes) {
  ltA_mode *items = ltA_new_bytes(modes->arena, 2 * modes->capacity * sizeof *items);
  if (items == NULL) return;
  memcpy(items, modes->items, modes->count * sizeof *items);
  modes->items = items;
  modes->capacity *= 2;
}

ltA_mode ltA_make_mode(const lt_value *shape_leaf, const lt_value *stride_leaf) {
  const lt_value *basis = stride_leaf->kind == LT_BASIS ? stride_leaf : NULL;
  return (ltA_mode){ltA_int(shape_leaf), ltA_int(stride_leaf), basis};
}

/* Congruent trees have their leaves in the same order, so no recursion is needed. */
void ltA_modes_flatten(ltA_modes *modes, const lt_value *shape, const lt_value *stride) {
  const lt_value *end = ltA_next(shape);
  while (shape < end) {
    if (ltA_is_tuple(shape)) {
      shape++;
      stride++;
      continue;
    }
    ltA_modes_append(modes, ltA_make_mode(shape, stride));
    shape++;
    stride = ltA_next(stride);
  }
}

bool ltA_same_basis(const lt_value *a, const lt_value *b) {
  if (a == NULL || b == NULL) return a == b;
  if (a->length != b->length) return false;
  return memcmp(a + 1, b + 1, (a->length - 1) * sizeof *a) == 0;
}

/* left.shape * left.stride == right.stride, known statically. */
static bool is_continued_by(const ltA_mode *left, const ltA_mode *right) {
  if (!ltA_is_static_int(right->shape) || !ltA_is_static_int(right->stride)) return false;
  if (!ltA_is_static_int(left->stride)) return false;
  if (!ltA_is_static_int(left->shape) && left->stride.value != 0) return false;
  if (!ltA_same_basis(left->basis, right->basis)) return false;
  int64_t product;
  if (__builtin_mul_overflow(left->shape.value, left->stride.value, &product)) return false;
  return product == right->stride.value;
}

/*
** Folds the modes before the last into 'front', the newest mode of the result, which grows
** downwards from the end of the list.
*/
static void coalesce_from_back(ltA_modes *modes) {
  ltA_mode *front = modes->items + modes->count - 1;
  for (ltA_mode *mode = front - 1; mode >= modes->items; mode--) {
    if (ltA_is_constant(mode->shape, 1)) continue;
    if (ltA_is_constant(front->shape, 1)) {
      *front = *mode;
    } else if (is_continued_by(mode, front)) {
      front->shape = ltA_mul(modes->arena, mode->shape, front->shape);
      front->stride = mode->stride;
      front->basis = mode->basis;
    } else {
      *--front = *mode;
    }
  }
  modes->count = (size_t)(modes->items + modes->count - front);
  memmove(modes->items, front, modes->count * sizeof *front);
}

void ltA_modes_coalesce(ltA_modes *modes) {
  if (modes->count == 0) return;
  coalesce_from_back(modes);
  if (modes->count == 1 && ltA_is_constant(modes->items[0].shape, 1))
    modes->items[0] = (ltA_mode){ltA_static(1), ltA_static(0), NULL};
}

void ltA_modes_coalesce_x(ltA_modes *modes) {
  if (modes->count == 0) return;
  ltA_mode *last = modes->items + modes->count - 1;
  /* an extent of 2 keeps the last mode from being dropped; how far it goes is never asked */
  if (ltA_is_constant(last->shape, 1)) last->shape = ltA_static(2);
  coalesce_from_back(modes);
}

uint64_t ltA_modes_evaluate(const ltA_modes *modes, int64_t index, const lt_value *basis) {
  uint64_t offset = 0;
  size_t last = modes->count - 1;
  for (size_t i = 0; i <= last; i++) {
    const ltA_mode *mode = &modes->items[i];
    int64_t digit = i < last ? index % mode->shape.value : index;
    if (i < last) index /= mode->shape.value;
    if (ltA_same_basis(mode->basis, basis))
      offset += (uint64_t)digit * (uint64_t)mode->stride.value;
  }
  return offset;
}

void ltA_append_stride(ltA_builder *stride, const ltA_mode *mode) {
  if (mode->basis == NULL) {
    ltA_append_int(stride, mode->stride);
    return;
  }
  size_t at = stride->count;
  ltA_append(stride, mode->basis);
  if (ltA_failed(stride->arena)) return;
  stride->nodes[at].value = mode->stride.value;
  stride->nodes[at].promise = mode->stride.promise;
}

void ltA_modes_append_to(const ltA_modes *modes, ltA_builder *shape, ltA_builder *stride) {
  if (modes->count == 1) {
    ltA_append_int(shape, modes->items[0].shape);
    ltA_append_stride(stride, &modes->items[0]);
    return;
  }
  size_t open_shape = ltA_open(shape, LT_TUPLE);
  size_t open_stride = ltA_open(stride, LT_TUPLE);
  for (size_t i = 0; i < modes->count; i++) {
    ltA_append_int(shape, modes->items[i].shape);
    ltA_append_stride(stride, &modes->items[i]);
  }
  ltA_close(shape, open_shape, modes->count);
  ltA_close(stride, open_stride, modes->count);
}

const lt_value *ltA_modes_to_layout(const ltA_modes *modes) {
  if (ltA_failed(modes->arena)) return NULL;
  ltA_builder shape, stride;
  ltA_begin(&shape, modes->arena);
  ltA_begin(&stride, modes->arena);
  ltA_modes_append_to(modes, &shape, &stride);
  return ltA_finish_layout(&shape, &stride);
}
