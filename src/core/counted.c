/* Kernels that count, beside those that do not. */
#include "core/counted.h"

#include "base/log.h"
#include "core/debug.h"
#include "count/count.h"
#include "hal/hal.h"

struct hal_kernel *core_kernel_choose(struct core_function *f, struct hal_dispatch *p)
{
    const struct ir_module *code;
    struct hal_kernel *kernel;

    if (HD_LIKELY(!count_is_on()) || !p->kernel || !count_takes(f->entry->name))
        return core_debug_choose(f, p);
    if (core_function_form(f, CORE_FORM_COUNTED, &kernel, &code) != HD_OK) {
        hd_log("kernel %s is not counted: %s", f->entry->name, hd_error_message());
        return core_debug_choose(f, p);
    }
    p->kernel = kernel->id;
    return kernel;
}
