/* Functions of a module: kernels, described and compiled when somebody asks, in several forms. */
#include <assert.h>

#include "base/mem.h"
#include "compile.h"
#include "core/context.h"
#include "core/device.h"
#include "core/handle.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "hal/hal.h"
#include "ir/device_runtime.h"
#include "ir/ir.h"

#define STATIC_SMEM_MAX_B (48u << 10)

void core_function_finalise(struct core_function *function)
{
    struct core_module *module = function->module;

    hd_free(function->setup);
    core_handle_free(function);
    core_module_unref(module);
}

static enum hd_status function_create_locked(struct core_module *module, uint32_t position)
{
    struct core_function *function = core_handle_alloc(CORE_FUNCTION);

    assert(hd_lock_held(&module->lock) && !module->functions[position]);
    if (!function)
        return hd_error(HD_NO_MEMORY, "function");
    function->module = core_module_ref(module);
    function->entry = core_image_entry(module->image, position);
    function->max_dynamic_B = CORE_DYNAMIC_DEFAULT;
    function->carveout = -1;
    module->functions[position] = function;
    core_object_publish(&function->object);
    return HD_OK;
}

enum hd_status core_module_function_at(struct core_module *module, uint32_t position,
                                       struct core_function **out_function)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&module->lock);
    if (module->closing)
        status = hd_error(HD_BAD_ARG, "the module was unloaded");
    else if (!module->functions[position])
        status = function_create_locked(module, position);
    if (status == HD_OK)
        *out_function = core_function_ref(module->functions[position]);
    hd_lock_release(&module->lock);
    return status;
}

enum hd_status core_module_function(struct core_module *module, const char *name,
                                    struct core_function **out_function)
{
    const struct core_entry *entry = core_image_find(module->image, name);

    if (!entry)
        return hd_error(HD_NOT_FOUND, "there is no kernel %s in the module", name);
    return core_module_function_at(module, entry->position, out_function);
}

uint32_t core_function_threads(const struct core_function *function)
{
    const struct core_device *device = function->module->ctx->device;
    uint64_t limit = (uint64_t)device->attributes[CORE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
    const uint32_t *req = function->entry->reqntid;
    uint64_t threads = req[0] ? (uint64_t)req[0] * HD_MAX(req[1], 1u) * HD_MAX(req[2], 1u)
                              : function->entry->max_threads;

    return (uint32_t)(threads ? HD_MIN(threads, limit) : limit);
}

static void function_describe_locked(struct core_function *function,
                                     const struct core_function_info *info)
{
    uint32_t want = CORE_DYNAMIC_DEFAULT, fits = 0;

    assert(hd_lock_held(&function->module->lock));
    if (core_function_is_described(function))
        return;
    function->info = *info;
    if (info->shared_B < STATIC_SMEM_MAX_B)
        fits = (uint32_t)(STATIC_SMEM_MAX_B - info->shared_B);
    atomic_compare_exchange_strong(&function->max_dynamic_B, &want, fits);
    atomic_store_explicit(&function->is_described, true, memory_order_release);
}

/* `kernel` is written last: whoever sees it sees the rest. `code`: NULL of a native kernel. */
static enum hd_status function_load_locked(struct core_function *function,
                                           const struct ir_module *code,
                                           struct core_function_info info)
{
    struct core_module *module = function->module;
    const struct hal_device_ops *ops = module->ctx->device->hal->ops;
    const struct core_entry *entry = function->entry;
    struct hal_kernel_info own;
    struct hal_kernel *kernel;

    assert(hd_lock_held(&module->lock));
    if (code) {
        HD_TRY(ops->kernel_get(module->hal, entry->index, code, &kernel));
        if (module->ctx->device->hal->info.knows_registers) {
            HD_TRY(ops->kernel_info(kernel, &own));
            info.regs = own.regs;
            info.local_B = HD_MAX(info.local_B, own.local_B);
        }
    } else {
        HD_TRY(ops->native_get(module->hal, entry->index, entry->native, &kernel));
        HD_TRY(ops->kernel_info(kernel, &own));
        info = (struct core_function_info){.shared_B = own.shared_B,
                                           .local_B = own.local_B,
                                           .regs = own.regs,
                                           .max_threads = own.max_threads};
    }
    function->native = code ? NULL : entry->native;
    function->calls = code ? ir_module_runtime_calls(code) : 0;
    function_describe_locked(function, &info);
    atomic_store_explicit(&function->kernel, kernel, memory_order_release);
    return HD_OK;
}

static enum hd_status function_load_as(struct core_function *function, const struct ir_module *code,
                                       const struct core_function_info *info)
{
    struct core_module *module = function->module;
    enum hd_status status = HD_OK;

    hd_lock_acquire(&module->lock);
    if (!core_function_is_loaded(function))
        status = function_load_locked(function, code, *info);
    hd_lock_release(&module->lock);
    return status;
}

static enum hd_status function_sizes_get(const struct core_function *function,
                                         struct core_function_info *out_info, bool *out_doubtful)
{
    struct ir_kernel_sizes sizes;

    HD_TRY(core_image_sizes(function->module->image, function->entry, &sizes));
    *out_info = (struct core_function_info){.shared_B = sizes.shared_B,
                                            .local_B = sizes.local_B,
                                            .regs = hal_regs_estimate(function->entry->max_regs),
                                            .max_threads = core_function_threads(function)};
    *out_doubtful = sizes.is_doubtful;
    return HD_OK;
}

enum hd_status core_function_load(struct core_function *function)
{
    const struct core_entry *entry = function->entry;
    struct core_function_info info = {0};
    const struct ir_module *code;
    enum hd_status status;

    if (HD_LIKELY(core_function_is_loaded(function)))
        return HD_OK;
    if (entry->native) {
        bool can = function->module->ctx->device->hal->ops->native_get;

        status = can ? function_load_as(function, NULL, &info) : HD_NOT_SUPPORTED;
        if (status != HD_NOT_SUPPORTED)
            return status;
        if (entry->is_only_native)
            return hd_error(
                HD_NOT_SUPPORTED,
                "kernel %s is a function of the host with no PTX in its place: the device "
                "\"%s\" cannot run it",
                function->entry->name, function->module->ctx->device->hal->info.name);
    }
    HD_TRY(core_image_code(function->module->image, entry, function->module->ctx->device, &code));
    if (!core_function_is_described(function))
        HD_TRY(function_sizes_get(function, &info, &(bool){false}));
    return function_load_as(function, code, &info);
}

enum hd_status core_function_describe(struct core_function *function)
{
    const struct core_device *device = function->module->ctx->device;
    const struct core_entry *entry = function->entry;
    struct core_function_info info;
    bool is_doubtful;

    if (HD_LIKELY(core_function_is_loaded(function)))
        return HD_OK;
    if (entry->is_only_native || (entry->native && device->hal->ops->native_get))
        return core_function_load(function);
    if (device->hal->info.knows_registers) {
        enum hd_status status = core_function_load(function);

        if (status != HD_NOT_SUPPORTED) /* else launches say so */
            return status;
    }
    HD_TRY(core_image_code_error(function->module->image, entry, device));
    if (core_function_is_described(function))
        return HD_OK;
    HD_TRY(function_sizes_get(function, &info, &is_doubtful));
    if (is_doubtful)
        return core_function_load(function);
    hd_lock_acquire(&function->module->lock);
    function_describe_locked(function, &info);
    hd_lock_release(&function->module->lock);
    return HD_OK;
}

static enum hd_status function_form_load_locked(struct core_module *module,
                                                const struct core_image *image, enum core_form form)
{
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *decls = core_image_decls(image);
    uint8_t key[16];
    struct hal_program program = {.name = decls->name,
                                  .key = key,
                                  .nfuncs = decls->nfuncs,
                                  .nvars = decls->nvars,
                                  .var_va = module->var_va};

    assert(hd_lock_held(&module->lock));
    if (module->forms[form])
        return HD_OK;
    core_image_code_key(image, module->ctx->device, key);
    HD_TRY(hal->ops->module_load(hal, &program, &module->forms[form]));
    module->forms[form]->owner = module;
    return HD_OK;
}

enum hd_status core_function_form(struct core_function *f, enum core_form form,
                                  struct hal_kernel **out_kernel, const struct ir_module **out_code)
{
    struct core_module *module = f->module;
    struct core_image *image;
    enum hd_status status;

    HD_TRY(core_image_form(module->image, form, &image));
    HD_TRY(core_image_code(image, core_image_entry(image, f->entry->position), module->ctx->device,
                           out_code));
    hd_lock_acquire(&module->lock);
    status = function_form_load_locked(module, image, form);
    if (status == HD_OK)
        status = module->ctx->device->hal->ops->kernel_get(module->forms[form], f->entry->index,
                                                           *out_code, out_kernel);
    hd_lock_release(&module->lock);
    return status;
}
