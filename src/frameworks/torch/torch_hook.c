/* See torch_hook.h. */
#include "frameworks/torch/torch_hook.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum state {
    NONE,  /* no PyTorch */
    FOUND, /* it is loaded, and has not asked for devices */
    DONE,  /* it has its kernels, or never will */
};

static struct torch_hook {
    pthread_mutex_t lock;
    _Atomic enum state state;
    char library[PATH_MAX]; /* libtorch_cuda.so */
} hook = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool torch_hook_is_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && !strncmp(slash + 1, "libtorch_", strlen("libtorch_"));
}

bool torch_hook_is_named(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && !strcmp(slash + 1, "libtorch_cuda.so");
}

bool torch_hook_is_on(void)
{
    const char *value = hd_env("HEDDLE_TORCH");

    return !value || strcmp(value, "off") != 0;
}

void torch_hook_found(const char *path)
{
    if (!torch_hook_is_on() || strlen(path) >= sizeof(hook.library))
        return;
    assert(torch_hook_is_named(path));
    (void)snprintf(hook.library, sizeof(hook.library), "%s", path);
    atomic_store(&hook.state, FOUND);
}

/* All that a program prints, without the end of its last line. */
static bool read_line(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n;

    while (len < size && ((n = read(fd, out + len, size - len)) > 0 || (n < 0 && errno == EINTR)))
        len += n > 0 ? (size_t)n : 0;
    if (!len || len == size || out[len - 1] != '\n')
        return false;
    out[len - 1] = '\0';
    return true;
}

static bool exited_well(pid_t pid)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The layer's file, which is compiled first if need be. The command says what goes wrong. */
static bool find_layer(const char *tool, char out_path[PATH_MAX])
{
    char *args[] = {(char *)(uintptr_t)tool, "torch", "build", "--library", hook.library, NULL};
    posix_spawn_file_actions_t files;
    char **own = hd_env_of_child();
    int ends[2];
    pid_t pid;

    if (!own || pipe2(ends, O_CLOEXEC) != 0) {
        hd_free(own);
        return false;
    }
    bool good = !posix_spawn_file_actions_init(&files);
    if (good) {
        good = !posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO) &&
               !posix_spawn(&pid, tool, &files, NULL, args, own);
        (void)posix_spawn_file_actions_destroy(&files);
    }
    hd_free(own);
    (void)close(ends[1]);
    if (good) {
        good = read_line(ends[0], out_path, PATH_MAX);
        good = exited_well(pid) && good;
    }
    (void)close(ends[0]);
    return good;
}

/* NULL, or what went wrong. */
static const char *load_layer(const char *path, torch_hook_redirect *redirect)
{
    const char *(*start)(torch_hook_redirect *);
    void *layer = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!layer)
        return dlerror();
    *(void **)&start = dlsym(layer, "heddle_torch_start");
    return start ? start(redirect) : "it has no heddle_torch_start()";
}

static void start_locked(torch_hook_redirect *redirect)
{
    const char *tool = hd_env("HEDDLE_TOOL"), *why;
    char path[PATH_MAX];

    if (!tool) {
        hd_log("PyTorch's operators need `heddle run` or `heddle shell` around the program: they "
               "will fail");
        return;
    }
    if (!find_layer(tool, path)) {
        hd_log("PyTorch's operators on cuda will fail, as there are no kernels for them");
        return;
    }
    why = load_layer(path, redirect);
    if (why)
        hd_log("PyTorch's operators on cuda will fail: %s: %s", path, why);
    else
        hd_log_debug(HD_DEBUG_LOAD, "PyTorch's operators run by %s", path);
}

void torch_hook_start(torch_hook_redirect *redirect)
{
    if (HD_LIKELY(atomic_load_explicit(&hook.state, memory_order_acquire) != FOUND))
        return;
    pthread_mutex_lock(&hook.lock);
    if (atomic_load(&hook.state) == FOUND) {
        start_locked(redirect);
        atomic_store_explicit(&hook.state, DONE, memory_order_release);
    }
    pthread_mutex_unlock(&hook.lock);
}
