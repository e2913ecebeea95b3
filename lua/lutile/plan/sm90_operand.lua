-- A and B of gemm_sm90: tiles that TMA loads, and the descriptors by which MMAs read them.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"
local tma_operand = require "lutile.plan.tma_operand"

local GMMA, make_layout = lutile.GMMA, lutile.make_layout

local M = {}

local WARPGROUP = 128

local function fail(message, ...) error(message:format(...), 0) end

-- The descriptor of the first MMA; units that the other MMAs of a warpgroup, and those of other
-- warpgroups, add to its start.
local function find_descriptors(o, mma, warpgroups)
  local partition = o.name == "A" and "partition_A" or "partition_B"
  local function of(thread)
    local slice = mma:get_slice(thread)
    return GMMA.smem_desc(o.major, slice[partition](slice, o.shared), o.dtype)
  end
  local first, steps = of(0)
  o.descriptor, o.steps = first, make_layout(steps[1], steps[2])
  local stride = warpgroups > 1 and of(WARPGROUP).start_address or 0
  o.starts = make_layout(warpgroups, stride)
  for w = 0, warpgroups - 1 do
    if of(w * WARPGROUP).start_address ~= o.starts(w) then
      fail("%s: warpgroups start at no fixed distance", o.called)
    end
  end
end

--[[
new(p, o): what tma_operand.new gives, and

  descriptor, steps, starts
]]
function M.new(p, o)
  tma_operand.new(p, o)
  find_descriptors(o, p.mma, p.sharers)
  return o
end

-- ---- As C++ ------------------------------------------------------------------------------------

function M.source(o)
  return table.concat({
    "/* " .. tostring(o.shared) .. " */",
    "struct " .. o.name .. " {",
    tma_operand.source(o),
    "",
    "  /* The first MMA's descriptor, in two words: the lower one has the start, in units of 16",
    "  ** bytes. Units to a warpgroup's first start, and from there. */",
    ("  static constexpr unsigned kDescriptor = 0x%08x, kDescriptorHigh = 0x%08x;"):format(
      o.descriptor.desc & 0xffffffff, o.descriptor.desc >> 32),
    emit.layout("start", o.starts),
    emit.layout("step", o.steps),
    "};",
  }, "\n")
end

return M
