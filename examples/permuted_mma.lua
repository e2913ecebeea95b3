-- A TiledMMA whose N is permuted. A thread's accumulators of a 16x8 atom are pairs of neighbours:
-- 8 bytes of f32. With the columns of D dealt out to atoms in another order, a thread's pairs of
-- several atoms are neighbours in D, and it writes 16 bytes at once. Nothing else changes: B is
-- read in the same order, so each atom still multiplies what belongs together.
--
-- Usage: lutile permuted_mma.lua

require "lutile".using()

local NAME = "SM80_16x8x16_F32F16F16F32_TN"
local M, N, K = 16, 32, 16

-- Column n of the tile's domain is column permutation(n) of D: the atoms' threads (4 pairs of
-- columns) are 8 apart, and a thread's pairs of the four atoms side by side.
local permutation = parse "(2,4,4):(1,8,2)"

local plain = make_tiled_mma(NAME, make_layout { 1, 1, 1 }, { M, N, K })
local permuted = make_tiled_mma(NAME, make_layout { 1, 1, 1 }, { M, permutation, K })

-- ---- Who holds which columns -------------------------------------------------------------------

-- The columns of row 0 that a thread holds, in the order of its registers.
local function columns_of(mma, thread)
  local part = mma:get_slice(thread):partition_C(make_identity_layout { M, N })
  local columns = {}
  for i = 0, size(part) - 1 do
    local at = part(i)
    if at[0] == 0 then columns[#columns + 1] = ("%2d"):format(at[1]) end
  end
  return table.concat(columns, " ")
end

print("N as it is: columns of row 0, by thread")
for thread = 0, 3 do print(("  thread %d: %s"):format(thread, columns_of(plain, thread))) end
print(("\nN permuted by %s"):format(tostring(permutation)))
for thread = 0, 3 do print(("  thread %d: %s"):format(thread, columns_of(permuted, thread))) end

-- A thread's part with its values in the order of columns: pairs, atoms of N, then rows.
local function ordered(part)
  local l = layout(part)
  local in_order = make_layout(l[0][0], l[2], l[0][1], l[1])
  return is_layout(part) and in_order or make_tensor(part, in_order)
end

-- What a thread's accumulators and its part of D, whose rows are contiguous, have in common: values
-- that are neighbours in both.
local D_layout = make_layout({ M, N }, LayoutRight)
local function common_vector(mma)
  local part = ordered(mma:get_slice(0):partition_C(D_layout).layout)
  return max_common_vector(part, make_layout(size(part)))
end

local both = { { "plain", plain }, { "permuted", permuted } }

print "\nA thread's part of D, rows contiguous: (values, atoms in M, atoms in N)"
for _, case in ipairs(both) do
  local part = case[2]:get_slice(0):partition_C(D_layout)
  print(("  %-9s %s: runs of %d numbers"):format(case[1], tostring(part.layout),
    common_vector(case[2])))
end
assert(common_vector(plain) == 2 and common_vector(permuted) == 8)

print "\nThe tiler takes B's rows along: (thread, value) -> place in the tile (N, K)"
print(("  plain     %s"):format(tostring(plain:get_layoutB_TV())))
print(("  permuted  %s"):format(tostring(permuted:get_layoutB_TV())))

-- ---- The product is the same -------------------------------------------------------------------

local function random_matrix(rows)
  local t = make_tensor(f16, make_layout({ rows, K }, LayoutRight))
  transform(t, function() return math.random(-8, 8) / 8 end)
  return t
end
local A, B = random_matrix(M), random_matrix(N)

local function multiply(mma)
  local D = make_tensor(f32, D_layout)
  local counted = launch(function()
    local thr = mma:get_slice(threadIdx.x)
    local rA, rB = thr:partition_fragment_A(A), thr:partition_fragment_B(B)
    local rD = thr:partition_fragment_C(D)
    copy(thr:partition_A(A), rA)
    copy(thr:partition_B(B), rB)
    clear(rD)
    gemm(mma, rA, rB, rD)
    local in_order = make_tensor(f32, size(rD)) -- registers have no addresses: this costs nothing
    copy(ordered(rD), in_order)
    copy(in_order, ordered(thr:partition_C(D)))
  end, { block = size(mma) })
  return D, counted
end

local wanted = make_tensor(f64, D_layout)
gemm(convert(A, f64), convert(B, f64), wanted)
print "\nD = A * B^T by both:"
for _, case in ipairs(both) do
  local D, counted = multiply(case[2])
  for i = 0, M * N - 1 do assert(D(i) == wanted(i), "the product is wrong") end
  for _, access in ipairs(counted.accesses) do
    if access.access == "write" and access.space == "global" then
      print(("  %-9s right; D is written by %d requests of a warp"):format(case[1],
        access.requests))
    end
  end
end
