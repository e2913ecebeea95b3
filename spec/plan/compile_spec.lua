-- NVRTC takes the tensor-core templates for every architecture, and fast; what it makes keeps the
-- accumulators of chained_gemm in registers.

local lutile = require "lutile"
local command = require "spec.support.command"
local cubin = require "spec.support.cubin"
local support = require "spec.support.cuda"

local plan = lutile.plan

local dyn, make_layout = lutile.dyn, lutile.make_layout

-- Layouts whose sizes are known at launch; 'promise' divides those along the contiguous mode.
local function matrix(major, promise)
  local m, n = dyn(1024, promise), dyn(1024, promise)
  if major == "row" then return make_layout({ m, n }, { 1, dyn(1024, promise) }) end
  return make_layout({ m, n }, { dyn(1024, promise), 1 })
end

local function gemm(arch, dtype, out, a, b, promise, more)
  local options = { arch = arch, dtype = dtype, out = out, A = matrix(a, promise),
    B = matrix(b, promise), C = matrix("column", promise) }
  for k, v in pairs(more or {}) do options[k] = v end
  return plan.gemm(options)
end

local function chained(arch, dtype, n, major, promise)
  return plan.chained_gemm { arch = arch, dtype = dtype,
    A = make_layout({ dyn(512, promise), n }, major == "row" and { 1, dyn(512, promise) }
      or { n, 1 }),
    B = make_layout({ n, n }, major == "row" and { 1, n } or { n, 1 }),
    D = make_layout({ dyn(512), n }, { n, 1 }) }
end

-- One or two plans an architecture: together they have each atom, load and kind of copy.
local CASES = {
  { "sm_75", gemm(75, "f16", "f16", "k", "row", 8), "f16 through registers" },
  { "sm_75", chained(75, "f16", 104, "k", 8), "chained f16 through registers" },
  { "sm_80", gemm(80, "tf32", "f32", "row", "row", 4), "tf32 word by word" },
  { "sm_80", gemm(80, "f64", "f64", "k", "row", 2), "f64" },
  { "sm_86", gemm(86, "s8", "s32", "row", "k", 1), "s8 gathered, no vectors" },
  { "sm_89", gemm(89, "e4m3", "f16", "k", "k", 16, { dtype_b = "e5m2" }), "8-bit floats" },
  { "sm_90a", gemm(90, "f16", "f16", "k", "k", 8, { beta = true, bias = "row",
    epilogue = "x > 0 ? x : 0" }), "f16 with an epilogue" },
  { "sm_90a", gemm(90, "s8", "s32", "k", "k", 16, { template = "gemm_sm120.cu" }), "s8 by TMA" },
  { "sm_100a", gemm(100, "bf16", "bf16", "row", "k", 8), "bf16 by TMA" },
  { "sm_100a", gemm(100, "e4m3", "f16", "k", "k", 16), "8-bit floats as f16" },
  { "sm_120a", gemm(120, "e4m3", "f16", "k", "k", 16), "8-bit floats by TMA" },
  { "sm_120a", chained(120, "bf16", 64, "row", 8), "chained bf16" },
}

local function is_known(arch)
  local ok, problem = pcall(require "lutile.cuda".compile, { name = "empty", arch = arch,
    source = "extern \"C\" __global__ void empty() {}" })
  return ok or not tostring(problem):find "arch"
end

local function options(p, arch) return p:compile_options(nil, arch) end

describe("NVRTC compiles", function()
  local it_compiles = support.with_compiler(it, pending)
  for _, case in ipairs(CASES) do
    local arch, p, what = table.unpack(case)
    it_compiles(("%s for %s: %s"):format(p.template, arch, what), function()
      if not is_known(arch) then return pending("this NVRTC does not know " .. arch) end
      local kernel = require "lutile.cuda".compile(options(p, arch))
      assert.equal(arch, kernel.arch)
      assert.truthy(kernel.source:find("namespace plan", 1, true))
    end)
  end
end)

-- Plans for which the largest tile, or the fastest way to compile, would not do.
describe("gemm_sm80 has no local memory", function()
  local it_compiles = support.with_compiler(it, pending)
  local function mixed()
    return plan.gemm { arch = 100, dtype = "f16", A = matrix("k", 8), B = matrix("k", 1),
      C = matrix("column", 16) }
  end
  for what, case in pairs {
    ["in two blocks, no promises"] = { "sm_90", gemm(90, "e4m3", "f16", "k", "k", 1,
      { blocks = 2, template = "gemm_sm80.cu" }) },
    ["by warps that are given"] = { "sm_86", gemm(86, "s8", "s32", "k", "k", 1,
      { warps = { 2, 8 } }) },
    ["bytes gathered by sixteen warps"] = { "sm_80", gemm(80, "s8", "s32", "row", "k", 2) },
    ["tf32 along rows by sixteen warps"] = { "sm_90", gemm(90, "tf32", "f16", "row", "k", 1,
      { warps = { 8, 2 }, template = "gemm_sm80.cu" }) },
    ["copies of 16 and of 2 bytes"] = { "sm_100", mixed() },
  } do
    it_compiles(what, function()
      local arch, p = table.unpack(case)
      if not is_known(arch) then return pending("this NVRTC does not know " .. arch) end
      local kernel = require "lutile.cuda".compile(options(p, arch))
      assert.equal(0, cubin.stack_bytes(kernel:image()))
    end)
  end
end)

local function sass(p, arch)
  local kernel = require "lutile.cuda".compile(options(p, arch))
  local file = command.file(kernel:image())
  local pipe = io.popen("cuobjdump -sass " .. command.quote(file))
  local text = pipe:read "a"
  pipe:close()
  os.remove(file)
  return text
end

local function check_lacks(text, instructions)
  for _, instruction in ipairs(instructions) do
    assert.is_nil(text:find("%f[%u]" .. instruction .. "%f[%U]"), instruction)
  end
end

local has_all = support.has_compiler and support.has_program "cuobjdump"
local it_shows = has_all and it or function(name) pending(name .. " (no NVRTC or cuobjdump)") end

describe("gemm_sm80 in machine code", function()
  for what, case in pairs {
    ["no promises"] = { "sm_80", gemm(80, "f16", "f16", "k", "k", 1) },
    ["promises of two elements"] = { "sm_80", gemm(80, "f16", "f16", "k", "k", 2) },
    ["whole vectors"] = { "sm_80", gemm(80, "f16", "f16", "k", "k", 8) },
    ["tf32 word by word"] = { "sm_80", gemm(80, "tf32", "f32", "row", "row", 4) },
    ["tf32 for 10.0"] = { "sm_100a", gemm(100, "tf32", "f32", "row", "k", 4) },
    ["tf32 for 12.0"] = { "sm_120a", gemm(120, "tf32", "f32", "k", "row", 4) },
    ["tf32 of no promises for 10.0"] = { "sm_100a", gemm(100, "tf32", "f32", "k", "k", 1) },
    ["no promises, sixteen warps"] = { "sm_90a", gemm(90, "bf16", "bf16", "k", "k", 1,
      { template = "gemm_sm80.cu" }) },
    ["no promises, contiguous along m, n"] = { "sm_86", gemm(86, "f16", "f16", "row", "row", 1) },
    ["bytes, no promises"] = { "sm_89", gemm(89, "s8", "s32", "k", "k", 1) },
    ["bytes gathered"] = { "sm_80", gemm(80, "s8", "s32", "row", "row", 16) },
  } do
    it_shows("keeps registers out of memory: " .. what, function()
      local arch, p = table.unpack(case)
      if not is_known(arch) then return pending("this NVRTC does not know " .. arch) end
      local text = sass(p, arch)
      assert.truthy(text:find "[HI]MMA")
      check_lacks(text, { "STL", "LDL" })
    end)
  end
end)

describe("gemm_sm120 in machine code", function()
  local template = { template = "gemm_sm120.cu" }
  for what, case in pairs {
    ["f16"] = { "sm_90a", gemm(90, "f16", "f16", "k", "k", 8, template) },
    ["contiguous along m and n, C is read"] = { "sm_90a", gemm(90, "f16", "f16", "row", "row", 8,
      { template = "gemm_sm120.cu", beta = true, bias = "row" }) },
    ["tf32"] = { "sm_90a", gemm(90, "tf32", "f32", "k", "k", 4, template) },
    ["tf32 for 10.0"] = { "sm_100a", gemm(100, "tf32", "f32", "k", "k", 4) },
    ["f16 for 12.0"] = { "sm_120a", gemm(120, "f16", "f16", "k", "k", 8) },
    ["sums of f16, a bias"] = { "sm_90a", gemm(90, "f16", "f16", "k", "k", 8,
      { template = "gemm_sm120.cu", tile = { 128, 256, 64 }, acc = "f16", bias = "column" }) },
    ["registers move, for 12.0"] = { "sm_120a", gemm(120, "s8", "s32", "k", "k", 16,
      { tile = { 128, 128, 128 }, warps = { 2, 4 }, beta = true }) },
    ["C is read, for 12.0"] = { "sm_120a", gemm(120, "f16", "f16", "k", "k", 8,
      { beta = true, bias = "row" }) },
    ["small tiles, C is read"] = { "sm_90a", gemm(90, "bf16", "f32", "k", "k", 8,
      { template = "gemm_sm120.cu", tile = { 64, 64, 64 }, beta = true, bias = "column" }) },
  } do
    it_shows("is by TMA, and keeps registers out of memory: " .. what, function()
      local arch, p = table.unpack(case)
      if not is_known(arch) then return pending("this NVRTC does not know " .. arch) end
      local text = sass(p, arch)
      assert.truthy(text:find "[HI]MMA")
      assert.truthy(text:find "UTMALDG")
      check_lacks(text, { "LDGSTS", "LDL", "STL", "CALL" })
      assert.equal(p.registers[2] > 0, text:find "USETMAXREG" ~= nil)
    end)
  end
end)

describe("chained_gemm in machine code", function()
  it_shows("moves no accumulators: no shuffle, no store to shared or local memory", function()
    local text = sass(chained(80, "f16", 64, "k", 8), "sm_80")
    assert.truthy(text:find "HMMA")
    assert.truthy(text:find "LDGSTS")
    check_lacks(text, { "SHFL", "STS", "STL", "LDL", "MOVM" })
  end)
end)
