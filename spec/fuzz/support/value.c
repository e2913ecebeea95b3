/*
** What holds for every value: its parts are of the kinds they should be, sizes and promises within
** their bounds, and its text parses back to it, in both notations.
*/
#include "fuzz.h"

/* Longer texts are of the same words, and would take most of the time. */
#define MAX_TEXT 256

static void fail(const char *rule, const lt_value *v) {
  fprintf(stderr, "%s\n", rule);
  show("value", v);
  abort();
}

static void check_parts(const lt_value *v, int depth);

static size_t count_parts(const lt_value *v) {
  size_t n = 0;
  const lt_value *last = NULL;
  for (const lt_value *part = lt_part(v, 0); part != NULL; part = next_part(v, part), n++)
    last = part;
  if (n > 0 && (lt_part(v, n - 1) != last || lt_part(v, n) != NULL)) fail("parts are lost", v);
  return n;
}

static void check_integer(const lt_value *v) {
  int64_t promise = lt_integer_promise(v);
  if (promise < 0) fail("a negative promise", v);
  if (promise > 0 && lt_integer_value(v) % promise != 0) fail("a broken promise", v);
}

static void check_tuple(const lt_value *v, int depth) {
  if (lt_rank(v) != count_parts(v)) fail("a tuple whose rank is not its number of elements", v);
  if (depth > LT_MAX_DEPTH) fail("a value deeper than the limit", v);
  for (const lt_value *part = lt_part(v, 0); part != NULL; part = next_part(v, part))
    check_parts(part, depth);
}

/* The product of the leaves that are not 0. */
static __int128 shape_size(const lt_value *shape) {
  if (lt_kind_of(shape) == LT_INTEGER) {
    int64_t size = lt_integer_value(shape);
    if (size < 0) fail("a negative size", shape);
    return size == 0 ? 1 : size;
  }
  if (lt_kind_of(shape) != LT_TUPLE) fail("a shape of something else than integers", shape);
  __int128 product = 1;
  for (const lt_value *s = lt_part(shape, 0); s != NULL; s = next_part(shape, s)) {
    product *= shape_size(s);
    if (product > LT_MAX_SIZE) fail("a shape beyond the largest size", shape);
  }
  return product;
}

static void check_congruent(const lt_value *layout, const lt_value *shape, const lt_value *stride) {
  if (lt_kind_of(shape) != LT_TUPLE) {
    bool is_leaf = lt_kind_of(stride) == LT_INTEGER || lt_kind_of(stride) == LT_BASIS;
    if (!is_leaf) fail("a stride that is not congruent with the shape", layout);
    return;
  }
  if (lt_kind_of(stride) != LT_TUPLE || lt_rank(stride) != lt_rank(shape))
    fail("a stride that is not congruent with the shape", layout);
  const lt_value *d = lt_part(stride, 0);
  for (const lt_value *s = lt_part(shape, 0); s != NULL; s = next_part(shape, s)) {
    check_congruent(layout, s, d);
    d = next_part(stride, d);
  }
}

static void check_layout(const lt_value *v, int depth) {
  check_parts(lt_shape(v), depth);
  check_parts(lt_stride(v), depth);
  shape_size(lt_shape(v));
  check_congruent(v, lt_shape(v), lt_stride(v));
}

static void check_composed(const lt_value *v, int depth) {
  const lt_value *a = lt_part(v, 0), *offset = lt_part(v, 1), *b = lt_part(v, 2);
  lt_kind a_kind = lt_kind_of(a);
  if (a_kind != LT_SWIZZLE && a_kind != LT_LAYOUT && a_kind != LT_COMPOSED)
    fail("a composed layout of something else than swizzle or layout", v);
  if (!lt_is_layout(b) && lt_kind_of(b) != LT_SWIZZLE)
    fail("a composed layout over neither layout nor swizzle", v);
  check_parts(a, depth);
  check_parts(offset, depth);
  check_parts(b, depth);
}

static void check_parts(const lt_value *v, int depth) {
  switch (lt_kind_of(v)) {
    case LT_INTEGER:
    case LT_BASIS: check_integer(v); break;
    case LT_TUPLE: check_tuple(v, depth + 1); break;
    case LT_LAYOUT: check_layout(v, depth + 1); break;
    case LT_COMPOSED: check_composed(v, depth + 1); break;
    case LT_TENSOR:
      if (!lt_is_layout(lt_part(v, 1))) fail("a tensor over no layout", v);
      check_parts(lt_part(v, 0), depth + 1);
      check_parts(lt_part(v, 1), depth + 1);
      break;
    case LT_WILDCARD:
    case LT_SWIZZLE:
    case LT_SMEM:
    case LT_MAJOR: break;
    default: fail("a value of no kind", v);
  }
}

/* CuTe's notation has no promises. */
static bool has_promise(const lt_value *v) {
  lt_kind kind = lt_kind_of(v);
  if (kind == LT_INTEGER || kind == LT_BASIS) return lt_integer_promise(v) > 1;
  for (const lt_value *part = lt_part(v, 0); part != NULL; part = next_part(v, part))
    if (has_promise(part)) return true;
  return false;
}

static void check_text(lt_arena *arena, const lt_value *v, bool cute) {
  size_t (*write)(const lt_value *, char *, size_t) = cute ? lt_to_cute : lt_to_string;
  size_t length = write(v, NULL, 0);
  if (length > MAX_TEXT) return;
  char *text = malloc(length + 1);
  if (text == NULL) return;
  if (write(v, text, length + 1) != length || strlen(text) != length)
    fail("a text of another length than was said", v);
  const lt_value *back = cute ? lt_from_cute(arena, text, length) : lt_parse(arena, text);
  if (back == NULL || !lt_equal(v, back)) {
    fprintf(stderr, "  text: %s\n", text);
    show("parsed", back);
    fail("a text that parses to another value", v);
  }
  free(text);
}

void check_value(lt_arena *arena, const lt_value *v) {
  check_parts(v, 0);
  check_text(arena, v, false);
  if (!has_promise(v)) check_text(arena, v, true);
}

void check_error(const lt_error *error) {
  const char *end = memchr(error->message, '\0', LT_ERROR_SIZE);
  size_t length = end == NULL ? 0 : (size_t)(end - error->message);
  bool is_sound = error->status != LT_OK && length > 0;
  for (size_t i = 0; is_sound && i < length; i++)
    is_sound = error->message[i] >= ' ' && error->message[i] <= '~';
  if (is_sound) return;
  fprintf(stderr, "status %d with the message '%.*s'\n", (int)error->status, LT_ERROR_SIZE,
          error->message);
  abort();
}
