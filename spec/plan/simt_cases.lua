-- Products by multiply-adds that specs check: all element types, on the host executor, on the
-- emulator and on a device.

local lutile = require "lutile"
local cases = require "spec.plan.cases"

local make_layout, make_tensor, size = lutile.make_layout, lutile.make_tensor, lutile.size

local M = {}

local KK, RR = { "k", "k", "column" }, { "row", "row", "column" }

-- Each type as A, as B or as C; each feature of a plan.
M.list = {
  { types = { "f32", "f32", "f32", "f32" }, m = 67, n = 37, k = 35, majors = KK,
    why = "f32, odd sizes" },
  { types = { "f32", "f32", "f32", "f32" }, m = 67, n = 37, k = 35, majors = RR, padding = 3,
    beta = 0.5, alpha = 2, why = "C is read" },
  { types = { "f32", "f32", "f32", "f16" }, m = 33, n = 70, k = 19,
    majors = { "k", "row", "row" }, bias = "row", batches = 3, why = "C along M, a bias, batches" },
  { types = { "f32", "f32", "f64", "f32" }, m = 9, n = 7, k = 40, majors = KK,
    why = "sums of f64" },
  { types = { "f64", "f32", "f64", "f64" }, m = 20, n = 33, k = 18, majors = KK, bias = "column",
    alpha = 0.5, why = "a wider type" },
  { types = { "f16", "bf16", "f32", "bf16" }, m = 40, n = 35, k = 33, majors = KK,
    epilogue = "x < 0 ? 0 : x + m", host_epilogue = function(x, m) return x < 0 and 0 or x + m end,
    why = "an epilogue" },
  { types = { "bf16", "f16", "f32", "f32" }, m = 33, n = 40, k = 20,
    majors = { "k", "k", "row" }, epilogue = "x + 2 * m - n",
    host_epilogue = function(x, m, n) return x + 2 * m - n end, why = "m and n of C^T" },
  { types = { "f16", "f32", "f32", "f32" }, m = 17, n = 16, k = 64, majors = RR,
    scales = { 0.5, 4 }, alpha = 3, why = "scales" },
  { types = { "f16", "f16", "f32", "f16" }, m = 33, n = 20, k = 20, majors = KK,
    template = "simt_gemm.cu", why = "asked for" },
  { types = { "tf32", "tf32", "f32", "f32" }, m = 33, n = 20, k = 20, majors = KK,
    template = "simt_gemm.cu", why = "asked for" },
  { types = { "e4m3", "e5m2", "f32", "e4m3" }, m = 30, n = 31, k = 17, majors = RR,
    why = "before 8.9" },
  { types = { "e2m1", "e3m2", "f32", "e2m3" }, m = 21, n = 13, k = 15, majors = KK,
    why = "less than a byte" },
  { types = { "e2m3", "e2m1", "f32", "e3m2" }, m = 13, n = 21, k = 15, majors = RR, padding = 5,
    beta = 1, why = "less than a byte, C is read" },
  { types = { "ue8m0", "ue4m3", "f32", "f32" }, m = 20, n = 15, k = 9, majors = KK,
    why = "no signs" },
  { types = { "f32", "e4m3", "f32", "ue4m3" }, m = 12, n = 15, k = 9, majors = KK,
    why = "results without a sign" },
  { types = { "f16", "f16", "f32", "ue8m0" }, m = 12, n = 15, k = 9, majors = KK,
    why = "results that are powers of 2" },
  { types = { "f16", "f16", "f32", "tf32" }, m = 12, n = 15, k = 9, majors = KK,
    why = "results of tf32" },
  { types = { "s16", "s16", "s32", "s32" }, m = 35, n = 33, k = 40, majors = KK, alpha = -3,
    beta = 2, prepared = true, why = "integers" },
  { types = { "s32", "s32", "s32", "s16" }, m = 10, n = 40, k = 5, majors = KK,
    why = "saturation" },
  { types = { "s4", "u4", "s32", "s4" }, m = 19, n = 11, k = 13, majors = RR, alpha = 0.125,
    why = "results of half a byte" },
  { types = { "u4", "s8", "s32", "u4" }, m = 19, n = 11, k = 13, majors = KK, padding = 1,
    alpha = 0.125, beta = 1, why = "results without a sign" },
  { types = { "b1", "u8", "s32", "b1" }, m = 19, n = 11, k = 5, majors = KK,
    why = "single bits" },
  { types = { "s16", "f32", "f32", "s8" }, m = 19, n = 11, k = 13, majors = KK,
    why = "integers times floats" },
  { types = { "f32", "f32", "f32", "f32" }, m = 130, n = 140, k = 20, majors = KK,
    tile = { 128, 128, 8 }, why = "the largest tile" },
  { types = { "f32", "f32", "f32", "f32" }, m = 40, n = 70, k = 70,
    majors = { "row", "k", "column" }, tile = { 16, 64, 32 }, why = "a narrow tile" },
  { types = { "f32", "f32", "f32", "f32" }, m = 24, n = 20, k = 16, majors = KK,
    layouts = { "((4,6),(2,8),1):((16,128),(1,2),0)", "((2,10),16,1):((1,64),2,0)",
      "((4,6),20,1):((1,96),4,0)" }, why = "contraction" },
  { types = { "s16", "s16", "s32", "s32" }, m = 24, n = 20, k = 16, majors = KK, batches = 2,
    layouts = { "(24,16,2):(40,2,1000)", "(20,16):(33,2)", "(24,20,2):(50,2,1300)" },
    why = "no contiguous mode, one B for all batches" },
  { types = { "f32", "f32", "f32", "f32" }, m = 5, n = 6, k = 0, majors = KK, beta = 2,
    why = "sums of nothing" },
}

-- ---- Complex numbers ---------------------------------------------------------------------------

local function product(x, y) return { x[1] * y[1] - x[2] * y[2], x[1] * y[2] + x[2] * y[1] } end

local function number(t, ...)
  local re, im = t(...)
  return { re, im or 0 }
end

local function fill(t, from)
  for i = 0, size(t) - 1 do
    local x = (i * 7 + from) % 11 - 5
    t[i] = t.dtype == "c64" and { x, (i * 3 + from) % 5 - 2 } or x
  end
  return t
end

-- alpha * the element of A * B^T + beta * the one of C
local function expected(A, B, C, m, n, alpha, beta)
  local old = number(C, m, n)
  local re, im = beta * old[1], beta * old[2]
  for k = 0, size(A, 1) - 1 do
    local x = product(number(A, m, k), number(B, n, k))
    re, im = re + alpha * x[1], im + alpha * x[2]
  end
  return re, im
end

-- D and what each of its elements should be: how many are something else.
local function count_wrong(D, wanted)
  local wrong = 0
  for m = 0, size(D, 0) - 1 do
    for n = 0, size(D, 1) - 1 do
      local re, im = D(m, n)
      local x, y = wanted(m, n)
      if re ~= x or im ~= y then wrong = wrong + 1 end
    end
  end
  return wrong == 0 and "right" or wrong .. " wrong"
end

local function run_complex(dtype_b, options, change)
  return function(there, back)
    local A = fill(make_tensor("c64", make_layout({ 35, 9 }, { 9, 1 })), 1)
    local B = fill(make_tensor(dtype_b, make_layout({ 20, 9 }, { 1, 20 })), 2)
    local C = fill(make_tensor("c64", make_layout({ 35, 20 }, options.stride)), 3)
    local bias = fill(make_tensor("c64", 20), 4)
    local D = there(make_tensor("c64", C.layout))
    local p = lutile.plan.gemm { A = A, B = B, C = C, beta = true, arch = 75,
      bias = "column", epilogue = options.epilogue, host_epilogue = options.host_epilogue }
    p:run(there(A), there(B), there(C), { D = D, alpha = 0.5, beta = 2,
      bias = there(bias) })
    return count_wrong(back(D), function(m, n)
      local re, im = expected(A, B, C, m, n, 0.5, 2)
      local more = number(bias, n)
      return change(m, re + more[1], im + more[2])
    end)
  end
end

-- ---- All ---------------------------------------------------------------------------------------

local function as_it_is(_, re, im) return re, im end

local TURN = { stride = { 1, 35 }, epilogue = "Value{-x.im, x.re + m}",
  host_epilogue = function(x, m) return { -x[2], x[1] + m } end }

-- f32 of 13 more bits than tf32 has, at a half between two.
local function run_rounding(there, back)
  local A, B = make_tensor("f32", make_layout { 3, 1 }), make_tensor("f32", make_layout { 2, 1 })
  A[0], A[1], A[2] = 1 + 2 ^ -11, 1 + 2 ^ -11 + 2 ^ -20, 1 + 3 * 2 ^ -11
  B[0], B[1] = 1, -2
  local p = lutile.plan.gemm { A = A, B = B, M = 3, N = 2, dtype = "tf32", arch = 75,
    template = "simt_gemm.cu" }
  local D = there(make_tensor("f32", make_layout { 3, 2 }))
  p:run(there(A), there(B), D)
  D = back(D)
  local wanted = { [0] = 1, 1 + 2 ^ -10, 1 + 2 ^ -9 }
  for i = 0, 2 do
    if D(i, 0) ~= wanted[i] or D(i, 1) ~= -2 * wanted[i] then return ("%.9g"):format(D(i, 0)) end
  end
  return "right"
end

-- Numbers of which sums are exact, and the product of A and the transpose of B.
local function matrix(dtype, m, n, from)
  return fill(make_tensor(dtype, make_layout { m, n }), from)
end

local function is_product(A, B)
  return function(m, n)
    local sum = 0
    for k = 0, size(A, 1) - 1 do sum = sum + A(m, k) * B(n, k) end
    return sum
  end
end

-- Layouts of shared memory and of copies that a script has replaced.
local function run_replaced(there, back)
  local A, B = matrix("f32", 40, 20, 1), matrix("f32", 33, 20, 2)
  local p = lutile.plan.gemm { A = A, B = B, M = 40, N = 33, arch = 75, tile = { 32, 32, 16 } }
  p.A.shared = make_layout({ 32, { 4, 4 } }, { 40, { 9, 2 } })
  p.B.copy = make_layout({ 64, 8 }, { 8, 1 })
  local D = there(make_tensor("f32", make_layout { 40, 33 }))
  p:run(there(A), there(B), D)
  return count_wrong(back(D), is_product(A, B))
end

-- Other matrices than the plan's, which has vectors of four along K: a name, and A's extents,
-- strides and first element.
local OTHERS = {
  { "ends within vectors", { 37, 19 }, { 20, 1 }, 0 },
  { "rows where no vector starts", { 37, 20 }, { 21, 1 }, 0 },
  { "no vector starts at the first element", { 37, 20 }, { 20, 1 }, 2 },
  { "contiguous along M", { 40, 20 }, { 1, 40 }, 0 },
  { "no contiguous mode", { 37, 20 }, { 60, 2 }, 0 },
}

local function run_other(extents, stride, first)
  return function(there, back)
    local p = lutile.plan.gemm { M = 64, N = 64, K = 64, dtype = "f32", arch = 75 }
    local _ = lutile._
    local whole = make_tensor("f32", make_layout({ extents[1], extents[2], 2 },
      { stride[1], stride[2], first }))
    local A, B = fill(whole, 1)(_, _, 1), matrix("f32", 33, extents[2], 2)
    local D = there(make_tensor("f32", make_layout { extents[1], 33 }))
    p:run(there(whole)(_, _, 1), there(B), D)
    return count_wrong(back(D), is_product(A, B))
  end
end

-- Products of different sizes, by a plan of a list.
local function run_list(there, back)
  local groups, moved = {}, {}
  for i = 1, 2 do
    groups[i] = { A = matrix("s16", 20 * i, 9, i), B = matrix("s16", 7 + i, 9, i),
      C = make_tensor("s32", make_layout { 20 * i, 7 + i }) }
    moved[i] = { A = there(groups[i].A), B = there(groups[i].B), C = there(groups[i].C) }
  end
  lutile.plan.grouped_gemm { groups = groups, arch = 75 }:run(moved)
  for i, g in ipairs(groups) do
    local result = count_wrong(back(moved[i].C), is_product(g.A, g.B))
    if result ~= "right" then return result end
  end
  return "right"
end

-- { name, f(there, back) -> "right", or what is wrong }
M.all = {
  { "c64 x c64", run_complex("c64", { stride = { 20, 1 } }, as_it_is) },
  { "c64 x f32", run_complex("f32", { stride = { 20, 1 } }, as_it_is) },
  { "c64, an epilogue of C^T", run_complex("c64", TURN, function(m, re, im)
    return -im, re + m
  end) },
  { "f32 rounded to tf32", run_rounding },
  { "f32, replaced layouts", run_replaced },
  { "a list of s16", run_list },
}
for _, case in ipairs(OTHERS) do
  table.insert(M.all, { "a plan's vectors: " .. case[1], run_other(table.unpack(case, 2)) })
end
for _, case in ipairs(M.list) do
  case.arch = 75
  local function run(there, back) return cases.run(case, there, back) end
  table.insert(M.all, { cases.name(case), run })
end

return M
