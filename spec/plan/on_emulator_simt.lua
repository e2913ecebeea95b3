-- Run by simt_spec.lua with the pretended driver: kernels of simt_gemm.cu, compiled for the host.
-- Prints a line a case.

local cuda = require "lutile.cuda"
local cases = require "spec.plan.simt_cases"

local copies = require "lutile.cuda.copy"
local host = require "spec.support.kernel_on_host"

cuda.compile = require "spec.support.emulated".compile
copies.compile = host.compile

local function to_device(t) return t:to(cuda) end
local function to_host(t) return t:to_host() end

for _, case in ipairs(cases.all) do
  local good, problem = pcall(case[2], to_device, to_host)
  print(("%s: %s"):format(case[1], good and problem or "raises " .. problem))
end
