/*
** Laws between functions of an index. A layout whose leaves set bits of their own, each its own,
** is linear over exclusive or, and so is a swizzle: two such functions that agree at 0 and at
** every power of two agree everywhere.
*/
#include "index_map.h"

/* Indices that a law is checked at one by one where linearity does not decide it. */
#define MOST_INDICES ((int64_t)1 << 18)

static int width_of(uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

static uint64_t low_bits(int count) {
  return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

/* ---- Maps ----------------------------------------------------------------------------------- */

/* Writes the leaves of congruent trees in order; false where a stride is no integer. */
static bool collect_leaves(const lt_value *shape, const lt_value *stride, ltA_leaf *leaves,
                           size_t *count) {
  if (!ltA_is_tuple(shape)) {
    if (!ltA_is_integer(shape) || !ltA_is_integer(stride)) return false;
    leaves[(*count)++] = (ltA_leaf){shape->value, stride->value};
    return true;
  }
  const lt_value *s = ltA_first(shape);
  const lt_value *d = ltA_first(stride);
  for (; s < ltA_next(shape); s = ltA_next(s), d = ltA_next(d))
    if (!collect_leaves(s, d, leaves, count)) return false;
  return true;
}

ltA_map ltA_map_of_layout(lt_arena *arena, const lt_value *layout) {
  ltA_map map = {0};
  size_t most = ltA_shape(layout)->length;
  ltA_leaf *leaves = ltA_new_bytes(arena, most * sizeof *leaves);
  if (leaves == NULL) return map;
  if (!collect_leaves(ltA_shape(layout), ltA_stride(layout), leaves, &map.count)) return map;
  if (map.count == 0) leaves[map.count++] = (ltA_leaf){1, 0};
  map.leaves = leaves;
  return map;
}

ltA_map ltA_map_of_swizzle(ltA_swizzle s) {
  static const ltA_leaf identity = {1, 1};
  return (ltA_map){s, 0, 0, 1, &identity};
}

static bool add_scaled(int64_t *sum, int64_t coordinate, int64_t stride) {
  int64_t product;
  return !__builtin_mul_overflow(coordinate, stride, &product) &&
         !__builtin_add_overflow(*sum, product, sum);
}

bool ltA_map_index(const ltA_map *map, int64_t index, int64_t *image) {
  int64_t sum = map->offset;
  size_t last = map->count - 1;
  for (size_t k = 0; k < last; k++) {
    const ltA_leaf *leaf = &map->leaves[k];
    if (leaf->shape <= 0) return false;
    if (!add_scaled(&sum, index % leaf->shape, leaf->stride)) return false;
    index /= leaf->shape;
  }
  if (!add_scaled(&sum, index, map->leaves[last].stride)) return false;
  return !__builtin_add_overflow(map->outer, ltA_swizzle_index(map->swizzle, sum), image);
}

/* ---- Bits ----------------------------------------------------------------------------------- */

/* Bits of k * stride for 0 <= k < shape. */
static uint64_t bits_of_leaf(const ltA_leaf *leaf) {
  if (leaf->shape <= 1 || leaf->stride == 0) return 0;
  int64_t last;
  if (leaf->stride < 0 || __builtin_mul_overflow(leaf->shape - 1, leaf->stride, &last))
    return ~(uint64_t)0;
  int lowest = __builtin_ctzll((uint64_t)leaf->stride);
  return low_bits(width_of((uint64_t)last)) & ~low_bits(lowest);
}

uint64_t ltA_possible_bits(const ltA_map *map) {
  uint64_t bits = 0;
  int64_t largest = 0;
  bool carries = false;
  for (size_t k = 0; k < map->count; k++) {
    uint64_t leaf_bits = bits_of_leaf(&map->leaves[k]);
    if (leaf_bits == ~(uint64_t)0) return leaf_bits;
    if (leaf_bits == 0) continue;
    if (!add_scaled(&largest, map->leaves[k].shape - 1, map->leaves[k].stride)) return ~(uint64_t)0;
    carries = carries || (bits & leaf_bits) != 0;
    bits |= leaf_bits;
  }
  if (!carries) return bits;
  return low_bits(width_of((uint64_t)largest)) & ~low_bits(__builtin_ctzll(bits));
}

/* Claims the bits of 'stride' shifted by 0 to 'count' - 1; false where one is taken already. */
static bool claim_bits(int64_t stride, int count, uint64_t *taken) {
  for (int k = 0; k < count; k++) {
    if (stride > INT64_MAX >> k) return false;
    uint64_t vector = (uint64_t)stride << k;
    if ((vector & *taken) != 0) return false;
    *taken |= vector;
  }
  return true;
}

/*
** Whether the map is affine over bits for all indices below 2^bits. Then 'bits' becomes the
** number of bits of its images.
*/
static bool is_linear(const ltA_map *map, int *bits) {
  if (map->offset < 0 || map->outer < 0) return false;
  uint64_t taken = (uint64_t)map->offset;
  int rest = *bits;
  for (size_t k = 0; k < map->count; k++) {
    const ltA_leaf *leaf = &map->leaves[k];
    if (leaf->stride < 0 || leaf->shape <= 0) return false;
    int width = rest;
    if (k + 1 < map->count) {
      if ((leaf->shape & (leaf->shape - 1)) != 0) return false;
      width = width_of((uint64_t)leaf->shape) - 1;
      if (width > rest) width = rest;
    }
    if (!claim_bits(leaf->stride, width, &taken)) return false;
    rest -= width;
  }
  if ((taken & map->swizzle.y) != 0) taken |= map->swizzle.z;
  if ((taken & (uint64_t)map->outer) != 0) return false;
  *bits = width_of(taken | (uint64_t)map->outer);
  return *bits < 63;
}

/* The same for maps one behind the other. */
static bool is_linear_chain(const ltA_map *f, size_t count, int *bits) {
  while (count-- > 0)
    if (!is_linear(&f[count], bits)) return false;
  return true;
}

/* ---- Laws ----------------------------------------------------------------------------------- */

static bool map_chain(const ltA_map *f, size_t count, int64_t index, int64_t *image) {
  *image = index;
  while (count-- > 0)
    if (!ltA_map_index(&f[count], *image, image)) return false;
  return true;
}

static bool agree_at(const ltA_map *f, size_t f_count, const ltA_map *g, size_t g_count,
                     int64_t index) {
  int64_t x;
  int64_t y;
  return map_chain(f, f_count, index, &x) && map_chain(g, g_count, index, &y) && x == y;
}

bool ltA_maps_agree(const ltA_map *f, size_t f_count, const ltA_map *g, size_t g_count,
                    int64_t size) {
  if (size <= 0) return true;
  int bits = width_of((uint64_t)size - 1);
  int f_bits = bits;
  int g_bits = bits;
  if (bits < 63 && is_linear_chain(f, f_count, &f_bits) && is_linear_chain(g, g_count, &g_bits)) {
    if (!agree_at(f, f_count, g, g_count, 0)) return false;
    for (int k = 0; k < bits; k++)
      if (!agree_at(f, f_count, g, g_count, (int64_t)1 << k)) return false;
    return true;
  }
  if (size > MOST_INDICES) return false;
  for (int64_t i = 0; i < size; i++)
    if (!agree_at(f, f_count, g, g_count, i)) return false;
  return true;
}

bool ltA_maps_stay_below(const ltA_map *f, size_t count, int64_t size, int64_t limit) {
  int bits = size <= 0 ? 0 : width_of((uint64_t)size - 1);
  if (bits < 63 && is_linear_chain(f, count, &bits) && (int64_t)1 << bits <= limit) return true;
  if (size > MOST_INDICES) return false;
  for (int64_t i = 0; i < size; i++) {
    int64_t image;
    if (!map_chain(f, count, i, &image) || image < 0 || image >= limit) return false;
  }
  return true;
}
