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
using Single = epilogue::Run<plan::Element, 1>;
constexpr unsigned kRunsOfPiece = kValuesOfPiece / plan::kRun;

/* What is added to a run of sums: elements of C, and of the bias, one for all or one for each. */
struct Addends {
  Run c;
  Single bias[plan::kBias == plan::kPerColumn ? plan::kRun : 1];

  DEVICE plan::Compute c_at(int e) const { return (plan::Compute)plan::Element::decode(c.get(e)); }
  DEVICE plan::Compute bias_at(int e) const {
    const int i = plan::kBias == plan::kPerColumn ? e : 0;
    return (plan::Compute)plan::Element::decode(bias[i].get(0));
  }
};

/*
** From sums to D. A piece is so many whole atoms that its values lie from its first one as those of
** piece 0 do from theirs. Nothing here branches, so that loads and stores overlap; all loads of a
** piece come before its stores, for the compiler leaves them in their order.
*/
struct Epilogue {
  Elements c, d;
  const char *bias;
  plan::Compute alpha, beta;
  int row, column; /* of the thread's first value */
  int m, n;

  /* Of a run whose first element is at 'rows', 'columns' from the thread's. */
  DEVICE bool is_inside(int rows, int columns) const {
    return row + rows < m && column + columns < n;
  }

  DEVICE Addends load(int rows, int columns) const {
    const bool is_there = is_inside(rows, columns);
    Addends addends;
    if constexpr (plan::kReadsC)
      addends.c = Run::load_if(is_there && beta != 0, c.at(rows, columns));
    if constexpr (plan::kBias == plan::kPerRow)
      addends.bias[0] = Single::load_if(is_there, bias + (row + rows) * kElementBytes);
    if constexpr (plan::kBias == plan::kPerColumn)
#pragma unroll
      for (int e = 0; e < plan::kRun; e++)
        addends.bias[e] = Single::load_if(is_there, bias + (column + columns + e) * kElementBytes);
    return addends;
  }

  /* A run of sums, from value 'first' of a piece on, to its place in D. */
  DEVICE void write(const Piece &piece, unsigned first, int rows, int columns,
                    const Addends &addends) const {
    plan::Compute values[plan::kRun];
#pragma unroll
    for (int e = 0; e < plan::kRun; e++) {
      plan::Compute x = (plan::Compute)value_of(piece, first + e);
      x *= alpha;
      if constexpr (plan::kReadsC) x += beta * addends.c_at(e);
      if constexpr (plan::kBias != plan::kNone) x += addends.bias_at(e);
      values[e] = plan::epilogue(x, row + rows, column + columns + e);
    }
    Run::encode(values).store_if(is_inside(rows, columns), d.at(rows, columns));
  }

  DEVICE void write_all() const {
#pragma unroll 1
    for (unsigned i = 0; i < plan::kPieces; i++) {
      const int rows = plan::c_row_step(i * kValuesOfPiece);
      const int columns = plan::c_column_step(i * kValuesOfPiece);
      Addends addends[kRunsOfPiece];
#pragma unroll
      for (unsigned r = 0; r < kRunsOfPiece; r++)
        addends[r] = load(rows + (int)plan::c_row_step(r * plan::kRun),
                          columns + (int)plan::c_column_step(r * plan::kRun));
      Piece piece;
      plan::Sums::read(i, piece);
#pragma unroll
      for (unsigned r = 0; r < kRunsOfPiece; r++)
        write(piece, r * plan::kRun, rows + (int)plan::c_row_step(r * plan::kRun),
              columns + (int)plan::c_column_step(r * plan::kRun), addends[r]);
    }
  }
};
