/*
** What the C tests share: checks that are counted, and an allocator that keeps the books and fails
** when told to.
*/
#ifndef LUTILE_SPEC_CAPI_TEST_H
#define LUTILE_SPEC_CAPI_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lutile.h"

typedef struct test {
  int passed;
  int failed;
} test;

static inline void check(test *t, bool success, const char *what) {
  if (success) {
    t->passed++;
    return;
  }
  t->failed++;
  fprintf(stderr, "failed: %s\n", what);
}

static inline void check_text(test *t, const char *what, const char *got, const char *expected) {
  bool equal = strcmp(got, expected) == 0;
  check(t, equal, what);
  if (!equal) fprintf(stderr, "  got      %s\n  expected %s\n", got, expected);
}

/* The exit status of the program. */
static inline int finish(const test *t) {
  printf("%d passed, %d failed\n", t->passed, t->failed);
  return t->failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- An allocator --------------------------------------------------------------------------- */

typedef struct ledger {
  size_t live;   /* bytes not yet freed */
  long calls;    /* that wanted memory */
  long fail_at;  /* the call from which on there is no memory; 0: never */
  bool mistaken; /* a block's old size was not the one it had */
} ledger;

/* Each block is preceded by its size, so that the sizes passed in are checked. */
static inline void *ledger_reallocate(void *context, void *block, size_t old_size,
                                      size_t new_size) {
  ledger *l = (ledger *)context;
  max_align_t *head = block == NULL ? NULL : (max_align_t *)block - 1;
  size_t size = 0;
  if (head != NULL) memcpy(&size, head, sizeof size);
  if (head != NULL && size != old_size) l->mistaken = true;
  if (new_size == 0) {
    l->live -= size;
    free(head);
    return NULL;
  }
  l->calls++;
  if (l->fail_at != 0 && l->calls >= l->fail_at) return NULL;
  head = (max_align_t *)realloc(head, sizeof *head + new_size);
  if (head == NULL) return NULL;
  memcpy(head, &new_size, sizeof new_size);
  l->live += new_size - size;
  return head + 1;
}

#endif
