/* Memory of the host: allocated, registered, mapped; flags, and addresses in both directions. */
#include "check.h"

#include <sys/mman.h>

static const int N = 1024;

static __global__ void twice(int *words, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        words[i] *= 2;
}

static void numbers(int *words)
{
    for (int i = 0; i < N; i++)
        words[i] = i;
}

static void allocated(void)
{
    int *words = NULL, *device = NULL;
    unsigned int flags = 0;
    void *memory = NULL;

    OK(cudaHostAlloc(&words, N * 4, cudaHostAllocMapped | cudaHostAllocPortable));
    numbers(words);
    OK(cudaHostGetDevicePointer(&device, words, 0));
    twice<<<8, 128>>>(device, N);
    OK(cudaDeviceSynchronize());
    EQ(check_wrong(words, N, 0, 2), 0);
    OK(cudaHostGetFlags(&flags, words));
    EQ(flags & (cudaHostAllocMapped | cudaHostAllocPortable),
       cudaHostAllocMapped | cudaHostAllocPortable);
    CUdeviceptr address = 0;
    OK(cuMemHostGetDevicePointer(&address, words, 0));
    EQ(address, (CUdeviceptr)device);
    void *host = NULL;
    OK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
    TRUE(host == words);
    OK(cudaFreeHost(words));
    FAILS(cudaFreeHost(words), cudaErrorInvalidValue);

    OK(cuMemAllocHost(&memory, 64));
    memset(memory, 1, 64);
    OK(cuMemHostGetFlags(&flags, memory));
    OK(cuMemFreeHost(memory));
    OK(cuMemHostAlloc(&memory, 64, CU_MEMHOSTALLOC_WRITECOMBINED));
    OK(cuMemHostGetFlags(&flags, memory));
    EQ(flags & CU_MEMHOSTALLOC_WRITECOMBINED, CU_MEMHOSTALLOC_WRITECOMBINED);
    OK(cuMemFreeHost(memory));

    FAILS(cuMemHostAlloc(&memory, 64, 0x100), CUDA_ERROR_INVALID_VALUE);
    FAILS(cudaHostAlloc(&memory, 64, 0x100), cudaErrorInvalidValue);
    FAILS(cuMemHostAlloc(NULL, 64, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostAlloc(&memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cudaMallocHost(&memory, 64));
    FAILS(cuMemHostGetDevicePointer(&address, memory, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cudaFree(memory), cudaErrorInvalidValue); /* the wrong one of two */
    OK(cudaFreeHost(memory));
    OK(cudaFreeHost(NULL));
    int plain = 0;
    FAILS(cudaFreeHost(&plain), cudaErrorInvalidValue);
    FAILS(cudaHostGetFlags(&flags, &plain), cudaErrorInvalidValue);
}

static void registered(void)
{
    size_t size_B = N * 4;
    int *words = (int *)mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                             0);
    int *device = NULL;
    cudaPointerAttributes attributes;

    numbers(words);
    OK(cudaHostRegister(words, size_B, cudaHostRegisterMapped | cudaHostRegisterPortable));
    OK(cudaPointerGetAttributes(&attributes, words));
    EQ(attributes.type, cudaMemoryTypeHost);
    OK(cudaHostGetDevicePointer(&device, words, 0));
    twice<<<8, 128>>>(device, N);
    OK(cudaDeviceSynchronize());
    EQ(check_wrong(words, N, 0, 2), 0);
    FAILS(cudaHostRegister(words, size_B, 0), cudaErrorHostMemoryAlreadyRegistered);
    FAILS(cuMemHostRegister(words, 64, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cudaHostUnregister(words));
    FAILS(cudaHostUnregister(words), cudaErrorHostMemoryNotRegistered);
    FAILS(cuMemHostUnregister(words), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cudaPointerGetAttributes(&attributes, words));
    EQ(attributes.type, cudaMemoryTypeUnregistered);
    OK(cuMemHostRegister(words, size_B, CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cuMemHostUnregister(words));
    FAILS(cuMemHostRegister(words, size_B, 0x100), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister(words, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister(NULL, 64, 0), CUDA_ERROR_INVALID_VALUE);
    EQ(check_wrong(words, N, 0, 2), 0);
    munmap(words, size_B);
}

/* Copies from and to pinned memory, in the order of a stream. */
static void copies(void)
{
    int *from = NULL, *to = NULL, *device = NULL;
    cudaStream_t stream;

    OK(cudaMallocHost(&from, N * 4));
    OK(cudaMallocHost(&to, N * 4));
    OK(cudaMalloc(&device, N * 4));
    OK(cudaStreamCreate(&stream));
    numbers(from);
    OK(cudaMemcpyAsync(device, from, N * 4, cudaMemcpyHostToDevice, stream));
    twice<<<8, 128, 0, stream>>>(device, N);
    OK(cudaMemcpyAsync(to, device, N * 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(to, N, 0, 2), 0);
    OK(cudaMemcpyAsync(to, from, N * 4, cudaMemcpyHostToHost, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(to, N, 0, 1), 0);
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(from));
    OK(cudaFreeHost(to));
    OK(cudaFree(device));
}

int main(void)
{
    allocated();
    registered();
    copies();
    return finish();
}
