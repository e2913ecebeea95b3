-- What people write for an architecture: 90, "90", "90a", "sm_90", "sm_90a", "9.0".

-- The number 90 and the letter "a", "f" or ""; nil for what is none.
return function(x)
  local text = tostring(x):gsub("^sm_", ""):gsub("^(1?%d)%.(%d)", "%1%2")
  local digits, letter = text:match "^(%d%d%d?)([af]?)$"
  return digits and math.tointeger(digits), letter
end
