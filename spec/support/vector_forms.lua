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

return forms
