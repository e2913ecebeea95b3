-- The offsets of a row-major 8x8 matrix, tile by tile: mode 0 goes through a 2x4 tile, mode 1 from
-- tile to tile.
local lutile = require "lutile"
local matrix = lutile.make_layout({ 8, 8 }, lutile.LayoutRight)
return matrix // { 2, 4 }
