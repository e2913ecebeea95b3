-- Matrix instructions of AMD (CDNA3's MFMA, RDNA3's WMMA) and Intel (AMX, Xe's DPAS): the vendors'
-- register tables, and products through them.

local lutile = require "lutile"

-- The lane that holds A's element (i, k) and B's element (k, j) of an MFMA instruction, and where
-- in its registers, by AMD's formula; lanes go along i (or j), then along runs of K.
local function mfma_input(extent, k_extent, i, k)
  local run = k_extent // (64 // extent)
  return i + extent * (k // run), k % run
end

-- The same for element (i, j) of the output: four rows a lane, but one of four in double precision.
local function mfma_output(extent, dtype, i, j)
  if dtype == "f64" then return j + 16 * (i % 4), i // 4 end
  local lanes = 64 // extent
  return j + extent * (i // 4 % lanes), i % 4 + 4 * (i // (4 * lanes))
end

local function mfma_atoms()
  local names = {}
  for name in lutile.mma_atoms() do
    if name:find "^CDNA3_" then names[#names + 1] = name end
  end
  return names
end

describe("MFMA atoms", function()
  it("are the dense ones of CDNA3", function()
    assert.equal(19, #mfma_atoms())
  end)

  for _, name in ipairs(mfma_atoms()) do
    it("hold what AMD's tables say: " .. name, function()
      local atom = lutile.MMA_Atom(name)
      local m, n, k = atom.shape_mnk[0], atom.shape_mnk[1], atom.shape_mnk[2]
      for i = 0, m - 1 do
        for x = 0, k - 1 do
          assert.equal(i + m * x, atom.a_layout(mfma_input(m, k, i, x)))
          assert.equal(i + n * x, atom.b_layout(mfma_input(n, k, i, x)))
        end
        for j = 0, n - 1 do
          assert.equal(i + m * j, atom.c_layout(mfma_output(m, atom.c_type, i, j)))
        end
      end
    end)
  end
end)

-- c = a * b by the atom's threads, and the same by hand.
local function check_product(name, block, layout, extents)
  local mma = lutile.make_tiled_mma(name, layout)
  local M, N, K = extents[1], extents[2], extents[3]
  local A = lutile.make_tensor(mma.a_type, lutile.make_layout({ M, K }, lutile.LayoutRight))
  local B = lutile.make_tensor(mma.b_type, lutile.make_layout { N, K })
  local C = lutile.make_tensor(mma.c_type, lutile.make_layout({ M, N }, lutile.LayoutRight))
  local least = mma.a_type == "u8" and 0 or -4
  for k = 0, K - 1 do
    for m = 0, M - 1 do A[{ m, k }] = (m * 5 + k * 3) % 9 + least end
    for n = 0, N - 1 do B[{ n, k }] = (n * 7 + k) % 5 end
  end
  lutile.launch(function()
    local slice = mma:get_slice(lutile.threadIdx.x)
    local a, b = slice:partition_fragment_A(A), slice:partition_fragment_B(B)
    local c = slice:partition_fragment_C(C)
    lutile.copy(slice:partition_A(A), a)
    lutile.copy(slice:partition_B(B), b)
    lutile.clear(c)
    lutile.gemm(mma, a, b, c)
    lutile.copy(c, slice:partition_C(C))
  end, { block = block })
  for m = 0, M - 1 do
    for n = 0, N - 1 do
      local sum = 0
      for k = 0, K - 1 do sum = sum + A(m, k) * B(n, k) end
      assert.equal(sum, C(m, n))
    end
  end
end

describe("products", function()
  it("by wavefronts", function()
    check_product("CDNA3_32x32x8_F32F16F16F32", 64, nil, { 64, 32, 16 })
    check_product("CDNA3_16x16x4_F64F64F64F64", 128, lutile.make_layout { 2, 1, 1 }, { 32, 32, 8 })
    check_product("CDNA3_16x16x32_S32S8S8S32", 256, lutile.make_layout { 2, 2, 1 }, { 32, 32, 32 })
    check_product("CDNA3_32x32x16_F32E4M3FNUZE5M2FNUZF32", 64, nil, { 32, 32, 32 })
  end)

  it("by waves of 32 lanes", function()
    for _, types in ipairs { "F32F16F16F32", "F32BF16BF16F32", "S32S8U8S32" } do
      check_product("RDNA3_16x16x16_" .. types, 64, lutile.make_layout { 1, 2, 1 }, { 16, 32, 48 })
    end
  end)

  it("by subgroups of 16 lanes", function()
    for name in lutile.mma_atoms() do
      local shape = name:find "^XE_" and lutile.MMA_Atom(name).shape_mnk
      if shape then
        check_product(name, 32, lutile.make_layout { 2, 1, 1 },
          { 4 * shape[0], shape[1], 2 * shape[2] })
      end
    end
  end)

  it("by tile registers", function()
    check_product("AMX_16x16x32_F32BF16BF16F32", 1, nil, { 32, 16, 64 })
    check_product("AMX_16x16x64_S32U8S8S32", 1, nil, { 16, 32, 64 })
  end)
end)

describe("WMMA atoms of RDNA3", function()
  it("hold rows and columns twice, and every other row of the output", function()
    for name in lutile.mma_atoms() do
      local atom = name:find "^RDNA3_" and lutile.MMA_Atom(name)
      for lane = 0, atom and 31 or -1 do
        for k = 0, 15 do
          assert.equal(lane % 16 + 16 * k, atom.a_layout(lane, k))
          assert.equal(lane % 16 + 16 * k, atom.b_layout(lane, k))
        end
        for i = 0, 7 do
          assert.equal(2 * i + lane // 16 + 16 * (lane % 16), atom.c_layout(lane, i))
        end
      end
    end
  end)
end)

describe("DPAS atoms of Xe", function()
  it("hold a column of B and C in each lane, and of A as many as fill its words", function()
    for name in lutile.mma_atoms() do
      local atom = name:find "^XE_" and lutile.MMA_Atom(name)
      for lane = 0, atom and 15 or -1 do
        local m, k_extent = atom.shape_mnk[0], atom.shape_mnk[2]
        for k = 0, k_extent - 1 do assert.equal(lane + 16 * k, atom.b_layout(lane, k)) end
        for i = 0, m - 1 do assert.equal(i + m * lane, atom.c_layout(lane, i)) end
        for value = 0, m * k_extent // 16 - 1 do
          local at = atom.a_layout(lane, value)
          local columns = k_extent // 16 -- 0: two lanes share one
          assert.equal(columns == 0 and lane % 8 or columns * lane + value % columns, at // m)
        end
      end
    end
  end)
end)

describe("AMX atoms", function()
  it("hold rows of 64 bytes, B's of 2 or 4 rows of the matrix", function()
    for name in lutile.mma_atoms() do
      local atom = name:find "^AMX_" and lutile.MMA_Atom(name)
      if atom then
        local k_extent = atom.shape_mnk[2]
        local pack = k_extent // 16
        for i = 0, 15 do
          for k = 0, k_extent - 1 do
            assert.equal(i + 16 * k, atom.a_layout(0, i * k_extent + k))
            assert.equal(i + 16 * k,
              atom.b_layout(0, k // pack * k_extent + i * pack + k % pack))
          end
          for j = 0, 15 do assert.equal(i + 16 * j, atom.c_layout(0, i * 16 + j)) end
        end
      end
    end
  end)
end)
