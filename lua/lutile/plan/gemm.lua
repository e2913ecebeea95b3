-- Plans of D = epilogue(alpha * A * B^T + beta * C + bias) for kernels/gemm_sm80.cu.
--
-- A is (M, K), B is (N, K), C and D are (M, N). A plan is a table of layouts and numbers; change
-- any of them before 'source' or 'run', which work out the rest from it.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"
local operand = require "lutile.plan.operand"
local result = require "lutile.plan.result"

local M = {}

local BYTES = { f64 = 8, f32 = 4, tf32 = 4, s32 = 4, f16 = 2, bf16 = 2, s8 = 1, u8 = 1, e4m3 = 1,
  e5m2 = 1 }

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

local DEFAULT_ACC = { f16 = "f32", bf16 = "f32", tf32 = "f32", e4m3 = "f32", e5m2 = "f32",
  f64 = "f64", s8 = "s32", u8 = "s32" }

-- Tile, warps and stages by the type; a block tile's k is 64 or 128 bytes.
local function choose_tile(p)
  local bytes = BYTES[p.dtype]
  if p.arch < 80 then return { 128, 128, 64 // bytes }, { 2, 4 }, 2 end
  if bytes == 8 then return { 64, 64, 16 }, { 2, 2 }, 3 end
  return { 128, 256, 64 // bytes }, { 2, 4 }, 4
end

-- ---- As C++ ----------------------------------------------------------------------------------

local COMPUTE = { f64 = "double", s32 = "int" }

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
using Accumulator = element::@ACC@;
using Element = element::@OUT@;  /* of C, D and the bias */
using Compute = @COMPUTE@;

@A@

@B@

DEVICE void mma(Word *d, const Word *a, const Word *b) {
  mma::@ATOM@(d, a, b);
}

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
@C@

/* The values in the order in which they are written: runs of kRun neighbours. */
@RUN@

DEVICE Compute epilogue(Compute x, int @m@, int @n@) { return @EPILOGUE@; }

}  // namespace plan
]]

local function constants(p, c)
  local lines = {
    emit.constant("kBlockM", p.tile[1]), emit.constant("kBlockN", p.tile[2]),
    emit.constant("kBlockK", p.tile[3]), emit.constant("kAtomK", p.mma.shape_mnk[2]),
    emit.constant("kSteps", p.steps), emit.constant("kStages", p.stages),
    emit.constant("kThreads", p.threads),
    emit.constant("kBlocks", p.blocks, "of a multiprocessor, at least: bounds registers"),
    emit.constant("kAsync", p.A.async or p.B.async),
    emit.constant("kAtomsM", p.tile[1] // lutile.tile_size(p.mma, 0), "of a warp"),
    emit.constant("kAtomsN", p.tile[2] // lutile.tile_size(p.mma, 1)),
    emit.constant("kWordsOfC", p.words_of_c, "registers of an atom's accumulators"),
    emit.constant("kGroup", p.group, "rows of tiles that blocks go down together"),
    emit.constant("kRun", p.run), emit.constant("kValuesOfC", c.values),
    emit.constant("kReadsC", p.beta ~= 0),
    ("  static constexpr Bias kBias = %s;"):format(
      ({ row = "kPerRow", column = "kPerColumn" })[p.bias] or "kNone"),
  }
  return emit.constants(lines)
end

local Plan = {}
Plan.__index = Plan

-- The generated block: everything that varies in the template.
function Plan:block()
  local c = result.layouts(self.mma, self.tile[1], self.tile[2])
  local fields = {
    CONSTANTS = constants(self, c), WORD = self.A.word == 8 and "unsigned long long" or "unsigned",
    ACC = self.acc, OUT = self.out, COMPUTE = self.compute,
    A = operand.source(self.A, self.mma), B = operand.source(self.B, self.mma),
    ATOM = self.atom, EPILOGUE = self.epilogue, m = "m", n = "n",
    C = result.source(c),
    RUN = emit.functions { emit.layout("run_value", lutile.make_layout(c.values)) },
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

-- ---- The plan --------------------------------------------------------------------------------

function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  p.arch = p.arch or 80
  p.dtype_b = p.dtype_b or p.dtype
  p.acc = p.acc or DEFAULT_ACC[p.dtype]
  p.out = p.out or (p.acc == "s32" and "s32" or p.acc == "f64" and "f64" or "f32")
  p.compute = COMPUTE[p.out] or "float"
  p.atom = p.atom or atom_of(p)
  local tile, warps, stages = choose_tile(p)
  p.tile, p.warps, p.stages = p.tile or tile, p.warps or warps, p.stages or stages
  p.mma = lutile.make_tiled_mma(p.atom, lutile.make_layout { p.warps[1], p.warps[2], 1 },
    p.permutation)
  p.threads = lutile.size(p.mma)
  p.steps = p.tile[3] // p.mma.shape_mnk[2]
  p.group, p.blocks = p.group or 8, p.blocks or 1
  local vector = p.vector or {}
  local bytes = BYTES[p.dtype]
  p.A = operand.new { name = "A", rows = p.tile[1], k = p.tile[3], bytes = bytes, major = p.a_major,
    unit = p.a_unit, vector_bytes = vector.A, steps = p.steps, threads = p.threads, arch = p.arch,
    rounds = p.rounds }
  p.B = operand.new { name = "B", rows = p.tile[2], k = p.tile[3], bytes = bytes, major = p.b_major,
    unit = p.b_unit, vector_bytes = vector.B, steps = p.steps, threads = p.threads, arch = p.arch,
    rounds = p.rounds }
  local values = lutile.size(p.mma.c_layout) // 32
  p.words_of_c = p.acc == "f16" and values // 2 or values
  p.run = p.run or 2
  p.beta = p.beta or 0
  p.epilogue = p.epilogue or "x"
  p.shared_bytes = p.stages * (p.A.stage_bytes + p.B.stage_bytes)
  return p
end

return M
