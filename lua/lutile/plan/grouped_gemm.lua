-- Plans of a list of products, D = epilogue(alpha * A * B^T + beta * C + bias) of each, of any
-- sizes: in one launch of kernels/gemm_sm90_grouped.cu where TMA takes all of their matrices alike;
-- else plans of plan.gemm, one after the other.

local base = require "lutile.plan.base"
local edits = require "lutile.plan.edits"
local gemm = require "lutile.plan.gemm"
local gemm_sm90 = require "lutile.plan.gemm_sm90"
local matrix = require "lutile.plan.matrix"
local model = require "lutile.plan.model_sm90"
local no_option = require "lutile.options"
local of_group = require "lutile.plan.of_group"
local problem = require "lutile.plan.problem"
local tma = require "lutile.plan.tma"
local try = require "lutile.plan.attempt"
local wgmma = require "lutile.plan.wgmma"

local M = {}

local function fail(message, ...) error(message:format(...), 0) end

local TMA_BYTES, MOST_VECTOR = 16, 8

local Plan = setmetatable({ entry = "gemm" }, { __index = base })
Plan.__index = Plan

-- ---- Options -----------------------------------------------------------------------------------

local COMMON = { dtype = true, dtype_b = true, acc = true, out = true, beta = true, bias = true,
  epilogue = true, host_epilogue = true, arch = true, multiprocessors = true, tile = true,
  ping_pong = true, group = true, stages = true }

-- What each group says of its own: its matrices.
local OF_GROUP = { A = true, B = true, C = true, M = true, N = true, K = true, L = true,
  a_major = true, b_major = true, c_major = true, D = true, bias = true }
local OF_RUN = { D = true, bias = true }

local function check_options(options)
  if options[1] ~= nil then
    fail("a list, where options are needed: groups = { ... } is the list")
  end
  local known = { groups = true }
  for name in pairs(COMMON) do known[name] = true end
  problem.check_options(options, known)
  if type(options.groups) ~= "table" or #options.groups == 0 then
    fail("groups is a list of {A =, B =, C =}, and is %s", type(options.groups) == "table"
      and "empty" or "a " .. type(options.groups))
  end
end

-- What plan.gemm would be asked for product i.
local function options_of(options, group, i)
  if type(group) ~= "table" then fail("group %d is a %s, not a table", i, type(group)) end
  local one = {}
  for name in pairs(COMMON) do one[name] = options[name] end
  for name, value in pairs(group) do
    if COMMON[name] and not OF_RUN[name] then fail("group %d: '%s' is for all groups", i, name) end
    if not OF_GROUP[name] then fail("group %d: %s", i, no_option(name, OF_GROUP)) end
    if not OF_RUN[name] then one[name] = value end
  end
  return one
end

-- ---- One launch --------------------------------------------------------------------------------

-- How the matrices of a product are: what all of a launch have in common.
local function form_of(p, a, b)
  return { transposed = p.transposed or false, a = a.unit, b = b.unit, dtype = p.dtype,
    out = p.out }
end

local function check_form(form, first, i)
  for name, value in pairs(first) do
    if form[name] ~= value then
      fail("matrices of group %d are not contiguous along the same modes as those of group 1, or "
        .. "of other types", i)
    end
  end
end

-- Bytes that D's address and strides are multiples of: 16 for TMA, or what threads write at once.
local function check_matrices(p, a, b, d, i)
  for _, m in ipairs { a, b, d } do
    if m.packed then fail("group %d: %s has several strides", i, m.name) end
    if m.batch.extent ~= 1 then fail("group %d: %s has batches", i, m.name) end
  end
  local why = tma.obstacle(p, a) or tma.obstacle(p, b) or d.unit ~= "column"
    and d.name .. " is contiguous along neither mode"
  if why then fail("group %d: %s", i, why) end
  if tma.obstacle(p, d) then return math.min(d.vector * d.bytes, MOST_VECTOR) end
  return TMA_BYTES
end

local function check_types(p, a, b)
  if p.no_tensor_cores then fail("%s", p.no_tensor_cores) end
  if p.arch ~= 90 then fail("wgmma is compute capability 9.0's alone") end
  wgmma.sum_type(p.dtype, p.dtype_b, p.acc)
  for _, m in ipairs { a, b } do
    if m.unit == "row" and not wgmma.takes_rows(m.dtype) then
      fail("%s %s is contiguous along %s, and MMAs of %s take operands that are along K", m.name,
        tostring(m.layout), problem.MODES[m.name].row, m.dtype)
    end
  end
end

local function size_of(p, a, d)
  local function known(x) return math.type(x) and x end
  return { M = known(d.row.extent), N = known(d.column.extent), K = known(a.column.extent), L = 1,
    bytes = a.bytes, out_bytes = d.bytes, multiprocessors = p.multiprocessors }
end

local function major_of(m) return m.unit == "row" and "row" or "k" end

-- What gemm_sm90.new takes for products like p of matrices like a and b.
local function shared_options(p, a, b, align)
  local options = { a_major = major_of(a), b_major = major_of(b), grouped = true, reasons = {},
    title = ("%s x %s -> %s, sums of %s, by wgmma"):format(p.dtype, p.dtype_b, p.out, p.acc),
    batched = { A = false, B = false }, d_align = align < TMA_BYTES and align or nil }
  for name, value in pairs(p) do if options[name] == nil then options[name] = value end end
  return options
end

-- The plan with the first tile with which the options can be; raises the best one's obstacle.
local function choose_tile(options, sizes)
  local why
  for _, c in ipairs(model.candidates_for_groups(sizes, options.ping_pong)) do
    local one = {}
    for name, value in pairs(options) do one[name] = value end
    one.tile, one.ping_pong = { table.unpack(c.tile.tile) }, c.tile.ping_pong or false
    local plan, obstacle = try(gemm_sm90.new, one)
    if plan then return plan end
    why = why or obstacle
  end
  fail("%s", why)
end

-- gemm_sm90's plan for the products that 'list' describes; raises what speaks against it.
local function make_shared(list)
  local p, a, b = table.unpack(list[1])
  check_types(p, a, b)
  local form, align, sizes = form_of(p, a, b), TMA_BYTES, {}
  for i, one in ipairs(list) do
    check_form(form_of(table.unpack(one)), form, i)
    align = math.min(align, check_matrices(one[1], one[2], one[3], one[4], i))
    sizes[i] = size_of(one[1], one[2], one[4])
  end
  local options = shared_options(p, a, b, align)
  local shared = p.tile and gemm_sm90.new(options) or choose_tile(options, sizes)
  shared.form, shared.align = form, align
  return shared
end

-- ---- The plan ----------------------------------------------------------------------------------

-- The plan of plan.gemm for a group's tensors; of group i of the plan, where i stands alone.
function Plan:single(group, i)
  if math.type(group) == "integer" then
    i, group = group, self.options.groups[group]
    if not group then fail("group %d, where there are %d", i, self.count) end
  end
  return of_group(i, gemm.plan, options_of(self.options, group, i))
end

-- Refuses options that the plans of some product would not take.
local function check_each(p)
  for i, group in ipairs(p.options.groups) do p:single(group, i) end
end

function M.plan(options)
  check_options(options)
  local list = {}
  for i, group in ipairs(options.groups) do
    list[i] = table.pack(of_group(i, gemm.describe, options_of(options, group, i)))
  end
  local first = list[1][1]
  local p = setmetatable({ options = options, count = #list, reasons = { first.reasons[1] },
    bias = options.bias, compute = first.compute, reads_c = first.reads_c, beta = first.beta,
    arch = first.arch },
    Plan)
  local shared, why = try(make_shared, list)
  if shared then
    p.shared = edits.remember(shared)
    p.reasons[#p.reasons + 1] = "one launch: TMA takes all matrices, which are alike"
  else
    p.reasons[#p.reasons + 1] = "a launch each: " .. why
    check_each(p)
  end
  return p
end

Plan.plan = M.plan

-- A, B, C and D of a group's tensors in the kernel's roles; refused where they are not as the plan
-- for one launch has them.
function Plan:roles_of(group, i)
  local options = options_of(self.options, group, i)
  local p, a, b, c = of_group(i, gemm.describe, options)
  local d = c
  if group.D then
    options.C = group.D
    local _
    _, _, _, d = of_group(i, gemm.describe, options)
  end
  check_form(form_of(p, a, b), self.shared.form, i)
  if self.reads_c and c.packed then fail("group %d: %s has several strides", i, c.name) end
  if check_matrices(p, a, b, d, i) < self.shared.align or c.unit ~= d.unit then
    fail("group %d: %s is not in multiples of %d bytes and along its columns, as in the plan", i,
      tostring(d.layout), self.shared.align)
  end
  matrix.check_target(d)
  return a, b, c, d
end

-- Of the plan for one launch: what plans of one kernel have.
for _, name in ipairs { "svg", "source", "block", "kernel", "compile_options", "check" } do
  Plan[name] = function(self, ...)
    if self.shared then return self.shared[name](self.shared, ...) end
    fail("there is no one kernel: %s (plan:single(i) is the plan of group i)",
      self.reasons[#self.reasons])
  end
end

function Plan:__tostring()
  local lines = { ("grouped_gemm: %d product%s"):format(self.count,
    self.count == 1 and "" or "s") }
  if self.shared then lines[2] = tostring(self.shared) end
  for _, reason in ipairs(self.reasons) do lines[#lines + 1] = "why: " .. reason end
  return table.concat(lines, "\n")
end

M.Plan = Plan

return M
