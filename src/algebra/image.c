/*
** The set of a layout's offsets: what it covers, where it has gaps, and as a layout.
**
** The offsets of modes with positive strides, the smallest first, are 0, 1, 2, ... without a gap as
** long as each stride is no larger than what the modes before it have covered: a larger one and
** those behind it all step over the first offset that is missing. A negative stride is a positive
** one with another start.
*/
#include "function.h"

/* Offsets from the smallest on that are covered without a gap; 'whole' says that there is none. */
static int64_t covered_prefix(const ltA_modes *sorted, bool *whole) {
  int64_t covered = 1;
  *whole = true;
  for (size_t i = 0; i < sorted->count; i++) {
    int64_t stride = sorted->items[i].stride.value;
    if (stride < 0) stride = -stride;
    *whole = stride <= covered;
    if (!*whole) break;
    covered += (sorted->items[i].shape.value - 1) * stride;
  }
  return covered;
}

static void sort_modes_of(lt_arena *arena, const ltA_function *f, ltA_modes *sorted) {
  ltA_modes_begin(sorted, arena);
  for (size_t i = 0; i < f->modes.count; i++) ltA_modes_append(sorted, f->modes.items[i]);
  ltA_sort_modes(sorted);
}

/*
** Offsets that a swizzle permutes among themselves: it turns bits of z alone, so that it keeps
** aligned blocks of this many together.
*/
static int64_t block_of(const ltA_function *f) {
  return f->swizzle.bits == 0 ? 1 : (int64_t)1 << (64 - __builtin_clzll(f->swizzle.z));
}

/* Modes that these questions can be asked of: integer strides, and a span within 64 bits. */
static bool has_sets(const ltA_function *f, int64_t *span) {
  return !f->is_general && f->outer == NULL && ltA_function_span(f, span) && *span < INT64_MAX;
}

/* ---- Surjective ----------------------------------------------------------------------------- */

/* Whether start + modes(i), moved by 'shift', has all of 0 to n - 1. */
static ltA_answer do_modes_cover(lt_arena *arena, const ltA_function *f, int64_t shift, int64_t n) {
  int64_t lowest = f->lowest + shift, highest = f->highest + shift;
  if (lowest > 0 || highest < n - 1) return LTA_NO;
  ltA_modes sorted;
  bool whole;
  sort_modes_of(arena, f, &sorted);
  if (ltA_failed(arena)) return LTA_UNKNOWN;
  int64_t covered = covered_prefix(&sorted, &whole);
  if (whole || covered - n >= -lowest) return LTA_YES;
  return lowest == 0 ? LTA_NO : LTA_UNKNOWN;
}

static ltA_answer does_swizzle_cover(lt_arena *arena, const ltA_function *f, int64_t n) {
  int64_t block = block_of(f), beyond;
  if (f->shift != 0) return LTA_UNKNOWN;
  int64_t below = n - n % block;
  if (below == n) return do_modes_cover(arena, f, 0, n);
  if (below > 0 && do_modes_cover(arena, f, 0, below) == LTA_NO) return LTA_NO;
  if (__builtin_add_overflow(below, block, &beyond)) return LTA_UNKNOWN;
  return do_modes_cover(arena, f, 0, beyond) == LTA_YES ? LTA_YES : LTA_UNKNOWN;
}

static bool has_first(const int64_t *offsets, size_t count, int64_t n) {
  int64_t next = 0;
  for (size_t i = 0; i < count && next < n; i++) next += offsets[i] == next;
  return next == n;
}

static bool is_surjective(lt_arena *arena, const char *operation, const ltA_function *f,
                          int64_t n) {
  int64_t span;
  if (n == 0) return true;
  if (f->size < n) return false;
  ltA_answer answer = LTA_UNKNOWN;
  if (has_sets(f, &span))
    answer = f->swizzle.bits == 0 ? do_modes_cover(arena, f, f->shift, n)
                                  : does_swizzle_cover(arena, f, n);
  if (answer != LTA_UNKNOWN || ltA_failed(arena)) return answer == LTA_YES;
  const int64_t *offsets = ltA_sorted_offsets(arena, operation, f);
  return offsets != NULL && has_first(offsets, (size_t)f->size, n);
}

bool lt_is_surjective(lt_arena *arena, const lt_value *layout, const lt_value *n) {
  ltA_function f;
  ltA_mark mark = ltA_get_mark(arena);
  if (!ltA_function_of(arena, "is_surjective", layout, &f)) return false;
  if (n == NULL) n = lt_cosize(arena, layout);
  if (n == NULL) return false;
  if (!ltA_is_integer(n) || n->value < 0) {
    ltA_fail(arena, LT_INVALID, "is_surjective: %v is no count of offsets", n);
    return false;
  }
  bool surjective = is_surjective(arena, "is_surjective", &f, n->value) && !ltA_failed(arena);
  ltA_release(arena, mark);
  return surjective;
}

/* As many offsets as indices, all below the size: then each is there once. */
bool lt_is_bijective(lt_arena *arena, const lt_value *layout) {
  ltA_function f;
  ltA_mark mark = ltA_get_mark(arena);
  if (!ltA_function_of(arena, "is_bijective", layout, &f)) return false;
  bool bijective = is_surjective(arena, "is_bijective", &f, f.size) && !ltA_failed(arena);
  ltA_release(arena, mark);
  return bijective;
}

/* ---- Contiguous ----------------------------------------------------------------------------- */

static ltA_answer do_modes_have_no_gap(lt_arena *arena, const ltA_function *f) {
  ltA_modes sorted;
  bool whole;
  sort_modes_of(arena, f, &sorted);
  if (ltA_failed(arena)) return LTA_UNKNOWN;
  covered_prefix(&sorted, &whole);
  if (f->swizzle.bits == 0) return whole ? LTA_YES : LTA_NO;
  int64_t block = block_of(f);
  bool is_aligned = (f->lowest & (block - 1)) == 0 && (f->highest & (block - 1)) == block - 1;
  return whole && is_aligned ? LTA_YES : LTA_UNKNOWN;
}

static bool is_contiguous(lt_arena *arena, const ltA_function *f) {
  int64_t span;
  if (f->size <= 1) return true;
  ltA_answer answer = has_sets(f, &span) ? do_modes_have_no_gap(arena, f) : LTA_UNKNOWN;
  if (answer != LTA_UNKNOWN || ltA_failed(arena)) return answer == LTA_YES;
  const int64_t *offsets = ltA_sorted_offsets(arena, "is_contiguous", f);
  for (int64_t i = 1; offsets != NULL && i < f->size; i++)
    if ((uint64_t)offsets[i] - (uint64_t)offsets[i - 1] > 1) return false;
  return true;
}

bool lt_is_contiguous(lt_arena *arena, const lt_value *layout) {
  ltA_function f;
  ltA_mark mark = ltA_get_mark(arena);
  if (!ltA_function_of(arena, "is_contiguous", layout, &f)) return false;
  bool contiguous = is_contiguous(arena, &f) && !ltA_failed(arena);
  ltA_release(arena, mark);
  return contiguous;
}

/* ---- The image ------------------------------------------------------------------------------ */

typedef struct image {
  int64_t start;
  ltA_modes modes; /* each offset once, in ascending order */
} image;

/* Steps of a mode that fill up, or overlap, those of the mode before it make it longer. */
static void lengthen(ltA_modes *modes, ltA_mode mode) {
  ltA_mode *last = modes->count > 0 ? &modes->items[modes->count - 1] : NULL;
  int64_t stride = mode.stride.value;
  if (last == NULL || stride % last->stride.value != 0 ||
      stride / last->stride.value > last->shape.value) {
    ltA_modes_append(modes, mode);
    return;
  }
  last->shape.value += (mode.shape.value - 1) * (stride / last->stride.value);
}

/* By the modes; false where they overlap in other ways. */
static bool image_of_modes(lt_arena *arena, const ltA_function *f, image *r) {
  ltA_modes sorted;
  sort_modes_of(arena, f, &sorted);
  for (size_t i = 0; i < sorted.count && !ltA_failed(arena); i++) {
    ltA_mode mode = sorted.items[i];
    if (mode.stride.value < 0) mode.stride.value = -mode.stride.value;
    if (mode.stride.value != 0) lengthen(&r->modes, mode);
  }
  int64_t reach = 0;
  for (size_t i = 0; i < r->modes.count; i++) {
    if (r->modes.items[i].stride.value <= reach) return false;
    reach += (r->modes.items[i].shape.value - 1) * r->modes.items[i].stride.value;
  }
  r->start = f->lowest + f->shift;
  return !ltA_failed(arena);
}

static bool image_by_algebra(lt_arena *arena, const ltA_function *f, image *r) {
  int64_t span;
  ltA_modes_begin(&r->modes, arena);
  if (f->size == 0 || !has_sets(f, &span)) return false;
  if (f->swizzle.bits == 0) return image_of_modes(arena, f, r);
  if (do_modes_have_no_gap(arena, f) != LTA_YES) return false;
  r->start = f->lowest + f->shift;
  ltA_modes_append(&r->modes, (ltA_mode){ltA_static(span + 1), ltA_static(1), NULL});
  return true;
}

static bool is_image(const image *r, const int64_t *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint64_t offset = (uint64_t)r->start;
    if (r->modes.count > 0) offset += ltA_modes_evaluate(&r->modes, (int64_t)i, NULL);
    if (offset != (uint64_t)offsets[i]) return false;
  }
  return true;
}

/*
** The one candidate: its first stride is the first difference, its first extent how long that
** lasts, and what is left is the same question for every so many-th offset.
*/
static bool find_modes(image *r, const int64_t *offsets, size_t count) {
  size_t step = 1;
  r->start = offsets[0];
  for (size_t rest = count; rest > 1;) {
    uint64_t first = (uint64_t)offsets[0], stride = (uint64_t)offsets[step] - first;
    size_t run = 2;
    while (run < rest && (uint64_t)offsets[run * step] == first + run * stride) run++;
    if (rest % run != 0 || stride > INT64_MAX) return false;
    ltA_modes_append(&r->modes,
                     (ltA_mode){ltA_static((int64_t)run), ltA_static((int64_t)stride), NULL});
    rest /= run;
    step *= run;
  }
  return is_image(r, offsets, count);
}

static const lt_value *image_layout(lt_arena *arena, const image *r) {
  const lt_value *layout = r->modes.count > 0 ? ltA_modes_to_layout(&r->modes)
                                              : ltA_pair(arena, lt_integer(arena, 1), ltA_zero());
  if (layout == NULL || r->start == 0) return layout;
  return lt_make_counting_tensor(arena, lt_integer(arena, r->start), layout);
}

const lt_value *lt_image_layout(lt_arena *arena, const lt_value *layout) {
  ltA_function f;
  image r;
  ltA_mark mark = ltA_get_mark(arena);
  if (!ltA_function_of(arena, "image_layout", layout, &f)) return NULL;
  if (!lt_is_static(layout))
    return ltA_fail(
        arena, LT_INVALID,
        "image_layout: %v has dynamic integers, and the modes of its image would depend "
        "on their values; image lists its offsets",
        layout);
  if (f.size == 0) return ltA_pair(arena, lt_integer(arena, 0), lt_integer(arena, 1));
  if (image_by_algebra(arena, &f, &r)) return ltA_keep(arena, mark, image_layout(arena, &r));
  int64_t *offsets = ltA_sorted_offsets(arena, "image_layout", &f);
  if (offsets == NULL) return NULL;
  ltA_modes_begin(&r.modes, arena);
  size_t count = ltA_drop_repeats(offsets, (size_t)f.size);
  if (find_modes(&r, offsets, count)) return ltA_keep(arena, mark, image_layout(arena, &r));
  return ltA_fail(arena, LT_INVALID,
                  "image_layout: no layout has the offsets of %v, each once and in ascending order",
                  layout);
}

/* Of a layout whose offsets are in order: all of them. */
static int64_t *list_offsets(lt_arena *arena, const image *r, size_t *count) {
  int64_t size = 1;
  for (size_t i = 0; i < r->modes.count; i++) size *= r->modes.items[i].shape.value;
  int64_t *offsets = ltA_new_bytes(arena, (size_t)size * sizeof *offsets);
  const lt_value *layout = image_layout(arena, r);
  if (offsets == NULL || layout == NULL || !lt_offsets(layout, offsets)) return NULL;
  *count = (size_t)size;
  return offsets;
}

static bool is_small(const image *r) {
  int64_t size = 1;
  for (size_t i = 0; i < r->modes.count; i++)
    if (__builtin_mul_overflow(size, r->modes.items[i].shape.value, &size)) return false;
  return size <= LT_MAX_EVALUATION;
}

const int64_t *lt_image(lt_arena *arena, const lt_value *layout, size_t *count) {
  ltA_function f;
  image r;
  *count = 0;
  if (!ltA_function_of(arena, "image", layout, &f)) return NULL;
  if (image_by_algebra(arena, &f, &r) && is_small(&r)) return list_offsets(arena, &r, count);
  int64_t *offsets = ltA_sorted_offsets(arena, "image", &f);
  if (offsets != NULL) *count = ltA_drop_repeats(offsets, (size_t)f.size);
  return offsets;
}
