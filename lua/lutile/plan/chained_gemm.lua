-- Plans of D = (A * B^T) * B^T for kernels/chained_gemm.cu: A is (m, n), B is (n, n), and n is at
-- most 256.
--
-- The first product's accumulators are the second one's operand A as they lie in the registers.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local emit = require "lutile.plan.emit"
local matrix = require "lutile.plan.matrix"
local operand = require "lutile.plan.operand"
local problem = require "lutile.plan.problem"
local result = require "lutile.plan.result"
local tile = require "lutile.plan.tile"

local M = {}

local LARGEST_N = 256

-- For each register value of operand A (of any thread: they are alike), the accumulator that it is.
local function accumulators_as_operand(p)
  local index = lutile.make_layout { p.rows, p.columns }
  local slice = p.mma:get_slice(0)
  local C, A = slice:partition_C(index).layout, slice:partition_A(index).layout
  local acc = lutile.make_layout(C.shape) -- compact registers
  return lutile.composition(acc, lutile.composition(lutile.left_inverse(C), A))
end

local BLOCK = [[
#define LUTILE_PLAN
#include "element.cuh"
#include "fragment.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

namespace plan {

@CONSTANTS@

using Operand = element::@TYPE@;  /* of A and B */
using Element = element::@OUT@;  /* of D */

@A@

@B@

/* The rows of B for a part of D's columns. */
@ROWS@

DEVICE void mma(float *d, const unsigned *a, const unsigned *b) {
  mma::@ATOM@((unsigned *)d, a, b);
}

/* The accumulator that is value i of operand A: acc .. (~C .. A). */
@P@

/* Coordinates in the rows of D of an accumulator: the thread's first, and value i from there. */
@C@

/* The values in the order in which they are written: runs of kRun neighbours. */
@RUN@

}  // namespace plan
]]

local Plan = setmetatable({ template = "chained_gemm.cu", entry = "chained_gemm" },
  { __index = base })
Plan.__index = Plan
Plan.__tostring = base.report

function Plan:block()
  local c = result.layouts(self.mma, self.rows, self.columns // self.parts)
  local fields = {
    CONSTANTS = emit.constants {
      emit.constant("kBlockM", self.rows), emit.constant("kColumns", self.columns, "n or more"),
      emit.constant("kBlockK", self.A.k), emit.constant("kAtomK", self.mma.shape_mnk[2]),
      emit.constant("kSteps", self.steps), emit.constant("kStages", self.stages),
      emit.constant("kThreads", self.threads),
      emit.constant("kBlocks", self.blocks, "of a multiprocessor, at least: bounds registers"),
      emit.constant("kWarpsN", 1),
      emit.constant("kAsync", self.A.async or self.B.async),
      emit.constant("kAtomsM", self.rows // lutile.tile_size(self.mma, 0), "of a warp"),
      emit.constant("kAtomsN", self.columns // lutile.tile_size(self.mma, 1)),
      emit.constant("kRun", self.run_size), emit.constant("kValuesOfPart", c.values),
      emit.constant("kParts", self.parts),
      emit.constant("kColumnsOfPart", self.columns // self.parts),
    },
    TYPE = self.dtype, OUT = self.out, ATOM = self.atom,
    A = operand.source(self.A, self.mma), B = operand.source(self.B, self.mma),
    ROWS = operand.source(self.Rows, self.mma),
    P = emit.functions { emit.layout("p_value", self.p_value) },
    C = result.source(c),
    RUN = emit.functions { emit.layout("run_value", lutile.make_layout(c.values)) },
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

local function check_multiples(p)
  if p.columns % p.parts ~= 0 then
    error(("parts is %d, and does not divide N, %d in multiples of block_k"):format(p.parts,
      p.columns), 0)
  end
  local function check(what, n, multiple)
    if n % multiple ~= 0 then
      error(("%s is %d: a multiple of %d is needed, by the atom and the warps"):format(what, n,
        multiple), 0)
    end
  end
  check("block_k", p.block_k, p.mma.shape_mnk[2])
  check("rows", p.rows, lutile.tile_size(p.mma, 0))
  check(("each of %d parts of N, %d in multiples of block_k,"):format(p.parts, p.columns),
    p.columns // p.parts, lutile.tile_size(p.mma, 1))
end

function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  p.arch = p.arch or 80
  p.dtype, p.out = p.dtype or "f16", p.out or "f32"
  if p.n < 1 or p.n > LARGEST_N then
    error(("N is %d, where 1 to %d will do"):format(p.n, LARGEST_N), 0)
  end
  p.atom = p.atom or (p.arch < 80 and "SM75_16x8x8_" or "SM80_16x8x16_")
    .. ("F32%s%sF32_TN"):format(p.dtype:upper(), p.dtype:upper())
  p.block_k = p.block_k or 32
  p.columns = (p.n + p.block_k - 1) // p.block_k * p.block_k
  p.warps = p.warps or 8
  p.mma = lutile.make_tiled_mma(p.atom, lutile.make_layout { p.warps, 1, 1 })
  p.threads = lutile.size(p.mma)
  p.parts = p.parts or (p.columns % 32 == 0 and 2 or 1)
  p.rows = p.rows or p.warps * p.mma.shape_mnk[0] * (p.columns <= 128 and 2 or 1)
  p.steps = p.block_k // p.mma.shape_mnk[2]
  p.stages = p.stages or (p.arch < 80 and 2 or 3)
  p.run_size, p.blocks = p.run_size or 2, p.blocks or 1
  check_multiples(p)
  local function new_operand(name, struct, rows, major, vector)
    local unit = p[name:lower() .. "_unit"]
    return operand.new { name = name, struct = struct, rows = rows, k = p.block_k, bytes = 2,
      major = major, unit = unit, vector_bytes = vector, steps = p.steps, threads = p.threads,
      arch = p.arch }
  end
  local vector = p.vector or {}
  p.A = new_operand("A", "A", p.rows, p.a_major, vector.A)
  p.B = new_operand("B", "B", p.columns, p.b_major, vector.B)
  p.Rows = new_operand("B", "Rows", p.columns // p.parts, p.b_major, vector.B)
  p.Rows.stage_bytes = p.B.stage_bytes -- they take turns in the same stages
  p.p_value = accumulators_as_operand(p)
  p.shared_bytes = p.stages * (p.A.stage_bytes + p.B.stage_bytes)
  return p
end

-- ---- From layouts ----------------------------------------------------------------------------

local KNOWN = {}
for name in ([[A B D M N a_major b_major d_major dtype out arch warps stages rows parts
  block_k]]):gmatch "[%w_]+" do
  KNOWN[name] = true
end

local function choose_types(p, options)
  local x = options.A
  p.dtype = options.dtype or matrix.is_tensor(x) and x.dtype
  if not p.dtype then error("dtype is missing (A is no tensor that would have one)", 0) end
  if p.dtype ~= "f16" and p.dtype ~= "bf16" then
    error(("elements are f16 or bf16, not %s"):format(tostring(p.dtype)), 0)
  end
  problem.check_types(p.dtype, p.dtype, p.arch)
  p.out = options.out or matrix.is_tensor(options.D) and options.D.dtype or "f32"
  if p.out ~= "f32" and p.out ~= "f16" and p.out ~= "bf16" then
    error(("D is f32, f16 or bf16, not %s"):format(tostring(p.out)), 0)
  end
end

local function matrices_of(p, options)
  local m = { A = problem.matrix(options, "A", "M", "N", options.a_major, p.dtype) }
  local n = m.A.column.extent
  m.B = problem.matrix({ B = options.B, N = n }, "B", "N", "N", options.b_major, p.dtype)
  m.D = problem.matrix({ D = options.D, M = m.A.row.extent, N = n }, "D", "M", "N",
    options.d_major, p.out)
  for name, wanted in pairs { A = p.dtype, B = p.dtype, D = p.out } do
    matrix.check_plain(m[name])
    if m[name].dtype ~= wanted then
      error(("%s has elements of %s, and the product takes %s"):format(name, m[name].dtype,
        wanted), 0)
    end
  end
  return m
end

-- How the script names the modes of A (M,N) and B (N,N).
local MODES = { A = { row = "M", column = "N" }, B = { row = "mode 0", column = "mode 1" } }

function M.plan(options)
  problem.check_options(options, KNOWN)
  local arch, reason = problem.architecture(options)
  local p = { arch = arch, reasons = { reason }, vector = {}, options = options }
  for _, name in ipairs { "warps", "stages", "rows", "parts", "block_k" } do
    p[name] = options[name]
  end
  choose_types(p, options)
  p.matrices = matrices_of(p, options)
  local _, n = matrix.extents(p.matrices.A)
  p.n = n
  for _, name in ipairs { "A", "B" } do
    local m, lower = p.matrices[name], name:lower()
    p[lower .. "_major"], p[lower .. "_unit"], p.vector[name] = problem.describe_operand(m)
    p.reasons[#p.reasons + 1] = problem.reason(m, name, MODES[name])
  end
  local d = p.matrices.D
  p.run_size = d.unit == "column" and matrix.vector(d, 2) or 1
  p.reasons[#p.reasons + 1] = problem.reason_of_result(d, p.run_size)
  p.title = ("chained_gemm: (A * B^T) * B^T of %s -> %s"):format(p.dtype, p.out)
  for _, name in ipairs { "warps", "stages", "rows", "parts", "block_k" } do
    if options[name] ~= nil then tile.check_integers(name, options[name]) end
  end
  p = M.new(p)
  tile.check(p)
  return p
end

Plan.plan = M.plan
M.Plan = Plan

return M
