/*
** D = epilogue(alpha * A * B^T + beta * C + bias) by multiply-adds: A is (m, k), B is (n, k), C and D
** are (m, n), each of any strides and any element type of number.cuh, and a batch of each. For any
** GPU: what is left where tensor cores cannot, and a check on those that do. C, the bias and the
** scales may be null where the plan does not read them; C is not read where beta is 0.
**
** A block computes one tile of D. Tiles of A and B go through shared memory as numbers of the sums'
** type; all places in them, and which thread has which, come from the plan. While a tile is
** multiplied the next one comes to registers, and from there to the other half of shared memory.
*/
#ifndef LUTILE_PLAN
#include "simt_gemm_plan.cuh"
#endif
#include "multiply_add.cuh"
#include "simt_copier.cuh"
#include "tile_order.cuh"

using plan::Compute;
using plan::Value;
using multiply_add::as;

/* ---- Products ------------------------------------------------------------------------------- */

constexpr int kRows = plan::A::kSums, kColumns = plan::B::kSums; /* of a thread's sums */

struct Column {
  Accumulator values[kRows];
};

/* A thread's. */
struct Sums {
  Column columns[kColumns];
};

/* The factors of a thread that lie at k from its first one, 'from'. */
template <class Operand>
DEVICE void load_factors(const Accumulator *from, int k, Accumulator (&x)[Operand::kSums]) {
#pragma unroll
  for (int i = 0; i < Operand::kSums; i += Operand::kLoad) {
    const auto vector = *(const Vector<Accumulator, Operand::kLoad> *)(
        from + Operand::factor_step(i) + Operand::k_offset(k));
#pragma unroll
    for (int j = 0; j < Operand::kLoad; j++) x[i + j] = vector.at[j];
  }
}

/*
** Products of the thread's factors, the first of which are given. Extents are powers of two, so that
** offsets of a sum are sums of offsets, and those within kUnroll are constants of instructions.
*/
DEVICE void multiply(const Accumulator *a, const Accumulator *b, Sums &sums) {
#pragma unroll 1
  for (int first = 0; first < plan::kBlockK; first += plan::kUnroll) {
    const Accumulator *const a_first = a + plan::A::k_offset(first);
    const Accumulator *const b_first = b + plan::B::k_offset(first);
#pragma unroll
    for (int k = 0; k < plan::kUnroll; k++) {
      Accumulator left[kRows], right[kColumns];
      load_factors<plan::A>(a_first, k, left);
      load_factors<plan::B>(b_first, k, right);
#pragma unroll
      for (int j = 0; j < kColumns; j++)
#pragma unroll
        for (int i = 0; i < kRows; i++)
          multiply_add::add(sums.columns[j].values[i], left[i], right[j]);
    }
  }
}

/* ---- Results -------------------------------------------------------------------------------- */

/* A matrix in global memory; offsets and strides are in elements, which may be less than bytes. */
template <class T>
struct Matrix {
  T *data;
  long long first, row_stride, column_stride;

  DEVICE long long at(int row, int column) const {
    return first + row * row_stride + column * column_stride;
  }
};

struct Epilogue {
  Matrix<const plan::Element> c;
  Matrix<plan::Element> d;
  const plan::Element *bias;
  Compute alpha, beta;
};

DEVICE Value bias_at(const plan::Element *bias, int i) {
  return as<Value>(number::load(bias, i));
}

DEVICE void write(const Epilogue &e, Accumulator sum, int row, int column) {
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

/* C to the L2 while the product is summed up: the loads above wait for each other. */
DEVICE void prefetch(const Matrix<const plan::Element> &c, int row, int column, int m, int n) {
#pragma unroll 1
  for (int i = 0; i < kRows * kColumns; i++) {
    const int y = row + (int)plan::A::sum_step(i % kRows);
    const int x = column + (int)plan::B::sum_step(i / kRows);
    const long long bytes = c.at(y, x) * lutile::bits_of<plan::Element> / 8;
    if (y < m && x < n) ptx::prefetch((const char *)c.data + bytes);
  }
}

/* Registers have no index: values come to the first place one after the other. */
template <class T, int kCount>
DEVICE void shift(T (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i + 1 < kCount; i++) values[i] = values[i + 1];
}

/*
** The thread's first row and column are in D. One copy of the code, not one for each of the sums:
** that would take twice as long to compile.
*/
DEVICE void write_all(const Epilogue &e, Sums &sums, int row, int column, int m, int n) {
#pragma unroll 1
  for (int j = 0; j < kColumns; j++) {
    const int c = column + (int)plan::B::sum_step(j);
    Column now = sums.columns[0];
#pragma unroll 1
    for (int i = 0; i < kRows; i++) {
      const int r = row + (int)plan::A::sum_step(i);
      if (r < m && c < n) write(e, now.values[0], r, c);
      shift(now.values);
    }
    shift(sums.columns);
  }
}

/* ---- The kernel ----------------------------------------------------------------------------- */

struct Place {
  Tile tile;
  long long batch;
};

DEVICE Place place_of_block(int m, int n) {
  return {tile_of(ptx::hide(blockIdx.x), m, n),
          ptx::hide(blockIdx.y) + (long long)gridDim.y * blockIdx.z};
}

extern "C" __global__ void __launch_bounds__(plan::kThreads, plan::kBlocks)
    gemm(const char *a, const char *b, const char *c, char *d, const char *bias,
         const float *scale_a, const float *scale_b, int m, int n, int k, int batches,
         long long a_row, long long a_k, long long a_batch, long long b_row, long long b_k,
         long long b_batch, long long c_row, long long c_column, long long c_batch,
         long long d_row, long long d_column, long long d_batch, plan::Compute alpha,
         plan::Compute beta) {
  extern __shared__ __align__(16) char shared[];
  constexpr int kStage = plan::A::kSize + plan::B::kSize;
  const Place from = place_of_block(m, n);
  if (from.batch >= batches) return;
  if constexpr (plan::kScales) alpha *= *scale_a * *scale_b;
  const Matrix<const plan::Element> old = {(const plan::Element *)c, from.batch * c_batch, c_row,
                                           c_column};
  if (plan::kReadsC && beta != 0)
    prefetch(old, from.tile.m + (int)plan::A::sum(threadIdx.x),
             from.tile.n + (int)plan::B::sum(threadIdx.x), m, n);

  Copier<plan::A> left(a, from.batch * a_batch, a_row, a_k, from.tile.m, m);
  Copier<plan::B> right(b, from.batch * b_batch, b_row, b_k, from.tile.n, n);
  const unsigned factor_a = plan::A::factor(threadIdx.x);
  const unsigned factor_b = plan::A::kSize + plan::B::factor(threadIdx.x);
  Accumulator *now = (Accumulator *)shared, *next = now + kStage;
  Sums sums = {};
#pragma unroll 1
  for (int at = -plan::kBlockK; at < k; at += plan::kBlockK) { /* the first tile only comes */
    const int k_left = k - plan::kBlockK - at; /* for the next tile */
    const bool has_next = k_left > 0;
    if (has_next) left.load(k_left), right.load(k_left);
    if (at >= 0) multiply(now + factor_a, now + factor_b, sums);
    if (has_next) left.store(next), right.store(next + plan::A::kSize);
    __syncthreads();
    Accumulator *const done = now;
    now = next;
    next = done;
  }
  const Place to = place_of_block(m, n); /* again, so that no registers hold it meanwhile */
  const Epilogue epilogue = {
      {(const plan::Element *)c, to.batch * c_batch, c_row, c_column},
      {(plan::Element *)d, to.batch * d_batch, d_row, d_column},
      (const plan::Element *)bias,
      alpha,
      beta};
  write_all(epilogue, sums, to.tile.m + (int)plan::A::sum(threadIdx.x),
            to.tile.n + (int)plan::B::sum(threadIdx.x), m, n);
}
