-- From what a script says of a product to what a plan is made from: types, majors and vectors from
-- the layouts of the matrices, and what the architecture has.

local lutile = require "lutile"
local matrix = require "lutile.plan.matrix"
local no_option = require "lutile.options"
local number_of_arch = require "lutile.arch"

local M = {}

local function fail(message, ...)
  error(message:format(...), 0)
end

-- ---- Options -----------------------------------------------------------------------------------

local LONGEST = 200 -- letters of an option's text, which messages repeat

function M.check_options(options, known)
  if type(options) ~= "table" then fail("a table expected, got %s", type(options)) end
  for name, x in pairs(options) do
    if not known[name] then error(no_option(name, known), 0) end
    if type(x) == "string" and #x > LONGEST and name ~= "epilogue" then
      fail("%s is a text of %d letters", name, #x)
    end
  end
end

local function device()
  local ok, cuda = pcall(require, "lutile.cuda")
  return ok and cuda.available() and cuda.device(0) or nil
end

-- Of a T4, an A100 and an H100.
local MULTIPROCESSORS = { [75] = 40, [80] = 108, [90] = 132 }

-- Refuses a compute capability without tensor cores.
function M.check_tensor_cores(arch)
  if arch < 75 then
    fail("tensor-core kernels need compute capability 7.5, and arch is %d.%d", arch // 10,
      arch % 10)
  end
end

-- Compute capability as major * 10 + minor: the option's, the device's, 8.0; why; multiprocessors.
function M.architecture(options)
  local arch, why
  if options.arch ~= nil then arch, why = number_of_arch(options.arch) end
  if options.arch ~= nil and not arch then error(why, 0) end
  local d = not arch and device() or nil
  if d then
    return 10 * d.major + d.minor, ("compute capability %d.%d: device 0"):format(d.major, d.minor),
      d.multiprocessors
  end
  local number = arch or 80
  local multiprocessors = MULTIPROCESSORS[number] or MULTIPROCESSORS[80]
  local reason = ("compute capability %d.%d: %s"):format(number // 10, number % 10,
    arch and "asked for" or "no device to ask")
  if not options.multiprocessors then
    reason = ("%s; %d multiprocessors are taken for granted ('multiprocessors' may say how many)")
      :format(reason, multiprocessors)
  end
  return number, reason, multiprocessors
end

-- ---- Matrices ----------------------------------------------------------------------------------

-- What a script says is a matrix, but no tensor: a layout, or a shape, whose compact layout it is.
local function layout_of(name, x)
  if type(x) == "table" then
    local good, layout = pcall(lutile.make_layout, x)
    if good then return layout end
    fail("%s: %s", name, (layout:gsub("^.- %((.*)%)$", "%1")))
  end
  if not lutile.is_layout(x) and not lutile.is_composed_layout(x) then
    fail("%s: a tensor, a layout or a shape expected, got %s", name, type(x))
  end
  return x
end

-- What else a major is, beside "row": mode 1, by names of what is there.
local OTHERWISE = { A = { k = true, column = true }, B = { k = true, column = true },
  C = { column = true }, D = { column = true } }

-- 'm' and 'n' are the names of the matrix's modes.
local function check_major(name, major, m, n, is_given)
  if major == nil then return end
  local option = name:lower() .. "_major"
  if is_given then
    fail("%s: %s itself is given, and says which mode is contiguous", option, name)
  end
  if major ~= "row" and not OTHERWISE[name][major] then
    fail("%s is '%s': \"row\" is contiguous along mode 0, %s (column-major in BLAS), \"column\"%s, "
      .. "the default, along mode 1, %s", option, tostring(major), m,
      OTHERWISE[name].k and " or \"k\"" or "", n)
  end
end

local function check_extent(name, x)
  if not lutile.is_integral(x) or math.type(x) and x < 0 then
    fail("%s is %s: an integer, 0 or more, or dyn(n) is needed", name,
      type(x) == "string" and ("%q"):format(x) or tostring(x))
  end
end

-- The matrix 'name': a layout or a tensor from the options; without it, the compact layout of the
-- extents that the options have under the names 'm' and 'n', whose mode 1 is contiguous (mode 0,
-- where 'major' is "row").
function M.matrix(options, name, m, n, major, dtype)
  local x = options[name]
  check_major(name, major, m, n, x ~= nil)
  if matrix.is_tensor(x) then return matrix.new(name, x, x.dtype) end
  if x ~= nil then return matrix.new(name, layout_of(name, x), dtype) end
  if options[m] == nil or options[n] == nil then
    fail("%s is missing: give a tensor or a layout %s = (%s,%s), or numbers %s and %s", name, name,
      m, n, m, n)
  end
  for _, extent in ipairs { m, n, options.L ~= nil and "L" or nil } do
    check_extent(extent, options[extent])
  end
  local shape = { options[m], options[n], options.L }
  local stride = major == "row" and { 1, shape[1] } or { shape[2], 1 }
  if options.L then stride[3] = shape[1] * shape[2] end
  return matrix.new(name, lutile.make_layout(shape, stride), dtype)
end

function M.transposed(m)
  local t = {}
  for k, v in pairs(m) do t[k] = v end
  t.row, t.column = m.column, m.row
  t.unit = m.unit == "row" and "column" or m.unit == "column" and "row" or "none"
  return t
end

-- How an operand (rows, k) is copied: its contiguous mode in shared and in global memory, and the
-- bytes of a copy.
function M.describe_operand(m)
  local unit = m.unit == "row" and "row" or m.unit == "column" and "k" or "none"
  return unit == "row" and "row" or "k", unit, m.vector * m.bytes
end

-- How the script names the modes of a product's matrices.
M.MODES = { A = { row = "M", column = "K" }, B = { row = "N", column = "K" },
  C = { row = "M", column = "N" }, D = { row = "M", column = "N" } }

-- 'modes' are the names of the matrix's modes.
function M.reason(m, name, modes)
  return ("%s %s: %s, %d bytes at once"):format(name, tostring(m.layout),
    modes[m.unit] and "contiguous along " .. modes[m.unit] or "no contiguous mode",
    m.vector * m.bytes)
end

function M.reason_of_result(m, count)
  return ("%s %s: %d element%s written at once"):format(m.name, tostring(m.layout), count,
    count > 1 and "s" or "")
end

-- The same extents, or one batch for all.
function M.check_extents(a, b, c)
  local function same(x, y, what)
    if x ~= y then fail("%s: %d and %d", what, x, y) end
  end
  local am, ak, al = matrix.extents(a)
  local bn, bk, bl = matrix.extents(b)
  local m, n, l = matrix.extents(c)
  same(am, m, ("M of %s and %s differ"):format(a.name, c.name))
  same(bn, n, ("N of %s and %s differ"):format(b.name, c.name))
  same(ak, bk, ("K of %s and %s differ"):format(a.name, b.name))
  for _, x in ipairs { { a, al }, { b, bl } } do
    if x[2] ~= 1 then same(x[2], l, ("batches of %s and %s differ"):format(x[1].name, c.name)) end
  end
  return m, n, ak, l
end

-- Kernels count rows, columns and k in 32 bits, up to the end of the last tile.
local MOST_EXTENT = (1 << 31) - 512

-- Refuses extents that are known and too large; of A and C, which have all of them.
function M.check_sizes(a, c)
  local modes = { M = c.row, N = c.column, K = a.column, L = c.batch }
  for name, mode in pairs(modes) do
    if math.type(mode.extent) and mode.extent > MOST_EXTENT then
      fail("%s is %d, where %d is the most", name, mode.extent, MOST_EXTENT)
    end
  end
end

-- ---- Types -------------------------------------------------------------------------------------

-- Of the accumulators of products of a type.
M.DEFAULT_ACC = { f16 = "f32", bf16 = "f32", tf32 = "f32", e4m3 = "f32", e5m2 = "f32", f64 = "f64",
  s8 = "s32", u8 = "s32" }

-- Products that 7.5 has, but lutile no atoms of.
local NO_ATOMS = { ["s8 u8"] = true, ["u8 s8"] = true, ["u8 u8"] = true }

-- Compute capability that a product of two types needs.
local SINCE = { ["f16 f16"] = 75, ["s8 s8"] = 75, ["bf16 bf16"] = 80, ["tf32 tf32"] = 80,
  ["f64 f64"] = 80, ["s8 u8"] = 80, ["u8 s8"] = 80, ["u8 u8"] = 80, ["e4m3 e4m3"] = 89,
  ["e4m3 e5m2"] = 89, ["e5m2 e4m3"] = 89, ["e5m2 e5m2"] = 89 }

function M.check_types(a, b, arch)
  a, b = tostring(a), tostring(b)
  local since = SINCE[a .. " " .. b]
  if not since then
    local names = {}
    for name in pairs(SINCE) do names[#names + 1] = (name:gsub(" ", " x ")) end
    table.sort(names)
    fail("no tensor-core product of %s and %s (there are %s%s)", a, b, table.concat(names, ", "),
      (a == "f32" or b == "f32") and "; dtype = \"tf32\" takes f32, rounded" or "")
  end
  if arch < since then
    fail(NO_ATOMS[a .. " " .. b] and "lutile has atoms of %s products from compute capability "
      .. "%d.%d on, and the plan is for %d.%d"
      or "%s products need compute capability %d.%d, and the plan is for %d.%d",
      a == b and a or a .. " x " .. b, since // 10, since % 10, arch // 10, arch % 10)
  end
end

-- Compute capability that has instructions to convert to a type.
local OUT_SINCE = { bf16 = 80, e4m3 = 89, e5m2 = 89 }

function M.check_element(what, dtype, arch)
  if not matrix.BYTES[dtype] or dtype == "tf32" then
    fail("no tensor-core template writes %s of %s", what, tostring(dtype))
  end
  local since = OUT_SINCE[dtype]
  if since and arch < since then
    fail("%s of %s needs compute capability %d.%d, and the plan is for %d.%d", what, dtype,
      since // 10, since % 10, arch // 10, arch % 10)
  end
end

return M
