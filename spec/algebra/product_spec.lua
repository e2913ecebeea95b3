local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local laws = require "spec.support.laws"

local parse = lutile.parse

describe("logical_product", function()
  for _, c in ipairs {
    { "(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))", why = "a block with gaps" },
    { "(2,2):(4,1)", "(4,2):(2,1)", "((2,2),(4,2)):((4,1),(8,2))", why = "repeated row by row" },
  } do
    it(("of %s and %s is %s: %s"):format(c[1], c[2], c[3], c.why), function()
      local block, tiler = parse(c[1]), parse(c[2])
      assert.equal(parse(c[3]), block * tiler)
      laws.logical_product(block, tiler, block * tiler)
    end)
  end

  it("has the block in mode 0 and its repetitions in mode 1, for small pairs", function()
    enumerate.each_pair(function(a, b)
      local accepted, r = pcall(lutile.logical_product, a, b)
      if accepted then laws.logical_product(a, b, r) end
    end)
  end)

  it("runs on past the places between the modes of the block, as CuTe's does", function()
    local block = parse "(3,4):(3,16)" -- 3 places, at 0, 1 and 2
    assert.equal(parse "((3,4),3):((3,16),1)", block * 3)
    assert.is_true((block * 3):is_injective())
    assert.equal(parse "((3,4),4):((3,16),1)", block * 4)
    assert.is_false((block * 4):is_injective())
  end)
end)

describe("blocked_product and raked_product", function()
  it("zip the block first, or the repetitions first", function()
    local block, tiler = parse "(2,5):(5,1)", parse "(3,4):(1,3)"
    assert.equal(parse "((2,3),(5,4)):((5,10),(1,30))", block:blocked_product(tiler))
    assert.equal(parse "((3,2),(4,5)):((10,5),(30,1))", block:raked_product(tiler))
  end)

  it("pair up any number of modes", function()
    local shape, count = {}, 50000
    for i = 1, count do shape[i] = 1 end
    local block = lutile.make_layout(shape)
    assert.equal(count, lutile.rank(block:blocked_product(block)))
  end)
end)

describe("tile_to_shape", function()
  it("repeats a block until the shape is full", function()
    local r = parse "(4,8):(8,1)":tile_to_shape { 8, 16 }
    assert.equal(lutile.tuple { { 4, 2 }, { 8, 2 } }, r.shape)
    laws.right_inverse(r, -r)
    assert.equal(128, lutile.size(-r))
  end)
end)
