-- What lutile.tune found, kept beside the compiled kernels in a Lua file for people to read, and
-- taken by plans of the same product on the same device.

local literal = require "lutile.plan.literal"
local space = require "lutile.plan.space"

local M = {}

M.FILE = "tuned.lua"

-- ---- Keys --------------------------------------------------------------------------------------

local UNITS = { A = { row = "m", column = "k", none = "x" },
  B = { row = "n", column = "k", none = "x" }, C = { row = "m", column = "n", none = "x" } }

local function sizes_of(m)
  local list = { m.C.row.extent, m.C.column.extent, m.A.column.extent }
  if m.C.batch.extent ~= 1 then list[4] = m.C.batch.extent end
  for i, n in ipairs(list) do
    if not math.type(n) then return nil end
    list[i] = tostring(n)
  end
  return table.concat(list, "x")
end

-- Bytes that A and B are copied by, where they are not the most.
local function vectors_of(m)
  local a, b = m.A.vector * m.A.bytes, m.B.vector * m.B.bytes
  return (a < 16 or b < 16) and (" copies %d %d"):format(a, b) or ""
end

-- What else is not as it is for most products: sums that are added up as f32, operands that serve
-- all batches, layouts of several strides for a mode.
local function oddities_of(p, m)
  local text = p.promote and " promote " .. p.promote or ""
  for _, name in ipairs { "A", "B", "C" } do
    local x = m[name]
    if x.batch.extent ~= m.C.batch.extent then text = text .. " one " .. name end
    if x.packed then text = ("%s %s %s"):format(text, name, tostring(x.packed)) end
  end
  return text
end

-- A product on a device: types of A, B, the sums and C; M, N, K and batches; the contiguous modes
-- of A, B and C. Nil where the sizes are not known before the launch.
function M.key(p, device)
  local m = p.matrices
  local sizes = sizes_of(m)
  if not sizes then return nil end
  local a, b = p.dtype, p.dtype_b or p.dtype
  if p.transposed then a, b = b, a end
  local units = UNITS.A[m.A.unit] .. UNITS.B[m.B.unit] .. UNITS.C[m.C.unit]
  return ("gemm %s %s %s %s %s %s%s%s%s%s %s"):format(a, b, p.acc, p.out, sizes, units,
    vectors_of(m), oddities_of(p, m), p.reads_c and " beta" or "", p.bias and " bias" or "",
    device.name)
end

-- ---- The file ----------------------------------------------------------------------------------

local function is_value(x)
  if type(x) == "string" then return x:find "^[%w_.]+$" ~= nil end
  return type(x) == "number" and x == x and math.abs(x) < math.huge or type(x) == "boolean"
end

local function is_list(t)
  local n = 0
  for key, x in pairs(t) do
    n = n + 1
    if math.type(key) ~= "integer" or not is_value(x) then return false end
  end
  return n == rawlen(t) and n <= 8
end

local MOST_MICROSECONDS = 1e12 -- days

local function check_entry(key, entry)
  if type(entry) ~= "table" then return ("entry '%s' is no table"):format(key) end
  for name, x in pairs(entry) do
    local is_good = type(name) == "string" and (is_value(x) or type(x) == "table" and is_list(x))
    if not is_good then
      return ("'%s' of entry '%s' is no number, boolean, name or list"):format(tostring(name), key)
    end
  end
  local time = entry.microseconds
  if type(time) ~= "number" or time <= 0 or time > MOST_MICROSECONDS then
    return ("entry '%s' has no microseconds"):format(key)
  end
end

-- The entries that a text holds, and what is wrong with it.
local function parse(text)
  local t, why = literal.read(text)
  if t == nil then return {}, why end
  if type(t) ~= "table" then return {}, "it returns no table" end
  local good = {}
  for key, entry in pairs(t) do
    local wrong = type(key) ~= "string" and "an entry without a name" or check_entry(key, entry)
    if not wrong then good[key] = entry end
    why = why or wrong
  end
  return good, why
end

local function say(message)
  if warn then warn("lutile: " .. message) end
end

local function driver() return require "lutile.cuda.driver" end

local function place() return ("'%s/%s'"):format(driver().cache().folder, M.FILE) end

-- The last text that was read, and its entries: most plans find the file as it was.
local last = { text = "", entries = {} }

-- All entries. What cannot be read is a warning, once.
function M.entries()
  local text, why = driver().read_note(M.FILE)
  if not text then
    if why and why ~= last.why then say("tuned plans are not used: " .. why) end
    last = { text = "", entries = {}, why = why }
  elseif text ~= last.text then
    local entries, wrong = parse(text)
    if wrong then say(("%s: %s"):format(place(), wrong)) end
    last = { text = text, entries = entries }
  end
  return last.entries
end

-- Writes an entry over one of its key, and leaves the others. True, or nil and why not.
function M.keep(key, entry)
  local wrong = check_entry(key, entry)
  if wrong then return nil, wrong end
  local _ <close> = driver().lock_notes() -- until this function ends
  local entries = {}
  for k, e in pairs(M.entries()) do entries[k] = e end
  entries[key] = entry
  return driver().write_note(M.FILE, literal.write(entries))
end

-- ---- Plans -------------------------------------------------------------------------------------

-- The device that a plan is for, where it is there.
function M.device(p)
  local there, cuda = pcall(require, "lutile.cuda")
  if not there or not cuda.available() then return nil end
  local device = cuda.device(0)
  if 10 * device.major + device.minor ~= p.arch then return nil end
  return (p.options.multiprocessors or device.multiprocessors) == device.multiprocessors and device
    or nil
end

-- Whether a script itself says some of what is searched for.
function M.is_said(options)
  for name in pairs(space.fields) do if options[name] ~= nil then return true end end
  return false
end

-- "stages 3, tile 128x128x64"
function M.text(changes)
  local parts = {}
  for name, x in pairs(changes) do
    parts[#parts + 1] = name .. " " .. (type(x) == "table" and table.concat(x, "x") or tostring(x))
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

local function changes_of(entry)
  local changes = {}
  for name, x in pairs(entry) do
    if space.fields[name] then
      changes[name] = x
    elseif name ~= "microseconds" then
      error(("no option '%s' is searched for"):format(name), 0)
    end
  end
  return changes
end

local function apply(p, entry)
  local options, changes = {}, changes_of(entry)
  for name, x in pairs(p.options) do options[name] = x end
  for name, x in pairs(changes) do options[name] = x end
  local tuned = next(changes) and p.plan(options) or p
  table.insert(tuned.reasons, ("tuned: %s: %.1f us when that was found"):format(
    next(changes) and M.text(changes) or "the model's choice", entry.microseconds))
  return tuned
end

-- The plan as its entry says, if there is one; 'p' itself, with a warning, where that cannot be.
function M.improve(p)
  local device = M.device(p)
  local key = device and M.key(p, device)
  local entry = key and M.entries()[key]
  if not entry then return p end
  local good, tuned = pcall(apply, p, entry)
  if good then return tuned end
  if tostring(tuned):find("not enough memory", 1, true) then error(tuned, 0) end
  say(("tuned plan '%s' is not used: %s"):format(key, tostring(tuned)))
  return p
end

-- plan(options) as it was found to be fastest; with 'tuned = false', or where the options say how,
-- as it is.
function M.plan(plan, options)
  local wanted = type(options) == "table" and options.tuned
  if wanted and wanted ~= true then
    error(("tuned is a %s, not a boolean"):format(type(wanted)), 0)
  end
  local rest = options
  if type(options) == "table" and options.tuned ~= nil then
    rest = {}
    for name, x in pairs(options) do if name ~= "tuned" then rest[name] = x end end
  end
  local p = plan(rest)
  if rest ~= options and not wanted or M.is_said(rest) then return p end
  return M.improve(p)
end

return M
