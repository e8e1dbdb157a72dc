/* Memory and events of other processes: IPC handles, external memory by file descriptor. */
#include "api/driver/driver.h"

#include <assert.h>
#include <unistd.h>

#include "core/mem/ipc.h"

_Static_assert(sizeof(struct core_ipc_handle) <= sizeof(CUipcMemHandle) &&
                   sizeof(struct core_ipc_handle) <= sizeof(CUipcEventHandle),
               "handles fit what the API gives them");

/* ---- memory */

CUresult drv_cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr ptr)
{
    struct core_ipc_handle handle;
    enum hd_status status;

    API_CALL(cuIpcGetMemHandle);
    API_CHECK(out && ptr);
    API_CONTEXT(ctx);
    status = core_context_synchronize(ctx); /* its contents may move */
    if (status == HD_OK)
        status = core_ipc_memory_export(ptr, &handle);
    if (status != HD_OK)
        return drv_result(status);
    memset(out, 0, sizeof(*out));
    memcpy(out, &handle, sizeof(handle));
    return CUDA_SUCCESS;
}

CUresult drv_cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle bytes, unsigned flags)
{
    struct core_ipc_handle handle;
    enum hd_status status;
    uint64_t va = 0;

    API_CALL(cuIpcOpenMemHandle);
    API_CHECK(out);
    API_CHECK(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    API_CONTEXT(ctx);
    memcpy(&handle, &bytes, sizeof(handle));
    status = core_ipc_memory_open(ctx, &handle, &va);
    if (status == HD_BUSY)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT,
                         "a process cannot open a handle of its own memory");
    if (status == HD_OK)
        *out = va;
    return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_HANDLE : drv_result(status);
}

CUresult drv_cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    return drv_cuIpcOpenMemHandle_v2(out, handle, flags);
}

CUresult drv_cuIpcCloseMemHandle(CUdeviceptr ptr)
{
    enum hd_status status;

    API_CALL(cuIpcCloseMemHandle);
    API_CONTEXT(ctx);
    status = core_context_synchronize(ctx);
    return drv_result(status == HD_OK ? core_ipc_memory_close(ptr) : status);
}

/* ---- events */

CUresult drv_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
    struct core_ipc_handle handle;
    enum hd_status status;

    API_CALL(cuIpcGetEventHandle);
    API_CHECK(out);
    API_CONTEXT(ctx);
    (void)ctx;
    API_HANDLE(event, e, event);
    status = core_ipc_event_export(e, &handle);
    if (status != HD_OK)
        return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_HANDLE : drv_result(status);
    memset(out, 0, sizeof(*out));
    memcpy(out, &handle, sizeof(handle));
    return CUDA_SUCCESS;
}

CUresult drv_cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle bytes)
{
    struct core_ipc_handle handle;
    struct core_event *event;
    enum hd_status status;

    API_CALL(cuIpcOpenEventHandle);
    API_CHECK(out);
    API_CONTEXT(ctx);
    memcpy(&handle, &bytes, sizeof(handle));
    status = core_ipc_event_open(ctx, &handle, &event);
    if (status == HD_OK)
        DRV_GIVE(event, out, event);
    return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_HANDLE : drv_result(status);
}

/* ---- external memory */

static bool all_zero(const unsigned *words, size_t n)
{
    while (n && !words[n - 1])
        n--;
    return !n;
}

/* The descriptor belongs to the driver once this succeeds. */
CUresult drv_cuImportExternalMemory(CUexternalMemory *out,
                                    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    struct core_extmem *extmem;
    enum hd_status status;

    API_CALL(cuImportExternalMemory);
    API_CHECK(out && desc && desc->size);
    API_CHECK(desc->type >= CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD &&
              desc->type <= CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF);
    API_CHECK(!(desc->flags & ~(unsigned)CUDA_EXTERNAL_MEMORY_DEDICATED));
    API_CHECK(all_zero(desc->reserved, HD_COUNT_OF(desc->reserved)));
    API_CONTEXT(ctx);
    if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "external memory by handles of type %d",
                         (int)desc->type);
    status = core_extmem_create(ctx->device, desc->handle.fd, desc->size, &extmem);
    if (status != HD_OK)
        return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_HANDLE : drv_result(status);
    close(desc->handle.fd);
    DRV_GIVE(extmem, out, extmem);
    return CUDA_SUCCESS;
}

CUresult drv_cuDestroyExternalMemory(CUexternalMemory handle)
{
    API_CALL(cuDestroyExternalMemory);
    API_HANDLE(extmem, extmem, handle);
    API_CHECK(core_extmem_destroy(extmem));
    return CUDA_SUCCESS;
}

CUresult drv_cuExternalMemoryGetMappedBuffer(CUdeviceptr *out, CUexternalMemory handle,
                                             const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    enum hd_status status;
    uint64_t va = 0;

    API_CALL(cuExternalMemoryGetMappedBuffer);
    API_CHECK(out && desc && !desc->flags);
    API_CONTEXT(ctx);
    API_HANDLE(extmem, extmem, handle);
    status = core_extmem_map(ctx, extmem, desc->offset, desc->size, &va);
    if (status == HD_OK)
        *out = va;
    return drv_result(status);
}

CUresult
drv_cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *out, CUexternalMemory handle,
                                            const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc)
{
    struct core_array_desc array_desc;
    struct core_array *array;
    enum hd_status status;

    API_CALL(cuExternalMemoryGetMappedMipmappedArray);
    API_CHECK(out && desc && desc->numLevels);
    API_CONTEXT(ctx);
    API_HANDLE(extmem, extmem, handle);
    array_desc = drv_array_desc(&desc->arrayDesc);
    status =
        core_array_create_external(ctx, &array_desc, desc->numLevels, extmem, desc->offset, &array);
    if (status == HD_OK)
        DRV_GIVE(array, out, array);
    return drv_result(status);
}
