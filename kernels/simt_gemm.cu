// D = alpha * A * B^T + beta * C by multiply-adds, for any layouts, element types and GPU: what is
// left where tensor cores do not fit, and a check on those that do.
//
// A is (M, K, L), B is (N, K, L), C and D are (M, N, L). Sums are of value::accumulator's type;
// the rest of the arithmetic is in double precision, complex where D is.
#include "number.cuh"

#ifndef ACCUMULATOR
#define ACCUMULATOR float
#endif
using accumulator = ACCUMULATOR;
using index = layout::D::index;

constexpr int kThreads = 256;
constexpr int kTileM = 64, kTileN = 64, kTileK = 16;
constexpr int kEach = 4;  // rows and columns of a thread

static_assert(kTileM / kEach * (kTileN / kEach) == kThreads, "a thread for each part of the tile");

__device__ inline void zero(float &x) { x = 0; }
__device__ inline void zero(double &x) { x = 0; }
__device__ inline void zero(int &x) { x = 0; }
__device__ inline void zero(lutile::c64 &x) { x = {0, 0}; }

__device__ inline void add_product(float &c, float a, float b) { c = fmaf(a, b, c); }
__device__ inline void add_product(double &c, double a, double b) { c = fma(a, b, c); }
// Modulo 2^32, as the tensor cores' integer sums wrap.
__device__ inline void add_product(int &c, int a, int b) {
  c = int(unsigned(c) + unsigned(a) * unsigned(b));
}
__device__ inline void add_product(lutile::c64 &c, lutile::c64 a, lutile::c64 b) {
  c.re = fma(a.re, b.re, fma(-a.im, b.im, c.re));
  c.im = fma(a.re, b.im, fma(a.im, b.re, c.im));
}

__device__ inline void convert(float &to, double x) { to = float(x); }
__device__ inline void convert(double &to, double x) { to = x; }
__device__ inline void convert(int &to, double x) { to = int(x); }
template <class X>
__device__ void convert(lutile::c64 &to, X x) {
  to = {number::real(x), number::imaginary(x)};
}

struct block {
  index m, n, batch;  // of its first element
};

// A tile of an operand, (row, k); zeros beyond its edges.
template <int Rows, class T, class Layout>
__device__ void load_tile(const lutile::tensor<T, Layout> &x, index row, index k, index batch,
                          accumulator (&shared)[kTileK][Rows + 1]) {
#pragma unroll 1
  for (int i = threadIdx.x; i < Rows * kTileK; i += kThreads) {
    const int r = i % Rows, c = i / Rows;
    accumulator value;
    zero(value);
    if (row + r < x.layout.template size<0>() && k + c < x.layout.template size<1>())
      convert(value, number::load(x.data, x.layout(row + r, k + c, batch)));
    shared[c][r] = value;
  }
}

__device__ void multiply(const accumulator (&a)[kTileK][kTileM + 1],
                         const accumulator (&b)[kTileK][kTileN + 1], int m, int n,
                         accumulator (&sum)[kEach][kEach]) {
#pragma unroll
  for (int k = 0; k < kTileK; k++) {
#pragma unroll
    for (int i = 0; i < kEach; i++)
#pragma unroll
      for (int j = 0; j < kEach; j++)
        add_product(sum[i][j], a[k][m + i * (kTileM / kEach)], b[k][n + j * (kTileN / kEach)]);
  }
}

// C is not read where beta is 0. One copy of the code, not one for each element of a thread.
template <class TC, class LC, class TD, class LD>
__device__ __noinline__ void store_result(accumulator sum, double alpha, double beta, index m, index n,
                             index batch, const lutile::tensor<TC, LC> &C,
                             const lutile::tensor<TD, LD> &D) {
  lutile::c64 x;
  convert(x, sum);
  x.re *= alpha;
  x.im *= alpha;
  if (beta != 0) {
    const auto c = number::load(C.data, C.layout(m, n, batch));
    x.re += beta * number::real(c);
    x.im += beta * number::imaginary(c);
  }
  number::store(D.data, D.layout(m, n, batch), x);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    simt_gemm(lutile::tensor<const type::A, layout::A> A, lutile::tensor<const type::B, layout::B> B,
              lutile::tensor<const type::C, layout::C> C, lutile::tensor<type::D, layout::D> D,
              double alpha, double beta) {
  __shared__ accumulator a[kTileK][kTileM + 1];
  __shared__ accumulator b[kTileK][kTileN + 1];
  const index tiles_m = lutile::ceil_div(D.layout.template size<0>(), index(kTileM));
  const block at = {index(blockIdx.x) % tiles_m * kTileM, index(blockIdx.x) / tiles_m * kTileN,
                    index(blockIdx.y) + index(gridDim.y) * index(blockIdx.z)};
  if (at.batch >= D.layout.template size<2>()) return;
  const int m = threadIdx.x % (kTileM / kEach), n = threadIdx.x / (kTileM / kEach);
  accumulator sum[kEach][kEach];
  for (auto &row : sum)
    for (auto &x : row) zero(x);
  for (index k = 0; k < A.layout.template size<1>(); k += kTileK) {
    load_tile<kTileM>(A, at.m, k, at.batch, a);
    load_tile<kTileN>(B, at.n, k, at.batch, b);
    __syncthreads();
    multiply(a, b, m, n, sum);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; i++)
#pragma unroll
    for (int j = 0; j < kEach; j++) {
      const index row = at.m + m + i * (kTileM / kEach), column = at.n + n + j * (kTileN / kEach);
      if (row < D.layout.template size<0>() && column < D.layout.template size<1>())
        store_result(sum[i][j], alpha, beta, row, column, at.batch, C, D);
    }
}
