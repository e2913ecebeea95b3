-- Plans of matrix products on the host: results against double precision, what the checks find, and
-- the time that a product takes.

local lutile = require "lutile"
local report = require "lutile.report"

local make_layout, make_tensor = lutile.make_layout, lutile.make_tensor
local LayoutRight, LayoutLeft = lutile.LayoutRight, lutile.LayoutLeft

local function draw(dtype)
  if dtype == "u4" then return math.random(0, 15) end
  if dtype:match "^[su]" then return math.random(-8, 7) end
  return math.random(-16, 16) / 8
end

local function random_matrix(dtype, rows, columns, order)
  local t = make_tensor(dtype, make_layout({ rows, columns }, order or LayoutRight))
  for i = 0, lutile.size(t) - 1 do t[i] = draw(dtype) end
  return t
end

-- The largest difference between D and alpha A B^T + beta C, elements spread over the matrix.
local function difference(A, B, D, alpha, beta, C)
  local m, n, k = lutile.size(D, 0), lutile.size(D, 1), lutile.size(A, 1)
  local largest = 0
  for i = 0, m * n - 1, math.max(1, m * n // 500) do
    local row, column, sum = i % m, i // m, 0
    for l = 0, k - 1 do sum = sum + A(row, l) * B(column, l) end
    local wanted = (alpha or 1) * sum + (C and beta * C(row, column) or 0)
    largest = math.max(largest, math.abs(wanted - D(row, column)))
  end
  return largest
end

-- Rows of 64 bytes in shared memory with vectors of 16 bytes exchanged, and copies of vectors.
local function swizzled_plan(stages)
  local block = lutile.composition(lutile.Swizzle(2, 3, 3), make_layout({ 8, 32 }, { 32, 1 }))
  local function operand(rows)
    return {
      shared = lutile.tile_to_shape(block, { rows, 32 }),
      copy = make_layout(make_layout({ 4, 32 }, { 8 * rows, 1 }),
        make_layout(make_layout(8, rows), make_layout(rows // 32, 32))),
    }
  end
  return {
    mma = lutile.make_tiled_mma("SM80_16x8x16_F32F16F16F32_TN", make_layout { 2, 2, 1 },
      { 32, 32, 16 }),
    tile = { 64, 96, 32 }, stages = stages, A = operand(64), B = operand(96),
  }
end

describe("host_gemm", function()
  for _, c in ipairs {
    { "SM80_16x8x16_F32F16F16F32_TN", { 2, 2, 1 }, "f32" },
    { "SM80_16x8x8_F32TF32TF32F32_TN", { 1, 4, 1 }, "f32" },
    { "SM80_8x8x4_F64F64F64F64_TN", { 2, 1, 1 }, "f64" },
    { "SM80_16x8x32_S32S8S8S32_TN", { 2, 2, 1 }, "s32" },
    { "SM80_16x8x64_S32S4U4S32_TN", { 1, 1, 1 }, "s32" },
    { "SM89_16x8x32_F32E4M3E5M2F32_TN", { 2, 2, 1 }, "f32" },
    { "SM70_8x8x4_F32F16F16F32_NT", { 2, 2, 1 }, "f32" },
    { "SM90_64x32x16_F32F16F16_SS", { 1, 1, 1 }, "f32" },
    { "SM90_64x16x16_F32BF16BF16_RS", { 1, 2, 1 }, "f32" },
    { "UniversalFMA<f32>", { 8, 4, 1 }, "f32" },
  } do
    it("of a TiledMMA of " .. c[1] .. ", any extents", function()
      math.randomseed(3)
      local mma = lutile.make_tiled_mma(c[1], make_layout(c[2]))
      for _, extents in ipairs { { 65, 33, 70 }, { 3, 40, 1 } } do
        local A = random_matrix(mma.a_type, extents[1], extents[3])
        local B = random_matrix(mma.b_type, extents[2], extents[3], LayoutLeft)
        local D = make_tensor(c[3], { extents[1], extents[2] })
        assert.equal("table", type(lutile.host_gemm(mma, A, B, D)))
        assert.equal(0, difference(A, B, D))
      end
    end)
  end

  it("of complex numbers", function()
    local mma = lutile.make_tiled_mma "SM80_8x8x4_C64C64C64C64_TN"
    local A, B, D = make_tensor("c64", { 9, 5 }), make_tensor("c64", { 7, 5 }),
      make_tensor("c64", { 9, 7 })
    lutile.fill(A, { 1, 2 })
    lutile.fill(B, { 3, -1 })
    lutile.host_gemm(mma, A, B, D)
    assert.same({ 25.0, 25.0 }, { D(8, 6) })
  end)

  for types, expected in pairs {
    ["c64,c64,f32,c64"] = { 15.0, 30.0 }, ["c64,f32,c64,c64"] = { 45.0, -15.0 },
    ["c64,f32,f32,c64"] = { 45.0, 0.0 }, ["gc64,f32,c64,gc64"] = { 45.0, -15.0 },
    ["f32,c64,c64,f32"] = { 15.0 },
  } do
    it("of complex and real numbers: " .. types, function()
      local mma = lutile.make_tiled_mma("UniversalFMA<" .. types .. ">", make_layout { 2, 2 })
      local d, a, b = types:match "(%w+),(%w+),(%w+)"
      local A, B, D = make_tensor(a, { 3, 5 }), make_tensor(b, { 2, 5 }), make_tensor(d, { 3, 2 })
      lutile.fill(A, a == "c64" and { 1, 2 } or 3)
      lutile.fill(B, b == "c64" and { 3, -1 } or 3)
      lutile.host_gemm(mma, A, B, D)
      assert.same(expected, { D(2, 1) })
    end)
  end

  it("of s32, modulo 2^32 though products have 62 bits", function()
    local mma = lutile.make_tiled_mma("UniversalFMA<s32>", make_layout { 2, 2 })
    local A, B, D = make_tensor("s32", { 3, 3 }), make_tensor("s32", { 2, 3 }),
      make_tensor("s32", { 3, 2 })
    lutile.fill(A, 2147483647)
    lutile.fill(B, -2147483645)
    lutile.host_gemm(mma, A, B, D)
    assert.equal(-9, D(2, 1)) -- 3 * (2^31 - 1) * (3 - 2^31)
  end)

  it("adds to C, scaled, into D of another type and layout", function()
    local plan = swizzled_plan(2)
    local A, B = random_matrix("f16", 70, 50), random_matrix("f16", 101, 50)
    local C, D = random_matrix("f16", 70, 101), make_tensor("f64", { 70, 101 })
    lutile.host_gemm(plan, A, B, D, { C = C, alpha = 0.5, beta = -2 })
    assert.equal(0, difference(A, B, D, 0.5, -2, C))
    lutile.host_gemm(plan, A, B, D, { alpha = 2, checks = false })
    assert.equal(0, difference(A, B, D, 2))
  end)

  it("goes around the ring of stages, whatever their number", function()
    for stages = 1, 5 do
      local A, B = random_matrix("f16", 64, 200), random_matrix("f16", 96, 200)
      local D = make_tensor("f32", { 64, 96 })
      lutile.host_gemm(swizzled_plan(stages), A, B, D)
      assert.equal(0, difference(A, B, D))
    end
  end)

  it("counts what the hardware would do", function()
    local A, B = random_matrix("f16", 64, 64), random_matrix("f16", 96, 64)
    local plan, D = swizzled_plan(2), make_tensor("f32", { 64, 96 })
    local counted = lutile.host_gemm(plan, A, B, D)
    assert.equal(2 * 64 * 96 * 64, counted.operations)
    assert.equal(2 * (64 + 96) * 32 * 2, counted.shared_bytes)
    assert.equal(4 * 48 + 2 * (32 + 48), counted.register_bytes)
    assert.equal(0, report.totals(counted).conflicts)
    plan.A.shared, plan.B.shared = nil, nil -- rows of 64 bytes one behind the other
    assert(report.totals(lutile.host_gemm(plan, A, B, D)).conflicts > 0)
    assert.is_nil(lutile.host_gemm(plan, A, B, D, { checks = false }))
  end)

  it("names an element that no copy brings", function()
    local plan = swizzled_plan(2)
    plan.A.copy = make_layout(make_layout({ 4, 32 }, { 8 * 64, 1 }), make_layout(8, 64))
    assert.error_matches(function()
      lutile.host_gemm(plan, random_matrix("f16", 64, 64), random_matrix("f16", 96, 64),
        make_tensor("f32", { 64, 96 }))
    end, "host_gemm: A in shared memory%(%(0,4%),%(0,0%)%) is read before anything was written "
      .. "there %[thread %(%d+,0,0%) of block %(0,0,0%)%]$")
  end)

  it("names two threads that copy the same element", function()
    local plan = swizzled_plan(2)
    plan.A.copy = make_layout(make_layout({ 4, 32 }, { 8 * 64, 1 }),
      make_layout(make_layout(8, 64), make_layout(2, 31)))
    assert.error_matches(function()
      lutile.host_gemm(plan, random_matrix("f16", 64, 64), random_matrix("f16", 96, 64),
        make_tensor("f32", { 64, 96 }))
    end, "host_gemm: A in shared memory%(%(7,3%),%(0,0%)%) is written here while the cp.async of "
      .. "thread %(0,0,0%) at copy of A that writes it is in flight.* %[thread %(124,0,0%)")
  end)

  it("refuses what is no plan", function()
    local plan = swizzled_plan(2)
    local A, D = random_matrix("f16", 64, 64), make_tensor("f32", { 64, 64 })
    local function message(change, ...)
      local changed = setmetatable({}, { __index = error })
      for k, v in pairs(plan) do changed[k] = v end
      for k, v in pairs(change) do changed[k] = v end
      local succeeded, text = pcall(lutile.host_gemm, changed, A, A, D, ...)
      assert.is_false(succeeded)
      return text
    end
    assert.matches("a TiledMMA, or a plan with one as its field mma, expected",
      message { mma = "no" })
    assert.matches("a block's tile %(65,96,32%) is no multiple of the TiledMMA's %(32,32,16%)",
      message { tile = { 65, 96, 32 } })
    assert.matches("tile of the plan holds whole numbers from 1 to", message { tile = { 64, 96 } })
    assert.matches("A in shared memory has the layout .*, which is not that of a block's tile",
      message { A = { shared = make_layout(64, 31) } })
    assert.matches("A.copy of the plan is no layout but a number", message { A = { copy = 3 } })
    assert.matches("the copies of A, 4:1, are no layout %(thread, value%)",
      message { A = { copy = make_layout(4) } })
    assert.matches("take more threads than the block has",
      message { A = { copy = make_layout({ 256, 8 }) } })
    assert.matches("take 163840 bytes of shared memory, where a block can have 101376",
      message({ stages = 16 }, { arch = 89 }))
    assert.matches("host_gemm: no architecture 17", message({}, { arch = 17 }))
    assert.error_matches(function()
      lutile.host_gemm(plan, A, A, make_tensor("f32", { 64, 65 }))
    end, "host_gemm: A %(64,64%), B %(64,64%) and D %(64,65%) are not %(M,K%), %(N,K%) and %(M,N%)")
    assert.error_matches(function()
      lutile.host_gemm(lutile.make_tiled_mma("SM80_16x8x8_F32F16F16F32_TN",
        make_layout { 1, 1, 2 }), A, A, D)
    end, "has atoms side by side in K, whose sums nobody adds up")
  end)

  it("is right for 512 x 512 x 512 through 16x8x16 atoms, with checks and without", function()
    local plan = swizzled_plan(3)
    plan.tile = { 128, 128, 32 }
    for _, name in ipairs { "A", "B" } do
      plan[name] = { shared = lutile.tile_to_shape(lutile.composition(lutile.Swizzle(2, 3, 3),
        make_layout({ 8, 32 }, { 32, 1 })), { 128, 32 }) }
    end
    local A, B = random_matrix("f16", 512, 512), random_matrix("f16", 512, 512)
    local D = make_tensor("f32", { 512, 512 })
    for _, checks in ipairs { false, true } do
      lutile.host_gemm(plan, A, B, D, { checks = checks })
      assert.equal(0, difference(A, B, D))
    end
  end)
end)
