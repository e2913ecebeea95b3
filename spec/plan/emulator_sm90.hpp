// The instructions of compute capability 9.0 for the emulator: takes the place of mbarrier.cuh,
// tma.cuh, sm90.cuh and wgmma.cuh. Blocks run one after the other, so there are no clusters.
//
// TMA's copies and the MMAs of warpgroups run at random: at once, or as late as the waits for them
// let them.
// emulator.hpp comes before.
#pragma once
#include <deque>
#include <map>

namespace emulator {

constexpr unsigned kWarpgroup = 128;

/* ---- Barriers in shared memory --------------------------------------------------------------- */

struct Barrier {
  int arrivals, missing; /* of a phase; of this one */
  long long bytes;       /* that have still to come */
  unsigned phases;       /* that are over */

  void check() {
    if (missing > 0 || bytes != 0) return;
    missing = arrivals;
    phases++;
  }
};
inline std::map<unsigned, Barrier> barriers;

inline Barrier &barrier_at(unsigned address) {
  if (!barriers.count(address)) problem = "an mbarrier that was not made";
  return barriers[address];
}

/* ---- Asynchronous work ------------------------------------------------------------------------ */

inline std::vector<std::function<void()>> loads; /* that have still to come */

/* Any of them comes. */
inline bool finish_load() {
  if (loads.empty()) return false;
  std::swap(loads[random() % loads.size()], loads.back());
  auto load = loads.back();
  loads.pop_back();
  load();
  return true;
}

/* Work in groups, which runs in order, and at the latest at the wait for its group. */
struct Groups {
  std::deque<std::vector<std::function<void()>>> list{1}; /* the last one is open */

  void run(size_t left) {
    for (; list.size() > left + 1; list.pop_front())
      for (auto &f : list.front()) f();
  }
  void add(std::function<void()> f) {
    list.back().push_back(f);
    if (random() % 2) return;
    run(0);
    for (auto &g : list.back()) g();
    list.back().clear();
  }
  void commit() { list.emplace_back(); }
};
inline std::map<unsigned, Groups> stores, products; /* of a thread, of a warpgroup */

/* Threads of a warpgroup that have met at an instruction, and what each came with. */
struct Meeting {
  unsigned count = 0, rounds = 0;
  void *with[kWarpgroup];
  bool any = false, result = false;
};
inline std::map<unsigned, Meeting> meetings;

/* The last one to come runs f for all. */
template <class F>
void meet(void *with, F f) {
  Meeting &m = meetings[current / kWarpgroup];
  m.with[current % kWarpgroup] = with;
  const unsigned round = m.rounds;
  if (++m.count < kWarpgroup) return poll([&] { return m.rounds != round; });
  m.count = 0;
  f(m);
  m.rounds++;
}

inline void start_block() {
  barriers.clear();
  loads.clear();
  stores.clear();
  products.clear();
  meetings.clear();
}
inline bool is_installed = (before_block = start_block, true);

/* Swizzles of lines of 128, 64 and 32 bytes, on addresses. */
inline unsigned swizzled(unsigned address, int width) {
  return address ^ (address >> 7 & (width / 16 - 1)) << 4;
}

}  // namespace emulator

namespace mbarrier {
constexpr unsigned kBytes = 8;
template <int kCount>
void init(unsigned first, unsigned arrivals) {
  for (unsigned barrier = first; barrier < first + kCount * kBytes; barrier += kBytes) {
    emulator::place(barrier, kBytes);
    emulator::barriers[barrier] = {(int)arrivals, (int)arrivals, 0, 0};
  }
}
inline void fence_init() {}
inline void arrive(unsigned barrier) {
  auto &b = emulator::barrier_at(barrier);
  b.missing--;
  b.check();
}
inline void arrive_expecting(unsigned barrier, unsigned bytes) {
  emulator::barrier_at(barrier).bytes += bytes;
  arrive(barrier);
}
inline void arrive_at(unsigned barrier, unsigned) { arrive(barrier); }
inline void wait(unsigned barrier, unsigned parity) {
  auto is_over = [=] { return (emulator::barrier_at(barrier).phases & 1) != parity; };
  while (!is_over()) emulator::poll([=] { return is_over() || emulator::finish_load(); });
}
}  // namespace mbarrier

/* ---- tma.cuh: a map is written by the spec --------------------------------------------------- */

namespace tma {

struct alignas(64) Map {
  char *base;
  uint16_t rank, bytes, swizzle, unused;
  uint32_t extent[5], box[5];
  uint64_t stride[5]; /* in bytes; the first is that of an element */
};

template <int kRank>
struct Corner {
  int at[kRank];
};

inline void prefetch(const Map &) {}
inline void acquire(const Map &) {}

/* f(address in shared memory, place in global memory or null, is_inside) of all elements of a box. */
template <int kRank, class F>
void each(const Map &map, Corner<kRank> at, unsigned shared, F f) {
  if (map.rank != kRank) emulator::problem = "a map with another number of modes";
  unsigned count = 1;
  for (int i = 0; i < kRank; i++) count *= map.box[i];
  for (unsigned e = 0; e < count; e++) {
    bool is_inside = true, is_in_unit = true;
    char *p = map.base;
    for (unsigned i = 0, rest = e; i < kRank; rest /= map.box[i++]) {
      const int x = at.at[i] + int(rest % map.box[i]);
      const unsigned unit = i == 0 ? 16 / map.bytes : 1;
      is_inside &= x >= 0 && x < (int)map.extent[i];
      is_in_unit &= x >= 0 && x < (int)((map.extent[i] + unit - 1) / unit * unit);
      p += x * (int64_t)map.stride[i];
    }
    f(emulator::place(emulator::swizzled(shared + e * map.bytes, map.swizzle), map.bytes), p,
      is_inside, is_in_unit);
  }
}

template <int kRank>
void load(unsigned target, const Map &map, Corner<kRank> at, unsigned barrier) {
  const Map *m = &map;
  emulator::loads.push_back([=] {
    unsigned bytes = m->bytes;
    for (int i = 0; i < kRank; i++) bytes *= m->box[i];
    each(*m, at, target, [&](char *s, char *g, bool is_inside, bool) {
      if (is_inside)
        memcpy(s, g, m->bytes);
      else
        memset(s, 0, m->bytes);
    });
    auto &b = emulator::barrier_at(barrier);
    b.bytes -= bytes;
    b.check();
  });
}
template <int kRank>
void load_to_blocks(unsigned target, const Map &map, Corner<kRank> at, unsigned barrier,
                    unsigned short) {
  load(target, map, at, barrier);
}

/* As the device does, up to the next 16 bytes beyond the edge. */
template <int kRank>
void store(const Map &map, Corner<kRank> at, unsigned source) {
  const Map *m = &map;
  emulator::stores[emulator::current].add([=] {
    each(*m, at, source, [&](char *s, char *g, bool, bool is_in_unit) {
      if (is_in_unit) memcpy(g, s, m->bytes);
    });
  });
}
inline void fence_stores() {}
inline void commit_stores() { emulator::stores[emulator::current].commit(); }
template <int kPending>
void wait_stores_read() {
  emulator::stores[emulator::current].run(kPending);
}

}  // namespace tma

/* ---- sm90.cuh -------------------------------------------------------------------------------- */

namespace sm90 {
template <int kCount>
void give_registers() {}
template <int kCount>
void take_registers() {}
inline unsigned uniform(unsigned x) { return x; }
inline unsigned block_in_cluster() { return 0; }
inline void cluster_barrier() { emulator::barrier(); }
inline void wait_for_grid() {}
inline void launch_dependents() {}
template <int kThreads>
bool barrier_or(int, bool mine) {
  static_assert(kThreads == emulator::kWarpgroup, "");
  auto &m = emulator::meetings[emulator::current / emulator::kWarpgroup];
  m.any |= mine;
  emulator::meet(nullptr, [](emulator::Meeting &m) {
    m.result = m.any;
    m.any = false;
  });
  return m.result;
}
inline void store_matrices(unsigned address, const unsigned *words) {
  emulator::together((void *)words, &address, nullptr, [](emulator::Thread *lanes) {
    for (int i = 0; i < 4; i++)
      for (int row = 0; row < 8; row++)
        for (int c = 0; c < 4; c++)
          memcpy(emulator::place(*(unsigned *)lanes[8 * i + row].operands[1], 16) + 4 * c,
                 (unsigned *)lanes[4 * row + c].operands[0] + i, 4);
  });
}
inline void fence_device() {}
inline unsigned count(unsigned *counter) { return (*counter)++; }
inline void load_shared_by_blocks(unsigned *words, const void *source) {
  memcpy(words, emulator::aligned(source, 16), 16);
}
}  // namespace sm90

/* ---- wgmma.cuh ------------------------------------------------------------------------------- */

namespace wgmma {

inline unsigned units(unsigned address) { return (address & 0x3ffff) / 16; }
inline void fence() {}
inline void commit() {
  emulator::meet(nullptr, [](emulator::Meeting &) {
    emulator::products[emulator::current / emulator::kWarpgroup].commit();
  });
}
template <int kPending>
void wait() {
  emulator::meet(nullptr, [](emulator::Meeting &) {
    emulator::products[emulator::current / emulator::kWarpgroup].run(kPending);
  });
}

template <class Register>
constexpr int kValues = 1;
template <>
constexpr int kValues<unsigned> = 2;

inline float value(const float *d, int i) { return d[i]; }
inline int value(const int *d, int i) { return d[i]; }
inline float value(const unsigned *d, int i) {
  return element::f16::decode((unsigned short)(d[i / 2] >> i % 2 * 16));
}
template <class T>
unsigned bits(T d) {
  return emulator::as<unsigned>(d);
}
template <class T>
void set_bits(T &d, unsigned bits) {
  d = emulator::as<T>(bits);
}
inline void add(float &d, float x) { d += x; }
inline void add(int &d, int x) { d += x; }
inline void add(unsigned &d, unsigned x) {
  d = element::f16::encode_pair(value(&d, 0) + value(&x, 0), value(&d, 1) + value(&x, 1));
}

/* Row (or column) i and k of an operand, as its descriptor says. */
template <class T, bool kIsAlongRows>
auto element_of(unsigned long long descriptor, int i, int k) {
  constexpr unsigned kBytes = sizeof(typename T::Bits), kOfUnit = 16 / kBytes;
  const unsigned start = descriptor & 0x3fff, leading = descriptor >> 16 & 0x3fff;
  const unsigned stride = descriptor >> 32 & 0x3fff, kind = descriptor >> 62;
  const int width = 256 >> kind; /* 1 is of 128 bytes, 2 of 64, 3 of 32 */
  const unsigned line = width / 16;
  unsigned unit, in_unit;
  if (kIsAlongRows) {
    const unsigned column = i / kOfUnit;
    unit = column % line + column / line * leading + k % 8 * line + k / 8 * stride;
    in_unit = i % kOfUnit;
  } else {
    unit = i / 8 * stride + i % 8 * line + k / kOfUnit;
    in_unit = k % kOfUnit;
  }
  const unsigned at = emulator::swizzled((start + unit) * 16 + in_unit * kBytes, width);
  typename T::Bits bits;
  memcpy(&bits, emulator::place(at, kBytes), kBytes);
  return T::decode(bits);
}

/* Sum (row, column) of a warpgroup's registers: PTX's figure of the D fragment. */
template <class Sum, class Register>
typename Sum::Bits *sum_at(Register **d, int row, int column) {
  const int thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
  return (typename Sum::Bits *)d[thread] + column / 8 * 4 + row / 8 % 2 * 2 + column % 2;
}

template <int kN, int kK, class Sum, class A, class B, bool kRowsA, bool kRowsB, class Register>
void run(Register **d, unsigned long long a, unsigned long long b, bool adds) {
  using Value = decltype(Sum::decode(0));
  static Value from_a[64][kK], from_b[kN][kK];
  for (int k = 0; k < kK; k++) {
    for (int i = 0; i < 64; i++) from_a[i][k] = element_of<A, kRowsA>(a, i, k);
    for (int i = 0; i < kN; i++) from_b[i][k] = element_of<B, kRowsB>(b, i, k);
  }
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < kN; j++) {
      auto *at = sum_at<Sum>(d, i, j);
      Value sum = adds ? Sum::decode(*at) : 0;
      for (int k = 0; k < kK; k++) sum += from_a[i][k] * from_b[j][k];
      *at = Sum::encode(sum);
    }
}

/* By all threads of a warpgroup. */
template <int kN, int kK, class Sum, class A, class B, bool kRowsA, bool kRowsB, class Register>
void multiply(Register *d, unsigned long long a, unsigned long long b, bool adds) {
  emulator::meet(d, [=](emulator::Meeting &m) {
    std::vector<Register *> all;
    for (void *p : m.with) all.push_back((Register *)p);
    emulator::products[emulator::current / emulator::kWarpgroup].add(
        [=]() mutable { run<kN, kK, Sum, A, B, kRowsA, kRowsB>(all.data(), a, b, adds); });
  });
}

}  // namespace wgmma
