/* Kernels that count, beside those that do not. */
#include "core/counted.h"

#include "base/log.h"
#include "core/debug.h"
#include "count/count.h"
#include "hal/hal.h"

static enum hd_status counted_locked(struct core_module *module, const struct core_image *image)
{
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *decls = core_image_decls(image);
    /* Without a key: nothing of it is cached. */
    struct hal_program program = {.name = decls->name,
                                  .nfuncs = decls->nfuncs,
                                  .nvars = decls->nvars,
                                  .var_va = module->var_va};

    if (module->counted_hal)
        return HD_OK;
    HD_TRY(hal->ops->module_load(hal, &program, &module->counted_hal));
    module->counted_hal->owner = module;
    return HD_OK;
}

static enum hd_status kernel_make(struct core_function *f, struct hal_kernel **out_kernel)
{
    struct core_module *module = f->module;
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *code;
    struct core_image *image;
    enum hd_status status;

    HD_TRY(core_image_counted(module->image, &image));
    HD_TRY(core_image_code(image, core_image_entry(image, f->entry->position), &code));
    hd_lock_acquire(&module->lock);
    status = counted_locked(module, image);
    if (status == HD_OK)
        status = hal->ops->kernel_get(module->counted_hal, f->entry->index, code, out_kernel);
    hd_lock_release(&module->lock);
    return status;
}

struct hal_kernel *core_kernel_choose(struct core_function *f, struct hal_dispatch *p)
{
    struct hal_kernel *kernel;

    if (HD_LIKELY(!count_is_on()) || !p->kernel || !count_takes(f->entry->name))
        return core_debug_choose(f, p);
    if (kernel_make(f, &kernel) != HD_OK) {
        hd_log("kernel %s is not counted: %s", f->entry->name, hd_error_message());
        return core_debug_choose(f, p);
    }
    p->kernel = kernel->id;
    return kernel;
}
