-- Runs specs where busted is not installed: the part of busted that specs of CUDA use, and no more.
-- Usage: lutile spec/support/plain.lua [-v] file...
-- Prints failures, and at the end "N passed, N failed, N pending".

package.path = "./?.lua;" .. package.path

local verbose = false
local passed, failed, waiting = 0, 0, 0

-- ---- Assertions --------------------------------------------------------------------------------

local function show(x)
  if type(x) == "string" then return ("%q"):format(x) end
  if type(x) ~= "table" then return tostring(x) end
  local parts = {}
  for k, v in pairs(x) do parts[#parts + 1] = ("[%s] = %s"):format(show(k), show(v)) end
  table.sort(parts)
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function fail(message, ...)
  local texts = { ... }
  for i, x in ipairs(texts) do texts[i] = show(x) end
  error(message:format(table.unpack(texts)), 3)
end

local function is_same(x, y)
  if type(x) ~= "table" or type(y) ~= "table" then return x == y end
  for k, v in pairs(x) do if not is_same(v, y[k]) then return false end end
  for k in pairs(y) do if x[k] == nil then return false end end
  return true
end

local basic_assert = assert
local checks = {}

function checks.equal(wanted, got)
  if wanted ~= got then fail("expected %s, got %s", wanted, got) end
end
function checks.not_equal(unwanted, got)
  if unwanted == got then fail("expected anything but %s", got) end
end
function checks.same(wanted, got)
  if not is_same(wanted, got) then fail("expected %s, got %s", wanted, got) end
end
function checks.is_true(got) if got ~= true then fail("expected true, got %s", got) end end
function checks.is_false(got) if got ~= false then fail("expected false, got %s", got) end end
function checks.is_nil(got) if got ~= nil then fail("expected nil, got %s", got) end end
function checks.truthy(got) if not got then fail("expected something true, got %s", got) end end
function checks.matches(pattern, text, init, plain)
  if type(text) ~= "string" or not text:find(pattern, init or 1, plain) then
    fail("expected a match of %s, got %s", pattern, text)
  end
end
-- What f raises; nil where it does not. Where it was raised is no part of it, as with busted.
local function error_of(f)
  local ok, message = pcall(f)
  if ok then return nil end
  return type(message) == "string" and message:gsub("^[^\n]-:%d+: ", "", 1) or message
end

function checks.has_error(f, wanted)
  local message = error_of(f)
  if message == nil then fail "expected an error" end
  if wanted ~= nil and message ~= wanted then fail("expected error %s, got %s", wanted, message) end
end
function checks.error_matches(f, pattern, init, plain)
  local message = error_of(f)
  if message == nil then fail "expected an error" end
  if type(message) ~= "string" or not message:find(pattern, init or 1, plain) then
    fail("expected an error that matches %s, got %s", pattern, message)
  end
end

local assertions = setmetatable(checks, {
  __call = function(_, ...) return basic_assert(...) end,
})

-- ---- Specs -------------------------------------------------------------------------------------

-- Groups that are open, outermost first: { name, before, after, last }.
local groups = {}

local function full_name(name)
  local names = {}
  for i, group in ipairs(groups) do names[i] = group.name end
  names[#names + 1] = name
  return table.concat(names, " ")
end

local function run_hooks(key)
  for _, group in ipairs(groups) do
    for _, hook in ipairs(group[key]) do hook() end
  end
end

local function describe(name, f)
  groups[#groups + 1] = { name = name, before = {}, after = {}, last = {} }
  f()
  for _, hook in ipairs(groups[#groups].last) do hook() end
  groups[#groups] = nil
end

local function add_hook(key)
  return function(f) table.insert(groups[#groups][key], f) end
end

local function it(name, f)
  local ok, message = xpcall(function()
    run_hooks "before"
    f()
  end, debug.traceback)
  local cleaned, problem = pcall(run_hooks, "after")
  if ok and not cleaned then ok, message = false, problem end
  if ok then passed = passed + 1 else failed = failed + 1 end
  if not ok or verbose then print((ok and "passed   " or "FAILED   ") .. full_name(name)) end
  if not ok then print("  " .. tostring(message):gsub("\n", "\n  ")) end
  io.stdout:flush()
end

local function pending(name)
  waiting = waiting + 1
  print("pending  " .. full_name(name))
end

local environment = setmetatable({ describe = describe, it = it, pending = pending,
  setup = function(f) f() end, teardown = add_hook "last",
  before_each = add_hook "before", after_each = add_hook "after", assert = assertions },
  { __index = _G })

local function run_file(file)
  local chunk, problem = loadfile(file, "t", environment)
  local ok = chunk ~= nil
  if ok then ok, problem = xpcall(chunk, debug.traceback) end
  if ok then return end
  failed = failed + 1
  print("FAILED   " .. file .. "\n  " .. tostring(problem))
end

for _, file in ipairs(arg) do
  if file == "-v" then verbose = true else run_file(file) end
end
print(("%d passed, %d failed, %d pending"):format(passed, failed, waiting))
os.exit(failed == 0, true)
