/*
** The size of the folder of compiled kernels: within a limit, the oldest entries out first. Other
** processes write there, too, so what is known of the size is as of the last look at all entries;
** such looks are few, for each opens every entry.
*/
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"

/* What a process that was killed left unfinished goes after this many seconds. */
#define STALE_AFTER 600
/* The part of the limit that is written between looks, and that is free behind one that removes. */
#define SLACK 16

typedef struct entry {
  char name[LTD_KEY_NAME];
  struct timespec time;
  uint64_t size;
} entry;

/* ---- A list of entries ---------------------------------------------------------------------- */

typedef struct entries {
  const lt_allocator *allocator;
  entry *list;
  size_t count, room;
  uint64_t size; /* of all, bytes */
} entries;

static bool make_room(entries *all) {
  size_t room = all->room == 0 ? 64 : 2 * all->room;
  entry *list = all->allocator->reallocate(all->allocator->context, all->list,
                                           all->room * sizeof *list, room * sizeof *list);
  if (list == NULL) return false;
  all->list = list;
  all->room = room;
  return true;
}

static void free_entries(entries *all) {
  if (all->list == NULL) return;
  all->allocator->reallocate(all->allocator->context, all->list, all->room * sizeof *all->list, 0);
}

static bool is_entry_name(const char *name) {
  return strlen(name) == LTD_KEY_NAME - 1 && strspn(name, "0123456789abcdef") == LTD_KEY_NAME - 1;
}

static uint64_t size_of_file(int folder, const char *name) {
  struct stat s;
  return fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)s.st_size : 0;
}

static bool measure_entry(int folder, const char *name, entry *e) {
  struct stat s;
  int opened = ltD_open_entry(folder, name);
  if (opened < 0) return false;
  bool good = fstat(opened, &s) == 0;
  snprintf(e->name, sizeof e->name, "%s", name);
  e->time = s.st_mtim;
  e->size = 0;
  for (int i = 0; i < LTD_ENTRY_FILES; i++) e->size += size_of_file(opened, ltD_entry_files[i]);
  close(opened);
  return good;
}

/* Removes what a killed process left. */
static void remove_stale(int folder, const char *name) {
  struct stat s;
  if (strncmp(name, "tmp.", 4) != 0 || fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (time(NULL) - s.st_mtim.tv_sec > STALE_AFTER) ltD_remove_entry(folder, name);
}

static DIR *open_list(const ltD_cache *cache) {
  int again = openat(cache->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *names = again < 0 ? NULL : fdopendir(again);
  if (names == NULL && again >= 0) close(again);
  return names;
}

/* False where there was no memory, or no right, to list all. */
static bool find_entries(const ltD_cache *cache, entries *all) {
  DIR *names = open_list(cache);
  bool good = names != NULL;
  if (!good) return false;
  for (struct dirent *d; (d = readdir(names)) != NULL;) {
    remove_stale(cache->directory, d->d_name);
    if (!is_entry_name(d->d_name)) continue;
    good = all->count < all->room || make_room(all);
    if (!good) break;
    entry *e = &all->list[all->count];
    if (!measure_entry(cache->directory, d->d_name, e)) continue;
    all->size += e->size;
    all->count++;
  }
  closedir(names);
  return good;
}

/* ---- The limit ------------------------------------------------------------------------------ */

static int compare_ages(const void *x, const void *y) {
  const struct timespec *a = &((const entry *)x)->time, *b = &((const entry *)y)->time;
  if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
  return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* The newest stays, whatever its size. */
static void remove_oldest(const ltD_cache *cache, entries *all, uint64_t size) {
  qsort(all->list, all->count, sizeof *all->list, compare_ages);
  for (size_t i = 0; i + 1 < all->count && all->size > size; i++) {
    if (ltD_remove_entry(cache->directory, all->list[i].name)) all->size -= all->list[i].size;
  }
}

static void trim(ltD_cache *cache, const lt_allocator *allocator) {
  entries all = {.allocator = allocator};
  cache->measured = find_entries(cache, &all);
  if (all.size > cache->limit) remove_oldest(cache, &all, cache->limit - cache->limit / SLACK);
  cache->size = all.size;
  cache->added = 0;
  free_entries(&all);
}

void ltD_cache_grow(ltD_cache *cache, const lt_allocator *allocator, uint64_t bytes) {
  cache->size += bytes;
  cache->added += bytes;
  bool is_known = cache->measured && cache->added <= cache->limit / SLACK;
  if (!is_known || cache->size > cache->limit) trim(cache, allocator);
}

void ltD_cache_measure(ltD_cache *cache, const lt_allocator *allocator, uint64_t *size,
                       uint64_t *count) {
  entries all = {.allocator = allocator};
  if (cache->directory >= 0) find_entries(cache, &all);
  *size = all.size;
  *count = all.count;
  free_entries(&all);
}
