-- Copy atoms: tables whose sides hold the same bits, names, and what they refuse.

local lutile = require "lutile"
local parse = lutile.parse

local function atom_names()
  local names = {}
  for name in lutile.copy_atoms() do names[#names + 1] = name end
  return names
end

-- How often each bit (or element) of what is moved is met, and how many are.
local function count(layout)
  local met, different = {}, 0
  for i = 0, lutile.size(layout) - 1 do
    local at = layout(i)
    if not met[at] then different = different + 1 end
    met[at] = (met[at] or 0) + 1
  end
  return met, different
end

local function message_of(run, ...)
  local succeeded, message = pcall(run, ...)
  assert.is_false(succeeded)
  return message
end

describe("the table of copy atoms", function()
  it("has every name once", function()
    local seen = {}
    for _, name in ipairs(atom_names()) do
      assert.is_nil(seen[name], name)
      seen[name] = true
      assert.equal(name, lutile.Copy_Traits(name).name)
    end
    assert(seen["SM75_U32x4_LDSM_N"])
    assert(seen["SM80_CP_ASYNC_CACHEALWAYS_ZFILL<u64>"])
    assert(seen["AutoVectorizingCopyWithAssumedAlignment<128>"])
    assert.is_nil(seen["SM80_CP_ASYNC_CACHEGLOBAL<u64>"])
  end)

  it("moves the same bits on both sides, to or from each register once", function()
    for _, name in ipairs(atom_names()) do
      local traits = lutile.Copy_Traits(name)
      local source, sources = count(traits.src_bits)
      local target, targets = count(traits.dst_bits)
      assert.equal(sources, targets, name)
      for bit in pairs(source) do assert(target[bit], name) end
      -- Registers are the side that the reference layout is of.
      local held = traits.ref_bits == traits.src_bits and source or target
      for _, times in pairs(held) do assert.equal(1, times, name) end
    end
  end)

  it("counts threads alike everywhere", function()
    for _, name in ipairs(atom_names()) do
      local traits = lutile.Copy_Traits(name)
      local threads = lutile.size(traits.thr_id)
      assert.equal(threads, lutile.size(traits.src_bits, 0))
      assert.equal(threads, lutile.size(traits.dst_bits, 0))
    end
  end)

  it("is the same movement in elements", function()
    local function assert_same(bits, values, name)
      if lutile.size(bits, 1) < 8 then return end -- a word narrower than the element
      for thread = 0, lutile.size(values, 0) - 1 do
        for value = 0, lutile.size(values, 1) - 1 do
          assert.equal(bits(thread, value * 8), values(thread, value) * 8, name)
        end
      end
    end
    for _, name in ipairs(atom_names()) do
      local atom = lutile.Copy_Atom(name, "s8")
      assert_same(atom.src_bits, atom.src_layout, name)
      assert_same(atom.dst_bits, atom.dst_layout, name)
    end
  end)
end)

describe("Copy_Atom", function()
  it("takes words by width and by type, and CuTe's shorter names", function()
    assert.equal(lutile.Copy_Traits "UniversalCopy<u32>".src_bits,
      lutile.Copy_Traits "UniversalCopy<f32>".src_bits)
    assert.equal(parse "(1,2):(0,1)", lutile.Copy_Atom("UniversalCopy<u32>", "bf16").dst_layout)
    assert.equal(parse "(1,32):(0,1)", lutile.Copy_Atom("UniversalCopy<u128>", "s4").dst_layout)
    assert.equal("AutoVectorizingCopyWithAssumedAlignment<8>",
      lutile.Copy_Traits "DefaultCopy".name)
    assert.equal("AutoVectorizingCopyWithAssumedAlignment<128>",
      lutile.Copy_Traits "AutoVectorizingCopy".name)
    assert.equal(parse "(1,256):(0,1)",
      lutile.Copy_Traits "SM100_LOAD_256bit_CACHE_NOALLOCATION".src_bits)
  end)

  it("has the fields of its operation, of its type, and prints both", function()
    local atom = lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16")
    assert.equal("f16", atom.val_type)
    assert.equal(parse "32:1", atom.thr_id)
    assert.equal(parse "(32,8):(8,1)", atom.src_layout)
    assert.equal(parse "(32,(2,4)):(2,(1,64))", atom.dst_layout)
    assert.equal("Copy_Atom SM75_U32x4_LDSM_N, f16", tostring(atom))
    assert.equal("Copy_Traits SM75_U32x4_LDSM_N",
      tostring(lutile.Copy_Traits "SM75_U32x4_LDSM_N"))
    assert.is_nil(lutile.Copy_Traits "SM75_U32x4_LDSM_N".src_layout)
    assert.equal("a copy atom has no field 'layout'",
      message_of(function() return atom.layout end):match "a copy atom.*")
  end)

  it("refuses unknown names with one that is near", function()
    assert.error_matches(function() lutile.Copy_Atom("SM75_U32x4_LDSM", "f16") end,
      "Copy_Atom: no operation 'SM75_U32x4_LDSM'; the nearest name is SM75_U32x4_LDSM_N$")
    assert.error_matches(function() lutile.Copy_Atom("", "f16") end,
      "Copy_Atom: no operation ''; the nearest name is UniversalCopy<u128>$")
    assert.error_matches(function() lutile.Copy_Atom(("x"):rep(500), "f16") end, "no operation")
    assert.error_matches(function() lutile.Copy_Atom "SM75_U32x4_LDSM_N" end,
      "^Copy_Atom: element type expected, got no value %(there are f64 f32 ")
    assert.error_matches(function() lutile.Copy_Atom("UniversalCopy<u128", "f16") end,
      "no operation")
  end)

  it("refuses widths that the operation does not have", function()
    assert.error_matches(
      function() lutile.Copy_Atom("SM80_CP_ASYNC_CACHEGLOBAL<u64>", "f16") end,
      "Copy_Atom: the bits that SM80_CP_ASYNC_CACHEGLOBAL<u64> can move at once are 128$")
    assert.error_matches(
      function() lutile.Copy_Atom("SM80_CP_ASYNC_CACHEALWAYS<u16>", "f16") end,
      "can move at once are 32 64 128$")
    for _, word in ipairs { "u0", "u7", "u4096", "u", "128", "f33", "u99999999999999" } do
      assert.error_matches(function() lutile.Copy_Atom("UniversalCopy<" .. word .. ">", "f16") end,
        "can move at once are a power of two, or those of a type$")
    end
  end)

  it("refuses elements that the operation would split among threads", function()
    assert.error_matches(function() lutile.Copy_Atom("SM75_U16x8_LDSM_T", "f32") end,
      "Copy_Atom: SM75_U16x8_LDSM_T cannot move f32: it deals bits out as "
      .. "%(%(4,8%),%(16,2,4%)%):%(%(256,16%),%(1,128,1024%)%), which splits elements of 32 bits "
      .. "among threads$")
    assert.error_matches(function() lutile.Copy_Atom("SM75_U32x1_LDSM_N", "f64") end, "cannot move")
  end)

  it("refuses other arguments", function()
    assert.error_matches(function() lutile.Copy_Atom("UniversalCopy<u128>", "f99") end, "f99")
    assert.error_matches(function() lutile.Copy_Atom("UniversalCopy<u128>") end, "Copy_Atom")
    assert.error_matches(function() lutile.Copy_Atom({}, "f16") end, "string expected")
    assert.error_matches(function() lutile.Copy_Traits() end, "string expected")
  end)
end)
