/* External semaphores by the runtime's names: of CUDA 12 and 13, and with parameters of old. */
#include <dlfcn.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "heddle/timeline.h"
#include "runtime_fixture.h"

static cudaExternalSemaphore_t binary, line;
static struct heddle_timeline *timeline;
static int binary_fd;

static cudaError_t import(cudaExternalSemaphore_t *out, enum cudaExternalSemaphoreHandleType type,
                          int fd)
{
    struct cudaExternalSemaphoreHandleDesc desc = {.type = type};

    desc.handle.fd = fd;
    return cudaImportExternalSemaphore(out, &desc);
}

static void raise_it(void)
{
    if (eventfd_write(binary_fd, 1))
        abort();
}

static bool lower_it(void)
{
    struct pollfd ready = {.fd = binary_fd, .events = POLLIN};
    eventfd_t count;

    return poll(&ready, 1, 0) == 1 && !eventfd_read(binary_fd, &count);
}

/* Waits for both (the line at 5) and signals both (9), by functions of either version. */
typedef cudaError_t (*waits)(const cudaExternalSemaphore_t *, const void *, unsigned, cudaStream_t);

static void check(waits wait, const void *wait_params, waits signal, const void *signal_params,
                  const char *what)
{
    const cudaExternalSemaphore_t both[2] = {binary, line};
    cudaStream_t stream;

    heddle_timeline_signal(timeline, 4);
    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    eq_error(wait(both, wait_params, 2, stream), cudaSuccess, "wait: %s", what);
    eq_error(signal(both, signal_params, 2, stream), cudaSuccess, "signal: %s", what);
    raise_it();
    usleep(3000);
    eq_error(cudaStreamQuery(stream), cudaErrorNotReady, "one is missing: %s", what);
    eq_u64(heddle_timeline_value(timeline), 4, "nothing is signalled: %s", what);
    heddle_timeline_signal(timeline, 5);
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "goes on: %s", what);
    eq_u64(heddle_timeline_value(timeline), 9, "signalled: %s", what);
    ok(lower_it(), "the other, too: %s", what);
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
}

static void *find(const char *name, const char *version)
{
    static void *library;
    void *func;

    if (!library)
        library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
    func = library ? dlvsym(library, name, version) : NULL;
    ok(func != NULL, "%s@%s", name, version);
    return func;
}

/* As in headers before CUDA 11.2; behind them stands what would be wrong as flags. */
struct old_wait {
    unsigned long long value;
    void *fence;
    struct {
        unsigned long long key;
        unsigned timeout_ms;
    } mutex;
    unsigned flags;
};
struct old_signal {
    unsigned long long value;
    void *fence;
    unsigned long long key;
    unsigned flags;
};

static void test_versions(void)
{
    struct cudaExternalSemaphoreWaitParams wait[2];
    struct cudaExternalSemaphoreSignalParams signal[2];
    const struct old_wait old_waits[3] = {{.value = 0}, {.value = 5}, {.flags = 77}};
    const struct old_signal old_signals[3] = {{.value = 0}, {.value = 9}, {.flags = 77}};

    memset(wait, 0, sizeof(wait));
    memset(signal, 0, sizeof(signal));
    wait[1].params.fence.value = 5;
    signal[1].params.fence.value = 9;
    check((waits)find("cudaWaitExternalSemaphoresAsync", "libcudart.so.13"), wait,
          (waits)find("cudaSignalExternalSemaphoresAsync", "libcudart.so.13"), signal, "13");
    check((waits)find("cudaWaitExternalSemaphoresAsync_v2", "libcudart.so.12"), wait,
          (waits)find("cudaSignalExternalSemaphoresAsync_v2", "libcudart.so.12"), signal, "12");
    check((waits)find("cudaWaitExternalSemaphoresAsync_v2_ptsz", "libcudart.so.12"), wait,
          (waits)find("cudaSignalExternalSemaphoresAsync_v2_ptsz", "libcudart.so.12"), signal,
          "12, streams of threads");
    check((waits)find("cudaWaitExternalSemaphoresAsync", "libcudart.so.12"), old_waits,
          (waits)find("cudaSignalExternalSemaphoresAsync", "libcudart.so.12"), old_signals,
          "before 11.2");
}

static void test_graph(void)
{
    struct cudaExternalSemaphoreWaitParams waits_of[1];
    struct cudaExternalSemaphoreSignalParams signals_of[1];
    struct cudaExternalSemaphoreWaitNodeParams wait = {&binary, waits_of, 1}, got;
    struct cudaExternalSemaphoreSignalNodeParams signal = {&line, signals_of, 1}, told;
    struct cudaGraphNodeParams any = {.type = cudaGraphNodeTypeExtSemaphoreSignal};
    cudaGraphNode_t first, second, third;
    enum cudaGraphNodeType type;
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    memset(waits_of, 0, sizeof(waits_of));
    memset(signals_of, 0, sizeof(signals_of));
    signals_of[0].params.fence.value = 20;
    eq_error(cudaGraphCreate(&graph, 0), cudaSuccess, "graph");
    eq_error(cudaGraphAddExternalSemaphoresWaitNode(&first, graph, NULL, 0, &wait), cudaSuccess,
             "wait");
    eq_error(cudaGraphAddExternalSemaphoresSignalNode(&second, graph, &first, 1, &signal),
             cudaSuccess, "signal");
    eq_error(cudaGraphExternalSemaphoresWaitNodeGetParams(first, &got), cudaSuccess, "params");
    ok(got.numExtSems == 1 && got.extSemArray[0] == binary, "of the first");
    eq_error(cudaGraphExternalSemaphoresSignalNodeGetParams(second, &told), cudaSuccess, "params");
    eq_u64(told.paramsArray[0].params.fence.value, 20, "of the second");
    eq_error(cudaGraphNodeGetType(second, &type), cudaSuccess, "type");
    eq_u64(type, cudaGraphNodeTypeExtSemaphoreSignal, "it signals");
    eq_error(cudaGraphExternalSemaphoresWaitNodeSetParams(first, &wait), cudaSuccess, "set");
    signals_of[0].params.fence.value = 30;
    eq_error(cudaGraphExternalSemaphoresSignalNodeSetParams(second, &signal), cudaSuccess, "set");
    signals_of[0].params.fence.value = 50;
    any.extSemSignal.extSemArray = &line;
    any.extSemSignal.paramsArray = signals_of;
    any.extSemSignal.numExtSems = 1;
    eq_error(cudaGraphAddNode(&third, graph, &second, NULL, 1, &any), cudaSuccess, "of any kind");
    eq_error(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess, "instantiate");
    eq_error(cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec, first, &wait), cudaSuccess,
             "set");
    signals_of[0].params.fence.value = 60;
    eq_error(cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec, third, &signal), cudaSuccess,
             "set");
    eq_error(cudaGraphLaunch(exec, 0), cudaSuccess, "launch");
    usleep(3000);
    eq_error(cudaStreamQuery(0), cudaErrorNotReady, "holds");
    raise_it();
    eq_error(cudaStreamSynchronize(0), cudaSuccess, "goes on");
    eq_u64(heddle_timeline_value(timeline), 60, "the last value");
    eq_error(cudaGraphExecDestroy(exec), cudaSuccess, "destroy");
    eq_error(cudaGraphDestroy(graph), cudaSuccess, "destroy");
}

static void test_bad(void)
{
    struct cudaExternalSemaphoreSignalParams params;
    cudaExternalSemaphore_t none = (cudaExternalSemaphore_t)&params;

    memset(&params, 0, sizeof(params));
    eq_error(import(&none, cudaExternalSemaphoreHandleTypeOpaqueWin32, binary_fd),
             cudaErrorNotSupported, "of another system");
    eq_error(import(&none, cudaExternalSemaphoreHandleTypeOpaqueFd, -1),
             cudaErrorInvalidResourceHandle, "no descriptor");
    eq_error(cudaSignalExternalSemaphoresAsync(&none, &params, 1, 0),
             cudaErrorInvalidResourceHandle, "garbage");
    eq_error(cudaWaitExternalSemaphoresAsync(&binary, NULL, 1, 0), cudaErrorInvalidValue, "null");
    eq_error(
        ((waits)find("cudaSignalExternalSemaphoresAsync", "libcudart.so.12"))(&binary, NULL, 1, 0),
        cudaErrorInvalidValue, "null, of old");
    eq_error(cudaDestroyExternalSemaphore(none), cudaErrorInvalidResourceHandle, "garbage");
    (void)cudaGetLastError();
}

/* A structure of CUDA 12, whose end is not ours. */
static void test_external_memory_12(void)
{
    struct cudaExternalMemoryHandleDesc desc;
    struct cudaExternalMemoryBufferDesc part = {.size = 4096};
    int fd = memfd_create("external", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cudaExternalMemory_t memory;
    void *p;

    if (fd < 0 || ftruncate(fd, 4096) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        abort();
    memset(&desc, 0x55, sizeof(desc));
    desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
    desc.handle.fd = fd;
    desc.size = 4096;
    desc.flags = 0;
    eq_error(cudaImportExternalMemory(&memory, &desc), cudaSuccess, "import");
    eq_error(cudaExternalMemoryGetMappedBuffer(&p, memory, &part), cudaSuccess, "map");
    eq_error(cudaFree(p), cudaSuccess, "free");
    eq_error(cudaDestroyExternalMemory(memory), cudaSuccess, "destroy");
    eq_error(cudaImportExternalMemory(&memory, NULL), cudaErrorInvalidValue, "null");
    (void)cudaGetLastError();
}

int main(void)
{
    int line_fd = -1, supported = 0;

    binary_fd = eventfd(0, EFD_CLOEXEC);
    timeline = heddle_timeline_create(&line_fd);
    if (binary_fd < 0 || !timeline)
        abort();
    eq_error(cudaDeviceGetAttribute(&supported, cudaDevAttrTimelineSemaphoreInteropSupported, 0),
             cudaSuccess, "attribute");
    eq_u64((unsigned)supported, 1, "timelines are told");
    eq_error(import(&binary, cudaExternalSemaphoreHandleTypeOpaqueFd, dup(binary_fd)), cudaSuccess,
             "import an eventfd");
    eq_error(import(&line, cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd, line_fd),
             cudaSuccess, "import a timeline");
    test_versions();
    test_graph();
    test_bad();
    test_external_memory_12();
    eq_error(cudaDestroyExternalSemaphore(binary), cudaSuccess, "destroy");
    eq_error(cudaDestroyExternalSemaphore(line), cudaSuccess, "destroy");
    eq_error(cudaDestroyExternalSemaphore(line), cudaErrorInvalidResourceHandle, "twice");
    heddle_timeline_unmap(timeline);
    return done();
}
