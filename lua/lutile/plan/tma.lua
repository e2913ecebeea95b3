-- Matrices of plans as TMA takes them: which ones it can, and tensor maps of tensors.

local lutile = require "lutile"
local matrix = require "lutile.plan.matrix"
local tma_modes = require "lutile.plan.tma_modes"

local M = {}

local UNIT = 16 -- bytes that addresses and strides are multiples of, and that are written as one
M.UNIT = UNIT
local MOST_STRIDE = 1 << 40 -- bytes

-- The layout of a matrix that the plan's kernel goes through: all its modes, where p.direct, or
-- those of the plain copy that takes its place.
function M.layout_of(p, m) return p.direct and m.packed or m.layout end

-- Extent and stride of each mode that rows, columns and batches are made of, as 'known' gives them.
local function modes_of(layout, known)
  local list = {}
  for i = 0, lutile.rank(layout) - 1 do
    local mode = lutile.coalesce(layout[i])
    if lutile.depth(mode.shape) == 0 then mode = lutile.make_layout(mode) end
    for j = 0, lutile.rank(mode) - 1 do
      list[#list + 1] = { extent = known(mode.shape[j]), stride = known(mode.stride[j]) }
    end
  end
  return list
end

-- What is wrong with a stride of some bytes, or a multiple of them; nil where TMA takes it.
local function obstacle_of_stride(stride, bytes)
  if bytes % UNIT ~= 0 then
    return ("strides of multiples of %d bytes"):format(UNIT), bytes
  end
  if math.type(stride) and (bytes <= 0 or bytes >= MOST_STRIDE) then
    return ("strides from %d bytes to 2^40"):format(UNIT), bytes
  end
end

local function is_empty(modes)
  for _, mode in ipairs(modes) do if mode.extent == 0 then return true end end
  return false
end

-- Why TMA cannot read or write the matrix; nil where it can, or where there is nothing to. 'known'
-- gives what is known of a number of the layout: itself, or its value. One mode has stride 1.
local function obstacle(m, layout, known)
  local modes, has_unit = modes_of(layout, known), false
  if is_empty(modes) then return nil end
  for _, mode in ipairs(modes) do
    local is_unit = not has_unit and mode.stride == 1
    has_unit = has_unit or is_unit
    local wants, bytes = obstacle_of_stride(mode.stride, matrix.divisor(mode.stride) * m.bytes)
    if wants and mode.extent ~= 1 and not is_unit then
      return ("%s %s: TMA takes %s, and %s elements have %s"):format(m.name, tostring(layout),
        wants, tostring(mode.stride), math.type(mode.stride) and bytes
        or ("a multiple of %d (dyn(n, %d) would promise enough)"):format(bytes, UNIT // m.bytes))
    end
  end
  if m.offset * m.bytes % UNIT ~= 0 then
    return ("%s starts at element %d, and TMA takes addresses of multiples of %d bytes"):format(
      m.name, m.offset, UNIT)
  end
end

-- Why TMA cannot take the matrix, whatever its dynamic numbers will be.
function M.obstacle(p, m)
  if m.unit == "none" then
    return ("%s %s has no contiguous mode, which TMA needs"):format(m.name, tostring(m.layout))
  end
  return obstacle(m, M.layout_of(p, m), function(x) return x end)
end

-- Refuses a matrix that does not have what the plan took for granted of 'planned'; 'address' is the
-- tensor's, if it is on a device.
function M.check_fits(p, m, planned, address)
  matrix.check_unit(m, planned)
  local why = obstacle(m, M.layout_of(p, m), matrix.number)
  if not why and address and address % UNIT ~= 0 then
    why = ("%s starts at address 0x%x, and TMA takes multiples of %d bytes"):format(m.name, address,
      UNIT)
  end
  if why then error(why .. " (a plan for this tensor would do)", 0) end
end

-- Refuses A and B of other batches than the plan's.
function M.check_batches(p, m, batches)
  local names = p.transposed and { A = "B", B = "A" } or { A = "A", B = "B" }
  for role, name in pairs(names) do
    local _, _, count = matrix.extents(m[name])
    if count ~= (p.batched[role] and batches or 1) then
      error(("%s has %d batches of %d, and the plan is for %s (a plan for these tensors would do)")
        :format(name, count, batches, p.batched[role] and "all" or "one"), 0)
    end
  end
end

-- What cuTensorMapEncodeTiled takes for matrices of these layouts, by its names, by theirs. C goes
-- by the boxes of D.
function M.maps(p, layouts)
  local maps = {}
  for name, layout in pairs(layouts) do
    local o = p[name == "C" and "D" or name]
    maps[name] = tma_modes.encode(o.modes, layout, o.bytes)
    for field, value in pairs(o.tma.desc) do maps[name][field] = value end
  end
  return maps
end

-- The tensor maps of tensors by their roles.
function M.tensor_maps(p, cuda, tensors, layouts)
  local maps = {}
  for role, desc in pairs(M.maps(p, layouts)) do
    maps[role] = cuda.tensor_map(desc, tensors[role])
  end
  return maps
end

return M
