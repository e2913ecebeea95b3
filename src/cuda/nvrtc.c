/*
** Compiling with NVRTC: the architecture, the compiler's messages.
*/
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

#define MAX_OPTIONS 64

/* Options that only save time: NVRTCs before that version do without. */
static const struct {
  const char *text;
  int since;
} savers[] = {
    {"--minimal", 12080}, /* no textures, no launches by kernels: less to read */
    {"--Ofast-compile=min", 13000},
    {"--ptxas-options=--Ofast-compile=0", 13000},
};

/* ---- Architectures -------------------------------------------------------------------------- */

/* The number in "sm_90a"; 0 for anything else. */
static int number_of_arch(const char *arch) {
  char *end;
  if (strncmp(arch, "sm_", 3) != 0 || arch[3] < '0' || arch[3] > '9') return 0;
  long number = strtol(arch + 3, &end, 10);
  if (*end == 'a' || *end == 'f') end++;
  return *end == '\0' && number < 10000 ? (int)number : 0;
}

/* What NVRTC compiles for: the lowest, the highest that is at most 'wanted' (0: none). */
static bool find_arch(lt_cuda *cuda, int wanted, int *lowest, int *best, int *highest) {
  int count = 0, archs[128];
  nvrtcResult result = cuda->compiler.nvrtcGetNumSupportedArchs(&count);
  if (result != NVRTC_SUCCESS || count < 1 || count > 128)
    return ltD_fail(cuda, LT_DEVICE, "nvrtcGetNumSupportedArchs: no architectures");
  cuda->compiler.nvrtcGetSupportedArchs(archs);
  *lowest = *highest = archs[0];
  *best = 0;
  for (int i = 0; i < count; i++) {
    if (archs[i] < *lowest) *lowest = archs[i];
    if (archs[i] > *highest) *highest = archs[i];
    if (archs[i] <= wanted && archs[i] > *best) *best = archs[i];
  }
  return true;
}

/* NVRTC's option for 'arch'. PTX for an older one, where NVRTC does not know it. */
static bool write_arch_option(lt_cuda *cuda, const char *arch, char *option, size_t size,
                              bool *is_ptx) {
  int wanted = number_of_arch(arch), lowest = 0, best = 0, highest = 0;
  int version = cuda->compiler.version;
  if (wanted == 0)
    return ltD_fail(cuda, LT_INVALID, "arch '%s' is none: sm_80, sm_90a or their like expected",
                    arch);
  if (!find_arch(cuda, wanted, &lowest, &best, &highest)) return false;
  if (best == 0)
    return ltD_fail(cuda, LT_DEVICE, "arch '%s': NVRTC %d.%d compiles for sm_%d to sm_%d", arch,
                    version / 1000, version % 1000 / 10, lowest, highest);
  *is_ptx = best != wanted;
  if (!*is_ptx) {
    snprintf(option, size, "--gpu-architecture=%s", arch);
    return true;
  }
  snprintf(option, size, "--gpu-architecture=compute_%d", best);
  char warning[256];
  snprintf(warning, sizeof warning,
           "arch '%s': NVRTC %d.%d knows none beyond sm_%d: compiled to PTX for compute_%d, which "
           "the driver compiles further",
           arch, version / 1000, version % 1000 / 10, best, best);
  ltD_warn(cuda, warning);
  return true;
}

/* ---- Messages ------------------------------------------------------------------------------- */

/* The text of the file that a message names, or NULL. */
static const char *find_text(const lt_cuda_source *source, const char *file, size_t length) {
  if (strlen(source->file) == length && memcmp(source->file, file, length) == 0)
    return source->text;
  for (size_t i = 0; i < source->headers; i++)
    if (strlen(source->header_names[i]) == length &&
        memcmp(source->header_names[i], file, length) == 0)
      return source->header_texts[i];
  return NULL;
}

static const char *find_line(const char *text, long number, size_t *length) {
  for (; number > 1 && text != NULL; number--) {
    text = strchr(text, '\n');
    if (text != NULL) text++;
  }
  if (text != NULL) *length = strcspn(text, "\n");
  return text;
}

/* The source line that a message "file(12): error: ..." is about, or NULL. */
static const char *line_of_message(const lt_cuda_source *source, const char *message, size_t end,
                                   size_t *length) {
  const char *parenthesis = memchr(message, '(', end);
  if (parenthesis == NULL) return NULL;
  char *after;
  long number = strtol(parenthesis + 1, &after, 10);
  if (number < 1 || strncmp(after, "): ", 3) != 0) return NULL;
  const char *text = find_text(source, message, (size_t)(parenthesis - message));
  return text == NULL ? NULL : find_line(text, number, length);
}

static char *append(char *end, const char *text, size_t length) {
  memcpy(end, text, length);
  return end + length;
}

/* What ptxas says where options ask NVVM alone for less effort, as they do on purpose. */
static bool is_meant(const char *line) {
  static const char meant[] =
      "ptxas warning : incompatible redefinition for option 'Ofast-compile'";
  return strncmp(line, meant, strlen(meant)) == 0;
}

/* Whether the log goes on with the line itself, as that of newer NVRTCs does. */
static bool is_shown(const char *rest, const char *line, size_t length) {
  while (length > 0 && (*line == ' ' || *line == '\t')) line++, length--;
  rest += strspn(rest, " \t");
  return strncmp(rest, line, length) == 0;
}

/* Characters of a source line that are shown, and those around it. */
enum { SHOWN = 200, AROUND = 3 };

static char *append_message(char *end, const lt_cuda_source *source, const char *log,
                            size_t length) {
  size_t line_length = 0;
  const char *line = line_of_message(source, log, length, &line_length);
  end = append(append(end, log, length), "\n", 1);
  const char *rest = log + length + (log[length] == '\n');
  if (line == NULL || is_shown(rest, line, line_length)) return end;
  end = append(append(end, "  ", 2), line, line_length < SHOWN ? line_length : SHOWN);
  return append(end, "\n", 1);
}

/* Of a log of which each line is a message with a line of the source, and its zero. */
static size_t most_explained(const char *log) {
  size_t lines = 1;
  for (const char *c = log; *c != '\0'; c++) lines += *c == '\n';
  return strlen(log) + lines * (1 + SHOWN + AROUND) + 1;
}

/* NVRTC's log, each message followed by its line of the source. */
static char *explain(lt_cuda *cuda, const lt_cuda_source *source, const char *log) {
  size_t size = most_explained(log);
  char *room = ltD_new(cuda, size), *end = room;
  if (room == NULL) return NULL;
  while (*log != '\0') {
    size_t length = strcspn(log, "\n");
    if (!is_meant(log)) end = append_message(end, source, log, length);
    log += length + (log[length] == '\n');
  }
  char *text = ltD_text(cuda, "%s", room);
  ltD_delete(cuda, room, size);
  return text;
}

void ltD_forget_log(lt_cuda *cuda) {
  ltD_delete_text(cuda, cuda->log);
  cuda->log = NULL;
}

static void take_log(lt_cuda *cuda, const ltD_job *job) {
  const ltD_compiler *c = &cuda->compiler;
  size_t size = 0;
  ltD_forget_log(cuda);
  if (c->nvrtcGetProgramLogSize(job->program, &size) != NVRTC_SUCCESS || size <= 1) return;
  char *log = ltD_new(cuda, size + 1);
  if (log == NULL) return;
  c->nvrtcGetProgramLog(job->program, log);
  cuda->log = explain(cuda, job->source, log);
  ltD_delete(cuda, log, size + 1);
}

/* ---- Compiling ------------------------------------------------------------------------------ */

static bool check(lt_cuda *cuda, nvrtcResult result, const char *call) {
  if (result == NVRTC_SUCCESS) return true;
  return ltD_fail(cuda, result == NVRTC_ERROR_OUT_OF_MEMORY ? LT_NO_MEMORY : LT_DEVICE, "%s: %s",
                  call, cuda->compiler.nvrtcGetErrorString(result));
}

bool ltD_start_job(lt_cuda *cuda, ltD_job *job) {
  size_t options = job->source->option_count;
  if (options + 1 > MAX_OPTIONS)
    return ltD_fail(cuda, LT_LIMIT, "%zu options, where %d are the most", options, MAX_OPTIONS - 1);
  return ltD_open_compiler(cuda) &&
         write_arch_option(cuda, job->arch, job->option, sizeof job->option, &job->is_ptx);
}

static bool is_known(const ltD_compiler *c, const char *option) {
  for (size_t i = 0; i < sizeof savers / sizeof *savers; i++)
    if (strcmp(option, savers[i].text) == 0) return c->version >= savers[i].since;
  return true;
}

void ltD_run_job(const ltD_compiler *c, ltD_job *job) {
  const lt_cuda_source *source = job->source;
  const char *options[MAX_OPTIONS];
  int count = 0;
  options[count++] = job->option;
  for (size_t i = 0; i < source->option_count; i++)
    if (is_known(c, source->options[i])) options[count++] = source->options[i];
  job->created =
      c->nvrtcCreateProgram(&job->program, source->text, source->file, (int)source->headers,
                            source->header_texts, source->header_names);
  if (job->created != NVRTC_SUCCESS) return;
  job->compiled = c->nvrtcCompileProgram(job->program, count, options);
}

static bool copy_image(lt_cuda *cuda, const ltD_job *job, void **image, size_t *size) {
  const ltD_compiler *c = &cuda->compiler;
  nvrtcResult result = job->is_ptx ? c->nvrtcGetPTXSize(job->program, size)
                                   : c->nvrtcGetCUBINSize(job->program, size);
  if (!check(cuda, result, "nvrtcGetCUBINSize")) return false;
  *image = ltD_new(cuda, *size);
  if (*image == NULL) return false;
  result =
      job->is_ptx ? c->nvrtcGetPTX(job->program, *image) : c->nvrtcGetCUBIN(job->program, *image);
  if (check(cuda, result, "nvrtcGetCUBIN")) return true;
  ltD_delete(cuda, *image, *size);
  return false;
}

/* The messages are in lt_cuda_log. */
static bool check_compiled(lt_cuda *cuda, const ltD_job *job) {
  if (job->compiled == NVRTC_SUCCESS) return true;
  return ltD_fail(cuda, LT_DEVICE, "NVRTC fails on kernel '%s' for %s: %s", job->source->kernel,
                  job->arch, cuda->compiler.nvrtcGetErrorString(job->compiled));
}

bool ltD_take_image(lt_cuda *cuda, ltD_job *job, void **image, size_t *size) {
  if (!check(cuda, job->created, "nvrtcCreateProgram")) return false;
  take_log(cuda, job);
  bool good = check_compiled(cuda, job) && copy_image(cuda, job, image, size);
  ltD_drop_job(cuda, job);
  return good;
}

void ltD_drop_job(lt_cuda *cuda, ltD_job *job) {
  if (job->program != NULL) cuda->compiler.nvrtcDestroyProgram(&job->program);
  job->program = NULL;
}
