-- A number, string, layout or list of numbers as a script would write it.

local function is_list(x)
  for i = 1, #x do
    if math.type(x[i]) == nil then return false end
  end
  return #x > 0
end

return function(x)
  if type(x) == "string" then return ("%q"):format(x) end
  if type(x) ~= "table" then return tostring(x) end
  return is_list(x) and "{" .. table.concat(x, ", ") .. "}" or "another table"
end
