/*
** How far a long run is, on the terminal.
*/
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 1.0 /* seconds before anything is shown, */
#define INTERVAL 0.2 /* and between two lines */

static double now(void) {
  struct timespec t;
  return timespec_get(&t, TIME_UTC) == 0 ? 0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ltL_progress ltL_start_progress(const char *what, int64_t total) {
  double start = now();
  return (ltL_progress){.what = what, .total = total, .start = start, .next = start + PATIENCE};
}

bool ltL_shows_progress(void) { return isatty(STDERR_FILENO); }

void ltL_advance(ltL_progress *p) {
  p->done++;
  double time = now();
  if (time < p->next) return;
  p->next = time + INTERVAL;
  if (!p->is_shown && !ltL_shows_progress()) return;
  p->is_shown = true;
  double rate = (time - p->start) / (double)p->done;
  fprintf(stderr, "\r%s: block %lld of %lld, %.0f s to go\033[K", p->what, (long long)p->done,
          (long long)p->total, rate * (double)(p->total - p->done));
  fflush(stderr);
}

void ltL_end_progress(ltL_progress *p) {
  if (p->is_shown) fputs("\r\033[K", stderr);
}
