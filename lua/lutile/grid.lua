-- Grids: what the tables and pictures of layouts, TiledMMAs and TiledCopies have in their cells.
--
-- Functions here give nil and a message where something has no grid; those that scripts call raise
-- it, with their names before it.

local lutile = require "lutile"

local M = {}

local MOST_CELLS = 1 << 18 -- of a grid: more are no picture, and would take memory without end
local MOST_PAIRS = 1 << 22 -- of threads and values

-- ---- Two modes --------------------------------------------------------------------------------

local function is_map(x) return lutile.is_layout(x) or lutile.is_tensor(x) end

-- A layout or tensor, or the compact layout of a shape.
function M.to_layout(x)
  if is_map(x) then return x end
  local made, layout = pcall(lutile.make_layout, x)
  if made then return layout end
  return nil, ("layout expected, got %s"):format(type(x) == "userdata" and tostring(x) or type(x))
end

-- The number of modes and the size of the first two; a single mode or integer is followed by one of
-- size 1. Nil and a message where they are no numbers.
local function sizes(x)
  local sized, rank, first, second = pcall(function()
    local rank = lutile.rank(x)
    if lutile.is_integral(x) or rank < 2 then return rank, lutile.size(x), 1 end
    return rank, lutile.size(x, 0), lutile.size(x, 1)
  end)
  if not sized then return nil, (rank:gsub("^[^:]*:%d+: ", "")) end
  return rank, first, second
end

-- Rows and columns of a layout or shape: an integer and a single mode are a column.
local function extents(x)
  local rank, rows, columns = sizes(x)
  if not rank then return nil, rows end
  if rank > 2 then
    return nil, ("a grid has two modes, %s has %d (group some)"):format(tostring(x), rank)
  end
  if rows < 0 or columns < 0 then
    return nil, ("no grid has %d x %d cells"):format(rows, columns)
  end
  if columns > 0 and rows > MOST_CELLS // columns then
    return nil, ("%d x %d cells are more than a grid shows (%d): take a tile of %s"):format(rows,
      columns, MOST_CELLS, tostring(x))
  end
  return rows, columns
end

-- After how many rows or columns the tile repeats: the extent of a nested mode's first mode.
local function tile_extent(shape, mode)
  if lutile.is_integral(shape) or lutile.rank(shape) <= mode then return nil end
  local extent = lutile.get(shape, mode)
  if lutile.is_integral(extent) or lutile.rank(extent) < 2 then return nil end
  return lutile.size(lutile.get(extent, 0))
end

-- { layout, rows, columns, offsets, tile_rows, tile_columns }: the offset (or coordinate) of cell
-- (m, n) is offsets[m + rows * n + 1].
function M.of_layout(x)
  local layout, problem = M.to_layout(x)
  if not layout then return nil, problem end
  local rows, columns = extents(layout)
  if not rows then return nil, columns end
  local shape = lutile.shape(layout)
  return {
    layout = layout, rows = rows, columns = columns, offsets = lutile.offsets(layout),
    tile_rows = tile_extent(shape, 0), tile_columns = tile_extent(shape, 1),
  }
end

-- ---- Threads and values -----------------------------------------------------------------------

-- The index of a place in a tile, which layouts (thread, value) give as index or as coordinate.
local function index_of(place, tile, cells)
  local index = place
  if math.type(place) ~= "integer" then
    local inside, less = pcall(lutile.elem_less, place, tile)
    index = inside and less and lutile.crd2idx(place, tile) or -1
  end
  return index >= 0 and index < cells and index
end

-- Notes that a cell holds a pair: the first one stands in pairs, all of several in shared.
local function add_pair(grid, index, pair)
  local first, shared = grid.pairs[index], grid.shared[index]
  if not first then
    grid.pairs[index] = pair
  elseif shared then
    shared[#shared + 1] = pair
  else
    grid.shared[index] = { first, pair }
  end
end

-- { layout, rows, columns, threads, pairs, shared } of a layout (thread, value, ...) -> place, its
-- further modes at 0. By cell, m + rows * n: pairs has thread + threads * value of the first that
-- holds it (CuTe's pictures show this one); shared has all of them, where there are several.
function M.of_tv(layout, tile)
  local rows, columns = extents(tile)
  if not rows then return nil, columns end
  local tv, problem = M.to_layout(layout)
  if not tv then return nil, problem end
  local rank, threads, values = sizes(tv)
  if not rank then return nil, threads end
  if rank < 2 then
    return nil, ("a layout (thread, value) expected, got %s"):format(tostring(tv))
  end
  if lutile.size(tv) > MOST_PAIRS then
    return nil, ("%s has more than %d threads and values"):format(tostring(tv), MOST_PAIRS)
  end
  local grid = { layout = tv, rows = rows, columns = columns, threads = threads, pairs = {},
    shared = {} }
  local places = lutile.offsets(tv)
  for thread = 0, threads - 1 do
    for value = 0, values - 1 do
      local pair = thread + threads * value
      local place = places[pair + 1]
      local index = index_of(place, tile, rows * columns)
      if not index then
        return nil, ("thread %d has its value %d at %s, outside of the %d x %d tile"):format(thread,
          value, tostring(place), rows, columns)
      end
      add_pair(grid, index, pair)
    end
  end
  return grid
end

-- ---- Tiled operations -------------------------------------------------------------------------

local operations = { ["lutile mma"] = true, ["lutile copy"] = true }

-- "MMA_Atom", "TiledMMA", "ThrMMA", "Copy_Atom", "TiledCopy" or "ThrCopy"; nil for all else.
function M.kind(x)
  return type(x) == "userdata" and operations[getmetatable(x)] and tostring(x):match "^[%a_]+"
end

-- The grids A (m, k), B (n, k) and C (m, n) of a TiledMMA, or of an atom alone.
function M.of_mma(mma)
  if M.kind(mma) == "MMA_Atom" then mma = lutile.make_tiled_mma(mma) end
  local grids, modes = {}, { A = { 0, 2 }, B = { 1, 2 }, C = { 0, 1 } }
  for name, pair in pairs(modes) do
    local tile = { lutile.tile_size(mma, pair[1]), lutile.tile_size(mma, pair[2]) }
    local grid, problem = M.of_tv(mma[("get_layout%s_TV"):format(name)](mma), tile)
    if not grid then return nil, ("operand %s: %s"):format(name, problem) end
    grids[name] = grid
  end
  return grids
end

-- The extents of what a tiler takes, holes between its elements filled.
local function tile_of(tiler)
  local ones = {}
  for i = 1, lutile.rank(tiler) do ones[i] = 1 end
  local divided = lutile.logical_divide(lutile.make_layout(ones), tiler)
  return lutile.product_each(lutile.shape(divided))
end

-- The grids S of the source and D of the target of a TiledCopy.
function M.of_copy(copy)
  if M.kind(copy) == "Copy_Atom" then
    return nil, ("%s has no tile: make_tiled_copy"):format(tostring(copy))
  end
  local tile = tile_of(copy.tiler_mn)
  local place = lutile.make_layout(tile)
  local grids = {}
  for _, name in ipairs { "S", "D" } do
    local grid, problem = M.of_tv(copy["tidfrg_" .. name](copy, place), tile)
    if not grid then return nil, problem end
    grids[name] = grid
  end
  return grids
end

return M
