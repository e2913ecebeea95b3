-- What lutile.cuda costs on a GPU: copies beside the device's own copy, transpositions by other
-- plans, a launch's time on the host, compiling a template, a kernel from the cache, and many
-- kernels by threads.
-- Usage: lutile bench/cuda.lua [copies] [variants] [launches] [compiling] [threads]; without names,
-- all but the variants and the threads. The last two need no GPU.

local lutile = require "lutile"
local cuda = require "lutile.cuda"
local driver = require "lutile.cuda.driver"

local make_layout, parse, dyn = lutile.make_layout, lutile.parse, lutile.dyn

local there, why = cuda.available()
print(there and tostring(cuda.device()) or "no device: " .. why)
local ARCH = not there and "sm_90a" or nil -- else the device's

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- Milliseconds of device time of f(i), the median of 21 runs after a warm-up.
local function time(f)
  for i = 1, 3 do f(i) end
  local times = {}
  for i = 1, 21 do
    local start, stop = cuda.event(), cuda.event()
    start:record()
    f(i)
    stop:record()
    times[i] = start:elapsed(stop)
    start:close()
    stop:close()
  end
  return median(times)
end

-- ---- Copies ------------------------------------------------------------------------------------

local GIB = 1 << 30

local function rate(ms) return 2 * GIB / ms / 1e6 end -- bytes read and written, in GB/s

local function random_bytes(tensor)
  local bytes = {}
  for i = 1, 4096 do bytes[i] = string.char(math.random(0, 255)) end
  local block = lutile.make_gmem_ptr("u8", table.concat(bytes))
  local size = tensor.data:size()
  driver.upload(tensor.data, 0, block, 0, 4096)
  local have = 4096
  while have < size do
    driver.move(tensor.data, have, tensor.data, 0, math.min(have, size - have))
    have = 2 * have
  end
  cuda.synchronize()
end

-- Medians of the device's own copy of 1 GiB and of each of the copies, interleaved.
local function compare(source, target, copies)
  local own, ours = {}, {}
  for i in ipairs(copies) do ours[i] = {} end
  for round = 1, 3 do
    own[round] = time(function() driver.move(target.data, 0, source.data, 0, GIB) end)
    for i, copy in ipairs(copies) do ours[i][round] = time(copy) end
  end
  for i in ipairs(copies) do ours[i] = median(ours[i]) end
  return median(own), ours
end

local function report_copy(dtype, what, ours, own)
  print(("copy of 1 GiB %-4s %-32s %6.0f GB/s, the device's own %6.0f GB/s: %5.1f %%"):format(dtype,
    what, rate(ours), rate(own), 100 * own / ours))
end

local function with_tensors(dtype, from, to, f)
  local n = GIB * 8 // (dtype == "f16" and 16 or 32)
  local source, target = cuda.tensor(dtype, from(n)), cuda.tensor(dtype, to(n))
  random_bytes(source)
  f(source, target)
  source.data:free()
  target.data:free()
end

local function bench_copy(what, dtype, from, to)
  with_tensors(dtype, from, to, function(source, target)
    local own, ours = compare(source, target, { cuda.prepare_copy(source, target) })
    report_copy(dtype, what, ours[1], own)
  end)
end

local function side(n) return math.tointeger(2 ^ (math.floor(math.log(n, 2) + 0.5) // 2)) end
local function flat(n) return make_layout(n) end
local function columns(n) return make_layout { side(n), n // side(n) } end
local function rows(n) return make_layout({ side(n), n // side(n) }, lutile.LayoutRight) end

local sections = {}

function sections.copies()
  for _, dtype in ipairs { "f32", "f16" } do
    bench_copy("contiguous", dtype, flat, flat)
    bench_copy("transposed", dtype, columns, rows)
  end
end

-- Tiles in bytes along a and b, the order of blocks, and whether caches are passed by.
local function list_variants(bytes)
  local variants = {}
  for _, tile in ipairs { { 128, 128 }, { 128, 256 }, { 256, 128 }, { 256, 256 } } do
    for _, group in ipairs { 0, 8, 32 } do
      for _, streaming in ipairs { false, true } do
        variants[#variants + 1] = { tile_a = tile[1] // bytes, tile_b = tile[2] // bytes,
          group = group, streaming = streaming }
      end
    end
  end
  return variants
end

local function variant_name(v)
  return ("tile %dx%d group %d%s"):format(v.tile_a, v.tile_b, v.group,
    v.streaming and " streaming" or "")
end

local function bench_variants(dtype, bytes)
  with_tensors(dtype, columns, rows, function(source, target)
    local variants, copies = list_variants(bytes), {}
    for i, v in ipairs(variants) do copies[i] = cuda.prepare_copy(source, target, nil, v) end
    local own, ours = compare(source, target, copies)
    for i, v in ipairs(variants) do report_copy(dtype, variant_name(v), ours[i], own) end
  end)
end

function sections.variants()
  bench_variants("f32", 4)
  bench_variants("f16", 2)
end

-- ---- Launches ----------------------------------------------------------------------------------

-- Microseconds of the host for each call, as long as the device's queue is not full.
local function host_time(f)
  local times = {}
  for i = 1, 51 do
    cuda.synchronize()
    local start = os.clock()
    for _ = 1, 200 do f() end
    times[i] = (os.clock() - start) / 200 * 1e6
  end
  return median(times)
end

local function report_launch(what, f)
  print(("launch of a kernel of %-40s %5.2f us of the host"):format(what .. ":", host_time(f)))
end

function sections.launches()
  local A = cuda.tensor("f16", make_layout({ dyn(64, 8), dyn(64, 8) }, { 1, dyn(64, 8) }))
  local kernel = cuda.compile { name = "full", layouts = { A = A.layout }, source = [[
extern "C" __global__ void full(lutile::tensor<lutile::f16, layout::A> a,
                                lutile::tensor<lutile::f16, layout::A> b,
                                lutile::tensor<lutile::f16, layout::A> c, int n, float x) {}
]] }
  local empty = cuda.compile { name = "empty", source = 'extern "C" __global__ void empty() {}' }
  local stream = cuda.stream()
  for _, case in ipairs { { "", nil }, { ", on a stream", stream } } do
    local options = { grid = 1, block = 32, stream = case[2] }
    local run, run_empty, n = kernel:launch(options), empty:launch(options), 0
    report_launch("3 tensors and 2 numbers" .. case[1], function() run(A, A, A, 7, 1.5) end)
    report_launch("the same, one of them new" .. case[1], function()
      n = n + 1
      run(A, A, A, n, 1.5)
    end)
    report_launch("the same, options made anew" .. case[1], function()
      kernel:launch { grid = 1, block = 32, stream = case[2] } (A, A, A, 7, 1.5)
    end)
    report_launch("no arguments" .. case[1], function() run_empty() end)
  end
  local again = kernel:launch { grid = 1, block = 32, stream = stream }
  local graph = stream:capture(function() for _ = 1, 200 do again(A, A, A, 7, 1.5) end end)
  print(("replay of a graph of 200 such launches: %.2f us of the host")
    :format(host_time(function() graph:launch(stream) end)))
  -- From the first dependent launch on, every launch is by itself.
  kernel:launch { grid = 1, block = 32, dependent = true } (A, A, A, 7, 1.5)
  report_launch("3 tensors, by itself", function() again(A, A, A, 7, 1.5) end)
end

-- ---- Compiling ---------------------------------------------------------------------------------

local function compile_time(spec)
  local start = os.clock()
  local k = cuda.compile(spec)
  return (os.clock() - start) * 1e3, k.origin
end

local layouts = { source = parse "(?64,?8,1):(?8,1,0)", target = parse "(?64,?8,1):(1,?64,0)" }
local function transposed(unique)
  return { file = "copy_transposed.cu", layouts = layouts, index = 32, arch = ARCH,
    values = { bytes = 2, source_vector = 8, target_vector = 8, tile_a = 64, tile_b = 128,
      group = 0, streaming = false, unique = unique } }
end

-- Templates of GEMM: name, capability, options. 'salt' makes a kernel that no cache has.
local GEMMS = {
  { "gemm_sm90.cu", 90, { tile = { 64, 128, 64 } } },
  { "gemm_sm90.cu", 90, { tile = { 128, 256, 64 } } },
  { "gemm_sm90.cu", 90, { tile = { 128, 192, 64 }, ping_pong = true } },
  { "gemm_sm120.cu", 90, { tile = { 128, 256, 64 } } },
  { "gemm_sm80.cu", 80, { tile = { 64, 64, 64 } } },
  { "gemm_sm80.cu", 80, { tile = { 128, 256, 64 } } },
  { "simt_gemm.cu", 80, { tile = { 64, 64, 16 }, dtype = "f32", out = "f32" } },
  { "simt_gemm.cu", 80, { tile = { 128, 128, 8 }, dtype = "f32", out = "f32" } },
}

local function gemm_of(case, salt)
  local options = { template = case[1], dtype = "f16", out = "f16", M = 4096, N = 4096, K = 4096,
    arch = case[2], multiprocessors = 132 }
  for name, value in pairs(case[3]) do options[name] = value end
  local spec = lutile.plan.gemm(options):compile_options()
  spec.values = { salt = salt }
  return spec
end

local TRIES = 8 -- a machine that others use is left alone for as long as one of them takes

local function compile_gemms(unique)
  local device = there and cuda.device()
  for _, case in ipairs(GEMMS) do
    local has = device and 10 * device.major + device.minor
    if not has or has == case[2] or case[2] == 80 and has > 80 then
      local best = math.huge
      for i = 1, TRIES do best = math.min(best, (compile_time(gemm_of(case, unique + i)))) end
      print(("%s %s%s: %.0f ms to compile, best of %d"):format(case[1],
        table.concat(case[3].tile, "x"), case[3].ping_pong and " in turn" or "", best, TRIES))
    end
  end
end

function sections.compiling()
  local unique = os.time()
  compile_time(transposed(unique)) -- opens NVRTC
  print(("copy_transposed.cu: %.0f ms to compile, origin %s"):format(compile_time(transposed(
    unique + 1))))
  compile_gemms(unique)

  local script = os.tmpname()
  local file = io.open(script, "w")
  file:write(([[
local start = os.clock()
local cuda = require "lutile.cuda"
local loaded = os.clock()
local k = cuda.compile { file = "copy_transposed.cu", arch = %q, index = 32,
  layouts = { source = parse "(?64,?8,1):(?8,1,0)", target = parse "(?64,?8,1):(1,?64,0)" },
  values = { bytes = 2, source_vector = 8, target_vector = 8, tile_a = 64, tile_b = 128,
    group = 0, streaming = false, unique = %d } }
print(("from the cache in another process: %%.2f ms, origin %%s"):format(
  (os.clock() - loaded) * 1e3, k.origin))
]]):format(cuda.compile(transposed(unique)).arch, unique))
  file:close()
  os.execute(("%s %s"):format(arg[-1], script))
  os.remove(script)
end

-- ---- Compiling by threads -----------------------------------------------------------------------

-- Seconds on the clock on the wall, which os.clock does not tell.
local function now()
  local pipe <close> = io.popen "date +%s.%N"
  return tonumber(pipe:read "a")
end

-- Sixteen kernels that neither our cache nor NVRTC's own has.
local function plan_kernels(salt)
  local specs = {}
  for _, dtype in ipairs { "f16", "bf16" } do
    for _, tile in ipairs { { 128, 256, 64 }, { 128, 128, 64 }, { 128, 128, 32 },
      { 64, 64, 64 } } do
      for _, stages in ipairs { 2, 3 } do
        local p = lutile.plan.gemm { M = 4096, N = 4096, K = 4096, dtype = dtype, out = dtype,
          template = "gemm_sm80.cu", multiprocessors = 132, arch = not there and 80 or nil,
          tile = tile, stages = stages, warps = tile[2] == 256 and { 2, 4 } or { 2, 2 } }
        local spec = p:compile_options()
        spec.values = { salt = salt }
        specs[#specs + 1] = spec
      end
    end
  end
  return specs
end

function sections.threads()
  for i, threads in ipairs { 1, 2, 4, 8, 16 } do
    local specs = plan_kernels(os.time() * 10 + i)
    local start = now()
    local _, errors = cuda.compile_all(specs, { threads = threads })
    if next(errors) then error(errors[next(errors)], 0) end
    print(("%d kernels of gemm_sm80.cu by %d threads: %.2f s"):format(#specs, threads,
      now() - start))
  end
end

-- ------------------------------------------------------------------------------------------------

local WITHOUT_DEVICE = { compiling = true, threads = true }

local names = #arg > 0 and arg or { "copies", "launches", "compiling" }
for _, name in ipairs(names) do
  if not sections[name] then error("no section '" .. name .. "'", 0) end
  if there or WITHOUT_DEVICE[name] then sections[name]() else print(name .. ": needs a device") end
end
