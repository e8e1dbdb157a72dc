/* See clang.h. */
#include "clang/clang.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"

/* ---- words */

static void push(struct clang_args *args, char *word)
{
    if (word && hd_vec_reserve(args, args->len + 2)) {
        args->at[args->len++] = word;
        args->at[args->len] = NULL;
        return;
    }
    hd_free(word);
    args->failed = true;
}

void clang_args_add(struct clang_args *args, const char *fmt, ...)
{
    char *word = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&word, fmt, ap) < 0)
        word = NULL;
    va_end(ap);
    push(args, word);
}

void clang_args_add_words(struct clang_args *args, const char *words)
{
    while (*(words += strspn(words, " "))) {
        size_t n = strcspn(words, " ");

        clang_args_add(args, "%.*s", (int)n, words);
        words += n;
    }
}

void clang_args_add_all(struct clang_args *args, const struct clang_args *more)
{
    for (size_t i = 0; i < more->len; i++)
        clang_args_add(args, "%s", more->at[i]);
    args->failed |= more->failed;
}

void clang_args_fini(struct clang_args *args)
{
    for (size_t i = 0; i < args->len; i++)
        hd_free(args->at[i]);
    hd_vec_fini(args);
}

/* ---- the program */

static char found[PATH_MAX];

static bool try_file(const char *folder, size_t folder_B, const char *name)
{
    int n = snprintf(found, sizeof(found), "%.*s/%s", (int)folder_B, folder, name);

    if (n > 0 && (size_t)n < sizeof(found) && access(found, X_OK) == 0)
        return true;
    found[0] = '\0';
    return false;
}

static void look_along(const char *folders, const char *name)
{
    while (folders && *folders) {
        size_t n = strcspn(folders, ":");

        if (n && try_file(folders, n, name))
            return;
        folders += n + (folders[n] == ':');
    }
}

/* The installation's own (self_contained): below the folder of the libraries. */
static void look_near(void)
{
    Dl_info info;
    struct link_map *map;
    char file[PATH_MAX], folder[PATH_MAX + sizeof(HEDDLE_BIN_TO_LIB) + sizeof("/clang/bin") + 1];

    if (!dladdr1((void *)(uintptr_t)look_near, &info, (void **)&map, RTLD_DL_LINKMAP))
        return;
    bool is_program = !map->l_name[0]; /* whose name, as it was called by, says no folder */
    if (!realpath(is_program ? "/proc/self/exe" : map->l_name, file))
        return;
    *strrchr(file, '/') = '\0';
    int n = snprintf(folder, sizeof(folder), "%s/%sclang/bin", file,
                     is_program ? HEDDLE_BIN_TO_LIB "/" : "");
    assert(n > 0 && (size_t)n < sizeof(folder));
    if (realpath(folder, file))
        (void)try_file(file, strlen(file), "clang++");
}

static void look(void)
{
    const char *own = hd_env("HEDDLE_CLANG");

    if (!own)
        look_near();
    if (found[0])
        return;
    if (own && strchr(own, '/'))
        (void)snprintf(found, sizeof(found), "%s", own);
    else
        look_along(hd_env_of_system("PATH"), own ? own : "clang++-19");
    if (!own && !found[0])
        look_along("/usr/bin:/usr/local/bin", "clang++-19");
    if (!own && !found[0])
        look_along("/usr/lib/llvm-19/bin", "clang++");
}

enum hd_status clang_find(const char **out_path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, look);
    *out_path = found;
    return found[0]
               ? HD_OK
               : hd_error(HD_NOT_FOUND, "clang 19 not found: install clang-19 or set HEDDLE_CLANG");
}

unsigned clang_arch(unsigned cc)
{
    static const unsigned known[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
    unsigned best = 0;

    for (size_t i = 0; i < HD_COUNT_OF(known); i++)
        if (known[i] <= cc)
            best = known[i];
    return best;
}

void clang_target_words(unsigned cc, char variant, struct hd_buf *out_words)
{
    unsigned known = clang_arch(cc);
    bool is_known = known == cc && (!variant || (variant == 'a' && known == 90));

    hd_buf_printf(out_words, "--cuda-gpu-arch=sm_%u%s", known,
                  known == 90 && variant == 'a' ? "a" : "");
    if (is_known)
        return;
    hd_buf_printf(out_words, " -U__CUDA_ARCH__ -D__CUDA_ARCH__=%u0", cc);
    if (variant)
        hd_buf_printf(out_words, " -D__CUDA_ARCH_FAMILY_SPECIFIC__=%u0", cc);
    if (variant == 'a')
        hd_buf_printf(out_words, " -D__CUDA_ARCH_SPECIFIC__=%u0 -D__CUDA_ARCH_FEAT_SM%u_ALL", cc,
                      cc);
}

/* ---- running it */

enum hd_status clang_start(const struct clang_args *args, const char *log_path, pid_t *out_pid)
{
    posix_spawn_file_actions_t files;
    char **own = args->failed ? NULL : hd_env_of_child();

    if (!own || posix_spawn_file_actions_init(&files)) {
        hd_free(own);
        return hd_error(HD_NO_MEMORY, "no memory for the compiler's command");
    }
    int error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(&files, 1, log_path, O_WRONLY | O_CREAT | O_TRUNC,
                                                 0600);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (!error)
        error = posix_spawn(out_pid, args->at[0], &files, NULL, args->at, own);
    (void)posix_spawn_file_actions_destroy(&files);
    hd_free(own);
    if (error)
        return hd_error(HD_IO, "cannot run %s: %s", args->at[0], strerror(error));
    return HD_OK;
}

enum hd_status clang_run(const struct clang_args *args, const char *log_path)
{
    pid_t pid;
    int status;

    HD_TRY(clang_start(args, log_path, &pid));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return HD_OK;
}

/* ---- PTX */

/* The line that begins with a word, as [*out_at, *out_end). */
static bool line_of(const struct hd_buf *text, const char *word, size_t *out_at, size_t *out_end)
{
    const char *at = text->ptr;

    while (at && strncmp(at, word, strlen(word)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return false;
    *out_at = (size_t)(at - text->ptr);
    *out_end = *out_at + strcspn(at, "\n");
    return true;
}

static bool begins(const char *word, const char *with)
{
    return !strncmp(word, with, strlen(with));
}

/*
 * Where ".ftz" stands in an opcode that must not or need not have it; NULL for all other words.
 * LLVM flushes halves where it flushes floats; nvcc does not, nor do its halves' intrinsics. What
 * the program writes itself (`is_inline`) stays.
 */
static const char *wrong_ftz(const char *word, size_t len, bool is_inline)
{
    static const char to_integer[] = "cvt.rzi.ftz."; /* 0 either way: see conversions.c */

    if (begins(word, to_integer) &&
        (word[strlen(to_integer)] == 's' || word[strlen(to_integer)] == 'u'))
        return word + strlen("cvt.rzi");
    if (!is_inline && memmem(word, len, ".f16", 4) && !begins(word, "ex2."))
        return memmem(word, len, ".ftz", 4);
    static const char bf16[] = ".bf16", bf16x2[] = ".bf16x2";
    bool is_bf16 = (len > strlen(bf16) && begins(word + len - strlen(bf16), bf16)) ||
                   (len > strlen(bf16x2) && begins(word + len - strlen(bf16x2), bf16x2));

    if (!is_bf16 || begins(word, "cvt.") || begins(word, "ex2."))
        return NULL;
    return memmem(word, len, ".ftz", 4);
}

static void drop_wrong_ftz(struct hd_buf *ptx)
{
    static const char between[] = " \t\n;{}";
    char *to = ptx->ptr;
    bool is_inline = false; /* between LLVM's comments about assembly */

    for (const char *at = ptx->ptr; *at;) {
        size_t blank = strspn(at, between), len = strcspn(at + blank, between);
        const char *word = at + blank, *ftz = wrong_ftz(word, len, is_inline);
        if (begins(word, "inline asm\n") && word - ptx->ptr > 6)
            is_inline = begins(word - strlen("begin "), "begin ");
        size_t before = (ftz ? (size_t)(ftz - word) : len) + blank;
        size_t after = ftz ? len + blank - before - 4 : 0;

        memmove(to, at, before);
        memmove(to + before, at + before + 4, after);
        to += before + after;
        at = word + len;
    }
    *to = '\0';
    ptx->len = (size_t)(to - ptx->ptr);
}

enum hd_status clang_ptx_finish(struct hd_buf *ptx, const char *target)
{
    size_t version, version_end, at, end;
    struct hd_buf out;

    if (!ptx->ptr || !line_of(ptx, ".version", &version, &version_end) ||
        !line_of(ptx, ".target", &at, &end) || at < version_end)
        return hd_error(HD_BAD_ARG, "the compiler's output has no PTX header");
    const char *debug = memmem(ptx->ptr + at, end - at, ", debug", 7) ? ", debug" : "";
    hd_buf_init(&out);
    hd_buf_append(&out, ptx->ptr, version);
    hd_buf_puts(&out, ".version 9.0");
    hd_buf_append(&out, ptx->ptr + version_end, at - version_end);
    hd_buf_printf(&out, ".target %s%s", target, debug);
    hd_buf_append(&out, ptx->ptr + end, ptx->len - end);
    if (out.failed) {
        hd_buf_fini(&out);
        return hd_error(HD_NO_MEMORY, "no memory for the PTX");
    }
    hd_buf_fini(ptx);
    *ptx = out;
    drop_wrong_ftz(ptx);
    return HD_OK;
}
