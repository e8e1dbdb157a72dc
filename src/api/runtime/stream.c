/* Streams and events. */
#include "runtime.h"

RT_API(cudaStreamCreate)
cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    RT_CALL(cuStreamCreate(pStream, CU_STREAM_DEFAULT));
}

RT_API(cudaStreamCreateWithFlags)
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    RT_CALL(cuStreamCreate(pStream, flags));
}

RT_API(cudaStreamCreateWithPriority)
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    RT_CALL(cuStreamCreateWithPriority(pStream, flags, priority));
}

RT_API(cudaStreamDestroy)
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    RT_TRY(rt_enter());
    /* The default streams cannot be destroyed: the driver would call NULL an invalid context. */
    return stream ? rt_result(cuStreamDestroy_v2(stream)) : rt_fail(cudaErrorInvalidResourceHandle);
}

RT_API(cudaStreamSynchronize)
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    RT_CALL(cuStreamSynchronize(stream));
}

RT_API(cudaStreamQuery)
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    RT_CALL(cuStreamQuery(stream));
}

RT_API(cudaStreamWaitEvent)
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    RT_CALL(cuStreamWaitEvent(stream, event, flags));
}

/* The driver hands its own result to the callback: the numbers that can occur are the same. */
RT_API(cudaStreamAddCallback)
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                  void *userData, unsigned int flags)
{
    RT_CALL(
        cuStreamAddCallback(stream, (CUstreamCallback)(void (*)(void))callback, userData, flags));
}

RT_API(cudaStreamAttachMemAsync)
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
                                     unsigned int flags)
{
    RT_CALL(cuStreamAttachMemAsync(stream, rt_va(devPtr), length, flags));
}

RT_API(cudaStreamGetFlags)
cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    RT_CALL(cuStreamGetFlags(hStream, flags));
}

RT_API(cudaStreamGetPriority)
cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    RT_CALL(cuStreamGetPriority(hStream, priority));
}

RT_API(cudaStreamGetId)
cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    RT_CALL(cuStreamGetId(hStream, streamId));
}

RT_API(cudaStreamGetDevice)
cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
    RT_CALL(cuStreamGetDevice(hStream, device));
}

RT_API(cudaStreamIsCapturing)
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    RT_TRY(rt_enter());
    if (!pCaptureStatus)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuStreamIsCapturing(stream, &status)));
    *pCaptureStatus = (enum cudaStreamCaptureStatus)status;
    return cudaSuccess;
}

RT_API13(cudaStreamGetCaptureInfo)
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     enum cudaStreamCaptureStatus *captureStatus_out,
                                     unsigned long long *id_out, cudaGraph_t *graph_out,
                                     const cudaGraphNode_t **dependencies_out,
                                     const cudaGraphEdgeData **edgeData_out,
                                     size_t *numDependencies_out)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    RT_TRY(rt_enter());
    if (!captureStatus_out)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuStreamGetCaptureInfo_v3(stream, &status, &id, graph_out, dependencies_out,
                                               (const CUgraphEdgeData **)edgeData_out,
                                               numDependencies_out)));
    *captureStatus_out = (enum cudaStreamCaptureStatus)status;
    if (id_out)
        *id_out = id;
    return cudaSuccess;
}

RT_API(cudaThreadExchangeStreamCaptureMode)
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    RT_CALL(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

RT_API(cudaEventCreate)
cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    RT_CALL(cuEventCreate(event, CU_EVENT_DEFAULT));
}

RT_API(cudaEventCreateWithFlags)
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    RT_CALL(cuEventCreate(event, flags));
}

RT_API(cudaEventDestroy)
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    RT_CALL(cuEventDestroy_v2(event));
}

RT_API(cudaEventRecord)
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    RT_CALL(cuEventRecord(event, stream));
}

RT_API(cudaEventRecordWithFlags)
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    RT_CALL(cuEventRecordWithFlags(event, stream, flags));
}

RT_API(cudaEventQuery)
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    RT_CALL(cuEventQuery(event));
}

RT_API(cudaEventSynchronize)
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    RT_CALL(cuEventSynchronize(event));
}

RT_API(cudaEventElapsedTime)
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    RT_CALL(cuEventElapsedTime(ms, start, end));
}
