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

/* What is not the hook's goes to who was there before; without anybody the instruction runs again.
 */
static void handler(int sig, siginfo_t *info, void *context)
{
    struct sigaction next = before;

    if (hd_fault_hook_take(sig, info, context))
        return;
    if (next.sa_flags & SA_SIGINFO)
        next.sa_sigaction(sig, info, context);
    else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN)
        next.sa_handler(sig);
    else
        __sigaction(sig, &next, NULL);
}

static bool is_installed(void)
{
    struct sigaction now;

    if (__sigaction(SIGSEGV, NULL, &now))
        return false;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handler)
        return true;
    before = now;
    return false;
}

bool hd_fault_hook_set(hd_fault_fn *hook)
{
    /* A handler that leaves by a jump finds the signal open, whatever the program asked for. */
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    atomic_store(&the_hook, hook);
    sigemptyset(&action.sa_mask);
    return atomic_load(&is_served) || is_installed() || !__sigaction(SIGSEGV, &action, NULL);
}
