-- Plans for simt_gemm.cu: for all element types, where tensor cores cannot and where they are asked
-- for; run on the host executor, on the emulator and on a device.

local lutile = require "lutile"
local cases = require "spec.plan.simt_cases"
local support = require "spec.support.cuda"

local plan, make_layout, make_tensor = lutile.plan, lutile.make_layout, lutile.make_tensor

local function gemm(changes)
  local options = { M = 64, N = 48, K = 32, dtype = "f32", arch = 80 }
  for name, x in pairs(changes or {}) do options[name] = x end
  return plan.gemm(options)
end

local function as_it_is(t) return t end

local function tensor(dtype, m, n, x)
  local t = make_tensor(dtype, make_layout { m, n })
  lutile.fill(t, x or 0)
  return t
end

local emulate = support.printed_by("spec/plan/on_emulator_simt.lua")

describe("products by multiply-adds", function()
  local it_emulates = support.with_host_kernels(it, pending)
  local it_runs = support.with_device(it, pending)

  for i, case in ipairs(cases.all) do
    local name, run = table.unpack(case)
    it("are right on the host executor: " .. name, function()
      assert.equal("right", run(as_it_is, as_it_is))
    end)

    it_emulates("are right on the emulator: " .. name, function()
      assert.equal(name .. ": right", emulate()[i])
    end)

    it_runs("are right on a device: " .. name, function()
      local cuda = require "lutile.cuda"
      assert.equal("right", run(function(t) return t:to(cuda) end,
        function(t) return t:to_host() end))
    end)
  end
end)

-- ---- Which template ----------------------------------------------------------------------------

describe("plan.gemm", function()
  local with_tf32 = make_tensor("tf32", make_layout({ 64, 32 }, { 32, 1 }))

  for why, options in pairs {
    ["no tensor-core product of f32 and f32 (there are "] = {},
    ["no tensor-core product of f16 and bf16 (there are "] = { dtype = "f16", dtype_b = "bf16" },
    ["no tensor-core product of c64 and c64 (there are "] = { dtype = "c64" },
    ["no tensor-core product of s16 and s16 (there are "] = { dtype = "s16" },
    ["bf16 products need compute capability 8.0, and the plan is for 7.5"] =
      { dtype = "bf16", arch = 75 },
    ["C of bf16 needs compute capability 8.0, and the plan is for 7.5"] =
      { dtype = "f16", out = "bf16", arch = 75 },
    ["lutile has atoms of u8 products from compute capability 8.0 on, and the plan is for 7.5"] =
      { dtype = "u8", arch = 75 },
    ["tensor-core kernels need compute capability 7.5, and arch is 7.0"] =
      { dtype = "f16", arch = 70 },
    ["no tensor-core template writes C of s16"] = { dtype = "s8", out = "s16" },
    ["no tensor-core template writes C of tf32"] = { dtype = "tf32", out = "tf32" },
    ["sums of f16 products on tensor cores are not f64"] = { dtype = "f16", acc = "f64" },
    ["A has elements of tf32, where tensor-core templates take f32 and round it"] =
      { A = with_tf32, dtype = "tf32" },
  } do
    it("takes simt_gemm.cu: " .. why, function()
      local p = gemm(options)
      assert.equal("simt_gemm.cu", p.template)
      assert.matches("\nwhy: simt_gemm.cu, multiply-adds: " .. why, tostring(p), 1, true)
      local changes = { template = "gemm_sm80.cu" }
      assert.error_matches(function() p:with(changes) end, "gemm_sm80.cu: " .. why, 1, true)
    end)
  end

  it("takes it for any types where it is asked for", function()
    for dtype, sums in pairs { f16 = "f32", e5m2 = "f32", tf32 = "f32", f64 = "f64", s8 = "s32" } do
      local p = gemm { dtype = dtype, template = "simt_gemm.cu", arch = 90 }
      assert.equal("simt_gemm.cu", p.template)
      assert.equal(("gemm: %s x %s -> %s, sums of %s, by multiply-adds, simt_gemm.cu"):format(dtype,
        dtype, sums, sums), p:report():match "^[^\n]*")
      assert.is_nil(p:report():find("why: simt", 1, true))
    end
  end)

  it("leaves to tensor cores what they take", function()
    for _, arch in ipairs { 75, 80, 90, 120 } do
      assert.not_equal("simt_gemm.cu", gemm { dtype = "f16", arch = arch }.template)
    end
  end)

  for types, sums in pairs { ["f16 s8"] = "f32", ["s4 b1"] = "s32", ["s32 f32"] = "f32",
    ["f64 f32"] = "f64", ["s16 f64"] = "f64", ["f32 c64"] = "c64", ["ue8m0 e2m1"] = "f32" } do
    it("sums up " .. types .. " as " .. sums, function()
      local a, b = types:match "(%w+) (%w+)"
      assert.equal(sums, gemm { dtype = a, dtype_b = b }.acc)
    end)
  end

  for message, options in pairs {
    ["plan.gemm: dtype cannot be f8: b1, bf16, c64, e2m1, e2m3, e3m2, e4m3, e5m2, f16, f32, f64, "
      .. "s16, s32, s4, s8, tf32, u4, u8, ue4m3, ue8m0 there are"] = { dtype = "f8" },
    ["plan.gemm: dtype cannot be e4m3fnuz: b1, bf16"] = { dtype = "e4m3fnuz" },
    ["plan.gemm: dtype_b cannot be gc64: b1, bf16"] = { dtype_b = "gc64" },
    ["plan.gemm: C cannot be f8: b1, bf16"] = { out = "f8" },
    ["plan.gemm: C of f32 cannot be where sums are of c64"] = { dtype = "c64", out = "f32" },
    ["plan.gemm: C of c64 cannot be where sums are of f32"] = { out = "c64" },
    ["plan.gemm: sums of f32 products are f32, not f16"] = { acc = "f16" },
    ["plan.gemm: sums of c64 x f32 products are c64, not f64"] =
      { dtype = "c64", dtype_b = "f32", acc = "f64" },
    ["plan.gemm: simt_gemm.cu: sums are of f32 at least, not of f16"] =
      { dtype = "f16", acc = "f16", template = "simt_gemm.cu" },
    ["plan.gemm: warps is an option of templates for tensor cores, and simt_gemm.cu is taken: no "
      .. "tensor-core product of f32 and f32"] = { warps = { 2, 2 } },
    ["plan.gemm: cluster is an option of templates for tensor cores, and simt_gemm.cu is taken: "
      .. "the template says so"] = { dtype = "f16", template = "simt_gemm.cu", cluster = { 2, 1 } },
    ["plan.gemm: simt_gemm.cu: tile is 100x64x16, where 16, 32, 64 and 128 rows and columns and 8, "
      .. "16 and 32 k there are (it is taken, for: no tensor-core product of f32 and f32"] =
      { tile = { 100, 64, 16 } },
    ["plan.gemm: simt_gemm.cu: tile: 16x16 by threads of 4x4 sums are 16 threads, where 32 to 512 "
      .. "there are"] = { tile = { 16, 16, 16 } },
    ["plan.gemm: simt_gemm.cu: 66496 bytes of shared memory, where a block has 65536"] =
      { dtype = "f64", tile = { 128, 128, 16 }, arch = 75 },
    ["plan.gemm: scales are for results that are computed in f32, and a complex C is not"] =
      { dtype = "c64", scales = true },
    ["plan.gemm: scales are for results that are computed in f32, and C of f32 from sums of f64 "
      .. "(acc) is not"] = { dtype = "f16", acc = "f64", out = "f32", scales = true },
    ["plan.gemm: scales are for results that are computed in f32, and C of f16 from sums of f64 "
      .. "(acc) is not"] = { dtype = "f16", acc = "f64", out = "f16", scales = true },
    ["plan.gemm: scales are for results that are computed in f32, and C of f64 is not"] =
      { dtype = "f32", acc = "f64", out = "f64", scales = true },
    ["plan.gemm: no option 'tiles'"] = { tiles = { 64, 64, 16 } },
  } do
    it("refuses " .. message:sub(1, 60), function()
      assert.error_matches(function() gemm(options) end, message, 1, true)
    end)
  end

  it("takes larger tiles for larger products", function()
    local function tile(n, dtype)
      local p = gemm { M = n, N = n, K = n, dtype = dtype, multiprocessors = 100 }
      return table.concat(p.tile, "x")
    end
    assert.equal("128x128x8", tile(4096))
    assert.equal("128x128x8", tile(1664)) -- 13 x 13 tiles
    assert.equal("64x64x16", tile(1024))
    assert.equal("32x32x16", tile(256))
    assert.equal("64x64x8", tile(4096, "c64"))
  end)
end)

-- ---- The plan ----------------------------------------------------------------------------------

describe("a plan for simt_gemm.cu", function()
  it("draws its MMA and its operands", function()
    local p = gemm()
    for _, what in ipairs { "mma", "A.shared", "B.shared", "A.copy", "B.copy" } do
      assert.matches("^<svg", p:svg(what))
    end
  end)

  it("changes", function()
    local p = gemm():with { tile = { 64, 32, 8 }, beta = 2, epilogue = "x * 2" }
    assert.same({ 64, 32, 8 }, p.tile)
    for _, line in ipairs { "tile = {64, 32, 8}", "beta = 2", 'epilogue = "x * 2"' } do
      assert.matches("\n" .. line .. "\n", tostring(p), 1, true)
    end
  end)

  it("has a default, which is the plan for f32", function()
    local file = assert(io.open "kernels/simt_gemm_plan.cuh")
    local header = file:read "a"
    file:close()
    local block = gemm { tile = { 64, 64, 16 } }:block():gsub("^#define LUTILE_PLAN", "")
    assert.equal(block, header:match "#pragma once(.*)")
  end)

  for _, case in ipairs {
    { {}, 4, 1, 4, why = "along K, four numbers at once, but not into columns of the tile" },
    { { a_major = "row" }, 4, 4, 4, why = "along M" },
    { { K = 30 }, 2, 1, 4, why = "rows that start at every other element" },
    { { A = make_layout({ 64, 32 }, { 40, 1 }), C = make_layout({ 64, 48 }, { 48, 1 }) }, 4, 1, 4,
      why = "rows with gaps" },
    { { A = make_layout({ 64, 32 }, { 64, 2 }), C = make_layout({ 64, 48 }, { 48, 1 }) }, 1, 1, 4,
      why = "no contiguous mode" },
    { { dtype = "f64", arch = 70 }, 2, 1, 2, why = "16 bytes" },
    { { dtype = "c64" }, 1, 1, 1, why = "16 bytes each" },
    { { dtype = "s4" }, 1, 1, 4, why = "elements that do not fill bytes" },
    { { dtype = "u8", arch = 75, a_major = "row" }, 4, 4, 4, why = "as many as are stored" },
    { {}, 4, 1, 1, shared = make_layout({ 32, 16 }, { 33, 1 }), why = "rows in shared memory" },
    { {}, 4, 4, 1, shared = make_layout({ 32, 16 }, { 20, 1 }), why = "rows of whole vectors" },
    { {}, 4, 1, 2, shared = lutile.parse "((2,16),16):((1,34),2)", why = "pairs of rows" },
    { {}, 1, 4, 4, copy = make_layout({ 64, 8 }, { 8, 1 }), why = "copies across the matrix" },
  } do
    it("moves vectors: " .. case.why, function()
      local p = gemm(case[1]):with { tile = { 32, 32, 16 } }
      p.A.shared, p.A.copy = case.shared or p.A.shared, case.copy or p.A.copy
      local A = p:block():match "struct A (%b{})"
      local function constant(name) return math.tointeger(A:match(name .. " = (%d+);")) end
      assert.same({ case[2], case[3], case[4] },
        { constant "kVector", constant "kStore", constant "kLoad" })
    end)
  end

  it("follows layouts of shared memory and copies that are replaced", function()
    local A, B = tensor("f32", 40, 20), tensor("f32", 33, 20)
    for i = 0, lutile.size(A) - 1 do A[i] = i % 7 - 3 end
    for i = 0, lutile.size(B) - 1 do B[i] = i % 5 - 2 end
    local p = plan.gemm { A = A, B = B, M = 40, N = 33, arch = 80, tile = { 32, 32, 16 } }
    local bytes, first = p.shared_bytes, tensor("f32", 40, 33)
    p:run(A, B, first, { on = "host" })
    p.A.shared = make_layout({ 32, 16 }, { 40, 2 })
    p.A.copy = make_layout({ 64, 8 }, { 8, 1 })
    assert.equal(bytes + 2 * 4 * (1272 - lutile.cosize(p.B.shared)), p:check().shared_bytes)
    assert.matches("kSize = 1272;", p:block(), 1, true)
    local second = tensor("f32", 40, 33)
    p:run(A, B, second, { on = "host" })
    for i = 0, lutile.size(first) - 1 do assert.equal(first(i), second(i)) end
  end)

  for message, change in pairs {
    ["A.shared is Sw<2,0,3> o 0 o (32,16):(1,32): simt_gemm.cu takes no swizzle"] = function(p)
      p.A.shared = lutile.composition(lutile.Swizzle(2, 0, 3), make_layout { 32, 16 })
    end,
    ["B.shared is (32,16):(0,1): a place for each of (32,16) is needed"] = function(p)
      p.B.shared = make_layout({ 32, 16 }, { 0, 1 })
    end,
    ["A.copy is (32,16):(1,32): 64 threads and the elements of (32,16) are needed"] = function(p)
      p.A.copy = make_layout { 32, 16 }
    end,
    ["mma is TiledMMA UniversalFMA<f32>"] = function(p)
      p.mma = lutile.make_tiled_mma("UniversalFMA<f32>", make_layout { 4, 16 })
    end,
    ["bytes of shared memory, where a block has"] = function(p)
      p.A.shared = make_layout({ 32, 16 }, { 1, 4096 })
    end,
    ["A.shared is (32,16):(-1,32): offset -1 is before the tile's start"] = function(p)
      p.A.shared = make_layout({ 32, 16 }, { -1, 32 })
    end,
    ["A.copy is (64,8):(1,65): copy 7 of thread 25 is of (32,14), outside of the tile (32,16)"] =
      function(p) p.A.copy = make_layout({ 64, 8 }, { 1, 65 }) end,
    ["B.copy is 12, where a layout is needed"] = function(p) p.B.copy = 12 end,
    ["A.shared is (32,16):(1,?32): a kernel is compiled for it"] = function(p)
      p.A.shared = make_layout({ 32, 16 }, { 1, lutile.dyn(32) })
    end,
    ["group is 0, where a positive integer is needed"] = function(p) p.group = 0 end,
    ["tile is {32, 32, 8}, and the plan was made for {32, 32, 16}"] = function(p)
      p.tile = { 32, 32, 8 }
    end,
    ["shared_bytes is 8, and follows from the rest of the plan"] = function(p)
      p.shared_bytes = 8
    end,
  } do
    it("refuses replaced layouts: " .. message, function()
      local p = gemm { tile = { 32, 32, 16 } }
      change(p)
      assert.error_matches(function() p:block() end, message, 1, true)
      assert.error_matches(function() p:check() end, message, 1, true)
    end)
  end

  for _, major in ipairs { "k", "row" } do
    for _, tile in ipairs { { 64, 64, 8 }, { 64, 64, 16 }, { 64, 64, 32 }, { 128, 128, 16 } } do
      it(("has no bank conflicts: %s, %d of k"):format(major, tile[3]), function()
        local p = gemm { tile = tile, a_major = major, b_major = major }
        local A, B = tensor("f32", 128, 64), tensor("f32", 128, 64)
        if major == "k" then
          A, B = make_tensor(A, make_layout({ 128, 64 }, { 64, 1 })),
            make_tensor(B, make_layout({ 128, 64 }, { 64, 1 }))
        end
        local counted = lutile.host_gemm(p, A, B, tensor("f32", 128, 128), { arch = 80 })
        assert.equal(0, require "lutile.report".totals(counted).conflicts)
      end)
    end
  end

  it("refuses at a run what is not as the plan has it", function()
    local p = gemm()
    assert.has_error(function()
      p:run(tensor("f16", 64, 32), tensor("f32", 48, 32), tensor("f32", 64, 48))
    end, "plan:run: A has elements of f16, and the plan is for f32")
    assert.has_error(function()
      p:run(tensor("f32", 64, 32), tensor("f32", 48, 31), tensor("f32", 64, 48))
    end, "plan:run: K of A and B differ: 32 and 31")
    assert.has_error(function()
      p:run(tensor("f32", 64, 32), tensor("f32", 48, 32), tensor("f32", 64, 48), { alpah = 2 })
    end, "plan:run: no option 'alpah' (did you mean 'alpha'?)")
    assert.has_error(function() p:run() end, "plan:run: A: a tensor expected, got nothing")
  end)

  it("takes other sizes than the plan's", function()
    local D = tensor("f32", 7, 130)
    gemm():run(tensor("f32", 7, 5, 2), tensor("f32", 130, 5, 3), D)
    for i = 0, lutile.size(D) - 1 do assert.equal(30, D(i)) end
  end)

  support.with_compiler(it, pending)("keeps sums in registers", function()
    local cubin = require "spec.support.cubin"
    for _, arch in ipairs { "sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a" } do
      for _, dtype in ipairs { "f32", "f16", "s32", "f64", "c64" } do
        local p = gemm { M = 4096, N = 4096, K = 4096, dtype = dtype, arch = 75, beta = true,
          template = "simt_gemm.cu" }
        local kernel = require "lutile.cuda".compile(p:compile_options(nil, arch))
        -- Not sums, nor what comes: places of the next tile, where C is read.
        assert(cubin.stack_bytes(kernel:image()) <= 24, arch .. " " .. dtype)
      end
    end
  end)
end)

-- ---- Lists -------------------------------------------------------------------------------------

describe("plan.grouped_gemm", function()
  it("runs products by multiply-adds, one after the other", function()
    local groups = {}
    for i = 1, 2 do
      groups[i] = { A = tensor("f32", 9 * i, 5, i), B = tensor("f32", 4, 5, 3),
        C = tensor("f32", 9 * i, 4) }
    end
    local p = plan.grouped_gemm { groups = groups, arch = 90 }
    assert.matches("why: a launch each: no tensor-core product of f32 and f32", tostring(p), 1,
      true)
    assert.equal("simt_gemm.cu", p:single(1).template)
    p:run(groups, { on = "host" })
    for i, g in ipairs(groups) do assert.equal(15 * i, g.C(8, 3)) end
  end)
end)

-- ---- Tuning ------------------------------------------------------------------------------------

describe("lutile.tune", function()
  it("knows what to try for simt_gemm.cu", function()
    local candidates = require "lutile.tune.candidates"
    local p = gemm { M = 1024, N = 1024, K = 1024 }
    local all = candidates.prune(p, candidates.describe(p))
    local tried = 0
    for _, c in ipairs(all) do
      if c.plan then
        assert.equal("simt_gemm.cu", c.plan.template)
        tried = tried + 1
      end
    end
    assert(tried > 6, tried)
  end)

  support.with_compiler(it, pending)("fills and compares matrices of all types", function()
    for dtype in pairs(require "lutile.plan.matrix".BITS) do
      for _, spec in ipairs { require "lutile.tune.data".kernels(dtype) } do
        spec.arch = "sm_80"
        require "lutile.cuda".compile(spec)
      end
    end
  end)
end)
