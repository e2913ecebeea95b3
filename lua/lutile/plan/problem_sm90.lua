-- Plans for kernels/gemm_sm90.cu from what plan.gemm knows of a product.

local gemm_sm90 = require "lutile.plan.gemm_sm90"
local matrix = require "lutile.plan.matrix"
local tma = require "lutile.plan.tma"

local M = { Plan = gemm_sm90.Plan }

local Plan = M.Plan

local function fail(message, ...) error(message:format(...), 0) end

local function check_operand(m)
  local why = tma.obstacle(m)
  if why then fail("%s", why) end
end

local function check_output(d)
  if d.unit ~= "column" then
    fail("%s %s is contiguous along neither mode", d.name, tostring(d.layout))
  end
  check_operand(d)
end

local function check_sums(p)
  if p.dtype ~= p.dtype_b then fail("products of %s and %s", p.dtype, p.dtype_b) end
  if p.acc ~= "f32" then fail("sums of %s", p.acc) end
  if p.bias then fail("a bias") end
end

local function major_of(m) return m.unit == "row" and "row" or "k" end

-- The plan for the product of the matrices a and b, in the kernel's roles; raises what speaks
-- against it.
function M.plan(p, a, b, d)
  check_sums(p)
  check_operand(a)
  check_operand(b)
  check_output(d)
  p.a_major, p.b_major = major_of(a), major_of(b)
  p.title = ("gemm: %s x %s -> %s, sums of %s, by wgmma"):format(p.dtype, p.dtype_b, p.out, p.acc)
  p = gemm_sm90.new(p)
  p.A.unit, p.B.unit = a.unit, b.unit
  for _, m in ipairs { a, b, d } do
    p.reasons[#p.reasons + 1] = ("%s %s: contiguous along %s, by TMA"):format(m.name,
      tostring(m.layout), m.unit == "row" and "its rows" or m == d and "its columns" or "k")
  end
  return p
end

-- Refuses matrices that TMA would not take as the plan has it.
function Plan:check_matrices(m, addresses)
  tma.check_fits(m.A, self.matrices.A, addresses.A)
  tma.check_fits(m.B, self.matrices.B, addresses.B)
  matrix.check_unit(m.C, self.matrices.C)
  tma.check_fits(m.D, self.matrices.D, addresses.D)
end

-- What host_gemm takes: operands by their layouts of shared memory.
function Plan:host_plan()
  local function operand(o)
    return { shared = o.shared:as_position_independent_swizzle_layout() }
  end
  return { mma = self.mma, tile = self.tile, stages = self.stages, A = operand(self.A),
    B = operand(self.B) }
end

return M
