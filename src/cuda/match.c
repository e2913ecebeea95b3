/*
** What a kernel sees of a layout: its text without the dynamic numbers, and those numbers.
*/
#include "algebra/composed.h"
#include "lutile_cuda.h"

const lt_value *lt_cuda_emitted_form(lt_arena *arena, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  if (layout->kind == LT_COMPOSED && ltA_offset(layout)->kind == LT_SMEM)
    return lt_as_position_independent_swizzle(arena, layout);
  return layout;
}

static bool is_dynamic(const lt_value *node) { return node->promise > 0; }

size_t lt_cuda_count_dynamic(const lt_value *layout) {
  size_t n = 0;
  for (const lt_value *node = layout; node < ltA_next(layout); node++) n += is_dynamic(node);
  return n;
}

/* ---- Text ----------------------------------------------------------------------------------- */

/* Drops the digits that follow a '?': those are the numbers of dynamic integers. */
static size_t blank(const char *text, size_t length, char *buffer, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < length; i++) {
    if (used + 1 < size) buffer[used] = text[i];
    used++;
    if (text[i] != '?') continue;
    if (i + 1 < length && text[i + 1] == '-') i++;
    while (i + 1 < length && text[i + 1] >= '0' && text[i + 1] <= '9') i++;
  }
  if (size > 0) buffer[used < size ? used : size - 1] = '\0';
  return used;
}

/* The text is written to the buffer first; dropping digits only moves it to the left. */
size_t lt_cuda_blank_text(const lt_value *v, char *buffer, size_t size) {
  size_t length = lt_to_string(v, buffer, size);
  if (length >= size) return length;
  return blank(buffer, length, buffer, size);
}

static const char *blanked(lt_arena *arena, const lt_value *v) {
  size_t size = lt_to_string(v, NULL, 0) + 1;
  char *text = ltA_new_bytes(arena, size);
  if (text == NULL) return "";
  lt_cuda_blank_text(v, text, size);
  return text;
}

/* ---- Matching ------------------------------------------------------------------------------- */

static bool refuse(lt_arena *arena, const char *what, const lt_value *pattern, const lt_value *v) {
  ltA_fail(arena, LT_INVALID, "%s: %v does not fit %s, which the kernel was compiled for", what, v,
           blanked(arena, pattern));
  return false;
}

bool lt_cuda_match(lt_arena *arena, const char *what, const lt_value *pattern, const lt_value *v,
                   int64_t *values) {
  if (ltA_failed(arena)) return false;
  if (pattern->length != v->length) return refuse(arena, what, pattern, v);
  for (size_t i = 0; i < pattern->length; i++) {
    const lt_value *p = pattern + i, *x = v + i;
    if (p->kind != x->kind || p->length != x->length) return refuse(arena, what, pattern, v);
    if (!is_dynamic(p)) {
      if (p->value != x->value) return refuse(arena, what, pattern, v);
      continue;
    }
    if (x->value % p->promise != 0) {
      ltA_fail(arena, LT_INVALID, "%s: %I in %v is no multiple of %I, as %s promises", what,
               x->value, v, p->promise, blanked(arena, pattern));
      return false;
    }
    *values++ = x->value;
  }
  return true;
}

/* ---- Widths --------------------------------------------------------------------------------- */

/* Whether (shape - 1) * |stride| of all leaves, added to 'sum', stays within 31 bits. */
static bool add_span(const lt_value *shape, const lt_value *stride, int64_t *sum) {
  if (ltA_is_tuple(shape)) {
    const lt_value *d = ltA_first(stride);
    for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
      if (!add_span(s, d, sum)) return false;
      d = ltA_next(d);
    }
    return true;
  }
  int64_t span;
  if (shape->value > INT32_MAX || stride->value > INT32_MAX || stride->value < -INT32_MAX)
    return false;
  span = (shape->value - 1) * stride->value;
  *sum += span < 0 ? -span : span;
  return *sum <= INT32_MAX;
}

static bool add_offset(const lt_value *offset, int64_t *sum) {
  for (const lt_value *node = offset; node < ltA_next(offset); node++) {
    if (!ltA_is_integer(node)) continue;
    if (node->value > INT32_MAX || node->value < -INT32_MAX) return false;
    *sum += node->value < 0 ? -node->value : node->value;
  }
  return *sum <= INT32_MAX;
}

/* A layout as A may map anywhere. */
static bool add_composed(const lt_value *composed, int64_t *sum) {
  const lt_value *a = ltA_layout_a(composed);
  if (a->kind != LT_SWIZZLE) return false;
  ltA_swizzle s = ltA_unpack_swizzle(a);
  return s.y <= INT32_MAX && s.z <= INT32_MAX && add_offset(ltA_offset(composed), sum);
}

bool lt_cuda_fits_32_bits(const lt_value *layout) {
  const lt_value *v = layout;
  int64_t sum = 0;
  if (v->kind == LT_TENSOR) {
    if (!add_offset(ltA_first(v), &sum)) return false;
    v = ltA_tensor_layout(v);
  }
  if (v->kind == LT_COMPOSED) {
    if (!add_composed(v, &sum)) return false;
    v = ltA_layout_b(v);
  }
  int64_t size = 1;
  if (v->kind != LT_LAYOUT || !add_span(ltA_shape(v), ltA_stride(v), &sum)) return false;
  for (const lt_value *node = ltA_shape(v); node < ltA_stride(v); node++)
    if (ltA_is_integer(node) &&
        (__builtin_mul_overflow(size, node->value, &size) || size > INT32_MAX))
      return false;
  return true;
}

/* ---- Reach ---------------------------------------------------------------------------------- */

/* Shape and stride are congruent: their nodes are in the same places. */
bool lt_cuda_reach(const lt_value *layout, int64_t *least, int64_t *largest) {
  *least = *largest = 0;
  if (layout->kind != LT_LAYOUT) return false;
  const lt_value *shape = ltA_shape(layout), *stride = ltA_stride(layout);
  if (shape->length != stride->length) return false; /* coordinates */
  bool is_empty = false;
  for (uint32_t i = 0; i < shape->length; i++) {
    int64_t span, *end = stride[i].value < 0 ? least : largest;
    if (ltA_is_tuple(shape + i)) continue;
    is_empty = is_empty || shape[i].value == 0;
    if (__builtin_mul_overflow(shape[i].value - 1, stride[i].value, &span) ||
        __builtin_add_overflow(*end, span, end))
      return false;
  }
  return !is_empty;
}
