-- Tables as the text of a Lua file, read without running it.

local literal = require "lutile.plan.literal"

describe("literal.read", function()
  for text, value in pairs {
    ["return {}"] = {},
    ["return { 1, 2.5, -3, true, false, 'x' }"] = { 1, 2.5, -3, true, false, "x" },
    ["-- a comment\nreturn { a = 1, [\"b c\"] = { 2; 3, }, [4] = 'd' } -- and one more"] =
      { a = 1, ["b c"] = { 2, 3 }, [4] = "d" },
    ["return { '\\'\\n\\\\', '\\65\\0661' }"] = { "'\n\\", "AB1" },
    ["return { 0x10, 1e3, 1.5e-3, .5 }"] = { 16, 1000.0, 0.0015, 0.5 },
    ["return{a={b={c={}}}}"] = { a = { b = { c = {} } } },
  } do
    it("reads " .. text:gsub("\n", " "), function() assert.same(value, literal.read(text)) end)
  end

  for text, why in pairs {
    [""] = "line 1: 'return' expected",
    ["returns {}"] = "line 1: 'return' expected",
    ["return f()"] = "line 1: a number, a boolean, a string or a table expected",
    ["return {\n  a = os.exit(),\n}"] =
      "line 2: a number, a boolean, a string or a table expected",
    ["return {}; while true do end"] = "line 1: the end expected",
    ["return {"] = "line 1: a number, a boolean, a string or a table expected",
    ["return { 1 2 }"] = "line 1: ',' or '}' expected",
    ["return { a = 1, a = 2 }"] = "line 1: a twice",
    ["return { [1 }"] = "line 1: ']=' expected",
    ["return { a = nil }"] = "line 1: a number, a boolean, a string or a table expected",
    ["return { 1-2 }"] = "line 1: '1-2' is no number",
    ["return { 'x }"] = "line 1: a string that does not end",
    ["return { 'x\n' }"] = "line 1: a string that does not end",
    ["return { '\\q' }"] = "line 1: a string that does not end",
    ["return { '\\999' }"] = "line 1: a string that does not end",
    ["\27Lua"] = "line 1: 'return' expected",
    ["return " .. ("{"):rep(100) .. ("}"):rep(100)] = "line 1: tables in tables, too deep",
  } do
    it("refuses " .. text:gsub("%c", " "):sub(1, 40), function()
      assert.same({ n = 2, nil, why }, table.pack(literal.read(text)))
    end)
  end
end)

describe("literal.write", function()
  local t = { ["gemm f16 8x8x8"] = { tile = { 64, 64, 32 }, stages = 3, fast = true, us = 1.5 },
    b = { kernel = "sm90" }, a = {} }

  it("has a line for each name, in order", function()
    assert.equal([[
return {
  ["a"] = {},
  ["b"] = { kernel = "sm90" },
  ["gemm f16 8x8x8"] = { fast = true, stages = 3, tile = { 64, 64, 32 }, us = 1.5 },
}
]], literal.write(t))
  end)

  it("is what read reads, and what Lua runs", function()
    assert.same(t, literal.read(literal.write(t)))
    assert.same(t, load(literal.write(t), "=t", "t", {})())
    local odd = { ["a\n\"'\\ b\r\0\1"] = { x = -2 } }
    assert.same(odd, literal.read(literal.write(odd)))
  end)
end)
