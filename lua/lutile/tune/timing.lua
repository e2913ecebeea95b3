-- Times of functions that run on a device, in turn, so that what the chip does meanwhile (clocks,
-- heat) is the same for all.

local M = {}

local LONG_ENOUGH = 500 -- microseconds that one sample should last
local SHORT = 50        -- microseconds of a launch below which it is replayed by a graph
local MOST_LAUNCHES = 200 -- of a sample

-- After so many samples of each, those go on that are within so much of the best. The last is all.
local function stages_of(repetitions)
  local few, some = math.min(3, repetitions), math.max(3, repetitions // 3)
  return { { samples = few, within = 1.5 }, { samples = math.min(some, repetitions), within = 1.1 },
    { samples = (repetitions + some) // 2, within = 1.03 }, { samples = repetitions } }
end

function M.median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n = #sorted
  return n % 2 == 1 and sorted[n // 2 + 1] or (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

-- A clock on a stream: the microseconds that f's work takes there.
function M.clock(stream)
  local cuda = require "lutile.cuda"
  local start, stop = cuda.event(stream:device()), cuda.event(stream:device())
  return function(f)
    start:record(stream)
    f()
    stop:record(stream)
    return 1000 * start:elapsed(stop)
  end
end

-- One that is timed: runs(i) is a list of launches, which take turns.
local function new_runner(c, stream, clock)
  local turn = 0
  local function launch(count)
    for _ = 1, count do
      turn = turn % #c.runs + 1
      c.runs[turn]()
    end
  end
  launch(2)
  local once = clock(function() launch(1) end)
  local count = math.ceil(LONG_ENOUGH / math.max(once, 1))
  count = math.min(math.max(count, 1), MOST_LAUNCHES)
  local graph = once < SHORT and stream:capture(function() launch(count) end)
  return { candidate = c, times = {}, spent = once,
    close = function() if graph then graph:close() end end,
    run = function() if graph then graph:launch(stream) else launch(count) end end, count = count }
end

local function sample(r, clock)
  local time = clock(r.run)
  r.times[#r.times + 1] = time / r.count
  r.median = M.median(r.times)
  return time
end

local function best_of(runners)
  local best = runners[1]
  for _, r in ipairs(runners) do if r.median < best.median then best = r end end
  return best
end

local function keep_near(runners, within)
  local best, near = best_of(runners).median, {}
  for _, r in ipairs(runners) do if r.median <= within * best then near[#near + 1] = r end end
  return near
end

-- One sample of each, there or back. Gives the time that it took.
local function round(runners, clock, forward)
  local spent = 0
  for i = 1, #runners do
    spent = spent + sample(runners[forward and i or #runners + 1 - i], clock)
  end
  return spent
end

--[[
all(candidates, stream, {repetitions =, seconds =, progress =})

Gives each candidate, which has a list 'runs' of functions that launch it on the stream,
microseconds: the median of 'samples' samples. There are fewer samples of those far from the best,
and in all they take 'seconds' at most.
]]
function M.all(candidates, stream, options)
  local clock, all, spent = M.clock(stream), {}, 0
  for i, c in ipairs(candidates) do
    all[i] = new_runner(c, stream, clock)
    spent = spent + all[i].spent
    options.progress("warming up", i, #candidates)
  end
  local live, done = all, 0
  for _, stage in ipairs(stages_of(options.repetitions)) do
    while done < stage.samples and (done == 0 or spent < 1e6 * options.seconds) do
      done = done + 1
      spent = spent + round(live, clock, done % 2 == 1)
      options.progress("timing", done, options.repetitions,
        (", %d left, best %.1f us"):format(#live, best_of(live).median))
    end
    if stage.within then live = keep_near(live, stage.within) end
  end
  for _, r in ipairs(all) do
    r.close()
    r.candidate.microseconds, r.candidate.samples = r.median, #r.times
  end
end

return M
