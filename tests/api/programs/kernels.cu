/* Kernels and variables of the program: attributes, handles, parameters, symbols. */
#include "check.h"

struct pair {
    char tag;
    double value;
};

static __constant__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static __device__ int counter = 10;
static __device__ pair pairs[2];

static __global__ void __launch_bounds__(64) kernel(int *out, char c, pair p, short s)
{
    __shared__ int cells[64];
    cells[threadIdx.x] = table[threadIdx.x & 7] + counter + c + s + (int)p.value;
    __syncthreads();
    out[threadIdx.x] = cells[threadIdx.x ^ 1];
}

static __global__ void store_pair(double value)
{
    pairs[1].tag = 'x';
    pairs[1].value = value;
}

static int dynamic_of(const void *func)
{
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, func));
    return attributes.maxDynamicSharedSizeBytes;
}

static void attributes(void)
{
    cudaFuncAttributes got;
    cudaFunction_t function = NULL;
    cudaKernel_t handle = NULL;
    CUfunction of_kernel = NULL;
    const char *name = NULL, *driver_name = NULL;
    int value = 0;

    OK(cudaFuncGetAttributes(&got, kernel));
    EQ(got.sharedSizeBytes, 64 * 4);
    EQ(got.maxThreadsPerBlock, 64);
    TRUE(got.numRegs > 0);
    TRUE(got.constSizeBytes < 64 << 10 && got.localSizeBytes < 1 << 20);
    TRUE(got.ptxVersion >= 70 && got.binaryVersion >= 70);
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 4096));
    EQ(dynamic_of((const void *)kernel), 4096);
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    OK(cudaFuncGetAttributes(&got, kernel));
    EQ(got.preferredShmemCarveout, 50);
    OK(cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferL1));
    FAILS(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 101),
          cudaErrorInvalidValue);
    FAILS(cudaFuncSetAttribute(kernel, (cudaFuncAttribute)99, 1), cudaErrorInvalidValue);
    FAILS(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, -1),
          cudaErrorInvalidValue);
    FAILS(cudaFuncGetAttributes(&got, (const void *)&value), cudaErrorInvalidDeviceFunction);

    OK(cudaGetFuncBySymbol(&function, (const void *)kernel));
    OK(cudaGetKernel(&handle, kernel));
    TRUE(function && handle);
    OK(cuKernelGetFunction(&of_kernel, (CUkernel)handle));
    TRUE(of_kernel == (CUfunction)function);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    EQ(value, 4096);
    OK(cudaFuncGetName(&name, kernel));
    OK(cuFuncGetName(&driver_name, function));
    TRUE(!strcmp(name, driver_name) && strstr(name, "kernel"));
    FAILS(cudaGetKernel(&handle, (const void *)&value), cudaErrorInvalidDeviceFunction);
}

static void parameters(void)
{
    cudaFunction_t function = NULL;
    cudaKernel_t handle = NULL;
    size_t offset = 99, size_B = 99;
    const size_t offsets[] = {0, 8, 16, 32}, sizes[] = {8, 1, 16, 2};

    OK(cudaGetFuncBySymbol(&function, (const void *)kernel));
    OK(cudaGetKernel(&handle, kernel));
    for (size_t i = 0; i < 4; i++) {
        OK(cuFuncGetParamInfo(function, i, &offset, &size_B));
        EQ(offset, offsets[i]);
        EQ(size_B, sizes[i]);
        OK(cuKernelGetParamInfo((CUkernel)handle, i, &offset, NULL));
        EQ(offset, offsets[i]);
    }
    FAILS(cuFuncGetParamInfo(function, 4, &offset, &size_B), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncGetParamInfo(function, 0, NULL, &size_B), CUDA_ERROR_INVALID_VALUE);
}

static void symbols(void)
{
    int *out = NULL, to[64], three = 3, words[2] = {0, 0};
    void *address = NULL, *again = NULL;
    size_t size_B = 0;
    pair p = {'a', 5.75}, got[2];

    OK(cudaMalloc(&out, sizeof(to)));
    OK(cudaGetSymbolSize(&size_B, table));
    EQ(size_B, 32);
    OK(cudaGetSymbolAddress(&address, counter));
    OK(cudaMemcpyFromSymbol(&three, counter, sizeof(three)));
    EQ(three, 10);
    three = 3;
    OK(cudaMemcpyToSymbol(counter, &three, sizeof(three)));
    OK(cudaMemcpy(words, address, 4, cudaMemcpyDeviceToHost)); /* the same by its address */
    EQ(words[0], 3);
    OK(cudaMemcpyToSymbolAsync(table, &three, 4, 4, cudaMemcpyHostToDevice, 0));
    kernel<<<1, 64>>>(out, 2, p, -1);
    OK(cudaMemcpy(to, out, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(to[1], 1 + 3 + 2 - 1 + 5);
    EQ(to[0], 3 + 3 + 2 - 1 + 5);
    store_pair<<<1, 1>>>(2.5);
    OK(cudaMemcpyFromSymbolAsync(got, pairs, sizeof(got), 0, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    TRUE(got[1].tag == 'x' && got[1].value == 2.5);
    OK(cudaMemcpyFromSymbol(words, table, 8, 8));
    EQ(words[0], 3);
    EQ(words[1], 4);
    OK(cudaGetSymbolAddress(&again, counter));
    TRUE(again == address);
    FAILS(cudaMemcpyToSymbol(table, to, 33), cudaErrorInvalidValue);
    FAILS(cudaMemcpyFromSymbol(to, table, 8, 28), cudaErrorInvalidValue);
    FAILS(cudaGetSymbolAddress(&address, (const void *)&three), cudaErrorInvalidSymbol);
    FAILS(cudaMemcpyToSymbol(counter, &three, 4, 0, cudaMemcpyDeviceToHost),
          cudaErrorInvalidMemcpyDirection);
    OK(cudaFree(out));
}

int main(void)
{
    attributes();
    parameters();
    symbols();
    return finish();
}
