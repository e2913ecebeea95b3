-- Registers of gemm_sm90's threads: those of sums, how many of them C++ sees at once, and how a
-- multiprocessor's are shared among warpgroups that load and multiply.

local wgmma = require "lutile.plan.wgmma"

local M = {}

local function fail(message, ...) error(message:format(...), 0) end

local WARPGROUP = 128
local ROWS = 64 -- of a warpgroup's MMA
local ALL_REGISTERS = 65536     -- of a multiprocessor
local MOST_REGISTERS = 255      -- of a thread
local OTHER_REGISTERS = 26      -- that an MMA takes beside its sums
local OTHERS_OF_TURNS = 34      -- where warpgroups take turns, or MMAs write to runs
local OTHERS_OF_THREE = 50      -- where three do, whose pieces are large beside their registers

-- ---- Sums --------------------------------------------------------------------------------------

-- Registers of a thread that MMAs write to, and those that they are added to after runs.
local function registers_of_sums(p)
  local _, of_atom = wgmma.registers(p)
  return p.atoms * of_atom * (p.promote and 2 or 1)
end

-- Whether parts of tiles or groups take registers beside those of sums.
local function needs_many(p)
  return p.splits > 1 or p.grouped and (p.reads_c or p.bias)
end

-- So many sums C++ sees at once, copies of the registers: fewer where these are most of a thread's,
-- or where others are needed, too.
function M.of_piece(p)
  local _, _, values = wgmma.registers(p)
  local is_large = registers_of_sums(p) > (p.consumers > 2 and 80 or 128)
  local least = p.splits == 1 and (p.grouped or p.scales) and p.reads_c and p.bias and 2 or 4
  local most = p.has_few and least or is_large and needs_many(p) and 8
    or (is_large or p.reads_c and p.consumers > 2) and 16 or 32
  return math.min(most, p.D.values_of_chunk // values)
end

-- The first register of each piece, in the order in which they are written.
function M.starts_of_pieces(p)
  local _, of_atom, values = wgmma.registers(p)
  local starts, of_piece = {}, M.of_piece(p)
  for atom = 0, p.atoms - 1 do
    for chunk = 0, p.D.chunks - 1 do
      local first = p.D.first_column(chunk) * ROWS // WARPGROUP // values
      for i = 0, p.D.values_of_chunk // values - 1, of_piece do
        starts[#starts + 1] = atom * of_atom + first + i
      end
    end
  end
  return starts
end

-- ---- Shares ------------------------------------------------------------------------------------

-- Registers of a thread of the producer and of a consumer: of one consumer, of two ...; {0, 0} is
-- what the launch gives.
local REGISTERS = { { 0, 0 }, { 40, 232 }, { 32, 160 }, { 24, 120 } }
local MOST_OF_TWO = { 24, 240 }
local OF_GROUPS = { 56, 224 } -- whose producer goes through a table, and loads by narrow boxes
local FEW = 48 -- beside those of sums

-- What a launch gives to each thread.
local function launched_registers(p)
  return math.min(ALL_REGISTERS // ((p.consumers + 1) * WARPGROUP) // 8 * 8, MOST_REGISTERS)
end

local function others_of(p)
  if p.ping_pong then return p.consumers > 2 and OTHERS_OF_THREE or OTHERS_OF_TURNS end
  local is_tight = p.promote and (p.consumers == 1 or p.reads_c or needs_many(p))
  return is_tight and OTHERS_OF_TURNS or OTHER_REGISTERS
end

local function check_registers(p, registers, of_sums)
  local _, of_atom = wgmma.registers(p)
  local launched = launched_registers(p)
  if of_atom + OTHER_REGISTERS > launched then
    fail("tile: an MMA takes %d registers, and a launch of %d warpgroups gives %d",
      of_atom + OTHER_REGISTERS, p.consumers + 1, launched)
  end
  local most = registers[2] > 0 and registers[2] or launched
  local others = others_of(p)
  if of_sums + others > most then
    fail("tile: %d registers, %d of them of sums%s, and a thread has %d", of_sums + others, of_sums,
      p.promote and " and of runs" or "", most)
  end
end

-- Whether 'beside' registers beside those of sums are few for what becomes of these.
local function is_tight(p, beside)
  if beside < 0 or beside > FEW then return false end
  return (p.reads_c or p.scales or p.d_align or needs_many(p) or p.bias and not p.ping_pong)
    and true or false
end

local LIGHT, LARGE = 64, 160 -- registers of sums

local function usual_registers(p, of_sums)
  if p.consumers == 2 and of_sums <= LIGHT and not needs_many(p) then return REGISTERS[1] end
  local is_narrow = p.a_major == "row" or p.b_major == "row"
  if p.consumers == 2 and of_sums <= LARGE and p.grouped and is_narrow then return OF_GROUPS end
  return REGISTERS[p.consumers]
end

-- The registers; and whether they are so few beside those of sums that all else makes do with the
-- least.
function M.choose(p)
  local of_sums = registers_of_sums(p)
  local registers = p.registers or usual_registers(p, of_sums)
  p.has_few = is_tight(p, (registers[2] > 0 and registers[2] or launched_registers(p)) - of_sums)
  check_registers(p, registers, of_sums)
  p.registers = p.registers or p.has_few and p.consumers == 2 and not p.grouped and MOST_OF_TWO
    or registers
end

return M
