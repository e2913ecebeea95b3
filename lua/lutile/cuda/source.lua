-- The source of a kernel: what is generated for it, what it includes, what its parameters are.

local lutile = require "lutile"
local driver = require "lutile.cuda.driver"

local M = {}

local function fail(message, ...)
  error(message:format(...), 0)
end

local function sorted_keys(t)
  local keys = {}
  for k in pairs(t) do
    if type(k) ~= "string" then fail("compile: names expected, got %s", tostring(k)) end
    keys[#keys + 1] = k
  end
  table.sort(keys)
  return keys
end

local function check_name(name)
  if not name:match "^[%a_][%w_]*$" then fail("compile: '%s' is no name in C++", name) end
  return name
end

-- ---- Values and types --------------------------------------------------------------------------

local function integer_text(x)
  if x == math.mininteger then return "(-9223372036854775807LL - 1)" end
  local suffix = (x > 0x7fffffff or x < -0x7fffffff) and "LL" or ""
  return ("%d%s"):format(x, suffix)
end

local function float_text(name, x)
  if x ~= x or x == math.huge or x == -math.huge then
    fail("compile: value '%s' is %s: pass it as an argument", name, x)
  end
  local text = ("%.17g"):format(x)
  return text:find "[.e]" and text or text .. ".0"
end

-- A number or boolean as a constant; a string as a macro, so that it may be any expression.
local function value_text(name, x)
  if math.type(x) == "integer" then
    local text = integer_text(x)
    return ("constexpr %s %s = %s;"):format(text:find "LL" and "long long" or "int", name, text)
  elseif math.type(x) == "float" then
    return ("constexpr double %s = %s;"):format(name, float_text(name, x))
  elseif type(x) == "boolean" then
    return ("constexpr bool %s = %s;"):format(name, x)
  end
  fail("compile: value '%s' is a %s: numbers, booleans and strings will do", name, type(x))
end

local function add_values(lines, values)
  local macros = {}
  lines[#lines + 1] = "namespace value {"
  for _, name in ipairs(sorted_keys(values)) do
    local x = values[check_name(name)]
    if type(x) == "string" then
      if x:find "[\n\r]" then fail("compile: value '%s' is more than a line", name) end
      macros[#macros + 1] = ("#define %s %s"):format(name, x)
    else
      lines[#lines + 1] = value_text(name, x)
    end
  end
  lines[#lines + 1] = "}"
  table.move(macros, 1, #macros, #lines + 1, lines)
end

local function add_types(lines, types)
  lines[#lines + 1] = "namespace type {"
  for _, name in ipairs(sorted_keys(types)) do
    if not lutile[types[name]] then fail("compile: no element type '%s'", tostring(types[name])) end
    if not name:find "::" then
      lines[#lines + 1] = ("using %s = lutile::%s;"):format(check_name(name), types[name])
    end
  end
  lines[#lines + 1] = "}"
end

-- ---- Layouts -----------------------------------------------------------------------------------

local function constant(name, x) return { constant = name, value = x } end

-- The parts of a TiledMMA: (thread, value) -> index in the column-major tile.
local function parts_of_mma(mma)
  return {
    A = mma:get_layoutA_TV(), B = mma:get_layoutB_TV(), C = mma:get_layoutC_TV(),
    constant("threads", lutile.size(mma)), constant("m", lutile.tile_size(mma, 0)),
    constant("n", lutile.tile_size(mma, 1)), constant("k", lutile.tile_size(mma, 2)),
  }
end

local function parts_of_copy(copy)
  local source = copy:get_layoutS_TV()
  return {
    S = source, D = copy:get_layoutD_TV(), constant("threads", lutile.size(source, 0)),
    constant("values", lutile.size(source, 1)),
  }
end

-- A layout as it is; a table of parts for what has several.
local function parts_of(name, x)
  local kind = getmetatable(x)
  if kind == "lutile mma" then return parts_of_mma(x) end
  if kind == "lutile copy" then return parts_of_copy(x) end
  if kind == "lutile tensor" then return x.layout end
  if kind == "lutile value" then return x end
  if type(x) == "table" then return #x > 0 and lutile.make_layout(x) or x end
  if math.type(x) == "integer" then return lutile.make_layout(x) end
  fail("compile: layout '%s' is a %s", name, type(x))
end

-- Writes the type, and enters its layout under its C++ name in 'known'.
local function add_layout(lines, known, path, name, x, bits)
  local parts = parts_of(name, x)
  local full = path .. "::" .. check_name(name)
  if type(parts) ~= "table" then
    known[full] = driver.emitted_form(parts)
    lines[#lines + 1] = driver.emit(parts, name, bits)
    return
  end
  lines[#lines + 1] = ("struct %s {"):format(name)
  for _, c in ipairs(parts) do
    lines[#lines + 1] = ("  static constexpr int %s = %d;"):format(c.constant, c.value)
  end
  local names = {}
  for part in pairs(parts) do if type(part) == "string" then names[#names + 1] = part end end
  table.sort(names)
  for _, part in ipairs(names) do add_layout(lines, known, full, part, parts[part], bits) end
  lines[#lines + 1] = "};"
end

-- The generated text, and the layouts in it by their C++ names.
function M.generate(spec)
  local lines, known = { "#pragma once", '#include "lutile.cuh"' }, {}
  add_types(lines, spec.types or {})
  add_values(lines, spec.values or {})
  lines[#lines + 1] = "namespace layout {"
  for _, name in ipairs(sorted_keys(spec.layouts or {})) do
    add_layout(lines, known, "layout", name, spec.layouts[name], spec.index or 64)
  end
  lines[#lines + 1] = "}"
  if spec.prelude then lines[#lines + 1] = spec.prelude end
  return table.concat(lines, "\n") .. "\n", known
end

-- ---- Files -------------------------------------------------------------------------------------

function M.read_file(path)
  local file, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local text = file:read "a"
  file:close()
  return text
end

-- A kernel that comes with lutile, by its bare name, or a file of the script's.
function M.find(name)
  local own = not name:find "/" and driver.embedded("kernels/" .. name)
  if own then return own, nil end
  local text, problem = M.read_file(name)
  if not text then fail("compile: %s", problem) end
  return text, name:match "^(.*)/[^/]*$" or "."
end

-- The folders that options name: -Ifolder, -I folder, --include-path=folder.
local function include_folders(options)
  local folders, i = {}, 1
  while i <= #options do
    local folder = options[i]:match "^%-I(.+)$" or options[i]:match "^%-%-include%-path=(.+)$"
    if options[i] == "-I" then
      i = i + 1
      folder = options[i]
    end
    folders[#folders + 1] = folder
    i = i + 1
  end
  return folders
end

local function find_header(name, folders)
  local own = driver.embedded("kernels/" .. name)
  if own then return own end
  for _, folder in ipairs(folders) do
    local text = M.read_file(folder .. "/" .. name)
    if text then return text end
  end
end

-- What the text includes, and what that includes: handed to the compiler, and part of the cache's
-- key. What is not found here is left to the compiler.
local function add_headers(text, folders, names, texts, seen)
  for name in ("\n" .. text):gmatch '\n[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]' do
    if not seen[name] then
      seen[name] = true
      local header = find_header(name, folders)
      if header then
        names[#names + 1], texts[#texts + 1] = name, header
        add_headers(header, folders, names, texts, seen)
      end
    end
  end
end

function M.headers(text, generated, folder, options)
  local folders = include_folders(options)
  if folder then table.insert(folders, 1, folder) end
  local names, texts, seen = { "generated.cuh" }, { generated }, { ["generated.cuh"] = true }
  add_headers(generated, folders, names, texts, seen)
  add_headers(text, folders, names, texts, seen)
  return names, texts
end

-- ---- Parameters --------------------------------------------------------------------------------

local SCALARS = {
  ["bool"] = { "unsigned", 8 }, ["char"] = { "signed", 8 }, ["signed char"] = { "signed", 8 },
  ["unsigned char"] = { "unsigned", 8 }, ["short"] = { "signed", 16 },
  ["unsigned short"] = { "unsigned", 16 }, ["int"] = { "signed", 32 },
  ["unsigned"] = { "unsigned", 32 }, ["unsigned int"] = { "unsigned", 32 },
  ["long"] = { "signed", 64 }, ["unsigned long"] = { "unsigned", 64 },
  ["long long"] = { "signed", 64 }, ["unsigned long long"] = { "unsigned", 64 },
  ["size_t"] = { "unsigned", 64 }, ["int64_t"] = { "signed", 64 },
  ["uint64_t"] = { "unsigned", 64 }, ["int32_t"] = { "signed", 32 },
  ["uint32_t"] = { "unsigned", 32 },
}

local ELEMENTS = {
  ["double"] = "f64", ["float"] = "f32", ["int"] = "s32", ["short"] = "s16",
  ["signed char"] = "s8", ["unsigned char"] = "u8", ["__half"] = "f16", ["half"] = "f16",
  ["__nv_bfloat16"] = "bf16",
}

-- Bits of the elements that may be passed by value.
local NUMBERS = { f64 = 64, f32 = 32, tf32 = 32, f16 = 16, bf16 = 16, e4m3 = 8, e5m2 = 8 }
local INTEGERS = { s32 = { "signed", 32 }, s16 = { "signed", 16 }, s8 = { "signed", 8 },
  u8 = { "unsigned", 8 } }

local function element_of(name, types)
  local own = name:match "^type::(.+)$"
  return types[name] or own and types[own] or ELEMENTS[name]
    or name:match "^lutile::(.+)$" and lutile[name:match "^lutile::(.+)$"]
end

-- Pieces of a list, at the commas that stand in no brackets.
local function split(text)
  local pieces, depth, start = {}, 0, 1
  for at, c in text:gmatch "()([<>()%[%],])" do
    if c:find "[<(%[]" then depth = depth + 1
    elseif c:find "[>)%]]" then depth = depth - 1
    elseif depth == 0 then
      pieces[#pieces + 1] = text:sub(start, at - 1)
      start = at + 1
    end
  end
  pieces[#pieces + 1] = text:sub(start)
  return pieces
end

local function trim(text)
  return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

local QUALIFIERS = { "const", "volatile", "__restrict__", "__restrict", "__grid_constant__" }

local function without_qualifiers(text)
  for _, word in ipairs(QUALIFIERS) do
    text = text:gsub("%f[%w_]" .. word .. "%f[^%w_]", " ")
  end
  return trim(text)
end

local function describe_tensor(kernel, name, inside, known, types)
  local pieces = split(inside)
  local dtype = #pieces == 2 and element_of(without_qualifiers(pieces[1]), types)
  local layout = #pieces == 2 and known[trim(pieces[2])]
  if not layout then
    fail("compile: parameter '%s' of kernel '%s': tensor<element type, layout::name> expected",
      name, kernel)
  end
  return { kind = "tensor", dtype = dtype or nil, layout = layout }
end

local TENSOR_MAPS = { ["tma::Map"] = true, ["CUtensorMap"] = true }

-- What a launch has to know of a parameter of this type.
local function describe(kernel, name, text, known, types, bits)
  local pointee = text:match "^(.-) ?%*$"
  if pointee then return { kind = "pointer", dtype = element_of(pointee, types) or nil } end
  local inside = text:match "^lutile::tensor ?<(.*)>$" or text:match "^tensor ?<(.*)>$"
  if inside then
    local p = describe_tensor(kernel, name, inside, known, types)
    p.bits = bits
    return p
  end
  if known[text] then return { kind = "layout", layout = known[text], bits = bits } end
  local dtype = element_of(text, types)
  local integer = SCALARS[text] or INTEGERS[dtype]
  if integer then return { kind = integer[1], bits = integer[2] } end
  if TENSOR_MAPS[text] then return { kind = "tensor map" } end
  if NUMBERS[dtype] then return { kind = "number", dtype = dtype, bits = NUMBERS[dtype] } end
  fail("compile: parameter '%s' of kernel '%s' has type '%s', which a launch cannot fill "
    .. "(pointers, numbers, layout::name, lutile::tensor<T, layout::name> and tma::Map it can; "
    .. "'types' may say what '%s' is)", name, kernel, text, text)
end

local function without_comments(text)
  text = text:gsub("\\\r?\n", " ")
  return (text:gsub("/%*.-%*/", " "):gsub("//[^\n]*", " "))
end

-- The text between the parentheses of the kernel's declaration.
local function find_parameters(kernel, text)
  for from in text:gmatch "()__global__" do
    local head = text:sub(from):match "^[^{;]*" or ""
    local list = head:match("%f[%w_]" .. kernel .. "%s*(%b())")
    if list then
      if not text:sub(1, from):find 'extern%s*"C"' then
        fail("compile: kernel '%s' must be declared extern \"C\"", kernel)
      end
      return list:sub(2, -2)
    end
  end
  fail("compile: no kernel '%s' (extern \"C\" __global__ void %s(...)) in the source", kernel,
    kernel)
end

-- TMA reads a map where the launch has put it: the compiler must not copy it.
local function check_tensor_map(kernel, name, text, declaration)
  if TENSOR_MAPS[text] and not declaration:find "__grid_constant__" then
    fail("compile: parameter '%s' of kernel '%s' must be 'const __grid_constant__ %s': TMA reads "
      .. "it where it is", name, kernel, text)
  end
end

-- The list of the kernel's parameters, as the driver's compile takes it.
function M.parameters(kernel, text, known, types, bits)
  local list = trim(find_parameters(kernel, without_comments(text)))
  if list:find "#" then fail("compile: the parameters of '%s' have directives in them", kernel) end
  local parameters = {}
  if list == "" or list == "void" then return parameters end
  for i, piece in ipairs(split(list)) do
    local declaration = without_qualifiers(piece)
    local text_of_type, name = declaration:match "^(.-)%s*([%a_][%w_]*)$"
    if not name or text_of_type == "" then
      fail("compile: parameter %d of kernel '%s' has no name", i, kernel)
    end
    check_tensor_map(kernel, name, trim(text_of_type), piece)
    parameters[i] = describe(kernel, name, trim(text_of_type), known, types, bits)
    parameters[i].name = name
  end
  return parameters
end

return M
