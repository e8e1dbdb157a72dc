#include "base/thread.h"

#include <signal.h>

#include "base/stack.h"

int hd_thread_create(pthread_t *out_thread, const pthread_attr_t *attr, void *(*main)(void *),
                     void *arg)
{
    sigset_t all, before;
    pthread_attr_t deep;
    int error = attr ? 0 : pthread_attr_init(&deep);

    if (error)
        return error;
    if (!attr)
        pthread_attr_setstacksize(&deep, HD_STACK_B);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(out_thread, attr ? attr : &deep, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!attr)
        pthread_attr_destroy(&deep);
    return error;
}
