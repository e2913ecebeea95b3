local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local laws = require "spec.support.laws"

local parse = lutile.parse

describe("complement", function()
  for _, c in ipairs {
    { "4:1", 24, "6:4", why = "a contiguous block, repeated" },
    { "6:4", 24, "4:1", why = "what a stride skips" },
    { "4:2", 24, "(2,3):(1,8)", why = "fills the gap, then repeats" },
    { "(2,4):(1,6)", 24, "3:2", why = "a gap between the modes" },
    { "(2,2):(1,6)", 24, "(3,2):(2,12)", why = "a gap, then a repetition" },
    { "4:2", 16, "(2,2):(1,8)", why = "fills the gap, then repeats" },
    { "4:2", 7, "2:1", why = "the target ends within" },
    { "4:0", 8, "8:1", why = "a broadcast takes no room" },
    { "1:2", 8, "8:1", why = "neither does one element" },
  } do
    it(("of %s in %d is %s: %s"):format(c[1], c[2], c[3], c.why), function()
      local l = parse(c[1])
      assert.equal(parse(c[3]), l:complement(c[2]))
      laws.complement(l, c[2], l:complement(c[2]))
    end)
  end

  it("joins its layout to one mode", function()
    local block = parse "6:4"
    assert.equal(parse "24:1", block:complement(24):append(block):coalesce())
  end)

  it("refuses a layout that is not one to one", function()
    assert.has_error(function() parse "(4,2):(2,3)":complement(32) end)
  end)

  it("is ordered, disjoint and covers, for all small layouts", function()
    enumerate.each_unary(function(l)
      local accepted, r = pcall(lutile.complement, l, 40)
      if accepted then laws.complement(l, 40, r) end
    end)
  end)

  it("is ordered, disjoint and covers, for random bijections", function()
    local random = enumerate.random(5)
    for _ = 1, 500 do
      local l = enumerate.random_bijection(random)
      local target = lutile.size(l) * random(1, 5)
      laws.complement(l, target, l:complement(target))
    end
  end)
end)
