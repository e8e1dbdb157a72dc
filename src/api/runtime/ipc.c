/* Memory and events of other processes. The runtime's structures are the driver's. */
#include "runtime.h"

#include <string.h>

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle) &&
                   sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle),
               "same layout");
_Static_assert(offsetof(struct cudaExternalMemoryHandleDesc, reserved) ==
                       offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, reserved) &&
                   sizeof(struct cudaExternalMemoryBufferDesc) ==
                       sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC),
               "same layout");

cudaError_t rt_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    RT_CALL(cuIpcGetMemHandle((CUipcMemHandle *)handle, rt_va(devPtr)));
}

cudaError_t rt_cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    CUipcMemHandle bytes;
    CUdeviceptr va = 0;
    RT_TRY(rt_enter());
    if (!devPtr)
        return rt_fail(cudaErrorInvalidValue);
    memcpy(&bytes, &handle, sizeof(bytes));
    RT_TRY(rt_result(cuIpcOpenMemHandle_v2(&va, bytes, flags)));
    *devPtr = (void *)(uintptr_t)va;
    return cudaSuccess;
}

cudaError_t rt_cudaIpcCloseMemHandle(void *devPtr)
{
    RT_CALL(cuIpcCloseMemHandle(rt_va(devPtr)));
}

cudaError_t rt_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    RT_CALL(cuIpcGetEventHandle((CUipcEventHandle *)handle, event));
}

cudaError_t rt_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle bytes;
    memcpy(&bytes, &handle, sizeof(bytes));
    RT_CALL(cuIpcOpenEventHandle(event, bytes));
}

/* Programs of CUDA 12 have no reserved words at the end. */
cudaError_t rt_cudaImportExternalMemory(cudaExternalMemory_t *extMem_out,
                                        const struct cudaExternalMemoryHandleDesc *memHandleDesc)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.flags = 0};
    RT_TRY(rt_enter());
    if (!memHandleDesc)
        return rt_fail(cudaErrorInvalidValue);
    memcpy(&desc, memHandleDesc, offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, reserved));
    return rt_result(cuImportExternalMemory((CUexternalMemory *)extMem_out, &desc));
}

cudaError_t rt_cudaDestroyExternalMemory(cudaExternalMemory_t extMem)
{
    RT_CALL(cuDestroyExternalMemory((CUexternalMemory)extMem));
}

cudaError_t
rt_cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
                                     const struct cudaExternalMemoryBufferDesc *bufferDesc)
{
    CUdeviceptr va = 0;
    RT_TRY(rt_enter());
    if (!devPtr)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuExternalMemoryGetMappedBuffer(
        &va, (CUexternalMemory)extMem, (const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *)bufferDesc)));
    *devPtr = (void *)(uintptr_t)va;
    return cudaSuccess;
}
