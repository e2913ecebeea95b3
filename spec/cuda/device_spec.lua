-- What needs a device: pending, by name, where there is none.

local lutile = require "lutile"
local support = require "spec.support.cuda"
local command = require "spec.support.command"

local cuda = require "lutile.cuda"
local it_runs = support.with_device(it, pending)

local function kernel(parameters, body, more)
  local spec = { name = "f",
    source = ('extern "C" __global__ void f(%s) {\n%s\n}\n'):format(parameters, body) }
  for k, v in pairs(more or {}) do spec[k] = v end
  return cuda.compile(spec)
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

  it_runs("figures are those of a GPU that lutile is for", function()
    local d = cuda.device()
    assert.is_true(d.major * 10 + d.minor >= 75)
    assert.is_true(d.multiprocessors > 0 and d.memory > 1 << 30 and d.shared_memory == 49152)
    assert.is_true(d.shared_memory_most > d.shared_memory)
  end)

  for _, name in ipairs { "small_copy", "small_simt" } do
    it_runs(("%s is right"):format(name), function() dofile(("spec/cuda/%s.lua"):format(name)) end)
  end

  it_runs("a kernel sees layouts, values and arguments", function()
    local k = kernel("const float *x, int n, double scale, lutile::tensor<float, layout::A> a",
      [[
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.layout.size()) a(i) = scale * x[i] + n + value::more;]],
      { layouts = { A = lutile.parse "(?4,?8):(?8,1)" }, values = { more = 100 } })
    local x = lutile.make_tensor("f32", 32)
    for i = 0, 31 do x[i] = i end
    local a = cuda.tensor("f32", lutile.make_layout({ 4, 8 }, { 8, 1 }))
    k:launch { grid = 2, block = 16 } (x:to(cuda), 7, 2, a)
    local got = a:to_host()
    for i = 0, 31 do assert.equal(2.0 * i + 107, got(i)) end
  end)

  it_runs("launches with other sizes compile nothing", function()
    local k = kernel("lutile::tensor<int, layout::A> a", "a(threadIdx.x) = a.layout.size();",
      { layouts = { A = lutile.parse "?4:?1" } })
    local first
    for n = 1, 20 do
      local t = cuda.tensor("s32", lutile.make_layout(lutile.dyn(n), lutile.dyn(2)))
      k:launch { block = n } (t)
      assert.equal(n, t:to_host()(n - 1))
      first = first or cuda.statistics()
    end
    assert.equal(first.compiled, cuda.statistics().compiled)
    assert.equal(first.loads, cuda.statistics().loads)
    assert.equal(first.launches + 19, cuda.statistics().launches)
  end)

  it_runs("kernels of this library spill no registers", function()
    local copy = { layouts = { source = lutile.parse "(?64,?8,?3):(?8,1,?512)",
      target = lutile.parse "(?64,?8,?3):(1,?64,?512)" }, file = "copy_transposed.cu", index = 32,
      values = { bytes = 2, source_vector = 8, target_vector = 8, tile_a = 64, tile_b = 128,
        group = 16, streaming = true } }
    assert.equal(0, cuda.compile(copy):resources().local_memory)
    local p = lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f32", tile = { 64, 64, 16 } }
    local gemm = p:kernel(0)
    assert.is_true(gemm:resources().registers > 0)
    assert.is_true(gemm:occupancy(256) >= 1)
  end)

  -- After a while these go through graphs, each of which runs while it gets its next arguments.
  it_runs("launches that repeat keep their order and their arguments", function()
    local k = kernel("unsigned *p, unsigned x, long long cycles", [[
  const long long start = clock64();
  while (clock64() - start < cycles) {}
  p[0] = p[0] * 3 + x;]])
    local own <close> = cuda.stream()
    for _, stream in ipairs { false, own } do
      stream = stream or nil
      local p, wanted = cuda.tensor("s32", 2), 0
      p.data:fill(0, stream)
      local run = k:launch { stream = stream }
      for i = 1, 400 do
        if i % 7 == 0 then k:launch { stream = stream, block = 1, shared = 8 } (p, i, 0)
        else run(p, i % 5 == 0 and 1 or i, i % 3 * 20000) end
        wanted = (wanted * 3 + (i % 7 ~= 0 and i % 5 == 0 and 1 or i)) & 0xffffffff
      end
      assert.equal(wanted, p:to_host(stream)(0) & 0xffffffff)
    end
  end)

  it_runs("launches that repeat on several streams run side by side", function()
    local k = kernel("long long cycles", [[
  const long long start = clock64();
  while (clock64() - start < cycles) {}]])
    local streams, runs = {}, {}
    for i = 1, 4 do
      streams[i] = cuda.stream()
      runs[i] = k:launch { stream = streams[i] }
      for _ = 1, 30 do runs[i](1) end
    end
    local function time(cycles, count)
      cuda.synchronize()
      local first, last = cuda.event(), cuda.event()
      first:record(streams[1])
      for i = 1, count do runs[i](cycles) end
      for i = 2, count do streams[1]:wait(cuda.event():record(streams[i])) end
      last:record(streams[1])
      return first:elapsed(last)
    end
    local one, all = time(4000000, 1), time(4000000, 4)
    assert.is_true(all < 2 * one)
    for _, s in ipairs(streams) do s:close() end
  end)

  it_runs("a stream records launches that were repeated", function()
    local k = kernel("int *p, int x", "p[0] += x;")
    local p = cuda.tensor("s32", 1)
    local s <close> = cuda.stream()
    p.data:fill(0, s)
    local run = k:launch { stream = s }
    for _ = 1, 40 do run(p, 1) end
    local g <close> = s:capture(function()
      for _ = 1, 3 do run(p, 100) end
    end)
    for _ = 1, 2 do
      run(p, 1)
      g:launch(s)
    end
    assert.equal(642, p:to_host(s)(0))
  end)

  it_runs("launches in clusters repeat", function()
    if cuda.device().major < 9 then return end
    local k = kernel("int *p, int x", [[
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  p[blockIdx.x] = rank + x;]])
    local p = cuda.tensor("s32", 8)
    local run = k:launch { grid = 8, cluster = 4 }
    for x = 1, 40 do run(p, x) end
    local got = p:to_host()
    for i = 0, 7 do assert.equal(40 + i % 4, got(i)) end
  end)

  it_runs("streams run side by side, and wait for events", function()
    local k = kernel("int *p, int x", "p[0] = p[0] * 10 + x;")
    local s, t = cuda.stream(), cuda.stream()
    local p = cuda.tensor("s32", 1)
    p.data:fill(0, s)
    local start = cuda.event():record(s)
    k:launch { stream = s } (p, 1)
    local done = cuda.event():record(s)
    t:wait(done)
    k:launch { stream = t } (p, 2)
    assert.equal(12, p:to_host(t)(0))
    assert.is_true(start:elapsed(done) >= 0)
    assert.is_true(s:query())
    for _, x in ipairs { s, t, start, done } do x:close() end
  end)

  it_runs("a graph replays, and is updated", function()
    local k = kernel("int *p, int x", "p[0] += x;")
    local p = cuda.tensor("s32", 1)
    p.data:fill(0)
    cuda.synchronize()
    local s <close> = cuda.stream()
    local function work(x)
      return function(stream)
        for _ = 1, 3 do k:launch { stream = stream } (p, x) end
      end
    end
    local g <close> = s:capture(work(1))
    for _ = 1, 4 do g:launch(s) end
    assert.equal(12, p:to_host(s)(0))
    assert.is_true(g:update(s, work(10)))
    g:launch(s)
    assert.equal(42, p:to_host(s)(0))
  end)

  -- LT073
  it_runs("blocks get more shared memory than 48 KB", function()
    local k = kernel("int *p, int last", [[
  extern __shared__ int words[];
  __shared__ int few[4];
  few[threadIdx.x % 4] = 1;
  words[last] = 7;
  __syncthreads();
  p[0] = words[last] + few[0] - 1;]])
    local p = cuda.tensor("s32", 1)
    for _, bytes in ipairs { 49152, 60000 // 4 * 4 } do
      p.data:fill(0)
      k:launch { shared = bytes } (p, bytes // 4 - 1)
      assert.equal(7, p:to_host()(0))
    end
    local most = cuda.device().shared_memory_most
    local ok, message = pcall(k:launch { shared = most }, p, 0)
    assert.is_false(ok)
    assert.matches(("%d bytes of dynamic shared memory and 16 static are %d, where a block on "
      .. "device 0 has %d"):format(most, most + 16, most), message, 1, true)
  end)

  it_runs("clusters and dependent launches", function()
    if cuda.device().major < 9 then return end
    local k = kernel("int *p", [[
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("griddepcontrol.wait;" ::: "memory");
  p[blockIdx.x] = rank;]])
    local p = cuda.tensor("s32", 8)
    p.data:fill(0xff)
    local run = k:launch { grid = 8, cluster = 4, dependent = true }
    run(p)
    run(p)
    local got = p:to_host()
    for i = 0, 7 do assert.equal(i % 4, got(i)) end
  end)

  it_runs("tf32 is rounded as the machine rounds it, NaNs and infinities too", function()
    local k = kernel("unsigned *bits, int *wrong", [[
  const unsigned x = bits[threadIdx.x];
  unsigned ours = x, again = x, rounded;
  ptx::round_tf32(ours, again);
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "r"(x));
  const unsigned taken = ours & 0xffffe000u; // what mma sees of it
  const bool are_nans = (taken & rounded & 0x7f800000u) == 0x7f800000u &&
                        (taken & 0x7fffffu) && (rounded & 0x7fffffu);
  if (ours != again || (taken != rounded && !are_nans)) atomicAdd(wrong, 1);]],
      { prelude = '#include "ptx.cuh"' })
    local patterns = { 0, 1, 0xfff, 0x1000, 0x3f800fff, 0x3f801000, 0x3f802fff, 0x3f803000,
      0x7f7fefff, 0x7f7fffff, 0x7f800000, 0x7f802000, 0x7fc00000, 0x7fffefff, 0x7ffff000,
      0x7fffffff }
    for i = 1, 16 do patterns[16 + i] = patterns[i] | 1 << 31 end
    for i = 33, 256 do patterns[i] = math.random(0, 0xffffffff) end
    local bits = lutile.make_tensor("s32", 256)
    for i, x in ipairs(patterns) do bits[i - 1] = ("<i4"):unpack(("<I4"):pack(x)) end
    local wrong = cuda.tensor("s32", 1)
    wrong.data:fill(0)
    k:launch { block = 256 } (bits:to(cuda), wrong)
    assert.equal(0, wrong:to_host()(0))
  end)

  it_runs("pinned memory is copied by a stream of its own", function()
    local h = cuda.pinned("f32", lutile.parse "1000:1")
    for i = 0, 999 do h[i] = i end
    local s <close> = cuda.stream()
    local d = h:to(cuda, s)
    local back = d:to_host(s)
    for i = 0, 999 do assert.equal(i + 0.0, back(i)) end
    h, d = nil, nil
    assert.is_nil(h or d)
  end)

  -- LT051
  it_runs("garbage is collected when the device is full", function()
    cuda.limit(cuda.used() + (1 << 30))
    for _ = 1, 20 do
      local b = cuda.alloc(1 << 28)
      b:len()
    end
    cuda.limit(nil)
  end)

  it_runs("what does not fit raises with the figures", function()
    local _, total = cuda.memory()
    local ok, message = pcall(cuda.alloc, 2 * total)
    assert.is_false(ok)
    assert.matches("CUDA_ERROR_OUT_OF_MEMORY %(out of memory%) for %d+ bytes on device 0; device 0 "
      .. "has %d+ of %d+ bytes free, %d+ are held here", message)
  end)

  it_runs("an illegal address names the launch, and ends the process well", function()
    local result = command.run("-", [[
local k = lutile.cuda.compile { name = "wild", source =
  'extern "C" __global__ void wild(int *p) { p[1ll << 40] = 1; }' }
local held = lutile.cuda.tensor("s32", 4)
k:launch { grid = 3 } (held)
print(select(2, pcall(lutile.cuda.synchronize)))
print(pcall(lutile.cuda.tensor, "f32", 4))
]], "LUTILE_CACHE=")
    assert.equal(0, result.code)
    assert.matches("CUDA_ERROR_ILLEGAL_ADDRESS .*the last launch was kernel 'wild' on device 0, "
      .. "grid 3 x 1 x 1.*context is lost", result.out)
    assert.equal("", result.err)
  end)

  it_runs("a misfit of parameters is found", function()
    local ok, message = pcall(kernel, "twice_t x", "", { types = { ["twice_t"] = "f32" },
      prelude = "struct twice_t { float x, y; };" })
    if ok then return end -- a driver before CUDA 12.4 cannot say
    assert.matches("parameter 'x' of kernel 'f' has 8 bytes at 0", message)
  end)
end)
