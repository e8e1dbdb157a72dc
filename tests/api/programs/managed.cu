/* Managed memory: variables, advice, prefetches, attributes of ranges, streams. */
#include "check.h"

enum { N = 4096 };

/* clang has no managed variables: there they are reached by pointers. */
#if defined(__clang__)
static __device__ int *counter_at, *table_at;
static int *host_counter, *host_table;
#if defined(__CUDA_ARCH__)
#define counter (*counter_at)
#define table   table_at
#else
#define counter (*host_counter)
#define table   host_table
#endif
#else
static __managed__ int counter = 3;
static __device__ __managed__ int table[4] = {1, 2, 3, 4};
#endif

static __global__ void work(int *words, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        words[i] = i * table[1];
    if (i == 0)
        counter++;
}

static void variables(int *words)
{
    int flag = 0;

    EQ(counter, 3);
    table[1] = 5;
    work<<<N / 128, 128>>>(words, N);
    OK(cudaDeviceSynchronize());
    EQ(counter, 4);
    EQ(check_wrong(words, N, 0, 5), 0);
    OK(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)words));
    EQ(flag, 1);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, &counter));
    EQ(attributes.type, cudaMemoryTypeManaged);
    TRUE(attributes.devicePointer == &counter && attributes.hostPointer == &counter);
#if !defined(__clang__)
    void *address = NULL;
    size_t size_B = 0;
    int value = 12;
    OK(cudaGetSymbolAddress(&address, counter));
    TRUE(address == &counter);
    OK(cudaGetSymbolSize(&size_B, table));
    EQ(size_B, 16);
    OK(cudaMemcpyToSymbol(counter, &value, sizeof(value)));
    EQ(counter, 12);
#endif
}

static int range_word(int *words, CUmem_range_attribute attribute)
{
    int value = -99;
    OK(cuMemRangeGetAttribute(&value, 4, attribute, (CUdeviceptr)words, N * 4));
    return value;
}

static void advice(int *words)
{
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    CUmemLocation driver_host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    int who[2] = {-9, -9};

    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    OK(cudaMemAdvise(words, N * 4, cudaMemAdviseSetReadMostly, device));
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
    OK(cudaMemAdvise(words, N * 2, cudaMemAdviseUnsetReadMostly, device)); /* only a half */
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    OK(cudaMemAdvise(words, N * 4, cudaMemAdviseSetPreferredLocation, device));
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 0);
    OK(cuMemAdvise((CUdeviceptr)words, N * 4, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, driver_host));
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
    OK(cudaMemAdvise(words, N * 4, cudaMemAdviseUnsetPreferredLocation, host));
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    OK(cudaMemAdvise(words, N * 4, cudaMemAdviseSetAccessedBy, device));
    OK(cudaMemAdvise(words, N * 4, cudaMemAdviseSetAccessedBy, host));
    OK(cudaMemRangeGetAttribute(who, sizeof(who), cudaMemRangeAttributeAccessedBy, words, N * 4));
    TRUE((who[0] == 0 && who[1] == cudaCpuDeviceId) || (who[1] == 0 && who[0] == cudaCpuDeviceId));
    OK(cudaMemAdvise(words, N * 4, cudaMemAdviseUnsetAccessedBy, host));
    OK(cudaMemRangeGetAttribute(who, sizeof(who), cudaMemRangeAttributeAccessedBy, words, N * 4));
    EQ(who[0], 0);
    EQ(who[1], cudaInvalidDeviceId);

    int mostly = -1, location = -1;
    void *into[] = {&mostly, &location};
    size_t sizes[] = {4, 4};
    cudaMemRangeAttribute which[] = {cudaMemRangeAttributeReadMostly,
                                     cudaMemRangeAttributePreferredLocation};
    OK(cudaMemRangeGetAttributes(into, sizes, which, 2, words, N * 4));
    EQ(mostly, 0);
    EQ(location, cudaInvalidDeviceId);
    FAILS(cudaMemRangeGetAttribute(who, 3, cudaMemRangeAttributeReadMostly, words, N * 4),
          cudaErrorInvalidValue);
    FAILS(cudaMemAdvise(words, N * 4, (cudaMemoryAdvise)99, device), cudaErrorInvalidValue);
    FAILS(cudaMemAdvise(words, 0, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue);
    cudaMemLocation nobody = {cudaMemLocationTypeDevice, 99};
    FAILS(cudaMemAdvise(words, N * 4, cudaMemAdviseSetPreferredLocation, nobody),
          cudaErrorInvalidDevice);
}

static void prefetch(int *words)
{
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    CUmemLocation driver_host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    cudaStream_t stream;
    int *plain = NULL;

    OK(cudaStreamCreate(&stream));
    memset(words, 1, N * 4);
    OK(cudaMemPrefetchAsync(words, N * 4, device, 0, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
    OK(cuMemPrefetchAsync((CUdeviceptr)words, N * 4, driver_host, 0, stream));
    OK(cuStreamSynchronize(stream));
    EQ(range_word(words, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_CPU);
    EQ(check_wrong(words, N, 0x01010101, 0), 0);
    FAILS(cudaMemPrefetchAsync(words, N * 4, host, 1, stream), cudaErrorInvalidValue);
    FAILS(cudaMemPrefetchAsync(words, 0, host, 0, stream), cudaErrorInvalidValue);
    OK(cudaMalloc(&plain, 64));
    FAILS(cudaMemPrefetchAsync(plain, 64, host, 0, stream), cudaErrorInvalidValue);
    OK(cudaFree(plain));
    OK(cudaStreamDestroy(stream));
}

static void attached(void)
{
    int *words = NULL, *none = NULL;
    cudaStream_t stream;

    OK(cudaStreamCreate(&stream));
    OK(cudaMallocManaged(&words, N * 4, cudaMemAttachHost));
    OK(cudaStreamAttachMemAsync(stream, words, 0, cudaMemAttachSingle));
    OK(cudaStreamSynchronize(stream));
    work<<<N / 128, 128, 0, stream>>>(words, N);
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(words, N, 0, table[1]), 0);
    OK(cuStreamAttachMemAsync(stream, (CUdeviceptr)words, 0, CU_MEM_ATTACH_GLOBAL));
    OK(cudaStreamSynchronize(stream));
    FAILS(cuStreamAttachMemAsync(stream, (CUdeviceptr)words, 0, 0x77), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamAttachMemAsync(stream, 0, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    OK(cudaFree(words));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaMallocManaged(&none, 64, 0x77), cudaErrorInvalidValue);
    FAILS(cudaMallocManaged(&none, 0), cudaErrorInvalidValue);
    CUdeviceptr address = 0;
    FAILS(cuMemAllocManaged(&address, 64, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL));
    *(int *)address = 1;
    OK(cuMemFree(address));
}

int main(void)
{
    int *words = NULL;

    OK(cudaMallocManaged(&words, N * 4));
    EQ((uintptr_t)words % 4096, 0);
#if defined(__clang__)
    OK(cudaMallocManaged(&host_counter, sizeof(int)));
    OK(cudaMallocManaged(&host_table, 4 * sizeof(int)));
    OK(cudaMemcpyToSymbol(counter_at, &host_counter, sizeof(host_counter)));
    OK(cudaMemcpyToSymbol(table_at, &host_table, sizeof(host_table)));
    counter = 3;
#endif
    variables(words);
    advice(words);
    prefetch(words);
    attached();
    OK(cudaFree(words));
    return finish();
}
