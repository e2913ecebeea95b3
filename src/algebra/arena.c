/*
** The arena: chunks of memory handed out in order and given back from the end.
*/
#include <stdlib.h>

#include "value.h"

/* The first chunk holds several hundred nodes, more than most chains of operations need. */
#define FIRST_CHUNK ((size_t)16 * 1024)

/* ---- AddressSanitizer -------------------------------------------------------------------------- */

/* Memory of a chunk that is not handed out may not be touched, nor may the gap after each block. */

#if defined(__SANITIZE_ADDRESS__)
#define IS_GUARDED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_GUARDED
#endif
#endif

#ifdef IS_GUARDED
#include <sanitizer/asan_interface.h>
#define GAP ((size_t)8)
static void allow(const void *place, size_t size) { ASAN_UNPOISON_MEMORY_REGION(place, size); }
static void forbid(const void *place, size_t size) { ASAN_POISON_MEMORY_REGION(place, size); }
#else
#define GAP ((size_t)0)
static void allow(const void *place, size_t size) { (void)place, (void)size; }
static void forbid(const void *place, size_t size) { (void)place, (void)size; }
#endif

/* ---- Chunks ---------------------------------------------------------------------------------- */

static void *reallocate_with_malloc(void *context, void *block, size_t old_size, size_t new_size) {
  (void)context;
  (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

static char *chunk_bytes(ltA_chunk *chunk) { return (char *)(chunk + 1); }

static ltA_chunk *new_chunk(const lt_allocator *allocator, size_t capacity, ltA_chunk *older) {
  if (capacity > SIZE_MAX - sizeof(ltA_chunk)) return NULL;
  ltA_chunk *chunk =
      allocator->reallocate(allocator->context, NULL, 0, sizeof(ltA_chunk) + capacity);
  if (chunk == NULL) return NULL;
  *chunk = (ltA_chunk){older, capacity, 0};
  forbid(chunk_bytes(chunk), capacity);
  return chunk;
}

/* Gives back what lies beyond the first 'used' bytes. */
static void shrink(ltA_chunk *chunk, size_t used) {
  forbid(chunk_bytes(chunk) + used, chunk->used - used);
  chunk->used = used;
}

static void free_newest_chunk(lt_arena *arena) {
  ltA_chunk *chunk = arena->chunk;
  arena->chunk = chunk->older;
  allow(chunk_bytes(chunk), chunk->capacity);
  arena->allocator.reallocate(arena->allocator.context, chunk, sizeof(ltA_chunk) + chunk->capacity,
                              0);
}

lt_arena *lt_arena_new(const lt_allocator *allocator, lt_error *error) {
  static const lt_allocator with_malloc = {reallocate_with_malloc, NULL};
  if (allocator == NULL) allocator = &with_malloc;
  lt_arena *arena = allocator->reallocate(allocator->context, NULL, 0, sizeof *arena);
  if (arena == NULL) {
    *error = (lt_error){LT_NO_MEMORY, "not enough memory"};
    return NULL;
  }
  *arena = (lt_arena){*allocator, error, NULL};
  *error = (lt_error){LT_OK, ""};
  return arena;
}

void lt_arena_free(lt_arena *arena) {
  if (arena == NULL) return;
  while (arena->chunk != NULL) free_newest_chunk(arena);
  arena->allocator.reallocate(arena->allocator.context, arena, sizeof *arena, 0);
}

void lt_arena_reset(lt_arena *arena) {
  arena->error->status = LT_OK;
  arena->error->message[0] = '\0';
  if (arena->chunk == NULL) return;
  while (arena->chunk->older != NULL) free_newest_chunk(arena);
  shrink(arena->chunk, 0);
}

void *ltA_new_bytes(lt_arena *arena, size_t size) {
  if (ltA_failed(arena)) return NULL;
  if (size > PTRDIFF_MAX / 4) return ltA_no_memory(arena);
  size = ((size + 7) & ~(size_t)7) + GAP;
  ltA_chunk *chunk = arena->chunk;
  if (chunk == NULL || size > chunk->capacity - chunk->used) {
    size_t capacity = chunk == NULL ? FIRST_CHUNK : 2 * chunk->capacity;
    chunk = new_chunk(&arena->allocator, size > capacity ? size : capacity, chunk);
    if (chunk == NULL) return ltA_no_memory(arena);
    arena->chunk = chunk;
  }
  void *bytes = chunk_bytes(chunk) + chunk->used;
  chunk->used += size;
  allow(bytes, size - GAP);
  return bytes;
}

lt_value *ltA_new_nodes(lt_arena *arena, size_t count) {
  if (count > UINT32_MAX) return ltA_no_memory(arena);
  return ltA_new_bytes(arena, count * sizeof(lt_value));
}

void ltA_release(lt_arena *arena, ltA_mark mark) {
  if (mark.chunk == NULL) { /* made before the first chunk: keep that one */
    if (arena->chunk == NULL) return;
    while (arena->chunk->older != NULL) free_newest_chunk(arena);
    shrink(arena->chunk, 0);
    return;
  }
  while (arena->chunk != mark.chunk) free_newest_chunk(arena);
  shrink(arena->chunk, mark.used);
}

/* Whether 'v' was made in 'chunk' since the mark, and not, say, an operand handed back. */
static bool is_newer(const ltA_chunk *chunk, size_t since, const lt_value *v) {
  uintptr_t first = (uintptr_t)(chunk + 1) + since;
  return (uintptr_t)v >= first && (uintptr_t)v < (uintptr_t)(chunk + 1) + chunk->used;
}

const lt_value *ltA_keep_moved(lt_arena *arena, ltA_mark mark, const lt_value *v) {
  if (v == NULL) return NULL;
  ltA_chunk *chunk = arena->chunk;
  if (chunk != mark.chunk) return v; /* spread over chunks: the next reset gives it back */
  if (chunk == NULL) return v;
  if (!is_newer(chunk, mark.used, v)) {
    shrink(chunk, mark.used);
    return v;
  }
  char *place = chunk_bytes(chunk) + mark.used;
  size_t size = lt_value_size(v);
  allow(place, size);
  if ((const char *)v != place) memmove(place, v, size);
  shrink(chunk, mark.used + size);
  return (const lt_value *)(void *)place;
}
