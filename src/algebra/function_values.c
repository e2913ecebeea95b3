/*
** Layouts as functions, evaluated: where their modes do not decide a question.
*/
#include "function.h"

void *ltA_undecided(lt_arena *arena, const char *operation, const ltA_function *f) {
  return ltA_fail(arena, LT_LIMIT,
                  "%s: the modes of %v do not decide this, and its %I offsets are too many to "
                  "evaluate (at most %I)",
                  operation, f->value, f->size, LT_MAX_EVALUATION);
}

static bool evaluate_generally(lt_arena *arena, const char *operation, const lt_value *value,
                               int64_t index, int64_t *offset) {
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value at = {index, 0, 1, LT_INTEGER};
  const lt_value *result = lt_apply(arena, value, &at);
  if (result == NULL) return false;
  if (!ltA_is_integer(result)) {
    ltA_fail(arena, LT_INVALID, "%s: %v maps to coordinates as %v, not to offsets", operation,
             value, result);
    return false;
  }
  *offset = result->value;
  ltA_release(arena, mark);
  return true;
}

bool ltA_function_at(lt_arena *arena, const char *operation, const ltA_function *f, int64_t index,
                     int64_t *offset) {
  return lt_offset(f->value, index, offset) ||
         evaluate_generally(arena, operation, f->value, index, offset);
}

static bool evaluate_all(lt_arena *arena, const char *operation, const ltA_function *f,
                         int64_t *offsets) {
  if (lt_offsets(f->value, offsets)) return true;
  for (int64_t i = 0; i < f->size; i++)
    if (!ltA_function_at(arena, operation, f, i, &offsets[i])) return false;
  return true;
}

/* ---- Sorting -------------------------------------------------------------------------------- */

#define DIGIT_BITS 11
#define DIGITS ((size_t)1 << DIGIT_BITS)

/* Negative numbers come first when their sign bit is turned. */
static size_t digit_of(int64_t x, int shift) {
  return (((uint64_t)x ^ (uint64_t)1 << 63) >> shift) & (DIGITS - 1);
}

/* One pass of a radix sort; false where all digits are alike and nothing was done. */
static bool sort_by_digit(const int64_t *from, int64_t *to, size_t count, int shift) {
  size_t places[DIGITS] = {0};
  for (size_t i = 0; i < count; i++) places[digit_of(from[i], shift)]++;
  if (places[digit_of(from[0], shift)] == count) return false;
  size_t place = 0;
  for (size_t digit = 0; digit < DIGITS; digit++) {
    size_t here = places[digit];
    places[digit] = place;
    place += here;
  }
  for (size_t i = 0; i < count; i++) to[places[digit_of(from[i], shift)]++] = from[i];
  return true;
}

/* Sorts 'count' > 0 numbers; the result is in one of the two arrays. */
static int64_t *sort_numbers(int64_t *numbers, int64_t *other, size_t count) {
  for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
    if (!sort_by_digit(numbers, other, count, shift)) continue;
    int64_t *sorted = other;
    other = numbers;
    numbers = sorted;
  }
  return numbers;
}

int64_t *ltA_sorted_offsets(lt_arena *arena, const char *operation, const ltA_function *f) {
  if (f->size > LT_MAX_EVALUATION) return ltA_undecided(arena, operation, f);
  size_t count = (size_t)f->size;
  int64_t *offsets = ltA_new_bytes(arena, count * sizeof *offsets);
  int64_t *other = ltA_new_bytes(arena, count * sizeof *other);
  if (offsets == NULL || other == NULL || !evaluate_all(arena, operation, f, offsets)) return NULL;
  return count == 0 ? offsets : sort_numbers(offsets, other, count);
}

size_t ltA_drop_repeats(int64_t *offsets, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (i == 0 || offsets[i] != offsets[i - 1]) offsets[kept++] = offsets[i];
  return kept;
}
