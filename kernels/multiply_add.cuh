/*
** Sums of products by multiply-adds, in the order and with the roundings of lutile's host: of f32, of
** f64, of s32 modulo 2^32, and of complex numbers, each a struct of two f64.
*/
#pragma once

#include "number.cuh"
#include "ptx.cuh"

namespace multiply_add {

using lutile::c64;

DEVICE void add(float &sum, float a, float b) { sum = fmaf(a, b, sum); }
DEVICE void add(double &sum, double a, double b) { sum = fma(a, b, sum); }
DEVICE void add(int &sum, int a, int b) {
  sum = (int)((unsigned)sum + (unsigned)a * (unsigned)b);
}
DEVICE void add(c64 &sum, c64 a, c64 b) {
  sum.re = fma(-a.im, b.im, fma(a.re, b.re, sum.re));
  sum.im = fma(a.im, b.re, fma(a.re, b.im, sum.im));
}

/* A number, or another's real part, as T. */
template <class T, class X>
DEVICE T as(X x) {
  if constexpr (number::is_complex<T>)
    return T{number::real(x), number::imaginary(x)};
  else if constexpr (number::is_complex<X>)
    return (T)x.re;
  else
    return (T)x;
}

/* x * y + z, where y is real. */
template <class T, class Real>
DEVICE T scaled(T x, Real y, T z) {
  if constexpr (number::is_complex<T>)
    return T{x.re * y + z.re, x.im * y + z.im};
  else
    return x * y + z;
}

}  // namespace multiply_add
