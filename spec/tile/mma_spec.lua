-- MMA atoms and TiledMMA: tables that hold together, partitions that cover, arithmetic.

local lutile = require "lutile"

local function atom_names()
  local names = {}
  for name in lutile.mma_atoms() do names[#names + 1] = name end
  return names
end

-- Offsets of a (thread, value) layout that are met, and how often.
local function count_offsets(layout)
  local met, most = {}, 0
  for i = 0, lutile.size(layout) - 1 do
    local at = layout(i)
    met[at] = (met[at] or 0) + 1
    most = math.max(most, at)
  end
  return met, most
end

local function covers(layout, n, times)
  local met, most = count_offsets(layout)
  if most ~= n - 1 then return false end
  for i = 0, n - 1 do if met[i] ~= times then return false end end
  return true
end

local known = {}

-- Atoms share their layouts, so each is looked at once.
local function covers_once(layout, n, times)
  local key = tostring(layout) .. " " .. n
  if known[key] == nil then known[key] = covers(layout, n, times or 1) end
  return known[key]
end

describe("the table of MMA atoms", function()
  local names = atom_names()

  it("has every family with all its members", function()
    local seen = {}
    for _, name in ipairs(names) do
      assert.is_nil(seen[name], name)
      seen[name] = true
    end
    assert(seen["SM90_64x248x16_F32F16F16_SS"])
    assert(seen["SM90_64x24x32_S32S8U8_RS_TN"])
    assert.is_nil(seen["SM90_64x40x32_S32S8U8_RS_TN"]) -- wgmma has no such N for integers
  end)

  it("gives every element of a register operand to one thread", function()
    for _, name in ipairs(names) do
      local atom = lutile.MMA_Atom(name)
      local m, n, k = atom.shape_mnk[0], atom.shape_mnk[1], atom.shape_mnk[2]
      local times = name:find "^RDNA3" and 2 or 1 -- both halves of a wave hold A and B
      assert(covers_once(atom.c_layout, m * n), name .. " C")
      if atom.a_frag == "value" then
        assert(covers_once(atom.a_layout, m * k, times), name .. " A")
      end
      if atom.b_frag == "value" then
        assert(covers_once(atom.b_layout, n * k, times), name .. " B")
      end
    end
  end)

  it("refuses unknown names with one that is near", function()
    assert.error_matches(function() lutile.MMA_Atom "SM80_16x8x16_F32F16F16_TN" end,
      "MMA_Atom: no atom 'SM80_16x8x16_F32F16F16_TN'; the nearest name is "
      .. "SM80_16x8x16_F32F16F16F32_TN$")
    assert.error_matches(function() lutile.MMA_Atom "nothing" end,
      "MMA_Atom: no atom 'nothing' %(names are CuTe's, as SM80_16x8x16_F32F16F16F32_TN or")
    assert.error_matches(function() lutile.MMA_Atom "UniversalFMA<f33>" end, "no atom")
  end)

  it("has the scalar multiply-add for every type", function()
    local atom = lutile.UniversalFMA("f32", "f16")
    assert.equal("UniversalFMA<f32,f16>", atom.name)
    assert.equal("f16", atom.a_type)
    assert.equal("f16", atom.b_type)
    assert.equal("f32", atom.c_type)
    assert.equal(lutile.parse "(1,1):(0,0)", atom.a_layout)
  end)
end)

describe("TiledMMA", function()
  local mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN",
    lutile.make_layout({ 2, 2, 1 }), { 32, 32, 16 })

  it("tells its extents", function()
    assert.equal(128, lutile.size(mma))
    assert.equal(32, lutile.tile_size(mma, 1))
    assert.equal(lutile.parse "(32,32,16)", lutile.tile_shape(mma))
    assert.equal(lutile.parse "(32,2,2,1):(1,32,64,0)", mma.thr_layout_vmnk)
    assert.equal("TiledMMA SM80_16x8x16_F32F16F16F32_TN, threads (32,2,2,1):(1,32,64,0)",
      tostring(mma))
    assert.equal(lutile.parse "((2,2),2,4)", lutile.partition_shape_C(mma, { 64, 64 }))
  end)

  it("parts of all threads cover the tile: C once, A and B once for each thread beside", function()
    for matrix, shape in pairs { A = { 64, 32 }, B = { 64, 32 }, C = { 64, 64 } } do
      local index = lutile.make_layout(shape)
      local met = {}
      for thread = 0, 127 do
        local slice = mma:get_slice(thread)
        local part = slice["partition_" .. matrix](slice, index)
        for i = 0, lutile.size(part) - 1 do met[part(i)] = (met[part(i)] or 0) + 1 end
      end
      local times = matrix == "C" and 1 or 2
      for i = 0, lutile.size(index) - 1 do assert.equal(times, met[i]) end
    end
  end)

  it("partitions tensors as views, coordinates as coordinates", function()
    local t = lutile.make_tensor("f16", lutile.make_layout({ 32, 32 }, lutile.LayoutRight))
    local slice = mma:get_slice(37)
    local part = slice:partition_A(t)
    assert.equal(t.data, part.data)
    local coordinates = slice:partition_A(lutile.make_identity_tensor { 32, 32 })
    for i = 0, lutile.size(part) - 1 do
      assert.equal(t.layout(coordinates(i)), part.offset + part.layout(i))
    end
    assert.equal("f16", slice:partition_fragment_A(t).dtype)
    assert.equal("f32", slice:partition_fragment_C(t).dtype)
  end)

  it("refuses what cannot be", function()
    assert.error_matches(function() mma:get_slice(128) end,
      "get_slice: thread 128 is not in 0 to 127 of %(32,2,2,1%):%(1,32,64,0%)$")
    assert.error_matches(function()
      lutile.make_tiled_mma("SM80_16x8x8_F32F16F16F32_TN", lutile.make_layout { 2, 2, 2, 2 })
    end, "thread layout %(2,2,2,2%):%(1,2,4,8%) has rank 4, where M, N and K make 3$")
    assert.error_matches(function()
      lutile.make_tiled_mma("SM80_16x8x8_F32F16F16F32_TN", lutile.make_layout { 8, 8, 1 })
    end, "make_tiled_mma: 2048 threads, where a block has 1024 at most$")
    assert.error_matches(function() mma:get_slice(0):partition_A(lutile.make_layout(64)) end,
      "thrfrg: 64:1 has rank 1, where a matrix has 2 modes$")
    assert.error_matches(function() lutile.tile_size(3) end,
      "tile_size: tiled MMA expected, got number$")
  end)
end)

-- ---- Arithmetic -----------------------------------------------------------------------------

-- Runs one atom over the M x K, N x K and M x N tensors A, B and C in a kernel.
local function run_atom(name, A, B, C)
  local mma = lutile.make_tiled_mma(name)
  local threads, taking_part = mma.thr_layout_vmnk, {}
  for i = 0, lutile.size(threads) - 1 do taking_part[threads(i)] = true end
  local function kernel()
    if not taking_part[lutile.threadIdx.x] then return end -- beside Volta's quadpair
    local slice = mma:get_slice(lutile.threadIdx.x)
    local rA, rB = slice:partition_fragment_A(A), slice:partition_fragment_B(B)
    local gC = slice:partition_C(C)
    local rC = slice:partition_fragment_C(C)
    lutile.copy(slice:partition_A(A), rA)
    lutile.copy(slice:partition_B(B), rB)
    lutile.copy(gC, rC)
    lutile.gemm(mma, rA, rB, rC)
    lutile.copy(rC, gC)
  end
  lutile.launch(kernel, { block = lutile.cosize(threads) })
end

local function random_tensor(dtype, rows, columns, draw)
  local t = lutile.make_tensor(dtype, { rows, columns })
  for i = 0, lutile.size(t) - 1 do t[i] = draw() end
  return t
end

local function store(dtype, x)
  local t = lutile.make_tensor(dtype, 1)
  t[0] = x
  return t(0)
end

-- c + sum of products, exact in doubles for the ranges below.
local function exact(A, B, c, i, j, K)
  local sum = c
  for k = 0, K - 1 do sum = sum + A(i, k) * B(j, k) end
  return sum
end

local DRAWS = {
  f16 = function() return math.random(-64, 64) / 16 end,
  bf16 = function() return math.random(-64, 64) / 16 end,
  tf32 = function() return math.random(-512, 512) / 32 end,
  e4m3 = function() return math.random(-8, 8) end,
  e5m2 = function() return math.random(-4, 4) end,
  f64 = function() return math.random(-1000, 1000) / 8 end,
  s8 = function() return math.random(-128, 127) end,
  u8 = function() return math.random(0, 255) end,
  s4 = function() return math.random(-8, 7) end,
  u4 = function() return math.random(0, 15) end,
  s16 = function() return math.random(-32768, 32767) end,
}

describe("the arithmetic of", function()
  for _, name in ipairs {
    "SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x16_F16F16F16F16_TN",
    "SM80_16x8x16_F32BF16BF16F32_TN",
    "SM80_16x8x8_F32F16F16F32_TN", "SM80_16x8x8_F16F16F16F16_TN", "SM80_16x8x8_F32BF16BF16F32_TN",
    "SM75_16x8x8_F32F16F16F32_TN", "SM75_8x8x16_S32S8S8S32_TN", "SM80_16x8x8_F32TF32TF32F32_TN",
    "SM80_16x8x4_F32TF32TF32F32_TN", "SM80_8x8x4_F64F64F64F64_TN", "SM80_16x8x32_S32S8U8S32_TN",
    "SM80_16x8x64_S32S4U4S32_TN", "SM89_16x8x32_F32E4M3E5M2F32_TN", "SM90_16x8x16_F64F64F64F64_TN",
    "SM70_8x8x4_F32F16F16F32_NT", "SM70_8x8x4_F16F16F16F16_TN", "SM61_DP4A", "SM61_DP2A",
    "UniversalFMA<f32>", "UniversalFMA<f64>",
  } do
    it(name .. " is c + a * b, rounded to the accumulator", function()
      math.randomseed(11)
      local atom = lutile.MMA_Atom(name)
      local M, N, K = atom.shape_mnk[0], atom.shape_mnk[1], atom.shape_mnk[2]
      local draw_a = DRAWS[atom.a_type] or DRAWS.f16
      local A = random_tensor(atom.a_type, M, K, draw_a)
      local B = random_tensor(atom.b_type, N, K, DRAWS[atom.b_type] or draw_a)
      local C = random_tensor(atom.c_type, M, N, function() return math.random(-99, 99) end)
      local before = lutile.convert(C, atom.c_type)
      run_atom(atom.name, A, B, C)
      for i = 0, M - 1 do
        for j = 0, N - 1 do
          local want = store(atom.d_type, exact(A, B, before(i, j), i, j, K))
          assert.equal(want, C(i, j))
        end
      end
    end)
  end

  local function constant_atom(name, a, b, c)
    local atom = lutile.MMA_Atom(name)
    local M, N, K = atom.shape_mnk[0], atom.shape_mnk[1], atom.shape_mnk[2]
    local C = random_tensor(atom.c_type, M, N, function() return c end)
    run_atom(name, random_tensor(atom.a_type, M, K, function() return a end),
      random_tensor(atom.b_type, N, K, function() return b end), C)
    return C(M - 1, N - 1)
  end

  it("integers wraps, or saturates where the name says so", function()
    local largest = 2147483647
    assert.equal(largest - 2 ^ 32 + 32, constant_atom("SM80_16x8x32_S32S8S8S32_TN", 1, 1, largest))
    assert.equal(largest, constant_atom("SM80_16x8x32_S32S8S8S32_TN_SATURATE", 1, 1, largest))
    assert.equal(-2147483648,
      constant_atom("SM80_16x8x32_S32S8S8S32_TN_SATURATE", -1, 1, -2147483648))
  end)

  it("bits counts", function()
    assert.equal(5 + 128, constant_atom("SM80_16x8x128_S32U1U1S32_TN_ANDPOPC", 1, 1, 5))
    assert.equal(5, constant_atom("SM80_16x8x128_S32U1U1S32_TN_XORPOPC", 1, 1, 5))
    assert.equal(5 + 256, constant_atom("SM80_16x8x256_S32U1U1S32_TN_XORPOPC", 1, 0, 5))
  end)

  it("f16 accumulators overflows to infinity", function()
    assert.equal(math.huge, constant_atom("SM80_16x8x16_F16F16F16F16_TN", 64, 64, 0))
    assert.equal(65536.0, constant_atom("SM80_16x8x16_F32F16F16F32_TN", 64, 64, 0))
  end)

  for _, name in ipairs { "SM80_8x8x4_C64C64C64C64_TN", "SM90_16x8x4_C64C64C64C64_TN" } do
    it(name .. " is complex", function()
      local atom = lutile.MMA_Atom(name)
      local M, N, K = atom.shape_mnk[0], atom.shape_mnk[1], atom.shape_mnk[2]
      local C = random_tensor("c64", M, N, function() return { 1, 2 } end)
      run_atom(name, random_tensor("c64", M, K, function() return { 1, 2 } end),
        random_tensor("c64", N, K, function() return { 3, -1 } end), C)
      assert.same({ 1 + K * 5.0, 2 + K * 5.0 }, { C(0, 0) })
    end)
  end

  it("SM80_8x8x4_GC64C64C64GC64_TN is complex in three sums", function()
    local C = lutile.make_tensor("gc64", { 8, 8 })
    run_atom("SM80_8x8x4_GC64C64C64GC64_TN",
      random_tensor("c64", 8, 4, function() return { 1, 2 } end),
      random_tensor("c64", 8, 4, function() return { 3, -1 } end), C)
    assert.same({ 20.0, 20.0 }, { C(3, 3) })
  end)

  it("a wgmma reads its operands from shared memory", function()
    math.randomseed(5)
    local A = random_tensor("f16", 64, 16, DRAWS.f16)
    local B = random_tensor("f16", 16, 16, DRAWS.f16)
    for _, name in ipairs { "SM90_64x16x16_F32F16F16_SS", "SM90_64x16x16_F32F16F16_RS" } do
      local C = lutile.make_tensor("f32", { 64, 16 })
      local mma = lutile.make_tiled_mma(name)
      lutile.launch(function()
        local slice = mma:get_slice(lutile.threadIdx.x)
        local rA, rB = slice:partition_fragment_A(A), slice:partition_fragment_B(B)
        if lutile.MMA_Atom(name).a_frag == "value" then lutile.copy(slice:partition_A(A), rA) end
        local rC = slice:partition_fragment_C(C)
        lutile.clear(rC)
        lutile.gemm(mma, rA, rB, rC)
        lutile.copy(rC, slice:partition_C(C))
      end, { block = 128 })
      for i = 0, 63 do
        for j = 0, 15 do assert.equal(exact(A, B, 0, i, j, 16), C(i, j)) end
      end
    end
  end)

  it("SM120 atoms reads narrow numbers in bytes", function()
    local name = "SM120_16x8x32_F32E2M1E3M2F32_TN"
    local function bytes(rows, pattern)
      return random_tensor("u8", rows, 32, function() return pattern end)
    end
    local C = lutile.make_tensor("f32", { 16, 8 })
    run_atom(name, bytes(16, 7 << 2), bytes(8, 12), C) -- 6.0 in e2m1, 1.0 in e3m2
    assert.equal(32 * 6.0, C(0, 0))
  end)
end)
