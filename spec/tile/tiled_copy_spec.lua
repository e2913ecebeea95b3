-- TiledCopy: partitions that cover the tile, sides that agree, and what is refused.

local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local parse = lutile.parse

-- How often the threads' parts of one side meet each element of a compact tensor of 'shape'.
local function count_parts(copy, side, shape)
  local met = {}
  local layout = lutile.make_layout(shape)
  for thread = 0, lutile.size(copy) - 1 do
    local slice = copy:get_slice(thread)
    local part = slice["partition_" .. side](slice, layout)
    for i = 0, lutile.size(part.layout) - 1 do
      local at = part(i)
      met[at] = (met[at] or 0) + 1
    end
  end
  return met
end

-- 'times' nil: as often as may be, but at least once.
local function assert_covers(copy, side, shape, times)
  local met, n = count_parts(copy, side, shape), lutile.size(lutile.make_layout(shape))
  for at = 0, n - 1 do
    assert(met[at], ("%s: no thread has element %d"):format(side, at))
    if times then assert.equal(times, met[at]) end
    met[at] = nil
  end
  assert.is_nil(next(met))
end

local function message_of(run, ...)
  local succeeded, message = pcall(run, ...)
  assert.is_false(succeeded)
  return message
end

-- A tensor of two tiles in each mode.
local function doubled(tile)
  local twice = {}
  for i = 0, #tile - 1 do twice[i + 1] = tile[i] * 2 end
  return lutile.tuple(twice)
end

local function tile_of(copy)
  return lutile.is_tuple(copy.tiler_mn) and copy.tiler_mn or lutile.make_shape(copy.tiler_mn)
end

local f16 = lutile.Copy_Atom("UniversalCopy<u128>", "f16")

describe("make_tiled_copy", function()
  local shapes = {
    { "(16,8):(8,1)", "(1,8):(8,1)" }, { "(32,4):(1,32)", "(8,1)" },
    { "(8,4,2):(8,2,1)", "(1,2,4)" },
    { "32:1", "8:1" }, { "(4,(2,4)):(8,(1,2))", "(2,(2,2)):(4,(1,2))" }, { "(1,1)", "(8,8)" },
    { "(128,1):(1,0)", "(4,2):(2,1)" }, { "(2,3):(3,1)", "(4,4):(4,1)" },
  }

  it("gives each element of the tile, and of larger tensors, to one thread", function()
    for _, case in ipairs(shapes) do
      for _, name in ipairs { "UniversalCopy<u16>", "UniversalCopy<u32>", "UniversalCopy<u64>" } do
        local copy = lutile.make_tiled_copy(lutile.Copy_Atom(name, "f16"), parse(case[1]),
          parse(case[2]))
        assert_covers(copy, "S", tile_of(copy), 1)
        assert_covers(copy, "D", doubled(tile_of(copy)), 1)
      end
    end
  end)

  it("has as its layout the inverse of threads and values raked together", function()
    for _, case in ipairs(shapes) do
      local threads, values = parse(case[1]), parse(case[2])
      local tiler, tv = lutile.make_layout_tv(threads, lutile.is_layout(values) and values
        or lutile.make_layout(values))
      local both = lutile.raked_product(threads, values)
      local count = lutile.size(threads)
      assert.equal(lutile.size(lutile.make_layout(tiler)), lutile.size(tv))
      for thread = 0, count - 1 do
        for value = 0, lutile.size(tv, 1) - 1 do
          assert.equal(thread + count * value, both(tv(thread, value)))
        end
      end
    end
  end)

  it("has the layouts of a thread layout of 4 x 32 and values of 4 x 4", function()
    local tiler, tv = lutile.make_layout_tv(parse "(4,32):(32,1)", parse "(4,4):(4,1)")
    assert.equal(parse "(16,128)", tiler)
    assert.equal(parse "((32,4),(4,4)):((64,4),(16,1))", tv)
  end)

  it("partitions by thread", function()
    local copy = lutile.make_tiled_copy(f16, parse "(16,2):(2,1)", parse "(1,8)")
    local part = copy:get_slice(3):partition_S(parse "(32,32):(32,1)")
    assert.equal(parse "40 o ((8,1),2,2):((1,0),512,16)", part)
    assert.equal(32, lutile.size(copy))
    assert.equal(256, copy:tile_size())
    assert.equal(16, lutile.tile_size(copy, 1))
    assert.equal(parse "(16,16)", copy.tiler_mn)
    assert.equal("TiledCopy UniversalCopy<u128>, f16, tiler (16,16), layout_TV "
      .. "((2,16),8):((128,1),16)", tostring(copy))
    assert.equal("ThrCopy UniversalCopy<u128>, f16, thread 3", tostring(copy:get_slice(3)))
    assert.equal(3, copy:get_slice(3).thr_idx)
  end)

  it("lets few threads copy where the tensor is small", function()
    local copy = lutile.make_tiled_copy(f16, parse "256:1", parse "8:1")
    local inside = {}
    local identity = lutile.make_identity_tensor { 16 }
    for thread = 0, 255 do
      local part = copy:get_slice(thread):partition_S(identity)
      if lutile.elem_less(part(0), { 16 }) then inside[#inside + 1] = thread end
    end
    assert.same({ 0, 1 }, inside)
  end)

  it("takes tensors and counting tensors", function()
    local copy = lutile.make_tiled_copy(f16, parse "(4,2):(2,1)", parse "(1,8)")
    local t = lutile.make_tensor("f16", parse "(8,32):(32,1)")
    for i = 0, 255 do t[i] = i end
    local part = copy:get_slice(5):partition_S(t)
    assert.equal("f16", part.dtype)
    assert.equal(t.data, part.data)
    assert.equal(t(2, 8 + 3), part({ { 3, 0 }, 0, 0 }))
    local moved = copy:get_slice(5):partition_S(parse "100 o (8,32):(32,1)")
    assert.equal(100 + part.offset, moved.offset)
    assert.equal(parse "((2,4),(8,1),(2,2))", copy:tidfrg_S(t).shape)
  end)

  it("names what a thread has and the atom needs", function()
    assert.equal("make_tiled_copy: a thread has 64 bits (4 of f16), where UniversalCopy<u128> "
      .. "moves 128 (8 of f16): it takes a multiple of them",
      message_of(lutile.make_tiled_copy, f16, parse "(16,2)", parse "(1,4)"))
    local async = lutile.Copy_Atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", "f32")
    assert.equal("make_tiled_copy: a thread has 32 bits (1 of f32), where "
      .. "SM80_CP_ASYNC_CACHEGLOBAL<u128> moves 128 (4 of f32): it takes a multiple of them",
      message_of(lutile.make_tiled_copy, async, parse "(16,16):(16,1)"))
    local load = lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16")
    assert.equal("make_tiled_copy: ((4,4),8):((32,1),4) has 16 threads, where SM75_U32x4_LDSM_N "
      .. "works with 32 together",
      message_of(lutile.make_tiled_copy, load, parse "(4,4):(4,1)", parse "(1,8)"))
    assert.equal("make_tiled_copy: the modes of ((3,2),(6,4)):((48,4),(8,1)), (thread, value), do "
      .. "not divide into the 4 values that UniversalCopy<u64> moves",
      message_of(lutile.make_tiled_copy, lutile.Copy_Atom("UniversalCopy<u64>", "f16"),
        parse "(2,3):(3,1)", parse "(4,6):(6,1)"))
  end)

  it("refuses other arguments", function()
    assert.error_matches(function() lutile.make_tiled_copy("UniversalCopy<u128>", 4) end,
      "make_tiled_copy: copy atom expected, got string")
    assert.error_matches(
      function() lutile.make_tiled_copy(lutile.Copy_Traits "UniversalCopy<u128>", 4) end,
      "make_tiled_copy: UniversalCopy<u128> has no element type: "
      .. "Copy_Atom%(name, dtype%) gives it one")
    assert.error_matches(function() lutile.make_tiled_copy(f16, "x") end, "layout expected")
    assert.error_matches(function() lutile.make_tiled_copy(f16, lutile.dyn(4), 8) end, "static")
    local copy = lutile.make_tiled_copy(f16, parse "(4,2)", parse "(8,1)")
    assert.error_matches(function() copy:get_slice(8) end,
      "get_slice: thread 8 is not in 0 to 7 of the tiled copy")
    assert.error_matches(function() copy:get_slice(-1) end, "thread %-1 is not in 0 to 7")
    assert.error_matches(function() copy:partition_S(parse "(8,8)") end,
      "partition: copy slice expected, got tiled copy")
    assert.error_matches(function() copy:get_slice(0):partition_S(parse "8:1") end,
      "tidfrg: 8:1 has rank 1, where the tile %(32,2%) has 2")
    assert.error_matches(function() copy:tile_size(2) end, "mode 2 is not in 0 to 1")
    assert.error_matches(function() lutile.make_tiled_copy_A(f16, f16) end,
      "make_tiled_copy_A: tiled MMA expected, got userdata")
  end)
end)

describe("make_tiled_copy_impl", function()
  it("takes layouts in the tiler", function()
    local copy = lutile.make_tiled_copy_impl(lutile.Copy_Atom("UniversalCopy<u16>", "f16"),
      parse "(8,8):(8,1)", { parse "(2,4):(1,8)", parse "8:2" })
    assert_covers(copy, "S", lutile.tuple { 32, 16 }, 1)
  end)

  it("refuses layouts that leave the tile", function()
    assert.equal("make_tiled_copy_impl: (8,8):(8,1) reaches index 63, where the tile (4,8) has 32 "
      .. "elements", message_of(lutile.make_tiled_copy_impl, f16, parse "(8,8):(8,1)", { 4, 8 }))
    assert.error_matches(
      function() lutile.make_tiled_copy_impl(f16, parse "8:1", { 4, 8 }) end,
      "8:1 over the tiler %(4,8%) is no static layout %(thread, value%)")
  end)
end)

describe("copies of a TiledMMA", function()
  local configurations = {
    { "SM80_16x8x16_F32F16F16F32_TN", "(2,2,1):(1,2,0)", { 32, 32, 16 }, "f16" },
    { "SM80_16x8x16_F32F16F16F32_TN", "(4,1,1):(1,0,0)", { 64, 16, 32 }, "f16" },
    { "SM80_16x8x8_F32TF32TF32F32_TN", "(1,4,1):(0,1,0)", { 16, 64, 16 }, "tf32" },
    { "SM80_16x8x32_S32S8S8S32_TN", "(2,1,1)", { 32, 32, 32 }, "s8" },
    { "SM75_8x8x16_S32S8S8S32_TN", "(2,2,1)", { 32, 32, 32 }, "s8" },
  }

  it("cover A, B and C with whatever atom fits", function()
    for _, c in ipairs(configurations) do
      local mma = lutile.make_tiled_mma(c[1], parse(c[2]), c[3])
      for _, name in ipairs { "SM75_U32x4_LDSM_N", "SM75_U32x2_LDSM_N", "SM75_U32x1_LDSM_N",
        "UniversalCopy<u32>", "DefaultCopy" } do
        local atom = lutile.Copy_Atom(name, c[4])
        local is_one = not name:find "x[24]" -- a register: each part has whole ones
        local m, n, k = c[3][1], c[3][2], c[3][3]
        local made, copy = pcall(lutile.make_tiled_copy_A, atom, mma)
        assert(made or not is_one, copy)
        if made then assert_covers(copy, "S", lutile.tuple { m, k }) end
        made, copy = pcall(lutile.make_tiled_copy_B, atom, mma)
        assert(made or not is_one, copy)
        if made then assert_covers(copy, "S", lutile.tuple { n, k }) end
      end
      local store = lutile.Copy_Atom("UniversalCopy<u64>", mma.c_type)
      assert_covers(lutile.make_tiled_copy_C(store, mma), "D", lutile.tuple { c[3][1], c[3][2] }, 1)
    end
  end)

  it("give each thread with D what the MMA's fragment holds", function()
    for _, c in ipairs(configurations) do
      local mma = lutile.make_tiled_mma(c[1], parse(c[2]), c[3])
      local copy = lutile.make_tiled_copy_A(lutile.Copy_Atom("SM75_U32x1_LDSM_N", c[4]), mma)
      local tile = lutile.make_layout { c[3][1] * 2, c[3][3] * 2 }
      for thread = 0, lutile.size(mma) - 1, 7 do
        local held = mma:get_slice(thread):partition_A(tile)
        local slice = copy:get_slice(thread)
        local written = slice:partition_D(tile)
        -- The fragment, numbered; retiled, its registers are in the order in which D is written.
        local numbers = slice:retile_D(lutile.make_layout(held.layout.shape))
        assert.equal(lutile.size(written.layout), lutile.size(numbers))
        for i = 0, lutile.size(numbers) - 1 do assert.equal(held(numbers(i)), written(i)) end
      end
    end
  end)

  it("refuse fragments of others", function()
    local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", parse "(2,2,1)")
    local copy = lutile.make_tiled_copy_A(lutile.Copy_Atom("SM75_U32x2_LDSM_N", "f16"), mma)
    local slice = copy:get_slice(0)
    assert.equal(parse "((4,2),2,2):((1,4),8,16)",
      slice:retile_D(lutile.make_layout { { 2, 2, 2 }, 2, 2 }))
    assert.equal("retile: (2,3,1):(1,2,0) is no fragment of the tiled copy: its modes must be "
      .. "multiples of (2,2,2)", message_of(slice.retile_D, slice, lutile.make_layout { 2, 3, 1 }))
  end)

  it("cut C to one atom's worth", function()
    local mma = lutile.make_tiled_mma("SM90_64x128x16_F32F16F16_SS", parse "(2,1,1)")
    local copy = lutile.make_tiled_copy_C_atom(lutile.Copy_Atom("SM90_U32x4_STSM_N", "f16"), mma)
    assert.equal(8, lutile.size(copy.layout_TV, 1))
    assert_covers(copy, "D", lutile.tuple { 128, 128 })
    local wide = lutile.make_tiled_mma "SM80_8x8x4_F64F64F64F64_TN"
    assert.equal("make_tiled_copy_C_atom: UniversalCopy<u1024> moves 16 values a thread, where the "
      .. "accumulator " .. tostring(wide:get_layoutC_TV()) .. " has 2",
      message_of(lutile.make_tiled_copy_C_atom, lutile.Copy_Atom("UniversalCopy<u1024>", "f64"),
        wide))
  end)

  it("refuses tiles with too few values", function()
    local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", parse "(2,2,1)")
    assert.equal("make_tiled_copy_B: a thread has 64 bits (4 of f16), where SM75_U32x4_LDSM_N "
      .. "moves 128 (8 of f16): it takes a multiple of them",
      message_of(lutile.make_tiled_copy_B, lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16"), mma))
  end)
end)

describe("copies of other copies", function()
  it("take over a side", function()
    local load = lutile.make_tiled_copy(lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16"),
      parse "(32,2):(1,32)", parse "(1,8)")
    local plain = lutile.Copy_Atom("UniversalCopy<u16>", "f16")
    local tile = load.tiler_mn
    for _, side in ipairs { "S", "D" } do
      local other = lutile["make_tiled_copy_" .. side](plain, load)
      assert.equal(tile, other.tiler_mn)
      local layout = lutile.make_layout(tile)
      for thread = 0, 63, 5 do
        local a, b = load:get_slice(thread), other:get_slice(thread)
        local own, taken = a["partition_" .. side](a, layout), b:partition_S(layout)
        for i = 0, lutile.size(own.layout) - 1 do assert.equal(own(i), taken(i)) end
      end
    end
  end)

  it("own offsets of a layout, whatever its coordinates", function()
    local data = parse "(8,16):(16,1)"
    local copy = lutile.make_cotiled_copy(f16, parse "(16,8):(8,1)", data)
    for thread = 0, 15 do
      local part = copy:get_slice(thread):partition_S(data)
      for i = 0, 7 do assert.equal(thread * 8 + i, part(i)) end
    end
    assert.error_matches(
      function() lutile.make_cotiled_copy(f16, parse "(16,8):(16,1)", data) end,
      "make_cotiled_copy: %(16,8%):%(16,1%) takes %(thread, value%) to offsets that "
      .. "%(8,16%):%(16,1%) does not have")
  end)
end)

describe("partitions of swizzled layouts", function()
  local swizzled = {
    "Sw<3,3,3> o 0 o (32,64):(64,1)", "Sw<2,3,3> o 0 o (32,64):(64,1)",
    "Sw<3,4,3> o smem[16b] o (32,64):(64,1)", "Sw<2,0,3> o 0 o (32,64):(1,32)",
  }

  it("are the swizzled offsets of the plain parts", function()
    local copies = {
      lutile.make_tiled_copy(f16, parse "(4,8):(8,1)", parse "(1,8)"),
      lutile.make_tiled_copy(f16, parse "(32,1)", parse "(1,8)"),
      lutile.make_tiled_copy(lutile.Copy_Atom("UniversalCopy<u32>", "f16"), parse "(2,16):(16,1)",
        parse "(2,2):(2,1)"),
    }
    for _, text in ipairs(swizzled) do
      local composed = parse(text)
      local tensor = lutile.make_tensor("s32", composed)
      for i = 0, lutile.size(composed) - 1 do tensor[i] = i end
      for _, copy in ipairs(copies) do
        for thread = 0, lutile.size(copy) - 1, 3 do
          local slice = copy:get_slice(thread)
          local plain = slice:partition_S(lutile.make_layout(composed.shape))
          local part = slice:partition_S(tensor)
          for i = 0, lutile.size(plain.layout) - 1 do assert.equal(plain(i), part(i)) end
        end
      end
    end
  end)
end)

describe("random TiledCopies", function()
  it("cover their tiles once", function()
    local random = enumerate.random(20)
    local atoms = { "UniversalCopy<u16>", "UniversalCopy<u32>", "UniversalCopy<u64>" }
    local made = 0
    for i = 1, 100 do
      local atom = lutile.Copy_Atom(atoms[i % 3 + 1], "f16")
      local threads, values = enumerate.random_bijection(random), enumerate.random_bijection(random)
      local succeeded, copy = pcall(lutile.make_tiled_copy, atom, threads, values)
      if succeeded and lutile.size(threads) * lutile.size(values) <= 1024 then
        -- Tiles of some extents cannot be taken apart so: then partitions say so.
        for _, shape in ipairs { tile_of(copy), doubled(tile_of(copy)) } do
          if pcall(count_parts, copy, "S", shape) then
            made = made + 1
            assert_covers(copy, "S", shape, 1)
            assert_covers(copy, "D", shape, 1)
          end
        end
      end
    end
    assert(made > 10, made)
  end)
end)
