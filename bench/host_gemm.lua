-- A planned product of 512 x 512 x 512 on the host executor: f16 through 16x8x16 atoms, CPU seconds
-- with the executor's checks and without.

local lutile = require "lutile"

local make_layout, make_tensor = lutile.make_layout, lutile.make_tensor
local f16, f32 = lutile.f16, lutile.f32

local SIZE = 512
local REPETITIONS = 5

local function tile(extent)
  local block = lutile.composition(lutile.Swizzle(2, 3, 3), make_layout({ 8, 32 }, { 32, 1 }))
  return lutile.tile_to_shape(block, { extent, 32 })
end

local plan = {
  mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", make_layout { 2, 2, 1 }),
  tile = { 128, 128, 32 },
  stages = 3,
  A = { shared = tile(128) },
  B = { shared = tile(128) },
}

local function random_matrix()
  local t = make_tensor(f16, { SIZE, SIZE })
  for i = 0, lutile.size(t) - 1 do t[i] = math.random() - 0.5 end
  return t
end

local A, B, D = random_matrix(), random_matrix(), make_tensor(f32, { SIZE, SIZE })
for _, checks in ipairs { false, true } do
  local best = math.huge
  for _ = 1, REPETITIONS do
    local start = os.clock()
    lutile.host_gemm(plan, A, B, D, { checks = checks })
    best = math.min(best, os.clock() - start)
  end
  print(("checks %-4s %.2f s"):format(checks and "on" or "off", best))
end
