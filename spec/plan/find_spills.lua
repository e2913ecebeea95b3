-- Compiles random plans of gemm_sm90, and prints those that have local memory:
--   lutile spec/plan/find_spills.lua [how many, 200 [, seed, 1 [, threads]]]

package.path = "./?.lua;" .. package.path

local cubin = require "spec.support.cubin"
local cuda = require "lutile.cuda"
local gemm_sm90 = require "lutile.plan.gemm_sm90"

local count, seed, threads = tonumber(arg[1] or 200), tonumber(arg[2] or 1), tonumber(arg[3])

-- ---- Random plans ------------------------------------------------------------------------------

local function pick(list) return list[math.random(#list)] end
local function one_in(n) return math.random(n) == 1 end

local PAIRS = { { "f16" }, { "bf16" }, { "tf32" }, { "e4m3" }, { "e5m2", "e4m3" }, { "s8" },
  { "u8", "s8" } }
local OUT = { "f16", "bf16", "f32", "s32", "e4m3", "s8", "u8" }
local ROWS = { 64, 128, 128, 128, 192, 256, 256 }
local EPILOGUES = { "x", "x", "x", "x > 0 ? x : 0", "x * (m + n)" }

local function random_options()
  local types = pick(PAIRS)
  local is_wide = types[1] == "f16" or types[1] == "bf16"
  local o = { dtype = types[1], dtype_b = types[2], out = pick(OUT),
    acc = types[1] == "f16" and one_in(4) and "f16" or nil,
    tile = { pick(ROWS), 16 * math.random(2, 16) },
    ping_pong = one_in(2), cluster = pick { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 4, 1 } },
    splits = one_in(3) and 4 or 1, promote = one_in(4) and 4 or nil,
    bias = pick { false, "row", "column" }, reads_c = one_in(2), epilogue = pick(EPILOGUES),
    scales = one_in(4), grouped = one_in(4), dependent = one_in(4), skew = one_in(4) and 1500 or 0,
    a_major = is_wide and one_in(3) and "row" or "k",
    b_major = is_wide and one_in(3) and "row" or "k",
    d_align = pick { false, 8, 4, 2 } }
  if one_in(2) then o.bias = false end
  if one_in(2) then o.d_align = false end
  if o.grouped then o.cluster = { 1, 1 } end
  if o.ping_pong and one_in(4) then o.consumers = 3 end
  return o
end

-- Options as Lua has them.
local function text_of(o)
  local parts = {}
  for name, x in pairs(o) do
    local text = type(x) == "string" and ("%q"):format(x) or tostring(x)
    if type(x) == "table" then text = "{ " .. table.concat(x, ", ") .. " }" end
    if x then parts[#parts + 1] = ("%s = %s"):format(name, text) end
  end
  table.sort(parts)
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- Those of random options of which a plan can be made.
local function random_plans()
  local plans, texts, seen = {}, {}, {}
  while #plans < count do
    local options = random_options()
    local text = text_of(options)
    local good, p = pcall(gemm_sm90.new, options)
    if good and not seen[text] then
      seen[text] = true
      plans[#plans + 1], texts[#texts + 1] = p, text
    end
  end
  return plans, texts
end

-- ---- Kernels -----------------------------------------------------------------------------------

math.randomseed(seed)
local plans, texts = random_plans()
local specs, spilled = {}, 0
for i, p in ipairs(plans) do specs[i] = p:compile_options(nil, "sm_90a") end
local kernels, errors = cuda.compile_all(specs, { threads = threads })
for i, kernel in ipairs(kernels) do
  local bytes = kernel and cubin.stack_bytes(kernel:image())
  if bytes ~= 0 then
    spilled = spilled + 1
    print(("%s: %s"):format(bytes and bytes .. " bytes" or errors[i], texts[i]))
  end
end
print(("%d of %d plans have local memory or do not compile"):format(spilled, #plans))
os.exit(spilled == 0)
