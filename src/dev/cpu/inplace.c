/*
 * The interpreter in place: CTAs of kernels for which no code could be made (JIT_INTERP).
 *
 * Such a CTA is run by src/interp on the worker that would have run its code, in the same shared
 * and local windows, with the same heap, printf and fault domain, between other CTAs: only slower.
 * Its jobs are taken for ones that may wait, so its CTAs are residents (resident.c) and a turn is a
 * bounded number of instructions.
 *
 * What the interpreter keeps per thread is made when the CTA first runs and goes with the CTA, also
 * when a fault has left a turn in the middle.
 */
#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "interp/interp_cta.h"

struct cpu_inplace {
    struct interp_launch launch;
    struct interp_cta *cta;
    uint64_t effects;    /* of the turns so far */
    const char *refusal; /* strict mode: of the access that faulted */
    char message[1536];
};

static uint64_t inplace_var_address(void *ctx, const struct ir_var *var)
{
    const struct cpu_cta *cta = ctx;

    return cta->job->launch.vars[var->index];
}

static void inplace_print(void *ctx, bool is_error, const char *text, size_t len)
{
    struct cpu_domain *domain = ((struct cpu_cta *)ctx)->job->domain;

    if (((struct cpu_cta *)ctx)->job->is_rerun)
        return;
    if (!is_error) {
        cpu_printf_text(domain, text, len);
        return;
    }
    cpu_printf_flush(&domain->base);
    fwrite(text, 1, len, stderr);
}

static uint64_t inplace_malloc(void *ctx, uint64_t size_B)
{
    struct cpu_domain *domain = ((struct cpu_cta *)ctx)->job->domain;

    return (uintptr_t)cpu_heap_alloc(&domain->heap, hal_limit_get(&domain->base, HAL_LIMIT_HEAP_B),
                                     size_B);
}

static bool inplace_free(void *ctx, uint64_t address)
{
    return cpu_heap_free(&((struct cpu_cta *)ctx)->job->domain->heap, (void *)(uintptr_t)address);
}

static void inplace_runtime(void *ctx, struct ir_runtime_io *io)
{
    cpu_runtime_call(((struct cpu_cta *)ctx)->job, io);
}

static bool is_strict(const struct cpu_cta *cta)
{
    return cta->job->domain->base.device->client.refusal != NULL;
}

static bool inplace_check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    struct cpu_cta *cta = ctx;

    (void)write;
    assert(cta->inplace && is_strict(cta));
    cta->inplace->refusal = cpu_strict_refusal(cta, address, size_B);
    return !cta->inplace->refusal;
}

/* No check: a wild access raises a signal here as it does in generated code. */
#define INPLACE_OPS                                                                                \
    .var_address = inplace_var_address, .print = inplace_print, .malloc_ = inplace_malloc,         \
    .free_ = inplace_free, .runtime = inplace_runtime
static const struct interp_ops inplace_ops = {INPLACE_OPS};
static const struct interp_ops inplace_strict_ops = {INPLACE_OPS, .check = inplace_check};

void cpu_inplace_launch(struct interp_launch *out, const struct cpu_cta *cta,
                        const struct interp_ops *ops, void *ctx)
{
    const struct jit_launch *launch = cta->cta.launch;

    *out = (struct interp_launch){
        .kernel = cta->job->kernel->func,
        .dynamic_shared_B = launch->dynamic_smem_B,
        .params = launch->params,
        .cooperative = cta->job->cooperative,
        .nsms = launch->nsms,
        .grid_id = launch->grid_id,
        .envreg = {launch->envreg[0], launch->envreg[1]},
        .ops = ops,
        .ctx = ctx,
        .textures = cta->job->domain->base.device->client.textures,
        .replicas = cta->job->domain->base.device->client.replicas,
    };
    memcpy(out->grid, launch->grid, sizeof(out->grid));
    memcpy(out->block, launch->block, sizeof(out->block));
    if (launch->explicit_cluster)
        memcpy(out->cluster, launch->cluster, sizeof(out->cluster));
}

static enum hd_status inplace_start(struct cpu_cta *cta)
{
    const struct jit_launch *launch = cta->cta.launch;
    struct interp_placement placement = {
        .ctaid = {cta->cta.ctaid[0], cta->cta.ctaid[1], cta->cta.ctaid[2]},
        .smid = cta->cta.smid,
        .shared = cta->cta.shared,
        .shared_B = launch->shared_B,
        .local = cta->cta.local,
        .local_B = launch->local_B,
        .rank = cta->cta.cluster_rank,
        .windows = cta->cta.cluster,
        .cluster = cpu_cta_has_peers(cta) ? cta->cluster->interp : NULL,
    };

    assert(!cta->inplace);
    cta->inplace = hd_new(struct cpu_inplace);
    if (!cta->inplace)
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for a CTA", cta->job->name);
    cpu_inplace_launch(&cta->inplace->launch, cta,
                       is_strict(cta) ? &inplace_strict_ops : &inplace_ops, cta);
    cpu_watch_inplace(cta->job, &cta->inplace->launch);
    return interp_cta_create(&cta->inplace->launch, &placement, &cta->inplace->cta);
}

bool cpu_inplace_step(struct cpu_cta *cta)
{
    enum hd_status status = HD_OK;
    bool over = false;

    assert(cta->code->form == JIT_INTERP && cta->remaining);
    cpu_guard_hold(); /* it allocates; a turn is short */
    if (!cta->inplace)
        status = inplace_start(cta);
    if (status == HD_OK)
        status = interp_cta_turn(cta->inplace->cta, &over);
    cpu_guard_release();
    if (status != HD_OK)
        cpu_guard_leave(status, cta->inplace && cta->inplace->cta
                                    ? interp_cta_fault_srcloc(cta->inplace->cta)->address
                                    : 0);
    if (over)
        cta->remaining = 0;
    if (interp_cta_effects(cta->inplace->cta) != cta->inplace->effects)
        cpu_job_moved(cta->job);
    cta->inplace->effects = interp_cta_effects(cta->inplace->cta);
    /* Whether the others only poll is not known: workers look for other work after each turn. */
    return over;
}

void cpu_inplace_run(struct cpu_cta *cta)
{
    while (cta->remaining)
        cpu_inplace_step(cta);
}

const char *cpu_inplace_message(struct cpu_cta *cta, enum hd_status status, uint64_t address,
                                const char *reason)
{
    if (!cta->inplace || !cta->inplace->cta)
        return NULL;
    if (status == HD_TIMEOUT)
        (void)!interp_cta_stuck(cta->inplace->cta);
    else
        (void)!interp_cta_fault(cta->inplace->cta, status, address);
    if (!reason)
        reason = cta->inplace->refusal;
    snprintf(cta->inplace->message, sizeof(cta->inplace->message), "%s%s%s", hd_error_message(),
             reason ? ": " : "", reason ? reason : "");
    return cta->inplace->message;
}

void cpu_inplace_print_waiters(const struct cpu_cta *cta, struct hd_buf *out)
{
    if (cta->inplace && cta->inplace->cta)
        interp_cta_print_waiters(cta->inplace->cta, out);
}

void cpu_inplace_release(struct cpu_cta *cta)
{
    if (!cta->inplace)
        return;
    interp_cta_destroy(cta->inplace->cta);
    hd_free(cta->inplace);
    cta->inplace = NULL;
}
