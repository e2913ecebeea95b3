local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"

local parse = lutile.parse

describe("offsets", function()
  it("are those of all indices, in order", function()
    assert.same({ 0, 3, 1, 4, 2, 5 }, parse "(2,3):(3,1)":offsets())
    assert.same({ 0 }, lutile.offsets(parse "():()"))
    assert.same({}, lutile.offsets(parse "0:1"))
    assert.same({ 0, 1, 2, 3 }, lutile.offsets { 2, 2 })
    assert.same({ 5, 9, 21, 25 }, parse "5 o (2,2):(4,16)":offsets())
  end)

  it("agree with calls", function()
    local random = enumerate.random(12)
    local composed = parse "Sw<2,3,3> o 8 o (8,64):(64,1)"
    for _ = 1, 200 do
      local l = enumerate.random_layout(random)
      for i, offset in ipairs(l:offsets()) do assert(offset == l(i - 1)) end
    end
    for i, offset in ipairs(composed:offsets()) do assert(offset == composed(i - 1)) end
  end)

  it("are coordinates for coordinate layouts", function()
    local offsets = lutile.make_identity_layout { 2, 2 }:offsets()
    assert.equal(lutile.tuple { 1, 1 }, offsets[4])
  end)

  it("fill a tensor in the order of its coordinates", function()
    local l = parse "Sw<2,0,2> o 0 o (4,4):(4,1)"
    for _, dtype in ipairs { "s32", "s8", "f32", "f64" } do
      local t = lutile.make_tensor(dtype, { 4, 4 }, { 4, 1 })
      assert.equal(t, l:offsets(t))
      for coordinate, offset in l:each() do assert.equal(offset, t(coordinate)) end
    end
  end)

  it("fill runs of memory, and parts of them", function()
    local l = parse "Sw<3,4,3> o 0 o (96,100):(100,1)"
    local whole = lutile.make_tensor("s32", { 9600, 3 })
    local part = whole(lutile._, 1)
    local scattered = lutile.make_tensor("s32", parse "(96,100):(100,1)")
    l:offsets(part)
    l:offsets(scattered)
    for i = 0, 9599 do
      assert(part(i) == l(i) and scattered(i) == l(i))
      assert(whole(9600 + i) == l(i))
    end
    assert.equal(0, whole(9599))
    assert.equal(0, whole(2 * 9600))
  end)

  it("fill a run up to the first that does not fit", function()
    local l = parse "(2,5000):(1,1000000)"
    local t = lutile.make_tensor("s32", 10000)
    assert.error_matches(function() l:offsets(t) end,
      "^offsets: 2148000000 is no number of type s32$")
    for i = 0, 9999 do assert.equal(l(i) < 1 << 31 and l(i) or 0, t(i)) end
  end)

  it("are checked as accesses of a kernel's threads are", function()
    local function kernel()
      local shared = lutile.make_tensor(lutile.make_smem_ptr("s32", 4), 4)
      parse "4:1":offsets(shared)
    end
    assert.error_matches(function() lutile.launch(kernel, { block = 2 }) end, "race")
  end)

  it("must be numbers of the tensor's type, as many as it has elements", function()
    local t = lutile.make_tensor("s8", 4)
    assert.error_matches(function() parse "4:100":offsets(t) end,
      "^offsets: 200 is no number of type s8$")
    assert.error_matches(function() parse "5:1":offsets(t) end,
      "offsets: a tensor of 4 elements for 5 offsets$")
    assert.error_matches(function() lutile.make_identity_layout { 2, 2 }:offsets(t) end,
      "^offsets: .* has offsets that are no integers of 64 bits$")
    assert.error_matches(function() parse "4:1":offsets(4) end, "tensor expected, got number")
  end)

  it("are refused where there are too many", function()
    assert.has_error(function() return lutile.offsets(1 << 40) end,
      "offsets: a table has no room for the 1099511627776 offsets")
  end)
end)

describe("each", function()
  it("gives every coordinate with its offset", function()
    local l = parse "(2,(2,3)):(3,(6,1))"
    local count = 0
    for coordinate, offset in l:each() do
      assert.equal(lutile.idx2crd(count, l.shape), coordinate)
      assert.equal(l(coordinate), offset)
      count = count + 1
    end
    assert.equal(12, count)
  end)

  it("gives integers for one mode", function()
    local seen = {}
    for i, offset in lutile.each(parse "3:2") do seen[#seen + 1] = { i, offset } end
    assert.same({ { 0, 0 }, { 1, 2 }, { 2, 4 } }, seen)
  end)
end)
