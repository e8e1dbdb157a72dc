/* See where.h. */
#include "common/where.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/cli.h"

static const struct {
    const char *text, *file, *folder;
    enum where_how how;
} libraries[] = {
#define X(name, text, file, folder, how) {text, file, folder, WHERE_##how},
#include "libraries.def"
#undef X
};

const char *where_library_text(enum where_library library)
{
    assert(library < WHERE_LIBRARY_COUNT);
    return libraries[library].text;
}

const char *where_library_file(enum where_library library)
{
    assert(library < WHERE_LIBRARY_COUNT);
    return libraries[library].file;
}

enum where_how where_library_how(enum where_library library)
{
    assert(library < WHERE_LIBRARY_COUNT);
    return libraries[library].how;
}

bool where_replaces(struct hd_str file_name, enum where_library *out_library)
{
    for (enum where_library i = 0; i < WHERE_LIBRARY_COUNT; i++) {
        const char *file = where_library_file(i), *end = strstr(file, ".so");
        struct hd_str name = {file, end ? (size_t)(end - file) + strlen(".so") : 0};
        if (!end || where_library_how(i) <= WHERE_REFUSED || file_name.len < name.len ||
            memcmp(file_name.ptr, name.ptr, name.len) != 0)
            continue;
        *out_library = i;
        return true;
    }
    return false;
}

const char *where_linked(const char *name)
{
    size_t len = strlen(name);
    for (enum where_library i = 0; i < WHERE_LIBRARY_COUNT; i++) {
        const char *file = where_library_file(i); /* the newest version's row comes first */
        if (where_library_how(i) != WHERE_NOT && !strncmp(file, "lib", 3) &&
            !strncmp(file + 3, name, len) && !strncmp(file + 3 + len, ".so.", 4))
            return where_library(i);
    }
    return NULL;
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

/* file_in() of a folder that is given relative to the executable's. */
static char *file_near(const char *relative, const char *file)
{
    char exe[PATH_MAX];
    if (!own_folder(exe, sizeof(exe)))
        return NULL;
    struct hd_buf folder;
    hd_buf_init(&folder);
    hd_buf_printf(&folder, "%s/%s", exe, relative);
    char *found = folder.failed ? NULL : file_in(folder.ptr, file);
    hd_buf_fini(&folder);
    return found;
}

static char *find_built(enum where_library library)
{
    struct hd_buf folder;
    hd_buf_init(&folder);
    hd_buf_printf(&folder, "../../%s", libraries[library].folder);
    char *found = folder.failed ? NULL : file_near(folder.ptr, libraries[library].file);
    hd_buf_fini(&folder);
    return found;
}

static char *find(enum where_library library)
{
    const char *own = hd_env("HEDDLE_LIBDIR");
    char *found = own ? file_in(own, libraries[library].file) : NULL;
    if (!found) /* first: an installation may lie inside of a build folder */
        found = file_near(HEDDLE_BIN_TO_LIB, libraries[library].file);
    return found ? found : find_built(library);
}

const char *where_library(enum where_library library)
{
    static char *cached[WHERE_LIBRARY_COUNT];
    assert(library < WHERE_LIBRARY_COUNT);
    if (!cached[library])
        cached[library] = find(library);
    return cached[library];
}

char *where_tool(const char *name)
{
    char *found = file_near(".", name);
    if (found && access(found, X_OK) != 0) {
        hd_free(found);
        found = NULL;
    }
    return found;
}

char *where_script(const char *name)
{
    char *found = file_near(".", name);
    return found ? found : file_near(HEDDLE_BIN_TO_LIB, name);
}

char *where_torch(void)
{
    char *found = file_near(".", "torch-layer/layer.cpp");
    return found ? found : file_near(HEDDLE_BIN_TO_LIB, "torch-layer/layer.cpp");
}

#define A_HEADER "cuda_runtime.h"

char *where_toolkit(void)
{
    static const char below[] = "/include/" A_HEADER;
    char *found = file_near(HEDDLE_BIN_TO_LIB, "cuda/include/" A_HEADER);
    if (!found)
        found = file_near(".", "cuda/include/" A_HEADER);
    if (found)
        found[strlen(found) - strlen(below)] = '\0';
    return found;
}

/* heddle-paths.conf beside the executable is one line: the source tree's folder of headers. */
static char *find_built_headers(void)
{
    struct hd_buf folder;
    char *conf = file_near(".", "heddle-paths.conf"), *found = NULL;
    hd_buf_init(&folder);
    if (conf && hd_file_read_kept(conf, PATH_MAX, &folder) == HD_OK && folder.len) {
        folder.ptr[strcspn(folder.ptr, "\n")] = '\0';
        found = file_in(folder.ptr, A_HEADER);
    }
    hd_buf_fini(&folder);
    hd_free(conf);
    return found;
}

const char *where_headers(void)
{
    static char *cached;
    const char *own = hd_env("HEDDLE_INCLUDE");
    if (cached)
        return cached;
    cached = own ? file_in(own, A_HEADER) : NULL;
    if (!cached)
        cached = find_built_headers();
    if (!cached)
        cached = file_near(HEDDLE_BIN_TO_INCLUDE, A_HEADER);
    if (cached)
        *strrchr(cached, '/') = '\0';
    return cached;
}

int where_load(enum where_library library, const struct where_symbol *wanted, size_t n)
{
    const char *path = where_library(library);
    void *loaded = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    if (!loaded)
        return cli_error("%s%s", path ? dlerror() : where_library_file(library),
                         path ? "" : " not found; set HEDDLE_LIBDIR");
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(loaded, wanted[i].name);

        if (!function)
            return cli_error("%s lacks %s", path, wanted[i].name);
        memcpy(wanted[i].slot, &function, sizeof(function));
    }
    return CLI_OK;
}
