-- Plans of D = epilogue(alpha * A * B^T + beta * C + bias): from what a script says of the matrices
-- to the kernel template that suits them, and the roles that they have in it.
--
-- A is (M, K), B is (N, K), C and D are (M, N). A plan is a table of layouts and numbers. Some of
-- them may be changed, as Plan.changeable says: see lutile.plan.edits; 'with' plans anew.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local edits = require "lutile.plan.edits"
local gemm_sm120 = require "lutile.plan.gemm_sm120"
local gemm_sm80 = require "lutile.plan.gemm_sm80"
local gemm_sm90 = require "lutile.plan.problem_sm90"
local matrix = require "lutile.plan.matrix"
local problem = require "lutile.plan.problem"
local simt_gemm = require "lutile.plan.simt_gemm"
local tile = require "lutile.plan.tile"
local try = require "lutile.plan.attempt"
local types = require "lutile.plan.types"

local M = {}

local function fail(message, ...) error(message:format(...), 0) end

-- ---- Options -----------------------------------------------------------------------------------

-- Options that go to the templates as they are.
local PASSED = { "bias", "epilogue", "host_epilogue", "template", "tile", "warps", "stages",
  "blocks", "group", "cluster", "ping_pong", "splits", "promote", "dependent", "skew",
  "scales" }

local KNOWN = {}
for name in ([[A B C M N K L a_major b_major c_major dtype dtype_b acc out beta arch
  multiprocessors tuned]]):gmatch "[%w_]+" do
  KNOWN[name] = true
end
for _, name in ipairs(PASSED) do KNOWN[name] = true end
M.OPTIONS = KNOWN

local COUNTS = { tile = 3, cluster = 2, warps = 2, stages = false, blocks = false, group = false,
  splits = false, promote = false, multiprocessors = false }
local KINDS = { epilogue = "string", host_epilogue = "function", template = "string",
  ping_pong = "boolean", dependent = "boolean", scales = "boolean" }

local function check_values(options)
  for name, count in pairs(COUNTS) do
    if options[name] ~= nil then tile.check_integers(name, options[name], count or nil) end
  end
  for name, kind in pairs(KINDS) do
    if options[name] ~= nil and type(options[name]) ~= kind then
      fail("%s is a %s, not a %s", name, kind, type(options[name]))
    end
  end
end

local function check_epilogue(text, of_host)
  if text and (text:find "\0" or not text:find "%S") then
    fail("epilogue is %q, where an expression of x, m and n is needed", text)
  end
  if of_host and not text then
    fail("host_epilogue does on the host what an epilogue does on a device, and there is none")
  end
end

local function check_skew(skew)
  if skew ~= nil and (math.type(skew) ~= "integer" or skew < 0 or skew >= 1 << 20) then
    fail("skew is %s, where nanoseconds are needed, 0 or more", tostring(skew))
  end
end

local function check_beta(beta)
  if beta ~= nil and type(beta) ~= "boolean" and type(beta) ~= "number" then
    fail("beta is a %s: whether C is read, true or false, or a number times which", type(beta))
  end
end

local SWAPPED = { row = "column", column = "row" }

local function check_bias(bias)
  if bias and not SWAPPED[bias] then
    fail("bias is '%s': \"row\", \"column\" and false there are", tostring(bias))
  end
end

-- ---- Matrices ----------------------------------------------------------------------------------

-- Refuses numbers that are not those of the matrices beside them.
local function check_numbers(options, m)
  local columns = { M = { m.A, "row" }, N = { m.B, "row" }, K = { m.A, "column" },
    L = { m.C, "batch" } }
  for _, name in ipairs { "M", "N", "K", "L" } do
    local of, mode = table.unpack(columns[name])
    local x, there = options[name], matrix.number(of[mode].extent)
    if x ~= nil and (not lutile.is_integral(x) or matrix.number(x) ~= there) then
      fail("%s is %s, and %s %s has %d", name, tostring(x), of.name, tostring(of.layout), there)
    end
  end
end

local function matrices_of(p, options)
  local stored = p.stored
  local m = { A = problem.matrix(options, "A", "M", "K", options.a_major, stored.A),
    B = problem.matrix(options, "B", "N", "K", options.b_major, stored.B) }
  local extents = { M = m.A.row.extent, N = m.B.row.extent, L = options.L, C = options.C }
  m.C = problem.matrix(extents, "C", "M", "N", options.c_major, p.out)
  m.D = m.C
  for name, wanted in pairs { A = stored.A, B = stored.B, C = p.out } do
    if m[name].dtype ~= wanted then
      fail("%s has elements of %s, and the product takes %s", name, m[name].dtype, wanted)
    end
  end
  problem.check_extents(m.A, m.B, m.C)
  problem.check_sizes(m.A, m.C)
  check_numbers(options, m)
  return m
end

local function explain_copies(p, why)
  if why then p.reasons[#p.reasons + 1] = "not through all modes: " .. why end
  for _, name in ipairs { "A", "B", "C" } do
    local m = p.matrices[name]
    if m.packed then
      p.reasons[#p.reasons + 1] = ("%s %s: several strides for rows, columns or batches; a plain "
        .. "copy %s takes its place"):format(name, tostring(m.packed), tostring(m.layout))
    end
  end
end

-- The matrices in the kernel's roles: those of D^T = B * A^T, where D is contiguous along M.
local function choose_roles(p)
  local a, b, d = p.matrices.A, p.matrices.B, p.matrices.D
  if d.unit ~= "row" then return a, b, d end
  p.transposed = true
  p.dtype, p.dtype_b, p.bias = p.dtype_b, p.dtype, SWAPPED[p.bias]
  p.reasons[#p.reasons + 1] = "C " .. tostring(d.layout)
    .. " is contiguous along M: C^T = B * A^T is what the kernel computes"
  return b, a, problem.transposed(d)
end

-- Tiles of D, where the sizes are known before the kernel is compiled.
local function count_blocks(d)
  for _, mode in ipairs { d.row, d.column, d.batch } do
    if not math.type(mode.extent) then return nil end
  end
  return function(tile_m, tile_n)
    return (d.row.extent + tile_m - 1) // tile_m * ((d.column.extent + tile_n - 1) // tile_n)
      * d.batch.extent
  end
end

-- ---- The template ------------------------------------------------------------------------------

local TEMPLATES = { ["gemm_sm80.cu"] = gemm_sm80, ["gemm_sm90.cu"] = gemm_sm90,
  ["gemm_sm120.cu"] = gemm_sm120, ["simt_gemm.cu"] = simt_gemm }

local function copy_of(t)
  local copy = {}
  for k, v in pairs(t) do copy[k] = v end
  return copy
end

local function is_hierarchical(matrices)
  return matrices.A.packed or matrices.B.packed or matrices.C.packed
end

-- The plan by a family of kernels, through all modes of the matrices if 'direct'; or nil and why
-- not.
local function attempt(family, p, a, b, d, direct)
  local options = copy_of(p)
  options.direct = direct
  options.reasons = table.move(p.reasons, 1, #p.reasons, 1, {})
  return try(family.plan, options, a, b, d)
end

-- Why gemm_sm90.cu is not asked; nil where it is.
local function exclude_sm90(p)
  if p.arch ~= 90 then return "wgmma is compute capability 9.0's alone" end
  if p.warps or p.blocks then return "it has no options warps and blocks" end
end

-- The plan by gemm_sm90.cu, or nil and why there is none.
local function by_sm90(p, a, b, d)
  local exclusion = exclude_sm90(p)
  if exclusion then return nil, exclusion end
  if not is_hierarchical(p.matrices) then return attempt(gemm_sm90, p, a, b, d, false) end
  local plan, why = attempt(gemm_sm90, p, a, b, d, true)
  if plan then return plan end
  explain_copies(p, why)
  return attempt(gemm_sm90, p, a, b, d, false)
end

local OF_SM90 = { "cluster", "ping_pong", "splits", "promote", "dependent", "skew" }

-- The first option that is for gemm_sm90.cu alone.
local function option_of_sm90(p)
  for _, name in ipairs(OF_SM90) do if p[name] ~= nil then return name end end
end

-- Refuses what another template would not heed; 'why' it is taken.
local function check_others(p, template, why)
  local name = option_of_sm90(p)
  if name then
    fail("%s is an option of gemm_sm90.cu, and %s is taken: %s", name, template, why)
  end
end

-- The plan by gemm_sm120.cu, or nil and why there is none.
local function by_sm120(p, a, b, d)
  if is_hierarchical(p.matrices) then explain_copies(p) end
  return attempt(gemm_sm120, p, a, b, d, false)
end

-- The plan by gemm_sm80.cu where another template is not asked, or refuses: 'why'.
local function by_sm80(p, a, b, d, other, why)
  if p.arch >= 90 then
    p.reasons[#p.reasons + 1] = ("gemm_sm80.cu, not %s: %s"):format(other, why)
  end
  if p.arch < 90 and is_hierarchical(p.matrices) then explain_copies(p) end
  local plan, obstacle = try(gemm_sm80.plan, p, a, b, d)
  if plan then return plan end
  if p.arch < 90 or why == obstacle then fail("%s", obstacle) end
  fail("%s: %s; gemm_sm80.cu: %s", other, why, obstacle)
end

-- The plan by the template that the script asks for.
local function by_name(p, a, b, d)
  if p.template == "gemm_sm90.cu" then
    local plan, why = by_sm90(p, a, b, d)
    return plan or fail("gemm_sm90.cu: %s", why)
  end
  check_others(p, p.template, "the template says so")
  if p.template == "gemm_sm120.cu" then
    local plan, why = by_sm120(p, a, b, d)
    return plan or fail("gemm_sm120.cu: %s", why)
  end
  explain_copies(p)
  return gemm_sm80.plan(p, a, b, d)
end

-- The plan by gemm_sm120.cu from 9.0 on, else by gemm_sm80.cu; gemm_sm90.cu has none: 'why'.
local function by_mma_sync(p, a, b, d, why)
  local other, plan = "gemm_sm90.cu", nil
  if p.arch >= 90 then
    local obstacle
    plan, obstacle = by_sm120(p, a, b, d)
    if p.arch > 90 then other, why = "gemm_sm120.cu", obstacle end
  end
  if not plan then return by_sm80(p, a, b, d, other, why) end
  if p.arch == 90 then
    table.insert(plan.reasons, 2, "gemm_sm120.cu, not gemm_sm90.cu: " .. why)
  end
  return plan
end

-- Options of templates that multiply-adds have no use for.
local OF_TENSOR_CORES = { "warps", "stages", "blocks", table.unpack(OF_SM90) }

-- The plan by simt_gemm.cu; 'why' there is none by another template, nil where there would be.
local function by_simt(p, a, b, why)
  for _, name in ipairs(OF_TENSOR_CORES) do
    if p[name] ~= nil then
      fail("%s is an option of templates for tensor cores, and simt_gemm.cu is taken: %s", name,
        why or "the template says so")
    end
  end
  p.reasons[#p.reasons + 1] = why and "simt_gemm.cu, multiply-adds: " .. why
  explain_copies(p)
  local plan, obstacle = try(simt_gemm.plan, p, a, b)
  return plan or fail("simt_gemm.cu: %s%s", obstacle,
    why and (" (it is taken, for: %s)"):format(why) or "")
end

-- By multiply-adds where tensor cores cannot, by wgmma where there is wgmma, else by mma.sync.
local function by_template(p, a, b, d)
  local why = p.no_tensor_cores
  if p.template == "simt_gemm.cu" or why and not p.template then return by_simt(p, a, b, why) end
  if why then fail("%s: %s", p.template, why) end
  if p.template then return by_name(p, a, b, d) end
  local plan
  plan, why = by_sm90(p, a, b, d)
  if plan then return plan end
  if option_of_sm90(p) and not exclude_sm90(p) then fail("gemm_sm90.cu: %s", why) end
  plan = by_mma_sync(p, a, b, d, why)
  check_others(p, plan.template, why)
  return plan
end

local function check_template(name)
  if name and not TEMPLATES[name] then
    fail("template is '%s': gemm_sm90.cu, gemm_sm120.cu, gemm_sm80.cu and simt_gemm.cu there are",
      name)
  end
end

-- ---- The plan ----------------------------------------------------------------------------------

-- What is known of a product from the options, and its matrices in the kernel's roles.
function M.describe(options)
  problem.check_options(options, KNOWN)
  check_bias(options.bias)
  check_values(options)
  check_epilogue(options.epilogue, options.host_epilogue)
  check_skew(options.skew)
  check_beta(options.beta)
  check_template(options.template)
  local arch, reason, multiprocessors = problem.architecture(options)
  local p = { arch = arch, reasons = { reason }, options = options,
    multiprocessors = options.multiprocessors or multiprocessors,
    reads_c = options.beta ~= nil and options.beta ~= false and options.beta ~= 0,
    beta = math.type(options.beta) and options.beta or nil }
  for _, name in ipairs(PASSED) do p[name] = options[name] end
  p.bias = p.bias or nil
  types.choose(p, options)
  p.matrices = matrices_of(p, options)
  if lutile.is_static(p.matrices.C.layout) then matrix.check_target(p.matrices.C) end
  local a, b, d = choose_roles(p)
  p.count_blocks = count_blocks(d)
  if not p.count_blocks then
    p.reasons[#p.reasons + 1] = "sizes are known at launch only: a tile for large ones"
  end
  return p, a, b, d
end

function M.plan(options) return edits.remember(by_template(M.describe(options))) end

-- The same product by gemm_sm80.cu, which takes any matrices of its types.
function M.fallback(p)
  local options = copy_of(p.options)
  for name in pairs(COUNTS) do options[name] = nil end
  options.ping_pong, options.dependent, options.skew = nil, nil, nil
  options.template = "gemm_sm80.cu"
  return M.plan(options)
end

for _, family in pairs(TEMPLATES) do
  family.Plan.plan, family.Plan.fallback = M.plan, rawget(family.Plan, "fallback") or M.fallback
  family.Plan.option_names = KNOWN
  family.Plan.__tostring = base.report
end

M.families = TEMPLATES

return M
