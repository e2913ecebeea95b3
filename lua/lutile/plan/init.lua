-- Plans: kernels of matrix products as tables of layouts and numbers, chosen from the types and the
-- layouts of the matrices.
--
--   local p = lutile.plan.gemm { A = A, B = B, C = C }   -- tensors, or layouts and dtype
--   print(p)                                             -- the layouts, and why these
--   p:run(A, B, C)                                       -- C = A * B^T

local base = require "lutile.plan.base"
local gemm = require "lutile.plan.gemm"
local chained_gemm = require "lutile.plan.chained_gemm"
local grouped_gemm = require "lutile.plan.grouped_gemm"
local guard = require "lutile.plan.guard"
local run = require "lutile.plan.run"
local run_grouped = require "lutile.plan.run_grouped"
local tuned = require "lutile.plan.tuned"

local M = {}

-- plan.gemm{A =, B =, C =, ...}: D = epilogue(alpha * A * B^T + beta * C + bias). All options are
-- in lutile.meta, from where help "plan.gemm" has them.
M.gemm = guard("plan.gemm", function(options) return tuned.plan(gemm.plan, options) end)

-- plan.grouped_gemm{groups = {{A =, B =, C =}, ...}, ...}: a list of products of any sizes;
-- plan:run(groups) takes a list of {A =, B =, C = [, D =] [, bias =]}.
M.grouped_gemm = guard("plan.grouped_gemm", grouped_gemm.plan)

-- plan.chained_gemm{A =, B =, D =, ...}: D = (A * B^T) * B^T, A of (M,N), B of (N,N), N <= 256.
M.chained_gemm = guard("plan.chained_gemm", chained_gemm.plan)

-- A method of plans, which says so where it is called with a dot.
local function method(name, f)
  return guard("plan:" .. name, function(p, ...)
    if type(p) == "table" and p.plan then return f(p, ...) end
    error(("a plan expected, got %s (plan:%s(...), with a colon)"):format(type(p), name), 0)
  end)
end

-- The classes, by the names that lutile.meta has of them.
M.classes = { chained_gemm.Plan, grouped_gemm.Plan }
chained_gemm.Plan.__name, grouped_gemm.Plan.__name = "lutile.Plan", "lutile.GroupedPlan"
for _, family in pairs(gemm.families) do
  M.classes[#M.classes + 1], family.Plan.__name = family.Plan, "lutile.Plan"
  family.Plan.run = method("run", run.gemm)
  family.Plan.prepare = method("prepare", run.prepare)
end
for _, name in ipairs { "with", "report", "svg", "source", "compile_options", "kernel",
  "check" } do
  base[name] = method(name, base[name])
end
grouped_gemm.Plan.run, grouped_gemm.Plan.prepare = run_grouped.run, run_grouped.prepare
for _, name in ipairs { "run", "prepare", "single", "svg", "source", "compile_options",
  "kernel", "check" } do
  grouped_gemm.Plan[name] = method(name, grouped_gemm.Plan[name])
end
chained_gemm.Plan.run = method("run", run.chained_gemm)
chained_gemm.Plan.prepare = method("prepare", run.prepare_chained)

return M
