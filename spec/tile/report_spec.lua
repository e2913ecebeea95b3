-- What a launch counts: sectors, wavefronts and bank conflicts, registers, operations.

local lutile = require "lutile"
local report = require "lutile.report"

local threadIdx = lutile.threadIdx

-- The report's accesses of one kind, summed over the script's lines.
local function sum(r, space, access, field)
  local total = 0
  for _, a in ipairs(r.accesses) do
    if a.space == space and a.access == access then total = total + a[field] end
  end
  return total
end

-- A transpose of 32 x 32 through shared memory with the given layout.
local function transpose(layout)
  local N = 32
  local A = lutile.make_tensor("f32", lutile.make_layout({ N, N }, lutile.LayoutRight))
  local B = lutile.make_tensor("f32", lutile.make_layout({ N, N }, lutile.LayoutRight))
  for i = 0, N * N - 1 do A[i] = i end
  local r = lutile.launch(function()
    local s = lutile.make_tensor(lutile.make_smem_ptr("f32", lutile.cosize(layout)), layout)
    for i = 0, N - 1 do s[{ i, threadIdx.x }] = A(i, threadIdx.x) end
    lutile.sync()
    for i = 0, N - 1 do B[{ i, threadIdx.x }] = s(threadIdx.x, i) end
  end, { block = N })
  for i = 0, N - 1 do
    for j = 0, N - 1 do assert.equal(A(i, j), B(j, i)) end
  end
  return r
end

describe("a launch's report", function()
  it("counts a naive transpose's conflicts: every read hits one bank", function()
    local r = transpose(lutile.parse "(32,32):(32,1)")
    assert.equal(32, sum(r, "shared", "write", "wavefronts"))
    assert.equal(0, sum(r, "shared", "write", "conflicts"))
    assert.equal(32 * 32, sum(r, "shared", "read", "wavefronts"))
    assert.equal(31 * 32, sum(r, "shared", "read", "conflicts"))
    assert.equal(4096, r.shared_bytes)
  end)

  it("finds none with padding, nor with a swizzle", function()
    for _, text in ipairs { "(32,32):(33,1)", "Sw<5,0,5> o 0 o (32,32):(32,1)" } do
      local totals = report.totals(transpose(lutile.parse(text)))
      assert.equal(0, totals.conflicts)
      assert.equal(64, totals.wavefronts)
    end
  end)

  -- One load by each of 32 threads, at the offsets that a layout gives.
  local function load(dtype, layout, space)
    local make = space == "shared" and lutile.make_smem_ptr or lutile.make_gmem_ptr
    local data = make(dtype, 4096)
    return lutile.launch(function()
      local memory = space == "shared" and make(dtype, 4096) or data
      if space == "shared" then
        if threadIdx.x == 0 then lutile.clear(lutile.make_tensor(memory, 4096)) end
        lutile.sync()
      end
      local t = lutile.make_tensor(memory, layout)
      return t(threadIdx.x) + 0
    end, { block = 32 })
  end

  it("counts sectors of 32 bytes", function()
    for _, c in ipairs {
      { "f32", "32:1", 4, 4, why = "neighbours" },
      { "f32", "32:2", 8, 4, why = "every other one" },
      { "f32", "32:8", 32, 4, why = "a sector each" },
      { "f32", "32:0", 1, 1, why = "one for all" },
      { "f16", "32:1", 2, 2, why = "two bytes each" },
      { "f64", "32:1", 8, 8, why = "eight bytes each" },
    } do
      local r = load(c[1], lutile.parse(c[2]), "global")
      assert.equal(c[3], sum(r, "global", "read", "sectors"), c.why)
      assert.equal(c[4], sum(r, "global", "read", "needed_sectors"), c.why)
    end
  end)

  it("counts passes over the 32 banks", function()
    for _, c in ipairs {
      { "f32", "32:1", 1, why = "a bank each" },
      { "f32", "32:2", 2, why = "every other bank" },
      { "f32", "32:32", 32, why = "one bank" },
      { "f32", "32:33", 1, why = "one bank further each" },
      { "f32", "32:0", 1, why = "one word for all" },
      { "f16", "32:1", 1, why = "two threads a word" },
      { "f64", "32:1", 2, why = "half warps" },
    } do
      local r = load(c[1], lutile.parse(c[2]), "shared")
      assert.equal(c[3], sum(r, "shared", "read", "wavefronts"), c.why)
    end
  end)

  it("joins elements to vectors where layouts are static and contiguous", function()
    local A = lutile.make_tensor("f32", lutile.make_layout({ 32, 4 }, lutile.LayoutRight))
    local function requests(make_shape)
      local r = lutile.launch(function()
        local view = lutile.make_tensor(A, make_shape())
        local fragment = lutile.make_tensor("f32", 4)
        lutile.copy(view(threadIdx.x, lutile._), fragment)
      end, { block = 32 })
      return sum(r, "global", "read", "requests")
    end
    assert.equal(1, requests(function() return lutile.parse "(32,4):(4,1)" end))
    assert.equal(4, requests(function() return lutile.parse "(32,4):(1,32)" end))
    assert.equal(4, requests(function() return lutile.parse "(32,?4):(4,1)" end))
  end)

  it("counts registers by place, and an atom's operations", function()
    local mma = lutile.make_tiled_mma "SM80_16x8x16_F32F16F16F32_TN"
    local r = lutile.launch(function()
      local slice = mma:get_slice(threadIdx.x)
      local rC = slice:partition_fragment_C(lutile.make_layout { 16, 16 })
      lutile.clear(rC)
      for _ = 1, 3 do
        local rA = slice:partition_fragment_A(lutile.make_layout { 16, 32 })
        local rB = slice:partition_fragment_B(lutile.make_layout { 16, 32 })
        lutile.clear(rA)
        lutile.clear(rB)
        lutile.gemm(mma, rA, rB, rC)
      end
    end, { block = 32 })
    assert.equal(2 * 16 * 16 * 32 * 3, r.operations)
    assert.equal(8 * 4 + 16 * 2 + 16 * 2, r.register_bytes)
  end)

  it("is a table of text", function()
    local text = report.format(transpose(lutile.parse "(32,32):(32,1)"))
    assert.matches("where +space +access +requests +bytes +cost +least +saves\n", text)
    assert.matches("report_spec.lua:%d+ +shared +read +32 +4096 +1024 wavefronts +32 +<%- 97%%\n",
      text)
    assert.matches("shared: 1056 wavefronts, 992 of them bank conflicts; global: 256 sectors, "
      .. "256 needed; 0 operations$", text)
  end)

  it("says when a thread's fragments are more than its registers", function()
    local r = lutile.launch(function() return lutile.make_tensor("f32", 300) end, {})
    assert.matches("1200 bytes of registers a thread %(300 registers%).*\n"
      .. "<%- a thread can have 255 registers: 45 of its fragments' would spill to local memory\n",
      report.format(r))
    r = lutile.launch(function() return lutile.make_tensor("f32", 255) end, {})
    assert.no.matches("spill", report.format(r))
  end)

  it("is left out with the checks", function()
    assert.is_nil(lutile.launch(function() end, { checks = false }))
    assert.error_matches(function() lutile.report(nil) end,
      "report: what launch returns expected %(nil if it ran without checks%)$")
  end)
end)
