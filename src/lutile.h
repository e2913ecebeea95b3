/*
** lutile: CuTe-style layouts as values, and the algebra over them.
**
** A value (lt_value) is immutable and one block: an integer, a tuple, a layout, a swizzle, a
** composed layout, a tensor over nothing, a scaled basis or the wildcard. Functions have CuTe's
** names after 'lt_' and take an arena first:
**
**     lt_error error = {LT_OK, ""};
**     lt_arena *arena = lt_arena_new(NULL, &error);
**     const lt_value *a = lt_parse(arena, "(4,2):(2,1)");
**     const lt_value *b = lt_parse(arena, "(2,2):(1,2)");
**     const lt_value *c = lt_composition(arena, a, b);
**     if (c == NULL) fprintf(stderr, "%s\n", error.message);
**     lt_arena_free(arena);
**
** Results live in the arena until lt_arena_reset or lt_arena_free. Errors go to the lt_error that
** the arena was made with. The first one stays: from then on every function returns NULL (0,
** false) at once, so that a chain of calls needs one check at its end; lt_arena_reset clears it.
**
** An arena belongs to one thread at a time; values may be read by any number of threads.
** Coordinates, modes and offsets count from 0. Integers have 64 bits; an overflow is an error.
*/
#ifndef LUTILE_H
#define LUTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LUTILE_VERSION_MAJOR 0
#define LUTILE_VERSION_MINOR 1
#define LUTILE_VERSION_PATCH 0
#define LUTILE_VERSION "0.1.0"

/* Deepest nesting of a value: tuples in tuples, layouts in tilers. */
#define LT_MAX_DEPTH 64
/* Largest size of a shape, as a product of its leaves. */
#define LT_MAX_SIZE ((int64_t)1 << 62)
/* Modes that a scaled basis can name: 0 to this less 1. */
#define LT_MAX_BASIS_MODE ((int64_t)1 << 20)
/* Widest element of a shared memory offset. */
#define LT_MAX_ELEMENT_BITS 1024
/* Bytes of an error message, the closing zero included. */
#define LT_ERROR_SIZE 512

#if defined(LUTILE_SHARED) && defined(__GNUC__)
#define LT_API __attribute__((visibility("default")))
#else
#define LT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors, memory ------------------------------------------------------------------------- */

typedef enum lt_status {
  LT_OK,
  LT_INVALID,   /* operands that the operation is not defined for */
  LT_OVERFLOW,  /* a result beyond 64 bits */
  LT_NO_MEMORY, /* the allocator returned NULL */
  LT_LIMIT,     /* deeper than LT_MAX_DEPTH, or larger than a size can be */
  LT_DEVICE     /* CUDA failed, or is not there: see lutile_cuda.h */
} lt_status;

typedef struct lt_error {
  lt_status status;
  char message[LT_ERROR_SIZE]; /* lower case, no full stop */
} lt_error;

/*
** The caller's allocator, of lua_Alloc's kind: makes 'block' (NULL at first) 'new_size' bytes long
** and returns its new place, or NULL when there is no memory; frees it when 'new_size' is 0.
*/
typedef struct lt_allocator {
  void *(*reallocate)(void *context, void *block, size_t old_size, size_t new_size);
  void *context;
} lt_allocator;

/* An immutable value: see lt_kind. */
typedef struct lt_value lt_value;

/* Where values are built, and where they live. */
typedef struct lt_arena lt_arena;

/*
** A new arena that takes its memory from 'allocator' (NULL: malloc) and reports to 'error', which
** must outlive it. NULL, with the error set, when there is no memory.
*/
LT_API lt_arena *lt_arena_new(const lt_allocator *allocator, lt_error *error);
LT_API void lt_arena_free(lt_arena *arena);
/* Forgets every value made in the arena, and its error. Memory is kept for the next ones. */
LT_API void lt_arena_reset(lt_arena *arena);

/*
** Bytes of a value, which may be copied with memcpy to any place aligned for int64_t and used
** there: a value holds no pointers.
*/
LT_API size_t lt_value_size(const lt_value *v);

/* ---- Kinds and parts ------------------------------------------------------------------------ */

typedef enum lt_kind {
  LT_INTEGER,  /* static: known before any kernel is compiled; dynamic: known at launch */
  LT_WILDCARD, /* '_': all of a mode */
  LT_BASIS,    /* k@i: k in mode i of a coordinate */
  LT_TUPLE,
  LT_LAYOUT,   /* shape:stride */
  LT_SWIZZLE,  /* Sw<B,M,S> */
  LT_SMEM,     /* smem[16b]: the byte address of w-bit elements, as a composed layout's offset */
  LT_COMPOSED, /* A o offset o B: c -> A(offset + B(c)) */
  LT_TENSOR,   /* offset o layout over nothing: c -> offset + layout(c) */
  LT_MAJOR     /* LayoutLeft (first mode fastest) or LayoutRight: an order of compact strides */
} lt_kind;

LT_API lt_kind lt_kind_of(const lt_value *v);
/* "integer", "tuple", "layout", …: for messages. */
LT_API const char *lt_kind_name(lt_kind kind);

/* Value of an integer; coefficient of a basis. */
LT_API int64_t lt_integer_value(const lt_value *v);
/* 0 for a static integer; n >= 1 for a dynamic one that is always a multiple of n. */
LT_API int64_t lt_integer_promise(const lt_value *v);
/* No dynamic integer anywhere in 'v'. */
LT_API bool lt_is_static(const lt_value *v);
/* A layout or a composed layout. */
LT_API bool lt_is_layout(const lt_value *v);
LT_API bool lt_equal(const lt_value *a, const lt_value *b);

/* Elements of a tuple, modes of a layout; 1 for an integer. */
LT_API size_t lt_rank(const lt_value *v);
/* Nesting: 0 for an integer. */
LT_API size_t lt_depth(const lt_value *v);
/* Element of a tuple, part of any other value with parts (shape and stride of a layout; A, offset
** and B of a composed one); NULL beyond the last. Lives as long as 'v'. */
LT_API const lt_value *lt_part(const lt_value *v, size_t i);
/* Shape of a layout, composed layout or tensor; a tuple or integer is its own. */
LT_API const lt_value *lt_shape(const lt_value *v);
/* Stride of a layout or of a tensor's layout; NULL where there is none. */
LT_API const lt_value *lt_stride(const lt_value *v);

/* ---- Making values -------------------------------------------------------------------------- */

LT_API const lt_value *lt_integer(lt_arena *arena, int64_t value);
/* A dynamic integer; 'promise' >= 1 divides it and every value it will have. */
LT_API const lt_value *lt_dynamic(lt_arena *arena, int64_t value, int64_t promise);
LT_API const lt_value *lt_wildcard(lt_arena *arena);
/* coefficient@path: lt_basis(arena, 4, (int64_t[]){0, 1}, 2) is 4*E(0,1), printed 4@1@0. */
LT_API const lt_value *lt_basis(lt_arena *arena, const lt_value *coefficient, const int64_t *path,
                                size_t n);
LT_API const lt_value *lt_tuple(lt_arena *arena, const lt_value *const *elements, size_t n);
LT_API const lt_value *lt_swizzle(lt_arena *arena, int64_t b, int64_t m, int64_t s);
/* The offset of a composed layout over shared memory with elements of 'bits' bits. */
LT_API const lt_value *lt_smem(lt_arena *arena, int64_t bits);
LT_API const lt_value *lt_layout_left(lt_arena *arena);
LT_API const lt_value *lt_layout_right(lt_arena *arena);

/* ---- Layouts -------------------------------------------------------------------------------- */

/*
** Below, 'x' is a tuple, an integer or a layout, 'layout' may be a composed layout wherever CuTe
** takes one, a 'shape' is an integer or a tuple of them, and an argument marked NULL may be left
** out so. Functions that give a layout and an offset return them as one LT_TENSOR. A function that
** gives a number returns an integer value, with its flag.
*/

/* 'stride' is congruent with 'shape', or an lt_layout_left/right tag, or NULL for LayoutLeft. */
LT_API const lt_value *lt_make_layout(lt_arena *arena, const lt_value *shape,
                                      const lt_value *stride);
/* The layout whose modes are 'layouts'. */
LT_API const lt_value *lt_make_layout_of(lt_arena *arena, const lt_value *const *layouts, size_t n);
/* A o offset o B; 'offset' NULL is static 0. */
LT_API const lt_value *lt_make_composed_layout(lt_arena *arena, const lt_value *a,
                                               const lt_value *offset, const lt_value *b);
/* offset o layout over nothing. */
LT_API const lt_value *lt_make_counting_tensor(lt_arena *arena, const lt_value *offset,
                                               const lt_value *layout);
LT_API const lt_value *lt_compact_col_major(lt_arena *arena, const lt_value *shape,
                                            const lt_value *current /* NULL: static 1 */);
LT_API const lt_value *lt_compact_row_major(lt_arena *arena, const lt_value *shape,
                                            const lt_value *current /* NULL: static 1 */);
LT_API const lt_value *lt_make_ordered_layout(lt_arena *arena, const lt_value *shape,
                                              const lt_value *order);
LT_API const lt_value *lt_make_layout_like(lt_arena *arena, const lt_value *layout);
LT_API const lt_value *lt_make_fragment_like(lt_arena *arena, const lt_value *layout);
LT_API const lt_value *lt_make_identity_layout(lt_arena *arena, const lt_value *shape);

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* Index of a coordinate; of a shape (stride NULL) the colexicographic one. */
LT_API const lt_value *lt_crd2idx(lt_arena *arena, const lt_value *coord, const lt_value *x,
                                  const lt_value *stride /* NULL: of x */);
LT_API const lt_value *lt_idx2crd(lt_arena *arena, const lt_value *index, const lt_value *x,
                                  const lt_value *stride /* NULL: colexicographic */);
LT_API const lt_value *lt_crd2crd(lt_arena *arena, const lt_value *coord, const lt_value *from,
                                  const lt_value *to);
/* Swizzle, layout, composed layout or tensor at a coordinate; with '_' in it, the slice. */
LT_API const lt_value *lt_apply(lt_arena *arena, const lt_value *f, const lt_value *coord);
/*
** The offset of a linear index of a layout, composed layout or tensor: lt_apply without an arena and
** without flags. False where lt_apply would fail, where strides are scaled bases, and where a mode
** but the last is of size 0.
*/
LT_API bool lt_offset(const lt_value *layout, int64_t index, int64_t *offset);
/* The offsets of all linear indices, in their order, into an array of as many as the layout's size. */
LT_API bool lt_offsets(const lt_value *layout, int64_t *offsets);
LT_API const lt_value *lt_get_hier_coord(lt_arena *arena, const lt_value *layout,
                                         const lt_value *index);
LT_API const lt_value *lt_get_flat_coord(lt_arena *arena, const lt_value *layout,
                                         const lt_value *index);
LT_API const lt_value *lt_get_1d_coord(lt_arena *arena, const lt_value *layout,
                                       const lt_value *index);
LT_API const lt_value *lt_size(lt_arena *arena, const lt_value *x);
LT_API const lt_value *lt_cosize(lt_arena *arena, const lt_value *layout);
LT_API const lt_value *lt_coshape(lt_arena *arena, const lt_value *layout);
LT_API const lt_value *lt_coprofile(lt_arena *arena, const lt_value *layout);

/* ---- Relations ------------------------------------------------------------------------------ */

LT_API bool lt_congruent(lt_arena *arena, const lt_value *x, const lt_value *y);
LT_API bool lt_weakly_congruent(lt_arena *arena, const lt_value *x, const lt_value *y);
LT_API bool lt_compatible(lt_arena *arena, const lt_value *x, const lt_value *y);
LT_API bool lt_weakly_compatible(lt_arena *arena, const lt_value *x, const lt_value *y);
LT_API bool lt_evenly_divides(lt_arena *arena, const lt_value *x, const lt_value *tiler);
LT_API bool lt_lex_less(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API bool lt_colex_less(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API bool lt_elem_less(lt_arena *arena, const lt_value *a, const lt_value *b);

/* ---- Tuples and modes ----------------------------------------------------------------------- */

/* The part of 'x' at a path of modes: CuTe's get<i, j, ...>. */
LT_API const lt_value *lt_get(lt_arena *arena, const lt_value *x, const int64_t *path, size_t n);
LT_API const lt_value *lt_select(lt_arena *arena, const lt_value *x, const int64_t *modes,
                                 size_t n);
/* Modes 'begin' to 'end' - 1; 'end' -1: to the last. */
LT_API const lt_value *lt_take(lt_arena *arena, const lt_value *x, int64_t begin, int64_t end);
/* Modes 'begin' to 'end' - 1 become one mode; 'end' -1: to the last. */
LT_API const lt_value *lt_group(lt_arena *arena, const lt_value *x, int64_t begin, int64_t end);
LT_API const lt_value *lt_append(lt_arena *arena, const lt_value *x,
                                 const lt_value *y /* NULL: 1:0 */);
LT_API const lt_value *lt_prepend(lt_arena *arena, const lt_value *x,
                                  const lt_value *y /* NULL: 1:0 */);
/* Modes 'y' are added until the rank is 'rank': CuTe's append<N>. */
LT_API const lt_value *lt_append_to(lt_arena *arena, const lt_value *x, int64_t rank,
                                    const lt_value *y /* NULL: 1:0 */);
LT_API const lt_value *lt_prepend_to(lt_arena *arena, const lt_value *x, int64_t rank,
                                     const lt_value *y /* NULL: 1:0 */);
LT_API const lt_value *lt_replace(lt_arena *arena, const lt_value *x, int64_t mode,
                                  const lt_value *y);
LT_API const lt_value *lt_insert(lt_arena *arena, const lt_value *tuple, int64_t mode,
                                 const lt_value *y);
LT_API const lt_value *lt_remove(lt_arena *arena, const lt_value *tuple, int64_t mode);
LT_API const lt_value *lt_reverse(lt_arena *arena, const lt_value *tuple);
LT_API const lt_value *lt_flatten(lt_arena *arena, const lt_value *x);
LT_API const lt_value *lt_unflatten(lt_arena *arena, const lt_value *x, const lt_value *profile);
LT_API const lt_value *lt_wrap(lt_arena *arena, const lt_value *x);
LT_API const lt_value *lt_unwrap(lt_arena *arena, const lt_value *x);
LT_API const lt_value *lt_zip(lt_arena *arena, const lt_value *x);

/* ---- Arithmetic on tuples ------------------------------------------------------------------- */

LT_API const lt_value *lt_shape_div(lt_arena *arena, const lt_value *a, const lt_value *b);
/* 'b' may be a layout: then the shape of its complement in a. */
LT_API const lt_value *lt_ceil_div(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API const lt_value *lt_round_up(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API const lt_value *lt_elem_scale(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API const lt_value *lt_inner_product(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API const lt_value *lt_product(lt_arena *arena, const lt_value *tuple);
LT_API const lt_value *lt_product_each(lt_arena *arena, const lt_value *tuple);
LT_API const lt_value *lt_product_like(lt_arena *arena, const lt_value *tuple,
                                       const lt_value *guide);
LT_API const lt_value *lt_sum(lt_arena *arena, const lt_value *tuple);
LT_API const lt_value *lt_gcd(lt_arena *arena, const lt_value *const *tuples, size_t n);
LT_API const lt_value *lt_max(lt_arena *arena, const lt_value *const *tuples, size_t n);
LT_API const lt_value *lt_min(lt_arena *arena, const lt_value *const *tuples, size_t n);

/* ---- The algebra ---------------------------------------------------------------------------- */

LT_API const lt_value *lt_coalesce(lt_arena *arena, const lt_value *x,
                                   const lt_value *profile /* NULL: all of x */);
LT_API const lt_value *lt_filter(lt_arena *arena, const lt_value *layout,
                                 const lt_value *profile /* NULL: all of layout */);
LT_API const lt_value *lt_filter_zeros(lt_arena *arena, const lt_value *x,
                                       const lt_value *profile /* NULL: the stride of x */);
LT_API const lt_value *lt_nullspace(lt_arena *arena, const lt_value *layout);

/*
** r(c) == a(b(c)) for every coordinate c of b, and the shape of r refines that of b. 'b' is a
** layout, a tiler (a tuple: mode by mode), an integer n (n:1) or '_'; 'a' may be a swizzle.
** Fails, naming the modes, exactly when no such layout exists (for static operands).
*/
LT_API const lt_value *lt_composition(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API const lt_value *lt_with_shape(lt_arena *arena, const lt_value *layout,
                                     const lt_value *shape);
LT_API const lt_value *lt_complement(lt_arena *arena, const lt_value *layout,
                                     const lt_value *target /* NULL: the cosize */);
/* layout(r(i)) == i for all i < size(r). */
LT_API const lt_value *lt_right_inverse(lt_arena *arena, const lt_value *layout);
/* layout(r(layout(i))) == layout(i) for all i < size(layout). */
LT_API const lt_value *lt_left_inverse(lt_arena *arena, const lt_value *layout);

LT_API const lt_value *lt_logical_divide(lt_arena *arena, const lt_value *layout,
                                         const lt_value *tiler);
LT_API const lt_value *lt_zipped_divide(lt_arena *arena, const lt_value *layout,
                                        const lt_value *tiler);
LT_API const lt_value *lt_tiled_divide(lt_arena *arena, const lt_value *layout,
                                       const lt_value *tiler);
LT_API const lt_value *lt_flat_divide(lt_arena *arena, const lt_value *layout,
                                      const lt_value *tiler);
LT_API const lt_value *lt_logical_product(lt_arena *arena, const lt_value *block,
                                          const lt_value *tiler);
LT_API const lt_value *lt_zipped_product(lt_arena *arena, const lt_value *block,
                                         const lt_value *tiler);
LT_API const lt_value *lt_tiled_product(lt_arena *arena, const lt_value *block,
                                        const lt_value *tiler);
LT_API const lt_value *lt_flat_product(lt_arena *arena, const lt_value *block,
                                       const lt_value *tiler);
LT_API const lt_value *lt_blocked_product(lt_arena *arena, const lt_value *block,
                                          const lt_value *tiler);
LT_API const lt_value *lt_raked_product(lt_arena *arena, const lt_value *block,
                                        const lt_value *tiler);
LT_API const lt_value *lt_tile_to_shape(lt_arena *arena, const lt_value *block,
                                        const lt_value *shape,
                                        const lt_value *order /* NULL: LayoutLeft */);

/* ---- Layouts as functions ------------------------------------------------------------------- */

/*
** Questions about all offsets at once, of layouts, composed layouts and tensors over nothing. Flags
** do not matter to them, values do. Most are decided by the modes, whatever the size. Where those
** do not decide, offsets are evaluated, LT_MAX_EVALUATION of them at most; beyond that the question
** fails with LT_LIMIT. Functions that answer false also do so after an error.
*/
#define LT_MAX_EVALUATION ((int64_t)1 << 24)

/* Of one size, and a(i) == b(i) for all i below it. */
LT_API bool lt_equivalent(lt_arena *arena, const lt_value *a, const lt_value *b);
/* No two coordinates have one offset. */
LT_API bool lt_is_injective(lt_arena *arena, const lt_value *layout);
/* Each of 0 to n - 1 is an offset; 'n' NULL is the cosize. */
LT_API bool lt_is_surjective(lt_arena *arena, const lt_value *layout, const lt_value *n);
/* One to one, and onto 0 to its size less 1. */
LT_API bool lt_is_bijective(lt_arena *arena, const lt_value *layout);
/* The offsets, in whatever order, leave no gap between the smallest and the largest. */
LT_API bool lt_is_contiguous(lt_arena *arena, const lt_value *layout);
/*
** The layout with the same offsets, each once and in ascending order; where they do not start at 0
** it is a tensor over nothing that starts at the smallest. Fails where no layout has them.
*/
LT_API const lt_value *lt_image_layout(lt_arena *arena, const lt_value *layout);
/* The offsets, each once and in ascending order: an array of 'count' in the arena. */
LT_API const int64_t *lt_image(lt_arena *arena, const lt_value *layout, size_t *count);

/* ---- Slices --------------------------------------------------------------------------------- */

/* The modes of 'x' under the '_' of 'coord'. */
LT_API const lt_value *lt_slice(lt_arena *arena, const lt_value *coord, const lt_value *x);
/* The modes of 'x' not under a '_'. */
LT_API const lt_value *lt_dice(lt_arena *arena, const lt_value *coord, const lt_value *x);
LT_API const lt_value *lt_slice_and_offset(lt_arena *arena, const lt_value *coord,
                                           const lt_value *layout);
LT_API const lt_value *lt_domain_offset(lt_arena *arena, const lt_value *coord,
                                        const lt_value *layout);
LT_API const lt_value *lt_local_tile(lt_arena *arena, const lt_value *layout, const lt_value *tiler,
                                     const lt_value *coord,
                                     const lt_value *projection /* NULL: all of tiler */);
LT_API const lt_value *lt_local_partition(lt_arena *arena, const lt_value *layout,
                                          const lt_value *threads, const lt_value *index,
                                          const lt_value *projection /* NULL: all of threads */);
LT_API const lt_value *lt_inner_partition(lt_arena *arena, const lt_value *layout,
                                          const lt_value *tiler, const lt_value *coord);
LT_API const lt_value *lt_outer_partition(lt_arena *arena, const lt_value *layout,
                                          const lt_value *tiler, const lt_value *coord);

/* ---- Vectors and element widths ------------------------------------------------------------- */

LT_API const lt_value *lt_max_common_vector(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API const lt_value *lt_max_common_layout(lt_arena *arena, const lt_value *a, const lt_value *b);
LT_API const lt_value *lt_max_alignment(lt_arena *arena, const lt_value *x);
LT_API const lt_value *lt_domain_distribute(lt_arena *arena, const lt_value *shape,
                                            const lt_value *n);
/* Elements 'n' times larger (smaller); 'x' is a layout, swizzle or composed layout. */
LT_API const lt_value *lt_upcast(lt_arena *arena, const lt_value *x, int64_t n);
LT_API const lt_value *lt_downcast(lt_arena *arena, const lt_value *x, int64_t n);
LT_API const lt_value *lt_recast(lt_arena *arena, const lt_value *x, int64_t old_bits,
                                 int64_t new_bits);
/*
** CuTe's as_position_independent_swizzle_layout: where a swizzle acts on byte addresses (LT_SMEM),
** the same function with one that counts in elements. Other layouts stay as they are.
*/
LT_API const lt_value *lt_as_position_independent_swizzle(lt_arena *arena, const lt_value *layout);

/* ---- Text ----------------------------------------------------------------------------------- */

/*
** lutile's form: (4,2):(2,1) static, (?4,2):(2,1) with a dynamic 4, (?4096{8},2):(2,1) with a
** promise. lt_parse also takes '_4' for 4 and 'S<3,4,3>' for 'Sw<3,4,3>', and reports the column of
** a mistake. 'length' bytes of any content.
*/
LT_API const lt_value *lt_parse(lt_arena *arena, const char *text);
LT_API const lt_value *lt_parse_bytes(lt_arena *arena, const char *text, size_t length);
/* CuTe C++'s form: (_4,_2):(_2,_1) static, (4,_2):(_2,_1) with a dynamic 4. */
LT_API const lt_value *lt_from_cute(lt_arena *arena, const char *text, size_t length);
/*
** Writes at most 'size' bytes, the closing zero included, and returns the length of the whole
** text, as snprintf does.
*/
LT_API size_t lt_to_string(const lt_value *v, char *buffer, size_t size);
LT_API size_t lt_to_cute(const lt_value *v, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
