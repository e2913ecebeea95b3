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
    Word word = 0;
#pragma unroll
    for (int e = 0; e < kCount; e++) {
      unsigned at = address(from, e + kCount * load);
      Word element = Operand::kBytes == 1 ? ptx::load_shared_b8(at) : ptx::load_shared_b16(at);
      word |= element << 8 * Operand::kBytes * e;
    }
    return word;
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
#pragma unroll
      for (int w = first; w < last; w++) words[w] = ptx::round_tf32(words[w]);
    }
  }
};
