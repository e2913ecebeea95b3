-- A message without the place in one of our modules that it starts with. By plain searches: in a
-- sandbox, patterns with several repetitions take short texts alone.
local function without_place(message)
  local from = message:find("lutile", 1, true)
  local to = from and message:find(": ", from, true)
  if not to or message:find(": ", 1, true) < to then return message end
  return message:sub(from, to - 1):find "^lutile[%w_./]*:%d+$" and message:sub(to + 2) or message
end

-- Errors are the calling script's, under the name of what it called, not of what that called.
return function(name, f)
  return function(...)
    local results = table.pack(pcall(f, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    local message = results[2]
    if type(message) ~= "string" then error(message, 0) end
    message = without_place(message):gsub("^plan:[%a_]+: ", "")
    error(name .. ": " .. message, 2)
  end
end
