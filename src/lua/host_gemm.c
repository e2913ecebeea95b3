/*
** host_gemm: plans of matrix products, as tables, run on the host in C.
*/
#include "../tile/architecture.h"
#include "../tile/plan_gemm.h"
#include "host.h"

#define FUNCTION "host_gemm"

enum { PLAN = 1, A, B, D, OPTIONS, LAUNCH };

/* ---- The plan ------------------------------------------------------------------------------- */

/* Pushes field 'name' of the table at 'index', without metamethods. */
static int push_field(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  lua_pushstring(L, name);
  return lua_rawget(L, index);
}

/* The layout in a field of the table at the top, which keeps it alive; NULL where there is none. */
static const lt_value *read_layout(lua_State *L, ltL_state *S, const char *operand,
                                   const char *name) {
  int type = push_field(L, -1, name);
  const lt_value *layout = type == LUA_TNIL ? NULL : ltL_test(L, S, -1);
  if (type != LUA_TNIL && (layout == NULL || !lt_is_layout(layout)))
    luaL_error(L, "%s: %s.%s of the plan is no layout but a %s", FUNCTION, operand, name,
               ltL_type_name(L, S, -1));
  lua_pop(L, 1);
  return layout;
}

/* plan.A or plan.B: {shared = layout, copy = layout} */
static ltT_plan_operand read_operand(lua_State *L, ltL_state *S, const char *name) {
  ltT_plan_operand operand = {NULL, NULL};
  int type = push_field(L, PLAN, name);
  if (type == LUA_TTABLE) {
    operand.shared = read_layout(L, S, name, "shared");
    operand.copy = read_layout(L, S, name, "copy");
  } else if (type != LUA_TNIL) {
    luaL_error(L, "%s: %s of the plan is no table {shared = layout, copy = layout}", FUNCTION,
               name);
  }
  lua_pop(L, 1);
  return operand;
}

static int64_t check_extent(lua_State *L, const char *name) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || n < 1 || n > 1 << 20)
    luaL_error(L, "%s: %s of the plan holds whole numbers from 1 to %d", FUNCTION, name, 1 << 20);
  return n;
}

/* plan.tile: {M, N, K} */
static bool read_tile(lua_State *L, int64_t tile[3]) {
  int type = push_field(L, PLAN, "tile");
  if (type != LUA_TNIL && type != LUA_TTABLE)
    luaL_error(L, "%s: tile of the plan is no table {M, N, K}", FUNCTION);
  for (int i = 0; i < 3 && type == LUA_TTABLE; i++) {
    lua_rawgeti(L, -1, i + 1);
    tile[i] = check_extent(L, "tile");
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return type == LUA_TTABLE;
}

/* Without a tile, that of the TiledMMA. */
static void take_tile(lua_State *L, ltL_state *S, ltT_gemm_plan *plan) {
  const lt_value *shape = ltT_tile_shape(S->arena, plan->mma);
  for (size_t i = 0; shape != NULL && i < 3; i++)
    plan->tile[i] = ltA_product(S->arena, ltA_element(shape, i)).value;
  if (ltA_failed(S->arena)) ltL_raise(L, S);
}

static int64_t read_stages(lua_State *L) {
  int64_t stages = 1;
  if (push_field(L, PLAN, "stages") != LUA_TNIL) stages = check_extent(L, "stages");
  lua_pop(L, 1);
  return stages;
}

/* The plan at slot 1: a table, or a TiledMMA alone. */
static const ltL_mma *read_plan(lua_State *L, ltL_state *S, ltT_gemm_plan *plan) {
  bool is_table = lua_type(L, PLAN) == LUA_TTABLE;
  if (is_table)
    push_field(L, PLAN, "mma");
  else
    lua_pushvalue(L, PLAN);
  const ltL_mma *m = ltL_test_mma(L, -1);
  lua_pop(L, 1); /* the plan keeps it */
  if (m == NULL || m->kind != LT_MMA_IS_TILED)
    luaL_error(L, "%s: a TiledMMA, or a plan with one as its field mma, expected", FUNCTION);
  *plan = (ltT_gemm_plan){.atom = &m->atom, .mma = ltL_mma_value(m), .stages = 1};
  if (is_table) {
    plan->stages = read_stages(L);
    plan->operands[0] = read_operand(L, S, "A");
    plan->operands[1] = read_operand(L, S, "B");
  }
  if (!is_table || !read_tile(L, plan->tile)) take_tile(L, S, plan);
  return m;
}

/* ---- Options -------------------------------------------------------------------------------- */

static double read_number(lua_State *L, const char *name, double otherwise) {
  double x = otherwise;
  if (push_field(L, OPTIONS, name) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER) luaL_error(L, "%s: %s is no number", FUNCTION, name);
    x = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return x;
}

/* Tensor 'C' of the options, which keep it alive. */
static void read_addend(lua_State *L, ltL_state *S, ltT_gemm_run *run) {
  if (push_field(L, OPTIONS, "C") != LUA_TNIL) {
    const ltL_tensor *t = ltL_test_tensor(L, S, -1);
    if (t == NULL) luaL_error(L, "%s: C is no tensor", FUNCTION);
    run->c = ltL_core_tensor(L, t, "C");
  }
  lua_pop(L, 1);
}

/* ---- Running -------------------------------------------------------------------------------- */

static void name_sites(ltL_launch *H) {
  for (int i = 0; i < LTT_PLAN_SITES; i++) {
    ltT_site *site = &H->sites[i];
    strncpy(site->file, ltT_plan_sites[i], sizeof site->file - 1);
    site->line = 0;
  }
  H->site_count = LTT_PLAN_SITES;
}

/* The launch at slot 6 tells the checks who accesses memory, and takes what they count. */
static ltL_launch *make_launch(lua_State *L, int64_t threads, bool checks) {
  const lua_Integer grid[3] = {1, 1, 1}, block[3] = {threads, 1, 1};
  ltL_launch *H = ltL_new_launch(L, FUNCTION, grid, block, checks);
  ltL_set_architecture(H, ltL_read_architecture(L, FUNCTION, OPTIONS));
  name_sites(H);
  if (checks) ltL_start_counting(L, H);
  return H;
}

static void watch(ltT_gemm_run *run, ltL_launch *H) {
  if (!H->checks) return;
  run->actor = &H->actor;
  run->order = H->order;
  run->counter = &H->counter;
  run->sides[0].matrix.counter = run->sides[1].matrix.counter = &H->counter;
  run->c.counter = run->d.counter = &H->counter;
}

static void check_limits(lua_State *L, const ltT_gemm_run *run, ltL_launch *H) {
  H->grid[0] = run->grid[0];
  H->grid[1] = run->grid[1];
  H->shared_bytes = run->shared_bytes;
  H->register_bytes =
      run->sides[0].register_bytes + run->sides[1].register_bytes + run->accumulator_bytes;
  H->operations = 2.0 * (double)run->size[0] * (double)run->size[1] * (double)run->size[2];
  if (H->shared_bytes <= H->shared_capacity) return;
  luaL_error(L, "%s: the plan's stages take %I bytes of shared memory, where a block can have %I",
             FUNCTION, (LUAI_UACINT)H->shared_bytes, (LUAI_UACINT)H->shared_capacity);
}

static int raise(lua_State *L, ltL_state *S, const ltT_gemm_run *run, const ltL_launch *H) {
  if (S->error.status == LT_NO_MEMORY) return ltL_raise(L, S);
  luaL_where(L, 1);
  lua_pushstring(L, S->error.message);
  lua_concat(L, 2);
  if (run->culprit >= 0) ltL_name_thread(L, H, run->culprit);
  return lua_error(L);
}

static bool run_blocks(ltT_gemm_run *run, ltL_launch *H) {
  if (!ltT_allocate_gemm(run)) return false;
  H->progress = ltL_start_progress(FUNCTION, run->grid[0] * run->grid[1]);
  bool done = true;
  for (int64_t n = 0; done && n < run->grid[1]; n++)
    for (int64_t m = 0; done && m < run->grid[0]; m++) {
      H->block_index[0] = run->block[0] = m;
      H->block_index[1] = run->block[1] = n;
      done = ltT_run_gemm_block(run);
      ltL_advance(&H->progress);
    }
  ltL_end_progress(&H->progress);
  return done;
}

/*
** host_gemm(plan or TiledMMA, A, B, D [, options]), options {C = tensor, alpha = 1, beta = 1,
** checks = true, arch = 80}: D = alpha * A * B^T + beta * C. Returns the report of a launch, unless it runs without checks.
*/
static int host_gemm(lua_State *L) {
  ltL_state *S = lua_touserdata(L, lua_upvalueindex(1));
  lua_settop(L, OPTIONS);
  if (lua_isnil(L, OPTIONS)) {
    lua_newtable(L);
    lua_replace(L, OPTIONS);
  }
  luaL_checktype(L, OPTIONS, LUA_TTABLE);
  ltL_restart(L, S);
  ltT_gemm_plan plan;
  const ltL_mma *m = read_plan(L, S, &plan);
  ltL_launch *H = make_launch(L, m->thread_span, ltL_read_checks(L, OPTIONS));
  ltL_restart(L, S); /* making it may have run finalizers */
  ltT_gemm_run run = {.arena = S->arena, .plan = &plan, .culprit = -1};
  run.sides[0].matrix = ltL_check_core(L, S, FUNCTION, A, "A");
  run.sides[1].matrix = ltL_check_core(L, S, FUNCTION, B, "B");
  run.d = ltL_check_core(L, S, FUNCTION, D, "D");
  read_addend(L, S, &run);
  run.alpha = read_number(L, "alpha", 1);
  run.beta = read_number(L, "beta", 1);
  watch(&run, H);
  if (!ltT_prepare_gemm(&run)) return raise(L, S, &run, H);
  check_limits(L, &run, H);
  if (!run_blocks(&run, H)) return raise(L, S, &run, H);
  return H->checks ? ltL_push_report(L, H) : 0;
}

static const luaL_Reg functions[] = {{"host_gemm", host_gemm}, {NULL, NULL}};

void ltL_open_host_gemm(lua_State *L) { ltL_set_tile_functions(L, functions); }
