/*
** Line editing with libedit. It is opened here and not linked, so that scripts start without it.
*/
#include "edit.h"

#include <lauxlib.h>

#if defined(LUTILE_LINE_EDITING)

#include <dlfcn.h>
#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libedit.so.2"
#define HISTORY_LINES 1000

/* Columns of a list of completions where the terminal does not tell its width. */
#define DEFAULT_COLUMNS 80

/* What is used of libedit. */
#define FOR_EACH_FUNCTION(DO) \
  DO(el_init)                 \
  DO(el_end)                  \
  DO(el_set)                  \
  DO(el_wset)                 \
  DO(el_get)                  \
  DO(el_gets)                 \
  DO(el_line)                 \
  DO(el_insertstr)            \
  DO(el_source)               \
  DO(history_init)            \
  DO(history_end)             \
  DO(history)

#define DECLARE_POINTER(name) __typeof__(name) *name;

struct ltC_editor {
  lua_State *L;
  int complete;             /* stack index of the completion function */
  const char *history_file; /* NULL: the history is not kept */
  const char *prompt;       /* of the line being read */
  bool interrupted;
  void *library;
  EditLine *edit;
  History *past;
  FOR_EACH_FUNCTION(DECLARE_POINTER)
};

/* libedit is opened with global symbols, for its callbacks get nothing but the EditLine. */
static ltC_editor *editor_of(EditLine *edit) {
  __typeof__(el_get) *get;
  void *data = NULL;
  *(void **)&get = dlsym(RTLD_DEFAULT, "el_get");
  get(edit, EL_CLIENTDATA, &data);
  return (ltC_editor *)data;
}

/* ---- Completion ----------------------------------------------------------------------------- */

static size_t common_prefix(const char *a, size_t size, const char *b) {
  size_t n = 0;
  while (n < size && a[n] == b[n]) n++;
  return n;
}

/* Lists the words in the table on top of the stack, below the line being edited. */
static void list_words(lua_State *L, ltC_editor *editor, lua_Integer count) {
  int columns = 0;
  editor->el_get(editor->edit, EL_GETTC, "co", &columns, NULL);
  if (columns <= 0) columns = DEFAULT_COLUMNS;
  int column = columns; /* as if the line were full */
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, i);
    const char *word = luaL_checkstring(L, -1);
    int width = (int)strlen(word) + 2;
    bool fits = column + width <= columns;
    printf(fits ? "  %s" : "\n%s", word);
    column = fits ? column + width : width - 2;
    lua_pop(L, 1);
  }
  putchar('\n');
}

/* Inserts what all the words have in common beyond the 'typed' bytes; false where that is nothing.
 */
static bool insert_common(lua_State *L, ltC_editor *editor, lua_Integer count, size_t typed) {
  lua_rawgeti(L, -1, 1);
  const char *word = luaL_checkstring(L, -1);
  size_t size = strlen(word);
  for (lua_Integer i = 2; i <= count; i++) {
    lua_rawgeti(L, -2, i);
    size = common_prefix(word, size, luaL_checkstring(L, -1));
    lua_pop(L, 1); /* the table holds the string */
  }
  bool more = size > typed;
  if (more) editor->el_insertstr(editor->edit, lua_pushlstring(L, word + typed, size - typed));
  lua_pop(L, more ? 2 : 1);
  return more;
}

/* Arguments: the completion function, the editor. Returns what libedit shall do. */
static int complete_in_lua(lua_State *L) {
  ltC_editor *editor = (ltC_editor *)lua_touserdata(L, 2);
  const LineInfo *line = editor->el_line(editor->edit);
  lua_settop(L, 1);
  lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
  lua_call(L, 1, 2);
  size_t typed = (size_t)luaL_checkinteger(L, 2);
  lua_settop(L, 1);
  lua_Integer count = luaL_len(L, 1);
  int action = CC_ERROR;
  if (count > 0 && insert_common(L, editor, count, typed)) {
    action = CC_REFRESH;
  } else if (count > 1) {
    list_words(L, editor, count);
    action = CC_REDISPLAY;
  }
  lua_pushinteger(L, action);
  return 1;
}

static unsigned char complete_key(EditLine *edit, int key) {
  (void)key;
  ltC_editor *editor = editor_of(edit);
  lua_State *L = editor->L;
  unsigned char action = CC_ERROR;
  if (!lua_checkstack(L, 3)) return action;
  lua_pushcfunction(L, complete_in_lua);
  lua_pushvalue(L, editor->complete);
  lua_pushlightuserdata(L, editor);
  if (lua_pcall(L, 2, 1, 0) == LUA_OK) action = (unsigned char)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return action;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static char *prompt_of(EditLine *edit) { return (char *)(size_t)editor_of(edit)->prompt; }

/* Ctrl-C at the prompt drops the line. */
static unsigned char interrupt_key(EditLine *edit, int key) {
  (void)key;
  editor_of(edit)->interrupted = true;
  puts("^C");
  return CC_NEWLINE;
}

/* Ctrl-Z stops the process as it would outside of the editor. */
static unsigned char suspend_key(EditLine *edit, int key) {
  (void)key;
  ltC_editor *editor = editor_of(edit);
  editor->el_set(edit, EL_PREP_TERM, 0);
  raise(SIGTSTP);
  editor->el_set(edit, EL_PREP_TERM, 1);
  return CC_REDISPLAY;
}

ltC_input ltC_edit_line(ltC_editor *editor, const char *prompt) {
  int size = 0;
  editor->prompt = prompt;
  editor->interrupted = false;
  const char *line = editor->el_gets(editor->edit, &size);
  if (editor->interrupted) return LTC_INTERRUPTED;
  if (line == NULL || size <= 0) {
    putchar('\n');
    return LTC_END;
  }
  lua_pushlstring(editor->L, line, (size_t)(line[size - 1] == '\n' ? size - 1 : size));
  return LTC_LINE;
}

void ltC_edit_remember(ltC_editor *editor, const char *line) {
  HistEvent event;
  editor->history(editor->past, &event, H_ENTER, line);
  if (editor->history_file != NULL)
    editor->history(editor->past, &event, H_SAVE, editor->history_file);
}

/* ---- Opening and closing -------------------------------------------------------------------- */

/* May find the editor half opened. */
static int close_editor(lua_State *L) {
  ltC_editor *editor = (ltC_editor *)lua_touserdata(L, 1);
  if (editor->edit != NULL) editor->el_end(editor->edit);
  if (editor->past != NULL) editor->history_end(editor->past);
  if (editor->library != NULL) dlclose(editor->library);
  editor->edit = NULL;
  editor->past = NULL;
  editor->library = NULL;
  return 0;
}

/* Pushes an editor that holds nothing yet and will be closed by the collector. */
static ltC_editor *push_editor(lua_State *L) {
  ltC_editor *editor = (ltC_editor *)lua_newuserdatauv(L, sizeof *editor, 0);
  memset(editor, 0, sizeof *editor);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, close_editor);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return editor;
}

static bool find_functions(ltC_editor *editor) {
  editor->library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (editor->library == NULL) return false;
#define FIND_POINTER(name)                                 \
  *(void **)&editor->name = dlsym(editor->library, #name); \
  if (editor->name == NULL) return false;
  FOR_EACH_FUNCTION(FIND_POINTER)
  return true;
}

static bool start_history(ltC_editor *editor) {
  HistEvent event;
  editor->past = editor->history_init();
  if (editor->past == NULL) return false;
  editor->history(editor->past, &event, H_SETSIZE, HISTORY_LINES);
  editor->history(editor->past, &event, H_SETUNIQUE, 1);
  if (editor->history_file != NULL)
    editor->history(editor->past, &event, H_LOAD, editor->history_file);
  return true;
}

static bool start_editing(ltC_editor *editor) {
  setlocale(LC_CTYPE, ""); /* libedit reads characters, not bytes */
  EditLine *edit = editor->edit = editor->el_init("lutile", stdin, stdout, stderr);
  if (edit == NULL) return false;
  editor->el_set(edit, EL_CLIENTDATA, editor);
  editor->el_set(edit, EL_PROMPT, prompt_of);
  editor->el_set(edit, EL_EDITOR, "emacs");
  editor->el_set(edit, EL_HIST, editor->history, editor->past);
  /* The wide function, for the other copies the names and never frees them. */
  editor->el_wset(edit, EL_ADDFN, L"lutile-complete", L"complete a name", complete_key);
  editor->el_wset(edit, EL_ADDFN, L"lutile-interrupt", L"drop the line", interrupt_key);
  editor->el_wset(edit, EL_ADDFN, L"lutile-suspend", L"stop the process", suspend_key);
  editor->el_set(edit, EL_BIND, "^I", "lutile-complete", NULL);
  editor->el_set(edit, EL_BIND, "^C", "lutile-interrupt", NULL);
  editor->el_set(edit, EL_BIND, "^Z", "lutile-suspend", NULL);
  editor->el_set(edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
  editor->el_set(edit, EL_SETTY, "-d", "-isig", NULL); /* so that these are keys while editing */
  editor->el_source(edit, NULL);
  return true;
}

ltC_editor *ltC_open_edit(lua_State *L, int complete, const char *history_file) {
  ltC_editor *editor = push_editor(L);
  editor->L = L;
  editor->complete = complete;
  editor->history_file = history_file;
  if (find_functions(editor) && start_history(editor) && start_editing(editor)) return editor;
  lua_pop(L, 1);
  lua_pushnil(L);
  return NULL;
}

#else

/* Built without libedit's header. */

ltC_editor *ltC_open_edit(lua_State *L, int complete, const char *history_file) {
  (void)complete, (void)history_file;
  lua_pushnil(L);
  return NULL;
}

ltC_input ltC_edit_line(ltC_editor *editor, const char *prompt) {
  (void)editor, (void)prompt;
  return LTC_END;
}

void ltC_edit_remember(ltC_editor *editor, const char *line) { (void)editor, (void)line; }

#endif
