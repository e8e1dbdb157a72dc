/* Modules and kernels: the JIT's objects behind hal_module and hal_kernel. */
#include "base/mem.h"
#include "dev/cpu/device.h"

#define REGS_ESTIMATE 32

_Static_assert(HAL_FUNC_HANDLE(5) == JIT_FUNC_HANDLE(5), "images hold what the JIT calls through");

struct cpu_module {
    struct hal_module base;
    const struct ir_module *ir;
    struct jit_module *jit;
    uint64_t *vars;
    struct cpu_kernel *kernels;
    struct hd_lock lock; /* kernels */
};

static struct cpu_module *module_of(struct hal_module *module)
{
    return (struct cpu_module *)module;
}

enum hd_status cpu_module_load(struct hal_device *device, const struct ir_module *ir,
                               const uint8_t key[16], const uint64_t *var_va, size_t var_count,
                               struct hal_module **out_module)
{
    struct cpu_module *module = hd_new(struct cpu_module);
    enum hd_status status;

    if (!module)
        return hd_error(HD_NO_MEMORY, "module");
    hd_lock_init(&module->lock, HD_RANK_DEVICE, "cpu module");
    module->base.device = device;
    module->ir = ir;
    module->vars = hd_alloc_array(var_count + 1, sizeof(*module->vars));
    if (!module->vars) {
        cpu_module_unload(&module->base);
        return hd_error(HD_NO_MEMORY, "module");
    }
    if (var_count)
        memcpy(module->vars, var_va, var_count * sizeof(*module->vars));
    status = jit_module_create(ir, key, &module->jit);
    if (status != HD_OK) {
        cpu_module_unload(&module->base);
        return status;
    }
    *out_module = &module->base;
    return HD_OK;
}

void cpu_module_unload(struct hal_module *base)
{
    struct cpu_module *module = module_of(base);

    while (module->kernels) {
        struct cpu_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        hd_free(kernel);
    }
    if (module->jit)
        jit_module_destroy(module->jit);
    hd_lock_fini(&module->lock);
    hd_free(module->vars);
    hd_free(module);
}

/* The caller holds the module's lock. */
static enum hd_status kernel_create_locked(struct cpu_module *module, const struct ir_func *func,
                                           struct cpu_kernel **out_kernel)
{
    struct cpu_kernel *kernel = hd_new(struct cpu_kernel);
    enum hd_status status;

    if (!kernel)
        return hd_error(HD_NO_MEMORY, "kernel");
    status = ir_kernel_window(func, &kernel->window);
    if (status != HD_OK) {
        hd_free(kernel);
        return status;
    }
    kernel->base.module = &module->base;
    kernel->base.id = (uintptr_t)kernel;
    kernel->func = func;
    kernel->name = func->name;
    kernel->vars = module->vars;
    kernel->next = module->kernels;
    module->kernels = kernel;
    *out_kernel = kernel;
    return HD_OK;
}

enum hd_status cpu_kernel_get(struct hal_module *base, const struct ir_func *func,
                              struct hal_kernel **out_kernel)
{
    struct cpu_module *module = module_of(base);
    enum hd_status status = HD_OK;
    struct cpu_kernel *kernel;

    if (!func->is_kernel || func->is_declaration)
        return hd_error(HD_NOT_FOUND, "%s is not a kernel with a body", func->name);
    hd_lock_acquire(&module->lock);
    for (kernel = module->kernels; kernel && kernel->func != func; kernel = kernel->next)
        ;
    if (!kernel)
        status = kernel_create_locked(module, func, &kernel);
    hd_lock_release(&module->lock);
    if (status == HD_OK)
        *out_kernel = &kernel->base;
    return status;
}

enum hd_status cpu_kernel_info(struct hal_kernel *base, struct hal_kernel_info *out_info)
{
    const struct cpu_kernel *kernel = (struct cpu_kernel *)base;
    const struct ir_func *func = kernel->func;
    const uint32_t *bound = func->reqntid[0] ? func->reqntid : func->maxntid;
    uint64_t threads = 1024;

    if (bound[0])
        threads = (uint64_t)bound[0] * HD_MAX(bound[1], 1) * HD_MAX(bound[2], 1);
    *out_info = (struct hal_kernel_info){
        .shared_B = kernel->window.shared_B,
        .dynamic_offset_B = kernel->window.dynamic_offset_B,
        .local_B = kernel->window.local_B,
        .regs = func->maxnreg ? HD_MIN(func->maxnreg, REGS_ESTIMATE) : REGS_ESTIMATE,
        .max_threads = (uint32_t)HD_MIN(threads, 1024),
        .params_B = func->param_size_B,
        .recursive = kernel->window.recursive,
    };
    return HD_OK;
}

enum hd_status cpu_kernel_prepare(struct hal_kernel *base, const uint32_t block[3])
{
    struct cpu_kernel *kernel = (struct cpu_kernel *)base;
    enum ir_launch_class cls = ir_launch_class_of(block);
    const struct jit_code *code;

    if (HD_LIKELY(atomic_load_explicit(&kernel->codes[cls], memory_order_acquire) != NULL))
        return HD_OK;
    HD_TRY(jit_kernel_get(module_of(base->module)->jit, kernel->func, cls, &code));
    atomic_store_explicit(&kernel->codes[cls], code, memory_order_release);
    return HD_OK;
}
