/*
** Fuzz target: chains of operations on small values. The bytes choose values and operations; every
** result is a sound value that passes its operation's law, and takes part in what follows; every
** failure is an error in words.
*/
#include "decode.h"
#include "laws.h"

#define POOL_SIZE 8
#define MAX_BYTES 4096
#define MAX_STEPS 6

typedef const lt_value *value;

typedef union function {
  value (*of_1)(lt_arena *, value);
  value (*of_2)(lt_arena *, value, value);
  value (*of_3)(lt_arena *, value, value, value);
  value (*of_4)(lt_arena *, value, value, value, value);
  value (*of_number)(lt_arena *, value, int64_t);
  value (*of_numbers)(lt_arena *, value, int64_t, int64_t);
  value (*of_number_value)(lt_arena *, value, int64_t, value);
  value (*of_modes)(lt_arena *, value, const int64_t *, size_t);
  value (*of_list)(lt_arena *, const value *, size_t);
  bool (*of_question_1)(lt_arena *, value);
  bool (*of_question)(lt_arena *, value, value);
} function;

typedef enum form {
  OF_1,
  OF_2,
  OF_3,
  OF_4,
  OF_NUMBER,
  OF_NUMBERS,
  OF_NUMBER_VALUE,
  OF_MODES,
  OF_LIST,
  QUESTION_1,
  QUESTION
} form;

/*
** Operands are one letter each: l layout of any kind, s shape, t tiler, c coordinate of the next
** shape or layout, x layout or shape, d stride of the operand before, i integer, w layout or
** swizzle, v anything. A capital may be left out.
*/
typedef struct operation {
  const char *name;
  form form;
  function call;
  const char *operands;
  law *law;
  question_law *question;
} operation;

#define MAKE(kind, field, name, operands, ...) \
  { #name, kind, {.field = lt_##name }, operands, __VA_ARGS__, NULL }
#define ONE(...) MAKE(OF_1, of_1, __VA_ARGS__)
#define TWO(...) MAKE(OF_2, of_2, __VA_ARGS__)
#define THREE(...) MAKE(OF_3, of_3, __VA_ARGS__)
#define FOUR(...) MAKE(OF_4, of_4, __VA_ARGS__)
#define NUMBER(...) MAKE(OF_NUMBER, of_number, __VA_ARGS__)
#define NUMBERS(...) MAKE(OF_NUMBERS, of_numbers, __VA_ARGS__)
#define NUMBER_VALUE(...) MAKE(OF_NUMBER_VALUE, of_number_value, __VA_ARGS__)
#define MODES(...) MAKE(OF_MODES, of_modes, __VA_ARGS__)
#define LIST(...) MAKE(OF_LIST, of_list, __VA_ARGS__)
#define ASK_ONE(name, operands, law) \
  { #name, QUESTION_1, {.of_question_1 = lt_##name }, operands, NULL, law }
#define ASK(name, operands, law) \
  { #name, QUESTION, {.of_question = lt_##name }, operands, NULL, law }

static const operation operations[] = {
    TWO(composition, "wt", law_composition),
    TWO(composition, "ll", law_composition),
    TWO(with_shape, "ls", law_with_shape),
    TWO(coalesce, "lT", law_same_function),
    ONE(flatten, "x", law_same_function),
    TWO(complement, "lX", law_complement),
    ONE(right_inverse, "l", law_right_inverse),
    ONE(left_inverse, "l", law_left_inverse),
    TWO(logical_divide, "lt", law_logical_divide),
    TWO(zipped_divide, "lt", law_zipped_divide),
    TWO(tiled_divide, "lt", law_tiled_divide),
    TWO(flat_divide, "lt", law_flat_divide),
    TWO(logical_product, "lt", law_logical_product),
    TWO(zipped_product, "lt", law_zipped_product),
    TWO(tiled_product, "lt", law_tiled_product),
    TWO(flat_product, "lt", law_flat_product),
    TWO(blocked_product, "ll", law_blocked_product),
    TWO(raked_product, "ll", law_raked_product),
    THREE(tile_to_shape, "lsS", NULL),
    TWO(filter, "lT", law_same_image),
    TWO(filter_zeros, "lD", NULL),
    ONE(nullspace, "l", law_nullspace),
    TWO(apply, "wc", law_apply),
    THREE(crd2idx, "cxD", law_crd2idx),
    THREE(idx2crd, "ixD", law_idx2crd),
    THREE(crd2crd, "css", law_crd2crd),
    TWO(get_hier_coord, "li", law_coord_of_index),
    TWO(get_flat_coord, "li", NULL),
    TWO(get_1d_coord, "li", NULL),
    ONE(size, "x", law_size),
    ONE(cosize, "l", law_cosize),
    ONE(coshape, "l", NULL),
    ONE(coprofile, "l", NULL),
    TWO(make_layout, "sD", law_make_layout),
    LIST(make_layout_of, "lll", NULL),
    THREE(make_composed_layout, "wIl", NULL),
    TWO(make_counting_tensor, "il", NULL),
    TWO(compact_col_major, "sI", NULL),
    TWO(compact_row_major, "sI", NULL),
    TWO(make_ordered_layout, "sd", law_make_layout),
    ONE(make_layout_like, "l", NULL),
    ONE(make_fragment_like, "l", NULL),
    ONE(make_identity_layout, "s", NULL),
    TWO(slice, "cx", NULL),
    TWO(dice, "cx", NULL),
    TWO(slice_and_offset, "cl", law_slice_and_offset),
    TWO(domain_offset, "cl", law_domain_offset),
    FOUR(local_tile, "ltcT", NULL),
    FOUR(local_partition, "lliT", NULL),
    THREE(inner_partition, "ltc", law_local_tile),
    THREE(outer_partition, "ltc", NULL),
    MODES(get, "x", NULL),
    MODES(select, "x", NULL),
    NUMBERS(take, "x", NULL),
    NUMBERS(group, "l", law_same_function),
    TWO(append, "lL", NULL),
    TWO(prepend, "lL", NULL),
    NUMBER_VALUE(append_to, "lL", NULL),
    NUMBER_VALUE(prepend_to, "lL", NULL),
    NUMBER_VALUE(replace, "xx", NULL),
    NUMBER_VALUE(insert, "sv", NULL),
    NUMBER(remove, "s", NULL),
    ONE(reverse, "x", NULL),
    TWO(unflatten, "xx", NULL),
    ONE(wrap, "v", NULL),
    ONE(unwrap, "v", NULL),
    ONE(zip, "x", NULL),
    TWO(shape_div, "xx", NULL),
    TWO(ceil_div, "sx", law_ceil_div),
    TWO(round_up, "ss", NULL),
    TWO(elem_scale, "ss", NULL),
    TWO(inner_product, "ss", NULL),
    ONE(product, "s", law_product),
    ONE(product_each, "s", NULL),
    TWO(product_like, "ss", NULL),
    ONE(sum, "s", law_sum),
    LIST(gcd, "ssi", NULL),
    LIST(max, "sii", NULL),
    LIST(min, "sis", NULL),
    TWO(max_common_vector, "ll", law_common_vector),
    TWO(max_common_layout, "ll", NULL),
    ONE(max_alignment, "x", law_alignment),
    TWO(domain_distribute, "si", NULL),
    NUMBER(upcast, "w", law_upcast),
    NUMBER(downcast, "w", law_downcast),
    NUMBERS(recast, "w", NULL),
    ONE(as_position_independent_swizzle, "l", law_same_function),
    ONE(image_layout, "l", law_image),
    ASK(congruent, "xx", law_congruent),
    ASK(weakly_congruent, "xx", NULL),
    ASK(compatible, "xx", NULL),
    ASK(weakly_compatible, "xx", NULL),
    ASK(evenly_divides, "xx", NULL),
    ASK(lex_less, "ss", NULL),
    ASK(colex_less, "ss", NULL),
    ASK(elem_less, "ss", NULL),
    ASK(equivalent, "ll", law_equivalent),
    ASK(is_surjective, "lI", law_surjective),
    ASK_ONE(is_injective, "l", law_injective),
    ASK_ONE(is_bijective, "l", law_bijective),
    ASK_ONE(is_contiguous, "l", law_contiguous),
};

/* ---- The pool -------------------------------------------------------------------------------- */

/* Values between steps, as bytes outside of any arena: a value holds no pointers. */
typedef struct pool {
  int64_t slots[POOL_SIZE][MAX_BYTES / sizeof(int64_t)];
  int count;
} pool;

static void keep(pool *p, value v) {
  size_t size = lt_value_size(v);
  if (size > MAX_BYTES) return;
  memcpy(p->slots[p->count++ % POOL_SIZE], v, size);
}

static value pooled(const pool *p, unsigned i) {
  int filled = p->count < POOL_SIZE ? p->count : POOL_SIZE;
  return filled == 0 ? NULL : (value)(const void *)p->slots[i % (unsigned)filled];
}

/* ---- Operands -------------------------------------------------------------------------------- */

static bool suits(char letter, value v) {
  switch (letter) {
    case 'l': return lt_is_layout(v) || lt_kind_of(v) == LT_TENSOR;
    case 'w': return lt_is_layout(v) || lt_kind_of(v) == LT_SWIZZLE;
    case 'x': return lt_is_layout(v) || lt_kind_of(v) == LT_TUPLE;
    case 's':
    case 't': return lt_kind_of(v) == LT_TUPLE || lt_kind_of(v) == LT_LAYOUT;
    case 'i': return lt_kind_of(v) == LT_INTEGER;
    default: return false;
  }
}

static value take_operand(bytes *b, lt_arena *arena, char letter, value other) {
  switch (letter) {
    case 'l': return take_any_layout(b, arena);
    case 's': return take_shape(b, arena);
    case 't': return take_tiler(b, arena);
    case 'c': return take_coord(b, arena, other == NULL ? NULL : lt_shape(other));
    case 'x': return take_byte(b) % 2 == 0 ? take_any_layout(b, arena) : take_shape(b, arena);
    case 'd':
      if (take_byte(b) % 4 == 0) return lt_layout_right(arena);
      return take_stride(b, arena, other == NULL ? NULL : lt_shape(other));
    case 'i': return lt_integer(arena, take_number(b));
    case 'w': return take_byte(b) % 4 == 0 ? take_swizzle(b, arena) : take_any_layout(b, arena);
    default: return take_any(b, arena);
  }
}

/* From the pool, often of the right kind, or new. */
static value choose_operand(bytes *b, lt_arena *arena, const pool *p, char letter, value other) {
  bool is_optional = letter >= 'A' && letter <= 'Z';
  unsigned byte = take_byte(b);
  if (is_optional && byte % 2 == 0) return NULL;
  if (is_optional) letter = (char)(letter - 'A' + 'a');
  value v = pooled(p, byte / 8);
  if (byte >= 252) return v; /* of any kind */
  if (v != NULL && byte % 4 < 2 && suits(letter, v)) return v;
  return take_operand(b, arena, letter, other);
}

static bool choose_operands(bytes *b, lt_arena *arena, const pool *p, const operation *o, call *c) {
  int n = (int)strlen(o->operands);
  bool backwards = o->operands[0] == 'c';
  for (int k = 0; k < n; k++) {
    int i = backwards ? (k + 1) % n : k;
    char letter = o->operands[i];
    value other = backwards ? c->x[1] : i > 0 ? c->x[i - 1] : NULL;
    c->x[i] = choose_operand(b, arena, p, letter, other);
    if (c->x[i] == NULL && !(letter >= 'A' && letter <= 'Z')) return false;
  }
  for (int i = 0; i < 2; i++) c->n[i] = take_number(b);
  return true;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static value run(const operation *o, lt_arena *arena, const call *c, bool *answer) {
  const value *x = c->x;
  switch (o->form) {
    case OF_1: return o->call.of_1(arena, x[0]);
    case OF_2: return o->call.of_2(arena, x[0], x[1]);
    case OF_3: return o->call.of_3(arena, x[0], x[1], x[2]);
    case OF_4: return o->call.of_4(arena, x[0], x[1], x[2], x[3]);
    case OF_NUMBER: return o->call.of_number(arena, x[0], c->n[0]);
    case OF_NUMBERS: return o->call.of_numbers(arena, x[0], c->n[0], c->n[1]);
    case OF_NUMBER_VALUE:
      return o->call.of_number_value(arena, x[0], c->n[0] > 64 ? 64 : c->n[0], x[1]);
    case OF_MODES: return o->call.of_modes(arena, x[0], c->n, 1 + (c->n[0] & 1));
    case OF_LIST: return o->call.of_list(arena, x, 3);
    case QUESTION_1: *answer = o->call.of_question_1(arena, x[0]); return NULL;
    case QUESTION: *answer = o->call.of_question(arena, x[0], x[1]); return NULL;
  }
  return NULL;
}

static void check_law(const operation *o, const call *c, bool answer) {
  if (o->law != NULL) o->law(c);
  if (o->question != NULL) o->question(c, answer);
  for (int i = 0; i < 2; i++)
    if (c->x[i] != NULL) check_offsets(c, c->x[i]);
}

/* Questions about all offsets evaluate up to LT_MAX_EVALUATION of them: too many here. */
static bool is_long(const operation *o, const call *c) {
  if (o->question == NULL && o->law != law_image) return false;
  for (int i = 0; i < 2; i++) {
    value shape = c->x[i] == NULL ? NULL : lt_shape(c->x[i]);
    bool has_size =
        shape != NULL && (lt_kind_of(shape) == LT_TUPLE || lt_kind_of(shape) == LT_INTEGER);
    if (has_size && o->question != law_congruent && model_size(shape) > 4096) return true;
  }
  return false;
}

typedef struct target {
  lt_arena *arena, *of_laws;
  lt_error error, law_error;
  pool values;
} target;

/* Every call before it is made, where LUTILE_FUZZ_SHOW is set: for inputs that end the process. */
static void show_call(const call *c) {
  if (getenv("LUTILE_FUZZ_SHOW") == NULL) return;
  fprintf(stderr, "%s, with the numbers %lld and %lld\n", c->name, (long long)c->n[0],
          (long long)c->n[1]);
  for (int i = 0; i < 4; i++)
    if (c->x[i] != NULL) show("operand", c->x[i]);
}

static void step(target *t, bytes *b) {
  lt_arena_reset(t->arena);
  const operation *o = &operations[take_byte(b) % (sizeof operations / sizeof operations[0])];
  call c = {.arena = t->of_laws, .name = o->name};
  if (!choose_operands(b, t->arena, &t->values, o, &c)) {
    if (t->error.status != LT_OK) check_error(&t->error);
    return;
  }
  if (t->error.status != LT_OK) return;
  if (is_long(o, &c)) return;
  show_call(&c);
  bool answer = false, is_question = o->form == QUESTION || o->form == QUESTION_1;
  c.r = run(o, t->arena, &c, &answer);
  if (t->error.status != LT_OK) {
    if (c.r != NULL || answer) broken(&c, "a result beside an error");
    check_error(&t->error);
    return;
  }
  if (c.r == NULL && !is_question) broken(&c, "neither result nor error");
  lt_arena_reset(t->of_laws);
  if (c.r != NULL) check_value(t->of_laws, c.r);
  check_law(o, &c, answer);
  if (c.r != NULL) keep(&t->values, c.r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static target t;
  if (t.arena == NULL) t.arena = lt_arena_new(NULL, &t.error);
  if (t.of_laws == NULL) t.of_laws = lt_arena_new(NULL, &t.law_error);
  if (t.arena == NULL || t.of_laws == NULL) return 0;
  t.values.count = 0;
  bytes b = {data, data + size};
  for (int i = 0; i < MAX_STEPS && b.at < b.end; i++) step(&t, &b);
  lt_arena_reset(t.arena); /* what stays allocated looks like a leak, which libFuzzer looks into */
  lt_arena_reset(t.of_laws);
  return 0;
}
