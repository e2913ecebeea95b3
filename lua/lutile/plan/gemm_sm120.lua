-- Plans of D = epilogue(alpha * A * B^T + beta * C + bias) for kernels/gemm_sm120.cu: TMA, ldmatrix
-- and mma.sync, where TMA can read A and B; C and D of any strides.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local block = require "lutile.plan.mma_block"
local emit = require "lutile.plan.emit"
local matrix = require "lutile.plan.matrix"
local mma_plan = require "lutile.plan.mma_plan"
local mma_rules = require "lutile.plan.mma_rules"
local mma_sync = require "lutile.plan.mma_sync"
local operand = require "lutile.plan.operand"
local problem = require "lutile.plan.problem"
local roles = require "lutile.plan.roles"
local tile = require "lutile.plan.tile"
local tma = require "lutile.plan.tma"
local tma_operand = require "lutile.plan.tma_operand"

local M = {}

local WARPGROUP = 128
local PATTERN_BYTES = 1024 -- after which the widest swizzle repeats
local MOST_STAGES = 4
local PRODUCER = 24  -- registers of a thread that loads: the fewest that setmaxnreg takes
local CONSUMER = 240 -- of one that multiplies, at most
local MORE = 40      -- beside sums and words of two k-steps, so that none spill
local OF_C = 24      -- where C is read, too

local function fail(message, ...) error(message:format(...), 0) end

local Plan = setmetatable({ template = "gemm_sm120.cu", entry = "gemm",
  includes = { "tma.cuh" } }, { __index = base })
Plan.__index = Plan
Plan.__tostring = base.report
Plan.block_text = block.source
M.Plan = Plan

-- What is this template's alone.
function Plan:constants()
  return {
    emit.constant("kWarps", self.consumers, "that multiply"),
    emit.constant("kSharedBytes", self.shared_bytes),
    emit.constant("kProducerRegisters", self.registers[1], "0: as many as the launch gave"),
    emit.constant("kConsumerRegisters", self.registers[2]),
  }
end

-- Of the types, the one whose operands are rounded gains most, and its kernel is 1 % faster.
function Plan:suits_fast_compile() return self.dtype == "tf32" end

function Plan:operand_source(name)
  local o = self[name]
  return operand.struct(o, self.mma, tma_operand.source(o))
end

-- ---- Choices -----------------------------------------------------------------------------------

-- What speaks against types before any tile is chosen.
local function check_types(p)
  if p.arch < 90 then fail("TMA is for compute capability 9.0 and newer") end
  if p.dtype == "f64" then fail("ldmatrix loads no operands of f64") end
  if mma_sync.unpacks(p.dtype, p.arch) then
    fail("%s is multiplied as f16 from 9.0 to 11.x, by registers of half a k-step, which only "
      .. "gemm_sm80.cu has", p.dtype)
  end
end

local STORED = { tf32 = "f32" } -- which threads round

local function operand_of(p, name, rows, dtype)
  local o = tma_operand.new(p, { name = name, called = roles.name(p, name),
    said = roles.modes(p, name), dtype = STORED[dtype] or dtype, rows = rows, slices = 1,
    major = p[name:lower() .. "_major"], layout = p[name:lower() .. "_layout"],
    is_batched = (p.batched or {})[name] })
  o.shared = tma_operand.plain(o.shared)
  o.word, o.steps, o.rounds = 4, p.steps, p.rounds or false
  o.load = operand.load_of(o.major == "K" and "k" or "row", o.bytes, o.word)
  return o
end

-- Refuses stages that would not all start where a swizzle's pattern does.
local function check_stages(p)
  for _, o in ipairs { p.A, p.B } do
    if o.stage_bytes % PATTERN_BYTES ~= 0 then
      fail("a tile (%d,%d) of %s has %d bytes, which must be a multiple of %d", o.rows, o.k,
        o.called, o.stage_bytes, PATTERN_BYTES)
    end
  end
end

-- Registers with which a thread has none in memory.
local function wanted_registers(p)
  return p.sums + 2 * p.words_of_step + MORE + (p.reads_c and OF_C or 0)
end

-- Registers of a thread that loads, and of one that multiplies, where so many blocks share a
-- multiprocessor; {0, 0} is what the launch gives.
local function share_registers(p, blocks)
  local launched = tile.most_registers(blocks, p.threads)
  local consumers = p.threads - WARPGROUP
  local is_enough = wanted_registers(p) <= launched
  if is_enough or launched >= CONSUMER or consumers % WARPGROUP ~= 0 then return { 0, 0 } end
  local left = (launched * p.threads - PRODUCER * WARPGROUP) // consumers // 8 * 8
  return { PRODUCER, math.min(left, CONSUMER) }
end

-- Blocks of a multiprocessor, as many as are usual or fewer, and the registers of their threads.
local function choose_blocks(p, usual)
  local blocks = p.blocks or math.max(1, math.min(usual, tile.most_blocks(p)))
  p.registers = share_registers(p, blocks)
  while not p.blocks and blocks > 1 and tile.needs_more(p, blocks) do
    blocks = blocks - 1
    p.registers = share_registers(p, blocks)
  end
  p.blocks = blocks
end

local function choose_stages(p)
  local stage = p.A.stage_bytes + p.B.stage_bytes + tile.BARRIERS
  local room = tile.shared_of_blocks(p.arch, p.blocks or 1)
  p.stages = p.stages or math.max(2, math.min(MOST_STAGES, room // stage))
  p.shared_bytes = p.stages * stage
end

-- ---- The plan ----------------------------------------------------------------------------------

local function count_threads(p)
  p.threads, p.consumers = lutile.size(p.mma) + WARPGROUP, p.warps[1] * p.warps[2]
end

function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  p.arch, p.by_tma = p.arch or 90, true
  check_types(p)
  local usual_blocks = mma_plan.choose(p)
  count_threads(p)
  p.A = operand_of(p, "A", p.tile[1], p.dtype)
  p.B = operand_of(p, "B", p.tile[2], p.dtype_b)
  check_stages(p)
  p.doubles = true
  mma_plan.count_registers(p)
  choose_stages(p)
  choose_blocks(p, usual_blocks)
  return p
end

-- ---- Changes -----------------------------------------------------------------------------------

-- What a script may change, and what refuses values that are nothing of the kind: TMA's boxes say
-- how tiles lie.
Plan.changeable = { mma = mma_rules.check_mma, stages = mma_rules.check_integer,
  blocks = mma_rules.check_integer, group = mma_rules.check_integer,
  ["A.shared"] = tma_operand.check_shared, ["B.shared"] = tma_operand.check_shared }
Plan.fixed = { ["A.shared"] = true, ["B.shared"] = true }

-- What follows from all that may be changed.
function Plan:derive(was)
  mma_plan.derive(self)
  count_threads(self)
  for _, o in ipairs { self.A, self.B } do
    o.steps, o.shared = self.steps, tma_operand.plain(o.shared)
  end
  mma_plan.count_registers(self)
  choose_stages(self)
  if self.blocks == was.blocks and not self.options.blocks then self.blocks = nil end
  choose_blocks(self, was.blocks)
end

Plan.check_changed = mma_rules.check_changed

-- ---- For a problem -----------------------------------------------------------------------------

local function describe(p, name, m)
  local why = tma.obstacle(p, m)
  if why then fail("%s", why) end
  local lower = name:lower()
  p[lower .. "_major"] = m.unit == "row" and "row" or "k"
  p[lower .. "_layout"] = tma.layout_of(p, m)
  p.batched[name] = m.batch.extent ~= 1
  p.reasons[#p.reasons + 1] = ("%s %s: contiguous along %s, by TMA"):format(m.name,
    tostring(m.layout), problem.MODES[m.name][m.unit])
end

-- The plan for what plan.gemm knows of a product of the matrices a and b, in the kernel's roles;
-- raises what speaks against it.
function M.plan(p, a, b, d)
  check_types(p)
  p.batched = {}
  describe(p, "A", a)
  describe(p, "B", b)
  mma_plan.describe_result(p, d, "TMA and mma.sync", Plan.template)
  p = M.new(p)
  tile.check(p)
  return p
end

-- Refuses matrices that TMA would not take as the plan has it, or in which runs of results would
-- not be whole; 'addresses' of those on a device.
function Plan:check_matrices(m, addresses)
  for _, name in ipairs { "A", "B" } do
    tma.check_fits(self, m[name], self.matrices[name], addresses[name])
  end
  mma_plan.check_results(self, m, addresses)
  local _, _, batches = matrix.extents(m.D)
  tma.check_batches(self, m, batches)
end

-- What host_gemm takes.
function Plan:host_plan() return self end

return M
