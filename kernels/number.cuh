// Elements of every type as numbers: loads that are exact, and stores that round to nearest, ties to
// even, and saturate as the hardware's conversions do. Formats: IEEE 754, OCP 8-bit floating point
// and microscaling specifications. For any GPU; not made for speed.
#pragma once
#include "lutile.cuh"

namespace number {

// ---- Formats -------------------------------------------------------------------------------------

enum class top {
  ieee,     // infinities and NaNs; overflow gives infinity
  clamped,  // the same, but conversion saturates, infinity too
  nan,      // no infinity, one NaN of all ones; conversion saturates
  finite    // neither; NaN becomes the largest number
};

// Fields of a floating format; 'shift' is what lies below them.
template <int Exponent, int Mantissa, int Bias, top Top, bool Signed = true, int Shift = 0>
struct floating {
  static constexpr int exponent = Exponent, mantissa = Mantissa, bias = Bias, shift = Shift;
  static constexpr top upper = Top;
  static constexpr bool has_sign = Signed;
};

// Integers of as many bits.
template <bool Signed>
struct integer {
  static constexpr bool has_sign = Signed;
};

template <class T>
struct format;
template <> struct format<lutile::tf32> : floating<8, 10, 127, top::ieee, true, 13> {};
template <> struct format<lutile::f16> : floating<5, 10, 15, top::ieee> {};
template <> struct format<lutile::bf16> : floating<8, 7, 127, top::ieee> {};
template <> struct format<lutile::e4m3> : floating<4, 3, 7, top::nan> {};
template <> struct format<lutile::e5m2> : floating<5, 2, 15, top::clamped> {};
template <> struct format<lutile::e3m2> : floating<3, 2, 3, top::finite> {};
template <> struct format<lutile::e2m3> : floating<2, 3, 1, top::finite> {};
template <> struct format<lutile::e2m1> : floating<2, 1, 1, top::finite> {};
template <> struct format<lutile::ue4m3> : floating<4, 3, 7, top::nan, false> {};
template <> struct format<lutile::s32> : integer<true> {};
template <> struct format<lutile::s16> : integer<true> {};
template <> struct format<lutile::s8> : integer<true> {};
template <> struct format<lutile::u8> : integer<false> {};
template <> struct format<lutile::s4> : integer<true> {};
template <> struct format<lutile::u4> : integer<false> {};
template <> struct format<lutile::b1> : integer<false> {};

// A type without its const.
template <class T> struct plain { using type = T; };
template <class T> struct plain<const T> { using type = T; };

template <class T, class U> constexpr bool same = false;
template <class T> constexpr bool same<T, T> = true;

template <class T> constexpr bool is_complex = same<T, lutile::c64>;

template <class T>
constexpr bool is_integer = same<T, lutile::s32> || same<T, lutile::s16> || same<T, lutile::s8> ||
                            same<T, lutile::u8> || same<T, lutile::s4> || same<T, lutile::u4> ||
                            same<T, lutile::b1>;

__device__ constexpr unsigned long long low_bits(int count) {
  return count >= 64 ? ~0ull : (1ull << count) - 1;
}

// 2 to the power of 'exponent', within the range of normal numbers.
__device__ inline double power(int exponent) {
  return __longlong_as_double((long long)(exponent + 1023) << 52);
}

// ---- Bits to numbers -------------------------------------------------------------------------------

// All formats are within f32's range: their fields are those of an f32 whose exponent is off by the
// difference of the biases, subnormal numbers' too.
template <class F>
__device__ float decode_floating(unsigned long long bits) {
  constexpr unsigned all = unsigned(low_bits(F::exponent + F::mantissa));
  constexpr unsigned infinity = unsigned(low_bits(F::exponent)) << F::mantissa;
  const unsigned fields = unsigned(bits >> F::shift) & all;
  const float power = __uint_as_float(unsigned(254 - F::bias) << 23);
  unsigned x = __float_as_uint(__uint_as_float(fields << (23 - F::mantissa)) * power);
  if ((F::upper == top::ieee || F::upper == top::clamped) && fields >= infinity)
    x = fields == infinity ? 0x7f800000u : 0x7fc00000u;
  if (F::upper == top::nan && fields == all) x = 0x7fc00000u;
  const unsigned sign = unsigned(bits >> (F::shift + F::exponent + F::mantissa)) & F::has_sign;
  return __uint_as_float(x | sign << 31);
}

// The number that the low bits of 'bits' stand for.
template <class T>
__device__ double decode(unsigned long long bits) {
  if constexpr (same<T, double>)
    return __longlong_as_double((long long)bits);
  else if constexpr (same<T, float>)
    return __uint_as_float(unsigned(bits));
  else if constexpr (same<T, lutile::ue8m0>)
    return bits == 255 ? __longlong_as_double(0xfffll << 51) : power(int(bits) - 127);
  else if constexpr (is_integer<T>) {
    constexpr int spare = 64 - lutile::bits_of<T>;
    if constexpr (format<T>::has_sign)
      return double((long long)(bits << spare) >> spare);
    else
      return double(bits << spare >> spare);
  } else
    return decode_floating<format<T>>(bits);
}

// ---- Numbers to bits -------------------------------------------------------------------------------

template <class F>
__device__ constexpr unsigned long long largest() {
  const unsigned long long all = low_bits(F::exponent + F::mantissa);
  return F::upper == top::finite ? all : F::upper == top::nan ? all - 1 : all - (1ull << F::mantissa);
}

template <class F>
__device__ constexpr unsigned long long not_a_number() {
  const unsigned long long all = low_bits(F::exponent + F::mantissa);
  if (F::upper == top::finite) return largest<F>();
  if (F::upper == top::nan) return all;
  return low_bits(F::exponent) << F::mantissa | 1ull << (F::mantissa - 1);
}

// Exponent and mantissa of |x|, rounded; read as one integer they count the format's numbers, so
// that a carry out of the mantissa is right as it is.
template <class F>
__device__ unsigned long long round_fields(double x) {
  constexpr int least = 1 - F::bias;
  const int exponent = int(__double_as_longlong(x) >> 52) - 1023;
  if (exponent <= least - F::mantissa - 2) return 0;
  const int quantum = (exponent < least ? least : exponent) - F::mantissa;
  const unsigned long long n = (unsigned long long)rint(x * power(-quantum));
  return exponent < least ? n : ((unsigned long long)(exponent - least) << F::mantissa) + n;
}

template <class F>
__device__ unsigned long long encode_floating(double x) {
  const bool negative = __double_as_longlong(x) < 0;
  if (!F::has_sign && x < 0) return 0;
  const unsigned long long sign =
      F::has_sign && negative ? 1ull << (F::exponent + F::mantissa) : 0;
  unsigned long long fields;
  if (x != x) {
    fields = not_a_number<F>();
  } else if (x - x != 0) {  // infinite
    fields = largest<F>() + (F::upper == top::ieee);
  } else {
    fields = round_fields<F>(negative ? -x : x);
    if (fields > largest<F>()) fields = largest<F>() + (F::upper == top::ieee);
  }
  const bool drops_sign = x != x && F::upper == top::finite;
  return ((drops_sign ? 0 : sign) | fields) << F::shift;
}

// Rounded up to a power of two.
__device__ inline unsigned long long encode_scale(double x) {
  if (x != x) return 255;
  if (!(x > power(-127))) return 0;
  const long long bits = __double_as_longlong(x);
  const int exponent = int(bits >> 52) - 1023 + ((bits & (long long)low_bits(52)) != 0);
  return exponent > 127 ? 254 : exponent + 127;
}

template <class T>
__device__ unsigned long long encode_integer(double x) {
  constexpr int bits = lutile::bits_of<T>;
  constexpr bool has_sign = format<T>::has_sign;
  const double most = power(has_sign ? bits - 1 : bits) - 1, least = has_sign ? -most - 1 : 0;
  if (x != x) return 0;
  x = x < least ? least : x > most ? most : x;
  return (unsigned long long)(long long)rint(x) & low_bits(bits);
}

template <class T>
__device__ unsigned long long encode(double x) {
  if constexpr (same<T, double>)
    return (unsigned long long)__double_as_longlong(x);
  else if constexpr (same<T, float>)
    return __float_as_uint(__double2float_rn(x));
  else if constexpr (same<T, lutile::ue8m0>)
    return encode_scale(x);
  else if constexpr (is_integer<T>)
    return encode_integer<T>(x);
  else
    return encode_floating<format<T>>(x);
}

// ---- Memory ----------------------------------------------------------------------------------------

// What is loaded and stored: 64 bits, or both halves of a complex number.
template <class T>
struct bits_of_element { using type = unsigned long long; };
template <>
struct bits_of_element<lutile::c64> { using type = lutile::c64; };

template <class T> constexpr bool fills_bytes = lutile::bits_of<T> == 8 * int(sizeof(T));

template <int Bytes> struct word_of_bytes;
template <> struct word_of_bytes<1> { using type = unsigned char; };
template <> struct word_of_bytes<2> { using type = unsigned short; };
template <> struct word_of_bytes<4> { using type = unsigned; };
template <> struct word_of_bytes<8> { using type = unsigned long long; };

// The bits of an element that fills bytes.
template <class T> using word = typename word_of_bytes<sizeof(T)>::type;

// Elements that do not fill bytes: one may lie in two.
template <int Bits>
__device__ unsigned long long load_packed(const unsigned char *bytes, long long bit) {
  const unsigned char *at = bytes + (bit >> 3);
  const int shift = int(bit & 7);
  unsigned x = at[0];
  if (shift + Bits > 8) x |= unsigned(at[1]) << 8;
  return x >> shift & unsigned(low_bits(Bits));
}

// 'count' bits from bit 'shift' of the word on, while other threads write the rest of it.
__device__ inline void store_in_word(unsigned *word, unsigned bits, int shift, int count) {
  const unsigned mask = unsigned(low_bits(count)) << shift;
  unsigned old = *word, seen;
  do {
    seen = old;
    old = atomicCAS(word, seen, (seen & ~mask) | (bits << shift & mask));
  } while (old != seen);
}

template <int Bits>
__device__ void store_packed(unsigned char *bytes, long long bit, unsigned bits) {
  // Device memory is had in whole words, and starts at one.
  const unsigned long long address = (unsigned long long)bytes + (unsigned long long)(bit >> 3);
  unsigned *word = (unsigned *)(address & ~3ull);
  const int shift = int(address & 3) * 8 + int(bit & 7);
  const int here = shift + Bits > 32 ? 32 - shift : Bits;
  store_in_word(word, bits, shift, here);
  if (here < Bits) store_in_word(word + 1, bits >> here, 0, Bits - here);
}

template <class T>
__device__ auto load_bits(const T *data, long long i) {
  using U = typename plain<T>::type;
  if constexpr (is_complex<U>)
    return data[i];
  else if constexpr (!fills_bytes<U>)
    return load_packed<lutile::bits_of<U>>((const unsigned char *)data, i * lutile::bits_of<U>);
  else
    return (unsigned long long)((const word<U> *)data)[i];
}

template <class T>
__device__ void store_bits(T *data, long long i, typename bits_of_element<T>::type bits) {
  if constexpr (is_complex<T>)
    data[i] = bits;
  else if constexpr (!fills_bytes<T>)
    store_packed<lutile::bits_of<T>>((unsigned char *)data, i * lutile::bits_of<T>, unsigned(bits));
  else
    ((word<T> *)data)[i] = (word<T>)bits;
}

// Element i as a number: double, or c64.
template <class T>
__device__ auto load(const T *data, long long i) {
  using U = typename plain<T>::type;
  if constexpr (is_complex<U>)
    return data[i];
  else
    return decode<U>(load_bits(data, i));
}

__device__ inline double real(double x) { return x; }
__device__ inline double real(lutile::c64 x) { return x.re; }
__device__ inline double imaginary(double) { return 0; }
__device__ inline double imaginary(lutile::c64 x) { return x.im; }

template <class T, class X>
__device__ void store(T *data, long long i, X x) {
  if constexpr (is_complex<T>)
    data[i] = lutile::c64{real(x), imaginary(x)};
  else
    store_bits(data, i, encode<T>(real(x)));
}

}  // namespace number
