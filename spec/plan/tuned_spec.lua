-- Plans as they were found to be fastest: keys, the file, and plans that take them.

local lutile = require "lutile"
local support = require "spec.support.cuda"
local command = require "spec.support.command"
local tuned = require "lutile.plan.tuned"

local it_keeps = support.with_cuda(it, pending)
local it_pretends = support.with_fake(it, pending)

describe("the key of a product", function()
  local function key(options)
    options.arch = options.arch or 90
    return tuned.key(require "lutile.plan.gemm".plan(options), { name = "Fake" })
  end

  for _, case in ipairs {
    { "gemm f16 f16 f32 f32 128x256x64 kkn Fake", { dtype = "f16" } },
    { "gemm f16 f16 f16 f16 128x256x64 kkn Fake", { dtype = "f16", acc = "f16" } },
    { "gemm u8 s8 s32 s32 128x256x64 kkn Fake", { dtype = "u8", dtype_b = "s8" } },
    { "gemm tf32 tf32 f32 f32 128x256x64 kkn Fake", { dtype = "tf32" } },
    { "gemm f16 f16 f32 f32 128x256x64x3 kkn Fake", { dtype = "f16", L = 3 } },
    { "gemm f16 f16 f32 f32 128x256x64 mkn Fake", { dtype = "f16", a_major = "row" } },
    { "gemm f16 f16 f32 f32 128x256x64 knn Fake", { dtype = "f16", b_major = "row" } },
    { "gemm f16 f16 f32 f32 128x256x64 kkm Fake", { dtype = "f16", c_major = "row" } },
    { "gemm u8 s8 s32 s32 128x256x64 kkm Fake", { dtype = "u8", dtype_b = "s8",
      c_major = "row" } },
    { "gemm f16 f16 f32 f32 128x256x60 kkn copies 8 8 Fake", { dtype = "f16", K = 60 } },
    { "gemm f16 f16 f32 f32 128x256x64 kkn beta bias Fake", { dtype = "f16", beta = true,
      bias = "row" } },
    { "gemm e4m3 e4m3 f32 f32 128x256x64 kkn promote 4 Fake", { dtype = "e4m3", promote = 4 } },
    { "gemm f16 f16 f32 f32 128x256x64x2 kkn one A Fake", { dtype = "f16", L = 2,
      A = lutile.parse "(128,64):(64,1)", M = false } },
    { "gemm f16 f16 f32 f32 128x256x64 kkn A ((8,16),64):((64,1024),1) Fake", { dtype = "f16",
      A = lutile.parse "((8,16),64):((64,1024),1)", M = false } },
  } do
    it(case[1], function()
      local options = { M = 128, N = 256, K = 64 }
      for k, v in pairs(case[2]) do options[k] = v or nil end
      assert.equal(case[1], key(options))
    end)
  end

  it("is there for sizes that are known alone", function()
    assert.is_nil(key { M = lutile.dyn(128, 8), N = 256, K = 64, dtype = "f16" })
    assert.is_nil(key { M = 128, N = 256, K = 64, L = lutile.dyn(3), dtype = "f16" })
  end)
end)

local folder

local function path() return folder .. "/cache/tuned.lua" end

local function run(chunk)
  local result = command.run("-W -", 'local tuned = require "lutile.plan.tuned"\n' .. chunk,
    "LUTILE_CACHE=" .. command.quote(folder .. "/cache"))
  if result.code ~= 0 then error(result.err, 2) end
  return result
end

local function read_file()
  local file <close> = assert(io.open(path()))
  return file:read "a"
end

local function write_file(text)
  assert(os.execute("mkdir -p -m 700 " .. command.quote(folder .. "/cache")))
  local file <close> = assert(io.open(path(), "w"))
  file:write(text)
end

describe("what was found", function()
  before_each(function() folder = support.new_folder() end)
  after_each(function() support.remove_folder(folder) end)

  it_keeps("is kept, a line each, beside what others keep", function()
    run 'print(tuned.keep("b", { stages = 3, tile = { 1, 2, 3 }, microseconds = 1.25 }))'
    run 'print(tuned.keep("a", { fast = true, microseconds = 2 }))'
    assert.equal([[
return {
  ["a"] = { fast = true, microseconds = 2 },
  ["b"] = { microseconds = 1.25, stages = 3, tile = { 1, 2, 3 } },
}
]], read_file())
    run 'print(tuned.keep("b", { stages = 4, microseconds = 1 }))'
    assert.matches('["b"] = { microseconds = 1, stages = 4 }', read_file(), 1, true)
    assert.equal("2\t4\n", run [[
local e = tuned.entries()
print(e.a.microseconds, e.b.stages)]].out)
  end)

  it_keeps("by processes at once is kept of all", function()
    local lines = {}
    for i = 1, 6 do
      local script = ("local t = require 'lutile.plan.tuned' for j = 1, 10 do "
        .. "assert(t.keep('k%d' .. j, { microseconds = j })) end"):format(i)
      lines[i] = ("LUTILE_CACHE=%s %s -e %s &"):format(command.quote(folder .. "/cache"),
        command.quote(command.path), command.quote(script))
    end
    assert(os.execute(table.concat(lines, "\n") .. "\nwait"))
    local _, count = read_file():gsub("microseconds", "")
    assert.equal(60, count)
  end)

  it_keeps("is what tables hold, not what they pretend to", function()
    run [[
local endless = setmetatable({}, { __index = function() return 1 end,
  __len = function() return 3 end })
print(tuned.keep("a", { tile = endless, microseconds = 1 }))]]
    assert.equal('return {\n  ["a"] = { microseconds = 1, tile = {} },\n}\n', read_file())
  end)

  it_keeps("is no secret: nothing else is kept", function()
    assert.equal("nil\t'x' of entry 'a' is no number, boolean, name or list\n",
      run 'print(tuned.keep("a", { x = {{}}, microseconds = 1 }))'.out)
    assert.equal("nil\tentry 'a' has no microseconds\n", run 'print(tuned.keep("a", {}))'.out)
  end)

  for _, case in ipairs {
    { "return {", "line 1: a number, a boolean, a string or a table expected" },
    { "os.exit(7)", "line 1: 'return' expected" },
    { "return 5", "it returns no table" },
    { "return { { microseconds = 1 } }", "an entry without a name" },
    { "return { a = 1 }", "entry 'a' is no table" },
    { "return { a = { stages = 3 } }", "entry 'a' has no microseconds" },
    { "return { a = { stages = 3, microseconds = -1 } }", "entry 'a' has no microseconds" },
    { "return { a = { stages = 3, microseconds = 1e300 } }", "entry 'a' has no microseconds" },
    { "return { a = { stages = 'x y', microseconds = 1 } }",
      "'stages' of entry 'a' is no number, boolean, name or list" },
    { "return { a = { tile = { a = 1 }, microseconds = 1 } }",
      "'tile' of entry 'a' is no number, boolean, name or list" },
  } do
    it_keeps("is a warning where it cannot be read: " .. case[2], function()
      write_file(case[1])
      local result = run 'print(next(tuned.entries()), next(tuned.entries()))'
      assert.equal("nil\tnil\n", result.out)
      assert.equal(("Lua warning: lutile: '%s': %s\n"):format(path(), case[2]), result.err)
    end)
  end

  it_keeps("is not taken from a file that others can write", function()
    write_file "return { a = { microseconds = 1 } }"
    assert(os.execute("chmod 666 " .. command.quote(path())))
    local result = run 'print(next(tuned.entries()), next(tuned.entries()))'
    assert.equal("nil\tnil\n", result.out)
    assert.equal(("Lua warning: lutile: tuned plans are not used: '%s' is not used: others own it "
      .. "or can write to it\n"):format(path()), result.err)
  end)

  it_keeps("is taken beside what is wrong", function()
    write_file "return { a = { stages = 3, microseconds = 1 }, b = 5 }"
    assert.equal("3\n", run 'print(tuned.entries().a.stages)'.out)
  end)
end)

describe("a plan of a product that was tuned", function()
  before_each(function() folder = support.new_folder() end)
  after_each(function() support.remove_folder(folder) end)

  local KEY = "gemm f16 f16 f32 f32 512x512x512 kkn Fake 0"

  -- Prints of plans by the pretended device, whose file has one entry: for 512x512x512.
  local function plan(entry, chunk)
    write_file(('return { ["%s"] = { %s } }'):format(KEY, entry))
    local result = support.run_with_fake([[
local function show(p)
  print(table.concat(p.tile, "x"), table.concat(p.warps, "x"), p.stages, p.blocks,
    p.reasons[#p.reasons]:match "^tuned.*")
end
local function gemm(more)
  local options = { M = 512, N = 512, K = 512, dtype = "f16" }
  for k, v in pairs(more or {}) do options[k] = v end
  return lutile.plan.gemm(options)
end
]] .. chunk, { LUTILE_CACHE = folder .. "/cache" })
    assert.equal(0, result.code, result.err)
    return result
  end

  local ENTRY = "tile = {128, 64, 32}, warps = {2, 2}, stages = 4, blocks = 1, microseconds = 12.34"
  local MODEL, TUNED = "64x64x64\t2x2\t3\t2\tnil\n",
    "128x64x32\t2x2\t4\t1\ttuned: blocks 1, stages 4, tile 128x64x32, warps 2x2: 12.3 us when that "
    .. "was found\n"

  it_pretends("is as it was found, unless it is said otherwise", function()
    local result = plan(ENTRY, [[
show(gemm())
show(gemm { tuned = true })
show(gemm { tuned = false })
show(gemm { beta = true })
show(gemm { M = 256 })
show(gemm { M = dyn(512, 8) })
show(gemm { blocks = 2 })
show(gemm { arch = 75 })
show(gemm():with { stages = 3 })]])
    assert.equal(TUNED .. TUNED .. MODEL .. MODEL .. MODEL .. "128x256x64\t2x4\t3\t1\tnil\n"
      .. MODEL .. "64x64x32\t2x2\t2\t1\tnil\n" .. "128x64x32\t2x2\t3\t1\tnil\n", result.out)
    assert.equal("", result.err)
  end)

  for entry, why in pairs {
    ["tile = {128, 64, 32}, stages = 40, microseconds = 1"] = "40 stages of A and B have 491520 "
      .. "bytes of shared memory, where a block of compute capability 8.0 has 166912",
    ["tile = 3, microseconds = 1"] = "tile is 3, where a table of 3 positive integers is needed",
    ["epilogue = 'x', microseconds = 1"] = "no option 'epilogue' is searched for",
  } do
    it_pretends("is the model's, with a warning, where it cannot be so: " .. why, function()
      local result = plan(entry, "show(gemm())")
      assert.equal(MODEL, result.out)
      assert.equal(("Lua warning: lutile: tuned plan '%s' is not used: %s\n"):format(KEY, why),
        result.err)
    end)
  end

  it_pretends("changes when the file does", function()
    local result = plan(ENTRY, [[
show(gemm())
local tuned = require "lutile.plan.tuned"
tuned.keep("gemm f16 f16 f32 f32 512x512x512 kkn Fake 0", { stages = 2, microseconds = 1 })
print(gemm().stages)
os.remove(lutile.cuda.cache().folder .. "/tuned.lua")
show(gemm())]])
    assert.equal(TUNED .. "2\n" .. MODEL, result.out)
  end)
end)
