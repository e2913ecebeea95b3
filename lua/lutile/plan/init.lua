-- Plans: kernels for tensor cores as tables of layouts and numbers, chosen from the layouts of the
-- matrices.
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

--[[
plan.gemm{A =, B =, C =, ...}: D = epilogue(alpha * A * B^T + beta * C + bias)

  A, B, C   tensors, or layouts: (M,K), (N,K), (M,N), with batches (M,K,L) ...; C is also D's
  M, N, K, L   instead of layouts: numbers, or dyn(n, promise); a_major, b_major, c_major: "row"
            where mode 0 is contiguous, by default mode 1
  dtype     of A (f16, bf16, tf32, f64, s8, u8, e4m3, e5m2); dtype_b of B; tf32 takes tensors of f32
  acc, out  of the accumulators, by default f32, f64 or s32; of C and D, by default acc
  beta      whether C is read: false
  bias      "row" or "column": of an element for each row or column of D
  epilogue  a C++ expression of x, m and n: "x"; host_epilogue(x, m, n): the same for the host
  scales    whether a run has scale_a and scale_b, an f32 in memory each, which alpha is times
  arch, multiprocessors   by default device 0's
  template  "gemm_sm80.cu", "gemm_sm90.cu": by default the latter where it can
  tile, stages, group   as a script would have them; warps, blocks of gemm_sm80.cu, cluster and
            ping_pong, splits, dependent, skew of gemm_sm90.cu
  tuned     false: not as lutile.tune found, by the model alone
]]
M.gemm = guard("plan.gemm", function(options) return tuned.plan(gemm.plan, options) end)

--[[
plan.grouped_gemm{groups = {{A =, B =, C =}, ...}, ...}: a list of products of any sizes, each as
plan.gemm's; the other options are for all of them

  groups    tensors, or layouts, or M, N, K ... as for plan.gemm
  dtype, dtype_b, acc, out, beta, bias, epilogue, host_epilogue, arch, multiprocessors, tile,
  ping_pong, group, stages   as for plan.gemm

plan:run(groups) takes a list of {A =, B =, C = [, D =] [, bias =]}; on Hopper, where TMA can read
all matrices, and they are alike, it is one launch.
]]
M.grouped_gemm = guard("plan.grouped_gemm", grouped_gemm.plan)

--[[
plan.chained_gemm{A =, B =, D =, ...}: D = (A * B^T) * B^T, A of (M,N), B of (N,N), N <= 256

  A, B, D   tensors, or layouts; instead: M, N, a_major, b_major, d_major
  dtype     f16 or bf16; out: of D: f32
  arch, warps, stages, rows, parts, block_k   as for gemm
]]
M.chained_gemm = guard("plan.chained_gemm", chained_gemm.plan)

-- A method of plans, which says so where it is called with a dot.
local function method(name, f)
  return guard("plan:" .. name, function(p, ...)
    if type(p) == "table" and p.plan then return f(p, ...) end
    error(("a plan expected, got %s (plan:%s(...), with a colon)"):format(type(p), name), 0)
  end)
end

for _, family in pairs(gemm.families) do
  family.Plan.run = method("run", run.gemm)
  family.Plan.prepare = method("prepare", run.prepare)
end
base.with = method("with", base.with)
grouped_gemm.Plan.run = method("run", run_grouped.run)
grouped_gemm.Plan.prepare = method("prepare", run_grouped.prepare)
chained_gemm.Plan.run = method("run", run.chained_gemm)

return M
