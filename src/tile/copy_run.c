/*
** The movements of copy atoms. Each atom call takes a vector of values from every thread's source,
** by the atom's source layout to elements of what is moved, and from there by its target layout to
** every thread's target.
*/
#include "copy_run.h"

#include <string.h>

/* One side of a call: what all threads bring as source, or as target. */
typedef struct side {
  const int64_t *positions; /* (thread, value) -> element of what is moved */
  int64_t values;           /* that a thread brings to a call */
  int64_t run;              /* of them that one access reads or writes, side by side */
  ltT_space space;          /* that it must be in, if 'has_space' */
  bool has_space;
  ltT_access access;
} side;

/* Offsets of one thread's side, in the order of its coordinates; not checked. */
typedef struct offsets {
  lt_tensor *tensor;
  const int64_t *at;
  int64_t count;
} offsets;

typedef struct member {
  offsets source, target, predicate;
  bool has_predicate;
} member;

typedef struct run {
  lt_arena *arena;
  const char *operation;
  const ltT_copy_atom *atom;
  size_t threads;
  int64_t calls;
  int64_t elements; /* of what a call moves */
  side source, target;
  member *members;
  uint8_t *moved; /* the elements of a call, in units of 'stride' bytes */
  bool *is_there; /* which of them are read, or written */
  size_t stride;
  size_t *culprit;
} run;

int64_t ltT_copy_threads(const lt_value *atom_value) {
  const lt_value *shape = ltA_shape(lt_part(atom_value, LT_COPY_THREADS));
  return ltA_is_integer(shape) ? shape->value : 1;
}

static int bits_of(const lt_tensor *t) { return ltT_type_of(t->element)->bits; }

/* ---- Preparing ------------------------------------------------------------------------------ */

static bool read_positions(run *r, const lt_value *layout, side *s) {
  int64_t n;
  const lt_value *end = lt_cosize(r->arena, layout);
  if (end == NULL) return false;
  ltT_buffer all = {.size = (size_t)end->value};
  lt_tensor t = {.element = LT_U8, .layout = layout, .buffer = &all, .name = "atom"};
  s->positions = ltT_offsets(r->arena, r->operation, &t, &n, LT_READ);
  s->values = s->positions == NULL ? 1 : n / (int64_t)r->threads;
  if (end->value > r->elements) r->elements = end->value;
  return s->positions != NULL;
}

/* Elements that an access of 'bits' reads or writes. */
static bool set_run(run *r, side *s, int bits) {
  const ltT_type *type = ltT_type_of(r->atom->element);
  s->run = bits / type->bits;
  if (s->run > 0) return true;
  ltA_fail(r->arena, LT_INVALID, "%s: %s moves %d bits at once, where an element of %s has %d",
           r->operation, r->atom->name, bits, type->name, type->bits);
  return false;
}

static void want_space(side *s, ltT_space space) {
  s->space = space;
  s->has_space = true;
}

/* Which memory each side must be in, and how wide its accesses are. */
static bool set_accesses(run *r) {
  const int word = r->atom->word, register_bits = 32;
  r->source.access = LT_READ;
  r->target.access = LT_WRITE;
  switch (r->atom->family->way) {
    case LT_COPY_LOAD:
      want_space(&r->source, LT_SHARED);
      return set_run(r, &r->source, word) && set_run(r, &r->target, register_bits);
    case LT_COPY_STORE:
      want_space(&r->target, LT_SHARED);
      return set_run(r, &r->source, register_bits) && set_run(r, &r->target, word);
    case LT_COPY_ASYNC:
      want_space(&r->source, LT_GLOBAL);
      want_space(&r->target, LT_SHARED);
      break;
    case LT_COPY_AUTO: r->source.run = r->target.run = 1; return true;
    default: break;
  }
  return set_run(r, &r->source, word) && set_run(r, &r->target, word);
}

static const lt_value *target_layout(run *r, const lt_value *value) {
  const char *moved = r->atom->family->moved_target;
  if (moved == NULL) return lt_part(value, LT_COPY_TARGET);
  const lt_value *bits = lt_parse(r->arena, moved);
  const lt_value *layout = lt_recast(r->arena, bits, 1, ltT_type_of(r->atom->element)->bits);
  if (layout == NULL ||
      ltA_product(r->arena, ltA_element(ltA_shape(layout), 0)).value == (int64_t)r->threads)
    return layout;
  return ltA_fail(r->arena, LT_INVALID, "%s: %s would split elements of %s", r->operation,
                  r->atom->name, ltT_type_of(r->atom->element)->name);
}

static bool begin(run *r, const lt_value *value) {
  const lt_value *target = target_layout(r, value);
  if (target == NULL || !read_positions(r, lt_part(value, LT_COPY_SOURCE), &r->source) ||
      !read_positions(r, target, &r->target) || !set_accesses(r))
    return false;
  r->stride = (size_t)(ltT_type_of(r->atom->element)->bits + 7) / 8;
  r->moved = ltA_new_bytes(r->arena, (size_t)r->elements * r->stride);
  r->is_there = ltA_new_bytes(r->arena, (size_t)r->elements * sizeof *r->is_there);
  r->members = ltA_new_bytes(r->arena, r->threads * sizeof *r->members);
  return !ltA_failed(r->arena);
}

/* ---- What a thread brings ------------------------------------------------------------------- */

static bool read_offsets(run *r, lt_tensor *t, offsets *o) {
  ltT_walk w;
  if (!ltT_begin_walk(&w, r->arena, t)) return false;
  *o = (offsets){t, NULL, w.left};
  if (w.left > INT32_MAX) {
    ltA_fail(r->arena, LT_LIMIT, "%s: %v is too large", r->operation, t->layout);
    return false;
  }
  int64_t *at = ltA_new_bytes(r->arena, (size_t)w.left * sizeof *at);
  if (at == NULL) return false;
  ltT_next_offsets(&w, at, (size_t)w.left);
  o->at = at;
  return !ltA_failed(r->arena);
}

static const char *verb_of(const side *s) { return s->access == LT_READ ? "reads" : "writes"; }

static const char *space_name(ltT_space space) {
  static const char *const names[] = {
      [LT_GLOBAL] = "global memory", [LT_SHARED] = "shared memory", [LT_REGISTER] = "registers"};
  return names[space];
}

static bool check_space(run *r, const side *s, const lt_tensor *t) {
  if (!s->has_space || t->buffer->space == s->space) return true;
  ltA_fail(r->arena, LT_INVALID, "%s: %s %s %s, where %s is in %s", r->operation, r->atom->name,
           verb_of(s), space_name(s->space), t->name, space_name(t->buffer->space));
  return false;
}

static bool check_bits(run *r, const lt_tensor *t) {
  const ltT_type *type = ltT_type_of(r->atom->element);
  if (r->atom->family->way == LT_COPY_AUTO || bits_of(t) == type->bits) return true;
  ltA_fail(r->arena, LT_INVALID,
           "%s: %s is of %s, %d bits, where the atom moves %s, %d bits: it does not convert",
           r->operation, t->name, ltT_type_of(t->element)->name, bits_of(t), type->name,
           type->bits);
  return false;
}

/* Mode 0 of a part must hold whole vectors of the atom. */
static bool check_values(run *r, const side *s, const lt_tensor *t) {
  const lt_value *shape = ltA_shape_of(t->layout);
  int64_t n = ltA_product(r->arena, ltA_is_tuple(shape) ? ltA_element(shape, 0) : shape).value;
  if (ltA_failed(r->arena)) return false;
  if (n % s->values == 0) return true;
  ltA_fail(r->arena, LT_INVALID,
           "%s: %s (%v) has %I values in mode 0, where %s moves %I a thread: retile gives a "
           "fragment the atom's order",
           r->operation, t->name, shape, n, r->atom->name, s->values);
  return false;
}

static bool check_calls(run *r, const member *m) {
  int64_t sources = m->source.count / r->source.values,
          targets = m->target.count / r->target.values;
  if (sources == targets && (r->calls < 0 || r->calls == sources)) {
    r->calls = sources;
    return true;
  }
  ltA_fail(r->arena, LT_INVALID, "%s: source %v and target %v are not the same number of vectors",
           r->operation, ltA_shape_of(m->source.tensor->layout),
           ltA_shape_of(m->target.tensor->layout));
  return false;
}

/* A predicate has an element a vector, a rest coordinate, or an element of the target. */
static bool check_predicate(run *r, const member *m) {
  const lt_value *shape = ltA_shape_of(m->target.tensor->layout);
  int64_t first =
      ltA_is_tuple(shape) ? ltA_product(r->arena, ltA_element(shape, 0)).value : m->target.count;
  int64_t n = m->predicate.count;
  if (ltA_failed(r->arena)) return false;
  bool fits = n == r->calls || n * first == m->target.count || n == m->target.count;
  if (fits) return true;
  ltA_fail(r->arena, LT_INVALID,
           "%s: predicate %v has %I elements, where the target %v has %I vectors of %s",
           r->operation, ltA_shape_of(m->predicate.tensor->layout), n, shape, r->calls,
           r->atom->name);
  return false;
}

static bool join(run *r, ltT_copy_parts *parts, member *m) {
  *m = (member){.has_predicate = parts->has_predicate};
  if (!check_space(r, &r->source, &parts->source) || !check_space(r, &r->target, &parts->target) ||
      !check_bits(r, &parts->source) || !check_bits(r, &parts->target) ||
      !check_values(r, &r->source, &parts->source) || !check_values(r, &r->target, &parts->target))
    return false;
  if (!read_offsets(r, &parts->source, &m->source) || !read_offsets(r, &parts->target, &m->target))
    return false;
  if (!check_calls(r, m)) return false;
  if (!m->has_predicate) return true;
  return read_offsets(r, &parts->predicate, &m->predicate) && check_predicate(r, m);
}

/* ---- Accesses ------------------------------------------------------------------------------- */

/* 'n' elements from index 'i' on are inside the buffer, and may be accessed. */
static bool check_elements(run *r, const offsets *o, int64_t i, int64_t n, ltT_access access) {
  o->tensor->vector = (int)n; /* one access */
  return ltT_access_elements(r->arena, r->operation, o->tensor, o->at + i, (size_t)n, i, access);
}

static bool fail_scattered(run *r, const side *s, const offsets *o, int64_t i, int64_t found) {
  const lt_tensor *t = o->tensor;
  ltA_fail(r->arena, LT_INVALID,
           "%s: %s %s %I elements of %s at once, %I bits, where %s (%v) has %I in a run, %I bits: "
           "the next is at stride %I",
           r->operation, r->atom->name, verb_of(s), s->run, ltT_type_of(t->element)->name,
           s->run * bits_of(t), t->name, t->layout, found, found * bits_of(t),
           o->at[i + found] - o->at[i + found - 1]);
  return false;
}

static bool fail_misaligned(run *r, const side *s, const offsets *o, int64_t i) {
  const lt_tensor *t = o->tensor;
  ltA_fail(r->arena, LT_INVALID,
           "%s: %s %s %I bits at once, aligned to as many, where %s (%v) has them at element %I, "
           "bit %I",
           r->operation, r->atom->name, verb_of(s), s->run * bits_of(t), t->name, t->layout,
           o->at[i], o->at[i] * bits_of(t));
  return false;
}

/* One access can reach the elements from index 'i' on: side by side, aligned, in the buffer. */
static bool check_access(run *r, const side *s, const offsets *o, int64_t i) {
  for (int64_t k = 1; k < s->run; k++)
    if (o->at[i + k] != o->at[i] + k) return fail_scattered(r, s, o, i, k);
  if (o->tensor->buffer->space != LT_REGISTER && o->at[i] % s->run != 0)
    return fail_misaligned(r, s, o, i);
  return check_elements(r, o, i, s->run, s->access);
}

/* An element type of as many bits, whose every pattern comes through unchanged. */
static lt_element carrier(int bits) { return bits == 1 ? LT_B1 : bits == 4 ? LT_U4 : LT_E3M2; }

void ltT_read_element(const lt_tensor *t, int64_t offset, uint8_t *bytes) {
  int bits = bits_of(t);
  if (bits % 8 == 0)
    memcpy(bytes, t->buffer->bytes + offset * (bits / 8), (size_t)bits / 8);
  else
    ltT_store(carrier(bits), bytes, 0, ltT_load(carrier(bits), t->buffer->bytes, offset));
}

void ltT_write_element(const lt_tensor *t, int64_t offset, const uint8_t *bytes) {
  int bits = bits_of(t);
  if (bits % 8 == 0)
    memcpy(t->buffer->bytes + offset * (bits / 8), bytes, (size_t)bits / 8);
  else
    ltT_store(carrier(bits), t->buffer->bytes, offset, ltT_load(carrier(bits), bytes, 0));
}

/* ---- A call --------------------------------------------------------------------------------- */

/* Reads what the thread is the first to bring: other addresses are not looked at. */
static bool gather(run *r, size_t thread, int64_t call) {
  const offsets *o = &r->members[thread].source;
  for (int64_t v = 0; v < r->source.values; v++) {
    int64_t i = call * r->source.values + v;
    int64_t at = r->source.positions[(int64_t)thread + (int64_t)r->threads * v];
    if (r->is_there[at]) continue;
    if (v % r->source.run == 0 && !check_access(r, &r->source, o, i)) return false;
    ltT_read_element(o->tensor, o->at[i], r->moved + (size_t)at * r->stride);
    r->is_there[at] = true;
  }
  return true;
}

/* In memory an element that several threads point to is written once; each has its registers. */
static bool scatter(run *r, size_t thread, int64_t call) {
  const offsets *o = &r->members[thread].target;
  bool is_store = r->atom->family->way == LT_COPY_STORE;
  for (int64_t v = 0; v < r->target.values; v++) {
    int64_t i = call * r->target.values + v;
    int64_t at = r->target.positions[(int64_t)thread + (int64_t)r->threads * v];
    if (is_store && !r->is_there[at]) continue;
    if (v % r->target.run == 0 && !check_access(r, &r->target, o, i)) return false;
    ltT_write_element(o->tensor, o->at[i], r->moved + (size_t)at * r->stride);
    if (is_store) r->is_there[at] = false;
  }
  return true;
}

/*
** Rows of 16 bytes hold 16 packed elements of 4 or 6 bits at their start; each becomes a byte. From
** the last to the first, so that none is overwritten before it is read.
*/
static void unpack(run *r) {
  int bits = r->atom->family->packed_bits;
  for (uint8_t *row = r->moved; row < r->moved + r->elements; row += 16) {
    uint8_t packed[17] = {0};
    memcpy(packed, row, 16);
    for (int i = 0; i < 16; i++) {
      int at = i * bits;
      unsigned both = packed[at / 8] | (unsigned)packed[at / 8 + 1] << 8;
      row[i] = (uint8_t)(both >> at % 8 & ((1u << bits) - 1));
    }
  }
}

/* The predicate of a call; true where there is none. */
static bool is_selected(run *r, const member *m, int64_t call, bool *selected) {
  *selected = true;
  if (!m->has_predicate || r->calls == 0) return true;
  int64_t n = m->predicate.count, per_call = m->target.count / r->calls;
  int64_t i = n == m->target.count ? call * per_call : n >= r->calls ? call : call / (r->calls / n);
  if (!check_elements(r, &m->predicate, i, 1, LT_READ)) return false;
  const lt_tensor *t = m->predicate.tensor;
  *selected = ltT_load(t->element, t->buffer->bytes, m->predicate.at[i]).re != 0;
  return true;
}

/* Whether the call is made: all threads of an atom must agree. */
static bool agree(run *r, int64_t call, bool *selected) {
  *selected = true;
  for (size_t i = 0; i < r->threads; i++) {
    bool own;
    *r->culprit = i;
    if (!is_selected(r, &r->members[i], call, &own)) return false;
    if (i == 0) *selected = own;
    if (own == *selected) continue;
    ltA_fail(r->arena, LT_INVALID,
             "%s: %s: the predicate is %s here and %s for the first thread: "
             "its threads must agree",
             r->operation, r->atom->name, own ? "true" : "false", own ? "false" : "true");
    return false;
  }
  return true;
}

static bool move(run *r, int64_t call) {
  memset(r->is_there, 0, (size_t)r->elements * sizeof *r->is_there);
  for (size_t i = 0; i < r->threads; i++) {
    *r->culprit = i;
    if (!gather(r, i, call)) return false;
  }
  if (r->atom->family->packed_bits != 0) unpack(r);
  for (size_t i = 0; i < r->threads; i++) {
    *r->culprit = i;
    if (!scatter(r, i, call)) return false;
  }
  return true;
}

static bool fill_zeros(run *r, int64_t call) {
  memset(r->moved, 0, (size_t)r->elements * r->stride);
  memset(r->is_there, 1, (size_t)r->elements * sizeof *r->is_there);
  for (size_t i = 0; i < r->threads; i++) {
    *r->culprit = i;
    if (!scatter(r, i, call)) return false;
  }
  return true;
}

/* ---- Elements by themselves ----------------------------------------------------------------- */

/* One thread, one element a call, converted where the types differ. */
static bool convert_one(run *r, int64_t call) {
  const offsets *s = &r->members[0].source, *t = &r->members[0].target;
  if (!check_elements(r, s, call, 1, LT_READ) || !check_elements(r, t, call, 1, LT_WRITE))
    return false;
  if (s->tensor->element == t->tensor->element && bits_of(s->tensor) % 8 == 0) {
    size_t size = (size_t)bits_of(s->tensor) / 8;
    memmove(t->tensor->buffer->bytes + (size_t)t->at[call] * size,
            s->tensor->buffer->bytes + (size_t)s->at[call] * size, size);
    return true;
  }
  ltT_store(t->tensor->element, t->tensor->buffer->bytes, t->at[call],
            ltT_load(s->tensor->element, s->tensor->buffer->bytes, s->at[call]));
  return true;
}

static bool run_call(run *r, int64_t call) {
  bool selected;
  if (!agree(r, call, &selected)) return false;
  if (!selected) return r->atom->family->fills_zeros ? fill_zeros(r, call) : true;
  return r->atom->family->way == LT_COPY_AUTO ? convert_one(r, call) : move(r, call);
}

bool ltT_run_copy(lt_arena *arena, const char *operation, const ltT_copy_atom *atom,
                  const lt_value *value, ltT_copy_parts *threads, size_t *culprit) {
  *culprit = 0;
  if (ltA_failed(arena)) return false;
  bool is_plain = atom->family->way == LT_COPY_AUTO && !threads->has_predicate;
  if (is_plain) return ltT_copy(arena, operation, NULL, &threads->source, &threads->target);
  run r = {.arena = arena,
           .operation = operation,
           .atom = atom,
           .threads = (size_t)ltT_copy_threads(value),
           .calls = -1,
           .culprit = culprit};
  if (!begin(&r, value)) return false;
  for (size_t i = 0; i < r.threads; i++) {
    *culprit = i;
    if (!join(&r, &threads[i], &r.members[i])) return false;
  }
  for (int64_t call = 0; call < r.calls; call++)
    if (!run_call(&r, call)) return false;
  return true;
}
