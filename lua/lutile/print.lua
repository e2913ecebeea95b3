-- Layouts as text tables, laid out as CuTe's print_layout does.

local lutile = require "lutile"
local grid = require "lutile.grid"

local M = {}

-- The text of every offset and the width that they need: CuTe makes room for cosize.
local function offset_texts(g)
  local texts, width = {}, 1
  local plain, cosize = pcall(lutile.cosize, g.layout)
  if plain and math.type(cosize) then width = #tostring(cosize) end
  for i, offset in ipairs(g.offsets) do
    texts[i] = tostring(offset)
    width = math.max(width, #texts[i])
  end
  return texts, width
end

-- Writes the offsets as a table, mode 0 down and mode 1 across, below the layout's text. `file` is
-- anything with a method write; standard output if left out.
function M.print_layout(layout, file)
  file = file or io.stdout
  local g, problem = grid.of_layout(layout)
  if not g then error("print_layout: " .. problem, 3) end
  local texts, width = offset_texts(g)
  local cell = ("%%%ds "):format(width)
  local rule = "    " .. ("+" .. ("-"):rep(width + 2)):rep(g.columns) .. "+\n"
  file:write(tostring(g.layout), "\n    ")
  for n = 0, g.columns - 1 do file:write("  ", cell:format(n)) end
  file:write("\n")
  for m = 0, g.rows - 1 do
    file:write(rule, ("%2d  "):format(m))
    for n = 0, g.columns - 1 do file:write("| ", cell:format(texts[m + g.rows * n + 1])) end
    file:write("|\n")
  end
  file:write(rule)
end

return M
