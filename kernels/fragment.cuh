/*
** Operands of mma.sync, from tiles in shared memory to registers. 'Operand' is what a plan says of
** the matrix: lutile.plan.operand writes it.
*/
#pragma once

#include "ptx.cuh"
#include "swizzle.cuh"

/* How an operand's registers are loaded. */
enum Load {
  kMatrices,   /* ldmatrix */
  kTransposed, /* ldmatrix.trans: 16-bit elements that are contiguous along the rows */
  kWhole,      /* a word at a time */
  kElements    /* an element at a time: those of a word are apart */
};

/*
** Loads of one thread's registers, in the order in which the atoms take them. 'from' is the shared
** address of the stage and the thread; a load gives kWordsOfLoad registers.
*/
template <class Operand>
struct Loader {
  using Word = typename Operand::Word;
  static constexpr int kLoads = Operand::kWords / Operand::kWordsOfLoad; /* of a k-step */

  static DEVICE void load(Word *words, unsigned from, int step, int i) {
    if constexpr (Operand::kLoad == kMatrices || Operand::kLoad == kTransposed)
      ptx::load_matrices<Operand::kWordsOfLoad, Operand::kLoad == kTransposed>(
          words, address(from, i + step * kLoads));
    else if constexpr (Operand::kLoad == kWhole)
      ptx::load_shared(*words, address(from, i + step * kLoads));
    else
      *words = gather(from, i + step * kLoads);
  }

 private:
  static DEVICE unsigned address(unsigned from, int load) {
    return place<Operand::kLoadMask>(from, Operand::load_step(load));
  }

  static DEVICE Word gather(unsigned from, int load) {
    constexpr int kCount = sizeof(Word) / Operand::kBytes;
    unsigned addresses[kCount];
#pragma unroll
    for (int e = 0; e < kCount; e++) addresses[e] = address(from, e + kCount * load);
    return ptx::gather_shared<Operand::kBytes>(addresses);
  }
};

/*
** All of a thread's registers for a k-step; parts of them are words from 'first' to before 'last',
** of whole loads.
*/
template <class Operand>
struct Fragment {
  typename Operand::Word words[Operand::kWords];

  DEVICE void load(unsigned from, int step, int first = 0, int last = Operand::kWords) {
#pragma unroll
    for (int i = first / Operand::kWordsOfLoad; i < last / Operand::kWordsOfLoad; i++)
      Loader<Operand>::load(words + i * Operand::kWordsOfLoad, from, step, i);
  }

  /* Before they are multiplied, and not where they are loaded, which would wait for the load. */
  DEVICE void round(int first, int last) {
    if constexpr (Operand::kRounds) {
      static_assert(Operand::kWords % 2 == 0, "an atom has two words of B, four of A");
#pragma unroll
      for (int w = first; w < last; w += 2) ptx::round_tf32(words[w], words[w + 1]);
    }
  }
};
