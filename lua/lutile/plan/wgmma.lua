-- Warpgroup MMAs of compute capability 9.0: which atom multiplies which types, and the instruction
-- as a C++ function.

local sums = require "lutile.plan.sums"

local M = {}

local SUMS = { f16 = { f32 = true, f16 = true }, bf16 = { f32 = true }, tf32 = { f32 = true },
  e4m3 = { f32 = true }, e5m2 = { f32 = true }, s8 = { s32 = true }, u8 = { s32 = true } }
local DEFAULT_SUM = { s8 = "s32", u8 = "s32" }
local K = { [1] = 32, [2] = 16, [4] = 8 }

M.BYTES = { f16 = 2, bf16 = 2, tf32 = 4, e4m3 = 1, e5m2 = 1, s8 = 1, u8 = 1 }

local function fail(message, ...) error(message:format(...), 0) end

-- Types that an MMA takes together: equal ones, two of fp8, two of bytes.
local function go_together(a, b)
  local function family(t) return t:match "^e" and "e" or t:match "^[su]" and "s" or t end
  return family(a) == family(b)
end

-- The type of the sums of products a * b; 'acc', if it is one that there is.
function M.sum_type(a, b, acc)
  if not SUMS[a] then
    fail("products of %s: f16, bf16, tf32, e4m3, e5m2, s8 and u8 there are", tostring(a))
  end
  if not SUMS[b] or not go_together(a, b) then
    fail("products of %s and %s: no MMA has them", a, tostring(b))
  end
  acc = acc or DEFAULT_SUM[a] or "f32"
  if not SUMS[a][acc] then fail("sums of %s products are not %s", a, tostring(acc)) end
  return acc
end

-- Whether operands may be contiguous along their rows: those of 16 bits alone.
function M.takes_rows(dtype) return M.BYTES[dtype] == 2 end

function M.atom(p)
  local a, b = p.dtype, p.dtype_b
  return ("SM90_64x%dx%d_%s%s%s_SS%s"):format(p.tile[2], K[M.BYTES[a]], p.acc:upper(), a:upper(),
    b:upper(), M.takes_rows(a) and "" or "_TN")
end

-- ---- As C++ ------------------------------------------------------------------------------------

local REGISTER = { f32 = "float", s32 = "int", f16 = "unsigned" }

-- The C++ type of a register of sums, how many an atom of n columns has, and sums of one.
function M.registers(p)
  local values = p.acc == "f16" and 2 or 1
  return REGISTER[p.acc], 64 * p.tile[2] // 128 // values, values
end

-- What stands behind the predicate: signs of the operands, and how those of 16 bits lie.
local function modifiers(p)
  if p.acc == "s32" then return "" end
  if not M.takes_rows(p.dtype) then return ", 1, 1" end
  return (", 1, 1, %d, %d"):format(p.A.major == "MN" and 1 or 0, p.B.major == "MN" and 1 or 0)
end

local MMA = [[
/*
** The sums of an atom of the warpgroup: a * b^T, plus what they are where 'adds'; by their
** descriptors' lower words, a is (64, %d), b (%d, %d).
*/
DEVICE void mma(int atom, unsigned a, unsigned b, bool adds) {
%s
}]]

local ONE = [[
  %sasm volatile(
      "{ .reg .pred adds; .reg .b64 a, b; setp.ne.b32 adds, %%4, 0; "
      "mov.b64 a, {%%0, %%2}; mov.b64 b, {%%1, %%3}; "
      "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {"
%s
      "}, a, b, adds%s; }" ::"r"(a), "r"(b),
      "n"(A::kDescriptorHigh), "n"(B::kDescriptorHigh), "r"((int)adds));]]

-- 'name' is that of the registers of sums.
function M.source(p, name)
  local _, count = M.registers(p)
  local k, n = K[M.BYTES[p.dtype]], p.tile[2]
  local atoms = {}
  for i = 0, p.atoms - 1 do
    local condition = p.atoms > 1 and ("if (atom == %d)\n    "):format(i) or ""
    atoms[i + 1] = ONE:format(condition, n, k, p.acc, p.dtype, p.dtype_b,
      sums.names(name, i * count, count, "      "), modifiers(p))
  end
  return MMA:format(k, n, k, table.concat(atoms, "\n"):gsub(" +\n", "\n"))
end

return M
