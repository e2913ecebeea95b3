-- What plans of products by mma.sync have in common: types, the tiled MMA, registers.

local lutile = require "lutile"
local block = require "lutile.plan.mma_block"
local matrix = require "lutile.plan.matrix"
local mma_sync = require "lutile.plan.mma_sync"
local operand = require "lutile.plan.operand"
local problem = require "lutile.plan.problem"
local tile = require "lutile.plan.tile"

local M = {}

local BYTES = matrix.BYTES

local function atom_of(p)
  local a, b, acc = p.dtype:upper(), p.dtype_b:upper(), p.acc:upper()
  local types = acc .. a .. b .. acc
  if p.arch < 80 then
    if a == "F16" then return "SM75_16x8x8_" .. types .. "_TN" end
    return "SM75_8x8x16_" .. types .. "_TN"
  end
  local shapes = { [8] = "8x8x4", [4] = "16x8x8", [2] = "16x8x16", [1] = "16x8x32" }
  local shape = shapes[BYTES[p.dtype]]
  local since = a:match "^E%d" and "SM89_" or "SM80_"
  return since .. shape .. "_" .. types .. "_TN"
end

local function check_steps(p)
  for i, name in ipairs { "M", "N", "K" } do
    local extent = lutile.tile_size(p.mma, i - 1) * (i == 3 and 2 or 1)
    if p.tile[i] % extent ~= 0 then
      error(("%s of the tile is %d: a multiple of %d is needed, by the atom and the warps"):format(
        name, p.tile[i], extent), 0)
    end
  end
end

local COMPUTE = block.COMPUTE

local function choose_types(p)
  p.dtype_b = p.dtype_b or p.dtype
  p.acc = p.acc or problem.DEFAULT_ACC[p.dtype]
  p.out = p.out or (p.acc == "s32" and "s32" or p.acc == "f64" and "f64" or "f32")
  local is_of_sums = COMPUTE[p.out] and (p.out ~= "s32" or p.acc == "s32") -- else f32, rounded
  p.compute_type = is_of_sums and p.out or "f32"
end

local function set_defaults(p)
  p.group = p.group or 8
  p.run_size = p.run_size or 2
  p.reads_c, p.scales = p.reads_c or false, p.scales or false
  p.epilogue = p.epilogue or "x"
end

-- Types, the tile, its warps and stages, where the script has not chosen, and the tiled MMA. Gives
-- how many blocks of a multiprocessor such a tile usually has.
function M.choose(p)
  choose_types(p)
  set_defaults(p)
  p.atom = p.atom or atom_of(p)
  p.reasons = p.reasons or {}
  local usual_blocks
  if not p.tile then
    local choice = tile.choose(p)
    p.tile, p.warps, p.stages = choice.tile, p.warps or choice.warps, p.stages or choice.stages
    usual_blocks = choice.blocks
  end
  p.warps = p.warps or tile.warps(p)
  p.mma = lutile.make_tiled_mma(p.atom, lutile.make_layout { p.warps[1], p.warps[2], 1 },
    p.permutation)
  M.derive(p)
  return usual_blocks or 1
end

-- What follows from the tile and the tiled MMA: warps, and atoms along k.
function M.derive(p)
  check_steps(p)
  local threads = p.mma:get_thr_layout_vmnk().shape
  p.warps = { threads[1], threads[2] }
  p.steps = p.tile[3] // p.mma.shape_mnk[2]
end

-- Atoms of operand i whose registers are loaded a step before: a half of them where there are
-- registers for one step, else all but B's last load. With that one, too, ptxas takes 70 ms more.
local function early_atoms(p, i)
  if p.doubles and i == 1 then return p.atoms[i] end
  local o, words = i == 1 and p.A or p.B, i == 1 and p.words_of_a or p.words_of_b
  local of_load = operand.words_of_load(o, p.atoms[i] * words)
  return mma_sync.early(p.atoms[i], words, of_load, not p.doubles)
end

-- Atoms of a warp, and registers of a thread: for sums, for a k-step of both operands, for those
-- that are loaded early. p.doubles says whether there are registers for two k-steps.
function M.count_registers(p)
  local values = lutile.size(p.mma.c_layout) // 32
  p.words_of_c = p.acc == "f16" and values // 2 or values
  p.words_of_a = mma_sync.words(p.mma.a_layout, p.A)
  p.words_of_b = mma_sync.words(p.mma.b_layout, p.B)
  local atom = p.mma.shape_mnk
  p.atoms = { p.tile[1] // (atom[0] * p.warps[1]), p.tile[2] // (atom[1] * p.warps[2]) }
  p.early = { early_atoms(p, 1), early_atoms(p, 2) }
  p.sums = p.atoms[1] * p.atoms[2] * p.words_of_c
  p.words_of_step = p.atoms[1] * p.words_of_a + p.atoms[2] * p.words_of_b
end

-- What is known of D, in the kernel's roles, and the title; 'by' is what loads and multiplies.
function M.describe_result(p, d, by, template)
  p.run_size = math.min(d.unit == "column" and matrix.vector(d, 2) or 1, 16 // d.bytes)
  p.reasons[#p.reasons + 1] = problem.reason_of_result(p.matrices.C, p.run_size)
  p.title = ("gemm: %s x %s -> %s, sums of %s, by %s, %s"):format(p.dtype, p.dtype_b, p.out, p.acc,
    by, template)
end

-- Refuses C and D in which the kernel's runs would not be whole; 'addresses' of those on a device.
function M.check_results(p, m, addresses)
  local run = p.run_size > 1 and p.run_size or nil
  for _, name in ipairs { "C", "D" } do
    matrix.check_fits(m[name], p.matrices[name], run, addresses[name])
  end
end

return M
