/*
** Order by groups of copies and by mbarriers. The clocks: an access of agent u at clock c is before
** what thread t does if known[t][u] >= c. Arriving adds what the thread knows to the barrier,
** waiting adds what a complete phase gathered to the thread.
*/
#include "order.h"

#include <string.h>

static int agents_of(const ltT_order *order) { return order->threads + LTT_MAX_BARRIERS; }

static size_t clocks_count(const ltT_order *order) {
  size_t threads = (size_t)order->threads, rows = threads + (size_t)2 * LTT_MAX_BARRIERS;
  return threads + rows * (size_t)agents_of(order);
}

static void *allocate(const lt_allocator *a, size_t size) {
  void *block = a->reallocate(a->context, NULL, 0, size);
  if (block != NULL) memset(block, 0, size);
  return block;
}

ltT_order *ltT_new_order(const lt_allocator *allocator, int threads) {
  ltT_order *order = allocate(allocator, sizeof *order);
  if (order == NULL) return NULL;
  order->allocator = *allocator;
  order->threads = threads;
  return order;
}

void ltT_free_order(ltT_order *order) {
  if (order == NULL) return;
  lt_allocator a = order->allocator;
  if (order->clocks != NULL)
    a.reallocate(a.context, order->clocks, clocks_count(order) * sizeof(uint32_t), 0);
  a.reallocate(a.context, order, sizeof *order, 0);
}

/* A thread's own clock starts at 1, so that no other thread knows of it. */
static void reset_clocks(ltT_order *order) {
  memset(order->clocks, 0, clocks_count(order) * sizeof(uint32_t));
  for (int i = 0; i < order->threads; i++) order->clocks[i] = 1;
}

void ltT_restart_order(ltT_order *order) {
  memset(order->groups, 0, sizeof order->groups);
  memset(order->stores, 0, sizeof order->stores);
  if (order->clocks != NULL) reset_clocks(order);
}

bool ltT_start_clocks(ltT_order *order) {
  if (order->clocks != NULL) return true;
  size_t agents = (size_t)agents_of(order), threads = (size_t)order->threads;
  order->clocks = allocate(&order->allocator, clocks_count(order) * sizeof(uint32_t));
  if (order->clocks == NULL) return false;
  order->known = order->clocks + threads;
  order->gathered = order->known + threads * agents;
  order->completed = order->gathered + LTT_MAX_BARRIERS * agents;
  reset_clocks(order);
  return true;
}

/* ---- Clocks --------------------------------------------------------------------------------- */

static uint32_t *row(const ltT_order *order, uint32_t *table, int i) {
  return table + (size_t)i * (size_t)agents_of(order);
}

static void join(const ltT_order *order, uint32_t *to, const uint32_t *from) {
  for (int i = 0; i < agents_of(order); i++)
    if (from[i] > to[i]) to[i] = from[i];
}

/* What the thread knows, all that it did included; its later accesses have a new clock. */
static void publish(ltT_order *order, int thread, uint32_t *to) {
  uint32_t *known = row(order, order->known, thread);
  known[thread] = order->clocks[thread]++;
  join(order, to, known);
}

/* The first thread gathers for all, then each takes what it has. */
static void meet_clocks(ltT_order *order, int first, int count) {
  uint32_t *all = row(order, order->known, first);
  for (int i = first; i < first + count; i++) publish(order, i, all);
  for (int i = first + 1; i < first + count; i++) join(order, row(order, order->known, i), all);
}

void ltT_arrive(ltT_order *order, int thread, int barrier) {
  publish(order, thread, row(order, order->gathered, barrier));
}

void ltT_complete_phase(ltT_order *order, int barrier, uint32_t phase) {
  uint32_t *gathered = row(order, order->gathered, barrier);
  gathered[ltT_barrier_agent(order, barrier)] = phase;
  memcpy(row(order, order->completed, barrier), gathered,
         (size_t)agents_of(order) * sizeof *gathered);
}

void ltT_wait_phase(ltT_order *order, int thread, int barrier) {
  join(order, row(order, order->known, thread), row(order, order->completed, barrier));
}

bool ltT_is_known(const ltT_order *order, int thread, int agent, uint32_t clock) {
  return order->clocks != NULL && row(order, order->known, thread)[agent] >= clock;
}

/* ---- Groups of copies ----------------------------------------------------------------------- */

void ltT_commit_group(ltT_groups *groups) { groups->committed++; }

void ltT_wait_groups(ltT_groups *g, uint32_t pending) {
  uint32_t done = g->committed > pending ? g->committed - pending : 0;
  if (done > g->waited) g->waited = done;
}

bool ltT_group_is_done(const ltT_groups *all, int agent, uint32_t group, int thread) {
  const ltT_groups *g = &all[agent];
  const int warp = 32;
  if (agent == thread) return group <= g->waited;
  return group <= (agent / warp == thread / warp ? g->warp_published : g->published);
}

static void publish_groups(ltT_groups *g, bool is_block) {
  g->warp_published = g->waited;
  if (is_block) g->published = g->waited;
}

void ltT_meet(ltT_order *order, int first, int count, bool is_block) {
  for (int i = first; i < first + count; i++) {
    publish_groups(&order->groups[i], is_block);
    publish_groups(&order->stores[i], is_block);
  }
  if (order->clocks != NULL) meet_clocks(order, first, count);
}
