/*
** The lutile command: what its files offer one another.
*/
#ifndef LUTILE_CLI_CLI_H
#define LUTILE_CLI_CLI_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- Options -------------------------------------------------------------------------------- */

/* The letter of an option that has none. */
#define LTC_CUDA_INFO 'C'

typedef struct ltC_option {
  char letter;       /* 'e', 'l', 'i', ...; 0 for one that is unknown or lacks its value */
  const char *value; /* of -e and -l; of a mistake, what is wrong with it */
} ltC_option;

typedef struct ltC_options {
  int script; /* index in argv of the script; argc when there is none */
  int end;    /* index after the last option */
  bool help, version, interactive, execute, ignore_environment, warnings, cuda_info;
  const char *mistake;  /* NULL, or why the command line is refused */
  const char *argument; /* the argument that 'mistake' is about */
} ltC_options;

/* Reads the option at argv[*i] and moves *i past it; false where the options end. */
bool ltC_read_option(char **argv, int *i, ltC_option *option);

ltC_options ltC_read_options(int argc, char **argv);

/* ---- Chunks --------------------------------------------------------------------------------- */

/* As luaL_loadfilex and luaL_loadbuffer; the chunk's reads of undefined globals will raise. */
int ltC_load_file(lua_State *L, const char *name);
int ltC_load_text(lua_State *L, const char *text, size_t size, const char *name);

/* Makes undefined globals an error for the chunks that the two functions above load. */
void ltC_make_strict(lua_State *L);

/*
** Calls the function below 'arguments' arguments. On error, the message has a traceback; an
** interrupt from the keyboard is an error. Returns Lua's status.
*/
int ltC_call(lua_State *L, int arguments, int results);

/* Writes the message on top of the stack to stderr and pops it, unless 'status' is LUA_OK. */
int ltC_report(lua_State *L, int status);

/* ---- The prompt ----------------------------------------------------------------------------- */

/* Reads, runs and prints until the end of the input. */
void ltC_run_prompt(lua_State *L);

typedef struct ltC_editor ltC_editor;

typedef enum ltC_input { LTC_LINE, LTC_END, LTC_INTERRUPTED } ltC_input;

/*
** Pushes what the editor needs to live and returns it: where standard input is a terminal and the
** line-editing library is there, with history and completion; else NULL, for plain reading.
** Completion calls the function at stack index 'complete' with the text before the cursor; it
** returns a list of the words that may stand there, and how many bytes of them are typed already.
*/
ltC_editor *ltC_open_editor(lua_State *L, int complete);

/* LTC_LINE: pushes the next line, without its end. */
ltC_input ltC_read_line(lua_State *L, ltC_editor *editor, const char *prompt);

/* Adds a line to the history, and writes the history to its file. */
void ltC_remember_line(ltC_editor *editor, const char *line);

#endif
