-- What people write for an architecture: 90, "90", "90a", "sm_90", "sm_90a", "9.0".

-- Compute capabilities that there are (src/tile/architecture.c has their shared memory); newer ones
-- up to LAST are taken at their word.
local KNOWN, NEWER, LAST = {}, 122, 139
for _, x in ipairs { 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89,
  90, 100, 101, 103, 110, 120, 121 } do
  KNOWN[x] = true
end

local FORMS = '90, "90a", "sm_90a" and "9.0" are the forms'

-- The number 90 and the letter "a", "f" or ""; nil and why for what is none.
return function(x)
  if type(x) ~= "number" and type(x) ~= "string" then
    return nil, ("arch is a %s: %s"):format(type(x), FORMS)
  end
  local whole = math.type(x) == "float" and x >= 20 and math.tointeger(x)
  local said = tostring(x):sub(1, 60)
  local text = tostring(whole or x):gsub("^sm_", ""):gsub("^(%d%d?)%.(%d)([af]?)$", "%1%2%3")
  local digits, letter = text:match "^(%d%d%d?)([af]?)$"
  local number = math.tointeger(digits)
  if not number or number < 20 then return nil, ("arch '%s' is none: %s"):format(said, FORMS) end
  if KNOWN[number] or number >= NEWER and number <= LAST then return number, letter end
  return nil, ("arch '%s' is none: there is no compute capability %d.%d"):format(said,
    number // 10, number % 10)
end
