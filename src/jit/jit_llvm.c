/*
 * Opens the code generator privately: it carries LLVM, which applications may have too.
 */
#include "jit/jit_private.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static struct {
    void *handle;
    gen_compile_fn *compile;
    gen_version_fn *version;
    char why[512];
} codegen;

static bool try_open(const char *dir, const char *sub)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s/libheddle-codegen.so", dir, sub);
    if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK))
        return false;
    codegen.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!codegen.handle)
        snprintf(codegen.why, sizeof(codegen.why), "%s", dlerror());
    return codegen.handle != NULL;
}

/* Beside the library that holds this code (installed), or where the build tree has it. */
static bool open_near(const char *file)
{
    static const char *const subs[] = {
        "",           "/../../jit",     "/../jit",    "/../../src/jit",
        "/../heddle", "/../lib/heddle", "/../src/jit"};
    char dir[PATH_MAX];
    char *real = realpath(file, NULL);
    if (!real)
        return false;
    char *slash = strrchr(real, '/');
    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - real) : 1, slash ? real : ".");
    free(real);
    for (size_t i = 0; i < HD_COUNT_OF(subs); i++) {
        if (try_open(dir, subs[i]))
            return true;
    }
    return false;
}

static void codegen_open(void)
{
    Dl_info info;
    const char *env = hd_env("HEDDLE_LIBDIR");
    bool found = env && try_open(env, "");
    if (!found && dladdr((void *)&codegen, &info) && info.dli_fname)
        found = open_near(info.dli_fname);
    if (!found)
        found = open_near("/proc/self/exe");
    if (!found) {
        if (!codegen.why[0])
            snprintf(codegen.why, sizeof(codegen.why), "libheddle-codegen.so not found");
        return;
    }
    codegen.compile = (gen_compile_fn *)dlsym(codegen.handle, GEN_ENTRY);
    codegen.version = (gen_version_fn *)dlsym(codegen.handle, GEN_VERSION);
}

static bool codegen_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, codegen_open);
    return codegen.compile && codegen.version;
}

enum hd_status jit_codegen(const struct gen_request *req, struct gen_result *out)
{
    if (!codegen_ready())
        return hd_error(HD_JIT, "code generator: %s", codegen.why);
    enum hd_status status = codegen.compile(req, out);
    if (status != HD_OK)
        return hd_error(status, "compiling kernel %s: %s", req->kernel->name, out->error);
    return HD_OK;
}

const char *jit_llvm_version(void)
{
    return codegen_ready() ? codegen.version() : "not available";
}
