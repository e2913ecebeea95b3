/*
** The offsets of a layout as the elements of a tensor.
*/
#include "algebra/offsets.h"
#include "tensor.h"

/* Where the offsets go, element by element. */
typedef struct target {
  lt_arena *arena;
  lt_tensor *tensor;
  ltT_walk walk;
  int32_t *run; /* of a tensor of s32 that is one run of memory, its next element */
} target;

static bool fail_number(const target *to, int64_t number) {
  return ltA_fail(to->arena, LT_OVERFLOW, "offsets: %I is no number of type %s", number,
                  ltT_type_of(to->tensor->element)->name) != NULL;
}

/* ---- One run of s32 ------------------------------------------------------------------------- */

static bool is_narrow(int64_t number) { return number >= INT32_MIN && number <= INT32_MAX; }

/* Without a branch in the loop. */
static bool are_narrow(const int64_t *numbers, size_t count) {
  uint64_t high = 0;
  for (size_t i = 0; i < count; i++) high |= (uint64_t)numbers[i] + (1U << 31);
  return high >> 32 == 0;
}

static bool take_run(void *context, const int64_t *offsets, size_t count) {
  target *to = context;
  size_t fitting = count;
  if (!are_narrow(offsets, count))
    for (fitting = 0; is_narrow(offsets[fitting]);) fitting++;
  for (size_t i = 0; i < fitting; i++) to->run[i] = (int32_t)offsets[i];
  to->run += fitting;
  return fitting == count || fail_number(to, offsets[fitting]);
}

/* The first of the elements where they are one run of s32 in their buffer, and nobody watches. */
static int32_t *find_run(const ltT_walk *w, const lt_tensor *t) {
  int64_t capacity = ltT_capacity(t);
  if (t->element != LT_S32 || !ltT_is_run(w)) return NULL;
  if (t->buffer->shadow != NULL || t->counter != NULL) return NULL;
  if (t->offset < 0 || t->offset > capacity || w->size > capacity - t->offset) return NULL;
  uint8_t *first = t->buffer->bytes + (size_t)t->offset * sizeof(int32_t);
  return (uintptr_t)first % _Alignof(int32_t) == 0 ? (int32_t *)(void *)first : NULL;
}

/* ---- Any tensor ----------------------------------------------------------------------------- */

/* Stores a number; false where the element's type does not have it. */
static bool store_exactly(const lt_tensor *t, int64_t place, int64_t number) {
  if (t->element == LT_S32) {
    int32_t narrow = (int32_t)number;
    memcpy(t->buffer->bytes + (size_t)place * sizeof narrow, &narrow, sizeof narrow);
    return narrow == number;
  }
  ltT_store(t->element, t->buffer->bytes, place, (lt_number){(double)number, 0});
  double stored = ltT_load(t->element, t->buffer->bytes, place).re;
  return stored >= -0x1p53 && stored <= 0x1p53 && (int64_t)stored == number;
}

static bool take_elements(void *context, const int64_t *offsets, size_t count) {
  target *to = context;
  int64_t places[LTT_CHUNK];
  for (size_t done = 0, n; done < count; done += n) {
    n = count - done < LTT_CHUNK ? count - done : LTT_CHUNK;
    if (!ltT_next_checked(&to->walk, "offsets", to->tensor, places, &n, LT_WRITE)) return false;
    for (size_t i = 0; i < n; i++)
      if (!store_exactly(to->tensor, places[i], offsets[done + i]))
        return fail_number(to, offsets[done + i]);
  }
  return true;
}

bool ltT_write_offsets(lt_arena *arena, const lt_value *layout, lt_tensor *t) {
  target to = {.arena = arena, .tensor = t};
  if (!ltT_begin_walk(&to.walk, arena, t)) return false;
  to.run = find_run(&to.walk, t);
  if (ltA_hand_out_offsets(layout, to.run != NULL ? take_run : take_elements, &to)) return true;
  if (ltA_failed(arena)) return false;
  return ltA_fail(arena, LT_INVALID, "offsets: %v has offsets that are no integers of 64 bits",
                  layout) != NULL;
}
