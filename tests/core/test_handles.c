/*
 * Every kind of handle through the driver API: thousands of lives leave memory as it was, handles
 * that are stale, foreign, freed twice or invented are refused, also while other threads create,
 * use and destroy the same objects. Code is fake (tests/dev/fake_jit.h).
 *
 *     test_handles [LIVES]
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../api/driver_fixture.h"
#include "core/graph/device_node.h"
#include "core/handle.h"

#define SANITIZED (HD_SANITIZES_ADDRESSES || HD_SANITIZES_THREADS)

/* Of each kind; a leak of 32 bytes in each is more than the memory that may be left. */
static unsigned lives = SANITIZED ? 2000 : 20000;
static CUcontext base;

/*
 * How a kind lives. `out` holds the handle and, for what comes with an owner, the owner's second.
 * use() is a call that only looks; every one returns CUDA_ERROR_INVALID_HANDLE or _CONTEXT for a
 * handle that is not live.
 */
struct kind {
    enum core_handle_kind kind;
    CUresult (*create)(void **out);
    CUresult (*use)(void *handle);
    CUresult (*destroy)(void *handle, void *owner);
};

static CUresult context_create(void **out)
{
    CUcontext popped;
    CUresult result = cuCtxCreate_v2((CUcontext *)out, 0, 0);

    return result ? result : cuCtxPopCurrent_v2(&popped);
}

static CUresult context_use(void *handle)
{
    unsigned version;

    return handle ? cuCtxGetApiVersion(handle, &version) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult context_destroy(void *handle, void *owner)
{
    return cuCtxDestroy_v2(handle);
}

static CUresult module_create(void **out)
{
    return cuModuleLoadData((CUmodule *)out, driver_ptx);
}

static CUresult module_use(void *handle)
{
    unsigned count;

    return cuModuleGetFunctionCount(&count, handle);
}

static CUresult module_destroy(void *handle, void *owner)
{
    return cuModuleUnload(owner ? owner : handle);
}

static CUresult function_create(void **out)
{
    CUresult result = module_create(&out[1]);

    return result ? result : cuModuleGetFunction((CUfunction *)out, out[1], "add");
}

static CUresult function_use(void *handle)
{
    int value;

    return cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, handle);
}

static CUresult library_create(void **out)
{
    return cuLibraryLoadData((CUlibrary *)out, driver_ptx, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult library_use(void *handle)
{
    unsigned count;

    return cuLibraryGetKernelCount(&count, handle);
}

static CUresult library_destroy(void *handle, void *owner)
{
    return cuLibraryUnload(owner ? owner : handle);
}

static CUresult kernel_create(void **out)
{
    CUresult result = library_create(&out[1]);
    CUfunction func;

    result = result ? result : cuLibraryGetKernel((CUkernel *)out, out[1], "add");
    return result ? result : cuKernelGetFunction(&func, out[0]);
}

static CUresult kernel_use(void *handle)
{
    const char *name;

    return cuKernelGetName(&name, handle);
}

static CUresult stream_create(void **out)
{
    return cuStreamCreate((CUstream *)out, 0);
}

static CUresult stream_use(void *handle)
{
    return handle ? cuStreamQuery(handle) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult stream_destroy(void *handle, void *owner)
{
    return cuStreamDestroy_v2(handle);
}

static CUresult event_create(void **out)
{
    CUresult result = cuEventCreate((CUevent *)out, 0);

    return result ? result : cuEventRecord(out[0], NULL);
}

/* Another thread may just have recorded it. */
static CUresult event_use(void *handle)
{
    CUresult result = cuEventQuery(handle);

    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
}

static CUresult event_destroy(void *handle, void *owner)
{
    return cuEventDestroy_v2(handle);
}

static CUresult link_create(void **out)
{
    return cuLinkCreate_v2(0, NULL, NULL, (CUlinkState *)out);
}

static CUresult link_use(void *handle)
{
    return cuLinkAddData_v2(handle, CU_JIT_INPUT_PTX, (void *)(uintptr_t)driver_ptx,
                            sizeof(driver_ptx), "unit", 0, NULL, NULL);
}

static CUresult link_destroy(void *handle, void *owner)
{
    return cuLinkDestroy(handle);
}

static CUresult graph_create(void **out)
{
    return cuGraphCreate((CUgraph *)out, 0);
}

static CUresult graph_use(void *handle)
{
    size_t n;

    return cuGraphGetNodes(handle, NULL, &n);
}

static CUresult graph_destroy(void *handle, void *owner)
{
    return cuGraphDestroy(owner ? owner : handle);
}

static CUresult node_create(void **out)
{
    CUresult result = graph_create(&out[1]);

    return result ? result : cuGraphAddEmptyNode((CUgraphNode *)out, out[1], NULL, 0);
}

static CUresult node_use(void *handle)
{
    CUgraphNodeType type;

    return cuGraphNodeGetType(handle, &type);
}

static CUresult exec_create(void **out)
{
    void *node[2];
    CUresult result = node_create(node);

    if (result == CUDA_SUCCESS)
        result = cuGraphInstantiateWithFlags((CUgraphExec *)out, node[1], 0);
    return result ? result : cuGraphDestroy(node[1]);
}

static CUresult exec_use(void *handle)
{
    cuuint64_t flags;

    return cuGraphExecGetFlags(handle, &flags);
}

static CUresult exec_destroy(void *handle, void *owner)
{
    return cuGraphExecDestroy(handle);
}

/* Of a kernel that the graph keeps; no call of the host uses the handle. */
static CUresult device_node_create(void **out)
{
    CUlaunchAttributeValue value = {.deviceUpdatableKernelNode = {.deviceUpdatable = 1}};
    CUDA_KERNEL_NODE_PARAMS params = {0};
    uint64_t words[8] = {0};
    void *args[8], *function[2];
    CUgraphNode node;
    CUresult result = function_create(function);

    for (int i = 0; i < 8; i++)
        args[i] = &words[i];
    params.func = function[0];
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = args;
    if (result == CUDA_SUCCESS)
        result = graph_create(&out[1]);
    if (result == CUDA_SUCCESS)
        result = cuGraphAddKernelNode_v2(&node, out[1], NULL, 0, &params);
    if (result == CUDA_SUCCESS)
        result = cuGraphKernelNodeSetAttribute(
            node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value);
    out[0] = value.deviceUpdatableKernelNode.devNode;
    return result ? result : cuModuleUnload(function[1]);
}

static CUresult device_node_use(void *handle)
{
    return core_device_node_enable(handle, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void object_end(void *arg)
{
}

static CUresult object_create(void **out)
{
    return cuUserObjectCreate((CUuserObject *)out, NULL, object_end, 1,
                              CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
}

/* Other threads may destroy it between the two. */
static CUresult object_use(void *handle)
{
    CUresult result = cuUserObjectRetain(handle, 1);

    return result ? result : cuUserObjectRelease(handle, 1);
}

static CUresult object_destroy(void *handle, void *owner)
{
    return cuUserObjectRelease(handle, 1);
}

static CUresult array_create(void **out)
{
    const CUDA_ARRAY_DESCRIPTOR desc = {4, 4, CU_AD_FORMAT_FLOAT, 1};

    return cuArrayCreate_v2((CUarray *)out, &desc);
}

static CUresult array_use(void *handle)
{
    CUDA_ARRAY_DESCRIPTOR desc;

    return cuArrayGetDescriptor_v2(&desc, handle);
}

static CUresult array_destroy(void *handle, void *owner)
{
    return cuArrayDestroy(handle);
}

static CUresult texture_create(void **out)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC texture = {0};
    CUresult result = array_create(&out[1]);

    resource.res.array.hArray = out[1];
    return result ? result : cuTexObjectCreate((CUtexObject *)out, &resource, &texture, NULL);
}

static CUresult texture_use(void *handle)
{
    CUDA_TEXTURE_DESC desc;

    return cuTexObjectGetTextureDesc(&desc, (CUtexObject)(uintptr_t)handle);
}

static CUresult texture_destroy(void *handle, void *owner)
{
    CUresult result = cuTexObjectDestroy((CUtexObject)(uintptr_t)handle);

    if (owner)
        (void)cuArrayDestroy(owner);
    return result;
}

static CUresult mempool_create(void **out)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};

    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return cuMemPoolCreate((CUmemoryPool *)out, &props);
}

static CUresult mempool_use(void *handle)
{
    cuuint64_t used_B;

    return cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used_B);
}

static CUresult mempool_destroy(void *handle, void *owner)
{
    return cuMemPoolDestroy(handle);
}

static CUresult extmem_create(void **out)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD};
    int fd = memfd_create("external", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    desc.handle.fd = fd;
    desc.size = 4096;
    if (fd < 0 || ftruncate(fd, 4096) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        abort();
    return cuImportExternalMemory((CUexternalMemory *)out, &desc);
}

static CUresult extmem_use(void *handle)
{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.size = 64};
    CUdeviceptr p;
    CUresult result = cuExternalMemoryGetMappedBuffer(&p, handle, &part);

    return result ? result : cuMemFree_v2(p);
}

static CUresult extmem_destroy(void *handle, void *owner)
{
    return cuDestroyExternalMemory(handle);
}

static CUresult extsem_create(void **out)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.type =
                                                    CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD};

    desc.handle.fd = eventfd(0, EFD_CLOEXEC);
    return cuImportExternalSemaphore((CUexternalSemaphore *)out, &desc);
}

static CUresult extsem_use(void *handle)
{
    CUexternalSemaphore sem = handle;
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS how = {.flags = 0};
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS params = {&sem, &how, 1};
    CUgraphNode node;
    CUgraph graph;
    CUresult result = cuGraphCreate(&graph, 0);

    if (result)
        return result;
    result = cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &params);
    return cuGraphDestroy(graph) ? CUDA_ERROR_UNKNOWN : result;
}

static CUresult extsem_destroy(void *handle, void *owner)
{
    return cuDestroyExternalSemaphore(handle);
}

static CUresult texref_create(void **out)
{
    return cuTexRefCreate((CUtexref *)out);
}

static CUresult texref_use(void *handle)
{
    return cuTexRefSetFlags(handle, 0);
}

static CUresult texref_destroy(void *handle, void *owner)
{
    return cuTexRefDestroy(handle);
}

static CUresult allocation_create(void **out)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

    return cuMemCreate((CUmemGenericAllocationHandle *)out, 2u << 20, &prop, 0);
}

static CUresult allocation_use(void *handle)
{
    CUmemAllocationProp prop;

    return cuMemGetAllocationPropertiesFromHandle(&prop, (uintptr_t)handle);
}

static CUresult allocation_destroy(void *handle, void *owner)
{
    return cuMemRelease((uintptr_t)handle);
}

static CUresult green_create(void **out)
{
    CUdevResourceDesc desc;
    CUdevResource all;

    if (cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) ||
        cuDevResourceGenerateDesc(&desc, &all, 1))
        abort();
    return cuGreenCtxCreate((CUgreenCtx *)out, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM);
}

static CUresult green_use(void *handle)
{
    unsigned long long id;

    return cuGreenCtxGetId(handle, &id);
}

static CUresult green_destroy(void *handle, void *owner)
{
    return cuGreenCtxDestroy(handle);
}

static const struct kind kinds[] = {
    {CORE_CONTEXT, context_create, context_use, context_destroy},
    {CORE_MODULE, module_create, module_use, module_destroy},
    {CORE_FUNCTION, function_create, function_use, module_destroy},
    {CORE_LIBRARY, library_create, library_use, library_destroy},
    {CORE_KERNEL, kernel_create, kernel_use, library_destroy},
    {CORE_STREAM, stream_create, stream_use, stream_destroy},
    {CORE_EVENT, event_create, event_use, event_destroy},
    {CORE_LINK, link_create, link_use, link_destroy},
    {CORE_GRAPH, graph_create, graph_use, graph_destroy},
    {CORE_NODE, node_create, node_use, graph_destroy},
    {CORE_EXEC, exec_create, exec_use, exec_destroy},
    {CORE_DEVICE_NODE, device_node_create, device_node_use, graph_destroy},
    {CORE_USER_OBJECT, object_create, object_use, object_destroy},
    {CORE_ARRAY, array_create, array_use, array_destroy},
    {CORE_TEXTURE, texture_create, texture_use, texture_destroy},
    {CORE_TEXREF, texref_create, texref_use, texref_destroy},
    {CORE_MEMPOOL, mempool_create, mempool_use, mempool_destroy},
    {CORE_EXTMEM, extmem_create, extmem_use, extmem_destroy},
    {CORE_EXTSEM, extsem_create, extsem_use, extsem_destroy},
    {CORE_ALLOCATION, allocation_create, allocation_use, allocation_destroy},
    {CORE_GREEN, green_create, green_use, green_destroy},
};
_Static_assert(HD_COUNT_OF(kinds) == CORE_HANDLE_COUNT, "every kind is tested");

static bool refused(CUresult result)
{
    return result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_CONTEXT ||
           result == CUDA_ERROR_INVALID_VALUE;
}

static uint64_t resident_B(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f || fscanf(f, "%llu %llu", &size, &resident) != 2)
        abort();
    fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- one thread */

static unsigned cycles(const struct kind *k, unsigned count)
{
    void *stale[2] = {0}, *live[2];
    unsigned wrong = 0;

    for (unsigned i = 0; i < count; i++) {
        live[0] = live[1] = NULL;
        wrong += k->create(live) != CUDA_SUCCESS || k->use(live[0]) != CUDA_SUCCESS;
        /* The previous one's cell is this one's by now. */
        wrong += i && !refused(k->use(stale[0]));
        wrong += i && !refused(k->destroy(stale[0], stale[1]));
        wrong += k->destroy(live[0], live[1]) != CUDA_SUCCESS;
        wrong += !refused(k->use(live[0])) || !refused(k->destroy(live[0], live[1]));
        stale[0] = live[0], stale[1] = live[1];
    }
    return wrong;
}

static void test_cycles(const struct kind *k)
{
    const char *text = core_handle_text(k->kind);
    uint64_t used[CORE_HANDLE_COUNT], before_B, after_B;
    struct core_handle_usage usage;
    unsigned left = 0;

    eq_u64(cycles(k, lives / 20), 0, "%s: lives to warm up", text);
    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++)
        used[i] = core_handle_usage(i).used;
    usage = core_handle_usage(k->kind);
    before_B = resident_B();
    eq_u64(cycles(k, lives), 0, "%s: %u lives", text, lives);
    after_B = resident_B();
    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++)
        left += core_handle_usage(i).used != used[i];
    eq_u64(left, 0, "%s: no object of any kind is left", text);
    eq_u64(core_handle_usage(k->kind).touched, usage.touched, "%s: in the cells it had", text);
    if (SANITIZED)
        skip("memory is the sanitizer's");
    else
        ok(after_B < before_B + (512u << 10), "%s: memory stays flat (%lld KiB more)", text,
           ((long long)after_B - (long long)before_B) / 1024);
}

static bool destroys_owner(const struct kind *k)
{
    return k->kind == CORE_FUNCTION || k->kind == CORE_KERNEL || k->kind == CORE_NODE;
}

/* A handle of one kind is none of another; and no pointer is one. */
static void test_foreign(void)
{
    void *handles[CORE_HANDLE_COUNT][2] = {0};
    unsigned wrong = 0, taken = 0;
    uint64_t state = tap_seed();

    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++)
        wrong += kinds[i].create(handles[i]) != CUDA_SUCCESS;
    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++) {
        for (unsigned j = 0; j < CORE_HANDLE_COUNT; j++) {
            /* A CUkernel is a CUfunction in all calls that take one. */
            if (i != j && !(kinds[i].kind == CORE_FUNCTION && kinds[j].kind == CORE_KERNEL))
                taken += !refused(kinds[i].use(handles[j][0]));
            if (kinds[i].destroy != kinds[j].destroy && !destroys_owner(&kinds[i]))
                taken += !refused(kinds[i].destroy(handles[j][0], NULL));
        }
        taken += !refused(kinds[i].use(&state)) || !refused(kinds[i].use(NULL));
        taken += !refused(kinds[i].destroy(&state, NULL));
        for (unsigned n = 0; n < 10000; n++)
            taken += !refused(kinds[i].use((void *)(uintptr_t)tap_random(&state)));
    }
    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++)
        wrong += kinds[i].destroy(handles[i][0], handles[i][1]) != CUDA_SUCCESS;
    eq_u64(wrong, 0, "one of each kind");
    eq_u64(taken, 0, "foreign and invented handles that were taken");
}

/* ---- many threads, one table of handles */

enum { THREADS = 4, SLOTS = 4, STEPS = SANITIZED ? 1500 : 6000 };

static _Atomic uintptr_t shared[CORE_HANDLE_COUNT][SLOTS]; /* the handle, maybe stale */
static _Atomic uintptr_t owners[CORE_HANDLE_COUNT][SLOTS];

/* The first unexpected result under threads: `where` is a kind, or what work() does besides. */
static _Atomic int first_wrong;
static const char *_Atomic first_where;

static unsigned unexpected(CUresult result, const char *where)
{
    int none = 0;

    if (result == CUDA_SUCCESS || refused(result) || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return 0;
    if (atomic_compare_exchange_strong(&first_wrong, &none, (int)result))
        atomic_store(&first_where, where);
    return 1;
}

static unsigned step(uint64_t *state)
{
    unsigned i = (unsigned)(tap_random(state) % CORE_HANDLE_COUNT);
    unsigned slot = (unsigned)(tap_random(state) % SLOTS);
    void *handles[2] = {0};
    CUresult result;

    switch (tap_random(state) % 4) {
    case 0:
        result = kinds[i].create(handles);
        if (result != CUDA_SUCCESS)
            return unexpected(result, "create");
        /* Whatever was in the slot is destroyed by who finds it there, perhaps by two. */
        handles[0] = (void *)atomic_exchange(&shared[i][slot], (uintptr_t)handles[0]);
        handles[1] = (void *)atomic_exchange(&owners[i][slot], (uintptr_t)handles[1]);
        return unexpected(kinds[i].destroy(handles[0], handles[1]), "destroy what was there");
    case 1:
        handles[0] = (void *)atomic_load(&shared[i][slot]);
        handles[1] = (void *)atomic_load(&owners[i][slot]);
        return unexpected(kinds[i].destroy(handles[0], handles[1]), "destroy");
    default:
        return unexpected(kinds[i].use((void *)atomic_load(&shared[i][slot])), "use");
    }
}

static void *work(void *arg)
{
    uint64_t state = (uintptr_t)arg, wrong = 0;
    CUstream own;

    wrong += cuCtxSetCurrent(base) != CUDA_SUCCESS;
    for (unsigned i = 0; i < STEPS; i++) {
        wrong += step(&state);
        if (i % 64 == 0)
            wrong += unexpected(
                cuEventRecord((CUevent)atomic_load(&shared[CORE_EVENT][0]), CU_STREAM_PER_THREAD),
                "record");
        if (i % 256 == 0)
            wrong +=
                cuStreamCreate(&own, 0) != CUDA_SUCCESS || cuStreamDestroy_v2(own) != CUDA_SUCCESS;
    }
    return (void *)(uintptr_t)wrong;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    uint64_t seed = tap_seed(), wrong = 0, used[CORE_HANDLE_COUNT], left = 0;

    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++)
        used[i] = core_handle_usage(i).used;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(seed + i));
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;

        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    eq_u64(wrong, 0, "unexpected results under %d threads (%s: %d)", THREADS,
           first_where ? first_where : "none", first_wrong);
    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++)
        for (unsigned slot = 0; slot < SLOTS; slot++)
            (void)kinds[i].destroy((void *)shared[i][slot], (void *)owners[i][slot]);
    success(cuCtxSynchronize(), "all done");
    left += cycles(&kinds[CORE_EVENT], 1) + cycles(&kinds[CORE_STREAM], 1); /* reap */
    for (unsigned i = 0; i < CORE_HANDLE_COUNT; i++)
        left += core_handle_usage(i).used != used[i];
    eq_u64(left, 0, "nothing is left of what the threads made");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        lives = (unsigned)strtoul(argv[1], NULL, 10);
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&base, 0, 0), "a context");
    test_foreign();
    test_threads();
    for (unsigned i = 0; i < HD_COUNT_OF(kinds); i++)
        test_cycles(&kinds[i]);
    success(cuCtxDestroy_v2(base), "destroy the context");
    return done();
}
