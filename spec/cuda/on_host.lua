-- Run by kernels_spec.lua with the pretended driver: kernels of copies, and number.cuh, compiled
-- for the host, on tensors in what passes for a device. Prints a line a case.

local lutile = require "lutile"
local cuda = require "lutile.cuda"
local copies = require "lutile.cuda.copy"
local host = require "spec.support.kernel_on_host"

copies.compile = host.compile

local make_tensor, parse, size = lutile.make_tensor, lutile.parse, lutile.size

local function report(what, wrong)
  print(("%s: %s"):format(what, wrong == 0 and "right" or wrong .. " wrong"))
end

-- ---- Copies ------------------------------------------------------------------------------------

local function fill(t, f)
  for i = 0, size(t) - 1 do t[i] = f(i) end
  return t
end

local function check_copy(dtype, from, to, kind, dtype_to)
  from, to = parse(from), parse(to)
  local a = fill(make_tensor(dtype, from), function(i) return (i * 7 + 3) % 13 - 5 end)
  local target = cuda.tensor(dtype_to or dtype, to)
  target.data:fill(0x5a)
  cuda.copy(a:to(cuda), target)
  local expected = make_tensor(dtype_to or dtype, to)
  lutile.copy(a, expected)
  local got, wrong = target:to_host(), 0
  for i = 0, size(a) - 1 do if got(i) ~= expected(i) then wrong = wrong + 1 end end
  local plan = copies.plan(from, to, #lutile.make_gmem_ptr(dtype, 8):bytes())
  if not dtype_to and plan.kind ~= kind then wrong = wrong .. " and by " .. plan.kind .. ": all" end
  report(("copy %s %s to %s"):format(dtype, from, to), wrong)
end

check_copy("f32", "1000:1", "1000:1", "copy")
check_copy("f16", "(100,37):(1,100)", "(100,37):(37,1)", "copy_transposed")
check_copy("f16", "(128,72):(1,128)", "(128,72):(72,1)", "copy_transposed")
check_copy("f64", "(40,20,3):(1,40,800)", "(40,20,3):(60,3,1)", "copy")
check_copy("u8", "(256,128,2):(1,256,32768)", "(256,128,2):(128,1,32768)", "copy_transposed")
check_copy("s4", "(64,3):(1,64)", "(64,3):(1,80)", "copy")
check_copy("s4", "(9,6):(1,9)", "(9,6):(6,1)", "copy_elements")
check_copy("e3m2", "(8,6):(1,8)", "(8,6):(6,1)", "copy_elements")
check_copy("f16", "Sw<3,3,3> o 0 o (8,64):(64,1)", "(8,64):(1,8)", "copy_elements")
check_copy("f32", "(6,4):(4,1)", "(4,6):(6,1)", "copy_elements")
check_copy("f32", "(600,3):(1,700)", "(600,3):(1,800)", "copy")
check_copy("f64", "(5,7):(1,5)", "(5,7):(7,1)", nil, "e4m3")
check_copy("e4m3fnuz", "(64,40):(1,64)", "(64,40):(40,1)", "copy_transposed")
check_copy("e5m2fnuz", "Sw<3,3,3> o 0 o (8,64):(64,1)", "(8,64):(1,8)", "copy_elements")

-- Rows that are no whole vectors: what is copied at once, and nothing beside.
local function check_tail(dtype, from, to, bytes)
  from, to = parse(from), parse(to)
  local a = fill(make_tensor(dtype, from), function(i) return (i * 7 + 3) % 13 % 7 end)
  local target = cuda.tensor(dtype, lutile.cosize(to) + 32)
  target.data:fill(0x5a)
  local before = target:to_host()
  local there = make_tensor(target, to)
  cuda.copy(a:to(cuda), there)
  local got, wrong, inside = target:to_host(), 0, {}
  for i = 0, size(a) - 1 do
    inside[to(i)] = true
    if got(to(i)) ~= a(i) then wrong = wrong + 1 end
  end
  for i = 0, size(got) - 1 do
    if not inside[i] and got(i) ~= before(i) then wrong = wrong + 1 end
  end
  local plan = copies.plan(from, to, #lutile.make_gmem_ptr(dtype, 8):bytes())
  if plan.kind ~= "copy" or plan.bytes ~= bytes then
    wrong = ("%s by %s of %s bytes: all"):format(wrong, plan.kind, plan.bytes)
  end
  report(("copy %s %s to %s by %d bytes"):format(dtype, from, to, bytes), wrong)
end

for n = 1, 17 do check_tail("u8", 200 + n .. ":1", 200 + n .. ":1", 16) end
for n = 1, 8 do check_tail("f16", 9000 + n .. ":1", 9000 + n .. ":1", 16) end
check_tail("f32", "5003:1", "5003:1", 16)
check_tail("f64", "4097:1", "4097:1", 16)
check_tail("c64", "4097:1", "4097:1", 16)
check_tail("f16", "((601,3),2):((1,601),1803)", "((601,3),2):((1,601),1803)", 16)
check_tail("f16", "(601,5):(1,608)", "(601,5):(1,616)", 16)
check_tail("f16", "(2105,3):(1,2112)", "(2105,3):(1,2120)", 16)
check_tail("f16", "(601,5):(1,604)", "(601,5):(1,616)", 8)
check_tail("f16", "(601,5):(1,601)", "(601,5):(1,603)", 2)
check_tail("u8", "(13,40):(1,16)", "(13,40):(1,32)", 1)
check_tail("f16", "(60,40):(1,64)", "(60,40):(1,72)", 8)
check_tail("s4", "4002:1", "4002:1", 16)
check_tail("b1", "(1016,5):(1,1024)", "(1016,5):(1,1152)", 1)

-- Blocks in groups, the last one narrower.
local function check_groups(dtype, from, to, changes)
  from, to = parse(from), parse(to)
  local a = fill(make_tensor(dtype, from), function(i) return (i * 7 + 3) % 13 - 5 end)
  local target, wrong = cuda.tensor(dtype, to), 0
  target.data:fill(0x5a)
  cuda.prepare_copy(a:to(cuda), target, nil, changes)()
  local got = target:to_host()
  for i = 0, size(a) - 1 do if got(i) ~= a(i) then wrong = wrong + 1 end end
  report(("copy %s %s to %s in groups of %d"):format(dtype, from, to, changes.group), wrong)
end

check_groups("f32", "(333,100):(100,1)", "(333,100):(1,333)",
  { tile_a = 32, tile_b = 64, group = 4, streaming = true })
check_groups("f16", "(200,300):(300,1)", "(200,300):(1,200)",
  { tile_a = 128, tile_b = 64, group = 1 })

-- ---- Numbers -----------------------------------------------------------------------------------

local TYPES = { "tf32", "f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0", "ue4m3",
  "s32", "s16", "s8", "u8", "s4", "u4", "b1" }

local NUMBERS = { 0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.4999, 5, 7, 7.5, 8, 15.5, 28, 30, 100.25,
  447, 448, 449, 464, 465, -448.5, 57344, 60000, 65504, 65519, 65520, 1e5, 3e38, 3.5e38, 1e300,
  2147483647.5, -2147483649, 127.5, 128.5, 255.5, -0.5, 2 ^ -9, 2 ^ -10, 1.5 * 2 ^ -10, 2 ^ -14,
  2 ^ -24, 2 ^ -25, 1.1 * 2 ^ -25, 3 * 2 ^ -26, 2 ^ -126, 2 ^ -127, 2 ^ -130, 2 ^ -133, 2 ^ -149,
  1e-310, 1 / 3, -1 / 3, 0.1, math.pi, 1 / 0, -1 / 0, 0 / 0 }

-- Every bit pattern as a number, and every number as a pattern.
local function kernel_source()
  local lines = { '#include "number.cuh"',
    "template <class T> void decode_all(double *&out) {",
    "  const int bits = lutile::bits_of<T> < 16 ? lutile::bits_of<T> : 16;",
    "  const int up = lutile::bits_of<T> - bits;",
    "  for (unsigned long long i = 0; i < 1ull << bits; i++) *out++ = number::decode<T>(i << up);",
    "}",
    "template <class T> void encode_all(const double *in, int n, double *&out) {",
    "  for (int i = 0; i < n; i++) *out++ = double(number::encode<T>(in[i]));",
    "}",
    'extern "C" __global__ void numbers(const double *in, int n, double *out) {' }
  for _, t in ipairs(TYPES) do
    lines[#lines + 1] = ("  decode_all<lutile::%s>(out);"):format(t)
    lines[#lines + 1] = ("  encode_all<lutile::%s>(in, n, out);"):format(t)
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

local function bits_of(t) return #lutile.make_gmem_ptr(t, 8):bytes() end

-- The number that a pattern stands for, and a number's pattern, by lutile's own conversions.
local function decode(t, pattern)
  return make_tensor(lutile.make_gmem_ptr(t, ("<I4"):pack(pattern)), 1)(0)
end

local function encode(t, x)
  local holder = make_tensor(t, 1)
  holder[0] = x
  local bytes = holder.data:bytes()
  return (("<I4"):unpack(bytes .. ("\0"):rep(4 - #bytes)))
end

local function same(x, y) return x == y or (x ~= x and y ~= y) end

local function check_numbers()
  local input = fill(make_tensor("f64", #NUMBERS), function(i) return NUMBERS[i + 1] end):to(cuda)
  local count = 0
  for _, t in ipairs(TYPES) do count = count + (1 << math.min(bits_of(t), 16)) + #NUMBERS end
  local output = cuda.tensor("f64", count)
  host.compile { source = kernel_source(), name = "numbers" }:launch { grid = 1, block = 1 }(input,
    #NUMBERS, output)
  local got, at = output:to_host(), 0
  for _, t in ipairs(TYPES) do
    local bits, wrong = math.min(bits_of(t), 16), 0
    for i = 0, (1 << bits) - 1 do
      if not same(got(at + i), decode(t, i << bits_of(t) - bits) + 0.0) then wrong = wrong + 1 end
    end
    at = at + (1 << bits)
    for i = 1, #NUMBERS do
      if got(at + i - 1) ~= encode(t, NUMBERS[i]) then wrong = wrong + 1 end
    end
    at = at + #NUMBERS
    report("numbers of " .. t, wrong)
  end
end

check_numbers()
