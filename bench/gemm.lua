-- Products of plans beside cuBLASLt's, in one process: for each shape and type the medians of both,
-- their ratio and the clock. Runs are interleaved; inputs, random normal numbers, are rotated past
-- the L2; what takes less than 50 us is replayed from a graph.
-- Usage, from the repository's root:
--   LUA_CPATH=BUILD/bench/?.so lutile bench/gemm.lua [TYPE | MxNxK | OPTION=VALUE ...]
-- An option is one of plan.gemm's, template=gemm_sm80.cu, tile=128,256,64, or turn=20: milliseconds
-- that each side runs before it is the other's turn, 0.5 by default. With beta=1 both add C, which
-- is not D; with bias=column both add a vector.

local lutile = require "lutile"
local cuda = require "lutile.cuda"

local device = require "bench.device"

local plan = lutile.plan

local cublas = require "bench.cublas"
local products = require "bench.products"
local timing = require "bench.timing"

print(tostring(device))

print(cublas.describe())

local SQUARES = { { 4096, 4096, 4096 }, { 8192, 8192, 8192 } }
local SHAPES = { { 512, 512, 512 }, { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, SQUARES[1],
  SQUARES[2], { 16384, 16384, 4096 }, { 8192, 8192, 1024 }, { 4096, 14336, 4096 },
  { 4096, 4096, 16384 }, { 128, 8192, 8192 }, { 16, 8192, 8192 }, { 4000, 4100, 4104 } }

-- ---- Ours --------------------------------------------------------------------------------------

local more = {} -- options of the command line
local turn      -- milliseconds

local function ours(type_of, sets, bias)
  local first = sets[1]
  local options = { A = first.A, B = first.B, C = first.C, dtype = type_of.name,
    out = type_of.out }
  for name, value in pairs(more) do options[name] = value end
  local p = plan.gemm(options)
  local runs = {}
  for i, s in ipairs(sets) do
    runs[i] = p:prepare(s.A, s.B, s.C, { D = s.D, bias = bias, stream = timing.stream })
  end
  return p, function(i) runs[i % #runs + 1]() end
end

-- ---- One line ----------------------------------------------------------------------------------

-- The largest difference of two tensors on a sample of elements, by the largest of them.
local function difference(x, y)
  x, y = x:to_host(), y:to_host()
  local largest, scale, size = 0, 0, lutile.size(x)
  for _ = 1, 2000 do
    local i = math.random(0, size - 1)
    largest, scale = math.max(largest, math.abs(x(i) - y(i))), math.max(scale, math.abs(y(i)))
  end
  return largest / scale
end

-- How far the results of both are apart, on the first set.
local function compare(run, other, sets)
  local D = sets[1].D
  D.data:fill(0xff, timing.stream)
  run(0)
  timing.stream:synchronize()
  local result = cuda.tensor(D.dtype, D.layout)
  cuda.copy(D, result)
  device:synchronize()
  other(0)
  timing.stream:synchronize()
  return difference(result, D)
end

local function tflops(m, n, k, ms) return 2 * m * n * k / ms * 1e-9 end

local function describe(p)
  return ("%s %s%s"):format(p.template:match "sm%d+" or "simt", table.concat(p.tile, "x"),
    p.splits and p.splits > 1 and (" split %d"):format(p.splits) or "")
end

-- cuBLASLt's side; nil and why there is none.
local function theirs(type_of, shape, a_major, b_major, sets, bias)
  if more.bias == "row" then return nil, "adds a bias along columns alone" end
  return cublas.fastest(type_of, shape, a_major, b_major, sets,
    { adds = more.beta == 1, bias = bias })
end

-- Prints a line; gives the ratio to cuBLASLt.
local function bench(type_of, shape, a_major, b_major)
  local m, n, k = table.unpack(shape)
  local sets = products.make_sets(type_of, m, n, k, a_major, b_major, more.beta)
  local bias = more.bias
    and products.random_tensor(type_of.out, 1, more.bias == "row" and m or n, "k")
  local p, run = ours(type_of, sets, bias)
  local line = ("%-4s %5d x %5d x %5d %-3s %-3s %-25s"):format(type_of.name, m, n, k, a_major,
    b_major, describe(p))
  local other, reason = theirs(type_of, shape, a_major, b_major, sets, bias)
  if not other then
    local t = timing.time_all({ run }, false, turn)
    print(("%s %8.2f us %6.1f TFLOP/s, %4.0f MHz; cuBLASLt: %s"):format(line, 1000 * t[1],
      tflops(m, n, k, t[1]), timing.clock(), reason))
    return
  end
  local off = compare(run, other, sets)
  local t = timing.time_all({ run, other }, false, turn)
  print(("%s %8.2f us %6.1f TFLOP/s; cuBLASLt %8.2f us %6.1f; ratio %.3f, %4.0f MHz, off %.0e")
    :format(line, 1000 * t[1], tflops(m, n, k, t[1]), 1000 * t[2], tflops(m, n, k, t[2]),
    t[2] / t[1], timing.clock(), off))
  return t[2] / t[1]
end

-- ---- All ---------------------------------------------------------------------------------------

local chosen = {}

local function value_of(text)
  if text == "true" or text == "false" then return text == "true" end
  if not text:find "," then return math.tointeger(text) or text end
  local list = {}
  for piece in text:gmatch "[^,]+" do list[#list + 1] = math.tointeger(piece) end
  return list
end

local asked -- shapes of the command line

for _, word in ipairs(arg or {}) do
  local name, value = word:match "^([%w_]+)=(.*)$"
  local shape = products.shape_of(word)
  if name == "turn" then
    turn = assert(tonumber(value), "turn: a number of milliseconds")
  elseif name then
    more[name] = value_of(value)
    assert(name ~= "beta" or more.beta == 1, "beta: 1, or none")
  elseif shape then
    asked = asked or {}
    asked[#asked + 1] = shape
  else
    chosen[products.type_of(word).name] = true
  end
end

local function print_mean(name, ratios)
  if #ratios < 2 then return end
  local sum = 0
  for _, ratio in ipairs(ratios) do sum = sum + math.log(ratio) end
  print(("%-4s geometric mean of %d: %.3f"):format(name, #ratios, math.exp(sum / #ratios)))
end

local function bench_type(type_of)
  local ratios = {}
  for _, shape in ipairs(asked or type_of.all and SHAPES or SQUARES) do
    ratios[#ratios + 1] = bench(type_of, shape, "k", "k")
    collectgarbage()
  end
  print_mean(type_of.name, ratios)
  for _, shape in ipairs(not asked and type_of.majors and SQUARES or {}) do
    for _, majors in ipairs { { "row", "row" }, { "row", "k" }, { "k", "row" } } do
      bench(type_of, shape, majors[1], majors[2])
      collectgarbage()
    end
  end
end

for _, type_of in ipairs(products.TYPES) do
  if next(chosen) == nil or chosen[type_of.name] then bench_type(type_of) end
end
