/* Virtual memory: reserved addresses, memory behind them, rights, counts, export. */
#include "check.h"

#include <unistd.h>

static __global__ void fill(int *words, int n, int value)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        words[i] = value + i;
}

static CUmemAllocationProp properties(void)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

static const CUmemAccessDesc READ_WRITE = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void mapped(size_t unit)
{
    CUmemAllocationProp prop = properties(), got = {};
    CUmemGenericAllocationHandle a = 0, b = 0, again = 0;
    CUdeviceptr address = 0, part = 0;
    unsigned long long rights = 0;
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    size_t size_B = 0;
    int words[4];

    OK(cuMemAddressReserve(&address, 3 * unit, 0, 0, 0));
    EQ(address % unit, 0);
    OK(cuMemCreate(&a, unit, &prop, 0));
    OK(cuMemCreate(&b, unit, &prop, 0));
    OK(cuMemMap(address, unit, 0, a, 0));
    OK(cuMemMap(address + unit, unit, 0, b, 0));
    FAILS(cuMemMap(address, unit, 0, b, 0), CUDA_ERROR_INVALID_VALUE); /* something is there */
    OK(cuMemSetAccess(address, 2 * unit, &READ_WRITE, 1));
    OK(cuMemGetAccess(&rights, &here, address));
    EQ(rights, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    int *base = (int *)address, n = (int)(2 * unit / 4);
    fill<<<1, 256>>>(base, n, 3); /* across the border of the two */
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(words, base + unit / 4 - 2, sizeof(words), cudaMemcpyDeviceToHost));
    EQ(check_wrong(words, 4, 3 + (int)unit / 4 - 2, 1), 0);

    /* The same memory at a second address. */
    OK(cuMemMap(address + 2 * unit, unit, 0, a, 0));
    OK(cuMemSetAccess(address + 2 * unit, unit, &READ_WRITE, 1));
    OK(cudaMemcpy(words, base + unit / 2, sizeof(words), cudaMemcpyDeviceToHost));
    EQ(check_wrong(words, 4, 3, 1), 0);
    OK(cuMemsetD32(address, 99, 1));
    OK(cudaMemcpy(words, base + unit / 2, 4, cudaMemcpyDeviceToHost));
    EQ(words[0], 99);

    OK(cuMemRetainAllocationHandle(&again, (void *)(address + 64)));
    EQ(again, a);
    OK(cuMemRelease(again));
    OK(cuMemGetAllocationPropertiesFromHandle(&got, a));
    EQ(got.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    EQ(got.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    OK(cuMemRelease(a)); /* stays until it is nowhere mapped */
    OK(cuMemcpyDtoH(words, address, 4));
    EQ(words[0], 99);
    OK(cuMemGetAddressRange(&part, &size_B, address + unit + 8));
    EQ(part, address + unit);
    EQ(size_B, unit);

    FAILS(cuMemAddressFree(address, 3 * unit), CUDA_ERROR_INVALID_VALUE); /* still mapped */
    OK(cuMemUnmap(address, 3 * unit));
    FAILS(cuMemUnmap(address, unit), CUDA_ERROR_INVALID_VALUE);
    TRUE(cuMemRelease(a) != CUDA_SUCCESS);
    OK(cuMemRelease(b));
    FAILS(cuMemAddressFree(address, unit), CUDA_ERROR_INVALID_VALUE); /* only the whole */
    OK(cuMemAddressFree(address, 3 * unit));
}

static void exported(size_t unit)
{
    CUmemAllocationProp prop = properties();
    CUmemGenericAllocationHandle a = 0, b = 0;
    CUdeviceptr first = 0, second = 0;
    int fd = -1, word = 0;

    OK(cuMemCreate(&a, unit, &prop, 0));
    OK(cuMemExportToShareableHandle(&fd, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&b, (void *)(uintptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    OK(cuMemAddressReserve(&first, unit, 0, 0, 0));
    OK(cuMemAddressReserve(&second, unit, 0, 0, 0));
    OK(cuMemMap(first, unit, 0, a, 0));
    OK(cuMemMap(second, unit, 0, b, 0));
    OK(cuMemSetAccess(first, unit, &READ_WRITE, 1));
    OK(cuMemSetAccess(second, unit, &READ_WRITE, 1));
    OK(cuMemsetD32(first, 1234, unit / 4));
    OK(cuMemcpyDtoH(&word, second + unit - 4, 4));
    EQ(word, 1234);
    OK(cuMemUnmap(first, unit));
    OK(cuMemUnmap(second, unit));
    OK(cuMemAddressFree(first, unit));
    OK(cuMemAddressFree(second, unit));
    OK(cuMemRelease(a));
    OK(cuMemRelease(b));
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemCreate(&a, unit, &prop, 0));
    FAILS(cuMemExportToShareableHandle(&fd, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(a));
}

static void wrong(size_t unit)
{
    CUmemAllocationProp prop = properties();
    CUmemGenericAllocationHandle a = 0;
    CUdeviceptr address = 0;
    unsigned long long rights = 0;
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};

    FAILS(cuMemCreate(&a, unit + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemCreate(&a, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemCreate(&a, unit, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemCreate(&a, unit, &prop, 1), CUDA_ERROR_INVALID_VALUE);
    prop.location.id = 99;
    FAILS(cuMemCreate(&a, unit, &prop, 0), CUDA_ERROR_INVALID_DEVICE);
    prop.location.id = 0;
    FAILS(cuMemAddressReserve(&address, unit + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAddressReserve(&address, unit, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&address, unit, 0, 0, 0));
    OK(cuMemCreate(&a, unit, &prop, 0));
    FAILS(cuMemMap(address, 2 * unit, 0, a, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemMap(address, unit, unit, a, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemSetAccess(address, unit, &READ_WRITE, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(address, unit, 0, a, 0));
    OK(cuMemGetAccess(&rights, &here, address));
    EQ(rights, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemUnmap(address, unit));
    OK(cuMemRelease(a));
    OK(cuMemAddressFree(address, unit));
    FAILS(cudaFree((void *)address), cudaErrorInvalidValue);
}

int main(void)
{
    CUmemAllocationProp prop = properties();
    size_t least = 0, best = 0;
    int supported = 0;

    OK(cudaFree(0));
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                            0));
    EQ(supported, 1);
    OK(cuMemGetAllocationGranularity(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemGetAllocationGranularity(&best, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    TRUE(least > 0 && best >= least && best % least == 0);
    mapped(least);
    exported(least);
    wrong(least);
    return finish();
}
