-- Warp-wide MMAs of plans by mma.sync, d += a * b on registers: those of a k-step as C++, their
-- sums in registers that PTX names. Source: PTX ISA, "mma".

local lutile = require "lutile"

local M = {}

-- Whether fp8 is multiplied as f16, two atoms for one: where mma.sync has no fp8, only instructions
-- of a warpgroup or of tensor memory have (9.0 to 11.x). The compiler does so, too, and moves
-- registers about for each atom. All k of both operands are in the same order, the low pairs of a
-- register before the high ones, and f16 holds every fp8 number.
function M.unpacks(dtype, arch)
  return dtype:match "^e%dm" ~= nil and arch >= 90 and arch < 120
end

-- The instruction of an atom by CuTe's name.
local function instruction(p)
  local m, n, k = p.atom:match "_(%d+)x(%d+)x(%d+)_"
  local types = ("%s.%s.%s.%s"):format(p.acc, p.dtype, p.dtype_b, p.acc)
  if M.unpacks(p.dtype, p.arch) then k, types = k // 2, "f32.f16.f16.f32" end
  return ("mma.sync.aligned.m%dn%dk%d.row.col.%s"):format(m, n, k, types)
end

-- Registers of an atom's operand.
function M.words(layout, o) return lutile.size(layout) // 32 * o.bytes // o.word end

-- ---- Quarters of a k-step ----------------------------------------------------------------------

local function list_of(count, f)
  local list = {}
  for i = 0, count - 1 do list[i + 1] = f(i) end
  return "{" .. table.concat(list, ", ") .. "}"
end

-- MMAs of rows and columns of atoms, {first, count} each, there and back along the rows, so that
-- one of an atom's operands is the one before's. 'from' is the number of the asm's first operand.
local function mmas(p, rows, columns, from)
  local name, lines = instruction(p), {}
  local from_b = from + rows.count * p.words_of_a
  for j = 0, columns.count - 1 do
    for there = 0, rows.count - 1 do
      local i = j % 2 == 0 and there or rows.count - 1 - there
      local first = (rows.first + i + (columns.first + j) * p.atoms[1]) * p.words_of_c
      local sums = list_of(p.words_of_c, function(w) return "sum" .. first + w end)
      lines[#lines + 1] = ('        "%s "\n        "%s, %s, %s, %s;"'):format(name, sums,
        list_of(p.words_of_a, function(w) return "%" .. from + i * p.words_of_a + w end),
        list_of(p.words_of_b, function(w) return "%" .. from_b + j * p.words_of_b + w end), sums)
    end
  end
  return table.concat(lines, "\n")
end

-- As the asm takes them: words of a and b, or the pair 'unpack' (0, 1) of each.
local function operands(p, rows, columns, unpack)
  local constraint = p.A.word == 8 and "l" or "r"
  local list = {}
  local function add(name, dtype, count)
    for w = 0, count - 1 do
      local word = ("%s[%d]"):format(name, w)
      if unpack then word = ("mma::unpack_%s(%s, %d)"):format(dtype, word, unpack) end
      list[#list + 1] = ('"%s"(%s)'):format(constraint, word)
    end
  end
  add("a", p.dtype, rows.count * p.words_of_a)
  add("b", p.dtype_b, columns.count * p.words_of_b)
  return list
end

local function wrap(list)
  local lines, line = {}, ""
  for i, item in ipairs(list) do
    if #line + #item > 86 then lines[#lines + 1], line = line, "" end
    line = line .. item .. (i < #list and ", " or "")
  end
  lines[#lines + 1] = line
  return (table.concat(lines, "\n          "):gsub(" +\n", "\n"))
end

-- The MMAs of rows by columns, where the C++ condition holds.
local function part(p, condition, rows, columns)
  local lines, list = {}, {}
  for _, unpack in ipairs(M.unpacks(p.dtype, p.arch) and { 0, 1 } or { false }) do
    lines[#lines + 1] = mmas(p, rows, columns, #list)
    local more = operands(p, rows, columns, unpack)
    table.move(more, 1, #more, #list + 1, list)
  end
  return ("  if (%s)\n    asm volatile(\n%s\n        ::%s);"):format(condition,
    table.concat(lines, "\n"), wrap(list))
end

-- ---- Functions ---------------------------------------------------------------------------------

local FUNCTION = [[
/*
** MMAs of a k-step: early or late rows of atoms (quarter / 2) by early or late columns (%% 2), of
** which a and b are the registers.
*/
DEVICE void multiply(int quarter, const Word *a, const Word *b) {
%s
}]]

-- p.atoms are those of a warp, p.early so many of them whose operands are loaded a step before.
function M.source(p)
  local parts = {}
  for number = 0, 3 do
    local function atoms(i, is_late)
      if is_late then return { first = p.early[i], count = p.atoms[i] - p.early[i] } end
      return { first = 0, count = p.early[i] }
    end
    local rows, columns = atoms(1, number >= 2), atoms(2, number % 2 == 1)
    if rows.count > 0 and columns.count > 0 then
      parts[#parts + 1] = part(p, "quarter == " .. number, rows, columns)
    end
  end
  return FUNCTION:format(table.concat(parts, "\n"))
end

local BY_GROUPS = [[
/* MMAs of a k-step for a group of columns: a are registers of all rows, b those of the group. */
DEVICE void multiply(int group, const Word *a, const Word *b) {
%s
}]]

-- p.atoms, in groups of so many of their columns.
function M.source_by_groups(p, of_group)
  local parts, rows = {}, { first = 0, count = p.atoms[1] }
  for number = 0, p.atoms[2] // of_group - 1 do
    parts[number + 1] = part(p, "group == " .. number, rows,
      { first = number * of_group, count = of_group })
  end
  return BY_GROUPS:format(table.concat(parts, "\n"))
end

-- Of so many atoms of an operand, those whose registers are loaded a step before: a half of them,
-- or all but the last load; by whole loads, of which there is one at least.
function M.early(atoms, words_of_atom, words_of_load, is_half)
  local of_load = math.max(1, words_of_load // words_of_atom)
  local loads = (atoms + of_load - 1) // of_load
  local early = is_half and (loads + 1) // 2 or math.max(loads - 1, 1)
  return math.min(atoms, early * of_load)
end

return M
