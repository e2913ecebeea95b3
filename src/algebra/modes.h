/*
** Rearranging the modes of a value: the same edit of a tuple, or of the shape and the stride of a
** layout.
*/
#ifndef LUTILE_ALGEBRA_MODES_H
#define LUTILE_ALGEBRA_MODES_H

#include "value.h"

/* What is done to a tree of modes. An integer is a tree of one mode. */
typedef struct ltA_edit {
  const char *operation;
  void (*rearrange)(ltA_builder *out, const lt_value *tree, const struct ltA_edit *edit);
  int64_t begin;
  int64_t end;
  const int64_t *modes;
  const lt_value *profile; /* a nesting to take on */
  const lt_value *y; /* a mode to put in; where a layout's trees are edited, its shape or stride */
} ltA_edit;

/*
** The edited 'x': a tuple, a layout, a composed layout or tensor with its layout edited. 'y' must
** be a layout where 'x' has one.
*/
const lt_value *ltA_edit_modes(lt_arena *arena, const lt_value *x, const ltA_edit *edit);

#endif
