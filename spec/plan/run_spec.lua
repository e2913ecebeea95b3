-- Plans run: on the host executor, and on a pretended device by the templates themselves, whose
-- instructions are emulated.

local cases = require "spec.plan.cases"
local support = require "spec.support.cuda"

local function as_it_is(t) return t end

describe("plan:run on the host executor", function()
  for _, list in ipairs { cases.host, cases.hopper, cases.mma_by_tma } do
    for _, case in ipairs(list) do
      it("is right for " .. cases.name(case), function()
        assert.equal("right", cases.run(case, as_it_is, as_it_is))
      end)
    end
  end
end)

local emulate = support.printed_by("spec/plan/on_emulator.lua")

describe("plan:run of emulated kernels", function()
  local it_runs = support.with_host_kernels(it, pending)

  local count = 0
  for _, list in ipairs { cases.emulated, cases.mma_by_tma } do
    for _, case in ipairs(list) do
      count = count + 1
      local line = count
      it_runs("is right for " .. cases.name(case), function()
        assert.equal(cases.name(case) .. ": right", emulate()[line])
      end)
    end
  end

  it_runs("takes tensors of the host to the device, and compiles once", function()
    assert.equal("tensors of the host: 0 wrong, 1 compiled", emulate()[count + 1])
  end)
end)

describe("plan:run on a device", function()
  local lutile = require "lutile"
  local it_runs = support.with_device(it, pending)

  local function capability()
    local d = require "lutile.cuda".device(0)
    return 10 * d.major + d.minor
  end

  for what, list in pairs { ["the sizes and types of the host's cases"] = cases.host,
    ["the cases of emulated kernels"] = cases.emulated,
    ["products by TMA and wgmma"] = cases.hopper,
    ["products by TMA and mma.sync"] = cases.mma_by_tma } do
    it_runs("is right for " .. what, function()
      local cuda = require "lutile.cuda"
      for _, case in ipairs(list) do
        if cases.is_for(case, capability()) then
          assert.equal("right", cases.run(case, function(t) return t:to(cuda) end,
            function(t) return t:to_host() end), cases.name(case))
        end
      end
    end)
  end

  it_runs("goes through many tiles of rows with all of B in shared memory", function()
    local cuda = require "lutile.cuda"
    local function random(m, n)
      local t = lutile.make_tensor("f16", lutile.make_layout({ m, n }, { n, 1 }))
      for i = 0, lutile.size(t) - 1 do t[i] = math.random(-1, 1) end
      return t:to(cuda)
    end
    local m = 40003
    for _, n in ipairs { 256, 104, 32 } do
      local A, B, layout = random(m, n), random(n, n), lutile.make_layout({ m, n }, { n, 1 })
      local S, D, wanted = cuda.tensor("f16", layout), cuda.tensor("f32", layout),
        cuda.tensor("f32", layout)
      D.data:fill(0xff)
      local p = lutile.plan.chained_gemm { A = A, B = B, D = D }
      p:run(A, B, D)
      assert.equal(0, p:kernel(0):resources().local_memory)
      lutile.plan.gemm { A = A, B = B, C = S }:run(A, B, S)
      lutile.plan.gemm { A = S, B = B, C = wanted }:run(S, B, wanted)
      local x, y, wrong = D:to_host(), wanted:to_host(), 0
      for i = 0, lutile.size(x) - 1, 11 do if x(i) ~= y(i) then wrong = wrong + 1 end end
      assert.equal(0, wrong) -- small integers are exact
    end
  end)

  it_runs("keeps registers out of memory, and agrees with multiply-adds", function()
    local cuda = require "lutile.cuda"
    local function random(m, n)
      local t = lutile.make_tensor("f16", lutile.make_layout({ m, n }, { n, 1 }))
      for i = 0, lutile.size(t) - 1 do t[i] = math.random(-8, 8) / 8 end
      return t:to(cuda)
    end
    local A, B = random(515, 776), random(1034, 776)
    local layout = lutile.make_layout({ 515, 1034 }, { 1034, 1 })
    local C, D = cuda.tensor("f32", layout), cuda.tensor("f32", layout)
    local simt = lutile.plan.gemm { A = A, B = B, C = D, template = "simt_gemm.cu" }
    for _, tile in ipairs { { 128, 256, 64 }, { 128, 128, 64 }, { 64, 64, 64 } } do
      C.data:fill(0xff)
      local p = lutile.plan.gemm { A = A, B = B, C = C, tile = tile,
        warps = tile[2] == 256 and { 2, 4 } or { 2, 2 } }
      p:run(A, B, C)
      assert.equal(0, p:kernel(0):resources().local_memory)
      simt:run(A, B, D)
      local x, y, wrong = C:to_host(), D:to_host(), 0
      for i = 0, lutile.size(x) - 1, 7 do if x(i) ~= y(i) then wrong = wrong + 1 end end
      assert.equal(0, wrong) -- sums of eighths are exact
    end
  end)
end)
