-- Pictures: that they are XML, that each cell is there once, and says what it holds.

local lutile = require "lutile"

local P = lutile.parse

-- ---- Reading pictures -------------------------------------------------------------------------

-- Fails where a text is no well-formed XML of elements, attributes and text: tags that close, in
-- order, one root, attributes in quotes, and no bare & or < in between.
local function check_text(text)
  assert(utf8.len(text), "not UTF-8")
  assert(not text:find "[%z\1-\8\11\12\14-\31]", "a control character")
  assert(not text:gsub("&%a+;", ""):find "&", "a bare &")
  assert(not text:find "[<>]", "a bare < or >")
end

local function check_attributes(attributes)
  local rest = attributes:gsub('%s+[%w:-]+="([^"<]*)"', function(value)
    check_text(value)
    return ""
  end)
  assert(rest:match "^%s*$", "attributes: " .. rest)
end

local function check_xml(text)
  local open, roots, position = {}, 0, 1
  while true do
    local first, last, closing, name, attributes, empty = text:find(
      "<(/?)([%w:]+)([^<>]-)(/?)>", position)
    check_text(text:sub(position, (first or 0) - 1))
    if not first then break end
    if closing == "/" then
      assert.equal(table.remove(open), name)
    else
      check_attributes(attributes)
      if #open == 0 then roots = roots + 1 end
      if empty ~= "/" then open[#open + 1] = name end
    end
    position = last + 1
  end
  assert.equal(0, #open)
  assert.equal(1, roots)
end

-- The panels of a picture, each a list of cells { x, y, fill, title, text = { lines } }.
local function panels_of(text)
  local panels = {}
  local groups = '<g class="cells"[^>]*>(.-)</g>\n<g class="labels"[^>]*>(.-)</g>'
  for cells, labels in text:gmatch(groups) do
    local panel, places = {}, {}
    for rect, rest in cells:gmatch "<rect([^>]*)>([^\n]*)" do
      local function attribute(name) return rect:match(" " .. name .. '="([^"]*)"') end
      local cell = { x = tonumber(attribute "x"), y = tonumber(attribute "y"),
        width = tonumber(attribute "width"), height = tonumber(attribute "height"),
        fill = attribute "fill", title = rest:match "<title>(.*)</title>", text = {} }
      panel[#panel + 1] = cell
      places[("%g %g"):format(cell.x, cell.y)] = cell
    end
    local first = panel[1]
    for x, y, line in labels:gmatch '<text x="([^"]*)" y="([^"]*)"[^>]*>([^<]*)</text>' do
      local column = (x - first.x) // first.width
      local row = (y - first.y) // first.height
      local cell = places[("%g %g"):format(first.x + column * first.width,
        first.y + row * first.height)]
      cell.text[#cell.text + 1] = line
    end
    panels[#panels + 1] = panel
  end
  return panels
end

-- The only panel of a picture of rows by columns: the lines of every cell, by [m][n] from 0.
local function table_of(text, columns)
  local rows = {}
  for i, cell in ipairs(panels_of(text)[1]) do
    local m, n = (i - 1) // columns, (i - 1) % columns
    rows[m] = rows[m] or {}
    rows[m][n] = table.concat(cell.text, " ")
  end
  return rows
end

-- How often each "T V" is held in a panel, by the titles of cells that several hold.
local function holders(panel)
  local seen = {}
  local function note(thread, value)
    local key = ("%d %d"):format(thread, value)
    seen[key] = (seen[key] or 0) + 1
  end
  for _, cell in ipairs(panel) do
    local title = cell.title or table.concat(cell.text, " ")
    for threads, value in title:gmatch "T([%d,-]+) V(%d+)" do
      for run in threads:gmatch "[^,]+" do
        local first, last = run:match "^(%d+)%-?(%d*)$"
        for thread = first, last == "" and first or last do note(thread, value) end
      end
    end
  end
  return seen
end

local function check_each_once(panel, threads, values)
  local seen, count = holders(panel), 0
  for thread = 0, threads - 1 do
    for value = 0, values - 1 do
      assert.equal(1, seen[("%d %d"):format(thread, value)], ("T%d V%d"):format(thread, value))
    end
  end
  for _ in pairs(seen) do count = count + 1 end
  assert.equal(threads * values, count)
end

local function refuses(pattern, ...)
  local accepted, message = pcall(lutile.svg, ...)
  assert.is_false(accepted)
  assert.matches(pattern, message)
end

local ATOM = "SM80_16x8x16_F32F16F16F32_TN"

-- ---- Layouts ----------------------------------------------------------------------------------

describe("svg of a layout", function()
  it("has its offsets as print_layout has them", function()
    local rows = table_of(lutile.svg(P "(2,4):(4,1)"), 4)
    for m = 0, 1 do
      for n = 0, 3 do assert.equal(tostring(4 * m + n), rows[m][n]) end
    end
  end)

  it("of 128 x 32 has 4096 cells", function()
    local text = lutile.svg(lutile.make_layout { 128, 32 })
    check_xml(text)
    assert.equal(4096, #panels_of(text)[1])
  end)

  for name, text in pairs {
    ["an integer"] = "4:2", ["one mode"] = "(6):(2)",
    ["nested modes"] = "((2,2),(4,2)):((8,16),(1,4))",
    ["a swizzle"] = "Sw<3,3,3> o 0 o (8,8):(64,8)",
    ["shared memory"] = "Sw<3,4,3> o smem[16b] o (8,64):(64,1)",
    ["coordinates"] = "(4,(2,3)):(1@0,(1@0@1,1@1@1))", ["a counting tensor"] = "5 o (2,2):(4,16)",
    ["negative strides"] = "(4,4):(-1,-4)", ["dynamic extents"] = "(?4,?8):(?8,1)",
    ["no cells"] = "(0,4):(1,2)",
  } do
    it("has every offset of " .. name, function()
      local layout = P(text)
      local picture = lutile.svg(layout)
      check_xml(picture)
      local cells, expected = {}, {}
      for _, panel in ipairs(panels_of(picture)) do
        for _, cell in ipairs(panel) do cells[#cells + 1] = cell.text[1] end
      end
      for i = 0, lutile.size(layout) - 1 do expected[#expected + 1] = tostring(layout(i)) end
      table.sort(cells)
      table.sort(expected)
      assert.same(expected, cells)
    end)
  end

  it("takes a shape for its compact layout", function()
    assert.equal(lutile.svg(lutile.make_layout { 2, 3 }), lutile.svg { 2, 3 })
  end)

  it("shows banks of shared memory by element width", function()
    local rows = table_of(lutile.svg(P "(2,32):(32,1)", { banks = 32 }), 32)
    assert.equal("33 b1", rows[1][1])
    rows = table_of(lutile.svg(P "(2,64):(72,1)", { banks = 16 }), 64)
    assert.equal("3 b1", rows[0][3])
    assert.equal("75 b5", rows[1][3])
    rows = table_of(lutile.svg(P "(2,16):(16,1)", { banks = 64 }), 16)
    assert.equal("17 b2-3", rows[1][1])
  end)

  it("gives offsets in one bank one colour", function()
    local panel = panels_of(lutile.svg(P "(4,32):(32,1)", { banks = 32 }))[1]
    local fills, banks = {}, 0
    for i = 1, 32 do
      assert.equal(panel[i].fill, panel[i + 32].fill)
      if not fills[panel[i].fill] then banks = banks + 1 end
      fills[panel[i].fill] = true
    end
    assert.equal(32, banks)
  end)

  it("colours tiles", function()
    local panel = panels_of(lutile.svg(P "((2,2),(4,2)):((8,16),(1,4))", { color = "tile" }))[1]
    assert.equal(panel[1].fill, panel[4].fill)
    assert.not_equal(panel[4].fill, panel[5].fill)
    assert.not_equal(panel[1].fill, panel[17].fill)
  end)

  it("takes functions for labels and colours", function()
    local text = lutile.svg(P "(2,2):(1,2)", {
      labels = function(offset, m, n) return ("<%d>\n%d&%d"):format(offset, m, n) end,
      color = function(offset) return offset == 3 and "#102030" or "white" end,
      title = 'a < b & "c" \0 \xff',
    })
    check_xml(text)
    assert.truthy(text:find('a &lt; b &amp; &quot;c&quot; ? ?', 1, true))
    local cell = panels_of(text)[1][4]
    assert.same({ "#102030", { "&lt;3&gt;", "1&amp;1" } }, { cell.fill, cell.text })
    assert.truthy(text:find('fill="#ffffff">&lt;3', 1, true)) -- light text on the dark cell
  end)

  it("leaves out labels, axes and title", function()
    local text = lutile.svg(P "(2,2):(1,2)", { labels = false, axes = false, title = false })
    assert.is_nil(text:find "<text")
  end)

  it("makes text fit cells of a size", function()
    local text = lutile.svg(P "(16,16):(16,1)", { cell = 20 })
    local font = tonumber(text:match 'class="labels" font%-size="([%d.]+)"')
    assert.is_true(font * 0.602 * 3 < 20 and font > 8)
  end)

  it("refuses what has no grid", function()
    refuses("^svg: a grid has two modes, %(2,2,2%):%(1,2,4%) has 3 %(group some%)",
      P "(2,2,2):(1,2,4)")
    refuses("^svg: 1048576 x 1048576 cells are more than a grid shows %(262144%)",
      { 1 << 20, 1 << 20 })
    refuses("^svg: layout expected, got string", "(4,8):(1,4)")
    refuses("^svg: no option 'size' %(there are axes, banks, cell, color, labels, thread, title%)",
      4, { size = 20 })
    refuses("^svg: option 'cell' is a number, not a string", 4, { cell = "large" })
    refuses("^svg: no color 'red' %(there are none, offset, tile, and functions%)", 4,
      { color = "red" })
    refuses("^svg: %(4,8%):%(1@0,1@1%) has coordinates", P "(4,8):(1@0,1@1)", { banks = 16 })
  end)
end)

-- ---- Threads and values -----------------------------------------------------------------------

describe("svg of a TiledMMA", function()
  it("has every thread and value of A, B and C once", function()
    local text = lutile.svg(lutile.make_tiled_mma(ATOM))
    check_xml(text)
    local B, A, C = table.unpack(panels_of(text))
    check_each_once(A, 32, 8)
    check_each_once(B, 32, 4)
    check_each_once(C, 32, 4)
    for _, panel in ipairs { A, B, C } do
      for _, cell in ipairs(panel) do
        assert.matches("^T%d+ V%d+$", table.concat(cell.text, " "))
      end
    end
  end)

  it("has A to the left of C and B above it, cell by cell", function()
    local B, A, C = table.unpack(panels_of(lutile.svg(lutile.make_tiled_mma(ATOM))))
    assert.same({ A[1].y, B[1].x }, { C[1].y, C[1].x })
    assert.is_true(A[#A].x + A[1].width < C[1].x)
    assert.is_true(B[#B].y + B[1].height < C[1].y)
  end)

  it("has elements where the layouts have them", function()
    local mma = lutile.make_tiled_mma(ATOM)
    local B, A, C = table.unpack(panels_of(lutile.svg(mma)))
    local function expect(panel, i, layout, index)
      local thread, value = table.concat(panel[i].text, " "):match "^T(%d+) V(%d+)$"
      assert.equal(index, layout(tonumber(thread), tonumber(value)))
    end
    for i = 0, 16 * 16 - 1 do
      expect(A, i + 1, mma:get_layoutA_TV(), i // 16 + i % 16 * 16)
    end
    for i = 0, 16 * 8 - 1 do
      expect(B, i + 1, mma:get_layoutB_TV(), i % 8 + i // 8 * 8) -- (n, k), shown with k down
      expect(C, i + 1, mma:get_layoutC_TV(), i // 8 + i % 8 * 16)
    end
  end)

  it("of 128 x 32 x 32 has all cells", function()
    local mma = lutile.make_tiled_mma(ATOM, lutile.make_layout { 4, 1, 1 }, { 128, 32, 32 })
    local text = lutile.svg(mma)
    check_xml(text)
    local B, A, C = table.unpack(panels_of(text))
    assert.same({ 128 * 32, 32 * 32, 128 * 32 }, { #A, #B, #C })
    check_each_once(A, 128, 32)
    check_each_once(B, 128, 32) -- held by the threads of all four warps
    check_each_once(C, 128, 32)
  end)

  it("says how many more threads hold an element", function()
    local mma = lutile.make_tiled_mma(ATOM, lutile.make_layout { 1, 2, 1 })
    local text = lutile.svg(mma)
    local _, A = table.unpack(panels_of(text))
    assert.same({ { "T0+1", "V0" }, "T0,32 V0" }, { A[1].text, A[1].title })
    assert.truthy(text:find("+n: n more threads or values hold the element", 1, true))
  end)

  it("takes an atom, and colours one thread of a slice", function()
    local mma = lutile.make_tiled_mma(ATOM)
    local options = { title = false }
    assert.is_true(lutile.svg(lutile.MMA_Atom(ATOM), options) == lutile.svg(mma, options))
    for _, panel in ipairs(panels_of(lutile.svg(mma:get_slice(5)))) do
      for _, cell in ipairs(panel) do
        assert.equal(cell.text[1] ~= "T5", cell.fill == "#ffffff")
      end
    end
  end)
end)

describe("svg of a TiledCopy", function()
  it("has every thread and value of source and target once", function()
    local copy = lutile.make_tiled_copy(lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16"),
      lutile.make_layout({ 16, 2 }, { 2, 1 }), lutile.make_layout { 1, 8 })
    local text = lutile.svg(copy)
    check_xml(text)
    local S, D = table.unpack(panels_of(text))
    assert.same({ 256, 256 }, { #S, #D })
    check_each_once(S, 32, 8)
    check_each_once(D, 32, 8)
    assert.is_true(S[#S].x < D[1].x and S[1].y == D[1].y)
  end)

  it("has elements where threads find them, tilers that reorder among them", function()
    local N = lutile.make_layout({ 8, 2, 2 }, { 1, 16, 8 })
    local mma = lutile.make_tiled_mma(ATOM, lutile.make_layout { 1, 2, 1 },
      lutile.make_tile(16, N, 16))
    local copy = lutile.make_tiled_copy_B(lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16"), mma)
    local panels = panels_of(lutile.svg(copy))
    local place = lutile.make_identity_tensor { 32, 16 }
    for i, part in ipairs { "partition_S", "partition_D" } do
      assert.equal(32 * 16, #panels[i])
      for thread = 0, 63 do
        local slice = copy:get_slice(thread)
        local elements = slice[part](slice, place)
        for value = 0, lutile.size(elements, 0) - 1 do
          local element = elements(value, 0, 0)
          local cell = panels[i][element[0] * 16 + element[1] + 1]
          assert.equal(1, holders { cell }[("%d %d"):format(thread, value)])
        end
      end
    end
  end)

  it("colours one thread of a slice", function()
    local copy = lutile.make_tiled_copy(lutile.Copy_Atom("UniversalCopy<u128>", "f16"),
      lutile.make_layout({ 8, 4 }, { 4, 1 }), lutile.make_layout { 1, 8 })
    for _, panel in ipairs(panels_of(lutile.svg(copy:get_slice(9)))) do
      for _, cell in ipairs(panel) do
        assert.equal(cell.text[1] ~= "T9", cell.fill == "#ffffff")
      end
    end
  end)

  it("refuses an atom, which has no tile", function()
    refuses("make_tiled_copy", lutile.Copy_Atom("UniversalCopy<u128>", "f16"))
  end)
end)

describe("svg of a layout (thread, value)", function()
  local tv = P "((4,8),(2,2)):((32,1),(16,8))"

  it("has every thread and value once, at its place", function()
    local text = lutile.svg(tv, { 16, 8 })
    check_xml(text)
    check_each_once(panels_of(text)[1], 32, 4)
    assert.equal("T1 V3", table_of(text, 8)[8][3])
  end)

  it("reads places as coordinates too", function()
    local coordinates = lutile.make_identity_layout { 16, 8 } .. tv
    local with = panels_of(lutile.svg(coordinates, { 16, 8 }))
    assert.same(panels_of(lutile.svg(tv, { 16, 8 })), with)
  end)

  it("shows threads, values, or those of some threads", function()
    assert.equal("T1", table_of(lutile.svg(tv, { 16, 8 }, { labels = "T" }), 8)[8][3])
    assert.equal("V3", table_of(lutile.svg(tv, { 16, 8 }, { labels = "V" }), 8)[8][3])
    local colored = 0
    for _, cell in ipairs(panels_of(lutile.svg(tv, { 16, 8 }, { thread = { 0, 1 } }))[1]) do
      if cell.fill ~= "#ffffff" then colored = colored + 1 end
    end
    assert.equal(8, colored)
  end)

  it("leaves cells empty that nobody holds", function()
    local rows = table_of(lutile.svg(P "(2,2):(1,2)", { 2, 4 }), 4)
    assert.same({ "T1 V1", "" }, { rows[1][1], rows[1][2] })
  end)

  it("refuses places outside of the tile", function()
    refuses("^svg: thread 0 has its value 1 at 16, outside of the 4 x 2 tile", tv, { 4, 2 })
    refuses("^svg: thread 0 has its value 2 at %(8,0%), outside of the 8 x 8 tile",
      lutile.make_identity_layout { 16, 8 } .. tv, { 8, 8 })
  end)
end)
