-- What people write for an architecture: 90, "90", "90a", "sm_90", "sm_90a", "9.0".

-- Compute capabilities that there are; newer ones are taken at their word.
local KNOWN, NEWER = {}, 122
for _, x in ipairs { 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89,
  90, 100, 101, 103, 110, 120, 121 } do
  KNOWN[x] = true
end

-- The number 90 and the letter "a", "f" or ""; nil for what is none.
return function(x)
  if math.type(x) == "float" and x >= 20 then x = math.tointeger(x) end
  local text = tostring(x):gsub("^sm_", ""):gsub("^(%d%d?)%.(%d)([af]?)$", "%1%2%3")
  local digits, letter = text:match "^(%d%d%d?)([af]?)$"
  local number = math.tointeger(digits)
  if not number or not (KNOWN[number] or number >= NEWER) then return nil end
  return number, letter
end
