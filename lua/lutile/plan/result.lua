-- Accumulators of a tiled matrix product: where in the tile of C each thread's values are.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"

local make_layout, composition = lutile.make_layout, lutile.composition

local M = {}

-- Indices in a tile of (rows, columns) of C, rows first: of the thread, and from there of value i.
function M.indices(mma, rows, columns)
  local parts = mma:thrfrg_C(make_layout { rows, columns })
  local vmnk = mma:get_thr_layout_vmnk()
  local modes = make_layout(parts[0][0], parts[0][1][0], parts[0][1][1],
    make_layout(vmnk.shape[3], 0))
  return composition(modes, lutile.right_inverse(vmnk)), parts[1]
end

-- The coordinates there, as layouts.
function M.layouts(mma, rows, columns)
  local thread, value = M.indices(mma, rows, columns)
  local row = make_layout({ rows, columns }, { 1, 0 })
  local column = make_layout({ rows, columns }, { 0, 1 })
  return { row = composition(row, thread), column = composition(column, thread),
    row_step = composition(row, value), column_step = composition(column, value),
    run_value = make_layout(lutile.size(value)), values = lutile.size(value) }
end

--[[
The same where columns of two atoms, of one row of atoms, are dealt to threads by fours: column
2 t + e of atom a is column 4 t + 2 a + e of the two, but for threads t of four in the second half,
which have their pairs the other way round: swizzle Sw<1,1,2>. So the eight columns of an atom
are in different banks, as rows of B.
]]
function M.by_fours(c)
  local count = c.values // 8
  local order = make_layout({ 2, 2, 2, count }, { 1, 4, 2, 8 }) -- column, atom, row, two atoms
  return { row = c.row, column = composition(make_layout(lutile.cosize(c.column), 2), c.column),
    row_step = composition(c.row_step, order),
    column_step = make_layout({ 2, 2, 2, count }, { 1, 2, 0, 16 }),
    run_value = make_layout({ 2, 2, 2 }, { 1, 4, 2 }), values = c.values }
end

-- The largest divisor of n up to 'most'.
function M.divisor(n, most)
  for d = math.min(n, most), 2, -1 do
    if n % d == 0 then return d end
  end
  return 1
end

-- Registers of sums that C++ sees at once, beside those of operands, which kernels keep meanwhile:
-- more where C is read, whose loads, a piece's together, take long, and threads have as many as
-- there may be; fewer where each element has a load of C and of the bias.
local MOST_OF_PIECE, MOST_WITH_C, MOST_OF_SINGLES = 8, 16, 4
local FEW_THREADS = 256 -- of a multiprocessor

local function most_of_piece(p)
  if not p.reads_c then return MOST_OF_PIECE end
  if p.run_size == 1 then return p.bias and MOST_OF_SINGLES or MOST_OF_PIECE end
  return p.threads * p.blocks <= FEW_THREADS and MOST_WITH_C or MOST_OF_PIECE
end

-- Of the sums of atoms, {rows, columns}, so many registers C++ sees at once: atoms of a column, or
-- of several whole columns, so that a value's place is the sum of its piece's and its own.
function M.registers_of_piece(p, atoms)
  local count, most = p.words_of_c, most_of_piece(p)
  for i = 1, 2 do
    local of_piece = M.divisor(atoms[i], most // count)
    count = count * of_piece
    if of_piece < atoms[i] then break end
  end
  return count
end

function M.source(c)
  return emit.functions {
    emit.layout("c_row", c.row), emit.layout("c_column", c.column),
    emit.layout("c_row_step", c.row_step), emit.layout("c_column_step", c.column_step),
    "  /* The value of a piece that is written as its i-th one. */",
    emit.layout("run_value", c.run_value),
  }
end

return M
