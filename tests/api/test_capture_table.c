/*
 * Walks spec/api/capture.def: each call in each mode of a capture, by the thread that captures and
 * by another one, in each mode of that thread; and in streams that the capture does not concern.
 * Code is fake (tests/dev/fake_jit.h).
 */
#include <fcntl.h>
#include <pthread.h>

#include "driver_fixture.h"

enum class { NODE, EDGE, STREAM, LEGACY, CONTEXT, EVENT, UNSAFE, CAPTURE, ANY, NONE };

static const struct row {
    const char *name;
    enum class class;
} rows[] = {
#define X(name, class) {#name, class},
#include "../../spec/api/capture.def"
#undef X
};

/* What needs more than a line here, and where it has that. */
static const char *const elsewhere[][2] = {
    {"cuGreenCtxRecordEvent", "api_green"},
    {"cuGreenCtxWaitEvent", "api_green"},
    {"cuMemMapArrayAsync", "api_array_map"},
    {"cuSignalExternalSemaphoresAsync", "api_semaphore_graph"},
    {"cuWaitExternalSemaphoresAsync", "api_semaphore_graph"},
};

enum { N = 256, BIG_B = 2 << 20 };

static CUcontext ctx, peer;
static CUstream capturing, other; /* blocking; not */
static CUevent event, event2, event3;
static CUmodule module, module2;
static CUfunction add;
static CUlibrary library;
static CUkernel kernel;
static CUgraph graph;
static CUgraphExec exec, exec2;
static CUgraphNode node;
static CUarray array, array2;
static CUmipmappedArray mips;
static CUmemoryPool pool, pool2, current_pool;
static CUdeviceptr a, b, va, va2, va3;
static CUmemGenericAllocationHandle memory, memory2;
static CUipcMemHandle ipc;
static CUmemPoolPtrExportData exported;
static CUuserObject object;
static CUtexObject tex;
static CUstream stream2;
static CUcontext ctx2;
static CUdevice dev;
static CUlinkState linker;
static CUstreamCaptureMode mode2;
static CUstreamCaptureStatus capture_status;
static CUgraphExecUpdateResultInfo update;
static void *host;
static char bytes[8192];
static size_t size, fail_at, n_nodes;
static unsigned flags;
static int value, fd = -1;
static uint64_t number;
static unsigned long long id;
static float ms;

static const CUDA_ARRAY3D_DESCRIPTOR shape = {
    .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
static const CUDA_ARRAY_DESCRIPTOR flat = {
    .Width = 16, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
static const CUmemPoolProps pool_props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static const CUmemAllocationProp memory_props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                 .requestedHandleTypes =
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
static const CUmemAccessDesc rights = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static CUmemAccess_flags access_flags;
static CUdeviceptr managed, *const managed_list = &managed;
static size_t sizes[] = {BIG_B}, firsts[] = {0}, small[] = {16};
static CUmemcpyAttributes copy_attrs[] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
static CUDA_MEMCPY2D copy2;
static CUDA_MEMCPY3D copy3;
static CUDA_MEMCPY3D_PEER copy3_peer;
static CUDA_MEMCPY3D_BATCH_OP copy3_op;

static CUresult pool_export_pointer(void)
{
    CUresult result = cuMemAllocFromPoolAsync(&va, 64, pool, other);

    return result ? result : cuStreamSynchronize(other);
}

static CUresult pool_import(void)
{
    CUresult result =
        cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);

    return result ? result
                  : cuMemPoolImportFromShareableHandle(&pool2, (void *)(intptr_t)fd,
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

static CUresult pointer_export(void)
{
    CUresult result = pool_import();

    if (!result)
        result = pool_export_pointer();
    return result ? result : cuMemPoolExportPointer(&exported, va);
}

static CUresult pointer_undo(bool imported)
{
    CUresult result = imported ? cuMemFree_v2(va3) : CUDA_SUCCESS;

    if (!result)
        result = cuMemFree_v2(va);
    close(fd);
    return result ? result : cuMemPoolDestroy(pool2);
}

static CUresult import_undo(void)
{
    close(fd);
    return cuMemPoolDestroy(pool2);
}

static CUresult launch(CUstream s, bool cooperative)
{
    uint32_t count = N;
    void *args[] = {&a, &b, &b, &count};

    return cooperative ? cuLaunchCooperativeKernel(add, N / 64, 1, 1, 64, 1, 1, 0, s, args)
                       : driver_launch(add, N / 64, 64, s, args);
}

static CUresult launch_ex(CUstream s)
{
    const CUlaunchConfig config = {N / 64, 1, 1, 64, 1, 1, 0, s, NULL, 0};
    uint32_t count = N;
    void *args[] = {&a, &b, &b, &count};

    return cuLaunchKernelEx(&config, add, args, NULL);
}

static CUresult launch_mdc(CUstream s)
{
    uint32_t count = N;
    void *args[] = {&a, &b, &b, &count};
    CUDA_LAUNCH_PARAMS params = {add, N / 64, 1, 1, 64, 1, 1, 0, s, args};

    return cuLaunchCooperativeKernelMultiDevice(&params, 1, 0);
}

static CUresult batch_mem_op(CUstream s)
{
    CUstreamBatchMemOpParams op = {.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, a, {7}, 0, 0}};

    return cuStreamBatchMemOp_v2(s, 1, &op, 0);
}

static CUresult alloc_free(CUstream s, bool from_pool)
{
    CUresult result =
        from_pool ? cuMemAllocFromPoolAsync(&va, 64, current_pool, s) : cuMemAllocAsync(&va, 64, s);

    return result ? result : cuMemFreeAsync(va, s);
}

static void CUDA_CB host_call(void *arg)
{
    (void)arg;
}

static void CUDA_CB stream_call(CUstream s, CUresult result, void *arg)
{
    (void)s, (void)result, (void)arg;
}

/*
 * X(name, before, call, undo, back): `before` is done before the capture, `undo` after it when the
 * call has worked, `back` when it was refused. `s`: the stream that the call is about.
 */
#define OK CUDA_SUCCESS

#define STREAM_CASES(X)                                                                            \
    X(cuGraphLaunch, cuGraphLaunch(exec, s))                                                       \
    X(cuLaunchCooperativeKernel, launch(s, true))                                                  \
    X(cuLaunchGridAsync, cuLaunchGridAsync(add, 1, 1, s))                                          \
    X(cuLaunchHostFunc, cuLaunchHostFunc(s, host_call, NULL))                                      \
    X(cuLaunchKernel, launch(s, false))                                                            \
    X(cuLaunchKernelEx, launch_ex(s))                                                              \
    X(cuMemAllocAsync, alloc_free(s, false))                                                       \
    X(cuMemAllocFromPoolAsync, alloc_free(s, true))                                                \
    X(cuMemFreeAsync, alloc_free(s, false))                                                        \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2(&copy2, s))                                              \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2(&copy3, s))                                              \
    X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2(1, &copy3_op, 0, s))                           \
    X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync(&copy3_peer, s))                                    \
    X(cuMemcpyAsync, cuMemcpyAsync(a, b, 16, s))                                                   \
    X(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2(bytes, array, 0, 16, s))                             \
    X(cuMemcpyBatchAsync,                                                                          \
      cuMemcpyBatchAsync(&a, &b, small, 1, copy_attrs, firsts, 1, &fail_at, s))                    \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2(a, b, 16, s))                                        \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2(bytes, b, 16, s))                                    \
    X(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2(array, 0, bytes, 16, s))                             \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2(a, bytes, 16, s))                                    \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync(a, ctx, b, ctx, 16, s))                                 \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2(a, b, 0, s))                                         \
    X(cuMemsetD8Async, cuMemsetD8Async(a, 0, 0, s))                                                \
    X(cuMemsetD16Async, cuMemsetD16Async(a, 0, 8, s))                                              \
    X(cuMemsetD2D16Async, cuMemsetD2D16Async(a, 64, 0, 8, 2, s))                                   \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async(a, 64, 0, 8, 2, s))                                   \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async(a, 64, 0, 8, 2, s))                                     \
    X(cuMemsetD32Async, cuMemsetD32Async(a, 0, 8, s))                                              \
    X(cuMemsetD8Async, cuMemsetD8Async(a, 0, 8, s))                                                \
    X(cuStreamBatchMemOp, batch_mem_op(s))                                                         \
    X(cuStreamWaitValue32, cuStreamWaitValue32_v2(s, a, 0, CU_STREAM_WAIT_VALUE_GEQ))              \
    X(cuStreamWaitValue64, cuStreamWaitValue64_v2(s, a, 0, CU_STREAM_WAIT_VALUE_GEQ))              \
    X(cuStreamWriteValue32, cuStreamWriteValue32_v2(s, a, 0, 0))                                   \
    X(cuStreamWriteValue64, cuStreamWriteValue64_v2(s, a, 0, 0))                                   \
    X(cuEventRecord, cuEventRecord(event2, s))                                                     \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags(event2, s, 0))                                \
    X(cuStreamWaitEvent, cuStreamWaitEvent(s, event, 0))                                           \
    X(cuStreamWaitEvent, cuStreamWaitEvent(s, event3, 0))                                          \
    X(cuGraphUpload, cuGraphUpload(exec, s))                                                       \
    X(cuLaunchCooperativeKernelMultiDevice, launch_mdc(s))                                         \
    X(cuMemDiscardAndPrefetchBatchAsync,                                                           \
      cuMemDiscardAndPrefetchBatchAsync(managed_list, sizes, 1, &here, firsts, 1, 0, s))           \
    X(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync(managed_list, sizes, 1, 0, s))                \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync(managed, BIG_B, 0, s))                                \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync_v2(managed, BIG_B, here, 0, s))                       \
    X(cuMemPrefetchBatchAsync,                                                                     \
      cuMemPrefetchBatchAsync(managed_list, sizes, 1, &here, firsts, 1, 0, s))                     \
    X(cuStreamAddCallback, cuStreamAddCallback(s, stream_call, NULL, 0))                           \
    X(cuStreamAttachMemAsync, cuStreamAttachMemAsync(s, managed, 0, CU_MEM_ATTACH_GLOBAL))         \
    X(cuStreamQuery, cuStreamQuery(s))                                                             \
    X(cuStreamSynchronize, cuStreamSynchronize(s))

/* `_ptds`: what a program that is built for streams of each thread calls. */
#define LEGACY_CASES(X)                                                                            \
    X(cuMemcpy, cuMemcpy(a, b, 16), cuMemcpy_ptds(a, b, 16))                                       \
    X(cuMemcpy2D, cuMemcpy2D_v2(&copy2), cuMemcpy2D_v2_ptds(&copy2))                               \
    X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2(&copy2), cuMemcpy2DUnaligned_v2_ptds(&copy2))    \
    X(cuMemcpy3D, cuMemcpy3D_v2(&copy3), cuMemcpy3D_v2_ptds(&copy3))                               \
    X(cuMemcpy3DPeer, cuMemcpy3DPeer(&copy3_peer), cuMemcpy3DPeer_ptds(&copy3_peer))               \
    X(cuMemcpyAtoA, cuMemcpyAtoA_v2(array, 0, array2, 0, 16),                                      \
      cuMemcpyAtoA_v2_ptds(array, 0, array2, 0, 16))                                               \
    X(cuMemcpyAtoD, cuMemcpyAtoD_v2(a, array, 0, 16), cuMemcpyAtoD_v2_ptds(a, array, 0, 16))       \
    X(cuMemcpyAtoH, cuMemcpyAtoH_v2(bytes, array, 0, 16),                                          \
      cuMemcpyAtoH_v2_ptds(bytes, array, 0, 16))                                                   \
    X(cuMemcpyDtoA, cuMemcpyDtoA_v2(array, 0, a, 16), cuMemcpyDtoA_v2_ptds(array, 0, a, 16))       \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2(a, b, 16), cuMemcpyDtoD_v2_ptds(a, b, 16))                     \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2(a, b, 0), cuMemcpyDtoD_v2_ptds(a, b, 0))                       \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2(bytes, b, 16), cuMemcpyDtoH_v2_ptds(bytes, b, 16))             \
    X(cuMemcpyHtoA, cuMemcpyHtoA_v2(array, 0, bytes, 16),                                          \
      cuMemcpyHtoA_v2_ptds(array, 0, bytes, 16))                                                   \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2(a, bytes, 16), cuMemcpyHtoD_v2_ptds(a, bytes, 16))             \
    X(cuMemcpyPeer, cuMemcpyPeer(a, ctx, b, ctx, 16), cuMemcpyPeer_ptds(a, ctx, b, ctx, 16))       \
    X(cuMemsetD8, cuMemsetD8_v2(a, 0, 0), cuMemsetD8_v2_ptds(a, 0, 0))                             \
    X(cuMemsetD16, cuMemsetD16_v2(a, 0, 8), cuMemsetD16_v2_ptds(a, 0, 8))                          \
    X(cuMemsetD2D16, cuMemsetD2D16_v2(a, 64, 0, 8, 2), cuMemsetD2D16_v2_ptds(a, 64, 0, 8, 2))      \
    X(cuMemsetD2D32, cuMemsetD2D32_v2(a, 64, 0, 8, 2), cuMemsetD2D32_v2_ptds(a, 64, 0, 8, 2))      \
    X(cuMemsetD2D8, cuMemsetD2D8_v2(a, 64, 0, 8, 2), cuMemsetD2D8_v2_ptds(a, 64, 0, 8, 2))         \
    X(cuMemsetD32, cuMemsetD32_v2(a, 0, 8), cuMemsetD32_v2_ptds(a, 0, 8))                          \
    X(cuMemsetD8, cuMemsetD8_v2(a, 0, 8), cuMemsetD8_v2_ptds(a, 0, 8))                             \
    X(cuLaunch, cuLaunch(add), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)                              \
    X(cuLaunchGrid, cuLaunchGrid(add, 1, 1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)

#define CONTEXT_CASES(X)                                                                           \
    X(cuCtxSynchronize, cuCtxSynchronize())                                                        \
    X(cuCtxSynchronize, cuCtxSynchronize_v2(ctx))                                                  \
    X(cuCtxRecordEvent, cuCtxRecordEvent(ctx, event2))                                             \
    X(cuCtxWaitEvent, cuCtxWaitEvent(ctx, event))

#define CALL_CASES(X)                                                                              \
    X(cuEventQuery, OK, cuEventQuery(event), OK, OK)                                               \
    X(cuEventSynchronize, OK, cuEventSynchronize(event), OK, OK)                                   \
    X(cuArray3DCreate, OK, cuArray3DCreate_v2(&array2, &shape), cuArrayDestroy(array2), OK)        \
    X(cuArrayCreate, OK, cuArrayCreate_v2(&array2, &flat), cuArrayDestroy(array2), OK)             \
    X(cuArrayDestroy, cuArrayCreate_v2(&array2, &flat), cuArrayDestroy(array2), OK,                \
      cuArrayDestroy(array2))                                                                      \
    X(cuCtxEnablePeerAccess, OK, cuCtxEnablePeerAccess(peer, 0), cuCtxDisablePeerAccess(peer), OK) \
    X(cuCtxDisablePeerAccess, cuCtxEnablePeerAccess(peer, 0), cuCtxDisablePeerAccess(peer), OK,    \
      cuCtxDisablePeerAccess(peer))                                                                \
    X(cuGraphExecDestroy, cuGraphInstantiateWithFlags(&exec2, graph, 0),                           \
      cuGraphExecDestroy(exec2), OK, cuGraphExecDestroy(exec2))                                    \
    X(cuMemAlloc, OK, cuMemAlloc_v2(&va, 64), cuMemFree_v2(va), OK)                                \
    X(cuMemAllocHost, OK, cuMemAllocHost_v2(&host, 64), cuMemFreeHost(host), OK)                   \
    X(cuMemAllocManaged, OK, cuMemAllocManaged(&va, 64, 1), cuMemFree_v2(va), OK)                  \
    X(cuMemAllocPitch, OK, cuMemAllocPitch_v2(&va, &size, 64, 4, 4), cuMemFree_v2(va), OK)         \
    X(cuMemFree, cuMemAlloc_v2(&va, 64), cuMemFree_v2(va), OK, cuMemFree_v2(va))                   \
    X(cuMemFree, OK, cuMemFree_v2(0), OK, OK)                                                      \
    X(cuMemFreeHost, cuMemAllocHost_v2(&host, 64), cuMemFreeHost(host), OK, cuMemFreeHost(host))   \
    X(cuMemHostAlloc, OK, cuMemHostAlloc(&host, 64, 0), cuMemFreeHost(host), OK)                   \
    X(cuMemHostRegister, OK, cuMemHostRegister_v2(bytes, 64, 0), cuMemHostUnregister(bytes), OK)   \
    X(cuMemHostUnregister, cuMemHostRegister_v2(bytes, 64, 0), cuMemHostUnregister(bytes), OK,     \
      cuMemHostUnregister(bytes))                                                                  \
    X(cuMemPoolCreate, OK, cuMemPoolCreate(&pool2, &pool_props), cuMemPoolDestroy(pool2), OK)      \
    X(cuMemPoolDestroy, cuMemPoolCreate(&pool2, &pool_props), cuMemPoolDestroy(pool2), OK,         \
      cuMemPoolDestroy(pool2))                                                                     \
    X(cuMemPoolExportPointer, pool_export_pointer(), cuMemPoolExportPointer(&exported, va),        \
      cuMemFree_v2(va), cuMemFree_v2(va))                                                          \
    X(cuMemPoolExportToShareableHandle, OK,                                                        \
      cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),    \
      (CUresult)close(fd), OK)                                                                     \
    X(cuMemPoolImportFromShareableHandle,                                                          \
      cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),    \
      cuMemPoolImportFromShareableHandle(&pool2, (void *)(intptr_t)fd,                             \
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),             \
      import_undo(), (CUresult)close(fd))                                                          \
    X(cuMemPoolImportPointer, pointer_export(), cuMemPoolImportPointer(&va3, pool2, &exported),    \
      pointer_undo(true), pointer_undo(false))                                                     \
    X(cuMemPoolGetAccess, OK, cuMemPoolGetAccess(&access_flags, pool, &here), OK, OK)              \
    X(cuMemPoolGetAttribute, OK,                                                                   \
      cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &number), OK, OK)             \
    X(cuMemPoolSetAccess, OK, cuMemPoolSetAccess(pool, &rights, 1), OK, OK)                        \
    X(cuMemPoolSetAttribute, OK,                                                                   \
      cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &number), OK, OK)             \
    X(cuMemPoolTrimTo, OK, cuMemPoolTrimTo(pool, 0), OK, OK)                                       \
    X(cuMipmappedArrayCreate, OK, cuMipmappedArrayCreate(&mips, &shape, 2),                        \
      cuMipmappedArrayDestroy(mips), OK)                                                           \
    X(cuMipmappedArrayDestroy, cuMipmappedArrayCreate(&mips, &shape, 2),                           \
      cuMipmappedArrayDestroy(mips), OK, cuMipmappedArrayDestroy(mips))                            \
    X(cuModuleUnload, cuModuleLoadData(&module2, driver_ptx), cuModuleUnload(module2), OK,         \
      cuModuleUnload(module2))                                                                     \
    X(cuModuleLoadData, OK, cuModuleLoadData(&module2, driver_ptx), cuModuleUnload(module2), OK)   \
    X(cuModuleLoadDataEx, OK, cuModuleLoadDataEx(&module2, driver_ptx, 0, NULL, NULL),             \
      cuModuleUnload(module2), OK)                                                                 \
    X(cuModuleLoadFatBinary, OK, cuModuleLoadFatBinary(&module2, driver_ptx),                      \
      cuModuleUnload(module2), OK)                                                                 \
    X(cuModuleGetFunction, OK, cuModuleGetFunction(&add, module, "add"), OK, OK)                   \
    X(cuModuleGetGlobal, OK, cuModuleGetGlobal_v2(&va, &size, module, "table"), OK, OK)            \
    X(cuLibraryLoadData, OK,                                                                       \
      cuLibraryLoadData(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0),                       \
      cuLibraryUnload(library), OK)                                                                \
    X(cuLibraryUnload, cuLibraryLoadData(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0),      \
      cuLibraryUnload(library), OK, OK)                                                            \
    X(cuLibraryGetKernel, cuLibraryLoadData(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0),   \
      cuLibraryGetKernel(&kernel, library, "add"), cuLibraryUnload(library), OK)                   \
    X(cuFuncSetAttribute, OK,                                                                      \
      cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024), OK, OK)      \
    X(cuFuncGetAttribute, OK,                                                                      \
      cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add), OK, OK)            \
    X(cuFuncLoad, OK, cuFuncLoad(add), OK, OK)                                                     \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, OK,                                             \
      cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, add, 64, 0), OK, OK)                     \
    X(cuLinkCreate, OK, cuLinkCreate_v2(0, NULL, NULL, &linker), cuLinkDestroy(linker), OK)        \
    X(cuEventCreate, OK, cuEventCreate(&event2, 0), cuEventDestroy_v2(event2), OK)                 \
    X(cuEventDestroy, cuEventCreate(&event2, 0), cuEventDestroy_v2(event2), OK, OK)                \
    X(cuEventElapsedTime, OK, cuEventElapsedTime_v2(&ms, event, event), OK, OK)                    \
    X(cuStreamCreate, OK, cuStreamCreate(&stream2, CU_STREAM_NON_BLOCKING),                        \
      cuStreamDestroy_v2(stream2), OK)                                                             \
    X(cuStreamCreateWithPriority, OK, cuStreamCreateWithPriority(&stream2, 0, 0),                  \
      cuStreamDestroy_v2(stream2), OK)                                                             \
    X(cuStreamDestroy, cuStreamCreate(&stream2, 0), cuStreamDestroy_v2(stream2), OK, OK)           \
    X(cuStreamGetCtx, OK, cuStreamGetCtx(capturing, &ctx2), OK, OK)                                \
    X(cuStreamGetDevice, OK, cuStreamGetDevice(capturing, &dev), OK, OK)                           \
    X(cuStreamGetFlags, OK, cuStreamGetFlags(capturing, &flags), OK, OK)                           \
    X(cuStreamGetId, OK, cuStreamGetId(capturing, &id), OK, OK)                                    \
    X(cuStreamGetPriority, OK, cuStreamGetPriority(capturing, &value), OK, OK)                     \
    X(cuStreamCopyAttributes, OK, cuStreamCopyAttributes(capturing, other), OK, OK)                \
    X(cuStreamIsCapturing, OK, cuStreamIsCapturing(capturing, &capture_status), OK, OK)            \
    X(cuStreamGetCaptureInfo, OK, cuStreamGetCaptureInfo(capturing, &capture_status, NULL), OK,    \
      OK)                                                                                          \
    X(cuThreadExchangeStreamCaptureMode, OK, exchange(), OK, OK)                                   \
    X(cuMemGetInfo, OK, cuMemGetInfo_v2(&size, &size), OK, OK)                                     \
    X(cuMemGetAddressRange, OK, cuMemGetAddressRange_v2(&va, &size, a), OK, OK)                    \
    X(cuMemHostGetDevicePointer, OK, cuMemHostGetDevicePointer_v2(&va, pinned(), 0), OK, OK)       \
    X(cuMemHostGetFlags, OK, cuMemHostGetFlags(&flags, pinned()), OK, OK)                          \
    X(cuPointerGetAttribute, OK,                                                                   \
      cuPointerGetAttribute(&va, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, a), OK, OK)                  \
    X(cuIpcGetMemHandle, OK, cuIpcGetMemHandle(&ipc, a), OK, OK)                                   \
    X(cuMemAdvise, OK, cuMemAdvise_v2(managed, BIG_B, CU_MEM_ADVISE_UNSET_READ_MOSTLY, here), OK,  \
      OK)                                                                                          \
    X(cuMemRangeGetAttribute, OK,                                                                  \
      cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, BIG_B), OK,   \
      OK)                                                                                          \
    X(cuMemGetAllocationGranularity, OK,                                                           \
      cuMemGetAllocationGranularity(&size, &memory_props, CU_MEM_ALLOC_GRANULARITY_MINIMUM), OK,   \
      OK)                                                                                          \
    X(cuMemCreate, OK, cuMemCreate(&memory2, BIG_B, &memory_props, 0), cuMemRelease(memory2), OK)  \
    X(cuMemRelease, cuMemCreate(&memory2, BIG_B, &memory_props, 0), cuMemRelease(memory2), OK, OK) \
    X(cuMemAddressReserve, OK, cuMemAddressReserve(&va, BIG_B, 0, 0, 0),                           \
      cuMemAddressFree(va, BIG_B), OK)                                                             \
    X(cuMemAddressFree, cuMemAddressReserve(&va, BIG_B, 0, 0, 0), cuMemAddressFree(va, BIG_B), OK, \
      OK)                                                                                          \
    X(cuMemMap, OK, cuMemMap(va2, BIG_B, 0, memory, 0), cuMemUnmap(va2, BIG_B), OK)                \
    X(cuMemSetAccess, cuMemMap(va2, BIG_B, 0, memory, 0), cuMemSetAccess(va2, BIG_B, &rights, 1),  \
      cuMemUnmap(va2, BIG_B), OK)                                                                  \
    X(cuMemUnmap, cuMemMap(va2, BIG_B, 0, memory, 0), cuMemUnmap(va2, BIG_B), OK, OK)              \
    X(cuMemExportToShareableHandle, OK,                                                            \
      cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),      \
      (CUresult)close(fd), OK)                                                                     \
    X(cuDeviceGetDefaultMemPool, OK, cuDeviceGetDefaultMemPool(&pool2, 0), OK, OK)                 \
    X(cuDeviceGetMemPool, OK, cuDeviceGetMemPool(&pool2, 0), OK, OK)                               \
    X(cuDeviceSetMemPool, OK, cuDeviceSetMemPool(0, current_pool), OK, OK)                         \
    X(cuMemGetMemPool, OK, cuMemGetMemPool(&pool2, &here, CU_MEM_ALLOCATION_TYPE_PINNED), OK, OK)  \
    X(cuMemGetDefaultMemPool, OK,                                                                  \
      cuMemGetDefaultMemPool(&pool2, &here, CU_MEM_ALLOCATION_TYPE_PINNED), OK, OK)                \
    X(cuDeviceGetAttribute, OK, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),    \
      OK, OK)                                                                                      \
    X(cuDeviceCanAccessPeer, OK, cuDeviceCanAccessPeer(&value, 0, 1), OK, OK)                      \
    X(cuDeviceGraphMemTrim, OK, cuDeviceGraphMemTrim(0), OK, OK)                                   \
    X(cuCtxGetCurrent, OK, cuCtxGetCurrent(&ctx2), OK, OK)                                         \
    X(cuCtxSetCurrent, OK, cuCtxSetCurrent(ctx), OK, OK)                                           \
    X(cuCtxGetLimit, OK, cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE), OK, OK)                        \
    X(cuDevicePrimaryCtxRetain, OK, cuDevicePrimaryCtxRetain(&ctx2, 0),                            \
      cuDevicePrimaryCtxRelease_v2(0), OK)                                                         \
    X(cuGraphCreate, OK, cuGraphCreate(&graph2, 0), cuGraphDestroy(graph2), OK)                    \
    X(cuGraphDestroy, cuGraphCreate(&graph2, 0), cuGraphDestroy(graph2), OK, OK)                   \
    X(cuGraphClone, OK, cuGraphClone(&graph2, graph), cuGraphDestroy(graph2), OK)                  \
    X(cuGraphAddEmptyNode, OK, cuGraphAddEmptyNode(&node, graph, NULL, 0),                         \
      cuGraphDestroyNode(node), OK)                                                                \
    X(cuGraphGetNodes, OK, cuGraphGetNodes(graph, NULL, &n_nodes), OK, OK)                         \
    X(cuGraphInstantiate, OK, cuGraphInstantiateWithFlags(&exec2, graph, 0),                       \
      cuGraphExecDestroy(exec2), OK)                                                               \
    X(cuGraphExecUpdate, OK, cuGraphExecUpdate_v2(exec, graph, &update), OK, OK)                   \
    X(cuUserObjectCreate, OK, cuUserObjectCreate(&object, NULL, host_call, 1, 1),                  \
      cuUserObjectRelease(object, 1), OK)                                                          \
    X(cuTexObjectCreate, OK, texture(), cuTexObjectDestroy(tex), OK)                               \
    X(cuTexObjectDestroy, texture(), cuTexObjectDestroy(tex), OK, OK)

static CUgraph graph2;

static CUresult exchange(void)
{
    CUresult result;

    mode2 = CU_STREAM_CAPTURE_MODE_RELAXED;
    result = cuThreadExchangeStreamCaptureMode(&mode2);
    return result ? result : cuThreadExchangeStreamCaptureMode(&mode2);
}

static void *pinned_memory;
static void *pinned(void)
{
    return pinned_memory;
}

static CUresult texture(void)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = array};
    const CUDA_TEXTURE_DESC desc = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP}};

    return cuTexObjectCreate(&tex, &resource, &desc, NULL);
}

/* ---- calls by number, and by another thread */

enum what { STREAM_CALL, LEGACY_CALL, LEGACY_PTDS_CALL, CONTEXT_CALL, BEFORE, CALL, UNDO, BACK };

static CUresult stream_call_at(unsigned i, CUstream s)
{
    unsigned at = 0;

#define X(name, call)                                                                              \
    if (at++ == i)                                                                                 \
        return call;
    STREAM_CASES(X)
#undef X
    abort();
}

static CUresult legacy_call_at(unsigned i, bool ptds)
{
    unsigned at = 0;

#define X(name, call, twin)                                                                        \
    if (at++ == i)                                                                                 \
        return ptds ? twin : call;
    LEGACY_CASES(X)
#undef X
    abort();
}

static CUresult context_call_at(unsigned i)
{
    unsigned at = 0;

#define X(name, call)                                                                              \
    if (at++ == i)                                                                                 \
        return call;
    CONTEXT_CASES(X)
#undef X
    abort();
}

static CUresult call_at(unsigned i, enum what what)
{
    unsigned at = 0;

#define X(name, before, call, undo, back)                                                          \
    if (at++ == i)                                                                                 \
        return what == BEFORE ? before : what == CALL ? call : what == UNDO ? undo : back;
    CALL_CASES(X)
#undef X
    abort();
}

#define X(name, ...) #name,
static const char *const stream_names[] = {STREAM_CASES(X)};
static const char *const legacy_names[] = {LEGACY_CASES(X)};
static const char *const context_names[] = {CONTEXT_CASES(X)};
static const char *const call_names[] = {CALL_CASES(X)};
#undef X

struct call {
    enum what what;
    unsigned i;
    CUstream stream;
    CUstreamCaptureMode thread_mode;
    CUresult result;
};

static void *call_main(void *arg)
{
    struct call *c = arg;
    CUstreamCaptureMode mode = c->thread_mode;

    if (cuCtxSetCurrent(ctx) || cuThreadExchangeStreamCaptureMode(&mode))
        abort();
    c->result = c->what == STREAM_CALL    ? stream_call_at(c->i, c->stream)
                : c->what == CONTEXT_CALL ? context_call_at(c->i)
                : c->what == CALL         ? call_at(c->i, CALL)
                                          : legacy_call_at(c->i, c->what == LEGACY_PTDS_CALL);
    if (cuThreadExchangeStreamCaptureMode(&mode))
        abort();
    return NULL;
}

static CUresult run(struct call c, bool far)
{
    pthread_t thread;

    if (!far) {
        call_main(&c);
        return c.result;
    }
    if (pthread_create(&thread, NULL, call_main, &c))
        abort();
    pthread_join(thread, NULL);
    return c.result;
}

/* ---- captures */

static void begin(CUstream stream, unsigned mode)
{
    if (cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode))
        abort();
}

/* How many nodes it has; -1: it is invalid. */
static int end(CUstream stream)
{
    CUgraph made = NULL;
    size_t n = 0;
    CUresult result = cuStreamEndCapture(stream, &made);

    if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED && !made)
        return -1;
    if (result || !made || cuGraphGetNodes(made, NULL, &n) || cuGraphDestroy(made))
        abort();
    return (int)n;
}

static const char *const mode_names[] = {"global", "thread-local", "relaxed"};

static enum class class_of(const char *name) {
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) if (!strcmp(rows[i].name, name)) return rows[i]
        .class;
    diag("%s is not in the table", name);
    abort();
}

static bool is_in(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* Each row that is about captures has a call here, or says where it has one. */
static void test_complete(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        const char *name = rows[i].name;
        bool found = rows[i].class >= CAPTURE;

        found |= is_in(name, stream_names, HD_COUNT_OF(stream_names)) ||
                 is_in(name, legacy_names, HD_COUNT_OF(legacy_names)) ||
                 is_in(name, context_names, HD_COUNT_OF(context_names)) ||
                 is_in(name, call_names, HD_COUNT_OF(call_names));
        for (size_t k = 0; k < HD_COUNT_OF(elsewhere); k++)
            found |= !strcmp(elsewhere[k][0], name);
        if (!found)
            ok(false, "%s has no call in this test", name);
    }
    ok(true, "every row is tested");
}

static const bool both[] = {false, true};

/* In a capturing stream, of another one, in the legacy one. */
static void test_streams(void)
{
    for (unsigned i = 0; i < HD_COUNT_OF(stream_names); i++)
        for (unsigned mode = 0; mode < 3; mode++)
            for (unsigned far = 0; far < 2; far++) {
                const char *name = stream_names[i], *in = mode_names[mode];
                struct call call = {STREAM_CALL, i, capturing, CU_STREAM_CAPTURE_MODE_GLOBAL, 0};
                enum class class = class_of(name);
                bool waits = !strcmp(name, "cuStreamWaitEvent");
                CUresult want = class == STREAM ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                : waits         ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION
                                                : CUDA_SUCCESS;

                if (class == STREAM && mode != 1 && far)
                    call.thread_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
                begin(capturing, mode);
                eq_u64(run(call, both[far]), want, "%s in a capturing stream, %s, far %u", name, in,
                       far);
                int nodes = end(capturing);
                ok(want            ? nodes < 0
                   : class == EDGE ? !nodes
                                   : nodes > 0,
                   "%s: %d nodes", name, nodes);

                begin(capturing, mode);
                call.stream = other;
                eq_u64(run(call, both[far]), CUDA_SUCCESS, "%s in another stream, %s", name, in);
                eq_u64((unsigned)end(capturing), 0, "%s: the capture goes on", name);
                if (cuStreamSynchronize(other))
                    abort();

                begin(capturing, mode);
                call.stream = NULL;
                CUresult result = run(call, both[far]);
                if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE) {
                    ok(strstr(name, "Batch") || strstr(name, "MultiDevice"), "%s: no legacy stream",
                       name);
                    (void)end(capturing);
                    continue;
                }
                eq_u64(result, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "%s in the legacy stream, %s",
                       name, in);
                ok(end(capturing) < 0, "%s: the capture is invalid", name);
            }
}

static void test_legacy(void)
{
    for (unsigned i = 0; i < HD_COUNT_OF(legacy_names); i++)
        for (unsigned mode = 0; mode < 3; mode++)
            for (unsigned far = 0; far < 2; far++) {
                const char *name = legacy_names[i], *in = mode_names[mode];
                struct call call = {LEGACY_CALL, i, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL, 0};

                begin(capturing, mode);
                eq_u64(run(call, both[far]), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                       "%s, while a blocking stream captures, %s, far %u", name, in, far);
                ok(end(capturing) < 0, "%s: the capture is invalid", name);
                begin(other, mode);
                eq_u64(run(call, both[far]), CUDA_SUCCESS, "%s, while another captures, %s", name,
                       in);
                eq_u64((unsigned)end(other), 0, "%s: the capture goes on", name);
            }
    for (unsigned i = 0; i < HD_COUNT_OF(legacy_names); i++) {
        struct call call = {LEGACY_PTDS_CALL, i, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL, 0};

        if (!strncmp(legacy_names[i], "cuLaunch", 8)) /* no twin */
            continue;
        begin(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED);
        eq_u64(run(call, false), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s_ptds", legacy_names[i]);
        ok(end(CU_STREAM_PER_THREAD) < 0, "%s: the capture is invalid", legacy_names[i]);
    }
}

static void test_contexts(void)
{
    for (unsigned i = 0; i < HD_COUNT_OF(context_names); i++)
        for (unsigned mode = 0; mode < 3; mode++)
            for (unsigned far = 0; far < 2; far++) {
                struct call call = {CONTEXT_CALL, i, NULL, CU_STREAM_CAPTURE_MODE_RELAXED, 0};
                CUstream stream = i % 2 ? other : capturing;

                begin(stream, mode);
                eq_u64(run(call, both[far]), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                       "%s, %s, far %u", context_names[i], mode_names[mode], far);
                ok(end(stream) < 0, "%s: the capture is invalid", context_names[i]);
            }
}

/* Does a capture in the mode forbid the thread what is unsafe? */
static bool forbids(unsigned mode, bool far, unsigned thread_mode)
{
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    return !far ||
           (mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void test_call(unsigned i, unsigned mode, bool far, unsigned thread_mode)
{
    const char *name = call_names[i];
    struct call call = {CALL, i, NULL, (CUstreamCaptureMode)thread_mode, 0};
    enum class class = class_of(name);
    bool refused = (class == UNSAFE || class == EVENT) && forbids(mode, far, thread_mode);

    eq_u64(call_at(i, BEFORE), CUDA_SUCCESS, "before %s", name);
    begin(capturing, mode);
    CUresult result = run(call, far);
    eq_u64(result, refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS,
           "%s: %s capture%s, the thread is %s", name, mode_names[mode], far ? " elsewhere" : "",
           mode_names[thread_mode]);
    ok(end(capturing) == (refused ? -1 : 0), "%s: the capture %s", name,
       refused ? "is invalid" : "goes on");
    eq_u64(call_at(i, result ? BACK : UNDO), CUDA_SUCCESS, "after %s", name);
}

static void test_calls(void)
{
    for (unsigned i = 0; i < HD_COUNT_OF(call_names); i++)
        for (unsigned mode = 0; mode < 3; mode++)
            for (unsigned far = 0; far < 2; far++)
                for (unsigned thread_mode = 0; thread_mode < 3; thread_mode++)
                    test_call(i, mode, far, thread_mode);
}

/* An event that was recorded in a capture, in every mode and by anybody. */
static void test_captured_event(void)
{
    for (unsigned mode = 0; mode < 3; mode++)
        for (unsigned i = 0; i < 3; i++) {
            begin(capturing, mode);
            success(cuEventRecord(event2, capturing), "record");
            eq_u64(i == 0   ? cuEventQuery(event2)
                   : i == 1 ? cuEventSynchronize(event2)
                            : cuEventElapsedTime_v2(&ms, event2, event),
                   CUDA_ERROR_CAPTURED_EVENT, "the event of a %s capture, %u", mode_names[mode], i);
            ok(end(capturing) < 0, "the capture is invalid");
        }
}

static void setup(void)
{
    const struct add_params params = {.n = 0};

    setenv("HEDDLE_MEMORY", "256M", 1);
    setenv("HEDDLE_DEVICES", "2", 1);
    success(cuInit(0), "init");
    success(cuDevicePrimaryCtxRetain(&peer, 1), "peer");
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "current");
    success(cuStreamCreate(&capturing, CU_STREAM_DEFAULT), "stream");
    success(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "stream");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    add = driver_function(module, "add");
    success(cuFuncSetBlockShape(add, 64, 1, 1), "block");
    success(cuParamSetSize(add, 28), "parameters");
    success(cuParamSetv(add, 0, (void *)(uintptr_t)&params, 28), "parameters");
    success(cuMemAlloc_v2(&a, BIG_B), "memory");
    success(cuMemAlloc_v2(&b, BIG_B), "memory");
    success(cuMemsetD8_v2(a, 0, BIG_B), "zeros");
    success(cuMemAllocManaged(&managed, BIG_B, CU_MEM_ATTACH_GLOBAL), "managed memory");
    success(cuMemAllocHost_v2(&pinned_memory, 64), "pinned memory");
    success(cuArray3DCreate_v2(&array, &shape), "array");
    success(cuArray3DCreate_v2(&array2, &shape), "array");
    success(cuMemPoolCreate(&pool, &pool_props), "pool");
    success(cuDeviceGetMemPool(&current_pool, 0), "pool");
    success(cuMemCreate(&memory, BIG_B, &memory_props, 0), "memory");
    success(cuMemAddressReserve(&va2, BIG_B, 0, 0, 0), "addresses");
    success(cuEventCreate(&event, 0), "event");
    success(cuEventCreate(&event2, 0), "event");
    success(cuEventCreate(&event3, 0), "event"); /* never recorded */
    success(cuEventRecord(event, other), "recorded");
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddEmptyNode(&node, graph, NULL, 0), "node");
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    success(cuCtxSynchronize(), "all is done");
    copy2 = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = b,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = a,
                            .srcPitch = 64,
                            .dstPitch = 64,
                            .WidthInBytes = 16,
                            .Height = 2};
    copy3 = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = b,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = a,
                            .srcPitch = 64,
                            .srcHeight = 2,
                            .dstPitch = 64,
                            .dstHeight = 2,
                            .WidthInBytes = 16,
                            .Height = 2,
                            .Depth = 1};
    copy3_peer = (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                      .srcDevice = b,
                                      .srcContext = ctx,
                                      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                      .dstDevice = a,
                                      .dstContext = ctx,
                                      .srcPitch = 64,
                                      .srcHeight = 2,
                                      .dstPitch = 64,
                                      .dstHeight = 2,
                                      .WidthInBytes = 16,
                                      .Height = 2,
                                      .Depth = 1};
    copy3_op = (CUDA_MEMCPY3D_BATCH_OP){
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {b, 64, 2, here}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {a, 64, 2, here}},
        .extent = {16, 2, 1},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
}

int main(void)
{
    setup();
    test_complete();
    test_streams();
    test_legacy();
    test_contexts();
    test_captured_event();
    test_calls();
    return done();
}
