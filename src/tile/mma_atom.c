/*
** MMA atoms by name: the members of the table's families, and CuTe's UniversalFMA.
*/
#include "mma_atom.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "mma_table.h"

#define WORD 24
#define LARGEST_N 256

/* ---- Members of a family -------------------------------------------------------------------- */

/* One choice for each field of a family. */
typedef struct member {
  const ltT_mma_family *family;
  char d[WORD], a[WORD], b[WORD], suffix[WORD];
  int n;
} member;

static size_t count_words(const char *list) {
  size_t count = 1;
  for (; *list != '\0'; list++) count += *list == ' ';
  return count;
}

static void get_word(const char *list, size_t i, char word[WORD]) {
  while (i > 0)
    if (*list++ == ' ') i--;
  snprintf(word, WORD, "%.*s", (int)strcspn(list, " "), list);
}

static bool has_free_n(const ltT_mma_family *f) { return f->n == 0; }

static size_t count_members(const ltT_mma_family *f) {
  return count_words(f->d) * count_words(f->a) * count_words(f->b) * count_words(f->suffixes) *
         (has_free_n(f) ? LARGEST_N / 8 : 1);
}

/* Takes the choice for one field off the member's number. */
static void choose(const char *list, size_t *i, char word[WORD]) {
  size_t count = count_words(list);
  get_word(list, *i % count, word);
  *i /= count;
}

static member get_member(const ltT_mma_family *f, size_t i) {
  member m = {.family = f, .n = f->n};
  choose(f->d, &i, m.d);
  choose(f->a, &i, m.a);
  choose(f->b, &i, m.b);
  choose(f->suffixes, &i, m.suffix);
  if (has_free_n(f)) m.n = 8 * (int)(i + 1);
  return m;
}

/* wgmma takes every multiple of 8; for integers of 8 bits, beyond 32, multiples of 16. */
static bool exists(const member *m) {
  bool is_integer = m->a[0] == 'S' || m->a[0] == 'U';
  return !has_free_n(m->family) || !is_integer || m->n <= 24 || m->n % 16 == 0;
}

static void write_name(const member *m, char name[LTT_ATOM_NAME]) {
  const ltT_mma_family *f = m->family;
  int before_n = (int)strcspn(f->prefix, "N");
  char text[8 * WORD] = "", number[WORD] = "";
  if (has_free_n(f)) snprintf(number, WORD, "%d", m->n);
  const char *after_n = f->prefix + before_n + (has_free_n(f) ? 1 : 0);
  bool typed = f->naming != LT_NO_TYPES;
  snprintf(text, sizeof text, "%.*s%s%s%s%s%s%s%s", before_n, f->prefix, number, after_n,
           typed ? m->d : "", typed ? m->a : "", typed ? m->b : "",
           f->naming == LT_FOUR_TYPES ? m->d : "", m->suffix);
  memcpy(name, text, LTT_ATOM_NAME - 1); /* the longest name has 46 bytes */
  name[LTT_ATOM_NAME - 1] = '\0';
}

/* The members to look at for a name that begins as the family's do: those of its N. */
static void range_of_n(const ltT_mma_family *f, const char *after_prefix, size_t *begin,
                       size_t *end) {
  *begin = 0;
  *end = count_members(f);
  if (!has_free_n(f)) return;
  size_t each = *end / (LARGEST_N / 8); /* members of one N */
  long n = strtol(after_prefix, NULL, 10);
  if (n < 8 || n > LARGEST_N || n % 8 != 0) {
    *end = 0;
    return;
  }
  *begin = each * (size_t)(n / 8 - 1);
  *end = *begin + each;
}

static bool find_member(const char *name, member *found) {
  char candidate[LTT_ATOM_NAME];
  for (const ltT_mma_family *f = ltT_mma_families; f->prefix[0] != '\0'; f++) {
    size_t length = strcspn(f->prefix, "N"), i, end;
    if (strncmp(name, f->prefix, length) != 0) continue;
    for (range_of_n(f, name + length, &i, &end); i < end; i++) {
      *found = get_member(f, i);
      write_name(found, candidate);
      if (exists(found) && strcmp(candidate, name) == 0) return true;
    }
  }
  return false;
}

bool ltT_mma_atom_at(size_t i, char name[LTT_ATOM_NAME]) {
  for (const ltT_mma_family *f = ltT_mma_families; f->prefix[0] != '\0'; f++) {
    for (size_t j = 0; j < count_members(f); j++) {
      member m = get_member(f, j);
      if (!exists(&m) || i-- > 0) continue;
      write_name(&m, name);
      return true;
    }
  }
  return false;
}

/* ---- From a member to an atom --------------------------------------------------------------- */

/* The type that a name writes as S8, TF32 or U1. */
static lt_element element_in_name(const char *word) {
  if (strcmp(word, "U1") == 0) return LT_B1;
  char name[WORD];
  size_t i = 0;
  for (; word[i] != '\0'; i++) name[i] = (char)tolower((unsigned char)word[i]);
  name[i] = '\0';
  return ltT_element_named(name);
}

static ltT_operand operand_of(const ltT_mma_family *f, const char *word) {
  lt_element format = element_in_name(word);
  if (f->container[0] == '\0') return (ltT_operand){format, format, 0, false};
  lt_element container = element_in_name(f->container);
  bool is_padded = format == LT_E2M1 && container == LT_U8;
  return (ltT_operand){container, format, is_padded ? 2 : 0, false};
}

static ltT_arithmetic arithmetic_of(const member *m) {
  lt_element a = element_in_name(m->a);
  if (a == LT_B1) return strstr(m->suffix, "XOR") != NULL ? LT_XOR : LT_AND;
  if (a == LT_F32 || a == LT_F64 || a == LT_C64) return LT_FMA_STEPS;
  if (ltT_type_of(a)->class == LT_FLOATING) return LT_FMA;
  return strstr(m->suffix, "SATURATE") != NULL ? LT_SATURATE : LT_WRAP;
}

static ltT_mma_atom atom_of(const member *m) {
  const ltT_mma_family *f = m->family;
  ltT_mma_atom atom = {.m = f->m, .n = m->n, .k = f->k};
  lt_element d = element_in_name(m->d);
  write_name(m, atom.name);
  atom.d = atom.c = (ltT_operand){d, d, 0, false};
  atom.a = operand_of(f, m->a);
  atom.b = operand_of(f, m->b);
  atom.a.from_descriptor = strncmp(m->suffix, "_SS", 3) == 0;
  atom.b.from_descriptor = has_free_n(f);
  atom.scale = (ltT_scale){f->scale[0] == '\0' ? LT_ELEMENT_COUNT : element_in_name(f->scale),
                           f->scale_vector};
  atom.arithmetic = arithmetic_of(m);
  return atom;
}

/* A layout of the table with its letters replaced. */
static const lt_value *expand(lt_arena *arena, const ltT_mma_atom *atom, const char *text) {
  char written[128];
  size_t used = 0;
  for (; *text != '\0'; text++) {
    int number = *text == 'M'   ? atom->m
                 : *text == 'N' ? atom->n
                 : *text == 'K' ? atom->k
                 : *text == 'n' ? atom->n / 8
                                : 0;
    if (number == 0)
      used += (size_t)snprintf(written + used, sizeof written - used, "%c", *text);
    else
      used += (size_t)snprintf(written + used, sizeof written - used, "%d", number);
  }
  return lt_parse(arena, written);
}

static const lt_value *extents(lt_arena *arena, const ltT_mma_atom *atom) {
  const lt_value *mnk[] = {lt_integer(arena, atom->m), lt_integer(arena, atom->n),
                           lt_integer(arena, atom->k)};
  return ltA_failed(arena) ? NULL : lt_tuple(arena, mnk, 3);
}

static const lt_value *value_of(lt_arena *arena, const ltT_mma_atom *atom,
                                const ltT_mma_family *f) {
  /* Scales by CuTe's block-scaled traits: a row's scale in each value's place. */
  bool has_scale = f->scale[0] != '\0';
  const char *shared_a = "(128,(M,K)):(0,(1,M))";
  const lt_value *parts[LT_ATOM_PARTS] = {
      extents(arena, atom),
      expand(arena, atom, f->threads),
      expand(arena, atom, atom->a.from_descriptor ? shared_a : f->a_layout),
      expand(arena, atom, f->b_layout),
      expand(arena, atom, f->c_layout),
      expand(arena, atom, has_scale ? "((2,2,8),K):((8,0,1),M)" : "_"),
      expand(arena, atom, has_scale ? "((4,8),K):((0,1),N)" : "_"),
  };
  return ltA_failed(arena) ? NULL : lt_tuple(arena, parts, LT_ATOM_PARTS);
}

/* ---- UniversalFMA --------------------------------------------------------------------------- */

/* Reads "UniversalFMA<D,A,B,C>", where A defaults to D, B to A and C to D. */
static bool read_universal(const char *name, lt_element types[4]) {
  const char *start = "UniversalFMA<";
  if (strncmp(name, start, strlen(start)) != 0) return false;
  const char *at = name + strlen(start);
  size_t n = 0;
  for (; n < 4 && *at != '\0'; n++) {
    char word[WORD];
    size_t length = strcspn(at, ",>");
    if (length == 0 || length >= WORD) return false;
    snprintf(word, WORD, "%.*s", (int)length, at);
    types[n] = ltT_element_named(word);
    if (types[n] == LT_ELEMENT_COUNT) return false;
    at += length;
    if (strcmp(at, ">") == 0) break;
    at += *at == ',';
    at += strspn(at, " ");
  }
  if (strcmp(at, ">") != 0) return false;
  static const size_t defaults[4] = {0, 0, 1, 0};
  for (size_t i = n + 1; i < 4; i++) types[i] = types[defaults[i]];
  return true;
}

static const lt_value *universal(lt_arena *arena, const char *name, const lt_element types[4],
                                 ltT_mma_atom *atom) {
  static const ltT_mma_family family = {.threads = "1:0",
                                        .a_layout = "(1,1):(0,0)",
                                        .b_layout = "(1,1):(0,0)",
                                        .c_layout = "(1,1):(0,0)"};
  *atom = (ltT_mma_atom){.m = 1, .n = 1, .k = 1, .scale = {LT_ELEMENT_COUNT, 0}};
  snprintf(atom->name, sizeof atom->name, "%s", name);
  ltT_operand *operands[4] = {&atom->d, &atom->a, &atom->b, &atom->c};
  for (int i = 0; i < 4; i++) *operands[i] = (ltT_operand){types[i], types[i], 0, false};
  ltT_class class = ltT_type_of(types[0])->class;
  bool is_integer = class == LT_SIGNED || class == LT_UNSIGNED;
  atom->arithmetic = is_integer ? LT_WRAP : LT_FMA_STEPS;
  return value_of(arena, atom, &family);
}

/* ---- Finding -------------------------------------------------------------------------------- */

static size_t common_prefix(const char *a, const char *b) {
  size_t n = 0;
  while (a[n] != '\0' && a[n] == b[n]) n++;
  return n;
}

/* Puts a member's name that begins longer like 'name' in the place of 'best'. */
static void find_nearer(const char *name, const ltT_mma_family *f, size_t *longest,
                        char best[LTT_ATOM_NAME]) {
  char candidate[LTT_ATOM_NAME];
  size_t fixed = strcspn(f->prefix, "N"), alike = common_prefix(name, f->prefix);
  if (alike < fixed && alike <= *longest) return;
  for (size_t i = 0; i < count_members(f); i++) {
    member m = get_member(f, i);
    write_name(&m, candidate);
    if (!exists(&m) || common_prefix(name, candidate) <= *longest) continue;
    *longest = common_prefix(name, candidate);
    memcpy(best, candidate, LTT_ATOM_NAME);
  }
}

/* Names the atom that begins most like what was asked for, by four characters at least. */
static void *fail_unknown(lt_arena *arena, const char *name) {
  char cut[LTT_ATOM_NAME], best[LTT_ATOM_NAME] = "";
  size_t longest = 3;
  for (const ltT_mma_family *f = ltT_mma_families; f->prefix[0] != '\0'; f++)
    find_nearer(name, f, &longest, best);
  snprintf(cut, sizeof cut, "%s", name);
  if (best[0] == '\0')
    return ltA_fail(arena, LT_INVALID,
                    "MMA_Atom: no atom '%s' (names are CuTe's, as SM80_16x8x16_F32F16F16F32_TN or "
                    "UniversalFMA<f32>)",
                    cut);
  return ltA_fail(arena, LT_INVALID, "MMA_Atom: no atom '%s'; the nearest name is %s", cut, best);
}

const lt_value *ltT_mma_atom_named(lt_arena *arena, const char *name, ltT_mma_atom *atom) {
  if (ltA_failed(arena)) return NULL;
  lt_element types[4];
  if (strlen(name) < LTT_ATOM_NAME && read_universal(name, types))
    return universal(arena, name, types, atom);
  member m;
  if (!find_member(name, &m)) return fail_unknown(arena, name);
  *atom = atom_of(&m);
  return value_of(arena, atom, m.family);
}
