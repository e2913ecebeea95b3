-- Where memory runs out, with a driver that only pretends: garbage is collected once, what needed
-- memory is tried again, and an error that is left has the figures.

local support = require "spec.support.cuda"

local it_pretends = support.with_fake(it, pending)

-- 10 MiB that the script has no use for, when 'act' needs memory.
local SCRIPT = [[
local lutile = require "lutile"
local cuda = require "lutile.cuda"
local k = cuda.compile { name = "f", source = 'extern "C" __global__ void f(int *p) {}' }
local held = cuda.tensor("u8", 1 << 20)
local h, s = cuda.pinned("s32", 4), cuda.stream()
local function act()
  %s
end
collectgarbage "stop"
do local garbage = cuda.alloc(10 << 20) end
local ok, message = pcall(act)
print(ok and "no error" or message:match "^[^\n]-:%%d+: (.*)$" or message)
print(cuda.used())
]]

-- In turn: the call of the driver, how often it was made before, and what the script does.
local CASES = {
  { "cuMemAlloc_v2", 2, "cuda.alloc(8)", "for 8 bytes on device 0" },
  { "cuMemHostRegister_v2", 1, "cuda.pinned('u8', 100)", "for 4096 bytes of the host" },
  { "cuModuleLoadData", 1, "cuda.compile { name = 'g', source = "
    .. "'extern \"C\" __global__ void g(int *p) {}' }:launch {} (nil)",
    "for kernel 'g', compiled for sm_80" },
  { "cuStreamCreate", 1, "cuda.stream()" },
  { "cuEventCreate", 0, "cuda.event()" },
  { "cuStreamBeginCapture_v2", 0, "s:capture(function() end)" },
  { "cuGraphInstantiateWithFlags", 0, "s:capture(function() end)" },
  { "cuGraphLaunch", 0, "s:capture(function() end):launch(s)" },
  { "cuLaunchKernel", 0, "k:launch {} (nil)",
    "for kernel 'f', grid 1 x 1 x 1, block 1 x 1 x 1, shared 0" },
  { "cuLaunchKernelEx", 0, "k:launch { cooperative = true } (nil)",
    "for kernel 'f', grid 1 x 1 x 1, block 1 x 1 x 1, shared 0" },
  { "cuMemcpyHtoDAsync_v2", 0, "cuda.copy(h, held(lutile.parse '4:1'), s)", "for 16 bytes",
    setup = "held = cuda.tensor('s32', 1 << 18)" },
  { "cuMemsetD8Async", 0, "held.data:fill(0)", "for 1048576 bytes" },
}

local function run(case, times, more)
  local fail = ("%s=2,%d%s"):format(case[1], case[2] + 1, times == 1 and "-" .. case[2] + 1 or "")
  local chunk = SCRIPT:format(case[3])
  if case.setup then chunk = chunk:gsub("\nlocal function act", "\n" .. case.setup .. "%0") end
  local result = support.run_with_fake((more or "") .. chunk, { FAKE_CUDA_FAIL = fail })
  assert.equal("", result.err)
  return support.lines(result.out), result.log
end

describe("a shortage of memory", function()
  for _, case in ipairs(CASES) do
    local name = case[1]:gsub("_v2$", ""):gsub("WithFlags$", "")
    it_pretends("in " .. name .. " collects garbage, and all goes well after", function()
      local out = run(case, 1)
      assert.equal("no error", out[1])
      assert.is_true(tonumber(out[2]) < 10 << 20)
    end)
    it_pretends("in " .. name .. " is an error with figures where that is not enough", function()
      local out = run(case)
      assert.equal(("%s: CUDA_ERROR_OUT_OF_MEMORY (out of memory)%s; device 0 has 1072693248 of "
        .. "1073741824 bytes free, 1048576 are held here"):format(name,
        case[4] and " " .. case[4] or ""), out[1])
      assert.equal("1048576", out[2])
    end)
  end

  it_pretends("in making a context is an error without figures, which nobody knows", function()
    local result = support.run_with_fake([[
print(select(2, pcall(require "lutile.cuda".alloc, 8)):match ": (.*)")
]], { FAKE_CUDA_FAIL = "cuDevicePrimaryCtxRetain=2" })
    assert.equal("cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (out of memory) for "
      .. "device 0\n", result.out)
  end)

  -- The finalizer loads the very kernel that is being loaded.
  it_pretends("is outlived by finalizers that use what is being made", function()
    local out, log = run(CASES[3], 1, [[
local cuda = require "lutile.cuda"
setmetatable({}, { __gc = function()
  local g = cuda.compile { name = "g", source = 'extern "C" __global__ void g(int *p) {}' }
  g:launch {} (nil)
  coroutine.wrap(function() cuda.alloc(8) end)()
end })
]])
    assert.equal("no error", out[1])
    assert.equal(2, support.count(log, "launch 1x1x1 1x1x1 0"))
    assert.equal(support.count(log, "load"), support.count(log, "unload"))
  end)

  it_pretends("is met in a coroutine", function()
    local out = run({ "cuEventCreate", 0, "coroutine.wrap(function() cuda.event() end)()" }, 1)
    assert.equal("no error", out[1])
  end)
end)
