/*
** Shadow memory: a stamp of the last write and read for each byte.
*/
#include "shadow.h"

#include <string.h>

#define SEVERAL (-1)
#define WARP 32

size_t ltT_shadow_size(size_t size, bool is_shared) {
  return sizeof(ltT_shadow) + size * (is_shared ? sizeof(ltT_cell) : 1);
}

ltT_shadow *ltT_new_shadow(void *place, size_t size, bool is_shared, const ltT_actor *actor) {
  ltT_shadow *shadow = place;
  memset(place, 0, ltT_shadow_size(size, is_shared));
  shadow->actor = actor;
  if (is_shared)
    shadow->cells = (ltT_cell *)(void *)(shadow + 1);
  else
    shadow->written = (uint8_t *)(shadow + 1);
  return shadow;
}

/*
** Whether nothing orders the stamp's access and the actor's: no barrier of the block between them,
** nor, within one warp, of the warp.
*/
static bool is_unordered(const ltT_stamp *stamp, const ltT_actor *actor, int thread) {
  if (stamp->epoch != actor->epoch || stamp->thread == thread) return false;
  if (stamp->thread == SEVERAL) return true;
  bool same_warp = stamp->thread / WARP == thread / WARP;
  return !same_warp || stamp->warp_epoch == actor->warp_epoch;
}

static ltT_stamp stamp_of(const ltT_actor *actor, int thread) {
  return (ltT_stamp){actor->epoch, actor->warp_epoch, (int16_t)thread, actor->site};
}

/* Later reads of one epoch join: the stamp then stands for several threads. */
static void stamp_read(ltT_cell *cell, const ltT_actor *actor, int thread) {
  bool joins = cell->read.epoch == actor->epoch && cell->read.thread != thread;
  cell->read = stamp_of(actor, thread);
  if (joins) cell->read.thread = SEVERAL;
}

static ltT_finding note_cell(ltT_cell *cell, const ltT_actor *actor, int thread, ltT_access access,
                             ltT_clash *clash) {
  if (is_unordered(&cell->write, actor, thread)) {
    *clash = (ltT_clash){access, LT_WRITE, cell->write};
    return LT_RACE;
  }
  if (access == LT_WRITE && is_unordered(&cell->read, actor, thread)) {
    *clash = (ltT_clash){access, LT_READ, cell->read};
    return LT_RACE;
  }
  if (access == LT_WRITE)
    cell->write = stamp_of(actor, thread);
  else if (cell->write.epoch == 0)
    return LT_UNWRITTEN;
  else
    stamp_read(cell, actor, thread);
  return LT_FINE;
}

ltT_finding ltT_note(ltT_shadow *shadow, int thread, size_t begin, size_t end, ltT_access access,
                     ltT_clash *clash) {
  if (!shadow->actor->is_active) return LT_FINE;
  for (size_t i = begin; i < end; i++) {
    ltT_finding finding = LT_FINE;
    if (shadow->cells != NULL)
      finding = note_cell(&shadow->cells[i], shadow->actor, thread, access, clash);
    else if (access == LT_WRITE)
      shadow->written[i] = 1;
    else if (!shadow->written[i])
      finding = LT_UNWRITTEN;
    if (finding != LT_FINE) return finding;
  }
  return LT_FINE;
}
