/*
** Values from bytes. The bytes decide everything, and any bytes give something.
*/
#include "decode.h"

#define MAX_NESTING 3
#define MAX_RANK 4

unsigned take_byte(bytes *b) { return b->at < b->end ? *b->at++ : 0; }

static unsigned take_below(bytes *b, unsigned n) { return take_byte(b) % n; }

/* ---- Integers ------------------------------------------------------------------------------- */

int64_t take_number(bytes *b) {
  static const int64_t odd[] = {0,         -1,        -3,        16,          64,        4096,
                                1 << 20,   INT32_MAX, 1ll << 32, 1ll << 61,   1ll << 62, INT64_MAX,
                                INT64_MIN, -4,        1ll << 40, -(1ll << 62)};
  unsigned byte = take_byte(b);
  if (byte < 240) return byte % 12;
  return odd[byte - 240];
}

/* Static mostly. */
static const lt_value *flag(bytes *b, lt_arena *arena, int64_t value) {
  unsigned byte = take_byte(b);
  if (byte < 176) return lt_integer(arena, value);
  int64_t promise = byte < 224 ? 1 : 1 + byte % 8;
  return lt_dynamic(arena, value, value % promise == 0 ? promise : 1);
}

static const lt_value *take_size(bytes *b, lt_arena *arena) {
  unsigned byte = take_byte(b);
  if (byte < 248) return flag(b, arena, 1 + byte % 8);
  int64_t number = take_number(b);
  return flag(b, arena, number < 0 ? 0 : number);
}

static const lt_value *take_integer(bytes *b, lt_arena *arena) {
  return flag(b, arena, take_number(b));
}

/* ---- Tuples --------------------------------------------------------------------------------- */

typedef const lt_value *(*maker)(bytes *, lt_arena *);

static const lt_value *take_tuple(bytes *b, lt_arena *arena, maker leaf, int depth) {
  const lt_value *elements[MAX_RANK];
  size_t n = take_below(b, 16);
  n = n == 0 ? 0 : 1 + n % MAX_RANK;
  for (size_t i = 0; i < n; i++) {
    bool nests = depth < MAX_NESTING && take_below(b, 4) == 0;
    elements[i] = nests ? take_tuple(b, arena, leaf, depth + 1) : leaf(b, arena);
    if (elements[i] == NULL) return NULL;
  }
  return lt_tuple(arena, elements, n);
}

const lt_value *take_shape(bytes *b, lt_arena *arena) {
  return take_below(b, 4) == 0 ? take_size(b, arena) : take_tuple(b, arena, take_size, 1);
}

/* ---- Strides -------------------------------------------------------------------------------- */

static const lt_value *take_stride_leaf(bytes *b, lt_arena *arena, bool bases) {
  if (!bases) return take_integer(b, arena);
  unsigned byte = take_byte(b);
  int64_t path[2] = {byte % 3, byte / 3 % 2};
  return lt_basis(arena, take_integer(b, arena), path, 1 + (byte > 200));
}

static const lt_value *take_congruent(bytes *b, lt_arena *arena, const lt_value *shape,
                                      bool bases) {
  if (lt_kind_of(shape) != LT_TUPLE) return take_stride_leaf(b, arena, bases);
  const lt_value *elements[16];
  size_t n = lt_rank(shape);
  if (n > 16) return NULL;
  for (size_t i = 0; i < n; i++) {
    elements[i] = take_congruent(b, arena, lt_part(shape, i), bases);
    if (elements[i] == NULL) return NULL;
  }
  return lt_tuple(arena, elements, n);
}

const lt_value *take_stride(bytes *b, lt_arena *arena, const lt_value *shape) {
  if (shape == NULL) return take_integer(b, arena);
  return take_congruent(b, arena, shape, take_below(b, 8) == 7);
}

/* ---- Layouts -------------------------------------------------------------------------------- */

/* Compact in an order of its own: one to one, as layouts in use are. */
static const lt_value *take_ordered(bytes *b, lt_arena *arena, const lt_value *shape) {
  return lt_make_ordered_layout(arena, shape, take_congruent(b, arena, shape, false));
}

const lt_value *take_layout(bytes *b, lt_arena *arena) {
  const lt_value *shape = take_shape(b, arena);
  if (shape == NULL) return NULL;
  switch (take_below(b, 8)) {
    case 0: return lt_make_layout(arena, shape, NULL);
    case 1: return lt_make_layout(arena, shape, lt_layout_right(arena));
    case 2:
    case 3: return take_ordered(b, arena, shape);
    case 4: return lt_make_identity_layout(arena, shape);
    default: {
      const lt_value *stride = take_stride(b, arena, shape);
      return stride == NULL ? NULL : lt_make_layout(arena, shape, stride);
    }
  }
}

const lt_value *take_swizzle(bytes *b, lt_arena *arena) {
  unsigned byte = take_byte(b);
  int64_t bits = byte % 4, base = byte / 4 % 5, shift = bits + byte / 20 % 3;
  return lt_swizzle(arena, bits, base, byte > 200 ? -shift : shift);
}

static const lt_value *take_composed(bytes *b, lt_arena *arena) {
  const lt_value *a = take_below(b, 8) == 0 ? take_layout(b, arena) : take_swizzle(b, arena);
  const lt_value *offset = NULL;
  unsigned byte = take_byte(b);
  if (byte < 48)
    offset = lt_smem(arena, 8 << byte % 3);
  else if (byte < 160)
    offset = take_integer(b, arena);
  const lt_value *inner = take_layout(b, arena);
  if (a == NULL || inner == NULL) return NULL;
  return lt_make_composed_layout(arena, a, offset, inner);
}

const lt_value *take_any_layout(bytes *b, lt_arena *arena) {
  const lt_value *layout;
  switch (take_below(b, 8)) {
    case 0: return take_composed(b, arena);
    case 1:
      layout = take_layout(b, arena);
      return layout == NULL ? NULL : lt_make_counting_tensor(arena, take_integer(b, arena), layout);
    default: return take_layout(b, arena);
  }
}

/* ---- Tilers, coordinates, all ---------------------------------------------------------------- */

static const lt_value *take_tile(bytes *b, lt_arena *arena) {
  switch (take_below(b, 8)) {
    case 0: return lt_wildcard(arena);
    case 1:
    case 2: return take_layout(b, arena);
    default: return take_size(b, arena);
  }
}

const lt_value *take_tiler(bytes *b, lt_arena *arena) {
  unsigned byte = take_below(b, 8);
  if (byte < 3) return take_tuple(b, arena, take_tile, 2);
  return byte < 6 ? take_layout(b, arena) : take_tile(b, arena);
}

static const lt_value *take_coord_leaf(bytes *b, lt_arena *arena) {
  return take_below(b, 4) == 0 ? lt_wildcard(arena) : take_integer(b, arena);
}

const lt_value *take_coord(bytes *b, lt_arena *arena, const lt_value *shape) {
  unsigned byte = take_below(b, 16);
  if (byte == 0) return take_tuple(b, arena, take_coord_leaf, 1);
  if (shape == NULL || lt_kind_of(shape) != LT_TUPLE || byte < 3) return take_coord_leaf(b, arena);
  const lt_value *elements[16];
  size_t n = lt_rank(shape);
  if (n > 16) return NULL;
  for (size_t i = 0; i < n; i++) {
    elements[i] = take_coord(b, arena, lt_part(shape, i));
    if (elements[i] == NULL) return NULL;
  }
  return lt_tuple(arena, elements, n);
}

static const lt_value *take_leaf_of_any_kind(bytes *b, lt_arena *arena) {
  const int64_t mode = take_below(b, 4);
  switch (take_below(b, 8)) {
    case 0: return lt_wildcard(arena);
    case 1: return lt_basis(arena, take_integer(b, arena), &mode, 1);
    case 2: return take_swizzle(b, arena);
    case 3: return lt_smem(arena, take_number(b));
    case 4: return take_any_layout(b, arena);
    case 5: return mode > 1 ? lt_layout_right(arena) : lt_layout_left(arena);
    default: return take_integer(b, arena);
  }
}

const lt_value *take_any(bytes *b, lt_arena *arena) {
  if (take_below(b, 3) > 0) return take_leaf_of_any_kind(b, arena);
  return take_tuple(b, arena, take_leaf_of_any_kind, 1);
}
