/*
** Kernels compiled by several threads: as lt_cuda_compile would give them, with failures among them,
** ended early, and with every allocation made to fail in turn. For ThreadSanitizer to judge, too.
*/
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "../capi/test.h"
#include "lutile_cuda.h"

#define COUNT 9
#define BAD 3      /* does not compile, */
#define TOO_OLD 5  /* for an architecture that there is no compiling for, */
#define REPEATED 7 /* the same as the first */

typedef struct request {
  char texts[COUNT][128];
  lt_cuda_source sources[COUNT];
} request;

/* 'salt' tells the kernels of one request from those of another. */
static void fill(request *r, int salt) {
  for (int i = 0; i < COUNT; i++) {
    snprintf(r->texts[i], sizeof r->texts[i],
             "extern \"C\" __global__ void f(int *p) { *p = %s + %d; }\n",
             i == BAD ? "nothing" : "0", 1000 * salt + (i == REPEATED ? 0 : i));
    r->sources[i] = (lt_cuda_source){.kernel = "f",
                                     .file = "f.cu",
                                     .text = r->texts[i],
                                     .arch = i == TOO_OLD ? "sm_20" : "sm_80"};
  }
}

typedef struct results {
  lt_cuda_kernel *kernels[COUNT];
  char messages[COUNT][LT_ERROR_SIZE];
  char logs[COUNT][256];
  int given[COUNT]; /* how often */
  size_t count;
} results;

static void collect(lt_cuda *cuda, lt_cuda_batch *batch, const lt_error *error, size_t most,
                    results *r) {
  size_t i;
  lt_cuda_kernel *kernel;
  memset(r, 0, sizeof *r);
  while (r->count < most && lt_cuda_next_of_batch(batch, &i, &kernel)) {
    r->count++;
    r->given[i]++;
    r->kernels[i] = kernel;
    if (kernel != NULL) continue;
    snprintf(r->messages[i], sizeof r->messages[i], "%s", error->message);
    snprintf(r->logs[i], sizeof r->logs[i], "%.255s", lt_cuda_log(cuda));
  }
}

/* Each of them once; those that can be are the kernels that lt_cuda_compile has in memory. */
static void check_results(test *t, lt_cuda *cuda, const request *q, const results *r) {
  check(t, r->count == COUNT, "all are given");
  for (int i = 0; i < COUNT; i++) {
    bool fails = i == BAD || i == TOO_OLD;
    check(t, r->given[i] == 1, "each once");
    check(t, (r->kernels[i] == NULL) == fails, "a kernel for each that compiles");
    if (!fails)
      check(t, lt_cuda_compile(cuda, &q->sources[i]) == r->kernels[i], "of its own source");
  }
  check(t, r->kernels[0] == r->kernels[REPEATED], "what is asked for twice is one");
  check_text(t, "the compiler's error", r->messages[BAD],
             "NVRTC fails on kernel 'f' for sm_80: NVRTC_ERROR_COMPILATION");
  check(t, strstr(r->logs[BAD], "\"nothing\" is undefined") != NULL, "with its messages");
  check(t, strstr(r->messages[TOO_OLD], "arch 'sm_20': NVRTC ") != NULL, "the other's error");
}

static void test_threads(test *t, int threads, int salt) {
  lt_error error = {LT_OK, ""};
  lt_cuda *cuda = lt_cuda_open(NULL, &error);
  request q;
  results r;
  fill(&q, salt);
  lt_cuda_batch *batch = lt_cuda_start_batch(cuda, q.sources, COUNT, threads);
  collect(cuda, batch, &error, COUNT + 1, &r);
  lt_cuda_end_batch(batch);
  check_results(t, cuda, &q, &r);
  check(t, lt_cuda_get_statistics(cuda).compiled == COUNT - 3, "each is compiled once");
  batch = lt_cuda_start_batch(cuda, q.sources, COUNT, threads);
  collect(cuda, batch, &error, COUNT + 1, &r);
  lt_cuda_end_batch(batch);
  check_results(t, cuda, &q, &r);
  check(t, lt_cuda_get_statistics(cuda).compiled == COUNT - 3, "and not again");
  lt_cuda_close(cuda);
}

/* Another lt_cuda, as another process would: all from disk. */
static void test_disk(test *t, int salt) {
  lt_error error = {LT_OK, ""};
  lt_cuda *cuda = lt_cuda_open(NULL, &error);
  request q;
  results r;
  fill(&q, salt);
  lt_cuda_batch *batch = lt_cuda_start_batch(cuda, q.sources, COUNT, 2);
  collect(cuda, batch, &error, COUNT + 1, &r);
  check(t, lt_cuda_kernel_origin(r.kernels[1]) == LT_CUDA_FROM_DISK, "from disk, it says");
  lt_cuda_end_batch(batch);
  check_results(t, cuda, &q, &r);
  check(t, lt_cuda_get_statistics(cuda).compiled == 0, "what is on disk is not compiled");
  lt_cuda_close(cuda);
}

static void test_ends(test *t, int salt) {
  lt_error error = {LT_OK, ""};
  lt_cuda *cuda = lt_cuda_open(NULL, &error);
  request q;
  results r;
  fill(&q, salt);
  lt_cuda_end_batch(lt_cuda_start_batch(cuda, q.sources, COUNT, 2));
  lt_cuda_batch *batch = lt_cuda_start_batch(cuda, q.sources, COUNT, 2);
  collect(cuda, batch, &error, 2, &r);
  lt_cuda_end_batch(batch);
  check(t, r.count == 2, "a batch may be ended before all are given");
  batch = lt_cuda_start_batch(cuda, NULL, 0, 0);
  collect(cuda, batch, &error, COUNT, &r);
  check(t, batch != NULL && r.count == 0, "and may be empty");
  lt_cuda_end_batch(batch);
  lt_cuda_end_batch(NULL);
  lt_cuda_close(cuda);
}

/* One run with memory up to an allocation; true where it was enough for all kernels. */
static bool run(test *t, ledger *l, long fail_at) {
  lt_error error = {LT_OK, ""};
  lt_allocator allocator = {ledger_reallocate, l};
  request q;
  results r = {.count = 0};
  *l = (ledger){.fail_at = fail_at};
  fill(&q, 0);
  lt_cuda *cuda = lt_cuda_open(&allocator, &error);
  lt_cuda_batch *batch = cuda == NULL ? NULL : lt_cuda_start_batch(cuda, q.sources, COUNT, 3);
  if (batch != NULL) collect(cuda, batch, &error, COUNT + 1, &r);
  lt_cuda_end_batch(batch);
  lt_cuda_close(cuda);
  if (l->live != 0 || l->mistaken) check(t, false, "all memory is given back, as it was had");
  return r.count == COUNT && (fail_at == 0 || l->calls < fail_at);
}

static void test_failing_memory(test *t) {
  ledger l;
  check(t, run(t, &l, 0), "all goes well with enough memory");
  long fail_at = 1;
  while (fail_at < 10000 && !run(t, &l, fail_at)) fail_at++;
  check(t, fail_at > 1 && fail_at < 10000, "every allocation can fail");
}

static void test_without_compiler(test *t) {
  lt_error error = {LT_OK, ""};
  lt_cuda *cuda = lt_cuda_open(NULL, &error);
  request q;
  results r;
  fill(&q, 0);
  setenv("LUTILE_NVRTC", "/nowhere/at/all", 1);
  lt_cuda_batch *batch = lt_cuda_start_batch(cuda, q.sources, COUNT, 2);
  collect(cuda, batch, &error, COUNT + 1, &r);
  lt_cuda_end_batch(batch);
  check(t, r.count == COUNT, "without NVRTC, each is given,");
  check(t, lt_cuda_compile(cuda, &q.sources[0]) == NULL, "as nothing,");
  for (int i = 0; i < COUNT; i++)
    check_text(t, "with lt_cuda_compile's message", r.messages[i], error.message);
  unsetenv("LUTILE_NVRTC");
  lt_cuda_close(cuda);
}

static bool has_compiler(void) {
  lt_error error = {LT_OK, ""};
  lt_cuda *cuda = lt_cuda_open(NULL, &error);
  bool there = lt_cuda_has_compiler(cuda);
  lt_cuda_close(cuda);
  return there;
}

int main(void) {
  test t = {0, 0};
  char folder[] = "/tmp/lutile-batch-XXXXXX", remove[64];
  if (mkdtemp(folder) == NULL) return EXIT_FAILURE;
  setenv("LUTILE_CACHE", folder, 1);
  test_without_compiler(&t);
  if (has_compiler()) {
    test_threads(&t, 0, 1);
    test_threads(&t, 1, 2);
    test_threads(&t, 3, 3);
    test_threads(&t, 50, 4);
    test_disk(&t, 3);
    test_ends(&t, 5);
    test_failing_memory(&t);
  }
  snprintf(remove, sizeof remove, "rm -rf %s", folder);
  if (system(remove) != 0) return EXIT_FAILURE;
  return finish(&t);
}
