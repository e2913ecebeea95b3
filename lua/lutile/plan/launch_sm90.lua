-- Launches of plans for kernels/gemm_sm90.cu: as many blocks as there are multiprocessors, tensor
-- maps of the matrices, and a workspace for tiles in parts.

local readable_c = require "lutile.plan.readable_c"
local roles = require "lutile.plan.roles"
local tile = require "lutile.plan.tile"
local tma = require "lutile.plan.tma"

-- Blocks: as many as have a tile, or a part of one, as far as the device has multiprocessors.
local function count_blocks(p, device, rows, columns, batches)
  local cluster = p.cluster[1] * p.cluster[2]
  local units = p:clusters(rows, columns, batches) * p.splits
  return math.min(units, device.multiprocessors // cluster) * cluster
end

-- Memory for parts of tiles: of sums, and of counters, which are 0.
local function workspace(p, cuda, blocks, index)
  local bytes, counters = p:workspace(blocks)
  if bytes == 0 then return nil, nil end
  local zeros = cuda.alloc("s32", counters, index)
  zeros:fill(0)
  require "lutile.cuda.driver".synchronize_default(index) -- not the device: a stream may record
  return cuda.alloc("s32", bytes // 4, index), zeros
end

-- A function that launches the kernel on the tensors of a run.
return function(p, x)
  local cuda = require "lutile.cuda"
  local a, b, _, _, names = roles.of(p, x.m)
  local rows, columns = roles.extents(p, x.extents)
  tile.check_group(p, columns)
  local k, batches = x.extents[3], x.extents[4]
  local index = x.t.D.data:device()
  local blocks = count_blocks(p, cuda.device(index), rows, columns, batches)
  local launch = p:compiled(index):launch { grid = blocks, block = p.threads,
    shared = p.shared_bytes, stream = x.stream, dependent = p.dependent }
  local d, bias = x.t.D, x.t.bias
  local scale_a, scale_b = x.t.scale_a, x.t.scale_b
  local function layout(m) return roles.output_layout(p, tma.layout_of(p, m)) end
  local c, layout_c, copy_c = readable_c(p, cuda, { t = x.t, m = x.m, stream = x.stream,
    layout = layout, name = "C" })
  local layout_d = layout(x.m.D)
  local maps = tma.tensor_maps(p, cuda,
    { A = x.t[names[1]], B = x.t[names[2]], C = c, D = d },
    { A = tma.layout_of(p, a), B = tma.layout_of(p, b), C = p:loads_c() and layout_c or nil,
      D = p.D.by_tma and layout_d or nil })
  local d0, d1, d2, d3 = table.unpack(p:strides(layout_d))
  local c0, c1, c2, c3 = table.unpack(p:strides(layout_c))
  local sums, counters = workspace(p, cuda, blocks, index)
  local alpha, beta = x.alpha, x.beta
  return function()
    if copy_c then copy_c() end
    launch(maps.A, maps.B, maps.C or maps.A, maps.D or maps.A, d, c, bias, scale_a, scale_b, sums,
      counters, d0, d1, d2, d3, c0, c1, c2, c3, rows, columns, k, batches, alpha, beta)
  end
end
