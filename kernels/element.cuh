/*
** Element types as their bits, without CUDA's headers: a type has the unsigned integer that holds
** its bits, and conversions to and from the type that an epilogue computes in.
*/
#pragma once

#include "ptx.cuh"

namespace element {

DEVICE float as_float(unsigned bits) { return __uint_as_float(bits); }

/*
** Each conversion to an element rounds to nearest, ties to even; integers and fp8 saturate. A pair
** has the first one in its low bits.
*/
struct f32 {
  using Bits = unsigned;
  static DEVICE float decode(Bits bits) { return __uint_as_float(bits); }
  static DEVICE Bits encode(float x) { return __float_as_uint(x); }
};

struct f64 {
  using Bits = unsigned long long;
  static DEVICE double decode(Bits bits) { return __longlong_as_double(bits); }
  static DEVICE Bits encode(double x) { return __double_as_longlong(x); }
};

struct f16 {
  using Bits = unsigned short;
  static DEVICE float decode(Bits bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
  static DEVICE Bits encode(float x) {
    Bits bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
  }

  static DEVICE unsigned encode_pair(float low, float high) {
#if __CUDA_ARCH__ >= 800
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return encode(low) | (unsigned)encode(high) << 16;
#endif
  }
};

struct bf16 {
  using Bits = unsigned short;
  static DEVICE float decode(Bits bits) { return __uint_as_float((unsigned)bits << 16); }
  static DEVICE Bits encode(float x) {
    Bits bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
  }
  static DEVICE unsigned encode_pair(float low, float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

struct s32 {
  using Bits = unsigned;
  static DEVICE int decode(Bits bits) { return (int)bits; }
  static DEVICE Bits encode(int x) { return (Bits)x; }
  static DEVICE Bits encode(float x) {
    int value;
    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(value) : "f"(x));
    return (Bits)value;
  }
};

struct s8 {
  using Bits = unsigned char;
  static DEVICE int decode(Bits bits) { return (signed char)bits; }
  static DEVICE Bits encode(int x) { return (Bits)(x < -128 ? -128 : x > 127 ? 127 : x); }
  static DEVICE Bits encode(float x) {
    int value;
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(value) : "f"(x));
    return (Bits)value;
  }
  template <class T>
  static DEVICE unsigned encode_pair(T low, T high) {
    return encode(low) | (unsigned)encode(high) << 8;
  }
};

struct u8 {
  using Bits = unsigned char;
  static DEVICE int decode(Bits bits) { return bits; }
  static DEVICE Bits encode(int x) { return (Bits)(x < 0 ? 0 : x > 255 ? 255 : x); }
  static DEVICE Bits encode(float x) {
    int value;
    asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(value) : "f"(x));
    return (Bits)value;
  }
  template <class T>
  static DEVICE unsigned encode_pair(T low, T high) {
    return encode(low) | (unsigned)encode(high) << 8;
  }
};

/* Two at a time is what the hardware converts (compute capability 8.9). */
#define FP8_TYPE(name)                                                                           \
  struct name {                                                                                  \
    using Bits = unsigned char;                                                                  \
    static DEVICE float decode(Bits bits) {                                                      \
      unsigned pair;                                                                             \
      asm("cvt.rn.f16x2." #name "x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)bits));          \
      return f16::decode((unsigned short)pair);                                                  \
    }                                                                                            \
    static DEVICE Bits encode(float x) { return (Bits)encode_pair(x, 0); }                       \
    static DEVICE unsigned encode_pair(float low, float high) {                                  \
      unsigned short pair;                                                                       \
      asm("cvt.rn.satfinite." #name "x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));    \
      return pair;                                                                               \
    }                                                                                            \
  };
FP8_TYPE(e4m3)
FP8_TYPE(e5m2)

}  // namespace element
