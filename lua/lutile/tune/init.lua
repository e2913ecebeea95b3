-- Searching for the fastest plan on the device at hand, around the one that the model chooses.
--
--   local p, results = lutile.tune.gemm { A = A, B = B, C = C }   -- tensors, layouts or sizes
--   print(results)                                    -- times, and why others were pruned
--
-- From then on lutile.plan.gemm plans the same product on the same device so.

local candidates = require "lutile.tune.candidates"
local data = require "lutile.tune.data"
local gemm = require "lutile.plan.gemm"
local guard = require "lutile.plan.guard"
local matrix = require "lutile.plan.matrix"
local new_progress = require "lutile.tune.progress".new
local plan = require "lutile.plan"
local problem = require "lutile.plan.problem"
local space = require "lutile.plan.space"
local timing = require "lutile.tune.timing"
local tuned = require "lutile.plan.tuned"

local M = {}

local function fail(message, ...) error(message:format(...), 0) end

-- ---- Options -----------------------------------------------------------------------------------

local OWN = { candidates = "table", seconds = "number", repetitions = "number", threads = "number",
  quiet = "boolean", keep = "boolean" }

local KNOWN = {}
for _, names in ipairs { OWN, gemm.OPTIONS } do
  for name in pairs(names) do KNOWN[name] = true end
end

-- The options of the search, and those of the plan.
local function split(options)
  problem.check_options(options, KNOWN)
  local own, rest = { seconds = 10, repetitions = 21, keep = true }, {}
  for name, x in pairs(options) do
    local wanted = OWN[name]
    if wanted and type(x) ~= wanted then
      fail("%s is a %s, not a %s", name, type(x), wanted)
    end
    if wanted then own[name] = x else rest[name] = x end
  end
  if own.seconds <= 0 then fail("seconds is %s, where more than 0 are needed", own.seconds) end
  if math.type(own.repetitions) ~= "integer" or own.repetitions < 1 then
    fail("repetitions is %s, where a positive integer is needed", own.repetitions)
  end
  if rest.tuned ~= nil then fail("no option 'tuned': what was found before is searched anew") end
  return own, rest
end

local function find_device()
  local cuda = require "lutile.cuda"
  local there, why = cuda.available()
  if not there then fail("no device to time on: %s", why) end
  return cuda.device(0)
end

-- ---- Compiling ---------------------------------------------------------------------------------

local function of_plans(all)
  local list = {}
  for _, c in ipairs(all) do if not c.pruned then list[#list + 1] = c end end
  return list
end

-- Compiles the kernels of all plans. One that does not compile is pruned; the model's raises.
local function compile(all, own, progress)
  local list, specs = of_plans(all), {}
  for i, c in ipairs(list) do specs[i] = c.plan:compile_options(0) end
  local kernels, errors = require "lutile.cuda".compile_all(specs, { threads = own.threads,
    progress = function(done, of) progress("compiling", done, of) end })
  if errors[1] then error(errors[1], 0) end
  for i, c in ipairs(list) do
    if errors[i] then c.pruned = "it does not compile: " .. errors[i]:match "^[^\n]*" end
    c.spills = kernels[i] and kernels[i]:resources().local_memory
  end
end

-- ---- Checking ----------------------------------------------------------------------------------

-- Runs a plan; false where it cannot be launched. What ends the device's context is an error.
local function try(c, run, is_first)
  local good, why = pcall(run, c.plan, is_first)
  if good then return true end
  why = tostring(why)
  if is_first or why:find("context is lost", 1, true) then fail("%s: %s", c.text, why) end
  c.pruned = "it does not run: " .. why
  return false
end

-- Runs each on one set of matrices: where its result is not the model's, that is an error. Those
-- that cannot be launched are pruned.
function M.check(all, run, count_wrong, progress)
  local list = of_plans(all)
  for i, c in ipairs(list) do
    local wrong = try(c, run, i == 1) and i > 1 and count_wrong() or 0
    if wrong > 0 then
      fail("%d elements of the result with %s are not those with %s: one of these kernels is wrong",
        wrong, c.text, list[1].text)
    end
    progress("checking", i, #list)
  end
end

local function check_on_device(model, all, progress)
  local cuda = require "lutile.cuda"
  local set = data.new_set(model, "signs")
  local expected = cuda.tensor(set.D.dtype, set.D.layout)
  M.check(all, function(p, is_first)
    data.poison(set.D)
    data.prepare(p, set)()
    if is_first then cuda.copy(set.D, expected) end
    cuda.synchronize()
  end, function() return data.count_wrong(set.D, expected) end, progress)
end

-- ---- Timing ------------------------------------------------------------------------------------

-- Sets of matrices, so many that none is in the L2 when its turn comes again.
local function make_sets(model, device)
  local sets, bytes = {}, 0
  repeat
    local good, set = pcall(data.new_set, model, "normal")
    if not good and #sets == 0 then error(set, 0) end
    if not good then break end -- the device is full
    sets[#sets + 1], bytes = set, bytes + data.bytes(set)
  until #sets >= 2 and bytes > 3 * device.l2_cache or #sets == 64
  return sets
end

-- The launches of a plan on all sets; it is pruned where there is no memory for its own needs.
local function prepare(c, sets, stream, is_first)
  c.runs = {}
  local good, why = pcall(function()
    for i, set in ipairs(sets) do c.runs[i] = data.prepare(c.plan, set, stream) end
  end)
  if good then return end
  if is_first then error(why, 0) end
  c.runs, c.pruned = nil, "it cannot be timed: " .. tostring(why)
end

local function time(model, all, device, own, progress)
  local cuda = require "lutile.cuda"
  local stream <close> = cuda.stream(0)
  local sets, list = make_sets(model, device), of_plans(all)
  for i, c in ipairs(list) do prepare(c, sets, stream, i == 1) end
  list = of_plans(list)
  cuda.synchronize()
  timing.all(list, stream, { repetitions = own.repetitions, seconds = own.seconds,
    progress = progress })
  for _, c in ipairs(list) do c.runs = nil end
end

-- ---- Results -----------------------------------------------------------------------------------

local Results = {}

function Results:__tostring()
  local lines = { ("%10s %9s %7s  %s"):format("us", "TFLOP/s", "samples", self.title) }
  for _, c in ipairs(self) do
    lines[#lines + 1] = c.microseconds
      and ("%10.2f %9.1f %7d  %s%s%s"):format(c.microseconds, c.tflops, c.samples, c.text,
        c.is_model and "  (the model's)" or "", c.spills > 0 and "  (spills)" or "")
      or ("%10s %9s %7s  %s: %s"):format("-", "-", "-", c.text, c.pruned)
  end
  return table.concat(lines, "\n")
end

-- The fastest first, then those that were pruned.
local function sort(all, model)
  local rows, columns, batches = matrix.extents(model.matrices.C)
  local _, k = matrix.extents(model.matrices.A)
  all[1].is_model, all.title = true, model.title
  for i, c in ipairs(all) do
    c.place = i
    c.tflops = c.microseconds and 2e-6 * rows * columns * batches * k / c.microseconds
  end
  table.sort(all, function(x, y)
    local a, b = x.microseconds or math.huge, y.microseconds or math.huge
    if a ~= b then return a < b end
    return x.place < y.place
  end)
  for _, c in ipairs(all) do c.place = nil end
  return setmetatable(all, Results)
end

-- Why the winner is not kept; nil where it is.
local function keep(model, winner, device, own)
  if not own.keep then return "keep is false" end
  if tuned.is_said(model.options) then return "the options say some of it" end
  if not tuned.device(model) then return "the plan is not for the device" end
  local key = tuned.key(model, device)
  if not key then return "sizes are known at launch only" end
  for name in pairs(winner.changes) do
    if not space.fields[name] then return ("'%s' is not searched for elsewhere"):format(name) end
  end
  local entry = { microseconds = math.floor(100 * winner.microseconds + 0.5) / 100 }
  for name, x in pairs(winner.changes) do entry[name] = x end
  local good, why = tuned.keep(key, entry)
  if not good and warn then warn("lutile: tune.gemm: the winner is not kept: " .. why) end
  return not good and why or nil
end

-- ---- The search --------------------------------------------------------------------------------

local function search(model, own, device, progress)
  local all = candidates.prune(model, candidates.describe(model, own.candidates))
  compile(all, own, progress)
  check_on_device(model, all, progress)
  time(model, all, device, own, progress)
  return sort(all, model)
end

--[[
tune.gemm{A =, B =, C =, ...}: the fastest plan on device 0, and a list of all that was tried

  A, B, C, ...  as plan.gemm takes them; their elements are not used. An option that is searched for
                stays as it is said
  candidates    a table of options and the values of each, or a list of tables of options; by
                default the space of the plan's kernels
  seconds       of the device, at most, for timing: 10
  repetitions   samples of those near the best: 21
  threads       that compile: one for each processor
  keep          whether plan.gemm plans so from now on: true
  quiet         no progress on the terminal

Of the list, the fastest first: microseconds, tflops, samples, changes (of the options), text,
is_model; or pruned: why it was not timed. 'not_kept' says why the fastest is not kept.
]]
M.gemm = guard("tune.gemm", function(options)
  local own, rest = split(options)
  rest.tuned = false
  local model = plan.gemm(rest)
  local device = find_device()
  local progress = new_progress("tune.gemm", own.quiet)
  local good, results = pcall(search, model, own, device, progress)
  progress()
  if not good then error(results, 0) end
  local winner = results[1]
  results.not_kept = keep(model, winner, device, own)
  table.insert(winner.plan.reasons, ("tuned: %s: %.1f us"):format(winner.text,
    winner.microseconds))
  return winner.plan, results
end)

return M
