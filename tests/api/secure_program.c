/*
 * A program that somebody may run with raised privileges: a kernel, a call that fails. Prints
 * AT_SECURE and what the kernel wrote.
 */
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>;"
                          " ld.param.u64 %rd1, [p]; mov.u32 %r1, 4711; bar.sync 0;"
                          " st.global.u32 [%rd1], %r1; ret; }\n";

int main(void)
{
    CUcontext ctx;
    CUmodule module;
    CUfunction function;
    CUdeviceptr va = 0;
    unsigned word = 0;
    void *args[] = {&va};

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
        cuMemAlloc_v2(&va, 64) || cuModuleLoadData(&module, ptx) ||
        cuModuleGetFunction(&function, module, "k") ||
        cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL) ||
        cuMemcpyDtoH_v2(&word, va, 4))
        return 1;
    (void)cuMemFree_v2(1); /* fails: a line of CUDA_LOG_FILE */
    usleep(200000);        /* better code is compiled and kept meanwhile */
    printf("%lu %u\n", getauxval(AT_SECURE), word);
    return 0;
}
