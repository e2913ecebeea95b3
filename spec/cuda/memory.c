/*
** Every allocation of the C API of CUDA made to fail in turn, and CUDA from several lt_cuda at once.
** Without NVRTC, what there is without it.
*/
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "../capi/test.h"
#include "lutile_cuda.h"

static const char *const options[] = {"--std=c++17"};

static const char *const header_names[] = {"value.h"};
static const char *const header_texts[] = {"#define VALUE 3\n"};

static lt_cuda_source source(const char *text) {
  return (lt_cuda_source){.kernel = "f",
                          .file = "f.cu",
                          .text = text,
                          .header_names = header_names,
                          .header_texts = header_texts,
                          .headers = 1,
                          .options = options,
                          .option_count = 1,
                          .arch = "sm_80"};
}

static const char good_text[] =
    "#include \"value.h\"\nextern \"C\" __global__ void f(int *p) { int unused; *p = VALUE; }\n";
static const char bad_text[] = "extern \"C\" __global__ void f(int *p) { *p = nothing; }\n";

/* A note is as it was written, and is there again when another was wanted. */
static bool use_notes(lt_cuda *cuda, const lt_error *error) {
  const char *text;
  size_t size;
  lt_cuda_lock_notes(cuda);
  bool good = lt_cuda_write_note(cuda, "note.txt", "text", 4);
  lt_cuda_unlock_notes(cuda);
  good = good && lt_cuda_read_note(cuda, "note.txt", &text, &size) && size == 4 &&
         strcmp(text, "text") == 0;
  good = good && lt_cuda_read_note(cuda, "none.txt", &text, &size) && text == NULL;
  return good && !lt_cuda_read_note(cuda, "../note", &text, &size) && error->status == LT_INVALID;
}

/* Whether the compiler's warning is kept with a kernel that was compiled here. */
static bool keeps_log(const lt_cuda_kernel *k) {
  return lt_cuda_kernel_origin(k) != LT_CUDA_COMPILED ||
         strstr(lt_cuda_kernel_log(k), "\"unused\"") != NULL;
}

/* Whether a kernel that reads files is compiled, though 'k' has the same source and is there. */
static bool compiles_readers(lt_cuda *cuda, const lt_cuda_kernel *k) {
  lt_cuda_source s = source(good_text);
  s.reads_files = true;
  const lt_cuda_kernel *reader = lt_cuda_compile(cuda, &s);
  return reader != NULL && reader != k && lt_cuda_kernel_origin(reader) == LT_CUDA_COMPILED &&
         keeps_log(reader);
}

/* Whether all that can be done was done, with memory to the end. */
static bool use(lt_cuda *cuda, const lt_error *error) {
  lt_cuda_versions versions;
  lt_cuda_cache cache;
  size_t size;
  lt_cuda_available(cuda);
  lt_cuda_find_versions(cuda, &versions);
  lt_cuda_get_cache(cuda, &cache);
  if (!use_notes(cuda, error)) return false;
  if (!lt_cuda_has_compiler(cuda)) return error->status == LT_DEVICE;
  lt_cuda_source s = source(good_text);
  lt_cuda_kernel *k = lt_cuda_compile(cuda, &s);
  if (k == NULL || !keeps_log(k)) return false;
  lt_cuda_take_warnings(cuda);
  lt_cuda_kernel_image(k, &size);
  if (size == 0 || lt_cuda_compile(cuda, &s) != k) return false;
  if (!compiles_readers(cuda, k)) return false;
  s = source(bad_text);
  lt_cuda_compile(cuda, &s);
  return error->status == LT_DEVICE && strstr(lt_cuda_log(cuda), "nothing") != NULL;
}

/* One run with memory up to an allocation; true where it was enough. */
static bool run(test *t, ledger *l, long fail_at) {
  lt_error error = {LT_OK, ""};
  lt_allocator allocator = {ledger_reallocate, l};
  *l = (ledger){.fail_at = fail_at};
  lt_cuda *cuda = lt_cuda_open(&allocator, &error);
  bool enough = cuda != NULL && use(cuda, &error) && (fail_at == 0 || l->calls < fail_at);
  lt_cuda_close(cuda);
  if (l->live != 0 || l->mistaken) check(t, false, "all memory is given back, as it was had");
  return enough;
}

static void test_failing_memory(test *t) {
  ledger l;
  check(t, run(t, &l, 0), "all goes well with enough memory");
  long fail_at = 1;
  while (fail_at < 10000 && !run(t, &l, fail_at)) fail_at++;
  check(t, fail_at > 1 && fail_at < 10000, "every allocation can fail");
}

static bool write_text(void *context, const char *text, size_t length) {
  size_t *total = context;
  (void)text;
  *total += length;
  return true;
}

static bool write_nothing(void *context, const char *text, size_t length) {
  (void)context;
  (void)text;
  (void)length;
  return false;
}

static bool emit(ledger *l, long fail_at, bool (*write)(void *, const char *, size_t),
                 lt_error *error) {
  size_t total = 0;
  lt_allocator allocator = {ledger_reallocate, l};
  lt_cuda_writer writer = {write, &total};
  *l = (ledger){.fail_at = fail_at};
  lt_arena *arena = lt_arena_new(&allocator, error);
  if (arena == NULL) return false;
  const lt_value *v = lt_parse(arena, "((?4,2),(8,?3)):((1@0,4@0),(2@1@1,1@0@1))");
  bool good = v != NULL && lt_cuda_emit_layout(arena, v, "L", 64, &writer) && total > 0;
  lt_arena_free(arena);
  return good;
}

static void test_emitting(test *t) {
  ledger l;
  lt_error error;
  check(t, emit(&l, 0, write_text, &error), "a layout is written");
  check(t, !emit(&l, 0, write_nothing, &error) && error.status == LT_NO_MEMORY,
        "a writer may run out of memory");
  for (long fail_at = 1; fail_at <= 2; fail_at++) {
    check(t, !emit(&l, fail_at, write_text, &error) || l.calls < fail_at,
          "an arena without memory writes nothing");
    check(t, l.live == 0, "and gives back all");
  }
}

static void test_matching(test *t) {
  lt_error error = {LT_OK, ""};
  lt_arena *arena = lt_arena_new(NULL, &error);
  int64_t values[4];
  char text[64];
  const lt_value *pattern = lt_parse(arena, "(?8{8},2):(2,?7)");
  check(t, lt_cuda_count_dynamic(pattern) == 2, "dynamic integers are counted");
  lt_cuda_blank_text(pattern, text, sizeof text);
  check_text(t, "the text without their numbers", text, "(?{8},2):(2,?)");
  bool good = lt_cuda_match(arena, "x", pattern, lt_parse(arena, "(64,2):(2,?5)"), values);
  check(t, good && values[0] == 64 && values[1] == 5, "numbers in their places");
  check(t, !lt_cuda_match(arena, "x", pattern, lt_parse(arena, "(12,2):(2,5)"), values),
        "a promise that is not kept");
  check_text(t, "says so", error.message,
             "x: 12 in (12,2):(2,5) is no multiple of 8, as (?{8},2):(2,?) promises");
  lt_arena_free(arena);
}

int main(void) {
  test t = {0, 0};
  char folder[] = "/tmp/lutile-cuda-XXXXXX";
  if (mkdtemp(folder) == NULL) return EXIT_FAILURE;
  setenv("LUTILE_CACHE", folder, 1);
  test_failing_memory(&t);
  test_emitting(&t);
  test_matching(&t);
  char remove[64];
  snprintf(remove, sizeof remove, "rm -rf %s", folder);
  if (system(remove) != 0) return EXIT_FAILURE;
  return finish(&t);
}
