-- Plans for Hopper: what TMA puts into shared memory is what the descriptors have the MMAs read,
-- and what threads write there is what TMA stores; as PTX describes TMA's boxes, the matrix
-- descriptors and stmatrix.

local lutile = require "lutile"
local gemm_sm90 = require "lutile.plan.gemm_sm90"
local result = require "lutile.plan.result"

local size = lutile.size

local STEP_K, UNIT, WARPGROUP = 16, 16, 128

-- The 128-byte swizzle of an address.
local function swizzled(address) return address ~ (address >> 7 & 7) << 4 end

-- ---- Operands ----------------------------------------------------------------------------------

-- Address -> (row, k), after all blocks have loaded their slices.
local function load(o)
  local at = {}
  local plain = o.shared:as_position_independent_swizzle_layout()
  local box = o.tma.desc.boxDim
  for i = 0, size(o.boxes) - 1 do
    local first = o.boxes(i)
    local row, k = first % o.rows, first // o.rows
    local start = plain(first) * o.bytes
    for y = 0, box[2] - 1 do
      for x = 0, box[1] - 1 do
        local address = start + swizzled(y * 128 + x * o.bytes)
        assert.is_nil(at[address])
        at[address] = o.major == "K" and { row + y, k + x } or { row + x, k + y }
      end
    end
  end
  return at
end

-- Fields of a descriptor: start, leading and stride byte offset, in units.
local function fields(desc) return desc & 0x3fff, desc >> 16 & 0x3fff, desc >> 32 & 0x3fff end

-- Where an MMA reads its element (mn, k) of a stage that starts at 'base', by the descriptor that
-- starts 'start' units further.
local function address_of(o, base, start, mn, k)
  local per_unit = UNIT // o.bytes
  local lbo, sbo
  start, lbo, sbo = fields(o.descriptor.desc + base // UNIT + start)
  start = start - base // UNIT
  if o.major == "K" then
    local unit = start + mn // 8 * sbo + mn % 8 * 8 + k // per_unit
    return swizzled(unit * UNIT + k % per_unit * o.bytes)
  end
  local column = mn // per_unit
  local unit = start + column % 8 + column // 8 * lbo + k % 8 * 8 + k // 8 * sbo
  return swizzled(unit * UNIT + mn % per_unit * o.bytes)
end

local function check_mma(o, at, base, start, rows, first_row, step)
  for mn = 0, rows - 1 do
    for k = 0, STEP_K - 1 do
      local found = at[address_of(o, base, start, mn, k)]
      if not found or found[1] ~= first_row + mn or found[2] ~= step * STEP_K + k then
        error(("%s (%d,%d) of step %d is not where the descriptor says"):format(o.name, mn, k,
          step))
      end
    end
  end
end

-- All MMAs of all warpgroups, with the last stage: the rows of A are those of the accumulators.
local function check_operands(p)
  local last = p.stages - 1
  local base_a = last * p.A.stage_bytes
  local base_b = p.stages * p.A.stage_bytes + last * p.B.stage_bytes
  local c = result.layouts(p.mma, p.tile[1], p.tile[2])
  local a, b = load(p.A), load(p.B)
  local atoms = p.tile[1] // (64 * p.sharers)
  for w = 0, p.sharers - 1 do
    for step = 0, p.tile[3] // STEP_K - 1 do
      for i = 0, atoms - 1 do
        local row = c.row(w * WARPGROUP) + c.row_step(i * c.values // atoms)
        check_mma(p.A, a, base_a, p.A.starts(w) + p.A.steps(i + step * atoms), 64, row, step)
      end
      check_mma(p.B, b, base_b, p.B.starts(w) + p.B.steps(step), p.tile[2], 0, step)
    end
  end
end

-- ---- The output --------------------------------------------------------------------------------

local function place(o, thread, step)
  local from, by = o.store(thread) * o.bytes, o.store_step(step) * o.bytes
  return (from ~ (by & o.mask)) + (by & ~o.mask)
end

-- Bytes at which value v of a thread is after its write.
local function written_at(o, thread, v)
  local values = o.words_of_write * 4 // o.bytes
  local write, in_write = v // values, v % values
  if o.words_of_write ~= 4 then return place(o, thread, write) + in_write * o.bytes end
  local lane, warp = thread % 32, thread // 32
  local row_owner = in_write // 2 * 8 + lane // 4
  return place(o, warp * 32 + row_owner, write) + lane % 4 * 4 + in_write % 2 * o.bytes
end

local function check_output(p)
  local o = p.D
  local c = result.layouts(p.mma, p.tile[1], p.tile[2])
  local seen = {}
  for thread = 0, WARPGROUP - 1 do
    for v = 0, o.values_of_chunk - 1 do
      local row, column = c.row(thread) + c.row_step(v), c.column(thread) + c.column_step(v)
      local address = written_at(o, thread, v)
      if address ~= swizzled(row * 128 + column * o.bytes) then
        error(("value %d of thread %d, (%d,%d), is written at %d"):format(v, thread, row, column,
          address))
      end
      seen[address] = true
    end
  end
  for i = 0, o.buffer_bytes - 1, o.bytes do assert.is_true(seen[i]) end
  for i = 0, o.buffer_bytes // o.bytes - 1 do
    local row, column = i // o.columns, i % o.columns
    assert.equal(swizzled(row * 128 + column * o.bytes), o.elements(i) * o.bytes)
  end
end

-- Chunks beyond the first one: the same places, that many columns on.
local function check_chunks(p)
  local o = p.D
  local c = result.layouts(p.mma, p.tile[1], p.tile[2])
  local atoms = p.tile[1] // (64 * p.sharers)
  for v = 0, c.values - 1 do
    local chunk, in_chunk = v // o.values_of_chunk, v % o.values_of_chunk
    local atom = chunk // o.chunks
    assert.equal(c.row_step(in_chunk) + c.row_step(atom * c.values // atoms), c.row_step(v))
    assert.equal(c.column_step(in_chunk) + chunk % o.chunks * o.columns, c.column_step(v))
  end
end

describe("gemm_sm90", function()
  local tiles = { { 128, 256, 64 }, { 256, 128, 64 }, { 128, 128, 64 } }
  for _, tile in ipairs(tiles) do
    for _, cluster in ipairs { { 1, 1 }, { 2, 1 }, { 1, 2 } } do
      for _, major in ipairs { "k", "row" } do
        it(("multiplies what it loads: %dx%dx%d, %s, cluster %dx%d"):format(tile[1], tile[2],
          tile[3], major, cluster[1], cluster[2]), function()
          local p = gemm_sm90.new { dtype = "bf16", tile = tile, cluster = cluster,
            a_major = major, b_major = major }
          assert.same({ 64, major == "k" and tile[1] // cluster[2] or 64, 1 }, p.A.tma.desc.boxDim)
          check_operands(p)
        end)
      end
    end
    for _, out in ipairs { "f16", "f32" } do
      it(("stores all sums: %dx%dx%d, %s"):format(tile[1], tile[2], tile[3], out), function()
        local p = gemm_sm90.new { dtype = "f16", tile = tile, out = out }
        check_output(p)
        check_chunks(p)
      end)
    end
  end

  it("lets warpgroups take turns", function()
    for _, tile in ipairs { { 128, 128, 64 }, { 64, 256, 64 } } do
      local p = gemm_sm90.new { dtype = "f16", tile = tile, ping_pong = true, b_major = "row" }
      check_operands(p)
      check_output(p)
      check_chunks(p)
    end
  end)

  it("takes turns with as many stages as fit, unless told otherwise", function()
    local p = gemm_sm90.new { dtype = "bf16" }
    assert.same({ 128, 128, 64 }, p.tile)
    assert.is_true(p.ping_pong)
    assert.equal(6, p.stages)
    assert.same({ 128, 256, 64 }, gemm_sm90.new { dtype = "f16", ping_pong = false }.tile)
    assert.is_false(gemm_sm90.new { dtype = "f16", tile = { 128, 256, 64 } }.ping_pong)
  end)

  it("writes one block for one plan", function()
    local options = { dtype = "f16", a_major = "row", cluster = { 2, 1 } }
    local block = gemm_sm90.new(options):block()
    assert.equal(block, gemm_sm90.new(options):block())
    assert.is_nil(block:find "@")
  end)

  it("says what cannot be", function()
    local function message_of(options)
      return select(2, pcall(gemm_sm90.new, options))
    end
    assert.equal("products of f64: f16 and bf16 there are", message_of { dtype = "f64" })
    assert.equal("tile: 192 columns, where 128 and 256 there are",
      message_of { dtype = "f16", tile = { 128, 192, 64 } })
    assert.equal("tile: 64 rows are not those of 2 warpgroups, 64 each",
      message_of { dtype = "f16", tile = { 64, 256, 64 } })
    assert.equal("5 stages need 278608 bytes of shared memory, where a block has 232448",
      message_of { dtype = "f16", tile = { 128, 256, 64 }, stages = 5 })
    assert.equal("cluster: 2x2, where one of the two is 1",
      message_of { dtype = "f16", cluster = { 2, 2 } })
  end)
end)
