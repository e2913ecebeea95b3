-- C of a run as gemm_sm90's kernels read it.

local lutile = require "lutile"
local matrix = require "lutile.plan.matrix"
local tma = require "lutile.plan.tma"
local tma_modes = require "lutile.plan.tma_modes"
local try = require "lutile.plan.attempt"

-- Whether a C of that layout and address is read as the kernel goes through D: by TMA, or by as
-- many elements at once.
local function is_readable(p, c, layout, address)
  if p.D.by_tma then
    return address % tma.UNIT == 0 and try(tma_modes.encode, p.D.modes, layout, p.D.bytes) ~= nil
  end
  return matrix.takes_vectors(c, p.matrices and p.matrices.C.unit or c.unit, p.D.vector, address)
end

-- One batch of C for all of D's.
local function spread(t, batches)
  return lutile.make_tensor(t, lutile.make_layout(t.layout[0], t.layout[1],
    lutile.make_layout(batches, 0)))
end

-- A tensor and its layout, where x.t and x.m have tensors and matrices by name, x.layout(m) gives a
-- matrix's layout in the kernel's roles, and x.name is what the script calls C. A C that is not
-- readable is copied to D before each launch: then these are D's, and a function that copies.
return function(p, cuda, x)
  local t, layout = x.t, x.layout(x.m.C)
  local _, _, batches = matrix.extents(x.m.D)
  local _, _, count = matrix.extents(x.m.C)
  local is_spread = count ~= batches and p.D.by_tma
  if not p.reads_c or not is_spread
    and is_readable(p, x.m.C, layout, matrix.address(x.name, t.C)) then
    return t.C, layout
  end
  local from = count ~= batches and spread(t.C, batches) or t.C
  return t.D, x.layout(x.m.D), cuda.prepare_copy(from, t.D, x.stream)
end
