/*
** Error messages: a small printf that knows values, into the caller's fixed buffer.
*/
#include <inttypes.h>
#include <stdio.h>

#include "value.h"

/* The longest text of one operand in a message; more is cut with "...". */
#define OPERAND_SIZE 100

static size_t write_value(char *at, size_t room, const lt_value *v) {
  char text[OPERAND_SIZE];
  size_t length = lt_to_string(v, text, sizeof text);
  const char *rest = length < sizeof text ? "" : "...";
  return (size_t)snprintf(at, room, "%s%s", text, rest);
}

static size_t write_int(char *at, size_t room, lt_int x) {
  lt_value leaf = {x.value, x.promise, 1, LT_INTEGER};
  return write_value(at, room, &leaf);
}

/* Writes one argument of the kind that 'letter' names; returns the length it wanted. */
static size_t write_argument(char *at, size_t room, char letter, va_list *arguments) {
  switch (letter) {
    case 'd': return (size_t)snprintf(at, room, "%d", va_arg(*arguments, int));
    case 'z': return (size_t)snprintf(at, room, "%zu", va_arg(*arguments, size_t));
    case 'I': return (size_t)snprintf(at, room, "%" PRId64, va_arg(*arguments, int64_t));
    case 's': return (size_t)snprintf(at, room, "%s", va_arg(*arguments, const char *));
    case 'i': return write_int(at, room, va_arg(*arguments, lt_int));
    case 'v': return write_value(at, room, va_arg(*arguments, const lt_value *));
    default: return (size_t)snprintf(at, room, "%c", letter);
  }
}

void *ltA_fail(lt_arena *arena, lt_status status, const char *format, ...) {
  lt_error *error = arena->error;
  if (error->status != LT_OK) return NULL;
  va_list arguments;
  va_start(arguments, format);
  size_t used = 0;
  for (const char *p = format; *p != '\0' && used < LT_ERROR_SIZE - 1; p++) {
    if (*p != '%') {
      error->message[used++] = *p;
      continue;
    }
    size_t room = LT_ERROR_SIZE - used;
    size_t wanted = write_argument(error->message + used, room, *++p, &arguments);
    used += wanted < room ? wanted : room - 1;
  }
  va_end(arguments);
  error->message[used] = '\0';
  error->status = status;
  return NULL;
}

void *ltA_no_memory(lt_arena *arena) { return ltA_fail(arena, LT_NO_MEMORY, "not enough memory"); }
