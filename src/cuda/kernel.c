/*
** Kernels: from memory, disk or the compiler; on devices.
*/
#include <stdio.h>

#include "device.h"

/* Shared memory that a block gets without opting in, static and dynamic together. */
#define SHARED_WITHOUT_OPT_IN ((size_t)48 * 1024)

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
static lt_cuda_kernel *keep_kernel(lt_cuda *cuda, const lt_cuda_source *source, const char *arch,
                                   const ltD_key *key, void *image, size_t size) {
  lt_cuda_kernel *k = ltD_new(cuda, sizeof *k);
  if (k == NULL) {
    ltD_delete(cuda, image, size);
    return NULL;
  }
  *k = (lt_cuda_kernel){.key = *key, .image = image, .size = size};
  k->name = ltD_text(cuda, "%s", source->kernel);
  k->arch = ltD_text(cuda, "%s", arch);
  if (k->name == NULL || k->arch == NULL) {
    free_kernel(cuda, k);
    return NULL;
  }
  lt_cuda_kernel **bucket = bucket_of(cuda, key);
  k->next = *bucket;
  *bucket = k;
  return k;
}

/* ---- Compiling ------------------------------------------------------------------------------ */

/* What was compiled, as a person wants to read it. */
static char *write_source(lt_cuda *cuda, const lt_cuda_source *source, const char *arch) {
  char *text =
      ltD_text(cuda, "// kernel %s for %s, by %s\n", source->kernel, arch, cuda->compiler.identity);
  for (size_t i = 0; i <= source->headers && text != NULL; i++) {
    bool is_header = i < source->headers;
    const char *name = is_header ? source->header_names[i] : source->file;
    const char *body = is_header ? source->header_texts[i] : source->text;
    char *longer = ltD_text(cuda, "%s\n// ==== %s\n%s", text, name, body);
    ltD_delete_text(cuda, text);
    text = longer;
  }
  return text;
}

static void warn_of_cache(lt_cuda *cuda, const char *before) {
  if (strcmp(before, cuda->cache.reason) != 0) ltD_warn(cuda, cuda->cache.reason);
}

static void write_to_cache(lt_cuda *cuda, const lt_cuda_source *source, const char *arch,
                           const ltD_key *key, const void *image, size_t size) {
  char reason[LTD_REASON];
  lt_error before = *cuda->error;
  char *text = write_source(cuda, source, arch);
  memcpy(reason, cuda->cache.reason, sizeof reason);
  if (text != NULL) ltD_cache_write(&cuda->cache, key, image, size, text);
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

static lt_cuda_kernel *compile(lt_cuda *cuda, const lt_cuda_source *source, const char *arch,
                               const ltD_key *key) {
  size_t size = 0;
  void *image = read_from_cache(cuda, key, &size);
  bool from_disk = image != NULL;
  if (!from_disk) {
    if (!ltD_compile(cuda, source, arch, &image, &size)) return NULL;
    write_to_cache(cuda, source, arch, key, image, size);
  }
  lt_cuda_kernel *k = keep_kernel(cuda, source, arch, key, image, size);
  if (k == NULL) return NULL;
  k->origin = from_disk ? LT_CUDA_FROM_DISK : LT_CUDA_COMPILED;
  if (from_disk)
    cuda->statistics.from_disk++;
  else
    cuda->statistics.compiled++;
  return k;
}

lt_cuda_kernel *lt_cuda_compile(lt_cuda *cuda, const lt_cuda_source *source) {
  char arch[32];
  ltD_key key;
  ltD_delete_text(cuda, cuda->log);
  cuda->log = NULL;
  if (!ltD_find_compiler(cuda) || !write_arch(cuda, source, arch, sizeof arch)) return NULL;
  make_key(cuda, source, arch, &key);
  lt_cuda_kernel *k = find_kernel(cuda, &key);
  if (k == NULL) return compile(cuda, source, arch, &key);
  k->origin = LT_CUDA_FROM_MEMORY;
  cuda->statistics.from_memory++;
  return k;
}

lt_cuda_origin lt_cuda_kernel_origin(const lt_cuda_kernel *kernel) { return kernel->origin; }
const char *lt_cuda_kernel_arch(const lt_cuda_kernel *kernel) { return kernel->arch; }
const char *lt_cuda_kernel_key(const lt_cuda_kernel *kernel) { return kernel->key.text; }

const void *lt_cuda_kernel_image(const lt_cuda_kernel *kernel, size_t *size) {
  *size = kernel->size;
  return kernel->image;
}

void lt_cuda_get_cache(lt_cuda *cuda, lt_cuda_cache *out) {
  ltD_cache_open(&cuda->cache, &cuda->allocator);
  *out = (lt_cuda_cache){cuda->cache.folder == NULL ? "" : cuda->cache.folder, cuda->cache.reason,
                         0, cuda->cache.limit, 0};
  ltD_cache_measure(&cuda->cache, &out->size, &out->entries);
}

/* ---- Kernels on devices --------------------------------------------------------------------- */

static bool make_room(lt_cuda *cuda, lt_cuda_kernel *k) {
  if (k->loaded != NULL) return true;
  k->loaded = ltD_new(cuda, (size_t)cuda->device_count * sizeof *k->loaded);
  if (k->loaded != NULL) k->devices = cuda->device_count;
  return k->loaded != NULL;
}

/* 0 where it fails; '*result' keeps the first failure. */
static int attribute(lt_cuda *cuda, CUfunction function, CUfunction_attribute which,
                     CUresult *result) {
  int value = 0;
  CUresult own = cuda->driver.cuFuncGetAttribute(&value, which, function);
  if (*result == CUDA_SUCCESS) *result = own;
  return own == CUDA_SUCCESS ? value : 0;
}

static bool check_attributes(lt_cuda *cuda, const lt_cuda_kernel *k, CUresult result) {
  return ltD_check_for(cuda, result, "cuFuncGetAttribute", " for kernel '%s'", k->name);
}

static bool find_function(lt_cuda *cuda, const lt_cuda_kernel *k, CUmodule module, ltD_loaded *l) {
  CUresult result = cuda->driver.cuModuleGetFunction(&l->function, module, k->name);
  if (!ltD_check_for(cuda, result, "cuModuleGetFunction", " for kernel '%s' (is it extern \"C\"?)",
                     k->name))
    return false;
  l->static_shared =
      (size_t)attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &result);
  return check_attributes(cuda, k, result);
}

/* Within the device's context. */
static bool load(lt_cuda *cuda, lt_cuda_kernel *k, int device) {
  ltD_loaded *l = &k->loaded[device];
  CUmodule module;
  CUresult result = cuda->driver.cuModuleLoadData(&module, k->image);
  if (!ltD_check_for(cuda, result, "cuModuleLoadData", " for kernel '%s', compiled for %s", k->name,
                     k->arch))
    return false;
  if (!find_function(cuda, k, module, l)) {
    cuda->driver.cuModuleUnload(module);
    return false;
  }
  l->module = module;
  cuda->statistics.loads++;
  return true;
}

ltD_loaded *ltD_enter_kernel(lt_cuda *cuda, lt_cuda_kernel *k, int device, CUcontext *before) {
  if (!ltD_enter(cuda, device, before)) return NULL;
  if (make_room(cuda, k) && (k->loaded[device].module != NULL || load(cuda, k, device)))
    return &k->loaded[device];
  ltD_leave(cuda, device, *before);
  return NULL;
}

bool lt_cuda_get_resources(lt_cuda *cuda, lt_cuda_kernel *kernel, int device,
                           lt_cuda_resources *out) {
  CUcontext before;
  ltD_loaded *l = ltD_enter_kernel(cuda, kernel, device, &before);
  if (l == NULL) return false;
  CUresult result = CUDA_SUCCESS;
  out->registers = attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_NUM_REGS, &result);
  out->local_memory = attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &result);
  out->shared_memory = (int)l->static_shared;
  out->max_threads = attribute(cuda, l->function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &result);
  ltD_leave(cuda, device, before);
  return check_attributes(cuda, kernel, result);
}

bool lt_cuda_get_parameter(lt_cuda *cuda, lt_cuda_kernel *kernel, int device, size_t i,
                           size_t *offset, size_t *size) {
  CUcontext before;
  if (!lt_cuda_available(cuda) || cuda->driver.cuFuncGetParamInfo == NULL) return false;
  ltD_loaded *l = ltD_enter_kernel(cuda, kernel, device, &before);
  if (l == NULL) return false;
  CUresult result = cuda->driver.cuFuncGetParamInfo(l->function, i, offset, size);
  ltD_leave(cuda, device, before);
  return result == CUDA_SUCCESS;
}

/* ---- Shared memory -------------------------------------------------------------------------- */

static bool fail_shared(lt_cuda *cuda, const lt_cuda_kernel *k, int device, const ltD_loaded *l,
                        size_t shared, size_t most) {
  return ltD_fail(cuda, LT_INVALID,
                  "kernel '%s': %zu bytes of dynamic shared memory and %zu static are %zu, where a "
                  "block on device %d has %zu",
                  k->name, shared, l->static_shared, shared + l->static_shared, device, most);
}

bool ltD_opt_in(lt_cuda *cuda, lt_cuda_kernel *k, int device, ltD_loaded *l, size_t shared) {
  lt_cuda_device info;
  if (shared <= l->shared || shared + l->static_shared <= SHARED_WITHOUT_OPT_IN) return true;
  if (!lt_cuda_get_device(cuda, device, &info)) return false;
  if (shared + l->static_shared > info.shared_memory_most)
    return fail_shared(cuda, k, device, l, shared, info.shared_memory_most);
  CUresult result = cuda->driver.cuFuncSetAttribute(
      l->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared);
  if (!ltD_check_for(cuda, result, "cuFuncSetAttribute", " for %zu bytes of shared memory", shared))
    return false;
  l->shared = shared;
  return true;
}

bool lt_cuda_occupancy(lt_cuda *cuda, lt_cuda_kernel *kernel, int device, int threads,
                       size_t shared, int *blocks) {
  CUcontext before;
  ltD_loaded *l = ltD_enter_kernel(cuda, kernel, device, &before);
  if (l == NULL) return false;
  bool good = ltD_opt_in(cuda, kernel, device, l, shared);
  CUresult result = !good ? CUDA_SUCCESS
                          : cuda->driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                blocks, l->function, threads, shared);
  ltD_leave(cuda, device, before);
  return good && ltD_check(cuda, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
