/*
** The folder in which compiled kernels are kept, and the hash that names them. Knows no CUDA.
*/
#ifndef LUTILE_CUDA_CACHE_H
#define LUTILE_CUDA_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lutile.h"

/* ---- SHA-256 -------------------------------------------------------------------------------- */

typedef struct ltD_hash {
  uint32_t state[8];
  uint64_t length;
  uint8_t block[64];
} ltD_hash;

void ltD_hash_begin(ltD_hash *h);
void ltD_hash_add(ltD_hash *h, const void *bytes, size_t size);
void ltD_hash_end(ltD_hash *h, uint8_t digest[32]);

/* ---- Keys ----------------------------------------------------------------------------------- */

#define LTD_KEY_NAME 33

typedef struct ltD_key {
  uint8_t digest[32];
  char text[LTD_KEY_NAME]; /* the first 128 bits in hexadecimal: the entry's name */
} ltD_key;

void ltD_key_end(ltD_hash *h, ltD_key *key);
/* Adds a string with its length, so that neighbours do not run together. */
void ltD_key_add(ltD_hash *h, const char *text);

/* ---- The folder ----------------------------------------------------------------------------- */

#define LTD_REASON 320

/*
** An entry is a folder, named by its key: kernel.cubin, kernel.cu (what was compiled, for people)
** and sum (the hashes of the cubin and of the key). It is written beside its place and renamed.
*/
typedef struct ltD_cache {
  char *folder; /* NULL: not looked for, or none */
  size_t folder_size;
  int directory; /* open on the folder; -1 where it cannot be used */
  bool looked;
  bool unwritable;
  uint64_t limit;          /* bytes */
  uint64_t size, added;    /* bytes: in all, and since all entries were looked at */
  bool measured;           /* they were */
  char reason[LTD_REASON]; /* why it cannot be used, or written; "" at first */
  bool failed;             /* else a reason is a warning, and the first failure's replaces it */
} ltD_cache;

/* Finds the folder and makes it. Returns whether it may be read. */
bool ltD_cache_open(ltD_cache *cache, const lt_allocator *allocator);
void ltD_cache_close(ltD_cache *cache, const lt_allocator *allocator);

/*
** The image under the key, of the allocator; NULL where there is none. An entry that is not whole
** or not what its hash says is removed; 'reason' is a warning where it cannot be.
*/
void *ltD_cache_read(ltD_cache *cache, const lt_allocator *allocator, const ltD_key *key,
                     size_t *size);
/* Keeps the image. False, with 'reason' set, where the folder cannot be written. */
bool ltD_cache_write(ltD_cache *cache, const lt_allocator *allocator, const ltD_key *key,
                     const void *image, size_t size, const char *source);

/* ---- Its size ------------------------------------------------------------------------------- */

/* So much more is there: where that may be beyond the limit, the oldest entries are removed. */
void ltD_cache_grow(ltD_cache *cache, const lt_allocator *allocator, uint64_t bytes);
void ltD_cache_measure(ltD_cache *cache, const lt_allocator *allocator, uint64_t *size,
                       uint64_t *count);

/* ---- Files in it ---------------------------------------------------------------------------- */

struct stat;

/* Nobody but the user and root may have put it there, or can change it. */
bool ltD_is_private(const struct stat *s);
bool ltD_read_all(int file, void *bytes, size_t size);
/* A new file; false with errno set. */
bool ltD_write_file(int folder, const char *name, const void *bytes, size_t size);
/*
** An entry's files, by name; a descriptor of an entry, or -1; an entry and all of it removed, and
** whether it is gone.
*/
#define LTD_ENTRY_FILES 3
extern const char *const ltD_entry_files[LTD_ENTRY_FILES];
int ltD_open_entry(int folder, const char *name);
bool ltD_remove_entry(int folder, const char *name);
/* A name that no other process and no other lt_cuda of this one uses. */
void ltD_name_temporary(const ltD_cache *cache, unsigned attempt, char name[64]);

#endif
