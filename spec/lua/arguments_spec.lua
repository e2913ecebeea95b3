-- What a script may pass, and the words in which the rest is refused.

local lutile = require "lutile"

local make_layout, parse, tuple, dyn, _ = lutile.make_layout, lutile.parse, lutile.tuple,
  lutile.dyn, lutile._

-- The message of the error that f raises, without the position.
local function message_of(f, ...)
  local succeeded, message = pcall(f, ...)
  assert(not succeeded, "no error was raised")
  return (message:gsub("^[^:]+:%d+: ", ""))
end

describe("a number", function()
  it("is a static integer", function()
    assert.equal(parse "8:0", make_layout(8.0, 0.0))
    assert.equal(parse "9007199254740992:1", make_layout(2 ^ 53))
    assert.is_true(lutile.is_static(make_layout(8)))
  end)

  for _, x in ipairs { 8.5, 0 / 0, 1 / 0, -1 / 0, 2 ^ 63, 1e300 } do
    it(("is refused if it is %s"):format(x), function()
      assert.equal("bad argument #1 to 'make_layout' (number has no integer representation)",
        message_of(make_layout, x))
      assert.equal("bad argument #1 to 'make_layout' (number has no integer representation)",
        message_of(make_layout, { 4, x }))
    end)
  end

  it("is no string", function()
    assert.equal("bad argument #1 to 'make_layout' (shape expected, got string)",
      message_of(make_layout, "8"))
    assert.equal("bad argument #1 to 'make_layout' (string in a table of numbers)",
      message_of(make_layout, { "8" }))
    assert.equal("bad argument #2 to 'make_layout' (stride, LayoutLeft or LayoutRight expected, "
      .. "got string)", message_of(make_layout, { 4, 8 }, "row"))
  end)

  it("may be dynamic, with a promise", function()
    assert.equal("(?4,2):(1,?4)", tostring(make_layout { dyn(4), 2 }))
    assert.equal("(?4096{8},2)", tostring(tuple { dyn(4096, 8), 2 }))
    assert.equal(make_layout(dyn(8)), make_layout(dyn(dyn(8))))
    assert.equal("dyn: 9 is not a multiple of the promised 8", message_of(dyn, 9, 8))
    assert.equal("dyn: promise 0 is not positive", message_of(dyn, 9, 0))
  end)

  it("that says how may be dynamic or in a tuple", function()
    local l = parse "(4,8,2):(1,4,32)"
    assert.equal(l:take(1, 3), lutile.take(l, dyn(1), dyn(3)))
    assert.equal(parse "(4,2):(1,32)", l:select { 0, 2 })
    assert.equal(parse "(4,2):(1,32)", l:select(0, 2))
    assert.equal(parse "(4,2):(1,32)", l:select(tuple { dyn(0), dyn(2) }))
  end)
end)

describe("a table", function()
  it("is a tuple, at any depth", function()
    assert.equal(parse "(4,(2,8))", tuple { 4, { 2, 8 } })
    assert.equal(parse "()", tuple {})
    assert.equal(12, lutile.size { 2, { 2, 3 } })
  end)

  it("is the compact layout of that shape where a layout is wanted", function()
    assert.equal(make_layout { 4, 8 } .. make_layout(2), lutile.composition({ 4, 8 }, 2))
    assert.equal(lutile.complement({ 4, 8 }, 64), make_layout { 4, 8 }:complement(64))
    assert.equal(parse "1:0", -make_layout(1))
    assert.equal(-make_layout(1), lutile.right_inverse(1))
  end)

  it("stays a tuple where either will do", function()
    assert.equal(parse "(2,3,4)", lutile.flatten { 2, { 3, 4 } })
    assert.equal(24, lutile.coalesce { 2, { 3, 4 } })
  end)

  it("with a hole is refused, and so are fields", function()
    assert.equal("bad argument #1 to 'make_layout' (hole at index 2)",
      message_of(make_layout, { 4, nil, 8 }))
    assert.equal("bad argument #2 to 'logical_divide' (hole at index 1)",
      message_of(lutile.logical_divide, parse "8:1", { nil, 4 }))
    assert.equal("bad argument #1 to 'make_layout' (hole at index 3)",
      message_of(make_layout, { n = 3, 4, 8 }))
    assert.equal("bad argument #1 to 'make_layout' (hole at index 3)",
      message_of(make_layout, table.pack(4, 8, nil)))
    assert.equal(make_layout { 4, 8 }, make_layout(table.pack(4, 8)))
    assert.equal("bad argument #1 to 'make_layout' (index 2 is beyond field 'n' (1))",
      message_of(make_layout, { n = 1, 4, 8 }))
    assert.equal("bad argument #1 to 'make_layout' (table with field 'x' is no tuple)",
      message_of(make_layout, { 4, x = 8 }))
    assert.equal("bad argument #1 to 'make_layout' (table with index 0 is no tuple (its elements "
      .. "count from 1))", message_of(make_layout, { [0] = 4, 8 }))
    assert.equal("bad argument #1 to 'make_layout' (table with a boolean as key is no tuple)",
      message_of(make_layout, { 4, [true] = 8 }))
    assert.equal("bad argument #1 to 'make_layout' (hole at index 1)",
      message_of(make_layout, { [math.maxinteger] = 8 }))
  end)

  it("nested too deep, or in itself, is refused", function()
    local cycle = { 4 }
    cycle[2] = cycle
    local deep = 1
    for _ = 1, 10000 do deep = { deep } end
    local text = "bad argument #1 to 'size' (table nested deeper than 64 levels, or in itself)"
    assert.equal(text, message_of(lutile.size, cycle))
    assert.equal(text, message_of(lutile.size, deep))
  end)

  it("that unfolds without end is refused", function()
    local t = { 1, 1, 1, 1 }
    for _ = 1, 50 do t = { t, t, t, t } end
    assert.truthy(message_of(lutile.size, t):find "more than")
  end)

  it("is read as it is, whatever its metatable says", function()
    local function lie() error "asked" end
    local liar = setmetatable({ 4, 8 }, {
      __index = lie, __len = lie, __pairs = lie, __call = lie, __eq = lie, __name = 7,
      __tostring = lie, __metatable = "none",
    })
    assert.equal(make_layout { 4, 8 }, make_layout(liar))
    assert.equal(32, lutile.size(liar))
    assert.equal("bad argument #1 to 'make_layout' (hole at index 1)",
      message_of(make_layout, setmetatable({ nil, 4 }, { __index = { 1 } })))
  end)
end)

describe("nil", function()
  it("never stands for the wildcard", function()
    assert.equal("bad argument #1 to 'crd2idx' (coordinate expected, got nil)",
      message_of(lutile.crd2idx, nil, parse "(4,8):(8,1)"))
    assert.has_error(function() return parse "(4,8):(8,1)" (1, nil) end)
  end)
end)

describe("an argument of another kind", function()
  local l = parse "(4,8):(8,1)"

  for _, c in ipairs {
    { "layout expected, got string", lutile.composition, 2, l, "x" },
    { "layout expected, got FILE*", lutile.composition, 2, l, io.stdout },
    { "layout expected, got boolean", lutile.complement, 1, true },
    { "layout expected, got no value", lutile.complement, 1 },
    { "layout expected, got function", lutile.right_inverse, 1, print },
    { "coordinate expected, got layout", lutile.crd2idx, 1, l, tuple { 1, 2 } },
    { "tiler expected, got table nested", lutile.logical_divide, 2, l, "x",
      why = "tiler expected, got string" },
    { "swizzle expected, got layout", lutile.swizzle_apply, 1, l, 4 },
    { "string expected, got layout", lutile.parse, 1, l },
    { "string expected, got number", lutile.parse, 1, 4 },
    { "integer expected, got tuple", lutile.take, 2, l, tuple { 1, 2 }, 3 },
    { "shape expected, got underscore", make_layout, 1, _ },
  } do
    it("is named: " .. c[1], function()
      local message = message_of(c[2], table.unpack(c, 4))
      local wanted = c.why or c[1]
      assert.truthy(message:find(("bad argument #%d to '"):format(c[3]), 1, true), message)
      assert.truthy(message:find("(" .. wanted .. ")", 1, true), message)
    end)
  end

  it("is counted as the method's caller counts", function()
    assert.equal("bad argument #1 to 'composition' (layout expected, got string)",
      message_of(l.composition, l, "x"))
    assert.equal("bad argument #1 to 'crd2idx' (coordinate expected, got string)",
      message_of(l.crd2idx, l, "x"))
    assert.equal("bad argument #1 to 'crd2idx' (coordinate expected, got no value)",
      message_of(l.crd2idx, l))
    assert.equal("calling 'composition' on bad self (layout expected, got string)",
      message_of(l.composition, "x", l))
  end)

  it("too many are refused", function()
    assert.equal("composition: takes 2 arguments, got 3", message_of(lutile.composition, l, l, l))
    assert.equal("composition: takes 1 argument, got 2", message_of(l.composition, l, l, l))
  end)

  it("of another state or library is refused", function()
    assert.equal("bad argument #1 to 'size' (layout or tuple expected, got FILE*)",
      message_of(lutile.size, io.stdout))
  end)
end)

describe("an error", function()
  it("begins with the script's line", function()
    local chunk = load("local l = ...\n\nreturn l:composition 'x'", "=script")
    local _, message = pcall(chunk, parse "(4,8):(8,1)")
    assert.equal("script:3: bad argument #1 to 'composition' (layout expected, got string)",
      message)
  end)

  it("begins with the script's line for operators too", function()
    local chunk = load("local l = ...\nlocal x = l .. 'x'\nreturn x", "=script")
    local _, message = pcall(chunk, parse "(4,8):(8,1)")
    assert.equal("script:2: '..' composes layouts: tostring joins a layout and a string", message)
  end)
end)
