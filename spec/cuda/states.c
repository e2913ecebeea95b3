/*
** lutile.cuda in a host's lua_State whose memory ends at every allocation in turn. The driver is the
** one that pretends: LUTILE_LIBCUDA names it.
*/
#define _POSIX_C_SOURCE 200809L
#include "../embed/short_memory.h"

static const char script[] =
    "local lutile = require 'lutile'\n"
    "local cuda = require 'lutile.cuda'\n"
    "local A = lutile.make_tensor('f32', lutile.parse '(?4,8):(8,1)'):to(cuda)\n"
    "local k = cuda.compile{name = 'f', layouts = {A = A.layout}, source =\n"
    "  'extern \"C\" __global__ void f(lutile::tensor<float, layout::A> a, int n) {}'}\n"
    "k:launch{grid = 2}(A, 3)\n"
    "for n = 1, 20 do k:launch{}(A, n) end\n"
    "local all, errors = cuda.compile_all({{name = 'g', source = 'x'}, {name = 'f', source =\n"
    "  'extern \"C\" __global__ void f() {}'}, 5}, {threads = 2})\n"
    "assert(all[2].name == 'f' and errors[1] and errors[3])\n"
    "local s = cuda.stream()\n"
    "local g = s:capture(function() s:keep({}, A) k:launch{stream = s}(A, 4) end)\n"
    "g:launch(s)\n"
    "local e = cuda.event():record(s)\n"
    "local p = cuda.pinned('f16', 100)\n"
    "assert(A:to_host()(3) == 0)\n"
    "assert(not pcall(k.launch, k, {grid = 0}))\n"
    "return A.layout\n";

/* The devices are listed in vain, and again at each call. */
static const char in_vain[] =
    "local cuda = require 'lutile.cuda'\n"
    "for i = 1, 3 do assert(not cuda.available()) end\n"
    "assert(not pcall(cuda.device, 0))\n"
    "return require 'lutile'.parse '1:0'\n";

static void test_listing(test *t) {
  host h = {.limit = 0};
  setenv("FAKE_CUDA_FAIL", "cuDeviceGet=3", 1);
  int status = run_state(&h, in_vain);
  unsetenv("FAKE_CUDA_FAIL");
  check(t, status == LUA_OK, "devices that cannot be listed");
  check_run(t, &h, status, "nothing is left of devices that cannot be listed");
}

int main(void) {
  test t = {0, 0};
  test_listing(&t);
  host h = {.limit = 0};
  if (run_state(&h, script) != LUA_OK) {
    puts("there is no NVRTC to compile with");
    return finish(&t);
  }
  test_failures(&t, script, false);
  test_failures(&t, script, true);
  return finish(&t);
}
