-- D of gemm_sm90: how sums go through shared memory, a chunk of columns at a time, and from there
-- by TMA.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"
local operand = require "lutile.plan.tma_operand"
local roles = require "lutile.plan.roles"
local matrix = require "lutile.plan.matrix"
local tma_modes = require "lutile.plan.tma_modes"

local make_layout, composition = lutile.make_layout, lutile.composition

local M = {}

M.BYTES = { f16 = 2, bf16 = 2, f32 = 4, s32 = 4, e4m3 = 1, e5m2 = 1, s8 = 1, u8 = 1 }
local WARPGROUP = 128
local ROWS = 64 -- of a warpgroup's MMA
local TMA_BYTES, MOST_VECTOR_BYTES = 16, 8

local function fail(message, ...) error(message:format(...), 0) end

-- The lanes of stmatrix: lane 8 * i + r addresses row r of matrix i, which the accumulators have in
-- lane 4 * r of register i, two values; as (thread, value) of the accumulators.
local MATRIX_LANES = make_layout({ 8, 4, 4 }, { 4, 2 * WARPGROUP, 32 })
local MATRIX_VALUES = 8

local function check_place(o, thread, step)
  local mask = emit.mask((emit.split_swizzle(o.shared, 1)))
  local offsets = composition(o.shared, o.values)
  local from, by = composition(offsets, thread), composition(offsets, step)
  for t = 0, lutile.size(thread) - 1 do
    for s = 0, lutile.size(step) - 1 do
      local wanted = offsets(thread(t) + step(s))
      if (from(t) ~ (by(s) & mask)) + (by(s) & ~mask) ~= wanted then
        fail("D: write %d of thread %d has offset %d of %s, but another as a sum of parts", s, t,
          wanted, tostring(o.shared))
      end
    end
  end
  return from, by, mask * o.bytes
end

-- Parts of a tile's columns that are written twice: a sixth at most, or a third if need be.
local FEW, MORE = 6, 3

-- A chunk has the columns of one line, as many as fit, and all rows of an MMA. Where the tile's
-- columns are no whole lines, the last chunk ends where they end, and writes some columns again:
-- not if C, which may be D, is read.
local function choose_chunk(p, o)
  local inner, most = o.modes.inner[2][1], p.line_bytes or operand.LINE_BYTES
  local columns = p.tile[2]
  local function widest(most_twice)
    return operand.widest_swizzle(o.bytes, function(line)
      return line * o.bytes <= most and line <= columns and (inner or line) % line == 0
        and -columns % line <= most_twice
    end)
  end
  if inner or p.reads_c then
    o.width = widest(0)
  else
    o.width = widest(columns // FEW) or widest(columns // MORE)
  end
  o.box_rows = tma_modes.longest_run(o.modes, 1, ROWS, 8)
  local of = tostring(o.modes.layout or "a row-major matrix")
  if not o.width then
    fail("%s: no lines of 32 bytes or more divide the tile's %d columns and the modes of %s%s",
      o.called, p.tile[2], of, p.reads_c and " (C is read: no column is written twice)" or "")
  end
  if not o.box_rows then
    fail("%s: no box of 8 lines or more divides the %d rows of an MMA and the modes of %s",
      o.called, ROWS, of)
  end
  o.columns = o.width // o.bytes
end

local function check_contiguous(o)
  if o.modes.unit == 2 then return end
  fail("D: %s is contiguous along its rows, where the kernel writes along the columns: "
    .. "D^T = B * A^T is what it can compute", tostring(o.modes.layout))
end

-- How threads write a chunk: pairs of values; 16-bit elements by matrices, eight values of each
-- thread, unless it has registers for few.
local function find_writes(p, o, has_few)
  o.values_of_chunk = ROWS * o.columns // WARPGROUP
  o.values = composition(p.mma.c_layout, { make_layout(WARPGROUP), make_layout(o.values_of_chunk) })
  local thread, values = make_layout(WARPGROUP), 2
  if o.bytes == 2 and not has_few then thread, values = MATRIX_LANES, MATRIX_VALUES end
  o.writes, o.bytes_of_write = o.values_of_chunk // values, values * o.bytes
  o.store, o.store_step, o.mask = check_place(o, thread, make_layout(o.writes, values * WARPGROUP))
end

-- Whether rows of D that TMA stores end at multiples of 16 bytes: of one product, whose layout says
-- so.
local function ends_in_units(p, o)
  if not o.by_tma or not p.d_layout or p.grouped then return false end
  local columns = lutile.coalesce(p.d_layout[1]).shape
  local divisor = 1
  for _, extent in ipairs(tma_modes.leaves(columns)) do
    divisor = divisor * matrix.divisor(extent)
  end
  return divisor * o.bytes % TMA_BYTES == 0
end

-- TMA stores chunks, if D's address and strides are multiples of 16 bytes; else threads do.
local function choose_stores(p, o)
  local align = p.d_align or TMA_BYTES
  o.by_tma = align % TMA_BYTES == 0
  o.vector = 1
  o.ends_in_units = ends_in_units(p, o)
  if o.by_tma then return end
  while o.vector * o.bytes < MOST_VECTOR_BYTES and align % (2 * o.vector * o.bytes) == 0 do
    o.vector = 2 * o.vector
  end
end

--[[
new(p, has_few): fields; 'has_few': registers that are no sums

  modes     of D, with the box
  tma.desc  the box as cuTensorMapEncodeTiled takes it
  shared    layout of a chunk, in elements
  store, store_step, mask   where a thread writes
  elements  row by row -> offset in a chunk
  first_column   where a chunk starts in the tile
]]
function M.new(p, has_few)
  local o = { called = roles.name(p, "D"), dtype = p.out, bytes = M.BYTES[p.out],
    buffers = p.buffers or 2 }
  o.modes = tma_modes.new { name = o.called, names = { "row", "column" },
    said = roles.modes(p, "D"), layout = p.d_layout, unit = 2, is_batched = true }
  check_contiguous(o)
  choose_chunk(p, o)
  tma_modes.set_box(o.modes, o.box_rows, o.columns)
  o.tma = { desc = tma_modes.describe(o.modes, o.dtype, o.width) }
  choose_stores(p, o)
  o.shared = operand.plain(lutile.tile_to_shape(operand.atom("K", o.width, p.out),
    { ROWS, o.columns }))
  o.boxes = make_layout(ROWS // o.box_rows, o.box_rows)
  o.elements = composition(o.shared, make_layout({ o.columns, ROWS }, { ROWS, 1 }))
  o.chunks = (p.tile[2] + o.columns - 1) // o.columns
  function o.first_column(chunk) return math.min(chunk * o.columns, p.tile[2] - o.columns) end
  find_writes(p, o, has_few)
  o.buffer_bytes = ROWS * o.columns * o.bytes
  return o
end

-- ---- As C++ ------------------------------------------------------------------------------------

function M.source(o)
  local _, unswizzled = emit.split_swizzle(o.shared, 1)
  return table.concat({
    "/* A chunk of the output: " .. tostring(o.shared) .. " */",
    "struct D {",
    emit.constant("kChunkColumns", o.columns),
    emit.constant("kChunkElements", ROWS * o.columns),
    emit.constant("kChunks", o.chunks, "of an atom"),
    emit.constant("kValuesOfChunk", o.values_of_chunk, "of a thread"),
    emit.constant("kBuffers", o.buffers),
    emit.constant("kBufferBytes", o.buffer_bytes),
    emit.constant("kWrites", o.writes, "of a thread for a chunk"),
    emit.constant("kBytesOfWrite", o.bytes_of_write, "16: by stmatrix"),
    "",
    "  /* Bytes in a buffer at which a thread writes. */",
    emit.constant("kStoreMask", o.mask),
    emit.layout("store", o.store, o.bytes),
    emit.layout("store_step", o.store_step, o.bytes),
    "",
    "  /* Bytes in a buffer of an element, row by row. */",
    emit.layout("element", o.elements, o.bytes),
    "",
    emit.constant("kByTma", o.by_tma, "else by threads, so many elements at once:"),
    emit.constant("kVector", o.vector),
    emit.constant("kEndsInUnits", o.ends_in_units, "rows end at multiples of 16 bytes"),
    "",
    "  /* Boxes of a chunk: their first rows, and bytes in a buffer. */",
    emit.constant("kBoxes", lutile.size(o.boxes)),
    emit.layout("box_row", o.boxes),
    emit.layout("box", composition(unswizzled, o.boxes), o.bytes),
    "",
    "  /* A box of D as TMA counts; the offset of an element. */",
    tma_modes.corner_source(o.modes),
    tma_modes.offset_source(o.modes),
    "};",
  }, "\n")
end

return M
