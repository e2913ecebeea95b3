-- Names that a script may have meant.

local MOST_EDITS = 2
local LEAST_PREFIX = 3 -- letters
local MOST_LETTERS = 20 -- that one name has more than the other

-- Letters to replace, leave out or put in until a is b.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local replaced = diagonal + (a:byte(i) == b:byte(j) and 0 or 1)
      diagonal = row[j]
      row[j] = math.min(replaced, row[j] + 1, row[j - 1] + 1)
    end
  end
  return row[#b]
end

local function is_prefix(a, b)
  return #a >= LEAST_PREFIX and b:sub(1, #a) == a
end

-- How far a known name is from what was said; nil where it is another word.
local function distance_of(said, name)
  if math.abs(#said - #name) > MOST_LETTERS then return nil end
  said, name = said:lower(), name:lower()
  local edits = distance(said, name)
  if edits <= MOST_EDITS and 2 * edits <= math.max(#said, #name) then return edits end
  return (is_prefix(said, name) or is_prefix(name, said)) and MOST_EDITS + 1 or nil
end

-- The nearest of a list of names to what was said; nil where all are other words.
return function(said, names)
  local best, least
  for _, name in ipairs(names) do
    local d = distance_of(said, name)
    if d and (not least or d < least) then best, least = name, d end
  end
  return best
end
