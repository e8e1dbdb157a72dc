/*
 * Memory and events of another process by handle, external memory by descriptor. The other process
 * is this program again, which gets handles as text and tells by its exit status what went wrong.
 */
#include "driver_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANDLE_B 64
#define TEXT_B   (2 * HANDLE_B + 1)

static void to_text(const void *handle, char *out_text)
{
    for (size_t i = 0; i < HANDLE_B; i++)
        snprintf(out_text + 2 * i, 3, "%02x", ((const unsigned char *)handle)[i]);
}

static void from_text(const char *text, void *out_handle)
{
    for (size_t i = 0; i < HANDLE_B; i++) {
        unsigned byte = 0;

        (void)!sscanf(text + 2 * i, "%2x", &byte);
        ((unsigned char *)out_handle)[i] = (unsigned char)byte;
    }
}

/* Runs this program with arguments and returns its exit status. */
static pid_t start(const char *self, const char *what, const char *one, const char *two)
{
    pid_t pid = fork();

    if (!pid) {
        execl(self, self, what, one, two, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static unsigned finish(pid_t pid)
{
    int status = -1;

    waitpid(pid, &status, 0);
    return (unsigned)status;
}

/* ---- memory */

static int other_memory(const char *large_text, const char *small_text)
{
    CUipcMemHandle large, small;
    CUdeviceptr p, again, q, base;
    uint32_t seen = 0;
    size_t size_B;
    CUcontext ctx;

    from_text(large_text, &large);
    from_text(small_text, &small);
    if (cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0))
        return 1;
    if (cuIpcOpenMemHandle_v2(&p, large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
        return 2;
    if (cuIpcOpenMemHandle(&again, large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) || again != p)
        return 3;
    if (cuIpcOpenMemHandle_v2(&q, small, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
        return 4;
    if (cuMemGetAddressRange_v2(&base, &size_B, q + 4) || base != q || size_B != 100)
        return 5;
    if (cuMemcpyDtoH_v2(&seen, p + 3000000, 4) || seen != 7)
        return 6;
    if (cuMemcpyDtoH_v2(&seen, q, 4) || seen != 8)
        return 7;
    if (cuMemsetD32_v2(p, 70, 1) || cuMemsetD32_v2(q + 4, 80, 1) || cuCtxSynchronize())
        return 8;
    if (cuMemFree_v2(p) != CUDA_ERROR_INVALID_VALUE)
        return 9;
    if (cuIpcCloseMemHandle(p) || cuMemcpyDtoH_v2(&seen, p, 4) || seen != 70)
        return 10;
    if (cuIpcCloseMemHandle(p) || cuIpcCloseMemHandle(p) != CUDA_ERROR_INVALID_VALUE)
        return 11;
    return cuIpcCloseMemHandle(q) || cuCtxDestroy_v2(ctx) ? 12 : 0;
}

static void test_memory(const char *self)
{
    char large_text[TEXT_B], small_text[TEXT_B];
    CUipcMemHandle large, small;
    CUdeviceptr p, q, r;
    uint32_t seen = 0;

    success(cuMemAlloc_v2(&p, 5000000), "a large block");
    success(cuMemAlloc_v2(&q, 100), "a small one");
    success(cuMemAlloc_v2(&r, 100), "its neighbour");
    success(cuMemsetD32_v2(p, 7, 1250000), "memset");
    success(cuMemsetD32_v2(q, 8, 1), "memset");
    success(cuMemsetD32_v2(r, 9, 1), "memset");
    success(cuIpcGetMemHandle(&large, p), "handle");
    success(cuIpcGetMemHandle(&small, q), "handle");
    success(cuMemcpyDtoH_v2(&seen, r, 4), "copy");
    eq_u64(seen, 9, "contents stay");
    to_text(&large, large_text);
    to_text(&small, small_text);
    eq_u64(finish(start(self, "memory", large_text, small_text)), 0, "the other process");
    success(cuMemcpyDtoH_v2(&seen, p, 4), "copy");
    eq_u64(seen, 70, "what it wrote");
    success(cuMemcpyDtoH_v2(&seen, q + 4, 4), "copy");
    eq_u64(seen, 80, "what it wrote");
    eq_u64(cuIpcOpenMemHandle_v2(&r, large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
           CUDA_ERROR_INVALID_CONTEXT, "a handle of our own");
    success(cuMemFree_v2(p), "free");
    success(cuMemFree_v2(q), "free");
    success(cuMemAlloc_v2(&p, 5000000), "allocate again");
    success(cuMemsetD8_v2(p, 1, 5000000), "use it");
    success(cuMemFree_v2(p), "free");
}

/* It has other handles. */
static void test_mapped_memory(void)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle memory;
    CUipcMemHandle handle;
    CUdeviceptr va;

    success(cuMemAddressReserve(&va, 2u << 20, 0, 0, 0), "reserve");
    success(cuMemCreate(&memory, 2u << 20, &prop, 0), "create");
    success(cuMemMap(va, 2u << 20, 0, memory, 0), "map");
    eq_u64(cuIpcGetMemHandle(&handle, va), CUDA_ERROR_INVALID_VALUE, "mapped memory");
    success(cuMemUnmap(va, 2u << 20), "unmap");
    success(cuMemRelease(memory), "release");
    success(cuMemAddressFree(va, 2u << 20), "free");
}

static void test_bad_memory(void)
{
    CUipcMemHandle handle;
    CUdeviceptr p, managed;
    uint64_t own;

    success(cuMemAlloc_v2(&p, 64), "allocate");
    success(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), "managed memory");
    eq_u64(cuIpcGetMemHandle(&handle, (uintptr_t)&own), CUDA_ERROR_INVALID_VALUE, "own memory");
    eq_u64(cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE, "managed memory");
    eq_u64(cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_INVALID_VALUE, "null");
    success(cuIpcGetMemHandle(&handle, p), "handle");
    eq_u64(cuIpcOpenMemHandle_v2(&p, handle, 0), CUDA_ERROR_INVALID_VALUE, "flags");
    eq_u64(cuIpcCloseMemHandle(p), CUDA_ERROR_INVALID_VALUE, "was not opened");
    handle.reserved[16] ^= 0x55; /* of a process that is not there */
    handle.reserved[18] ^= 0x55;
    eq_u64(cuIpcOpenMemHandle_v2(&managed, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
           CUDA_ERROR_INVALID_HANDLE, "no such process");
    memset(&handle, 7, sizeof(handle));
    eq_u64(cuIpcOpenMemHandle_v2(&managed, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
           CUDA_ERROR_INVALID_HANDLE, "garbage");
    success(cuMemFree_v2(p), "free");
}

/* ---- events */

/* Waits for the first recording, then records it itself, behind `pong`'s value. */
static int other_event(const char *ping_text, const char *pong_text)
{
    CUipcEventHandle ping, pong;
    CUevent first, second;
    CUcontext ctx;

    from_text(ping_text, &ping);
    from_text(pong_text, &pong);
    if (cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0))
        return 1;
    if (cuIpcOpenEventHandle(&first, ping) || cuIpcOpenEventHandle(&second, pong))
        return 2;
    if (cuEventQuery(first) != CUDA_ERROR_NOT_READY || cuEventQuery(second))
        return 3;
    if (cuStreamWaitEvent(NULL, first, 0) || cuEventRecord(second, NULL))
        return 4;
    if (cuStreamQuery(NULL) != CUDA_ERROR_NOT_READY)
        return 5;
    kill(getppid(), SIGUSR1); /* it opens the gate */
    if (cuStreamSynchronize(NULL) || cuEventSynchronize(first) || cuEventQuery(first))
        return 6;
    return cuEventDestroy_v2(first) || cuEventDestroy_v2(second) || cuCtxDestroy_v2(ctx) ? 7 : 0;
}

static _Atomic uint32_t *gate;

static void gate_open(int signal)
{
    *gate = 1;
}

static void test_events(const char *self)
{
    unsigned flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    char ping_text[TEXT_B], pong_text[TEXT_B];
    CUipcEventHandle ping, pong;
    CUevent first, second, plain;
    CUstream held;
    void *pinned;
    pid_t pid;
    float ms;

    success(cuMemHostAlloc(&pinned, 64, 0), "pinned memory");
    gate = pinned;
    *gate = 0;
    signal(SIGUSR1, gate_open);
    success(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING), "stream");
    success(cuEventCreate(&first, flags), "event");
    success(cuEventCreate(&second, flags), "event");
    success(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING), "event");
    success(cuEventQuery(first), "never recorded");
    success(cuIpcGetEventHandle(&ping, first), "handle");
    success(cuIpcGetEventHandle(&pong, second), "handle");
    eq_u64(cuIpcGetEventHandle(&ping, plain), CUDA_ERROR_INVALID_HANDLE, "of a plain event");
    success(cuIpcGetEventHandle(&ping, first), "handle");
    success(cuStreamWaitValue32_v2(held, (uintptr_t)pinned, 1, CU_STREAM_WAIT_VALUE_EQ), "hold");
    success(cuEventRecord(first, held), "record");
    eq_u64(cuEventQuery(first), CUDA_ERROR_NOT_READY, "not reached");
    to_text(&ping, ping_text);
    to_text(&pong, pong_text);
    pid = start(self, "event", ping_text, pong_text);
    eq_u64(finish(pid), 0, "the other process");
    success(cuEventSynchronize(first), "reached");
    success(cuStreamWaitEvent(held, second, 0), "wait for what it recorded");
    success(cuStreamSynchronize(held), "synchronize");
    success(cuEventQuery(second), "reached");
    eq_u64(cuEventElapsedTime(&ms, first, second), CUDA_ERROR_INVALID_HANDLE, "keeps no time");
    eq_u64(cuEventCreate(&plain, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE,
           "with time, between processes");
    memset(&ping, 3, sizeof(ping));
    eq_u64(cuIpcOpenEventHandle(&plain, ping), CUDA_ERROR_INVALID_HANDLE, "garbage");
    success(cuEventDestroy_v2(first), "destroy");
    success(cuEventDestroy_v2(second), "destroy");
    success(cuStreamDestroy_v2(held), "destroy");
}

/* Many recordings by two streams: waiters for the last one see all that came before it. */
static void test_recordings(void)
{
    enum { N = 300 };
    CUstream streams[2];
    CUdeviceptr count;
    CUevent event;
    void *pinned;

    success(cuMemHostAlloc(&pinned, 64, 0), "pinned memory");
    count = (uintptr_t)pinned;
    *(_Atomic uint32_t *)pinned = 0;
    success(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), "event");
    for (int i = 0; i < 2; i++)
        success(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "stream");
    for (unsigned i = 0; i < N; i++) {
        CUstream stream = streams[i % 2];

        if (cuStreamWaitEvent(stream, event, 0) ||
            cuStreamWaitValue32_v2(stream, count, i, CU_STREAM_WAIT_VALUE_EQ) ||
            cuStreamWriteValue32_v2(stream, count, i + 1, 0) || cuEventRecord(event, stream))
            ok(false, "round %u", i);
    }
    success(cuEventSynchronize(event), "the last recording");
    eq_u64(*(_Atomic uint32_t *)pinned, N, "comes after all");
    success(cuEventDestroy_v2(event), "destroy");
    for (int i = 0; i < 2; i++)
        success(cuStreamDestroy_v2(streams[i]), "destroy");
}

/* ---- external memory */

static int sealed_file(size_t size_B)
{
    int fd = memfd_create("external", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)size_B) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        abort();
    return fd;
}

struct recorder {
    CUcontext ctx;
    CUevent event;
    _Atomic bool over;
};

static void *record_in_default_stream(void *arg)
{
    struct recorder *r = arg;

    success(cuCtxSetCurrent(r->ctx), "context of the recorder");
    while (!r->over)
        if (cuEventRecord(r->event, 0))
            return r;
    return NULL;
}

/*
 * The default stream orders itself behind streams that wait for an event while it is being recorded
 * there: they must wait for what is recorded already, or each waits for the other for ever.
 */
static void test_recordings_beside_waits(CUcontext ctx)
{
    struct recorder r = {.ctx = ctx};
    pthread_t thread;
    CUstream stream;
    void *failed;
    CUresult result = CUDA_SUCCESS;

    success(cuEventCreate(&r.event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), "event");
    success(cuStreamCreate(&stream, 0), "blocking stream");
    pthread_create(&thread, NULL, record_in_default_stream, &r);
    for (unsigned i = 0; i < 20000 && !result; i++) {
        result = cuStreamWaitEvent(stream, r.event, 0);
        if (!result && i % 64 == 0)
            result = cuStreamSynchronize(stream);
    }
    r.over = true;
    pthread_join(thread, &failed);
    success(result, "waits");
    eq_u64(failed != NULL, 0, "recordings");
    success(cuCtxSynchronize(), "all of them end");
    success(cuStreamDestroy_v2(stream), "destroy stream");
    success(cuEventDestroy_v2(r.event), "destroy event");
}

static void test_external(void)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 4096, .size = 8192};
    int fd = sealed_file(16384), other = dup(fd);
    CUexternalMemory memory, none;
    CUdeviceptr p, q;
    uint32_t seen = 0;

    desc.handle.fd = fd;
    desc.size = 16384;
    success(cuImportExternalMemory(&memory, &desc), "import");
    ok(fcntl(fd, F_GETFD) < 0, "the descriptor is the driver's");
    success(cuExternalMemoryGetMappedBuffer(&p, memory, &part), "map");
    success(cuMemsetD32_v2(p, 0x77, 1), "write");
    success(cuCtxSynchronize(), "synchronize");
    ok(pread(other, &seen, 4, 4096) == 4 && seen == 0x77, "is in the file");
    eq_u64(cuMemsetD8_v2(p, 0, 8193), CUDA_ERROR_INVALID_VALUE, "past the end");
    part.size = 16384;
    eq_u64(cuExternalMemoryGetMappedBuffer(&q, memory, &part), CUDA_ERROR_INVALID_VALUE,
           "more than there is");
    part.size = 64;
    part.flags = 1;
    eq_u64(cuExternalMemoryGetMappedBuffer(&q, memory, &part), CUDA_ERROR_INVALID_VALUE, "flags");
    success(cuDestroyExternalMemory(memory), "destroy");
    eq_u64(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE, "twice");
    part.flags = 0;
    eq_u64(cuExternalMemoryGetMappedBuffer(&q, memory, &part), CUDA_ERROR_INVALID_HANDLE, "stale");
    success(cuMemcpyDtoH_v2(&seen, p, 4), "what is mapped stays");
    success(cuMemFree_v2(p), "free");
    eq_u64(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE, "twice");
    desc.handle.fd = other;
    desc.size = 16385;
    eq_u64(cuImportExternalMemory(&none, &desc), CUDA_ERROR_INVALID_HANDLE, "a smaller file");
    desc.handle.fd = 0;
    desc.size = 4096;
    eq_u64(cuImportExternalMemory(&none, &desc), CUDA_ERROR_INVALID_HANDLE, "something else");
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
    eq_u64(cuImportExternalMemory(&none, &desc), CUDA_ERROR_NOT_SUPPORTED, "of another system");
    desc.type = (CUexternalMemoryHandleType)77;
    eq_u64(cuImportExternalMemory(&none, &desc), CUDA_ERROR_INVALID_VALUE, "a type that is none");
    close(other);
}

int main(int argc, char **argv)
{
    CUcontext ctx;
    int value = 0;

    setenv("HEDDLE_MEMORY", "256M", 1);
    if (argc == 4)
        return strcmp(argv[1], "memory") ? other_event(argv[2], argv[3])
                                         : other_memory(argv[2], argv[3]);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0), "attribute");
    eq_u64((unsigned)value, 1, "events between processes are told");
    test_memory(argv[0]);
    test_mapped_memory();
    test_bad_memory();
    test_events(argv[0]);
    test_recordings();
    test_recordings_beside_waits(ctx);
    test_external();
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
