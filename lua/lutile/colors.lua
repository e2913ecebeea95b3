-- Colours of cells, readable by colour-blind people too, and of the text on them.

local M = {}

-- Eight steps from light to dark: neighbours in memory are neighbours here.
M.steps = { "#f7fbff", "#e6f0f9", "#d4e4f4", "#bfd8ed", "#a6cae4", "#8bbadb", "#71a9d1", "#5998c6" }

-- Eight that differ: Paul Tol's "light" scheme, which is made for cells with labels.
M.kinds = { "#77aadd", "#bbcc33", "#ffaabb", "#eedd88", "#99ddff", "#44bb99", "#ee8866", "#dddddd" }

-- From dark blue by grey to yellow, of even lightness steps to every eye: cividis in four pieces.
local CIVIDIS = { { 0, 34, 78 }, { 66, 77, 108 }, { 124, 123, 120 }, { 186, 175, 109 },
  { 254, 232, 56 } }

-- The colour of step i of n.
function M.scale(i, n)
  local at = n > 1 and i * (#CIVIDIS - 1) / (n - 1) or 0
  local piece = math.min(at // 1, #CIVIDIS - 2)
  local from, to, part = CIVIDIS[piece + 1], CIVIDIS[piece + 2], at - piece
  local rgb = {}
  for k = 1, 3 do rgb[k] = math.floor(from[k] + (to[k] - from[k]) * part + 0.5) end
  return ("#%02x%02x%02x"):format(table.unpack(rgb))
end

-- Red, green and blue, 0 to 255; nothing for colours that are not written #rrggbb.
function M.rgb(color)
  local red, green, blue = color:match "^#(%x%x)(%x%x)(%x%x)$"
  if not red then return nil end
  return tonumber(red, 16), tonumber(green, 16), tonumber(blue, 16)
end

-- Relative luminance, as WCAG 2 defines it.
local function luminance(red, green, blue)
  local function linear(c)
    c = c / 255
    return c <= 0.04045 and c / 12.92 or ((c + 0.055) / 1.055) ^ 2.4
  end
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
end

-- Black or white, whichever has more contrast with the colour behind it.
function M.text_on(color)
  local red, green, blue = M.rgb(color)
  if not red then return "#000000" end
  -- Contrast is (lighter + 0.05) / (darker + 0.05); both are equal where luminance + 0.05 is the
  -- root of 1.05 * 0.05.
  return luminance(red, green, blue) + 0.05 < (1.05 * 0.05) ^ 0.5 and "#ffffff" or "#000000"
end

return M
