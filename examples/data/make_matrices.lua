-- Makes the matrices that the examples read, A (128 x 64) and B (64 x 64) in f16, always the same.
-- Usage: lutile make_matrices.lua [folder]

local lutile = require "lutile".using()

-- Uniform numbers, scaled so that sums over a row of products stay near 1.
local function random_matrix(rows, columns)
  local t = make_tensor(f16, make_layout({ rows, columns }, LayoutRight))
  local scale = math.sqrt(3 / columns)
  transform(t, function() return scale * (2 * math.random() - 1) end)
  return t
end

math.randomseed(1)
local folder = arg and arg[1] or "."
assert(lutile.npy.save(folder .. "/A.npy", random_matrix(128, 64)))
assert(lutile.npy.save(folder .. "/B.npy", random_matrix(64, 64)))
