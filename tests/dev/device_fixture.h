/* A CPU device with fake kernels, and short ways to submit packets. */
#ifndef HD_TESTS_DEVICE_FIXTURE_H
#define HD_TESTS_DEVICE_FIXTURE_H

#include "dev/cpu/cpu.h"
#include "tap.h"
#include "fake_jit.h"

/* What most fake kernels take. */
struct params {
    uint32_t *out;
    uint64_t value;
};

static inline const struct params *params_of(const struct jit_cta *cta)
{
    return (const struct params *)cta->launch->params;
}

struct fixture {
    struct hal_device *device;
    struct hal_domain *domain;
    struct ir_module *ir;
    struct hal_module *module;
};

static inline bool fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    if (cpu_device_create(NULL, &f->device) != HD_OK || ir_module_create("test", &f->ir) != HD_OK)
        return false;
    for (const struct fake_kernel *k = fake_kernels; k->name; k++)
        ir_func_create(f->ir, k->name)->is_kernel = true;
    struct hal_program program = {.name = "test", .nfuncs = f->ir->nfuncs};
    return f->device->ops->domain_create(f->device, &f->domain) == HD_OK &&
           f->device->ops->module_load(f->device, &program, &f->module) == HD_OK;
}

/* Forgets the domain's fault: the queues must be idle. */
static inline void fixture_heal(struct fixture *f)
{
    memset(f->domain->fault, 0, sizeof(*f->domain->fault));
}

static inline void fixture_fini(struct fixture *f)
{
    f->device->ops->module_unload(f->module);
    f->device->ops->domain_destroy(f->domain);
    f->device->ops->destroy(f->device);
    ir_module_destroy(f->ir);
}

static inline struct hal_queue *fixture_queue(struct fixture *f)
{
    struct hal_queue *queue = NULL;

    if (f->device->ops->queue_create(f->domain, 0, &queue) != HD_OK)
        abort();
    return queue;
}

static inline void fixture_wait(struct hal_queue *q)
{
    if (q->device->ops->wait(q->device, &q->ring->retired, hal_queue_submitted(q), UINT64_MAX))
        abort();
}

static inline void fixture_submit(struct hal_queue *q, const union hal_packet *p)
{
    while (q->ops->submit(q, p, 1) != HD_OK)
        fixture_wait(q);
}

static inline union hal_packet fixture_dispatch(struct fixture *f, const char *name, uint32_t grid,
                                                uint32_t block, const void *params, size_t params_B)
{
    union hal_packet p = {.dispatch = {.head.op = HAL_OP_DISPATCH}};
    struct hal_kernel *kernel = NULL;
    uint32_t size[3] = {block, 1, 1};

    if (f->device->ops->kernel_get(f->module, ir_module_find_func(f->ir, name)->index, f->ir,
                                   &kernel) ||
        f->device->ops->kernel_prepare(kernel, (uint32_t[]){grid, 1, 1}, size))
        abort();
    p.dispatch.kernel = kernel->id;
    p.dispatch.grid[0] = grid;
    p.dispatch.grid[1] = p.dispatch.grid[2] = 1;
    p.dispatch.block[0] = (uint16_t)block;
    p.dispatch.block[1] = p.dispatch.block[2] = 1;
    p.dispatch.params_B = (uint32_t)params_B;
    memcpy(p.dispatch.params, params, params_B);
    return p;
}

#endif
