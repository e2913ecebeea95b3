/*
** All of a layout at once: its offsets in a table, or one by one with their coordinates.
*/
#include <limits.h>

#include "../algebra/offsets.h"
#include "tiles.h"

/* Offset of a linear index, with the error of lt_apply where there is none. */
static const lt_value *offset_at(ltL_state *S, const lt_value *layout, int64_t index) {
  return lt_apply(S->arena, layout, lt_integer(S->arena, index));
}

/* The size of a layout whose indices are all gone through. */
static int64_t countable_size(lua_State *L, ltL_state *S, const char *name,
                              const lt_value *layout) {
  const lt_value *size = lt_size(S->arena, lt_shape(layout));
  if (size == NULL) ltL_raise(L, S);
  if (lt_integer_value(size) > INT_MAX)
    luaL_error(L, "%s: a table has no room for the %I offsets", name,
               (LUAI_UACINT)lt_integer_value(size));
  return lt_integer_value(size);
}

/* Where there are no plain integers to write: coordinates, or an error to raise. */
static void set_offsets_slowly(lua_State *L, ltL_state *S, const lt_value *layout, int64_t size) {
  ltA_mark start = ltA_get_mark(S->arena);
  for (int64_t i = 0; i < size; i++) {
    ltL_push_number(L, S, offset_at(S, layout, i));
    lua_rawseti(L, -2, i + 1);
    ltA_release(S->arena, start);
  }
}

/* The table at the top of the stack, and how many offsets are in it. */
typedef struct listing {
  lua_State *L;
  lua_Integer count;
} listing;

/* Within the table's room, so that nothing is allocated. */
static bool append_offsets(void *context, const int64_t *offsets, size_t count) {
  listing *list = context;
  for (size_t i = 0; i < count; i++) {
    lua_pushinteger(list->L, offsets[i]);
    lua_rawseti(list->L, -2, ++list->count);
  }
  return true;
}

/* offsets(L, t): into the elements of a tensor, which is returned. */
static int fill_with_offsets(lua_State *L, ltL_state *S, const lt_value *layout) {
  lt_tensor t = ltL_check_core(L, S, "offsets", 2, "tensor");
  const lt_value *size = lt_size(S->arena, lt_shape(layout));
  int64_t room = ltT_size(S->arena, &t);
  if (size == NULL) return ltL_raise(L, S);
  if (room != lt_integer_value(size))
    return luaL_error(L, "offsets: a tensor of %I elements for %I offsets", (LUAI_UACINT)room,
                      (LUAI_UACINT)lt_integer_value(size));
  if (!ltT_write_offsets(S->arena, layout, &t))
    return ltL_raise_fault(L, S, "offsets", (lt_tensor *[]){&t}, (int[]){2}, 1);
  lua_settop(L, 2);
  return 1;
}

/* offsets(L): the offset of index i at place i + 1 of a table. */
static int iterate_offsets(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_check_at(L, S, "offsets", 1, 'm');
  if (!lua_isnoneornil(L, 2)) return fill_with_offsets(L, S, layout);
  int64_t size = countable_size(L, S, "offsets", layout);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  lua_createtable(L, (int)size, 0);
  ltL_unpin(S, was_pinned, was_pin);
  if (!ltA_hand_out_offsets(layout, append_offsets, &(listing){L, 0}))
    set_offsets_slowly(L, S, layout, size);
  return 1;
}

/* image(L): the offsets in a table, each once and in ascending order. */
static int list_image(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_check_at(L, S, "image", 1, 'm');
  size_t count;
  const int64_t *offsets = lt_image(S->arena, layout, &count);
  if (offsets == NULL) return ltL_raise(L, S);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  lua_createtable(L, (int)count, 0); /* at most LT_MAX_EVALUATION */
  ltL_unpin(S, was_pinned, was_pin);
  for (size_t i = 0; i < count; i++) {
    lua_pushinteger(L, offsets[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Upvalues: state, layout, next index, size. Gives coordinate and offset. */
static int next_element(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_test(L, S, lua_upvalueindex(2));
  int64_t index = lua_tointeger(L, lua_upvalueindex(3));
  if (index >= lua_tointeger(L, lua_upvalueindex(4))) return 0;
  lua_pushinteger(L, index + 1);
  lua_replace(L, lua_upvalueindex(3));
  const lt_value *coordinate =
      lt_idx2crd(S->arena, lt_integer(S->arena, index), lt_shape(layout), NULL);
  const lt_value *offset = offset_at(S, layout, index);
  if (offset == NULL || coordinate == NULL) return ltL_raise(L, S);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  ltL_push_number(L, S, coordinate);
  ltL_push_number(L, S, offset);
  ltL_unpin(S, was_pinned, was_pin);
  return 2;
}

/* for coordinate, offset in each(L) do */
static int iterate_each(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_check_at(L, S, "each", 1, 'm');
  const lt_value *size = lt_size(S->arena, lt_shape(layout));
  if (size == NULL) return ltL_raise(L, S);
  lua_Integer count = lt_integer_value(size);
  lua_pushvalue(L, lua_upvalueindex(1));
  ltL_push_value(L, S, layout);
  lua_pushinteger(L, 0);
  lua_pushinteger(L, count);
  lua_pushcclosure(L, next_element, 4);
  return 1;
}

static const luaL_Reg functions[] = {
    {"each", iterate_each}, {"image", list_image}, {"offsets", iterate_offsets}, {NULL, NULL}};

void ltL_open_iteration(lua_State *L) {
  ltL_state *S = ltL_push_state(L);
  luaL_setfuncs(L, functions, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->methods_reference);
  ltL_push_state(L);
  luaL_setfuncs(L, functions, 1);
  lua_pop(L, 1);
}
