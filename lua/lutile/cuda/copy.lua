-- Copies between the host and devices, and between any two layouts on a device: what kernel does
-- it, with vectors as wide as both sides allow.

local lutile = require "lutile"
local driver = require "lutile.cuda.driver"
local elements = require "lutile.cuda.elements"

local M = {}

local BITS = { f64 = 64, f32 = 32, tf32 = 32, f16 = 16, bf16 = 16, e4m3 = 8, e5m2 = 8, e3m2 = 6,
  e2m3 = 6, e2m1 = 4, ue8m0 = 8, ue4m3 = 8, e4m3fnuz = 8, e5m2fnuz = 8, s32 = 32, s16 = 16, s8 = 8,
  u8 = 8, s4 = 4, u4 = 4, b1 = 1, c64 = 128 }

local function fail(message, ...)
  error(message:format(...), 0)
end

local function bits_of(dtype)
  return BITS[dtype] or fail("elements of %s are not copied to devices or on them", dtype)
end

local function check_tensor(t, role)
  if type(t) ~= "userdata" or getmetatable(t) ~= "lutile tensor" then
    fail("%s: tensor expected, got %s", role, math.type(t) or getmetatable(t) or type(t))
  end
  return t
end

-- A tensor that is not freed, and a stream that is open, or none.
local function check_use(t, role, stream)
  check_tensor(t, role)
  if driver.is_freed(t.data) then fail("%s: the tensor's memory was freed", role) end
  local wrong = driver.wrong_stream(stream)
  if wrong then fail("%s: %s", role:match "^[%w_]+", wrong) end
  return t
end

function M.is_on_device(t) return driver.is_device_buffer(check_tensor(t, "tensor").data) end

-- ---- Whole tensors between places --------------------------------------------------------------

-- The fewest elements that fill whole bytes.
local function elements_in_bytes(bits)
  local n = 1
  while n * bits % 8 ~= 0 do n = n + 1 end
  return n
end

-- Where the memory that a tensor spans lies: the byte it starts at, how many bytes, and how many
-- elements before the tensor's own start there. Nil where its layout reaches before its start.
local function span_of(t)
  local bits = bits_of(t.dtype)
  local has_extent, extent = pcall(driver.extent, t.layout)
  if not has_extent then return nil end
  local before = t.offset % elements_in_bytes(bits)
  local count = before + extent
  return { first = (t.offset - before) * bits // 8, bytes = (count * bits + 7) // 8,
    before = before, count = count }
end

local function compact_like(t, make)
  return make(t.dtype, lutile.make_layout(t.shape))
end

-- What waits cannot be part of a graph, nor run beside one that is recorded.
local function check_may_wait(name, device, stream)
  if not driver.records(device, stream) then return end
  if stream then
    fail("%s: the stream records, and this would wait for what it records: on a stream that "
      .. "records there are copies between devices and pinned memory (cuda.pinned), of equal "
      .. "layouts where they end on the host", name)
  end
  fail("%s: a stream of device %d records, and without a stream this would wait for the device: "
    .. "it may be given one, as its last argument", name, device)
end

-- A graph copies from and to memory of the host that stays where it is.
local function check_pinned(name, data, device, stream)
  if not (stream and driver.records(device, stream)) or driver.is_pinned(data) then return end
  fail("%s: the tensor of the host is not pinned, and the stream records: it can record copies "
    .. "from and to pinned memory only (cuda.pinned)", name)
end

function M.to_device(t, device, stream)
  check_use(t, "to", stream)
  local data = t.data
  local is_on_device = driver.is_device_buffer(data)
  if is_on_device and data:device() == device then return t end
  if not is_on_device then
    check_pinned("to", data, device, stream)
  elseif driver.records(data:device()) then
    fail("to: a stream of device %d records, and a copy to another device waits for the device",
      data:device())
  end
  local span = span_of(t)
  if is_on_device then driver.synchronize(data:device()) end -- the stream is of the other device
  if not span then
    if is_on_device then return M.to_device(M.to_host(t), device, stream) end
    local compact = compact_like(t, lutile.make_tensor)
    lutile.copy(t, compact)
    return M.to_device(compact, device, stream)
  end
  local buffer = driver.buffer(t.dtype, span.count, device)
  if is_on_device then
    driver.move(buffer, 0, data, span.first, span.bytes, stream)
  else
    driver.upload(buffer, 0, data, span.first, span.bytes, stream)
  end
  if not stream then driver.synchronize_default(device) end
  return driver.view(buffer, t.dtype, span.before, t.layout)
end

function M.to_host(t, stream)
  check_use(t, "to_host", stream)
  local data = t.data
  if not driver.is_device_buffer(data) then return t end
  check_may_wait("to_host", data:device(), stream)
  local span = span_of(t)
  if not span then
    local compact = driver.view(driver.buffer(t.dtype, lutile.size(t), data:device()), t.dtype, 0,
      lutile.make_layout(t.shape))
    M.copy(t, compact, stream)
    return M.to_host(compact, stream)
  end
  if stream then stream:synchronize() else driver.synchronize(data:device()) end
  local buffer = lutile.make_gmem_ptr(t.dtype, span.count)
  driver.download(buffer, 0, data, span.first, span.bytes)
  driver.synchronize(data:device())
  return driver.view(buffer, t.dtype, span.before, t.layout)
end

-- ---- Modes that both sides share ---------------------------------------------------------------

local function number(x) return math.type(x) and x or x:value() end

-- Appends a mode to a list, as part of the last one where it runs on from there.
local function append_mode(modes, n, d)
  local last = modes[#modes]
  if last and d == last.d * last.n then
    last.n = last.n * n
  elseif n ~= 1 then
    modes[#modes + 1] = { n = n, d = d }
  end
end

-- Extents and strides of a plain layout, leaf by leaf; nil for a composed one.
local function modes_of(layout)
  if lutile.is_composed_layout(layout) then return nil end
  local flat, modes = lutile.flatten(layout), {}
  for i = 0, lutile.rank(flat) - 1 do
    local mode = lutile.layout(flat, i)
    append_mode(modes, number(lutile.unwrap(mode.shape)), number(lutile.unwrap(mode.stride)))
  end
  return modes
end

-- One list of modes {n, s, d} for a source and a target of equal size; nil where the extents of one
-- do not divide those of the other.
local function share_modes(from, to)
  local shared, i, j = {}, 1, 1
  local s, d = from[1] and { n = from[1].n, d = from[1].d }, to[1] and { n = to[1].n, d = to[1].d }
  while s and d do
    local n = math.min(s.n, d.n)
    if s.n % n ~= 0 or d.n % n ~= 0 then return nil end
    if n > 1 then shared[#shared + 1] = { n = n, s = s.d, d = d.d } end
    s.n, s.d, d.n, d.d = s.n // n, s.d * n, d.n // n, d.d * n
    local s_done, d_done = s.n == 1, d.n == 1
    if s_done then
      i = i + 1
      s = from[i] and { n = from[i].n, d = from[i].d }
    end
    if d_done then
      j = j + 1
      d = to[j] and { n = to[j].n, d = to[j].d }
    end
  end
  return shared
end

-- Sorted by the target's strides, neighbours that run on merged.
local function merge_modes(modes)
  table.sort(modes, function(x, y)
    if math.abs(x.d) ~= math.abs(y.d) then return math.abs(x.d) < math.abs(y.d) end
    return math.abs(x.s) < math.abs(y.s)
  end)
  local merged = {}
  for _, m in ipairs(modes) do
    local last = merged[#merged]
    if last and m.s == last.s * last.n and m.d == last.d * last.n then
      last.n = last.n * m.n
    else
      merged[#merged + 1] = { n = m.n, s = m.s, d = m.d }
    end
  end
  if #merged == 0 then merged[1] = { n = 1, s = 1, d = 1 } end
  return merged
end

-- ---- Units -------------------------------------------------------------------------------------

-- Whether all strides but those of mode 'own' are multiples of 'unit' on a side ('s' or 'd').
local function are_multiples(modes, side, unit, own)
  for i, m in ipairs(modes) do
    if i ~= own and m[side] % unit ~= 0 then return false end
  end
  return true
end

-- Modes that count in bytes, for elements narrower than one; nil where they do not lie in bytes.
local function in_bytes(modes, bits, starts)
  local first, whole = modes[1], elements_in_bytes(bits)
  local good = first.s == 1 and first.d == 1 and first.n % whole == 0
    and are_multiples(modes, "s", whole, 1) and are_multiples(modes, "d", whole, 1)
    and starts.s * bits % 8 == 0 and starts.d * bits % 8 == 0
  if not good then return nil end
  local bytes = { { n = first.n * bits // 8, s = 1, d = 1 } }
  for i = 2, #modes do
    local m = modes[i]
    bytes[i] = { n = m.n, s = m.s * bits // 8, d = m.d * bits // 8 }
  end
  return bytes
end

-- The most elements of 'bytes' bytes, up to 'most', that one access along mode 'own' of a side may
-- take; where 'n', the mode's extent, is given, whole ones.
local function widest(modes, side, own, bytes, address, most, n)
  local vector = most
  while vector > 1 do
    if (n or 0) % vector == 0 and are_multiples(modes, side, vector, own)
      and address % (vector * bytes) == 0 then
      return vector
    end
    vector = vector // 2
  end
  return 1
end

-- Vectors in which rows are counted, the last of which may not be whole.
local function in_vectors(modes, vector)
  local scaled = { { n = (modes[1].n + vector - 1) // vector, s = 1, d = 1 } }
  for i = 2, #modes do
    local m = modes[i]
    scaled[i] = { n = m.n, s = m.s // vector, d = m.d // vector }
  end
  return scaled
end

local function find_contiguous(modes, side, after)
  for i = after, #modes do
    if modes[i][side] == 1 then return i end
  end
end

-- ---- The plan ----------------------------------------------------------------------------------

-- Below this extent, a tile of a transposition would be mostly empty.
local LEAST_TILE = 8

-- Extents of a tile along a and b, by the bytes of an element: as much of memory on both sides as
-- keeps enough loads under way, in 8 or 16 KiB of shared memory.
local TILES = { [1] = { 128, 128 }, [2] = { 64, 128 }, [4] = { 64, 64 }, [8] = { 32, 32 } }

local function plan_transposed(modes, other, bytes, addresses)
  local most = math.max(1, 16 // bytes)
  local plan = { kind = "copy_transposed", bytes = bytes, group = 0, streaming = false }
  plan.tile_a, plan.tile_b = table.unpack(TILES[bytes])
  plan.source_vector = widest(modes, "s", other, bytes, addresses.s, most, modes[other].n)
  plan.target_vector = widest(modes, "d", 1, bytes, addresses.d, most, modes[1].n)
  plan.modes = { modes[1], modes[other] }
  for i = 2, #modes do
    if i ~= other then plan.modes[#plan.modes + 1] = modes[i] end
  end
  return plan
end

-- Vectors of a row below which those that divide it are taken, and none is a part.
local LEAST_VECTORS = 8

-- Rows that are contiguous on both sides.
local function plan_rows(modes, bytes, addresses)
  local most, n = 16 // bytes, modes[1].n
  local function vector_of(extent)
    return math.min(widest(modes, "s", 1, bytes, addresses.s, most, extent),
      widest(modes, "d", 1, bytes, addresses.d, most, extent))
  end
  local vector = vector_of()
  if n // vector < LEAST_VECTORS then vector = vector_of(n) end
  return { kind = "copy", bytes = bytes * vector, modes = in_vectors(modes, vector),
    tail = n % vector * bytes, element = n % vector > 0 and bytes or 0 }
end

local function plan_modes(modes, bytes, addresses)
  local first = modes[1]
  if first.s == 1 and first.d == 1 then return plan_rows(modes, bytes, addresses) end
  local other = first.d == 1 and find_contiguous(modes, "s", 2)
  if other and bytes <= 8 and first.n >= LEAST_TILE and modes[other].n >= LEAST_TILE then
    return plan_transposed(modes, other, bytes, addresses)
  end
  return { kind = "copy", bytes = bytes, modes = modes, tail = 0, element = 0 }
end

local function check_target(modes)
  for _, m in ipairs(modes or {}) do
    if m.d == 0 and m.n > 1 then
      fail("copy: the target's layout has several elements in one place")
    end
  end
end

--[[
How elements of 'bits' bits go from one layout to another of the same size: a table with

  kind    "copy", "copy_transposed" or "copy_elements": the kernel
  modes   {n, s, d}: extents, and strides of source and target, in units of 'bytes'
  bytes   that an access moves; for a transposition, of an element, with vectors of source_vector
          and target_vector elements, tiles of tile_a by tile_b elements, the order of blocks
          ('group' tiles along a at a time; 0: all) and whether caches are passed by ('streaming')
  tail    bytes of a row beside whole accesses, of elements of 'element' bytes; 0: none

'starts' are the offsets of the first elements (s, d), 'addresses' where these lie in memory.
]]
function M.plan(from, to, bits, starts, addresses)
  starts, addresses = starts or { s = 0, d = 0 }, addresses or { s = 0, d = 0 }
  local s_modes, d_modes = modes_of(from), modes_of(to)
  check_target(d_modes)
  local modes = s_modes and d_modes and share_modes(s_modes, d_modes)
  if not modes then return { kind = "copy_elements" } end
  modes = merge_modes(modes)
  local bytes = bits // 8
  if bits % 8 ~= 0 then
    modes, bytes = in_bytes(modes, bits, starts), 1
    if not modes then return { kind = "copy_elements" } end
  end
  return plan_modes(modes, bytes, addresses)
end

-- ---- Kernels -----------------------------------------------------------------------------------

local function extent(n) return lutile.dyn(n) end
local function step(x) return (x == 1 or x == 0) and x or lutile.dyn(x) end

-- The layouts of a plan with all numbers dynamic, so that one kernel serves all sizes: of rank
-- 'rank', the last mode holding what is left.
local function layouts_of(plan, rank)
  local function layout(side)
    local shape, stride, rest, steps = {}, {}, {}, {}
    for i, m in ipairs(plan.modes) do
      local to_shape, to_stride = shape, stride
      if i >= rank then to_shape, to_stride = rest, steps end
      to_shape[#to_shape + 1], to_stride[#to_stride + 1] = extent(m.n), step(m[side])
    end
    if #rest == 0 then rest, steps = { 1 }, { 0 } end
    local is_one = #rest == 1
    shape[rank], stride[rank] = is_one and rest[1] or rest, is_one and steps[1] or steps
    return lutile.make_layout(shape, stride)
  end
  return layout "s", layout "d"
end

local kernels = {} -- by device and what was compiled

local function kernel_of(device, spec, key)
  key = device .. " " .. key
  local kernel = kernels[key]
  if not kernel then
    kernel = M.compile(spec)
    kernels[key] = kernel
  end
  return kernel
end

local function index_bits(from, to)
  return driver.fits_32_bits(from) and driver.fits_32_bits(to) and 32 or 64
end

local function values_text(values)
  local names = {}
  for name, value in pairs(values) do names[#names + 1] = name .. "=" .. tostring(value) end
  table.sort(names)
  return table.concat(names, " ")
end

local function ceil_div(a, b) return (a + b - 1) // b end

local MOST_ROWS = 65535

local function product(modes, first)
  local n = 1
  for i = first, #modes do n = n * modes[i].n end
  return n
end

-- Values and grid of a plan's kernel.
local function shape_launch(plan)
  if plan.kind == "copy_transposed" then
    local tiles = ceil_div(plan.modes[1].n, plan.tile_a) * ceil_div(plan.modes[2].n, plan.tile_b)
    return { bytes = plan.bytes, source_vector = plan.source_vector,
      target_vector = plan.target_vector, tile_a = plan.tile_a, tile_b = plan.tile_b,
      group = plan.group, streaming = plan.streaming },
      { tiles, math.min(product(plan.modes, 3), MOST_ROWS) }
  end
  local row = plan.modes[1].n
  local values = { bytes = plan.bytes, rows = row >= 256, element = plan.element }
  if values.rows then
    return values, { ceil_div(row, 1024), math.min(product(plan.modes, 2), MOST_ROWS) }
  end
  return values, { ceil_div(product(plan.modes, 1), 256) }
end

local function prepare_plan(plan, from, to, stream)
  local values, grid = shape_launch(plan)
  local s, d = layouts_of(plan, plan.kind == "copy_transposed" and 3 or 2)
  local bits, device = index_bits(s, d), to.data:device()
  local key = ("%s %s %s %s %d"):format(plan.kind, values_text(values), driver.blank(s),
    driver.blank(d), bits)
  local kernel = kernel_of(device, { file = plan.kind .. ".cu", device = device, index = bits,
    layouts = { source = s, target = d }, values = values }, key)
  local launch = kernel:launch { grid = grid, block = 256, stream = stream }
  if plan.kind == "copy_transposed" then return function() launch(from, s, to, d) end end
  local tail = plan.tail
  return function() launch(from, s, to, d, tail) end
end

-- A tensor as kernels can have it: of bytes, where the elements are of a type without device code.
local function as_known(t)
  if elements.has_code(t.dtype) then return t end
  return driver.view(t.data, "u8", t.offset, t.layout)
end

local function check_converts(from, to)
  for _, t in ipairs { from, to } do
    if not elements.has_code(t.dtype) then
      fail("copy: from %s to %s, and kernels cannot convert %s: tensors of the host can "
        .. "(t:to_host(), lutile.copy)", from.dtype, to.dtype, t.dtype)
    end
  end
end

-- Layouts as they are, one element a thread.
local function prepare_elements(from, to, stream)
  if from.dtype ~= to.dtype then check_converts(from, to) end
  from, to = as_known(from), as_known(to)
  local bits, device = index_bits(from.layout, to.layout), to.data:device()
  local key = ("elements %s %s %s %s %d"):format(from.dtype, to.dtype, driver.blank(from.layout),
    driver.blank(to.layout), bits)
  local kernel = kernel_of(device, { file = "copy_elements.cu", device = device, index = bits,
    layouts = { source = from.layout, target = to.layout },
    types = { source = from.dtype, target = to.dtype },
    values = { converts = from.dtype ~= to.dtype } }, key)
  local n = ceil_div(lutile.size(to), 256)
  local launch = kernel:launch { grid = n, block = 256, stream = stream }
  local s, d = from.layout, to.layout
  return function() launch(from, s, to, d) end
end

local function address(t) return t.data:address() + t.offset * bits_of(t.dtype) // 8 end

-- The function that copies between tensors of one device, by the plan with some fields changed.
local function prepare_on_device(from, to, stream, changes)
  if lutile.size(to) == 0 then return function() end end
  if from.dtype ~= to.dtype then return prepare_elements(from, to, stream) end
  local plan = M.plan(from.layout, to.layout, bits_of(to.dtype), { s = from.offset, d = to.offset },
    { s = address(from), d = address(to) })
  if plan.kind == "copy_elements" then return prepare_elements(from, to, stream) end
  for field, value in pairs(changes or {}) do plan[field] = value end
  return prepare_plan(plan, from, to, stream)
end

local function copy_on_device(from, to, stream) prepare_on_device(from, to, stream)() end

-- ---- copy --------------------------------------------------------------------------------------

-- Whether the tensor covers the memory that it spans, so that this may be overwritten as a whole.
local function is_dense(t)
  local modes = modes_of(t.layout)
  if not modes or t.offset * bits_of(t.dtype) % 8 ~= 0 then return false end
  if lutile.size(t) * bits_of(t.dtype) % 8 ~= 0 then return false end
  table.sort(modes, function(x, y) return x.d < y.d end)
  local span = 1
  for _, m in ipairs(modes) do
    if m.n > 1 then
      if m.d ~= span then return false end
      span = span * m.n
    end
  end
  return true
end

local function may_move_whole(from, to)
  return from.dtype == to.dtype and from.layout == to.layout and is_dense(to)
    and from.offset * bits_of(from.dtype) % 8 == 0
end

local function copy_from_host(from, to, stream)
  check_pinned("copy", from.data, to.data:device(), stream)
  if may_move_whole(from, to) then
    local s, d = span_of(from), span_of(to)
    driver.upload(to.data, d.first, from.data, s.first, d.bytes, stream)
    if not stream then driver.synchronize_default(to.data:device()) end
    return
  end
  copy_on_device(M.to_device(from, to.data:device(), stream), to, stream)
end

-- Into pinned memory the copy is still under way on return.
local function copy_to_host(from, to, stream)
  local device = from.data:device()
  if not may_move_whole(from, to) then
    check_may_wait("copy", device, stream)
    lutile.copy(M.to_host(from, stream), to)
    return
  end
  local s, d = span_of(from), span_of(to)
  if not stream then
    check_may_wait("copy", device)
    driver.synchronize(device)
  end
  check_pinned("copy", to.data, device, stream)
  driver.download(to.data, d.first, from.data, s.first, d.bytes, stream)
  if not stream then
    driver.synchronize(device)
  elseif not driver.is_pinned(to.data) then
    stream:synchronize()
  end
end

local function check_sizes(from, to)
  if lutile.size(from) == lutile.size(to) then return end
  fail("copy: source has %d elements (%s), target has %d (%s)", lutile.size(from),
    tostring(from.shape), lutile.size(to), tostring(to.shape))
end

-- prepare(source, target [, stream [, changes]]): the function that does the copy, for tensors of
-- one device; 'changes' are fields that the plan is to have instead of its own.
function M.prepare(from, to, stream, changes)
  check_use(from, "prepare_copy: source", stream)
  check_use(to, "prepare_copy: target", stream)
  local on_device = M.is_on_device(from) and M.is_on_device(to)
  if not on_device or from.data:device() ~= to.data:device() then
    fail "prepare_copy: both tensors must be on one device"
  end
  check_sizes(from, to)
  return prepare_on_device(from, to, stream, changes)
end

function M.copy(from, to, stream)
  local from_device = driver.is_device_buffer(check_use(from, "copy: source", stream).data)
  local to_device = driver.is_device_buffer(check_use(to, "copy: target", stream).data)
  if not from_device and not to_device then return lutile.copy(from, to) end
  check_sizes(from, to)
  if not to_device then return copy_to_host(from, to, stream) end
  if not from_device then return copy_from_host(from, to, stream) end
  local device = to.data:device()
  copy_on_device(M.to_device(from, device, stream), to, stream)
end

-- Set by lutile.cuda, which needs this module.
M.compile = nil

return M
