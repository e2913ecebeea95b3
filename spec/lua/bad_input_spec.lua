-- Every function and operator with arguments of every kind, most of them wrong: each call returns
-- or raises a message. What would make it crash, hang or leak shows under the sanitizers.

local lutile = require "lutile"
local enumerate = require "spec.support.enumerate"

local parse, dyn, _ = lutile.parse, lutile.dyn, lutile._

-- Functions that write, run code of the script, or take more than algebra's values.
local LEFT_OUT = { print_layout = true, print_latex = true, print_latex_tv = true,
  print_tensor = true, using = true, launch = true, sync = true, ["__syncthreads"] = true }

local cycle = {}
cycle[1] = cycle

local POOL = {
  0, 1, 2, 3, 4, 6, 8, -1, 64, math.maxinteger, math.mininteger, 1 << 61, 8.0, 0.5, 0 / 0, 2 ^ 63,
  true, "x", "", "(4,2):(2,1)", type, io.stdout, coroutine.create(type), {}, { 4, 8 }, { 2, 3 },
  { { 2, 2 }, 4 }, { 4, nil, 8 }, { x = 1 }, cycle, { 4, { 8, "x" } }, { _, 1 }, { 1, _ }, { _, _ },
  { dyn(4), 8 }, { 1, 1, 1 }, { 0, 2 }, { -4, 8 }, setmetatable({ 4 }, { __index = error }), _,
  dyn(4), dyn(8, 8), dyn(-3), lutile.LayoutLeft, lutile.LayoutRight, lutile.E(0), 4 * lutile.E(1),
  lutile.Swizzle(3, 4, 3), lutile.Swizzle(1, 0, -2), parse "(4,8):(8,1)", parse "8:1", parse "8:-1",
  parse "(2,(2,3)):(3,(6,1))", parse "(2,2):(1,2)", parse "():()", parse "(0,4):(1,2)",
  parse "(4,1):(0,7)", parse "(?4,8):(?8,1)", parse "(?4{2},?8):(1,?4)", parse "(4,8):(1@0,1@1)",
  parse "Sw<3,4,3> o 0 o (8,64):(64,1)", parse "Sw<2,3,3> o 8 o (8,64):(64,1)",
  parse "Sw<3,4,3> o smem[16b] o (8,64):(64,1)", parse "5 o (2,2):(4,16)",
  parse "(1,2) o (4,8):(1@0,1@1)", parse "(4611686018427387904):(1)", parse "2:4611686018427387904",
}

local OPERATORS = {
  function(a, b) return a .. b end,
  function(a, b) return a / b end,
  function(a, b) return a // b end,
  function(a, b) return a * b end,
  function(a, b) return a + b end,
  function(a, b) return a - b end,
  function(a, b) return a % b end,
  function(a, b) return a < b end,
  function(a, b) return a == b end,
  function(a, b) return a(b) end,
  function(a, b) return a[b] end,
  function(a, b) return a(b, b) end,
  function(a) return -a end,
  function(a) return ~a end,
  function(a) return #a end,
  function(a) return tostring(a) end,
  function(a) for i, mode in pairs(a) do assert(i and mode) end end,
}

local function sorted_functions()
  local names = {}
  for name, value in pairs(lutile) do
    if type(value) == "function" and not LEFT_OUT[name] then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- What a call gives is a value that can be written, or a message.
local function check(name, succeeded, ...)
  if not succeeded then
    local message = ...
    assert(type(message) == "string", name .. " raised a " .. type(message))
    return
  end
  for i = 1, select("#", ...) do assert(tostring((select(i, ...)))) end
end

describe("bad input", function()
  local random = enumerate.random(11)

  local function is_value(x)
    return type(x) == "userdata" and getmetatable(x) == "lutile value"
  end

  local function any() return POOL[random(1, #POOL)] end

  it("to functions is refused in words", function()
    local names = sorted_functions()
    for _ = 1, 300 do
      for _, name in ipairs(names) do
        local args = {}
        for i = 1, random(0, 4) do args[i] = any() end
        check(name, pcall(lutile[name], table.unpack(args)))
      end
    end
  end)

  it("to methods is refused in words", function()
    local names = sorted_functions()
    for _ = 1, 100 do
      for _, name in ipairs(names) do
        local self = any()
        if is_value(self) then
          check(name, pcall(function(...) return self[name](self, ...) end, any(), any()))
        end
      end
    end
  end)

  it("to operators is refused in words", function()
    for i, operator in ipairs(OPERATORS) do
      for _, a in ipairs(POOL) do
        for _, b in ipairs(POOL) do
          if is_value(a) or is_value(b) then check("operator " .. i, pcall(operator, a, b)) end
        end
      end
    end
  end)
end)
