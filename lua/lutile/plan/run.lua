-- Plans run: on a device by their kernels, else on the host executor.

local lutile = require "lutile"
local chained = require "lutile.plan.chained_gemm"
local host = require "lutile.plan.host"
local matrix = require "lutile.plan.matrix"
local packing = require "lutile.plan.packing"
local problem = require "lutile.plan.problem"
local roles = require "lutile.plan.roles"

local M = {}

local function fail(message, ...)
  error(message:format(...), 0)
end

local LAUNCHERS = { ["gemm_sm80.cu"] = require "lutile.plan.launch_sm80",
  ["gemm_sm90.cu"] = require "lutile.plan.launch_sm90",
  ["gemm_sm120.cu"] = require "lutile.plan.launch_sm120",
  ["simt_gemm.cu"] = require "lutile.plan.launch_sm80" }

local function ceil_div(a, b) return (a + b - 1) // b end

-- ---- Where -------------------------------------------------------------------------------------

local function cuda_if_there()
  local ok, cuda = pcall(require, "lutile.cuda")
  return ok and cuda.available() and cuda or nil
end

local function fail_without_device()
  local _, why = require "lutile.cuda".available()
  fail("no device: %s", why)
end

local function check_tensor(name, x)
  if not matrix.is_tensor(x) then
    fail("%s: a tensor expected, got %s", name, x == nil and "nothing" or type(x))
  end
end

local function check_tensors(t, names)
  for _, name in ipairs(names) do check_tensor(name, t[name]) end
end

function M.check_on(on)
  if on ~= nil and on ~= "host" and on ~= "cuda" then
    fail("on is '%s': \"host\" and \"cuda\" there are", tostring(on))
  end
end

-- lutile.cuda, if the tensors are to be multiplied on a device, and whether they are there; nil for
-- the host. 'on' is "host" or "cuda", where the script says so.
local function place(tensors, on)
  M.check_on(on)
  local cuda = cuda_if_there()
  local there, here
  for name, t in pairs(tensors) do
    if cuda and cuda.is_device_tensor(t) then there = name else here = name end
  end
  if there and here then
    fail("%s is on a device and %s on the host: t:to(cuda) takes it to the device", there, here)
  end
  if there and on == "host" then fail("%s is on a device: %s:to_host() first", there, there) end
  if on == "cuda" and not cuda then fail_without_device() end
  if on == "host" or not cuda then return nil end
  return cuda, there ~= nil
end

-- Refuses to go from the host to the device and back where a stream records: nothing may be
-- recorded of a run that has to wait for its result.
local function check_may_wait(stream)
  local driver = require "lutile.cuda.driver"
  local is_good = not driver.wrong_stream(stream) -- the launch says what is wrong with it
  if driver.records(0) or is_good and driver.records(0, stream) then
    fail("the tensors are on the host, and a stream records: the run would wait for its result "
      .. "(t:to(cuda), before the recording, takes tensors to the device)")
  end
end

-- f(tensors on the device), whose target is copied back to where it came from.
local function on_device(x, target, f)
  local cuda, tensors = x.cuda, x.t
  if x.is_there then return f(tensors) end
  check_may_wait(x.stream)
  local moved = {}
  for name, t in pairs(tensors) do moved[name] = cuda.to(t, cuda) end
  f(moved)
  cuda.copy(moved[target], tensors[target])
end

-- The matrices of tensors, by name, and the addresses of those that are on a device.
local function matrices_of(tensors, names, is_there)
  local m, addresses = {}, {}
  for _, name in ipairs(names) do
    local t = tensors[name]
    m[name] = matrix.new(name, t, t.dtype)
    addresses[name] = is_there and matrix.address(name, t) or nil
    if m[name].packed then addresses[name] = nil end
  end
  return m, addresses
end

-- ---- gemm --------------------------------------------------------------------------------------

-- Refuses a bias that is not what the plan adds to results of m rows and n columns.
function M.check_bias(p, bias, m, n)
  if not p.bias then
    if bias then fail("the plan has no bias: plan it with bias = \"row\" or \"column\"") end
    return
  end
  if not bias then fail("bias is missing: the plan adds one") end
  local wanted = (p.bias == "row") and m or n
  local layout = lutile.coalesce(bias.layout)
  if lutile.is_composed_layout(layout) or lutile.size(layout) ~= wanted or bias.dtype ~= p.out
    or wanted > 1 and (lutile.rank(layout) ~= 1 or layout(1) ~= 1) then
    fail("bias must be %d contiguous elements of %s, one for each %s of D, and is %s %s", wanted,
      p.out, p.options.bias, bias.dtype, tostring(bias.layout))
  end
end

local MOST_S32 = 1 << 31

local function check_scale(p, name, x)
  if type(x) ~= "number" then fail("%s is a %s, not a number", name, type(x)) end
  if p.compute ~= "int" then return x + 0.0 end
  local n = math.tointeger(x)
  if not n or n < -MOST_S32 or n >= MOST_S32 then
    fail("%s is %s, where results of s32 take an integer of 32 bits", name, tostring(x))
  end
  return n
end

-- The scales of A and B, one f32 each.
local function check_scaling(p, t)
  for _, name in ipairs { "scale_a", "scale_b" } do
    local x = t[name]
    if not p.scales then
      if x ~= nil then fail("the plan has no scales: plan it with scales = true") end
    elseif x == nil then
      fail("%s is missing: the plan has scales", name)
    elseif x.dtype ~= "f32" or lutile.size(x.layout) ~= 1 then
      fail("%s must be one element of f32, and is %s %s", name, x.dtype, tostring(x.layout))
    end
  end
end

-- alpha and beta of a run, as the kernel takes them.
function M.check_scales(p, options)
  local alpha, beta = options.alpha, options.beta
  if alpha == nil then alpha = 1 end
  if beta == nil then beta = p.beta or p.reads_c and 1 or 0 end
  if beta ~= 0 and not p.reads_c then
    fail("beta is %s, and the plan reads no C: plan it with beta = true", tostring(beta))
  end
  return check_scale(p, "alpha", alpha), check_scale(p, "beta", beta)
end

-- The tensor as (rows, columns, batches) in one stride each; one batch serves all of 'batches'.
local function plain(t, m, batches)
  local rows, columns = matrix.extents(m)
  local r, c, b = matrix.strides(m)
  local _, _, count = matrix.extents(m)
  return lutile.make_tensor(t, lutile.make_layout({ rows, columns, batches },
    { r, c, count == 1 and 0 or b }))
end

local function host_epilogue(p)
  if p.epilogue == "x" then return nil end
  if not p.host_epilogue then
    fail("the epilogue '%s' is C++: on the host, host_epilogue = function(x, m, n) is needed too",
      p.epilogue)
  end
  if not p.transposed then return p.host_epilogue end
  return function(x, row, column) return p.host_epilogue(x, column, row) end
end

local function prepare_on_host(p, x)
  local a, b, c, d, names = roles.of(p, x.m)
  local t, batches = x.t, x.extents[4]
  return function()
    host.gemm(p, { A = plain(t[names[1]], a, batches), B = plain(t[names[2]], b, batches),
      C = plain(t.C, c, batches), D = plain(t.D, d, batches), bias = t.bias,
      alpha = x.alpha * (p.scales and t.scale_a(0) * t.scale_b(0) or 1),
      beta = x.beta, epilogue = host_epilogue(p) })
  end
end

-- Whether two tensors start in one place.
local function start_together(x, y)
  return x.data == y.data
    and x.offset * matrix.BITS[x.dtype] == y.offset * matrix.BITS[y.dtype]
end

local function layout_now(m) return lutile.coalesce(m.packed or matrix.plain_layout(m)) end

-- Refuses a D that is where something lies that is read after elements of D are written. C may be D
-- if each element of the one is that of the other.
local function check_apart(p, t, m)
  for _, name in ipairs { "A", "B", t.bias and "bias" or nil } do
    if start_together(t[name], t.D) then
      fail("%s and D are in one place, and %s is read while D is written", name, name)
    end
  end
  if p.reads_c and start_together(t.C, t.D) and layout_now(m.C) ~= layout_now(m.D) then
    fail("C %s and D %s are in one place, and differ", tostring(m.C.layout), tostring(m.D.layout))
  end
end

-- Refuses a C that is read, of neither D's batches nor one for all.
local function check_batches_of_c(p, m, batches)
  local _, _, count = matrix.extents(m.C)
  if not p.reads_c or count == 1 or count == batches then return end
  fail("batches of C and D differ: %d and %d", count, batches)
end

local GEMM_OPTIONS = { alpha = true, beta = true, bias = true, D = true, scale_a = true,
  scale_b = true, stream = true, on = true }

-- Whether D has no elements.
local function is_empty(extents) return extents[1] * extents[2] * extents[4] == 0 end

-- What a run of the plan on these tensors is: t, matrices m, extents, alpha, beta; checked.
local function check_gemm(p, A, B, C, options)
  p:check_run()
  local t = { A = A, B = B, C = C, D = options.D or C, bias = options.bias,
    scale_a = options.scale_a, scale_b = options.scale_b }
  for _, name in ipairs { "A", "B", "C", "D" } do check_tensor(name, t[name]) end
  for _, name in ipairs { "bias", "scale_a", "scale_b" } do
    if t[name] ~= nil then check_tensor(name, t[name]) end
  end
  check_scaling(p, t)
  local cuda, is_there = place(t, options.on)
  local m, addresses = matrices_of(t, { "A", "B", "C", "D" }, is_there)
  for name in pairs(p.copied or {}) do
    m[name], addresses[name] = matrix.along_columns(m[name]), nil
  end
  problem.check_extents(m.A, m.B, m.C)
  p:check_matrices(m, addresses)
  matrix.check_target(m.D)
  local extents = table.pack(problem.check_extents(m.A, m.B, m.D))
  M.check_bias(p, t.bias, p.transposed and extents[2] or extents[1],
    p.transposed and extents[1] or extents[2])
  check_batches_of_c(p, m, extents[4])
  if not is_empty(extents) then check_apart(p, t, m) end
  local alpha, beta = M.check_scales(p, options)
  return { t = t, m = m, extents = extents, alpha = alpha, beta = beta, stream = options.stream,
    cuda = cuda, is_there = is_there }
end

local function call_all(functions)
  for _, f in ipairs(functions) do f() end
end

-- A function that runs run(x), x on plain copies of matrices that have none of their own; 'make'
-- gives run.
local function around_copies(p, x, make)
  local replaced, before, after = packing.replace(p, x)
  local run = make(p, replaced)
  if #before + #after == 0 then return run end
  return function()
    call_all(before)
    run()
    call_all(after)
  end
end

-- A function that launches the kernel; sums of nothing are gemm_sm80's.
local function prepare(p, x)
  if x.extents[3] == 0 then p = p:fallback() end
  return around_copies(p, x, LAUNCHERS[p.template])
end

function M.gemm(p, A, B, C, options)
  options = options or {}
  problem.check_options(options, GEMM_OPTIONS)
  local x = check_gemm(p, A, B, C, options)
  if is_empty(x.extents) then return x.t.D end
  if not x.cuda then
    around_copies(p, x, prepare_on_host)()
  else
    on_device(x, "D", function(moved)
      x.t = moved
      prepare(p, x)()
    end)
  end
  return x.t.D
end

-- Raises what keeps tensors that are on the host from a device.
function M.fail_on_host()
  if not cuda_if_there() then fail_without_device() end
  fail("the tensors are not on a device: t:to(cuda) takes them there")
end

local function check_on_device(x)
  if not x.is_there then M.fail_on_host() end
end

-- A function that runs the plan on these tensors of a device again and again, all checks made.
function M.prepare(p, A, B, C, options)
  options = options or {}
  problem.check_options(options, GEMM_OPTIONS)
  local x = check_gemm(p, A, B, C, options)
  check_on_device(x)
  if is_empty(x.extents) then return function() end end
  return prepare(p, x)
end

-- ---- chained_gemm ------------------------------------------------------------------------------

-- A function that launches the kernel on tensors of a device.
local function chained_launch(p, x, t)
  local ar, ak = matrix.strides(x.m.A)
  local br, bk = matrix.strides(x.m.B)
  local dr, dc = matrix.strides(x.m.D)
  local index = t.D.data:device()
  local most = x.cuda.device(index).multiprocessors * p.blocks
  local launch = p:compiled(index):launch {
    grid = math.min(ceil_div(ceil_div(x.rows, p.rows), p.groups), most),
    block = { p.threads // p.groups, p.groups }, shared = p.shared_bytes, stream = x.stream,
  }
  return function() launch(t.A, t.B, t.D, x.rows, x.n, ar, ak, br, bk, dr, dc) end
end

local function check_chained(p, m)
  chained.check_extents(m)
  local rows, n = matrix.extents(m.A)
  if n > p.columns then fail("N is %d, and the plan is for %d at most", n, p.columns) end
  return rows, n
end

local CHAINED_OPTIONS = { stream = true, on = true }

-- What a run of these tensors needs, all checks made.
local function check_chained_run(p, A, B, D, options)
  problem.check_options(options, CHAINED_OPTIONS)
  p:check_run()
  local t = { A = A, B = B, D = D }
  check_tensors(t, { "A", "B", "D" })
  local cuda, is_there = place(t, options.on)
  local m, addresses = matrices_of(t, { "A", "B", "D" }, is_there)
  local vectors = { A = p.A.vector, B = p.B.vector, D = p.run_size > 1 and p.run_size or nil }
  for _, name in ipairs { "A", "B", "D" } do
    matrix.check_plain(m[name])
    chained.check_single(m[name])
    matrix.check_fits(m[name], p.matrices[name], vectors[name], addresses[name])
  end
  matrix.check_target(m.D)
  check_apart(p, t, m)
  local rows, n = check_chained(p, m)
  return { t = t, m = m, cuda = cuda, is_there = is_there, rows = rows, n = n,
    stream = options.stream }
end

function M.chained_gemm(p, A, B, D, options)
  local x = check_chained_run(p, A, B, D, options or {})
  if x.rows * x.n == 0 then return D end
  if not x.cuda then
    host.chained_gemm(p, plain(A, x.m.A, 1)(lutile._, lutile._, 0),
      plain(B, x.m.B, 1)(lutile._, lutile._, 0), plain(D, x.m.D, 1)(lutile._, lutile._, 0))
  else
    on_device(x, "D", function(moved) chained_launch(p, x, moved)() end)
  end
  return D
end

-- A function that runs the plan on these tensors of a device again and again, all checks made.
function M.prepare_chained(p, A, B, D, options)
  local x = check_chained_run(p, A, B, D, options or {})
  check_on_device(x)
  if x.rows * x.n == 0 then return function() end end
  return chained_launch(p, x, x.t)
end

return M
