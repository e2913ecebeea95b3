-- Copies of small tensors by every kernel there is for them; run by itself, also under
-- compute-sanitizer. Raises where one is wrong.

local lutile = require "lutile"
local cuda = require "lutile.cuda"

local CASES = {
  { "f32", "1000:1", "1000:1" },
  { "f16", "(100,37):(1,100)", "(100,37):(37,1)" },
  { "f16", "(129,65):(1,129)", "(129,65):(65,1)" },
  { "f16", "(128,72):(1,128)", "(128,72):(72,1)" },
  { "f32", "(64,96,3):(96,1,6144)", "(64,96,3):(1,64,6144)" },
  { "f64", "(40,20,3):(1,40,800)", "(40,20,3):(60,3,1)" },
  { "f64", "(33,17):(17,1)", "(33,17):(1,33)" },
  { "u8", "(256,128,2):(1,256,32768)", "(256,128,2):(128,1,32768)" },
  { "c64", "(8,6):(1,8)", "(8,6):(6,1)" },
  { "s4", "(64,3):(1,64)", "(64,3):(1,80)" },
  { "s4", "(9,6):(1,9)", "(9,6):(6,1)" },
  { "b1", "(70,3):(1,70)", "(70,3):(3,1)" },
  { "e3m2", "(8,6):(1,8)", "(8,6):(6,1)" },
  { "f16", "Sw<3,3,3> o 0 o (8,64):(64,1)", "(8,64):(1,8)" },
  { "f32", "(6,4):(4,1)", "(4,6):(6,1)" },
  { "f32", "(600,3):(1,700)", "(600,3):(1,800)" },
  { "u8", "10007:1", "10007:1" },
  { "f16", "(2105,3):(1,2112)", "(2105,3):(1,2120)" },
  { "f16", "(601,5):(1,608)", "(601,5):(1,616)" },
  { "f16", "(600,5):(1,601)", "(600,5):(1,603)" },
  { "bf16", "(4,(2,8)):(0,(1,2))", "(4,(2,8)):(16,(1,2))" },
}

local function check(dtype, from, to)
  from, to = lutile.parse(from), lutile.parse(to)
  local source = lutile.make_tensor(dtype, from)
  for i = 0, lutile.size(source) - 1 do source[i] = math.random(-3, 4) end
  local target = cuda.tensor(dtype, to)
  target.data:fill(0x5a)
  local before = target:to_host().data:bytes()
  cuda.copy(source:to(cuda), target)
  local got = target:to_host()
  local expected = lutile.make_tensor(lutile.make_gmem_ptr(dtype, before), to)
  lutile.copy(source, expected)
  if got.data:bytes() ~= expected.data:bytes() then -- gaps between elements are as they were
    error(("copy of %s %s to %s is wrong"):format(dtype, from, to), 0)
  end
end

for _, case in ipairs(CASES) do check(table.unpack(case)) end
cuda.synchronize()
