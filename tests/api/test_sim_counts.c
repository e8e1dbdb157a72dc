/*
 * HEDDLE_SIM=counts: each launch writes a line of what it executed, behind the kernel's own end.
 * HEDDLE_LOG names the file that this reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry scale(.param .u64 p)\n{\n"
    " .reg .b32 %r<3>;\n .reg .b64 %d<4>;\n .reg .f32 %f<4>;\n"
    " ld.param.u64 %d1, [p];\n mov.u32 %r1, %tid.x;\n mul.wide.u32 %d2, %r1, 4;\n"
    " add.u64 %d3, %d1, %d2;\n ld.global.f32 %f1, [%d3];\n fma.rn.f32 %f2, %f1, %f1, %f1;\n"
    " div.rn.f32 %f3, %f2, %f1;\n st.global.f32 [%d3], %f3;\n ret;\n}\n";

static bool has(const char *text, const char *part)
{
    return ok(strstr(text, part) != NULL, "a line with \"%s\"", part);
}

int main(void)
{
    const char *path = getenv("HEDDLE_LOG");
    CUcontext context;
    CUmodule module;
    CUfunction scale;
    CUdeviceptr p;
    void *params[] = {&p};
    char text[4096] = "";
    FILE *file;

    ok(path && truncate(path, 0) == 0, "the log is empty");
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&context, 0, 0), "context");
    success(cuModuleLoadData(&module, ptx), "module");
    success(cuModuleGetFunction(&scale, module, "scale"), "kernel");
    success(cuMemAlloc_v2(&p, 4 * 96), "memory");
    success(cuMemsetD32_v2(p, 0x3f800000, 96), "ones");
    success(cuLaunchKernel(scale, 1, 1, 1, 96, 1, 1, 0, NULL, params, NULL), "launch");
    success(cuCtxSynchronize(), "it ends");
    file = fopen(path, "r");
    if (!ok(file != NULL, "the log is there"))
        return done();
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    has(text, "counts: grid=1,1,1 block=96,1,1 inst=");
    has(text, " fadd=0 fmul=0 ffma=576 "); /* one, and five of the quotient */
    has(text, " special=96 ");
    has(text, " kernel=scale\n");
    return done();
}
