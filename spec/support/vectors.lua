-- Reference vectors: lines of `op arg... = expected`, tab-separated, in CuTe's notation.
-- Folders are those that LUTILE_VECTORS names (colon-separated), or spec/vectors, and a newer set
-- beside the checkout if there is one.

local lfs = require "lfs"

local M = {}

local function folders()
  local list = os.getenv "LUTILE_VECTORS" or "spec/vectors:../shared/vectors"
  local found = {}
  for folder in list:gmatch "[^:]+" do
    if lfs.attributes(folder, "mode") == "directory" then found[#found + 1] = folder end
  end
  return found, list
end

local function contents(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Paths of all .tsv files, sorted, each content once; and the list of folders that was searched.
function M.files()
  local found, list = folders()
  local paths, seen = {}, {}
  for _, folder in ipairs(found) do
    for name in lfs.dir(folder) do
      local path = folder .. "/" .. name
      local content = name:find "%.tsv$" and contents(path)
      if content and not seen[content] then
        paths[#paths + 1] = path
        seen[content] = true
      end
    end
  end
  table.sort(paths)
  return paths, list
end

local function split(line)
  local fields = {}
  for field in (line .. "\t"):gmatch "(.-)\t" do fields[#fields + 1] = field end
  return fields
end

local function parse(line, number)
  local fields = split(line)
  local expected = table.remove(fields)
  local equals = table.remove(fields)
  assert(equals == "=", "line " .. number .. " has no '=' before its last field")
  return { op = table.remove(fields, 1), args = fields, expected = expected, line = number }
end

-- The cases of a file, in order: { op, args, expected, line }, all as text.
function M.cases(path)
  local cases, number = {}, 0
  for line in io.lines(path) do
    number = number + 1
    if line ~= "" and line:sub(1, 1) ~= "#" then cases[#cases + 1] = parse(line, number) end
  end
  return cases
end

-- Bare integers are compared by value, and so is the offset before ` o `.
function M.comparable(text)
  if text:find "^_?%-?%d+$" then return (text:gsub("_", "")) end
  local offset, layout = text:match "^([^S ][^ ]*) o (.+)$"
  if offset then return offset:gsub("_", "") .. " o " .. layout end
  return text
end

-- Lines that stand as CuTe's source has them although it is malformed: a stride nested deeper than
-- its shape. The right layout is PTX's fragment table for m16n8k128.
local CORRECTIONS = {
  ["((_4,_8),(_32,_2)):((_512,_1),((_16,_8)))"] = "((_4,_8),(_32,_2)):((_512,_1),(_16,_8))",
}

-- The result that a case should have.
function M.corrected(case)
  return CORRECTIONS[case.expected] or case.expected
end

return M
