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
  TV = { 2, function(atom, threads, values) return lutile.make_tiled_copy(atom, threads, values) end },
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
  on_tiled_copy("partition_" .. side, function(copy, layout) return part(copy, layout, 0).layout end)
  on_tiled_copy("partition_" .. side .. "_thr", function(...) return part(...).layout end)
  on_tiled_copy("partition_" .. side .. "_offset", function(...) return part(...).offset end)
  on_tiled_copy("retile_" .. side, function(copy, fragment)
    return copy["retile_" .. side](copy, fragment)
  end)
end

return forms
