-- A number, string, layout or list of numbers as a script would write it.
return function(x)
  if type(x) == "string" then return ("%q"):format(x) end
  return type(x) == "table" and "{" .. table.concat(x, ", ") .. "}" or tostring(x)
end
