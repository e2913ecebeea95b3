-- What may be chosen in a plan: for each family of kernels, by its template, a table of options and
-- the values to try, and what speaks against a choice beside the plan's own checks.

local banks = require "lutile.plan.banks"
local matrix = require "lutile.plan.matrix"

local M = {}

-- ---- Tiles -------------------------------------------------------------------------------------

-- Bytes that are copied to shared memory for each of C, relative to the inverse of a length.
local function traffic(p) return 1 / p.tile[1] + 1 / p.tile[2] end

-- Tiles of C, and parts of them that multiprocessors may share.
local function count_parts(p) return p.count_blocks(p.tile[1], p.tile[2]) * (p.splits or 1) end

-- A smaller tile copies more, which pays where there would be too few tiles; a larger one where
-- there are enough.
local function check_tiles(p, model)
  if not p.count_blocks then return nil end
  local parts, usual = count_parts(p), count_parts(model)
  if parts > 4 * p.multiprocessors and traffic(p) > 2 * traffic(model) then
    return ("tile: each element is copied %.1f times as often as in the model's choice"):format(
      traffic(p) / traffic(model))
  end
  if 2 * parts < p.multiprocessors and 2 * parts < usual then
    return ("tile: %d tiles for %d multiprocessors, and %d in the model's choice"):format(parts,
      p.multiprocessors, usual)
  end
  if (p.splits or 1) > 1 and parts > 2 * p.multiprocessors then
    return ("splits: %d parts of tiles for %d multiprocessors"):format(parts, p.multiprocessors)
  end
end

-- ---- mma.sync ----------------------------------------------------------------------------------

local TILES = { { 128, 256 }, { 256, 128 }, { 128, 128 }, { 128, 64 }, { 64, 128 }, { 64, 64 } }

local sm80 = { fields = { template = true, tile = true, warps = true, stages = true, blocks = true,
  group = true } }

function sm80.space(p)
  local bytes, tiles = matrix.BYTES[p.dtype], {}
  for _, t in ipairs(TILES) do
    for _, k in ipairs { 128, 64 } do tiles[#tiles + 1] = { t[1], t[2], k // bytes } end
  end
  return { template = { p.template }, tile = tiles, warps = { { 2, 2 }, { 2, 4 }, { 4, 2 } },
    stages = p.arch < 80 and { 2 } or { 2, 3, 4 }, blocks = { 1, 2 }, group = { p.group } }
end

-- The same by TMA, whose producer takes more stages to good use.
local sm120 = { fields = sm80.fields }

function sm120.space(p)
  local space = sm80.space(p)
  space.stages = { 3, 4 }
  return space
end

-- Why a plan need not be timed; nil where it is to be. 'model' is the plan by the model, perhaps of
-- another family.
function sm120.obstacle(p, model) return check_tiles(p, model) end

local function check_banks(p, model)
  if model.template ~= p.template then return nil end
  local ratios, usual = banks.of_plan(p), banks.of_plan(model)
  for _, what in ipairs { "copies of A", "copies of B", "loads of A", "loads of B" } do
    if ratios[what] > usual[what] then
      return ("bank conflicts: %s pass %.1f times as often as they need, and %.1f times in the "
        .. "model's choice"):format(what, ratios[what], usual[what])
    end
  end
end

-- Why a plan need not be timed; nil where it is to be. 'model' is the plan by the model, perhaps of
-- another family.
function sm80.obstacle(p, model)
  return check_tiles(p, model) or check_banks(p, model)
end

-- ---- Multiply-adds -----------------------------------------------------------------------------

local simt = { fields = { template = true, tile = true, group = true } }

local SIMT_TILES = { { 128, 128 }, { 128, 64 }, { 64, 128 }, { 64, 64 }, { 32, 64 }, { 64, 32 },
  { 32, 32 } }

function simt.space(p)
  local tiles = {}
  for _, t in ipairs(SIMT_TILES) do
    for _, k in ipairs { 8, 16, 32 } do tiles[#tiles + 1] = { t[1], t[2], k } end
  end
  return { template = { p.template }, tile = tiles, group = { p.group } }
end

function simt.obstacle(p, model) return check_tiles(p, model) end

-- ---- wgmma -------------------------------------------------------------------------------------

local sm90 = { inherited = { "dependent" }, fields = { template = true, tile = true, stages = true,
  cluster = true, ping_pong = true, splits = true, group = true, dependent = true, skew = true } }

local SM90_TILES = { { 64, 32 }, { 64, 64 }, { 64, 128 }, { 64, 256 }, { 128, 64 }, { 128, 96 },
  { 128, 128 }, { 128, 160 }, { 128, 176 }, { 128, 192 }, { 128, 256 }, { 192, 128 }, { 256, 96 },
  { 256, 128 }, { 256, 160 } }

-- As many stages as fit; tiles in parts where there are too few for all multiprocessors, else in
-- clusters.
function sm90.space(p)
  local tiles, k = {}, p.tile[3]
  for i, t in ipairs(SM90_TILES) do tiles[i] = { t[1], t[2], k } end
  local few = p.count_blocks and p.count_blocks(128, 128) < p.multiprocessors
  return { template = { p.template }, tile = tiles, ping_pong = { true, false },
    cluster = few and { { 1, 1 } } or { { 1, 1 }, { 2, 1 }, { 1, 2 } },
    splits = few and { 1, 2, 4, 8 } or { 1 }, skew = few and { 0 } or { 0, 1500 },
    group = { p.group } }
end

function sm90.obstacle(p, model)
  if p.skew > 0 and p.sharers == 1 then return "skew: no warpgroups share a tile" end
  return check_tiles(p, model)
end

-- ---- All ---------------------------------------------------------------------------------------

-- Of each: the options that are searched for, those of them that are as in the model's choice where
-- a candidate does not say; the space; what speaks against a plan.
M.families = { ["gemm_sm80.cu"] = sm80, ["gemm_sm120.cu"] = sm120, ["gemm_sm90.cu"] = sm90,
  ["simt_gemm.cu"] = simt }

-- The family of a plan; nil where nothing is known of it.
function M.family(p) return M.families[p.template] end

-- The options that a search decides on, of any family.
M.fields = {}
for _, family in pairs(M.families) do
  for name in pairs(family.fields) do M.fields[name] = true end
end

return M
