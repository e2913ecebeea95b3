-- Reductions over the lanes of a warp that a layout names.

local lutile = require "lutile"

local M = {}

local ALL = 0xffffffff
local WARP = 32

local known = {}

-- For each lane, the lanes of its group in order: those that differ from it in the layout's index
-- alone.
local function groups_of(layout)
  local key = tostring(layout)
  if known[key] then return known[key] end
  local rest = lutile.complement(layout, WARP)
  local groups = {}
  for r = 0, lutile.size(rest) - 1 do
    local group = {}
    for i = 0, lutile.size(layout) - 1 do
      group[#group + 1] = layout(i) + rest(r)
      if group[#group] >= WARP then
        error(("%s does not divide the warp's 32 lanes"):format(layout), 0)
      end
      groups[group[#group]] = group
    end
  end
  known[key] = groups
  return groups
end

-- The layout of lanes that an argument stands for; it is the caller's mistake where it is none.
local function lanes_of(x)
  local made, layout = pcall(lutile.make_layout, x)
  if lutile.is_layout(x) then made, layout = true, x end
  if not made then error("warp_reduce: the lanes are no layout: " .. layout, 4) end
  local last = lutile.cosize(layout)
  if last > WARP then
    error(("warp_reduce: %s names lane %d, where a warp has 0 to 31"):format(layout, last - 1), 4)
  end
  local ordered, groups = pcall(groups_of, layout)
  if not ordered then error("warp_reduce: " .. groups:gsub("^[^:]*:%d+: ", ""), 4) end
  return groups
end

--- Folds a number over lanes with a function of two: warp_reduce(math.max, x, make_layout(4)) gives
--- each lane the largest x of its quad. The layout is index -> lane, within 32. All threads of the
--- warp take part.
function M.warp_reduce(f, x, layout)
  local index, extent = lutile.threadIdx, lutile.blockDim
  local thread = index.x + extent.x * (index.y + extent.y * index.z)
  local group = lanes_of(layout)[thread % WARP]
  if not group then
    error(("warp_reduce: %s does not name lane %d"):format(tostring(layout), thread % WARP), 3)
  end
  local result
  for _, lane in ipairs(group) do
    local y = lutile.__shfl_sync(ALL, x, lane)
    result = result and f(result, y) or y
  end
  return result
end

return M
