-- Plans for kernels/gemm_sm90.cu from what plan.gemm knows of a product.

local gemm_sm90 = require "lutile.plan.gemm_sm90"
local matrix = require "lutile.plan.matrix"
local model = require "lutile.plan.model_sm90"
local problem = require "lutile.plan.problem"
local roles = require "lutile.plan.roles"
local tile = require "lutile.plan.tile"
local tma = require "lutile.plan.tma"
local tma_operand = require "lutile.plan.tma_operand"
local try = require "lutile.plan.attempt"
local wgmma = require "lutile.plan.wgmma"

local M = { Plan = gemm_sm90.Plan }

local Plan = M.Plan

local function fail(message, ...) error(message:format(...), 0) end

local MOST_VECTOR = 8 -- bytes; matrices of whole 16 bytes are TMA's
local MOST_LINE = 128 -- bytes of k in a stage

-- ---- Matrices ----------------------------------------------------------------------------------

local function check_operand(p, m, dtype)
  local why = tma.obstacle(p, m)
  if why then fail("%s", why) end
  if m.unit == "row" and not wgmma.takes_rows(dtype) then
    fail("%s %s is contiguous along %s, and MMAs of %s take operands that are along K", m.name,
      tostring(m.layout), problem.MODES[m.name].row, dtype)
  end
end

-- The operand as MMAs of its type take it: a copy along k, where those of 16 bits alone may be
-- along the rows.
local function along_k(p, m, dtype)
  if p.direct or m.unit ~= "row" or wgmma.takes_rows(dtype) then return m end
  p.copied = p.copied or {}
  p.copied[m.name] = true
  p.reasons[#p.reasons + 1] = ("%s %s: contiguous along %s, and MMAs of %s take operands "
    .. "along K: a copy takes its place"):format(m.name, tostring(m.layout),
    problem.MODES[m.name].row, dtype)
  return matrix.along_columns(m)
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

local OTHER = { row = "column", column = "row" }

-- Layouts for each role, and what each has of batches.
local function describe(p, a, b, d)
  p.a_layout, p.b_layout, p.d_layout = tma.layout_of(p, a), tma.layout_of(p, b),
    roles.output_layout(p, tma.layout_of(p, d))
  p.batched = { A = a.batch.extent ~= 1, B = b.batch.extent ~= 1, D = d.batch.extent ~= 1 }
  for _, m in ipairs { a, b, d } do
    local unit = m == d and p.transposed and OTHER[m.unit] or m.unit
    p.reasons[#p.reasons + 1] = ("%s %s: contiguous along %s%s"):format(m.name,
      tostring(tma.layout_of(p, m)), problem.MODES[m.name][unit],
      m == d and p.d_align and "" or ", by TMA")
  end
  if p.reads_c then
    p.reasons[#p.reasons + 1] = ("C is read by %s, to where D is written from"):format(
      p.d_align and "threads" or "TMA, ahead of time")
  end
end

-- ---- Tiles -------------------------------------------------------------------------------------

local function is_known(...)
  for _, x in ipairs { ... } do if not math.type(x) then return false end end
  return true
end

-- What the model of the chip wants to know; sizes only where they do not come with the launch.
local function sizes_of(p, a, b, d)
  local sizes = { bytes = a.bytes, out_bytes = d.bytes, multiprocessors = p.multiprocessors,
    ping_pong = p.ping_pong, promote = p.promote, reads_c = p.reads_c,
    whole_lines = b.unit == "row" or p.direct or p.cluster and p.cluster[1] > 2 }
  if is_known(d.row.extent, d.column.extent, a.column.extent, d.batch.extent) then
    sizes.M, sizes.N, sizes.K, sizes.L = d.row.extent, d.column.extent, a.column.extent,
      d.batch.extent
  end
  return sizes
end

local function text_of_time(us)
  local form = us < 100 and "%.1f us" or us < 1e4 and "%.0f us" or "%.1f ms"
  return form:format(us < 1e4 and us or us / 1000)
end

local function reason_of(p, c, consumers)
  local is_models = not (p.options.splits or p.options.stages or p.options.cluster
    or p.options.group or p.options.skew or p.options.ping_pong ~= nil or p.options.promote)
  local is_timed = c.time and is_models
  return ("tile %dx%d, %s%s%s%s"):format(p.tile[1], p.tile[2],
    p.ping_pong and "consumers take turns" or consumers > 1 and "consumers share each"
      or "one consumer",
    p.cluster and (", in clusters of %dx%d"):format(p.cluster[1], p.cluster[2]) or "",
    p.splits > 1 and (", in up to %d parts along K"):format(p.splits) or "",
    is_timed and (": %s on %d multiprocessors, by the model"):format(text_of_time(c.time),
      p.multiprocessors)
      or p.count_blocks and "" or ": sizes are known at launch only")
end

local function copy_of(t)
  local copy = {}
  for k, v in pairs(t) do copy[k] = v end
  return copy
end

-- The plan with the tile of a candidate and what goes with it, where the script has not chosen.
local function plan_of(p, c, sizes)
  p = copy_of(p)
  p.tile = { c.tile.tile[1], c.tile.tile[2], MOST_LINE // sizes.bytes }
  p.ping_pong, p.splits = c.tile.ping_pong or false, p.splits or c.parts
  if p.dependent == nil then p.dependent = model.is_dependent(c.time) end
  for name, value in pairs(p.promote and {} or model.more(c.tile, sizes, c.time, p.cluster)) do
    if p[name] == nil then p[name] = value end
  end
  p.reasons = table.move(p.reasons, 1, #p.reasons, 1, {})
  local plan = gemm_sm90.new(p)
  plan.reasons[#plan.reasons + 1] = reason_of(p, c, plan.consumers)
  return plan
end

-- The plan with the first tile with which all that the script says can be; of the best one's
-- obstacle, where there is none.
local function choose_tile(p, sizes)
  local list, why = model.candidates(sizes), nil
  for i, c in ipairs(list) do
    local plan, obstacle = try(plan_of, p, c, sizes)
    if plan then return plan end
    local rows, columns = c.tile.tile[1], c.tile.tile[2]
    if i == 1 then
      why = obstacle
      p.reasons[#p.reasons + 1] = ("not tile %dx%d: %s"):format(rows, columns, obstacle)
    end
  end
  fail("%s", why)
end

-- ---- Plans -------------------------------------------------------------------------------------

local function major_of(m) return m.unit == "row" and "row" or "k" end

-- The plan for the product of the matrices a and b, in the kernel's roles; raises what speaks
-- against it. With p.direct, TMA goes through all modes of hierarchical matrices, else plain copies
-- take their places.
function M.plan(p, a, b, d)
  wgmma.sum_type(p.dtype, p.dtype_b, p.acc)
  a, b = along_k(p, a, p.dtype), along_k(p, b, p.dtype_b)
  p.matrices = { [a.name] = a, [b.name] = b, C = p.matrices.C, D = p.matrices.D }
  check_operand(p, a, p.dtype)
  check_operand(p, b, p.dtype_b)
  choose_writer(p, d)
  describe(p, a, b, d)
  p.a_major, p.b_major = major_of(a), major_of(b)
  p.title = ("gemm: %s x %s -> %s, sums of %s, by wgmma, gemm_sm90.cu"):format(p.dtype,
    p.dtype_b, p.out, p.acc)
  local sizes = sizes_of(p, a, b, d)
  p.most_rows = model.most_rows(sizes)
  return p.tile and gemm_sm90.new(p) or choose_tile(p, sizes)
end

-- ---- Runs --------------------------------------------------------------------------------------

-- Refuses rows of D that end where the plan has none end.
local function check_ends(p, d)
  local rows, columns = matrix.extents(d)
  local extent = p.matrices.D.unit == "row" and rows or columns
  if p.D.ends_in_units and extent * d.bytes % tma.UNIT ~= 0 then
    fail("%s is %s, and the kernel writes %d bytes at once: the plan's %s promises that they "
      .. "divide its lines (a plan for this tensor would do)", d.name, tostring(d.layout), tma.UNIT,
      tostring(p.matrices.D.layout))
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
  check_ends(self, m.D)
  local _, _, batches = matrix.extents(m.D)
  if batches ~= 1 and not self.batched.D then
    fail("D has %d batches, and the plan is for one (a plan for these tensors would do)", batches)
  end
  tma.check_batches(self, m, batches)
  local name = self.transposed and "B" or "A"
  local rows, loaded = matrix.extents(m[name]), self.A.loaded
  if loaded < self.tile[1] and rows > loaded then
    fail("%s has %d rows, and the plan loads %d at most (a plan for this tensor would do)", name,
      rows, loaded)
  end
end

-- What host_gemm takes: operands by their layouts of shared memory; as many stages as there are,
-- unless that is because a stage's rows of A that no matrix has are left out.
function Plan:host_plan()
  local function operand(o)
    return { shared = tma_operand.plain(o.shared) }
  end
  local stage = self.tile[3] * (self.tile[1] * self.A.bytes + self.tile[2] * self.B.bytes)
  return { mma = self.mma, tile = self.tile,
    stages = math.min(self.stages, tile.shared_limit(self.arch) // stage), A = operand(self.A),
    B = operand(self.B) }
end

return M
