/*
 * What calls of the API do to the order. Sources: CUDA driver API, "API synchronization behavior",
 * "Stream synchronization behavior" and the entries themselves. Where those say less than drivers
 * do, as of cudaMalloc(), nothing is taken as ordered; where they are vague, everything.
 */
#include <string.h>

#include "san/order.h"

enum effect {
    EFFECT_ALL,      /* the host waits for everything: calls that are not below */
    EFFECT_NONE,     /* it does not wait */
    EFFECT_CONTEXT,  /* for all of the context */
    EFFECT_STREAM,   /* for the stream, argument 0 */
    EFFECT_EVENT,    /* for the event, argument 0 */
    EFFECT_EVENTS,   /* for two, arguments 1 and 2 */
    EFFECT_RECORD,   /* event, stream */
    EFFECT_WAIT,     /* stream, event: the stream waits */
    EFFECT_FUNCTION, /* stream: a host function; who hears of it knows what was before */
    EFFECT_COPY,     /* a copy or fill that may return before it is complete, as memory has it */
    EFFECT_ASYNC,    /* likewise, of the asynchronous ones */
    EFFECT_GRAPH,    /* an executable graph, stream: its launches are in order */
    EFFECT_NODE,     /* the kind of a node at argument 4 may make order that is not seen */
    EFFECT_OFF,      /* order that is not seen */
};

/* name without suffixes, or its beginning with a star; the first that fits */
#define CALL_LIST(X)                                                                               \
    X("cuStreamSynchronize", STREAM)                                                               \
    X("cuStreamQuery", STREAM)                                                                     \
    X("cuCtxSynchronize", CONTEXT)                                                                 \
    X("cuEventSynchronize", EVENT)                                                                 \
    X("cuEventQuery", EVENT)                                                                       \
    X("cuEventElapsedTime", EVENTS)                                                                \
    X("cuEventRecord", RECORD)                                                                     \
    X("cuEventRecordWithFlags", RECORD)                                                            \
    X("cuStreamWaitEvent", WAIT)                                                                   \
    X("cuLaunchHostFunc*", FUNCTION)                                                               \
    X("cuStreamAddCallback", FUNCTION)                                                             \
    X("cuStreamWaitValue*", OFF)                                                                   \
    X("cuStreamBatchMemOp", OFF)                                                                   \
    X("cuWaitExternalSemaphores*", OFF)                                                            \
    X("cuIpcOpenEventHandle", OFF)                                                                 \
    X("cuGraphAddEventRecordNode", OFF)                                                            \
    X("cuGraphAddEventWaitNode", OFF)                                                              \
    X("cuGraphAddBatchMemOpNode", OFF)                                                             \
    X("cuGraphAddExternalSemaphoresWaitNode", OFF)                                                 \
    X("cuGraphAddNode", NODE)                                                                      \
    X("cuGraphLaunch", GRAPH)                                                                      \
    X("cuGraph*", NONE)                                                                            \
    X("cuLaunch*", NONE)                                                                           \
    X("cuMemcpyAsync", ASYNC)                                                                      \
    X("cuMemcpyHtoDAsync", ASYNC)                                                                  \
    X("cuMemcpyDtoHAsync", ASYNC)                                                                  \
    X("cuMemcpyDtoDAsync", ASYNC)                                                                  \
    X("cuMemcpyPeerAsync", ASYNC)                                                                  \
    X("cuMemcpyHtoAAsync", ASYNC)                                                                  \
    X("cuMemcpyAtoHAsync", ASYNC)                                                                  \
    X("cuMemcpy2DAsync", ASYNC)                                                                    \
    X("cuMemcpy3DAsync", ASYNC)                                                                    \
    X("cuMemcpy3DPeerAsync", ASYNC)                                                                \
    X("cuMemcpyBatchAsync", ASYNC)                                                                 \
    X("cuMemcpy3DBatchAsync", ASYNC)                                                               \
    X("cuMemcpy*", COPY)                                                                           \
    X("cuMemsetD8Async", NONE)                                                                     \
    X("cuMemsetD16Async", NONE)                                                                    \
    X("cuMemsetD32Async", NONE)                                                                    \
    X("cuMemsetD2D8Async", NONE)                                                                   \
    X("cuMemsetD2D16Async", NONE)                                                                  \
    X("cuMemsetD2D32Async", NONE)                                                                  \
    X("cuMemset*", COPY)                                                                           \
    X("cuMemAlloc*", NONE)                                                                         \
    X("cuMemHostUnregister", ALL)                                                                  \
    X("cuMemHost*", NONE)                                                                          \
    X("cuMemFreeAsync", NONE)                                                                      \
    X("cuMemPool*", NONE)                                                                          \
    X("cuMemGet*", NONE)                                                                           \
    X("cuMemAdvise", NONE)                                                                         \
    X("cuMemPrefetchAsync", NONE)                                                                  \
    X("cuMemRangeGet*", NONE)                                                                      \
    X("cuStreamCreate*", NONE)                                                                     \
    X("cuStreamDestroy", NONE)                                                                     \
    X("cuStreamGet*", NONE)                                                                        \
    X("cuStreamSetAttribute", NONE)                                                                \
    X("cuStreamCopyAttributes", NONE)                                                              \
    X("cuStreamAttachMemAsync", NONE)                                                              \
    X("cuStreamBeginCapture*", NONE)                                                               \
    X("cuStreamEndCapture", NONE)                                                                  \
    X("cuStreamUpdateCaptureDependencies", NONE)                                                   \
    X("cuStreamWriteValue*", NONE)                                                                 \
    X("cuStreamIsCapturing", NONE)                                                                 \
    X("cuThreadExchangeStreamCaptureMode", NONE)                                                   \
    X("cuEventCreate", NONE)                                                                       \
    X("cuEventDestroy", NONE)                                                                      \
    X("cuCtxGet*", NONE)                                                                           \
    X("cuCtxSet*", NONE)                                                                           \
    X("cuCtxPushCurrent", NONE)                                                                    \
    X("cuCtxPopCurrent", NONE)                                                                     \
    X("cuDeviceGet*", NONE)                                                                        \
    X("cuDeviceCanAccessPeer", NONE)                                                               \
    X("cuDevicePrimaryCtxRetain", NONE)                                                            \
    X("cuDevicePrimaryCtxGetState", NONE)                                                          \
    X("cuFunc*", NONE)                                                                             \
    X("cuKernel*", NONE)                                                                           \
    X("cuLibraryGet*", NONE)                                                                       \
    X("cuLibraryLoad*", NONE)                                                                      \
    X("cuLink*", NONE)                                                                             \
    X("cuModuleGet*", NONE)                                                                        \
    X("cuModuleLoad*", NONE)                                                                       \
    X("cuOccupancy*", NONE)                                                                        \
    X("cuPointer*", NONE)                                                                          \
    X("cuProfiler*", NONE)                                                                         \
    X("cuTexObject*", NONE)                                                                        \
    X("cuSurfObject*", NONE)                                                                       \
    X("cuUserObject*", NONE)                                                                       \
    X("cuInit", NONE)                                                                              \
    X("cuDriverGetVersion", NONE)                                                                  \
    X("cuGetProcAddress", NONE)                                                                    \
    X("cuGetExportTable", NONE)                                                                    \
    X("cuGetError*", NONE)

/* The name up to `_v2`, `_ptsz` and the like. */
static bool calls_match(const char *symbol, size_t len, const char *pattern)
{
    size_t n = strlen(pattern);

    if (pattern[n - 1] == '*')
        return len >= n - 1 && !strncmp(symbol, pattern, n - 1);
    return len == n && !strncmp(symbol, pattern, n);
}

static enum effect calls_effect_of(const char *symbol)
{
    size_t len = strcspn(symbol, "_");

#define X(pattern, effect)                                                                         \
    if (calls_match(symbol, len, pattern))                                                         \
        return EFFECT_##effect;
    CALL_LIST(X)
#undef X
    return EFFECT_ALL;
}

static const void *calls_arg(const struct heddle_event *e, unsigned index)
{
    const void *value = NULL;

    if (index < e->call.entry->nargs)
        memcpy(&value, (const char *)e->call.args + e->call.entry->args[index].offset_B,
               sizeof(value));
    return value;
}

/* ---- copies and fills */

static bool calls_is_of_host(enum san_order_memory memory)
{
    return memory == SAN_ORDER_PAGEABLE || memory == SAN_ORDER_HOST;
}

/* Has the host waited when the call returns? */
static bool calls_is_waited_for(const struct san_order_copy *copy, bool async)
{
    if (calls_is_of_host(copy->dst) && calls_is_of_host(copy->src))
        return true;
    if (async)
        return copy->dst == SAN_ORDER_PAGEABLE;
    /* Of pageable memory only the source need be read; nobody reckons with that. */
    return copy->dst != SAN_ORDER_DEVICE || copy->src != SAN_ORDER_DEVICE;
}

static void calls_copies_locked(const struct san_order_copies *copies, bool async)
{
    struct san_order_clock *host = san_order_host_locked();

    if (copies->n > SAN_ORDER_COPIES)
        san_order_join_all_locked(host);
    for (unsigned i = 0; i < copies->n && i < SAN_ORDER_COPIES; i++)
        if (calls_is_waited_for(&copies->at[i], async))
            san_order_join(host, san_order_timeline_locked(copies->at[i].timeline));
}

/* ---- calls */

static void calls_join_event_locked(struct san_order_clock *to, const void *event)
{
    const struct san_order_clock *clock = san_order_event_locked(event);

    if (clock)
        san_order_join(to, clock);
    else
        san_order_join_all_locked(to);
}

/* CUgraphNodeType: waiting for and recording events, semaphores, memory operations. */
static bool calls_is_open_node(const struct heddle_event *e)
{
    int type = -1;

    for (unsigned i = 3; i < e->call.entry->nargs; i++)
        if (!strcmp(e->call.entry->args[i].name, "nodeParams") && calls_arg(e, i))
            memcpy(&type, calls_arg(e, i), sizeof(type));
    return type == 6 || type == 7 || type == 9 || type == 12;
}

static void calls_stream_waits_locked(const struct heddle_event *e)
{
    uint32_t timeline;
    struct san_order_clock *clock = san_order_stream_locked(e, calls_arg(e, 0), &timeline);

    if (clock)
        calls_join_event_locked(clock, calls_arg(e, 1));
}

static void calls_host_waits_locked(const struct heddle_event *e)
{
    uint32_t timeline;
    const struct san_order_clock *clock = san_order_stream_locked(e, calls_arg(e, 0), &timeline);

    if (clock)
        san_order_join(san_order_host_locked(), clock);
}

/* In a capture; its event is the program's, and graphs record it when they run. */
static bool calls_is_external(const struct heddle_event *e)
{
    uintptr_t flags = (uintptr_t)calls_arg(e, 2) & 1;

    return e->call.entry->nargs > 2 && flags;
}

/* A call that succeeded; `copies` of its thread. */
static void calls_apply_locked(const struct heddle_event *e, enum effect effect,
                               const struct san_order_copies *copies)
{
    struct san_order_clock *host = san_order_host_locked();

    switch (effect) {
    case EFFECT_NONE:
        return;
    case EFFECT_STREAM:
    case EFFECT_FUNCTION:
        calls_host_waits_locked(e);
        return;
    case EFFECT_CONTEXT:
        san_order_join_context_locked(host, calls_arg(e, 0) ? calls_arg(e, 0) : e->context);
        return;
    case EFFECT_EVENTS:
        calls_join_event_locked(host, calls_arg(e, 1));
        calls_join_event_locked(host, calls_arg(e, 2));
        return;
    case EFFECT_EVENT:
        calls_join_event_locked(host, calls_arg(e, 0));
        return;
    case EFFECT_RECORD:
        if (calls_is_external(e))
            san_order_give_up_locked();
        san_order_record_locked(e, calls_arg(e, 0), calls_arg(e, 1));
        return;
    case EFFECT_WAIT:
        if (calls_is_external(e))
            san_order_give_up_locked();
        calls_stream_waits_locked(e);
        return;
    case EFFECT_COPY:
    case EFFECT_ASYNC:
        calls_copies_locked(copies, effect == EFFECT_ASYNC);
        return;
    case EFFECT_GRAPH:
        san_order_record_locked(e, calls_arg(e, 0), calls_arg(e, 1));
        return;
    case EFFECT_NODE:
        if (calls_is_open_node(e))
            san_order_give_up_locked();
        return;
    case EFFECT_OFF:
        san_order_give_up_locked();
        return;
    case EFFECT_ALL:
        san_order_join_all_locked(host);
    }
}

static void calls_begin(const struct heddle_event *e)
{
    san_order_call_begin();
    if (calls_effect_of(e->call.entry->name) != EFFECT_GRAPH)
        return;
    san_order_lock();
    /* cuGraphLaunch() begins: behind what the executable graph was launched for before. */
    const struct san_order_clock *before = san_order_event_locked(calls_arg(e, 0));
    struct san_order_clock *stream;
    uint32_t timeline;
    if (before && (stream = san_order_stream_locked(e, calls_arg(e, 1), &timeline)))
        san_order_join(stream, before);
    san_order_unlock();
}

static void calls_end(const struct heddle_event *e)
{
    const struct san_order_copies *copies = san_order_call_end();
    enum effect effect = calls_effect_of(e->call.entry->name);

    if (e->call.result || effect == EFFECT_NONE)
        return;
    san_order_lock();
    calls_apply_locked(e, effect, copies);
    san_order_unlock();
}

void san_order_host(const struct heddle_event *e)
{
    if (e->kind == HEDDLE_EVENT_OBJECT)
        san_order_object(e);
    else if (e->kind == HEDDLE_EVENT_DRIVER && e->phase == HEDDLE_PHASE_BEGIN)
        calls_begin(e);
    else if (e->kind == HEDDLE_EVENT_DRIVER)
        calls_end(e);
}
