/*
** What the left inverse is looked for by, where CuTe's rule has none.
*/
#ifndef LUTILE_ALGEBRA_INVERSE_H
#define LUTILE_ALGEBRA_INVERSE_H

#include "flat.h"

/* Larger layouts are not searched. */
#define LTA_MAX_SEARCHED 1024

/* r(layout(i)) is an index of that offset again: layout(r(layout(i))) == layout(i) for all i. */
bool ltA_is_left_inverse(const ltA_modes *layout, int64_t size, const ltA_modes *result);

/*
** Searches a left inverse of a static layout of 'size' elements: false where there is none, or
** where
** the layout is too large to search through. 'layout' is coalesced with its function kept past the
** size.
*/
bool ltA_search_left_inverse(const ltA_modes *layout, int64_t size, ltA_modes *result);

#endif
