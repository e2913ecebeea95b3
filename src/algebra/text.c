/*
** Values as text: lutile's form and CuTe C++'s, which differ in how they mark an integer's flag.
*/
#include "value.h"

/* Writes what fits and counts everything, as snprintf does. */
typedef struct writer {
  char *buffer;
  size_t size;
  size_t length; /* of the whole text, written or not */
  bool cute;
} writer;

static void put(writer *w, char c) {
  if (w->length + 1 < w->size) w->buffer[w->length] = c;
  w->length++;
}

static void put_text(writer *w, const char *text) {
  while (*text != '\0') put(w, *text++);
}

static void put_number(writer *w, int64_t number) {
  char digits[20];
  size_t n = 0;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do digits[n++] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (number < 0) put(w, '-');
  while (n > 0) put(w, digits[--n]);
}

/* The integer of a leaf: of a basis, its coefficient. CuTe has no promises, and loses them. */
static void put_integer(writer *w, const lt_value *leaf) {
  if (w->cute && leaf->promise == 0) put(w, '_');
  if (!w->cute && leaf->promise != 0) put(w, '?');
  put_number(w, leaf->value);
  if (w->cute || leaf->promise <= 1) return;
  put(w, '{');
  put_number(w, leaf->promise);
  put(w, '}');
}

/* CuTe prints the innermost mode first. */
static void put_basis(writer *w, const lt_value *basis) {
  put_integer(w, basis);
  for (const lt_value *mode = ltA_next(basis) - 1; mode > basis; mode--) {
    put(w, '@');
    put_number(w, mode->value);
  }
}

static void put_swizzle(writer *w, const lt_value *swizzle) {
  put_text(w, "Sw<");
  put_number(w, swizzle[1].value);
  put(w, ',');
  put_number(w, swizzle[2].value);
  put(w, ',');
  put_number(w, swizzle[3].value);
  put(w, '>');
}

static void put_smem(writer *w, const lt_value *smem) {
  put_text(w, "smem[");
  put_number(w, smem->value);
  put_text(w, "b]");
}

static void put_value(writer *w, const lt_value *v);

static void put_children(writer *w, const lt_value *v, const char *separator) {
  for (const lt_value *child = ltA_first(v); child < ltA_next(v); child = ltA_next(child)) {
    if (child != ltA_first(v)) put_text(w, separator);
    put_value(w, child);
  }
}

static void put_tuple(writer *w, const lt_value *tuple) {
  put(w, '(');
  put_children(w, tuple, ",");
  put(w, ')');
}

static void put_value(writer *w, const lt_value *v) {
  switch ((lt_kind)v->kind) {
    case LT_INTEGER: put_integer(w, v); break;
    case LT_WILDCARD: put(w, '_'); break;
    case LT_BASIS: put_basis(w, v); break;
    case LT_TUPLE: put_tuple(w, v); break;
    case LT_LAYOUT: put_children(w, v, ":"); break;
    case LT_SWIZZLE: put_swizzle(w, v); break;
    case LT_SMEM: put_smem(w, v); break;
    case LT_COMPOSED:
    case LT_TENSOR: put_children(w, v, " o "); break;
    case LT_MAJOR: put_text(w, v->value == 0 ? "LayoutLeft" : "LayoutRight"); break;
  }
}

static size_t write_text(const lt_value *v, char *buffer, size_t size, bool cute) {
  writer w = {buffer, size, 0, cute};
  put_value(&w, v);
  if (size > 0) buffer[w.length < size ? w.length : size - 1] = '\0';
  return w.length;
}

size_t lt_to_string(const lt_value *v, char *buffer, size_t size) {
  return write_text(v, buffer, size, false);
}

size_t lt_to_cute(const lt_value *v, char *buffer, size_t size) {
  return write_text(v, buffer, size, true);
}
