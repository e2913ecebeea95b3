-- Run by sm90_run_spec.lua with the pretended driver: gemm_sm90's kernels, compiled for the host
-- with emulated instructions. Prints a line a case.

local cuda = require "lutile.cuda"
local cases = require "spec.plan.sm90_cases"

cuda.compile = require "spec.support.emulated".compile

for _, case in ipairs(cases.emulated) do
  local good, problem = pcall(cases.run, case, cuda)
  print(("%s: %s"):format(cases.name(case), good and problem or "raises " .. tostring(problem)))
end
