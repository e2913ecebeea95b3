/*
** Times the operations of a list from C: prints nanoseconds a call, a line each, less those of a
** call in the same loop that does nothing. Results live in an arena that is reset every few calls,
** as a program does between steps of its own.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lutile.h"

/* Nanoseconds that one measurement should last; the least of several counts. */
#define LONG_ENOUGH 2e6
#define REPETITIONS 15
/* The values of so many calls fit into an arena's first chunk. */
#define CALLS_PER_RESET 32

typedef struct bench {
  lt_arena *arena;
  const lt_value *a, *b;
  int64_t index; /* of a linear coordinate */
} bench;

typedef const lt_value *(*operation)(bench *b);

static const lt_value *composition(bench *b) { return lt_composition(b->arena, b->a, b->b); }
static const lt_value *complement(bench *b) { return lt_complement(b->arena, b->a, b->b); }
static const lt_value *right_inverse(bench *b) { return lt_right_inverse(b->arena, b->a); }
static const lt_value *left_inverse(bench *b) { return lt_left_inverse(b->arena, b->a); }
static const lt_value *logical_divide(bench *b) { return lt_logical_divide(b->arena, b->a, b->b); }
static const lt_value *zipped_divide(bench *b) { return lt_zipped_divide(b->arena, b->a, b->b); }
static const lt_value *logical_product(bench *b) {
  return lt_logical_product(b->arena, b->a, b->b);
}
static const lt_value *coalesce(bench *b) { return lt_coalesce(b->arena, b->a, NULL); }
static const lt_value *crd2idx(bench *b) { return lt_crd2idx(b->arena, b->b, b->a, NULL); }

/* A linear index needs no arena. */
static const lt_value *offset(bench *b) {
  int64_t result;
  return lt_offset(b->a, b->index, &result) && result >= 0 ? b->a : NULL;
}

static const struct {
  const char *name;
  operation run;
} operations[] = {{"composition", composition},
                  {"complement", complement},
                  {"right_inverse", right_inverse},
                  {"left_inverse", left_inverse},
                  {"logical_divide", logical_divide},
                  {"zipped_divide", zipped_divide},
                  {"logical_product", logical_product},
                  {"coalesce", coalesce},
                  {"eval", crd2idx}};

static operation find_operation(const char *name) {
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
    if (strcmp(operations[i].name, name) == 0) return operations[i].run;
  fprintf(stderr, "no operation '%s'\n", name);
  exit(1);
}

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_calls(bench *b, operation run, long calls) {
  double start = now();
  for (long i = 0; i < calls; i += CALLS_PER_RESET) {
    lt_arena_reset(b->arena);
    for (long j = 0; j < CALLS_PER_RESET; j++)
      if (run(b) == NULL) exit(1);
  }
  return now() - start;
}

static double best_of(bench *b, operation run) {
  long calls = 32 * CALLS_PER_RESET;
  while (time_calls(b, run, calls) < LONG_ENOUGH) calls *= 2;
  double best = time_calls(b, run, calls);
  for (int i = 1; i < REPETITIONS; i++) {
    double time = time_calls(b, run, calls);
    if (time < best) best = time;
  }
  return best / (double)calls;
}

static const lt_value *do_nothing(bench *b) { return b->a; }

static void time_line(lt_arena *operands, lt_arena *results, char *line) {
  char *name = strtok(line, "|");
  char *first = strtok(NULL, "|");
  char *second = strtok(NULL, "|");
  bench b = {results, lt_parse(operands, first), NULL, 0};
  if (second != NULL) b.b = lt_parse(operands, second);
  operation run = find_operation(name);
  if (run == crd2idx && lt_kind_of(b.b) == LT_INTEGER) {
    b.index = lt_integer_value(b.b);
    run = offset;
  }
  printf("%.2f\n", best_of(&b, run) - best_of(&b, do_nothing));
}

int main(int argc, char **argv) {
  FILE *list = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (list == NULL) {
    fprintf(stderr, "usage: bench_algebra LIST\n");
    return 2;
  }
  lt_error error, result_error;
  lt_arena *operands = lt_arena_new(NULL, &error);
  lt_arena *results = lt_arena_new(NULL, &result_error);
  char line[1024];
  while (fgets(line, sizeof line, list) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] != '#' && line[0] != '\0') time_line(operands, results, line);
  }
  if (error.status != LT_OK) fprintf(stderr, "%s\n", error.message);
  lt_arena_free(results);
  lt_arena_free(operands);
  fclose(list);
  return error.status != LT_OK;
}
