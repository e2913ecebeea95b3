/*
** Runs of neighbouring elements of a matrix, read from and written to global memory as one vector.
*/
#pragma once

#include "element.cuh"

namespace epilogue {

template <class Element, int kRun>
struct Run {
  static constexpr int kSize = sizeof(typename Element::Bits);
  static constexpr int kBytes = kRun * kSize;
  static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;

  unsigned words[kWords];

  DEVICE void store(void *target) const { ptx::store_global<kBytes>(target, words); }

  /* Without a branch: where the condition is false, zeros are read, and nothing is written. */
  DEVICE static Run load_if(bool condition, const void *source) {
    Run run;
    run.clear();
    ptx::load_global_if<kBytes>(condition, run.words, source);
    return run;
  }

  DEVICE void store_if(bool condition, void *target) const {
    ptx::store_global_if<kBytes>(condition, target, words);
  }

  DEVICE void clear() {
#pragma unroll
    for (int w = 0; w < kWords; w++) words[w] = 0;
  }

  DEVICE typename Element::Bits get(int i) const {
    if constexpr (kSize == 8)
      return words[2 * i] | (unsigned long long)words[2 * i + 1] << 32;
    else
      return (typename Element::Bits)(words[i * kSize / 4] >> i * kSize % 4 * 8);
  }

  template <class Compute>
  DEVICE static Run encode(const Compute (&x)[kRun]) {
    Run run;
    if constexpr (kRun > 1 && kSize < 4) {
#pragma unroll
      for (int i = 0; i < kRun; i += 2) run.words[i / 2] = Element::encode_pair(x[i], x[i + 1]);
    } else {
#pragma unroll
      for (int i = 0; i < kRun; i++) run.set(i, Element::encode(x[i]));
    }
    return run;
  }

 private:
  static_assert(kRun <= 2 || kSize >= 2, "elements of a word are set at once");

  DEVICE void set(int i, typename Element::Bits bits) {
    if constexpr (kSize == 8) {
      words[2 * i] = (unsigned)bits;
      words[2 * i + 1] = (unsigned)(bits >> 32);
    } else {
      words[i] = bits;
    }
  }
};

}  // namespace epilogue
