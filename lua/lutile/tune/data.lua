-- Matrices to time and to check products with, on a device: random, and compared there.

local lutile = require "lutile"

local M = {}

local RANDOM = [[
#include "number.cuh"

// Two numbers of the sequence are independent (SplitMix64).
__device__ inline double uniform(unsigned long long z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return double((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

// Normal numbers times 'scale', or -1, 0 and 1 where that is 0; and 'shift' more.
extern "C" __global__ void fill_random(type::T *data, long long count, long long seed, double scale,
                                       double shift) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto at = (unsigned long long)(i + seed * count + 1) * 0x9E3779B97F4A7C15ull;
    const double u = 1 - uniform(at), v = uniform(at ^ 0xD1B54A32D192ED03ull);
    const double x =
        scale == 0 ? floor(3 * v) - 1 : sqrtf(-2 * logf(float(u))) * cospif(2 * float(v)) * scale;
    number::store(data, i, x + shift);
  }
}
]]

local COMPARE = [[
#include "number.cuh"

// Whether two numbers are the same, as far as 'tolerance' times their size; NaN is NaN.
__device__ inline bool same(double a, double b, double tolerance) {
  return a == b || (a != a && b != b) || fabs(a - b) <= tolerance * fabs(b);
}

// Counts elements of x that are not those of y.
extern "C" __global__ void compare(const type::T *x, const type::T *y, long long count,
                                   double tolerance, int *wrong) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto a = number::load(x, i), b = number::load(y, i);
    const bool is_right = same(number::real(a), number::real(b), tolerance) &&
                          same(number::imaginary(a), number::imaginary(b), tolerance);
    if (!is_right && *wrong < 1 << 30) atomicAdd(wrong, 1);
  }
}
]]

-- What two ways to round the same number of a type may differ by, relative to it.
-- Integers do by nothing.
local ROUNDING = { c64 = 2.0 ^ -51, f64 = 2.0 ^ -51, f32 = 2.0 ^ -21, tf32 = 2.0 ^ -9,
  f16 = 2.0 ^ -9, bf16 = 2.0 ^ -6, e4m3 = 2.0 ^ -2, e5m2 = 2.0 ^ -1, ue4m3 = 2.0 ^ -2,
  e2m3 = 2.0 ^ -2, e3m2 = 2.0 ^ -1, e2m1 = 2.0 ^ -1, ue8m0 = 1.0 }

local SCALE = { s8 = 20.0, u8 = 20.0, s16 = 20.0, s32 = 20.0, s4 = 3.0, u4 = 3.0 }
local SHIFT = { u8 = 100.0, u4 = 8.0, ue4m3 = 2.0, ue8m0 = 2.0 }
local POISON = 0x7f -- in every byte: NaN, or a number that no product has

local GRID, BLOCK = 1024, 256

local seed = 0

-- What cuda.compile takes for the kernels that fill and compare tensors of a type.
function M.kernels(dtype)
  return { source = RANDOM, name = "fill_random", types = { T = dtype } },
    { source = COMPARE, name = "compare", types = { T = dtype } }
end

-- Fills all of a tensor's memory: "normal", or "signs": -1, 0 and 1 (0, 1 and 2 for u8), of which
-- sums are exact in any order.
function M.fill(t, kind)
  local kernel = require "lutile.cuda".compile((M.kernels(t.dtype)))
  seed = seed + 1
  local shift = kind == "signs" and (t.dtype == "u8" and 1.0 or 0.0) or SHIFT[t.dtype] or 0.0
  kernel:launch { grid = GRID, block = BLOCK }(t, t.data:len(), seed,
    kind == "signs" and 0.0 or SCALE[t.dtype] or 1.0, shift)
end

-- Tensors of a plan's matrices on a device: A, B, C, D, and the bias, if there is one.
function M.new_set(p, kind)
  local cuda, set = require "lutile.cuda", {}
  local function new(layout, dtype)
    local t = cuda.tensor(dtype, layout)
    M.fill(t, kind)
    return t
  end
  local m = p.matrices
  for _, name in ipairs { "A", "B", "C" } do
    set[name] = new(m[name].packed or m[name].layout, m[name].dtype)
  end
  set.D = p.reads_c and new(set.C.layout, m.C.dtype) or set.C
  if p.bias then
    local by_row = (p.bias == "row") ~= (p.transposed or false)
    local extent = by_row and m.C.row.extent or m.C.column.extent
    set.bias = new(lutile.make_layout(math.type(extent) and extent or extent:value()), p.out)
  end
  return set
end

function M.bytes(set)
  local bytes = 0
  for name, t in pairs(set) do
    if name ~= "D" or t ~= set.C then bytes = bytes + t.data:size() end
  end
  return bytes
end

-- A function that runs a plan on a set.
function M.prepare(p, set, stream)
  return p:prepare(set.A, set.B, set.C, { D = set.D, bias = set.bias, stream = stream })
end

function M.poison(t) t.data:fill(POISON) end

-- How many elements of two tensors of one layout differ by more than rounding.
function M.count_wrong(x, y)
  local cuda = require "lutile.cuda"
  local kernel = cuda.compile((select(2, M.kernels(x.dtype))))
  local wrong = cuda.tensor("s32", 1)
  wrong.data:fill(0)
  kernel:launch { grid = GRID, block = BLOCK }(x, y, x.data:len(), ROUNDING[x.dtype] or 0.0, wrong)
  return wrong:to_host()(0)
end

return M
