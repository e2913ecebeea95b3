-- gemm_sm90 on a pretended device, whose TMA, barriers and warpgroup MMAs are emulated.

local cases = require "spec.plan.sm90_cases"
local plans = require "spec.plan.cases"
local support = require "spec.support.cuda"

local emulate = support.printed_by("spec/plan/on_emulator_sm90.lua", { FAKE_CUDA_CAPABILITY = 90 })

describe("gemm_sm90, emulated", function()
  local it_runs = support.with_host_kernels(it, pending)

  for i, case in ipairs(cases.emulated) do
    it_runs("is right for " .. cases.name(case), function()
      assert.equal(cases.name(case) .. ": right", emulate()[i])
    end)
  end

  for i, case in ipairs(plans.emulated_hopper()) do
    it_runs("by plan:run is right for " .. plans.name(case), function()
      assert.equal(plans.name(case) .. ": right", emulate()[#cases.emulated + i])
    end)
  end

  it_runs("is right for grouped products in one launch", function()
    local lines = emulate()
    assert.equal("grouped products: right", lines[#lines - 1])
    assert.equal("grouped products, C is copied: right", lines[#lines])
  end)
end)
