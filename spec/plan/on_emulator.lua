-- Run by run_spec.lua with the pretended driver: plan:run on a device, whose kernels are the
-- templates themselves, compiled for the host with emulated instructions. Prints a line a case.

local cuda = require "lutile.cuda"
local cases = require "spec.plan.cases"

cuda.compile = require "spec.support.emulated".compile

-- The emulator has every instruction; with few multiprocessors blocks go through several tiles.
local device = cuda.device
function cuda.device(i)
  local d = device(i)
  d.major, d.minor, d.multiprocessors = 9, 0, 2
  return d
end

local function to_device(t) return t:to(cuda) end
local function to_host(t) return t:to_host() end

for _, list in ipairs { cases.emulated, cases.mma_by_tma } do
  for _, case in ipairs(list) do
    local good, problem = pcall(cases.run, case, to_device, to_host)
    print(("%s: %s"):format(cases.name(case), good and problem or "raises " .. problem))
  end
end

-- Tensors of the host go to the device and come back; two runs share a kernel.
local compiled, compile = 0, cuda.compile
function cuda.compile(spec)
  compiled = compiled + 1
  return compile(spec)
end

local lutile = require "lutile"
local l = lutile.make_layout({ 16, 16 }, { 16, 1 })
local A, B, C = lutile.make_tensor("f16", l), lutile.make_tensor("f16", l),
  lutile.make_tensor("f32", l)
for i = 0, 255 do A[i], B[i] = i % 5 - 2, i % 3 + 1 end
local plan = lutile.plan.gemm { A = A, B = B, C = C, template = "gemm_sm80.cu" }
plan:run(A, B, C)
local first = lutile.make_tensor("f32", l)
plan:run(A, B, first)
plan:run(A, B, C, { on = "host" })
local wrong = 0
for i = 0, 255 do if C(i) ~= first(i) or C(0, 1) == 0 then wrong = wrong + 1 end end
print(("tensors of the host: %d wrong, %d compiled"):format(wrong, compiled))
