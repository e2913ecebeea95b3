/*
** Bytes as values: small ones mostly, with all that is odd among them.
*/
#ifndef LUTILE_SPEC_FUZZ_DECODE_H
#define LUTILE_SPEC_FUZZ_DECODE_H

#include "fuzz.h"

typedef struct bytes {
  const uint8_t *at;
  const uint8_t *end;
} bytes;

/* The next byte; 0 at the end. */
unsigned take_byte(bytes *b);

int64_t take_number(bytes *b);
/* NULL after an error in the arena. */
const lt_value *take_shape(bytes *b, lt_arena *arena);
const lt_value *take_layout(bytes *b, lt_arena *arena);
/* A layout, composed layout or tensor. */
const lt_value *take_any_layout(bytes *b, lt_arena *arena);
const lt_value *take_tiler(bytes *b, lt_arena *arena);
/* For a shape, which may be NULL; mostly within it and of its form. */
const lt_value *take_coord(bytes *b, lt_arena *arena, const lt_value *shape);
const lt_value *take_swizzle(bytes *b, lt_arena *arena);
/* A value of any kind. */
const lt_value *take_any(bytes *b, lt_arena *arena);
/* Congruent with a shape. */
const lt_value *take_stride(bytes *b, lt_arena *arena, const lt_value *shape);

#endif
