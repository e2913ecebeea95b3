/*
** GMMA: layouts of operands in shared memory, and matrix descriptors.
*/
#include "../tile/gmma_smem.h"

#include "copies.h"

/* ---- Arguments ------------------------------------------------------------------------------ */

/* The major mode at 'index': "MN" or "K". */
static ltT_major check_major(lua_State *L, const char *function, int index) {
  const char *name = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";
  if (strcmp(name, "MN") == 0) return LT_MAJOR_MN;
  if (strcmp(name, "K") != 0)
    luaL_error(L, "%s: major \"MN\" or \"K\" expected, got %s", function,
               luaL_tolstring(L, index, NULL));
  return LT_MAJOR_K;
}

/* Bits of the element type at 'index', of the tensor at slot 'of', or 0 where there is none. */
static int64_t bits_of(lua_State *L, ltL_state *S, const char *function, int index, int of) {
  const ltL_tensor *t = ltL_test_tensor(L, S, of);
  if (lua_isnoneornil(L, index)) return t == NULL ? 0 : ltT_type_of(t->element)->bits;
  return ltT_type_of(ltL_check_element(L, function, index))->bits;
}

/* The operand at 'index', a layout, counting tensor or tensor; its element type perhaps behind. */
static ltT_gmma_operand check_operand(lua_State *L, ltL_state *S, const char *function, int index) {
  ltT_gmma_operand operand;
  const ltL_tensor *t = ltL_test_tensor(L, S, index);
  const lt_value *x = ltL_check_at(L, S, function, index, t == NULL ? 'm' : 'l');
  int64_t bits = bits_of(L, S, function, index + 1, index);
  if (t != NULL) x = lt_make_counting_tensor(S->arena, lt_integer(S->arena, t->offset), x);
  if (!ltT_gmma_operand_of(S->arena, x, bits, &operand)) ltL_raise(L, S);
  return operand;
}

/* ---- Layouts -------------------------------------------------------------------------------- */

/* Layout_K_SW128_Atom(dtype): upvalue 2 is the swizzle, 3 the major mode. */
static int make_atom(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_gmma_swizzle swizzle = (ltT_gmma_swizzle)lua_tointeger(L, lua_upvalueindex(2));
  ltT_major major = (ltT_major)lua_tointeger(L, lua_upvalueindex(3));
  int64_t bits = ltT_type_of(ltL_check_element(L, "GMMA layout", 1))->bits;
  return ltL_push_value(L, S, ltT_gmma_smem_atom(S->arena, major, swizzle, bits));
}

/* Layout_SW128_Atom(dtype, major): upvalue 2 is the swizzle. */
static int make_atom_of_major(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_gmma_swizzle swizzle = (ltT_gmma_swizzle)lua_tointeger(L, lua_upvalueindex(2));
  int64_t bits = ltT_type_of(ltL_check_element(L, "GMMA layout", 1))->bits;
  ltT_major major = check_major(L, "GMMA layout", 2);
  return ltL_push_value(L, S, ltT_gmma_smem_atom(S->arena, major, swizzle, bits));
}

/* ---- Descriptors ---------------------------------------------------------------------------- */

static void push_descriptor(lua_State *L, const ltT_gmma_descriptor *d) {
  const struct {
    const char *name;
    lua_Integer value;
  } fields[] = {{"layout_type", d->layout_type},
                {"start_address", d->start_address},
                {"leading_byte_offset", d->leading_byte_offset},
                {"stride_byte_offset", d->stride_byte_offset},
                {"base_offset", d->base_offset},
                {"desc", (lua_Integer)ltT_gmma_desc_bits(d)}};
  int count = (int)(sizeof fields / sizeof fields[0]);
  lua_createtable(L, 0, count);
  for (int i = 0; i < count; i++) {
    lua_pushinteger(L, fields[i].value);
    lua_setfield(L, -2, fields[i].name);
  }
}

/* make_gmma_desc(major, layout (M or N, K) of one MMA [, dtype]): the fields, in a table. */
static int make_gmma_desc(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_gmma_descriptor d;
  ltT_major major = check_major(L, "make_gmma_desc", 1);
  ltT_gmma_operand operand = check_operand(L, S, "make_gmma_desc", 2);
  if (!ltT_make_gmma_desc(S->arena, major, &operand, &d)) return ltL_raise(L, S);
  push_descriptor(L, &d);
  return 1;
}

/*
** smem_desc(major, part ((M,K),RestM,RestK,...) [, dtype]): the descriptor of the first MMA, and
** the layout of what the others add to its start address.
*/
static int smem_desc(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_gmma_descriptor d;
  ltT_major major = check_major(L, "smem_desc", 1);
  ltT_gmma_operand part = check_operand(L, S, "smem_desc", 2), first = part;
  first.layout = ltA_mode_of(S->arena, part.layout, 0);
  if (first.layout == NULL || !ltT_make_gmma_desc(S->arena, major, &first, &d))
    return ltL_raise(L, S);
  const lt_value *layout = ltT_gmma_desc_layout(S->arena, &part);
  ltL_push_value(L, S, layout);
  push_descriptor(L, &d);
  lua_insert(L, -2);
  return 2;
}

/* ---- The module ----------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {
    {"make_gmma_desc", make_gmma_desc}, {"smem_desc", smem_desc}, {NULL, NULL}};

static void set_atoms(lua_State *L, ltT_gmma_swizzle swizzle, const char *name) {
  static const char *const majors[] = {"MN", "K"};
  for (int major = LT_MAJOR_MN; major <= LT_MAJOR_K; major++) {
    lua_pushfstring(L, "Layout_%s_%s_Atom", majors[major], name);
    ltL_push_state(L);
    lua_pushinteger(L, (lua_Integer)swizzle);
    lua_pushinteger(L, major);
    lua_pushcclosure(L, make_atom, 3);
    lua_rawset(L, -3);
  }
  lua_pushfstring(L, "Layout_%s_Atom", name);
  ltL_push_state(L);
  lua_pushinteger(L, (lua_Integer)swizzle);
  lua_pushcclosure(L, make_atom_of_major, 2);
  lua_rawset(L, -3);
}

/* GMMA.*, as CuTe's namespace. */
void ltL_open_gmma(lua_State *L) {
  static const char *const swizzles[] = {"INTER", "SW32", "SW64", "SW128"};
  lua_newtable(L);
  ltL_set_tile_functions(L, functions);
  for (int i = 0; i < LT_GMMA_SWIZZLES; i++) set_atoms(L, (ltT_gmma_swizzle)i, swizzles[i]);
  lua_setfield(L, -2, "GMMA");
}
