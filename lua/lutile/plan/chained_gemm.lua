-- Plans of D = (A * B^T) * B^T for kernels/chained_gemm.cu: A is (m, n), B is (n, n), and n is at
-- most 256.
--
-- The first product's accumulators are the second one's operand A as they lie in the registers.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local chained_tile = require "lutile.plan.chained_tile"
local edits = require "lutile.plan.edits"
local emit = require "lutile.plan.emit"
local matrix = require "lutile.plan.matrix"
local mma_rules = require "lutile.plan.mma_rules"
local mma_sync = require "lutile.plan.mma_sync"
local operand = require "lutile.plan.operand"
local operand_rules = require "lutile.plan.operand_rules"
local problem = require "lutile.plan.problem"
local result = require "lutile.plan.result"
local sums = require "lutile.plan.sums"
local tile = require "lutile.plan.tile"
local tma_operand = require "lutile.plan.tma_operand"

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
#include "swizzle.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

@CONSTANTS@

using Word = unsigned;
using Register = Word;  /* of sums */
using Accumulator = element::f32;
using Element = element::@OUT@;  /* of D */
using Compute = float;

@A@

@B@

@SUMS@

@P@

@MMA@

/* Coordinates in the tile of D of an accumulator: the thread's first, and value i from there. */
@C@

DEVICE Compute epilogue(Compute x, int, int) { return x; }

}  // namespace plan
]]

local Plan = setmetatable({ template = "chained_gemm.cu", entry = "chained_gemm" },
  { __index = base })
Plan.__index = Plan
Plan.__tostring = base.report

-- Registers of sums that C++ sees at once: those of two atoms where runs have columns of both.
local function pieces_of(p)
  if p.run_size == 4 then return 2 * p.words_of_c end
  return result.registers_of_piece(p, p.atoms)
end

local function sums_source(p)
  local starts, of_piece = {}, pieces_of(p)
  for first = 0, p.sums - 1, of_piece do starts[#starts + 1] = first end
  return sums.source { count = p.sums, starts = starts, of_piece = of_piece, constraint = "r",
    clears = true }
end

local function words_of_tile(p) return p.steps * p.atoms[1] * p.words_of_a end

local function constants(p)
  local of_piece = pieces_of(p)
  return emit.constants {
    emit.constant("kBlockM", p.rows, "of a group"),
    emit.constant("kColumns", p.columns, "n or more"),
    emit.constant("kBlockK", p.A.k), emit.constant("kAtomK", p.mma.shape_mnk[2]),
    emit.constant("kSteps", p.steps), emit.constant("kStages", p.stages),
    emit.constant("kThreads", p.threads // p.groups, "of a group"),
    emit.constant("kGroups", p.groups),
    emit.constant("kBlocks", p.blocks, "of a multiprocessor, at least: bounds registers"),
    emit.constant("kAsync", p.A.async or p.B.async),
    emit.constant("kStaysB", p.stays, "in shared memory, all of it"),
    emit.constant("kWordsOfGroup", p.group_atoms * p.words_of_b,
      "of B, for a group of columns in a k-step"),
    emit.constant("kRegistersOfTile", words_of_tile(p), "of P, for a tile along k"),
    emit.constant("kRegistersOfPiece", of_piece, "of a thread's sums"),
    emit.constant("kPieces", p.sums // of_piece),
    emit.constant("kRun", p.run_size, "of neighbouring values, written at once"),
    emit.constant("kReadsC", false),
    "  static constexpr Bias kBias = kNone;",
  }
end

local function places_of_result(p)
  local c = result.layouts(p.mma, p.rows, p.columns)
  return p.run_size == 4 and result.by_fours(c) or c
end

function Plan:block_text()
  local fields = {
    CONSTANTS = constants(self), OUT = self.out,
    A = operand.source(self.A, self.mma), B = operand.source(self.B, self.mma),
    SUMS = sums_source(self), MMA = mma_sync.source_by_groups(self, self.group_atoms),
    P = sums.operand { values = self.p_value, dtype = self.dtype, arch = self.arch,
      of_piece = words_of_tile(self) },
    C = result.source(places_of_result(self)),
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

-- ---- Plans -------------------------------------------------------------------------------------

local function set_defaults(p)
  p.arch = p.arch or 80
  p.dtype, p.out = p.dtype or "f16", p.out or "f32"
  p.acc, p.dtype_b = "f32", p.dtype -- as all plans by mma.sync have them
  p.block_k, p.run_size = p.block_k or 32, p.run_size or 4
  p.atom = p.atom or (p.arch < 80 and "SM75_16x8x8_" or "SM80_16x8x16_")
    .. ("F32%s%sF32_TN"):format(p.dtype:upper(), p.dtype:upper())
end

-- An operand, of which a thread loads so many words at once.
local function new_operand(p, name, rows, words_at_once)
  local lower = name:lower()
  return operand.new { name = name, rows = rows, k = p.block_k, bytes = 2,
    major = p[lower .. "_major"], unit = p[lower .. "_unit"],
    vector_bytes = p.vector and p.vector[name], steps = p.steps, threads = p.threads // p.groups,
    arch = p.arch, words_at_once = words_at_once }
end

-- Whether a thread may have four neighbouring columns of D: rows of B are loaded by matrices of two
-- atoms then, in another order for the second product.
local function goes_by_fours(p)
  return p.atoms[1] == 1 and p.B.load == "matrices" and p.words_of_b == 2
    and p.group_atoms % 2 == 0
end

function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  if p.n < 1 or p.n > LARGEST_N then
    error(("N is %d, where 1 to %d will do"):format(p.n, LARGEST_N), 0)
  end
  set_defaults(p)
  chained_tile.choose(p)
  p.A = new_operand(p, "A", p.rows)
  p.B = new_operand(p, "B", p.columns, p.group_atoms * p.words_of_b)
  p.run_size = math.min(p.run_size, goes_by_fours(p) and 4 or 2)
  p.B.by_fours = p.run_size == 4
  p.p_value = accumulators_as_operand(p)
  return p
end

-- ---- Changes ---------------------------------------------------------------------------------

-- What a script may change, and what refuses values that are nothing of the kind.
Plan.changeable = { stages = mma_rules.check_integer, blocks = mma_rules.check_integer,
  ["A.shared"] = operand_rules.check_shared, ["B.shared"] = operand_rules.check_shared,
  ["A.copy"] = operand_rules.check_copy, ["B.copy"] = operand_rules.check_copy }

-- What follows from all that may be changed.
function Plan:derive(was)
  for _, o in ipairs { self.A, self.B } do
    o.shared = tma_operand.plain(o.shared)
    operand.derive(o)
  end
  self.shared_bytes = chained_tile.shared_bytes(self)
  if self.blocks == was.blocks and not self.options.blocks then
    self.blocks = math.min(was.blocks, chained_tile.choose_blocks(self))
  end
end

-- Refuses changed layouts and numbers that the kernel cannot follow.
function Plan:check_changed()
  operand_rules.check(self.A, self.mma)
  operand_rules.check(self.B, self.mma)
  tile.check(self)
  chained_tile.check_registers(self)
  self:block_text() -- which checks that offsets are sums of parts
end

-- ---- From layouts ----------------------------------------------------------------------------

local NUMBERS = { "warps", "groups", "blocks", "stages", "rows", "block_k", "multiprocessors" }
local KNOWN = {}
for name in ([[A B D M N a_major b_major d_major dtype out arch multiprocessors warps groups
  blocks stages rows block_k]]):gmatch "[%w_]+" do
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
  problem.check_element("D", p.out, p.arch)
end

-- Refuses batches.
function M.check_single(m)
  if m.batch.extent ~= 1 then
    error(("%s %s has %d matrices, where one is multiplied at a time"):format(m.name,
      tostring(m.layout), m.batch.extent), 0)
  end
end

-- Refuses matrices that do not go together.
function M.check_extents(m)
  local rows, n = matrix.extents(m.A)
  local b_rows, b_columns = matrix.extents(m.B)
  local d_rows, d_columns = matrix.extents(m.D)
  if b_rows ~= n or b_columns ~= n or d_rows ~= rows or d_columns ~= n then
    error(("A is %d x %d, so B must be %d x %d and D %d x %d; they are %d x %d and %d x %d"):format(
      rows, n, n, n, rows, n, b_rows, b_columns, d_rows, d_columns), 0)
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
    M.check_single(m[name])
  end
  M.check_extents(m)
  return m
end

-- How the script names the modes of A (M,N) and B (N,N).
local MODES = { A = { row = "M", column = "N" }, B = { row = "mode 0", column = "mode 1" } }

function M.plan(options)
  problem.check_options(options, KNOWN)
  local arch, reason, multiprocessors = problem.architecture(options)
  problem.check_tensor_cores(arch)
  local p = { arch = arch, reasons = { reason }, vector = {}, options = options,
    multiprocessors = multiprocessors }
  for _, name in ipairs(NUMBERS) do
    if options[name] ~= nil then tile.check_integers(name, options[name]) end
    p[name] = options[name] or p[name]
  end
  choose_types(p, options)
  p.matrices = matrices_of(p, options)
  p.m, p.n = matrix.extents(p.matrices.A)
  for _, name in ipairs { "A", "B" } do
    local m, lower = p.matrices[name], name:lower()
    p[lower .. "_major"], p[lower .. "_unit"], p.vector[name] = problem.describe_operand(m)
    p.reasons[#p.reasons + 1] = problem.reason(m, name, MODES[name])
  end
  local d = p.matrices.D
  p.run_size = d.unit == "column" and matrix.vector(d, 4) or 1
  p.title = ("chained_gemm: (A * B^T) * B^T of %s -> %s"):format(p.dtype, p.out)
  p = M.new(p)
  p.reasons[#p.reasons + 1] = problem.reason_of_result(d, p.run_size)
  tile.check(p)
  chained_tile.check_registers(p)
  return edits.remember(p)
end

Plan.plan, Plan.option_names = M.plan, KNOWN
M.Plan = Plan

return M
