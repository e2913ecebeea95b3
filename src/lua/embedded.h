/*
** The files of lua/lutile and kernels, kept in the binary, so that a module or a command that was
** copied elsewhere finds them. Their table is made at build time, with the texts of each group of
** files compressed by gzip, one behind the other; modules have the comments alone that help shows,
** kernels' headers none.
*/
#ifndef LUTILE_LUA_EMBEDDED_H
#define LUTILE_LUA_EMBEDDED_H

#include <stddef.h>

struct lua_State;

typedef struct ltL_embedded_group {
  const unsigned char *packed;
  size_t packed_size;
  size_t size; /* of the texts */
} ltL_embedded_group;

typedef struct ltL_embedded {
  const char *name; /* "lutile.plan" for a module, "kernels/gemm.cu" for a kernel */
  unsigned group;   /* in ltL_embedded_groups: the address of one would need a relocation */
  unsigned offset;  /* of the text in those of the group */
  unsigned size;
} ltL_embedded;

extern const ltL_embedded_group ltL_embedded_groups[];

/* Ends with a NULL name. */
extern const ltL_embedded ltL_embedded_files[];

/* The file named 'name', or NULL. */
const ltL_embedded *ltL_find_embedded(const char *name);

/* Pushes the text of 'file'. Raises when there is no memory. */
void ltL_push_embedded(struct lua_State *L, const ltL_embedded *file);

/* Pushes the chunk of the module 'file', or raises. */
void ltL_load_embedded(struct lua_State *L, const ltL_embedded *file);

/*
** Puts a loader for every embedded module in package.preload, so that this binary's own copies are
** taken before files of another version on package.path. Without a package library, does nothing.
*/
void ltL_preload_embedded(struct lua_State *L);

#endif
