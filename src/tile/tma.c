/*
** The layouts of TMA copies: which box of the tensor one instruction can move, and the copies of a
** tile by boxes. Source of the steps: CuTe's copy_traits_sm90_tma.hpp.
*/
#include "tma.h"

#include "tma_descriptor.h"

/* Elements of a box: more than any shared memory holds. */
#define MAX_BOX (1 << 22)

static const lt_value *pair(lt_arena *arena, const lt_value *first, const lt_value *second) {
  if (ltA_failed(arena)) return NULL;
  return lt_tuple(arena, (const lt_value *[]){first, second}, 2);
}

static const lt_value *line(lt_arena *arena, const lt_value *extent) {
  return ltA_failed(arena) ? NULL : lt_make_layout(arena, extent, NULL);
}

/* The layout behind a swizzle. */
static const lt_value *without_swizzle(const lt_value *layout) {
  return ltA_is_composed(layout) ? ltA_layout_b(layout) : layout;
}

/* ---- Operations ----------------------------------------------------------------------------- */

#define TMA(name, way) \
  { name, NULL, way, 0, "(1,W):(0,1)", "(1,W):(0,1)", .packed_bits = 0 }

static const ltT_copy_family families[] = {TMA("SM90_TMA_LOAD", LT_COPY_TMA_LOAD),
                                           TMA("SM90_TMA_LOAD_MULTICAST", LT_COPY_TMA_LOAD),
                                           TMA("SM90_TMA_STORE", LT_COPY_TMA_STORE)};

bool ltT_tma_operation(lt_arena *arena, const char *name, lt_element element, ltT_copy_atom *atom) {
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
    if (strcmp(name, families[i].name) != 0) continue;
    *atom = (ltT_copy_atom){.family = &families[i], .element = element};
    memcpy(atom->name, name, strlen(name) + 1);
    return true;
  }
  ltA_fail(arena, LT_INVALID,
           "make_tma_copy: the operations are SM90_TMA_LOAD, SM90_TMA_LOAD_MULTICAST and "
           "SM90_TMA_STORE");
  return false;
}

/* ---- The box -------------------------------------------------------------------------------- */

/* Index in shared memory -> mode of the tensor, as far as that goes by single elements. */
static const lt_value *find_vector(lt_arena *arena, const ltT_tma_request *q,
                                   const lt_value *tile) {
  const lt_value *inverse = lt_right_inverse(arena, without_swizzle(q->smem));
  const lt_value *all = lt_coalesce(arena, lt_composition(arena, tile, inverse), NULL);
  if (ltA_failed(arena)) return NULL;
  size_t rank = lt_rank(all), count = 0;
  const lt_value *stride = ltA_stride(all);
  while (count < rank) {
    const lt_value *leaf = ltA_is_tuple(stride) ? ltA_element(stride, count) : stride;
    if (leaf->kind != LT_BASIS || leaf->value != 1 || leaf->promise != 0) break;
    count++;
  }
  if (count == 0)
    return ltA_fail(arena, LT_INVALID,
                    "make_tma_copy: the first elements of %v in shared memory are no run of the "
                    "tensor %v",
                    q->smem, q->tensor);
  return count == rank ? all : lt_take(arena, all, 0, (int64_t)count);
}

/* Merges modes of a flat layout that follow on each other, to at most the extent of a box. */
static const lt_value *merge_modes(lt_arena *arena, const lt_value *layout) {
  const lt_value *flat = lt_flatten(arena, layout);
  if (flat == NULL) return NULL;
  size_t rank = lt_rank(flat);
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE), count = 0;
  lt_int size = {1, 0}, stride = {0, 0};
  for (size_t i = 0; i < rank; i++) {
    const lt_value *mode = ltA_mode_of(arena, flat, i);
    if (mode == NULL || !ltA_is_integer(ltA_stride(mode))) return NULL;
    lt_int next = ltA_int(ltA_shape(mode)), step = ltA_int(ltA_stride(mode));
    if (next.value == 1 && next.promise == 0) continue;
    bool is_static = size.promise == 0 && stride.promise == 0 && step.promise == 0;
    bool follows = is_static && ltA_mul(arena, size, stride).value == step.value &&
                   ltA_mul(arena, size, next).value <= LTT_TMA_BOX_LIMIT;
    if (size.value == 1 && count == 0) {
      size = next;
      stride = step;
    } else if (follows) {
      size = ltA_mul(arena, size, next);
    } else {
      ltA_append_int(&b, size);
      count++;
      size = next;
      stride = step;
    }
  }
  ltA_append_int(&b, size);
  ltA_close(&b, open, count + 1);
  return ltA_finish(&b);
}

/* Box coordinate -> modes of the tensor: the vector's, in merged modes. */
static const lt_value *find_box(lt_arena *arena, const ltT_tma_request *q, const lt_value *vector) {
  const lt_value *strides = lt_composition(arena, q->tensor, vector);
  const lt_value *identity = lt_make_identity_layout(arena, lt_shape(q->tensor));
  const lt_value *bases = lt_composition(arena, identity, vector);
  const lt_value *shape = strides == NULL ? NULL : merge_modes(arena, strides);
  if (shape == NULL && !ltA_failed(arena))
    return ltA_fail(arena, LT_INVALID, "make_tma_copy: %v is no layout of memory", q->tensor);
  return lt_composition(arena, bases, line(arena, shape));
}

static bool has_basis(const lt_value *stride, const lt_value *basis) {
  for (const lt_value *v = stride; v < ltA_next(stride); v++)
    if (v->kind == LT_BASIS && ltA_equal(v, basis)) return true;
  return false;
}

/* The leaf 'i' of a flat tuple, or of an integer as one. */
static const lt_value *leaf(const lt_value *flat, size_t i) {
  return ltA_is_tuple(flat) ? ltA_element(flat, i) : flat;
}

static bool is_one(const lt_value *v) { return v->value == 1 && v->promise == 0; }

/* Appends the tensor's other modes, of one element each: the box moves along them too. */
static const lt_value *with_other_modes(lt_arena *arena, const ltT_tma_request *q,
                                        const lt_value *box) {
  const lt_value *identity = lt_make_identity_layout(arena, lt_shape(q->tensor));
  if (identity == NULL || box == NULL) return NULL;
  const lt_value *shape = lt_flatten(arena, lt_shape(q->tensor));
  const lt_value *stride = lt_flatten(arena, ltA_stride(q->tensor));
  const lt_value *bases = lt_flatten(arena, ltA_stride(identity));
  if (ltA_failed(arena)) return NULL;
  ltA_join join;
  ltA_join_begin(&join, arena);
  for (size_t i = 0; i < lt_rank(box); i++) ltA_join_append(&join, ltA_mode_of(arena, box, i));
  for (size_t i = 0; i < lt_rank(shape); i++) {
    const lt_value *basis = leaf(bases, i);
    if (is_one(leaf(shape, i)) || ltA_is_zero(leaf(stride, i))) continue;
    if (has_basis(ltA_stride(box), basis)) continue;
    ltA_join_append(&join, ltA_pair(arena, lt_integer(arena, 1), basis));
  }
  const lt_value *all = ltA_join_finish(&join);
  if (all == NULL || lt_rank(all) <= LTT_TMA_RANK) return all;
  return lt_group(arena, all, LTT_TMA_RANK - 1, -1);
}

/* ---- The copies ----------------------------------------------------------------------------- */

/* Blocks of the cluster, in order. */
static const lt_value *blocks_of(lt_arena *arena, const ltT_tma_request *q) {
  if (q->cluster == NULL) return line(arena, lt_integer(arena, 1));
  return ltA_is_layout(q->cluster) ? q->cluster : line(arena, q->cluster);
}

/* (block, value) -> index in the tile: values box after box, blocks within a box. */
static const lt_value *block_values(lt_arena *arena, const ltT_tma_request *q, const lt_value *tile,
                                    int64_t box) {
  const lt_value *inverse = lt_right_inverse(arena, without_swizzle(q->smem));
  const lt_value *blocks = blocks_of(arena, q);
  const lt_value *count = lt_cosize(arena, blocks), *size = lt_integer(arena, box);
  const lt_value *one = lt_composition(arena, inverse, line(arena, size));
  if (ltA_failed(arena)) return NULL;
  if (box % count->value != 0)
    return ltA_fail(arena, LT_INVALID,
                    "make_tma_copy: a box of %I elements cannot be shared by %I blocks", box,
                    count->value);
  const lt_value *values = lt_tile_to_shape(arena, lt_make_layout_of(arena, &one, 1),
                                            lt_wrap(arena, lt_size(arena, tile)), NULL);
  const lt_value *share = lt_make_layout(arena, count, lt_integer(arena, box / count->value));
  const lt_value *threads = lt_composition(arena, inverse, lt_composition(arena, share, blocks));
  if (ltA_failed(arena)) return NULL;
  return lt_make_layout_of(arena, (const lt_value *[]){threads, values}, 2);
}

static bool check_request(lt_arena *arena, const ltT_tma_request *q) {
  if (ltA_failed(arena)) return false;
  if (!ltA_is_layout(q->tensor)) {
    ltA_fail(arena, LT_INVALID, "make_tma_copy: %v is no plain layout of global memory", q->tensor);
    return false;
  }
  if (lt_is_static(q->smem)) return true;
  ltA_fail(arena, LT_INVALID, "make_tma_copy: the layout in shared memory %v is not static",
           q->smem);
  return false;
}

/* The tile as a function into the tensor's modes. */
static const lt_value *tile_of(lt_arena *arena, const ltT_tma_request *q) {
  const lt_value *tiler = q->tiler;
  if (tiler == NULL) tiler = lt_product_each(arena, lt_shape(q->smem));
  const lt_value *identity = lt_make_identity_layout(arena, lt_shape(q->tensor));
  if (ltA_failed(arena)) return NULL;
  const lt_value *tile = lt_composition(arena, identity, tiler);
  const lt_value *size = lt_size(arena, q->smem), *wanted = lt_size(arena, tile);
  if (ltA_failed(arena)) return NULL;
  if (size->value == wanted->value) return tile;
  return ltA_fail(arena, LT_INVALID,
                  "make_tma_copy: the tile %v has %I elements, its layout in shared memory %v %I",
                  tiler, wanted->value, q->smem, size->value);
}

/* The atom's value: one thread, a box. */
static const lt_value *atom_value(lt_arena *arena, const ltT_copy_atom *atom, int64_t box) {
  const lt_value *one = lt_integer(arena, 1), *threads = line(arena, one);
  const lt_value *elements = line(arena, pair(arena, one, lt_integer(arena, box)));
  const lt_value *bits = line(arena, pair(arena, one, lt_integer(arena, atom->word)));
  const lt_value *parts[LT_COPY_PARTS] = {threads, bits, bits, bits, elements, elements, elements};
  return ltA_failed(arena) ? NULL : lt_tuple(arena, parts, LT_COPY_PARTS);
}

/* The TMA copy of boxes of 'basis'. */
static const lt_value *copy_of(lt_arena *arena, const ltT_tma_request *q, const lt_value *tile,
                               const lt_value *basis) {
  const lt_value *blocks = blocks_of(arena, q), *size = lt_size(arena, basis);
  const lt_value *count = blocks == NULL ? NULL : lt_cosize(arena, blocks);
  if (ltA_failed(arena)) return NULL;
  if (size->value > MAX_BOX)
    return ltA_fail(arena, LT_LIMIT, "make_tma_copy: a box of %I elements is beyond any memory",
                    size->value);
  const lt_value *descriptor = ltT_make_tma_descriptor(arena, q, basis, count->value);
  if (descriptor == NULL) return NULL;
  q->atom->word = (int)size->value * ltT_type_of(q->atom->element)->bits;
  const lt_value *value = atom_value(arena, q->atom, size->value);
  const lt_value *tv = block_values(arena, q, tile, size->value);
  const lt_value *tiler = lt_product_each(arena, lt_shape(tile));
  if (ltA_failed(arena)) return NULL;
  return lt_tuple(arena, (const lt_value *[]){value, tv, tiler, descriptor}, 4);
}

const lt_value *ltT_make_tma_copy(lt_arena *arena, const ltT_tma_request *q) {
  if (!check_request(arena, q)) return NULL;
  const lt_value *tile = tile_of(arena, q);
  const lt_value *vector = tile == NULL ? NULL : find_vector(arena, q, tile);
  const lt_value *box = vector == NULL ? NULL : find_box(arena, q, vector);
  const lt_value *basis = box == NULL ? NULL : with_other_modes(arena, q, box);
  return basis == NULL ? NULL : copy_of(arena, q, tile, basis);
}

/* ---- Coordinates and parts ------------------------------------------------------------------- */

/* The same nesting: lt_congruent is for shapes, and strides have bases. */
static bool is_nested_alike(const lt_value *a, const lt_value *b) {
  if (!ltA_is_tuple(a) || !ltA_is_tuple(b)) return ltA_is_tuple(a) == ltA_is_tuple(b);
  if (ltA_rank(a) != ltA_rank(b)) return false;
  for (size_t i = 0; i < ltA_rank(a); i++)
    if (!is_nested_alike(ltA_element(a, i), ltA_element(b, i))) return false;
  return true;
}

const lt_value *ltT_tma_tensor(lt_arena *arena, const lt_value *tma, const lt_value *shape) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *stride = ltT_tma_part_of(tma, LT_TMA_COORD);
  if (!is_nested_alike(shape, stride))
    return ltA_fail(arena, LT_INVALID,
                    "get_tma_tensor: shape %v is not congruent with that of the copied tensor, "
                    "whose coordinates go %v",
                    shape, stride);
  const lt_value *layout = lt_make_layout(arena, shape, stride);
  const lt_value *zero = lt_integer(arena, 0);
  if (ltA_failed(arena)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE), rank = lt_rank(ltT_tma_part_of(tma, LT_TMA_SHAPE));
  for (size_t i = 0; i < rank; i++) ltA_append(&b, zero);
  ltA_close(&b, open, rank);
  return lt_make_counting_tensor(arena, ltA_finish(&b), layout);
}

/* (layout, '_', '_', ...), for all modes of 'x'. */
static const lt_value *for_first_mode(lt_arena *arena, const lt_value *first, const lt_value *x,
                                      const lt_value *others) {
  if (ltA_failed(arena)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE), rank = lt_rank(x);
  ltA_append(&b, first);
  for (size_t i = 1; i < rank; i++) ltA_append(&b, others);
  ltA_close(&b, open, rank);
  return ltA_finish(&b);
}

const lt_value *ltT_tma_partition(lt_arena *arena, const lt_value *tma, const lt_value *coord,
                                  const lt_value *blocks, const lt_value *smem, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *tile = ltA_mode_of(arena, without_swizzle(smem), 0);
  const lt_value *inverse = lt_right_inverse(arena, tile), *size = lt_size(arena, tile);
  const lt_value *box = lt_size(arena, lt_part(lt_part(tma, LT_TILED_COPY_ATOM), LT_COPY_SOURCE));
  if (ltA_failed(arena)) return NULL;
  const lt_value *all =
      lt_tile_to_shape(arena, lt_make_layout_of(arena, &inverse, 1), lt_wrap(arena, size), NULL);
  const lt_value *divided = lt_logical_divide(arena, all, line(arena, box));
  const lt_value *any = lt_wildcard(arena), *one = lt_integer(arena, 1);
  const lt_value *parts = lt_composition(arena, x, for_first_mode(arena, divided, x, any));
  const lt_value *two = pair(arena, one, one);
  if (ltA_failed(arena)) return NULL;
  const lt_value *profile = lt_tuple(arena, &two, 1);
  const lt_value *coalesced = lt_coalesce(arena, parts, profile);
  const lt_value *number = lt_crd2idx(arena, coord, blocks, NULL), *end = lt_cosize(arena, blocks);
  if (ltA_failed(arena)) return NULL;
  const lt_value *moved = lt_integer(arena, number->value * (box->value / end->value));
  const lt_value *zero = lt_integer(arena, 0);
  const lt_value *start = pair(arena, moved, zero);
  return lt_domain_offset(arena, for_first_mode(arena, start, coalesced, zero), coalesced);
}
