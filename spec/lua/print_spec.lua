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
