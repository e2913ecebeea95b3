-- gemm_sm90 on a pretended device, whose TMA, barriers and warpgroup MMAs are emulated.

local cases = require "spec.plan.sm90_cases"
local support = require "spec.support.cuda"

local emulated -- the lines that on_emulator_sm90.lua prints

local function emulate()
  if emulated then return emulated end
  local result = support.run_with_fake('package.path = "./?.lua;" .. package.path\n'
    .. 'dofile "spec/plan/on_emulator_sm90.lua"')
  assert.equal("", result.err)
  emulated = {}
  for line in result.out:gmatch "[^\n]+" do emulated[#emulated + 1] = line end
  return emulated
end

describe("gemm_sm90, emulated", function()
  local it_runs = support.with_host_kernels(it, pending)

  for i, case in ipairs(cases.emulated) do
    it_runs("is right for " .. cases.name(case), function()
      assert.equal(cases.name(case) .. ": right", emulate()[i])
    end)
  end
end)
