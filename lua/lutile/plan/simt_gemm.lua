-- Plans of D = epilogue(alpha * A * B^T + beta * C + bias) for kernels/simt_gemm.cu: multiply-adds,
-- for all element types, any strides and extents, and any GPU.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local block = require "lutile.plan.simt_block"
local matrix = require "lutile.plan.matrix"
local mma_rules = require "lutile.plan.mma_rules"
local operand_rules = require "lutile.plan.operand_rules"
local problem = require "lutile.plan.problem"
local tile = require "lutile.plan.tile"

local make_layout = lutile.make_layout

local M = {}

local TEMPLATE = "simt_gemm.cu"

local function fail(message, ...) error(message:format(...), 0) end

local Plan = setmetatable({ template = TEMPLATE, entry = "gemm" }, { __index = base })
Plan.__index = Plan
Plan.__tostring = base.report
Plan.block_text = block.source

local VECTOR_BYTES = 16 -- that are moved at once
local STAGES = 2 -- of which one is multiplied while the other comes

-- Bytes of a block's shared memory, as its layouts need them.
local function shared_bytes(p)
  return STAGES * (block.stage_size(p.A) + block.stage_size(p.B)) * p.A.bytes
end

-- ---- Choices -----------------------------------------------------------------------------------

local EXTENTS = { [16] = true, [32] = true, [64] = true, [128] = true }
local EXTENTS_OF_K = { [8] = true, [16] = true, [32] = true }
local LEAST_THREADS, MOST_THREADS = 32, 512
local UNROLL = 4 -- k whose products are written out: 8 take a fifth longer to compile
local LEAST_BLOCKS = 1.5 -- of a multiprocessor, for the largest tile, of which it may have two
local REGISTERS = 65536 -- of a multiprocessor
local LEAST_REGISTERS = 128 -- of a thread: what others could have does not let more blocks run
local OTHERS = 24 -- beside sums, factors and what comes, as seen

-- Rows, or columns, of the tile that a thread has: more where there are many, if it has registers.
local function of_thread(p, extent)
  return extent >= 128 and matrix.BITS[p.acc] <= 64 and 8 or 4
end

local function choose_tile(p)
  local large, middle, small = { 128, 128, 8 }, { 64, 64, 16 }, { 32, 32, 16 }
  if matrix.BITS[p.acc] > 64 then middle, small = { 64, 64, 8 }, { 32, 32, 8 } end
  if matrix.BITS[p.acc] > 32 then large = middle end
  if not p.count_blocks then return large end
  if p.count_blocks(large[1], large[2]) >= LEAST_BLOCKS * p.multiprocessors then return large end
  return p.count_blocks(64, 64) >= p.multiprocessors and middle or small
end

-- Of those before 7.5, which this template alone is for, all have as much.
local function shared_limit(arch) return arch < 75 and 48 * 1024 or tile.shared_limit(arch) end

local function check_tile(p)
  local m, n, k = table.unpack(p.tile)
  if not (EXTENTS[m] and EXTENTS[n] and EXTENTS_OF_K[k]) then
    fail("tile is %dx%dx%d, where 16, 32, 64 and 128 rows and columns and 8, 16 and 32 k there "
      .. "are", m, n, k)
  end
  local threads = m // p.each[1] * (n // p.each[2])
  if threads < LEAST_THREADS or threads > MOST_THREADS then
    fail("tile: %dx%d by threads of %dx%d sums are %d threads, where %d to %d there are", m, n,
      p.each[1], p.each[2], threads, LEAST_THREADS, MOST_THREADS)
  end
end

local K_OF_WARP = 8 -- along which a warp copies

-- (thread, value) -> the element of the tile (rows, k) that it copies: vectors along the mode in
-- which the matrix is contiguous. Along k, a warp's threads are at K_OF_WARP elements of k and at
-- rows for the rest.
local function copy_layout(o, threads)
  local rows, n = o.rows, o.vector
  local vectors = o.unit == "row" and make_layout({ rows // n, o.k }, { n, rows })
    or make_layout({ K_OF_WARP // n, rows, o.k // K_OF_WARP }, { n * rows, 1, K_OF_WARP * rows })
  local of_threads = lutile.logical_divide(vectors, threads)
  return make_layout(of_threads[0],
    make_layout(make_layout(n, o.unit == "row" and 1 or rows), of_threads[1]))
end

-- Elements that a thread loads at once: as many as numbers are stored at once.
local function choose_vector(o, m, threads)
  if matrix.BITS[m.dtype] % 8 ~= 0 or m.unit == "none" then return 1 end
  return math.min(m.vector, o.run, o.rows * o.k // threads)
end

-- An operand whose tile (rows, k) is in shared memory k after k. Between the rows of each is as
-- much as one vector, so that a warp which copies along k meets no bank twice.
local function operand(p, m, rows, dtype)
  local bytes = matrix.BITS[p.acc] // 8
  local o = { rows = rows, k = p.tile[3], dtype = m.dtype, bytes = bytes, decoded = p.acc,
    rounds = dtype == "tf32" and m.dtype == "f32", unit = m.unit == "column" and "k" or m.unit,
    run = VECTOR_BYTES // bytes }
  o.vector = choose_vector(o, m, p.threads)
  o.shared = make_layout({ rows, o.k }, { 1, rows + o.run })
  o.copy = copy_layout(o, p.threads)
  return o
end

-- Neighbouring rows, and columns, of sums are a thread's: so many as it loads at once. Of half a
-- warp, whose loads are one where two neighbours, or the next but one, load the same, threads are
-- 4 by 4.
local function tiled_mma(p)
  local run = VECTOR_BYTES * 8 // matrix.BITS[p.acc]
  local m, n = p.tile[1] // p.each[1], p.tile[2] // p.each[2]
  local threads = make_layout({ { 2, 2, m // 4 }, { 2, 2, n // 4 }, 1 },
    { { 2, 8, 4 * n }, { 1, 4, 16 }, 0 })
  local atom = ("UniversalFMA<%s,%s,%s,%s>"):format(p.acc, p.dtype, p.dtype_b, p.acc)
  return lutile.make_tiled_mma(atom, threads,
    { make_layout({ m, run }, { run, 1 }), make_layout({ n, run }, { run, 1 }), 1 })
end

-- Blocks of a multiprocessor that have enough registers: for sums, for the factors of two k, and
-- for the elements of the next tiles.
local function blocks_each(p)
  local m, n, k = table.unpack(p.tile)
  local rows, columns = table.unpack(p.each)
  local numbers = rows * columns + 2 * (rows + columns) + (m + n) * k // p.threads
  local needed = math.max(numbers * matrix.BITS[p.acc] // 32 + OTHERS, LEAST_REGISTERS)
  return math.max(1, REGISTERS // (p.threads * needed))
end

local COMPUTE = { double = "f64", int = "s32", float = "f32" }

local function choose_types(p)
  if p.acc == "f16" then fail("sums are of f32 at least, not of f16") end
  p.compute_type = COMPUTE[p.compute]
end

-- ---- The plan ----------------------------------------------------------------------------------

local function reason(p, name, m)
  local modes = problem.MODES[m.name]
  local n = p[name].vector
  return ("%s %s: %s, %s of %s at once%s"):format(m.name, tostring(m.layout),
    modes[m.unit] and "contiguous along " .. modes[m.unit] or "no contiguous mode",
    n == 1 and "one element" or n .. " elements", m.dtype,
    p[name].rounds and ", rounded to tf32" or "")
end

local function set_defaults(p)
  p.group, p.epilogue = p.group or 8, p.epilogue or "x"
  p.unroll = UNROLL
  p.reads_c, p.scales = p.reads_c or false, p.scales or false
  p.title = ("gemm: %s x %s -> %s, sums of %s, by multiply-adds, %s"):format(p.dtype, p.dtype_b,
    p.out, p.acc, TEMPLATE)
end

-- The plan for what plan.gemm knows of a product of the matrices a and b, in the kernel's roles.
function M.plan(description, a, b)
  local p = setmetatable({}, Plan)
  for k, v in pairs(description) do p[k] = v end
  choose_types(p)
  set_defaults(p)
  p.tile = p.tile or choose_tile(p)
  p.each = { of_thread(p, p.tile[1]), of_thread(p, p.tile[2]) }
  check_tile(p)
  p.mma = tiled_mma(p)
  p.threads = lutile.size(p.mma)
  p.blocks_each = blocks_each(p)
  p.A, p.B = operand(p, a, p.tile[1], p.dtype), operand(p, b, p.tile[2], p.dtype_b)
  p.reasons[#p.reasons + 1] = reason(p, "A", a)
  p.reasons[#p.reasons + 1] = reason(p, "B", b)
  p.shared_bytes = shared_bytes(p)
  p:check_layouts()
  return p
end

-- ---- Changes -----------------------------------------------------------------------------------

local function check_operand(p, name)
  local o = p[name]
  local function refuse(part, what)
    fail("%s.%s is %s: %s", name, part, tostring(o[part]), what)
  end
  if lutile.is_composed_layout(o.shared) then refuse("shared", TEMPLATE .. " takes no swizzle") end
  if lutile.rank(o.shared) ~= 2 or lutile.size(o.shared, 0) ~= o.rows
    or lutile.size(o.shared, 1) ~= o.k or not lutile.is_injective(o.shared) then
    refuse("shared", ("a place for each of (%d,%d) is needed"):format(o.rows, o.k))
  end
  if lutile.rank(o.copy) ~= 2 or lutile.size(o.copy, 0) ~= p.threads
    or lutile.size(o.copy) ~= o.rows * o.k or not lutile.is_injective(o.copy) then
    refuse("copy", ("%d threads and the elements of (%d,%d) are needed"):format(p.threads, o.rows,
      o.k))
  end
end

-- Refuses layouts that the kernel could not have.
function Plan:check_layouts()
  check_operand(self, "A")
  check_operand(self, "B")
  local limit = shared_limit(self.arch)
  if self.shared_bytes > limit then
    fail("%d bytes of shared memory, where a block has %d", self.shared_bytes, limit)
  end
end

local function check_mma(p, x)
  if tostring(x) == tostring(tiled_mma(p)) then return end
  fail("mma is %s, where %s has %s (another tile would change it)", tostring(x), TEMPLATE,
    tostring(tiled_mma(p)))
end

local function check_layout(_, x, path) operand_rules.check_layout(x, path) end

-- What a script may change, and what refuses values that are nothing of the kind.
Plan.changeable = { mma = check_mma, group = mma_rules.check_integer, ["A.shared"] = check_layout,
  ["B.shared"] = check_layout, ["A.copy"] = check_layout, ["B.copy"] = check_layout }

-- What follows from all that may be changed.
function Plan:derive() self.shared_bytes = shared_bytes(self) end

-- Refuses offsets before a tile's start, and copies whose coordinates are not those of the thread
-- and those of the copy added up.
local function check_offsets(o, name)
  for i = 0, o.rows * o.k - 1 do
    if o.shared(i) < 0 then
      fail("%s.shared is %s: offset %d is before the tile's start", name, tostring(o.shared),
        o.shared(i))
    end
  end
  local thread, copy = o.copy[0], o.copy[1]
  for t = 0, lutile.size(thread) - 1 do
    for c = 0, lutile.size(copy) - 1 do
      local row, k = thread(t) % o.rows + copy(c) % o.rows, thread(t) // o.rows + copy(c) // o.rows
      if row >= o.rows or k >= o.k or thread(t) < 0 or copy(c) < 0 then
        fail("%s.copy is %s: copy %d of thread %d is of (%d,%d), outside of the tile (%d,%d)", name,
          tostring(o.copy), c, t, row, k, o.rows, o.k)
      end
    end
  end
end

-- Refuses changed layouts and numbers that the kernel cannot follow.
function Plan:check_changed()
  self:check_layouts()
  check_offsets(self.A, "A")
  check_offsets(self.B, "B")
end

-- ---- Running -----------------------------------------------------------------------------------

-- Refuses matrices of other types; 'addresses' of those on a device.
function Plan:check_matrices(m, addresses)
  for _, name in ipairs { "A", "B", "C", "D" } do
    matrix.check_fits(m[name], self.matrices[name], nil, addresses[name])
  end
end

-- What host_gemm takes.
function Plan:host_plan() return self end

-- Sums of nothing are sums, too.
function Plan:fallback() return self end

M.Plan = Plan

return M
