-- Element types: every pattern of the narrow ones, and rounding between neighbours.

local lutile = require "lutile"

-- exponent bits, mantissa bits, bias; what stands at the upper end
local FORMATS = {
  f16 = { 5, 10, 15, top = "ieee" },
  bf16 = { 8, 7, 127, top = "ieee" },
  e4m3 = { 4, 3, 7, top = "nan" },
  e5m2 = { 5, 2, 15, top = "ieee", saturates = true },
  e3m2 = { 3, 2, 3, top = "finite" },
  e2m3 = { 2, 3, 1, top = "finite" },
  e2m1 = { 2, 1, 1, top = "finite" },
  ue4m3 = { 4, 3, 7, top = "nan", unsigned = true },
  e4m3fnuz = { 4, 3, 8, top = "fnuz" },
  e5m2fnuz = { 5, 2, 16, top = "fnuz" },
}

local function bits_of(format) return format[1] + format[2] + (format.unsigned and 0 or 1) end

-- The number that a pattern stands for, by the definition of the format.
local function value_of(format, pattern)
  local exponent_bits, mantissa_bits, bias = format[1], format[2], format[3]
  local mantissa = pattern & ((1 << mantissa_bits) - 1)
  local exponent = (pattern >> mantissa_bits) & ((1 << exponent_bits) - 1)
  local negative = (pattern >> (exponent_bits + mantissa_bits)) & 1 == 1
  local all_ones = exponent == (1 << exponent_bits) - 1
  local x
  if format.top == "ieee" and all_ones then
    x = mantissa == 0 and math.huge or 0 / 0
  elseif format.top == "nan" and all_ones and mantissa == (1 << mantissa_bits) - 1 then
    x = 0 / 0
  elseif format.top == "fnuz" and negative and exponent == 0 and mantissa == 0 then
    x = 0 / 0
  elseif exponent == 0 then
    x = mantissa * 2.0 ^ (1 - bias - mantissa_bits)
  else
    x = ((1 << mantissa_bits) + mantissa) * 2.0 ^ (exponent - bias - mantissa_bits)
  end
  return negative and -x or x
end

-- A tensor of all patterns of a type that has 8 or 16 bits in memory.
local function all_patterns(dtype, memory_bits)
  local parts = {}
  for pattern = 0, (1 << memory_bits) - 1 do
    parts[#parts + 1] = string.pack("<I" .. memory_bits // 8, pattern)
  end
  local data = lutile.make_gmem_ptr(dtype, table.concat(parts))
  return lutile.make_tensor(data, 1 << memory_bits)
end

local function is_nan(x) return x ~= x end

-- Equal, and of the same sign where 0.
local function same(x, y)
  return is_nan(x) and is_nan(y) or x == y and (x ~= 0 or 1 / x == 1 / y)
end

local function store(dtype, x)
  local t = lutile.make_tensor(dtype, 1)
  t[0] = x
  return t(0)
end

-- Finite numbers of a format that are not negative, in order.
local function finite_values(format)
  local values = {}
  for pattern = 0, (1 << (format[1] + format[2])) - 1 do
    local x = value_of(format, pattern)
    if not is_nan(x) and x ~= math.huge then values[#values + 1] = x end
  end
  return values
end

local function is_even(values, i) return (i - 1) % 2 == 0 and values[i] ~= nil end

describe("element type", function()
  for _, dtype in ipairs { "f16", "bf16", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz" } do
    local format = FORMATS[dtype]
    it(dtype .. " reads every pattern as its number", function()
      local t = all_patterns(dtype, bits_of(format))
      for pattern = 0, lutile.size(t) - 1 do
        local want = value_of(format, pattern)
        local message = ("%s 0x%x: %s, not %s"):format(dtype, pattern, t(pattern), want)
        assert(same(t(pattern), want), message)
      end
    end)
  end

  for dtype, format in pairs(FORMATS) do
    local values = finite_values(format)

    it(dtype .. " keeps its own numbers, subnormal ones too", function()
      for _, x in ipairs(values) do
        assert(same(store(dtype, x), x))
        local has_negative = not format.unsigned and (x ~= 0 or format.top ~= "fnuz")
        if has_negative then assert(same(store(dtype, -x), -x)) end
      end
    end)

    it(dtype .. " rounds to the nearest, ties to even", function()
      for i = 1, #values - 1 do
        local low, high = values[i], values[i + 1]
        local middle = low + (high - low) / 2
        local tie = is_even(values, i) and low or high
        assert.equal(tie, store(dtype, middle))
        assert.equal(low, store(dtype, low + (middle - low) * 0.999))
        assert.equal(high, store(dtype, middle + (high - middle) * 0.001))
      end
    end)

    it(dtype .. " goes beyond its largest number as the hardware does", function()
      local largest = values[#values]
      local step = largest - values[#values - 1]
      local beyond = (format.top == "ieee" and not format.saturates) and math.huge or largest
      assert.equal(largest, store(dtype, largest + step * 0.49))
      assert.equal(beyond, store(dtype, largest + step))
      assert.equal(beyond, store(dtype, math.huge))
      assert.equal(format.unsigned and 0 or -beyond, store(dtype, -math.huge))
    end)

    it(dtype .. " takes NaN as NaN, or as its largest number where it has none", function()
      local x = store(dtype, 0 / 0)
      if format.top == "finite" then
        assert.equal(values[#values], x)
      else
        assert(is_nan(x))
      end
    end)
  end

  it("ue8m0 holds powers of two and rounds up to one", function()
    local t = all_patterns("ue8m0", 8)
    for pattern = 0, 254 do
      local x = 2.0 ^ (pattern - 127)
      assert.equal(x, t(pattern))
      assert.equal(x, store("ue8m0", x))
      assert.equal(x, store("ue8m0", x * 0.75))
    end
    assert(is_nan(t(255)))
    assert.equal(2.0 ^ 127, store("ue8m0", 1e300))
    assert.equal(2.0 ^ -127, store("ue8m0", 0))
  end)

  it("tf32 has ten bits of mantissa in an f32's place", function()
    assert.equal(1 + 2.0 ^ -10, store("tf32", 1 + 2.0 ^ -10))
    assert.equal(1.0, store("tf32", 1 + 2.0 ^ -11))
    assert.equal(1 + 2.0 ^ -9, store("tf32", 1 + 3 * 2.0 ^ -11))
    assert.equal(2.0 ^ -136, store("tf32", 2.0 ^ -136)) -- subnormal
    local t = lutile.make_tensor("tf32", 1)
    t[0] = 1.5
    assert.equal(1.5, lutile.recast(t, "f32")(0))
  end)

  it("f32 rounds as the machine does", function()
    math.randomseed(7)
    for _ = 1, 2000 do
      local x = (math.random() - 0.5) * 2.0 ^ math.random(-160, 130)
      assert.equal(string.unpack("<f", string.pack("<f", x)), store("f32", x))
    end
  end)

  for dtype, range in pairs {
    s32 = { -2147483648, 2147483647 }, s16 = { -32768, 32767 }, s8 = { -128, 127 },
    u8 = { 0, 255 }, s4 = { -8, 7 }, u4 = { 0, 15 }, b1 = { 0, 1 },
  } do
    it(dtype .. " rounds to even and saturates", function()
      local least, largest = range[1], range[2]
      assert.equal(least, store(dtype, least))
      assert.equal(largest, store(dtype, largest))
      assert.equal("integer", math.type(store(dtype, largest)))
      assert.equal(largest, store(dtype, largest + 1))
      assert.equal(least, store(dtype, least - 1))
      assert.equal(largest, store(dtype, math.huge))
      assert.equal(0, store(dtype, 0 / 0))
      assert.equal(0, store(dtype, 0.5))
      assert.equal(1, store(dtype, 0.51))
      if largest > 1 then
        assert.equal(2, store(dtype, 1.5))
        assert.equal(2, store(dtype, 2.5))
      end
    end)
  end

  for dtype, bits in pairs { s4 = 4, u4 = 4, e2m1 = 4, e3m2 = 6, e2m3 = 6, b1 = 1 } do
    it(dtype .. " is packed: elements do not touch their neighbours", function()
      local n = 48
      local t = lutile.make_tensor(dtype, n)
      assert.equal(n * bits // 8, #t.data:bytes())
      for i = 0, n - 1 do t[i] = i % 2 end
      for i = 0, n - 1, 3 do t[i] = 1 end
      for i = 0, n - 1 do assert.equal((i % 3 == 0) and 1 or i % 2, math.tointeger(t(i))) end
    end)
  end

  it("c64 has two parts", function()
    local t = lutile.make_tensor("c64", 2)
    t[1] = { 1.5, -2 }
    assert.same({ 1.5, -2.0 }, { t(1) })
    assert.same({ 0.0, 0.0 }, { t(0) })
  end)

  it("that does not exist is refused by name", function()
    assert.error_matches(function() lutile.make_tensor("f24", 4) end,
      "make_tensor: no element type 'f24' %(there are f64 f32 tf32 f16 bf16 e4m3")
  end)
end)
