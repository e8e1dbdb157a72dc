/* Pools: allocation in the order of streams, reuse, what stays, attributes, export. */
#include "check.h"

#include <unistd.h>

enum { N = 1 << 16 };

static __global__ void fill(int *words, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    words[i] = value + i;
}

static unsigned long long attribute(cudaMemPool_t pool, cudaMemPoolAttr which)
{
    unsigned long long value = 0;
    OK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

static cudaMemPool_t new_pool(cudaMemAllocationHandleType handle)
{
    cudaMemPoolProps props = {};
    cudaMemPool_t pool = NULL;

    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = handle;
    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static void in_order(cudaStream_t stream)
{
    int *words = NULL, *again = NULL, got[4];

    OK(cudaMallocAsync(&words, N * 4, stream));
    fill<<<N / 256, 256, 0, stream>>>(words, 5);
    OK(cudaMemcpyAsync(got, words + N - 4, sizeof(got), cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(words, stream));
    OK(cudaMallocAsync(&again, N * 4, stream)); /* may be the same memory: it is free by then */
    OK(cudaMemsetAsync(again, 0, N * 4, stream));
    OK(cudaFreeAsync(again, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(got, 4, 5 + N - 4, 1), 0);
    OK(cudaMallocAsync(&words, 64, stream));
    OK(cudaFree(words)); /* allowed: it waits */
    FAILS(cudaFreeAsync(words, stream), cudaErrorInvalidValue);
    OK(cudaMalloc(&words, 64));
    OK(cudaFreeAsync(words, stream)); /* and the other way round */
    OK(cudaStreamSynchronize(stream));
    CUdeviceptr address = 0;
    OK(cuMemAllocAsync(&address, 128, stream));
    OK(cuMemsetD32Async(address, 9, 32, stream));
    OK(cuMemcpyDtoHAsync(got, address + 112, 16, stream));
    OK(cuMemFreeAsync(address, stream));
    OK(cuStreamSynchronize(stream));
    EQ(check_wrong(got, 4, 9, 0), 0);
    OK(cuMemAllocAsync(&address, 0, stream)); /* unlike cuMemAlloc() */
    EQ(address, 0);
}

static void attributes(cudaStream_t stream)
{
    cudaMemPool_t pool = new_pool(cudaMemHandleTypeNone), of = NULL;
    unsigned long long keep = ~0ull, zero = 0;
    int *words = NULL, on = 0;

    EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    EQ(attribute(pool, cudaMemPoolAttrReleaseThreshold), 0);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &on));
    on = 7;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &on));
    EQ(on, 0);
    OK(cudaMallocFromPoolAsync(&words, N * 4, pool, stream));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)words));
    TRUE(of == pool);
    OK(cudaStreamSynchronize(stream));
    EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), N * 4);
    TRUE(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= N * 4);
    OK(cudaFreeAsync(words, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), N * 4);
    TRUE(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= N * 4); /* kept, as was said */
    OK(cudaMemPoolTrimTo(pool, 0));
    EQ(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 0);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), 0);
    zero = 1;
    FAILS(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero), cudaErrorInvalidValue);
    FAILS(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &zero),
          cudaErrorInvalidValue);
    FAILS(cudaMemPoolGetAttribute(pool, (cudaMemPoolAttr)99, &zero), cudaErrorInvalidValue);
    OK(cudaMemPoolDestroy(pool));
    TRUE(cudaMemPoolDestroy(pool) != cudaSuccess);
    cudaGetLastError();
}

static void of_the_device(cudaStream_t stream)
{
    cudaMemPool_t usual = NULL, current = NULL, mine = new_pool(cudaMemHandleTypeNone), of = NULL;
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    cudaMemAccessFlags flags;
    int *words = NULL;

    OK(cudaDeviceGetDefaultMemPool(&usual, 0));
    OK(cudaDeviceGetMemPool(&current, 0));
    TRUE(usual == current);
    OK(cudaDeviceSetMemPool(0, mine));
    OK(cudaMallocAsync(&words, 64, stream));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)words));
    TRUE(of == mine);
    OK(cudaFreeAsync(words, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolGetAccess(&flags, mine, &here));
    EQ(flags, cudaMemAccessFlagsProtReadWrite);
    OK(cudaMemPoolDestroy(mine)); /* the device's is the default one again */
    OK(cudaDeviceGetMemPool(&current, 0));
    TRUE(usual == current);
    FAILS(cudaMemPoolDestroy(usual), cudaErrorInvalidValue);
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 99}, cudaMemAccessFlagsProtRead};
    FAILS(cudaMemPoolSetAccess(usual, &access, 1), cudaErrorInvalidDevice);
    FAILS(cudaDeviceGetDefaultMemPool(&usual, 99), cudaErrorInvalidDevice);
}

/* By a file descriptor, into this same process. */
static void exported(cudaStream_t stream)
{
    cudaMemPool_t pool = new_pool(cudaMemHandleTypePosixFileDescriptor), import = NULL;
    cudaMemPoolPtrExportData data;
    int fd = -1, *words = NULL, *same = NULL, got[4];

    OK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    TRUE(fd >= 0);
    OK(cudaMemPoolImportFromShareableHandle(&import, (void *)(uintptr_t)fd,
                                            cudaMemHandleTypePosixFileDescriptor, 0));
    close(fd);
    OK(cudaMallocFromPoolAsync(&words, N * 4, pool, stream));
    fill<<<N / 256, 256, 0, stream>>>(words, 11);
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolExportPointer(&data, words));
    OK(cudaMemPoolImportPointer((void **)&same, import, &data));
    OK(cudaMemcpy(got, same + 100, sizeof(got), cudaMemcpyDeviceToHost));
    EQ(check_wrong(got, 4, 111, 1), 0);
    FAILS(cudaMallocFromPoolAsync(&same, 64, import, stream), cudaErrorInvalidValue);
    OK(cudaFreeAsync(same, stream)); /* the importer first */
    OK(cudaStreamSynchronize(stream));
    OK(cudaFreeAsync(words, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolDestroy(import));
    OK(cudaMemPoolDestroy(pool));

    pool = new_pool(cudaMemHandleTypeNone);
    FAILS(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0),
          cudaErrorInvalidValue);
    OK(cudaMemPoolDestroy(pool));
}

int main(void)
{
    cudaStream_t stream;

    OK(cudaStreamCreate(&stream));
    in_order(stream);
    attributes(stream);
    of_the_device(stream);
    exported(stream);
    OK(cudaStreamDestroy(stream));
    return finish();
}
