-- What is said where an operation has no result: the operands, the mode, the numbers, the rule, and
-- what would work.

local lutile = require "lutile"

local P, _ = lutile.parse, lutile._

local function message_of(name, ...)
  local accepted, message = pcall(lutile[name], ...)
  assert.is_false(accepted, name .. " is accepted")
  return message
end

describe("an error", function()
  for _, case in ipairs {
    { "composition", P "(4,6,8):(2,3,5)", P "6:3",
      "stride 3 does not divide mode 0 (4:2) of (4,6,8):(2,3,5) o 6:3; "
      .. "the nearest that would: 2 and 4" },
    { "composition", P "(4,6):(1,9)", P "3:2",
      "shape 3 does not divide mode 0 (4:1) of (4,6):(1,9) o 3:2; "
      .. "the nearest that would: 2 and 4" },
    { "composition", P "(60,9):(1,99)", P "14:7",
      "stride 7 does not divide mode 0 (60:1) of (60,9):(1,99) o 14:7; "
      .. "the nearest that would: 6 and 10" },
    { "composition", P "(4,2):(1,8)", P "(3,2):(1,2)",
      "the modes of (3,2):(1,2) reach index 4 together in mode 0 (4:1) of (4,2):(1,8); "
      .. "they must stay below 4" },
    { "composition", P "(4,8):(1,5)", P "(2,2):(1,-4)",
      "no layout is known to equal (4,8):(1,5) o (2,2):(1,-4), whose strides have both signs; "
      .. "with strides of one sign the modes can be composed one by one" },
    { "composition", P "(4,8):(1,5)", { 1, 2, 3 },
      "tiler (1,2,3) has 3 modes, more than the 2 of (4,8):(1,5)" },
    { "composition", P "(4,8):(1,5)", lutile.make_layout(1, math.mininteger),
      "integer overflow in 0 - -9223372036854775808 (integers have 64 bits)", bare = true },
    { "composition", P "4:1", P "4:1@1", "4:1 has no mode 1, which 1@1 names" },
    { "composition", P "Sw<2,3,3>", P "Sw<2,2,3>",
      "Sw<2,3,3> o Sw<2,2,3> is no swizzle (both need one shift, and bits that are neighbours)" },
    { "complement", P "(4,4):(1,2)", 16,
      "(4,4):(1,2) is not one to one: stride 2 lies within the 4 covered before it; "
      .. "a stride from 4 on would not" },
    { "complement", P "(4,?4):(?1,?2)", 16,
      "(4,?4):(?1,?2) has a dynamic stride and more than one mode; with several, all strides must "
      .. "be static" },
    { "complement", P "4:-1", 16,
      "stride -1 of 4:-1 is not positive, so the layout is not one to one and ordered" },
    { "left_inverse", P "(4,2000):(3,5)",
      "(4,2000):(3,5) has none by its strides: stride 5 is no multiple of stride 3; "
      .. "the nearest that are: 3 and 6" },
    { "left_inverse", P "4:-2", "4:-2 has the negative stride -2" },
    { "right_inverse", P "4:1@0", "4:1@0 has scaled bases as strides" },
    { "right_inverse", P "Sw<2,3,3> o 1 o (8,64):(64,1)",
      "Sw<2,3,3> o 1 o (8,64):(64,1): the inverses of its parts are none of the whole "
      .. "(with an offset of static 0 a swizzle has one)" },
    { "logical_divide", P "(9,8):(1,9)", { 1, 2, 3 },
      "tiler (1,2,3) has 3 modes, more than the 2 of (9,8):(1,9)" },
    { "tile_to_shape", P "(4,8):(8,1)", { 10, 16 },
      "mode 0 of block (4,8):(8,1), 4, does not divide 10 of the shape (10,16); "
      .. "the nearest sizes that it would: 8 and 12" },
    { "tile_to_shape", P "(4,8):(8,1)", 10,
      "block (4,8):(8,1) has 2 modes, more than the 1 of 10" },
    { "shape_div", 6, 4, "neither of 6 and 4 divides the other; "
      .. "the nearest divisors that would: 3 and 6" },
    { "shape_div", { 6, 4 }, { 4, 4, 2 }, "(6,4) of rank 2 by (4,4,2) of rank 3" },
    { "ceil_div", 4, 0, "4 divided by 0, which is not positive" },
    { "upcast", P "(4,8):(3,1)", 4, "stride 3 of (4,8):(3,1) by 4: a static stride must be a "
      .. "multiple or a divisor; the nearest that would do: 2 and 4" },
    { "upcast", P "(4,8):(?7,1)", 4, "stride ?7 of (4,8):(?7,1) by 4: a dynamic stride must be a "
      .. "multiple; the nearest that would do: 4 and 8" },
    { "downcast", P "(4,8):(3,2)", 4, "(4,8):(3,2) by 4: no mode has a static stride of 1, so that "
      .. "elements do not lie side by side" },
    { "recast", P "Sw<3,4,3>", 8, 6,
      "Sw<3,4,3> from 8 to 6 bits: a swizzle scales by powers of two only" },
    { "crd2idx", { 1, 2, 3 }, P "(4,8):(8,1)",
      "coordinate (1,2,3) has rank 3, but shape (4,8) has rank 2" },
    { "slice", { 1, _ }, P "(4,8,2):(8,1,32)",
      "coordinate (1,_) does not fit (4,8,2): their ranks differ" },
    { "get", P "(4,8):(8,1)", 2, "there is no mode 2 in (4,8):(8,1), whose rank is 2" },
    { "take", P "(4,8):(8,1)", 1, 5, "modes 1 to 5 are no range of (4,8):(8,1), whose rank is 2" },
    { "unflatten", P "(4,8):(8,1)", { 1, 2, 3 },
      "(4,8):(8,1) has 2 modes, the profile (1,2,3) has 3" },
    { "make_layout", { 4, 8 }, { 1, { 2, 3 } },
      "stride (1,(2,3)) is not congruent with shape (4,8)" },
    { "make_layout", { 1 << 40, 1 << 40 },
      "shape (1099511627776,1099511627776) is larger than 2^62" },
    { "make_layout", { 4, 4 }, { 1 << 62, 1 << 62 }, "offsets of "
      .. "(4,4):(4611686018427387904,4611686018427387904) go beyond 64 bits" },
    { "dyn", 10, 4, "10 is not a multiple of the promised 4" },
    { "is_surjective", P "4:1", -1, "-1 is no count of offsets" },
  } do
    local count = #case
    local name, expected = case[1], case[count]
    it(("of %s: %s"):format(name, expected), function()
      local message = message_of(name, table.unpack(case, 2, count - 1))
      assert.equal((case.bare and "" or name .. ": ") .. expected, message)
    end)
  end

  it("of a product or divide tells what of the complement failed", function()
    assert.equal("complement: (4,4):(1,2) is not one to one: stride 2 lies within the 4 covered "
      .. "before it; a stride from 4 on would not",
      message_of("logical_product", P "(4,4):(1,2)", P "4:2"))
  end)
end)

describe("the sizes that an error names", function()
  -- "stride 3 ...; the nearest that would: 2 and 4"
  local function tried(a, size, stride)
    local accepted, message = pcall(lutile.composition, a, lutile.make_layout(size, stride))
    local below, above = tostring(message):match "nearest that would: (%d+) and (%d+)$"
    if accepted or not below then return end
    return tonumber(below), tonumber(above), message:match ": (%a+) %d+ does not divide"
  end

  it("pass the test that failed", function()
    local count = 0
    for n = 2, 30 do
      local a = lutile.make_layout({ n, 7 }, { 1, 1000 })
      for size = 2, 12 do
        for stride = 2, 40 do
          local below, above, what = tried(a, size, stride)
          if below then
            count = count + 1
            for _, number in ipairs { below, above } do
              local stride_now = what == "stride" and number or stride
              local size_now = what == "shape" and number or size
              local _, _, again = tried(a, size_now, stride_now)
              assert.is_true(again ~= what, ("%d:%d in %d"):format(size_now, stride_now, n))
            end
          end
        end
      end
    end
    assert.is_true(count > 1000)
  end)
end)
