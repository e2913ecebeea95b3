// What the text that layouts are written as uses, and tensors and element types for kernels. No
// standard headers: they would take longer to compile than the kernels.
//
// For each layout that a kernel is compiled with, there is a type in namespace layout (or in a
// struct there, for the parts of a TiledMMA or TiledCopy). An object L of it has:
//
//   L(i), L(i, j), L(i, coord(j, k))  the offset at a linear, partial or natural coordinate; where
//                                     strides are coordinates, the coordinate, as nested coord
//   L.size(), L.size<0, 1>()          the size, and that of a mode
//   L.stride<0, 1>()                  the stride of a leaf
//   L.shape(), L.cosize(), L.rank
//   L.is_static                       then L has no members, and all of this is constexpr
//
// Its dynamic integers are members, which the launch fills in where the layout, or a tensor of it,
// is the kernel's argument.
#pragma once

#ifdef __CUDACC__
#define LUTILE_FN __host__ __device__ __forceinline__ constexpr
#else
#define LUTILE_FN inline constexpr
#endif

namespace lutile {

// ---- Coordinates ---------------------------------------------------------------------------------

template <class... T>
struct coord;

template <>
struct coord<> {};

template <class T, class... R>
struct coord<T, R...> {
  T first;
  coord<R...> rest;
  LUTILE_FN coord(T f, R... r) : first(f), rest(r...) {}
};

template <class... T>
coord(T...) -> coord<T...>;

template <class... T>
LUTILE_FN coord<T...> make_coord(T... t) {
  return coord<T...>(t...);
}

template <int I, class T, class... R>
LUTILE_FN auto get(coord<T, R...> const &c) {
  if constexpr (I == 0)
    return c.first;
  else
    return get<I - 1>(c.rest);
}

// One argument is itself, several are a coordinate.
template <class T>
LUTILE_FN T one(T t) {
  return t;
}
template <class T, class U, class... R>
LUTILE_FN coord<T, U, R...> one(T t, U u, R... r) {
  return coord<T, U, R...>(t, u, r...);
}

// A path of modes.
template <int... I>
struct path {};

// ---- Arithmetic on indices, which are not negative ------------------------------------------------

LUTILE_FN int quo(int a, int b) { return int(unsigned(a) / unsigned(b)); }
LUTILE_FN int rem(int a, int b) { return int(unsigned(a) % unsigned(b)); }
LUTILE_FN long long quo(long long a, long long b) {
  return (long long)((unsigned long long)a / (unsigned long long)b);
}
LUTILE_FN long long rem(long long a, long long b) {
  return (long long)((unsigned long long)a % (unsigned long long)b);
}
template <class I>
LUTILE_FN I abs(I a) {
  return a < 0 ? -a : a;
}
template <class I>
LUTILE_FN I ceil_div(I a, I b) {
  return (a + b - 1) / b;
}
template <class I>
LUTILE_FN I min(I a, I b) {
  return a < b ? a : b;
}
template <class I>
LUTILE_FN I max(I a, I b) {
  return a < b ? b : a;
}

// Each component less than the bound's: what lies within a shape.
LUTILE_FN bool elem_less(long long a, long long b) { return a < b; }
LUTILE_FN bool elem_less(coord<> const &, coord<> const &) { return true; }
template <class... T, class... U>
LUTILE_FN bool elem_less(coord<T...> const &a, coord<U...> const &b) {
  return elem_less(a.first, b.first) && elem_less(a.rest, b.rest);
}

// ---- Element types, by CuTe's names ----------------------------------------------------------------

using f64 = double;
using f32 = float;
using s32 = int;
using s16 = short;
using s8 = signed char;
using u8 = unsigned char;
struct tf32 { unsigned bits; };
struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };
struct e4m3 { unsigned char bits; };
struct e5m2 { unsigned char bits; };
struct ue8m0 { unsigned char bits; };
struct ue4m3 { unsigned char bits; };
struct alignas(16) c64 { double re, im; };

// Narrower than a byte: packed in memory, the first element in the low bits. Names for types only;
// number.cuh loads and stores them.
struct e3m2 { unsigned char packed; };
struct e2m3 { unsigned char packed; };
struct e2m1 { unsigned char packed; };
struct s4 { unsigned char packed; };
struct u4 { unsigned char packed; };
struct b1 { unsigned char packed; };

template <class T>
constexpr int bits_of = 8 * int(sizeof(T));
template <>
constexpr int bits_of<e3m2> = 6;
template <>
constexpr int bits_of<e2m3> = 6;
template <>
constexpr int bits_of<e2m1> = 4;
template <>
constexpr int bits_of<s4> = 4;
template <>
constexpr int bits_of<u4> = 4;
template <>
constexpr int bits_of<b1> = 1;

// Vectors of bytes that one instruction moves.
template <int Bytes>
struct vector;
template <>
struct alignas(1) vector<1> { unsigned char word[1]; };
template <>
struct alignas(2) vector<2> { unsigned short word[1]; };
template <>
struct alignas(4) vector<4> { unsigned word[1]; };
template <>
struct alignas(8) vector<8> { unsigned word[2]; };
template <>
struct alignas(16) vector<16> { unsigned word[4]; };

// ---- Tensors ---------------------------------------------------------------------------------------

// A kernel's argument: the address of the element at offset 0 of the layout, and the layout.
template <class T, class Layout>
struct tensor {
  T *data;
  Layout layout;
  template <class... C>
  LUTILE_FN T &operator()(C... c) const {
    return data[layout(c...)];
  }
};

}  // namespace lutile
