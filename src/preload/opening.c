/* See opening.h. */
#include "preload/opening.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

/* For what ours is opened: nothing, its name and paths of others, its name. */
enum opened { NEVER, ALWAYS, BY_NAME };
#define LATE      ALWAYS
#define REFUSED   BY_NAME
#define PRELOADED ALWAYS
#define NOT       NEVER

static const struct row {
    const char *file, *folder;
    enum opened opened;
} rows[] = {
#define X(name, text, file, folder, how) {file, folder, how},
#include "libraries.def"
#undef X
};

#undef LATE
#undef REFUSED
#undef PRELOADED
#undef NOT

static const char *own;

/* Used by the stub. */
const char *preload_file_to_open(const char *file);
__attribute__((visibility("hidden"))) void *preload_next_dlopen;

static bool place(char *out, const char *self, const char *folder, const char *file)
{
    const char *slash = strrchr(self, '/');
    int n = snprintf(out, PATH_MAX, "%.*s/%s%s%s", (int)(slash - self), self, folder,
                     *folder ? "/" : "", file);

    return n > 0 && n < PATH_MAX && access(out, R_OK) == 0;
}

static bool find(const char *self, const struct row *row, char *out)
{
    char folder[PATH_MAX];

    (void)snprintf(folder, sizeof(folder), "../../%s", row->folder);
    return place(out, self, "", row->file) || place(out, self, folder, row->file);
}

void *opening_own(const char *self, const char *file)
{
    char path[PATH_MAX];
    void *(*next)(const char *, int) = NULL;

    (void)preload_file_to_open(NULL); /* finds the loader's */
    *(void **)&next = preload_next_dlopen;
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (!strcmp(rows[i].file, file) && find(self, &rows[i], path))
            return next(path, RTLD_NOW | RTLD_LOCAL);
    return NULL;
}

void opening_start(const char *self)
{
    own = self;
}

bool opening_find(const char *file, char out_path[PATH_MAX])
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (own && !strcmp(rows[i].file, file))
            return find(own, &rows[i], out_path);
    return false;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_or_begins(const char *name, const char *file)
{
    size_t n = strlen(file);

    return !strncmp(name, file, n) && (!name[n] || name[n] == '.');
}

/* "libnvrtc.so", which is no link to a version where a toolkit's folder cannot have links. */
static bool is_without_version(const char *name, const char *file)
{
    size_t n = strlen(name);

    return n > 3 && !strcmp(name + n - 3, ".so") && is_or_begins(file, name);
}

/*
 * "libnvrtc.so.13" and what says more: "libnvrtc.so.13.0.88". Of the driver any version, and of
 * CUPTI, which is one library here: wheels have copies of it without one.
 */
static bool is_named(const char *name, const char *file)
{
    return is_or_begins(name, file) || is_without_version(name, file) ||
           (!strcmp(file, "libcuda.so.1") && !strncmp(name, "libcuda.so.", 11)) ||
           (!strcmp(file, "libcupti.so.13") && is_or_begins(name, "libcupti.so"));
}

/* Which of ours is meant by a file of this name; names without a version are links to one. */
static const struct row *row_of(const char *file)
{
    char real[PATH_MAX];
    const char *name = base_of(file);

    if (strncmp(name, "lib", 3) != 0)
        return NULL;
    if (strchr(file, '/')) {
        if (!realpath(file, real))
            return NULL; /* the loader says so */
        name = strstr(name, ".so.") ? name : base_of(real);
    }
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].opened != NEVER && is_named(name, rows[i].file))
            return &rows[i];
    return NULL;
}

/*
 * What is opened for a name: itself, or the path of ours. Kept per row, as the loader may keep the
 * pointer while it works; threads write the same text.
 */
const char *preload_file_to_open(const char *file)
{
    static char paths[HD_COUNT_OF(rows)][PATH_MAX];
    static _Atomic bool known[HD_COUNT_OF(rows)];
    char path[PATH_MAX];

    if (!preload_next_dlopen)
        preload_next_dlopen = dlsym(RTLD_NEXT, "dlopen");
    const struct row *row = file && *file && own ? row_of(file) : NULL;
    if (!row || (row->opened == BY_NAME && strchr(file, '/')))
        return file;
    size_t i = (size_t)(row - rows);
    if (!atomic_load(&known[i])) {
        if (!find(own, row, path))
            return file; /* this build has none: the vendor's is better than nothing */
        memcpy(paths[i], path, sizeof(path));
        atomic_store(&known[i], true);
    }
    if (hd_debug(HD_DEBUG_LOAD))
        hd_log("%s is opened in place of %s", paths[i], file);
    return paths[i];
}

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, @function\n"
        "dlopen:\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n" /* the stack is at a multiple of 16 again */
        "    call preload_file_to_open\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    movq %rax, %rdi\n"
        "    jmpq *preload_next_dlopen(%rip)\n"
        ".size dlopen, . - dlopen\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, %function\n"
        "dlopen:\n"
        "    hint #34\n" /* bti c */
        "    stp x29, x30, [sp, #-32]!\n"
        "    str x1, [sp, #16]\n"
        "    bl preload_file_to_open\n"
        "    ldr x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    adrp x16, preload_next_dlopen\n"
        "    ldr x16, [x16, #:lo12:preload_next_dlopen]\n"
        "    br x16\n"
        ".size dlopen, . - dlopen\n");
#endif
