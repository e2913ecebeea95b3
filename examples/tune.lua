-- A matrix product tuned for the GPU at hand: plans around the one that lutile's model chooses are
-- compiled, checked, and timed in turn. From then on lutile.plan.gemm takes the fastest, for these
-- sizes on this device.
--
-- Usage: lutile tune.lua [M N K]

local lutile = require "lutile"
local cuda = require "lutile.cuda"

local there, why = cuda.available()
if not there then
  print("no GPU to tune for: " .. why)
  return
end

local M, N, K = table.unpack(#arg == 3 and arg or { 1024, 1024, 1024 })
local sizes = { M = math.tointeger(M), N = math.tointeger(N), K = math.tointeger(K), dtype = "f16",
  out = "f16" }

local candidates = {
  tile = { { 128, 128, 64 }, { 128, 64, 64 }, { 64, 64, 64 } },
  stages = { 3, 4, 5 },
}

local options = { candidates = candidates, seconds = 2 }
for name, x in pairs(sizes) do options[name] = x end

local plan, results = lutile.tune.gemm(options)
print(tostring(cuda.device()))
print(results)
print()
print("the fastest: " .. plan.reasons[#plan.reasons])

local again = lutile.plan.gemm(sizes)
print("plan.gemm:   " .. again.reasons[#again.reasons])
assert(results.not_kept or again:source() == plan:source())
