-- Element types that kernels have: all that tensors have, but those without code in number.cuh.

local M = {}

local WITHOUT_CODE = { e4m3fnuz = true, e5m2fnuz = true, gc64 = true }

-- Whether kernels can load and store elements of a type.
function M.has_code(dtype) return not WITHOUT_CODE[dtype] end

return M
