/*
** All offsets of a layout, handed out a stretch at a time.
*/
#ifndef LUTILE_ALGEBRA_OFFSETS_H
#define LUTILE_ALGEBRA_OFFSETS_H

#include "value.h"

/* Takes the next 'count' offsets, which are gone after the call; false for no more of them. */
typedef bool ltA_take_offsets(void *context, const int64_t *offsets, size_t count);

/*
** Hands out the offsets of all linear indices, in their order. False where 'take' has returned
** false, or where lt_offsets would: then some may have been handed out already.
*/
bool ltA_hand_out_offsets(const lt_value *layout, ltA_take_offsets *take, void *context);

#endif
