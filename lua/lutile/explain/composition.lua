-- Composition, step by step: the left side as digits, and each mode of the right side walked
-- through them.

local lutile = require "lutile"
local text = require "lutile.explain.text"

local M = {}

local value, show = text.value, text.show

-- ---- One mode of the right side -----------------------------------------------------------------

-- A stride that starts beyond the mode: it must be whole turns of it.
local function pass_mode(lines, i, mode, at, n)
  local d = math.abs(value(at.stride))
  if value(at.rest) > 1 and d % n ~= 0 then
    lines:say("mode %s (%s): stride %s is no multiple of %s: the test fails", i, show(mode),
      at.stride, mode.shape)
    return false
  end
  lines:say("mode %s (%s): stride %s is %s * %s, whole turns of this mode: no step in it",
    i, show(mode), at.stride, lutile.ceil_div(d, n), n)
  return true
end

local function append(result, at, shape, stride)
  local mode = { shape = shape, stride = at.stride * stride }
  result[#result + 1] = mode
  return mode
end

-- A stride that divides the mode: as many steps as fit.
local function step_in_mode(lines, i, mode, at, n, result)
  local d, rest = math.abs(value(at.stride)), value(at.rest)
  local fitting = (n - 1) // d + 1
  if rest > fitting and n % d ~= 0 then
    lines:say("mode %s (%s): stride %s does not divide %s: the test fails", i, show(mode), d, n)
    return false
  end
  local steps = math.min(fitting, rest)
  if rest % steps ~= 0 then
    lines:say("mode %s (%s): %s steps of stride %s fit, and do not divide the %s left: "
      .. "the test fails", i, show(mode), steps, d, rest)
    return false
  end
  local taken = append(result, at, lutile.min(lutile.ceil_div(mode.shape, d), at.rest), mode.stride)
  local why = n % d == 0 and ("stride %d divides %d"):format(d, n)
    or ("%d steps of stride %d stay below %d"):format(steps, d, n)
  lines:say("mode %s (%s): %s; %s of %s steps here: %s", i, show(mode), why, steps, rest,
    show(taken))
  at.rest = at.rest // taken.shape
  return true
end

-- The modes that one leaf of the right side becomes, or nil where a test fails.
local function walk(lines, digits, leaf)
  if leaf.stride == 0 then
    lines:say("stride 0: every index reads offset 0")
    return { leaf }
  end
  local coefficient = text.basis(leaf.stride) == "" and leaf.stride or value(leaf.stride)
  local at, result = { rest = leaf.shape, stride = coefficient }, {}
  for i = 1, #digits - 1 do
    local mode = digits[i]
    local n, d = value(mode.shape), math.abs(value(at.stride))
    if n == 0 or d == 0 then return nil end
    if at.rest ~= 1 then
      local step = d >= n and pass_mode or step_in_mode
      if not step(lines, i - 1, mode, at, n, result) then return nil end
    end
    local sign = value(at.stride) < 0 and -1 or 1
    at.stride = sign * lutile.ceil_div(sign * at.stride, mode.shape)
  end
  if #result == 0 or at.rest ~= 1 then
    local last = digits[#digits]
    local taken = append(result, at, at.rest, last.stride)
    lines:say("mode %s (%s): the last one runs on, and takes the rest: %s", #digits - 1, show(last),
      show(taken))
  end
  return result
end

-- ---- The left side ------------------------------------------------------------------------------

-- The mode of a layout that a basis names: "@1@0" is mode 1 of mode 0.
local function pick(layout, basis)
  local path = {}
  for i in basis:gmatch "@(%d+)" do table.insert(path, 1, math.tointeger(i)) end
  if #path == 0 then return layout end
  return lutile.layout(layout, table.unpack(path))
end

local function say_digits(lines, name, layout, digits)
  local modes = text.modes(layout)
  lines:say("%s flattened: %s", name, text.show_all(modes))
  lines:say("%s coalesced: %s", name, text.show_all(digits))
  if #digits == 1 then
    lines:say("an index i has the offset i * %s", digits[1].stride)
  else
    lines:say("an index is read as digits, the first mode's fastest; the last mode runs on")
  end
end

-- Steps that add up within a digit may carry into the next one.
local function find_carry(digits, uses)
  for i = 1, #digits - 1 do
    if (uses[i] or 0) >= value(digits[i].shape) then return i - 1, uses[i] end
  end
end

local function note_uses(uses, digits, leaf)
  local rest, d = value(leaf.shape), math.abs(value(leaf.stride))
  for i = 1, #digits - 1 do
    local n = value(digits[i].shape)
    if n == 0 or d == 0 then return end
    if d < n then
      local steps = math.min((n - 1) // d + 1, rest)
      uses[i] = (uses[i] or 0) + (steps - 1) * d
      rest = rest // steps
    end
    d = (d - 1) // n + 1
  end
end

local function say_carries(lines, by_basis, uses)
  for basis, used in pairs(uses) do
    local mode, reach = find_carry(by_basis[basis], used)
    if mode then
      lines:say("together the modes reach index %s in mode %s, which carries into the next: "
        .. "the offsets decide whether the form holds", reach, mode)
    end
  end
end

-- The digits of the mode that a leaf's basis names.
local function pick_digits(lines, a, leaf)
  local digits = text.coalesce_kept(text.modes(pick(a, text.basis(leaf.stride))))
  lines:say("  %s picks the mode %s", leaf.stride, text.show_all(digits))
  return digits
end

-- Shapes or strides of the results, nested as the right side's shape.
local function nest(shape, results, part)
  local i = 0
  return text.each_leaf(shape, function()
    i = i + 1
    return text.layout(results[i])[part]
  end)
end

-- ---- Layouts ------------------------------------------------------------------------------------

-- The composition by the rule, or nil where a test fails. Names are for the text.
function M.layouts(lines, a, b, name_a, name_b)
  local by_basis, uses = {}, {}
  local digits = text.coalesce_kept(text.modes(a))
  by_basis[""] = digits
  say_digits(lines, name_a, a, digits)
  lines:say("%s mode by mode: %s", name_b, text.show_all(text.modes(b)))
  local result = {}
  for i, leaf in ipairs(text.modes(b)) do
    local basis = text.basis(leaf.stride)
    lines:say("%s:", show(leaf))
    if by_basis[basis] == nil then by_basis[basis] = pick_digits(lines, a, leaf) end
    result[i] = lines:within(walk, by_basis[basis], leaf)
    if not result[i] then return nil end
    lines:say("  so %s becomes %s", show(leaf), text.layout(result[i]))
    uses[basis] = uses[basis] or {}
    note_uses(uses[basis], by_basis[basis], leaf)
  end
  say_carries(lines, by_basis, uses)
  return lutile.make_layout(nest(b.shape, result, "shape"), nest(b.shape, result, "stride"))
end

-- ---- Any operands -------------------------------------------------------------------------------

local function by_mode(lines, a, tiler, name_a)
  local modes = {}
  for i, tile in pairs(tiler) do
    lines:say("mode %s: %s o %s", i, lutile.layout(a, i), tile)
    modes[i + 1] = lines:within(M.explain, lutile.layout(a, i), tile, name_a .. i, "tile")
    if not modes[i + 1] then return nil end
  end
  return lutile.make_layout(table.unpack(modes))
end

-- What a composition is by the rule, or nil where it is not by this rule alone.
function M.explain(lines, a, b, name_a, name_b)
  if lutile.is_underscore(b) then
    lines:say("_ leaves %s as it is", a)
    return a
  end
  if math.type(b) or (lutile.is_integral(b) and not lutile.is_tuple(b)) then
    lines:say("%s as a tiler is %s:1", b, b)
    b = lutile.make_layout(b, 1)
  end
  if lutile.is_composed_layout(a) and not lutile.is_swizzle(b) then
    lines:say("%s stays in front, and %s is composed within", a.layout_a, a.layout_b)
    lines:within(M.explain, a.layout_b, b, "the layout within", name_b)
    return nil
  end
  if not lutile.is_layout(a) or lutile.is_composed_layout(b) or lutile.is_swizzle(b) then
    lines:say("a swizzle moves to the front: %s(%s(c)) is looked for at every coordinate", name_a,
      name_b)
    return nil
  end
  if lutile.is_tuple(b) then return by_mode(lines, a, b, name_a) end
  return M.layouts(lines, a, b, name_a, name_b)
end

return M
