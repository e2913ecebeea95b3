-- A matrix is transposed: straight from global memory to global memory, where either the reads or
-- the writes of a warp are far apart; then through a tile in shared memory, so that both go along
-- rows. The tile's layout decides how many passes over the banks that costs. All of it is counted.
--
-- Usage: lutile transpose.lua [rows [columns]]

local report = require "lutile.report"
require "lutile".using()

local TILE, ROWS = 32, 8 -- a block of 32 x 8 threads moves a tile of 32 x 32, four rows each

-- ---- The kernels -------------------------------------------------------------------------------

-- This block's tile of A, (row, column), and its place in B, (column, row).
local function tiles_of(A, B)
  local bx, by = blockIdx.x, blockIdx.y
  return local_tile(A, { TILE, TILE }, { by, bx }), local_tile(B, { TILE, TILE }, { bx, by }),
    size(A, 0) - TILE * by, size(A, 1) - TILE * bx -- rows and columns that there are
end

-- Each warp reads a row, and writes it down a column: 32 sectors for 128 bytes.
local function direct(A, B)
  local gA, gB, rows, columns = tiles_of(A, B)
  local x = threadIdx.x
  for y = threadIdx.y, TILE - 1, ROWS do
    if y < rows and x < columns then gB[{ x, y }] = gA(y, x) end
  end
end

-- Each warp writes a row of the tile, and after the barrier reads a column of it: the banks matter.
local function through_shared(A, B, layout)
  local gA, gB, rows, columns = tiles_of(A, B)
  local tile = make_tensor(make_smem_ptr(f32, cosize(layout)), layout)
  local x = threadIdx.x
  for y = threadIdx.y, TILE - 1, ROWS do
    if y < rows and x < columns then tile[{ y, x }] = gA(y, x) end
  end
  sync()
  for y = threadIdx.y, TILE - 1, ROWS do
    if x < rows and y < columns then gB[{ y, x }] = tile(x, y) end
  end
end

-- ---- Running -----------------------------------------------------------------------------------

local m = math.tointeger(tonumber(arg and arg[1] or 96))
local n = math.tointeger(tonumber(arg and arg[2] or 80))
local A = make_tensor(f32, make_layout({ m, n }, LayoutRight))
for i = 0, m * n - 1 do A[i] = i end

local function check(B)
  for i = 0, m - 1 do
    for j = 0, n - 1 do assert(B(j, i) == A(i, j), "not transposed") end
  end
end

local square = make_layout({ TILE, TILE }, LayoutRight)
local cases = {
  { "direct", direct },
  { "rows of 32", through_shared, square },
  { "padded", through_shared, make_layout({ TILE, TILE }, { TILE + 1, 1 }) },
  { "swizzled", through_shared, composition(Swizzle(5, 0, 5), square) },
}

print(("%d x %d numbers of 4 bytes: %d sectors of 32 bytes to read, as many to write\n"):format(m,
  n, m * n * 4 // 32))
print(("%-12s %-30s %8s %8s %10s %10s"):format("", "tile in shared memory", "sectors", "needed",
  "wavefronts", "conflicts"))

local totals = {}
for _, case in ipairs(cases) do
  local name, kernel, layout = table.unpack(case)
  local B = make_tensor(f32, make_layout({ n, m }, LayoutRight))
  local counted = launch(kernel, { grid = { ceil_div(n, TILE), ceil_div(m, TILE) },
    block = { TILE, ROWS } }, A, B, layout)
  check(B)
  local t = report.totals(counted)
  totals[name] = t
  print(("%-12s %-30s %8d %8d %10d %10d"):format(name, tostring(layout or "-"), t.sectors,
    t.needed_sectors, t.wavefronts, t.conflicts))
end

assert(totals.direct.sectors > 4 * totals.padded.sectors, "the direct way should be scattered")
assert(totals["rows of 32"].conflicts > 0 and totals.padded.conflicts == 0)
assert(totals.swizzled.conflicts == 0)
print "\nThe words of a column are 32 apart, so in one bank; rows longer by a word put them into 32"
print "different ones, and so does the row's number, mixed into the bank's by XOR. The first ones:"
print_layout(logical_divide(cases[4][3], { 4, 8 })({ { _, 0 }, { _, 0 } }).layout)
