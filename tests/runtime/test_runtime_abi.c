/*
 * The two versions of libcudart in one library: programs built with CUDA 12 and 13 get their own
 * layouts and arguments. The names are looked up as the loader does it for such programs.
 */
#include "api/runtime/prop.h"

#include <dlfcn.h>

#include "runtime_fixture.h"

static void *library;

static void *find(const char *name, const char *version)
{
    void *func = dlvsym(library, name, version);
    ok(func != NULL, "%s@%s", name, version);
    return func;
}

#define FIND(type, name, version) ((type)find(name, "libcudart.so." version))

typedef cudaError_t (*get_int)(int *);
typedef cudaError_t (*get_prop)(void *, int);

static void test_versions(void)
{
    int version = 0;
    ok(FIND(get_int, "cudaRuntimeGetVersion", "13")(&version) == cudaSuccess, "13's version");
    eq_u64((unsigned)version, 13000, "is 13.0");
    ok(FIND(get_int, "cudaRuntimeGetVersion", "12")(&version) == cudaSuccess, "12's version");
    eq_u64((unsigned)version / 1000, 12, "is some 12");
    ok(dlvsym(library, "cudaThreadExit", "libcudart.so.13") == NULL, "13 dropped cudaThreadExit");
    ok(dlvsym(library, "cudaLogsCurrent", "libcudart.so.12") == NULL, "12 has no cudaLogsCurrent");
    ok(dlsym(library, "cudaMalloc") == dlvsym(library, "cudaMalloc", "libcudart.so.13"),
       "13 is the default");
}

static void test_properties(void)
{
    struct cudaDeviceProp p13;
    struct rt12_device_prop p12;
    unsigned char p11[RT11_DEVICE_PROP_B + 8];
    memset(p11, 0xee, sizeof(p11));
    ok(FIND(get_prop, "cudaGetDeviceProperties", "13")(&p13, 0) == cudaSuccess, "13");
    ok(FIND(get_prop, "cudaGetDeviceProperties_v2", "12")(&p12, 0) == cudaSuccess, "12");
    ok(FIND(get_prop, "cudaGetDeviceProperties", "12")(p11, 0) == cudaSuccess, "11");
    eq_str(p12.name, p13.name, "name");
    eq_u64((unsigned)p13.major, 12, "compute capability 12.0");
    eq_u64((unsigned)p12.major, 12, "also in 12's layout");
    eq_u64((unsigned)p12.multiProcessorCount, (unsigned)p13.multiProcessorCount, "SMs");
    eq_u64(p12.sharedMemPerBlockOptin, p13.sharedMemPerBlockOptin, "opt-in shared memory");
    ok(p12.clockRate > 0 && p12.memoryClockRate > 0, "12 has clock rates");
    eq_mem(p11, &p12, RT11_DEVICE_PROP_B, "11 is the beginning of 12");
    ok(p11[RT11_DEVICE_PROP_B] == 0xee, "and no byte more");
}

static void test_split(void)
{
    typedef cudaError_t (*prefetch12)(const void *, size_t, int, cudaStream_t);
    typedef cudaError_t (*prefetch13)(const void *, size_t, struct cudaMemLocation, unsigned,
                                      cudaStream_t);
    typedef cudaError_t (*info12)(cudaStream_t, enum cudaStreamCaptureStatus *,
                                  unsigned long long *);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    void *managed;
    cudaMallocManaged(&managed, 64, cudaMemAttachGlobal);
    prefetch12 old = FIND(prefetch12, "cudaMemPrefetchAsync", "12");
    prefetch13 now = FIND(prefetch13, "cudaMemPrefetchAsync", "13");
    eq_error(old(managed, 64, 0, NULL), cudaSuccess, "prefetch to device 0");
    eq_error(old(managed, 64, 99, NULL), cudaErrorInvalidDevice, "and to one that is not there");
    eq_error(now(managed, 64, device, 0, NULL), cudaSuccess, "prefetch to a location");
    eq_error(FIND(info12, "cudaStreamGetCaptureInfo", "12")(NULL, &status, NULL), cudaSuccess,
             "capture status with three arguments");
    ok(status == cudaStreamCaptureStatusNone, "none");
    cudaFree(managed);
}

/* Names that 12 has beside the ones that 13 calls so. */
static void test_second_names(void)
{
    typedef cudaError_t (*advise)(const void *, size_t, enum cudaMemoryAdvise,
                                  struct cudaMemLocation);
    typedef cudaError_t (*prefetch)(const void *, size_t, struct cudaMemLocation, unsigned,
                                    cudaStream_t);
    typedef cudaError_t (*elapsed)(float *, cudaEvent_t, cudaEvent_t);
    typedef cudaError_t (*get_limit)(size_t *, enum cudaLimit);
    typedef cudaError_t (*set_limit)(enum cudaLimit, size_t);
    typedef cudaError_t (*get_cache)(enum cudaFuncCache *);
    typedef cudaError_t (*set_cache)(enum cudaFuncCache);
    typedef cudaError_t (*set_double)(double *);
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    enum cudaFuncCache cache = cudaFuncCachePreferNone;
    size_t stack_B = 0;
    cudaEvent_t event;
    double value = 0.1;
    void *managed;
    float ms = -1;

    cudaMallocManaged(&managed, 64, cudaMemAttachGlobal);
    eq_error(
        FIND(advise, "cudaMemAdvise_v2", "12")(managed, 64, cudaMemAdviseSetReadMostly, device),
        cudaSuccess, "advice with a location");
    eq_error(FIND(prefetch, "cudaMemPrefetchAsync_v2", "12")(managed, 64, device, 0, NULL),
             cudaSuccess, "prefetch to one");
    cudaFree(managed);
    cudaEventCreate(&event);
    cudaEventRecord(event, NULL);
    cudaEventSynchronize(event);
    eq_error(FIND(elapsed, "cudaEventElapsedTime_v2", "12")(&ms, event, event), cudaSuccess,
             "time");
    ok(ms == 0, "none between an event and itself");
    cudaEventDestroy(event);
    eq_error(FIND(set_limit, "cudaThreadSetLimit", "12")(cudaLimitStackSize, 8192), cudaSuccess,
             "a thread's limit");
    eq_error(FIND(get_limit, "cudaThreadGetLimit", "12")(&stack_B, cudaLimitStackSize), cudaSuccess,
             "ask");
    eq_u64(stack_B, 8192, "it is the device's");
    eq_error(FIND(set_cache, "cudaThreadSetCacheConfig", "12")(cudaFuncCachePreferL1), cudaSuccess,
             "prefer L1");
    eq_error(FIND(get_cache, "cudaThreadGetCacheConfig", "12")(&cache), cudaSuccess, "ask");
    eq_u64(cache, cudaFuncCachePreferL1, "L1");
    eq_error(FIND(set_double, "cudaSetDoubleForDevice", "12")(&value), cudaSuccess, "a double");
    eq_error(FIND(set_double, "cudaSetDoubleForHost", "12")(&value), cudaSuccess, "and back");
    ok(value == 0.1, "it is as it was: devices have doubles");
}

static void test_second_names_of_graphs(void)
{
    typedef cudaError_t (*edges_change)(cudaGraph_t, const cudaGraphNode_t *,
                                        const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t);
    typedef cudaError_t (*edges_get)(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *,
                                     cudaGraphEdgeData *, size_t *);
    typedef cudaError_t (*nodes_get)(cudaGraphNode_t, cudaGraphNode_t *, cudaGraphEdgeData *,
                                     size_t *);
    typedef cudaError_t (*add)(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *,
                               const cudaGraphEdgeData *, size_t, struct cudaGraphNodeParams *);
    struct cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};
    cudaGraphNode_t a, b, from = NULL, to = NULL;
    cudaGraph_t graph;
    size_t n = 1;

    cudaGraphCreate(&graph, 0);
    cudaGraphAddEmptyNode(&a, graph, NULL, 0);
    eq_error(FIND(add, "cudaGraphAddNode_v2", "12")(&b, graph, NULL, NULL, 0, &empty), cudaSuccess,
             "a node");
    eq_error(FIND(edges_change, "cudaGraphAddDependencies_v2", "12")(graph, &a, &b, NULL, 1),
             cudaSuccess, "an edge");
    eq_error(FIND(edges_get, "cudaGraphGetEdges_v2", "12")(graph, &from, &to, NULL, &n),
             cudaSuccess, "ask");
    ok(n == 1 && from == a && to == b, "that one");
    eq_error(FIND(nodes_get, "cudaGraphNodeGetDependencies_v2", "12")(b, &from, NULL, &n),
             cudaSuccess, "ask");
    ok(n == 1 && from == a, "b depends on a");
    eq_error(FIND(nodes_get, "cudaGraphNodeGetDependentNodes_v2", "12")(a, &to, NULL, &n),
             cudaSuccess, "ask");
    ok(n == 1 && to == b, "which b does");
    eq_error(FIND(edges_change, "cudaGraphRemoveDependencies_v2", "12")(graph, &a, &b, NULL, 1),
             cudaSuccess, "no edge");
    eq_error(cudaGraphGetEdges(graph, NULL, NULL, NULL, &n), cudaSuccess, "ask");
    eq_u64(n, 0, "none is left");
    cudaGraphDestroy(graph);
}

static void test_second_names_of_captures(void)
{
    typedef cudaError_t (*info2)(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *,
                                 cudaGraph_t *, const cudaGraphNode_t **, size_t *);
    typedef cudaError_t (*info3)(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *,
                                 cudaGraph_t *, const cudaGraphNode_t **,
                                 const cudaGraphEdgeData **, size_t *);
    typedef cudaError_t (*update1)(cudaStream_t, cudaGraphNode_t *, size_t, unsigned);
    typedef cudaError_t (*update2)(cudaStream_t, cudaGraphNode_t *, const cudaGraphEdgeData *,
                                   size_t, unsigned);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphEdgeData *data;
    const cudaGraphNode_t *from;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t a, b;
    cudaStream_t stream;
    size_t n = 9;

    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    eq_error(
        FIND(info2, "cudaStreamGetCaptureInfo_v2", "12")(stream, &status, NULL, &graph, &from, &n),
        cudaSuccess, "ask");
    ok(status == cudaStreamCaptureStatusActive && graph && !n, "it begins");
    cudaGraphAddEmptyNode(&a, graph, NULL, 0);
    cudaGraphAddEmptyNode(&b, graph, NULL, 0);
    eq_error(FIND(update1, "cudaStreamUpdateCaptureDependencies",
                  "12")(stream, &a, 1, cudaStreamSetCaptureDependencies),
             cudaSuccess, "behind a");
    eq_error(FIND(update2, "cudaStreamUpdateCaptureDependencies_v2",
                  "12")(stream, &b, NULL, 1, cudaStreamAddCaptureDependencies),
             cudaSuccess, "and b");
    eq_error(FIND(info3, "cudaStreamGetCaptureInfo_v3", "12")(stream, &status, NULL, NULL, &from,
                                                              &data, &n),
             cudaSuccess, "ask");
    ok(n == 2 && from[0] == a && from[1] == b, "behind both");
    eq_error(cudaStreamEndCapture(stream, &graph), cudaSuccess, "end");
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

/* The table of errors: ascending, names and well-known texts. */
static void test_errors(void)
{
    int last = -1;
    bool ascending = true;
#define X(name, value, text)                                                                       \
    ascending &= value > last;                                                                     \
    last = value;
#include "api/cudart_errors.def"
#undef X
    ok(ascending, "error codes ascend");
    eq_str(cudaGetErrorString(cudaSuccess), "no error", "0");
    eq_str(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory", "2");
    eq_str(cudaGetErrorName(cudaErrorApiFailureBase), "cudaErrorApiFailureBase", "the last one");
    eq_str(cudaGetErrorString((cudaError_t)12345), "unrecognized error code", "none");
}

int main(void)
{
    library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (!ok(library != NULL, "the library is loaded by its soname"))
        return done();
    test_versions();
    test_properties();
    test_split();
    test_second_names();
    test_second_names_of_graphs();
    test_second_names_of_captures();
    test_errors();
    return done();
}
