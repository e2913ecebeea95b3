/*
** A left inverse by search, for layouts whose strides do not nest: (2,2):(2,3) has (2,2):(1,1).
**
** A layout reads an offset as digits between places 1 = p_0 | p_1 | ..., and adds up digit times
** stride. The offsets of the layout are visited in ascending order; each one either follows from
** the places and strides chosen so far, or settles the one stride that is still open, or asks for
** a further place below it.
*/
#include <stdlib.h>

#include "inverse.h"

/* No search takes longer than this many steps. */
#define MAX_STEPS 100000
/* Places: each at least doubles. */
#define MAX_PLACES 40

typedef struct place {
  int64_t start;
  int64_t stride;
  bool is_open; /* no offset has settled the stride yet */
} place;

typedef struct search {
  const ltA_modes *layout;
  int64_t *offsets; /* of the layout, ascending, each once */
  size_t count;
  int64_t *values; /* layout(j) for indices past the size, too */
  int64_t value_count;
  place places[MAX_PLACES];
  size_t place_count;
  int steps;
} search;

/* Digit of 'offset' at place 'i'; the last place runs on. */
static int64_t digit_at(const search *s, size_t i, int64_t offset) {
  int64_t digit = offset / s->places[i].start;
  if (i + 1 == s->place_count) return digit;
  return digit % (s->places[i + 1].start / s->places[i].start);
}

static bool visit(search *s, size_t next);

/* Tries the strides for an open place that make 'offset' come back to one of its indices. */
static bool settle(search *s, size_t open, size_t next, int64_t known) {
  int64_t offset = s->offsets[next];
  int64_t digit = digit_at(s, open, offset);
  if (known < INT64_MIN / 2) return false;
  s->places[open].is_open = false;
  for (int64_t j = 0; j < s->value_count && s->steps < MAX_STEPS; j++) {
    s->steps++;
    if (s->values[j] != offset || (j - known) % digit != 0) continue;
    s->places[open].stride = (j - known) / digit;
    if (visit(s, next + 1)) return true;
  }
  s->places[open].is_open = true;
  return false;
}

/* Two open strides in one offset: any value of the first may be the right one. */
static bool guess(search *s, size_t open, size_t next) {
  s->places[open].is_open = false;
  for (int64_t stride = 0; stride < s->value_count && s->steps < MAX_STEPS; stride++) {
    s->places[open].stride = stride;
    if (visit(s, next)) return true;
  }
  s->places[open].is_open = true;
  return false;
}

/* False beyond 64 bits. */
static bool add_product(int64_t *sum, int64_t x, int64_t y) {
  int64_t product;
  return !__builtin_mul_overflow(x, y, &product) && !__builtin_add_overflow(*sum, product, sum);
}

static bool follow_places(search *s, size_t next) {
  int64_t offset = s->offsets[next];
  int64_t known = 0;
  size_t open[2];
  size_t open_count = 0;
  for (size_t i = 0; i < s->place_count; i++) {
    int64_t digit = digit_at(s, i, offset);
    if (digit == 0) continue;
    if (s->places[i].is_open) {
      if (open_count < 2) open[open_count++] = i;
    } else if (!add_product(&known, digit, s->places[i].stride)) {
      return false;
    }
  }
  if (open_count == 2) return guess(s, open[0], next);
  if (open_count == 1) return settle(s, open[0], next, known);
  if (known < 0 || (int64_t)ltA_modes_evaluate(s->layout, known, NULL) != offset) return false;
  return visit(s, next + 1);
}

/* A further place above the offsets before 'next' and not above it. */
static bool add_place(search *s, size_t next) {
  if (s->place_count == MAX_PLACES) return false;
  int64_t last = s->places[s->place_count - 1].start;
  int64_t before = next == 0 ? 0 : s->offsets[next - 1];
  int64_t first = before / last + 1 > 2 ? before / last + 1 : 2;
  int64_t most = s->offsets[next] / last;
  for (int64_t i = first; i <= most && s->steps < MAX_STEPS; i++) {
    s->places[s->place_count++] = (place){i * last, 0, true};
    if (visit(s, next)) return true;
    s->place_count--;
  }
  return false;
}

static bool visit(search *s, size_t next) {
  if (next == s->count) return true;
  if (s->steps++ >= MAX_STEPS) return false;
  return follow_places(s, next) || add_place(s, next);
}

static int compare_offsets(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The layout's offsets other than 0, sorted, and its values up to twice its size. */
static bool tabulate(search *s, int64_t size) {
  lt_arena *arena = s->layout->arena;
  s->value_count = 2 * size;
  s->values = ltA_new_bytes(arena, (size_t)s->value_count * sizeof *s->values);
  s->offsets = ltA_new_bytes(arena, (size_t)size * sizeof *s->offsets);
  if (ltA_failed(arena)) return false;
  for (int64_t j = 0; j < s->value_count; j++)
    s->values[j] = (int64_t)ltA_modes_evaluate(s->layout, j, NULL);
  memcpy(s->offsets, s->values, (size_t)size * sizeof *s->offsets);
  qsort(s->offsets, (size_t)size, sizeof *s->offsets, compare_offsets);
  s->count = 0;
  for (int64_t i = 0; i < size; i++)
    if (s->offsets[i] != 0 && (s->count == 0 || s->offsets[i] != s->offsets[s->count - 1]))
      s->offsets[s->count++] = s->offsets[i];
  return s->count == 0 || s->offsets[0] > 0;
}

bool ltA_is_left_inverse(const ltA_modes *layout, int64_t size, const ltA_modes *result) {
  for (int64_t i = 0; i < size; i++) {
    uint64_t offset = ltA_modes_evaluate(layout, i, NULL);
    uint64_t back = ltA_modes_evaluate(result, (int64_t)offset, NULL);
    if (ltA_modes_evaluate(layout, (int64_t)back, NULL) != offset) return false;
  }
  return true;
}

bool ltA_search_left_inverse(const ltA_modes *layout, int64_t size, ltA_modes *result) {
  if (size > LTA_MAX_SEARCHED) return false;
  search s = {.layout = layout, .places = {{1, 0, true}}, .place_count = 1};
  if (!tabulate(&s, size) || !visit(&s, 0)) return false;
  result->count = 0;
  int64_t largest = s.count == 0 ? 0 : s.offsets[s.count - 1];
  for (size_t i = 0; i < s.place_count; i++) {
    int64_t start = s.places[i].start;
    int64_t extent = i + 1 < s.place_count ? s.places[i + 1].start / start : largest / start + 1;
    ltA_modes_append(result, (ltA_mode){ltA_static(extent), ltA_static(s.places[i].stride), NULL});
  }
  ltA_modes_coalesce(result);
  return ltA_is_left_inverse(layout, size, result);
}
