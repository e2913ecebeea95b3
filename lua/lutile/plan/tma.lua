-- Matrices of plans as TMA takes them: which ones it can, and tensor maps of tensors.

local lutile = require "lutile"
local matrix = require "lutile.plan.matrix"

local M = {}

local UNIT = 16 -- bytes that addresses and strides are multiples of

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

-- Why TMA cannot read or write the matrix; nil where it can. 'known' gives what is known of a
-- number of the layout: itself, or its value.
local function obstacle(m, layout, known)
  for _, mode in ipairs(modes_of(layout, known)) do
    local bytes = matrix.divisor(mode.stride) * m.bytes
    if mode.extent ~= 1 and mode.stride ~= 1 and bytes % UNIT ~= 0 then
      local text = "%s %s: TMA takes strides of multiples of %d bytes, and %s elements have %s%d"
      return text:format(m.name, tostring(layout), UNIT, tostring(mode.stride),
        math.type(mode.stride) and "" or "a multiple of ", bytes)
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

return M
