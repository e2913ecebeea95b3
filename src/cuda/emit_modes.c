/*
** The functions of a layout's modes, written as CUDA C++: for each level of its coordinates, one of a
** linear index and one of a coordinate, all of plain arithmetic.
**
** The dynamic integers of a layout are the members d0, d1, ... in prefix order.
*/
#include "emit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_PATH_TEXT (LT_MAX_DEPTH * 24)

void ltD_say(ltD_emitter *e, const char *format, ...) {
  char text[MAX_PATH_TEXT + 256];
  if (ltA_failed(e->arena)) return;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text ||
      !e->out->write(e->out->context, text, (size_t)length))
    ltA_no_memory(e->arena);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

/* The number of the member that stands for a dynamic node of the root. */
static size_t member_of(const ltD_emitter *e, const lt_value *node) {
  size_t n = 0;
  for (const lt_value *at = e->root; at < node; at++) n += at->promise > 0;
  return n;
}

void ltD_say_number(ltD_emitter *e, int64_t x) {
  if (x == INT64_MIN)
    ltD_say(e, "(-9223372036854775807LL - 1)");
  else if (x > INT32_MAX || x < -INT32_MAX)
    ltD_say(e, x < 0 ? "(%" PRId64 "LL)" : "%" PRId64 "LL", x);
  else
    ltD_say(e, x < 0 ? "(%" PRId64 ")" : "%" PRId64, x);
}

void ltD_say_leaf(ltD_emitter *e, const lt_value *leaf) {
  if (leaf->promise > 0)
    ltD_say(e, "d%zu", member_of(e, leaf));
  else
    ltD_say_number(e, leaf->value);
}

/* ---- Paths of modes -------------------------------------------------------------------------- */

ltD_path ltD_step(ltD_path p, int mode) {
  p.mode[p.depth++] = mode;
  return p;
}

/* A name's ending: _0_1. */
static void say_ending(ltD_emitter *e, const ltD_path *p) {
  for (int i = 0; i < p->depth; i++) ltD_say(e, "_%d", p->mode[i]);
}

/* ---- The sum of modes ------------------------------------------------------------------------ */

static bool same_path(const lt_value *basis, const lt_value *stride) {
  if (stride->kind != LT_BASIS || stride->length != basis->length) return false;
  for (uint32_t i = 1; i < basis->length; i++)
    if (basis[i].value != stride[i].value) return false;
  return true;
}

/* Whether a stride's leaf adds nothing to the component. */
static bool is_nothing(const ltD_component *c, const lt_value *stride) {
  if (c->basis != NULL) return !same_path(c->basis, stride);
  return stride->promise == 0 && stride->value == 0;
}

/* One leaf of shape and stride; consecutive ones that run on into each other are one. */
typedef struct run {
  const lt_value *shape; /* the only leaf, */
  int64_t size;          /* or the product of several static ones */
  const lt_value *stride;
} run;

static bool runs_on(const ltD_component *c, const run *r, const lt_value *shape,
                    const lt_value *stride) {
  int64_t next;
  if (r->shape->promise > 0 || shape->promise > 0) return false;
  if (is_nothing(c, r->stride) && is_nothing(c, stride)) return true;
  if (is_nothing(c, r->stride) || is_nothing(c, stride)) return false;
  if (r->stride->promise > 0 || stride->promise > 0) return false;
  return !__builtin_mul_overflow(r->size, r->stride->value, &next) && next == stride->value;
}

/* Fills 'runs' from the leaves of congruent shape and stride; returns how many. */
static size_t collect_runs(const ltD_component *c, const lt_value *shape, const lt_value *stride,
                           run *runs, size_t n) {
  if (ltA_is_tuple(shape)) {
    const lt_value *d = ltA_first(stride);
    for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
      n = collect_runs(c, s, d, runs, n);
      d = ltA_next(d);
    }
    return n;
  }
  int64_t size;
  if (n > 0 && runs_on(c, &runs[n - 1], shape, stride) &&
      !__builtin_mul_overflow(runs[n - 1].size, shape->value, &size)) {
    runs[n - 1].size = size;
    return n;
  }
  runs[n] = (run){shape, shape->value, stride};
  return n + 1;
}

static void say_size(ltD_emitter *e, const run *r) {
  if (r->shape->promise > 0)
    ltD_say_leaf(e, r->shape);
  else
    ltD_say_number(e, r->size);
}

static void say_scaled(ltD_emitter *e, const run *r) {
  if (r->stride->promise == 0 && r->stride->value == 1) return;
  ltD_say(e, " * ");
  ltD_say_leaf(e, r->stride);
}

static bool adds_nothing(const ltD_component *c, const run *runs, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!is_nothing(c, runs[i].stride)) return false;
  return true;
}

/*
** The statements that take a linear index 'i' apart: the rest of each division goes to the runs
** that follow, and all that is left to the last.
*/
static void say_split(ltD_emitter *e, const ltD_component *c, const run *runs, size_t n) {
  if (adds_nothing(c, runs, n)) {
    ltD_say(e, " (void)i; return 0; }\n");
    return;
  }
  ltD_say(e, " index r = 0;");
  for (size_t i = 0; i < n; i++) {
    bool last = i + 1 == n;
    if (!is_nothing(c, runs[i].stride)) {
      ltD_say(e, last ? " r += i" : " r += lutile::rem(i, index(");
      if (!last) say_size(e, &runs[i]);
      if (!last) ltD_say(e, "))");
      say_scaled(e, &runs[i]);
      ltD_say(e, ";");
    }
    if (last) break;
    ltD_say(e, " i = lutile::quo(i, index(");
    say_size(e, &runs[i]);
    ltD_say(e, "));");
  }
  ltD_say(e, " return r; }\n");
}

static void say_head(ltD_emitter *e, const ltD_component *c, const ltD_path *p,
                     const char *argument) {
  ltD_say(e, "  %s index %s", e->before, c->name);
  say_ending(e, p);
  ltD_say(e, "(%s)%s {", argument, e->after);
}

/* The function of a linear index of the mode at 'p'. The writer may write to the arena: nothing is released. */
static void say_linear(ltD_emitter *e, const ltD_component *c, const ltD_path *p,
                       const lt_value *shape, const lt_value *stride) {
  run *runs = ltA_new_bytes(e->arena, (ltA_count_leaves(shape) + 1) * sizeof *runs);
  if (runs == NULL) return;
  size_t n = collect_runs(c, shape, stride, runs, 0);
  say_head(e, c, p, "index i");
  say_split(e, c, runs, n);
}

/* The function of a coordinate (c0, c1, ...) of the mode at 'p'. */
static void say_natural(ltD_emitter *e, const ltD_component *c, const ltD_path *p, int rank) {
  ltD_say(e, "  template <class... C>");
  say_head(e, c, p, "lutile::coord<C...> c");
  ltD_say(e, " static_assert(sizeof...(C) == %d, \"rank of the coordinate\"); return index(0)",
          rank);
  for (int i = 0; i < rank; i++) {
    ltD_path child = ltD_step(*p, i);
    ltD_say(e, " + %s", c->name);
    say_ending(e, &child);
    ltD_say(e, "(lutile::get<%d>(c))", i);
  }
  ltD_say(e, "; }\n");
}

void ltD_say_component(ltD_emitter *e, const ltD_component *c, const ltD_path *p,
                       const lt_value *shape, const lt_value *stride) {
  if (ltA_is_tuple(shape)) {
    const lt_value *d = ltA_first(stride);
    int mode = 0;
    for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
      ltD_path child = ltD_step(*p, mode++);
      ltD_say_component(e, c, &child, s, d);
      d = ltA_next(d);
    }
    say_natural(e, c, p, mode);
  }
  say_linear(e, c, p, shape, stride);
}
