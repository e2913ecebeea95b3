-- cuBLASLt's products on a stream, D = A * B^T: of the algorithms that its heuristic names first,
-- the fastest.

local cuda = require "lutile.cuda"
local timing = require "bench.timing"

local M = {}

local WORKSPACE = 32 << 20

local has_module, module = pcall(require, "cublaslt")
local library, missing
if has_module then library, missing = module.open() else missing = module end

function M.describe()
  if library then return "cuBLASLt " .. library:version() end
  return "without cuBLASLt: " .. tostring(missing):match "^[^\n]*"
end

local workspace

-- What the library knows as D^T = B * A^T, column-major. 'type_of' has its names of the types.
local function make_product(type_of, shape, a_major, b_major, more)
  local m, n, k = table.unpack(shape)
  return pcall(library.matmul, library, { m = n, n = m, k = k,
    type_a = type_of.stored, type_b = type_of.stored, type_d = type_of.out,
    compute = type_of.compute, scale = type_of.scale, transpose_a = b_major ~= "row",
    transpose_b = a_major == "row", ld_a = b_major == "row" and n or k,
    ld_b = a_major == "row" and m or k, ld_d = n, fast = type_of.fast,
    adds = more.adds, bias = more.bias and more.bias.data:address() })
end

-- run(i) for a list of sets {A =, B =, C =, D =} of tensors, which take turns; nil and why there is
-- none. D is C where a set has none. more: {adds =, bias =}: whether C is added, and a tensor of an
-- element for each column.
function M.fastest(type_of, shape, a_major, b_major, sets, more)
  if not library then return nil, "not there" end
  local ok, product = make_product(type_of, shape, a_major, b_major, more or {})
  if not ok then return nil, product end
  workspace = workspace or cuda.alloc(WORKSPACE)
  local stream = timing.stream:handle()
  local best, best_time
  for algorithm = 0, product:count() - 1 do
    local function run(i)
      local s = sets[i % #sets + 1]
      product:run(algorithm, s.B.data:address(), s.A.data:address(), s.C.data:address(),
        (s.D or s.C).data:address(), workspace:address(), stream)
    end
    if pcall(run, 0) then
      local t = math.min(timing.time(run, 5), timing.time(run, 5), timing.time(run, 5))
      if not best or t < best_time then best, best_time = run, t end
    end
  end
  return best, "no algorithm runs"
end

return M
