// Copies between any two layouts, swizzled ones too, and any two element types: one element a
// thread.
#include "number.cuh"

using index = layout::source::index;

constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads)
    copy_elements(const type::source *source, layout::source from, type::target *target,
                  layout::target to) {
  const index i = blockIdx.x * index(kThreads) + threadIdx.x;
  if (i >= from.size()) return;
  if constexpr (value::converts)
    number::store(target, to(i), number::load(source, from(i)));
  else
    number::store_bits(target, to(i), number::load_bits(source, from(i)));
}
