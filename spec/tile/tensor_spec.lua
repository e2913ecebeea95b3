-- Tensors over memory: elements, views, bounds, and what is done to all elements.

local lutile = require "lutile"

local _ = lutile._

-- A tensor whose elements are their own linear indices.
local function counted(dtype, layout)
  local t = lutile.make_tensor(dtype, layout)
  for i = 0, lutile.size(t) - 1 do t[i] = i end
  return t
end

local function elements(t)
  local list = {}
  for i = 0, lutile.size(t) - 1 do list[#list + 1] = t(i) end
  return list
end

describe("tensor", function()
  it("reads and writes at natural, partial and linear coordinates", function()
    local t = lutile.make_tensor("f32", lutile.make_layout({ 4, { 2, 3 } }, lutile.LayoutRight))
    t[{ 1, { 0, 2 } }] = 2.5
    assert.equal(2.5, t(1, { 0, 2 }))
    assert.equal(2.5, t(1, 4))
    assert.equal(2.5, t(1 + 4 * 4))
    assert.equal(2.5, t[{ 1, 4 }])
    t[17] = 7
    assert.equal(7, t(1, 4))
  end)

  it("has the parts that it was made of", function()
    local t = lutile.make_tensor("f16", { 4, 8 }, { 8, 1 })
    assert.equal(lutile.parse "(4,8):(8,1)", t.layout)
    assert.equal(lutile.parse "(4,8)", t.shape)
    assert.equal(lutile.parse "(8,1)", t.stride)
    assert.equal(0, t.offset)
    assert.equal("f16", t.dtype)
    assert.equal(32, #t.data)
    assert.equal(2, #t)
    assert.equal(32, t:size())
    assert.equal(8, lutile.size(t, 1))
    assert.equal("f16 0 o (4,8):(8,1)", tostring(t))
  end)

  it("gives views that share its memory", function()
    local t = counted("s32", lutile.make_layout { 4, 6 })
    local column = t(_, 2)
    assert.equal("s32 8 o (4):(1)", tostring(column))
    column[3] = -1
    assert.equal(-1, t(3, 2))
    local tile = lutile.local_tile(t, { 2, 3 }, { 1, 1 })
    assert.same({ 14, 15, 18, 19, 22, 23 }, elements(tile))
    local halves = t / { 2, _ }
    assert.equal(lutile.parse "((2,2),6):((1,2),4)", halves.layout)
    assert.equal(t.data, halves.data)
    assert.same({ 0, 8, 16 }, elements((t .. lutile.parse "3:8")))
    assert.same({ 0, 8, 16 }, elements(t(lutile.parse "3:8")))
  end)

  it("keeps the memory of its views alive", function()
    local view
    do
      local t = counted("s32", lutile.make_layout(1000))
      view = t(lutile.parse "10:100")
    end
    collectgarbage()
    collectgarbage()
    assert.equal(900, view(9))
  end)

  it("reads through swizzles", function()
    local layout = lutile.parse "Sw<2,0,3> o 0 o (8,4):(1,8)"
    local t = lutile.make_tensor("s32", layout)
    assert.equal(32, #t.data)
    for i = 0, 31 do t[i] = i end
    local plain = lutile.make_tensor(t.data, 32)
    for i = 0, 31 do assert.equal(i, plain(layout(i))) end
    assert.same({ 8, 9, 10, 11, 12, 13, 14, 15 }, elements(t(_, 1)))
  end)

  it("reads through the shared memory form, whose swizzle acts on byte addresses", function()
    local form = lutile.parse "Sw<3,4,3> o smem[16b] o (8,64):(64,1)"
    local element_form = lutile.parse "Sw<3,3,3> o 0 o (8,64):(64,1)"
    local data = lutile.make_gmem_ptr("f16", 512)
    local t, u = lutile.make_tensor(data, form), lutile.make_tensor(data, element_form)
    for i = 0, 511 do t[i] = i end
    for i = 0, 511 do assert.equal(i, u(i)) end
  end)

  it("is made of numbers and of bytes", function()
    local numbers = lutile.make_gmem_ptr("s16", { 1, -2, 3 })
    assert.same({ 1, -2, 3 }, elements(lutile.make_tensor(numbers, 3)))
    local bytes = lutile.make_gmem_ptr("s16", string.pack("<i2i2", -5, 6))
    assert.same({ -5, 6 }, elements(lutile.make_tensor(bytes, 2)))
    assert.equal("\1\0\254\255\3\0", numbers:bytes())
  end)

  it("over another tensor starts where that one does", function()
    local t = counted("s32", lutile.make_layout(12))
    local part = lutile.make_tensor(t(lutile.parse "4:1"), { 2, 2 }, { 2, 1 })
    assert.same({ 0, 2, 1, 3 }, elements(part))
  end)

  it("over nothing counts", function()
    assert.equal("0 o (2,3):(1,2)", tostring(lutile.make_tensor(lutile.make_layout { 2, 3 })))
    local c = lutile.make_identity_tensor { 4, 6 }
    assert.equal(lutile.parse "(2,5)", c(2, 5))
    assert.equal(lutile.parse "(3,4)", lutile.local_tile(c, { 2, 2 }, { 1, 2 })(1, 0))
  end)

  it("has elements of another width under recast", function()
    local t = lutile.make_tensor("s32", 4)
    t[1] = 0x00020001
    local halves = lutile.recast(t, "s16")
    assert.equal(lutile.parse "8:1", halves.layout)
    assert.same({ 0, 0, 1, 2, 0, 0, 0, 0 }, elements(halves))
    assert.equal(t.data, halves:recast("s32").data)
  end)

  -- The tensor of a layout whose element 0 is element 'first' of its memory.
  local function starting_at(dtype, first, layout)
    local memory = lutile.make_tensor(dtype, 256)
    return lutile.make_tensor(lutile.local_tile(memory, 1, first), lutile.parse(layout))
  end

  it("starts at the lowest byte of an element that strides run down in", function()
    local t = starting_at("s8", 7, "8:-1")
    for i = 0, 7 do t[i] = 7 - i end
    local words = t:recast "s32"
    assert.equal(lutile.parse "2:-1", words.layout)
    assert.equal(7 - 3, words.offset * 4)
    assert.same({ 0x07060504, 0x03020100 }, elements(words))
    assert.equal(7, words:recast("s8").offset)
    assert.error_matches(function() starting_at("s8", 6, "8:-1"):recast "s32" end,
      "^recast: element 3 of s8 does not start an element of s32$")
    assert.error_matches(
      function() starting_at("s8", 7, "Sw<1,2,1> o 8 o 8:-1"):recast "s32" end,
      "recast: .* from 8 to 32 bits: negative strides under a swizzle$")
  end)

  it("is the same memory under recast, whichever way strides run", function()
    local bits = { s8 = 8, s16 = 16, s32 = 32, s4 = 4, f64 = 64 }
    local function places(t) -- of its bits in memory, ascending
      local list, width = {}, bits[t.dtype]
      for i = 0, lutile.size(t) - 1 do
        local start = (t.offset + t.layout(i)) * width
        for bit = start, start + width - 1 do list[#list + 1] = bit end
      end
      table.sort(list)
      return list
    end
    for i, c in ipairs {
      { "s8", "s32", 31, "8:-1" }, { "s8", "s32", 28, "(4,4):(1,-4)" },
      { "s8", "s32", 31, "(4,4):(-1,-4)" }, { "s8", "s32", 3, "(4,4):(-1,4)" },
      { "s8", "s32", 31, "(2,2,3):(-1,-2,-8)" }, { "s8", "s32", 30, "(2,2,3):(1,-2,-8)" },
      { "s8", "s32", 1, "(2,2,3):(-1,2,8)" }, { "s8", "s16", 31, "(2,4):(-1,-2)" },
      { "s32", "s8", 9, "8:-1" }, { "s32", "s8", 9, "(8,2):(-1,8)" },
      { "s16", "s4", 31, "(4,4):(-4,-1)" }, { "s8", "f64", 31, "(8,2):(-1,-8)" },
      { "s8", "s32", 32, "(4,?2):(1,?-8)" },
    } do
      local t = starting_at(c[1], c[3], c[4])
      assert.same(places(t), places(t:recast(c[2])), "case " .. i)
    end
  end)
end)

describe("an access out of bounds", function()
  it("of the shape names the variable and the coordinate", function()
    local gA = lutile.make_tensor("f16", { 4, 8 })
    assert.error_matches(function() lutile.sum { gA(4, 0) } end,
      "^tensor: gA%(4,0%) is outside its shape %(4,8%)$")
    assert.error_matches(function() gA[{ 0, 8 }] = 1 end, "gA%(0,8%) is outside its shape %(4,8%)$")
    assert.error_matches(function() return gA(32) end, "gA%(32%) is outside its shape %(4,8%)$")
    assert.error_matches(function() return gA(-1, 0) end, "gA%(%-1,0%) is outside its shape")
  end)

  it("of the memory names the element", function()
    local data = lutile.make_gmem_ptr("f16", 30)
    local gB = lutile.make_tensor(data, { 4, 8 })
    assert.error_matches(function() return gB(2, 7) end,
      "tensor: gB%(2,7%) is element 30 of memory that has 30 %(f16 0 o %(4,8%):%(1,4%)%)$")
    local before = lutile.make_tensor(data, 3, -1)
    assert.error_matches(function() return before(1) end, "before%(1%) is element %-1 of memory")
  end)

  it("is found by the operations on all elements", function()
    local gC = lutile.make_tensor(lutile.make_gmem_ptr("f32", 30), { 4, 8 })
    local rC = lutile.make_tensor("f32", { 4, 8 })
    assert.error_matches(function() lutile.clear(gC) end,
      "clear: gC%(2,7%) is element 30 of memory that has 30 %(f32 0 o %(4,8%):%(1,4%)%)$")
    assert.error_matches(function() lutile.copy(rC, gC) end, "copy: gC%(2,7%) is element 30 of")
    assert.error_matches(function() lutile.copy(gC, rC) end, "copy: gC%(2,7%) is element 30 of")
    assert.error_matches(function() lutile.axpby(1, gC, 0, rC) end, "axpby: gC%(2,7%) is element")
  end)
end)

describe("mistakes with tensors", function()
  it("are refused", function()
    local t = lutile.make_tensor("f32", { 2, 2 })
    assert.error_matches(function() t.layout = 1 end, "tensor: field 'layout' cannot be set")
    assert.error_matches(function() return t.nothing end, "a tensor has no field 'nothing'")
    assert.error_matches(function() t[0] = {} end, "tensor: {re, im} expected")
    assert.error_matches(function() t[0] = "x" end, "tensor: number expected, got string")
    assert.error_matches(function() lutile.make_tensor("f32", lutile.make_layout(4, -1)) end,
      "make_tensor: 4:%-1 reaches offset %-3, before the start of its memory")
    assert.error_matches(function()
      lutile.make_tensor(t.data, lutile.make_identity_layout { 2, 2 })
    end, "gives coordinates: a tensor over memory needs integer strides")
    assert.error_matches(function() lutile.make_gmem_ptr("f32", 1 << 60) end, "cannot be had")
    assert.error_matches(function() lutile.make_tensor("f32", 1 << 60) end,
      "1152921504606846976:1 spans more than 2%^52 elements")
    assert.error_matches(function() lutile.make_tensor("f32", { 1 << 20, 1 << 21 }) end,
      "too many for memory")
    assert.error_matches(function() lutile.make_tensor(io.stdout, 4) end,
      "data, element type or layout expected, got FILE%*")
    assert.error_matches(function() lutile.make_gmem_ptr("f16", "abc") end,
      "make_gmem_ptr: 3 bytes are no whole number of f16")
    assert.error_matches(function() lutile.copy(t, lutile.make_tensor("f32", 5)) end,
      "copy: source has 4 elements %(%(2,2%)%), target has 5 %(5%)")
  end)
end)

describe("operations on all elements", function()
  it("fill and clear", function()
    local t = lutile.make_tensor("f16", { 3, 5 })
    lutile.fill(t, 0.1)
    assert.equal(0.0999755859375, t(2, 4))
    t:clear()
    assert.equal(0, t(2, 4))
  end)

  it("copy between layouts and types, in the order of coordinates", function()
    local source = counted("s32", lutile.make_layout({ 3, 300 }, lutile.LayoutRight))
    local target = lutile.make_tensor("f32", { 3, 300 })
    lutile.copy(source, target)
    for i = 0, 899 do assert.equal(i, target(i)) end
    assert.equal(source(2, 299), target(2, 299))
  end)

  it("copy_if by a tensor or a function", function()
    local source = counted("s32", lutile.make_layout { 4, 4 })
    local target = lutile.make_tensor("s32", { 4, 4 })
    local inside = lutile.elem_less(lutile.make_identity_tensor { 4, 4 }, { 3, 2 })
    assert.equal("b1", inside.dtype)
    lutile.copy_if(inside, source, target)
    assert.same({ 0, 1, 2, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, elements(target))
    lutile.copy_if(function(i) return i == 15 end, source, target)
    assert.equal(15, target(15))
  end)

  it("copy_if does not look at what it leaves out", function()
    local source = lutile.make_tensor(lutile.make_gmem_ptr("s32", { 1, 2, 3 }), 4)
    local target = lutile.make_tensor("s32", 4)
    lutile.copy_if(function(i) return i < 3 end, source, target)
    assert.same({ 1, 2, 3, 0 }, elements(target))
    assert.error_matches(function() lutile.copy_if(function() return true end, source, target) end,
      "copy_if: source%(3%) is element 3 of memory that has 3")
  end)

  it("transform one, two and three tensors, and coordinates", function()
    local a, b = counted("s32", lutile.make_layout { 2, 2 }), lutile.make_tensor("f32", { 2, 2 })
    lutile.transform(a, function(x) return x + 1 end)
    assert.same({ 1, 2, 3, 4 }, elements(a))
    lutile.transform(a, b, function(x) return x / 2 end)
    assert.same({ 0.5, 1.0, 1.5, 2.0 }, elements(b))
    lutile.transform(a, b, b, function(x, y) return x * y end)
    assert.same({ 0.5, 2.0, 4.5, 8.0 }, elements(b))
    lutile.transform(lutile.make_identity_tensor { 2, 2 }, a,
      function(c) return lutile.crd2idx(c, lutile.parse "(2,2):(10,1)") end)
    assert.same({ 0, 10, 1, 11 }, elements(a))
  end)

  it("convert to another type, keeping a compact layout", function()
    local t = counted("f32", lutile.make_layout({ 2, 4 }, lutile.LayoutRight))
    local h = lutile.convert(t, "f16")
    assert.equal(t.layout, h.layout)
    assert.same(elements(t), elements(h))
    local strided = lutile.convert(t(_, lutile._), "s8")
    assert.equal("s8", strided.dtype)
    assert.equal(lutile.parse "(2):(1)", lutile.convert(t(_, 1), "f16").layout)
  end)

  it("axpby does not read y where beta is 0", function()
    local x, y = counted("f32", lutile.make_layout(4)), lutile.make_tensor("f32", 4)
    lutile.fill(y, 0 / 0)
    lutile.axpby(2, x, 0, y)
    assert.same({ 0.0, 2.0, 4.0, 6.0 }, elements(y))
    lutile.axpby(1, x, 0.5, y)
    assert.same({ 0.0, 2.0, 4.0, 6.0 }, elements(y))
  end)

  it("gemm by rank, without an atom", function()
    local a = counted("f64", lutile.make_layout { 2, 3 })
    local b = counted("f64", lutile.make_layout { 4, 3 })
    local c = lutile.make_tensor("f64", { 2, 4 })
    lutile.gemm(a, b, c)
    for i = 0, 1 do
      for j = 0, 3 do
        local sum = 0
        for k = 0, 2 do sum = sum + a(i, k) * b(j, k) end
        assert.equal(sum, c(i, j))
      end
    end
    local d = lutile.make_tensor("f64", { 2, 4 })
    lutile.gemm(d, a(_, 0), b(_, 1), c)
    assert.equal(c(1, 2) + a(1, 0) * b(2, 1), d(1, 2))
    assert.error_matches(function() lutile.gemm(a, c, b) end,
      "gemm: shapes %(2,3%) x %(2,4%) %-> %(4,3%) do not match")
  end)

  it("gemm rounds to its type at each step", function()
    local a, b = lutile.make_tensor("f16", { 1, 2 }), lutile.make_tensor("f16", { 1, 2 })
    local c = lutile.make_tensor("f16", { 1, 1 })
    a[0], a[1], b[0], b[1] = 2048, 1, 1, 1
    lutile.gemm(a, b, c)
    assert.equal(2048, c(0)) -- 2049 is no f16
  end)
end)

describe("print_tensor", function()
  it("shows rows and columns", function()
    local t = counted("s32", lutile.make_layout { 2, 6 })
    assert.equal("s32 0 o (2,6):(1,2):\n   0   2   4   6   8  10\n   1   3   5   7   9  11",
      require "lutile.print_tensor".format(t))
  end)

  it("refuses what it cannot show", function()
    assert.error_matches(function() lutile.print_tensor(1) end, "print_tensor: tensor expected")
    local t = lutile.make_tensor("s32", { 1, 1, 1, 1, 2 })
    assert.error_matches(function() lutile.print_tensor(t) end, "rank 5 cannot be shown")
  end)
end)
