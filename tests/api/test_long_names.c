/*
 * Kernels with names of more than a thousand characters, as templates have them: they run, and the
 * message of a fault says at its end what happened, whatever had to be left out.
 *
 *     test_long_names DEVICE
 */
#include <string.h>

#include "api/driver/cuda_abi.h"
#include "heddle/tap.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define TEN(text)          text text text text text text text text text text
#define NAME               "_ZN" TEN(TEN("11a_namespace")) "6kernelEPi"

static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry " NAME "(.param .u64 p)\n{\n"
                           " .reg .b64 %d<2>;\n ld.param.u64 %d1, [p];\n"
                           " st.global.u32 [%d1], 77;\n ret;\n}\n";

static char said[8192];

static void on_fault(void *user, const struct heddle_event *event)
{
    (void)user;
    snprintf(said, sizeof(said), "%s", event->fault.message);
}

int main(int argc, char **argv)
{
    uint32_t listener, value = 0;
    CUdeviceptr memory, wild = 0x1000;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    const char *name = "";
    void *params[] = {&memory};

    setenv("HEDDLE_DEVICES", argc > 1 ? argv[1] : "cpu", 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    listener = heddle_tap_subscribe(HEDDLE_KIND(FAULT), on_fault, NULL);
    success(cuCtxCreate_v2(&context, 0, 0), "context");
    success(cuModuleLoadData(&module, text), "module");
    success(cuModuleGetFunction(&function, module, NAME), "a kernel of %zu characters",
            strlen(NAME));
    success(cuFuncGetName(&name, function), "its name");
    ok(!strcmp(name, NAME), "all of it");
    success(cuMemAlloc_v2(&memory, 4), "memory");
    success(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
    success(cuMemcpyDtoH_v2(&value, memory, 4), "copy");
    eq_u64(value, 77, "it ran");
    params[0] = &wild;
    success(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "a wild store");
    heddle_tap_settle();
    heddle_tap_unsubscribe(listener);
    if (!ok(strstr(said, "kernel _ZN11a_") && strstr(said, "illegal ") &&
                strstr(said, "address 0x1000") && strstr(said, "block (0,0,0)"),
            "the message has the kernel, the address and the block"))
        diag("%s", said);
    return done();
}
