/*
** A composition in progress: shared by the walk that follows CuTe's rule (composition_walk.c), by the
** proof and search behind it (composition_exact.c), and by the divides and products, which compose
** parts of their results.
*/
#ifndef LUTILE_ALGEBRA_COMPOSITION_H
#define LUTILE_ALGEBRA_COMPOSITION_H

#include "flat.h"

/*
** The left side, or one mode of it that a scaled basis on the right picks, as digits: index x has
** the digit (x / (n_0 * ... * n_k-1)) % n_k in mode k, and the last mode runs on.
*/
typedef struct ltA_digits {
  struct ltA_digits *next;
  const lt_value *basis; /* whose path picks it; NULL for the whole */
  ltA_modes modes;       /* coalesced, function kept past the size */
  bool is_plain;         /* static throughout, and no extent is 0 */
  int64_t last_extent;   /* of the last mode within the layout's own domain */
  uint64_t *used;        /* the most that the right side's leaves add up to in each digit */
  uint64_t initial_used[16];
} ltA_digits;

/* Why the rule's form is not known to be exact. */
typedef enum ltA_doubt {
  LTA_EXACT,
  LTA_STRIDE, /* a stride that neither divides nor is divided by the mode it starts in */
  LTA_SHAPE,  /* a shape that does not come out in whole modes */
  LTA_CARRY,  /* modes of the right side that together run past a mode of the left */
  LTA_SIGNS   /* strides of both signs */
} ltA_doubt;

typedef struct ltA_composition {
  lt_arena *arena;
  const char *operation; /* for messages */
  ltA_view a;            /* the left side; NULL where only its modes are given */
  ltA_digits *digits;
  ltA_digits whole;                /* the first of them */
  bool has_positive, has_negative; /* strides of the right side with more than one step */
  ltA_layout_builder *result;      /* where it is appended */
  ltA_place start;
  /* the first doubt: in which mode of which digits, and the numbers that failed */
  ltA_doubt doubt;
  const ltA_digits *doubt_digits;
  size_t doubt_mode;
  int64_t doubt_shape, doubt_stride;
} ltA_composition;

/* Starts a composition with 'a', a layout with or without a tree, on the left. */
void ltA_composition_begin(ltA_composition *c, ltA_layout_builder *result, const char *operation,
                           ltA_view a);
void ltA_composition_begin_modes(ltA_composition *c, ltA_layout_builder *result,
                                 const char *operation, const ltA_modes *a);

/* Appends the left side composed with a layout, or with its modes, to the result. */
void ltA_compose_tree(ltA_composition *c, const lt_value *shape, const lt_value *stride);
void ltA_compose_modes(ltA_composition *c, const ltA_modes *modes);

/*
** Whether all that was appended since the beginning is exact; if not, c->doubt says why, and one of
** the functions below decides.
*/
bool ltA_composition_is_exact(ltA_composition *c);

/*
** Settles a doubt about the composition with 'b': the rule's form stays where it proves exact after
** all; for static operands any other layout that is takes its place; else an error says what failed.
*/
void ltA_composition_settle(ltA_composition *c, ltA_view b);

/*
** Whether the rule's form, which rounds shapes up, holds the left side's elements once each beside
** coordinates that lie past the extents of its modes: in every digit the steps of the right side
** must fit together without gap or overlap. What a divide by a tiler that does not divide gives.
*/
bool ltA_composition_covers(ltA_composition *c, ltA_view b);

/*
** Whether the left side is a coordinate layout of dynamic extents whose coordinates the rule's form
** gives once each, some of them past the extents: there elem_less sorts them out at launch.
*/
bool ltA_composition_rounds(ltA_composition *c, ltA_view b);

/* ---- Between the files of the composition --------------------------------------------
 */

/* The digits that a leaf of the right side counts in, or NULL with the error set. */
ltA_digits *ltA_composition_digits(ltA_composition *c, const ltA_mode *leaf);

/* Notes the first doubt. */
void ltA_note_doubt(ltA_composition *c, ltA_doubt doubt, const ltA_digits *digits, size_t mode,
                    int64_t shape, int64_t stride);

/*
** The rule in plain numbers for the case that most leaves are: all static, a positive stride, and
** steps that come out in whole digits. False at anything else, where the walk below meets a doubt
** or an error; 'result' is then unfinished.
*/
bool ltA_walk_whole_digits(ltA_digits *digits, const ltA_mode *leaf, ltA_modes *result);

/* The modes that CuTe's rule gives for one leaf; what is doubtful about them is noted in 'c'. */
void ltA_composition_walk(ltA_composition *c, ltA_digits *digits, const ltA_mode *leaf,
                          ltA_modes *result);

/* Records what c->doubt says as the error. Returns NULL. */
void *ltA_composition_fail(ltA_composition *c, ltA_view b);

#endif
