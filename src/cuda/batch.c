/*
** Kernels compiled by several threads.
**
** NVRTC may be called from threads at once, as long as each has a program of its own. The threads
** take jobs from a queue and list those that they have run; all else is done by the thread that
** calls.
*/
#define _GNU_SOURCE /* sched_getaffinity */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "device.h"

/* What the compiler may need on its stack: the main thread's usual limit, twice. */
#define STACK_SIZE ((size_t)16 << 20)

typedef enum state {
  FOUND,   /* 'kernel' was in memory or on disk */
  QUEUED,  /* for the threads */
  REPEATED /* the same as an earlier one, or nothing that can be started: lt_cuda_compile says */
} state;

typedef struct entry {
  state state;
  ltD_job job;
  lt_cuda_kernel *kernel;
  lt_cuda_origin origin;
} entry;

struct lt_cuda_batch {
  lt_cuda *cuda;
  const lt_cuda_source *sources;
  entry *entries;
  size_t count;
  pthread_t *threads;
  int thread_count, started;
  size_t found, collected, repeated; /* how far lt_cuda_next_of_batch is with each state */

  size_t *queue; /* entries for the threads, */
  size_t *done;  /* and in the order in which they have run */
  size_t queue_size;
  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t has_run;
  size_t taken, done_count;
  bool stops;
};

/* ---- Threads -------------------------------------------------------------------------------- */

/* Runs the next job; false where there is none. */
static bool run_one(lt_cuda_batch *b) {
  pthread_mutex_lock(&b->mutex);
  bool more = !b->stops && b->taken < b->queue_size;
  size_t i = more ? b->queue[b->taken++] : 0;
  pthread_mutex_unlock(&b->mutex);
  if (!more) return false;
  ltD_run_job(&b->cuda->compiler, &b->entries[i].job);
  pthread_mutex_lock(&b->mutex);
  b->done[b->done_count++] = i;
  pthread_cond_signal(&b->has_run);
  pthread_mutex_unlock(&b->mutex);
  return true;
}

static void *work(void *batch) {
  while (run_one(batch)) continue;
  return NULL;
}

static int count_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN); /* there are more than a set has room for */
  return online < 1 ? 1 : (int)online;
}

/* Signals are for the threads of the program. */
static void start_threads(lt_cuda_batch *b) {
  sigset_t all, before;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (b->started < b->thread_count &&
         pthread_create(&b->threads[b->started], &attributes, work, b) == 0)
    b->started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
}

static void join_threads(lt_cuda_batch *b) {
  pthread_mutex_lock(&b->mutex);
  b->stops = true;
  pthread_mutex_unlock(&b->mutex);
  for (int i = 0; i < b->started; i++) pthread_join(b->threads[i], NULL);
}

/* ---- Starting ------------------------------------------------------------------------------- */

static bool is_queued(const lt_cuda_batch *b, const ltD_key *key) {
  for (size_t i = 0; i < b->queue_size; i++)
    if (memcmp(b->entries[b->queue[i]].job.key.digest, key->digest, sizeof key->digest) == 0)
      return true;
  return false;
}

static void prepare(lt_cuda_batch *b, size_t i) {
  entry *e = &b->entries[i];
  e->state = REPEATED;
  if (!ltD_name_job(b->cuda, &b->sources[i], &e->job) || is_queued(b, &e->job.key) ||
      !ltD_find_kernel(b->cuda, &e->job, &e->kernel))
    return;
  if (e->kernel != NULL) {
    e->state = FOUND;
    e->origin = e->kernel->origin;
  } else if (ltD_start_job(b->cuda, &e->job)) {
    e->state = QUEUED;
    b->queue[b->queue_size++] = i;
  }
}

static int choose_threads(const lt_cuda_batch *b, int threads) {
  if (threads <= 0) threads = count_processors();
  return (size_t)threads < b->queue_size ? threads : (int)b->queue_size;
}

static void free_batch(lt_cuda_batch *b) {
  lt_cuda *cuda = b->cuda;
  ltD_delete(cuda, b->threads, (size_t)b->thread_count * sizeof *b->threads);
  ltD_delete(cuda, b->queue, b->count * sizeof *b->queue);
  ltD_delete(cuda, b->done, b->count * sizeof *b->done);
  ltD_delete(cuda, b->entries, b->count * sizeof *b->entries);
  ltD_delete(cuda, b, sizeof *b);
}

static lt_cuda_batch *new_batch(lt_cuda *cuda, const lt_cuda_source *sources, size_t count) {
  if (count > SIZE_MAX / sizeof(entry)) {
    ltD_fail(cuda, LT_NO_MEMORY, "not enough memory");
    return NULL;
  }
  lt_cuda_batch *b = ltD_new(cuda, sizeof *b);
  if (b == NULL) return NULL;
  *b = (lt_cuda_batch){.cuda = cuda, .sources = sources, .count = count};
  if (count == 0) return b;
  b->entries = ltD_new(cuda, count * sizeof *b->entries);
  b->queue = ltD_new(cuda, count * sizeof *b->queue);
  b->done = ltD_new(cuda, count * sizeof *b->done);
  if (b->entries != NULL && b->queue != NULL && b->done != NULL) return b;
  free_batch(b);
  return NULL;
}

/* Without threads, lt_cuda_next_of_batch runs the jobs. */
lt_cuda_batch *lt_cuda_start_batch(lt_cuda *cuda, const lt_cuda_source *sources, size_t count,
                                   int threads) {
  lt_cuda_batch *b = new_batch(cuda, sources, count);
  if (b == NULL) return NULL;
  for (size_t i = 0; i < count; i++) prepare(b, i);
  int wanted = choose_threads(b, threads);
  b->threads = wanted == 0 ? NULL : ltD_new(cuda, (size_t)wanted * sizeof *b->threads);
  if (wanted > 0 && b->threads == NULL) {
    free_batch(b);
    return NULL;
  }
  b->thread_count = wanted;
  pthread_mutex_init(&b->mutex, NULL);
  pthread_cond_init(&b->has_run, NULL);
  start_threads(b);
  return b;
}

/* ---- Results -------------------------------------------------------------------------------- */

/* The next entry from '*at' on that has the state. */
static bool find_state(const lt_cuda_batch *b, state wanted, size_t *at, size_t *index) {
  while (*at < b->count) {
    *index = (*at)++;
    if (b->entries[*index].state == wanted) return true;
  }
  return false;
}

static size_t wait_for_job(lt_cuda_batch *b) {
  if (b->started == 0) run_one(b);
  pthread_mutex_lock(&b->mutex);
  while (b->done_count == b->collected) pthread_cond_wait(&b->has_run, &b->mutex);
  size_t index = b->done[b->collected++];
  pthread_mutex_unlock(&b->mutex);
  return index;
}

bool lt_cuda_next_of_batch(lt_cuda_batch *b, size_t *index, lt_cuda_kernel **kernel) {
  ltD_forget_log(b->cuda);
  if (find_state(b, FOUND, &b->found, index)) {
    *kernel = b->entries[*index].kernel;
    (*kernel)->origin = b->entries[*index].origin;
  } else if (b->collected < b->queue_size) {
    *index = wait_for_job(b);
    *kernel = ltD_end_job(b->cuda, &b->entries[*index].job);
  } else if (find_state(b, REPEATED, &b->repeated, index)) {
    *kernel = lt_cuda_compile(b->cuda, &b->sources[*index]);
  } else {
    return false;
  }
  return true;
}

void lt_cuda_end_batch(lt_cuda_batch *b) {
  if (b == NULL) return;
  join_threads(b);
  for (size_t i = 0; i < b->queue_size; i++) ltD_drop_job(b->cuda, &b->entries[b->queue[i]].job);
  pthread_cond_destroy(&b->has_run);
  pthread_mutex_destroy(&b->mutex);
  free_batch(b);
}
