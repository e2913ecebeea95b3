-- f(...), whose errors are of group i of a list of products.
return function(i, f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  error(("group %d: %s"):format(i, (tostring(results[2]):gsub("^lutile[%w_.]*:%d+: ", ""))), 0)
end
