/*
** cuBLASLt as a Lua module, to time it beside lutile: the library is opened at run time, in the
** process and the CUDA context of the caller.
**
**   local library, why = require "cublaslt".open([path])
**   local product = library:matmul{m =, n =, k =, type_a =, type_b =, type_d =, compute =, scale =,
**                                  transpose_a =, transpose_b =, ld_a =, ld_b =, ld_d =, fast =,
**                                  adds =, bias =}
**   product:count()                      of algorithms, the heuristic's first choice first
**   product:run(i, a, b, c, d, workspace, stream)   addresses, and a stream's handle
**
** 'fast' lets products of 8-bit floats be summed in fewer bits, as the tensor cores do it alone.
**
** Matrices are column-major, as cuBLAS has them: D = op(A) * op(B), of m x k and k x n; plus C, like
** D, if 'adds'; plus an element for each row, if 'bias' is the address of m of D's type.
*/
#include <cublasLt.h>
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LIBRARY "cublaslt library"
#define PRODUCT "cublaslt product"

enum { MOST_ALGORITHMS = 8, WORKSPACE = 32 << 20 };

#define FUNCTIONS(X)                      \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtGetVersion)

typedef struct library {
  void *opened;
  cublasLtHandle_t handle;
#define DECLARE(name) __typeof__(&name) name;
  FUNCTIONS(DECLARE)
} library;

/* User value 1 is the library. */
typedef struct product {
  library *library;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulHeuristicResult_t found[MOST_ALGORITHMS];
  int count;
  cudaDataType_t scale;
  bool adds;
} product;

static void check(lua_State *L, const char *what, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) luaL_error(L, "%s: status %d", what, (int)status);
}

/* ---- Names of types ------------------------------------------------------------------------- */

static cudaDataType_t read_type(lua_State *L, const char *field) {
  static const struct {
    const char *name;
    cudaDataType_t type;
  } types[] = {{"f16", CUDA_R_16F},      {"bf16", CUDA_R_16BF},   {"f32", CUDA_R_32F},
               {"f64", CUDA_R_64F},      {"s8", CUDA_R_8I},       {"s32", CUDA_R_32I},
               {"e4m3", CUDA_R_8F_E4M3}, {"e5m2", CUDA_R_8F_E5M2}};
  lua_getfield(L, 2, field);
  const char *name = luaL_checkstring(L, -1);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strcmp(types[i].name, name) == 0) {
      lua_pop(L, 1);
      return types[i].type;
    }
  luaL_error(L, "matmul: no type '%s'", name);
  return CUDA_R_32F;
}

static cublasComputeType_t read_compute(lua_State *L) {
  static const char *const names[] = {"f16", "f32", "tf32", "f64", "s32", NULL};
  static const cublasComputeType_t types[] = {CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F,
                                              CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F,
                                              CUBLAS_COMPUTE_32I};
  lua_getfield(L, 2, "compute");
  cublasComputeType_t type = types[luaL_checkoption(L, -1, NULL, names)];
  lua_pop(L, 1);
  return type;
}

static lua_Integer read_integer(lua_State *L, const char *field) {
  lua_getfield(L, 2, field);
  lua_Integer n = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return n;
}

static bool read_boolean(lua_State *L, const char *field) {
  lua_getfield(L, 2, field);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static cublasOperation_t read_operation(lua_State *L, const char *field) {
  return read_boolean(L, field) ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* ---- Products ------------------------------------------------------------------------------- */

static int close_product(lua_State *L) {
  product *p = luaL_checkudata(L, 1, PRODUCT);
  if (p->a != NULL) p->library->cublasLtMatrixLayoutDestroy(p->a);
  if (p->b != NULL) p->library->cublasLtMatrixLayoutDestroy(p->b);
  if (p->d != NULL) p->library->cublasLtMatrixLayoutDestroy(p->d);
  if (p->operation != NULL) p->library->cublasLtMatmulDescDestroy(p->operation);
  p->a = p->b = p->d = NULL;
  p->operation = NULL;
  return 0;
}

static void set(lua_State *L, product *p, cublasLtMatmulDescAttributes_t attribute,
                const void *value, size_t size) {
  check(L, "cublasLtMatmulDescSetAttribute",
        p->library->cublasLtMatmulDescSetAttribute(p->operation, attribute, value, size));
}

static void set_bias(lua_State *L, product *p) {
  lua_getfield(L, 2, "bias");
  bool is_there = !lua_isnil(L, -1);
  lua_pop(L, 1);
  if (!is_there) return;
  const void *bias = (const void *)(uintptr_t)read_integer(L, "bias");
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  set(L, p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  set(L, p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
}

static void describe(lua_State *L, product *p) {
  library *l = p->library;
  uint64_t m = (uint64_t)read_integer(L, "m"), n = (uint64_t)read_integer(L, "n");
  uint64_t k = (uint64_t)read_integer(L, "k");
  cublasOperation_t ta = read_operation(L, "transpose_a"), tb = read_operation(L, "transpose_b");
  p->scale = read_type(L, "scale");
  check(L, "cublasLtMatmulDescCreate",
        l->cublasLtMatmulDescCreate(&p->operation, read_compute(L), p->scale));
  set(L, p, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta);
  set(L, p, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb);
  p->adds = read_boolean(L, "adds");
  int8_t fast = (int8_t)read_boolean(L, "fast");
  set(L, p, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
  set_bias(L, p);
  check(L, "cublasLtMatrixLayoutCreate",
        l->cublasLtMatrixLayoutCreate(&p->a, read_type(L, "type_a"), ta == CUBLAS_OP_T ? k : m,
                                      ta == CUBLAS_OP_T ? m : k, read_integer(L, "ld_a")));
  check(L, "cublasLtMatrixLayoutCreate",
        l->cublasLtMatrixLayoutCreate(&p->b, read_type(L, "type_b"), tb == CUBLAS_OP_T ? n : k,
                                      tb == CUBLAS_OP_T ? k : n, read_integer(L, "ld_b")));
  check(
      L, "cublasLtMatrixLayoutCreate",
      l->cublasLtMatrixLayoutCreate(&p->d, read_type(L, "type_d"), m, n, read_integer(L, "ld_d")));
}

static void ask_heuristic(lua_State *L, product *p) {
  library *l = p->library;
  cublasLtMatmulPreference_t preference;
  const size_t most = WORKSPACE;
  check(L, "cublasLtMatmulPreferenceCreate", l->cublasLtMatmulPreferenceCreate(&preference));
  l->cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                          &most, sizeof most);
  cublasStatus_t status =
      l->cublasLtMatmulAlgoGetHeuristic(l->handle, p->operation, p->a, p->b, p->d, p->d, preference,
                                        MOST_ALGORITHMS, p->found, &p->count);
  l->cublasLtMatmulPreferenceDestroy(preference);
  check(L, "cublasLtMatmulAlgoGetHeuristic", status);
}

/* library:matmul{...} */
static int library_matmul(lua_State *L) {
  library *l = luaL_checkudata(L, 1, LIBRARY);
  luaL_checktype(L, 2, LUA_TTABLE);
  product *p = lua_newuserdatauv(L, sizeof *p, 1);
  memset(p, 0, sizeof *p);
  p->library = l;
  luaL_setmetatable(L, PRODUCT);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  describe(L, p);
  ask_heuristic(L, p);
  return 1;
}

static int product_count(lua_State *L) {
  const product *p = luaL_checkudata(L, 1, PRODUCT);
  lua_pushinteger(L, p->count);
  return 1;
}

static void *address(lua_State *L, int slot) {
  return (void *)(uintptr_t)luaL_checkinteger(L, slot);
}

/* One and zero of the product's scale type. */
typedef struct numbers {
  const void *one, *zero;
} numbers;

static numbers numbers_of(const product *p) {
  static const float f32[] = {1, 0};
  static const double f64[] = {1, 0};
  static const int32_t s32[] = {1, 0};
  static const uint16_t f16[] = {0x3c00, 0};
  if (p->scale == CUDA_R_64F) return (numbers){&f64[0], &f64[1]};
  if (p->scale == CUDA_R_32I) return (numbers){&s32[0], &s32[1]};
  if (p->scale == CUDA_R_16F) return (numbers){&f16[0], &f16[1]};
  return (numbers){&f32[0], &f32[1]};
}

/* product:run(i, a, b, c, d, workspace, stream) */
static int product_run(lua_State *L) {
  product *p = luaL_checkudata(L, 1, PRODUCT);
  lua_Integer i = luaL_checkinteger(L, 2);
  luaL_argcheck(L, i >= 0 && i < p->count, 2, "no such algorithm");
  const numbers of = numbers_of(p);
  check(L, "cublasLtMatmul",
        p->library->cublasLtMatmul(p->library->handle, p->operation, of.one, address(L, 3), p->a,
                                   address(L, 4), p->b, p->adds ? of.one : of.zero, address(L, 5),
                                   p->d, address(L, 6), p->d, &p->found[i].algo, address(L, 7),
                                   WORKSPACE, address(L, 8)));
  return 0;
}

/* ---- The library ---------------------------------------------------------------------------- */

static int close_library(lua_State *L) {
  library *l = luaL_checkudata(L, 1, LIBRARY);
  if (l->handle != NULL) l->cublasLtDestroy(l->handle);
  if (l->opened != NULL) dlclose(l->opened);
  l->handle = NULL;
  l->opened = NULL;
  return 0;
}

static int library_version(lua_State *L) {
  library *l = luaL_checkudata(L, 1, LIBRARY);
  lua_pushinteger(L, (lua_Integer)l->cublasLtGetVersion());
  return 1;
}

static void *open_any(const char *path) {
  static const char *const names[] = {"libcublasLt.so.13",
                                      "libcublasLt.so.12",
                                      "/usr/local/cuda/lib64/libcublasLt.so.13",
                                      "/usr/local/cuda/lib64/libcublasLt.so.12",
                                      "/usr/local/cuda/lib64/libcublasLt.so",
                                      "libcublasLt.so"};
  if (path != NULL) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *opened = NULL;
  for (size_t i = 0; opened == NULL && i < sizeof names / sizeof names[0]; i++)
    opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  return opened;
}

/* open([path]): the library, or nil and why; the caller's CUDA context must be there. */
static int open_library(lua_State *L) {
  const char *path = luaL_optstring(L, 1, NULL);
  library *l = lua_newuserdatauv(L, sizeof *l, 0);
  memset(l, 0, sizeof *l);
  luaL_setmetatable(L, LIBRARY);
  l->opened = open_any(path);
  if (l->opened == NULL) {
    lua_pushnil(L);
    lua_pushstring(L, dlerror());
    return 2;
  }
#define FIND(name)                                            \
  if ((*(void **)&l->name = dlsym(l->opened, #name)) == NULL) \
    return luaL_error(L, "cuBLASLt has no " #name);
  FUNCTIONS(FIND)
  cublasStatus_t status = l->cublasLtCreate(&l->handle);
  if (status == CUBLAS_STATUS_SUCCESS) return 1;
  l->handle = NULL;
  lua_pushnil(L);
  lua_pushfstring(L, "cublasLtCreate: status %d", (int)status);
  return 2;
}

static const luaL_Reg library_methods[] = {{"__gc", close_library},
                                           {"matmul", library_matmul},
                                           {"version", library_version},
                                           {NULL, NULL}};
static const luaL_Reg product_methods[] = {
    {"__gc", close_product}, {"count", product_count}, {"run", product_run}, {NULL, NULL}};

static void make_type(lua_State *L, const char *name, const luaL_Reg *methods) {
  luaL_newmetatable(L, name);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

int luaopen_cublaslt(lua_State *L);

__attribute__((visibility("default"))) int luaopen_cublaslt(lua_State *L) {
  make_type(L, LIBRARY, library_methods);
  make_type(L, PRODUCT, product_methods);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, open_library);
  lua_setfield(L, -2, "open");
  return 1;
}
