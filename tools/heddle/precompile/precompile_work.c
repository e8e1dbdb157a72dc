/* See precompile.h: a process that loads images and asks for code of their kernels. */
#include <assert.h>
#include <cuda.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "common/cli.h"
#include "common/where.h"
#include "heddle/prepare.h"
#include "precompile/precompile.h"

_Static_assert(sizeof(struct precompile_event) <= PIPE_BUF, "one write of a pipe is a whole");

static struct {
    __typeof__(cuInit) *init;
    __typeof__(cuDeviceGetName) *name;
    __typeof__(cuDevicePrimaryCtxRetain) *retain;
    __typeof__(cuCtxSetCurrent) *set_current;
    __typeof__(cuModuleLoadData) *load;
    __typeof__(cuModuleUnload) *unload;
    __typeof__(cuModuleGetFunctionCount) *count;
    __typeof__(cuModuleEnumerateFunctions) *enumerate;
    __typeof__(cuFuncGetName) *function_name;
    __typeof__(cuGetErrorName) *error_name;
    __typeof__(heddle_function_prepare) *prepare;
    const char *(*message)(void);
} driver;

static int work_driver_load(void)
{
    const struct where_symbol wanted[] = {
        {"cuInit", &driver.init},
        {"cuDeviceGetName", &driver.name},
        {"cuDevicePrimaryCtxRetain", &driver.retain},
        {"cuCtxSetCurrent", &driver.set_current},
        {"cuModuleLoadData", &driver.load},
        {"cuModuleUnload", &driver.unload},
        {"cuModuleGetFunctionCount", &driver.count},
        {"cuModuleEnumerateFunctions", &driver.enumerate},
        {"cuFuncGetName", &driver.function_name},
        {"cuGetErrorName", &driver.error_name},
        {"heddle_function_prepare", &driver.prepare},
        {"heddle_error_message", &driver.message},
    };

    return where_load(WHERE_CUDA, wanted, HD_COUNT_OF(wanted));
}

/* ---- what is said */

/* False: nobody reads any more. */
static bool work_say(const struct precompile_worker *w, struct precompile_event *event)
{
    event->worker = w->number;
    return write(w->events, event, sizeof(*event)) == (ssize_t)sizeof(*event);
}

static bool work_say_why(const struct precompile_worker *w, struct precompile_event *event,
                         enum precompile_event_kind kind, CUresult result)
{
    const char *name = "unknown error", *message = driver.message();

    assert(result != CUDA_SUCCESS);
    (void)!driver.error_name(result, &name);
    event->kind = kind;
    (void)snprintf(event->why, sizeof(event->why), "%s%s%s%s", message, *message ? " (" : "", name,
                   *message ? ")" : "");
    return work_say(w, event);
}

/* ---- work */

/* Blocks that the kernel cannot have are for other kernels. */
static bool work_kernel(const struct precompile_worker *w, CUfunction function, uint32_t share,
                        uint32_t position)
{
    struct precompile_event event = {.kind = EVENT_KERNEL, .share = share, .position = position};
    CUresult result = CUDA_SUCCESS;
    const char *name = "";

    (void)!driver.function_name(&name, function);
    (void)snprintf(event.name, sizeof(event.name), "%s", name);
    if (!work_say(w, &event))
        return false;
    if (!w->p->blocks.len)
        result = (CUresult)driver.prepare(function, NULL);
    for (size_t i = 0; i < w->p->blocks.len && result == CUDA_SUCCESS; i++) {
        result = (CUresult)driver.prepare(function, w->p->blocks.at[i]);
        if (result == CUDA_ERROR_INVALID_VALUE)
            result = CUDA_SUCCESS;
    }
    if (result != CUDA_SUCCESS)
        return work_say_why(w, &event, EVENT_FAILED, result);
    event.kind = EVENT_MADE;
    return work_say(w, &event);
}

static bool work_module(const struct precompile_worker *w, CUmodule module, uint32_t share,
                        uint32_t from)
{
    const struct precompile_share *s = &w->shares[share];
    struct precompile_event event = {.share = share};
    CUfunction *functions = NULL;
    unsigned count = 0;
    CUresult result = driver.count(&count, module);
    bool good = true;

    assert(s->step && s->first < s->step);
    if (result == CUDA_SUCCESS) {
        functions = hd_alloc_array(count + 1u, sizeof(CUfunction));
        result = functions ? driver.enumerate(functions, count, module) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (uint32_t i = s->first; result == CUDA_SUCCESS && i < count && good; i += s->step)
        if (i >= from)
            good = work_kernel(w, functions[i], share, i);
    hd_free(functions);
    return result == CUDA_SUCCESS ? good : work_say_why(w, &event, EVENT_IMAGE, result);
}

static bool work_share(const struct precompile_worker *w, uint32_t share, uint32_t from)
{
    const struct precompile_share *s = &w->shares[share];
    struct precompile_event event = {.kind = EVENT_LOAD, .share = share};
    CUmodule module;
    CUresult result;
    bool good;

    if (!work_say(w, &event))
        return false;
    result = driver.load(&module, w->p->images.at[s->image].bytes);
    event.kind = EVENT_NONE;
    if (result != CUDA_SUCCESS && s->first) /* the first worker has said so */
        return true;
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU)
        return work_say(w, &event);
    if (result != CUDA_SUCCESS)
        return work_say_why(w, &event, EVENT_IMAGE, result);
    good = work_module(w, module, share, from);
    (void)!driver.unload(module);
    return good;
}

static bool work_begin(const struct precompile_worker *w)
{
    struct precompile_event event = {.kind = EVENT_DEVICE};
    CUcontext context;
    CUresult result = driver.init(0);

    if (result == CUDA_SUCCESS)
        result = driver.retain(&context, 0);
    if (result == CUDA_SUCCESS)
        result = driver.set_current(context);
    if (result == CUDA_SUCCESS)
        result = driver.name(event.name, (int)sizeof(event.name), 0);
    if (result == CUDA_SUCCESS)
        return work_say(w, &event);
    (void)work_say_why(w, &event, EVENT_FATAL, result);
    return false;
}

int precompile_work(const struct precompile_worker *w)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    uint32_t share;

    assert(w->share <= w->nshares && w->number < w->p->workers);
    if (work_driver_load() != CLI_OK)
        return CLI_FAILED;
    if (null >= 0 && !hd_env("HEDDLE_DEBUG")) /* what the driver writes is in events already */
        (void)dup2(null, STDERR_FILENO);
    if (!work_begin(w))
        return CLI_FAILED;
    if (w->share < w->nshares && !work_share(w, w->share, w->position))
        return CLI_FAILED;
    while ((share = atomic_fetch_add(w->next, 1)) < w->nshares)
        if (!work_share(w, share, 0))
            return CLI_FAILED;
    return CLI_OK;
}
