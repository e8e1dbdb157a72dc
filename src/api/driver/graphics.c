/*
 * Objects of graphics libraries: there are none beside this device, so none can be registered, and
 * every handle of one is wrong.
 */
#include "api/driver/driver.h"

#define REFUSED(symbol, params, cond, what)                                                        \
    CUresult drv_##symbol params                                                                   \
    {                                                                                              \
        API_CALL(symbol);                                                                          \
        API_CHECK(cond);                                                                           \
        return drv_error(CUDA_ERROR_NOT_SUPPORTED,                                                 \
                         "%s: no " what " shares objects with the device", api_name_);             \
    }

static bool is_device(int ordinal)
{
    return core_device_at(ordinal) != NULL;
}

/* ---- OpenGL */

#define GL(symbol, params, cond) REFUSED(symbol, params, cond, "OpenGL")
#define GL_DEVICES(symbol)                                                                         \
    GL(symbol, (unsigned *count, CUdevice *devices, unsigned room, CUGLDeviceList list),           \
       count && (devices || !room) && list >= CU_GL_DEVICE_LIST_ALL &&                             \
           list <= CU_GL_DEVICE_LIST_NEXT_FRAME)

GL(cuGLInit, (void), true)
GL(cuGLCtxCreate, (CUcontext * ctx, unsigned flags, CUdevice dev), ctx &&is_device(dev))
GL(cuGLCtxCreate_v2, (CUcontext * ctx, unsigned flags, CUdevice dev), ctx &&is_device(dev))
GL_DEVICES(cuGLGetDevices)
GL_DEVICES(cuGLGetDevices_v2)
GL(cuGraphicsGLRegisterBuffer, (CUgraphicsResource * resource, GLuint buffer, unsigned flags),
   resource)
GL(cuGraphicsGLRegisterImage,
   (CUgraphicsResource * resource, GLuint image, GLenum target, unsigned flags), resource)
GL(cuGLRegisterBufferObject, (GLuint buffer), true)
GL(cuGLSetBufferObjectMapFlags, (GLuint buffer, unsigned flags), true)
GL(cuGLMapBufferObject, (CUdeviceptr_v1 * ptr, unsigned *size_B, GLuint buffer), ptr &&size_B)
GL(cuGLMapBufferObject_v2, (CUdeviceptr * ptr, size_t *size_B, GLuint buffer, CUstream null_stream),
   ptr &&size_B)
GL(cuGLMapBufferObjectAsync,
   (CUdeviceptr_v1 * ptr, unsigned *size_B, GLuint buffer, CUstream stream), ptr &&size_B)
GL(cuGLMapBufferObjectAsync_v2, (CUdeviceptr * ptr, size_t *size_B, GLuint buffer, CUstream stream),
   ptr &&size_B)
GL(cuGLUnmapBufferObject, (GLuint buffer), true)
GL(cuGLUnmapBufferObjectAsync, (GLuint buffer, CUstream stream), true)
GL(cuGLUnregisterBufferObject, (GLuint buffer), true)

/* ---- EGL */

#define EGL(symbol, params, cond) REFUSED(symbol, params, cond, "EGL")

EGL(cuGraphicsEGLRegisterImage, (CUgraphicsResource * resource, EGLImageKHR image, unsigned flags),
    resource)
EGL(cuGraphicsResourceGetMappedEglFrame,
    (CUeglFrame * frame, CUgraphicsResource resource, unsigned index, unsigned level), frame)
EGL(cuEventCreateFromEGLSync, (CUevent * event, EGLSyncKHR sync, unsigned flags), event)
EGL(cuEGLStreamConsumerConnect, (CUeglStreamConnection * conn, EGLStreamKHR stream), conn)
EGL(cuEGLStreamConsumerConnectWithFlags,
    (CUeglStreamConnection * conn, EGLStreamKHR stream, unsigned flags), conn)
EGL(cuEGLStreamConsumerDisconnect, (CUeglStreamConnection * conn), conn)
EGL(cuEGLStreamConsumerAcquireFrame,
    (CUeglStreamConnection * conn, CUgraphicsResource *resource, CUstream *stream,
     unsigned timeout),
    conn &&resource)
EGL(cuEGLStreamConsumerReleaseFrame,
    (CUeglStreamConnection * conn, CUgraphicsResource resource, CUstream *stream), conn)
EGL(cuEGLStreamProducerConnect,
    (CUeglStreamConnection * conn, EGLStreamKHR stream, EGLint width, EGLint height), conn)
EGL(cuEGLStreamProducerDisconnect, (CUeglStreamConnection * conn), conn)
EGL(cuEGLStreamProducerPresentFrame,
    (CUeglStreamConnection * conn, CUeglFrame frame, CUstream *stream), conn)
EGL(cuEGLStreamProducerReturnFrame,
    (CUeglStreamConnection * conn, CUeglFrame *frame, CUstream *stream), conn &&frame)

/* ---- VDPAU */

#define VDPAU(symbol, params, cond) REFUSED(symbol, params, cond, "VDPAU")

VDPAU(cuVDPAUGetDevice, (CUdevice * device, VdpDevice vdp, VdpGetProcAddress *address), device)
VDPAU(cuVDPAUCtxCreate,
      (CUcontext * ctx, unsigned flags, CUdevice dev, VdpDevice vdp, VdpGetProcAddress *address),
      ctx &&is_device(dev))
VDPAU(cuVDPAUCtxCreate_v2,
      (CUcontext * ctx, unsigned flags, CUdevice dev, VdpDevice vdp, VdpGetProcAddress *address),
      ctx &&is_device(dev))
VDPAU(cuGraphicsVDPAURegisterVideoSurface,
      (CUgraphicsResource * resource, VdpVideoSurface surface, unsigned flags), resource)
VDPAU(cuGraphicsVDPAURegisterOutputSurface,
      (CUgraphicsResource * resource, VdpOutputSurface surface, unsigned flags), resource)

/* ---- what was registered: nothing, so every handle is a wrong one */

#define NO_RESOURCE(symbol, params)                                                                \
    CUresult drv_##symbol params                                                                   \
    {                                                                                              \
        API_CALL(symbol);                                                                          \
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: %p is no registered resource", api_name_, \
                         (void *)resource);                                                        \
    }

NO_RESOURCE(cuGraphicsUnregisterResource, (CUgraphicsResource resource))
NO_RESOURCE(cuGraphicsResourceSetMapFlags, (CUgraphicsResource resource, unsigned flags))
NO_RESOURCE(cuGraphicsResourceSetMapFlags_v2, (CUgraphicsResource resource, unsigned flags))
NO_RESOURCE(cuGraphicsResourceGetMappedMipmappedArray,
            (CUmipmappedArray * array, CUgraphicsResource resource))
NO_RESOURCE(cuGraphicsResourceGetMappedPointer,
            (CUdeviceptr_v1 * ptr, unsigned *size_B, CUgraphicsResource resource))
NO_RESOURCE(cuGraphicsResourceGetMappedPointer_v2,
            (CUdeviceptr * ptr, size_t *size_B, CUgraphicsResource resource))
NO_RESOURCE(cuGraphicsSubResourceGetMappedArray,
            (CUarray * array, CUgraphicsResource resource, unsigned index, unsigned level))

#define NO_RESOURCES(symbol)                                                                       \
    CUresult drv_##symbol(unsigned count, CUgraphicsResource *resources, CUstream stream)          \
    {                                                                                              \
        API_CALL(symbol);                                                                          \
        API_CHECK(count &&resources);                                                              \
        (void)stream;                                                                              \
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: %p is no registered resource", api_name_, \
                         (void *)resources[0]);                                                    \
    }

NO_RESOURCES(cuGraphicsMapResources)
NO_RESOURCES(cuGraphicsUnmapResources)
