/*
** Copy atoms: the instructions that move bits between threads and memory, as data.
*/
#ifndef LUTILE_TILE_COPY_ATOM_H
#define LUTILE_TILE_COPY_ATOM_H

#include "copy_table.h"
#include "tensor.h"

#define LTT_COPY_NAME 64

typedef struct ltT_copy_atom {
  char name[LTT_COPY_NAME];
  const ltT_copy_family *family;
  lt_element element; /* LT_ELEMENT_COUNT: the operation alone, in bits */
  int word;           /* bits that a thread reads or writes at once */
} ltT_copy_atom;

/*
** Parts of an atom's value, a tuple: logical thread -> thread of the warp; (thread, bit) -> bit of
** what is moved, for the source, the target, and the reference that joins them; and the same in
** elements, '_' for the operation alone.
*/
typedef enum ltT_copy_part {
  LT_COPY_THREADS,
  LT_COPY_SOURCE_BITS,
  LT_COPY_TARGET_BITS,
  LT_COPY_REFERENCE_BITS,
  LT_COPY_SOURCE,
  LT_COPY_TARGET,
  LT_COPY_REFERENCE,
  LT_COPY_PARTS
} ltT_copy_part;

/*
** The operation of CuTe's name 'name' over 'element' and its value, which is made in the arena.
** NULL with an error where there is none of that name, or none for that type.
*/
const lt_value *ltT_copy_atom_named(lt_arena *arena, const char *name, lt_element element,
                                    ltT_copy_atom *atom);

/* Name of the i-th operation of the table, in 'name'; false beyond the last. */
bool ltT_copy_atom_at(size_t i, char name[LTT_COPY_NAME]);

#endif
