-- From a layout printed as a grid to a swizzle, step by step.
--
-- Usage: lutile layouts.lua

require "lutile".using()

local function show(text, layout)
  print("\n" .. text)
  print_layout(layout)
end

local A = make_layout({ 4, 8 }, LayoutRight)
show("A layout maps coordinates to offsets. Here rows are contiguous:", A)
print(("A(1, 2) = %d, and by the linear index, which counts down the columns, A(9) = %d"):format(
  A(1, 2), A(9)))

show("The same shape with contiguous columns:", make_layout { 4, 8 })

local tiles = A // { 2, 4 }
show("A divided into tiles of 2 x 4, A // {2, 4}: a column for each tile", tiles)
show("Its tile (1, 1), a slice: where it starts, and its layout", tiles({ _, _ }, { 1, 1 }))

show("Composition renumbers coordinates: A .. (8,4):(4,1) is A with rows and columns exchanged",
  A .. make_layout({ 8, 4 }, LayoutRight))
print(("An inverse goes back: (~A)(A(1, 2)) = %d, the linear index of (1, 2)"):format(
  (~A)(A(1, 2))))

-- Shared memory has 32 banks of 4 bytes; elements of 2 bytes lie there in pairs.
local function banks_of_column(layout, n)
  local banks, count = {}, 0
  for m = 0, size(layout, 0) - 1 do
    local bank = layout(m, n) // 2 % 32
    count, banks[bank] = count + (banks[bank] and 0 or 1), true
  end
  return count
end

local rows = make_layout({ 8, 64 }, LayoutRight) -- 8 rows of 64 f16, 128 bytes each
local swizzled = make_composed_layout(Swizzle(3, 3, 3), 0, rows)
print(("\nA column of %s lies in %d bank: 8 threads that read it wait for each other."):format(
  tostring(rows), banks_of_column(rows, 0)))
print(("The same of %s lies in %d banks."):format(tostring(swizzled), banks_of_column(swizzled, 0)))
show("What the swizzle does, in groups of 8 elements: XOR with the row",
  make_composed_layout(Swizzle(3, 0, 3), 0, make_layout({ 8, 8 }, LayoutRight)))
