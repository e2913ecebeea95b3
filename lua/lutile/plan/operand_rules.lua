-- What layouts of an operand must keep to where a script has changed them: those of a tile in
-- shared memory, and of the copies that bring it there.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"
local operand = require "lutile.plan.operand"
local tma_operand = require "lutile.plan.tma_operand"
local shown = require "lutile.plan.shown"

local M = {}

local WARP = 32
local ROW_BYTES = 16  -- of a matrix that ldmatrix loads
local WORD_BYTES = 4  -- of it that a lane gets
local LINE_BYTES = 128 -- that stages start at multiples of
local MOST_BYTES = 16 -- of a copy

local function fail(message, ...) error(message:format(...), 0) end

-- ---- Kinds -------------------------------------------------------------------------------------

-- Refuses what is no layout of numbers that are known before a kernel is compiled.
function M.check_layout(x, path)
  if type(x) ~= "userdata" or not lutile.is_layout(x) then
    fail("%s is %s, where a layout is needed, as make_layout gives one", path, shown(x))
  end
  local text = tostring(x)
  if text:find "?" or text:find "@" then
    fail("%s is %s: a kernel is compiled for it, so that all its numbers must be known before, and "
      .. "strides be integers", path, text)
  end
end

local function is_of_tile(o, x)
  return lutile.rank(x) == 2 and lutile.size(x, 0) == o.rows and lutile.size(x, 1) == o.k
end

function M.check_shared(p, x, path)
  local o = p[path:sub(1, 1)]
  M.check_layout(x, path)
  local width = tostring(x):match "smem%[(%d+)b%]"
  if width and math.tointeger(width) ~= 8 * o.bytes then
    fail("%s is %s, where elements have %d bits", path, tostring(x), 8 * o.bytes)
  end
  if lutile.is_composed_layout(x)
    and not tostring(tma_operand.plain(x)):find "^Sw<%d+,%d+,%d+> o 0 o %(" then
    fail("%s is %s, where a layout or a swizzle of one is needed: Sw<B,M,S> o 0 o shape:stride",
      path, tostring(x))
  end
  if not is_of_tile(o, x) then
    fail("%s is %s, where a tile of two modes (%d,%d) is needed", path, tostring(x), o.rows, o.k)
  end
end

local function is_power_of_two(n) return n > 0 and n & (n - 1) == 0 end

function M.check_copy(p, x, path)
  local o = p[path:sub(1, 1)]
  M.check_layout(x, path)
  if lutile.is_composed_layout(x) or lutile.rank(x) ~= 2 or lutile.rank(x[1]) ~= 2 then
    fail("%s is %s, where a layout (thread, (vector, copies)) is needed", path, tostring(x))
  end
  local vector, most = lutile.size(x[1][0]), (o.vector_bytes or MOST_BYTES) // o.bytes
  if not is_power_of_two(vector) or vector > most then
    fail("%s is %s: vectors of %d elements, where powers of two up to %d there are, by the types "
      .. "and the matrix", path, tostring(x), vector, most)
  end
end

-- ---- The tile ----------------------------------------------------------------------------------

local function coordinate(o, i) return ("(%d,%d)"):format(i % o.rows, i // o.rows) end

-- The offset of each element of a tile, by its index; no two have one.
local function find_offsets(o)
  local at, taken = {}, {}
  for i = 0, o.rows * o.k - 1 do
    local offset = o.shared(i)
    if offset < 0 then
      fail("%s.shared is %s: offset %d of %s, before the tile's start", o.name, tostring(o.shared),
        offset, coordinate(o, i))
    end
    if taken[offset] then
      fail("%s.shared is %s: %s and %s are in one place, and each needs its own", o.name,
        tostring(o.shared), coordinate(o, taken[offset]), coordinate(o, i))
    end
    at[i], taken[offset] = offset, i
  end
  return at
end

local function check_swizzle(o)
  local mask = emit.mask((emit.split_swizzle(o.shared, o.bytes)))
  if mask >= LINE_BYTES then
    local span = LINE_BYTES
    while span <= mask do span = 2 * span end
    fail("%s.shared is %s: its swizzle reaches over %d bytes, and stages start at multiples of %d",
      o.name, tostring(o.shared), span, LINE_BYTES)
  end
end

-- ---- Copies ------------------------------------------------------------------------------------

local function fail_copy(o, message, ...)
  fail("%s.copy is %s: " .. message, o.name, tostring(o.copy), ...)
end

-- Refuses a vector that starts at index 'first', of a thread's coordinates plus a copy's, whose
-- elements do not lie side by side in the matrix.
local function check_vector(o, vector, first, copy)
  local stride = o.unit == "row" and 1 or o.rows
  local start = o.unit == "row" and first % o.rows or first // o.rows
  for v = 1, o.vector - 1 do
    if vector(v) ~= v * stride then
      fail_copy(o, "element %d of a vector is at %s from the first, where vectors lie along %s", v,
        coordinate(o, vector(v)), o.unit == "row" and "the rows" or "k")
    end
  end
  if start % o.vector ~= 0 then
    fail_copy(o, "copy %d starts at %s, where vectors start at multiples of %d elements", copy,
      coordinate(o, first), o.vector)
  end
end

-- Refuses a vector whose elements do not lie side by side in shared memory, aligned.
local function check_target(o, at, first)
  local stride = o.unit == "row" and 1 or o.rows
  for v = 0, o.vector - 1 do
    if at[first + v * stride] ~= at[first] + v or at[first] % o.vector ~= 0 then
      fail("%s.shared is %s: the %d elements that a copy moves from %s on do not lie side by side "
        .. "at a multiple of %d bytes (%s.copy may move fewer)", o.name, tostring(o.shared),
        o.vector, coordinate(o, first), o.vector * o.bytes, o.name)
    end
  end
end

-- Refuses copies that do not make up the tile, each element once, by a block's threads.
local function check_copies(o, at)
  local threads, vector, copies = o.copy[0], o.copy[1][0], o.copy[1][1]
  if lutile.size(threads) > o.threads then
    fail_copy(o, "%d threads, where a block has %d that copy", lutile.size(threads), o.threads)
  end
  local seen, count, size = {}, 0, o.rows * o.k
  for t = 0, lutile.size(threads) - 1 do
    local from = threads(t)
    for c = 0, lutile.size(copies) - 1 do
      local first = from + copies(c)
      local row, k = from % o.rows + copies(c) % o.rows, from // o.rows + copies(c) // o.rows
      if first < 0 or row >= o.rows or k >= o.k then
        fail_copy(o, "copy %d of thread %d starts at (%d,%d), outside of the tile (%d,%d)", c, t,
          row, k, o.rows, o.k)
      end
      if seen[first] then
        fail_copy(o, "%s is copied twice", coordinate(o, first))
      end
      seen[first], count = true, count + 1
      check_vector(o, vector, first, c)
      check_target(o, at, first)
    end
  end
  if count * o.vector ~= size then
    fail_copy(o, "%d elements, where a tile (%d,%d) has %d", count * o.vector, o.rows, o.k, size)
  end
end

-- ---- Loads -------------------------------------------------------------------------------------

-- The lane whose address has element e of register j of a lane, and bytes from there.
local function row_of(o, lane, j, e)
  if o.load == "matrices" then
    return 8 * j + lane // 4, lane % 4 * WORD_BYTES + e * o.bytes
  end
  return 8 * j + 2 * (lane % 4) + e, lane // 4 * o.bytes
end

-- Refuses layouts of which ldmatrix would not give each thread the elements that its atoms take.
local function check_matrices(o, mma, at)
  local row, load, _, per_load = operand.load_layouts(o, mma)
  local thread, value = operand.partition(o, mma)
  local per_word = WORD_BYTES // o.bytes
  for s = 0, lutile.size(load) - 1 do
    for t = 0, lutile.size(thread) - 1 do
      for i = 0, per_load * per_word - 1 do
        local lane, bytes = row_of(o, t % WARP, i // per_word, i % per_word)
        local start = at[row(t // WARP * WARP + lane) + load(s)]
        local index = thread(t) + value(s * per_load * per_word + i)
        if start * o.bytes % ROW_BYTES ~= 0 or start * o.bytes + bytes ~= at[index] * o.bytes then
          fail("%s.shared is %s: ldmatrix reads rows of %d bytes, side by side at multiples of "
            .. "that, and that of %s is none", o.name, tostring(o.shared), ROW_BYTES,
            coordinate(o, index))
        end
      end
    end
  end
end

-- Refuses layouts that the kernel of operand o and that tiled MMA cannot follow.
function M.check(o, mma)
  check_swizzle(o)
  local at = find_offsets(o)
  if o.copy then check_copies(o, at) end
  if o.load == "matrices" or o.load == "transposed" then check_matrices(o, mma, at) end
end

return M
