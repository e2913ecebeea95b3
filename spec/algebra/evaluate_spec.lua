local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"

local parse, tuple, size = lutile.parse, lutile.tuple, lutile.size

local function offsets(l)
  local list = {}
  for i = 0, size(l) - 1 do list[#list + 1] = l(i) end
  return table.concat(list, " ")
end

describe("a layout as a function", function()
  it("takes linear coordinates, first mode fastest", function()
    assert.equal("0 3 1 4 2 5", offsets(parse "(2,3):(3,1)"))
    assert.equal("0 2 4 6", offsets(parse "(4,2):(2,1)" .. parse "(2,2):(1,2)"))
  end)

  it("takes natural coordinates", function()
    local row = lutile.make_layout({ 2, 3 }, lutile.LayoutRight)
    local column = lutile.make_layout({ 2, 3 }, lutile.LayoutLeft)
    assert.equal(4, row(1, 1))
    assert.equal(3, column(1, 1))
  end)

  it("takes coordinates that are partly linear", function()
    local h = parse "(2,(2,3)):(3,(6,1))"
    assert.equal(5, h(1, { 0, 2 }))
    assert.equal(5, h(1, 4))
    assert.equal(5, h(9))
    assert.equal(11, h(1, { 1, 2 }))
    for i, row in ipairs { "0 6 1 7 2 8", "3 9 4 10 5 11" } do
      local list = {}
      for j = 0, 5 do list[#list + 1] = h(i - 1, j) end
      assert.equal(row, table.concat(list, " "))
    end
  end)

  it("runs on in its last mode past the end", function()
    local l = parse "(4,8):(8,1)"
    assert.equal(31, l(31))
    assert.equal(8, l(32))
  end)

  it("is large where its numbers are", function()
    local l = parse "(65384,65384):(65384,1)"
    assert.equal(4275067456, l:cosize())
    assert.equal(4275067455, l(65383, 65383))
  end)

  it("is refused a coordinate of another form", function()
    assert.has_error(function() return parse "(4,8):(8,1)" (1, 2, 3) end)
    assert.has_error(function() return parse "(4,8):(8,1)" (1, { 2, 3 }) end)
  end)
end)

describe("crd2idx and idx2crd", function()
  it("undo each other", function()
    local random = enumerate.random(7)
    for _ = 1, 300 do
      local shape = enumerate.random_layout(random).shape
      for i = 0, size(shape) - 1 do
        assert(lutile.crd2idx(lutile.idx2crd(i, shape), shape) == i)
      end
    end
  end)

  it("agree with the layout's own call", function()
    local random = enumerate.random(8)
    for _ = 1, 300 do
      local l = enumerate.random_layout(random)
      for i = 0, size(l) - 1 do
        local coordinate = lutile.idx2crd(i, l.shape)
        assert(l(coordinate) == l(i) and lutile.crd2idx(coordinate, l) == l(i))
      end
    end
  end)

  it("give coordinates for coordinate layouts", function()
    assert.equal(tuple { 3, 5 }, lutile.make_identity_layout { 4, 8 } (3, 5))
    assert.equal(tuple { 3, 5 }, lutile.make_identity_layout { 4, 8 } (23))
  end)
end)

describe("rank, depth and size", function()
  for _, c in ipairs {
    { "6", 1, 0, 6 },
    { "(6)", 1, 1, 6 },
    { "(2,3,4)", 3, 1, 24 },
    { "(2,(3,4))", 2, 2, 24 },
    { "(2,(2,3)):(3,(6,1))", 2, 2, 12 },
    { "()", 0, 1, 1 },
  } do
    it("of " .. c[1], function()
      local x = parse(c[1])
      assert.equal(c[2], lutile.rank(x))
      assert.equal(c[3], lutile.depth(x))
      assert.equal(c[4], lutile.size(x))
    end)
  end

  it("cosize counts to the largest offset", function()
    for _, c in ipairs { { "(2,3):(5,1)", 6, 8 }, { "(2,3):(0,1)", 6, 3 } } do
      assert.equal(c[2], size(parse(c[1])))
      assert.equal(c[3], lutile.cosize(parse(c[1])))
    end
  end)
end)

describe("modes by path", function()
  local h = parse "(2,(2,3)):(3,(6,1))"

  it("of a layout", function()
    assert.equal(parse "(2,3):(6,1)", lutile.layout(h, 1))
    assert.equal(3, lutile.shape(h, 1, 1))
    assert.equal(6, lutile.stride(h, 1, 0))
    assert.equal(6, lutile.size(h, 1))
    assert.equal(parse "3:1", lutile.get(h, 1, 1))
    assert.equal(2, lutile.rank(h, 1))
    assert.equal(1, h:depth(1))
    assert.equal(9, h:cosize(1))
  end)

  it("of a tuple", function()
    assert.equal(tuple { 3, 4 }, lutile.get({ 2, { 3, 4 } }, 1))
    assert.equal(3, lutile.get({ 2, { 3, 4 } }, 1, 0))
  end)

  it("are refused beyond the last", function()
    assert.has_error(function() return lutile.get(h, 2) end)
    assert.has_error(function() return lutile.shape(h, 0, 1) end)
    assert.has_error(function() return lutile.size(h, -1) end)
  end)
end)

describe("make_layout", function()
  it("defaults to compact strides, first mode fastest", function()
    local shape = { 2, { 2, 3 } }
    assert.equal(parse "(2,(2,3)):(1,(2,4))", lutile.make_layout(shape))
    assert.equal(parse "(2,(2,3)):(6,(3,1))", lutile.make_layout(shape, lutile.LayoutRight))
  end)

  it("joins layouts as modes", function()
    local a, b = parse "3:1", parse "(2,2):(8,1)"
    assert.equal(parse "(3,(2,2)):(1,(8,1))", lutile.make_layout(a, b))
    assert.equal(parse "(3):(1)", lutile.make_layout(a))
  end)

  it("reaches past 32 bits", function()
    assert.equal(3221225472,
      lutile.compact_row_major({ 4, 49152, 65536 })[0])
  end)

  it("refuses strides that are not congruent", function()
    assert.has_error(function() lutile.make_layout({ 2, { 2, 3 } }, { 3, 6, 1 }) end)
  end)

  it("flattens", function()
    assert.equal(parse "(2,2,3):(3,6,1)", lutile.flatten(parse "(2,(2,3)):(3,(6,1))"))
  end)
end)

describe("overflow", function()
  it("is an error, never a wrap", function()
    local huge = 1 << 62
    assert.has_error(function() return lutile.make_layout({ huge, 4 }) end)
    assert.has_error(function() return parse "(4,4):(4611686018427387904,1)" (3, 0) end)
    assert.has_error(function() return lutile.product { huge, 2 } end)
  end)
end)
