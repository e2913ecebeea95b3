-- help(x) of the prompt: what the editor annotations (lutile.meta) say of a name or a value.

local lutile = require "lutile"

local M = {}

local WIDTH = 80

-- ---- The annotations --------------------------------------------------------------------------

-- "functions.size" and "lutile.size" are size; functions of other tables keep the table's name.
local function plain_name(owner, separator, name)
  if owner == "functions" or owner == "lutile" then return name end
  return owner .. separator .. name
end

local function add_entry(entries, plain, arguments, lines)
  local entry = { name = plain, signature = plain .. arguments }
  entry.text = table.concat(lines, " ")
  entries[#entries + 1], entries[plain] = entry, entry
  local method = plain:match ":(.*)"
  if method and not entries[method] then entries[method] = entry end
end

-- Entries in the order of the text, and by name: { name, signature, text }. A method of a class is
-- found as "class:method", and as "method" where no function has that name.
function M.parse(text)
  local entries, lines = {}, {}
  for line in text:gmatch "[^\n]*" do
    local comment = line:match "^%-%-%-([^@|].*)$"
    local owner, separator, name, arguments = line:match "^function (%w+)([.:])([%w_]+)(%b())"
    if name then add_entry(entries, plain_name(owner, separator, name), arguments, lines) end
    if comment then
      lines[#lines + 1] = comment
    elseif not line:find "^%-%-%-" then
      lines = {}
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

local function describe_entry(entry)
  return entry.signature .. "\n" .. wrap(entry.text, "  ")
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

local function describe(x, entries)
  if rawequal(x, lutile) then return describe_all(entries) end
  if type(x) == "string" and entries[x] then return describe_entry(entries[x]) end
  local name = type(x) == "function" and name_of(x, lutile, "")
  if name and entries[name] then return describe_entry(entries[name]) end
  if type(x) == "string" then return ("no help on %q: help() lists the names"):format(x) end
  return type(x) == "userdata" and describe_value(x, entries)
    or ("a %s, and none of lutile's: help() lists the names"):format(type(x))
end

-- The function help(...) over the annotations in 'text'.
function M.make(text)
  local entries = M.parse(text)
  return function(...)
    local none = select("#", ...) == 0
    print(none and describe_all(entries) or describe((...), entries))
  end
end

return M
