-- Matrices whose rows, columns or batches have several strides, as of a tensor contraction: where a
-- kernel takes one stride each, a plain copy of the matrix takes its place.

local lutile = require "lutile"

local M = {}

local UNIT = 16 -- bytes that the stride of the copy is a multiple of, so that TMA takes it

-- Whether each mode has one stride.
function M.is_plain(layout)
  for mode = 0, lutile.rank(layout) - 1 do
    local flat = lutile.coalesce(lutile.layout(layout, mode))
    if lutile.rank(flat) ~= 1 or lutile.depth(flat.shape) > 0 then return false end
  end
  return true
end

local function value(x) return math.type(x) and x or x:value() end

-- x rounded up to a multiple of n; of a dynamic number, with that promise.
local function round_up(x, n)
  local rounded = (value(x) + n - 1) // n * n
  return math.type(x) and rounded or lutile.dyn(rounded, n)
end

local function has_unit_stride(layout, mode)
  local flat = lutile.coalesce(lutile.layout(layout, mode))
  for i = 0, lutile.rank(flat) - 1 do
    if flat.stride == 1 or lutile.get(flat, i).stride == 1 then return true end
  end
  return false
end

-- The layout of the copy: contiguous along mode 1 if 'along_columns', else along the mode in which
-- the matrix is, if only in part.
function M.layout(layout, bytes, along_columns)
  local sizes = {}
  for mode = 0, lutile.rank(layout) - 1 do
    sizes[mode + 1] = lutile.product(lutile.shape(layout, mode))
  end
  local along = not along_columns and has_unit_stride(layout, 0) and 1 or 2
  local line = round_up(sizes[along], math.max(UNIT // bytes, 1))
  local strides = along == 1 and { 1, line } or { line, 1 }
  strides[3] = sizes[3] and line * sizes[3 - along] or nil
  return lutile.make_layout(sizes, strides)
end

-- ---- Running -----------------------------------------------------------------------------------

local function new_tensor(x, m)
  if not x.cuda then return lutile.make_tensor(m.dtype, m.layout) end
  return x.cuda.tensor(m.dtype, m.layout, x.t.D.data:device())
end

local function copier(x, from, to)
  if not x.cuda then return function() lutile.copy(from, to) end end
  return x.cuda.prepare_copy(from, to, x.stream)
end

-- The run x of plan p on plain copies: the same run, and lists of functions that copy before and
-- after.
function M.replace(p, x)
  if p.direct and x.cuda then return x, {}, {} end -- TMA goes through all modes
  local before, after, t = {}, {}, {}
  for name, tensor in pairs(x.t) do t[name] = tensor end
  for _, name in ipairs { "A", "B", "C", "D" } do
    local m = x.m[name]
    if m.packed and name == "C" and not p.reads_c then
      t.C = nil -- not read
    elseif m.packed then
      t[name] = new_tensor(x, m)
      if name ~= "D" then before[#before + 1] = copier(x, x.t[name], t[name]) end
    end
  end
  if x.m.D.packed then after[1] = copier(x, t.D, x.t.D) end
  t.C = t.C or t.D
  local replaced = {}
  for k, v in pairs(x) do replaced[k] = v end
  replaced.t = t
  return replaced, before, after
end

return M
