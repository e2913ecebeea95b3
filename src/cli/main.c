/*
** The lutile command: runs scripts, chunks from the command line, or a prompt, in a Lua state with
** lutile's names in its globals.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli.h"
#include "lutile.h"
#include "lutile_lua.h"

enum { EXIT_USAGE = 2 };

static const char usage[] =
    "usage: lutile [options] [script [arguments]]\n"
    "  -e chunk  run the text 'chunk'\n"
    "  -l name   require module 'name' into global 'name'; -l g=name into global 'g'\n"
    "  -i        prompt for more after running the rest\n"
    "  -E        ignore the environment variables LUA_INIT, LUA_PATH and LUA_CPATH\n"
    "  -W        turn warnings on\n"
    "  -v        print the version\n"
    "  --cuda-info  print driver, NVRTC, devices and the cache of CUDA kernels\n"
    "  -h        print this text\n"
    "  --        end the options\n"
    "  -         read the script from standard input\n"
    "Without a script, -e or -v: a prompt on a terminal, else standard input is the script.\n";

static void print_version(void) {
  printf("lutile %s (%s)\n", LUTILE_VERSION, LUA_RELEASE);
  fflush(stdout);
}

/* arg: the script at 0, its arguments from 1, the command and its options below 0. */
static void make_arg_table(lua_State *L, int argc, char **argv, const ltC_options *options) {
  int script = options->script < argc ? options->script : 0;
  lua_createtable(L, argc - script, script + 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

/* Lua's libraries, lutile in global 'lutile', and its names beside Lua's own. */
static void open_libraries(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "lutile", luaopen_lutile, 1);
  lua_getfield(L, -1, "using");
  lua_pushglobaltable(L);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
  ltC_make_strict(L);
}

static int run_loaded(lua_State *L, int status, int arguments) {
  if (status == LUA_OK) {
    lua_insert(L, -(arguments + 1));
    status = ltC_call(L, arguments, 0);
  }
  return ltC_report(L, status);
}

/* As lua: LUA_INIT holds a chunk, or '@' and the name of a file. */
static int run_environment(lua_State *L) {
  const char *name = "=LUA_INIT_5_4";
  const char *text = getenv(name + 1);
  if (text == NULL) text = getenv((name = "=LUA_INIT") + 1);
  if (text == NULL) return LUA_OK;
  int status =
      text[0] == '@' ? luaL_loadfile(L, text + 1) : luaL_loadbuffer(L, text, strlen(text), name);
  return run_loaded(L, status, 0);
}

static int run_text(lua_State *L, const char *text) {
  return run_loaded(L, ltC_load_text(L, text, strlen(text), "=(command line)"), 0);
}

/* 'spec' is a module's name, or global=name. */
static int require_module(lua_State *L, const char *spec) {
  const char *equals = strchr(spec, '=');
  const char *module = equals != NULL ? equals + 1 : spec;
  lua_pushlstring(L, spec, equals != NULL ? (size_t)(equals - spec) : strlen(spec));
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  int status = ltC_call(L, 1, 1);
  if (status == LUA_OK) {
    lua_pushglobaltable(L);
    lua_insert(L, -3);
    lua_settable(L, -3); /* _G[global] = module */
  } else {
    lua_remove(L, -2); /* the global's name, below the message */
  }
  ltC_report(L, status);
  return status;
}

/* Runs -e and -l in their order; stops at the first that fails. */
static int run_options(lua_State *L, char **argv, const ltC_options *options) {
  ltC_option option;
  int status = LUA_OK;
  for (int i = 1; i < options->end && status == LUA_OK && ltC_read_option(argv, &i, &option);) {
    if (option.letter == 'e') status = run_text(L, option.value);
    if (option.letter == 'l') status = require_module(L, option.value);
  }
  return status;
}

/* 'argv' starts with the script's name; "-" is standard input. */
static int run_script(lua_State *L, char **argv, bool after_dashes) {
  const char *name = strcmp(argv[0], "-") == 0 && !after_dashes ? NULL : argv[0];
  int arguments = 0;
  luaL_checkstack(L, 3, NULL);
  for (; argv[arguments + 1] != NULL; arguments++) {
    luaL_checkstack(L, 3, "too many arguments to script");
    lua_pushstring(L, argv[arguments + 1]);
  }
  return run_loaded(L, ltC_load_file(L, name), arguments);
}

static int run_rest(lua_State *L, int argc, char **argv, const ltC_options *options) {
  bool script = options->script < argc;
  if (script) {
    bool after_dashes = strcmp(argv[options->script - 1], "--") == 0;
    int status = run_script(L, argv + options->script, after_dashes);
    if (status != LUA_OK) return status;
  }
  bool idle = !script && !options->execute && !options->version && !options->cuda_info;
  if (options->interactive || (idle && isatty(STDIN_FILENO))) {
    if (!options->version) print_version();
    ltC_run_prompt(L);
  } else if (idle) {
    return run_loaded(L, ltC_load_file(L, NULL), 0);
  }
  return LUA_OK;
}

/* Called with argc and argv; returns whether all went well. */
static int run_command(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = (char **)lua_touserdata(L, 2);
  ltC_options options = ltC_read_options(argc, argv);
  if (options.version) print_version();
  if (options.ignore_environment) {
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV"); /* the package library looks here */
  }
  open_libraries(L);
  if (options.warnings) lua_warning(L, "@on", 0);
  make_arg_table(L, argc, argv, &options);
  int status = options.ignore_environment ? LUA_OK : run_environment(L);
  if (status == LUA_OK && options.cuda_info)
    status = run_text(L, "require 'lutile.cuda.info'.print()");
  if (status == LUA_OK) status = run_options(L, argv, &options);
  if (status == LUA_OK) status = run_rest(L, argc, argv, &options);
  lua_pushboolean(L, status == LUA_OK);
  return 1;
}

static int run_state(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fputs("lutile: not enough memory\n", stderr);
    return EXIT_FAILURE;
  }
  lua_pushcfunction(L, run_command);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int status = ltC_report(L, lua_pcall(L, 2, 1, 0));
  bool success = status == LUA_OK && lua_toboolean(L, -1);
  lua_close(L);
  return success ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
** NVRTC takes and frees tens of MB for each kernel: freed memory stays with malloc, so that the next
** kernel costs no page faults. malloc itself comes to these limits once a block of 32 MB is freed.
*/
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int main(int argc, char **argv) {
  keep_freed_memory();
  ltC_options options = ltC_read_options(argc, argv);
  if (options.mistake != NULL) {
    fprintf(stderr, "lutile: %s '%s'\n%s", options.mistake, options.argument, usage);
    return EXIT_USAGE;
  }
  if (options.help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  return run_state(argc, argv);
}
