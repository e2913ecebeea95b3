-- Kernels compiled for the host by g++ and run there on memory of the pretended driver, which is
-- the host's: what a kernel computes can be checked without a GPU.

local command = require "spec.support.command"
local generate = require "lutile.cuda.source"
local read_parameters = require "lutile.cuda.parameters"
local driver = require "lutile.cuda.driver"

local M = {}

local function read_all(name)
  local file = assert(io.open(name))
  local text = file:read "a"
  file:close()
  return text
end

-- The C++ that reads one parameter from Lua.
local function reading(p, type_text)
  local simple = { number = "(%s)r.number()", signed = "(%s)r.integer()",
    unsigned = "(%s)r.integer()", pointer = "(%s)r.pointer<char>()" }
  if simple[p.kind] then
    return ("auto %s = %s;"):format(p.name, simple[p.kind]:format(type_text))
  end
  local members = {}
  for i = 1, p.layout and driver.count_dynamic(p.layout) or 0 do
    members[i] = ("m%d"):format(i)
  end
  local lines = {}
  if p.kind == "tensor" then lines[1] = ("auto %s_data = r.pointer<char>();"):format(p.name) end
  for _, m in ipairs(members) do
    lines[#lines + 1] = ("auto %s_%s = r.integer();"):format(p.name, m)
  end
  local values = {}
  for i, m in ipairs(members) do
    values[i] = ("decltype(%s::index())(%s_%s)"):format(p.layout_type, p.name, m)
  end
  local layout = ("%s{%s}"):format(p.layout_type, table.concat(values, ", "))
  if p.kind == "tensor" then
    layout = ("%s{(%s *)%s_data, %s}"):format(type_text, p.element_type, p.name, layout)
  end
  lines[#lines + 1] = ("%s %s = %s;"):format(type_text, p.name, layout)
  return table.concat(lines, "\n  ")
end

-- The types of the parameters, as the source has them.
local function types_of(text, kernel)
  local list = text:match(kernel .. "%s*(%b())%s*{"):sub(2, -2)
  local types, depth, start = {}, 0, 1
  for at, c in (list .. ","):gmatch "()([<>,])" do
    if c == "<" then depth = depth + 1 elseif c == ">" then depth = depth - 1
    elseif depth == 0 then
      types[#types + 1] = list:sub(start, at - 1):gsub("%s+", " "):match "^ ?(.-) ?[%a_][%w_]*$"
      start = at + 1
    end
  end
  return types
end

local function wrapper(kernel, parameters, types)
  local lines, names = {}, {}
  for i, p in ipairs(parameters) do
    local element, layout = types[i]:match "^lutile::tensor<(.-),%s*(.-)>$"
    p.layout_type, p.element_type = layout or types[i], element
    lines[i] = "  " .. reading(p, types[i])
    names[i] = p.name
  end
  return ([[
static int call_kernel(lua_State *L) {
  host::reader r{L};
  host::index3 grid{unsigned(luaL_checkinteger(L, 1)), unsigned(luaL_checkinteger(L, 2)), 1};
  unsigned threads = unsigned(luaL_checkinteger(L, 3));
%s
  host::launch(grid, threads, [=] { %s(%s); });
  return 0;
}

extern "C" int luaopen_kernel(lua_State *L) {
  lua_pushcfunction(L, call_kernel);
  return 1;
}
]]):format(table.concat(lines, "\n"), kernel, table.concat(names, ", "))
end

local function build(text)
  local cpp, library = command.file(text), os.tmpname()
  local line = ("g++ -std=c++20 -O1 -w -shared -fPIC -pthread -I/usr/include/lua5.4 -Ispec/cuda "
    .. "-Ikernels -x c++ %s -o %s 2>&1"):format(command.quote(cpp), command.quote(library))
  local pipe = io.popen(line)
  local problems = pipe:read "a"
  local good = pipe:close()
  if not good then error(problems .. text, 0) end
  os.remove(cpp)
  return library
end

-- The dynamic numbers of a layout, as a launch passes them.
local function append_dynamic(list, layout)
  for value in tostring(driver.emitted_form(layout)):gmatch "%?(%-?%d+)" do
    list[#list + 1] = math.tointeger(value)
  end
end

local function bits_of(dtype) return #require "lutile".make_gmem_ptr(dtype, 8):bytes() end

local function flatten(parameters, ...)
  local list = {}
  for i, p in ipairs(parameters) do
    local x = select(i, ...)
    local is_tensor = getmetatable(x) == "lutile tensor"
    if p.kind == "pointer" or p.kind == "tensor" then
      list[#list + 1] = x.data:address() + x.offset * bits_of(x.dtype) // 8
    end
    if p.kind == "tensor" or p.kind == "layout" then
      append_dynamic(list, is_tensor and x.layout or x)
    elseif p.kind ~= "pointer" then
      list[#list + 1] = x
    end
  end
  return list
end

-- Takes the place of cuda.compile.
function M.compile(spec)
  local text = spec.source or read_all("kernels/" .. spec.file)
  local name = spec.name or spec.file:match "^[%w_]+"
  local generated, known = generate(spec)
  local parameters = read_parameters(name, text, known, spec.types or {}, spec.index or 64)
  local library = build('#include "on_host.hpp"\n#define __CUDACC_RTC__\n' .. generated .. "\n"
    .. text .. wrapper(name, parameters, types_of(text, name)))
  local run = assert(package.loadlib(library, "luaopen_kernel"))()
  os.remove(library)
  local kernel = { parameters = parameters }
  function kernel:launch(options)
    local grid = type(options.grid) == "table" and options.grid or { options.grid }
    return function(...)
      run(grid[1], grid[2] or 1, options.block, table.unpack(flatten(self.parameters, ...)))
    end
  end
  return kernel
end

return M
