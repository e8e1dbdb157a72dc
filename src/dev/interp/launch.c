/* One grid: what the interpreter asks of its device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "dev/interp/private.h"
#include "model/multimem.h"
#include "ir/probe.h"

enum {
    STACK_MIN_B = 65536,
    ALONE_WAIT_S = 5,    /* as in dev/cpu/schedule.c */
    IDLE_NS = 500000000, /* all only poll */
    RESIDENT_MAX = 256,  /* CTAs that wait for each other, unless the multiprocessors hold more */
    INTERLEAVED_MAX = 8,
};

struct launch_ctx {
    struct refdev *dev;
    struct refdev_domain *domain;
    struct refdev_module *module;
    struct refdev_maps maps;
    const char *refusal; /* of the access that faulted, in strict mode */
    struct hal_watchdog dog, idle;
    struct refdev_queue *queue;
    const struct refdev_kernel *kernel;
    _Atomic(void *) children; /* what threads asked of the runtime */
    /* Launches that run again and again: ir_observer.next_run. */
    const struct ir_schedule *schedule; /* of the run; NULL: it runs once */
    void *observed;
    bool is_alone, is_rerun;
    uint32_t residents_max; /* of CTAs that may wait for each other */
    /*
     * cooperative_groups: the grid's barrier is the second word (%envreg1: upper half of its
     * address).
     */
    _Alignas(8) uint32_t workspace[4];
};

static uint64_t launch_ctx_var_address(void *arg, const struct ir_var *var)
{
    struct launch_ctx *ctx = arg;
    return var->index < ctx->module->nvars ? ctx->module->vars[var->index] : 0;
}

static bool launch_in_heap(const struct launch_ctx *ctx, uint64_t address, uint64_t size_B)
{
    struct refdev *dev = ctx->dev;
    struct hd_map_iter it = {0};
    bool found = false;
    hd_lock_acquire(&dev->lock);
    while (!found && hd_map_next(&ctx->domain->heap, &it))
        found = address >= it.key_u64 && address + size_B <= it.key_u64 + (uintptr_t)it.value;
    hd_lock_release(&dev->lock);
    return found;
}

static bool launch_is_multimem(const struct refdev *dev, uint64_t address)
{
    struct ir_replicas replicas;
    return dev->base.client.replicas && dev->base.client.replicas(address, &replicas);
}

static bool launch_ctx_check(void *arg, uint64_t address, uint64_t size_B, bool write)
{
    struct launch_ctx *ctx = arg;
    if (address - (uintptr_t)ctx->workspace <= sizeof(ctx->workspace) - size_B)
        return true;
    if (ctx->dev->base.client.refusal && !launch_in_heap(ctx, address, size_B))
        ctx->refusal = ctx->dev->base.client.refusal(address, size_B);
    if (ctx->refusal)
        return false;
    if (refdev_maps_check(&ctx->maps, address, size_B, write))
        return true;
    if (launch_is_multimem(ctx->dev, address))
        ctx->refusal = ir_multimem_only;
    return false;
}

/* Who is told of refusals asks each time. */
static bool launch_ctx_range(void *arg, uint64_t address, bool write, uint64_t *out_start,
                             uint64_t *out_size_B)
{
    struct launch_ctx *ctx = arg;
    struct refdev_range range;

    if (ctx->dev->base.client.refusal || ctx->refusal ||
        !refdev_maps_check(&ctx->maps, address, 1, write))
        return false;
    range = refdev_maps_range(&ctx->maps);
    *out_start = range.start;
    *out_size_B = range.end - range.start;
    return true;
}

static void launch_ctx_print(void *arg, bool is_error, const char *text, size_t len)
{
    if (!((struct launch_ctx *)arg)->is_rerun)
        fwrite(text, 1, len, is_error ? stderr : stdout);
}

/* The device heap survives the launch and is freed with the domain. */
static uint64_t launch_ctx_malloc(void *arg, uint64_t size_B)
{
    struct refdev *dev = ((struct launch_ctx *)arg)->dev;
    struct refdev_domain *domain = ((struct launch_ctx *)arg)->domain;
    uint64_t limit_B = hal_limit_get(&domain->base, HAL_LIMIT_HEAP_B);
    void *block = NULL;
    hd_lock_acquire(&dev->lock);
    if (domain->heap_used_B <= limit_B && size_B <= limit_B - domain->heap_used_B)
        block = aligned_alloc(16, hd_align_up(HD_MAX(size_B, 1), 16));
    if (block && !hd_map_put_u64(&domain->heap, (uintptr_t)block, (void *)(uintptr_t)size_B)) {
        free(block);
        block = NULL;
    }
    if (block)
        domain->heap_used_B += size_B;
    hd_lock_release(&dev->lock);
    return (uint64_t)(uintptr_t)block;
}

static bool launch_ctx_free(void *arg, uint64_t address)
{
    struct refdev *dev = ((struct launch_ctx *)arg)->dev;
    struct refdev_domain *domain = ((struct launch_ctx *)arg)->domain;
    void *size;
    hd_lock_acquire(&dev->lock);
    bool found = hd_map_find_u64(&domain->heap, address, &size);
    if (found) {
        assert(domain->heap_used_B >= (uintptr_t)size);
        domain->heap_used_B -= (uintptr_t)size;
        hd_map_remove_u64(&domain->heap, address);
        free((void *)(uintptr_t)address);
    }
    hd_lock_release(&dev->lock);
    return found;
}

static void launch_ctx_runtime(void *arg, struct ir_runtime_io *io)
{
    struct launch_ctx *ctx = arg;
    ctx->domain->base.device->client.runtime->call(
        &ctx->queue->base, (struct hal_kernel *)&ctx->kernel->base, &ctx->children, io);
}

static bool launch_ctx_cancelled(void *arg)
{
    const struct launch_ctx *ctx = arg;
    return atomic_load_explicit(&ctx->domain->base.fault->cancelled, memory_order_relaxed) != 0 ||
           (ctx->schedule && ctx->schedule->deadline_ns &&
            hal_time_ns() > ctx->schedule->deadline_ns);
}

/* Others may have to do what the threads wait for: then the launch is not alone any more. */
static bool launch_waits_in_schedule(struct launch_ctx *ctx, uint64_t effects)
{
    if (!ctx->schedule || !hal_watchdog_bites(&ctx->idle, effects, IDLE_NS))
        return false;
    if (ctx->is_rerun)
        return true;
    if (ctx->is_alone) {
        ctx->dev->base.client.observer->give_up(ctx->observed, true);
        hal_serial_share();
        ctx->is_alone = false;
    }
    return false;
}

static bool launch_ctx_gives_up(void *arg, uint64_t effects)
{
    struct launch_ctx *ctx = arg;
    return launch_waits_in_schedule(ctx, effects) ||
           hal_watchdog_bites(&ctx->dog, effects, ctx->dev->base.patience_ns);
}

static const struct interp_ops ctx_ops = {
    .var_address = launch_ctx_var_address,
    .check = launch_ctx_check,
    .range = launch_ctx_range,
    .print = launch_ctx_print,
    .malloc_ = launch_ctx_malloc,
    .free_ = launch_ctx_free,
    .runtime = launch_ctx_runtime,
    .cancelled = launch_ctx_cancelled,
    .gives_up = launch_ctx_gives_up,
};

/* Processor time: the launch has this thread for itself, whatever else the machine does. */
static enum hd_status engine_launch(const struct interp_launch *launch,
                                    struct interp_fault *out_fault)
{
    const struct launch_ctx *ctx = launch->ctx;
    bool counts = hd_debug(HD_DEBUG_COUNTS);
    uint64_t start = counts ? hd_clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0, instructions = 0;
    const void *code = ctx->kernel->code;
    enum hd_status status = code ? ctx->dev->engine->launch(code, launch, out_fault, &instructions)
                                 : interp_launch(launch, out_fault);

    if (counts)
        hd_log_debug(HD_DEBUG_COUNTS, "launch=%s ns=%llu instructions=%llu",
                     ctx->kernel->func->name,
                     (unsigned long long)(hd_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start),
                     (unsigned long long)instructions);
    return status;
}

/* What the packet names, or what a debugger has put in its place; NULL: nobody has that number. */
static const struct refdev_kernel *kernel_of(struct refdev *dev, const struct hal_dispatch *packet)
{
    struct hal_kernel *kernel = hal_kernel_find(&dev->base, packet->kernel);
    struct hal_kernel *other = kernel ? hal_kernel_instead(kernel) : NULL;

    return (const struct refdev_kernel *)(other ? other : kernel);
}

/* The multiprocessors that the queue is limited to; 0: to none. */
static uint32_t launch_sms_of(const struct hal_queue *queue, uint32_t sms[HAL_SMS_MAX])
{
    struct hal_sms set;
    uint32_t n = 0;

    if (!hal_queue_sms(queue, &set))
        return 0;
    for (uint32_t sm = 0; sm < HAL_SMS_MAX; sm++)
        if (hal_sms_has(&set, sm))
            sms[n++] = sm;
    return n;
}

static uint64_t launch_ctas_of(const struct interp_launch *l)
{
    return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

static uint32_t launch_cluster_of(const struct interp_launch *l)
{
    const uint32_t *c = l->cluster;

    return HD_MAX(c[0], 1u) * HD_MAX(c[1], 1u) * HD_MAX(c[2], 1u);
}

static bool launch_may_wait(const struct interp_launch *launch)
{
    const struct launch_ctx *ctx = launch->ctx;

    return launch->cooperative || ctx->kernel->may_wait;
}

static uint32_t residents_max(const struct interp_launch *l, const struct ir_window *window)
{
    uint64_t total = launch_ctas_of(l), max;

    max = hal_sms_hold(l->nsms, l->block[0] * l->block[1] * l->block[2],
                       ir_window_shared_B(window, l->dynamic_shared_B));
    return (uint32_t)(l->cooperative ? total : HD_MIN(total, HD_MAX(max, RESIDENT_MAX)));
}

static void *launch_notify_begin(const struct interp_launch *l, const struct hal_dispatch *packet,
                                 const struct refdev_module *module, const struct ir_window *window)
{
    const struct launch_ctx *ctx = l->ctx;
    const struct ir_probe_launch launch = {
        .kernel = l->kernel,
        .grid = {l->grid[0], l->grid[1], l->grid[2]},
        .block = {l->block[0], l->block[1], l->block[2]},
        .cluster = {HD_MAX(l->cluster[0], 1), HD_MAX(l->cluster[1], 1), HD_MAX(l->cluster[2], 1)},
        .shared_B = ir_window_shared_B(window, l->dynamic_shared_B),
        .dynamic_shared_B = l->dynamic_shared_B,
        .cooperative = l->cooperative,
        .params = l->params,
        .workspace = l->cooperative ? ctx->workspace : NULL,
        .workspace_B = sizeof(ctx->workspace),
        .vars = module->vars,
        .textures = l->textures,
        .replicas = ctx->dev->base.client.program_replicas,
        .grid_id = l->grid_id,
        .correlation = packet->head.correlation,
        .units = launch_ctas_of(l) / (window->clusters ? launch_cluster_of(l) : 1),
        .may_wait = launch_may_wait(l),
        .in_turns = true,
        .residents_max = ctx->residents_max,
    };

    return l->observer->launch_begin(&launch);
}

/* ---- runs: ir_observer.next_run */

/* One CTA after the other, or all that may wait for each other, or a few. */
static uint32_t launch_resident_ctas(const struct interp_launch *launch)
{
    const struct launch_ctx *ctx = launch->ctx;
    const struct ir_schedule *s = launch->schedule;

    if (launch_may_wait(launch))
        return ctx->residents_max;
    return s->turns ? INTERLEAVED_MAX : s->in_turns ? 0 : 1;
}

static enum hd_status launch_run_once(struct interp_launch *launch,
                                      const struct ir_schedule *schedule,
                                      struct interp_fault *out_fault)
{
    struct launch_ctx *ctx = launch->ctx;

    ctx->schedule = launch->schedule = schedule;
    ctx->idle = (struct hal_watchdog){0};
    launch->resident_ctas = launch_resident_ctas(launch);
    memset(ctx->workspace, 0, sizeof(ctx->workspace));
    ctx->workspace[0] = sizeof(ctx->workspace);
    return engine_launch(launch, out_fault);
}

static enum hd_status launch_run_all(struct interp_launch *launch, struct interp_fault *out_fault)
{
    const struct ir_observer *observer = launch->observer;
    const struct ir_schedule usual = IR_SCHEDULE_USUAL, *next;
    struct launch_ctx *ctx = launch->ctx;
    enum hd_status status = launch_run_once(launch, &usual, out_fault), ended = HD_OK;
    struct interp_fault unused;

    ctx->is_rerun = true;
    while (status == HD_OK && ctx->is_alone && hal_domain_status(&ctx->domain->base) == HD_OK &&
           (next = observer->next_run(launch->observed, ended))) {
        ctx->refusal = NULL;
        ended = launch_run_once(launch, next, &unused);
    }
    ctx->refusal = status == HD_OK ? NULL : ctx->refusal;
    ctx->schedule = NULL;
    return status;
}

static enum hd_status scheduled_launch(struct interp_launch *launch, struct interp_fault *out_fault)
{
    const struct ir_observer *observer = launch->observer;
    struct launch_ctx *ctx = launch->ctx;
    enum hd_status status;

    ctx->observed = launch->observed;
    if (!observer->wants_runs(launch->observed))
        hal_serial_enter();
    else if (hal_serial_enter_alone(ALONE_WAIT_S * UINT64_C(1000000000)))
        ctx->is_alone = true;
    else
        observer->give_up(launch->observed, false);
    status = launch_run_all(launch, out_fault);
    if (ctx->is_alone)
        hal_serial_leave_alone();
    else
        hal_serial_leave();
    return status;
}

/* The observer of the device is told of it. */
static enum hd_status observed_launch(struct interp_launch *launch,
                                      const struct hal_dispatch *packet,
                                      const struct refdev_module *module,
                                      struct interp_fault *out_fault)
{
    struct launch_ctx *ctx = launch->ctx;
    struct ir_window window;
    enum hd_status status;

    if (!launch->observer && !launch_may_wait(launch))
        return engine_launch(launch, out_fault);
    HD_TRY(ir_kernel_window(launch->kernel, &window));
    ctx->residents_max = residents_max(launch, &window);
    launch->resident_max = launch_may_wait(launch) ? ctx->residents_max : 0;
    if (!launch->observer)
        return engine_launch(launch, out_fault);
    launch->observed = launch_notify_begin(launch, packet, module, &window);
    if (!launch->observed)
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for the checker", launch->kernel->name);
    status = launch->observer->next_run ? scheduled_launch(launch, out_fault)
                                        : engine_launch(launch, out_fault);
    launch->observer->launch_end(launch->observed);
    return status;
}

/* And so is its meter. */
static enum hd_status metered_launch(struct interp_launch *launch,
                                     const struct hal_dispatch *packet,
                                     const struct refdev_module *module,
                                     struct interp_fault *out_fault)
{
    const struct hal_meter *meter = module->base.device->client.meter;
    void *metered = meter && !launch_may_wait(launch) ? meter->begin(packet) : NULL;
    enum hd_status status;

    if (!metered)
        return observed_launch(launch, packet, module, out_fault);
    meter->enter(metered);
    status = observed_launch(launch, packet, module, out_fault);
    meter->leave(metered);
    meter->end(metered);
    return status;
}

bool refdev_dispatch(struct refdev_queue *queue, const struct hal_dispatch *packet,
                     union hal_packet *out_wait)
{
    struct refdev *dev = refdev_of(queue->base.device);
    const struct refdev_kernel *kernel = kernel_of(dev, packet);
    if (!kernel) {
        enum hd_status wrong = hd_error(HD_BAD_ARG, "there is no kernel with id 0x%llx",
                                        (unsigned long long)packet->kernel);
        hal_domain_fail(queue->base.domain, wrong, 0, NULL, hd_error_message());
        return false;
    }
    assert(packet->head.op == HAL_OP_DISPATCH);
    uint32_t sms[HAL_SMS_MAX], nused = launch_sms_of(&queue->base, sms);
    struct launch_ctx ctx = {.dev = dev,
                             .domain = (struct refdev_domain *)queue->base.domain,
                             .module = (struct refdev_module *)kernel->base.module,
                             .queue = queue,
                             .kernel = kernel,
                             .workspace = {sizeof(ctx.workspace)}};
    struct interp_launch launch = {
        .kernel = kernel->func,
        .grid = {packet->grid[0], packet->grid[1], packet->grid[2]},
        .block = {packet->block[0], packet->block[1], packet->block[2]},
        .cluster = {packet->cluster[0], packet->cluster[1], packet->cluster[2]},
        .dynamic_shared_B = packet->dynamic_smem_B,
        .params = hal_dispatch_params(queue->base.ring, packet),
        .stack_B =
            HD_MAX(hal_limit_get(queue->base.domain, HAL_LIMIT_STACK_B), (uint64_t)STACK_MIN_B),
        .cooperative = (packet->head.flags & HAL_FLAG_COOPERATIVE) != 0,
        .nsms = dev->base.nsms,
        .sms = nused ? sms : NULL,
        .nused = nused,
        .grid_id = packet->grid_id,
        .ops = &ctx_ops,
        .ctx = &ctx,
        .textures = dev->base.client.textures,
        .replicas = dev->base.client.replicas,
        .observer = kernel->func->module->has_probes ? dev->base.client.observer : NULL,
    };
    if (launch.cooperative) {
        launch.envreg[0] = (uint32_t)((uint64_t)(uintptr_t)ctx.workspace >> 32);
        launch.envreg[1] = (uint32_t)(uintptr_t)ctx.workspace;
    }
    struct interp_fault fault = {0};
    enum hd_status status = metered_launch(&launch, packet, ctx.module, &fault);
    refdev_maps_fini(&ctx.maps);
    if (status != HD_OK) {
        char message[1536];
        snprintf(message, sizeof(message), "%s%s%s", hd_error_message(), ctx.refusal ? ": " : "",
                 ctx.refusal ? ctx.refusal : "");
        const struct hal_fault_site site = {.kernel = kernel->func->name,
                                            .block = fault.ctaid,
                                            .thread = fault.tid,
                                            .file = fault.file,
                                            .line = fault.line};
        hal_domain_fail(queue->base.domain, status, fault.address, &site, message);
    }
    if (!ctx.children)
        return false;
    queue->base.device->client.runtime->submit(&queue->base, ctx.children, out_wait);
    return true;
}
