-- Matrices of the products that benchmarks time: their types, and sets that take turns, so that
-- none is in the L2 when it is read again.

local lutile = require "lutile"
local cuda = require "lutile.cuda"

local device = require "bench.device"

local data = require "lutile.tune.data"

local make_layout = lutile.make_layout

local M = {}

-- Elements as plans and as cuBLASLt name them. cuBLASLt's products of bytes are k-major.
M.TYPES = {
  { name = "f16", out = "f16", stored = "f16", compute = "f32", scale = "f32", all = true,
    majors = true },
  { name = "bf16", out = "bf16", stored = "bf16", compute = "f32", scale = "f32", all = true },
  { name = "e4m3", out = "f16", stored = "e4m3", compute = "f32", scale = "f32", fast = true },
  { name = "tf32", out = "f32", stored = "f32", compute = "tf32", scale = "f32" },
  { name = "s8", out = "s32", stored = "s8", compute = "s32", scale = "s32" },
  { name = "f64", out = "f64", stored = "f64", compute = "f64", scale = "f64" },
  { name = "f32", out = "f32", stored = "f32", compute = "f32", scale = "f32" },
}

-- The type that a word of the command line names.
function M.type_of(word)
  local names = {}
  for i, type_of in ipairs(M.TYPES) do
    if type_of.name == word then return type_of end
    names[i] = type_of.name
  end
  error(("%s: neither a type (%s) nor MxNxK nor an option"):format(word,
    table.concat(names, ", ")), 0)
end

-- The shape {m, n, k} that it says, or nil.
function M.shape_of(word)
  local m, n, k = word:match "^(%d+)x(%d+)x(%d+)$"
  if not m then return nil end
  local shape = {}
  for i, size in ipairs { m, n, k } do
    shape[i] = math.tointeger(size) or error(word .. ": no integer is so large", 0)
  end
  return shape
end

-- Random normal numbers; of major "k" contiguous along columns, of "row" along rows.
function M.random_tensor(dtype, rows, columns, major)
  local stride = major == "row" and { 1, rows } or { columns, 1 }
  local t = cuda.tensor(dtype, make_layout({ rows, columns }, stride))
  data.fill(t, "normal")
  return t
end

local function bytes_of(t) return t.data:size() end

local MOST_SETS = 256

-- Enough sets {A, B, C, D} that none is in the L2 when its turn comes; C is D unless it is read.
function M.make_sets(type_of, m, n, k, a_major, b_major, reads_c)
  local sets, bytes = {}, 0
  repeat
    local s = { A = M.random_tensor(type_of.stored, m, k, a_major),
      B = M.random_tensor(type_of.stored, n, k, b_major),
      D = cuda.tensor(type_of.out, make_layout({ m, n }, { n, 1 })) }
    s.C = reads_c and M.random_tensor(type_of.out, m, n, "k") or s.D
    sets[#sets + 1] = s
    bytes = bytes + bytes_of(s.A) + bytes_of(s.B) + bytes_of(s.D)
  until #sets >= 2 and bytes > 3 * device.l2_cache or #sets == MOST_SETS
  device:synchronize()
  return sets
end

return M
