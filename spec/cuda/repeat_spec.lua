-- Launches that repeat go through graphs of one kernel; with a driver that only pretends.

local support = require "spec.support.cuda"

local it_pretends = support.with_fake(it, pending)

local REPEATED = 16 -- launches before there is a graph

local PRELUDE = [[
local lutile = require "lutile"
local cuda = require "lutile.cuda"
local k = cuda.compile { name = "f", source = 'extern "C" __global__ void f(int *p, int n) {}' }
local p = cuda.tensor("s32", 4)
local function repeated(count, options, from)
  local run = k:launch(options or {})
  for i = 1, count do run(p, from and from + i or 7) end
end
]]

local function run(chunk, settings)
  settings = settings or {}
  settings.FAKE_CUDA_ARGUMENTS = settings.FAKE_CUDA_ARGUMENTS or "8,4"
  local result = support.run_with_fake(PRELUDE .. chunk, settings)
  if result.code ~= 0 then error(result.err .. result.out, 2) end
  return result.log, result.out
end

local function count(log, pattern)
  local n = 0
  for _, line in ipairs(log) do if line:find(pattern) then n = n + 1 end end
  return n
end

-- Launches by themselves, and through graphs.
local function launches(log) return count(log, "^launch %d"), count(log, "^launch graph") end

local function check_destroyed(log)
  assert.equal(count(log, "^create graph"), count(log, "^destroy graph"))
  assert.equal(count(log, "^instantiate"), count(log, "^destroy executable"))
end

describe("a launch that repeats", function()
  it_pretends("is by itself at first, then through a graph", function()
    local log, out = run(("repeated(%d) repeated(10) print(cuda.statistics().launches)"):format(
      REPEATED))
    assert.same({ REPEATED, 10 }, { launches(log) })
    assert.equal(("%d\n"):format(REPEATED + 10), out)
    assert.equal(1, count(log, "^instantiate"))
    check_destroyed(log)
  end)

  it_pretends("gets new arguments only where they differ", function()
    local log = run(("repeated(%d) repeated(5) repeated(3, nil, 0x100)"):format(REPEATED + 1))
    assert.equal(3, count(log, "^set node 1x1x1 1x1x1 0"))
    local values = {}
    for _, line in ipairs(log) do
      values[#values + 1] = line:match "^argument (%x%x %x%x %x%x %x%x)$"
    end
    assert.same({ "01 01 00 00", "02 01 00 00", "03 01 00 00" },
      { table.unpack(values, #values - 2) })
    assert.equal("07 00 00 00", values[#values - 3])
  end)

  for _, case in ipairs {
    { "on another stream", "{ stream = s }" }, { "of another grid", "{ grid = 2 }" },
    { "of another block", "{ block = { 1, 2 } }" }, { "of other memory", "{ shared = 8 }" },
    { "in clusters", "{ grid = 8, cluster = 4 }" },
  } do
    it_pretends(case[1] .. " has a graph of its own", function()
      local log = run(([[
local s = cuda.stream()
repeated(20)
repeated(20, %s)
repeated(20)
]]):format(case[2]))
      assert.same({ 2 * REPEATED, 60 - 2 * REPEATED }, { launches(log) })
      assert.equal(2, count(log, "^instantiate"))
    end)
  end

  it_pretends("keeps its clusters", function()
    local log = run "repeated(20, { grid = 8, cluster = { 4, 1, 1 } })"
    assert.equal(1, count(log, "^node 8x1x1 1x1x1 0$"))
    assert.equal(1, count(log, "^node attribute 4 = 4x1x1$"))
  end)

  it_pretends("is itself where a stream records it", function()
    local log = run [[
local s = cuda.stream()
repeated(20, { stream = s })
local g = s:capture(function() repeated(5, { stream = s }) end)
repeated(2, { stream = s })
g:launch(s)
]]
    assert.same({ REPEATED + 5, 4 + 2 + 1 }, { launches(log) })
    log = run("repeated(40)", { FAKE_CUDA_CAPTURING = 1 })
    assert.same({ 40, 0 }, { launches(log) })
    assert.equal(0, count(log, "^create graph"))
  end)

  it_pretends("is itself where launches depend on others, and where it is cooperative", function()
    local log = run "repeated(20, { cooperative = true })"
    assert.equal(0, count(log, "^launch graph"))
    log = run "repeated(20) repeated(1, { dependent = true }) repeated(20)"
    assert.same({ REPEATED + 21, 4 }, { launches(log) })
  end)

  it_pretends("has one of a bounded number of graphs", function()
    local log = run [[
for grid = 1, 300 do repeated(25, { grid = grid }) end
for _ = 1, 20 do
  for grid = 1, 300 do repeated(1, { grid = grid }) end
end
]]
    local live, most = 0, 0
    for _, line in ipairs(log) do
      if line == "instantiate" then live = live + 1 end
      if line == "destroy executable" then live = live - 1 end
      most = math.max(most, live)
    end
    local plain, replayed = launches(log)
    assert.equal(300 * 45, plain + replayed)
    assert.is_true(most <= 64)
    assert.is_true(replayed > 0)
    check_destroyed(log)
  end)

  for _, call in ipairs { "cuFuncGetParamInfo", "cuGraphCreate", "cuGraphAddKernelNode_v2",
    "cuGraphInstantiateWithFlags", "cuThreadExchangeStreamCaptureMode", "cuGraphLaunch",
    "cuStreamIsCapturing" } do
    it_pretends("is by itself, without an error, where " .. call .. " fails", function()
      local log, out = run("repeated(40) print(cuda.statistics().launches)",
        { FAKE_CUDA_FAIL = call .. "=2" })
      assert.same({ 40, 0 }, { launches(log) })
      assert.equal("40\n", out)
      assert.is_true(count(log, "^instantiate") <= 1)
      check_destroyed(log)
    end)
  end

  it_pretends("is by itself where new arguments, clusters or a later launch are refused", function()
    local log = run("repeated(20) repeated(10, nil, 1)",
      { FAKE_CUDA_FAIL = "cuGraphExecKernelNodeSetParams_v2=1" })
    assert.same({ REPEATED + 10, 4 }, { launches(log) })
    check_destroyed(log)
    log = run("repeated(40, { grid = 2, cluster = 2 })",
      { FAKE_CUDA_FAIL = "cuGraphKernelNodeSetAttribute=1" })
    assert.equal(0, count(log, "^launch graph"))
    check_destroyed(log)
    log = run("repeated(40)", { FAKE_CUDA_FAIL = "cuGraphLaunch=2,5" })
    assert.same({ 40 - 4, 4 }, { launches(log) })
    check_destroyed(log)
  end)

  it_pretends("is by itself where the driver does not say what its parameters are", function()
    local log = run("repeated(40)", { FAKE_CUDA_ARGUMENTS = "" })
    assert.is_true(count(log, "^launch") == 40)
  end)

  it_pretends("raises what its own launch does", function()
    local _, out = run([[
local run = k:launch { grid = 3 }
for i = 1, 20 do
  local ok, message = pcall(run, p, i)
  if not ok then print(i, (message:gsub("^%S+:%d+: ", ""))) end
end
]], { FAKE_CUDA_FAIL = "cuLaunchKernel=1,5;cuGraphLaunch=700" })
    local lines = {}
    for i = 5, 20 do
      lines[#lines + 1] = ("%d\tcuLaunchKernel: CUDA_ERROR_INVALID_VALUE (invalid argument) for "
        .. "kernel 'f', grid 3 x 1 x 1, block 1 x 1 x 1, shared 0\n"):format(i)
    end
    assert.equal(table.concat(lines), out)
  end)
end)
