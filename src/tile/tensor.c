/*
** What is done to all elements of tensors: fill, copy, axpby. Elements are handled in chunks, first
** mode fastest, each checked against its buffer.
*/
#include "tensor.h"

/* A tensor being walked, and the offsets of the chunk at hand. */
typedef struct cursor {
  lt_tensor *tensor;
  ltT_access access;
  ltT_walk walk;
  int64_t offsets[LTT_CHUNK];
} cursor;

static bool begin(cursor *c, lt_arena *arena, lt_tensor *t, ltT_access access) {
  c->tensor = t;
  c->access = access;
  t->fault.kind = LT_NO_FAULT;
  return ltT_begin_walk(&c->walk, arena, t);
}

/* The next chunk; 0 at the end and after an error. */
static size_t next(cursor *c, const char *operation) {
  size_t n = LTT_CHUNK;
  return ltT_next_checked(&c->walk, operation, c->tensor, c->offsets, &n, c->access) ? n : 0;
}

static void load(const cursor *c, size_t n, lt_number *out) {
  const lt_tensor *t = c->tensor;
  for (size_t i = 0; i < n; i++) out[i] = ltT_load(t->element, t->buffer->bytes, c->offsets[i]);
}

static void store(const cursor *c, size_t n, const lt_number *in) {
  lt_tensor *t = c->tensor;
  for (size_t i = 0; i < n; i++) ltT_store(t->element, t->buffer->bytes, c->offsets[i], in[i]);
}

bool ltT_check_sizes(lt_arena *arena, const char *operation, const lt_tensor *x,
                     const lt_tensor *y) {
  int64_t n = ltT_size(arena, x), m = ltT_size(arena, y);
  if (ltA_failed(arena)) return false;
  if (n == m) return true;
  ltA_fail(arena, LT_INVALID, "%s: %s has %I elements (%v), %s has %I (%v)", operation, x->name, n,
           ltA_shape_of(x->layout), y->name, m, ltA_shape_of(y->layout));
  return false;
}

bool ltT_fill(lt_arena *arena, const char *operation, lt_tensor *t, lt_number x) {
  cursor c;
  if (!begin(&c, arena, t, LT_WRITE)) return false;
  lt_number values[LTT_CHUNK];
  for (size_t i = 0; i < LTT_CHUNK; i++) values[i] = x;
  for (size_t n; (n = next(&c, operation)) > 0;) store(&c, n, values);
  return !ltA_failed(arena);
}

/* ---- Copies --------------------------------------------------------------------------------- */

static void copy_bytes(const cursor *from, const cursor *to, size_t n, size_t width) {
  const uint8_t *source = from->tensor->buffer->bytes;
  uint8_t *target = to->tensor->buffer->bytes;
  for (size_t i = 0; i < n; i++)
    memmove(target + (size_t)to->offsets[i] * width, source + (size_t)from->offsets[i] * width,
            width);
}

/* Elements of one type move bit for bit: a NaN keeps its payload. */
static void copy_chunk(const cursor *from, const cursor *to, size_t n) {
  int bits = ltT_type_of(from->tensor->element)->bits;
  if (from->tensor->element == to->tensor->element && bits % 8 == 0) {
    copy_bytes(from, to, n, (size_t)bits / 8);
    return;
  }
  lt_number values[LTT_CHUNK];
  load(from, n, values);
  store(to, n, values);
}

/*
** Elements that CuTe's plain copy moves at once: those contiguous in both layouts, where both are
** static; memory of static layouts counts as aligned.
*/
static void find_vector(lt_arena *arena, lt_tensor *source, lt_tensor *target) {
  bool is_counted = source->counter != NULL || target->counter != NULL;
  if (!is_counted || source->element != target->element) return;
  if (!lt_is_static(source->layout) || !lt_is_static(target->layout)) return;
  const lt_value *common = lt_max_common_vector(arena, source->layout, target->layout);
  if (common == NULL) return;
  source->vector = target->vector = common->value > 128 ? 128 : (int)common->value;
}

static bool copy_all(lt_arena *arena, const char *operation, cursor *from, cursor *to) {
  for (size_t n; (n = next(from, operation)) > 0;) {
    if (next(to, operation) == 0) break;
    copy_chunk(from, to, n);
  }
  return !ltA_failed(arena);
}

/* Offsets of a chunk that the predicate leaves out are not looked at: they may lie outside. */
static size_t next_selected(cursor *c, const char *operation, const lt_number *predicate) {
  int64_t first = c->walk.size - c->walk.left;
  size_t n = ltT_next_offsets(&c->walk, c->offsets, LTT_CHUNK), kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (predicate[i].re == 0) continue;
    if (!ltT_access_element(c->walk.arena, operation, c->tensor, first + (int64_t)i, c->offsets[i],
                            c->access))
      return 0;
    c->offsets[kept++] = c->offsets[i];
  }
  return kept;
}

static bool copy_selected(lt_arena *arena, const char *operation, cursor *predicate, cursor *from,
                          cursor *to) {
  lt_number chosen[LTT_CHUNK];
  for (size_t n; (n = next(predicate, operation)) > 0;) {
    load(predicate, n, chosen);
    size_t kept = next_selected(from, operation, chosen);
    if (ltA_failed(arena)) return false;
    next_selected(to, operation, chosen);
    if (ltA_failed(arena)) return false;
    copy_chunk(from, to, kept);
  }
  return !ltA_failed(arena);
}

bool ltT_copy(lt_arena *arena, const char *operation, lt_tensor *predicate, lt_tensor *source,
              lt_tensor *target) {
  cursor which, from, to;
  if (!ltT_check_sizes(arena, operation, source, target)) return false;
  if (!begin(&from, arena, source, LT_READ) || !begin(&to, arena, target, LT_WRITE)) return false;
  if (predicate == NULL) {
    find_vector(arena, source, target);
    return copy_all(arena, operation, &from, &to);
  }
  if (!ltT_check_sizes(arena, operation, predicate, target)) return false;
  return begin(&which, arena, predicate, LT_READ) &&
         copy_selected(arena, operation, &which, &from, &to);
}

/* ---- Arithmetic ----------------------------------------------------------------------------- */

static void scale_and_add(double alpha, const lt_number *x, double beta, lt_number *y, size_t n) {
  for (size_t i = 0; i < n; i++) {
    y[i].re = alpha * x[i].re + (beta == 0 ? 0 : beta * y[i].re);
    y[i].im = alpha * x[i].im + (beta == 0 ? 0 : beta * y[i].im);
  }
}

bool ltT_axpby(lt_arena *arena, double alpha, lt_tensor *x, double beta, lt_tensor *y) {
  cursor from, to;
  if (!ltT_check_sizes(arena, "axpby", x, y)) return false;
  if (!begin(&from, arena, x, LT_READ)) return false;
  if (!begin(&to, arena, y, beta == 0 ? LT_WRITE : LT_READ)) return false;
  lt_number values[LTT_CHUNK], sums[LTT_CHUNK];
  for (size_t n; (n = next(&from, "axpby")) > 0;) {
    if (next(&to, "axpby") == 0) break;
    load(&from, n, values);
    if (beta != 0) load(&to, n, sums);
    scale_and_add(alpha, values, beta, sums, n);
    if (beta != 0 && !ltT_access_elements(arena, "axpby", y, to.offsets, n,
                                          to.walk.size - to.walk.left - (int64_t)n, LT_WRITE))
      break;
    store(&to, n, sums);
  }
  return !ltA_failed(arena);
}
