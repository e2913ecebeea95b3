/*
** The prompt: reads chunks of one or more lines, runs them and prints their results.
*/
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "lua/embedded.h"

/* How Lua's message ends when a chunk stops too early. */
#define INCOMPLETE "<eof>"

/* ---- Reading -------------------------------------------------------------------------------- */

/* Pushes global 'name' where it is a string, as in lua; else 'otherwise'. */
static const char *push_prompt(lua_State *L, const char *name, const char *otherwise) {
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  lua_rawget(L, -2); /* raw: an undefined global is none to complain of */
  if (lua_tostring(L, -1) == NULL) {
    lua_pop(L, 1);
    lua_pushstring(L, otherwise);
  }
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

/* LTC_LINE: pushes the next line. */
static ltC_input read_line(lua_State *L, ltC_editor *editor, bool first) {
  const char *prompt = first ? push_prompt(L, "_PROMPT", "> ") : push_prompt(L, "_PROMPT2", ">> ");
  int below = lua_gettop(L);
  ltC_input input = ltC_read_line(L, editor, prompt);
  lua_remove(L, below);
  if (input == LTC_LINE) ltC_remember_line(editor, lua_tostring(L, -1));
  return input;
}

/* Loads the string on top of the stack; its function or a message takes its place. */
static int load_text(lua_State *L) {
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  int status = ltC_load_text(L, text, size, "=stdin");
  lua_remove(L, -2);
  return status;
}

/* The line on top of the stack as an expression: where it is one, its function takes its place. */
static bool load_expression(lua_State *L) {
  const char *line = lua_tostring(L, -1);
  lua_pushfstring(L, "return %s", line[0] == '=' ? line + 1 : line);
  if (load_text(L) != LUA_OK) {
    lua_pop(L, 1);
    return false;
  }
  lua_remove(L, -2);
  return true;
}

/* Is the message on top of the stack about a chunk that more lines may complete? */
static bool is_incomplete(lua_State *L, int status) {
  if (status != LUA_ERRSYNTAX) return false;
  size_t size;
  const char *message = lua_tolstring(L, -1, &size);
  size_t end = strlen(INCOMPLETE);
  return size >= end && strcmp(message + size - end, INCOMPLETE) == 0;
}

/*
** The line on top of the stack as a statement, with more lines until it is complete. LTC_LINE: its
** function, or a message, takes the line's place, and 'status' tells which.
*/
static ltC_input load_statement(lua_State *L, ltC_editor *editor, int *status) {
  for (;;) {
    lua_pushvalue(L, -1);
    *status = load_text(L);
    bool more = is_incomplete(L, *status);
    if (!more) break;
    ltC_input input = read_line(L, editor, false);
    if (input == LTC_INTERRUPTED) return input;
    if (input == LTC_END) break; /* the message says what is missing */
    lua_remove(L, -2);           /* the message */
    lua_pushliteral(L, "\n");
    lua_insert(L, -2);
    lua_concat(L, 3);
  }
  lua_remove(L, -2);
  return LTC_LINE;
}

/* Reads one chunk. LTC_LINE: pushes its function, or a message where 'status' is not LUA_OK. */
static ltC_input load_chunk(lua_State *L, ltC_editor *editor, int *status) {
  ltC_input input = read_line(L, editor, true);
  if (input != LTC_LINE) return input;
  *status = LUA_OK;
  if (load_expression(L)) return LTC_LINE;
  return load_statement(L, editor, status);
}

/* ---- Printing ------------------------------------------------------------------------------- */

/* Prints its arguments on a line, by tostring. */
static int print_results(lua_State *L) {
  int n = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    size_t size;
    const char *text = luaL_tolstring(L, i, &size);
    if (i > 1) fputc('\t', stdout);
    fwrite(text, 1, size, stdout);
    lua_pop(L, 1);
  }
  fputc('\n', stdout);
  fflush(stdout);
  return 0;
}

/* Runs the function at 'base' + 1, the top of the stack, and prints what it returns. */
static void run_chunk(lua_State *L, int base) {
  int status = ltC_call(L, 0, LUA_MULTRET);
  int results = lua_gettop(L) - base;
  if (status == LUA_OK && results > 0) {
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_pushcfunction(L, print_results);
    lua_insert(L, base + 1);
    status = ltC_call(L, results, 0);
  }
  ltC_report(L, status);
}

/* ---- The prompt ----------------------------------------------------------------------------- */

/* The text of an embedded module by its name, or nil. */
static int embedded_text(lua_State *L) {
  const ltL_embedded *file = ltL_find_embedded(luaL_checkstring(L, 1));
  if (file == NULL) return 0;
  ltL_push_embedded(L, file);
  return 1;
}

/* Sets the globals 'help', 'exit', 'quit'; pushes the function that completes names. */
static int open_globals(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "lutile.help");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "open");
  lua_pushglobaltable(L);
  lua_pushcfunction(L, embedded_text);
  lua_call(L, 2, 1);
  return lua_gettop(L);
}

void ltC_run_prompt(lua_State *L) {
  ltC_editor *editor = ltC_open_editor(L, open_globals(L));
  int base = lua_gettop(L);
  for (;;) {
    int status;
    ltC_input input = load_chunk(L, editor, &status);
    if (input == LTC_END) break;
    if (input == LTC_LINE) {
      if (status == LUA_OK) {
        run_chunk(L, base);
      } else {
        ltC_report(L, status);
      }
    }
    lua_settop(L, base);
  }
}
