/*
 * heddle cc: where headers, libraries and the compiler are. In this order:
 *   1. HEDDLE_INCLUDE, HEDDLE_LIBDIR, HEDDLE_CLANG;
 *   2. heddle-paths.conf beside the executable, which the build writes for its own tree;
 *   3. an installation: ../include/heddle/cuda and ../lib*, relative to the executable.
 */
#include "cc.h"

#include "base/log.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool readable(const char *path)
{
    return path && access(path, R_OK) == 0;
}

static const char *exe_dir(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return ".";
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return cc_format("%s", path);
}

/* The value of "key=value" in a file's text; NULL when the key is not there. */
static const char *conf_value(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == '=')
            return cc_format("%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
    }
    return NULL;
}

/* The first directory of a NULL-terminated list that has the file; the file's full path. */
static const char *find_file(const char *const *dirs, const char *name)
{
    for (; *dirs; dirs++) {
        const char *path = cc_format("%s/%s", *dirs, name);
        if (readable(path))
            return path;
    }
    return NULL;
}

/* Directories that may hold Heddle's libraries; a NULL ends the list. */
static void list_lib_dirs(const char *exe, const char *conf, const char **dirs, size_t max)
{
    const char *own = hd_env("HEDDLE_LIBDIR");
    struct cc_list list = {0};
    if (own)
        cc_list_add(&list, own);
    const char *built = conf ? conf_value(conf, "libdirs") : NULL;
    if (built)
        cc_list_add_split(&list, built);
    cc_list_addf(&list, "%s/../lib/heddle", exe);
    cc_list_addf(&list, "%s/../lib", exe);
    cc_list_addf(&list, "%s/../lib/x86_64-linux-gnu/heddle", exe);
    cc_list_addf(&list, "%s/../lib/x86_64-linux-gnu", exe);
    cc_list_addf(&list, "%s/../lib64", exe);
    size_t n = HD_MIN(list.len, max - 1);
    memcpy(dirs, list.at, n * sizeof *dirs);
    dirs[n] = NULL;
}

static const char *find_include(const char *exe, const char *conf)
{
    const char *own = hd_env("HEDDLE_INCLUDE");
    const char *dirs[4] = {0};
    size_t n = 0;
    if (own)
        dirs[n++] = own;
    if (conf && conf_value(conf, "include"))
        dirs[n++] = conf_value(conf, "include");
    dirs[n++] = cc_format("%s/../include/heddle/cuda", exe);
    for (size_t i = 0; i < n; i++)
        if (readable(cc_format("%s/cuda_runtime.h", dirs[i])))
            return dirs[i];
    return NULL;
}

static bool on_path(const char *program)
{
    const char *path = getenv("PATH");
    struct cc_list dirs = {0};
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    for (const char *at = path ? path : ""; *at;) {
        size_t n = strcspn(at, ":");
        cc_list_addf(&dirs, "%.*s", (int)n, at);
        at += n + (at[n] == ':');
    }
    for (size_t i = 0; i < dirs.len; i++)
        if (access(cc_format("%s/%s", dirs.at[i], program), X_OK) == 0)
            return true;
    return false;
}

static enum hd_status find_clang(struct cc_paths *paths)
{
    static const char *const names[][2] = {
        {"clang++-19", "clang-19"},
        {"/usr/lib/llvm-19/bin/clang++", "/usr/lib/llvm-19/bin/clang"},
    };
    const char *own = hd_env("HEDDLE_CLANG");
    if (own) {
        paths->clang = paths->clang_c = own;
        return HD_OK;
    }
    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (on_path(names[i][0])) {
            paths->clang = names[i][0];
            paths->clang_c = names[i][1];
            return HD_OK;
        }
    return hd_error(HD_NOT_FOUND, "clang 19 not found: install clang-19 or set HEDDLE_CLANG");
}

enum hd_status cc_paths_find(struct cc_paths *out_paths, bool need_cudart)
{
    const char *exe = exe_dir(), *dirs[16];
    struct hd_buf buf;
    hd_buf_init(&buf);
    const char *conf_path = cc_format("%s/heddle-paths.conf", exe);
    if (readable(conf_path) && hd_file_read(conf_path, 1 << 16, &buf) != HD_OK)
        return HD_IO;
    const char *conf = buf.ptr;

    HD_TRY(find_clang(out_paths));
    out_paths->include_dir = find_include(exe, conf);
    if (!out_paths->include_dir)
        return hd_error(HD_NOT_FOUND, "Heddle's CUDA headers not found: set HEDDLE_INCLUDE to the "
                                      "directory that holds cuda_runtime.h");
    list_lib_dirs(exe, conf, dirs, HD_COUNT_OF(dirs));
    out_paths->libdevice = find_file(dirs, "heddle-libdevice.bc");
    out_paths->libcudart = find_file(dirs, "libcudart.so.13");
    out_paths->libcuda = find_file(dirs, "libcuda.so.1");
    if (need_cudart && !out_paths->libcudart)
        return hd_error(HD_NOT_FOUND,
                        "libcudart.so.13 not found: set HEDDLE_LIBDIR, or link with -cudart none");
    return HD_OK;
}
