-- What the explanations share: lines of text, and layouts as lists of modes.

local lutile = require "lutile"

local M = {}

-- ---- Lines ------------------------------------------------------------------------------------

local Lines = {}
Lines.__index = Lines

function M.lines() return setmetatable({ indent = "" }, Lines) end

-- Adds a line; arguments that are values come as %s.
function Lines:say(format, ...)
  local texts = table.pack(...)
  for i = 1, texts.n do texts[i] = tostring(texts[i]) end
  self[#self + 1] = self.indent .. format:format(table.unpack(texts, 1, texts.n))
end

-- What f says is a part of the last line's step. Returns what f returns.
function Lines:within(f, ...)
  local indent = self.indent
  self.indent = indent .. "  "
  local result = f(self, ...)
  self.indent = indent
  return result
end

-- ---- Numbers ----------------------------------------------------------------------------------

function M.is_static(x) return math.type(x) == "integer" end

-- The value of an integer, or the coefficient of a basis.
function M.value(x) return M.is_static(x) and x or x:value() end

-- "@1@0" of the basis 4@1@0, "" of an integer.
function M.basis(x) return tostring(x):match "@.*" or "" end

-- ---- Modes ------------------------------------------------------------------------------------

local function leaves(x, list)
  if not lutile.is_tuple(x) then
    list[#list + 1] = x
    return list
  end
  for _, part in pairs(x) do leaves(part, list) end
  return list
end

-- The leaves of a layout: a list of { shape, stride }.
function M.modes(layout)
  local strides, modes = leaves(layout.stride, {}), {}
  for i, shape in ipairs(leaves(layout.shape, {})) do
    modes[i] = { shape = shape, stride = strides[i] }
  end
  return modes
end

function M.show(mode) return ("%s:%s"):format(mode.shape, mode.stride) end

-- The layout of a list of modes: one is no tuple.
function M.layout(modes)
  if #modes == 1 then return lutile.make_layout(modes[1].shape, modes[1].stride) end
  local shape, stride = {}, {}
  for i, mode in ipairs(modes) do shape[i], stride[i] = mode.shape, mode.stride end
  return lutile.make_layout(shape, stride)
end

function M.show_all(modes)
  local texts = {}
  for i, mode in ipairs(modes) do texts[i] = M.show(mode) end
  return table.concat(texts, ", ")
end

local function continues(left, right)
  if not M.is_static(right.shape) or M.basis(left.stride) ~= M.basis(right.stride) then
    return false
  end
  if not M.is_static(left.shape) and M.value(left.stride) ~= 0 then return false end
  local reach = left.shape * left.stride
  return tostring(reach) == tostring(right.stride) and not tostring(reach):find "?"
end

-- Coalesced as a left side is, whose last mode runs on past the size: one of extent 1 stays.
function M.coalesce_kept(modes)
  local result = {}
  for i = #modes, 1, -1 do
    local mode, front = modes[i], result[1]
    if not front then
      result[1] = { shape = mode.shape, stride = mode.stride }
    elseif mode.shape ~= 1 and continues(mode, front) then
      front.shape, front.stride = mode.shape * front.shape, mode.stride
    elseif mode.shape ~= 1 then
      table.insert(result, 1, { shape = mode.shape, stride = mode.stride })
    end
  end
  return result
end

-- "((2,3),4)" of a tree of texts.
function M.each_leaf(shape, f)
  if not lutile.is_tuple(shape) then return f() end
  local parts = {}
  for i, part in pairs(shape) do parts[i + 1] = M.each_leaf(part, f) end
  return parts
end

return M
