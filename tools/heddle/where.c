/* See where.h. */
#include "where.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

static const struct {
    const char *text, *file, *folder;
} libraries[] = {
#define X(name, text, file, folder) {text, file, folder},
    WHERE_LIBRARY_LIST(X)
#undef X
};

/* Relative to the executable's folder; %s is the library's folder in the build tree. */
static const char *const places[] = {
    "../../%s",
    "../lib/heddle",
    "../lib64/heddle",
    "../lib/x86_64-linux-gnu/heddle",
    "../lib/aarch64-linux-gnu/heddle",
};

const char *where_library_text(enum where_library library)
{
    return libraries[library].text;
}

const char *where_library_file(enum where_library library)
{
    return libraries[library].file;
}

/* The folder of this executable, without a slash at the end. */
static bool own_folder(char *buf, size_t buf_B)
{
    ssize_t len = readlink("/proc/self/exe", buf, buf_B - 1);
    if (len <= 0)
        return false;
    buf[len] = '\0';
    char *slash = strrchr(buf, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* The folder is resolved, the file's name is kept: libcudart.so.12 is a link that must stay one. */
static char *file_in(const char *folder, const char *file)
{
    char *resolved = realpath(folder, NULL);
    if (!resolved)
        return NULL;
    struct hd_buf path;
    hd_buf_init(&path);
    hd_buf_printf(&path, "%s/%s", resolved, file);
    free(resolved);
    if (path.failed || access(path.ptr, R_OK) != 0) {
        hd_buf_fini(&path);
        return NULL;
    }
    return hd_buf_take(&path);
}

static char *find(enum where_library library)
{
    const char *own = hd_env("HEDDLE_LIBDIR");
    char *found = own ? file_in(own, libraries[library].file) : NULL;
    char exe[PATH_MAX];
    if (found || !own_folder(exe, sizeof(exe)))
        return found;
    for (size_t i = 0; i < HD_COUNT_OF(places) && !found; i++) {
        struct hd_buf folder;
        hd_buf_init(&folder);
        hd_buf_printf(&folder, "%s/", exe);
        const char *hole = strstr(places[i], "%s");
        hd_buf_printf(&folder, "%.*s%s", hole ? (int)(hole - places[i]) : (int)strlen(places[i]),
                      places[i], hole ? libraries[library].folder : "");
        if (!folder.failed)
            found = file_in(folder.ptr, libraries[library].file);
        hd_buf_fini(&folder);
    }
    return found;
}

const char *where_library(enum where_library library)
{
    static char *cached[WHERE_LIBRARY_COUNT];
    if (!cached[library])
        cached[library] = find(library);
    return cached[library];
}
