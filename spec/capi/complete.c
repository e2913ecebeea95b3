/*
** Composition is complete: it gives a layout exactly where some layout does. So are the divides and
** products, which are compositions, and the inverses, each by its own law. Checked on small layouts
** against searches that know nothing of the algebra.
*/
#include <stdint.h>

#include "test.h"

#define MAX_MODES 6
#define MAX_SIZE 512

/* A flat layout; offsets past its size run on in the last mode. */
typedef struct flat {
  int count;
  int64_t shape[MAX_MODES];
  int64_t stride[MAX_MODES];
} flat;

static int64_t size_of(const flat *l) {
  int64_t size = 1;
  for (int i = 0; i < l->count; i++) size *= l->shape[i];
  return size;
}

static int64_t evaluate(const flat *l, int64_t index) {
  int64_t offset = 0;
  for (int i = 0; i + 1 < l->count; i++) {
    offset += index % l->shape[i] * l->stride[i];
    index /= l->shape[i];
  }
  return offset + index * l->stride[l->count - 1];
}

static const lt_value *tuple_of(lt_arena *arena, const int64_t *numbers, int count) {
  const lt_value *elements[MAX_MODES];
  for (int i = 0; i < count; i++) elements[i] = lt_integer(arena, numbers[i]);
  return lt_tuple(arena, elements, (size_t)count);
}

static const lt_value *layout_of(lt_arena *arena, const flat *l) {
  return lt_make_layout(arena, tuple_of(arena, l->shape, l->count),
                        tuple_of(arena, l->stride, l->count));
}

/* The leaves of a layout; false where there are too many. */
static bool collect(const lt_value *shape, const lt_value *stride, flat *l) {
  if (lt_kind_of(shape) == LT_INTEGER) {
    if (l->count == MAX_MODES) return false;
    l->shape[l->count] = lt_integer_value(shape);
    l->stride[l->count++] = lt_integer_value(stride);
    return true;
  }
  for (size_t i = 0; i < lt_rank(shape); i++)
    if (!collect(lt_part(shape, i), lt_part(stride, i), l)) return false;
  return true;
}

/* ---- What some layout can be ---------------------------------------------------------------- */

/*
** Whether values[0], values[step], ... are those of a layout, which starts at 0. Its first stride is
** the first difference, its first extent how long that lasts, and the rest is the same question.
*/
static bool is_layout_sequence(const int64_t *values, int64_t count) {
  int64_t step = 1;
  for (int64_t rest = count; rest > 1;) {
    int64_t run = 2, stride = values[step];
    while (run < rest && values[run * step] == run * stride) run++;
    if (rest % run != 0) return false;
    for (int64_t i = 0; i < count; i += step) /* every run is like the first */
      if (values[i] != values[i - i % (run * step)] + i % (run * step) / step * stride)
        return false;
    rest /= run;
    step *= run;
  }
  return true;
}

/* Whether some layout whose shape refines b's is a(b(c)) everywhere. */
static bool is_composable(const flat *a, const flat *b) {
  int64_t size = size_of(b), values[MAX_SIZE], at[MAX_MODES] = {0};
  for (int m = 0; m < b->count; m++) {
    for (int64_t i = 0; i < b->shape[m]; i++) values[i] = evaluate(a, i * b->stride[m]);
    if (!is_layout_sequence(values, b->shape[m])) return false;
  }
  for (int64_t i = 0; i < size; i++) { /* the modes add up */
    int64_t sum = 0, index = 0, rest = i;
    for (int m = 0; m < b->count; m++) {
      at[m] = rest % b->shape[m];
      rest /= b->shape[m];
      sum += evaluate(a, at[m] * b->stride[m]);
      index += at[m] * b->stride[m];
    }
    if (sum != evaluate(a, index)) return false;
  }
  return true;
}

/* ---- Left inverses -------------------------------------------------------------------------- */

/* Places that an offset is read at, and what a step of each moves the index by. */
typedef struct inverse {
  const flat *a;
  bool is_offset[64];
  int64_t largest;
  int64_t places[8];
  int64_t strides[8];
  int count;
} inverse;

static int64_t index_of(const inverse *r, int64_t offset) {
  int64_t index = 0;
  for (int k = 0; k < r->count; k++) {
    int64_t digit = offset / r->places[k];
    if (k + 1 < r->count) digit %= r->places[k + 1] / r->places[k];
    index += digit * r->strides[k];
  }
  return index;
}

static bool brings_back(const inverse *r, int64_t below) {
  for (int64_t offset = 0; offset < below && offset <= r->largest; offset++)
    if (r->is_offset[offset] && evaluate(r->a, index_of(r, offset)) != offset) return false;
  return true;
}

/* Every stride below twice the size for the newest place, then every next place, or none. */
static bool search_inverse(inverse *r, int64_t size) {
  int k = r->count - 1;
  for (r->strides[k] = 0; r->strides[k] < 2 * size; r->strides[k]++) {
    if (brings_back(r, r->largest + 1)) return true;
    if (r->count == 8) continue;
    for (int64_t next = 2 * r->places[k]; next <= r->largest; next += r->places[k]) {
      if (!brings_back(r, next)) break;
      r->places[r->count++] = next;
      bool found = search_inverse(r, size);
      r->count--;
      if (found) return true;
    }
  }
  return false;
}

static bool has_left_inverse(const flat *a) {
  inverse r = {.a = a, .places = {1}, .count = 1};
  for (int64_t i = 0; i < size_of(a); i++) {
    int64_t offset = evaluate(a, i);
    r.is_offset[offset] = true;
    if (offset > r.largest) r.largest = offset;
  }
  return search_inverse(&r, size_of(a));
}

/* ---- The operations ------------------------------------------------------------------------- */

typedef struct bench {
  test t;
  lt_error error;
  lt_arena *arena;
  long accepted, refused;
} bench;

static void report(bench *s, const char *what, const lt_value *a, const lt_value *b) {
  char left[256], right[256] = "", text[600];
  lt_to_string(a, left, sizeof left);
  if (b != NULL) lt_to_string(b, right, sizeof right);
  snprintf(text, sizeof text, "%s: %s and %s", what, left, right);
  check(&s->t, false, text);
}

static int64_t offset_at(const lt_value *layout, int64_t index) {
  int64_t offset = INT64_MIN;
  lt_offset(layout, index, &offset);
  return offset;
}

static bool is_composition(const flat *a, const flat *b, const lt_value *r) {
  for (int64_t i = 0; i < size_of(b); i++)
    if (offset_at(r, i) != evaluate(a, evaluate(b, i))) return false;
  return true;
}

/* 'r' is a(b(i)), or NULL where there is none. */
static void check_composition(bench *s, const char *what, const flat *a, const flat *b,
                              const lt_value *r, const lt_value *left, const lt_value *right) {
  if (r != NULL) {
    s->accepted++;
    if (!is_composition(a, b, r)) report(s, what, left, right);
  } else {
    s->refused++;
    if (is_composable(a, b)) report(s, what, left, right);
  }
}

static void compose(bench *s, const flat *a, const flat *b) {
  const lt_value *left = layout_of(s->arena, a), *right = layout_of(s->arena, b);
  const lt_value *r = lt_composition(s->arena, left, right);
  s->error.status = LT_OK;
  check_composition(s, "composition", a, b, r, left, right);
}

/* logical_divide is the composition with the tiler and its complement, where there is that. */
static void divide(bench *s, const flat *a, const flat *b) {
  const lt_value *left = layout_of(s->arena, a), *right = layout_of(s->arena, b);
  const lt_value *r = lt_logical_divide(s->arena, left, right);
  s->error.status = LT_OK;
  const lt_value *rest = lt_complement(s->arena, right, lt_size(s->arena, left));
  s->error.status = LT_OK;
  flat whole = *b;
  if (rest == NULL || !collect(lt_shape(rest), lt_stride(rest), &whole)) return;
  if (size_of(&whole) > MAX_SIZE) return;
  bool exists = is_composable(a, &whole);
  if (exists && (r == NULL || !is_composition(a, &whole, r))) report(s, "divide", left, right);
  if (r == NULL)
    s->refused++;
  else
    s->accepted++;
}

/* logical_product is the block, and its complement composed with the tiler. */
static void multiply(bench *s, const flat *a, const flat *b) {
  const lt_value *left = layout_of(s->arena, a), *right = layout_of(s->arena, b);
  const lt_value *r = lt_logical_product(s->arena, left, right);
  s->error.status = LT_OK;
  int64_t cosize = lt_integer_value(lt_cosize(s->arena, right));
  const lt_value *target = lt_integer(s->arena, size_of(a) * cosize);
  const lt_value *rest = lt_complement(s->arena, left, target);
  s->error.status = LT_OK;
  flat places = {0};
  if (rest == NULL || !collect(lt_shape(rest), lt_stride(rest), &places)) return;
  const lt_value *repeated = r == NULL ? NULL : lt_get(s->arena, r, (int64_t[]){1}, 1);
  check_composition(s, "product", &places, b, repeated, left, right);
}

static void invert(bench *s, const flat *a) {
  const lt_value *layout = layout_of(s->arena, a);
  const lt_value *right = lt_right_inverse(s->arena, layout);
  int64_t size = right == NULL ? -1 : lt_integer_value(lt_size(s->arena, right));
  if (size < 1) report(s, "right_inverse", layout, NULL);
  for (int64_t i = 0; i < size; i++)
    if (evaluate(a, offset_at(right, i)) != i) report(s, "right_inverse", layout, right);
  const lt_value *left = lt_left_inverse(s->arena, layout);
  bool found = s->error.status == LT_OK;
  s->error.status = LT_OK;
  for (int64_t i = 0; found && i < size_of(a); i++)
    if (evaluate(a, offset_at(left, evaluate(a, i))) != evaluate(a, i))
      report(s, "left_inverse", layout, left);
  if (!found && has_left_inverse(a)) report(s, "left_inverse is refused", layout, NULL);
}

/* ---- Layouts ---------------------------------------------------------------------------------
 */

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state >> 11;
}

static flat random_layout(uint64_t *state, int modes, int64_t most_shape, int64_t most_stride) {
  flat l = {.count = modes};
  for (int i = 0; i < modes; i++) {
    l.shape[i] = 1 + (int64_t)(next_random(state) % (uint64_t)most_shape);
    l.stride[i] = (int64_t)(next_random(state) % (uint64_t)(most_stride + 1));
  }
  return l;
}

typedef void pair_check(bench *s, const flat *a, const flat *b);

static void check_pairs(bench *s, const char *name, pair_check *check_pair, uint64_t seed) {
  long failed = s->t.failed;
  s->accepted = s->refused = 0;
  for (int i = 0; i < 60000; i++) {
    flat a = random_layout(&seed, 1 + i % 3, 6, 8);
    flat b = random_layout(&seed, 1 + i / 3 % 3, 6, 9);
    check_pair(s, &a, &b);
    lt_arena_reset(s->arena);
  }
  check(&s->t, s->accepted > 1000 && s->refused > 1000, "cases of both kinds");
  check(&s->t, s->t.failed == failed, name);
  printf("%s: %ld accepted, %ld refused\n", name, s->accepted, s->refused);
}

/* All layouts of two modes, and random ones of three. */
static void check_inverses(bench *s) {
  int failed = s->t.failed;
  uint64_t seed = 4;
  flat a = {.count = 2};
  for (int i = 0; i < 4 * 4 * 9 * 9; i++) {
    a = (flat){2, {1 + i % 4, 1 + i / 4 % 4}, {i / 16 % 9, i / 144}};
    invert(s, &a);
    lt_arena_reset(s->arena);
  }
  for (int i = 0; i < 2000; i++) {
    a = random_layout(&seed, 3, 3, 9);
    invert(s, &a);
    lt_arena_reset(s->arena);
  }
  check(&s->t, s->t.failed == failed, "inverses");
}

int main(void) {
  bench s = {.error = {LT_OK, ""}};
  s.arena = lt_arena_new(NULL, &s.error);
  if (s.arena == NULL) return EXIT_FAILURE;
  check_pairs(&s, "composition", compose, 1);
  check_pairs(&s, "divide", divide, 2);
  check_pairs(&s, "product", multiply, 3);
  check_inverses(&s);
  lt_arena_free(s.arena);
  return finish(&s.t);
}
