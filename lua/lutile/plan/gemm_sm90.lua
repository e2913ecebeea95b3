-- Plans of D = epilogue(alpha * A * B^T + beta * C) for kernels/gemm_sm90.cu: Hopper's TMA and
-- warpgroup MMAs.
--
-- A is (M, K), B is (N, K), C and D are (M, N) and contiguous along N; each with batches behind. A
-- and B are contiguous along k or along their rows. TMA takes strides of multiples of 16 bytes;
-- extents are any.

local lutile = require "lutile"
local base = require "lutile.plan.base"
local emit = require "lutile.plan.emit"
local result = require "lutile.plan.result"

local GMMA, make_layout, composition = lutile.GMMA, lutile.make_layout, lutile.composition

local M = {}

local BYTES = { f16 = 2, bf16 = 2, f32 = 4 }
local LINE_BYTES = 128     -- of a row of the widest swizzle
local PERIOD_BYTES = 1024  -- after which that repeats
local WARPGROUP = 128
local ROWS = 64            -- of a warpgroup's MMA
local BARRIER_BYTES = 8
local SHARED_LIMIT = 227 * 1024 -- CUDA C++ Programming Guide, compute capability 9.0

local function fail(message, ...) error(message:format(...), 0) end

-- ---- Operands in shared memory -----------------------------------------------------------------

-- Atoms of 8 lines, one after the other along k, then along the rows: so a box of TMA has as many
-- lines as it may.
local function shared_layout(o, rows)
  local atom = GMMA["Layout_" .. o.major .. "_SW128_Atom"](o.dtype)
  return lutile.tile_to_shape(atom, { rows, o.k }, { 1, 0 })
end

-- A matrix of any size: TMA's boxes come from the tile, not from this.
local function any_matrix(major, dtype)
  local extent = LINE_BYTES // BYTES[dtype]
  return make_layout({ extent, extent, 2 }, major == "K" and { extent, 1, extent * extent }
    or { 1, extent, extent * extent })
end

local function plain(layout)
  if not lutile.is_composed_layout(layout) then return layout end
  return layout:as_position_independent_swizzle_layout()
end

-- The TMA copy of a slice of the tile, and (box, slice) -> index of the box's start in the tile.
local function find_boxes(o)
  local rows = o.rows // o.slices
  o.tma = lutile.make_tma_copy("SM90_TMA_LOAD", any_matrix(o.major, o.dtype),
    shared_layout(o, rows), { rows, o.k }, nil, o.dtype)
  local in_slice = o.tma.layout_TV[1][0][1]
  local in_tile = composition(make_layout({ rows, o.k }, { 1, o.rows }), in_slice)
  o.box_count = lutile.size(in_slice)
  o.boxes = make_layout(in_tile, make_layout(o.slices, rows))
end

-- Where boxes land: a slice must lie in the tile as it does alone.
local function check_boxes(o)
  local rows = o.rows // o.slices
  local part = composition(plain(o.shared), make_layout({ rows, o.k }, { 1, o.rows }))
  local alone = plain(shared_layout(o, rows))
  for i = 0, rows * o.k - 1 do
    if part(i) ~= alone(i) then
      fail("%s: a slice of %s does not lie as %s", o.name, tostring(o.shared), tostring(alone))
    end
  end
  local k = composition(make_layout({ o.rows, o.k }, { 0, 1 }), o.boxes)
  local start = composition(plain(o.shared), o.boxes)
  for i = 0, lutile.size(o.boxes) - 1 do
    if k(i) ~= 0 or start(i) * o.bytes % PERIOD_BYTES ~= 0 then
      fail("%s: box %d starts inside of a line or of the swizzle's pattern", o.name, i)
    end
  end
end

-- The descriptor of the first MMA; units that the other MMAs of a warpgroup, and those of other
-- warpgroups, add to its start.
local function find_descriptors(o, mma, warpgroups)
  local partition = o.name == "A" and "partition_A" or "partition_B"
  local function of(thread)
    local slice = mma:get_slice(thread)
    return GMMA.smem_desc(o.major, slice[partition](slice, o.shared), o.dtype)
  end
  local first, steps = of(0)
  o.descriptor, o.steps = first, make_layout(steps[1], steps[2])
  local stride = warpgroups > 1 and of(WARPGROUP).start_address or 0
  o.starts = make_layout(warpgroups, stride)
  for w = 0, warpgroups - 1 do
    if of(w * WARPGROUP).start_address ~= o.starts(w) then
      fail("%s: warpgroups start at no fixed distance", o.name)
    end
  end
end

local function new_operand(p, name, rows, major, slices)
  local o = { name = name, rows = rows, k = p.tile[3], dtype = p.dtype, bytes = BYTES[p.dtype],
    major = major == "row" and "MN" or "K", slices = slices }
  local line = LINE_BYTES // o.bytes
  if rows % slices ~= 0 or rows // slices % (o.major == "MN" and line or 8) ~= 0 then
    fail("%s: %d rows are not %d slices of whole lines", name, rows, slices)
  end
  o.shared = shared_layout(o, rows)
  o.stage_bytes = rows * o.k * o.bytes
  find_boxes(o)
  check_boxes(o)
  find_descriptors(o, p.mma, p.sharers)
  return o
end

-- ---- The output --------------------------------------------------------------------------------

-- The lanes of stmatrix: lane 8 * i + r addresses row r of matrix i, which the accumulators have in
-- lane 4 * r of register i, two values; as (thread, value) of the accumulators.
local MATRIX_LANES = make_layout({ 8, 4, 4 }, { 4, 2 * WARPGROUP, 32 })
local MATRIX_VALUES = 8

local function check_place(o, thread, step)
  local mask = emit.mask((emit.split_swizzle(o.shared, 1)))
  local offsets = composition(o.shared, o.values)
  local from, by = composition(offsets, thread), composition(offsets, step)
  for t = 0, lutile.size(thread) - 1 do
    for s = 0, lutile.size(step) - 1 do
      local wanted = offsets(thread(t) + step(s))
      if (from(t) ~ (by(s) & mask)) + (by(s) & ~mask) ~= wanted then
        fail("D: write %d of thread %d has offset %d of %s, but another as a sum of parts", s, t,
          wanted, tostring(o.shared))
      end
    end
  end
  return from, by, mask * o.bytes
end

-- A chunk: the columns of one line, all rows of an MMA; with how threads write it.
local function new_output(p)
  local o = { name = "D", dtype = p.out, bytes = BYTES[p.out], buffers = 2 }
  o.columns = LINE_BYTES // o.bytes
  local layout = lutile.tile_to_shape(GMMA.Layout_K_SW128_Atom(p.out), { ROWS, o.columns })
  o.tma = lutile.make_tma_copy("SM90_TMA_STORE", any_matrix("K", p.out), layout,
    { ROWS, o.columns }, nil, p.out)
  o.shared = plain(layout)
  o.elements = composition(o.shared, make_layout({ o.columns, ROWS }, { ROWS, 1 }))
  o.values_of_chunk = ROWS * o.columns // WARPGROUP
  o.chunks = p.tile[2] // o.columns
  o.values = composition(p.mma.c_layout, { make_layout(WARPGROUP), make_layout(o.values_of_chunk) })
  local thread, values = make_layout(WARPGROUP), 2
  if o.bytes == 2 then thread, values = MATRIX_LANES, MATRIX_VALUES end
  o.writes = o.values_of_chunk // values
  o.words_of_write = values * o.bytes // 4
  o.store, o.store_step, o.mask = check_place(o, thread,
    make_layout(o.writes, values * WARPGROUP))
  o.buffer_bytes = ROWS * o.columns * o.bytes
  return o
end

-- ---- As C++ ------------------------------------------------------------------------------------

local BLOCK = [[
#define LUTILE_PLAN
#include "element.cuh"
#include "swizzle.cuh"
#include "wgmma.cuh"

namespace plan {

@CONSTANTS@

using Element = element::@OUT@;  /* of C and D */
using Compute = float;

@A@

@B@

@D@

DEVICE void mma(float (&d)[kValuesOfAtom], unsigned long long a, unsigned long long b, bool adds) {
  wgmma::@ATOM@<A::kMajor, B::kMajor>(d, a, b, adds);
}

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
@C@

DEVICE Compute epilogue(Compute x, int @m@, int @n@) { return @EPILOGUE@; }

}  // namespace plan
]]

local function constants(p)
  return emit.constants {
    emit.constant("kBlockM", p.tile[1]), emit.constant("kBlockN", p.tile[2]),
    emit.constant("kBlockK", p.tile[3]),
    emit.constant("kSteps", p.tile[3] // p.mma.shape_mnk[2], "of k, of a stage"),
    emit.constant("kAtomsM", p.tile[1] // (ROWS * p.sharers), "of a warpgroup"),
    emit.constant("kValuesOfAtom", ROWS * p.tile[2] // WARPGROUP, "of a thread"),
    emit.constant("kStages", p.stages),
    emit.constant("kConsumers", p.consumers, "warpgroups"),
    emit.constant("kPingPong", p.ping_pong, "consumers take turns with tiles, or share each"),
    emit.constant("kThreads", p.threads),
    emit.constant("kProducerRegisters", p.registers[1]),
    emit.constant("kConsumerRegisters", p.registers[2]),
    emit.constant("kClusterM", p.cluster[1], "blocks on top of each other"),
    emit.constant("kClusterN", p.cluster[2], "blocks side by side"),
    emit.constant("kCluster", p.cluster[1] * p.cluster[2]),
    emit.constant("kGroup", p.group, "rows of tiles that clusters go down together"),
    emit.constant("kSharedBytes", p.shared_bytes), emit.constant("kReadsC", p.reads_c),
  }
end

local function operand_source(o)
  local row = composition(make_layout({ o.rows, o.k }, { 1, 0 }), o.boxes)
  return table.concat({
    "/* " .. tostring(o.shared) .. " */",
    "struct " .. o.name .. " {",
    ("  static constexpr wgmma::Major kMajor = wgmma::kMajor%s;"):format(o.major),
    emit.constant("kStageBytes", o.stage_bytes),
    emit.constant("kSlices", o.slices, "of a tile, each loaded by one block for all"),
    emit.constant("kBoxes", o.box_count, "of a slice"),
    "",
    "  /* Boxes, those of slice 0 first: the first row, and bytes in a stage. */",
    emit.layout("box_row", row),
    emit.layout("box", emit.split_swizzle(composition(plain(o.shared), o.boxes), 1) and
      composition(plain(o.shared).layout_b, o.boxes), o.bytes),
    "",
    "  /* The first MMA's descriptor; units of 16 bytes to a warpgroup's first, and from there. */",
    ("  static constexpr unsigned long long kDescriptor = 0x%016x;"):format(o.descriptor.desc),
    emit.layout("start", o.starts),
    emit.layout("step", o.steps),
    "};",
  }, "\n")
end

local function output_source(o)
  return table.concat({
    "/* A chunk of the output: " .. tostring(o.shared) .. " */",
    "struct D {",
    emit.constant("kChunkColumns", o.columns),
    emit.constant("kChunkElements", ROWS * o.columns),
    emit.constant("kChunks", o.chunks, "of an atom"),
    emit.constant("kValuesOfChunk", o.values_of_chunk, "of a thread"),
    emit.constant("kBuffers", o.buffers),
    emit.constant("kBufferBytes", o.buffer_bytes),
    emit.constant("kWrites", o.writes, "of a thread for a chunk"),
    emit.constant("kWordsOfWrite", o.words_of_write, "4 are matrices' rows"),
    "",
    "  /* Bytes in a buffer at which a thread writes. */",
    emit.constant("kStoreMask", o.mask),
    emit.layout("store", o.store, o.bytes),
    emit.layout("store_step", o.store_step, o.bytes),
    "",
    "  /* Bytes in a buffer of an element, row by row. */",
    emit.layout("element", o.elements, o.bytes),
    "};",
  }, "\n")
end

local Plan = setmetatable({ template = "gemm_sm90.cu", entry = "gemm" }, { __index = base })
Plan.__index = Plan
M.Plan = Plan

-- The generated block: everything that varies in the template.
function Plan:block()
  local fields = {
    CONSTANTS = constants(self), OUT = self.out, A = operand_source(self.A),
    B = operand_source(self.B), D = output_source(self.D), ATOM = self.atom,
    C = result.source(result.layouts(self.mma, self.tile[1], self.tile[2])),
    EPILOGUE = self.epilogue, m = self.transposed and "n" or "m",
    n = self.transposed and "m" or "n",
  }
  return (BLOCK:gsub("@(%w+)@", fields))
end

-- ---- The plan ----------------------------------------------------------------------------------

local function check_tile(p)
  local m, n, k = p.tile[1], p.tile[2], p.tile[3]
  if n ~= 128 and n ~= 256 then fail("tile: %d columns, where 128 and 256 there are", n) end
  if m % (ROWS * p.sharers) ~= 0 then
    fail("tile: %d rows are not those of %d warpgroups, %d each", m, p.sharers, ROWS)
  end
  if k * BYTES[p.dtype] ~= LINE_BYTES then
    fail("tile: k is %d, where a line of the swizzle has %d", k, LINE_BYTES // BYTES[p.dtype])
  end
  if p.cluster[1] > 1 and p.cluster[2] > 1 then
    fail("cluster: %dx%d, where one of the two is 1", p.cluster[1], p.cluster[2])
  end
end

-- As many stages as fit, unless the options say how many.
local function find_shared_bytes(p)
  local stage = p.A.stage_bytes + p.B.stage_bytes + 2 * BARRIER_BYTES
  local rest = p.consumers * p.D.buffers * p.D.buffer_bytes
    + (p.ping_pong and p.consumers or 0) * BARRIER_BYTES
  p.stages = p.stages or (SHARED_LIMIT - rest) // stage
  p.shared_bytes = p.stages * stage + rest
  if p.shared_bytes > SHARED_LIMIT then
    fail("%d stages need %d bytes of shared memory, where a block has %d", p.stages,
      p.shared_bytes, SHARED_LIMIT)
  end
end

-- By time on H200 relative to cuBLAS, the geometric mean of 4096^3, 8192^3, 2048^3, 8192x8192x1024
-- and 4096x14336x4096, f16 and bf16: turns with 128x128 have 1.014 and 1.011, shared 128x256 1.000
-- and 1.005, shared 256x128 0.999 and 1.006, shared 128x128 0.954 and 0.925.
local function choose_tile(p)
  if p.ping_pong == nil then p.ping_pong = not p.tile end
  p.tile = p.tile or (p.ping_pong and { 128, 128, 64 } or { 128, 256, 64 })
end

--[[
new{dtype =, ...}: the plan for

  dtype     of A and B: f16, bf16
  out       of C and D: dtype, f32
  a_major, b_major   "k" (default), or "row" where the rows are contiguous
  tile      {128, 128, 64}, {128, 256, 64}, {256, 128, 64}; consumers: 2 warpgroups
  ping_pong whether consumers take turns with tiles, instead of sharing each: unless 'tile' is given
  stages, cluster ({rows, columns} of blocks), group, reads_c, epilogue
]]
function M.new(options)
  local p = setmetatable({}, Plan)
  for k, v in pairs(options) do p[k] = v end
  p.arch, p.acc = 90, "f32"
  if p.dtype ~= "f16" and p.dtype ~= "bf16" then
    fail("products of %s: f16 and bf16 there are", tostring(p.dtype))
  end
  p.out = p.out or p.dtype
  if not BYTES[p.out] then fail("C of %s: f16, bf16 and f32 there are", tostring(p.out)) end
  choose_tile(p)
  p.consumers = p.consumers or 2
  p.sharers = p.ping_pong and 1 or p.consumers -- of a tile
  p.cluster, p.group = p.cluster or { 1, 1 }, p.group or 16
  p.registers = p.registers or { 40, 232 }
  p.reads_c, p.epilogue = p.reads_c or false, p.epilogue or "x"
  p.compute_type = "f32"
  check_tile(p)
  local type_name = p.dtype:upper()
  p.atom = ("SM90_64x%dx16_F32%s%s_SS"):format(p.tile[2], type_name, type_name)
  p.mma = lutile.make_tiled_mma(p.atom, make_layout { p.sharers, 1, 1 })
  p.threads = (p.consumers + 1) * WARPGROUP
  p.A = new_operand(p, "A", p.tile[1], p.a_major, p.cluster[2])
  p.B = new_operand(p, "B", p.tile[2], p.b_major, p.cluster[1])
  p.D = new_output(p)
  find_shared_bytes(p)
  return p
end

return M
