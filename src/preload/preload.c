/*
 * libheddle_preload.so: what `heddle run` puts into a process beside our libcudart and libcuda.
 *
 * Its constructor looks at the program and at the libraries that were loaded with it, and redirects
 * CUDA runtimes linked statically into them (redirect.h). The library is linked with -z initfirst,
 * so it runs before the constructors that register device code, those of libraries included.
 * Everything else is left alone: a program without an embedded runtime, such as a shell or Python,
 * costs a look at its section headers. Children of the program inherit LD_PRELOAD and are treated
 * alike.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "preload/redirect.h"

/* In the build tree and in an installation, relative to this library. */
static const char *const library_places[] = {
    "libcudart.so.13",
    "../api/runtime/libcudart.so.13",
};

struct preload {
    char self[PATH_MAX]; /* this library */
    void *library;       /* our libcudart, once it was needed */
    bool failed;
    unsigned object;
};

static void *open_beside(const char *self, const char *place)
{
    const char *slash = strrchr(self, '/');
    struct hd_buf path;
    hd_buf_init(&path);
    hd_buf_printf(&path, "%.*s/%s", slash ? (int)(slash - self) : 1, slash ? self : ".", place);
    void *library = path.ptr ? dlopen(path.ptr, RTLD_NOW | RTLD_LOCAL) : NULL;
    hd_buf_fini(&path);
    return library;
}

static void *our_library(void *arg)
{
    struct preload *p = arg;
    if (p->library || p->failed)
        return p->library;
    for (size_t i = 0; i < HD_COUNT_OF(library_places) && !p->library; i++)
        p->library = open_beside(p->self, library_places[i]);
    if (!p->library) {
        const char *why = dlerror();
        hd_log("cannot load our libcudart.so.13: %s", why ? why : "not found");
        p->failed = true;
    }
    return p->library;
}

static void report(const char *path, const struct redirect_result *result)
{
    if (result->stripped)
        hd_log("%s embeds a CUDA runtime without a symbol table, which cannot be redirected: "
               "rebuild it with `nvcc -cudart shared`, or do not strip it",
               path);
    if (!result->cuda_version)
        return;
    hd_log_debug(HD_DEBUG_LOAD,
                 "%s: embedded CUDA %u runtime: %u entry points redirected, %u not supported", path,
                 result->cuda_version, result->redirected, result->stubbed);
    if (result->cuda_version < 12)
        hd_log("%s was built with CUDA %u: its cudaDeviceProp and texture registration differ; "
               "rebuild with CUDA 12 or 13",
               path, result->cuda_version);
}

static void look_at(struct preload *p, const char *path, uintptr_t base)
{
    struct redirect_result result;
    enum hd_status status = redirect_object(path, base, our_library, p, &result);
    if (status == HD_OK)
        report(path, &result);
    else if (hd_debug(HD_DEBUG_LOAD) || status == HD_NOT_SUPPORTED)
        hd_log("%s: %s", path, hd_error_message());
}

/* A shared libcudart, ours among them, is no embedded one: it is replaced by name. */
static bool is_shared_runtime(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    return !strncmp(file, "libcudart.so", strlen("libcudart.so"));
}

/* Libraries of the system come stripped and without CUDA: not worth opening. */
static bool is_worth_a_look(const struct preload *p, const char *path)
{
    static const char *const passed[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    for (size_t i = 0; i < HD_COUNT_OF(passed); i++)
        if (!strncmp(path, passed[i], strlen(passed[i])))
            return false;
    if (is_shared_runtime(path))
        return false;
    const char *own = strrchr(p->self, '/');
    size_t own_B = own ? (size_t)(own - p->self) : 0;
    return path[0] == '/' && !(own_B && !strncmp(path, p->self, own_B) && path[own_B] == '/');
}

static int visit_object(struct dl_phdr_info *info, size_t size_B, void *arg)
{
    struct preload *p = arg;
    if (p->object++ > 0) {
        if (is_worth_a_look(p, info->dlpi_name))
            look_at(p, info->dlpi_name, info->dlpi_addr);
        return 0;
    }
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0)
        return 0;
    path[len] = '\0';
    /* Started as `ld.so program`, /proc/self/exe is the loader: its addresses are not ours. */
    if (getauxval(AT_BASE))
        look_at(p, path, info->dlpi_addr);
    return 0;
}

/*
 * We run before the C library's own constructor, which is what fills `environ`; glibc hands the
 * environment to every constructor. This one comes before those that read HEDDLE_DEBUG (101).
 */
static void take_environment(int argc, char **argv, char **envp)
{
    if (!environ)
        environ = envp;
}

__attribute__((section(".init_array.00050"),
               used)) static void (*const take_environment_first)(int, char **,
                                                                  char **) = take_environment;

__attribute__((constructor)) static void preload_start(void)
{
    static struct preload p;
    Dl_info info;
    if (!dladdr((const void *)preload_start, &info) || !realpath(info.dli_fname, p.self))
        return;
    dl_iterate_phdr(visit_object, &p);
}
