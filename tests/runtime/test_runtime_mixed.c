/*
 * Programs that use both APIs: the driver's first, so that the runtime finds a context that it has
 * not made; handles that go from one to the other; several contexts.
 */
#include "api/driver/cuda_abi.h"
#include "runtime_fixture.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .global .attribute(.managed) .align 4 .u32 shared_word = 5;\n"
                          ".visible .entry raise() { .reg .b32 r; ld.global.u32 r, [shared_word];"
                          " add.u32 r, r, 1; st.global.u32 [shared_word], r; ret; }\n"
                          ".visible .global .align 4 .u32 word;\n"
                          ".visible .entry kernel() { .reg .b32 r; ld.global.u32 r, [word];"
                          " add.u32 r, r, 1; st.global.u32 [word], r; ret; }\n";
static char stub, raise_stub, word;
static void *managed;

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

/* A cudaKernel_t is a CUkernel, and the other way around. */
static void kernels_are_those_of_the_driver(void)
{
    cudaKernel_t kernel;
    CUkernel other;
    CUlibrary library;
    CUfunction func;
    const char *name = "";
    unsigned value = 0;

    eq_error(cudaSetDevice(0), cudaSuccess, "the primary context");
    eq_error(cudaGetKernel(&kernel, &stub), cudaSuccess, "of the program");
    eq_u64(cuKernelGetName(&name, kernel), CUDA_SUCCESS, "in the driver");
    eq_str(name, "kernel", "its name");
    eq_u64(cuKernelGetFunction(&func, kernel), CUDA_SUCCESS, "its function");
    eq_u64(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS, "runs");
    eq_u64(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS,
           "and the handle itself");
    eq_u64(cuKernelGetLibrary(&library, kernel), CUDA_SUCCESS, "its library");
    eq_u64(cuLibraryGetKernel(&other, library, "kernel"), CUDA_SUCCESS, "asked for there");
    ok(other == kernel, "the same");
    eq_error(cudaLaunchKernel(other, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL), cudaSuccess,
             "the driver's in the runtime");
    eq_error(cudaMemcpyFromSymbol(&value, &word, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess,
             "copy");
    eq_u64(value, 3, "all of them count in the program's variable");
    eq_error(cudaLaunchKernel(&value, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL),
             cudaErrorInvalidDeviceFunction, "neither a function nor a handle");
}

static unsigned *raised_on(int device)
{
    eq_error(cudaSetDevice(device), cudaSuccess, "device %d", device);
    eq_error(cudaLaunchKernel(&raise_stub, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL),
             cudaSuccess, "launch");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
    return managed;
}

/* The manual of cuLibraryGetManaged(): managed memory of a library is shared across devices. */
static void managed_variables_are_one(void **handle)
{
    ok(__cudaInitModule(handle), "as before the host's first access");
    unsigned *first = raised_on(0);
    eq_u64(*first, 6, "its value and one");
    ok(__cudaInitModule(handle), "again");
    unsigned *second = raised_on(1);
    ok(first == second, "one variable on both devices");
    eq_u64(*second, 7, "both kernels count in it");
    eq_error(cudaSetDevice(0), cudaSuccess, "the device that made it");
    eq_error(cudaDeviceReset(), cudaSuccess, "reset");
    second = raised_on(1);
    eq_u64(*second, 8, "it stays as long as another device has it");
    eq_error(cudaDeviceReset(), cudaSuccess, "the other one as well");
    ok(__cudaInitModule(handle), "and again");
    eq_u64(*(unsigned *)managed, 5, "its first value");
    second = raised_on(0);
    eq_u64(*second, 6, "anew");
}

int main(void)
{
    setenv("HEDDLE_DEVICES", "2", 1);
    void **handle = __cudaRegisterFatBinary(fixture_wrap(ptx));

    fixture_function(handle, &stub, "kernel");
    fixture_function(handle, &raise_stub, "raise");
    fixture_variable(handle, &word, "word", 4, 0);
    fixture_managed(handle, &managed, "shared_word", 4);
    __cudaRegisterFatBinaryEnd(handle);
    launches_in_the_context_of_the_driver();
    a_launch_without_configuration();
    kernels_are_those_of_the_driver();
    managed_variables_are_one(handle);
    (void)cudaGetLastError();
    return done();
}
