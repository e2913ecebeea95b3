-- D = (A * B^T) * B^T by one kernel beside two products of cuBLASLt, in one process: for each size
-- the medians of both, interleaved, and their ratio. Matrices, random normal numbers, are rotated
-- past the L2; S and D of cuBLASLt are f16, as D is.
-- Usage, from the repository's root:
--   LUA_CPATH=BUILD/bench/?.so lutile bench/chained_gemm.lua [MxN ...]

local lutile = require "lutile"
local cuda = require "lutile.cuda"

local make_layout = lutile.make_layout

local there, why = cuda.available()
if not there then
  print("no device: " .. why)
  os.exit(0)
end

local cublas = require "bench.cublas"
local data = require "lutile.tune.data"
local timing = require "bench.timing" -- needs a device

local device = cuda.device()
print(tostring(device))
print(cublas.describe())

local F16 = { out = "f16", stored = "f16", compute = "f32", scale = "f32" }
local SIZES = { { 262144, 256 }, { 262144, 192 }, { 262144, 128 }, { 262144, 96 }, { 262144, 64 },
  { 4096, 256 } }

local function tensor(rows, columns, is_random)
  local t = cuda.tensor("f16", make_layout({ rows, columns }, { columns, 1 }))
  if is_random then data.fill(t, "normal") end
  return t
end

-- Enough sets of matrices that none is in the L2 when its turn comes.
local function make_sets(m, n)
  local sets = {}
  for i = 1, math.max(2, 3 * device.l2_cache // (4 * m * n)) do
    sets[i] = { A = tensor(m, n, true), B = tensor(n, n, true), S = tensor(m, n), D = tensor(m, n) }
  end
  return sets
end

local function ours(sets)
  local first, runs = sets[1], {}
  local p = lutile.plan.chained_gemm { A = first.A, B = first.B, D = first.D }
  for i, s in ipairs(sets) do runs[i] = p:prepare(s.A, s.B, s.D, { stream = timing.stream }) end
  return function(i) runs[i % #runs + 1]() end
end

-- cuBLASLt's two products, one behind the other.
local function theirs(m, n, sets)
  local first, second = {}, {}
  for i, s in ipairs(sets) do
    first[i], second[i] = { A = s.A, B = s.B, C = s.S }, { A = s.S, B = s.B, C = s.D }
  end
  local one, reason = cublas.fastest(F16, { m, n, n }, "k", "k", first)
  if not one then return nil, reason end
  local other = cublas.fastest(F16, { m, n, n }, "k", "k", second)
  return function(i)
    one(i)
    other(i)
  end
end

local function bench(m, n)
  local sets = make_sets(m, n)
  local other, reason = theirs(m, n, sets)
  local runs = { ours(sets), other }
  local t = timing.time_all(runs)
  local line = ("%6d x %3d  %7.2f us %4.0f TFLOP/s"):format(m, n, 1000 * t[1],
    4e-9 * m * n * n / t[1])
  print(line .. (t[2] and ("; cuBLASLt, two products %7.2f us; ratio %.3f"):format(1000 * t[2],
    t[2] / t[1]) or "; cuBLASLt: " .. reason))
end

local sizes = {}
for i, word in ipairs(arg or {}) do
  local m, n = word:match "^(%d+)x(%d+)$"
  sizes[i] = { math.tointeger(m), math.tointeger(n) }
end
for _, size in ipairs(#sizes > 0 and sizes or SIZES) do
  bench(size[1], size[2])
  collectgarbage()
end
