/*
** The state of an lt_cuda: memory of the host, errors, warnings.
*/
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

/* ---- Memory --------------------------------------------------------------------------------- */

static void *reallocate_with_malloc(void *context, void *block, size_t old_size, size_t new_size) {
  (void)context;
  (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

void *ltD_new(lt_cuda *cuda, size_t size) {
  void *block = cuda->allocator.reallocate(cuda->allocator.context, NULL, 0, size);
  if (block == NULL) {
    ltD_fail(cuda, LT_NO_MEMORY, "not enough memory");
    return NULL;
  }
  memset(block, 0, size);
  return block;
}

void ltD_delete(lt_cuda *cuda, void *block, size_t size) {
  if (block != NULL) cuda->allocator.reallocate(cuda->allocator.context, block, size, 0);
}

static char *format_text(lt_cuda *cuda, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  char *text = length < 0 ? NULL : ltD_new(cuda, (size_t)length + 1);
  if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

char *ltD_text(lt_cuda *cuda, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(cuda, format, arguments);
  va_end(arguments);
  return text;
}

void ltD_delete_text(lt_cuda *cuda, char *text) {
  if (text != NULL) ltD_delete(cuda, text, strlen(text) + 1);
}

/* ---- Errors --------------------------------------------------------------------------------- */

bool ltD_fail(lt_cuda *cuda, lt_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  cuda->error->status = status;
  vsnprintf(cuda->error->message, LT_ERROR_SIZE, format, arguments);
  va_end(arguments);
  return false;
}

/* After these, nothing more runs in the context. */
static bool ends_context(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
  }
}

static void append(lt_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(lt_error *error, const char *format, ...) {
  size_t used = strlen(error->message);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message + used, LT_ERROR_SIZE - used, format, arguments);
  va_end(arguments);
}

static void name_graph(lt_cuda *cuda, const ltD_last_launch *last) {
  const ltD_kernels *k = &last->kernels;
  append(cuda->error, "; the last launch was a graph on device %d, of", last->device);
  if (k->count == 0) append(cuda->error, " no kernels");
  for (size_t i = 0; i < k->count && i < LTD_NAMED_KERNELS; i++)
    append(cuda->error, "%s '%s'", i == 0 ? " kernel" : ",", k->list[i]->name);
  if (k->count > LTD_NAMED_KERNELS) append(cuda->error, " and others");
}

static void name_kernel(lt_cuda *cuda, const ltD_last_launch *last) {
  const lt_cuda_launch *l = &last->launch;
  append(cuda->error, "; the last launch was kernel '%s' on device %d, grid %u x %u x %u",
         last->kernel->name, last->device, l->grid[0], l->grid[1], l->grid[2]);
  append(cuda->error, ", block %u x %u x %u, shared %zu", l->block[0], l->block[1], l->block[2],
         l->shared);
}

static void name_last_launch(lt_cuda *cuda) {
  const ltD_last_launch *last = &cuda->last;
  if (last->is_graph)
    name_graph(cuda, last);
  else if (last->kernel != NULL)
    name_kernel(cuda, last);
  else
    append(cuda->error, "; nothing was launched from here");
  append(cuda->error, "; the device's context is lost: this process cannot use it any more");
}

static void name_error(lt_cuda *cuda, CUresult result, const char *call) {
  const char *name = NULL, *text = NULL;
  cuda->driver.cuGetErrorName(result, &name);
  cuda->driver.cuGetErrorString(result, &text);
  if (name == NULL)
    ltD_fail(cuda, LT_DEVICE, "%s: error %d", call, (int)result);
  else
    ltD_fail(cuda, LT_DEVICE, "%s: %s (%s)", call, name, text == NULL ? "no text" : text);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) cuda->error->status = LT_NO_MEMORY;
}

static void name_shortage(lt_cuda *cuda) {
  const ltD_shortage *s = &cuda->shortage;
  if (s->total == 0) return;
  append(cuda->error, "; device %d has %zu of %zu bytes free, %zu are held here", s->device,
         s->available, s->total, lt_cuda_used(cuda, s->device));
  cuda->shortage.total = 0;
}

static void name_state(lt_cuda *cuda, CUresult result) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) name_shortage(cuda);
  if (ends_context(result)) name_last_launch(cuda);
}

bool ltD_check(lt_cuda *cuda, CUresult result, const char *call) {
  if (result == CUDA_SUCCESS) return true;
  name_error(cuda, result, call);
  name_state(cuda, result);
  return false;
}

bool ltD_check_for(lt_cuda *cuda, CUresult result, const char *call, const char *format, ...) {
  if (result == CUDA_SUCCESS) return true;
  name_error(cuda, result, call);
  size_t used = strlen(cuda->error->message);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(cuda->error->message + used, LT_ERROR_SIZE - used, format, arguments);
  va_end(arguments);
  name_state(cuda, result);
  return false;
}

/* A warning that finds no memory is lost: it is no more than that. */
void ltD_warn(lt_cuda *cuda, const char *text) {
  lt_error before = *cuda->error;
  const char *old = cuda->warnings == NULL ? "" : cuda->warnings;
  char *warnings = ltD_text(cuda, "%s%s%s", old, old[0] == '\0' ? "" : "\n", text);
  *cuda->error = before;
  if (warnings == NULL) return;
  ltD_delete_text(cuda, cuda->warnings);
  cuda->warnings = warnings;
}

const char *lt_cuda_take_warnings(lt_cuda *cuda) {
  ltD_delete_text(cuda, cuda->taken);
  cuda->taken = cuda->warnings;
  cuda->warnings = NULL;
  return cuda->taken == NULL ? "" : cuda->taken;
}

/* ---- Opening, closing ------------------------------------------------------------------------ */

lt_cuda *lt_cuda_open(const lt_allocator *allocator, lt_error *error) {
  static const lt_allocator with_malloc = {reallocate_with_malloc, NULL};
  if (allocator == NULL) allocator = &with_malloc;
  lt_cuda *cuda = allocator->reallocate(allocator->context, NULL, 0, sizeof *cuda);
  if (cuda == NULL) {
    *error = (lt_error){LT_NO_MEMORY, "not enough memory"};
    return NULL;
  }
  memset(cuda, 0, sizeof *cuda);
  cuda->allocator = *allocator;
  cuda->error = error;
  cuda->device_count = -1;
  cuda->cache.directory = -1;
  return cuda;
}

void lt_cuda_close(lt_cuda *cuda) {
  if (cuda == NULL) return;
  ltD_free_kernels(cuda);
  ltD_release_devices(cuda);
  ltD_close_libraries(cuda);
  ltD_cache_close(&cuda->cache, &cuda->allocator);
  ltD_delete_text(cuda, cuda->reason);
  ltD_delete_text(cuda, cuda->log);
  ltD_delete_text(cuda, cuda->warnings);
  ltD_delete_text(cuda, cuda->taken);
  ltD_delete(cuda, cuda->note, cuda->note_size);
  ltD_delete(cuda, cuda, sizeof *cuda);
}

lt_cuda_statistics lt_cuda_get_statistics(const lt_cuda *cuda) { return cuda->statistics; }

const char *lt_cuda_log(const lt_cuda *cuda) { return cuda->log == NULL ? "" : cuda->log; }
