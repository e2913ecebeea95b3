/*
** Kernels: from memory, from disk, or compiled.
*/
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>

#include "device.h"

/* ---- Keys ----------------------------------------------------------------------------------- */

/* Changes when the same inputs would give other machine code. */
static const char cache_format[] = "lutile kernel 1";

static void make_key(const lt_cuda *cuda, const lt_cuda_source *source, const char *arch,
                     ltD_key *key) {
  ltD_hash h;
  ltD_hash_begin(&h);
  ltD_key_add(&h, cache_format);
  ltD_key_add(&h, cuda->compiler.identity);
  ltD_key_add(&h, arch);
  ltD_key_add(&h, source->kernel);
  ltD_key_add(&h, source->file);
  ltD_key_add(&h, source->text);
  ltD_hash_add(&h, &source->option_count, sizeof source->option_count);
  for (size_t i = 0; i < source->option_count; i++) ltD_key_add(&h, source->options[i]);
  ltD_hash_add(&h, &source->headers, sizeof source->headers);
  for (size_t i = 0; i < source->headers; i++) {
    ltD_key_add(&h, source->header_names[i]);
    ltD_key_add(&h, source->header_texts[i]);
  }
  ltD_key_end(&h, key);
}

/* The key of a kernel that read files: its machine code is part of it. */
static void add_image_to_key(ltD_key *key, const void *image, size_t size) {
  ltD_hash h;
  ltD_hash_begin(&h);
  ltD_key_add(&h, key->text);
  ltD_hash_add(&h, image, size);
  ltD_key_end(&h, key);
}

/* The device's own architecture with all of its instructions. */
static bool write_arch(lt_cuda *cuda, const lt_cuda_source *source, char *arch, size_t size) {
  lt_cuda_device device;
  if (source->arch != NULL) {
    snprintf(arch, size, "%s", source->arch);
    return true;
  }
  if (!lt_cuda_get_device(cuda, source->device, &device)) return false;
  snprintf(arch, size, "sm_%d%d%s", device.major, device.minor, device.major >= 9 ? "a" : "");
  return true;
}

/* ---- Kernels in memory ---------------------------------------------------------------------- */

static lt_cuda_kernel **bucket_of(lt_cuda *cuda, const ltD_key *key) {
  return &cuda->kernels[key->digest[0] % LTD_BUCKETS];
}

static lt_cuda_kernel *find_kernel(lt_cuda *cuda, const ltD_key *key) {
  for (lt_cuda_kernel *k = *bucket_of(cuda, key); k != NULL; k = k->next)
    if (memcmp(k->key.digest, key->digest, sizeof key->digest) == 0) return k;
  return NULL;
}

static void free_kernel(lt_cuda *cuda, lt_cuda_kernel *k) {
  for (int i = 0; i < k->devices; i++) {
    CUcontext before;
    if (k->loaded[i].module == NULL || !ltD_enter(cuda, i, &before)) continue;
    cuda->driver.cuModuleUnload(k->loaded[i].module);
    ltD_leave(cuda, i, before);
  }
  ltD_delete(cuda, k->loaded, (size_t)k->devices * sizeof *k->loaded);
  ltD_delete(cuda, k->image, k->size);
  ltD_delete_text(cuda, k->name);
  ltD_delete_text(cuda, k->arch);
  ltD_delete_text(cuda, k->log);
  ltD_delete(cuda, k, sizeof *k);
}

void ltD_free_kernels(lt_cuda *cuda) {
  ltD_free_repeats(cuda);
  for (size_t i = 0; i < LTD_BUCKETS; i++) {
    while (cuda->kernels[i] != NULL) {
      lt_cuda_kernel *k = cuda->kernels[i];
      cuda->kernels[i] = k->next;
      free_kernel(cuda, k);
    }
  }
}

/* Takes over the image, also on failure. */
static lt_cuda_kernel *keep_kernel(lt_cuda *cuda, const ltD_job *job, void *image, size_t size) {
  lt_cuda_kernel *k = ltD_new(cuda, sizeof *k);
  if (k == NULL) {
    ltD_delete(cuda, image, size);
    return NULL;
  }
  *k = (lt_cuda_kernel){.key = job->key, .image = image, .size = size};
  k->name = ltD_text(cuda, "%s", job->source->kernel);
  k->arch = ltD_text(cuda, "%s", job->arch);
  if (k->name == NULL || k->arch == NULL) {
    free_kernel(cuda, k);
    return NULL;
  }
  lt_cuda_kernel **bucket = bucket_of(cuda, &job->key);
  k->next = *bucket;
  *bucket = k;
  return k;
}

/* ---- What was compiled, as a person wants to read it ------------------------------------------ */

static const char before_name[] = "\n// ==== ", after_name[] = "\n";

/* The headers, and last the text that includes them. */
static const char *name_of_text(const lt_cuda_source *source, size_t i) {
  return i < source->headers ? source->header_names[i] : source->file;
}
static const char *text_of(const lt_cuda_source *source, size_t i) {
  return i < source->headers ? source->header_texts[i] : source->text;
}

static size_t size_of_texts(const lt_cuda_source *source) {
  size_t size = 0;
  for (size_t i = 0; i <= source->headers; i++)
    size += strlen(before_name) + strlen(name_of_text(source, i)) + strlen(after_name) +
            strlen(text_of(source, i));
  return size;
}

static char *write_source(lt_cuda *cuda, const lt_cuda_source *source, const char *arch) {
  char *head =
      ltD_text(cuda, "// kernel %s for %s, by %s\n", source->kernel, arch, cuda->compiler.identity);
  char *text = head == NULL ? NULL : ltD_new(cuda, strlen(head) + size_of_texts(source) + 1);
  if (text != NULL) {
    char *end = stpcpy(text, head);
    for (size_t i = 0; i <= source->headers; i++) {
      end = stpcpy(stpcpy(stpcpy(end, before_name), name_of_text(source, i)), after_name);
      end = stpcpy(end, text_of(source, i));
    }
  }
  ltD_delete_text(cuda, head);
  return text;
}

/* ---- Compiling ------------------------------------------------------------------------------ */

static void warn_of_cache(lt_cuda *cuda, const char *before) {
  if (strcmp(before, cuda->cache.reason) != 0) ltD_warn(cuda, cuda->cache.reason);
}

static void write_to_cache(lt_cuda *cuda, const ltD_job *job, const void *image, size_t size) {
  char reason[LTD_REASON];
  lt_error before = *cuda->error;
  char *text = write_source(cuda, job->source, job->arch);
  memcpy(reason, cuda->cache.reason, sizeof reason);
  if (text != NULL) ltD_cache_write(&cuda->cache, &cuda->allocator, &job->key, image, size, text);
  ltD_delete_text(cuda, text);
  warn_of_cache(cuda, reason);
  *cuda->error = before;
}

static void *read_from_cache(lt_cuda *cuda, const ltD_key *key, size_t *size) {
  char reason[LTD_REASON];
  memcpy(reason, cuda->cache.reason, sizeof reason);
  void *image = ltD_cache_read(&cuda->cache, &cuda->allocator, key, size);
  warn_of_cache(cuda, reason);
  return image;
}

static lt_cuda_kernel *count(lt_cuda *cuda, lt_cuda_kernel *k, lt_cuda_origin origin) {
  if (k == NULL) return NULL;
  k->origin = origin;
  if (origin == LT_CUDA_COMPILED) cuda->statistics.compiled++;
  if (origin == LT_CUDA_FROM_DISK) cuda->statistics.from_disk++;
  if (origin == LT_CUDA_FROM_MEMORY) cuda->statistics.from_memory++;
  return k;
}

bool ltD_name_job(lt_cuda *cuda, const lt_cuda_source *source, ltD_job *job) {
  *job = (ltD_job){.source = source};
  if (!ltD_find_compiler(cuda) || !write_arch(cuda, source, job->arch, sizeof job->arch))
    return false;
  make_key(cuda, source, job->arch, &job->key);
  return true;
}

bool ltD_find_kernel(lt_cuda *cuda, const ltD_job *job, lt_cuda_kernel **k) {
  size_t size = 0;
  *k = NULL;
  if (job->source->reads_files) return true;
  *k = count(cuda, find_kernel(cuda, &job->key), LT_CUDA_FROM_MEMORY);
  if (*k != NULL) return true;
  void *image = read_from_cache(cuda, &job->key, &size);
  if (image == NULL) return true;
  *k = count(cuda, keep_kernel(cuda, job, image, size), LT_CUDA_FROM_DISK);
  return *k != NULL;
}

static lt_cuda_kernel *keep_compiled(lt_cuda *cuda, const ltD_job *job, void *image, size_t size) {
  lt_cuda_kernel *k = keep_kernel(cuda, job, image, size);
  if (k != NULL && cuda->log != NULL) k->log = ltD_text(cuda, "%s", cuda->log);
  return count(cuda, k, LT_CUDA_COMPILED);
}

/* One kernel for all that have the same machine code. */
static lt_cuda_kernel *keep_reader(lt_cuda *cuda, ltD_job *job, void *image, size_t size) {
  add_image_to_key(&job->key, image, size);
  lt_cuda_kernel *k = find_kernel(cuda, &job->key);
  if (k == NULL) return keep_compiled(cuda, job, image, size);
  ltD_delete(cuda, image, size);
  return count(cuda, k, LT_CUDA_COMPILED);
}

lt_cuda_kernel *ltD_end_job(lt_cuda *cuda, ltD_job *job) {
  void *image;
  size_t size;
  if (!ltD_take_image(cuda, job, &image, &size)) return NULL;
  if (job->source->reads_files) return keep_reader(cuda, job, image, size);
  write_to_cache(cuda, job, image, size);
  return keep_compiled(cuda, job, image, size);
}

lt_cuda_kernel *lt_cuda_compile(lt_cuda *cuda, const lt_cuda_source *source) {
  ltD_job job;
  lt_cuda_kernel *k;
  ltD_forget_log(cuda);
  if (!ltD_name_job(cuda, source, &job) || !ltD_find_kernel(cuda, &job, &k)) return NULL;
  if (k != NULL) return k;
  if (!ltD_start_job(cuda, &job)) return NULL;
  ltD_run_job(&cuda->compiler, &job);
  return ltD_end_job(cuda, &job);
}

lt_cuda_origin lt_cuda_kernel_origin(const lt_cuda_kernel *kernel) { return kernel->origin; }
const char *lt_cuda_kernel_arch(const lt_cuda_kernel *kernel) { return kernel->arch; }
const char *lt_cuda_kernel_key(const lt_cuda_kernel *kernel) { return kernel->key.text; }
const char *lt_cuda_kernel_log(const lt_cuda_kernel *k) { return k->log == NULL ? "" : k->log; }

const void *lt_cuda_kernel_image(const lt_cuda_kernel *kernel, size_t *size) {
  *size = kernel->size;
  return kernel->image;
}

void lt_cuda_get_cache(lt_cuda *cuda, lt_cuda_cache *out) {
  ltD_cache_open(&cuda->cache, &cuda->allocator);
  *out = (lt_cuda_cache){cuda->cache.folder == NULL ? "" : cuda->cache.folder, cuda->cache.reason,
                         0, cuda->cache.limit, 0};
  ltD_cache_measure(&cuda->cache, &cuda->allocator, &out->size, &out->entries);
}
