-- The tile of gemm_sm90 and its schedule, by a model of the chip: which of a few candidates would
-- take the least time for the sizes at hand, in microseconds, as measured on an H200.

local M = {}

-- Rows and columns of a tile; whether consumers take turns with tiles; what part of the tensor
-- cores' rate such tiles reach; us that writing takes for each element of a tile, of one or two
-- bytes, and of four; how many times as long where C is read, if not WITH_C; how many rows of tiles
-- go down together in pairs, if not SMALL_GROUP. LARGE and LARGE_OF_BYTES are for unknown sizes,
-- too. From times of 2,557 plans: bench/README.md.
local LARGE = { tile = { 128, 256 }, rate = 1.03, write = { 0.49e-4, 1.03e-4 } }
local LARGE_OF_BYTES = { tile = { 128, 128 }, ping_pong = true, rate = 0.95,
  write = { 1.24e-4, 2.28e-4 }, with_c = 3.2 }
local CANDIDATES = {
  LARGE,
  { tile = { 256, 128 }, rate = 1, write = { 0.47e-4, 0.95e-4 } },
  { tile = { 128, 192 }, ping_pong = true, rate = 1.01, write = { 1.51e-4, 2.2e-4 }, group = 12 },
  { tile = { 128, 176 }, ping_pong = true, rate = 0.99, write = { 1.61e-4, 2.4e-4 } },
  { tile = { 128, 160 }, ping_pong = true, rate = 0.97, write = { 1.22e-4, 2.39e-4 } },
  LARGE_OF_BYTES,
  { tile = { 192, 128 }, rate = 0.97, write = { 0.32e-4, 0.92e-4 } },
  { tile = { 128, 192 }, rate = 1, write = { 0.35e-4, 0.74e-4 } },
  { tile = { 128, 128 }, rate = 0.96, write = { 0.38e-4, 0.97e-4 } },
  { tile = { 64, 128 }, rate = 0.8, write = { 0.42e-4, 1e-4 } },
  { tile = { 128, 64 }, rate = 0.61, write = { 0.4e-4, 0.8e-4 } },
  { tile = { 64, 64 }, rate = 0.55, write = { 0.42e-4, 1e-4 } },
  { tile = { 64, 32 }, rate = 0.3, write = { 0.42e-4, 1e-4 } },
}
local WITH_C = 2.4   -- so many times as long where C is read
local IN_TURN = 0.08 -- of the shorter one of multiplying and writing shows beside the other one

local LINE_BYTES = 128                            -- of k, of a stage
local RATE = { [1] = 12e6, [2] = 6e6, [4] = 3e6 } -- FLOP of a multiprocessor in a us
local LOADED, STORED = 4e6, 3e6 -- bytes that come from memory in a us, and go there
local OVERLAP = 0.1   -- of the shorter one of multiplying and loading shows beside the longer one
local START = 1.6     -- us until the first stage is there, and after the last one
local COMBINE, COMBINE_EACH = 2, 2.4e-4 -- us to add up a tile's parts, and for each element
local MOST_PARTS, LEAST_STAGES = 8, 4
local MOST_SHORT = 50      -- us up to which clusters and warpgroups apart cost more than they give
local MOST_DEPENDENT = 300 -- us up to which a kernel's start and end are a part worth hiding

local function ceil_div(a, b) return (a + b - 1) // b end

-- Parts along k of tiles that leave multiprocessors idle.
local function count_parts(tiles, s)
  local stages = ceil_div(s.K * s.bytes, LINE_BYTES)
  return math.max(1, math.min(MOST_PARTS, s.multiprocessors // tiles, stages // LEAST_STAGES))
end

local function count_tiles(c, s)
  return math.max(ceil_div(s.M, c.tile[1]) * ceil_div(s.N, c.tile[2]) * s.L, 1)
end

-- us of a multiprocessor to multiply a tile, and to write it.
local function times_of_tile(c, s)
  local area = c.tile[1] * c.tile[2]
  local write = area * c.write[s.out_bytes > 2 and 2 or 1]
  if s.reads_c then write = write * (c.with_c or WITH_C) end
  return 2 * area * s.K / (RATE[s.bytes] * c.rate), write
end

-- us from tile to tile: where consumers take turns, one writes while another multiplies.
local function time_between(c, multiply, write)
  if not c.ping_pong then return multiply + write end
  return math.max(multiply, (multiply + write) / 2) + IN_TURN * math.min(multiply, write)
end

-- us in which a product's matrices come from memory and go there.
local function time_of_memory(s)
  local d = s.out_bytes * s.M * s.N
  return (s.bytes * s.K * (s.M + s.N) + (s.reads_c and d or 0)) * s.L / LOADED + d * s.L / STORED
end

-- us for M x N x K, L batches, by tiles as of candidate c in so many parts.
local function estimate(c, s, parts)
  local rounds = ceil_div(count_tiles(c, s), s.multiprocessors)
  local multiply, write = times_of_tile(c, s)
  local time = rounds * time_between(c, multiply / parts, write)
    + (c.ping_pong and write / 2 or 0) -- nobody multiplies beside the last tile's
  local load = time_of_memory(s)
  return START + math.max(time, load) + OVERLAP * math.min(time, load)
    + (parts > 1 and COMBINE + COMBINE_EACH * c.tile[1] * c.tile[2] or 0)
end

-- Columns of tiles that any operand and any output divide into lines.
local UNIT_COLUMNS = 32

local function fits(c, s) return not s.whole_lines or c.tile[2] % UNIT_COLUMNS == 0 end

-- The candidate, or one of that tile whose consumers take turns, or do not, as is asked for.
local function as_asked(c, s)
  if s.ping_pong == nil or s.ping_pong == (c.ping_pong or false) then return c end
  return { tile = c.tile, ping_pong = s.ping_pong, rate = c.rate, write = c.write,
    with_c = c.with_c }
end

-- One where sums are added up in runs, which take twice the registers.
local PROMOTED = { tile = { 128, 128 } }

-- What is taken before any other where nothing is known of the time.
local function usual(s)
  return s.promote and PROMOTED or s.bytes == 1 and LARGE_OF_BYTES or LARGE
end

-- Candidates that fit, each with parts of its tiles and a time, in the order of these times; those
-- that are as is asked for by themselves come first.
local function in_order(s, measure)
  local list = {}
  for i, c in ipairs(CANDIDATES) do
    local asked = as_asked(c, s)
    local time, parts = measure(asked)
    if fits(c, s) then
      list[#list + 1] = { tile = asked, time = time, parts = parts, place = i,
        rank = asked == c and 0 or 1 }
    end
  end
  table.sort(list, function(x, y)
    if x.rank ~= y.rank then return x.rank < y.rank end
    if x.time ~= y.time then return x.time < y.time end
    return x.place < y.place
  end)
  return list
end

-- The shorter time of a candidate, with whole tiles or with parts; these.
local function measure(c, s)
  local parts = count_parts(count_tiles(c, s), s)
  local whole, divided = estimate(c, s, 1), estimate(c, s, parts)
  if divided < whole then return divided, parts end
  return whole, 1
end

-- For sizes {M, N, K, L, bytes, out_bytes, reads_c, multiprocessors, whole_lines, ping_pong,
-- promote}: a list of {tile = candidate, parts = of its tiles, time =}, the least time first;
-- without M, where sizes come with the launch, and in runs, one for large products first, and no
-- times.
-- 'whole_lines': of UNIT_COLUMNS columns or a multiple.
function M.candidates(s)
  if s.M and not s.promote then return in_order(s, function(c) return measure(c, s) end) end
  local first = usual(s)
  local list = in_order(s, function(c) return c == first and 0 or 1 end)
  if first == PROMOTED and not s.ping_pong then table.insert(list, 1, { tile = first }) end
  for _, c in ipairs(list) do c.time, c.parts = nil, 1 end
  return list
end

-- The same for a list of such products in one launch, where the tile that multiplies for the least
-- time is the fastest; of whole lines, for nothing is said of their majors.
function M.candidates_for_groups(products, ping_pong)
  local s = { whole_lines = true, ping_pong = ping_pong }
  for _, product in ipairs(products) do
    if not (product.M and product.N and product.K) then return M.candidates(s) end
  end
  return in_order(s, function(c)
    local busy = 0 -- us of one multiprocessor
    for _, product in ipairs(products) do
      local multiply = times_of_tile(c, product)
      busy = busy + count_tiles(c, product) * multiply
    end
    return busy
  end)
end

local SKEW = 1500 -- ns: so that one warpgroup writes while the other one multiplies

-- Rows of A, where one tile of the fewest rows has them all.
function M.most_rows(s) return s.M and s.M > 0 and s.M <= 64 and s.M or nil end

-- Rows of tiles that go down together where lines of k are so short that all of A stays in the L2.
local SHORT_LINE, LONG_GROUP = 2048, 32
local SMALL_GROUP = 8 -- of tiles of 256 rows and of pairs
local CACHED = 60e6   -- bytes of operands about which pairs of tiles save what they cost

local function is_short(time) return time ~= nil and time < MOST_SHORT end

-- Whether blocks on top of each other load B for each other.
local function is_paired(c, s, time)
  if not s.M then return false end
  local rows, columns = c.tile[1], c.tile[2]
  if rows == 64 then return columns == 128 and s.M > 64 and s.M <= 128 end
  if is_short(time) then return false end
  local leaves_none = rows % 128 == 0 and ceil_div(s.M, rows) % 2 == 0
  return leaves_none and 1.0 * s.bytes * s.K * (s.M + s.N) > CACHED -- no integer that wraps around
end

local function has_short_lines(s) return s.K and s.K * s.bytes <= SHORT_LINE end

-- What goes with a candidate for these sizes, and with 'cluster', if a script says what that is:
-- options of the plan.
function M.more(c, s, time, cluster)
  local more = {}
  if not cluster and is_paired(c, s, time) then more.cluster = { 2, 1 } end
  local is_alone = not more.cluster and (not cluster or cluster[1] * cluster[2] == 1)
  if c.tile[1] == 256 or not is_alone then more.group = c.group or SMALL_GROUP end
  if not more.group and has_short_lines(s) and not is_short(time) then more.group = LONG_GROUP end
  local is_shared = not c.ping_pong and c.tile[1] > 64
  if is_shared and is_alone and not (is_short(time) or has_short_lines(s)) then
    more.skew = SKEW
  end
  return more
end

-- Whether a kernel of that time should start while the one before ends.
function M.is_dependent(time) return time ~= nil and time < MOST_DEPENDENT end

return M
