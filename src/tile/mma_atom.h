/*
** MMA atoms: the instructions that multiply small matrices, as data.
*/
#ifndef LUTILE_TILE_MMA_ATOM_H
#define LUTILE_TILE_MMA_ATOM_H

#include "tensor.h"

#define LTT_ATOM_NAME 64

/* How an atom's products are formed and summed. */
typedef enum ltT_arithmetic {
  LT_FMA,       /* exact products, one sum, rounded once to the accumulator's type */
  LT_FMA_STEPS, /* one fused multiply-add after the other, each rounded */
  LT_WRAP,      /* integers modulo 2^32 */
  LT_SATURATE,  /* integers clamped to s32 */
  LT_XOR,       /* bits: population count of a ^ b, */
  LT_AND        /* or of a & b, added up */
} ltT_arithmetic;

/* How an operand's elements lie in their registers, where that is not one beside the other. */
typedef struct ltT_operand {
  lt_element element;   /* of the fragment, as CuTe has it */
  lt_element format;    /* of the numbers in it: as 'element', or narrower in a container */
  int shift;            /* of the number within its container, in bits */
  bool from_descriptor; /* read from shared memory by all threads of the atom */
} ltT_operand;

/* Block scales of the SM120 atoms. */
typedef struct ltT_scale {
  lt_element element; /* LT_ELEMENT_COUNT: the atom has none */
  int vector;         /* values of K under one scale */
} ltT_scale;

typedef struct ltT_mma_atom {
  char name[LTT_ATOM_NAME];
  int m, n, k;
  ltT_operand a, b, c, d;
  ltT_scale scale;
  ltT_arithmetic arithmetic;
} ltT_mma_atom;

/*
** Parts of an atom's value, a tuple: the M, N, K extents; logical thread -> thread of the warp
** (group); (thread, value) -> m + M*k, n + N*k, m + M*n; and of the scales, or '_'.
*/
typedef enum ltT_atom_part {
  LT_ATOM_SHAPE,
  LT_ATOM_THREADS,
  LT_ATOM_A,
  LT_ATOM_B,
  LT_ATOM_C,
  LT_ATOM_SCALE_A,
  LT_ATOM_SCALE_B,
  LT_ATOM_PARTS
} ltT_atom_part;

/*
** The atom of CuTe's name 'name' and its value, which is made in the arena. NULL with an error
** that names atoms alike where there is none.
*/
const lt_value *ltT_mma_atom_named(lt_arena *arena, const char *name, ltT_mma_atom *atom);

/* Name of the i-th atom of the tables, in 'name'; false beyond the last. */
bool ltT_mma_atom_at(size_t i, char name[LTT_ATOM_NAME]);

#endif
