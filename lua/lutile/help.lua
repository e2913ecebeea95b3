-- help(x) of the prompt: what the editor annotations (lutile.meta) say of a name or a value, and of
-- other functions in Lua the comment above them.

local lutile = require "lutile"
local complete = require "lutile.complete"

local M = {}

local WIDTH = 80

-- ---- The annotations --------------------------------------------------------------------------

-- "functions.size" and "lutile.size" are size; functions of other tables keep the table's name.
local function plain_name(owner, separator, name)
  if owner == "functions" or owner == "lutile" then return name end
  return owner .. separator .. name
end

-- The name of a method without its class's; nil of other names.
local function method_name(plain) return plain:match ":(.*)" end

local function add_entry(entries, plain, arguments, lines, options)
  local entry = { name = plain, signature = plain .. arguments, options = options }
  entry.text = table.concat(lines, " ")
  entries[#entries + 1], entries[plain] = entry, entry
  local method = method_name(plain)
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

-- Classes by name, and by that of the table with their functions, their owner: a list of fields,
-- { name, text }, which is the type where nothing is said.
local function parse_classes(text)
  local classes, class, before = {}, nil, ""
  for line in text:gmatch "[^\n]*" do
    local name, parent = line:match "^%-%-%-@class ([%w_.]+):? ?([%w_.]*)"
    local of_field, rest = line:match "^%-%-%-@field ([%w_]+)%??%s+(.*)$"
    local more = line:match "^%-%-%-([^@|].*)$"
    local owner = line:match "^local (%w+) = {}"
    if name then
      class = { parent = parent, text = before }
      classes[name] = class
    elseif owner and class then
      class.owner, classes[owner], classes[#classes + 1] = owner, class, class
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

-- Entries in the order of the text, and by name: { name, signature, text, options }; and classes. A
-- method of a class is found as "class:method", and as "method" where no function has that name.
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
  return entries, classes
end

-- The names of a class's functions, those of its parents after its own; and by these its entries.
local function functions_of(entries, classes, class)
  local names = {}
  while class do
    for _, entry in ipairs(class.owner and entries or {}) do
      local owner, name = entry.name:match "^(%w+)[.:](.*)$"
      if owner == class.owner and not names[name] then
        names[#names + 1], names[name] = name, entry
      end
    end
    class = classes[class.parent]
  end
  return names
end

-- The class of a table that lutile made, by its metatable's name.
local function class_of(classes, x)
  local meta = debug.getmetatable(x)
  local name = type(x) == "table" and type(meta) == "table" and rawget(meta, "__name")
  return name and classes[name]
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
  local lines = { entry.signature, entry.text ~= "" and wrap(entry.text, "  ") or nil }
  for _, option in ipairs(entry.options or {}) do lines[#lines + 1] = describe_option(option) end
  return table.concat(lines, "\n")
end

-- "Plan: run prepare ...": the functions of a class.
local function describe_functions(entries, classes, class)
  return wrap(class.owner .. ": " .. table.concat(functions_of(entries, classes, class), " "), "  ")
end

local function describe_all(entries, classes)
  local names = {}
  for _, entry in ipairs(entries) do
    if not entry.name:find "[.:]" then names[#names + 1] = entry.name end
  end
  local lines = { "help(composition) or help \"composition\" explains a name, help(L) a value. The "
    .. "names:", wrap(table.concat(names, " "), "  ") }
  for _, class in ipairs(classes) do
    local line = describe_functions(entries, classes, class)
    if not line:find ":$" then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

-- A class, or a part of the module: what it is, its functions, its fields.
local function describe_class(entries, classes, class)
  return describe_entry { signature = describe_functions(entries, classes, class):sub(3),
    text = class.text, options = class }
end

-- The entry of a method by a class's name: its own, its parents', or one of a class that is like it
-- (a plan's, which only grouped plans have).
local function method_of(entries, classes, owner, method)
  local class, entry = classes[owner], entries[method]
  if not class then return nil end
  return functions_of(entries, classes, class)[method]
    or entry and method_name(entry.name) and entry
end

-- What a name says, with or without "lutile.", with a dot or a colon: a function or a class.
local function describe_name(said, entries, classes)
  local name = said:gsub("^lutile%.", ""):gsub("^cuda%.(%u)", "%1")
  for _, key in ipairs { name, (name:gsub("^%l", string.upper)) } do
    local owner, method = key:match "^(%w+)[.:](.*)$"
    local entry = entries[key] or owner and method_of(entries, classes, owner, method)
    if entry then return describe_entry(entry) end
    if classes[key] then return describe_class(entries, classes, classes[key]) end
  end
  return ("no help on %q: help() lists the names"):format(said)
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
  local names = {}
  for _, entry in ipairs(entries) do
    local name = method_name(entry.name) or entry.name
    if not names[name] and has_method(x, name) then
      names[#names + 1], names[name] = name, true
    end
  end
  if #names == 0 then return nil end
  return tostring(x) .. "\n" .. wrap("methods: " .. table.concat(names, "  "), "  ")
end

-- The entry of a function that is a method of a class of plans.
local function entry_of_method(f, entries, classes)
  for _, Plan in ipairs(lutile.plan.classes) do
    local names = functions_of(entries, classes, classes[Plan.__name])
    for _, name in ipairs(names) do if Plan[name] == f then return names[name] end end
  end
end

local function describe_function(f, entries, classes, embedded)
  local name = name_of(f, lutile, "")
  local entry = name and entries[name] or entry_of_method(f, entries, classes)
  if entry then return describe_entry(entry) end
  return describe_lua_function(f, embedded)
end

local function describe(x, entries, classes, embedded)
  if rawequal(x, lutile) or x == "lutile" then return describe_all(entries, classes) end
  local kind, class, text = type(x), class_of(classes, x), nil
  if kind == "string" then return describe_name(x, entries, classes) end
  if class then return describe_class(entries, classes, class) end
  if kind == "function" then text = describe_function(x, entries, classes, embedded) end
  if kind == "table" then text = describe_table(x) end
  if kind == "userdata" then text = describe_value(x, entries) end
  return text or ("a %s, and none of lutile's: help() lists the names"):format(kind)
end

-- ---- The prompt ------------------------------------------------------------------------------

-- The function help(...) over the annotations, which is as text what help() prints; and one for the
-- names of a value's methods, where its class is known. 'embedded' gives the text of a module by
-- its name.
function M.make(embedded)
  local entries, classes = M.parse(embedded "lutile.meta")
  return setmetatable({}, {
    __call = function(_, ...)
      local none = select("#", ...) == 0
      print(none and describe_all(entries, classes) or describe((...), entries, classes, embedded))
    end,
    __tostring = function() return describe_all(entries, classes) end,
  }), function(x)
    local class = class_of(classes, x)
    return class and functions_of(entries, classes, class)
  end
end

-- Sets the globals of the prompt; gives the function that completes names.
function M.open(globals, embedded)
  local help, functions_of_value = M.make(embedded)
  local leave = setmetatable({}, { __call = function(self) return self end,
    __tostring = function() return "Ctrl-D or os.exit() leaves the prompt" end })
  for name, x in pairs { help = help, exit = leave, quit = leave } do
    if rawget(globals, name) == nil then globals[name] = x end
  end
  return function(text) return complete(text, functions_of_value) end
end

return M
