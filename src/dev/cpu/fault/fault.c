/*
 * Faults inside generated code. A wild access raises SIGSEGV on the thread that runs the CTA; the
 * handler makes the thread go on where the CTA was started, and the job ends with an error. A
 * signal at any other place is not ours: it goes to the program's handler (signals.c).
 *
 * Cancellation takes the same way out, from wherever a signal of ours finds the generated code: a
 * CTA holds nothing but its own memory. A service that does hold something says so by
 * cpu_guard_hold().
 *
 * The handler does not jump out of itself: it changes the interrupted registers and returns, so the
 * signal is over (mask, signal stack) before anything else happens. It runs on a stack of its own,
 * because the stack may be what overflowed.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/fault_hook.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/sample.h"
#include "dev/cpu/signals.h"
#include "hal/interrupted.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define SIGNAL_STACK_B (64u << 10)

/*
 * Not initial-exec: that would put all thread-local data of the library into the static block,
 * which has no room in a process that opens libcuda with dlopen(). The handler must not be the
 * first to touch thread-local data (that may allocate), so it finds the guard through a key.
 */
static __thread struct cpu_guard guard;
static __thread bool thread_ready;
static pthread_key_t guard_key;

void cpu_guard_blame(enum hd_status status, uint64_t address, const struct cpu_blame *blame)
{
    assert(status != HD_OK && guard.active);
    guard.active = false;
    guard.status = status;
    guard.address = address;
    guard.blame = *blame;
    guard.pc = guard.caller = 0;
    guard.signal = 0;
    _longjmp(guard.env, 1);
}

void cpu_guard_leave(enum hd_status status, uint64_t address)
{
    cpu_guard_blame(status, address, &(struct cpu_blame){0});
}

HD_NORETURN static void fault_resume(void)
{
    _longjmp(guard.env, 1);
}

/* Stack for fault_resume(): what lies below fault_guard_body()'s frame is being given up. */
static uintptr_t fault_resume_stack(void)
{
    return (guard.frame - 4096) & ~(uintptr_t)15;
}

#if defined(__x86_64__)
static uintptr_t fault_stack_pointer(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static uintptr_t fault_program_counter(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static uintptr_t fault_frame_pointer(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
}

static void fault_go_on_at_resume(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)fault_resume;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)(fault_resume_stack() - 8); /* as after a call */
}

/* Bytes of `call r/m64` from its opcode on. Intel SDM 2A, 2.1.5, table 2-2. */
static ptrdiff_t fault_indirect_call_B(const unsigned char *call)
{
    unsigned mod = call[1] >> 6, rm = call[1] & 7;
    bool has_sib = mod != 3 && rm == 4;
    bool is_far = mod == 2 || (mod == 0 && (rm == 5 || (has_sib && (call[2] & 7) == 5)));

    return 2 + has_sib + (mod == 1 ? 1 : is_far ? 4 : 0);
}

/* call rel32, or call of what a register or memory holds. The length is looked at, too: nops that
 * fill up a function look like the start of one. */
static bool fault_follows_call(uintptr_t at, uintptr_t start)
{
    const unsigned char *p = (const unsigned char *)at;

    for (ptrdiff_t n = 2; n <= 7 && (uintptr_t)n <= at - start; n++) {
        if (n == 5 && p[-n] == 0xe8)
            return true;
        if (p[-n] == 0xff && (p[1 - n] >> 3 & 7) == 2 && fault_indirect_call_B(p - n) == n)
            return true;
    }
    return false;
}
#elif defined(__aarch64__)
static uintptr_t fault_stack_pointer(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.sp;
}

static uintptr_t fault_program_counter(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.pc;
}

static uintptr_t fault_frame_pointer(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.regs[29];
}

static void fault_go_on_at_resume(ucontext_t *context)
{
    context->uc_mcontext.pc = (uintptr_t)fault_resume;
    context->uc_mcontext.sp = fault_resume_stack();
}

/* bl, blr */
static bool fault_follows_call(uintptr_t at, uintptr_t start)
{
    uint32_t word = at % 4 || at - start < 4 ? 0 : *(const uint32_t *)(at - 4);

    return word >> 26 == 0x25 || (word & 0xfffffc1f) == 0xd63f0000;
}
#else
#error "fault.c: registers of this architecture"
#endif

static enum hd_status fault_signal_status(int sig, const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t sp = fault_stack_pointer(context), at = (uintptr_t)info->si_addr;

    if (sig == SIGBUS && info->si_code == BUS_ADRALN)
        return HD_MISALIGNED;
    if (sig == SIGFPE || sig == SIGILL)
        return HD_TRAP;
    /* An access right around the stack pointer is the end of the host stack. */
    if (at + (64u << 10) > sp && at < sp + (64u << 10))
        return HD_STACK_OVERFLOW;
    return HD_ILLEGAL_ADDRESS;
}

#define SCAN_WORDS 512 /* frames of the functions that generated code calls are smaller */

static bool fault_in_code(const struct jit_code *code, uintptr_t pc)
{
    return pc - code->base < code->size_B;
}

/*
 * Where in generated code the fault is. In a function that it called: the call, whose return
 * address is the first one on the stack that lies behind a call in the code (a saved register may
 * hold another address of it). Not on the stack of a fiber, whose end is not known here.
 */
CPU_READS_ANYTHING static uintptr_t fault_code_counter(const struct cpu_guard *g,
                                                       const ucontext_t *context)
{
    const struct jit_code *code = g->cta ? g->cta->code : NULL;
    uintptr_t pc = fault_program_counter(context),
              sp = fault_stack_pointer(context) & ~(uintptr_t)7;

    if (!code || !code->base || fault_in_code(code, pc) || sp > g->frame)
        return pc;
    for (unsigned i = 0; i < SCAN_WORDS && sp + i * 8 < g->frame; i++) {
        uintptr_t word = ((const volatile uintptr_t *)sp)[i];

        if (fault_in_code(code, word - 1) && fault_follows_call(word, code->base))
            return word - 1;
    }
    return pc;
}

/*
 * Who called the function of generated code that the fault is in. Those that gathers and the like
 * share have frames (jit/gen/gen_outline.h); of others this may be anything in the code, or 0.
 */
CPU_READS_ANYTHING static uintptr_t fault_code_caller(const struct cpu_guard *g,
                                                      const ucontext_t *context)
{
    const struct jit_code *code = g->cta ? g->cta->code : NULL;
    uintptr_t fp = fault_frame_pointer(context), sp = fault_stack_pointer(context), word;

    if (!code || !code->base || !fault_in_code(code, fault_program_counter(context)) || fp % 8 ||
        fp < sp || fp - sp > SCAN_WORDS * 8 || fp + 16 > g->frame)
        return 0;
    word = ((const volatile uintptr_t *)fp)[1];
    return fault_in_code(code, word - 1) && fault_follows_call(word, code->base) ? word - 1 : 0;
}

/* The interrupted guarded body is over when the handler returns. */
static void fault_leave_from_handler(struct cpu_guard *g, enum hd_status status, uint64_t address,
                                     ucontext_t *context)
{
    assert(g->active && status != HD_OK);
    g->active = false;
    g->signal = 0;
    g->status = status;
    g->address = address;
    memset(&g->blame, 0, sizeof(g->blame));
    g->pc = fault_code_counter(g, context);
    g->caller = fault_code_caller(g, context);
    fault_go_on_at_resume(context);
}

static bool fault_is_cancelled(const struct cpu_guard *g)
{
    return atomic_load_explicit(&g->domain->base.fault->cancelled, memory_order_relaxed) != 0;
}

/* In the signal handler. What comes while the guard holds something waits for its release. */
static bool fault_take_signal(int sig, siginfo_t *info, void *context)
{
    struct cpu_guard *g = pthread_getspecific(guard_key);
    bool active = g && g->active;

    if (cpu_signals_is_cancel(sig, info)) {
        if (active && !g->held && fault_is_cancelled(g))
            fault_leave_from_handler(g, HD_CANCELLED, 0, context);
        return true;
    }
    if (cpu_signals_is_sample(sig, info)) {
        if (active) {
            /*
             * A sample was asked for. A pending cancellation that it took the place of goes on
             * here.
             */
            struct cpu_samples *samples = g->cta ? atomic_load(&g->job->samples) : NULL;

            if (samples)
                cpu_samples_note(samples, fault_program_counter(context),
                                 fault_stack_pointer(context), g->frame);
            if (!g->held && fault_is_cancelled(g))
                fault_leave_from_handler(g, HD_CANCELLED, 0, context);
        }
        return true;
    }
    if (sig == CPU_SIGNAL_CANCEL || jit_crash_take(sig) || !active || info->si_code <= 0)
        return false;
    /* To a native function the checker's closed pages are what they are to the host. */
    if (g->job->native && hd_fault_hook_take(sig, info, context))
        return true;
    fault_leave_from_handler(g, fault_signal_status(sig, info, context), (uintptr_t)info->si_addr,
                             context);
    g->signal = sig;
    return true;
}

/* What lies above the guard's frame: the saved frame pointer and the return address. */
CPU_READS_ANYTHING static bool fault_interrupted(struct hal_interrupted *out)
{
    const struct cpu_guard *g = pthread_getspecific(guard_key);
    const volatile uintptr_t *frame;

    if (!g || !g->active || !g->cta || g->job->native)
        return false;
    frame = (const volatile uintptr_t *)g->frame;
    *out = (struct hal_interrupted){g->job->name, frame[1], g->cfa, frame[0]};
    return true;
}

void cpu_guard_hold(void)
{
    guard.held++;
}

void cpu_guard_release(void)
{
    assert(guard.held > 0);
    if (--guard.held == 0 && guard.active && fault_is_cancelled(&guard))
        cpu_guard_leave(HD_CANCELLED, 0);
}

static pthread_key_t stack_key;

static void fault_stack_free(void *stack)
{
    stack_t off = {.ss_flags = SS_DISABLE};

    sigaltstack(&off, NULL);
    munmap(stack, SIGNAL_STACK_B);
}

void cpu_fault_thread_init(void)
{
    stack_t stack = {.ss_size = SIGNAL_STACK_B}, old;

    cpu_signals_unblock();
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

static void fault_install_once(void)
{
    if (pthread_key_create(&stack_key, fault_stack_free) || pthread_key_create(&guard_key, NULL))
        install_result = hd_error(HD_NO_MEMORY, "no thread-specific key left");
    else
        install_result = cpu_signals_install(fault_take_signal);
    if (install_result == HD_OK)
        hal_interrupted_serve(fault_interrupted);
}

enum hd_status cpu_fault_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fault_install_once);
    return install_result;
}

/* Loading MXCSR waits for what runs; most programs and kernels have the same one. */
#if defined(__x86_64__)
static unsigned fault_mxcsr_set(const struct cpu_job *job)
{
    unsigned before = _mm_getcsr();

    if (job->form.code && job->form.code->mxcsr && job->form.code->mxcsr != before)
        _mm_setcsr(job->form.code->mxcsr);
    return before;
}
static void fault_mxcsr_restore(unsigned before)
{
    if (_mm_getcsr() != before)
        _mm_setcsr(before);
}
#else
static unsigned fault_mxcsr_set(const struct cpu_job *job)
{
    (void)job;
    return 0;
}
static void fault_mxcsr_restore(unsigned before)
{
    (void)before;
}
#endif

static bool fault_guard_body(struct cpu_guard *g, void (*body)(void *arg), void *arg,
                             struct cpu_job *job, struct cpu_cta *cta)
{
    unsigned mxcsr = fault_mxcsr_set(job);
    bool fine = true;

    assert(!g->active && !g->held);
    if (HD_UNLIKELY(!g->known))
        g->known = !pthread_setspecific(guard_key, g);
    g->cta = cta;
    g->domain = job->domain;
    g->job = job;
    g->frame = (uintptr_t)__builtin_frame_address(0);
    g->cfa = (uintptr_t)__builtin_dwarf_cfa();
    if (_setjmp(g->env) == 0) {
        g->active = true;
        /* A cancellation before this line has sent its signal already. */
        atomic_signal_fence(memory_order_seq_cst);
        if (HD_UNLIKELY(fault_is_cancelled(g)))
            cpu_guard_leave(HD_CANCELLED, 0);
        body(arg);
        g->active = false;
    } else {
        guard.held = 0;
        fine = false;
    }
    fault_mxcsr_restore(mxcsr);
    return fine;
}

/*
 * The function of a native kernel may give work to the device, and that may be executed on the
 * function's thread: the guard around the function is put aside meanwhile. Signals find it or the
 * inner one, never half of it.
 */
static void fault_outer_save(struct cpu_guard *g, struct cpu_guard *out_outer)
{
    assert(g->job->native && g->held);
    g->active = false;
    atomic_signal_fence(memory_order_seq_cst);
    *out_outer = *g;
    g->held = 0;
}

static void fault_outer_restore(struct cpu_guard *g, const struct cpu_guard *outer)
{
    *g = *outer;
    atomic_signal_fence(memory_order_seq_cst);
    g->active = true;
}

static HD_NOINLINE bool fault_guard_inside(struct cpu_guard *g, void (*body)(void *arg), void *arg,
                                           struct cpu_job *job, struct cpu_cta *cta,
                                           struct cpu_guard *out_fault)
{
    struct cpu_guard outer;
    bool fine;

    fault_outer_save(g, &outer);
    fine = fault_guard_body(g, body, arg, job, cta);
    if (!fine)
        *out_fault = *g;
    fault_outer_restore(g, &outer);
    return fine;
}

bool cpu_guard_run(void (*body)(void *arg), void *arg, struct cpu_job *job, struct cpu_cta *cta,
                   struct cpu_guard *out_fault)
{
    struct cpu_guard *g = &guard; /* looked up once: thread-local data costs a call */

    if (HD_UNLIKELY(g->active))
        return fault_guard_inside(g, body, arg, job, cta, out_fault);
    if (HD_LIKELY(fault_guard_body(g, body, arg, job, cta)))
        return true;
    *out_fault = *g;
    return false;
}

bool cpu_guarded_native(void (*body)(void *arg), void *arg, struct cpu_job *job,
                        struct cpu_fault *out_fault)
{
    struct cpu_guard g;

    if (cpu_guard_run(body, arg, job, NULL, &g))
        return true;
    *out_fault = (struct cpu_fault){.status = g.status,
                                    .address = g.address,
                                    .pc = g.pc,
                                    .signal = g.signal,
                                    .reason = g.blame.reason};
    return false;
}

bool cpu_guarded_quietly(void (*body)(void *arg), void *arg, struct cpu_job *job,
                         enum hd_status *out_status, uint64_t *out_address)
{
    struct cpu_fault fault = {.status = HD_OK};
    bool fine = cpu_guarded_native(body, arg, job, &fault);

    *out_status = fault.status;
    *out_address = fault.address;
    return fine;
}
