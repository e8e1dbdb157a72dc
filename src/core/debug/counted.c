/* Kernels that count, beside those that do not. */
#include "core/debug/counted.h"

#include "base/env.h"
#include "core/debug/debug.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "count/count.h"
#include "hal/hal.h"
#include "san/san.h"

struct hal_kernel *core_kernel_choose(struct core_function *f, struct hal_dispatch *p)
{
    const struct ir_module *code;
    struct hal_kernel *kernel;

    void *context;

    if (HD_LIKELY(!count_is_on()) || !p->kernel)
        return core_debug_choose(f, p);
    context = core_context_handle(f->module->ctx);
    if (!count_takes(context, f->entry->name))
        return core_debug_choose(f, p);
    if (f->native) {
        count_fails(context, f->entry->name,
                    "a native kernel: it is a function of the host, whose instructions are not "
                    "counted");
        return f->kernel;
    }
    if (core_function_form(f, CORE_FORM_COUNTED, &kernel, &code) != HD_OK) {
        count_fails(context, f->entry->name, hd_error_message());
        return core_debug_choose(f, p);
    }
    p->kernel = kernel->id;
    return kernel;
}

enum hd_status core_counted_start(void)
{
    return count_ranges_start(hd_env("HEDDLE_COUNT"), heddle_tap_subscribe);
}

HD_EXPORT int heddle_count_start(const struct heddle_count_listener *listener)
{
    return san_observer() || !count_listen(listener);
}

HD_EXPORT void heddle_count_stop(void)
{
    count_unlisten();
}
