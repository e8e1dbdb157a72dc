/* Events. */
#include "api/driver/driver.h"

HD_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    API_CALL(cuEventCreate);
    API_CHECK(event);
    API_CHECK(!(flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
                                    CU_EVENT_INTERPROCESS)));
    if (flags & CU_EVENT_INTERPROCESS)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "events between processes");
    API_CONTEXT(ctx);
    return drv_result(core_event_create(ctx, flags, (struct core_event **)event));
}

HD_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags)
{
    API_CALL(cuEventRecord);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_HANDLE(EVENT, event);
    if (((struct core_event *)event)->ctx != stream->ctx)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "event and stream are of different contexts");
    return drv_result(core_event_record((struct core_event *)event, stream));
}
DRV_PER_THREAD(cuEventRecordWithFlags_ptsz, (CUevent event, CUstream handle, unsigned flags),
               cuEventRecordWithFlags(event, PER_THREAD(handle), flags))

HD_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return cuEventRecordWithFlags(event, stream, 0);
}
DRV_PER_THREAD(cuEventRecord_ptsz, (CUevent event, CUstream handle),
               cuEventRecordWithFlags(event, PER_THREAD(handle), 0))

HD_EXPORT CUresult cuEventQuery(CUevent event)
{
    API_CALL(cuEventQuery);
    API_CONTEXT_ANY(ctx);
    API_HANDLE(EVENT, event);
    return drv_result(core_event_query((struct core_event *)event));
}

HD_EXPORT CUresult cuEventSynchronize(CUevent event)
{
    API_CALL(cuEventSynchronize);
    API_CONTEXT_ANY(ctx);
    API_HANDLE(EVENT, event);
    return drv_result(core_event_synchronize((struct core_event *)event));
}

HD_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    API_CALL(cuEventDestroy_v2);
    API_CONTEXT_ANY(ctx);
    API_HANDLE(EVENT, event);
    core_event_destroy((struct core_event *)event);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuEventDestroy(CUevent event)
{
    return cuEventDestroy_v2(event);
}

HD_EXPORT CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    enum hd_status status;

    API_CALL(cuEventElapsedTime_v2);
    API_CHECK(ms);
    API_CONTEXT_ANY(ctx);
    API_HANDLE(EVENT, start);
    API_HANDLE(EVENT, end);
    status = core_event_elapsed((struct core_event *)start, (struct core_event *)end, ms);
    return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_HANDLE : drv_result(status);
}

HD_EXPORT CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(ms, start, end);
}
