/*
** The algebra's functions as functions of the module and methods of values: one table that says
** what each takes and gives, and one C function that reads it.
*/
#include "operations.h"

#include <ctype.h>

/* ---- What a row of the table says ----------------------------------------------------------- */

typedef const lt_value *operand;

/* The arguments that the C function takes. */
typedef enum form {
  OF_1,
  OF_2,
  OF_3,
  OF_4,
  OF_INTEGER,       /* x, n */
  OF_INTEGERS,      /* x, n, n */
  OF_INTEGER_VALUE, /* x, n, y */
  OF_MODES,         /* x, and the modes that all further arguments name */
  OF_PATH,          /* x, after going down the path that all further arguments name */
  OF_SHAPE_PATH,    /* the same with the shape of x */
  OF_REST,          /* x, and all further arguments: one value, or a tuple of several */
  OF_LIST,          /* all arguments */
  PREDICATE,        /* x; gives a boolean */
  RELATION          /* x, y; gives a boolean */
} form;

/* How the result is pushed. */
typedef enum result {
  VALUE,  /* a static integer as a Lua integer; flags are kept in all else */
  NUMBER, /* any integer as a Lua integer */
  VIEW,   /* a value; where the self is a tensor, a tensor over its data */
  PAIR    /* layout and offset; where the self is a tensor, a tensor over its data */
} result;

struct ltL_operation {
  const char *name;
  /*
  ** The kinds of the arguments, a letter each (see ltL_kind_of); 'y' is a layout where the first
  ** argument is one, and else a tuple. After '?' arguments may be absent, and 'p' may be nil. The
  ** capital letter is the self of the method.
  */
  const char *arguments;
  result result;
  form form;
  union {
    operand (*of_1)(lt_arena *, operand);
    operand (*of_2)(lt_arena *, operand, operand);
    operand (*of_3)(lt_arena *, operand, operand, operand);
    operand (*of_4)(lt_arena *, operand, operand, operand, operand);
    operand (*of_integer)(lt_arena *, operand, int64_t);
    operand (*of_integers)(lt_arena *, operand, int64_t, int64_t);
    operand (*of_integer_value)(lt_arena *, operand, int64_t, operand);
    operand (*of_modes)(lt_arena *, operand, const int64_t *, size_t);
    operand (*of_list)(lt_arena *, const operand *, size_t);
    bool (*predicate)(lt_arena *, operand);
    bool (*relation)(lt_arena *, operand, operand);
  } function;
};

/* ---- Functions whose C form has no arena ----------------------------------------------------- */

static operand rank_of(lt_arena *arena, operand x) {
  return lt_integer(arena, (int64_t)lt_rank(x));
}

static operand depth_of(lt_arena *arena, operand x) {
  return lt_integer(arena, (int64_t)lt_depth(x));
}

static operand itself(lt_arena *arena, operand x) {
  (void)arena;
  return x;
}

static operand stride_of(lt_arena *arena, operand x) {
  operand stride = lt_stride(x);
  return stride != NULL ? stride : ltA_fail(arena, LT_INVALID, "stride: %v has none", x);
}

/* The index, or as CuTe has it the bare slice; the call operator keeps the slice's offset. */
static operand apply(lt_arena *arena, operand f, operand coord) {
  operand r = lt_apply(arena, f, coord);
  bool sliced = r != NULL && lt_kind_of(r) == LT_TENSOR && lt_kind_of(f) != LT_TENSOR;
  return sliced ? lt_part(r, 1) : r;
}

static operand compose(lt_arena *arena, operand x, operand tilers) {
  return lt_composition(arena, x, tilers);
}

/* ---- The table ------------------------------------------------------------------------------ */

#define FUNCTION_1(f) \
  OF_1, { .of_1 = f }
#define FUNCTION_2(f) \
  OF_2, { .of_2 = f }
#define FUNCTION_3(f) \
  OF_3, { .of_3 = f }
#define FUNCTION_4(f) \
  OF_4, { .of_4 = f }
#define FUNCTION_N(f) \
  OF_INTEGER, { .of_integer = f }
#define FUNCTION_NN(f) \
  OF_INTEGERS, { .of_integers = f }
#define FUNCTION_NY(f) \
  OF_INTEGER_VALUE, { .of_integer_value = f }
#define MODES(f) \
  OF_MODES, { .of_modes = f }
#define PATH(f) \
  OF_PATH, { .of_1 = f }
#define SHAPE_PATH(f) \
  OF_SHAPE_PATH, { .of_1 = f }
#define REST(f) \
  OF_REST, { .of_2 = f }
#define LIST(f) \
  OF_LIST, { .of_list = f }
#define PREDICATE(f) \
  PREDICATE, { .predicate = f }
#define RELATION(f) \
  RELATION, { .relation = f }

/* In the order of lutile.h. */
static const ltL_operation operations[] = {
    {"compact_col_major", "S?s", VALUE, FUNCTION_2(lt_compact_col_major)},
    {"compact_row_major", "S?s", VALUE, FUNCTION_2(lt_compact_row_major)},
    {"make_ordered_layout", "So", VALUE, FUNCTION_2(lt_make_ordered_layout)},
    {"make_layout_like", "L", VALUE, FUNCTION_1(lt_make_layout_like)},
    {"make_fragment_like", "L", VALUE, FUNCTION_1(lt_make_fragment_like)},
    {"make_identity_layout", "S", VALUE, FUNCTION_1(lt_make_identity_layout)},
    {"make_composed_layout", "Fpl", VALUE, FUNCTION_3(lt_make_composed_layout)},

    {"crd2idx", "cX?d", NUMBER, FUNCTION_3(lt_crd2idx)},
    {"idx2crd", "sX?d", NUMBER, FUNCTION_3(lt_idx2crd)},
    {"crd2crd", "cSs", NUMBER, FUNCTION_3(lt_crd2crd)},
    {"apply", "Mc", NUMBER, REST(apply)},
    {"swizzle_apply", "Ws", NUMBER, FUNCTION_2(lt_apply)},
    {"get_hier_coord", "Ls", NUMBER, FUNCTION_2(lt_get_hier_coord)},
    {"get_flat_coord", "Ls", NUMBER, FUNCTION_2(lt_get_flat_coord)},
    {"get_1d_coord", "Ls", NUMBER, FUNCTION_2(lt_get_1d_coord)},
    {"size", "X", NUMBER, SHAPE_PATH(lt_size)},
    {"rank", "X", NUMBER, SHAPE_PATH(rank_of)},
    {"depth", "X", NUMBER, SHAPE_PATH(depth_of)},
    {"cosize", "L", NUMBER, PATH(lt_cosize)},
    {"coshape", "L", VALUE, PATH(lt_coshape)},
    {"coprofile", "L", VALUE, PATH(lt_coprofile)},
    {"shape", "X", VALUE, SHAPE_PATH(itself)},
    {"stride", "L", VALUE, PATH(stride_of)},
    {"layout", "L", VALUE, PATH(itself)},
    {"get", "X", VALUE, PATH(itself)},

    {"congruent", "Xx", VALUE, RELATION(lt_congruent)},
    {"weakly_congruent", "Xx", VALUE, RELATION(lt_weakly_congruent)},
    {"compatible", "Xx", VALUE, RELATION(lt_compatible)},
    {"weakly_compatible", "Xx", VALUE, RELATION(lt_weakly_compatible)},
    {"evenly_divides", "Xt", VALUE, RELATION(lt_evenly_divides)},
    {"lex_less", "Xx", VALUE, RELATION(lt_lex_less)},
    {"colex_less", "Xx", VALUE, RELATION(lt_colex_less)},
    {"elem_less", "Xx", VALUE, RELATION(lt_elem_less)},

    {"select", "X", VIEW, MODES(lt_select)},
    {"take", "Xnn", VIEW, FUNCTION_NN(lt_take)},
    {"group", "Xnn", VIEW, FUNCTION_NN(lt_group)},
    {"append", "X?y", VIEW, FUNCTION_2(lt_append)},
    {"prepend", "X?y", VIEW, FUNCTION_2(lt_prepend)},
    {"append_to", "Xn?y", VIEW, FUNCTION_NY(lt_append_to)},
    {"prepend_to", "Xn?y", VIEW, FUNCTION_NY(lt_prepend_to)},
    {"replace", "Xny", VALUE, FUNCTION_NY(lt_replace)},
    {"insert", "Xny", VALUE, FUNCTION_NY(lt_insert)},
    {"remove", "Xn", VALUE, FUNCTION_N(lt_remove)},
    {"reverse", "X", VALUE, FUNCTION_1(lt_reverse)},
    {"flatten", "X", VIEW, FUNCTION_1(lt_flatten)},
    {"unflatten", "Xx", VIEW, FUNCTION_2(lt_unflatten)},
    {"wrap", "X", VALUE, FUNCTION_1(lt_wrap)},
    {"unwrap", "X", VALUE, FUNCTION_1(lt_unwrap)},
    {"zip", "X", VIEW, FUNCTION_1(lt_zip)},

    {"shape_div", "Us", VALUE, FUNCTION_2(lt_shape_div)},
    {"ceil_div", "Ux", VALUE, FUNCTION_2(lt_ceil_div)},
    {"round_up", "Us", VALUE, FUNCTION_2(lt_round_up)},
    {"elem_scale", "Uu", VALUE, FUNCTION_2(lt_elem_scale)},
    {"inner_product", "Uu", VALUE, FUNCTION_2(lt_inner_product)},
    {"product", "U", VALUE, FUNCTION_1(lt_product)},
    {"product_each", "U", VALUE, FUNCTION_1(lt_product_each)},
    {"product_like", "Ux", VALUE, FUNCTION_2(lt_product_like)},
    {"sum", "U", VALUE, FUNCTION_1(lt_sum)},
    {"gcd", "U", VALUE, LIST(lt_gcd)},
    {"max", "U", VALUE, LIST(lt_max)},
    {"min", "U", VALUE, LIST(lt_min)},

    {"coalesce", "X?x", VIEW, FUNCTION_2(lt_coalesce)},
    {"filter", "L?x", VIEW, FUNCTION_2(lt_filter)},
    {"filter_zeros", "X?x", VIEW, FUNCTION_2(lt_filter_zeros)},
    {"nullspace", "L", VALUE, FUNCTION_1(lt_nullspace)},
    {"composition", "Fb", VIEW, FUNCTION_2(lt_composition)},
    {"compose", "Fb", VIEW, REST(compose)},
    {"with_shape", "Ls", VIEW, REST(lt_with_shape)},
    {"complement", "L?s", VALUE, FUNCTION_2(lt_complement)},
    {"right_inverse", "I", VALUE, FUNCTION_1(lt_right_inverse)},
    {"left_inverse", "I", VALUE, FUNCTION_1(lt_left_inverse)},

    {"logical_divide", "Lt", VIEW, FUNCTION_2(lt_logical_divide)},
    {"zipped_divide", "Lt", VIEW, FUNCTION_2(lt_zipped_divide)},
    {"tiled_divide", "Lt", VIEW, FUNCTION_2(lt_tiled_divide)},
    {"flat_divide", "Lt", VIEW, FUNCTION_2(lt_flat_divide)},
    {"tile", "Lt", VIEW, FUNCTION_2(lt_tiled_divide)},
    {"logical_product", "Lt", VALUE, FUNCTION_2(lt_logical_product)},
    {"zipped_product", "Lt", VALUE, FUNCTION_2(lt_zipped_product)},
    {"tiled_product", "Lt", VALUE, FUNCTION_2(lt_tiled_product)},
    {"flat_product", "Lt", VALUE, FUNCTION_2(lt_flat_product)},
    {"blocked_product", "Ll", VALUE, FUNCTION_2(lt_blocked_product)},
    {"raked_product", "Ll", VALUE, FUNCTION_2(lt_raked_product)},
    {"tile_to_shape", "Ls?o", VALUE, FUNCTION_3(lt_tile_to_shape)},

    {"equivalent", "Mm", VALUE, RELATION(lt_equivalent)},
    {"is_injective", "M", VALUE, PREDICATE(lt_is_injective)},
    {"is_surjective", "M?s", VALUE, RELATION(lt_is_surjective)},
    {"is_bijective", "M", VALUE, PREDICATE(lt_is_bijective)},
    {"is_contiguous", "M", VALUE, PREDICATE(lt_is_contiguous)},
    {"image_layout", "M", VALUE, FUNCTION_1(lt_image_layout)},

    {"slice", "cX", VALUE, FUNCTION_2(lt_slice)},
    {"dice", "cX", VALUE, FUNCTION_2(lt_dice)},
    {"slice_and_offset", "cL", PAIR, FUNCTION_2(lt_slice_and_offset)},
    {"domain_offset", "cL", PAIR, FUNCTION_2(lt_domain_offset)},
    {"local_tile", "Ltc?c", PAIR, FUNCTION_4(lt_local_tile)},
    {"local_partition", "Llc?c", PAIR, FUNCTION_4(lt_local_partition)},
    {"inner_partition", "Ltc", PAIR, FUNCTION_3(lt_inner_partition)},
    {"outer_partition", "Ltc", PAIR, FUNCTION_3(lt_outer_partition)},

    {"max_common_vector", "Ll", NUMBER, FUNCTION_2(lt_max_common_vector)},
    {"max_common_layout", "Ll", VALUE, FUNCTION_2(lt_max_common_layout)},
    {"max_alignment", "V", NUMBER, FUNCTION_1(lt_max_alignment)},
    {"domain_distribute", "Ss", VALUE, FUNCTION_2(lt_domain_distribute)},
    {"upcast", "Fn", VALUE, FUNCTION_N(lt_upcast)},
    {"downcast", "Fn", VALUE, FUNCTION_N(lt_downcast)},
    {"recast", "Fnn", VALUE, FUNCTION_NN(lt_recast)},
    {"as_position_independent_swizzle_layout", "L", VALUE,
     FUNCTION_1(lt_as_position_independent_swizzle)},
};

#define OPERATION_COUNT (sizeof operations / sizeof operations[0])

const ltL_operation *ltL_find_operation(const char *name) {
  const ltL_operation *operation = operations;
  while (strcmp(operation->name, name) != 0) operation++;
  return operation;
}

/* ---- Signatures ----------------------------------------------------------------------------- */

/* The position of the self among the arguments, from 1. */
static int self_of(const ltL_operation *operation) {
  int position = 1;
  for (const char *letter = operation->arguments; !isupper((unsigned char)*letter); letter++)
    position += *letter != '?';
  return position;
}

/* The letter of the argument at a position, from 1. */
static char letter_at(const ltL_operation *operation, int position) {
  const char *letter = operation->arguments;
  while (*letter == '?' || --position > 0) letter++;
  return (char)tolower((unsigned char)*letter);
}

/* ---- A call --------------------------------------------------------------------------------- */

typedef struct call {
  const ltL_operation *operation;
  int self;    /* slot of the self */
  bool method; /* it was written before the colon, and is not counted */
  int slots;   /* that the letters have read */
  int value_count;
  int integer_count;
  operand values[4];
  int64_t integers[2];
} call;

static ltL_argument argument_at(const call *c, int slot) {
  ltL_argument argument = {c->operation->name, slot, slot};
  if (c->method) argument.number = slot == c->self ? 0 : slot - (slot > c->self);
  return argument;
}

static void read_argument(lua_State *L, ltL_state *S, call *c, char letter, bool optional) {
  ltL_argument argument = argument_at(c, ++c->slots);
  if (letter == 'n') {
    c->integers[c->integer_count++] = ltL_check_integer(L, S, &argument);
    return;
  }
  operand *value = &c->values[c->value_count++];
  *value = NULL;
  if ((optional || letter == 'p') && lua_isnoneornil(L, argument.index)) return;
  if (letter == 'y') letter = lt_is_layout(c->values[0]) ? 'l' : 'x';
  *value = ltL_check(L, S, &argument, letter);
}

static void read_rest(lua_State *L, ltL_state *S, call *c, char letter) {
  ltL_argument first = argument_at(c, c->slots + 1);
  c->values[c->value_count++] = ltL_check_rest(L, S, &first, letter);
  c->slots = lua_gettop(L);
}

static void read_arguments(lua_State *L, ltL_state *S, call *c) {
  bool optional = false;
  c->slots = c->value_count = c->integer_count = 0;
  for (const char *letter = c->operation->arguments; *letter != '\0'; letter++) {
    if (*letter == '?')
      optional = true;
    else if (c->operation->form == OF_REST && c->slots > 0)
      read_rest(L, S, c, *letter);
    else
      read_argument(L, S, c, (char)(*letter | 0x20), optional); /* lower case */
  }
}

static void refuse_extra_arguments(lua_State *L, const call *c) {
  int given = lua_gettop(L);
  if (given <= c->slots) return;
  int takes = c->slots - c->method;
  luaL_error(L, "%s: takes %d argument%s, got %d", c->operation->name, takes, takes == 1 ? "" : "s",
             given - c->method);
}

static operand run_modes(lua_State *L, ltL_state *S, const call *c) {
  ltL_argument rest = argument_at(c, c->slots + 1);
  size_t n;
  const int64_t *modes = ltL_check_modes(L, S, &rest, &n);
  return c->operation->function.of_modes(S->arena, c->values[0], modes, n);
}

static operand run_path(lua_State *L, ltL_state *S, const call *c, operand x) {
  if (lua_gettop(L) > c->slots) {
    ltL_argument rest = argument_at(c, c->slots + 1);
    size_t n;
    const int64_t *path = ltL_check_modes(L, S, &rest, &n);
    x = lt_get(S->arena, x, path, n);
  }
  return x == NULL ? NULL : c->operation->function.of_1(S->arena, x);
}

static operand run_list(lua_State *L, ltL_state *S, const call *c) {
  size_t n = (size_t)lua_gettop(L);
  operand *values = ltA_new_bytes(S->arena, n * sizeof *values);
  if (values == NULL) return NULL;
  for (size_t i = 0; i < n; i++) {
    ltL_argument argument = argument_at(c, (int)i + 1);
    values[i] = ltL_check(L, S, &argument, letter_at(c->operation, 1));
  }
  return c->operation->function.of_list(S->arena, values, n);
}

/* The forms that take every argument there is. */
static operand run_open(lua_State *L, ltL_state *S, call *c) {
  const ltL_operation *operation = c->operation;
  switch (operation->form) {
    case OF_MODES: return run_modes(L, S, c);
    case OF_PATH: return run_path(L, S, c, c->values[0]);
    case OF_SHAPE_PATH: return run_path(L, S, c, lt_shape(c->values[0]));
    default: return run_list(L, S, c);
  }
}

static operand run_closed(ltL_state *S, const call *c) {
  const ltL_operation *operation = c->operation;
  const operand *v = c->values;
  const int64_t *n = c->integers;
  switch (operation->form) {
    case OF_1: return operation->function.of_1(S->arena, v[0]);
    case OF_2:
    case OF_REST: return operation->function.of_2(S->arena, v[0], v[1]);
    case OF_3: return operation->function.of_3(S->arena, v[0], v[1], v[2]);
    case OF_4: return operation->function.of_4(S->arena, v[0], v[1], v[2], v[3]);
    case OF_INTEGER: return operation->function.of_integer(S->arena, v[0], n[0]);
    case OF_INTEGERS: return operation->function.of_integers(S->arena, v[0], n[0], n[1]);
    default: return operation->function.of_integer_value(S->arena, v[0], n[0], v[1]);
  }
}

/* ---- Tensors -------------------------------------------------------------------------------- */

static bool gives_view(const ltL_operation *operation) {
  return operation->result == VIEW || operation->result == PAIR;
}

/* Whether the self is a tensor; its offset, static 0 where that is in its data pointer. */
static bool self_is_tensor(lua_State *L, ltL_state *S, const call *c, operand *offset) {
  operand v = ltL_test(L, S, c->self);
  *offset = NULL;
  if (v != NULL && v->kind == LT_TENSOR) *offset = lt_part(v, 0);
  return *offset != NULL || (v == NULL && ltL_test_tensor(L, S, c->self) != NULL);
}

/* The view that the operation's result gives of the tensor. */
static int push_view(lua_State *L, ltL_state *S, const call *c, operand offset, operand r) {
  operand moved = c->operation->result == PAIR ? lt_part(r, 0) : NULL;
  operand layout = c->operation->result == PAIR ? lt_part(r, 1) : r;
  if (offset == NULL) { /* over memory */
    if (moved == NULL) moved = lt_integer(S->arena, 0);
    if (moved == NULL) return ltL_raise(L, S);
    S->tensor.push_view(L, S, c->self, moved, layout);
    return 1;
  }
  if (moved != NULL) offset = ltA_add_values(S->arena, offset, moved);
  if (offset == NULL) return ltL_raise(L, S);
  return ltL_push_value(L, S, lt_make_counting_tensor(S->arena, offset, layout));
}

/* ---- Functions and methods ------------------------------------------------------------------ */

static int push_result(lua_State *L, ltL_state *S, const call *c, operand r) {
  operand offset;
  if (r == NULL) return ltL_raise(L, S);
  if (gives_view(c->operation) && self_is_tensor(L, S, c, &offset))
    return push_view(L, S, c, offset, r);
  switch (c->operation->result) {
    case NUMBER: return ltL_push_number(L, S, r);
    case PAIR: return ltL_push_layout_and_offset(L, S, r);
    default: return ltL_push_value(L, S, r);
  }
}

static bool gives_boolean(const ltL_operation *operation) {
  return operation->form == PREDICATE || operation->form == RELATION;
}

static bool decide(ltL_state *S, const call *c) {
  const ltL_operation *operation = c->operation;
  if (operation->form == PREDICATE) return operation->function.predicate(S->arena, c->values[0]);
  return operation->function.relation(S->arena, c->values[0], c->values[1]);
}

static bool is_open(form f) {
  return f == OF_MODES || f == OF_PATH || f == OF_SHAPE_PATH || f == OF_LIST;
}

static operand compute(lua_State *L, ltL_state *S, call *c) {
  if (is_open(c->operation->form)) return run_open(L, S, c);
  refuse_extra_arguments(L, c);
  return run_closed(S, c);
}

static int run_call(lua_State *L, ltL_state *S, call *c) {
  read_arguments(L, S, c);
  if (gives_boolean(c->operation)) {
    refuse_extra_arguments(L, c);
    return ltL_push_boolean(L, S, decide(S, c));
  }
  operand r = compute(L, S, c);
  if (r == NULL && S->error.status == LT_NO_MEMORY) { /* garbage may hold the memory wanted */
    lua_gc(L, LUA_GCCOLLECT);
    ltL_restart(L, S);
    read_arguments(L, S, c);
    r = compute(L, S, c);
  }
  return push_result(L, S, c, r);
}

int ltL_run(lua_State *L, ltL_state *S, const ltL_operation *operation) {
  call c;
  c.operation = operation;
  c.self = self_of(operation);
  c.method = false;
  return run_call(L, S, &c);
}

static int call_function(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return ltL_run(L, S, lua_touserdata(L, lua_upvalueindex(2)));
}

/* The self is moved from the front to its place; a call too short to have one is refused. */
static void place_self(lua_State *L, ltL_state *S, const call *c) {
  int given = lua_gettop(L);
  if (given < c->self) {
    ltL_argument missing = {c->operation->name, given + 1, given == 0 ? 1 : given};
    ltL_type_error(L, S, &missing, ltL_kind_of(letter_at(c->operation, missing.number))->name);
  }
  lua_pushvalue(L, 1);
  lua_insert(L, c->self + 1);
  lua_remove(L, 1);
}

static int call_method(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_operation *operation = lua_touserdata(L, lua_upvalueindex(2));
  call c;
  c.operation = operation;
  c.self = self_of(operation);
  c.method = true;
  if (c.self > 1) place_self(L, S, &c);
  return run_call(L, S, &c);
}

/* Pushes a function of an operation; the state is at 'state'. */
static void push_closure(lua_State *L, int state, const ltL_operation *operation,
                         lua_CFunction function) {
  lua_pushvalue(L, state);
  lua_pushlightuserdata(L, (void *)(size_t)operation);
  lua_pushcclosure(L, function, 2);
}

/* shape, stride and layout are properties; the method of this name would hide them. */
static bool is_property(const char *name) {
  return strcmp(name, "shape") == 0 || strcmp(name, "stride") == 0;
}

void ltL_open_operations(lua_State *L) {
  int module = lua_gettop(L);
  ltL_state *S = ltL_push_state(L);
  int state = module + 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->methods_reference);
  for (size_t i = 0; i < OPERATION_COUNT; i++) {
    const ltL_operation *operation = &operations[i];
    push_closure(L, state, operation, call_function);
    lua_setfield(L, module, operation->name);
    if (is_property(operation->name)) continue;
    push_closure(L, state, operation, call_method);
    lua_setfield(L, -2, operation->name);
  }
  lua_settop(L, module);
}
