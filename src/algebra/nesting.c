/*
** The nesting of modes: flatten, unflatten, wrap, unwrap, zip.
** Source: CuTe's tuple_algorithms.hpp.
*/
#include "modes.h"

/* ---- flatten, unflatten --------------------------------------------------------------------- */

static const lt_value *next_node(const lt_value *node) {
  return ltA_is_tuple(node) ? node + 1 : ltA_next(node);
}

static void flatten_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  (void)e;
  if (!ltA_is_tuple(tree)) {
    ltA_append(out, tree);
    return;
  }
  size_t count = 0, open = ltA_open(out, LT_TUPLE);
  for (const lt_value *node = tree; node < ltA_next(tree); node = next_node(node)) {
    if (ltA_is_tuple(node)) continue;
    ltA_append(out, node);
    count++;
  }
  ltA_close(out, open, count);
}

const lt_value *lt_flatten(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  ltA_edit e = {"flatten", flatten_modes, 0, 0, NULL, NULL, NULL};
  return ltA_edit_modes(arena, x, &e);
}

static bool is_flat(const lt_value *tree) {
  if (!ltA_is_tuple(tree)) return true;
  for (const lt_value *mode = ltA_first(tree); mode < ltA_next(tree); mode = ltA_next(mode))
    if (ltA_is_tuple(mode)) return false;
  return true;
}

/* Puts modes where the profile has leaves. Returns the first mode that is left. */
static const lt_value *append_nested(ltA_builder *out, const lt_value *mode,
                                     const lt_value *profile) {
  if (!ltA_is_tuple(profile)) {
    ltA_append(out, mode);
    return ltA_next(mode);
  }
  size_t open = ltA_open(out, LT_TUPLE);
  for (const lt_value *p = ltA_first(profile); p < ltA_next(profile); p = ltA_next(p))
    mode = append_nested(out, mode, p);
  ltA_close(out, open, ltA_rank(profile));
  return mode;
}

static void unflatten_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  append_nested(out, ltA_is_tuple(tree) ? ltA_first(tree) : tree, e->profile);
}

const lt_value *lt_unflatten(lt_arena *arena, const lt_value *x, const lt_value *profile) {
  if (ltA_failed(arena)) return NULL;
  profile = ltA_shape_of(profile);
  if (!is_flat(ltA_shape_of(x))) return ltA_fail(arena, LT_INVALID, "unflatten: %v is not flat", x);
  if (ltA_count_leaves(profile) != lt_rank(x))
    return ltA_fail(arena, LT_INVALID, "unflatten: %v has %z modes, the profile %v has %z", x,
                    lt_rank(x), profile, ltA_count_leaves(profile));
  ltA_edit e = {"unflatten", unflatten_modes, 0, 0, NULL, profile, NULL};
  return ltA_edit_modes(arena, x, &e);
}

/* ---- wrap, unwrap --------------------------------------------------------------------------- */

static void wrap_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  (void)e;
  size_t open = out->count;
  if (!ltA_is_tuple(tree)) ltA_open(out, LT_TUPLE);
  ltA_append(out, tree);
  if (!ltA_is_tuple(tree)) ltA_close(out, open, 1);
}

const lt_value *lt_wrap(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  ltA_edit e = {"wrap", wrap_modes, 0, 0, NULL, NULL, NULL};
  return ltA_edit_modes(arena, x, &e);
}

static void unwrap_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  (void)e;
  while (ltA_is_tuple(tree) && tree->value == 1) tree = ltA_first(tree);
  ltA_append(out, tree);
}

const lt_value *lt_unwrap(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  ltA_edit e = {"unwrap", unwrap_modes, 0, 0, NULL, NULL, NULL};
  return ltA_edit_modes(arena, x, &e);
}

/* ---- zip ------------------------------------------------------------------------------------ */

/* The first element of each mode, to step from. */
static const lt_value **start_cursors(lt_arena *arena, const lt_value *tree) {
  const lt_value **cursors = ltA_new_bytes(arena, ltA_rank(tree) * sizeof *cursors);
  if (cursors == NULL) return NULL;
  size_t i = 0;
  for (const lt_value *mode = ltA_first(tree); mode < ltA_next(tree); mode = ltA_next(mode))
    cursors[i++] = ltA_first(mode);
  return cursors;
}

/* ((a,b,..),(x,y,..),..) becomes ((a,x,..),(b,y,..),..); a tuple of leaves is wrapped. */
static void zip_modes(ltA_builder *out, const lt_value *tree, const ltA_edit *e) {
  if (!ltA_is_tuple(tree) || !ltA_is_tuple(ltA_first(tree))) {
    size_t open = out->count;
    if (ltA_is_tuple(tree)) ltA_open(out, LT_TUPLE);
    ltA_append(out, tree);
    if (ltA_is_tuple(tree)) ltA_close(out, open, 1);
    return;
  }
  (void)e;
  size_t inner = ltA_rank(ltA_first(tree)), outer = ltA_rank(tree);
  const lt_value **cursors = start_cursors(out->arena, tree);
  if (cursors == NULL) return;
  size_t open = ltA_open(out, LT_TUPLE);
  for (size_t i = 0; i < inner; i++) {
    size_t row = ltA_open(out, LT_TUPLE);
    for (size_t j = 0; j < outer; j++) {
      ltA_append(out, cursors[j]);
      cursors[j] = ltA_next(cursors[j]);
    }
    ltA_close(out, row, outer);
  }
  ltA_close(out, open, inner);
}

static bool can_zip(const lt_value *tree) {
  if (!ltA_is_tuple(tree)) return true;
  if (tree->value == 0) return false;
  const lt_value *first = ltA_first(tree);
  if (!ltA_is_tuple(first)) return true;
  for (const lt_value *mode = first; mode < ltA_next(tree); mode = ltA_next(mode))
    if (!ltA_is_tuple(mode) || mode->value != first->value) return false;
  return true;
}

const lt_value *lt_zip(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  if (!can_zip(ltA_shape_of(x)))
    return ltA_fail(arena, LT_INVALID, "zip: the modes of %v are not tuples of one rank", x);
  ltA_edit e = {"zip", zip_modes, 0, 0, NULL, NULL, NULL};
  return ltA_edit_modes(arena, x, &e);
}
