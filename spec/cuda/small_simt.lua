-- Small products by multiply-adds; run by itself, also under compute-sanitizer. Raises where one is
-- wrong.

local lutile = require "lutile"
local cuda = require "lutile.cuda"
local simt = require "lutile.cuda.simt"

local function random_tensor(dtype, layout)
  local t = lutile.make_tensor(dtype, layout)
  for i = 0, lutile.size(t) - 1 do t[i] = math.random(-2, 2) end
  return t
end

local function wanted(A, B, C, m, n, b, alpha, beta)
  local sum = 0
  for k = 0, lutile.size(A, 1) - 1 do sum = sum + A(m, k, b) * B(n, k, b) end
  return alpha * sum + beta * C(m, n, b)
end

-- Small integers: the sums are exact in every type.
local function check(m, n, k, batches, types, alpha, beta)
  local layout = lutile.make_layout
  local A = random_tensor(types[1], layout({ m, k, batches }, { 1, m, m * k }))
  local B = random_tensor(types[2], layout({ n, k, batches }, { k, 1, n * k }))
  local C = random_tensor(types[3], layout({ m, n, batches }, { n, 1, m * n }))
  local D = cuda.tensor(types[3], layout { m, n, batches })
  D.data:fill(0x7f)
  simt.gemm { A = A:to(cuda), B = B:to(cuda), C = C:to(cuda), D = D, alpha = alpha, beta = beta }
  local got = D:to_host()
  for b = 0, batches - 1 do
    for i = 0, m - 1 do
      for j = 0, n - 1 do
        local x = wanted(A, B, C, i, j, b, alpha, beta)
        if got(i, j, b) ~= x then
          error(("gemm %dx%dx%d of %s is %s at (%d,%d,%d), not %s"):format(m, n, k,
            table.concat(types, " "), got(i, j, b), i, j, b, x), 0)
        end
      end
    end
  end
end

check(65, 33, 17, 2, { "f16", "e4m3", "f32" }, 2, 0.5)
check(1, 1, 1, 1, { "f64", "f64", "f64" }, 1, 0)
check(64, 64, 16, 1, { "bf16", "bf16", "f32" }, 1, 1)
check(5, 70, 3, 3, { "s8", "s4", "s32" }, 1, -1)
check(129, 2, 40, 1, { "tf32", "f32", "f32" }, 1, 0)
cuda.synchronize()
