/*
** Copy atoms from the table: names, widths, and layouts in elements.
*/
#include "copy_atom.h"

#include <stdio.h>
#include <stdlib.h>

#define LAYOUT_TEXT 96
#define MAX_WORD 1024 /* bits */

/* ---- Names ---------------------------------------------------------------------------------- */

static bool takes_type(const ltT_copy_family *f) { return f->name[strlen(f->name) - 1] == '<'; }

/* The full names of CuTe's shorter ones. */
static const char *resolve(const char *name) {
  if (strcmp(name, "DefaultCopy") == 0) return "AutoVectorizingCopyWithAssumedAlignment<8>";
  if (strcmp(name, "AutoVectorizingCopy") == 0)
    return "AutoVectorizingCopyWithAssumedAlignment<128>";
  return name;
}

/* Bits of "u128", of an element type, or of a number of bits; 0 if it is none of these. */
static int bits_of_word(const ltT_copy_family *f, const char *word) {
  bool is_auto = f->way == LT_COPY_AUTO;
  const char *digits = is_auto || word[0] != 'u' ? word : word + 1;
  bool is_number = *digits != '\0' && strspn(digits, "0123456789") == strlen(digits);
  if (is_number && (is_auto || digits != word)) {
    long bits = strtol(digits, NULL, 10);
    return bits <= MAX_WORD && (bits & (bits - 1)) == 0 ? (int)bits : 0;
  }
  lt_element element = is_auto ? LT_ELEMENT_COUNT : ltT_element_named(word);
  return element == LT_ELEMENT_COUNT ? 0 : ltT_type_of(element)->bits;
}

/* Whether 'bits' is among the family's, a list with spaces. */
static bool has_width(const ltT_copy_family *f, int bits) {
  if (f->widths == NULL) return bits > 0;
  for (const char *at = f->widths; *at != '\0';) {
    char *end;
    if (strtol(at, &end, 10) == bits) return true;
    at = end + strspn(end, " ");
  }
  return false;
}

/* Whether 'name' belongs to the family; 'word' is then the width it gives, 0 if the wrong one. */
static bool is_member(const ltT_copy_family *f, const char *name, int *word) {
  size_t length = strlen(f->name);
  *word = f->word;
  if (!takes_type(f)) return strcmp(name, f->name) == 0;
  size_t rest = strncmp(name, f->name, length) == 0 ? strlen(name + length) : 0;
  if (rest < 2 || name[length + rest - 1] != '>' || rest > 16) return false;
  char argument[16];
  snprintf(argument, sizeof argument, "%.*s", (int)rest - 1, name + length);
  *word = bits_of_word(f, argument);
  if (!has_width(f, *word)) *word = 0;
  return true;
}

static const ltT_copy_family *find_family(const char *name, int *word) {
  for (const ltT_copy_family *f = ltT_copy_families; f->name != NULL; f++)
    if (is_member(f, name, word)) return f;
  return NULL;
}

/* The i-th number of a list, 0 beyond the last. */
static int width_at(const char *widths, size_t i) {
  char *end;
  long bits = strtol(widths, &end, 10);
  for (; i > 0 && end != widths; i--) {
    widths = end;
    bits = strtol(widths, &end, 10);
  }
  return end == widths ? 0 : (int)bits;
}

/* Members of a family, as ltT_copy_atom_at counts them. */
static size_t count_members(const ltT_copy_family *f, const char **widths) {
  *widths = f->widths == NULL ? "8 16 32 64 128" : f->widths;
  size_t count = 0;
  while (takes_type(f) && width_at(*widths, count) != 0) count++;
  return takes_type(f) ? count : 1;
}

bool ltT_copy_atom_at(size_t i, char name[LTT_COPY_NAME]) {
  for (const ltT_copy_family *f = ltT_copy_families; f->name != NULL; f++) {
    const char *widths;
    size_t count = count_members(f, &widths);
    if (i >= count) {
      i -= count;
      continue;
    }
    const char *letter = f->way == LT_COPY_AUTO ? "" : "u";
    if (takes_type(f))
      snprintf(name, LTT_COPY_NAME, "%s%s%d>", f->name, letter, width_at(widths, i));
    else
      snprintf(name, LTT_COPY_NAME, "%s", f->name);
    return true;
  }
  return false;
}

/* ---- Errors --------------------------------------------------------------------------------- */

static size_t common_prefix(const char *a, const char *b) {
  size_t n = 0;
  while (a[n] != '\0' && a[n] == b[n]) n++;
  return n;
}

/* Names the operation that begins most like what was asked for. */
static void *fail_unknown(lt_arena *arena, const char *name) {
  char candidate[LTT_COPY_NAME], best[LTT_COPY_NAME] = "UniversalCopy<u128>", cut[LTT_COPY_NAME];
  size_t longest = 0;
  for (size_t i = 0; ltT_copy_atom_at(i, candidate); i++) {
    if (common_prefix(name, candidate) <= longest) continue;
    longest = common_prefix(name, candidate);
    memcpy(best, candidate, sizeof best);
  }
  snprintf(cut, sizeof cut, "%s", name);
  if (strstr(name, "_TMA_") != NULL)
    return ltA_fail(arena, LT_INVALID,
                    "Copy_Atom: %s needs a tensor and its tile: make_tma_copy makes it", cut);
  return ltA_fail(arena, LT_INVALID, "Copy_Atom: no operation '%s'; the nearest name is %s", cut,
                  best);
}

static void *fail_width(lt_arena *arena, const ltT_copy_family *f, const char *name) {
  char cut[LTT_COPY_NAME];
  snprintf(cut, sizeof cut, "%s", name);
  const char *widths = f->widths == NULL ? "a power of two, or those of a type" : f->widths;
  return ltA_fail(arena, LT_INVALID, "Copy_Atom: the bits that %s can move at once are %s", cut,
                  widths);
}

/* Elements wider than the pieces that the operation deals out to the threads. */
static void *fail_type(lt_arena *arena, const ltT_copy_atom *atom, const lt_value *bits) {
  const ltT_type *type = ltT_type_of(atom->element);
  return ltA_fail(arena, LT_INVALID,
                  "Copy_Atom: %s cannot move %s: it deals bits out as %v, which splits elements of "
                  "%d bits among threads",
                  atom->name, type->name, bits, type->bits);
}

/* ---- The value ------------------------------------------------------------------------------ */

/* A layout of the table with W replaced. */
static const lt_value *expand(lt_arena *arena, const char *text, int word) {
  char written[LAYOUT_TEXT];
  const char *at = strchr(text, 'W');
  if (at == NULL) return lt_parse(arena, text);
  snprintf(written, sizeof written, "%.*s%d%s", (int)(at - text), text, word, at + 1);
  return lt_parse(arena, written);
}

static int64_t thread_count(lt_arena *arena, const lt_value *layout) {
  return ltA_product(arena, ltA_element(ltA_shape(layout), 0)).value;
}

/* The layout 'bits' in elements: all threads must keep whole ones. */
static const lt_value *in_elements(lt_arena *arena, const ltT_copy_atom *atom,
                                   const lt_value *bits) {
  if (ltA_failed(arena)) return NULL;
  if (atom->element == LT_ELEMENT_COUNT) return lt_wildcard(arena);
  const lt_value *elements = lt_recast(arena, bits, 1, ltT_type_of(atom->element)->bits);
  if (elements != NULL && thread_count(arena, elements) == thread_count(arena, bits))
    return elements;
  if (arena->error->status == LT_INVALID) arena->error->status = LT_OK; /* the type says more */
  return fail_type(arena, atom, bits);
}

static const lt_value *value_of(lt_arena *arena, const ltT_copy_atom *atom) {
  const ltT_copy_family *f = atom->family;
  const lt_value *source = expand(arena, f->source, atom->word);
  const lt_value *target = expand(arena, f->target, atom->word);
  if (ltA_failed(arena)) return NULL;
  const lt_value *reference = f->refers_to_target ? target : source;
  const lt_value *threads = lt_integer(arena, thread_count(arena, source));
  if (threads != NULL) threads = lt_make_layout(arena, threads, NULL);
  const lt_value *parts[LT_COPY_PARTS] = {threads,
                                          source,
                                          target,
                                          reference,
                                          in_elements(arena, atom, source),
                                          in_elements(arena, atom, target),
                                          in_elements(arena, atom, reference)};
  return ltA_failed(arena) ? NULL : lt_tuple(arena, parts, LT_COPY_PARTS);
}

const lt_value *ltT_copy_atom_named(lt_arena *arena, const char *name, lt_element element,
                                    ltT_copy_atom *atom) {
  if (ltA_failed(arena)) return NULL;
  int word;
  name = resolve(name);
  const ltT_copy_family *f = find_family(name, &word);
  if (f == NULL) return fail_unknown(arena, name);
  if (word == 0) return fail_width(arena, f, name);
  *atom = (ltT_copy_atom){.family = f, .element = element, .word = word};
  snprintf(atom->name, sizeof atom->name, "%s", name);
  return value_of(arena, atom);
}
