-- The names of the library: each a function of the module, and a method of what it works on.

local lutile = require "lutile"

local layout = lutile.make_layout { 4, 8 }
local tuple = lutile.tuple { 4, 8 }
local tensor = lutile.make_tensor("f32", { 4, 8 })
local tiled = lutile.make_tiled_mma "SM80_16x8x16_F32F16F16F32_TN"

local function names(text)
  local list = {}
  for name in text:gmatch "%S+" do list[#list + 1] = name end
  return list
end

local functions = names [[
  make_layout make_shape make_stride make_coord make_tile tuple dyn E Swizzle
  is_layout is_tuple is_static parse from_cute to_cute print_layout print_latex using
  make_tensor make_identity_tensor make_identity_layout make_composed_layout
  make_counting_tensor gemm axpby print_tensor MMA_Atom UniversalFMA make_tiled_mma launch sync
  copy copy_if report explain svg]]

-- Of layouts; those that take tuples are methods of these, too.
local methods = names [[
  rank depth size cosize get congruent compatible crd2idx idx2crd flatten coalesce composition
  with_shape complement right_inverse left_inverse logical_divide zipped_divide tiled_divide
  flat_divide logical_product zipped_product tiled_product flat_product blocked_product
  raked_product slice select group append filter shape stride layout compose
  crd2crd make_layout_like weakly_congruent weakly_compatible evenly_divides filter_zeros take
  prepend replace nullspace slice_and_offset dice local_tile local_partition max_common_vector
  max_common_layout domain_distribute upcast downcast recast tile_to_shape
  equivalent is_injective is_surjective is_bijective is_contiguous image offsets each
  to_cute key make_fragment_like is_layout is_tuple is_static print_layout print_latex svg]]

local of_tuples = names [[
  rank depth size get congruent compatible crd2idx idx2crd flatten select group append
  unflatten reverse compact_col_major compact_row_major make_ordered_layout shape_div ceil_div
  weakly_congruent weakly_compatible take prepend replace]]

local of_tensors = names [[
  local_tile slice compose make_tensor_like make_fragment_like copy copy_if transform convert
  clear fill axpby gemm print_tensor size rank shape stride]]

local of_tiled_mmas = names "get_slice get_thread_slice tile_size"
local of_slices = names [[
  partition_A partition_B partition_C partition_fragment_A partition_fragment_B
  partition_fragment_C]]

-- A field that is a property is one whatever its function is called.
local properties = { shape = true, stride = true, layout = true }

local function check(value, list, kind)
  for _, name in ipairs(list) do
    it(("%s is a method of a %s"):format(name, kind), function()
      if not properties[name] then assert.equal("function", type(value[name])) end
    end)
  end
end

describe("the name", function()
  for _, list in ipairs { functions, methods, of_tuples, of_tensors } do
    for _, name in ipairs(list) do
      it(name .. " is a function", function()
        assert.is_truthy(rawequal(type(lutile[name]), "function")
          or (getmetatable(lutile[name]) or {}).__call)
      end)
    end
  end

  check(layout, methods, "layout")
  check(tuple, of_tuples, "tuple")
  check(tensor, of_tensors, "tensor")
  check(tiled, of_tiled_mmas, "TiledMMA")
  check(tiled:get_slice(0), of_slices, "thread's slice")

  it("of a copy may stand before the source", function()
    local source, target = lutile.make_tensor("f32", 4), lutile.make_tensor("f32", 4)
    source:fill(3)
    source:copy(target)
    source:axpby(2, 1, target) -- y = 2 x + 1 y
    assert.error_matches(function() source:axpby({}, 1, target) end, "bad argument #1 to 'axpby'")
    assert.error_matches(function() source:axpby(2, {}, target) end, "bad argument #2 to 'axpby'")
    for i = 0, 3 do assert.equal(9, target(i)) end
    assert.is_true(layout:is_layout() and not layout:is_tuple() and tuple:is_tuple())
  end)

  it("_ is the wildcard", function() assert.equal("_", tostring(lutile._)) end)

  it("of an element type makes tensors", function()
    for _, dtype in ipairs(names "f16 bf16 f32 f64 s32 s8") do
      assert.equal(dtype, lutile.make_tensor(dtype, 2).dtype)
    end
  end)

  it("of an atom makes TiledMMAs", function()
    for _, atom in ipairs(names [[
      SM80_16x8x16_F32F16F16F32_TN SM80_16x8x16_F16F16F16F16_TN SM80_16x8x16_F32BF16BF16F32_TN
      SM80_16x8x8_F32F16F16F32_TN SM80_16x8x8_F16F16F16F16_TN SM80_16x8x8_F32BF16BF16F32_TN
      SM75_16x8x8_F32F16F16F32_TN UniversalFMA<f32>]]) do
      assert.is_truthy(lutile.make_tiled_mma(atom))
    end
  end)
end)

describe("functions written in Lua", function()
  it("raise with the script's line and their own name", function()
    local mma = lutile.make_tiled_mma "SM80_16x8x16_F32F16F16F32_TN"
    for name, arguments in pairs {
      acc_to_A = { 5 }, acc_exchange = { mma, "x" }, acc_rowcol = { 5 }, explain = { "nothing" },
      print_layout = { lutile.make_layout(4), {} }, print_latex = { lutile.make_layout(4), {} },
      report = { {} }, warp_reduce = { math.max, 1, 4 }, svg = { 4, 4, 4 },
    } do
      local succeeded, message = pcall(function()
        return (lutile[name](table.unpack(arguments)))
      end)
      assert.is_false(succeeded)
      assert.matches("^spec/lua/names_spec.lua:%d+: " .. name .. ": ", message)
    end
  end)

  it("pass on what a caller's own functions raise", function()
    local file, reason = { write = function() error("disk full", 0) end }, {}
    assert.has_error(function() lutile.print_layout(lutile.make_layout(4), file) end, "disk full")
    file.write = function() error(reason) end
    local _, raised = pcall(lutile.print_layout, lutile.make_layout(4), file)
    assert.equal(reason, raised)
  end)
end)
