-- Every call of the driver made to fail in turn, with a driver that only pretends: what needed it
-- raises CUDA's name for the error and the call, or does without; nothing else comes of it.

local support = require "spec.support.cuda"

local it_pretends = support.with_fake(it, pending)

-- All that can be done with two devices.
local SCRIPT = [[
local lutile = require "lutile"
local cuda = require "lutile.cuda"
local driver = require "lutile.cuda.driver"
local function step(name, f, ...)
  local ok, result = pcall(f, ...)
  if not ok then print(name .. ": " .. tostring(result):match "^[^\n]*") end
  return ok and result or nil
end
step("available", function()
  local there, why = cuda.available()
  if not there then error(why, 0) end
end)
step("device", function() return cuda.device(1) end)
step("memory", function() cuda.memory() end)
local a = step("tensor", function() return cuda.tensor("f32", 64) end)
local k = step("compile", function()
  return cuda.compile { name = "f", arch = "sm_80", source =
    'extern "C" __global__ void f(int *p, int n) {}' }
end)
if a then
  step("fill", function() a.data:fill(0) end)
  step("to host", function() return a:to_host() end)
  step("to device", function() return lutile.make_tensor("f32", 64):to(cuda) end)
  step("move", function() driver.move(a.data, 0, a.data, 128, 128) end)
end
step("pinned", function() return cuda.pinned("f32", 64):to(cuda) end)
local s = step("stream", function() return cuda.stream() end)
local e = step("event", function() return cuda.event() end)
if s and e then
  step("record", function() e:record(s) end)
  step("wait", function() s:wait(e) end)
  step("query", function() return s:query(), e:query() end)
  step("elapsed", function() return e:elapsed(e) end)
  step("synchronize", function() s:synchronize() e:synchronize() end)
end
if k then
  step("resources", function() return k:resources() end)
  step("occupancy", function() return k:occupancy(128, 60000) end)
  step("launch", function() k:launch { shared = 50000 } (nil, 1) end)
  step("repeated", function() for i = 1, 20 do k:launch {} (nil, i) end end)
  step("cluster", function() for i = 1, 20 do k:launch { grid = 2, cluster = 2 } (nil, i) end end)
  if s then
    local g = step("capture", function()
      return s:capture(function() k:launch { stream = s } (nil, 1) end)
    end)
    if g then
      step("replay", function() g:launch(s) end)
      step("update", function() g:update(s, function() k:launch { stream = s } (nil, 2) end) end)
    end
  end
end
step("peer", function()
  local one, other = cuda.device(0), cuda.device(1)
  if one:can_access_peer(other) then one:enable_peer(other) end
  local there = cuda.tensor("f32", 64, other)
  if a then cuda.copy(a, there) end
end)
step("all", function() cuda.synchronize() end)
collectgarbage()
print "end"
]]

local QUIET = { -- what can fail without a word: it was asked for in passing, or while cleaning up
  cuCtxPopCurrent_v2 = true, cuDevicePrimaryCtxRelease_v2 = true, cuDriverGetVersion = true,
  cuEventDestroy_v2 = true, cuFuncGetParamInfo = true,
  cuGetErrorName = true, cuGetErrorString = true, cuGraphAddKernelNode_v2 = true,
  cuGraphCreate = true, cuGraphDestroy = true, cuGraphExecDestroy = true,
  cuGraphExecKernelNodeSetParams_v2 = true, cuGraphExecUpdate_v2 = true,
  cuGraphKernelNodeSetAttribute = true, cuMemFree_v2 = true, cuMemHostUnregister = true,
  cuModuleUnload = true, cuStreamDestroy_v2 = true, cuStreamIsCapturing = true,
  cuTensorMapEncodeTiled = true, cuThreadExchangeStreamCaptureMode = true,
}

local function calls()
  local names = {}
  for line in io.lines "spec/cuda/fake_driver.c" do
    names[#names + 1] = line:match "^API int (cu[%w_]+)%("
  end
  return names
end

-- One cache for all, so that nothing is compiled twice.
local folder = setmetatable({ name = support.new_folder() }, { __gc = function(folder)
  support.remove_folder(folder.name)
end })

local function run(failing)
  local result = support.run_with_fake(SCRIPT, { FAKE_CUDA_FAIL = failing, FAKE_CUDA_DEVICES = 2,
    FAKE_CUDA_ARGUMENTS = "8,4", LUTILE_CACHE = folder.name })
  assert.equal(0, result.code, result.err)
  assert.equal("", result.err)
  assert.matches("end\n$", result.out)
  return result.out
end

describe("a driver whose", function()
  it_pretends("calls all work is used to the end", function()
    assert.equal("end\n", run "")
  end)

  for _, call in ipairs(calls()) do
    it_pretends(call .. " fails is reported by that name", function()
      local out = run(call .. "=304")
      local name = call:gsub("_v2$", ""):gsub("WithFlags$", "")
      if QUIET[call] then return end
      assert.truthy(out:find(name .. ": CUDA_ERROR_OPERATING_SYSTEM (OS call failed)", 1, true)
        or call == "cuInit" and out:find("CUDA_ERROR_OPERATING_SYSTEM", 1, true), out)
    end)
    it_pretends(call .. " fails after a while leaves no crash behind", function()
      run(call .. "=304,3")
    end)
  end
end)
