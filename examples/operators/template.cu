/*
 * Copy this file, change what says CHANGE, and every front has the operator: see README.md. It
 * compiles and runs as it is: y = factor * x.
 */
/* CHANGE: the kernel. */
extern "C" __global__ void scale(float *y, const float *x, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = factor * x[i];
}

#ifndef __CUDACC_RTC__
#include "plugin.h"

#include <cuda_runtime.h>

/* CHANGE: what is asked of the inputs, and the outputs' dims and rank. */
static const char *shapes(plugin_call *call)
{
    if (call->in[0].rank != 1)
        return "x must be a vector";
    call->out[0].rank = 1;
    call->out[0].dims[0] = call->in[0].dims[0];
    return nullptr;
}

/* CHANGE: the launch. Nothing may wait here, and every launch is in `stream`. */
static const char *enqueue(const plugin_call *call, cudaStream_t stream)
{
    int n = (int)call->in[0].dims[0];
    if (n)
        scale<<<(n + 255) / 256, 256, 0, stream>>>(
            (float *)call->out[0].at, (const float *)call->in[0].at, n, call->attributes[0]);
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

/* The gradient takes the inputs and the outputs' gradients. CHANGE: here d_x = factor * d_y. */
static const char *gradient_enqueue(const plugin_call *call, cudaStream_t stream)
{
    plugin_call forward = *call;
    forward.in[0].at = call->in[1].at;
    return enqueue(&forward, stream);
}

extern "C" const plugin_op *plugin_table()
{
    /* name, inputs, outputs, attributes, gradient, shapes, workspace, enqueue */
    static const plugin_op table[] = {
        {"scale",
         {{"x", PLUGIN_F32}},
         {{"y", PLUGIN_F32}},
         {{"factor", 2}},
         "scale_grad",
         shapes,
         nullptr,
         enqueue},
        {"scale_grad",
         {{"x", PLUGIN_F32}, {"d_y", PLUGIN_F32}},
         {{"d_x", PLUGIN_F32}},
         {{"factor", 2}},
         nullptr,
         shapes,
         nullptr,
         gradient_enqueue},
        {},
    };
    return table;
}
#endif
