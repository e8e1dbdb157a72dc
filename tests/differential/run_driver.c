/*
 * Runs a batch (batch.h) through the driver API, on the device that HEDDLE_DEVICE names:
 *
 *     run_driver JOB PTX IN OUT FIRST
 *
 * An error of a kernel ends the context on hardware as here, so each such kernel is followed by a
 * new one.
 */
#include <stdio.h>

#include "api/driver/cuda_abi.h"
#include "batch.h"

struct state {
    const struct batch *batch;
    CUcontext context;
    CUmodule module;
    CUdeviceptr out, in;
};

/* The first call that fails is the reason. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        CUresult status_ = (call);                                                                 \
        if (status_)                                                                               \
            return fail(status_, #call, why, why_cap);                                             \
    } while (0)

static bool fail(CUresult status, const char *call, char *why, size_t why_cap)
{
    const char *text = NULL;
    cuGetErrorString(status, &text);
    snprintf(why, why_cap, "%d %s: %s", (int)status, text ? text : "", call);
    return false;
}

static bool open_context(void *ctx, const struct batch *batch, char *why, size_t why_cap)
{
    struct state *s = ctx;
    s->batch = batch;
    TRY(cuInit(0));
    TRY(cuCtxCreate_v2(&s->context, 0, 0));
    TRY(cuModuleLoadData(&s->module, batch->ptx));
    TRY(cuMemAlloc_v2(&s->out, batch->out_B));
    TRY(cuMemAlloc_v2(&s->in, batch->in_B));
    return true;
}

static bool launch(const struct state *s, const struct batch_kernel *k, void *out, char *why,
                   size_t why_cap)
{
    CUfunction func;
    CUdeviceptr device_out = s->out, device_in = s->in;
    void *params[] = {&device_out, &device_in};
    TRY(cuModuleGetFunction(&func, s->module, k->name));
    TRY(cuMemsetD8_v2(s->out, 0, s->batch->out_B));
    TRY(cuMemcpyHtoD_v2(s->in, k->input, s->batch->in_B));
    TRY(cuLaunchKernel(func, s->batch->blocks, 1, 1, k->block[0], k->block[1], k->block[2], 0, NULL,
                       params, NULL));
    TRY(cuCtxSynchronize());
    TRY(cuMemcpyDtoH_v2(out, s->out, s->batch->out_B));
    return true;
}

static bool run_kernel(void *ctx, const struct batch_kernel *k, void *out, char *why,
                       size_t why_cap)
{
    struct state *s = ctx;
    char again[128];
    if (launch(s, k, out, why, why_cap))
        return true;
    cuCtxDestroy_v2(s->context);
    return open_context(s, s->batch, again, sizeof(again)) && false;
}

int main(int argc, char **argv)
{
    struct state state = {0};
    if (argc != 6)
        return 2;
    int status = batch_main(argv + 1, open_context, run_kernel, &state);
    if (state.context)
        cuCtxDestroy_v2(state.context);
    return status;
}
