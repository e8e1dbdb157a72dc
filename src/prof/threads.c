/* See threads.h. */
#include "prof/threads.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

static _Atomic int kept; /* 0: none */
static _Atomic(prof_thread_fn *) begins;

HD_EXPORT void heddle_threads_watch(int sig, prof_thread_fn *fn)
{
    atomic_store(&begins, fn);
    atomic_store(&kept, sig);
}

static int kept_signal(void)
{
    return atomic_load_explicit(&kept, memory_order_relaxed);
}

/* ---- the C library's, or whoever is next: all are looked for at once, as handlers call some */

static struct {
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    sighandler_t (*signal)(int, sighandler_t);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
} next;
static _Atomic bool has_next;

static void find_next(void)
{
    if (HD_LIKELY(atomic_load_explicit(&has_next, memory_order_acquire)))
        return;
#define FIND(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name)
    FIND(pthread_create);
    FIND(pthread_sigmask);
    FIND(sigprocmask);
    FIND(sigaction);
    FIND(signal);
    FIND(sigwait);
    FIND(sigwaitinfo);
    FIND(sigtimedwait);
#undef FIND
    atomic_store_explicit(&has_next, true, memory_order_release);
}

__attribute__((constructor)) static void start(void)
{
    find_next();
}

/* ---- threads */

/* Is the function in a library of Heddle's? Those that a sanitizer starts tell it themselves. */
static bool is_ours(void *(*fn)(void *))
{
    static const char *const files[] = {
#define X(name, text, file, folder, how) file,
#include "libraries.def"
#undef X
    };
    const char *path = NULL;
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found;

    if (!_dl_find_object((void *)fn, &found))
        path = found.dlfo_link_map->l_name;
#endif
    const char *slash = path ? strrchr(path, '/') : NULL;
    for (size_t i = 0; slash && i < HD_COUNT_OF(files); i++)
        if (!strcmp(slash + 1, files[i]))
            return true;
    return false;
}

struct start {
    void *(*fn)(void *);
    void *arg;
};

static void *thread_main(void *arg)
{
    struct start own = *(struct start *)arg;
    prof_thread_fn *fn = atomic_load(&begins);

    (void)syscall(SYS_munmap, arg, sizeof(own));
    if (fn)
        fn();
    return own.fn(own.arg);
}

/* Not by malloc(), which may be who starts a thread; not by functions that sanitizers replace, as
 * the thread is none of theirs yet. */
HD_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                             void *arg)
{
    find_next();
    if (!kept_signal() || is_ours(fn))
        return next.pthread_create(thread, attr, fn, arg);
    struct start *own = (struct start *)syscall(
        SYS_mmap, NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        return next.pthread_create(thread, attr, fn, arg);
    *own = (struct start){fn, arg};
    int error = next.pthread_create(thread, attr, thread_main, own);
    if (error)
        (void)syscall(SYS_munmap, own, sizeof(*own));
    return error;
}

/* ---- the signal */

/* The set without it; NULL stays. */
static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
    int sig = kept_signal();

    if (!set || !sig || sigismember(set, sig) != 1)
        return set;
    *copy = *set;
    (void)sigdelset(copy, sig);
    return copy;
}

#define MASK(name)                                                                                 \
    HD_EXPORT int name(int how, const sigset_t *set, sigset_t *old)                                \
    {                                                                                              \
        sigset_t copy;                                                                             \
                                                                                                   \
        find_next();                                                                               \
        return next.name(how, how == SIG_UNBLOCK ? set : without(set, &copy), old);                \
    }
MASK(pthread_sigmask)
MASK(sigprocmask)

HD_EXPORT int sigwait(const sigset_t *set, int *sig)
{
    sigset_t copy;

    find_next();
    return next.sigwait(without(set, &copy), sig);
}

HD_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;

    find_next();
    return next.sigwaitinfo(without(set, &copy), info);
}

HD_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;

    find_next();
    return next.sigtimedwait(without(set, &copy), info, timeout);
}

/* Programs that set all signals to what they were at the start must not be ended by this one. */
HD_EXPORT int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
    find_next();
    if (sig != kept_signal() || !sig)
        return next.sigaction(sig, action, old);
    if (old)
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return 0;
}

HD_EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
    find_next();
    return sig && sig == kept_signal() ? SIG_DFL : next.signal(sig, handler);
}
