/*
** Every operation of the C API: its result on one case, and the same case with every allocation
** made to fail in turn.
*/
#include "test.h"

#define MAX_OPERANDS 4
#define TEXT_SIZE 512

typedef const lt_value *operand;

typedef struct operation_case operation_case;

struct operation_case {
  const char *name;
  /* Calls 'function' on operands in an array; those that were left out are NULL. */
  operand (*run)(const operation_case *c, lt_arena *arena, const operand *x);
  union {
    operand (*of_1)(lt_arena *, operand);
    operand (*of_2)(lt_arena *, operand, operand);
    operand (*of_3)(lt_arena *, operand, operand, operand);
    operand (*of_4)(lt_arena *, operand, operand, operand, operand);
    operand (*of_number)(lt_arena *, operand, int64_t);
    operand (*of_numbers)(lt_arena *, operand, int64_t, int64_t);
    operand (*of_number_value)(lt_arena *, operand, int64_t, operand);
    operand (*of_modes)(lt_arena *, operand, const int64_t *, size_t);
    operand (*of_list)(lt_arena *, const operand *, size_t);
    bool (*of_predicate)(lt_arena *, operand);
    bool (*of_relation)(lt_arena *, operand, operand);
    operand (*of_text)(lt_arena *, const char *, size_t);
    operand (*of_nothing)(lt_arena *);
  } function;
  const char *expected;
  const char *operands[MAX_OPERANDS]; /* as lt_parse reads them */
};

/* ---- One function a form of operation ------------------------------------------------------- */

static operand run_1(const operation_case *c, lt_arena *arena, const operand *x) {
  return c->function.of_1(arena, x[0]);
}

static operand run_2(const operation_case *c, lt_arena *arena, const operand *x) {
  return c->function.of_2(arena, x[0], x[1]);
}

static operand run_3(const operation_case *c, lt_arena *arena, const operand *x) {
  return c->function.of_3(arena, x[0], x[1], x[2]);
}

static operand run_4(const operation_case *c, lt_arena *arena, const operand *x) {
  return c->function.of_4(arena, x[0], x[1], x[2], x[3]);
}

static operand run_number(const operation_case *c, lt_arena *arena, const operand *x) {
  return c->function.of_number(arena, x[0], lt_integer_value(x[1]));
}

static operand run_numbers(const operation_case *c, lt_arena *arena, const operand *x) {
  return c->function.of_numbers(arena, x[0], lt_integer_value(x[1]), lt_integer_value(x[2]));
}

static operand run_number_value(const operation_case *c, lt_arena *arena, const operand *x) {
  return c->function.of_number_value(arena, x[0], lt_integer_value(x[1]), x[2]);
}

/* The second operand is a tuple of two modes. */
static operand run_modes(const operation_case *c, lt_arena *arena, const operand *x) {
  int64_t modes[2] = {lt_integer_value(lt_part(x[1], 0)), lt_integer_value(lt_part(x[1], 1))};
  return c->function.of_modes(arena, x[0], modes, 2);
}

static operand run_list(const operation_case *c, lt_arena *arena, const operand *x) {
  size_t n = 0;
  while (n < MAX_OPERANDS && x[n] != NULL) n++;
  return c->function.of_list(arena, x, n);
}

/* Gives 1 for true. */
static operand run_relation(const operation_case *c, lt_arena *arena, const operand *x) {
  return lt_integer(arena, c->function.of_relation(arena, x[0], x[1]));
}

/* The operand is read again, by the function. */
static operand run_text(const operation_case *c, lt_arena *arena, const operand *x) {
  char text[TEXT_SIZE];
  if (x[0] == NULL) return NULL;
  size_t length = lt_to_string(x[0], text, sizeof text);
  return c->function.of_text(arena, text, length);
}

static operand run_tag(const operation_case *c, lt_arena *arena, const operand *x) {
  (void)x;
  return c->function.of_nothing(arena);
}

/* Makers whose arguments are numbers: operands give them. */
static operand run_dynamic(const operation_case *c, lt_arena *arena, const operand *x) {
  (void)c;
  return lt_dynamic(arena, lt_integer_value(x[0]), lt_integer_value(x[1]));
}

static operand run_basis(const operation_case *c, lt_arena *arena, const operand *x) {
  (void)c;
  return lt_basis(arena, x[0], (const int64_t[]){0, 1}, 2);
}

static operand run_swizzle(const operation_case *c, lt_arena *arena, const operand *x) {
  (void)c;
  return lt_swizzle(arena, lt_integer_value(x[0]), lt_integer_value(x[1]), lt_integer_value(x[2]));
}

static operand run_smem(const operation_case *c, lt_arena *arena, const operand *x) {
  (void)c;
  return lt_smem(arena, lt_integer_value(x[0]));
}

static operand run_nothing(const operation_case *c, lt_arena *arena, const operand *x) {
  (void)c, (void)arena;
  return x[0];
}

static operand run_predicate(const operation_case *c, lt_arena *arena, const operand *x) {
  return lt_integer(arena, c->function.of_predicate(arena, x[0]));
}

/* The offsets as a tuple. */
static operand run_image(const operation_case *c, lt_arena *arena, const operand *x) {
  (void)c;
  size_t count;
  operand elements[16];
  const int64_t *offsets = lt_image(arena, x[0], &count);
  for (size_t i = 0; i < count; i++) elements[i] = lt_integer(arena, offsets[i]);
  return lt_tuple(arena, elements, count);
}

/* ---- The cases ------------------------------------------------------------------------------ */

#define CASE(form, name, ...) \
  { #name, run_##form, {.of_##form = lt_##name }, __VA_ARGS__ }
#define OF_1(name, expected, ...) CASE(1, name, expected, {__VA_ARGS__})
#define OF_2(name, expected, ...) CASE(2, name, expected, {__VA_ARGS__})
#define OF_3(name, expected, ...) CASE(3, name, expected, {__VA_ARGS__})
#define OF_4(name, expected, ...) CASE(4, name, expected, {__VA_ARGS__})
#define OF_NUMBER(name, expected, ...) CASE(number, name, expected, {__VA_ARGS__})
#define OF_NUMBERS(name, expected, ...) CASE(numbers, name, expected, {__VA_ARGS__})
#define OF_NUMBER_VALUE(name, expected, ...) CASE(number_value, name, expected, {__VA_ARGS__})
#define OF_MODES(name, expected, ...) CASE(modes, name, expected, {__VA_ARGS__})
#define OF_LIST(name, expected, ...) CASE(list, name, expected, {__VA_ARGS__})
#define PREDICATE(name, expected, ...) CASE(predicate, name, expected, {__VA_ARGS__})
#define RELATION(name, expected, ...) CASE(relation, name, expected, {__VA_ARGS__})

#define TEXT(name, expected, ...)                                       \
  {                                                                     \
#name, run_text, {.of_text = lt_##name }, expected, { __VA_ARGS__ } \
  }
#define TAG(name, expected)                                        \
  {                                                                \
#name, run_tag, {.of_nothing = lt_##name }, expected, { NULL } \
  }
#define MAKER(name, expected, ...)                        \
  {                                                       \
#name, run_##name, {NULL }, expected, { __VA_ARGS__ } \
  }

#define TWOS "(2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2)"
#define POWERS "(1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072)"
#define POWERS_FROM_4 \
  "(4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288)"
#define LONG TWOS ":" POWERS
#define ONES "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"

static const operation_case cases[] = {
    {"parse", run_nothing, {NULL}, "(4,(2,?3)):(2,(1,8))", {"(4,(2,?3)):(2,(1,8))"}},
    TEXT(parse_bytes, "((2,2),_)", "((2,2),_)"),
    TEXT(from_cute, "(?4,?2):(?1,?4)", "(4,2):(1,4)"),
    MAKER(dynamic, "?8{4}", "8", "4"),
    MAKER(basis, "4@1@0", "4"),
    MAKER(swizzle, "Sw<3,4,3>", "3", "4", "3"),
    MAKER(smem, "smem[16b]", "16"),
    TAG(wildcard, "_"),
    TAG(layout_left, "LayoutLeft"),
    TAG(layout_right, "LayoutRight"),
    OF_LIST(tuple, "(4,(2,3))", "4", "(2,3)"),
    OF_2(make_layout, "(2,(2,3)):(1,(2,4))", "(2,(2,3))"),
    OF_LIST(make_layout_of, "(4,(2,3)):(1,(3,1))", "4:1", "(2,3):(3,1)"),
    OF_3(make_composed_layout, "Sw<3,4,3> o 0 o (8,64):(64,1)", "Sw<3,4,3>", "0", "(8,64):(64,1)"),
    OF_2(make_counting_tensor, "5 o (2,2):(4,16)", "5", "(2,2):(4,16)"),
    OF_2(compact_col_major, "(1,(2,4))", "(2,(2,3))"),
    OF_2(compact_row_major, "(6,(3,1))", "(2,(2,3))"),
    OF_2(make_ordered_layout, "(2,3,4):(12,1,3)", "(2,3,4)", "(2,0,1)"),
    OF_1(make_layout_like, "(4,2):(2,1)", "(4,2):(16,3)"),
    OF_1(make_fragment_like, "(4,2,3):(1,12,4)", "(4,2,3):(8,100,5)"),
    OF_1(make_identity_layout, "(4,8):(1@0,1@1)", "(4,8)"),

    OF_3(crd2idx, "11", "(1,5)", "(2,(2,3)):(3,(6,1))"),
    OF_3(idx2crd, "(1,(0,2))", "9", "(2,(2,3))"),
    OF_3(crd2crd, "(1,(1,1))", "(1,3)", "(2,6)", "(2,(2,3))"),
    OF_2(apply, "11", "(2,(2,3)):(3,(6,1))", "(1,(1,2))"),
    OF_2(get_hier_coord, "(1,(0,2))", "(2,(2,3)):(3,(6,1))", "5"),
    OF_2(get_flat_coord, "(1,4)", "(2,(2,3)):(3,(6,1))", "5"),
    OF_2(get_1d_coord, "9", "(2,(2,3)):(3,(6,1))", "5"),
    OF_1(size, "12", "(2,(2,3)):(3,(6,1))"),
    OF_1(cosize, "8", "(2,3):(5,1)"),
    OF_1(coshape, "(4,8)", "(4,8):(1@0,1@1)"),
    OF_1(coprofile, "(0,0)", "(4,8):(1@0,1@1)"),

    RELATION(congruent, "1", "(4,(2,8))", "(1,(2,3))"),
    RELATION(weakly_congruent, "1", "(4,2)", "(1,(2,3))"),
    RELATION(compatible, "1", "(4,16)", "(4,(2,8))"),
    RELATION(weakly_compatible, "1", "(2,8)", "(4,(2,8))"),
    RELATION(evenly_divides, "1", "(4,16)", "(2,8)"),
    RELATION(lex_less, "0", "(1,0)", "(0,1)"),
    RELATION(colex_less, "1", "(1,0)", "(0,1)"),
    RELATION(elem_less, "1", "(3,7)", "(4,8)"),

    OF_MODES(get, "3", "(2,(3,4))", "(1,0)"),
    OF_MODES(select, "(8,2):(16,1)", "(2,4,8):(1,4,16)", "(2,0)"),
    OF_NUMBERS(take, "(4,8):(4,16)", "(2,4,8):(1,4,16)", "1", "3"),
    OF_NUMBERS(group, "((2,4),8):((1,4),16)", "(2,4,8):(1,4,16)", "0", "2"),
    OF_2(append, "(2,4,1):(1,4,0)", "(2,4):(1,4)"),
    OF_2(prepend, "(1,2,4):(0,1,4)", "(2,4):(1,4)"),
    OF_NUMBER_VALUE(append_to, "(2,4,1,1):(1,4,0,0)", "(2,4):(1,4)", "4"),
    OF_NUMBER_VALUE(prepend_to, "(1,1,2,4):(0,0,1,4)", "(2,4):(1,4)", "4"),
    OF_NUMBER_VALUE(replace, "(2,(3,3)):(1,(1,3))", "(2,4):(1,4)", "1", "(3,3):(1,3)"),
    OF_NUMBER_VALUE(insert, "(2,7,4)", "(2,4)", "1", "7"),
    OF_NUMBER(remove, "(2,8)", "(2,4,8)", "1"),
    OF_1(reverse, "(8,4,2)", "(2,4,8)"),
    OF_1(flatten, "(2,2,3):(3,6,1)", "(2,(2,3)):(3,(6,1))"),
    OF_2(unflatten, "(2,(2,3)):(3,(6,1))", "(2,2,3):(3,6,1)", "(0,(0,0))"),
    OF_1(wrap, "(4)", "4"),
    OF_1(unwrap, "4", "((4))"),
    OF_1(zip, "((2,8),(4,16)):((1,3),(2,4))", "((2,4),(8,16)):((1,2),(3,4))"),

    OF_2(shape_div, "(1,2)", "(4,8)", "(4,4)"),
    OF_2(ceil_div, "(3,2)", "(9,8)", "(4,4)"),
    OF_2(round_up, "(12,8)", "(9,8)", "(4,4)"),
    OF_2(elem_scale, "(8,15)", "(2,3)", "(4,5)"),
    OF_2(inner_product, "23", "(2,3)", "(4,5)"),
    OF_1(product, "24", "(2,(3,4))"),
    OF_1(product_each, "(2,12)", "(2,(3,4))"),
    OF_2(product_like, "(2,12)", "(2,(3,4))", "(0,0)"),
    OF_1(sum, "9", "(2,(3,4))"),
    OF_LIST(gcd, "4", "(8,12)", "20"),
    OF_LIST(max, "20", "(8,12)", "20"),
    OF_LIST(min, "8", "(8,12)", "20"),

    OF_2(coalesce, "8:1", "(2,4):(1,2)"),
    OF_2(filter, "(2,3):(1,8)", "(2,4,3):(1,0,8)"),
    OF_2(filter_zeros, "(2,1,3):(1,0,8)", "(2,4,3):(1,0,8)"),
    OF_1(nullspace, "4:2", "(2,4,3):(1,0,8)"),
    OF_2(composition, "(2,2):(2,4)", "(4,2):(2,1)", "(2,2):(1,2)"),
    OF_2(with_shape, "(2,4):(2,4)", "8:2", "(2,4)"),
    OF_2(complement, "(2,3):(1,8)", "4:2", "24"),
    OF_1(right_inverse, "(4,2):(2,1)", "(2,4):(4,1)"),
    OF_1(left_inverse, "(4,2):(2,1)", "(2,4):(4,1)"),
    OF_2(logical_divide, "(2,4):(1,2)", "8:1", "2"),
    OF_2(zipped_divide, "((2,4),(4,2)):((8,1),(16,4))", "(8,8):(8,1)", "(2,4)"),
    OF_2(tiled_divide, "((2,4),4,2):((8,1),16,4)", "(8,8):(8,1)", "(2,4)"),
    OF_2(flat_divide, "(2,4,4,2):(8,1,16,4)", "(8,8):(8,1)", "(2,4)"),
    OF_2(logical_product, "((2,2),(2,3)):((4,1),(2,8))", "(2,2):(4,1)", "6:1"),
    OF_2(zipped_product, "((2,2),(2,3)):((4,1),(2,8))", "(2,2):(4,1)", "6:1"),
    OF_2(tiled_product, "((2,2),2,3):((4,1),2,8)", "(2,2):(4,1)", "(2,3):(1,2)"),
    OF_2(flat_product, "(2,2,2,3):(4,1,2,8)", "(2,2):(4,1)", "(2,3):(1,2)"),
    OF_2(blocked_product, "((2,3),(5,4)):((5,10),(1,30))", "(2,5):(5,1)", "(3,4):(1,3)"),
    OF_2(raked_product, "((3,2),(4,5)):((10,5),(30,1))", "(2,5):(5,1)", "(3,4):(1,3)"),
    OF_3(tile_to_shape, "((4,4),(8,2)):((8,32),(1,128))", "(4,8):(8,1)", "(16,16)"),

    RELATION(equivalent, "1", "(4,2):(1,4)", "8:1"),
    {"equivalent",
     run_relation,
     {.of_relation = lt_equivalent},
     "1",
     {"Sw<1,0,1> o 0 o 6:1", "Sw<1,0,1> o 0 o (2,3):(1,2)"}},
    PREDICATE(is_injective, "1", "(2,3,2):(1,5,7)"),
    {"is_injective",
     run_predicate,
     {.of_predicate = lt_is_injective},
     "0",
     {"4:1 o 1 o (2,4):(3,1)"}},
    RELATION(is_surjective, "1", "(2,3):(1,2)"),
    RELATION(is_surjective, "0", "Sw<1,1,2> o 0 o (4,4):(4,1)", "17"),
    PREDICATE(is_bijective, "1", "(2,3):(3,1)"),
    PREDICATE(is_contiguous, "1", "Sw<1,1,2> o 4 o (4,4):(4,1)"),
    OF_1(image_layout, "5 o 10:1", "5 o (4,4):(1,2)"),
    OF_1(image_layout, "3:3", "2:3 o 0 o (2,2):(1,1)"),
    {"image", run_image, {NULL}, "(0,1,3,4)", {"(2,2):(1,3)"}},
    {"image", run_image, {NULL}, "(0,2,3,4,5,7)", {"(3,2):(2,3)"}},

    OF_2(slice, "(4):(2)", "(1,_)", "(2,4):(1,2)"),
    OF_2(dice, "(2):(1)", "(1,_)", "(2,4):(1,2)"),
    OF_2(slice_and_offset, "1 o (4):(2)", "(1,_)", "(2,4):(1,2)"),
    OF_2(domain_offset, "3 o (2,4):(1,2)", "(1,1)", "(2,4):(1,2)"),
    OF_4(local_tile, "20 o (2,4):(8,1)", "(8,8):(8,1)", "(2,4)", "(1,1)"),
    OF_4(local_partition, "9 o (4,2):(16,4)", "(8,8):(8,1)", "(2,4):(4,1)", "5"),
    OF_3(inner_partition, "20 o (2,4):(8,1)", "(8,8):(8,1)", "(2,4)", "(1,1)"),
    OF_3(outer_partition, "9 o (4,2):(16,4)", "(8,8):(8,1)", "(2,4)", "(1,1)"),

    OF_2(max_common_vector, "4", "(4,8):(1,4)", "(4,8):(1,8)"),
    OF_2(max_common_layout, "4:1", "(4,8):(1,4)", "(4,8):(1,8)"),
    OF_1(max_alignment, "4", "(4,8):(1,8)"),
    OF_2(domain_distribute, "(2,8):(1,6)", "((1,6),16)", "16"),
    OF_NUMBER(upcast, "(2,8):(1,4)", "(4,8):(1,8)", "2"),
    OF_NUMBER(downcast, "(8,8):(1,16)", "(4,8):(1,8)", "2"),
    OF_1(as_position_independent_swizzle, "Sw<3,3,3> o 0 o (8,64):(64,1)",
         "Sw<3,4,3> o smem[16b] o (8,64):(64,1)"),
    OF_NUMBERS(recast, "(2,8):(1,4)", "(4,8):(1,8)", "16", "32"),

    /* more modes than a list of them holds without memory of its own */
    OF_2(coalesce, "262144:1", LONG),
    OF_1(nullspace, "1:0", LONG),
    OF_2(composition, "(4,8):(1,64)", LONG, "(4,8):(1,64)"),
    OF_2(composition, "(2,3):(2,1)", LONG, "(2,3):(2,1)"),
    OF_2(composition, LONG, "262144:1", LONG),
    OF_2(complement, "2:262144", LONG, "524288"),
    OF_1(right_inverse, "262144:1", LONG),
    OF_1(left_inverse, "262144:1", LONG),
    OF_1(left_inverse, "(2,3):(1,1)", "(2,2," ONES "):(2,3," ONES ")"),
    OF_2(logical_divide, "(4,65536):(1,4)", LONG, "4:1"),
    OF_2(logical_divide, "(" TWOS ",2):(" POWERS ",262144)", "524288:1", LONG),
    OF_2(logical_product, "(4," TWOS "):(1," POWERS_FROM_4 ")", "4:1", LONG),
    OF_1(max_alignment, "262144", LONG),
    OF_2(max_common_vector, "262144", LONG, LONG),
    PREDICATE(is_injective, "1", LONG),
    PREDICATE(is_bijective, "1", LONG),
};

/* How a case is run: with this many nodes of the arena in use already. */
typedef struct condition {
  int nodes;
  bool last_chunk; /* the arena gets no more memory once the case runs */
} condition;

/* Parses the operands and runs the case in a new arena; its text, or the error's. */
static lt_status run_case(const operation_case *c, ledger *books, condition when, char *text) {
  lt_error error = {LT_OK, ""};
  lt_allocator allocator = {ledger_reallocate, books};
  lt_arena *arena = lt_arena_new(&allocator, &error);
  operand operands[MAX_OPERANDS] = {NULL};
  for (int i = 0; arena != NULL && i < MAX_OPERANDS && c->operands[i] != NULL; i++)
    operands[i] = lt_parse(arena, c->operands[i]);
  for (int i = 0; arena != NULL && i < when.nodes; i++) lt_integer(arena, i);
  if (when.last_chunk) books->fail_at = books->calls + 1;
  operand result = error.status == LT_OK ? c->run(c, arena, operands) : NULL;
  if (error.status != LT_OK)
    snprintf(text, TEXT_SIZE, "%s", error.message);
  else if (result != NULL)
    lt_to_string(result, text, TEXT_SIZE);
  else
    strcpy(text, "NULL without an error");
  lt_arena_free(arena);
  return error.status;
}

/* The result, or an error for want of memory; and no leak. */
static bool is_sound(const operation_case *c, lt_status status, const ledger *books,
                     const char *text) {
  bool expected = status == LT_OK ? strcmp(text, c->expected) == 0 : status == LT_NO_MEMORY;
  if (!expected) fprintf(stderr, "  got %s\n", text);
  return expected && books->live == 0 && !books->mistaken;
}

/* With no memory from the n-th allocation on, for every n. */
static bool survives_failures(const operation_case *c) {
  char text[TEXT_SIZE];
  lt_status status = LT_NO_MEMORY;
  for (long n = 1; status != LT_OK; n++) {
    ledger books = {.fail_at = n};
    status = run_case(c, &books, (condition){0, false}, text);
    if (!is_sound(c, status, &books, text)) return false;
  }
  return true;
}

/*
** With every number of nodes left in the arena's chunk, and no other chunk to be had: so the memory
** ends at every place of the operation where it can.
*/
static bool survives_last_chunk(const operation_case *c) {
  char text[TEXT_SIZE];
  long chunks = 0;
  for (int nodes = 0;; nodes++) {
    ledger books = {0};
    lt_status status = run_case(c, &books, (condition){nodes, true}, text);
    if (!is_sound(c, status, &books, text)) return false;
    if (nodes == 0) chunks = books.fail_at;
    if (books.fail_at > chunks) return true; /* the nodes alone needed another chunk */
  }
}

static void run_all(test *t, const operation_case *c) {
  char text[TEXT_SIZE];
  ledger books = {0};
  run_case(c, &books, (condition){0, false}, text);
  check_text(t, c->name, text, c->expected);
  check(t, books.live == 0 && !books.mistaken, "all memory is given back, with its true size");
  if (strcmp(text, c->expected) != 0) return;
  check(t, survives_failures(c), c->name);
  check(t, survives_last_chunk(c), c->name);
}

int main(void) {
  test t = {0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_all(&t, &cases[i]);
  return finish(&t);
}
