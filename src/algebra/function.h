/*
** Layouts, composed layouts and tensors as functions of a linear index, in one normal form: what
** questions about all offsets at once are asked of. Flags do not matter here, values do.
*/
#ifndef LUTILE_ALGEBRA_FUNCTION_H
#define LUTILE_ALGEBRA_FUNCTION_H

#include "composed.h"
#include "flat.h"

/*
** i -> shift + outer(swizzle(start + modes(i))) for 0 <= i < size.
**
** The modes are coalesced by value: no extent of 1, and no mode that continues the one before it.
** So they are the function: the first stride is f(1), the first extent is how long f(x) == x * f(1)
** lasts, and the same holds for what is left. Two layouts are equal as functions exactly when
** these modes are equal.
*/
typedef struct ltA_function {
  const lt_value *value; /* what it was made of */
  int64_t size;
  ltA_modes modes;
  int64_t start;
  ltA_swizzle swizzle; /* of no bits where there is none; then 'start' is 0, or 'outer' is there */
  const lt_value *outer; /* NULL where there is none */
  int64_t shift;
  int64_t lowest, highest; /* of start + modes(i) */
  bool is_general;         /* bases in strides or tuples in offsets: lt_apply alone evaluates it */
} ltA_function;

/* False, with an error that names 'operation', where 'value' is no layout. */
bool ltA_function_of(lt_arena *arena, const char *operation, const lt_value *value,
                     ltA_function *f);

/* i -> shift + modes(i), with integer strides. */
static inline bool ltA_is_plain_function(const ltA_function *f) {
  return !f->is_general && f->outer == NULL && f->swizzle.bits == 0;
}

/* The same modes: equal as functions, but for what is done to them afterwards. */
bool ltA_same_modes(const ltA_modes *a, const ltA_modes *b);

/* By the size of the stride, the smallest first. */
void ltA_sort_modes(ltA_modes *modes);

/* highest - lowest of start + modes(i); false beyond 64 bits. */
bool ltA_function_span(const ltA_function *f, int64_t *span);

/* What the modes say, before anything is evaluated. */
typedef enum ltA_answer { LTA_NO, LTA_YES, LTA_UNKNOWN } ltA_answer;

/* Whether no two indices have the same start + modes(i); bases may be among the strides. */
ltA_answer ltA_are_modes_injective(lt_arena *arena, const ltA_function *f);

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* The offset of an index below the size; an error where it is no integer. */
bool ltA_function_at(lt_arena *arena, const char *operation, const ltA_function *f, int64_t index,
                     int64_t *offset);

/*
** All offsets in ascending order, equal ones side by side: an array in the arena. NULL with an error
** where there are more than LT_MAX_EVALUATION.
*/
int64_t *ltA_sorted_offsets(lt_arena *arena, const char *operation, const ltA_function *f);

/* Drops all but one of equal neighbours; returns how many are left. */
size_t ltA_drop_repeats(int64_t *offsets, size_t count);

/* Records that a question is not decided. Returns NULL. */
void *ltA_undecided(lt_arena *arena, const char *operation, const ltA_function *f);

#endif
