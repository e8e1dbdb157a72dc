/*
 * See osrt.h. A function's own code is asked from the loader when it is first called: constructors
 * of libraries in front of this one call some of them.
 */
#include "prof/osrt.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"

static _Atomic(prof_osrt_fn *) listener;

HD_EXPORT void heddle_osrt_listen(prof_osrt_fn *notified)
{
    atomic_store(&listener, notified);
}

static bool is_listening(void)
{
    return atomic_load_explicit(&listener, memory_order_relaxed) != NULL;
}

/* ---- whose call it is */

/* The path of what has the address; NULL: nobody knows. No lock is taken, with a new C library. */
static const char *path_at(void *addr)
{
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found;

    return _dl_find_object(addr, &found) == 0 ? found.dlfo_link_map->l_name : NULL;
#else
    Dl_info info;

    return dladdr(addr, &info) ? info.dli_fname : NULL;
#endif
}

static bool is_ours(const char *path)
{
    static const char *const files[] = {
#define X(name, text, file, folder, how) file,
#include "libraries.def"
#undef X
    };
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

    for (size_t i = 0; i < HD_COUNT_OF(files); i++)
        if (!strcmp(file, files[i]))
            return true;
    return false;
}

/* errno stays as the call left it. */
static void notify(const char *name, uint64_t begin_ns, int64_t result, void *caller)
{
    uint64_t end_ns = hd_clock_ns(CLOCK_MONOTONIC);
    prof_osrt_fn *notified = atomic_load_explicit(&listener, memory_order_relaxed);
    int error = errno;

    if (!notified || end_ns - begin_ns < OSRT_SHORTEST_NS)
        return;
    const char *path = path_at(caller);
    if (!path || !is_ours(path))
        notified(name, begin_ns, end_ns, result);
    errno = error;
}

static void *next(_Atomic(void *) *slot, const char *name)
{
    void *func = atomic_load_explicit(slot, memory_order_relaxed);

    if (!func) {
        func = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(slot, func, memory_order_relaxed);
    }
    return func;
}

/* ---- the functions: each is that of the C library with a clock around it */

#define NEXT(type, name, params)                                                                   \
    static _Atomic(void *) slot_;                                                                  \
    type(*next_) params = (type(*) params)next(&slot_, #name)

#define MEASURED(type, name, call)                                                                 \
    do {                                                                                           \
        if (!is_listening())                                                                       \
            return call;                                                                           \
        uint64_t begin_ns_ = hd_clock_ns(CLOCK_MONOTONIC);                                         \
        type result_ = call;                                                                       \
        notify(#name, begin_ns_, (int64_t)(intptr_t)result_, __builtin_return_address(0));         \
        return result_;                                                                            \
    } while (0)

#define X(type, name, params, args)                                                                \
    HD_EXPORT type name params                                                                     \
    {                                                                                              \
        NEXT(type, name, params);                                                                  \
        MEASURED(type, name, next_ args);                                                          \
    }
#include "prof/osrt.def"
#undef X

/* Nearly always it is free: then no clock is read. */
HD_EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    NEXT(int, pthread_mutex_lock, (pthread_mutex_t *));
    int result = is_listening() ? pthread_mutex_trylock(mutex) : EBUSY;

    if (result != EBUSY)
        return result;
    MEASURED(int, pthread_mutex_lock, next_(mutex));
}

/* The mode is there when the flags ask for it; to pass it on unasked does no harm. */
static mode_t mode_of(va_list *args, int flags)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(*args, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    HD_EXPORT int name(const char *path, int flags, ...)                                           \
    {                                                                                              \
        NEXT(int, name, (const char *, int, ...));                                                 \
        va_list args;                                                                              \
                                                                                                   \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(&args, flags);                                                       \
        va_end(args);                                                                              \
        MEASURED(int, name, next_(path, flags, mode));                                             \
    }
OPEN(open)
OPEN(open64)

HD_EXPORT int ioctl(int fd, unsigned long request, ...)
{
    NEXT(int, ioctl, (int, unsigned long, ...));
    va_list args;

    va_start(args, request);
    void *arg = va_arg(args, void *);
    va_end(args);
    MEASURED(int, ioctl, next_(fd, request, arg));
}
