/*
** Compiled kernels on disk: private to the user, written whole or not at all, checked when read,
** bounded in size.
*/
#define _POSIX_C_SOURCE 200809L
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define DEFAULT_LIMIT ((uint64_t)512 << 20)
#define SUM_SIZE 64
#define LARGEST_IMAGE ((off_t)256 << 20)

static const char image_name[] = "kernel.cubin";
static const char source_name[] = "kernel.cu";
static const char sum_name[] = "sum";
const char *const ltD_entry_files[LTD_ENTRY_FILES] = {sum_name, image_name, source_name};

/* ---- Reasons -------------------------------------------------------------------------------- */

static void refuse(ltD_cache *cache, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first failure's reason stays. */
static void refuse(ltD_cache *cache, const char *format, ...) {
  if (cache->failed) return;
  cache->failed = true;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(cache->reason, sizeof cache->reason, format, arguments);
  va_end(arguments);
}

/* ---- Finding the folder ----------------------------------------------------------------------- */

static bool is_set(const char *value) { return value != NULL && value[0] != '\0'; }

static bool set_path(ltD_cache *cache, char *path, const char *variable, const char *rest) {
  int length = snprintf(path, PATH_SIZE, "%s%s", getenv(variable), rest);
  if (length > 0 && length < PATH_SIZE) return true;
  refuse(cache, "no cache folder: the name from %s has more than %d bytes", variable,
         PATH_SIZE - 1);
  return false;
}

/* XDG has relative paths ignored. */
static bool name_folder(ltD_cache *cache, char *path) {
  const char *xdg = getenv("XDG_CACHE_HOME");
  if (is_set(getenv("LUTILE_CACHE"))) return set_path(cache, path, "LUTILE_CACHE", "");
  if (is_set(xdg) && xdg[0] == '/') return set_path(cache, path, "XDG_CACHE_HOME", "/lutile");
  if (is_set(getenv("HOME"))) return set_path(cache, path, "HOME", "/.cache/lutile");
  refuse(cache, "no cache folder: LUTILE_CACHE, XDG_CACHE_HOME and HOME are not set");
  return false;
}

/* Makes the folder and those above it. */
static void make_folders(char *path) {
  for (char *p = path + 1; *p != '\0'; p++) {
    if (*p != '/') continue;
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
  mkdir(path, 0700);
}

bool ltD_is_private(const struct stat *s) {
  return (s->st_uid == geteuid() || s->st_uid == 0) && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static uint64_t read_limit(ltD_cache *cache) {
  const char *text = getenv("LUTILE_CACHE_SIZE"); /* in MiB */
  char *end;
  if (!is_set(text)) return DEFAULT_LIMIT;
  unsigned long long size = strtoull(text, &end, 10);
  if (end != text && *end == '\0' && size < (1u << 30)) return (uint64_t)size << 20;
  snprintf(cache->reason, sizeof cache->reason,
           "LUTILE_CACHE_SIZE is '%.40s', and not a number of MiB: %d are taken", text,
           (int)(DEFAULT_LIMIT >> 20));
  return DEFAULT_LIMIT;
}

static void open_folder(ltD_cache *cache, char *path) {
  struct stat s;
  make_folders(path);
  cache->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cache->directory < 0 || fstat(cache->directory, &s) != 0) {
    refuse(cache, "cache folder '%.200s': %s", path, strerror(errno));
  } else if (!ltD_is_private(&s)) {
    refuse(cache, "cache folder '%.200s' is not used: others own it or can write to it", path);
    close(cache->directory);
    cache->directory = -1;
  }
}

bool ltD_cache_open(ltD_cache *cache, const lt_allocator *allocator) {
  char path[PATH_SIZE];
  if (cache->looked) return cache->directory >= 0;
  cache->looked = true;
  cache->directory = -1;
  cache->limit = read_limit(cache);
  if (!name_folder(cache, path)) return false;
  open_folder(cache, path);
  cache->folder_size = strlen(path) + 1;
  cache->folder = allocator->reallocate(allocator->context, NULL, 0, cache->folder_size);
  if (cache->folder != NULL) memcpy(cache->folder, path, cache->folder_size);
  return cache->directory >= 0;
}

void ltD_cache_close(ltD_cache *cache, const lt_allocator *allocator) {
  if (cache->directory >= 0) close(cache->directory);
  if (cache->folder != NULL)
    allocator->reallocate(allocator->context, cache->folder, cache->folder_size, 0);
  *cache = (ltD_cache){.directory = -1};
}

/* ---- Files ---------------------------------------------------------------------------------- */

bool ltD_read_all(int file, void *bytes, size_t size) {
  for (char *p = bytes; size > 0;) {
    ssize_t n = read(file, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

static bool write_all(int file, const void *bytes, size_t size) {
  for (const char *p = bytes; size > 0;) {
    ssize_t n = write(file, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

bool ltD_write_file(int folder, const char *name, const void *bytes, size_t size) {
  int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool good = write_all(file, bytes, size) && fsync(file) == 0;
  int error = errno;
  close(file);
  errno = error;
  return good;
}

/*
** A private plain file of the name, with its size; -1 otherwise. O_NONBLOCK: what is no plain file
** must not make us wait before that is known.
*/
static int open_file(int folder, const char *name, size_t *size) {
  int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat s;
  if (file < 0) return -1;
  if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && ltD_is_private(&s) &&
      s.st_size <= LARGEST_IMAGE) {
    *size = (size_t)s.st_size;
    return file;
  }
  close(file);
  return -1;
}

int ltD_open_entry(int folder, const char *name) {
  return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What has the name: an empty folder, or anything else. */
static bool remove_name(int folder, const char *name) {
  if (unlinkat(folder, name, AT_REMOVEDIR) == 0) return true;
  return errno == ENOTDIR && unlinkat(folder, name, 0) == 0;
}

bool ltD_remove_entry(int folder, const char *name) {
  int entry = ltD_open_entry(folder, name);
  if (entry >= 0) {
    for (int i = 0; i < LTD_ENTRY_FILES; i++) remove_name(entry, ltD_entry_files[i]);
    close(entry);
  }
  return remove_name(folder, name);
}

/* ---- Entries -------------------------------------------------------------------------------- */

/* What 'sum' holds: the hash of the image, then that of all that the key was made from. */
static void make_sum(uint8_t sum[SUM_SIZE], const ltD_key *key, const void *image, size_t size) {
  ltD_hash h;
  ltD_hash_begin(&h);
  ltD_hash_add(&h, image, size);
  ltD_hash_end(&h, sum);
  memcpy(sum + 32, key->digest, 32);
}

static bool read_sum(int entry, uint8_t sum[SUM_SIZE]) {
  size_t size;
  int file = open_file(entry, sum_name, &size);
  if (file < 0) return false;
  bool good = size == SUM_SIZE && ltD_read_all(file, sum, SUM_SIZE);
  close(file);
  return good;
}

static void *read_image(int entry, const lt_allocator *allocator, size_t *size) {
  int file = open_file(entry, image_name, size);
  if (file < 0) return NULL;
  void *image = *size == 0 ? NULL : allocator->reallocate(allocator->context, NULL, 0, *size);
  if (image != NULL && !ltD_read_all(file, image, *size)) {
    allocator->reallocate(allocator->context, image, *size, 0);
    image = NULL;
  }
  close(file);
  return image;
}

static void *read_checked(int entry, const lt_allocator *allocator, const ltD_key *key,
                          size_t *size) {
  struct stat s;
  uint8_t there[SUM_SIZE], wanted[SUM_SIZE];
  if (fstat(entry, &s) != 0 || !ltD_is_private(&s) || !read_sum(entry, there)) return NULL;
  void *image = read_image(entry, allocator, size);
  if (image == NULL) return NULL;
  make_sum(wanted, key, image, *size);
  if (memcmp(there, wanted, sizeof wanted) == 0) return image;
  allocator->reallocate(allocator->context, image, *size, 0);
  return NULL;
}

/* Else its kernel is compiled each time. */
static void remove_damaged(ltD_cache *cache, const char *name) {
  if (ltD_remove_entry(cache->directory, name) || errno == ENOENT || cache->reason[0] != '\0')
    return;
  snprintf(cache->reason, sizeof cache->reason,
           "'%.200s/%s' holds no whole kernel, and cannot be removed: %s",
           cache->folder == NULL ? "" : cache->folder, name, strerror(errno));
}

/*
** A used entry becomes the newest. Where the folder cannot be written, it stays as old as it is. A
** limit of 0 is one of no kernels.
*/
void *ltD_cache_read(ltD_cache *cache, const lt_allocator *allocator, const ltD_key *key,
                     size_t *size) {
  if (!ltD_cache_open(cache, allocator) || cache->limit == 0) return NULL;
  int entry = ltD_open_entry(cache->directory, key->text);
  if (entry < 0) return NULL;
  void *image = read_checked(entry, allocator, key, size);
  if (image != NULL) futimens(entry, NULL);
  close(entry);
  if (image == NULL) remove_damaged(cache, key->text);
  return image;
}

void ltD_name_temporary(const ltD_cache *cache, unsigned attempt, char name[64]) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  snprintf(name, 64, "tmp.%ld.%lx.%lx.%u", (long)getpid(), (unsigned long)now.tv_nsec,
           (unsigned long)(uintptr_t)cache >> 4, attempt);
}

static bool make_temporary(const ltD_cache *cache, char name[64]) {
  for (unsigned attempt = 0; attempt < 100; attempt++) {
    ltD_name_temporary(cache, attempt, name);
    if (mkdirat(cache->directory, name, 0700) == 0) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

static bool write_entry(int entry, const ltD_key *key, const void *image, size_t size,
                        const char *source) {
  uint8_t sum[SUM_SIZE];
  make_sum(sum, key, image, size);
  return ltD_write_file(entry, source_name, source, strlen(source)) &&
         ltD_write_file(entry, image_name, image, size) &&
         ltD_write_file(entry, sum_name, sum, SUM_SIZE);
}

/* Whoever renames second finds the entry there: it is as good as its own. */
static bool publish(const ltD_cache *cache, const char *temporary, const ltD_key *key) {
  if (renameat(cache->directory, temporary, cache->directory, key->text) == 0) return true;
  if (errno == ENOTDIR) /* no entry is there, but a file */
    return ltD_remove_entry(cache->directory, key->text) &&
           renameat(cache->directory, temporary, cache->directory, key->text) == 0;
  if (errno != EEXIST && errno != ENOTEMPTY) return false;
  ltD_remove_entry(cache->directory, temporary);
  return true;
}

static bool fail_to_write(ltD_cache *cache, const char *temporary) {
  refuse(cache, "cache folder '%.200s' cannot be written: %s",
         cache->folder == NULL ? "" : cache->folder, strerror(errno));
  cache->unwritable = true;
  if (temporary != NULL) ltD_remove_entry(cache->directory, temporary);
  return false;
}

bool ltD_cache_write(ltD_cache *cache, const lt_allocator *allocator, const ltD_key *key,
                     const void *image, size_t size, const char *source) {
  char temporary[64];
  if (cache->directory < 0 || cache->unwritable || cache->limit == 0) return false;
  if (!make_temporary(cache, temporary)) return fail_to_write(cache, NULL);
  int entry = ltD_open_entry(cache->directory, temporary);
  bool good = entry >= 0 && write_entry(entry, key, image, size, source);
  int error = errno;
  if (entry >= 0) close(entry);
  errno = error;
  if (!good || !publish(cache, temporary, key)) return fail_to_write(cache, temporary);
  ltD_cache_grow(cache, allocator, size + strlen(source) + SUM_SIZE);
  return true;
}
