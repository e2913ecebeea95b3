/*
** Units that take unequally long: a block's first one is its own, and each further one the next that
** nobody has yet. So units under way are neighbours, which share what is in L2, and blocks end at
** much the same time. The producer draws their numbers, and leaves each as a note in shared memory
** for the consumers. The plan comes before.
*/
#pragma once

#include "sm90.cuh"
#include "stages.cuh"

static_assert(kCluster == 1, "a block draws for itself alone");

/*
** The producer's. 'counter' is 0 before a launch, and behind it, for as many numbers are drawn as
** there are units.
*/
class Draws {
 public:
  unsigned number = blockIdx.x;

  DEVICE Draws(unsigned *counter, unsigned count, unsigned shared)
      : counter(counter), count(count), shared(shared) {}

  /* Draws what 'advance' goes to: its answer takes about 1 us, so this comes first. */
  DEVICE void look_ahead() {
    const unsigned before = sm90::count(counter);
    if (before == count - 1) *counter = 0;
    drawn = gridDim.x + before;
  }

  DEVICE void advance() {
    number = drawn;
    mbarrier::wait(note_read(shared, place.slot), place.parity ^ 1);
    ptx::store_shared<4>(note(shared, place.slot), &drawn);
    mbarrier::arrive(note_written(shared, place.slot));
    place.advance();
  }

 private:
  unsigned *counter;
  unsigned count, shared, drawn = 0;
  Ring<plan::kNotes> place;
};

/* A consumer's, each thread for itself. */
class Notes {
 public:
  unsigned number = blockIdx.x;

  DEVICE explicit Notes(unsigned shared) : shared(shared) {}

  DEVICE void advance() {
    mbarrier::wait(note_written(shared, place.slot), place.parity);
    ptx::load_shared(number, note(shared, place.slot));
    mbarrier::arrive(note_read(shared, place.slot));
    place.advance();
  }

 private:
  unsigned shared;
  Ring<plan::kNotes> place;
};
