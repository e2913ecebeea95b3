-- A and B of kernels that load by TMA: how their tiles lie in shared memory, and by which boxes
-- they come there.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"
local matrix = require "lutile.plan.matrix"
local tma_modes = require "lutile.plan.tma_modes"

local GMMA, make_layout, composition = lutile.GMMA, lutile.make_layout, lutile.composition

local M = {}

M.LINE_BYTES = 128 -- of a row of the widest swizzle
local LINES = 8    -- after which a swizzle repeats

local function fail(message, ...) error(message:format(...), 0) end

-- ---- Swizzles ----------------------------------------------------------------------------------

-- Bytes of the widest swizzle whose lines fit, as fits(elements of a line) says; nil if none does.
function M.widest_swizzle(bytes, fits)
  for _, width in ipairs { 128, 64, 32 } do
    if fits(width // bytes) then return width end
  end
end

function M.atom(major, width, dtype)
  return GMMA[("Layout_%s_SW%d_Atom"):format(major, width)](dtype)
end

function M.plain(layout)
  if not tostring(layout):find("smem[", 1, true) then return layout end
  return layout:as_position_independent_swizzle_layout()
end

-- ---- The tile ----------------------------------------------------------------------------------

-- Atoms of 8 lines, one after the other across the lines: so a box of TMA, whose lines follow each
-- other, has as many as it may.
local function shared_layout(o, rows)
  return lutile.tile_to_shape(M.atom(o.major, o.width, o.dtype), { rows, o.k },
    o.major == "K" and { 0, 1 } or { 1, 0 })
end

-- Lines of k: as long as they fit, and any number of rows that come 8 by 8. Rows that no matrix has
-- are not loaded: the MMAs read whatever lies there, for sums that nobody reads.
local function choose_lines_of_k(o, rows)
  if o.most_rows and o.most_rows < rows then
    o.loaded = (o.most_rows + LINES - 1) // LINES * LINES
    rows = o.loaded
  end
  local inner = o.modes.inner[2][1]
  o.width = M.widest_swizzle(o.bytes, function(line)
    return o.k % line == 0 and (inner or line) % line == 0
  end)
  if not o.width then
    fail("%s: %d elements of k are no lines of 32, 64 or 128 bytes that TMA takes from %s",
      o.called, o.k, tostring(o.modes.layout))
  end
  o.box_k = o.width // o.bytes
  o.box_rows = tma_modes.longest_run(o.modes, 1, rows, LINES)
end

-- Lines of rows: as long as they fit, and up to a tile's k of them.
local function choose_lines_of_rows(o, rows)
  o.width = M.widest_swizzle(o.bytes, function(line)
    local inner = o.modes.inner[1][1] or line
    return rows % line == 0 and inner % line == 0
  end)
  if not o.width then
    fail("%s: %d rows of %s are no lines of 16, 32 or 64 elements that TMA takes from %s", o.called,
      rows, o.dtype, o.modes.layout and tostring(o.modes.layout) or "a row-major matrix")
  end
  o.box_rows = o.width // o.bytes
  o.box_k = tma_modes.longest_run(o.modes, 2, o.k, LINES)
end

local function check_runs(o)
  if o.box_rows and o.box_k then return end
  fail("%s: no box of 8 lines or more divides the tile (%d,%d) and the modes of %s", o.called,
    o.rows, o.k, tostring(o.modes.layout))
end

-- (box, slice) -> index of the box's start in the tile.
local function find_boxes(o, rows)
  rows = math.min(rows, o.loaded)
  local starts = make_layout({ rows // o.box_rows, o.k // o.box_k },
    { o.box_rows, o.box_k * o.rows })
  o.box_count = lutile.size(starts)
  o.boxes = make_layout(starts, make_layout(o.slices, o.rows // o.slices))
end

-- Where boxes land: a slice must lie in the tile as it does alone, and boxes at whole patterns.
local function check_boxes(o, rows)
  local part = composition(M.plain(o.shared), make_layout({ rows, o.k }, { 1, o.rows }))
  local alone = M.plain(shared_layout(o, rows))
  for i = 0, rows * o.k - 1 do
    if part(i) ~= alone(i) then
      fail("%s: a slice of %s does not lie as %s", o.called, tostring(o.shared), tostring(alone))
    end
  end
  local start = composition(M.plain(o.shared), o.boxes)
  for i = 0, lutile.size(o.boxes) - 1 do
    if start(i) * o.bytes % (LINES * o.width) ~= 0 then
      fail("%s: box %d starts inside of the swizzle's pattern", o.called, i)
    end
  end
end

-- Of both MMAs of warpgroups and ldmatrix.
local function check_major(o)
  if o.major == "K" or o.bytes == 2 then return end
  fail("%s: MMAs take %s along k only, and it is contiguous along its rows", o.called, o.dtype)
end

--[[
new(p, {name =, called =, said =, dtype =, rows =, most_rows =, slices =, major = "k" or "row", or
layout =, is_batched =}): fields; 'called' is the matrix in errors, 'said' are its modes

  modes     of the matrix, with the box
  tma.desc  the box as cuTensorMapEncodeTiled takes it
  shared    layout of the tile
  loaded    rows of the tile that are loaded
  boxes     (box of a slice, slice) -> index of its start in the tile
]]
function M.new(p, o)
  o.k, o.bytes = p.tile[3], matrix.BYTES[o.dtype]
  o.modes = tma_modes.new { name = o.called, names = { "row", "k" }, said = o.said,
    layout = o.layout, unit = o.major == "row" and 1 or 2, is_batched = o.is_batched }
  o.major = o.modes.unit == 1 and "MN" or "K"
  check_major(o)
  local rows = o.rows // o.slices
  if o.rows % o.slices ~= 0 or rows % LINES ~= 0 then
    fail("%s: %d rows are not %d slices of whole lines", o.called, o.rows, o.slices)
  end
  o.loaded = o.rows
  if o.major == "K" then choose_lines_of_k(o, rows) else choose_lines_of_rows(o, rows) end
  check_runs(o)
  tma_modes.set_box(o.modes, o.box_rows, o.box_k)
  o.tma = { desc = tma_modes.describe(o.modes, o.dtype, o.width) }
  o.shared = shared_layout(o, o.rows)
  o.stage_bytes = o.loaded * o.k * o.bytes
  find_boxes(o, rows)
  check_boxes(o, rows)
  o.landing = M.plain(o.shared)
  return o
end

-- ---- Changes -----------------------------------------------------------------------------------

local function check_landing(o, x)
  if type(x) == "userdata" and lutile.is_layout(x) and M.plain(x) == o.landing then return end
  fail("%s.shared is %s, and TMA's boxes make it %s: another tile has others "
    .. "(plan:with{tile = ...})", o.name, tostring(x), tostring(o.landing))
end

-- Refuses a layout x of a plan's operand that is another than that in which TMA leaves its tiles.
function M.check_shared(p, x, path) check_landing(p[path:sub(1, 1)], x) end

-- ---- As C++ ------------------------------------------------------------------------------------

-- Members of the operand's struct: its stage, and the boxes.
function M.source(o)
  check_landing(o, o.shared)
  local function along(row, k)
    return composition(make_layout({ o.rows, o.k }, { row, k }), o.boxes)
  end
  local _, unswizzled = emit.split_swizzle(M.plain(o.shared), 1)
  return table.concat({
    emit.constant("kStageBytes", o.stage_bytes),
    emit.constant("kSlices", o.slices, "of a tile, each loaded by one block for all"),
    emit.constant("kBoxes", o.box_count, "of a slice"),
    "",
    "  /* Boxes, those of slice 0 first: where they start in the tile, and bytes in a stage. */",
    emit.layout("box_row", along(1, 0)),
    emit.layout("box_k", along(0, 1)),
    emit.layout("box", composition(unswizzled, o.boxes), o.bytes),
    "",
    "  /* A box of the matrix as TMA counts. */",
    tma_modes.corner_source(o.modes),
  }, "\n")
end

return M
