-- What may be refused: f(...), or nil and why not. No memory, or a fault, is no refusal: it raises.
return function(f, ...)
  local good, result = pcall(f, ...)
  if good then return result end
  local why = tostring(result)
  if why:find("not enough memory", 1, true) or why:match "^lutile[%w_.]*:%d+: " then
    error(result, 0)
  end
  return nil, why
end
