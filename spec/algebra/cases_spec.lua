-- Cases that people who lay out kernels have reported against other libraries, with the right
-- answers. Each names the fault that it guards against.

local lutile = require "lutile"
local command = require "spec.support.command"

local P, _ = lutile.parse, lutile._

-- Checks that each pair of results is equal: values by ==, and texts read as values.
local function expect(...)
  local pairs_of = { ... }
  for i = 1, #pairs_of, 2 do
    local expected, actual = pairs_of[i], pairs_of[i + 1]
    if type(expected) == "string" then expected = P(expected) end
    assert.equal(expected, actual)
  end
end

local function refuses(pattern, f, ...)
  local accepted, message = pcall(f, ...)
  assert.is_false(accepted)
  assert.matches(pattern, message)
end

describe("composition", function()
  it("is refused where no layout has the values", function() -- 0,6,7,8,9,15 here
    refuses("stride 3 does not divide mode 0 %(4:2%) of %(4,6,8%):%(2,3,5%) o 6:3",
      lutile.composition, P "(4,6,8):(2,3,5)", P "6:3")
  end)

  it("splits a shape over modes that it fills", function()
    expect("(3,(2,2)):(16,(80,4))", P "(10,2):(16,4)" .. P "(3,4):(1,5)")
  end)

  it("skips whole modes by any multiple", function()
    local a = P "(3,6,2,8):(1,100,1000,10000)"
    expect("6:100", a .. P "6:3", "3:200", a .. P "3:6", "2:300", a .. P "2:9")
  end)

  it("takes scaled bases for modes", function()
    expect("(32,1024,8,128):(1,32768,4096,32)",
      P "(4096,8192):(1,4096)" .. P "(32,1024,8,128):(1@0,8@1,1@1,32@0)")
  end)
end)

describe("a divide", function()
  it("by tiles past the layout has rests of size 1", function()
    expect("((4,9),(1,1)):((1,3),(0,0))", lutile.zipped_divide(P "(3,8):(1,3)", { 4, 9 }))
  end)

  it("by a layout is not one by tile sizes", function()
    local a = P "(12,32):(1,12)"
    expect("((4,8),12):((1,4),32)", a / P "(4,8):(1,4)",
      "((4,8),(3,4)):((1,12),(4,96))", a // { 4, 8 })
  end)

  it("leaves the modes past the tiler alone", function()
    local a = P "(64,50,80):(16000,160,1)"
    expect("((32,2),50,80):((16000,512000),160,1)", a / { 32 },
      "((32),(2,50,80)):((16000),(512000,160,1))", a // { 32 })
  end)

  it("by tiles of one element counts them all", function()
    expect("((1),(33)):((0),(1))", P "(33):(1)" // { 1 })
  end)

  it("walks modes that are not in the order of their strides", function()
    local a = P "(2,4,3):(4,1,8)"
    expect("((2,2),(2,3)):((4,1),(2,8))", a / P "4:1", "(4,(2,3)):(1,(4,8))", a / P "4:2")
  end)
end)

describe("complement and coalesce", function()
  it("join a layout and its complement", function()
    local rest = lutile.complement(P "6:4", 24)
    expect("4:1", rest, "24:1", lutile.coalesce(lutile.prepend(P "6:4", rest)))
  end)

  it("fill up to the target, and not beyond the first stride", function()
    expect("(2,2):(1,8)", P "4:2":complement(16), "2:1", P "4:2":complement(7))
    expect("(3,2):(2,12)", P "(2,2):(1,6)":complement(24))
  end)

  it("take broadcast and single elements for nothing", function()
    expect("8:1", P "4:0":complement(8), "8:1", P "1:2":complement(8))
  end)

  it("keep strides beyond 32 bits apart from sizes within", function()
    local l = P "(1,4):(4294967296,1)"
    expect("4:1", l:coalesce(), 4, l:cosize())
  end)
end)

describe("an inverse", function()
  it("to the left steps over what is never reached", function()
    expect("(2,4):(0,1)", ~P "4:2", "(16,2):(1,4)", ~P "(4,2):(1,16)",
      "(4,8,2):(1,2,8)", ~P "((2,2),(2,2)):((1,4),(8,32))")
  end)

  it("to the right sorts modes by stride, and stops at a gap", function()
    expect("(4,2,6):(2,1,8)", -P "(2,4,6):(4,1,8)",
      "(2,2,4,2):(1,8,2,16)", -P "(2,2,2,2,2):(1,4,8,2,16)")
  end)

  it("can be reshaped", function()
    expect("((4,2),2):((4,1),2)", (~P "(4,4):(4,1)"):with_shape { 8, 2 })
  end)

  it("of a plain number is that of 1:0", function()
    expect("1:0", lutile.right_inverse(1))
    refuses("layout expected, got string", lutile.right_inverse, "1")
  end)
end)

describe("a product", function()
  it("of blocks and of raked blocks keeps the tiler's order", function()
    local block, tiler = P "(2,5):(5,1)", P "(3,4):(1,3)"
    expect("((2,3),(5,4)):((5,10),(1,30))", lutile.blocked_product(block, tiler),
      "((3,2),(4,5)):((10,5),(30,1))", lutile.raked_product(block, tiler))
  end)

  it("of threads and values gives tiler and thread-value layout", function()
    local threads, values = P "(4,32):(32,1)", P "(4,4):(4,1)"
    local tile = lutile.raked_product(threads, values)
    expect("(16,128)", lutile.product_each(tile.shape), "((32,4),(4,4)):((64,4),(16,1))",
      (-tile):with_shape(lutile.size(threads), lutile.size(values)))
  end)
end)

describe("a slice", function()
  it("keeps the offset of the coordinates that are fixed", function()
    local s = P "((2,2),(2,2)):((1,8),(4,16))"(1, _)
    expect("1 o ((2,2)):((4,16))", s, 1, s(0), 21, s(3))
  end)

  it("of a swizzled layout holds its values", function()
    local l = P "Sw<3,4,3> o 0 o (10,2):(2,1)"
    local s = l(_, 0)
    for i = 0, 9 do expect(2 * i, s(i)) end
    assert.is_true(s:equivalent(P "10:2"))
  end)

  it("by tiles projects the tiler", function()
    local a, tiler, at = P "(5120,4096):(1,5120)", { 32, 64, 4 }, { 0, 0, _ }
    expect("(32,4,1024):(1,5120,20480)", (lutile.local_tile(a, tiler, at, { 1, _, 1 })),
      "(64,4,1024):(1,5120,20480)", (lutile.local_tile(a, tiler, at, { _, 1, 1 })),
      "(32,64):(1,5120)", (lutile.local_tile(a, tiler, at, { 1, 1, _ })))
  end)

  it("by tiles past the layout prints real numbers", function()
    local at = { 0, _ }
    local tile = lutile.local_tile(P "(?10,?8):(8,1)", { 16, 8 }, at)
    assert.equal("(16,8,?1):(8,1,8)", tostring(tile))
    tile = lutile.local_tile(P "(10,8):(8,1)", { 16, 8 }, at) -- the rest of size 1 has no stride
    assert.equal("(16,8,1):(8,1,0)", tostring(tile))
  end)
end)

describe("integers", function()
  it("have 64 bits", function()
    local l = P "(65384,65384):(65384,1)"
    expect(4275067456, l:cosize(), 4275067455, l(65383, 65383))
    expect("(3221225472,65536,1)", lutile.compact_row_major { 7, 49152, 65536 })
  end)

  it("may come as floats without a fraction", function()
    expect("8:0", lutile.make_layout(8.0, 0.0), "9007199254740992:1", lutile.make_layout(2 ^ 53))
    refuses("number has no integer representation", lutile.make_layout, 8.5)
  end)

  it("may come from values", function()
    expect("4:1", lutile.make_layout(P "?4":value()), "?4:1", lutile.make_layout(lutile.dyn(4)))
  end)
end)

describe("a swizzle", function()
  it("of bytes counts in elements of its tile", function() -- S<1,3,3> in halves
    local tile = lutile.tile_to_shape(P "Sw<1,4,3> o smem[16b] o (8,16):(16,1)", { 64, 16 })
    expect(16, tile(1, 0), 72, tile(4, 0), 64, tile(4, 8), 200, tile(12, 0))
    assert.is_true(tile:equivalent(P "Sw<1,3,3> o 0 o (64,16):(16,1)"))
  end)

  it("under an accumulator's partition has the thread's offsets", function()
    local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", P "(4,1,1)")
    local part = mma:get_slice(5):partition_C(P "Sw<3,3,3> o 0 o (64,64):(64,1)")
    local offsets = { 74, 75, 586, 587, 66, 67, 578, 579 }
    for i, offset in ipairs(offsets) do expect(offset, part(i - 1)) end
  end)

  it("has no form for elements of 6 bits", function()
    refuses("8 to 6 bits", lutile.recast, P "Sw<3,4,3>", 8, 6)
  end)
end)

describe("elements of another width", function()
  it("are counted up and down, and backwards", function()
    expect("8:1", lutile.recast(P "16:1", 16, 32), "2:-1", lutile.recast(P "8:-1", 8, 32))
  end)

  it("come in vectors that divide the common run", function() -- 6 elements, but no vector of 3
    local l = P "(2,3):(1,2)"
    local run = lutile.max_common_vector(l, l)
    expect(6, run, 2, lutile.gcd(run, 128 // 32))
  end)
end)

describe("an MMA's layouts", function()
  it("place a thread's value", function()
    local l = P "((4,8),(2,2,2)):((32,1),(16,8,128))"
    expect(57, l(5, 3), "(9,3)", lutile.idx2crd(l(5, 3), { 16, 16 }))
  end)

  -- The rows of M that thread 0 has of A, with the tile's M permuted.
  local function rows(permutation)
    local mma = lutile.make_tiled_mma("SM70_8x8x4_F16F16F16F16_NT", P "(2,2):(2,1)",
      { permutation, 32, 4 })
    assert.equal(P "(32,32,4)", mma:tile_shape())
    local part = mma:get_slice(0):partition_A(lutile.make_identity_tensor { 32, 4 })
    local list = {}
    for i = 0, lutile.size(part.layout) - 1 do list[i + 1] = part(i)[0] end
    return list
  end

  it("permute the rows of a tile", function()
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 7 }, rows(P "(4,4,2):(1,8,4)"))
    assert.same({ 0, 1, 2, 3, 16, 17, 18, 19 }, rows(32))
    assert.same({ 0, 1, 2, 3, 8, 9, 10, 11 }, rows(P "(4,2,4):(1,16,4)"))
  end)

  it("permute by bijections", function()
    assert.is_true(P "(8,2,2):(1,16,8)":is_bijective())
    assert.is_false(P "(8,2,2):(1,8,8)":is_bijective())
    assert.same({ 0, 1, 2, 3, 8, 9, 10, 11 }, rows(P "(8,2,2):(1,16,8)"))
    for _, m in ipairs { "(8,2,2):(1,8,8)", "(8,2):(1,16)" } do
      refuses("make_tiled_mma: permutation .* is no bijection: each of 0 to %d+ must come once$",
        rows, P(m))
    end
  end)
end)

describe("arguments", function()
  it("in the wrong order are named", function()
    refuses("bad argument #1 to 'crd2idx' %(coordinate expected, got layout%)", lutile.crd2idx,
      P "(4,8):(8,1)", { 1, 2 })
  end)

  it("may be no tables with holes", function()
    refuses("hole at index 2", lutile.make_layout, { 4, nil, 8 })
    refuses("hole at index 1", lutile.logical_divide, P "(4,8):(1,4)", { nil, 4 })
  end)
end)

describe("indices", function()
  local l = P "(4,8):(8,1)"

  it("past the size run on in the last mode", function()
    expect(0, l(0), 31, l(31), 8, l(32))
  end)

  it("of modes count from 0, and end at the rank", function()
    expect("4:8", l[0], "8:1", l[1])
    refuses("there is no mode 2", function() return l[2] end)
  end)
end)

describe("values", function()
  it("hide their metatables, finalizers with them", function()
    local tensor = lutile.make_tensor("f32", 4)
    for _, value in ipairs { P "4:1", tensor, tensor.data } do
      assert.equal("string", type(getmetatable(value)))
      refuses("table expected", setmetatable, value, {})
    end
  end)

  it("may be alive when the program exits", function()
    local chunk = "local a = make_tensor('f32', 1000); local b = a(_)"
    for _, exit in ipairs { "os.exit(0)", "os.exit(0, true)", "" } do
      expect(0, command.execute(chunk .. "; " .. exit).code)
    end
  end)

  it("are as they were after an error in a callback", function()
    local t = lutile.make_tensor("s32", 4)
    refuses("stop", lutile.launch, function() error "stop" end, { grid = 1, block = 2 })
    refuses("stop", function() for _ in t.layout:each() do error "stop" end end)
    lutile.launch(function(x) x[lutile.threadIdx.x] = 7 end, { grid = 1, block = 4 }, t)
    expect(7, t(3))
  end)
end)
