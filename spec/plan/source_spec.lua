-- What a plan writes for its kernel: every function is its layout, at every index; the parts of an
-- offset add up to it; and plans as values: text, pictures, changes, refusals.

local lutile = require "lutile"

local plan, make_layout, dyn = lutile.plan, lutile.make_layout, lutile.dyn

local function gemm(dtype, a, b, more)
  local options = { dtype = dtype, M = 256, N = 256, K = 256, a_major = a, b_major = b, arch = 89,
    multiprocessors = 1 }
  for k, v in pairs(more or {}) do options[k] = v end
  return plan.gemm(options)
end

local PLANS = {
  { "f16, both along k", gemm("f16", "k", "k") },
  { "f16, both along rows", gemm("f16", "row", "row") },
  { "s8, gathered", gemm("s8", "row", "k") },
  { "tf32, word by word", gemm("tf32", "row", "k") },
  { "f64", gemm("f64", "k", "row") },
  { "f16 before 8.0", gemm("f16", "k", "row", { arch = 75 }) },
  { "chained f16", plan.chained_gemm { dtype = "f16", M = 256, N = 200, arch = 80 } },
  { "chained bf16 along rows", plan.chained_gemm { dtype = "bf16", M = 256, N = 64, arch = 80,
    a_major = "row", b_major = "row" } },
}

-- ---- Functions of the generated block ----------------------------------------------------------

local function swizzle(bits, base, shift)
  return function(i) return i ~ (i >> shift & ((1 << bits) - 1) << base) end
end

-- The function whose C++ expression this is.
local function compile(expression)
  local text = expression:gsub("swizzle<(%d+), (%d+), (%d+)>", "swizzle(%1, %2, %3)")
    :gsub("/", "//")
  return assert(load("local swizzle = ... return function(i) return " .. text .. " end"))(swizzle)
end

local function functions(block)
  local list = {}
  for layout, name, expression in block:gmatch
    "/%* ([^\n]-) %*/\n%s*[%a ]-unsigned ([%w_]+)%(unsigned ?i?%) {%s*return (.-);%s*}" do
    local text, scale = layout:match "^(.-) times (%d+)$"
    list[#list + 1] = { name = name, layout = lutile.parse(text or layout),
      scale = math.tointeger(scale or 1), call = compile(expression) }
  end
  return list
end

describe("a plan's source", function()
  for _, case in ipairs(PLANS) do
    local what, p = table.unpack(case)
    it("has functions equal to their layouts: " .. what, function()
      local list = functions(p:block())
      assert(#list >= 20, #list .. " functions")
      for _, f in ipairs(list) do
        for i = 0, lutile.size(f.layout) - 1 do
          if f.layout(i) * f.scale ~= f.call(i) then
            error(("%s(%d) is %d, and %s there %d"):format(f.name, i, f.call(i),
              tostring(f.layout), f.layout(i) * f.scale))
          end
        end
      end
    end)
  end

  for name, options in pairs {
    gemm_sm80 = { out = "f16", tile = { 64, 64, 32 } },
    gemm_sm120 = { out = "f16", tile = { 64, 64, 64 } },
    chained_gemm = { n = 256 },
  } do
    it("has a default, which is a plan for f16: " .. name, function()
      local file = assert(io.open("kernels/" .. name .. "_plan.cuh"))
      local header = file:read "a"
      file:close()
      options.dtype = "f16"
      local block = require("lutile.plan." .. name).new(options):block()
        :gsub("^#define LUTILE_PLAN", "")
      assert.equal(block, header:match "#pragma once(.*)")
    end)
  end

  it("has rows of B by fours in different banks", function()
    for _, options in ipairs { { n = 256 }, { n = 64, block_k = 64 }, { n = 96, block_k = 16 } } do
      local block = require "lutile.plan.chained_gemm".new(options):block()
      local by_fours
      for _, f in ipairs(functions(block)) do if f.name == "by_fours" then by_fours = f.call end end
      for matrix = 0, 3 do
        local banks = {}
        for row = 0, 7 do
          local lane = 8 * matrix + row
          local bank = by_fours(lane ~ (lane & 4) << 2) // 16 % 8
          assert.is_nil(banks[bank])
          banks[bank] = true
        end
      end
    end
  end)

  it("has the first product's sums as the second one's operand A, by their layout", function()
    for _, options in ipairs { { n = 256 }, { n = 40, rows = 128 }, { n = 96, arch = 75 } } do
      local p = require "lutile.plan.chained_gemm".new(options)
      local registers = p:block():match "struct P (%b{})":gsub('"%s*"', "")
      local shown = ("acc .. (~C .. A) gives, %s."):format(tostring(p.p_value))
      assert.truthy(p:block():find(shown, 1, true))
      local function check(w, high, low)
        assert.equal(p.p_value(2 * w), math.tointeger(low))
        assert.equal(p.p_value(2 * w + 1), math.tointeger(high))
      end
      local count = 0
      for w, high, low in registers:gmatch "cvt%.rn%.f16x2%.f32 p(%d+), sum(%d+), sum(%d+);" do
        check(w, high, low)
        count = count + 1
      end
      for high, low, w in registers:gmatch(
        "f32 high, sum(%d+); %S+ low, sum(%d+); mov%.b32 p(%d+), {low, high};") do
        check(w, high, low)
        count = count + 1
      end
      assert.equal(lutile.size(p.p_value), 2 * count)
    end
  end)

  it("is the plan's block and the template", function()
    local source = gemm("f16", "k", "k"):source()
    assert.truthy(source:find("namespace plan {", 1, true))
    assert.truthy(source:find("gemm(const char *a", 1, true))
  end)
end)

-- ---- Choices -----------------------------------------------------------------------------------

describe("plan.gemm", function()
  local function dynamic(promise)
    local n = dyn(48 * promise, promise)
    local l = make_layout({ n, n }, { n, 1 })
    return { dtype = "f16", A = l, B = l, C = l, arch = 80 }
  end

  it("copies as many elements at once as promises allow", function()
    for promise, vector in pairs { [1] = 1, [2] = 2, [4] = 4, [8] = 8, [24] = 8, [6] = 2 } do
      local p = plan.gemm(dynamic(promise))
      assert.equal(vector, p.A.vector)
      assert.equal(promise % 2 == 0 and 2 or 1, p.run_size)
    end
  end)

  it("takes the largest tile for large products, and a small one where many would idle", function()
    local large = plan.gemm { dtype = "f16", M = 4096, N = 4096, K = 4096, arch = 80 }
    assert.same({ 128, 256, 64 }, large.tile)
    assert.equal(3, large.stages)
    local small = plan.gemm { dtype = "f16", M = 256, N = 256, K = 4096, arch = 80 }
    assert.same({ 64, 64, 64 }, small.tile)
  end)

  it("keeps within the shared memory of the architecture", function()
    local limits = { [75] = 64, [80] = 163, [86] = 99, [89] = 99, [90] = 227, [120] = 99 }
    for arch, limit in pairs(limits) do
      local p = plan.gemm { dtype = "f16", M = 8192, N = 8192, K = 8192, arch = arch }
      assert(p.shared_bytes <= limit * 1024)
    end
  end)

  it("depends on no dynamic value", function()
    local function block(n)
      local l = make_layout({ dyn(n, 8), dyn(n, 8) }, { dyn(n, 8), 1 })
      return plan.gemm({ dtype = "f16", A = l, B = l, C = l, arch = 80 }):block()
    end
    assert.equal(block(64), block(8192))
  end)

  it("is printed with its layouts and reasons, and drawn", function()
    local p = plan.gemm { dtype = "f16", M = 64, N = 64, K = 64, arch = 80 }
    assert.truthy(tostring(p):find("shared " .. tostring(p.A.shared), 1, true))
    assert.truthy(tostring(p):find("why: compute capability 8.0: asked for; 108 multi", 1, true))
    assert.matches("7.5: asked for; 40 multiproc", tostring(p:with { arch = 75 }), 1, true)
    for _, what in ipairs { "mma", "A.shared", "B.copy" } do
      assert.truthy(p:svg(what):find "^<svg")
    end
    assert.error_matches(function() p:svg "C.shared" end,
      "^plan:svg: no picture 'C.shared'")
    assert.error_matches(function() p:svg(3) end, "no picture '3'")
  end)

  it("has the pictures that its errors name, whatever its template", function()
    for template, names in pairs { ["gemm_sm80.cu"] = "'A.shared', 'B.shared', 'A.copy', 'B.copy'",
      ["gemm_sm90.cu"] = "'A.shared', 'B.shared', 'D.shared'",
      ["gemm_sm120.cu"] = "'A.shared', 'B.shared'" } do
      local p = plan.gemm { dtype = "f16", M = 64, N = 64, K = 64, arch = 90, template = template }
      assert.has_error(function() p:svg "C.shared" end, ("plan:svg: no picture 'C.shared': 'mma', "
        .. "%s there are"):format(names))
      for name in names:gmatch "'([^']+)'" do assert.truthy(p:svg(name):find "^<svg") end
    end
  end)

  for _, name in ipairs { "with", "report", "svg", "source", "compile_options", "kernel", "run",
    "prepare", "check" } do
    it("is what is missing where a dot stands before " .. name, function()
      local p = plan.gemm { dtype = "f16", M = 64, N = 64, K = 64, arch = 80 }
      local message = ("^plan:%s: a plan expected, got nil "):format(name)
      assert.error_matches(function() p[name]() end, message)
    end)
  end

  it("is changed by 'with'", function()
    local p = plan.gemm { dtype = "f16", M = 4096, N = 4096, K = 4096, arch = 90 }
    assert.same({ 128, 128, 32 }, p:with({ tile = { 128, 128, 32 } }).tile)
    assert.equal(4, p:with({ stages = 4 }).stages)
    assert.has_error(function() p:with() end, "plan:with: a table expected, got nil")
  end)

  local A, B, C, itself = { 3, 4 }, { 5, 4 }, { 3, 5 }, {}
  itself[1] = itself
  for _, case in ipairs {
    { {}, "plan.gemm: dtype is missing (A is no tensor that would have one)" },
    { { dtype = "f16", M = 3 },
      "plan.gemm: A is missing: give a tensor or a layout A = (M,K), or numbers M and K" },
    { { dtype = "f16", A = A, B = B, C = { 3, 6 } }, "plan.gemm: N of B and C differ: 5 and 6" },
    { { dtype = "bf16", A = A, B = B, C = C, arch = 75, template = "gemm_sm80.cu" },
      "plan.gemm: gemm_sm80.cu: bf16 products need compute capability 8.0, and the plan is for "
        .. "7.5" },
    { { dtype = "u8", A = A, B = B, C = C, arch = 75, template = "gemm_sm80.cu" },
      "plan.gemm: gemm_sm80.cu: lutile has atoms of u8 products from compute capability 8.0 on, "
        .. "and the plan is for 7.5" },
    { { dtype = "f16", A = A, B = B, C = C, acc = "s32" },
      "plan.gemm: sums of f16 products are f32, not s32" },
    { { dtype = "f16", A = A, B = B, C = C, bias = "both" },
      "plan.gemm: bias is 'both': \"row\", \"column\" and false there are" },
    { { dtype = "f16", A = A, B = B, C = C, arch = "sm_70", template = "gemm_sm80.cu" },
      "plan.gemm: gemm_sm80.cu: tensor-core kernels need compute capability 7.5, and arch is 7.0" },
    { { dtype = "f16", A = A, B = B, C = C, arch = 1 << 40 },
      "plan.gemm: arch '1099511627776' is none: 90, \"90a\", \"sm_90a\" and \"9.0\" are the "
        .. "forms" },
    { { dtype = "f16", A = "x", B = B, C = C },
      "plan.gemm: A: a tensor, a layout or a shape expected, got string" },
    { { dtype = "f16", A = A, B = 3, C = C },
      "plan.gemm: B: a tensor, a layout or a shape expected, got number" },
    { { dtype = "f16", A = A, B = B, C = { 3, -5 } },
      "plan.gemm: C: make_layout: shape (3,-5) has a negative size, -5" },
    { { dtype = "f16", A = itself, B = B, C = C },
      "plan.gemm: A: table nested deeper than 64 levels, or in itself" },
    { { dtype = "f16", A = A, B = lutile.make_tensor("s4", make_layout(B)), C = C },
      "plan.gemm: B has elements of s4, and the product takes f16" },
    { { dtype = "f16", M = 1.5, N = 4, K = 4 },
      "plan.gemm: M is 1.5: an integer, 0 or more, or dyn(n) is needed" },
    { { dtype = "f16", M = 4, N = 4, K = 4, L = -1 },
      "plan.gemm: L is -1: an integer, 0 or more, or dyn(n) is needed" },
    { { dtype = "f16", A = A, B = B, C = C, K = 5 }, "plan.gemm: K is 5, and A (3,4):(1,3) has 4" },
    { { dtype = "f16", A = A, B = B, C = C, L = 2 }, "plan.gemm: L is 2, and C (3,5):(1,3) has 1" },
    { { dtype = "f16", M = 4, N = 4, K = 4, b_major = "col" },
      "plan.gemm: b_major is 'col': \"row\" is contiguous along mode 0, N (column-major in BLAS), "
        .. "\"column\" or \"k\", the default, along mode 1, K" },
    { { dtype = "f16", A = A, B = B, C = C, c_major = "row" },
      "plan.gemm: c_major: C itself is given, and says which mode is contiguous" },
    { { dtype = "f16", A = A, B = B, C = C, epilogue = " " },
      "plan.gemm: epilogue is \" \", where an expression of x, m and n is needed" },
    { { dtype = "f16", A = A, B = B, C = C, epilogue = "x\0" },
      "plan.gemm: epilogue is \"x\\0\", where an expression of x, m and n is needed" },
    { { dtype = "f16", A = A, B = B, C = C, beta = "x" },
      "plan.gemm: beta is a string: whether C is read, true or false, or a number times which" },
  } do
    it("refuses: " .. case[2], function()
      assert.has_error(function() plan.gemm(case[1]) end, case[2])
    end)
  end

  it("refuses types that are no names", function()
    assert.error_matches(function() plan.gemm { dtype = {}, M = 4, N = 4, K = 4 } end,
      "plan.gemm: dtype cannot be table")
  end)

  for name, value in pairs { cluster = { 2, 1 }, ping_pong = false, splits = 2, promote = 4,
    dependent = true, skew = 100 } do
    for why, options in pairs {
      ["wgmma is compute capability 9.0's alone"] = { arch = 80 },
      ["the template says so"] = { arch = 90, template = "gemm_sm80.cu" },
      ["it has no options warps and blocks"] = { arch = 90, warps = { 2, 2 } },
    } do
      local taken = options.warps and "gemm_sm120.cu" or "gemm_sm80.cu"
      it(("refuses %s where it takes %s: %s"):format(name, taken, why), function()
        local all = { dtype = "f16", M = 64, N = 64, K = 64, [name] = value }
        for k, v in pairs(options) do all[k] = v end
        assert.has_error(function() plan.gemm(all) end, ("plan.gemm: %s is an option of "
          .. "gemm_sm90.cu, and %s is taken: %s"):format(name, taken, why))
      end)
    end
  end

  for _, case in ipairs {
    { { tile = 64 }, "plan:with: tile is 64, where a table of 3 positive integers is needed" },
    { { tile = { 64, 64, 48 } },
      "plan:with: K of the tile is 48: a multiple of 32 is needed, by the atom and the warps" },
    { { tile = { 256, 256, 64 }, warps = { 4, 4 }, stages = 3 },
      "plan:with: 3 stages of A and B have 196608 bytes of shared memory, where a block of compute "
        .. "capability 8.0 has 166912" },
    { { stages = 1 }, "plan:with: stages is 1, and 2 are needed at least: "
      .. "one is read while another is written" },
    { { epilogue = 3 }, "plan:with: epilogue is a string, not a number" },
  } do
    it("refuses: " .. case[2], function()
      local p = plan.gemm { dtype = "f16", M = 64, N = 64, K = 64, arch = 80 }
      assert.has_error(function() p:with(case[1]) end, case[2])
    end)
  end

  it("refuses at a run what its promises exclude", function()
    local p = plan.gemm(dynamic(8))
    local odd = lutile.make_tensor("f16", make_layout({ 12, 12 }, { 12, 1 }))
    local whole = lutile.make_tensor("f16", make_layout({ 16, 16 }, { 16, 1 }))
    local D = lutile.make_tensor("f32", make_layout({ 16, 16 }, { 16, 1 }))
    assert.error_matches(function() p:run(odd, odd, D) end,
      "plan:run: M of A and C differ: 12 and 16")
    assert.error_matches(function() p:run(odd, odd, lutile.make_tensor("f32", odd.layout)) end,
      "plan:run: A is %(12,12%):%(12,1%), and the kernel moves 8 elements at once")
    assert.error_matches(function()
      p:run(whole, whole, lutile.make_tensor("f16", whole.layout))
    end, "plan:run: C has elements of f16, and the plan is for f32")
    assert.error_matches(function() p:run(whole, whole) end,
      "plan:run: C: a tensor expected, got nothing")
    assert.error_matches(function() p:run(whole, whole, D, { beta = 1 }) end,
      "plan:run: beta is 1, and the plan reads no C: plan it with beta = true")
  end)
end)

describe("plan.chained_gemm", function()
  for _, case in ipairs {
    { { A = lutile.parse "((3,2),8):((1,70),8)", N = 8 }, "plan.chained_gemm: A "
      .. "((3,2),8):((1,70),8) has several strides for rows, columns or batches; the kernel takes "
      .. "one each (a copy to a plain layout would do)" },
    { { N = 257 }, "plan.chained_gemm: N is 257, where 1 to 256 will do" },
    { { dtype = "f64" }, "plan.chained_gemm: elements are f16 or bf16, not f64" },
    { { out = "f64" }, "plan.chained_gemm: D is f32, f16 or bf16, not f64" },
    { { N = 40, block_k = 40 },
      "plan.chained_gemm: block_k is 40: a multiple of 16 is needed, by the atom and the warps" },
    { { rows = 72, warps = 4 },
      "plan.chained_gemm: rows is 72: a multiple of 64 is needed, by the atom and the warps" },
    { { rows = 128, warps = 4, N = 256 }, "plan.chained_gemm: a thread would have 296 registers in "
      .. "the first product and 416 in the second, and can have 255 (fewer rows, or more warps)" },
    { { groups = 4, N = 256 }, "plan.chained_gemm: a thread would have 164 registers in the first "
      .. "product and 224 in the second, and can have 128 (fewer rows, or more warps)" },
    { { groups = 16, warps = 1 }, "plan.chained_gemm: groups is 16, where 15 are the most" },
    { { N = 7, warps = 3 }, "plan.chained_gemm: tile: 48x32x32 by 3x1 warps cannot be laid out "
      .. "(powers of two can): plan: copies of A: thread 32, step 1 have offset 144 of "
      .. "Sw<2,3,3> o 0 o ((8,6),(32,1)):((32,256),(1,0)), but 136 as a sum of parts" },
    { { arch = 75, out = "bf16" }, "plan.chained_gemm: D of bf16 needs compute capability 8.0, and "
      .. "the plan is for 7.5" },
    { { multiprocessors = -5 }, "plan.chained_gemm: multiprocessors is -5, where a positive "
      .. "integer is needed" },
    { { A = lutile.parse "(16,16,2):(16,1,256)", N = 16 }, "plan.chained_gemm: A "
      .. "(16,16,2):(16,1,256) has 2 matrices, where one is multiplied at a time" },
    { { A = make_layout { 16, 16 }, B = make_layout { 16, 17 } }, "plan.chained_gemm: A is 16 x "
      .. "16, so B must be 16 x 16 and D 16 x 16; they are 16 x 17 and 16 x 16" },
    { { stages = 100 }, "plan.chained_gemm: 100 stages of A and B have 1228800 bytes of shared "
      .. "memory, where a block of compute capability 8.0 has 166912" },
  } do
    it("refuses: " .. case[2], function()
      local options = { dtype = "f16", M = 64, N = 64, arch = 80 }
      for k, v in pairs(case[1]) do options[k] = v end
      assert.has_error(function() plan.chained_gemm(options) end, case[2])
    end)
  end
end)
