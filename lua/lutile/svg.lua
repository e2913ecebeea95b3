-- Pictures of layouts, TiledMMAs and TiledCopies as SVG: what stands in the cells, and why.

local lutile = require "lutile"
local grid = require "lutile.grid"
local colors = require "lutile.colors"
local no_option = require "lutile.options"
local svg_panels = require "lutile.svg_panels"

local M = {}

local BANKS, BANK_BITS = 32, 32 -- of shared memory (CUDA C++ Programming Guide, compute 5.0 on)

-- ---- Options ----------------------------------------------------------------------------------

local known = {
  axes = { boolean = true },
  banks = { number = true },
  cell = { number = true },
  color = { string = true, ["function"] = true },
  labels = { string = true, boolean = true, ["function"] = true },
  thread = { number = true, table = true },
  title = { string = true, boolean = true },
}

local function names_of(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return table.concat(names, ", ")
end

local function check_options(options)
  for name, value in pairs(options) do
    local types = known[name]
    if not types then return nil, no_option(name, known) end
    if not types[type(value)] then
      return nil, ("option '%s' is a %s, not a %s"):format(name, names_of(types), type(value))
    end
  end
  local bits = options.banks
  if bits and not (math.type(bits) == "integer" and bits >= 1 and bits <= BANKS * BANK_BITS) then
    return nil, "option 'banks' is the number of bits of an element, 1 to 1024"
  end
  if options.cell and not (options.cell >= 8 and options.cell <= 1000) then
    return nil, "option 'cell' is the size of a cell, 8 to 1000 pixels"
  end
  return options
end

-- The function that a table has for an option, or the option itself where it is a function.
local function choose(what, choice, choices)
  if type(choice) == "function" then return choice end
  if choices[choice] then return choices[choice] end
  return nil, ("no %s '%s' (there are %s, and functions)"):format(what, tostring(choice),
    names_of(choices))
end

-- ---- Layouts ----------------------------------------------------------------------------------

-- A number for a coordinate too, so that neighbours get neighbouring numbers.
local function number_of(offset)
  return math.type(offset) == "integer" and offset or lutile.sum(offset)
end

-- The banks of the element at an offset: "b3", or "b4-7" of a wide one.
local function bank_text(offset, bits)
  local first = offset * bits // BANK_BITS
  local last = (offset * bits + bits - 1) // BANK_BITS
  if first == last then return ("b%d"):format(first % BANKS) end
  return ("b%d-%d"):format(first % BANKS, last % BANKS)
end

local function layout_colors(g, bits)
  return {
    offset = function(offset) return colors.steps[number_of(offset) % 8 + 1] end,
    tile = function(_, m, n)
      local tile = m // (g.tile_rows or g.rows) + n // (g.tile_columns or g.columns) * 3
      return colors.kinds[tile % 8 + 1]
    end,
    bank = bits and function(offset)
      return colors.scale(offset * bits // BANK_BITS % BANKS, BANKS)
    end,
    none = function() return "#ffffff" end,
  }
end

local function layout_labels(g, bits)
  return {
    offset = tostring,
    coordinate = function(_, m, n) return ("%d,%d"):format(m, n) end,
    index = function(_, m, n) return ("%d"):format(m + g.rows * n) end,
    bank = bits and function(offset)
      return ("%s\n%s"):format(tostring(offset), bank_text(offset, bits))
    end,
    none = function() return "" end,
  }
end

-- The function of (offset, m, n) for an option of a layout.
local function layout_choice(options, name, choices, default)
  local choice = options[name]
  if choice == nil or choice == true then choice = default end
  if choice == false then choice = "none" end
  return choose(name, choice, choices)
end

local function layout_panel(x, options)
  local g, problem = grid.of_layout(x)
  if not g then return nil, problem end
  local bits = options.banks
  if bits and math.type(g.offsets[1] or 0) ~= "integer" then
    return nil, ("%s has coordinates, and banks have offsets"):format(tostring(g.layout))
  end
  local default = bits and "bank" or "offset"
  local fill, no_color = layout_choice(options, "color", layout_colors(g, bits), default)
  local label, no_label = layout_choice(options, "labels", layout_labels(g, bits), default)
  if not (fill and label) then return nil, no_color or no_label end
  local function cell(m, n)
    local offset = g.offsets[m + g.rows * n + 1]
    return label(offset, m, n), fill(offset, m, n)
  end
  local panel = { rows = g.rows, columns = g.columns, cell = cell, tile_rows = g.tile_rows,
    tile_columns = g.tile_columns, row = 1, column = 1 }
  local note = bits and ("%d banks of %d bits, elements of %d"):format(BANKS, BANK_BITS, bits)
  return { panel }, tostring(g.layout), note
end

-- ---- Threads and values -----------------------------------------------------------------------

local tv_colors = {
  thread = function(thread) return colors.kinds[thread % 8 + 1] end,
  value = function(_, value) return colors.kinds[value % 8 + 1] end,
  none = function() return "#ffffff" end,
}

local tv_labels = {
  TV = function(thread, value, more)
    return more == 0 and ("T%d\nV%d"):format(thread, value)
      or ("T%d+%d\nV%d"):format(thread, more, value)
  end,
  T = function(thread) return ("T%d"):format(thread) end,
  V = function(_, value) return ("V%d"):format(value) end,
  none = function() return "" end,
}

-- "T0-3,8 V1": who holds a cell, threads of one value together.
local function holders_text(pairs_held, threads)
  local order, by_value = {}, {}
  for _, pair in ipairs(pairs_held) do
    local thread, value = pair % threads, pair // threads
    local runs = by_value[value]
    if not runs then
      runs = {}
      by_value[value], order[#order + 1] = runs, value
    end
    local run = runs[#runs]
    if run and run[2] + 1 == thread then
      run[2] = thread
    else
      runs[#runs + 1] = { thread, thread }
    end
  end
  local texts = {}
  for i, value in ipairs(order) do
    local runs = {}
    for k, run in ipairs(by_value[value]) do
      runs[k] = run[1] == run[2] and ("%d"):format(run[1]) or ("%d-%d"):format(run[1], run[2])
    end
    texts[i] = ("T%s V%d"):format(table.concat(runs, ","), value)
  end
  return table.concat(texts, "; ")
end

-- The set of threads that an option names; nil for all.
local function thread_set(option)
  if option == nil then return nil end
  local set = {}
  for _, thread in ipairs(type(option) == "table" and option or { option }) do
    if math.type(thread) ~= "integer" then
      return nil, "option 'thread' is the number of a thread, or a table of them"
    end
    set[thread] = true
  end
  return set
end

-- The pair to show of a cell: the first of the threads asked for, else the first.
local function shown_pair(g, index, wanted)
  local first, shared = g.pairs[index], g.shared[index]
  if not wanted or not first then return first, true end
  for _, pair in ipairs(shared or { first }) do
    if wanted[pair % g.threads] then return pair, true end
  end
  return first, false
end

-- Style of pictures of threads: { fill, label, wanted }.
local function tv_style(options)
  if options.banks then return nil, "banks are of a layout's offsets" end
  local labels = options.labels
  if labels == nil or labels == true then labels = "TV" end
  local fill, no_color = choose("color", options.color or "thread", tv_colors)
  local label, no_label = choose("labels", labels or "none", tv_labels)
  local wanted, no_thread = thread_set(options.thread)
  local problem = no_color or no_label or no_thread
  if problem then return nil, problem end
  return { fill = fill, label = label, wanted = wanted }
end

-- A panel of a grid, with the grid's rows across where it is transposed.
local function tv_panel(g, style, place)
  local function cell(i, j)
    local m, n = i, j
    if place.transposed then m, n = j, i end
    local index = m + g.rows * n
    local pair, wanted = shown_pair(g, index, style.wanted)
    if not pair then return "", "#ffffff" end
    local thread, value, shared = pair % g.threads, pair // g.threads, g.shared[index]
    local label = style.label(thread, value, shared and #shared - 1 or 0)
    return label, wanted and style.fill(thread, value) or "#ffffff",
      shared and holders_text(shared, g.threads), not wanted
  end
  local rows, columns = g.rows, g.columns
  if place.transposed then rows, columns = columns, rows end
  return { rows = rows, columns = columns, cell = cell, name = place.name, row = place.row,
    column = place.column, shared = next(g.shared) ~= nil }
end

-- The note that explains +n, where a label has it.
local function tv_note(panels, style)
  if style.label ~= tv_labels.TV then return nil end
  for _, panel in ipairs(panels) do
    if panel.shared then return "+n: n more threads or values hold the element" end
  end
end

local function tv_picture(layout, tile, style)
  local g, problem = grid.of_tv(layout, tile)
  if not g then return nil, problem end
  local panels = { tv_panel(g, style, { row = 1, column = 1 }) }
  local title = ("%s in a tile of %d x %d"):format(tostring(g.layout), g.rows, g.columns)
  return panels, title, tv_note(panels, style)
end

-- As CuTe's: A to the left of C, B above it.
local function mma_picture(mma, style)
  local g, problem = grid.of_mma(mma)
  if not g then return nil, problem end
  local panels = {
    tv_panel(g.B, style, { name = "B: k↓ n→", row = 1, column = 2, transposed = true }),
    tv_panel(g.A, style, { name = "A: m↓ k→", row = 2, column = 1 }),
    tv_panel(g.C, style, { name = "C: m↓ n→", row = 2, column = 2 }),
  }
  return panels, tostring(mma), tv_note(panels, style)
end

local function copy_picture(copy, style)
  local g, problem = grid.of_copy(copy)
  if not g then return nil, problem end
  local panels = {
    tv_panel(g.S, style, { name = "source", row = 1, column = 1 }),
    tv_panel(g.D, style, { name = "target", row = 1, column = 2 }),
  }
  return panels, tostring(copy), tv_note(panels, style)
end

-- ---- Any operand ------------------------------------------------------------------------------

-- The thread that a slice is of.
local function slice_thread(slice, kind)
  if kind == "ThrCopy" then return slice.thr_idx end
  return slice.thr_layout_vmnk(slice.thr_vmnk)
end

-- The panels of a picture, its title and a note below it.
local function picture_of(x, tile, options)
  local kind = grid.kind(x)
  if not kind and tile == nil then
    if options.thread then return nil, "threads are of a layout (thread, value) and its tile" end
    return layout_panel(x, options)
  end
  if kind and tile ~= nil then return nil, ("%s has a tile of its own"):format(tostring(x)) end
  local style, problem = tv_style(options)
  if not style then return nil, problem end
  if not kind then return tv_picture(x, tile, style) end
  if kind:find "^Thr" then style.wanted = style.wanted or { [slice_thread(x, kind)] = true } end
  return (kind:find "MMA" and mma_picture or copy_picture)(x, style)
end

-- ---- The function ---------------------------------------------------------------------------

-- Whether an argument is the options: a table that is not a tuple.
local function is_options(x) return type(x) == "table" and rawget(x, 1) == nil end

--- The picture of a layout, TiledMMA or TiledCopy, or of a layout (thread, value) and its tile.
function M.svg(x, tile, options)
  if options == nil and is_options(tile) then tile, options = nil, tile end
  if options ~= nil and type(options) ~= "table" then
    error(("svg: options are a table, got %s"):format(type(options)), 3)
  end
  local checked, problem = check_options(options or {})
  if not checked then error("svg: " .. problem, 3) end
  local panels, title, note = picture_of(x, tile, checked)
  if not panels then error("svg: " .. title, 3) end
  if checked.title ~= nil and checked.title ~= true then title = checked.title end
  return svg_panels.draw(panels, title, note, checked)
end

return M
