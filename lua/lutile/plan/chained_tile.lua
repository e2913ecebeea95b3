-- The shape of a chained_gemm's block: warps, groups of them, rows, stages, how many blocks share
-- a multiprocessor; the registers that its threads need.

local lutile = require "lutile"
local result = require "lutile.plan.result"
local tile = require "lutile.plan.tile"

local M = {}

local WARPS = 8         -- of a block that shares B, or reads its tiles from the ring
local MOST_GROUPS = 15  -- for each of which there is a barrier
local LEAST_STAGES = 2
local MOST_BLOCKS = 4   -- of a multiprocessor, where there is room
local MOST_WORDS = 16   -- of B, which are loaded while as many are multiplied,
local LEAST_WORDS = 4   -- or a half or a quarter, where there are no more registers
local LEAST_OTHERS = 24 -- registers beside those of sums and operands, as seen in such kernels,
local OTHERS_OF_ROWS = 32 -- and where A or B is contiguous along its rows

local function ceil_div(a, b) return (a + b - 1) // b end

-- Bytes of shared memory of so many groups with so many stages.
local function shared_bytes(p, groups, rows, stages)
  local of_a = p.A and p.A.stage_bytes or rows * p.block_k * 2
  local of_b = p.B and p.B.stage_bytes or p.columns * p.block_k * 2
  if p.stays then return p.columns // p.block_k * of_b + groups * stages * of_a end
  return groups * stages * (of_a + of_b)
end

-- Of the plan's own.
function M.shared_bytes(p) return shared_bytes(p, p.groups, p.rows, p.stages) end

-- Of a group: 16 of a warp.
local function rows_of(p) return p.rows or p.warps * p.atom_rows end

local function has_room(p, groups, blocks)
  local stages = p.stages or LEAST_STAGES
  return shared_bytes(p, groups, rows_of(p), stages)
    <= tile.shared_of_blocks(p.arch, blocks)
end

-- Warps for whose threads there would not be too many copies of a tile of B.
local function least_warps(p)
  local vector = math.max(2, math.min(16, p.vector and p.vector.B or 16))
  local copies = p.columns * p.block_k * 2 // vector
  return copies > tile.MOST_COPIES * 32 * (WARPS // 2) and WARPS or WARPS // 2
end

-- Blocks of four warps each keep all of B. Where there is no room for two such blocks, groups of
-- warps of one block share it, as far as they all get rows; where B does not fit at all, its tiles
-- go through the ring, and the more warps read them the better.
local function choose_warps(p)
  local given = p.warps
  p.stays, p.warps = true, given or least_warps(p)
  p.stays = has_room(p, p.groups or 1, 1)
  if not p.stays then
    p.warps, p.groups = given or WARPS, p.groups or 1
  elseif not p.groups then
    local tiles = p.m and ceil_div(p.m, rows_of(p)) or math.huge
    local shares = not has_room(p, 1, 2) and tiles > (p.multiprocessors or 1)
    local groups = shares and math.max(1, WARPS // p.warps) or 1
    p.groups = has_room(p, groups, 1) and groups or 1
  end
  p.rows = rows_of(p)
end

-- As many as a tile of rows has, and one more: then the next rows come while these are multiplied.
local function choose_stages(p)
  local most = p.stays and p.columns // p.block_k + 1 or 3
  local stages = p.arch < 80 and LEAST_STAGES or most
  local room = tile.shared_of_blocks(p.arch, p.blocks)
  while stages > LEAST_STAGES and shared_bytes(p, p.groups, p.rows, stages) > room do
    stages = stages - 1
  end
  return stages
end

-- Registers in which copies of A wait while a tile is multiplied, where they are not asynchronous.
local function words_of_copies(p)
  local vector = math.max(2, math.min(16, p.vector and p.vector.A or 16)) -- bytes
  if p.A then vector = p.A.vector * 2 end
  if p.arch >= 80 and vector >= 4 then return 0 end
  local copies = p.rows * p.block_k * 2 // (vector * p.threads // p.groups)
  return copies * math.max(1, vector // 4)
end

-- Registers of a thread: those of all of S with operands of a k-step, and those of D with P and
-- with an operand of a k-step.
local function registers_of(p)
  local of_b = 2 * p.group_atoms * p.words_of_b + (p.stays and words_of_copies(p) or 0)
  local first = p.sums + p.atoms[1] * p.words_of_a + of_b
  local second = p.sums + p.sums // 2 + of_b
  local by_rows = p.a_major == "row" or p.b_major == "row"
  local others = by_rows and OTHERS_OF_ROWS or LEAST_OTHERS
  return first + others, second + others
end

-- Blocks of a multiprocessor for which there are registers and shared memory.
function M.choose_blocks(p)
  local needed = math.max(registers_of(p))
  for blocks = MOST_BLOCKS, 2, -1 do
    if needed <= tile.most_registers(blocks, p.threads) and shared_bytes(p, p.groups, p.rows,
      p.stages or LEAST_STAGES) <= tile.shared_of_blocks(p.arch, blocks) then
      return blocks
    end
  end
  return 1
end

local function check_multiple(what, n, multiple)
  if n % multiple ~= 0 then
    error(("%s is %d: a multiple of %d is needed, by the atom and the warps"):format(what, n,
      multiple), 0)
  end
end

-- Refuses sums that would go to memory.
function M.check_registers(p)
  local first, second = registers_of(p)
  local most = tile.most_registers(p.blocks, p.threads)
  if math.max(first, second) > most then
    error(("a thread would have %d registers in the first product and %d in the second, and can "
      .. "have %d (fewer rows, or more warps)"):format(first, second, most), 0)
  end
end

-- Atoms of a warp, and registers of a thread.
local function count_registers(p)
  local function words(layout) return lutile.size(layout) // 32 // 2 end -- two numbers in each
  p.words_of_a, p.words_of_b = words(p.mma.a_layout), words(p.mma.b_layout)
  p.words_of_c = lutile.size(p.mma.c_layout) // 32
  p.atoms = { p.rows // lutile.tile_size(p.mma, 0), p.columns // lutile.tile_size(p.mma, 1) }
  p.sums = p.atoms[1] * p.atoms[2] * p.words_of_c
  local most = MOST_WORDS
  repeat
    p.group_atoms = result.divisor(p.atoms[2], most // p.words_of_b)
    most = most // 2
  until most < LEAST_WORDS or math.max(registers_of(p)) <= tile.most_registers(1, p.threads)
end

-- All that the script has not chosen, and what follows.
function M.choose(p)
  local atom = lutile.make_tiled_mma(p.atom).shape_mnk
  p.atom_rows = atom[0]
  check_multiple("block_k", p.block_k, atom[2])
  p.columns = ceil_div(p.n, p.block_k) * p.block_k
  choose_warps(p)
  if p.groups > MOST_GROUPS then
    error(("groups is %d, where %d are the most"):format(p.groups, MOST_GROUPS), 0)
  end
  p.mma = lutile.make_tiled_mma(p.atom, lutile.make_layout { p.warps, 1, 1 })
  check_multiple("rows", p.rows, lutile.tile_size(p.mma, 0))
  p.threads, p.steps = p.groups * lutile.size(p.mma), p.block_k // atom[2]
  count_registers(p)
  p.blocks = p.blocks or M.choose_blocks(p)
  p.stages = p.stages or choose_stages(p)
  p.shared_bytes = M.shared_bytes(p)
end

return M
