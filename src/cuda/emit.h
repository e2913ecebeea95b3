/*
** What the files that write layouts as CUDA C++ share: where text goes, and the functions of modes.
*/
#ifndef LUTILE_CUDA_EMIT_H
#define LUTILE_CUDA_EMIT_H

#include "algebra/value.h"
#include "lutile_cuda.h"

typedef struct ltD_emitter {
  lt_arena *arena;
  const lt_cuda_writer *out;
  const lt_value *root;   /* the emitted form */
  const lt_value *domain; /* the plain layout that takes the coordinates */
  const char *before;     /* what starts a function: static where all is */
  const char *after;      /* what ends its head */
} ltD_emitter;

/* ---- Text (emit_modes.c) --------------------------------------------------------------------- */

void ltD_say(ltD_emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ltD_say_number(ltD_emitter *e, int64_t x);
/* An integer, or the coefficient of a basis. */
void ltD_say_leaf(ltD_emitter *e, const lt_value *leaf);

/* ---- Paths of modes -------------------------------------------------------------------------- */

typedef struct ltD_path {
  int depth;
  int mode[LT_MAX_DEPTH + 1];
} ltD_path;

ltD_path ltD_step(ltD_path p, int mode);

/* ---- The sum of modes ------------------------------------------------------------------------ */

/*
** A component is the integer function that a layout's strides along one path of its codomain make:
** the layout itself where its strides are integers ('basis' NULL), else the part that the strides
** with the path of 'basis' have.
*/
typedef struct ltD_component {
  const char *name; /* of its functions */
  const lt_value *basis;
} ltD_component;

/* Both functions of the mode at 'p', after those of its own modes. */
void ltD_say_component(ltD_emitter *e, const ltD_component *c, const ltD_path *p,
                       const lt_value *shape, const lt_value *stride);

#endif
