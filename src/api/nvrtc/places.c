/* Where the files are that compiling needs: HEDDLE_INCLUDE and HEDDLE_LIBDIR, then what is beside
 * this library, in a build tree or an installation. */
#include "api/nvrtc/program.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "base/env.h"

#define A_HEADER  "cuda_runtime.h"
#define LIBDEVICE "heddle-libdevice.bc"

static char headers[PATH_MAX], libdevice[PATH_MAX];

/* The folder of `file` in `folder`; false when it is not there. */
static bool settle(char *out, const char *folder, const char *file, bool whole)
{
    char path[PATH_MAX], real[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, file);

    if (n < 0 || (size_t)n >= sizeof(path) || !realpath(path, real))
        return false;
    if (!whole)
        *strrchr(real, '/') = '\0';
    return (size_t)snprintf(out, PATH_MAX, "%s", real) < PATH_MAX;
}

/* heddle-paths.conf of a build tree is one line: the source tree's folder of headers. */
static bool settle_built_headers(const char *own)
{
    struct hd_buf line;
    char path[PATH_MAX];
    bool worked = false;

    hd_buf_init(&line);
    int n = snprintf(path, sizeof(path), "%s/../../../tools/heddle/heddle-paths.conf", own);
    if (n > 0 && (size_t)n < sizeof(path) && hd_file_read_kept(path, PATH_MAX, &line) == HD_OK &&
        line.len) {
        line.ptr[strcspn(line.ptr, "\n")] = '\0';
        worked = settle(headers, line.ptr, A_HEADER, false);
    }
    hd_buf_fini(&line);
    return worked;
}

static void look(void)
{
    Dl_info info;
    char own[PATH_MAX];
    const char *include = hd_env("HEDDLE_INCLUDE"), *lib = hd_env("HEDDLE_LIBDIR");

    if (!dladdr((void *)(uintptr_t)look, &info) || !info.dli_fname ||
        !realpath(info.dli_fname, own))
        return;
    *strrchr(own, '/') = '\0';
    if (!(include && settle(headers, include, A_HEADER, false)) && !settle_built_headers(own)) {
        char installed[PATH_MAX + sizeof(HEDDLE_LIB_TO_INCLUDE) + 1];

        (void)snprintf(installed, sizeof(installed), "%s/%s", own, HEDDLE_LIB_TO_INCLUDE);
        (void)settle(headers, installed, A_HEADER, false);
    }
    if (!(lib && settle(libdevice, lib, LIBDEVICE, true)) &&
        !settle(libdevice, own, LIBDEVICE, true))
        (void)settle(libdevice, own, "../../libdevice/" LIBDEVICE, true);
}

static void look_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, look);
}

const char *rtc_headers(void)
{
    look_once();
    return headers[0] ? headers : NULL;
}

const char *rtc_libdevice(void)
{
    look_once();
    return libdevice[0] ? libdevice : NULL;
}

void rtc_put_headers(struct clang_args *args)
{
    clang_args_add(args, "-I%s/heddle/rtc", rtc_headers());
    clang_args_add(args, "-I%s", rtc_headers());
}
