-- The algebra's laws, checked point by point. Each function raises with the first point that breaks
-- its law, and otherwise returns true. Results are evaluated at linear coordinates of their own
-- shape, which are those of every shape that it refines.

local lutile = require "lutile"

local M = {}

local size, rank = lutile.size, lutile.rank

local function fail(format, ...)
  local texts = { n = select("#", ...), ... }
  for i = 1, texts.n do texts[i] = tostring(texts[i]) end
  error(format:format(table.unpack(texts)), 0)
end

-- The layout that a tiler's part stands for.
local function as_layout(tiler)
  if math.type(tiler) or lutile.is_integral(tiler) then return lutile.make_layout(tiler) end
  return tiler
end

-- r(c) == a(b(c))
function M.composition(a, b, r)
  if lutile.is_underscore(b) then
    if a ~= r then fail("%s o _ is %s", a, r) end
    return true
  end
  if lutile.is_tuple(b) then
    if rank(r) ~= rank(b) then fail("%s o %s has another rank: %s", a, b, r) end
    for i = 0, rank(b) - 1 do M.composition(lutile.layout(a, i), b[i], lutile.layout(r, i)) end
    return true
  end
  b = as_layout(b)
  if size(r) ~= size(b) then fail("%s o %s has another size: %s", a, b, r) end
  for i = 0, size(b) - 1 do
    if r(i) ~= a(b(i)) then
      fail("(%s o %s)(%s) is %s, but %s is %s there", a, b, i, a(b(i)), r, r(i))
    end
  end
  return true
end

-- r(i) == l(i), for the same size
function M.same_function(l, r)
  if size(l) ~= size(r) then fail("%s and %s differ in size", l, r) end
  for i = 0, size(l) - 1 do
    if l(i) ~= r(i) then fail("%s and %s differ at %s", l, r, i) end
  end
  return true
end

-- l(r(i)) == i for all i < size(r)
function M.right_inverse(l, r)
  for i = 0, size(r) - 1 do
    if l(r(i)) ~= i then fail("%s(%s(%s)) is %s", l, r, i, l(r(i))) end
  end
  return true
end

-- l(r(l(i))) == l(i) for all i < size(l)
function M.left_inverse(l, r)
  for i = 0, size(l) - 1 do
    local k = l(i)
    if l(r(k)) ~= k then fail("%s(%s(%s)) is %s, with %s at %s", l, r, k, l(r(k)), k, i) end
  end
  return true
end

local function image(l)
  local set = {}
  for i = 0, size(l) - 1 do set[l(i)] = true end
  return set
end

-- Whether the modes nest: in the order of their strides, each stride is a multiple of what those
-- before it span. Only then can a layout fill the gaps to the last offset: nothing that is one to
-- one with (2,2):(1,5) reaches 4.
local function nests(l)
  l = lutile.flatten(lutile.filter(l))
  local modes = {}
  for i = 0, rank(l) - 1 do
    modes[i + 1] = { size = size(l, i), stride = lutile.cosize(lutile.layout(l, i)) - 1 }
    if modes[i + 1].size > 1 then
      modes[i + 1].stride = modes[i + 1].stride // (modes[i + 1].size - 1)
    end
  end
  table.sort(modes, function(a, b) return a.stride < b.stride end)
  local span = 1
  for _, mode in ipairs(modes) do
    if mode.stride % span ~= 0 then return false end
    span = mode.stride * mode.size
  end
  return true
end

-- r is ordered, meets l's image in 0 alone, and with l covers the target where l nests.
function M.complement(l, target, r)
  local taken = image(l)
  for i = 1, size(r) - 1 do
    if r(i) <= r(i - 1) then fail("complement %s of %s is not ordered at %s", r, l, i) end
    if taken[r(i)] then fail("complement %s of %s meets it in %s", r, l, r(i)) end
  end
  local covered = lutile.cosize(lutile.make_layout(l, r))
  if covered < size(target) and nests(l) then
    fail("%s and its complement %s cover %s of %s", l, r, covered, size(target))
  end
  return true
end

-- Every offset of l is one of r's.
local function covers(l, r)
  local found = image(r)
  for i = 0, size(l) - 1 do
    if not found[l(i)] then fail("offset %s of %s is missing from %s", l(i), l, r) end
  end
end

-- Where l o tiler exists, it is the tile, as far as it stays within l. Else l's modes were rounded
-- up to whole tiles, each on its own, and linear indices do not agree. No offset may be missing if
-- the tiler has a rest that fills it up.
local function divide_by_layout(l, tiler, r)
  local tile, exists = lutile.layout(r, 0), pcall(lutile.composition, l, tiler)
  for i = 0, exists and size(tiler) - 1 or -1 do
    if tiler(i) < size(l) and tile(i) ~= l(tiler(i)) then
      fail("tile %s of %s / %s is %s at %s", tile, l, tiler, tile(i), i)
    end
  end
  if size(r, 0) ~= size(tiler) then fail("%s / %s has another tile: %s", l, tiler, r) end
  if nests(tiler) then covers(l, r) end
end

function M.logical_divide(l, tiler, r)
  if lutile.is_underscore(tiler) then return M.composition(l, tiler, r) end
  if not lutile.is_tuple(tiler) then
    divide_by_layout(l, as_layout(tiler), r)
    return true
  end
  for i = 0, rank(l) - 1 do
    local mode, result = lutile.layout(l, i), lutile.layout(r, i)
    if i < rank(tiler) then
      M.logical_divide(mode, tiler[i], result)
    elseif mode ~= result then
      fail("mode %s of %s changed to %s", i, l, result)
    end
  end
  return true
end

-- Mode 0 of a zipped divide is l o tiler, mode 1 the rest.
function M.zipped_divide(l, tiler, r)
  if lutile.is_tuple(tiler) then
    for i = 0, rank(tiler) - 1 do
      M.composition(lutile.layout(l, i), tiler[i], lutile.layout(r, 0, i))
    end
    covers(l, r)
  else
    divide_by_layout(l, as_layout(tiler), r)
  end
  return true
end

local function product_by_layout(block, tiler, r)
  M.same_function(block, lutile.layout(r, 0))
  local target = size(block) * lutile.cosize(tiler)
  local repetition = lutile.complement(block, target)
  M.composition(repetition, tiler, lutile.layout(r, 1))
end

-- Mode 0 is the block, mode 1 its repetitions in the order of the tiler.
function M.logical_product(block, tiler, r)
  if lutile.is_underscore(tiler) then return M.composition(block, tiler, r) end
  if not lutile.is_tuple(tiler) then
    product_by_layout(block, as_layout(tiler), r)
    return true
  end
  for i = 0, rank(block) - 1 do
    local mode, result = lutile.layout(block, i), lutile.layout(r, i)
    if i < rank(tiler) then
      M.logical_product(mode, tiler[i], result)
    elseif mode ~= result then
      fail("mode %s of %s changed to %s", i, block, result)
    end
  end
  return true
end

-- The coordinate with its k-th underscore replaced by values[k].
local function substitute(coord, values, next_value)
  if lutile.is_underscore(coord) then
    next_value.k = next_value.k + 1
    return values[next_value.k]
  end
  if not lutile.is_tuple(coord) then return coord end
  local parts = {}
  for i, part in pairs(coord) do parts[i + 1] = substitute(part, values, next_value) end
  return parts
end

-- offset + r(i) == l(coord) with i in place of the underscores
function M.slice(coord, l, r, offset)
  for i = 0, size(r) - 1 do
    local kept = lutile.idx2crd(i, r.shape)
    local full = lutile.apply(l, substitute(coord, kept, { k = -1 }))
    if r(i) + offset ~= full then
      fail("%s at %s is %s, but its slice %s + %s has %s", l, coord, full, offset, r, r(i) + offset)
    end
  end
  return true
end

function M.coalesce(l, r) return M.same_function(l, r) end

-- The law of an operation of the vector files, for a result that CuTe does not give: raises if it
-- does not hold, or if there is none to check.
function M.check(op, args, result, offset)
  if op == "composition" then return M.composition(args[1], args[2], result) end
  if op == "with_shape" then
    return M.composition(args[1], lutile.make_layout(args[2]), result)
  end
  if op == "right_inverse" or op == "left_inverse" or op == "coalesce" then
    return M[op](args[1], result)
  end
  if op == "complement" then
    return M.complement(args[1], args[2] or lutile.cosize(lutile.filter(args[1])), result)
  end
  if op == "logical_divide" or op == "zipped_divide" or op == "logical_product" then
    return M[op](args[1], args[2], result)
  end
  if op == "slice_and_offset" then return M.slice(args[1], args[2], result, offset) end
  if op == "tiled_divide" then
    M.zipped_divide(args[1], args[2], lutile.zipped_divide(args[1], args[2]))
    return M.same_function(lutile.zipped_divide(args[1], args[2]), result)
  end
  fail("no law is known for %s", op)
end

return M
