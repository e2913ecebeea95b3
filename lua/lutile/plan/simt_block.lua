-- The block of C++ that a plan for kernels/simt_gemm.cu writes for it: types, constants, where
-- elements of tiles are in shared memory, and which thread copies and sums up which.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"
local result = require "lutile.plan.result"

local composition, make_layout = lutile.composition, lutile.make_layout

local M = {}

local BLOCK = [[
#define LUTILE_PLAN
#include "number.cuh"
#include "ptx.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

@CONSTANTS@

using Accumulator = lutile::@ACC@;
using Element = lutile::@OUT@;  /* of C, D and the bias */
using Compute = lutile::@COMPUTE@;  /* of alpha and beta */
using Value = lutile::@VALUE@;  /* of what the epilogue takes and gives */

@A@

@B@

/* Rows and columns in the tile of a thread's sums: the first, and those of others from there. */
@SUMS@

DEVICE Value epilogue(Value x, int @m@, int @n@) { return @EPILOGUE@; }

}  // namespace plan
]]

local function constants(p)
  local lines = {
    emit.constant("kBlockM", p.tile[1]), emit.constant("kBlockN", p.tile[2]),
    emit.constant("kBlockK", p.tile[3]), emit.constant("kThreads", p.threads),
    emit.constant("kRows", p.each[1], "of a thread's sums"),
    emit.constant("kColumns", p.each[2]),
    emit.constant("kGroup", p.group, "rows of tiles that blocks go down together"),
    emit.constant("kReadsC", p.reads_c),
    emit.constant("kScales", p.scales, "alpha is times a number in memory for A and for B"),
    ("  static constexpr Bias kBias = %s;"):format(
      ({ row = "kPerRow", column = "kPerColumn" })[p.bias] or "kNone"),
  }
  return emit.constants(lines)
end

-- Of an operand: its elements, its tile (rows, k) in shared memory, who copies what.
local function operand(o, name)
  local tile = { o.rows, o.k }
  local row, k = make_layout(tile, { 1, 0 }), make_layout(tile, { 0, 1 })
  local lines = {
    ("  using Element = lutile::%s;"):format(o.dtype),
    emit.constant("kRounds", o.rounds, "f32 to tf32"),
    emit.constant("kSize", lutile.cosize(o.shared), "of the tile in shared memory"),
    emit.constant("kCopies", lutile.size(o.copy, 1), "of elements, of a thread"),
    emit.layout("row_offset", o.shared[0]), emit.layout("k_offset", o.shared[1]),
    emit.layout("copy_row", composition(row, o.copy[0])),
    emit.layout("copy_k", composition(k, o.copy[0])),
    emit.layout("copy_row_step", composition(row, o.copy[1])),
    emit.layout("copy_k_step", composition(k, o.copy[1])),
  }
  return ("struct %s {\n%s\n};"):format(name, table.concat(lines, "\n"))
end

-- A thread's sums are those of its rows times its columns.
local function sums(p)
  local c = result.layouts(p.mma, p.tile[1], p.tile[2])
  return emit.functions {
    emit.layout("row", c.row), emit.layout("column", c.column),
    emit.layout("row_step", composition(c.row_step, make_layout(p.each[1]))),
    emit.layout("column_step", composition(c.column_step, make_layout(p.each[2], p.each[1]))),
  }
end

function M.source(p)
  local fields = {
    CONSTANTS = constants(p), ACC = p.acc, OUT = p.out, COMPUTE = p.compute_type,
    VALUE = p.acc == "c64" and "c64" or p.compute_type, A = operand(p.A, "A"),
    B = operand(p.B, "B"), SUMS = sums(p), EPILOGUE = p.epilogue,
    m = p.transposed and "n" or "m", n = p.transposed and "m" or "n",
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

return M
