/* What a program marks by NVTX becomes MARKER, MARKER_DATA and NAME records. */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

#include "api/cupti/cupti.h"
#include "base/stack.h"

/* Ids: a range that may end elsewhere has an odd one, made of its own; all others are even. */
static _Atomic uint32_t next_id;

/* Ranges that this thread has pushed; those beyond are told without their end. */
#define PUSHED 256
struct pushed {
    struct {
        uint32_t id, domain;
    } ranges[PUSHED];
    unsigned n;
};
static HD_THREAD_LOCAL void *this_pushed; /* struct pushed; NULL: none so far, or no memory */

static uint32_t id_take(void)
{
    return (atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed) + 1) << 1;
}

static uint32_t push(const struct heddle_event *event)
{
    struct pushed *p = hd_thread_block(&this_pushed, sizeof(*p));
    uint32_t id = id_take();

    if (p && p->n < PUSHED) {
        p->ranges[p->n].id = id;
        p->ranges[p->n++].domain = event->nvtx.domain;
    }
    return id;
}

/* 0: its push is not known. */
static uint32_t pop(const struct heddle_event *event)
{
    struct pushed *p = this_pushed;
    unsigned i = p ? p->n : 0;
    uint32_t id;

    assert(i <= PUSHED);
    while (i > 0 && p->ranges[i - 1].domain != event->nvtx.domain)
        i--;
    if (!i)
        return 0;
    id = p->ranges[i - 1].id;
    for (; i < p->n; i++)
        p->ranges[i - 1] = p->ranges[i];
    p->n--;
    return id;
}

static void marker_record(const struct heddle_event *event, CUpti_ActivityFlag flags, uint32_t id)
{
    const char *name = cupti_name_keep(event->nvtx.text);
    CUpti_ActivityMarker2 *r;

    if (!id || !cupti_records(CUPTI_ACTIVITY_KIND_MARKER))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MARKER);
    if (!r)
        return;
    r->flags = flags;
    r->timestamp = event->time_ns;
    r->id = id;
    r->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    r->objectId.pt.processId = (uint32_t)getpid();
    r->objectId.pt.threadId = cupti_thread(event);
    r->name = name;
    r->domain = event->nvtx.domain_name; /* which stays */
    cupti_record_end();
}

/* NVTX's payload types: 1 u64, 2 i64, 3 double, 4 u32, 5 i32, 6 float. */
static void payload_fill(CUpti_ActivityMarkerData2 *r, const struct heddle_event *event)
{
    union {
        uint64_t bits;
        int64_t i64;
        double f64;
        int32_t i32;
        float f32;
        uint32_t u32;
    } value = {event->nvtx.payload};

    switch (event->nvtx.payload_type) {
    case 2:
    case 5:
        r->payloadKind = CUPTI_METRIC_VALUE_KIND_INT64;
        r->payload.metricValueInt64 = event->nvtx.payload_type == 2 ? value.i64 : value.i32;
        break;
    case 3:
    case 6:
        r->payloadKind = CUPTI_METRIC_VALUE_KIND_DOUBLE;
        r->payload.metricValueDouble =
            event->nvtx.payload_type == 3 ? value.f64 : (double)value.f32;
        break;
    case 4:
        r->payloadKind = CUPTI_METRIC_VALUE_KIND_UINT64;
        r->payload.metricValueUint64 = value.u32;
        break;
    default:
        r->payloadKind = CUPTI_METRIC_VALUE_KIND_UINT64;
        r->payload.metricValueUint64 = value.bits;
    }
}

static void data_record(const struct heddle_event *event, uint32_t id)
{
    CUpti_ActivityMarkerData2 *r;

    if (!id || !cupti_records(CUPTI_ACTIVITY_KIND_MARKER_DATA))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MARKER_DATA);
    if (!r)
        return;
    r->flags = event->nvtx.color_type ? CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB
                                      : CUPTI_ACTIVITY_FLAG_MARKER_COLOR_NONE;
    r->id = id;
    r->color = event->nvtx.color;
    r->category = event->nvtx.category;
    r->cuptiDomainId = event->nvtx.domain;
    payload_fill(r, event);
    cupti_record_end();
}

static void sync_record(const struct heddle_event *event, CUpti_ActivityFlag flag)
{
    marker_record(event, flag, (uint32_t)event->nvtx.object << 1);
}

/* ---- names: of classes 4 (driver) and 5 (runtime) of NVTX's objects */

static bool object_fill(CUpti_ActivityName *r, const struct heddle_event *event)
{
    void *handle = (void *)(uintptr_t)event->nvtx.object;

    switch (event->nvtx.object_type) {
    case 0x40001:
    case 0x50000:
        r->objectKind = CUPTI_ACTIVITY_OBJECT_DEVICE;
        r->objectId.dcs.deviceId = (uint32_t)event->nvtx.object;
        return true;
    case 0x40002:
        r->objectKind = CUPTI_ACTIVITY_OBJECT_CONTEXT;
        r->objectId.dcs.contextId = cupti_context_of(handle).id;
        r->objectId.dcs.deviceId = cupti_context_of(handle).device;
        return true;
    case 0x40003:
    case 0x50001:
        r->objectKind = CUPTI_ACTIVITY_OBJECT_STREAM;
        r->objectId.dcs.streamId = cupti_stream_of(handle);
        return true;
    }
    return false; /* CUPTI has no kind for it */
}

static void name_record(const struct heddle_event *event)
{
    CUpti_ActivityName name = {.kind = CUPTI_ACTIVITY_KIND_NAME}, *r;

    if (!cupti_records(CUPTI_ACTIVITY_KIND_NAME))
        return;
    if (event->nvtx.call == HEDDLE_NVTX_NAME_THREAD) {
        name.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
        name.objectId.pt.processId = (uint32_t)getpid();
        name.objectId.pt.threadId = (uint32_t)event->nvtx.object;
    } else if (!object_fill(&name, event)) {
        return;
    }
    name.name = cupti_name_keep(event->nvtx.text);
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_NAME);
    if (!r)
        return;
    *r = name;
    cupti_record_end();
}

static void begin(const struct heddle_event *event, CUpti_ActivityFlag flags, uint32_t id)
{
    marker_record(event, flags, id);
    data_record(event, id);
}

static uint32_t range_id(const struct heddle_event *event)
{
    return (uint32_t)event->nvtx.range << 1 | 1;
}

void cupti_marker_event(const struct heddle_event *event)
{
    switch ((enum heddle_nvtx_call)event->nvtx.call) {
    case HEDDLE_NVTX_MARK:
        begin(event, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, id_take());
        break;
    case HEDDLE_NVTX_RANGE_PUSH:
        begin(event, CUPTI_ACTIVITY_FLAG_MARKER_START, push(event));
        break;
    case HEDDLE_NVTX_RANGE_START:
        begin(event, CUPTI_ACTIVITY_FLAG_MARKER_START, range_id(event));
        break;
    case HEDDLE_NVTX_RANGE_POP:
        marker_record(event, CUPTI_ACTIVITY_FLAG_MARKER_END, pop(event));
        break;
    case HEDDLE_NVTX_RANGE_END:
        marker_record(event, CUPTI_ACTIVITY_FLAG_MARKER_END, range_id(event));
        break;
    case HEDDLE_NVTX_NAME_THREAD:
    case HEDDLE_NVTX_NAME_RESOURCE:
        name_record(event);
        break;
    case HEDDLE_NVTX_SYNC_ACQUIRE_START:
        sync_record(event, CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE);
        break;
    case HEDDLE_NVTX_SYNC_ACQUIRE_SUCCESS:
        sync_record(event, CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_SUCCESS);
        break;
    case HEDDLE_NVTX_SYNC_ACQUIRE_FAILED:
        sync_record(event, CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_FAILED);
        break;
    case HEDDLE_NVTX_SYNC_RELEASING:
        sync_record(event, CUPTI_ACTIVITY_FLAG_MARKER_SYNC_RELEASE);
        break;
    case HEDDLE_NVTX_NAME_CATEGORY:
    case HEDDLE_NVTX_FORGET_RESOURCE:
    case HEDDLE_NVTX_DOMAIN_CREATE:
    case HEDDLE_NVTX_DOMAIN_DESTROY:
    case HEDDLE_NVTX_REGISTER_STRING:
    case HEDDLE_NVTX_SYNC_CREATE:
    case HEDDLE_NVTX_SYNC_DESTROY:
        break; /* CUPTI has no records of these */
    }
}
