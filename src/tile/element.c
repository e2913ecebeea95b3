/*
** Element types: one table, and the conversion between bits and doubles that it drives.
** Formats: IEEE 754; OCP 8-bit floating point and microscaling specifications; AMD's CDNA3 ISA guide; rounding and
** saturation as PTX ISA's cvt does them.
*/
#include "element.h"

#include <math.h>
#include <string.h>

#define FLOATING(name, exponent, mantissa, bias, top)                                \
  {                                                                                  \
    name, LT_FLOATING, 1 + exponent + mantissa, exponent, mantissa, bias, top, true, \
        1 + exponent + mantissa <= 16                                                \
  }
#define INTEGER(name, class, bits) \
  { name, class, bits, 0, 0, 0, LT_TOP_IEEE, (class) == LT_SIGNED, bits <= 16 }

static const ltT_type types[LT_ELEMENT_COUNT] = {
    [LT_F64] = FLOATING("f64", 11, 52, 1023, LT_TOP_IEEE),
    [LT_F32] = FLOATING("f32", 8, 23, 127, LT_TOP_IEEE),
    [LT_TF32] = {"tf32", LT_FLOATING, 32, 8, 10, 127, LT_TOP_IEEE, true, false},
    [LT_F16] = FLOATING("f16", 5, 10, 15, LT_TOP_IEEE),
    [LT_BF16] = FLOATING("bf16", 8, 7, 127, LT_TOP_IEEE),
    [LT_E4M3] = FLOATING("e4m3", 4, 3, 7, LT_TOP_NAN),
    [LT_E5M2] = FLOATING("e5m2", 5, 2, 15, LT_TOP_CLAMPED),
    [LT_E3M2] = FLOATING("e3m2", 3, 2, 3, LT_TOP_FINITE),
    [LT_E2M3] = FLOATING("e2m3", 2, 3, 1, LT_TOP_FINITE),
    [LT_E2M1] = FLOATING("e2m1", 2, 1, 1, LT_TOP_FINITE),
    [LT_UE8M0] = {"ue8m0", LT_FLOATING, 8, 8, 0, 127, LT_TOP_NAN, false, true},
    [LT_UE4M3] = {"ue4m3", LT_FLOATING, 8, 4, 3, 7, LT_TOP_NAN, false, true},
    [LT_E4M3FNUZ] = FLOATING("e4m3fnuz", 4, 3, 8, LT_TOP_FNUZ),
    [LT_E5M2FNUZ] = FLOATING("e5m2fnuz", 5, 2, 16, LT_TOP_FNUZ),
    [LT_S32] = INTEGER("s32", LT_SIGNED, 32),
    [LT_S16] = INTEGER("s16", LT_SIGNED, 16),
    [LT_S8] = INTEGER("s8", LT_SIGNED, 8),
    [LT_U8] = INTEGER("u8", LT_UNSIGNED, 8),
    [LT_S4] = INTEGER("s4", LT_SIGNED, 4),
    [LT_U4] = INTEGER("u4", LT_UNSIGNED, 4),
    [LT_B1] = INTEGER("b1", LT_UNSIGNED, 1),
    [LT_C64] = {"c64", LT_COMPLEX, 128, 0, 0, 0, LT_TOP_IEEE, true, false},
    [LT_GC64] = {"gc64", LT_COMPLEX, 192, 0, 0, 0, LT_TOP_IEEE, true, false},
};

const ltT_type *ltT_type_of(lt_element element) { return &types[element]; }

lt_element ltT_element_named(const char *name) {
  int i = 0;
  while (i < LT_ELEMENT_COUNT && strcmp(types[i].name, name) != 0) i++;
  return (lt_element)i;
}

static uint64_t low_bits(int count) {
  return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static uint64_t double_to_pattern(double x) {
  uint64_t pattern;
  memcpy(&pattern, &x, sizeof pattern);
  return pattern;
}

static double pattern_to_double(uint64_t pattern) {
  double x;
  memcpy(&x, &pattern, sizeof x);
  return x;
}

/* ---- Floating types ------------------------------------------------------------------------- */

/* Where the format's fields stand: tf32 is kept in the upper bits of an f32. */
static int field_shift(const ltT_type *t) {
  int bits = (t->is_signed ? 1 : 0) + t->exponent_bits + t->mantissa_bits;
  return t->mantissa_bits == 10 && t->bits == 32 ? 32 - bits : 0;
}

/* The largest finite number, as exponent and mantissa fields. */
static uint64_t largest_finite(const ltT_type *t) {
  uint64_t all = low_bits(t->exponent_bits + t->mantissa_bits);
  switch (t->top) {
    case LT_TOP_NAN: return all - 1;
    case LT_TOP_FINITE:
    case LT_TOP_FNUZ: return all;
    default: return all - ((uint64_t)1 << t->mantissa_bits);
  }
}

static uint64_t not_a_number(const ltT_type *t, uint64_t sign) {
  switch (t->top) {
    case LT_TOP_NAN: return sign | low_bits(t->exponent_bits + t->mantissa_bits);
    case LT_TOP_FINITE: return largest_finite(t);
    case LT_TOP_FNUZ: return (uint64_t)1 << (t->exponent_bits + t->mantissa_bits);
    default: /* a quiet one */
      return sign | low_bits(t->exponent_bits) << t->mantissa_bits |
             (uint64_t)1 << (t->mantissa_bits - 1);
  }
}

static double decode_scale(const ltT_type *t, uint64_t fields) {
  return fields == low_bits(t->exponent_bits) ? NAN : ldexp(1, (int)fields - t->bias);
}

static double decode_floating(const ltT_type *t, uint64_t pattern) {
  pattern >>= field_shift(t);
  uint64_t mantissa = pattern & low_bits(t->mantissa_bits);
  uint64_t exponent = pattern >> t->mantissa_bits & low_bits(t->exponent_bits);
  double sign = t->is_signed && (pattern >> (t->exponent_bits + t->mantissa_bits) & 1) ? -1 : 1;
  if (t->mantissa_bits == 0) return decode_scale(t, exponent);
  if (t->top == LT_TOP_FNUZ && pattern == not_a_number(t, 0)) return NAN;
  if (exponent == 0) return sign * ldexp((double)mantissa, 1 - t->bias - t->mantissa_bits);
  if ((pattern & low_bits(t->exponent_bits + t->mantissa_bits)) > largest_finite(t))
    return t->top == LT_TOP_NAN || mantissa != 0 ? NAN : sign * (double)INFINITY;
  uint64_t wide = (exponent + (uint64_t)(1023 - t->bias)) << 52 | mantissa
                                                                      << (52 - t->mantissa_bits);
  return sign * pattern_to_double(wide);
}

/* 'm' / 2^shift to the nearest integer, ties to even. */
static uint64_t shift_rounded(uint64_t m, int shift) {
  if (shift > 54) return 0;
  uint64_t quotient = m >> shift, rest = m & low_bits(shift), half = (uint64_t)1 << shift >> 1;
  return quotient + (shift > 0 && (rest > half || (rest == half && (quotient & 1))));
}

/*
** Exponent and mantissa fields of |x| rounded, without an upper limit. The fields read as one
** integer count the format's numbers in order, so a carry out of the mantissa is right as it is.
** Doubles below 2^-1022 are less than half of any narrower format's least number.
*/
static uint64_t round_fields(const ltT_type *t, uint64_t wide) {
  int exponent = (int)(wide >> 52 & 0x7ff) - 1023, least = 1 - t->bias;
  if (exponent == -1023) return 0;
  uint64_t m = (wide & low_bits(52)) | (uint64_t)1 << 52;
  int shift = 52 - t->mantissa_bits;
  if (exponent < least) return shift_rounded(m, shift + (least - exponent));
  uint64_t above = (uint64_t)(exponent - least) << t->mantissa_bits;
  return above + shift_rounded(m, shift);
}

/* The least power of two not below 'x'. */
static uint64_t encode_scale(const ltT_type *t, double x) {
  if (isnan(x)) return low_bits(t->exponent_bits);
  if (x <= ldexp(1, -t->bias)) return 0;
  int exponent;
  double fraction = frexp(x, &exponent); /* x = fraction * 2^exponent, fraction in [0.5, 1) */
  if (isinf(x) || exponent > t->bias) return largest_finite(t);
  return (uint64_t)(exponent - (fraction == 0.5) + t->bias);
}

static uint64_t encode_floating(const ltT_type *t, double x) {
  if (t->mantissa_bits == 0) return encode_scale(t, x);
  uint64_t wide = double_to_pattern(x);
  uint64_t sign = (wide >> 63) << (t->exponent_bits + t->mantissa_bits);
  if (!t->is_signed) {
    if (x < 0) return 0;
    sign = 0;
  }
  if (isnan(x)) return not_a_number(t, sign) << field_shift(t);
  uint64_t fields = round_fields(t, wide & low_bits(63));
  uint64_t largest = largest_finite(t);
  if (t->top == LT_TOP_FNUZ && fields == 0) return 0;
  if (fields > largest) fields = t->top == LT_TOP_IEEE ? largest + 1 : largest;
  return (sign | fields) << field_shift(t);
}

/* ---- Integers ------------------------------------------------------------------------------- */

static double decode_integer(const ltT_type *t, uint64_t pattern) {
  pattern &= low_bits(t->bits);
  bool negative = t->is_signed && (pattern >> (t->bits - 1) & 1);
  return negative ? (double)pattern - ldexp(1, t->bits) : (double)pattern;
}

static uint64_t encode_integer(const ltT_type *t, double x) {
  double least = t->is_signed ? -ldexp(1, t->bits - 1) : 0;
  double largest = ldexp(1, t->is_signed ? t->bits - 1 : t->bits) - 1;
  if (isnan(x)) return 0;
  if (x <= least) x = least;
  if (x >= largest) x = largest;
  double whole = floor(x), rest = x - whole; /* exact: |x| < 2^32 */
  if (rest > 0.5 || (rest == 0.5 && fmod(whole, 2) != 0)) whole += 1;
  return (uint64_t)(int64_t)whole & low_bits(t->bits);
}

double ltT_decode(lt_element element, uint64_t pattern) {
  if (element == LT_F64) return pattern_to_double(pattern);
  const ltT_type *t = &types[element];
  return t->class == LT_FLOATING ? decode_floating(t, pattern) : decode_integer(t, pattern);
}

uint64_t ltT_encode(lt_element element, double x) {
  if (element == LT_F64) return double_to_pattern(x);
  const ltT_type *t = &types[element];
  return t->class == LT_FLOATING ? encode_floating(t, x) : encode_integer(t, x);
}

/* ---- Arrays --------------------------------------------------------------------------------- */

size_t ltT_bytes(lt_element element, int64_t count) {
  uint64_t bits = (uint64_t)types[element].bits;
  return (size_t)((uint64_t)count / 8 * bits + ((uint64_t)count % 8 * bits + 7) / 8);
}

/* Bits of an element narrower than a byte: they may lie across two. */
static uint64_t load_bits(int bits, const uint8_t *data, int64_t i) {
  uint64_t at = (uint64_t)i * (uint64_t)bits;
  const uint8_t *byte = data + at / 8;
  unsigned shift = at % 8, both = *byte;
  if (shift + (unsigned)bits > 8) both |= (unsigned)byte[1] << 8;
  return both >> shift & low_bits(bits);
}

static void store_bits(int bits, uint8_t *data, int64_t i, uint64_t pattern) {
  uint64_t at = (uint64_t)i * (uint64_t)bits;
  uint8_t *byte = data + at / 8;
  unsigned shift = at % 8;
  unsigned mask = (unsigned)low_bits(bits) << shift, value = (unsigned)pattern << shift;
  byte[0] = (uint8_t)((byte[0] & ~mask) | (value & mask));
  if (shift + (unsigned)bits > 8)
    byte[1] = (uint8_t)((byte[1] & ~(mask >> 8)) | (value >> 8 & mask >> 8));
}

static uint64_t load_pattern(int bits, const uint8_t *data, int64_t i) {
  uint16_t half;
  uint32_t word;
  uint64_t pattern;
  switch (bits) {
    case 8: return data[i];
    case 16: memcpy(&half, data + 2 * i, sizeof half); return half;
    case 32: memcpy(&word, data + 4 * i, sizeof word); return word;
    case 64: memcpy(&pattern, data + 8 * i, sizeof pattern); return pattern;
    default: return load_bits(bits, data, i);
  }
}

static void store_pattern(int bits, uint8_t *data, int64_t i, uint64_t pattern) {
  uint16_t half = (uint16_t)pattern;
  uint32_t word = (uint32_t)pattern;
  switch (bits) {
    case 8: data[i] = (uint8_t)pattern; break;
    case 16: memcpy(data + 2 * i, &half, sizeof half); break;
    case 32: memcpy(data + 4 * i, &word, sizeof word); break;
    case 64: memcpy(data + 8 * i, &pattern, sizeof pattern); break;
    default: store_bits(bits, data, i, pattern);
  }
}

int ltT_parts(lt_element element) {
  return types[element].class == LT_COMPLEX ? types[element].bits / 64 : 1;
}

void ltT_load_parts(lt_element element, const uint8_t *data, int64_t i, double *parts) {
  size_t size = (size_t)ltT_parts(element) * sizeof(double);
  if (types[element].class == LT_COMPLEX)
    memcpy(parts, data + (size_t)i * size, size);
  else
    *parts = ltT_decode(element, load_pattern(types[element].bits, data, i));
}

void ltT_store_parts(lt_element element, uint8_t *data, int64_t i, const double *parts) {
  size_t size = (size_t)ltT_parts(element) * sizeof(double);
  if (types[element].class == LT_COMPLEX)
    memcpy(data + (size_t)i * size, parts, size);
  else
    store_pattern(types[element].bits, data, i, ltT_encode(element, *parts));
}

lt_number ltT_load(lt_element element, const uint8_t *data, int64_t i) {
  double parts[3] = {0, 0, 0};
  ltT_load_parts(element, data, i, parts);
  if (element != LT_GC64) return (lt_number){parts[0], parts[1]};
  return (lt_number){parts[0] - parts[1], parts[2] - parts[0] - parts[1]};
}

void ltT_store(lt_element element, uint8_t *data, int64_t i, lt_number x) {
  double parts[3] = {x.re, x.im, 0};
  if (element == LT_GC64) {
    parts[1] = 0;
    parts[2] = x.re + x.im;
  }
  ltT_store_parts(element, data, i, parts);
}
