local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"

local parse, dyn = lutile.parse, lutile.dyn

describe("tostring and parse", function()
  for _, text in ipairs {
    "(4,2):(2,1)",
    "(?4,2):(2,1)",
    "(?4096{8},2):(2,1)",
    "(4,8):(1@0,1@1)",
    "(4,(2,2)):(1@0,(1@0@1,?2@1@1))",
    "Sw<3,4,3>",
    "Sw<3,4,3> o 0 o (8,64):(64,1)",
    "Sw<3,4,3> o smem[16b] o (8,64):(64,1)",
    "5 o (2,2):(4,16)",
    "()",
    "():()",
    "(_,(3,_))",
    "(4:2,8:1)",
    "(4,(8))",
    "3:-2",
    "LayoutLeft",
    "LayoutRight",
    "_",
  } do
    it("undo each other on " .. text, function()
      assert.equal(text, tostring(parse(text)))
      assert.equal(text, lutile.key(parse(text)))
    end)
  end

  it("undo each other on random layouts", function()
    local random = enumerate.random(9)
    for _ = 1, 500 do
      local l = enumerate.random_layout(random)
      assert(parse(tostring(l)) == l)
      assert(lutile.from_cute(lutile.to_cute(l)) == l)
    end
  end)

  it("take CuTe's marks too", function()
    assert.equal(parse "(4,2):(2,1)", parse "(_4,_2):(_2,_1)")
    assert.equal(lutile.Swizzle(3, 4, 3), parse "S<3,4,3>")
  end)

  it("give a Lua integer for a static one", function()
    assert.equal(4, parse "4")
    assert.equal("integer", math.type(parse "4"))
  end)
end)

describe("to_cute", function()
  it("marks what is static", function()
    assert.equal("(_2,_3):(_3,_1)", lutile.to_cute(parse "(2,3):(3,1)"))
    local mixed = lutile.make_layout({ 2, dyn(3) }, { dyn(3), 1 })
    assert.equal("(_2,3):(3,_1)", lutile.to_cute(mixed))
    assert.equal(mixed, lutile.from_cute "(_2,3):(3,_1)")
  end)

  it("writes a layout and an offset as one", function()
    local l = parse "(4,8):(8,1)"
    assert.equal("_16 o (_8):(_1)",
      lutile.to_cute(lutile.slice_and_offset({ 2, lutile._ }, l)))
  end)
end)

describe("parse", function()
  for _, c in ipairs {
    { "", "an empty text" },
    { "(4,2", "a tuple that does not end" },
    { "(4,2):(2,1", "a stride that does not end" },
    { "(4,2):(2)", "a stride that is not congruent" },
    { "4:2:1", "two colons" },
    { "99999999999999999999", "a number beyond 64 bits" },
    { "(4,2) junk", "something after the value" },
    { "(4,\0)", "a zero byte" },
    { ("("):rep(200) .. "1" .. (")"):rep(200), "too deep a tuple" },
    { ("("):rep(1000000), "a million parentheses" },
    { "\xff\xfe", "bytes that are no text" },
    { "?", "a mark without a number" },
    { "Sw<3,4>", "a swizzle of two numbers" },
  } do
    it("refuses " .. c[2], function()
      local accepted, message = pcall(parse, c[1])
      assert.is_false(accepted)
      assert.is_string(message)
    end)
  end
end)
