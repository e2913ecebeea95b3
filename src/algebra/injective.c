/*
** Whether a layout is one to one.
**
** Two coordinates have one offset exactly when their difference x, with |x_j| < shape_j, has
** sum(x_j * stride_j) == 0. Such an x is looked for from the largest stride on: what the strides
** below can still reach, and what their common divisor allows, leaves few numbers to try.
*/
#include "function.h"

/* Numbers tried before the search is given up. */
#define MAX_TRIALS ((int64_t)1 << 22)

typedef struct search {
  const ltA_mode *modes; /* by stride, the smallest first; none is 0 */
  int64_t *reach;        /* reach[n]: the most that modes 0 to n - 1 add up to */
  int64_t *divisor;      /* divisor[n]: of the strides of modes 0 to n - 1; 0 for none */
  int64_t trials;
} search;

static int64_t floor_div(int64_t x, int64_t y) { return x / y - (x % y < 0); }

static int64_t clamp(int64_t x, int64_t limit) {
  return x > limit ? limit : x < -limit ? -limit : x;
}

/*
** Whether modes 0 to n - 1 can add up to -'sum'; 'is_zero' says that x is 0 in all modes above, so
** that it must not be 0 in all of these. An x and its opposite are one, so that its first number
** that is not 0 may be taken as positive.
*/
static ltA_answer can_cancel(search *s, size_t n, int64_t sum, bool is_zero) {
  if (n == 0) return sum == 0 && !is_zero ? LTA_YES : LTA_NO;
  const ltA_mode *mode = &s->modes[n - 1];
  int64_t step = mode->stride.value < 0 ? -mode->stride.value : mode->stride.value;
  int64_t reach = s->reach[n - 1], divisor = s->divisor[n - 1];
  int64_t most = mode->shape.value - 1;
  int64_t last = clamp(floor_div(reach - sum, step), most);
  int64_t first = clamp(-floor_div(reach + sum, step), most);
  if (is_zero && first < 0) first = 0;
  for (int64_t x = first; x <= last; x++) {
    if (s->trials-- <= 0) return LTA_UNKNOWN;
    int64_t next = sum + x * step;
    if (divisor != 0 && next % divisor != 0) continue;
    if (next > reach || next < -reach) continue;
    ltA_answer below = can_cancel(s, n - 1, next, is_zero && x == 0);
    if (below != LTA_NO) return below;
  }
  return LTA_NO;
}

/* Moves the modes along the basis of the first one to the front; returns how many. */
static size_t gather_basis(ltA_mode *modes, size_t count) {
  size_t gathered = 1;
  for (size_t i = 1; i < count; i++) {
    if (!ltA_same_basis(modes[0].basis, modes[i].basis)) continue;
    ltA_mode mode = modes[i];
    memmove(&modes[gathered + 1], &modes[gathered], (i - gathered) * sizeof mode);
    modes[gathered++] = mode;
  }
  return gathered;
}

/* Modes along one basis; by their number alone where there are more indices than offsets. */
static ltA_answer are_injective(lt_arena *arena, const ltA_mode *modes, size_t count) {
  search s = {modes, ltA_new_bytes(arena, (count + 1) * sizeof *s.reach),
              ltA_new_bytes(arena, (count + 1) * sizeof *s.divisor), MAX_TRIALS};
  if (s.reach == NULL || s.divisor == NULL) return LTA_UNKNOWN;
  int64_t size = 1;
  s.reach[0] = s.divisor[0] = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t stride = modes[i].stride.value, shape = modes[i].shape.value;
    if (stride == 0) return LTA_NO;
    if (stride == INT64_MIN) return LTA_UNKNOWN;
    if (stride < 0) stride = -stride;
    s.divisor[i + 1] = ltA_gcd(s.divisor[i], stride);
    size *= shape;
    if (__builtin_mul_overflow(shape - 1, stride, &s.reach[i + 1]) ||
        __builtin_add_overflow(s.reach[i], s.reach[i + 1], &s.reach[i + 1]) ||
        s.reach[i + 1] > INT64_MAX / 4)
      return LTA_UNKNOWN;
  }
  if (count > 0 && size - 1 > s.reach[count] / s.divisor[count]) return LTA_NO;
  ltA_answer cancels = can_cancel(&s, count, 0, true);
  if (cancels == LTA_UNKNOWN) return cancels;
  return cancels == LTA_YES ? LTA_NO : LTA_YES;
}

ltA_answer ltA_are_modes_injective(lt_arena *arena, const ltA_function *f) {
  ltA_modes modes;
  ltA_modes_begin(&modes, arena);
  for (size_t i = 0; i < f->modes.count; i++) ltA_modes_append(&modes, f->modes.items[i]);
  ltA_sort_modes(&modes);
  ltA_answer answer = LTA_YES;
  for (size_t done = 0; done < modes.count && !ltA_failed(arena);) {
    size_t count = gather_basis(modes.items + done, modes.count - done);
    ltA_answer here = are_injective(arena, modes.items + done, count);
    if (here == LTA_NO) return here;
    if (here == LTA_UNKNOWN) answer = here;
    done += count;
  }
  return answer;
}

/* An outer layout that is one to one keeps apart what falls into its domain. */
static ltA_answer is_outer_injective(lt_arena *arena, const ltA_function *f) {
  ltA_function outer;
  if (!ltA_function_of(arena, "is_injective", f->outer, &outer)) return LTA_UNKNOWN;
  if (f->is_general || f->lowest < 0 || f->highest >= outer.size) return LTA_UNKNOWN;
  return ltA_are_modes_injective(arena, &outer) == LTA_YES ? LTA_YES : LTA_UNKNOWN;
}

static bool is_injective(lt_arena *arena, const ltA_function *f) {
  if (f->size <= 1) return true;
  ltA_answer answer = ltA_are_modes_injective(arena, f); /* a swizzle keeps all apart */
  if (answer == LTA_YES && f->outer != NULL) answer = is_outer_injective(arena, f);
  if (answer != LTA_UNKNOWN || ltA_failed(arena)) return answer == LTA_YES;
  int64_t *offsets = ltA_sorted_offsets(arena, "is_injective", f);
  return offsets != NULL && ltA_drop_repeats(offsets, (size_t)f->size) == (size_t)f->size;
}

bool lt_is_injective(lt_arena *arena, const lt_value *layout) {
  ltA_function f;
  ltA_mark mark = ltA_get_mark(arena);
  if (!ltA_function_of(arena, "is_injective", layout, &f)) return false;
  bool injective = is_injective(arena, &f) && !ltA_failed(arena);
  ltA_release(arena, mark);
  return injective;
}
