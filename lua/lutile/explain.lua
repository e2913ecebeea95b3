-- explain(op, ...): how an operation of the algebra comes to its result, step by step.

local lutile = require "lutile"
local composition = require "lutile.explain.composition"
local inverse = require "lutile.explain.inverse"
local text = require "lutile.explain.text"

local M = {}

-- ---- Operands -----------------------------------------------------------------------------------

-- What a function would make of an argument: a number or table of them is a layout of that shape.
local function as_layout(x)
  if type(x) == "table" or math.type(x) then return lutile.make_layout(x) end
  if lutile.is_integral(x) and not lutile.is_layout(x) then return lutile.make_layout(x) end
  return x
end

local function as_value(x) return type(x) == "table" and lutile.tuple(x) or x end

-- ---- Divides ------------------------------------------------------------------------------------

local function is_number(x)
  return math.type(x) or (lutile.is_integral(x) and not lutile.is_tuple(x))
end

local divide

local function divide_by_mode(lines, layout, tiler)
  for i = 0, lutile.rank(layout) - 1 do
    local mode = lutile.layout(layout, i)
    if i < lutile.rank(tiler) then
      lines:say("mode %s: %s by %s", i, mode, tiler[i])
      lines:within(divide, mode, tiler[i])
    else
      lines:say("mode %s: %s stays, the tiler has no mode for it", i, mode)
    end
  end
end

function divide(lines, layout, tiler)
  if lutile.is_underscore(tiler) then return lines:say("_ leaves %s as it is", layout) end
  if lutile.is_composed_layout(layout) then
    lines:say("%s stays in front, and %s is divided", layout.layout_a, layout.layout_b)
    layout = layout.layout_b
  end
  if not lutile.is_layout(layout) then return end
  if lutile.is_tuple(tiler) then return divide_by_mode(lines, layout, tiler) end
  if is_number(tiler) then
    lines:say("a tile of %s is %s:1", tiler, tiler)
    tiler = lutile.make_layout(tiler, 1)
  end
  if not lutile.is_layout(tiler) or lutile.is_composed_layout(tiler) then return end
  local target = lutile.coalesce(layout).shape
  lines:say("the rest of the tiler: its complement in %s", target)
  lines:within(inverse.complement, tiler, target)
  local found, rest = pcall(lutile.complement, tiler, target)
  if not found then return lines:say("there is none: %s", rest) end
  lines:say("complement: %s", rest)
  lines:say("tile and rest are composed: %s o (%s, %s)", layout, tiler, rest)
  lines:within(composition.explain, layout, lutile.make_layout(tiler, rest), "layout", "tiler")
end

-- ---- Products -----------------------------------------------------------------------------------

local multiply

local function multiply_by_mode(lines, block, tiler)
  for i = 0, lutile.rank(block) - 1 do
    local mode = lutile.layout(block, i)
    if i < lutile.rank(tiler) then
      lines:say("mode %s: %s by %s", i, mode, tiler[i])
      lines:within(multiply, mode, tiler[i])
    else
      lines:say("mode %s: %s stays, the tiler has no mode for it", i, mode)
    end
  end
end

function multiply(lines, block, tiler)
  if lutile.is_underscore(tiler) then return lines:say("_ leaves %s as it is", block) end
  if lutile.is_composed_layout(block) then
    lines:say("%s stays in front, and %s is repeated", block.layout_a, block.layout_b)
    block = block.layout_b
  end
  if lutile.is_tuple(tiler) then return multiply_by_mode(lines, block, tiler) end
  tiler = as_layout(tiler)
  if not lutile.is_layout(tiler) or lutile.is_composed_layout(tiler) then return end
  local target = lutile.size(block) * lutile.cosize(tiler)
  lines:say("places for %s blocks of %s: the complement of %s in %s", lutile.cosize(tiler),
    lutile.size(block), block, target)
  lines:within(inverse.complement, block, target)
  local found, places = pcall(lutile.complement, block, target)
  if not found then return lines:say("there is none: %s", places) end
  lines:say("complement: %s", places)
  lines:say("the repetitions are %s o %s:", places, tiler)
  lines:within(composition.explain, places, tiler, "places", "tiler")
  lines:say("block and repetitions are the two modes")
end

-- Ranks are made equal by modes 1:0, before the modes of block and repetition are paired up.
local function multiply_by_rank(lines, block, tiler, order)
  local inner = lutile.is_composed_layout(block) and block.layout_b or block
  if lutile.is_layout(tiler) and not lutile.is_composed_layout(tiler) then
    local rank = math.max(lutile.rank(inner), lutile.rank(tiler))
    inner, tiler = lutile.append_to(inner, rank), lutile.append_to(tiler, rank)
    lines:say("both with %s modes: %s and %s", rank, inner, tiler)
    multiply(lines, inner, tiler)
  end
  lines:say(order)
end

-- ---- Rearrangements -----------------------------------------------------------------------------

local function rearranged(logical, how)
  return function(lines, a, b)
    logical(lines, a, b)
    lines:say(how)
  end
end

local ZIPPED = "zipped: first halves of the modes gather in mode 0, second halves in mode 1"
local TILED = ZIPPED .. "; the modes of mode 1 come out of it"
local FLAT = ZIPPED .. "; the modes of both come out of them"

local explanations = {
  composition = function(lines, a, b) return composition.explain(lines, a, b, "A", "B") end,
  complement = inverse.complement,
  right_inverse = inverse.right_inverse,
  left_inverse = inverse.left_inverse,
  logical_divide = divide,
  zipped_divide = rearranged(divide, ZIPPED),
  tiled_divide = rearranged(divide, TILED),
  flat_divide = rearranged(divide, FLAT),
  logical_product = multiply,
  zipped_product = rearranged(multiply, ZIPPED),
  tiled_product = rearranged(multiply, TILED),
  flat_product = rearranged(multiply, FLAT),
  blocked_product = function(lines, a, b)
    multiply_by_rank(lines, a, b, "mode i pairs mode i of the block with mode i of the repetition")
  end,
  raked_product = function(lines, a, b)
    multiply_by_rank(lines, a, b, "mode i pairs mode i of the repetition with mode i of the block")
  end,
}

-- ---- Public -------------------------------------------------------------------------------------

local function name_of(op)
  if type(op) == "string" then return op end
  for name in pairs(explanations) do
    if rawequal(lutile[name], op) then return name end
  end
  return tostring(op)
end

local function known_names()
  local names = {}
  for name in pairs(explanations) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

local function describe_call(name, arguments)
  local texts = {}
  for i = 1, arguments.n do texts[i] = tostring(arguments[i]) end
  return ("%s(%s)"):format(name, table.concat(texts, ", "))
end

local function read_arguments(...)
  local arguments = table.pack(...)
  for i = 1, arguments.n do arguments[i] = as_value(arguments[i]) end
  return arguments
end

-- No one reads more steps than these would take.
local MAX_MODES = 256

local function count_modes(x)
  local shape = (lutile.is_layout(x) or lutile.is_tuple(x)) and lutile.shape(x)
  return lutile.is_tuple(shape) and lutile.rank(lutile.flatten(shape)) or 1
end

-- The steps by the rules. What a rule is not defined for ends them; the operation says why.
local function write_steps(lines, name, arguments)
  for i = 1, arguments.n do
    if count_modes(arguments[i]) > MAX_MODES then
      return lines:say("  an operand has more than %d modes, which are not gone through", MAX_MODES)
    end
  end
  local a = as_layout(arguments[1])
  local complete, rule =
    pcall(lines.within, lines, explanations[name], a, table.unpack(arguments, 2, arguments.n))
  lines.indent = ""
  if not complete then lines:say "  the rule has no further step for these operands" end
  return complete and rule or nil
end

-- Where the rule's form is not the result, its offsets are not those of the composition.
local function compare(lines, name, rule, result)
  if name ~= "composition" or tostring(rule) == tostring(result) then return end
  if rule then lines:say("  the rule's form %s does not have all offsets of A(B(c))", rule) end
  if rule or lines[#lines]:find "the test fails" then
    lines:say "  evaluated offset by offset, they are those of another layout:"
  end
end

-- The derivation as text. Its last line is "= result", or "error: message" where there is none.
function M.explain(op, ...)
  local name = name_of(op)
  if not explanations[name] then
    error(("explain: '%s' is none of %s"):format(name, known_names()), 3)
  end
  local arguments, lines = read_arguments(...), text.lines()
  lines:say("%s", describe_call(name, arguments))
  local accepted, result = pcall(lutile[name], table.unpack(arguments, 1, arguments.n))
  local rule = write_steps(lines, name, arguments)
  if accepted then compare(lines, name, rule, result) end
  lines:say(accepted and "= %s" or "error: %s", result)
  return table.concat(lines, "\n")
end

return M
