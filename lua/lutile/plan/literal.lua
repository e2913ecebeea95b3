-- Tables as the text of a Lua file, "return { ... }", read without running it: numbers, booleans,
-- strings and tables of them, and comments.

local M = {}

local DEEPEST = 8

-- ---- Reading -----------------------------------------------------------------------------------

local ESCAPES = { n = "\n", t = "\t", r = "\r", ["\\"] = "\\", ['"'] = '"', ["'"] = "'" }

local function fail(r, what)
  local _, line = r.text:sub(1, r.at - 1):gsub("\n", "")
  error(("line %d: %s"):format(line + 1, what), 0)
end

-- What the pattern matches here, which is passed; nil where it does not.
local function take(r, pattern)
  local from, to, found = r.text:find("^" .. pattern, r.at)
  if not from then return nil end
  r.at = to + 1
  return found or r.text:sub(from, to)
end

local function skip(r)
  while take(r, "%s+") or take(r, "%-%-[^\n]*") do end
end

local function read_string(r, quote)
  local parts = {}
  while not take(r, quote) do
    local part = take(r, "[^\\\n" .. quote .. "]+")
    if not part then
      local code = take(r, "\\(%d%d?%d?)")
      part = code and tonumber(code) < 256 and string.char(code)
        or ESCAPES[take(r, "\\(.)") or ""] or fail(r, "a string that does not end")
    end
    parts[#parts + 1] = part
  end
  return table.concat(parts)
end

local function read_number(r)
  local text = take(r, "%-?%.?%d[%w.]*[+-]?%w*")
  return text and (tonumber(text) or fail(r, ("'%s' is no number"):format(text)))
end

local read_value

-- The key that a field starts with; nil for one of a list.
local function read_key(r)
  local name = take(r, "([%a_][%w_]*)%s*=%f[^=]")
  if name then return name end
  if not take(r, "%[") then return nil end
  skip(r)
  local key = read_value(r, DEEPEST)
  skip(r)
  if not take(r, "%]%s*=") then fail(r, "']=' expected") end
  return key
end

local function read_table(r, depth)
  local t = {}
  if depth >= DEEPEST then fail(r, "tables in tables, too deep") end
  skip(r)
  while not take(r, "}") do
    local key = read_key(r)
    if key == nil then key = #t + 1 end
    skip(r)
    if t[key] ~= nil then fail(r, ("%s twice"):format(tostring(key))) end
    t[key] = read_value(r, depth + 1)
    skip(r)
    if not take(r, "[,;]") and not r.text:find("^}", r.at) then fail(r, "',' or '}' expected") end
    skip(r)
  end
  return t
end

function read_value(r, depth)
  local quote = take(r, "[\"']")
  if quote then return read_string(r, quote) end
  local number = read_number(r)
  if number then return number end
  if take(r, "{") then return read_table(r, depth) end
  local word = take(r, "[%a_][%w_]*")
  if word == "true" or word == "false" then return word == "true" end
  fail(r, "a number, a boolean, a string or a table expected")
end

-- The value that the text returns; nil and a message where it is anything else.
function M.read(text)
  local r = { text = text, at = 1 }
  local good, value = pcall(function()
    skip(r)
    if not take(r, "return%f[^%w_]") then fail(r, "'return' expected") end
    skip(r)
    local value = read_value(r, 0)
    skip(r)
    if r.at <= #text then fail(r, "the end expected") end
    return value
  end)
  if good then return value end
  return nil, value
end

-- ---- Writing -----------------------------------------------------------------------------------

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do if type(key) == "string" then keys[#keys + 1] = key end end
  table.sort(keys)
  return keys
end

local function text_of_string(x) return (("%q"):format(x):gsub("\\\n", "\\n")) end

local function text_of_key(key)
  return key:find "^[%a_][%w_]*$" and key or "[" .. text_of_string(key) .. "]"
end

local function text_of(x)
  if type(x) == "string" then return text_of_string(x) end
  if type(x) ~= "table" then return tostring(x) end
  local parts = {}
  for i = 1, rawlen(x) do parts[i] = text_of(rawget(x, i)) end
  for _, key in ipairs(sorted_keys(x)) do
    parts[#parts + 1] = text_of_key(key) .. " = " .. text_of(x[key])
  end
  return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

-- The text of a table by names, sorted, a line for each.
function M.write(t)
  local lines = { "return {" }
  for _, key in ipairs(sorted_keys(t)) do
    lines[#lines + 1] = ("  [%s] = %s,"):format(text_of_string(key), text_of(t[key]))
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

return M
