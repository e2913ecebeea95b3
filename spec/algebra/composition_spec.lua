local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local laws = require "spec.support.laws"

local parse = lutile.parse

-- Whether values[first], values[first + step], ... (count of them) are those of some layout: of
-- one mode, or of a first mode of a smaller size repeated by such a sequence.
local function is_layout_sequence(values, step, count)
  if count == 1 then return true end
  local stride = values[step + 1] - values[1]
  local run = 2
  while run < count and values[run * step + 1] - values[1] == run * stride do run = run + 1 end
  if run == count then return true end
  for size = run, 2, -1 do
    if count % size == 0 and is_layout_sequence(values, step * size, count // size) then
      local repeats = true
      for i = 0, count - 1 do
        local inner, outer = i % size, i - i % size
        repeats = repeats
          and values[i * step + 1] == values[outer * step + 1] + inner * stride
      end
      if repeats then return true end
    end
  end
  return false
end

-- Whether some layout that refines b's shape is a(b(c)) everywhere, found without the algebra: each
-- mode of b alone gives such a sequence, and the modes together give the sums.
local function is_composable(a, b)
  local shape = b.shape
  local sizes = math.type(shape) and { [0] = shape } or shape
  local modes = math.type(shape) and 1 or #shape
  local parts, step = {}, 1
  for m = 0, modes - 1 do
    local values = {}
    for i = 0, sizes[m] - 1 do values[i + 1] = a(b(i * step)) end
    if not is_layout_sequence(values, 1, sizes[m]) then return false end
    parts[m] = values
    step = step * sizes[m]
  end
  for i = 0, lutile.size(b) - 1 do
    local sum, rest = 0, i
    for m = 0, modes - 1 do
      sum = sum + parts[m][rest % sizes[m] + 1]
      rest = rest // sizes[m]
    end
    if sum ~= a(b(i)) then return false end
  end
  return true
end

describe("composition", function()
  for _, c in ipairs {
    { "(4,2):(2,1)", "(2,2):(1,2)", "(2,2):(2,4)", why = "a transposed block" },
    { "(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))", why = "the book's example" },
    { "(10,2):(16,4)", "(3,4):(1,5)", "(3,(2,2)):(16,(80,4))", why = "the rest divides" },
    { "(3,6,2,8):(1,100,1000,10000)", "6:3", "6:100", why = "a whole mode is skipped" },
    { "(3,6,2,8):(1,100,1000,10000)", "3:6", "3:200", why = "the stride spans a mode" },
    { "(3,6,2,8):(1,100,1000,10000)", "2:9", "2:300", why = "the stride is inside a mode" },
    { "(4096,8192):(1,4096)", "(32,1024,8,128):(1@0,8@1,1@1,32@0)",
      "(32,1024,8,128):(1,32768,4096,32)", why = "bases pick the mode" },
    { "8:1", "1:4", "1:4", why = "one element keeps its stride" },
  } do
    it(("of %s and %s is %s: %s"):format(c[1], c[2], c[3], c.why), function()
      local a, b = parse(c[1]), parse(c[2])
      assert.equal(parse(c[3]), a .. b)
      assert.equal(a .. b, a:composition(b))
      assert.equal(a .. b, a(b))
      if not c[2]:find "@" then laws.composition(a, b, a .. b) end
    end)
  end

  it("goes by mode where the right side is a tuple", function()
    local a = parse "(12,(4,8)):(59,(13,1))"
    local r = a .. { parse "3:4", parse "8:2" }
    assert.equal(parse "(3,(2,4)):(236,(26,1))", r)
    assert.equal(r, lutile.compose(a, parse "3:4", parse "8:2"))
    assert.equal(parse "(2,(4,2)):(59,(13,1))", a .. { 2, 8 })
  end)

  it("refuses what is no layout, and says which mode", function()
    local accepted, message = pcall(lutile.composition, parse "(4,6,8):(2,3,5)", parse "6:3")
    assert.is_false(accepted)
    assert.truthy(message:find("stride 3 does not divide mode 0 (4:2) of (4,6,8):(2,3,5)", 1, true))
  end)

  it("reads a after b, and is refused only where no layout does, for all small pairs", function()
    enumerate.each_pair(function(a, b)
      local accepted, r = pcall(lutile.composition, a, b)
      if accepted then
        laws.composition(a, b, r)
      elseif is_composable(a, b) then
        error(("refused: %s"):format(r), 0)
      end
    end)
  end)

  it("reads a after b for random layouts", function()
    local random = enumerate.random(1)
    local accepted_count = 0
    for _ = 1, 4000 do
      local a, b = enumerate.random_layout(random), enumerate.random_layout(random)
      local accepted, r = pcall(lutile.composition, a, b)
      if accepted then
        accepted_count = accepted_count + 1
        laws.composition(a, b, r)
      end
    end
    assert.is_true(accepted_count > 100)
  end)

  it("is associative where both sides are defined", function()
    local random = enumerate.random(2)
    for _ = 1, 2000 do
      local a, b, c = enumerate.random_layout(random), enumerate.random_bijection(random),
        enumerate.random_bijection(random)
      local left, l = pcall(function() return (a .. b) .. c end)
      local right, r = pcall(function() return a .. (b .. c) end)
      if left and right and lutile.size(c) <= lutile.size(b) then laws.same_function(l, r) end
    end
  end)
end)

describe("with_shape", function()
  it("of 8:2 to (2,4) is (2,4):(2,4)", function()
    assert.equal(parse "(2,4):(2,4)", parse "8:2":with_shape { 2, 4 })
    assert.equal(parse "(2,4):(2,4)", parse "8:2":with_shape(2, 4))
  end)

  it("reshapes an inverse", function()
    local inverse = lutile.left_inverse(parse "(4,4):(4,1)")
    assert.equal(parse "((4,2),2):((4,1),2)", inverse:with_shape { 8, 2 })
  end)
end)
