/*
** Text into values: a recursive-descent parser of lutile's form and of CuTe C++'s.
**
**   chain    = item | offset 'o' item | A 'o' offset 'o' B | offset 'o' A 'o' offset 'o' B
**   item     = term [ ':' term ]
**   term     = '_' | leaf | tuple | swizzle | 'smem[' number 'b]' | 'LayoutLeft' | 'LayoutRight'
**   tuple    = '(' [ chain { ',' chain } ] ')'
**   leaf     = integer { '@' number }
**   integer  = '_' number | number | '?' number [ '{' number '}' ]      '?' in lutile's form only
**   swizzle  = ( 'Sw' | 'S' ) '<' number ',' number ',' number '>'
**
** A plain number is static in lutile's form and dynamic in CuTe's. White space may stand between
** tokens, not after '_' or '?' or within words.
*/
#include <stdio.h>

#include "value.h"

/* 'offset o A o offset o B' is the longest chain. */
#define MAX_CHAIN 4

#define END_OF_TEXT (-1)

typedef struct reader {
  const char *text;
  const char *at;
  const char *end;
  bool cute;
  int depth; /* open parentheses */
  ltA_builder values;
} reader;

/* ---- Characters ----------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

/* The byte 'ahead' of the place, white space not skipped. */
static int look(const reader *r, ptrdiff_t ahead) {
  return ahead < r->end - r->at ? (unsigned char)r->at[ahead] : END_OF_TEXT;
}

static void skip_space(reader *r) {
  while (r->at < r->end && is_space(*r->at)) r->at++;
}

static int peek(reader *r) {
  skip_space(r);
  return look(r, 0);
}

static bool accept(reader *r, char c) {
  if (peek(r) != c) return false;
  r->at++;
  return true;
}

static bool accept_word(reader *r, const char *word) {
  size_t length = strlen(word);
  skip_space(r);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
  r->at += length;
  return true;
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

static size_t column(const reader *r) { return (size_t)(r->at - r->text) + 1; }

/* Records what was wanted here and what stands here instead. Returns false. */
static bool fail_expecting(reader *r, const char *wanted) {
  char found[24] = "the end";
  int c = peek(r);
  if (c >= ' ' && c <= '~')
    snprintf(found, sizeof found, "'%c'", c);
  else if (c != END_OF_TEXT)
    snprintf(found, sizeof found, "byte 0x%02x", (unsigned)c);
  ltA_fail(r->values.arena, LT_INVALID, "parse: column %z: expected %s, got %s", column(r), wanted,
           (const char *)found);
  return false;
}

static bool expect(reader *r, const char *token) {
  if (accept_word(r, token)) return true;
  char wanted[16];
  snprintf(wanted, sizeof wanted, "'%s'", token);
  return fail_expecting(r, wanted);
}

/* ---- Leaves --------------------------------------------------------------------------------- */

static bool read_number(reader *r, int64_t *number) {
  skip_space(r);
  bool negative = look(r, 0) == '-';
  if (!is_digit(look(r, negative))) return fail_expecting(r, "a number");
  const char *at = r->at + negative;
  int64_t value = 0; /* negative all the way, for INT64_MIN */
  for (; at < r->end && is_digit(*at); at++) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_sub_overflow(value, *at - '0', &value)) {
      ltA_fail(r->values.arena, LT_OVERFLOW, "parse: column %z: number beyond 64 bits", column(r));
      return false;
    }
  }
  if (!negative && value == INT64_MIN) {
    ltA_fail(r->values.arena, LT_OVERFLOW, "parse: column %z: number beyond 64 bits", column(r));
    return false;
  }
  r->at = at;
  *number = negative ? value : -value;
  return true;
}

/* What follows '?': a number and perhaps a promise. */
static bool read_dynamic(reader *r, lt_int *x) {
  x->promise = 1;
  if (!read_number(r, &x->value)) return false;
  if (!accept(r, '{')) return true;
  if (!read_number(r, &x->promise) || !expect(r, "}")) return false;
  return lt_dynamic(r->values.arena, x->value, x->promise) != NULL;
}

static bool read_integer(reader *r, lt_int *x) {
  if (!r->cute && accept(r, '?')) return read_dynamic(r, x);
  x->promise = accept(r, '_') || !r->cute ? 0 : 1;
  return read_number(r, &x->value);
}

static bool append_made(reader *r, const lt_value *v) {
  if (v == NULL) return false;
  ltA_append(&r->values, v);
  return !ltA_failed(r->values.arena);
}

/* The modes of a basis come innermost first, and are kept outermost first. */
static bool read_basis(reader *r, lt_int coefficient) {
  int64_t path[LT_MAX_DEPTH];
  size_t n = 0;
  while (accept(r, '@')) {
    if (n == LT_MAX_DEPTH) {
      ltA_fail(r->values.arena, LT_LIMIT, "parse: column %z: a path longer than %d modes",
               column(r), LT_MAX_DEPTH);
      return false;
    }
    n++;
    if (!read_number(r, &path[LT_MAX_DEPTH - n])) return false;
  }
  lt_value leaf = {coefficient.value, coefficient.promise, 1, LT_INTEGER};
  return append_made(r, lt_basis(r->values.arena, &leaf, path + LT_MAX_DEPTH - n, n));
}

static bool read_leaf(reader *r) {
  lt_int x;
  if (!read_integer(r, &x)) return false;
  if (peek(r) == '@') return read_basis(r, x);
  ltA_append_int(&r->values, x);
  return !ltA_failed(r->values.arena);
}

static bool read_underscore(reader *r) {
  int next = look(r, 1);
  if (is_digit(next) || next == '-') return read_leaf(r);
  r->at++;
  lt_value *v = ltA_append_nodes(&r->values, 1);
  if (v == NULL) return false;
  *v = (lt_value){0, 0, 1, LT_WILDCARD};
  return true;
}

static bool read_swizzle(reader *r) {
  int64_t b, m, s;
  if (!accept_word(r, "Sw<") && !expect(r, "S<")) return false;
  if (!read_number(r, &b) || !expect(r, ",")) return false;
  if (!read_number(r, &m) || !expect(r, ",")) return false;
  if (!read_number(r, &s) || !expect(r, ">")) return false;
  return append_made(r, lt_swizzle(r->values.arena, b, m, s));
}

static bool read_smem(reader *r) {
  int64_t bits;
  if (!expect(r, "smem[") || !read_number(r, &bits) || !expect(r, "b]")) return false;
  return append_made(r, lt_smem(r->values.arena, bits));
}

static bool read_major(reader *r) {
  lt_arena *arena = r->values.arena;
  if (accept_word(r, "LayoutLeft")) return append_made(r, lt_layout_left(arena));
  if (accept_word(r, "LayoutRight")) return append_made(r, lt_layout_right(arena));
  return fail_expecting(r, "LayoutLeft or LayoutRight");
}

/* ---- Values of parts ------------------------------------------------------------------------ */

static bool read_chain(reader *r);

static bool read_elements(reader *r, size_t *rank) {
  *rank = 0;
  if (accept(r, ')')) return true;
  do {
    if (!read_chain(r)) return false;
    ++*rank;
  } while (accept(r, ','));
  return accept(r, ')') || fail_expecting(r, "',' or ')'");
}

static bool read_tuple(reader *r) {
  if (r->depth == LT_MAX_DEPTH) {
    ltA_fail(r->values.arena, LT_LIMIT, "parse: column %z: nested deeper than %d levels", column(r),
             LT_MAX_DEPTH);
    return false;
  }
  r->depth++;
  r->at++;
  size_t rank;
  size_t open = ltA_open(&r->values, LT_TUPLE);
  if (ltA_failed(r->values.arena) || !read_elements(r, &rank)) return false;
  ltA_close(&r->values, open, rank);
  r->depth--;
  return true;
}

static bool read_term(reader *r) {
  int c = peek(r);
  if (c == '(') return read_tuple(r);
  if (c == '_') return read_underscore(r);
  if (c == 'S') return read_swizzle(r);
  if (c == 's') return read_smem(r);
  if (c == 'L') return read_major(r);
  if (is_digit(c) || c == '-' || (c == '?' && !r->cute)) return read_leaf(r);
  return fail_expecting(r, "a number, '_', '(', a swizzle or a layout");
}

/* Makes one value of 'kind' of all values from 'start' on. Returns it, or NULL. */
static const lt_value *enclose(reader *r, size_t start, lt_kind kind) {
  ltA_builder *b = &r->values;
  if (ltA_append_nodes(b, 1) == NULL) return NULL;
  lt_value *at = b->nodes + start;
  memmove(at + 1, at, (b->count - start - 1) * sizeof *at);
  *at = (lt_value){0, 0, (uint32_t)(b->count - start), kind};
  return at;
}

static bool read_item(reader *r) {
  size_t start = r->values.count;
  if (!read_term(r)) return false;
  if (!accept(r, ':')) return true;
  if (!read_term(r)) return false;
  const lt_value *layout = enclose(r, start, LT_LAYOUT);
  return layout != NULL &&
         ltA_check_layout(r->values.arena, "parse", ltA_shape(layout), ltA_stride(layout));
}

static bool enclose_composed(reader *r, size_t start) {
  const lt_value *v = enclose(r, start, LT_COMPOSED);
  return v != NULL && ltA_check_composed(r->values.arena, "parse", ltA_layout_a(v), ltA_offset(v),
                                         ltA_layout_b(v));
}

static bool enclose_tensor(reader *r, size_t start) {
  const lt_value *v = enclose(r, start, LT_TENSOR);
  return v != NULL && ltA_check_tensor(r->values.arena, "parse", v + 1, ltA_next(v + 1));
}

static bool read_chain(reader *r) {
  size_t starts[MAX_CHAIN];
  size_t n = 0;
  do {
    if (n == MAX_CHAIN) return fail_expecting(r, "at most 'offset o A o offset o B'");
    starts[n++] = r->values.count;
    if (!read_item(r)) return false;
  } while (accept(r, 'o'));
  if (n >= 3 && !enclose_composed(r, starts[n - 3])) return false;
  return n % 2 == 1 || enclose_tensor(r, starts[0]);
}

static bool read_text(reader *r) {
  if (!read_chain(r)) return false;
  return peek(r) == END_OF_TEXT || fail_expecting(r, "the end");
}

static const lt_value *parse(lt_arena *arena, const char *text, size_t length, bool cute) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  reader r = {.text = text, .at = text, .end = text + length, .cute = cute};
  ltA_begin(&r.values, arena);
  if (!read_text(&r)) return NULL;
  return ltA_keep(arena, mark, ltA_finish(&r.values));
}

const lt_value *lt_parse(lt_arena *arena, const char *text) {
  return parse(arena, text, strlen(text), false);
}

const lt_value *lt_parse_bytes(lt_arena *arena, const char *text, size_t length) {
  return parse(arena, text, length, false);
}

const lt_value *lt_from_cute(lt_arena *arena, const char *text, size_t length) {
  return parse(arena, text, length, true);
}
