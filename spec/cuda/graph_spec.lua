-- Graphs, with a driver that only pretends: what they record, keep, refuse and say.

local support = require "spec.support.cuda"

local lines = support.lines
local it_pretends = support.with_fake(it, pending)

local PRELUDE = [[
local lutile = require "lutile"
local cuda = require "lutile.cuda"
local parse, make_tensor, LayoutRight = lutile.parse, lutile.make_tensor, lutile.LayoutRight
local function try(f, ...)
  local ok, message = pcall(f, ...)
  message = not ok and message:gsub("calling '%w+' on bad self", "bad argument #1 to '?'")
  print(ok and "no error" or message:match "^[^\n]-:%d+: (.*)$" or message)
end
local function kernel(name)
  return cuda.compile { name = name,
    source = ('extern "C" __global__ void %s(int *p) { *p = 1; }'):format(name) }
end
local function collect() collectgarbage() collectgarbage() end
local s = cuda.stream()
]]

local function run(chunk, settings)
  local result = support.run_with_fake(PRELUDE .. chunk, settings)
  if result.code ~= 0 then error(result.err .. result.out, 2) end
  return result
end

local function printed(chunk, settings) return lines(run(chunk, settings).out) end

describe("a graph", function()
  it_pretends("records, replays, is updated, and keeps what it needs", function()
    local result = run [[
local k = kernel "f"
local g = s:capture(function(stream)
  k:launch { stream = stream } (cuda.tensor("s32", 100))
end)
collect()
print(cuda.used())
g:launch(s)
g:launch()
print(g:update(s, function(stream) k:launch { stream = stream } (cuda.tensor("s32", 10)) end))
collect()
print(cuda.used())
g:close()
collect()
print(cuda.used())
try(g.launch, g, s)
try(s.capture, s, function() error "within" end)
try(s.capture, s, function() s:close() end)
]]
    local out = lines(result.out)
    assert.same({ "400", "true", "40", "0" }, { out[1], out[2], out[3], out[4] })
    assert.matches("the graph is closed", out[5])
    assert.matches("within", out[6])
    assert.matches("the stream was closed while it recorded", out[7])
    assert.equal(2, support.count(result.log, "launch graph"))
  end)

  -- Each prints what the graph's memory is when all else is garbage: bytes of the device, and
  -- whether memory of the host is still pinned.
  for _, case in ipairs {
    { "a copy from pinned memory", 400, "-",
      "cuda.copy(cuda.pinned('s32', 100), cuda.tensor('s32', 100), s)" },
    { "a copy to pinned memory", 400, "-",
      "cuda.copy(cuda.tensor('s32', 100), cuda.pinned('s32', 100), s)" },
    { "a copy from pinned memory of another layout, and the buffer between", 512, "-",
      "cuda.copy(cuda.pinned('s32', {8, 8}), "
        .. "cuda.tensor('s32', lutile.make_layout({8, 8}, LayoutRight)), s)" },
    { "a copy on the device", 512, "none", "local a = cuda.tensor('s32', {8, 8}) "
      .. "cuda.copy(a, cuda.tensor('s32', lutile.make_layout({8, 8}, LayoutRight)), s)" },
    { "a tensor that goes to a device", 400, "-", "cuda.pinned('s32', 100):to(cuda, s)" },
    { "a fill", 400, "none", "cuda.alloc('s32', 100):fill(1, s)" },
    { "a launch", 400, "none", "k:launch { stream = s } (cuda.tensor('s32', 100))" },
    { "a launch on a stream that waits for an event", 400, "none", [[
local other, event = cuda.stream(), cuda.event()
other:wait(event:record(s))
k:launch { stream = other } (cuda.tensor("s32", 100))
s:wait(event:record(other))]] },
    { "a fill on a stream that waits for an event", 400, "none", [[
local other, event = cuda.stream(), cuda.event()
other:wait(event:record(s))
cuda.alloc("s32", 100):fill(0, other)
s:wait(event:record(other))]] },
    { "a tensor map", 256, "none", [[
local mapped = cuda.compile { name = "m", arch = "sm_90a", prelude = '#include "tma.cuh"',
  source = 'extern "C" __global__ void m(const __grid_constant__ tma::Map map) {}' }
mapped:launch { stream = s } (cuda.tensor_map({ tensorRank = 1, tensorDataType = "f16",
  globalDim = { 128 }, globalStrides = {}, boxDim = { 64 }, elementStrides = { 1 } },
  cuda.tensor("f16", 128)))]] },
  } do
    it_pretends("keeps the memory of " .. case[1], function()
      local result = run(([[
local k = kernel "f"
local g = s:capture(function(s)
  %s
end)
k = nil
collect()
print(cuda.used())
g:launch(s)
g:update(s, function() end)
collect()
print(cuda.used())
]]):format(case[4]), { FAKE_CUDA_CAPABILITY = 90 })
      assert.same({ tostring(case[2]), "0" }, lines(result.out))
      local launched, unpinned = 0, nil
      for i, line in ipairs(result.log) do
        if line == "launch graph" then launched = i end
        if line == "unpin" then unpinned = i end
      end
      if case[3] == "none" then assert.is_nil(unpinned) else assert.is_true(unpinned > launched) end
    end)
  end

  it_pretends("copies what pinned memory has when it is launched", function()
    assert.same({ "7.0", "9.0" }, printed [[
local from, to, d = cuda.pinned("f32", 4), cuda.pinned("f32", 4), cuda.tensor("f32", 4)
local g = s:capture(function()
  cuda.copy(from, d, s)
  cuda.copy(d, to, s)
end)
for _, x in ipairs { 7, 9 } do
  from[2] = x
  g:launch(s)
  s:synchronize()
  print(to(2))
end
]])
  end)

  it_pretends("keeps nothing of what other streams do meanwhile", function()
    assert.same({ "0" }, printed [[
local k, other = kernel "f", cuda.stream()
local g = s:capture(function()
  k:launch { stream = other } (cuda.tensor("s32", 100))
  k:launch {} (cuda.tensor("s32", 100))
  other:synchronize()
end)
collect()
print(cuda.used())
]])
  end)

  it_pretends("keeps what its stream was told to keep while it recorded", function()
    assert.same({ "0", "440", "0" }, printed [[
s:keep(cuda.tensor("s32", 100))
collect()
print(cuda.used())
local g = s:capture(function(stream)
  stream:keep(cuda.tensor("s32", 100), nil, { cuda.tensor("s32", 10) })
end)
collect()
print(cuda.used())
g:close()
collect()
print(cuda.used())
]])
  end)

  it_pretends("is not told to keep what has no memory", function()
    local function message(where, type)
      return ("keep: %s is a %s, which has no memory: tensors, buffers, tensor maps and lists of "
        .. "them are kept"):format(where, type)
    end
    assert.same({ message("argument 1", "number"), message("argument 2", "string"),
      message("element 2", "number"), message("argument 1", "boolean"), "no error", "440" },
      printed [[
local g = s:capture(function()
  try(s.keep, s, 0 / 0)
  try(s.keep, s, cuda.tensor("s32", 100), "a")
  try(s.keep, s, { cuda.tensor("s32", 100), 5 })
  try(s.keep, s, false)
  try(s.keep, s, nil, { cuda.tensor("s32", 100) }, cuda.tensor("s32", 10))
end)
collect()
print(cuda.used())
]])
  end)

  it_pretends("is not launched when memory that it uses was freed by name", function()
    local out = printed [[
local k, t = kernel "f", cuda.tensor("s32", 4)
local g = s:capture(function() k:launch { stream = s } (t) end)
local kept = s:capture(function() s:keep { t } end)
g:launch(s)
cuda.alloc(8):free()
g:launch(s)
t.data:free()
try(g.launch, g, s)
try(kept.launch, kept, s)
g:update(s, function() k:launch { stream = s } (cuda.tensor("s32", 4)) end)
try(g.launch, g, s)
]]
    local message = "launch: memory that the graph uses was freed: device 0 ptr[s32] of 4 (freed)"
    assert.same({ message, message, "no error" }, out)
  end)

  it_pretends("is not launched when pinned memory that it uses was closed", function()
    assert.same({ "launch: memory that the graph uses was freed: gmem_ptr[f32] of 4 (freed)" },
      printed [[
local h, d = cuda.pinned("f32", 4), cuda.tensor("f32", 4)
local g = s:capture(function() cuda.copy(h, d, s) end)
g:launch(s)
h:close()
try(g.launch, g, s)
]])
  end)

  -- Without an error of CUDA's, which would end the recording.
  it_pretends("that is recorded refuses what cannot be recorded", function()
    local waits = ": the stream records, and this would wait for what it records: on a stream that "
      .. "records there are copies between devices and pinned memory (cuda.pinned), of equal "
      .. "layouts where they end on the host"
    local no_stream = ": a stream of device 0 records, and without a stream this would wait for "
      .. "the device: it may be given one, as its last argument"
    local pageable = ": the tensor of the host is not pinned, and the stream records: it can "
      .. "record copies from and to pinned memory only (cuda.pinned)"
    local before = ": what a stream records is not done before its graph is launched, and cannot "
      .. "be waited for"
    local event = ": the event was last recorded for a graph, and tells only other work of that "
      .. "graph of it"
    assert.same({
      "copy" .. pageable, "copy" .. pageable, "to" .. pageable, "to_host" .. waits, "copy" .. waits,
      "no error", "to_host" .. no_stream, "no error", "copy" .. no_stream,
      "synchronize" .. before, "query" .. before, "synchronize" .. before, "synchronize" .. before,
      "synchronize" .. event, "query" .. event, "elapsed" .. event,
      "wait: the event was recorded outside of what the stream records, and a graph waits for its "
        .. "own work only",
      "launch: a stream that records cannot launch a graph",
      "capture: a stream is recording already", "capture: a stream is recording already",
      "1", "query" .. event, "wait" .. event, "no error",
    }, printed [[
local k = kernel "f"
local host, pinned = make_tensor("f32", 4), cuda.pinned("f32", lutile.parse "(2,2):(2,1)")
local d, square = cuda.tensor("f32", 4), cuda.tensor("f32", { 2, 2 })
local before = cuda.event():record(s)
local e, empty, other = cuda.event(), s:capture(function() end), cuda.stream()
local g = s:capture(function()
  try(cuda.copy, host, d, s)
  try(cuda.copy, d, host, s)
  try(cuda.to, host, cuda, s)
  try(cuda.to_host, d, s)
  try(cuda.copy, square, pinned, s)
  try(cuda.to, host, cuda)
  try(cuda.to_host, d)
  try(cuda.copy, host, d)
  try(cuda.copy, d, host)
  try(s.synchronize, s)
  try(s.query, s)
  try(cuda.synchronize)
  local device = cuda.device()
  try(device.synchronize, device)
  e:record(s)
  try(e.synchronize, e)
  try(e.query, e)
  try(e.elapsed, e, e)
  try(s.wait, s, before)
  try(empty.launch, empty, s)
  try(s.capture, s, function() end)
  try(other.capture, other, function() end)
  k:launch { stream = s } (nil)
end)
g:launch(s)
s:synchronize()
print(cuda.statistics().loads)
try(e.query, e)
try(s.wait, s, e)
e:record(s)
try(e.query, e)
]])
  end)

  it_pretends("that is recorded has nothing of a plan's run of tensors of the host", function()
    local result = run([[
local plan = require "lutile.plan"
local function matrix(m, n, dtype) return make_tensor(dtype or "f16", { m, n }, LayoutRight) end
local A, B, D = matrix(64, 64), matrix(64, 64), matrix(64, 64)
local F = matrix(64, 64, "f32")
local grouped = plan.grouped_gemm { groups = { { A = A, B = B, C = D } }, acc = "f32" }
local chained = plan.chained_gemm { A = A, B = B, D = D }
local function gemm(options)
  local p = plan.gemm(options)
  return function(...) return p:run(options.A, options.B, options.C, ...) end
end
local runs = { gemm { A = A, B = B, C = D, acc = "f32" },
  gemm { A = F, B = F, C = matrix(64, 64, "f32") },
  function(...) return chained:run(A, B, D, ...) end,
  function(...) return grouped:run({ { A = A, B = B, C = D } }, ...) end }
for _, run in ipairs(runs) do
  local g = s:capture(function()
    try(run, { stream = s })
    try(run, { stream = cuda.stream() })
    try(run)
    try(run, { on = "host" })
  end)
  g:launch()
end
]], { FAKE_CUDA_CAPABILITY = 90 })
    local out = lines(result.out)
    assert.equal(16, #out)
    for i, line in ipairs(out) do
      assert.matches(i % 4 == 0 and "^no error$" or "the tensors are on the host, and a stream "
        .. "records: the run would wait", line)
    end
    for _, line in ipairs(result.log) do assert.is_nil(line:match "^launch %d") end
  end)

  it_pretends("that is recorded is no place for copies to another device", function()
    assert.same({ "to: a stream of device 0 records, and a copy to another device waits for the "
      .. "device", "no error" }, printed([[
local there = cuda.device(1)
s:capture(function()
  try(cuda.to, cuda.tensor("f32", 4), there, there:stream())
  try(cuda.to, cuda.tensor("f32", 4, there), cuda, s)
end)
]], { FAKE_CUDA_DEVICES = 2 }))
  end)

  it_pretends("says which streams are to be waited for", function()
    local out = printed([[
try(s.capture, s, function() end)
]], { FAKE_CUDA_FAIL = "cuStreamEndCapture=904" })
    assert.equal("cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_UNJOINED (unjoined work): the "
      .. "stream is to wait for what it recorded on other streams", out[1])
  end)

  it_pretends("may be recorded after another could not be", function()
    assert.same({ "within", "no error" }, printed [[
local k = kernel "f"
try(s.capture, s, function()
  k:launch { stream = s } (cuda.tensor("s32", 4))
  error("within", 0)
end)
collect()
assert(cuda.used() == 0)
try(s.capture, s, function() k:launch { stream = s } (cuda.tensor("s32", 4)) end)
]])
  end)
end)

describe("a lost context", function()
  local function lost(chunk)
    local out = printed(chunk .. "\ntry(s.synchronize, s)", { FAKE_CUDA_FAULT = 700 })
    return out[#out]:match "; the last launch was (.*); the device's context is lost" or out[#out]
  end

  it_pretends("names the graph that was launched last, and its kernels", function()
    assert.equal("a graph on device 0, of kernel 'wild', 'tame'", lost [[
local good, wild, tame = kernel "good", kernel "wild", kernel "tame"
local g = s:capture(function()
  for _ = 1, 3 do wild:launch { stream = s } (nil) end
  tame:launch { stream = s } (nil)
end)
good:launch { stream = s } (nil)
g:launch(s)
g:close()
]])
  end)

  it_pretends("names as many kernels as there is room for", function()
    assert.equal("a graph on device 0, of kernel 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8' "
      .. "and others", lost [[
local kernels = {}
for i = 1, 10 do kernels[i] = kernel("k" .. i) end
s:capture(function()
  for _, k in ipairs(kernels) do k:launch { stream = s } (nil) end
end):launch(s)
]])
  end)

  it_pretends("names no kernel that was only recorded", function()
    assert.equal("kernel 'good' on device 0, grid 1 x 1 x 1, block 1 x 1 x 1, shared 0", lost [[
local good, wild = kernel "good", kernel "wild"
good:launch { stream = s } (nil)
s:capture(function() wild:launch { stream = s } (nil) end)
assert(cuda.statistics().launches == 1)
]])
  end)
end)

describe("a copy on a stream", function()
  it_pretends("from and to pinned memory does not wait", function()
    assert.same({ "no error", "no error", "cuStreamSynchronize: error 999" }, printed([[
local h, d = cuda.pinned("f32", 4), cuda.tensor("f32", 4)
try(cuda.copy, h, d, s)
try(cuda.copy, d, h, s)
try(cuda.copy, d, make_tensor("f32", 4), s)
]], { FAKE_CUDA_FAIL = "cuStreamSynchronize=999" }))
  end)
end)
