/*
 * Warps with a stack of their own: for kernels that may wait inside a function that was not
 * inlined. Such a function cannot return to its caller's caller to let others run, so it calls
 * services->yield, which leaves its stack as it is and goes back to whoever runs the CTA.
 *
 * A fiber is made when its warp first runs and goes with the CTA. A fault leaves it by the guard's
 * long jump; what was on its stack is given up with it. Other kernels never come here.
 */
#include <sched.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/mem.h"
#include "dev/cpu/fault/fault.h"

#define FIBER_STACK_B (8u << 20) /* as workers have: GEN_STACK_MAX_B; little of it is touched */
#define FIBER_GUARD_B 4096u

struct cpu_fiber {
    ucontext_t own, caller;
    uint32_t (*run)(struct jit_cta *cta, struct jit_warp *warp);
    struct jit_cta *cta;
    struct jit_warp *warp;
    uint32_t state; /* what run() returned */
    bool inside;    /* it yielded and has not returned yet */
    char *stack;    /* guard page first */
};

static __thread struct cpu_fiber *current;

/* makecontext() passes integers. */
static void fiber_main(unsigned high, unsigned low)
{
    struct cpu_fiber *f = (struct cpu_fiber *)(((uintptr_t)high << 32) | low);

    for (;;) {
        f->state = f->run(f->cta, f->warp);
        f->inside = false;
        swapcontext(&f->own, &f->caller);
    }
}

static struct cpu_fiber *fiber_create(struct cpu_cta *cta, uint32_t w)
{
    struct cpu_fiber *f = hd_new(struct cpu_fiber);

    if (!f)
        return NULL;
    f->stack = mmap(NULL, FIBER_STACK_B, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (f->stack == MAP_FAILED || mprotect(f->stack, FIBER_GUARD_B, PROT_NONE) ||
        getcontext(&f->own)) {
        if (f->stack != MAP_FAILED)
            munmap(f->stack, FIBER_STACK_B);
        hd_free(f);
        return NULL;
    }
    f->run = cta->code->run;
    f->cta = &cta->cta;
    f->warp = &cta->cta.warps[w];
    f->own.uc_stack.ss_sp = f->stack + FIBER_GUARD_B;
    f->own.uc_stack.ss_size = FIBER_STACK_B - FIBER_GUARD_B;
    makecontext(&f->own, (void (*)(void))fiber_main, 2, (unsigned)((uintptr_t)f >> 32),
                (unsigned)(uintptr_t)f);
    return f;
}

uint32_t cpu_fiber_run(struct cpu_cta *cta, uint32_t w)
{
    struct cpu_fiber *f;

    cpu_guard_hold();
    assert(w < cta->cta.launch->nwarps && cta->code->waits_in_calls);
    uint32_t nwarps = cta->cta.launch->nwarps;
    if (!cta->fibers) {
        cta->fibers = hd_alloc_array(nwarps, sizeof(*cta->fibers));
        cta->nfibers = cta->fibers ? nwarps : 0;
    }
    if (cta->fibers && !cta->fibers[w])
        cta->fibers[w] = fiber_create(cta, w);
    f = cta->fibers ? cta->fibers[w] : NULL;
    assert(cta->nfibers == (cta->fibers ? cta->cta.launch->nwarps : 0));
    cpu_guard_release();
    if (!f)
        cpu_guard_leave(HD_NO_MEMORY, 0);
    f->inside = true;
    current = f;
    swapcontext(&f->caller, &f->own);
    current = NULL;
    /* Generated code does not look at the state of a warp that is inside a call. */
    return f->inside ? JIT_YIELD | 1u << 2 : f->state;
}

void cpu_fiber_yield(void)
{
    struct cpu_fiber *f = current;

    if (f)
        swapcontext(&f->own, &f->caller);
    else
        sched_yield();
}

void cpu_fibers_release(struct cpu_cta *cta)
{
    for (uint32_t w = 0; w < cta->nfibers; w++) {
        if (!cta->fibers[w])
            continue;
        munmap(cta->fibers[w]->stack, FIBER_STACK_B);
        hd_free(cta->fibers[w]);
    }
    hd_free(cta->fibers);
    cta->fibers = NULL;
    cta->nfibers = 0;
}
