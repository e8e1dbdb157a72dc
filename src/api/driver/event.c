/* Events. */
#include "api/driver/driver.h"

CUresult drv_cuEventCreate(CUevent *out, unsigned flags)
{
    struct core_event *event;
    enum hd_status status;

    API_CALL(cuEventCreate);
    API_CHECK(out);
    API_CHECK(!(flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
                                    CU_EVENT_INTERPROCESS)));
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "events between processes keep no time");
    API_CONTEXT(ctx);
    status = core_event_create(ctx, flags, &event);
    if (status == HD_OK)
        DRV_GIVE(event, out, event);
    return drv_result(status);
}

CUresult drv_cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags)
{
    API_CALL(cuEventRecord);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_HANDLE(event, e, event);
    if (e->ctx != stream->ctx)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "event and stream are of different contexts");
    if (flags && !atomic_load(&stream->capture))
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "cuEventRecord: external, but nothing is captured");
    return drv_result(core_event_record(e, stream, flags != 0));
}

CUresult drv_cuEventRecord(CUevent event, CUstream stream)
{
    return drv_cuEventRecordWithFlags(event, stream, 0);
}

CUresult drv_cuEventQuery(CUevent event)
{
    API_CALL(cuEventQuery);
    API_HANDLE(event, e, event);
    return drv_result(core_event_query(e));
}

CUresult drv_cuEventSynchronize(CUevent event)
{
    API_CALL(cuEventSynchronize);
    API_HANDLE(event, e, event);
    return drv_result(core_event_synchronize(e));
}

CUresult drv_cuEventDestroy_v2(CUevent event)
{
    API_CALL(cuEventDestroy_v2);
    API_CONTEXT_ANY(ctx);
    API_HANDLE(event, e, event);
    API_CHECK(core_event_destroy(e));
    return CUDA_SUCCESS;
}

CUresult drv_cuEventDestroy(CUevent event)
{
    return drv_cuEventDestroy_v2(event);
}

CUresult drv_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    enum hd_status status;

    API_CALL(cuEventElapsedTime_v2);
    API_CHECK(ms);
    API_HANDLE(event, from, start);
    API_HANDLE(event, to, end);
    status = core_event_elapsed(from, to, ms);
    return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_HANDLE : drv_result(status);
}

CUresult drv_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    return drv_cuEventElapsedTime_v2(ms, start, end);
}
