/*
** What each operation promises, checked point by point against the model. A law that does not apply
** to the operands at hand (too many indices, numbers beyond the model) is passed over.
*/
#ifndef LUTILE_SPEC_FUZZ_LAWS_H
#define LUTILE_SPEC_FUZZ_LAWS_H

#include "model.h"

/* A call that succeeded. */
typedef struct call {
  lt_arena *arena; /* of its own, for what laws make */
  const char *name;
  const lt_value *x[4]; /* operands; NULL where left out */
  int64_t n[2];         /* and numbers */
  const lt_value *r;
} call;

typedef void law(const call *c);

law law_same_function, law_same_image, law_composition, law_with_shape, law_complement;
law law_right_inverse, law_left_inverse;
law law_logical_divide, law_zipped_divide, law_tiled_divide, law_flat_divide;
law law_logical_product, law_zipped_product, law_tiled_product, law_flat_product;
law law_blocked_product, law_raked_product, law_nullspace;
law law_apply, law_crd2idx, law_idx2crd, law_crd2crd, law_coord_of_index, law_size, law_cosize;
law law_make_layout, law_slice_and_offset, law_domain_offset, law_local_tile;
law law_product, law_sum, law_ceil_div, law_upcast, law_downcast, law_image;
law law_common_vector, law_alignment;

/* Of functions that answer yes or no. */
typedef void question_law(const call *c, bool answer);

question_law law_congruent, law_equivalent, law_injective, law_bijective, law_surjective,
    law_contiguous;

/* Ends the process with the call and the rule that it broke. */
void broken(const call *c, const char *rule);

/* lt_offset and lt_offsets of a layout. */
void check_offsets(const call *c, const lt_value *layout);

#endif
