-- CUDA: devices, tensors on them, and kernels compiled for the layouts that a script works out.

local driver = require "lutile.cuda.driver"
local copies = require "lutile.cuda.copy"
local no_option = require "lutile.options"
local parse_arch = require "lutile.arch"
local headers = require "lutile.cuda.headers"
local read_parameters = require "lutile.cuda.parameters"
local generate = require "lutile.cuda.source"

local M = {}

-- The level, as error counts them, of the script that called a guarded function: past the functions
-- in C that stand between, t:to and copy.
local function calling_level()
  local level = 3
  while debug do
    local info = debug.getinfo(level, "S")
    if not info or info.what ~= "C" then break end
    level = level + 1
  end
  return level - 1
end

-- A message without the place in this library that it comes from.
local function own_message(message)
  if type(message) ~= "string" then error(message, 0) end
  return (message:gsub("^lutile%.[%w_.]*:%d+: ", ""):gsub("%s+$", ""))
end

-- An error of this module's own functions is the calling script's.
local function guard(f)
  return function(...)
    local results = table.pack(pcall(f, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    error(own_message(results[2]), calling_level())
  end
end

-- ---- What there is -----------------------------------------------------------------------------

M.available = driver.available        -- true, or false and why
M.has_compiler = driver.has_compiler  -- the same of NVRTC
M.count = driver.count
M.info = driver.info
M.cache = driver.cache
M.statistics = driver.statistics

local Device = { __name = "lutile.cuda.Device" }
Device.__index = Device

function Device:__tostring()
  return ("device %d: %s, compute capability %s"):format(self.index, self.name,
    self.compute_capability)
end

function Device:used() return driver.used(self.index) end
function Device:limit(bytes) return driver.limit(bytes, self.index) end
function Device:free_memory() return (driver.memory(self.index)) end
function Device:synchronize() return driver.synchronize(self.index) end
function Device:stream() return driver.stream(self.index) end
function Device:event() return driver.event(self.index) end
function Device:can_access_peer(other) return driver.can_access_peer(self.index, other.index) end
function Device:enable_peer(other) return driver.enable_peer(self.index, other.index) end

-- What names a place: this module (device 0), a device, its number.
local function device_of(place)
  if place == nil or place == M then return 0 end
  if getmetatable(place) == Device then return place.index end
  if math.type(place) == "integer" then return place end
  error(("a device expected, got %s"):format(type(place)), 0)
end

M.synchronize = guard(function(place) return driver.synchronize(device_of(place)) end)

M.device = guard(function(place)
  return setmetatable(driver.device_properties(device_of(place)), Device)
end)

function M.devices()
  local list = {}
  for i = 0, driver.count() - 1 do list[i + 1] = M.device(i) end
  return list
end

-- ---- Memory ------------------------------------------------------------------------------------

-- alloc(bytes [, device]), alloc(dtype, count [, device]): a buffer of any content.
M.alloc = guard(function(dtype, count, device)
  if type(dtype) == "number" then return driver.buffer("u8", dtype, device_of(count)) end
  return driver.buffer(dtype, count, device_of(device))
end)

M.used = guard(function(device) return driver.used(device_of(device)) end)
M.memory = guard(function(device) return driver.memory(device_of(device)) end)
M.limit = guard(function(bytes, device) return driver.limit(bytes, device_of(device)) end)

-- tensor(dtype, layout [, device]) with memory of its own; tensor(buffer, layout).
M.tensor = guard(function(data, layout, device)
  if data == nil then error("tensor: element type or buffer expected, got nil", 0) end
  if type(data) ~= "string" then return driver.view(data, data:dtype(), 0, layout) end
  local buffer = driver.buffer(data, driver.extent(layout), device_of(device))
  return driver.view(buffer, data, 0, layout)
end)

-- A tensor of the host in pinned memory.
M.pinned = guard(function(dtype, layout, device)
  local buffer = driver.pinned_buffer(dtype, driver.extent(layout), device_of(device))
  return driver.view(buffer, dtype, 0, layout)
end)

M.is_device_tensor = copies.is_on_device

-- t:to(cuda), t:to(device) [, stream]: the tensor on a device, with the same layout.
M.to = guard(function(t, place, stream) return copies.to_device(t, device_of(place), stream) end)

-- t:to_host([stream]): the tensor in memory of the host, with the same layout.
M.to_host = guard(copies.to_host)

-- copy(source, target [, stream]): between tensors of any layouts, wherever they are.
M.copy = guard(copies.copy)

-- prepare_copy(source, target [, stream [, changes]]): a function that copies, planned once for
-- many times, with fields of the plan changed.
M.prepare_copy = guard(copies.prepare)

--[[
tensor_map(descriptor, tensor or buffer): a kernel's argument 'const __grid_constant__ tma::Map'.
The descriptor is a TMA copy's (make_tma_copy), or a table with what cuTensorMapEncodeTiled takes,
as a copy's 'desc' has it: tensorRank, tensorDataType, globalDim, globalStrides (bytes), boxDim,
elementStrides, swizzle, l2Promotion ("128B"), oobFill; the address is the tensor's.
map:bytes() has it as 128 bytes.
]]
M.tensor_map = guard(function(descriptor, tensor)
  if getmetatable(descriptor) == "lutile copy" then descriptor = descriptor.desc end
  if type(descriptor) ~= "table" then
    error(("tensor_map: a TMA copy or a table expected, got %s"):format(type(descriptor)), 0)
  end
  return driver.tensor_map(descriptor, tensor)
end)

-- ---- Streams, events ---------------------------------------------------------------------------

M.stream = guard(function(device) return driver.stream(device_of(device)) end)
M.event = guard(function(device) return driver.event(device_of(device)) end)

-- ---- Kernels -----------------------------------------------------------------------------------

local FIELDS = { source = "string", file = "string", name = "string", layouts = "table",
  values = "table", types = "table", arch = true, options = "table", index = "number",
  prelude = "string", device = true }

local function refuse_plan(name, x)
  if x.compile_options then
    error(name .. ": that is a plan: p:compile_options() is what to compile", 0)
  end
end

local function check_fields(spec)
  if type(spec) ~= "table" then
    error(("compile: a table expected, got %s"):format(type(spec)), 0)
  end
  refuse_plan("compile", spec)
  for key, value in pairs(spec) do
    local wanted = FIELDS[key]
    if not wanted then error("compile: " .. no_option(key, FIELDS), 0) end
    if wanted ~= true and type(value) ~= wanted then
      error(("compile: '%s' is a %s, not a %s"):format(key, type(value), wanted), 0)
    end
  end
  if (spec.source == nil) == (spec.file == nil) then
    error("compile: either 'source' or 'file' is needed", 0)
  end
  if spec.index and spec.index ~= 32 and spec.index ~= 64 then
    error("compile: 'index' is 32 or 64", 0)
  end
  for _, option in ipairs(spec.options or {}) do
    if type(option) ~= "string" then
      error(("compile: an option of NVRTC is a string, not a %s"):format(type(option)), 0)
    end
  end
end

-- NVRTC's options: lutile's, then the script's.
local function all_options(of_script)
  local options = { "--std=c++17", "--device-as-default-execution-space",
    "--pre-include=generated.cuh" }
  return table.move(of_script, 1, #of_script, #options + 1, options)
end

-- Without a device, a script says what to compile for.
local function check_target(spec)
  if spec.arch then return end
  local there, why = driver.available()
  if not there then
    error(("compile: no device to compile for: %s; arch = \"sm_90a\" or the like does without one")
      :format(why), 0)
  end
end

-- An architecture as NVRTC names it.
local function name_of_arch(x)
  local number, letter = parse_arch(x)
  if number then return ("sm_%d%s"):format(number, letter) end
  error("compile: " .. letter, 0)
end

local function name_of_kernel(spec)
  local name = spec.name or spec.file and spec.file:match "[^/]+$":match "^[%w_]+"
  if not name then error("compile: 'name' is needed: of the kernel in 'source'", 0) end
  if name:find "^[%a_][%w_]*$" then return name end
  error(("compile: '%s' is no name of a kernel"):format(name), 0)
end

-- What the driver compiles, from what a script says.
local function describe(spec)
  check_fields(spec)
  local text, folder = spec.source, nil
  if spec.file then text, folder = headers.find(spec.file) end
  local name = name_of_kernel(spec)
  check_target(spec)
  local generated, known = generate(spec)
  local read = headers.read { text = text, folder = folder, is_own = spec.file and not folder,
    generated = generated, prelude = spec.prelude, options = spec.options or {} }
  return {
    kernel = name, file = spec.file or "kernel.cu", text = read.text, header_names = read.names,
    header_texts = read.texts, options = all_options(read.options),
    reads_files = read.reads_files,
    arch = spec.arch and name_of_arch(spec.arch), device = device_of(spec.device),
    parameters = read_parameters(name, text, known, spec.types or {}, spec.index or 64),
    source = read.texts[1] .. "\n" .. read.text,
  }
end

--[[
compile{source = text | file = name, name =, layouts =, values =, types =, arch =, options =}

  name      the kernel; by default the file's name without its ending
  layouts   by name: layouts, tensors, TiledMMAs, TiledCopies, tables of them: types in namespace
            'layout' (kernels/lutile.cuh says what they have)
  values    numbers and booleans: constants in namespace 'value'; strings: macros
  types     element types: aliases in namespace 'type'. A key with '::' in it says only what a
            parameter of that type takes
  index     32 or 64 (the default): bits of the dynamic integers of layouts
  prelude   more text before the kernel's
  arch      "sm_90a", "90a" or the like; by default the device's
  options   NVRTC's. Headers are found in the folders of -I, too
  device    a device; by default 0

The kernel has name, arch, key, origin ("compiled", "disk", "memory"), log (NVRTC's warnings),
source (all of what was compiled) and parameters; launch{...}(...), resources(),
occupancy(threads, shared), image().
]]
M.compile = guard(function(spec) return driver.compile(describe(spec)) end)

-- Fills the lists: kernels[i], or false and errors[i]. Gives the orders, and which spec each is of.
local function make_orders(specs, kernels, errors)
  local orders, of = {}, {}
  for i = 1, #specs do
    local good, order = pcall(function() return driver.order(describe(specs[i])) end)
    kernels[i] = false
    if good then
      orders[#orders + 1], of[#of + 1] = order, i
    else
      errors[i] = own_message(order)
      if errors[i] == "not enough memory" then error(errors[i], 0) end -- not this one's fault
    end
  end
  return orders, of
end

local OF_BATCH = { threads = true, progress = true }

local function check_batch_options(specs, options)
  if type(specs) ~= "table" then
    error(("compile_all: a list of tables expected, got %s"):format(type(specs)), 0)
  end
  refuse_plan("compile_all", specs)
  if #specs == 0 and next(specs) ~= nil then
    error("compile_all: a list of tables expected, got one with names", 0)
  end
  if type(options) ~= "table" then
    error(("compile_all: a table of options expected, got %s"):format(type(options)), 0)
  end
  for name in pairs(options) do
    if not OF_BATCH[name] then error("compile_all: " .. no_option(name, OF_BATCH), 0) end
  end
  local threads = options.threads
  if threads ~= nil and (math.type(threads) ~= "integer" or threads < 1 or threads > 1024) then
    error(("compile_all: threads is %s, where 1 to 1024 will do"):format(tostring(threads)), 0)
  end
  if options.progress ~= nil and type(options.progress) ~= "function" then
    error(("compile_all: progress is a %s, not a function"):format(type(options.progress)), 0)
  end
end

--[[
compile_all({spec, ...} [, {threads =, progress =}])

Compiles what is not in the cache by several threads, one for each processor if 'threads' does not
say how many. Gives a list of the kernels, in the order of the specs, false for those that there are
none of, and a table of the messages of these by their places. progress(done, of) is called after
each.
]]
M.compile_all = guard(function(specs, options)
  options = options or {}
  check_batch_options(specs, options)
  local there, why = driver.has_compiler()
  if not there then error(why, 0) end
  local kernels, errors = {}, {}
  local orders, of = make_orders(specs, kernels, errors)
  local batch <close> = driver.batch(orders, options.threads)
  for done = #specs - #orders + 1, #specs do
    local i, kernel, message = batch:next()
    kernels[of[i]], errors[of[i]] = kernel or false, message and own_message(message)
    if options.progress then options.progress(done, #specs) end
  end
  return kernels, errors
end)

copies.compile = M.compile

-- The type that a layout is written as, as text: emit(layout, name [, bits of its integers]).
M.emit = guard(function(layout, name, bits)
  if type(name) ~= "string" then
    error(("emit: the type's name expected as #2, got %s"):format(type(name)), 0)
  end
  return driver.emit(layout, name, bits)
end)

return M
