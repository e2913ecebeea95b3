-- TMA copies: descriptors by the driver's names, boxes that move what a tile copy would, and what
-- TMA cannot express.

local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"
local parse, GMMA = lutile.parse, lutile.GMMA

local function message_of(run, ...)
  local succeeded, message = pcall(run, ...)
  assert.is_false(succeeded)
  return message
end

local function numbered(dtype, layout)
  local t = lutile.make_tensor(dtype, layout)
  for i = 0, lutile.size(layout) - 1 do t[i] = i % 2000 + 1 end
  return t
end

-- All coordinates of a shape of integers, as tables.
local function each_coordinate(extents, f)
  local total = 1
  for _, n in ipairs(extents) do total = total * n end
  for i = 0, total - 1 do
    local c, rest = {}, i
    for k, n in ipairs(extents) do
      c[k] = rest % n
      rest = rest // n
    end
    f(c)
  end
end

-- For each tile of a tensor with these extents, the tile's own coordinate.
local function each_tile(extents, tile, f)
  local counts = {}
  for k, n in ipairs(extents) do counts[k] = (n + tile[k] - 1) // tile[k] end
  each_coordinate(counts, f)
end

-- The coordinate in the tensor of one in a tile; nil outside of the tensor.
local function in_tensor(extents, tile, at, inside)
  local c = {}
  for k, n in ipairs(extents) do
    c[k] = at[k] * tile[k] + inside[k]
    if c[k] >= n then return nil end
  end
  return c
end

local function shared_tensor(dtype, layout)
  local plain = lutile.is_composed_layout(layout) and layout.layout_b or layout
  return lutile.make_tensor(lutile.make_smem_ptr(dtype, lutile.cosize(plain)), layout)
end

-- Loads every tile, the ones over the edge too, and compares with the tensor.
local function check_loads(dtype, extents, stride, tile, smem)
  local global = numbered(dtype, lutile.make_layout(extents, stride))
  local tma = lutile.make_tma_copy("SM90_TMA_LOAD", global, smem, tile)
  local coordinates = tma:get_tma_tensor(extents)
  local shared = shared_tensor(dtype, smem)
  each_tile(extents, tile, function(at)
    lutile.fill(shared, -1)
    local slice = tma:get_slice(0)
    local from = slice:partition_S(lutile.local_tile(coordinates, tile, at))
    lutile.copy(tma, from, slice:partition_D(shared))
    each_coordinate(tile, function(inside)
      local c = in_tensor(extents, tile, at, inside)
      assert.equal(c and global[c] or 0, shared[inside])
    end)
  end)
end

-- Whether all boxes of a tile start at multiples of 128 bytes.
local function check_aligned(global, smem, tile)
  local tma = lutile.make_tma_copy("SM90_TMA_LOAD", global, smem, tile)
  local box = 1
  for _, n in ipairs(tma.desc.boxDim) do box = box * n end
  return box == lutile.size(smem) or box % 16 == 0
end

-- Stores every tile of numbers, and expects each element of the tensor once.
local function check_stores(dtype, extents, stride, tile, smem)
  local layout = lutile.make_layout(extents, stride)
  local global, wanted = lutile.make_tensor(dtype, layout), numbered(dtype, layout)
  lutile.clear(global)
  local tma = lutile.make_tma_copy("SM90_TMA_STORE", global, smem, tile)
  local coordinates = tma:get_tma_tensor(extents)
  local shared = shared_tensor(dtype, smem)
  each_tile(extents, tile, function(at)
    each_coordinate(tile, function(inside)
      local c = in_tensor(extents, tile, at, inside)
      shared[inside] = c and wanted[c] or 7
    end)
    local slice = tma:get_slice(0)
    local to = slice:partition_D(lutile.local_tile(coordinates, tile, at))
    lutile.copy(tma, slice:partition_S(shared), to)
  end)
  for i = 0, lutile.size(layout) - 1 do assert.equal(wanted(i), global(i)) end
end

local function tiled(atom, shape) return atom:tile_to_shape(shape) end

local cases = {
  { "plain rows", "f32", { 64, 48 }, { 48, 1 }, { 16, 32 }, parse "(16,32):(32,1)" },
  { "plain columns", "f32", { 40, 24 }, { 1, 40 }, { 8, 8 }, parse "(8,8)" },
  { "rows over the edge", "f16", { 50, 40 }, { 40, 1 }, { 16, 32 }, parse "(16,32):(32,1)" },
  { "K-major, 128 bytes", "f16", { 96, 136 }, { 136, 1 }, { 64, 64 },
    tiled(GMMA.Layout_K_SW128_Atom "f16", { 64, 64 }) },
  { "K-major, two atoms", "f16", { 64, 128 }, { 128, 1 }, { 32, 128 },
    tiled(GMMA.Layout_K_SW128_Atom "f16", { 32, 128 }) },
  { "MN-major, 64 bytes", "f16", { 128, 48 }, { 1, 128 }, { 64, 32 },
    tiled(GMMA.Layout_MN_SW64_Atom "f16", { 64, 32 }) },
  { "K-major, 32 bytes, by elements", "f32", { 32, 32 }, { 32, 1 }, { 16, 16 },
    tiled(GMMA.Layout_K_SW32_Atom "f32", { 16, 16 }):as_position_independent_swizzle_layout() },
  { "no swizzle, core matrices", "f16", { 32, 64 }, { 64, 1 }, { 16, 32 },
    tiled(GMMA.Layout_K_INTER_Atom "f16", { 16, 32 }) },
  { "three modes", "u8", { 12, 32, 6 }, { 32, 1, 384 }, { 4, 16, 4 },
    parse "(4,16,4):(16,1,64)" },
  { "three modes, another order", "f32", { 8, 6, 12 }, { 1, 96, 8 }, { 8, 3, 4 },
    parse "(8,3,4):(1,32,8)" },
}

describe("TMA copies", function()
  for _, c in ipairs(cases) do
    it("load and store tiles: " .. c[1], function()
      check_loads(c[2], c[3], c[4], c[5], c[6])
      check_stores(c[2], c[3], c[4], c[5], c[6])
    end)
  end

  it("load nested tiles of nested tensors", function()
    local layout = lutile.make_layout { { 8, 5 }, { { 4, 2 }, 6 } }
    local global = numbered("f32", layout)
    local tma = lutile.make_tma_copy("SM90_TMA_LOAD", global, lutile.make_layout { 16, 8 },
      lutile.tuple { 16, 8 })
    assert.same({ 40, 8, 6 }, tma.desc.globalDim)
    local coordinates = tma:get_tma_tensor(layout.shape)
    local shared = shared_tensor("f32", lutile.make_layout { 16, 8 })
    local slice = tma:get_slice(0)
    lutile.copy(tma, slice:partition_S(lutile.local_tile(coordinates, { 16, 8 }, { 1, 3 })),
      slice:partition_D(shared))
    for m = 0, 15 do
      for n = 0, 7 do assert.equal(global(16 + m, 24 + n), shared(m, n)) end
    end
  end)

  it("are partitioned by tma_partition too", function()
    local global = numbered("f16", parse "(64,128):(128,1)")
    local smem = GMMA.Layout_K_SW128_Atom "f16":tile_to_shape { 64, 64, 2 }
    local tma = lutile.make_tma_copy("SM90_TMA_LOAD", global, smem(lutile._, lutile._, 0).layout,
      { 64, 64 })
    local tiles = lutile.local_tile(tma:get_tma_tensor { 64, 128 }, { 64, 64 }, { 0, lutile._ })
    local shared = shared_tensor("f16", smem)
    local from, to = lutile.tma_partition(tma, 0, lutile.make_layout(1),
      lutile.group(shared, 0, 2), lutile.group(tiles, 0, 2))
    for k = 0, 1 do lutile.copy(tma, from(lutile._, k), to(lutile._, k)) end
    for m = 0, 63 do
      for k = 0, 63 do
        for stage = 0, 1 do
          assert.equal(global(m, stage * 64 + k), shared(m, k, stage))
        end
      end
    end
  end)
end)

describe("random TMA copies", function()
  local random = enumerate.random(7)

  -- Extents of a tile of two or three modes, and the tensor's: powers of two, and more.
  local function random_extents()
    local tile, extents = {}, {}
    for k = 1, random(2, 3) do
      tile[k] = 1 << random(0, 3)
      extents[k] = tile[k] * random(1, 2) + random(0, 1) * 2
    end
    return extents, tile
  end

  local function shuffled(n)
    local order = enumerate.range(1, n)
    for i = n, 2, -1 do
      local j = random(1, i)
      order[i], order[j] = order[j], order[i]
    end
    return order
  end

  it("load what they say, or are refused", function()
    local made = 0
    for _ = 1, 200 do
      local extents, tile = random_extents()
      local order = shuffled(#tile)
      local layout = lutile.make_ordered_layout(extents, order)
      local smem = lutile.make_ordered_layout(tile, random(0, 2) == 0 and shuffled(#tile) or order)
      local global = numbered("f64", layout)
      local succeeded = pcall(lutile.make_tma_copy, "SM90_TMA_LOAD", global, smem, tile)
      if succeeded and check_aligned(global, smem, tile) then
        made = made + 1
        check_loads("f64", extents, layout.stride, tile, smem)
      end
    end
    assert(made > 20, made)
  end)
end)

describe("descriptors", function()
  it("are what cuTensorMapEncodeTiled takes", function()
    local tma = lutile.make_tma_copy("SM90_TMA_LOAD", parse "(1024,256):(256,1)",
      GMMA.Layout_K_SW128_Atom "f16":tile_to_shape { 128, 64 }, nil, nil, "f16")
    assert.same({
      tensorRank = 2, tensorDataType = "f16", globalDim = { 256, 1024 }, globalStrides = { 512 },
      boxDim = { 64, 128 }, elementStrides = { 1, 1 }, interleave = "none", swizzle = "128B",
      oobFill = "zero",
    }, tma.desc)
    assert.equal(parse "(64,128):(1@1,1@0)", tma.tma_basis)
    assert.equal(parse "(0,0) o (1024,256):(1@1,1@0)", tma:get_tma_tensor { 1024, 256 })
    assert.equal("SM90_TMA_LOAD", tma.name)
    assert.equal(parse "(128,64)", tma.tiler_mn)
  end)

  it("merge modes that follow on each other", function()
    local tma = lutile.make_tma_copy("SM90_TMA_LOAD",
      lutile.make_layout { { 32, 40 }, { { 8, 8 }, 656 } }, lutile.make_layout { 128, { 32, 2 } },
      { 128, { 32, 2 } }, 1, "f16")
    assert.same({ 1280, 64, 656 }, tma.desc.globalDim)
    assert.same({ 2560, 163840 }, tma.desc.globalStrides)
    assert.same({ 128, 32, 2 }, tma.desc.boxDim)
  end)

  it("take tensors of sizes known at launch", function()
    local tma = lutile.make_tma_copy("SM90_TMA_LOAD",
      lutile.make_layout({ lutile.dyn(1000), lutile.dyn(256, 8) }, { lutile.dyn(256, 8), 1 }),
      parse "(64,64):(64,1)", nil, nil, "f16")
    assert.same({ 256, 1000 }, tma.desc.globalDim)
    assert.same({ 64, 64 }, tma.desc.boxDim)
    assert.is_false(tma:get_tma_tensor({ lutile.dyn(1000), lutile.dyn(256, 8) }):is_static())
  end)

  it("share a box among the blocks of a cluster", function()
    local tma = lutile.make_tma_copy("SM90_TMA_LOAD_MULTICAST", parse "(1024,256):(256,1)",
      parse "(64,64):(64,1)", { 64, 64 }, 4, "f16")
    assert.same({ 64, 16 }, tma.desc.boxDim)
    assert.equal(4, lutile.size(tma))
  end)
end)

describe("make_tma_copy", function()
  local function refuses(expected, ...)
    assert.equal(expected, message_of(lutile.make_tma_copy, "SM90_TMA_LOAD", ...))
  end
  local rows = parse "(64,64):(64,1)"

  it("refuses strides that are no multiple of 16 bytes", function()
    refuses("make_tma_copy: stride 100 of (64,100):(100,1) is 1600 bits, where TMA wants a "
      .. "multiple of 16 bytes", parse "(64,100):(100,1)", rows, nil, nil, "f16")
  end)

  it("refuses modes that repeat elements", function()
    refuses("make_tma_copy: dimension 1 of (64,64):(1,0) has stride 0: TMA does not repeat "
      .. "elements", parse "(64,64):(1,0)", parse "(64,64)", nil, nil, "f16")
  end)

  it("refuses boxes beyond 256", function()
    refuses("make_tma_copy: the box is 512 elements in dimension 1, where TMA has 1 to 256",
      parse "(1024,64):(64,1)", parse "(512,64):(64,1)", nil, nil, "f16")
  end)

  it("refuses rows that are wider than the swizzle's", function()
    refuses("make_tma_copy: rows of the box are 128 bytes, where those of Sw<1,4,3> are 32 at most",
      parse "(64,64):(64,1)", parse "Sw<1,4,3> o smem[16b] o (64,64):(64,1)", nil, nil, "f16")
    refuses("make_tma_copy: TMA has no swizzle Sw<3,3,4> of 16-bit elements: it has Sw<0,4,3> to "
      .. "Sw<3,4,3>, Sw<2,5,2> and Sw<2,6,2> on byte addresses",
      parse "(64,64):(64,1)", parse "Sw<3,3,4> o 0 o (64,64):(64,1)", nil, nil, "f16")
  end)

  it("refuses rows that are no multiple of 16 bytes", function()
    refuses("make_tma_copy: rows of the box are 64 bits (4 elements of f16), where TMA wants a "
      .. "multiple of 16 bytes", parse "(64,64):(64,1)", parse "(8,4):(4,1)", nil, nil, "f16")
  end)

  it("refuses tiles of another order", function()
    refuses("make_tma_copy: the mode of (64,64):(64,1) that is contiguous in shared memory "
      .. "(64,64):(1,64) has stride 64 in global memory, where TMA wants 1",
      parse "(64,64):(64,1)", parse "(64,64):(1,64)", nil, nil, "f16")
  end)

  it("refuses more modes than a box has", function()
    refuses("make_tma_copy: a box of (8,2,2,2,2,2):(1,16,64,256,1024,4096) needs more than 5 "
      .. "dimensions, which TMA does not have",
      parse "(8,2,2,2,2,2):(1,16,64,256,1024,4096)", parse "(8,2,2,2,2,2)", nil, nil, "f16")
    -- More modes of one element each are no matter.
    local tma = lutile.make_tma_copy("SM90_TMA_LOAD",
      parse "(8,2,2,2,2,2):(1,16,64,256,1024,4096)", parse "(8,2,2,2,1,1)", nil, nil, "f16")
    assert.equal(5, tma.desc.tensorRank)
  end)

  it("refuses tensors that start between 16 bytes", function()
    local t = lutile.domain_offset({ 0, 4 }, numbered("f16", rows))
    refuses("make_tma_copy: the tensor starts at element 4, where TMA wants a multiple of 16 bytes",
      t, parse "(8,8):(8,1)")
  end)

  it("refuses other tiles and operations", function()
    refuses("make_tma_copy: the tile (32,64) has 2048 elements, its layout in shared memory "
      .. "(64,64):(64,1) 4096", rows, rows, { 32, 64 }, nil, "f16")
    refuses("make_tma_copy: a layout of global memory wants its element type as argument 6", rows,
      rows)
    assert.equal("make_tma_copy: the operations are SM90_TMA_LOAD, SM90_TMA_LOAD_MULTICAST and "
      .. "SM90_TMA_STORE", message_of(lutile.make_tma_copy, "TMA", rows, rows, nil, nil, "f16"))
    assert.equal("Copy_Atom: SM90_TMA_LOAD needs a tensor and its tile: make_tma_copy makes it",
      message_of(lutile.Copy_Atom, "SM90_TMA_LOAD", "f16"))
    refuses("make_tma_copy: the layout in shared memory (?64,64):(64,1) is not static", rows,
      parse "(?64,64):(64,1)", nil, nil, "f16")
  end)
end)

describe("copies by TMA", function()
  local global = numbered("f16", parse "(64,64):(64,1)")
  local tma = lutile.make_tma_copy("SM90_TMA_LOAD", global, parse "(16,64):(64,1)")

  it("want coordinates, shared memory and the tensor", function()
    local shared = shared_tensor("f16", parse "(16,64):(64,1)")
    local coordinates = lutile.local_tile(tma:get_tma_tensor { 64, 64 }, { 16, 64 }, { 0, 0 })
    assert.equal("copy: SM90_TMA_LOAD takes coordinates as its source: get_tma_tensor gives them",
      message_of(lutile.copy, tma, global, shared))
    assert.equal("copy: SM90_TMA_LOAD moves between global and shared memory, where target is not "
      .. "in shared memory", message_of(lutile.copy, tma, coordinates, global))
    local planned = lutile.make_tma_copy("SM90_TMA_LOAD", global.layout, parse "(16,64):(64,1)",
      nil, nil, "f16")
    assert.equal("copy: SM90_TMA_LOAD was made for a layout, not for a tensor",
      message_of(lutile.copy, planned, coordinates, shared))
    assert.equal("copy: coordinates (16,64) and target ((8,64)) are not the same number of boxes "
      .. "of 1024 elements",
      message_of(lutile.copy, tma, coordinates, shared_tensor("f16", parse "(8,64):(64,1)")))
    assert.equal("copy_if: SM90_TMA_LOAD takes no predicate",
      message_of(lutile.copy_if, tma, shared, coordinates, shared))
    assert.error_matches(function() tma:get_tma_tensor { 64, { 8, 8 } } end,
      "get_tma_tensor: shape %(64,%(8,8%)%) is not congruent with that of the copied tensor")
  end)

  it("want boxes at multiples of 128 bytes", function()
    local shared = lutile.domain_offset({ 0, 8 }, shared_tensor("f16", parse "(17,64):(64,1)"))
    local coordinates = lutile.local_tile(tma:get_tma_tensor { 64, 64 }, { 16, 64 }, { 0, 0 })
    local tile = lutile.make_tensor(shared, parse "(16,64):(64,1)")
    assert.equal("copy: a box starts at element 8 of target, which is not a multiple of 128 bytes",
      message_of(lutile.copy, tma, coordinates, tile))
  end)
end)
