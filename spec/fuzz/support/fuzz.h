/*
** What the fuzz targets share: a failed check ends the process, so that libFuzzer keeps the input.
*/
#ifndef LUTILE_SPEC_FUZZ_H
#define LUTILE_SPEC_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lutile.h"

/* libFuzzer's entry. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text of a value, to be freed. */
static inline char *text_of(const lt_value *v) {
  if (v == NULL) return NULL;
  size_t size = lt_to_string(v, NULL, 0) + 1;
  char *text = malloc(size);
  if (text != NULL) lt_to_string(v, text, size);
  return text;
}

static inline void show(const char *name, const lt_value *v) {
  char *text = text_of(v);
  fprintf(stderr, "  %s: %s\n", name, text == NULL ? "NULL" : text);
  free(text);
}

/* The part of 'v' after 'part', or NULL: parts lie one behind the other. */
static inline const lt_value *next_part(const lt_value *v, const lt_value *part) {
  const char *next = (const char *)part + lt_value_size(part);
  return next < (const char *)v + lt_value_size(v) ? (const lt_value *)(const void *)next : NULL;
}

/* What a value must be, however it was made: see value.c. */
void check_value(lt_arena *arena, const lt_value *v);
/* The error of a call that gave nothing. */
void check_error(const lt_error *error);

#endif
