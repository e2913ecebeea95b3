/*
** Shadow memory: a stamp of the last write and read for each byte.
*/
#include "shadow.h"

#include <string.h>

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

/* The write has not arrived, as far as the thread can know. */
static bool is_in_flight(const ltT_cell *cell, const ltT_actor *actor, int thread) {
  const ltT_order *order = actor->order;
  int agent = (int)cell->write.agent;
  if (order == NULL || cell->write.epoch == 0) return false;
  if (agent >= order->threads) return !ltT_is_known(order, thread, agent, cell->write.clock);
  return cell->group != 0 && !ltT_group_is_done(order->groups, agent, cell->group, thread);
}

/* A TMA store may still read what is to be written. */
static bool is_being_stored(const ltT_cell *cell, const ltT_actor *actor, int thread) {
  return actor->order != NULL && cell->store != 0 &&
         !ltT_group_is_done(actor->order->stores, (int)cell->storer, cell->store, thread);
}

/*
** Whether nothing orders the stamp's access and the actor's: no barrier of the block between them,
** nor, within one warp, of the warp, nor an mbarrier. Of several readers only the last one is known:
** an mbarrier that has seen it counts for all.
*/
static bool is_unordered(const ltT_stamp *stamp, const ltT_actor *actor, int thread) {
  if (stamp->epoch != actor->epoch) return false;
  const ltT_order *order = actor->order;
  if (order != NULL && ltT_is_known(order, thread, (int)stamp->agent, stamp->clock)) return false;
  if (stamp->is_several) return true;
  if ((int)stamp->agent == thread) return false;
  bool same_warp = (int)stamp->agent / WARP == thread / WARP;
  return !same_warp || stamp->warp_epoch == actor->warp_epoch;
}

static ltT_stamp stamp_of(const ltT_actor *actor, int thread) {
  const ltT_order *order = actor->order;
  bool has_clock = order != NULL && order->clocks != NULL;
  return (ltT_stamp){.epoch = actor->epoch,
                     .warp_epoch = actor->warp_epoch,
                     .clock = has_clock ? order->clocks[thread] : 1,
                     .agent = (unsigned)thread,
                     .site = actor->site};
}

/* Later reads of one epoch join: the stamp then stands for several threads. */
static void stamp_read(ltT_cell *cell, const ltT_actor *actor, int thread,
                       const ltT_flight *flight) {
  bool joins = cell->read.epoch == actor->epoch && (int)cell->read.agent != thread;
  bool is_several = joins || (cell->read.epoch == actor->epoch && cell->read.is_several);
  cell->read = stamp_of(actor, thread);
  cell->read.is_several = is_several;
  if (flight->store == 0) return;
  cell->store = flight->store;
  cell->storer = (uint32_t)thread;
}

static void stamp_write(ltT_cell *cell, const ltT_actor *actor, int thread,
                        const ltT_flight *flight) {
  cell->write = stamp_of(actor, thread);
  cell->group = flight->group;
  if (flight->agent == 0) return;
  cell->write.agent = (unsigned)flight->agent;
  cell->write.clock = flight->phase;
}

/* A write of the same copy: elements that share a byte. */
static bool is_same_flight(const ltT_cell *cell, int thread, const ltT_flight *flight) {
  if (flight->agent != 0)
    return (int)cell->write.agent == flight->agent && cell->write.clock == flight->phase;
  return flight->group != 0 && cell->group == flight->group && (int)cell->write.agent == thread;
}

static ltT_finding find_clash(const ltT_cell *cell, const ltT_actor *actor, int thread,
                              const ltT_flight *flight, ltT_access access, ltT_clash *clash) {
  if (access == LT_WRITE && is_same_flight(cell, thread, flight)) return LT_FINE;
  if (is_in_flight(cell, actor, thread)) {
    *clash = (ltT_clash){access, LT_WRITE, cell->write};
    return LT_IN_FLIGHT;
  }
  if (access == LT_WRITE && is_being_stored(cell, actor, thread)) {
    *clash = (ltT_clash){access, LT_READ, cell->read};
    clash->other.agent = cell->storer;
    clash->other.is_several = 0;
    return LT_IN_FLIGHT;
  }
  bool is_mbarrier = actor->order != NULL && (int)cell->write.agent >= actor->order->threads;
  if (!is_mbarrier && is_unordered(&cell->write, actor, thread)) {
    *clash = (ltT_clash){access, LT_WRITE, cell->write};
    return LT_RACE;
  }
  if (access == LT_WRITE && is_unordered(&cell->read, actor, thread)) {
    *clash = (ltT_clash){access, LT_READ, cell->read};
    return LT_RACE;
  }
  return access == LT_READ && cell->write.epoch == 0 ? LT_UNWRITTEN : LT_FINE;
}

static ltT_finding note_cell(ltT_cell *cell, const ltT_actor *actor, int thread,
                             const ltT_flight *flight, ltT_access access, ltT_clash *clash) {
  ltT_finding finding = find_clash(cell, actor, thread, flight, access, clash);
  if (finding != LT_FINE) return finding;
  if (access == LT_WRITE)
    stamp_write(cell, actor, thread, flight);
  else
    stamp_read(cell, actor, thread, flight);
  return LT_FINE;
}

ltT_finding ltT_note(ltT_shadow *shadow, int thread, const ltT_flight *flight, size_t begin,
                     size_t end, ltT_access access, ltT_clash *clash) {
  if (!shadow->actor->is_active) return LT_FINE;
  for (size_t i = begin; i < end; i++) {
    ltT_finding finding = LT_FINE;
    if (shadow->cells != NULL)
      finding = note_cell(&shadow->cells[i], shadow->actor, thread, flight, access, clash);
    else if (access == LT_WRITE)
      shadow->written[i] = 1;
    else if (!shadow->written[i])
      finding = LT_UNWRITTEN;
    if (finding != LT_FINE) return finding;
  }
  return LT_FINE;
}
