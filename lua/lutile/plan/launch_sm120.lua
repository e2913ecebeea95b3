-- Launches of plans for kernels/gemm_sm120.cu: as many blocks as the multiprocessors have room for.

local matrix = require "lutile.plan.matrix"
local roles = require "lutile.plan.roles"
local tile = require "lutile.plan.tile"
local tma = require "lutile.plan.tma"

local function ceil_div(a, b) return (a + b - 1) // b end

local MOST_STAGES = (1 << 31) - 1 -- that a block counts

-- Blocks for so many tiles, each of which has 'stages'.
local function count_blocks(p, device, tiles, stages)
  local blocks = math.min(tiles, device.multiprocessors * p.blocks)
  if ceil_div(tiles, blocks) * stages > MOST_STAGES then
    error(("%d tiles of %d stages are more than %d blocks can count, %d each (fewer batches at "
      .. "once)"):format(tiles, stages, blocks, MOST_STAGES), 0)
  end
  return blocks
end

-- A function that launches the kernel on the tensors of a run.
return function(p, x)
  local cuda = require "lutile.cuda"
  local a, b, c, d, names = roles.of(p, x.m)
  local rows, columns = roles.extents(p, x.extents)
  tile.check_group(p, columns)
  local k, batches = x.extents[3], x.extents[4]
  local index = x.t.D.data:device()
  local tiles = ceil_div(rows, p.tile[1]) * ceil_div(columns, p.tile[2]) * batches
  local blocks = count_blocks(p, cuda.device(index), tiles, ceil_div(k, p.tile[3]))
  local launch = p:compiled(index):launch { grid = blocks, block = p.threads,
    shared = p.shared_bytes, stream = x.stream }
  local maps = tma.tensor_maps(p, cuda, { A = x.t[names[1]], B = x.t[names[2]] },
    { A = tma.layout_of(p, a), B = tma.layout_of(p, b) })
  local old, new, bias = x.t.C, x.t.D, x.t.bias
  local c_row, c_column, c_batch = matrix.launch_strides(c)
  local d_row, d_column, d_batch = matrix.launch_strides(d)
  local alpha, beta = x.alpha, x.beta
  local scale_a, scale_b = x.t.scale_a, x.t.scale_b
  return function()
    launch(maps.A, maps.B, old, new, bias, scale_a, scale_b, rows, columns, k, batches, c_row,
      c_column, c_batch, d_row, d_column, d_batch, alpha, beta)
  end
end
