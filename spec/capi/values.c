/*
** Values, arenas and errors of the C API.
*/
#include "test.h"

#define TEXT_SIZE 256

static const char *text_of(const lt_value *v, char *buffer) {
  if (v == NULL) return "NULL";
  lt_to_string(v, buffer, TEXT_SIZE);
  return buffer;
}

static void test_making(test *t, lt_arena *arena) {
  char buffer[TEXT_SIZE];
  const lt_value *four = lt_integer(arena, 4), *n = lt_dynamic(arena, 4096, 8);
  const lt_value *pair = lt_tuple(arena, (const lt_value *[]){four, n}, 2);
  check_text(t, "a tuple", text_of(pair, buffer), "(4,?4096{8})");
  check_text(t, "an empty tuple", text_of(lt_tuple(arena, NULL, 0), buffer), "()");
  check_text(t, "a basis", text_of(lt_basis(arena, four, (const int64_t[]){0, 1}, 2), buffer),
             "4@1@0");
  check_text(t, "the wildcard", text_of(lt_wildcard(arena), buffer), "_");
  check_text(t, "a swizzle", text_of(lt_swizzle(arena, 3, 4, 3), buffer), "Sw<3,4,3>");
  const lt_value *layout = lt_make_layout(arena, pair, lt_layout_right(arena));
  check_text(t, "a compact layout", text_of(layout, buffer), "(4,?4096{8}):(?4096{8},1)");
}

static void test_parts(test *t, lt_arena *arena) {
  char buffer[TEXT_SIZE];
  const lt_value *h = lt_parse(arena, "(2,(2,3)):(3,(6,1))");
  check(t, lt_kind_of(h) == LT_LAYOUT && lt_is_layout(h), "the kind of a layout");
  check_text(t, "the name of its kind", lt_kind_name(lt_kind_of(h)), "layout");
  check(t, lt_rank(h) == 2 && lt_depth(h) == 2, "rank and depth of a layout");
  check_text(t, "its shape", text_of(lt_shape(h), buffer), "(2,(2,3))");
  check_text(t, "its stride", text_of(lt_stride(h), buffer), "(3,(6,1))");
  check(t, lt_part(h, 0) == lt_shape(h) && lt_part(h, 2) == NULL, "parts of a layout");
  check(t, lt_part(lt_shape(h), 2) == NULL, "parts beyond the last of a tuple");
  check(t, lt_stride(lt_shape(h)) == NULL, "a tuple has no stride");
  check(t, lt_is_static(h), "static leaves");
  check(t, !lt_is_static(lt_parse(arena, "(?2,3):(3,1)")), "a dynamic leaf");
  const lt_value *n = lt_parse(arena, "?4096{8}");
  check(t, lt_integer_value(n) == 4096 && lt_integer_promise(n) == 8, "a dynamic integer");
}

/* A value holds no pointers: its bytes are the value, wherever they are. */
static void test_copy(test *t, lt_arena *arena) {
  const lt_value *v = lt_parse(arena, "Sw<3,4,3> o 0 o (8,64):(64,1)");
  lt_value *copy = malloc(lt_value_size(v));
  if (copy == NULL) return;
  memcpy(copy, v, lt_value_size(v));
  check(t, lt_equal(v, copy), "a copied value");
  free(copy);
}

static void test_text(test *t, lt_arena *arena) {
  char buffer[8];
  const lt_value *v = lt_parse(arena, "(4,2):(2,1)");
  check(t, lt_to_string(v, NULL, 0) == strlen("(4,2):(2,1)"), "the length of a text");
  check(t, lt_to_string(v, buffer, sizeof buffer) == strlen("(4,2):(2,1)"), "that of a cut text");
  check_text(t, "a text cut to its room", buffer, "(4,2):(");
  check(t, lt_equal(lt_from_cute(arena, "(4,_2):(_2,_1)", 14), lt_parse(arena, "(?4,2):(2,1)")),
        "CuTe's text");
}

/* The first error stays, and nothing more is computed, until the arena is reset. */
static void test_sticky_error(test *t, lt_arena *arena, const lt_error *error) {
  const lt_value *a = lt_parse(arena, "(4,6,8):(2,3,5)");
  check(t, lt_composition(arena, a, lt_parse(arena, "6:3")) == NULL, "no composition");
  check(t, error->status == LT_INVALID, "the status of an error");
  check(t, strncmp(error->message, "composition: ", 13) == 0, "a message names the operation");
  check(t, strstr(error->message, "(4,6,8):(2,3,5)") != NULL, "a message shows the operands");
  char first[LT_ERROR_SIZE];
  strcpy(first, error->message);
  check(t, lt_parse(arena, "4:1") == NULL, "nothing after an error");
  check(t, !lt_congruent(arena, a, a), "no relation after an error");
  check_text(t, "the first error stays", error->message, first);
  lt_arena_reset(arena);
  check(t, error->status == LT_OK && error->message[0] == '\0', "reset forgets the error");
  check(t, lt_parse(arena, "4:1") != NULL, "values after a reset");
}

static void test_refusals(test *t, lt_arena *arena, const lt_error *error) {
  static const struct {
    const char *text;
    lt_status status;
  } cases[] = {
      {"", LT_INVALID},
      {"(4,2", LT_INVALID},
      {"(4,2):(2)", LT_INVALID},
      {"4:1 x", LT_INVALID},
      {"(4,,2)", LT_INVALID},
      {"99999999999999999999", LT_OVERFLOW},
      {"\xff\x00\x01", LT_INVALID},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    lt_arena_reset(arena);
    check(t, lt_parse(arena, cases[i].text) == NULL, cases[i].text);
    check(t, error->status == cases[i].status, error->message);
  }
  lt_arena_reset(arena);
}

/* One level more than the limit, as text and as values. */
static void test_depth_limit(test *t, lt_arena *arena, const lt_error *error) {
  char text[2 * (LT_MAX_DEPTH + 1) + 2] = "";
  memset(text, '(', LT_MAX_DEPTH + 1);
  text[LT_MAX_DEPTH + 1] = '1';
  memset(text + LT_MAX_DEPTH + 2, ')', LT_MAX_DEPTH + 1);
  check(t, lt_parse(arena, text) == NULL && error->status == LT_LIMIT, "text nested too deep");
  lt_arena_reset(arena);
  const lt_value *v = lt_integer(arena, 1);
  for (int i = 0; i <= LT_MAX_DEPTH && v != NULL; i++) v = lt_tuple(arena, &v, 1);
  check(t, v == NULL && error->status == LT_LIMIT, "values nested too deep");
  lt_arena_reset(arena);
}

static void test_overflow(test *t, lt_arena *arena, const lt_error *error) {
  const lt_value *large = lt_parse(arena, "(4611686018427387904,4611686018427387904)");
  check(t, lt_product(arena, large) == NULL && error->status == LT_OVERFLOW, "a product too large");
  lt_arena_reset(arena);
}

static void test_no_arena(test *t) {
  lt_error error = {LT_OK, ""};
  ledger books = {.fail_at = 1};
  lt_allocator allocator = {ledger_reallocate, &books};
  check(t, lt_arena_new(&allocator, &error) == NULL, "no memory for an arena");
  check(t, error.status == LT_NO_MEMORY, "its status");
  lt_arena_free(NULL);
}

int main(void) {
  test t = {0, 0};
  lt_error error = {LT_OK, ""};
  ledger books = {0};
  lt_allocator allocator = {ledger_reallocate, &books};
  lt_arena *arena = lt_arena_new(&allocator, &error);
  if (arena == NULL) return EXIT_FAILURE;
  test_making(&t, arena);
  test_parts(&t, arena);
  test_copy(&t, arena);
  test_text(&t, arena);
  test_sticky_error(&t, arena, &error);
  test_refusals(&t, arena, &error);
  test_depth_limit(&t, arena, &error);
  test_overflow(&t, arena, &error);
  test_no_arena(&t);
  lt_arena_free(arena);
  check(&t, books.live == 0 && !books.mistaken, "all memory is given back, with its true size");
  return finish(&t);
}
