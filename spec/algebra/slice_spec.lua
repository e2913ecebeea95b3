local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local laws = require "spec.support.laws"

local parse, tuple, _ = lutile.parse, lutile.tuple, lutile._

describe("slice", function()
  local l = parse "(4,(2,8)):(16,(1,2))"

  for _, c in ipairs {
    { { 1, _ }, "((2,8)):((1,2))", 16, why = "a row" },
    { { _, 3 }, "(4):(16)", 3, why = "a column" },
    { { _, { 1, _ } }, "(4,8):(16,2)", 1, why = "within a mode" },
    { { _, _ }, "(4,(2,8)):(16,(1,2))", 0, why = "all of it" },
    { { 1, { 1, 2 } }, "():()", 21, why = "one element" },
  } do
    it(("by %s: %s"):format(tuple(c[1]), c.why), function()
      local layout, offset = lutile.slice_and_offset(c[1], l)
      assert.equal(parse(c[2]), layout)
      assert.equal(c[3], offset)
      assert.equal(layout, lutile.slice(c[1], l))
      laws.slice(tuple(c[1]), l, layout, offset)
    end)
  end

  it("keeps what dice drops", function()
    assert.equal(parse "(4):(16)", lutile.dice({ 1, _ }, l))
    assert.equal(tuple { 3 }, lutile.slice({ 1, _ }, { 2, 3 }))
    assert.equal(tuple { 2 }, lutile.dice({ 1, _ }, { 2, 3 }))
  end)

  it("of a swizzled layout reads it where it is", function()
    local swizzled = parse "Sw<3,4,3> o 0 o (10,2):(2,1)"
    local layout, offset = lutile.slice_and_offset({ _, 0 }, swizzled)
    for i = 0, 9 do assert.equal(2 * i, layout(i) + offset) end
  end)

  it("reads random layouts where they are", function()
    local random = enumerate.random(10)
    for _ = 1, 500 do
      local layout = enumerate.random_layout(random)
      if lutile.is_integral(layout.shape) then layout = lutile.make_layout(layout) end
      local coordinate = {}
      for i = 1, lutile.rank(layout) do
        local whole = random(0, 1) == 0
        coordinate[i] = whole and lutile._ or random(0, lutile.size(layout, i - 1) - 1)
      end
      coordinate = tuple(coordinate)
      local r, offset = lutile.slice_and_offset(coordinate, layout)
      laws.slice(coordinate, layout, r, offset)
    end
  end)
end)

describe("domain_offset", function()
  it("moves the start", function()
    local l = parse "(8,16):(16,1)"
    local moved, offset = lutile.domain_offset({ 2, 3 }, l)
    for i = 0, 5 do
      for j = 0, 12 do assert.equal(l(i + 2, j + 3), moved(i, j) + offset) end
    end
  end)
end)

describe("local_tile", function()
  local a = parse "(5120,4096):(1,5120)"

  it("takes the tiler's and the coordinate's modes that the projection names", function()
    local tiler, coordinate = { 32, 64, 4 }, { 0, 0, _ }
    assert.equal(parse "(32,4,1024):(1,5120,20480)",
      (lutile.local_tile(a, tiler, coordinate, { 1, _, 1 })))
    assert.equal(parse "(64,4,1024):(1,5120,20480)",
      (lutile.local_tile(a, tiler, coordinate, { _, 1, 1 })))
    assert.equal(parse "(32,64):(1,5120)",
      (lutile.local_tile(a, tiler, coordinate, { 1, 1, _ })))
  end)

  it("rounds the tiles up", function()
    local tile = lutile.local_tile(parse "(10,8):(8,1)", { 16, 8 }, { 0, _ })
    assert.equal(tuple { 16, 8, 1 }, tile.shape)
  end)

  it("is one tile at its place", function()
    local l = parse "(8,16):(16,1)"
    local tile, offset = l:local_tile({ 2, 4 }, { 3, 1 })
    for i = 0, 1 do
      for j = 0, 3 do assert.equal(l(6 + i, 4 + j), tile(i, j) + offset) end
    end
  end)
end)

describe("local_partition", function()
  it("gives every thread its own elements", function()
    local l, threads = parse "(8,16):(16,1)", parse "(2,4):(4,1)"
    local seen = {}
    for thread = 0, 7 do
      local part, offset = l:local_partition(threads, thread)
      for i = 0, lutile.size(part) - 1 do
        assert(not seen[part(i) + offset])
        seen[part(i) + offset] = thread
      end
    end
    for i = 0, 127 do assert(seen[i]) end
  end)

  it("takes a shape for the compact layout of threads", function()
    local l = parse "(4,8):(1,4)"
    assert.same({ l:local_partition(lutile.make_layout { 2, 4 }, 3) },
      { l:local_partition({ 2, 4 }, 3) })
    assert.same({ l:local_partition(lutile.make_layout(4), 3) }, { l:local_partition(4, 3) })
  end)

  it("has threads with any numbers, and no others", function()
    local l = parse "(4,8):(1,4)"
    assert.equal(5, (select(2, l:local_partition(parse "(2,2):(1,8)", 9))))
    for threads, thread in pairs { ["(2,4):(1,2)"] = 8, ["(2,4):(4,1)"] = -1,
      ["(2,4):(1,8)"] = 2, ["(2,4):(1,-1)"] = 3, ["(2,4):(4,-1)"] = 1 } do
      assert.has_error(function() l:local_partition(parse(threads), thread) end,
        ("local_partition: (index / stride) %% shape gives no thread %d of the 8 of %s"):format(
          thread, threads))
    end
  end)
end)
