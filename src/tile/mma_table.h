/*
** The table of MMA atoms: one row for each family whose members differ in types alone.
*/
#ifndef LUTILE_TILE_MMA_TABLE_H
#define LUTILE_TILE_MMA_TABLE_H

typedef enum ltT_naming { LT_FOUR_TYPES, LT_THREE_TYPES, LT_NO_TYPES } ltT_naming;

/*
** A name is prefix, types, suffix. The types are D A B C, where C is D again, or D A B,
** or left out. Where several stand in a field, separated by spaces, each choice is a member.
** Layouts are written in lutile's form, with M, N and K for the extents and 'n' for N/8. Short text
** stands in the row: a pointer would need a relocation, and take more than the text.
*/
typedef struct ltT_mma_family {
  char prefix[16]; /* 'N' in it: an extent that the name gives */
  char d[8], a[25], b[25];
  const char *suffixes;
  short m, n, k; /* n 0: the name gives it */
  char threads[13];
  const char *a_layout, *b_layout, *c_layout;
  char container[3];  /* element type of A and B registers; "": the name's own */
  char scale[6];      /* element type of the scales, or "" */
  short scale_vector; /* values of K that share a scale, or 0 */
  ltT_naming naming;
} ltT_mma_family;

/* Ends with a row whose prefix is "". */
extern const ltT_mma_family ltT_mma_families[];

#endif
