-- The userdata of values: operators, calls, fields, iteration.

local lutile = require "lutile"

local make_layout, parse, tuple, dyn, E, _ = lutile.make_layout, lutile.parse, lutile.tuple,
  lutile.dyn, lutile.E, lutile._

local function message_of(f, ...)
  local succeeded, message = pcall(f, ...)
  assert(not succeeded, "no error was raised")
  return (message:gsub("^[^:]+:%d+: ", ""))
end

describe("operators on layouts", function()
  local a, b = parse "(4,2):(2,1)", parse "(2,2):(1,2)"

  it("are the functions that the manual names", function()
    assert.equal(a:composition(b), a .. b)
    assert.equal(a:composition(b), a(b))
    assert.equal(a:logical_divide(2), a / 2)
    assert.equal(a:zipped_divide { 2, 2 }, a // { 2, 2 })
    assert.equal(a:logical_product(b), a * b)
    assert.equal(a:left_inverse(), ~a)
    assert.equal(a:right_inverse(), -a)
  end)

  it("bind as written", function()
    local c, d = parse "(3,8):(1,3)", parse "(3,8):(8,1)"
    assert.equal((~c) .. d, ~c .. d)
    assert.equal(8, (~c .. d)(1))
    assert.equal(a .. b .. 2, (a .. b) .. 2)
  end)

  it("compare tree for tree and flag for flag", function()
    assert.is_true(parse "(4,2):(2,1)" == a)
    assert.is_false(parse "((4),2):((2),1)" == a)
    assert.is_false(parse "(?4,2):(2,1)" == a)
    assert.is_false(parse "(?4{2},2):(2,1)" == parse "(?4,2):(2,1)")
    assert.is_false(a == a.shape)
  end)

  it("take a number or a table on either side", function()
    assert.equal(make_layout(4) .. make_layout(2), 4 .. make_layout(2))
    assert.equal(make_layout { 4, 8 } .. make_layout(2), { 4, 8 } .. make_layout(2))
  end)

  it("do not join strings", function()
    assert.equal("'..' composes layouts: tostring joins a layout and a string",
      message_of(function() return "a = " .. a end))
    assert.equal("'..' composes layouts: tostring joins a layout and a string",
      message_of(function() return a .. "" end))
  end)

  it("are not defined on other values", function()
    assert.equal("'+' is not defined for a layout and a number",
      message_of(function() return a + 1 end))
    assert.equal("'*' is not defined for an integer and a string",
      message_of(function() return dyn(4) * "x" end))
    assert.equal("'<' is not defined for a layout and a layout",
      message_of(function() return a < b end))
    assert.equal("'/' divides layouts: integers are divided by '//'",
      message_of(function() return dyn(8) / 2 end))
    assert.equal("'~' inverts layouts, not a tuple", message_of(function() return ~a.shape end))
    assert.has_error(function() return a & b end)
  end)
end)

describe("a call", function()
  local l = parse "(4,(2,4)):(8,(1,2))"

  it("evaluates at natural, partial and linear coordinates", function()
    assert.equal(8 + 1 + 4, l(1, { 1, 2 }))
    assert.equal(l(1, { 1, 2 }), l(1, 5))
    assert.equal(l(1, 5), l(21))
    assert.equal(l(1, 5), l { 1, 5 })
    assert.equal(l(1, 5), l(tuple { 1, 5 }))
    assert.equal(l(1, 5), l(dyn(1), 5))
    assert.equal("integer", math.type(l(dyn(1), 5)))
    assert.equal(0, parse "():()" {})
  end)

  it("with a wildcard slices, and keeps the offset", function()
    local row = l(2, _)
    assert.equal("16 o ((2,4)):((1,2))", tostring(row))
    for j = 0, 7 do assert.equal(l(2, j), row(j)) end
    assert.equal(16, row.offset)
    assert.equal(parse "((2,4)):((1,2))", row.layout)
    assert.equal(row.layout, lutile.slice({ 2, _ }, l))
    local layout, offset = lutile.slice_and_offset({ 2, _ }, l)
    assert.equal(row.layout, layout)
    assert.equal(16, offset)
    assert.equal(21, parse "((2,2),(2,2)):((1,8),(4,16))" (1, _)(3))
  end)

  it("on swizzles and composed layouts", function()
    local sw = lutile.Swizzle(3, 3, 3)
    assert.equal(lutile.swizzle_apply(sw, 65), sw(65))
    local c = sw .. parse "(8,64):(64,1)"
    assert.is_true(lutile.is_composed_layout(c))
    for i = 0, 511, 7 do assert.equal(sw(parse "(8,64):(64,1)" (i)), c(i)) end
  end)

  it("is for layouts alone", function()
    assert.equal("a tuple cannot be called (the shape of mode i is shape(L, i))",
      message_of(function() return l.shape(0) end))
    assert.has_error(function() return dyn(4)(0) end)
  end)
end)

describe("fields and modes", function()
  local l = parse "(4,(2,?4)):(8,(1,2))"

  it("count from 0, and raise past the last", function()
    assert.equal(parse "4:8", l[0])
    assert.equal(parse "(2,?4):(1,2)", l[1])
    assert.equal(2, #l)
    assert.has_error(function() return l[2] end)
    assert.has_error(function() return l[-1] end)
    assert.has_error(function() return l[0.5] end)
    assert.has_error(function() return l[{}] end)
  end)

  it("make misuse of ipairs loud", function()
    assert.has_error(function() for _ in ipairs(l) do end end) -- luacheck: ignore
  end)

  it("are gone through by pairs from any mode on, coordinate strides too", function()
    local strides = { lutile.E(0), { lutile.E(1, 0), 8 }, 1 }
    local identity = lutile.make_layout({ 2, { 3, 4 }, 5 }, strides)
    local seen = {}
    for i, mode in pairs(identity) do seen[#seen + 1] = i .. "=" .. tostring(mode) end
    assert.same({ "0=2:1@0", "1=(3,4):(1@0@1,8)", "2=5:1" }, seen)
    local step, value = pairs(identity)
    assert.equal(2, (step(value, 1)))
    assert.equal(1, (step(value, 0)))
    assert.is_nil(step(value, 2))
  end)

  it("are gone through by pairs", function()
    local seen = {}
    for i, mode in pairs(l) do seen[#seen + 1] = i .. "=" .. tostring(mode) end
    assert.equal("0=4:8 1=(2,?4):(1,2)", table.concat(seen, " "))
    seen = {}
    for i, part in pairs(l.shape) do seen[#seen + 1] = i .. "=" .. tostring(part) end
    assert.equal("0=4 1=(2,?4)", table.concat(seen, " "))
  end)

  it("keep flags", function()
    assert.equal("integer", math.type(l.shape[0]))
    assert.equal("?4", tostring(l.shape[1][1]))
    assert.equal(4, l.shape[1][1]:value())
    assert.equal(4, lutile.size(l, 1, 1))
  end)

  it("of composed layouts and swizzles", function()
    local c = parse "Sw<3,4,3> o 0 o (8,64):(64,1)"
    assert.equal(parse "Sw<3,4,3>", c.layout_a)
    assert.equal(0, c.offset)
    assert.equal(parse "(8,64):(64,1)", c.layout_b)
    assert.equal(parse "(8,64)", c.shape)
    local sw = lutile.Swizzle(2, 4, -3)
    assert.same({ 2, 4, -3 }, { sw.num_bits, sw.num_base, sw.num_shft })
  end)

  it("are refused under other names", function()
    assert.equal("a layout has no field 'shpae'", message_of(function() return l.shpae end))
    assert.equal("an integer has no field 'stride'",
      message_of(function() return dyn(4).stride end))
    assert.equal("a tuple has no field 'stride'", message_of(function() return l.shape.stride end))
  end)

  it("cannot be changed", function()
    assert.equal("a layout is immutable", message_of(function() l.shape = 1 end))
    assert.equal("a tuple is immutable", message_of(function() l.shape[0] = 1 end))
    assert.equal("lutile value", getmetatable(l))
    assert.has_error(function() setmetatable(l, {}) end)
  end)
end)

describe("dynamic integers", function()
  it("have Lua's arithmetic", function()
    for x = -7, 7 do
      for y = -3, 3 do
        assert.equal(x + y, (dyn(x) + y):value())
        assert.equal(x - y, (x - dyn(y)):value())
        assert.equal(x * y, lutile.is_integral(dyn(x) * y) and tonumber(tostring(dyn(x) * y)
          :match "-?%d+"))
        if y ~= 0 then
          assert.equal(x // y, (dyn(x) // y):value())
          assert.equal(x % y, tonumber(tostring(dyn(x) % y):match "-?%d+"))
        end
        assert.equal(x < y, dyn(x) < y)
        assert.equal(x <= y, x <= dyn(y))
      end
    end
    assert.equal(-3, (-dyn(3)):value())
    assert.is_true(dyn(4) == dyn(4))
  end)

  it("carry promises", function()
    assert.equal("?24{8}", tostring(dyn(16, 8) + 8))
    assert.equal("?64{32}", tostring(dyn(16, 8) * 4))
    assert.equal(8, (dyn(16, 8) + 8):promise())
  end)

  it("raise on overflow and on division by zero", function()
    assert.has_error(function() return dyn(math.maxinteger) + 1 end)
    assert.has_error(function() return -dyn(math.mininteger) end)
    assert.has_error(function() return dyn(1) // 0 end)
    assert.has_error(function() return dyn(1) % 0 end)
  end)

  it("make a form that their value does not change", function()
    local function form(n)
      local divided = make_layout { dyn(n), 8 }:zipped_divide { 4, 2 }
      return (lutile.to_cute(divided):gsub("%f[_%d]%d+", "n"))
    end
    assert.equal(form(64), form(128))
  end)
end)

describe("bases and coordinates", function()
  it("scale and add", function()
    assert.equal("4@1@0", tostring(4 * E(0, 1)))
    assert.equal("4@1@0", tostring(E(0, 1) * 4))
    assert.equal(tuple { 1, 2 }, E(0) + 2 * E(1))
    assert.equal(tuple { 4, 6 }, tuple { 1, 2 } + { 3, 4 })
    assert.equal(tuple { 2, 2 }, tuple { 3, 4 } - { 1, 2 })
    assert.equal(tuple { -3, -4 }, -tuple { 3, 4 })
  end)

  it("are what coordinate layouts give", function()
    local l = make_layout({ 4, 8 }, { E(0), E(1) })
    assert.equal(lutile.make_identity_layout { 4, 8 }, l)
    assert.equal(tuple { 3, 5 }, l(3, 5))
  end)
end)

describe("names", function()
  it("are functions and methods, whatever place the layout has", function()
    local l = parse "(4,8):(8,1)"
    assert.equal(lutile.crd2idx({ 1, 2 }, l), l:crd2idx { 1, 2 })
    assert.equal(lutile.idx2crd(9, l), l:idx2crd(9))
    assert.equal(lutile.slice({ 1, _ }, l), l:slice { 1, _ })
    assert.equal(lutile.size(l, 1), l:size(1))
    assert.equal(lutile.local_tile(l, { 2, 2 }, { 1, 1 }), (l:local_tile({ 2, 2 }, { 1, 1 })))
  end)

  it("are put into an environment, never over Lua's own", function()
    local environment = { print = print, size = "mine" }
    assert.equal(lutile, lutile.using(environment))
    assert.equal(lutile.composition, environment.composition)
    assert.equal(lutile._, environment._)
    assert.equal(print, environment.print)
    assert.equal("mine", environment.size)
    assert.is_nil(environment.select)
    assert.is_function(lutile.select)
    local chunk = load("require 'lutile'.using() return composition, select", "=script", "t",
      setmetatable({}, { __index = { require = require, select = select } }))
    local composition, lua_select = chunk()
    assert.equal(lutile.composition, composition)
    assert.equal(select, lua_select)
  end)

  it("ask what a value is", function()
    local l = parse "(4,8):(8,1)"
    assert.is_true(lutile.is_layout(l))
    assert.is_true(lutile.is_layout(parse "Sw<3,4,3> o 0 o 8:1"))
    assert.is_false(lutile.is_layout(l.shape))
    assert.is_true(lutile.is_tuple(l.shape))
    assert.is_false(lutile.is_tuple(4))
    assert.is_true(lutile.is_integral(4))
    assert.is_true(lutile.is_integral(dyn(4)))
    assert.is_false(lutile.is_integral "4")
    assert.is_true(lutile.is_static(l))
    assert.is_true(lutile.is_static { 4, 8 })
    assert.is_false(lutile.is_static { 4, dyn(8) })
    assert.is_true(lutile.is_tensor(l(1, _)))
    assert.is_true(lutile.is_underscore(_))
    assert.has_error(function() return lutile.is_layout() end)
  end)

  it("views of a counting tensor keep its offset", function()
    local t = parse "(8,16):(16,1)" (_, 3)
    assert.equal("3 o ((4),(2)):((16),(64))", tostring(lutile.zipped_divide(t, { 4 })))
    local tile = lutile.local_tile(t, { 4 }, { 1 })
    for i = 0, 3 do assert.equal(t(4 + i), tile(i)) end
  end)
end)

describe("finalizers that use lutile", function()
  it("do not disturb the values of the call that they interrupt", function()
    local wanted = tostring(parse "((4,8),(2,2)):((32,1),(16,8))")
    local calls = 0
    for i = 1, 20000 do
      setmetatable({}, {
        __gc = function()
          calls = calls + #(parse "(7,7,7,7,7):(1,2,3,4,5)" .. make_layout { 7, 7 })
        end,
      })
      local l = parse "((4,8),(2,2)):((32,1),(16,8))"
      if i % 100 == 0 then collectgarbage "step" end
      assert(tostring(l) == wanted)
    end
    collectgarbage()
    assert.equal(40000, calls)
  end)
end)
