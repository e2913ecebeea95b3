-- An option that there is none of: the name that may be meant, else all there are.

local lutile = require "lutile"
local no_option = require "lutile.options"

describe("an unknown option", function()
  local known = {}
  for name in ("A K N a_major dtype epilogue ping_pong stages tile"):gmatch "%S+" do
    known[name] = true
  end

  for _, case in ipairs {
    { "stage", "stages", why = "a letter is missing" },
    { "tiel", "tile", why = "two letters are exchanged" },
    { "pingpong", "ping_pong", why = "words are joined" },
    { "epi", "epilogue", why = "a prefix" },
    { "dtype_a", "dtype", why = "a prefix of what is said" },
    { "Stages", "stages", why = "other letters' case" },
    { "a", "A", why = "the same of one letter" },
  } do
    local said, meant = table.unpack(case)
    it(("'%s' may be '%s': %s"):format(said, meant, case.why), function()
      assert.equal(("no option '%s' (did you mean '%s'?)"):format(said, meant),
        no_option(said, known))
    end)
  end

  for _, said in ipairs { "B", "x", "colour", "to", 1 } do
    it(("'%s' is none of them"):format(said), function()
      assert.equal(("no option '%s' (there are A, K, N, a_major, dtype, epilogue, ping_pong, "
        .. "stages, tile)"):format(said), no_option(said, known))
    end)
  end
end)

describe("all that take options say so", function()
  local function nothing() end
  local sizes = { M = 64, N = 64, K = 64, dtype = "f16" }
  for message, f in pairs {
    ["launch: no option 'blok' (did you mean 'block'?)"] = function()
      lutile.launch(nothing, { blok = 1 })
    end,
    ["svg: no option 'colour' (did you mean 'color'?)"] = function()
      lutile.svg(lutile.make_layout(4), { colour = "row" })
    end,
    ["plan.gemm: no option 'stage' (did you mean 'stages'?)"] = function()
      lutile.plan.gemm { stage = 3 }
    end,
    ["plan.grouped_gemm: no option 'group_' (did you mean 'group'?)"] = function()
      lutile.plan.grouped_gemm { group_ = {} }
    end,
    ["plan.grouped_gemm: group 1: no option 'c_mayor' (did you mean 'c_major'?)"] = function()
      lutile.plan.grouped_gemm { groups = { { c_mayor = "row" } } }
    end,
    ["plan.chained_gemm: no option 'warp' (did you mean 'warps'?)"] = function()
      lutile.plan.chained_gemm { warp = 8 }
    end,
    ["tune.gemm: no option 'second' (did you mean 'seconds'?)"] = function()
      lutile.tune.gemm { second = 1 }
    end,
    ["plan:with: no option 'stage' (did you mean 'stages'?)"] = function()
      lutile.plan.gemm(sizes):with { stage = 3 }
    end,
    ["plan:run: no option 'alfa' (did you mean 'alpha'?)"] = function()
      lutile.plan.gemm(sizes):run(1, 2, 3, { alfa = 1 })
    end,
    ["compile: no option 'sources' (did you mean 'source'?)"] = function()
      lutile.cuda.compile { sources = "" }
    end,
    ["compile_all: no option 'thread' (did you mean 'threads'?)"] = function()
      lutile.cuda.compile_all({}, { thread = 1 })
    end,
  } do
    it(message, function()
      local good, said = pcall(f)
      assert.is_false(good)
      assert.equal(message, (said:gsub("^%S+:%d+: ", "")))
    end)
  end
end)

describe("what takes a table of other things", function()
  local cuda = lutile.cuda
  local layout = lutile.make_layout { 4, 8 }
  local p = lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f16", arch = 80 }
  local built, why = pcall(function() return require "lutile.cuda.driver".cache() end)
  local it_with_cuda = built and it or function(name) pending(name .. ": " .. tostring(why)) end

  for message, f in pairs {
    ["compile: that is a plan: p:compile_options() is what to compile"] = function()
      cuda.compile(p)
    end,
    ["compile_all: that is a plan: p:compile_options() is what to compile"] = function()
      cuda.compile_all(p)
    end,
    ["compile_all: a list of tables expected, got one with names"] = function()
      cuda.compile_all { name = "f", source = "" }
    end,
    ["tensor: element type or buffer expected, got nil"] = function() cuda.tensor(nil, layout) end,
  } do
    it_with_cuda("says so: " .. message, function()
      local good, said = pcall(f)
      assert.is_false(good)
      assert.equal(message, (said:gsub("^%S+:%d+: ", "")))
    end)
  end

  it("says so: emit: the type's name", function()
    local good, said = pcall(function() cuda.emit(layout) end)
    assert.is_false(good)
    assert.matches("emit: the type's name expected as #2, got nil", said, 1, true)
  end)

  it_with_cuda("says it of each plan in a list", function()
    local kernels, errors = cuda.compile_all { p }
    assert.same({ { false },
      { "compile: that is a plan: p:compile_options() is what to compile" } }, { kernels, errors })
  end)
end)
