-- Lists of products run: by one launch, or one after the other.

local lutile = require "lutile"
local matrix = require "lutile.plan.matrix"
local of_group = require "lutile.plan.of_group"
local problem = require "lutile.plan.problem"
local readable_c = require "lutile.plan.readable_c"
local run = require "lutile.plan.run"
local tile = require "lutile.plan.tile"

local M = {}

local function fail(message, ...) error(message:format(...), 0) end

-- ---- Groups ------------------------------------------------------------------------------------

local OPTIONS = { alpha = true, beta = true, stream = true, on = true }

local function check_group(p, g, i)
  if type(g) ~= "table" then fail("group %d is a %s, not a table", i, type(g)) end
  for _, name in ipairs { "A", "B", "C", "D", "bias" } do
    local is_needed = name ~= "D" and (name ~= "bias" or p.bias)
    if (is_needed or g[name] ~= nil) and not matrix.is_tensor(g[name]) then
      fail("%s of group %d: a tensor expected, got %s", name, i, type(g[name]))
    end
  end
end

-- Where a tensor starts: its memory and a bit.
local function start_of(t) return t.data, t.offset * (matrix.BITS[t.dtype] or 0) end

-- [memory][bit] -> the group whose D starts there.
local function targets_of(groups)
  local targets = {}
  for i, g in ipairs(groups) do
    local d = g.D or g.C
    local data, bit = start_of(d)
    local there = targets[data] or {}
    targets[data] = there
    if lutile.size(d) > 0 then
      if there[bit] then fail("D of groups %d and %d are in one place", there[bit], i) end
      there[bit] = i
    end
  end
  return targets
end

local function is_same_layout(x, y)
  return lutile.coalesce(x.layout) == lutile.coalesce(y.layout)
end

-- Refuses a D that is where another group's matrix lies: products of a list are in no order. A
-- group's own C may be there, if each element of the one is that of the other.
local function check_apart(p, groups)
  local targets, names = targets_of(groups), { "A", "B" }
  if p.bias then names[#names + 1] = "bias" end
  if p.reads_c then names[#names + 1] = "C" end
  for j, g in ipairs(groups) do
    for _, name in ipairs(names) do
      local data, bit = start_of(g[name])
      local i = targets[data] and targets[data][bit]
      if i and i ~= j then fail("D of group %d is where %s of group %d is", i, name, j) end
      if i and (name ~= "C" or g.D and not is_same_layout(g.C, g.D)) then
        fail("D of group %d is where its %s is%s", i, name, name == "C" and ", and differs" or "")
      end
    end
  end
end

local function check_groups(p, groups, options)
  if p.shared then p.shared:check() end
  problem.check_options(options, OPTIONS)
  if type(groups) ~= "table" or #groups == 0 then
    fail("a list of {A =, B =, C =} expected, got %s", type(groups) == "table" and "an empty one"
      or type(groups))
  end
  run.check_on(options.on)
  for i, g in ipairs(groups) do check_group(p, g, i) end
  check_apart(p, groups)
end

local function options_of_run(options, g)
  return { alpha = options.alpha, beta = options.beta, stream = options.stream, on = options.on,
    D = g.D, bias = g.bias }
end

-- The module, if all tensors are on a device; nil if none is.
local function place(groups)
  local ok, cuda = pcall(require, "lutile.cuda")
  if not ok or not cuda.available() then return nil end
  local there = cuda.is_device_tensor(groups[1].A)
  for i, g in ipairs(groups) do
    for _, name in ipairs { "A", "B", "C", "D", "bias" } do
      if g[name] ~= nil and cuda.is_device_tensor(g[name]) ~= there then
        fail("%s of group %d is %s, and A of group 1 is not", name, i,
          there and "on the host" or "on a device")
      end
    end
  end
  return there and cuda or nil
end

-- ---- The table of a launch ---------------------------------------------------------------------

local GROUP = require "lutile.plan.gemm_sm90".GROUP

local function address(g, i, name)
  return g[name] and matrix.address(("%s of group %d"):format(name, i), g[name]) or 0
end

-- The maps of A, B, C and D as bytes, one after the other. What the kernel will not read, of
-- products without k or C and where threads write D, has some other map's.
local function pack_maps(cuda, p, tensors, layouts, k)
  local wanted = { A = k > 0 and layouts.A or nil, B = k > 0 and layouts.B or nil,
    C = p.shared:loads_c() and layouts.C or nil, D = p.shared.D.by_tma and layouts.D or nil }
  local bytes = {}
  for role, desc in pairs(p.shared:maps(wanted)) do
    bytes[role] = cuda.tensor_map(desc, tensors[role]):bytes()
  end
  local any = bytes.A or bytes.D or ("\0"):rep(128)
  return (bytes.A or any) .. (bytes.B or any) .. (bytes.C or any) .. (bytes.D or any)
end

-- m and n are extents in the kernel's roles.
local function check_bias(p, g, i, m, n)
  if p.shared.form.transposed then m, n = n, m end
  of_group(i, run.check_bias, { bias = p.bias, out = p.shared.out, options = p.options }, g.bias, m,
    n)
end

-- Refuses a tensor that threads read or write, whose elements are not all in its memory; modes are
-- {extent =, stride =}.
local function check_reach(name, t, modes)
  local first, last = t.offset, t.offset
  for _, mode in ipairs(modes) do
    local reach = (mode.extent - 1) * mode.stride
    if reach < 0 then first = first + reach else last = last + reach end
  end
  matrix.address(name, t) -- there is some
  local count = t.data:size() // matrix.BYTES[t.dtype]
  if first < 0 or last >= count then
    fail("%s reaches from element %d to %d, where its memory has %d", name, first, last, count)
  end
end

local function check_reaches(p, g, i, c, d)
  local function modes(m)
    return { matrix.mode_now(m, "row"), matrix.mode_now(m, "column") }
  end
  local function name(x) return ("%s of group %d"):format(x, i) end
  check_reach(name(g.D and "D" or "C"), g.D or g.C, modes(d))
  if p.reads_c then check_reach(name "C", g.C, modes(c)) end
  if g.bias then
    check_reach(name "bias", g.bias, { { extent = lutile.size(g.bias.layout), stride = 1 } })
  end
end

-- A product as the kernel reads it, its extents, and what is to be done before a launch, if
-- anything is; nil where D is empty.
local function pack_group(cuda, p, g, i, stream)
  local a, b, c, d = p:roles_of(g, i)
  local m, n = matrix.extents(d)
  local _, k = matrix.extents(a)
  if m * n == 0 then return nil end
  tile.check_group(p.shared, n)
  check_bias(p, g, i, m, n)
  check_reaches(p, g, i, c, d)
  if k > 0 then
    address(g, i, "A") -- there are some
    address(g, i, "B")
  end
  local t = { A = g.A, B = g.B, D = g.D or g.C }
  if p.shared.form.transposed then t.A, t.B = t.B, t.A end
  local old, layout_c, before = readable_c(p.shared, cuda, { t = { C = g.C, D = t.D },
    m = { C = c, D = d }, stream = stream, layout = matrix.plain_layout,
    name = ("C of group %d"):format(i) })
  t.C = old
  local layouts = { A = matrix.plain_layout(a), B = matrix.plain_layout(b), C = layout_c,
    D = matrix.plain_layout(d) }
  local numbers = { address(g, i, g.D and "D" or "C"), matrix.address("C", t.C),
    address(g, i, "bias") }
  for _, name in ipairs { "D", "C" } do
    table.move(p.shared:strides(layouts[name]), 1, 4, #numbers + 1, numbers)
  end
  local text = pack_maps(cuda, p, t, layouts, k)
    .. string.pack("<i8i8i8 i8i8i8i8 i8i8i8i8", table.unpack(numbers))
    .. string.pack("<i4i4i4", m, n, k)
  return text .. ("\0"):rep(GROUP.bytes - #text), { m, n, k }, before
end

-- Bytes in a device's memory.
local function upload(cuda, text, device)
  local t = lutile.make_tensor("s32", lutile.make_layout(#text // 4))
  for i = 0, #text // 4 - 1 do t[i] = string.unpack("<i4", text, 4 * i + 1) end
  return cuda.to(t, device)
end

local function pack_numbers(list)
  local texts = {}
  for i, x in ipairs(list) do texts[i] = string.pack("<i4", x) end
  return table.concat(texts)
end

-- The memory that the kernel reaches by addresses, which nothing else would keep: a list, and the
-- name of the first tensor in each.
local function memory_of(groups)
  local list, names, seen = {}, {}, {}
  for i, g in ipairs(groups) do
    for _, name in ipairs { "A", "B", "C", "D", "bias" } do
      local data = g[name] and g[name].data
      if data and not seen[data] then
        list[#list + 1], names[#names + 1] = data, ("%s of group %d"):format(name, i)
        seen[data] = true
      end
    end
  end
  return list, names
end

-- Products of long sums first: the last tiles to be begun are short ones.
local function by_k(one, other)
  if one.size[3] == other.size[3] then return one.number < other.number end
  return one.size[3] > other.size[3]
end

-- The groups that have a D, as the kernel reads them, in the order in which it takes them: the
-- table as bytes, the sizes of each, and what is to be done before a launch.
local function pack(cuda, p, groups, stream)
  local packed, texts, sizes, before = {}, {}, {}, {}
  for i, g in ipairs(groups) do
    local text, size, first = pack_group(cuda, p, g, i, stream)
    packed[#packed + 1] = text and { text = text, size = size, number = i }
    before[#before + 1] = first
  end
  table.sort(packed, by_k)
  for i, one in ipairs(packed) do texts[i], sizes[i] = one.text, one.size end
  return table.concat(texts), sizes, before
end

-- A function that launches the kernel for all groups.
local function prepare_shared(cuda, p, groups, options)
  local packed, sizes, before = pack(cuda, p, groups, options.stream)
  if #sizes == 0 then return function() end end
  local shared, device = p.shared, groups[1].A.data:device()
  local first = shared:first_tiles(sizes)
  local blocks = math.min(first[#first], cuda.device(device).multiprocessors)
  local launch = shared:kernel(device):launch { grid = blocks, block = shared.threads,
    shared = shared.shared_bytes, stream = options.stream, dependent = shared.dependent }
  local table_of_groups = upload(cuda, packed, device)
  local firsts = upload(cuda, pack_numbers(first), device)
  local counter = upload(cuda, string.pack("<i4", 0), device)
  local alpha, beta = run.check_scales(p, options)
  local memory, names = memory_of(groups)
  local driver = require "lutile.cuda.driver"
  return function()
    local freed = driver.first_freed(memory)
    if freed then fail("%s: the tensor's memory was freed", names[freed]) end
    if options.stream then options.stream:keep(memory) end
    for _, f in ipairs(before) do f() end
    launch(table_of_groups, firsts, #sizes, counter, alpha, beta)
  end
end

-- ---- Running -----------------------------------------------------------------------------------

-- Functions that run each product by a plan of its own.
local function prepare_each(p, groups, options)
  local runs = {}
  for i, g in ipairs(groups) do
    runs[i] = run.prepare(p:single(g, i), g.A, g.B, g.C, options_of_run(options, g))
  end
  return function()
    for _, f in ipairs(runs) do f() end
  end
end

-- A function that runs the plan on these tensors of a device again and again, all checks made.
function M.prepare(p, groups, options)
  options = options or {}
  check_groups(p, groups, options)
  local cuda = place(groups)
  if not cuda then run.fail_on_host() end
  if p.shared then return prepare_shared(cuda, p, groups, options) end
  return prepare_each(p, groups, options)
end

function M.run(p, groups, options)
  options = options or {}
  check_groups(p, groups, options)
  if options.on ~= "host" and place(groups) then return M.prepare(p, groups, options)() end
  for i, g in ipairs(groups) do
    of_group(i, run.gemm, p:single(g, i), g.A, g.B, g.C, options_of_run(options, g))
  end
end

return M
