-- Asynchronous copies in kernels: cp.async groups, mbarriers, TMA loads that complete on them; and
-- the shared memory that an architecture has.

local lutile = require "lutile"

local launch, sync, threadIdx = lutile.launch, lutile.sync, lutile.threadIdx

local function message_of(kernel, options, ...)
  local succeeded, message = pcall(launch, kernel, options, ...)
  assert.is_false(succeeded)
  return message
end

local THREADS = 64

-- Four numbers a thread, copied by cp.async; then what 'use' does.
local function copying(use)
  local atom = lutile.Copy_Atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", "f32")
  local copy = lutile.make_tiled_copy(atom, lutile.make_layout(THREADS), lutile.make_layout(4))
  local gA = lutile.make_tensor("f32", 4 * THREADS)
  for i = 0, 4 * THREADS - 1 do gA[i] = i end
  return function()
    local sA = lutile.make_tensor(lutile.make_smem_ptr("f32", 4 * THREADS), 4 * THREADS)
    local slice = copy:get_slice(threadIdx.x)
    lutile.copy(copy, slice:partition_S(gA), slice:partition_D(sA))
    use(sA, 4 * threadIdx.x)
  end
end

describe("cp.async", function()
  it("has arrived for the thread after cp_async_wait", function()
    launch(copying(function(sA, own)
      lutile.cp_async_fence()
      lutile.cp_async_wait(0)
      assert.equal(own + 1, sA(own + 1))
    end), { block = THREADS })
  end)

  it("has arrived for others after a barrier, too", function()
    launch(copying(function(sA)
      lutile.cp_async_wait()
      sync()
      assert.equal(9, sA(9))
    end), { block = THREADS })
  end)

  it("has arrived within a warp after the warp's barrier", function()
    launch(copying(function(sA, own)
      lutile.cp_async_wait()
      lutile.__syncwarp()
      assert.equal(own ~ 4, sA(own ~ 4))
    end), { block = THREADS })
  end)

  it("that was not waited for is named", function()
    local message = message_of(copying(function(sA, own)
      lutile.cp_async_fence()
      return sA(own) + 0
    end), { block = THREADS })
    assert.matches("async_spec.lua:%d+: tensor: sA%(0%) is read here while the cp.async of thread "
      .. "%(0,0,0%) at .*async_spec.lua:%d+ that writes it is in flight: that thread must "
      .. "cp_async_wait, and then a barrier come, first %[thread %(0,0,0%) of block %(0,0,0%)%]$",
      message)
  end)

  it("that was waited for by its own thread alone is named", function()
    local message = message_of(copying(function(sA, own)
      lutile.cp_async_wait()
      return sA(math.max(own - 4, 0)) + 0
    end), { block = THREADS })
    assert.matches("sA%(0%) is read here while the cp.async of thread %(0,0,0%).*%[thread %(1,",
      message)
  end)

  it("that only a barrier follows is named", function()
    local message = message_of(copying(function(sA)
      lutile.cp_async_fence()
      sync()
      return sA(8) + 0
    end), { block = THREADS })
    assert.matches("sA%(8%) is read here while the cp.async of thread %(2,0,0%)", message)
  end)

  it("is overwritten by nothing while it is in flight", function()
    local message = message_of(copying(function(sA, own)
      sync()
      sA[own] = 0
    end), { block = THREADS })
    assert.matches("sA%(%d+%) is written here while the cp.async", message)
  end)

  it("groups stay in flight as far as cp_async_wait allows", function()
    local atom = lutile.Copy_Atom("SM80_CP_ASYNC_CACHEALWAYS<u32>", "f32")
    local G = lutile.make_tensor("f32", 3)
    local function stages(pending, read)
      return function()
        local s = lutile.make_tensor(lutile.make_smem_ptr("f32", 3), lutile.parse "(1,3):(0,1)")
        local g = lutile.make_tensor(G, lutile.parse "(1,3):(0,1)")
        for i = 0, 2 do
          lutile.copy(atom, g(lutile._, i), s(lutile._, i))
          lutile.cp_async_fence()
        end
        lutile.cp_async_wait(pending)
        return s(0, read) + 0
      end
    end
    launch(stages(2, 0), {})
    launch(stages(1, 1), {})
    launch(stages(0, 2), {})
    assert.matches("s%(0,1%) is read here while", message_of(stages(2, 1), {}))
    assert.matches("s%(0,2%) is read here while", message_of(stages(1, 2), {}))
  end)

  it("functions are refused outside of kernels", function()
    assert.error_matches(lutile.cp_async_fence, "cp_async_fence: there is no kernel")
    assert.error_matches(lutile.cp_async_wait, "cp_async_wait: there is no kernel")
    assert.matches("cp_async_wait: %-1 is not in 0 to",
      message_of(function() lutile.cp_async_wait(-1) end, {}))
  end)
end)

describe("an mbarrier", function()
  -- One thread fills what another one reads, through full and empty barriers.
  local function pipeline(waits_for_empty)
    return function()
      local s = lutile.make_tensor(lutile.make_smem_ptr("s32", 2), 2)
      local full, empty = {}, {}
      for i = 0, 1 do full[i], empty[i] = lutile.make_smem_barrier(), lutile.make_smem_barrier() end
      if threadIdx.x == 0 then
        for i = 0, 1 do
          lutile.initialize_barrier(full[i])
          lutile.initialize_barrier(empty[i], 32)
        end
      end
      sync()
      for k = 0, 7 do
        local stage, phase = k % 2, k // 2 % 2
        if threadIdx.x == 0 then
          if waits_for_empty then lutile.wait_barrier(empty[stage], phase ~ 1) end
          s[stage] = 100 + k
          lutile.arrive_barrier(full[stage])
        elseif threadIdx.x >= 32 then
          lutile.wait_barrier(full[stage], phase)
          assert.equal(100 + k, s(stage))
          lutile.arrive_barrier(empty[stage])
        end
      end
    end
  end

  it("orders what threads do before they arrive and after they wait", function()
    launch(pipeline(true), { block = 64 })
  end)

  it("that is not waited for orders nothing", function()
    assert.matches("tensor: s%([01]%) is .*: a race, as no barrier lies between",
      message_of(pipeline(false), { block = 64 }))
  end)

  it("must be initialized, once, and seen to be", function()
    local function with(use)
      return function() use(lutile.make_smem_barrier()) end
    end
    assert.matches("arrive_barrier: mbarrier 0 is not initialized",
      message_of(with(lutile.arrive_barrier), {}))
    assert.matches("initialize_barrier: mbarrier 0 is initialized already", message_of(with(
      function(b)
        lutile.initialize_barrier(b)
        lutile.initialize_barrier(b)
      end), {}))
    assert.matches("arrive_barrier: mbarrier 0 was initialized by another thread, and no barrier "
      .. "lies between %[thread %(1,0,0%)", message_of(with(function(b)
        if threadIdx.x == 0 then lutile.initialize_barrier(b) end
        lutile.arrive_barrier(b)
      end), { block = 2 }))
    assert.matches("wait_barrier: mbarrier expected, got number: make_smem_barrier makes one",
      message_of(function() lutile.wait_barrier(0, 0) end, {}))
  end)

  it("belongs to its block", function()
    local kept
    local function kernel()
      kept = kept or lutile.make_smem_barrier()
      if lutile.blockIdx.x == 0 then lutile.initialize_barrier(kept) end
      lutile.arrive_barrier(kept)
    end
    assert.matches("arrive_barrier: the mbarrier is of another block %[thread %(0,0,0%) of block "
      .. "%(1,0,0%)%]$", message_of(kernel, { grid = 2 }))
    for _, checks in ipairs { true, false } do
      assert.matches("initialize_barrier: the mbarrier is of another block",
        message_of(kernel, { checks = checks }))
    end
  end)

  it("that no phase of completes says what it lacks", function()
    local message = message_of(function()
      local b = lutile.make_smem_barrier()
      if threadIdx.x == 0 then lutile.initialize_barrier(b, 3) end
      sync()
      lutile.arrive_barrier(b)
      lutile.wait_barrier(b, 0)
    end, { block = 2 })
    assert.matches("^spec/tile/async_spec.lua:%d+: wait_barrier: phase 0 of mbarrier 0 never ends: "
      .. "it lacks 1 of 3 arrivals and 0 bytes %[thread %(0,0,0%)", message)
  end)

  it("counts with the checks left out", function()
    launch(pipeline(true), { block = 64, checks = false })
  end)
end)

describe("a TMA load", function()
  local G = lutile.make_tensor("f16", lutile.make_layout({ 64, 32 }, lutile.LayoutRight))
  for i = 0, 64 * 32 - 1 do G[i] = i % 1024 end
  local smem = lutile.make_layout({ 16, 32 }, lutile.LayoutRight)
  local tma = lutile.make_tma_copy("SM90_TMA_LOAD", G, smem)
  local BYTES = 16 * 32 * 2

  -- Tiles of 16 rows, loaded into two stages.
  local function pipeline(bytes, parity)
    return function()
      local stages = lutile.parse "((16,32),2):((32,1),512)"
      local s = lutile.make_tensor(lutile.make_smem_ptr("f16", 1024), stages)
      local full = { [0] = lutile.make_smem_barrier(), lutile.make_smem_barrier() }
      if threadIdx.x == 0 then
        for i = 0, 1 do lutile.initialize_barrier(full[i]) end
      end
      sync()
      local coordinates = lutile.zipped_divide(tma:get_tma_tensor(G.shape), { 16, 32 })
      for k = 0, 3 do
        local stage, phase = k % 2, k // 2 % 2
        local _ = lutile._
        if threadIdx.x == 0 then
          lutile.set_barrier_transaction_bytes(full[stage], bytes)
          local from, to = lutile.tma_partition(tma, s(_, stage), coordinates(_, k))
          lutile.copy(tma:with(full[stage]), from, to)
        end
        if parity ~= nil then lutile.wait_barrier(full[stage], phase ~ parity) end
        if parity ~= nil or threadIdx.x == 0 then
          local row = threadIdx.x % 16
          assert.equal(G(16 * k + row, 5), s({ row, 5 }, stage))
        end
        sync()
      end
    end
  end

  it("is seen by those who wait for its mbarrier", function()
    launch(pipeline(BYTES, 0), { block = 32 })
  end)

  it("that is not waited for is named", function()
    assert.matches("tensor: s%(%(0,5%),0%) is read here while the TMA copy at .*async_spec.lua:%d+ "
      .. "that writes it is in flight: wait for its mbarrier first %[thread %(0,0,0%)",
      message_of(pipeline(BYTES), { block = 32 }))
    assert.matches("s%(%(15,5%),0%) is read before anything was written there", -- the other phase
      message_of(pipeline(BYTES, 1), { block = 32 }))
  end)

  it("whose bytes are not those expected never completes", function()
    assert.matches("wait_barrier: phase 0 of mbarrier 0 never ends: it lacks 0 of 1 arrivals and "
      .. "16 bytes", message_of(pipeline(BYTES + 16, 0), { block = 32 }))
  end)
end)

describe("a TMA store", function()
  -- Two tiles, one after the other, from the same place in shared memory.
  local function kernel(tma, G, waits)
    return function()
      local smem = lutile.make_layout({ 16, 32 }, lutile.LayoutRight)
      local s = lutile.make_tensor(lutile.make_smem_ptr("f16", 512), smem)
      for tile = 0, 1 do
        for column = 0, 31 do s[{ threadIdx.x, column }] = tile + column end
        lutile.tma_store_fence()
        sync()
        if threadIdx.x == 0 then
          local slice = tma:get_slice(0)
          local to = lutile.local_tile(tma:get_tma_tensor(G.shape), { 16, 32 }, { tile, 0 })
          lutile.copy(tma, slice:partition_S(s), slice:partition_D(to))
          lutile.tma_store_arrive()
          if waits then lutile.tma_store_wait(0) end
        end
        sync()
      end
    end
  end

  local function run(waits)
    local G = lutile.make_tensor("f16", lutile.make_layout({ 32, 32 }, lutile.LayoutRight))
    local smem = lutile.make_layout({ 16, 32 }, lutile.LayoutRight)
    launch(kernel(lutile.make_tma_copy("SM90_TMA_STORE", G, smem), G, waits), { block = 16 })
    return G
  end

  it("is over for all after tma_store_wait and a barrier", function()
    local G = run(true)
    assert.equal(7.0, G(3, 7))
    assert.equal(8.0, G(20, 7))
  end)

  it("whose source is overwritten is named", function()
    assert.error_matches(function() run(false) end, "tensor: s%(%d+,0%) is written here while the "
      .. "TMA store of thread %(0,0,0%) reads it: that thread must tma_store_arrive and "
      .. "tma_store_wait, and then a barrier come, first %[thread %(%d+,0,0%)")
  end)
end)

describe("shared memory", function()
  local function ask(bytes)
    return function() lutile.make_smem_ptr("u8", bytes) end
  end

  it("is as large as the architecture has it", function()
    for arch, kilobytes in pairs {
      [75] = 64, [80] = 163, [86] = 99, [89] = 99, [90] = 227, [100] = 227, [120] = 99,
    } do
      launch(ask(kilobytes * 1024), { arch = arch })
      assert.matches(("make_smem_ptr: buffer 1 makes %d bytes of shared memory for the block, "
        .. "where sm_%d has %d "):format(kilobytes * 1024 + 1, arch, kilobytes * 1024),
        message_of(ask(kilobytes * 1024 + 1), { arch = arch }))
    end
    launch(ask(100), { arch = "sm_90a" })
    assert.matches("buffer 2 makes 232449 bytes of shared memory for the block, where no "
      .. "architecture has more than 232448", message_of(function()
        lutile.make_smem_ptr("u8", 5121)
        lutile.make_smem_ptr("u8", 227328)
      end, {}))
  end)

  it("of an architecture that is not known is refused", function()
    for _, arch in ipairs { 42, "sm_", "sm_80x", {}, 80.5 } do
      assert.matches("^launch: no architecture .* %(there are 60 61 .* 120 121%)$",
        message_of(ask(1), { arch = arch }))
    end
  end)
end)
