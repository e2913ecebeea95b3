-- The MMAs that a plan by mma.sync writes: each pair of atoms once, on its own registers.

local lutile = require "lutile"
local gemm_sm80 = require "lutile.plan.gemm_sm80"

-- The asm of each quarter of a k-step, without the seams of its strings, and its operands.
local function quarters(block)
  local body, list = block:match "DEVICE void multiply%b() (%b{})", {}
  for number, asm in body:gmatch "quarter == (%d)%)%s*asm volatile(%b())" do
    local text, operands = asm:gsub('"%s*"', ""), {}
    for word in text:gmatch '"[rl]"(%b())' do operands[#operands + 1] = word:sub(2, -2) end
    list[#list + 1] = { number = math.tointeger(number), text = text, operands = operands }
  end
  return list
end

-- The number of an atom along a mode, of whose 'count' registers the list {%...} has all.
local function atom_of(list, operands, name, count)
  local first, at = nil, 0
  for number in list:gmatch "%%(%d+)" do
    local index = math.tointeger(operands[number + 1]:match("%f[%w]" .. name .. "%[(%d+)%]"))
    first = first or index
    assert.equal(first + at, index)
    at = at + 1
  end
  assert.equal(count, at)
  assert.equal(0, first % count)
  return first // count
end

-- How often each pair of atoms is multiplied into its own sums.
local function count_products(p)
  local counts = {}
  for _, q in ipairs(quarters(p:block())) do
    local from_m = q.number >= 2 and p.early[1] or 0
    local from_n = q.number % 2 == 1 and p.early[2] or 0
    for d, a, b, c in q.text:gmatch "mma%.sync%S+ (%b{}), (%b{}), (%b{}), (%b{});" do
      local m = from_m + atom_of(a, q.operands, "a", p.words_of_a)
      local n = from_n + atom_of(b, q.operands, "b", p.words_of_b)
      local first = (m + n * p.atoms[1]) * p.words_of_c
      local sums = {}
      for w = 0, p.words_of_c - 1 do sums[w + 1] = "sum" .. first + w end
      assert.equal("{" .. table.concat(sums, ", ") .. "}", d)
      assert.equal(d, c)
      local pair = m .. " " .. n
      counts[pair] = (counts[pair] or 0) + 1
    end
  end
  return counts
end

local CASES = {
  ["registers of two k-steps"] = { dtype = "f16", tile = { 128, 256, 64 }, warps = { 2, 4 } },
  ["f64"] = { dtype = "f64", tile = { 64, 64, 16 } },
  ["halves of a k-step"] = { dtype = "f16", tile = { 128, 128, 32 },
    vector = { A = 2, B = 2 } },
  ["an odd number of atoms"] = { dtype = "s8", tile = { 96, 80, 64 }, vector = { A = 4, B = 4 } },
  ["one atom"] = { dtype = "f16", tile = { 32, 16, 32 }, arch = 75 },
  ["sums of f16"] = { dtype = "f16", acc = "f16", tile = { 64, 64, 32 } },
  ["fp8 as f16"] = { dtype = "e4m3", dtype_b = "e5m2", tile = { 64, 64, 64 }, arch = 90,
    times = 2 },
}

describe("MMAs of gemm_sm80", function()
  for what, options in pairs(CASES) do
    it("multiply each pair of atoms once: " .. what, function()
      local p = gemm_sm80.new(options)
      local counts = count_products(p)
      for m = 0, p.atoms[1] - 1 do
        for n = 0, p.atoms[2] - 1 do
          local pair = m .. " " .. n
          assert.equal(options.times or 1, counts[pair], pair)
          counts[pair] = nil
        end
      end
      assert.is_nil(next(counts))
    end)
  end

  it("take registers of two k-steps, or halves of one", function()
    local p = gemm_sm80.new(CASES["registers of two k-steps"])
    assert.is_true(p.doubles)
    assert.same({ p.atoms[1], p.atoms[2] - 2 }, p.early) -- ldmatrix gives B of two atoms
    p = gemm_sm80.new(CASES["halves of a k-step"])
    assert.is_false(p.doubles)
    assert.same({ p.atoms[1] // 2, p.atoms[2] // 2 }, p.early)
  end)

  it("are of fp8 where mma.sync has it", function()
    local function block(arch)
      return lutile.plan.gemm { dtype = "e4m3", M = 64, N = 64, K = 64, arch = arch,
        template = "gemm_sm80.cu" }:block()
    end
    assert.truthy(block(89):find("m16n8k32.row.col.f32.e4m3.e4m3.f32", 1, true))
    assert.truthy(block(90):find("mma::unpack_e4m3(a[0], 1)", 1, true))
    assert.truthy(block(120):find("m16n8k32.row.col.f32.e4m3.e4m3.f32", 1, true))
  end)
end)
