/*
** Element types: how the bits in a buffer stand for numbers.
*/
#ifndef LUTILE_TILE_ELEMENT_H
#define LUTILE_TILE_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CuTe's names, in capitals. */
typedef enum lt_element {
  LT_F64,
  LT_F32,
  LT_TF32, /* f32 with a 10 bit mantissa, in 32 bits */
  LT_F16,
  LT_BF16,
  LT_E4M3,
  LT_E5M2,
  LT_E3M2,
  LT_E2M3,
  LT_E2M1,
  LT_UE8M0,    /* a power of two: a scale */
  LT_UE4M3,    /* e4m3 without a sign: a scale */
  LT_E4M3FNUZ, /* AMD's fp8 and bf8 of CDNA3: */
  LT_E5M2FNUZ, /* finite, and no negative zero */
  LT_S32,
  LT_S16,
  LT_S8,
  LT_U8,
  LT_S4,
  LT_U4,
  LT_B1,
  LT_C64,  /* complex of two f64 */
  LT_GC64, /* complex as three sums of f64 (Gauss): re = x - y, im = z - x - y */
  LT_ELEMENT_COUNT
} lt_element;

typedef enum ltT_class { LT_FLOATING, LT_SIGNED, LT_UNSIGNED, LT_COMPLEX } ltT_class;

/* What a floating format does at its upper end. */
typedef enum ltT_top {
  LT_TOP_IEEE,    /* has infinities and NaNs; overflow gives infinity */
  LT_TOP_CLAMPED, /* as IEEE, but conversion saturates, infinity included (cvt.satfinite) */
  LT_TOP_NAN,     /* no infinity, one NaN of all ones; conversion saturates */
  LT_TOP_FINITE,  /* neither; conversion saturates, and NaN becomes the largest number */
  LT_TOP_FNUZ     /* no infinity; NaN is the pattern of a negative zero; conversion saturates */
} ltT_top;

typedef struct ltT_type {
  const char *name;
  ltT_class class;
  int bits;
  int exponent_bits; /* of floating types, */
  int mantissa_bits; /* without the hidden one */
  int bias;
  ltT_top top;
  bool is_signed; /* has a sign bit */
  bool is_small;  /* all its values can be enumerated in a table: at most 16 bits */
} ltT_type;

/* The number that an element stands for; 'im' is 0 unless the type is complex. */
typedef struct lt_number {
  double re, im;
} lt_number;

const ltT_type *ltT_type_of(lt_element element);
/* Element type of CuTe's name 'name', or LT_ELEMENT_COUNT. */
lt_element ltT_element_named(const char *name);

/* Value of the low bits of 'pattern'; exact. For types of at most 64 bits. */
double ltT_decode(lt_element element, uint64_t pattern);

/*
** Bits of the element nearest to 'x', ties to even, subnormals kept. Where the hardware's
** conversion saturates, so does this: see ltT_top; integers clamp, and take NaN as 0. ue8m0 rounds
** up to a power of two (cvt.rp), and takes what is not positive as its least; ue4m3 takes
** negative numbers as 0.
*/
uint64_t ltT_encode(lt_element element, double x);

/* Bytes that 'count' elements take, packed, the last byte filled up. */
size_t ltT_bytes(lt_element element, int64_t count);

/* Element 'i' of a packed array in the memory order of a little-endian machine. */
/* Numbers that an element is kept as: 2 of c64, 3 of gc64. */
int ltT_parts(lt_element element);
void ltT_load_parts(lt_element element, const uint8_t *data, int64_t i, double *parts);
void ltT_store_parts(lt_element element, uint8_t *data, int64_t i, const double *parts);

lt_number ltT_load(lt_element element, const uint8_t *data, int64_t i);
void ltT_store(lt_element element, uint8_t *data, int64_t i, lt_number x);

#endif
