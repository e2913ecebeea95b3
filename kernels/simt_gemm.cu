/*
** D = epilogue(alpha * A * B^T + beta * C + bias) by multiply-adds: A is (m, k), B is (n, k), C and D
** are (m, n), each of any strides and any element type of number.cuh, and a batch of each. For any
** GPU: what is left where tensor cores cannot, and a check on those that do. C, the bias and the
** scales may be null where the plan does not read them; C is not read where beta is 0.
**
** A block computes one tile of D. Tiles of A and B go through shared memory as numbers of the sums'
** type; all places in them, and which thread has which, come from the plan.
*/
#ifndef LUTILE_PLAN
#include "simt_gemm_plan.cuh"
#endif
#include "multiply_add.cuh"
#include "tile_order.cuh"

using plan::Accumulator;
using plan::Compute;
using plan::Value;
using multiply_add::as;

/* ---- Operands ------------------------------------------------------------------------------- */

/* A matrix in global memory; offsets and strides are in elements, which may be less than bytes. */
template <class T>
struct Matrix {
  T *data;
  long long first, row_stride, column_stride;

  DEVICE long long at(int row, int column) const {
    return first + row * row_stride + column * column_stride;
  }
};

template <class Operand>
DEVICE Accumulator load(const Matrix<const typename Operand::Element> &x, int row, int k) {
  const auto value = number::load(x.data, x.at(row, k));
  if constexpr (Operand::kRounds)
    return as<Accumulator>(number::decode<lutile::tf32>(number::encode<lutile::tf32>(value)));
  else
    return as<Accumulator>(value);
}

/* The tile at (row, k) to shared memory: zeros beyond the matrix, which has so many rows. */
template <class Operand>
DEVICE void copy_tile(const Matrix<const typename Operand::Element> &x, int row, int rows, int k,
                      int columns, Accumulator *shared) {
  const int thread_row = Operand::copy_row(threadIdx.x), thread_k = Operand::copy_k(threadIdx.x);
#pragma unroll
  for (int i = 0; i < Operand::kCopies; i++) {
    const int r = thread_row + (int)Operand::copy_row_step(i);
    const int c = thread_k + (int)Operand::copy_k_step(i);
    Accumulator value{};
    if (row + r < rows && k + c < columns) value = load<Operand>(x, row + r, k + c);
    shared[Operand::row_offset(r) + Operand::k_offset(c)] = value;
  }
}

/* ---- Products ------------------------------------------------------------------------------- */

/* A thread's sums, those of a column after each other. */
struct Sums {
  Accumulator values[plan::kColumns][plan::kRows];
};

/* The thread's first row and column are in the tile. */
DEVICE void multiply(const Accumulator *a, const Accumulator *b, int row, int column, Sums &sums) {
#pragma unroll 4 /* all of it takes twice as long to compile */
  for (int k = 0; k < plan::kBlockK; k++) {
    Accumulator left[plan::kRows], right[plan::kColumns];
#pragma unroll
    for (int i = 0; i < plan::kRows; i++)
      left[i] = a[plan::A::row_offset(row + plan::row_step(i)) + plan::A::k_offset(k)];
#pragma unroll
    for (int j = 0; j < plan::kColumns; j++)
      right[j] = b[plan::B::row_offset(column + plan::column_step(j)) + plan::B::k_offset(k)];
#pragma unroll
    for (int j = 0; j < plan::kColumns; j++)
#pragma unroll
      for (int i = 0; i < plan::kRows; i++) multiply_add::add(sums.values[j][i], left[i], right[j]);
  }
}

/* ---- Results -------------------------------------------------------------------------------- */

struct Epilogue {
  Matrix<const plan::Element> c;
  Matrix<plan::Element> d;
  const plan::Element *bias;
  Compute alpha, beta;
};

DEVICE Value bias_at(const plan::Element *bias, int i) {
  return as<Value>(number::load(bias, i));
}

/* One copy of the code, not one for each of a thread's sums. */
__device__ __noinline__ void write(const Epilogue &e, Accumulator sum, int row, int column) {
  Value old{};
  if (plan::kReadsC && e.beta != 0) {
    const Value c = as<Value>(number::load(e.c.data, e.c.at(row, column)));
    old = multiply_add::scaled(c, e.beta, old);
  }
  Value x = multiply_add::scaled(as<Value>(sum), e.alpha, old);
  if constexpr (plan::kBias == plan::kPerRow)
    x = multiply_add::scaled(bias_at(e.bias, row), Compute(1), x);
  if constexpr (plan::kBias == plan::kPerColumn)
    x = multiply_add::scaled(bias_at(e.bias, column), Compute(1), x);
  number::store(e.d.data, e.d.at(row, column), plan::epilogue(x, row, column));
}

/* The thread's first row and column are in D. */
DEVICE void write_all(const Epilogue &e, const Sums &sums, int row, int column, int m, int n) {
#pragma unroll
  for (int i = 0; i < plan::kRows; i++)
#pragma unroll
    for (int j = 0; j < plan::kColumns; j++) {
      const int r = row + (int)plan::row_step(i), c = column + (int)plan::column_step(j);
      if (r < m && c < n) write(e, sums.values[j][i], r, c);
    }
}

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(plan::kThreads)
    gemm(const char *a, const char *b, const char *c, char *d, const char *bias,
         const float *scale_a, const float *scale_b, int m, int n, int k, int batches,
         long long a_row, long long a_k, long long a_batch, long long b_row, long long b_k,
         long long b_batch, long long c_row, long long c_column, long long c_batch,
         long long d_row, long long d_column, long long d_batch, plan::Compute alpha,
         plan::Compute beta) {
  extern __shared__ __align__(16) char shared[];
  Accumulator *tile_a = (Accumulator *)shared, *tile_b = tile_a + plan::A::kSize;
  const Tile tile = tile_of(blockIdx.x, m, n);
  const long long batch = blockIdx.y + (long long)gridDim.y * blockIdx.z;
  if (batch >= batches) return;
  if constexpr (plan::kScales) alpha *= *scale_a * *scale_b;

  const Matrix<const plan::A::Element> left = {(const plan::A::Element *)a, batch * a_batch, a_row,
                                               a_k};
  const Matrix<const plan::B::Element> right = {(const plan::B::Element *)b, batch * b_batch, b_row,
                                                b_k};
  const int row = plan::row(threadIdx.x), column = plan::column(threadIdx.x);
  Sums sums = {};
#pragma unroll 1
  for (int at = 0; at < k; at += plan::kBlockK) {
    copy_tile<plan::A>(left, tile.m, m, at, k, tile_a);
    copy_tile<plan::B>(right, tile.n, n, at, k, tile_b);
    __syncthreads();
    multiply(tile_a, tile_b, row, column, sums);
    __syncthreads();
  }
  const Epilogue epilogue = {
      {(const plan::Element *)c, batch * c_batch, c_row, c_column},
      {(plan::Element *)d, batch * d_batch, d_row, d_column},
      (const plan::Element *)bias,
      alpha,
      beta};
  write_all(epilogue, sums, tile.m + row, tile.n + column, m, n);
}
