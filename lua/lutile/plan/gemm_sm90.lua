-- Plans of D = epilogue(alpha * A * B^T + beta * C + bias) for kernels/gemm_sm90.cu: Hopper's TMA
-- and warpgroup MMAs.
--
-- A is (M, K), B is (N, K), C and D are (M, N) and contiguous along N; each with batches behind. A
-- and B are contiguous along k or, those of 16 bits, along their rows. TMA takes strides of
-- multiples of 16 bytes; extents are any.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local emit = require "lutile.plan.emit"
local operand = require "lutile.plan.sm90_operand"
local output = require "lutile.plan.sm90_output"
local registers = require "lutile.plan.sm90_registers"
local result = require "lutile.plan.result"
local roles = require "lutile.plan.roles"
local sums = require "lutile.plan.sums"
local tile = require "lutile.plan.tile"
local tma = require "lutile.plan.tma"
local tma_modes = require "lutile.plan.tma_modes"
local tma_operand = require "lutile.plan.tma_operand"
local wgmma = require "lutile.plan.wgmma"

local make_layout = lutile.make_layout

local M = {}

local WARPGROUP = 128
local ROWS = 64 -- of a warpgroup's MMA
local BARRIER_BYTES = 8
local NOTES, NOTE_BYTES = 8, 4 -- of a list's units: what a block's producer has drawn
local FEWEST_BUFFERS, MOST_BUFFERS = 2, 4 -- of the output
local LEAST_BUFFER = 1024 -- bytes
local MANY_CHUNKS, STAGES_BESIDE_BUFFERS = 8, 3
local SHARED_LIMIT = 227 * 1024 -- CUDA C++ Programming Guide, compute capability 9.0

local function fail(message, ...) error(message:format(...), 0) end

-- ---- As C++ ------------------------------------------------------------------------------------

local BLOCK = [[
#define LUTILE_PLAN
#include "element.cuh"
#include "swizzle.cuh"
#include "tma.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

@CONSTANTS@

using Element = element::@OUT@;  /* of C, D and the bias */
using Compute = @COMPUTE@;
using Register = @REGISTER@;  /* of sums */

/* Of C or D: @STRIDES@. */
struct Strides {
  long long at[4];
};

@A@

@B@

@D@

@SUMS@

@MMA@

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
@C@

DEVICE Compute epilogue(Compute x, int @m@, int @n@) { return @EPILOGUE@; }

}  // namespace plan
]]

-- An MMA of more columns takes longer than a turn of the loop, and ptxas 5 to 20 ms.
local MOST_UNROLLED = 128

local function steps_of_group(p)
  return p.tile[2] * p.atoms <= MOST_UNROLLED and p.steps or 1
end

local function shape_constants(p, list)
  for _, line in ipairs {
    emit.constant("kBlockM", p.tile[1]), emit.constant("kBlockN", p.tile[2]),
    emit.constant("kBlockK", p.tile[3]),
    emit.constant("kSteps", p.steps, "of k, of a stage"),
    emit.constant("kStepsOfGroup", steps_of_group(p), "whose MMAs are one group"),
    emit.constant("kAtomsM", p.atoms, "of a warpgroup"),
    emit.constant("kValuesOfAtom", ROWS * p.tile[2] // WARPGROUP, "of a thread"),
    emit.constant("kRegistersOfPiece", registers.of_piece(p), "of a thread's sums"),
  } do list[#list + 1] = line end
end

local function is_batched(p, name) return (p.batched or {})[name] ~= false end

local function constants(p)
  local list = {}
  shape_constants(p, list)
  for _, line in ipairs {
    emit.constant("kPromote", p.promote and p.promote // p.steps or 0,
      "stages whose sums are added up as f32, where not 0"),
    emit.constant("kStages", p.stages),
    emit.constant("kConsumers", p.consumers, "warpgroups"),
    emit.constant("kPingPong", p.ping_pong, "consumers take turns with tiles, or share each"),
    emit.constant("kThreads", p.threads),
    emit.constant("kProducerRegisters", p.registers[1], "0: as many as the launch gave"),
    emit.constant("kConsumerRegisters", p.registers[2]),
    emit.constant("kClusterM", p.cluster[1], "blocks on top of each other"),
    emit.constant("kClusterN", p.cluster[2], "blocks side by side"),
    emit.constant("kCluster", p.cluster[1] * p.cluster[2]),
    emit.constant("kGroup", p.group, "rows of clusters' tiles that these go down together"),
    emit.constant("kBatched", is_batched(p, "D") and not p.grouped, "D has batches"),
    emit.constant("kSplits", p.splits, "at most: parts of a tile along k"),
    emit.constant("kLeastStages", p.least_stages, "of a part"),
    emit.constant("kNotes", p.notes, "numbers of units in shared memory at once"),
    emit.constant("kSkew", p.skew, "nanoseconds after which the second consumer starts"),
    emit.constant("kSharedBytes", p.shared_bytes),
    emit.constant("kDependent", p.dependent, "starts while the grid before ends"),
    emit.constant("kReadsC", p.reads_c), emit.constant("kScales", p.scales),
    ("  static constexpr Bias kBias = %s;"):format(
      ({ row = "kPerRow", column = "kPerColumn" })[p.bias] or "kNone"),
  } do list[#list + 1] = line end
  return emit.constants(list)
end

local function names_of_strides(p)
  local names = {}
  for i, mode in ipairs(tma_modes.strided(p.D.modes)) do
    local name = ({ "rows", "columns", "batches" })[mode.of]
    if mode.before > 1 then name = ("%s, every %d"):format(name, mode.before) end
    names[i] = name
  end
  return table.concat(names, "; ")
end

-- Whether D is sums times alpha.
local function is_product(p) return p.epilogue == "x" and not p.reads_c and not p.bias end

local PAIRED = { f16 = true, bf16 = true }

-- How a kernel reads its sums: see sums.source.
local function reads_of(p)
  if wgmma.registers(p) ~= "float" or p.compute ~= "float" then return "plain" end
  return PAIRED[p.out] and is_product(p) and "pairs" or "scaled"
end

local function sums_source(p)
  local register, of_atom = wgmma.registers(p)
  return sums.source { count = p.atoms * of_atom, starts = registers.starts_of_pieces(p),
    of_piece = registers.of_piece(p), constraint = register == "float" and "f" or "r",
    reads = reads_of(p), out = p.out, clears = p.grouped or p.promote,
    in_runs = p.promote, in_parts = p.splits > 1 }
end

local Plan = setmetatable({ template = "gemm_sm90.cu", entry = "gemm", is_for_one = true },
  { __index = base })
Plan.__index = Plan
M.Plan = Plan

-- The generated block: everything that varies in the template.
function Plan:block_text()
  local fields = {
    CONSTANTS = constants(self), OUT = self.out, COMPUTE = self.compute,
    REGISTER = wgmma.registers(self), STRIDES = names_of_strides(self),
    A = operand.source(self.A), B = operand.source(self.B), D = output.source(self.D),
    SUMS = sums_source(self), MMA = wgmma.source(self, self.promote and "run" or "sum"),
    C = result.source(result.layouts(self.mma, self.tile[1], self.tile[2])),
    EPILOGUE = self.epilogue, m = self.transposed and "n" or "m",
    n = self.transposed and "m" or "n",
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

local FEW_SUMS = 128 -- with which kernels compile fast anyway

-- Some of those that have more to do than to store D by TMA come out with local memory.
function Plan:suits_fast_compile()
  local _, of_atom = wgmma.registers(self)
  local is_plain = is_product(self) and self.D.by_tma and self.splits == 1
    and not (self.scales or self.promote or self.grouped)
  return is_plain and self.atoms * of_atom > FEW_SUMS
end

-- Whether TMA loads C, as it stores D.
function Plan:loads_c() return self.reads_c and self.D.by_tma end

-- ---- For a launch ------------------------------------------------------------------------------

Plan.maps = tma.maps

-- The four strides of C or D that a kernel takes, in elements.
function Plan:strides(layout)
  local list = tma_modes.strides(self.D.modes, layout)
  for i = #list + 1, 4 do list[i] = 0 end
  return list
end

-- A group in the table of a grouped launch: bytes in all, and where its fields are: the maps of A,
-- B, C and D; the addresses of D, C and the bias; the strides of D and of C, four each; m, n, k as
-- s32.
M.GROUP = { bytes = 640, A = 0, B = 128, C = 256, D = 384, addresses = 512, strides = 536,
  sizes = 600 }

-- For groups {m, n, k}: the clusters' tiles before each, and in all; a grouped launch takes them as
-- s32, and as many blocks as for other launches.
function Plan:first_tiles(groups)
  local first = { 0 }
  for i, size in ipairs(groups) do first[i + 1] = first[i] + self:clusters(size[1], size[2]) end
  return first
end

-- Tiles of D, in clusters: more blocks than that have nothing to do unless tiles are divided.
function Plan:clusters(m, n, batches)
  local rows, columns = self.tile[1] * self.cluster[1], self.tile[2] * self.cluster[2]
  return (m + rows - 1) // rows * ((n + columns - 1) // columns) * (batches or 1)
end

-- Bytes of sums, and counters (u32, 0 before the first launch and after each), for so many blocks.
function Plan:workspace(blocks)
  if self.splits == 1 then return 0, 0 end
  local words = #registers.starts_of_pieces(self) * registers.of_piece(self) -- of a thread
  return blocks * self.sharers * WARPGROUP * words * 4, blocks * self.sharers
end

-- ---- Choices -----------------------------------------------------------------------------------

-- Of 16 bits and tf32, 128x256 shared has the best mean of large products on H200; of 8 bits, turns
-- with 128x128.
local function choose_tile(p)
  local is_narrow = p.promote or wgmma.BYTES[p.dtype] == 1
  if p.ping_pong == nil then p.ping_pong = not p.tile and is_narrow and not p.promote end
  p.tile = p.tile or { 128, (p.ping_pong or is_narrow) and 128 or 256 }
  p.tile = { p.tile[1], p.tile[2], p.tile[3] or tma_operand.LINE_BYTES // wgmma.BYTES[p.dtype] }
  p.consumers = p.consumers
    or not p.ping_pong and (p.tile[1] == 64 and 1 or p.tile[1] == 192 and 3) or 2
  local least = p.ping_pong and 2 or 1
  if math.type(p.consumers) ~= "integer" or p.consumers < least then
    fail("consumers: %s, where %s", tostring(p.consumers),
      p.ping_pong and "two or more take turns" or "one or more multiply")
  end
  p.sharers = p.ping_pong and 1 or p.consumers -- of a tile
  p.atoms = p.tile[1] // (ROWS * p.sharers)
end

local COMPUTE = { s32 = { "int", "s32" } }

local function choose_types(p)
  p.dtype_b = p.dtype_b or p.dtype
  p.acc = wgmma.sum_type(p.dtype, p.dtype_b, p.acc)
  p.out = p.out or wgmma.takes_rows(p.dtype) and p.dtype or p.acc
  if not output.BYTES[p.out] then
    fail("C of %s: f16, bf16, f32, s32, e4m3, e5m2, s8 and u8 there are", tostring(p.out))
  end
  if p.out == "s32" and p.acc ~= "s32" then fail("C of s32, and sums of %s", p.acc) end
  p.compute, p.compute_type = table.unpack(COMPUTE[p.out] or { "float", "f32" })
end

-- ---- Checks ------------------------------------------------------------------------------------

local LEAST_COLUMNS, MOST_COLUMNS, UNIT_COLUMNS = 32, 256, 16
local MOST_ROWS = 256
local MOST_BLOCKS = 8 -- of a cluster, on every device that has them

local function check_tile(p)
  local m, n, k = p.tile[1], p.tile[2], p.tile[3]
  if n < LEAST_COLUMNS or n > MOST_COLUMNS or n % UNIT_COLUMNS ~= 0 then
    fail("tile: %d columns, where multiples of %d from %d to %d there are", n, UNIT_COLUMNS,
      LEAST_COLUMNS, MOST_COLUMNS)
  end
  if m > MOST_ROWS or m % (ROWS * p.sharers) ~= 0 then
    fail("tile: %d rows, where multiples of %d up to %d there are, %d of each of %d warpgroups", m,
      ROWS * p.sharers, MOST_ROWS, ROWS, p.sharers)
  end
  if k * wgmma.BYTES[p.dtype] ~= tma_operand.LINE_BYTES then
    fail("tile: k is %d, where a line of the swizzle has %d", k,
      tma_operand.LINE_BYTES // wgmma.BYTES[p.dtype])
  end
  if p.cluster[1] > 1 and p.cluster[2] > 1 then
    fail("cluster: %dx%d, where one of the two is 1", p.cluster[1], p.cluster[2])
  end
  if p.cluster[1] * p.cluster[2] > MOST_BLOCKS then
    fail("cluster: %dx%d, where %d blocks are the most", p.cluster[1], p.cluster[2], MOST_BLOCKS)
  end
end

local function check_options(p)
  if p.promote and (p.acc ~= "f32" or p.promote % p.steps ~= 0) then
    fail("promote: %s MMAs of sums of %s, where multiples of %d of f32 there are",
      tostring(p.promote), p.acc, p.steps)
  end
  if p.grouped and (p.splits > 1 or p.scales) then
    fail("grouped: splits and scales are for one product")
  end
  if p.grouped and p.cluster[1] * p.cluster[2] > 1 then
    fail("grouped: clusters are for one product")
  end
  if p.bias and p.bias ~= "row" and p.bias ~= "column" then
    fail("bias is '%s': \"row\" and \"column\" there are", tostring(p.bias))
  end
  if p.buffers and (math.type(p.buffers) ~= "integer" or p.buffers < FEWEST_BUFFERS
      or p.buffers > SHARED_LIMIT // LEAST_BUFFER) then
    fail("buffers: %s, where an integer from %d to %d is needed: one is written, another stored",
      tostring(p.buffers), FEWEST_BUFFERS, SHARED_LIMIT // LEAST_BUFFER)
  end
end

-- Of a tile's elements of the bias.
local function bytes_of_bias(p)
  return p.bias and p.tile[p.bias == "row" and 1 or 2] * p.D.bytes or 0
end

local function bytes_of_stage(p) return p.A.stage_bytes + p.B.stage_bytes + 2 * BARRIER_BYTES end

-- Of all else in shared memory, with so many buffers of the output.
local function bytes_beside_stages(p, buffers)
  local buffer = p.D.buffer_bytes + (p:loads_c() and BARRIER_BYTES or 0)
  return p.consumers * (buffers * buffer + bytes_of_bias(p))
    + (p.ping_pong and p.consumers or 0) * BARRIER_BYTES
    + p.notes * (2 * BARRIER_BYTES + NOTE_BYTES)
end

-- As many stages as fit beside so many buffers.
local function most_stages(p, buffers)
  return (SHARED_LIMIT - bytes_beside_stages(p, buffers)) // bytes_of_stage(p)
end

-- Two buffers: one is written while the other is stored. More where C comes to them ahead of time,
-- as far as they cost no stage; or one stage, for a shared tile of many chunks, each pair of which
-- would be waited for (s8 at 4096^3 takes 0.93 of the time so).
local function least_buffers(p)
  if p.buffers then return p.buffers end
  local has_many = p:loads_c() and not p.ping_pong and p.atoms * p.D.chunks >= MANY_CHUNKS
  return has_many and most_stages(p, MOST_BUFFERS) >= STAGES_BESIDE_BUFFERS and MOST_BUFFERS
    or FEWEST_BUFFERS
end

-- As many as go beside the stages that there are.
local function choose_buffers(p)
  if p.buffers or not p:loads_c() then return end
  for buffers = MOST_BUFFERS, FEWEST_BUFFERS, -1 do
    p.D.buffers = buffers
    if most_stages(p, buffers) >= p.stages then return end
  end
end

-- As many stages as fit, unless the options say how many.
local function find_shared_bytes(p)
  local is_said = p.stages ~= nil
  p.stages = p.stages or most_stages(p, least_buffers(p))
  if p.stages < 2 and not is_said then
    fail("tile: shared memory has no room for two stages beside %d buffers of the output of each "
      .. "of %d warpgroups", least_buffers(p), p.consumers)
  end
  if p.stages < 2 then
    fail("stages is %d, where one is loaded while another is multiplied: 2 at least", p.stages)
  end
  choose_buffers(p)
  p.shared_bytes = p.stages * bytes_of_stage(p) + bytes_beside_stages(p, p.D.buffers)
  if p.shared_bytes > SHARED_LIMIT then
    fail("%d stages need %d bytes of shared memory, where a block has %d", p.stages,
      p.shared_bytes, SHARED_LIMIT)
  end
end

-- ---- The plan ----------------------------------------------------------------------------------

local function set_defaults(p)
  p.cluster, p.group = p.cluster or { 1, 1 }, p.group or 16
  p.skew = p.skew or 0
  p.splits, p.least_stages = p.splits or 1, p.least_stages or 4
  p.reads_c, p.epilogue = p.reads_c or false, p.epilogue or "x"
  p.dependent, p.scales = p.dependent or false, p.scales or false
  p.notes = p.grouped and NOTES or 0
end

-- Parts are moved four registers at once.
local function check_parts(p)
  local of_piece = registers.of_piece(p)
  if p.splits == 1 or of_piece % 4 == 0 then return end
  fail("splits: lines of D of %d elements have %d registers of sums, where parts take 4 at once",
    p.D.columns, of_piece)
end

--[[
new{dtype =, ...}: the plan for

  dtype, dtype_b, acc, out   f16 and bf16 with sums of f32 (f16 of f16, too), tf32, e4m3 and e5m2,
            s8 and u8; out is the type of C, D and the bias: f16 bf16 f32 s32 e4m3 e5m2 s8 u8
  a_major, b_major   "k" (default), or "row" where the rows are contiguous
  a_layout, b_layout, d_layout   (rows, k or columns, batch), whose modes may be hierarchical; all
            but the last of a mode's own modes are static
  d_align   bytes that D's address and strides are multiples of, where those are not TMA's 16
  batched   {A = false, B = false}: one matrix for all batches; D = false: one batch
  most_rows   M is no more than that: a tile of 64 rows loads no others
  tile      {rows, columns}: of 64 to 256, and 32 to 256 in steps of 16
  consumers, ping_pong   warpgroups, and whether they take turns with tiles instead of sharing each;
            by default one for 64 rows, three for 192, else two, which take turns with bytes where
            no tile is given
  splits, least_stages   tiles that would leave most multiprocessors idle are divided along k in at
            most so many parts, of so many stages or more each
  grouped   the kernel takes a list of products, by a table: see first_tiles
  promote   after so many MMAs along k, sums are added up as f32
  bias, reads_c, epilogue, scales   what becomes of the sums
  dependent   the kernel is launched as dependent on the one before
  buffers, line_bytes   of the output: chunks that a warpgroup has at once, and how wide they are
  skew      nanoseconds after which the second warpgroup starts, so that warpgroups that share tiles
            write them at different times
  stages, cluster ({rows, columns} of blocks), group, registers
]]
function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  p.arch = 90
  choose_types(p)
  choose_tile(p)
  set_defaults(p)
  check_tile(p)
  p.atom = wgmma.atom(p)
  p.mma = lutile.make_tiled_mma(p.atom, make_layout { p.sharers, 1, 1 })
  p.steps = p.tile[3] // p.mma.shape_mnk[2] -- of k, of a stage
  check_options(p)
  registers.choose(p)
  p.threads = (p.consumers + 1) * WARPGROUP
  if p.grouped then p.template = "gemm_sm90_grouped.cu" end
  p.A = operand.new(p, { name = "A", called = roles.name(p, "A"), said = roles.modes(p, "A"),
    dtype = p.dtype, rows = p.tile[1], slices = p.cluster[2],
    most_rows = p.tile[1] == ROWS and p.cluster[2] == 1 and p.most_rows or nil,
    major = p.a_major, layout = p.a_layout, is_batched = is_batched(p, "A") })
  p.B = operand.new(p, { name = "B", called = roles.name(p, "B"), said = roles.modes(p, "B"),
    dtype = p.dtype_b, rows = p.tile[2], slices = p.cluster[1],
    major = p.b_major, layout = p.b_layout, is_batched = is_batched(p, "B") })
  p.D = output.new(p, p.has_few)
  check_parts(p)
  find_shared_bytes(p)
  return p
end

-- ---- Changes -----------------------------------------------------------------------------------

local function check_integer(_, x, path) tile.check_integers(path, x) end

-- What a script may change, and what refuses values that are nothing of the kind: TMA's boxes say
-- how tiles lie, and the tile what the MMA is.
Plan.changeable = { stages = check_integer, group = check_integer,
  ["A.shared"] = tma_operand.check_shared, ["B.shared"] = tma_operand.check_shared }
Plan.fixed = { ["A.shared"] = true, ["B.shared"] = true }

-- What follows from all that may be changed.
function Plan:derive() find_shared_bytes(self) end

-- Nothing more is to be refused: stages have been counted.
function Plan.check_changed() end

return M
