-- Several kernels compiled at once.

local lutile = require "lutile"
local support = require "spec.support.cuda"
local command = require "spec.support.command"

local it_compiles = support.with_compiler(it, pending)
local it_needs_cuda = support.with_cuda(it, pending)

local function spec(body, more)
  local s = { arch = "sm_80", name = "f",
    source = ('extern "C" __global__ void f(int *p) { %s }\n'):format(body) }
  for k, v in pairs(more or {}) do s[k] = v end
  return s
end

-- Kernels that no cache has.
local unique = os.time() * 1000
local function new_body()
  unique = unique + 1
  return ("p[0] = %dll;"):format(unique)
end

describe("compile_all", function()
  for _, threads in ipairs { 1, 2, 8, false } do
    it_compiles(("gives each kernel in its place: %s threads"):format(threads or "any"), function()
      local cuda = require "lutile.cuda"
      local specs = {}
      for i = 1, 5 do specs[i] = spec(new_body()) end
      local kernels, errors = cuda.compile_all(specs, { threads = threads or nil })
      assert.same({}, errors)
      assert.equal(5, #kernels)
      for i = 1, 5 do
        assert.equal("compiled", kernels[i].origin)
        local again = cuda.compile(specs[i])
        assert.equal("memory", again.origin)
        assert.equal(again.key, kernels[i].key)
        assert.equal(again:image(), kernels[i]:image())
      end
    end)
  end

  it_compiles("takes plans, whose kernels are then in memory", function()
    local specs = {}
    for i, stages in ipairs { 3, 4 } do
      specs[i] = lutile.plan.gemm { M = 256, N = 256, K = 256, dtype = "f16", arch = 80,
        stages = stages }:compile_options(0, "sm_80")
    end
    local kernels, errors = require "lutile.cuda".compile_all(specs)
    assert.same({}, errors)
    for i = 1, 2 do
      assert.equal(kernels[i].key, require "lutile.cuda".compile(specs[i]).key)
      assert.equal("gemm", kernels[i].name)
    end
    assert.not_equal(kernels[1].key, kernels[2].key)
  end)

  it_compiles("says of each that fails why", function()
    local good = spec(new_body())
    local kernels, errors = require "lutile.cuda".compile_all { good, spec "p[0] = unknown;",
      spec("", { arch = "turing" }), 5, { source = "" }, spec("", { colour = 1 }), good }
    assert.same({ "userdata", false, false, false, false, false, "userdata" }, { type(kernels[1]),
      kernels[2], kernels[3], kernels[4], kernels[5], kernels[6], type(kernels[7]) })
    assert.is_nil(errors[1])
    assert.is_nil(errors[7])
    assert.matches("^NVRTC fails on kernel 'f' for sm_80: .*\n.*\"unknown\" is undefined",
      errors[2])
    assert.equal("compile: arch 'turing' is none: 90, \"90a\", \"sm_90a\" and \"9.0\" are the "
      .. "forms", errors[3])
    assert.equal("compile: a table expected, got number", errors[4])
    assert.equal("compile: 'name' is needed: of the kernel in 'source'", errors[5])
    assert.equal("compile: no option 'colour' (there are arch, device, file, index, layouts, name, "
      .. "options, prelude, source, types, values)", errors[6])
  end)

  it_compiles("counts for a progress function, whose errors end it", function()
    local cuda, seen = require "lutile.cuda", {}
    local specs = { spec(new_body()), 5, spec "p[0] = unknown;", spec(new_body()) }
    cuda.compile_all(specs, { progress = function(done, of) seen[#seen + 1] = { done, of } end })
    assert.same({ { 2, 4 }, { 3, 4 }, { 4, 4 } }, seen)
    specs = { spec(new_body()), spec(new_body()), spec(new_body()) }
    local reason = {}
    local _, raised = pcall(cuda.compile_all, specs, { progress = function() error(reason) end })
    assert.equal(reason, raised)
    assert.equal(3, #cuda.compile_all(specs))
  end)

  it_compiles("of nothing is nothing", function()
    assert.same({}, (require "lutile.cuda".compile_all {}))
  end)

  for _, case in ipairs {
    { { 5 }, "compile_all: a list of tables expected, got number" },
    { { {}, { colour = 1 } }, "compile_all: no option 'colour' (there are progress, threads)" },
    { { {}, { threads = 0 } }, "compile_all: threads is 0, where 1 to 1024 will do" },
    { { {}, { threads = "x" } }, "compile_all: threads is x, where 1 to 1024 will do" },
    { { {}, 5 }, "compile_all: a table of options expected, got number" },
    { { {}, { progress = "x" } }, "compile_all: progress is a string, not a function" },
  } do
    it_compiles("refuses what it cannot use: " .. case[2], function()
      local _, message = pcall(require "lutile.cuda".compile_all, table.unpack(case[1]))
      assert.matches(case[2], message, 1, true)
    end)
  end

  it_needs_cuda("raises as compile does where there is no NVRTC", function()
    local result = command.run("-e " .. command.quote [[
local spec = { name = "f", source = 'extern "C" __global__ void f() {}', arch = "sm_80" }
local function message(f, x) return select(2, pcall(function() f(x) end)):match ": (.*)" end
print(message(lutile.cuda.compile, spec))
print(message(lutile.cuda.compile_all, { spec }))]], nil, "LUTILE_NVRTC=/nowhere/at/all")
    assert.equal(("NVRTC cannot be read: /nowhere/at/all\n"):rep(2), result.out)
  end)

  it_compiles("ends well where the state is closed meanwhile", function()
    local result = command.run("-", [[
local specs = {}
for i = 1, 6 do
  specs[i] = { arch = "sm_80", name = "f",
    source = ('extern "C" __global__ void f(int *p) { p[0] = %d; }'):format(i) }
end
lutile.cuda.compile_all(specs, { threads = 3, progress = function(done)
  print(done)
  os.exit(7, true)
end })]], "LUTILE_CACHE=/dev/null/none")
    assert.same({ "1\n", 7 }, { result.out, result.code })
  end)
end)
