/* Memory pools by the runtime's names. */
#include "runtime_fixture.h"

static uint64_t number(cudaMemPool_t pool, enum cudaMemPoolAttr attr)
{
    uint64_t value = UINT64_MAX;

    eq_error(cudaMemPoolGetAttribute(pool, attr, &value), cudaSuccess, "attribute");
    return value;
}

static void test_default(void)
{
    uint64_t keep_B = UINT64_MAX;
    cudaMemPool_t pool, current;
    void *p, *again;

    eq_error(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess, "default pool");
    eq_error(cudaDeviceGetMemPool(&current, 0), cudaSuccess, "current pool");
    ok(pool == current, "are the same");
    eq_error(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_B), cudaSuccess,
             "keep everything");
    eq_error(cudaMallocAsync(&p, 1 << 20, 0), cudaSuccess, "allocate");
    eq_u64(number(pool, cudaMemPoolAttrUsedMemCurrent), 1 << 20, "used");
    eq_error(cudaFreeAsync(p, 0), cudaSuccess, "free");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "synchronize");
    eq_error(cudaMallocAsync(&again, 1 << 20, 0), cudaSuccess, "allocate");
    ok(again == p, "the same memory");
    eq_error(cudaFree(again), cudaSuccess, "cudaFree() takes it");
    eq_error(cudaMemPoolTrimTo(pool, 0), cudaSuccess, "trim");
    eq_u64(number(pool, cudaMemPoolAttrReservedMemCurrent), 0, "all is given back");
}

static void test_own(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned};
    struct cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    struct cudaMemAccessDesc desc = {here, cudaMemAccessFlagsProtReadWrite};
    struct cudaMemPoolPtrExportData exported;
    enum cudaMemAccessFlags flags;
    cudaMemPool_t pool, current, imported;
    void *p, *mapped;
    int fd, value = 77;

    props.location = here;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    eq_error(cudaMemPoolCreate(&pool, &props), cudaSuccess, "create");
    eq_error(cudaMallocFromPoolAsync(&p, 4, pool, 0), cudaSuccess, "allocate");
    eq_error(cudaMemPoolSetAccess(pool, &desc, 1), cudaSuccess, "set access");
    eq_error(cudaMemPoolGetAccess(&flags, pool, &here), cudaSuccess, "get access");
    eq_u64(flags, cudaMemAccessFlagsProtReadWrite, "read and write");
    eq_error(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0),
             cudaSuccess, "export");
    eq_error(cudaMemPoolExportPointer(&exported, p), cudaSuccess, "export a pointer");
    eq_error(cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                                  cudaMemHandleTypePosixFileDescriptor, 0),
             cudaSuccess, "import, in the same process");
    eq_error(cudaMemPoolImportPointer(&mapped, imported, &exported), cudaSuccess, "import");
    eq_error(cudaMemcpy(p, &value, 4, cudaMemcpyHostToDevice), cudaSuccess, "copy");
    value = 0;
    eq_error(cudaMemcpy(&value, mapped, 4, cudaMemcpyDeviceToHost), cudaSuccess, "copy");
    eq_u64((unsigned)value, 77, "the same memory");
    eq_error(cudaFree(mapped), cudaSuccess, "unmap");
    eq_error(cudaMemPoolDestroy(imported), cudaSuccess, "destroy");
    eq_error(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, pool), cudaSuccess, "set");
    eq_error(cudaMemGetMemPool(&current, &here, cudaMemAllocationTypePinned), cudaSuccess, "get");
    ok(current == pool, "the current pool");
    eq_error(cudaDeviceSetMemPool(0, pool), cudaSuccess, "the same by device");
    eq_error(cudaMemGetDefaultMemPool(&current, &here, cudaMemAllocationTypePinned), cudaSuccess,
             "default");
    ok(current != pool, "is another one");
    eq_error(cudaFree(p), cudaSuccess, "free");
    eq_error(cudaMemPoolDestroy(pool), cudaSuccess, "destroy");
    eq_error(cudaMallocFromPoolAsync(&p, 4, pool, 0), cudaErrorInvalidResourceHandle, "stale");
    eq_error(cudaMemPoolCreate(&pool, NULL), cudaErrorInvalidValue, "null");
    eq_error(cudaDeviceGetMemPool(&pool, 7), cudaErrorInvalidDevice, "device 7");
}

int main(void)
{
    test_default();
    test_own();
    return done();
}
