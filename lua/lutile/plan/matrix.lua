-- What a plan knows of a matrix in global memory, from its layout: extents, strides, the contiguous
-- mode, and how many elements may be copied at once whatever its dynamic numbers will be.

local lutile = require "lutile"
local packing = require "lutile.plan.packing"

local M = {}

local MOST_BITS = 128 -- of one copy

-- Of the elements that kernels know (kernels/number.cuh).
M.BITS = { c64 = 128, f64 = 64, f32 = 32, tf32 = 32, s32 = 32, f16 = 16, bf16 = 16, s16 = 16,
  s8 = 8, u8 = 8, e4m3 = 8, e5m2 = 8, ue8m0 = 8, ue4m3 = 8, e3m2 = 6, e2m3 = 6, e2m1 = 4, s4 = 4,
  u4 = 4, b1 = 1 }

-- Of those that tensor-core templates read and write.
M.BYTES = { f64 = 8, f32 = 4, tf32 = 4, s32 = 4, f16 = 2, bf16 = 2, s8 = 1, u8 = 1, e4m3 = 1,
  e5m2 = 1 }

local function bytes_of(dtype) return math.max(M.BITS[dtype] // 8, 1) end

-- Whether x is a tensor of elements; a counting one has none.
function M.is_tensor(x) return type(x) == "userdata" and getmetatable(x) == "lutile tensor" end

local function fail(message, ...)
  error(message:format(...), 0)
end

-- What divides an integer whatever value it will have: itself, or a dynamic one's promise.
function M.divisor(x)
  if math.type(x) then return x end
  return math.tointeger(tostring(x):match "{(%d+)}$") or 1
end

local divisor = M.divisor

function M.number(x) return math.type(x) and x or x:value() end

local number = M.number

-- A mode as an extent and a stride.
local function one_stride(layout, mode)
  local flat = lutile.coalesce(lutile.layout(layout, mode))
  return { extent = flat.shape, stride = flat.stride }
end

local function check_layout(name, layout)
  local text = tostring(layout)
  if text:find " o " or text:find "@" then
    fail("%s is %s, where a layout shape:stride is needed", name, text)
  end
  local rank = lutile.rank(layout)
  if rank ~= 2 and rank ~= 3 then
    fail("%s %s has %d modes: (rows, columns) or (rows, columns, batches) are needed", name, text,
      rank)
  end
end

-- Whether vectors of n elements, each a multiple of n from the first element, tile the matrix.
local function is_whole(m, n)
  local unit = m.unit == "row" and m.row or m.column
  local other = m.unit == "row" and m.column or m.row
  return divisor(unit.extent) % n == 0 and divisor(other.stride) % n == 0
    and divisor(m.batch.stride) % n == 0 and m.offset % n == 0
end

-- The most elements, at most 'most', that may be read or written at once along the contiguous mode.
function M.vector(m, most)
  if m.unit == "none" then return 1 end
  local n = 1
  while 2 * n <= most and is_whole(m, 2 * n) do n = 2 * n end
  return n
end

-- The matrix of a plain layout, to which 'packed' is copied, if that is there.
local function describe(name, layout, packed, offset, dtype)
  local m = { name = name, layout = layout, packed = packed, dtype = dtype,
    bytes = bytes_of(dtype), offset = offset, row = one_stride(layout, 0),
    column = one_stride(layout, 1) }
  m.batch = lutile.rank(layout) == 3 and one_stride(layout, 2) or { extent = 1, stride = 0 }
  m.unit = m.column.stride == 1 and "column" or m.row.stride == 1 and "row"
    or m.column.extent == 1 and "column" or m.row.extent == 1 and "row" or "none"
  m.vector = M.vector(m, MOST_BITS // M.BITS[dtype])
  return m
end

-- x is a layout, or a tensor, whose offset counts too. Where modes have several strides, the matrix
-- is the plain copy that takes its place, and 'packed' the layout that it is copied from.
function M.new(name, x, dtype)
  local layout, offset = x, 0
  if M.is_tensor(x) then layout, offset = x.layout, x.offset end
  check_layout(name, layout)
  if not M.BITS[dtype] then
    fail("%s has elements of %s, which no product of plans takes", name, tostring(dtype))
  end
  if packing.is_plain(layout) then return describe(name, layout, nil, offset, dtype) end
  return describe(name, packing.layout(layout, bytes_of(dtype)), layout, 0, dtype)
end

-- The plain copy of a matrix that is contiguous along its columns.
function M.along_columns(m)
  local layout = m.packed or m.layout
  return describe(m.name, packing.layout(layout, m.bytes, true), layout, 0, m.dtype)
end

-- Extents and strides as numbers: rows, columns, batches.
local function numbers(m, what)
  return number(m.row[what]), number(m.column[what]), number(m.batch[what])
end
function M.extents(m) return numbers(m, "extent") end
function M.strides(m) return numbers(m, "stride") end

-- Strides as a kernel steps by them: one batch serves all.
function M.launch_strides(m)
  local row, column, batch = M.strides(m)
  local _, _, count = M.extents(m)
  return row, column, count == 1 and 0 or batch
end

-- (rows, columns, batches) as numbers.
function M.plain_layout(m)
  return lutile.make_layout({ M.extents(m) }, { M.strides(m) })
end

-- Refuses a matrix that only a copy could stand for.
function M.check_plain(m)
  if m.packed then
    fail("%s %s has several strides for rows, columns or batches; the kernel takes one each (a "
      .. "copy to a plain layout would do)", m.name, tostring(m.packed))
  end
end

-- Refuses a matrix whose elements share places.
function M.check_target(m)
  if not lutile.is_injective(m.packed or M.plain_layout(m)) then
    fail("%s %s has several elements in one place", m.name, tostring(m.packed or m.layout))
  end
end

-- Extent and stride of a mode as numbers.
function M.mode_now(m, mode)
  return { extent = number(m[mode].extent), stride = number(m[mode].stride) }
end

-- Where the elements of a tensor on a device start; refused by name where its memory was freed.
function M.address(name, t)
  local there, start = pcall(t.data.address, t.data)
  if not there then fail("%s: the tensor's memory was freed", name) end
  return start + t.offset * M.BITS[t.dtype] // 8
end

local function check_type(m, planned)
  if m.dtype ~= planned.dtype then
    fail("%s has elements of %s, and the plan is for %s", m.name, m.dtype, planned.dtype)
  end
end

-- Refuses a matrix of another type than 'planned', or whose contiguous mode is another.
function M.check_unit(m, planned)
  check_type(m, planned)
  if planned.unit == "none" then return end
  local now = M.mode_now(m, planned.unit)
  if now.stride ~= 1 and now.extent > 1 then
    fail("the %ss of %s must lie 1 apart, as in the plan for %s; they lie %d apart", planned.unit,
      m.name, tostring(planned.layout), now.stride)
  end
end

-- A matrix of a run as numbers, whose contiguous mode is that of the plan's.
local function now(m, unit)
  local x = { unit = unit, row = {}, column = {}, batch = {}, offset = 0 }
  for _, mode in ipairs { "row", "column", "batch" } do
    x[mode] = M.mode_now(m, mode)
    if x[mode].extent == 1 and mode ~= unit then x[mode].stride = 0 end
  end
  return x
end

-- Whether so many elements at once, along the contiguous mode, tile a matrix of a run at that
-- address.
function M.takes_vectors(m, unit, vector, address)
  return vector == 1 or is_whole(now(m, unit), vector) and address % (vector * m.bytes) == 0
end

-- Refuses a matrix that does not have what the plan took for granted of 'planned'; 'vector' is how
-- many elements the kernel moves at once, nil where it goes by the strides of each.
function M.check_fits(m, planned, vector, address)
  local check = vector and M.check_unit or check_type
  check(m, planned)
  vector = vector or 1
  if vector > 1 and not is_whole(now(m, planned.unit), vector) then
    fail("%s is %s, and the kernel moves %d elements at once: the plan's %s promises that they "
      .. "divide its extent and strides (a plan for this layout would do)", m.name,
      tostring(m.layout), vector, tostring(planned.layout))
  end
  if address and address % (vector * m.bytes) ~= 0 then
    fail("%s starts at address 0x%x, and the kernel moves %d bytes at once (a plan for this tensor "
      .. "would do)", m.name, address, vector * m.bytes)
  end
end

return M
