-- Layouts written as CUDA C++ give what lutile's own evaluation gives, at every coordinate. The
-- check is made by a compiler: assertions on constants, in NVRTC and in g++.

local lutile = require "lutile"
local support = require "spec.support.cuda"
local command = require "spec.support.command"

local cuda_driver = require "lutile.cuda.driver"

local cases = {
  { "8:1", why = "one mode" },
  { "1:0", why = "one element" },
  { "(4,8):(8,1)", why = "row-major" },
  { "(4,(2,3)):(0,(5,7))", why = "a broadcast mode, and strides that do not run on" },
  { "((2,4),8):((1,16),2)", why = "nested" },
  { "(2,(3,(4,5))):(60,(20,(5,1)))", why = "nested twice" },
  { "((2,2),(2,2)):((1,4),(2,8))", why = "modes that run on across levels" },
  { "(1,5,1):(3,2,9)", why = "modes of one element" },
  { "(4,6):(-1,4)", why = "a negative stride" },
  { "(2,3):(3000000000,1)", why = "offsets beyond 32 bits" },
  { "(?4{2},8):(1,?4)", why = "dynamic extents and strides" },
  { "(?3,(?4,2)):(?8,(2,?100))", why = "dynamic within a nested mode" },
  { "(?7):(?3)", why = "a single dynamic mode" },
  { "(?0,6):(1,?4)", why = "a dynamic extent of 0" },
  { "(?3,0):(?1,?4)", why = "a static extent of 0" },
  { "Sw<3,3,3> o 0 o (8,64):(64,1)", why = "a swizzle" },
  { "Sw<2,0,-3> o 5 o (8,8):(1,8)", why = "a swizzle to the left, with an offset" },
  { "Sw<3,4,3> o smem[16b] o (8,64):(64,1)", why = "the shared memory form" },
  { "Sw<3,3,3> o ?24 o (?8,(8,4)):(8,(1,64))", why = "a swizzle with a dynamic offset" },
  { "5 o (2,2):(4,16)", why = "a counting tensor" },
  { "?5 o (?2,2):(4,?16)", why = "a counting tensor, dynamic" },
  { "(4,8):(1@0,1@1)", why = "coordinates" },
  { "((4,2),8):((1@0,4@0),2@1@1)", why = "nested coordinates" },
  { "(?4,?8):(1@1,?1@0)", why = "coordinates with dynamic coefficients" },
  { "(3,?4) o (4,8):(1@0,1@1)", why = "coordinates from an offset on" },
}

-- A coordinate or an offset in C++.
local function literal(x)
  if math.type(x) then return ("%dLL"):format(x) end
  if lutile.is_integral(x) then return ("%dLL"):format(x:value()) end
  local parts = {}
  for i, part in pairs(x) do parts[i + 1] = literal(part) end
  return "lutile::make_coord(" .. table.concat(parts, ", ") .. ")"
end

local function arguments(x)
  if math.type(x) then return literal(x) end
  local parts = {}
  for i, part in pairs(x) do parts[i + 1] = literal(part) end
  return table.concat(parts, ", ")
end

-- Index within each mode of the shape.
local function partial(i, shape)
  if math.type(shape) or lutile.is_integral(shape) then return nil end
  local parts = {}
  for mode = 0, lutile.rank(shape) - 1 do
    local n = lutile.size(shape, mode)
    parts[#parts + 1] = mode < lutile.rank(shape) - 1 and i % n or i
    i = i // n
  end
  return #parts > 1 and lutile.tuple(parts) or nil
end

local EQUALITY = [[
namespace check {
LUTILE_FN bool same(long long x, long long y) { return x == y; }
LUTILE_FN bool same(lutile::coord<> const &, lutile::coord<> const &) { return true; }
template <class... T, class... U>
LUTILE_FN bool same(lutile::coord<T...> const &x, lutile::coord<U...> const &y) {
  return same(x.first, y.first) && same(x.rest, y.rest);
}
}
]]

-- A type 'name' in namespace layout, an object of it and assertions on all coordinates, the size,
-- the shape, and the cosize where offsets are integers.
local function checks(layout, name)
  local values = {}
  for value in tostring(cuda_driver.emitted_form(layout)):gmatch "%?(%-?%d+)" do
    values[#values + 1] = value .. "LL"
  end
  local lines = { "namespace layout {", cuda_driver.emit(layout, name, 64), "}",
    ("constexpr layout::%s %s{%s};"):format(name, name, table.concat(values, ", ")) }
  local function expect(call, wanted)
    lines[#lines + 1] = ("static_assert(check::same(%s(%s), %s), \"\");"):format(name, call, wanted)
  end
  local shape = lutile.shape(layout)
  for i = 0, lutile.size(layout) - 1 do
    local wanted = literal(lutile.apply(layout, i))
    expect(literal(i), wanted)
    expect(arguments(lutile.idx2crd(i, shape)), wanted)
    local modes = partial(i, shape)
    if modes then expect(arguments(modes), wanted) end
  end
  lines[#lines + 1] = ("static_assert(%s.size() == %d, \"\");"):format(name, lutile.size(layout))
  lines[#lines + 1] = ("static_assert(check::same(%s.shape(), %s), \"\");"):format(name,
    literal(shape))
  if not tostring(layout):find "[@o]" then
    lines[#lines + 1] = ("static_assert(%s.cosize() == %d, \"\");"):format(name,
      lutile.cosize(layout))
  end
  return table.concat(lines, "\n")
end

local function all_checks()
  local text = { EQUALITY }
  for i, case in ipairs(cases) do
    text[#text + 1] = checks(lutile.parse(case[1]), "L" .. i)
  end
  return table.concat(text, "\n")
end

describe("layouts as CUDA C++", function()
  local it_compiles = support.with_compiler(it, pending)

  for i, case in ipairs(cases) do
    it_compiles(("equal lutile at every coordinate: %s, %s"):format(case[1], case.why), function()
      local text = EQUALITY .. checks(lutile.parse(case[1]), "L" .. i)
      require "lutile.cuda".compile { name = "empty", arch = "sm_80",
        source = text .. "\nextern \"C\" __global__ void empty() {}\n" }
    end)
  end

  local it_builds = support.has_program "g++" and it
    or function(name) pending(name .. " (no g++)") end

  it_builds("equal lutile at every coordinate in g++ too", function()
    local header = cuda_driver.embedded("kernels/lutile.cuh"):gsub("#pragma once", "")
    local file = command.file(header .. all_checks())
    local line = "g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ %s 2>&1 | head"
    local pipe = io.popen(line:format(command.quote(file)))
    local problems = pipe:read "a"
    pipe:close()
    os.remove(file)
    assert.equal("", problems)
  end)

  it_compiles("a wrong value is noticed", function()
    local text = EQUALITY .. checks(lutile.parse "(4,8):(8,1)", "L")
      .. "\nstatic_assert(check::same(L(1), 9LL), \"\");\n"
    assert.has_error(function()
      require "lutile.cuda".compile { name = "empty", arch = "sm_80",
        source = text .. "extern \"C\" __global__ void empty() {}\n" }
    end)
  end)

  it_compiles("random layouts, some of their numbers dynamic, equal lutile", function()
    local enumerate = require "spec.support.enumerate"
    local random = enumerate.random(20261129)
    local text = { EQUALITY }
    local function some_dynamic(x)
      if math.type(x) then return random(0, 1) == 0 and x or lutile.dyn(x) end
      local parts = {}
      for i, part in pairs(x) do parts[i + 1] = some_dynamic(part) end
      return lutile.tuple(parts)
    end
    for i = 1, 20 do
      local l
      repeat l = enumerate.random_layout(random) until lutile.size(l) <= 100
      l = lutile.make_layout(some_dynamic(l.shape), some_dynamic(l.stride))
      text[#text + 1] = checks(l, "R" .. i)
    end
    require "lutile.cuda".compile { name = "empty", arch = "sm_80",
      source = table.concat(text, "\n") .. "\nextern \"C\" __global__ void empty() {}\n" }
  end)

  it_compiles("sizes, cosizes, strides and extents of modes", function()
    local l = lutile.parse "((?4,2),?6):((1,?8),?16)"
    require "lutile.cuda".compile { name = "empty", arch = "sm_80", layouts = { L = l },
      source = [[
constexpr layout::L l{4, 6, 8, 16};
static_assert(l.size() == 48 && l.size<0>() == 8 && l.size<0, 1>() == 2 && l.size<1>() == 6, "");
static_assert(l.stride<0, 1>() == 8 && l.stride<1>() == 16 && l.cosize() == 92, "");
static_assert(l.rank == 2 && !l.is_static, "");
extern "C" __global__ void empty() {}
]] }
    assert.equal(92, lutile.cosize(l))
  end)

  it("the text does not depend on dynamic numbers", function()
    local one = cuda_driver.emit(lutile.parse "(?4{2},8):(1,?4)", "L")
    assert.equal(one, cuda_driver.emit(lutile.parse "(?400{2},8):(1,?24)", "L"))
    assert.not_equal(one, cuda_driver.emit(lutile.parse "(?4{4},8):(1,?4)", "L"))
  end)

  it_compiles("the parts of a TiledMMA and a TiledCopy", function()
    local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN",
      lutile.make_layout { 2, 2, 1 })
    local tv = mma:get_layoutA_TV()
    require "lutile.cuda".compile { name = "empty", arch = "sm_80", layouts = { mma = mma },
      source = ([[
static_assert(layout::mma::threads == 128 && layout::mma::m == 32 && layout::mma::k == 16, "");
static_assert(layout::mma::A{}(37, 3) == %d, "");
extern "C" __global__ void empty() {}
]]):format(tv(37, 3)) }
  end)
end)
