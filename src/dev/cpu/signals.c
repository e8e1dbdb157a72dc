/* Signal handlers of the process: ours, and what the program believes is installed. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fault_hook.h"
#include "base/lock.h"
#include "dev/cpu/signals.h"

/* The C library's own, whoever stands before it. */
extern int __sigaction(int sig, const struct sigaction *action, struct sigaction *old);

static const int signals[] = {
#define X(sig) sig,
    CPU_SIGNAL_LIST(X)
#undef X
};

/*
 * The program's actions. Written by writers one at a time with all signals blocked; read by the
 * handler, which copies and looks whether the version has changed meanwhile.
 */
struct action {
    _Atomic uint32_t version; /* odd while it is written */
    struct sigaction action;
};
static struct action program[HD_COUNT_OF(signals)];
static atomic_flag writing = ATOMIC_FLAG_INIT;

static _Atomic bool installed;
static cpu_signals_fn *take;
static _Atomic uint64_t checked_ns;
static char cancel_mark, sample_mark; /* their addresses mark our signals */

static int index_of(int sig)
{
    for (unsigned i = 0; i < HD_COUNT_OF(signals); i++)
        if (signals[i] == sig)
            return (int)i;
    return -1;
}

static struct sigaction program_get(int index)
{
    struct action *a = &program[index];
    struct sigaction copy;
    uint32_t version;

    do {
        version = atomic_load(&a->version);
        copy = a->action;
        atomic_thread_fence(memory_order_acquire);
    } while (version & 1 || atomic_load(&a->version) != version);
    return copy;
}

/* With all signals blocked: the handler on this thread would wait for us forever. */
static void program_set(int index, const struct sigaction *action)
{
    struct action *a = &program[index];
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (atomic_flag_test_and_set(&writing))
        ;
    atomic_fetch_add(&a->version, 1);
    a->action = *action;
    atomic_fetch_add(&a->version, 1);
    atomic_flag_clear(&writing);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- passing on */

/* Runs the default action: for faults, by running the faulting instruction again. */
static void run_default(int sig, const siginfo_t *info)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    if (sig == SIGURG)
        return; /* ignored by default */
    __sigaction(sig, &action, NULL);
    if (info->si_code <= 0)
        raise(sig);
}

/* As the kernel would have called the program's handler. */
static void run_handler(const struct sigaction *action, int sig, siginfo_t *info, void *context)
{
    sigset_t mask = action->sa_mask, before;

    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, sig);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    if (action->sa_flags & SA_NODEFER) {
        sigset_t own;

        sigemptyset(&own);
        sigaddset(&own, sig);
        pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    }
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(sig, info, context);
    else
        action->sa_handler(sig);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void pass_on(int index, int sig, siginfo_t *info, void *context)
{
    struct sigaction action = program_get(index);
    bool has_info = (action.sa_flags & SA_SIGINFO) != 0;

    if (action.sa_flags & (int)SA_RESETHAND) {
        struct sigaction none = {.sa_handler = SIG_DFL};

        program_set(index, &none);
    }
    if (!has_info && action.sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    /* A fault that is ignored would come again forever: the kernel ends the process too. */
    if (!has_info && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN))
        run_default(sig, info);
    else
        run_handler(&action, sig, info, context);
}

static void handler(int sig, siginfo_t *info, void *context)
{
    int error = errno, index = index_of(sig);

    assert(index >= 0);
    if (!take(sig, info, context) && !hd_fault_hook_take(sig, info, context))
        pass_on(index, sig, info, context);
    errno = error;
}

/* ---- staying installed */

static bool reassert_one(int index)
{
    struct sigaction ours = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction now;

    if (__sigaction(signals[index], NULL, &now))
        return false;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handler)
        return true;
    program_set(index, &now);
    sigemptyset(&ours.sa_mask);
    for (unsigned i = 0; i < HD_COUNT_OF(signals); i++)
        sigaddset(&ours.sa_mask, signals[i]);
    return __sigaction(signals[index], &ours, NULL) == 0;
}

void cpu_signals_reassert(void)
{
    for (unsigned i = 0; i < HD_COUNT_OF(signals); i++)
        (void)reassert_one((int)i);
}

/* A third of the price of the exact clock; ticks every 1 to 10 ms. */
static uint64_t coarse_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cpu_signals_unblock(void)
{
    static __thread uint64_t thread_checked_ns;
    uint64_t now_ns = coarse_ns();
    sigset_t ours;

    if (HD_LIKELY(now_ns - thread_checked_ns < CPU_SIGNALS_CHECK_NS))
        return;
    thread_checked_ns = now_ns;
    sigemptyset(&ours);
    for (unsigned i = 0; i < HD_COUNT_OF(signals); i++)
        sigaddset(&ours, signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

void cpu_signals_check(void)
{
    uint64_t now_ns = coarse_ns(),
             last_ns = atomic_load_explicit(&checked_ns, memory_order_relaxed);

    if (HD_LIKELY(now_ns - last_ns < CPU_SIGNALS_CHECK_NS))
        return;
    if (atomic_compare_exchange_strong(&checked_ns, &last_ns, now_ns))
        cpu_signals_reassert();
}

enum hd_status cpu_signals_install(cpu_signals_fn *ours)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    HD_FORK_MUTEX(once, once);
    bool fine = true;

    pthread_mutex_lock(&once);
    take = ours;
    hd_fault_hook_serve();
    for (unsigned i = 0; i < HD_COUNT_OF(signals) && !atomic_load(&installed); i++)
        fine &= reassert_one((int)i);
    if (fine)
        atomic_store(&installed, true);
    pthread_mutex_unlock(&once);
    return fine ? HD_OK : hd_error(HD_INTERNAL, "sigaction: %s", strerror(errno));
}

/* ---- cancellation and samples */

static void send(int tid, void *mark)
{
    siginfo_t info = {.si_signo = CPU_SIGNAL_CANCEL, .si_code = SI_QUEUE};

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = mark;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, CPU_SIGNAL_CANCEL, &info);
}

static bool is_marked(int sig, const siginfo_t *info, const void *mark)
{
    return sig == CPU_SIGNAL_CANCEL && info->si_code == SI_QUEUE &&
           info->si_value.sival_ptr == mark;
}

void cpu_signals_cancel(int tid)
{
    send(tid, &cancel_mark);
}

void cpu_signals_sample(int tid)
{
    send(tid, &sample_mark);
}

bool cpu_signals_is_cancel(int sig, const siginfo_t *info)
{
    return is_marked(sig, info, &cancel_mark);
}

bool cpu_signals_is_sample(int sig, const siginfo_t *info)
{
    return is_marked(sig, info, &sample_mark);
}

/* ---- what the program calls */

/* ThreadSanitizer has its own, and finds ours by the check. */
#if !HD_SANITIZES_THREADS

HD_EXPORT int sigaction(int sig, const struct sigaction *restrict action,
                        struct sigaction *restrict old)
{
    int index = index_of(sig);
    struct sigaction before;

    if (index < 0 || !atomic_load(&installed))
        return __sigaction(sig, action, old);
    before = program_get(index);
    if (action)
        program_set(index, action);
    if (old)
        *old = before;
    return 0;
}

HD_EXPORT sighandler_t signal(int sig, sighandler_t handler_)
{
    struct sigaction action = {.sa_handler = handler_, .sa_flags = SA_RESTART}, old;

    sigemptyset(&action.sa_mask);
    if (handler_ == SIG_ERR || sigaction(sig, &action, &old)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return old.sa_handler;
}

#endif
