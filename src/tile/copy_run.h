/*
** Executing a copy atom on the host, over the parts that its threads bring.
*/
#ifndef LUTILE_TILE_COPY_RUN_H
#define LUTILE_TILE_COPY_RUN_H

#include "copy_atom.h"

/* What one thread brings: source and target ((FrgV,FrgX),Rest...). */
typedef struct ltT_copy_parts {
  lt_tensor source, target;
  lt_tensor predicate; /* an element a vector, a rest coordinate or an element; */
  bool has_predicate;  /* where it is 0 nothing is copied, or zeros by atoms that fill them */
} ltT_copy_parts;

/*
** Copies all vectors of the parts, which the atom moves one after the other. 'threads' are the parts of
** the atom's threads, in their order. False with the error set, and '*culprit' the thread at
** fault: where an instruction could not do it (a vector that the layout scatters, an address that
** is not aligned, the wrong memory, threads that disagree), or an element is outside its buffer.
*/
bool ltT_run_copy(lt_arena *arena, const char *operation, const ltT_copy_atom *atom,
                  const lt_value *value, ltT_copy_parts *threads, size_t *culprit);

/* Moves the bits of one element to and from the low bits of 'bytes', which hold a whole one. */
void ltT_read_element(const lt_tensor *t, int64_t offset, uint8_t *bytes);
void ltT_write_element(const lt_tensor *t, int64_t offset, const uint8_t *bytes);

/* Threads of the atom. */
int64_t ltT_copy_threads(const lt_value *atom_value);

#endif
