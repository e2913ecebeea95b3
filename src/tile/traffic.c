/*
** Requests under construction are kept in a hash table, by warp, place, buffer and count; one that
** all threads of its warp have joined is counted at once. Sources: CUDA C++ best practices guide
** (coalescing, shared memory banks); wide accesses are served by half and quarter warps.
*/
#include "traffic.h"

#define BANKS 32
#define WORD 4    /* bytes of a bank's word */
#define SECTOR 32 /* bytes */
#define WIDEST 16 /* bytes of one thread's access */
#define FIRST_CAPACITY 1024

typedef struct request {
  const ltT_buffer *buffer; /* NULL: an empty slot */
  int32_t warp, site;
  uint32_t number; /* n-th access of its threads at this place */
  int32_t width;
  ltT_access access;
  uint32_t lanes; /* those that have joined */
  size_t offsets[LTT_WARP];
} request;

/* Bytes of registers of the visit at hand, and of the largest one. */
typedef struct visit {
  uint32_t now, most;
} visit;

enum { SPACES = 2, ACCESSES = 2 }; /* global and shared; read and write */

struct ltT_traffic {
  lt_allocator allocator;
  int threads, sites;
  uint32_t *numbers; /* accesses so far, by thread, place and kind */
  ltT_tally *tallies;
  struct visit *visits; /* registers, by thread and place */
  request *requests;
  size_t capacity, count; /* the capacity is a power of two */
};

/* ---- Memory --------------------------------------------------------------------------------- */

static void *allocate(const lt_allocator *a, size_t size) {
  void *block = a->reallocate(a->context, NULL, 0, size);
  if (block != NULL) memset(block, 0, size);
  return block;
}

static void release(const lt_allocator *a, void *block, size_t size) {
  if (block != NULL) a->reallocate(a->context, block, size, 0);
}

static size_t numbers_size(const ltT_traffic *t) {
  return (size_t)t->threads * (size_t)t->sites * ACCESSES * sizeof(uint32_t);
}

static size_t tallies_size(const ltT_traffic *t) {
  return (size_t)t->sites * SPACES * ACCESSES * sizeof(ltT_tally);
}

static size_t visits_size(const ltT_traffic *t) {
  return (size_t)t->threads * (size_t)t->sites * sizeof(visit);
}

ltT_traffic *ltT_new_traffic(const lt_allocator *allocator, int threads, int sites) {
  ltT_traffic *t = allocate(allocator, sizeof *t);
  if (t == NULL) return NULL;
  t->allocator = *allocator;
  t->threads = threads;
  t->sites = sites;
  t->numbers = allocate(allocator, numbers_size(t));
  t->tallies = allocate(allocator, tallies_size(t));
  t->visits = allocate(allocator, visits_size(t));
  t->requests = allocate(allocator, FIRST_CAPACITY * sizeof(request));
  t->capacity = FIRST_CAPACITY;
  if (t->numbers != NULL && t->tallies != NULL && t->visits != NULL && t->requests != NULL)
    return t;
  ltT_free_traffic(t);
  return NULL;
}

void ltT_free_traffic(ltT_traffic *t) {
  if (t == NULL) return;
  lt_allocator allocator = t->allocator;
  release(&allocator, t->numbers, numbers_size(t));
  release(&allocator, t->tallies, tallies_size(t));
  release(&allocator, t->visits, visits_size(t));
  release(&allocator, t->requests, t->capacity * sizeof(request));
  release(&allocator, t, sizeof *t);
}

/* ---- Counting a request --------------------------------------------------------------------- */

/* Adds 'x' to a set of at most 'n' numbers; returns the new n. */
static size_t insert(size_t *set, size_t n, size_t x) {
  for (size_t i = 0; i < n; i++)
    if (set[i] == x) return n;
  set[n] = x;
  return n + 1;
}

/* Passes over the banks that the lanes from 'first' on need: distinct words in the busiest one. */
static int64_t count_passes(const request *r, int first, int lanes) {
  size_t words[LTT_WARP * 4], count = 0;
  int busy[BANKS] = {0};
  int64_t most = 0;
  for (int lane = first; lane < first + lanes; lane++) {
    if ((r->lanes >> lane & 1) == 0) continue;
    size_t begin = r->offsets[lane] / WORD, end = (r->offsets[lane] + (size_t)r->width - 1) / WORD;
    for (size_t word = begin; word <= end; word++) {
      size_t before = count;
      count = insert(words, count, word);
      if (count > before && ++busy[word % BANKS] > most) most = busy[word % BANKS];
    }
  }
  return most;
}

/* A wide access is served in parts, so that 32 words suffice for each. */
static void count_shared(const request *r, ltT_tally *tally) {
  int lanes = r->width > 8 ? LTT_WARP / 4 : r->width > 4 ? LTT_WARP / 2 : LTT_WARP;
  for (int first = 0; first < LTT_WARP; first += lanes) {
    int64_t passes = count_passes(r, first, lanes);
    tally->wavefronts += passes;
    tally->least += passes > 0;
  }
}

static void count_global(const request *r, ltT_tally *tally) {
  size_t sectors[LTT_WARP * 2], count = 0;
  int64_t bytes = 0;
  for (int lane = 0; lane < LTT_WARP; lane++) {
    if ((r->lanes >> lane & 1) == 0) continue;
    size_t last = r->offsets[lane] + (size_t)r->width - 1;
    count = insert(sectors, count, r->offsets[lane] / SECTOR);
    count = insert(sectors, count, last / SECTOR);
    bytes += r->width;
  }
  int64_t full = (bytes + SECTOR - 1) / SECTOR;
  tally->sectors += (int64_t)count;
  tally->needed += full < (int64_t)count ? full : (int64_t)count;
}

static ltT_tally *tally_at(const ltT_traffic *t, int site, ltT_space space, ltT_access access) {
  size_t i = ((size_t)site * SPACES + (space == LT_SHARED)) * ACCESSES + (access == LT_WRITE);
  return &t->tallies[i];
}

static void count_request(ltT_traffic *t, const request *r) {
  ltT_tally *tally = tally_at(t, r->site, r->buffer->space, r->access);
  tally->requests++;
  for (int lane = 0; lane < LTT_WARP; lane++)
    if (r->lanes >> lane & 1) tally->bytes += r->width;
  if (r->buffer->space == LT_SHARED)
    count_shared(r, tally);
  else
    count_global(r, tally);
}

void ltT_settle(ltT_traffic *t) {
  for (size_t i = 0; i < t->capacity && t->count > 0; i++) {
    request *r = &t->requests[i];
    if (r->buffer == NULL) continue;
    if (r->lanes != 0) count_request(t, r);
    r->buffer = NULL;
    t->count--;
  }
}

/* ---- Joining -------------------------------------------------------------------------------- */

static size_t hash(const request *r) {
  uint64_t h = (uint64_t)(uintptr_t)r->buffer >> 4;
  h = (h ^ (uint64_t)(uint32_t)r->warp) * 0x9e3779b97f4a7c15u;
  h = (h ^ (uint64_t)(uint32_t)r->site << 1 ^ (uint64_t)r->access) * 0x9e3779b97f4a7c15u;
  h = (h ^ r->number) * 0x9e3779b97f4a7c15u;
  return (size_t)(h >> 24);
}

static bool same_request(const request *a, const request *b) {
  return a->buffer == b->buffer && a->warp == b->warp && a->site == b->site &&
         a->number == b->number && a->width == b->width && a->access == b->access;
}

/* The slot of the request, or an empty one for it. */
static request *find_slot(const ltT_traffic *t, const request *key) {
  size_t i = hash(key) & (t->capacity - 1);
  while (t->requests[i].buffer != NULL && !same_request(&t->requests[i], key))
    i = (i + 1) & (t->capacity - 1);
  return &t->requests[i];
}

/* Twice the table; those complete are left behind. */
static bool grow(ltT_traffic *t) {
  ltT_traffic larger = *t;
  larger.capacity = 2 * t->capacity;
  larger.count = 0;
  larger.requests = allocate(&t->allocator, larger.capacity * sizeof(request));
  if (larger.requests == NULL) return false;
  for (size_t i = 0; i < t->capacity; i++) {
    const request *r = &t->requests[i];
    if (r->buffer == NULL || r->lanes == 0) continue;
    *find_slot(&larger, r) = *r;
    larger.count++;
  }
  release(&t->allocator, t->requests, t->capacity * sizeof(request));
  *t = larger;
  return true;
}

bool ltT_record(ltT_traffic *t, int thread, int site, const ltT_buffer *buffer, size_t offset,
                int width, ltT_access access) {
  if (t->count * 4 >= t->capacity * 3 && !grow(t)) return false;
  size_t at = ((size_t)thread * (size_t)t->sites + (size_t)site) * ACCESSES + (access == LT_WRITE);
  request key = {.buffer = buffer,
                 .warp = thread / LTT_WARP,
                 .site = site,
                 .number = t->numbers[at]++,
                 .width = width,
                 .access = access};
  request *r = find_slot(t, &key);
  if (r->buffer == NULL) {
    *r = key;
    t->count++;
  }
  int lane = thread % LTT_WARP;
  r->lanes |= (uint32_t)1 << lane;
  r->offsets[lane] = offset;
  if (r->lanes != UINT32_MAX) return true;
  count_request(t, r);
  r->lanes = 0; /* counted; the slot stays until the next settling */
  return true;
}

ltT_tally ltT_tally_of(const ltT_traffic *t, int site, ltT_space space, ltT_access access) {
  return *tally_at(t, site, space, access);
}

/* ---- Elements, registers -------------------------------------------------------------------- */

/* Elements from 'offsets' on that one access takes: neighbours, within 16 bytes, aligned. */
static size_t count_together(const lt_tensor *t, const int64_t *offsets, size_t n) {
  int64_t bits = ltT_type_of(t->element)->bits, most = t->vector;
  if (most > WIDEST * 8 / bits) most = WIDEST * 8 / bits;
  while (most > 1 && (offsets[0] * bits % (most * bits) != 0 || most * bits % 8 != 0)) most /= 2;
  size_t together = 1;
  while (together < n && (int64_t)together < most &&
         offsets[together] == offsets[0] + (int64_t)together)
    together++;
  return together;
}

bool ltT_record_elements(const lt_tensor *t, const int64_t *offsets, size_t n, ltT_access access) {
  const ltT_actor *actor = t->counter->actor;
  size_t bits = (size_t)ltT_type_of(t->element)->bits;
  for (size_t i = 0; i < n;) {
    size_t together = count_together(t, offsets + i, n - i);
    size_t bit = (size_t)offsets[i] * bits, width = (together * bits + 7) / 8;
    if (!ltT_record(t->counter->traffic, t->thread, actor->site, t->buffer, bit / 8,
                    width > WIDEST ? WIDEST : (int)width, access))
      return false;
    i += together;
  }
  return true;
}

void ltT_record_registers(ltT_traffic *t, int thread, int site, size_t bytes, bool continues) {
  visit *v = &t->visits[(size_t)thread * (size_t)t->sites + (size_t)site];
  v->now = (continues ? v->now : 0) + (uint32_t)bytes;
  if (v->now > v->most) v->most = v->now;
}

size_t ltT_register_bytes(const ltT_traffic *t) {
  size_t most = 0;
  for (int thread = 0; thread < t->threads; thread++) {
    size_t sum = 0;
    for (int site = 0; site < t->sites; site++)
      sum += t->visits[(size_t)thread * (size_t)t->sites + (size_t)site].most;
    if (sum > most) most = sum;
  }
  return most;
}
