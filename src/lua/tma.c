/*
** TMA copies: made from a tensor and the layout of its tile, described, and run.
*/
#include "copies.h"

/* ---- Making --------------------------------------------------------------------------------- */

/* The type of the tensor at slot 2, or, of a layout, that named by argument 6. */
static lt_element element_of(lua_State *L, const ltL_tensor *t) {
  if (t != NULL && lua_isnoneornil(L, 6)) return t->element;
  if (t == NULL && lua_isnoneornil(L, 6))
    luaL_error(L, "make_tma_copy: a layout of global memory wants its element type as argument 6");
  return ltL_check_element(L, "make_tma_copy", 6);
}

/* The tile and cluster in arguments 4 and 5; a number in place of the tile is the cluster. */
static void read_tile(lua_State *L, ltL_state *S, ltT_tma_request *q) {
  bool is_cluster = lua_type(L, 4) == LUA_TNUMBER && lua_isnoneornil(L, 5);
  if (!is_cluster) q->tiler = ltL_optional_at(L, S, "make_tma_copy", 4, 't');
  q->cluster = ltL_optional_at(L, S, "make_tma_copy", is_cluster ? 4 : 5, 'x');
}

/* make_tma_copy(operation, tensor or layout, smem layout [, tile] [, cluster [, dtype]]) */
static int make_tma_copy(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_copy_atom atom;
  lua_settop(L, 6);
  const char *operation = luaL_checkstring(L, 1);
  const ltL_tensor *t = ltL_test_tensor(L, S, 2);
  ltT_tma_request q = {.atom = &atom};
  q.tensor = ltL_check_at(L, S, "make_tma_copy", 2, 'l');
  q.offset = t == NULL ? 0 : t->offset;
  q.smem = ltL_check_at(L, S, "make_tma_copy", 3, 'l');
  read_tile(L, S, &q);
  if (!ltT_tma_operation(S->arena, operation, element_of(L, t), &atom)) return ltL_raise(L, S);
  const lt_value *value = ltT_make_tma_copy(S->arena, &q);
  ltL_push_tiled_copy(L, S, &atom, value);
  if (t == NULL) return 1;
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

static const ltL_copy *check_tma(lua_State *L, const char *function) {
  const ltL_copy *c = ltL_test_copy(L, 1);
  if (c == NULL || !ltL_is_tma(c))
    luaL_error(L, "%s: TMA copy expected, got %s", function,
               c == NULL ? luaL_typename(L, 1) : "another copy");
  return c->tiled;
}

/* tma:get_tma_tensor(shape): coordinates of the descriptor, as a counting tensor. */
static int get_tma_tensor(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_tma(L, "get_tma_tensor");
  const lt_value *shape = ltL_check(L, S, &(ltL_argument){"get_tma_tensor", 2, 1}, 's');
  return ltL_push_value(L, S, ltT_tma_tensor(S->arena, ltL_copy_value(c), shape));
}

/*
** tma_partition(tma, block, blocks, smem, gmem), or (tma, smem, gmem) for one block: the parts of
** the coordinates and of the tensor in shared memory.
*/
static int tma_partition(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = check_tma(L, "tma_partition");
  bool is_alone = lua_gettop(L) <= 3;
  int smem = is_alone ? 2 : 4;
  const lt_value *coord = lt_integer(S->arena, 0), *blocks = lt_parse(S->arena, "1:0");
  if (!is_alone) coord = ltL_check_at(L, S, "tma_partition", 2, 'c');
  if (!is_alone) blocks = ltL_check_at(L, S, "tma_partition", 3, 'l');
  const lt_value *tile = ltL_check_at(L, S, "tma_partition", smem, 'l');
  const lt_value *gmem = ltL_check_at(L, S, "tma_partition", smem + 1, 'l');
  const lt_value *tma = ltL_copy_value(c);
  const lt_value *from = ltT_tma_partition(S->arena, tma, coord, blocks, tile, gmem);
  const lt_value *to = ltT_tma_partition(S->arena, tma, coord, blocks, tile, tile);
  if (from == NULL || to == NULL) return ltL_raise(L, S);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  ltL_push_part(L, S, smem + 1, from);
  ltL_push_part(L, S, smem, to);
  ltL_unpin(S, was_pinned, was_pin);
  return 2;
}

/* ---- The descriptor ------------------------------------------------------------------------- */

static void set_list(lua_State *L, const char *name, const lt_value *tuple, size_t first,
                     lua_Integer bits) {
  size_t n = lt_rank(tuple);
  lua_createtable(L, (int)n, 0);
  for (size_t i = first; i < n; i++) {
    lua_pushinteger(L, lt_integer_value(lt_part(tuple, i)) * bits / 8);
    lua_rawseti(L, -2, (lua_Integer)(i - first) + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_ones(lua_State *L, const char *name, size_t n) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 1; i <= n; i++) {
    lua_pushinteger(L, 1);
    lua_rawseti(L, -2, (lua_Integer)i);
  }
  lua_setfield(L, -2, name);
}

static const char *swizzle_name(const lt_value *swizzle) {
  static const char *const names[] = {"none", "32B", "64B", "128B"};
  int64_t base = lt_integer_value(lt_part(swizzle, 1));
  if (base == 5) return "128B_ATOM_32B";
  if (base == 6) return "128B_ATOM_64B";
  return names[lt_integer_value(lt_part(swizzle, 0))];
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

/* Pushes what cuTensorMapEncodeTiled takes, by its names. */
static int push_descriptor(lua_State *L, const ltL_copy *c) {
  const lt_value *tma = ltL_copy_value(c);
  const lt_value *shape = ltT_tma_part_of(tma, LT_TMA_SHAPE);
  const ltT_type *type = ltT_type_of(c->atom.element);
  lua_createtable(L, 0, 9);
  lua_pushinteger(L, (lua_Integer)lt_rank(shape));
  lua_setfield(L, -2, "tensorRank");
  set_text(L, "tensorDataType", type->name);
  set_list(L, "globalDim", shape, 0, 8);
  set_list(L, "globalStrides", ltT_tma_part_of(tma, LT_TMA_STRIDE), 1, type->bits);
  set_list(L, "boxDim", ltT_tma_part_of(tma, LT_TMA_BOX), 0, 8);
  set_ones(L, "elementStrides", lt_rank(shape));
  set_text(L, "interleave", "none");
  set_text(L, "swizzle", swizzle_name(ltT_tma_part_of(tma, LT_TMA_SWIZZLE)));
  set_text(L, "oobFill", "zero");
  return 1;
}

bool ltL_push_tma_field(lua_State *L, ltL_state *S, const ltL_copy *c, const char *name) {
  if (strcmp(name, "desc") == 0) return push_descriptor(L, c) == 1;
  if (strcmp(name, "tma_basis") == 0)
    return ltL_push_value(L, S, ltT_tma_part_of(ltL_copy_value(c), LT_TMA_BASIS)) == 1;
  bool is_with = strcmp(name, "with") == 0;
  if (!is_with && strcmp(name, "get_tma_tensor") != 0) return false;
  ltL_push_state(L);
  lua_pushcclosure(L, is_with ? ltL_tma_with : get_tma_tensor, 1);
  return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Pushes the tensor in global memory that the copy at slot 1 was made for. */
static void push_global(lua_State *L, const ltL_copy *c) {
  lua_getiuservalue(L, 1, 1);
  if (c->kind == LT_COPY_IS_SLICE) {
    lua_getiuservalue(L, -1, 1);
    lua_remove(L, -2);
  }
}

int ltL_run_tma(lua_State *L, ltL_state *S, const ltL_copy *c) {
  bool is_load = c->atom.family->way == LT_COPY_TMA_LOAD;
  int coordinates_slot = is_load ? 2 : 3, shared_slot = is_load ? 3 : 2;
  lua_settop(L, 3);
  const lt_value *coordinates = ltL_test(L, S, coordinates_slot);
  if (coordinates == NULL || lt_kind_of(coordinates) != LT_TENSOR)
    return luaL_error(L, "copy: %s takes coordinates as its %s: get_tma_tensor gives them",
                      c->atom.name, is_load ? "source" : "target");
  lt_tensor shared = ltL_check_core(L, S, "copy", shared_slot, is_load ? "target" : "source");
  push_global(L, c);
  const ltL_tensor *t = ltL_test_tensor(L, S, 4);
  if (t == NULL)
    return luaL_error(L, "copy: %s was made for a layout, not for a tensor", c->atom.name);
  lt_tensor global = ltL_core_tensor(L, t, "global tensor");
  (is_load ? ltL_fly_tma : ltL_fly_store)(L, &shared);
  if (ltT_run_tma(S->arena, "copy", &c->atom, ltL_copy_value(c->tiled), coordinates, &global,
                  &shared)) {
    if (is_load) ltL_land_tma(L, &shared, ltT_size(S->arena, &shared));
    return 0;
  }
  int slots[] = {4, shared_slot};
  return ltL_raise_fault(L, S, "copy", (lt_tensor *[]){&global, &shared}, slots, 2);
}

/* ---- The module ----------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {
    {"make_tma_copy", make_tma_copy}, {"tma_partition", tma_partition}, {NULL, NULL}};

void ltL_open_tma(lua_State *L) { ltL_set_tile_functions(L, functions); }
