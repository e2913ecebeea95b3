-- What people write for an architecture: the same for plans, the compiler and launches on the host.

local lutile = require "lutile"
local arch = require "lutile.arch"
local support = require "spec.support.cuda"

local FORMS = { { 90, "" }, { "90", "" }, { "90a", "a" }, { "sm_90", "" }, { "sm_90a", "a" },
  { "9.0", "" }, { 9.0, "" }, { 90.0, "" } }

describe("an architecture", function()
  for _, form in ipairs(FORMS) do
    local x, letter = table.unpack(form)
    local text = type(x) == "string" and ("%q"):format(x) or tostring(x)

    it(text .. " is 90", function()
      assert.same({ 90, letter }, { arch(x) })
      assert.equal(90, lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f16", arch = x }.arch)
      assert.has_no_error(function() lutile.launch(function() end, { arch = x }) end)
    end)

    support.with_compiler(it, pending)(text .. " is one to compile for", function()
      local kernel = require "lutile.cuda".compile { arch = x, name = "f",
        source = [[extern "C" __global__ void f() {}]] }
      assert.equal("sm_90" .. letter, kernel.arch)
    end)
  end

  it("of two digits before the point", function()
    assert.same({ 120, "a" }, { arch "12.0a" })
    assert.same({ 100, "" }, { arch(10.0) })
    assert.same({ 103, "f" }, { arch "sm_103f" })
  end)

  local WANTED = "90, \"90a\", \"sm_90a\" and \"9.0\" are the forms"

  local function is_refused(x, message)
    assert.same({ n = 2, nil, message }, table.pack(arch(x)))
    assert.has_error(function() lutile.plan.gemm { arch = x } end, "plan.gemm: " .. message)
    assert.error_matches(function() lutile.launch(function() end, { arch = x }) end,
      "^launch: no architecture [^:]* %(there are 60 ")
  end

  for _, x in ipairs { "turing", "sm_", "sm_9", 9, "90b", "sm90", "9.0.1", "9.00", 9.05, -90,
    19, 1 << 40 } do
    it(("is not %s"):format(x), function()
      is_refused(x, ("arch '%s' is none: %s"):format(x, WANTED))
    end)
  end

  for x, capability in pairs { [91] = "9.1", [76] = "7.6", [95] = "9.5", ["sm_900"] = "90.0",
    [999] = "99.9", [90.5] = "90.5", [140] = "14.0" } do
    it(("is not %s, which has the form"):format(x), function()
      is_refused(x, ("arch '%s' is none: there is no compute capability %s"):format(x, capability))
    end)
  end

  for _, x in ipairs { {}, true, print } do
    it("is no " .. type(x), function()
      is_refused(x, ("arch is a %s: %s"):format(type(x), WANTED))
    end)
  end

  it("that is newer than all is taken at its word", function()
    assert.same({ 122, "" }, { arch(122) })
    assert.same({ 130, "a" }, { arch "13.0a" })
  end)

  it("is one for plans where it is one for launches on the host, from 60 on", function()
    local _, message = pcall(lutile.launch, print, { arch = 1 })
    local there = {}
    for number in message:match "%(there are (.*)%)":gmatch "%d+" do
      there[math.tointeger(number)] = true
    end
    there[88] = true -- no table says how much shared memory its blocks have
    for number = 60, 121 do assert.equal(there[number], arch(number) and true, number) end
  end)

  it("has as much shared memory for plans as for launches on the host", function()
    local limit = require "lutile.plan.tile".shared_limit
    for _, number in ipairs { 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121 } do
      local function ask(bytes)
        return (pcall(lutile.launch, function() lutile.make_smem_ptr("u8", bytes) end,
          { arch = number }))
      end
      assert.is_true(ask(limit(number)), number)
      assert.is_false(ask(limit(number) + 1), number)
    end
  end)

  it("of 90 for a plan's kernel is 90a, which has its instructions", function()
    local p = lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f16", arch = 90 }
    assert.equal("sm_90a", p:compile_options(nil, "9.0").arch)
    assert.equal("sm_80", p:with { arch = 80 }:compile_options(nil, "sm_80").arch)
  end)

  it("of a plan's kernel whose registers move is one with setmaxnreg", function()
    local p = lutile.plan.gemm { M = 4096, N = 4096, K = 4096, dtype = "f16", arch = 100 }
    assert.same({ 24, 240 }, p.registers)
    assert.equal("sm_100a", p:compile_options(nil, 100).arch)
    local small = p:with { tile = { 64, 64, 64 } }
    assert.same({ 0, 0 }, small.registers)
    assert.equal("sm_100", small:compile_options(nil, 100).arch)
  end)

  -- Compute capabilities that a plan's kernel is compiled for, and why not for others.
  local sizes = { M = 256, N = 256, K = 256, dtype = "f16" }
  local function is_compiled(options, targets)
    for name, value in pairs(sizes) do options[name] = options[name] or value end
    local p = lutile.plan.gemm(options)
    for target, message in pairs(targets) do
      if message == true then
        assert.has_no_error(function() p:compile_options(nil, target) end)
      else
        assert.has_error(function() p:compile_options(nil, target) end, "plan:compile_options: "
          .. message)
      end
    end
  end

  it("that a plan's kernel is not for is refused", function()
    is_compiled({ arch = 80 }, { [80] = true, [86] = true, ["9.0"] = true, [120] = true,
      [75] = "the plan is for compute capability 8.0 and newer, and arch is 7.5 "
        .. "(another plan, with arch = 75, may be for that)",
      foo = "arch 'foo' is none: 90, \"90a\", \"sm_90a\" and \"9.0\" are the forms",
      [95] = "arch '95' is none: there is no compute capability 9.5" })
    is_compiled({ arch = 89, dtype = "e4m3", out = "f16" }, { [90] = true, [120] = true })
    is_compiled({ arch = 90 }, { ["90a"] = true,
      [80] = "the plan is for compute capability 9.0 alone, and arch is 8.0 "
        .. "(another plan, with arch = 80, may be for that)",
      ["sm_100a"] = "the plan is for compute capability 9.0 alone, and arch is 10.0 "
        .. "(another plan, with arch = 100, may be for that)" })
    is_compiled({ arch = 90, template = "gemm_sm80.cu" }, { [100] = true })
    is_compiled({ arch = 90, template = "gemm_sm120.cu" }, { [100] = true, [90] = true,
      [80] = "the plan is for compute capability 9.0 and newer, and arch is 8.0 "
        .. "(another plan, with arch = 80, may be for that)" })
  end)

  it("whose blocks have too little memory for a plan's is refused", function()
    is_compiled({ arch = 80, tile = { 128, 128, 64 }, stages = 4 }, { [87] = true, [90] = true,
      [86] = "the plan is for compute capability 8.0 and newer, and arch is 8.6, where a block has "
        .. "101376 bytes of shared memory, not 131072 (another plan, with arch = 86, may be for "
        .. "that)" })
  end)
end)
