---@meta lutile

---Layouts, tuples, swizzles and tensors are values of one type. They are immutable, and have the
---module's functions as methods.
---@class lutile.Value: lutile.functions
---@field shape lutile.Value|integer  of a layout or tensor
---@field stride lutile.Value|integer of a layout or tensor
---@field offset lutile.Value|integer of a composed layout or counting tensor
---@field layout lutile.Value         of a counting tensor
---@operator call: lutile.Value|integer
---@operator concat(lutile.Operand): lutile.Value
---@operator div(lutile.Operand): lutile.Value
---@operator idiv(lutile.Operand): lutile.Value
---@operator mul(lutile.Operand): lutile.Value
---@operator bnot: lutile.Value
---@operator unm: lutile.Value
---@operator len: integer

---What functions take: a value, or what stands for one. A table is a tuple, and a number or a table
---of numbers is a compact layout of that shape where a layout is wanted.
---@alias lutile.Operand lutile.Value|integer|table

---@class lutile.functions
local functions = {}

---@class lutile: lutile.functions
---@field _ lutile.Value the wildcard: all of a mode
---@field version string
---@field LayoutLeft lutile.Operand  make_layout's default: the first mode fastest
---@field LayoutRight lutile.Operand the last mode fastest
---@field f64 lutile.dtype
---@field f32 lutile.dtype
---@field tf32 lutile.dtype
---@field f16 lutile.dtype
---@field bf16 lutile.dtype
---@field e4m3 lutile.dtype
---@field e5m2 lutile.dtype
---@field e3m2 lutile.dtype
---@field e2m3 lutile.dtype
---@field e2m1 lutile.dtype
---@field ue8m0 lutile.dtype
---@field ue4m3 lutile.dtype
---@field e4m3fnuz lutile.dtype
---@field e5m2fnuz lutile.dtype
---@field s32 lutile.dtype
---@field s16 lutile.dtype
---@field s8 lutile.dtype
---@field u8 lutile.dtype
---@field s4 lutile.dtype
---@field u4 lutile.dtype
---@field b1 lutile.dtype
---@field c64 lutile.dtype
---@field gc64 lutile.dtype
---@field plan lutile.plan kernels for tensor cores
---@field tune lutile.tune the fastest plans, searched for on the device at hand
---@field cuda lutile.cuda   devices, and kernels compiled for layouts
local lutile = {}

-- Values

---The tuple of a table's elements: integers, tuples and tables of them.
---@param elements table
---@return lutile.Value
function functions.tuple(elements) end

---An integer that is known when a kernel is launched, not when it is compiled; promise divides it
---and every value it will have.
---@param value integer
---@param promise? integer 1
---@return lutile.Value
function functions.dyn(value, promise) end

---The basis element of the mode at a path: E(0, 1) is 1 in mode 1 of mode 0 of a coordinate.
---@param ... integer
---@return lutile.Value
function functions.E(...) end

---The function on indices that XORs the b bits from bit m + s on into the b bits from bit m on.
---@param b integer
---@param m integer
---@param s integer
---@return lutile.Value
function functions.Swizzle(b, m, s) end

---The tuple of the arguments.
---@param ... lutile.Operand
---@return lutile.Value
function functions.make_shape(...) end

---The tuple of the arguments.
---@param ... lutile.Operand
---@return lutile.Value
function functions.make_stride(...) end

---The tuple of the arguments.
---@param ... lutile.Operand
---@return lutile.Value
function functions.make_coord(...) end

---The tuple of the arguments.
---@param ... lutile.Operand
---@return lutile.Value
function functions.make_tuple(...) end

---The tuple of the arguments, layouts among them: a tiler, mode by mode.
---@param ... lutile.Operand
---@return lutile.Value
function functions.make_tile(...) end

-- Layouts

---The layout of a shape and a congruent stride; without a stride, or with LayoutLeft or
---LayoutRight, the compact one; of several layouts, the layout that has them as modes.
---@param shape lutile.Operand
---@param stride? lutile.Operand
---@param ... lutile.Value
---@return lutile.Value
function functions.make_layout(shape, stride, ...) end

---The strides of a compact layout of this shape, first mode fastest, starting from current.
---@param shape lutile.Operand
---@param current? lutile.Operand 1
---@return lutile.Value|integer
function functions.compact_col_major(shape, current) end

---The strides of a compact layout of this shape, last mode fastest, starting from current.
---@param shape lutile.Operand
---@param current? lutile.Operand 1
---@return lutile.Value|integer
function functions.compact_row_major(shape, current) end

---The compact layout whose modes are ordered by the numbers in order, the smallest fastest.
---@param shape lutile.Operand
---@param order lutile.Operand
---@return lutile.Value
function functions.make_ordered_layout(shape, order) end

---The compact layout with the shape of a layout and its modes in the order of its strides; static 0
---strides stay.
---@param layout lutile.Operand
---@return lutile.Value
function functions.make_layout_like(layout) end

---As make_layout_like, but mode 0 comes first: a layout for registers.
---@param layout lutile.Operand
---@return lutile.Value
function functions.make_fragment_like(layout) end

---The layout that maps each coordinate to itself, by strides E(0), E(1), ...
---@param shape lutile.Operand
---@return lutile.Value
function functions.make_identity_layout(shape) end

---The composed layout c -> a(offset + b(c)).
---@param a lutile.Value
---@param offset lutile.Operand
---@param b lutile.Operand
---@return lutile.Value
function functions.make_composed_layout(a, offset, b) end

-- Evaluation

---The offset that a layout has at a coordinate, natural, partial or linear; of a shape, the
---colexicographic index.
---@param coord lutile.Operand
---@param x lutile.Operand
---@param stride? lutile.Operand
---@return integer|lutile.Value
function functions.crd2idx(coord, x, stride) end

---The coordinate in a shape of a colexicographic index; with strides, (index / stride) % shape at
---each leaf.
---@param index lutile.Operand
---@param shape lutile.Operand
---@param stride? lutile.Operand
---@return lutile.Value|integer
function functions.idx2crd(index, shape, stride) end

---A coordinate of one shape as a coordinate of another, of the same index.
---@param coord lutile.Operand
---@param from lutile.Operand
---@param to lutile.Operand
---@return lutile.Value|integer
function functions.crd2crd(coord, from, to) end

---A layout at a coordinate, as layout(coord); with _ in the coordinate, the slice.
---@param layout lutile.Value
---@param coord lutile.Operand
---@return integer|lutile.Value
function functions.apply(layout, coord) end

---A swizzle at an index.
---@param swizzle lutile.Value
---@param index integer
---@return integer
function functions.swizzle_apply(swizzle, index) end

---The natural coordinate that a compact layout maps to an index.
---@param layout lutile.Operand
---@param index integer
---@return lutile.Value|integer
function functions.get_hier_coord(layout, index) end

---The coordinate, one number a mode, that a compact layout maps to an index.
---@param layout lutile.Operand
---@param index integer
---@return lutile.Value|integer
function functions.get_flat_coord(layout, index) end

---The linear coordinate that a compact layout maps to an index.
---@param layout lutile.Operand
---@param index integer
---@return integer
function functions.get_1d_coord(layout, index) end

---The number of coordinates, of the mode at a path where one is given.
---@param x lutile.Operand
---@param ... integer
---@return integer
function functions.size(x, ...) end

---The number of modes, of the mode at a path where one is given.
---@param x lutile.Operand
---@param ... integer
---@return integer
function functions.rank(x, ...) end

---The nesting: 0 for an integer, 1 for a tuple of integers.
---@param x lutile.Operand
---@param ... integer
---@return integer
function functions.depth(x, ...) end

---The largest offset and one: the memory that a layout needs.
---@param layout lutile.Operand
---@param ... integer
---@return integer
function functions.cosize(layout, ...) end

---As cosize, but for each element of the codomain of a layout of coordinates.
---@param layout lutile.Operand
---@param ... integer
---@return lutile.Value|integer
function functions.coshape(layout, ...) end

---Static zeros with the nesting of a layout's codomain.
---@param layout lutile.Operand
---@param ... integer
---@return lutile.Value|integer
function functions.coprofile(layout, ...) end

---The shape, of the mode at a path where one is given.
---@param x lutile.Operand
---@param ... integer
---@return lutile.Value|integer
function functions.shape(x, ...) end

---The strides, of the mode at a path where one is given.
---@param layout lutile.Operand
---@param ... integer
---@return lutile.Value|integer
function functions.stride(layout, ...) end

---The mode of a layout at a path.
---@param layout lutile.Operand
---@param ... integer
---@return lutile.Value
function functions.layout(layout, ...) end

---The part of a tuple or layout at a path of modes.
---@param x lutile.Operand
---@param ... integer
---@return lutile.Value|integer
function functions.get(x, ...) end

-- Relations

---Whether x and y have the same nesting.
---@param x lutile.Operand
---@param y lutile.Operand
---@return boolean
function functions.congruent(x, y) end

---Whether x has the nesting of y, or stops earlier at leaves.
---@param x lutile.Operand
---@param y lutile.Operand
---@return boolean
function functions.weakly_congruent(x, y) end

---Whether coordinates of the shape x are coordinates of the shape y: equal sizes at every leaf of
---x.
---@param x lutile.Operand
---@param y lutile.Operand
---@return boolean
function functions.compatible(x, y) end

---As compatible, but the sizes at the leaves of x divide those of y.
---@param x lutile.Operand
---@param y lutile.Operand
---@return boolean
function functions.weakly_compatible(x, y) end

---Whether a tiler divides x without rest.
---@param x lutile.Operand
---@param tiler lutile.Operand
---@return boolean
function functions.evenly_divides(x, tiler) end

---Whether coordinate a comes before b, the first mode deciding.
---@param a lutile.Operand
---@param b lutile.Operand
---@return boolean
function functions.lex_less(a, b) end

---Whether coordinate a comes before b, the last mode deciding.
---@param a lutile.Operand
---@param b lutile.Operand
---@return boolean
function functions.colex_less(a, b) end

---Whether every element of a is less than that of b: the test for a coordinate inside a shape.
---@param a lutile.Operand
---@param b lutile.Operand
---@return boolean
function functions.elem_less(a, b) end

-- Tuples and modes

---The modes with these numbers.
---@param x lutile.Operand
---@param ... integer|table
---@return lutile.Value
function functions.select(x, ...) end

---Modes first to last - 1.
---@param x lutile.Operand
---@param first integer
---@param last integer
---@return lutile.Value
function functions.take(x, first, last) end

---Modes first to last - 1 become one mode; last -1: to the end.
---@param x lutile.Operand
---@param first integer
---@param last integer
---@return lutile.Value
function functions.group(x, first, last) end

---x with one more mode at the end.
---@param x lutile.Operand
---@param mode? lutile.Operand 1:0 for a layout
---@return lutile.Value
function functions.append(x, mode) end

---x with one more mode at the start.
---@param x lutile.Operand
---@param mode? lutile.Operand 1:0 for a layout
---@return lutile.Value
function functions.prepend(x, mode) end

---x with modes added at the end until it has that rank.
---@param x lutile.Operand
---@param rank integer
---@param mode? lutile.Operand 1:0 for a layout
---@return lutile.Value
function functions.append_to(x, rank, mode) end

---x with modes added at the start until it has that rank.
---@param x lutile.Operand
---@param rank integer
---@param mode? lutile.Operand 1:0 for a layout
---@return lutile.Value
function functions.prepend_to(x, rank, mode) end

---x with another mode in place of one.
---@param x lutile.Operand
---@param mode integer
---@param new lutile.Operand
---@return lutile.Value
function functions.replace(x, mode, new) end

---A tuple with one more element before element n.
---@param tuple lutile.Operand
---@param n integer
---@param new lutile.Operand
---@return lutile.Value
function functions.insert(tuple, n, new) end

---A tuple without element n.
---@param tuple lutile.Operand
---@param n integer
---@return lutile.Value
function functions.remove(tuple, n) end

---The modes in reverse order.
---@param x lutile.Operand
---@return lutile.Value
function functions.reverse(x) end

---The same without nesting.
---@param x lutile.Operand
---@return lutile.Value|integer
function functions.flatten(x) end

---A flat x with the nesting of a profile.
---@param x lutile.Operand
---@param profile lutile.Operand
---@return lutile.Value
function functions.unflatten(x, profile) end

---An integer as a tuple of rank 1.
---@param x lutile.Operand
---@return lutile.Value
function functions.wrap(x) end

---A tuple of rank 1 as its element.
---@param x lutile.Operand
---@return lutile.Value|integer
function functions.unwrap(x) end

---The first two levels of nesting transposed: ((a,b),(c,d)) becomes ((a,c),(b,d)).
---@param x lutile.Operand
---@return lutile.Value
function functions.zip(x) end

-- Arithmetic on tuples

---The shape a divided by the shape b, mode by mode.
---@param a lutile.Operand
---@param b lutile.Operand
---@return lutile.Value|integer
function functions.shape_div(a, b) end

---a / b rounded up, mode by mode; b may be a layout.
---@param a lutile.Operand
---@param b lutile.Operand
---@return lutile.Value|integer
function functions.ceil_div(a, b) end

---a rounded up to a multiple of b, mode by mode.
---@param a lutile.Operand
---@param b lutile.Operand
---@return lutile.Value|integer
function functions.round_up(a, b) end

---The products of the elements of two tuples.
---@param a lutile.Operand
---@param b lutile.Operand
---@return lutile.Value|integer
function functions.elem_scale(a, b) end

---The sum of the products of the elements of two tuples.
---@param a lutile.Operand
---@param b lutile.Operand
---@return lutile.Value|integer
function functions.inner_product(a, b) end

---The product of all leaves.
---@param tuple lutile.Operand
---@return lutile.Value|integer
function functions.product(tuple) end

---The product of the leaves of each mode.
---@param tuple lutile.Operand
---@return lutile.Value|integer
function functions.product_each(tuple) end

---The products at the leaves of a guide.
---@param tuple lutile.Operand
---@param guide lutile.Operand
---@return lutile.Value|integer
function functions.product_like(tuple, guide) end

---The sum of all leaves.
---@param tuple lutile.Operand
---@return lutile.Value|integer
function functions.sum(tuple) end

---The greatest common divisor of all leaves.
---@param ... lutile.Operand
---@return lutile.Value|integer
function functions.gcd(...) end

---The largest of all leaves.
---@param ... lutile.Operand
---@return lutile.Value|integer
function functions.max(...) end

---The smallest of all leaves.
---@param ... lutile.Operand
---@return lutile.Value|integer
function functions.min(...) end

-- The algebra

---The same function on indices with as few modes as possible; with a profile, at the leaves of the
---profile.
---@param x lutile.Operand
---@param profile? lutile.Operand
---@return lutile.Value
function functions.coalesce(x, profile) end

---Modes of stride 0 and of size 1 removed, the rest coalesced.
---@param layout lutile.Operand
---@param profile? lutile.Operand
---@return lutile.Value
function functions.filter(layout, profile) end

---Modes of static stride 0 get size 1.
---@param x lutile.Operand
---@param profile? lutile.Operand
---@return lutile.Value
function functions.filter_zeros(x, profile) end

---The layout of the indices that a layout maps to 0.
---@param layout lutile.Operand
---@return lutile.Value
function functions.nullspace(layout) end

---The layout r with r(c) == a(b(c)) for all c in b, as a .. b; with a table b, mode by mode.
---@param a lutile.Operand
---@param b lutile.Operand
---@return lutile.Value
function functions.composition(a, b) end

---As composition with the tuple of all further arguments, or with the only one.
---@param a lutile.Operand
---@param ... lutile.Operand
---@return lutile.Value
function functions.compose(a, ...) end

---A layout as a function on the coordinates of another shape of its size.
---@param layout lutile.Operand
---@param ... lutile.Operand
---@return lutile.Value
function functions.with_shape(layout, ...) end

---The layout of what a layout leaves out of its codomain, up to the size of target.
---@param layout lutile.Operand
---@param target? lutile.Operand its cosize
---@return lutile.Value
function functions.complement(layout, target) end

---The layout r with layout(r(i)) == i for all i < size(r), as -layout.
---@param layout lutile.Operand
---@return lutile.Value
function functions.right_inverse(layout) end

---The layout r with layout(r(layout(i))) == layout(i) for all i, as ~layout.
---@param layout lutile.Operand
---@return lutile.Value
function functions.left_inverse(layout) end

---The layout split by a tiler: (tile, rest); with a table, mode by mode, as layout / tiler.
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.logical_divide(layout, tiler) end

---As logical_divide, with all tile modes in mode 0 and all rest modes in mode 1, as layout //
---tiler.
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.zipped_divide(layout, tiler) end

---As zipped_divide, with the rest modes unpacked: ((tile, tile), rest, rest).
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.tiled_divide(layout, tiler) end

---As zipped_divide, with all modes unpacked: (tile, tile, rest, rest).
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.flat_divide(layout, tiler) end

---The same as tiled_divide.
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.tile(layout, tiler) end

---A layout repeated as a tiler says: (block, repetition), as block * tiler.
---@param block lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.logical_product(block, tiler) end

---As logical_product, with all block modes in mode 0 and all repetitions in mode 1.
---@param block lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.zipped_product(block, tiler) end

---As zipped_product, with the repetitions unpacked.
---@param block lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.tiled_product(block, tiler) end

---As zipped_product, with all modes unpacked.
---@param block lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.flat_product(block, tiler) end

---A block repeated, mode by mode: within each mode the block comes first.
---@param block lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.blocked_product(block, tiler) end

---A block repeated, mode by mode: within each mode the repetition comes first.
---@param block lutile.Operand
---@param tiler lutile.Operand
---@return lutile.Value
function functions.raked_product(block, tiler) end

---A block repeated to fill a shape; order is that of the repetitions.
---@param block lutile.Operand
---@param shape lutile.Operand
---@param order? lutile.Operand LayoutLeft
---@return lutile.Value
function functions.tile_to_shape(block, shape, order) end

-- Layouts as functions

---Whether two layouts are one function of the linear index: of one size, and a(i) == b(i) for all i
---below it. Decided by the modes where they tell, and else by evaluation, of 2^24 offsets at most;
---so are the questions below.
---@param a lutile.Operand
---@param b lutile.Operand
---@return boolean
function functions.equivalent(a, b) end

---Whether no two coordinates have one offset.
---@param layout lutile.Operand
---@return boolean
function functions.is_injective(layout) end

---Whether each of 0 to n - 1 is an offset.
---@param layout lutile.Operand
---@param n? integer the cosize
---@return boolean
function functions.is_surjective(layout, n) end

---Whether a layout is one to one, and onto 0 to its size less 1.
---@param layout lutile.Operand
---@return boolean
function functions.is_bijective(layout) end

---Whether the offsets, in whatever order, leave no gap between the smallest and the largest.
---@param layout lutile.Operand
---@return boolean
function functions.is_contiguous(layout) end

---The offsets in a table, each once and in ascending order.
---@param layout lutile.Operand
---@return integer[]
function functions.image(layout) end

---The layout with the same offsets, each once and in ascending order; where they do not start at 0
---it is a counting tensor that starts at the smallest.
---@param layout lutile.Operand
---@return lutile.Value
function functions.image_layout(layout) end

---How an operation comes to its result, step by step, as text: the operands flattened and
---coalesced, each mode's test and partial result. The last line is "= " and the result, or "error:
---" and what is wrong. For composition, complement, the inverses, the divides and the products.
---@param operation string|function its name, or the function itself
---@param ... lutile.Operand
---@return string
function functions.explain(operation, ...) end

-- Slices

---The modes of x under the _ of a coordinate.
---@param coord lutile.Operand
---@param x lutile.Operand
---@return lutile.Value
function functions.slice(coord, x) end

---The modes of x that are not under a _ of a coordinate.
---@param coord lutile.Operand
---@param x lutile.Operand
---@return lutile.Value
function functions.dice(coord, x) end

---The slice of a layout, and the offset where it starts.
---@param coord lutile.Operand
---@param layout lutile.Operand
---@return lutile.Value layout
---@return lutile.Value|integer offset
function functions.slice_and_offset(coord, layout) end

---A layout, and the offset that it has at a coordinate.
---@param coord lutile.Operand
---@param layout lutile.Operand
---@return lutile.Value layout
---@return lutile.Value|integer offset
function functions.domain_offset(coord, layout) end

---The tile at a coordinate among the tiles of a layout, and its offset; a projection has _ at the
---elements of tiler and coordinate to leave out.
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@param coord lutile.Operand
---@param projection? lutile.Operand
---@return lutile.Value layout
---@return lutile.Value|integer offset
function functions.local_tile(layout, tiler, coord, projection) end

---What falls to a thread when a layout is dealt out over a layout of threads, and its offset.
---@param layout lutile.Operand
---@param threads lutile.Operand
---@param index lutile.Operand
---@param projection? lutile.Operand
---@return lutile.Value layout
---@return lutile.Value|integer offset
function functions.local_partition(layout, threads, index, projection) end

---The tile at a coordinate among the tiles of a layout, and its offset.
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@param coord lutile.Operand
---@return lutile.Value layout
---@return lutile.Value|integer offset
function functions.inner_partition(layout, tiler, coord) end

---The elements at one coordinate within every tile of a layout, and their offset.
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@param coord lutile.Operand
---@return lutile.Value layout
---@return lutile.Value|integer offset
function functions.outer_partition(layout, tiler, coord) end

-- Vectors and element widths

---The number of elements that are contiguous in both layouts, from the first on.
---@param a lutile.Operand
---@param b lutile.Operand
---@return integer
function functions.max_common_vector(a, b) end

---The layout of the elements that are contiguous in both layouts, from the first on.
---@param a lutile.Operand
---@param b lutile.Operand
---@return lutile.Value
function functions.max_common_layout(a, b) end

---The largest n for which upcast by n is known to work.
---@param x lutile.Operand
---@return integer
function functions.max_alignment(x) end

---The layout that spreads n elements over a shape.
---@param shape lutile.Operand
---@param n integer
---@return lutile.Value
function functions.domain_distribute(shape, n) end

---The layout over elements that are n times larger.
---@param x lutile.Operand
---@param n integer
---@return lutile.Value
function functions.upcast(x, n) end

---The layout over elements that are n times smaller.
---@param x lutile.Operand
---@param n integer
---@return lutile.Value
function functions.downcast(x, n) end

---The layout over elements of other bits.
---@param x lutile.Operand
---@param old_bits integer
---@param new_bits integer
---@return lutile.Value
function functions.recast(x, old_bits, new_bits) end

-- Text and kinds

---The value that a text stands for, in the form that tostring gives.
---@param text string
---@return lutile.Value|integer
function functions.parse(text) end

---The value that a text of CuTe C++ stands for: _4 is static, 4 dynamic.
---@param text string
---@return lutile.Value|integer
function functions.from_cute(text) end

---The text that CuTe C++ prints: _4 for static, 4 for dynamic; of a layout and an offset, "offset o
---layout".
---@param x lutile.Operand
---@param offset? lutile.Operand
---@return string
function functions.to_cute(x, offset) end

---A text that is equal for equal values, for keys of tables.
---@param x lutile.Value
---@return string
function functions.key(x) end

---The offsets of all indices, that of index i at place i + 1 of a table; or into the elements of a
---tensor in host memory, in their order, whose type must have these numbers. Gives the table or
---tensor.
---@param layout lutile.Operand
---@param tensor? lutile.Tensor
---@return (integer|lutile.Value)[]|lutile.Tensor
function functions.offsets(layout, tensor) end

---An iterator over all coordinates with their offsets: for coordinate, offset in layout:each() do.
---@param layout lutile.Operand
---@return fun(): lutile.Value|integer, lutile.Value|integer
function functions.each(layout) end

---Whether x is a layout or a composed layout.
---@param x any
---@return boolean
function functions.is_layout(x) end

---Whether x is a tuple.
---@param x any
---@return boolean
function functions.is_tuple(x) end

---Whether every integer in x is known before a kernel is compiled.
---@param x lutile.Operand
---@return boolean
function functions.is_static(x) end

---Whether x is a swizzle or layout A, an offset and a layout B: c -> A(offset + B(c)).
---@param x any
---@return boolean
function functions.is_composed_layout(x) end

---Whether x is an integer, static or dynamic.
---@param x any
---@return boolean
function functions.is_integral(x) end

---Whether x is a basis element with a coefficient, as E(0) or 4 * E(1).
---@param x any
---@return boolean
function functions.is_scaled_basis(x) end

---Whether x is a swizzle.
---@param x any
---@return boolean
function functions.is_swizzle(x) end

---Whether x is a tensor, over memory or over nothing.
---@param x any
---@return boolean
function functions.is_tensor(x) end

---Whether x is the wildcard.
---@param x any
---@return boolean
function functions.is_underscore(x) end

---The offset of a composed layout over shared memory, whose swizzle acts on the byte addresses of
---elements of so many bits.
---@param bits integer
---@return lutile.Value
function functions.smem_ptr_flag_bits(bits) end

---A layout whose swizzle acts on byte addresses as the same function of elements; others stay.
---@param layout lutile.Operand
---@return lutile.Value
function functions.as_position_independent_swizzle_layout(layout) end

-- Tensors

---An offset and a layout over elements in memory. t:close(), t:free() and the end of a variable
---with <close> give pinned memory and memory of a device back, and so end all tensors over it;
---other memory of the host stays until it is collected. It may be done any number of times.
---@class lutile.Tensor: lutile.Value
---@field data lutile.Buffer|lutile.cuda.Buffer
---@field to fun(t: lutile.Tensor, place: lutile.cuda.Place, stream?: any): lutile.Tensor
---@field to_host fun(t: lutile.Tensor, stream?: lutile.cuda.Stream): lutile.Tensor
---@field close fun(t: lutile.Tensor)
---@field free fun(t: lutile.Tensor)
---@field dtype lutile.dtype
---@operator call: number|lutile.Tensor

---Memory of the host.
---@class lutile.Buffer
---@field dtype lutile.dtype
---@field space "gmem"|"smem"|"rmem"
---@field bytes fun(self: lutile.Buffer): string
---@field close fun(self: lutile.Buffer) pinned memory is pinned no more, and not to be used
---@field free fun(self: lutile.Buffer) the same

---@alias lutile.dtype
---| "f64"|"f32"|"tf32"|"f16"|"bf16"|"e4m3"|"e5m2"|"e3m2"|"e2m3"|"e2m1"|"ue8m0"|"ue4m3"
---| "e4m3fnuz"|"e5m2fnuz"
---| "s32"|"s16"|"s8"|"u8"|"s4"|"u4"|"b1"|"c64"|"gc64"

---A tensor with a layout (or a shape and a stride) over data: a buffer or another tensor; over new
---memory of an element type; or, where the layout comes first, over nothing.
---@param data lutile.Buffer|lutile.Tensor|lutile.dtype|lutile.Operand
---@param layout? lutile.Operand
---@param stride? lutile.Operand
---@return lutile.Tensor
function functions.make_tensor(data, layout, stride) end

---Memory for count elements; with a table its numbers, with a string its bytes.
---@param dtype lutile.dtype
---@param count integer|number[]|string
---@return lutile.Buffer
function functions.make_gmem_ptr(dtype, count) end

---Memory for count elements that the threads of a block share; all threads ask for the same in the
---same order.
---@param dtype lutile.dtype
---@param count integer
---@return lutile.Buffer
function functions.make_smem_ptr(dtype, count) end

---The tensor over nothing that has each coordinate at its coordinate.
---@param shape lutile.Operand
---@return lutile.Value
function functions.make_identity_tensor(shape) end

---The tensor over nothing c -> offset + layout(c).
---@param layout lutile.Operand
---@param offset? lutile.Operand 0
---@return lutile.Value
function functions.make_counting_tensor(layout, offset) end

---A tensor with memory of its own, compact in the order of a tensor's strides.
---@param tensor lutile.Tensor|lutile.Value
---@param dtype? lutile.dtype
---@return lutile.Tensor
function functions.make_tensor_like(tensor, dtype) end

---Writes 0 to every element.
---@param tensor lutile.Tensor
function functions.clear(tensor) end

---Writes x to every element.
---@param tensor lutile.Tensor
---@param x number
function functions.fill(tensor, x) end

---Writes the elements of source to target, by linear coordinate, converting types; with a copy
---in front, copy(tiled_copy, source, target), by its atom over the parts of a thread.
---@param source lutile.Tensor
---@param target lutile.Tensor
---@overload fun(atom: lutile.Copy_Atom, source: lutile.Tensor, target: lutile.Tensor)
function functions.copy(source, target) end

---As copy, but only where the predicate is true: a tensor of b1, or a function of the linear
---coordinate.
---@param predicate lutile.Tensor|fun(i: integer): boolean
---@param source lutile.Tensor
---@param target lutile.Tensor
function functions.copy_if(predicate, source, target) end

---A new tensor with the elements converted to another type; with two tensors, as copy.
---@param tensor lutile.Tensor
---@param dtype lutile.dtype|lutile.Tensor
---@return lutile.Tensor?
function functions.convert(tensor, dtype) end

---Writes f of the elements of the other tensors to the last: transform(t, f), transform(a, t, f) or
---transform(a, b, t, f).
---@param ... lutile.Tensor|function
function functions.transform(...) end

---Writes alpha * x + beta * y to y.
---@param alpha number
---@param x lutile.Tensor
---@param beta number
---@param y lutile.Tensor
function functions.axpby(alpha, x, beta, y) end

---Prints a tensor of up to four modes as a table of its elements.
---@param tensor lutile.Tensor
function functions.print_tensor(tensor) end

-- Matrix multiplication

---@class lutile.MMA_Atom
---@field name string
---@field shape_mnk lutile.Value
---@field thr_id lutile.Value
---@field a_layout lutile.Value
---@field b_layout lutile.Value
---@field c_layout lutile.Value

---@class lutile.TiledMMA: lutile.MMA_Atom
---@field thr_layout_vmnk lutile.Value
local TiledMMA = {}

---@class lutile.ThrMMA: lutile.TiledMMA
---@field thr_vmnk lutile.Value
local ThrMMA = {}

---The MMA instruction with a name of CuTe's: "SM80_16x8x16_F32F16F16F32_TN".
---@param name string
---@return lutile.MMA_Atom
function functions.MMA_Atom(name) end

---The atom of one fused multiply-add by one thread, for any element types.
---@param d lutile.dtype
---@param a? lutile.dtype d
---@param b? lutile.dtype a
---@param c? lutile.dtype d
---@return lutile.MMA_Atom
function functions.UniversalFMA(d, a, b, c) end

---An iterator over the names of all MMA atoms.
---@return fun(): string?
function functions.mma_atoms() end

---An atom repeated over a layout of threads (of atoms in M, N, K), and over a tile that a
---permutation gives.
---@param atom lutile.MMA_Atom|string
---@param threads? lutile.Operand
---@param permutation? lutile.Operand
---@return lutile.TiledMMA
function functions.make_tiled_mma(atom, threads, permutation) end

---The extents M, N, K of the tile that a TiledMMA works on, or the one of a mode.
---@param mma lutile.TiledMMA
---@param mode? integer
---@return lutile.Value|integer
function functions.tile_size(mma, mode) end

---The same as tile_size.
---@param mma lutile.TiledMMA
---@param mode? integer
---@return lutile.Value|integer
function functions.tile_shape(mma, mode) end

---The registers for the part of A that falls to a thread.
---@param mma lutile.ThrMMA
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor
function functions.partition_fragment_A(mma, x) end

---The registers for the part of B that falls to a thread.
---@param mma lutile.ThrMMA
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor
function functions.partition_fragment_B(mma, x) end

---The registers for the part of C that falls to a thread; of a TiledMMA, for a tile of a shape.
---@param mma lutile.ThrMMA
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor
function functions.partition_fragment_C(mma, x) end

---The shape of the part of A that falls to a thread.
---@param mma lutile.TiledMMA
---@param shape lutile.Operand
---@return lutile.Value
function functions.partition_shape_A(mma, shape) end

---The shape of the part of B that falls to a thread.
---@param mma lutile.TiledMMA
---@param shape lutile.Operand
---@return lutile.Value
function functions.partition_shape_B(mma, shape) end

---The shape of the part of C that falls to a thread.
---@param mma lutile.TiledMMA
---@param shape lutile.Operand
---@return lutile.Value
function functions.partition_shape_C(mma, shape) end

---The registers for the block scales of the part of A that falls to a thread.
---@param mma lutile.ThrMMA
---@param scales lutile.Tensor|lutile.Operand as A itself, with stride 0 within a block of K
---@return lutile.Tensor
function functions.partition_fragment_SFA(mma, scales) end

---The shape of the block scales of the part of A that falls to a thread.
---@param mma lutile.TiledMMA
---@param shape lutile.Operand
---@return lutile.Value
function functions.partition_shape_SFA(mma, shape) end

---The registers for the block scales of the part of B that falls to a thread.
---@param mma lutile.ThrMMA
---@param scales lutile.Tensor|lutile.Operand as B itself, with stride 0 within a block of K
---@return lutile.Tensor
function functions.partition_fragment_SFB(mma, scales) end

---The shape of the block scales of the part of B that falls to a thread.
---@param mma lutile.TiledMMA
---@param shape lutile.Operand
---@return lutile.Value
function functions.partition_shape_SFB(mma, shape) end

---Adds the product of a and b's transpose to c, element by element, or over the fragments of an
---MMA: gemm(a, b, c), gemm(d, a, b, c), gemm(mma, a, b, c), gemm(mma, d, a, b, c). An MMA with
---block scales takes {a, sfa} and {b, sfb} in place of a and b.
---@param ... lutile.TiledMMA|lutile.Tensor|lutile.Tensor[]
function functions.gemm(...) end

---The part of a TiledMMA that a thread takes.
---@param thread integer
---@return lutile.ThrMMA
function TiledMMA:get_slice(thread) end

---The same as get_slice.
---@param thread integer
---@return lutile.ThrMMA
function TiledMMA:get_thread_slice(thread) end

---The layout (V, M, N, K) of the threads.
---@return lutile.Value
function TiledMMA:get_thr_layout_vmnk() end

---The tilers in M, N and K, or the one of a mode.
---@param mode? integer
---@return lutile.Value
function TiledMMA:permutation_mnk(mode) end

---The extents M, N, K of the tile.
---@param mode? integer
---@return lutile.Value
function TiledMMA:tile_size_mnk(mode) end

---A layout of A as (thread, value) modes.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function TiledMMA:thrfrg_A(x) end

---The layout (thread, value) -> place in a tile of A.
---@return lutile.Value
function TiledMMA:get_layoutA_TV() end

---A layout of B as (thread, value) modes.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function TiledMMA:thrfrg_B(x) end

---The layout (thread, value) -> place in a tile of B.
---@return lutile.Value
function TiledMMA:get_layoutB_TV() end

---A layout of C as (thread, value) modes.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function TiledMMA:thrfrg_C(x) end

---The layout (thread, value) -> place in a tile of C.
---@return lutile.Value
function TiledMMA:get_layoutC_TV() end

---The part of A that falls to the thread: a view of a tensor, a counting tensor of a layout.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function ThrMMA:partition_A(x) end

---Registers for a part of A.
---@param part lutile.Tensor|lutile.Operand
---@return lutile.Tensor
function ThrMMA:make_fragment_A(part) end

---The part of B that falls to the thread: a view of a tensor, a counting tensor of a layout.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function ThrMMA:partition_B(x) end

---Registers for a part of B.
---@param part lutile.Tensor|lutile.Operand
---@return lutile.Tensor
function ThrMMA:make_fragment_B(part) end

---The part of C that falls to the thread: a view of a tensor, a counting tensor of a layout.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function ThrMMA:partition_C(x) end

---Registers for a part of C.
---@param part lutile.Tensor|lutile.Operand
---@return lutile.Tensor
function ThrMMA:make_fragment_C(part) end

---Accumulators (MMA, MMA_M, MMA_N) as operand A (MMA, MMA_M, MMA_K) of the next product, the same
---registers in another order; raises where a thread would need what another one holds.
---@param mma lutile.TiledMMA
---@param acc lutile.Tensor|lutile.Operand
---@param next_mma? lutile.TiledMMA mma
---@return lutile.Tensor|lutile.Value
function functions.acc_to_A(mma, acc, next_mma) end

---Where the next product finds its operand A among the accumulators: a layout (thread, value of A)
--- -> thread + threads * (value of C).
---@param mma lutile.TiledMMA
---@param acc lutile.Tensor|lutile.Operand
---@param next_mma? lutile.TiledMMA mma
---@return lutile.Value
function functions.acc_exchange(mma, acc, next_mma) end

---Accumulators as rows and columns of the thread's part: ((2, MMA_M), (2, MMA_N)).
---@param acc lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function functions.acc_rowcol(acc) end

-- Operands of warpgroup MMAs in shared memory

---@class lutile.GMMA
local GMMA = {}
lutile.GMMA = GMMA

---@class lutile.GmmaDescriptor
---@field layout_type integer         0 no swizzle, 1 128 bytes, 2 64 bytes, 3 32 bytes
---@field start_address integer       these in units of 16 bytes, as the descriptor holds them
---@field leading_byte_offset integer
---@field stride_byte_offset integer
---@field base_offset integer
---@field desc integer                all of it, in 64 bits

---@alias lutile.Major "MN"|"K"

---The smallest MN-major layout of an operand in shared memory with rows of 16 bytes, not swizzled;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_MN_INTER_Atom(dtype) end

---The smallest K-major layout of an operand in shared memory with rows of 16 bytes, not swizzled;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_K_INTER_Atom(dtype) end

---The same, MN-major or K-major.
---@param dtype lutile.dtype
---@param major lutile.Major
---@return lutile.Value
function GMMA.Layout_INTER_Atom(dtype, major) end

---The smallest MN-major layout of an operand in shared memory with rows of 32 bytes;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_MN_SW32_Atom(dtype) end

---The smallest K-major layout of an operand in shared memory with rows of 32 bytes;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_K_SW32_Atom(dtype) end

---The same, MN-major or K-major.
---@param dtype lutile.dtype
---@param major lutile.Major
---@return lutile.Value
function GMMA.Layout_SW32_Atom(dtype, major) end

---The smallest MN-major layout of an operand in shared memory with rows of 64 bytes;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_MN_SW64_Atom(dtype) end

---The smallest K-major layout of an operand in shared memory with rows of 64 bytes;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_K_SW64_Atom(dtype) end

---The same, MN-major or K-major.
---@param dtype lutile.dtype
---@param major lutile.Major
---@return lutile.Value
function GMMA.Layout_SW64_Atom(dtype, major) end

---The smallest MN-major layout of an operand in shared memory with rows of 128 bytes;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_MN_SW128_Atom(dtype) end

---The smallest K-major layout of an operand in shared memory with rows of 128 bytes;
---tile_to_shape makes larger ones.
---@param dtype lutile.dtype
---@return lutile.Value
function GMMA.Layout_K_SW128_Atom(dtype) end

---The same, MN-major or K-major.
---@param dtype lutile.dtype
---@param major lutile.Major
---@return lutile.Value
function GMMA.Layout_SW128_Atom(dtype, major) end

---The matrix descriptor of an operand (M or N, K) of one MMA. Raises where the layout has none, and
---says why.
---@param major lutile.Major
---@param operand lutile.Operand|lutile.Tensor
---@param dtype? lutile.dtype that of the tensor, or of the layout's shared memory form
---@return lutile.GmmaDescriptor
function GMMA.make_gmma_desc(major, operand, dtype) end

---The descriptor of the first MMA of a part ((M,K),RestM,RestK,...), and the layout of what the
---other MMAs add to its start address.
---@param major lutile.Major
---@param part lutile.Operand|lutile.Tensor
---@param dtype? lutile.dtype
---@return lutile.GmmaDescriptor
---@return lutile.Value
function GMMA.smem_desc(major, part, dtype) end

-- TMA

---@class lutile.TmaCopy: lutile.TiledCopy
---@field desc table             what cuTensorMapEncodeTiled takes, by its names
---@field tma_basis lutile.Value box coordinate -> modes of the tensor
---@field get_tma_tensor fun(self: lutile.TmaCopy, shape: lutile.Operand): lutile.Value
---@field with fun(self: lutile.TmaCopy, mbarrier: lutile.mbarrier): lutile.TmaCopy

---A copy of tiles by TMA, as a TiledCopy whose threads are the blocks of a cluster:
---"SM90_TMA_LOAD", "SM90_TMA_LOAD_MULTICAST" or "SM90_TMA_STORE" of a tensor (or of a layout and an
---element type). Its field desc is the descriptor, and get_tma_tensor(shape) the coordinates that
---it takes. Raises where TMA cannot express the copy.
---@param operation string
---@param tensor lutile.Tensor|lutile.Operand in global memory
---@param smem lutile.Operand                 layout of the tile in shared memory
---@param tile? lutile.Operand                the shape of smem; a number here is the cluster
---@param cluster? lutile.Operand             blocks that share the tile: 1
---@param dtype? lutile.dtype                 of a layout
---@return lutile.TmaCopy
function functions.make_tma_copy(operation, tensor, smem, tile, cluster, dtype) end

---The parts that a block copies: of the coordinates, and of the tensor in shared memory, whose mode
---0 is the tile, as ((box, boxes), rest...). With two arguments behind the copy, for one block.
---@param tma lutile.TmaCopy
---@param block lutile.Operand|lutile.Tensor   its coordinate in the cluster, or smem
---@param blocks? lutile.Operand               coordinates of the cluster -> number; or gmem
---@param smem? lutile.Tensor|lutile.Operand   (tile, rest...)
---@param gmem? lutile.Operand                 coordinates (tile, rest...)
---@return lutile.Value
---@return lutile.Tensor|lutile.Value
function functions.tma_partition(tma, block, blocks, smem, gmem) end

-- Tiled copies

---@class lutile.Copy_Atom
---@field name string
---@field thr_id lutile.Value
---@field src_layout lutile.Value
---@field dst_layout lutile.Value
---@field ref_layout lutile.Value

---@class lutile.TiledCopy: lutile.Copy_Atom
local TiledCopy = {}

---@class lutile.ThrCopy: lutile.TiledCopy
local ThrCopy = {}

---The copy operation with a name of CuTe's, in elements of a type: "SM75_U32x4_LDSM_N", "f16".
---@param name string
---@param dtype lutile.dtype
---@return lutile.Copy_Atom
function functions.Copy_Atom(name, dtype) end

---The copy operation with a name of CuTe's, in bits.
---@param name string
---@return lutile.Copy_Atom
function functions.Copy_Traits(name) end

---An iterator over the names of all copy operations.
---@return fun(): string?
function functions.copy_atoms() end

---An atom repeated over a layout of threads, each with a layout of values.
---@param atom lutile.Copy_Atom
---@param threads lutile.Operand
---@param values? lutile.Operand
---@return lutile.TiledCopy
function functions.make_tiled_copy(atom, threads, values) end

---The TiledCopy of an atom with a layout (thread, value) -> index in the tile, and the tiler.
---@param atom lutile.Copy_Atom
---@param layout lutile.Operand
---@param tiler lutile.Operand
---@return lutile.TiledCopy
function functions.make_tiled_copy_impl(atom, layout, tiler) end

---The tiler of threads that each have values, and the layout (thread, value) -> index in the tile.
---@param threads lutile.Operand
---@param values lutile.Operand
---@return lutile.Value tiler
---@return lutile.Value layout
function functions.make_layout_tv(threads, values) end

---The TiledCopy of an atom with a layout (thread, value) -> offset in data of a layout.
---@param atom lutile.Copy_Atom
---@param layout lutile.Operand
---@param data lutile.Operand
---@return lutile.TiledCopy
function functions.make_cotiled_copy(atom, layout, data) end

---The TiledCopy that gives each thread of a TiledMMA its part of A.
---@param atom lutile.Copy_Atom
---@param mma lutile.TiledMMA
---@return lutile.TiledCopy
function functions.make_tiled_copy_A(atom, mma) end

---The TiledCopy that gives each thread of a TiledMMA its part of B.
---@param atom lutile.Copy_Atom
---@param mma lutile.TiledMMA
---@return lutile.TiledCopy
function functions.make_tiled_copy_B(atom, mma) end

---The TiledCopy that gives each thread of a TiledMMA its part of C.
---@param atom lutile.Copy_Atom
---@param mma lutile.TiledMMA
---@return lutile.TiledCopy
function functions.make_tiled_copy_C(atom, mma) end

---As make_tiled_copy_C, for the smallest tile of C that the copy atom covers.
---@param atom lutile.Copy_Atom
---@param mma lutile.TiledMMA
---@return lutile.TiledCopy
function functions.make_tiled_copy_C_atom(atom, mma) end

---The TiledCopy of another atom whose threads hold what those of a TiledCopy hold of its source.
---@param atom lutile.Copy_Atom
---@param copy lutile.TiledCopy
---@return lutile.TiledCopy
function functions.make_tiled_copy_S(atom, copy) end

---The TiledCopy of another atom whose threads hold what those of a TiledCopy hold of its target.
---@param atom lutile.Copy_Atom
---@param copy lutile.TiledCopy
---@return lutile.TiledCopy
function functions.make_tiled_copy_D(atom, copy) end

---The part of a TiledCopy that a thread takes.
---@param thread integer
---@return lutile.ThrCopy
function TiledCopy:get_slice(thread) end

---The same as get_slice.
---@param thread integer
---@return lutile.ThrCopy
function TiledCopy:get_thread_slice(thread) end

---A layout of the source as (thread, value) modes.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function TiledCopy:tidfrg_S(x) end

---A layout of the target as (thread, value) modes.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function TiledCopy:tidfrg_D(x) end

---The layout (thread, value) -> index in a tile of the source.
---@return lutile.Value
function TiledCopy:get_layoutS_TV() end

---The layout (thread, value) -> index in a tile of the target.
---@return lutile.Value
function TiledCopy:get_layoutD_TV() end

---The part of the source that falls to the thread: a view of a tensor, a counting tensor of a
---layout.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function ThrCopy:partition_S(x) end

---The part of the target that falls to the thread: a view of a tensor, a counting tensor of a
---layout.
---@param x lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function ThrCopy:partition_D(x) end

---The registers of a fragment as the copy takes them for its source.
---@param fragment lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function ThrCopy:retile_S(fragment) end

---The registers of a fragment as the copy takes them for its target.
---@param fragment lutile.Tensor|lutile.Operand
---@return lutile.Tensor|lutile.Value
function ThrCopy:retile_D(fragment) end

-- The host executor

---@class lutile.Index
---@field x integer
---@field y integer
---@field z integer

---@type lutile.Index
functions.threadIdx = nil
---@type lutile.Index
functions.blockIdx = nil
---@type lutile.Index
functions.blockDim = nil
---@type lutile.Index
functions.gridDim = nil

---@class lutile.LaunchOptions
---@field grid? integer|integer[]  blocks, {x, y, z}: 1
---@field block? integer|integer[] threads of a block, {x, y, z}, 1024 at most: 1
---@field checks? boolean          races in shared memory, unwritten memory, traffic: true
---@field arch? integer|string     80, "sm_90a": whose shared memory a block has

---@class lutile.Report
---@field grid integer[]
---@field block integer[]
---@field shared_bytes integer   of a block
---@field register_bytes integer of a thread's fragments
---@field operations number      floating point operations of atoms
---@field accesses table[]       by line of the script: where, space, access, requests, bytes, ...

---Runs a kernel, a function of the further arguments, for every thread of a grid of blocks. Returns
---what it came to, unless it ran without checks.
---@param kernel function
---@param options lutile.LaunchOptions
---@param ... any
---@return lutile.Report?
function functions.launch(kernel, options, ...) end

---@class lutile.PlanOperand
---@field shared? lutile.Value (rows, k) -> element of a stage in shared memory: compact, k fastest
---@field copy? lutile.Value   (thread, value) -> index in the tile (rows, k): vectors in turn

---@class lutile.HostPlan
---@field mma lutile.TiledMMA
---@field tile? integer[]        of a block, {M, N, K}: the TiledMMA's
---@field stages? integer        tiles in shared memory at once: 1
---@field A? lutile.PlanOperand
---@field B? lutile.PlanOperand

---@class lutile.HostOptions
---@field C? lutile.Tensor added to the product, times beta
---@field alpha? number of the product: 1
---@field beta? number of C: 1
---@field checks? boolean races in shared memory, unwritten memory: true
---@field arch? integer|string whose shared memory a block has

---D = alpha * A * B^T + beta * C as a plan has it, run on the host without Lua: block by block,
---thread by thread and value by value, through the plan's layouts. Returns what a launch returns.
---@param plan lutile.HostPlan|lutile.TiledMMA
---@param A lutile.Tensor (M, K)
---@param B lutile.Tensor (N, K)
---@param D lutile.Tensor (M, N)
---@param options? lutile.HostOptions
---@return lutile.Report?
function functions.host_gemm(plan, A, B, D, options) end

---Prints a launch's report: memory traffic by line, bank conflicts, registers, shared memory.
---@param report lutile.Report
function functions.report(report) end

---Waits until all threads of the block have come here.
function functions.sync() end

---The same as sync.
function functions.__syncthreads() end

---Waits until all threads of the warp have come here.
function functions.__syncwarp() end

---The number that a lane of the warp brings. All threads of the warp take part.
---@param mask integer 0xffffffff
---@param x number
---@param lane integer
---@return number
function functions.__shfl_sync(mask, x, lane) end

---The number of the lane whose number differs in the bits of a mask.
---@param mask integer 0xffffffff
---@param x number
---@param lane_mask integer
---@return number
function functions.__shfl_xor_sync(mask, x, lane_mask) end

---The number of the lane so many below; the own one where there is none.
---@param mask integer 0xffffffff
---@param x number
---@param delta integer
---@return number
function functions.__shfl_up_sync(mask, x, delta) end

---The number of the lane so many above; the own one where there is none.
---@param mask integer 0xffffffff
---@param x number
---@param delta integer
---@return number
function functions.__shfl_down_sync(mask, x, delta) end

---Folds a number over lanes of the warp with a function of two: warp_reduce(math.max, x,
---make_layout(4)) is the largest x of each quad. The layout is index -> lane.
---@param f fun(x: number, y: number): number
---@param x number
---@param layout lutile.Operand
---@return number
function functions.warp_reduce(f, x, layout) end

---Makes a group of the thread's copies by cp.async since the last fence.
function functions.cp_async_fence() end

---Waits until at most the thread's last n groups of cp.async are in flight; 0 waits for all. Other
---threads see what was copied after a barrier besides.
---@param n? integer 0
function functions.cp_async_wait(n) end

---Makes what the thread wrote to shared memory visible to TMA stores.
function functions.tma_store_fence() end

---Makes a group of the thread's TMA stores since the last one.
function functions.tma_store_arrive() end

---Waits until at most the thread's last n groups of TMA stores still read shared memory. Other
---threads may write there after a barrier besides.
---@param n? integer 0
function functions.tma_store_wait(n) end

---@class lutile.mbarrier

---The block's next mbarrier, 8 bytes of shared memory: all threads make the same ones in the same
---order.
---@return lutile.mbarrier
function functions.make_smem_barrier() end

---Sets how many arrivals a phase has. One thread does, and a barrier of the block follows.
---@param barrier lutile.mbarrier
---@param count? integer 1
function functions.initialize_barrier(barrier, count) end

---Arrives at an mbarrier.
---@param barrier lutile.mbarrier
function functions.arrive_barrier(barrier) end

---Arrives at an mbarrier, whose phase then lacks so many bytes of copies besides.
---@param barrier lutile.mbarrier
---@param bytes integer
function functions.set_barrier_transaction_bytes(barrier, bytes) end

---Waits until the phase of this parity is complete: 0 for the first one, then 1, 0, ...
---@param barrier lutile.mbarrier
---@param phase integer
function functions.wait_barrier(barrier, phase) end

-- Pictures

---Prints a layout as a table of its offsets, mode 0 down and mode 1 across.
---@param layout lutile.Operand
---@param file? file* io.stdout
function functions.print_layout(layout, file) end

---Prints a layout as a picture in LaTeX; a TiledMMA as its operands A, B and C, and a TiledCopy as
---its source and target, with a thread and a value in every cell.
---@param x lutile.Operand|lutile.TiledMMA|lutile.MMA_Atom|lutile.TiledCopy
---@param file? file* io.stdout
function functions.print_latex(x, file) end

---Prints where a layout (thread, value) -> place in a tile has each thread and value, in LaTeX.
---@param layout lutile.Operand
---@param tile lutile.Operand
---@param file? file* io.stdout
function functions.print_latex_tv(layout, tile, file) end

---Options of svg.
---@class lutile.svg_options
---@field title? string|boolean what stands above: the operand's text, or nothing where it is false
---@field cell? integer the size of a cell, in pixels; by its text where left out
---@field axes? boolean whether rows and columns are numbered: true
---@field banks? integer bits of an element: cells show their banks of shared memory
---@field thread? integer|integer[] the threads that have colours: all
---Of layouts "offset" (modulo 8), "tile", "bank" or "none", or a function of offset, m, n; of
---threads and values "thread" (modulo 8), "value" or "none", or a function of thread, value.
---@field color? string|function
---Of layouts "offset", "coordinate", "index" or "bank"; of threads and values "TV", "T" or "V";
---"none", or a function of the same arguments, whose text may have several lines.
---@field labels? string|boolean|function

---The picture of a layout of one or two modes, a TiledMMA (A left of C, B above it) or a TiledCopy
---as the text of an SVG document; with a tile, of a layout (thread, value) -> place in the tile.
---A table of options may be the last argument: svg(layout, {banks = 16, title = "shared memory"}).
---@param x lutile.Operand|lutile.TiledMMA|lutile.MMA_Atom|lutile.TiledCopy
---@param tile? lutile.Operand|lutile.svg_options
---@param options? lutile.svg_options
---@return string
function functions.svg(x, tile, options) end

-- Plans of tensor-core kernels

---@class lutile.CommonGemmOptions
---Of A. Tensor cores take f16, bf16, tf32 (which takes f32), f64, s8, u8, e4m3 and e5m2;
---simt_gemm.cu these and f32, s32, s16, s4, u4, b1, e3m2, e2m3, e2m1, ue8m0, ue4m3 and c64.
---@field dtype? string
---@field dtype_b? string of B: dtype
---@field acc? string of sums: f32, f64, s32 or c64 as the types have it; f16 of f16; f64 of any
---@field out? string of C and D: acc
---@field beta? boolean|number whether C is read: false; of C, where a run says nothing else
---@field bias? string "row" or "column": one element for each row of D, or for each column
---@field epilogue? string a C++ expression of x, m and n: "x"
---The same for the host; of c64, x and what it gives are {re, im}.
---@field host_epilogue? fun(x: number|number[], m: integer, n: integer): number|number[]
---@field arch? integer|string 80, "sm_80", "8.0": the device's
---@field multiprocessors? integer the device's
---@field tile? integer[] {M, N, K} of a block; {N, M, K} where C is contiguous along M
---@field stages? integer tiles of A and B in shared memory at once; not of simt_gemm.cu
---@field group? integer rows of tiles, or of clusters' tiles, that blocks go down together
---@field ping_pong? boolean whether consumers take turns with tiles, not sharing each; gemm_sm90.cu

---@class lutile.GemmOptions: lutile.CommonGemmOptions
---@field A? lutile.Tensor|lutile.Operand (M,K) or (M,K,L); without it, M and K
---@field B? lutile.Tensor|lutile.Operand (N,K) or (N,K,L)
---@field C? lutile.Tensor|lutile.Operand (M,N) or (M,N,L): of C and D
---@field M? integer|lutile.Value a number, or dyn(n, promise)
---@field N? integer|lutile.Value the same
---@field K? integer|lutile.Value the same
---@field L? integer|lutile.Value batches
---Contiguous along mode 0 ("row": column-major in BLAS) or mode 1 ("column" or "k", the default).
---@field a_major? string
---@field b_major? string the same of B
---@field c_major? string the same without "k"
---@field scales? boolean whether a run has scale_a and scale_b
---@field tuned? boolean whether it is as lutile.tune found, where that has searched: true
---"gemm_sm90.cu" (TMA, wgmma; 9.0), "gemm_sm120.cu" (TMA, mma.sync; 9.0 and newer), "gemm_sm80.cu"
---(cp.async, mma.sync; 7.5 and newer) or "simt_gemm.cu" (multiply-adds; any types, any GPU): by
---default the first of these that can.
---@field template? string
---@field warps? integer[] {along M, along N}; gemm_sm80.cu, gemm_sm120.cu
---@field blocks? integer of a multiprocessor, at least; gemm_sm80.cu, gemm_sm120.cu
---@field cluster? integer[] {rows, columns} of blocks; gemm_sm90.cu
---@field splits? integer parts of a tile along K, at most; gemm_sm90.cu
---@field promote? integer MMAs along K after which sums are added up as f32; gemm_sm90.cu
---@field dependent? boolean whether it starts while the kernel before it ends; gemm_sm90.cu
---@field skew? integer nanoseconds after which the second of two consumers starts; gemm_sm90.cu

---@class lutile.ChainedGemmOptions
---@field A? lutile.Tensor|lutile.Operand (M,N), N at most 256; without it, M and N
---@field B? lutile.Tensor|lutile.Operand (N,N)
---@field D? lutile.Tensor|lutile.Operand (M,N)
---@field M? integer|lutile.Value
---@field N? integer|lutile.Value the same
---Contiguous along mode 0 ("row": column-major in BLAS) or mode 1 ("column" or "k", the default).
---@field a_major? string
---@field b_major? string the same of B
---@field d_major? string the same without "k"
---@field dtype? string f16 or bf16
---@field out? string of D: f32
---@field arch? integer|string 80, "sm_80", "8.0": the device's
---@field multiprocessors? integer for which groups are chosen: the device's
---@field warps? integer of a group
---@field groups? integer of warps in a block, with rows of their own; they share B where it stays
---@field blocks? integer of a multiprocessor at least, which bounds registers
---@field stages? integer tiles of A in shared memory at once, of B too where it does not stay
---@field rows? integer of D, that a group computes at once
---@field block_k? integer columns of a tile of A

---@class lutile.RunOptions
---@field alpha? number of the product: 1
---@field beta? number of C: the plan's, or 1 where it reads C; of 0, C does not count, even NaN
---@field bias? lutile.Tensor an element for each row or column of D, as the plan has it
---@field scale_a? lutile.Tensor one f32, which alpha is times: of A
---@field scale_b? lutile.Tensor the same of B
---@field D? lutile.Tensor where the result goes: C itself by default
---@field stream? lutile.cuda.Stream the legacy stream
---@field on? string "host" or "cuda": where the tensors are, or the device if there is one

---A table of layouts, numbers and reasons; tostring gives them as text.
---Of gemm_sm80.cu's a script may change mma, stages, blocks, group, A.shared, A.copy, B.shared and
---B.copy; of gemm_sm120.cu's mma, stages, blocks and group; of gemm_sm90.cu's stages and group; of
---chained_gemm.cu's stages, blocks and the four layouts; of simt_gemm.cu's group and the four
---layouts. What follows is worked out again before the plan is run or compiled, and what no kernel
---can follow is refused. All else is with's to change, which starts from the options again.
---@class lutile.Plan
---@field mma lutile.TiledMMA
---@field A lutile.PlanOperand
---@field B lutile.PlanOperand
---@field template string the kernel's
---@field tile? integer[]
---@field warps? integer[]|integer that multiply, of mma.sync
---@field stages? integer
---@field blocks? integer of a multiprocessor, at least
---@field threads integer
---@field registers? integer[] of a thread that loads, and of one that multiplies; 0 is the launch's
---@field shared_bytes integer
---@field reasons string[]
local Plan = {}

---Runs it on a device, or on the host executor where there is none; gives the target. For
---chained_gemm these are A, B, D. Sizes may be others than the plan's. A C that is not D, and that
---gemm_sm90.cu cannot read as it lies, is copied to D first.
---@param A lutile.Tensor
---@param B lutile.Tensor
---@param C lutile.Tensor
---@param options? lutile.RunOptions
---@return lutile.Tensor
function Plan:run(A, B, C, options) end

---A function that runs it on these tensors of a device, all checks made. Its runs follow each
---other, for they count in the same memory: for two streams, or two graphs, prepare two.
---@param A lutile.Tensor
---@param B lutile.Tensor
---@param C lutile.Tensor
---@param options? lutile.RunOptions
---@return fun()
function Plan:prepare(A, B, C, options) end

---The plan for the same matrices with some options changed.
---@param changes table
---@return lutile.Plan
function Plan:with(changes) end

---Works out what follows from layouts and numbers that were changed, such as shared_bytes, and
---raises what no kernel can follow. All that needs the plan does so by itself.
---@return lutile.Plan
function Plan:check() end

---What tostring gives.
---@return string
function Plan:report() end

---The picture of "mma", "A.shared" or "B.shared"; of gemm_sm80.cu and simt_gemm.cu also "A.copy" or
---"B.copy", of gemm_sm90.cu "D.shared".
---@param what? string "mma"
---@return string
function Plan:svg(what) end

---The CUDA C++ that is compiled, without the headers in kernels/ (installed:
---share/lutile/kernels) that it includes.
---@return string
function Plan:source() end

---What cuda.compile takes for its kernel: for a device, or an architecture such as "sm_90a"; by
---default device 0's, or the plan's own where there is none.
---@param device? lutile.cuda.Place
---@param arch? integer|string
---@return table
function Plan:compile_options(device, arch) end

---Its kernel, compiled for a device, by default device 0.
---@param device? lutile.cuda.Place
---@return lutile.cuda.Kernel
function Plan:kernel(device) end

---@class lutile.plan
local plan = {}

---D = epilogue(alpha * A * B^T + beta * C + bias), planned from the layouts of the matrices: what
---is copied at once, tiles, swizzles, stages, and why. On tensor cores where these take the types,
---else by multiply-adds.
---@param options lutile.GemmOptions
---@return lutile.Plan
function plan.gemm(options) end

---@class lutile.Group
---@field A lutile.Tensor
---@field B lutile.Tensor
---@field C lutile.Tensor
---@field D? lutile.Tensor where the result goes: C itself by default
---@field bias? lutile.Tensor

---@class lutile.GroupedGemmOptions: lutile.CommonGemmOptions
---@field groups table[] A, B, C of each product, or M, N, K and majors, as plan.gemm takes them

---@class lutile.GroupedPlan: lutile.Plan
---@field shared? lutile.Plan of one launch for all products, on Hopper
---@field reasons string[]
local GroupedPlan = {}

---Runs it, as a plan.
---@param groups lutile.Group[]
---@param options? lutile.RunOptions
function GroupedPlan:run(groups, options) end

---A function that runs it, as of a plan.
---@param groups lutile.Group[]
---@param options? lutile.RunOptions
---@return fun()
function GroupedPlan:prepare(groups, options) end

---The plan.gemm of the i-th product, for its tensors; of i alone, as the plan has it.
---@param group lutile.Group|integer
---@param i? integer
---@return lutile.Plan
function GroupedPlan:single(group, i) end

---A list of products of any sizes, each as plan.gemm's; on Hopper, where TMA takes their matrices
---and these are alike, in one launch.
---@param options lutile.GroupedGemmOptions
---@return lutile.GroupedPlan
function plan.grouped_gemm(options) end

---D = (A * B^T) * B^T, the first product's accumulators as the second one's operand.
---@param options lutile.ChainedGemmOptions
---@return lutile.Plan
function plan.chained_gemm(options) end

-- Tuning

---@class lutile.TuneOptions: lutile.GemmOptions
---Options and the values of each, or a list of tables of options: the kernels' own space.
---@field candidates? table
---@field seconds? number of the device, for timing: 10
---@field repetitions? integer samples of those near the best: 21
---@field threads? integer that compile: one for each processor
---@field keep? boolean whether plan.gemm plans so from now on: true
---@field quiet? boolean no progress on the terminal: false

---@class lutile.TuneResult
---@field changes table<string, any> options of the plan
---@field text string the same
---@field plan? lutile.Plan
---@field microseconds? number the median of the samples
---@field tflops? number
---@field samples? integer
---@field spills? integer bytes of a thread's registers in memory
---@field is_model? boolean whether it is what plan.gemm chooses
---@field pruned? string why it was not timed

---The fastest first, then those that were not timed; tostring gives a table of them.
---@class lutile.TuneResults
---@field [integer] lutile.TuneResult
---@field not_kept? string why plan.gemm will not plan so

---@class lutile.tune
local tune = {}

---The fastest plan of a product on device 0: what the model chooses and what else there is,
---compiled by several threads, checked against each other, and timed in turn on random matrices.
---plan.gemm then plans the same product so.
---@param options lutile.TuneOptions
---@return lutile.Plan
---@return lutile.TuneResults
function tune.gemm(options) end

-- CUDA

---What names a device: lutile.cuda (device 0), a device, its number; nothing is device 0.
---@alias lutile.cuda.Place lutile.cuda|lutile.cuda.Device|integer

---@class lutile.cuda.Device
---@field index integer
---@field name string
---@field compute_capability string "9.0"
---@field major integer
---@field minor integer
---@field multiprocessors integer
---@field max_threads integer   of a block
---@field warp_size integer
---@field shared_memory integer bytes that a block gets without asking for more
---@field shared_memory_most integer bytes that it may ask for
---@field shared_memory_multiprocessor integer
---@field l2_cache integer      bytes
---@field memory integer        bytes
local Device = {}

---Bytes that this state holds there.
---@return integer
function Device:used() end

---The most bytes that this state may hold there; nil for no limit.
---@param bytes? integer
function Device:limit(bytes) end

---Bytes that are free there.
---@return integer
function Device:free_memory() end

---Waits for all work on it.
function Device:synchronize() end

---A new stream of it.
---@return lutile.cuda.Stream
function Device:stream() end

---A new event of it.
---@return lutile.cuda.Event
function Device:event() end

---Whether its kernels can reach the memory of another device.
---@param other lutile.cuda.Device
---@return boolean
function Device:can_access_peer(other) end

---Lets kernels on this device reach the memory of the other.
---@param other lutile.cuda.Device
function Device:enable_peer(other) end

---Memory of a device, freed when it is collected, closed or freed. #b is the count of elements.
---@class lutile.cuda.Buffer
local DeviceBuffer = {}

---The address of its first byte.
---@return integer
function DeviceBuffer:address() end

---The number of its device.
---@return integer
function DeviceBuffer:device() end

---The type of its elements.
---@return lutile.dtype
function DeviceBuffer:dtype() end

---How many elements it has.
---@return integer
function DeviceBuffer:len() end

---Its size in bytes.
---@return integer
function DeviceBuffer:size() end

---Sets every byte.
---@param byte integer
---@param stream? lutile.cuda.Stream
function DeviceBuffer:fill(byte, stream) end

---Gives the memory back, after work that uses it. It may be called any number of times.
function DeviceBuffer:free() end

---The same.
function DeviceBuffer:close() end

---Work on a stream is done in its order. Streams run side by side: none waits for another, nor for
---the default stream, where work goes that is given no stream, nor that one for them. (They are
---CUDA's non-blocking streams, as PyTorch's are; CuPy's wait for the default stream unless
---non_blocking.) Order between them comes from events, stream:wait(event), or from waiting on the
---host. Copies without a stream that end on the host wait for all work on the device first.
---@class lutile.cuda.Stream
local Stream = {}

---The number of its device.
---@return integer
function Stream:device() end

---The CUstream as an integer, for other libraries.
---@return integer
function Stream:handle() end

---Waits for its work.
function Stream:synchronize() end

---Whether all its work is done.
---@return boolean
function Stream:query() end

---What comes after waits for the event.
---@param event lutile.cuda.Event
function Stream:wait(event) end

---The graph of what f(stream) does on the stream, which is recorded and not done: launches, fills,
---copies on devices and copies from and to pinned memory, whose elements count when the graph is
---launched. So is what goes to other streams that wait for an event of the stream; the stream is to
---wait for it in turn. The graph keeps all memory that this uses, and what lies between for copies.
---One stream records at a time; while one does, nothing waits for it or for its device.
---@param f fun(stream: lutile.cuda.Stream)
---@return lutile.cuda.Graph
function Stream:capture(f) end

---A graph that is being recorded keeps these values, and the elements of lists, as it keeps what
---launches and copies use: for tensors that a kernel reaches by addresses in memory. Nothing else
---happens. Nil is skipped; booleans, numbers and strings are refused, for they have no memory.
function Stream:keep(...) end

---Frees it. It may be called any number of times.
function Stream:close() end

---@class lutile.cuda.Event
local Event = {}

---It happens when the stream's work up to here is done.
---@param stream? lutile.cuda.Stream
---@return lutile.cuda.Event itself
function Event:record(stream) end

---Whether it has happened.
---@return boolean
function Event:query() end

---Waits for it.
function Event:synchronize() end

---Milliseconds to the later event, for which it waits.
---@param later lutile.cuda.Event
---@return number
function Event:elapsed(later) end

---Frees it. It may be called any number of times.
function Event:close() end

---@class lutile.cuda.Graph
local Graph = {}

---Does all that was recorded. It raises where memory that the graph uses was freed by name.
---@param stream? lutile.cuda.Stream
function Graph:launch(stream) end

---Records anew: true where the graph was updated in place, false where it was replaced. The graph
---keeps what the new recording uses instead of the old.
---@param stream lutile.cuda.Stream
---@param f fun(stream: lutile.cuda.Stream)
---@return boolean
function Graph:update(stream, f) end

---Frees it. It may be called any number of times.
function Graph:close() end

---What is compiled. An include is looked for as in C: beside the file that has it, for a name in
---quotes; then in the folders of -I; then among lutile's own headers. What 'source' includes may
---also be in the current folder, which is looked in last. Kernels are kept in memory and on disk as
---long as their headers stay as they are. One that includes by a macro, or has the compiler find
---files in another way that is not known beforehand (__has_include of a macro, #include_next,
---precompiled headers), is compiled each time.
---@class lutile.cuda.CompileOptions
---@field source? string  the kernel's text; either this,
---@field file? string    or a file: one of the templates, or by its path
---@field name? string    of the kernel: the file's, without its ending
---@field layouts? table<string, any> types in namespace layout: of layouts, tensors, TiledMMAs, ...
---@field values? table<string, any> constants in namespace value; strings are macros
---@field types? table<string, lutile.dtype> aliases in namespace type
---@field index? 32|64    bits of the dynamic integers of layouts: 64
---@field prelude? string more text before the kernel's
---@field arch? integer|string 90, "90a", "sm_90a", "9.0": the device's
---@field options? string[] NVRTC's
---@field device? lutile.cuda.Place device 0

---Up to three extents, 1 where they are left out: { 8, 2 } or { x = 8, y = 2 }.
---@class lutile.cuda.Dim3
---@field [integer] integer
---@field x? integer
---@field y? integer
---@field z? integer

---@class lutile.cuda.LaunchOptions
---@field grid? integer|lutile.cuda.Dim3    blocks: 1
---@field block? integer|lutile.cuda.Dim3   threads: 1
---@field cluster? integer|lutile.cuda.Dim3 blocks of a cluster
---@field shared? integer                   bytes of dynamic shared memory
---@field stream? lutile.cuda.Stream        the default stream
---@field dependent? boolean                programmatic dependent launch
---@field cooperative? boolean              all blocks are there at once

---@class lutile.cuda.Resources
---@field registers integer
---@field local_memory integer  bytes of a thread: spilled registers
---@field shared_memory integer static, in bytes
---@field max_threads integer   of a block

---@class lutile.cuda.Kernel
---@field name string
---@field arch string
---@field key string    in the cache
---@field origin "compiled"|"disk"|"memory"
---@field log string    NVRTC's warnings; "" for none, and where it was compiled by another process
---@field device integer
---@field source string all of what was compiled
---@field parameters table[]
local Kernel = {}

---The function that launches it; its arguments are checked against the kernel's parameters. From
---the 17th launch of a kernel with the same options on, with whatever arguments, it goes through a
---graph of one kernel, in half the time of the host. From the first dependent launch on none does.
---@param options lutile.cuda.LaunchOptions
---@return fun(...: any)
function Kernel:launch(options) end

---What the compiler gave it on its device.
---@return lutile.cuda.Resources
function Kernel:resources() end

---Blocks that one multiprocessor runs at once.
---@param threads integer of a block
---@param shared? integer bytes of dynamic shared memory
---@return integer
function Kernel:occupancy(threads, shared) end

---The machine code.
---@return string
function Kernel:image() end

---@class lutile.cuda.Cache
---@field folder string
---@field size integer    bytes
---@field limit integer   bytes
---@field entries integer
---@field reason? string  why it is not used or not written

---@class lutile.cuda
local cuda = {}

---Whether there is a device; else false, and why.
---@return boolean available
---@return string? reason
function cuda.available() end

---The same of NVRTC.
---@return boolean available
---@return string? reason
function cuda.has_compiler() end

---How many devices there are.
---@return integer
function cuda.count() end

---A device and its figures.
---@param index? lutile.cuda.Place 0
---@return lutile.cuda.Device
function cuda.device(index) end

---All devices.
---@return lutile.cuda.Device[]
function cuda.devices() end

---Versions and paths of the driver and of NVRTC, or why they are not there.
---@return table<string, string>
function cuda.info() end

---Where compiled kernels are kept, and how much of them there is.
---@return lutile.cuda.Cache
function cuda.cache() end

---How many kernels were compiled, came from_disk or from_memory; loads, and launches, not counting
---what streams record.
---@return table<string, integer>
function cuda.statistics() end

---Waits for all work on a device.
---@param device? lutile.cuda.Place
function cuda.synchronize(device) end

---Memory of a device, of any content: so many bytes, or elements of a type. Where a device is full,
---here and in all else that needs memory of it, garbage is collected and it is tried once more.
---@param dtype lutile.dtype|integer
---@param count? integer|lutile.cuda.Place
---@param device? lutile.cuda.Place
---@return lutile.cuda.Buffer
function cuda.alloc(dtype, count, device) end

---A tensor with memory of its own on a device, or over a buffer. t:close() and the end of a
---variable with <close> give the memory back, with all tensors over it; t:to(cuda) of a tensor that
---is there already is the tensor itself.
---@param data lutile.dtype|lutile.cuda.Buffer
---@param layout lutile.Operand
---@param device? lutile.cuda.Place
---@return lutile.Tensor
function cuda.tensor(data, layout, device) end

---A tensor of the host in pinned memory, until it is collected, closed or freed; that waits for
---copies that use it.
---@param dtype lutile.dtype
---@param layout lutile.Operand
---@param device? lutile.cuda.Place
---@return lutile.Tensor
function cuda.pinned(dtype, layout, device) end

---Whether a tensor is in memory of a device.
---@param t lutile.Tensor
---@return boolean
function cuda.is_device_tensor(t) end

---The tensor on a device, with the same layout: t:to(cuda). Without a stream it is there on return.
---With one, pinned memory may be read after that; other memory of the host has been read. From
---another device it waits for that device.
---@param t lutile.Tensor
---@param place? lutile.cuda.Place
---@param stream? lutile.cuda.Stream
---@return lutile.Tensor
function cuda.to(t, place, stream) end

---The tensor in memory of the host, with the same layout: t:to_host(). It waits: for the stream, or
---without one for the device. cuda.copy into pinned memory does not.
---@param t lutile.Tensor
---@param stream? lutile.cuda.Stream
---@return lutile.Tensor
function cuda.to_host(t, stream) end

---Copies between tensors of any layouts of one size, wherever they are. On a stream the host does
---not wait for copies within a device, from pinned memory, and into pinned memory where the layouts
---are equal: such memory is not to be written, or read, before stream:synchronize(), an event, or
---stream:query(). Copies into other memory of the host, and from another device, wait. Without a
---stream, copies into memory of the host wait for the device before and after, copies from it until
---they are done.
---Elements of another type are converted; on a device not those of e4m3fnuz and e5m2fnuz, of which
---kernels have no numbers.
---@param source lutile.Tensor
---@param target lutile.Tensor
---@param stream? lutile.cuda.Stream
function cuda.copy(source, target, stream) end

---A function that copies between tensors of one device, planned once for many times.
---@param source lutile.Tensor
---@param target lutile.Tensor
---@param stream? lutile.cuda.Stream
---@param changes? table<string, any> fields of the plan
---@return fun()
function cuda.prepare_copy(source, target, stream, changes) end

---What cuTensorMapEncodeTiled takes, mode 0 first; strides are in bytes, from mode 1 on.
---@class lutile.cuda.TensorMapDescriptor
---@field tensorRank integer 1 to 5
---@field tensorDataType string the element type, by CuTe's name
---@field globalDim integer[]
---@field globalStrides integer[] multiples of 16
---@field boxDim integer[] 1 to 256 each; a line of the box has a multiple of 16 bytes
---@field elementStrides integer[] 1 to 8 each
---@field swizzle? "none"|"32B"|"64B"|"128B"|"128B_ATOM_32B"|"128B_ATOM_64B"
---@field l2Promotion? "none"|"64B"|"128B"|"256B" by default "128B"
---@field oobFill? "zero"|"nan" what is loaded from outside of the tensor

---A kernel's argument: const __grid_constant__ tma::Map.
---@class lutile.cuda.TensorMap
---@field bytes fun(self: lutile.cuda.TensorMap): string its 128 bytes

---A tensor map for TMA, of a tensor on a device.
---@param descriptor lutile.TmaCopy|lutile.cuda.TensorMapDescriptor
---@param tensor lutile.Tensor|lutile.cuda.Buffer the memory that it is for
---@return lutile.cuda.TensorMap
function cuda.tensor_map(descriptor, tensor) end

---Bytes that this state holds on a device.
---@param device? lutile.cuda.Place
---@return integer
function cuda.used(device) end

---Bytes free on a device, and in all.
---@param device? lutile.cuda.Place
---@return integer free
---@return integer total
function cuda.memory(device) end

---The most that this state may hold on a device; nil for no limit.
---@param bytes? integer
---@param device? lutile.cuda.Place
function cuda.limit(bytes, device) end

---A new stream.
---@param device? lutile.cuda.Place
---@return lutile.cuda.Stream
function cuda.stream(device) end

---A new event.
---@param device? lutile.cuda.Place
---@return lutile.cuda.Event
function cuda.event(device) end

---The kernel, compiled for its layouts; from memory or the cache where it was compiled before.
---@param spec lutile.cuda.CompileOptions
---@return lutile.cuda.Kernel
function cuda.compile(spec) end

---@class lutile.cuda.CompileAllOptions
---@field threads? integer 1 to 1024: one for each processor
---@field progress? fun(done: integer, of: integer) called after each kernel

---Compiles what is not in the cache by several threads. Gives the kernels in the order of the
---specs, false for those that there are none of, and the messages of these by their places.
---@param specs lutile.cuda.CompileOptions[]
---@param options? lutile.cuda.CompileAllOptions
---@return (lutile.cuda.Kernel|false)[] kernels
---@return table<integer, string> errors
function cuda.compile_all(specs, options) end

---The type that a layout is written as, as CUDA C++. It needs no CUDA.
---@param layout lutile.Operand
---@param name string
---@param bits? 32|64 of its integers
---@return string
function cuda.emit(layout, name, bits) end

---Puts the module's names into a table (the globals where none is given), never over names that are
---there.
---@param environment? table
function lutile.using(environment) end

return lutile
