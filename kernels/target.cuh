/*
** What gemm_sm90 writes, and what it adds to its sums, in global memory: D, C and the bias; and how
** chunks go there and come from there. The plan comes before.
*/
#pragma once

#include "stages.cuh"
#include "tma.cuh"

constexpr int kElementBytes = sizeof(plan::Element::Bits);

/* D, and C and the bias, which are added to the sums times alpha. */
struct Output {
  const tma::Map *map_d, *map_c;
  plan::Element::Bits *d;
  const plan::Element::Bits *c, *bias;
  plan::Strides d_strides, c_strides;
  int m, n;
  plan::Compute alpha, beta;

  /* Whether threads may have to write chunks: else TMA takes all. */
  static constexpr bool kMayCopy = !plan::D::kByTma || !plan::D::kEndsInUnits;

  /*
  ** Whether they write this one: where TMA does not take D; or where rows end in the chunk, but not
  ** at a multiple of the 16 bytes that TMA writes as a whole.
  */
  DEVICE bool is_for_threads(int column) const {
    constexpr int kUnit = 16 / kElementBytes;
    if constexpr (!plan::D::kByTma) return true;
    return n % kUnit != 0 && column < n && n < column + plan::D::kChunkColumns;
  }

  /* A chunk of D by TMA, by one thread. */
  DEVICE void store(unsigned buffer, int batch, int row, int column) const {
#pragma unroll
    for (unsigned i = 0; i < plan::D::kBoxes; i++)
      tma::store(*map_d, plan::D::corner(row + (int)plan::D::box_row(i), column, batch),
                 buffer + plan::D::box(i));
  }

  /* The same chunk of C; its bytes count at the barrier. */
  DEVICE void load(unsigned buffer, unsigned barrier, int batch, int row, int column) const {
#pragma unroll
    for (unsigned i = 0; i < plan::D::kBoxes; i++)
      tma::load(buffer + plan::D::box(i), *map_c,
                plan::D::corner(row + (int)plan::D::box_row(i), column, batch), barrier);
  }

  /* What of a chunk is inside of D, by all threads of a warpgroup. */
  DEVICE void copy(unsigned buffer, int batch, int row, int column) const {
#pragma unroll(plan::D::kByTma ? 1 : 4)
    for (unsigned i = first_element(); i < plan::D::kChunkElements; i += kNextElement) {
      const Spot spot = {i, row, column};
      plan::Element::Bits *to = d + plan::D::offset(spot.y, spot.x, batch, d_strides);
      if (has_vector(spot))
        put<kVector>(to, buffer + plan::D::element(i));
      else
        for (int e = 0; e < count_at(spot); e++) put<1>(to + e, buffer + plan::D::element(i + e));
    }
  }

  /* The same of C, to the buffer; some loads at once, for they take long. */
  DEVICE void fetch(unsigned buffer, int batch, int row, int column) const {
#pragma unroll 1
    for (unsigned i = first_element(); i < plan::D::kChunkElements; i += kAtOnce * kNextElement) {
      unsigned words[kAtOnce][kWordsOf<kVector>] = {};
#pragma unroll
      for (unsigned j = 0; j < kAtOnce; j++) {
        const Spot spot = {i + j * kNextElement, row, column};
        ptx::load_global_if<kVector * kElementBytes>(has_vector(spot), words[j],
                                                     place_in_c(spot, batch));
      }
#pragma unroll
      for (unsigned j = 0; j < kAtOnce; j++) {
        const Spot spot = {i + j * kNextElement, row, column};
        if (has_vector(spot))
          ptx::store_shared<kVector * kElementBytes>(buffer + plan::D::element(spot.i), words[j]);
        else
          for (int e = 0; e < count_at(spot); e++)
            get(buffer + plan::D::element(spot.i + e), place_in_c(spot, batch) + e);
      }
    }
  }

 private:
  static constexpr int kColumns = plan::D::kChunkColumns, kVector = plan::D::kVector;
  static constexpr unsigned kNextElement = kWarpgroup * kVector;
  /* Vectors of a thread; one where even of sums it has few registers at once. */
  static constexpr unsigned kAtOnce = plan::kRegistersOfPiece < 16 ? 1 : 4;

  template <int kElements>
  static constexpr int kWordsOf = kElements *kElementBytes < 4 ? 1 : kElements *kElementBytes / 4;

  /* Element i of a chunk that starts at (row, column) of D: where that is in D. */
  struct Spot {
    unsigned i;
    int y, x;

    DEVICE Spot(unsigned i, int row, int column)
        : i(i), y(row + (int)(i / kColumns)), x(column + (int)(i % kColumns)) {}
  };

  /* The first one that a thread copies. */
  static DEVICE unsigned first_element() { return threadIdx.x % kWarpgroup * kVector; }

  /* Elements of D from there to the end of the row. */
  DEVICE int count_at(const Spot &spot) const {
    return spot.i < plan::D::kChunkElements && spot.y < m ? n - spot.x : 0;
  }

  DEVICE bool has_vector(const Spot &spot) const { return count_at(spot) >= kVector; }

  DEVICE const plan::Element::Bits *place_in_c(const Spot &spot, int batch) const {
    return c + plan::D::offset(spot.y, spot.x, batch, c_strides);
  }

  template <int kElements>
  static DEVICE void put(plan::Element::Bits *to, unsigned from) {
    unsigned words[kWordsOf<kElements>];
    ptx::load_shared<kElements * kElementBytes>(words, from);
    ptx::store_global<kElements * kElementBytes>(to, words);
  }

  static DEVICE void get(unsigned to, const plan::Element::Bits *from) {
    unsigned word;
    ptx::load_global<kElementBytes>(&word, from);
    ptx::store_shared<kElementBytes>(to, &word);
  }
};
