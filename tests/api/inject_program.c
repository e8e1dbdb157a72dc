/* A program that launches three times; it knows of no tool. */
#include <cuda.h>
#include <stdio.h>

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry nothing()\n{\nret;\n}\n";

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction kernel;

    if (cuInit(0) || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
        cuCtxSetCurrent(context) || cuModuleLoadData(&module, ptx) ||
        cuModuleGetFunction(&kernel, module, "nothing"))
        return 1;
    for (int i = 0; i < 3; i++)
        if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
            return 1;
    if (cuCtxSynchronize())
        return 1;
    printf("done\n");
    return 0;
}
