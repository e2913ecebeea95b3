-- Plans that a script has changed: what follows is worked out again, and what no kernel can follow
-- is refused.

local lutile = require "lutile"
local cases = require "spec.plan.edit_cases"
local support = require "spec.support.cuda"

local function plan(options)
  options = options or {}
  if options.is_chained then
    return lutile.plan.chained_gemm { dtype = "f16", M = 100, N = 64, arch = 80 }
  end
  return lutile.plan.gemm { dtype = "f16", M = 256, N = 256, K = 256, tile = { 64, 64, 64 },
    stages = 3, arch = options.arch or 80, template = options.template }
end

describe("a changed plan", function()
  for _, case in ipairs(cases.good) do
    it("is right on the host: " .. case.why, function()
      assert.equal("0 wrong", cases.run(case, "host"))
    end)
  end

  for _, case in ipairs(cases.good_chained) do
    it("is right on the host: " .. case.why, function()
      assert.equal("0 wrong", cases.run_chained(case, "host"))
    end)
  end

  local bad = table.move(cases.bad, 1, #cases.bad, 1, {})
  for _, case in ipairs(cases.bad_chained) do
    case.is_chained, bad[#bad + 1] = true, case
  end

  for i, case in ipairs(bad) do
    it(("is refused: %d, %s"):format(i, case.message), function()
      local p = plan(case)
      case.change(p)
      for _, name in ipairs { "check", "block", "source" } do
        local good, message = pcall(p[name], p)
        assert.is_false(good)
        assert.matches(case.message, (message:gsub("^.-plan:%a+: ", "")))
      end
    end)
  end

  it("is refused before it runs on the host", function()
    for _, case in ipairs(bad) do
      local run = case.is_chained and cases.run_chained or cases.run
      local good, message = pcall(run, { arch = case.arch, template = case.template,
        options = { stages = 3 }, change = case.change }, "host")
      assert.is_false(good)
      assert.matches("plan:run: ", message, 1, true)
    end
  end)

  it("is as it was where it has been refused, and runs when changed back", function()
    local p = plan()
    local was, block = p.A.shared, p:block()
    p.A.shared = lutile.parse "(64,64):(66,1)"
    assert.is_false((pcall(p.check, p)))
    assert.equal(8192, p.A.stage_bytes)
    p.A.shared = was
    assert.equal(block, p:block())
  end)

  it("has the numbers that follow, once it is checked", function()
    local p = plan()
    p.A.shared, p.stages = lutile.parse "(64,64):(72,1)", 4
    assert.equal(p, p:check())
    assert.same({ 9216, 8192, 69632 }, { p.A.stage_bytes, p.B.stage_bytes, p.shared_bytes })
    assert.matches("kStageBytes = 9216;", p:source(), 1, true)
    p.stages = 5
    assert.matches("87040 bytes of shared memory", tostring(p), 1, true)
    p.mma = lutile.make_tiled_mma(p.atom, lutile.make_layout { 2, 1, 1 })
    p:check()
    assert.same({ 64, { 2, 1 }, 64 }, { p.threads, p.warps, lutile.size(p.A.copy[0]) })
  end)

  it("may have numbers changed along with what they follow from", function()
    local p = plan()
    p.A.shared, p.A.stage_bytes, p.shared_bytes = lutile.parse "(64,64):(72,1)", 9216, 52224
    p:check()
    p.shared_bytes = 0
    assert.error_matches(function() p:check() end, "shared_bytes is 0, and follows")
  end)

  it("may have notes of the script's own", function()
    local p = plan()
    p.note, p.A.shared = "mine", lutile.parse "(64,64):(72,1)"
    assert.equal(9216, p:check().A.stage_bytes)
  end)

  it("may be changed after it has run", function()
    local case = { change = function() end, options = { stages = 3 } }
    local p, A, B, C = cases.plan(case)
    p:run(A, B, C, { on = "host" })
    p.A.shared = lutile.parse "(64,64):(0,1)"
    assert.error_matches(function() p:run(A, B, C, { on = "host" }) end, "in one place")
    p.A.shared = lutile.parse "(64,64):(72,1)"
    p:run(A, B, C, { on = "host" })
    assert.equal(9216, p.A.stage_bytes)
    for _, name in ipairs { "A", "tile" } do
      local q, was = plan { arch = 80 }, p[name]
      p[name] = name == "A" and q.B or { 64, 64, 32 }
      assert.error_matches(function() p:run(A, B, C, { on = "host" }) end, "plan:run: ")
      p[name] = was
    end
  end)

  for what, case in pairs { ["gemm_sm80.cu"] = { cases.run, 64 },
    ["chained_gemm.cu"] = { cases.run_chained, 32 } } do
    it("is right or refused with random layouts, on the host: " .. what, function()
      local run, k = table.unpack(case)
      local right, refused = 0, 0
      for _ = 1, 40 do
        local layout = cases.random_layout(k)
        local good, result = pcall(run, { change = function(p) p.A.shared = layout end }, "host")
        if good then assert.equal("0 wrong", result, tostring(layout)) end
        if not good then assert.matches("plan:run: A.shared is ", result, 1, true) end
        right, refused = right + (good and 1 or 0), refused + (good and 0 or 1)
      end
      assert(right > 3 and refused > 3, right .. " right, " .. refused .. " refused")
    end)
  end

  for _, template in ipairs { "gemm_sm120.cu", "gemm_sm90.cu" } do
    it("is as TMA has it or refused with random layouts: " .. template, function()
      for _ = 1, 20 do
        local p, layout = plan { template = template, arch = 90 }, cases.random_layout(64)
        p.A.shared = layout
        local good, result = pcall(p.check, p)
        if good then assert.equal(p.A.landing, layout) end
        if not good then assert.matches("and TMA's boxes make it", result, 1, true) end
      end
    end)
  end
end)

local emulate = support.printed_by("spec/plan/edits_on_emulator.lua")

describe("a changed plan's kernel, emulated,", function()
  local it_runs = support.with_host_kernels(it, pending)

  local count = 0
  for _, list in ipairs { cases.good, cases.good_chained } do
    for _, case in ipairs(list) do
      count = count + 1
      local line = count
      it_runs("is right: " .. case.why, function()
        assert.equal(case.why .. ": 0 wrong", emulate()[line])
      end)
    end
  end

  it_runs("is right with random layouts", function()
    local lines = emulate()
    assert.equal(count + 8, #lines)
    for i = count + 1, #lines do assert.equal("0 wrong", lines[i]) end
  end)
end)

describe("a changed plan on a device", function()
  local it_runs = support.with_device(it, pending)

  local function is_for(case)
    local d = require "lutile.cuda".device(0)
    local capability, arch = 10 * d.major + d.minor, case.arch or 80
    return capability >= arch and (case.template ~= "gemm_sm90.cu" or capability == 90)
  end

  for name, run in pairs { good = cases.run, good_chained = cases.run_chained } do
    it_runs("is right: " .. name, function()
      for _, case in ipairs(cases[name]) do
        if is_for(case) then assert.equal("0 wrong", run(case, "cuda"), case.why) end
      end
    end)
  end
end)
