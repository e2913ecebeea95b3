-- The tile of a block, its warps and stages, by the types, the architecture and the sizes.

local lutile = require "lutile"
local matrix = require "lutile.plan.matrix"
local mma_sync = require "lutile.plan.mma_sync"
local roles = require "lutile.plan.roles"
local shown = require "lutile.plan.shown"

-- The largest first; k is in bytes. 'blocks' of a multiprocessor at least: this bounds registers;
-- with fewer than 'least_blocks' too few warps would hide each other's waits. 'vector': for copies
-- of at most so many bytes, of which more threads make fewer each, where lutile chooses how many.
-- 'arch': where these have registers for that, if both operands are contiguous along K.
local LADDER = {
  { tile = { 128, 256, 128 }, warps = { 2, 4 }, stages = 3 },
  { tile = { 128, 256, 64 }, warps = { 2, 4 }, stages = 3, vector = 4 },
  { tile = { 128, 256, 64 }, warps = { 2, 8 }, stages = 3, vector = 2, arch = 90 },
  { tile = { 128, 128, 128 }, warps = { 2, 2 }, stages = 3, blocks = 2 },
  { tile = { 128, 128, 64 }, warps = { 2, 2 }, stages = 4, blocks = 2 },
  { tile = { 128, 128, 64 }, warps = { 4, 4 }, stages = 3, vector = 2 },
  { tile = { 64, 64, 128 }, warps = { 2, 2 }, stages = 3, blocks = 2 },
  { tile = { 64, 64, 64 }, warps = { 2, 4 }, stages = 3, vector = 2 },
  { tile = { 64, 64, 64 }, warps = { 2, 2 }, stages = 3, blocks = 2 },
}
local LADDER_BY_TMA = {
  { tile = { 128, 256, 128 }, warps = { 2, 4 }, stages = 4 },
  { tile = { 128, 128, 128 }, warps = { 2, 2 }, stages = 3, blocks = 2, least_blocks = 2 },
  { tile = { 128, 128, 128 }, warps = { 2, 4 }, stages = 3 },
  { tile = { 128, 64, 128 }, warps = { 2, 2 }, stages = 4, blocks = 2 },
  { tile = { 64, 64, 128 }, warps = { 2, 2 }, stages = 4, blocks = 2 },
}
local LADDER_BEFORE_80 = {
  { tile = { 128, 128, 64 }, warps = { 2, 4 }, stages = 2 },
  { tile = { 128, 128, 64 }, warps = { 4, 4 }, stages = 2, vector = 1 },
  { tile = { 64, 64, 64 }, warps = { 2, 4 }, stages = 2, vector = 1 },
  { tile = { 64, 64, 64 }, warps = { 2, 2 }, stages = 2 },
}
local LADDER_F64 = { { tile = { 64, 64, 128 }, warps = { 2, 2 }, stages = 3 } }
-- From 128x128x64 on: for fp8 that is unpacked to f16, and for bytes that are gathered from rows,
-- which are slower with larger tiles.
local LADDER_OF_BYTES = table.move(LADDER, 5, #LADDER, 1, {})

-- KiB of shared memory that a block may have (CUDA C++ Programming Guide, compute capabilities);
-- those not listed have 99 at least.
local SHARED = { [75] = 64, [80] = 163, [87] = 163, [90] = 227, [100] = 227, [101] = 227,
  [103] = 227, [110] = 227 }

-- Threads that a multiprocessor may have (the same); those not listed have 2048.
local THREADS = { [75] = 1024, [86] = 1536, [87] = 1536, [88] = 1536, [89] = 1536, [101] = 1536,
  [110] = 1536, [120] = 1536, [121] = 1536 }

local OF_BLOCK = 1024 -- bytes of shared memory that a block takes for itself
-- Of a thread for a tile: each is written out, with an address of its own.
local MOST_COPIES, FEW_COPIES = 32, 16

local MOST_SUMS = 128 -- registers of a thread, where lutile chooses its warps
local SUM_BYTES = { f16 = 2, f64 = 8 }

local PARTS, REGISTERS = 4, 16384 -- of a multiprocessor: each with registers for its own warps
local MOST_REGISTERS = 255 -- of a thread
local LEAST_OTHERS = 12 -- beside sums and a k-step's words of A and B, as seen in such kernels
local LEAST_OTHERS_BY_TMA = 8 -- beside words of two k-steps: with fewer, nearly all loops spilled
local TOO_FEW = "%d registers of sums and %d of A and B for a thread of %dx%d warps, which has %d"

local M = {}

-- Registers of a thread's sums.
local function count_sums(p, rows, columns, warps)
  return rows * columns * (SUM_BYTES[p.acc] or 4) // (4 * 32 * warps[1] * warps[2])
end

-- Registers of a thread for a k-step of A and B: by atoms of 16x8 whose k is 32 bytes.
local function count_words(extents, warps)
  return extents[1] // (4 * warps[1]) + extents[2] // (4 * warps[2])
end

-- Registers that a thread may have where there are so many blocks of so many threads.
function M.most_registers(blocks, threads)
  local warps = (blocks * threads + 32 * PARTS - 1) // (32 * PARTS) -- of a part, at most
  return math.min(MOST_REGISTERS, REGISTERS // (32 * warps) // 8 * 8)
end

-- Registers beside sums and a k-step's 'words'; 'early' are those that by TMA are there twice.
local function least_others(p, early)
  return p.by_tma and early + LEAST_OTHERS_BY_TMA or LEAST_OTHERS
end

local function most_threads(arch) return THREADS[arch] or 2048 end

-- Bytes of shared memory that a block may have.
function M.shared_limit(arch) return (SHARED[arch] or 99) * 1024 end

-- The same where so many blocks share a multiprocessor.
function M.shared_of_blocks(arch, blocks)
  return (M.shared_limit(arch) + OF_BLOCK) // blocks - OF_BLOCK
end

-- Blocks of so many bytes that a multiprocessor has room for.
local function room(p, shared_bytes)
  return (M.shared_limit(p.arch) + OF_BLOCK) // (shared_bytes + OF_BLOCK)
end

-- Whether neither warps nor blocks are given, which bound a thread's registers.
local function is_free(p) return not (p.warps or p.blocks) end

local function is_by_rows(p) return p.a_major == "row" or p.b_major == "row" end

local function ladder_of(p, bytes)
  if p.arch < 80 then return LADDER_BEFORE_80 end
  if p.by_tma then return LADDER_BY_TMA end
  local is_gathered = bytes == 1 and is_by_rows(p) and is_free(p)
  if is_gathered or mma_sync.unpacks(p.dtype, p.arch) then return LADDER_OF_BYTES end
  return bytes == 8 and LADDER_F64 or LADDER
end

M.MOST_COPIES = MOST_COPIES
M.BARRIERS = 16        -- bytes of those of a stage that a producer fills
local LEAST_STAGES = 3 -- with which that is ahead

local function bytes_of_stage(c, p)
  return (c.tile[1] + c.tile[2]) * c.tile[3] + (p.by_tma and M.BARRIERS or 0)
end

-- The stages of a rung, where the script has not chosen: with a producer fewer, if there is no room
-- for as many.
local function stages_of(c, p)
  if p.stages or not p.by_tma then return p.stages or c.stages end
  local bytes = M.shared_of_blocks(p.arch, p.blocks or c.blocks or 1)
  return math.max(LEAST_STAGES, math.min(c.stages, bytes // bytes_of_stage(c, p)))
end

-- The copies of a thread for a tile by a rung, of the operand of which it makes more; their bytes,
-- and that operand's name.
local function copies_of(c, p)
  local warps = p.warps or c.warps
  local most, bytes, of = 0, nil, nil
  for i, name in ipairs { "A", "B" } do
    local vector = p.vector and p.vector[name] or 16
    local copies = c.tile[i] * c.tile[3] // (vector * 32 * warps[1] * warps[2])
    if copies > most then most, bytes, of = copies, vector, roles.name(p, name) end
  end
  return most, bytes, of
end

-- Whether a rung is for copies of so few bytes.
local function is_for(c, p)
  local vector = p.vector and math.min(p.vector.A, p.vector.B) or 16
  return not c.vector or is_free(p) and vector <= c.vector
end

local function counted(n, noun) return ("%d %s%s"):format(n, noun, n == 1 and "" or "s") end

local function too_many_copies(c, p, most)
  local copies, bytes, of = copies_of(c, p)
  if copies <= most then return nil end
  return ("a thread would make %d copies of %s of %s, where %d are the most"):format(copies,
    counted(bytes, "byte"), of, most)
end

-- Whether more warps would make fewer copies each.
local function has_many_copies(c, p) return is_free(p) and copies_of(c, p) > FEW_COPIES end

-- Why a rung cannot be; nil where it can.
local function obstacle(c, p)
  local shared = stages_of(c, p) * bytes_of_stage(c, p)
  local warps, limit = p.warps or c.warps, M.shared_limit(p.arch)
  if shared > limit then
    return ("%d bytes of shared memory, where a block has %d"):format(shared, limit)
  end
  local blocks = p.blocks or c.least_blocks or 1
  if blocks > room(p, shared) then
    return ("%d blocks of %d bytes of shared memory, where a multiprocessor has room for %d")
      :format(blocks, shared, room(p, shared))
  end
  if c.arch and (p.arch ~= c.arch or is_by_rows(p)) then
    return ("a thread has registers for that on %d.%d, where A and B are contiguous along K")
      :format(c.arch // 10, c.arch % 10)
  end
  local sums, words = count_sums(p, c.tile[1], c.tile[2], warps), count_words(c.tile, warps)
  local most = M.most_registers(p.blocks or 1, 32 * warps[1] * warps[2])
  if sums + words + least_others(p, words) > most then
    return TOO_FEW:format(sums, words, warps[1], warps[2], most)
  end
  return too_many_copies(c, p, MOST_COPIES)
end

-- Why another rung would be better.
local function drawback(c, p)
  if has_many_copies(c, p) then return too_many_copies(c, p, FEW_COPIES) end
  local blocks = p.count_blocks and p.count_blocks(c.tile[1], c.tile[2])
  if blocks and blocks < p.multiprocessors then
    return ("%s, fewer than the %d multiprocessors"):format(counted(blocks, "block"),
      p.multiprocessors)
  end
end

-- Whether a rung is better than another where both have drawbacks: few copies, then a small tile.
local function is_better(c, other, p)
  local many, others_many = has_many_copies(c, p), has_many_copies(other, p)
  if many ~= others_many then return others_many end
  return c.tile[1] * c.tile[2] < other.tile[1] * other.tile[2]
end

local function name_of(c, p)
  local t, warps = c.tile, p.warps or c.warps
  return ("tile %dx%dx%d by %dx%d warps"):format(t[1], t[2], t[3] // matrix.BYTES[p.dtype],
    warps[1], warps[2])
end

-- The first rung that nothing speaks against, else the best that can be; then whether it is that.
-- What speaks against others goes into p.reasons.
local function find_rung(p)
  local fallback
  for _, c in ipairs(ladder_of(p, matrix.BYTES[p.dtype])) do
    if is_for(c, p) then
      local hard = obstacle(c, p)
      local why = hard or drawback(c, p)
      if not why then return c, false end
      if not hard and (not fallback or is_better(c, fallback, p)) then fallback = c end
      p.reasons[#p.reasons + 1] = ("%s: %s"):format(name_of(c, p), why)
    end
  end
  return fallback, true
end

-- {tile, warps, stages, blocks}.
function M.choose(p)
  local choice, is_fallback = find_rung(p)
  if not choice then error("no tile fits: " .. p.reasons[#p.reasons], 0) end
  local t, stages = choice.tile, stages_of(choice, p)
  p.reasons[#p.reasons + 1] = ("%s, %d stages%s"):format(name_of(choice, p), stages,
    is_fallback and ": the best of these" or "")
  return { tile = { t[1], t[2], t[3] // matrix.BYTES[p.dtype] }, warps = choice.warps,
    stages = stages, blocks = choice.blocks }
end

-- Stages for a tile that is given: as many as shared memory has room for.
function M.stages(p)
  local bytes = p.A.stage_bytes + p.B.stage_bytes
  return math.max(2, math.min(p.arch < 80 and 2 or 3, M.shared_limit(p.arch) // bytes))
end

function M.most_blocks(p)
  return math.min(room(p, p.shared_bytes), most_threads(p.arch) // p.threads)
end

-- Registers of a thread, at least.
function M.registers_of(p)
  local early = p.early[1] * p.words_of_a + p.early[2] * p.words_of_b
  return (p.sums + p.words_of_step) * p.A.word // 4 + least_others(p, early)
end

-- What a thread has that multiplies, where there are so many blocks.
local function given_registers(p, blocks)
  local moved = p.registers and p.registers[2] or 0
  return moved > 0 and moved or M.most_registers(blocks, p.threads)
end

-- Whether it needs more than that.
function M.needs_more(p, blocks) return M.registers_of(p) > given_registers(p, blocks) end

-- Blocks of a multiprocessor for which there is room: 'usual' ones, or fewer.
function M.blocks(p, usual)
  local blocks = math.max(1, math.min(usual, M.most_blocks(p)))
  while blocks > 1 and M.needs_more(p, blocks) do blocks = blocks - 1 end
  return blocks
end

-- Warps for a tile that is given: four, or eight where the sums would not fit into the registers of
-- four and the tile is whole atoms of eight.
function M.warps(p)
  local rows, columns = p.tile[1], p.tile[2]
  local is_large = count_sums(p, rows, columns, { 2, 2 }) > MOST_SUMS
  local takes_rows, takes_columns = rows % 64 == 0, columns % 32 == 0 -- atoms of 16x8
  if is_large and takes_rows and (rows > columns or not takes_columns) then return { 4, 2 } end
  return is_large and takes_columns and { 2, 4 } or { 2, 2 }
end

-- ---- Checks ------------------------------------------------------------------------------------

local function fail(message, ...)
  error(message:format(...), 0)
end

local MOST_THREADS = 1024

local function check_copies(p, o)
  if lutile.size(o.copy) ~= o.rows * o.k then
    fail("copies of %d elements by %d threads do not make up a tile (%d,%d) of %s: extents that "
      .. "are powers of two do", o.vector, p.threads, o.rows, o.k, roles.name(p, o.name))
  end
  local copies = lutile.size(o.copy[1][1])
  if copies > MOST_COPIES then
    fail("a thread would make %d copies of %d bytes for a tile of %s, where %d are the most (a "
      .. "smaller tile, or more warps)", copies, o.vector * o.bytes,
      roles.name(p, o.name), MOST_COPIES)
  end
end

local function check_threads(p)
  if p.threads > MOST_THREADS then
    fail("%d threads, where a block has %d at most", p.threads, MOST_THREADS)
  end
  if p.blocks * p.threads > most_threads(p.arch) then
    fail("blocks: %d of %d threads each, where a multiprocessor of compute capability %d.%d has %d",
      p.blocks, p.threads, p.arch // 10, p.arch % 10, most_threads(p.arch))
  end
end

local PLACE = "^lutile[%w_.]*:%d+: " -- in a module, where algebra refuses

local function is_power_of_two(x) return x & (x - 1) == 0 end

-- Refuses tiles whose places are no sums of a thread's and a step's, as C++ has them: some of those
-- that are no powers of two.
local function check_places(p)
  local t = p.tile or { p.rows, p.columns, p.block_k }
  local warps = p.tile and p.warps or { p.warps, 1 }
  local of_two = true
  for _, x in ipairs { t[1], t[2], t[3], warps[1], warps[2] } do
    of_two = of_two and is_power_of_two(x)
  end
  if of_two then return end
  local good, why = pcall(p.block_text, p)
  if not good then
    fail("tile: %dx%dx%d by %dx%d warps cannot be laid out (powers of two can): %s", t[1], t[2],
      t[3], warps[1], warps[2], (tostring(why):gsub(PLACE, "")))
  end
end

-- Refuses sums that would go to memory in the main loop.
local function check_registers(p)
  if not p.early then return end -- chained_gemm counts its own
  if M.needs_more(p, p.blocks) then
    fail(TOO_FEW .. " (a smaller tile, more warps or fewer blocks)", p.sums * p.A.word // 4,
      p.words_of_step * p.A.word // 4, p.warps[1], p.warps[2], given_registers(p, p.blocks))
  end
end

-- Refuses a plan that no kernel can follow, whoever chose its numbers.
function M.check(p)
  if p.stages < 2 then
    fail("stages is %d, and 2 are needed at least: one is read while another is written", p.stages)
  end
  for _, o in ipairs { p.A, p.B } do
    if o.copy then check_copies(p, o) end
  end
  check_threads(p)
  local limit = M.shared_limit(p.arch)
  if p.shared_bytes > limit then
    fail("%d stages of A and B have %d bytes of shared memory, where a block of compute "
      .. "capability %d.%d has %d", p.stages, p.shared_bytes, p.arch // 10, p.arch % 10, limit)
  end
  if p.blocks > M.most_blocks(p) then
    fail("blocks: %d of %d bytes of shared memory each, where a multiprocessor has room for %d",
      p.blocks, p.shared_bytes, M.most_blocks(p))
  end
  check_places(p)
  check_registers(p)
end

-- Refuses a product of so many columns for which kernels cannot count the tiles of a group of rows.
function M.check_group(p, columns)
  local tiles = p.group * ((columns + p.tile[2] - 1) // p.tile[2])
  if tiles < 1 << 32 then return end
  fail("group: %d rows of %d tiles are %d, where 4294967295 are the most (a smaller group)",
    p.group, tiles // p.group, tiles)
end

-- An option that must be 'count' positive integers in a table, or one where count is nil.
function M.check_integers(name, x, count)
  local list = count and x or { x }
  local good = type(list) == "table" and #list == (count or 1)
  for i = 1, good and #list or 0 do
    good = good and math.type(list[i]) == "integer" and list[i] > 0 and list[i] < 1 << 20
  end
  if not good then
    fail("%s is %s, where %s needed", name, shown(x),
      count and ("a table of %d positive integers is"):format(count) or "a positive integer is")
  end
end

return M
