-- Searches: on a pretended device whose times are given, and on a device.

local lutile = require "lutile"
local support = require "spec.support.cuda"
local command = require "spec.support.command"

local it_needs_cuda = support.with_cuda(it, pending)

-- ---- Parts -------------------------------------------------------------------------------------

describe("timing", function()
  it("has the median of samples", function()
    local median = require "lutile.tune.timing".median
    assert.same({ 2, 2.5, 7 }, { median { 3, 1, 2 }, median { 4, 1, 3, 2 }, median { 7 } })
  end)
end)

describe("checking", function()
  local function check(runs, wrong)
    local seen, count = {}, 0
    local all = { { text = "a", plan = "A" }, { text = "x", pruned = "why" },
      { text = "b", plan = "B" }, { text = "c", plan = "C" } }
    require "lutile.tune".check(all, function(p, is_first)
      seen[#seen + 1] = p .. tostring(is_first)
      if runs[p] then error(runs[p], 0) end
    end, function()
      count = count + 1
      return wrong[count]
    end, function() end)
    return seen, all
  end

  it_needs_cuda("runs all plans, the model's first", function()
    local seen, all = check({}, { 0, 0 })
    assert.same({ "Atrue", "Bfalse", "Cfalse" }, seen)
    for i = 1, 4 do assert.equal(i == 2 and "why" or nil, all[i].pruned) end
  end)
  it_needs_cuda("names a kernel whose result is wrong", function()
    local _, message = pcall(check, {}, { 0, 7 })
    assert.matches("7 elements of the result with c are not those with a: one of these kernels is "
      .. "wrong$", message)
  end)
  it_needs_cuda("prunes what does not run, but the model's raises", function()
    local _, all = check({ B = "cuLaunchKernel: no" }, { 0 })
    assert.equal("it does not run: cuLaunchKernel: no", all[3].pruned)
    assert.has_error(function() check({ A = "cuLaunchKernel: no" }, {}) end,
      "a: cuLaunchKernel: no")
  end)
  it_needs_cuda("ends, with a name, where the device can be used no more", function()
    local lost = "CUDA_ERROR_ILLEGAL_ADDRESS (...): the device's context is lost: ..."
    assert.has_error(function() check({ B = lost }, {}) end, "b: " .. lost)
  end)
end)

for _, case in ipairs {
  { "5", "a table expected, got number" },
  { "{ seconds = 'x' }", "seconds is a string, not a number" },
  { "{ seconds = 0 }", "seconds is 0, where more than 0 are needed" },
  { "{ repetitions = 0 }", "repetitions is 0, where a positive integer is needed" },
  { "{ candidates = 5 }", "candidates is a number, not a table" },
  { "{ tuned = true }", "no option 'tuned': what was found before is searched anew" },
  { "{ dtype = 'f16' }", "plan.gemm: A is missing: give a tensor or a layout A = (M,K), or " },
  { "{ M = 8, N = 8, K = 8, dtype = 'f16' }", "no device to time on: " },
} do
  describe("tune.gemm refuses " .. case[1], function()
    it_needs_cuda("as the script's mistake", function()
      local result = command.run("-e " .. command.quote(("print(select(2, pcall(function() "
        .. "lutile.tune.gemm(%s) end)))"):format(case[1])), nil, "LUTILE_CUDA=off")
      assert.equal("(command line):1: tune.gemm: " .. case[2],
        result.out:sub(1, #case[2] + #"(command line):1: tune.gemm: "))
    end)
  end)
end

-- ---- On a pretended device ---------------------------------------------------------------------

local PRELUDE = [[
local function gemm(more)
  local options = { M = 256, N = 256, K = 256, dtype = "f16", threads = 2, seconds = 100,
    candidates = { stages = { 2, 3, 4, 50 } } }
  for k, v in pairs(more or {}) do options[k] = v end
  return lutile.tune.gemm(options)
end
local function plan(more)
  local options = { M = 256, N = 256, K = 256, dtype = "f16" }
  for k, v in pairs(more or {}) do options[k] = v end
  return lutile.plan.gemm(options)
end
]]

-- By the bytes of shared memory that 2, 3 and 4 stages have: 4 are fastest, 2 too slow.
local TIMES = "32768=0.2,49152=0.105,65536=0.1"

describe("tune.gemm on a pretended device", function()
  local it_pretends = support.with_fake(it, pending)
  local folder -- of the kernels that all of these compile

  setup(function() folder = support.new_folder() end)
  teardown(function() support.remove_folder(folder) end)
  before_each(function() os.remove(folder .. "/tuned.lua") end)

  local function run(chunk, times, capability)
    local result = support.run_with_fake(PRELUDE .. chunk, { LUTILE_CACHE = folder,
      FAKE_CUDA_TIMES = times or TIMES, FAKE_CUDA_CAPABILITY = capability or 80 })
    assert.equal("", result.err)
    return result
  end

  it_pretends("finds the fastest, and says what others took", function()
    local result = run "local p, results = gemm() print(results) print(p.stages, results.not_kept)"
    local lines = {}
    for line in result.out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    local rest = ", template gemm_sm80.cu, tile 64x64x64, warps 2x2"
    assert.equal("        us   TFLOP/s samples  gemm: f16 x f16 -> f32, sums of f32, by mma.sync, "
      .. "gemm_sm80.cu",
      lines[1])
    assert.equal("    100.00       0.3      21  blocks 2, group 8, stages 4" .. rest, lines[2])
    assert.equal("    105.00       0.3      14  blocks 2, group 8, stages 3" .. rest
      .. "  (the model's)", lines[3])
    assert.equal("    200.00       0.2       3  blocks 2, group 8, stages 2" .. rest, lines[4])
    assert.matches("^ +%- +%- +%-  stages 50, template gemm_sm80.cu: no tile fits: ",
      lines[5])
    assert.equal("4\tnil", lines[6])
  end)

  it_pretends("has plans use what it found, from then on", function()
    run "gemm()"
    local file <close> = assert(io.open(folder .. "/tuned.lua"))
    assert.equal([[
return {
  ["gemm f16 f16 f32 f32 256x256x256 kkn Fake 0"] = { microseconds = 100.0, stages = 4, ]]
      .. [[template = "gemm_sm80.cu" },
}
]], file:read "a")
    local result = run [[
local p = plan()
print(p.stages, p.reasons[#p.reasons])
print(plan { tuned = false }.stages)]]
    assert.equal("4\ttuned: stages 4, template gemm_sm80.cu: 100.0 us when that was found\n3\n",
      result.out)
  end)

  it_pretends("keeps nothing where that would not be what it searched", function()
    local result = run [[
print(select(2, gemm { keep = false }).not_kept)
print(select(2, gemm { candidates = { { epilogue = "x", stages = 4 } } }).not_kept)
print(select(2, gemm { blocks = 2 }).not_kept)
print(select(2, gemm { M = dyn(256, 8), tile = { 64, 64, 64 }, blocks = 2 }).not_kept)
print(select(2, gemm { arch = 75, candidates = { { stages = 2 } } }).not_kept)
print(lutile.cuda.driver == nil, io.open(lutile.cuda.cache().folder .. "/tuned.lua"))]]
    assert.matches("^keep is false\n'epilogue' is not searched for elsewhere\n"
      .. "the options say some of it\nthe options say some of it\nthe plan is not for the device\n"
      .. "true\tnil", result.out)
  end)

  it_pretends("replays short kernels by graphs, and stays within its time", function()
    local result = run([[
local _, results = gemm { seconds = 1e-9, repetitions = 5 }
for _, c in ipairs(results) do print(c.stages, c.microseconds and math.floor(c.microseconds + 0.5),
  c.samples) end]], "32768=0.02,49152=0.01,65536=0.03")
    assert.equal("nil\t10\t1\nnil\t20\t1\nnil\t30\t1\nnil\tnil\tnil\n", result.out)
    assert.equal(3, support.count(result.log, "launch graph"))
    assert.equal(3, support.count(result.log, "destroy executable"))
  end)

  it_pretends("searches among Hopper's kernels", function()
    local result = run([[
local function describe(p)
  return ("%dx%d %s %d"):format(p.tile[1], p.tile[2], p.ping_pong, p.splits)
end
local p, results = gemm { candidates = { ping_pong = { false }, splits = { 1, 2 },
  tile = { { 64, 64, 64 }, { 256, 256, 64 } } } }
print(results[1].is_model, results[1].plan == p, results.not_kept)
for i = 2, #results do print(results[i].pruned or describe(results[i].plan)) end
print(plan():source() == p:source(), plan().reasons[#plan().reasons])
for _, c in ipairs(results) do assert(not c.plan or c.plan.dependent == p.dependent) end]],
      "0=1", 90)
    assert.equal([[
true	true	nil
64x64 false 1
64x64 false 2
gemm_sm90.cu: tile: 282 registers, 256 of them of sums, and a thread has 232
gemm_sm90.cu: tile: 282 registers, 256 of them of sums, and a thread has 232
true	tuned: the model's choice: 1000.0 us when that was found
]], result.out)
  end)

  it_pretends("searches among multiply-adds", function()
    local result = run([[
local function describe(p) return p.template .. " " .. table.concat(p.tile, "x") end
for _, types in ipairs { { "f32", "f32" }, { "c64", "c64" }, { "e2m1", "s4" } } do
  local p, results = gemm { dtype = types[1], dtype_b = types[2],
    candidates = { { tile = { 32, 64, 16 } }, { stages = 3 } } }
  print(describe(p), results[2].is_model, results[3].pruned:match "^[^,]*", results.not_kept)
  print(describe(plan { dtype = types[1], dtype_b = types[2] }))
end]], "0=1,13248=0.5,50112=0.5") -- the larger tile is faster
    assert.equal(("simt_gemm.cu 32x64x16\ttrue\tstages is an option of templates for tensor cores"
      .. "\tnil\nsimt_gemm.cu 32x64x16\n"):rep(3), result.out)
  end)

  it_pretends("takes batches, biases, old C and matrices that are transposed", function()
    local result = run [[
for _, more in ipairs { { L = 2 }, { bias = "row", beta = true },
  { c_major = "row", bias = "column" }, { a_major = "row", b_major = "row" } } do
  more.candidates = { { stages = 2 } }
  print(gemm(more).stages)
end]]
    assert.equal("3\n3\n3\n3\n", result.out)
  end)

  it_pretends("shows how far it is, where there is a terminal to show it on", function()
    if not support.has_program "script" then return end -- it gives a command a terminal
    local file = command.file(PRELUDE .. "gemm() gemm { quiet = true } io.stderr:write 'end'")
    local line = ("LUTILE_LIBCUDA=%s LUTILE_CACHE=%s ASAN_OPTIONS=detect_leaks=0 %s %s"):format(
      support.fake_driver(), folder, command.quote(command.path), file)
    local pipe = assert(io.popen("script -qec " .. command.quote(line) .. " /dev/null"))
    local shown = pipe:read "a"
    pipe:close()
    os.remove(file)
    assert.matches("tune.gemm: compiling [########                ] 1 of 3\27[K", shown, 1, true)
    assert.matches("tune.gemm: checking [########################] 3 of 3\27[K", shown, 1, true)
    assert.matches("\rtune.gemm: timing [########################] 21 of 21, 3 left, best 1500.0 us"
      .. "\27[K\r\27[Kend", shown, 1, true)
  end)

  it_pretends("leaves the device as it was", function()
    local result = run [[
gemm { candidates = { { stages = 2 } } }
collectgarbage()
collectgarbage()
print(lutile.cuda.used())]]
    assert.equal("0\n", result.out)
  end)
end)

-- ---- On a device -------------------------------------------------------------------------------

describe("tune.gemm on a device", function()
  local it_runs = support.with_device(it, pending)

  it_runs("finds a plan that plan.gemm then takes", function()
    local folder = support.new_folder()
    local result = command.run("-W -", [[
local list = { { stages = 2 }, { stages = 4 }, { tile = { 64, 64, 32 }, warps = { 2, 2 } } }
for _, dtype in ipairs { "f16", "s8" } do
  local options = { M = 500, N = 504, K = 512, dtype = dtype, candidates = list, seconds = 1 }
  local p, results = lutile.tune.gemm(options)
  assert(not results.not_kept, results.not_kept)
  assert(#results >= 3 and results[1].microseconds > 0 and results[1].tflops > 0)
  for i = 2, #results do
    assert((results[i].microseconds or math.huge) >= results[i - 1].microseconds)
  end
  options.candidates, options.seconds = nil, nil
  local q = lutile.plan.gemm(options)
  assert(q.reasons[#q.reasons]:find "^tuned: ")
  assert(q:source() == p:source())
  print "found"
end]], "LUTILE_CACHE=" .. command.quote(folder))
    support.remove_folder(folder)
    assert.equal("found\nfound\n", result.out, result.err)
  end)

  it_runs("searches among multiply-adds", function()
    local folder = support.new_folder()
    local result = command.run("-W -", [[
for _, dtype in ipairs { "f32", "c64", "s16", "e2m1" } do
  local p, results = lutile.tune.gemm { M = 500, N = 504, K = 512, dtype = dtype, seconds = 1,
    candidates = { tile = { { 32, 64, 16 }, { 64, 32, 8 } } } }
  assert(p.template == "simt_gemm.cu" and results[2].microseconds, results[2].pruned)
  print "found"
end]], "LUTILE_CACHE=" .. command.quote(folder))
    support.remove_folder(folder)
    assert.equal(("found\n"):rep(4), result.out, result.err)
  end)

  it_runs("counts elements that are wrong", function()
    local cuda, data = require "lutile.cuda", require "lutile.tune.data"
    for _, dtype in ipairs { "f32", "f16", "s32", "e4m3" } do
      local x = cuda.tensor(dtype, lutile.make_layout { 100, 30 })
      data.fill(x, "normal")
      local changed = x:to_host()
      for _, i in ipairs { 0, 77, 2999 } do changed[i] = changed(i) < 5 and 90 or -90 end
      assert.same({ 0, 3 }, { data.count_wrong(x, x), data.count_wrong(x, changed:to(cuda)) })
      local poisoned = cuda.tensor(dtype, x.layout)
      data.poison(poisoned)
      assert.same({ 3000, 0 }, { data.count_wrong(x, poisoned),
        data.count_wrong(poisoned, poisoned) })
    end
  end)

  it_runs("fills matrices with numbers whose sums are exact, and with normal ones", function()
    local cuda, data = require "lutile.cuda", require "lutile.tune.data"
    for dtype, least in pairs { f16 = -1, e4m3 = -1, s8 = -1, u8 = 0, f64 = -1 } do
      local x = cuda.tensor(dtype, lutile.make_layout { 3000 })
      data.fill(x, "signs")
      local host, counts = x:to_host(), {}
      for i = 0, 2999 do counts[host(i)] = (counts[host(i)] or 0) + 1 end
      for i = 0, 2 do assert.is_true(math.abs(counts[least + i] - 1000) < 150, dtype) end
    end
    local x = cuda.tensor("f32", lutile.make_layout { 10000 })
    data.fill(x, "normal")
    local host, sum, squares = x:to_host(), 0, 0
    for i = 0, 9999 do sum, squares = sum + host(i), squares + host(i) ^ 2 end
    assert.is_true(math.abs(sum / 10000) < 0.05 and math.abs(squares / 10000 - 1) < 0.1)
  end)
end)
