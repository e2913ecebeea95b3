/*
** D = epilogue(alpha * A * B^T + beta * C + bias) on Hopper (sm_90a): A is (m, k), B is (n, k), C and
** D are (m, n), and a batch of each.
**
** As many blocks as there are multiprocessors go through the tiles of D. In each, one thread loads
** tiles of A and B by TMA into a ring of stages in shared memory; warpgroups multiply them from
** there by wgmma, and write D through shared memory by TMA, while the next tile is under way. C comes
** to where D is written from, ahead of time. Blocks of a cluster load what they share once, each a
** slice for all. Offsets, boxes, descriptors and the MMA come from the plan. TMA reads zeros beyond
** the edges, and writes nothing there except up to the next 16 bytes: where rows of D end in between,
** threads write their last columns.
*/
#ifndef LUTILE_PLAN
#include "gemm_sm90_plan.cuh"
#endif

#include "pipeline.cuh"

/* ---- The work of a launch ------------------------------------------------------------------- */

/* One product, or a batch of them; k is not 0. */
struct Gemm {
  static constexpr bool kIsList = false;

  Schedule schedule;
  const tma::Map &map_a, &map_b;
  const Output &to;
  Workspace space;

  DEVICE Steps producer_numbers(unsigned) const { return {}; }
  DEVICE Steps consumer_numbers(unsigned) const { return {}; }
  DEVICE unsigned count() const { return schedule.count; }
  DEVICE unsigned parts() const { return schedule.parts; }
  DEVICE Unit unit(unsigned i, unsigned rank) const { return schedule.unit(i, rank); }
  DEVICE const tma::Map &a(const Unit &) const { return map_a; }
  DEVICE const tma::Map &b(const Unit &) const { return map_b; }
  DEVICE const Output &output(const Unit &) const { return to; }
  DEVICE const Workspace &workspace() const { return space; }
};

/* ---- The kernel ----------------------------------------------------------------------------- */

/*
** 'c', 'bias' and the scales may be null where the plan does not read them, and maps any that no copy
** by TMA goes by; 'sums' and 'counters' are the workspace of tiles in parts. d0 to d3 and c0 to c3 are
** the strides of D and C in the plan's order.
*/
extern "C" __global__ void __cluster_dims__(plan::kCluster, 1, 1)
    __launch_bounds__(plan::kThreads, 1)
        gemm(const __grid_constant__ tma::Map map_a, const __grid_constant__ tma::Map map_b,
             const __grid_constant__ tma::Map map_c, const __grid_constant__ tma::Map map_d, void *d,
             const void *c, const void *bias, const float *scale_a, const float *scale_b,
             unsigned *sums, unsigned *counters, long long d0, long long d1, long long d2,
             long long d3, long long c0, long long c1, long long c2, long long c3, int m, int n,
             int k, int batches, plan::Compute alpha, plan::Compute beta) {
  plan::Sums::declare();
  extern __shared__ __align__(1024) char shared[];
  const unsigned start = ptx::shared_address(shared);
  const unsigned rank = kCluster == 1 ? 0 : sm90::block_in_cluster();
  if (threadIdx.x == kWarpgroup) {
    tma::prefetch(map_a);
    tma::prefetch(map_b);
    if constexpr (kLoadsC) tma::prefetch(map_c);
    tma::prefetch(map_d);
  }
  prepare(start);
  if constexpr (plan::kScales) alpha *= *scale_a * *scale_b;
  using Bits = plan::Element::Bits;
  const Output output = {&map_d, &map_c, (Bits *)d, (const Bits *)c, (const Bits *)bias,
                         {d0, d1, d2, d3}, {c0, c1, c2, c3}, m, n, alpha, beta};
  const Schedule schedule(m, n, k, batches, gridDim.x / kCluster);
  run(Gemm{schedule, map_a, map_b, output, Workspace{sums, counters}}, start, rank);
}
