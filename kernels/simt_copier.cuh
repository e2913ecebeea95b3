/*
** Tiles of a matrix from global memory through registers to shared memory, as numbers of the sums'
** type. 'Operand' is what a plan says of the matrix: lutile.plan.simt_block writes it. The plan comes
** before.
*/
#pragma once

#include "multiply_add.cuh"

using plan::Accumulator;

/* Moved at once; at a multiple of its size. */
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Vector {
  T at[kCount];
};

template <class Operand, class X>
DEVICE Accumulator to_factor(X number) {
  if constexpr (Operand::kRounds)
    number = number::decode<lutile::tf32>(number::encode<lutile::tf32>(number));
  return multiply_add::as<Accumulator>(number);
}

/* One thread's part of the copies of A or B, tile after tile along k: zeros beyond the matrix. */
template <class Operand>
struct Copier {
  using Element = typename Operand::Element;
  static constexpr int kVector = Operand::kVector;
  static constexpr int kRowStep = Operand::kAlongRows ? 1 : 0, kColumnStep = 1 - kRowStep;

  const Element *data;
  long long row_stride, k_stride; /* in elements, which may be less than bytes */
  long long first;                /* the thread's first element of the next tile */
  int rows_left;                  /* from there to the matrix's end */
  bool has_vectors;               /* in its memory */
  Accumulator values[Operand::kCopies];

  DEVICE Copier(const char *matrix, long long offset, long long row_stride, long long k_stride,
                int first_row, int rows)
      : data((const Element *)matrix), row_stride(row_stride), k_stride(k_stride) {
    const int row = first_row + (int)Operand::copy_row(threadIdx.x);
    const int k = Operand::copy_k(threadIdx.x);
    first = offset + row * row_stride + k * k_stride;
    rows_left = rows - row;
    has_vectors = kVector > 1 && is_aligned((unsigned long long)(data + offset));
  }

  /* Whether elements along the mode of vectors are neighbours, and vectors start at such places. */
  DEVICE bool is_aligned(unsigned long long address) const {
    const long long unit = Operand::kAlongRows ? row_stride : k_stride;
    const long long other = Operand::kAlongRows ? k_stride : row_stride;
    return unit == 1 && (address | other * sizeof(Element)) % (kVector * sizeof(Element)) == 0;
  }

  /* From the thread's first element on, in a tile with so much of k to the matrix's end. */
  DEVICE bool is_inside(int row, int k, int k_left) const {
    return row < rows_left && (int)Operand::copy_k(threadIdx.x) + k < k_left;
  }

  /* Whether a vector's last element is in the matrix. */
  DEVICE bool has_vector(int row, int k, int k_left) const {
    return has_vectors &&
           is_inside(row + (kVector - 1) * kRowStep, k + (kVector - 1) * kColumnStep, k_left);
  }

  DEVICE void load_vector(long long at, Accumulator *x) const {
    if constexpr (kVector > 1) {
      const auto vector = *(const Vector<number::word<Element>, kVector> *)(data + at);
#pragma unroll
      for (int i = 0; i < kVector; i++)
        x[i] = to_factor<Operand>(number::decode<Element>(vector.at[i]));
    }
  }

  DEVICE long long place(int row, int k) const { return first + row * row_stride + k * k_stride; }

  /* Those of a vector, one by one. */
  DEVICE void load_elements(int row, int k, int k_left, Accumulator *x) const {
    long long at = place(row, k);
#pragma unroll
    for (int i = 0; i < kVector; i++) {
      x[i] = Accumulator{};
      if (is_inside(row + i * kRowStep, k + i * kColumnStep, k_left))
        x[i] = to_factor<Operand>(number::load(data, at));
      at += Operand::kAlongRows ? row_stride : k_stride;
    }
  }

  /* The next tile to registers. */
  DEVICE void load(int k_left) {
#pragma unroll
    for (int i = 0; i < Operand::kCopies; i += kVector) {
      const int row = Operand::copy_row_step(i), k = Operand::copy_k_step(i);
      if (has_vector(row, k, k_left))
        load_vector(place(row, k), values + i);
      else
        load_elements(row, k, k_left, values + i);
    }
    first += plan::kBlockK * k_stride;
  }

  /* The tile in registers to shared memory. */
  DEVICE void store(Accumulator *tile) const {
    const int thread_row = Operand::copy_row(threadIdx.x), thread_k = Operand::copy_k(threadIdx.x);
#pragma unroll
    for (int i = 0; i < Operand::kCopies; i += Operand::kStore) {
      const int row = thread_row + (int)Operand::copy_row_step(i);
      const int k = thread_k + (int)Operand::copy_k_step(i);
      Vector<Accumulator, Operand::kStore> vector;
#pragma unroll
      for (int j = 0; j < Operand::kStore; j++) vector.at[j] = values[i + j];
      *(decltype(vector) *)(tile + Operand::row_offset(row) + Operand::k_offset(k)) = vector;
    }
  }
};
