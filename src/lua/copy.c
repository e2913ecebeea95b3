/*
** Copy atoms, TiledCopies and their thread slices.
*/
#include "copies.h"

#define TYPE_NAME "lutile copy"

/* ---- Pushing and checking ------------------------------------------------------------------- */

const ltL_copy *ltL_test_copy(lua_State *L, int index) {
  return luaL_testudata(L, index, TYPE_NAME);
}

static const char *const kind_names[] = {"copy atom", "tiled copy", "copy slice"};

static const ltL_copy *check_copy(lua_State *L, const char *function, int index,
                                  ltL_copy_kind kind) {
  const ltL_copy *c = ltL_test_copy(L, index);
  bool fits =
      c != NULL && (c->kind == kind || (kind == LT_COPY_IS_TILED && c->kind == LT_COPY_IS_SLICE));
  if (!fits)
    luaL_error(L, "%s: %s expected, got %s", function, kind_names[kind],
               c == NULL ? luaL_typename(L, index) : kind_names[c->kind]);
  return kind == LT_COPY_IS_TILED ? c->tiled : c;
}

static ltL_copy *push_copy(lua_State *L, ltL_state *S, ltL_copy_kind kind,
                           const ltT_copy_atom *atom, const lt_value *value) {
  if (value == NULL) ltL_raise(L, S);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  ltL_copy *c = lua_newuserdatauv(L, sizeof *c + lt_value_size(value), 2);
  *c = (ltL_copy){.kind = kind, .atom = *atom, .tiled = c};
  memcpy(c->nodes, value, lt_value_size(value));
  ltL_unpin(S, was_pinned, was_pin);
  luaL_setmetatable(L, TYPE_NAME);
  return c;
}

ltL_copy *ltL_push_tiled_copy(lua_State *L, ltL_state *S, const ltT_copy_atom *atom,
                              const lt_value *value) {
  const lt_value *size = value == NULL ? NULL : ltT_tiled_copy_size(S->arena, value);
  if (size == NULL) ltL_raise(L, S);
  int64_t thread_count = lt_integer_value(size);
  ltL_copy *c = push_copy(L, S, LT_COPY_IS_TILED, atom, value);
  c->thread_count = thread_count;
  return c;
}

static int push_tiled(lua_State *L, ltL_state *S, const ltT_copy_choice *choice,
                      const lt_value *value) {
  ltL_push_tiled_copy(L, S, choice->atom, value);
  return 1;
}

/* ---- Atoms ---------------------------------------------------------------------------------- */

/* Copy_Atom(name, dtype): the operation in elements of a type. */
static int make_atom(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_copy_atom atom;
  const char *name = luaL_checkstring(L, 1);
  lt_element element = ltL_check_element(L, "Copy_Atom", 2);
  const lt_value *value = ltT_copy_atom_named(S->arena, name, element, &atom);
  push_copy(L, S, LT_COPY_IS_ATOM, &atom, value);
  return 1;
}

/* Copy_Traits(name): the operation in bits. */
static int make_traits(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_copy_atom atom;
  const char *name = luaL_checkstring(L, 1);
  const lt_value *value = ltT_copy_atom_named(S->arena, name, LT_ELEMENT_COUNT, &atom);
  push_copy(L, S, LT_COPY_IS_ATOM, &atom, value);
  return 1;
}

/* The atom, which has a type, that the function named 'operation' makes a TiledCopy of. */
static ltT_copy_choice check_choice(lua_State *L, const char *operation) {
  const ltL_copy *c = check_copy(L, operation, 1, LT_COPY_IS_ATOM);
  if (c->atom.element == LT_ELEMENT_COUNT)
    luaL_error(L, "%s: %s has no element type: Copy_Atom(name, dtype) gives it one", operation,
               c->atom.name);
  return (ltT_copy_choice){operation, &c->atom, ltL_copy_value(c)};
}

/* ---- Makers --------------------------------------------------------------------------------- */

/* make_tiled_copy(atom, threads [, values]) */
static int make_tiled_copy(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_copy_choice choice = check_choice(L, "make_tiled_copy");
  const lt_value *threads = ltL_check_at(L, S, "make_tiled_copy", 2, 'l');
  const lt_value *values = ltL_optional_at(L, S, "make_tiled_copy", 3, 'l');
  if (values == NULL) values = lt_parse(S->arena, "1:0");
  if (values == NULL) return ltL_raise(L, S);
  return push_tiled(L, S, &choice, ltT_make_tiled_copy(S->arena, &choice, threads, values));
}

/* make_tiled_copy_impl(atom, layout (thread, value) -> index in the tile, tiler) */
static int make_tiled_copy_impl(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_copy_choice choice = check_choice(L, "make_tiled_copy_impl");
  const lt_value *tv = ltL_check_at(L, S, "make_tiled_copy_impl", 2, 'l');
  const lt_value *tiler = ltL_check_at(L, S, "make_tiled_copy_impl", 3, 't');
  return push_tiled(L, S, &choice, ltT_make_tiled_copy_impl(S->arena, &choice, tv, tiler));
}

/* make_layout_tv(threads, values): the tiler, and (thread, value) -> index in the tile. */
static int make_layout_tv(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *threads = ltL_check_at(L, S, "make_layout_tv", 1, 'l');
  const lt_value *values = ltL_check_at(L, S, "make_layout_tv", 2, 'l');
  const lt_value *both = ltT_make_layout_tv(S->arena, threads, values);
  if (both == NULL) return ltL_raise(L, S);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  ltL_push_value(L, S, lt_part(both, 0));
  ltL_push_value(L, S, lt_part(both, 1));
  ltL_unpin(S, was_pinned, was_pin);
  return 2;
}

/* make_cotiled_copy(atom, layout (thread, value) -> offset, layout of the data) */
static int make_cotiled_copy(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_copy_choice choice = check_choice(L, "make_cotiled_copy");
  const lt_value *tv = ltL_check_at(L, S, "make_cotiled_copy", 2, 'l');
  const lt_value *data = ltL_check_at(L, S, "make_cotiled_copy", 3, 'l');
  return push_tiled(L, S, &choice, ltT_make_cotiled_copy(S->arena, &choice, tv, data));
}

static const lt_value *check_tiled_mma(lua_State *L, const char *function) {
  const ltL_mma *m = ltL_test_mma(L, 2);
  if (m == NULL || m->kind == LT_MMA_IS_ATOM)
    luaL_error(L, "%s: tiled MMA expected, got %s", function,
               m == NULL ? luaL_typename(L, 2) : "MMA atom");
  return ltL_mma_value(m->tiled);
}

/* make_tiled_copy_A(atom, tiled MMA): upvalue 2 is the matrix, 3 the name. */
static int make_tiled_copy_mma(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_matrix matrix = (ltT_matrix)lua_tointeger(L, lua_upvalueindex(2));
  const char *name = lua_tostring(L, lua_upvalueindex(3));
  ltT_copy_choice choice = check_choice(L, name);
  const lt_value *mma = check_tiled_mma(L, name);
  return push_tiled(L, S, &choice, ltT_make_tiled_copy_mma(S->arena, &choice, mma, matrix));
}

/* make_tiled_copy_C_atom(atom, tiled MMA) */
static int make_tiled_copy_C_atom(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_copy_choice choice = check_choice(L, "make_tiled_copy_C_atom");
  const lt_value *mma = check_tiled_mma(L, "make_tiled_copy_C_atom");
  return push_tiled(L, S, &choice, ltT_make_tiled_copy_C_atom(S->arena, &choice, mma));
}

/* make_tiled_copy_S(atom, tiled copy): upvalue 2 is the side, 3 the name. */
static int make_tiled_copy_like(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_side side = (ltT_side)lua_tointeger(L, lua_upvalueindex(2));
  const char *name = lua_tostring(L, lua_upvalueindex(3));
  ltT_copy_choice choice = check_choice(L, name);
  const ltL_copy *other = check_copy(L, name, 2, LT_COPY_IS_TILED);
  return push_tiled(L, S, &choice,
                    ltT_make_tiled_copy_like(S->arena, &choice, ltL_copy_value(other), side));
}

/* copy:get_slice(thread) */
static int get_slice(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_copy(L, "get_slice", 1, LT_COPY_IS_TILED);
  const lt_value *thread = ltL_check(L, S, &(ltL_argument){"get_slice", 2, 1}, 'n');
  int64_t i = lt_integer_value(thread);
  if (i < 0 || i >= c->thread_count)
    return luaL_error(L, "get_slice: thread %I is not in 0 to %I of the tiled copy", (LUAI_UACINT)i,
                      (LUAI_UACINT)c->thread_count - 1);
  push_copy(L, S, LT_COPY_IS_SLICE, &c->atom, thread)->tiled = c;
  lua_pushvalue(L, 1);
  if (ltL_test_copy(L, 1)->kind == LT_COPY_IS_SLICE) {
    lua_getiuservalue(L, 1, 1);
    lua_replace(L, -2);
  }
  lua_setiuservalue(L, -2, 1); /* keeps the TiledCopy alive */
  return 1;
}

/* ---- Partitions ----------------------------------------------------------------------------- */

/* The functions that end in _S and _D have the side as upvalue 2. */
static ltT_side side_of(lua_State *L) { return (ltT_side)lua_tointeger(L, lua_upvalueindex(2)); }

/* copy:tidfrg_S(layout or tensor): over a tensor, a view. */
static int tidfrg(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_copy(L, "tidfrg", 1, LT_COPY_IS_TILED);
  const lt_value *layout = ltL_check(L, S, &(ltL_argument){"tidfrg", 2, 1}, 'l');
  const lt_value *r = ltT_tidfrg(S->arena, ltL_copy_value(c), side_of(L), layout);
  if (r == NULL || ltL_test_tensor(L, S, 2) == NULL) return ltL_push_value(L, S, r);
  S->tensor.push_view(L, S, 2, lt_integer(S->arena, 0), r);
  return 1;
}

static int get_layout_tv(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_copy(L, "get_layout_TV", 1, LT_COPY_IS_TILED);
  return ltL_push_value(L, S, ltT_copy_layout_tv(S->arena, ltL_copy_value(c), side_of(L)));
}

/* 'part', offset o layout of what is at slot 2: a view of a tensor; else the counting tensor. */
static int push_part(lua_State *L, ltL_state *S, const lt_value *part) {
  if (part == NULL) return ltL_raise(L, S);
  const lt_value *counting = ltL_test(L, S, 2);
  if (ltL_test_tensor(L, S, 2) != NULL) {
    S->tensor.push_view(L, S, 2, lt_part(part, 0), lt_part(part, 1));
    return 1;
  }
  if (counting == NULL || counting->kind != LT_TENSOR) return ltL_push_value(L, S, part);
  const lt_value *offset = ltA_add_values(S->arena, lt_part(counting, 0), lt_part(part, 0));
  if (offset == NULL) return ltL_raise(L, S);
  return ltL_push_value(L, S, lt_make_counting_tensor(S->arena, offset, lt_part(part, 1)));
}

/* slice:partition_S(t): a view of a tensor; of a layout, the counting tensor. */
static int partition(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_copy(L, "partition", 1, LT_COPY_IS_SLICE);
  const lt_value *layout = ltL_check(L, S, &(ltL_argument){"partition", 2, 1}, 'l');
  return push_part(L, S,
                   ltT_copy_partition(S->arena, ltL_copy_value(c->tiled), side_of(L),
                                      ltL_copy_value(c), layout));
}

/* slice:retile_S(fragment), retile_D: the same for both sides. A layout gives a layout. */
static int retile(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_copy(L, "retile", 1, LT_COPY_IS_TILED);
  const lt_value *fragment = ltL_check(L, S, &(ltL_argument){"retile", 2, 1}, 'l');
  const lt_value *r = ltT_retile(S->arena, ltL_copy_value(c), fragment);
  if (r == NULL || ltL_test_tensor(L, S, 2) == NULL) return ltL_push_value(L, S, r);
  S->tensor.push_view(L, S, 2, lt_integer(S->arena, 0), r);
  return 1;
}

/* ---- Extents -------------------------------------------------------------------------------- */

static const lt_value *tiler_of(const ltL_copy *c) {
  return lt_part(ltL_copy_value(c), LT_TILED_COPY_TILER);
}

/* copy:tile_size([mode]): elements of the tile, or its extent in a mode. */
static int tile_size(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_copy(L, "tile_size", 1, LT_COPY_IS_TILED);
  const lt_value *x = tiler_of(c);
  if (!lua_isnoneornil(L, 2)) {
    int64_t mode = ltL_check_integer(L, S, &(ltL_argument){"tile_size", 2, 1});
    if (mode < 0 || mode >= (int64_t)lt_rank(x))
      return luaL_error(L, "tile_size: mode %I is not in 0 to %I", (LUAI_UACINT)mode,
                        (LUAI_UACINT)lt_rank(x) - 1);
    if (lt_kind_of(x) == LT_TUPLE) x = lt_part(x, (size_t)mode);
  }
  return ltL_push_number(L, S, lt_size(S->arena, x));
}

/* tile_size(x, mode) of a TiledCopy, else the TiledMMA's (upvalue 2). */
static int tile_size_of_any(lua_State *L) {
  if (ltL_test_copy(L, 1) != NULL) return tile_size(L);
  return ltL_plain_tile_size(L);
}

static int copy_size(lua_State *L) {
  lua_pushinteger(L, check_copy(L, "size", 1, LT_COPY_IS_TILED)->thread_count);
  return 1;
}

/* size(x) of a TiledCopy, its threads, else what it was before (upvalue 2). */
static int size_of_any(lua_State *L) {
  if (ltL_test_copy(L, 1) != NULL) return copy_size(L);
  return ltL_plain_size(L);
}

/* ---- Fields --------------------------------------------------------------------------------- */

static int push_atom_part(lua_State *L, ltL_state *S, const ltL_copy *c, ltT_copy_part part) {
  const lt_value *v = lt_part(ltL_copy_atom_value(c), part);
  if (v->kind == LT_WILDCARD) lua_pushnil(L); /* the operation alone has no elements */
  return v->kind == LT_WILDCARD ? 1 : ltL_push_value(L, S, v);
}

static bool push_atom_field(lua_State *L, ltL_state *S, const ltL_copy *c, const char *name) {
  static const struct {
    const char *name;
    ltT_copy_part part;
  } fields[] = {{"thr_id", LT_COPY_THREADS},       {"src_bits", LT_COPY_SOURCE_BITS},
                {"dst_bits", LT_COPY_TARGET_BITS}, {"ref_bits", LT_COPY_REFERENCE_BITS},
                {"src_layout", LT_COPY_SOURCE},    {"dst_layout", LT_COPY_TARGET},
                {"ref_layout", LT_COPY_REFERENCE}};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strcmp(name, fields[i].name) == 0) return push_atom_part(L, S, c, fields[i].part);
  if (strcmp(name, "name") == 0)
    lua_pushstring(L, c->atom.name);
  else if (strcmp(name, "val_type") != 0)
    return false;
  else if (c->atom.element == LT_ELEMENT_COUNT)
    lua_pushnil(L);
  else
    lua_pushstring(L, ltT_type_of(c->atom.element)->name);
  return true;
}

static bool push_tiled_field(lua_State *L, ltL_state *S, const ltL_copy *c, const char *name) {
  if (strcmp(name, "tiler_mn") == 0) return ltL_push_value(L, S, tiler_of(c->tiled));
  if (strcmp(name, "layout_TV") == 0)
    return ltL_push_value(L, S, lt_part(ltL_copy_value(c->tiled), LT_TILED_COPY_TV));
  if (strcmp(name, "thr_idx") == 0 && c->kind == LT_COPY_IS_SLICE)
    return ltL_push_number(L, S, ltL_copy_value(c));
  return false;
}

static int copy_index(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = luaL_checkudata(L, 1, TYPE_NAME);
  const char *name = luaL_checkstring(L, 2);
  if (c->kind != LT_COPY_IS_ATOM) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1;
    if (push_tiled_field(L, S, c, name)) return 1;
    if (ltL_is_tma(c) && ltL_push_tma_field(L, S, c->tiled, name)) return 1;
  }
  if (push_atom_field(L, S, c, name)) return 1;
  return luaL_error(L, "a %s has no field '%s'", kind_names[c->kind], name);
}

static int atom_tostring(lua_State *L, const ltL_copy *c) {
  bool has_type = c->atom.element != LT_ELEMENT_COUNT;
  lua_pushfstring(L, has_type ? "Copy_Atom %s, %s" : "Copy_Traits %s", c->atom.name,
                  has_type ? ltT_type_of(c->atom.element)->name : "");
  return 1;
}

static int copy_tostring(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = luaL_checkudata(L, 1, TYPE_NAME);
  if (c->kind == LT_COPY_IS_ATOM) return atom_tostring(L, c);
  const char *type = ltT_type_of(c->atom.element)->name;
  if (c->kind == LT_COPY_IS_SLICE) {
    lua_pushfstring(L, "ThrCopy %s, %s, thread %I", c->atom.name, type,
                    (LUAI_UACINT)lt_integer_value(ltL_copy_value(c)));
    return 1;
  }
  lua_pushfstring(L, "TiledCopy %s, %s, tiler ", c->atom.name, type);
  ltL_push_text(L, S, tiler_of(c), lt_to_string);
  lua_pushliteral(L, ", layout_TV ");
  ltL_push_text(L, S, lt_part(ltL_copy_value(c), LT_TILED_COPY_TV), lt_to_string);
  lua_concat(L, 4);
  return 1;
}

/* copy_atoms(): an iterator over the names of all operations. */
static int next_atom(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(1));
  char name[LTT_COPY_NAME];
  if (!ltT_copy_atom_at((size_t)i, name)) return 0;
  lua_pushinteger(L, i + 1);
  lua_replace(L, lua_upvalueindex(1));
  lua_pushstring(L, name);
  return 1;
}

static int copy_atoms(lua_State *L) {
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_atom, 1);
  return 1;
}

/* ---- The type ------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"Copy_Atom", make_atom},
                                     {"Copy_Traits", make_traits},
                                     {"copy_atoms", copy_atoms},
                                     {"make_cotiled_copy", make_cotiled_copy},
                                     {"make_layout_tv", make_layout_tv},
                                     {"make_tiled_copy", make_tiled_copy},
                                     {"make_tiled_copy_C_atom", make_tiled_copy_C_atom},
                                     {"make_tiled_copy_impl", make_tiled_copy_impl},
                                     {NULL, NULL}};

static const luaL_Reg methods[] = {{"get_slice", get_slice},
                                   {"get_thread_slice", get_slice},
                                   {"size", copy_size},
                                   {"tile_size", tile_size},
                                   {NULL, NULL}};

/* Sets a function with the state, a number and the name in the table at the top. */
static void set_numbered(lua_State *L, lua_CFunction function, int number, const char *name) {
  ltL_push_state(L);
  lua_pushinteger(L, number);
  lua_pushstring(L, name);
  lua_pushcclosure(L, function, 3);
  lua_setfield(L, -2, name);
}

static void set_makers(lua_State *L) {
  set_numbered(L, make_tiled_copy_mma, LT_MATRIX_A, "make_tiled_copy_A");
  set_numbered(L, make_tiled_copy_mma, LT_MATRIX_B, "make_tiled_copy_B");
  set_numbered(L, make_tiled_copy_mma, LT_MATRIX_C, "make_tiled_copy_C");
  set_numbered(L, make_tiled_copy_like, LT_SIDE_SOURCE, "make_tiled_copy_S");
  set_numbered(L, make_tiled_copy_like, LT_SIDE_TARGET, "make_tiled_copy_D");
}

static void set_side_methods(lua_State *L) {
  set_numbered(L, tidfrg, LT_SIDE_SOURCE, "tidfrg_S");
  set_numbered(L, tidfrg, LT_SIDE_TARGET, "tidfrg_D");
  set_numbered(L, get_layout_tv, LT_SIDE_SOURCE, "get_layoutS_TV");
  set_numbered(L, get_layout_tv, LT_SIDE_TARGET, "get_layoutD_TV");
  set_numbered(L, partition, LT_SIDE_SOURCE, "partition_S");
  set_numbered(L, partition, LT_SIDE_TARGET, "partition_D");
  set_numbered(L, retile, LT_SIDE_SOURCE, "retile_S");
  set_numbered(L, retile, LT_SIDE_TARGET, "retile_D");
}

static void make_type(lua_State *L) {
  if (luaL_newmetatable(L, TYPE_NAME)) {
    ltL_push_state(L);
    lua_newtable(L);
    ltL_set_tile_functions(L, methods);
    set_side_methods(L);
    lua_pushcclosure(L, copy_index, 2);
    lua_setfield(L, -2, "__index");
    ltL_push_state(L);
    lua_pushcclosure(L, copy_tostring, 1);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, TYPE_NAME);
    lua_setfield(L, -2, "__metatable");
  }
  lua_pop(L, 1);
}

/* Puts 'function' before the one that the module at the top has under 'name'. */
static void wrap(lua_State *L, const char *name, lua_CFunction function) {
  ltL_push_state(L);
  lua_getfield(L, -2, name);
  lua_pushcclosure(L, function, 2);
  lua_setfield(L, -2, name);
}

void ltL_open_copies(lua_State *L) {
  make_type(L);
  ltL_set_tile_functions(L, functions);
  set_makers(L);
  wrap(L, "size", size_of_any);
  wrap(L, "tile_size", tile_size_of_any);
  ltL_open_copy_run(L);
  ltL_open_gmma(L);
  ltL_open_tma(L);
}
