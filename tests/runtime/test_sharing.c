/* Handles for other processes, ranges of managed memory and batches by the runtime's names. */
#include "runtime_fixture.h"

static void test_handles(void)
{
    struct cudaExternalMemoryHandleDesc external = {.type = cudaExternalMemoryHandleTypeOpaqueFd};
    cudaIpcEventHandle_t event_handle;
    cudaIpcMemHandle_t handle;
    cudaExternalMemory_t memory;
    cudaEvent_t event, opened;
    void *p, *mapped;

    eq_error(cudaMalloc(&p, 64), cudaSuccess, "malloc");
    eq_error(cudaIpcGetMemHandle(&handle, p), cudaSuccess, "handle of memory");
    eq_error(cudaIpcOpenMemHandle(&mapped, handle, cudaIpcMemLazyEnablePeerAccess),
             cudaErrorDeviceUninitialized, "of this process");
    eq_error(cudaIpcCloseMemHandle(p), cudaErrorInvalidValue, "was not opened");
    eq_error(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming),
             cudaSuccess, "event");
    eq_error(cudaIpcGetEventHandle(&event_handle, event), cudaSuccess, "handle of an event");
    eq_error(cudaIpcOpenEventHandle(&opened, event_handle), cudaSuccess, "the same by handle");
    eq_error(cudaEventRecord(event, 0), cudaSuccess, "record one");
    eq_error(cudaEventSynchronize(opened), cudaSuccess, "wait for the other");
    eq_error(cudaEventDestroy(event), cudaSuccess, "destroy");
    eq_error(cudaEventQuery(opened), cudaSuccess, "the other lives");
    eq_error(cudaEventDestroy(opened), cudaSuccess, "destroy");
    external.handle.fd = 0;
    external.size = 64;
    eq_error(cudaImportExternalMemory(&memory, &external), cudaErrorInvalidResourceHandle,
             "no memory file");
    eq_error(cudaFree(p), cudaSuccess, "free");
}

static void test_ranges(void)
{
    struct cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    struct cudaMemcpyAttributes attrs = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    size_t sizes[1] = {4096}, first[1] = {0};
    const void *srcs[1];
    void *ptrs[1], *p, *device;
    cudaStream_t stream;
    int value = 7;

    eq_error(cudaMallocManaged(&p, 4096, cudaMemAttachGlobal), cudaSuccess, "managed memory");
    eq_error(cudaMalloc(&device, 4096), cudaSuccess, "device memory");
    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    eq_error(
        cudaMemRangeGetAttribute(&value, sizeof(value), cudaMemRangeAttributeReadMostly, p, 64),
        cudaSuccess, "attribute");
    eq_u64((unsigned)value, 0, "not advised");
    ptrs[0] = p;
    eq_error(cudaMemPrefetchBatchAsync(ptrs, sizes, 1, &here, first, 1, 0, stream), cudaSuccess,
             "prefetch");
    eq_error(cudaMemRangeGetAttribute(&value, sizeof(value),
                                      cudaMemRangeAttributeLastPrefetchLocation, p, 64),
             cudaSuccess, "attribute");
    eq_u64((unsigned)value, 0, "the device");
    eq_error(cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, stream), cudaSuccess, "discard");
    memset(p, 0x5a, 4096);
    srcs[0] = p;
    ptrs[0] = device;
    eq_error(cudaMemcpyBatchAsync(ptrs, srcs, sizes, 1, &attrs, first, 1, stream), cudaSuccess,
             "copy");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "synchronize");
    eq_error(cudaMemcpy(&value, (char *)device + 4092, 4, cudaMemcpyDeviceToHost), cudaSuccess,
             "back");
    eq_u64((unsigned)value, 0x5a5a5a5a, "arrived");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
    eq_error(cudaFree(p), cudaSuccess, "free");
    eq_error(cudaFree(device), cudaSuccess, "free");
}

static void on_notification(cudaAsyncNotificationInfo_t *info, void *user,
                            cudaAsyncCallbackHandle_t handle)
{
    (void)info, (void)user, (void)handle;
}

static void test_peers(void)
{
    struct cudaMemcpy3DPeerParms box = {.extent = {4, 2, 1}};
    cudaAsyncCallbackHandle_t async;
    unsigned char from[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, to[2][4] = {{0}};

    box.srcPtr = (struct cudaPitchedPtr){from, 4, 4, 2};
    box.dstPtr = (struct cudaPitchedPtr){to, 4, 4, 2};
    eq_error(cudaMemcpy3DPeer(&box), cudaSuccess, "a box");
    eq_mem(to, from, sizeof(from), "arrived");
    box.dstDevice = 9;
    eq_error(cudaMemcpy3DPeerAsync(&box, 0), cudaErrorInvalidDevice, "device 9");
    eq_error(cudaMemcpy3DPeer(NULL), cudaErrorInvalidValue, "null");
    eq_error(cudaCtxResetPersistingL2Cache(), cudaErrorNotSupported, "persisting lines");
    eq_error(cudaDeviceRegisterAsyncNotification(0, on_notification, NULL, &async),
             cudaErrorNotSupported, "notifications: nothing can cause one");
    eq_error(cudaDeviceRegisterAsyncNotification(0, NULL, NULL, &async), cudaErrorInvalidValue,
             "without a function");
    eq_error(cudaDeviceRegisterAsyncNotification(77, on_notification, NULL, &async),
             cudaErrorInvalidDevice, "of no device");
    eq_error(cudaDeviceUnregisterAsyncNotification(0, NULL), cudaErrorInvalidValue,
             "none is there");
}

int main(void)
{
    test_handles();
    test_ranges();
    test_peers();
    return done();
}
