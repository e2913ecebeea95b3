-- A list of products of sizes that have little in common, and the check of their results.

local lutile = require "lutile"

local make_layout, make_tensor = lutile.make_layout, lutile.make_tensor

local M = {}

local SIZES = { { 70, 40, 130 }, { 0, 8, 8 }, { 1, 1, 8 }, { 130, 136, 64 }, { 8, 8, 0 },
  { 64, 200, 72 } }

-- (rows, columns) with strides of multiples of 8 elements, and some more.
local function matrix(rows, columns, row_major, more)
  local line = ((row_major and rows or columns) + 7) // 8 * 8 + (more or 0)
  local t = make_tensor("f16", make_layout({ rows, columns }, row_major and { 1, line }
    or { line, 1 }))
  for i = 0, lutile.size(t) - 1 do t[i] = math.random(-4, 4) / 2 end
  return t
end

function M.make(row_major)
  local groups = {}
  for i, s in ipairs(SIZES) do
    groups[i] = { A = matrix(s[1], s[3]), B = matrix(s[2], s[3], row_major),
      C = matrix(s[1], s[2]) }
  end
  return groups
end

local function sum(g, m, n)
  local x = 0
  for k = 0, lutile.size(g.A, 1) - 1 do x = x + g.A(m, k) * g.B(n, k) end
  return x
end

function M.count_wrong(g)
  local wrong = 0
  for m = 0, lutile.size(g.C, 0) - 1 do
    for n = 0, lutile.size(g.C, 1) - 1 do
      if g.C(m, n) ~= sum(g, m, n) then wrong = wrong + 1 end
    end
  end
  return wrong
end

local function moved_by(there, groups)
  local moved = {}
  for i, g in ipairs(groups) do
    moved[i] = {}
    for name, t in pairs(g) do moved[i][name] = there(t) end
  end
  return moved
end

-- The same with a C that is not D, of lines that are so much longer than multiples of 8 elements.
local function run_apart(there, back, more)
  local groups = M.make(false)
  for i, s in ipairs(SIZES) do
    groups[i].D, groups[i].C = groups[i].C, matrix(s[1], s[2], false, i % 2 * more)
  end
  local moved, of_plan = moved_by(there, groups), {}
  for i, g in ipairs(moved) do of_plan[i] = { A = g.A, B = g.B, C = g.D } end
  lutile.plan.grouped_gemm({ groups = of_plan, out = "f16", beta = true }):run(moved, { beta = 2 })
  for i, g in ipairs(groups) do
    local D = back(moved[i].D)
    for m = 0, lutile.size(D, 0) - 1 do
      for n = 0, lutile.size(D, 1) - 1 do
        if D(m, n) ~= sum(g, m, n) + 2 * g.C(m, n) then
          return ("(%d,%d) of group %d is wrong, C is read"):format(m, n, i)
        end
      end
    end
  end
  return "right"
end

-- Plans and runs them on tensors that there(t) gives and back(t) brings back: "right", or what is
-- not. The lines of a C that is not D are some elements longer, 8 by default.
function M.run(there, back, more)
  for _, row_major in ipairs { false, true } do
    local groups = M.make(row_major)
    local moved = moved_by(there, groups)
    lutile.plan.grouped_gemm({ groups = moved, out = "f16" }):run(moved)
    for i, g in ipairs(groups) do
      g.C = back(moved[i].C)
      local wrong = M.count_wrong(g)
      if wrong > 0 then return ("%d of group %d are wrong"):format(wrong, i) end
    end
  end
  return run_apart(there, back, more or 8)
end

return M
