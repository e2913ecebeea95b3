/*
** The fields of TMA descriptors, and the rules that they obey. Source of the rules: CUDA driver API,
** cuTensorMapEncodeTiled; of the steps: CuTe's copy_traits_sm90_tma.hpp.
*/
#include "tma_descriptor.h"

#define MAX_EXTENT ((int64_t)1 << 32)
#define MAX_STRIDE ((int64_t)1 << 40) /* bytes */
#define UNIT 16                       /* bytes of which strides, addresses and rows are multiples */

typedef struct fields {
  const ltT_tma_request *request;
  const lt_value *basis;
  size_t rank;
  lt_int shape[LTT_TMA_RANK], stride[LTT_TMA_RANK]; /* strides in elements */
  int64_t box[LTT_TMA_RANK];
  const lt_value *swizzle;
  int bits; /* of an element */
} fields;

/* ---- Modes of the tensor -------------------------------------------------------------------- */

/* The part of 'tuple' that a basis names. */
static const lt_value *at_basis(const lt_value *basis, const lt_value *tuple) {
  const lt_value *path = ltA_first(basis);
  for (; path < ltA_next(basis) && ltA_is_tuple(tuple); path = ltA_next(path))
    tuple = ltA_element(tuple, (size_t)path->value);
  return tuple;
}

static lt_int extent_at(const fields *f, const lt_value *basis) {
  return ltA_int(at_basis(basis, ltA_shape(f->request->tensor)));
}
static lt_int stride_at(const fields *f, const lt_value *basis) {
  return ltA_int(at_basis(basis, ltA_stride(f->request->tensor)));
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/*
** One more mode of the tensor in dimension 'i': of two strides the dimension has the greatest common
** divisor, and reaches as far as both together.
*/
static void add_mode(lt_arena *arena, fields *f, size_t i, const lt_value *basis) {
  lt_int extent = extent_at(f, basis), step = stride_at(f, basis);
  lt_int old = f->stride[i], one = {1, 0};
  int64_t common = greatest_divisor(old.value, step.value);
  if (common == 0) {
    f->shape[i] = extent;
    return;
  }
  f->stride[i] = (lt_int){common, old.promise != 0 || step.promise != 0 ? 1 : 0};
  lt_int before = ltA_mul(arena, ltA_sub(arena, f->shape[i], one),
                          (lt_int){old.value / common, old.promise != 0});
  lt_int more =
      ltA_mul(arena, ltA_sub(arena, extent, one), (lt_int){step.value / common, step.promise != 0});
  f->shape[i] = ltA_add(arena, ltA_add(arena, before, more), one);
}

static void fill_dimension(lt_arena *arena, fields *f, size_t i) {
  const lt_value *stride = ltA_stride(f->basis);
  const lt_value *bases = f->rank == 1 && !ltA_is_tuple(stride) ? stride : ltA_element(stride, i);
  f->shape[i] = (lt_int){1, 0};
  f->stride[i] = (lt_int){0, 0};
  if (bases->kind == LT_BASIS) {
    f->shape[i] = extent_at(f, bases);
    f->stride[i] = stride_at(f, bases);
    return;
  }
  for (const lt_value *v = bases; v < ltA_next(bases); v++)
    if (v->kind == LT_BASIS) add_mode(arena, f, i, v);
}

/* ---- Rules ---------------------------------------------------------------------------------- */

static const lt_value *mode_of(lt_arena *arena, const fields *f, size_t i) {
  return ltA_mode_of(arena, f->basis, i);
}

/* Elements of dimension 'i' that one step along a mode of the tensor makes. */
static int64_t step_in(const fields *f, size_t i, const lt_value *basis) {
  int64_t stride = f->stride[i].value;
  return stride == 0 ? 1 : stride_at(f, basis).value / stride; /* 0: of one element alone */
}

/*
** Modes that share a dimension must follow on each other within the box: its elements are then the
** dimension's, one after the other.
*/
static bool check_mode(lt_arena *arena, const fields *f, size_t i) {
  const lt_value *mode = lt_flatten(arena, mode_of(arena, f, i));
  if (mode == NULL) return false;
  int64_t reached = 1;
  for (size_t k = 0; k < lt_rank(mode); k++) {
    const lt_value *one = ltA_mode_of(arena, mode, k);
    if (one == NULL) return false;
    int64_t size = ltA_shape(one)->value;
    if (size == 1 || ltA_stride(one)->kind != LT_BASIS) continue;
    if (step_in(f, i, ltA_stride(one)) != reached) {
      ltA_fail(arena, LT_INVALID,
               "make_tma_copy: a box of %v needs more than %d dimensions, which TMA does not have",
               f->request->tensor, LTT_TMA_RANK);
      return false;
    }
    reached *= size;
  }
  return true;
}

static int64_t bytes_of(const fields *f, int64_t elements) { return elements * f->bits / 8; }

static bool is_unit_multiple(const fields *f, int64_t elements) {
  return elements * f->bits % (8 * UNIT) == 0;
}

static bool check_first(lt_arena *arena, const fields *f) {
  if (f->stride[0].value != 1) {
    ltA_fail(arena, LT_INVALID,
             "make_tma_copy: the mode of %v that is contiguous in shared memory %v has stride %I "
             "in global memory, where TMA wants 1",
             f->request->tensor, f->request->smem, f->stride[0].value);
    return false;
  }
  if (is_unit_multiple(f, f->request->offset)) return true;
  ltA_fail(arena, LT_INVALID,
           "make_tma_copy: the tensor starts at element %I, where TMA wants a multiple of %d bytes",
           f->request->offset, UNIT);
  return false;
}

static bool check_dimension(lt_arena *arena, const fields *f, size_t i) {
  int64_t extent = f->shape[i].value, stride = f->stride[i].value;
  if (extent < 1 || extent > MAX_EXTENT) {
    ltA_fail(arena, LT_INVALID,
             "make_tma_copy: dimension %z of %v has extent %I, where TMA has 1 to 2^32", i,
             f->request->tensor, extent);
    return false;
  }
  if (i == 0) return true;
  if (stride == 0 && extent > 1) {
    ltA_fail(arena, LT_INVALID,
             "make_tma_copy: dimension %z of %v has stride 0: TMA does not repeat elements", i,
             f->request->tensor);
    return false;
  }
  bool is_far = stride < 0 || stride > MAX_STRIDE * 8 / f->bits - 1;
  if (!is_far && is_unit_multiple(f, stride)) return true;
  if (is_far)
    ltA_fail(arena, LT_INVALID,
             "make_tma_copy: dimension %z of %v has stride %I, where TMA has 0 to 2^40 bytes", i,
             f->request->tensor, stride);
  else
    ltA_fail(arena, LT_INVALID,
             "make_tma_copy: stride %I of %v is %I bits, where TMA wants a multiple of %d bytes",
             stride, f->request->tensor, stride * f->bits, UNIT);
  return false;
}

static bool check_box(lt_arena *arena, const fields *f) {
  for (size_t i = 0; i < f->rank; i++) {
    if (f->box[i] >= 1 && f->box[i] <= LTT_TMA_BOX_LIMIT) continue;
    ltA_fail(arena, LT_INVALID,
             "make_tma_copy: the box is %I elements in dimension %z, where TMA has 1 to %d",
             f->box[i], i, LTT_TMA_BOX_LIMIT);
    return false;
  }
  if (is_unit_multiple(f, f->box[0])) return true;
  ltA_fail(arena, LT_INVALID,
           "make_tma_copy: rows of the box are %I bits (%I elements of %s), where TMA wants a "
           "multiple of %d bytes",
           f->box[0] * f->bits, f->box[0], ltT_type_of(f->request->atom->element)->name, UNIT);
  return false;
}

/* ---- The swizzle ---------------------------------------------------------------------------- */

static bool fail_swizzle(lt_arena *arena, const fields *f) {
  ltA_fail(
      arena, LT_INVALID,
      "make_tma_copy: TMA has no swizzle %v of %d-bit elements: it has Sw<0,4,3> to Sw<3,4,3>, "
      "Sw<2,5,2> and Sw<2,6,2> on byte addresses",
      ltA_layout_a(f->request->smem), f->bits);
  return false;
}

/* log2 of an element's bytes, negative below one byte. */
static int log2_bytes(int bits) {
  int log = -3;
  while (bits > 1) {
    bits >>= 1;
    log++;
  }
  return log;
}

/* The swizzle of the layout in shared memory, in bytes. */
static bool find_swizzle(lt_arena *arena, fields *f) {
  const lt_value *smem = f->request->smem;
  f->swizzle = lt_swizzle(arena, 0, 4, 3);
  if (ltA_failed(arena) || !ltA_is_composed(smem)) return !ltA_failed(arena);
  const lt_value *a = ltA_layout_a(smem), *offset = ltA_offset(smem);
  if (a->kind != LT_SWIZZLE) return fail_swizzle(arena, f);
  bool in_bytes = offset->kind == LT_SMEM;
  if (!in_bytes && offset->value != 0) return fail_swizzle(arena, f);
  int64_t b = ltA_element(a, 0)->value, s = ltA_element(a, 2)->value;
  int64_t m = ltA_element(a, 1)->value + (in_bytes ? 0 : log2_bytes(f->bits));
  bool is_known = b == 0 || (m == 4 && s == 3 && b >= 1 && b <= 3) ||
                  (m == 5 && s == 2 && b == 2) || (m == 6 && s == 2 && b == 2);
  if (!is_known) return fail_swizzle(arena, f);
  if (b > 0) f->swizzle = lt_swizzle(arena, b, m, s);
  return !ltA_failed(arena);
}

/* Rows of a box lie within the swizzle's: 32, 64 or 128 bytes. */
static bool check_swizzle(lt_arena *arena, const fields *f) {
  ltA_swizzle s = ltA_unpack_swizzle(f->swizzle);
  int64_t span = (int64_t)1 << (s.base + s.bits);
  if (s.bits == 0 || bytes_of(f, f->box[0]) <= span) return true;
  ltA_fail(arena, LT_INVALID,
           "make_tma_copy: rows of the box are %I bytes, where those of %v are %I at most",
           bytes_of(f, f->box[0]), f->swizzle, span);
  return false;
}

/* ---- The descriptor ------------------------------------------------------------------------- */

/* Extents of the box; blocks that share it take their parts of the last dimensions. */
static bool fill_box(lt_arena *arena, fields *f, int64_t blocks) {
  for (size_t i = 0; i < f->rank; i++) {
    const lt_value *mode = mode_of(arena, f, i);
    const lt_value *size = mode == NULL ? NULL : lt_size(arena, mode);
    if (size == NULL) return false;
    f->box[i] = size->value;
  }
  for (size_t i = f->rank; i > 0 && blocks > 1; i--) {
    int64_t extent = f->box[i - 1];
    if (extent % blocks != 0 && blocks % extent != 0) {
      ltA_fail(arena, LT_INVALID,
               "make_tma_copy: %I blocks cannot share %I elements of dimension %z", blocks, extent,
               i - 1);
      return false;
    }
    f->box[i - 1] = extent > blocks ? extent / blocks : 1;
    blocks = extent > blocks ? 1 : blocks / extent;
  }
  return true;
}

static const lt_value *tuple_of(lt_arena *arena, const lt_int *numbers, size_t n) {
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  for (size_t i = 0; i < n; i++) ltA_append_int(&b, numbers[i]);
  ltA_close(&b, open, n);
  return ltA_finish(&b);
}

/* The dimension that a mode of the tensor is in; the rank if in none. */
static size_t dimension_of(const fields *f, const lt_value *basis) {
  const lt_value *stride = ltA_stride(f->basis);
  for (size_t i = 0; i < f->rank; i++) {
    const lt_value *bases = ltA_is_tuple(stride) ? ltA_element(stride, i) : stride;
    for (const lt_value *v = bases; v < ltA_next(bases); v++)
      if (v->kind == LT_BASIS && ltA_equal(v, basis)) return i;
  }
  return f->rank;
}

/* Appends how one step along a mode of the tensor moves the descriptor's coordinate. */
static void append_step(lt_arena *arena, const fields *f, ltA_builder *b, const lt_value *basis) {
  const lt_value *zero = lt_integer(arena, 0);
  size_t i = basis->kind == LT_BASIS ? dimension_of(f, basis) : f->rank;
  if (zero == NULL) return;
  if (i == f->rank) {
    ltA_append(b, zero);
    return;
  }
  const lt_value *scale = lt_integer(arena, step_in(f, i, basis));
  const lt_value *moved = lt_basis(arena, scale, (int64_t[]){(int64_t)i}, 1);
  if (moved != NULL) ltA_append(b, moved);
}

static void append_steps(lt_arena *arena, const fields *f, ltA_builder *b, const lt_value *bases) {
  if (!ltA_is_tuple(bases)) {
    append_step(arena, f, b, bases);
    return;
  }
  size_t open = ltA_open(b, LT_TUPLE), rank = ltA_rank(bases);
  for (size_t i = 0; i < rank; i++) append_steps(arena, f, b, ltA_element(bases, i));
  ltA_close(b, open, rank);
}

/* Strides that take coordinates of the tensor to the descriptor's. */
static const lt_value *coordinate_strides(lt_arena *arena, const fields *f) {
  const lt_value *identity = lt_make_identity_layout(arena, ltA_shape(f->request->tensor));
  if (identity == NULL) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  append_steps(arena, f, &b, ltA_stride(identity));
  return ltA_finish(&b);
}

static const lt_value *finish(lt_arena *arena, const fields *f) {
  lt_int box[LTT_TMA_RANK];
  for (size_t i = 0; i < f->rank; i++) box[i] = (lt_int){f->box[i], 0};
  const lt_value *parts[LT_TMA_PARTS] = {f->basis,
                                         coordinate_strides(arena, f),
                                         tuple_of(arena, f->shape, f->rank),
                                         tuple_of(arena, f->stride, f->rank),
                                         tuple_of(arena, box, f->rank),
                                         f->swizzle};
  return ltA_failed(arena) ? NULL : lt_tuple(arena, parts, LT_TMA_PARTS);
}

const lt_value *ltT_make_tma_descriptor(lt_arena *arena, const ltT_tma_request *request,
                                        const lt_value *basis, int64_t blocks) {
  fields f = {.request = request,
              .basis = basis,
              .rank = lt_rank(basis),
              .bits = ltT_type_of(request->atom->element)->bits};
  for (size_t i = 0; i < f.rank; i++) fill_dimension(arena, &f, i);
  if (ltA_failed(arena) || !check_first(arena, &f)) return NULL;
  for (size_t i = 0; i < f.rank; i++)
    if (!check_dimension(arena, &f, i) || !check_mode(arena, &f, i)) return NULL;
  if (!fill_box(arena, &f, blocks) || !check_box(arena, &f)) return NULL;
  if (!find_swizzle(arena, &f) || !check_swizzle(arena, &f)) return NULL;
  return finish(arena, &f);
}
