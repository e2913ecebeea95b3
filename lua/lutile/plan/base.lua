-- What all plans do: print and draw themselves, change and compile.

local lutile = require "lutile"
local edits = require "lutile.plan.edits"
local parse_arch = require "lutile.arch"
local report = require "lutile.plan.report"
local tile = require "lutile.plan.tile"

local M = {}

-- A plan that has been compiled for a device keeps that kernel.
local kernels = setmetatable({}, { __mode = "k" })

local has_run = setmetatable({}, { __mode = "k" })

local function check(p)
  if edits.settle(p) then kernels[p] = nil end
  return p
end

-- Works out what follows from layouts and numbers that a script has changed, and refuses what no
-- kernel can follow; gives the plan. Whatever goes by a plan does so first.
M.check = check

-- The same before a run, with less of a look at a plan that has run.
function M.check_run(p)
  if edits.settle(p, has_run[p]) then kernels[p] = nil end
  has_run[p] = true
end

-- The plan as text: with what follows from changes of a script, or why no kernel can follow those.
function M.report(p)
  local good, why = pcall(check, p)
  return good and report(p) or ("%s\nno kernel can follow: %s"):format(report(p), tostring(why))
end

-- ---- Pictures ----------------------------------------------------------------------------------

-- svg([what]): "mma", or "A.shared", "B.copy" and so on: an operand's tile in shared memory, or the
-- threads and values that copy it.
function M.svg(p, what)
  what = what or "mma"
  if what == "mma" then return lutile.svg(p.mma) end
  local name, part = tostring(what):match "^(%a+)%.(%a+)$"
  local o = name and p[name]
  if not (type(o) == "table" and (part == "shared" or part == "copy") and o[part]) then
    error(("no picture '%s': 'mma', 'A.shared', 'B.shared'%s there are"):format(
      tostring(what), p.A.copy and ", 'A.copy', 'B.copy'" or p.D and ", 'D.shared'" or ""), 0)
  end
  if part == "shared" then return lutile.svg(o.shared, { banks = 8 * o.bytes }) end
  return lutile.svg(o.copy, lutile.make_layout { o.rows, o.k })
end

-- ---- Changes -----------------------------------------------------------------------------------

-- The plan for the same matrices with some options changed.
function M.with(p, changes)
  if type(changes) ~= "table" then
    error(("a table expected, got %s"):format(type(changes)), 0)
  end
  local options = {}
  for k, v in pairs(p.options) do options[k] = v end
  for k, v in pairs(changes) do options[k] = v end
  return p.plan(options)
end

-- ---- Source, kernels ---------------------------------------------------------------------------

-- The block of C++ that a plan is to its template.
function M.block(p) return check(p):block_text() end

-- All of the kernel that is compiled: the plan's block, then the template.
function M.source(p)
  return p:block() .. "\n" .. (require "lutile.cuda.headers".find(p.template))
end

-- Refuses a compute capability that the plan's kernel is not for; 'where' it is from.
local function check_target(p, number, where)
  local others = p.is_for_one and "alone" or "and newer"
  local function fail(what, ...)
    error(("the plan is for compute capability %d.%d %s, and %s %d.%d%s (another plan, with arch = "
      .. "%d, may be for that)"):format(p.arch // 10, p.arch % 10, others, where, number // 10,
      number % 10, what:format(...), number), 0)
  end
  local limit = tile.shared_limit(number)
  if number < p.arch or p.is_for_one and number ~= p.arch then fail "" end
  if p.shared_bytes > limit then
    fail(", where a block has %d bytes of shared memory, not %d", limit, p.shared_bytes)
  end
end

-- The compute capability to compile for: what was given, the device's, the plan's where there is
-- none; its letter; where it is from.
local function target_of(p, place, arch)
  if arch ~= nil then
    local number, letter = parse_arch(arch)
    if not number then error(letter, 0) end
    return number, letter, "arch is"
  end
  local cuda = require "lutile.cuda"
  if place == nil and not cuda.available() then return p.arch, "", "" end
  local device = cuda.device(place)
  return 10 * device.major + device.minor, nil, ("device %d has"):format(device.index)
end

-- Whether the kernel has instructions that only architectures "a" have: those of 9.0, setmaxnreg.
local function is_specific(p, number)
  return number == 90 or p.registers ~= nil and p.registers[2] > 0
end

-- Whether NVVM's least effort gives as fast a kernel, as measured: for a template to say.
function M.suits_fast_compile() return false end

-- NVRTC's: less to read, and less effort of NVVM's, but all of ptxas's.
local function options_of(p)
  if not p:suits_fast_compile() then return { "--minimal" } end
  return { "--minimal", "--Ofast-compile=min", "--ptxas-options=--Ofast-compile=0" }
end

-- What lutile.cuda.compile takes; arch is 80, "sm_80" or the like, by default the device's; the
-- plan's where there is no device.
function M.compile_options(p, device, arch)
  check(p)
  local number, letter, where = target_of(p, device, arch)
  check_target(p, number, where)
  if is_specific(p, number) then letter = letter and "a" end
  if letter then arch = ("sm_%d%s"):format(number, letter) end
  return { file = p.template, name = p.entry, prelude = p:block(), arch = arch, device = device,
    types = { ["plan::Compute"] = p.compute_type }, options = options_of(p) }
end

-- The kernel of a plan that has been checked.
function M.compiled(p, index)
  local of_plan = kernels[p] or {}
  kernels[p] = of_plan
  if not of_plan[index] then
    of_plan[index] = require "lutile.cuda".compile(p:compile_options(index))
  end
  return of_plan[index]
end

-- The same for a device, by default device 0.
function M.kernel(p, place)
  check(p)
  return p:compiled(require "lutile.cuda".device(place).index)
end

return M
