local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local vectors = require "spec.support.vectors"
local composition = require "lutile.explain.composition"
local text = require "lutile.explain.text"

local parse, explain = lutile.parse, lutile.explain

local BINARY = { "composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide",
  "logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product",
  "raked_product" }
local UNARY = { "complement", "right_inverse", "left_inverse" }

local function last_line(s) return s:match ".*\n(.*)" end

-- The last line is what the operation gives, or its error.
local function check(name, ...)
  local accepted, result = pcall(lutile[name], ...)
  local expected = (accepted and "= " or "error: ") .. tostring(result)
  local explained = explain(name, ...)
  if last_line(explained) ~= expected then
    error(("%s ends with\n%s\nnot\n%s"):format(name, last_line(explained), expected), 0)
  end
  return explained, accepted, result
end

-- The list of modes that the explanation puts together, coalesced.
local function together(explained)
  local shape, stride = {}, {}
  for s, d in explained:match "together: ([^\n]*), then coalesced":gmatch "(%d+):(%d+)" do
    shape[#shape + 1], stride[#stride + 1] = math.tointeger(s), math.tointeger(d)
  end
  return lutile.coalesce(lutile.make_layout(shape, stride))
end

describe("explain", function()
  it("tells a composition as a teacher would", function()
    assert.equal([[
composition((10,2):(16,4), (5,4):(1,5))
  A flattened: 10:16, 2:4
  A coalesced: 10:16, 2:4
  an index is read as digits, the first mode's fastest; the last mode runs on
  B mode by mode: 5:1, 4:5
  5:1:
    mode 0 (10:16): stride 1 divides 10; 5 of 5 steps here: 5:16
    so 5:1 becomes 5:16
  4:5:
    mode 0 (10:16): stride 5 divides 10; 2 of 4 steps here: 2:80
    mode 1 (2:4): the last one runs on, and takes the rest: 2:4
    so 4:5 becomes (2,2):(80,4)
= (5,(2,2)):(16,(80,4))]], explain("composition", parse "(10,2):(16,4)", parse "(5,4):(1,5)"))
  end)

  it("shows the test that fails, and the error", function()
    local explained = explain(lutile.composition, parse "(4,6,8):(2,3,5)", parse "6:3")
    assert.matches("mode 0 %(4:2%): stride 3 does not divide 4: the test fails\n"
      .. "error: composition: stride 3 does not divide mode 0", explained)
  end)

  it("tells where the rule's form is not the result", function()
    local explained = explain("composition", parse "(4,8):(1,4)", parse "(4,2):(1,3)")
    assert.equal("= (4,2):(1,3)", last_line(explained))
    local carried = explain("composition", parse "(4,2):(1,8)", parse "(3,2):(1,2)")
    assert.matches("carries into the next", carried)
  end)

  it("tells a complement, an inverse, a divide and a product", function()
    assert.matches("2:6: offsets below 2 are covered; 2 goes 3 times into its stride 6: 3:2",
      (explain("complement", parse "(2,2):(1,6)", 24)))
    assert.matches("4:1 at index 2: its stride is the 1 reached, so offsets go on: 4:2",
      (explain("right_inverse", parse "(2,4,6):(4,1,8)")))
    assert.matches("below 16 %(2:16%): 16 steps of 1", (explain("left_inverse",
      parse "(4,2):(1,16)")))
    assert.matches("complement: %(2,3%):%(1,8%)", (explain("logical_divide",
      parse "(2,4,3):(4,1,8)", parse "4:2")))
    assert.matches("the repetitions are 6:4 o 6:1", (explain("logical_product", 4, 6)))
  end)

  it("ends with the result for all operations on small layouts", function()
    local random = enumerate.random(8)
    for _ = 1, 80 do
      local a, b = enumerate.random_layout(random), enumerate.random_layout(random)
      for _, name in ipairs(BINARY) do check(name, a, b) end
      for _, name in ipairs(UNARY) do check(name, a) end
      local tiler = lutile.tuple { random(1, 8), parse "4:2" }
      local block = lutile.make_layout { 8, random(1, 9) }
      for _, name in ipairs(BINARY) do check(name, block, tiler) end
      local swizzled = lutile.make_composed_layout(lutile.Swizzle(2, 1, 3), 0, a)
      for _, name in ipairs(BINARY) do check(name, swizzled, b) end
      for _, name in ipairs(UNARY) do check(name, swizzled) end
      check("composition", a, swizzled)
      check("composition", a, lutile._)
    end
  end)

  it("derives the very result wherever no test fails", function()
    local derived, random = 0, enumerate.random(10)
    enumerate.each_pair(function(a, b)
      if random(1, 15) > 1 then return end
      local lines = text.lines()
      local rule = composition.explain(lines, a, b, "A", "B")
      local doubtful = table.concat(lines, "\n"):find "carries"
      if rule and not doubtful then
        derived = derived + 1
        if rule ~= a .. b then error(("%s o %s is derived as %s"):format(a, b, rule), 0) end
      end
    end)
    assert.is_true(derived > 1000)
    local function check_unary(l)
      for _, name in ipairs(UNARY) do
        local explained, accepted, result = check(name, l)
        if accepted and explained:find "together: " and not explained:find "decide" then
          if together(explained) ~= result then error(("%s:\n%s"):format(name, explained), 0) end
        end
      end
    end
    enumerate.each_layout(2, { 1, 2, 3, 4 }, enumerate.range(0, 8), check_unary)
    enumerate.each_layout(3, { 1, 2 }, { 0, 1, 2, 3, 4, 8 }, check_unary)
  end)

  it("has steps for everything that is a layout", function()
    local random = enumerate.random(9)
    for _ = 1, 80 do
      local a, b = enumerate.random_bijection(random), enumerate.random_bijection(random)
      for _, name in ipairs(BINARY) do
        assert.is_nil((check(name, a, b):find "no further step"), name)
      end
      for _, name in ipairs(UNARY) do assert.is_nil((check(name, a):find "no further step")) end
    end
  end)

  it("ends with the result for the reference vectors", function()
    local explained = {}
    for _, list in ipairs { BINARY, UNARY } do
      for _, name in ipairs(list) do explained[name] = true end
    end
    for _, path in ipairs((vectors.files())) do
      for _, case in ipairs(vectors.cases(path)) do
        if explained[case.op] then
          local arguments = {}
          for i, argument in ipairs(case.args) do arguments[i] = lutile.from_cute(argument) end
          check(case.op, table.unpack(arguments))
        end
      end
    end
  end)

  it("goes through no more modes than anyone reads", function()
    local ones = {}
    for i = 1, 100000 do ones[i] = 1 end
    local many = lutile.make_layout(ones)
    for _, arguments in ipairs { { "left_inverse", many }, { "composition", many, many },
      { "logical_divide", lutile.make_layout(8), lutile.tuple { ones } } } do
      local start = os.clock()
      local explained = check(table.unpack(arguments))
      assert.matches("more than 256 modes", explained)
      assert.is_true(os.clock() - start < 2)
    end
  end)

  it("refuses what it does not know", function()
    assert.error_matches(function() explain("slice", 4) end,
      "^explain: 'slice' is none of blocked_product, complement, composition, .*$")
  end)
end)
