/* Relocatable device code in two files: what linking has to join. The arguments name the objects. */
#include <cstdio>
#include <cuda.h>

#include "parts.h"

extern __device__ int counter;
extern __constant__ int table[4];
extern __device__ int (*functions[2])(int);
__device__ int helper(int);
__device__ int other_instance();
__device__ int other_same();

static __device__ int same() { return 1; }

extern "C" __global__ void run(int *out)
{
    out[0] = helper(20);
    out[1] = counter;
    out[2] = table[2];
    out[3] = functions[1](6);
    shape *s = make_shape(9);
    out[4] = s->area();
    delete s;
    out[5] = instance(1) + other_instance(); /* one variable in both files */
    out[6] = same() * 10 + other_same();
}

static const int want[] = {22, 77, 3, 36, 81, 6 + 107, 12};
static int failed;

static void compare(const char *how, cudaError_t error, int *got)
{
    for (int i = 0; i < 7; i++)
        if (error != cudaSuccess || got[i] != want[i])
            printf("FAIL %s: %s, result %d is %d\n", how, cudaGetErrorString(error), i, got[i]), failed = 1;
}

static void run_linked(char **files)
{
    CUlinkState link;
    CUmodule module;
    CUfunction func;
    CUdeviceptr out, symbol;
    void *image, *args[] = {&out};
    size_t size;
    int h[7] = {0}, value = 77;
    CUresult r = cuLinkCreate(0, nullptr, nullptr, &link);

    r = r ? r : cuLinkAddFile(link, CU_JIT_INPUT_OBJECT, files[0], 0, nullptr, nullptr);
    r = r ? r : cuLinkAddFile(link, CU_JIT_INPUT_LIBRARY, files[1], 0, nullptr, nullptr);
    r = r ? r : cuLinkComplete(link, &image, &size);
    r = r ? r : cuModuleLoadData(&module, image);
    r = r ? r : cuLinkDestroy(link);
    r = r ? r : cuModuleGetFunction(&func, module, "run");
    r = r ? r : cuModuleGetGlobal(&symbol, &size, module, "counter");
    r = r ? r : cuMemcpyHtoD(symbol, &value, 4);
    r = r ? r : cuMemAlloc(&out, sizeof(h));
    r = r ? r : cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr);
    r = r ? r : cuMemcpyDtoH(h, out, sizeof(h));
    compare("cuLink", r ? cudaErrorUnknown : cudaSuccess, h);
}

int main(int, char **argv)
{
    int *d, *symbol, h[7] = {0}, value = 77;

    cudaMalloc(&d, sizeof(h));
    cudaGetSymbolAddress((void **)&symbol, counter);
    cudaMemcpy(symbol, &value, 4, cudaMemcpyHostToDevice);
    run<<<1, 1>>>(d);
    compare("nvcc", cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost), h);
    run_linked(argv + 1);
    puts(failed ? "FAIL" : "PASS");
    return failed;
}
