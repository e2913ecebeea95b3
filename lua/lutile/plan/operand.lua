-- Operands A and B of a tiled matrix product: how their tiles lie in shared memory, how threads
-- copy them there, and how threads load an atom's registers from there.
--
-- A tile is (rows, k); rows are M's for A and N's for B.

local lutile = require "lutile"
local emit = require "lutile.plan.emit"

local make_layout, composition = lutile.make_layout, lutile.composition

local M = {}

local WARP = 32
local ROW_BYTES = 16   -- of a matrix that ldmatrix loads
local LINE_BYTES = 128 -- all banks of shared memory

local function log2(n)
  local bits = 0
  while 1 << bits < n do bits = bits + 1 end
  return bits
end

-- ---- Shared memory ---------------------------------------------------------------------------

-- Rows of up to a line in which vectors of 16 bytes change places from row to row, so that 8 rows
-- of a matrix, or the rows that a warp writes, are in different banks.
local function line_layout(o, extent)
  local width = math.min(extent & -extent, LINE_BYTES // o.bytes) -- a power of two
  local bits = log2(width * o.bytes // ROW_BYTES)
  local rows = o.major == "k" and make_layout({ 8, width }, { width, 1 })
    or make_layout({ width, 8 }, { 1, width })
  if bits == 0 then return rows end
  return composition(lutile.Swizzle(bits, log2(ROW_BYTES // o.bytes), 3), rows)
end

-- For loads of single words whose lanes go 8 along the rows and 4 along k, which is not the
-- contiguous mode, or the other way round (8 bytes: 16 lanes at a time).
local function word_layout(o, extent)
  local lanes = LINE_BYTES // math.max(o.bytes, 4) -- that are served at once
  local across = o.major == "k" and lanes // 4 or 4 -- lanes in the mode that is not contiguous
  local along = lanes // across                    -- lanes in the contiguous one
  local width = math.min(extent & -extent, lanes)
  local rows = o.major == "k" and make_layout({ across, width }, { width, 1 })
    or make_layout({ width, across }, { 1, width })
  local bits = math.min(log2(width // along), log2(across))
  if bits <= 0 then return rows end
  return composition(lutile.Swizzle(bits, log2(along), log2(width) - log2(along)), rows)
end

function M.shared_layout(o)
  local extent = o.major == "k" and o.k or o.rows
  local by_lines = o.load ~= "whole"
  local block = by_lines and line_layout(o, extent) or word_layout(o, extent)
  local order = o.major == "k" and { 1, 0 } or { 0, 1 }
  return lutile.tile_to_shape(block, { o.rows, o.k }, order)
end

-- ---- Copies ----------------------------------------------------------------------------------

-- (thread, (value, copy)) -> index in the tile: vectors along the contiguous mode, threads along it
-- first, then across.
function M.copy_layout(o, threads)
  local extent, across = o.k, o.rows
  if o.major ~= "k" then extent, across = o.rows, o.k end
  local along = math.min(extent // o.vector, threads)
  local down = math.min(threads // along, across)
  while across % down ~= 0 do down = down - 1 end
  local extent_stride, across_stride = o.rows, 1
  if o.major ~= "k" then extent_stride, across_stride = 1, o.rows end
  local thread = make_layout({ along, down }, { extent_stride * o.vector, across_stride })
  local copies = make_layout({ across // down, extent // o.vector // along },
    { across_stride * down, extent_stride * o.vector * along })
  return make_layout(thread, make_layout(make_layout(o.vector, extent_stride), copies))
end

-- ---- Loads -----------------------------------------------------------------------------------

-- What ldmatrix can do: for 16-byte rows along k any type; across, 16-bit elements.
function M.load_of(major, bytes, word)
  if word == 8 then return "whole" end
  if major == "k" then return "matrices" end
  if bytes == 2 then return "transposed" end
  return bytes == 4 and "whole" or "elements"
end

-- thread -> index in the tile of its first value, and value -> index from there.
function M.partition(o, mma)
  local index = make_layout { o.rows, o.k }
  local parts = o.name == "A" and mma:thrfrg_A(index) or mma:thrfrg_B(index)
  local vmnk = mma:get_thr_layout_vmnk()
  local row, k = parts[0][1][0], parts[0][1][1]
  local other = make_layout(vmnk.shape[o.name == "A" and 2 or 1], 0)
  local modes = o.name == "A" and make_layout(parts[0][0], row, other, k)
    or make_layout(parts[0][0], other, row, k)
  return composition(modes, lutile.right_inverse(vmnk)), parts[1]
end

local function step_layout(value, count, stride)
  return composition(value, make_layout(count, stride))
end

-- (lane, warp) -> index of the first element of the row that it gives to ldmatrix.
local function matrix_lanes(o, thread, value, words)
  local per_word = 4 // o.bytes
  local matrices = step_layout(value, words, per_word)
  if words < 4 then matrices = make_layout(matrices, make_layout(4 // words, 0)) end
  local warps = composition(thread, make_layout(lutile.size(thread) // WARP, WARP))
  if o.load == "matrices" then
    return make_layout(composition(thread, make_layout(8, 4)), matrices, warps)
  end
  return make_layout(step_layout(value, 2, 1), composition(thread, make_layout(4, 1)), matrices,
    warps)
end

-- Of a k-step's 'words' of a thread, those of one load; those loaded at once are whole loads.
function M.words_of_load(o, words)
  if o.load ~= "matrices" and o.load ~= "transposed" then return 1 end
  words = o.words_at_once or words
  return words % 4 == 0 and 4 or words % 2 == 0 and 2 or 1
end

-- thread -> index and step -> index of each load from shared memory.
function M.load_layouts(o, mma)
  local thread, value = M.partition(o, mma)
  local values = lutile.size(value)
  local per_word = o.word // o.bytes
  local words = values // per_word // o.steps
  if o.load == "matrices" or o.load == "transposed" then
    local per_load = M.words_of_load(o, words)
    return matrix_lanes(o, thread, value, per_load),
      step_layout(value, values // per_word // per_load, per_word * per_load), words, per_load
  end
  local stride = o.load == "whole" and per_word or 1
  return thread, step_layout(value, values // stride, stride), words, 1
end

-- ---- An operand ------------------------------------------------------------------------------

-- All that a kernel must know, from: name ("A" or "B"), rows and k of the tile, bytes an element,
-- major (the mode that is contiguous in shared memory: "k" or "row"), unit (in global memory: that,
-- or "none"), vector_bytes (that global memory allows to copy at once), steps (of an atom along k),
-- threads, arch.
function M.new(o)
  o.major = o.major or "k"
  o.unit = o.unit or o.major
  o.word = o.bytes == 8 and 8 or 4
  local extent = o.major == "k" and o.k or o.rows
  o.vector = math.max(1, math.min((o.vector_bytes or 16) // o.bytes, extent))
  o.rounds = o.rounds or false
  o.load = M.load_of(o.major, o.bytes, o.word)
  o.shared = M.shared_layout(o)
  o.copy = M.copy_layout(o, o.threads)
  M.derive(o)
  return o
end

-- What follows from the layouts: a stage, the elements of a copy, and how they are copied.
function M.derive(o)
  local bytes = lutile.cosize(o.shared) * o.bytes
  o.stage_bytes = (bytes + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES -- swizzles stay in a line
  o.vector = lutile.size(o.copy[1][0])
  o.async = o.arch >= 80 and o.vector * o.bytes >= 4
end

-- ---- As C++ ----------------------------------------------------------------------------------

local function rows_and_k(o, layout)
  local shape = { o.rows, o.k }
  return composition(make_layout(shape, { 1, 0 }), layout),
    composition(make_layout(shape, { 0, 1 }), layout)
end

-- Offsets in shared memory of thread and step are those of the sum of their indices.
local function check_parts(o, what, thread, step, shared)
  local swizzle = emit.split_swizzle(shared, 1)
  local mask = emit.mask(swizzle)
  local from, by = composition(shared, thread), composition(shared, step)
  for s = 0, lutile.size(step) - 1 do
    local offset = by(s)
    local over, beside = offset & mask, offset & ~mask
    for t = 0, lutile.size(thread) - 1 do
      local wanted = shared(thread(t) + step(s))
      if (from(t) ~ over) + beside ~= wanted then
        error(("plan: %s of %s: thread %d, step %d have offset %d of %s, but %d as a sum of parts")
          :format(what, o.name, t, s, wanted, tostring(shared), (from(t) ~ over) + beside), 0)
      end
    end
  end
end

local LOADS = { matrices = "kMatrices", transposed = "kTransposed", whole = "kWhole",
  elements = "kElements" }
local UNITS = { row = 0, k = 1, none = -1 }

local function copies_source(o)
  local shared, copy = o.shared, o.copy
  local copy_thread, copies = copy[0], copy[1][1]
  local row, k = rows_and_k(o, copy_thread)
  local row_step, k_step = rows_and_k(o, copies)
  check_parts(o, "copies", copy_thread, copies, shared)
  return table.concat({
    emit.constant("kTileK", o.k),
    emit.constant("kThreads", o.threads),
    emit.constant("kUnit", UNITS[o.unit], "the contiguous mode: 0 is rows, 1 is k, -1 neither"),
    emit.constant("kVector", o.vector, "elements of a copy"),
    emit.constant("kCopies", lutile.size(copies), "of a thread for a tile"),
    emit.constant("kCopyThreads", lutile.size(copy_thread)),
    emit.constant("kAsync", o.async),
    emit.constant("kStageBytes", o.stage_bytes),
    "",
    "  /* Coordinates of a copy: the thread's first, and from there. */",
    emit.layout("copy_row", row), emit.layout("copy_k", k),
    emit.layout("copy_row_step", row_step), emit.layout("copy_k_step", k_step),
    "",
    "  /* Bytes in a stage at which it arrives. */",
    emit.constant("kStoreMask", emit.mask((emit.split_swizzle(shared, o.bytes)))),
    emit.layout("store", composition(shared, copy_thread), o.bytes),
    emit.layout("store_step", composition(shared, copies), o.bytes),
  }, "\n")
end

-- thread -> index, as load_layouts has it, of rows that threads get by fours (result.by_fours): of
-- loads of two atoms' matrices, both halves of k of each. Threads that have them crossed take the
-- place of others.
local function load_by_fours(o)
  return make_layout(make_layout({ 2, 4 }, { 1, 4 }), make_layout({ 2, 2 }, { o.rows * 8, 2 }),
    make_layout(o.threads // WARP, 0))
end

local function by_fours_source(o, load_step)
  local thread = load_by_fours(o)
  check_parts(o, "loads by fours", thread, load_step, o.shared)
  return ("\n  /* The same for rows that threads get by fours, of which half cross. */\n%s\n"
    .. "  static DEVICE unsigned load_by_fours(unsigned i) { return by_fours(i ^ (i & 4) << 2); }")
    :format(emit.layout("by_fours", composition(o.shared, thread), o.bytes))
end

-- The struct of an operand: 'arrival' is its members that say how tiles come to shared memory.
function M.struct(o, mma, arrival)
  local shared = o.shared
  local load_thread, load_step, words, per_load = M.load_layouts(o, mma)
  check_parts(o, "loads", load_thread, load_step, shared)
  return table.concat({
    "struct " .. (o.struct or o.name) .. " {",
    ("  using Word = %s;  /* a register */"):format(
      o.word == 8 and "unsigned long long" or "unsigned"),
    emit.constant("kBytes", o.bytes, "of an element"),
    arrival,
    "",
    "  /* Loads to registers: words of a k-step, words of one load, bytes in a stage. */",
    ("  static constexpr Load kLoad = %s;"):format(LOADS[o.load]),
    emit.constant("kWords", words), emit.constant("kWordsOfLoad", per_load),
    emit.constant("kRounds", o.rounds),
    emit.constant("kLoadMask", emit.mask((emit.split_swizzle(shared, o.bytes)))),
    emit.layout("load", composition(shared, load_thread), o.bytes),
    emit.layout("load_step", composition(shared, load_step), o.bytes)
      .. (o.by_fours and by_fours_source(o, load_step) or ""),
    "};",
  }, "\n")
end

function M.source(o, mma) return M.struct(o, mma, copies_source(o)) end

return M
