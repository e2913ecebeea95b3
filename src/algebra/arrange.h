/*
** How the modes of a divide or a product are arranged: tiles first, rests after.
*/
#ifndef LUTILE_ALGEBRA_ARRANGE_H
#define LUTILE_ALGEBRA_ARRANGE_H

#include "value.h"

typedef enum ltA_arrangement {
  LTA_ZIPPED, /* ((tiles), (rests)) */
  LTA_TILED,  /* ((tiles), rest, rest, ...) */
  LTA_FLAT    /* (tile, tile, ..., rest, rest, ...) */
} ltA_arrangement;

/* 'layout', whose modes are (tile, rest) pairs at the leaves of 'tiler', arranged. */
const lt_value *ltA_arrange(lt_arena *arena, const char *operation, const lt_value *layout,
                            const lt_value *tiler, ltA_arrangement arrangement);

#endif
