/*
** The naive model: what layouts map indices to, by definition, one index after another. It reads
** values through the public API alone and shares no code with the library.
*/
#ifndef LUTILE_SPEC_FUZZ_MODEL_H
#define LUTILE_SPEC_FUZZ_MODEL_H

#include "fuzz.h"

__extension__ typedef __int128 wide;

/* Distinct paths of scaled bases in one value: more are not modelled. */
#define MAX_PLACES 12
/* Indices that a law is checked at. */
#define MAX_POINTS 64

/*
** An offset: a number below 2^62 for each path of a scaled basis, 0 for the others; the integer has
** the empty path. Undefined where the library may refuse: an index into a size of 0, a number beyond.
*/
typedef struct point {
  bool is_undefined;
  int count;
  struct {
    uint64_t path;
    int64_t value;
  } places[MAX_PLACES];
} point;

bool same_point(const point *x, const point *y);
/* A point that is an integer, within 64 bits. */
bool point_integer(const point *x, wide *value);
point integer_point(wide value);
point add_points(const point *x, const point *y);
/* An offset as the library gives it: an integer, or a tuple of coordinates. */
point value_point(const lt_value *v);

/* The product of the leaves. */
wide model_size(const lt_value *shape);
/* Of a shape and stride at an index; the last mode runs on. */
point model_index(const lt_value *shape, const lt_value *stride, wide index);
/* Of a swizzle, layout, composed layout, tensor, or an integer n (n:1) at an index. */
point model_apply(const lt_value *f, wide index);
/* At a coordinate: integers, or tuples with '_' as 0. */
point model_crd2idx(const lt_value *coord, const lt_value *shape, const lt_value *stride);
point model_apply_coord(const lt_value *f, const lt_value *coord);

/* Of a layout, composed layout or tensor where its innermost layout is at 'inner'. */
point model_outer(const lt_value *f, const point *inner);
/* The innermost layout of a layout, composed layout or tensor; NULL where it is none. */
const lt_value *model_inner(const lt_value *f);

/* A scaled basis anywhere in the value. */
bool has_basis(const lt_value *v);

/* The number of indices to check, or 0 where there are too many, or 'v' is not modelled. */
int model_points(const lt_value *v);

/* Whether every two indices have two offsets, all of them integers from 0 on. */
bool is_simple_injection(const lt_value *layout);
/* The same with offsets of either sign. */
bool is_injection(const lt_value *layout);

#endif
