/*
** The order in which blocks go through the tiles of D, each a unit of work; tiles that would leave
** most multiprocessors idle are divided along k into several. The plan comes before.
*/
#pragma once

#include "stages.cuh"

struct Unit {
  int m, n, batch;   /* of the tile's first element */
  int rows;          /* of D, from there on */
  int first, stages; /* along k */
  int tile, part;    /* of a tile in parts: its number among those, and this part's; else -1 */
  int group;         /* of a list of products: which one's tile it is */
};

DEVICE unsigned divide_up(unsigned a, unsigned b) { return (a + b - 1) / b; }
DEVICE unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/*
** Tiles of a cluster, one after the other for all clusters. These go down kGroup rows of tiles
** before they go on to the next column, so that those that run together share more in L2.
*/
struct Tiles {
  int m;
  unsigned rows, columns;

  DEVICE Tiles(int m, int n)
      : m(m),
        rows(divide_up(m, plan::kBlockM * plan::kClusterM)),
        columns(divide_up(n, plan::kBlockN * plan::kClusterN)) {}

  DEVICE unsigned count() const { return rows * columns; }

  /* This block's part of the cluster's tile i, all of k. */
  DEVICE Unit unit(unsigned i, unsigned rank, int stages) const {
    const unsigned batch = plan::kBatched ? i / (rows * columns) : 0;
    const unsigned in_batch = plan::kBatched ? i % (rows * columns) : i;
    const unsigned group = in_batch / (plan::kGroup * columns);
    const unsigned in_group = in_batch % (plan::kGroup * columns);
    const unsigned height = least(rows - group * plan::kGroup, plan::kGroup);
    const unsigned row = group * plan::kGroup + in_group % height, column = in_group / height;
    const int first = (int)(row * plan::kClusterM + rank % plan::kClusterM) * plan::kBlockM;
    return {first,
            (int)(column * plan::kClusterN + rank / plan::kClusterM) * plan::kBlockN,
            (int)batch,
            m - first,
            0,
            stages,
            -1,
            -1,
            0};
  }
};

/*
** Whole tiles as long as there is one for each cluster; the rest in as many parts as there are
** clusters for, of kLeastStages or more.
*/
struct Schedule {
  Tiles tiles;
  unsigned whole, parts, count;
  int stages;

  DEVICE Schedule(int m, int n, int k, int batches, unsigned clusters)
      : tiles(m, n), parts(1), stages(divide_up(k, plan::kBlockK)) {
    const unsigned all = tiles.count() * batches, rest = all % clusters;
    if (plan::kSplits > 1 && rest > 0) {
      parts = least(least(plan::kSplits, clusters / rest), stages / plan::kLeastStages);
      if (parts == 0) parts = 1;
    }
    whole = parts == 1 ? all : all - rest;
    count = whole + (all - whole) * parts;
  }

  DEVICE Unit unit(unsigned i, unsigned rank) const {
    if (plan::kSplits == 1 || i < whole) return tiles.unit(i, rank, stages);
    const int tile = (i - whole) / parts, part = (i - whole) % parts;
    Unit unit = tiles.unit(whole + tile, rank, stages);
    unit.first = part * stages / (int)parts;
    unit.stages = (part + 1) * stages / (int)parts - unit.first;
    unit.tile = tile;
    unit.part = part;
    return unit;
  }
};

/* The numbers of a block's units where all take as long: each cluster's are as far apart as there are
** clusters. */
class Steps {
 public:
  unsigned number = blockIdx.x / kCluster;

  DEVICE void look_ahead() {}
  DEVICE void advance() { number += gridDim.x / kCluster; }
};
