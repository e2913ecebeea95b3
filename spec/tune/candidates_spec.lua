-- Plans to choose from, and what prunes them.

local candidates = require "lutile.tune.candidates"
local gemm = require "lutile.plan.gemm"

local function model(more)
  local options = { M = 4096, N = 4096, K = 4096, dtype = "f16", arch = 90, multiprocessors = 132,
    template = "gemm_sm80.cu" }
  for k, v in pairs(more or {}) do options[k] = v end
  return gemm.plan(options)
end

describe("the product of options and values", function()
  it("has each of each", function()
    assert.same({ { a = 1, b = "x" }, { a = 1, b = "y" }, { a = 2, b = "x" }, { a = 2, b = "y" } },
      candidates.product { b = { "x", "y" }, a = { 1, 2 } })
    assert.same({ {} }, candidates.product {})
  end)
end)

describe("candidates", function()
  it("are a script's", function()
    local list = { { stages = 2 }, { stages = 3 } }
    assert.equal(list, candidates.describe(model(), list))
    assert.same(list, candidates.describe(model(), { stages = { 2, 3 } }))
  end)

  it("are else the space around the plan, without what a script says", function()
    local free = candidates.describe(model())
    local held = candidates.describe(model { stages = 3 })
    assert.is_true(#free > 100 and #held == #free // 3)
    assert.is_nil(held[1].stages)
  end)

  for what, message in pairs {
    [5] = "candidates: a table expected, got number",
    [{ 5 }] = "candidates: number 1 is a number, not a table of options",
    [{ stages = 5 }] = "candidates: option 'stages' has no list of values",
    [{ stages = {} }] = "candidates: option 'stages' has no list of values",
  } do
    it("are refused: " .. message, function()
      assert.has_error(function() candidates.describe(model(), what) end, message)
    end)
  end

  it("must be said for kernels of which nothing is known", function()
    local p = model()
    p.template = "other.cu"
    assert.has_error(function() candidates.describe(p) end,
      "nothing is known of what to try for other.cu: candidates = {...} would say")
  end)
end)

-- Reasons by text of those that are pruned, and how many are not.
local function prune(list, more)
  local reasons, plans = {}, {}
  for _, c in ipairs(candidates.prune(model(more), list)) do
    if c.plan then plans[#plans + 1] = c.text else reasons[#reasons + 1] = c.pruned end
    assert.not_equal(c.plan == nil, c.pruned == nil)
  end
  return reasons, plans
end

describe("pruning", function()
  it("starts with the model's plan, and has none twice", function()
    local reasons, plans = prune { { stages = 3 }, { stages = 2 }, { stages = 2 }, { blocks = 1 } }
    assert.same({}, reasons)
    local rest = ", template gemm_sm80.cu, tile 128x256x64, warps 2x4"
    assert.same({ "blocks 1, group 8, stages 3" .. rest, "blocks 1, group 8, stages 2" .. rest },
      plans)
  end)

  for why, changes in pairs {
    ["stages is 0, where a positive integer is needed"] = { stages = 0 },
    ["stages is 1, and 2 are needed at least: one is read while"] = { stages = 1 },
    ["no option 'colour' (there are"] = { colour = 1 },
    ["6 stages of A and B have 294912 bytes of shared memory, where a block of compute capability "
      .. "9.0 has 232448"] = { tile = { 128, 256, 64 }, stages = 6 },
    ["N of the tile is 8: a multiple of 32 is needed, by the atom and the warps"] =
      { tile = { 128, 8, 64 }, warps = { 2, 4 } },
    ["256 registers of sums and 48 of A and B for a thread of 2x2 warps, which has 255"] =
      { tile = { 128, 256, 64 }, warps = { 2, 2 } },
    ["128 registers of sums and 32 of A and B for a thread of 2x4 warps, which has 128"] =
      { tile = { 128, 256, 32 }, blocks = 2 },
    ["blocks: 2 of 131072 bytes of shared memory each, where a multiprocessor has room for 1"] =
      { tile = { 128, 128, 64 }, warps = { 2, 2 }, blocks = 2, stages = 4 },
    ["tile: each element is copied 2.7 times as often as in the model's choice"] =
      { tile = { 64, 64, 64 }, warps = { 2, 2 } },
  } do
    it("says why: " .. why, function()
      local reasons = prune { changes }
      assert.equal(1, #reasons)
      assert.equal(why, reasons[1]:sub(1, #why))
    end)
  end

  it("leaves out tiles that leave the chip idle", function()
    local reasons = prune({ { tile = { 128, 256, 64 }, warps = { 2, 4 } } },
      { M = 512, N = 512 })
    assert.same({ "tile: 8 tiles for 132 multiprocessors, and 64 in the model's choice" }, reasons)
  end)

  it("leaves out layouts with more bank conflicts than the model's", function()
    local reasons = prune({ { tile = { 64, 64, 8 }, warps = { 2, 2 } } }, { dtype = "f64" })
    assert.same({ "bank conflicts: loads of A pass 2.0 times as often as they need, and 1.0 times "
      .. "in the model's choice" }, reasons)
  end)
end)

describe("candidates for Hopper", function()
  local function hopper(more)
    local options = { template = "gemm_sm90.cu" }
    for k, v in pairs(more or {}) do options[k] = v end
    return model(options)
  end

  it("are tiles, turns and clusters, of its own template alone", function()
    local list = candidates.prune(hopper(), candidates.describe(hopper()))
    local seen = {}
    for _, c in ipairs(list) do
      if c.plan then
        assert.equal("gemm_sm90.cu", c.plan.template)
        seen[table.concat(c.plan.cluster, "x")], seen[c.plan.ping_pong] = true, true
        assert.equal(1, c.plan.splits)
      else
        assert.truthy(c.pruned:find "^gemm_sm90.cu: tile: %d+ registers, %d+ of them of sums"
          or c.pruned:find "^tile: each element is copied %d.%d times as often"
          or c.pruned == "skew: no warpgroups share a tile", c.pruned)
      end
    end
    assert.same({ ["1x1"] = true, ["1x2"] = true, ["2x1"] = true, [true] = true, [false] = true },
      seen)
  end)

  it("divide tiles where there are few", function()
    local p = hopper { M = 512, N = 512 }
    local splits = {}
    for _, c in ipairs(candidates.prune(p, candidates.describe(p))) do
      if c.plan then splits[c.plan.splits] = true end
    end
    assert.same({ true, true, true, true }, { splits[1], splits[2], splits[4], splits[8] })
    assert.equal("splits: 512 parts of tiles for 132 multiprocessors",
      candidates.prune(p, { { tile = { 64, 64, 64 }, splits = 8 } })[2].pruned)
  end)

  it("say when warpgroups that share a tile start", function()
    local p = hopper { tile = { 128, 256, 64 } }
    local all = candidates.prune(p, { { skew = 500 }, { skew = -1 },
      { tile = { 64, 64, 64 }, skew = 500 } })
    assert.same({ 0, 500 }, { all[1].plan.skew, all[2].plan.skew })
    assert.equal("skew is -1, where nanoseconds are needed, 0 or more", all[3].pruned)
    assert.equal("skew: no warpgroups share a tile", all[4].pruned)
  end)

  it("load no more rows than there are, whoever chose the tile", function()
    local p = hopper { M = 16, tile = { 64, 128, 64 } }
    assert.same({ 16, 16 }, { p.most_rows, p.A.loaded })
  end)

  it("may be those of mma.sync, where a script says so", function()
    local p = gemm.plan { M = 512, N = 512, K = 512, dtype = "f16", arch = 90 }
    local all = candidates.prune(p, { { warps = { 2, 2 }, tile = { 64, 64, 64 }, stages = 3 } })
    assert.same({ "gemm_sm90.cu", "gemm_sm120.cu" }, { all[1].plan.template, all[2].plan.template })
  end)

  it("are those of a template that a script names, without what the model's would have", function()
    local p = gemm.plan { M = 256, N = 256, K = 256, dtype = "f16", arch = 90 }
    assert.is_true(p.dependent)
    local all = candidates.prune(p, { { stages = 2, template = "gemm_sm120.cu" } })
    assert.same({ "gemm_sm120.cu", 2 }, { all[2].plan.template, all[2].plan.stages })
  end)
end)
