/*
** Functions of an index as plain numbers: for checking a law at every index, by linearity over
** bits where that decides it.
*/
#ifndef LUTILE_ALGEBRA_INDEX_MAP_H
#define LUTILE_ALGEBRA_INDEX_MAP_H

#include "composed.h"

typedef struct ltA_leaf {
  int64_t shape;
  int64_t stride;
} ltA_leaf;

/* i -> outer + Sw(offset + L(i)), where L takes the colexicographic index and its last leaf runs on
** beyond its shape, as CuTe evaluates. */
typedef struct ltA_map {
  ltA_swizzle swizzle; /* of no bits where there is none */
  int64_t offset;
  int64_t outer;
  size_t count; /* leaves; at least 1 */
  const ltA_leaf *leaves;
} ltA_map;

/* The map of a layout with integer strides; NULL leaves where it has none such. */
ltA_map ltA_map_of_layout(lt_arena *arena, const lt_value *layout);
ltA_map ltA_map_of_swizzle(ltA_swizzle s);
/* False where the index or its image leaves 64 bits. */
bool ltA_map_index(const ltA_map *map, int64_t index, int64_t *image);
/* Bits of the indices below 'size'. */
static inline uint64_t ltA_bits_below(int64_t size) {
  return size <= 1 ? 0 : ~(uint64_t)0 >> __builtin_clzll((uint64_t)size - 1);
}

/* Bits that may be set in L(i) for an i in the domain of L; all 64 where L has negative strides. */
uint64_t ltA_possible_bits(const ltA_map *map);

/*
** f[0](f[1](...(i))) == g[0](g[1](...(i))) for all 0 <= i < size. False where they differ and
** where neither linearity nor a domain small enough to walk decides it. No maps are the identity.
*/
bool ltA_maps_agree(const ltA_map *f, size_t f_count, const ltA_map *g, size_t g_count,
                    int64_t size);

/* 0 <= f[0](f[1](...(i))) < limit for all 0 <= i < size; false where that is too much to walk. */
bool ltA_maps_stay_below(const ltA_map *f, size_t count, int64_t size, int64_t limit);

/*
** Candidates for the swizzle m with layout(s(x)) == m(layout(x)), at most two: CuTe's, from the
** masks as indices, and the one that only the bits in 'active' (NULL: do without) tell. Returns
** how many.
*/
size_t ltA_move_swizzle(const ltA_map *layout, ltA_swizzle s, const uint64_t *active,
                        ltA_swizzle candidates[2]);

#endif
