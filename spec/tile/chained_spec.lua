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
