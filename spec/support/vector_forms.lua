-- The vector files' operations on atoms and tilings, as calls of lutile: name -> function of the
-- line's arguments.

local lutile = require "lutile"

local forms = {}

-- ---- Atoms ----------------------------------------------------------------------------------

function forms.mma_atom(name, field)
  local value = lutile.MMA_Atom(name)[field]
  if value == nil then error(("%s has no %s"):format(name, field)) end
  return value
end

-- ---- TiledMMA -------------------------------------------------------------------------------

local tilings = {}

-- A configuration is atom, atom layout, permutation; each is used by many lines.
local function tiled_mma(atom, atom_layout, permutation)
  local key = table.concat({ atom, tostring(atom_layout), tostring(permutation) }, " ")
  tilings[key] = tilings[key] or lutile.make_tiled_mma(atom, atom_layout, permutation)
  return tilings[key]
end

-- Defines tmma_<name> as a function of the TiledMMA and the line's further arguments.
local function on_tiled_mma(name, run)
  forms["tmma_" .. name] = function(atom, atom_layout, permutation, ...)
    return run(tiled_mma(atom, atom_layout, permutation), ...)
  end
end

on_tiled_mma("thr_layout_vmnk", function(mma) return mma:get_thr_layout_vmnk() end)
on_tiled_mma("tile_size_mnk", function(mma) return mma:tile_shape() end)
on_tiled_mma("permutation_mnk", function(mma) return mma:permutation_mnk() end)
on_tiled_mma("thr_vmnk", function(mma, thread) return mma:get_slice(thread).thr_vmnk end)

for _, matrix in ipairs { "A", "B", "C" } do
  on_tiled_mma("layout" .. matrix .. "_TV", function(mma)
    return mma["get_layout" .. matrix .. "_TV"](mma)
  end)
  on_tiled_mma("partition_shape_" .. matrix, function(mma, shape)
    return mma["partition_shape_" .. matrix](mma, shape)
  end)
  on_tiled_mma("thrfrg_" .. matrix, function(mma, layout)
    return mma["thrfrg_" .. matrix](mma, layout)
  end)
  local partition = "partition_" .. matrix
  on_tiled_mma(partition, function(mma, layout)
    local slice = mma:get_slice(0)
    return slice[partition](slice, layout).layout
  end)
  on_tiled_mma(partition .. "_offset", function(mma, layout, thread)
    local slice = mma:get_slice(thread)
    local part = slice[partition](slice, layout)
    return part.offset
  end)
  on_tiled_mma("fragment_" .. matrix, function(mma, layout)
    local slice = mma:get_slice(0)
    local part = slice[partition](slice, layout).layout
    return slice["make_fragment_" .. matrix](slice, part).layout
  end)
end

-- ---- Copy atoms ------------------------------------------------------------------------------

function forms.copy_traits(name, field) return lutile.Copy_Traits(name)[field] end

function forms.copy_atom(name, dtype, field) return lutile.Copy_Atom(name, dtype)[field] end

-- ---- TiledCopy -------------------------------------------------------------------------------

local copies = {}

-- A configuration is kind, atom, type, and threads and values (TV) or those of a TiledMMA: how many
-- fields it takes, and what makes it.
local copy_kinds = {
  TV = { 2, function(...) return lutile.make_tiled_copy(...) end },
}
for _, kind in ipairs { "A", "B", "C", "C_atom" } do
  copy_kinds[kind] = { 3, function(atom, ...)
    return lutile["make_tiled_copy_" .. kind](atom, tiled_mma(...))
  end }
end

-- The TiledCopy of a line's first arguments, and the arguments behind them.
local function tiled_copy(kind, name, dtype, ...)
  local count, make = table.unpack(copy_kinds[kind])
  local fields = { ... }
  local words = { kind, name, dtype }
  for i = 1, count do words[#words + 1] = tostring(fields[i]) end
  local key = table.concat(words, " ")
  copies[key] = copies[key]
    or make(lutile.Copy_Atom(name, dtype), table.unpack(fields, 1, count))
  return copies[key], table.unpack(fields, count + 1)
end

-- Defines tc_<name> as a function of the TiledCopy and the line's further arguments.
local function on_tiled_copy(name, run)
  forms["tc_" .. name] = function(...) return run(tiled_copy(...)) end
end

on_tiled_copy("tiler_mn", function(copy) return copy.tiler_mn end)
on_tiled_copy("layout_TV", function(copy) return copy.layout_TV end)
on_tiled_copy("size", function(copy) return lutile.size(copy) end)

for _, side in ipairs { "S", "D" } do
  on_tiled_copy("layout" .. side .. "_TV", function(copy)
    return copy["get_layout" .. side .. "_TV"](copy)
  end)
  local function part(copy, layout, thread)
    local slice = copy:get_slice(thread)
    return slice["partition_" .. side](slice, layout)
  end
  on_tiled_copy("partition_" .. side, function(copy, layout)
    return part(copy, layout, 0).layout
  end)
  on_tiled_copy("partition_" .. side .. "_thr", function(...) return part(...).layout end)
  on_tiled_copy("partition_" .. side .. "_offset", function(...) return part(...).offset end)
  on_tiled_copy("retile_" .. side, function(copy, fragment)
    return copy["retile_" .. side](copy, fragment)
  end)
end

-- ---- Accumulators as operand A ---------------------------------------------------------------

-- Defines fa_<name> as a function of the two TiledMMAs and the extents of the accumulators.
local function on_pair(name, run)
  forms["fa_" .. name] = function(first, second, atom_layout, permutation, extents)
    return run(tiled_mma(first, atom_layout, permutation),
      tiled_mma(second, atom_layout, permutation), extents)
  end
end

local function accumulators(mma, extents)
  return lutile.make_layout(lutile.partition_shape_C(mma, extents))
end

-- Warpgroup atoms keep their columns in the values' last mode.
local function is_warpgroup(acc) return lutile.rank(acc[0]) == 3 end

local function divided(acc)
  if is_warpgroup(acc) then return lutile.logical_divide(acc[0][2], { 2 }) end
  return lutile.logical_divide(acc, { lutile._, lutile._, 2 })
end

local function regrouped(acc)
  local l = divided(acc)
  if is_warpgroup(acc) then
    local values, half = acc[0], l[0]
    return lutile.make_layout(lutile.make_layout(values[0], values[1], half[0]), acc[1],
      lutile.coalesce(lutile.make_layout(half[1], acc[2])))
  end
  return lutile.make_layout(lutile.make_layout(l[0], l[2][0]), l[1], l[2][1])
end

on_pair("acc", function(mma, _, extents) return accumulators(mma, extents) end)
on_pair("acc_rowcol", function(mma, _, extents)
  return lutile.acc_rowcol(accumulators(mma, extents))
end)
on_pair("divide", function(mma, _, extents) return divided(accumulators(mma, extents)) end)
on_pair("regroup", function(mma, _, extents) return regrouped(accumulators(mma, extents)) end)

-- Parts of all threads, of an index tensor in either order.
local function parts(mma, next_mma, extents, order, thread)
  local index = lutile.make_layout(extents, order)
  return mma:get_slice(thread):partition_C(index), next_mma:get_slice(thread):partition_A(index)
end

for suffix, order in pairs { col = lutile.LayoutLeft, row = lutile.LayoutRight } do
  local function layouts(mma, next_mma, extents)
    local C, A = parts(mma, next_mma, extents, order, 0)
    return C.layout, A.layout
  end
  on_pair("partition_C_" .. suffix, function(...) return (layouts(...)) end)
  on_pair("partition_A_" .. suffix, function(...) return select(2, layouts(...)) end)
  on_pair("left_inverse_" .. suffix, function(...) return ~layouts(...) end)
  on_pair("compose_" .. suffix, function(...)
    local C, A = layouts(...)
    return ~C .. A
  end)
  on_pair("fragment_" .. suffix, function(mma, next_mma, extents)
    local C, A = layouts(mma, next_mma, extents)
    return accumulators(mma, extents) .. (~C .. A)
  end)
end

on_pair("same_base", function(mma, next_mma, extents)
  for thread = 0, lutile.size(mma) - 1 do
    local C, A = parts(mma, next_mma, extents, lutile.LayoutLeft, thread)
    if C.offset ~= A.offset then return "no" end
  end
  return "yes"
end)

-- acc_to_A raises where a thread lacks what it needs.
on_pair("thread_local", function(mma, next_mma, extents)
  local fits = pcall(lutile.acc_to_A, mma, accumulators(mma, extents), next_mma)
  return fits and "yes" or "no"
end)

-- ---- GMMA shared memory ----------------------------------------------------------------------

local types_of_width = { b8 = "s8", b16 = "f16", b32 = "f32" }
local width_of_type = { s8 = "b8", f16 = "b16", tf32 = "b32" }

local function gmma_atom(major, swizzle, width)
  return lutile.GMMA[("Layout_%s_%s_Atom"):format(major, swizzle)](types_of_width[width])
end

-- CuTe prints its flag of a shared memory pointer as a plain 0.
local function written(layout)
  return (lutile.to_cute(layout):gsub("smem%[%d+b%]", "0"))
end

-- The layout behind the swizzle; a composed layout's parts are A, offset and B.
local function without_swizzle(layout)
  return lutile.is_composed_layout(layout) and layout.layout_b or layout
end

function forms.gmma_smem_atom(...) return written(gmma_atom(...)) end

function forms.gmma_smem_atom_elem(...)
  return gmma_atom(...):as_position_independent_swizzle_layout()
end

function forms.gmma_smem_atom_nosw(...) return without_swizzle(gmma_atom(...)) end

function forms.gmma_tile_to_shape(major, swizzle, width, shape)
  return written(gmma_atom(major, swizzle, width):tile_to_shape(shape))
end

function forms.gmma_tile_to_shape_ord(major, swizzle, width, shape, order)
  return written(gmma_atom(major, swizzle, width):tile_to_shape(shape, order))
end

local function gmma_part(matrix, major, swizzle, dtype, shape, atom)
  local smem = gmma_atom(major, swizzle, width_of_type[dtype]):tile_to_shape(shape)
  local slice = lutile.make_tiled_mma(atom):get_slice(0)
  return slice["partition_" .. matrix](slice, smem)
end

function forms.gmma_partition(...) return without_swizzle(gmma_part(...).layout) end

function forms.gmma_desc_iter(matrix, major, ...)
  local _, layout = lutile.GMMA.smem_desc(major, gmma_part(matrix, major, ...))
  return layout
end

function forms.gmma_desc(matrix, major, swizzle, dtype, shape, atom, field)
  local part = gmma_part(matrix, major, swizzle, dtype, shape, atom)
  return lutile.GMMA.smem_desc(major, part)[field]
end

return forms
