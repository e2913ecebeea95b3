-- Copies by atoms: what each instruction moves where, and what it refuses to.

local lutile = require "lutile"
local parse, copy, copy_if = lutile.parse, lutile.copy, lutile.copy_if
local threadIdx = lutile.threadIdx

local function message_of(run, ...)
  local succeeded, message = pcall(run, ...)
  assert.is_false(succeeded)
  return message
end

-- Runs a kernel for one warp.
local function warp(kernel) lutile.launch(kernel, { block = 32 }) end

local function numbered(dtype, layout)
  local t = lutile.make_tensor(dtype, layout)
  for i = 0, lutile.size(layout) - 1 do t[i] = i end
  return t
end

-- Rows of 16 bytes in shared memory, numbered by element, and the kernel's own row.
local function shared_rows(dtype, rows, columns)
  local smem = lutile.make_tensor(lutile.make_smem_ptr(dtype, rows * columns),
    lutile.make_layout({ rows, columns }, lutile.LayoutRight))
  if threadIdx.x == 0 then
    for i = 0, rows - 1 do
      for k = 0, columns - 1 do smem[{ i, k }] = (i * columns + k) % 256 end
    end
  end
  lutile.sync()
  return smem, smem(threadIdx.x % rows, lutile._)
end

-- What the registers of all threads hold after a load from 'rows' rows of 'columns' elements.
local function loaded(name, dtype, rows, columns, values)
  local atom, held = lutile.Copy_Atom(name, dtype), {}
  warp(function()
    local _, row = shared_rows(dtype, rows, columns)
    local registers = lutile.make_tensor(dtype, { values })
    copy(atom, row, registers)
    local own = {}
    for v = 0, values - 1 do own[v] = registers(v) end
    held[threadIdx.x] = own
  end)
  return held
end

describe("ldmatrix", function()
  it("gives thread t two elements of row t/4 of each matrix", function()
    for _, count in ipairs { 1, 2, 4 } do
      local name = ("SM75_U32x%d_LDSM_N"):format(count)
      local held = loaded(name, "f16", 8 * count, 8, 2 * count)
      for t = 0, 31 do
        for v = 0, 2 * count - 1 do
          local row, column = v // 2 * 8 + t // 4, t % 4 * 2 + v % 2
          assert.equal(row * 8 + column, held[t][v])
        end
      end
    end
  end)

  it("gives it, transposed, two elements of column t/4", function()
    for _, count in ipairs { 1, 2, 4 } do
      local name = ("SM75_U16x%d_LDSM_T"):format(2 * count)
      local held = loaded(name, "f16", 8 * count, 8, 2 * count)
      for t = 0, 31 do
        for v = 0, 2 * count - 1 do
          local row, column = v // 2 * 8 + t % 4 * 2 + v % 2, t // 4
          assert.equal(row * 8 + column, held[t][v])
        end
      end
    end
  end)

  it("moves bytes and words alike", function()
    local bytes = loaded("SM75_U32x1_LDSM_N", "u8", 8, 16, 4)
    local words = loaded("SM75_U32x1_LDSM_N", "f32", 8, 4, 1)
    for t = 0, 31 do
      assert.equal(t, words[t][0])
      for v = 0, 3 do assert.equal(4 * t + v, bytes[t][v]) end
    end
  end)

  it("unpacks rows of 4 and 6 bits into bytes", function()
    for bits = 4, 6, 2 do
      local held = loaded(("SM100_SU%d_DU8x16_x1_LDSM_N"):format(bits), "u8", 8, 16, 4)
      for t = 0, 31 do
        for v = 0, 3 do
          local row, column = t // 4, t % 4 * 4 + v
          local at = row * 128 + column * bits -- in bits of the numbered bytes
          local pair = at // 8 % 256 | (at // 8 + 1) % 256 << 8
          assert.equal(pair >> at % 8 & ((1 << bits) - 1), held[t][v])
        end
      end
    end
  end)

  it("reads through swizzles", function()
    local atom = lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16")
    local layout = parse "Sw<3,3,3> o 0 o (32,64):(64,1)"
    warp(function()
      local smem = lutile.make_tensor(lutile.make_smem_ptr("f16", 32 * 64), layout)
      for k = 0, 63 do smem[{ threadIdx.x, k }] = threadIdx.x * 64 + k end
      lutile.sync()
      local registers = lutile.make_tensor("f16", { 8 })
      for block = 0, 7 do
        copy(atom, lutile.local_tile(smem(threadIdx.x, lutile._), { 8 }, { block }), registers)
        for v = 0, 7 do
          local row, column = v // 2 * 8 + threadIdx.x // 4, threadIdx.x % 4 * 2 + v % 2
          assert.equal(row * 64 + block * 8 + column, registers(v))
        end
      end
    end)
  end)
end)

describe("stmatrix", function()
  it("is ldmatrix backwards", function()
    for name, load in pairs {
      SM90_U32x1_STSM_N = "SM75_U32x1_LDSM_N", SM90_U32x2_STSM_N = "SM75_U32x2_LDSM_N",
      SM90_U32x4_STSM_N = "SM75_U32x4_LDSM_N", SM90_U16x2_STSM_T = "SM75_U16x2_LDSM_T",
      SM90_U16x4_STSM_T = "SM75_U16x4_LDSM_T", SM90_U16x8_STSM_T = "SM75_U16x8_LDSM_T",
    } do
      local count = tonumber(name:match "x(%d)") // (name:find "U16" and 2 or 1)
      local from, to = lutile.Copy_Atom(load, "f16"), lutile.Copy_Atom(name, "f16")
      warp(function()
        local _, row = shared_rows("f16", 8 * count, 8)
        local registers = lutile.make_tensor("f16", { 2 * count })
        copy(from, row, registers)
        local out = lutile.make_tensor(lutile.make_smem_ptr("f16", 64 * count),
          lutile.make_layout({ 8 * count, 8 }, lutile.LayoutRight))
        copy(to, registers, out(threadIdx.x % (8 * count), lutile._))
        lutile.sync()
        for k = 0, 7 do
          local at = threadIdx.x % (8 * count)
          assert.equal((at * 8 + k) % 256, out(at, k))
        end
      end)
    end
  end)
end)

describe("movements among registers", function()
  -- The registers of all threads after a copy of numbered ones.
  local function moved(name, dtype, values)
    local atom, held = lutile.Copy_Atom(name, dtype), {}
    warp(function()
      local from = lutile.make_tensor(dtype, { values })
      local to = lutile.make_tensor(dtype, { values })
      for v = 0, values - 1 do from[v] = threadIdx.x * values + v end
      copy(atom, from, to)
      held[threadIdx.x] = { [0] = to(0), to(1) }
    end)
    return held
  end

  it("transpose an 8x8 matrix (movmatrix)", function()
    local held = moved("SM75_U32x1_MOVM_T", "f16", 2)
    for t = 0, 31 do
      for v = 0, 1 do
        local row, column = t // 4, t % 4 * 2 + v -- now at the place of (column, row)
        assert.equal(column * 8 + row, held[t][v])
      end
    end
  end)

  it("transpose 2x2 between neighbours and between rows of 4", function()
    for name, distance in pairs {
      SM50_Shuffle_U32_2x2Trans_XOR1 = 1, SM50_Shuffle_U32_2x2Trans_XOR4 = 4,
    } do
      local held = moved(name, "f32", 2)
      for t = 0, 31 do
        local second = t // distance % 2
        for v = 0, 1 do
          local from = t + (v - second) * distance
          assert.equal(from * 2 + second, held[t][v])
        end
      end
    end
  end)
end)

describe("vectors", function()
  local u64 = lutile.Copy_Atom("UniversalCopy<u64>", "f16")

  it("move bits, whatever they stand for", function()
    local from = numbered("f32", parse "8:1")
    local to = lutile.make_tensor("s32", parse "8:1")
    copy(lutile.Copy_Atom("UniversalCopy<u128>", "f32"), from, to)
    assert.equal(0x3f800000, to(1))
    for _, dtype in ipairs { "s4", "b1", "e2m1", "u8", "f64" } do
      local source = lutile.make_tensor(dtype, parse "32:1")
      for i = 0, 31 do source[i] = i % 2 end
      local target = lutile.make_tensor(dtype, parse "32:1")
      local bits = ({ s4 = 8, b1 = 32, e2m1 = 16, u8 = 32, f64 = 128 })[dtype]
      copy(lutile.Copy_Atom(("UniversalCopy<u%d>"):format(bits), dtype), source, target)
      for i = 0, 31 do assert.equal(source(i), target(i)) end
    end
  end)

  it("convert where the copy is automatic", function()
    local from = numbered("f32", parse "(4,2)")
    local to = lutile.make_tensor("f16", parse "(4,2):(2,1)")
    copy(lutile.Copy_Atom("DefaultCopy", "f32"), from, to)
    for i = 0, 7 do assert.equal(from(i), to(i)) end
  end)

  it("are named where a layout scatters them", function()
    local columns = lutile.make_tensor("f16", parse "(8,8):(1,8)")
    local rows = lutile.make_tensor("f16", parse "(8,8):(8,1)")
    assert.equal("copy: UniversalCopy<u64> reads 4 elements of f16 at once, 64 bits, where source "
      .. "((8,8):(8,1)) has 1 in a run, 16 bits: the next is at stride 8",
      message_of(copy, u64, rows, columns))
    assert.equal("copy: UniversalCopy<u64> writes 4 elements of f16 at once, 64 bits, where target "
      .. "((8,8):(8,1)) has 1 in a run, 16 bits: the next is at stride 8",
      message_of(copy, u64, columns, rows))
  end)

  it("are named where a thread's part of a tensor scatters them", function()
    local atom = lutile.Copy_Atom("UniversalCopy<u128>", "f16")
    local tiled = lutile.make_tiled_copy(atom, parse "(16,2):(2,1)", parse "(1,8)")
    local slice, fragment = tiled:get_slice(3), nil
    local function load(layout)
      local part = slice:partition_S(numbered("f16", parse(layout)))
      fragment = lutile.make_fragment_like(part)
      copy(tiled, part, fragment)
      return part
    end
    local part = load "(32,32):(32,1)"
    assert.equal(parse "40 o ((8,1),2,2):((1,0),512,16)", lutile.make_counting_tensor(part.layout,
      part.offset))
    for i = 0, 7 do assert.equal(1 + 32 * (8 + i), fragment(i)) end
    assert.error_matches(function() load "(32,32):(1,32)" end,
      "UniversalCopy<u128> reads 8 elements of f16 at once, 128 bits, "
      .. "where source %(.*%) has 1 in a run, 16 bits: the next is at stride 32$")
  end)

  it("are named where they are not aligned", function()
    local t = numbered("f16", parse "16:1")
    local view = lutile.domain_offset(2, t)
    local target = lutile.make_tensor("f16", parse "4:1")
    assert.equal("copy: UniversalCopy<u64> reads 64 bits at once, aligned to as many, where source "
      .. "(4:1) has them at element 2, bit 32",
      message_of(copy, u64, lutile.make_tensor(view, parse "4:1"), target))
  end)

  it("are refused where they do not fit the atom", function()
    local t, u = numbered("f16", parse "6:1"), lutile.make_tensor("f16", parse "6:1")
    assert.equal("copy: source (6) has 6 values in mode 0, where UniversalCopy<u64> moves 4 a "
      .. "thread: retile gives a fragment the atom's order", message_of(copy, u64, t, u))
    local wide = numbered("f32", parse "8:1")
    assert.equal("copy: source is of f32, 32 bits, where the atom moves f16, 16 bits: it does not "
      .. "convert", message_of(copy, u64, wide, wide))
    local narrow = lutile.Copy_Atom("UniversalCopy<u8>", "f16")
    assert.equal("copy: UniversalCopy<u8> moves 8 bits at once, where an element of f16 has 16",
      message_of(copy, narrow, t, u))
    assert.equal("copy: source 8 and target 4 are not the same number of vectors",
      message_of(copy, u64, numbered("f16", parse "8:1"), numbered("f16", parse "4:1")))
    assert.equal("copy: UniversalCopy<u64> has no element type: Copy_Atom(name, dtype) gives it "
      .. "one", message_of(copy, lutile.Copy_Traits "UniversalCopy<u64>", t, u))
  end)

  it("stay within their buffers", function()
    local t = numbered("f16", parse "8:1")
    local beyond = lutile.make_tensor(t, parse "(4,4):(1,4)")
    local into = lutile.make_tensor("f16", parse "(4,4)")
    assert.error_matches(function() copy(u64, beyond, into) end,
      "copy: beyond%(0,2%) is element 8 of memory that has 8")
  end)
end)

describe("predicated copies", function()
  local u64 = lutile.Copy_Atom("UniversalCopy<u64>", "f16")

  local function copied(atom, predicate_layout, chosen)
    local from, to = numbered("f16", parse "(4,4)"), lutile.make_tensor("f16", parse "(4,4)")
    lutile.fill(to, -1)
    local predicate = lutile.make_tensor("b1", predicate_layout)
    for i = 0, lutile.size(predicate.layout) - 1 do predicate[i] = chosen(i) end
    copy_if(atom, predicate, from, to)
    local values = {}
    for k = 0, 3 do values[k + 1] = to(0, k) end
    return values
  end

  it("ask once a vector, by vector, by rest coordinate or by its first element", function()
    local function even(i) return i % 2 == 0 end
    assert.same({ 0, -1, 8, -1 }, copied(u64, parse "4:1", even))
    assert.same({ 0, -1, 8, -1 }, copied(u64, parse "(1,4)", even))
    assert.same({ 0, -1, 8, -1 }, copied(u64, parse "(4,4)", function(i) return even(i // 4) end))
  end)

  it("do not look at what they leave out", function()
    local t = numbered("f16", parse "8:1")
    local beyond = lutile.make_tensor(t, parse "(4,4):(1,4)")
    local into = lutile.make_tensor("f16", parse "(4,4)")
    local inside = lutile.make_tensor("b1", { 4 })
    inside[0], inside[1] = true, true
    copy_if(u64, inside, beyond, into)
    assert.equal(7, into(3, 1))
    assert.equal(0, into(0, 2))
  end)

  it("refuse predicates of another number", function()
    local t, three = numbered("f16", parse "(4,4)"), lutile.make_tensor("b1", parse "3:1")
    assert.equal("copy_if: predicate 3 has 3 elements, where the target (4,4) has 4 vectors of "
      .. "UniversalCopy<u64>", message_of(copy_if, u64, three, t, t))
  end)

  it("fill with zeros by ZFILL atoms", function()
    local atom = lutile.Copy_Atom("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<u64>", "f16")
    local from = numbered("f16", parse "(4,4)")
    lutile.launch(function()
      local smem = lutile.make_tensor(lutile.make_smem_ptr("f16", 16), parse "(4,4)")
      lutile.fill(smem, 7)
      local chosen = lutile.make_tensor("b1", { 4 })
      for i = 0, 3 do chosen[i] = i == 2 end
      copy_if(atom, chosen, from, smem)
      if lutile.cp_async_wait then
        lutile.cp_async_fence()
        lutile.cp_async_wait(0)
      end
      assert.equal(0, smem(3, 1))
      assert.equal(11, smem(3, 2))
    end, { block = 1 })
  end)

  it("want the threads of a warp to agree", function()
    local atom = lutile.Copy_Atom("SM75_U32x1_LDSM_N", "f16")
    assert.error_matches(function()
      warp(function()
        local _, row = shared_rows("f16", 8, 8)
        local chosen = lutile.make_tensor("b1", { 1 })
        chosen[0] = threadIdx.x ~= 5
        copy_if(atom, chosen, row, lutile.make_tensor("f16", { 2 }))
      end)
    end, "copy_if: SM75_U32x1_LDSM_N: the predicate is false here and true for the first thread: "
      .. "its threads must agree %[thread %(5,0,0%)")
  end)
end)

describe("copies in the wrong place", function()
  it("name the memory", function()
    local async = lutile.Copy_Atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", "f16")
    local t, u = numbered("f16", parse "8:1"), lutile.make_tensor("f16", parse "8:1")
    assert.equal("copy: SM80_CP_ASYNC_CACHEGLOBAL<u128> writes shared memory, where target is in "
      .. "global memory", message_of(copy, async, t, u))
    local load = lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16")
    assert.error_matches(function()
      warp(function() copy(load, t, lutile.make_tensor("f16", { 8 })) end)
    end, "copy: SM75_U32x4_LDSM_N reads shared memory, where source is in global memory")
  end)

  it("need a kernel where a warp moves together, with all of the warp", function()
    local load = lutile.Copy_Atom("SM75_U32x4_LDSM_N", "f16")
    local t = numbered("f16", parse "8:1")
    assert.equal("copy: SM75_U32x4_LDSM_N works only within a kernel, where its threads meet: "
      .. "launch starts one", message_of(copy, load, t, t))
    assert.error_matches(function()
      lutile.launch(function() copy(load, t, t) end, { block = 20 })
    end, "copy: SM75_U32x4_LDSM_N takes 32 threads, where the block has 20 from thread 0 on")
    assert.error_matches(function()
      warp(function()
        local _, row = shared_rows("f16", 32, 8)
        if threadIdx.x ~= 3 then copy(load, row, lutile.make_tensor("f16", { 8 })) end
      end)
    end, "copy: SM75_U32x4_LDSM_N: waits for thread %(3,0,0%), which has ended")
  end)
end)

describe("a product fed by copies", function()
  -- Through swizzled shared memory and ldmatrix into registers, as a kernel would.
  local function check_product(name, dtype, swizzle)
    local mma = lutile.make_tiled_mma(name, parse "(2,2,1)", { 32, 32, 16 })
    local A, B = lutile.make_tensor(dtype, parse "(64,32):(32,1)"),
      lutile.make_tensor(dtype, parse "(64,32):(32,1)")
    for i = 0, 63 do
      for k = 0, 31 do
        A[{ i, k }] = (i * 7 + k * 3) % 11 - 5
        B[{ i, k }] = (i * 5 + k) % 7 - 3
      end
    end
    local C = lutile.make_tensor("f32", parse "(64,64):(64,1)")
    local load = lutile.Copy_Atom("SM75_U32x4_LDSM_N", dtype)
    local to_shared = lutile.make_tiled_copy(
      lutile.Copy_Atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", dtype), parse "(32,4):(4,1)",
      parse "(1,8)")
    local to_A, to_B = lutile.make_tiled_copy_A(load, mma), lutile.make_tiled_copy_B(load, mma)
    lutile.launch(function()
      local t = threadIdx.x
      local function shared(source)
        local s = lutile.make_tensor(lutile.make_smem_ptr(dtype, 64 * 32), swizzle)
        local slice = to_shared:get_slice(t)
        copy(to_shared, slice:partition_S(source), slice:partition_D(s))
        return s
      end
      local sA, sB = shared(A), shared(B)
      if lutile.cp_async_wait then
        lutile.cp_async_fence()
        lutile.cp_async_wait(0)
      end
      lutile.sync()
      local slice = mma:get_slice(t)
      local rA, rB = slice:partition_fragment_A(sA), slice:partition_fragment_B(sB)
      local rC = slice:partition_fragment_C(C)
      lutile.clear(rC)
      local from_A, from_B = to_A:get_slice(t), to_B:get_slice(t)
      copy(to_A, from_A:partition_S(sA), from_A:retile_D(rA))
      copy(to_B, from_B:partition_S(sB), from_B:retile_D(rB))
      lutile.gemm(mma, rA, rB, rC)
      copy(rC, slice:partition_C(C))
    end, { block = 128 })
    for m = 0, 63 do
      for n = 0, 63 do
        local sum = 0
        for k = 0, 31 do sum = sum + A(m, k) * B(n, k) end
        assert.equal(sum, C(m, n))
      end
    end
  end

  it("is right", function()
    local swizzle = parse "Sw<2,3,3> o 0 o (8,32):(32,1)":tile_to_shape { 64, 32 }
    check_product("SM80_16x8x16_F32F16F16F32_TN", "f16", swizzle)
    check_product("SM80_16x8x16_F32BF16BF16F32_TN", "bf16", parse "(64,32):(32,1)")
  end)
end)
