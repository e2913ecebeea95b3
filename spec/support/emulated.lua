-- Tensor-core kernels compiled for the host by g++, with the instructions of plan/emulator.hpp:
-- they run on memory of the pretended driver, which is the host's.

local command = require "spec.support.command"

local M = {}

local EMULATED = { ["ptx.cuh"] = true, ["mma.cuh"] = true, ["element.cuh"] = true,
  ["mbarrier.cuh"] = true, ["sm90.cuh"] = true, ["tma.cuh"] = true, ["wgmma.cuh"] = true }

local function read_all(name)
  local file = assert(io.open(name))
  local text = file:read "a"
  file:close()
  return text
end

-- The text with what it includes, without what the emulator takes the place of.
local function with_headers(text, seen)
  return (text:gsub('#include "([%w_.]+)"[^\n]*', function(name)
    if seen[name] or EMULATED[name] then return "" end
    seen[name] = true
    return with_headers(read_all("kernels/" .. name), seen)
  end):gsub("#pragma once", ""))
end

local ENTRY = [[

static int call_kernel(lua_State *L) { return emulator::launch(L, %s); }

extern "C" __attribute__((visibility("default"))) int luaopen_kernel(lua_State *L) {
  lua_pushcfunction(L, call_kernel);
  return 1;
}
]]

local FLAGS = "-std=c++17 -O1 -w -fPIC -fno-gnu-unique -fvisibility=hidden -I/usr/include/lua5.4"

local function run(line)
  local pipe = io.popen(line .. " 2>&1")
  local problems = pipe:read "a"
  if not pipe:close() then error(problems, 0) end
end

-- A folder with the emulator as the compiler has read it, so that it does so once.
local function precompile()
  local folder = os.tmpname()
  os.remove(folder)
  run("mkdir -m 700 " .. command.quote(folder))
  run(("g++ %s -x c++-header spec/plan/emulator.hpp -o %s/emulator.hpp.gch"):format(FLAGS,
    command.quote(folder)))
  return setmetatable({ name = folder }, { __gc = function()
    os.execute("rm -rf " .. command.quote(folder))
  end })
end

local folder

local function build(text)
  folder = folder or precompile()
  -- In that folder, for a compiler looks beside a file first for what it includes.
  local cpp, library = folder.name .. "/kernel.cpp", os.tmpname()
  local file = assert(io.open(cpp, "w"))
  file:write(text)
  file:close()
  run(("g++ %s -shared -Ispec/plan %s -o %s"):format(FLAGS, command.quote(cpp),
    command.quote(library)))
  return library
end

local BITS = {}

local function bits_of(dtype)
  BITS[dtype] = BITS[dtype] or #require "lutile".make_gmem_ptr(dtype, 8):bytes()
  return BITS[dtype]
end

-- An argument as the emulator takes it: numbers, addresses, a tensor map's bytes.
local function argument_of(x)
  if x == nil then return 0 end
  if type(x) ~= "userdata" then return x end
  local kind = getmetatable(x)
  if kind == "lutile tensor map" then return x:bytes() end
  if kind == "lutile device buffer" then return x:address() end
  return x.data:address() + x.offset * bits_of(x.dtype) // 8
end

local function extents(x) return type(x) == "table" and x or { x } end

local function launcher(call, options)
  local grid, block = extents(options.grid), extents(options.block)
  return function(...)
    local arguments = table.pack(...)
    for i = 1, arguments.n do arguments[i] = argument_of(arguments[i]) end
    local problem = call(grid[1], grid[2] or 1, grid[3] or 1, block[1], block[2] or 1,
      options.shared, math.random(0, 1 << 30), table.unpack(arguments, 1, arguments.n))
    if problem then error(problem, 0) end
  end
end

-- What a plan writes in PTX, as calls of the emulator's: an MMA of warpgroups on sums that PTX
-- names,
local function emulate_wgmma(asm)
  local n, k, sum, a, b = asm:match "%.m64n(%d+)k(%d+)%.(%w+)%.(%w+)%.(%w+) {"
  local rows_a, rows_b = asm:match ", adds, 1, 1, (%d), (%d);"
  local name, first = asm:match '"(%l+)(%d+),'
  return ("wgmma::multiply<%s, %s, element::%s, element::%s, element::%s, %s, %s>"
    .. "((Register *)sums::registers().%s + %s, (unsigned long long)A::kDescriptorHigh << 32 | a, "
    .. "(unsigned long long)B::kDescriptorHigh << 32 | b, adds)"):format(n, k, sum, a, b,
    rows_a or 0, rows_b or 0, name, first)
end

-- The numbers in a list of registers, which must follow each other: the first, and how many.
local function registers_in(list, name)
  local first, count = nil, 0
  for number in list:gmatch(name .. "(%d+)") do
    first = first or math.tointeger(number)
    assert(math.tointeger(number) == first + count, list)
    count = count + 1
  end
  return first, count
end

-- MMAs of a warp, each on registers that PTX names and on operands,
local MMA = "mma%.sync%.aligned%.m(%d+)n8k(%d+)%.row%.col%.(%w+)%.(%w+)%.(%w+)%.(%w+) "
  .. "(%b{}), (%b{}), (%b{}), (%b{});"

local function emulate_mmas(asm)
  local text, calls, words = asm:gsub('"%s*"', ""), {}, {}
  for word in text:gmatch '"[rl]"(%b())' do words[#words + 1] = word end
  for m, k, d, a, b, c, sums, from_a, from_b, old in text:gmatch(MMA) do
    assert(sums == old and d == c, text)
    calls[#calls + 1] = ("mma::multiply<element::%s, element::%s, element::%s, %s, %s>"
      .. "(sums::at<Word>(%d), words + %d, words + %d);"):format(d, a, b, m, k,
      registers_in(sums, "sum"), registers_in(from_a, "%%"), registers_in(from_b, "%%"))
  end
  assert(#calls == select(2, text:gsub("mma%.sync", "")))
  return ("{ const Word words[] = {%s}; %s }"):format(table.concat(words, ", "),
    table.concat(calls, " "))
end

-- sums that become the operand of a next product, two in a register,
local CONVERT = { "cvt%.rn%.(%l+16)x2%.f32 p(%d+), sum(%d+), sum(%d+);",
  "cvt%.rn%.(%l+16)%.f32 high, sum(%d+); cvt%.rn%.%l+16%.f32 low, sum(%d+); "
  .. "mov%.b32 p(%d+), {low, high};" }

local function emulate_converts(asm)
  local text, calls = asm:gsub('"%s*"', ""), {}
  local function add(dtype, p, high, low)
    calls[#calls + 1] = ("sums::registers().p[%s] = element::%s::encode_pair("
      .. "sums::at<float>(%s)[0], sums::at<float>(%s)[0]);"):format(p, dtype, low, high)
  end
  for dtype, p, high, low in text:gmatch(CONVERT[1]) do add(dtype, p, high, low) end
  for dtype, high, low, p in text:gmatch(CONVERT[2]) do add(dtype, p, high, low) end
  assert(#calls == select(2, text:gsub(" p%d", "")))
  return "{ " .. table.concat(calls, " ") .. " }"
end

-- or an instruction for each of some registers: of all, or of the pieces' that branches choose.
local CALLS = {
  ["mov.b32 sum$, 0;"] = "sums::clear(%d, 4)",
  ["mov.b64 sum$, 0;"] = "sums::clear(%d, 8)",
  ["mov.b32 %, sum$;"] = "sums::read((const int[]){%s}[piece], d)",
  ["mov.b64 %, sum$;"] = "sums::read((const int[]){%s}[piece], d)",
  ["mov.b32 %, p$;"] = "sums::read_operand((const int[]){%s}[piece], d)",
  ["mul.f32 %, sum$, %;"] = "sums::read_scaled((const int[]){%s}[piece], alpha, d)",
  ["mov.b32 sum$, %;"] = "sums::write((const int[]){%s}[piece], d)",
  ["add.f32 sum$, sum$, run$;"] = "sums::add_run(%d)",
}

local function emulate_sums(asm)
  local count, starts, kind = 0, {}, nil
  for text in asm:gmatch '%l%l%l%.%l%d+[^;"]+;' do
    local register, variable = text:match "%f[%l]%l+(%d+)%f[,;]", text:match "%%(%d+)"
    local this = text:gsub("%%%d+", "%%"):gsub("(%f[%l]%l+)" .. register .. "%f[,;]", "%1$")
    assert(CALLS[this] and this == (kind or this), text)
    if variable == "0" then starts[#starts + 1] = register end
    assert(tonumber(register) == (variable and starts[#starts] + variable or count), text)
    kind, count = this, count + 1
  end
  return CALLS[kind]:format(#starts > 0 and table.concat(starts, ", ") or count)
end

-- Sums that become pairs of elements: those of a piece times alpha, two at a time.
local PAIR = "cvt%.rn%.(%l+16)x2%.f32 %%(%d+), x(%d+), x(%d+);"

local function emulate_pairs(asm)
  local text, starts, count, out = asm:gsub('"%s*"', ""), {}, 0, nil
  for variable, register in text:gmatch "mul%.f32 x(%d+), sum(%d+), %%%d+;" do
    if variable == "0" then starts[#starts + 1] = register end
    assert(tonumber(register) == starts[#starts] + variable, text)
  end
  for dtype, pair, high, low in text:gmatch(PAIR) do
    assert(tonumber(pair) == count and tonumber(low) == 2 * count, text)
    assert(tonumber(high) == low + 1, text)
    out, count = dtype, count + 1
  end
  return ("sums::read_pairs<element::%s>((const int[]){%s}[piece], alpha, d)"):format(out,
    table.concat(starts, ", "))
end

local function emulate_asm(text)
  return (text:gsub("asm volatile(%b())", function(asm)
    if asm:find "%.reg %.b%d+ %l+<" then return "" end
    if asm:find "%.reg %.f32 x<" then return emulate_pairs(asm) end
    if asm:find "cvt%.rn" then return emulate_converts(asm) end
    if asm:find "mma%.sync%.aligned" then return emulate_mmas(asm) end
    return asm:find "wgmma" and emulate_wgmma(asm) or emulate_sums(asm)
  end))
end

-- Takes the place of cuda.prepare_copy: by the host.
function M.prepare_copy(from, to)
  local lutile = require "lutile"
  local function whole(t)
    return lutile.make_tensor(t, lutile.make_layout(lutile.cosize(t.layout)))
  end
  return function()
    local source, target = whole(from):to_host(), whole(to):to_host()
    for i = 0, lutile.size(to) - 1 do target[to.layout(i)] = source(from.layout(i)) end
    require "lutile.cuda".copy(target, whole(to))
  end
end

-- Takes the place of cuda.compile for a kernel whose plan is in the prelude.
function M.compile(spec)
  local by_tma = spec.file:find "sm90" or spec.file:find "sm120"
  local more = by_tma and '#include <emulator_sm90.hpp>\n'
    or spec.file:find "simt" and '#include <emulator_simt.hpp>\n' or ""
  local text = '#include <emulator.hpp>\n' .. more
    .. with_headers(emulate_asm(spec.prelude) .. "\n" .. read_all("kernels/" .. spec.file),
      { ["emulator.hpp"] = true })
    .. ENTRY:format(spec.name)
  local library = build(text)
  local call = assert(package.loadlib(library, "luaopen_kernel"))()
  os.remove(library)
  return { launch = function(_, options) return launcher(call, options) end }
end

return M
