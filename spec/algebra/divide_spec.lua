local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local laws = require "spec.support.laws"

local parse = lutile.parse

describe("logical_divide", function()
  for _, c in ipairs {
    { "8:1", "2:1", "(2,4):(1,2)", why = "tile and rest" },
    { "(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))", why = "the book's example" },
    { "(2,4,3):(4,1,8)", "4:1", "((2,2),(2,3)):((4,1),(2,8))", why = "a tile over two modes" },
    { "(2,4,3):(4,1,8)", "4:2", "(4,(2,3)):(1,(4,8))", why = "a tile of every second" },
    { "(12,32):(1,12)", "(4,8):(1,4)", "((4,8),12):((1,4),32)", why = "a tile that runs on" },
  } do
    it(("of %s by %s is %s: %s"):format(c[1], c[2], c[3], c.why), function()
      local l, tiler = parse(c[1]), parse(c[2])
      assert.equal(parse(c[3]), l / tiler)
      assert.equal(l / tiler, l:logical_divide(tiler))
      laws.logical_divide(l, tiler, l / tiler)
    end)
  end

  it("takes an integer as a tile of so many", function()
    assert.equal(parse "(2,4):(1,2)", parse "8:1" / 2)
  end)

  it("goes by mode for a tuple, and leaves further modes", function()
    assert.equal(lutile.tuple { { 2, 2 }, { 3, 2 } }, (parse "(4,6):(6,1)" / { 2, 3 }).shape)
    local a = parse "(64,50,80):(16000,160,1)"
    assert.equal(parse "((32,2),50,80):((16000,512000),160,1)", a / { 32 })
    assert.equal(parse "((32),(2,50,80)):((16000),(512000,160,1))", a // { 32 })
  end)

  it("has the tile in mode 0 and every offset somewhere, for small pairs", function()
    enumerate.each_pair(function(a, b)
      local accepted, r = pcall(lutile.logical_divide, a, b)
      if accepted then laws.logical_divide(a, b, r) end
    end)
  end)
end)

describe("zipped_divide", function()
  it("gathers the tile and the rest", function()
    assert.equal(parse "((4,8),(3,4)):((1,12),(4,96))", parse "(12,32):(1,12)" // { 4, 8 })
  end)

  it("counts every tile of a ragged layout", function()
    local r = parse "(33):(1)" // { 1 }
    assert.equal(33, lutile.size(r, 1))
    assert.equal(36, lutile.size(parse "(3,8):(1,3)" // { 4, 9 }))
  end)

  it("is what tiled and flat divides rearrange", function()
    local l = parse "(8,16,4):(64,4,1)"
    local zipped = l:zipped_divide { 2, 4 }
    for _, r in ipairs { l:tiled_divide { 2, 4 }, l:flat_divide { 2, 4 } } do
      laws.same_function(zipped, r)
    end
    assert.equal(lutile.tuple { { 2, 4 }, 4, 4, 4 }, l:tiled_divide { 2, 4 }.shape)
    assert.equal(lutile.tuple { 2, 4, 4, 4, 4 }, l:flat_divide { 2, 4 }.shape)
  end)
end)
