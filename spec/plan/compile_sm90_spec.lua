-- NVRTC takes what gemm_sm90 plans for each type and schedule; sums stay in registers, and are made
-- by MMAs of warpgroups that the compiler does not wait for one by one.

local command = require "spec.support.command"
local cubin = require "spec.support.cubin"
local gemm_sm90 = require "lutile.plan.gemm_sm90"
local support = require "spec.support.cuda"

local function compile(p) return require "lutile.cuda".compile(p:compile_options(nil, "sm_90a")) end

local CASES = {
  { "shared", { dtype = "f16" }, "HGMMA" },
  { "in turn", { dtype = "f16", ping_pong = true, skew = 1000 }, "HGMMA" },
  { "tiles in parts, C and a bias", { dtype = "bf16", splits = 4, reads_c = true, bias = "row" },
    "HGMMA" },
  { "176 columns in turn, in pairs", { dtype = "f16", tile = { 128, 176 }, ping_pong = true,
    cluster = { 2, 1 } }, "HGMMA" },
  { "176 columns in turn, C", { dtype = "tf32", tile = { 128, 176 }, ping_pong = true,
    reads_c = true }, "HGMMA" },
  { "160 columns in turn, C", { dtype = "e4m3", out = "f16", tile = { 128, 160 },
    ping_pong = true, reads_c = true, cluster = { 2, 1 } }, "QGMMA" },
  { "three warpgroups, C and a bias", { dtype = "s8", tile = { 192, 128 }, reads_c = true,
    bias = "column" }, "IGMMA" },
  { "the widest in turn", { dtype = "bf16", tile = { 128, 192 }, ping_pong = true, splits = 4 },
    "HGMMA" },
  { "shared, clusters, row-major", { dtype = "f16", tile = { 128, 256 }, cluster = { 2, 1 },
    a_major = "row", b_major = "row" }, "HGMMA" },
  { "three warpgroups", { dtype = "f16", tile = { 192, 192 }, dependent = true }, "HGMMA" },
  { "three warpgroups, in parts of lines of 2 bytes", { dtype = "tf32", out = "u8",
    tile = { 192, 192 }, splits = 6, d_align = 2 }, "HGMMA" },
  { "three warpgroups in turn", { dtype = "s8", out = "f16", tile = { 256, 48 }, consumers = 3,
    ping_pong = true }, "IGMMA" },
  { "one warpgroup, few rows", { dtype = "bf16", tile = { 64, 64 }, most_rows = 16 }, "HGMMA" },
  { "sums of f16", { dtype = "f16", acc = "f16", splits = 2 }, "HGMMA" },
  { "tf32", { dtype = "tf32", splits = 2 }, "HGMMA" },
  { "e4m3 by e5m2 in runs", { dtype = "e4m3", dtype_b = "e5m2", out = "f16", promote = 4,
    scales = true }, "QGMMA" },
  { "runs of the widest, in parts", { dtype = "e4m3", dtype_b = "e5m2", out = "f16",
    tile = { 128, 192 }, promote = 4, splits = 4, bias = "row" }, "QGMMA" },
  { "groups of the widest in turn, lines of 2 bytes", { dtype = "f16", tile = { 128, 192 },
    ping_pong = true, grouped = true, bias = "row", d_align = 2 }, "HGMMA" },
  { "groups of the widest in turn, C", { dtype = "f16", tile = { 128, 192 }, ping_pong = true,
    grouped = true, reads_c = true }, "HGMMA" },
  { "groups of the widest in turn, a bias", { dtype = "bf16", tile = { 128, 192 },
    ping_pong = true, grouped = true, bias = "column" }, "HGMMA" },
  { "groups of the widest in turn, C and a bias", { dtype = "e4m3", out = "u8", d_align = 4,
    tile = { 256, 96 }, ping_pong = true, grouped = true, reads_c = true, bias = "column" },
    "QGMMA" },
  { "bytes, the largest in pairs, C", { dtype = "s8", tile = { 256, 192 }, cluster = { 2, 1 },
    reads_c = true }, "IGMMA" },
  { "the widest in turn, in parts, C, scales", { dtype = "f16", out = "f16", splits = 4,
    tile = { 128, 192 }, ping_pong = true, reads_c = true, scales = true, cluster = { 2, 1 } },
    "HGMMA" },
  { "the widest in turn, written by threads", { dtype = "f16", out = "e4m3", scales = true,
    tile = { 128, 192 }, ping_pong = true, d_align = 8, cluster = { 4, 1 } }, "HGMMA" },
  { "the widest runs", { dtype = "e4m3", out = "f16", tile = { 64, 208 }, promote = 4,
    reads_c = true }, "QGMMA" },
  { "three warpgroups in turn, in parts, and C", { dtype = "tf32", out = "bf16", tile = { 128, 96 },
    consumers = 3, ping_pong = true, splits = 4, reads_c = true }, "HGMMA" },
  { "e5m2 to e4m3", { dtype = "e5m2", out = "e4m3", tile = { 128, 160 } }, "QGMMA" },
  { "bytes", { dtype = "s8", dtype_b = "u8", splits = 2 }, "IGMMA" },
  { "bytes to bytes", { dtype = "u8", out = "u8", bias = "column" }, "IGMMA" },
  { "groups", { dtype = "bf16", grouped = true, reads_c = true }, "HGMMA" },
  { "lines of 8 bytes", { dtype = "f16", d_align = 8 }, "HGMMA" },
}

describe("NVRTC compiles gemm_sm90", function()
  local it_compiles = support.with_compiler(it, pending)
  for _, case in ipairs(CASES) do
    it_compiles("without local memory: " .. case[1], function()
      assert.equal(0, cubin.stack_bytes(compile(gemm_sm90.new(case[2])):image()))
    end)
  end

  it_compiles("and local memory is seen where there is some", function()
    local kernel = require "lutile.cuda".compile { arch = "sm_90a", name = "shuffle",
      source = [[extern "C" __global__ void shuffle(int *p, int n) {
        int a[64];
        for (int i = 0; i < 64; i++) a[i] = p[i];
        for (int i = 0; i < n; i++) p[i] = a[p[i] & 63];
      }]] }
    assert.equal(256, cubin.stack_bytes(kernel:image()))
  end)
end)

describe("gemm_sm90 in machine code", function()
  local function sass(p)
    local file = command.file(compile(p):image())
    local pipe = io.popen("cuobjdump -sass " .. command.quote(file))
    local text = pipe:read "a"
    pipe:close()
    os.remove(file)
    return text
  end

  local has_all = support.has_compiler and support.has_program "cuobjdump"
  local it_shows = has_all and it or function(name) pending(name .. " (no NVRTC or cuobjdump)") end
  for _, case in ipairs(CASES) do
    local what, options, instruction = table.unpack(case)
    it_shows(("has %s, and neither MMAs of warps nor local memory: %s"):format(instruction, what),
      function()
        local p = gemm_sm90.new(options)
        local text = sass(p)
        assert.truthy(text:find(instruction))
        assert.truthy(text:find "UTMALDG")
        for _, name in ipairs { "HMMA", "QMMA", "IMMA", "STL", "LDL" } do
          assert.is_nil(text:find("%f[%u]" .. name .. "%f[%U]"), name)
        end
        -- For a stage where consumers share tiles, else for the stage before and for all at the
        -- end: none for an MMA by itself.
        local _, waits = text:gsub("WARPGROUP%.DEPBAR", "")
        assert.equal(p.sharers > 1 and 1 or 2, waits)
      end)
  end
end)
