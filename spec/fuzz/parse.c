/*
** Fuzz target: any bytes as text. What parses is a sound value whose text parses back to it, in
** both notations; all else is an error in words.
*/
#include "fuzz.h"

typedef const lt_value *(*parser)(lt_arena *, const char *, size_t);

static void check_parser(lt_arena *arena, const lt_error *error, parser parse, const uint8_t *data,
                         size_t size) {
  lt_arena_reset(arena);
  const lt_value *v = parse(arena, (const char *)data, size);
  if (v == NULL)
    check_error(error);
  else
    check_value(arena, v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lt_error error;
  static lt_arena *arena;
  if (arena == NULL) arena = lt_arena_new(NULL, &error);
  if (arena == NULL) return 0;
  check_parser(arena, &error, lt_parse_bytes, data, size);
  check_parser(arena, &error, lt_from_cute, data, size);
  return 0;
}
