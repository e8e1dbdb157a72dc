/* Vector clocks of streams, events and the host. */
#include "san/order.h"

#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

static struct {
    pthread_mutex_t lock; /* all below */
    const void *handles[SAN_ORDER_STREAMS];
    struct san_order_clock streams[SAN_ORDER_STREAMS];
    uint32_t n;           /* streams; the default ones are 0 */
    struct hd_map events; /* handle -> struct san_order_clock */
    struct san_order_clock host;
    uint64_t last;
    bool is_off; /* too many streams, or no memory */
} order = {.lock = PTHREAD_MUTEX_INITIALIZER, .n = 1};

static void join(struct san_order_clock *to, const struct san_order_clock *from)
{
    for (unsigned i = 0; i < SAN_ORDER_STREAMS; i++)
        to->at[i] = HD_MAX(to->at[i], from->at[i]);
}

/* Everything up to now. */
static void join_all_locked(struct san_order_clock *to)
{
    for (unsigned i = 0; i < SAN_ORDER_STREAMS; i++)
        to->at[i] = order.last;
}

static uint32_t slot_locked(const void *stream)
{
    for (uint32_t i = 1; i < order.n; i++)
        if (order.handles[i] == stream)
            return i;
    return 0;
}

/* What the next operation of the stream comes after. */
static void catch_up_locked(uint32_t slot)
{
    struct san_order_clock *clock = &order.streams[slot];

    join(clock, &order.host);
    if (slot)
        join(clock, &order.streams[0]);
    else
        join_all_locked(clock);
    if (order.is_off)
        join_all_locked(clock);
}

static struct san_order_op submit_locked(uint32_t slot)
{
    catch_up_locked(slot);
    order.streams[slot].at[slot] = ++order.last;
    return (struct san_order_op){slot, order.last};
}

struct san_order_op san_order_submit(const void *stream, struct san_order_clock *out_before)
{
    struct san_order_op op;

    pthread_mutex_lock(&order.lock);
    op = submit_locked(slot_locked(stream));
    *out_before = order.streams[op.stream];
    pthread_mutex_unlock(&order.lock);
    return op;
}

/* ---- calls */

/* What a call does to the order; all others wait for everything. */
enum effect { EFFECT_ALL, EFFECT_NONE, EFFECT_STREAM, EFFECT_EVENT, EFFECT_RECORD, EFFECT_WAIT };

/* name without suffixes, or its beginning with a star */
#define CALL_LIST(X)                                                                               \
    X("cuStreamSynchronize", STREAM)                                                               \
    X("cuStreamQuery", STREAM)                                                                     \
    X("cuEventSynchronize", EVENT)                                                                 \
    X("cuEventQuery", EVENT)                                                                       \
    X("cuEventRecord", RECORD)                                                                     \
    X("cuEventRecordWithFlags", RECORD)                                                            \
    X("cuStreamWaitEvent", WAIT)                                                                   \
    X("cuLaunchKernel*", NONE)                                                                     \
    X("cuLaunchCooperativeKernel*", NONE)                                                          \
    X("cuLaunchHostFunc*", NONE)                                                                   \
    X("cuMemcpyAsync", NONE)                                                                       \
    X("cuMemcpyHtoDAsync", NONE)                                                                   \
    X("cuMemcpyDtoHAsync", NONE)                                                                   \
    X("cuMemcpyDtoDAsync", NONE)                                                                   \
    X("cuMemcpyPeerAsync", NONE)                                                                   \
    X("cuMemcpy2DAsync", NONE)                                                                     \
    X("cuMemcpy3DAsync", NONE)                                                                     \
    X("cuMemset*", NONE)                                                                           \
    X("cuMemAllocAsync", NONE)                                                                     \
    X("cuMemAllocFromPoolAsync", NONE)                                                             \
    X("cuMemFreeAsync", NONE)                                                                      \
    X("cuMemPool*", NONE)                                                                          \
    X("cuStreamCreate*", NONE)                                                                     \
    X("cuStreamGet*", NONE)                                                                        \
    X("cuStreamIsCapturing", NONE)                                                                 \
    X("cuEventCreate", NONE)                                                                       \
    X("cuCtxGet*", NONE)                                                                           \
    X("cuCtxSetCurrent", NONE)                                                                     \
    X("cuCtxPushCurrent", NONE)                                                                    \
    X("cuCtxPopCurrent", NONE)                                                                     \
    X("cuDeviceGet*", NONE)                                                                        \
    X("cuDevicePrimaryCtxRetain", NONE)                                                            \
    X("cuDevicePrimaryCtxGetState", NONE)                                                          \
    X("cuFunc*", NONE)                                                                             \
    X("cuKernel*", NONE)                                                                           \
    X("cuLibrary*", NONE)                                                                          \
    X("cuModuleGet*", NONE)                                                                        \
    X("cuModuleLoad*", NONE)                                                                       \
    X("cuOccupancy*", NONE)                                                                        \
    X("cuPointerGet*", NONE)                                                                       \
    X("cuGetProcAddress", NONE)                                                                    \
    X("cuGetError*", NONE)

/* The name up to `_v2`, `_ptsz` and the like. */
static bool is_call(const char *symbol, size_t len, const char *pattern)
{
    size_t n = strlen(pattern);

    if (pattern[n - 1] == '*')
        return len >= n - 1 && !strncmp(symbol, pattern, n - 1);
    return len == n && !strncmp(symbol, pattern, n);
}

static enum effect effect_of(const char *symbol)
{
    size_t len = strcspn(symbol, "_");

#define X(pattern, effect)                                                                         \
    if (is_call(symbol, len, pattern))                                                             \
        return EFFECT_##effect;
    CALL_LIST(X)
#undef X
    return EFFECT_ALL;
}

static const void *arg(const struct heddle_event *e, unsigned index)
{
    const void *value = NULL;

    if (index < e->call.entry->nargs)
        memcpy(&value, (const char *)e->call.args + e->call.entry->args[index].offset_B,
               sizeof(value));
    return value;
}

/* Without memory for it, events are waited for as if they were everything. */
static void record_locked(const void *event, const void *stream)
{
    struct san_order_clock *clock = hd_map_get_u64(&order.events, (uintptr_t)event);

    if (!clock) {
        clock = hd_new(struct san_order_clock);
        if (!clock || !hd_map_put_u64(&order.events, (uintptr_t)event, clock)) {
            hd_free(clock);
            order.is_off = true;
            return;
        }
    }
    *clock = order.streams[submit_locked(slot_locked(stream)).stream];
}

static void join_event_locked(struct san_order_clock *to, const void *event)
{
    const struct san_order_clock *clock = hd_map_get_u64(&order.events, (uintptr_t)event);

    if (clock)
        join(to, clock);
    else
        join_all_locked(to);
}

static void call_locked(const struct heddle_event *e, enum effect effect)
{
    uint32_t slot;

    switch (effect) {
    case EFFECT_NONE:
        return;
    case EFFECT_STREAM:
        slot = slot_locked(arg(e, 0));
        catch_up_locked(slot);
        join(&order.host, &order.streams[slot]);
        return;
    case EFFECT_EVENT:
        join_event_locked(&order.host, arg(e, 0));
        return;
    case EFFECT_RECORD:
        record_locked(arg(e, 0), arg(e, 1));
        return;
    case EFFECT_WAIT:
        slot = slot_locked(arg(e, 0));
        join_event_locked(&order.streams[slot], arg(e, 1));
        return;
    case EFFECT_ALL:
        join_all_locked(&order.host);
    }
}

static void stream_add_locked(const void *handle)
{
    if (order.n == SAN_ORDER_STREAMS) {
        order.is_off = true;
        return;
    }
    order.handles[order.n++] = handle;
}

static void on_object_locked(const struct heddle_event *e)
{
    const char *type = e->object.type;

    if (!strcmp(type, "stream") && !e->object.is_destroyed) {
        stream_add_locked(e->object.handle);
    } else if (!strcmp(type, "event") && e->object.is_destroyed) {
        hd_free(hd_map_get_u64(&order.events, (uintptr_t)e->object.handle));
        (void)hd_map_remove_u64(&order.events, (uintptr_t)e->object.handle);
    }
}

void san_order_host(const struct heddle_event *e)
{
    bool is_call =
        e->kind == HEDDLE_EVENT_DRIVER && e->phase == HEDDLE_PHASE_END && !e->call.result;
    enum effect effect = is_call ? effect_of(e->call.entry->name) : EFFECT_NONE;

    if (effect == EFFECT_NONE && e->kind != HEDDLE_EVENT_OBJECT)
        return;
    pthread_mutex_lock(&order.lock);
    if (e->kind == HEDDLE_EVENT_OBJECT)
        on_object_locked(e);
    else
        call_locked(e, effect);
    pthread_mutex_unlock(&order.lock);
}

void san_order_stop(void)
{
    struct hd_map_iter it = {0};

    pthread_mutex_lock(&order.lock);
    while (hd_map_next(&order.events, &it))
        hd_free(it.value);
    hd_map_fini(&order.events);
    hd_map_init(&order.events);
    memset(order.handles, 0, sizeof(order.handles));
    memset(order.streams, 0, sizeof(order.streams));
    order.host = (struct san_order_clock){0};
    order.n = 1;
    order.last = 0;
    order.is_off = false;
    pthread_mutex_unlock(&order.lock);
}
