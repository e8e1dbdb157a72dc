/*
 * Faults inside generated code. A wild access raises SIGSEGV on the thread that runs the CTA; the
 * handler makes the thread go on where the CTA was started, and the job ends with an error. A
 * signal at any other place is not ours: it goes to the handler that was there before us.
 *
 * The handler does not jump out of itself: it changes the interrupted registers and returns, so the
 * signal is over (mask, signal stack) before anything else happens. It runs on a stack of its own,
 * because the stack may be what overflowed.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "dev/cpu/device.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define SIGNAL_STACK_B (64u << 10)

/*
 * Not initial-exec: that would put all thread-local data of the library into the static block,
 * which
 * has no room in a process that opens libcuda with dlopen(). The handler must not be the first to
 * touch thread-local data (that may allocate), so it finds the guard through a key.
 */
static __thread struct cpu_guard guard;
static __thread bool thread_ready, guard_known;
static pthread_key_t guard_key;

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction previous[HD_COUNT_OF(signals)];

struct cpu_guard *cpu_guard_get(void)
{
    return &guard;
}

void cpu_guard_leave(enum hd_status status, uint64_t address)
{
    guard.active = false;
    guard.status = status;
    guard.address = address;
    _longjmp(guard.env, 1);
}

HD_NORETURN static void resume(void)
{
    _longjmp(guard.env, 1);
}

/* Stack for resume(): what lies below cpu_guarded()'s frame is being given up. */
static uintptr_t resume_stack(void)
{
    return (guard.frame - 4096) & ~(uintptr_t)15;
}

#if defined(__x86_64__)
static uintptr_t stack_pointer(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static void go_on_at_resume(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)resume;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)(resume_stack() - 8); /* as after a call */
}
#elif defined(__aarch64__)
static uintptr_t stack_pointer(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.sp;
}

static void go_on_at_resume(ucontext_t *context)
{
    context->uc_mcontext.pc = (uintptr_t)resume;
    context->uc_mcontext.sp = resume_stack();
}
#else
#error "fault.c: registers of this architecture"
#endif

static enum hd_status signal_status(int sig, const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t sp = stack_pointer(context), at = (uintptr_t)info->si_addr;

    if (sig == SIGBUS && info->si_code == BUS_ADRALN)
        return HD_MISALIGNED;
    if (sig == SIGFPE || sig == SIGILL)
        return HD_TRAP;
    /* An access right around the stack pointer is the end of the host stack. */
    if (at + (64u << 10) > sp && at < sp + (64u << 10))
        return HD_STACK_OVERFLOW;
    return HD_ILLEGAL_ADDRESS;
}

static void chain(int index, int sig, siginfo_t *info, void *context)
{
    const struct sigaction *old = &previous[index];

    if (old->sa_flags & SA_SIGINFO && old->sa_sigaction) {
        old->sa_sigaction(sig, info, context);
    } else if (old->sa_handler == SIG_IGN && info->si_code <= 0) {
        return;
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(sig);
    } else {
        /* Returning runs the faulting instruction again, now with the default action. */
        signal(sig, SIG_DFL);
        if (info->si_code <= 0)
            raise(sig);
    }
}

static void handler(int sig, siginfo_t *info, void *context)
{
    struct cpu_guard *g = pthread_getspecific(guard_key);

    if (g && g->active && info->si_code > 0) {
        g->active = false;
        g->status = signal_status(sig, info, context);
        g->address = (uintptr_t)info->si_addr;
        go_on_at_resume(context);
        return;
    }
    for (unsigned i = 0; i < HD_COUNT_OF(signals); i++)
        if (signals[i] == sig)
            chain((int)i, sig, info, context);
}

static pthread_key_t stack_key;

static void stack_free(void *stack)
{
    stack_t off = {.ss_flags = SS_DISABLE};

    sigaltstack(&off, NULL);
    munmap(stack, SIGNAL_STACK_B);
}

void cpu_fault_thread_init(void)
{
    stack_t stack = {.ss_size = SIGNAL_STACK_B}, old;

    if (thread_ready)
        return;
    thread_ready = true;
    if (!sigaltstack(NULL, &old) && !(old.ss_flags & SS_DISABLE))
        return; /* the program has its own */
    stack.ss_sp =
        mmap(NULL, SIGNAL_STACK_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED)
        return;
    if (sigaltstack(&stack, NULL) || pthread_setspecific(stack_key, stack.ss_sp))
        munmap(stack.ss_sp, SIGNAL_STACK_B);
}

static enum hd_status install_result;

static void install_once(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (pthread_key_create(&stack_key, stack_free) || pthread_key_create(&guard_key, NULL)) {
        install_result = hd_error(HD_NO_MEMORY, "no thread-specific key left");
        return;
    }
    sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < HD_COUNT_OF(signals); i++)
        if (sigaction(signals[i], &action, &previous[i]))
            install_result = hd_error(HD_INTERNAL, "sigaction: %s", strerror(errno));
}

enum hd_status cpu_fault_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install_once);
    return install_result;
}

static void guard_raise(struct cpu_job *job)
{
    const struct cpu_cta *cta = job->code ? guard.cta : NULL;
    char message[200];

    if (cta)
        snprintf(message, sizeof(message), "kernel %s: %s at 0x%llx in block (%u,%u,%u)", job->name,
                 hd_status_text(guard.status), (unsigned long long)guard.address, cta->cta.ctaid[0],
                 cta->cta.ctaid[1], cta->cta.ctaid[2]);
    else
        snprintf(message, sizeof(message), "%s: %s at 0x%llx", job->name,
                 hd_status_text(guard.status), (unsigned long long)guard.address);
    if (hal_fault_raise(job->fault, guard.status, guard.address, message))
        (void)!hd_error(guard.status, "%s", message);
}

#if defined(__x86_64__)
static unsigned mxcsr_set(const struct cpu_job *job)
{
    unsigned before = _mm_getcsr();

    if (job->code && job->code->mxcsr)
        _mm_setcsr(job->code->mxcsr);
    return before;
}
static void mxcsr_restore(unsigned before)
{
    _mm_setcsr(before);
}
#else
static unsigned mxcsr_set(const struct cpu_job *job)
{
    (void)job;
    return 0;
}
static void mxcsr_restore(unsigned before)
{
    (void)before;
}
#endif

bool cpu_guarded(void (*body)(void *arg), void *arg, struct cpu_job *job)
{
    unsigned mxcsr = mxcsr_set(job);
    bool fine = true;

    if (!guard_known)
        guard_known = !pthread_setspecific(guard_key, &guard);
    guard.cta = NULL;
    guard.frame = (uintptr_t)__builtin_frame_address(0);
    if (_setjmp(guard.env) == 0) {
        guard.active = true;
        body(arg);
        guard.active = false;
    } else {
        fine = false;
    }
    mxcsr_restore(mxcsr);
    if (!fine)
        guard_raise(job);
    return fine;
}
