/* Modules and kernels: nothing is compiled, so these only remember. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "dev/interp/private.h"
#include "analysis/analysis.h"
#include "ir/device_runtime.h"

static struct refdev_module *module_of(struct hal_module *module)
{
    return (struct refdev_module *)module;
}

enum hd_status refdev_module_load(struct hal_device *device, const struct hal_program *program,
                                  struct hal_module **out_module)
{
    struct refdev_module *module;

    HD_TRY(hal_program_refuse_image(device, program));
    module = hd_new(struct refdev_module);
    if (!module)
        return hd_error(HD_NO_MEMORY, "module %s", program->name);
    module->base.device = device;
    module->base.nfuncs = program->nfuncs;
    module->nvars = program->nvars;
    module->vars = hd_alloc_array(program->nvars + 1u, sizeof(*module->vars));
    module->kernels = hd_alloc_array(program->nfuncs + 1u, sizeof(struct refdev_kernel *));
    if (!module->vars || !module->kernels) {
        refdev_module_unload(&module->base);
        return hd_error(HD_NO_MEMORY, "module %s", program->name);
    }
    if (refdev_of(device)->engine->open)
        module->kept = refdev_of(device)->engine->open(program);
    if (program->nvars)
        memcpy(module->vars, program->var_va, program->nvars * sizeof(*module->vars));
    *out_module = &module->base;
    return HD_OK;
}

static void kernel_destroy(struct hal_device *device, struct refdev_kernel *kernel)
{
    hal_kernel_withdraw(device, &kernel->base);
    if (kernel->code)
        refdev_of(device)->engine->release(kernel->code);
    hd_free(kernel);
}

void refdev_module_unload(struct hal_module *base)
{
    struct refdev_module *module = module_of(base);

    for (uint32_t i = 0; module->kernels && i < base->nfuncs; i++) {
        if (module->kernels[i])
            kernel_destroy(base->device, module->kernels[i]);
    }
    if (module->kept)
        refdev_of(base->device)->engine->close(module->kept);
    hd_free(module->kernels);
    hd_free(module->vars);
    hd_free(module);
}

/* The caller holds the device's lock. */
static enum hd_status kernel_create_locked(struct refdev_module *module, const struct ir_func *func)
{
    const struct refdev_engine *engine = refdev_of(module->base.device)->engine;
    struct refdev_kernel *kernel = hd_new(struct refdev_kernel);
    enum hd_status status = HD_OK;

    assert(hd_lock_held(&refdev_of(module->base.device)->lock) && !module->kernels[func->index]);
    if (!kernel)
        return hd_error(HD_NO_MEMORY, "kernel");
    if (engine->compile && !func->module->has_notes)
        status = engine->compile(func, module->kept, &kernel->code);
    if (status == HD_OK)
        status = hal_kernel_publish(module->base.device, &kernel->base);
    if (status != HD_OK) {
        if (kernel->code)
            engine->release(kernel->code);
        hd_free(kernel);
        return status;
    }
    kernel->base.module = &module->base;
    kernel->base.index = func->index;
    kernel->func = func;
    kernel->may_wait = ir_may_wait(func->module);
    module->kernels[func->index] = kernel;
    return HD_OK;
}

enum hd_status refdev_kernel_get(struct hal_module *base, uint32_t index,
                                 const struct ir_module *code, struct hal_kernel **out_kernel)
{
    struct refdev_module *module = module_of(base);
    struct refdev *dev = refdev_of(base->device);
    const struct ir_func *func = index < base->nfuncs ? ir_module_func_at(code, index) : NULL;
    enum hd_status status = HD_OK;

    if (!func || !func->is_kernel || func->is_declaration)
        return hd_error(HD_NOT_FOUND, "function %u of %s is not a kernel with a body", index,
                        code->name);
    if (!base->device->client.runtime && ir_module_runtime_calls(code))
        return hd_error(HD_NOT_SUPPORTED, "kernel %s calls the CUDA runtime, which is not there",
                        func->name);
    hd_lock_acquire(&dev->lock);
    if (!module->kernels[index])
        status = kernel_create_locked(module, func);
    assert(status != HD_OK || module->kernels[index]->func->index == index);
    if (status == HD_OK)
        *out_kernel = &module->kernels[index]->base;
    hd_lock_release(&dev->lock);
    return status;
}

enum hd_status refdev_kernel_info(struct hal_kernel *base, struct hal_kernel_info *out_info)
{
    const struct refdev_kernel *kernel = (const struct refdev_kernel *)base;
    const struct refdev_engine *engine = refdev_of(base->module->device)->engine;
    const struct ir_func *func = kernel->func;
    const uint32_t *bound = func->reqntid[0] ? func->reqntid : func->maxntid;
    struct ir_window window;
    uint64_t threads = 1024;
    HD_TRY(ir_kernel_window(func, &window));
    if (bound[0])
        threads = (uint64_t)bound[0] * HD_MAX(bound[1], 1) * HD_MAX(bound[2], 1);
    *out_info = (struct hal_kernel_info){
        .shared_B = window.shared_B,
        .dynamic_offset_B = window.dynamic_offset_B,
        .local_B = window.local_B,
        .regs = hal_regs_estimate(func->maxnreg),
        .max_threads = (uint32_t)HD_MIN(threads, 1024),
        .params_B = func->param_size_B,
        .recursive = window.recursive,
    };
    if (kernel->code)
        engine->describe(kernel->code, out_info);
    return HD_OK;
}

enum hd_status refdev_kernel_prepare(struct hal_kernel *kernel, const uint32_t grid[3],
                                     const uint32_t block[3])
{
    (void)kernel, (void)grid, (void)block;
    return HD_OK;
}
