-- FlashAttention-2, forward pass of one head: O = softmax(Q * K^T / sqrt(d)) * V, with the softmax
-- computed online over tiles of keys, so that the m x n scores never exist as a whole. Each tile's
-- scores become the second product's A operand where they lie in the registers.
--
-- Usage: lutile flash_attention.lua [queries [keys]]

require "lutile".using()

local d = 64 -- of the head

-- Four warps below each other: each has whole rows of the scores.
local mma = make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", make_layout { 4, 1, 1 })
local bM, bN, bK = tile_size(mma, 0), 32, tile_size(mma, 2)

-- The four threads of a quad hold a row together.
local quad = make_layout(4)

local function add(x, y) return x + y end

-- A copy that puts zeros where the coordinates are outside of the matrix.
local function copy_within(coordinates, shape, source, target)
  clear(target)
  copy_if(elem_less(coordinates, shape), source, target)
end

-- ---- Softmax, online ---------------------------------------------------------------------------

-- Takes one tile of scores into account: scores become exp(score - maximum), what was summed up so
-- far is scaled to the new maximum.
local function take_scores(scores, output, maximum, sum)
  for i = 0, size(scores, 0) - 1 do
    local highest = -math.huge
    for j = 0, size(scores, 1) - 1 do highest = math.max(highest, scores(i, j)) end
    local before = maximum(i)
    maximum[i] = math.max(before, warp_reduce(math.max, highest, quad))
    local total = 0
    for j = 0, size(scores, 1) - 1 do
      local p = math.exp(scores(i, j) - maximum(i))
      scores[{ i, j }] = p
      total = total + p
    end
    local scale = math.exp(before - maximum(i))
    sum[i] = sum(i) * scale + total
    axpby(scale, output(i, _), 0, output(i, _))
  end
end

-- ---- The kernel --------------------------------------------------------------------------------

local function attention(mQ, mK, mV, mO)
  local m, n = size(mQ, 0), size(mK, 0)
  local mVt = make_tensor(mV, { d, n }, { 1, d }) -- V^T: operand B of the second product

  local gQ = local_tile(mQ, { bM, bK }, { blockIdx.x, _ })     -- (bM, bK, k)
  local gK = local_tile(mK, { bN, bK }, { _, _ })              -- (bN, bK, n, k)
  local gV = local_tile(mVt, { d, bK }, { 0, _ })              -- (d, bK, n)
  local gO = local_tile(mO, { bM, d }, { blockIdx.x, 0 })      -- (bM, d)
  local cQ = local_tile(make_identity_tensor(mQ.shape), { bM, bK }, { blockIdx.x, _ })
  local cK = local_tile(make_identity_tensor(mK.shape), { bN, bK }, { _, _ })
  local cV = local_tile(make_identity_tensor(mVt.shape), { d, bK }, { 0, _ })
  local cO = local_tile(make_identity_tensor(mO.shape), { bM, d }, { blockIdx.x, 0 })
  local cS = local_tile(make_identity_tensor { m, round_up(n, bN) }, { bM, bN }, { blockIdx.x, _ })

  local thr = mma:get_slice(threadIdx.x)
  local tQgQ, tQcQ = thr:partition_A(gQ), thr:partition_A(cQ)
  local tKgK, tKcK = thr:partition_B(gK), thr:partition_B(cK)
  local tVgV, tVcV = thr:partition_B(gV), thr:partition_B(cV)
  local tOgO, tOcO = thr:partition_C(gO), thr:partition_C(cO)
  local tScS = thr:partition_C(cS)                             -- (MMA, MMA_M, MMA_N, n)

  local tQrQ = thr:partition_fragment_A(gQ(_, _, 0))
  local tKrK = thr:partition_fragment_B(gK(_, _, 0, 0))
  local tVrV = thr:partition_fragment_B(gV(_, _, 0))
  local tSrS = partition_fragment_C(mma, { bM, bN })
  local tOrO = thr:partition_fragment_C(gO)
  clear(tOrO)

  local output = acc_rowcol(tOrO)
  local maximum, sum = make_tensor(f32, size(output, 0)), make_tensor(f32, size(output, 0))
  fill(maximum, -1e30)
  clear(sum)

  for tile = 0, size(gK, 2) - 1 do
    -- S = Q * K^T
    clear(tSrS)
    for k = 0, size(gQ, 2) - 1 do
      copy_within(tQcQ(_, _, _, k), mQ.shape, tQgQ(_, _, _, k), tQrQ)
      copy_within(tKcK(_, _, _, tile, k), mK.shape, tKgK(_, _, _, tile, k), tKrK)
      gemm(mma, tQrQ, tKrK, tSrS)
    end
    axpby(1 / math.sqrt(d), tSrS, 0, tSrS)

    -- Keys beyond the last one have no say.
    local inside = elem_less(tScS(_, _, _, tile), { m, n })
    transform(inside, tSrS, tSrS, function(is_inside, s)
      return is_inside == 1 and s or -math.huge
    end)

    take_scores(acc_rowcol(tSrS), output, maximum, sum)

    -- O = O + P * V
    local tOrP = acc_to_A(mma, convert(tSrS, f16))
    for k = 0, size(tOrP, 2) - 1 do
      local at = tile * size(tOrP, 2) + k
      if at < size(gV, 2) then
        copy_within(tVcV(_, _, _, at), mVt.shape, tVgV(_, _, _, at), tVrV)
        gemm(mma, tOrP(_, _, k), tVrV(_, _, 0), tOrO)
      end
    end
  end

  for i = 0, size(output, 0) - 1 do
    axpby(1 / warp_reduce(add, sum(i), quad), output(i, _), 0, output(i, _))
  end
  copy_if(elem_less(tOcO, mO.shape), tOrO, tOgO)
end

-- ---- A plain reference -------------------------------------------------------------------------

local function reference(Q, K, V, i)
  local weights, total = {}, 0
  for j = 0, size(K, 0) - 1 do
    local score = 0
    for k = 0, d - 1 do score = score + Q(i, k) * K(j, k) end
    weights[j] = math.exp(score / math.sqrt(d))
    total = total + weights[j]
  end
  local row = {}
  for k = 0, d - 1 do
    row[k] = 0
    for j = 0, size(K, 0) - 1 do row[k] = row[k] + weights[j] / total * V(j, k) end
  end
  return row
end

local function random_matrix(rows)
  local t = make_tensor(f16, { rows, d }, { d, 1 })
  transform(t, function() return 2 * math.random() - 1 end)
  return t
end

-- ---- Running -----------------------------------------------------------------------------------

math.randomseed(1)
local m = math.tointeger(tonumber(arg and arg[1] or 80))
local n = math.tointeger(tonumber(arg and arg[2] or 100))
local Q, K, V = random_matrix(m), random_matrix(n), random_matrix(n)
local O = make_tensor(f32, { m, d }, { d, 1 })

local start = os.clock()
local counted = launch(attention, { grid = ceil_div(m, bM), block = size(mma) }, Q, K, V, O)
print(("%d queries, %d keys, head of %d: %.2f s"):format(m, n, d, os.clock() - start))

local largest = 0
for i = 0, m - 1 do
  local row = reference(Q, K, V, i)
  for k = 0, d - 1 do largest = math.max(largest, math.abs(row[k] - O(i, k))) end
end
print(("largest difference from double precision: %.2g"):format(largest))
assert(largest < 2e-3, "the attention is wrong")
report(counted)
