-- A plan as text: options as plan.gemm takes them, matrices by the script's names, and no more.

local lutile = require "lutile"

local plan, make_layout = lutile.plan, lutile.make_layout

local function text_of(changes)
  local options = { dtype = "f16", M = 4096, N = 4096, K = 4096, arch = 90, multiprocessors = 132 }
  for name, x in pairs(changes or {}) do options[name] = x end
  return tostring(plan.gemm(options)), plan.gemm(options)
end

describe("a plan's text", function()
  it("is what it computes, its options, resources, layouts and reasons", function()
    assert.equal([[
gemm: f16 x f16 -> f32, sums of f32, by wgmma, gemm_sm90.cu
tile = {128, 256, 64}
stages = 4
cluster = {2, 1}
group = 8
dependent = true
384 threads, 2 warpgroups of which multiply; 229440 bytes of shared memory; 232 registers of a ]]
.. [[thread that multiplies
TiledMMA SM90_64x256x16_F32F16F16_SS, threads (128,2,1,1):(1,128,0,0)
A: tile (128,64); boxes {64, 128} of TMA, the contiguous mode first; swizzle 128B
  shared Sw<3,4,3> o smem[16b] o ((8,16),(64,1)):((64,512),(1,0))
B: tile (256,64); boxes {64, 128} of TMA, the contiguous mode first; swizzle 128B
  shared Sw<3,4,3> o smem[16b] o ((8,32),(64,1)):((64,512),(1,0))
D: boxes {32, 64, 1} of TMA, the contiguous mode first; swizzle 128B
  shared Sw<3,2,3> o 0 o ((8,8),(32,1)):((32,256),(1,0))
why: compute capability 9.0: asked for
why: A (4096,4096):(4096,1): contiguous along K, by TMA
why: B (4096,4096):(4096,1): contiguous along K, by TMA
why: C (4096,4096):(4096,1): contiguous along N, by TMA
why: tile 128x256, consumers share each, in clusters of 2x1: 193 us on 132 multiprocessors, by ]]
.. "the model", (text_of()))
  end)

  for _, changes in ipairs {
    {}, { dtype = "tf32" }, { dtype = "s8" }, { L = 3 }, { arch = 80 }, { arch = 120 },
    { template = "gemm_sm120.cu" },
    { bias = "row", out = "f16", c_major = "row", beta = true, epilogue = "x + 1", scales = true },
    { tile = { 128, 128, 64 }, ping_pong = true, splits = 2, skew = 7 },
  } do
    local names = {}
    for name in pairs(changes) do names[#names + 1] = name end
    table.sort(names)
    it("has options that make the same plan: " .. table.concat(names, ", "), function()
      local text, p = text_of(changes)
      local said = {}
      for name, x in text:gmatch "\n([%a_]+) = ([^\n]*)" do
        said[name] = load("return " .. x, "=", "t", {})()
      end
      local same = p:with(said)
      assert.equal(p:source(), same:source())
      for name, x in pairs(changes) do
        if name == "bias" or name == "splits" then assert.equal(x, said[name]) end
      end
    end)
  end

  it("names the matrices as the script does where the kernel computes C^T", function()
    local text = text_of { N = 128, c_major = "row" }
    assert.matches("\ncomputed as C%^T = B %* A%^T: what follows is along N, M, K", text)
    local first = text:match "\n(%a): tile"
    assert.equal("B", first)
    assert.matches("\nA: tile", text)
    assert.matches("\nD%^T: boxes", text)
  end)

  it("says what a script has changed since, or why no kernel can follow", function()
    local p = plan.gemm { dtype = "f16", M = 64, N = 64, K = 64, arch = 80, tile = { 64, 64, 64 } }
    p.stages = 2
    assert.matches("\nstages = 2\n.*\nwhy: changed since: stages is 2$", tostring(p))
    p.stages = 1
    assert.matches("\nno kernel can follow: stages is 1, and 2 are needed", tostring(p))
    p.stages, p.note = 2, "of the script's own"
    assert.matches("\nwhy: changed since: stages is 2$", tostring(p:check()))
  end)

  it("has the groups and operands of chained_gemm", function()
    local options = { dtype = "f16", M = 64, N = 64, arch = 80 }
    local text = tostring(plan.chained_gemm(options))
    assert.matches("\nB: tile %(64,32%), mode 1 contiguous;", text)
    assert.matches("\nwhy: A %(64,64%):%(64,1%): contiguous along N, 16 bytes at once", text)
    assert.matches("\nwhy: B %(64,64%):%(64,1%): contiguous along mode 1, 16 bytes at once", text)
    assert.matches("\nwhy: D %(64,64%):%(64,1%): 4 elements written at once", text)
    text = tostring(plan.chained_gemm { dtype = "f16", M = 64, N = 64, a_major = "row", arch = 80 })
    assert.matches("\nwhy: A %(64,64%):%(1,64%): contiguous along M, 16 bytes at once", text)
  end)
end)

describe("a refusal", function()
  -- C is contiguous along M, so that the kernel's A is the script's B.
  local function refused(changes)
    local options = { dtype = "f16", M = 240, N = 256, K = 128, c_major = "row", arch = 90,
      template = "gemm_sm90.cu" }
    for name, x in pairs(changes) do options[name] = x end
    local good, why = pcall(plan.gemm, options)
    assert.is_false(good)
    return why
  end

  it("names the matrix of which a mode is as the script does", function()
    local rows = make_layout({ { 20, 12 }, 128 }, { { 128, 4096 }, 1 })
    local p = plan.gemm { dtype = "f16", A = rows, N = 256, K = 128, arch = 90,
      c_major = "row", tile = { 64, 64, 64 } }
    assert.matches("\nwhy: not through all modes: A: no box of 8 lines", tostring(p))
  end)

  for message, changes in pairs {
    ["gemm_sm90.cu: B: 128 rows are not 3 slices of whole lines"] =
      { tile = { 128, 128, 64 }, cluster = { 1, 3 } },
    ["a thread would make 64 copies of 16 bytes for a tile of B, where 32 are the most (a smaller "
      .. "tile, or more warps)"] = { template = "gemm_sm80.cu", tile = { 256, 256, 64 },
      warps = { 1, 1 } },
  } do
    it("is of the script's matrix: " .. message, function()
      assert.equal("plan.gemm: " .. message, refused(changes))
    end)
  end
end)
