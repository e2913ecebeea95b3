/*
** Walking a layout: the offsets of a tensor's elements in order, by an odometer over merged modes.
*/
#include "tensor.h"

/* One wheel of the odometer. */
enum { SHAPE, STRIDE, INDEX, FIELDS };

int64_t ltT_capacity(const lt_tensor *t) {
  size_t bits = (size_t)ltT_type_of(t->element)->bits, size = t->buffer->size;
  return (int64_t)(size / bits * 8 + size % bits * 8 / bits);
}

int64_t ltT_size(lt_arena *arena, const lt_tensor *t) {
  return ltA_product(arena, ltA_shape_of(t->layout)).value;
}

/* The plain layout inside: B of a composed one. */
static const lt_value *plain_part(const lt_value *layout) {
  return ltA_is_composed(layout) ? ltA_layout_b(layout) : layout;
}

bool ltT_check_layout(lt_arena *arena, const char *operation, const lt_value *layout) {
  if (ltA_failed(arena)) return false;
  const lt_value *plain = plain_part(layout);
  if (!ltA_is_layout(plain)) {
    ltA_fail(arena, LT_INVALID, "%s: %v is no layout of memory", operation, layout);
    return false;
  }
  for (const lt_value *node = ltA_stride(plain); node < ltA_next(plain); node++) {
    if (node->kind != LT_BASIS) continue;
    ltA_fail(arena, LT_INVALID,
             "%s: %v gives coordinates: a tensor over memory needs integer strides", operation,
             layout);
    return false;
  }
  return true;
}

/* ---- The odometer --------------------------------------------------------------------------- */

/* Elements that a walk may span, so that its sums and bit addresses cannot overflow. */
#define MAX_REACH ((int64_t)1 << 52)

static void add_reach(ltT_walk *w, int64_t shape, int64_t stride) {
  int64_t step;
  bool fits = !__builtin_mul_overflow(shape, stride, &step) && step > -MAX_REACH &&
              step < MAX_REACH && w->reach < MAX_REACH;
  w->reach = fits ? w->reach + (step < 0 ? -step : step) : MAX_REACH;
}

/*
** Appends a mode, or widens the last one where the two are one run of equal steps. Modes of
** extent 1 do not move.
*/
static void append_mode(ltT_walk *w, int64_t shape, int64_t stride) {
  add_reach(w, shape, stride);
  if (shape == 1 || w->reach >= MAX_REACH) return;
  int64_t *last = w->modes + FIELDS * w->count - FIELDS;
  if (w->count > 0 && last[SHAPE] * last[STRIDE] == stride) {
    last[SHAPE] *= shape; /* at most the size of the layout */
    return;
  }
  int64_t *mode = w->modes + FIELDS * w->count++;
  mode[SHAPE] = shape;
  mode[STRIDE] = stride;
  mode[INDEX] = 0;
}

/* Shape and stride are congruent, so their leaves come in the same order. */
static void append_modes(ltT_walk *w, const lt_value *layout) {
  const lt_value *shape = ltA_shape(layout), *stride = ltA_stride(layout);
  const lt_value *end = ltA_next(shape);
  for (; shape < end; shape++, stride++)
    if (ltA_is_integer(shape)) append_mode(w, shape->value, stride->value);
}

static bool begin_composed(ltT_walk *w, const lt_value *layout) {
  const lt_value *offset = ltA_offset(layout);
  w->outer = ltA_layout_a(layout);
  if (offset->kind == LT_SMEM)
    w->element_bits = (int)offset->value;
  else if (ltA_is_integer(offset))
    w->inner_offset = offset->value;
  else
    return ltA_fail(w->arena, LT_INVALID, "tensor: %v has no offset in memory", layout) != NULL;
  if (ltA_is_swizzle(w->outer)) w->swizzle = ltA_unpack_swizzle(w->outer);
  return true;
}

bool ltT_begin_walk(ltT_walk *w, lt_arena *arena, const lt_tensor *t) {
  *w = (ltT_walk){.arena = arena, .tensor = t};
  if (!ltT_check_layout(arena, "tensor", t->layout)) return false;
  const lt_value *plain = plain_part(t->layout);
  w->size = w->left = ltT_size(arena, t);
  w->modes = ltA_new_bytes(arena, ltA_count_leaves(ltA_shape(plain)) * FIELDS * sizeof(int64_t));
  if (ltA_failed(arena)) return false;
  append_modes(w, plain);
  if (ltA_is_composed(t->layout) && !begin_composed(w, t->layout)) return false;
  add_reach(w, 1, t->offset);
  add_reach(w, 1, w->inner_offset);
  if (w->reach < MAX_REACH) return true;
  ltA_fail(arena, LT_OVERFLOW, "tensor: %I o %v spans more than 2^52 elements", t->offset,
           t->layout);
  return false;
}

bool ltT_is_run(const ltT_walk *w) {
  return w->outer == NULL && (w->count == 0 || (w->count == 1 && w->modes[STRIDE] == 1));
}

/* Moves to the next coordinate past the first mode. */
static void carry(ltT_walk *w) {
  for (size_t i = 1; i < w->count; i++) {
    int64_t *mode = w->modes + FIELDS * i;
    w->raw += mode[STRIDE];
    if (++mode[INDEX] < mode[SHAPE]) return;
    w->raw -= mode[STRIDE] * mode[SHAPE];
    mode[INDEX] = 0;
  }
}

/* One run of the first mode, at most 'n' offsets of it. */
static size_t next_run(ltT_walk *w, int64_t *offsets, size_t n) {
  if (w->count == 0) {
    offsets[0] = w->raw;
    return 1;
  }
  int64_t *first = w->modes, run = first[SHAPE] - first[INDEX];
  if (run > (int64_t)n) run = (int64_t)n;
  int64_t raw = w->raw, stride = first[STRIDE];
  for (int64_t i = 0; i < run; i++) offsets[i] = raw + i * stride;
  w->raw += run * stride;
  first[INDEX] += run;
  if (first[INDEX] == first[SHAPE]) {
    w->raw -= first[SHAPE] * stride;
    first[INDEX] = 0;
    carry(w);
  }
  return (size_t)run;
}

/* ---- Composed layouts ----------------------------------------------------------------------- */

/* The swizzle acts on the byte address of the element; bits below a byte stay. */
static int64_t swizzle_address(const ltT_walk *w, int64_t element) {
  int64_t bit = element * w->element_bits;
  int64_t byte = ltA_swizzle_index(w->swizzle, bit >> 3);
  return (byte * 8 + (bit & 7)) / w->element_bits;
}

/* A(x) for an A that is no swizzle. */
static int64_t apply_outer(const ltT_walk *w, int64_t x) {
  ltA_mark mark = ltA_get_mark(w->arena);
  lt_value index = {x, 0, 1, LT_INTEGER};
  const lt_value *y = lt_apply(w->arena, w->outer, &index);
  int64_t result = y != NULL && ltA_is_integer(y) ? y->value : 0;
  ltA_release(w->arena, mark);
  return result;
}

static void compose_offsets(const ltT_walk *w, int64_t *offsets, size_t n) {
  int64_t base = w->tensor->offset;
  for (size_t i = 0; i < n; i++) {
    if (w->element_bits != 0)
      offsets[i] = swizzle_address(w, base + offsets[i]);
    else if (ltA_is_swizzle(w->outer))
      offsets[i] = base + ltA_swizzle_index(w->swizzle, w->inner_offset + offsets[i]);
    else
      offsets[i] = base + apply_outer(w, w->inner_offset + offsets[i]);
  }
}

size_t ltT_next_offsets(ltT_walk *w, int64_t *offsets, size_t n) {
  if (w->left < (int64_t)n) n = (size_t)w->left;
  for (size_t done = 0; done < n;) done += next_run(w, offsets + done, n - done);
  w->left -= (int64_t)n;
  if (w->outer != NULL)
    compose_offsets(w, offsets, n);
  else
    for (size_t i = 0; i < n; i++) offsets[i] += w->tensor->offset;
  return n;
}

/* ---- Checked accesses ----------------------------------------------------------------------- */

bool ltT_next_checked(ltT_walk *w, const char *operation, lt_tensor *t, int64_t *offsets, size_t *n,
                      ltT_access access) {
  int64_t first = w->size - w->left;
  *n = ltT_next_offsets(w, offsets, *n);
  return !ltA_failed(w->arena) &&
         ltT_access_elements(w->arena, operation, t, offsets, *n, first, access);
}

const int64_t *ltT_offsets(lt_arena *arena, const char *operation, lt_tensor *t, int64_t *n,
                           ltT_access access) {
  ltT_walk w;
  if (!ltT_begin_walk(&w, arena, t)) return NULL;
  *n = w.left;
  if (*n > INT32_MAX) return ltA_fail(arena, LT_LIMIT, "%s: %v is too large", operation, t->layout);
  int64_t *offsets = ltA_new_bytes(arena, (size_t)*n * sizeof *offsets);
  if (offsets == NULL) return NULL;
  size_t count = (size_t)*n;
  return ltT_next_checked(&w, operation, t, offsets, &count, access) ? offsets : NULL;
}

/* Least and largest offset of a plain layout: each mode's far end pulls one of them. */
static void bound_plain(const ltT_walk *w, int64_t *least, int64_t *largest) {
  for (size_t i = 0; i < w->count; i++) {
    const int64_t *mode = w->modes + FIELDS * i;
    int64_t *end = mode[STRIDE] < 0 ? least : largest;
    *end += (mode[SHAPE] - 1) * mode[STRIDE];
  }
}

static void bound_composed(ltT_walk *w, int64_t *least, int64_t *largest) {
  int64_t offsets[LTT_CHUNK];
  for (size_t n; (n = ltT_next_offsets(w, offsets, LTT_CHUNK)) > 0;) {
    for (size_t i = 0; i < n; i++) {
      if (offsets[i] > *largest) *largest = offsets[i];
      if (offsets[i] < *least) *least = offsets[i];
    }
  }
}

int64_t ltT_extent(lt_arena *arena, const char *operation, const lt_value *layout) {
  ltT_buffer nothing = {0};
  lt_tensor t = {.element = LT_U8, .layout = layout, .buffer = &nothing, .name = ""};
  ltT_walk w;
  if (!ltT_check_layout(arena, operation, layout) || !ltT_begin_walk(&w, arena, &t)) return 0;
  if (w.left == 0) return 0;
  if (w.left > MAX_REACH >> 12) {
    ltA_fail(arena, LT_LIMIT, "%s: %v has %I elements, too many for memory", operation, layout,
             w.left);
    return 0;
  }
  int64_t largest = 0, least = 0;
  if (w.outer == NULL)
    bound_plain(&w, &least, &largest);
  else
    bound_composed(&w, &least, &largest);
  if (least < 0)
    ltA_fail(arena, LT_INVALID, "%s: %v reaches offset %I, before the start of its memory",
             operation, layout, least);
  return largest + 1;
}

/* ---- One element ---------------------------------------------------------------------------- */

/* Whether each part of the coordinate lies within the part of the shape that it indexes. */
static bool is_inside(lt_arena *arena, const lt_value *coordinate, const lt_value *shape) {
  if (ltA_is_integer(coordinate))
    return coordinate->value >= 0 && coordinate->value < ltA_product(arena, shape).value;
  if (!ltA_is_tuple(coordinate) || ltA_rank(coordinate) != ltA_rank(shape)) return false;
  if (!ltA_is_tuple(shape)) return is_inside(arena, ltA_first(coordinate), shape);
  for (size_t i = 0; i < ltA_rank(shape); i++)
    if (!is_inside(arena, ltA_element(coordinate, i), ltA_element(shape, i))) return false;
  return true;
}

/* The offset within a composed layout of the shared memory form. */
static int64_t locate_in_shared(lt_arena *arena, const lt_tensor *t, const lt_value *coordinate) {
  const lt_value *plain = lt_apply(arena, ltA_layout_b(t->layout), coordinate);
  ltT_walk w = {.arena = arena, .tensor = t};
  if (plain == NULL || !begin_composed(&w, t->layout)) return 0;
  return swizzle_address(&w, t->offset + plain->value);
}

bool ltT_locate(lt_arena *arena, const char *operation, lt_tensor *t, const lt_value *coordinate,
                ltT_access access, int64_t *offset) {
  const lt_value *shape = ltA_shape_of(t->layout);
  const char *open = ltA_is_tuple(coordinate) ? "" : "(", *close = *open == '\0' ? "" : ")";
  if (ltA_failed(arena)) return false;
  if (!is_inside(arena, coordinate, shape)) {
    ltA_fail(arena, LT_INVALID, "%s: %s%s%v%s is outside its shape %v", operation, t->name, open,
             coordinate, close, shape);
    return false;
  }
  if (ltA_is_composed(t->layout) && ltA_offset(t->layout)->kind == LT_SMEM) {
    *offset = locate_in_shared(arena, t, coordinate);
  } else {
    const lt_value *index = lt_apply(arena, t->layout, coordinate);
    if (index == NULL) return false;
    if (!ltA_is_integer(index) || __builtin_add_overflow(t->offset, index->value, offset))
      *offset = -1;
  }
  if (ltA_failed(arena)) return false;
  bool is_watched = t->buffer->shadow != NULL || t->counter != NULL;
  if (!is_watched && *offset >= 0 && *offset < ltT_capacity(t)) return true;
  const lt_value *linear = lt_crd2idx(arena, coordinate, shape, NULL);
  return linear != NULL && ltT_access_element(arena, operation, t, linear->value, *offset, access);
}
