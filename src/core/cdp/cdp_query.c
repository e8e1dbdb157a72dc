/* Questions of kernels about devices and functions. See cdp_calls.h. */
#include "core/cdp/cdp_calls.h"
#include "core/context.h"
#include "core/device.h"

#define RUNTIME_VERSION  13000
#define LIMIT_SYNC_DEPTH 3u

/* ---- the device */

uint64_t core_cdp_GetDeviceCount(const struct core_cdp_call *call)
{
    return core_cdp_answer_int(call, call->io->args[0], (int)core_device_count());
}

uint64_t core_cdp_GetDevice(const struct core_cdp_call *call)
{
    return core_cdp_answer_int(call, call->io->args[0], call->ctx->device->ordinal);
}

uint64_t core_cdp_RuntimeGetVersion(const struct core_cdp_call *call)
{
    return core_cdp_answer_int(call, call->io->args[0], RUNTIME_VERSION);
}

uint64_t core_cdp_DeviceGetAttribute(const struct core_cdp_call *call)
{
    const uint64_t *args = call->io->args;
    const struct core_device *device = core_device_at((int)args[2]);
    int value;

    if (!device)
        return cudaErrorInvalidDevice;
    if (core_device_attribute(device, (int)args[1], &value) != HD_OK)
        return cudaErrorInvalidValue;
    return core_cdp_answer_int(call, args[0], value);
}

uint64_t core_cdp_DeviceGetLimit(const struct core_cdp_call *call)
{
    /* By enum cudaLimit. */
    static const enum core_limit limits[] = {CORE_LIMIT_STACK_B, CORE_LIMIT_PRINTF_B,
                                             CORE_LIMIT_HEAP_B, CORE_LIMIT_COUNT,
                                             CORE_LIMIT_PENDING_LAUNCHES};
    uint64_t which = (uint32_t)call->io->args[1], value;

    if (which >= HD_COUNT_OF(limits) || which == LIMIT_SYNC_DEPTH)
        return cudaErrorUnsupportedLimit;
    value = core_context_limit(call->ctx, limits[which]);
    return core_cdp_answer(call, call->io->args[0], &value, sizeof(value));
}

uint64_t core_cdp_DeviceGetCacheConfig(const struct core_cdp_call *call)
{
    return core_cdp_answer_int(call, call->io->args[0], call->ctx->cache_config);
}

uint64_t core_cdp_DeviceGetSharedMemConfig(const struct core_cdp_call *call)
{
    return core_cdp_answer_int(call, call->io->args[0], call->ctx->smem_config);
}

/* ---- functions */

/* With a reference, described; NULL: there is none, or it cannot be compiled. */
static struct core_function *function_of(const struct core_cdp_call *call, uint64_t func)
{
    const struct core_entry *entry = core_cdp_entry(call, func);
    struct core_function *function;

    if (!entry || core_module_function_at(call->module, entry->position, &function) != HD_OK)
        return NULL;
    if (core_function_describe(function) == HD_OK)
        return function;
    core_function_unref(function);
    return NULL;
}

/* The beginning of struct cudaFuncAttributes; the rest is 0. */
struct func_attributes {
    uint64_t shared_B, const_B, local_B;
    int max_threads, regs, ptx, binary, cache_mode, max_dynamic_B, carveout;
    int reserved[23];
};
_Static_assert(sizeof(struct func_attributes) == IR_RUNTIME_OUT_B, "ABI");

uint64_t core_cdp_FuncGetAttributes(const struct core_cdp_call *call)
{
    const struct core_device *d = call->ctx->device;
    struct core_function *f = function_of(call, call->io->args[1]);
    int cc = d->cc_major * 10 + d->cc_minor;
    struct func_attributes a = {.ptx = cc, .binary = cc};

    if (!f)
        return cudaErrorInvalidDeviceFunction;
    a.shared_B = f->info.shared_B;
    a.local_B = f->info.local_B;
    a.const_B = call->module->const_B;
    a.max_threads = (int)f->info.max_threads;
    a.regs = (int)f->info.regs;
    a.max_dynamic_B = (int)f->max_dynamic_B;
    a.carveout = f->carveout;
    core_function_unref(f);
    return core_cdp_answer(call, call->io->args[0], &a, sizeof(a));
}

uint64_t
core_cdp_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(const struct core_cdp_call *call)
{
    const uint64_t *args = call->io->args;
    struct core_function *f = function_of(call, args[1]);
    int blocks;

    if (!f)
        return cudaErrorInvalidDeviceFunction;
    blocks = core_occupancy(f, (int)args[2], args[3]);
    core_function_unref(f);
    return core_cdp_answer_int(call, args[0], blocks);
}

uint64_t core_cdp_OccupancyMaxActiveBlocksPerMultiprocessor(const struct core_cdp_call *call)
{
    return core_cdp_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(call);
}

/* Made from the functions of the heap, when the kernel is lowered. */
uint64_t core_cdp_Malloc(const struct core_cdp_call *call)
{
    (void)call;
    return cudaErrorNotSupported;
}

uint64_t core_cdp_Free(const struct core_cdp_call *call)
{
    (void)call;
    return cudaErrorNotSupported;
}
