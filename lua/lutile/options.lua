-- What is said of an option that there is none of: the nearest name, or all of them.

local nearest = require "lutile.nearest"

local MOST_SHOWN = 60

-- The message for an option 'said', where the keys of 'known' are those there are.
return function(said, known)
  local is_name = type(said) == "string"
  said = tostring(said)
  local names = {}
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  local meant = is_name and nearest(said, names)
  if #said > MOST_SHOWN then said = said:sub(1, MOST_SHOWN) .. "..." end
  return ("no option '%s' (%s)"):format(said, meant and ("did you mean '%s'?"):format(meant)
    or "there are " .. table.concat(names, ", "))
end
