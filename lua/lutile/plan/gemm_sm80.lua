-- Plans of D = epilogue(alpha * A * B^T + beta * C + bias) for kernels/gemm_sm80.cu: cp.async,
-- ldmatrix and mma.sync; any strides and extents.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"
local base = require "lutile.plan.base"
local matrix = require "lutile.plan.matrix"
local mma_sync = require "lutile.plan.mma_sync"
local operand = require "lutile.plan.operand"
local problem = require "lutile.plan.problem"
local result = require "lutile.plan.result"
local sums = require "lutile.plan.sums"
local tile = require "lutile.plan.tile"

local M = {}

local BYTES = matrix.BYTES

-- ---- Choices ---------------------------------------------------------------------------------

local function atom_of(p)
  local a, b, acc = p.dtype:upper(), p.dtype_b:upper(), p.acc:upper()
  local types = acc .. a .. b .. acc
  if p.arch < 80 then
    if a == "F16" then return "SM75_16x8x8_" .. types .. "_TN" end
    return "SM75_8x8x16_" .. types .. "_TN"
  end
  local shapes = { [8] = "8x8x4", [4] = "16x8x8", [2] = "16x8x16", [1] = "16x8x32" }
  local shape = shapes[BYTES[p.dtype]]
  local since = a:match "^E%d" and "SM89_" or "SM80_"
  return since .. shape .. "_" .. types .. "_TN"
end

-- ---- As C++ ----------------------------------------------------------------------------------

local COMPUTE = { f64 = "double", s32 = "int", f32 = "float" } -- what the epilogue computes in

local BLOCK = [[
#define LUTILE_PLAN
#include "element.cuh"
#include "fragment.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

@CONSTANTS@

using Word = @WORD@;
using Register = Word;  /* of sums */
using Accumulator = element::@ACC@;
using Element = element::@OUT@;  /* of C, D and the bias */
using Compute = @COMPUTE@;

@A@

@B@

@SUMS@

@MMA@

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
@C@

DEVICE Compute epilogue(Compute x, int @m@, int @n@) { return @EPILOGUE@; }

}  // namespace plan
]]

-- So many sums C++ sees at once: of whole runs, for these are of two values at most, and an atom
-- has two registers or more.
local function registers_of_piece(p)
  local count = 16
  while p.sums % count ~= 0 do count = count // 2 end
  return count
end

local function sums_source(p)
  local starts, of_piece = {}, registers_of_piece(p)
  for first = 0, p.sums - 1, of_piece do starts[#starts + 1] = first end
  return sums.source { count = p.sums, starts = starts, of_piece = of_piece,
    constraint = p.A.word == 8 and "l" or "r", clears = true }
end

local function constants(p)
  local lines = {
    emit.constant("kBlockM", p.tile[1]), emit.constant("kBlockN", p.tile[2]),
    emit.constant("kBlockK", p.tile[3]), emit.constant("kAtomK", p.mma.shape_mnk[2]),
    emit.constant("kSteps", p.steps), emit.constant("kStages", p.stages),
    emit.constant("kThreads", p.threads),
    emit.constant("kBlocks", p.blocks, "of a multiprocessor, at least: bounds registers"),
    emit.constant("kAsync", p.A.async or p.B.async),
    emit.constant("kDoubles", p.doubles, "registers of two k-steps at a time"),
    emit.constant("kEarlyA", p.early[1] * p.words_of_a, "words of a k-step, loaded before it"),
    emit.constant("kEarlyB", p.early[2] * p.words_of_b),
    emit.constant("kRegistersOfPiece", registers_of_piece(p), "of a thread's sums"),
    emit.constant("kPieces", p.sums // registers_of_piece(p)),
    emit.constant("kGroup", p.group, "rows of tiles that blocks go down together"),
    emit.constant("kRun", p.run_size, "of neighbouring values, written at once"),
    emit.constant("kReadsC", p.reads_c),
    emit.constant("kScales", p.scales, "alpha is times a number in memory for A and for B"),
    ("  static constexpr Bias kBias = %s;"):format(
      ({ row = "kPerRow", column = "kPerColumn" })[p.bias] or "kNone"),
  }
  return emit.constants(lines)
end

local Plan = setmetatable({ template = "gemm_sm80.cu", entry = "gemm" }, { __index = base })
Plan.__index = Plan
Plan.__tostring = base.report

-- The generated block: everything that varies in the template.
function Plan:block()
  local fields = {
    CONSTANTS = constants(self), WORD = self.A.word == 8 and "unsigned long long" or "unsigned",
    ACC = self.acc, OUT = self.out, COMPUTE = COMPUTE[self.compute_type],
    A = operand.source(self.A, self.mma), B = operand.source(self.B, self.mma),
    SUMS = sums_source(self), MMA = mma_sync.source(self), EPILOGUE = self.epilogue,
    m = self.transposed and "n" or "m", n = self.transposed and "m" or "n",
    C = result.source(result.layouts(self.mma, self.tile[1], self.tile[2])),
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

-- ---- The plan --------------------------------------------------------------------------------

local function check_steps(p)
  for i, name in ipairs { "M", "N", "K" } do
    local extent = lutile.tile_size(p.mma, i - 1) * (i == 3 and 2 or 1)
    if p.tile[i] % extent ~= 0 then
      error(("%s of the tile is %d: a multiple of %d is needed, by the atom and the warps"):format(
        name, p.tile[i], extent), 0)
    end
  end
end

-- Whether a thread has registers for two k-steps of operands at a time: not where its copies are of
-- less than 16 bytes, which are many, or go through registers, nor where it gathers elements or
-- unpacks fp8.
local function doubles(p)
  for _, o in ipairs { p.A, p.B } do
    if not o.async or o.vector * o.bytes < 16 or o.load == "elements" then return false end
  end
  return not mma_sync.unpacks(p.dtype, p.arch)
end

-- Atoms of operand i whose registers are loaded a step before: a half of them where there are
-- registers for one step, else all but B's last load. With that one, too, ptxas takes 70 ms more,
-- but finds registers for all where it rounds f32 for 10.0 and on, and has 255 of them.
local function early_atoms(p, i)
  local takes_all = p.rounds and p.arch >= 100 and p.threads <= 256
  if p.doubles and (i == 1 or takes_all) then return p.atoms[i] end
  local o, words = i == 1 and p.A or p.B, i == 1 and p.words_of_a or p.words_of_b
  local of_load = operand.words_of_load(o, p.atoms[i] * words)
  return mma_sync.early(p.atoms[i], words, of_load, not p.doubles)
end

local function count_registers(p)
  local values = lutile.size(p.mma.c_layout) // 32
  p.words_of_c = p.acc == "f16" and values // 2 or values
  p.words_of_a = mma_sync.words(p.mma.a_layout, p.A)
  p.words_of_b = mma_sync.words(p.mma.b_layout, p.B)
  p.doubles = doubles(p)
  p.atoms = { p.tile[1] // lutile.tile_size(p.mma, 0), p.tile[2] // lutile.tile_size(p.mma, 1) }
  p.early = { early_atoms(p, 1), early_atoms(p, 2) }
  p.sums = p.atoms[1] * p.atoms[2] * p.words_of_c
  p.words_of_step = p.atoms[1] * p.words_of_a + p.atoms[2] * p.words_of_b
end

function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  p.arch = p.arch or 80
  p.dtype_b = p.dtype_b or p.dtype
  p.acc = p.acc or problem.DEFAULT_ACC[p.dtype]
  p.out = p.out or (p.acc == "s32" and "s32" or p.acc == "f64" and "f64" or "f32")
  p.compute_type = COMPUTE[p.out] and p.out or "f32"
  p.atom = p.atom or atom_of(p)
  p.reasons = p.reasons or {}
  local usual_blocks
  if not p.tile then
    local choice = tile.choose(p)
    p.tile, p.warps, p.stages = choice.tile, p.warps or choice.warps, p.stages or choice.stages
    usual_blocks = choice.blocks
  end
  p.warps = p.warps or tile.warps(p)
  p.mma = lutile.make_tiled_mma(p.atom, lutile.make_layout { p.warps[1], p.warps[2], 1 },
    p.permutation)
  check_steps(p)
  p.threads = lutile.size(p.mma)
  p.steps = p.tile[3] // p.mma.shape_mnk[2]
  p.group = p.group or 8
  local vector = p.vector or {}
  local bytes = BYTES[p.dtype]
  p.A = operand.new { name = "A", rows = p.tile[1], k = p.tile[3], bytes = bytes, major = p.a_major,
    unit = p.a_unit, vector_bytes = vector.A, steps = p.steps, threads = p.threads, arch = p.arch,
    rounds = p.rounds }
  p.B = operand.new { name = "B", rows = p.tile[2], k = p.tile[3], bytes = bytes, major = p.b_major,
    unit = p.b_unit, vector_bytes = vector.B, steps = p.steps, threads = p.threads, arch = p.arch,
    rounds = p.rounds }
  count_registers(p)
  p.run_size = p.run_size or 2
  p.reads_c, p.scales = p.reads_c or false, p.scales or false
  p.epilogue = p.epilogue or "x"
  p.stages = p.stages or tile.stages(p)
  p.shared_bytes = p.stages * (p.A.stage_bytes + p.B.stage_bytes)
  p.blocks = p.blocks or tile.blocks(p, usual_blocks or 1)
  return p
end

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
  p.run_size = math.min(d.unit == "column" and matrix.vector(d, 2) or 1, 16 // d.bytes)
  p.reasons[#p.reasons + 1] = problem.reason_of_result(p.matrices.C, p.run_size)
  p.title = ("gemm: %s x %s -> %s, sums of %s, by mma.sync, gemm_sm80.cu"):format(p.dtype,
    p.dtype_b, p.out, p.acc)
  p = M.new(p)
  tile.check(p)
  return p
end

-- Refuses matrices in which the kernel's vectors would not be whole; 'addresses' of those on a
-- device.
function Plan:check_matrices(m, addresses)
  local run = self.run_size > 1 and self.run_size or nil
  local vectors = { A = self.A.vector, B = self.B.vector, C = run, D = run }
  if self.transposed then vectors.A, vectors.B = vectors.B, vectors.A end
  for _, name in ipairs { "A", "B", "C", "D" } do
    matrix.check_fits(m[name], self.matrices[name], vectors[name], addresses[name])
  end
end

-- What host_gemm takes.
function Plan:host_plan() return self end

M.Plan = Plan

return M
