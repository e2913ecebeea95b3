/*
** Arranging the modes of divides and products. Source: CuTe's zip2_by (tuple_algorithms.hpp).
*/
#include "arrange.h"

#include "composed.h"

/* A tree of (tile, rest) pairs must have its pairs where the tiler has its leaves. */
static bool check_pairs(lt_arena *arena, const char *operation, const lt_value *tree,
                        const lt_value *tiler) {
  if (!ltA_is_tuple(tiler)) {
    if (ltA_is_tuple(tree) && ltA_rank(tree) == 2) return true;
    ltA_fail(arena, LT_INVALID, "%s: %v at tiler mode %v is no pair of tile and rest", operation,
             tree, tiler);
    return false;
  }
  if (!ltA_is_tuple(tree) || ltA_rank(tree) < ltA_rank(tiler)) {
    ltA_fail(arena, LT_INVALID, "%s: %v has no mode for each of tiler %v", operation, tree, tiler);
    return false;
  }
  const lt_value *mode = ltA_first(tree);
  for (const lt_value *t = ltA_first(tiler); t < ltA_next(tiler); t = ltA_next(t)) {
    if (!check_pairs(arena, operation, mode, t)) return false;
    mode = ltA_next(mode);
  }
  return true;
}

/* The first elements of the pairs, as a tree like the tiler. */
static void append_tiles(ltA_builder *builder, const lt_value *tree, const lt_value *tiler) {
  if (!ltA_is_tuple(tiler)) {
    ltA_append(builder, ltA_element(tree, 0));
    return;
  }
  size_t open = ltA_open(builder, LT_TUPLE);
  const lt_value *mode = ltA_first(tree);
  for (const lt_value *t = ltA_first(tiler); t < ltA_next(tiler); t = ltA_next(t)) {
    append_tiles(builder, mode, t);
    mode = ltA_next(mode);
  }
  ltA_close(builder, open, ltA_rank(tiler));
}

/* The second elements of the pairs, and the modes past the tiler. */
static void append_rests(ltA_builder *builder, const lt_value *tree, const lt_value *tiler) {
  if (!ltA_is_tuple(tiler)) {
    ltA_append(builder, ltA_element(tree, 1));
    return;
  }
  size_t open = ltA_open(builder, LT_TUPLE);
  const lt_value *mode = ltA_first(tree);
  for (const lt_value *t = ltA_first(tiler); t < ltA_next(tiler); t = ltA_next(t)) {
    append_rests(builder, mode, t);
    mode = ltA_next(mode);
  }
  for (; mode < ltA_next(tree); mode = ltA_next(mode)) ltA_append(builder, mode);
  ltA_close(builder, open, ltA_rank(tree));
}

/* A mode, or its own modes in its place; a rank-1 tuple stays (CuTe's repeat<1>(_) is '_'). */
static size_t append_unpacked(ltA_builder *builder, const lt_value *mode) {
  if (!ltA_is_tuple(mode) || ltA_rank(mode) == 1) {
    ltA_append(builder, mode);
    return 1;
  }
  for (const lt_value *m = ltA_first(mode); m < ltA_next(mode); m = ltA_next(m))
    ltA_append(builder, m);
  return ltA_rank(mode);
}

/* ((tiles), (rests)) */
static const lt_value *zip_tree(lt_arena *arena, const lt_value *tree, const lt_value *tiler) {
  ltA_builder zipped;
  ltA_begin(&zipped, arena);
  size_t open = ltA_open(&zipped, LT_TUPLE);
  append_tiles(&zipped, tree, tiler);
  append_rests(&zipped, tree, tiler);
  ltA_close(&zipped, open, 2);
  return ltA_failed(arena) ? NULL : ltA_finish(&zipped);
}

static const lt_value *arrange_tree(lt_arena *arena, const lt_value *tree, const lt_value *tiler,
                                    ltA_arrangement arrangement) {
  const lt_value *zipped = zip_tree(arena, tree, tiler);
  if (zipped == NULL || arrangement == LTA_ZIPPED) return zipped;
  const lt_value *tiles = ltA_element(zipped, 0);
  const lt_value *rests = ltA_element(zipped, 1);
  ltA_builder result;
  ltA_begin(&result, arena);
  size_t open = ltA_open(&result, LT_TUPLE);
  size_t rank = 1;
  if (arrangement == LTA_FLAT)
    rank = append_unpacked(&result, tiles);
  else
    ltA_append(&result, tiles);
  rank += append_unpacked(&result, rests);
  ltA_close(&result, open, rank);
  return ltA_finish(&result);
}

const lt_value *ltA_arrange(lt_arena *arena, const char *operation, const lt_value *layout,
                            const lt_value *tiler, ltA_arrangement arrangement) {
  if (ltA_failed(arena)) return NULL;
  if (layout->kind == LT_COMPOSED)
    return ltA_with_layout_b(
        arena, layout, ltA_arrange(arena, operation, ltA_layout_b(layout), tiler, arrangement));
  if (layout->kind == LT_TENSOR)
    return ltA_with_tensor_layout(
        arena, layout,
        ltA_arrange(arena, operation, ltA_tensor_layout(layout), tiler, arrangement));
  if (!check_pairs(arena, operation, ltA_shape(layout), tiler)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *shape = arrange_tree(arena, ltA_shape(layout), tiler, arrangement);
  const lt_value *stride = arrange_tree(arena, ltA_stride(layout), tiler, arrangement);
  return ltA_keep(arena, mark, ltA_pair(arena, shape, stride));
}
