-- Lists of 64 products of uneven sizes, in one launch, beside a graph of cuBLASLt's calls, one for
-- each: the medians of both and their ratio.
-- Usage, from the repository's root: LUA_CPATH=BUILD/bench/?.so lutile bench/grouped_gemm.lua

local lutile = require "lutile"
local cuda = require "lutile.cuda"

local device = require "bench.device"

local cublas = require "bench.cublas"
local data = require "lutile.tune.data"
local timing = require "bench.timing"

local GROUPS = 64
local TYPE = { name = "f16", out = "f16", stored = "f16", compute = "f32", scale = "f32" }

-- The same list in each run: rows as experts get them, and sizes of all kinds.
math.randomseed(1)
local function rows() return 8 * math.random(1, 128) end
local LISTS = {
  { name = "rows 8 to 1024, n 4096, k 2048", size = function() return { rows(), 4096, 2048 } end },
  { name = "rows, n and k 64 to 2048", size = function()
    return { 64 * math.random(1, 32), 64 * math.random(1, 32), 64 * math.random(1, 32) }
  end },
}

local function random_tensor(m, n)
  local t = cuda.tensor(TYPE.stored, lutile.make_layout({ m, n }, { n, 1 }))
  data.fill(t, "normal")
  return t
end

local function make_groups(size)
  local groups, flops = {}, 0
  for i = 1, GROUPS do
    local m, n, k = table.unpack(size())
    groups[i] = { A = random_tensor(m, k), B = random_tensor(n, k), C = random_tensor(m, n),
      size = { m, n, k } }
    flops = flops + 2 * m * n * k
  end
  cuda.synchronize()
  return groups, flops
end

local function tensors_of(groups)
  local list = {}
  for i, g in ipairs(groups) do list[i] = { A = g.A, B = g.B, C = g.C } end
  return list
end

local function replay(f)
  local graph = timing.stream:capture(f)
  return function() graph:launch(timing.stream) end
end

-- A replay of cuBLASLt's calls; nil and why there is none.
local function theirs(groups)
  local runs = {}
  for i, g in ipairs(groups) do
    local run, reason = cublas.fastest(TYPE, g.size, "k", "k", { g })
    if not run then return nil, reason end
    runs[i] = run
  end
  return replay(function() for _, run in ipairs(runs) do run(0) end end)
end

local function bench(list)
  local groups, flops = make_groups(list.size)
  local plan = lutile.plan.grouped_gemm { groups = tensors_of(groups), out = TYPE.out }
  local ours = replay(plan:prepare(tensors_of(groups), { stream = timing.stream }))
  local other, reason = theirs(groups)
  local t = timing.time_all({ ours, other }, true)
  local line = ("%-32s tile %s %8.1f us %6.1f TFLOP/s"):format(list.name,
    plan.shared and table.concat(plan.shared.tile, "x") or "each", 1000 * t[1],
    flops / t[1] * 1e-9)
  if not other then return print(line .. "; cuBLASLt: " .. reason) end
  print(("%s; cuBLASLt %8.1f us %6.1f; ratio %.3f, %4.0f MHz"):format(line, 1000 * t[2],
    flops / t[2] * 1e-9, t[2] / t[1], timing.clock()))
end

print(tostring(device))
print(cublas.describe())
for _, list in ipairs(LISTS) do bench(list) end
