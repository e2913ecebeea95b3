-- Roles of matrices in a kernel: of D = A * B^T, or of D^T = B * A^T, where D is column-major.

local lutile = require "lutile"
local problem = require "lutile.plan.problem"

local M = {}

local TRANSPOSED = { A = "B", B = "A", D = "D^T" }

-- What the script calls the matrix that has that role in the kernel.
function M.name(p, role) return p.transposed and TRANSPOSED[role] or role end

-- What it calls the two modes of that matrix.
function M.modes(p, role)
  local modes = problem.MODES[role == "D" and "D" or M.name(p, role)]
  if role == "D" and p.transposed then return { modes.column, modes.row } end
  return { modes.row, modes.column }
end

-- The matrices A, B, C, D of 'm' in the kernel's roles, and which tensors the first two are.
function M.of(p, m)
  if not p.transposed then return m.A, m.B, m.C, m.D, { "A", "B" } end
  return m.B, m.A, problem.transposed(m.C), problem.transposed(m.D), { "B", "A" }
end

-- The layout of C or D in the kernel's roles.
function M.output_layout(p, layout)
  if not p.transposed then return layout end
  if lutile.rank(layout) == 2 then return lutile.make_layout(layout[1], layout[0]) end
  return lutile.make_layout(layout[1], layout[0], layout[2])
end

-- Rows and columns of D in the kernel's roles.
function M.extents(p, extents)
  if p.transposed then return extents[2], extents[1] end
  return extents[1], extents[2]
end

return M
