// What kernels of number.cuh need beside emulator.hpp: CUDA's functions on bits and numbers.
#pragma once

#define __noinline__

inline double __longlong_as_double(long long x) { return emulator::as<double>(x); }
inline long long __double_as_longlong(double x) { return emulator::as<long long>(x); }
inline float __uint_as_float(unsigned x) { return emulator::as<float>(x); }
inline unsigned __float_as_uint(float x) { return emulator::as<unsigned>(x); }
inline float __double2float_rn(double x) { return (float)x; }
inline unsigned atomicCAS(unsigned *p, unsigned seen, unsigned x) {
  const unsigned old = *p;
  if (old == seen) *p = x;
  return old;
}
using std::fma;
inline float fmaf(float a, float b, float c) { return std::fma(a, b, c); }
