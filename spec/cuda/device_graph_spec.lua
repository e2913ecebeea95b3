-- Graphs and copies that do not wait, on a device: pending, by name, where there is none.

local lutile = require "lutile"
local support = require "spec.support.cuda"
local command = require "spec.support.command"

local cuda = require "lutile.cuda"
local it_runs = support.with_device(it, pending)

local function kernel(parameters, body)
  return cuda.compile { name = "f",
    source = ('extern "C" __global__ void f(%s) {\n%s\n}\n'):format(parameters, body) }
end

-- Specs leave nothing behind.
local function collect()
  collectgarbage()
  collectgarbage()
end

describe("on a device,", function()
  local before
  before_each(function()
    collect()
    before = cuda.used()
  end)
  after_each(function()
    collect()
    assert.equal(before, cuda.used())
  end)

  -- Work that takes long enough to be still under way when the host goes on.
  local function slow_kernel()
    return kernel("int *p, int x, long long cycles", [[
  const long long start = clock64();
  while (clock64() - start < cycles) {}
  p[threadIdx.x] = p[threadIdx.x] * 10 + x;]])
  end

  it_runs("copies from and to pinned memory do not wait", function()
    local k = slow_kernel()
    local s <close> = cuda.stream()
    local h, d = cuda.pinned("s32", 64), cuda.tensor("s32", 64)
    for i = 0, 63 do h[i] = i end
    local run = k:launch { stream = s, block = 64 }
    run(d, 0, 1) -- loaded
    s:synchronize()
    run(d, 0, 200000000)
    cuda.copy(h, d, s)
    run(d, 7, 1)
    cuda.copy(d, h, s)
    assert.is_false(s:query())
    s:synchronize()
    for i = 0, 63 do assert.equal(10 * i + 7, h(i)) end
  end)

  it_runs("a graph copies, fills, forks, and keeps all memory that it uses", function()
    local k = slow_kernel()
    local s <close> = cuda.stream()
    local from, to = cuda.pinned("s32", 64), cuda.pinned("s32", 64)
    local g <close> = s:capture(function()
      local other, event = cuda.stream(), cuda.event()
      local filled, copied = cuda.tensor("s32", 64), cuda.tensor("s32", 64)
      other:wait(event:record(s))
      filled.data:fill(0, other)
      k:launch { stream = other, block = 64 } (filled, 3, 1000)
      cuda.copy(from, copied, s)
      s:wait(event:record(other))
      k:launch { stream = s, block = 64 } (copied, 4, 1000)
      cuda.copy(filled, copied, s)
      k:launch { stream = s, block = 64 } (copied, 5, 1000)
      cuda.copy(copied, to, s)
    end)
    collect()
    for _ = 1, 8 do cuda.tensor("s32", 64).data:fill(0xff) end -- where freed memory would be had
    for _ = 1, 3 do
      g:launch(s)
      s:synchronize()
      for i = 0, 63 do assert.equal(35, to(i)) end
    end
  end)

  it_runs("a graph reads pinned memory when it is launched, through a buffer between", function()
    local s <close> = cuda.stream()
    local from, d = cuda.pinned("f32", { 8, 4 }), cuda.tensor("f32", lutile.parse "(8,4):(4,1)")
    local g <close> = s:capture(function() cuda.copy(from, d, s) end)
    collect()
    for x = 1, 2 do
      for i = 0, 31 do from[i] = x * i end
      g:launch(s)
      local got = d:to_host(s)
      for i = 0, 31 do assert.equal(x * i + 0.0, got(i)) end
    end
  end)

  -- Freed memory, other streams and kernels that are not loaded yet do not end a recording.
  it_runs("a stream records while memory is had and freed, and kernels are loaded", function()
    local s <close> = cuda.stream()
    local other <close> = cuda.stream()
    local p = cuda.tensor("s32", 1)
    p.data:fill(0)
    local g <close> = s:capture(function()
      cuda.alloc(1 << 20)
      cuda.pinned("u8", 1 << 20)
      collect()
      local k = kernel("int *p, int x", "p[0] += 1000 * x;")
      k:launch { stream = s } (p, 3)
      k:launch { stream = other } (p, 4)
      other:synchronize()
      lutile.make_tensor("f32", 4):to(cuda)
      collect()
    end)
    assert.equal(4000, p:to_host()(0))
    g:launch(s)
    assert.equal(7000, p:to_host(s)(0))
  end)

  it_runs("what cannot be recorded is refused, and the recording goes on", function()
    local k = slow_kernel()
    local s <close> = cuda.stream()
    local d, host = cuda.tensor("s32", 64), lutile.make_tensor("s32", 64)
    local e <close> = cuda.event()
    local empty <close> = s:capture(function() end)
    local outside <close> = cuda.event()
    outside:record()
    d.data:fill(0)
    local g <close> = s:capture(function()
      for _, f in ipairs {
        function() cuda.copy(host, d, s) end, function() cuda.copy(d, host, s) end,
        function() d:to_host(s) end, function() s:synchronize() end, function() s:query() end,
        function() cuda.synchronize() end, function() e:record(s):synchronize() end,
        function() empty:launch(s) end, function() s:wait(outside) end,
      } do
        assert.is_false((pcall(f)))
      end
      k:launch { stream = s, block = 64 } (d, 9, 1)
    end)
    g:launch(s)
    assert.equal(9, d:to_host(s)(63))
  end)

  it_runs("memory that is freed while it is used is freed after", function()
    local k = slow_kernel()
    local s <close> = cuda.stream()
    local run = k:launch { stream = s, block = 64 }
    local d, h = cuda.tensor("s32", 64), cuda.pinned("s32", 64)
    run(d, 0, 1)
    s:synchronize()
    run(d, 0, 100000000)
    cuda.copy(d, h, s)
    h = nil
    collect() -- it is unpinned when the copy is done
    assert.is_true(s:query())
    assert.is_nil(h)
  end)

  it_runs("an illegal address names the graph, and its kernels", function()
    local result = command.run("-", [[
local cuda = lutile.cuda
local wild = cuda.compile { name = "wild", source =
  'extern "C" __global__ void wild(int *p) { p[1ll << 40] = 1; }' }
local good = cuda.compile { name = "good", source =
  'extern "C" __global__ void good(int *p) { *p = 1; }' }
local held, s = cuda.tensor("s32", 4), cuda.stream()
local g = s:capture(function() wild:launch { stream = s } (held) end)
good:launch { stream = s } (held)
g:launch(s)
print(select(2, pcall(s.synchronize, s)))
]], "LUTILE_CACHE=")
    assert.equal(0, result.code)
    assert.matches("CUDA_ERROR_ILLEGAL_ADDRESS .*the last launch was a graph on device 0, of "
      .. "kernel 'wild'; the device's context is lost", result.out)
  end)
end)
