-- Accumulators of one product as operand A of the next, and as rows and columns.

local lutile = require "lutile"

local M = {}

-- The (M, N) that accumulators of this shape, (MMA, MMA_M, MMA_N), are of.
local function extents_of(mma, acc)
  local shape, threads = mma.shape_mnk, mma.thr_layout_vmnk
  return {
    shape[0] * lutile.size(threads, 1) * lutile.size(acc, 1),
    shape[1] * lutile.size(threads, 2) * lutile.size(acc, 2),
  }
end

-- (thread, value) -> index in the column-major matrix of all that the threads hold, values in the
-- order of their registers.
local function matrix_tv(mma, matrix, extents)
  local modes = { A = { 0, 2 }, C = { 0, 1 } }
  local tile = {}
  for i, mode in ipairs(modes[matrix]) do tile[i] = lutile.tile_size(mma, mode) end
  local divided = lutile.zipped_divide(lutile.make_layout(extents), tile)
  local first = divided[0] .. mma["get_layout" .. matrix .. "_TV"](mma)
  local values, rest = first[1], divided[1]
  return lutile.make_layout(first[0], lutile.make_layout(values[0],
    lutile.make_layout(lutile.get(values, 1, 0), rest[0]),
    lutile.make_layout(lutile.get(values, 1, 1), rest[1])))
end

-- Whether operand A of these extents is whole tiles: else it has elements that nobody holds.
local function is_whole(mma, extents)
  return extents[1] % lutile.tile_size(mma, 0) == 0 and extents[2] % lutile.tile_size(mma, 2) == 0
end

--- Where the next product finds its operand A among the accumulators: a layout
--- (thread, value of A) -> thread + threads * (value of C). Raises where A is larger.
function M.acc_exchange(mma, acc, next_mma)
  next_mma = next_mma or mma
  local extents = extents_of(mma, acc)
  if not is_whole(next_mma, extents) then
    error(("acc_exchange: %d x %d accumulators are no whole tiles of operand A of %s, which are "
      .. "%d x %d"):format(extents[1], extents[2], next_mma.name, lutile.tile_size(next_mma, 0),
      lutile.tile_size(next_mma, 2)), 3)
  end
  return ~matrix_tv(mma, "C", extents) .. matrix_tv(next_mma, "A", extents)
end

-- The first element of A that a thread needs and another one holds, or that nobody has.
local function describe_need(mma, acc, next_mma, extents)
  local C, A = matrix_tv(mma, "C", extents), matrix_tv(next_mma, "A", extents)
  local holder = {}
  local threads = lutile.size(C, 0)
  for i = 0, lutile.size(C) - 1 do holder[C(i)] = i end
  for thread = 0, lutile.size(A, 0) - 1 do
    local own = {}
    for value = 0, lutile.size(C, 1) - 1 do own[C(thread, value)] = true end
    for value = 0, lutile.size(A, 1) - 1 do
      local element = A(thread, value)
      if not own[element] then
        local at = holder[element]
        if not at or element >= extents[1] * extents[2] then
          return ("thread %d needs value %d of A, which lies outside of the %d x %d accumulators")
            :format(thread, value, extents[1], extents[2])
        end
        if is_whole(next_mma, extents) then
          return ("thread %d needs value %d of A, which is value %d of thread %d; acc_exchange "
            .. "gives the exchange as a layout: %s"):format(thread, value, at // threads,
            at % threads, tostring(M.acc_exchange(mma, acc, next_mma)))
        end
      end
    end
  end
  return "the registers of some threads lie in another order than those of the others"
end

-- Whether ~C .. A names, for every thread, the register that holds A's element.
local function holds_everywhere(mma, next_mma, index, view)
  for thread = 0, lutile.size(mma) - 1 do
    local C = mma:get_slice(thread):partition_C(index)
    local A = next_mma:get_slice(thread):partition_A(index)
    local count = lutile.size(C.layout)
    if lutile.size(view) ~= lutile.size(A.layout) then return false end
    for i = 0, lutile.size(view) - 1 do
      local register = view(i)
      if register >= count or C(register) ~= A(i) then return false end
    end
  end
  return true
end

local checked = setmetatable({}, { __mode = "k" })

-- The view, checked once for each pair of TiledMMAs and shape.
local function checked_view(mma, next_mma, extents)
  local per_mma = checked[mma] or setmetatable({}, { __mode = "k" })
  checked[mma] = per_mma
  local per_pair = per_mma[next_mma] or {}
  per_mma[next_mma] = per_pair
  local key = extents[1] .. "x" .. extents[2]
  if per_pair[key] == nil then
    local index = lutile.make_layout(extents)
    local C = mma:get_slice(0):partition_C(index).layout
    local A = next_mma:get_slice(0):partition_A(index).layout
    local composed, view = pcall(function() return ~C .. A end)
    per_pair[key] = composed and holds_everywhere(mma, next_mma, index, view) and view
  end
  return per_pair[key]
end

--- Accumulators (MMA, MMA_M, MMA_N) of a TiledMMA as operand A (MMA, MMA_M, MMA_K) of the next
--- (by default of the same TiledMMA), in place: the same registers in another order. Of a tensor a
--- view, of a layout a layout. Raises where a thread would need what another one holds.
function M.acc_to_A(mma, acc, next_mma)
  next_mma = next_mma or mma
  local extents = extents_of(mma, acc)
  local view = checked_view(mma, next_mma, extents)
  if view then return lutile.composition(acc, view) end
  error(("acc_to_A: accumulators %s of %s are no operand A of %s without an exchange: %s"):format(
    tostring(acc.shape), mma.name, next_mma.name,
    describe_need(mma, acc, next_mma, extents)), 3)
end

--- Accumulators as (rows, columns) of the thread's part: ((2, MMA_M), (2, MMA_N)), for atoms whose
--- values are pairs of columns, then two rows, then (warpgroups) further columns.
function M.acc_rowcol(acc)
  local l = lutile.layout(acc)
  local function view(rows, columns)
    local layout = lutile.make_layout(rows, columns)
    return lutile.is_layout(acc) and layout or lutile.make_tensor(acc, layout)
  end
  local values = l[0]
  local rows = lutile.make_layout(values[1], l[1])
  if lutile.rank(values) == 3 then
    return view(rows, lutile.make_layout(values[0], values[2], l[2]))
  end
  return view(rows, lutile.make_layout(values[0], l[2]))
end

return M
