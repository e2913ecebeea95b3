-- Tensors as text: CuTe's print_tensor, a table of elements for up to four modes.

local lutile = require "lutile"

local M = {}

-- An element as text; a complex one has two parts.
local function element_text(tensor, ...)
  local value, imaginary = tensor(...)
  if imaginary then return ("%g%+gi"):format(value, imaginary) end
  if math.type(value) == "float" then return ("%g"):format(value) end
  return tostring(value)
end

-- Elements of the plane under 'rest' (linear indices of the modes after the second), by rows.
local function plane_texts(tensor, rows, columns, rest)
  local texts, width = {}, 0
  for i = 0, rows - 1 do
    texts[i] = {}
    for j = 0, columns - 1 do
      local text = element_text(tensor, i, j, table.unpack(rest))
      texts[i][j] = text
      width = math.max(width, #text)
    end
  end
  return texts, width
end

local function add_plane(lines, tensor, rows, columns, rest)
  local texts, width = plane_texts(tensor, rows, columns, rest)
  for i = 0, rows - 1 do
    local cells = {}
    for j = 0, columns - 1 do
      cells[#cells + 1] = (" "):rep(width + 2 - #texts[i][j]) .. texts[i][j]
    end
    lines[#lines + 1] = table.concat(cells)
  end
end

local function add_planes(lines, tensor, sizes)
  for l = 0, (sizes[4] or 1) - 1 do
    if l > 0 then lines[#lines + 1] = ("="):rep(40) end
    for k = 0, (sizes[3] or 1) - 1 do
      if k > 0 then lines[#lines + 1] = ("-"):rep(40) end
      local rest = {}
      if sizes[3] then rest[1] = k end
      if sizes[4] then rest[2] = l end
      add_plane(lines, tensor, sizes[1], sizes[2], rest)
    end
  end
end

--- The text that print_tensor prints.
function M.format(tensor)
  if not lutile.is_tensor(tensor) then
    error(("print_tensor: tensor expected, got %s"):format(type(tensor)), 3)
  end
  local rank = lutile.rank(tensor)
  if rank < 1 or rank > 4 then
    error(("print_tensor: a tensor of rank %d cannot be shown; group its modes to at most 4")
      :format(rank), 3)
  end
  local sizes = {}
  for i = 0, rank - 1 do sizes[i + 1] = lutile.size(tensor, i) end
  local lines = { tostring(tensor) .. ":" }
  if rank == 1 then
    for i = 0, sizes[1] - 1 do lines[#lines + 1] = "  " .. element_text(tensor, i) end
  else
    add_planes(lines, tensor, sizes)
  end
  return table.concat(lines, "\n")
end

--- Prints a tensor's elements: rows are mode 0, columns mode 1.
function M.print_tensor(tensor)
  print(M.format(tensor))
end

return M
