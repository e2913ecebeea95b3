-- Matrices as TMA sees them: tensors of up to five modes, of which a copy takes a box. A matrix is
-- a layout (rows, columns, batches) or (rows, k, batches), whose modes may be hierarchical.

local lutile = require "lutile"

local make_layout = lutile.make_layout

local M = {}

local MOST_MODES, MOST_BOX, UNIT_BYTES, MOST_STRIDE = 5, 256, 16, 1 << 40

local function fail(message, ...) error(message:format(...), 0) end

local function number(x) return math.type(x) and x or x:value() end

local function leaves(tuple)
  local flat = lutile.flatten(tuple)
  if lutile.depth(flat) == 0 then return { flat } end
  local list = {}
  for i = 0, #flat - 1 do list[i + 1] = flat[i] end
  return list
end

M.leaves = leaves

-- ---- Modes -------------------------------------------------------------------------------------

-- The extents of a mode's own modes but for the last, which may be anything.
local function inner_extents(m, i, mode)
  local extents = leaves(lutile.coalesce(mode).shape)
  table.remove(extents)
  for j, extent in ipairs(extents) do
    if not math.type(extent) then
      fail("%s: mode (%s,%d) of %s is known at launch only, where TMA's boxes want all but the "
        .. "last number", m.name, m.said[i], j - 1, tostring(m.layout))
    end
  end
  return extents
end

-- A stride of 1 in the first mode of rows (1) or k (2), which says how lines lie; of one element,
-- any stride will do.
local function find_unit(m)
  local strides = {}
  for i = 1, 2 do strides[i] = leaves(lutile.coalesce(m.layout[i - 1]).stride) end
  for _, i in ipairs { 2, 1 } do
    if strides[i][1] == 1 then return i end
  end
  for _, i in ipairs { 2, 1 } do
    if lutile.size(m.layout[i - 1]) == 1 then return i end
  end
  for i = 1, 2 do
    for j = 2, #strides[i] do
      if strides[i][j] == 1 then
        fail("%s: mode (%s,%d) of %s is contiguous, where TMA wants that of mode 0", m.name,
          m.said[i], j - 1, tostring(m.layout))
      end
    end
  end
  fail("%s: no mode of %s has stride 1, which TMA wants", m.name, tostring(m.layout))
end

--[[
new{name =, names = {"row", "k"}, said = names in errors, layout = or unit =, is_batched =}: the
form of a matrix

  inner   of rows (1), columns (2) and batches (3): extents of the inner modes
  unit    1 or 2: the one that is contiguous
]]
function M.new(m)
  m.inner, m.said = { {}, {}, {} }, m.said or m.names
  if m.layout then
    for i = 1, math.min(lutile.rank(m.layout), 3) do
      m.inner[i] = inner_extents(m, i, m.layout[i - 1])
    end
    m.unit = find_unit(m)
  end
  local rank = #m.inner[1] + #m.inner[2] + 2 + (m.is_batched and #m.inner[3] + 1 or 0)
  if rank > MOST_MODES then
    fail("%s: %s has %d modes, where TMA has %d", m.name, tostring(m.layout), rank, MOST_MODES)
  end
  return m
end

-- How far a run of 'extent' elements of rows (1) or columns (2) goes in each of their modes, where
-- runs start at multiples of it; nil where it is neither a whole number of inner modes nor a part
-- of one.
function M.run(m, i, extent)
  local box = {}
  for j, inner in ipairs(m.inner[i]) do
    local in_mode = math.min(extent, inner)
    if inner % in_mode ~= 0 or extent % in_mode ~= 0 then return nil end
    box[j], extent = in_mode, extent // in_mode
  end
  box[#box + 1] = extent
  return box
end

-- The longest run that divides 'extent', of multiples of 'unit' elements; nil if there is none.
function M.longest_run(m, i, extent, unit)
  for run = math.min(extent, MOST_BOX), unit, -1 do
    if extent % run == 0 and run % unit == 0 and M.run(m, i, run) then return run end
  end
end

local function modes_of(m, i, box)
  local list, before = {}, 1
  for j = 1, #m.inner[i] + 1 do
    local inner = m.inner[i][j]
    list[j] = { of = i, extent = inner, before = before, box = box and box[j] or 1 }
    before = before * (inner or 1)
  end
  return list
end

-- Chooses the box of rows x columns; the modes in TMA's order: the contiguous one, and then those
-- whose elements make the next lines.
function M.set_box(m, rows, columns)
  local lists = { modes_of(m, 1, M.run(m, 1, rows)), modes_of(m, 2, M.run(m, 2, columns)),
    m.is_batched and modes_of(m, 3) or {} }
  m.modes = { table.remove(lists[m.unit], 1) }
  for _, i in ipairs { 3 - m.unit, m.unit, 3 } do
    table.move(lists[i], 1, #lists[i], #m.modes + 1, m.modes)
  end
end

-- ---- As C++ ------------------------------------------------------------------------------------

local function coordinate(mode, name)
  local text = name
  if mode.before > 1 then text = ("%s / %d"):format(text, mode.before) end
  if mode.extent then text = ("%s %% %d"):format(text, mode.extent) end
  return text
end

local function parameters(m, text)
  local used = {}
  for i = 1, 3 do
    local name = m.names[i] or "batch"
    used[i] = "int" .. (text:find("%f[%w]" .. name .. "%f[%W]") and " " .. name or "")
  end
  return table.concat(used, ", ")
end

local function coordinates(m)
  local list = {}
  for i, mode in ipairs(m.modes) do list[i] = coordinate(mode, m.names[mode.of] or "batch") end
  return list
end

-- The coordinates of a box in the tensor.
function M.corner_source(m)
  local text = table.concat(coordinates(m), ", ")
  return ("  static DEVICE tma::Corner<%d> corner(%s) {\n    return {{%s}};\n  }"):format(#m.modes,
    parameters(m, text), text)
end

-- Modes whose strides a kernel takes: rows, columns, batches, but for the contiguous one.
function M.strided(m)
  local list = {}
  for i = 1, m.is_batched and 3 or 2 do
    for j, mode in ipairs(modes_of(m, i)) do
      if i ~= m.unit or j > 1 then list[#list + 1] = mode end
    end
  end
  return list
end

-- The offset of an element, by the strides of those.
function M.offset_source(m)
  local terms = { coordinate(m.modes[1], m.names[m.unit]) }
  for i, mode in ipairs(M.strided(m)) do
    local at = coordinate(mode, m.names[mode.of] or "batch")
    if at:find " " then at = "(" .. at .. ")" end
    terms[#terms + 1] = ("%s * strides.at[%d]"):format(at, i - 1)
  end
  local text = table.concat(terms, " + ")
  return ("  static DEVICE long long offset(%s, const Strides &strides) {\n    return %s;\n  }")
    :format(parameters(m, text), text)
end

-- ---- For a tensor ------------------------------------------------------------------------------

-- Extents and strides of mode i's own modes in a layout; strides in elements.
local function mode_of_layout(m, i, layout)
  local list = modes_of(m, i)
  local size, shape = number(lutile.size(layout)), {}
  local inner = list[#list].before
  if size % inner ~= 0 then
    fail("%s: %s of %s has %d elements, where the plan has a multiple of %d", m.name,
      m.said[i] or "batch", tostring(layout), size, inner)
  end
  for j, mode in ipairs(list) do shape[j] = mode.extent or size // inner end
  local part = lutile.composition(layout, make_layout(shape))
  for j, mode in ipairs(list) do
    local extents, strides = leaves(lutile.coalesce(part[j - 1]).shape),
      leaves(lutile.coalesce(part[j - 1]).stride)
    if #extents ~= 1 then
      fail("%s: %s of %s is not as hierarchical as the plan's", m.name, m.said[i] or "batch",
        tostring(layout))
    end
    mode.extent, mode.stride = shape[j], number(strides[1])
  end
  return list
end

local ONE = make_layout(1, 0)

-- All modes of a layout: [i][j], mode j of rows, columns or batches.
function M.of_layout(m, layout)
  local modes = {}
  for i = 1, 3 do
    local mode = i <= lutile.rank(layout) and layout[i - 1] or ONE
    modes[i] = mode_of_layout(m, i, mode)
  end
  return modes
end

local function check_stride(m, mode, bytes, layout)
  local stride = mode.stride * bytes
  if stride % UNIT_BYTES == 0 and stride > 0 and stride < MOST_STRIDE then return stride end
  fail("%s: stride %d of %s is %d bytes, where TMA has multiples of %d from there to 2^40", m.name,
    mode.stride, tostring(layout), stride, UNIT_BYTES)
end

-- What cuTensorMapEncodeTiled takes, by its names, as far as it is the same for all tensors.
function M.describe(m, dtype, width)
  local desc = { tensorRank = #m.modes, tensorDataType = dtype, boxDim = {}, elementStrides = {},
    interleave = "none", swizzle = width .. "B", oobFill = "zero" }
  for i, mode in ipairs(m.modes) do desc.boxDim[i], desc.elementStrides[i] = mode.box, 1 end
  return desc
end

-- The rest of it, for a tensor of that layout.
function M.encode(m, layout, bytes)
  local all, map = M.of_layout(m, layout), { globalDim = {}, globalStrides = {} }
  local seen = { 0, 0, 0 }
  for i, mode in ipairs(m.modes) do
    seen[mode.of] = seen[mode.of] + 1
    local of = all[mode.of][seen[mode.of]]
    map.globalDim[i] = of.extent
    if i == 1 and of.extent > 1 and of.stride ~= 1 then
      fail("%s: %s is not contiguous along %s, as the plan's is", m.name, tostring(layout),
        m.said[mode.of])
    end
    if i > 1 then -- of one element, any stride will do
      map.globalStrides[i - 1] = of.extent == 1 and UNIT_BYTES
        or check_stride(m, of, bytes, layout)
    end
  end
  return map
end

-- The strides that a kernel takes.
function M.strides(m, layout)
  local all, list = M.of_layout(m, layout), {}
  for i = 1, m.is_batched and 3 or 2 do
    for j, mode in ipairs(all[i]) do
      if i ~= m.unit or j > 1 then list[#list + 1] = mode.stride end
    end
  end
  return list
end

return M
