-- The host executor: indices, barriers, shared memory, atoms that meet, and the mistakes it names.

local lutile = require "lutile"

local launch, sync = lutile.launch, lutile.sync
local threadIdx, blockIdx = lutile.threadIdx, lutile.blockIdx

local NAME = "SM80_16x8x8_F32F16F16F32_TN"

-- The message that a launch raises.
local function message_of(kernel, options, ...)
  local succeeded, message = pcall(launch, kernel, options, ...)
  assert.is_false(succeeded)
  return message
end

local function line_of(message) return message:match ":(%d+):" end

describe("launch", function()
  it("runs every thread of every block, with the launch's arguments", function()
    local seen = {}
    launch(function(a, b)
      assert.equal("x", a)
      assert.equal(7, b)
      local block, grid = lutile.blockDim, lutile.gridDim
      assert.same({ 4, 2, 1, 3, 1, 2 }, { block.x, block.y, block.z, grid.x, grid.y, grid.z })
      local at = ("%d%d%d %d%d%d"):format(blockIdx.x, blockIdx.y, blockIdx.z,
        threadIdx.x, threadIdx.y, threadIdx.z)
      seen[at] = (seen[at] or 0) + 1
    end, { grid = { 3, 1, 2 }, block = { 4, 2 } }, "x", 7)
    local count = 0
    for _, times in pairs(seen) do
      assert.equal(1, times)
      count = count + 1
    end
    assert.equal(3 * 2 * 4 * 2, count)
    assert.equal(1, seen["201 310"])
  end)

  it("is refused in finalizers, where its memory would not be given back", function()
    local accepted, message
    setmetatable({}, { __gc = function() accepted, message = pcall(launch, print, {}) end })
    collectgarbage()
    assert.is_false(accepted)
    assert.equal("launch: not in a finalizer, whose own values may stay without one", message)
  end)

  it("has one thread of one block by default", function()
    local count = 0
    launch(function() count = count + 1 end, {})
    assert.equal(1, count)
  end)

  it("refuses options that it does not have", function()
    local _, message = pcall(lutile.launch, function() end, { grid = 1, blok = 2 })
    assert.equal("launch: no option 'blok' (did you mean 'block'?)",
      (message:gsub("^[^:]+:%d+: ", "")))
  end)

  it("refuses extents that cannot be", function()
    local nothing = function() end
    assert.equal("launch: block has extents from 1 to 1024, not 0",
      message_of(nothing, { block = 0 }))
    assert.equal("launch: grid has extents from 1 to 2147483648, not 1.5",
      message_of(nothing, { grid = { 2, 1.5 } }))
    assert.equal("launch: a block has at most 1024 threads, not 2048",
      message_of(nothing, { block = { 1024, 2 } }))
    assert.equal("launch: block has more than three extents",
      message_of(nothing, { block = { 1, 1, 1, 1 } }))
    assert.error_matches(function() launch(1, {}) end, "function expected, got number")
  end)

  it("cannot be nested, and works again after a failure", function()
    local message = message_of(function() launch(function() end, {}) end, {})
    assert.matches("launch: a kernel cannot launch another "
      .. "%[thread %(0,0,0%) of block %(0,0,0%)%]$", message)
    local ran
    launch(function() ran = true end, {})
    assert(ran)
  end)

  it("names the thread that fails, the script's line first", function()
    local message = message_of(function()
      if threadIdx.x == 2 and blockIdx.y == 1 then error "no" end
    end, { grid = { 2, 2 }, block = 4 })
    assert.matches("^spec/tile/host_spec.lua:%d+: no %[thread %(2,0,0%) of block %(0,1,0%)%]$",
      message)
  end)

  it("passes on errors that are no strings", function()
    local thrown = {}
    local _, caught = pcall(launch, function() error(thrown) end, {})
    assert.equal(thrown, caught)
  end)

  it("names the tensor and coordinate of an access out of bounds", function()
    local A = lutile.make_tensor("f32", 100)
    local message = message_of(function(gA)
      gA[threadIdx.x + 32 * blockIdx.x] = 1
    end, { grid = 4, block = 32 }, A)
    assert.matches("host_spec.lua:%d+: tensor: gA%(100%) is outside its shape 100 "
      .. "%[thread %(4,0,0%) of block %(3,0,0%)%]$", message)
  end)
end)

describe("threadIdx and its kin", function()
  it("exist within kernels only, and cannot be set", function()
    assert.error_matches(function() return threadIdx.x + 1 end,
      "threadIdx: there is no kernel: launch starts one")
    assert.error_matches(function() threadIdx.x = 1 end, "threadIdx cannot be set")
    local message = message_of(function() return blockIdx.w end, {})
    assert.matches("blockIdx has the fields x, y and z", message)
  end)
end)

describe("sync", function()
  it("holds each thread until all have come", function()
    local stage = {}
    launch(function()
      for step = 1, 3 do
        stage[threadIdx.x] = step
        sync()
        for other = 0, 15 do assert(stage[other] >= step) end
        sync()
      end
    end, { block = 16 })
  end)

  it("works within pcall, in loops and in called functions", function()
    local count = 0
    local function helper() lutile.__syncthreads() end
    launch(function()
      for _ = 1, 4 do assert(pcall(helper)) end
      count = count + 1
    end, { grid = 2, block = 8 })
    assert.equal(16, count)
  end)

  it("that not all threads reach is named: one has ended", function()
    local message = message_of(function()
      if threadIdx.x == 3 then return end
      sync()
    end, { block = 8 })
    assert.matches("^spec/tile/host_spec.lua:%d+: sync: waits for thread %(3,0,0%), "
      .. "which has ended %[thread %(0,0,0%) of block %(0,0,0%)%]$", message)
  end)

  it("that not all threads reach is named: one waits in an atom", function()
    local mma = lutile.make_tiled_mma(NAME)
    local r = lutile.make_tensor("f16", 4)
    local message = message_of(function()
      if threadIdx.x == 0 then sync() else lutile.gemm(mma, r, r, r) end
    end, { block = 32 })
    assert.matches("sync: waits for thread %(1,0,0%), which waits at .*host_spec.lua:%d+ in gemm "
      .. "%[thread %(0,0,0%)", message)
  end)

  it("is no place for a coroutine of the kernel's own", function()
    local message = message_of(function() coroutine.wrap(sync)() end, { block = 2 })
    assert.matches("sync: called in a coroutine of the kernel's own, which cannot stop the thread",
      message)
    message = message_of(function() coroutine.yield() end, { block = 2 })
    assert.equal("launch: the kernel yields outside of a coroutine of its own "
      .. "[thread (0,0,0) of block (0,0,0)]", message)
  end)

  it("is no place for what a C function calls", function()
    for _, call in ipairs {
      function(f) table.sort({ 3, 2, 1 }, function(a, b) f() return a < b end) end,
      function(f) return (("abc"):gsub(".", function() f() end)) end,
    } do
      local message = message_of(function() call(sync) end, { block = 2 })
      assert.matches("host_spec.lua:%d+: sync: called from within a C function .*, which cannot "
        .. "stop the thread %[thread %(0,0,0%)", message)
    end
  end)

  it("has the script's line also where pcall calls it", function()
    local message = message_of(function()
      if threadIdx.x == 0 then pcall(sync) end
    end, { block = 2 })
    assert.matches("^spec/tile/host_spec.lua:%d+: sync: waits for thread %(1,0,0%)", message)
  end)

  it("leaves the kernel's own coroutines alone", function()
    local sum = 0
    launch(function()
      for i in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do
        sum = sum + i
      end
      sync()
    end, { block = 4 })
    assert.equal(24, sum)
  end)

  it("is refused outside of a kernel", function()
    assert.error_matches(function() sync() end, "sync: there is no kernel: launch starts one")
  end)
end)

describe("shared memory", function()
  it("is one for a block's threads, and new for each block", function()
    local sums = {}
    launch(function()
      local s = lutile.make_tensor(lutile.make_smem_ptr("s32", 8), 8)
      local other = lutile.make_tensor(lutile.make_smem_ptr("s32", 1), 1)
      s[threadIdx.x] = threadIdx.x + 10 * blockIdx.x
      sync()
      local sum = 0
      for i = 0, 7 do sum = sum + s(i) end
      sums[blockIdx.x] = sum
      assert.equal("smem", s.data.space)
      assert.not_equal(s.data, other.data)
    end, { grid = 2, block = 8 })
    assert.same({ [0] = 28, [1] = 108 }, sums)
  end)

  it("must be asked for alike by all threads", function()
    local message = message_of(function() lutile.make_smem_ptr("f16", 4 + threadIdx.x) end,
      { block = 2 })
    assert.matches("make_smem_ptr: buffer 1 of the block is 5 of f16 for this thread, "
      .. "4 of f16 for an earlier one %[thread %(1,0,0%)", message)
  end)

  it("is distinct from registers and global memory", function()
    local G = lutile.make_tensor("f16", 4)
    launch(function()
      assert.equal("rmem", lutile.make_tensor("f16", 4).data.space)
      assert.equal("gmem", G.data.space)
    end, {})
  end)
end)

describe("gemm over an atom", function()
  local mma = lutile.make_tiled_mma(NAME)

  it("works within kernels, over a TiledMMA", function()
    local r = lutile.make_tensor("f16", 4)
    assert.error_matches(function() lutile.gemm(mma, r, r, r) end,
      "gemm: " .. NAME .. " works only within a kernel, where its threads meet: launch starts one")
    local message = message_of(function() lutile.gemm(lutile.MMA_Atom(NAME), r, r, r) end,
      { block = 32 })
    assert.matches("gemm: " .. NAME .. " has 32 threads: make_tiled_mma says which ones", message)
  end)

  it("names threads that do not come", function()
    local message = message_of(function()
      if threadIdx.x == 9 then return end
      local slice = mma:get_slice(threadIdx.x)
      local rA = slice:partition_fragment_A(lutile.make_layout { 16, 8 })
      local rB = slice:partition_fragment_B(lutile.make_layout { 8, 8 })
      local rC = slice:partition_fragment_C(lutile.make_layout { 16, 8 })
      lutile.gemm(mma, rA, rB, rC)
    end, { block = 32 })
    assert.matches("^spec/tile/host_spec.lua:%d+: gemm: " .. NAME
      .. ": waits for thread %(9,0,0%), which has ended %[thread %(0,0,0%) of block %(0,0,0%)%]$",
      message)
    assert(line_of(message))
  end)

  it("names threads that come from different lines", function()
    local message = message_of(function()
      local slice = mma:get_slice(threadIdx.x)
      local rA = slice:partition_fragment_A(lutile.make_layout { 16, 8 })
      local rB = slice:partition_fragment_B(lutile.make_layout { 8, 8 })
      local rC = slice:partition_fragment_C(lutile.make_layout { 16, 8 })
      for _, fragment in ipairs { rA, rB, rC } do lutile.clear(fragment) end
      if threadIdx.x < 16 then
        lutile.gemm(mma, rA, rB, rC)
      else
        lutile.gemm(mma, rA, rB, rC)
      end
    end, { block = 32 })
    local here, there = message:match("^spec/tile/host_spec.lua:(%d+): gemm: " .. NAME .. ": its "
      .. "threads diverge: this one is here, thread %(0,0,0%) at spec/tile/host_spec.lua:(%d+) "
      .. "%[thread %(16,0,0%) of block %(0,0,0%)%]$")
    assert.equal(2, here - there)
  end)

  it("names a block too small for the TiledMMA", function()
    local message = message_of(function()
      local slice = mma:get_slice(threadIdx.x % 32)
      local rA = slice:partition_fragment_A(lutile.make_layout { 16, 8 })
      local rB = slice:partition_fragment_B(lutile.make_layout { 8, 8 })
      local rC = slice:partition_fragment_C(lutile.make_layout { 16, 8 })
      for _, fragment in ipairs { rA, rB, rC } do lutile.clear(fragment) end
      lutile.gemm(mma, rA, rB, rC)
    end, { block = 48 })
    assert.matches("gemm: the tiled MMA takes 32 threads, where the block has 16 from thread 32 on "
      .. "%[thread %(32,0,0%)", message)
  end)

  it("names a fragment that does not fit, and the thread that brought it", function()
    local function kernel(spoil)
      return function()
        local slice = mma:get_slice(threadIdx.x)
        local rA = slice:partition_fragment_A(lutile.make_layout { 16, 8 })
        local rB = slice:partition_fragment_B(lutile.make_layout { 8, 8 })
        local rC = slice:partition_fragment_C(lutile.make_layout { 16, 8 })
        for _, fragment in ipairs { rA, rB, rC } do lutile.clear(fragment) end
        if threadIdx.x == 5 then rA, rB, rC = spoil(rA, rB, rC) end
        lutile.gemm(mma, rA, rB, rC)
      end
    end
    local function message(spoil) return message_of(kernel(spoil), { block = 32 }) end
    assert.matches("gemm: a is f32, where " .. NAME .. " takes f16 %[thread %(5,0,0%)",
      message(function(a, b, c) return lutile.convert(a, "f32"), b, c end))
    assert.matches("gemm: b %(4%) has 4 values a thread in mode 0, where " .. NAME .. " has 2",
      message(function(a, _, c)
        return a(lutile._, 0, 0), lutile.make_tensor("f16", 4), c(lutile._, 0, 0)
      end))
    assert.matches("gemm: fragments %(%(2,2%),2,1%) x %(2,1,1%) %-> %(%(2,2%),1,1%) are not "
      .. "%(V,M,K%) x %(V,N,K%) %-> %(V,M,N%) of " .. NAME,
      message(function(_, b, c) return lutile.make_tensor("f16", { { 2, 2 }, 2, 1 }), b, c end))
    assert.matches("gemm: rA%(%(1,1%),0,0%) is element 3 of memory that has 3 .*%[thread %(5,0,0%)",
      message(function(a, b, c)
        return lutile.make_tensor(lutile.make_gmem_ptr("f16", 3), a.layout), b, c
      end))
  end)

  it("needs no meeting where an atom has one thread", function()
    local a, b, c = lutile.make_tensor("f32", { 1, 2, 3 }), lutile.make_tensor("f32", { 1, 4, 3 }),
      lutile.make_tensor("f32", { 1, 2, 4 })
    lutile.fill(a, 2)
    lutile.fill(b, 3)
    lutile.gemm(lutile.MMA_Atom "UniversalFMA<f32>", a, b, c)
    assert.equal(18, c(0, 1, 3))
  end)
end)

describe("the executor's checks", function()
  local N = 64

  local function shared()
    return lutile.make_tensor(lutile.make_smem_ptr("f32", N), N)
  end

  it("find registers that are read before they are written", function()
    local message = message_of(function()
      local rC = lutile.make_tensor("f32", { 2, 2 })
      rC[0] = 1
      lutile.axpby(1, rC, 1, rC)
    end, { block = 2 })
    assert.matches("host_spec.lua:%d+: axpby: rC%(1,0%) is read before anything was written there "
      .. "%[thread %(0,0,0%)", message)
  end)

  it("find accumulators that were not cleared", function()
    local mma = lutile.make_tiled_mma(NAME)
    local message = message_of(function()
      local slice = mma:get_slice(threadIdx.x)
      local rA = slice:partition_fragment_A(lutile.make_layout { 16, 8 })
      local rB = slice:partition_fragment_B(lutile.make_layout { 8, 8 })
      local rC = slice:partition_fragment_C(lutile.make_layout { 16, 8 })
      lutile.clear(rA)
      lutile.clear(rB)
      if threadIdx.x ~= 7 then lutile.clear(rC) end
      lutile.gemm(mma, rA, rB, rC)
    end, { block = 32 })
    assert.matches("gemm: rC%(%(0,0%),0,0%) is read before anything was written there "
      .. "%[thread %(7,0,0%)", message)
  end)

  it("find one thread's write over another's, without a barrier between", function()
    local message = message_of(function()
      local sA = shared()
      sA[threadIdx.x] = 1
      return sA(threadIdx.x) + 0
    end, { block = { N // 2, 2 } })
    assert.matches("host_spec.lua:%d+: tensor: sA%(0%) is written here and was written by "
      .. "thread %(0,0,0%) at .*host_spec.lua:%d+: a race, as no barrier lies between "
      .. "%[thread %(0,1,0%)", message)
  end)

  it("find a read of what another thread wrote", function()
    local message = message_of(function()
      local sA = shared()
      sA[threadIdx.x] = 1
      return sA(0) + 0
    end, { block = N })
    assert.matches("tensor: sA%(0%) is read here and was written by thread %(0,0,0%) at .* "
      .. "%[thread %(1,0,0%)", message)
  end)

  it("find two writes, and a write after reads", function()
    local message = message_of(function() shared()[0] = threadIdx.x end, { block = { 2, 2 } })
    assert.matches("tensor: .*%(0%) is written here and was written by thread %(0,0,0%) at "
      .. ".* %[thread %(1,0,0%)", message)
    message = message_of(function()
      local sA = shared()
      if threadIdx.x == 0 then lutile.clear(sA) end
      sync()
      local sum = sA(0) + sA(1)
      if threadIdx.x == 2 then sA[1] = sum end
    end, { block = 4 })
    assert.matches("tensor: sA%(1%) is written here and was read by several threads at ", message)
  end)

  it("find shared memory that was never written", function()
    local message = message_of(function()
      local sA, rA = shared(), lutile.make_tensor("f32", N)
      lutile.copy(sA, rA)
    end, { block = 1 })
    assert.matches("copy: sA%(0%) is read before anything was written there", message)
  end)

  it("are content where barriers order the accesses", function()
    launch(function()
      local sA = shared()
      for step = 1, 3 do
        sA[threadIdx.x] = step
        sync()
        assert.equal(step, sA((threadIdx.x + 1) % N))
        sync()
      end
    end, { grid = 2, block = N })
  end)

  it("know that a warp's barrier orders its own threads only", function()
    local function kernel()
      local sA = shared()
      if threadIdx.x == 0 then lutile.clear(sA) end
      sync()
      sA[threadIdx.x] = 1
      lutile.__syncwarp()
      return sA(threadIdx.x ~ blockIdx.x) + 0
    end
    launch(kernel, { grid = 32, block = N })
    assert.matches("tensor: sA%(%d+%) is read here and was written by thread ",
      message_of(kernel, { grid = 33, block = N }))
  end)

  it("tell apart elements that share a byte no more than the hardware does", function()
    local message = message_of(function()
      local s = lutile.make_tensor(lutile.make_smem_ptr("s4", 4), 4)
      s[threadIdx.x] = 1
    end, { block = 2 })
    assert.matches("s%(1%) is written here and was written by thread %(0,0,0%)", message)
  end)

  it("can be left out", function()
    local sum = 0
    launch(function()
      local sA = shared()
      sA[0] = threadIdx.x
      sum = sum + lutile.make_tensor("f32", 1)(0)
    end, { block = N, checks = false })
    assert.equal(0, sum)
  end)

  it("end with the launch", function()
    local kept
    launch(function()
      kept = shared()
      kept[0] = threadIdx.x
    end, { block = 1 })
    collectgarbage()
    assert.equal(0, kept(5))
  end)
end)

describe("warp shuffles", function()
  local ALL = 0xffffffff

  -- What each of 40 threads gets: a whole warp and a part of one.
  local function results(f)
    local got = {}
    launch(function() got[threadIdx.x] = f(threadIdx.x) end, { block = 40 })
    return got
  end

  it("give each lane another one's number", function()
    local xor = results(function(t) return lutile.__shfl_xor_sync(ALL, t, 1) end)
    local from = results(function(t) return lutile.__shfl_sync(ALL, t, 3) end)
    local up = results(function(t) return lutile.__shfl_up_sync(ALL, t, 2) end)
    local down = results(function(t) return lutile.__shfl_down_sync(ALL, t, 2) end)
    assert.same({ 1, 0, 33, 38 }, { xor[0], xor[1], xor[32], xor[39] })
    assert.same({ 3, 3, 35 }, { from[0], from[31], from[39] })
    assert.same({ 0, 1, 0, 29, 32 }, { up[0], up[1], up[2], up[31], up[32] })
    assert.same({ 2, 31, 30, 39 }, { down[0], down[29], down[30], down[39] })
  end)

  it("reduce over the lanes that a layout names", function()
    for lanes, reason in pairs {
      [64] = "64:1 names lane 63, where a warp has 0 to 31",
      [3] = "3:1 does not divide the warp's 32 lanes",
      x = "the lanes are no layout: ",
    } do
      local message = message_of(function() lutile.warp_reduce(math.max, 1, lanes) end,
        { block = 32 })
      assert.matches("^spec/tile/host_spec.lua:%d+: warp_reduce: ", message)
      assert.is_truthy(message:find(reason, 1, true))
    end
    local quads = results(function(t) return lutile.warp_reduce(math.max, t, 4) end)
    assert.same({ 3, 3, 7, 31 }, { quads[0], quads[3], quads[4], quads[28] })
    local got = {}
    launch(function()
      got[threadIdx.x] = lutile.warp_reduce(function(x, y) return x + y end, threadIdx.x,
        lutile.make_layout(8, 4))
    end, { block = 32 })
    assert.same({ 112, 136, 112 }, { got[0], got[3], got[28] })
  end)

  it("want all threads of the warp", function()
    assert.matches("__shfl_sync: the mask leaves out threads of the warp: all must take part",
      message_of(function() return lutile.__shfl_sync(1, 0, 0) + 0 end, { block = 32 }))
    assert.matches("__shfl_sync: a warp: waits for thread %(5,0,0%), which has ended",
      message_of(function()
        if threadIdx.x ~= 5 then return lutile.__shfl_sync(ALL, 0, 0) + 0 end
      end, { block = 32 }))
  end)
end)
