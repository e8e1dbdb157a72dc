/* Errors: before initialisation, sticky and not, each thread's last one, names and texts. */
#include "check.h"

#include <pthread.h>

static __global__ void store(int *where)
{
    *where = 1;
}

static __global__ void nothing()
{
}

static void before_init(void)
{
    int count = -1;
    CUcontext context;

    FAILS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EQ(count, -1);
    FAILS(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    FAILS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    TRUE(count >= 1);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void names(void)
{
    const char *text = "untouched";

    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    TRUE(!strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY"));
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    TRUE(text && *text);
    OK(cuGetErrorString(CUDA_SUCCESS, &text));
    TRUE(!strcmp(text, "no error"));
    FAILS(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    TRUE(!text);
    FAILS(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    TRUE(!text);
    FAILS(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
    TRUE(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
    TRUE(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
    TRUE(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
    TRUE(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
    TRUE(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
    TRUE(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
}

static void *other_thread(void *)
{
    EQ(cudaPeekAtLastError(), cudaSuccess);
    EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    return NULL;
}

/* An error is kept until it is read; success leaves it; each thread has its own. */
static void last_errors(void)
{
    int *memory = NULL;
    pthread_t thread;

    EQ(cudaGetLastError(), cudaSuccess);
    EQ(cudaMalloc((void **)NULL, 4), cudaErrorInvalidValue);
    EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EQ(cudaMalloc(&memory, 4), cudaSuccess);
    EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
    TRUE(!pthread_create(&thread, NULL, other_thread, NULL));
    pthread_join(thread, NULL);
    EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EQ(cudaGetLastError(), cudaSuccess);

    nothing<<<1, 2000>>>(); /* more threads than a block may have */
    EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    nothing<<<0, 1>>>();
    EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    nothing<<<1, 1, 1 << 24>>>(); /* more shared memory than there is */
    EQ(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(memory));
    EQ(cudaFree((char *)&memory), cudaErrorInvalidValue);
    EQ(cudaGetLastError(), cudaErrorInvalidValue);

    EQ(cudaMalloc(&memory, (size_t)1 << 60), cudaErrorMemoryAllocation);
    EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaDeviceSynchronize());
}

/* Every call of the context fails from now on, until the device is reset. */
static void sticky(void)
{
    int *memory = NULL;
    CUdeviceptr address;

    OK(cudaMalloc(&memory, 4));
    store<<<1, 1>>>((int *)8);
    EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EQ(cudaMemset(memory, 0, 4), cudaErrorIllegalAddress);
    EQ(cudaMalloc(&memory, 4), cudaErrorIllegalAddress);
    EQ(cuMemAlloc(&address, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    nothing<<<1, 1>>>();
    EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EQ(cudaDeviceReset(), cudaSuccess);
    cudaGetLastError();
    OK(cudaMalloc(&memory, 4));
    store<<<1, 1>>>(memory);
    OK(cudaDeviceSynchronize());
    int word = 0;
    OK(cudaMemcpy(&word, memory, 4, cudaMemcpyDeviceToHost));
    EQ(word, 1);
    OK(cudaFree(memory));
}

int main(void)
{
    before_init();
    names();
    last_errors();
    sticky();
    return finish();
}
