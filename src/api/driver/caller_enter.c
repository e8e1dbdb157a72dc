/* The ways into calls of the runtime: a file of its own for its TLS dialect (base/meson.build). */
#include <assert.h>

#include "api/driver/caller.h"
#include "base/stack.h"

HD_THREAD_LOCAL struct heddle_caller drv_caller;

HD_EXPORT struct heddle_caller *heddle_call_enter(void)
{
    struct heddle_caller *c = &drv_caller;

    if (HD_UNLIKELY(!hd_stack_is_surely_enough()) && hd_stack_is_short())
        return NULL;
    if (c->depth++ == c->outer)
        c->inner_result = 0;
    return c;
}

HD_EXPORT void heddle_call_leave(struct heddle_caller *c)
{
    assert(c->depth > c->outer);
    c->depth--;
}

HD_EXPORT bool heddle_stack_is_short(void)
{
    return hd_stack_is_short();
}

HD_EXPORT void heddle_stack_call(void (*fn)(const void *args, void *result), const void *args,
                                 void *result)
{
    hd_stack_call(fn, args, result);
}
