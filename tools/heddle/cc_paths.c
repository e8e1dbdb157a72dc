/* heddle cc: where headers and libraries are (where.h) and which compiler to run. */
#include "cc.h"

#include "where.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    HD_TRY(find_clang(out_paths));
    out_paths->include_dir = where_headers();
    if (!out_paths->include_dir)
        return hd_error(HD_NOT_FOUND, "Heddle's CUDA headers not found: set HEDDLE_INCLUDE to the "
                                      "directory that holds cuda_runtime.h");
    out_paths->libdevice = where_library(WHERE_LIBDEVICE);
    out_paths->libcudart = where_library(WHERE_CUDART);
    out_paths->libcuda = where_library(WHERE_CUDA);
    if (need_cudart && !out_paths->libcudart)
        return hd_error(HD_NOT_FOUND,
                        "libcudart.so.13 not found: set HEDDLE_LIBDIR, or link with -cudart none");
    return HD_OK;
}
