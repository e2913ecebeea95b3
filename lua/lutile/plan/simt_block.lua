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

DEVICE Value epilogue(Value x, int @m@, int @n@) { return @EPILOGUE@; }

}  // namespace plan
]]

local function constants(p)
  local lines = {
    emit.constant("kBlockM", p.tile[1]), emit.constant("kBlockN", p.tile[2]),
    emit.constant("kBlockK", p.tile[3]), emit.constant("kThreads", p.threads),
    emit.constant("kBlocks", p.blocks_each, "of a multiprocessor, at least: bounds registers"),
    emit.constant("kUnroll", p.unroll, "k whose products are written out"),
    emit.constant("kGroup", p.group, "rows of tiles that blocks go down together"),
    emit.constant("kReadsC", p.reads_c),
    emit.constant("kScales", p.scales, "alpha is times a number in memory for A and for B"),
    ("  static constexpr Bias kBias = %s;"):format(
      ({ row = "kPerRow", column = "kPerColumn" })[p.bias] or "kNone"),
  }
  return emit.constants(lines)
end

-- ---- Vectors -----------------------------------------------------------------------------------

-- Whether all offsets of a layout are multiples of n.
local function are_multiples(layout, n)
  local flat = lutile.flatten(lutile.coalesce(layout))
  for i = 0, lutile.rank(flat) - 1 do
    if lutile.size(flat, i) > 1 and lutile.coalesce(flat[i]).stride % n ~= 0 then return false end
  end
  return true
end

-- How many of 'values', at most 'most', are always one after the other, from a multiple of as many
-- on; 'others' is what is added to them.
local function vector(values, others, most)
  local function is_one(n)
    return lutile.size(values) % n == 0 and composition(values, make_layout(n)) == make_layout(n)
      and are_multiples(composition(values, make_layout(lutile.size(values) // n, n)), n)
  end
  local n = most
  while n > 1 and not (is_one(n) and are_multiples(others, n)) do n = n // 2 end
  return n
end

-- ---- Operands ----------------------------------------------------------------------------------

-- Numbers of a stage of an operand, so that the next one starts at a vector.
function M.stage_size(o)
  return (lutile.cosize(o.shared) + o.run - 1) // o.run * o.run
end

-- Elements that are loaded at once where memory has them so, along the mode that is contiguous.
local function loaded_at_once(o)
  if o.unit == "none" or o.vector == 1 then return 1 end
  local places = o.unit == "row" and make_layout { o.rows, o.k }
    or make_layout({ o.rows, o.k }, { o.k, 1 })
  return vector(composition(places, o.copy[1]), composition(places, o.copy[0]), o.vector)
end

-- Of an operand: its elements, its tile (rows, k) in shared memory, who copies what, and the rows
-- of a thread's sums: 'sum' is the thread's first, and step those of others from there. A factor is
-- where such a row is in shared memory.
local function operand(o, name, sum, step)
  local tile = { o.rows, o.k }
  local row, k = make_layout(tile, { 1, 0 }), make_layout(tile, { 0, 1 })
  local stored = composition(o.shared, o.copy[1])
  local loaded = composition(o.shared[0], step)
  local factor = composition(o.shared[0], sum)
  local others = make_layout(factor, o.shared[1])
  local lines = {
    ("  using Element = lutile::%s;"):format(o.dtype),
    emit.constant("kRounds", o.rounds, "f32 to tf32"),
    emit.constant("kSize", M.stage_size(o), "of the tile in shared memory"),
    emit.constant("kCopies", lutile.size(o.copy, 1), "of elements, of a thread"),
    emit.constant("kAlongRows", o.unit == "row", "the contiguous mode"),
    emit.constant("kVector", loaded_at_once(o), "elements loaded at once"),
    emit.constant("kStore", vector(stored, composition(o.shared, o.copy[0]), o.run),
      "numbers at once, to shared memory"),
    emit.constant("kLoad", vector(loaded, others, o.run), "and from there"),
    emit.constant("kSums", lutile.size(step), "rows of a thread's sums"),
    emit.layout("row_offset", o.shared[0]), emit.layout("k_offset", o.shared[1]),
    emit.layout("copy_row", composition(row, o.copy[0])),
    emit.layout("copy_k", composition(k, o.copy[0])),
    emit.layout("copy_row_step", composition(row, o.copy[1])),
    emit.layout("copy_k_step", composition(k, o.copy[1])),
    emit.layout("sum", sum), emit.layout("sum_step", step),
    emit.layout("factor", factor), emit.layout("factor_step", loaded),
  }
  return ("struct %s {\n%s\n};"):format(name, table.concat(lines, "\n"))
end

-- A thread's sums are those of its rows times its columns.
local function operands(p)
  local c = result.layouts(p.mma, p.tile[1], p.tile[2])
  local row_step = composition(c.row_step, make_layout(p.each[1]))
  local column_step = composition(c.column_step, make_layout(p.each[2], p.each[1]))
  return operand(p.A, "A", c.row, row_step),
    operand(p.B, "B", c.column, column_step)
end

function M.source(p)
  local A, B = operands(p)
  local fields = {
    CONSTANTS = constants(p), ACC = p.acc, OUT = p.out, COMPUTE = p.compute_type,
    VALUE = p.acc == "c64" and "c64" or p.compute_type, A = A, B = B, EPILOGUE = p.epilogue,
    m = p.transposed and "n" or "m", n = p.transposed and "m" or "n",
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

return M
