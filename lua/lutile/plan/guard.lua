-- Errors are the calling script's, under the name of what it called, not of what that called.
return function(name, f)
  return function(...)
    local results = table.pack(pcall(f, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    local message = results[2]
    if type(message) ~= "string" then error(message, 0) end
    message = message:gsub("^[^\n]-lutile[%w_./]*:%d+: ", ""):gsub("^plan:%a+: ", "")
    error(name .. ": " .. message, 2)
  end
end
