/*
** Small files of text beside the kernels.
*/
#define _DEFAULT_SOURCE /* flock */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

/* A name that no kernel and nothing unfinished has, in the folder itself. */
static bool check_name(lt_cuda *cuda, const char *name) {
  size_t length = strlen(name);
  bool good = length > 0 && length < 64 && name[0] != '.' && strncmp(name, "tmp.", 4) != 0 &&
              strspn(name, "abcdefghijklmnopqrstuvwxyz_.") == length && strchr(name, '.') != NULL;
  return good || ltD_fail(cuda, LT_INVALID,
                          "'%.64s' is no name of a note: small letters, '_' and an ending like "
                          "'.lua' make one",
                          name);
}

static bool open_folder(lt_cuda *cuda) {
  return ltD_cache_open(&cuda->cache, &cuda->allocator) ||
         ltD_fail(cuda, LT_DEVICE, "%s", cuda->cache.reason);
}

static bool fail(lt_cuda *cuda, const char *name, const char *why) {
  const char *folder = cuda->cache.folder;
  return ltD_fail(cuda, LT_DEVICE, "'%.200s/%s' %s", folder == NULL ? "" : folder, name, why);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool check_file(lt_cuda *cuda, const char *name, const struct stat *s) {
  if (!S_ISREG(s->st_mode)) return fail(cuda, name, "is not used: it is no plain file");
  if (!ltD_is_private(s)) return fail(cuda, name, "is not used: others own it or can write to it");
  if ((uintmax_t)s->st_size > LT_CUDA_NOTE_SIZE)
    return fail(cuda, name, "is not used: it has more than 1 MiB");
  return true;
}

static bool read_file(lt_cuda *cuda, const char *name, int file) {
  struct stat s;
  if (fstat(file, &s) != 0) return fail(cuda, name, strerror(errno));
  if (!check_file(cuda, name, &s)) return false;
  size_t size = (size_t)s.st_size;
  cuda->note = ltD_new(cuda, size + 1);
  if (cuda->note == NULL) return false;
  cuda->note_size = size + 1;
  return ltD_read_all(file, cuda->note, size) || fail(cuda, name, "cannot be read");
}

static void forget_note(lt_cuda *cuda) {
  ltD_delete(cuda, cuda->note, cuda->note_size);
  cuda->note = NULL;
  cuda->note_size = 0;
}

/* O_NONBLOCK: what is no plain file must not make us wait before that is known. */
bool lt_cuda_read_note(lt_cuda *cuda, const char *name, const char **text, size_t *size) {
  *text = NULL;
  *size = 0;
  forget_note(cuda);
  if (!check_name(cuda, name) || !open_folder(cuda)) return false;
  int file = openat(cuda->cache.directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return errno == ENOENT || fail(cuda, name, strerror(errno));
  bool good = read_file(cuda, name, file);
  close(file);
  if (!good) return false;
  *text = cuda->note;
  *size = cuda->note_size - 1;
  return true;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static bool replace_file(const ltD_cache *cache, const char *name, const char *text, size_t size) {
  char temporary[64];
  ltD_name_temporary(cache, 0, temporary);
  bool good = ltD_write_file(cache->directory, temporary, text, size) &&
              renameat(cache->directory, temporary, cache->directory, name) == 0;
  int error = errno;
  if (!good) unlinkat(cache->directory, temporary, 0);
  errno = error;
  return good;
}

bool lt_cuda_write_note(lt_cuda *cuda, const char *name, const char *text, size_t size) {
  if (!check_name(cuda, name) || !open_folder(cuda)) return false;
  if (size > LT_CUDA_NOTE_SIZE)
    return ltD_fail(cuda, LT_LIMIT, "'%s' would have %zu bytes, where a note has %zu at most", name,
                    size, LT_CUDA_NOTE_SIZE);
  return replace_file(&cuda->cache, name, text, size) ||
         ltD_fail(cuda, LT_DEVICE, "'%.200s/%s' cannot be written: %s",
                  cuda->cache.folder == NULL ? "" : cuda->cache.folder, name, strerror(errno));
}

void lt_cuda_lock_notes(lt_cuda *cuda) {
  if (!ltD_cache_open(&cuda->cache, &cuda->allocator)) return;
  while (flock(cuda->cache.directory, LOCK_EX) != 0 && errno == EINTR) continue;
}

void lt_cuda_unlock_notes(lt_cuda *cuda) {
  if (cuda->cache.directory >= 0) flock(cuda->cache.directory, LOCK_UN);
}
