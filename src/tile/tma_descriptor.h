/*
** The fields of TMA descriptors.
*/
#ifndef LUTILE_TILE_TMA_DESCRIPTOR_H
#define LUTILE_TILE_TMA_DESCRIPTOR_H

#include "tma.h"

/* Largest extent of a box. */
#define LTT_TMA_BOX_LIMIT 256

/*
** The descriptor's tuple (ltT_tma_part) for boxes of 'basis', shared by 'blocks' blocks; an error says
** which of the hardware's rules the tensor, the box or the swizzle breaks.
*/
const lt_value *ltT_make_tma_descriptor(lt_arena *arena, const ltT_tma_request *request,
                                        const lt_value *basis, int64_t blocks);

#endif
