/*
** Complement on flat modes, for the divides and products.
*/
#ifndef LUTILE_ALGEBRA_COMPLEMENT_H
#define LUTILE_ALGEBRA_COMPLEMENT_H

#include "flat.h"

/*
** Appends the complement of 'layout' in 'target' to 'result'. 'modes' are the layout's flat modes
** and are used up; of the target only shapes count.
*/
void ltA_complement_modes(ltA_view layout, ltA_modes *modes, const ltA_modes *target,
                          ltA_modes *result);

#endif
