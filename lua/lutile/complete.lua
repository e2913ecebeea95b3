-- Completion of names at the prompt: globals, fields, and methods of values.
--
-- complete(text [, methods_of]) returns the words that may stand at the end of 'text', sorted, and
-- the number of their bytes that 'text' has already. Nothing of the user's is called: fields are
-- read raw from tables, and by indexing only from lutile's own values. methods_of(x) gives the
-- names of a value's methods where its class is known, as a plan's is: besides these, only fields
-- of the table itself are offered, and those after a dot.

local lutile = require "lutile"

local KEYWORDS = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
  "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
}

-- What values have beside their methods, and lutile's own table does not name.
local PROPERTIES = { "data", "dtype", "layout", "offset", "shape", "stride" }

local function is_value(x)
  local meta = debug.getmetatable(x)
  local name = type(meta) == "table" and rawget(meta, "__name")
  return type(x) == "userdata" and type(name) == "string" and name:find "^lutile" ~= nil
end

-- The field of a value that may have no such field.
local function value_field(x, name)
  local ok, field = pcall(function() return x[name] end)
  return ok and field or nil
end

local function collect_value(words, x)
  for name in pairs(lutile) do
    if type(name) == "string" and value_field(x, name) ~= nil then words[name] = true end
  end
  for _, name in ipairs(PROPERTIES) do
    if value_field(x, name) ~= nil then words[name] = true end
  end
end

-- Names in a table, and in the tables that __index leads to.
local function collect_table(words, x)
  local seen = {}
  while type(x) == "table" and not seen[x] do
    seen[x] = true
    for name in next, x do
      if type(name) == "string" and name:find "^[%a_][%w_]*$" and not name:find "^__" then
        words[name] = true
      end
    end
    local meta = debug.getmetatable(x)
    x = type(meta) == "table" and rawget(meta, "__index")
  end
end

-- The methods of a class, and after a dot the fields of the table itself.
local function collect_instance(words, x, methods, is_method)
  for _, name in ipairs(methods) do words[name] = true end
  for name in next, is_method and {} or x do
    if type(name) == "string" then words[name] = true end
  end
end

local function collect(words, x, methods_of, is_method)
  if is_value(x) then return collect_value(words, x) end
  local methods = methods_of and methods_of(x)
  if methods then return collect_instance(words, x, methods, is_method) end
  if type(x) == "table" then return collect_table(words, x) end
  local meta = debug.getmetatable(x)
  collect_table(words, type(meta) == "table" and rawget(meta, "__index"))
end

local function field(x, name)
  if is_value(x) then return value_field(x, name) end
  local seen = {}
  while type(x) == "table" and not seen[x] do
    seen[x] = true
    local found = rawget(x, name)
    if found ~= nil then return found end
    local meta = debug.getmetatable(x)
    x = type(meta) == "table" and rawget(meta, "__index")
  end
end

-- The value of a chain of names: "a.b.c".
local function evaluate(chain)
  local x = _G
  for name in chain:gmatch "[%a_][%w_]*" do
    x = field(x, name)
    if x == nil then return nil end
  end
  return x
end

local function with_prefix(words, prefix)
  local list = {}
  for word in pairs(words) do
    if word:sub(1, #prefix) == prefix then list[#list + 1] = word end
  end
  table.sort(list)
  return list
end

-- The words after 'chain' and a dot or colon; without a chain, after an operator or a space.
local function candidates(chain, before, methods_of)
  local words = {}
  if chain then
    collect(words, evaluate(chain), methods_of, before:find ":$")
  elseif not before:find "[%.:]$" or before:find "%.%.$" then
    collect_table(words, _G)
    for _, word in ipairs(KEYWORDS) do words[word] = true end
  end
  return words
end

local function complete(text, methods_of)
  local before, prefix = text:match "^(.-)([%a_]?[%w_]*)$"
  local chain = before:match "([%a_][%w_%.]*)[%.:]$"
  if chain and chain:find "%.$" then chain = nil end -- the operator ..
  return with_prefix(candidates(chain, before, methods_of), prefix), #prefix
end

return complete
