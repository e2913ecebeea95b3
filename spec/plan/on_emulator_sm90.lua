-- Run by sm90_run_spec.lua with the pretended driver: gemm_sm90's kernels, compiled for the host
-- with emulated instructions. Prints a line a case.

local cuda = require "lutile.cuda"
local cases = require "spec.plan.sm90_cases"
local grouped = require "spec.plan.grouped_cases"
local plans = require "spec.plan.cases"

local emulated = require "spec.support.emulated"

cuda.compile, cuda.prepare_copy = emulated.compile, emulated.prepare_copy

local function report(name, good, problem)
  print(("%s: %s"):format(name, good and problem or "raises " .. tostring(problem)))
end

for _, case in ipairs(cases.emulated) do report(cases.name(case), pcall(cases.run, case, cuda)) end

local function there(t) return t:to(cuda) end
local function back(t) return t:to_host() end

for _, case in ipairs(plans.emulated_hopper()) do
  report(plans.name(case), pcall(plans.run, case, there, back))
end

report("grouped products", pcall(grouped.run, there, back))
report("grouped products, C is copied", pcall(grouped.run, there, back, 1))
