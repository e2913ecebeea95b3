-- Matrices of plans as TMA takes them: which ones it can, and descriptors of their tensor maps.

local matrix = require "lutile.plan.matrix"

local M = {}

local UNIT = 16 -- bytes that addresses and strides are multiples of

local OTHER = { row = "column", column = "row" }

-- Why TMA cannot read or write the matrix; nil where it can, whatever its dynamic numbers will be.
function M.obstacle(m)
  if m.unit == "none" then
    return ("%s %s has no contiguous mode, which TMA needs"):format(m.name, tostring(m.layout))
  end
  for _, mode in ipairs { OTHER[m.unit], "batch" } do
    local bytes = matrix.divisor(m[mode].stride) * m.bytes
    if m[mode].extent ~= 1 and bytes % UNIT ~= 0 then
      local text = "%s %s: TMA takes strides of multiples of %d bytes, and %s elements have %s%d"
      return text:format(
        m.name, tostring(m.layout), UNIT, tostring(m[mode].stride),
        math.type(m[mode].stride) and "" or "a multiple of ", bytes)
    end
  end
  if m.offset * m.bytes % UNIT ~= 0 then
    return ("%s starts at element %d, and TMA takes addresses of multiples of %d bytes"):format(
      m.name, m.offset, UNIT)
  end
end

-- Refuses a matrix that does not have what the plan took for granted of 'planned'.
function M.check_fits(m, planned, address)
  matrix.check_unit(m, planned)
  local now = { name = m.name, layout = m.layout, unit = planned.unit, bytes = m.bytes, offset = 0 }
  for _, mode in ipairs { "row", "column", "batch" } do now[mode] = matrix.mode_now(m, mode) end
  local why = M.obstacle(now)
  if not why and address and address % UNIT ~= 0 then
    why = ("%s starts at address 0x%x, and TMA takes multiples of %d bytes"):format(m.name, address,
      UNIT)
  end
  if why then error(why .. " (a plan for this tensor would do)", 0) end
end

-- The tensor map of tensor t, whose matrix is m, for the boxes of an operand; 'unit' is the mode
-- that is contiguous.
function M.map(cuda, operand, t, m, unit)
  local desc = operand.tma.desc
  local extents, strides = {}, {}
  for i, mode in ipairs { unit, OTHER[unit], "batch" } do
    local now = matrix.mode_now(m, mode)
    extents[i] = now.extent
    strides[i] = now.extent == 1 and UNIT or now.stride * m.bytes
  end
  if extents[3] > 1 and strides[3] == 0 then extents[3], strides[3] = 1, UNIT end
  return cuda.tensor_map({ tensorRank = 3, tensorDataType = desc.tensorDataType,
    globalDim = extents, globalStrides = { strides[2], strides[3] }, boxDim = desc.boxDim,
    elementStrides = desc.elementStrides, swizzle = desc.swizzle }, t)
end

return M
