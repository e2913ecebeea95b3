/*
** Accesses to the elements of tensors: bounds, and what the buffer's shadow says; and the messages
** on what is wrong with them.
*/
#include <stdio.h>

#include "traffic.h"

/* ---- Messages ------------------------------------------------------------------------------- */

/* "copy: sA(3,5)" in 'text': the operation and the element. */
static bool write_place(lt_arena *arena, const char *operation, const lt_tensor *t, char *text,
                        size_t size) {
  lt_value index = {t->fault.index, 0, 1, LT_INTEGER};
  const lt_value *coordinate = lt_idx2crd(arena, &index, ltA_shape_of(t->layout), NULL);
  if (coordinate == NULL) return false;
  char numbers[128];
  lt_to_string(coordinate, numbers, sizeof numbers);
  snprintf(text, size, ltA_is_tuple(coordinate) ? "%s: %s%s" : "%s: %s(%s)", operation, t->name,
           numbers);
  return true;
}

static void write_thread(const ltT_actor *actor, const ltT_stamp *stamp, char *text, size_t size) {
  const int *extent = actor->extent, thread = (int)stamp->agent;
  if (stamp->is_several)
    snprintf(text, size, "several threads");
  else
    snprintf(text, size, "thread (%d,%d,%d)", thread % extent[0], thread / extent[0] % extent[1],
             thread / extent[0] / extent[1]);
}

/* "file:line", or a place that is no line of a script. */
static void write_site(const ltT_actor *actor, const ltT_stamp *stamp, char *text, size_t size) {
  const ltT_site *site = &actor->sites[stamp->site];
  snprintf(text, size, site->line == 0 ? "%s" : "%s:%d", site->file, site->line);
}

static void *fail_race(lt_arena *arena, const char *place, const lt_tensor *t) {
  const ltT_actor *actor = t->buffer->shadow->actor;
  const ltT_clash *clash = &t->fault.clash;
  char other[64], site[96];
  write_site(actor, &clash->other, site, sizeof site);
  write_thread(actor, &clash->other, other, sizeof other);
  return ltA_fail(arena, LT_INVALID,
                  "%s is %s here and was %s by %s at %s: a race, as no barrier lies between", place,
                  clash->access == LT_READ ? "read" : "written",
                  clash->other_access == LT_READ ? "read" : "written", other, site);
}

static void *fail_in_flight(lt_arena *arena, const char *place, const lt_tensor *t) {
  const ltT_actor *actor = t->buffer->shadow->actor;
  const ltT_clash *clash = &t->fault.clash;
  char agent[64], site[96];
  write_site(actor, &clash->other, site, sizeof site);
  const char *verb = clash->access == LT_READ ? "read" : "written";
  if ((int)clash->other.agent >= actor->order->threads)
    return ltA_fail(arena, LT_INVALID,
                    "%s is %s here while the TMA copy at %s that writes it is in flight: wait for "
                    "its mbarrier first",
                    place, verb, site);
  write_thread(actor, &clash->other, agent, sizeof agent);
  if (clash->other_access == LT_READ)
    return ltA_fail(arena, LT_INVALID,
                    "%s is written here while the TMA store of %s reads it: that thread must "
                    "tma_store_arrive and tma_store_wait, and then a barrier come, first",
                    place, agent);
  return ltA_fail(arena, LT_INVALID,
                  "%s is %s here while the cp.async of %s at %s that writes it is in flight: "
                  "that thread must cp_async_wait, and then a barrier come, first",
                  place, verb, agent, site);
}

void *ltT_fail_fault(lt_arena *arena, const char *operation, const lt_tensor *t) {
  char place[256];
  if (!write_place(arena, operation, t, place, sizeof place)) return NULL;
  switch (t->fault.kind) {
    case LT_FAULT_RACE: return fail_race(arena, place, t);
    case LT_FAULT_IN_FLIGHT: return fail_in_flight(arena, place, t);
    case LT_FAULT_UNWRITTEN:
      return ltA_fail(arena, LT_INVALID, "%s is read before anything was written there", place);
    default:
      return ltA_fail(arena, LT_INVALID, "%s is element %I of memory that has %I (%s %I o %v)",
                      place, t->fault.offset, ltT_capacity(t), ltT_type_of(t->element)->name,
                      t->offset, t->layout);
  }
}

/* ---- Checks --------------------------------------------------------------------------------- */

static bool fail(lt_arena *arena, const char *operation, lt_tensor *t, ltT_fault fault) {
  t->fault = fault;
  ltT_fail_fault(arena, operation, t);
  return false;
}

static bool check_element(lt_arena *arena, const char *operation, lt_tensor *t, int64_t index,
                          int64_t offset, ltT_access access) {
  if (offset < 0 || offset >= ltT_capacity(t))
    return fail(arena, operation, t,
                (ltT_fault){.kind = LT_FAULT_OUTSIDE, .index = index, .offset = offset});
  if (t->buffer->shadow == NULL) return true;
  size_t bits = (size_t)ltT_type_of(t->element)->bits, bit = (size_t)offset * bits;
  ltT_clash clash = {LT_READ, LT_READ, {0}};
  ltT_finding finding = ltT_note(t->buffer->shadow, t->thread, &t->flight, bit / 8,
                                 (bit + bits + 7) / 8, access, &clash);
  if (finding == LT_FINE) return true;
  static const ltT_fault_kind kinds[] = {[LT_UNWRITTEN] = LT_FAULT_UNWRITTEN,
                                         [LT_RACE] = LT_FAULT_RACE,
                                         [LT_IN_FLIGHT] = LT_FAULT_IN_FLIGHT};
  return fail(arena, operation, t, (ltT_fault){kinds[finding], index, offset, clash});
}

static bool record(lt_arena *arena, const lt_tensor *t, const int64_t *offsets, size_t n,
                   ltT_access access) {
  if (t->counter == NULL || t->buffer->space == LT_REGISTER) return true;
  return ltT_record_elements(t, offsets, n, access) || ltA_no_memory(arena) != NULL;
}

bool ltT_access_element(lt_arena *arena, const char *operation, lt_tensor *t, int64_t index,
                        int64_t offset, ltT_access access) {
  return check_element(arena, operation, t, index, offset, access) &&
         record(arena, t, &offset, 1, access);
}

bool ltT_access_elements(lt_arena *arena, const char *operation, lt_tensor *t,
                         const int64_t *offsets, size_t n, int64_t first, ltT_access access) {
  uint64_t capacity = (uint64_t)ltT_capacity(t);
  bool is_watched = t->buffer->shadow != NULL;
  for (size_t i = 0; i < n; i++) {
    if (!is_watched && (uint64_t)offsets[i] < capacity) continue;
    if (!check_element(arena, operation, t, first + (int64_t)i, offsets[i], access)) return false;
  }
  return record(arena, t, offsets, n, access);
}

void ltT_mark_written(ltT_buffer *buffer) {
  ltT_clash clash;
  ltT_flight none = {.group = 0};
  if (buffer->shadow != NULL) ltT_note(buffer->shadow, 0, &none, 0, buffer->size, LT_WRITE, &clash);
}
