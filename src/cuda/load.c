/*
** Finding libcuda and NVRTC at run time. What is not there is remembered with the reason.
*/
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "device.h"

/* ---- Where libraries are -------------------------------------------------------------------- */

/* Of a toolkit. */
static const char *const toolkit_folders[] = {"/lib64", "/lib", "/targets/x86_64-linux/lib",
                                              "/targets/sbsa-linux/lib", NULL};

static const char *const usual_folders[] = {"/usr/local/cuda/lib64",
                                            "/opt/cuda/lib64",
                                            "/usr/local/cuda-13/lib64",
                                            "/usr/local/cuda-12/lib64",
                                            "/usr/local/nvidia/lib64",
                                            "/usr/lib/x86_64-linux-gnu",
                                            "/usr/lib/aarch64-linux-gnu",
                                            "/usr/lib64",
                                            "/usr/lib",
                                            "/usr/lib/wsl/lib",
                                            NULL};

#define PATH_SIZE 4096

/* The file, its links resolved; NULL where it is not there. */
static char *resolve(lt_cuda *cuda, const char *file) {
  char *real = realpath(file, NULL);
  char *found = real == NULL ? NULL : ltD_text(cuda, "%s", real);
  free(real);
  return found;
}

/* The first of the names that is in any of the folders, which are under a root. */
static char *find_in(lt_cuda *cuda, const char *root, size_t root_length,
                     const char *const *folders, const char *const *names) {
  char file[PATH_SIZE], *found = NULL;
  for (; *names != NULL && found == NULL; names++)
    for (const char *const *folder = folders; *folder != NULL && found == NULL; folder++) {
      int written =
          snprintf(file, sizeof file, "%.*s%s/%s", (int)root_length, root, *folder, *names);
      if (written > 0 && (size_t)written < sizeof file) found = resolve(cuda, file);
    }
  return found;
}

/* In a toolkit that the environment names. */
static char *find_in_toolkit(lt_cuda *cuda, const char *variable, const char *const *names) {
  const char *root = getenv(variable);
  if (root == NULL || root[0] == '\0') return NULL;
  return find_in(cuda, root, strlen(root), toolkit_folders, names);
}

/* Folder by folder, as the loader goes. */
static char *find_in_loader_path(lt_cuda *cuda, const char *const *names) {
  static const char *const itself[] = {"", NULL};
  char *found = NULL;
  const char *path = getenv("LD_LIBRARY_PATH");
  while (path != NULL && *path != '\0' && found == NULL) {
    size_t length = strcspn(path, ":");
    if (length > 0) found = find_in(cuda, path, length, itself, names);
    path += length + (path[length] == ':');
  }
  return found;
}

/*
** What the user says comes first: a toolkit that is named, then the loader's path; in each place, the
** names in their order.
*/
static char *find_file(lt_cuda *cuda, const char *const *names) {
  char *found = find_in_toolkit(cuda, "CUDA_HOME", names);
  if (found == NULL) found = find_in_toolkit(cuda, "CUDA_PATH", names);
  if (found == NULL) found = find_in_loader_path(cuda, names);
  if (found == NULL) found = find_in(cuda, "", 0, usual_folders, names);
  return found;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/*
** A library stays loaded: NVRTC cannot be unloaded without a leak, and the next lt_cuda finds it open.
*/
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

/* Opens 'file', a path or a bare name that the loader looks for. */
static bool open_library(lt_cuda *cuda, ltD_library *library, const char *file) {
  library->handle = dlopen(file, OPEN_FLAGS);
  if (library->handle != NULL && library->path == NULL) library->path = ltD_text(cuda, "%s", file);
  return library->handle != NULL;
}

/* The file that the user names for a library, or NULL. */
static const char *named_file(const char *variable) {
  const char *file = getenv(variable);
  return file == NULL || file[0] == '\0' ? NULL : file;
}

/* Records why the library is not there; the first reason stays. */
static bool refuse(lt_cuda *cuda, ltD_library *library, const char *reason, const char *detail) {
  if (library->handle != NULL) dlclose(library->handle);
  library->handle = NULL;
  bool no_memory = cuda->error->status == LT_NO_MEMORY;
  if (!no_memory && library->reason == NULL)
    library->reason = ltD_text(cuda, "%s%s", reason, detail);
  library->tried = library->reason != NULL; /* without memory: to be tried again */
  return library->reason != NULL && ltD_fail(cuda, LT_DEVICE, "%s", library->reason);
}

static bool is_switched_off(void) {
  const char *setting = getenv("LUTILE_CUDA");
  return setting != NULL && strcmp(setting, "off") == 0;
}

/* Fetches one function. Storing through a pointer to void is POSIX's own way of using dlsym. */
static bool fetch(void *handle, const char *symbol, void *field) {
  void *address = dlsym(handle, symbol);
  memcpy(field, &address, sizeof address);
  return address != NULL;
}

#define FETCH(name) \
  if (missing == NULL && !fetch(handle, #name, &d->name)) missing = #name;
#define FETCH_NEWER(name) fetch(handle, #name, &d->name);

static const char *fetch_driver(ltD_driver *d) {
  void *handle = d->library.handle;
  const char *missing = NULL;
  LTD_DRIVER_FUNCTIONS(FETCH)
  LTD_NEWER_DRIVER_FUNCTIONS(FETCH_NEWER)
  return missing;
}

static const char *fetch_compiler(ltD_compiler *d) {
  void *handle = d->library.handle;
  const char *missing = NULL;
  LTD_COMPILER_FUNCTIONS(FETCH)
  return missing;
}

/* A library that was tried and is not there says so again. */
static bool repeat(lt_cuda *cuda, const ltD_library *library) {
  if (library->handle != NULL) return true;
  return ltD_fail(cuda, LT_DEVICE, "%s", library->reason == NULL ? "no CUDA" : library->reason);
}

static bool find_driver(lt_cuda *cuda) {
  ltD_library *library = &cuda->driver.library;
  const char *named = named_file("LUTILE_LIBCUDA");
  if (named != NULL) return open_library(cuda, library, named);
  if (open_library(cuda, library, "libcuda.so.1")) return true;
  static const char *const names[] = {"libcuda.so.1", NULL};
  char *file = find_file(cuda, names);
  bool opened = file != NULL && open_library(cuda, library, file);
  ltD_delete_text(cuda, file);
  return opened;
}

/* No driver could be opened. */
static bool refuse_driver(lt_cuda *cuda) {
  ltD_library *library = &cuda->driver.library;
  if (named_file("LUTILE_LIBCUDA") == NULL)
    return refuse(cuda, library, "no NVIDIA driver: libcuda.so.1 is not found", "");
  const char *why = dlerror(); /* it names the file */
  return refuse(cuda, library, "the NVIDIA driver that LUTILE_LIBCUDA names cannot be opened: ",
                why == NULL ? named_file("LUTILE_LIBCUDA") : why);
}

/* A driver that fails at its version is of no use. */
static bool check_version(lt_cuda *cuda) {
  int version;
  char why[LT_ERROR_SIZE];
  CUresult result = cuda->driver.cuDriverGetVersion(&version);
  if (ltD_check(cuda, result, "cuDriverGetVersion")) return true;
  snprintf(why, sizeof why, "%s", cuda->error->message);
  return refuse(cuda, &cuda->driver.library, "the NVIDIA driver tells no version: ", why);
}

bool ltD_open_driver(lt_cuda *cuda) {
  ltD_driver *d = &cuda->driver;
  if (d->library.tried) return repeat(cuda, &d->library);
  cuda->error->status = LT_OK;
  d->library.tried = true;
  if (is_switched_off())
    return refuse(cuda, &d->library, "CUDA is switched off by LUTILE_CUDA", "");
  if (!find_driver(cuda)) return refuse_driver(cuda);
  const char *missing = fetch_driver(d);
  if (missing == NULL) return check_version(cuda);
  return refuse(cuda, &d->library, "the NVIDIA driver is too old: it has no ", missing);
}

/* ---- The compiler ---------------------------------------------------------------------------- */

/* CUDA 13 first, unless the driver is of CUDA 12: it would not load what 13 compiles. */
static const char *const *compiler_names(const lt_cuda *cuda) {
  static const char *const newest_first[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
  static const char *const oldest_first[] = {"libnvrtc.so.12", "libnvrtc.so.13", NULL};
  int version = 0;
  if (cuda->driver.library.handle != NULL) cuda->driver.cuDriverGetVersion(&version);
  return version > 0 && version < 13000 ? oldest_first : newest_first;
}

static bool identify(lt_cuda *cuda) {
  ltD_compiler *c = &cuda->compiler;
  struct stat s;
  if (c->library.path == NULL || stat(c->library.path, &s) != 0) return false;
  c->identity = ltD_text(cuda, "%s %lld bytes %lld.%09ld", c->library.path, (long long)s.st_size,
                         (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  return c->identity != NULL;
}

/* The path of an open library. */
static char *path_of_library(lt_cuda *cuda, void *address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return NULL;
  char *real = realpath(info.dli_fname, NULL);
  char *path = real == NULL ? NULL : ltD_text(cuda, "%s", real);
  free(real);
  return path;
}

/* Where no file is found, the loader may know a place that we do not: only opening tells. */
static bool find_by_opening(lt_cuda *cuda, const char *const *names) {
  ltD_compiler *c = &cuda->compiler;
  for (; *names != NULL && c->library.handle == NULL; names++)
    c->library.handle = dlopen(*names, OPEN_FLAGS);
  if (c->library.handle == NULL) return false;
  void *address = dlsym(c->library.handle, "nvrtcVersion");
  if (address != NULL) c->library.path = path_of_library(cuda, address);
  return c->library.path != NULL;
}

bool ltD_find_compiler(lt_cuda *cuda) {
  ltD_compiler *c = &cuda->compiler;
  if (c->library.reason != NULL) return ltD_fail(cuda, LT_DEVICE, "%s", c->library.reason);
  if (c->identity != NULL) return true;
  cuda->error->status = LT_OK;
  if (is_switched_off())
    return refuse(cuda, &c->library, "CUDA is switched off by LUTILE_CUDA", "");
  const char *const *names = compiler_names(cuda);
  const char *named = named_file("LUTILE_NVRTC");
  if (named != NULL && c->library.path == NULL) c->library.path = ltD_text(cuda, "%s", named);
  if (c->library.path == NULL) c->library.path = find_file(cuda, names);
  if (c->library.path == NULL && !find_by_opening(cuda, names))
    return refuse(
        cuda, &c->library,
        "no NVRTC: libnvrtc.so.13 and libnvrtc.so.12 are neither in CUDA_HOME or CUDA_PATH, nor on "
        "the loader's path, nor in /usr/local/cuda",
        "");
  if (identify(cuda)) return true;
  return refuse(cuda, &c->library,
                "NVRTC cannot be read: ", c->library.path == NULL ? "no path" : c->library.path);
}

bool ltD_open_compiler(lt_cuda *cuda) {
  ltD_compiler *c = &cuda->compiler;
  if (!ltD_find_compiler(cuda)) return false;
  if (c->library.tried) return repeat(cuda, &c->library);
  cuda->error->status = LT_OK;
  c->library.tried = true;
  if (c->library.handle == NULL && !open_library(cuda, &c->library, c->library.path))
    return refuse(cuda, &c->library, "NVRTC cannot be opened: ", dlerror());
  const char *missing = fetch_compiler(c);
  if (missing != NULL) return refuse(cuda, &c->library, "NVRTC is too old: it has no ", missing);
  int major = 0, minor = 0;
  c->nvrtcVersion(&major, &minor);
  c->version = major * 1000 + minor * 10;
  return true;
}

static void close_library(lt_cuda *cuda, ltD_library *library) {
  if (library->handle != NULL) dlclose(library->handle);
  ltD_delete_text(cuda, library->path);
  ltD_delete_text(cuda, library->reason);
}

void ltD_close_libraries(lt_cuda *cuda) {
  close_library(cuda, &cuda->driver.library);
  close_library(cuda, &cuda->compiler.library);
  ltD_delete_text(cuda, cuda->compiler.identity);
}

/* ---- What there is -------------------------------------------------------------------------- */

bool lt_cuda_has_compiler(lt_cuda *cuda) { return ltD_find_compiler(cuda); }

void lt_cuda_find_versions(lt_cuda *cuda, lt_cuda_versions *versions) {
  *versions = (lt_cuda_versions){0, 0, "", "", ""};
  if (ltD_open_driver(cuda)) {
    cuda->driver.cuDriverGetVersion(&versions->driver);
    if (cuda->driver.library.path != NULL) versions->driver_path = cuda->driver.library.path;
  }
  if (!ltD_find_compiler(cuda)) return;
  versions->compiler = cuda->compiler.version;
  versions->compiler_path = cuda->compiler.library.path;
  versions->compiler_identity = cuda->compiler.identity;
}

void lt_cuda_get_versions(lt_cuda *cuda, lt_cuda_versions *versions) {
  ltD_open_driver(cuda); /* first: the compiler is to fit it */
  ltD_open_compiler(cuda);
  lt_cuda_find_versions(cuda, versions);
}
