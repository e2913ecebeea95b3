-- Bank conflicts of shared memory: what layouts cost, and what padding and swizzles save.

local lutile = require "lutile"
local parse = lutile.parse

local threadIdx = lutile.threadIdx

-- Wavefronts of each access to shared memory, where one would do: {write = ..., read = ...}.
local function ways(counted)
  local of = {}
  for _, a in ipairs(counted.accesses) do
    if a.space == "shared" then of[a.access] = a.wavefronts / (a.wavefronts - a.conflicts) end
  end
  return of
end

local function shared(dtype, layout)
  return lutile.make_tensor(lutile.make_smem_ptr(dtype, lutile.cosize(layout)), layout)
end

-- Ways of one warp's store of a word each, thread (k,m) at element (m,k) of the layout.
local function store(layout)
  return ways(lutile.launch(function()
    local place = lutile.idx2crd(threadIdx.x, { 8, 4 })
    shared("f32", layout)[{ place[1], place[0] }] = 1
  end, { block = 32 })).write
end

-- Ways of 8 threads' reads of 16 bytes each, the first ones of the thread's row.
local function read_rows(dtype, layout, row_of)
  local vector = lutile.make_layout(dtype == "f16" and 8 or 4)
  local atom = lutile.Copy_Atom("UniversalCopy<u128>", dtype)
  return ways(lutile.launch(function()
    local memory = shared(dtype, layout)
    if threadIdx.x == 0 then lutile.clear(memory) end
    lutile.sync()
    local row = lutile.local_tile(row_of(memory, threadIdx.x), vector.shape, 0)
    lutile.copy(atom, row, lutile.make_tensor(dtype, vector))
  end, { block = 8 })).read
end

describe("a store of columns by threads along rows", function()
  it("has 8 ways at a stride of 128 words, and one at 132", function()
    assert.equal(8, store(parse "(4,8):(1,128)"))
    assert.equal(1, store(parse "(4,8):(1,132)"))
  end)
end)

describe("reads of rows of 16 bytes", function()
  it("of halves 256 bytes apart have 8 ways, and one under a swizzle", function()
    local function row(memory, thread) return memory(lutile._, thread) end
    assert.equal(8, read_rows("f16", parse "(128,8):(1,128)", row))
    assert.equal(1, read_rows("f16", parse "Sw<3,3,4> o 0 o (128,8):(1,128)", row))
  end)

  it("of words 128 bytes apart have 8 ways, and one under a swizzle", function()
    local function row(memory, thread) return memory(thread, lutile._) end
    assert.equal(8, read_rows("f32", parse "(8,32):(32,1)", row))
    assert.equal(1, read_rows("f32", parse "Sw<3,2,3> o 0 o (8,32):(32,1)", row))
  end)
end)

describe("a layout", function()
  it("has its own ways for stores and for loads", function()
    local both = ways(lutile.launch(function()
      local memory = shared("f32", parse "(32,32):(32,1)")
      for i = 0, 31 do memory[{ threadIdx.x, i }] = i end
      lutile.sync()
      for i = 0, 31 do assert.equal(threadIdx.x, memory(i, threadIdx.x)) end
    end, { block = 32 }))
    assert.same({ write = 32, read = 1 }, both)
  end)
end)
