-- Shared memory layouts of warpgroup MMAs, and descriptors that say what the layouts do.

local lutile = require "lutile"
local parse, GMMA = lutile.parse, lutile.GMMA

local SWIZZLES = { "INTER", "SW32", "SW64", "SW128" }
local BYTES = { s8 = 1, f16 = 2, tf32 = 4 }
local ATOMS = {
  s8 = "SM90_64x128x32_S32S8S8_SS_TN", f16 = "SM90_64x128x16_F32F16F16_SS",
  tf32 = "SM90_64x128x8_F32TF32TF32_SS_TN",
}

local function message_of(run, ...)
  local succeeded, message = pcall(run, ...)
  assert.is_false(succeeded)
  return message
end

local function atom_of(major, swizzle, dtype)
  return GMMA[("Layout_%s_%s_Atom"):format(major, swizzle)](dtype)
end

describe("GMMA layouts", function()
  it("are 8 rows of 16, 32, 64 and 128 bytes, K-major or MN-major", function()
    assert.equal(parse "Sw<3,4,3> o smem[16b] o (8,64):(64,1)", GMMA.Layout_K_SW128_Atom "f16")
    assert.equal(parse "Sw<1,4,3> o smem[8b] o (32,8):(1,32)", GMMA.Layout_MN_SW32_Atom "e4m3")
    assert.equal(GMMA.Layout_K_SW64_Atom "f32", GMMA.Layout_SW64_Atom("f32", "K"))
    assert.equal(GMMA.Layout_MN_INTER_Atom "f32", GMMA.Layout_INTER_Atom("f32", "MN"))
    for i, swizzle in ipairs(SWIZZLES) do
      for dtype, bytes in pairs(BYTES) do
        assert.equal(8 * (16 << i - 1) // bytes, lutile.size(atom_of("K", swizzle, dtype)))
      end
    end
  end)

  it("are one to one when tiled to a shape", function()
    for _, swizzle in ipairs(SWIZZLES) do
      for _, major in ipairs { "K", "MN" } do
        local tile = atom_of(major, swizzle, "f16"):tile_to_shape { 128, 64 }
        local elements = tile:as_position_independent_swizzle_layout()
        assert(lutile.is_bijective(elements), tostring(elements))
      end
    end
  end)

  it("refuse other majors and types", function()
    assert.error_matches(function() GMMA.Layout_SW64_Atom("f32", "M") end,
      "GMMA layout: major \"MN\" or \"K\" expected, got M")
    assert.error_matches(function() GMMA.Layout_K_SW64_Atom "f99" end, "f99")
    assert.error_matches(function() GMMA.Layout_K_SW64_Atom() end, "GMMA layout")
  end)
end)

-- Byte that the hardware reads for element (mn, k), from PTX's description of the matrix layouts:
-- in units of 16 bytes, W of them in a row of the swizzle.
local function unit_offset(desc, major, mn, k, bytes)
  local w = ({ [0] = 1, 8, 4, 2 })[desc.layout_type]
  local sbo, lbo = desc.stride_byte_offset, desc.leading_byte_offset
  local per_unit = 16 // bytes
  if major == "K" then
    local unit = k // per_unit
    local inner = w == 1 and unit * lbo or unit
    return mn // 8 * sbo + mn % 8 * w + inner, k % per_unit
  end
  local unit = mn // per_unit
  if w == 1 then return unit * sbo + k % 8 + k // 8 * lbo, mn % per_unit end
  return unit % w + unit // w * lbo + k % 8 * w + k // 8 * sbo, mn % per_unit
end

local function swizzled(desc, address)
  local bits = ({ [0] = 0, 3, 2, 1 })[desc.layout_type]
  return lutile.Swizzle(bits, 4, 3)(address)
end

-- Every element of every MMA's operand is where its descriptor says.
local function check_descriptors(matrix, major, swizzle, dtype, shape)
  local smem = atom_of(major, swizzle, dtype):tile_to_shape(shape)
  local slice = lutile.make_tiled_mma(ATOMS[dtype]):get_slice(0)
  local part = slice["partition_" .. matrix](slice, smem)
  local indices = slice["partition_" .. matrix](slice, lutile.make_layout(shape))
  local desc, steps = GMMA.smem_desc(major, part)
  local elements, bytes = smem:as_position_independent_swizzle_layout(), BYTES[dtype]
  local extent_mn, extent_k = lutile.size(part.layout, 0, 0), lutile.size(part.layout, 0, 1)
  for rest = 0, lutile.size(part.layout, 1) * lutile.size(part.layout, 2) - 1 do
    for mn = 0, extent_mn - 1, 3 do
      for k = 0, extent_k - 1 do
        local unit, inside = unit_offset(desc, major, mn, k, bytes)
        local address = (desc.start_address + steps(rest) + unit) * 16 + inside * bytes
        local index = indices(mn + extent_mn * (k + extent_k * rest))
        assert.equal(elements(index) * bytes, swizzled(desc, address))
      end
    end
  end
end

describe("descriptors", function()
  it("say where every element is", function()
    for _, swizzle in ipairs(SWIZZLES) do
      check_descriptors("A", "K", swizzle, "f16", { 128, 128 })
      check_descriptors("B", "K", swizzle, "f16", { 128, 64 })
      check_descriptors("A", "K", swizzle, "s8", { 64, 128 })
      check_descriptors("A", "K", swizzle, "tf32", { 128, 32 })
      check_descriptors("A", "MN", swizzle, "f16", { 128, 64 })
      check_descriptors("B", "MN", swizzle, "f16", { 256, 32 })
    end
  end)

  it("pack into 64 bits", function()
    local desc = GMMA.make_gmma_desc("K", parse "Sw<3,4,3> o smem[16b] o (64,16):(64,1)")
    assert.equal(1, desc.layout_type)
    assert.equal(1, desc.leading_byte_offset)
    assert.equal(64, desc.stride_byte_offset)
    assert.equal(0, desc.base_offset)
    assert.equal(0, desc.start_address)
    assert.equal(1 << 62 | 64 << 32 | 1 << 16, desc.desc)
  end)

  it("take swizzles in bytes and in elements, and offsets", function()
    local bytes = GMMA.make_gmma_desc("K", parse "Sw<2,4,3> o smem[16b] o (64,16):(32,1)")
    assert.same(bytes, GMMA.make_gmma_desc("K", parse "Sw<2,3,3> o 0 o (64,16):(32,1)", "f16"))
    local tile = GMMA.Layout_K_SW128_Atom "f16":tile_to_shape { 64, 64 }
    local second = lutile.make_counting_tensor(
      parse "Sw<3,4,3> o smem[16b] o (64,16):(64,1)", 16)
    assert.equal(2, GMMA.make_gmma_desc("K", second).start_address)
    local layout, offset = lutile.local_tile(tile, { 64, 16 }, { 0, 1 })
    local desc = GMMA.make_gmma_desc("K", lutile.make_counting_tensor(layout, offset), "f16")
    assert.equal(2, desc.start_address)
    assert.equal(64, desc.stride_byte_offset)
  end)

  it("take tensors", function()
    local t = lutile.make_tensor("f16", parse "Sw<3,4,3> o smem[16b] o (64,16):(64,1)")
    assert.equal(1, GMMA.make_gmma_desc("K", t).layout_type)
    assert.equal(0, GMMA.make_gmma_desc("K", lutile.make_tensor("f16",
      parse "((8,8),(8,2)):((8,128),(1,64))")).layout_type)
  end)
end)

describe("layouts without a descriptor", function()
  local function refuses(expected, ...)
    assert.equal(expected, message_of(GMMA.make_gmma_desc, ...))
  end

  it("say which stride is wrong", function()
    refuses("make_gmma_desc: (64,16):(64,1) is no K-major INTER layout: in units of 16 bytes it is "
      .. "(64,2):(8,1), where a descriptor tells of ((8,m),2):((1,SBO),LBO)",
      "K", parse "(64,16):(64,1)", "f16")
    refuses("make_gmma_desc: (64,16):(32,1) is no K-major SW128 layout: in units of 16 bytes it is "
      .. "(64,2):(4,1), where a descriptor tells of ((8,m),2):((8,SBO),1)",
      "K", parse "Sw<3,4,3> o smem[16b] o (64,16):(32,1)")
    refuses("make_gmma_desc: (64,16):(1,64) is no MN-major SW32 layout: in units of 16 bytes it is "
      .. "(8,16):(1,8), where a descriptor tells of ((2,m),(8,k)):((1,LBO),(2,SBO))",
      "MN", parse "Sw<1,4,3> o smem[16b] o (64,16):(1,64)")
  end)

  it("say where 16 bytes do not lie together", function()
    assert.error_matches(
      function() GMMA.make_gmma_desc("K", parse "(64,16):(1,64)", "f16") end,
      "make_gmma_desc: %(64,16%):%(1,64%) is no K%-major INTER layout")
    assert.error_matches(
      function() GMMA.make_gmma_desc("K", parse "(64,16):(24,3)", "f16") end,
      "runs of 8 elements of 16 bits, 16 bytes, do not lie together")
  end)

  it("say which swizzle is wrong", function()
    refuses("make_gmma_desc: Sw<3,3,3> o smem[16b] o (64,16):(64,1) has no descriptor: the swizzle "
      .. "is of other bits of the address; the hardware has Sw<0,4,3> to Sw<3,4,3> on byte "
      .. "addresses", "K", parse "Sw<3,3,3> o smem[16b] o (64,16):(64,1)")
    assert.error_matches(
      function() GMMA.make_gmma_desc("K", parse "Sw<4,4,4> o smem[16b] o (64,16):(64,1)") end,
      "the swizzle has too many bits")
    assert.error_matches(
      function() GMMA.make_gmma_desc("K", parse "5 o Sw<3,3,3> o 0 o (64,16):(64,1)", "f16") end,
      "its offset cuts the swizzle's pattern")
  end)

  it("say what one MMA reads", function()
    refuses("make_gmma_desc: (64,64):(64,1) is not what one MMA reads: K is 16 elements of 16 bits",
      "K", parse "Sw<3,4,3> o smem[16b] o (64,64):(64,1)")
    assert.error_matches(
      function() GMMA.make_gmma_desc("K", parse "Sw<3,4,3> o smem[16b] o (60,16):(64,1)") end,
      "has 60 rows, where a descriptor tells of 8 each")
    assert.error_matches(
      function() GMMA.make_gmma_desc("K", parse "(64,16,2)", "f16") end,
      "is no static layout %(M or N,K%) of one MMA")
    assert.error_matches(
      function() GMMA.make_gmma_desc("K", parse "(?64,16):(64,1)", "f16") end, "no static layout")
  end)

  it("say what does not fit a field", function()
    refuses("make_gmma_desc: the stride offset of ((8,8),16):((64,1048576),1) is 131072 units of "
      .. "16 bytes, where the field holds 0 to 16383",
      "K", parse "Sw<3,4,3> o smem[16b] o ((8,8),16):((64,1048576),1)")
    refuses("make_gmma_desc: offset 4 of (64,16):(64,1) is not a multiple of 16 bytes, 8 elements",
      "K", parse "4 o Sw<3,4,3> o smem[16b] o (64,16):(64,1)")
  end)

  it("want their element type", function()
    refuses("make_gmma_desc: the element type of (64,16):(64,1) is wanted", "K",
      parse "(64,16):(64,1)")
    refuses("make_gmma_desc: elements of 64 bits are no operands", "K", parse "(64,4)", "f64")
    assert.error_matches(function() GMMA.make_gmma_desc("N", parse "(64,4)", "f16") end,
      "major \"MN\" or \"K\" expected, got N")
  end)
end)
