-- Kernels of copies, and number.cuh, compute what they should: compiled for the host, and on a
-- device.

local support = require "spec.support.cuda"
local command = require "spec.support.command"

-- Lines that on_host.lua prints.
local CASES = {
  "copy f32 1000:1 to 1000:1",
  "copy f16 (100,37):(1,100) to (100,37):(37,1)",
  "copy f16 (128,72):(1,128) to (128,72):(72,1)",
  "copy f64 (40,20,3):(1,40,800) to (40,20,3):(60,3,1)",
  "copy u8 (256,128,2):(1,256,32768) to (256,128,2):(128,1,32768)",
  "copy s4 (64,3):(1,64) to (64,3):(1,80)",
  "copy s4 (9,6):(1,9) to (9,6):(6,1)",
  "copy e3m2 (8,6):(1,8) to (8,6):(6,1)",
  "copy f16 Sw<3,3,3> o 0 o (8,64):(64,1) to (8,64):(1,8)",
  "copy f32 (6,4):(4,1) to (4,6):(6,1)",
  "copy f32 (600,3):(1,700) to (600,3):(1,800)",
  "copy f64 (5,7):(1,5) to (5,7):(7,1)",
  "copy e4m3fnuz (64,40):(1,64) to (64,40):(40,1)",
  "copy e5m2fnuz Sw<3,3,3> o 0 o (8,64):(64,1) to (8,64):(1,8)",
  "copy f32 (333,100):(100,1) to (333,100):(1,333) in groups of 4",
  "copy f16 (200,300):(300,1) to (200,300):(1,200) in groups of 1",
}

for _, t in ipairs { "tf32", "f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0",
  "ue4m3", "s32", "s16", "s8", "u8", "s4", "u4", "b1" } do
  CASES[#CASES + 1] = "numbers of " .. t
end

for _, case in ipairs { "f32 5003:1 to 5003:1 by 16", "f64 4097:1 to 4097:1 by 16",
  "c64 4097:1 to 4097:1 by 16",
  "f16 ((601,3),2):((1,601),1803) to ((601,3),2):((1,601),1803) by 16",
  "f16 (601,5):(1,608) to (601,5):(1,616) by 16",
  "f16 (2105,3):(1,2112) to (2105,3):(1,2120) by 16",
  "f16 (601,5):(1,604) to (601,5):(1,616) by 8", "f16 (601,5):(1,601) to (601,5):(1,603) by 2",
  "u8 (13,40):(1,16) to (13,40):(1,32) by 1", "f16 (60,40):(1,64) to (60,40):(1,72) by 8",
  "s4 4002:1 to 4002:1 by 16", "b1 (1016,5):(1,1024) to (1016,5):(1,1152) by 1" } do
  CASES[#CASES + 1] = ("copy %s bytes"):format(case)
end
for n = 1, 17 do
  CASES[#CASES + 1] = ("copy u8 %d:1 to %d:1 by 16 bytes"):format(200 + n, 200 + n)
end
for n = 1, 8 do
  CASES[#CASES + 1] = ("copy f16 %d:1 to %d:1 by 16 bytes"):format(9000 + n, 9000 + n)
end

local output

local function run_on_host()
  if output then return output end
  local folder = support.new_folder()
  local result = command.run("spec/cuda/on_host.lua", nil,
    ("LUA_PATH='./?.lua;;' LUTILE_LIBCUDA=%s LUTILE_CACHE=%s"):format(support.fake_driver(),
      folder))
  support.remove_folder(folder)
  assert(result.code == 0, result.err .. result.out)
  output = {}
  for what, verdict in result.out:gmatch "([^\n]+): (%w[^\n:]*)\n" do output[what] = verdict end
  return output
end

describe("kernels, compiled for the host", function()
  local run = support.with_host_kernels(it, pending)
  for _, case in ipairs(CASES) do
    run(case, function() assert.equal("right", run_on_host()[case]) end)
  end
end)
