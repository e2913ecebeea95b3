local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"

local parse = lutile.parse

describe("max_alignment", function()
  for _, c in ipairs {
    { "(4,8):(8,1)", 32, why = "all elements lie side by side" },
    { "(16,2):(4,2)", 1, why = "no two elements do" },
    { "(4,?8):(1,4)", 4, why = "the run goes on only as far as is static" },
    { "(6,4,?4):(0,1,3)", 1, why = "a dynamic extent has its stride all the same" },
    { "(?1,(8,4)):(?4,(4,1))", 4, why = "a dynamic stride must be a multiple" },
    { "(6,1):(1,-4)", 2, why = "a mode of extent 1 is upcast, too" },
    { "Sw<3,3,3> o 4 o (16,8):(1,16)", 4, why = "an offset counts" },
  } do
    it(("of %s is %d: %s"):format(c[1], c[2], c.why), function()
      assert.equal(c[2], lutile.max_alignment(parse(c[1])))
    end)
  end

  it("is a factor that an upcast takes", function()
    local random = enumerate.random(12)
    for _ = 1, 1000 do
      local l = enumerate.random_layout(random)
      lutile.upcast(l, lutile.max_alignment(l))
    end
  end)
end)
