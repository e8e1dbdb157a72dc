/* See fault_hook.h. */
#include "base/fault_hook.h"

#include <stdatomic.h>

/* The C library's own, whoever stands before it. */
extern int __sigaction(int sig, const struct sigaction *action, struct sigaction *old);

static hd_fault_fn *_Atomic the_hook;
static _Atomic bool is_served;
static struct sigaction before;

void hd_fault_hook_serve(void)
{
    atomic_store(&is_served, true);
}

bool hd_fault_hook_take(int sig, siginfo_t *info, void *context)
{
    hd_fault_fn *hook = atomic_load(&the_hook);

    return hook && hook(sig, info, context);
}

/* What is not the hook's: as if we were not there, the instruction runs again. */
static void handler(int sig, siginfo_t *info, void *context)
{
    if (!hd_fault_hook_take(sig, info, context))
        __sigaction(sig, &before, NULL);
}

bool hd_fault_hook_set(hd_fault_fn *hook)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    atomic_store(&the_hook, hook);
    sigemptyset(&action.sa_mask);
    return atomic_load(&is_served) || !__sigaction(SIGSEGV, &action, &before);
}
