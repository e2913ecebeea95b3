-- Plans for Hopper: what TMA puts into shared memory is what the descriptors have the MMAs read,
-- and what threads write there is what TMA stores; as PTX describes TMA's boxes, the matrix
-- descriptors and stmatrix.

local lutile = require "lutile"
local gemm_sm90 = require "lutile.plan.gemm_sm90"
local result = require "lutile.plan.result"

local size = lutile.size

local UNIT, WARPGROUP = 16, 128

-- The swizzle of lines of 'width' bytes, of an address.
local function swizzled(address, width)
  return address ~ (address >> 7 & width // UNIT - 1) << 4
end

-- ---- Operands ----------------------------------------------------------------------------------

-- Address -> (row, k), after all blocks have loaded their slices.
local function load(o)
  local at = {}
  local plain = o.shared:as_position_independent_swizzle_layout()
  local lines = o.major == "K" and o.box_rows or o.box_k
  for i = 0, size(o.boxes) - 1 do
    local first = o.boxes(i)
    local row, k = first % o.rows, first // o.rows
    local start = plain(first) * o.bytes
    for y = 0, lines - 1 do
      for x = 0, o.width // o.bytes - 1 do
        local address = start + swizzled(y * o.width + x * o.bytes, o.width)
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
    return swizzled(unit * UNIT + k % per_unit * o.bytes, 128)
  end
  local column, line = mn // per_unit, o.width // UNIT
  local unit = start + column % line + column // line * lbo + k % 8 * line + k // 8 * sbo
  return swizzled(unit * UNIT + mn % per_unit * o.bytes, o.width)
end

local function check_mma(o, at, base, start, rows, first_row, step)
  local step_k = 32 // o.bytes
  for mn = 0, rows - 1 do
    for k = 0, step_k - 1 do
      local found = at[address_of(o, base, start, mn, k)]
      if not found or found[1] ~= first_row + mn or found[2] ~= step * step_k + k then
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
    for step = 0, p.tile[3] * p.A.bytes // 32 - 1 do
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
  local values = o.bytes_of_write // o.bytes
  local write, in_write = v // values, v % values
  if o.bytes_of_write ~= 16 then return place(o, thread, write) + in_write * o.bytes end
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
      if address ~= swizzled(row * o.width + column * o.bytes, o.width) then
        error(("value %d of thread %d, (%d,%d), is written at %d"):format(v, thread, row, column,
          address))
      end
      seen[address] = true
    end
  end
  for i = 0, o.buffer_bytes - 1, o.bytes do assert.is_true(seen[i]) end
  for i = 0, o.buffer_bytes // o.bytes - 1 do
    local row, column = i // o.columns, i % o.columns
    assert.equal(swizzled(row * o.width + column * o.bytes, o.width), o.elements(i) * o.bytes)
  end
end

-- Chunks beyond the first one: the same places, that many columns on; all columns are in one.
local function check_chunks(p)
  local o = p.D
  local c = result.layouts(p.mma, p.tile[1], p.tile[2])
  local atoms = p.tile[1] // (64 * p.sharers)
  local written = {}
  for chunk = 0, atoms * o.chunks - 1 do
    local atom = chunk // o.chunks
    local first_column = math.min(chunk % o.chunks * o.columns, p.tile[2] - o.columns)
    local first = atom * c.values // atoms + first_column // 2
    for i = 0, o.values_of_chunk - 1 do
      assert.equal(c.row_step(i) + c.row_step(atom * c.values // atoms), c.row_step(first + i))
      assert.equal(c.column_step(i) + first_column, c.column_step(first + i))
      written[first + i] = true
    end
  end
  for v = 0, c.values - 1 do assert.is_true(written[v]) end
end

local function text(tile) return ("%dx%d"):format(tile[1], tile[2]) end

describe("gemm_sm90", function()
  for _, tile in ipairs { { 64, 32 }, { 128, 96 }, { 128, 128 }, { 128, 160 }, { 192, 192 },
    { 128, 256 }, { 256, 128 } } do
    for _, cluster in ipairs { { 1, 1 }, { 2, 1 }, { 1, 2 } } do
      for _, major in ipairs { "k", "row" } do
        it(("multiplies what it loads: %s, %s, cluster %s"):format(text(tile), major,
          text(cluster)), function()
          check_operands(gemm_sm90.new { dtype = "bf16", tile = tile, cluster = cluster,
            a_major = major, b_major = major })
        end)
      end
    end
    for _, out in ipairs { "f16", "f32", "e4m3" } do
      it(("stores all sums: %s, %s"):format(text(tile), out), function()
        local p = gemm_sm90.new { dtype = "f16", tile = tile, out = out }
        check_output(p)
        check_chunks(p)
      end)
    end
  end

  for _, columns in ipairs { 48, 80, 112, 144, 176, 208, 240 } do
    it(("multiplies and stores tiles of %d columns"):format(columns), function()
      local tile = { 64, columns }
      for _, out in ipairs { "f16", "f32", "u8" } do
        for _, cluster in ipairs { { 1, 1 }, { 2, 1 } } do
          local p = gemm_sm90.new { dtype = "f16", tile = tile, out = out, cluster = cluster }
          check_operands(p)
          check_output(p)
          check_chunks(p)
          local twice = p.D.chunks * p.D.columns - columns
          assert.is_true((out == "u8" and 3 or 6) * twice <= columns)
        end
      end
      for _, out in ipairs { "f16", "f32" } do
        local p = gemm_sm90.new { dtype = "f16", tile = tile, out = out, reads_c = true }
        check_output(p)
        assert.equal(columns, p.D.chunks * p.D.columns)
      end
      assert.has_error(function()
        gemm_sm90.new { dtype = "f16", tile = tile, out = "u8", reads_c = true }
      end, ("D: no lines of 32 bytes or more divide the tile's %d columns and the modes of a "
        .. "row-major matrix (C is read: no column is written twice)"):format(columns))
    end)
  end

  it("loads rows of tiles by narrower lines, where its columns are no whole lines", function()
    local p = gemm_sm90.new { dtype = "f16", tile = { 64, 176 }, b_major = "row" }
    assert.equal(32, p.B.width)
    check_operands(p)
    assert.has_error(function()
      gemm_sm90.new { dtype = "f16", tile = { 64, 176 }, cluster = { 2, 1 }, b_major = "row" }
    end, "B: 88 rows of f16 are no lines of 16, 32 or 64 elements that TMA takes from a row-major "
      .. "matrix")
  end)

  for _, dtype in ipairs { "tf32", "e4m3", "e5m2", "s8", "u8" } do
    it("multiplies what it loads: " .. dtype, function()
      local p = gemm_sm90.new { dtype = dtype, tile = { 128, 96 }, cluster = { 2, 1 } }
      assert.equal(128 // p.A.bytes, p.tile[3])
      check_operands(p)
    end)
  end

  it("lets warpgroups take turns", function()
    for _, tile in ipairs { { 128, 128 }, { 64, 256 }, { 64, 64 } } do
      local p = gemm_sm90.new { dtype = "f16", tile = tile, ping_pong = true, b_major = "row" }
      check_operands(p)
      check_output(p)
      check_chunks(p)
    end
  end)

  it("needs a warpgroup that multiplies, and two that take turns", function()
    for _, consumers in ipairs { 0, -1, 1.5 } do
      assert.has_error(function() gemm_sm90.new { dtype = "f16", consumers = consumers } end,
        ("consumers: %s, where one or more multiply"):format(consumers))
    end
    assert.has_error(function()
      gemm_sm90.new { dtype = "f16", ping_pong = true, consumers = 1 }
    end, "consumers: 1, where two or more take turns")
  end)

  it("shares tiles or takes turns, with as many stages as fit", function()
    for _, case in ipairs {
      { { dtype = "bf16" }, { 128, 256, 64 }, false, 4 },
      { { dtype = "f16", ping_pong = true }, { 128, 128, 64 }, true, 6 },
      { { dtype = "f16", tile = { 128, 192 }, ping_pong = true }, { 128, 192, 64 }, true, 4 },
      { { dtype = "tf32" }, { 128, 256, 32 }, false, 4 },
      { { dtype = "e4m3" }, { 128, 128, 128 }, true, 6 },
      { { dtype = "e4m3", promote = 4 }, { 128, 128, 128 }, false, 6 },
    } do
      local options, tile, ping_pong, stages = table.unpack(case)
      local p = gemm_sm90.new(options)
      assert.same(tile, p.tile)
      assert.equal(ping_pong, p.ping_pong)
      assert.equal(stages, p.stages)
    end
  end)

  it("shifts registers where the launch's are too few", function()
    assert.same({ 40, 232 }, gemm_sm90.new { dtype = "f16" }.registers)
    assert.same({ 0, 0 }, gemm_sm90.new { dtype = "f16", tile = { 64, 128 } }.registers)
    assert.same({ 32, 160 }, gemm_sm90.new { dtype = "f16", tile = { 192, 128 } }.registers)
    local widest = { dtype = "f16", tile = { 128, 192 }, ping_pong = true }
    assert.same({ 40, 232 }, gemm_sm90.new(widest).registers)
    widest.reads_c = true
    assert.same({ 24, 240 }, gemm_sm90.new(widest).registers)
    widest.grouped = true -- its producer goes through a table
    assert.same({ 40, 232 }, gemm_sm90.new(widest).registers)
  end)

  it("needs a workspace of a tile and a counter a warpgroup for each block, if tiles have parts",
    function()
      assert.same({ 0, 0 }, { gemm_sm90.new { dtype = "f16" }:workspace(132) })
      assert.same({ 10 * 128 * 128 * 4, 10 },
        { gemm_sm90.new { dtype = "f16", ping_pong = true, splits = 4 }:workspace(10) })
      assert.same({ 10 * 128 * 256 * 4, 20 },
        { gemm_sm90.new { dtype = "f16", tile = { 128, 256 }, splits = 4 }:workspace(10) })
      assert.same({ 10 * 128 * 128 * 2, 10 },
        { gemm_sm90.new { dtype = "f16", acc = "f16", ping_pong = true, splits = 4 }
          :workspace(10) })
    end)

  it("writes one block for one plan", function()
    local options = { dtype = "f16", a_major = "row", cluster = { 2, 1 } }
    local block = gemm_sm90.new(options):block()
    assert.equal(block, gemm_sm90.new(options):block())
    assert.is_nil(block:find "@%u")
  end)

  it("has a default, which is the plan for f16", function()
    local file = assert(io.open "kernels/gemm_sm90_plan.cuh")
    local header = file:read "a"
    file:close()
    local block = gemm_sm90.new { dtype = "f16" }:block():gsub("^#define LUTILE_PLAN", "")
    assert.equal(block, header:match "#pragma once(.*)")
  end)
end)

-- ---- Tensor maps -------------------------------------------------------------------------------

local make_layout, dyn = lutile.make_layout, lutile.dyn

describe("maps of gemm_sm90", function()
  it("are those of plain matrices", function()
    local p = gemm_sm90.new { dtype = "bf16", b_major = "row", out = "f32" }
    local maps = p:maps { A = make_layout({ 100, 200, 3 }, { 208, 1, 20800 }),
      B = make_layout({ 72, 200 }, { 1, 80 }), D = make_layout({ 100, 72, 3 }, { 76, 1, 7600 }) }
    assert.same({ tensorRank = 3, tensorDataType = "bf16", globalDim = { 200, 100, 3 },
      globalStrides = { 416, 41600 }, boxDim = { 64, 128, 1 }, elementStrides = { 1, 1, 1 },
      interleave = "none", swizzle = "128B", oobFill = "zero" }, maps.A)
    assert.same({ 72, 200, 1 }, maps.B.globalDim)
    assert.same({ 160, 16 }, maps.B.globalStrides)
    assert.same({ 64, 64, 1 }, maps.B.boxDim)
    assert.same({ 304, 30400 }, maps.D.globalStrides)
    assert.same({ 32, 64, 1 }, maps.D.boxDim)
    assert.same({ 76, 7600, 0, 0 }, p:strides(make_layout({ 100, 72, 3 }, { 76, 1, 7600 })))
  end)

  it("have a mode for each of a hierarchical matrix, in boxes of whole ones", function()
    local a = make_layout({ { 16, dyn(10) }, { 128, dyn(3) }, dyn(2) },
      { { dyn(256, 8), dyn(8192, 8) }, { 1, dyn(128, 8) }, dyn(81920, 8) })
    local p = gemm_sm90.new { dtype = "f16", a_layout = a }
    local map = p:maps { A = make_layout({ { 16, 10 }, { 128, 3 }, 2 },
      { { 384, 8192 }, { 1, 128 }, 81920 }) }.A
    assert.same({ 128, 16, 10, 3, 2 }, map.globalDim)
    assert.same({ 768, 16384, 256, 163840 }, map.globalStrides)
    assert.same({ 64, 16, 8, 1, 1 }, map.boxDim)
    assert.truthy(p:block():find("return {{k % 128, row % 16, row / 16, k / 128, batch}};", 1,
      true))
  end)

  it("cut a tile into boxes that divide inner modes", function()
    local p = gemm_sm90.new { dtype = "f16",
      a_layout = make_layout({ { 96, 10 }, 256 }, { { 256, 32768 }, 1 }) }
    assert.equal(32, p.A.box_rows)
    assert.equal(4, p.A.box_count)
    check_operands(p)
  end)
end)

describe("gemm_sm90 says", function()
  local function rows(extents, strides) return make_layout({ extents, 128 }, { strides, 1 }) end

  for message, options in pairs {
    ["products of f64: f16, bf16, tf32, e4m3, e5m2, s8 and u8 there are"] = { dtype = "f64" },
    ["products of f16 and bf16: no MMA has them"] = { dtype = "f16", dtype_b = "bf16" },
    ["sums of bf16 products are not f16"] = { dtype = "bf16", acc = "f16" },
    ["B: MMAs take e4m3 along k only, and it is contiguous along its rows"] =
      { dtype = "e4m3", b_major = "row" },
    ["tile: 136 columns, where multiples of 16 from 32 to 256 there are"] =
      { dtype = "f16", tile = { 128, 136 } },
    ["tile: 320 rows, where multiples of 128 up to 256 there are, 64 of each of 2 warpgroups"] =
      { dtype = "f16", tile = { 320, 64 } },
    ["tile: 282 registers, 256 of them of sums, and a thread has 232"] =
      { dtype = "f16", tile = { 256, 256 } },
    ["tile: 242 registers, 208 of them of sums, and a thread has 232"] =
      { dtype = "f16", tile = { 128, 208 }, ping_pong = true },
    ["tile: 234 registers, 208 of them of sums, and a thread has 232"] =
      { dtype = "f16", tile = { 256, 208 }, reads_c = true },
    ["tile: 258 registers, 224 of them of sums and of runs, and a thread has 255"] =
      { dtype = "e4m3", tile = { 64, 224 }, promote = 4 },
    ["tile: 178 registers, 128 of them of sums, and a thread has 160"] =
      { dtype = "f16", tile = { 128, 128 }, ping_pong = true, consumers = 3 },
    ["tile: an MMA takes 154 registers, and a launch of 4 warpgroups gives 128"] =
      { dtype = "f16", tile = { 192, 256 } },
    ["5 stages need 278608 bytes of shared memory, where a block has 232448"] =
      { dtype = "f16", tile = { 128, 256 }, stages = 5 },
    ["splits: lines of D of 8 elements have 2 registers of sums, where parts take 4 at once"] =
      { dtype = "f16", acc = "f16", out = "f32", splits = 2, line_bytes = 32 },
    ["D: no lines of 32 bytes or more divide the tile's 64 columns and the modes of "
      .. "(64,(4,16)):(4,(1,256))"] = { dtype = "f16", tile = { 64, 64 },
      d_layout = make_layout({ 64, { 4, 16 } }, { 4, { 1, 256 } }) },
    ["D: no box of 8 lines or more divides the 64 rows of an MMA and the modes of "
      .. "((20,8),64):((64,4096),1)"] = { dtype = "f16", tile = { 64, 64 },
      d_layout = make_layout({ { 20, 8 }, 64 }, { { 64, 4096 }, 1 }) },
    ["buffers: 1, where an integer from 2 to 227 is needed: one is written, another stored"] =
      { dtype = "f16", buffers = 1 },
    ["buffers: 2.0, where an integer from 2 to 227 is needed: one is written, another stored"] =
      { dtype = "f16", buffers = 2.0 },
    ["buffers: 65536, where an integer from 2 to 227 is needed: one is written, another stored"] =
      { dtype = "f16", buffers = 1 << 16 },
    ["tile: shared memory has no room for two stages beside 16 buffers of the output of each of 2 "
      .. "warpgroups"] = { dtype = "f16", out = "f16", tile = { 128, 128 }, buffers = 16 },
    ["cluster: 2x2, where one of the two is 1"] = { dtype = "f16", cluster = { 2, 2 } },
    ["cluster: 1x16, where 8 blocks are the most"] = { dtype = "f16", cluster = { 1, 16 } },
    ["stages is 1, where one is loaded while another is multiplied: 2 at least"] =
      { dtype = "f16", stages = 1 },
    ["promote: 3 MMAs of sums of f32, where multiples of 4 of f32 there are"] =
      { dtype = "e4m3", promote = 3 },
    ["C of s32, and sums of f32"] = { dtype = "f16", out = "s32" },
    ["bias is 'both': \"row\" and \"column\" there are"] = { dtype = "f16", bias = "both" },
    ["A: mode (M,0) of ((?16,8),128):((128,4096),1) is known at launch only, where TMA's boxes "
      .. "want all but the last number"] =
      { dtype = "f16", a_layout = rows({ dyn(16), 8 }, { 128, 4096 }) },
    ["A: mode (M,1) of ((16,8),128):((128,1),2048) is contiguous, where TMA wants that of mode "
      .. "0"] = { dtype = "f16", a_layout = make_layout({ { 16, 8 }, 128 }, { { 128, 1 }, 2048 }) },
    ["A: no mode of (64,64):(2,128) has stride 1, which TMA wants"] =
      { dtype = "f16", a_layout = make_layout({ 64, 64 }, { 2, 128 }) },
    ["A: no box of 8 lines or more divides the tile (128,64) and the modes of "
      .. "((20,8),128):((128,4096),1)"] =
      { dtype = "f16", a_layout = rows({ 20, 8 }, { 128, 4096 }) },
    ["A: 64 elements of k are no lines of 32, 64 or 128 bytes that TMA takes from (64,(20,4)):(128,"
      .. "(1,8192))"] =
      { dtype = "f16", a_layout = make_layout({ 64, { 20, 4 } }, { 128, { 1, 8192 } }) },
    ["A: ((2,2,2),(64,2,2)):((128,1024,4096),(1,65536,1048576)) has 7 modes, where TMA has 5"] =
      { dtype = "f16", a_layout = make_layout({ { 2, 2, 2 }, { 64, 2, 2 } },
        { { 128, 1024, 4096 }, { 1, 65536, 1048576 } }) },
    ["D: (64,64):(1,64) is contiguous along its rows, where the kernel writes along the columns: "
      .. "D^T = B * A^T is what it can compute"] =
      { dtype = "f16", d_layout = make_layout({ 64, 64 }, { 1, 64 }) },
  } do
    it(message, function()
      assert.equal(message, select(2, pcall(gemm_sm90.new, options)))
    end)
  end

  it("which stride of a matrix TMA cannot take", function()
    local p = gemm_sm90.new { dtype = "f16" }
    assert.equal("A: stride 100 of (64,100):(100,1) is 200 bytes, where TMA has multiples of 16 "
      .. "from there to 2^40", select(2, pcall(p.maps, p,
      { A = make_layout({ 64, 100 }, { 100, 1 }) })))
    assert.equal("A: (64,64):(1,64) is not contiguous along K, as the plan's is",
      select(2, pcall(p.maps, p, { A = make_layout({ 64, 64 }, { 1, 64 }) })))
  end)
end)
