-- Products that gemm_sm90's plans compute: run with a kernel that is launched with addresses and
-- maps, and checked element by element, those around D too.

local lutile = require "lutile"
local gemm_sm90 = require "lutile.plan.gemm_sm90"

local make_layout = lutile.make_layout

local M = {}

-- ---- Matrices ----------------------------------------------------------------------------------

local POISON = 99
local SWIZZLE = { ["128B"] = 128, ["64B"] = 64, ["32B"] = 32, none = 16 }

local function up(x, to) return (x + to - 1) // to * to end

-- (rows, columns, batches) with space between lines, as much as TMA wants.
local function plain_layout(rows, columns, batches, along_rows, unit)
  local line = up(along_rows and rows or columns, unit) + unit
  local step = line * (along_rows and columns or rows) + unit
  return make_layout({ rows, columns, batches },
    { along_rows and 1 or line, along_rows and line or 1, step })
end

-- A matrix of small integers, each exact in all types: 'values' by offset.
local function random_matrix(dtype, layout, low)
  local m = { dtype = dtype, layout = layout, values = {} }
  for i = 0, lutile.cosize(layout) + 15 do m.values[i] = math.random(low, 3) end
  return m
end

local function constant_matrix(dtype, layout, value)
  local m = { dtype = dtype, layout = layout, values = {} }
  for i = 0, lutile.cosize(layout) + 15 do m.values[i] = value end
  return m
end

local function upload(m, cuda)
  local stored = m.dtype == "tf32" and "f32" or m.dtype
  local t = lutile.make_tensor(stored, make_layout(#m.values + 1))
  for i = 0, #m.values do t[i] = m.values[i] end
  m.tensor = t:to(cuda)
  m.address = m.tensor.data:address()
end

-- A map as the emulator reads it.
local function pack_map(desc, address, bytes)
  local function five(list, from)
    local out = {}
    for i = 1, 5 do out[i] = list[i + (from or 0)] or 0 end
    return out
  end
  local strides = five(desc.globalStrides, -1)
  strides[1] = bytes
  local numbers = { address, desc.tensorRank, bytes, SWIZZLE[desc.swizzle], 0 }
  for _, list in ipairs { five(desc.globalDim), five(desc.boxDim), strides } do
    table.move(list, 1, 5, #numbers + 1, numbers)
  end
  return string.pack("<!8 i8 I2I2I2I2 I4I4I4I4I4 I4I4I4I4I4 I8I8I8I8I8", table.unpack(numbers))
    .. ("\0"):rep(32)
end

-- ---- What must come out ------------------------------------------------------------------------

-- Row i of batch b as a list of k.
local function line_of(m, i, k, b)
  local list = {}
  for l = 0, k - 1 do list[l + 1] = m.values[m.layout(i, l, b)] end
  return list
end

local function lines_of(m, rows, k, b)
  local list = {}
  for i = 0, rows - 1 do list[i] = line_of(m, i, k, b) end
  return list
end

local function dot(a, b)
  local sum = 0
  for l = 1, #a do sum = sum + a[l] * b[l] end
  return sum
end

local RANGE = { s8 = { -128, 127 }, u8 = { 0, 255 } }

local function finish(case, data, sum, i, j, b)
  local p, x = data.plan, data.alpha * sum
  if p.reads_c then x = x + data.beta * data.C.values[data.C.layout(i, j, b)] end
  if p.bias then x = x + data.bias.values[p.bias == "row" and i or j] end
  if case.reference then x = case.reference(x, i, j) end
  local range = RANGE[p.out]
  return range and math.min(math.max(x, range[1]), range[2]) or x
end

-- The elements of D by offset, poison elsewhere.
local function expect(case, data)
  local wanted = {}
  for b = 0, case.batches - 1 do
    local a = lines_of(data.A, case.m, case.k, data.plan.A.is_batched and b or 0)
    local bs = lines_of(data.B, case.n, case.k, data.plan.B.is_batched and b or 0)
    for i = 0, case.m - 1 do
      for j = 0, case.n - 1 do
        wanted[data.D.layout(i, j, b)] = finish(case, data, dot(a[i], bs[j]), i, j, b)
      end
    end
  end
  return wanted
end

local function differences(data, wanted)
  local got, wrong, first = data.D.tensor:to_host(), 0, ""
  for i = 0, #data.D.values do
    local want = wanted[i] or POISON
    if got(i) ~= want then
      wrong = wrong + 1
      if wrong == 1 then first = (": %s for %s at %d"):format(got(i), want, i) end
    end
  end
  return wrong == 0 and "right" or ("%d wrong%s"):format(wrong, first)
end

-- ---- A run -------------------------------------------------------------------------------------

local function matrices(case, p)
  local low = p.dtype == "u8" and 0 or -3
  local function operand(o, rows, layout)
    layout = layout or plain_layout(rows, case.k, o.is_batched and case.batches or 1,
      o.major == "MN", 16 // o.bytes)
    return random_matrix(o.dtype, layout, o.dtype == "u8" and 0 or low)
  end
  local d = case.options.d_layout or plain_layout(case.m, case.n, case.batches, false,
    (case.options.d_align or 16) // p.D.bytes)
  local data = { plan = p, A = operand(p.A, case.m, case.options.a_layout),
    B = operand(p.B, case.n, case.options.b_layout), D = constant_matrix(p.out, d, POISON),
    C = random_matrix(p.out, d, 0), alpha = case.alpha or 1, beta = p.reads_c and 2 or 0,
    bias = random_matrix(p.out, make_layout(math.max(case.m, case.n)), 0) }
  return data
end

local MATRICES = { "A", "B", "C", "D", "bias" }

-- Uploads the matrices; their maps, in a list.
local function packed_maps(p, data, cuda)
  for _, name in ipairs(MATRICES) do upload(data[name], cuda) end
  local maps = p:maps { A = data.A.layout, B = data.B.layout,
    C = p:loads_c() and data.C.layout or nil, D = p.D.by_tma and data.D.layout or nil }
  local list = {}
  for i, name in ipairs { "A", "B", "C", "D" } do
    local map = maps[name] or maps.A -- not read
    list[i] = pack_map(map, data[name].address, p[name == "C" and "D" or name].bytes)
  end
  return list
end

local function arguments(case, p, data, cuda)
  local list = packed_maps(p, data, cuda)
  local bytes, counters = p:workspace(case.blocks)
  data.sums = cuda.tensor("s32", make_layout(math.max(bytes // 4, 1)))
  data.counters = lutile.make_tensor("s32", make_layout(math.max(counters, 1))):to(cuda)
  data.scale = lutile.make_tensor("f32", make_layout(2))
  data.scale[0], data.scale[1] = 2, 0.5
  data.scale = data.scale:to(cuda)
  local scale = data.scale.data:address()
  for _, x in ipairs { data.D.address, data.C.address, data.bias.address, scale, scale + 4,
    data.sums.data:address(), data.counters.data:address() } do list[#list + 1] = x end
  for _, m in ipairs { data.D, data.C } do
    table.move(p:strides(m.layout), 1, 4, #list + 1, list)
  end
  for _, x in ipairs { case.m, case.n, case.k, case.batches, data.alpha, data.beta } do
    list[#list + 1] = x
  end
  return list
end

-- ---- Groups ------------------------------------------------------------------------------------

local function pack_group(case, p, data, cuda)
  local fields, maps = gemm_sm90.GROUP, table.concat(packed_maps(p, data, cuda))
  assert(fields.A == 0 and fields.B == 128 and fields.C == 256 and fields.D == 384)
  assert(fields.addresses == #maps)
  local numbers = { data.D.address, data.C.address, data.bias.address }
  for _, m in ipairs { data.D, data.C } do
    table.move(p:strides(m.layout), 1, 4, #numbers + 1, numbers)
  end
  local text = maps .. string.pack("<i8i8i8 i8i8i8i8 i8i8i8i8", table.unpack(numbers))
  assert(fields.strides == #maps + 24 and fields.sizes == #text)
  text = text .. string.pack("<i4i4i4", case.m, case.n, case.k)
  return text .. ("\0"):rep(fields.bytes - #text)
end

local function bytes_tensor(text, cuda)
  local t = lutile.make_tensor("u8", make_layout(#text))
  for i = 1, #text do t[i - 1] = text:byte(i) end
  return t:to(cuda)
end

local function run_groups(case, p, cuda)
  local all, packed = {}, {}
  for g, size in ipairs(case.groups) do
    local one = { m = size[1], n = size[2], k = size[3], batches = 1, options = case.options }
    all[g] = { case = one, data = matrices(one, p) }
    packed[g] = pack_group(one, p, all[g].data, cuda)
  end
  local first = string.pack("<" .. ("i4"):rep(#all + 1), table.unpack(p:first_tiles(case.groups)))
  local groups, firsts = bytes_tensor(table.concat(packed), cuda), bytes_tensor(first, cuda)
  local counter = bytes_tensor(("\0"):rep(4), cuda)
  local launch = cuda.compile(p:compile_options(0)):launch { grid = case.blocks,
    block = p.threads, shared = p.shared_bytes }
  for _ = 1, 2 do
    launch(groups.data:address(), firsts.data:address(), #all, counter.data:address(), 1,
      all[1].data.beta)
  end
  for g, one in ipairs(all) do
    local result = differences(one.data, expect(one.case, one.data))
    if result ~= "right" then return ("group %d: %s"):format(g, result) end
  end
  return "right"
end

-- run(case, cuda): "right", or what is not. What has counters runs twice: they are 0 again.
function M.run(case, cuda)
  local p = gemm_sm90.new(case.options)
  if case.groups then return run_groups(case, p, cuda) end
  local data = matrices(case, p)
  local list = arguments(case, p, data, cuda)
  local launch = cuda.compile(p:compile_options(0)):launch { grid = case.blocks,
    block = p.threads, shared = p.shared_bytes }
  for _ = 1, case.times or 1 do launch(table.unpack(list)) end
  return differences(data, expect(case, data))
end

function M.name(case)
  local o, parts = case.options, { case.why }
  parts[2] = case.groups and #case.groups .. " products"
    or ("%dx%dx%d"):format(case.m, case.n, case.k)
  if case.batches > 1 then parts[#parts + 1] = "x" .. case.batches end
  parts[#parts + 1] = o.dtype
  return table.concat(parts, " ")
end

-- ---- Cases -------------------------------------------------------------------------------------

local function case(why, m, n, k, options, more)
  local c = { why = why, m = m, n = n, k = k, options = options, batches = 1, blocks = 2 }
  for name, x in pairs(more or {}) do c[name] = x end
  return c
end

M.emulated = {
  case("groups in turn", 0, 0, 0, { dtype = "f16", out = "f32", tile = { 64, 64 },
    ping_pong = true, grouped = true, reads_c = true, bias = "column" }, { blocks = 2,
    groups = { { 70, 40, 130 }, { 0, 8, 8 }, { 1, 1, 1 }, { 130, 129, 64 }, { 8, 8, 0 },
      { 64, 64, 200 } } }),
  case("groups in turn and in runs, one without k", 0, 0, 0, { dtype = "e4m3", out = "f32",
    tile = { 64, 32 }, ping_pong = true, promote = 4, grouped = true }, { blocks = 1,
    groups = { { 70, 40, 130 }, { 8, 8, 0 }, { 8, 8, 0 }, { 64, 64, 300 } } }),
  case("groups of the widest in turn, C and a bias", 0, 0, 0, { dtype = "f16", out = "bf16",
    tile = { 128, 192 }, ping_pong = true, grouped = true, reads_c = true, bias = "row",
    d_align = 4 }, { blocks = 2, groups = { { 130, 70, 70 }, { 8, 200, 64 }, { 3, 4, 0 } } }),
  case("groups of shared tiles", 0, 0, 0, { dtype = "bf16", out = "f32", tile = { 128, 32 },
    grouped = true }, { blocks = 3, groups = { { 200, 40, 70 }, { 3, 70, 8 } } }),
  case("groups for one warpgroup, more blocks than tiles", 0, 0, 0, { dtype = "f16", out = "f32",
    tile = { 64, 32 }, grouped = true }, { blocks = 5, groups = { { 30, 40, 70 }, { 8, 8, 0 } } }),
  case("no more than 16 rows, in parts", 13, 70, 300, { dtype = "f16", out = "f32",
    tile = { 64, 32 }, most_rows = 16, splits = 2, least_stages = 1 }, { blocks = 6, times = 2 }),
  case("one element", 1, 1, 1, { dtype = "f16", out = "f32", tile = { 64, 32 } }),
  case("edges, in turn", 140, 75, 90, { dtype = "f16", out = "f32", tile = { 64, 64 },
    ping_pong = true }, { batches = 2, blocks = 3 }),
  case("columns that end inside of 16 bytes", 70, 101, 70, { dtype = "bf16", out = "bf16",
    tile = { 64, 96 }, a_major = "row" }),
  case("a last chunk that shares columns with the one before, in turn", 150, 181, 70,
    { dtype = "f16", out = "f16", tile = { 128, 176 }, ping_pong = true, bias = "row" }),
  case("the same with C, not shared", 70, 180, 70, { dtype = "f16", out = "f32",
    tile = { 64, 176 }, reads_c = true }),
  case("the same in turn, of 16 bits", 150, 184, 70, { dtype = "f16", out = "f16",
    tile = { 128, 176 }, ping_pong = true, reads_c = true }, { blocks = 2 }),
  case("lines of 32 columns in turn, and C", 150, 168, 130, { dtype = "e4m3", out = "f16",
    tile = { 128, 160 }, ping_pong = true, reads_c = true, bias = "row" }, { blocks = 1 }),
  case("three warpgroups, and C", 200, 136, 70, { dtype = "f16", out = "f16",
    tile = { 192, 128 }, reads_c = true }, { blocks = 2 }),
  case("rows contiguous", 130, 72, 72, { dtype = "bf16", out = "f32", tile = { 128, 96 },
    a_major = "row", b_major = "row" }),
  case("sums of f16", 70, 40, 70, { dtype = "f16", acc = "f16", out = "f16", tile = { 64, 64 } }),
  case("tf32", 70, 40, 50, { dtype = "tf32", tile = { 64, 32 } }),
  case("e4m3 by e5m2 with scales, in runs", 70, 40, 300, { dtype = "e4m3", dtype_b = "e5m2",
    out = "f32", tile = { 64, 32 }, promote = 4, scales = true }),
  case("bytes", 70, 45, 200, { dtype = "s8", dtype_b = "u8", tile = { 64, 64 } }, { alpha = 3 }),
  case("bytes to bytes, which saturate", 70, 200, 40, { dtype = "s8", out = "s8", bias = "row",
    tile = { 64, 160 }, reads_c = true }),
  case("bias by column and C", 70, 45, 70, { dtype = "f16", out = "f32", tile = { 64, 32 },
    bias = "column", reads_c = true, epilogue = "x > 0 ? x : 2 * x" },
    { reference = function(x) return x > 0 and x or 2 * x end, batches = 2 }),
  case("one matrix A for all batches", 70, 40, 70, { dtype = "f16", out = "f32",
    tile = { 64, 64 }, batched = { A = false } }, { batches = 3 }),
  case("tiles in parts", 70, 45, 600, { dtype = "f16", out = "f32", tile = { 64, 64 }, splits = 8,
    least_stages = 1, bias = "row" }, { blocks = 7, times = 2 }),
  case("whole tiles, then parts, in turn", 200, 64, 300, { dtype = "f16", out = "f32",
    tile = { 64, 64 }, splits = 3, least_stages = 1, ping_pong = true }, { blocks = 3, times = 2 }),
  case("parts of shared tiles of f16 sums", 130, 60, 300, { dtype = "f16", acc = "f16",
    out = "f16", tile = { 128, 32 }, splits = 4, least_stages = 2 }, { blocks = 9, times = 2 }),
  case("the widest in turn, in parts, C of 16 bits", 140, 200, 300, { dtype = "f16", out = "f16",
    tile = { 128, 192 }, ping_pong = true, splits = 3, least_stages = 1, reads_c = true,
    bias = "column", scales = true }, { blocks = 5, times = 2 }),
  case("the largest, shared, and C", 260, 200, 70, { dtype = "bf16", out = "bf16",
    tile = { 256, 192 }, reads_c = true }, { blocks = 1 }),
  case("C in fewer buffers than chunks, tile after tile", 140, 530, 70, { dtype = "f16",
    out = "f16", tile = { 128, 256 }, reads_c = true }, { blocks = 1, batches = 2 }),
  case("C in three buffers, in turn, bias by row", 260, 390, 140, { dtype = "bf16", out = "bf16",
    tile = { 128, 192 }, ping_pong = true, reads_c = true, buffers = 3, bias = "row" },
    { blocks = 1 }),
  case("C that threads bring, in turn, to fewer lines than they take at once", 140, 70, 70,
    { dtype = "f16", out = "f16", tile = { 128, 96 }, ping_pong = true, reads_c = true,
    d_align = 8 }, { blocks = 1, batches = 2 }),
  case("C of single elements by threads, in parts", 70, 45, 300, { dtype = "f16", out = "f16",
    tile = { 64, 96 }, splits = 3, least_stages = 1, reads_c = true, d_align = 2 },
    { blocks = 4, times = 2 }),
  case("lines that TMA does not store", 70, 101, 70, { dtype = "f16", out = "f16",
    tile = { 64, 96 }, d_align = 2 }, { batches = 2 }),
  case("lines of 8 bytes", 70, 102, 70, { dtype = "f16", out = "f16", tile = { 64, 64 },
    d_align = 8 }),
  case("lines of 4 bytes, of single ones", 70, 102, 70, { dtype = "e4m3", out = "s8",
    tile = { 64, 128 }, d_align = 4 }),
  case("hierarchical rows and k", 24 * 10, 70, 64 * 3, { dtype = "f16", out = "f32",
    tile = { 64, 64 },
    a_layout = make_layout({ { 24, 10 }, { 64, 3 }, 1 }, { { 200, 4808 }, { 1, 72 }, 0 }) }),
  case("hierarchical k in lines of 64 bytes", 70, 70, 96 * 3, { dtype = "f16", out = "f32",
    tile = { 64, 64 },
    a_layout = make_layout({ 70, { 96, 3 }, 1 }, { 104, { 1, 7280 }, 0 }) }),
  case("hierarchical D and rows that are contiguous", 160, 96, 72, { dtype = "bf16", out = "f32",
    tile = { 64, 32 }, reads_c = true,
    b_layout = make_layout({ { 32, 3 }, { 8, 9 }, 2 }, { { 1, 8 * 32 }, { 32, 1024 }, 9216 }),
    d_layout = make_layout({ { 8, 20 }, { 32, 3 }, 2 }, { { 32, 800 }, { 1, 256 }, 16384 }) },
    { batches = 2 }),
}

return M
