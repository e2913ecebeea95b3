-- The parameters of a kernel, from its declaration: what a launch fills.

local lutile = require "lutile"
local cxx = require "lutile.cuda.cxx"

local function fail(message, ...)
  error(message:format(...), 0)
end

-- ---- Types -------------------------------------------------------------------------------------

local INTEGERS = {
  bool = { "unsigned", 8 }, size_t = { "unsigned", 64 }, ptrdiff_t = { "signed", 64 },
  intptr_t = { "signed", 64 }, uintptr_t = { "unsigned", 64 },
}
for _, bits in ipairs { 8, 16, 32, 64 } do
  INTEGERS[("int%d_t"):format(bits)] = { "signed", bits }
  INTEGERS[("uint%d_t"):format(bits)] = { "unsigned", bits }
end

-- Bits of C++'s own integers, by the words that say the size.
local BITS = { [""] = 32, char = 8, short = 16, long = 64, ["long long"] = 64 }

-- C++'s own: the words may stand in any order.
local function own_integer(text)
  local sizes, sign = {}, "signed"
  for word in text:gmatch "%S+" do
    if word == "signed" or word == "unsigned" then
      sign = word
    elseif word ~= "int" then
      sizes[#sizes + 1] = word
    end
  end
  local bits = BITS[table.concat(sizes, " ")]
  return bits and { sign, bits }
end

local function integer_of(text)
  return INTEGERS[text:match "^:*std::([%w_]+)$" or text] or own_integer(text)
end

local ELEMENTS = {
  ["double"] = "f64", ["float"] = "f32", ["int"] = "s32", ["short"] = "s16",
  ["signed char"] = "s8", ["unsigned char"] = "u8", ["__half"] = "f16", ["half"] = "f16",
  ["__nv_bfloat16"] = "bf16",
}

-- Bits of the elements that may be passed by value.
local NUMBERS = { f64 = 64, f32 = 32, tf32 = 32, f16 = 16, bf16 = 16, e4m3 = 8, e5m2 = 8 }
local INTEGER_ELEMENTS = { s32 = { "signed", 32 }, s16 = { "signed", 16 }, s8 = { "signed", 8 },
  u8 = { "unsigned", 8 } }

local function element_of(name, types)
  local alias, own = name:match "^type::(.+)$", name:match "^lutile::(.+)$"
  if own and lutile[own] == own then return own end
  return types[name] or alias and types[alias] or ELEMENTS[name]
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
  local integer = integer_of(text) or INTEGER_ELEMENTS[dtype]
  if integer then return { kind = integer[1], bits = integer[2] } end
  if TENSOR_MAPS[text] then return { kind = "tensor map" } end
  if NUMBERS[dtype] then return { kind = "number", dtype = dtype, bits = NUMBERS[dtype] } end
  fail("compile: parameter '%s' of kernel '%s' has type '%s', which a launch cannot fill "
    .. "(pointers, numbers, layout::name, lutile::tensor<T, layout::name> and tma::Map it can; "
    .. "'types' may say what '%s' is)", name, kernel, text, text)
end

local function is_extern_c(text, blanked, at)
  for quote in blanked:sub(1, at):gmatch 'extern%s*()"' do
    if text:sub(quote, quote + 2) == '"C"' then return true end
  end
end

-- The texts between the parentheses of the kernel's definitions, or of declarations where the
-- source has but those: several where directives choose.
local function find_lists(kernel, text)
  local blanked, is_sure = cxx.blank(text)
  if is_sure then blanked = cxx.blank_left_out(blanked) end
  local defined, declared = {}, {}
  for from in blanked:gmatch "()__global__" do
    local head, stop = blanked:match("^([^{;]*)()", from)
    local list = head:match("%f[%w_]" .. kernel .. "%s*(%b())")
    if list and not is_extern_c(text, blanked, from) then
      fail("compile: kernel '%s' must be declared extern \"C\"", kernel)
    end
    local kind = blanked:sub(stop, stop) == "{" and defined or declared
    if list then kind[#kind + 1] = trim(list:sub(2, -2)) end
  end
  local lists = #defined > 0 and defined or declared
  if #lists > 0 then return lists end
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

-- The parameter's type and name. An array is a pointer.
local function read_declaration(piece)
  local declaration = without_qualifiers(piece:gsub("%[%[.-%]%]", " "))
  local is_array = declaration:find "%]$" ~= nil
  while declaration:find "%]$" do declaration = declaration:match "^(.-) ?%b[]$" or "" end
  local text, name = declaration:match "^(.-)%s*([%a_][%w_]*)$"
  if not name or text == "" then return nil end
  return trim(is_array and text .. " *" or text), name
end

local function read_list(kernel, list, known, types, bits)
  if list:find "#" then fail("compile: the parameters of '%s' have directives in them", kernel) end
  local parameters = {}
  if list == "" or list == "void" then return parameters end
  for i, piece in ipairs(split(list)) do
    local text_of_type, name = read_declaration(piece)
    if not name then fail("compile: parameter %d of kernel '%s' has no name", i, kernel) end
    check_tensor_map(kernel, name, text_of_type, piece)
    parameters[i] = describe(kernel, name, text_of_type, known, types, bits)
    parameters[i].name = name
  end
  return parameters
end

-- ---- Several definitions -----------------------------------------------------------------------

local function are_alike(p, q)
  return p.kind == q.kind and p.dtype == q.dtype and p.bits == q.bits and p.layout == q.layout
end

-- Whether a launch fills both lists, and in the same way.
local function are_lists_alike(read, a, b)
  local is_read_a, of_a = pcall(read, a)
  local is_read_b, of_b = pcall(read, b)
  if not (is_read_a and is_read_b) or #of_a ~= #of_b then return false end
  for i, p in ipairs(of_a) do
    if not are_alike(p, of_b[i]) then return false end
  end
  return true
end

local function fail_to_choose(kernel, a, b)
  fail("compile: kernel '%s' is there with parameters (%s) and (%s), and only the preprocessor "
    .. "knows which are taken: leave one out, or let both be the same, with 'types' for what "
    .. "differs", kernel, a, b)
end

-- The list of the kernel's parameters, as the driver's compile takes it.
return function(kernel, text, known, types, bits)
  local lists = find_lists(kernel, text)
  local function read(list) return read_list(kernel, list, known, types, bits) end
  for i = 2, #lists do
    if lists[i] ~= lists[1] and not are_lists_alike(read, lists[1], lists[i]) then
      fail_to_choose(kernel, lists[1], lists[i])
    end
  end
  return read(lists[1])
end
