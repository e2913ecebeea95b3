/*
** What a TMA copy does: whole boxes, element by element.
*/
#include "copy_run.h"
#include "tma.h"

/* Bytes of which a box's place in shared memory is a multiple. */
#define ALIGNMENT 128

typedef struct boxes {
  lt_arena *arena;
  const char *operation;
  const ltT_copy_atom *atom;
  lt_tensor *global, *shared;
  size_t rank;
  int64_t shape[LTT_TMA_RANK], stride[LTT_TMA_RANK], box[LTT_TMA_RANK];
  int64_t elements; /* of a box */
  ltA_swizzle swizzle;
  int bits;
} boxes;

static void read_numbers(const lt_value *tuple, int64_t *numbers) {
  for (size_t i = 0; i < ltA_rank(tuple); i++) numbers[i] = ltA_element(tuple, i)->value;
}

static bool begin(boxes *x, const lt_value *tma) {
  x->rank = ltA_rank(ltT_tma_part_of(tma, LT_TMA_SHAPE));
  read_numbers(ltT_tma_part_of(tma, LT_TMA_SHAPE), x->shape);
  read_numbers(ltT_tma_part_of(tma, LT_TMA_STRIDE), x->stride);
  read_numbers(ltT_tma_part_of(tma, LT_TMA_BOX), x->box);
  x->swizzle = ltA_unpack_swizzle(ltT_tma_part_of(tma, LT_TMA_SWIZZLE));
  x->bits = ltT_type_of(x->atom->element)->bits;
  x->elements = 1;
  for (size_t i = 0; i < x->rank; i++) x->elements *= x->box[i];
  if (x->elements == x->atom->word / x->bits) return true;
  ltA_fail(x->arena, LT_INVALID,
           "%s: %s shares boxes among the blocks of a cluster, which the host "
           "executor does not have",
           x->operation, x->atom->name);
  return false;
}

static bool check_tensors(boxes *x) {
  if (x->shared->buffer->space != LT_SHARED) {
    ltA_fail(x->arena, LT_INVALID,
             "%s: %s moves between global and shared memory, where %s is not "
             "in shared memory",
             x->operation, x->atom->name, x->shared->name);
    return false;
  }
  if (ltT_type_of(x->shared->element)->bits == x->bits) return true;
  ltA_fail(x->arena, LT_INVALID, "%s: %s is of %s, where %s moves %s", x->operation,
           x->shared->name, ltT_type_of(x->shared->element)->name, x->atom->name,
           ltT_type_of(x->atom->element)->name);
  return false;
}

/* Where the box of elements 'index' and on starts in shared memory, before the swizzle. */
static bool find_start(boxes *x, int64_t index, int64_t *start) {
  const lt_value *layout = x->shared->layout;
  int64_t inner = 0, at;
  if (ltA_is_composed(layout)) {
    if (ltA_offset(layout)->kind == LT_INTEGER) inner = ltA_offset(layout)->value;
    layout = ltA_layout_b(layout);
  }
  if (!lt_offset(layout, index, &at)) {
    ltA_fail(x->arena, LT_INVALID, "%s: %v is no layout of memory", x->operation, layout);
    return false;
  }
  *start = x->shared->offset + inner + at;
  if (*start * x->bits % (ALIGNMENT * 8) == 0) return true;
  ltA_fail(x->arena, LT_INVALID,
           "%s: a box starts at element %I of %s, which is not a multiple of %d bytes",
           x->operation, *start, x->shared->name, ALIGNMENT);
  return false;
}

/* The element of shared memory that the swizzle puts element 'i' at; it moves whole 16 bytes. */
static int64_t swizzle_element(const boxes *x, int64_t i) {
  int64_t bit = i * x->bits;
  return (ltA_swizzle_index(x->swizzle, bit / 8) * 8 + bit % 8) / x->bits;
}

/* The element of global memory that is element 'j' of the box at 'corner'; false if outside. */
static bool find_element(const boxes *x, const int64_t *corner, int64_t j, int64_t *offset) {
  *offset = x->global->offset;
  for (size_t i = 0; i < x->rank; i++) {
    int64_t c = corner[i] + j % x->box[i];
    if (c < 0 || c >= x->shape[i]) return false;
    *offset += c * x->stride[i];
    j /= x->box[i];
  }
  return true;
}

static bool load(boxes *x, int64_t index, int64_t shared, bool is_inside, int64_t global) {
  uint8_t element[32] = {0};
  if (is_inside) {
    if (!ltT_access_element(x->arena, x->operation, x->global, 0, global, LT_READ)) return false;
    ltT_read_element(x->global, global, element);
  }
  if (!ltT_access_element(x->arena, x->operation, x->shared, index, shared, LT_WRITE)) return false;
  ltT_write_element(x->shared, shared, element);
  return true;
}

static bool store(boxes *x, int64_t index, int64_t shared, bool is_inside, int64_t global) {
  uint8_t element[32];
  if (!is_inside) return true;
  if (!ltT_access_element(x->arena, x->operation, x->shared, index, shared, LT_READ) ||
      !ltT_access_element(x->arena, x->operation, x->global, 0, global, LT_WRITE))
    return false;
  ltT_read_element(x->shared, shared, element);
  ltT_write_element(x->global, global, element);
  return true;
}

static bool move_box(boxes *x, int64_t index, const int64_t *corner) {
  int64_t start, global;
  if (!find_start(x, index, &start)) return false;
  for (int64_t j = 0; j < x->elements; j++) {
    int64_t shared = swizzle_element(x, start + j);
    bool is_inside = find_element(x, corner, j, &global);
    bool done = x->atom->family->way == LT_COPY_TMA_LOAD
                    ? load(x, index + j, shared, is_inside, global)
                    : store(x, index + j, shared, is_inside, global);
    if (!done) return false;
  }
  return true;
}

/* The descriptor's coordinate at 'index' of the counting tensor. */
static bool find_corner(boxes *x, const lt_value *coordinates, int64_t index, int64_t *corner) {
  const lt_value linear = {index, 0, 1, LT_INTEGER};
  const lt_value *c = ltA_as_tuple(x->arena, lt_apply(x->arena, coordinates, &linear));
  if (c == NULL) return false;
  if (!ltA_is_tuple(c) || ltA_rank(c) > x->rank) {
    ltA_fail(x->arena, LT_INVALID,
             "%s: %v is no coordinate of %s, which has %z: get_tma_tensor gives them", x->operation,
             c, x->atom->name, x->rank);
    return false;
  }
  for (size_t i = 0; i < x->rank; i++) corner[i] = 0;
  read_numbers(c, corner);
  return true;
}

bool ltT_run_tma(lt_arena *arena, const char *operation, const ltT_copy_atom *atom,
                 const lt_value *tma, const lt_value *coordinates, lt_tensor *global,
                 lt_tensor *shared) {
  boxes x = {
      .arena = arena, .operation = operation, .atom = atom, .global = global, .shared = shared};
  global->counter = shared->counter = NULL; /* no thread of a warp makes these accesses */
  if (ltA_failed(arena) || !begin(&x, tma) || !check_tensors(&x)) return false;
  const lt_value *size = lt_size(arena, coordinates);
  int64_t held = ltT_size(arena, shared);
  if (ltA_failed(arena)) return false;
  if (size->value != held || held % x.elements != 0) {
    ltA_fail(arena, LT_INVALID,
             "%s: coordinates %v and %s (%v) are not the same number of boxes of %I elements",
             operation, lt_shape(coordinates), shared->name, ltA_shape_of(shared->layout),
             x.elements);
    return false;
  }
  for (int64_t i = 0; i < held; i += x.elements) {
    ltA_mark mark = ltA_get_mark(arena);
    int64_t corner[LTT_TMA_RANK];
    if (!find_corner(&x, coordinates, i, corner) || !move_box(&x, i, corner)) return false;
    ltA_release(arena, mark);
  }
  return true;
}
