local lutile = require "lutile"

local parse, tuple, dyn = lutile.parse, lutile.tuple, lutile.dyn

describe("modes", function()
  local l = parse "(4,(2,8),3):(1,(4,8),64)"

  it("are selected, taken and grouped", function()
    assert.equal(parse "(3,4):(64,1)", l:select { 2, 0 })
    assert.equal(parse "((2,8),3):((4,8),64)", l:take(1, 3))
    assert.equal(parse "((4,(2,8)),3):((1,(4,8)),64)", l:group(0, 2))
    assert.equal(parse "(4,((2,8),3)):(1,((4,8),64))", l:group(1, -1))
  end)

  it("are added and replaced", function()
    assert.equal(parse "(4,(2,8),3,1):(1,(4,8),64,0)", l:append())
    assert.equal(parse "(5,4,(2,8),3):(7,1,(4,8),64)", l:prepend(parse "5:7"))
    assert.equal(parse "(4,5,3):(1,7,64)", l:replace(1, parse "5:7"))
    assert.equal(tuple { 1, 9, 2 }, lutile.insert({ 1, 2 }, 1, 9))
    assert.equal(tuple { 1 }, lutile.remove({ 1, 2 }, 1))
    assert.equal(tuple { 2, 1 }, lutile.reverse { 1, 2 })
    assert.equal(6, lutile.rank(l:append_to(6)))
    assert.equal(6, lutile.rank(l:prepend_to(6)))
  end)

  it("that a number or table adds to a layout are compact", function()
    assert.equal(parse "(4,(2,2)):(1,(1,2))", lutile.append(parse "(4):(1)", { 2, 2 }))
    assert.equal(tuple { 4, { 2, 2 } }, lutile.append({ 4 }, { 2, 2 }))
  end)

  it("are flattened and folded back", function()
    local flat = l:flatten()
    assert.equal(parse "(4,2,8,3):(1,4,8,64)", flat)
    assert.equal(l, flat:unflatten { 1, { 1, 1 }, 1 })
  end)

  it("are refused where there are none", function()
    for _, f in ipairs {
      function() return l:select { 3 } end,
      function() return l:select { -1 } end,
      function() return l:take(1, 4) end,
      function() return l:take(2, 1) end,
      function() return l:group(2, 4) end,
      function() return l:replace(3, parse "1:0") end,
      function() return l:append_to(2) end,
    } do
      assert.has_error(f)
    end
  end)
end)

describe("arithmetic of tuples", function()
  it("goes by element", function()
    assert.equal(tuple { 2, 3 }, lutile.shape_div({ 4, 6 }, { 2, 2 }))
    assert.equal(tuple { 2, 3 }, lutile.ceil_div({ 4, 6 }, { 3, 2 }))
    assert.equal(tuple { 6, 6 }, lutile.round_up({ 4, 6 }, { 3, 2 }))
    assert.equal(tuple { 4, 18 }, lutile.elem_scale({ 2, 6 }, { 2, 3 }))
    assert.equal(22, lutile.inner_product({ 2, 6 }, { 2, 3 }))
    assert.equal(24, lutile.product { 2, { 3, 4 } })
    assert.equal(tuple { 2, 12 }, lutile.product_each { 2, { 3, 4 } })
    assert.equal(9, lutile.sum { 2, { 3, 4 } })
    assert.equal(4, lutile.max(2, { 3, 4 }))
    assert.equal(2, lutile.min(2, { 3, 4 }))
    assert.equal(6, lutile.gcd(12, { 18, 24 }))
    assert.equal(6, lutile.gcd(-6))
    assert.equal(2, lutile.gcd(math.mininteger, 6))
    assert.has_error(function() lutile.gcd(math.mininteger, 0) end,
      "gcd: the divisor is 2^63 (integers have 64 bits)")
  end)

  it("keeps flags", function()
    assert.equal("(?2,3)", tostring(lutile.ceil_div({ dyn(4), 6 }, { 2, 2 })))
    assert.equal("?24", tostring(lutile.product { 2, { dyn(3), 4 } }):match "%?24")
  end)

  it("refuses division by zero", function()
    assert.has_error(function() return lutile.shape_div(4, 0) end)
    assert.has_error(function() return lutile.ceil_div({ 4, 4 }, { 2, 0 }) end)
    assert.has_error(function() return lutile.round_up(4, 0) end)
  end)
end)

describe("relations", function()
  it("compare nesting and sizes", function()
    assert.is_true(lutile.congruent({ 4, { 2, 8 } }, { 1, { 1, 1 } }))
    assert.is_false(lutile.congruent({ 4, 16 }, { 1, { 1, 1 } }))
    assert.is_true(lutile.congruent({ 4, 8 }, lutile.make_identity_layout { 4, 8 }.stride))
    assert.is_true(lutile.weakly_congruent({ 4, 16 }, { 1, { 1, 1 } }))
    assert.is_true(lutile.compatible({ 4, 16 }, { 4, { 2, 8 } }))
    assert.is_true(lutile.compatible(64, { 4, { 2, 8 } }))
    assert.is_false(lutile.compatible({ 4, { 2, 8 } }, 64))
    assert.is_true(lutile.evenly_divides({ 4, 16 }, { 2, 8 }))
    assert.is_false(lutile.evenly_divides({ 4, 16 }, { 3, 8 }))
  end)

  it("order coordinates", function()
    assert.is_true(lutile.lex_less({ 1, 5 }, { 2, 0 }))
    assert.is_true(lutile.colex_less({ 2, 0 }, { 1, 5 }))
    assert.is_true(lutile.elem_less({ 1, { 2, 3 } }, { 2, { 3, 4 } }))
    assert.is_false(lutile.elem_less({ 1, { 2, 4 } }, { 2, { 3, 4 } }))
  end)
end)

describe("vectors", function()
  it("count what is contiguous in both layouts", function()
    assert.equal(6, lutile.max_common_vector(parse "(2,3):(1,2)", parse "(2,3):(1,2)"))
    assert.equal(2, lutile.max_common_vector(parse "(2,3):(1,2)", parse "(2,3):(1,4)"))
    assert.equal(1, lutile.max_common_vector(parse "(2,3):(1,2)", parse "(2,3):(3,1)"))
  end)
end)
