-- Plans of D = epilogue(alpha * A * B^T + beta * C + bias) for kernels/gemm_sm80.cu: cp.async,
-- ldmatrix and mma.sync; any strides and extents.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local block = require "lutile.plan.mma_block"
local emit = require "lutile.plan.emit"
local matrix = require "lutile.plan.matrix"
local mma_plan = require "lutile.plan.mma_plan"
local mma_rules = require "lutile.plan.mma_rules"
local mma_sync = require "lutile.plan.mma_sync"
local operand = require "lutile.plan.operand"
local operand_rules = require "lutile.plan.operand_rules"
local problem = require "lutile.plan.problem"
local tile = require "lutile.plan.tile"
local tma_operand = require "lutile.plan.tma_operand"

local M = {}

local BYTES = matrix.BYTES

local Plan = setmetatable({ template = "gemm_sm80.cu", entry = "gemm", includes = {} },
  { __index = base })
Plan.__index = Plan
Plan.__tostring = base.report
Plan.block_text = block.source

-- What is this template's alone.
function Plan:constants() return { emit.constant("kAsync", self.A.async or self.B.async) } end
function Plan:operand_source(name) return operand.source(self[name], self.mma) end

local MOST_THREADS = 256 -- more have fewer registers each, too few by that

-- Where ldmatrix loads both operands, all of NVVM has tuned the order of loads and MMAs.
function Plan:suits_fast_compile()
  if self.threads > MOST_THREADS or mma_sync.unpacks(self.dtype, self.arch) then return false end
  for _, o in ipairs { self.A, self.B } do
    local is_by_words = self.dtype == "tf32" and o.load == "whole"
    if o.load == "elements" or is_by_words and self.arch < 100 then return true end
  end
  return false
end

-- ---- The plan --------------------------------------------------------------------------------

-- Whether a thread has registers for two k-steps of operands at a time: not where its copies are of
-- less than 16 bytes, which are many, or go through registers, nor where it gathers elements or
-- unpacks fp8.
local function doubles(p)
  for _, o in ipairs { p.A, p.B } do
    if not o.async or o.vector * o.bytes < 16 or o.load == "elements" then return false end
  end
  return not mma_sync.unpacks(p.dtype, p.arch)
end

-- Registers and shared memory, by the operands and stages.
local function find_resources(p)
  p.doubles = doubles(p)
  mma_plan.count_registers(p)
  p.shared_bytes = p.stages * (p.A.stage_bytes + p.B.stage_bytes)
end

local function operand_of(p, name, rows)
  local lower = name:lower()
  return operand.new { name = name, rows = rows, k = p.tile[3], bytes = BYTES[p.dtype],
    major = p[lower .. "_major"], unit = p[lower .. "_unit"], vector_bytes = (p.vector or {})[name],
    steps = p.steps, threads = p.threads, arch = p.arch, rounds = p.rounds }
end

function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  p.arch = p.arch or 80
  local usual_blocks = mma_plan.choose(p)
  p.threads = lutile.size(p.mma)
  p.A, p.B = operand_of(p, "A", p.tile[1]), operand_of(p, "B", p.tile[2])
  p.stages = p.stages or tile.stages(p)
  find_resources(p)
  p.blocks = p.blocks or tile.blocks(p, usual_blocks)
  return p
end

-- ---- Changes ---------------------------------------------------------------------------------

-- What a script may change, and what refuses values that are nothing of the kind.
Plan.changeable = { mma = mma_rules.check_mma, stages = mma_rules.check_integer,
  blocks = mma_rules.check_integer, group = mma_rules.check_integer,
  ["A.shared"] = operand_rules.check_shared, ["B.shared"] = operand_rules.check_shared,
  ["A.copy"] = operand_rules.check_copy, ["B.copy"] = operand_rules.check_copy }

-- The operand for as many threads and k-steps as there are now: copied by all of them, where the
-- script does not say how.
local function derive_operand(p, o, was)
  if o.threads ~= p.threads and o.copy == was.copy then
    o.copy = operand.copy_layout(o, p.threads)
  end
  o.threads, o.steps, o.shared = p.threads, p.steps, tma_operand.plain(o.shared)
  operand.derive(o)
end

-- What follows from all that may be changed.
function Plan:derive(was)
  mma_plan.derive(self)
  self.threads = lutile.size(self.mma)
  derive_operand(self, self.A, was.A)
  derive_operand(self, self.B, was.B)
  find_resources(self)
  if self.blocks == was.blocks and not self.options.blocks then
    self.blocks = tile.blocks(self, was.blocks)
  end
end

Plan.check_changed = mma_rules.check_changed

-- ---- For a problem ---------------------------------------------------------------------------

local function describe(p, name, m)
  local lower = name:lower()
  p[lower .. "_major"], p[lower .. "_unit"], p.vector[name] = problem.describe_operand(m)
  p.reasons[#p.reasons + 1] = problem.reason(m, m.name, problem.MODES[m.name])
end

-- The plan for what plan.gemm knows of a product of the matrices a and b, in the kernel's roles.
function M.plan(p, a, b, d)
  p.vector = {}
  describe(p, "A", a)
  describe(p, "B", b)
  mma_plan.describe_result(p, d, "mma.sync", Plan.template)
  if mma_sync.unpacks(p.dtype, p.arch) then
    p.reasons[#p.reasons + 1] = ("%s and %s are multiplied as f16: mma.sync has fp8 for 8.9, and "
      .. "from 12.0 on"):format(p.dtype, p.dtype_b)
  end
  p = M.new(p)
  tile.check(p)
  return p
end

-- Refuses matrices in which the kernel's vectors would not be whole; 'addresses' of those on a
-- device.
function Plan:check_matrices(m, addresses)
  local vectors = { A = self.A.vector, B = self.B.vector }
  if self.transposed then vectors.A, vectors.B = vectors.B, vectors.A end
  for _, name in ipairs { "A", "B" } do
    matrix.check_fits(m[name], self.matrices[name], vectors[name], addresses[name])
  end
  mma_plan.check_results(self, m, addresses)
end

-- What host_gemm takes.
function Plan:host_plan() return self end

M.Plan = Plan

return M
