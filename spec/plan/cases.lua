-- Products that specs of plans check: types, majors, sizes; and the check, against sums in double
-- precision of numbers whose products and sums are exact.

local lutile = require "lutile"

local make_layout, make_tensor, size = lutile.make_layout, lutile.make_tensor, lutile.size

local M = {}

-- ---- Data --------------------------------------------------------------------------------------

local RANGES = { u8 = { 0, 9, 1 }, s8 = { -9, 9, 1 }, s32 = { -50, 50, 1 }, s16 = { -50, 50, 1 },
  s4 = { -8, 7, 1 }, u4 = { 0, 15, 1 }, b1 = { 0, 1, 1 }, ue8m0 = { 1, 4, 1 }, ue4m3 = { 0, 8, 2 } }

local function fill(t)
  local from, to, unit = table.unpack(RANGES[t.dtype] or { -4, 4, 2 })
  for i = 0, size(t) - 1 do t[i] = math.random(from, to) / unit end
  return t
end

-- (rows, columns, batches), rows contiguous or columns; 'padding' elements between them.
local function matrix(dtype, rows, columns, batches, major, padding)
  local stride = major == "row" and { 1, rows + padding } or { columns + padding, 1 }
  local other = major == "row" and columns * stride[2] or rows * stride[1]
  return make_tensor(dtype, make_layout({ rows, columns, batches },
    { stride[1], stride[2], other + padding }))
end

-- As a case says: of what types, and which mode of A, B and C is contiguous.
local STORED = { tf32 = "f32" }

local function matrices(c)
  if c.layouts then
    local list = {}
    for i, text in ipairs(c.layouts) do
      list[i] = fill(make_tensor(c.types[i == 3 and 4 or i], lutile.parse(text)))
    end
    return table.unpack(list)
  end
  local l, padding = c.batches or 1, c.padding or 0
  if type(padding) == "number" then padding = { padding, padding, padding } end
  local a, b = STORED[c.types[1]] or c.types[1], STORED[c.types[2]] or c.types[2]
  return fill(matrix(a, c.m, c.k, l, c.majors[1], padding[1])),
    fill(matrix(b, c.n, c.k, l, c.majors[2], padding[2])),
    fill(matrix(c.types[4], c.m, c.n, l, c.majors[3], padding[3]))
end

-- ---- gemm --------------------------------------------------------------------------------------

-- The element of a matrix, one for all batches or of each.
local function element(t, row, k, l)
  if lutile.rank(t) == 3 then return t(row, k, l) end
  return t(row, k)
end

local function sum(A, B, m, n, l)
  local x = 0
  for k = 0, size(A, 1) - 1 do x = x + element(A, m, k, l) * element(B, n, k, l) end
  return x
end

local function count_wrong(c, A, B, old, D, bias)
  local wrong, rounded = 0, make_tensor(D.dtype, 1)
  local alpha = (c.alpha or 1) * (c.scales and c.scales[1] * c.scales[2] or 1)
  for l = 0, size(D, 2) - 1 do
    for n = 0, size(D, 1) - 1 do
      for m = 0, size(D, 0) - 1 do
        local x = alpha * sum(A, B, m, n, l)
        if c.beta and c.beta ~= 0 then x = x + c.beta * element(old, m, n, l) end
        if bias then x = x + bias(c.bias == "row" and m or n) end
        if c.host_epilogue then x = c.host_epilogue(x, m, n) end
        rounded[0] = x
        if D(m, n, l) ~= rounded(0) then wrong = wrong + 1 end
      end
    end
  end
  return wrong
end

-- What a run wrote between the columns or rows of a target.
local function count_touched(D, before)
  local touched, inside = 0, {}
  for i = 0, size(D) - 1 do inside[D.layout(i)] = true end
  local all = make_tensor(D.data, make_layout(lutile.cosize(D.layout)))
  for i = 0, size(all) - 1 do
    if not inside[i] and all(i) ~= before(i) then touched = touched + 1 end
  end
  return touched
end

local function copy_of(t)
  local all = make_tensor(t.data, make_layout(lutile.cosize(t.layout)))
  local copy = make_tensor(t.dtype, all.layout)
  lutile.copy(all, copy)
  return copy, make_tensor(copy, t.layout)
end

local function fill_with(t, x)
  t[0] = x
  return t
end

-- Runs the plan; by what it prepares, where the case says so and the target is on a device.
local function run_plan(c, plan, A, B, target, options, is_moved)
  if c.prepared and is_moved then return plan:prepare(A, B, target, options)() end
  plan:run(A, B, target, options)
end

-- c.read: the layout of a C that is not D.
local function run_gemm(c, there, back)
  local A, B, C = matrices(c)
  local before, old = copy_of(C)
  if c.read then old = fill(make_tensor(c.types[4], lutile.parse(c.read))) end
  if c.beta == 0 then lutile.fill(c.read and old or C, 0 / 0) end -- does not count
  local bias = c.bias and fill(make_tensor(c.types[4], c.bias == "row" and c.m or c.n))
  local plan = lutile.plan.gemm { A = A, B = B, C = C, dtype = c.types[1], dtype_b = c.types[2],
    acc = c.types[3], beta = c.beta ~= nil, bias = c.bias, arch = c.arch or 89, tile = c.tile,
    warps = c.warps, stages = c.stages, cluster = c.cluster, splits = c.splits,
    template = c.template, scales = c.scales and true, epilogue = c.epilogue,
    host_epilogue = c.host_epilogue }
  local D = there(C)
  local function scale(i)
    return c.scales and there(fill_with(make_tensor("f32", 1), c.scales[i]))
  end
  run_plan(c, plan, there(A), there(B), c.read and there(old) or D, { alpha = c.alpha,
    beta = c.beta, D = D, bias = bias and there(bias), scale_a = scale(1) or nil,
    scale_b = scale(2) or nil }, D ~= C)
  D = back(D)
  local wrong, touched = count_wrong(c, A, B, old, D, bias), count_touched(D, before)
  if wrong == 0 and touched == 0 then return "right" end
  return ("%d wrong, %d between"):format(wrong, touched)
end

-- ---- chained_gemm ------------------------------------------------------------------------------

local function run_chained(c, there, back)
  local A = fill(matrix(c.dtype, c.m, c.n, 1, c.majors[1], c.padding or 0))
  local B = make_tensor(c.dtype, matrix(c.dtype, c.n, c.n, 1, c.majors[2], c.padding or 0).layout)
  for i = 0, size(B) - 1 do B[i] = math.random(-1, 1) end
  local _ = lutile._
  A, B = A(_, _, 0), B(_, _, 0)
  local D = make_tensor("f32", make_layout({ c.m, c.n }, { c.n + (c.padding or 0), 1 }))
  local plan = lutile.plan.chained_gemm { A = A, B = B, D = D, arch = c.arch or 80,
    stages = c.stages, block_k = c.block_k, warps = c.warps, rows = c.rows, groups = c.groups,
    blocks = c.blocks }
  local target = there(D)
  run_plan(c, plan, there(A), there(B), target, nil, target ~= D)
  target = back(target)
  local S, wanted = make_tensor("f64", make_layout { c.m, c.n }),
    make_tensor("f64", make_layout { c.m, c.n })
  lutile.gemm(lutile.convert(A, "f64"), lutile.convert(B, "f64"), S)
  S = lutile.convert(lutile.convert(S, c.dtype), "f64") -- as the second product takes it
  lutile.gemm(S, lutile.convert(B, "f64"), wanted)
  local wrong = 0
  for i = 0, size(wanted) - 1 do if target(i) ~= wanted(i) then wrong = wrong + 1 end end
  return wrong == 0 and "right" or wrong .. " wrong"
end

-- Runs a case on tensors that there(t) gives and back(t) brings back: "right", or what is wrong.
function M.run(case, there, back)
  return (case.dtype and run_chained or run_gemm)(case, there, back)
end

function M.name(c)
  if c.dtype then
    return ("chained_gemm of %s, %d x %d, %s"):format(c.dtype, c.m, c.n, c.why)
  end
  return ("gemm of %s, %dx%dx%d, %s: %s"):format(table.concat(c.types, " "), c.m, c.n, c.k,
    table.concat(c.majors, " "), c.why)
end

-- ---- Cases -------------------------------------------------------------------------------------

local F16, BF16 = { "f16", "f16", "f32", "f32" }, { "bf16", "bf16", "f32", "f32" }
local TF32, F64 = { "tf32", "tf32", "f32", "f32" }, { "f64", "f64", "f64", "f64" }
local S8, U8S8 = { "s8", "s8", "s32", "s32" }, { "u8", "s8", "s32", "s32" }
local E4M3 = { "e4m3", "e5m2", "f32", "f32" }
local HALF = { "f16", "f16", "f16", "f16" }
local F16_S32 = { "f16", "f16", "f32", "s32" }

local KK, RR = { "k", "k", "column" }, { "row", "row", "column" }

-- The templates themselves: each instruction and way to load, edges, stages.
M.emulated = {
  { types = F16, m = 33, n = 20, k = 40, majors = KK, beta = 0, bias = "column",
    why = "C of no numbers, times 0" },
  { types = F16, m = 67, n = 36, k = 200, majors = KK, padding = 4, why = "edges, a whole ring" },
  { types = F16, m = 33, n = 19, k = 35, majors = { "row", "k", "row" }, padding = 1,
    beta = 0.5, alpha = 2, why = "no vectors, column-major C, which is read" },
  { types = F16, m = 20, n = 12, k = 16, majors = { "k", "row", "row" }, batches = 3,
    bias = "column", epilogue = "x < 0 ? 0 : x + m",
    host_epilogue = function(x, m) return x < 0 and 0 or x + m end,
    why = "batches, a bias and an epilogue, transposed" },
  { types = BF16, m = 18, n = 40, k = 33, majors = { "row", "k", "column" }, prepared = true,
    why = "bfloat16" },
  { types = HALF, m = 40, n = 24, k = 24, majors = KK, why = "sums of f16" },
  { types = TF32, m = 40, n = 24, k = 44, majors = RR, why = "words at a time" },
  { types = F64, m = 35, n = 22, k = 21, majors = { "row", "k", "column" }, why = "wide words" },
  { types = S8, m = 32, n = 48, k = 80, majors = { "row", "k", "column" }, beta = 3,
    why = "bytes gathered" },
  { types = E4M3, m = 16, n = 32, k = 64, majors = KK, scales = { 2, 0.25 },
    why = "mixed 8-bit floats with scales" },
  { types = F16, m = 40, n = 24, k = 70, majors = KK, arch = 75, why = "through registers" },
  { types = S8, m = 40, n = 24, k = 70, majors = RR, arch = 75, why = "the small atom" },
  { types = F16, m = 130, n = 260, k = 70, majors = KK, tile = { 128, 256, 64 },
    warps = { 2, 4 }, stages = 3, arch = 80, why = "the largest tile" },
  { types = E4M3, m = 40, n = 48, k = 96, majors = KK, arch = 90, template = "gemm_sm80.cu",
    why = "8-bit floats as f16" },
  { types = F16_S32, m = 20, n = 12, k = 24, majors = KK, alpha = 0.5, beta = 0.25,
    why = "sums of f32, rounded to s32" },
  { types = F16, m = 100, n = 50, k = 72, majors = { "k", "row", "column" }, tile = { 96, 48, 32 },
    arch = 80, why = "three atoms by three" },
  { types = F16, m = 97, n = 49, k = 35, majors = { "row", "row", "row" }, tile = { 96, 80, 32 },
    arch = 80, padding = 1, why = "an odd number of atoms, half of them loaded early" },
  { types = S8, m = 33, n = 16, k = 70, majors = { "k", "row", "column" }, tile = { 32, 8, 64 },
    warps = { 2, 1 }, arch = 80, why = "a tile of fewer columns than a copy could have" },
  { dtype = "f16", m = 40, n = 64, majors = { "k", "k" }, why = "one tile of rows" },
  { dtype = "bf16", m = 33, n = 77, majors = { "row", "row" }, prepared = true,
    why = "no vectors" },
  { dtype = "f16", m = 40, n = 104, majors = { "k", "row" }, arch = 75, why = "through registers" },
  { dtype = "f16", m = 20, n = 96, majors = { "k", "k" }, warps = 4, stages = 4, padding = 2,
    why = "four stages" },
  { dtype = "f16", m = 330, n = 64, majors = { "k", "k" }, blocks = 1, why = "tiles one by one" },
  { dtype = "f16", m = 300, n = 40, majors = { "row", "k" }, blocks = 1, groups = 2, stages = 2,
    why = "groups that share B" },
  { dtype = "bf16", m = 101, n = 32, majors = { "k", "row" }, groups = 4, warps = 1, rows = 32,
    why = "groups of a warp, one with no rows" },
  { dtype = "f16", m = 70, n = 251, majors = { "k", "k" }, why = "no vectors, many columns" },
  { dtype = "f16", m = 130, n = 250, majors = { "k", "k" }, arch = 86, padding = 2,
    why = "B through the ring" },
  { dtype = "f16", m = 300, n = 72, majors = { "k", "row" }, arch = 75, groups = 2, stages = 3,
    blocks = 1, why = "groups, through registers" },
  { dtype = "f16", m = 270, n = 210, majors = { "row", "k" }, arch = 75,
    why = "B through the ring and registers" },
  { dtype = "bf16", m = 250, n = 200, majors = { "k", "row" }, arch = 86, groups = 2, warps = 4,
    stages = 2, why = "a ring of each group" },
}

-- On the host executor: all majors of all types, at an odd size.
M.host = {}
for _, types in ipairs { F16, BF16, HALF, TF32, F64, S8, U8S8, E4M3 } do
  for i = 0, 7 do
    local function pick(bit, yes, no) return i >> bit & 1 == 1 and yes or no end
    table.insert(M.host, { types = types, m = 37, n = 29, k = 19,
      majors = { pick(0, "row", "k"), pick(1, "row", "k"), pick(2, "row", "column") },
      padding = i == 3 and 3 or 0, why = "odd sizes" })
  end
end
for _, case in ipairs {
  { types = F16, m = 1, n = 1, k = 1, majors = KK, why = "one element" },
  { types = F16, m = 20, n = 12, k = 16, majors = { "k", "row", "column" }, batches = 3,
    bias = "row", why = "batches, a bias of rows" },
  { dtype = "f16", m = 17, n = 8, majors = { "k", "k" }, why = "one tile along k" },
} do
  table.insert(M.host, case)
end

-- Contractions: rows, columns and k of several modes.
local CONTRACTION = { "((4,6),(2,8),1):((16,128),(1,2),0)", "((2,10),16,1):((1,64),2,0)",
  "((4,6),20,1):((1,96),4,0)" }
for _, case in ipairs {
  { types = F16, m = 24, n = 20, k = 16, majors = KK, layouts = CONTRACTION, why = "contraction" },
  { types = HALF, m = 24, n = 20, k = 16, majors = KK, layouts = CONTRACTION, beta = 2, arch = 90,
    why = "contraction, C is read" },
  { types = F16, m = 12, n = 8, k = 6, majors = KK, arch = 80,
    layouts = { "(12,(2,3),(2,2)):(6,(1,2),(72,300))", "(8,6,4):(6,1,48)",
      "((3,4),8,(2,2)):((1,40),3,(160,400))" }, batches = 4, why = "batches of several modes" },
} do
  table.insert(M.host, case)
end

-- For gemm_sm90.cu: what TMA takes, edges of all kinds, schedules.
local BF16_OUT, F16_OUT = { "bf16", "bf16", "f32", "bf16" }, { "f16", "f16", "f32", "f16" }
M.hopper = {
  { types = F16_OUT, m = 48, n = 144, k = 64, majors = KK, layouts = {
      "((8,6),64,1):((64,1024),1,0)", "((16,3,3),(32,2),1):((32,1024,4096),(1,512),0)",
      "((8,6),144,1):((160,4096),1,0)" }, beta = 0.5, why = "contraction through all modes" },
  { types = F16, m = 32, n = 24, k = 24, majors = KK, layouts = {
      "((4,8),(8,3),1):((1,64),(4,512),0)", "((8,3),24,1):((24,512),1,0)",
      "((4,8),24,1):((24,256),1,0)" }, why = "contraction by copies" },
  { types = F16, m = 72, n = 136, k = 40, majors = KK, batches = 2, layouts = {
      "(72,40,2):(40,1,2880)", "(136,40):(1,136)", "(72,136,2):(136,1,9792)" },
    why = "one B for all batches" },
  { types = F16_OUT, m = 70, n = 132, k = 40, majors = KK, why = "D by threads, 8 bytes" },
  { types = BF16_OUT, m = 131, n = 71, k = 40, majors = KK, beta = 0.5,
    why = "D by threads, each element" },
  { types = E4M3, m = 48, n = 72, k = 48, majors = { "row", "k", "row" }, batches = 2,
    why = "bytes along their rows, by copies" },
  { types = TF32, m = 41, n = 70, k = 36, majors = RR, why = "words along rows" },
  { types = E4M3, m = 40, n = 72, k = 160, majors = KK, scales = { 0.5, 8 }, alpha = 3,
    why = "8-bit floats with scales" },
  { types = { "f16", "f16", "f32", "e4m3" }, m = 40, n = 70, k = 40, majors = KK,
    why = "D by threads, two bytes at once" },
  { types = { "f16", "f16", "f32", "e4m3" }, m = 40, n = 71, k = 40, majors = KK,
    why = "D by threads, a byte at once" },
  { types = { "f16", "f16", "f32", "e4m3" }, m = 40, n = 68, k = 40, majors = KK,
    why = "D by threads, four bytes at once" },
  { types = F16, m = 100, n = 132, k = 520, majors = KK, tile = { 64, 64, 64 }, splits = 4,
    bias = "column", why = "tiles in parts, a bias" },
  { types = F16, m = 130, n = 136, k = 72, majors = KK, why = "edges" },
  { types = F16_OUT, m = 200, n = 304, k = 136, majors = { "row", "row", "column" }, padding = 8,
    why = "contiguous along m and n" },
  { types = F16_OUT, m = 150, n = 264, k = 40, majors = KK, beta = 2, bias = "column", batches = 2,
    read = "(150,264,2):(272,1,40896)", why = "C in other strides than D" },
  { types = F16_OUT, m = 150, n = 264, k = 40, majors = KK, beta = 2, read = "(150,264):(265,1)",
    why = "C that TMA does not take" },
  { types = F16_OUT, m = 150, n = 60, k = 40, majors = KK, beta = 2, read = "(150,60):(61,1)",
    why = "C that threads cannot read as they write D" },
  { types = F16_OUT, m = 150, n = 60, k = 40, majors = KK, beta = 2, read = "(150,60):(72,1)",
    why = "C that threads read as they write D" },
  { types = F16_OUT, m = 40, n = 1, k = 40, layouts = { "(40,40):(40,1)", "(1,40):(40,1)",
      "(40,1,1):(8,1,320)" }, majors = KK, beta = 2, read = "(40,1):(1,40)",
    why = "C of one column that lies along its rows" },
  { types = F16_OUT, m = 70, n = 72, k = 40, majors = KK, beta = 0, bias = "row",
    read = "(70,72):(72,1)", why = "C of no numbers, times 0" },
  { types = F16_OUT, m = 40, n = 72, k = 40, majors = { "k", "k", "row" }, beta = 0.5,
    read = "(40,72):(1,0)", why = "one column of C for all" },
  { types = F16, m = 72, n = 136, k = 40, majors = KK, batches = 2, layouts = { "(72,40):(40,1)",
      "(136,40):(40,1)", "(72,136,2):(136,1,9792)" }, beta = 2, read = "(72,136):(136,1)",
    why = "one C for all batches" },
  { types = BF16_OUT, m = 72, n = 131, k = 24, majors = { "k", "row", "column" },
    padding = { 0, 5, 5 }, why = "rows of D that end within 16 bytes" },
  { types = F16, m = 136, n = 72, k = 64, majors = { "k", "k", "row" }, beta = 0.5, alpha = 2,
    why = "column-major C, which is read" },
  { types = BF16_OUT, m = 40, n = 64, k = 200, majors = KK, batches = 3,
    epilogue = "x < 0 ? 0 : x + m", host_epilogue = function(x, m) return x < 0 and 0 or x + m end,
    why = "batches, an epilogue" },
  { types = F16, m = 260, n = 264, k = 72, majors = KK, tile = { 128, 256, 64 },
    why = "consumers that share a tile" },
  { types = F16_OUT, m = 390, n = 136, k = 328, majors = KK, cluster = { 2, 1 },
    why = "clusters" },
}
for _, case in ipairs(M.hopper) do case.arch, case.template = 90, "gemm_sm90.cu" end

-- For gemm_sm120.cu: each way to load, edges, more tiles than blocks, registers that move.
M.mma_by_tma = {
  { types = F16, m = 67, n = 36, k = 200, majors = KK, padding = 8, why = "edges, a whole ring" },
  { types = F16_OUT, m = 200, n = 104, k = 136, majors = { "row", "row", "column" }, padding = 8,
    why = "contiguous along m and n" },
  { types = F16, m = 130, n = 260, k = 72, majors = KK, tile = { 128, 256, 64 },
    warps = { 2, 4 }, why = "the largest tile" },
  { types = BF16_OUT, m = 20, n = 16, k = 72, majors = KK, batches = 300,
    why = "more tiles than blocks" },
  { types = F16, m = 72, n = 136, k = 40, majors = KK, batches = 2, layouts = {
      "(72,40,2):(40,1,2880)", "(136,40):(1,136)", "(72,136,2):(136,1,9792)" },
    why = "one B for all batches" },
  { types = F16, m = 136, n = 72, k = 64, majors = { "k", "k", "row" }, beta = 0.5, alpha = 2,
    scales = { 2, 0.25 }, why = "column-major C, which is read, and scales" },
  { types = BF16, m = 41, n = 75, k = 200, majors = { "k", "row", "column" }, padding = { 8, 5, 0 },
    epilogue = "x < 0 ? 0 : x + m", host_epilogue = function(x, m) return x < 0 and 0 or x + m end,
    bias = "column", why = "a bias and an epilogue" },
  { types = F16, m = 40, n = 24, k = 72, majors = KK, beta = 0, why = "C of no numbers, times 0" },
  { types = HALF, m = 40, n = 24, k = 8, majors = KK, tile = { 64, 64, 32 },
    why = "sums of f16, lines of 64 bytes" },
  { types = TF32, m = 41, n = 70, k = 36, majors = KK, why = "words" },
  { types = F16_S32, m = 20, n = 16, k = 24, majors = KK, alpha = 0.5, beta = 0.25,
    why = "sums of f32, rounded to s32" },
  { types = U8S8, m = 33, n = 48, k = 400, majors = KK, beta = 3, prepared = true, why = "bytes" },
  { types = F16, m = 100, n = 50, k = 72, majors = KK, tile = { 96, 48, 64 }, warps = { 2, 1 },
    why = "three atoms by six, two warps" },
}
for _, case in ipairs(M.mma_by_tma) do case.arch, case.template = 90, "gemm_sm120.cu" end

-- Whether a case is for a device of that compute capability; gemm_sm120.cu's are planned for it.
function M.is_for(case, capability)
  if case.template == "gemm_sm120.cu" then case.arch = math.max(capability, 90) end
  return capability >= (case.arch or 89) and (case.arch ~= 90 or capability == 90)
end

-- Those that need neither clusters nor kernels that copy: these are not emulated.
function M.emulated_hopper()
  local list = {}
  for _, case in ipairs(M.hopper) do
    if not case.cluster then list[#list + 1] = case end
  end
  return list
end

for _, case in ipairs(M.emulated) do
  if not (case.tile or case.dtype and case.m > 100) then table.insert(M.host, case) end
end

return M
