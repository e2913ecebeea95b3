-- How a warp's fragments get from shared memory to registers: word by word, or by ldmatrix, which
-- moves 8x8 matrices whose rows its lanes point to. With either, the layout of the tile decides how
-- many passes over the banks are made. D = A * B^T is computed with each of them.
--
-- Usage: lutile ldmatrix_gemm.lua

require "lutile".using()

local bM, bN, bK = 64, 64, 64

local mma = make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", make_layout { 2, 2, 1 }, { 32, 32, 16 })
local ldmatrix = Copy_Atom("SM75_U32x4_LDSM_N", f16)
local copy_g2s = make_tiled_copy(Copy_Atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", f16),
  make_layout({ 16, 8 }, LayoutRight), make_layout { 1, 8 })

-- ---- Fragments from shared memory --------------------------------------------------------------

-- Each thread reads what the TiledMMA gives it: pairs of neighbours.
local function by_words(thr_mma, sA, sB, rA, rB)
  copy(thr_mma:partition_A(sA), rA)
  copy(thr_mma:partition_B(sB), rB)
end

-- The TiledCopies have ldmatrix's own idea of who reads what; retiling shows the fragments so.
local copy_A, copy_B = make_tiled_copy_A(ldmatrix, mma), make_tiled_copy_B(ldmatrix, mma)

local function by_ldmatrix(_, sA, sB, rA, rB)
  local thr_A, thr_B = copy_A:get_slice(threadIdx.x), copy_B:get_slice(threadIdx.x)
  copy(copy_A, thr_A:partition_S(sA), thr_A:retile_D(rA))
  copy(copy_B, thr_B:partition_S(sB), thr_B:retile_D(rB))
end

-- ---- The kernel --------------------------------------------------------------------------------

local function kernel(gA, gB, gD, layout, load)
  local sA = make_tensor(make_smem_ptr(f16, cosize(layout)), layout)
  local sB = make_tensor(make_smem_ptr(f16, cosize(layout)), layout)
  local thr_copy, thr_mma = copy_g2s:get_slice(threadIdx.x), mma:get_slice(threadIdx.x)
  copy(copy_g2s, thr_copy:partition_S(gA), thr_copy:partition_D(sA))
  copy(copy_g2s, thr_copy:partition_S(gB), thr_copy:partition_D(sB))
  cp_async_wait(0)
  sync()

  local rA, rB = thr_mma:partition_fragment_A(sA), thr_mma:partition_fragment_B(sB)
  load(thr_mma, sA, sB, rA, rB)

  local rD = thr_mma:partition_fragment_C(gD)
  clear(rD)
  gemm(mma, rA, rB, rD)
  copy(rD, thr_mma:partition_C(gD))
end

-- ---- Running -----------------------------------------------------------------------------------

local rows = make_layout({ 8, bK }, LayoutRight)
local layouts = {
  { "rows of 128 bytes", tile_to_shape(rows, { bM, bK }) },
  { "rows of 144 bytes", make_layout({ bM, bK }, { bK + 8, 1 }) },
  { "swizzled", tile_to_shape(composition(Swizzle(3, 3, 3), rows), { bM, bK }) },
}
local loads = { { "by words", by_words }, { "by ldmatrix", by_ldmatrix } }

local function random_matrix(extent)
  local t = make_tensor(f16, make_layout({ extent, bK }, LayoutRight))
  transform(t, function() return math.random(-8, 8) / 8 end)
  return t
end
local A, B = random_matrix(bM), random_matrix(bN)
local wanted = make_tensor(f64, { bM, bN })
gemm(convert(A, f64), convert(B, f64), wanted)

-- Requests, wavefronts and conflicts of the loads of fragments.
local function shared_reads(counted)
  local requests, wavefronts, conflicts = 0, 0, 0
  for _, access in ipairs(counted.accesses) do
    if access.space == "shared" and access.access == "read" then
      requests, wavefronts = requests + access.requests, wavefronts + access.wavefronts
      conflicts = conflicts + access.conflicts
    end
  end
  return requests, wavefronts, conflicts
end

print(tostring(copy_A))
print(tostring(copy_B))
print(("\n%-20s %-12s %8s %10s %9s"):format("tile", "fragments", "requests", "wavefronts",
  "conflicts"))
local wavefronts_of = {}
for _, l in ipairs(layouts) do
  for _, f in ipairs(loads) do
    local D = make_tensor(f32, { bM, bN })
    local counted = launch(kernel, { block = size(mma), arch = 80 }, A, B, D, l[2], f[2])
    for i = 0, bM * bN - 1 do assert(D(i) == wanted(i), "the product is wrong") end
    local requests, wavefronts, conflicts = shared_reads(counted)
    wavefronts_of[l[1] .. f[1]] = wavefronts
    print(("%-20s %-12s %8d %10d %9d"):format(l[1], f[1], requests, wavefronts, conflicts))
  end
end
print "\nA row of a matrix that ldmatrix reads is 16 bytes. In rows of 128 bytes, eight of them"
print "begin at one bank; padded or swizzled, they are in all 32: one pass reads a whole matrix."
assert(wavefronts_of["swizzledby ldmatrix"] * 8 == wavefronts_of["rows of 128 bytesby ldmatrix"])
