-- Bank conflicts of a plan's operands.

local lutile = require "lutile"
local banks = require "lutile.plan.banks"

local function every(stride, lanes)
  local offsets = {}
  for lane = 1, lanes do offsets[lane] = (lane - 1) * stride end
  return offsets
end

describe("banks.count", function()
  for _, case in ipairs {
    { every(4, 32), 4, 1, 1, why = "a word each, neighbours" },
    { every(8, 32), 4, 2, 1, why = "every other word" },
    { every(128, 32), 4, 32, 1, why = "one bank" },
    { every(0, 32), 4, 1, 1, why = "one word for all" },
    { every(2, 32), 2, 1, 1, why = "halves of words" },
    { every(16, 32), 16, 4, 4, why = "16 bytes each: 8 lanes at a time" },
    { every(128, 8), 16, 8, 1, why = "rows of 128 bytes" },
    { every(64, 8), 16, 4, 1, why = "rows of 64 bytes" },
    { every(8, 32), 8, 2, 2, why = "8 bytes each: 16 lanes at a time" },
  } do
    it(("%s: %d passes of %d"):format(case.why, case[3], case[4]), function()
      assert.same({ case[3], case[4] }, { banks.count(case[1], case[2]) })
    end)
  end
end)

local function plan(dtype, major)
  return lutile.plan.gemm { M = 1024, N = 1024, K = 1024, dtype = dtype, arch = 80,
    tile = { 128, 128, 64 }, warps = { 2, 2 }, stages = 2, a_major = major, b_major = major }
end

describe("banks.of_plan", function()
  for _, dtype in ipairs { "f16", "tf32", "s8" } do
    for _, major in ipairs { "k", "row" } do
      it(("%s, %s contiguous"):format(dtype, major), function()
        local loads = dtype == "s8" and major == "row" and 2.0 or 1.0 -- single elements
        assert.same({ ["copies of A"] = 1.0, ["copies of B"] = 1.0, ["loads of A"] = loads,
          ["loads of B"] = loads }, banks.of_plan(plan(dtype, major)))
      end)
    end
  end

  it("sees what a layout without a swizzle costs", function()
    local p = plan("f16", "k")
    p.A.shared = lutile.make_layout({ 128, 64 }, { 64, 1 })
    local ratios = banks.of_plan(p)
    assert.same({ 8.0, 1.0, 1.0 }, { ratios["loads of A"], ratios["loads of B"],
      ratios["copies of A"] })
  end)
end)
