-- What each tile of gemm_sm90 takes for products of some sizes, beside the one that the model
-- chooses: what lutile.plan.model_sm90's numbers are from.
-- Usage, from the repository's root: lutile bench/tiles.lua [TYPE | MxNxK | beta=1 ...]
-- A line says a tile, "t" where consumers take turns, the cluster, rows of tiles that go down
-- together and the skew; us, and how many times those of the fastest. With beta=1, C is read, and
-- is not D.

local lutile = require "lutile"

local device = require "bench.device"
local products = require "bench.products"
local timing = require "bench.timing"

local plan = lutile.plan

-- Rows, columns, and whether consumers take turns.
local TILES = {
  { 128, 256 }, { 256, 128 }, { 128, 192 }, { 128, 128 }, { 192, 128 }, { 128, 192, true },
  { 128, 176, true }, { 128, 160, true }, { 128, 128, true }, { 64, 128 }, { 128, 64 }, { 64, 64 },
}
local PAIRS, GROUP_OF_PAIRS = { 2, 1 }, 8
local GROUP, LONG_GROUP, SHORT_LINE = 16, 32, 2048 -- as the model has them
local SKEW = 1500
local ELEMENT_BYTES = { f16 = 2, bf16 = 2, e4m3 = 1, tf32 = 4, s8 = 1 } -- of an element of A and B
local SLOWEST = 1.3 -- times the fastest: others are not measured again

local SHAPES = { { 8192, 8192, 128 }, { 8192, 8192, 256 }, { 8192, 8192, 512 },
  { 8192, 8192, 1024 }, { 8192, 8192, 2048 }, { 2048, 2048, 2048 }, { 4096, 4096, 1024 },
  { 4096, 4096, 4096 }, { 4096, 14336, 4096 } }

-- ---- Plans -------------------------------------------------------------------------------------

-- What of a plan's options there are for a tile.
local function variants(tile, bytes, m, k)
  local group = k * bytes <= SHORT_LINE and LONG_GROUP or GROUP
  local list = { { group = group, skew = 0 } }
  if not tile[3] and tile[1] > 64 then list[#list + 1] = { group = group, skew = SKEW } end
  if m % (2 * tile[1]) == 0 then
    list[#list + 1] = { cluster = PAIRS, group = GROUP_OF_PAIRS, skew = 0 }
  end
  return list
end

local function runner(p, sets)
  local runs = {}
  for i, s in ipairs(sets) do
    runs[i] = p:prepare(s.A, s.B, s.C, { D = s.D, stream = timing.stream })
  end
  return function(i) runs[i % #runs + 1]() end
end

local function text_of(p)
  return ("%dx%d%s, %dx%d, %2d, %d"):format(p.tile[1], p.tile[2], p.ping_pong and "t" or "",
    p.cluster[1], p.cluster[2], p.group, p.skew)
end

-- The model's plan first, then all that can be: {text =, run =}. Nil and why not, where gemm_sm90
-- takes no such product.
local function make_plans(type_of, sets, shape, beta)
  local first, bytes = sets[1], ELEMENT_BYTES[type_of.name]
  local list = {}
  local function add(options)
    options.A, options.B, options.C = first.A, first.B, first.C
    options.dtype, options.out, options.beta = type_of.name, type_of.out, beta
    options.template = "gemm_sm90.cu"
    local good, p = pcall(plan.gemm, options)
    if not good then return nil, p end
    list[#list + 1] = { text = text_of(p), run = runner(p, sets) }
    return p
  end
  local model, why = add {}
  if not model then return nil, why end
  for _, tile in ipairs(TILES) do
    for _, options in ipairs(variants(tile, bytes, shape[1], shape[3])) do
      options.tile, options.ping_pong = { tile[1], tile[2], 128 // bytes }, tile[3] or false
      options.dependent = model.dependent
      add(options)
    end
  end
  return list
end

-- ---- Times -------------------------------------------------------------------------------------

-- Those that a first look does not find much slower than the fastest; the model's stays the first.
local function leave_out_slow(list)
  local best = math.huge
  for _, x in ipairs(list) do
    timing.time(x.run, 2)
    x.once = timing.time(x.run, 3)
    best = math.min(best, x.once)
  end
  local kept = { list[1] }
  for i = 2, #list do
    if list[i].once < SLOWEST * best then kept[#kept + 1] = list[i] end
  end
  return kept
end

-- How many times the fastest plan's time the model's takes; nil where there is none.
local function bench(type_of, shape, beta)
  local title = ("%s %s%s"):format(type_of.name, table.concat(shape, "x"), beta and ", C" or "")
  local sets = products.make_sets(type_of, shape[1], shape[2], shape[3], "k", "k", beta)
  local list, why = make_plans(type_of, sets, shape, beta)
  if not list then
    print(("%s: %s"):format(title, why))
    return nil
  end
  list = leave_out_slow(list)
  local runs = {}
  for i, x in ipairs(list) do runs[i] = x.run end
  for i, ms in ipairs(timing.time_all(runs)) do list[i].us = 1000 * ms end
  local model = table.remove(list, 1)
  table.sort(list, function(x, y) return x.us < y.us end)
  local fastest = list[1].us
  print(("%s: the model's %s: %.2f us, %.3f"):format(title, model.text, model.us,
    model.us / fastest))
  for _, x in ipairs(list) do
    print(("  %-24s %9.2f %.3f"):format(x.text, x.us, x.us / fastest))
  end
  return model.us / fastest
end

-- ---- All ---------------------------------------------------------------------------------------

local chosen, shapes, beta = {}, {}, nil

for _, word in ipairs(arg or {}) do
  local shape = products.shape_of(word)
  if shape then
    shapes[#shapes + 1] = shape
  elseif word == "beta=1" then
    beta = 1
  else
    if not ELEMENT_BYTES[products.type_of(word).name] then
      error(word .. ": gemm_sm90 has no such products", 0)
    end
    chosen[word] = true
  end
end

print(tostring(device))
for _, type_of in ipairs(products.TYPES) do
  if ELEMENT_BYTES[type_of.name] and (next(chosen) == nil or chosen[type_of.name]) then
    local sum, count = 0, 0
    for _, shape in ipairs(#shapes > 0 and shapes or SHAPES) do
      local ratio = bench(type_of, shape, beta)
      if ratio then sum, count = sum + math.log(ratio), count + 1 end
      collectgarbage()
    end
    if count > 1 then
      print(("%s: the model's by the fastest's, geometric mean of %d: %.3f"):format(type_of.name,
        count, math.exp(sum / count)))
    end
  end
end
