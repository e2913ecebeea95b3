-- The block of C++ that a plan by mma.sync writes for its template: constants, operands, sums,
-- MMAs, the epilogue. A template's own are p.includes, p:constants() and p:operand_source(name).

local emit = require "lutile.plan.emit"
local mma_sync = require "lutile.plan.mma_sync"
local result = require "lutile.plan.result"
local sums = require "lutile.plan.sums"

local M = {}

local COMPUTE = { f64 = "double", s32 = "int", f32 = "float" } -- what the epilogue computes in
M.COMPUTE = COMPUTE

local BLOCK = [[
#define LUTILE_PLAN
@INCLUDES@

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

local function sums_source(p)
  local starts, of_piece = {}, result.registers_of_piece(p, p.atoms)
  for first = 0, p.sums - 1, of_piece do starts[#starts + 1] = first end
  return sums.source { count = p.sums, starts = starts, of_piece = of_piece,
    constraint = p.A.word == 8 and "l" or "r", clears = true }
end

local INCLUDES = { "element.cuh", "fragment.cuh", "mma.cuh", "swizzle.cuh" }

local function includes(p)
  local lines = {}
  for i, name in ipairs(INCLUDES) do lines[i] = ('#include "%s"'):format(name) end
  for _, name in ipairs(p.includes) do lines[#lines + 1] = ('#include "%s"'):format(name) end
  return table.concat(lines, "\n")
end

local function constants(p)
  local of_piece = result.registers_of_piece(p, p.atoms)
  local lines = {
    emit.constant("kBlockM", p.tile[1]), emit.constant("kBlockN", p.tile[2]),
    emit.constant("kBlockK", p.tile[3]), emit.constant("kAtomK", p.mma.shape_mnk[2]),
    emit.constant("kSteps", p.steps), emit.constant("kStages", p.stages),
    emit.constant("kThreads", p.threads),
    emit.constant("kBlocks", p.blocks, "of a multiprocessor, at least: bounds registers"),
    emit.constant("kDoubles", p.doubles, "registers of two k-steps at a time"),
    emit.constant("kEarlyA", p.early[1] * p.words_of_a, "words of a k-step, loaded before it"),
    emit.constant("kEarlyB", p.early[2] * p.words_of_b),
    emit.constant("kRegistersOfPiece", of_piece, "of a thread's sums"),
    emit.constant("kPieces", p.sums // of_piece),
    emit.constant("kGroup", p.group, "rows of tiles that blocks go down together"),
    emit.constant("kRun", p.run_size, "of neighbouring values, written at once"),
    emit.constant("kReadsC", p.reads_c),
    emit.constant("kScales", p.scales, "alpha is times a number in memory for A and for B"),
    ("  static constexpr Bias kBias = %s;"):format(
      ({ row = "kPerRow", column = "kPerColumn" })[p.bias] or "kNone"),
  }
  return emit.constants(table.move(p:constants(), 1, 9, #lines + 1, lines))
end

-- The generated block: everything that varies in the template.
function M.source(p)
  local fields = {
    INCLUDES = includes(p), CONSTANTS = constants(p),
    WORD = p.A.word == 8 and "unsigned long long" or "unsigned", ACC = p.acc, OUT = p.out,
    COMPUTE = COMPUTE[p.compute_type], A = p:operand_source "A", B = p:operand_source "B",
    SUMS = sums_source(p), MMA = mma_sync.source(p), EPILOGUE = p.epilogue,
    m = p.transposed and "n" or "m", n = p.transposed and "m" or "n",
    C = result.source(result.layouts(p.mma, p.tile[1], p.tile[2])),
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

return M
