/*
 * Errors inside generated code: a guard is where they come out (fault.c).
 *
 * Threads: a guard belongs to its thread. It is active only while generated code, or a service that
 * it called, runs.
 */
#ifndef HD_DEV_CPU_FAULT_FAULT_H
#define HD_DEV_CPU_FAULT_FAULT_H

#include <setjmp.h>

#include "dev/cpu/cta/cta.h"

/* Functions that read memory of others as it is: stacks, pages. */
#define CPU_READS_ANYTHING __attribute__((no_sanitize("address", "thread")))

/* Installs the process's signal handlers on first use. */
enum hd_status cpu_fault_install(void) HD_MUST_CHECK;
/*
 * Lets this thread take our signals, also when the program blocks them in it, on a stack that is
 * freed when the thread ends. Cheap when repeated.
 */
void cpu_fault_thread_init(void);

/* Whose fault it is, as far as that is known. */
struct cpu_blame {
    uint32_t warp;      /* its index in the CTA, when lanes are known */
    uint32_t lanes;     /* of the warp; 0: not known */
    uint32_t instr_idx; /* number of the instruction (jit.h); 0: not known */
    const char *reason; /* why it is one; NULL: the status says it */
};

struct cpu_guard {
    jmp_buf env;
    bool known; /* the signal handler finds it */
    volatile bool active;
    volatile unsigned held;    /* cpu_guard_hold() */
    struct cpu_domain *domain; /* of the job */
    const struct cpu_job *job;
    uintptr_t frame;     /* of the function that runs the body, below cpu_guard_run() */
    uintptr_t cfa;       /* the stack pointer behind its return */
    struct cpu_cta *cta; /* running, for the message; NULL: a copy */
    enum hd_status status;
    uint64_t address;
    struct cpu_blame blame; /* what a service knew */
    uintptr_t
        pc; /* of the fault, in the kernel's code if it was called from there; 0: a service's */
    uintptr_t caller; /* of the function that `pc` is in, if that is the kernel's code; else 0 */
    int signal;       /* 0: a service's */
};
/*
 * Runs body(arg) so that a fault in it returns instead of killing the process. False: it faulted,
 * as *out_fault says, or was cancelled. `cta` is the memory in which its CTAs run, NULL for a copy.
 * Nests only inside a native kernel's function.
 */
bool cpu_guard_run(void (*body)(void *arg), void *arg, struct cpu_job *job, struct cpu_cta *cta,
                   struct cpu_guard *out_fault);
/* The same without a CTA: false with the status and the address. */
bool cpu_guarded_quietly(void (*body)(void *arg), void *arg, struct cpu_job *job,
                         enum hd_status *out_status, uint64_t *out_address);
/* What a guarded body ended with. */
struct cpu_fault {
    enum hd_status status;
    uint64_t address;
    uintptr_t pc;       /* 0: not known */
    int signal;         /* 0: none */
    const char *reason; /* of one without a signal; or NULL */
};
/* As cpu_guarded_quietly(), for native.c. */
bool cpu_guarded_native(void (*body)(void *arg), void *arg, struct cpu_job *job,
                        struct cpu_fault *out_fault);
/* report.c: as cpu_guard_run(); a fault has been reported. */
bool cpu_guarded(void (*body)(void *arg), void *arg, struct cpu_job *job, struct cpu_cta *cta);
/* report.c: raises the fault in the job's domain, with the kernel's name, once. After the guarded
 * body. */
void cpu_fault_report(const struct cpu_guard *guard, struct cpu_job *job);
/*
 * Around what must not be left half way, a lock or an allocation: a cancellation that comes in
 * between leaves at the release. They nest. A fault in between still leaves at once.
 */
void cpu_guard_hold(void);
void cpu_guard_release(void);
/* Leaves the innermost guarded body. */
HD_NORETURN void cpu_guard_leave(enum hd_status status, uint64_t address);
HD_NORETURN void cpu_guard_blame(enum hd_status status, uint64_t address,
                                 const struct cpu_blame *blame);

#endif
