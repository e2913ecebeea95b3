-- Dynamic integers and what they are multiples of. Nothing structural may depend on a dynamic
-- value: an operation on other values that keep the promises gives the same text but for these
-- values, or it is refused; and every promise in a result holds.

local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"

local dyn = lutile.dyn

-- ---- Operands whose values can be drawn again ---------------------------------------------------

local STATIC = { 1, 2, 2, 3, 4, 4, 8, 16 }
local PROMISES = { 1, 2, 4, 4, 8, 3 }

-- A leaf is a static number, or { promise } for a dynamic one.
local function random_leaf(random, share)
  if random(1, 100) > share then return STATIC[random(1, #STATIC)] end
  return { promise = PROMISES[random(1, #PROMISES)] }
end

local function random_tree(random, leaves, share)
  if leaves == 1 then return random_leaf(random, share) end
  local tree = {}
  while leaves > 0 do
    local take = random(1, math.min(leaves, 2))
    tree[#tree + 1] = random_tree(random, take == leaves and #tree == 0 and 1 or take, share)
    leaves = leaves - take
  end
  return tree
end

-- A tree of the same nesting.
local function tree_like(random, tree, share)
  if type(tree) == "number" or tree.promise then return random_leaf(random, share) end
  local like = {}
  for i, part in ipairs(tree) do like[i] = tree_like(random, part, share) end
  return like
end

-- The tree with new values for its dynamic leaves.
local function draw(random, tree)
  if type(tree) == "number" then return tree end
  if tree.promise then return dyn(tree.promise * random(1, 6), tree.promise) end
  local drawn = {}
  for i, part in ipairs(tree) do drawn[i] = draw(random, part) end
  return drawn
end

-- Each maker gives a function that draws an operand.
local makers = {}

function makers.shape(random)
  local tree = random_tree(random, random(1, 4), 50)
  return function() return draw(random, tree) end
end

function makers.layout(random)
  local shape = random_tree(random, random(1, 4), 50)
  local compact = random(0, 1) == 0
  local stride = tree_like(random, shape, random(0, 1) * 40)
  return function()
    if compact then return lutile.make_layout(draw(random, shape)) end
    return lutile.make_layout(draw(random, shape), draw(random, stride))
  end
end

function makers.tiler(random)
  local n = random_leaf(random, 30)
  local kind = random(1, 3)
  local m = random_leaf(random, 30)
  return function()
    if kind == 1 then return draw(random, n) end
    if kind == 2 then return lutile.tuple { draw(random, n) } end
    return lutile.make_layout(draw(random, n), draw(random, m))
  end
end

function makers.coordinate(random)
  local tree = random_leaf(random, 60)
  return function() return draw(random, tree) end
end

function makers.factor(random)
  local n = ({ 1, 2, 4 })[random(1, 3)]
  return function() return n end
end

function makers.swizzled(random)
  local layout = makers.layout(random)
  local swizzle = lutile.Swizzle(random(0, 3), random(0, 4), random(3, 5))
  local offset = random(0, 1) * random_leaf(random, 0)
  if random(0, 2) == 0 then offset = { promise = PROMISES[random(1, #PROMISES)] } end
  return function()
    return lutile.make_composed_layout(swizzle, draw(random, offset), layout())
  end
end

local operations = {
  coalesce = { "layout" }, flatten = { "layout" }, filter = { "layout" }, zip = { "layout" },
  composition = { "layout", "layout" }, with_shape = { "layout", "shape" },
  complement = { "layout", "shape" }, right_inverse = { "layout" }, left_inverse = { "layout" },
  logical_divide = { "layout", "tiler" }, zipped_divide = { "layout", "tiler" },
  tiled_divide = { "layout", "tiler" }, flat_divide = { "layout", "tiler" },
  logical_product = { "layout", "tiler" }, zipped_product = { "layout", "tiler" },
  blocked_product = { "layout", "layout" }, raked_product = { "layout", "layout" },
  tile_to_shape = { "layout", "shape" },
  compact_col_major = { "shape" }, compact_row_major = { "shape" },
  make_layout_like = { "layout" }, make_fragment_like = { "layout" },
  coshape = { "layout" }, nullspace = { "layout" }, filter_zeros = { "layout" },
  shape_div = { "shape", "shape" }, ceil_div = { "shape", "shape" },
  round_up = { "shape", "shape" }, elem_scale = { "shape", "shape" },
  inner_product = { "shape", "shape" }, product = { "shape" }, product_each = { "shape" },
  sum = { "shape" }, gcd = { "shape", "shape" }, max = { "shape", "shape" },
  min = { "shape", "shape" }, domain_offset = { "coordinate", "layout" },
  local_tile = { "layout", "tiler", "coordinate" },
  local_partition = { "layout", "tiler", "coordinate" },
  max_common_layout = { "layout", "layout" },
  upcast = { "layout", "factor" }, downcast = { "layout", "factor" },
  domain_distribute = { "shape", "factor" },
}

local swizzled = {}
for name, arguments in pairs(operations) do
  local list = { table.unpack(arguments) }
  for i, kind in ipairs(list) do
    if kind == "layout" then
      list[i] = "swizzled"
      swizzled[name] = list
      break
    end
  end
end

-- ---- What must hold -----------------------------------------------------------------------------

local function text_of(results)
  local texts = {}
  for i = 1, results.n do texts[i] = tostring(results[i]) end
  return table.concat(texts, " and ")
end

-- Two results, of which the second may be an offset: a number without flags.
local function structure_of(results)
  local copy = { n = results.n, results[1] }
  if results.n == 2 then copy[2] = "offset" end
  return (text_of(copy):gsub("%?%-?%d+", "?"))
end

local function broken_promise(text)
  for value, promise in text:gmatch "%?(%-?%d+){(%d+)}" do
    if tonumber(value) % tonumber(promise) ~= 0 then return promise end
  end
end

local function call(name, arguments)
  return table.pack(pcall(lutile[name], table.unpack(arguments)))
end

local function draw_all(draws)
  local arguments = {}
  for i, one in ipairs(draws) do arguments[i] = one() end
  return arguments
end

local function describe_call(name, arguments)
  return ("%s of %s"):format(name, text_of { n = #arguments, table.unpack(arguments) })
end

local function results_of(outcome) return table.pack(table.unpack(outcome, 2, outcome.n)) end

local function check(name, arguments, outcome, structure)
  local results = results_of(outcome)
  local promise = broken_promise(text_of(results))
  if promise then
    error(("%s is %s: not a multiple of %s")
      :format(describe_call(name, arguments), text_of(results), promise), 0)
  end
  if structure and structure_of(results) ~= structure then
    error(("%s is %s, but for other values %s")
      :format(describe_call(name, arguments), text_of(results), structure), 0)
  end
  return structure_of(results)
end

-- Runs an operation on several draws of the same operands; whether any was accepted.
local function run(random, name, kinds)
  local draws = {}
  for i, kind in ipairs(kinds) do draws[i] = makers[kind](random) end
  local structure
  for _ = 1, 4 do
    local arguments = draw_all(draws)
    local outcome = call(name, arguments)
    if outcome[1] then structure = check(name, arguments, outcome, structure) end
  end
  return structure ~= nil
end

local function sorted_names(list)
  local names = {}
  for name in pairs(list) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function check_operations(list, count)
  for seed, name in ipairs(sorted_names(list)) do
    it(("are carried by %s"):format(name), function()
      local random = enumerate.random(seed)
      local accepted = 0
      for _ = 1, count do
        if run(random, name, list[name]) then accepted = accepted + 1 end
      end
      assert.is_true(accepted > 0)
    end)
  end
end

describe("promises", function() check_operations(operations, 400) end)

describe("promises of swizzled layouts", function()
  local refused = { blocked_product = true, raked_product = true, tile_to_shape = true }
  local list = {}
  for name, kinds in pairs(swizzled) do
    if not refused[name] then list[name] = kinds end
  end
  check_operations(list, 100)
end)
