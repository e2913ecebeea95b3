-- D = A * B^T with stages: while tensor cores work on one tile in shared memory, cp.async brings
-- the next ones. The executor knows which copies are in flight, and stops at what reads one too
-- early.
--
-- Usage: lutile pipelined_gemm.lua [m [n [k]]]

require "lutile".using()

local bM, bN, bK = 64, 64, 32 -- a block's tile

local mma = make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", make_layout { 2, 2, 1 }, { 32, 32, 16 })

-- 128 threads, each with vectors of 8 halves: 4 side by side make a row of 32, 32 rows at once.
local copy_g2s = make_tiled_copy(Copy_Atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", f16),
  make_layout({ 32, 4 }, LayoutRight), make_layout { 1, 8 })

-- Rows of 64 bytes whose vectors of 16 bytes change places, so that banks are used evenly.
local row_atom = composition(Swizzle(2, 3, 3), make_layout({ 8, bK }, LayoutRight))

-- ---- The kernel --------------------------------------------------------------------------------

-- 'pending' is what cp_async_wait allows to be in flight: stages - 2 is right.
local function gemm_kernel(mA, mB, mD, stages, pending)
  local gA = local_tile(mA, { bM, bK }, { blockIdx.x, _ }) -- (bM, bK, k)
  local gB = local_tile(mB, { bN, bK }, { blockIdx.y, _ })
  local gD = local_tile(mD, { bM, bN }, { blockIdx.x, blockIdx.y })

  local layoutA = tile_to_shape(row_atom, { bM, bK, stages }) -- (bM, bK, stage)
  local layoutB = tile_to_shape(row_atom, { bN, bK, stages })
  local sA = make_tensor(make_smem_ptr(f16, cosize(layoutA)), layoutA)
  local sB = make_tensor(make_smem_ptr(f16, cosize(layoutB)), layoutB)

  local thr_copy = copy_g2s:get_slice(threadIdx.x)
  local tAgA, tAsA = thr_copy:partition_S(gA), thr_copy:partition_D(sA) -- (CPY, M, K, k or stage)
  local tBgB, tBsB = thr_copy:partition_S(gB), thr_copy:partition_D(sB)

  local thr_mma = mma:get_slice(threadIdx.x)
  local tCsA, tCsB = thr_mma:partition_A(sA), thr_mma:partition_B(sB)
  local tCrA = thr_mma:partition_fragment_A(sA(_, _, 0))
  local tCrB = thr_mma:partition_fragment_B(sB(_, _, 0))
  local tCgD = thr_mma:partition_C(gD)
  local tCrD = thr_mma:partition_fragment_C(gD)
  clear(tCrD)

  -- A group of copies for each tile; an empty one where there is no tile any more.
  local count = size(gA, 2)
  local function prefetch(k)
    if k < count then
      copy(copy_g2s, tAgA(_, _, _, k), tAsA(_, _, _, k % stages))
      copy(copy_g2s, tBgB(_, _, _, k), tBsB(_, _, _, k % stages))
    end
    cp_async_fence()
  end

  for k = 0, stages - 2 do prefetch(k) end
  for k = 0, count - 1 do
    cp_async_wait(pending) -- tile k is there, as far as this thread brought it,
    sync()                 -- and all of it; nobody reads tile k - 1 any more,
    prefetch(k + stages - 1) -- so that its place can be filled
    copy(tCsA(_, _, _, k % stages), tCrA)
    copy(tCsB(_, _, _, k % stages), tCrB)
    gemm(mma, tCrA, tCrB, tCrD)
  end
  copy(tCrD, tCgD)
end

-- ---- Running -----------------------------------------------------------------------------------

local function extent(i, default, tile)
  return round_up(math.tointeger(tonumber(arg and arg[i] or default)), tile)
end
local m, n, k = extent(1, 64, bM), extent(2, 128, bN), extent(3, 160, bK)

local function random_matrix(rows)
  local t = make_tensor(f16, make_layout({ rows, k }, LayoutRight))
  transform(t, function() return math.random(-8, 8) / 8 end)
  return t
end
local A, B = random_matrix(m), random_matrix(n)

local function largest_difference(D)
  local wanted = make_tensor(f64, { m, n })
  gemm(convert(A, f64), convert(B, f64), wanted)
  local largest = 0
  for i = 0, m * n - 1 do largest = math.max(largest, math.abs(D(i) - wanted(i))) end
  return largest
end

local function run(stages, pending)
  local D = make_tensor(f32, { m, n })
  return launch(gemm_kernel, { grid = { m // bM, n // bN }, block = size(mma), arch = 80 }, A, B, D,
    stages, pending), D
end

for stages = 2, 4 do
  local counted, D = run(stages, stages - 2)
  print(("%d stages: %d bytes of shared memory, %d tiles of k in flight, largest difference %g")
    :format(stages, counted.shared_bytes, stages - 1, largest_difference(D)))
  assert(largest_difference(D) == 0, "the product is wrong")
end

print "\nOne group too many left in flight, the mistake that a GPU does not report:"
local succeeded, message = pcall(run, 3, 2)
assert(not succeeded and message:find "in flight", "the early read was not found")
print("  " .. message)

print "\nWhat it costs with three stages:"
report((run(3, 1)))
