-- D = alpha * A * B^T + beta * C by multiply-adds, on any GPU, for any types and layouts.

local lutile = require "lutile"
local cuda = require "lutile.cuda"
local driver = require "lutile.cuda.driver"

local M = {}

-- Sums of products of these types are in this one.
local ACCUMULATORS = { f64 = "double", c64 = "lutile::c64", s32 = "int", s16 = "int", s8 = "int",
  u8 = "int", s4 = "int", u4 = "int", b1 = "int" }

-- The wider of two operands' accumulators: complex, double, float, int.
local ORDER = { ["int"] = 1, ["float"] = 2, ["double"] = 3, ["lutile::c64"] = 4 }

function M.accumulator(a, b)
  local x, y = ACCUMULATORS[a] or "float", ACCUMULATORS[b] or "float"
  return ORDER[x] < ORDER[y] and y or x
end

local NAMES = { "A", "B", "C", "D" }

-- The layout with a third mode, of one batch where it has only two.
local function with_batch(layout)
  if lutile.rank(layout) == 3 then return layout end
  return lutile.append(layout)
end

-- What is compiled for tensors, or layouts and element types, named A, B, C, D.
function M.spec(layouts, types, index)
  return { file = "simt_gemm.cu", layouts = layouts, types = types, index = index,
    values = { ACCUMULATOR = M.accumulator(types.A, types.B) } }
end

local function fail(message, ...)
  error(message:format(...), 3)
end

local function check_extents(l)
  local function same(x, i, y, j, what)
    local n, m = lutile.size(l[x], i), lutile.size(l[y], j)
    if n ~= m then fail("simt gemm: %s is %d in %s and %d in %s", what, n, x, m, y) end
  end
  same("A", 0, "D", 0, "M")
  same("B", 0, "D", 1, "N")
  same("A", 1, "B", 1, "K")
  same("C", 0, "D", 0, "M")
  same("C", 1, "D", 1, "N")
  for _, name in ipairs { "A", "B", "C" } do same(name, 2, "D", 2, "the number of batches") end
end

-- gemm{A =, B =, D = [, C = D] [, alpha = 1] [, beta = 0] [, stream =]}: tensors on one device.
function M.gemm(t)
  local tensors = { A = t.A, B = t.B, C = t.C or t.D, D = t.D }
  local layouts, types, fits = {}, {}, true
  for _, name in ipairs(NAMES) do
    layouts[name] = with_batch(tensors[name].layout)
    types[name] = tensors[name].dtype
    tensors[name] = driver.view(tensors[name].data, types[name], tensors[name].offset,
      layouts[name])
    fits = fits and driver.fits_32_bits(layouts[name])
  end
  check_extents(layouts)
  local spec = M.spec(layouts, types, fits and 32 or 64)
  spec.device = t.D.data:device()
  local m, n, batches = lutile.size(t.D, 0), lutile.size(t.D, 1), lutile.size(layouts.D, 2)
  if m * n * batches == 0 then return end
  local rows = math.min(batches, 65535)
  cuda.compile(spec):launch {
    grid = { (m + 63) // 64 * ((n + 63) // 64), rows, (batches + rows - 1) // rows },
    block = 256, stream = t.stream,
  }(tensors.A, tensors.B, tensors.C, tensors.D, (t.alpha or 1) + 0.0, (t.beta or 0) + 0.0)
end

return M
