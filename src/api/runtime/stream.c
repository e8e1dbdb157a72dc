/* Streams and events. */
#include "runtime.h"

cudaError_t rt_cudaStreamCreate(cudaStream_t *pStream)
{
    RT_CALL(cuStreamCreate(pStream, CU_STREAM_DEFAULT));
}

cudaError_t rt_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    RT_CALL(cuStreamCreate(pStream, flags));
}

cudaError_t rt_cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    RT_CALL(cuStreamCreateWithPriority(pStream, flags, priority));
}

cudaError_t rt_cudaStreamDestroy(cudaStream_t stream)
{
    RT_TRY(rt_enter());
    /* The default streams cannot be destroyed: the driver would call NULL an invalid context. */
    return stream ? rt_result(cuStreamDestroy_v2(stream)) : rt_fail(cudaErrorInvalidResourceHandle);
}

cudaError_t rt_cudaStreamSynchronize(cudaStream_t stream)
{
    RT_CALL(cuStreamSynchronize(stream));
}

cudaError_t rt_cudaStreamQuery(cudaStream_t stream)
{
    RT_CALL(cuStreamQuery(stream));
}

cudaError_t rt_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    RT_CALL(cuStreamWaitEvent(stream, event, flags));
}

/* The driver hands its own result to the callback: the numbers that can occur are the same. */
cudaError_t rt_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                     void *userData, unsigned int flags)
{
    RT_CALL(
        cuStreamAddCallback(stream, (CUstreamCallback)(void (*)(void))callback, userData, flags));
}

cudaError_t rt_cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
                                        unsigned int flags)
{
    RT_CALL(cuStreamAttachMemAsync(stream, rt_va(devPtr), length, flags));
}

cudaError_t rt_cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    RT_CALL(cuStreamGetFlags(hStream, flags));
}

cudaError_t rt_cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    RT_CALL(cuStreamGetPriority(hStream, priority));
}

cudaError_t rt_cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    RT_CALL(cuStreamGetId(hStream, streamId));
}

cudaError_t rt_cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
    RT_CALL(cuStreamGetDevice(hStream, device));
}

/* Values of attributes are the driver's. */
cudaError_t rt_cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                      cudaLaunchAttributeValue *value_out)
{
    RT_CALL(cuStreamGetAttribute(hStream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value_out));
}

cudaError_t rt_cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                      const cudaLaunchAttributeValue *value)
{
    RT_CALL(cuStreamSetAttribute(hStream, (CUstreamAttrID)attr, (const CUstreamAttrValue *)value));
}

cudaError_t rt_cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    RT_CALL(cuStreamCopyAttributes(dst, src));
}

cudaError_t rt_cudaStreamIsCapturing(cudaStream_t stream,
                                     enum cudaStreamCaptureStatus *pCaptureStatus)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    RT_TRY(rt_enter());
    if (!pCaptureStatus)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuStreamIsCapturing(stream, &status)));
    *pCaptureStatus = (enum cudaStreamCaptureStatus)status;
    return cudaSuccess;
}

cudaError_t rt_cudaStreamGetCaptureInfo(cudaStream_t stream,
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

cudaError_t rt_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    RT_CALL(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}

cudaError_t rt_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                             const cudaGraphNode_t *dependencies,
                                             const cudaGraphEdgeData *dependencyData,
                                             size_t numDependencies,
                                             enum cudaStreamCaptureMode mode)
{
    RT_CALL(cuStreamBeginCaptureToGraph(stream, graph, dependencies, (const void *)dependencyData,
                                        numDependencies, (CUstreamCaptureMode)mode));
}

cudaError_t rt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    RT_CALL(cuStreamEndCapture(stream, pGraph));
}

cudaError_t rt_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                   cudaGraphNode_t *dependencies,
                                                   const cudaGraphEdgeData *dependencyData,
                                                   size_t numDependencies, unsigned int flags)
{
    RT_CALL(cuStreamUpdateCaptureDependencies_v2(stream, dependencies, (const void *)dependencyData,
                                                 numDependencies, flags));
}

cudaError_t rt12_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                     cudaGraphNode_t *dependencies,
                                                     size_t numDependencies, unsigned int flags)
{
    return rt_cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, numDependencies,
                                                  flags);
}

cudaError_t rt_cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream,
                                                      cudaGraphNode_t *dependencies,
                                                      const cudaGraphEdgeData *dependencyData,
                                                      size_t numDependencies, unsigned int flags)
{
    return rt_cudaStreamUpdateCaptureDependencies(stream, dependencies, dependencyData,
                                                  numDependencies, flags);
}

cudaError_t rt_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    RT_CALL(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

cudaError_t rt_cudaEventCreate(cudaEvent_t *event)
{
    RT_CALL(cuEventCreate(event, CU_EVENT_DEFAULT));
}

cudaError_t rt_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    RT_CALL(cuEventCreate(event, flags));
}

cudaError_t rt_cudaEventDestroy(cudaEvent_t event)
{
    RT_CALL(cuEventDestroy_v2(event));
}

cudaError_t rt_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    RT_CALL(cuEventRecord(event, stream));
}

cudaError_t rt_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    RT_CALL(cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t rt_cudaEventQuery(cudaEvent_t event)
{
    RT_CALL(cuEventQuery(event));
}

cudaError_t rt_cudaEventSynchronize(cudaEvent_t event)
{
    RT_CALL(cuEventSynchronize(event));
}

cudaError_t rt_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    RT_CALL(cuEventElapsedTime(ms, start, end));
}
