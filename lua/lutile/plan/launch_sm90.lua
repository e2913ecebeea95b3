-- Launches of plans for kernels/gemm_sm90.cu: as many blocks as there are multiprocessors, and
-- tensor maps of the matrices.

local matrix = require "lutile.plan.matrix"
local roles = require "lutile.plan.roles"
local tma = require "lutile.plan.tma"

local function ceil_div(a, b) return (a + b - 1) // b end

-- Clusters of blocks: one for each tile of a cluster, as far as the device has multiprocessors.
local function count_clusters(p, device, rows, columns, batches)
  local tiles = ceil_div(rows, p.tile[1] * p.cluster[1])
    * ceil_div(columns, p.tile[2] * p.cluster[2]) * batches
  return math.min(tiles, device.multiprocessors // (p.cluster[1] * p.cluster[2]))
end

local function strides(x)
  local row, _, batch = matrix.strides(x)
  return row, batch
end

-- A function that launches the kernel on the tensors of a run.
return function(p, x)
  local cuda = require "lutile.cuda"
  local a, b, c, d, names = roles.of(p, x.m)
  local rows, columns = roles.extents(p, x.extents)
  local k, batches = x.extents[3], x.extents[4]
  local index = x.t.D.data:device()
  local launch = p:kernel(index):launch {
    grid = count_clusters(p, cuda.device(index), rows, columns, batches)
      * p.cluster[1] * p.cluster[2],
    block = p.threads, shared = p.shared_bytes, stream = x.stream,
  }
  local left, right, old, new = x.t[names[1]], x.t[names[2]], x.t.C, x.t.D
  local map_a = tma.map(cuda, p.A, left, a, p.A.unit)
  local map_b = tma.map(cuda, p.B, right, b, p.B.unit)
  local map_d = tma.map(cuda, p.D, new, d, "column")
  local c_row, c_batch = strides(c)
  local d_row, d_batch = strides(d)
  local alpha, beta = x.alpha, x.beta
  return function()
    launch(map_a, map_b, map_d, new, old, x.t.bias, nil, nil, nil, nil, d_row, d_batch, 0, 0, c_row,
      c_batch, 0, 0, rows, columns, k, batches, alpha, beta)
  end
end
