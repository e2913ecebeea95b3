-- Two devices: copies between them, launches, streams and events of each, and memory that one
-- reaches on the other. Pending, by name, where there is one.

local lutile = require "lutile"
local support = require "spec.support.cuda"

local cuda = require "lutile.cuda"
local it_runs = support.with_two_devices(it, pending)

local parse = lutile.parse

local function kernel(parameters, body, device)
  return cuda.compile { name = "f", device = device,
    source = ('extern "C" __global__ void f(%s) {\n%s\n}\n'):format(parameters, body) }
end

local function numbers(dtype, layout)
  local t = lutile.make_tensor(dtype, parse(layout))
  for i = 0, lutile.size(t) - 1 do t[i] = (i * 37 + 11) % 119 - 50 end
  return t
end

local function check_equal(expected, got)
  for i = 0, lutile.size(expected) - 1 do assert.equal(expected(i), got(i)) end
end

local COPIES = {
  { "f32", "1000:1", "1000:1" }, { "f32", "(40,30):(1,40)", "(40,30):(30,1)" },
  { "f16", "(128,72):(1,128)", "(128,72):(72,1)" }, { "s8", "(7,5):(1,9)", "(5,7):(8,1)" },
  { "f16", "Sw<2,3,3> o 0 o (8,32):(32,1)", "(8,32):(1,8)" },
}

local function copies_are_right(stream)
  local one, other = cuda.device(0), cuda.device(1)
  for _, case in ipairs(COPIES) do
    local source = numbers(case[1], case[2])
    for _, way in ipairs { { one, other }, { other, one } } do
      local from = source:to(way[1])
      local on_target = stream and stream[way[2].index]
      local target = cuda.tensor(case[1], parse(case[3]), way[2])
      target.data:fill(0x7f, on_target)
      cuda.copy(from, target, on_target)
      check_equal(source, target:to_host(on_target))
      local moved = from:to(way[2], on_target)
      assert.equal(way[2].index, moved.data:device())
      check_equal(source, moved:to_host(on_target))
    end
  end
end

describe("of two devices,", function()
  it_runs("each copies to the other, without peer access", function() copies_are_right() end)

  it_runs("each copies to the other by streams", function()
    local streams = { [0] = cuda.stream(cuda.device(0)), cuda.stream(cuda.device(1)) }
    copies_are_right(streams)
    streams[0]:close()
    streams[1]:close()
  end)

  it_runs("each launches, with the kernel loaded once on each", function()
    local k = kernel("int *p, int x", "p[threadIdx.x] = x + threadIdx.x;")
    local loads = cuda.statistics().loads
    local streams = { [0] = cuda.stream(cuda.device(0)), cuda.stream(cuda.device(1)) }
    for device = 0, 1 do
      local p = cuda.tensor("s32", 32, cuda.device(device))
      local run = k:launch { block = 32, stream = streams[device] }
      for x = 1, 40 do run(p, x) end -- after a while, by a graph of this device
      local got = p:to_host(streams[device])
      for i = 0, 31 do assert.equal(40 + i, got(i)) end
    end
    assert.is_true(cuda.statistics().loads - loads <= 2)
    streams[0]:close()
    streams[1]:close()
  end)

  it_runs("a stream of one waits for an event of the other", function()
    local slow = kernel("int *p, long long cycles",
      "const long long t = clock64();\nwhile (clock64() - t < cycles) {}\np[0] = 7;")
    local s, t = cuda.stream(cuda.device(0)), cuda.stream(cuda.device(1))
    local p = cuda.tensor("s32", 1, cuda.device(0))
    local q = cuda.tensor("s32", 1, cuda.device(1))
    p.data:fill(0, s)
    slow:launch { stream = s } (p, 20000000)
    local done = cuda.event(cuda.device(0)):record(s)
    t:wait(done)
    require "lutile.cuda.driver".move(q.data, 0, p.data, 0, 4, t)
    assert.equal(7, q:to_host(t)(0))
    assert.is_true(done:query())
    local own = cuda.event(cuda.device(1)):record(t)
    assert.is_false(pcall(done.record, done, t))
    assert.is_false(pcall(done.elapsed, done, own))
    for _, x in ipairs { s, t, done, own } do x:close() end
  end)

  it_runs("one reaches the memory of the other when it is let", function()
    local one, other = cuda.device(0), cuda.device(1)
    local k = kernel("int *there, int *here, int n",
      "if (threadIdx.x < n) { here[threadIdx.x] = there[threadIdx.x];\n"
        .. "there[threadIdx.x] = -there[threadIdx.x]; }")
    local s = cuda.stream(other)
    local there = numbers("s32", "32:1"):to(one)
    local here = cuda.tensor("s32", 32, other)
    local ok, message = pcall(k:launch { block = 32, stream = s }, there, here, 32)
    assert.is_false(ok)
    assert.matches("it is on device 0, the launch on device 1 %(enable_peer", message)
    if other:can_access_peer(one) then
      other:enable_peer(one)
      other:enable_peer(one)
      local run = k:launch { block = 32, stream = s }
      for _ = 1, 40 do run(there, here, 32) end
      s:synchronize()
      check_equal(numbers("s32", "32:1"), there:to_host())
      local got, sent = here:to_host(s), numbers("s32", "32:1")
      for i = 0, 31 do assert.equal(-sent(i), got(i)) end
      copies_are_right()
    else
      assert.matches("^cuCtxEnablePeerAccess: ", select(2, pcall(other.enable_peer, other, one)))
    end
    s:close()
  end)

  it_runs("the count of memory is of each", function()
    collectgarbage()
    collectgarbage()
    local before, elsewhere = cuda.used(cuda.device(1)), cuda.used(cuda.device(0))
    local b = cuda.alloc(1 << 20, cuda.device(1))
    assert.equal((1 << 20) + before, cuda.used(cuda.device(1)))
    assert.equal(elsewhere, cuda.used(cuda.device(0)))
    b:free()
  end)
end)
