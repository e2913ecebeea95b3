// Kernels of tensor-core products as C++ of the host: each thread of a block is a coroutine, the
// lanes of a warp meet at its collective instructions, and all threads at barriers. Takes the place
// of ptx.cuh, mma.cuh and element.cuh.
//
// Asynchronous copies arrive at random: at once, or not before the wait for their group.
#pragma once
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include <lua.hpp>

#define DEVICE inline
#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __syncthreads() emulator::barrier()
#define __nanosleep(n)

struct index3 {
  unsigned x, y, z;
};
static index3 threadIdx, blockIdx, gridDim;

extern "C" {
__attribute__((aligned(1024))) char shared[1 << 18];
}

namespace emulator {

constexpr unsigned kWarp = 32;
constexpr size_t kStack = 1 << 17;

static size_t shared_bytes; /* that the launch asks for */

struct Copy {
  char *target;
  const char *source; /* null: zeros */
  int bytes;
  void run() const {
    if (source == nullptr)
      memset(target, 0, bytes);
    else
      memcpy(target, source, bytes);
  }
};

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool is_ready = true, is_done = false, is_polling = false;
  std::vector<std::vector<Copy>> groups{1}; /* the last one is open */
  void *operands[3];                        /* of the warp's instruction */
};

inline std::vector<Thread> threads;
inline ucontext_t scheduler;
inline unsigned current, waiting, width; /* of the block: threads whose y is 0 */
inline std::vector<unsigned> at_barriers[16]; /* who waits at those of some warps */
inline std::vector<unsigned> waiting_lanes; /* of each warp */
inline uint64_t random_state;
inline std::function<void()> body;
inline const char *problem;
inline void (*before_block)() = nullptr;

inline unsigned random() {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return unsigned(random_state >> 40);
}

inline bool has_moved; /* any thread, in this round: if none has, all wait for ever */

/* Waits until f() is true, while others go on. */
template <class F>
void poll(F f) {
  Thread &t = threads[current];
  while (!f()) {
    t.is_polling = true;
    swapcontext(&t.context, &scheduler);
  }
  t.is_polling = false;
  has_moved = true;
}

inline void suspend() {
  threads[current].is_ready = false;
  unsigned self = current;
  swapcontext(&threads[self].context, &scheduler);
}

inline void barrier() {
  if (++waiting == threads.size()) {
    waiting = 0;
    for (auto &t : threads) t.is_ready = true;
    return;
  }
  suspend();
}

inline void barrier(int number, unsigned count) {
  auto &there = at_barriers[number];
  there.push_back(current);
  if (there.size() < count) return suspend();
  for (unsigned i : there) threads[i].is_ready = true;
  there.clear();
}

/* The last lane to come does the work of all: f(lane) has their operands. */
template <class F>
void together(void *x, void *y, void *z, F f) {
  Thread &t = threads[current];
  t.operands[0] = x, t.operands[1] = y, t.operands[2] = z;
  const unsigned warp = current / kWarp;
  if (++waiting_lanes[warp] < kWarp) return suspend();
  waiting_lanes[warp] = 0;
  f(&threads[warp * kWarp]);
  for (unsigned i = 0; i < kWarp; i++) threads[warp * kWarp + i].is_ready = true;
}

inline void start() {
  body();
  threads[current].is_done = true;
  swapcontext(&threads[current].context, &scheduler);
}

/* Runs a block; false where threads wait for others for ever. */
inline bool run_block(unsigned count) {
  threads = std::vector<Thread>(count);
  waiting_lanes.assign(count / kWarp, 0);
  waiting = 0;
  for (auto &there : at_barriers) there.clear();
  if (before_block) before_block();
  memset(shared, 0xff, sizeof shared); /* NaN, in the floating types */
  for (auto &t : threads) {
    t.stack.reset(new char[kStack]);
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack.get();
    t.context.uc_stack.ss_size = kStack;
    makecontext(&t.context, start, 0);
  }
  for (has_moved = true; has_moved;) {
    has_moved = false;
    for (unsigned i = 0; i < count; i++) {
      if (threads[i].is_done || !threads[i].is_ready) continue;
      current = i;
      threadIdx = {i % width, i / width, 0};
      if (!threads[i].is_polling) has_moved = true;
      swapcontext(&scheduler, &threads[i].context);
    }
  }
  for (auto &t : threads)
    if (!t.is_done) return false;
  return true;
}

inline bool run(index3 grid, unsigned count, uint64_t seed, std::function<void()> kernel) {
  random_state = seed * 2 + 1;
  body = kernel;
  gridDim = grid;
  for (unsigned z = 0; z < grid.z; z++)
    for (unsigned y = 0; y < grid.y; y++)
      for (unsigned x = 0; x < grid.x; x++) {
        blockIdx = {x, y, z};
        if (!run_block(count)) return false;
      }
  return true;
}

/* ---- A launch from Lua ---------------------------------------------------------------------- */

template <class T>
T read_argument(lua_State *L, int slot) {
  if constexpr (std::is_pointer_v<T>)
    return (T)luaL_checkinteger(L, slot);
  else if constexpr (std::is_floating_point_v<T>)
    return (T)luaL_checknumber(L, slot);
  else if constexpr (std::is_class_v<T>) {
    T x;
    memcpy(&x, luaL_checkstring(L, slot), sizeof x);
    return x;
  }
  else
    return (T)luaL_checkinteger(L, slot);
}

template <class... T, size_t... I>
std::tuple<T...> read_arguments(lua_State *L, int first, std::index_sequence<I...>) {
  return {read_argument<T>(L, first + (int)I)...};
}

/*
** (grid x, y, z, block x, y, bytes of shared memory, seed, arguments...): nothing, or what went wrong.
*/
template <class... T>
int launch(lua_State *L, void (*kernel)(T...)) {
  index3 grid{(unsigned)luaL_checkinteger(L, 1), (unsigned)luaL_checkinteger(L, 2),
              (unsigned)luaL_checkinteger(L, 3)};
  auto arguments = read_arguments<T...>(L, 8, std::index_sequence_for<T...>());
  problem = nullptr;
  width = (unsigned)luaL_checkinteger(L, 4);
  const unsigned count = width * (unsigned)luaL_checkinteger(L, 5);
  shared_bytes = (size_t)luaL_checkinteger(L, 6);
  if (!run(grid, count, (uint64_t)luaL_checkinteger(L, 7),
           [=] { std::apply(kernel, arguments); }))
    problem = "some threads wait for others for ever";
  lua_pushstring(L, problem);
  return 1;
}

/* ---- Memory --------------------------------------------------------------------------------- */

inline char *place(unsigned address, size_t bytes) {
  if (address + bytes > shared_bytes || address % bytes != 0)
    problem = "shared memory: outside, or not aligned";
  return shared + address % sizeof shared;
}

inline const char *aligned(const void *p, size_t bytes) {
  if ((uintptr_t)p % bytes != 0) problem = "global memory: not aligned";
  return (const char *)p;
}

template <class To, class From>
To as(From x) {
  To y;
  static_assert(sizeof x == sizeof y, "as many bits");
  memcpy(&y, &x, sizeof y);
  return y;
}

}  // namespace emulator

/* ---- ptx.cuh -------------------------------------------------------------------------------- */

namespace ptx {

inline unsigned shared_address(const void *p) { return unsigned((const char *)p - shared); }
inline int hide(int x) { return x; }
template <int kThreads>
void barrier(int number) {
  emulator::barrier(number, kThreads);
}

template <class T>
T read(unsigned address) {
  T x;
  memcpy(&x, emulator::place(address, sizeof x), sizeof x);
  return x;
}
template <int kBytes>
unsigned gather_shared(const unsigned *addresses) {
  unsigned word = 0;
  for (int e = 0; e < 4 / kBytes; e++)
    word |= (kBytes == 1 ? read<uint8_t>(addresses[e]) : read<uint16_t>(addresses[e]))
            << 8 * kBytes * e;
  return word;
}
inline void load_shared(unsigned &value, unsigned address) { value = read<unsigned>(address); }
inline void load_shared(unsigned long long &value, unsigned address) {
  value = read<unsigned long long>(address);
}

template <int kBytes>
void load_shared(unsigned *words, unsigned address) {
  words[0] = 0;
  memcpy(words, emulator::place(address, kBytes), kBytes);
}

inline void prefetch(const void *source) { emulator::aligned(source, 1); }

template <int kBytes>
void store_shared(unsigned address, const unsigned *words) {
  memcpy(emulator::place(address, kBytes), words, kBytes);
}

template <int kMatrices, bool kTransposed>
void load_matrices(unsigned *words, unsigned address) {
  emulator::together(words, &address, nullptr, [](emulator::Thread *lanes) {
    for (int i = 0; i < kMatrices; i++) {
      uint16_t elements[8][8];
      for (int row = 0; row < 8; row++)
        memcpy(elements[row], emulator::place(*(unsigned *)lanes[8 * i + row].operands[1], 16), 16);
      for (int lane = 0; lane < 32; lane++) {
        const int row = lane / 4, k = lane % 4 * 2;
        const unsigned low = kTransposed ? elements[k][row] : elements[row][k];
        const unsigned high = kTransposed ? elements[k + 1][row] : elements[row][k + 1];
        ((unsigned *)lanes[lane].operands[0])[i] = low | high << 16;
      }
    }
  });
}

template <int kBytes>
void copy_async(unsigned target, const void *source, unsigned is_inside) {
  emulator::Copy copy{emulator::place(target, kBytes),
                      is_inside ? emulator::aligned(source, kBytes) : nullptr, kBytes};
  if (emulator::random() % 2)
    copy.run();
  else
    emulator::threads[emulator::current].groups.back().push_back(copy);
}
inline void commit_copies() { emulator::threads[emulator::current].groups.emplace_back(); }
template <int kPending>
void wait_copies() {
  auto &groups = emulator::threads[emulator::current].groups;
  for (size_t i = 0; i + 1 + kPending < groups.size(); i++) {
    for (auto &copy : groups[i]) copy.run();
    groups[i].clear();
  }
}

template <int kBytes>
void load_global(unsigned *words, const void *source) {
  words[0] = 0;
  memcpy(words, emulator::aligned(source, kBytes), kBytes);
}
template <int kBytes>
void store_global(void *target, const unsigned *words) {
  memcpy((void *)emulator::aligned(target, kBytes), words, kBytes);
}

template <int kBytes>
void load_global_if(bool condition, unsigned *words, const void *source) {
  if (condition) load_global<kBytes>(words, source);
}
template <int kBytes>
void store_global_if(bool condition, void *target, const unsigned *words) {
  if (condition) store_global<kBytes>(target, words);
}

inline void round_tf32(unsigned &x, unsigned &y) {
  x = (x + 0x1000) & ~0x1fffu;
  y = (y + 0x1000) & ~0x1fffu;
}

}  // namespace ptx

/* ---- element.cuh ---------------------------------------------------------------------------- */

namespace element {

/* The number of a floating format's bits, by its fields. */
inline float from_fields(unsigned bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const int all = (1 << exponent_bits) - 1, exponent = bits >> mantissa_bits & all;
  const int mantissa = bits & ((1 << mantissa_bits) - 1), bias = all >> 1;
  const float sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  if (has_infinity && exponent == all) return mantissa ? NAN : sign * INFINITY;
  if (!has_infinity && exponent == all && mantissa == (1 << mantissa_bits) - 1) return NAN;
  if (exponent == 0) return sign * std::ldexp((float)mantissa, 1 - bias - mantissa_bits);
  return sign *
         std::ldexp((float)(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
}

/* The nearest of all, ties to even: slow, and sure. NaN stays NaN, the largest where it saturates. */
inline unsigned to_fields(float x, int exponent_bits, int mantissa_bits, bool has_infinity,
                          bool saturates) {
  const int bias = (1 << (exponent_bits - 1)) - 1, all = (1 << exponent_bits) - 1;
  const unsigned sign = std::signbit(x) ? 1u << (exponent_bits + mantissa_bits) : 0;
  const unsigned infinity = (unsigned)all << mantissa_bits;
  const unsigned largest = has_infinity ? infinity - 1 : infinity + (1u << mantissa_bits) - 2;
  if (std::isnan(x))
    return sign | (has_infinity ? infinity | 1u << (mantissa_bits - 1)
                                : infinity + (1u << mantissa_bits) - 1);
  x = std::fabs(x);
  if (x == 0) return sign;
  if (std::isinf(x)) return sign | (saturates ? largest : infinity);
  int exponent = std::ilogb(x);
  if (exponent < 1 - bias) exponent = 1 - bias;
  const double scaled = std::nearbyint(std::ldexp((double)x, mantissa_bits - exponent));
  const unsigned bits =
      ((unsigned)(exponent + bias - 1) << mantissa_bits) + (unsigned)scaled; /* carries over */
  if (bits > largest) return sign | (saturates ? largest : infinity);
  return sign | bits;
}

struct f32 {
  using Bits = unsigned;
  static float decode(Bits bits) { return emulator::as<float>(bits); }
  static Bits encode(float x) { return emulator::as<unsigned>(x); }
};
struct tf32 : f32 {
  static float decode(Bits bits) { return emulator::as<float>(bits & ~0x1fffu); }
};
struct f64 {
  using Bits = unsigned long long;
  static double decode(Bits bits) { return emulator::as<double>(bits); }
  static Bits encode(double x) { return emulator::as<unsigned long long>(x); }
};

template <class B, int kExponent, int kMantissa, bool kInfinity, bool kSaturates>
struct floating {
  using Bits = B;
  static float decode(Bits bits) { return from_fields(bits, kExponent, kMantissa, kInfinity); }
  static Bits encode(float x) {
    return (Bits)to_fields(x, kExponent, kMantissa, kInfinity, kSaturates);
  }
  static unsigned encode_pair(float low, float high) {
    return encode(low) | (unsigned)encode(high) << 8 * sizeof(B);
  }
};
struct f16 : floating<unsigned short, 5, 10, true, false> {};
struct bf16 : floating<unsigned short, 8, 7, true, false> {};
struct e4m3 : floating<unsigned char, 4, 3, false, true> {};
struct e5m2 : floating<unsigned char, 5, 2, true, true> {};

inline long long clamp(double x, double low, double high) {
  return (long long)std::nearbyint(x < low ? low : x > high ? high : x);
}
struct s32 {
  using Bits = unsigned;
  static int decode(Bits bits) { return (int)bits; }
  static Bits encode(int x) { return (Bits)x; }
  static Bits encode(float x) { return (Bits)clamp(x, -2147483648.0, 2147483647.0); }
};
struct s8 {
  using Bits = unsigned char;
  static int decode(Bits bits) { return (signed char)bits; }
  template <class T>
  static Bits encode(T x) {
    return (Bits)clamp(x, -128, 127);
  }
  template <class T>
  static unsigned encode_pair(T low, T high) {
    return encode(low) | (unsigned)encode(high) << 8;
  }
};
struct u8 {
  using Bits = unsigned char;
  static int decode(Bits bits) { return bits; }
  template <class T>
  static Bits encode(T x) {
    return (Bits)clamp(x, 0, 255);
  }
  template <class T>
  static unsigned encode_pair(T low, T high) {
    return encode(low) | (unsigned)encode(high) << 8;
  }
};

}  // namespace element

/* ---- Registers of a thread that PTX names: sums, those of a run, an operand made of sums ------ */

namespace sums {

struct Registers {
  alignas(8) unsigned sum[256], run[256], p[256];
};
inline Registers all_registers[1024];
inline Registers &registers() { return all_registers[emulator::current]; }

/* Those of T from 'first' on. */
template <class T>
T *at(int first) {
  return (T *)registers().sum + first;
}

inline void clear(int count, int bytes) { memset(registers().sum, 0, bytes * count); }
template <class T, size_t kCount>
void read(int first, T (&d)[kCount]) {
  memcpy(d, at<T>(first), sizeof d);
}
template <class T, size_t kCount>
void read_operand(int first, T (&d)[kCount]) {
  memcpy(d, registers().p + first, sizeof d);
}
template <size_t kCount>
void read_scaled(int first, float alpha, float (&d)[kCount]) {
  read(first, d);
  for (float &x : d) x *= alpha;
}
template <class Element, size_t kCount>
void read_pairs(int first, float alpha, unsigned (&d)[kCount]) {
  float x[2 * kCount];
  read_scaled(first, alpha, x);
  for (size_t i = 0; i < kCount; i++) d[i] = Element::encode_pair(x[2 * i], x[2 * i + 1]);
}
template <class T, size_t kCount>
void write(int first, const T (&d)[kCount]) {
  memcpy(at<T>(first), d, sizeof d);
}
inline void add_run(int count) {
  float *sum = (float *)registers().sum, *run = (float *)registers().run;
  for (int i = 0; i < count; i++) sum[i] += run[i];
}

}  // namespace sums

/* ---- mma.cuh: registers as the PTX manual draws them ---------------------------------------- */

namespace mma {

/* Row and k of element e in register w of an operand whose registers go down 'kTall' times 8 rows. */
template <class T, class Word>
auto element_of(const emulator::Thread *lanes, int operand, int tall, int row, int k) {
  constexpr int kEach = sizeof(Word) / sizeof(typename T::Bits);
  const int lane = row % 8 * 4 + k / kEach % 4;
  const int word = row / 8 + k / kEach / 4 * tall;
  const Word w = ((const Word *)lanes[lane].operands[operand])[word];
  return T::decode((typename T::Bits)(w >> k % kEach * 8 * sizeof(typename T::Bits)));
}

template <class C, class A, class B, int kM, int kK, class Word>
void multiply(Word *d, const Word *a, const Word *b) {
  emulator::together(d, (void *)a, (void *)b, [](emulator::Thread *lanes) {
    using Sum = decltype(C::decode(0));
    Sum from_a[kM][kK], from_b[8][kK];
    for (int k = 0; k < kK; k++) {
      for (int m = 0; m < kM; m++) from_a[m][k] = element_of<A, Word>(lanes, 1, kM / 8, m, k);
      for (int n = 0; n < 8; n++) from_b[n][k] = element_of<B, Word>(lanes, 2, 1, n, k);
    }
    for (int m = 0; m < kM; m++)
      for (int n = 0; n < 8; n++) {
        auto *at = (typename C::Bits *)lanes[m % 8 * 4 + n / 2].operands[0] + m / 8 * 2 + n % 2;
        Sum sum = C::decode(*at);
        for (int k = 0; k < kK; k++) sum += from_a[m][k] * from_b[n][k];
        *at = C::encode(sum);
      }
  });
}

using Word = unsigned;

/* Pair i of four fp8 numbers, as f16. */
template <class T>
Word unpack(Word pairs, int i) {
  const Word low = pairs >> 16 * i & 0xff, high = pairs >> (16 * i + 8) & 0xff;
  return element::f16::encode_pair(T::decode(low), T::decode(high));
}
inline Word unpack_e4m3(Word pairs, int i) { return unpack<element::e4m3>(pairs, i); }
inline Word unpack_e5m2(Word pairs, int i) { return unpack<element::e5m2>(pairs, i); }

}  // namespace mma
