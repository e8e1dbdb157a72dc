/* The runtime in a green context: the same kernels and variables, fewer multiprocessors. */
#include "runtime_fixture.h"

#include "api/driver/cuda_abi.h"

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .global .align 4 .u32 counter;\n"
                          ".visible .entry bump()\n{\n"
                          "red.global.add.u32 [counter], 1;\nret;\n}\n";

static int stub;
static char shadow[4];

static CUgreenCtx green_make(void)
{
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green = NULL;
    unsigned n = 1;

    eq_u64(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS, "resource");
    eq_u64(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 1, 2), CUDA_SUCCESS, "a part");
    eq_u64(cuDevResourceGenerateDesc(&desc, &part, 1), CUDA_SUCCESS, "descriptor");
    eq_u64(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS, "create");
    return green;
}

/* Parts of GPUs of this kind are 8 multiprocessors at least, and the device has 4. */
static void test_whole(void)
{
    CUdevResource all, part;
    unsigned n = 2;

    eq_u64(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS, "resource");
    eq_u64(all.sm.minSmPartitionSize, 4, "parts of all that there is");
    eq_u64(all.sm.smCoscheduledAlignment, 4, "and no others");
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, 0, 1), CUDA_SUCCESS, "how many");
    eq_u64(n, 1, "one");
    eq_u64(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 1), CUDA_SUCCESS, "a part");
    eq_u64(part.sm.smCount, 4, "of all of them");
}

static uint32_t counter(void)
{
    uint32_t value = 77;

    eq_error(cudaMemcpyFromSymbol(&value, shadow, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess,
             "read the variable");
    return value;
}

static void launch(void)
{
    eq_error(cudaLaunchKernel(&stub, (dim3){3, 1, 1}, (dim3){1, 1, 1}, NULL, 0, 0), cudaSuccess,
             "launch");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(ptx));
    void *address, *in_green;
    CUgreenCtx green;
    CUcontext ctx;

    setenv("HEDDLE_THREADS", "4", 1);
    fixture_function(handle, &stub, "bump");
    fixture_variable(handle, shadow, "counter", 4, 0);
    __cudaRegisterFatBinaryEnd(handle);
    launch();
    eq_error(cudaGetSymbolAddress(&address, shadow), cudaSuccess, "where the variable is");
    test_whole();
    green = green_make();
    eq_u64(cuCtxFromGreenCtx(&ctx, green), CUDA_SUCCESS, "as a context");
    eq_u64(cuCtxSetCurrent(ctx), CUDA_SUCCESS, "current");
    launch();
    eq_error(cudaGetSymbolAddress(&in_green, shadow), cudaSuccess, "where it is now");
    ok(address == in_green, "the same variable");
    eq_u64(counter(), 6, "which both launches counted");
    eq_error(cudaSetDevice(0), cudaSuccess, "back to the primary context");
    eq_u64(cuGreenCtxDestroy(green), CUDA_SUCCESS, "destroy");
    launch();
    eq_u64(counter(), 9, "goes on");
    return done();
}
