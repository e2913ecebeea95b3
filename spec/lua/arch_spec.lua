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

  for _, x in ipairs { "turing", "sm_", "sm_9", 9, 90.5, "90b", "sm90", "9.0.1", "9.00", 9.05, 91,
    76, -90, {}, true } do
    it(("is not %s"):format(type(x) == "table" and "a table" or tostring(x)), function()
      assert.is_nil((arch(x)))
      local message = "arch '" .. tostring(x):gsub("%p", "%%%0") .. "'"
      assert.error_matches(function() lutile.plan.gemm { arch = x } end, "^plan.gemm: "
        .. message .. " is none: 90, \"90a\", \"sm_90a\" and \"9.0\" are the forms$")
      assert.error_matches(function() lutile.launch(function() end, { arch = x }) end,
        "^launch: no architecture ")
    end)
  end

  it("of 90 for a plan's kernel is 90a, which has its instructions", function()
    local p = lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f16", arch = 90 }
    assert.equal("sm_90a", p:compile_options(nil, "9.0").arch)
    assert.equal("sm_80", p:with { arch = 80 }:compile_options(nil, "sm_80").arch)
  end)
end)
