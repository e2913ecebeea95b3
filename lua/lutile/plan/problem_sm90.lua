-- Plans for kernels/gemm_sm90.cu from what plan.gemm knows of a product.

local gemm_sm90 = require "lutile.plan.gemm_sm90"
local matrix = require "lutile.plan.matrix"
local roles = require "lutile.plan.roles"
local tma = require "lutile.plan.tma"
local wgmma = require "lutile.plan.wgmma"

local M = { Plan = gemm_sm90.Plan }

local Plan = M.Plan

local function fail(message, ...) error(message:format(...), 0) end

local MOST_VECTOR = 8 -- bytes; matrices of whole 16 bytes are TMA's

-- ---- Matrices ----------------------------------------------------------------------------------

local function check_operand(p, m, dtype)
  local why = tma.obstacle(p, m)
  if why then fail("%s", why) end
  if m.unit == "row" and not wgmma.takes_rows(dtype) then
    fail("%s %s is contiguous along its rows, and MMAs of %s take operands that are along k",
      m.name, tostring(m.layout), dtype)
  end
end

-- Where TMA cannot write D, threads do.
local function choose_writer(p, d)
  if d.unit ~= "column" then
    fail("%s %s is contiguous along neither mode", d.name, tostring(d.layout))
  end
  local why = tma.obstacle(p, d)
  if not why then return end
  if p.direct and d.packed then fail("%s", why) end
  p.d_align = math.min(d.vector * d.bytes, MOST_VECTOR)
  p.reasons[#p.reasons + 1] = ("%s; threads write it, %d bytes at once"):format(why, p.d_align)
end

-- Layouts for each role, and what each has of batches.
local function describe(p, a, b, d)
  p.a_layout, p.b_layout, p.d_layout = tma.layout_of(p, a), tma.layout_of(p, b),
    roles.output_layout(p, tma.layout_of(p, d))
  p.batched = { A = a.batch.extent ~= 1, B = b.batch.extent ~= 1 }
  for _, m in ipairs { a, b, d } do
    p.reasons[#p.reasons + 1] = ("%s %s: contiguous along %s%s"):format(m.name,
      tostring(tma.layout_of(p, m)),
      m.unit == "row" and "its rows" or m == d and "its columns" or "k",
      m == d and p.d_align and "" or ", by TMA")
  end
end

-- ---- Plans -------------------------------------------------------------------------------------

local function major_of(m) return m.unit == "row" and "row" or "k" end

-- The plan for the product of the matrices a and b, in the kernel's roles; raises what speaks
-- against it. With p.direct, TMA goes through all modes of hierarchical matrices, else plain copies
-- take their places.
function M.plan(p, a, b, d)
  wgmma.sum_type(p.dtype, p.dtype_b, p.acc)
  check_operand(p, a, p.dtype)
  check_operand(p, b, p.dtype_b)
  choose_writer(p, d)
  describe(p, a, b, d)
  p.a_major, p.b_major = major_of(a), major_of(b)
  p.title = ("gemm: %s x %s -> %s, sums of %s, by wgmma"):format(p.dtype, p.dtype_b, p.out, p.acc)
  return gemm_sm90.new(p)
end

-- ---- Runs --------------------------------------------------------------------------------------

local function check_batches(p, m, batches)
  local names = p.transposed and { A = "B", B = "A" } or { A = "A", B = "B" }
  for role, name in pairs(names) do
    local _, _, count = matrix.extents(m[name])
    if count ~= (p.batched[role] and batches or 1) then
      fail("%s has %d batches of %d, and the plan is for %s (a plan for these tensors would do)",
        name, count, batches, p.batched[role] and "all" or "one")
    end
  end
end

-- Refuses matrices that TMA would not take as the plan has it.
function Plan:check_matrices(m, addresses)
  tma.check_fits(self, m.A, self.matrices.A, addresses.A)
  tma.check_fits(self, m.B, self.matrices.B, addresses.B)
  matrix.check_unit(m.C, self.matrices.C)
  if self.d_align then
    matrix.check_fits(m.D, self.matrices.D, self.D.vector, addresses.D)
  else
    tma.check_fits(self, m.D, self.matrices.D, addresses.D)
  end
  local _, _, batches = matrix.extents(m.D)
  check_batches(self, m, batches)
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
