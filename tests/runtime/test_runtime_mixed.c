/*
 * Programs that use both APIs: here the driver's first, so that the runtime finds a context that it
 * has not made.
 */
#include "api/driver/cuda_abi.h"
#include "runtime_fixture.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .global .align 4 .u32 word;\n"
                          ".visible .entry kernel() { .reg .b32 r; ld.global.u32 r, [word];"
                          " add.u32 r, r, 1; st.global.u32 [word], r; ret; }\n";
static char stub, word;

static void launches_in_the_context_of_the_driver(void)
{
    CUcontext context, current;
    unsigned value = 0;

    eq_u64(cuInit(0), CUDA_SUCCESS, "init");
    eq_u64(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS, "a context");
    eq_error(cudaLaunchKernel(&stub, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL), cudaSuccess,
             "the first call of the runtime is a launch");
    eq_error(cudaLaunchKernel(&stub, (dim3){1, 1, 1}, (dim3){4096, 1, 1}, NULL, 0, NULL),
             cudaErrorInvalidConfiguration, "the device's limits are known");
    eq_error(cudaMemcpyFromSymbol(&value, &word, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess,
             "copy");
    eq_u64(value, 1, "the kernel has run");
    eq_u64(cuCtxGetCurrent(&current), CUDA_SUCCESS, "current");
    ok(current == context, "in the context that was current");
    cuCtxDestroy_v2(context);
}

static void a_launch_without_configuration(void)
{
    dim3 grid, block;
    size_t shared_B;
    cudaStream_t stream;

    eq_error(__cudaPopCallConfiguration(&grid, NULL, &shared_B, &stream), cudaErrorInvalidValue,
             "nowhere to answer to");
    eq_error(__cudaPopCallConfiguration(&grid, &block, &shared_B, &stream),
             cudaErrorMissingConfiguration, "no <<<>>>");
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(ptx));

    fixture_function(handle, &stub, "kernel");
    fixture_variable(handle, &word, "word", 4, 0);
    __cudaRegisterFatBinaryEnd(handle);
    launches_in_the_context_of_the_driver();
    a_launch_without_configuration();
    return done();
}
