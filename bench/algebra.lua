-- Times the operations of a list (bench/algebra.txt) from Lua, and prints them beside what commands
-- print for the same list: lutile bench/algebra.lua LIST [NAME COMMAND]...
local lutile = require "lutile"

local LONG_ENOUGH = 0.02 -- seconds that one measurement should last; the least of several counts
local REPETITIONS = 9

local function read_list(path)
  local rows = {}
  for line in assert(io.open(path)):lines() do
    if not line:match "^#" and line ~= "" then
      local op, first, second = line:match "^([^|]+)|([^|]+)|?(.*)$"
      rows[#rows + 1] = { text = line, op = op, first = lutile.parse(first),
                          second = second ~= "" and lutile.parse(second) or nil }
    end
  end
  return rows
end

-- Seconds for n calls; garbage is collected as the collector sees fit.
local function time_calls(f, a, b, n)
  local start = os.clock()
  if b == nil then
    for _ = 1, n do f(a) end
  else
    for _ = 1, n do f(a, b) end
  end
  return os.clock() - start
end

local function nanoseconds(row)
  local f, a, b = lutile[row.op], row.first, row.second
  if row.op == "eval" then f = function(layout, coord) return layout(coord) end end
  local n = 100
  while time_calls(f, a, b, n) < LONG_ENOUGH do n = n * 2 end
  local best = math.huge
  for _ = 1, REPETITIONS do best = math.min(best, time_calls(f, a, b, n)) end
  return best / n * 1e9
end

local function time_rows(rows)
  local times = {}
  for i, row in ipairs(rows) do times[i] = nanoseconds(row) end
  return times
end

-- The numbers that another program prints, a line each; nil if it fails.
local function times_of(command)
  local pipe = assert(io.popen(command))
  local times = {}
  for line in pipe:lines() do times[#times + 1] = tonumber(line) end
  return pipe:close() and times or nil
end

local function geometric_mean(times)
  local sum = 0
  for _, t in ipairs(times) do sum = sum + math.log(t) end
  return math.exp(sum / #times)
end

local function print_columns(label, columns, cell)
  io.write(("%-62s"):format(label))
  for _, column in ipairs(columns) do io.write((" %15s"):format(cell(column))) end
  io.write "\n"
end

local function number(x) return x < 1000 and ("%.1f"):format(x) or ("%.0f"):format(x) end

local rows = read_list(assert(arg[1], "usage: lutile bench/algebra.lua LIST [NAME COMMAND]..."))
local columns = { { name = "lutile, Lua", times = time_rows(rows) } }
for i = 2, #arg, 2 do
  columns[#columns + 1] = { name = arg[i], times = times_of(arg[i + 1]) }
end

print_columns("ns a call", columns, function(c) return c.name end)
for i, row in ipairs(rows) do
  print_columns(row.text, columns, function(c) return c.times and number(c.times[i]) or "-" end)
end
print_columns("geometric mean", columns,
              function(c) return c.times and number(geometric_mean(c.times)) or "-" end)
