/*
** Building values: a prefix-order array that grows at its end, and closes its tuples by filling in
** the length of what came after them.
*/
#include "value.h"

void ltA_begin(ltA_builder *b, lt_arena *arena) {
  b->arena = arena;
  b->nodes = b->initial;
  b->count = 0;
  b->capacity = sizeof b->initial / sizeof b->initial[0];
}

void ltA_grow(ltA_builder *b, size_t more) {
  size_t capacity = 2 * b->capacity;
  if (capacity < b->count + more) capacity = b->count + more;
  lt_value *nodes = ltA_new_nodes(b->arena, capacity);
  if (nodes == NULL) return;
  memcpy(nodes, b->nodes, b->count * sizeof *nodes);
  b->nodes = nodes;
  b->capacity = capacity;
}

size_t ltA_open(ltA_builder *b, lt_kind kind) {
  size_t open = b->count;
  lt_value *node = ltA_append_nodes(b, 1);
  if (node != NULL) *node = (lt_value){0, 0, 1, kind};
  return open;
}

void ltA_close(ltA_builder *b, size_t open, size_t rank) {
  if (ltA_failed(b->arena)) return;
  b->nodes[open].value = (int64_t)rank;
  b->nodes[open].length = (uint32_t)(b->count - open);
}

static size_t depth_of(const lt_value *v) {
  if (v->length == 1) return v->kind == LT_TUPLE;
  const lt_value *end = ltA_next(v);
  size_t deepest = 0;
  for (const lt_value *child = ltA_first(v); child < end; child = ltA_next(child)) {
    size_t depth = depth_of(child);
    if (depth > deepest) deepest = depth;
  }
  return deepest + 1;
}

/*
** A value of n nodes is less than n deep, so most need no walk. No operation more than doubles the
** depth of its operands, which bounds the recursion here.
*/
static const lt_value *check_depth(lt_arena *arena, const lt_value *v) {
  if (v == NULL || v->length <= LT_MAX_DEPTH) return v;
  if (depth_of(v) <= LT_MAX_DEPTH) return v;
  return ltA_fail(arena, LT_LIMIT, "value nested deeper than %d levels", LT_MAX_DEPTH);
}

const lt_value *ltA_finish(ltA_builder *b) {
  lt_value *v = ltA_new_nodes(b->arena, b->count);
  if (v == NULL) return NULL;
  memcpy(v, b->nodes, b->count * sizeof *v);
  return check_depth(b->arena, v);
}

/* A layout node and room for its children, or NULL. */
static lt_value *new_layout(lt_arena *arena, size_t shape_count, size_t stride_count) {
  size_t count = 1 + shape_count + stride_count;
  lt_value *v = ltA_new_nodes(arena, count);
  if (v != NULL) *v = (lt_value){0, 0, (uint32_t)count, LT_LAYOUT};
  return v;
}

const lt_value *ltA_finish_layout(ltA_builder *shape, ltA_builder *stride) {
  if (ltA_failed(shape->arena)) return NULL;
  lt_value *v = new_layout(shape->arena, shape->count, stride->count);
  if (v == NULL) return NULL;
  memcpy(v + 1, shape->nodes, shape->count * sizeof *v);
  memcpy(v + 1 + shape->count, stride->nodes, stride->count * sizeof *v);
  return ltA_check_limits(shape->arena, v) ? check_depth(shape->arena, v) : NULL;
}

const lt_value *ltA_pair(lt_arena *arena, const lt_value *shape, const lt_value *stride) {
  if (ltA_failed(arena)) return NULL;
  lt_value *v = new_layout(arena, shape->length, stride->length);
  if (v == NULL) return NULL;
  memcpy(v + 1, shape, shape->length * sizeof *v);
  memcpy(v + 1 + shape->length, stride, stride->length * sizeof *v);
  return ltA_check_limits(arena, v) ? check_depth(arena, v) : NULL;
}

const lt_value *ltA_node(lt_arena *arena, lt_kind kind, const lt_value *const *children, size_t n) {
  if (ltA_failed(arena)) return NULL;
  size_t count = 1;
  for (size_t i = 0; i < n; i++) count += children[i]->length;
  lt_value *v = ltA_new_nodes(arena, count);
  if (v == NULL) return NULL;
  *v = (lt_value){kind == LT_TUPLE ? (int64_t)n : 0, 0, (uint32_t)count, kind};
  lt_value *at = v + 1;
  for (size_t i = 0; i < n; i++) {
    memcpy(at, children[i], children[i]->length * sizeof *at);
    at += children[i]->length;
  }
  return check_depth(arena, v);
}

const lt_value *ltA_from_int(lt_arena *arena, lt_int x) {
  lt_value *v = ltA_new_nodes(arena, 1);
  if (v != NULL) *v = (lt_value){x.value, x.promise, 1, LT_INTEGER};
  return v;
}

/* ---- Layouts -------------------------------------------------------------------------------- */

ltA_view ltA_view_mode(ltA_view view, size_t i) {
  if (!ltA_is_tuple(view.shape)) return view;
  return (ltA_view){ltA_element(view.shape, i), ltA_element(view.stride, i)};
}

const lt_value *ltA_view_layout(lt_arena *arena, ltA_view view) {
  return ltA_pair(arena, view.shape, view.stride);
}

void ltA_layout_begin(ltA_layout_builder *b, lt_arena *arena) {
  ltA_begin(&b->shape, arena);
  ltA_begin(&b->stride, arena);
}

ltA_place ltA_layout_open(ltA_layout_builder *b) {
  return (ltA_place){ltA_open(&b->shape, LT_TUPLE), ltA_open(&b->stride, LT_TUPLE)};
}

void ltA_layout_close(ltA_layout_builder *b, ltA_place open, size_t rank) {
  ltA_close(&b->shape, open.shape, rank);
  ltA_close(&b->stride, open.stride, rank);
}

const lt_value *ltA_layout_finish(ltA_layout_builder *b) {
  return ltA_finish_layout(&b->shape, &b->stride);
}

void ltA_join_begin(ltA_join *join, lt_arena *arena) {
  ltA_layout_begin(&join->layout, arena);
  join->open = ltA_layout_open(&join->layout);
  join->rank = 0;
}

void ltA_join_append(ltA_join *join, const lt_value *layout) {
  if (layout == NULL) return;
  if (layout->kind != LT_LAYOUT) {
    ltA_fail(join->layout.shape.arena, LT_INVALID,
             "make_layout: %v is no layout that can be a mode", layout);
    return;
  }
  ltA_layout_append(&join->layout, ltA_view_of(layout));
  join->rank++;
}

const lt_value *ltA_join_finish(ltA_join *join) {
  ltA_layout_close(&join->layout, join->open, join->rank);
  return ltA_layout_finish(&join->layout);
}

const lt_value *ltA_mode_of(lt_arena *arena, const lt_value *layout, size_t i) {
  if (ltA_failed(arena) || !ltA_is_tuple(ltA_shape(layout))) return layout;
  return ltA_view_layout(arena, ltA_view_mode(ltA_view_of(layout), i));
}

lt_value *ltA_copy(lt_arena *arena, const lt_value *v) {
  lt_value *copy = ltA_failed(arena) ? NULL : ltA_new_nodes(arena, v->length);
  if (copy != NULL) memcpy(copy, v, lt_value_size(v));
  return copy;
}
