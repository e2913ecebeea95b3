-- Layouts, TiledMMAs and TiledCopies as LaTeX pictures, laid out as CuTe's print_latex does: a node
-- for each cell, one unit high and wide, at (row, column).

local grid = require "lutile.grid"
local colors = require "lutile.colors"

local M = {}

local HEAD = [[
\documentclass[convert]{standalone}
\usepackage{tikz}

\begin{document}
\begin{tikzpicture}[x={(0cm,-1cm)}, y={(1cm,0cm)},
  every node/.style={minimum size=1cm, outer sep=0pt}]

]]

local TAIL = [[
\end{tikzpicture}
\end{document}
]]

-- ---- Pieces -----------------------------------------------------------------------------------

local function write_comment(file, what, text) file:write("% ", what, ": ", text, "\n") end

local function write_lines(file, m, n, rows, columns)
  local line = "\\draw[color=black,thick,shift={(-0.5,-0.5)}] (%d,%d) grid (%d,%d);\n\n"
  file:write(line:format(m, n, m + rows, n + columns))
end

-- The numbers of `count` cells from (m, n) on, down or across.
local function write_labels(file, m, n, count, across)
  for i = 0, count - 1 do
    local row, column = across and m or m + i, across and n + i or n
    file:write(("\\node at (%d,%d) {\\Large{\\texttt{%d}}};\n"):format(row, column, i))
  end
end

-- Eight greys, by offset: neighbours in memory differ.
local function shade(offset)
  local value = type(offset) == "number" and offset or 0
  return ("black!%d"):format(value % 8 * 8)
end

local function write_offsets(file, g)
  for m = 0, g.rows - 1 do
    for n = 0, g.columns - 1 do
      local offset = g.offsets[m + g.rows * n + 1]
      local node = "\\node[fill=%s] at (%d,%d) {%s};\n"
      file:write(node:format(shade(offset), m, n, tostring(offset)))
    end
  end
end

-- The first thread and value that hold each cell of a grid, from (m, n) on, with the grid's rows
-- across where it is transposed.
local function write_pairs(file, g, m, n, transposed)
  local node = "\\node[fill={rgb,255:red,%d;green,%d;blue,%d}] at (%d,%d) "
    .. "{\\shortstack{T%d \\\\ V%d}};\n"
  for column = 0, g.columns - 1 do
    for row = 0, g.rows - 1 do
      local pair = g.pairs[row + g.rows * column]
      if pair then
        local thread, value = pair % g.threads, pair // g.threads
        local down, across = row, column
        if transposed then down, across = column, row end
        local red, green, blue = colors.rgb(colors.kinds[thread % 8 + 1])
        file:write(node:format(red, green, blue, m + down, n + across, thread, value))
      end
    end
  end
  if transposed then return write_lines(file, m, n, g.columns, g.rows) end
  write_lines(file, m, n, g.rows, g.columns)
end

-- ---- Pictures ---------------------------------------------------------------------------------

local function write_layout(file, g)
  write_comment(file, "Layout", tostring(g.layout))
  file:write(HEAD)
  write_offsets(file, g)
  write_lines(file, 0, 0, g.rows, g.columns)
  write_labels(file, 0, -1, g.rows)
  write_labels(file, -1, 0, g.columns, true)
  file:write(TAIL)
end

local function write_tv(file, g)
  write_comment(file, "Layout TV", tostring(g.layout))
  file:write(HEAD)
  write_pairs(file, g, 0, 0)
  write_labels(file, 0, -1, g.rows)
  write_labels(file, -1, 0, g.columns, true)
  file:write(TAIL)
end

-- C at (0, 0), A to its left and B above it, a unit between them.
local function write_mma(file, grids)
  local rows, columns, depth = grids.C.rows, grids.C.columns, grids.A.columns
  for _, name in ipairs { "C", "A", "B" } do
    write_comment(file, "Layout" .. name, tostring(grids[name].layout))
  end
  file:write(HEAD)
  write_pairs(file, grids.C, 0, 0)
  write_pairs(file, grids.A, 0, -depth - 1)
  write_labels(file, 0, -depth - 2, rows)
  write_labels(file, -1, -depth - 1, depth, true)
  write_pairs(file, grids.B, -depth - 1, 0, true)
  write_labels(file, -depth - 2, 0, columns, true)
  write_labels(file, -depth - 1, -1, depth)
  file:write(TAIL)
end

-- The source at (0, 0) and the target to its right.
local function write_copy(file, grids)
  local S, D = grids.S, grids.D
  local right = S.columns + 3
  write_comment(file, "Layout S TV", tostring(S.layout))
  write_comment(file, "Layout D TV", tostring(D.layout))
  file:write(HEAD)
  write_pairs(file, S, 0, 0)
  write_labels(file, 0, -1, S.rows)
  write_labels(file, -1, 0, S.columns, true)
  write_pairs(file, D, 0, right)
  write_labels(file, 0, right + D.columns, D.rows)
  write_labels(file, -1, right, D.columns, true)
  file:write(TAIL)
end

-- ---- Functions --------------------------------------------------------------------------------

-- What writes the picture of a kind of operand, and what makes the grids that it takes.
local function writer_of(x)
  local kind = grid.kind(x)
  if not kind then return write_layout, grid.of_layout end
  if kind:find "MMA" then return write_mma, grid.of_mma end
  return write_copy, grid.of_copy
end

--- Writes a LaTeX document with a picture of a layout of one or two modes, TiledMMA or TiledCopy.
--- `file` is anything with a method write; standard output if left out.
function M.print_latex(x, file)
  local write, make = writer_of(x)
  local grids, problem = make(x)
  if not grids then error("print_latex: " .. problem, 3) end
  write(file or io.stdout, grids)
end

--- Writes a LaTeX document with the threads and values that a layout (thread, value) has in a tile.
function M.print_latex_tv(layout, tile, file)
  local g, problem = grid.of_tv(layout, tile)
  if not g then error("print_latex_tv: " .. problem, 3) end
  write_tv(file or io.stdout, g)
end

return M
