/*
 * Which thread of a CTA met a fault: the CTA is run again by the interpreter, thread by thread.
 *
 * Nothing that it does is seen: what it writes goes into copies of the pages, its windows are its
 * own, it prints nothing. Memory may have changed since the CTA began, by the CTA itself or by
 * others, so it may take another way now; what it finds counts only when it is the same fault
 * (cpu_replay() leaves that to its caller). Kernels that wait for others are not run again, and no
 * kernel for longer than REPLAY_MAX_NS.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/mem.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "interp/interp_cta.h"

#define REPLAY_MAX_NS UINT64_C(1000000000)
#define PAGE_B        UINT64_C(4096)

struct replay {
    struct cpu_cta *original;
    struct interp_launch launch;
    struct interp_placement placement;
    struct interp_cta *cta;
    void *windows; /* shared memory, then local */
    size_t windows_B;
    struct hd_map pages;       /* address -> copy of the page */
    HD_VEC(void *) heap;       /* what it allocated */
    uint64_t page[PAGE_B / 8]; /* on its way into `pages` */
    uint64_t writing;          /* the access for which it is read; 0: none */
    enum hd_status status;     /* of the last turn */
    const struct cpu_job *job; /* of the original */
};

/* ---- what the interpreter asks for */

static uint64_t replay_var_address(void *ctx, const struct ir_var *var)
{
    return ((struct replay *)ctx)->job->launch.vars[var->index];
}

static bool replay_check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    struct replay *r = ctx;

    (void)write;
    return !r->job->domain->base.device->client.refusal ||
           !cpu_strict_refusal(r->original, address, size_B);
}

/* Reading the page for the first time may be the fault. */
CPU_READS_ANYTHING static void page_copy(uint64_t *to, const volatile uint64_t *from)
{
    for (size_t i = 0; i < PAGE_B / sizeof(*to); i++)
        to[i] = from[i];
}

/* A page that cannot be read cannot be written either, as far as is known without trying. */
static void *replay_host(void *ctx, uint64_t address, bool write)
{
    struct replay *r = ctx;
    uint64_t page = address & ~(PAGE_B - 1);
    void *at = (void *)(uintptr_t)address, *copy;

    assert(r->job == r->original->job);
    if (hd_map_find_u64(&r->pages, page, &copy))
        return (char *)copy + (address - page);
    if (!write)
        return at;
    r->writing = address;
    page_copy(r->page, (const volatile uint64_t *)(uintptr_t)page);
    r->writing = 0;
    copy = hd_alloc(PAGE_B);
    if (!copy || !hd_map_put_u64(&r->pages, page, copy)) {
        hd_free(copy);
        cpu_guard_leave(HD_NO_MEMORY, 0);
    }
    memcpy(copy, r->page, PAGE_B);
    return (char *)copy + (address - page);
}

static uint64_t replay_malloc(void *ctx, uint64_t size_B)
{
    struct replay *r = ctx;
    void *block = size_B < REPLAY_MAX_NS ? calloc(1, size_B + 16) : NULL;

    if (block && !hd_vec_push(&r->heap, block)) {
        free(block);
        block = NULL;
    }
    return (uintptr_t)block;
}

static bool replay_free(void *ctx, uint64_t address)
{
    (void)ctx, (void)address; /* all of it goes at the end */
    return true;
}

static const struct interp_ops replay_ops = {
    .var_address = replay_var_address,
    .check = replay_check,
    .host = replay_host,
    .malloc_ = replay_malloc,
    .free_ = replay_free,
};

/* ---- one run */

static bool replay_init(struct replay *r, struct cpu_cta *cta)
{
    const struct jit_launch *launch = &cta->job->launch;
    size_t shared_B = hd_align_up(launch->shared_B + CPU_SHARED_SPARE_B, PAGE_B);
    size_t local_B = (size_t)launch->nwarps * 32 * launch->local_B;

    assert(launch->block[0] && launch->nwarps && !(launch->local_B % 16));
    *r = (struct replay){.original = cta, .job = cta->job};
    hd_map_init(&r->pages);
    r->windows_B = hd_align_up(shared_B + local_B + 1, PAGE_B);
    r->windows = mmap(NULL, r->windows_B, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->windows == MAP_FAILED)
        return false;
    cpu_inplace_launch(&r->launch, cta, &replay_ops, r);
    r->placement = (struct interp_placement){
        .ctaid = {cta->cta.ctaid[0], cta->cta.ctaid[1], cta->cta.ctaid[2]},
        .smid = cta->cta.smid,
        .shared = r->windows,
        .shared_B = launch->shared_B,
        .local = (char *)r->windows + shared_B,
        .local_B = launch->local_B,
    };
    return interp_cta_create(&r->launch, &r->placement, &r->cta) == HD_OK;
}

static void replay_fini(struct replay *r)
{
    struct hd_map_iter it = {0};

    if (r->cta)
        interp_cta_destroy(r->cta);
    while (hd_map_next(&r->pages, &it))
        hd_free(it.value);
    hd_map_fini(&r->pages);
    for (size_t i = 0; i < r->heap.len; i++)
        free(r->heap.at[i]);
    hd_vec_fini(&r->heap);
    if (r->windows && r->windows != MAP_FAILED)
        munmap(r->windows, r->windows_B);
}

static void replay_body(void *arg)
{
    struct replay *r = arg;
    uint64_t end_ns = hal_time_ns() + REPLAY_MAX_NS;
    bool over = false;

    while (r->status == HD_OK && !over && hal_time_ns() < end_ns)
        r->status = interp_cta_turn(r->cta, &over);
}

bool cpu_replay(struct cpu_cta *cta, struct interp_fault *out_fault)
{
    struct replay r;
    enum hd_status status;
    uint64_t address;
    bool found = false;

    assert(!cta->inplace); /* else the interpreter has said it all */
    if (!cta->code->base || cta->job->cooperative || cta->code->may_spin || cpu_cta_has_peers(cta))
        return false;
    if (replay_init(&r, cta)) {
        if (!cpu_guarded_quietly(replay_body, &r, cta->job, &status, &address) &&
            status != HD_NO_MEMORY && status != HD_CANCELLED)
            r.status = interp_cta_fault(r.cta, status, r.writing ? r.writing : address);
        found = r.status == HD_ILLEGAL_ADDRESS;
        *out_fault = *interp_cta_fault_srcloc(r.cta);
    }
    replay_fini(&r);
    return found;
}
