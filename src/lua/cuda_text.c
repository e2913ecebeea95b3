/*
** Layouts written as CUDA C++, and the files of kernels, in the binary and elsewhere: text, which
** needs no CUDA.
*/
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

#include "cuda_module.h"
#include "embedded.h"
#include "lutile_cuda.h"
#include "tiles.h"

typedef struct output {
  lt_arena *arena;
  char *text;
  size_t length, capacity;
} output;

static bool write_output(void *context, const char *text, size_t length) {
  output *o = context;
  if (length > o->capacity - o->length) {
    size_t capacity = 2 * (o->capacity + length);
    char *larger = ltA_new_bytes(o->arena, capacity);
    if (larger == NULL) return false;
    if (o->length > 0) memcpy(larger, o->text, o->length);
    o->text = larger;
    o->capacity = capacity;
  }
  memcpy(o->text + o->length, text, length);
  o->length += length;
  return true;
}

/* emit(layout, name, bits): the type as text. */
static int emit(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_check_at(L, S, "cuda.emit", 1, 'm');
  const char *name = luaL_checkstring(L, 2);
  int bits = (int)luaL_optinteger(L, 3, 64);
  luaL_argcheck(L, bits == 32 || bits == 64, 3, "an index has 32 or 64 bits");
  output o = {S->arena, NULL, 0, 0};
  lt_cuda_writer writer = {write_output, &o};
  if (!lt_cuda_emit_layout(S->arena, layout, name, bits, &writer)) return ltL_raise(L, S);
  lua_pushlstring(L, o.text, o.length);
  return 1;
}

/* emitted_form(layout): the layout whose dynamic integers are the members of the emitted type. */
static int emitted_form(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_check_at(L, S, "cuda.emit", 1, 'm');
  return ltL_push_value(L, S, lt_cuda_emitted_form(S->arena, layout));
}

/* count_dynamic(layout) */
static int count_dynamic(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_check_at(L, S, "cuda.emit", 1, 'm');
  lua_pushinteger(L, (lua_Integer)lt_cuda_count_dynamic(layout));
  return 1;
}

/* fits_32_bits(layout): whether its indices and offsets do. */
static int fits_32_bits(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_pushboolean(L, lt_cuda_fits_32_bits(ltL_check_at(L, S, "cuda.emit", 1, 'm')));
  return 1;
}

/* blank(layout): its text without the dynamic numbers. */
static int blank(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return ltL_push_text(L, S, ltL_check_at(L, S, "cuda.blank", 1, 'm'), lt_cuda_blank_text);
}

/* embedded(name): a file that is kept in the binary, or nil. */
static int embedded(lua_State *L) {
  const ltL_embedded *file = ltL_find_embedded(luaL_checkstring(L, 1));
  if (file == NULL) return 0;
  ltL_push_embedded(L, file);
  return 1;
}

/*
** identify(path): what is there, as "file", "folder" or "other", and what tells it from all others;
** nothing where nothing is.
*/
static int identify(lua_State *L) {
  struct stat s;
  if (stat(luaL_checkstring(L, 1), &s) != 0) return 0;
  lua_pushstring(L, S_ISREG(s.st_mode) ? "file" : S_ISDIR(s.st_mode) ? "folder" : "other");
  lua_pushfstring(L, "%I:%I", (LUAI_UACINT)s.st_dev, (LUAI_UACINT)s.st_ino);
  return 2;
}

static const luaL_Reg functions[] = {{"blank", blank},
                                     {"count_dynamic", count_dynamic},
                                     {"embedded", embedded},
                                     {"emit", emit},
                                     {"emitted_form", emitted_form},
                                     {"fits_32_bits", fits_32_bits},
                                     {"identify", identify},
                                     {NULL, NULL}};

void ltL_open_cuda_text(lua_State *L) {
  ltL_push_state(L);
  luaL_setfuncs(L, functions, 1);
}
