-- The runtime, with a driver that only pretends: memory, arguments, streams, graphs, errors.

local support = require "spec.support.cuda"
local command = require "spec.support.command"

local lines = support.lines
local it_pretends = support.with_fake(it, pending)

local PRELUDE = [[
local lutile = require "lutile"
local cuda = require "lutile.cuda"
local parse, make_tensor = lutile.parse, lutile.make_tensor
local function try(f, ...)
  local ok, message = pcall(f, ...)
  print(ok and "no error" or message:match "^[^\n]*:%d+: (.*)$" or message)
end
]]

local function run(chunk, settings)
  local result = support.run_with_fake(PRELUDE .. chunk, settings)
  if result.code ~= 0 then error(result.err .. result.out, 2) end
  return result
end

describe("without a driver", function()
  it("lutile.cuda says what is missing", function()
    local result = command.run("-e 'print(lutile.cuda.available())'", nil, "LUTILE_CUDA=off")
    assert.matches("^false\t%w", result.out)
  end)
  it("what needs a device raises the same", function()
    local result = command.run("-e 'lutile.cuda.tensor(f32, 4)'", nil, "LUTILE_CUDA=off")
    assert.not_equal(0, result.code)
    assert.matches("%(command line%):1: %w", result.err)
  end)
  it("a plan's kernel is refused under the name that the script has called", function()
    local result = command.run("-e 'lutile.plan.gemm{M=16,N=16,K=16,dtype=\"f16\"}:kernel()'", nil,
      "LUTILE_CUDA=off")
    assert.matches("^%(command line%):1: plan:kernel: %w", result.err)
    result = command.run("-e 'lutile.plan.gemm{M=16,N=16,K=16,dtype=\"f16\"}:kernel(0)'", nil,
      "LUTILE_CUDA=off")
    assert.matches("^%(command line%):1: plan:kernel: %w", result.err)
  end)
  it("kernels compile for an architecture that is named", function()
    local result = command.run("-e 'lutile.cuda.compile { name = \"f\", source = \"\" }'", nil,
      "LUTILE_CUDA=off")
    assert.matches('compile: no device to compile for: .*; arch = "sm_90a" or the like does '
      .. "without one", result.err)
  end)
  it_pretends("a library that is no driver is refused", function()
    local result = command.run("-e 'print(lutile.cuda.available())'", nil,
      "LUTILE_LIBCUDA=/lib/x86_64-linux-gnu/libm.so.6")
    assert.equal("false\tthe NVIDIA driver is too old: it has no cuCtxGetCurrent\n", result.out)
  end)
end)

describe("devices", function()
  it_pretends("have a name and figures", function()
    local result = run([[
print(cuda.available(), cuda.count(), cuda.device(1))
local d = cuda.device()
print(d.multiprocessors, d.shared_memory, d.shared_memory_most, d.l2_cache, d.memory)
try(cuda.device, 2)
cuda.synchronize()
cuda.synchronize(cuda)
cuda.synchronize(1)
cuda.synchronize(cuda.device(1))
try(cuda.synchronize, "1")
]], { FAKE_CUDA_DEVICES = 2 })
    assert.same({ "true\t2\tdevice 1: Fake 1, compute capability 8.0",
      "108\t49152\t166912\t41943040\t1073741824", "no device 2: there are 2, from 0 on",
      "a device expected, got string" }, lines(result.out))
  end)

  it_pretends("are device 0 where a plan's kernel is asked for without one", function()
    local result = run([[
local p = lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f16", arch = 80 }
local A = lutile.make_tensor("f16", { 64, 64 })
local grouped = lutile.plan.grouped_gemm { groups = { { A = A, B = A, C = A } }, arch = 90 }
print(p:kernel().device, p:kernel(cuda).device, p:kernel(cuda.device(1)).device, p:kernel(1).device)
print(p:kernel() == p:kernel(0), p:kernel(1) == p:kernel(cuda.device(1)), grouped:kernel().device)
try(p.kernel, p, 2)
try(p.kernel, p, "0")
]], { FAKE_CUDA_DEVICES = 2, FAKE_CUDA_CAPABILITY = 90 })
    assert.same({ "0\t0\t1\t1", "true\ttrue\t0", "plan:kernel: no device 2: there are 2, from 0 on",
      "plan:kernel: a device expected, got string" }, lines(result.out))
  end)

  it_pretends("that a plan's kernel is not for are refused", function()
    local result = run([[
local p = lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f16", arch = 90 }
try(p.kernel, p, 1)
try(p.compile_options, p, cuda.device(1))
try(p.compile_options, p:with { arch = 75 })
]], { FAKE_CUDA_DEVICES = 2 })
    local message = ": the plan is for compute capability 9.0 alone, and device 1 has 8.0 "
      .. "(another plan, with arch = 80, may be for that)"
    assert.same({ "plan:kernel" .. message, "plan:compile_options" .. message, "no error" },
      lines(result.out))
  end)
end)

describe("lutile --cuda-info", function()
  it_pretends("prints driver, NVRTC, devices and cache", function()
    local folder = support.new_folder()
    local result = command.run("--cuda-info", nil, ("LUTILE_LIBCUDA=%s LUTILE_CACHE=%s"):format(
      support.fake_driver(), folder))
    support.remove_folder(folder)
    local out = lines(result.out)
    assert.matches("^driver    CUDA 13%.0, ", out[1])
    assert.matches("^NVRTC     CUDA %d+%.%d, .*libnvrtc", out[2])
    assert.matches("^device 0  Fake 0, compute capability 8.0, 108 multiprocessors, ", out[3])
    assert.equal(("cache     %s: 0 kernels, 0 bytes of at most 512.0 MiB"):format(folder), out[4])
  end)
  it("prints each line where nothing is there, with what is missing", function()
    local result = command.run("--cuda-info", nil, "LUTILE_CUDA=off LUTILE_CACHE=")
    local out = lines(result.out)
    assert.equal(4, #out)
    assert.matches("^driver    none: %w", out[1])
    assert.matches("^NVRTC     none: %w", out[2])
    assert.matches("^devices   none: %w", out[3])
    assert.matches("^cache     ", out[4])
    assert.equal(0, result.code)
  end)
  it_pretends("prints the cache without NVRTC, and why there is no device", function()
    local folder = support.new_folder()
    local result = command.run("--cuda-info", nil, ("LUTILE_LIBCUDA=%s LUTILE_CACHE=%s "
      .. "LUTILE_NVRTC=/nowhere/at/all FAKE_CUDA_DEVICES=0"):format(support.fake_driver(), folder))
    support.remove_folder(folder)
    local out = lines(result.out)
    assert.matches("^driver    CUDA 13", out[1])
    assert.matches("^NVRTC     none: .*/nowhere/at/all", out[2])
    assert.equal("devices   none: the NVIDIA driver knows no device", out[3])
    assert.matches("^cache     " .. folder .. ": 0 kernels, ", out[4])
  end)
  for _, call in ipairs { "cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetAttribute" } do
    it_pretends("prints the error of a device that does not answer: " .. call, function()
      local result = command.run("--cuda-info", nil, ("LUTILE_LIBCUDA=%s LUTILE_CACHE= "
        .. "FAKE_CUDA_DEVICES=2 FAKE_CUDA_FAIL='%s=3;%s_v2=3'"):format(support.fake_driver(), call,
        call))
      local out = lines(result.out)
      assert.matches("^driver    CUDA 13", out[1])
      for i = 0, 1 do
        assert.matches(("^device %d  no answer: %s: error 3"):format(i, call), out[3 + i])
      end
      assert.matches("^cache     ", out[5])
      assert.same({ "", 0 }, { result.err, result.code })
    end)
  end
  it_pretends("says why there is no driver: the same of the version and of devices", function()
    for settings, why in pairs {
      [support.fake_driver() .. " FAKE_CUDA_FAIL=cuDriverGetVersion=3"] =
        "the NVIDIA driver tells no version: cuDriverGetVersion: error 3",
      ["/tmp"] = "the NVIDIA driver that LUTILE_LIBCUDA names cannot be opened: /tmp: ",
      ["/nowhere/libcuda.so"] =
        "the NVIDIA driver that LUTILE_LIBCUDA names cannot be opened: /nowhere/libcuda.so: ",
    } do
      local result = command.run("--cuda-info", nil, "LUTILE_CACHE= LUTILE_LIBCUDA=" .. settings)
      local out = lines(result.out)
      assert.matches("driver    none: " .. why, out[1], 1, true)
      assert.matches("devices   none: " .. why, out[3], 1, true)
      assert.same({ 4, "", 0 }, { #out, result.err, result.code })
    end
  end)
end)

-- By files that are no library, and are named when they cannot be opened.
describe("NVRTC is looked for", function()
  local root

  setup(function()
    root = support.new_folder()
    for _, file in ipairs { "both/lib64/libnvrtc.so.12", "both/lib64/libnvrtc.so.13",
      "old/lib64/libnvrtc.so.12", "targets/targets/x86_64-linux/lib/libnvrtc.so.12",
      "new/lib64/libnvrtc.so.13" } do
      os.execute(("mkdir -p %s/%s && touch %s/%s"):format(root, file:match "^(.*)/", root, file))
    end
  end)
  teardown(function() support.remove_folder(root) end)

  for _, case in ipairs {
    { "CUDA_HOME=ROOT/old LD_LIBRARY_PATH=ROOT/new/lib64", "old", 12,
      "in a toolkit that is named, whatever its version" },
    { "CUDA_PATH=ROOT/old LD_LIBRARY_PATH=ROOT/new/lib64", "old", 12, "in CUDA_PATH too" },
    { "CUDA_HOME=ROOT/old CUDA_PATH=ROOT/new", "old", 12, "in CUDA_HOME before CUDA_PATH" },
    { "CUDA_HOME=ROOT/both", "both", 13, "by the newer name first" },
    { "CUDA_HOME=ROOT/targets", "targets", 12, "in all folders of a toolkit" },
    { "CUDA_HOME=ROOT/none LD_LIBRARY_PATH=ROOT/none:ROOT/old/lib64:ROOT/new/lib64", "old", 12,
      "in the loader's path next, folder by folder" },
    { "LD_LIBRARY_PATH=:ROOT/new/lib64:ROOT/old/lib64", "new", 13, "in the first that has it" },
  } do
    support.with_cuda(it, pending)(case[4], function()
      local result = command.run("-e 'print(lutile.cuda.info().compiler_reason)'", nil,
        "CUDA_HOME= CUDA_PATH= LD_LIBRARY_PATH= " .. case[1]:gsub("ROOT", root))
      local wanted = ("NVRTC cannot be opened: .*%s/%s/.*libnvrtc%%.so%%.%d: "):format(root,
        case[2], case[3])
      assert.matches(wanted, result.out)
    end)
  end
end)

describe("memory", function()
  it_pretends("tensors go to a device and back with their layout", function()
    local result = run [[
for _, case in ipairs { { "f32", "(4,8):(8,1)" }, { "s4", "(5,3):(1,5)" }, { "f16", "(3,4):(1,8)" },
  { "e3m2", "7:1" }, { "f64", "(2,3):(0,1)" }, { "f16", "Sw<2,0,3> o 0 o (8,4):(1,8)" } } do
  local t = make_tensor(case[1], parse(case[2]))
  for i = 0, lutile.size(t) - 1 do t[i] = i % 5 - 2 end
  local back = t:to(cuda):to_host()
  local equal = back.layout == t.layout
  for i = 0, lutile.size(t) - 1 do equal = equal and back(i) == t(i) end
  io.write(tostring(equal), " ")
end
]]
    assert.equal("true true true true true true ", result.out)
  end)

  it_pretends("parts of tensors go there and back", function()
    local result = run [[
local t = make_tensor("s4", parse "(6,4):(1,6)")
for i = 0, 23 do t[i] = i % 15 - 7 end
local column = t(lutile._, 2):to(cuda)
local back = column:to_host()
for i = 0, 5 do io.write(back(i) == t(i, 2) and "+" or "-") end
local odd = t(3, lutile._):to(cuda):to_host()
for i = 0, 3 do io.write(odd(i) == t(3, i) and "+" or "-") end
]]
    assert.equal("++++++++++", result.out)
  end)

  it_pretends("copies between host and device need no kernel for equal layouts", function()
    local result = run [[
local a, b = make_tensor("f32", parse "(4,8):(8,1)"), make_tensor("f32", parse "(4,8):(8,1)")
for i = 0, 31 do a[i] = i end
local d = cuda.tensor("f32", a.layout)
cuda.copy(a, d)
cuda.copy(d, b)
print(b(3, 7), cuda.statistics().launches)
try(cuda.copy, a, cuda.tensor("f32", 31))
try(cuda.copy, 5, d)
]]
    assert.same({ "31.0\t0", "copy: source has 32 elements ((4,8)), target has 31 (31)",
      "copy: source: tensor expected, got integer" }, lines(result.out))
  end)

  it_pretends("types of which kernels have no numbers go there and back, and are refused by name",
    function()
      local result = run [[
for _, name in ipairs { "e4m3fnuz", "e5m2fnuz" } do
  local t, f = make_tensor(name, parse "(4,8):(8,1)"), cuda.tensor("f32", parse "(4,8):(8,1)")
  for i = 0, 31 do t[i] = i % 7 end
  local d = t:to(cuda)
  local back, same = d:to_host(), true
  for i = 0, 31 do same = same and back(i) == t(i) end
  print(same)
  try(cuda.copy, d, f)
  try(cuda.copy, f, d)
  try(cuda.compile, { arch = 80, name = "k", types = { T = name },
    source = 'extern "C" __global__ void k(type::T *p) {}' })
  cuda.compile { name = "k", source = 'extern "C" __global__ void k(void *p) {}' }
    :launch { grid = 1, block = 1 }(d)
end
try(function() make_tensor("gc64", 4):to(cuda) end)
]]
      local wanted = {}
      for _, name in ipairs { "e4m3fnuz", "e5m2fnuz" } do
        for _, line in ipairs { "true",
          ("copy: from %s to f32, and kernels cannot convert %s: tensors of the host can "
            .. "(t:to_host(), lutile.copy)"):format(name, name),
          ("copy: from f32 to %s, and kernels cannot convert %s: tensors of the host can "
            .. "(t:to_host(), lutile.copy)"):format(name, name),
          ("compile: kernels have no numbers of %s (a parameter 'void *' takes tensors of it)")
            :format(name) } do
          wanted[#wanted + 1] = line
        end
      end
      wanted[#wanted + 1] = "elements of gc64 are not copied to devices or on them"
      assert.same(wanted, lines(result.out))
    end)

  it_pretends("device memory is not read as the host's", function()
    local result = run [[
local d = cuda.tensor("f32", 4)
try(function() return d(0) end)
try(function() lutile.fill(d, 1) end)
]]
    assert.matches("^tensor lies in memory that the host cannot reach: copy it to the host first\n",
      result.out)
  end)

  -- LT051
  it_pretends("garbage is collected when a device is full", function()
    local result = run [[
for _ = 1, 1000 do local b = cuda.alloc(1 << 28) end
print(cuda.used() <= 1 << 30)
]]
    assert.equal("true\n", result.out)
    assert.is_true(support.count(result.log, "out of memory") > 100)
    assert.equal(1000, support.count(result.log, "alloc"))
    assert.equal(1000, support.count(result.log, "free"))
  end)

  it_pretends("what does not fit raises with the figures", function()
    local result = run [[
local b = cuda.alloc(1 << 29)
try(cuda.alloc, 1 << 30)
cuda.limit(1 << 29)
try(cuda.alloc, 1)
cuda.limit(nil)
cuda.alloc(1)
try(cuda.alloc, -1)
try(cuda.alloc, "f33", 1)
]]
    local out = lines(result.out)
    assert.equal("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory) for 1073741824 bytes on "
      .. "device 0; device 0 has 536870912 of 1073741824 bytes free, 536870912 are held here",
      out[1])
    assert.equal("4 bytes wanted on device 0, where 536870912 are held here of at most 536870912",
      out[2])
    assert.equal("cuda.alloc: -1 elements cannot be had", out[3])
    assert.matches("no element type 'f33'", out[4])
  end)

  -- LT052
  it_pretends("freeing a buffer gives its memory back at once, and ends its use", function()
    local result = run [[
local before = cuda.used()
local b = cuda.alloc(1000)
local held = cuda.used()
b:free()
b:free()
print(held - before, cuda.used() - before, b)
try(b.len, b)
try(function() return #b end)
do local c <close> = cuda.alloc(8) end
print(cuda.used())
]]
    assert.same({ "1000\t0\tdevice 0 ptr[u8] of 1000 (freed)",
      "bad argument #1 to '?' (the buffer was freed)",
      "bad argument #1 to 'len' (the buffer was freed)", "0" },
      lines((result.out:gsub("calling 'len' on bad self", "bad argument #1 to '?'"))))
  end)

  it_pretends("tensors are closed, with all tensors over their memory, and by any name", function()
    local result = run [[
local launch = cuda.compile { name = "f", source = 'extern "C" __global__ void f(int *p) {}' }
  :launch {}
local t = cuda.tensor("s32", { 4, 8 })
local part = t(lutile._, 1)
do local u <close> = cuda.tensor("f32", 4) end
print(cuda.used())
t:close()
t:close()
t:free()
t.data:close()
print(cuda.used(), t.data)
try(launch, part)
try(cuda.to_host, t)
try(cuda.to, t, cuda)
try(cuda.copy, t, make_tensor("s32", { 4, 8 }))
try(cuda.copy, make_tensor("s32", 4), part)
try(cuda.prepare_copy, t, t)
try(function() return t(0) end)
local host <close> = make_tensor("s32", 4)
host:close()
host[0] = 5
print(host(0))
]]
    assert.same({ "128", "0\tdevice 0 ptr[s32] of 32 (freed)",
      "kernel 'f': argument 1 ('p'): its memory was freed",
      "to_host: the tensor's memory was freed", "to: the tensor's memory was freed",
      "copy: source: the tensor's memory was freed", "copy: target: the tensor's memory was freed",
      "prepare_copy: source: the tensor's memory was freed",
      "tensor lies in memory that the host cannot reach: copy it to the host first", "5" },
      lines((result.out:gsub("%S+:%d+: (kernel)", "%1"))))
  end)

  it_pretends("pinned memory is closed, and is of no use then", function()
    local result = run [[
local d = cuda.tensor("s32", 4)
do local h <close> = cuda.pinned("s32", 4) end
do local h <close> = cuda.pinned("s32", 4).data end
local h = cuda.pinned("s32", 4)
local view = h(lutile.parse "2:2")
h:free()
h:close()
h.data:free()
print(h.data)
try(function() return view(0) end)
try(function() h[0] = 1 end)
try(function() return h.data:bytes() end)
try(cuda.to, h, cuda)
try(cuda.copy, h, d)
try(cuda.copy, d, h)
]]
    assert.same({ "gmem_ptr[s32] of 4 (freed)", "tensor lies in memory that was freed",
      "tensor lies in memory that was freed", "bytes: the buffer was freed",
      "to: the tensor's memory was freed", "copy: source: the tensor's memory was freed",
      "copy: target: the tensor's memory was freed" }, lines(result.out))
    assert.equal(3, support.count(result.log, "unpin"))
  end)

  it_pretends("copies name a stream that is none by the function that was called", function()
    local result = run [[
local h, d, s = make_tensor("s32", 4), cuda.tensor("s32", 4), cuda.stream()
s:close()
try(cuda.copy, h, d, 5)
try(cuda.copy, d, h, s)
try(cuda.to, h, cuda, {})
try(cuda.to_host, d, s)
try(cuda.prepare_copy, d, d, s)
]]
    assert.same({ "copy: stream expected, got number", "copy: the stream is closed",
      "to: stream expected, got table", "to_host: the stream is closed",
      "prepare_copy: the stream is closed" }, lines(result.out))
  end)

  -- LT053
  it_pretends("metatables are out of reach", function()
    local result = run [[
local b = cuda.alloc(8)
print(getmetatable(b), getmetatable(cuda.stream()), getmetatable(cuda.event()))
try(function() getmetatable(b).__gc(b) end)
b = nil
collectgarbage()
]]
    assert.equal("lutile device buffer\tlutile stream\tlutile event", lines(result.out)[1])
    assert.equal(1, support.count(result.log, "free"))
  end)

  -- LT054
  for _, case in ipairs { { "os.exit(0)", 0 }, { "os.exit(0, true)", 3 } } do
    it_pretends("a process may end with live buffers: " .. case[1], function()
      local result = run([[
held = { cuda.alloc(8), cuda.alloc(8) }
held[3] = setmetatable({ held[1] }, { __gc = function(t) t[1]:free() end })
owner = setmetatable({ held }, { __gc = function() cuda.alloc(4) end })
]] .. case[1])
      assert.equal(case[2], support.count(result.log, "free"))
    end)
  end

  it_pretends("everything is freed when a state closes, and the device left", function()
    local result = run [[
x = { cuda.alloc(8), cuda.stream(), cuda.event(), cuda.pinned("f32", parse "(4,8):(8,1)") }
x[5] = cuda.compile { name = "f", source = 'extern "C" __global__ void f() {}' }
x[5]:launch {} ()
x[6] = x[2]:capture(function(s) x[5]:launch { stream = s } () end)
]]
    for _, line in ipairs { "free", "destroy stream", "unpin", "unload", "destroy executable",
      "release" } do
      assert.equal(1, support.count(result.log, line), line)
    end
    assert.equal("release", result.log[#result.log])
  end)

  it_pretends("what finalizers make while a state closes is freed, too", function()
    local result = run [[
local k = cuda.compile { name = "f", source = 'extern "C" __global__ void f() {}' }
local s = cuda.stream()
last = setmetatable({}, { __gc = function()
  held = { cuda.tensor("f32", 8), cuda.event(), cuda.pinned("f32", 4), cuda.stream() }
  held[5] = held[4]:capture(function(stream) k:launch { stream = stream } () end)
  setmetatable(held, { __gc = function() print "not called: Lua is closing" end })
  print "made"
end })
]]
    assert.same({ "made\n", "", 0 }, { result.out, result.err, result.code })
    for line, count in pairs { free = 1, unpin = 1, ["destroy executable"] = 1,
      ["destroy stream"] = 2, unload = 1, release = 1 } do
      assert.equal(count, support.count(result.log, line), line)
    end
    assert.equal("release", result.log[#result.log])
  end)

  it_pretends("finalizers do not open CUDA", function()
    local result = support.run_with_fake [[
last = setmetatable({}, { __gc = function() print(pcall(require, "lutile.cuda")) end })
]]
    assert.matches("^false\t.*cuda: a finalizer cannot be the first that requires it", result.out)
    assert.same({}, result.log)
  end)

  it_pretends("pinned tensors are tensors of the host", function()
    local result = run [[
local t = cuda.pinned("f32", parse "(4,8):(8,1)")
for i = 0, 31 do t[i] = i end
print(t(3, 7), t:to(cuda):to_host()(3, 7))
t = nil
collectgarbage()
collectgarbage()
print "collected"
]]
    assert.same({ "31.0\t31.0", "collected" }, lines(result.out))
    assert.equal(1, support.count(result.log, "unpin"))
  end)
end)

local KERNEL = [[
local A = cuda.tensor("f32", parse "(?4,?8{8}):(?8{8},1)")
local k = cuda.compile { name = "f", layouts = { A = A.layout }, types = { T = "f16" },
  source = [==[
extern "C" __global__ void f(lutile::tensor<float, layout::A> a, int n, float x, const void *p,
                             layout::A l, unsigned char c, type::T h, bool b) {}
]==] }
]]

describe("a kernel", function()
  it_pretends("says what it has where a field is none of these", function()
    local result = run(KERNEL .. [[
try(function() return k.registers end)
for _, name in ipairs { "name", "arch", "key", "origin", "device", "source", "parameters", "launch",
  "resources", "occupancy", "image" } do
  local x = k[name]
end
]])
    assert.equal("a kernel has no field 'registers': name, arch, key, origin, device, log, source, "
      .. "parameters and launch, resources, occupancy, image there are\n", result.out)
  end)
end)

describe("launches", function()
  it_pretends("pass arguments as the kernel has them", function()
    local result = run(KERNEL .. [[
k:launch { grid = { 2, 3 }, block = 32 } (A, 7, 1.5, nil, A, 200, 1.5, true)
]], { FAKE_CUDA_ARGUMENTS = "32,4,4,8,24,1,2,1" })
    local arguments = {}
    for _, line in ipairs(result.log) do
      arguments[#arguments + 1] = line:match "^argument (.*)$"
    end
    local function words(...) return (("<i8"):rep(select("#", ...))):pack(...):gsub(".", function(c)
      return ("%02x "):format(c:byte())
    end):sub(1, -2) end
    assert.equal(words(4, 8, 8), arguments[1]:sub(25))
    assert.equal("07 00 00 00", arguments[2])
    assert.equal("00 00 c0 3f", arguments[3])
    assert.equal("00 00 00 00 00 00 00 00", arguments[4])
    assert.equal(words(4, 8, 8), arguments[5])
    assert.equal("c8", arguments[6])
    assert.equal("00 3e", arguments[7])
    assert.equal("01", arguments[8])
    assert.equal(1, support.count(result.log, "launch 2x3x1 32x1x1 0"))
  end)

  it_pretends("with other dynamic numbers compile nothing", function()
    local result = run(KERNEL .. [[
local run = k:launch {}
for i = 1, 10 do
  local B = cuda.tensor("f32", lutile.make_layout({ lutile.dyn(i), lutile.dyn(8 * i) },
    { lutile.dyn(8 * i), 1 }))
  run(B, i, 0, B, B, 0, 0, false)
end
local s = cuda.statistics()
print(s.compiled, s.loads, s.launches)
]])
    assert.equal("1\t1\t10\n", result.out)
  end)

  it_pretends("check every argument", function()
    local result = run(KERNEL .. [[
local run = k:launch {}
local host, half = make_tensor("f32", A.layout), cuda.tensor("f16", A.layout)
try(run, A)
try(run, host, 7, 1.5, nil, A, 0, 0, true)
try(run, half, 7, 1.5, nil, A, 0, 0, true)
try(run, "A", 7, 1.5, nil, A, 0, 0, true)
try(run, A, 7.5, 1.5, nil, A, 0, 0, true)
try(run, A, 1 << 31, 1.5, nil, A, 0, 0, true)
try(run, A, 7, "x", nil, A, 0, 0, true)
try(run, A, 7, 1.5, {}, A, 0, 0, true)
try(run, A, 7, 1.5, nil, parse "(4,8):(8,2)", 0, 0, true)
try(run, A, 7, 1.5, nil, parse "(4,9):(9,1)", 0, 0, true)
try(run, A, 7, 1.5, nil, A, -1, 0, true)
local view = A.data
view:free()
try(run, A, 7, 1.5, nil, A, 0, 0, true)
]])
    assert.same({
      "kernel 'f': 8 arguments expected, got 1",
      "kernel 'f': argument 1 ('a'): the tensor is on the host: t:to(cuda) takes it to the device",
      "kernel 'f': argument 1 ('a'): elements of f32 expected, got f16",
      "kernel 'f': argument 1 ('a'): device tensor expected, got string",
      "kernel 'f': argument 2 ('n'): integer expected, got number",
      "kernel 'f': argument 2 ('n'): 2147483648 does not fit 32 bits",
      "kernel 'f': argument 3 ('x'): number expected, got string",
      "kernel 'f': argument 4 ('p'): device tensor or buffer expected, got table",
      "kernel 'f': argument 5 ('l'): layout: (4,8):(8,2) does not fit (?,?{8}):(?{8},1), which the "
        .. "kernel was compiled for",
      "kernel 'f': argument 5 ('l'): layout: 9 in (4,9):(9,1) is no multiple of 8, as "
        .. "(?,?{8}):(?{8},1) promises",
      "kernel 'f': argument 6 ('c'): -1 does not fit 8 bits",
      "kernel 'f': argument 1 ('a'): its memory was freed",
    }, lines((result.out:gsub("%S+:%d+: (kernel)", "%1"))))
  end)

  it_pretends("check where tensors are, and indices that the kernel has no room for", function()
    local result = run([[
local k = cuda.compile { name = "f", layouts = { A = parse "?4:?1" }, index = 32,
  source = 'extern "C" __global__ void f(int *p, layout::A a) {}' }
local there = cuda.tensor("s32", 4, cuda.device(1))
try(k:launch {}, there, parse "4:1")
cuda.device(0):enable_peer(cuda.device(1))
try(k:launch {}, there, parse "4:1")
try(k:launch {}, there, parse "4:1000000000")
try(k:launch {}, cuda.tensor("s32", 4)(lutile.parse "4:2"), parse "4:1")
]], { FAKE_CUDA_DEVICES = 2 })
    assert.same({
      "kernel 'f': argument 1 ('p'): it is on device 1, the launch on device 0 (enable_peer lets "
        .. "one reach the other)",
      "no error",
      "kernel 'f': argument 2 ('a'): its indices exceed the 32 bits that the kernel was "
        .. "compiled for",
      "kernel 'f': argument 1 ('p'): it reaches from element 0 to 6, where its memory has 4",
    }, lines((result.out:gsub("%S+:%d+: (kernel)", "%1"))))
  end)

  it_pretends("check their options", function()
    local result = run(KERNEL .. [[
try(k.launch, k, { grid = 0 })
try(k.launch, k, { grid = { 1, 2, 3, 4 } })
try(k.launch, k, { block = 1025 })
try(k.launch, k, { blok = 1 })
try(k.launch, k, { shared = -1 })
try(k.launch, k, { grid = 3, cluster = 2 })
try(k.launch, k, { stream = 5 })
try(k.launch, k, { dependent = 5 })
try(k.occupancy, k, 0)
try(k.occupancy, k, 1 << 40)
try(k.occupancy, k, 32, 1 << 50)
try(cuda.limit, -1)
]])
    local out = lines((result.out:gsub("%S+:%d+: (launch)", "%1")))
    assert.equal("launch: grid has extents from 1 on, not 0", out[1])
    assert.equal("launch: grid has more than three extents", out[2])
    assert.equal("launch: a block has at most 1024 threads, not 1025 x 1 x 1", out[3])
    assert.matches("^launch: no option 'blok'", out[4])
    assert.equal("launch: shared is a number of bytes", out[5])
    assert.equal("launch: cluster extent 2 does not divide grid extent 3", out[6])
    assert.equal("launch: stream is a lutile stream, not 5", out[7])
    assert.equal("launch: dependent is true or false, not 5", out[8])
    assert.matches("a block has from 1 to 1024 threads", out[9])
    assert.matches("a block has from 1 to 1024 threads", out[10])
    assert.matches("a number of bytes expected", out[11])
    assert.matches("a number of bytes expected", out[12])
  end)

  it_pretends("take extents as CUDA's dim3 has them", function()
    local result = run [[
local k = cuda.compile { name = "f", source = 'extern "C" __global__ void f() {}' }
k:launch { grid = { x = 8, y = 2 }, block = { z = 3 } } ()
k:launch { grid = { 4, z = 2 }, block = { 16, 2, 1 } } ()
try(k.launch, k, { grid = { x = 8, w = 2 } })
try(k.launch, k, { block = { X = 8 } })
try(k.launch, k, { block = { 8, x = 8 } })
try(k.launch, k, { block = { [0] = 8 } })
try(k.launch, k, { block = { y = 0 } })
]]
    assert.equal(1, support.count(result.log, "launch 8x2x1 1x1x3 0"))
    assert.equal(1, support.count(result.log, "launch 4x1x2 16x2x1 0"))
    local form = " has up to three extents, as {8, 2} or {x = 8, y = 2}, not "
    assert.same({ "launch: grid" .. form .. "'w'", "launch: block" .. form .. "'X'",
      "launch: block has the extent x twice", "launch: block" .. form .. "'0'",
      "launch: block has extents from 1 on, not 0" },
      lines((result.out:gsub("%S+:%d+: (launch)", "%1"))))
  end)

  -- LT073
  it_pretends("opt in for shared memory as soon as static and dynamic exceed 48 KB", function()
    local result = run [[
local k = cuda.compile { name = "f", source = 'extern "C" __global__ void f() {}' }
k:launch { shared = 49136 } ()
k:launch { shared = 49152 } ()
k:launch { shared = 98304 } ()
k:launch { shared = 49152 } ()
try(k:launch { shared = 166912 })
]]
    assert.equal("kernel 'f': 166912 bytes of dynamic shared memory and 16 static are 166928, "
      .. "where a block on device 0 has 166912\n", (result.out:gsub("%S+:%d+: (kernel)", "%1")))
    assert.equal(0, support.count(result.log, "attribute 8 = 49136"))
    assert.equal(1, support.count(result.log, "attribute 8 = 49152"))
    assert.equal(1, support.count(result.log, "attribute 8 = 98304"))
    assert.equal(2, support.count(result.log, "launch 1x1x1 1x1x1 49152"))
  end)

  it_pretends("name the last one when the context is lost", function()
    local result = run([[
local k = cuda.compile { name = "f", source = 'extern "C" __global__ void f() {}' }
k:launch { grid = 3, block = { 32, 2 } } ()
try(cuda.synchronize)
]], { FAKE_CUDA_FAULT = 700 })
    assert.equal("cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was "
      .. "encountered); the last launch was kernel 'f' on device 0, grid 3 x 1 x 1, block 32 x 2 "
      .. "x 1, shared 0; the device's context is lost: this process cannot use it any more\n",
      result.out)
  end)
end)

describe("streams", function()
  -- LT067
  it_pretends("two streams share one kernel", function()
    local result = run [[
local k = cuda.compile { name = "f", source = 'extern "C" __global__ void f() {}' }
local s, t = cuda.stream(), cuda.stream()
k:launch { stream = s } ()
k:launch { stream = t } ()
print(cuda.statistics().compiled, cuda.statistics().loads)
local e = cuda.event():record(s)
t:wait(e)
print(s:query(), e:query(), e:elapsed(cuda.event():record(t)))
s:close()
s:close()
try(k:launch { stream = t })
try(k.launch, k, { stream = s })
]]
    local out = lines(result.out)
    assert.equal("1\t1", out[1])
    assert.equal("true\ttrue\t1.5", out[2])
    assert.equal("no error", out[3])
    assert.matches("the stream is closed", out[4])
  end)
end)

-- LT072
describe("finalizers", function()
  it_pretends("are quiet where the context is gone", function()
    local result = run([[
x = { cuda.alloc(8), cuda.stream(), cuda.event() }
x[4] = cuda.compile { name = "f", source = 'extern "C" __global__ void f() {}' }
x[4]:launch {} ()
pcall(cuda.synchronize)
]], { FAKE_CUDA_FAULT = 709 })
    assert.equal("", result.err)
    assert.equal(0, result.code)
  end)
end)
