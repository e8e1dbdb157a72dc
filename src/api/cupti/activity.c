/* What is recorded: kinds, filters, attributes, external correlation. */
#include <assert.h>
#include <cuda.h>
#include <pthread.h>
#include <string.h>

#include "base/stack.h"
#include "api/cupti/cupti.h"

_Atomic uint64_t cupti_kinds;

/* Calls that are recorded while DRIVER or RUNTIME is enabled. */
static _Atomic uint64_t recorded[2][CUPTI_CBIDS / 64];
static _Atomic int thread_id_type;
static _Atomic bool wants_latency;

/* Kinds that are made, and what of the taps they need. */
#define CALLS (HEDDLE_KIND(DRIVER) | HEDDLE_KIND(RUNTIME))
static const struct {
    CUpti_ActivityKind kind;
    uint32_t taps;
} made[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, HEDDLE_KIND(DONE)},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, HEDDLE_KIND(DONE)},
    {CUPTI_ACTIVITY_KIND_MEMSET, HEDDLE_KIND(DONE)},
    {CUPTI_ACTIVITY_KIND_KERNEL, HEDDLE_KIND(DONE)},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, HEDDLE_KIND(DONE)},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, HEDDLE_KIND(DONE) | HEDDLE_KIND(PACKET) | CALLS},
    {CUPTI_ACTIVITY_KIND_DRIVER, CALLS},
    {CUPTI_ACTIVITY_KIND_RUNTIME, HEDDLE_KIND(RUNTIME)},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CALLS},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CALLS},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, CALLS},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, CALLS},
    {CUPTI_ACTIVITY_KIND_DEVICE, 0},
    {CUPTI_ACTIVITY_KIND_CONTEXT, HEDDLE_KIND(OBJECT) | CALLS},
    {CUPTI_ACTIVITY_KIND_STREAM, HEDDLE_KIND(OBJECT) | CALLS},
    {CUPTI_ACTIVITY_KIND_MODULE, HEDDLE_KIND(MODULE)},
    {CUPTI_ACTIVITY_KIND_MEMORY, HEDDLE_KIND(MEMORY) | CALLS},
    {CUPTI_ACTIVITY_KIND_MEMORY2, HEDDLE_KIND(MEMORY) | CALLS},
    {CUPTI_ACTIVITY_KIND_NAME, HEDDLE_KIND(NVTX)},
    {CUPTI_ACTIVITY_KIND_MARKER, HEDDLE_KIND(NVTX)},
    {CUPTI_ACTIVITY_KIND_MARKER_DATA, HEDDLE_KIND(NVTX)},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, HEDDLE_KIND(COMPILE)},
    {CUPTI_ACTIVITY_KIND_JIT, HEDDLE_KIND(COMPILE)},
};

uint32_t cupti_activity_kinds(void)
{
    uint32_t kinds = 0;

    for (size_t i = 0; i < HD_COUNT_OF(made); i++)
        if (cupti_records(made[i].kind))
            kinds |= made[i].taps;
    if (cupti_records(CUPTI_ACTIVITY_KIND_CUDA_EVENT) && cupti_event_times_are_wanted())
        kinds |= HEDDLE_KIND(PACKET) | HEDDLE_KIND(DONE) | HEDDLE_EVENT_TIMES;
    return kinds;
}

static bool activity_is_made(CUpti_ActivityKind kind)
{
    for (size_t i = 0; i < HD_COUNT_OF(made); i++)
        if (made[i].kind == kind)
            return true;
    return false;
}

/* ---- kinds */

static void activity_kind_set(CUpti_ActivityKind kind, bool on)
{
    uint64_t bit = UINT64_C(1) << kind;

    assert(cupti_record_size(kind) && kind < 64);
    if (on)
        atomic_fetch_or(&cupti_kinds, bit);
    else
        atomic_fetch_and(&cupti_kinds, ~bit);
}

/* All calls of an API, or none. */
static void activity_calls_set(bool is_driver, bool on)
{
    for (size_t i = 0; i < CUPTI_CBIDS / 64; i++)
        atomic_store(&recorded[is_driver][i], on ? UINT64_MAX : 0);
}

static CUptiResult activity_kind_refuse(CUpti_ActivityKind kind)
{
    static const char *const names[] = {
#define X(name, number) [number] = "CUPTI_ACTIVITY_KIND_" #name,
        HEDDLE_CUPTI_KIND_LIST(X)
#undef X
    };
    static _Atomic bool said[HD_COUNT_OF(names)];

    if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
        return cupti_result(CUPTI_ERROR_INVALID_KIND);
    return cupti_refuse(names[kind], &said[kind]);
}

static CUptiResult activity_kind_enable(CUpti_ActivityKind kind, bool on)
{
    if (!activity_is_made(kind))
        return activity_kind_refuse(kind);
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME)
        activity_calls_set(kind == CUPTI_ACTIVITY_KIND_DRIVER, on);
    activity_kind_set(kind, on);
    if (on && kind == CUPTI_ACTIVITY_KIND_DEVICE)
        cupti_record_devices();
    cupti_listen();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityEnable)
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    return activity_kind_enable(kind, true);
}

CUPTI_EXPORT(cuptiActivityDisable)
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    return activity_kind_enable(kind, false);
}

/* Of one context only: what is asked for would be told of all. */
CUPTI_EXPORT(cuptiActivityEnableContext)
CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
    static _Atomic bool said;

    (void)kind;
    if (!cupti_context_of(context).id)
        return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
    return cupti_refuse("cuptiActivityEnableContext", &said);
}

CUPTI_EXPORT(cuptiActivityDisableContext)
CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
    static _Atomic bool said;

    (void)kind;
    if (!cupti_context_of(context).id)
        return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
    return cupti_refuse("cuptiActivityDisableContext", &said);
}

bool cupti_api_is_recorded(bool is_driver, uint32_t cbid)
{
    return cbid && cbid < CUPTI_CBIDS &&
           atomic_load_explicit(&recorded[is_driver][cbid / 64], memory_order_relaxed) >>
                   cbid % 64 &
               1;
}

/* Some calls of an API: the kind is on while there is one. */
static CUptiResult activity_api_enable(bool is_driver, CUpti_CallbackId cbid, bool on)
{
    CUpti_CallbackDomain domain =
        is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    uint64_t any = 0;

    if (!cbid || cbid >= cupti_callback_count(domain))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    assert(cbid < CUPTI_CBIDS);
    if (on)
        atomic_fetch_or(&recorded[is_driver][cbid / 64], UINT64_C(1) << cbid % 64);
    else
        atomic_fetch_and(&recorded[is_driver][cbid / 64], ~(UINT64_C(1) << cbid % 64));
    for (size_t i = 0; i < CUPTI_CBIDS / 64; i++)
        any |= atomic_load(&recorded[is_driver][i]);
    activity_kind_set(is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME,
                      any != 0);
    cupti_listen();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityEnableDriverApi)
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return activity_api_enable(true, cbid, enable);
}

CUPTI_EXPORT(cuptiActivityEnableRuntimeApi)
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return activity_api_enable(false, cbid, enable);
}

/* ---- buffers */

CUPTI_EXPORT(cuptiActivityRegisterCallbacks)
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
    if (!funcBufferRequested || !funcBufferCompleted)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    cupti_buffer_callbacks(funcBufferRequested, funcBufferCompleted);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityFlushAll)
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    if (flag & ~(uint32_t)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    return cupti_result(cupti_buffer_flush());
}

CUPTI_EXPORT(cuptiActivityFlush)
CUptiResult cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag)
{
    (void)context, (void)streamId; /* buffers are of all */
    return cuptiActivityFlushAll(flag);
}

CUPTI_EXPORT(cuptiActivityFlushPeriod)
CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
    cupti_buffer_period(time);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityGetNumDroppedRecords)
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *dropped)
{
    (void)context, (void)streamId;
    if (!dropped)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *dropped = cupti_buffer_dropped();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityGetNextRecord)
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
                                       CUpti_Activity **record)
{
    size_t at = 0, size_B;

    if (!buffer || !record)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (*record) {
        at = (size_t)((uint8_t *)*record - buffer);
        if (at >= validBufferSizeBytes)
            return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
        at += cupti_record_size((*record)->kind);
    }
    if (at + sizeof(CUpti_Activity) > validBufferSizeBytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED; /* the end of every loop: no error to remember */
    size_B = cupti_record_size(((CUpti_Activity *)(buffer + at))->kind);
    if (!size_B || at + size_B > validBufferSizeBytes)
        return cupti_result(CUPTI_ERROR_INVALID_KIND);
    *record = (CUpti_Activity *)(buffer + at);
    return CUPTI_SUCCESS;
}

/* ---- attributes: sizes of buffers on a GPU, which are remembered and mean nothing here */

#define SIZE_ATTRIBUTES 11
static _Atomic uint64_t attributes[SIZE_ATTRIBUTES] = {
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP] = 8388608,
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
    [CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE] = 25000,
    [CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT] = 250,
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
    [CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE] = 3,
};

static size_t activity_attribute_size(CUpti_ActivityAttribute attr)
{
    switch (attr) {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
    case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
        return sizeof(uint8_t);
    default:
        return attr >= 0 && attr < SIZE_ATTRIBUTES ? sizeof(size_t) : 0;
    }
}

static CUptiResult activity_attribute_check(CUpti_ActivityAttribute attr, const size_t *valueSize,
                                            const void *value)
{
    if (!valueSize || !value || !activity_attribute_size(attr))
        return CUPTI_ERROR_INVALID_PARAMETER;
    return *valueSize < activity_attribute_size(attr) ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT
                                                      : CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityGetAttribute)
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
    CUptiResult result = activity_attribute_check(attr, valueSize, value);
    uint64_t have;

    if (result != CUPTI_SUCCESS)
        return cupti_result(result);
    have = atomic_load(&attributes[attr]);
    memcpy(value, &have, activity_attribute_size(attr));
    *valueSize = activity_attribute_size(attr);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivitySetAttribute)
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
    CUptiResult result = activity_attribute_check(attr, valueSize, value);
    uint64_t want = 0;

    if (result != CUPTI_SUCCESS)
        return cupti_result(result);
    memcpy(&want, value, activity_attribute_size(attr));
    atomic_store(&attributes[attr], want);
    return CUPTI_SUCCESS;
}

/* ---- threads */

CUPTI_EXPORT(cuptiSetThreadIdType)
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    if (type < 0 || type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    atomic_store(&thread_id_type, (int)type);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetThreadIdType)
CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    if (!type)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *type = (CUpti_ActivityThreadIdType)atomic_load(&thread_id_type);
    return CUPTI_SUCCESS;
}

uint32_t cupti_thread(const struct heddle_event *event)
{
    return atomic_load_explicit(&thread_id_type, memory_order_relaxed) ==
                   CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
               ? event->thread
               : (uint32_t)(uintptr_t)pthread_self();
}

/* ---- external correlation: a stack for each kind, of the thread */

#define EXTERNAL_DEPTH 256
static HD_THREAD_LOCAL struct {
    void *ids[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE]; /* uint64_t[EXTERNAL_DEPTH] */
    uint32_t depth[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];
    uint32_t total;
} external;

static uint64_t *activity_external_ids(CUpti_ExternalCorrelationKind kind)
{
    assert(external.depth[kind] <= EXTERNAL_DEPTH && external.depth[kind] <= external.total);
    return hd_thread_block(&external.ids[kind], EXTERNAL_DEPTH * sizeof(uint64_t));
}

static bool activity_is_external(CUpti_ExternalCorrelationKind kind)
{
    return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID &&
           kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

CUPTI_EXPORT(cuptiActivityPushExternalCorrelationId)
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    if (!activity_is_external(kind))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    uint64_t *ids = activity_external_ids(kind);
    if (!ids || external.depth[kind] == EXTERNAL_DEPTH)
        return cupti_result(CUPTI_ERROR_OUT_OF_MEMORY);
    ids[external.depth[kind]++] = id;
    external.total++;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityPopExternalCorrelationId)
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t *lastId)
{
    if (!activity_is_external(kind))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (!external.depth[kind])
        return cupti_result(CUPTI_ERROR_QUEUE_EMPTY);
    assert(external.ids[kind] && external.total);
    external.depth[kind]--;
    external.total--;
    if (lastId)
        *lastId = ((uint64_t *)external.ids[kind])[external.depth[kind]];
    return CUPTI_SUCCESS;
}

void cupti_external_record(uint32_t correlation)
{
    for (int kind = 1; external.total && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++) {
        CUpti_ActivityExternalCorrelation *r;

        if (!external.depth[kind])
            continue;
        assert(external.ids[kind] && external.depth[kind] <= EXTERNAL_DEPTH);
        r = cupti_record_begin(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
        if (!r)
            continue;
        r->externalKind = (CUpti_ExternalCorrelationKind)kind;
        r->externalId = ((uint64_t *)external.ids[kind])[external.depth[kind] - 1];
        r->correlationId = correlation;
        cupti_record_end();
    }
}

/* ---- switches */

CUPTI_EXPORT(cuptiActivityEnableLatencyTimestamps)
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    atomic_store(&wants_latency, enable != 0);
    return CUPTI_SUCCESS;
}

bool cupti_latency_is_wanted(void)
{
    return atomic_load_explicit(&wants_latency, memory_order_relaxed);
}

/* What there is of them, records have anyway. */
CUPTI_EXPORT(cuptiActivityEnableLaunchAttributes)
CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
    static _Atomic bool said;

    return enable ? cupti_refuse("cuptiActivityEnableLaunchAttributes", &said) : CUPTI_SUCCESS;
}

/* Every call that waits is recorded, whether it had to wait or not. */
CUPTI_EXPORT(cuptiActivityEnableAllSyncRecords)
CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    (void)enable;
    return CUPTI_SUCCESS;
}

void cupti_activity_stop(void)
{
    atomic_store(&cupti_kinds, 0);
    cupti_event_forget();
    activity_calls_set(false, false);
    activity_calls_set(true, false);
    cupti_buffer_period(0);
}
