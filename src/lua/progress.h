/*
** How far a long run is, on the terminal.
*/
#ifndef LUTILE_LUA_PROGRESS_H
#define LUTILE_LUA_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ltL_progress {
  const char *what;
  int64_t total, done; /* blocks */
  double start, next;  /* seconds */
  bool is_shown;
} ltL_progress;

/* Whether standard error is a terminal. */
bool ltL_shows_progress(void);
ltL_progress ltL_start_progress(const char *what, int64_t total);
/* One block more: says so where standard error is a terminal, after a second, and not too often. */
void ltL_advance(ltL_progress *p);
/* Takes back what was shown. */
void ltL_end_progress(ltL_progress *p);

#endif
