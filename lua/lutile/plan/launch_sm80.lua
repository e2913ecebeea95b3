-- Launches of plans for kernels/gemm_sm80.cu and kernels/simt_gemm.cu.

local matrix = require "lutile.plan.matrix"
local roles = require "lutile.plan.roles"
local tile = require "lutile.plan.tile"

local MOST_ROWS = 65535 -- blocks along y

local function ceil_div(a, b) return (a + b - 1) // b end

-- A function that launches the kernel on the tensors of a run.
return function(p, x)
  local a, b, c, d, names = roles.of(p, x.m)
  local rows, columns = roles.extents(p, x.extents)
  tile.check_group(p, columns)
  local k, batches = x.extents[3], x.extents[4]
  local y = math.min(batches, MOST_ROWS)
  local launch = p:compiled(x.t.D.data:device()):launch {
    grid = { ceil_div(rows, p.tile[1]) * ceil_div(columns, p.tile[2]), y, ceil_div(batches, y) },
    block = p.threads, shared = p.shared_bytes, stream = x.stream,
  }
  local left, right, old, new, bias = x.t[names[1]], x.t[names[2]], x.t.C, x.t.D, x.t.bias
  local a_row, a_k, a_batch = matrix.launch_strides(a)
  local b_row, b_k, b_batch = matrix.launch_strides(b)
  local c_row, c_column, c_batch = matrix.launch_strides(c)
  local d_row, d_column, d_batch = matrix.launch_strides(d)
  local alpha, beta = x.alpha, x.beta
  local scale_a, scale_b = x.t.scale_a, x.t.scale_b
  return function()
    launch(left, right, old, new, bias, scale_a, scale_b, rows, columns, k, batches, a_row, a_k,
      a_batch, b_row, b_k, b_batch, c_row, c_column, c_batch, d_row, d_column, d_batch, alpha, beta)
  end
end
