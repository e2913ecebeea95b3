/*
** PTX instructions, one a function. Memory instructions are volatile, so that they stay in order
** among each other and between barriers; arithmetic is not, so that the compiler may move it.
*/
#pragma once

#define DEVICE __device__ __forceinline__

namespace ptx {

/*
** The same number, about which the compiler knows nothing: what follows from it is worked out after
** this, and not in advance.
*/
DEVICE int hide(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

/* A barrier of whole warps; number 0 is __syncthreads. */
template <int kThreads>
DEVICE void barrier(int number) {
  asm volatile("barrier.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

/* ---- Shared memory -------------------------------------------------------------------------- */

/* The 32-bit address within the shared window: what the instructions below take. */
DEVICE unsigned shared_address(const void *pointer) {
  unsigned address;
  asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(pointer));
  return address;
}

/*
** A word of elements that lie apart, 4 / kBytes of them, the first one in the low bits. One asm, for
** NVVM takes long over each.
*/
template <int kBytes>
DEVICE unsigned gather_shared(const unsigned *addresses) {
  static_assert(kBytes == 1 || kBytes == 2, "");
  unsigned word;
  if constexpr (kBytes == 1)
    asm volatile("{ .reg .b32 a, b, c, d; ld.shared.u8 a, [%1]; ld.shared.u8 b, [%2];"
                 " ld.shared.u8 c, [%3]; ld.shared.u8 d, [%4];"
                 " prmt.b32 a, a, b, 0x1140; prmt.b32 c, c, d, 0x1140; prmt.b32 %0, a, c, 0x5410; }"
                 : "=r"(word)
                 : "r"(addresses[0]), "r"(addresses[1]), "r"(addresses[2]), "r"(addresses[3]));
  else
    asm volatile("{ .reg .b16 a, b; ld.shared.b16 a, [%1]; ld.shared.b16 b, [%2];"
                 " mov.b32 %0, {a, b}; }"
                 : "=r"(word)
                 : "r"(addresses[0]), "r"(addresses[1]));
  return word;
}
DEVICE void load_shared(unsigned &value, unsigned address) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address));
}
DEVICE void load_shared(unsigned long long &value, unsigned address) {
  asm volatile("ld.shared.b64 %0, [%1];" : "=l"(value) : "r"(address));
}

/* 1, 2, 4 or 8 bytes, as words; fewer than 4 fill the low bits. */
template <int kBytes>
DEVICE void load_shared(unsigned *words, unsigned address) {
  static_assert(kBytes == 1 || kBytes == 2 || kBytes == 4 || kBytes == 8, "");
  if constexpr (kBytes == 1)
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(words[0]) : "r"(address));
  else if constexpr (kBytes == 2)
    asm volatile("{ .reg .b16 h; ld.shared.b16 h, [%1]; cvt.u32.u16 %0, h; }"
                 : "=r"(words[0])
                 : "r"(address));
  else if constexpr (kBytes == 4)
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words[0]) : "r"(address));
  else
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(address));
}

/* Of 1, 2, 4, 8 or 16 bytes, as words. Seen by other threads after a barrier. */
template <int kBytes>
DEVICE void store_shared(unsigned address, const unsigned *words) {
  static_assert(kBytes == 1 || kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16, "");
  if constexpr (kBytes == 1)
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(words[0]) : "memory");
  else if constexpr (kBytes == 2)
    asm volatile("{ .reg .b16 h; cvt.u16.u32 h, %1; st.shared.b16 [%0], h; }" ::"r"(address),
                 "r"(words[0])
                 : "memory");
  else if constexpr (kBytes == 4)
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(words[0]) : "memory");
  else if constexpr (kBytes == 8)
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(words[0]), "r"(words[1])
                 : "memory");
  else
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]),
                 "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
}

/*
** Matrices of 8 rows of 16 bytes: lane 8 * i + r has the address of row r of matrix i, and lane
** 4 * r + c gets word c of row r. Transposed: of 16-bit elements, lane 4 * c + r gets elements 2 * r
** and 2 * r + 1 of column c. The warp's lanes take part together.
*/
template <int kMatrices, bool kTransposed>
DEVICE void load_matrices(unsigned *words, unsigned address) {
  static_assert(kMatrices == 1 || kMatrices == 2 || kMatrices == 4, "");
  if constexpr (kMatrices == 4 && !kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
  else if constexpr (kMatrices == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
  else if constexpr (kMatrices == 2 && !kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(address));
  else if constexpr (kMatrices == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(address));
  else if constexpr (!kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(words[0])
                 : "r"(address));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(words[0])
                 : "r"(address));
}

/* ---- Asynchronous copies (compute capability 8.0) -------------------------------------------- */

/*
** Copies kBytes (4, 8 or 16) from global to shared memory, or writes zeros where 'is_inside' is
** false; then 'source' is not read. Done, for this thread, after the wait for its group; for
** others, after a barrier behind that.
*/
template <int kBytes>
DEVICE void copy_async(unsigned target, const void *source, bool is_inside) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "");
  int bytes = is_inside ? kBytes : 0;
  if constexpr (kBytes == 16) /* past L1, which the tile would only displace */
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target),
                 "l"(source), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(source),
                 "n"(kBytes), "r"(bytes)
                 : "memory");
}
/* Ends this thread's group of copies. */
DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* Waits until at most kPending of this thread's groups are under way. */
template <int kPending>
DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/* ---- Global memory -------------------------------------------------------------------------- */

/* kBytes from an address that is a multiple of kBytes, as words; fewer than 4 fill the low bits. */
template <int kBytes>
DEVICE void load_global(unsigned *words, const void *source) {
  static_assert(kBytes == 1 || kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16, "");
  if constexpr (kBytes == 1)
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(words[0]) : "l"(source));
  else if constexpr (kBytes == 2)
    asm volatile("{ .reg .b16 h; ld.global.b16 h, [%1]; cvt.u32.u16 %0, h; }"
                 : "=r"(words[0])
                 : "l"(source));
  else if constexpr (kBytes == 4)
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(words[0]) : "l"(source));
  else if constexpr (kBytes == 8)
    asm volatile("ld.global.v2.b32 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "l"(source));
  else
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(source));
}

/* Brings the line of an address to the L2. */
DEVICE void prefetch(const void *source) { asm volatile("prefetch.global.L2 [%0];" ::"l"(source)); }

template <int kBytes>
DEVICE void store_global(void *target, const unsigned *words) {
  static_assert(kBytes == 1 || kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16, "");
  if constexpr (kBytes == 1)
    asm volatile("st.global.u8 [%0], %1;" ::"l"(target), "r"(words[0]) : "memory");
  else if constexpr (kBytes == 2)
    asm volatile("{ .reg .b16 h; cvt.u16.u32 h, %1; st.global.b16 [%0], h; }" ::"l"(target),
                 "r"(words[0])
                 : "memory");
  else if constexpr (kBytes == 4)
    asm volatile("st.global.b32 [%0], %1;" ::"l"(target), "r"(words[0]) : "memory");
  else if constexpr (kBytes == 8)
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(target), "r"(words[0]), "r"(words[1])
                 : "memory");
  else
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(target), "r"(words[0]),
                 "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
}

/* Predicated: where the condition is false, words stay as they are, and nothing is accessed. */
template <int kBytes>
DEVICE void load_global_if(bool condition, unsigned *words, const void *source) {
  static_assert(kBytes == 1 || kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16, "");
  if constexpr (kBytes == 1)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.u8 %0, [%1]; }"
                 : "+r"(words[0])
                 : "l"(source), "r"((int)condition));
  else if constexpr (kBytes == 2)
    asm volatile("{ .reg .pred p; .reg .b16 h; setp.ne.b32 p, %2, 0; @p ld.global.b16 h, [%1];"
                 " @p cvt.u32.u16 %0, h; }"
                 : "+r"(words[0])
                 : "l"(source), "r"((int)condition));
  else if constexpr (kBytes == 4)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.b32 %0, [%1]; }"
                 : "+r"(words[0])
                 : "l"(source), "r"((int)condition));
  else if constexpr (kBytes == 8)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p ld.global.v2.b32 {%0, %1}, [%2]; }"
                 : "+r"(words[0]), "+r"(words[1])
                 : "l"(source), "r"((int)condition));
  else
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %5, 0;"
                 " @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                 : "l"(source), "r"((int)condition));
}

template <int kBytes>
DEVICE void store_global_if(bool condition, void *target, const unsigned *words) {
  static_assert(kBytes == 1 || kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16, "");
  if constexpr (kBytes == 1)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p st.global.u8 [%0], %1; }" ::"l"(target),
                 "r"(words[0]), "r"((int)condition)
                 : "memory");
  else if constexpr (kBytes == 2)
    asm volatile("{ .reg .pred p; .reg .b16 h; setp.ne.b32 p, %2, 0; cvt.u16.u32 h, %1;"
                 " @p st.global.b16 [%0], h; }" ::"l"(target),
                 "r"(words[0]), "r"((int)condition)
                 : "memory");
  else if constexpr (kBytes == 4)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p st.global.b32 [%0], %1; }" ::"l"(target),
                 "r"(words[0]), "r"((int)condition)
                 : "memory");
  else if constexpr (kBytes == 8)
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p st.global.v2.b32 [%0], {%1, %2}; }" ::
                     "l"(target), "r"(words[0]), "r"(words[1]), "r"((int)condition)
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %5, 0;"
                 " @p st.global.v4.b32 [%0], {%1, %2, %3, %4}; }" ::"l"(target),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"((int)condition)
                 : "memory");
}

/* ---- Arithmetic ----------------------------------------------------------------------------- */

/*
** f32 bits of two numbers to the nearest tf32, ties away from zero, as mma takes them: it passes over
** the low 13 bits, and alone would cut them off. Infinities and NaNs stay what they are. (cvt.rna.tf32
** clears those bits, too, with a third instruction. Two at once, for NVVM takes long over each asm.)
*/
DEVICE void round_tf32(unsigned &x, unsigned &y) {
  asm("{ .reg .pred p, q; .reg .f32 s, t; .reg .b32 u, v;"
      " abs.f32 s, %0; abs.f32 t, %1; setp.lt.f32 p, s, 0f7F800000; setp.lt.f32 q, t, 0f7F800000;"
      " add.s32 u, %0, 4096; add.s32 v, %1, 4096; selp.b32 %0, u, %0, p; selp.b32 %1, v, %1, q; }"
      : "+r"(x), "+r"(y));
}

}  // namespace ptx
