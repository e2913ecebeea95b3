/*
** A list of products D = epilogue(alpha * A * B^T + beta * C + bias) of any sizes in one launch, as
** gemm_sm90.cu computes one: the tiles of all of them, one after the other, go to the blocks as these
** are done with others.
*/
#ifndef LUTILE_PLAN
#include "gemm_sm90_plan.cuh"
#endif

#include "draws.cuh"
#include "pipeline.cuh"

static_assert(plan::kSplits == 1 && !plan::kScales, "parts and scales are for one product");

/* A product, in global memory. */
struct Group {
  tma::Map map_a, map_b, map_c, map_d;
  plan::Element::Bits *d;
  const plan::Element::Bits *c, *bias;
  plan::Strides d_strides, c_strides;
  int m, n, k;
};
static_assert(sizeof(Group) == 640, "as lutile.plan.gemm_sm90 says");

/* ---- The work of a launch ------------------------------------------------------------------- */

/*
** Product g has the tiles from first[g] to first[g + 1]. Each thread that asks goes on from
** the group that it was in, of which it keeps the sizes: its tiles come in order.
*/
struct Groups {
  static constexpr bool kIsList = true; /* of products, whose k may be 0 */

  const Group *groups;
  const int *first;
  unsigned tiles; /* of all */
  unsigned *counter;
  plan::Compute alpha, beta;
  int at = -1;
  unsigned begin = 0, end = 0; /* of that group's tiles */
  int m = 0, n = 0, k = 0;

  DEVICE Draws producer_numbers(unsigned shared) const { return {counter, tiles, shared}; }
  DEVICE Notes consumer_numbers(unsigned shared) const { return Notes(shared); }
  DEVICE unsigned count() const { return tiles; }

  DEVICE Unit unit(unsigned i, unsigned rank) {
    if (i >= end) enter(i);
    Unit unit = Tiles(m, n).unit(i - begin, rank, divide_up(k, plan::kBlockK));
    unit.group = at;
    return unit;
  }

  DEVICE const tma::Map &a(const Unit &unit) const { return groups[unit.group].map_a; }
  DEVICE const tma::Map &b(const Unit &unit) const { return groups[unit.group].map_b; }
  DEVICE Output output(const Unit &unit) const {
    const Group &group = groups[unit.group];
    return {&group.map_d,    &group.map_c, group.d, group.c, group.bias, group.d_strides,
            group.c_strides, group.m,      group.n, alpha,   beta};
  }
  DEVICE unsigned parts() const { return 1; }
  DEVICE Workspace workspace() const { return {nullptr, nullptr}; }

 private:
  /* Goes to the group of tile i; the threads that copy by its maps make sure of them. */
  DEVICE void enter(unsigned i) {
    do {
      at++;
      begin = end;
      end = first[at + 1];
    } while (i >= end);
    const Group &group = groups[at];
    m = group.m;
    n = group.n;
    k = group.k;
    if (threadIdx.x % kWarpgroup != 0) return;
    if (threadIdx.x < kWarpgroup) {
      tma::acquire(group.map_a);
      tma::acquire(group.map_b);
    } else {
      if constexpr (kLoadsC) tma::acquire(group.map_c);
      tma::acquire(group.map_d);
    }
  }
};

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __cluster_dims__(plan::kCluster, 1, 1)
    __launch_bounds__(plan::kThreads, 1)
        gemm(const void *groups, const int *first, int count, unsigned *counter,
             plan::Compute alpha, plan::Compute beta) {
  plan::Sums::declare();
  extern __shared__ __align__(1024) char shared[];
  const unsigned start = ptx::shared_address(shared);
  const unsigned rank = kCluster == 1 ? 0 : sm90::block_in_cluster();
  prepare(start);
  run(Groups{(const Group *)groups, first, (unsigned)first[count], counter, alpha, beta}, start,
      rank);
}
