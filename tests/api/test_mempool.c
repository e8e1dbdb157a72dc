/*
 * Memory pools: reuse in stream order by policy, thresholds, true statistics, the pools of places,
 * another process; and what is refused.
 */
#include "driver_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static CUdeviceptr gate; /* pinned; streams that wait for it are held */

#define gate32 (*(_Atomic uint32_t *)(uintptr_t)gate)

static CUmemoryPool pool_make(CUmemAllocationHandleType handles, size_t max_B)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .maxSize = max_B};
    CUmemoryPool pool = NULL;

    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.handleTypes = handles;
    success(cuMemPoolCreate(&pool, &props), "create a pool");
    return pool;
}

static uint64_t number(CUmemoryPool pool, CUmemPool_attribute attr)
{
    cuuint64_t value = UINT64_MAX;

    success(cuMemPoolGetAttribute(pool, attr, &value), "attribute %d", (int)attr);
    return value;
}

static void number_set(CUmemoryPool pool, CUmemPool_attribute attr, uint64_t value)
{
    cuuint64_t copy = value;

    success(cuMemPoolSetAttribute(pool, attr, &copy), "set attribute %d", (int)attr);
}

static void flag_set(CUmemoryPool pool, CUmemPool_attribute attr, int value)
{
    success(cuMemPoolSetAttribute(pool, attr, &value), "set attribute %d", (int)attr);
}

static CUdeviceptr take(CUmemoryPool pool, size_t size_B, CUstream stream)
{
    CUdeviceptr p = 0;

    success(cuMemAllocFromPoolAsync(&p, size_B, pool, stream), "allocate");
    return p;
}

static void hold(CUstream stream)
{
    gate32 = 0;
    success(cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ), "hold the stream");
}

/* In one stream memory is used again at once, also while the stream is held. */
static void test_same_stream(void)
{
    CUmemoryPool pool = pool_make(CU_MEM_HANDLE_TYPE_NONE, 0);
    CUdeviceptr p, again;
    CUstream stream;

    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    hold(stream);
    p = take(pool, MIB, stream);
    success(cuMemFreeAsync(p, stream), "free");
    again = take(pool, MIB, stream);
    ok(again == p, "the same memory");
    eq_u64(cuMemFreeAsync(p + 256, stream), CUDA_ERROR_INVALID_VALUE, "free of the middle");
    success(cuMemFreeAsync(again, stream), "free");
    eq_u64(cuMemFreeAsync(again, stream), CUDA_ERROR_INVALID_VALUE, "free twice");
    eq_u64(cuMemcpyDtoD_v2(again, gate, 4), CUDA_ERROR_INVALID_VALUE, "use after free");
    gate32 = 1;
    success(cuStreamDestroy_v2(stream), "destroy");
    success(cuCtxSynchronize(), "synchronize");
    success(cuMemPoolDestroy(pool), "destroy");
}

/* What another stream may have of memory that `freeing` still holds, by policy. */
static void test_policies(void)
{
    CUmemoryPool pool = pool_make(CU_MEM_HANDLE_TYPE_NONE, 0);
    CUstream freeing, other;
    CUdeviceptr p, q;
    CUevent event;

    success(cuStreamCreate(&freeing, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "stream");
    success(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "event");
    number_set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    flag_set(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);

    p = take(pool, MIB, freeing);
    hold(freeing);
    success(cuMemFreeAsync(p, freeing), "free");
    q = take(pool, MIB, other);
    ok(q != p, "not before it is free");
    success(cuMemFreeAsync(q, other), "free");
    success(cuStreamSynchronize(other), "synchronize");

    success(cuEventRecord(event, freeing), "record");
    success(cuStreamWaitEvent(other, event, 0), "wait for the event");
    p = take(pool, MIB, freeing); /* its own first: best for it */
    success(cuMemFreeAsync(p, freeing), "free");
    success(cuEventRecord(event, freeing), "record");
    success(cuStreamWaitEvent(other, event, 0), "wait for the event");
    q = take(pool, MIB, other);
    success(cuMemFreeAsync(q, other), "free");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * MIB, "nothing new was needed");
    gate32 = 1;
    success(cuStreamSynchronize(other), "synchronize");
    success(cuStreamSynchronize(freeing), "synchronize");
    success(cuMemPoolTrimTo(pool, 0), "trim");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0, "all is given back");

    flag_set(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 0);
    flag_set(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0);
    p = take(pool, MIB, freeing);
    success(cuMemFreeAsync(p, freeing), "free");
    while (cuStreamQuery(freeing) == CUDA_ERROR_NOT_READY)
        ;
    q = take(pool, MIB, other);
    ok(q != p, "not what happens to be free, without that policy");
    flag_set(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 1);
    ok(take(pool, MIB, other) == p, "with it");
    success(cuMemFreeAsync(p, other), "free");
    success(cuMemFreeAsync(q, other), "free");
    success(cuStreamSynchronize(other), "synchronize");
    success(cuMemPoolDestroy(pool), "destroy");
    success(cuStreamDestroy_v2(freeing), "destroy");
    success(cuStreamDestroy_v2(other), "destroy");
    success(cuEventDestroy_v2(event), "destroy");
}

/* With internal dependencies a stream is made to wait: the old contents are gone, not overwritten.
 */
static void test_internal_wait(void)
{
    CUmemoryPool pool = pool_make(CU_MEM_HANDLE_TYPE_NONE, 0);
    CUstream freeing, other;
    CUdeviceptr p, q;
    uint32_t seen = 0;

    success(cuStreamCreate(&freeing, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "stream");
    p = take(pool, MIB, freeing);
    hold(freeing);
    success(cuMemsetD32Async(p, 1, MIB / 4, freeing), "the first user");
    success(cuMemFreeAsync(p, freeing), "free");
    q = take(pool, MIB, other);
    ok(q == p, "the same memory");
    success(cuMemsetD32Async(q, 2, MIB / 4, other), "the second user");
    usleep(2000);
    eq_u64(cuStreamQuery(other), CUDA_ERROR_NOT_READY, "waits for the first one");
    gate32 = 1;
    success(cuStreamSynchronize(other), "synchronize");
    success(cuMemcpyDtoH_v2(&seen, q, 4), "copy");
    eq_u64(seen, 2, "the second user's");
    success(cuMemFree_v2(q), "cuMemFree() of a pool's memory");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0, "is a synchronisation");
    success(cuMemPoolDestroy(pool), "destroy");
    success(cuStreamDestroy_v2(freeing), "destroy");
    success(cuStreamDestroy_v2(other), "destroy");
}

static void test_statistics(void)
{
    CUmemoryPool pool = pool_make(CU_MEM_HANDLE_TYPE_NONE, 0);
    CUdeviceptr p, q;
    uint64_t reserved;

    p = take(pool, MIB, NULL);
    q = take(pool, 100, NULL);
    reserved = number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    eq_u64(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB + 100, "used");
    ok(reserved >= MIB + 100, "reserved");
    success(cuMemFreeAsync(p, NULL), "free");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 100, "used");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), reserved, "still reserved");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), MIB + 100, "high-water mark");
    number_set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
    eq_u64(number(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 100, "begins again");
    success(cuStreamSynchronize(NULL), "synchronize");
    ok(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) <= reserved - MIB, "threshold 0");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), reserved, "high-water mark");
    number_set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4 * MIB);
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 4 * MIB, "threshold");
    p = take(pool, MIB, NULL);
    success(cuMemFreeAsync(p, NULL), "free");
    success(cuStreamSynchronize(NULL), "synchronize");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), reserved, "kept below it");
    success(cuMemPoolTrimTo(pool, MIB), "trim");
    ok(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) <= MIB, "given back");
    success(cuMemPoolDestroy(pool), "a pool with memory in use");
    eq_u64(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_HANDLE, "is gone");
    success(cuMemsetD8_v2(q, 1, 100), "its memory is not");
    success(cuMemFreeAsync(q, NULL), "until it is freed");
    success(cuStreamSynchronize(NULL), "synchronize");
}

/* The device's memory bounds pools; what they only keep does not keep others from it. */
static void test_limits(void)
{
    CUmemoryPool pool = pool_make(CU_MEM_HANDLE_TYPE_NONE, 0);
    CUmemoryPool small = pool_make(CU_MEM_HANDLE_TYPE_NONE, 2 * MIB);
    CUdeviceptr p, q;

    number_set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    p = take(pool, 200 * MIB, NULL);
    eq_u64(cuMemAlloc_v2(&q, 100 * MIB), CUDA_ERROR_OUT_OF_MEMORY, "the device is full");
    eq_u64(cuMemAllocFromPoolAsync(&q, 100 * MIB, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY,
           "for the pool, too");
    success(cuMemFreeAsync(p, NULL), "free");
    success(cuStreamSynchronize(NULL), "synchronize");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 200 * MIB, "kept");
    success(cuMemAlloc_v2(&q, 100 * MIB), "but not from others");
    success(cuMemFree_v2(q), "free");
    p = take(small, MIB, NULL);
    eq_u64(cuMemAllocFromPoolAsync(&q, 2 * MIB, small, NULL), CUDA_ERROR_OUT_OF_MEMORY,
           "the pool's own limit");
    success(cuMemFreeAsync(p, NULL), "free");
    success(cuStreamSynchronize(NULL), "synchronize");
    p = take(small, 2 * MIB, NULL);
    success(cuMemFreeAsync(p, NULL), "free");
    success(cuMemPoolDestroy(small), "destroy");
    success(cuMemPoolDestroy(pool), "destroy");
}

static void test_places(void)
{
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
    CUmemoryPool fallback, current, pool = pool_make(CU_MEM_HANDLE_TYPE_NONE, 0), other;
    CUmemAccess_flags flags;
    CUdeviceptr p;
    void *known;
    unsigned type;

    success(cuDeviceGetDefaultMemPool(&fallback, 0), "default pool");
    success(cuDeviceGetMemPool(&current, 0), "current pool");
    ok(current == fallback, "are the same at first");
    success(cuMemGetMemPool(&other, &here, pinned), "by location");
    ok(other == current, "the same");
    eq_u64(cuMemPoolDestroy(fallback), CUDA_ERROR_INVALID_VALUE, "the default pool stays");
    success(cuDeviceSetMemPool(0, pool), "set");
    success(cuMemAllocAsync(&p, 4096, NULL), "allocate");
    eq_u64(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4096, "from the current pool");
    success(cuPointerGetAttribute(&known, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p), "pool of it");
    ok(known == (void *)pool, "the pool");
    success(cuMemFreeAsync(p, NULL), "free");
    success(cuMemPoolDestroy(pool), "destroy the current pool");
    success(cuDeviceGetMemPool(&current, 0), "current pool");
    ok(current == fallback, "the default again");
    success(cuMemGetDefaultMemPool(&other, &host, pinned), "pool of the host");
    ok(other != fallback, "another one");
    success(cuMemAllocFromPoolAsync(&p, 4096, other, NULL), "allocate");
    success(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), "type");
    eq_u64(type, CU_MEMORYTYPE_HOST, "host memory");
    memset((void *)(uintptr_t)p, 1, 4096);
    eq_u64(cuMemFreeHost((void *)(uintptr_t)p), CUDA_SUCCESS, "free");
    eq_u64(cuMemSetMemPool(&here, pinned, other), CUDA_ERROR_INVALID_VALUE, "not a device's pool");
    success(cuMemGetMemPool(&other, &here, CU_MEM_ALLOCATION_TYPE_MANAGED), "managed memory");
    success(cuMemAllocFromPoolAsync(&p, 64, other, NULL), "allocate");
    success(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_IS_MANAGED, p), "is managed");
    eq_u64(type, 1, "yes");
    success(cuMemFreeAsync(p, NULL), "free");
    success(cuMemPoolGetAccess(&flags, fallback, &here), "access");
    eq_u64(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "of the own device");
    success(cuMemPoolSetAccess(fallback, &access, 1), "set access");
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    eq_u64(cuMemPoolSetAccess(fallback, &access, 1), CUDA_ERROR_INVALID_VALUE, "not taken away");
    access.location.id = 9;
    eq_u64(cuMemPoolSetAccess(fallback, &access, 1), CUDA_ERROR_INVALID_DEVICE, "device 9");
    eq_u64(cuMemPoolSetAccess(fallback, NULL, 1), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(cuMemPoolGetAccess(&flags, fallback, &host), CUDA_ERROR_INVALID_VALUE, "no device");
}

static void test_bad(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemoryPool pool, good = pool_make(CU_MEM_HANDLE_TYPE_NONE, 0);
    cuuint64_t value = 1;
    CUdeviceptr p;
    void *pinned;
    int fd;

    eq_u64(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE, "no location");
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = 5;
    eq_u64(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_DEVICE, "device 5");
    props.location.id = 0;
    props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    eq_u64(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE, "no type");
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    eq_u64(cuMemPoolCreate(&pool, &props), CUDA_ERROR_NOT_SUPPORTED, "fabric handles");
    props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    props.reserved[7] = 1;
    eq_u64(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE, "reserved bytes");
    props.reserved[7] = 0;
    props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    props.location.id = 99;
    eq_u64(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_VALUE, "NUMA node 99");
    props.location.id = 0;
    eq_u64(cuMemPoolCreate(NULL, &props), CUDA_ERROR_INVALID_VALUE, "null");
    p = 1;
    success(cuMemAllocAsync(&p, 0, NULL), "0 bytes");
    eq_u64(p, 0, "are no address");
    success(cuMemFreeAsync(p, NULL), "which may be freed");
    eq_u64(cuMemAllocFromPoolAsync(&p, 16, (CUmemoryPool)&p, NULL), CUDA_ERROR_INVALID_HANDLE,
           "garbage pool");
    eq_u64(cuMemPoolGetAttribute(good, (CUmemPool_attribute)9, &value), CUDA_ERROR_INVALID_VALUE,
           "attribute 9");
    eq_u64(cuMemPoolGetAttribute(good, (CUmemPool_attribute)0, &value), CUDA_ERROR_INVALID_VALUE,
           "attribute 0");
    eq_u64(cuMemPoolSetAttribute(good, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value),
           CUDA_ERROR_INVALID_VALUE, "what can only be read");
    eq_u64(cuMemPoolSetAttribute(good, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value),
           CUDA_ERROR_INVALID_VALUE, "a mark is set to 0");
    eq_u64(cuMemPoolExportToShareableHandle(&fd, good, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
           CUDA_ERROR_INVALID_VALUE, "not made to be exported");
    success(cuMemHostAlloc(&pinned, 64, 0), "pinned memory");
    eq_u64(cuMemFreeAsync((uintptr_t)pinned, NULL), CUDA_ERROR_INVALID_VALUE, "is of no pool");
    success(cuMemFreeHost(pinned), "free");
    success(cuMemPoolDestroy(good), "destroy");
}

/* ---- another process: this program again, with descriptor and pointer */

static int other_process(int fd, const char *hex)
{
    CUmemPoolPtrExportData exported;
    CUmemoryPool pool;
    CUdeviceptr p;
    CUcontext ctx;
    uint32_t *at;

    for (size_t i = 0; i < sizeof(exported); i++) {
        unsigned byte;

        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return 1;
        exported.reserved[i] = (unsigned char)byte;
    }
    if (cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0))
        return 2;
    if (cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
        return 3;
    if (cuMemAllocFromPoolAsync(&p, 64, pool, NULL) != CUDA_ERROR_INVALID_VALUE)
        return 4;
    if (cuCtxSetCurrent(NULL) || cuMemPoolImportPointer(&p, pool, &exported) ||
        cuCtxSetCurrent(ctx)) /* it needs no context */
        return 5;
    at = (uint32_t *)(uintptr_t)p;
    if (at[0] != 0x1234 || cuMemsetD32_v2(p + 4, 0x5678, 1) || cuCtxSynchronize())
        return 6;
    exported.reserved[8] ^= 1; /* of another pool */
    if (cuMemPoolImportPointer(&p, pool, &exported) != CUDA_ERROR_INVALID_VALUE)
        return 7;
    return cuMemFreeAsync((uintptr_t)at, NULL) || cuCtxSynchronize() || cuMemPoolDestroy(pool) ? 8
                                                                                               : 0;
}

static void test_process(const char *self)
{
    CUmemoryPool pool = pool_make(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    CUmemPoolPtrExportData exported;
    CUdeviceptr p = take(pool, 2 * MIB, NULL), q = take(pool, 64, NULL);
    char hex[2 * sizeof(exported) + 1], number_text[16];
    uint32_t seen = 0;
    int fd = -1, status = -1;
    pid_t pid;

    success(cuMemsetD32_v2(q, 0x1234, 1), "memset");
    success(cuCtxSynchronize(), "synchronize");
    success(
        cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "export the pool");
    success(cuMemPoolExportPointer(&exported, q), "export a pointer");
    eq_u64(cuMemPoolExportPointer(&exported, gate), CUDA_ERROR_INVALID_VALUE, "of no pool");
    for (size_t i = 0; i < sizeof(exported); i++)
        snprintf(hex + 2 * i, 3, "%02x", exported.reserved[i]);
    fd = dup(fd); /* not closed by exec */
    snprintf(number_text, sizeof(number_text), "%d", fd);
    pid = fork();
    if (!pid) {
        execl(self, self, number_text, hex, (char *)NULL);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    eq_u64((unsigned)status, 0, "the other process read and wrote it");
    success(cuMemcpyDtoH_v2(&seen, q + 4, 4), "copy");
    eq_u64(seen, 0x5678, "what it wrote");
    close(fd);
    success(cuMemFreeAsync(p, NULL), "free");
    success(cuMemFreeAsync(q, NULL), "free");
    success(cuCtxSynchronize(), "synchronize");
    success(cuMemPoolDestroy(pool), "destroy");
    eq_u64(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)0,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
           CUDA_ERROR_INVALID_VALUE, "a descriptor of something else");
}

int main(int argc, char **argv)
{
    CUcontext ctx;
    void *pinned;

    setenv("HEDDLE_MEMORY", "256M", 1);
    if (argc == 3)
        return other_process((int)strtol(argv[1], NULL, 10), argv[2]);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuMemHostAlloc(&pinned, 64, 0), "pinned memory");
    gate = (uintptr_t)pinned;
    test_same_stream();
    test_policies();
    test_internal_wait();
    test_statistics();
    test_limits();
    test_places();
    test_bad();
    test_process(argv[0]);
    success(cuCtxDestroy_v2(ctx), "a context with memory of pools");
    return done();
}
