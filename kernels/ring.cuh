/*
** Rings of slots that are filled and emptied in turn.
*/
#pragma once

#include "ptx.cuh"

/* A place in a ring: the slot, and the parity of the phase in which it is filled. */
template <unsigned kSlots>
struct Ring {
  unsigned slot = 0, parity = 0;

  DEVICE void advance() {
    if (++slot < kSlots) return;
    slot = 0;
    parity ^= 1;
  }

  /* Past slots that another consumer reads. */
  DEVICE void skip(unsigned count) {
    const unsigned to = slot + count;
    slot = to % kSlots;
    parity ^= to / kSlots & 1;
  }
};
