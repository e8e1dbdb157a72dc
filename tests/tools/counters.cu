// Runs each kernel that is named, of a file of PTX: GRID blocks of X threads, or X by Y. counters FILE [NAME:GRID:X[xY] ..]
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, (int)result);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUdeviceptr memory;

    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "context");
    check(cuCtxSetCurrent(context), "context");
    check(cuModuleLoad(&module, argv[1]), argv[1]);
    check(cuMemAlloc(&memory, 1 << 16), "cuMemAlloc");
    check(cuMemsetD8(memory, 0, 1 << 16), "cuMemsetD8");
    for (int i = 2; i < argc; i++) {
        char *grid = strchr(argv[i], ':'), *block = strrchr(argv[i], ':'), *by = strchr(block, 'x');
        void *params[] = {&memory};
        CUfunction function;

        *grid = '\0';
        check(cuModuleGetFunction(&function, module, argv[i]), argv[i]);
        check(cuLaunchKernel(function, (unsigned)atoi(grid + 1), 1, 1, (unsigned)atoi(block + 1), by ? (unsigned)atoi(by + 1) : 1, 1, 0, NULL, params, NULL), argv[i]);
    }
    check(cuCtxSynchronize(), "cuCtxSynchronize");
    return 0;
}
