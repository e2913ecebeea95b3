/*
** A script that calls every function of the module with operands of many kinds, in states in which
** one allocation fails: each run ends in success or in Lua's error for it, and all is given back.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../capi/test.h"
#include "lutile_lua.h"

/* Every this many-th allocation is made to fail, from the first on. */
#define STRIDE 29

typedef struct host {
  ledger books;
  bool has_failed;
} host;

/* Shrinking never fails, which Lua relies on; one allocation does, books.fail_at. */
static void *allocate(void *context, void *block, size_t old_size, size_t new_size) {
  host *h = context;
  size_t old = block == NULL ? 0 : old_size;
  long fail_at = h->books.fail_at;
  bool grows = new_size > old;
  h->books.fail_at = grows && h->books.calls + 1 == fail_at ? fail_at : 0;
  if (!grows && new_size != 0) h->books.calls--;
  void *result = ledger_reallocate(&h->books, block, old, new_size);
  h->has_failed |= grows && result == NULL;
  h->books.fail_at = fail_at;
  return result;
}

static const char script[] =
    "local l = require 'lutile'\n"
    "local a, b = l.parse '(4,6):(6,1)', l.parse '(2,2):(1,2)'\n"
    "local s = l.Swizzle(2, 0, 3) .. l.parse '(8,4):(4,1)'\n"
    "local t, u = l.make_tensor('f32', {2, 2}), l.make_tensor('f16', {2, 2})\n"
    "local lists = {{a}, {a, b}, {a, 2}, {a, {2, 3}}, {{1, l._}, a}, {s}, {s, {4, 2}}, {t}, {t, "
    "u},\n"
    "  {3, a}, {{4, 8}}, {{4, 8}, {2, 4}}, {'(4,2):(2,1)'}, {'f32', {4}}, {2, t, 3, u}, {a, 0, "
    "1},\n"
    "  {a, {2, 3}, {0, 1}}, {l.Swizzle(3, 4, 3)}, {{2, 3}, {2, 3}, {3, 2}}, {t, t, t}, {a, 16, "
    "32},\n"
    "  {'SM80_16x8x16_F32F16F16F32_TN'}, {a, 1, 2}, {4, 2}, {nil}}\n"
    "local skipped = {launch = true, sync = true, __syncthreads = true, using = true,\n"
    "  MMA_Atom = true, make_tiled_mma = true}\n"
    "local function call(f, arguments)\n"
    "  local succeeded, message = pcall(f, table.unpack(arguments))\n"
    "  if succeeded then return tostring(message) end\n"
    "  if message == 'not enough memory' then error(message, 0) end\n"
    "  assert(type(message) == 'string')\n"
    "end\n"
    "local names = {}\n"
    "for name in pairs(l) do names[#names + 1] = name end\n"
    "table.sort(names)\n"
    "for _, name in ipairs(names) do\n"
    "  if type(l[name]) == 'function' and not skipped[name] and not name:find '^print' then\n"
    "    for _, arguments in ipairs(lists) do call(l[name], arguments) end\n"
    "  end\n"
    "end\n"
    "local atom = l.MMA_Atom 'SM80_16x8x16_F32F16F16F32_TN'\n"
    "tostring(l.make_tiled_mma(atom):get_slice(3))\n"
    "l.launch(function()\n"
    "  local mine = l.make_tensor('f32', {2})\n"
    "  l.fill(mine, 1)\n"
    "  l.sync()\n"
    "end, {block = 2})\n"
    "local copy = l.make_tiled_copy(l.Copy_Atom('UniversalCopy<u64>', 'f16'), {4, 2}, {1, 4})\n"
    "local slice = copy:get_slice(5)\n"
    "tostring(copy) tostring(slice:partition_S(l.parse '(4,8):(8,1)'))\n"
    "tostring(slice:retile_D(l.parse '((4,1),1,1)')) tostring(copy:get_layoutS_TV())\n"
    "local word = l.Copy_Atom('SM80_CP_ASYNC_CACHEALWAYS_ZFILL<u64>', 'f16')\n"
    "local memory = l.make_tensor(l.make_smem_ptr('f16', 64), {4, 16})\n"
    "local source, chosen = l.make_tensor('f16', {4, 16}), l.make_tensor('b1', {16})\n"
    "l.copy(word, source, memory) l.copy_if(word, chosen, source, memory)\n"
    "call(l.copy, {word, memory, source})\n"
    "local mma = l.make_tiled_mma(atom)\n"
    "tostring(l.make_tiled_copy_A(l.Copy_Atom('SM75_U32x4_LDSM_N', 'f16'), mma))\n"
    "tostring(l.make_tiled_copy_C_atom(l.Copy_Atom('UniversalCopy<u64>', 'f32'), mma))\n"
    "local smem = l.GMMA.Layout_K_SW64_Atom 'f16':tile_to_shape {16, 32}\n"
    "l.GMMA.smem_desc('K', l.parse 'Sw<2,3,3> o 0 o ((16,16),1,2):((32,1),0,16)', 'f16')\n"
    "local t = l.make_tensor('f16', l.make_layout({16, 64}, l.LayoutRight))\n"
    "local tma = l.make_tma_copy('SM90_TMA_LOAD', t, smem)\n"
    "local tile = l.local_tile(tma:get_tma_tensor {16, 64}, {16, 32}, {0, 1})\n"
    "local shared = l.make_tensor(l.make_smem_ptr('f16', 512), smem)\n"
    "l.copy(tma, tma:get_slice(0):partition_S(tile), tma:get_slice(0):partition_D(shared))\n"
    "assert(tma.desc.swizzle == '64B')\n"
    "l.launch(function()\n"
    "  local full = l.make_smem_barrier()\n"
    "  if l.threadIdx.x == 0 then l.initialize_barrier(full) end\n"
    "  l.sync()\n"
    "  local target = l.make_tensor(l.make_smem_ptr('f16', 512), smem)\n"
    "  if l.threadIdx.x == 0 then\n"
    "    l.set_barrier_transaction_bytes(full, 1024)\n"
    "    local slice = tma:get_slice(0)\n"
    "    l.copy(tma:with(full), slice:partition_S(tile), slice:partition_D(target))\n"
    "    l.copy(word, source, l.make_tensor(l.make_smem_ptr('f16', 64), {4, 16}))\n"
    "    l.cp_async_fence() l.cp_async_wait(0)\n"
    "  else\n"
    "    l.make_smem_ptr('f16', 64)\n"
    "  end\n"
    "  l.wait_barrier(full, 0)\n"
    "  return target(3, 4) + 0\n"
    "end, {block = 2, arch = 90})\n"
    "local scalar = l.make_tiled_mma('UniversalFMA<f32>', {4, 2, 1})\n"
    "local a, d = l.make_tensor('f32', {5, 3}), l.make_tensor('f32', {5, 5})\n"
    "local plan = {mma = scalar, tile = {4, 4, 2}, stages = 2, A = {shared = l.parse "
    "'(4,2):(2,1)'}}\n"
    "l.host_gemm(plan, a, a, d, {C = d, beta = 2})\n"
    "assert(d(4, 4) == 0)\n";

static int run(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "lutile", luaopen_lutile, 0);
  if (luaL_loadbuffer(L, script, strlen(script), "=script") != LUA_OK) return lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

static bool run_state(host *h) {
  lua_State *L = lua_newstate(allocate, h);
  if (L == NULL) return h->has_failed && h->books.live == 0;
  lua_pushcfunction(L, run);
  bool succeeded = lua_pcall(L, 0, 0, 0) == LUA_OK;
  const char *message = succeeded ? "" : lua_tostring(L, -1);
  bool is_sound = succeeded || (h->has_failed && message != NULL &&
                                strstr(message, "not enough memory") != NULL);
  if (!is_sound) fprintf(stderr, "  %s\n", message);
  lua_close(L);
  return is_sound && h->books.live == 0 && !h->books.mistaken;
}

int main(int argc, char **argv) {
  test t = {0, 0};
  host plain = {.has_failed = false};
  long stride = argc > 1 ? strtol(argv[1], NULL, 10) : STRIDE;
  check(&t, run_state(&plain), "a state with enough memory");
  for (long n = 1; n <= plain.books.calls; n += stride) {
    host h = {.books = {.fail_at = n}};
    check(&t, run_state(&h), "a state in which one allocation fails");
  }
  return finish(&t);
}
