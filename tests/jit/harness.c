/*
 * Runs a kernel on the CPU device behind the interpreter's interface, so that the interpreter's
 * launch tests are the JIT's too (they are compiled with interp_launch replaced by
 * jit_harness_launch). The device is the real one, with one worker: CTAs run in index order. A
 * kernel that does not get its fast form is a failure, unless HEDDLE_FAULT wants that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "dev/cpu/cpu.h"
#include "hal/hal.h"
#include "interp/interp.h"
#include "jit/jit.h"

enum hd_status jit_harness_launch(const struct interp_launch *launch,
                                  struct interp_fault *out_fault);

static struct hal_device *device;

static void device_close(void)
{
    device->ops->destroy(device);
}

/* Tests of a path that this CPU does not have are skipped as a whole. */
__attribute__((constructor)) static void harness_init(void)
{
    enum jit_path path;

    if (jit_path_get(&path) != HD_OK) {
        printf("1..0 # SKIP this CPU lacks %s\n", getenv("HEDDLE_CPU"));
        exit(0);
    }
    setenv("HEDDLE_THREADS", "1", 1);
    hd_fault_set(HD_FAULT_JIT_NEXT, !hd_fault(HD_FAULT_JIT_FAST));
    if (cpu_device_create(NULL, &device) != HD_OK)
        abort();
    atexit(device_close);
}

/* ---- what the kernel prints: it goes to stdout, which is a file meanwhile */

struct capture {
    FILE *file;
    int saved;
};

static bool capture_begin(struct capture *c)
{
    fflush(stdout);
    c->file = tmpfile();
    c->saved = dup(STDOUT_FILENO);
    return c->file && c->saved >= 0 && dup2(fileno(c->file), STDOUT_FILENO) >= 0;
}

static void capture_end(struct capture *c, struct hal_domain *domain,
                        const struct interp_launch *in)
{
    char text[4096];
    size_t n;

    device->ops->printf_flush(domain);
    fflush(stdout);
    dup2(c->saved, STDOUT_FILENO);
    close(c->saved);
    rewind(c->file);
    while ((n = fread(text, 1, sizeof(text), c->file)) > 0)
        if (in->ops && in->ops->print)
            in->ops->print(in->ctx, false, text, n);
    fclose(c->file);
}

/* ---- one launch */

static uint64_t *variables(const struct interp_launch *in)
{
    const struct ir_module *m = in->kernel->module;
    uint64_t *at = calloc(m->nvars + 1u, sizeof(*at));

    for (const struct ir_var *v = m->vars; at && v; v = v->next)
        if (v->space != IR_SPACE_SHARED && in->ops && in->ops->var_address)
            at[v->index] = in->ops->var_address(in->ctx, v);
    return at;
}

static enum hd_status dispatch(const struct interp_launch *in, struct hal_kernel *kernel,
                               struct hal_queue *queue)
{
    union hal_packet p = {.dispatch = {.head.op = HAL_OP_DISPATCH}};
    uint32_t params_B = in->kernel->param_size_B;
    void *params = p.dispatch.params;

    if (in->cooperative)
        p.head.flags = HAL_FLAG_COOPERATIVE;
    p.dispatch.kernel = kernel->id;
    for (int i = 0; i < 3; i++) {
        p.dispatch.grid[i] = in->grid[i];
        p.dispatch.block[i] = (uint16_t)in->block[i];
    }
    p.dispatch.dynamic_smem_B = in->dynamic_shared_B;
    p.dispatch.grid_id = in->grid_id;
    p.dispatch.params_B = params_B;
    if (params_B > sizeof(p.dispatch.params))
        params = hal_queue_params(queue, &p.dispatch, NULL, params_B);
    if (params_B)
        memcpy(params, in->params, params_B);
    HD_TRY(queue->ops->submit(queue, &p, 1));
    return device->ops->wait(device, &queue->ring->retired, hal_queue_submitted(queue), UINT64_MAX);
}

static enum hd_status run(const struct interp_launch *in, struct hal_module *module,
                          struct hal_domain *domain)
{
    struct hal_kernel *kernel;
    struct hal_queue *queue;
    struct capture capture;

    HD_TRY(device->ops->kernel_get(module, in->kernel->index, in->kernel->module, &kernel));
    HD_TRY(device->ops->kernel_prepare(kernel, in->grid, in->block));
    HD_TRY(device->ops->queue_create(domain, 0, &queue));
    if (!capture_begin(&capture))
        abort();
    enum hd_status status = dispatch(in, kernel, queue);
    capture_end(&capture, domain, in);
    queue->ops->destroy(queue);
    return status != HD_OK ? status : hal_domain_status(domain);
}

/* Who observes kernels is said when a device is created. */
static void observe(const struct ir_observer *observer)
{
    const struct hal_client_ops client = {.observer = observer};

    if (device->client.observer == observer)
        return;
    device->ops->destroy(device);
    if (cpu_device_create(&client, &device) != HD_OK)
        abort();
}

enum hd_status jit_harness_launch(const struct interp_launch *in, struct interp_fault *out_fault)
{
    uint64_t threads = (uint64_t)in->block[0] * in->block[1] * in->block[2];
    const struct ir_module *m = in->kernel->module;
    struct hal_domain *domain;
    struct hal_module *module;

    if (!threads || threads > 1024)
        return hd_error(HD_LAUNCH_LIMIT, "block of %u threads", (unsigned)threads);
    uint64_t *vars = variables(in);
    struct hal_program program = {
        .name = m->name, .nfuncs = m->nfuncs, .nvars = m->nvars, .var_va = vars};
    observe(in->observer);
    if (device->ops->domain_create(device, &domain) != HD_OK)
        abort();
    enum hd_status status = device->ops->module_load(device, &program, &module);
    if (status == HD_OK) {
        status = run(in, module, domain);
        device->ops->module_unload(module);
    }
    if (hal_domain_status(domain) != HD_OK)
        (void)!hd_error(status, "%s", domain->fault->message);
    if (out_fault)
        *out_fault = (struct interp_fault){.address = domain->fault->address};
    device->ops->domain_destroy(domain);
    free(vars);
    return status;
}
