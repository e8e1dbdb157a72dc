/* What records are like: their sizes, and where they have times. */
#include <assert.h>
#include <string.h>

#include "api/cupti/cupti.h"

/* kind, its record, where its times are (0: none) */
#define RECORD_LIST(X)                                                                             \
    X(MEMCPY, CUpti_ActivityMemcpy6, start, end)                                                   \
    X(MEMCPY2, CUpti_ActivityMemcpyPtoP4, start, end)                                              \
    X(MEMSET, CUpti_ActivityMemset4, start, end)                                                   \
    X(KERNEL, CUpti_ActivityKernel10, start, end)                                                  \
    X(CONCURRENT_KERNEL, CUpti_ActivityKernel10, start, end)                                       \
    X(DRIVER, CUpti_ActivityAPI, start, end)                                                       \
    X(RUNTIME, CUpti_ActivityAPI, start, end)                                                      \
    X(MARKER, CUpti_ActivityMarker2, timestamp, timestamp)                                         \
    X(OVERHEAD, CUpti_ActivityOverhead3, start, end)                                               \
    X(SYNCHRONIZATION, CUpti_ActivitySynchronization2, start, end)                                 \
    X(MEMORY, CUpti_ActivityMemory, start, end)                                                    \
    X(MEMORY2, CUpti_ActivityMemory4, timestamp, timestamp)                                        \
    X(MEMORY_POOL, CUpti_ActivityMemoryPool3, timestamp, timestamp)                                \
    X(CUDA_EVENT, CUpti_ActivityCudaEvent2, deviceTimestamp, deviceTimestamp)                      \
    X(GRAPH_TRACE, CUpti_ActivityGraphTrace2, start, end)                                          \
    X(JIT, CUpti_ActivityJit2, start, end)
#define TIMELESS_LIST(X)                                                                           \
    X(DEVICE, CUpti_ActivityDevice5)                                                               \
    X(CONTEXT, CUpti_ActivityContext3)                                                             \
    X(NAME, CUpti_ActivityName)                                                                    \
    X(MARKER_DATA, CUpti_ActivityMarkerData2)                                                      \
    X(MODULE, CUpti_ActivityModule)                                                                \
    X(STREAM, CUpti_ActivityStream)                                                                \
    X(EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation)

static const struct {
    uint16_t size_B, start_B, end_B;
} layouts[CUPTI_ACTIVITY_KIND_COUNT] = {
#define X(kind, type, start, end)                                                                  \
    [CUPTI_ACTIVITY_KIND_##kind] = {sizeof(type), offsetof(type, start), offsetof(type, end)},
    RECORD_LIST(X)
#undef X
#define X(kind, type) [CUPTI_ACTIVITY_KIND_##kind] = {sizeof(type), 0, 0},
        TIMELESS_LIST(X)
#undef X
};

size_t cupti_record_size(CUpti_ActivityKind kind)
{
    return kind >= 0 && kind < CUPTI_ACTIVITY_KIND_COUNT ? layouts[kind].size_B : 0;
}

static void time_convert(char *at, uint64_t (*convert)(uint64_t time_ns))
{
    uint64_t time;

    memcpy(&time, at, sizeof(time));
    time = convert(time);
    memcpy(at, &time, sizeof(time));
}

void cupti_record_convert(CUpti_Activity *record, uint64_t (*convert)(uint64_t time_ns))
{
    CUpti_ActivityKind kind = record->kind;

    assert(cupti_record_size(kind));
    if (layouts[kind].start_B)
        time_convert((char *)record + layouts[kind].start_B, convert);
    if (layouts[kind].end_B > layouts[kind].start_B)
        time_convert((char *)record + layouts[kind].end_B, convert);
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        time_convert((char *)record + offsetof(CUpti_ActivityKernel10, completed), convert);
        time_convert((char *)record + offsetof(CUpti_ActivityKernel10, queued), convert);
        time_convert((char *)record + offsetof(CUpti_ActivityKernel10, submitted), convert);
    }
}
