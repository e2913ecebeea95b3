local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local laws = require "spec.support.laws"

local parse = lutile.parse

describe("coalesce", function()
  for _, c in ipairs {
    { "(2,4):(1,2)", "8:1", why = "contiguous modes merge" },
    { "(2,3):(1,2)", "6:1", why = "contiguous modes merge" },
    { "(2,4):(1,4)", "(2,4):(1,4)", why = "a gap stays" },
    { "(2,(1,6)):(1,(6,2))", "12:1", why = "modes of size 1 go" },
    { "(1,4):(4294967296,1)", "4:1", why = "whatever their stride" },
    { "(4,1):(2,0)", "4:2", why = "also at the end" },
  } do
    it(("of %s is %s: %s"):format(c[1], c[2], c.why), function()
      assert.equal(parse(c[2]), parse(c[1]):coalesce())
    end)
  end

  it("stays within the profile's modes", function()
    assert.equal(parse "(2,6):(1,2)", parse "(2,(1,6)):(1,(6,2))":coalesce { 1, 1 })
  end)

  it("keeps the function, for all small layouts", function()
    enumerate.each_unary(function(l)
      laws.coalesce(l, l:coalesce())
      laws.coalesce(l, l:flatten())
    end)
  end)

  it("keeps the function, for random layouts", function()
    local random = enumerate.random(6)
    for _ = 1, 1000 do
      local l = enumerate.random_layout(random)
      laws.coalesce(l, l:coalesce())
      laws.coalesce(l, l:flatten())
    end
  end)
end)
