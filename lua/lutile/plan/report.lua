-- A plan as text: what it computes, the options that it has, the layouts, and why.

local roles = require "lutile.plan.roles"
local text_of = require "lutile.plan.shown"

-- Options in the order in which they are shown, and the values that say nothing.
local SHOWN = { "tile", "rows", "block_k", "warps", "groups", "stages", "blocks", "cluster",
  "ping_pong", "splits", "promote", "group", "dependent", "skew", "bias", "epilogue", "scales" }
local USUAL = { blocks = "1", cluster = "{1, 1}", splits = "1", skew = "0", epilogue = '"x"' }

local function add_options(lines, p)
  for _, name in ipairs(SHOWN) do
    local x = p[name]
    if name == "bias" and p.options then x = p.options.bias end -- in the script's roles
    if x and text_of(x) ~= USUAL[name] then
      lines[#lines + 1] = ("%s = %s"):format(name, text_of(x))
    end
  end
  if p.reads_c then lines[#lines + 1] = "beta = " .. tostring(p.beta or true) end
end

-- Who multiplies, where not all do.
local function text_of_consumers(p)
  if not p.consumers then return "" end
  local unit = p.warps and "warp" or "warpgroup"
  return (", %d %s%s of which multipl%s"):format(p.consumers, unit, p.consumers > 1 and "s" or "",
    p.consumers > 1 and "y" or "ies")
end

local function add_resources(lines, p)
  local registers = p.registers and p.registers[2] > 0 and p.registers[2]
  lines[#lines + 1] = ("%d threads%s; %d bytes of shared memory%s"):format(p.threads,
    text_of_consumers(p), p.shared_bytes,
    registers and ("; %d registers of a thread that multiplies"):format(registers) or "")
end

-- ---- Operands ----------------------------------------------------------------------------------

local LOADS = { matrices = "ldmatrix", transposed = "ldmatrix.trans", whole = "words",
  elements = "single elements" }

local function text_of_unit(o)
  return o.unit == "none" and "no contiguous mode" or o.unit == "k" and "mode 1 contiguous"
    or "mode 0 contiguous"
end

local function add_copied(lines, o, name)
  lines[#lines + 1] = ("%s: tile (%d,%d), %s; %scopies of %d bytes; registers by %s"):format(name,
    o.rows, o.k, text_of_unit(o), o.async and "asynchronous " or "", o.vector * o.bytes,
    LOADS[o.load])
  lines[#lines + 1] = "  shared " .. tostring(o.shared)
  lines[#lines + 1] = "  copy (thread,value) " .. tostring(o.copy)
end

-- Of elements that multiply-adds take as numbers of the sums' type.
local function add_decoded(lines, o, name)
  lines[#lines + 1] = ("%s: tile (%d,%d), %s; elements of %s %s, as %s"):format(name,
    o.rows, o.k, text_of_unit(o), o.dtype, o.vector == 1 and "one by one" or o.vector .. " at once",
    o.decoded)
  lines[#lines + 1] = "  shared " .. tostring(o.shared)
  lines[#lines + 1] = "  copy (thread,value) " .. tostring(o.copy)
end

local function add_boxed(lines, o, name)
  local desc = o.tma.desc
  lines[#lines + 1] = ("%s: %sboxes {%s} of TMA, the contiguous mode first; swizzle %s%s"):format(
    name, o.rows and ("tile (%d,%d); "):format(o.rows, o.k) or "",
    table.concat(desc.boxDim, ", "), desc.swizzle,
    o.load and "; registers by " .. LOADS[o.load] or "")
  lines[#lines + 1] = "  shared " .. tostring(o.shared)
end

local function add_operands(lines, p)
  for _, role in ipairs { "A", "B", "D" } do
    local o, name = p[role], roles.name(p, role)
    local add = o and (o.tma and add_boxed or o.decoded and add_decoded or add_copied)
    if add then add(lines, o, name) end
  end
end

return function(p)
  local lines = { p.title or p.entry }
  if p.transposed then
    lines[2] = "computed as C^T = B * A^T: what follows is along N, M, K in this order"
  end
  add_options(lines, p)
  add_resources(lines, p)
  lines[#lines + 1] = tostring(p.mma)
  add_operands(lines, p)
  for _, reason in ipairs(p.reasons or {}) do lines[#lines + 1] = "why: " .. reason end
  return table.concat(lines, "\n")
end
