-- Times all offsets of a swizzled layout at once, from Lua: into a tensor and into a table.
--
--     lutile bench/offsets.lua [EXTENT]
local lutile = require "lutile"

local extent = tonumber(arg[1]) or 4096
local REPETITIONS = 5

local layout = lutile.make_composed_layout(lutile.Swizzle(3, 4, 3), 0,
  lutile.make_layout({ extent, extent }, lutile.LayoutRight))

-- Offsets a nanosecond, which are 10^9 a second: the best of several.
local function rate(f, of, ...)
  local best = 0
  for _ = 1, REPETITIONS do
    collectgarbage()
    local start = os.clock()
    f(of, ...)
    best = math.max(best, lutile.size(of) / (os.clock() - start) / 1e9)
  end
  return best
end

local function report(what, f, of, ...)
  print(("%-44s %6.2f G offsets/s"):format(what, rate(f, of, ...)))
end

print(layout)
local run = lutile.make_tensor("s32", { extent, extent })
report("s32 tensor, one run of memory", lutile.offsets, layout, run)
local rows = lutile.make_tensor("s32", { extent, extent }, lutile.LayoutRight)
report("s32 tensor, row-major", lutile.offsets, layout, rows)
report("table", lutile.offsets, layout)
