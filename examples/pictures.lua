-- Draws pictures into a folder as .svg files, which browsers show, and prints their names.
--
-- Usage: lutile pictures.lua [folder]

require "lutile".using()

local folder = arg[1] or "."

local function draw(name, ...)
  local path = ("%s/%s.svg"):format(folder, name)
  local file = assert(io.open(path, "w"))
  file:write(svg(...))
  file:close()
  print(path)
end

-- A matrix in tiles: the offset in every cell, a colour for every tile.
local matrix = make_layout({ 8, 16 }, LayoutRight)
draw("tiles", matrix / { 4, 8 }, { color = "tile" })

-- The bank of shared memory that each element lies in, before and after a swizzle. ldmatrix reads 8
-- elements of 8 rows at once, and what lies in one bank comes one after the other.
local rows = make_layout({ 8, 64 }, LayoutRight)
local swizzled = make_composed_layout(Swizzle(3, 3, 3), 0, rows)
draw("banks", rows, { banks = 16 })
draw("banks_swizzled", swizzled, { banks = 16 })

-- Who holds which element of A, B and C in a tensor core's instruction, and in a tile of four.
local mma = make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
draw("mma", mma)
draw("mma_thread_5", mma:get_slice(5))
draw("mma_tile", make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", make_layout { 2, 2, 1 }))

-- How ldmatrix brings A from shared memory to these threads.
draw("ldmatrix", make_tiled_copy_A(Copy_Atom("SM75_U32x4_LDSM_N", "f16"), mma))
