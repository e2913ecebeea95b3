-- Accumulators as the next product's A operand: by hand, and by inverse and composition.

local lutile = require "lutile"

local _ = lutile._

-- For atoms whose A holds two accumulators: (MMA,MMA_M,MMA_N) -> ((MMA,2),MMA_M,MMA_N/2).
local function by_division(acc)
  local l = lutile.logical_divide(acc, { _, _, 2 })
  return lutile.make_layout(lutile.make_layout(l[0], lutile.get(l, 2, 0)), l[1],
    lutile.get(l, 2, 1))
end

-- For atoms whose A holds one accumulator: as it is.
local function as_it_is(acc) return acc end

-- For any atom.
local function by_inverse(acc, slice, shape)
  local index = lutile.make_layout(shape)
  local C, A = slice:partition_C(index).layout, slice:partition_A(index).layout
  return acc .. (~C .. A)
end

local function offsets(layout)
  local list = {}
  for i = 0, lutile.size(layout) - 1 do list[#list + 1] = layout(i) end
  return list
end

-- Offsets of a part within the matrix, in the order of its registers.
local function elements(part)
  local list = {}
  for i = 0, lutile.size(part.layout) - 1 do list[i] = part(i) end
  return list
end

local BY_HAND = {
  ["SM80_16x8x16_F32F16F16F32_TN"] = by_division,
  ["SM80_16x8x16_F16F16F16F16_TN"] = by_division,
  ["SM80_16x8x16_F32BF16BF16F32_TN"] = by_division,
  ["SM80_16x8x8_F32F16F16F32_TN"] = as_it_is,
  ["SM80_16x8x8_F32BF16BF16F32_TN"] = as_it_is,
  ["SM75_16x8x8_F32F16F16F32_TN"] = as_it_is,
}

-- Configurations of MMA_M and MMA_N, by the warps in M and the tile.
local CONFIGURATIONS = {
  { warps = 1, M = 16, N = 16 },
  { warps = 1, M = 32, N = 16 },
  { warps = 1, M = 16, N = 64 },
  { warps = 1, M = 48, N = 48 },
  { warps = 4, M = 64, N = 64 },
  { warps = 4, M = 128, N = 80 },
  { warps = 2, M = 96, N = 128 },
}

describe("accumulators as operand A", function()
  for name, by_hand in pairs(BY_HAND) do
    for i = 1, #CONFIGURATIONS do
      local c = CONFIGURATIONS[i]
      it(("of %s, %d warps, %d x %d: both ways give the same registers"):format(
        name, c.warps, c.M, c.N), function()
        local mma = lutile.make_tiled_mma(name, lutile.make_layout { c.warps, 1, 1 })
        for thread = 0, lutile.size(mma) - 1, 13 do
          local slice = mma:get_slice(thread)
          local acc = lutile.make_layout(lutile.partition_shape_C(mma, { c.M, c.N }))
          local inverse = by_inverse(acc, slice, { c.M, c.N })
          assert.same(offsets(by_hand(acc)), offsets(inverse))
          local wanted = slice:partition_A(lutile.make_layout { c.M, c.N })
          assert(lutile.congruent(wanted.shape, inverse.shape))
        end
      end)
    end
  end

  it("needs other code by hand for another atom, and none by inverse", function()
    local mma = lutile.make_tiled_mma("SM80_16x8x8_F32F16F16F32_TN")
    local acc = lutile.make_layout(lutile.partition_shape_C(mma, { 16, 32 }))
    local wanted = mma:get_slice(0):partition_A(lutile.make_layout { 16, 32 }).shape
    assert.is_false(lutile.congruent(wanted, by_division(acc).shape))
    assert(lutile.congruent(wanted, by_inverse(acc, mma:get_slice(0), { 16, 32 }).shape))
  end)

  -- Real numbers: every register that A names holds the element that A wants there.
  for name in pairs(BY_HAND) do
    it("of " .. name .. " holds the right elements", function()
      local M, N = 64, 48
      local mma = lutile.make_tiled_mma(name, lutile.make_layout { 4, 1, 1 })
      local index = lutile.make_layout { M, N }
      for thread = 0, 127 do
        local slice = mma:get_slice(thread)
        local part = slice:partition_C(index)
        local acc = lutile.make_tensor("s32", part.shape)
        for i = 0, lutile.size(part) - 1 do acc[i] = part(i) end
        local operand, wanted = by_inverse(acc, slice, { M, N }), slice:partition_A(index)
        for i = 0, lutile.size(wanted) - 1 do assert.equal(wanted(i), operand(i)) end
        assert.equal(acc.data, operand.data)
      end
    end)
  end
end)

describe("acc_to_A", function()
  local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", lutile.make_layout { 4, 1, 1 })

  it("is ~C .. A, over a tensor a view of it", function()
    local acc = lutile.make_tensor("f16", lutile.partition_shape_C(mma, { 64, 32 }))
    local operand = lutile.acc_to_A(mma, acc)
    assert.equal(lutile.parse "((2,2,2),1,2):((1,2,4),0,8)", operand.layout)
    assert.equal(acc.data, operand.data)
  end)

  it("takes another atom for the second product", function()
    local first = lutile.make_tiled_mma "SM90_64x128x16_F32F16F16_SS"
    local second = lutile.make_tiled_mma "SM90_64x64x16_F32F16F16_RS"
    local acc = lutile.make_layout(lutile.partition_shape_C(first, { 64, 128 }))
    assert.equal(lutile.parse "((2,2,2),1,8):((1,2,4),0,8)",
      lutile.acc_to_A(first, acc, second))
  end)

  it("refuses what other threads hold, and says who", function()
    local s8 = lutile.make_tiled_mma("SM80_16x8x32_S32S8S8S32_TN", lutile.make_layout { 4, 1, 1 })
    local acc = lutile.make_layout(lutile.partition_shape_C(s8, { 64, 64 }))
    assert.error_matches(function() lutile.acc_to_A(s8, acc) end,
      "acc_to_A: accumulators %(%(2,2%),1,8%) of SM80_16x8x32_S32S8S8S32_TN are no operand A of "
      .. "SM80_16x8x32_S32S8S8S32_TN without an exchange: thread 0 needs value 2 of A, which is "
      .. "value 0 of thread 1; acc_exchange gives the exchange as a layout: ")
  end)

  it("refuses an A that reaches beyond the accumulators", function()
    local acc = lutile.make_layout(lutile.partition_shape_C(mma, { 64, 24 }))
    assert.error_matches(function() lutile.acc_to_A(mma, acc) end,
      "thread 0 needs value 12 of A, which lies outside of the 64 x 24 accumulators$")
    assert.error_matches(function() lutile.acc_exchange(mma, acc) end,
      "acc_exchange: 64 x 24 accumulators are no whole tiles of operand A of "
      .. "SM80_16x8x16_F32F16F16F32_TN, which are 64 x 16$")
  end)

  for name, layout in pairs {
    SM80_16x8x32_S32S8S8S32_TN = lutile.make_layout { 4, 1, 1 },
    SM80_16x8x16_F32F16F16F32_TN = lutile.make_layout { 2, 2, 1 },
    SM80_16x8x8_F32TF32TF32F32_TN = lutile.make_layout { 1, 1, 1 },
    SM89_16x8x32_F32E4M3E4M3F32_TN = lutile.make_layout { 2, 1, 1 },
  } do
    it("gives the exchange that " .. name .. " would need", function()
      local tiled = lutile.make_tiled_mma(name, layout)
      local extents = { 64, 64 }
      local acc = lutile.make_layout(lutile.partition_shape_C(tiled, extents))
      local exchange, threads = lutile.acc_exchange(tiled, acc), lutile.size(tiled)
      local index, held = lutile.make_layout(extents), {}
      for t = 0, threads - 1 do held[t] = elements(tiled:get_slice(t):partition_C(index)) end
      for t = 0, threads - 1 do
        local wanted = elements(tiled:get_slice(t):partition_A(index))
        for v = 0, #wanted do
          local from = exchange(t, v)
          assert.equal(wanted[v], held[from % threads][from // threads])
        end
      end
    end)
  end
end)

describe("acc_rowcol", function()
  it("has the thread's rows and columns as modes", function()
    local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN",
      lutile.make_layout { 2, 1, 1 })
    local slice = mma:get_slice(45)
    local coordinates = lutile.make_identity_tensor { 64, 32 }
    local acc = slice:partition_C(coordinates)
    local by_rows = lutile.acc_rowcol(lutile.make_layout(acc.shape))
    assert.equal(lutile.parse "((2,2),(2,4)):((2,4),(1,8))", by_rows)
    for i = 0, lutile.size(by_rows, 0) - 1 do
      local row = acc(by_rows(i, 0))[0]
      for j = 0, lutile.size(by_rows, 1) - 1 do
        assert.equal(row, acc(by_rows(i, j))[0])
        assert.equal(acc(by_rows(0, j))[1], acc(by_rows(i, j))[1])
      end
    end
  end)
end)
