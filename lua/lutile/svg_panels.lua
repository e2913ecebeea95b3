-- SVG documents of panels, one a matrix.
--
-- A panel is { rows, columns, cell, row, column, name, tile_rows, tile_columns }: cell(m, n) gives
-- the text of a cell, its fill, a note that shows under the pointer, and whether its text is faint;
-- row and column, 1 or 2, are the panel's place among the others.

local colors = require "lutile.colors"

local M = {}

local FONT = 12          -- the largest, in pixels, of cells and axes
local CHARACTER = 0.61   -- the width of one, in font sizes: of the common monospaced fonts
local LINE = 1.2         -- the height of a line, in font sizes
local PADDING = 4        -- between a cell's edge and its text
local MARGIN = 12        -- around the picture and between panels

-- ---- Text -------------------------------------------------------------------------------------

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- A text within XML: without the characters that XML has not, and in UTF-8.
local function escape(text)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", "?") end
  text = text:gsub("[\0-\8\11\12\14-\31]", "?"):gsub("\xef\xbf[\xbe\xbf]", "?")
  return (text:gsub('[&<>"]', entities))
end

-- The lines of a label, and the number of characters of the longest.
local function split(label)
  local lines, longest = {}, 0
  for line in (tostring(label) .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
    longest = math.max(longest, utf8.len(line) or #line)
  end
  return lines, longest
end

local function text_width(text) return (utf8.len(text) or #text) * CHARACTER * FONT end

-- ---- Sizes ------------------------------------------------------------------------------------

-- Fills in the cells of a panel, row by row, and returns the most lines and characters of a label.
local function fill_cells(panel)
  local cells, most_lines, most_characters = {}, 1, 1
  for m = 0, panel.rows - 1 do
    for n = 0, panel.columns - 1 do
      local label, fill, note, faint = panel.cell(m, n)
      local lines, characters = split(label == nil and "" or label)
      most_lines = math.max(most_lines, #lines)
      most_characters = math.max(most_characters, characters)
      fill = tostring(fill or "#ffffff")
      cells[#cells + 1] = { lines = lines, fill = fill, note = note, faint = faint }
    end
  end
  panel.cells = cells
  return most_lines, most_characters
end

-- { width, height, font } of all cells of the panels.
local function cell_size(panels, size)
  local lines, characters = 1, 1
  for _, panel in ipairs(panels) do
    local panel_lines, panel_characters = fill_cells(panel)
    lines, characters = math.max(lines, panel_lines), math.max(characters, panel_characters)
    characters = math.max(characters, #tostring(panel.columns - 1))
  end
  if size then
    local font = math.min(FONT, (size - 2) / (CHARACTER * characters), (size - 2) / (LINE * lines))
    return { width = size, height = size, font = font }
  end
  local height = LINE * FONT * lines + 2 * PADDING
  local width = math.max(height, CHARACTER * FONT * characters + 2 * PADDING)
  return { width = math.ceil(width), height = math.ceil(height), font = FONT }
end

-- Gives each panel its place: columns and rows as wide and high as their largest panel. Returns the
-- right and the lower edge.
local function place_panels(panels, cell, top, axes)
  local widths, heights = {}, {}
  for _, p in ipairs(panels) do
    p.left = axes and math.ceil(CHARACTER * cell.font * #tostring(p.rows - 1)) + PADDING or 0
    p.above = (axes and math.ceil(LINE * cell.font) or 0) + (p.name and LINE * FONT + PADDING or 0)
    local width, height = p.left + p.columns * cell.width, p.above + p.rows * cell.height
    p.name_width = p.name and text_width(p.name) or 0
    width = math.max(width, p.name_width)
    widths[p.column] = math.max(widths[p.column] or 0, width)
    heights[p.row] = math.max(heights[p.row] or 0, height)
  end
  local xs, ys = { MARGIN }, { top }
  for i = 1, 2 do
    xs[i + 1] = xs[i] + (widths[i] and widths[i] + MARGIN or 0)
    ys[i + 1] = ys[i] + (heights[i] and heights[i] + MARGIN or 0)
  end
  for _, p in ipairs(panels) do
    -- C stands under B and beside A, cell under cell: panels share their far edges.
    p.x = xs[p.column + 1] - MARGIN - p.columns * cell.width
    p.y = ys[p.row + 1] - MARGIN - p.rows * cell.height
  end
  return xs[3], ys[3]
end

-- ---- Drawing ----------------------------------------------------------------------------------

-- A number as SVG takes it, in hundredths.
local function number(x) return (("%.2f"):format(x):gsub("%.?0+$", "")) end

local function draw_cells(panel, cell, out)
  out[#out + 1] = '<g class="cells" stroke="#404040" stroke-width="0.5">'
  local form = ('<rect x="%%s" y="%%s" width="%s" height="%s" fill="%%s"'):format(
    number(cell.width), number(cell.height))
  for i, c in ipairs(panel.cells) do
    local x, y = (i - 1) % panel.columns * cell.width, (i - 1) // panel.columns * cell.height
    local rect = form:format(number(panel.x + x), number(panel.y + y), escape(c.fill))
    out[#out + 1] = rect .. (c.note and ("><title>%s</title></rect>"):format(c.note) or "/>")
  end
  out[#out + 1] = "</g>"
end

local function draw_labels(panel, cell, out)
  out[#out + 1] = ('<g class="labels" font-size="%s" text-anchor="middle" pointer-events="none">')
    :format(number(cell.font))
  for i, c in ipairs(panel.cells) do
    local x = panel.x + ((i - 1) % panel.columns + 0.5) * cell.width
    local middle = panel.y + ((i - 1) // panel.columns + 0.5) * cell.height
    local color = c.faint and "#767676" or colors.text_on(c.fill)
    local fill = color == "#000000" and "" or (' fill="%s"'):format(color)
    for k, line in ipairs(c.lines) do
      if line ~= "" then
        -- 0.35 font sizes below the middle of a line is where digits stand.
        local y = middle + ((k - (#c.lines + 1) / 2) * LINE + 0.35) * cell.font
        out[#out + 1] = ('<text x="%s" y="%s"%s>%s</text>'):format(number(x), number(y), fill,
          escape(line))
      end
    end
  end
  out[#out + 1] = "</g>"
end

-- Heavier lines around the panel and where its tiles meet.
local function draw_lines(panel, cell, out)
  local x, y = panel.x, panel.y
  local width, height = panel.columns * cell.width, panel.rows * cell.height
  local path = {}
  for m = 0, panel.rows, math.max(panel.tile_rows or panel.rows, 1) do
    path[#path + 1] = ("M%s %sh%s"):format(number(x), number(y + m * cell.height), number(width))
  end
  for n = 0, panel.columns, math.max(panel.tile_columns or panel.columns, 1) do
    path[#path + 1] = ("M%s %sv%s"):format(number(x + n * cell.width), number(y), number(height))
  end
  out[#out + 1] = ('<path d="%s" fill="none" stroke="#000000" stroke-width="1.5" '
    .. 'stroke-linecap="square"/>'):format(table.concat(path))
end

local function draw_axes(panel, cell, out)
  out[#out + 1] = ('<g class="axes" font-size="%s" fill="#505050" text-anchor="end">'):format(
    number(cell.font))
  for m = 0, panel.rows - 1 do
    out[#out + 1] = ('<text x="%s" y="%s">%d</text>'):format(number(panel.x - PADDING),
      number(panel.y + (m + 0.5) * cell.height + 0.35 * cell.font), m)
  end
  out[#out + 1] = '</g><g class="axes" fill="#505050" text-anchor="middle" font-size="'
    .. number(cell.font) .. '">'
  for n = 0, panel.columns - 1 do
    out[#out + 1] = ('<text x="%s" y="%s">%d</text>'):format(
      number(panel.x + (n + 0.5) * cell.width), number(panel.y - PADDING), n)
  end
  out[#out + 1] = "</g>"
end

local function draw_text(x, y, text, bold, out)
  out[#out + 1] = ('<text x="%s" y="%s" font-size="%d"%s>%s</text>'):format(number(x), number(y),
    FONT, bold and ' font-weight="bold"' or "", escape(text))
end

local function draw_panel(panel, cell, axes, out)
  draw_cells(panel, cell, out)
  draw_labels(panel, cell, out)
  draw_lines(panel, cell, out)
  if axes then draw_axes(panel, cell, out) end
  if panel.name then
    local right = panel.x + panel.columns * cell.width
    local x = math.min(panel.x, right - panel.name_width)
    draw_text(x, panel.y - panel.above + FONT, panel.name, true, out)
  end
end

-- The document of these panels, a title above and a note below them, where they are given. Options
-- are those of svg: axes, cell.
function M.draw(panels, title, note, options)
  local axes = options.axes ~= false
  local cell = cell_size(panels, options.cell)
  local top = MARGIN + (title and LINE * FONT + PADDING or 0)
  local right, bottom = place_panels(panels, cell, top, axes)
  local longest = math.max(text_width(title or ""), text_width(note or ""))
  local width = math.ceil(math.max(right, longest + 2 * MARGIN))
  local height = math.ceil(bottom + (note and LINE * FONT + PADDING or 0))
  local out = {
    ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
      .. 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">'):format(width, height,
      width, height),
    ('<rect width="%d" height="%d" fill="#ffffff"/>'):format(width, height),
  }
  if title then draw_text(MARGIN, MARGIN + FONT, title, true, out) end
  for _, panel in ipairs(panels) do draw_panel(panel, cell, axes, out) end
  if note then draw_text(MARGIN, bottom + FONT, note, false, out) end
  out[#out + 1] = "</svg>\n"
  return table.concat(out, "\n")
end

return M
