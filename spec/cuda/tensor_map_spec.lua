-- Tensor maps: what is asked of the driver, the rules of TMA, and kernels that take them.

local support = require "spec.support.cuda"

local lines = support.lines
local it_pretends = support.with_fake(it, pending)
local it_on_device = support.with_device(it, pending)

local PRELUDE = [[
local lutile = require "lutile"
local cuda = require "lutile.cuda"
local function try(f, ...)
  local ok, message = pcall(f, ...)
  print(ok and "no error" or message:match "^[^\n]*:%d+: (.*)$" or message)
end
local t = cuda.tensor("f16", lutile.parse "(100,64):(72,1)")
local function descriptor(changes)
  local d = { tensorRank = 2, tensorDataType = "f16", globalDim = { 64, 100 },
    globalStrides = { 144 }, boxDim = { 64, 32 }, elementStrides = { 1, 1 }, swizzle = "128B" }
  for name, value in pairs(changes) do d[name] = value end
  return d
end
]]

local function run(chunk, settings)
  local result = support.run_with_fake(PRELUDE .. chunk, settings)
  if result.code ~= 0 then error(result.err .. result.out, 2) end
  return result
end

describe("a tensor map", function()
  it_pretends("of a table has what the table has", function()
    local result = run [[print(cuda.tensor_map(descriptor {}, t))]]
    assert.equal("tensor map of device 0\n", result.out)
    assert.equal(1, support.count(result.log, "tensor map type 6 swizzle 3 promotion 2 fill 0; "
      .. "64 by 0 box 64 step 1; 100 by 144 box 32 step 1"))
  end)

  it_pretends("of a TMA copy has its descriptor", function()
    local result = run [[
local smem = lutile.tile_to_shape(lutile.GMMA.Layout_K_SW64_Atom "f16", { 32, 64 })
local tma = lutile.make_tma_copy("SM90_TMA_LOAD", t, smem)
local map = cuda.tensor_map(tma, t)
print(#map:bytes(), ("<I8"):unpack(map:bytes()) == t.data:address())]]
    assert.equal("128\ttrue\n", result.out)
    assert.equal(1, support.count(result.log, "tensor map type 6 swizzle 2 promotion 2 fill 0; "
      .. "64 by 0 box 32 step 1; 100 by 144 box 32 step 1"))
  end)

  it_pretends("starts where the tensor does", function()
    local result = run [[
local part = lutile.local_tile(t, { 100, 8 }, { 0, 1 })
local map = cuda.tensor_map(descriptor { globalDim = { 56, 100 } }, part)
print(("<I8"):unpack(map:bytes()) - t.data:address())]]
    assert.equal("16\n", result.out)
  end)

  it_pretends("breaks no rule of TMA", function()
    local result = run [[
local function refuse(changes, tensor) try(cuda.tensor_map, descriptor(changes), tensor or t) end
refuse { globalStrides = { 72 } }
refuse { globalStrides = { 1 << 40 } }
refuse { globalDim = { 0, 100 } }
refuse { boxDim = { 64, 257 } }
refuse { boxDim = { 4, 32 } }
refuse { boxDim = { 128, 32 } }
refuse { elementStrides = { 1, 9 } }
refuse { swizzle = "16B" }
refuse { tensorDataType = "f32" }
refuse { tensorDataType = "f17" }
refuse { tensorDataType = "s4" }
refuse { l2Promotion = "1B" }
refuse { interleave = "16B" }
refuse { tensorRank = 6 }
refuse { globalDim = { 64 } }
refuse { swizzle = "128B\0" }
try(cuda.tensor_map, setmetatable({}, { __index = descriptor {} }), t) -- its own fields count
refuse { globalDim = { 64, 1.5 } }
refuse { globalDim = { 64, -1 } }
refuse { globalDim = { 64, 101 } }
refuse { globalDim = { 64, 1 << 32 }, globalStrides = { 1 << 36 } }
refuse({}, lutile.local_tile(t, { 100, 4 }, { 0, 1 }))
refuse({}, lutile.make_tensor("f16", lutile.parse "(100,64):(72,1)"))
refuse({}, 3)
try(cuda.tensor_map, 3, t)
t.data:free()
refuse {}]]
    assert.same({
      "tensor_map: the stride of mode 1 is 72 bytes, not a multiple of 16 below 2^40",
      "tensor_map: the stride of mode 1 is 1099511627776 bytes, not a multiple of 16 below 2^40",
      "tensor_map: extent 0 is 0, not within 1 and 2^32",
      "tensor_map: extent 1 of the box is 257, not within 1 and 256",
      "tensor_map: a line of the box has 8 bytes, not a multiple of 16",
      "tensor_map: a line of the box has 256 bytes, where swizzle 128B has 128",
      "tensor_map: element stride 1 is 9, not within 1 and 8",
      "tensor_map: no swizzle '16B'",
      "tensor_map: the descriptor is for f32, the tensor has elements of f16",
      "tensor_map: no element type 'f17'",
      "tensor_map: the descriptor is for s4, the tensor has elements of f16",
      "tensor_map: no l2Promotion '1B'",
      "tensor_map: interleaved layouts are not supported: interleave = \"none\"",
      "tensor_map: tensorRank is 6, not within 1 and 5",
      "tensor_map: 'globalDim' is a list of 2",
      "tensor_map: 'swizzle' has a zero byte",
      "tensor_map: tensorRank is nil, not within 1 and 5",
      "tensor_map: 'globalDim' has 1.5, where integers from 0 to 9223372036854775807 will do",
      "tensor_map: 'globalDim' has -1, where integers from 0 to 9223372036854775807 will do",
      "tensor_map: extents and strides reach beyond the tensor's memory of 14384 bytes",
      "tensor_map: extents and strides reach beyond the tensor's memory of 14384 bytes",
      "tensor_map: the tensor starts at ADDRESS, not a multiple of 16 bytes",
      "tensor_map: device tensor or buffer expected, got a tensor of the host",
      "tensor_map: device tensor or buffer expected, got number",
      "tensor_map: a TMA copy or a table expected, got number",
      "tensor_map: the tensor's memory was freed",
    }, lines((result.out:gsub("0x%x+", "ADDRESS"))))
  end)
end)

local SOURCE = [[
#include "tma.cuh"
extern "C" __global__ void copy(int n, const __grid_constant__ tma::Map map, float *to) {
  if (threadIdx.x < 16) to[threadIdx.x] = (float)((const unsigned char *)&map)[threadIdx.x];
}
]]

describe("a kernel", function()
  it_pretends("takes a tensor map by value", function()
    local result = run(("local SOURCE = %q\n"):format(SOURCE) .. [[
local map = cuda.tensor_map(descriptor {}, t)
local kernel = cuda.compile { source = SOURCE, name = "copy", arch = "sm_90a" }
print(table.concat(kernel:places(), " "))
kernel:launch { block = 32 }(1, map, nil)
print((("%02x "):rep(128):format(map:bytes():byte(1, -1))):sub(1, 8 * 3))
try(kernel:launch {}, 1, t, nil)
t.data:free()
try(kernel:launch {}, 1, map, nil)]], { FAKE_CUDA_ARGUMENTS = "4,8" })
    local out = lines(result.out)
    assert.equal("0 4 64 128 192 8", out[1])
    assert.equal(1, support.count(result.log, "argument " .. out[2]:gsub(" $", "")))
    assert.same({ "kernel 'copy': argument 2 ('map'): tensor map expected, got lutile tensor",
      "kernel 'copy': argument 2 ('map'): its memory was freed" }, { out[3], out[4] })
  end)

  it_pretends("must leave it where it is", function()
    local result = run [[
try(cuda.compile, { source = 'extern "C" __global__ void f(CUtensorMap map) {}', name = "f" })]]
    assert.equal("compile: parameter 'map' of kernel 'f' must be 'const __grid_constant__ "
      .. "CUtensorMap': TMA reads it where it is\n", result.out)
  end)
end)

local LOAD = [[
#include "mbarrier.cuh"
#include "tma.cuh"
extern "C" __global__ void load(const __grid_constant__ tma::Map map, type::T *to, int x, int y) {
  __shared__ alignas(1024) type::T tile[32 * 64];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned at = ptx::shared_address(&barrier);
  if (threadIdx.x == 0) {
    mbarrier::init<1>(at, 1);
    mbarrier::fence_init();
    mbarrier::arrive_expecting(at, sizeof tile);
    tma::load(ptx::shared_address(tile), map, tma::Corner<3>{{x, y, 0}}, at);
  }
  __syncthreads();
  mbarrier::wait(at, 0);
  for (int i = threadIdx.x; i < 32 * 64; i += blockDim.x) to[i] = tile[i];
}
]]

describe("TMA", function()
  support.with_compiler(it, pending)("is compiled with a map as an argument", function()
    require "lutile.cuda".compile { source = LOAD, name = "load", types = { T = "f16" },
      arch = "sm_90a" }
  end)

  it_on_device("loads what the map's tensor has, and zeros beyond", function()
    local lutile = require "lutile"
    local cuda = require "lutile.cuda"
    local device = cuda.device()
    if device.major < 9 then return end
    local host = lutile.make_tensor("f16", lutile.parse "(100,64):(72,1)")
    for i = 0, 6399 do host[i] = math.random(-1000, 1000) end
    local t = host:to(cuda)
    local map = cuda.tensor_map({ tensorRank = 3, tensorDataType = "f16",
      globalDim = { 64, 100, 1 }, globalStrides = { 144, 14400 }, boxDim = { 64, 32, 1 },
      elementStrides = { 1, 1, 1 } }, t)
    local kernel = cuda.compile { source = LOAD, name = "load", types = { T = "f16" } }
    local to = cuda.tensor("f16", lutile.parse "(32,64):(64,1)")
    kernel:launch { block = 128 }(map, to, 8, 80)
    local got = to:to_host()
    for y = 0, 31 do
      for x = 0, 63 do
        local inside = y + 80 < 100 and x + 8 < 64
        assert.equal(inside and host(y + 80, x + 8) or 0, got(y, x))
      end
    end
  end)
end)
