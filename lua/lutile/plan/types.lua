-- The types of a product: of operands, sums and results, and what results are computed in; and why
-- no tensor-core template takes them.

local matrix = require "lutile.plan.matrix"
local problem = require "lutile.plan.problem"
local try = require "lutile.plan.attempt"

local M = {}

local function fail(message, ...) error(message:format(...), 0) end

-- ---- What there is -----------------------------------------------------------------------------

-- Sums of products, where they are not of f32; of two types, those of the later one in ORDER.
local SUMS = { f64 = "f64", c64 = "c64", s32 = "s32", s16 = "s32", s8 = "s32", u8 = "s32",
  s4 = "s32", u4 = "s32", b1 = "s32" }
local ORDER = { s32 = 1, f32 = 2, f64 = 3, c64 = 4 }

-- The type of sums of products a * b, where a script does not say.
function M.usual_sums(a, b)
  local x, y = SUMS[a] or "f32", SUMS[b] or "f32"
  return ORDER[x] < ORDER[y] and y or x
end

local function names()
  local list = {}
  for name in pairs(matrix.BITS) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, ", ")
end

local function check_known(what, dtype)
  if not matrix.BITS[dtype] then
    fail("%s cannot be %s: %s there are", what, tostring(dtype), names())
  end
end

local function check_sums(p)
  local usual = M.usual_sums(p.dtype, p.dtype_b)
  p.acc = p.acc or usual
  local is_half = p.acc == "f16" and p.dtype == "f16" and p.dtype_b == "f16"
  local is_wide = p.acc == "f64" and usual ~= "c64"
  if p.acc ~= usual and not is_half and not is_wide then
    fail("sums of %s products are %s, not %s", p.dtype == p.dtype_b and p.dtype
      or p.dtype .. " x " .. p.dtype_b, usual, tostring(p.acc))
  end
end

local function check_result(p)
  check_known("C", p.out)
  if (p.out == "c64") ~= (p.acc == "c64") then
    fail("C of %s cannot be where sums are of %s", p.out, p.acc)
  end
end

-- ---- Tensor cores ------------------------------------------------------------------------------

-- Raises what speaks against tensor cores.
local function check_tensor_cores(p)
  problem.check_tensor_cores(p.arch)
  problem.check_types(p.dtype, p.dtype_b, p.arch)
  for _, name in ipairs { "A", "B" } do
    if p.stored[name] == "tf32" then
      fail("%s has elements of tf32, where tensor-core templates take f32 and round it", name)
    end
  end
  if p.acc == "f64" and p.dtype ~= "f64" then
    fail("sums of %s products on tensor cores are not f64", p.dtype)
  end
  problem.check_element("C", p.out, p.arch)
  return true
end

-- ---- All ---------------------------------------------------------------------------------------

local COMPUTE = { f64 = "double", s32 = "int" }

-- What alpha and beta are of, and what results are computed in before they are rounded.
local function compute_type(p)
  if p.acc == "c64" or p.acc == "f64" and p.no_tensor_cores then return "double" end
  return (p.out ~= "s32" or p.acc == "s32") and COMPUTE[p.out] or "float"
end

local function type_of(options, name, default)
  return matrix.is_tensor(options[name]) and options[name].dtype or default
end

-- The type in memory of an operand: tf32 is f32, rounded, but where a tensor has it already.
local function stored(options, name, dtype)
  return dtype == "tf32" and type_of(options, name) ~= "tf32" and "f32" or dtype
end

local function check_scales(p, options)
  if not options.scales or p.compute == "float" then return end
  local result = p.out == "c64" and "a complex C" or "C of " .. p.out
  if p.acc == "f64" and p.out ~= "f64" then result = result .. " from sums of f64 (acc)" end
  fail("scales are for results that are computed in f32, and %s is not", result)
end

-- Enters into p, which has arch: dtype, dtype_b, acc, out, stored, compute, rounds, and, where
-- tensor cores cannot, no_tensor_cores: why.
function M.choose(p, options)
  local dtype = options.dtype or type_of(options, "A")
  if not dtype then fail("dtype is missing (A is no tensor that would have one)") end
  p.dtype, p.dtype_b = dtype, options.dtype_b or options.dtype or type_of(options, "B", dtype)
  check_known("dtype", p.dtype)
  check_known("dtype_b", p.dtype_b)
  p.stored = { A = stored(options, "A", p.dtype), B = stored(options, "B", p.dtype_b) }
  p.acc = options.acc
  check_sums(p)
  p.out = options.out or type_of(options, "C", p.acc)
  check_result(p)
  local _
  _, p.no_tensor_cores = try(check_tensor_cores, p)
  p.compute, p.rounds = compute_type(p), dtype == "tf32"
  check_scales(p, options)
end

return M
