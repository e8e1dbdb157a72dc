/*
 * Objects of graphics libraries: there are none beside this device, so none can be registered, and
 * every handle of one is wrong.
 */
#include "runtime.h"

#define REFUSED(symbol, params, cond, what)                                                        \
    cudaError_t rt_##symbol params                                                                 \
    {                                                                                              \
        static _Atomic bool logged;                                                                \
                                                                                                   \
        RT_TRY(rt_init());                                                                         \
        if (!(cond))                                                                               \
            return rt_fail(cudaErrorInvalidValue);                                                 \
        return rt_refused(#symbol, "no " what " shares objects with this device", &logged);        \
    }

/* Of the vendor's runtime for itself: nobody documents what it takes. */
cudaError_t rt___cudaGetProcAddress(void)
{
    static _Atomic bool logged;

    return rt_refused("__cudaGetProcAddress", "it is not public", &logged);
}

/* ---- OpenGL */

#define GL(symbol, params, cond) REFUSED(symbol, params, cond, "OpenGL")

GL(cudaGLGetDevices, (unsigned *count, int *devices, unsigned room, enum cudaGLDeviceList list),
   count && (devices || !room) && list >= cudaGLDeviceListAll && list <= cudaGLDeviceListNextFrame)
GL(cudaGLSetGLDevice, (int device), device >= 0 && device < rt.device_count)
GL(cudaGraphicsGLRegisterBuffer, (cudaGraphicsResource_t * resource, GLuint buffer, unsigned flags),
   resource)
GL(cudaGraphicsGLRegisterImage,
   (cudaGraphicsResource_t * resource, GLuint image, GLenum target, unsigned flags), resource)
GL(cudaGLRegisterBufferObject, (GLuint buffer), true)
GL(cudaGLSetBufferObjectMapFlags, (GLuint buffer, unsigned flags), true)
GL(cudaGLMapBufferObject, (void **ptr, GLuint buffer), ptr)
GL(cudaGLMapBufferObjectAsync, (void **ptr, GLuint buffer, cudaStream_t stream), ptr)
GL(cudaGLUnmapBufferObject, (GLuint buffer), true)
GL(cudaGLUnmapBufferObjectAsync, (GLuint buffer, cudaStream_t stream), true)
GL(cudaGLUnregisterBufferObject, (GLuint buffer), true)

/* ---- EGL */

#define EGL(symbol, params, cond) REFUSED(symbol, params, cond, "EGL")

EGL(cudaGraphicsEGLRegisterImage,
    (cudaGraphicsResource_t * resource, EGLImageKHR image, unsigned flags), resource)
EGL(cudaGraphicsResourceGetMappedEglFrame,
    (struct cudaEglFrame_st * frame, cudaGraphicsResource_t resource, unsigned index,
     unsigned level),
    frame)
EGL(cudaEventCreateFromEGLSync, (cudaEvent_t * event, EGLSyncKHR sync, unsigned flags), event)
EGL(cudaEGLStreamConsumerConnect, (cudaEglStreamConnection * conn, EGLStreamKHR stream), conn)
EGL(cudaEGLStreamConsumerConnectWithFlags,
    (cudaEglStreamConnection * conn, EGLStreamKHR stream, unsigned flags), conn)
EGL(cudaEGLStreamConsumerDisconnect, (cudaEglStreamConnection * conn), conn)
EGL(cudaEGLStreamConsumerAcquireFrame,
    (cudaEglStreamConnection * conn, cudaGraphicsResource_t *resource, cudaStream_t *stream,
     unsigned timeout),
    conn &&resource)
EGL(cudaEGLStreamConsumerReleaseFrame,
    (cudaEglStreamConnection * conn, cudaGraphicsResource_t resource, cudaStream_t *stream), conn)
EGL(cudaEGLStreamProducerConnect,
    (cudaEglStreamConnection * conn, EGLStreamKHR stream, int width, int height), conn)
EGL(cudaEGLStreamProducerDisconnect, (cudaEglStreamConnection * conn), conn)
EGL(cudaEGLStreamProducerPresentFrame,
    (cudaEglStreamConnection * conn, struct cudaEglFrame_st frame, cudaStream_t *stream), conn)
EGL(cudaEGLStreamProducerReturnFrame,
    (cudaEglStreamConnection * conn, struct cudaEglFrame_st *frame, cudaStream_t *stream),
    conn &&frame)

/* ---- VDPAU */

#define VDPAU(symbol, params, cond) REFUSED(symbol, params, cond, "VDPAU")

VDPAU(cudaVDPAUGetDevice, (int *device, VdpDevice vdp, void *address), device)
VDPAU(cudaVDPAUSetVDPAUDevice, (int device, VdpDevice vdp, void *address),
      device >= 0 && device < rt.device_count)
VDPAU(cudaGraphicsVDPAURegisterVideoSurface,
      (cudaGraphicsResource_t * resource, VdpVideoSurface surface, unsigned flags), resource)
VDPAU(cudaGraphicsVDPAURegisterOutputSurface,
      (cudaGraphicsResource_t * resource, VdpOutputSurface surface, unsigned flags), resource)

/* ---- what was registered: nothing, says the driver */

cudaError_t rt_cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource)
{
    RT_CALL(cuGraphicsUnregisterResource((CUgraphicsResource)resource));
}

cudaError_t rt_cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned flags)
{
    RT_CALL(cuGraphicsResourceSetMapFlags_v2((CUgraphicsResource)resource, flags));
}

cudaError_t rt_cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources,
                                        cudaStream_t stream)
{
    if (count < 0)
        return rt_fail(cudaErrorInvalidValue);
    RT_CALL(cuGraphicsMapResources((unsigned)count, (CUgraphicsResource *)resources, stream));
}

cudaError_t rt_cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources,
                                          cudaStream_t stream)
{
    if (count < 0)
        return rt_fail(cudaErrorInvalidValue);
    RT_CALL(cuGraphicsUnmapResources((unsigned)count, (CUgraphicsResource *)resources, stream));
}

cudaError_t rt_cudaGraphicsResourceGetMappedPointer(void **ptr, size_t *size_B,
                                                    cudaGraphicsResource_t resource)
{
    RT_CALL(cuGraphicsResourceGetMappedPointer_v2((CUdeviceptr *)(void *)ptr, size_B,
                                                  (CUgraphicsResource)resource));
}

cudaError_t rt_cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *array,
                                                           cudaGraphicsResource_t resource)
{
    RT_CALL(cuGraphicsResourceGetMappedMipmappedArray((CUmipmappedArray *)array,
                                                      (CUgraphicsResource)resource));
}

cudaError_t rt_cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array,
                                                     cudaGraphicsResource_t resource,
                                                     unsigned index, unsigned level)
{
    RT_CALL(cuGraphicsSubResourceGetMappedArray((CUarray *)array, (CUgraphicsResource)resource,
                                                index, level));
}
