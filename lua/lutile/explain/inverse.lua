-- Complement and inverses, step by step: modes in the order of their strides.

local lutile = require "lutile"
local text = require "lutile.explain.text"

local M = {}

local value, show = text.value, text.show

-- By exchange, as CuTe does: so equal strides come in its order.
local function sort_by_stride(modes)
  for i = 1, #modes do
    for j = i + 1, #modes do
      if value(modes[j].stride) < value(modes[i].stride) then
        modes[i], modes[j] = modes[j], modes[i]
      end
    end
  end
end

-- The modes of a layout in the order of their strides, each with the index that it starts at.
local function placed_modes(layout)
  local modes, start = text.modes(layout), 1
  for _, mode in ipairs(modes) do
    mode.start = start
    start = start * mode.shape
  end
  sort_by_stride(modes)
  return modes
end

local function is_plain(lines, layout)
  if lutile.is_layout(layout) and not lutile.is_composed_layout(layout) then return true end
  lines:say("%s: the inverse of the layout within, the swizzle moved to its other side", layout)
  return false
end

-- ---- Complement ---------------------------------------------------------------------------------

-- What fills the target from 'reached' on, mode by mode.
local function fill_target(lines, target, reached, result)
  for _, extent in ipairs(text.modes(lutile.make_layout(target))) do
    local count = lutile.ceil_div(extent.shape, reached)
    lines:say("the target's %s from %s on: %s:%s", extent.shape, reached, count, result.step)
    result[#result + 1] = { shape = count, stride = result.step }
    result.step = result.step * count
    reached = lutile.ceil_div(reached, extent.shape)
  end
end

function M.complement(lines, layout, target)
  if lutile.is_composed_layout(layout) then
    lines:say("of a composed layout the layout within counts: %s", layout.layout_b)
    layout = layout.layout_b
  end
  local filtered = lutile.filter(layout)
  target = target or lutile.cosize(filtered)
  if lutile.is_layout(target) then target = target.shape end
  lines:say("filtered, without repeats and coalesced: %s", filtered)
  lines:say("target: %s", target)
  local reached, result = 1, {}
  for _, mode in ipairs(placed_modes(filtered)) do
    if mode.stride == 0 and mode.shape == 1 then goto next end
    if text.basis(mode.stride) ~= "" or value(mode.stride) <= 0 then
      lines:say("stride %s is not positive: the test fails", mode.stride)
      return
    end
    local gap = mode.stride // reached
    if value(mode.stride) < value(reached) then
      lines:say("%s starts within the %s that are covered: the test fails", show(mode), reached)
      return
    end
    lines:say("%s: offsets below %s are covered; %s goes %s times into its stride %s: %s:%s",
      show(mode), reached, reached, gap, mode.stride, gap, reached)
    result[#result + 1] = { shape = gap, stride = reached }
    reached = mode.stride * mode.shape
    lines:say("%s itself covers up to %s * %s = %s", show(mode), mode.shape, mode.stride, reached)
    ::next::
  end
  result.step = reached
  fill_target(lines, target, reached, result)
  lines:say("together: %s, then coalesced", text.show_all(result))
end

-- ---- Right inverse ------------------------------------------------------------------------------

function M.right_inverse(lines, layout)
  if not is_plain(lines, layout) then return end
  local coalesced = lutile.coalesce(layout)
  lines:say("coalesced: %s", coalesced)
  lines:say("in the order of strides, each mode with the index that it starts at:")
  local reached, result = 1, {}
  for _, mode in ipairs(placed_modes(coalesced)) do
    if mode.stride == reached then
      lines:say("  %s at index %s: its stride is the %s reached, so offsets go on: %s:%s",
        show(mode), mode.start, reached, mode.shape, mode.start)
      result[#result + 1] = { shape = mode.shape, stride = mode.start }
      reached = mode.shape * mode.stride
    else
      lines:say("  %s at index %s: its stride is not the %s reached; left out", show(mode),
        mode.start, reached)
    end
  end
  if #result == 0 then result[1] = { shape = 1, stride = 0 } end
  lines:say("together: %s, then coalesced", text.show_all(result))
end

-- ---- Left inverse -------------------------------------------------------------------------------

function M.left_inverse(lines, layout)
  if not is_plain(lines, layout) then return end
  local coalesced = lutile.coalesce(layout)
  lines:say("coalesced: %s", coalesced)
  lines:say("an offset is read as digits between the strides in order:")
  local result, before = {}, { stride = 1, start = 0 }
  local modes = placed_modes(coalesced)
  for _, mode in ipairs(modes) do
    local d, reached = value(mode.stride), value(before.stride)
    if d < 0 then
      lines:say("  stride %s is negative: the test fails", d)
      return
    elseif d % reached ~= 0 then
      lines:say("  stride %s is no multiple of %s: no digits by this rule; a search decides", d,
        reached)
      return
    elseif d ~= 0 then
      lines:say("  below %s (%s): %s steps of %s, each %s in the index: %s:%s", d, show(mode),
        d // reached, reached, before.start, d // reached, before.start)
      result[#result + 1] = { shape = d // reached, stride = before.start }
      if before.shape and value(before.shape) > d // reached then
        lines:say("  %s runs past stride %s: the offsets decide whether this holds", show(before),
          d)
      end
      before = mode
    end
  end
  local last = modes[#modes]
  lines:say("  the last digit has the extent %s, each step %s in the index: %s:%s", last.shape,
    before.start, last.shape, before.start)
  result[#result + 1] = { shape = last.shape, stride = before.start }
  lines:say("together: %s, then coalesced", text.show_all(result))
end

return M
