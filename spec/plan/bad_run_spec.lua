-- Tensors and options at a run that are not what the plan is for: each refused by name, on the host
-- executor; and layouts that TMA cannot go through, which plans know of.

local lutile = require "lutile"
local support = require "spec.support.cuda"

local plan, parse = lutile.plan, lutile.parse

local function tensor(dtype, layout) return lutile.make_tensor(dtype, parse(layout)) end

local PLAIN = "(64,64):(64,1)"

describe("plan:run of a chained product", function()
  it("refuses D where B is", function()
    local l = lutile.make_layout { 16, 16 }
    local A, B = lutile.make_tensor("f16", l), lutile.make_tensor("f16", l)
    local p = lutile.plan.chained_gemm { A = A, B = B, D = A, arch = 80 }
    assert.has_error(function() p:run(A, B, B) end,
      "plan:run: B and D are in one place, and B is read while D is written")
    assert.has_error(function() p:run(A, B, A) end,
      "plan:run: A and D are in one place, and A is read while D is written")
  end)
end)

describe("plan:run", function()
  local A, B, C = tensor("f16", PLAIN), tensor("f16", PLAIN), tensor("f16", PLAIN)

  local function refuses(p, message, ...)
    local arguments = table.pack(...)
    assert.has_error(function() p:run(table.unpack(arguments, 1, arguments.n)) end,
      "plan:run: " .. message)
  end

  for _, arch in ipairs { 80, 90 } do
    local function gemm(more)
      local options = { dtype = "f16", out = "f16", M = 64, N = 64, K = 64, arch = arch }
      for k, v in pairs(more or {}) do options[k] = v end
      return plan.gemm(options)
    end
    local function says(what, f) it(("refuses %s, %d"):format(what, arch), f) end

    says("a D that is read while it is written", function()
      refuses(gemm(), "A and D are in one place, and A is read while D is written", A, B, A)
      refuses(gemm(), "B and D are in one place, and B is read while D is written", A, B, C,
        { D = B })
      refuses(gemm { bias = "row" },
        "bias and D are in one place, and bias is read while D is written", A, B, C,
        { bias = lutile.make_tensor(C.data, parse "64:1") })
    end)

    says("a C in D's place of another layout, if it is read", function()
      local wide = tensor("f16", "(64,64):(128,1)")
      local narrow = lutile.make_tensor(wide.data, parse(PLAIN))
      refuses(gemm { beta = true }, "C (64,64):(128,1) and D (64,64):(64,1) are in one place, and "
        .. "differ", A, B, wide, { D = narrow })
      gemm():run(A, B, wide, { D = narrow })
      gemm { beta = true }:run(A, B, C, { D = lutile.make_tensor(C.data,
        parse "(64,64,1):(64,1,9)") })
    end)

    says("a D whose elements share places", function()
      refuses(gemm(), "D (64,64):(8,1) has several elements in one place", A, B, C,
        { D = tensor("f16", "(64,64):(8,1)") })
    end)

    says("tensors that only count", function()
      refuses(gemm(), "A: a tensor expected, got userdata", lutile.make_identity_tensor { 64, 64 },
        B, C)
      refuses(gemm(), "B: a tensor expected, got table", A,
        setmetatable({}, { __metatable = "lutile tensor" }), C)
    end)

    says("more elements of a mode that had one in the plan, and lie elsewhere", function()
      local p = plan.gemm { dtype = "f16", A = parse "(8,1):(8,1)", B = parse "(8,1):(8,1)",
        C = parse "(8,8):(8,1)", arch = arch }
      local D, four = tensor("f32", "(8,8):(8,1)"), tensor("f16", "(8,4):(1,8)")
      refuses(p, "the columns of A must lie 1 apart, as in the plan for (8,1):(8,1); they lie 8 "
        .. "apart", four, four, D)
      p:run(tensor("f16", "(8,1):(1,8)"), tensor("f16", "(8,1):(1,8)"), D)
      plan.gemm { dtype = "f16", A = parse "(8,16):(16,1)", B = parse "(1,16):(16,1)", out = "f32",
        C = parse "(8,1):(2,1)", arch = 80 }:run(tensor("f16", "(8,16):(16,1)"),
        tensor("f16", "(4,16):(16,1)"), tensor("f32", "(8,4):(1,8)"))
      p:run(tensor("f16", "(8,4):(8,1)"), tensor("f16", "(8,4):(8,1)"), D)
    end)

    says("a C of neither D's batches nor one for all", function()
      local l = parse "(64,64,2):(64,1,4096)"
      local p = plan.gemm { dtype = "f16", A = parse(PLAIN), B = parse(PLAIN), C = l, beta = true,
        out = "f16", arch = arch }
      refuses(p, "batches of C and D differ: 3 and 2", A, B, tensor("f16", "(64,64,3):(64,1,4096)"),
        { D = lutile.make_tensor("f16", l) })
      p:run(A, B, C, { D = lutile.make_tensor("f16", l) })
    end)

    says("a bias that is not contiguous", function()
      local swizzled = lutile.composition(lutile.Swizzle(2, 0, 2), parse "64:1")
      refuses(gemm { bias = "row" }, "bias must be 64 contiguous elements of f16, one for each "
        .. "row of D, and is f16 Sw<2,0,2> o 0 o 64:1", A, B, C,
        { bias = lutile.make_tensor("f16", swizzled) })
    end)

    says("options of other types", function()
      for name, message in pairs { alpha = "alpha is a string, not a number",
        beta = "beta is a string, not a number",
        on = "on is '3': \"host\" and \"cuda\" there are" } do
        refuses(gemm { beta = true }, message, A, B, C, { [name] = "3" })
      end
      refuses(gemm { beta = true }, "beta is a boolean, not a number", A, B, C, { beta = false })
    end)

    says("scales that s32 does not have", function()
      local p = gemm { dtype = "s8", out = "s32" }
      local bytes, D = tensor("s8", PLAIN), tensor("s32", PLAIN)
      for _, alpha in ipairs { 1.5, 1 << 31, -(1 << 31) - 1 } do
        refuses(p, ("alpha is %s, where results of s32 take an integer of 32 bits"):format(alpha),
          bytes, tensor("s8", PLAIN), D, { alpha = alpha })
      end
      p:run(bytes, tensor("s8", PLAIN), D, { alpha = -(1 << 31) })
    end)

    says("what is no plan", function()
      local p = gemm()
      assert.has_error(function() p.run(A, B, C) end,
        "plan:run: a plan expected, got userdata (plan:run(...), with a colon)")
      assert.has_error(function() p.with { stages = 2 } end,
        "plan:with: a plan expected, got table (plan:with(...), with a colon)")
    end)
  end
end)

describe("plan.gemm on Hopper", function()
  -- Strides of A, and what is said of them.
  for layout, why in pairs {
    ["(64,64):(0,1)"] = "TMA takes strides from 16 bytes to 2^40, and 0 elements have 0",
    ["(64,64):(-64,1)"] = "TMA takes strides from 16 bytes to 2^40, and -64 elements have -128",
    ["(64,64):(1099511627776,1)"] = "TMA takes strides from 16 bytes to 2^40, and 1099511627776 "
      .. "elements have 2199023255552",
    ["(64,64):(1,1)"] = "TMA takes strides of multiples of 16 bytes, and 1 elements have 2",
    ["(64,64):(1,0)"] = "TMA takes strides from 16 bytes to 2^40, and 0 elements have 0",
  } do
    it("leaves to gemm_sm80.cu an A of " .. layout, function()
      local p = plan.gemm { dtype = "f16", A = parse(layout), N = 64, K = 64, arch = 90 }
      assert.equal("gemm_sm80.cu", p.template)
      assert.equal(("gemm_sm80.cu, not gemm_sm90.cu: A %s: %s"):format(layout, why), p.reasons[2])
    end)

    local function with_d()
      return plan.gemm { dtype = "f16", out = "f16", M = 64, N = 64, K = 64, C = parse(layout),
        arch = 90 }
    end
    if lutile.is_injective(parse(layout)) then
      it("has threads write a D of " .. layout, function()
        local p = with_d()
        assert.equal("gemm_sm90.cu", p.template)
        assert.is_false(p.D.by_tma)
      end)
    else
      it("refuses a D of " .. layout, function()
        assert.has_error(with_d, ("plan.gemm: C %s has several elements in one place")
          :format(layout))
      end)
    end
  end

  it("takes a D of one column, whatever its strides", function()
    local p = plan.gemm { dtype = "f16", M = 8, N = 1, K = 64, C = parse "(8,1):(9,1)",
      arch = 90 }
    assert.equal("gemm_sm90.cu", p.template)
    assert.is_false(p.D.by_tma)
  end)

  it("takes matrices without rows, columns or k", function()
    for _, name in ipairs { "M", "N", "K" } do
      local sizes = { dtype = "f16", M = 64, N = 64, K = 64, arch = 90 }
      sizes[name] = 0
      assert.equal("gemm_sm90.cu", plan.gemm(sizes).template)
    end
  end)

  it("refuses at a run a stride that TMA does not take", function()
    local p = plan.gemm { dtype = "f16", M = 64, N = 64, K = 64, arch = 90 }
    assert.has_error(function()
      p:run(tensor("f16", "(64,64):(0,1)"), tensor("f16", PLAIN), tensor("f32", PLAIN))
    end, "plan:run: A (64,64):(0,1): TMA takes strides from 16 bytes to 2^40, and 0 elements have "
      .. "0 (a plan for this tensor would do)")
  end)

  it("runs without k by sums of nothing, whatever strides there are", function()
    local n = lutile.dyn(64, 8)
    local l = lutile.make_layout({ n, n }, { n, 1 })
    local p = plan.gemm { dtype = "f16", A = l, B = l, C = l, arch = 90 }
    local C = tensor("f32", PLAIN)
    lutile.fill(C, 3)
    p:run(tensor("f16", "(64,0):(0,1)"), tensor("f16", "(64,0):(0,1)"), C)
    assert.equal(0, C(5, 7))
  end)
end)

describe("plan.grouped_gemm", function()
  local function group()
    return { A = tensor("f16", PLAIN), B = tensor("f16", PLAIN), C = tensor("f16", PLAIN) }
  end

  for _, arch in ipairs { 80, 90 } do
    it(("says which group a tensor of the host is of, %d"):format(arch), function()
      local g = group()
      local p = plan.grouped_gemm { groups = { g }, out = "f16", bias = "row", arch = arch }
      g.bias = tensor("f16", "24:1")
      assert.has_error(function() p:run({ g }, { on = "host" }) end, "plan:run: group 1: bias must "
        .. "be 64 contiguous elements of f16, one for each row of D, and is f16 24:1")
      assert.error_matches(function() p:prepare { g } end, "^plan:prepare: .*device")
    end)

    it(("refuses results in the place of others, %d"):format(arch), function()
      local one, two = group(), group()
      local p = plan.grouped_gemm { groups = { one, two }, out = "f16", arch = arch }
      local function refuses(message, second)
        assert.has_error(function() p:run { one, second } end, "plan:run: " .. message)
      end
      refuses("D of groups 1 and 2 are in one place", { A = two.A, B = two.B, C = one.C })
      refuses("D of group 1 is where A of group 2 is", { A = one.C, B = two.B, C = two.C })
      refuses("D of group 2 is where B of group 1 is", { A = two.A, B = two.B, C = one.B })
      refuses("D of group 2 is where its A is", { A = two.A, B = two.B, C = two.A })
      p = plan.grouped_gemm { groups = { one, two }, out = "f16", beta = true, arch = arch }
      refuses("D of group 2 is where its C is, and differs", { A = two.A, B = two.B, C = two.C,
        D = lutile.make_tensor(two.C.data, parse "(64,64):(1,64)") })
      p:run { one, { A = two.A, B = two.B, C = two.C, D = two.C } }
      p:run { one, { A = one.A, B = one.B, C = two.C } } -- operands may be shared
    end)
  end
end)

describe("plan.grouped_gemm", function()
  local function group(more)
    local g = { A = tensor("f16", PLAIN), B = tensor("f16", PLAIN), C = tensor("f16", PLAIN) }
    for k, v in pairs(more or {}) do g[k] = v end
    return g
  end

  for name, value in pairs { cluster = { 2, 1 }, template = "gemm_sm80.cu", warps = { 2, 2 },
    promote = 4, foo = 1 } do
    it("takes matrices alone of a group, not " .. name, function()
      assert.has_error(function()
        plan.grouped_gemm { groups = { group(), group { [name] = value } }, out = "f16" }
      end, ("plan.grouped_gemm: group 2: no option '%s' (there are A, B, C, D, K, L, M, N, "
        .. "a_major, b_major, bias, c_major)"):format(name))
    end)
  end

  it("says of which group a matrix is wrong", function()
    assert.has_error(function()
      plan.grouped_gemm { groups = { group(), group { C = 5 } }, out = "f16" }
    end, "plan.grouped_gemm: group 2: C: a tensor, a layout or a shape expected, got number")
    assert.has_error(function()
      plan.grouped_gemm { groups = { group() }, out = "f16", arch = 90, tile = { 100, 100, 64 } }
    end, "plan.grouped_gemm: group 1: gemm_sm90.cu: tile: 100 columns, where multiples of 16 from "
      .. "32 to 256 there are; gemm_sm80.cu: M of the tile is 100: a multiple of 32 is needed, by "
      .. "the atom and the warps")
  end)

  it("has the pictures and the source of its one kernel", function()
    local p = plan.grouped_gemm { groups = { group() }, out = "f16", arch = 90 }
    assert.equal(p.shared:svg "A.shared", p:svg "A.shared")
    assert.equal(p.shared:source(), p:source())
    p = plan.grouped_gemm { groups = { group() }, out = "f16", arch = 80 }
    for _, name in ipairs { "svg", "source", "compile_options", "kernel" } do
      assert.error_matches(function() p[name](p) end,
        ("^plan:%s: there is no one kernel: a launch each: wgmma"):format(name))
    end
    assert.error_matches(function() p.svg() end, "^plan:svg: a plan expected, got nil ")
  end)

  for _, arch in ipairs { 80, 90 } do
    it(("wants a bias of each group, %d"):format(arch), function()
      local p = plan.grouped_gemm { groups = { group() }, out = "f16", bias = "row", arch = arch }
      assert.has_error(function() p:run { group() } end,
        "plan:run: bias of group 1: a tensor expected, got nil")
      p:run { group { bias = tensor("f16", "64:1") } }
    end)
  end
end)

describe("plan.grouped_gemm on a device", function()
  support.with_fake(it, pending)("refuses tensors that reach out of their memory, or have none",
    function()
      local result = support.run_with_fake([[
local cuda, parse = require "lutile.cuda", lutile.parse
local function tensor(layout) return cuda.tensor("f16", parse(layout)) end
local A, C, freed = tensor "(64,64):(64,1)", tensor "(64,64):(64,1)", tensor "(64,64):(64,1)"
freed.data:free()
local p = lutile.plan.grouped_gemm { groups = { { A = A, B = A, C = C } }, bias = "row" }
local function try(group)
  local g = { A = A, B = A, C = C, bias = tensor "64:1" }
  for name, x in pairs(group) do g[name] = x end
  local message = select(2, pcall(p.run, p, { g })):match "plan:run: .*"
  print((message:gsub(", as in the plan", "")))
end
try { bias = lutile.make_tensor(tensor "8:1", parse "64:1") }
try { C = lutile.make_tensor(tensor "8:1", parse "(64,64):(64,1)") }
try { C = lutile.make_tensor(C, parse "(64,64):(-65,1)") }
try { C = freed }
try { A = freed }
try { bias = tensor "8:1" }]], { FAKE_CUDA_CAPABILITY = 90 })
      assert.equal("", result.err)
      assert.equal([[
plan:run: bias of group 1 reaches from element 0 to 63, where its memory has 8
plan:run: C of group 1 reaches from element 0 to 4095, where its memory has 8
plan:run: group 1: (64,64):(-65,1) is not in multiples of 16 bytes and along its columns
plan:run: C of group 1: the tensor's memory was freed
plan:run: A of group 1: the tensor's memory was freed
plan:run: group 1: bias must be 64 contiguous elements of f16, one for each row of D, and is f16 8:1
]], result.out)
    end)
end)

describe("a group of rows of tiles", function()
  local it_runs = support.with_fake(it, pending)
  it_runs("is refused where its tiles are more than kernels count", function()
    local result = support.run_with_fake([[
local cuda, n = require "lutile.cuda", 4097 * 32
local function tensor(dtype, rows, columns)
  return cuda.tensor(dtype, lutile.make_layout({ rows, columns }, { columns, 1 }))
end
local A, B, C = tensor("f16", 16, 16), tensor("f16", n, 16), tensor("f32", 16, n)
for _, tile in ipairs { { 32, 32, 32 }, { 64, 32, 64 } } do
  local p = lutile.plan.gemm { A = A, B = B, C = C, tile = tile, group = (1 << 20) - 1,
    template = tile[1] == 64 and "gemm_sm90.cu" or "gemm_sm80.cu" }
  print(select(2, pcall(p.prepare, p, A, B, C)))
end]], { FAKE_CUDA_CAPABILITY = 90 })
    assert.equal("", result.err)
    assert.equal(("plan:prepare: group: 1048575 rows of 4097 tiles are 4296011775, where "
      .. "4294967295 are the most (a smaller group)\n"):rep(2), result.out)
  end)
end)

describe("a product of more stages than a block of gemm_sm120.cu counts", function()
  support.with_fake(it, pending)("is refused", function()
    local result = support.run_with_fake([[
local cuda = require "lutile.cuda"
local device = cuda.device
function cuda.device(i)
  local d = device(i)
  d.multiprocessors = 1
  return d
end
local k, batches = 32768 * 64, 65537
local A = cuda.tensor("f16", lutile.make_layout({ 1, k }, { k, 1 }))
local C = cuda.tensor("f32", lutile.make_layout({ 1, 1, batches }, { 1, 1, 1 }))
local p = lutile.plan.gemm { A = A, B = A, C = C, tile = { 64, 64, 64 },
  template = "gemm_sm120.cu" }
print(select(2, pcall(p.prepare, p, A, A, C)))]], { FAKE_CUDA_CAPABILITY = 90 })
    assert.equal("", result.err)
    assert.equal("plan:prepare: 65537 tiles of 32768 stages are more than 1 blocks can count, "
      .. "2147483647 each (fewer batches at once)\n", result.out)
  end)
end)

describe("a grouped launch that is prepared", function()
  support.with_host_kernels(it, pending)("keeps its memory, and refuses what was freed",
    function()
      local result = support.run_with_fake([[
package.path = "./?.lua;" .. package.path
local cuda, parse = require "lutile.cuda", lutile.parse
cuda.compile = require "spec.support.emulated".compile
local function tensor() return cuda.tensor("f16", parse "(64,64):(64,1)") end
local kept = setmetatable({}, { __mode = "v" })
local C = tensor()
local function prepare()
  local g = { A = tensor(), B = tensor(), C = C }
  kept.A, kept.B = g.A.data, g.B.data
  return lutile.plan.grouped_gemm { groups = { g } }:prepare { g }
end
local f = prepare()
collectgarbage()
collectgarbage()
print(kept.A ~= nil and kept.B ~= nil)
f()
C.data:free()
print(select(2, pcall(f)))]], { FAKE_CUDA_CAPABILITY = 90 })
      assert.equal("", result.err)
      assert.equal("true\nC of group 1: the tensor's memory was freed\n", result.out)
    end)

  support.with_fake(it, pending)("is kept by a graph, with its memory", function()
    local result = support.run_with_fake([=[
local cuda, parse = require "lutile.cuda", lutile.parse
local function tensor() return cuda.tensor("f16", parse "(64,64):(64,1)") end
local kept = setmetatable({}, { __mode = "v" })
local stream = cuda.stream()
local graph = stream:capture(function()
  local g = { A = tensor(), B = tensor(), C = tensor() }
  kept.A, kept.B, kept.C = g.A.data, g.B.data, g.C.data
  lutile.plan.grouped_gemm { groups = { g } }:run({ g }, { stream = stream })
end)
collectgarbage()
collectgarbage()
print(kept.A ~= nil and kept.B ~= nil and kept.C ~= nil)
graph:close()
collectgarbage()
collectgarbage()
print(kept.A, kept.B, kept.C)]=], { FAKE_CUDA_CAPABILITY = 90 })
    assert.equal("", result.err)
    assert.equal("true\nnil\tnil\tnil\n", result.out)
  end)
end)
