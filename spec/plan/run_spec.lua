-- Plans run: on the host executor, and on a pretended device by the templates themselves, whose
-- instructions are emulated.

local cases = require "spec.plan.cases"
local support = require "spec.support.cuda"

local function as_it_is(t) return t end

describe("plan:run on the host executor", function()
  for _, case in ipairs(cases.host) do
    it("is right for " .. cases.name(case), function()
      assert.equal("right", cases.run(case, as_it_is, as_it_is))
    end)
  end
end)

describe("plan:run of emulated kernels", function()
  local has_all = support.has_fake and support.has_program "g++"
  local lines = {}

  if has_all then
    setup(function()
      local result = support.run_with_fake('package.path = "./?.lua;" .. package.path\n'
        .. 'dofile "spec/plan/on_emulator.lua"')
      for line in result.out:gmatch "[^\n]+" do lines[#lines + 1] = line end
      assert.equal("", result.err)
    end)
  end

  local it_moves = has_all and it or function(name) pending(name .. " (no g++)") end
  it_moves("takes tensors of the host to the device, and compiles once", function()
    assert.equal("tensors of the host: 0 wrong, 1 compiled", lines[#lines])
  end)

  for i, case in ipairs(cases.emulated) do
    if has_all then
      it("is right for " .. cases.name(case), function()
        assert.equal(cases.name(case) .. ": right", lines[i])
      end)
    else
      pending("is right for " .. cases.name(case) .. " (no g++, or nothing to pretend with)")
    end
  end
end)
