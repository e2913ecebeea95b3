local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local laws = require "spec.support.laws"

local parse = lutile.parse

describe("right_inverse", function()
  it("of (2,4):(4,1) takes an offset back to its index", function()
    local l = parse "(2,4):(4,1)"
    local inverse = l:right_inverse()
    assert.equal(parse "(4,2):(2,1)", inverse:coalesce())
    assert.equal(2, inverse(1))
    assert.equal(inverse, -l)
    laws.right_inverse(l, inverse)
    assert.equal(8, lutile.size(inverse))
  end)

  for _, c in ipairs {
    { "(2,4,6):(4,1,8)", "(4,2,6):(2,1,8)", why = "modes in order of stride" },
    { "(2,2,2,2,2):(1,4,8,2,16)", "(2,2,4,2):(1,8,2,16)", why = "neighbours merge" },
    { "1:0", "1:0", why = "one element" },
  } do
    it(("of %s is %s: %s"):format(c[1], c[2], c.why), function()
      assert.equal(parse(c[2]), parse(c[1]):right_inverse())
    end)
  end

  it("is taken back by the layout, for all small layouts", function()
    enumerate.each_unary(function(l) laws.right_inverse(l, -l) end)
  end)

  it("covers a bijection, for random ones", function()
    local random = enumerate.random(3)
    for _ = 1, 1000 do
      local l = enumerate.random_bijection(random)
      laws.right_inverse(l, -l)
      assert(lutile.size(-l) == lutile.size(l), tostring(l))
    end
  end)
end)

describe("left_inverse", function()
  it("takes a layout to another's index space: C to A", function()
    local c, a = parse "(3,8):(1,3)", parse "(3,8):(8,1)"
    local a_to_c = ~c .. a
    assert.equal(8, a_to_c(1))
    for i = 0, 23 do assert.equal(a(i), c(a_to_c(i))) end
  end)

  for _, c in ipairs {
    { "4:2", "(2,4):(0,1)", why = "a gap becomes a mode of stride 0" },
    { "(4,2):(1,16)", "(16,2):(1,4)", why = "a gap between the modes" },
    { "((2,2),(2,2)):((1,4),(8,32))", "(4,8,2):(1,2,8)", why = "nested, with gaps" },
  } do
    it(("of %s is %s: %s"):format(c[1], c[2], c.why), function()
      assert.equal(parse(c[2]), parse(c[1]):left_inverse())
      laws.left_inverse(parse(c[1]), ~parse(c[1]))
    end)
  end

  it("holds on (2,4):(4,1)", function()
    local l = parse "(2,4):(4,1)"
    laws.left_inverse(l, l:left_inverse())
  end)

  it("takes every offset to an index of it, for all small layouts", function()
    enumerate.each_unary(function(l)
      local accepted, r = pcall(lutile.left_inverse, l)
      if accepted then laws.left_inverse(l, r) end
    end)
  end)

  it("exists for every random bijection", function()
    local random = enumerate.random(4)
    for _ = 1, 1000 do
      local l = enumerate.random_bijection(random)
      laws.left_inverse(l, ~l)
    end
  end)
end)
