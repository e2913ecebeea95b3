-- Plans that a script changes before they run: changes that must do, with a product to check, and
-- changes that must be refused.

local lutile = require "lutile"

local make_layout, parse = lutile.make_layout, lutile.parse

local M = {}

local function warps(atom, layout, permutation)
  return lutile.make_tiled_mma(atom, make_layout(layout), permutation)
end

local F16 = "SM80_16x8x16_F32F16F16F32_TN"

-- ---- Products ----------------------------------------------------------------------------------

local function matrix(dtype, rows, columns, major)
  local stride = major == "row" and { 1, rows + -rows % 8 } or { columns + -columns % 8, 1 }
  return lutile.make_tensor(dtype, make_layout({ rows, columns }, stride))
end

local function fill(t)
  for i = 0, lutile.size(t) - 1 do t[i] = math.random(-4, 4) end
  return t
end

-- A plan of 70 x 90 x 72 with options, changed by a function; A, B and C.
function M.plan(case)
  local dtype, majors = case.dtype or "f16", case.majors or { "k", "k" }
  local stored = dtype == "tf32" and "f32" or dtype
  local A, B = fill(matrix(stored, 70, 72, majors[1])), fill(matrix(stored, 90, 72, majors[2]))
  local C = matrix(case.out or "f32", 70, 90, "k")
  local options = { A = A, B = B, C = C, dtype = dtype, tile = { 64, 64, 64 },
    arch = case.arch or 80, template = case.template }
  for k, v in pairs(case.options or {}) do options[k] = v end
  local p = lutile.plan.gemm(options)
  case.change(p)
  return p, A, B, C
end

-- Elements of the product that are wrong.
local function count_wrong(A, B, C)
  local wrong = 0
  for n = 0, 89 do
    for m = 0, 69 do
      local x = 0
      for k = 0, 71 do x = x + A(m, k) * B(n, k) end
      if C(m, n) ~= x then wrong = wrong + 1 end
    end
  end
  return wrong
end

-- "0 wrong", or what else came out; 'on' is where.
function M.run(case, on)
  local p, A, B, C = M.plan(case)
  for i = 0, lutile.size(C) - 1 do C[i] = -99 end
  p:run(A, B, C, { on = on })
  return ("%d wrong"):format(count_wrong(A, B, C))
end

-- ---- Chained products --------------------------------------------------------------------------

-- A plan of 100 x 64, changed; A, B and D.
function M.chained(case)
  local A, B = fill(matrix("f16", 100, 64, "k")), matrix("f16", 64, 64, "k")
  for i = 0, lutile.size(B) - 1 do B[i] = math.random(-1, 1) end
  local D = matrix("f32", 100, 64, "k")
  local p = lutile.plan.chained_gemm { A = A, B = B, D = D, arch = case.arch or 80 }
  case.change(p)
  return p, A, B, D
end

-- D = (A * B^T) * B^T in f64; sums of the first product are exact in f16.
local function chained_sums(A, B)
  local S = lutile.make_tensor("f64", make_layout { 100, 64 })
  local D = lutile.make_tensor("f64", make_layout { 100, 64 })
  for _, step in ipairs { { A, S }, { S, D } } do
    for n = 0, 63 do
      for m = 0, 99 do
        local x = 0
        for k = 0, 63 do x = x + step[1](m, k) * B(n, k) end
        step[2][{ m, n }] = x
      end
    end
  end
  return D
end

function M.run_chained(case, on)
  local p, A, B, D = M.chained(case)
  p:run(A, B, D, { on = on })
  local wanted, wrong = chained_sums(A, B), 0
  for i = 0, lutile.size(D) - 1 do if D(i) ~= wanted(i) then wrong = wrong + 1 end end
  return ("%d wrong"):format(wrong)
end

-- ---- Changes that do ---------------------------------------------------------------------------

local function shared(a, b)
  return function(p)
    p.A.shared = parse(a)
    p.B.shared = parse(b or a)
  end
end

M.good = {
  { why = "rows that are padded", change = shared "(64,64):(72,1)" },
  { why = "no swizzle at all", change = shared "(64,64):(64,1)" },
  { why = "one of two", change = shared("(64,64):(72,1)", "Sw<3,3,3> o 0 o (64,64):(64,1)") },
  { why = "halves of k apart", change = shared "(64,(32,2)):(40,(1,2560))" },
  { why = "rows in another order", change = shared "((8,8),64):((576,72),1)" },
  { why = "a swizzle of lines of 64 bytes",
    change = shared "Sw<2,3,3> o 0 o (64,(32,2)):(32,(1,2048))" },
  { why = "as a script writes a swizzle of MMAs",
    change = shared "Sw<3,4,3> o smem[16b] o (64,64):(64,1)" },
  { why = "along rows, padded", majors = { "row", "row" }, change = shared "(64,64):(1,72)" },
  { why = "bytes, padded", dtype = "s8", out = "s32", options = { tile = { 64, 64, 64 } },
    change = shared "(64,64):(80,1)" },
  { why = "bytes that are gathered", dtype = "s8", out = "s32", majors = { "row", "row" },
    change = shared "(64,64):(1,80)" },
  { why = "words, "
    .. "padded", dtype = "tf32", majors = { "row", "k" }, options = { tile = { 64, 64, 32 } },
    change = shared("(64,32):(1,72)", "(64,32):(36,1)") },
  { why = "more stages", change = function(p) p.stages = 5 end },
  { why = "fewer stages, other groups and more blocks", change = function(p)
    p.stages, p.group, p.blocks = 2, 3, 2
  end },
  { why = "warps above each other", change = function(p) p.mma = warps(F16, { 4, 1, 1 }) end },
  { why = "half the warps", change = function(p) p.mma = warps(F16, { 2, 1, 1 }) end },
  { why = "twice the warps", change = function(p) p.mma = warps(F16, { 2, 4, 1 }) end },
  { why = "warps numbered across", change = function(p)
    p.mma = lutile.make_tiled_mma(F16, make_layout({ 2, 2, 1 }, { 2, 1, 0 }))
  end },
  { why = "atoms of a warp beside each other", change = function(p)
    p.mma = warps(F16, { 2, 2, 1 }, { 32, 32, 16 })
  end },
  { why = "copies of 4 bytes", change = function(p)
    p.A.copy = parse "((32,4),(2,(16,1))):((128,1),(64,(4,4096)))"
  end },
  { why = "copies down the rows first", change = function(p)
    p.A.copy = parse "((64,2),(8,4)):((1,512),(64,1024))"
  end },
  { why = "copies by half the threads", change = function(p)
    p.B.copy = parse "((8,8),(8,8)):((512,1),(64,8))"
  end },
  { why = "through registers", arch = 75, options = { tile = { 64, 64, 32 } },
    change = shared "(64,32):(40,1)" },
  { why = "stages of TMA", arch = 90, template = "gemm_sm120.cu", change = function(p)
    p.stages = 2
  end },
  { why = "warps of TMA", arch = 90, template = "gemm_sm120.cu", change = function(p)
    p.mma = warps(F16, { 4, 2, 1 })
    p.stages = 5
  end },
  { why = "stages of wgmma", arch = 90, template = "gemm_sm90.cu", change = function(p)
    p.stages, p.group = 3, 2
  end },
}

M.good_chained = {
  { why = "chained, rows that are padded", change = function(p)
    p.A.shared = make_layout({ p.A.rows, p.A.k }, { 40, 1 })
    p.B.shared = make_layout({ p.B.rows, p.B.k }, { 40, 1 })
  end },
  { why = "chained, no swizzle, more stages", change = function(p)
    p.A.shared, p.stages = make_layout({ p.A.rows, p.A.k }, { p.A.k, 1 }), 5
  end },
  { why = "chained, copies of 4 bytes", change = function(p)
    p.B.copy = parse "((16,8),(2,(8,1))):((128,1),(64,(8,2048)))"
  end },
  { why = "chained, copies of an element", change = function(p)
    p.A.copy = make_layout({ { 32, 4 }, { 1, { 16, 1 } } }, { { 64, 1 }, { 64, { 4, 2048 } } })
  end },
}

-- ---- Changes that are refused ------------------------------------------------------------------

local function set(path, x)
  return function(p)
    local part, field = path:match "^(%a)%.(.*)$"
    if part then p[part][field] = x else p[path] = x end
  end
end

local CHANGEABLE = "%(A.copy, A.shared, B.copy, B.shared, blocks, group, mma, stages are what "
    .. "may be "
  .. "changed; plan:with{...} changes options%)"

M.bad = {
  { set("A.shared", parse "(64,64):(66,1)"), "^A.shared is %(64,64%):%(66,1%): the 8 elements "
    .. "that a "
    .. "copy moves from %(1,0%) on do not lie side by side at a multiple of 16 bytes" },
  { set("B.shared", parse "(64,64):(1,64)"), "^B.shared is .*: the 8 elements that a copy "
    .. "moves from "
    .. "%(0,0%) on" },
  { set("A.shared", parse "(64,64):(0,1)"), "^A.shared is %(64,64%):%(0,1%): %(0,0%) and "
    .. "%(1,0%) are in "
    .. "one place, and each needs its own" },
  { set("A.shared", parse "(64,64):(-64,1)"), "^A.shared is .*: offset %-64 of %(1,0%), before the "
    .. "tile's start" },
  { set("A.shared", make_layout({ 64, 64 }, { lutile.dyn(64), 1 })),
    "^A.shared is %(64,64%):%(%?64,1%): a kernel is compiled for it" },
  { set("A.shared", lutile.make_identity_layout { 64, 64 }), "^A.shared is .*strides be integers" },
  { set("A.shared", parse "(64,32):(64,1)"), "^A.shared is .*, where a tile of two modes "
    .. "%(64,64%) is "
    .. "needed" },
  { set("A.shared", parse "4096:1"), "where a tile of two modes %(64,64%) is needed" },
  { set("A.shared", 12), "^A.shared is 12, where a layout is needed" },
  { set("A.shared", nil), "^A.shared is nil, where a layout is needed" },
  { set("A.shared", parse "Sw<3,4,3> o smem[8b] o (64,64):(64,1)"), "where elements have 16 bits" },
  { set("A.shared", parse "Sw<3,3,3> o 8 o (64,64):(64,1)"), "where a layout or a swizzle of "
    .. "one is "
    .. "needed: Sw<B,M,S> o 0 o shape:stride" },
  { set("A.shared", parse "Sw<3,4,3> o 0 o (64,64):(64,1)"), "^A.shared is .*: its swizzle "
    .. "reaches over "
    .. "256 bytes, and stages start at multiples of 128" },
  { set("A.shared", parse "Sw<3,0,3> o 0 o (64,64):(64,1)"), "^A.shared is .*do not lie side "
    .. "by side" },
  { set("A.shared", parse "Sw<3,3,3> o 0 o (64,64):(72,1)"), "^A.shared is .*as a sum of parts" },
  { set("A.shared", parse "(64,64):(2000,1)"), "^A.shared is %(64,64%):%(2000,1%): 3 stages "
    .. "of A and B "
    .. "have 781056 bytes of shared memory, where a block of compute capability 8.0 has 166912" },
  { set("A.copy", parse "((8,16),(8,(2,1))):((512,1),(64,(16,4096)))"),
    "^A.copy is .*: 2048 elements, where a tile %(64,64%) has 4096" },
  { set("A.copy", parse "((8,16),(8,(4,1))):((512,1),(64,(8,4096)))"), "^A.copy is .* is "
    .. "copied twice" },
  { set("A.copy", parse "((8,16),(8,(4,1))):((512,1),(64,(17,4096)))"),
    "^A.copy is .*outside of the tile %(64,64%)" },
  { set("A.copy", parse "((8,16),(16,(2,1))):((512,1),(64,(16,4096)))"),
    "^A.copy is .*: vectors of 16 elements, where powers of two up to 8 there are" },
  { set("A.copy", parse "((8,16),(8,(4,1))):((8,64),(1,(1024,4096)))"),
    "^A.copy is .*: element 1 of a vector is at %(1,0%) from the first, where vectors lie "
    .. "along k" },
  { set("A.copy", parse "((8,32),(8,(2,1))):((512,1),(64,(32,4096)))"),
    "^A.copy is .*: 256 threads, where a block has 128 that copy" },
  { set("A.copy", parse "(128,32):(32,1)"), "^A.copy is .*, where a layout %(thread, %(vector, "
    .. "copies%)%) is needed" },
  { set("A.copy", "all"), '^A.copy is "all", where a layout is needed' },
  { set("mma", 4), "^mma is 4, where a tiled MMA is needed" },
  { set("mma", lutile.MMA_Atom(F16)), "^mma is .*, where a tiled MMA is needed" },
  { set("mma", warps("SM80_16x8x8_F32F16F16F32_TN", { 2, 2, 1 })),
    "^mma is .*, and the plan is of atoms SM80_16x8x16_F32F16F16F32_TN" },
  { set("mma", warps(F16, { 2, 1, 2 })), "^mma is .*: atoms side by side in K" },
  { set("mma", warps(F16, { 8, 1, 1 })), "^mma is .*: M of the tile is 64: a multiple of 128 "
    .. "is needed" },
  { set("stages", 1), "^stages is 1, and 2 are needed at least: one is read while" },
  { set("stages", "2"), '^stages is "2", where a positive integer is needed' },
  { set("stages", 11), "^stages is 11: 11 stages of A and B have 180224 bytes of shared memory" },
  { set("blocks", 9), "^blocks is 9: blocks: 9 of 49152 bytes of shared memory each" },
  { set("group", 0), "^group is 0, where a positive integer is needed" },
  { set("threads", 64), "^threads is 64, and follows from the rest of the plan as 128 "
    .. "" .. CHANGEABLE },
  { set("shared_bytes", 1), "^shared_bytes is 1, and follows from the rest of the plan as 49152 " },
  { set("A.stage_bytes", 9216), "^A.stage_bytes is 9216, and follows from the rest of the "
    .. "plan as 8192" },
  { set("A.vector", 4), "^A.vector is 4, and follows from the rest of the plan as 8" },
  { set("A", 7), "^A is 7, where one of the plan's matrices is needed" },
  { set("tile", { 64, 64, 32 }), "^tile is {64, 64, 32}, and the plan was made for {64, 64, "
    .. "64}: other "
    .. "layouts and numbers follow from it %(plan:with{tile = {64, 64, 32}} plans anew%)" },
  { function(p) p.tile[2] = 128 end, "^tile is {64, 128, 64}, and the plan was made for" },
  { set("warps", { 4, 1 }), "plan:with{warps = {4, 1}} plans anew" },
  { set("arch", 90), "plan:with{arch = 90} plans anew" },
  { set("stage", 4), "^stage is 4, and a plan for gemm_sm80.cu has no such field %(did you mean "
    .. "'stages'%? A.copy, A.shared, B.copy, B.shared, blocks, group, mma, stages are what" },
  { set("A.shard", 4), "^A.shard is 4, and .* %(did you mean 'A.shared'%? " },
  { set("A.shared", { 64, 64 }), "^A.shared is {64, 64}, where a layout is needed" },
  { set("bias", "row"), '^bias is "row", and the plan was made without %(plan:with{bias = "row"}' },
  { set("A.shared", parse "(64,64):(64,1)"), "^A.shared is %(64,64%):%(64,1%), and TMA's "
    .. "boxes make it "
    .. "Sw<3,3,3> o 0 o %(%(8,8%),%(64,1%)%):%(%(64,512%),%(1,0%)%): another tile has others",
    template = "gemm_sm120.cu" },
  { set("B.shared", parse "(64,64):(72,1)"), "^B.shared is .*, and TMA's boxes make it",
    template = "gemm_sm90.cu" },
  { set("stages", 40), "^stages is 40: 40 stages of A and B have", template = "gemm_sm120.cu" },
  { set("stages", 40), "^stages is 40: 40 stages need %d+ bytes of shared memory",
    template = "gemm_sm90.cu" },
  { set("stages", 1), "^stages is 1, where one is loaded while another is multiplied",
    template = "gemm_sm90.cu" },
  { set("A.copy", parse "((8,16),(8,4)):((512,1),(64,16))"), "^A.copy is .*, and a plan for "
    .. "gemm_sm120.cu has no such field %(blocks, group, mma, stages are",
    template = "gemm_sm120.cu" },
  { set("mma", warps(F16, { 4, 1, 1 })), "^mma is .*, and follows from the rest of the plan as",
    template = "gemm_sm90.cu" },
  { set("D.shared", parse "(64,32):(32,1)"), "^D.shared is .*, and follows from "
    .. "the rest of "
    .. "the plan as", template = "gemm_sm90.cu" },
  { set("splits", 2), "plan:with{splits = 2} plans anew", template = "gemm_sm90.cu" },
}

M.bad_chained = {
  { set("A.shared", parse "(64,32):(33,1)"), "^A.shared is .*: the 8 elements that a copy moves" },
  { set("B.shared", parse "(64,32):(0,1)"), "^B.shared is .*are in one place" },
  { set("A.copy", parse "((4,16),(8,2)):((512,1),(64,16))"), "^A.copy is .*: 1024 elements, where "
    .. "a tile %(64,32%) has 2048" },
  { set("stages", 400), "^stages is 400: 400 stages of A and B have" },
  { set("mma", warps(F16, { 2, 1, 1 })), "^mma is .*, and follows from the rest of the plan as" },
  { set("warps", 2), "plan:with{warps = 2} plans anew" },
  { set("A.stage_bytes", 12), "^A.stage_bytes is 12, and follows from the rest of the plan as " },
}

for _, list in ipairs { M.bad, M.bad_chained } do
  for _, case in ipairs(list) do
    case.change, case.message = case[1], case[2]
    case.arch = case.template and 90 or 80
  end
end

-- ---- Random layouts ----------------------------------------------------------------------------

-- Modes of an extent, in parts that are powers of two.
local function split(extent)
  local parts = {}
  while extent > 1 do
    local part = math.min(extent, 1 << math.random(1, 6))
    parts[#parts + 1], extent = part, extent // part
  end
  return parts
end

-- A layout of a tile (64,k): the modes of both in any order, some with gaps behind, in some cases
-- swizzled. Most rows stay whole.
function M.random_layout(k)
  local modes = { { mode = 2, n = math.random(4) > 1 and k or 8 } }
  for _, n in ipairs(split(k // modes[1].n)) do modes[#modes + 1] = { mode = 2, n = n } end
  for _, n in ipairs(split(64)) do
    table.insert(modes, math.random(math.random(4) > 1 and 2 or 1, #modes + 1), { mode = 1, n = n })
  end
  local stride, shape, strides = 1, { {}, {} }, { {}, {} }
  for _, m in ipairs(modes) do
    table.insert(shape[m.mode], m.n)
    table.insert(strides[m.mode], stride)
    stride = stride * m.n
    if math.random(3) == 1 then stride = stride + 8 * math.random(0, 2) end
    if math.random(27) == 1 then stride = stride + 4 end
  end
  local layout = make_layout(shape, strides)
  if math.random(3) > 1 then return layout end
  local bits = math.random(1, 3)
  return lutile.composition(lutile.Swizzle(bits, math.random(2, 3), math.random(bits, 4)), layout)
end

return M
