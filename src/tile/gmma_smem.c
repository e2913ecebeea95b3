/*
** Shared memory layouts and matrix descriptors of warpgroup MMAs. Sources: PTX ISA, "Shared memory
** matrix layout" and "Matrix descriptor format" of wgmma; CuTe's mma_traits_sm90_gmma.hpp.
*/
#include "gmma_smem.h"

#include <stdio.h>

#include "algebra/composed.h"

/* Bits of the unit that descriptors count in. */
#define UNIT_BITS 128
/* Largest value of an offset field: 14 bits. */
#define MAX_FIELD ((1 << 14) - 1)
/* Bytes after which every swizzle repeats. */
#define PERIOD_BYTES 1024

/* Units in a row of the swizzle. */
static int row_units(ltT_gmma_swizzle swizzle) { return 1 << swizzle; }

/* ---- Layouts -------------------------------------------------------------------------------- */

const lt_value *ltT_gmma_smem_atom(lt_arena *arena, ltT_major major, ltT_gmma_swizzle swizzle,
                                   int64_t bits) {
  char text[64];
  int row = UNIT_BITS * row_units(swizzle); /* in bits; 8 of them */
  if (major == LT_MAJOR_MN)
    snprintf(text, sizeof text, "Sw<%d,4,3> o smem[1b] o (%d,8):(1,%d)", (int)swizzle, row, row);
  else
    snprintf(text, sizeof text, "Sw<%d,4,3> o smem[1b] o (8,%d):(%d,1)", (int)swizzle, row, row);
  const lt_value *atom = lt_parse(arena, text);
  return atom == NULL ? NULL : lt_upcast(arena, atom, bits);
}

/* ---- Taking apart --------------------------------------------------------------------------- */

static bool fail_swizzle(lt_arena *arena, const lt_value *layout, const char *why) {
  ltA_fail(arena, LT_INVALID,
           "make_gmma_desc: %v has no descriptor: %s; the hardware has Sw<0,4,3> to Sw<3,4,3> on "
           "byte addresses",
           layout, why);
  return false;
}

static bool check_bits(lt_arena *arena, int64_t bits) {
  if (bits >= 1 && bits <= 32 && (bits & (bits - 1)) == 0) return true;
  ltA_fail(arena, LT_INVALID, "make_gmma_desc: elements of %I bits are no operands", bits);
  return false;
}

/* log2 of the bytes of an element, negative below one byte. */
static int log2_bytes(int64_t bits) {
  int log = -3;
  while (bits > 1) {
    bits >>= 1;
    log++;
  }
  return log;
}

/* The swizzle, which counts in elements of 2^'unit' bytes. */
static bool read_swizzle(lt_arena *arena, const lt_value *layout, int unit,
                         ltT_gmma_operand *operand) {
  const lt_value *a = ltA_layout_a(layout);
  if (a->kind != LT_SWIZZLE) return fail_swizzle(arena, layout, "it composes two layouts");
  int64_t b = ltA_element(a, 0)->value, m = ltA_element(a, 1)->value, s = ltA_element(a, 2)->value;
  if (b < 0 || b > 3) return fail_swizzle(arena, layout, "the swizzle has too many bits");
  if (b > 0 && (m + unit != 4 || s != 3))
    return fail_swizzle(arena, layout, "the swizzle is of other bits of the address");
  operand->swizzle = (ltT_gmma_swizzle)b;
  return true;
}

/* A composed layout: over bytes, or over elements with an offset of its own. */
static bool read_composed(lt_arena *arena, const lt_value *layout, ltT_gmma_operand *operand) {
  const lt_value *offset = ltA_offset(layout);
  int unit = offset->kind == LT_SMEM ? 0 : log2_bytes(operand->bits);
  operand->layout = ltA_layout_b(layout);
  if (offset->kind == LT_INTEGER) operand->offset = offset->value;
  return read_swizzle(arena, layout, unit, operand);
}

/* An offset before the swizzle moves the pattern, unless it is whole periods of it. */
static bool add_outer_offset(lt_arena *arena, const lt_value *tensor, ltT_gmma_operand *operand) {
  const lt_value *offset = ltA_first(tensor);
  int64_t period = PERIOD_BYTES * 8 / operand->bits;
  if (!ltA_is_integer(offset)) return fail_swizzle(arena, tensor, "its offset is a coordinate");
  bool has_bytes = ltA_is_composed(ltA_tensor_layout(tensor)) &&
                   ltA_offset(ltA_tensor_layout(tensor))->kind == LT_SMEM;
  if (operand->swizzle != LT_GMMA_INTER && !has_bytes && offset->value % period != 0)
    return fail_swizzle(arena, tensor, "its offset cuts the swizzle's pattern");
  operand->offset = ltA_add(arena, (lt_int){operand->offset, 0}, ltA_int(offset)).value;
  return !ltA_failed(arena);
}

bool ltT_gmma_operand_of(lt_arena *arena, const lt_value *x, int64_t bits,
                         ltT_gmma_operand *operand) {
  if (ltA_failed(arena)) return false;
  const lt_value *layout = x->kind == LT_TENSOR ? ltA_tensor_layout(x) : x;
  bool is_composed = ltA_is_composed(layout);
  bool has_bits = is_composed && ltA_offset(layout)->kind == LT_SMEM;
  if (has_bits) bits = ltA_offset(layout)->value;
  if (bits == 0) {
    ltA_fail(arena, LT_INVALID, "make_gmma_desc: the element type of %v is wanted", x);
    return false;
  }
  *operand = (ltT_gmma_operand){LT_GMMA_INTER, bits, 0, layout};
  if (!check_bits(arena, bits)) return false;
  if (is_composed && !read_composed(arena, layout, operand)) return false;
  return x->kind != LT_TENSOR || add_outer_offset(arena, x, operand);
}

/* ---- Descriptors ---------------------------------------------------------------------------- */

/* The canonical layout of a matrix in units of 16 bytes, ((.,.),(.,.)), and its four strides. */
typedef struct canonical {
  const ltT_gmma_operand *operand;
  ltT_major major;
  const lt_value *units; /* the operand's layout in units */
  int64_t strides[2][2];
} canonical;

static const char *const major_names[] = {"MN", "K"};
static const char *const swizzle_names[] = {"INTER", "SW32", "SW64", "SW128"};

/* What a canonical layout is, in units: W in a row. */
static void write_canonical(const canonical *c, char *text, size_t size) {
  int w = row_units(c->operand->swizzle);
  bool is_inter = c->operand->swizzle == LT_GMMA_INTER;
  if (c->major == LT_MAJOR_MN && is_inter)
    snprintf(text, size, "((1,m),(8,k)):((*,SBO),(1,LBO))");
  else if (c->major == LT_MAJOR_MN)
    snprintf(text, size, "((%d,m),(8,k)):((1,LBO),(%d,SBO))", w, w);
  else if (is_inter)
    snprintf(text, size, "((8,m),2):((1,SBO),LBO)");
  else
    snprintf(text, size, "((8,m),2):((%d,SBO),1)", w);
}

static bool fail_canonical(lt_arena *arena, const canonical *c) {
  char wanted[64];
  write_canonical(c, wanted, sizeof wanted);
  ltA_fail(arena, LT_INVALID,
           "make_gmma_desc: %v is no %s-major %s layout: in units of 16 bytes it is %v, where a "
           "descriptor tells of %s",
           c->operand->layout, major_names[c->major], swizzle_names[c->operand->swizzle], c->units,
           wanted);
  return false;
}

static int64_t units_in_mode(lt_arena *arena, const lt_value *layout, size_t mode) {
  return ltA_product(arena, ltA_element(ltA_shape(layout), mode)).value;
}

/* One MMA reads 32 bytes of K a row, and of 8 rows in K-major. */
static bool check_extents(lt_arena *arena, const canonical *c) {
  int64_t elements = 2 * UNIT_BITS / c->operand->bits;
  int64_t k = units_in_mode(arena, c->operand->layout, 1);
  int64_t rows = units_in_mode(arena, c->operand->layout, 0);
  if (ltA_failed(arena)) return false;
  if (k != elements) {
    ltA_fail(arena, LT_INVALID,
             "make_gmma_desc: %v is not what one MMA reads: K is %I elements of %I bits",
             c->operand->layout, elements, c->operand->bits);
    return false;
  }
  if (rows % 8 != 0) {
    ltA_fail(arena, LT_INVALID,
             "make_gmma_desc: %v has %I rows, where a descriptor tells of 8 each",
             c->operand->layout, rows);
    return false;
  }
  /* Units run along K, or along M or N. */
  int64_t wanted = c->major == LT_MAJOR_MN ? elements : 2;
  return units_in_mode(arena, c->units, 1) == wanted || fail_canonical(arena, c);
}

/* The operand's layout in units of 16 bytes. */
static bool find_units(lt_arena *arena, canonical *c) {
  const lt_value *layout = c->operand->layout;
  if (!ltA_is_layout(layout) || lt_rank(layout) != 2 || !lt_is_static(layout)) {
    ltA_fail(arena, LT_INVALID, "make_gmma_desc: %v is no static layout (%s,K) of one MMA", layout,
             "M or N");
    return false;
  }
  c->units = lt_upcast(arena, layout, UNIT_BITS / c->operand->bits);
  if (c->units != NULL) return true;
  if (arena->error->status != LT_INVALID) return false;
  arena->error->status = LT_OK;
  ltA_fail(arena, LT_INVALID,
           "make_gmma_desc: %v has no descriptor: runs of %I elements of %I bits, 16 bytes, do not "
           "lie together",
           layout, (int64_t)UNIT_BITS / c->operand->bits, c->operand->bits);
  return false;
}

/* Stride 'j' of mode 'i', if the mode is divided into two plain ones. */
static bool read_stride(const lt_value *divided, size_t i, size_t j, int64_t *stride) {
  const lt_value *mode = ltA_element(ltA_stride(divided), i);
  if (!ltA_is_tuple(mode) || mode->value != 2) return false;
  const lt_value *leaf = ltA_element(mode, j);
  *stride = leaf->value;
  return ltA_is_integer(leaf);
}

static bool find_strides(lt_arena *arena, canonical *c) {
  char tiler_text[32];
  bool is_mn = c->major == LT_MAJOR_MN;
  snprintf(tiler_text, sizeof tiler_text, "(%d:1,%d:1)", is_mn ? row_units(c->operand->swizzle) : 8,
           is_mn ? 8 : 2);
  const lt_value *tiler = lt_parse(arena, tiler_text);
  const lt_value *divided = lt_logical_divide(arena, c->units, tiler);
  if (divided == NULL) {
    if (arena->error->status != LT_INVALID) return false;
    arena->error->status = LT_OK;
    return fail_canonical(arena, c);
  }
  for (size_t i = 0; i < 2; i++)
    for (size_t j = 0; j < 2; j++)
      if (!read_stride(divided, i, j, &c->strides[i][j])) return fail_canonical(arena, c);
  return true;
}

/* Puts the free strides in their fields, if the others are as the swizzle wants them. */
static bool fill_offsets(lt_arena *arena, const canonical *c, ltT_gmma_descriptor *d) {
  bool is_inter = c->operand->swizzle == LT_GMMA_INTER;
  int w = row_units(c->operand->swizzle);
  const int64_t(*s)[2] = c->strides;
  if (c->major == LT_MAJOR_MN) {
    if ((!is_inter && s[0][0] != 1) || s[1][0] != w) return fail_canonical(arena, c);
    d->stride_byte_offset = is_inter ? s[0][1] : s[1][1];
    d->leading_byte_offset = is_inter ? s[1][1] : s[0][1];
    return true;
  }
  if (s[0][0] != w || (!is_inter && s[1][0] != 1)) return fail_canonical(arena, c);
  d->stride_byte_offset = s[0][1];
  d->leading_byte_offset = s[1][0];
  return true;
}

static bool check_field(lt_arena *arena, const canonical *c, const char *name, int64_t value) {
  if (value >= 0 && value <= MAX_FIELD) return true;
  ltA_fail(arena, LT_INVALID,
           "make_gmma_desc: the %s of %v is %I units of 16 bytes, where the field holds 0 to %d",
           name, c->operand->layout, value, MAX_FIELD);
  return false;
}

/* The start address relative to that of the buffer, which is a multiple of PERIOD_BYTES. */
static bool fill_start(lt_arena *arena, const canonical *c, ltT_gmma_descriptor *d) {
  int64_t per_unit = UNIT_BITS / c->operand->bits;
  d->start_address = c->operand->offset / per_unit;
  if (c->operand->offset % per_unit == 0)
    return check_field(arena, c, "start address", d->start_address);
  ltA_fail(arena, LT_INVALID,
           "make_gmma_desc: offset %I of %v is not a multiple of 16 bytes, %I elements",
           c->operand->offset, c->operand->layout, per_unit);
  return false;
}

bool ltT_make_gmma_desc(lt_arena *arena, ltT_major major, const ltT_gmma_operand *operand,
                        ltT_gmma_descriptor *d) {
  static const int layout_types[] = {0, 3, 2, 1};
  canonical c = {.operand = operand, .major = major};
  *d = (ltT_gmma_descriptor){.layout_type = layout_types[operand->swizzle]};
  if (ltA_failed(arena)) return false;
  return find_units(arena, &c) && check_extents(arena, &c) && find_strides(arena, &c) &&
         fill_offsets(arena, &c, d) && fill_start(arena, &c, d) &&
         check_field(arena, &c, "leading offset", d->leading_byte_offset) &&
         check_field(arena, &c, "stride offset", d->stride_byte_offset);
}

uint64_t ltT_gmma_desc_bits(const ltT_gmma_descriptor *d) {
  return (uint64_t)d->start_address | (uint64_t)d->leading_byte_offset << 16 |
         (uint64_t)d->stride_byte_offset << 32 | (uint64_t)d->base_offset << 49 |
         (uint64_t)d->layout_type << 62;
}

const lt_value *ltT_gmma_desc_layout(lt_arena *arena, const ltT_gmma_operand *part) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *units = lt_upcast(arena, part->layout, UNIT_BITS / part->bits);
  const lt_value *one = lt_make_layout(arena, lt_integer(arena, 1), lt_integer(arena, 0));
  return ltA_failed(arena) ? NULL : lt_replace(arena, units, 0, one);
}
