-- MMA atoms with block scales: every number of A and B times the scale of its block of K, against
-- the same in double precision.

local lutile = require "lutile"

local make_layout, make_tensor = lutile.make_layout, lutile.make_tensor

-- Value of a pattern of a narrow floating format.
local function decode(pattern, exponent_bits, mantissa_bits, bias)
  local mantissa = pattern & (1 << mantissa_bits) - 1
  local exponent = pattern >> mantissa_bits & (1 << exponent_bits) - 1
  local sign = pattern >> (exponent_bits + mantissa_bits) & 1 == 1 and -1 or 1
  if exponent == 0 then return sign * mantissa * 2.0 ^ (1 - bias - mantissa_bits) end
  return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ^ (exponent - bias)
end

-- Bits, fields, and where the number stands in its container of 8 bits.
local FORMATS = {
  E2M1 = { 4, 2, 1, 1, shift = 2 }, E2M3 = { 6, 2, 3, 1, shift = 0 },
  E3M2 = { 6, 3, 2, 3, shift = 0 }, E4M3 = { 8, 4, 3, 7, shift = 0 },
  E5M2 = { 8, 5, 2, 15, shift = 0 },
}

-- A number other than NaN and infinity: its pattern and its value.
local function draw(format)
  local bits, exponent, mantissa, bias = table.unpack(FORMATS[format])
  local pattern = math.random(0, (1 << bits) - 1)
  if bits == 8 then pattern = pattern & ~(1 << (bits - 2)) end
  return pattern, decode(pattern, exponent, mantissa, bias)
end

local function random_operand(format, container, rows, K)
  local t, values = make_tensor(container, { rows, K }), {}
  for i = 0, rows * K - 1 do
    local pattern, value = draw(format)
    t[i] = container == "u4" and pattern or pattern << FORMATS[format].shift
    values[i] = value
  end
  return t, values
end

-- Scales (rows, K / vector), and the view of them as (rows, K).
local function random_scales(dtype, rows, K, vector)
  local t = make_tensor(dtype, { rows, K // vector })
  for i = 0, lutile.size(t) - 1 do
    t[i] = dtype == "ue8m0" and 2.0 ^ math.random(-8, 8) or math.random(1, 16) / 8
  end
  return t, make_tensor(t, make_layout({ rows, { vector, K // vector } }, { 1, { 0, rows } }))
end

local function run(mma, A, SFA, B, SFB, C, spoil)
  lutile.launch(function()
    local slice = mma:get_slice(lutile.threadIdx.x)
    local rA, rB = slice:partition_fragment_A(A), slice:partition_fragment_B(B)
    local rSFA, rSFB = slice:partition_fragment_SFA(SFA), slice:partition_fragment_SFB(SFB)
    local rC = slice:partition_fragment_C(C)
    lutile.copy(slice:partition_A(A), rA)
    lutile.copy(slice:partition_B(B), rB)
    lutile.copy(slice:partition_SFA(SFA), rSFA)
    lutile.copy(slice:partition_SFB(SFB), rSFB)
    lutile.clear(rC)
    if spoil then
      spoil(rA, rSFA, rB, rSFB, rC)
    else
      lutile.gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
    end
    lutile.copy(rC, slice:partition_C(C))
  end, { block = lutile.size(mma) })
end

describe("the arithmetic of", function()
  for _, name in ipairs {
    "SM120_16x8x32_F32E2M1E2M1F32_UE8M0_VS32_TN", "SM120_16x8x32_F32E4M3E5M2F32_UE8M0_VS32_TN",
    "SM120_16x8x32_F32E3M2E2M3F32_UE8M0_VS32_TN", "SM120_16x8x64_F32E2M1E2M1F32_UE8M0_VS32_TN",
    "SM120_16x8x64_F32E2M1E2M1F32_UE8M0_VS16_TN", "SM120_16x8x64_F32E2M1E2M1F32_UE4M3_VS32_TN",
    "SM120_16x8x64_F32E2M1E2M1F32_UE4M3_VS16_TN",
  } do
    it(name .. " scales blocks, in one atom and in several", function()
      math.randomseed(17)
      local format_a, format_b = name:match "_F32(E%dM%d)(E%dM%d)F32"
      local mma = lutile.make_tiled_mma(name, make_layout { 2, 1, 1 })
      local vector = mma.sf_vec
      local M, N, K = 32, 16, 2 * mma.shape_mnk[2]
      local A, a = random_operand(format_a, mma.a_type, M, K)
      local B, b = random_operand(format_b, mma.b_type, N, K)
      local sfa, SFA = random_scales(mma.sf_type, M, K, vector)
      local sfb, SFB = random_scales(mma.sf_type, N, K, vector)
      local C = make_tensor("f32", { M, N })
      run(mma, A, SFA, B, SFB, C)
      for m = 0, M - 1 do
        for n = 0, N - 1 do
          local sum, magnitude = 0, 0
          for k = 0, K - 1 do
            local x = a[m + M * k] * sfa(m, k // vector) * b[n + N * k] * sfb(n, k // vector)
            sum, magnitude = sum + x, magnitude + math.abs(x)
          end
          assert(math.abs(sum - C(m, n)) <= 1e-6 * magnitude)
        end
      end
    end)
  end
end)

describe("gemm over an atom with block scales", function()
  local NAME = "SM120_16x8x64_F32E2M1E2M1F32_UE4M3_VS16_TN"
  local mma = lutile.make_tiled_mma(NAME)

  local function message_of(spoil)
    local _, SFA = random_scales("ue4m3", 16, 64, 16)
    local _, SFB = random_scales("ue4m3", 8, 64, 16)
    local succeeded, message = pcall(run, mma, random_operand("E2M1", "u4", 16, 64), SFA,
      random_operand("E2M1", "u4", 8, 64), SFB, make_tensor("f32", { 16, 8 }), spoil)
    assert.is_false(succeeded)
    return message
  end

  it("wants the scales of both operands", function()
    assert.matches("gemm: " .. NAME .. " takes block scales: {a, sfa} in place of a, {b, sfb} of b",
      message_of(function(a, sfa, b, _, c) lutile.gemm(mma, { a, sfa }, b, c) end))
    assert.matches("gemm: SM80_.* takes no block scales", message_of(function(_, sfa, _, _, c)
      local plain = lutile.make_tiled_mma "SM80_16x8x8_F32F16F16F32_TN"
      local a, b = make_tensor("f16", { { 2, 2 }, 1, 1 }), make_tensor("f16", { 2, 1, 1 })
      lutile.clear(a)
      lutile.clear(b)
      lutile.gemm(plain, { a, sfa }, { b, sfa }, c)
    end))
    assert.matches("gemm: without an atom there are no block scales",
      message_of(function(a, sfa, b, sfb, c) lutile.gemm({ a, sfa }, { b, sfb }, c) end))
  end)

  it("names scales that do not fit, and those that were not written", function()
    assert.matches("gemm: sfb is f32, where " .. NAME .. " takes ue4m3",
      message_of(function(a, sfa, b, sfb, c)
        lutile.gemm(mma, { a, sfa }, { b, lutile.convert(sfb, "f32") }, c)
      end))
    assert.matches("gemm: fresh%(.*%) is read before anything was written there %[thread %(0,0,0%)",
      message_of(function(a, sfa, b, sfb, c)
        local fresh = lutile.make_fragment_like(sfa)
        lutile.gemm(mma, { a, fresh }, { b, sfb }, c)
      end))
  end)

  it("has partitions of scales only where the atom has scales", function()
    local plain = lutile.make_tiled_mma "SM80_16x8x8_F32F16F16F32_TN"
    assert.error_matches(function()
      plain:get_slice(0):partition_SFA(make_layout { 16, 8 })
    end, "thrfrg: the atom has no block scales")
    assert.error_matches(function()
      plain:get_slice(0):make_fragment_SFA(make_layout { 16, 8 })
    end, "has no block scales")
  end)
end)
