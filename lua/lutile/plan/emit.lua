-- Layouts as C++ functions of an unsigned index: what kernels see of a plan.

local lutile = require "lutile"

local M = {}

local LINE = 100 -- columns

local function leaves(x)
  if math.type(x) then return { x } end
  local flat = lutile.flatten(x)
  if math.type(flat) then return { flat } end
  local list = {}
  for i = 0, #flat - 1 do list[i + 1] = flat[i] end
  return list
end

local function term(name, before, extent, stride, is_last)
  local text = name
  if before > 1 then text = ("%s / %d"):format(text, before) end
  if not is_last then text = ("%s %% %d"):format(text, extent) end
  if stride ~= 1 then text = ("%s * %d"):format(text, stride) end
  return text
end

-- A layout at the index that 'name' holds, its offsets times 'scale'.
local function expression(layout, name, scale)
  layout = lutile.coalesce(layout)
  local extents, strides = leaves(layout.shape), leaves(layout.stride)
  local last = 0
  for i = 1, #extents do if extents[i] > 1 then last = i end end
  local terms, before = {}, 1
  for i = 1, #extents do
    if strides[i] ~= 0 and extents[i] > 1 then
      terms[#terms + 1] = term(name, before, extents[i], strides[i] * scale, i == last)
    end
    before = before * extents[i]
  end
  return #terms > 0 and table.concat(terms, " + ") or "0"
end

-- B, M, S of a layout's swizzle, its unit scaled, and the layout inside of it; nil for a plain one.
function M.split_swizzle(layout, scale)
  local text = tostring(layout)
  local from, to = text:find(" o 0 o ", 1, true)
  if not from then return nil, layout end
  local b, m, s = text:sub(1, from - 1):match "^Sw<(%d+),(%d+),(%d+)>$"
  local shift = 0
  while 1 << shift < scale do shift = shift + 1 end
  return { math.tointeger(b), math.tointeger(m) + shift, math.tointeger(s) },
    lutile.parse(text:sub(to + 1))
end

-- The bits that a swizzle changes.
function M.mask(swizzle)
  return swizzle and ((1 << swizzle[1]) - 1) << swizzle[2] or 0
end

-- A sum over as many lines as it needs.
local function wrap(text)
  if #text + 12 <= LINE then return text end
  local at = text:sub(1, LINE - 12):match ".*() %+ "
  if not at then return text end
  return text:sub(1, at - 1) .. "\n           " .. wrap(text:sub(at + 1))
end

-- A function 'name' that gives the offsets of a layout times 'scale', a power of two; the numbers
-- of a swizzle count in what 'layout' does.
function M.layout(name, layout, scale)
  scale = scale or 1
  local swizzle, plain = M.split_swizzle(layout, scale)
  local text = expression(plain, "i", scale)
  if swizzle then
    text = ("swizzle<%d, %d, %d>(%s)"):format(swizzle[1], swizzle[2], swizzle[3], text)
  end
  local comment = tostring(layout) .. (scale > 1 and (" times %d"):format(scale) or "")
  local head = ("  static DEVICE constexpr unsigned %s(unsigned%s) {"):format(name,
    text:find "i" and " i" or "")
  local line = ("%s return %s; }"):format(head, text)
  if #line > LINE then line = ("%s\n    return %s;\n  }"):format(head, wrap(text)) end
  return ("  /* %s */\n%s"):format(comment, line)
end

function M.constant(name, value, comment)
  local kind = type(value) == "boolean" and "bool" or "int"
  return ("  static constexpr %s %s = %s;%s"):format(kind, name, tostring(value),
    comment and ("  /* %s */"):format(comment) or "")
end

-- Functions and constants of a struct as those of a namespace.
function M.functions(list)
  return (table.concat(list, "\n"):gsub("  static DEVICE", "DEVICE"):gsub("  /%*", "/*"))
end

function M.constants(list)
  return (("\n" .. table.concat(list, "\n")):gsub("\n  static ", "\n"):sub(2))
end

return M
