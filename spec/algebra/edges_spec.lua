-- Operands at the edges: empty tuples, sizes of 0 and dynamic 1, the least and largest integers,
-- layouts that reach past others.

local lutile = require "lutile"

local parse = lutile.parse

local function refused(f, ...)
  local arguments = table.pack(...)
  local succeeded, message = pcall(f, table.unpack(arguments, 1, arguments.n))
  assert.is_false(succeeded)
  return message
end

describe("empty tuples", function()
  it("are no modes: the last leaf runs on", function()
    local l = parse "(2,()):(5,())"
    assert.equal(25, l(5))
    assert.equal(parse "2:25", l .. parse "2:5")
    assert.equal(lutile.tuple { 5, {} }, lutile.idx2crd(5, parse "(2,())"))
    assert.equal(25, lutile.crd2idx(5, l))
  end)

  it("are refused as modes that a basis picks", function()
    assert.match("is empty$", refused(lutile.composition, parse "(3,()):(1,())", parse "2:1@1"))
  end)
end)

describe("a composed right side", function()
  it("is composed within first, as it may reach past its own parts", function()
    local a, b = parse "(4,4):(1,8)", parse "2:1 o 0 o 8:1"
    local r = a .. b
    for i = 0, 7 do assert.equal(a(b(i)), r(i)) end
    assert.equal(parse "(4,2):(1,8)", r)
  end)
end)

describe("sizes", function()
  it("of 0 among several modes cannot be tiled as one", function()
    assert.match("no elements to tile", refused(lutile.logical_divide, parse "(2,0):(1,2)", 2))
    assert.equal(parse "(4,0):(1,4)", lutile.logical_divide(parse "0:1", 4))
  end)

  it("of dynamic 1 do not hide that a layout is not one to one", function()
    assert.match("is not one to one", refused(lutile.complement, parse "(8,?1):(9,9)", 88))
    refused(lutile.complement, parse "(?1,2):(-4,1)", 8)
  end)

  it("of 0 do not hide sizes beyond the limit", function()
    local huge = parse "(0,2147483648):(1,1)"
    assert.match("larger than 2^62", refused(lutile.make_layout, huge, huge, huge), 1, true)
  end)
end)

describe("integers at their ends", function()
  it("are refused as shifts of swizzles", function()
    refused(parse, "Sw<-3,4,-9223372036854775808>")
    refused(lutile.Swizzle, 3, 4, math.mininteger)
  end)

  it("are refused where results go beyond 64 bits, or 2^62 elements", function()
    refused(lutile.zipped_divide, parse "2:-4611686018427387904@0", 3)
    refused(lutile.left_inverse, parse "(1,2,2,3):(1,1,4611686018427387904,4)")
    refused(lutile.upcast, lutile.make_layout(1, math.mininteger), 4)
    local least = lutile.dyn(math.mininteger, 8)
    assert.equal("?2{2}", tostring(lutile.gcd({ least, {} }, { least }, 2)))
    refused(lutile.gcd, least, 0)
    local nested = parse "(2,((4,4,4,4)),4,4):(4,((1,8,32,128)),512,2048)"
    refused(lutile.composition, nested, lutile.make_layout(2, math.maxinteger))
  end)
end)

describe("the search for a left inverse", function()
  it("ends", function()
    local l = parse "(2,1,6):(1099511627776,1,9)"
    local succeeded, r = pcall(lutile.left_inverse, l)
    for i = 0, succeeded and 11 or -1 do assert.equal(l(i), l(r(l(i)))) end
  end)
end)

describe("a hundred thousand modes", function()
  it("end (in no quadratic time)", function()
    local sizes, strides, tile = {}, {}, {}
    for i = 1, 100000 do sizes[i], strides[i], tile[i] = 1, (i * 7919) % 100003, 1 end
    local l = lutile.make_layout(sizes, strides)
    pcall(lutile.tiled_divide, l, tile)
    pcall(lutile.complement, l)
    pcall(lutile.left_inverse, l)
    pcall(lutile.composition, l, tile)
    assert.equal(100000, lutile.rank(lutile.coalesce(l, l)))
    assert.equal(100000, lutile.rank(lutile.filter(l, l)))
  end)
end)
