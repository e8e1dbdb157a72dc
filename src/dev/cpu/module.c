/* Modules and kernels: the JIT's objects behind hal_module and hal_kernel. */
#include <assert.h>

#include "base/mem.h"
#include "dev/cpu/kernel.h"
#include "ir/device_runtime.h"
#include "dev/cpu/native.h"
#include "dev/cpu/sample.h"
#include "analysis/conflicts.h"

_Static_assert(HAL_FUNC_HANDLE(5) == JIT_FUNC_HANDLE(5), "images hold what the JIT calls through");

struct cpu_module {
    struct hal_module base;
    struct jit_module *jit;
    uint64_t *vars;
    struct cpu_kernel **kernels; /* by number; NULL = not asked for yet */
    struct hd_lock lock;         /* kernels */
};

static struct cpu_module *module_of(struct hal_module *module)
{
    return (struct cpu_module *)module;
}

static enum hd_status module_init(struct cpu_module *module, const struct hal_program *program)
{
    module->vars = hd_alloc_array(program->nvars + 1u, sizeof(*module->vars));
    module->kernels = hd_alloc_array(program->nfuncs + 1u, sizeof(struct cpu_kernel *));
    if (!module->vars || !module->kernels)
        return hd_error(HD_NO_MEMORY, "module %s", program->name);
    if (program->nvars)
        memcpy(module->vars, program->var_va, program->nvars * sizeof(*module->vars));
    HD_TRY(jit_module_create(program->name, program->key, &module->jit));
    jit_module_set_ptx(module->jit, program->ptx);
    jit_module_set_alone(module->jit, cpu_device_of(module->base.device)->ncpus == 1);
    jit_module_set_strict(module->jit, module->base.device->client.refusal != NULL);
    return HD_OK;
}

enum hd_status cpu_module_load(struct hal_device *device, const struct hal_program *program,
                               struct hal_module **out_module)
{
    struct cpu_module *module;
    enum hd_status status;

    HD_TRY(hal_program_refuse_image(device, program));
    module = hd_new(struct cpu_module);
    if (!module)
        return hd_error(HD_NO_MEMORY, "module %s", program->name);
    hd_lock_init(&module->lock, HD_RANK_DEVICE, "cpu module");
    module->base.device = device;
    module->base.nfuncs = program->nfuncs;
    status = module_init(module, program);
    if (status != HD_OK) {
        cpu_module_unload(&module->base);
        return status;
    }
    *out_module = &module->base;
    return HD_OK;
}

static void kernel_free(struct cpu_kernel *kernel)
{
    if (!kernel)
        return;
    ir_conflicts_destroy(kernel->conflicts);
    hd_free(kernel->probes);
    hd_free(kernel);
}

void cpu_module_unload(struct hal_module *base)
{
    struct cpu_module *module = module_of(base);

    for (uint32_t i = 0; module->kernels && i < base->nfuncs; i++)
        if (module->kernels[i])
            cpu_samples_leave(module->kernels[i]);
    if (module->jit) /* first: it writes into the kernels */
        jit_module_destroy(module->jit);
    for (uint32_t i = 0; module->kernels && i < base->nfuncs; i++) {
        if (module->kernels[i])
            hal_kernel_withdraw(base->device, &module->kernels[i]->base);
        kernel_free(module->kernels[i]);
    }
    hd_lock_fini(&module->lock);
    hd_free(module->kernels);
    hd_free(module->vars);
    hd_free(module);
}

/* The caller holds the module's lock. */
static enum hd_status kernel_create_locked(struct cpu_module *module, const struct ir_func *func)
{
    struct cpu_kernel *kernel = hd_new(struct cpu_kernel);
    enum hd_status status;

    assert(hd_lock_held(&module->lock) && !module->kernels[func->index]);
    if (!kernel)
        return hd_error(HD_NO_MEMORY, "kernel");
    kernel->base.module = &module->base;
    kernel->base.index = func->index;
    kernel->func = func;
    kernel->name = func->name;
    kernel->vars = module->vars;
    kernel->jit = module->jit;
    kernel->is_metered = module->base.device->client.meter != NULL;
    status = ir_kernel_window(func, &kernel->window);
    if (status == HD_OK && module->base.device->client.observer && func->module->has_probes &&
        !cpu_kernel_find_probes(kernel, module->base.device->client.observer))
        status = hd_error(HD_NO_MEMORY, "kernel");
    if (status == HD_OK)
        status = hal_kernel_publish(module->base.device, &kernel->base);
    if (status != HD_OK) {
        kernel_free(kernel);
        return status;
    }
    module->kernels[func->index] = kernel;
    return HD_OK;
}

/* The same. */
static enum hd_status native_create_locked(struct cpu_module *module, uint32_t index,
                                           const struct hal_native *native)
{
    struct cpu_kernel *kernel = hd_new(struct cpu_kernel);
    enum hd_status status;

    assert(hd_lock_held(&module->lock) && !module->kernels[index]);
    if (!kernel)
        return hd_error(HD_NO_MEMORY, "kernel");
    kernel->base.module = &module->base;
    kernel->base.index = index;
    kernel->native = native;
    kernel->native_code = (struct jit_code){.cost_ops = UINT64_MAX};
    kernel->name = native->name;
    kernel->vars = module->vars;
    kernel->jit = module->jit;
    kernel->window.local_align_B = 1;
    for (int cls = 0; cls < JIT_CLASS_COUNT; cls++)
        atomic_store(&kernel->codes[cls], &kernel->native_code);
    status = hal_kernel_publish(module->base.device, &kernel->base);
    if (status != HD_OK) {
        kernel_free(kernel);
        return status;
    }
    module->kernels[index] = kernel;
    return HD_OK;
}

enum hd_status cpu_kernel_get(struct hal_module *base, uint32_t index, const struct ir_module *code,
                              struct hal_kernel **out_kernel)
{
    struct cpu_module *module = module_of(base);
    const struct ir_func *func = index < base->nfuncs ? ir_module_func_at(code, index) : NULL;
    enum hd_status status = HD_OK;

    if (!func || !func->is_kernel || func->is_declaration)
        return hd_error(HD_NOT_FOUND, "function %u of %s is not a kernel with a body", index,
                        code->name);
    if (!base->device->client.runtime && ir_module_runtime_calls(code))
        return hd_error(HD_NOT_SUPPORTED, "kernel %s calls the CUDA runtime, which is not there",
                        func->name);
    hd_lock_acquire(&module->lock);
    if (!module->kernels[index])
        status = kernel_create_locked(module, func);
    if (status == HD_OK)
        *out_kernel = &module->kernels[index]->base;
    hd_lock_release(&module->lock);
    return status;
}

enum hd_status cpu_native_get(struct hal_module *base, uint32_t index,
                              const struct hal_native *native, struct hal_kernel **out_kernel)
{
    struct cpu_module *module = module_of(base);
    enum hd_status status = HD_OK;

    if (index >= base->nfuncs)
        return hd_error(HD_NOT_FOUND, "there is no function %u for %s", index, native->name);
    hd_lock_acquire(&module->lock);
    if (!module->kernels[index])
        status = native_create_locked(module, index, native);
    if (status == HD_OK)
        *out_kernel = &module->kernels[index]->base;
    hd_lock_release(&module->lock);
    return status;
}

enum hd_status cpu_kernel_info(struct hal_kernel *base, struct hal_kernel_info *out_info)
{
    const struct cpu_kernel *kernel = (struct cpu_kernel *)base;
    const struct ir_func *func = kernel->func;

    if (kernel->native) {
        *out_info = cpu_native_info(kernel);
        return HD_OK;
    }
    const uint32_t *bound = func->reqntid[0] ? func->reqntid : func->maxntid;
    uint64_t threads = 1024;

    if (bound[0])
        threads = (uint64_t)bound[0] * HD_MAX(bound[1], 1) * HD_MAX(bound[2], 1);
    *out_info = (struct hal_kernel_info){
        .shared_B = kernel->window.shared_B,
        .dynamic_offset_B = kernel->window.dynamic_offset_B,
        .local_B = kernel->window.local_B,
        .regs = hal_regs_estimate(func->maxnreg),
        .max_threads = (uint32_t)HD_MIN(threads, 1024),
        .params_B = func->param_size_B,
        .recursive = kernel->window.recursive,
    };
    return HD_OK;
}

/* A number of threads beyond all limits counts as the largest. */
static struct jit_size launch_size(const struct hal_device *device, const uint32_t grid[3],
                                   const uint32_t block[3])
{
    uint64_t cta = (uint64_t)block[0] * block[1] * block[2], threads = cta;

    for (int i = 0; i < 3; i++) {
        if (__builtin_mul_overflow(threads, grid[i], &threads))
            threads = UINT64_MAX;
    }
    return (struct jit_size){.threads = threads,
                             .rounds = threads / HD_MAX(cta, 1) / device->info.units};
}

enum hd_status cpu_kernel_prepare(struct hal_kernel *base, const uint32_t grid[3],
                                  const uint32_t block[3])
{
    struct cpu_kernel *kernel = (struct cpu_kernel *)base;
    enum jit_launch_class cls = jit_launch_class_of(block);
    const struct jit_code *code = atomic_load_explicit(&kernel->codes[cls], memory_order_acquire);

    if (HD_LIKELY(code && !code->quick))
        return HD_OK;
    if (!grid[0])
        return jit_kernel_get(kernel->jit, kernel->func, cls, &code);
    return jit_kernel_start(kernel->jit, kernel->func, cls,
                            launch_size(base->module->device, grid, block), &kernel->codes[cls]);
}
