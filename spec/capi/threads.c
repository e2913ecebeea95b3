/*
** The C API from several threads: each has an arena of its own, all read the same values. For
** ThreadSanitizer to judge.
*/
#include <pthread.h>

#include "test.h"

#define THREADS 4
#define ROUNDS 200

typedef struct worker {
  const lt_value *a, *b, *expected; /* shared, in the arena of main */
  int number;
  bool success;
} worker;

static bool run_round(const worker *w, lt_arena *arena) {
  const lt_value *r = lt_composition(arena, w->a, w->b);
  if (r == NULL || !lt_equal(r, w->expected)) return false;
  const lt_value *divided = lt_zipped_divide(arena, w->a, lt_integer(arena, 1 << w->number));
  const lt_value *inverse = lt_left_inverse(arena, w->a);
  const lt_value *index = lt_apply(arena, w->a, lt_integer(arena, w->number));
  char text[64];
  return divided != NULL && inverse != NULL && index != NULL &&
         lt_to_string(inverse, text, sizeof text) > 0;
}

static void *work(void *argument) {
  worker *w = argument;
  lt_error error = {LT_OK, ""};
  lt_arena *arena = lt_arena_new(NULL, &error);
  w->success = arena != NULL;
  for (int i = 0; w->success && i < ROUNDS; i++) {
    w->success = run_round(w, arena);
    lt_arena_reset(arena);
  }
  lt_arena_free(arena);
  return NULL;
}

static void run_workers(test *t, worker *workers) {
  pthread_t threads[THREADS];
  int started = 0;
  while (started < THREADS && pthread_create(&threads[started], NULL, work, &workers[started]) == 0)
    started++;
  check(t, started == THREADS, "threads start");
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < started; i++) check(t, workers[i].success, "a thread's results");
}

int main(void) {
  test t = {0, 0};
  lt_error error = {LT_OK, ""};
  lt_arena *arena = lt_arena_new(NULL, &error);
  if (arena == NULL) return EXIT_FAILURE;
  const lt_value *a = lt_parse(arena, "((4,8),(2,2)):((32,1),(16,8))");
  const lt_value *b = lt_parse(arena, "(16,8):(8,1)");
  const lt_value *expected = lt_composition(arena, a, b);
  check(&t, expected != NULL, error.message);
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) workers[i] = (worker){a, b, expected, i, false};
  if (expected != NULL) run_workers(&t, workers);
  lt_arena_free(arena);
  return finish(&t);
}
