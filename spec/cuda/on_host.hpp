// Kernels as C++ of the host: a thread of the host for each thread of a block, block after block.
// What a launch needs comes from Lua: run(grid_x, grid_y, block, arguments...), numbers as they are
// and addresses as integers.
#pragma once
#include <barrier>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <lua.hpp>

#define __device__
#define __global__
#define __noinline__
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __syncthreads() host::barrier->arrive_and_wait()

namespace host {
struct index3 { unsigned x, y, z; };
inline std::barrier<> *barrier;
}  // namespace host

static thread_local host::index3 threadIdx, blockIdx, blockDim, gridDim;

template <class To, class From>
To bits_as(From x) {
  To y;
  static_assert(sizeof y == sizeof x, "as many bits");
  std::memcpy(&y, &x, sizeof y);
  return y;
}
inline double __longlong_as_double(long long x) { return bits_as<double>(x); }
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline float __double2float_rn(double x) { return float(x); }
inline unsigned atomicCAS(unsigned *p, unsigned seen, unsigned x) {
  return __sync_val_compare_and_swap(p, seen, x);
}
using std::fma;
inline float fmaf(float a, float b, float c) { return std::fma(a, b, c); }

namespace host {

// Arguments read from Lua's stack, from slot 4 on.
struct reader {
  lua_State *L;
  int slot = 4;
  long long integer() { return luaL_checkinteger(L, slot++); }
  double number() { return luaL_checknumber(L, slot++); }
  template <class T>
  T *pointer() { return (T *)integer(); }
};

template <class F>
void launch(index3 grid, unsigned threads, F kernel) {
  for (unsigned y = 0; y < grid.y; y++)
    for (unsigned x = 0; x < grid.x; x++) {
      std::barrier<> meeting(threads);
      barrier = &meeting;
      std::vector<std::thread> all;
      for (unsigned i = 0; i < threads; i++)
        all.emplace_back([=, &meeting] {
          threadIdx = {i, 0, 0};
          blockIdx = {x, y, 0};
          blockDim = {threads, 1, 1};
          gridDim = grid;
          kernel();
          meeting.arrive_and_drop();
        });
      for (auto &t : all) t.join();
    }
}

}  // namespace host

#define index index_of_kernel  // the C library has a function of that name
