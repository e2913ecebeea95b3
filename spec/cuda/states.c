/*
** lutile.cuda in a host's lua_State whose memory ends at every allocation in turn. The driver is the
** one that pretends: LUTILE_LIBCUDA names it.
*/
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
    "local g = s:capture(function() k:launch{stream = s}(A, 4) end)\n"
    "g:launch(s)\n"
    "local e = cuda.event():record(s)\n"
    "local p = cuda.pinned('f16', 100)\n"
    "assert(A:to_host()(3) == 0)\n"
    "assert(not pcall(k.launch, k, {grid = 0}))\n"
    "return A.layout\n";

int main(void) {
  test t = {0, 0};
  host h = {.limit = 0};
  if (run_state(&h, script) != LUA_OK) {
    puts("0 passed, 0 failed: there is no NVRTC to compile with");
    return EXIT_SUCCESS;
  }
  test_failures(&t, script, false);
  test_failures(&t, script, true);
  return finish(&t);
}
