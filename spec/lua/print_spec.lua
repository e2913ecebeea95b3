local lutile = require "lutile"

-- A file that keeps what is written.
local function sink()
  local parts = {}
  return {
    write = function(self, ...)
      for i = 1, select("#", ...) do parts[#parts + 1] = tostring((select(i, ...))) end
      return self
    end,
    text = function() return table.concat(parts) end,
  }
end

describe("print_layout", function()
  it("writes CuTe's table", function()
    local file = sink()
    lutile.print_layout(lutile.parse "(2,4):(4,1)", file)
    assert.equal(table.concat({
      "(2,4):(4,1)",
      "      0   1   2   3 ",
      "    +---+---+---+---+",
      " 0  | 0 | 1 | 2 | 3 |",
      "    +---+---+---+---+",
      " 1  | 4 | 5 | 6 | 7 |",
      "    +---+---+---+---+",
      "",
    }, "\n"), file:text())
  end)

  it("writes one mode as a column, and a shape as its compact layout", function()
    local file = sink()
    lutile.print_layout(3, file)
    assert.equal("3:1", file:text():match "^[^\n]*")
    assert.truthy(file:text():find(" 2  | 2 |", 1, true))
  end)

  it("refuses three modes", function()
    local accepted, message = pcall(lutile.print_layout, lutile.parse "(2,2,2):(1,2,4)", sink())
    assert.is_false(accepted)
    assert.truthy(message:find("(2,2,2):(1,2,4) has 3", 1, true))
  end)
end)

describe("print_latex", function()
  it("writes a document with every offset", function()
    local file = sink()
    lutile.print_latex(lutile.parse "(2,4):(4,1)", file)
    local text = file:text()
    assert.truthy(text:find("\\begin{tikzpicture}", 1, true))
    assert.truthy(text:find("\\end{document}", 1, true))
    for m = 0, 1 do
      for n = 0, 3 do
        assert.truthy(text:find(("at (%d,%d) {%d};"):format(m, n, 4 * m + n), 1, true))
      end
    end
  end)
end)

describe("print_latex of a TiledMMA", function()
  local mma = lutile.make_tiled_mma "SM80_16x8x8_F32F16F16F32_TN"
  local file = sink()
  lutile.print_latex(mma, file)

  -- Checks the cells of an operand, from (m, n) on, and forgets them.
  local function check(text, layout, rows, columns, m, n, transposed)
    for thread = 0, lutile.size(layout, 0) - 1 do
      for value = 0, lutile.size(layout, 1) - 1 do
        local row, column = layout(thread, value) % rows, layout(thread, value) // rows
        if transposed then row, column = column, row end
        local node = ("at (%d,%d) {\\shortstack{T%d \\\\ V%d}};"):format(m + row, n + column,
          thread, value)
        local first, last = text:find(node, 1, true)
        assert.truthy(first, node)
        text = text:sub(1, first - 1) .. text:sub(last + 1)
      end
    end
    local corner = transposed and { m + columns, n + rows } or { m + rows, n + columns }
    local grid = ("(%d,%d) grid (%d,%d);"):format(m, n, table.unpack(corner))
    assert.truthy(text:find(grid, 1, true), grid)
    return text
  end

  it("has C at the origin, A to its left and B above it, each thread and value once", function()
    local text = file:text()
    text = check(text, mma:get_layoutC_TV(), 16, 8, 0, 0)
    text = check(text, mma:get_layoutA_TV(), 16, 8, 0, -9)
    text = check(text, mma:get_layoutB_TV(), 8, 8, -9, 0, true)
    assert.is_nil(text:find("shortstack", 1, true))
    assert.truthy(text:find("\\end{document}", 1, true))
  end)

  it("is that of its atom", function()
    local other = sink()
    lutile.print_latex(lutile.MMA_Atom "SM80_16x8x8_F32F16F16F32_TN", other)
    assert.is_true(file:text() == other:text())
  end)
end)

describe("print_latex of a TiledCopy", function()
  it("has the source at the origin and the target to its right", function()
    local copy = lutile.make_tiled_copy(lutile.Copy_Atom("UniversalCopy<u32>", "f16"),
      lutile.make_layout { 4, 2 }, lutile.make_layout { 1, 2 })
    local file = sink()
    lutile.print_latex(copy, file)
    local text = file:text()
    assert.truthy(text:find("at (3,2) {\\shortstack{T7 \\\\ V0}};", 1, true))
    assert.truthy(text:find("at (3,9) {\\shortstack{T7 \\\\ V0}};", 1, true))
    assert.truthy(text:find("(0,7) grid (4,11);", 1, true))
    assert.equal(2 * 16, select(2, text:gsub("shortstack", "")))
  end)

  it("refuses an atom, which has no tile", function()
    local accepted, message = pcall(lutile.print_latex,
      lutile.Copy_Atom("UniversalCopy<u32>", "f16"), sink())
    assert.is_false(accepted)
    assert.matches("^print_latex: .*make_tiled_copy", message)
  end)
end)

describe("print_latex_tv", function()
  it("has each cell's first thread and value", function()
    local file = sink()
    lutile.print_latex_tv(lutile.parse "((2,2),2):((1,0),2)", { 2, 2 }, file)
    local text = file:text()
    assert.equal(4, select(2, text:gsub("shortstack", "")))
    assert.truthy(text:find("at (1,1) {\\shortstack{T1 \\\\ V1}};", 1, true))
  end)
end)
