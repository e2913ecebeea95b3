-- D = (A * B^T) * B^T by tiled MMA, on the host: the skeleton of attention, without the softmax.
-- The first product's accumulators, as f16, are the second one's A operand as they lie in the
-- registers: nothing moves between threads.
--
-- Usage: lutile chained_gemm.lua [A.npy B.npy [D.npy]]
--   A is m x n and B is n x n, both f16, n at most 256; D is written as f32.

local lutile = require "lutile".using()
local npy = lutile.npy

local LARGEST_N = 256

-- Four warps below each other: each has whole rows of the first product, which is all that its part
-- of the second one needs.
local mma = make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", make_layout { 4, 1, 1 })
local bM, bK = tile_size(mma, 0), tile_size(mma, 2)

-- ---- Accumulators as operand A ---------------------------------------------------------------

-- By hand, for an atom whose A operand holds two accumulators: MMA_N is divided by 2, and the 2
-- goes to the values. (MMA, MMA_M, MMA_N) -> ((MMA, 2), MMA_M, MMA_N/2)
local function convert_by_division(acc)
  local l = logical_divide(acc.layout, { _, _, 2 }) -- (MMA, MMA_M, (2, MMA_N/2))
  return make_tensor(acc, make_layout(make_layout(l[0], get(l, 2, 0)), l[1], get(l, 2, 1)))
end

-- By algebra, for any atom: an element of A is in the register in which C has that element.
-- (MMA, MMA_M, MMA_N) -> (MMA, MMA_M, MMA_K)
local function convert_by_inverse(acc, thr_mma, shape)
  local index = make_layout(shape)
  local C, A = thr_mma:partition_C(index).layout, thr_mma:partition_A(index).layout
  return acc .. (~C .. A)
end

local function same_registers(x, y)
  for i = 0, size(x) - 1 do
    if x.layout(i) ~= y.layout(i) then return false end
  end
  return size(x) == size(y)
end

-- ---- The kernel ------------------------------------------------------------------------------

-- A copy that puts zeros where the coordinates are outside of the matrix.
local function copy_within(coordinates, shape, source, target)
  clear(target)
  copy_if(elem_less(coordinates, shape), source, target)
end

local function chained_gemm(mA, mB, mD)
  local bN = round_up(size(mB, 0), bK)

  -- This block's tiles, and the coordinates of their elements.
  local gA = local_tile(mA, { bM, bK }, { blockIdx.x, _ }) -- (bM, bK, k)
  local gB = local_tile(mB, { bN, bK }, { 0, _ })          -- (bN, bK, k)
  local gD = local_tile(mD, { bM, bN }, { blockIdx.x, 0 }) -- (bM, bN)
  local cA = local_tile(make_identity_tensor(mA.shape), { bM, bK }, { blockIdx.x, _ })
  local cB = local_tile(make_identity_tensor(mB.shape), { bN, bK }, { 0, _ })
  local cD = local_tile(make_identity_tensor(mD.shape), { bM, bN }, { blockIdx.x, 0 })

  -- This thread's parts.
  local thr_mma = mma:get_slice(threadIdx.x)
  local tCgA, tCcA = thr_mma:partition_A(gA), thr_mma:partition_A(cA) -- (MMA, MMA_M, MMA_K, k)
  local tCgB, tCcB = thr_mma:partition_B(gB), thr_mma:partition_B(cB) -- (MMA, MMA_N, MMA_K, k)
  local tCgD, tCcD = thr_mma:partition_C(gD), thr_mma:partition_C(cD) -- (MMA, MMA_M, MMA_N)

  -- Its registers.
  local tCrA = thr_mma:partition_fragment_A(gA(_, _, 0)) -- (MMA, MMA_M, MMA_K)
  local tCrB = thr_mma:partition_fragment_B(gB(_, _, 0)) -- (MMA, MMA_N, MMA_K)
  local tCrS = thr_mma:partition_fragment_C(gD)          -- (MMA, MMA_M, MMA_N)
  local tCrD = thr_mma:partition_fragment_C(gD)

  -- S = A * B^T
  clear(tCrS)
  for k = 0, size(gA, 2) - 1 do
    copy_within(tCcA(_, _, _, k), mA.shape, tCgA(_, _, _, k), tCrA)
    copy_within(tCcB(_, _, _, k), mB.shape, tCgB(_, _, _, k), tCrB)
    gemm(mma, tCrA, tCrB, tCrS)
  end

  -- P = S in f16, seen as operand A: (MMA, MMA_M, MMA_K)
  local tCrP = convert(tCrS, f16)
  local tArP = convert_by_inverse(tCrP, thr_mma, { bM, bN })
  assert(same_registers(tArP, convert_by_division(tCrP)), "the two ways name other registers")

  -- D = P * B^T
  clear(tCrD)
  for k = 0, size(tArP, 2) - 1 do
    copy_within(tCcB(_, _, _, k), mB.shape, tCgB(_, _, _, k), tCrB)
    gemm(mma, tArP(_, _, k), tCrB(_, _, 0), tCrD)
  end
  copy_if(elem_less(tCcD, mD.shape), tCrD, tCgD)
end

-- ---- Input, output ---------------------------------------------------------------------------

local function fail(message, ...)
  error(message:format(...), 0)
end

local function load_matrix(path)
  local t, problem = npy.load(path)
  if not t then fail("%s", problem) end
  if t.dtype ~= f16 or rank(t) ~= 2 then
    fail("%s: an f16 matrix expected, got %s of shape %s", path, t.dtype, tostring(t.shape))
  end
  return t
end

-- The extents, known at launch only: the kernel is the same for all.
local function check_shapes(A, B)
  local m, n = size(A, 0), size(A, 1)
  if size(B, 0) ~= n or size(B, 1) ~= n then
    fail("A is %d x %d, so B must be %d x %d, not %s", m, n, n, n, tostring(B.shape))
  end
  if n > LARGEST_N then fail("n is %d, where %d is the most", n, LARGEST_N) end
  if m == 0 or n == 0 then fail("A is empty: %s", tostring(A.shape)) end
  return dyn(m), dyn(n)
end

-- The same product in double precision, by plain loops.
local function reference(A, B)
  local A64, B64 = convert(A, f64), convert(B, f64)
  local S, D = make_tensor(f64, A.shape), make_tensor(f64, A.shape)
  gemm(A64, B64, S)
  gemm(S, B64, D)
  return D
end

local function largest_difference(x, y)
  local largest = 0
  for i = 0, size(x) - 1 do largest = math.max(largest, math.abs(x(i) - y(i))) end
  return largest
end

local folder = (arg and arg[0] or ""):match "^(.*)/" or "."
local path_a = arg and arg[1] or folder .. "/data/A.npy"
local path_b = arg and arg[2] or folder .. "/data/B.npy"
local path_d = arg and arg[3] or "D.npy"

local A, B = load_matrix(path_a), load_matrix(path_b)
local m, n = check_shapes(A, B)
local D = make_tensor(f32, make_layout({ m, n }, LayoutRight))
local mA, mB = make_tensor(A, { m, n }, A.stride), make_tensor(B, { n, n }, B.stride)

print(("A %s from %s"):format(tostring(A.shape), path_a))
print(("B %s from %s"):format(tostring(B.shape), path_b))
print(tostring(mma))

local blocks = ceil_div(size(A, 0), bM)
local start = os.clock()
launch(chained_gemm, { grid = blocks, block = size(mma) }, mA, mB, D)

print(("D = (A * B^T) * B^T: %d blocks of %d threads, %.2f s"):format(blocks, size(mma),
  os.clock() - start))
print(("largest difference from double precision: %.3g"):format(
  largest_difference(D, reference(A, B))))

local saved, problem = npy.save(path_d, D)
if not saved then fail("%s", problem) end
print(("D written to %s"):format(path_d))
