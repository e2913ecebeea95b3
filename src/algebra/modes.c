/*
** Picking, grouping and rearranging the modes of tuples, layouts, composed layouts and tensors.
** Source: CuTe's tuple_algorithms.hpp.
*/
#include "modes.h"

#include "composed.h"

/* Most modes that append_to and prepend_to make. */
#define MAX_RANK LT_MAX_BASIS_MODE

/* ---- Edits ---------------------------------------------------------------------------------- */

static const lt_value *mode_at(const lt_value *tree, int64_t i) {
  return ltA_is_tuple(tree) ? ltA_element(tree, (size_t)i) : tree;
}

static void append_modes(ltA_builder *out, const lt_value *tree, int64_t begin, int64_t end) {
  if (begin >= end) return;
  const lt_value *mode = mode_at(tree, begin);
  for (int64_t i = begin; i < end; i++) {
    ltA_append(out, mode);
    mode = ltA_next(mode);
  }
}

static const lt_value *edit_layout(lt_arena *arena, const lt_value *layout, const ltA_edit *e) {
  ltA_builder shape, stride;
  ltA_edit of_shape = *e, of_stride = *e;
  if (e->y != NULL) {
    of_shape.y = ltA_shape(e->y);
    of_stride.y = ltA_stride(e->y);
  }
  ltA_begin(&shape, arena);
  ltA_begin(&stride, arena);
  e->rearrange(&shape, ltA_shape(layout), &of_shape);
  e->rearrange(&stride, ltA_stride(layout), &of_stride);
  const lt_value *result = ltA_finish_layout(&shape, &stride);
  if (result == NULL ||
      !ltA_check_layout(arena, e->operation, ltA_shape(result), ltA_stride(result)))
    return NULL;
  return result;
}

static const lt_value *edit_tuple(lt_arena *arena, const lt_value *tuple, const ltA_edit *e) {
  ltA_builder out;
  ltA_begin(&out, arena);
  e->rearrange(&out, tuple, e);
  return ltA_finish(&out);
}

/* Leaves of tuples may stand alone, and then are one mode. */
static bool is_tree(const lt_value *x) {
  return ltA_is_tuple(x) || ltA_is_stride_leaf(x) || x->kind == LT_WILDCARD;
}

const lt_value *ltA_edit_modes(lt_arena *arena, const lt_value *x, const ltA_edit *e) {
  if (ltA_is_layout(x)) return edit_layout(arena, x, e);
  if (is_tree(x)) return edit_tuple(arena, x, e);
  if (ltA_is_composed(x) && ltA_is_layout(ltA_layout_b(x))) {
    const lt_value *edited = edit_layout(arena, ltA_layout_b(x), e);
    return edited == NULL ? NULL : ltA_with_layout_b(arena, x, edited);
  }
  if (x->kind == LT_TENSOR) {
    const lt_value *offset = ltA_first(x);
    const lt_value *parts[] = {offset, ltA_edit_modes(arena, ltA_next(offset), e)};
    return parts[1] == NULL ? NULL : ltA_node(arena, LT_TENSOR, parts, 2);
  }
  return ltA_fail(arena, LT_INVALID, "%s: %v has no modes", e->operation, x);
}

/* ---- Checks --------------------------------------------------------------------------------- */

static int64_t rank_of(const lt_value *x) { return (int64_t)lt_rank(x); }

static bool check_mode(lt_arena *arena, const char *operation, const lt_value *x, int64_t mode) {
  if (ltA_failed(arena)) return false;
  if (mode >= 0 && mode < rank_of(x)) return true;
  ltA_fail(arena, LT_INVALID, "%s: there is no mode %I in %v, whose rank is %z", operation, mode, x,
           lt_rank(x));
  return false;
}

static bool check_range(lt_arena *arena, const char *operation, const lt_value *x, int64_t begin,
                        int64_t end) {
  if (ltA_failed(arena)) return false;
  if (begin >= 0 && begin <= end && end <= rank_of(x)) return true;
  ltA_fail(arena, LT_INVALID, "%s: modes %I to %I are no range of %v, whose rank is %z", operation,
           begin, end, x, lt_rank(x));
  return false;
}

static bool has_layout(const lt_value *x) { return lt_is_layout(x) || x->kind == LT_TENSOR; }

/* A mode for 'x': any value for a tuple; for a layout a layout, 1:0 if none is given. */
static const lt_value *check_new_mode(lt_arena *arena, const char *operation, const lt_value *x,
                                      const lt_value *y) {
  static const lt_value unit_layout[] = {
      {0, 0, 3, LT_LAYOUT}, {1, 0, 1, LT_INTEGER}, {0, 0, 1, LT_INTEGER}};
  if (ltA_failed(arena)) return NULL;
  if (y == NULL && has_layout(x)) return unit_layout;
  if (y == NULL) return ltA_fail(arena, LT_INVALID, "%s: no mode is given for %v", operation, x);
  if (has_layout(x) && !ltA_is_layout(y))
    return ltA_fail(arena, LT_INVALID, "%s: %v is no layout, and cannot be a mode of %v", operation,
                    y, x);
  return y;
}

/* ---- get, select, take, group --------------------------------------------------------------- */

static const lt_value *get_mode(lt_arena *arena, const lt_value *x, int64_t mode) {
  if (!check_mode(arena, "get", x, mode)) return NULL;
  if (ltA_is_layout(x))
    return ltA_pair(arena, mode_at(ltA_shape(x), mode), mode_at(ltA_stride(x), mode));
  if (ltA_is_composed(x) && ltA_is_layout(ltA_layout_b(x))) {
    const lt_value *part = get_mode(arena, ltA_layout_b(x), mode);
    return part == NULL ? NULL : ltA_with_layout_b(arena, x, part);
  }
  if (ltA_is_tuple(x) || ltA_is_integer(x)) return mode_at(x, mode);
  return ltA_fail(arena, LT_INVALID, "get: %v has no modes", x);
}

const lt_value *lt_get(lt_arena *arena, const lt_value *x, const int64_t *path, size_t n) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *part = x;
  for (size_t i = 0; i < n && part != NULL; i++) part = get_mode(arena, part, path[i]);
  return part == NULL ? NULL : ltA_keep(arena, mark, ltA_copy(arena, part));
}

static void select_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  size_t open = ltA_open(out, LT_TUPLE);
  for (int64_t i = 0; i < e->end; i++) ltA_append(out, mode_at(tree, e->modes[i]));
  ltA_close(out, open, (size_t)e->end);
}

const lt_value *lt_select(lt_arena *arena, const lt_value *x, const int64_t *modes, size_t n) {
  if (ltA_failed(arena)) return NULL;
  for (size_t i = 0; i < n; i++)
    if (!check_mode(arena, "select", x, modes[i])) return NULL;
  ltA_edit e = {"select", select_modes, 0, (int64_t)n, modes, NULL, NULL};
  return ltA_edit_modes(arena, x, &e);
}

static void take_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  size_t open = ltA_open(out, LT_TUPLE);
  append_modes(out, tree, e->begin, e->end);
  ltA_close(out, open, (size_t)(e->end - e->begin));
}

const lt_value *lt_take(lt_arena *arena, const lt_value *x, int64_t begin, int64_t end) {
  if (ltA_failed(arena)) return NULL;
  if (end == -1) end = rank_of(x);
  if (!check_range(arena, "take", x, begin, end)) return NULL;
  if (begin == end && has_layout(x))
    return ltA_fail(arena, LT_INVALID, "take: no modes from %I to %I of %v", begin, end, x);
  ltA_edit e = {"take", take_modes, begin, end, NULL, NULL, NULL};
  return ltA_edit_modes(arena, x, &e);
}

/* An empty range leaves the modes as they are. */
static void group_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  int64_t rank = (int64_t)ltA_rank(tree), grouped = e->end - e->begin;
  size_t open = ltA_open(out, LT_TUPLE);
  append_modes(out, tree, 0, e->begin);
  if (grouped > 0) take_modes(out, tree, e);
  append_modes(out, tree, e->end, rank);
  ltA_close(out, open, (size_t)(grouped > 0 ? rank - grouped + 1 : rank));
}

const lt_value *lt_group(lt_arena *arena, const lt_value *x, int64_t begin, int64_t end) {
  if (ltA_failed(arena)) return NULL;
  if (end == -1) end = rank_of(x);
  if (!check_range(arena, "group", x, begin, end)) return NULL;
  ltA_edit e = {"group", group_modes, begin, end, NULL, NULL, NULL};
  return ltA_edit_modes(arena, x, &e);
}

/* ---- append, prepend ------------------------------------------------------------------------ */

static void append_copies(ltA_builder *out, const lt_value *mode, int64_t count) {
  for (int64_t i = 0; i < count && !ltA_failed(out->arena); i++) ltA_append(out, mode);
}

/* 'begin' modes are added before the tree's and 'end' after them. */
static void extend_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  int64_t rank = (int64_t)ltA_rank(tree);
  size_t open = ltA_open(out, LT_TUPLE);
  append_copies(out, e->y, e->begin);
  append_modes(out, tree, 0, rank);
  append_copies(out, e->y, e->end);
  ltA_close(out, open, (size_t)(e->begin + rank + e->end));
}

static const lt_value *extend(lt_arena *arena, const char *operation, const lt_value *x,
                              const lt_value *y, int64_t before, int64_t after) {
  y = check_new_mode(arena, operation, x, y);
  if (y == NULL) return NULL;
  ltA_edit e = {operation, extend_modes, before, after, NULL, NULL, y};
  return ltA_edit_modes(arena, x, &e);
}

/* How many modes 'x' lacks of 'rank', or -1 with the error set. */
static int64_t count_missing(lt_arena *arena, const char *operation, const lt_value *x,
                             int64_t rank) {
  if (ltA_failed(arena)) return -1;
  if (rank >= rank_of(x) && rank <= MAX_RANK) return rank - rank_of(x);
  ltA_fail(arena, rank > MAX_RANK ? LT_LIMIT : LT_INVALID, "%s: rank %I is not in %z (of %v) to %I",
           operation, rank, lt_rank(x), x, (int64_t)MAX_RANK);
  return -1;
}

const lt_value *lt_append(lt_arena *arena, const lt_value *x, const lt_value *y) {
  return extend(arena, "append", x, y, 0, 1);
}

const lt_value *lt_prepend(lt_arena *arena, const lt_value *x, const lt_value *y) {
  return extend(arena, "prepend", x, y, 1, 0);
}

const lt_value *lt_append_to(lt_arena *arena, const lt_value *x, int64_t rank, const lt_value *y) {
  int64_t missing = count_missing(arena, "append_to", x, rank);
  if (missing < 0) return NULL;
  if (missing == 0) return ltA_copy(arena, x);
  return extend(arena, "append_to", x, y, 0, missing);
}

const lt_value *lt_prepend_to(lt_arena *arena, const lt_value *x, int64_t rank, const lt_value *y) {
  int64_t missing = count_missing(arena, "prepend_to", x, rank);
  if (missing < 0) return NULL;
  if (missing == 0) return ltA_copy(arena, x);
  return extend(arena, "prepend_to", x, y, missing, 0);
}

/* ---- replace, insert, remove, reverse ------------------------------------------------------- */

/* Modes from 'begin' to 'end' give way to y, where there is one. */
static void splice_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  int64_t rank = (int64_t)ltA_rank(tree), removed = e->end - e->begin;
  size_t open = ltA_open(out, LT_TUPLE);
  append_modes(out, tree, 0, e->begin);
  append_copies(out, e->y, e->y != NULL);
  append_modes(out, tree, e->end, rank);
  ltA_close(out, open, (size_t)(rank - removed + (e->y != NULL)));
}

const lt_value *lt_replace(lt_arena *arena, const lt_value *x, int64_t mode, const lt_value *y) {
  if (!check_mode(arena, "replace", x, mode)) return NULL;
  y = check_new_mode(arena, "replace", x, y);
  if (y == NULL) return NULL;
  bool whole = !ltA_is_tuple(ltA_shape_of(x)); /* an integer is its only mode */
  if (whole && !ltA_is_composed(x) && x->kind != LT_TENSOR) return ltA_copy(arena, y);
  if (whole) return ltA_fail(arena, LT_INVALID, "replace: %v is not a tuple of modes", x);
  ltA_edit e = {"replace", splice_modes, mode, mode + 1, NULL, NULL, y};
  return ltA_edit_modes(arena, x, &e);
}

static bool check_tuple(lt_arena *arena, const char *operation, const lt_value *x) {
  if (ltA_failed(arena)) return false;
  if (ltA_is_tuple(ltA_shape_of(x))) return true;
  ltA_fail(arena, LT_INVALID, "%s: %v is not a tuple of modes", operation, x);
  return false;
}

const lt_value *lt_insert(lt_arena *arena, const lt_value *tuple, int64_t mode, const lt_value *y) {
  if (!check_tuple(arena, "insert", tuple) || !check_range(arena, "insert", tuple, mode, mode))
    return NULL;
  y = check_new_mode(arena, "insert", tuple, y);
  if (y == NULL) return NULL;
  ltA_edit e = {"insert", splice_modes, mode, mode, NULL, NULL, y};
  return ltA_edit_modes(arena, tuple, &e);
}

const lt_value *lt_remove(lt_arena *arena, const lt_value *tuple, int64_t mode) {
  if (!check_tuple(arena, "remove", tuple) || !check_mode(arena, "remove", tuple, mode))
    return NULL;
  ltA_edit e = {"remove", splice_modes, mode, mode + 1, NULL, NULL, NULL};
  return ltA_edit_modes(arena, tuple, &e);
}

/* Fills the room for the modes from its end. */
static void reverse_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  (void)e;
  lt_value *at = ltA_append_nodes(out, tree->length);
  if (at == NULL) return;
  memcpy(at, tree, lt_value_size(tree));
  if (!ltA_is_tuple(tree)) return;
  lt_value *end = at + tree->length;
  for (const lt_value *mode = ltA_first(tree); mode < ltA_next(tree); mode = ltA_next(mode)) {
    end -= mode->length;
    memcpy(end, mode, lt_value_size(mode));
  }
}

const lt_value *lt_reverse(lt_arena *arena, const lt_value *tuple) {
  if (ltA_failed(arena)) return NULL;
  ltA_edit e = {"reverse", reverse_modes, 0, 0, NULL, NULL, NULL};
  return ltA_edit_modes(arena, tuple, &e);
}
