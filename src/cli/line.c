/*
** Lines from standard input: edited where there is a terminal and libedit, else as they come.
*/
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "edit.h"

/* ---- The file of the history ---------------------------------------------------------------- */

static bool is_set(const char *variable) { return variable != NULL && variable[0] != '\0'; }

/*
** Pushes the name of the history's file, in $XDG_STATE_HOME/lutile where that is set and else in
** the home folder; NULL, and pushes nothing, where there is neither.
*/
static const char *push_history_file(lua_State *L) {
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  if (is_set(state)) {
    mkdir(state, 0700); /* where it fails, so will the writing */
    mkdir(lua_pushfstring(L, "%s/lutile", state), 0700);
    lua_pop(L, 1);
    return lua_pushfstring(L, "%s/lutile/history", state);
  }
  return is_set(home) ? lua_pushfstring(L, "%s/.lutile_history", home) : NULL;
}

static bool is_terminal(void) {
  const char *kind = getenv("TERM");
  return is_set(kind) && strcmp(kind, "dumb") != 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

ltC_editor *ltC_open_editor(lua_State *L, int complete) {
  if (!is_terminal()) return NULL;
  const char *history_file = push_history_file(L);
  if (history_file == NULL) lua_pushnil(L);
  return ltC_open_edit(L, complete, history_file); /* the name stays pushed */
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Pushes the next line of standard input, of any length, without its end. */
static ltC_input read_plain_line(lua_State *L, const char *prompt) {
  fputs(prompt, stdout);
  fflush(stdout);
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  int c = getchar();
  bool end = c == EOF;
  for (; c != EOF && c != '\n'; c = getchar()) luaL_addchar(&line, (char)c);
  luaL_pushresult(&line);
  if (!end) return LTC_LINE;
  lua_pop(L, 1);
  fputc('\n', stdout);
  return LTC_END;
}

ltC_input ltC_read_line(lua_State *L, ltC_editor *editor, const char *prompt) {
  return editor != NULL ? ltC_edit_line(editor, prompt) : read_plain_line(L, prompt);
}

void ltC_remember_line(ltC_editor *editor, const char *line) {
  if (editor != NULL && line[0] != '\0') ltC_edit_remember(editor, line);
}
