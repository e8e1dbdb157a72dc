/* The CUDA runtime for kernels: errors, streams, events, launches. See cdp_calls.h. */
#include "core/cdp/cdp_calls.h"

#include "base/mem.h"
#include "core/context.h"
#include "core/device.h"
#include "core/mem/memory.h"
#include "core/notify.h"

/* cudaStream_t, cuda_device_runtime_api.h: what is below is a name of the default stream. */
#define STREAM_DEFAULTS 3u
#define STREAM_TAIL     3u
#define STREAM_FORGET   4u
#define STREAM_NONBLOCK 1u
#define EVENT_NO_TIMING 2u
#define OBJECT_SHIFT    8

/* Up to here dynamic shared memory fits beside what most kernels have. */
#define SHARED_ASKED_B (16u << 10)

typedef uint64_t call_fn(const struct core_cdp_call *call);

/* ---- errors, by thread */

static uint64_t cdp_last_error(const struct core_cdp_call *call, bool clear)
{
    struct core_cdp *cdp = core_cdp_look(call);
    uintptr_t error = cudaSuccess;

    if (!cdp)
        return error;
    hd_lock_acquire(&cdp->lock);
    error = (uintptr_t)hd_map_get_u64(&cdp->errors, call->io->thread);
    if (error && clear)
        hd_map_remove_u64(&cdp->errors, call->io->thread);
    hd_lock_release(&cdp->lock);
    return error;
}

static void cdp_error_keep(const struct core_cdp_call *call, uint64_t error)
{
    struct core_cdp *cdp = core_cdp_get(call);

    if (!cdp)
        return;
    hd_lock_acquire(&cdp->lock);
    /* Without memory for it the thread is only told once. */
    (void)!hd_map_put_u64(&cdp->errors, call->io->thread, (void *)(uintptr_t)error);
    hd_lock_release(&cdp->lock);
}

uint64_t core_cdp_GetLastError(const struct core_cdp_call *call)
{
    return cdp_last_error(call, true);
}

uint64_t core_cdp_PeekAtLastError(const struct core_cdp_call *call)
{
    return cdp_last_error(call, false);
}

struct error_text {
    uint64_t value;
    const char *name, *text;
};

static const struct error_text *cdp_error_find(uint64_t value)
{
    static const struct error_text rows[] = {
#define X(name, value, text) {value, #name, text},
#include "api/cudart_errors.def"
#undef X
    };

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].value == value)
            return &rows[i];
    return NULL;
}

/* In strict mode kernels cannot read ours; they get a copy that lives as long as the grid's
 * state. */
static uint64_t cdp_text_give(const struct core_cdp_call *call, const char *text)
{
    struct core_cdp *cdp;
    uint64_t va;
    bool kept;

    if (!call->ctx->device->hal->client.refusal)
        return (uintptr_t)text;
    cdp = core_cdp_get(call);
    if (!cdp || core_memory_alloc_own(call->ctx, strlen(text) + 1, CORE_MEM_DEVICE,
                                      HEDDLE_MEMORY_OWN, &va) != HD_OK)
        return 0;
    memcpy((void *)(uintptr_t)va, text, strlen(text) + 1);
    hd_lock_acquire(&cdp->lock);
    kept = hd_vec_push(&cdp->texts, va);
    hd_lock_release(&cdp->lock);
    if (!kept)
        core_memory_free_own(va);
    return kept ? va : 0;
}

uint64_t core_cdp_GetErrorString(const struct core_cdp_call *call)
{
    const struct error_text *row = cdp_error_find((uint32_t)call->io->args[0]);

    return cdp_text_give(call, row ? row->text : "unrecognized error code");
}

uint64_t core_cdp_GetErrorName(const struct core_cdp_call *call)
{
    const struct error_text *row = cdp_error_find((uint32_t)call->io->args[0]);

    return cdp_text_give(call, row ? row->name : "unrecognized error code");
}

/* ---- streams and events: numbers of the grid's objects */

static uint64_t cdp_object_create(const struct core_cdp_call *call, uint64_t va, uint8_t kind)
{
    struct core_cdp *cdp = core_cdp_get(call);
    uint64_t number = 0;

    if (cdp) {
        hd_lock_acquire(&cdp->lock);
        if (hd_vec_push(&cdp->objects, kind))
            number = (uint64_t)cdp->objects.len << OBJECT_SHIFT | kind;
        hd_lock_release(&cdp->lock);
    }
    return number ? core_cdp_answer(call, va, &number, sizeof(number)) : cudaErrorMemoryAllocation;
}

static bool cdp_object_is(const struct core_cdp_call *call, uint64_t number, uint8_t kind,
                          bool destroy)
{
    struct core_cdp *cdp = core_cdp_look(call);
    bool found;

    if (!cdp)
        return false;
    hd_lock_acquire(&cdp->lock);
    uint64_t at = (number >> OBJECT_SHIFT) - 1;
    found = at < cdp->objects.len && number == ((at + 1) << OBJECT_SHIFT | kind) &&
            cdp->objects.at[at] == kind;
    if (found && destroy)
        cdp->objects.at[(number >> OBJECT_SHIFT) - 1] = CORE_CDP_GONE;
    hd_lock_release(&cdp->lock);
    return found;
}

static bool cdp_stream_is(const struct core_cdp_call *call, uint64_t stream)
{
    return stream < STREAM_DEFAULTS || cdp_object_is(call, stream, CORE_CDP_STREAM, false);
}

/* Where work can be put, the two special streams too. */
bool core_cdp_stream_takes(const struct core_cdp_call *call, uint64_t stream)
{
    return stream == STREAM_TAIL || stream == STREAM_FORGET || cdp_stream_is(call, stream);
}

uint64_t core_cdp_StreamCreateWithFlags(const struct core_cdp_call *call)
{
    if ((uint32_t)call->io->args[1] != STREAM_NONBLOCK)
        return cudaErrorInvalidValue;
    return cdp_object_create(call, call->io->args[0], CORE_CDP_STREAM);
}

uint64_t core_cdp_StreamDestroy(const struct core_cdp_call *call)
{
    return cdp_object_is(call, call->io->args[0], CORE_CDP_STREAM, true)
               ? cudaSuccess
               : cudaErrorInvalidResourceHandle;
}

uint64_t core_cdp_EventCreateWithFlags(const struct core_cdp_call *call)
{
    if ((uint32_t)call->io->args[1] != EVENT_NO_TIMING)
        return cudaErrorInvalidValue;
    return cdp_object_create(call, call->io->args[0], CORE_CDP_EVENT);
}

uint64_t core_cdp_EventDestroy(const struct core_cdp_call *call)
{
    return cdp_object_is(call, call->io->args[0], CORE_CDP_EVENT, true)
               ? cudaSuccess
               : cudaErrorInvalidResourceHandle;
}

/* All that a grid's kernel asked for is in one order already: see cdp.h. */
static uint64_t cdp_order(const struct core_cdp_call *call, uint64_t stream, uint64_t event)
{
    return cdp_stream_is(call, stream) && cdp_object_is(call, event, CORE_CDP_EVENT, false)
               ? cudaSuccess
               : cudaErrorInvalidResourceHandle;
}

uint64_t core_cdp_StreamWaitEvent(const struct core_cdp_call *call)
{
    return cdp_order(call, call->io->args[0], call->io->args[1]);
}

uint64_t core_cdp_EventRecord(const struct core_cdp_call *call)
{
    return cdp_order(call, call->io->args[1], call->io->args[0]);
}

uint64_t core_cdp_EventRecordWithFlags(const struct core_cdp_call *call)
{
    return cdp_order(call, call->io->args[1], call->io->args[0]);
}

/* ---- launches */

static bool cdp_pending_take(struct core_context *ctx)
{
    uint64_t limit = core_context_limit(ctx, CORE_LIMIT_PENDING_LAUNCHES);

    if (atomic_fetch_add(&ctx->pending_launches, 1) < limit)
        return true;
    atomic_fetch_sub(&ctx->pending_launches, 1);
    return false;
}

/* A buffer for parameters and what is known of the launch. */
static uint64_t cdp_buffer_create(const struct core_cdp_call *call,
                                  const struct core_cdp_launch *what, uint64_t *out_va)
{
    struct core_cdp *cdp = core_cdp_get(call);
    struct core_cdp_launch *launch = hd_new(struct core_cdp_launch);
    uint64_t size_B = HD_MAX(what->buffer_B, 1);

    if (!cdp || !launch) {
        hd_free(launch);
        return cudaErrorMemoryAllocation;
    }
    *launch = *what;
    if (core_memory_alloc_own(call->ctx, size_B, CORE_MEM_DEVICE, HEDDLE_MEMORY_OWN,
                              &launch->buffer_va) != HD_OK) {
        hd_free(launch);
        return cudaErrorMemoryAllocation;
    }
    *out_va = launch->buffer_va;
    bool kept;
    hd_lock_acquire(&cdp->lock);
    kept = hd_map_put_u64(&cdp->launches, launch->buffer_va, launch);
    hd_lock_release(&cdp->lock);
    if (kept)
        return cudaSuccess;
    core_memory_free_own(launch->buffer_va);
    hd_free(launch);
    return cudaErrorMemoryAllocation;
}

/*
 * Does the kernel take such blocks? What the PTX says is known; how much shared memory is left only
 * when the child was lowered, which the calling thread does when it asks for much.
 */
static bool cdp_entry_takes(const struct core_cdp_call *call, const struct core_entry *entry,
                            const struct core_launch *l)
{
    const struct core_device *device = call->ctx->device;
    const uint32_t *req = entry->reqntid;
    struct core_function *function;
    bool fits;

    if (entry->max_threads &&
        (uint64_t)l->block[0] * l->block[1] * l->block[2] > entry->max_threads)
        return false;
    if (req[0] && (l->block[0] != req[0] || l->block[1] != HD_MAX(req[1], 1u) ||
                   l->block[2] != HD_MAX(req[2], 1u)))
        return false;
    if (l->dynamic_smem_B <= SHARED_ASKED_B)
        return true;
    if (l->dynamic_smem_B >
        (uint32_t)device->attributes[CORE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN])
        return false;
    if (core_module_function_at(call->module, entry->position, &function) != HD_OK)
        return true; /* told when it is submitted, as all that cannot be known yet */
    fits = core_function_load(function) != HD_OK || core_launch_check(function, l) == HD_OK;
    core_function_unref(function);
    return fits;
}

static uint64_t cdp_launch_check(const struct core_cdp_call *call,
                                 const struct core_cdp_launch *what)
{
    if (call->queue->depth >= CORE_CDP_DEPTH)
        return cudaErrorLaunchMaxDepthExceeded;
    if (!what->entry)
        return cudaErrorInvalidDeviceFunction;
    if (!core_launch_fits(call->ctx->device, &what->launch))
        return cudaErrorInvalidConfiguration;
    return cdp_entry_takes(call, what->entry, &what->launch) ? cudaSuccess : cudaErrorInvalidValue;
}

/* 0, with the reason as the thread's error, when there can be none. */
static uint64_t cdp_buffer_give(const struct core_cdp_call *call,
                                const struct core_cdp_launch *what, uint64_t error)
{
    uint64_t va = 0;

    if (error == cudaSuccess && !cdp_pending_take(call->ctx))
        error = cudaErrorLaunchPendingCountExceeded;
    else if (error == cudaSuccess) {
        error = cdp_buffer_create(call, what, &va);
        if (error != cudaSuccess)
            atomic_fetch_sub(&call->ctx->pending_launches, 1);
    }
    if (error != cudaSuccess)
        cdp_error_keep(call, error);
    return error == cudaSuccess ? va : 0;
}

/* Words of a launch: three of the grid, three of the block, shared memory. */
static struct core_cdp_launch cdp_launch_of(const struct core_cdp_call *call, uint64_t func,
                                            const uint64_t *words)
{
    struct core_cdp_launch l = {.entry = core_cdp_entry(call, func)};

    for (int i = 0; i < 3; i++) {
        l.launch.grid[i] = (uint32_t)words[i];
        l.launch.block[i] = (uint32_t)words[3 + i];
    }
    l.launch.dynamic_smem_B = (uint32_t)words[6];
    l.buffer_B = l.entry ? l.entry->params_B : 0;
    return l;
}

uint64_t core_cdp_GetParameterBufferV2(const struct core_cdp_call *call)
{
    struct core_cdp_launch l = cdp_launch_of(call, call->io->args[0], call->io->args + 1);

    return cdp_buffer_give(call, &l, cdp_launch_check(call, &l));
}

uint64_t core_cdp_GetParameterBuffer(const struct core_cdp_call *call)
{
    struct core_cdp_launch l = {.buffer_B = call->io->args[1]};
    bool fits = l.buffer_B <= CORE_PARAMS_MAX_B;

    return cdp_buffer_give(call, &l, fits ? cudaSuccess : cudaErrorInvalidValue);
}

/* The buffer's launch, taken by this call; NULL: not a buffer, or used before. */
static struct core_cdp_launch *cdp_launch_take(const struct core_cdp_call *call, uint64_t va)
{
    struct core_cdp *cdp = core_cdp_look(call);
    struct core_cdp_launch *launch;

    if (!cdp)
        return NULL;
    hd_lock_acquire(&cdp->lock);
    launch = hd_map_get_u64(&cdp->launches, va);
    if (launch && launch->launched)
        launch = NULL;
    if (launch)
        launch->launched = true;
    hd_lock_release(&cdp->lock);
    return launch;
}

uint64_t core_cdp_enqueue(const struct core_cdp_call *call, uint64_t stream,
                          struct core_cdp_command *command)
{
    struct core_cdp *cdp;

    if (!core_cdp_stream_takes(call, stream))
        return cudaErrorInvalidResourceHandle;
    cdp = core_cdp_get(call);
    command->tail = stream == STREAM_TAIL;
    return cdp && core_cdp_add(cdp, command) ? cudaSuccess : cudaErrorMemoryAllocation;
}

uint64_t core_cdp_LaunchDeviceV2(const struct core_cdp_call *call)
{
    struct core_cdp_command command = {.launch = cdp_launch_take(call, call->io->args[0])};

    if (!command.launch || !command.launch->entry)
        return cudaErrorInvalidValue;
    return core_cdp_enqueue(call, call->io->args[1], &command);
}

uint64_t core_cdp_LaunchDevice(const struct core_cdp_call *call)
{
    const uint64_t *args = call->io->args;
    struct core_cdp_launch l = cdp_launch_of(call, args[0], args + 2);
    uint64_t error = cdp_launch_check(call, &l);
    struct core_cdp_command command = {.launch = cdp_launch_take(call, args[1])};

    if (error != cudaSuccess)
        return error;
    if (!command.launch || command.launch->buffer_B < l.buffer_B)
        return cudaErrorInvalidValue;
    command.launch->entry = l.entry;
    command.launch->launch = l.launch;
    return core_cdp_enqueue(call, args[9], &command);
}

/* ---- all of them */

static bool cdp_is_pointer(enum ir_runtime_call call)
{
    return call == IR_RUNTIME_GetParameterBuffer || call == IR_RUNTIME_GetParameterBufferV2 ||
           call == IR_RUNTIME_GetErrorString || call == IR_RUNTIME_GetErrorName;
}

static bool cdp_notifies_errors(enum ir_runtime_call call)
{
    return call == IR_RUNTIME_GetLastError || call == IR_RUNTIME_PeekAtLastError;
}

/* cudaError_t of a call, or a pointer. */
static uint64_t call_run(const struct core_cdp_call *call)
{
    static call_fn *const calls[] = {
#define X(call, name, result_B, params) [IR_RUNTIME_##call] = core_cdp_##call,
#define ALIAS(...)
#include "device_runtime.def"
#undef X
#undef ALIAS
    };
    enum ir_runtime_call which = call->io->call;
    uint64_t result;

    assert((unsigned)which < HD_COUNT_OF(calls));
    result = calls[which](call);
    if (result != cudaSuccess && !cdp_is_pointer(which) && !cdp_notifies_errors(which))
        cdp_error_keep(call, result);
    return result;
}

static void cdp_called(struct hal_queue *queue, struct hal_kernel *kernel,
                       _Atomic(void *) *children, struct ir_runtime_io *io)
{
    struct core_module *module = kernel->module->owner;
    struct core_cdp_call call = {
        .ctx = module->ctx, .module = module, .queue = queue, .children = children, .io = io};

    io->out_B = 0;
    io->result = call_run(&call);
}

const struct hal_runtime core_cdp_runtime = {.call = cdp_called, .submit = core_cdp_submit};
