/*
** A list of products D = epilogue(alpha * A * B^T + beta * C + bias) of any sizes in one launch, as
** gemm_sm90.cu computes one: blocks go through the tiles of all of them, one after the other.
*/
#ifndef LUTILE_PLAN
#include "gemm_sm90_plan.cuh"
#endif

#include "pipeline.cuh"

static_assert(plan::kSplits == 1 && !plan::kScales, "parts and scales are for one product");

/* A product, in global memory. */
struct Group {
  tma::Map a, b, d;
  plan::Element::Bits *to;
  const plan::Element::Bits *c, *bias;
  plan::Strides d_strides, c_strides;
  int m, n, k;
};
static_assert(sizeof(Group) == 512, "as lutile.plan.gemm_sm90 says");

/* ---- The work of a launch ------------------------------------------------------------------- */

/*
** Product g has the clusters' tiles from first[g] to first[g + 1]. Each thread that asks goes on from
** the group that it was in: its tiles come in order.
*/
struct Groups {
  static constexpr bool kIsList = true; /* of products, whose k may be 0 */

  const Group *groups;
  const int *first;
  int group_count;
  plan::Compute alpha, beta;
  int at = -1;

  DEVICE unsigned count() const { return first[group_count]; }

  DEVICE Unit unit(unsigned i, unsigned rank) {
    if (at < 0 || i >= (unsigned)first[at + 1]) enter(i);
    const Group &group = groups[at];
    return Tiles(group.m, group.n).unit(i - first[at], rank, divide_up(group.k, plan::kBlockK));
  }

  DEVICE const tma::Map &a() const { return groups[at].a; }
  DEVICE const tma::Map &b() const { return groups[at].b; }
  DEVICE Output output() const {
    const Group &group = groups[at];
    return {&group.d,        group.to, group.c, group.bias, group.d_strides,
            group.c_strides, group.m,  group.n, alpha,      beta};
  }
  DEVICE unsigned parts() const { return 1; }
  DEVICE Workspace workspace() const { return {nullptr, nullptr}; }

 private:
  /* Goes to the group of tile i; the threads that copy by its maps make sure of them. */
  DEVICE void enter(unsigned i) {
    do at++;
    while (i >= (unsigned)first[at + 1]);
    if (threadIdx.x % kWarpgroup != 0) return;
    tma::acquire(groups[at].a);
    tma::acquire(groups[at].b);
    tma::acquire(groups[at].d);
  }
};

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __cluster_dims__(plan::kCluster, 1, 1)
    __launch_bounds__(plan::kThreads, 1) gemm(const void *groups, const int *first, int count,
                                              plan::Compute alpha, plan::Compute beta) {
  plan::Sums::declare();
  extern __shared__ __align__(1024) char shared[];
  const unsigned start = ptx::shared_address(shared);
  const unsigned rank = kCluster == 1 ? 0 : sm90::block_in_cluster();
  prepare(start);
  run(Groups{(const Group *)groups, first, count, alpha, beta}, start, rank);
}
