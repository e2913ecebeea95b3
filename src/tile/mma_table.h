/*
** The table of MMA atoms: one row for each family whose members differ in types alone.
*/
#ifndef LUTILE_TILE_MMA_TABLE_H
#define LUTILE_TILE_MMA_TABLE_H

typedef enum ltT_naming { LT_FOUR_TYPES, LT_THREE_TYPES, LT_NO_TYPES } ltT_naming;

/*
** A name is prefix, types, suffix. The types are D A B C, where C is D again, or D A B,
** or left out. Where several stand in a field, separated by spaces, each choice is a member.
*Layouts are
** written in lutile's form, with M, N and K for the extents and 'n' for N/8.
*/
typedef struct ltT_mma_family {
  const char *prefix; /* 'N' in it: an extent that the name gives */
  const char *d, *a, *b;
  const char *suffixes;
  int m, n, k; /* n 0: the name gives it */
  const char *threads, *a_layout, *b_layout, *c_layout;
  const char *container; /* element type of A and B registers; NULL: the name's own */
  int scale_vector;      /* values of K that share a scale, or 0 */
  const char *scale;     /* element type of the scales */
  ltT_naming naming;
} ltT_mma_family;

/* Ends with a row whose prefix is NULL. */
extern const ltT_mma_family ltT_mma_families[];

#endif
