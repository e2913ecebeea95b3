/*
** The order of D's tiles, for kernels of mma.sync. The plan comes before.
*/
#pragma once

#include "ptx.cuh"

struct Tile {
  int m, n; /* of its first element */
};

/*
** Blocks go down kGroup rows of tiles before they go on to the next column, so that those that run
** together share more of A and B in L2.
*/
DEVICE Tile tile_of(unsigned block, int m, int n) {
  unsigned rows = (m + plan::kBlockM - 1) / plan::kBlockM;
  unsigned columns = (n + plan::kBlockN - 1) / plan::kBlockN;
  unsigned group = block / (plan::kGroup * columns), in_group = block % (plan::kGroup * columns);
  unsigned left = rows - group * plan::kGroup;
  unsigned height = left < plan::kGroup ? left : plan::kGroup;
  return {(int)(group * plan::kGroup + in_group % height) * plan::kBlockM,
          (int)(in_group / height) * plan::kBlockN};
}
