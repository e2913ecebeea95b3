/*
** A thread's sums of mma.sync to global memory: runs of neighbouring values, straight from registers.
** The plan comes before.
**
** Runs of four are the columns of two atoms: half of the threads have the two pairs of them crossed.
*/
#pragma once

#include "element.cuh"
#include "epilogue.cuh"

constexpr int kSumBytes = sizeof(plan::Accumulator::Bits);
constexpr int kElementBytes = sizeof(plan::Element::Bits);

static_assert(plan::kRegistersOfPiece * (int)sizeof(plan::Register) % (plan::kRun * kSumBytes) == 0,
              "whole runs");

/* Sums of a thread, seen a piece at a time. */
using Piece = plan::Register[plan::kRegistersOfPiece];
constexpr unsigned kValues = sizeof(plan::Register) / kSumBytes; /* in a register */
constexpr unsigned kValuesOfPiece = kValues * plan::kRegistersOfPiece;

constexpr bool kCrosses = plan::kRun == 4;

DEVICE auto value_at(const Piece &piece, unsigned i) {
  const plan::Register bits = piece[i / kValues] >> i % kValues * 8 * kSumBytes;
  return plan::Accumulator::decode((plan::Accumulator::Bits)bits);
}

/* The value that is written as the i-th one of a piece. */
DEVICE auto value_of(const Piece &piece, unsigned i) {
  const auto x = value_at(piece, plan::run_value(i));
  if constexpr (kCrosses) return threadIdx.x & 2 ? value_at(piece, plan::run_value(i ^ 2)) : x;
  return x;
}

/*
** C or D, from the thread's first element on; where a run is more than one element, its columns are
** contiguous.
*/
struct Elements {
  char *first;
  long long row_stride, column_stride;

  DEVICE Elements(char *data, long long row_stride, long long column_stride, int row, int column)
      : first(data),
        row_stride(row_stride),
        column_stride(plan::kRun > 1 ? 1 : column_stride) {
    first = at(row, column);
  }

  DEVICE char *at(int rows, int columns) const {
    return first + (rows * row_stride + columns * column_stride) * kElementBytes;
  }
};

using Run = epilogue::Run<plan::Element, plan::kRun>;

/*
** From sums to D. A piece is so many whole atoms that its values lie from its first one as those of
** piece 0 do from theirs.
*/
struct Epilogue {
  Elements c, d;
  const char *bias;
  plan::Compute alpha, beta;
  int row, column; /* of the thread's first value */
  int m, n;

  DEVICE plan::Compute bias_at(int i, bool is_inside) const {
    auto bits = epilogue::Run<plan::Element, 1>::load_if(is_inside, bias + i * kElementBytes).get(0);
    return (plan::Compute)plan::Element::decode(bits);
  }

  /*
  ** A run of sums to its place in D: from value 'first' of a piece on, whose first one is at 'rows',
  ** 'columns' from the thread's. Nothing here branches, so that the runs' loads and stores overlap.
  */
  DEVICE void write(const Piece &piece, unsigned first, int rows, int columns) const {
    rows += (int)plan::c_row_step(first);
    columns += (int)plan::c_column_step(first);
    const bool is_inside = row + rows < m && column + columns < n;
    Run old;
    if constexpr (plan::kReadsC) old = Run::load_if(is_inside, c.at(rows, columns));
    plan::Compute values[plan::kRun];
#pragma unroll
    for (int e = 0; e < plan::kRun; e++) {
      plan::Compute x = (plan::Compute)value_of(piece, first + e);
      x *= alpha;
      if constexpr (plan::kReadsC) x += beta * (plan::Compute)plan::Element::decode(old.get(e));
      if constexpr (plan::kBias == plan::kPerRow) x += bias_at(row + rows, is_inside);
      if constexpr (plan::kBias == plan::kPerColumn) x += bias_at(column + columns + e, is_inside);
      values[e] = plan::epilogue(x, row + rows, column + columns + e);
    }
    Run::encode(values).store_if(is_inside, d.at(rows, columns));
  }

  DEVICE void write_all() const {
#pragma unroll 1
    for (unsigned i = 0; i < plan::kPieces; i++) {
      Piece piece;
      plan::Sums::read(i, piece);
      const int rows = plan::c_row_step(i * kValuesOfPiece);
      const int columns = plan::c_column_step(i * kValuesOfPiece);
#pragma unroll
      for (unsigned first = 0; first < kValuesOfPiece; first += plan::kRun)
        write(piece, first, rows, columns);
    }
  }
};
