#include "base/thread.h"

#include <signal.h>

int hd_thread_create(pthread_t *out_thread, const pthread_attr_t *attr, void *(*main)(void *),
                     void *arg)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(out_thread, attr, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
