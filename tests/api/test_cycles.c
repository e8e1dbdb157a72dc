/*
 * Making and destroying every kind of object over and over leaves the process as large as it was.
 *
 *     test_cycles [N]     cycles of each kind; 2,000 without, 100,000 in the slow test
 *
 * What counts is what the process has after N cycles beyond what it had after a tenth of them:
 * pages in memory, mappings, descriptors, threads.
 */
#include "driver_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>

#define GRANULE ((size_t)2 << 20)
/* What the C library and the kernel keep for themselves: arenas, merged mappings. */
#define PAGES_MORE   64u
#define MAPS_MORE    32u
#define THREADS_MORE 64u

#define IS_SANITIZED (HD_SANITIZES_ADDRESSES || HD_SANITIZES_THREADS)

static CUcontext ctx;

/* One cycle ends the test when something fails: N messages help nobody. */
#define CK(call)                                                                                   \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        if (result_) {                                                                             \
            printf("Bail out! %s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)result_);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- a cycle of each kind */

static void cycle_context(void)
{
    CUcontext other;

    CK(cuCtxCreate_v2(&other, 0, 0));
    CK(cuCtxDestroy_v2(other));
    CK(cuCtxSetCurrent(ctx));
}

static void cycle_primary(void)
{
    CUcontext primary;
    CUdeviceptr p;

    CK(cuDevicePrimaryCtxRetain(&primary, 1));
    CK(cuCtxPushCurrent_v2(primary));
    CK(cuMemAlloc_v2(&p, 64));
    CK(cuCtxPopCurrent_v2(&primary));
    CK(cuDevicePrimaryCtxRelease_v2(1));
}

static void cycle_reset(void)
{
    CUcontext primary;
    CUstream stream;

    CK(cuDevicePrimaryCtxRetain(&primary, 1));
    CK(cuCtxPushCurrent_v2(primary));
    CK(cuStreamCreate(&stream, 0));
    CK(cuDevicePrimaryCtxReset_v2(1));
    CK(cuCtxPopCurrent_v2(&primary));
    CK(cuDevicePrimaryCtxRelease_v2(1));
}

static void cycle_module(void)
{
    CUmodule module;
    CUfunction func;
    CUdeviceptr table;
    CUtexref unused;
    size_t size_B;

    CK(cuModuleLoadData(&module, driver_ptx));
    CK(cuModuleGetFunction(&func, module, "add"));
    CK(cuModuleGetGlobal_v2(&table, &size_B, module, "table"));
    if (cuModuleGetTexRef(&unused, module, "none") != CUDA_ERROR_NOT_FOUND)
        abort();
    CK(cuModuleUnload(module));
}

static void cycle_library(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction func;

    CK(cuLibraryLoadData(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CK(cuLibraryGetKernel(&kernel, library, "add"));
    CK(cuKernelGetFunction(&func, kernel));
    CK(cuLibraryUnload(library));
}

static void cycle_link(void)
{
    CUlinkState link;

    CK(cuLinkCreate_v2(0, NULL, NULL, &link));
    CK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)driver_ptx, sizeof(driver_ptx), "text", 0,
                        NULL, NULL));
    CK(cuLinkDestroy(link));
}

static void cycle_stream(void)
{
    CUlaunchAttributeValue value = {.syncPolicy = CU_SYNC_POLICY_SPIN};
    CUstream stream;
    CUdeviceptr p;

    CK(cuStreamCreate(&stream, 0));
    CK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    CK(cuMemAllocAsync(&p, 4096, stream));
    CK(cuMemsetD8Async(p, 1, 4096, stream));
    CK(cuMemFreeAsync(p, stream));
    CK(cuStreamDestroy_v2(stream)); /* with work left */
}

static void CUDA_CB nothing(void *unused)
{
    (void)unused;
}

static void cycle_host_function(void)
{
    CUstream stream;

    CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CK(cuLaunchHostFunc(stream, nothing, NULL));
    CK(cuStreamSynchronize(stream));
    CK(cuStreamDestroy_v2(stream));
}

static void cycle_event(void)
{
    CUevent event;

    CK(cuEventCreate(&event, 0));
    CK(cuEventRecord(event, NULL));
    CK(cuEventDestroy_v2(event));
}

static void cycle_ipc_event(void)
{
    CUipcEventHandle handle;
    CUevent event;

    CK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CK(cuIpcGetEventHandle(&handle, event));
    CK(cuEventRecord(event, NULL));
    CK(cuEventDestroy_v2(event));
}

static void *thread_main(void *unused)
{
    CK(cuCtxSetCurrent(ctx));
    CK(cuEventRecord_ptsz((CUevent)unused, NULL));
    CK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

/* A thread with a stream of its own. */
static void cycle_thread(void)
{
    static CUevent event;
    pthread_t thread;

    if (!event)
        CK(cuEventCreate(&event, 0));
    if (pthread_create(&thread, NULL, thread_main, event) || pthread_join(thread, NULL))
        abort();
}

/* A graph of nodes of several types with its clone, launched. */
static void cycle_graph(void)
{
    CUDA_MEMSET_NODE_PARAMS fill = {.elementSize = 4, .width = 16, .height = 1};
    CUDA_HOST_NODE_PARAMS host = {.fn = nothing};
    CUgraph graph, clone, child;
    CUgraphNode a, b, c;
    CUgraphExec exec;
    CUdeviceptr p;

    CK(cuMemAlloc_v2(&p, 64));
    fill.dst = p;
    CK(cuGraphCreate(&graph, 0));
    CK(cuGraphCreate(&child, 0));
    CK(cuGraphAddHostNode(&a, child, NULL, 0, &host));
    CK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &fill, ctx));
    CK(cuGraphAddChildGraphNode(&b, graph, &a, 1, child));
    CK(cuGraphAddEmptyNode(&c, graph, &b, 1));
    CK(cuGraphDestroyNode(c));
    CK(cuGraphClone(&clone, graph));
    CK(cuGraphInstantiateWithFlags(&exec, clone, 0));
    CK(cuGraphLaunch(exec, NULL));
    CK(cuGraphExecDestroy(exec));
    CK(cuGraphDestroy(clone));
    CK(cuGraphDestroy(child));
    CK(cuGraphDestroy(graph));
    CK(cuMemFree_v2(p));
}

static void cycle_capture(void)
{
    CUstream stream;
    CUgraph graph;
    CUdeviceptr p;

    CK(cuStreamCreate(&stream, 0));
    CK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CK(cuMemAllocAsync(&p, 64, stream));
    CK(cuMemFreeAsync(p, stream));
    CK(cuStreamEndCapture(stream, &graph));
    CK(cuGraphDestroy(graph));
    CK(cuStreamDestroy_v2(stream));
}

static void cycle_condition(void)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUgraph graph;
    CUgraphNode node;

    CK(cuGraphCreate(&graph, 0));
    CK(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, ctx, 1, 1));
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 1;
    params.conditional.ctx = ctx;
    CK(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
    CK(cuGraphDestroy(graph));
}

static void cycle_device_node(void)
{
    static CUmodule module;
    CUlaunchAttributeValue value = {.deviceUpdatableKernelNode = {.deviceUpdatable = 1}};
    CUDA_KERNEL_NODE_PARAMS_v2 params = {.gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 1,
                                         .blockDimY = 1,
                                         .blockDimZ = 1};
    void *args[] = {&value};
    CUgraph graph;
    CUgraphNode node;

    if (!module)
        CK(cuModuleLoadData(&module, driver_ptx));
    params.func = driver_function(module, "slow");
    params.kernelParams = args;
    CK(cuGraphCreate(&graph, 0));
    CK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    CK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                                     &value));
    CK(cuGraphDestroy(graph));
}

static void cycle_user_object(void)
{
    CUuserObject object;
    CUgraph graph;

    CK(cuGraphCreate(&graph, 0));
    CK(cuUserObjectCreate(&object, NULL, nothing, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    CK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CK(cuUserObjectRelease(object, 1));
    CK(cuGraphDestroy(graph));
}

static void cycle_array(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {16, 16, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC texture = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
    CUmipmappedArray levels;
    CUtexObject object;
    CUsurfObject surface;
    CUarray array, level;

    CK(cuArray3DCreate_v2(&array, &d));
    resource.res.array.hArray = array;
    CK(cuTexObjectCreate(&object, &resource, &texture, NULL));
    CK(cuSurfObjectCreate(&surface, &resource));
    CK(cuSurfObjectDestroy(surface));
    CK(cuTexObjectDestroy(object));
    CK(cuArrayDestroy(array));
    CK(cuMipmappedArrayCreate(&levels, &d, 3));
    CK(cuMipmappedArrayGetLevel(&level, levels, 1));
    CK(cuMipmappedArrayDestroy(levels));
}

static void cycle_texref(void)
{
    CUtexref ref;

    CK(cuTexRefCreate(&ref));
    CK(cuTexRefSetFilterMode(ref, CU_TR_FILTER_MODE_LINEAR));
    CK(cuTexRefDestroy(ref));
}

static void cycle_pool(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemoryPool pool;
    CUdeviceptr p;

    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CK(cuMemPoolCreate(&pool, &props));
    CK(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
    CK(cuMemFreeAsync(p, NULL));
    CK(cuMemPoolDestroy(pool));
}

static void cycle_shared_pool(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    CUmemoryPool pool, imported;
    int fd;

    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CK(cuMemPoolCreate(&pool, &props));
    CK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CK(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    CK(cuMemPoolDestroy(imported));
    CK(cuMemPoolDestroy(pool));
}

static void cycle_external_memory(void)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                             .size = 8192};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.size = 4096};
    CUexternalMemory memory;
    CUdeviceptr p;

    desc.handle.fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(desc.handle.fd, 8192) || fcntl(desc.handle.fd, F_ADD_SEALS, F_SEAL_SHRINK))
        abort();
    CK(cuImportExternalMemory(&memory, &desc));
    CK(cuExternalMemoryGetMappedBuffer(&p, memory, &part));
    CK(cuMemFree_v2(p));
    CK(cuDestroyExternalMemory(memory));
}

static void cycle_external_semaphore(void)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.type =
                                                    CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.flags = 0};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {.flags = 0};
    CUexternalSemaphore semaphore;

    desc.handle.fd = eventfd(0, EFD_CLOEXEC);
    CK(cuImportExternalSemaphore(&semaphore, &desc));
    CK(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, NULL));
    CK(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, NULL));
    CK(cuDestroyExternalSemaphore(semaphore));
}

/* Mapped, made accessible, shared with itself. */
static void cycle_allocation(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle h, again;
    CUdeviceptr va;
    int fd;

    CK(cuMemAddressReserve(&va, GRANULE, 0, 0, 0));
    CK(cuMemCreate(&h, GRANULE, &prop, 0));
    CK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CK(cuMemMap(va, GRANULE, 0, h, 0));
    CK(cuMemSetAccess(va, GRANULE, &access, 1));
    *(volatile int *)(uintptr_t)va = 1;
    CK(cuMemUnmap(va, GRANULE));
    CK(cuMemRelease(again));
    CK(cuMemRelease(h));
    CK(cuMemAddressFree(va, GRANULE));
}

static void cycle_multicast(void)
{
    CUmulticastObjectProp prop = {.numDevices = 1, .size = GRANULE};
    CUmemGenericAllocationHandle object;

    CK(cuMulticastCreate(&object, &prop));
    CK(cuMulticastAddDevice(object, 0));
    CK(cuMemRelease(object));
}

static void cycle_green(void)
{
    CUdevResource all;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUstream stream;

    CK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    CK(cuDevResourceGenerateDesc(&desc, &all, 1));
    CK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    CK(cuStreamDestroy_v2(stream));
    CK(cuGreenCtxDestroy(green));
}

static void cycle_memory(void)
{
    CUdeviceptr p, pitched, managed;
    size_t pitch;
    void *pinned;

    CK(cuMemAlloc_v2(&p, 1 << 20));
    CK(cuMemAllocPitch_v2(&pitched, &pitch, 100, 100, 4));
    CK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    CK(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    CK(cuMemsetD8_v2(p, 1, 1 << 20));
    CK(cuMemFreeHost(pinned));
    CK(cuMemFree_v2(managed));
    CK(cuMemFree_v2(pitched));
    CK(cuMemFree_v2(p));
}

static void cycle_ipc_memory(void)
{
    CUipcMemHandle handle;
    CUdeviceptr p;

    CK(cuMemAlloc_v2(&p, GRANULE));
    CK(cuIpcGetMemHandle(&handle, p));
    CK(cuMemFree_v2(p));
}

static void cycle_registered(void)
{
    static char page[8192] __attribute__((aligned(4096)));

    CK(cuMemHostRegister_v2(page, sizeof(page), CU_MEMHOSTREGISTER_DEVICEMAP));
    CK(cuMemHostUnregister(page));
}

static void CUDA_CB log_line(void *data, CUlogLevel level, char *message, size_t length)
{
    (void)data, (void)level, (void)message, (void)length;
}

static void cycle_log(void)
{
    CUlogsCallbackHandle handle;

    CK(cuLogsRegisterCallback(log_line, NULL, &handle));
    CK(cuLogsUnregisterCallback(handle));
}

static void cycle_checkpoint(void)
{
    CK(cuCheckpointProcessLock(getpid(), NULL));
    CK(cuCheckpointProcessUnlock(getpid(), NULL));
}

static const struct {
    const char *name;
    void (*cycle)(void);
} kinds[] = {
    {"contexts", cycle_context},
    {"primary contexts", cycle_primary},
    {"resets", cycle_reset},
    {"modules and functions", cycle_module},
    {"libraries and kernels", cycle_library},
    {"links", cycle_link},
    {"streams", cycle_stream},
    {"host functions", cycle_host_function},
    {"events", cycle_event},
    {"events between processes", cycle_ipc_event},
    {"threads", cycle_thread},
    {"graphs, nodes and executables", cycle_graph},
    {"captures", cycle_capture},
    {"conditions", cycle_condition},
    {"device nodes", cycle_device_node},
    {"user objects", cycle_user_object},
    {"arrays, textures and surfaces", cycle_array},
    {"texture references", cycle_texref},
    {"memory pools", cycle_pool},
    {"shared memory pools", cycle_shared_pool},
    {"external memory", cycle_external_memory},
    {"external semaphores", cycle_external_semaphore},
    {"allocations", cycle_allocation},
    {"multicast objects", cycle_multicast},
    {"green contexts", cycle_green},
    {"memory", cycle_memory},
    {"memory between processes", cycle_ipc_memory},
    {"registered memory", cycle_registered},
    {"log callbacks", cycle_log},
    {"checkpoints", cycle_checkpoint},
};

/* ---- what the process has */

struct size {
    unsigned long pages, maps, files, threads;
};

static unsigned long entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned long n = 0;

    if (!dir)
        abort();
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static struct size size_now(void)
{
    struct size size = {.files = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
    FILE *statm = fopen("/proc/self/statm", "r"), *maps = fopen("/proc/self/maps", "r");
    int c;

    if (!statm || !maps || fscanf(statm, "%*u %lu", &size.pages) != 1)
        abort();
    while ((c = getc(maps)) != EOF)
        size.maps += c == '\n';
    fclose(statm);
    fclose(maps);
    return size;
}

static void test_kind(const char *name, void (*cycle)(void), unsigned long n)
{
    struct size before, after;

    for (unsigned long i = 0; i < n / 10; i++)
        cycle();
    CK(cuCtxSynchronize());
    before = size_now();
    for (unsigned long i = n / 10; i < n; i++)
        cycle();
    CK(cuCtxSynchronize());
    after = size_now();
    /* Sanitizers keep freed memory for a while. */
    ok(IS_SANITIZED || after.pages <= before.pages + PAGES_MORE, "%s: %lu pages, then %lu", name,
       before.pages, after.pages);
    ok(IS_SANITIZED || after.maps <= before.maps + MAPS_MORE, "%s: %lu mappings, then %lu", name,
       before.maps, after.maps);
    eq_u64(after.files, before.files, "%s: descriptors", name);
    /* Host calls of different queues run side by side; their threads end when they idle. */
    ok(after.threads <= before.threads + THREADS_MORE, "%s: %lu threads, then %lu", name,
       before.threads, after.threads);
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;

    setenv("HEDDLE_MEMORY", "256M", 1);
    setenv("HEDDLE_DEVICES", "2", 1);
    CK(cuInit(0));
    CK(cuCtxCreate_v2(&ctx, 0, 0));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        test_kind(kinds[i].name, kinds[i].cycle, n);
    CK(cuCtxDestroy_v2(ctx));
    return done();
}
