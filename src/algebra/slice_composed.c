/*
** Slices of swizzled layouts. With S the modes that stay and t the index of the coordinate in the
** others, the slice is c -> Sw(offset + t + S(c)). Where the bits of the three keep apart, t
** splits into a part that the swizzle neither reads nor writes, which moves outside, and one that
** it does; and where S does not set both bits of a swizzled pair, the slice is a plain layout,
** whose strides depend on the bits of offset and t. Source: CuTe's slice_and_offset
** (swizzle_layout.hpp).
*/
#include "index_map.h"
#include "slice.h"

/* An integer of which some bits are known before any kernel is compiled: CuTe's MixedBits. */
typedef struct mixed_bits {
  uint64_t value;
  uint64_t unknown; /* bits that only the launch knows; the others never change */
  bool is_dynamic;
} mixed_bits;

typedef struct slicing {
  lt_arena *arena;
  ltA_swizzle swizzle;
  const lt_value *sliced; /* S */
  mixed_bits inside;      /* offset and the bits of t that the swizzle reads or writes */
  mixed_bits outside;     /* the other bits of t */
  bool overlaps_now;      /* bits are not apart for the values at hand, but are for others */
} slicing;

/* Every value that 'm' can have is a multiple of its lowest possible bit. */
static lt_int to_int(mixed_bits m) {
  if (!m.is_dynamic) return ltA_static((int64_t)m.value);
  uint64_t bits = m.value | m.unknown;
  uint64_t lowest = bits & (0 - bits);
  bool fits = lowest != 0 && lowest <= INT64_MAX;
  return (lt_int){(int64_t)m.value, fits ? (int64_t)lowest : 1};
}

/* Bits of a dynamic integer below the lowest bit of its promise are 0. */
static uint64_t above_promise(int64_t promise) {
  uint64_t p = (uint64_t)promise;
  return ~((p & (0 - p)) - 1);
}

/* ---- The coordinate ------------------------------------------------------------------------- */

/*
** The bits that one mode of the coordinate adds; false where the mode itself is dynamic. A dynamic
** coordinate past the mode may set any bit.
*/
static bool bits_of_mode(slicing *s, lt_int coord, lt_int shape, lt_int stride, mixed_bits *bits) {
  lt_int index = ltA_mul(s->arena, coord, stride);
  if (ltA_failed(s->arena) || index.value < 0) return false;
  bits->value = (uint64_t)index.value;
  bits->unknown = 0;
  bits->is_dynamic = !ltA_is_static_int(index);
  if (!bits->is_dynamic) return true;
  if (!ltA_is_static_int(shape) || !ltA_is_static_int(stride)) return false;
  ltA_leaf leaf = {shape.value, stride.value};
  ltA_map map = {.count = 1, .leaves = &leaf};
  bits->unknown = ltA_possible_bits(&map) & above_promise(index.promise);
  s->overlaps_now = s->overlaps_now || (bits->value & ~bits->unknown) != 0;
  return !s->overlaps_now;
}

/*
** Whether two sets of bits keep apart. Where that depends on values of the launch, the form must not:
** it is that of bits that do, and there is none for values whose bits overlap.
*/
static bool keep_apart(slicing *s, mixed_bits x, mixed_bits y) {
  if ((x.value & y.value) == 0) return true;
  if ((x.value & ~x.unknown & y.value & ~y.unknown) == 0) s->overlaps_now = true;
  return false;
}

/* Splits the bits of one mode between inside and outside; false where one is taken already. */
static bool take_bits(slicing *s, mixed_bits bits) {
  uint64_t swizzled = s->swizzle.y | s->swizzle.z;
  if (!keep_apart(s, bits, s->inside) || !keep_apart(s, bits, s->outside)) return false;
  s->inside.value |= bits.value & swizzled;
  s->inside.unknown |= bits.unknown & swizzled;
  s->inside.is_dynamic = s->inside.is_dynamic || (bits.unknown & swizzled) != 0;
  s->outside.value |= bits.value & ~swizzled;
  s->outside.unknown |= bits.unknown & ~swizzled;
  s->outside.is_dynamic = s->outside.is_dynamic ||
                          (bits.is_dynamic && (bits.unknown & swizzled) != bits.unknown) ||
                          (bits.is_dynamic && bits.unknown == 0);
  return true;
}

/* 'coord', 'shape' and 'stride' are congruent. */
static bool take_coord(slicing *s, const lt_value *coord, const lt_value *shape,
                       const lt_value *stride) {
  if (!ltA_is_tuple(shape)) {
    mixed_bits bits;
    if (!ltA_is_integer(stride)) return false;
    return bits_of_mode(s, ltA_int(coord), ltA_int(shape), ltA_int(stride), &bits) &&
           take_bits(s, bits);
  }
  const lt_value *c = ltA_first(coord);
  const lt_value *d = ltA_first(stride);
  for (const lt_value *mode = ltA_first(shape); mode < ltA_next(shape); mode = ltA_next(mode)) {
    if (!take_coord(s, c, mode, d)) return false;
    c = ltA_next(c);
    d = ltA_next(d);
  }
  return true;
}

static bool take_offset(slicing *s, const lt_value *offset) {
  if (!ltA_is_integer(offset) || offset->value < 0) return false;
  bool is_dynamic = offset->promise != 0;
  s->inside.value = (uint64_t)offset->value;
  s->inside.unknown = is_dynamic ? above_promise(offset->promise) : 0;
  s->inside.is_dynamic = is_dynamic;
  return true;
}

/*
** Fills in 's'; false where the bits of offset, coordinate and slice do not keep apart. Bits that
** the launch may still set are taken as they are now, which is where CuTe's form is right.
*/
static bool split_bits(slicing *s, const lt_value *coord, const lt_value *composed) {
  const lt_value *b = ltA_layout_b(composed);
  const lt_value *diced = ltA_dice_layout(s->arena, coord, b);
  const lt_value *diced_coord = lt_dice(s->arena, coord, coord);
  if (ltA_failed(s->arena)) return false;
  diced_coord = lt_idx2crd(s->arena, diced_coord, ltA_shape(diced), NULL);
  if (diced_coord == NULL || !lt_is_static(s->sliced)) return false;
  ltA_map map = ltA_map_of_layout(s->arena, s->sliced);
  if (map.leaves == NULL || !take_offset(s, ltA_offset(composed))) return false;
  if (!take_coord(s, diced_coord, ltA_shape(diced), ltA_stride(diced))) return false;
  mixed_bits of_slice = {ltA_possible_bits(&map), 0, false};
  return keep_apart(s, s->inside, of_slice) && keep_apart(s, s->outside, of_slice);
}

/* ---- Plain layouts -------------------------------------------------------------------------- */

/* S sets both bits of a pair, so that the slice is not linear in it. */
static bool hits_pairs(const slicing *s) {
  ltA_map map = ltA_map_of_layout(s->arena, s->sliced);
  if (map.leaves == NULL) return true;
  uint64_t bits = ltA_possible_bits(&map);
  ltA_swizzle w = s->swizzle;
  uint64_t read = bits & w.y;
  uint64_t written = w.shift < 0 ? read << -w.shift : read >> w.shift;
  return (written & bits) != 0;
}

/* 'plus' or 'minus' by whether 'bit' is clear or set in what stays inside. */
static lt_int choose_stride(const slicing *s, uint64_t bit, int64_t plus, int64_t minus) {
  int64_t stride = (s->inside.value & bit) == 0 ? plus : minus;
  if ((s->inside.unknown & bit) == 0) return ltA_static(stride);
  return (lt_int){stride, ltA_gcd(plus, minus)};
}

/* A bit that the swizzle writes counts up where its partner, which stays, is 0; down where 1. */
static void append_written_strides(ltA_builder *b, const slicing *s) {
  uint64_t y = s->swizzle.y & (0 - s->swizzle.y);
  int64_t z = (int64_t)(s->swizzle.z & (0 - s->swizzle.z));
  size_t open = ltA_open(b, LT_TUPLE);
  for (int i = 0; i < s->swizzle.bits; i++)
    ltA_append_int(b, choose_stride(s, y << i, z << i, -(z << i)));
  ltA_close(b, open, (size_t)s->swizzle.bits);
}

/* A bit that the swizzle reads flips its partner too, up where that is 0, and down where 1. */
static void append_read_strides(ltA_builder *b, const slicing *s) {
  int64_t y = (int64_t)(s->swizzle.y & (0 - s->swizzle.y));
  int64_t z = (int64_t)(s->swizzle.z & (0 - s->swizzle.z));
  size_t open = ltA_open(b, LT_TUPLE);
  for (int i = 0; i < s->swizzle.bits; i++)
    ltA_append_int(b, choose_stride(s, (uint64_t)z << i, (y + z) * ((int64_t)1 << i),
                                    (y - z) * ((int64_t)1 << i)));
  ltA_close(b, open, (size_t)s->swizzle.bits);
}

static void append_power(ltA_builder *b, int exponent) {
  ltA_append_int(b, ltA_static((int64_t)1 << exponent));
}

static void append_twos(ltA_builder *b, int count) {
  size_t open = ltA_open(b, LT_TUPLE);
  for (int i = 0; i < count; i++) append_power(b, 1);
  ltA_close(b, open, (size_t)count);
}

/* x -> Sw(inside + x) - Sw(inside), for x without both bits of a pair: bits by position. */
static const lt_value *linear_swizzle(const slicing *s) {
  ltA_swizzle w = s->swizzle;
  int distance = w.shift < 0 ? -w.shift : w.shift;
  ltA_builder shape;
  ltA_builder stride;
  ltA_begin(&shape, s->arena);
  ltA_begin(&stride, s->arena);
  ltA_open(&shape, LT_TUPLE);
  ltA_open(&stride, LT_TUPLE);
  append_power(&shape, w.base);
  append_twos(&shape, w.bits);
  append_power(&shape, distance - w.bits);
  append_twos(&shape, w.bits);
  append_power(&shape, 0);
  append_power(&stride, 0);
  (w.shift > 0 ? append_written_strides : append_read_strides)(&stride, s);
  append_power(&stride, w.base + w.bits);
  (w.shift > 0 ? append_read_strides : append_written_strides)(&stride, s);
  append_power(&stride, w.base + w.bits + distance);
  ltA_close(&shape, 0, 5);
  ltA_close(&stride, 0, 5);
  return ltA_finish_layout(&shape, &stride);
}

/* The slice as a plain layout and its start, or NULL where it has no such form. */
static const lt_value *decay(const slicing *s) {
  ltA_attempt attempt;
  const lt_value *linear = linear_swizzle(s);
  if (linear == NULL) return NULL;
  ltA_attempt_begin(&attempt, s->arena);
  bool is_empty = ltA_count_leaves(ltA_shape(s->sliced)) == 0;
  const lt_value *layout = is_empty ? s->sliced : lt_composition(s->arena, linear, s->sliced);
  if (!ltA_attempt_end(&attempt, s->arena)) return NULL;
  const lt_value *swizzle = ltA_pack_swizzle(s->arena, s->swizzle);
  const lt_value *inside = ltA_from_int(s->arena, to_int(s->inside));
  if (ltA_failed(s->arena)) return NULL;
  const lt_value *start = ltA_apply_swizzle(s->arena, swizzle, inside);
  if (start == NULL) return NULL;
  lt_int offset = ltA_add(s->arena, ltA_int(start), to_int(s->outside));
  start = ltA_from_int(s->arena, offset);
  return start == NULL ? NULL : lt_make_counting_tensor(s->arena, start, layout);
}

/* ---- Slices --------------------------------------------------------------------------------- */

/* 0 o (A o (offset + t) o S), which is right for any A. */
static const lt_value *keep_composed(lt_arena *arena, const lt_value *coord,
                                     const lt_value *composed, const lt_value *sliced) {
  const lt_value *index = lt_crd2idx(arena, coord, ltA_layout_b(composed), NULL);
  if (index == NULL) return NULL;
  const lt_value *offset = ltA_add_values(arena, ltA_offset(composed), index);
  if (offset == NULL) return NULL;
  const lt_value *r = ltA_compose_parts(arena, ltA_layout_a(composed), offset, sliced);
  return r == NULL ? NULL : lt_make_counting_tensor(arena, ltA_zero(), r);
}

static const lt_value *refuse_overlap(lt_arena *arena, const lt_value *coord,
                                      const lt_value *composed) {
  return ltA_fail(
      arena, LT_INVALID,
      "slice: at %v of %v dynamic numbers are past their mode, or set bits that others set, "
      "and the form of a slice must not depend on them; static numbers have one",
      coord, composed);
}

/* A swizzle of no bits leaves (offset + t) o S. */
static const lt_value *drop_identity(lt_arena *arena, const lt_value *coord,
                                     const lt_value *composed, const lt_value *sliced) {
  const lt_value *index = lt_crd2idx(arena, coord, ltA_layout_b(composed), NULL);
  if (index == NULL) return NULL;
  const lt_value *offset = ltA_add_values(arena, ltA_offset(composed), index);
  return offset == NULL ? NULL : lt_make_counting_tensor(arena, offset, sliced);
}

static const lt_value *slice_swizzled(lt_arena *arena, const lt_value *coord,
                                      const lt_value *composed, const lt_value *sliced) {
  const lt_value *swizzle = ltA_layout_a(composed);
  slicing s = {.arena = arena, .swizzle = ltA_unpack_swizzle(swizzle), .sliced = sliced};
  if (s.swizzle.bits == 0) return drop_identity(arena, coord, composed, sliced);
  bool is_apart = split_bits(&s, coord, composed);
  if (ltA_failed(arena)) return NULL;
  if (s.overlaps_now) return refuse_overlap(arena, coord, composed);
  if (!is_apart) return keep_composed(arena, coord, composed, sliced);
  if (!hits_pairs(&s)) {
    const lt_value *plain = decay(&s);
    if (plain != NULL || ltA_failed(arena)) return plain;
  }
  const lt_value *inside = ltA_from_int(arena, to_int(s.inside));
  const lt_value *outside = ltA_from_int(arena, to_int(s.outside));
  if (ltA_failed(arena)) return NULL;
  const lt_value *r = ltA_compose_parts(arena, swizzle, inside, sliced);
  return r == NULL ? NULL : lt_make_counting_tensor(arena, outside, r);
}

static bool is_all_wildcards(const lt_value *coord) {
  for (const lt_value *node = coord; node < ltA_next(coord); node++)
    if (node->kind != LT_WILDCARD && node->kind != LT_TUPLE) return false;
  return true;
}

/* The shared memory form stays where nothing moves; a start within it needs a count in elements. */
static const lt_value *slice_smem(lt_arena *arena, const lt_value *coord, const lt_value *composed,
                                  const lt_value *sliced) {
  const lt_value *index = lt_crd2idx(arena, coord, ltA_layout_b(composed), NULL);
  if (index == NULL) return NULL;
  if (ltA_is_zero(index))
    return lt_make_counting_tensor(arena, ltA_zero(), ltA_with_layout_b(arena, composed, sliced));
  const lt_value *counted = ltA_count_in_elements(arena, composed);
  return counted == NULL ? NULL : lt_slice_and_offset(arena, coord, counted);
}

static const lt_value *slice_composed(lt_arena *arena, const lt_value *coord,
                                      const lt_value *composed) {
  const lt_value *b = ltA_layout_b(composed);
  if (!ltA_is_layout(b)) return ltA_fail(arena, LT_INVALID, "slice: %v has no modes", composed);
  const lt_value *sliced = ltA_slice_layout(arena, coord, b);
  if (sliced == NULL) return NULL;
  if (is_all_wildcards(coord)) {
    const lt_value *r = ltA_with_layout_b(arena, composed, sliced);
    return r == NULL ? NULL : lt_make_counting_tensor(arena, ltA_zero(), r);
  }
  if (ltA_offset(composed)->kind == LT_SMEM) return slice_smem(arena, coord, composed, sliced);
  if (ltA_is_swizzle(ltA_layout_a(composed))) return slice_swizzled(arena, coord, composed, sliced);
  return keep_composed(arena, coord, composed, sliced);
}

const lt_value *ltA_slice_composed(lt_arena *arena, const lt_value *coord,
                                   const lt_value *composed) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  return ltA_keep(arena, mark, slice_composed(arena, coord, composed));
}
