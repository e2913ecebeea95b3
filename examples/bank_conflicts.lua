-- A bank-conflict hunt: a 32 x 32 tile is transposed through shared memory, which has 32 banks of
-- 4 bytes. Three layouts of the tile, the same kernel: what the hardware would spend is counted.
--
-- Usage: lutile bank_conflicts.lua

require "lutile".using()

local N = 32

-- A warp writes the tile row by row, and reads it column by column.
local function transpose(gA, gB, layout)
  local sA = make_tensor(make_smem_ptr(f32, cosize(layout)), layout)
  local x = threadIdx.x
  for i = 0, N - 1 do sA[{ i, x }] = gA(i, x) end
  sync()
  for i = 0, N - 1 do gB[{ i, x }] = sA(x, i) end
end

local function is_transposed(A, B)
  for i = 0, N - 1 do
    for j = 0, N - 1 do
      if A(i, j) ~= B(j, i) then return false end
    end
  end
  return true
end

local layouts = {
  { "naive: a column is one bank", make_layout({ N, N }, LayoutRight) },
  { "padded: each row starts one bank further", make_layout({ N, N }, { N + 1, 1 }) },
  { "swizzled: the row's bits are mixed into the bank's, no byte is lost",
    composition(Swizzle(5, 0, 5), make_layout({ N, N }, LayoutRight)) },
}

local A = make_tensor(f32, make_layout({ N, N }, LayoutRight))
local B = make_tensor(f32, make_layout({ N, N }, LayoutRight))
transform(A, function() return math.random() end)

for _, case in ipairs(layouts) do
  local why, layout = table.unpack(case)
  local counted = launch(transpose, { block = N }, A, B, layout)
  assert(is_transposed(A, B))
  print(("%s: %s"):format(tostring(layout), why))
  report(counted)
  print()
end
