-- help(x) of the prompt: what the editor annotations (lutile.meta) say of a name or a value, and of
-- other functions in Lua the comment above them.

local lutile = require "lutile"

local M = {}

local WIDTH = 80

-- ---- The annotations --------------------------------------------------------------------------

-- "functions.size" and "lutile.size" are size; functions of other tables keep the table's name.
local function plain_name(owner, separator, name)
  if owner == "functions" or owner == "lutile" then return name end
  return owner .. separator .. name
end

local function add_entry(entries, plain, arguments, lines, options)
  local entry = { name = plain, signature = plain .. arguments, options = options }
  entry.text = table.concat(lines, " ")
  entries[#entries + 1], entries[plain] = entry, entry
  local method = plain:match ":(.*)"
  if method and not entries[method] then entries[method] = entry end
end

-- The type at the start of what follows a name, and the rest.
local function split_type(text)
  local kind, rest = text:match "^(fun%b():?)(.*)$"
  if not kind then kind, rest = text:match "^([%w_.]*%b<>)(.*)$" end
  if not kind then return text:match "^(%S*)%s*(.*)$" end
  local result, after = rest:match "^%s*(%S*)%s*(.*)$"
  if kind:find ":$" then return kind .. " " .. result, after end
  return kind, rest
end

-- Classes by name: a list of fields, { name, text }, which is the type where nothing is said.
local function parse_classes(text)
  local classes, class, before = {}, nil, ""
  for line in text:gmatch "[^\n]*" do
    local name, parent = line:match "^%-%-%-@class ([%w_.]+):? ?([%w_.]*)"
    local of_field, rest = line:match "^%-%-%-@field ([%w_]+)%??%s+(.*)$"
    local more = line:match "^%-%-%-([^@|].*)$"
    if name then
      class = { parent = parent }
      classes[name] = class
    elseif of_field and class then
      local kind, said = split_type(rest)
      said = before .. said
      class[#class + 1] = { name = of_field, text = said == "" and kind or said }
    elseif not line:find "^%-%-%-" then
      class = nil
    end
    before = more and before .. more .. " " or ""
  end
  return classes
end

-- The fields of a class, then those of its parents.
local function fields_of(classes, name)
  local fields, class = {}, classes[name]
  while class do
    table.move(class, 1, #class, #fields + 1, fields)
    class = classes[class.parent]
  end
  return fields
end

-- What a parameter's type says of a table of options.
local function options_of(classes, line)
  local name = line:match "^%-%-%-@param [%w_]+%?? ([%w_.]+[oO]ptions)"
  return name and fields_of(classes, name)
end

-- Entries in the order of the text, and by name: { name, signature, text, options }. A method of a
-- class is found as "class:method", and as "method" where no function has that name.
function M.parse(text)
  local classes, entries, lines, options = parse_classes(text), {}, {}, nil
  for line in text:gmatch "[^\n]*" do
    local comment = line:match "^%-%-%-([^@|].*)$"
    local owner, separator, name, arguments = line:match "^function (%w+)([.:])([%w_]+)(%b())"
    if name then
      add_entry(entries, plain_name(owner, separator, name), arguments, lines, options)
    end
    options = options_of(classes, line) or options
    if comment then
      lines[#lines + 1] = comment
    elseif not line:find "^%-%-%-" then
      lines, options = {}, nil
    end
  end
  return entries
end

-- ---- Text -------------------------------------------------------------------------------------

-- The words of a text in lines of at most WIDTH bytes, each after an indent.
local function wrap(text, indent)
  local lines, line = {}, nil
  for word in text:gmatch "%S+" do
    if line and #line + 1 + #word <= WIDTH then
      line = line .. " " .. word
    else
      lines[#lines + 1] = line
      line = indent .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local NAMES = 16 -- columns for the names of options

local function describe_option(option)
  local text = wrap(option.text, (" "):rep(NAMES + 2))
  return ("  %s%s"):format(option.name, text:sub(#option.name + 3))
end

local function describe_entry(entry)
  local lines = { entry.signature, wrap(entry.text, "  ") }
  for _, option in ipairs(entry.options or {}) do lines[#lines + 1] = describe_option(option) end
  return table.concat(lines, "\n")
end

local function names_of(entries)
  local names = {}
  for _, entry in ipairs(entries) do
    if not entry.name:find ":" then names[#names + 1] = entry.name end
  end
  return table.concat(names, "  ")
end

local function describe_all(entries)
  return "help(composition) or help \"composition\" explains a name, help(L) a value. The names:\n"
    .. wrap(names_of(entries), "  ")
end

-- ---- Values -----------------------------------------------------------------------------------

-- The name under which a table (or a table in it) has a function.
local function name_of(f, t, prefix)
  for name, value in next, t do
    if type(name) == "string" then
      if rawequal(value, f) then return prefix .. name end
      if type(value) == "table" and prefix == "" and name:sub(1, 1) ~= "_" then
        local inner = name_of(f, value, name .. ".")
        if inner then return inner end
      end
    end
  end
end

-- ---- Functions in Lua ------------------------------------------------------------------------

local function read_file(name)
  local file = io.open(name)
  local text = file and file:read "a"
  if file then file:close() end
  return text
end

-- Lines 1 to 'last' of a text.
local function first_lines(text, last)
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
    if #lines == last then break end
  end
  return lines
end

-- Signature and comment of a function whose source is at hand; 'embedded' gives that of a module
-- that is kept in the binary, by its name.
local function describe_lua_function(f, embedded)
  local info = debug.getinfo(f, "S")
  local kind, place = info.source:match "^([@=])(.*)$"
  local text = kind == "@" and read_file(place) or kind == "=" and embedded(place)
  if info.what ~= "Lua" or not text then return nil end
  local lines = first_lines(text, info.linedefined)
  local signature = lines[#lines]:match "function%s*([%w_.:]*%b())" or "function"
  local comment = ""
  for i = #lines - 1, 1, -1 do
    local line = lines[i]:match "^%s*%-%-+%s*([^@].*)$"
    if not line then break end
    comment = line .. " " .. comment
  end
  return describe_entry { signature = signature, text = comment }
end

-- The functions in a table: those of a module.
local function describe_table(x)
  local names = {}
  for name, value in next, x do
    if type(name) == "string" and type(value) == "function" then names[#names + 1] = name end
  end
  if #names == 0 then return nil end
  table.sort(names)
  return "functions:\n" .. wrap(table.concat(names, "  "), "  ")
end

-- ---- Anything --------------------------------------------------------------------------------

local function has_method(x, name)
  local ok, method = pcall(function() return x[name] end)
  return ok and type(method) == "function"
end

-- Nil for what has none of the methods.
local function describe_value(x, entries)
  local methods = {}
  for _, entry in ipairs(entries) do
    if has_method(x, entry.name) then methods[#methods + 1] = entry end
  end
  if #methods == 0 then return nil end
  return tostring(x) .. "\n" .. wrap("methods: " .. names_of(methods), "  ")
end

local function describe_function(f, entries, embedded)
  local name = name_of(f, lutile, "")
  if name and entries[name] then return describe_entry(entries[name]) end
  return describe_lua_function(f, embedded)
end

local function describe(x, entries, embedded)
  if rawequal(x, lutile) then return describe_all(entries) end
  local kind, text = type(x), nil
  if kind == "string" then
    text = entries[x] and describe_entry(entries[x])
    return text or ("no help on %q: help() lists the names"):format(x)
  end
  if kind == "function" then text = describe_function(x, entries, embedded) end
  if kind == "table" then text = describe_table(x) end
  if kind == "userdata" then text = describe_value(x, entries) end
  return text or ("a %s, and none of lutile's: help() lists the names"):format(kind)
end

-- The function help(...) over the annotations; 'embedded' gives the text of a module by its name.
function M.make(embedded)
  local entries = M.parse(embedded "lutile.meta")
  return function(...)
    local none = select("#", ...) == 0
    print(none and describe_all(entries) or describe((...), entries, embedded))
  end
end

return M
