-- Times of work on a stream of the device, by events; and the clock of its multiprocessors.

local cuda = require "lutile.cuda"

local M = {}

local REPETITIONS = 21
local TURN = 0.5        -- milliseconds that one measurement should last
local SHORT = 0.05      -- milliseconds of work that is replayed from a graph
local MOST_IN_GRAPH = 512

local stream = cuda.stream()
M.stream = stream

-- Milliseconds that f() takes on the stream.
local function elapsed(f)
  local start <close> = cuda.event()
  local stop <close> = cuda.event()
  start:record(stream)
  f()
  stop:record(stream)
  return start:elapsed(stop)
end

-- Milliseconds of one run of run(i), of several behind each other.
function M.time(run, count)
  return elapsed(function() for i = 1, count do run(i) end end) / count
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- A function that measures milliseconds of one run, replaying a graph of runs that are short, so
-- that the host's part is not in it.
local function meter(run, is_graph, turn)
  M.time(run, 2)
  local once = M.time(run, 8)
  local count = math.ceil((turn or TURN) / math.max(once, 0.001))
  if once > SHORT or is_graph then return function() return M.time(run, count) end end
  count = math.min(count, MOST_IN_GRAPH)
  local graph = stream:capture(function() for i = 1, count do run(i) end end)
  local function replay() graph:launch(stream) end
  elapsed(replay)
  return function() return elapsed(replay) / count end
end

-- Medians of the milliseconds of runs, each run(i) on the stream, measured in turn; 'are_graphs':
-- some are replays already, which no graph can hold. 'turn': milliseconds of a measurement, TURN by
-- default; in long turns each run has the clock that its own power leaves.
function M.time_all(runs, are_graphs, turn)
  local meters, times = {}, {}
  for j, run in ipairs(runs) do meters[j], times[j] = meter(run, are_graphs, turn), {} end
  for i = 1, REPETITIONS do
    for j, measure in ipairs(meters) do times[j][i] = measure() end
  end
  for j in ipairs(runs) do times[j] = median(times[j]) end
  return times
end

local CLOCK = [[
extern "C" __global__ void measure_clock(double *mhz) {
  long long from, to;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
  const long long clock = clock64();
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(to));
  } while (to - from < 20000);
  *mhz = 1000.0 * double(clock64() - clock) / double(to - from);
}
]]

local clock

-- MHz of a multiprocessor, right behind the work that is on the stream.
function M.clock()
  if not clock then
    local kernel = cuda.compile { source = CLOCK, name = "measure_clock" }
    clock = { mhz = cuda.tensor("f64", 1), launch = kernel:launch { stream = stream } }
  end
  clock.launch(clock.mhz)
  stream:synchronize()
  return clock.mhz:to_host()(0)
end

return M
