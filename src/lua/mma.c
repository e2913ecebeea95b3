/*
** MMA atoms, TiledMMAs and their thread slices.
*/
#include "operations.h"
#include "tiles.h"

#define TYPE_NAME "lutile mma"

/* ---- Pushing and checking ------------------------------------------------------------------- */

const ltL_mma *ltL_test_mma(lua_State *L, int index) { return luaL_testudata(L, index, TYPE_NAME); }

static const char *kind_name(const ltL_mma *m) {
  static const char *const names[] = {"MMA atom", "tiled MMA", "MMA slice"};
  return names[m->kind];
}

static const ltL_mma *check_mma(lua_State *L, const char *function, int index, ltL_mma_kind kind) {
  const ltL_mma *m = ltL_test_mma(L, index);
  static const char *const wanted[] = {"MMA atom", "tiled MMA", "MMA slice"};
  bool fits =
      m != NULL && (m->kind == kind || (kind == LT_MMA_IS_TILED && m->kind == LT_MMA_IS_SLICE));
  if (!fits)
    luaL_error(L, "%s: %s expected, got %s", function, wanted[kind],
               m == NULL ? luaL_typename(L, index) : kind_name(m));
  return kind == LT_MMA_IS_TILED ? m->tiled : m;
}

const lt_value *ltL_mma_atom_value(const ltL_mma *m) {
  const lt_value *value = ltL_mma_value(m->tiled);
  return m->tiled->kind == LT_MMA_IS_ATOM ? value : lt_part(value, LT_MMA_ATOM);
}

/* A userdata with room for 'extra' bytes behind the value. */
static ltL_mma *push_mma(lua_State *L, ltL_state *S, ltL_mma_kind kind, const ltT_mma_atom *atom,
                         const lt_value *value, size_t extra) {
  size_t size = sizeof(ltL_mma) + lt_value_size(value);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  ltL_mma *m = lua_newuserdatauv(L, size + extra, 1);
  *m = (ltL_mma){.kind = kind, .atom = *atom, .tiled = m, .threads_at = size};
  memcpy(m->nodes, value, lt_value_size(value));
  ltL_unpin(S, was_pinned, was_pin);
  luaL_setmetatable(L, TYPE_NAME);
  return m;
}

/* The atom at 'index', or the one of the name there. */
static const lt_value *check_atom(lua_State *L, ltL_state *S, const char *function, int index,
                                  ltT_mma_atom *atom) {
  if (lua_type(L, index) == LUA_TSTRING) {
    const lt_value *value = ltT_mma_atom_named(S->arena, lua_tostring(L, index), atom);
    if (value == NULL) ltL_raise(L, S);
    return value;
  }
  const ltL_mma *m = check_mma(L, function, index, LT_MMA_IS_ATOM);
  *atom = m->atom;
  return ltL_mma_value(m);
}

/* ---- Makers --------------------------------------------------------------------------------- */

/* MMA_Atom(name) */
static int make_atom(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_mma_atom atom;
  const lt_value *value = check_atom(L, S, "MMA_Atom", 1, &atom);
  push_mma(L, S, LT_MMA_IS_ATOM, &atom, value, 0);
  return 1;
}

/* UniversalFMA(D, A, B, C): the types, A defaulting to D, B to A, C to D. */
static int make_universal(lua_State *L) {
  int n = lua_gettop(L);
  luaL_Buffer name;
  for (int i = 1; i <= n; i++) ltL_check_element(L, "UniversalFMA", i);
  luaL_buffinit(L, &name);
  luaL_addstring(&name, "UniversalFMA<");
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&name, ',');
    lua_pushvalue(L, i);
    luaL_addvalue(&name);
  }
  luaL_addchar(&name, '>');
  luaL_pushresult(&name);
  lua_replace(L, 1);
  lua_settop(L, 1);
  return make_atom(L);
}

/* Fills in which thread of the block is where, and back. */
static void write_threads(ltL_mma *m, const int64_t *offsets) {
  int32_t *threads = (int32_t *)(void *)((char *)m + m->threads_at);
  int32_t *places = threads + m->thread_count;
  for (int64_t i = 0; i < m->thread_span; i++) places[i] = -1;
  for (int64_t i = 0; i < m->thread_count; i++) {
    threads[i] = (int32_t)offsets[i];
    places[offsets[i]] = (int32_t)i;
  }
}

/* The threads of a TiledMMA, each in one place; raises where two share a number. */
static const int64_t *read_threads(lua_State *L, ltL_state *S, const lt_value *mma, int64_t *count,
                                   int64_t *span) {
  const lt_value *layout = ltT_mma_threads(mma);
  *span = ltT_extent(S->arena, "make_tiled_mma", layout);
  ltT_buffer threads = {.size = (size_t)*span};
  lt_tensor t = {.element = LT_U8, .layout = layout, .buffer = &threads, .name = "threads"};
  const int64_t *offsets = ltT_offsets(S->arena, "make_tiled_mma", &t, count, LT_READ);
  if (offsets == NULL) ltL_raise(L, S);
  if (*span > 1024)
    luaL_error(L, "make_tiled_mma: %I threads, where a block has 1024 at most", (LUAI_UACINT)*span);
  return offsets;
}

/* make_tiled_mma(atom [, thread layout [, permutation]]) */
static int make_tiled_mma(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_mma_atom atom;
  const lt_value *value = check_atom(L, S, "make_tiled_mma", 1, &atom);
  const lt_value *threads = ltL_optional_at(L, S, "make_tiled_mma", 2, 'l');
  const lt_value *permutation = ltL_optional_at(L, S, "make_tiled_mma", 3, 't');
  const lt_value *mma = ltT_make_tiled_mma(S->arena, value, threads, permutation);
  if (mma == NULL) return ltL_raise(L, S);
  int64_t count, span;
  const int64_t *offsets = read_threads(L, S, mma, &count, &span);
  size_t extra = (size_t)(count + span) * sizeof(int32_t);
  ltL_mma *m = push_mma(L, S, LT_MMA_IS_TILED, &atom, mma, extra);
  m->thread_count = count;
  m->thread_span = span;
  write_threads(m, offsets);
  return 1;
}

/* mma:get_slice(thread) */
static int get_slice(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = check_mma(L, "get_slice", 1, LT_MMA_IS_TILED);
  const lt_value *thread = ltL_check(L, S, &(ltL_argument){"get_slice", 2, 1}, 'n');
  const lt_value *vmnk = ltT_thr_vmnk(S->arena, ltL_mma_value(m), thread);
  if (vmnk == NULL) return ltL_raise(L, S);
  ltL_mma *slice = push_mma(L, S, LT_MMA_IS_SLICE, &m->atom, vmnk, 0);
  slice->tiled = m;
  lua_pushvalue(L, 1);
  if (ltL_test_mma(L, 1)->kind == LT_MMA_IS_SLICE) {
    lua_getiuservalue(L, 1, 1);
    lua_remove(L, -2);
  }
  lua_setiuservalue(L, -2, 1); /* keeps the TiledMMA alive */
  return 1;
}

/* ---- Partitions ----------------------------------------------------------------------------- */

/* The functions that end in _A, _B, _C have the matrix as upvalue 2. */
static ltT_matrix matrix_of(lua_State *L) {
  return (ltT_matrix)lua_tointeger(L, lua_upvalueindex(2));
}

/* mma:thrfrg_A(layout or tensor): over a tensor, a view. */
static int thrfrg(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = check_mma(L, "thrfrg", 1, LT_MMA_IS_TILED);
  const lt_value *layout = ltL_check(L, S, &(ltL_argument){"thrfrg", 2, 1}, 'l');
  const lt_value *r = ltT_thrfrg(S->arena, ltL_mma_value(m), matrix_of(L), layout);
  if (r == NULL || ltL_test_tensor(L, S, 2) == NULL) return ltL_push_value(L, S, r);
  S->tensor.push_view(L, S, 2, lt_integer(S->arena, 0), r);
  return 1;
}

static int get_layout_tv(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = check_mma(L, "get_layout_TV", 1, LT_MMA_IS_TILED);
  return ltL_push_value(L, S, ltT_layout_tv(S->arena, ltL_mma_value(m), matrix_of(L)));
}

/* The slice's part of the layout, counting or real tensor at slot 2, as offset o layout. */
static const lt_value *part_of(lua_State *L, ltL_state *S, const char *function) {
  const ltL_mma *m = check_mma(L, function, 1, LT_MMA_IS_SLICE);
  const lt_value *layout = ltL_check(L, S, &(ltL_argument){function, 2, 1}, 'l');
  const lt_value *part =
      ltT_partition(S->arena, ltL_mma_value(m->tiled), matrix_of(L), ltL_mma_value(m), layout);
  if (part == NULL) ltL_raise(L, S);
  return part;
}

/* slice:partition_A(t): a view of a tensor; of a layout, the counting tensor. */
static int partition(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return ltL_push_part(L, S, 2, part_of(L, S, "partition"));
}

/* By value: scales have no operand of their own. */
static ltT_operand operand_of(const ltL_mma *m, ltT_matrix matrix) {
  const ltT_operand scale = {.element = m->atom.scale.element};
  const ltT_operand operands[] = {m->atom.a, m->atom.b, m->atom.c, scale, scale};
  return operands[matrix];
}

/* slice:make_fragment_A(part): registers for a part; an operand in shared memory is the part. */
static int make_fragment(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_matrix matrix = matrix_of(L);
  const ltL_mma *m = check_mma(L, "make_fragment", 1, LT_MMA_IS_TILED);
  const ltT_operand operand = operand_of(m, matrix);
  if (operand.element == LT_ELEMENT_COUNT)
    return luaL_error(L, "make_fragment: %s has no block scales", m->atom.name);
  if (operand.from_descriptor) {
    lua_settop(L, 2);
    return 1;
  }
  const lt_value *part = ltL_check(L, S, &(ltL_argument){"make_fragment", 2, 1}, 'l');
  const lt_value *layout = ltT_fragment(S->arena, matrix, part);
  ltL_push_owning_tensor(L, S, "make_fragment", operand.element, layout);
  return 1;
}

/* slice:partition_fragment_A(t) */
static int partition_fragment(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltT_matrix matrix = matrix_of(L);
  const ltL_mma *m = ltL_test_mma(L, 1);
  if (m != NULL && m->kind == LT_MMA_IS_TILED && matrix == LT_MATRIX_C) { /* of a shape */
    const lt_value *shape = ltL_check(L, S, &(ltL_argument){"partition_fragment_C", 2, 1}, 's');
    shape = ltT_partition_shape(S->arena, ltL_mma_value(m), matrix, shape);
    const lt_value *layout = shape == NULL ? NULL : lt_make_layout(S->arena, shape, NULL);
    ltL_push_owning_tensor(L, S, "partition_fragment_C", m->atom.c.element, layout);
    return 1;
  }
  const lt_value *part = part_of(L, S, "partition_fragment");
  const ltT_operand operand = operand_of(m, matrix);
  if (operand.from_descriptor) return partition(L);
  const lt_value *layout = ltT_fragment(S->arena, matrix, lt_part(part, 1));
  ltL_push_owning_tensor(L, S, "partition_fragment", operand.element, layout);
  return 1;
}

/* mma:partition_shape_A(shape) */
static int partition_shape(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = check_mma(L, "partition_shape", 1, LT_MMA_IS_TILED);
  const lt_value *shape = ltL_check(L, S, &(ltL_argument){"partition_shape", 2, 1}, 'x');
  return ltL_push_value(
      L, S, ltT_partition_shape(S->arena, ltL_mma_value(m), matrix_of(L), lt_shape(shape)));
}

/* ---- Extents -------------------------------------------------------------------------------- */

/* Pushes 'mnk', or the one of its elements that argument 2 numbers. */
static int push_mnk(lua_State *L, ltL_state *S, const char *function, const lt_value *mnk) {
  if (mnk == NULL) return ltL_raise(L, S);
  if (lua_isnoneornil(L, 2)) return ltL_push_value(L, S, mnk);
  int64_t mode = ltL_check_integer(L, S, &(ltL_argument){function, 2, 1});
  if (mode < 0 || mode > 2)
    luaL_error(L, "%s: mode %I is not 0, 1 or 2", function, (LUAI_UACINT)mode);
  return ltL_push_value(L, S, lt_part(mnk, (size_t)mode));
}

static int permutation_mnk(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = check_mma(L, "permutation_mnk", 1, LT_MMA_IS_TILED);
  return push_mnk(L, S, "permutation_mnk", ltT_permutation_mnk(S->arena, ltL_mma_value(m)));
}

int ltL_plain_tile_size(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = check_mma(L, "tile_size", 1, LT_MMA_IS_TILED);
  return push_mnk(L, S, "tile_size", ltT_tile_shape(S->arena, ltL_mma_value(m)));
}

static int get_thr_layout_vmnk(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = check_mma(L, "get_thr_layout_vmnk", 1, LT_MMA_IS_TILED);
  return ltL_push_value(L, S, ltT_mma_threads(ltL_mma_value(m)));
}

static int mma_size(lua_State *L) {
  lua_pushinteger(L, check_mma(L, "size", 1, LT_MMA_IS_TILED)->thread_count);
  return 1;
}

/* size(x) as the algebra has it, and the threads of a TiledMMA. */
int ltL_plain_size(lua_State *L) {
  if (ltL_test_mma(L, 1) != NULL) return mma_size(L);
  return ltL_run(L, ltL_begin(L), ltL_find_operation("size"));
}

/* ---- Fields --------------------------------------------------------------------------------- */

static int push_atom_value(lua_State *L, ltL_state *S, const ltL_mma *m, ltT_atom_part part) {
  const lt_value *v = lt_part(ltL_mma_atom_value(m), part);
  if (v->kind == LT_WILDCARD) lua_pushnil(L); /* the atom has no scales */
  return v->kind == LT_WILDCARD ? 1 : ltL_push_value(L, S, v);
}

static bool push_value_field(lua_State *L, ltL_state *S, const ltL_mma *m, const char *name) {
  static const struct {
    const char *name;
    ltT_atom_part part;
  } fields[] = {{"shape_mnk", LT_ATOM_SHAPE},   {"thr_id", LT_ATOM_THREADS},
                {"a_layout", LT_ATOM_A},        {"b_layout", LT_ATOM_B},
                {"c_layout", LT_ATOM_C},        {"sfa_layout", LT_ATOM_SCALE_A},
                {"sfb_layout", LT_ATOM_SCALE_B}};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strcmp(name, fields[i].name) == 0) return push_atom_value(L, S, m, fields[i].part);
  return false;
}

static bool push_type_field(lua_State *L, const ltT_mma_atom *atom, const char *name) {
  const struct {
    const char *name;
    lt_element element;
  } fields[] = {{"a_type", atom->a.element},
                {"b_type", atom->b.element},
                {"c_type", atom->c.element},
                {"d_type", atom->d.element},
                {"sf_type", atom->scale.element}};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (strcmp(name, fields[i].name) != 0) continue;
    if (fields[i].element == LT_ELEMENT_COUNT)
      lua_pushnil(L);
    else
      lua_pushstring(L, ltT_type_of(fields[i].element)->name);
    return true;
  }
  return false;
}

static const char *fragment_kind(const ltT_operand *operand) {
  return operand->from_descriptor ? "smem_desc" : "value";
}

static bool push_plain_field(lua_State *L, const ltT_mma_atom *atom, const char *name) {
  if (strcmp(name, "name") == 0)
    lua_pushstring(L, atom->name);
  else if (strcmp(name, "a_frag") == 0)
    lua_pushstring(L, fragment_kind(&atom->a));
  else if (strcmp(name, "b_frag") == 0)
    lua_pushstring(L, fragment_kind(&atom->b));
  else if (strcmp(name, "sf_vec") == 0 && atom->scale.vector != 0)
    lua_pushinteger(L, atom->scale.vector);
  else if (strcmp(name, "sf_vec") == 0)
    lua_pushnil(L);
  else
    return push_type_field(L, atom, name);
  return true;
}

static int mma_index(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = luaL_checkudata(L, 1, TYPE_NAME);
  const char *name = luaL_checkstring(L, 2);
  if (m->kind != LT_MMA_IS_ATOM) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1;
    if (m->kind == LT_MMA_IS_SLICE && strcmp(name, "thr_vmnk") == 0)
      return ltL_push_value(L, S, ltL_mma_value(m));
    if (strcmp(name, "thr_layout_vmnk") == 0)
      return ltL_push_value(L, S, ltT_mma_threads(ltL_mma_value(m->tiled)));
  }
  if (push_plain_field(L, &m->atom, name) || push_value_field(L, S, m, name)) return 1;
  return luaL_error(L, "%s %s has no field '%s'", ltL_article(kind_name(m)), kind_name(m), name);
}

static int mma_tostring(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = luaL_checkudata(L, 1, TYPE_NAME);
  if (m->kind == LT_MMA_IS_ATOM) {
    lua_pushfstring(L, "MMA_Atom %s", m->atom.name);
    return 1;
  }
  lua_pushfstring(L, "%s %s, %s ", m->kind == LT_MMA_IS_TILED ? "TiledMMA" : "ThrMMA", m->atom.name,
                  m->kind == LT_MMA_IS_TILED ? "threads" : "thread");
  const lt_value *shown =
      m->kind == LT_MMA_IS_TILED ? ltT_mma_threads(ltL_mma_value(m)) : ltL_mma_value(m);
  ltL_push_text(L, S, shown, lt_to_string);
  lua_concat(L, 2);
  return 1;
}

/* mma_atoms(): an iterator over the names of all atoms. */
static int next_atom(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(1));
  char name[LTT_ATOM_NAME];
  if (!ltT_mma_atom_at((size_t)i, name)) return 0;
  lua_pushinteger(L, i + 1);
  lua_replace(L, lua_upvalueindex(1));
  lua_pushstring(L, name);
  return 1;
}

static int mma_atoms(lua_State *L) {
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_atom, 1);
  return 1;
}

/* ---- The type ------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"MMA_Atom", make_atom},
                                     {"UniversalFMA", make_universal},
                                     {"make_tiled_mma", make_tiled_mma},
                                     {"mma_atoms", mma_atoms},
                                     {"tile_shape", ltL_plain_tile_size},
                                     {"tile_size", ltL_plain_tile_size},
                                     {NULL, NULL}};

static const luaL_Reg methods[] = {{"get_slice", get_slice},
                                   {"get_thr_layout_vmnk", get_thr_layout_vmnk},
                                   {"get_thread_slice", get_slice},
                                   {"permutation_mnk", permutation_mnk},
                                   {"size", mma_size},
                                   {"tile_shape", ltL_plain_tile_size},
                                   {"tile_size", ltL_plain_tile_size},
                                   {"tile_size_mnk", ltL_plain_tile_size},
                                   {NULL, NULL}};

/* Methods for each matrix: the name takes its letter. */
static const struct {
  const char *before, *after;
  lua_CFunction function;
  bool is_function; /* of the module too */
} matrix_methods[] = {{"thrfrg_", "", thrfrg, false},
                      {"get_layout", "_TV", get_layout_tv, false},
                      {"partition_", "", partition, false},
                      {"partition_fragment_", "", partition_fragment, true},
                      {"partition_shape_", "", partition_shape, true},
                      {"make_fragment_", "", make_fragment, false}};

/* Sets name_A, name_B, name_C, and name_SFA and name_SFB for block scales, in the table at the top. */
static void set_for_matrices(lua_State *L, const char *before, const char *after,
                             lua_CFunction function) {
  static const char *const letters[] = {"A", "B", "C", "SFA", "SFB"};
  for (int matrix = LT_MATRIX_A; matrix <= LT_MATRIX_SFB; matrix++) {
    lua_pushfstring(L, "%s%s%s", before, letters[matrix], after);
    ltL_push_state(L);
    lua_pushinteger(L, matrix);
    lua_pushcclosure(L, function, 2);
    lua_rawset(L, -3);
  }
}

static void set_matrix_functions(lua_State *L, bool functions_only) {
  for (size_t i = 0; i < sizeof matrix_methods / sizeof matrix_methods[0]; i++)
    if (!functions_only || matrix_methods[i].is_function)
      set_for_matrices(L, matrix_methods[i].before, matrix_methods[i].after,
                       matrix_methods[i].function);
}

static void make_type(lua_State *L) {
  if (luaL_newmetatable(L, TYPE_NAME)) {
    ltL_push_state(L);
    lua_newtable(L);
    ltL_set_tile_functions(L, methods);
    set_matrix_functions(L, false);
    lua_pushcclosure(L, mma_index, 2);
    lua_setfield(L, -2, "__index");
    ltL_push_state(L);
    lua_pushcclosure(L, mma_tostring, 1);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, TYPE_NAME);
    lua_setfield(L, -2, "__metatable");
  }
  lua_pop(L, 1);
}

void ltL_open_mma(lua_State *L) {
  make_type(L);
  ltL_set_tile_functions(L, functions);
  set_matrix_functions(L, true);
}
