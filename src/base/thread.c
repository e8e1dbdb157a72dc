#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/stack.h"

static void (*_Atomic on_start)(void);

struct start {
    void *(*main)(void *);
    void *arg;
};

void hd_thread_on_start(void (*fn)(void))
{
    atomic_store(&on_start, fn);
}

static void *start_main(void *arg)
{
    struct start start = *(struct start *)arg;

    hd_free(arg);
    atomic_load (&on_start)();
    return start.main(start.arg);
}

int hd_thread_create(pthread_t *out_thread, const pthread_attr_t *attr, void *(*main)(void *),
                     void *arg)
{
    sigset_t all, before;
    pthread_attr_t deep;
    int error = attr ? 0 : pthread_attr_init(&deep);
    struct start *start = !error && atomic_load(&on_start) ? hd_new(struct start) : NULL;

    if (error)
        return error;
    if (!attr)
        pthread_attr_setstacksize(&deep, HD_STACK_B);
    if (start) /* without memory for it the profiler sees the thread */
        *start = (struct start){main, arg};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(out_thread, attr ? attr : &deep, start ? start_main : main,
                           start ? start : arg);
    if (error)
        hd_free(start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!attr)
        pthread_attr_destroy(&deep);
    return error;
}
