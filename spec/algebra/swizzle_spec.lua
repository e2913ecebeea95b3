local lutile = require "lutile"

local parse, Swizzle = lutile.parse, lutile.Swizzle

-- The swizzle bit by bit: bits m + s on are xored into bits m on, b of them.
local function swizzled(b, m, s, x)
  local mask = (1 << b) - 1
  local source = s >= 0 and x >> m + s or x >> m
  local target = s >= 0 and m or m - s
  return x ~ (source & mask) << target
end

describe("Swizzle", function()
  it("xors bits, and is its own inverse", function()
    for b = 0, 3 do
      for m = 0, 4 do
        for _, s in ipairs { 3, 4, -3, -4 } do
          local sw = Swizzle(b, m, s)
          for x = 0, 1023 do
            local y = sw(x)
            assert(y == swizzled(b, m, s, x), ("%s(%d) is %d"):format(sw, x, y))
            assert(sw(y) == x)
          end
        end
      end
    end
  end)

  it("has CuTe's default shift", function() assert.equal(Swizzle(2, 4, 2), Swizzle(2, 4)) end)

  it("refuses overlapping bits", function()
    assert.has_error(function() return Swizzle(3, 0, 2) end)
    assert.has_error(function() return Swizzle(-1, 0, 2) end)
    assert.has_error(function() return Swizzle(3, 60, 3) end)
  end)
end)

describe("a composed layout", function()
  local l = parse "(8,64):(64,1)"
  local c = Swizzle(3, 3, 3) .. l

  it("is the swizzle after the layout", function()
    for i = 0, 511 do assert(c(i) == swizzled(3, 3, 3, l(i))) end
    assert.equal(c(2, 3), c(lutile.crd2idx({ 2, 3 }, l.shape)))
  end)

  it("has the layout's shape and size", function()
    assert.equal(l.shape, c.shape)
    assert.equal(512, c:size())
    assert.equal(64, c:size(1))
    assert.equal(2, #c)
  end)

  it("divides as its layout does", function()
    local r, plain = c // { 4, 8 }, l // { 4, 8 }
    for i = 0, 511 do assert(r(i) == swizzled(3, 3, 3, plain(i))) end
  end)

  it("tiles to a shape in units of its elements", function()
    local atom = parse "Sw<1,3,3> o 0 o (8,16):(16,1)"
    local r = atom:tile_to_shape { 64, 16 }
    assert.equal(16, r(1, 0))
    assert.equal(72, r(4, 0))
    assert.equal(64, r(4, 8))
    assert.equal(200, r(12, 0))
  end)
end)

describe("recast", function()
  it("counts in larger or smaller elements", function()
    assert.equal(parse "8:1", parse "16:1":recast(16, 32))
    assert.equal(parse "32:1", parse "16:1":recast(16, 8))
    assert.equal(parse "2:-1", parse "8:-1":recast(8, 32))
  end)

  it("names both widths where they do not fit", function()
    local accepted, message = pcall(lutile.recast, Swizzle(3, 4, 3), 8, 6)
    assert.is_false(accepted)
    assert.truthy(message:find "8" and message:find "6", message)
  end)
end)
