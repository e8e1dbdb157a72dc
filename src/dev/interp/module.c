/* Modules and kernels: nothing is compiled, so these only remember. */
#include "base/mem.h"
#include "dev/interp/private.h"

static struct refdev_module *module_of(struct hal_module *module)
{
    return (struct refdev_module *)module;
}

enum hd_status refdev_module_load(struct hal_device *device, const struct ir_module *ir,
                                  const uint8_t key[16], const uint64_t *var_va, size_t var_count,
                                  struct hal_module **out_module)
{
    struct refdev_module *module = hd_new(struct refdev_module);
    size_t i = 0;
    bool ok = module != NULL;
    (void)key;
    if (ok)
        hd_map_init(&module->vars);
    for (const struct ir_var *var = ir->vars; ok && var && i < var_count; var = var->next, i++)
        ok = hd_map_put_u64(&module->vars, (uintptr_t)var, (void *)(uintptr_t)var_va[i]);
    if (!ok) {
        if (module)
            refdev_module_unload(&module->base);
        return hd_error(HD_NO_MEMORY, "module");
    }
    module->base.device = device;
    module->ir = ir;
    *out_module = &module->base;
    return HD_OK;
}

void refdev_module_unload(struct hal_module *base)
{
    struct refdev_module *module = module_of(base);
    while (module->kernels) {
        struct refdev_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        hd_free(kernel);
    }
    hd_map_fini(&module->vars);
    hd_free(module);
}

enum hd_status refdev_kernel_get(struct hal_module *base, const struct ir_func *func,
                                 struct hal_kernel **out_kernel)
{
    struct refdev_module *module = module_of(base);
    struct refdev *dev = refdev_of(base->device);
    struct refdev_kernel *kernel;
    if (!func->is_kernel || func->is_declaration)
        return hd_error(HD_NOT_FOUND, "%s is not a kernel with a body", func->name);
    hd_lock_acquire(&dev->lock);
    for (kernel = module->kernels; kernel && kernel->func != func; kernel = kernel->next)
        ;
    if (!kernel) {
        kernel = hd_new(struct refdev_kernel);
        if (kernel) {
            kernel->base.module = base;
            kernel->base.id = (uintptr_t)kernel;
            kernel->func = func;
            kernel->next = module->kernels;
            module->kernels = kernel;
        }
    }
    hd_lock_release(&dev->lock);
    if (!kernel)
        return hd_error(HD_NO_MEMORY, "kernel");
    *out_kernel = &kernel->base;
    return HD_OK;
}

enum hd_status refdev_kernel_info(struct hal_kernel *base, struct hal_kernel_info *out_info)
{
    const struct ir_func *func = ((struct refdev_kernel *)base)->func;
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
        .regs = func->maxnreg ? HD_MIN(func->maxnreg, 32) : 32,
        .max_threads = (uint32_t)HD_MIN(threads, 1024),
        .params_B = func->param_size_B,
        .recursive = window.recursive,
    };
    return HD_OK;
}

enum hd_status refdev_kernel_prepare(struct hal_kernel *kernel, const uint32_t block[3])
{
    (void)kernel, (void)block;
    return HD_OK;
}
