local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"

local parse, size = lutile.parse, lutile.size

-- What the questions ask, found by evaluation alone.
local function examine(l)
  local seen, list, repeats = {}, {}, false
  for i = 0, size(l.shape) - 1 do
    local offset = l(i)
    repeats = repeats or seen[offset] ~= nil
    if not seen[offset] then list[#list + 1] = offset end
    seen[offset] = true
  end
  table.sort(list)
  return list, seen, repeats
end

local function covers(seen, n)
  for k = 0, n - 1 do
    if not seen[k] then return false end
  end
  return true
end

local function expect(what, l, expected, actual)
  if expected ~= actual then error(("%s of %s: %s"):format(what, l, actual), 0) end
end

local function check(l)
  local list, seen, repeats = examine(l)
  expect("is_injective", l, not repeats, l:is_injective())
  expect("is_bijective", l, not repeats and covers(seen, size(l.shape)), l:is_bijective())
  for n = 0, 20, 4 do expect("is_surjective", l, covers(seen, n), l:is_surjective(n)) end
  local span = #list == 0 and 0 or list[#list] - list[1] + 1
  expect("is_contiguous", l, span == #list, l:is_contiguous())
  local image = l:image()
  expect("number of offsets", l, #list, #image)
  for i, offset in ipairs(list) do expect("image", l, offset, image[i]) end
  local ordered, r = pcall(lutile.image_layout, l)
  if not ordered then return end
  expect("size of the image", l, #list, size(r.shape))
  for i, offset in ipairs(list) do expect("image_layout", l, offset, r(i - 1)) end
end

local function same_function(a, b)
  if size(a.shape) ~= size(b.shape) then return false end
  for i = 0, size(a.shape) - 1 do
    if a(i) ~= b(i) then return false end
  end
  return true
end

describe("a layout as a function", function()
  it("is what it is by evaluation, for all small layouts", function()
    for rank = 0, 2 do
      enumerate.each_layout(rank, { 1, 2, 3, 4 }, { -3, -1, 0, 1, 2, 3, 4, 6 }, check)
    end
    enumerate.each_layout(3, { 1, 2, 3 }, { -2, 0, 1, 2, 3, 6 }, check)
  end)

  it("is what it is by evaluation, for random, swizzled and composed ones", function()
    local random = enumerate.random(3)
    for _ = 1, 300 do
      local l = enumerate.random_layout(random)
      if size(l) < 1000 then
        check(l)
        check(lutile.make_counting_tensor(l, random(-5, 5)))
        local swizzle = lutile.Swizzle(random(0, 3), random(0, 3), random(0, 1) * 8 - 4)
        check(lutile.make_composed_layout(swizzle, random(0, 40), l))
        check(lutile.make_composed_layout(enumerate.random_layout(random), random(0, 5), l))
      end
    end
  end)

  it("is decided by the modes, whatever the size", function()
    local big = parse "(1073741824,1073741824):(1073741824,1)"
    assert.is_true(big:is_bijective())
    assert.is_true(big:is_contiguous())
    assert.equal(parse "1152921504606846976:1", big:image_layout())
    assert.is_false(parse "(1073741824,1073741824):(1073741823,1)":is_injective())
    assert.is_false(parse "(1073741824,1073741824):(1073741825,1)":is_surjective())
    local swizzled = lutile.make_composed_layout(lutile.Swizzle(3, 4, 3), 0, big)
    assert.is_true(swizzled:is_bijective())
    assert.is_true(swizzled:is_contiguous())
  end)

  it("has the image of its overlaps", function()
    assert.equal(parse "10:1", parse "(4,4):(1,2)":image_layout())
    assert.equal(parse "-6 o 4:2", parse "4:-2":image_layout())
    assert.has_error(function() parse "(3,2):(2,3)":image_layout() end,
      "image_layout: no layout has the offsets of (3,2):(2,3), each once and in ascending order")
  end)

  it("of dynamic integers has an image in numbers, and no layout of it", function()
    assert.same({ 0, 2, 4, 6 }, parse "?4:2":image())
    assert.has_error(function() parse "?4:2":image_layout() end, "image_layout: ?4:2 has "
      .. "dynamic integers, and the modes of its image would depend on their "
      .. "values; image lists its offsets")
  end)

  it("without elements is onto nothing, and one to one", function()
    local empty = parse "(0,4):(1,2)"
    assert.is_true(empty:is_bijective())
    assert.is_true(empty:is_contiguous())
    assert.same({}, empty:image())
    assert.equal(parse "0:1", empty:image_layout())
  end)

  it("may map to coordinates, where one to one is all that can be asked", function()
    local identity = lutile.make_identity_layout { 4, { 2, 3 } }
    assert.is_true(identity:is_injective())
    assert.is_false(parse "(4,2):(1@0,2@0)":is_injective())
    assert.has_error(function() identity:is_surjective() end, "is_surjective: "
      .. "(4,(2,3)):(1@0,(1@0@1,1@1@1)) maps to coordinates as (0,(0,0)), not to offsets")
  end)

  it("is undecided beyond what modes tell and evaluation reaches", function()
    local l = lutile.make_composed_layout(parse "(1099511627776,2):(3,1)", 1,
      parse "(1073741824,4):(2,1)")
    assert.error_matches(function() l:is_contiguous() end,
      "^is_contiguous: the modes of .* do not decide this, and its 4294967296 offsets are too many")
  end)
end)

describe("equivalent", function()
  it("compares functions, not shapes or flags", function()
    assert.is_true(lutile.equivalent({ 4, 2 }, 8))
    assert.is_true(parse "(?2,(2,1)):(1,(?2,9))":equivalent(parse "4:1"))
    assert.is_false(parse "(2,2):(1,3)":equivalent(parse "4:1"))
    assert.is_false(parse "4:1":equivalent(parse "8:1"))
    assert.is_true(parse "(4,8):(1@0,1@1)":equivalent(parse "((2,2),8):((1@0,2@0),1@1)"))
    assert.is_false(parse "(4,8):(1@0,1@1)":equivalent(parse "(8,4):(1@0,1@1)"))
    assert.is_false(parse "4:0@1":equivalent(parse "4:0"))
  end)

  it("looks through swizzles and outer layouts", function()
    assert.is_true(parse "Sw<3,4,3> o 0 o (10,2):(2,1)":equivalent(parse "(10,2):(2,1)"))
    assert.is_true(parse "Sw<1,0,1> o 0 o 4:1":equivalent(parse "Sw<1,0,1> o 0 o (2,2):(1,2)"))
    assert.is_true(parse "(4,8):(8,1) o 0 o 8:4":equivalent(parse "8:1"))
    assert.is_true(parse "Sw<3,4,3> o smem[16b] o (64,64):(64,1)"
      :equivalent(parse "Sw<3,3,3> o 0 o (64,64):(64,1)"))
    assert.is_false(parse "Sw<3,3,3> o 0 o (64,64):(64,1)"
      :equivalent(parse "Sw<2,3,3> o 0 o (64,64):(64,1)"))
    assert.is_true(parse "3 o 4:1":equivalent(parse "4:1 o 3 o 4:1"))
  end)

  it("is quick on large layouts", function()
    local a = parse "Sw<3,4,3> o 0 o (1073741824,(1024,1024)):(1048576,(1,1024))"
    local b = parse "Sw<3,4,3> o 0 o ((32768,32768),1048576):((1048576,34359738368),1)"
    assert.is_true(a:equivalent(b))
    assert.is_false(a:equivalent(parse "Sw<3,4,3> o 0 o (1048576,1073741824):(1,1048576)"))
    assert.is_false(a:equivalent(8))
  end)

  it("is equality of all values", function()
    enumerate.each_pair(function(a, b)
      expect("equivalent", a, same_function(a, b), a:equivalent(b))
    end)
    local random = enumerate.random(4)
    for _ = 1, 500 do
      local a, b = enumerate.random_layout(random), enumerate.random_layout(random)
      if size(a) < 500 then
        expect("equivalent", a, same_function(a, b), a:equivalent(b))
        local s = lutile.Swizzle(1, 0, random(1, 4))
        local c = lutile.make_composed_layout(s, random(0, 3), a)
        expect("equivalent", c, same_function(a, c), a:equivalent(c))
        assert.is_true(c:equivalent(c:coalesce()))
      end
    end
  end)
end)
