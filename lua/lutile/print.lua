-- Layouts as text tables and as LaTeX pictures, laid out as CuTe's print_layout and print_latex do.

local lutile = require "lutile"

local M = {}

-- The layout as one of two modes: an integer layout or one of a single mode becomes a column.
local function two_modes(layout, name)
  if lutile.is_integral(layout.shape) then layout = lutile.make_layout(layout) end
  if lutile.rank(layout) == 1 then return lutile.append(layout) end
  if lutile.rank(layout) == 2 then return layout end
  local problem = "%s: a table has two modes, %s has %d (group some)"
  error(problem:format(name, layout, lutile.rank(layout)), 3)
end

-- The argument as a layout, and that as one of two modes.
local function check(layout, name)
  if not lutile.is_layout(layout) then layout = lutile.make_layout(layout) end
  return layout, two_modes(layout, name)
end

-- The text of every offset, row by row, and the width that they need: CuTe makes room for cosize.
local function offset_texts(l, rows, columns)
  local texts, width = {}, 1
  local plain, cosize = pcall(lutile.cosize, l)
  if plain and math.type(cosize) then width = #tostring(cosize) end
  for m = 0, rows - 1 do
    for n = 0, columns - 1 do
      local text = tostring(l(m, n))
      texts[#texts + 1] = text
      width = math.max(width, #text)
    end
  end
  return texts, width
end

-- Writes the offsets as a table, mode 0 down and mode 1 across, below the layout's text. `file` is
-- anything with a method write; standard output if left out.
function M.print_layout(layout, file)
  file = file or io.stdout
  local whole, l = check(layout, "print_layout")
  local rows, columns = lutile.size(l, 0), lutile.size(l, 1)
  local texts, width = offset_texts(l, rows, columns)
  local cell = ("%%%ds "):format(width)
  local rule = "    " .. ("+" .. ("-"):rep(width + 2)):rep(columns) .. "+\n"
  file:write(tostring(whole), "\n    ")
  for n = 0, columns - 1 do file:write("  ", cell:format(n)) end
  file:write("\n")
  for m = 0, rows - 1 do
    file:write(rule, ("%2d  "):format(m))
    for n = 0, columns - 1 do file:write("| ", cell:format(texts[m * columns + n + 1])) end
    file:write("|\n")
  end
  file:write(rule)
end

local LATEX_HEAD = [[
%% Layout: %s
\documentclass[convert]{standalone}
\usepackage{tikz}

\begin{document}
\begin{tikzpicture}[x={(0cm,-1cm)}, y={(1cm,0cm)},
  every node/.style={minimum size=1cm, outer sep=0pt}]

]]

local LATEX_TAIL = [[
\draw[color=black,thick,shift={(-0.5,-0.5)}] (0,0) grid (%d,%d);

%s
\end{tikzpicture}
\end{document}
]]

-- Eight greys, by offset: neighbours in memory differ.
local function shade(offset)
  local number = type(offset) == "number" and offset or 0
  return ("black!%d"):format(number % 8 * 8)
end

local function labels(rows, columns)
  local lines = {}
  for m = 0, rows - 1 do
    lines[#lines + 1] = ("\\node at (%d,-1) {\\Large{\\texttt{%d}}};"):format(m, m)
  end
  for n = 0, columns - 1 do
    lines[#lines + 1] = ("\\node at (-1,%d) {\\Large{\\texttt{%d}}};"):format(n, n)
  end
  return table.concat(lines, "\n")
end

-- Writes a LaTeX document with the same table as a picture.
function M.print_latex(layout, file)
  file = file or io.stdout
  local whole, l = check(layout, "print_latex")
  local rows, columns = lutile.size(l, 0), lutile.size(l, 1)
  file:write(LATEX_HEAD:format(tostring(whole)))
  for m = 0, rows - 1 do
    for n = 0, columns - 1 do
      local offset = l(m, n)
      file:write(("\\node[fill=%s] at (%d,%d) {%s};\n"):format(shade(offset), m, n,
        tostring(offset)))
    end
  end
  file:write(LATEX_TAIL:format(rows, columns, labels(rows, columns)))
end

return M
