/*
 * libheddle_preload.so: what `heddle run` puts into a process beside our libcudart and libcuda.
 *
 * It redirects CUDA runtimes linked statically into the program and its libraries (redirect.h),
 * each before the constructors that register its device code:
 *   - what is loaded at start, in our constructor: we are linked with -z initfirst;
 *   - what dlopen() brings later, in __gmon_start__(), which every object's _init calls first (see
 *     docs/decisions/0070-static-runtimes-opened-later.md). A Python module without symbols has its
 *     exported functions replaced (python.h).
 * Libraries of the vendor's that Heddle has are replaced when they are opened (opening.h), its
 * assembler when it is started (assembler.h), and its device files seem to be there (devices.h).
 * When PyTorch is loaded, and asks for devices, its operators get kernels that run here
 * (frameworks/torch). Everything else is left alone: a program without an embedded runtime, such as
 * a shell or Python, costs a look at its section headers. Children of the program inherit
 * LD_PRELOAD and are treated alike.
 *
 * Threads: constructors and _init functions run one at a time, under the loader's recursive lock.
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"
#include "frameworks/torch/torch_hook.h"
#include "obj/program.h"
#include "preload/assembler.h"
#include "preload/devices.h"
#include "preload/opening.h"
#include "preload/python.h"
#include "preload/redirect.h"

static struct preload {
    char self[PATH_MAX];      /* this library; empty until the constructor ran */
    void *library;            /* our libcudart, once it was needed */
    bool failed;              /* to load it */
    HD_VEC(uintptr_t) loaded; /* bases of what was loaded at start, which is never unloaded */
} preload;

void __gmon_start__(void);
void heddle_preload_devices(void);

static void *our_library(void *arg)
{
    struct preload *p = arg;
    if (p->library || p->failed)
        return p->library;
    p->library = opening_own(p->self, "libcudart.so.13");
    if (!p->library) {
        const char *why = dlerror();
        hd_log("cannot load our libcudart.so.13: %s", why ? why : "not found");
        p->failed = true;
    }
    return p->library;
}

static int is_torch(struct dl_phdr_info *info, size_t size_B, void *arg)
{
    return torch_hook_is_part(info->dlpi_name);
}

/* PyTorch brings the vendor's libraries, and its operators do without them. */
static bool is_torch_there(void)
{
    return torch_hook_is_on() && dl_iterate_phdr(is_torch, NULL);
}

static void report(const char *path, const struct redirect_result *result)
{
    const struct obj_vendor_library *vendor = obj_vendor_library(hd_str_from(path));
    if (result->stripped && is_torch_there())
        hd_log_debug(HD_DEBUG_LOAD, "%s: its machine code does not run here", path);
    else if (result->stripped && vendor)
        hd_log("%s: NVIDIA's %s brings a runtime and machine code of its own, which do not run "
               "here, and Heddle has no %s yet: calls of it will fail",
               path, vendor->what, vendor->what);
    else if (result->stripped)
        hd_log("%s embeds a CUDA runtime without a symbol table, which cannot be redirected: "
               "rebuild it with `nvcc -cudart shared`, or do not strip it",
               path);
    if (!result->cuda_version)
        return;
    hd_log_debug(HD_DEBUG_LOAD, "%s: embedded CUDA %u runtime: %u entry points redirected, %u not",
                 path, result->cuda_version, result->redirected, result->failed);
    if (result->cuda_version < 12)
        hd_log("%s was built with CUDA %u: its cudaDeviceProp and texture registration differ; "
               "rebuild with CUDA 12 or 13",
               path, result->cuda_version);
}

static void look_at(struct preload *p, const char *path, uintptr_t base)
{
    struct redirect_result result;
    enum hd_status status = redirect_object(path, base, our_library, p, &result);
    if (torch_hook_is_named(path))
        torch_hook_found(path);
    if (status == HD_OK && !result.cuda_version && python_is_hooked(path))
        status = python_hook(path, base, our_library, p);
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

static bool in_folder(const char *path, const char *folder, size_t folder_B)
{
    return !strncmp(path, folder, folder_B) && path[folder_B] == '/' &&
           !strchr(path + folder_B + 1, '/');
}

static bool is_our_own(const struct preload *p, const char *path)
{
    const char *slash = strrchr(p->self, '/');
    assert(slash);
    return in_folder(path, p->self, (size_t)(slash - p->self));
}

/* They do not lie beside us in a build folder, and the names of LLVM and BLAS are many. */
static bool is_large_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash &&
           (!strcmp(slash + 1, "libheddle-codegen.so") || !strcmp(slash + 1, "libheddle-klib.so"));
}

/* Libraries of the system come stripped and without CUDA: at start they are not worth opening.
 * What lies in folders below theirs is somebody's: a Python module, say. */
static bool is_of_the_system(const char *path)
{
    static const char *const folders[] = {
        "/lib",
        "/lib64",
        "/usr/lib",
        "/usr/lib64",
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
    };
    for (size_t i = 0; i < HD_COUNT_OF(folders); i++)
        if (in_folder(path, folders[i], strlen(folders[i])))
            return true;
    return false;
}

/* The vdso has a name without a slash. */
static bool may_embed(const struct preload *p, const char *path)
{
    return strchr(path, '/') && !is_shared_runtime(path) && !is_our_own(p, path) &&
           !is_large_part(path);
}

static void look_at_program(struct preload *p, uintptr_t base)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0)
        return;
    path[len] = '\0';
    /* Started as `ld.so program`, /proc/self/exe is the loader: its addresses are not ours. */
    if (getauxval(AT_BASE))
        look_at(p, path, base);
}

/* The program comes first, under the name "". */
static int visit_object(struct dl_phdr_info *info, size_t size_B, void *arg)
{
    struct preload *p = arg;
    bool is_program = !p->loaded.len;
    if (!hd_vec_push(&p->loaded, info->dlpi_addr))
        return 1;
    if (is_program)
        look_at_program(p, info->dlpi_addr);
    else if (may_embed(p, info->dlpi_name) && !is_of_the_system(info->dlpi_name))
        look_at(p, info->dlpi_name, info->dlpi_addr);
    return 0;
}

static bool was_loaded_at_start(const struct preload *p, uintptr_t base)
{
    for (size_t i = 0; i < p->loaded.len; i++)
        if (p->loaded.at[i] == base)
            return true;
    return false;
}

/* The object that contains an address, NULL when there is none. dladdr() looks symbols through. */
static struct link_map *object_of(void *address)
{
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found;
    return _dl_find_object(address, &found) ? NULL : found.dlfo_link_map;
#else
    Dl_info info;
    struct link_map *object = NULL;
    return dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) ? object : NULL;
#endif
}

/*
 * The C library's start files let _init() of every program and library call this name, where it is
 * defined, for profilers. _init() precedes the object's constructors, so this is the moment at
 * which an object that dlopen() has just mapped can be redirected. The caller is that object.
 */
HD_EXPORT void __gmon_start__(void)
{
    struct link_map *object = preload.self[0] ? object_of(__builtin_return_address(0)) : NULL;
    if (!object)
        return;
    if (!was_loaded_at_start(&preload, object->l_addr) && may_embed(&preload, object->l_name))
        look_at(&preload, object->l_name, object->l_addr);
}

/* libcuda calls this whenever the program asks for devices. */
HD_EXPORT void heddle_preload_devices(void)
{
    torch_hook_start(redirect_function);
}

/*
 * We run before the C library's own constructor, which is what fills `environ`; glibc hands the
 * environment to every constructor. This one comes before those that read HEDDLE_DEBUG (101).
 */
static void start_first(int argc, char **argv, char **envp)
{
    if (!environ)
        environ = envp;
    /* Opening a library below lets the loader run that constructor without arguments. */
    if (argv && argv[0] && !program_invocation_name[0]) {
        char *slash = strrchr(argv[0], '/');
        program_invocation_name = argv[0];
        program_invocation_short_name = slash ? slash + 1 : argv[0];
    }
    assembler_replace(argv);
}

__attribute__((section(".init_array.00050"),
               used)) static void (*const preload_first)(int, char **, char **) = start_first;

__attribute__((constructor)) static void preload_start(void)
{
    struct link_map *object = object_of((void *)preload_start);
    char self[PATH_MAX];
    if (!object || !realpath(object->l_name, self))
        return;
    memcpy(preload.self, self, sizeof(self));
    opening_start(preload.self);
    devices_start();
    dl_iterate_phdr(visit_object, &preload);
}
