-- Which kernel template a product gets, and how gemm_sm90.cu is launched: on a pretended device.

local lutile = require "lutile"
local support = require "spec.support.cuda"

local plan, dyn, make_layout = lutile.plan, lutile.dyn, lutile.make_layout

local function gemm(changes)
  local options = { dtype = "f16", out = "f16", M = 256, N = 256, K = 256, arch = 90 }
  for name, value in pairs(changes) do options[name] = value end
  return plan.gemm(options)
end

describe("plan.gemm", function()
  for _, case in ipairs {
    { {}, "gemm_sm90.cu", why = "Hopper" },
    { { arch = 80 }, "gemm_sm80.cu", why = "Ampere" },
    { { arch = 100 }, "gemm_sm120.cu", why = "wgmma is Hopper's alone" },
    { { arch = 120, warps = { 4, 2 } }, "gemm_sm120.cu", why = "TMA and mma.sync" },
    { { arch = 121, dtype = "e4m3", dtype_b = "e5m2" }, "gemm_sm120.cu", why = "fp8 of mma.sync" },
    { { template = "gemm_sm120.cu" }, "gemm_sm120.cu", why = "Hopper has it, too" },
    { { arch = 100, dtype = "e4m3" }, "gemm_sm80.cu", why = "fp8 as f16" },
    { { arch = 120, dtype = "f64", out = "f64" }, "gemm_sm80.cu",
      why = "ldmatrix has no f64" },
    { { dtype = "bf16", out = "f32", a_major = "row", b_major = "row" }, "gemm_sm90.cu",
      why = "any major of 16 bits" },
    { { template = "gemm_sm80.cu" }, "gemm_sm80.cu", why = "asked for" },
    { { warps = { 2, 2 } }, "gemm_sm120.cu", "it has no options warps and blocks" },
    { { K = 252 }, "gemm_sm80.cu", "A (256,252):(252,1): TMA takes strides of multiples of 16 "
      .. "bytes, and 252 elements have 504" },
    { { A = make_layout({ dyn(256), dyn(256, 4) }, { dyn(256, 4), 1 }) }, "gemm_sm80.cu",
      "A (?256,?256{4}):(?256{4},1): TMA takes strides of multiples of 16 bytes, and ?256{4} "
        .. "elements have a multiple of 8" },
    { { A = make_layout({ dyn(256), dyn(256, 8) }, { dyn(256, 8), 1 }) }, "gemm_sm90.cu",
      why = "the promise is enough" },
    { { A = make_layout({ 256, 256 }, { 512, 2 }) }, "gemm_sm80.cu",
      "A (256,256):(512,2) has no contiguous mode, which TMA needs" },
    { { M = 1, K = 256 }, "gemm_sm90.cu", why = "a stride that is never taken" },
    { { tile = { 96, 64, 64 } }, "gemm_sm120.cu", "tile: 96 rows, where multiples of 128 up to "
      .. "256 there are, 64 of each of 2 warpgroups" },
    { { tile = { 96, 64, 64 }, K = 252 }, "gemm_sm80.cu", "A (256,252):(252,1): TMA takes "
      .. "strides of multiples of 16 bytes, and 252 elements have 504" },
  } do
    local changes, template, reason = table.unpack(case)
    it(("takes %s: %s"):format(template, case.why or reason), function()
      local p = gemm(changes)
      assert.equal(template, p.template)
      if reason then
        local said = ("why: %s, not gemm_sm90.cu: %s"):format(template, reason)
        assert.truthy(tostring(p):find(said, 1, true))
      end
    end)
  end

  for _, case in ipairs {
    { { K = 252 }, "A (256,252):(252,1): TMA takes strides of multiples of 16 bytes, and 252 "
      .. "elements have 504" },
    { { dtype = "f64", out = "f64" }, "ldmatrix loads no operands of f64" },
    { { dtype = "e4m3", arch = 100 }, "e4m3 is multiplied as f16 from 9.0 to 11.x, by registers of "
      .. "half a k-step, which only gemm_sm80.cu has" },
    { { dtype = "tf32", out = "f32", b_major = "row" }, "B: MMAs take f32 along k only, and it is "
      .. "contiguous along its rows" },
    { { A = make_layout({ 256, 256 }, { 512, 2 }) }, "A (256,256):(512,2) has no contiguous mode, "
      .. "which TMA needs" },
  } do
    local changes, why = table.unpack(case)
    it("takes gemm_sm80.cu, not gemm_sm120.cu: " .. why, function()
      changes.arch = changes.arch or 120
      local p = gemm(changes)
      assert.equal("gemm_sm80.cu", p.template)
      assert.truthy(tostring(p):find("why: gemm_sm80.cu, not gemm_sm120.cu: " .. why, 1, true))
      changes.template = "gemm_sm120.cu"
      assert.has_error(function() gemm(changes) end, "plan.gemm: gemm_sm120.cu: " .. why)
    end)
  end

  for _, case in ipairs {
    { "f16", 4096, "128x256x64", "2x4" }, { "f16", 4100, "128x256x64", "2x4" },
    { "f16", 4098, "128x256x32", "2x4" }, { "f16", 4097, "128x256x32", "2x8" },
    { "f16", 4097, "128x128x32", "4x4", { arch = 80 } },
    { "f16", 4097, "128x128x32", "4x4", { a_major = "row" } },
    { "f16", 4097, "128x128x32", "4x4", { arch = 100 } },
    { "f16", 4097, "128x128x32", "2x2", { warps = { 2, 2 } } },
    { "f16", 4097, "128x128x32", "2x2", { blocks = 2 } },
    { "s8", 4097, "64x64x64", "2x2", { warps = { 2, 2 }, arch = 89 } },
    { "s8", 4096, "128x128x128", "2x4", { a_major = "row", warps = { 2, 4 }, arch = 86 } },
    { "f16", 201, "64x64x32", "2x4" }, { "f16", 201, "64x64x64", "4x1", { warps = { 4, 1 } } },
    { "f16", 4097, "128x128x32", "2x4", { arch = 75 } },
    { "tf32", 4098, "128x256x32", "2x4" }, { "tf32", 4097, "128x256x16", "2x4" },
    { "s8", 4100, "128x256x64", "2x4" }, { "s8", 4098, "128x256x64", "2x8" },
    { "s8", 4097, "128x128x64", "4x4" }, { "s8", 201, "64x64x64", "2x4" },
    { "s8", 4097, "128x128x64", "4x4", { arch = 75 } },
    { "s8", 4096, "128x128x64", "2x2", { a_major = "row", template = "gemm_sm80.cu" } },
    { "e4m3", 4100, "128x128x64", "2x2" }, { "e4m3", 4097, "128x128x64", "4x4" },
  } do
    local dtype, n, tile, warps, changes = table.unpack(case)
    local list = {}
    for name, x in pairs(changes or {}) do
      list[#list + 1] = (", %s %s"):format(name, type(x) == "table" and table.concat(x, "x") or x)
    end
    table.sort(list)
    it(("copies %s of %d^3 by few copies of a thread%s"):format(dtype, n, table.concat(list)),
      function()
        local options = { M = n, N = n, K = n, dtype = dtype, template = "gemm_sm80.cu",
          multiprocessors = 132, out = ({ s8 = "s32", tf32 = "f32" })[dtype] or "f16" }
        for name, x in pairs(changes or {}) do options[name] = x end
        local p = gemm(options)
        assert.equal(tile, table.concat(p.tile, "x"))
        assert.equal(warps, table.concat(p.warps, "x"))
      end)
  end

  it("says what speaks against each tile, and which it takes all the same", function()
    local function reasons(changes)
      local options = { M = 4097, N = 1000, K = 17, arch = 80, multiprocessors = 108 }
      for name, x in pairs(changes) do options[name] = x end
      return "\n" .. table.concat(gemm(options).reasons, "\n") .. "\n"
    end
    local function says(text, line)
      assert.truthy(text:find("\n" .. line .. "\n", 1, true), text)
    end
    local ragged = reasons {}
    says(ragged, "tile 128x256x32 by 2x8 warps: a thread has registers for that on 9.0, where A "
      .. "and B are contiguous along K")
    says(ragged, "tile 128x128x32 by 2x2 warps: a thread would make 32 copies of 2 bytes of A, "
      .. "where 16 are the most")
    says(ragged, "tile 128x128x32 by 4x4 warps, 3 stages")
    local small = reasons { M = 17, N = 17, dtype = "s8", out = "s32" }
    says(small, "tile 64x64x64 by 2x4 warps: 1 block, fewer than the 108 multiprocessors")
    says(small, "tile 128x128x64 by 2x2 warps: a thread would make 64 copies of 1 byte of A, where "
      .. "32 are the most")
    says(small, "tile 64x64x64 by 2x4 warps, 3 stages: the best of these")
    says(reasons { dtype = "e4m3", dtype_b = "e5m2", arch = 90 }, "e4m3 and e5m2 are multiplied as "
      .. "f16: mma.sync has fp8 for 8.9, and from 12.0 on")
    assert.is_nil(reasons { dtype = "e4m3", arch = 89 }:find "multiplied as")
  end)

  it("asks NVVM for its least effort where kernels are as fast by that", function()
    local function is_asked(changes)
      local options = { M = 4096, N = 4096, K = 4096, multiprocessors = 132 }
      for name, x in pairs(changes) do options[name] = x end
      local p = gemm(options)
      local list = table.concat(p:compile_options(nil, p.arch).options, " ")
      assert.truthy(list:find "^%-%-minimal")
      return list:find("--Ofast-compile=min --ptxas-options=--Ofast-compile=0", 1, true) ~= nil
    end
    local in_turn = { tile = { 128, 192, 64 }, ping_pong = true }
    assert.is_true(is_asked(in_turn))
    for name, x in pairs { bias = "row", beta = true, epilogue = "-x", splits = 2,
      scales = true } do
      assert.is_false(is_asked { tile = in_turn.tile, ping_pong = true, [name] = x }, name)
    end
    assert.is_false(is_asked {})
    local function sm80(changes)
      changes.template, changes.arch = "gemm_sm80.cu", changes.arch or 80
      return is_asked(changes)
    end
    assert.is_false(sm80 { a_major = "row" })
    assert.is_false(sm80 { dtype = "tf32", out = "f32" })
    assert.is_true(sm80 { dtype = "tf32", out = "f32", a_major = "row" })
    assert.is_false(sm80 { dtype = "tf32", out = "f32", a_major = "row", arch = 120 })
    assert.is_true(sm80 { dtype = "s8", out = "s32", b_major = "row" })
    assert.is_false(sm80 { dtype = "s8", out = "s32", b_major = "row", warps = { 4, 4 } })
    assert.is_false(sm80 { dtype = "e4m3", b_major = "row", arch = 90 })
    assert.is_false(sm80 { dtype = "f64", out = "f64", b_major = "row" })
  end)

  for _, case in ipairs {
    { { stages = 5 }, "128x176x64", true, "128x256: 5 stages need 278608 bytes" },
    { { stages = 9 }, "64x64x64", false, "128x256: 9 stages need 475280 bytes" },
    { { stages = 5, M = dyn(256) }, "128x176x64", true, "128x256: 5 stages need 278608 bytes" },
    { { ping_pong = true }, "128x176x64", true },
    { { ping_pong = false, dtype = "e4m3" }, "128x256x128", false },
    { { ping_pong = true, stages = 8 }, "64x128x64", true, "128x176: 8 stages need " },
    { { cluster = { 1, 8 }, stages = 6 }, "128x128x64", true, "128x256: 6 stages need " },
    { { promote = 4 }, "128x128x64", false },
    { { promote = 4, ping_pong = true }, "64x128x64", true, "128x192: tile: 418 registers, " },
    { { promote = 4, stages = 8 }, "64x128x64", false, "128x128: 8 stages need " },
  } do
    local changes, tile, in_turn, obstacle = table.unpack(case)
    local names = {}
    for name, x in pairs(changes) do
      names[#names + 1] = name .. " = " .. (type(x) == "table" and "{...}" or tostring(x))
    end
    table.sort(names)
    it(("takes tiles of %s where %s"):format(tile, table.concat(names, ", ")), function()
      local sizes = { M = 4096, N = 4096, K = 4096, multiprocessors = 132 }
      for name, x in pairs(changes) do sizes[name] = x end
      local p = gemm(sizes)
      assert.equal(tile, table.concat(p.tile, "x"))
      assert.equal(in_turn, p.ping_pong)
      local text = tostring(p)
      assert.truthy(text:find(("why: tile %dx%d, %s"):format(p.tile[1], p.tile[2],
        in_turn and "consumers take turns" or p.consumers == 1 and "one consumer"
        or "consumers share each"), 1, true))
      assert.equal(obstacle ~= nil, text:find("why: not tile ", 1, true) ~= nil)
      if obstacle then assert.truthy(text:find("why: not tile " .. obstacle, 1, true)) end
    end)
  end

  it("takes another tile for a list of products, too, if options want it", function()
    local group = { M = 4096, N = 4096, K = 4096 }
    local options = { groups = { group, group }, dtype = "f16", out = "f16", arch = 90 }
    assert.same({ 128, 256, 64 }, plan.grouped_gemm(options).shared.tile)
    options.stages = 6
    assert.same({ 128, 128, 64 }, plan.grouped_gemm(options).shared.tile)
    options.stages, options.ping_pong = nil, true
    local shared = plan.grouped_gemm(options).shared
    assert.same({ 128, 192, 64 }, shared.tile)
    assert.is_true(shared.ping_pong)
  end)

  it("takes the usual tile for a list of products whose N or K comes with the launch", function()
    local function shared(group, more)
      local options = { groups = { group }, dtype = "f16", out = "f16", arch = 90 }
      for name, x in pairs(more or {}) do options[name] = x end
      return plan.grouped_gemm(options).shared
    end
    for _, group in ipairs { { M = 64, N = dyn(64), K = 128 }, { M = 64, N = 64, K = dyn(128, 8) },
      { M = dyn(64), N = 64, K = 128 } } do
      assert.same({ 128, 256, 64 }, shared(group).tile)
    end
  end)

  it("groups tiles by the clusters that a script wants", function()
    local sizes = { M = 8192, N = 8192, K = 8192, multiprocessors = 132 }
    sizes.cluster = { 1, 1 }
    assert.equal(16, gemm(sizes).group)
    sizes.cluster, sizes.ping_pong = { 2, 1 }, nil
    assert.equal(12, gemm(sizes).group)
    sizes.cluster, sizes.ping_pong = { 1, 1 }, false
    assert.equal(1500, gemm(sizes).skew)
    sizes.cluster = { 2, 1 }
    assert.equal(0, gemm(sizes).skew)
  end)

  it("says what no tile can have", function()
    assert.error_matches(function() gemm { stages = 60, template = "gemm_sm90.cu" } end,
      "^plan.gemm: gemm_sm90.cu: 60 stages need %d+ bytes of shared memory, where a block has ")
  end)

  for _, case in ipairs {
    { 512, 512, 512, "64x32x64", true }, { 1024, 1024, 1024, "64x128x64", true },
    { 2048, 2048, 2048, "128x256x64", true },
    { 4096, 4096, 4096, "128x256x64", true, cluster = 2, group = 8 },
    { 4000, 8192, 16384, "128x256x64", false, cluster = 2, group = 8 },
    { 4096, 14336, 4096, "128x176x64", false, cluster = 2, group = 8 },
    { 3968, 8192, 16384, "128x256x64", false, skew = 1500 },
    { 8192, 8192, 8192, "128x192x64", false, cluster = 2, group = 12 },
    { 8192, 8192, 1024, "128x192x64", true, group = 32 },
    { 4000, 4100, 4104, "256x128x64", true, cluster = 2, group = 8 },
    { 128, 8192, 8192, "64x128x64", true, cluster = 2, group = 8 },
    { 16, 8192, 8192, "64x64x64", true, most_rows = 16 },
  } do
    local m, n, k, tile, is_dependent = table.unpack(case)
    it(("takes tiles of %s for %dx%dx%d on an H200"):format(tile, m, n, k), function()
      local p = gemm { M = m, N = n, K = k, multiprocessors = 132 }
      assert.equal(tile, table.concat(p.tile, "x"))
      assert.equal(is_dependent, p.dependent)
      assert.equal(case.skew or 0, p.skew)
      assert.equal(case.cluster or 1, p.cluster[1])
      assert.equal(case.group or 16, p.group)
      assert.equal(case.most_rows, p.most_rows)
    end)
  end

  for _, case in ipairs {
    { { K = 256, beta = 1 }, "192x128x64", false },
    { { K = 1024, beta = 1, dtype = "e4m3" }, "192x128x128", false },
    { { K = 128, dtype = "s8", out = "s32", beta = 1 }, "128x192x128", false },
    { { K = 1024, dtype = "s8", out = "s32", beta = 1 }, "128x192x128", false },
    { { K = 512, dtype = "tf32", out = "f32" }, "128x192x32", true },
    { { K = 512, dtype = "tf32", out = "f32", beta = 1 }, "128x192x32", true },
    { { K = 1024, dtype = "tf32", out = "f32" }, "128x192x32", true, cluster = 2, group = 12 },
    { { K = 512, dtype = "e4m3" }, "128x128x128", true, group = 32 },
    { { K = 2048, beta = 1 }, "128x192x64", true, cluster = 2, group = 12 },
    { { M = 4096, N = 14336, K = 4096, beta = 1 }, "128x176x64", true, cluster = 2, group = 8 },
  } do
    local changes, tile, in_turn = table.unpack(case)
    local names = {}
    for name, x in pairs(changes) do names[#names + 1] = name .. " = " .. tostring(x) end
    table.sort(names)
    local all = table.concat(names, ", ")
    it(("takes tiles of %s where writing takes longer: %s"):format(tile, all), function()
      local options = { M = 8192, N = 8192, multiprocessors = 132 }
      for name, x in pairs(changes) do options[name] = x end
      local p = gemm(options)
      assert.equal(tile, table.concat(p.tile, "x"))
      assert.equal(in_turn, p.ping_pong)
      assert.equal(case.cluster or 1, p.cluster[1])
      if case.group then assert.equal(case.group, p.group) end
    end)
  end

  it("takes the same tiles for 8192^3 of all majors", function()
    for _, majors in ipairs { { "row", "k" }, { "row", "row" }, { "k", "row" } } do
      local p = gemm { M = 8192, N = 8192, K = 8192, multiprocessors = 132, a_major = majors[1],
        b_major = majors[2] }
      assert.equal("128x192x64", table.concat(p.tile, "x"))
      assert.same({ 2, 1 }, p.cluster)
      assert.equal(12, p.group)
    end
  end)

  it("takes tiles of whole lines where rows of B or a cluster ask for them", function()
    for _, changes in ipairs { { b_major = "row" }, { cluster = { 4, 1 } } } do
      changes.M, changes.N, changes.K, changes.multiprocessors = 4096, 14336, 4096, 132
      assert.equal("128x256x64", table.concat(gemm(changes).tile, "x"))
    end
  end)

  it("has sums of a run beside the others, in tiles that leave room for both", function()
    for _, n in ipairs { 256, 4096, 14336 } do
      local p = plan.gemm { dtype = "e4m3", out = "f16", M = n, N = n, K = 4096, arch = 90,
        promote = 4 }
      assert.equal("gemm_sm90.cu", p.template)
      assert.same({ 128, 128, 128 }, p.tile)
    end
  end)

  it("gives long times in milliseconds", function()
    local p = gemm { M = 65536, N = 65536, K = 16384, multiprocessors = 132 }
    assert.matches(": %d%d%d?%.%d ms on 132 multiprocessors, by the model$", p.reasons[#p.reasons])
  end)

  it("says what the model has chosen, and how long it takes where it has chosen all", function()
    local function reason(options)
      options.M, options.N, options.K, options.multiprocessors = 4096, 4096, 4096, 132
      local p = gemm(options)
      return p.reasons[#p.reasons]
    end
    assert.matches("^tile 128x256, consumers share each, in clusters of 2x1: %d+ us on 132 "
      .. "multiprocessors, by the model$", reason {})
    assert.equal("tile 128x256, consumers share each, in clusters of 2x1", reason { stages = 3 })
    assert.equal("tile 128x256, consumers share each, in clusters of 2x1, in up to 9 parts along K",
      reason { splits = 9 })
    assert.matches("^tile 64x128, one consumer", reason { promote = 4, stages = 8 })
    local mma_sync = { template = "gemm_sm80.cu", warps = { 4, 2 }, stages = 2 }
    assert.matches("by 4x2 warps, 2 stages", reason(mma_sync), 1, true)
  end)

  it("names the modes along which matrices are contiguous as the script does", function()
    local p = gemm { C = make_layout({ 256, 256 }, { 1, 256 }), a_major = "row" }
    local text = tostring(p)
    assert.truthy(text:find("A (256,256):(1,256): contiguous along M, by TMA", 1, true))
    assert.truthy(text:find("B (256,256):(256,1): contiguous along K, by TMA", 1, true))
    assert.truthy(text:find("C (256,256):(1,256): contiguous along M, by TMA", 1, true))
    text = tostring(gemm { template = "gemm_sm80.cu", b_major = "row" })
    assert.truthy(text:find("A (256,256):(256,1): contiguous along K, 16 bytes at once", 1, true))
    assert.truthy(text:find("B (256,256):(1,256): contiguous along N, 16 bytes at once", 1, true))
  end)

  it("says what speaks against both templates", function()
    assert.has_error(function() gemm { tile = { 100, 100, 64 } } end, "plan.gemm: "
      .. "gemm_sm90.cu: tile: 100 columns, where multiples of 16 from 32 to 256 there are; "
      .. "gemm_sm80.cu: M of the tile is 100: a multiple of 32 is needed, by the atom and the "
      .. "warps")
  end)

  it("says what speaks against an option of gemm_sm90.cu, and not that it is none of the other's",
    function()
      for message, options in pairs {
        ["cluster: 3x3, where one of the two is 1"] = { cluster = { 3, 3 } },
        ["tile: 100 columns, where multiples of 16 from 32 to 256 there are"] =
          { tile = { 100, 100, 64 }, cluster = { 2, 1 } },
        ["A (256,4):(4,1): TMA takes strides of multiples of 16 bytes, and 4 elements have 8"] =
          { K = 4, splits = 2 },
      } do
        assert.has_error(function() gemm(options) end, "plan.gemm: gemm_sm90.cu: " .. message)
      end
    end)

  it("refuses a C whose elements share places", function()
    assert.has_error(function() gemm { C = make_layout({ 256, 256 }, { 0, 1 }) } end,
      "plan.gemm: C (256,256):(0,1) has several elements in one place")
  end)

  it("is compiled for its own capability where there is no device", function()
    if not require "lutile.cuda".available() then
      assert.equal("sm_90a", gemm({}):compile_options().arch)
      assert.equal("sm_80", gemm({ arch = 80 }):compile_options().arch)
      assert.equal("sm_86", gemm({ arch = 80 }):compile_options(nil, "sm_86").arch)
    end
  end)

  it("divides tiles along k where there are few", function()
    local p = gemm { M = 256, N = 256, K = 4096, multiprocessors = 132 }
    assert.equal(8, p.splits)
  end)

  it("takes eight warps for a tile whose sums four have no registers for", function()
    for tile, warps in pairs { ["64x64"] = "2x2", ["128x128"] = "2x2", ["128x256"] = "2x4",
      ["256x128"] = "4x2", ["160x128"] = "2x4", ["192x128"] = "4x2", ["64x96"] = "2x2" } do
      local m, n = tile:match "(%d+)x(%d+)"
      local p = gemm { M = 4096, N = 4096, K = 4096, template = "gemm_sm80.cu",
        tile = { math.tointeger(m), math.tointeger(n), 64 }, stages = 2 }
      assert.equal(warps, table.concat(p.warps, "x"))
    end
  end)

  it("has threads copy ends of rows only where those may end within 16 bytes", function()
    local function ends_in_units(n) return gemm { M = 64, N = n, K = 64 }.D.ends_in_units end
    assert.is_true(ends_in_units(4096))
    assert.is_true(ends_in_units(lutile.dyn(4096, 8)))
    assert.is_false(ends_in_units(lutile.dyn(4096)))
    assert.is_false(ends_in_units(4100))
    local by_threads = make_layout({ 64, 64 }, { 66, 1 })
    assert.is_false(gemm { M = 64, N = 64, K = 64, C = by_threads }.D.ends_in_units)
  end)

  it("knows no sizes that come with the launch", function()
    local l = make_layout({ dyn(16), dyn(16, 8) }, { dyn(16, 8), 1 })
    local p = plan.gemm { A = l, B = l, C = l, dtype = "f16", out = "f16", arch = 90 }
    assert.same({ 128, 256, 64 }, p.tile)
    assert.equal(1, p.splits)
  end)

  it("says why the template that is asked for cannot be", function()
    assert.has_error(function() gemm { template = "gemm_sm90.cu", K = 252 } end,
      "plan.gemm: gemm_sm90.cu: A (256,252):(252,1): TMA takes strides of multiples of 16 bytes, "
        .. "and 252 elements have 504")
    assert.has_error(function() gemm { template = "gemm_sm90.cu", arch = 80 } end,
      "plan.gemm: gemm_sm90.cu: wgmma is compute capability 9.0's alone")
    assert.has_error(function() gemm { template = "gemm_sm91.cu" } end,
      "plan.gemm: template is 'gemm_sm91.cu': gemm_sm90.cu, gemm_sm120.cu, gemm_sm80.cu and "
        .. "simt_gemm.cu there are")
    assert.has_error(function() gemm { template = "gemm_sm120.cu", arch = 89 } end,
      "plan.gemm: gemm_sm120.cu: TMA is for compute capability 9.0 and newer")
    assert.has_error(function() gemm { arch = 120, tile = { 100, 64, 64 } } end,
      "plan.gemm: M of the tile is 100: a multiple of 32 is needed, by the atom and the warps")
  end)

  it("refuses at a run what TMA would not take", function()
    local l = make_layout({ dyn(16), dyn(16, 8) }, { dyn(16, 8), 1 })
    local p = plan.gemm { A = l, B = l, C = l, dtype = "f16", out = "f16", arch = 90 }
    local function tensor(stride)
      return lutile.make_tensor("f16", make_layout({ 16, 16 }, { stride, 1 }))
    end
    assert.has_error(function() p:run(tensor(20), tensor(16), tensor(16)) end,
      "plan:run: A (16,16):(20,1): TMA takes strides of multiples of 16 bytes, and 20 elements "
        .. "have 40 (a plan for this tensor would do)")
  end)

  it("refuses at a run rows of D that end within the 16 bytes of TMA, if the plan's do not",
    function()
      local function tensor(m, n, stride)
        return lutile.make_tensor("f16", make_layout({ m, n }, { stride, 1 }))
      end
      local function run(p)
        p:run(tensor(16, 16, 16), tensor(15, 16, 16), tensor(16, 15, 16))
      end
      local l = make_layout({ dyn(16), dyn(16, 8) }, { dyn(16, 8), 1 })
      local p = plan.gemm { A = l, B = l, C = l, dtype = "f16", out = "f16", arch = 90 }
      assert.has_error(function() run(p) end, "plan:run: D is (16,15):(16,1), and the kernel "
        .. "writes 16 bytes at once: the plan's (?16,?16{8}):(?16{8},1) promises that they divide "
        .. "its lines (a plan for this tensor would do)")
      local d = make_layout({ dyn(16), dyn(16) }, { dyn(16, 8), 1 })
      run(plan.gemm { A = l, B = l, C = d, dtype = "f16", out = "f16", arch = 90 })
    end)
end)

describe("plan:run", function()
  it("refuses batches where the plan is for one", function()
    local function tensor(shape, stride)
      return lutile.make_tensor("f16", make_layout(shape, stride))
    end
    local A, B = tensor({ 8, 64 }, { 64, 1 }), tensor({ 16, 64 }, { 64, 1 })
    local p = gemm { M = 8, N = 16, K = 64 }
    p:run(A, B, tensor({ 8, 16 }, { 16, 1 }))
    assert.matches("constexpr bool kBatched = false;", p:block(), 1, true)
    local C = tensor({ 8, 16, 3 }, { 16, 1, 128 })
    assert.has_error(function() p:run(A, B, C) end, "plan:run: D has 3 batches, and the plan is "
      .. "for one (a plan for these tensors would do)")
    local for_all = plan.gemm { A = A, B = B, C = C, arch = 90 }
    assert.matches("constexpr bool kBatched = true;", for_all:block(), 1, true)
    for_all:run(A, B, C)
  end)

  it("refuses more rows than the plan loads", function()
    local function tensor(m, n)
      return lutile.make_tensor("f16", make_layout({ m, n }, { n, 1 }))
    end
    local p = gemm { M = 16, N = 64, K = 64 }
    p:run(tensor(9, 64), tensor(64, 64), tensor(9, 64))
    assert.has_error(function() p:run(tensor(17, 64), tensor(64, 64), tensor(17, 64)) end,
      "plan:run: A has 17 rows, and the plan loads 16 at most (a plan for this tensor would do)")
    p = gemm { M = 16, N = 64, K = 64, tile = { 128, 64, 64 } } -- which loads whole tiles
    p:run(tensor(17, 64), tensor(64, 64), tensor(17, 64))
  end)
end)

local CHUNK = [[
local lutile = require "lutile"
local cuda = require "lutile.cuda"
local function tensor(dtype, text) return cuda.tensor(dtype, lutile.parse(text)) end
local A, B = tensor("f16", "(300,72,2):(72,1,21600)"), tensor("f16", "(200,72):(1,208)")
local C = tensor("f16", "(300,200,2):(208,1,62400)")
local p = lutile.plan.gemm { A = A, B = B, C = C, out = "f16", tile = { 128, 128, 64 },
  ping_pong = true }
p:run(A, B, C)
print(p.template, p.threads, p.shared_bytes)
local E = tensor("f16", "(300,0):(8,1)")
p = lutile.plan.gemm { A = E, B = tensor("f16", "(200,0):(8,1)"), C = C(lutile._, lutile._, 0),
  out = "f16" }
p:run(E, tensor("f16", "(200,0):(8,1)"), C(lutile._, lutile._, 0))
]]

describe("a launch of gemm_sm90.cu", function()
  support.with_fake(it, pending)("has a block for each tile, and maps of the matrices", function()
    local result = support.run_with_fake(CHUNK, { FAKE_CUDA_CAPABILITY = 90 })
    assert.equal("", result.err)
    local template, threads, shared = result.out:match "^(%S+)\t(%d+)\t(%d+)\n$"
    assert.equal("gemm_sm90.cu", template)
    for _, line in ipairs {
      "tensor map type 6 swizzle 3 promotion 2 fill 0; 72 by 0 box 64 step 1; "
        .. "300 by 144 box 128 step 1; 2 by 43200 box 1 step 1",
      "tensor map type 6 swizzle 3 promotion 2 fill 0; 200 by 0 box 64 step 1; "
        .. "72 by 416 box 64 step 1",
      "tensor map type 6 swizzle 3 promotion 2 fill 0; 200 by 0 box 64 step 1; "
        .. "300 by 416 box 64 step 1; 2 by 124800 box 1 step 1",
      ("launch 12x1x1 %sx1x1 %s"):format(threads, shared),
    } do
      assert.equal(1, support.count(result.log, line), line)
    end
  end)
end)

describe("plan.gemm for gemm_sm120.cu", function()
  local function by_tma(changes)
    changes.template = "gemm_sm120.cu"
    return gemm(changes)
  end

  for _, case in ipairs {
    { 8192, "128x256x64", 4, 1, { 24, 240 } }, { 2048, "128x128x64", 3, 2, { 24, 232 } },
    { 1024, "64x64x64", 4, 2, { 0, 0 } },
  } do
    local n, tile, stages, blocks, registers = table.unpack(case)
    it(("takes tiles of %s for %d^3 on an H200"):format(tile, n), function()
      local p = by_tma { M = n, N = n, K = n, multiprocessors = 132 }
      assert.equal(tile, table.concat(p.tile, "x"))
      assert.equal(stages, p.stages)
      assert.equal(blocks, p.blocks)
      assert.same(registers, p.registers)
      assert.equal(32 * p.warps[1] * p.warps[2] + 128, p.threads)
    end)
  end

  it("has as many stages and blocks as there is room for", function()
    local function numbers(changes)
      local p = by_tma(changes)
      return { p.stages, p.blocks, p.shared_bytes }
    end
    assert.same({ 3, 1, 3 * 32784 }, numbers { arch = 120, M = 4096, N = 4096 })
    assert.same({ 3, 2, 3 * 16400 }, numbers { arch = 120, multiprocessors = 132 })
    assert.same({ 3, 2, 3 * 16400 }, numbers { arch = 120, blocks = 2, M = 4096, N = 4096 })
    assert.same({ 3, 2, 3 * 32784 }, numbers { tile = { 128, 128, 64 }, blocks = 2 })
    assert.same({ 4, 1, 4 * 32784 }, numbers { tile = { 128, 128, 64 } })
    assert.has_error(function() by_tma { tile = { 128, 128, 64 }, blocks = 2, stages = 4 } end,
      "plan.gemm: gemm_sm120.cu: blocks: 2 of 131136 bytes of shared memory each, where a "
        .. "multiprocessor has room for 1")
    assert.has_error(function() by_tma { tile = { 128, 256, 64 }, warps = { 2, 2 } } end,
      "plan.gemm: gemm_sm120.cu: 256 registers of sums and 48 of A and B for a thread of 2x2 "
        .. "warps, which has 255 (a smaller tile, more warps or fewer blocks)")
  end)

  for message, changes in pairs {
    ["blocks: 4 of 512 threads each, where a multiprocessor of compute capability 12.0 has 1536"] =
      { arch = 120, tile = { 64, 96, 32 }, warps = { 2, 6 }, blocks = 4, stages = 2 },
    ["192 registers of sums and 40 of A and B for a thread of 2x2 warps, which has 255 (a smaller "
      .. "tile, more warps or fewer blocks)"] = { tile = { 128, 192, 32 }, warps = { 2, 2 } },
    ["72 registers of sums and 24 of A and B for a thread of 2x1 warps, which has 96 (a smaller "
      .. "tile, more warps or fewer blocks)"] =
      { tile = { 96, 48, 64 }, warps = { 2, 1 }, blocks = 3, stages = 2 },
    ["64 registers of sums and 24 of A and B for a thread of 2x4 warps, which has 104 (a smaller "
      .. "tile, more warps or fewer blocks)"] =
      { tile = { 128, 128, 32 }, warps = { 2, 4 }, blocks = 2 },
    ["a tile (8,32) of B has 512 bytes, which must be a multiple of 1024"] =
      { tile = { 64, 8, 32 }, warps = { 2, 1 } },
    ["tile: 96x64x64 by 3x1 warps cannot be laid out (powers of two can): composition: shape 3 "
      .. "does not divide mode 0 (32:1) of (32,3,64):(1,2048,32) o (2,4,(2,2),3):(96,192,(8,768),"
      .. "16); the nearest that would: 2 and 4"] =
      { tile = { 96, 64, 64 }, warps = { 3, 1 }, a_major = "row" },
  } do
    it("refuses: " .. message, function()
      assert.has_error(function() by_tma(changes) end, "plan.gemm: gemm_sm120.cu: " .. message)
    end)
  end

  it("is for batches as it was planned", function()
    local function tensor(batches)
      return lutile.make_tensor("f16", make_layout({ 32, 32, batches }, { 32, 1, 1024 }))
    end
    local one, two = tensor(1), tensor(2)
    local p = plan.gemm { A = one, B = two, C = two, out = "f16", arch = 90,
      template = "gemm_sm120.cu" }
    p:run(one, two, two, { D = tensor(2) })
    assert.has_error(function() p:run(two, two, two, { D = tensor(2) }) end, "plan:run: A has 2 "
      .. "batches of 2, and the plan is for one (a plan for these tensors would do)")
  end)
end)

describe("plan.gemm for gemm_sm80.cu", function()
  local function planned(changes)
    local o = { M = 4096, N = 4096, K = 4096, dtype = "f16", arch = 80 }
    for name, x in pairs(changes) do o[name] = x end
    return lutile.plan.gemm(o)
  end

  for _, case in ipairs {
    { { stages = 4 }, "128x128x64", 4, 1 }, { { stages = 4, arch = 86 }, "128x128x32", 4, 1 },
    { { tile = { 256, 256, 64 }, acc = "f16" }, "256x256x64", 2, 1 },
    { { warps = { 2, 2 } }, "128x128x64", 3, 1 }, { { warps = { 1, 1 } }, "64x64x64", 3, 2 },
    { { warps = { 8, 4 } }, "128x256x64", 3, 1 }, { { warps = { 4, 8 }, arch = 90,
      template = "gemm_sm80.cu", M = 2048, N = 2048, K = 2048 }, "128x128x64", 3, 1 },
    { { blocks = 3, arch = 90, template = "gemm_sm80.cu" }, "64x64x64", 3, 3 },
    { { tile = { 64, 64, 64 }, blocks = 2, warps = { 4, 8 }, arch = 90,
      template = "gemm_sm80.cu" }, "64x64x64", 3, 2 },
    { { tile = { 128, 256, 64 }, arch = 86 }, "128x256x64", 2, 1 },
    { { M = 64, arch = 86 }, "64x64x64", 3, 2 }, { { arch = 86 }, "128x128x64", 3, 1 },
  } do
    it(("takes tiles of %s, %d stages, %d blocks: what is given and what fits"):format(case[2],
      case[3], case[4]), function()
      local p = planned(case[1])
      assert.equal(case[2], table.concat(p.tile, "x"))
      assert.same({ case[3], case[4] }, { p.stages, p.blocks })
    end)
  end

  for message, changes in pairs {
    ["plan.gemm: blocks: 4 of 147456 bytes of shared memory each, where a multiprocessor has room "
      .. "for 1"] = { tile = { 128, 256, 64 }, blocks = 4 },
    ["plan.gemm: gemm_sm80.cu: C of e4m3 needs compute capability 8.9, and the plan is for 8.0"] =
      { out = "e4m3", template = "gemm_sm80.cu" },
    ["plan.gemm: copies of 1 elements by 128 threads do not make up a tile (160,16) of A: extents "
      .. "that are powers of two do"] =
      { dtype = "tf32", M = dyn(4096), a_major = "row", tile = { 160, 32, 16 } },
    ["plan.gemm: M is 3000000000, where 2147483136 is the most"] = { M = 3000000000 },
    ["plan.gemm: 256 registers of sums and 48 of A and B for a thread of 2x4 warps, which has 255 "
      .. "(a smaller tile, more warps or fewer blocks)"] =
      { tile = { 256, 256, 64 } },
    ["plan.gemm: template is a text of 1000 letters"] = { template = ("x"):rep(1000) },
    ["plan.gemm: host_epilogue does on the host what an epilogue does on a device, and there is "
      .. "none"] = { host_epilogue = function(x) return x end },
  } do
    it("refuses: " .. message, function()
      assert.has_error(function() planned(changes) end, message)
    end)
  end

  it("refuses tiles that cannot be laid out", function()
    assert.error_matches(function() planned { tile = { 160, 176, 32 } } end, "^plan.gemm: tile: "
      .. "160x176x32 by 2x2 warps cannot be laid out %(powers of two can%): ")
  end)

  it("chooses a tile that so many blocks of warps that are given can have", function()
    assert.same({ 64, 64, 32 }, planned({ blocks = 4 }).tile)
    assert.same({ 1, 2 }, planned({ M = 37, N = 41, K = 50, warps = { 1, 2 },
      a_major = "row" }).warps)
  end)

  it("takes a number for beta, which is the run's where that says nothing else", function()
    local A = lutile.make_tensor("f16", lutile.make_layout({ 8, 8 }, { 8, 1 }))
    local C = lutile.make_tensor("f32", lutile.make_layout({ 8, 8 }, { 8, 1 }))
    for i = 0, 63 do A[i], C[i] = 1, 10 end
    local p = lutile.plan.gemm { A = A, B = A, C = C, beta = 2, arch = 80 }
    p:run(A, A, C, { on = "host" })
    assert.equal(28.0, C[5])
    p:run(A, A, C, { on = "host", beta = 1 })
    assert.equal(36.0, C[5])
    assert.truthy(tostring(p):find("beta = 2", 1, true))
  end)
end)
