/*
** Slices of layouts and of composed layouts: shared by slice.c and slice_composed.c.
*/
#ifndef LUTILE_ALGEBRA_SLICE_H
#define LUTILE_ALGEBRA_SLICE_H

#include "composed.h"

/* The modes of a layout under the wildcards, and those beside them. */
const lt_value *ltA_slice_layout(lt_arena *arena, const lt_value *coord, const lt_value *layout);
const lt_value *ltA_dice_layout(lt_arena *arena, const lt_value *coord, const lt_value *layout);

/* slice_and_offset of a composed layout. */
const lt_value *ltA_slice_composed(lt_arena *arena, const lt_value *coord,
                                   const lt_value *composed);

#endif
