/*
 * Which calls of the runtime a capture forbids, by mode: the list is from the documentation of
 * cudaStreamBeginCapture, cudaThreadExchangeStreamCaptureMode and the legacy default stream, and
 * from what programs on hardware are told.
 */
#include <pthread.h>

#include "runtime_fixture.h"

static cudaStream_t stream, other;
static cudaEvent_t event, captured;
static cudaGraphExec_t exec, exec2;
static cudaArray_t array;
static cudaMipmappedArray_t mips;
static cudaMemPool_t pool;
static void *device, *host, *kept, *managed;
static char bytes[8192];
static size_t pitch_B;
static uint64_t number;

static const struct cudaChannelFormatDesc desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static const struct cudaExtent flat = {16, 4, 0};
static const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                              .location = {.type = cudaMemLocationTypeDevice}};

static struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice};
static const struct cudaMemAccessDesc rights = {.location = {.type = cudaMemLocationTypeDevice},
                                                .flags = cudaMemAccessFlagsProtReadWrite};
static enum cudaMemAccessFlags access_flags;

/* In an order in which each can succeed. */
#define UNSAFE_LIST(X)                                                                             \
    X(cudaMalloc(&device, 64))                                                                     \
    X(cudaFree(device))                                                                            \
    X(cudaFree(NULL))                                                                              \
    X(cudaMallocPitch(&device, &pitch_B, 64, 4))                                                   \
    X(cudaFree(device))                                                                            \
    X(cudaMallocManaged(&device, 64, cudaMemAttachGlobal))                                         \
    X(cudaFree(device))                                                                            \
    X(cudaMallocHost(&host, 64))                                                                   \
    X(cudaFreeHost(host))                                                                          \
    X(cudaHostAlloc(&host, 64, cudaHostAllocMapped))                                               \
    X(cudaFreeHost(host))                                                                          \
    X(cudaHostRegister(bytes, 64, 0))                                                              \
    X(cudaHostUnregister(bytes))                                                                   \
    X(cudaMallocArray(&array, &desc, 16, 16, 0))                                                   \
    X(cudaFreeArray(array))                                                                        \
    X(cudaMalloc3DArray(&array, &desc, flat, 0))                                                   \
    X(cudaFreeArray(array))                                                                        \
    X(cudaMallocMipmappedArray(&mips, &desc, flat, 2, 0))                                          \
    X(cudaFreeMipmappedArray(mips))                                                                \
    X(cudaMemPoolCreate(&pool, &props))                                                            \
    X(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &number))                     \
    X(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &number))                     \
    X(cudaMemPoolTrimTo(pool, 0))                                                                  \
    X(cudaMemPoolSetAccess(pool, &rights, 1))                                                      \
    X(cudaMemPoolGetAccess(&access_flags, pool, &here))                                            \
    X(cudaMemPoolDestroy(pool))                                                                    \
    X(cudaDeviceEnablePeerAccess(1, 0))                                                            \
    X(cudaDeviceDisablePeerAccess(1))                                                              \
    X(cudaEventQuery(event))                                                                       \
    X(cudaEventSynchronize(event))                                                                 \
    X(cudaGraphExecDestroy(exec))

/* In each mode, by any thread; with the code. The stream that captures is a blocking one. */
#define ALWAYS_LIST(X)                                                                             \
    X(cudaStreamSynchronize(stream), Unsupported)                                                  \
    X(cudaStreamQuery(stream), Unsupported)                                                        \
    X(cudaMemPrefetchAsync(managed, 64, here, 0, stream), Unsupported)                             \
    X(cudaMemPrefetchAsync(managed, 64, here, 0, NULL), Implicit)                                  \
    X(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachGlobal), Unsupported)              \
    X(cudaStreamAddCallback(stream, stream_func, NULL, 0), Unsupported)                            \
    X(cudaGraphUpload(exec2, stream), Unsupported)                                                 \
    X(cudaGraphUpload(exec2, NULL), Implicit)                                                      \
    X(cudaStreamWaitEvent(NULL, event, 0), Implicit)                                               \
    X(cudaMemcpyAsync(kept, bytes, 0, cudaMemcpyDefault, NULL), Implicit)                          \
    X(cudaDeviceSynchronize(), Unsupported)                                                        \
    X(cudaMemcpy(kept, bytes, 64, cudaMemcpyHostToDevice), Implicit)                               \
    X(cudaMemcpy(bytes, kept, 64, cudaMemcpyDeviceToHost), Implicit)                               \
    X(cudaMemcpyAsync(kept, bytes, 64, cudaMemcpyDefault, NULL), Implicit)                         \
    X(cudaMemcpyAsync(kept, bytes, 64, cudaMemcpyDefault, cudaStreamLegacy), Implicit)             \
    X(cudaMemset(kept, 0, 64), Implicit)                                                           \
    X(cudaMemsetAsync(kept, 0, 64, NULL), Implicit)                                                \
    X(cudaEventRecord(event, NULL), Implicit)                                                      \
    X(cudaLaunchHostFunc(NULL, host_func, NULL), Implicit)                                         \
    X(cudaStreamSynchronize(NULL), Implicit)                                                       \
    X(cudaStreamQuery(NULL), Implicit)                                                             \
    X(cudaMallocAsync(&device, 64, NULL), Implicit)

static void host_func(void *unused)
{
    (void)unused;
}

static void CUDART_CB stream_func(cudaStream_t unused, cudaError_t error, void *arg)
{
    (void)unused, (void)error, (void)arg;
}

static cudaError_t unsafe_call(unsigned i, const char **out_name)
{
    unsigned at = 0;

#define X(call)                                                                                    \
    if (at++ == i) {                                                                               \
        *out_name = #call;                                                                         \
        return (call);                                                                             \
    }
    UNSAFE_LIST(X)
#undef X
    *out_name = NULL;
    return cudaSuccess;
}

static cudaError_t always_call(unsigned i, const char **out_name, cudaError_t *out_want)
{
    unsigned at = 0;

#define X(call, code)                                                                              \
    if (at++ == i) {                                                                               \
        *out_name = #call;                                                                         \
        *out_want = cudaErrorStreamCapture##code;                                                  \
        return (call);                                                                             \
    }
    ALWAYS_LIST(X)
#undef X
    *out_name = NULL;
    return cudaSuccess;
}

static void begin(unsigned mode)
{
    eq_error(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode), cudaSuccess,
             "capture in mode %u", mode);
}

static void end(bool is_valid)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph = NULL;

    eq_error(cudaStreamIsCapturing(stream, &status), cudaSuccess, "its status");
    ok(status == (is_valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated),
       "%s", is_valid ? "goes on" : "is invalid");
    eq_error(cudaStreamEndCapture(stream, &graph),
             is_valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated, "the capture ends");
    ok(!graph == !is_valid, "with a graph or none");
    if (graph)
        eq_error(cudaGraphDestroy(graph), cudaSuccess, "destroy");
    (void)cudaGetLastError();
}

struct call {
    unsigned i;
    const char *name;
    cudaError_t result;
    bool has_mode; /* the thread's is set */
    enum cudaStreamCaptureMode mode;
};

static void *call_main(void *arg)
{
    struct call *call = arg;

    if (call->has_mode && cudaThreadExchangeStreamCaptureMode(&call->mode))
        abort();
    call->result = unsafe_call(call->i, &call->name);
    return NULL;
}

static struct call call_in_thread(unsigned i, bool has_mode, enum cudaStreamCaptureMode mode)
{
    struct call call = {.i = i, .has_mode = has_mode, .mode = mode};
    pthread_t thread;

    if (pthread_create(&thread, NULL, call_main, &call))
        abort();
    pthread_join(thread, NULL);
    return call;
}

static void refused(unsigned mode, bool by_thread, unsigned i, const char **out_name)
{
    cudaError_t result;

    begin(mode);
    if (by_thread) {
        struct call call = call_in_thread(i, false, 0);
        result = call.result;
        *out_name = call.name;
    } else {
        result = unsafe_call(i, out_name);
    }
    if (*out_name)
        eq_error(result, cudaErrorStreamCaptureUnsupported, "%s%s", *out_name,
                 by_thread ? " by another thread" : "");
    end(!*out_name);
}

/* Ways in which it may be called, one for each call: it can be done once. */
static void allowed(unsigned i)
{
    static const struct {
        enum cudaStreamCaptureMode mode;
        bool by_thread, has_mode;
        enum cudaStreamCaptureMode thread_mode;
    } ways[] = {
        {cudaStreamCaptureModeRelaxed, false, false, 0},
        {cudaStreamCaptureModeThreadLocal, true, false, 0},
        {cudaStreamCaptureModeGlobal, true, true, cudaStreamCaptureModeThreadLocal},
        {cudaStreamCaptureModeGlobal, true, true, cudaStreamCaptureModeRelaxed},
        {cudaStreamCaptureModeRelaxed, true, false, 0},
    };
    unsigned way = i % HD_COUNT_OF(ways);
    struct call call = {.i = i};

    begin(ways[way].mode);
    if (ways[way].by_thread)
        call = call_in_thread(i, ways[way].has_mode, ways[way].thread_mode);
    else
        call.result = unsafe_call(i, &call.name);
    eq_error(call.result, cudaSuccess, "%s, allowed in way %u", call.name, way);
    end(true);
}

static void test_unsafe(void)
{
    const char *name = "";

    for (unsigned i = 0;; i++) {
        refused(cudaStreamCaptureModeGlobal, false, i, &name);
        if (!name)
            return;
        refused(cudaStreamCaptureModeThreadLocal, false, i, &name);
        refused(cudaStreamCaptureModeGlobal, true, i, &name);
        allowed(i);
    }
}

static void test_always(void)
{
    const char *name = "";
    cudaError_t want = cudaSuccess;

    for (unsigned i = 0; name; i++)
        for (unsigned mode = 0; mode < 3 && name; mode++) {
            begin(mode);
            cudaError_t result = always_call(i, &name, &want);
            if (name)
                eq_error(result, want, "%s in mode %u", name, mode);
            end(!name);
        }
}

static void test_captured_event(void)
{
    float ms;

    for (unsigned mode = 0; mode < 3; mode++)
        for (unsigned i = 0; i < 3; i++) {
            begin(mode);
            eq_error(cudaEventRecord(captured, stream), cudaSuccess, "record");
            eq_error(i == 0   ? cudaEventQuery(captured)
                     : i == 1 ? cudaEventSynchronize(captured)
                              : cudaEventElapsedTime(&ms, captured, event),
                     cudaErrorCapturedEvent, "the event of a capture, %u", i);
            end(false);
        }
}

int main(void)
{
    cudaGraph_t graph;

    setenv("HEDDLE_DEVICES", "2", 1);
    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    eq_error(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess, "stream");
    eq_error(cudaEventCreate(&event), cudaSuccess, "event");
    eq_error(cudaEventCreate(&captured), cudaSuccess, "event");
    eq_error(cudaEventRecord(event, other), cudaSuccess, "recorded before");
    eq_error(cudaStreamSynchronize(other), cudaSuccess, "wait");
    eq_error(cudaMalloc(&kept, 64), cudaSuccess, "memory");
    eq_error(cudaGraphCreate(&graph, 0), cudaSuccess, "graph");
    eq_error(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess, "instantiate");
    eq_error(cudaGraphInstantiate(&exec2, graph, 0), cudaSuccess, "instantiate");
    eq_error(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal), cudaSuccess, "memory");
    test_unsafe();
    test_always();
    test_captured_event();
    return done();
}
