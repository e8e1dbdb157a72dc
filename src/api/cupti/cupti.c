/*
 * libcupti: what clients ask of it before they trace anything. Activities and callbacks do not
 * exist yet. Those that PyTorch is linked against fail with their name, for without them it would
 * not load; the others are missing, so that whoever looks them up learns it.
 */
#include <stdint.h>
#include <time.h>

#include "base/status.h"
#include "cupti_version.h"

HD_EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

/* Of the clock that Heddle's own records have: CLOCK_REALTIME, in nanoseconds, as CUPTI's is. */
HD_EXPORT CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    struct timespec now;

    if (!timestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (clock_gettime(CLOCK_REALTIME, &now))
        return CUPTI_ERROR_UNKNOWN;
    *timestamp = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return CUPTI_SUCCESS;
}

HD_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
    static const struct {
        CUptiResult result;
        const char *text;
    } rows[] = {
        {CUPTI_SUCCESS, "CUPTI_SUCCESS"},
        {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
        {CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
        {CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
    };
    if (!str)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].result == result) {
            *str = rows[i].text;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

/* ---- tracing */

#define TRACING_LIST(X)                                                                            \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityEnableCudaEventDeviceTimestamps)                                                \
    X(cuptiActivityEnableDriverApi)                                                                \
    X(cuptiActivityEnableRuntimeApi)                                                               \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiActivityPopExternalCorrelationId)                                                       \
    X(cuptiActivityPushExternalCorrelationId)                                                      \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiActivitySetAttribute)                                                                   \
    X(cuptiEnableCallback)                                                                         \
    X(cuptiEnableDomain)                                                                           \
    X(cuptiFinalize)                                                                               \
    X(cuptiGetCallbackName)                                                                        \
    X(cuptiSubscribe)                                                                              \
    X(cuptiUnsubscribe)

static CUptiResult refuse(const char *name)
{
    enum hd_status status = hd_error(HD_NOT_SUPPORTED, "%s is not implemented", name);

    return status == HD_OK ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED;
}

/* Their parameters are not looked at. */
#define X(name)                                                                                    \
    HD_EXPORT CUptiResult name(void);                                                              \
    CUptiResult name(void)                                                                         \
    {                                                                                              \
        return refuse(#name);                                                                      \
    }
TRACING_LIST(X)
#undef X
