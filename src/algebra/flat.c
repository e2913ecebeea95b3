/*
** Flat lists of modes.
*/
#include "flat.h"

bool ltA_modes_grow(ltA_modes *modes, size_t more) {
  size_t capacity = 2 * modes->capacity;
  if (capacity < modes->count + more) capacity = modes->count + more;
  ltA_mode *items = ltA_new_bytes(modes->arena, capacity * sizeof *items);
  if (items == NULL) return false;
  memcpy(items, modes->items, modes->count * sizeof *items);
  modes->items = items;
  modes->capacity = capacity;
  return true;
}

void ltA_modes_append_extent(ltA_modes *extents, lt_int x) {
  ltA_mode *last = extents->count > 0 ? &extents->items[extents->count - 1] : NULL;
  if (last != NULL && ltA_is_static_int(last->shape) == ltA_is_static_int(x))
    last->shape = ltA_mul(extents->arena, last->shape, x);
  else
    ltA_modes_append(extents, (ltA_mode){x, ltA_static(0), NULL});
}

/* Congruent trees have their leaves in the same order, so no recursion is needed. */
void ltA_modes_flatten(ltA_modes *modes, const lt_value *shape, const lt_value *stride) {
  if (!ltA_modes_reserve(modes, shape->length)) return;
  ltA_mode *at = modes->items + modes->count;
  for (const lt_value *end = ltA_next(shape); shape < end; shape++) {
    if (ltA_is_tuple(shape)) {
      stride++;
      continue;
    }
    *at++ = ltA_make_mode(shape, stride);
    stride = ltA_next(stride);
  }
  modes->count = (size_t)(at - modes->items);
}

bool ltA_same_path(const lt_value *a, const lt_value *b) {
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
** Folds the modes after the first into 'last', the newest mode of the result. (CuTe folds them from
** the back. The result is the same: a mode that merges with its neighbour keeps its own stride and
** where it ends, which is all that the other neighbour is compared with.)
*/
static void merge_neighbours(ltA_modes *modes) {
  ltA_mode *last = modes->items;
  const ltA_mode *end = modes->items + modes->count;
  for (const ltA_mode *mode = last + 1; mode < end; mode++) {
    if (ltA_is_constant(mode->shape, 1)) continue;
    if (ltA_is_constant(last->shape, 1))
      *last = *mode;
    else if (is_continued_by(last, mode))
      last->shape = ltA_mul(modes->arena, last->shape, mode->shape);
    else if (++last != mode)
      *last = *mode;
  }
  modes->count = (size_t)(last + 1 - modes->items);
}

void ltA_modes_coalesce(ltA_modes *modes) {
  if (modes->count == 0) return;
  merge_neighbours(modes);
  if (modes->count == 1 && ltA_is_constant(modes->items[0].shape, 1))
    modes->items[0] = (ltA_mode){ltA_static(1), ltA_static(0), NULL};
}

void ltA_modes_coalesce_x(ltA_modes *modes) {
  if (modes->count == 0) return;
  ltA_mode *last = modes->items + modes->count - 1;
  /* an extent of 2 keeps the last mode from being dropped; how far it goes is never asked */
  if (ltA_is_constant(last->shape, 1)) last->shape = ltA_static(2);
  merge_neighbours(modes);
}

lt_int ltA_modes_size(const ltA_modes *modes) {
  lt_int size = ltA_static(1);
  for (size_t i = 0; i < modes->count; i++)
    size = ltA_mul(modes->arena, size, modes->items[i].shape);
  return size;
}

lt_int ltA_modes_cosize(const ltA_modes *modes) {
  lt_arena *arena = modes->arena;
  lt_int cosize = ltA_static(1);
  for (size_t i = 0; i < modes->count; i++) {
    const ltA_mode *mode = &modes->items[i];
    lt_int last = ltA_sub(arena, mode->shape, ltA_static(1));
    if (last.value < 0) return (lt_int){0, last.promise};
    cosize = ltA_add(arena, cosize, ltA_mul(arena, last, ltA_abs(arena, mode->stride)));
  }
  return cosize;
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

/* ---- Modes as nodes ---------------------------------------------------------------------------
 */

static void write_int(lt_value *at, lt_int x) {
  *at = (lt_value){x.value, x.promise, 1, LT_INTEGER};
}

static size_t stride_length(const ltA_mode *mode) {
  return mode->basis == NULL ? 1 : mode->basis->length;
}

static void write_stride(lt_value *at, const ltA_mode *mode) {
  if (mode->basis == NULL) {
    write_int(at, mode->stride);
    return;
  }
  memcpy(at, mode->basis, mode->basis->length * sizeof *at);
  at->value = mode->stride.value;
  at->promise = mode->stride.promise;
}

/* Nodes of the shapes, and of the strides: one mode is a leaf, several are a tuple. */
static size_t shapes_length(const ltA_modes *modes) {
  return modes->count == 1 ? 1 : 1 + modes->count;
}

static size_t strides_length(const ltA_modes *modes) {
  size_t length = modes->count == 1 ? 0 : 1;
  for (size_t i = 0; i < modes->count; i++) length += stride_length(&modes->items[i]);
  return length;
}

static lt_value *write_tuple(lt_value *at, const ltA_modes *modes, size_t length) {
  if (modes->count == 1) return at;
  *at = (lt_value){(int64_t)modes->count, 0, (uint32_t)length, LT_TUPLE};
  return at + 1;
}

static void write_shapes(lt_value *at, const ltA_modes *modes, size_t length) {
  at = write_tuple(at, modes, length);
  for (size_t i = 0; i < modes->count; i++) write_int(at++, modes->items[i].shape);
}

static void write_strides(lt_value *at, const ltA_modes *modes, size_t length) {
  at = write_tuple(at, modes, length);
  for (size_t i = 0; i < modes->count; i++) {
    write_stride(at, &modes->items[i]);
    at += stride_length(&modes->items[i]);
  }
}

void ltA_modes_append_trees(const ltA_modes *modes, ltA_layout_builder *layout) {
  size_t shape_count = shapes_length(modes);
  size_t stride_count = strides_length(modes);
  lt_value *shapes = ltA_append_nodes(&layout->shape, shape_count);
  lt_value *strides = ltA_append_nodes(&layout->stride, stride_count);
  if (shapes == NULL || strides == NULL) return;
  write_shapes(shapes, modes, shape_count);
  write_strides(strides, modes, stride_count);
}

static bool are_within_limits(const ltA_modes *modes) {
  int64_t size = 1, reach = 0;
  for (size_t i = 0; i < modes->count; i++) {
    const ltA_mode *mode = &modes->items[i];
    if (!ltA_count_mode(&size, &reach, mode->shape.value, mode->stride.value)) return false;
  }
  return size <= LT_MAX_SIZE;
}

const lt_value *ltA_modes_to_layout(const ltA_modes *modes) {
  size_t shape_count = shapes_length(modes);
  size_t stride_count = strides_length(modes);
  size_t count = 1 + shape_count + stride_count;
  lt_value *layout = ltA_new_nodes(modes->arena, count);
  if (layout == NULL) return NULL;
  *layout = (lt_value){0, 0, (uint32_t)count, LT_LAYOUT};
  write_shapes(layout + 1, modes, shape_count);
  write_strides(layout + 1 + shape_count, modes, stride_count);
  return are_within_limits(modes) || ltA_check_limits(modes->arena, layout) ? layout : NULL;
}
