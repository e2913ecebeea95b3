// Loads and stores of vectors that are touched once. PTX ISA, Cache Operators and
// Cache Eviction Priority Hints.
#pragma once

#include "lutile.cuh"

namespace lutile {

// Where Streaming is set, whole 16-byte vectors go past the first-level cache.
template <bool Streaming, int Bytes>
__device__ vector<Bytes> load(const vector<Bytes> *p) {
#ifdef __CUDA_ARCH__
  if constexpr (Streaming && Bytes == 16) {
    vector<Bytes> v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(p));
    return v;
  }
#endif
  return *p;
}

// Where Streaming is set, they are the first to leave the second-level cache.
template <bool Streaming, int Bytes>
__device__ void store(vector<Bytes> *p, vector<Bytes> v) {
#ifdef __CUDA_ARCH__
  if constexpr (Streaming && Bytes == 16) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
    return;
  }
#endif
  *p = v;
}

}  // namespace lutile
