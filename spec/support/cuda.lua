-- What specs on CUDA need: whether there is a compiler or a device, a driver to pretend with, and
-- commands run in folders of their own.

local command = require "spec.support.command"

local M = {}

local function ask(name)
  local ok, there, why = pcall(function() return require "lutile.cuda"[name]() end)
  if not ok then return false, there end
  return there, why
end

M.has_compiler, M.no_compiler = ask "has_compiler"
M.has_device, M.no_device = ask "available"

-- A function like busted's 'it', which leaves its specs pending, with the reason, where what they
-- need is not there.
local function unless_missing(is_there, why, it, pending)
  if is_there then return it end
  return function(name) pending(name .. " (" .. tostring(why) .. ")") end
end

-- For what needs neither, but a lutile that was built with CUDA.
function M.with_cuda(it, pending)
  local is_built, why = pcall(function() return require "lutile.cuda.driver".cache() end)
  return unless_missing(is_built, why, it, pending)
end

function M.with_compiler(it, pending)
  return unless_missing(M.has_compiler, M.no_compiler, it, pending)
end

function M.with_device(it, pending)
  return unless_missing(M.has_device, M.no_device, it, pending)
end

function M.with_two_devices(it, pending)
  local count = M.has_device and require "lutile.cuda".count() or 0
  return unless_missing(count >= 2, M.no_device or "there is one device", it, pending)
end

-- ---- Folders -----------------------------------------------------------------------------------

function M.new_folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute("mkdir -m 700 " .. command.quote(name)))
  return name
end

function M.remove_folder(name)
  os.execute("chmod -R u+rwx " .. command.quote(name) .. " 2>/dev/null; rm -rf " ..
    command.quote(name))
end

function M.list(folder)
  local names, pipe = {}, assert(io.popen("ls -A " .. command.quote(folder) .. " 2>/dev/null"))
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

function M.has_program(name)
  return os.execute("command -v " .. name .. " >/dev/null 2>&1") == true
end

-- ---- The pretended driver ----------------------------------------------------------------------

local fake

-- The library of fake_driver.c, until this process ends; nil where there is no C compiler.
function M.fake_driver()
  if fake == nil then
    local file = os.tmpname()
    M.remover = setmetatable({}, { __gc = function() os.remove(file) end })
    local line = "cc -shared -fPIC -o %s spec/cuda/fake_driver.c 2>/dev/null"
    fake = os.execute(line:format(command.quote(file))) == true and file
  end
  return fake or nil
end

M.has_fake = M.has_program "cc" and M.has_compiler

function M.with_fake(it, pending)
  local why = M.has_compiler and "no C compiler for spec/cuda/fake_driver.c" or M.no_compiler
  return unless_missing(M.has_fake, why, it, pending)
end

-- Kernels compiled for the host are modules of Lua in C++.
local function missing_on_host()
  if not M.has_fake then return M.has_compiler and "no C compiler" or M.no_compiler end
  if not M.has_program "g++" then return "no g++" end
  local probe = "echo '#include <lua.hpp>' | g++ -I/usr/include/lua5.4 -E -x c++ - >/dev/null 2>&1"
  return not os.execute(probe) and "no lua.hpp: Lua's headers are not installed" or nil
end

function M.with_host_kernels(it, pending)
  local missing = missing_on_host()
  return unless_missing(missing == nil, missing, it, pending)
end

-- Runs a chunk in the command with the pretended driver and a cache of its own: { out, err, code },
-- and what the driver was asked for in 'log'.
function M.run_with_fake(chunk, settings)
  local folder = M.new_folder()
  -- AddressSanitizer's search for leaks at exit can itself crash in a child with the pretended
  -- driver; the C tests and the spec's own process are searched.
  local options = (os.getenv("ASAN_OPTIONS") or "") .. ":detect_leaks=0"
  local environment = {
    ("LUTILE_LIBCUDA=%s LUTILE_CACHE=%s/cache FAKE_CUDA_LOG=%s/log"):format(
      M.fake_driver(), folder, folder),
    "ASAN_OPTIONS=" .. command.quote(options),
  }
  for name, value in pairs(settings or {}) do
    environment[#environment + 1] = name .. "=" .. command.quote(tostring(value))
  end
  local script = command.file(chunk)
  local result = command.run("-W " .. command.quote(script), nil,
    table.concat(environment, " "))
  os.remove(script)
  -- AddressSanitizer remarks once on the fibers that the emulated kernels run on.
  result.err = result.err:gsub("==%d+==WARNING: ASan doesn't fully support makecontext[^\n]*\n", "")
  local log = io.open(folder .. "/log")
  result.log = {}
  if log then
    for line in log:lines() do table.insert(result.log, line) end
    log:close()
  end
  M.remove_folder(folder)
  return result
end

-- The whole lines of a text.
function M.lines(text)
  local list = {}
  for line in text:gmatch "([^\n]*)\n" do list[#list + 1] = line end
  return list
end

-- A function that gives the lines that a script prints with the pretended driver; it runs once,
-- when they are first asked for.
function M.printed_by(script, settings)
  local printed
  return function()
    if printed then return printed end
    local result = M.run_with_fake(('package.path = "./?.lua;" .. package.path\ndofile %q'):format(
      script), settings)
    if result.err ~= "" then error(result.err, 2) end
    printed = M.lines(result.out)
    return printed
  end
end

-- How often a line is in a log.
function M.count(log, line)
  local n = 0
  for _, l in ipairs(log) do if l == line then n = n + 1 end end
  return n
end

return M
