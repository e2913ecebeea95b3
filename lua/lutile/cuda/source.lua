-- What is generated for a kernel: its values, types and layouts as C++.

local lutile = require "lutile"
local driver = require "lutile.cuda.driver"
local elements = require "lutile.cuda.elements"

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

local function is_element(name) return type(name) == "string" and lutile[name] == name end

local function check_code(dtype)
  if elements.has_code(dtype) then return end
  fail("compile: kernels have no numbers of %s (a parameter 'void *' takes tensors of it)", dtype)
end

local function add_types(lines, types)
  lines[#lines + 1] = "namespace type {"
  for _, name in ipairs(sorted_keys(types)) do
    local of = types[name]
    if not is_element(of) then fail("compile: no element type '%s'", tostring(of)) end
    check_code(of)
    if not name:find "::" then
      lines[#lines + 1] = ("using %s = lutile::%s;"):format(check_name(name), of)
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
return function(spec)
  local lines, known = { "#pragma once", '#include "lutile.cuh"' }, {}
  add_types(lines, spec.types or {})
  add_values(lines, spec.values or {})
  lines[#lines + 1] = "namespace layout {"
  for _, name in ipairs(sorted_keys(spec.layouts or {})) do
    add_layout(lines, known, "layout", name, spec.layouts[name], spec.index or 64)
  end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n") .. "\n", known
end
