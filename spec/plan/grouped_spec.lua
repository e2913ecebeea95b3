-- Lists of products: in one launch on Hopper, one after the other elsewhere.

local lutile = require "lutile"
local cases = require "spec.plan.grouped_cases"
local support = require "spec.support.cuda"

local make_layout = lutile.make_layout

describe("plan.grouped_gemm", function()
  it("computes each product on the host executor", function()
    local groups = cases.make()
    local p = lutile.plan.grouped_gemm { groups = groups, out = "f16", arch = 80 }
    assert.truthy(tostring(p):find("a launch each: wgmma is compute capability 9.0's alone", 1,
      true))
    p:run(groups, { on = "host" })
    for _, g in ipairs(groups) do assert.equal(0, cases.count_wrong(g)) end
  end)

  it("has a plan of plan.gemm for each group by its number", function()
    local p = lutile.plan.grouped_gemm { groups = { { M = 64, N = 256, K = 64 },
      { M = 65, N = 256, K = 64 } }, dtype = "f16", arch = 80 }
    assert.equal(65, lutile.size(p:single(2).matrices.A.layout, 0))
    assert.has_error(function() p:single(3) end, "plan:single: group 3, where there are 2")
  end)

  it("is one launch on Hopper, where the matrices are alike", function()
    local p = lutile.plan.grouped_gemm { groups = cases.make(true), out = "f16", arch = 90 }
    assert.equal("gemm_sm90_grouped.cu", p.shared.template)
    assert.truthy(tostring(p):find("one launch", 1, true))
  end)

  local A, odd = make_layout({ 8, 8 }, { 8, 1 }), make_layout({ 8, 8 }, { 9, 1 })
  local along_rows = make_layout({ 8, 8 }, { 1, 8 })
  for _, case in ipairs {
    { { A = odd }, "group 2: A (8,8):(9,1): TMA takes strides of multiples of 16 bytes, and 9 "
      .. "elements have 18" },
    { { B = along_rows }, "matrices of group 2 are not contiguous along the same modes as those of "
      .. "group 1, or of other types" },
    { { A = make_layout({ 8, { 4, 2 } }, { 16, { 1, 8 } }) }, "group 2: A has several strides" },
  } do
    it("is a launch each: " .. case[2], function()
      local second = { A = A, B = A, C = A }
      for name, layout in pairs(case[1]) do second[name] = layout end
      local p = lutile.plan.grouped_gemm { groups = { { A = A, B = A, C = A }, second },
        dtype = "f16", out = "f16", arch = 90 }
      assert.is_nil(p.shared)
      assert.truthy(tostring(p):find("a launch each: " .. case[2], 1, true))
    end)
  end

  for _, case in ipairs {
    { {}, "plan.grouped_gemm: groups is a list of {A =, B =, C =}, and is a nil" },
    { { { A = A, B = A, C = A } }, "plan.grouped_gemm: a list, where options are needed: "
      .. "groups = { ... } is the list" },
    { { groups = {} }, "plan.grouped_gemm: groups is a list of {A =, B =, C =}, and is empty" },
    { { groups = { 3 } }, "plan.grouped_gemm: group 1 is a number, not a table" },
    { { groups = { { A = A, B = A, C = A, dtype = "f16" } } },
      "plan.grouped_gemm: group 1: 'dtype' is for all groups" },
    { { groups = { { A = A, B = A, C = A } }, warps = { 1, 1 } }, "plan.grouped_gemm: no option "
      .. "'warps' (there are acc, arch, beta, bias, dtype, dtype_b, epilogue, group, groups, "
      .. "host_epilogue, multiprocessors, out, ping_pong, stages, tile)" },
    { { groups = { { A = A, B = A, C = A } }, dtype = "f16", arch = 80, ping_pong = true },
      "plan.grouped_gemm: group 1: ping_pong is an option of gemm_sm90.cu, and gemm_sm80.cu is "
      .. "taken: wgmma is compute capability 9.0's alone" },
  } do
    it("refuses: " .. case[2], function()
      assert.has_error(function() lutile.plan.grouped_gemm(case[1]) end, case[2])
    end)
  end

  it("refuses at a run what is no list of tensors", function()
    local groups = cases.make()
    local p = lutile.plan.grouped_gemm { groups = groups, out = "f16", arch = 90 }
    assert.has_error(function() p:run {} end,
      "plan:run: a list of {A =, B =, C =} expected, got an empty one")
    assert.has_error(function() p:run { { A = groups[1].A, B = 3 } } end,
      "plan:run: B of group 1: a tensor expected, got number")
  end)
end)

describe("plan.grouped_gemm on a device", function()
  support.with_device(it, pending)("is right", function()
    local cuda = require "lutile.cuda"
    assert.equal("right", cases.run(function(t) return t:to(cuda) end,
      function(t) return t:to_host() end))
  end)
end)
