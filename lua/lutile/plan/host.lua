-- Plans on the host executor: blocks, threads, shared memory with the plan's swizzled layouts, and
-- the atom's arithmetic, through the layouts that the kernels are made of.

local lutile = require "lutile"

local _ = lutile._

local M = {}

local function ceil_div(a, b) return (a + b - 1) // b end

-- ---- Operands ----------------------------------------------------------------------------------

-- Tiles of a matrix (rows, k) for a block, along k, and the coordinates of their elements.
local function tiles(matrix, o, block)
  local at = { block, _ }
  return lutile.local_tile(matrix, { o.rows, o.k }, at),
    lutile.local_tile(lutile.make_identity_tensor(matrix.shape), { o.rows, o.k }, at)
end

local function make_shared(o, dtype)
  return lutile.make_tensor(lutile.make_smem_ptr(dtype, o.stage_bytes // o.bytes), o.shared)
end

-- A thread's part of the copies of tile k to shared memory: zeros where there is no matrix.
local function stage(o, source, coordinates, extents, k, shared)
  local thread = lutile.threadIdx.x
  if thread >= lutile.size(o.copy, 0) then return end
  local function mine(x) return lutile.composition(x, o.copy)(thread, _) end
  local target = mine(shared)
  lutile.clear(target)
  lutile.copy_if(lutile.elem_less(mine(coordinates(_, _, k)), extents), mine(source(_, _, k)),
    target)
end

-- acc = the sum over tiles of k of load_a(k) times tile k of B.
local function accumulate(p, acc, count, load_a, b, shared_b)
  local slice = p.mma:get_slice(lutile.threadIdx.x)
  local from = slice:partition_B(shared_b)
  local registers = slice:partition_fragment_B(shared_b)
  lutile.clear(acc)
  for k = 0, count - 1 do
    stage(b.operand, b.tiles, b.coordinates, b.extents, k, shared_b)
    local a = load_a(k)
    lutile.sync()
    local a_registers = a()
    lutile.copy(from, registers)
    lutile.sync() -- nobody reads these tiles any more
    lutile.gemm(p.mma, a_registers, registers, acc)
  end
end

-- What accumulate takes as load_a: tiles of A through shared memory.
local function loader(p, o, matrix, block, dtype)
  local shared = make_shared(o, dtype)
  local slice = p.mma:get_slice(lutile.threadIdx.x)
  local from, registers = slice:partition_A(shared), slice:partition_fragment_A(shared)
  local source, coordinates = tiles(matrix, o, block)
  return function(k)
    stage(o, source, coordinates, matrix.shape, k, shared)
    return function()
      lutile.copy(from, registers)
      return registers
    end
  end
end

local function operand_b(o, matrix, block)
  local source, coordinates = tiles(matrix, o, block)
  return { operand = o, tiles = source, coordinates = coordinates, extents = matrix.shape }
end

-- For each accumulator inside of D, f(value, row, column).
local function each_result(p, acc, D, tile, block, f)
  local coordinates = lutile.local_tile(lutile.make_identity_tensor(D.shape), tile, block)
  local part = p.mma:get_slice(lutile.threadIdx.x):partition_C(coordinates)
  local m, n = lutile.size(D, 0), lutile.size(D, 1)
  for i = 0, lutile.size(part) - 1 do
    local at = part(i)
    local row, column = at[0], at[1]
    if row < m and column < n then f(acc(i), row, column) end
  end
end

-- ---- gemm --------------------------------------------------------------------------------------

local function batch_of(t, b) return t and t(_, _, b) end

-- C counts where beta is not 0, as in BLAS: what is not a number stays out.
local function adds_c(p, t) return p.reads_c and t.beta ~= 0 end

-- What the kernel's epilogue does to the sums: alpha, C, the bias, the expression.
local function finish(p, t, sums, C, D)
  for column = 0, lutile.size(D, 1) - 1 do
    for row = 0, lutile.size(D, 0) - 1 do
      local x = t.alpha * sums(row, column)
      if adds_c(p, t) then x = x + t.beta * C(row, column) end
      if p.bias then x = x + t.bias(p.bias == "row" and row or column) end
      D[{ row, column }] = t.epilogue and t.epilogue(x, row, column) or x
    end
  end
end

-- The same of complex sums: an epilogue takes and gives {re, im}.
local function finish_complex(p, t, sums, C, D)
  for column = 0, lutile.size(D, 1) - 1 do
    for row = 0, lutile.size(D, 0) - 1 do
      local x = { 0, 0 }
      local function add(by, re, im) x[1], x[2] = x[1] + by * re, x[2] + by * im end
      add(t.alpha, sums(row, column))
      if adds_c(p, t) then add(t.beta, C(row, column)) end
      if p.bias then add(1, t.bias(p.bias == "row" and row or column)) end
      D[{ row, column }] = t.epilogue and t.epilogue(x, row, column) or x
    end
  end
end

-- t: A, B, C, D of rank 3 in the kernel's roles, bias, alpha, beta, epilogue(x, row, column). Sums
-- are host_gemm's, which scales and adds where there is nothing else to do.
function M.gemm(p, t)
  local plan, is_plain = p:host_plan(), not p.bias and not t.epilogue
  for b = 0, lutile.size(t.D, 2) - 1 do
    local A, B, C, D = batch_of(t.A, b), batch_of(t.B, b), batch_of(t.C, b), batch_of(t.D, b)
    local reads_c = is_plain and adds_c(p, t)
    local target = is_plain and D or lutile.make_tensor(p.acc, lutile.make_layout(D.shape))
    lutile.host_gemm(plan, A, B, target, { alpha = is_plain and t.alpha or 1,
      beta = reads_c and t.beta or 0, C = reads_c and C or nil, checks = false, arch = p.arch })
    if not is_plain then
      (p.acc == "c64" and finish_complex or finish)(p, t, target, C, D)
    end
  end
end

-- ---- chained_gemm ------------------------------------------------------------------------------

function M.chained_gemm(p, A, B, D)
  local count, tile = p.columns // p.block_k, { p.rows, p.columns }
  local function kernel()
    local load_a = loader(p, p.A, A, lutile.blockIdx.x, p.dtype)
    local load_b = operand_b(p.B, B, 0)
    local shared = make_shared(p.B, p.dtype)
    local slice = p.mma:get_slice(lutile.threadIdx.x)
    local acc = slice:partition_fragment_C(lutile.make_layout(tile))
    accumulate(p, acc, count, load_a, load_b, shared)
    local operand = lutile.composition(lutile.convert(acc, p.dtype), p.p_value)
    local whole = { lutile.size(operand, 0), lutile.size(operand, 1), p.steps }
    local function load_p(k)
      return function() return lutile.local_tile(operand, whole, { 0, 0, k }) end
    end
    local sums = slice:partition_fragment_C(lutile.make_layout(tile))
    accumulate(p, sums, count, load_p, load_b, shared)
    each_result(p, sums, D, tile, { lutile.blockIdx.x, 0 }, function(x, row, column)
      D[{ row, column }] = x
    end)
  end
  lutile.launch(kernel, { grid = ceil_div(lutile.size(A, 0), p.rows), block = lutile.size(p.mma) })
end

return M
