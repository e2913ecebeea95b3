-- Small layouts, all of them, and random ones from a fixed seed.

local lutile = require "lutile"

local M = {}

-- Calls f(sizes) for every list of `rank` numbers from `values`.
local function each_list(values, rank, f, list)
  list = list or {}
  if #list == rank then return f(list) end
  for _, value in ipairs(values) do
    list[#list + 1] = value
    each_list(values, rank, f, list)
    list[#list] = nil
  end
end

-- Every layout of `rank` modes (an integer layout for rank 0) with these sizes and strides.
function M.each_layout(rank, sizes, strides, f)
  if rank == 0 then
    for _, s in ipairs(sizes) do
      for _, d in ipairs(strides) do f(lutile.make_layout(s, d)) end
    end
    return
  end
  each_list(sizes, rank, function(shape)
    shape = lutile.tuple(shape)
    each_list(strides, rank, function(stride) f(lutile.make_layout(shape, stride)) end)
  end)
end

function M.range(first, last)
  local list = {}
  for i = first, last do list[#list + 1] = i end
  return list
end

-- Every layout of up to three modes, sizes up to 4 and strides up to 8.
function M.each_unary(f)
  for rank = 0, 3 do M.each_layout(rank, M.range(1, 4), M.range(0, 8), f) end
end

-- Pairs of two-mode layouts, and of a two-mode layout with an integer one.
function M.each_pair(f)
  local left, right = {}, {}
  local function into(list)
    return function(l) list[#list + 1] = l end
  end
  M.each_layout(2, { 1, 2, 3, 4 }, { 0, 1, 2, 3, 4, 6, 8 }, into(left))
  M.each_layout(2, { 2, 3, 4 }, { 0, 1, 2, 3, 4 }, into(right))
  M.each_layout(0, { 1, 2, 3, 4, 6 }, { 0, 1, 2, 3, 4, 6 }, into(right))
  for _, a in ipairs(left) do
    for _, b in ipairs(right) do f(a, b) end
  end
end

-- A generator of its own (xorshift), so that specs see the same layouts everywhere.
function M.random(seed)
  local state = seed
  return function(first, last)
    state = state ~ state << 13
    state = state ~ state >> 7
    state = state ~ state << 17
    return first + (state >> 1) % (last - first + 1)
  end
end

local SIZES = { 1, 2, 2, 3, 4, 4, 5, 8 }

-- A shape of nested tuples with `leaves` leaves.
local function random_shape(random, leaves)
  if leaves == 1 then return SIZES[random(1, #SIZES)] end
  local shape, left = {}, leaves
  while left > 0 do
    local take = random(1, math.min(left, leaves - 1))
    shape[#shape + 1] = random_shape(random, take)
    left = left - take
  end
  return shape
end

-- The strides of a compact layout whose leaves are ordered at random: one to one.
local function leaves_of(shape, list)
  if type(shape) == "number" then
    list[#list + 1] = shape
  else
    for _, part in ipairs(shape) do leaves_of(part, list) end
  end
  return list
end

local function shuffled(random, n)
  local order = M.range(1, n)
  for i = n, 2, -1 do
    local j = random(1, i)
    order[i], order[j] = order[j], order[i]
  end
  return order
end

local function compact_strides(random, sizes)
  local strides, current = {}, 1
  for _, i in ipairs(shuffled(random, #sizes)) do
    strides[i] = current
    current = current * sizes[i]
  end
  return strides
end

local function fold(shape, strides, next_leaf)
  if type(shape) == "number" then
    next_leaf.i = next_leaf.i + 1
    return strides[next_leaf.i]
  end
  local parts = {}
  for i, part in ipairs(shape) do parts[i] = fold(part, strides, next_leaf) end
  return parts
end

-- A random layout that is one to one and onto 0 to its size less 1.
function M.random_bijection(random)
  local shape = random_shape(random, random(1, 5))
  local strides = compact_strides(random, leaves_of(shape, {}))
  return lutile.make_layout(shape, fold(shape, strides, { i = 0 }))
end

-- A random layout with any strides.
function M.random_layout(random)
  local shape = random_shape(random, random(1, 5))
  local strides = {}
  for i = 1, #leaves_of(shape, {}) do strides[i] = random(0, 3) == 0 and 0 or random(1, 24) end
  return lutile.make_layout(shape, fold(shape, strides, { i = 0 }))
end

return M
