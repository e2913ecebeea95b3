-- Assertions for busted (luassert) on layouts, copies and kernels:
--
--   require "lutile.spec"
--   assert.layout_equal("(4,2):(2,1)", layout)
--   assert.equivalent(a, b)                          the same function
--   assert.bank_conflict_free(smem_layout, tiled_copy)
--   assert.covers(tiled_copy, tile)                  each element once
--   assert.race_free(kernel, options, ...)
--
-- A failure shows both layouts and the first coordinate where they differ.

local lutile = require "lutile"
local luassert = require "luassert"

local M = {}

-- ---- Arguments ------------------------------------------------------------------------------

local FORMS = { layout_equal = "two layouts", equivalent = "two layouts",
  covers = "a TiledCopy and a tile: covers(tiled_copy, tile)",
  bank_conflict_free = "a layout and a TiledCopy: bank_conflict_free(layout, tiled_copy)",
  race_free = "a kernel, launch's options and arguments: race_free(f, {block = 32}, ...)" }

local function check(name, good)
  if not good then error(("assert.%s takes %s"):format(name, FORMS[name]), 0) end
end

local function is_tiled_copy(x)
  return getmetatable(x) == "lutile copy" and pcall(function() return x.get_slice end)
end

-- Layouts may be given as text.
local function layout_of(x)
  if type(x) == "string" then return lutile.parse(x) end
  return lutile.is_layout(x) and x or lutile.make_layout(x)
end

-- The first index below both sizes at which two layouts differ, as text.
local function describe_difference(expected, actual)
  local sizes = { lutile.size(expected), lutile.size(actual) }
  for i = 0, math.min(sizes[1], sizes[2]) - 1 do
    local x, y = expected(i), actual(i)
    if x ~= y then
      return ("they differ at %s (index %d): %s, where the other has %s"):format(
        tostring(lutile.idx2crd(i, actual.shape)), i, tostring(y), tostring(x))
    end
  end
  if sizes[1] ~= sizes[2] then
    return ("their sizes differ: %d, where the other has %d"):format(sizes[2], sizes[1])
  end
  return "they are the same function, in another form"
end

local function describe_pair(expected, actual)
  return ("Got:\n  %s\nWanted:\n  %s\n%s"):format(tostring(actual), tostring(expected),
    describe_difference(expected, actual))
end

-- ---- Layouts --------------------------------------------------------------------------------

--- Same shape and stride, tree for tree and flag for flag.
function M.layout_equal(expected, actual)
  check("layout_equal", expected ~= nil and actual ~= nil)
  expected, actual = layout_of(expected), layout_of(actual)
  return expected == actual, "Layouts are not equal.\n" .. describe_pair(expected, actual)
end

--- The same function on indices.
function M.equivalent(expected, actual)
  check("equivalent", expected ~= nil and actual ~= nil)
  expected, actual = layout_of(expected), layout_of(actual)
  return lutile.equivalent(expected, actual),
    "Layouts are not the same function.\n" .. describe_pair(expected, actual)
end

-- ---- Copies ---------------------------------------------------------------------------------

-- How often each element of the tile is written by all threads of the copy.
local function count_writes(copy, tile)
  local index = lutile.make_layout(tile)
  local counts = {}
  for thread = 0, lutile.size(copy) - 1 do
    local part = copy:get_slice(thread):partition_D(index)
    for i = 0, lutile.size(part.layout) - 1 do
      local at = part(i)
      counts[at] = (counts[at] or 0) + 1
    end
  end
  return counts, index
end

--- Each element of the tile is moved once, and nothing outside of it.
function M.covers(copy, tile)
  check("covers", is_tiled_copy(copy) and tile ~= nil)
  local counts, index = count_writes(copy, tile)
  local size = lutile.size(index)
  for i = 0, size - 1 do
    if counts[i] ~= 1 then
      return false, ("%s does not cover %s once: element %s is moved %d times"):format(
        tostring(copy), tostring(index.shape), tostring(lutile.idx2crd(i, index.shape)),
        counts[i] or 0)
    end
  end
  for at in pairs(counts) do
    if at >= size then
      return false, ("%s reaches beyond %s: index %d"):format(tostring(copy),
        tostring(index.shape), at)
    end
  end
  return true, ("%s covers %s once"):format(tostring(copy), tostring(index.shape))
end

-- Runs the copy from shared memory of the layout (or to it, for atoms that store there).
local function run_copy(layout, copy)
  local stores = copy.name:find "STSM" ~= nil
  local extent = lutile.cosize(layout)
  return lutile.launch(function()
    local memory = lutile.make_tensor(lutile.make_smem_ptr(copy.val_type, extent), layout)
    local slice = copy:get_slice(lutile.threadIdx.x)
    if stores then
      local part = slice:partition_D(memory)
      local fragment = lutile.make_fragment_like(slice:partition_S(memory))
      lutile.clear(fragment)
      lutile.copy(copy, fragment, part)
    else
      if lutile.threadIdx.x == 0 then
        lutile.clear(lutile.make_tensor(memory.data, extent))
      end
      lutile.sync()
      local part = slice:partition_S(memory)
      lutile.copy(copy, part, lutile.make_fragment_like(slice:partition_D(memory)))
    end
  end, { block = lutile.size(copy) })
end

--- No request of the copy takes more passes over the banks than its bytes need.
function M.bank_conflict_free(layout, copy)
  check("bank_conflict_free", layout ~= nil and is_tiled_copy(copy))
  layout = layout_of(layout)
  local counted = run_copy(layout, copy)
  local wanted = copy.name:find "STSM" and "write" or "read"
  local conflicts, wavefronts = 0, 0
  for _, a in ipairs(counted.accesses) do
    if a.space == "shared" and a.access == wanted then
      conflicts, wavefronts = conflicts + a.conflicts, wavefronts + a.wavefronts
    end
  end
  return conflicts == 0, ("%s has bank conflicts under %s: %d of %d wavefronts"):format(
    tostring(layout), tostring(copy), conflicts, wavefronts)
end

-- ---- Kernels --------------------------------------------------------------------------------

--- The kernel runs through, and the executor's checks find nothing.
function M.race_free(kernel, options, ...)
  check("race_free", type(kernel) == "function" and type(options) == "table")
  local passed, message = pcall(lutile.launch, kernel, options, ...)
  return passed, ("The kernel did not pass the executor's checks: %s"):format(tostring(message))
end

-- ---- Registration ---------------------------------------------------------------------------

for name, assertion in pairs(M) do
  luassert:register("assertion", name, function(state, arguments)
    local holds, message = assertion(table.unpack(arguments, 1, arguments.n))
    state.failure_message = state.mod and message
      or ("%s was expected to fail"):format(name)
    return holds
  end)
end

return M
