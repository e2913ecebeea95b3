/*
** Tiles of a matrix to shared memory by TMA. 'Operand' is what a plan says of the matrix:
** lutile.plan.tma_operand writes it.
*/
#pragma once

#include "tma.cuh"

/*
** This block's slice of an operand's tile, a box at a time. 'rank' is the block's among those that
** share the tile, which are as many as there are slices.
*/
template <class Operand>
DEVICE void load(const tma::Map &map, unsigned stage, unsigned barrier, int row, int k, int batch,
                 unsigned rank) {
  if constexpr (Operand::kBoxes * Operand::kSlices == 1) {
    tma::load(stage, map, Operand::corner(row, k, batch), barrier);
  } else {
    const unsigned first = Operand::kSlices == 1 ? 0 : rank * Operand::kBoxes;
#pragma unroll
    for (unsigned i = 0; i < Operand::kBoxes; i++) {
      const auto at = Operand::corner(row + (int)Operand::box_row(first + i),
                                      k + (int)Operand::box_k(first + i), batch);
      const unsigned target = stage + Operand::box(first + i);
      if constexpr (Operand::kSlices == 1)
        tma::load(target, map, at, barrier);
      else
        tma::load_to_blocks(target, map, at, barrier, (1 << Operand::kSlices) - 1);
    }
  }
}
