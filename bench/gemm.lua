-- Products of plans beside cuBLASLt's, in one process: for each shape and type the medians of both,
-- and their ratio. Runs are interleaved; inputs, random normal numbers, are rotated past the L2.
-- Usage: LUA_CPATH=BUILD/bench/?.so lutile bench/gemm.lua [TYPE...]

local lutile = require "lutile"
local cuda = require "lutile.cuda"

local plan, make_layout = lutile.plan, lutile.make_layout

local REPETITIONS = 21
local WORKSPACE = 64 << 20
local LONG_ENOUGH = 0.5 -- milliseconds that one measurement should last

local there, why = cuda.available()
if not there then
  print("no device: " .. why)
  os.exit(0)
end

local device = cuda.device()
print(tostring(device))

local has_module, module = pcall(require, "cublaslt")
local library, missing
if has_module then library, missing = module.open() else missing = module end
if library then
  print("cuBLASLt " .. library:version())
else
  print("without cuBLASLt: " .. tostring(missing):match "^[^\n]*")
end

-- Elements as plans and as cuBLASLt name them. Products of bytes are by rows and columns alone.
local TYPES = {
  { name = "f16", out = "f16", stored = "f16", compute = "f32", scale = "f32", majors = true },
  { name = "bf16", out = "bf16", stored = "bf16", compute = "f32", scale = "f32" },
  { name = "tf32", out = "f32", stored = "f32", compute = "tf32", scale = "f32" },
  { name = "s8", out = "s32", stored = "s8", compute = "s32", scale = "s32" },
  { name = "e4m3", out = "f16", stored = "e4m3", compute = "f32", scale = "f32" },
  { name = "f64", out = "f64", stored = "f64", compute = "f64", scale = "f64" },
}

local SHAPES = {
  { 4096, 4096, 4096 }, { 8192, 8192, 8192 }, { 2048, 2048, 2048 }, { 512, 512, 4096 },
  { 16384, 1024, 1024 }, { 4095, 4088, 4080 },
}

-- ---- Data --------------------------------------------------------------------------------------

local FILL = [[
#include "number.cuh"
__device__ inline double uniform(unsigned long long z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return double((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}
extern "C" __global__ void fill_normal(type::T *data, long long count, long long seed,
                                       double scale) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto at = (unsigned long long)(i + seed * count + 1) * 0x9E3779B97F4A7C15ull;
    const float u = float(1 - uniform(at)), v = float(uniform(at ^ 0xD1B54A32D192ED03ull));
    number::store(data, i, double(sqrtf(-2 * logf(u)) * cospif(2 * v)) * scale);
  }
}
]]

local seed = 0

local function random_tensor(dtype, rows, columns, major)
  local stride = major == "row" and { 1, rows } or { columns, 1 }
  local t = cuda.tensor(dtype, make_layout({ rows, columns }, stride))
  local kernel = cuda.compile { source = FILL, name = "fill_normal", types = { T = dtype } }
  seed = seed + 1
  kernel:launch { grid = 1024, block = 256 }(t, rows * columns, seed, dtype == "s8" and 20.0 or 1.0)
  return t
end

-- ---- Time --------------------------------------------------------------------------------------

-- Milliseconds of one call of f(i), of several behind each other.
local function time(f, i, count)
  local start <close> = cuda.event()
  local stop <close> = cuda.event()
  start:record()
  for j = 1, count do f(i + j) end
  stop:record()
  return start:elapsed(stop) / count
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- Medians of functions that are run in turn.
local function time_all(functions)
  local times, counts = {}, {}
  for j, f in ipairs(functions) do
    time(f, 0, 2)
    counts[j], times[j] = math.ceil(LONG_ENOUGH / math.max(time(f, 0, 1), 0.001)), {}
  end
  for i = 1, REPETITIONS do
    for j, f in ipairs(functions) do times[j][i] = time(f, i, counts[j]) end
  end
  for j in ipairs(functions) do times[j] = median(times[j]) end
  return times
end

-- ---- cuBLASLt ----------------------------------------------------------------------------------

-- D^T = B * A^T, column-major. Of the algorithms that the heuristic names, the fastest.
local function theirs(type_of, m, n, k, a_major, b_major, sets, workspace)
  if not library then return nil, "not there" end
  local ok, product = pcall(library.matmul, library, { m = n, n = m, k = k,
    type_a = type_of.stored, type_b = type_of.stored, type_d = type_of.out,
    compute = type_of.compute, scale = type_of.scale, transpose_a = b_major ~= "row",
    transpose_b = a_major == "row", ld_a = b_major == "row" and n or k,
    ld_b = a_major == "row" and m or k, ld_d = n })
  if not ok then return nil, product end
  if product:count() == 0 then return nil, "no algorithm" end
  local function runner(algorithm)
    return function(i)
      local s = sets[i % #sets + 1]
      product:run(algorithm, s.B.data:address(), s.A.data:address(), s.C.data:address(),
        workspace:address())
    end
  end
  local best, best_time
  for algorithm = 0, product:count() - 1 do
    local run = runner(algorithm)
    if pcall(run, 0) then
      local t = math.min(time(run, 0, 3), time(run, 3, 3))
      if not best or t < best_time then best, best_time = run, t end
    end
  end
  return best, "no algorithm runs"
end

-- ---- One line ----------------------------------------------------------------------------------

-- The largest difference of two tensors on a sample of elements, by the largest of them.
local function difference(x, y)
  x, y = x:to_host(), y:to_host()
  local largest, scale, size = 0, 0, lutile.size(x)
  for _ = 1, 2000 do
    local i = math.random(0, size - 1)
    largest, scale = math.max(largest, math.abs(x(i) - y(i))), math.max(scale, math.abs(y(i)))
  end
  return largest / scale
end

local function bytes_of(t) return t.data:size() end

-- Enough sets of matrices that none is in the L2 when its turn comes.
local function make_sets(type_of, m, n, k, a_major, b_major)
  local sets, bytes = {}, 0
  repeat
    local s = { A = random_tensor(type_of.stored, m, k, a_major),
      B = random_tensor(type_of.stored, n, k, b_major),
      C = cuda.tensor(type_of.out, make_layout({ m, n }, { n, 1 })) }
    sets[#sets + 1] = s
    bytes = bytes + bytes_of(s.A) + bytes_of(s.B) + bytes_of(s.C)
  until #sets >= 2 and bytes > 3 * device.l2_cache or #sets == 16
  return sets
end

local function tflops(m, n, k, ms) return 2 * m * n * k / ms * 1e-9 end

local function bench(type_of, shape, a_major, b_major, workspace)
  local m, n, k = table.unpack(shape)
  local sets = make_sets(type_of, m, n, k, a_major, b_major)
  local first = sets[1]
  local p = plan.gemm { A = first.A, B = first.B, C = first.C, dtype = type_of.name,
    out = type_of.out }
  local runs = {}
  for i, s in ipairs(sets) do runs[i] = p:prepare(s.A, s.B, s.C) end
  local function ours(i) runs[i % #runs + 1]() end
  local line = ("%-5s %5d x %5d x %5d  %-3s %-3s  tile %-10s"):format(type_of.name, m, n, k,
    a_major, b_major, table.concat(p.tile, "x"))
  local other, reason = theirs(type_of, m, n, k, a_major, b_major, sets, workspace)
  ours(0)
  if not other then
    local t = time_all { ours }
    print(("%s  %9.4f ms %7.1f TFLOP/s   cuBLASLt: %s"):format(line, t[1], tflops(m, n, k, t[1]),
      reason))
    return
  end
  local result = cuda.tensor(type_of.out, first.C.layout)
  cuda.copy(first.C, result)
  other(0)
  local off = difference(result, first.C)
  local t = time_all { ours, other }
  print(("%s  %9.4f ms %7.1f TFLOP/s   cuBLASLt %9.4f ms %7.1f   %5.1f %%   difference %.1e")
    :format(line, t[1], tflops(m, n, k, t[1]), t[2], tflops(m, n, k, t[2]), 100 * t[2] / t[1],
    off))
end

-- ---- All ---------------------------------------------------------------------------------------

local chosen = {}
for _, name in ipairs(arg or {}) do chosen[name] = true end

local workspace = cuda.alloc(WORKSPACE)
for _, type_of in ipairs(TYPES) do
  if next(chosen) == nil or chosen[type_of.name] then
    for _, shape in ipairs(SHAPES) do
      bench(type_of, shape, "k", "k", workspace)
      if type_of.majors and shape == SHAPES[1] then
        bench(type_of, shape, "row", "row", workspace)
        bench(type_of, shape, "row", "k", workspace)
        bench(type_of, shape, "k", "row", workspace)
      end
      collectgarbage()
    end
  end
end
