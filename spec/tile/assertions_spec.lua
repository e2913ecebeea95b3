-- lutile.spec: the assertions that projects use in their own specs.

local lutile = require "lutile"
local assertions = require "lutile.spec"

local function message_of(name, ...)
  local holds, message = assertions[name](...)
  assert.is_false(holds)
  return message
end

describe("the assertion", function()
  it("layout_equal compares flag for flag, and shows where functions differ", function()
    assert.layout_equal("(4,2):(2,1)", lutile.make_layout({ 4, 2 }, { 2, 1 }))
    assert.equal("Layouts are not equal.\nGot:\n  (4,2):(1,4)\nWanted:\n  (4,2):(2,1)\n"
      .. "they differ at (1,0) (index 1): 1, where the other has 2",
      message_of("layout_equal", "(4,2):(2,1)", "(4,2):(1,4)"))
    assert.matches("they are the same function, in another form$",
      message_of("layout_equal", "8:1", "(2,4):(1,2)"))
    assert.matches("their sizes differ: 9, where the other has 8$",
      message_of("layout_equal", "8:1", "9:1"))
    assert.has_error(function() assert.layout_equal("8:1", "4:1") end)
  end)

  it("equivalent compares as functions", function()
    assert.equivalent("8:1", "(2,4):(1,2)")
    assert.is_not.equivalent("8:1", "8:2")
    assert.matches("^Layouts are not the same function", message_of("equivalent", "8:1", "8:2"))
  end)

  local atom = lutile.Copy_Atom("UniversalCopy<u128>", "f16")
  local copy = lutile.make_tiled_copy(atom, lutile.make_layout({ 16, 8 }, lutile.LayoutRight),
    lutile.make_layout { 1, 8 })

  it("covers wants each element once", function()
    assert.covers(copy, { 64, 64 })
    assert.covers(copy, { 16, 128 })
    assert.matches("does not cover %(8,64%) once: element %(%d+,%d+%) is moved %d+ times$",
      message_of("covers", lutile.make_tiled_copy(atom,
        lutile.make_layout({ 16, 8 }, { 8, 1 }), lutile.make_layout { 1, 8 }), { 8, 64 }))
  end)

  it("bank_conflict_free runs the copy and counts", function()
    local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN",
      lutile.make_layout { 2, 2, 1 }, { 32, 32, 16 })
    local ldmatrix = lutile.make_tiled_copy_A(lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16"), mma)
    assert.bank_conflict_free("Sw<3,3,3> o 0 o (64,64):(64,1)", ldmatrix)
    assert.bank_conflict_free("(64,64):(72,1)", ldmatrix)
    assert.is_not.bank_conflict_free("(64,64):(64,1)", ldmatrix)
    assert.matches("^%(64,64%):%(64,1%) has bank conflicts under TiledCopy .*: %d+ of %d+",
      message_of("bank_conflict_free", "(64,64):(64,1)", ldmatrix))
  end)

  it("race_free runs the kernel under the executor's checks", function()
    local function kernel(with_barrier)
      local s = lutile.make_tensor(lutile.make_smem_ptr("f32", 32), 32)
      s[lutile.threadIdx.x] = 1
      if with_barrier then lutile.sync() end
      return s(lutile.threadIdx.x ~ 1) + 0
    end
    assert.race_free(kernel, { block = 32 }, true)
    assert.matches("^The kernel did not pass the executor's checks: .*thread",
      message_of("race_free", kernel, { block = 32 }, false))
  end)

  local layout = lutile.make_layout { 4, 8 }
  for message, arguments in pairs {
    ["layout_equal takes two layouts"] = { layout },
    ["equivalent takes two layouts"] = { layout },
    ["covers takes a TiledCopy and a tile: covers(tiled_copy, tile)"] = { layout, 33 },
    ["bank_conflict_free takes a layout and a TiledCopy: bank_conflict_free(layout, tiled_copy)"] =
      { layout },
    ["race_free takes a kernel, launch's options and arguments: race_free(f, {block = 32}, ...)"] =
      { print },
  } do
    local name = message:match "^[%a_]+"
    it(name .. " says what it takes", function()
      assert.has_error(function() assert[name](table.unpack(arguments)) end, "assert." .. message)
    end)
  end

  it("covers takes no atom, and wants a tile", function()
    for _, arguments in ipairs { { atom, { 8, 8 } }, { copy }, { nil, { 8, 8 } } } do
      assert.has_error(function() assert.covers(arguments[1], arguments[2]) end,
        "assert.covers takes a TiledCopy and a tile: covers(tiled_copy, tile)")
    end
  end)
end)
