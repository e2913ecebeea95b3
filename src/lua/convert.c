/*
** Arguments: what a script passes, as values of the kind that a function wants.
*/
#include "binding.h"

/* Nodes that one table may become: tables that share parts can unfold without end. */
#define MAX_NODES ((size_t)1 << 24)

/* ---- What a value is ------------------------------------------------------------------------ */

static const void *metatable_of(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
  const void *metatable = lua_topointer(L, -1);
  lua_pop(L, 1);
  return metatable;
}

const lt_value *ltL_test(lua_State *L, const ltL_state *S, int index) {
  return metatable_of(L, index) == S->metatable ? lua_touserdata(L, index) : NULL;
}

const void *ltL_test_tensor(lua_State *L, const ltL_state *S, int index) {
  if (S->tensor.metatable == NULL || metatable_of(L, index) != S->tensor.metatable) return NULL;
  return lua_touserdata(L, index);
}

/* __name of a userdata's metatable, read without running anything; NULL if it has none. */
static const char *foreign_name(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return NULL;
  lua_pushliteral(L, "__name");
  lua_rawget(L, -2);
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  lua_pop(L, 2); /* the metatable holds the string */
  return name;
}

const char *ltL_type_name(lua_State *L, const ltL_state *S, int index) {
  const lt_value *v = ltL_test(L, S, index);
  if (v != NULL) return lt_kind_name(lt_kind_of(v));
  const char *name = NULL;
  if (lua_type(L, index) == LUA_TUSERDATA) name = foreign_name(L, index);
  return name != NULL ? name : luaL_typename(L, index);
}

const char *ltL_article(const char *name) {
  bool is_spelled = strncmp(name, "MMA", 3) == 0;
  return is_spelled || strchr("aeiou", name[0]) != NULL ? "an" : "a";
}

/* ---- Errors --------------------------------------------------------------------------------- */

int ltL_argument_error(lua_State *L, const ltL_argument *argument, const char *message) {
  if (argument->number == 0)
    return luaL_error(L, "calling '%s' on bad self (%s)", argument->function, message);
  return luaL_error(L, "bad argument #%d to '%s' (%s)", argument->number, argument->function,
                    message);
}

int ltL_type_error(lua_State *L, const ltL_state *S, const ltL_argument *argument,
                   const char *wanted) {
  const char *got = ltL_type_name(L, S, argument->index);
  return ltL_argument_error(L, argument, lua_pushfstring(L, "%s expected, got %s", wanted, got));
}

/* ---- Numbers and tables --------------------------------------------------------------------- */

static bool read_number(lua_State *L, ltL_state *S, int index, lt_int *x) {
  int is_integer;
  *x = ltA_static(lua_tointegerx(L, index, &is_integer));
  if (!is_integer) ltA_fail(S->arena, LT_INVALID, "number has no integer representation");
  return is_integer;
}

/* The keys of a table, which should be 1 to n. */
typedef struct keys {
  lua_Integer count;
  lua_Integer largest;
  lua_Integer declared; /* field 'n', or -1 */
} keys;

static bool read_key(lua_State *L, ltL_state *S, keys *k) {
  if (lua_isinteger(L, -2) && lua_tointeger(L, -2) > 0) {
    lua_Integer key = lua_tointeger(L, -2);
    if (key > k->largest) k->largest = key;
    k->count++;
    return true;
  }
  if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "n") == 0) {
    int is_integer;
    k->declared = lua_tointegerx(L, -1, &is_integer);
    if (is_integer && k->declared >= 0 && lua_type(L, -1) == LUA_TNUMBER) return true;
    ltA_fail(S->arena, LT_INVALID, "field 'n' is no count");
    return false;
  }
  if (lua_type(L, -2) == LUA_TSTRING)
    ltA_fail(S->arena, LT_INVALID, "table with field '%s' is no tuple", lua_tostring(L, -2));
  else if (lua_isinteger(L, -2))
    ltA_fail(S->arena, LT_INVALID, "table with index %I is no tuple (its elements count from 1)",
             (int64_t)lua_tointeger(L, -2));
  else
    ltA_fail(S->arena, LT_INVALID, "table with a %s as key is no tuple", luaL_typename(L, -2));
  return false;
}

static bool read_keys(lua_State *L, ltL_state *S, int table, keys *k) {
  *k = (keys){0, 0, -1};
  lua_pushnil(L);
  while (lua_next(L, table)) {
    if (!read_key(L, S, k)) {
      lua_pop(L, 2);
      return false;
    }
    lua_pop(L, 1);
  }
  return true;
}

static void report_hole(lua_State *L, ltL_state *S, int table) {
  lua_Integer i = 1;
  while (lua_rawgeti(L, table, i) != LUA_TNIL) {
    lua_pop(L, 1);
    i++;
  }
  lua_pop(L, 1);
  ltA_fail(S->arena, LT_INVALID, "hole at index %I", (int64_t)i);
}

/* The length of a table without holes, or -1. */
static lua_Integer sequence_length(lua_State *L, ltL_state *S, int table) {
  keys k;
  if (!read_keys(L, S, table, &k)) return -1;
  if (k.count != k.largest || k.declared > k.largest) {
    report_hole(L, S, table);
    return -1;
  }
  if (k.declared >= 0 && k.declared < k.largest) {
    ltA_fail(S->arena, LT_INVALID, "index %I is beyond field 'n' (%I)", (int64_t)k.largest,
             (int64_t)k.declared);
    return -1;
  }
  return k.count;
}

static bool append_any(lua_State *L, ltL_state *S, int index, int depth, ltA_builder *b);

static bool append_table(lua_State *L, ltL_state *S, int table, int depth, ltA_builder *b) {
  if (depth > LT_MAX_DEPTH) {
    ltA_fail(S->arena, LT_LIMIT, "table nested deeper than %d levels, or in itself", LT_MAX_DEPTH);
    return false;
  }
  luaL_checkstack(L, 4, "table nested too deep");
  lua_Integer n = sequence_length(L, S, table);
  if (n < 0) return false;
  size_t open = ltA_open(b, LT_TUPLE);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, table, i);
    bool appended = append_any(L, S, lua_gettop(L), depth + 1, b);
    lua_pop(L, 1);
    if (!appended) return false;
  }
  ltA_close(b, open, (size_t)n);
  return !ltA_failed(S->arena);
}

/* Appends the Lua value at 'index'; false, with the error set, if it is no part of a value. */
static bool append_any(lua_State *L, ltL_state *S, int index, int depth, ltA_builder *b) {
  if (b->count > MAX_NODES) {
    ltA_fail(S->arena, LT_LIMIT, "table of more than %z elements", MAX_NODES);
    return false;
  }
  const lt_value *v;
  lt_int x;
  switch (lua_type(L, index)) {
    case LUA_TNUMBER:
      if (!read_number(L, S, index, &x)) return false;
      ltA_append_int(b, x);
      return true;
    case LUA_TTABLE: return append_table(L, S, index, depth, b);
    default:
      v = ltL_test(L, S, index);
      if (v != NULL) {
        ltA_append(b, v);
        return true;
      }
      ltA_fail(S->arena, LT_INVALID, "%s in a table of numbers", ltL_type_name(L, S, index));
      return false;
  }
}

static const lt_value *convert_table(lua_State *L, ltL_state *S, int index) {
  ltA_builder b;
  ltA_begin(&b, S->arena);
  if (!append_table(L, S, lua_absindex(L, index), 1, &b)) return NULL;
  return ltA_finish(&b);
}

static const lt_value *convert_number(lua_State *L, ltL_state *S, int index) {
  lt_int x;
  return read_number(L, S, index, &x) ? ltA_from_int(S->arena, x) : NULL;
}

const lt_value *ltL_convert(lua_State *L, ltL_state *S, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: return convert_number(L, S, index);
    case LUA_TTABLE: return convert_table(L, S, index);
    case LUA_TUSERDATA: return ltL_test(L, S, index);
    default: return NULL;
  }
}

/* ---- Arguments of a kind -------------------------------------------------------------------- */

#define BIT(kind) (1u << (kind))
#define INTEGERS (BIT(LT_INTEGER) | BIT(LT_TUPLE))
#define LAYOUTS (BIT(LT_LAYOUT) | BIT(LT_COMPOSED))
#define TILERS (INTEGERS | LAYOUTS | BIT(LT_SWIZZLE) | BIT(LT_WILDCARD) | BIT(LT_BASIS))

const ltL_kind *ltL_kind_of(char letter) {
  static const ltL_kind kinds['z' - 'a' + 1] = {
      ['x' - 'a'] = {INTEGERS | LAYOUTS | BIT(LT_BASIS) | BIT(LT_WILDCARD), false,
                     "layout or tuple"},
      ['l' - 'a'] = {LAYOUTS, true, "layout"},
      ['f' - 'a'] = {LAYOUTS | BIT(LT_SWIZZLE), true, "layout"},
      ['i' - 'a'] = {LAYOUTS | BIT(LT_SWIZZLE) | BIT(LT_WILDCARD), true, "layout"},
      ['s' - 'a'] = {INTEGERS, false, "shape"},
      ['d' - 'a'] = {INTEGERS | BIT(LT_BASIS) | BIT(LT_MAJOR), false,
                     "stride, LayoutLeft or LayoutRight"},
      ['c' - 'a'] = {INTEGERS | BIT(LT_WILDCARD), false, "coordinate"},
      ['t' - 'a'] = {TILERS, false, "tiler"},
      ['m' - 'a'] = {LAYOUTS | BIT(LT_SWIZZLE) | BIT(LT_TENSOR), true, "layout"},
      ['b' - 'a'] = {TILERS, false, "layout"},
      ['w' - 'a'] = {BIT(LT_SWIZZLE), false, "swizzle"},
      ['o' - 'a'] = {INTEGERS | BIT(LT_MAJOR), false, "order"},
      ['u' - 'a'] = {INTEGERS | BIT(LT_BASIS), false, "tuple"},
      ['p' - 'a'] = {INTEGERS | BIT(LT_SMEM), false, "offset"},
      ['v' - 'a'] = {~0u, false, "value"},
      ['n' - 'a'] = {BIT(LT_INTEGER), false, "integer"},
  };
  return &kinds[letter - 'a'];
}

/* Layouts alone are wanted where a shape stands for one; else a tensor is a layout, or no tuple. */
static const lt_value *layout_of_tensor(lua_State *L, const ltL_state *S, int index,
                                        const lt_value *v, const ltL_kind *kind) {
  if ((kind->kinds & BIT(LT_LAYOUT)) == 0) return v;
  if (v != NULL)
    return v->kind == LT_TENSOR && (kind->kinds & BIT(LT_TENSOR)) == 0 ? lt_part(v, 1) : v;
  const void *tensor = ltL_test_tensor(L, S, index);
  return tensor == NULL ? NULL : S->tensor.layout(tensor);
}

/* Raises for an argument that is no value, or nearly one. */
static void refuse(lua_State *L, ltL_state *S, const ltL_argument *argument, const ltL_kind *kind) {
  if (!ltA_failed(S->arena))
    ltL_type_error(L, S, argument, kind->name);
  else if (S->error.status == LT_NO_MEMORY)
    ltL_raise(L, S);
  else
    ltL_argument_error(L, argument, S->error.message);
}

static const lt_value *check_slowly(lua_State *L, ltL_state *S, const ltL_argument *argument,
                                    const ltL_kind *kind) {
  const lt_value *v = ltL_convert(L, S, argument->index);
  if (!ltA_failed(S->arena)) v = layout_of_tensor(L, S, argument->index, v, kind);
  if (v == NULL) refuse(L, S, argument, kind);
  if (kind->kinds & BIT(v->kind)) return v;
  if (!kind->as_layout || (BIT(v->kind) & INTEGERS) == 0)
    ltL_type_error(L, S, argument, kind->name);
  v = lt_make_layout(S->arena, v, NULL);
  if (v == NULL) ltL_raise(L, S);
  return v;
}

const lt_value *ltL_check(lua_State *L, ltL_state *S, const ltL_argument *argument, char letter) {
  const ltL_kind *kind = ltL_kind_of(letter);
  const lt_value *v = ltL_test(L, S, argument->index);
  if (v != NULL && (kind->kinds & BIT(v->kind)) != 0) return v; /* in place */
  return check_slowly(L, S, argument, kind);
}

const lt_value *ltL_check_at(lua_State *L, ltL_state *S, const char *function, int index,
                             char letter) {
  ltL_argument argument = {function, index, index};
  return ltL_check(L, S, &argument, letter);
}

const lt_value *ltL_optional_at(lua_State *L, ltL_state *S, const char *function, int index,
                                char letter) {
  if (lua_isnoneornil(L, index)) return NULL;
  return ltL_check_at(L, S, function, index, letter);
}

int64_t ltL_check_integer(lua_State *L, ltL_state *S, const ltL_argument *argument) {
  int is_integer;
  if (lua_type(L, argument->index) == LUA_TNUMBER) {
    lua_Integer i = lua_tointegerx(L, argument->index, &is_integer);
    if (is_integer) return i;
  }
  return lt_integer_value(ltL_check(L, S, argument, 'n'));
}

const lt_value *ltL_check_rest(lua_State *L, ltL_state *S, const ltL_argument *first, char letter) {
  ltL_argument argument = *first;
  int last = lua_gettop(L);
  if (last == argument.index) return ltL_check(L, S, &argument, letter);
  ltA_builder b;
  ltA_begin(&b, S->arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  size_t rank = 0;
  for (; argument.index <= last; argument.index++, argument.number++, rank++)
    ltA_append(&b, ltL_check(L, S, &argument, letter));
  ltA_close(&b, open, rank);
  const lt_value *v = ltA_finish(&b);
  if (v == NULL) ltL_raise(L, S);
  return v;
}

/* Appends the integers of 'v', which may be a tuple of them. */
static void append_modes(lua_State *L, const ltL_argument *argument, const lt_value *v,
                         ltA_builder *b) {
  for (const lt_value *node = v; node < ltA_next(v); node++) {
    if (node->kind == LT_INTEGER)
      ltA_append_int(b, ltA_int(node));
    else if (node->kind != LT_TUPLE)
      ltL_argument_error(L, argument, "mode numbers expected");
  }
}

static const int64_t *take_modes(lua_State *L, ltL_state *S, const ltA_builder *b) {
  int64_t *modes = ltA_new_bytes(S->arena, b->count * sizeof *modes);
  if (modes == NULL) ltL_raise(L, S);
  for (size_t i = 0; i < b->count; i++) modes[i] = b->nodes[i].value;
  return modes;
}

const int64_t *ltL_check_modes(lua_State *L, ltL_state *S, const ltL_argument *first, size_t *n) {
  ltL_argument argument = *first;
  int last = lua_gettop(L);
  ltA_builder b;
  ltA_begin(&b, S->arena);
  for (; argument.index <= last; argument.index++, argument.number++)
    append_modes(L, &argument, ltL_check(L, S, &argument, 's'), &b);
  *n = b.count;
  return take_modes(L, S, &b);
}
