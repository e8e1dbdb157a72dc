/* Bad input at the runtime API: broken images, faulting kernels; the process stays alive. */
#include "runtime_fixture.h"

#include "cuda_runtime_api.h"

#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"
static const char faulty[] =
    HEADER ".visible .entry store(.param .u64 p) {\n"
           ".reg .b64 %d<3>; .reg .b32 %r<2>;\n"
           "ld.param.u64 %d1, [p]; mov.u32 %r1, 1; st.global.u32 [%d1], %r1; ret; }\n"
           ".visible .entry divide(.param .u64 p, .param .u32 by) {\n"
           ".reg .b64 %d<3>; .reg .b32 %r<4>;\n"
           "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [by]; mov.u32 %r2, 10;\n"
           "div.u32 %r3, %r2, %r1; st.global.u32 [%d1], %r3; ret; }\n"
           ".visible .entry stop() { trap; ret; }\n";

static char store, divide, stop;
static const dim3 one = {1, 1, 1};

static cudaError_t launch(const void *func, void *ptr, unsigned number)
{
    void *args[] = {&ptr, &number};
    return cudaLaunchKernel(func, one, one, args, 0, NULL);
}

/* Registers one kernel of an image and launches it. */
static cudaError_t load(void *wrapper)
{
    static char stubs[16];
    static unsigned used;
    void **handle = __cudaRegisterFatBinary(wrapper);
    const void *stub = &stubs[used++ % sizeof(stubs)];
    fixture_function(handle, stub, "k");
    __cudaRegisterFatBinaryEnd(handle);
    cudaError_t error = cudaLaunchKernel(stub, one, one, NULL, 0, NULL);
    eq_error(cudaGetLastError(), error, "the error is left for cudaGetLastError");
    __cudaUnregisterFatBinary(handle);
    return error;
}

static void test_images(void)
{
    struct fixture_wrapper *good = fixture_wrap(HEADER ".visible .entry k() { ret; }\n");
    eq_error(load(good), cudaSuccess, "a good image");
    eq_error(load(fixture_wrap(HEADER)), cudaErrorInvalidDeviceFunction, "an empty module");
    eq_error(load(fixture_wrap("this is not PTX")), cudaErrorInvalidPtx, "text that is not PTX");
    eq_error(load(fixture_wrap(HEADER ".visible .entry k() { frobnicate.u32 %r1; }\n")),
             cudaErrorInvalidPtx, "an unknown instruction");
    struct fixture_wrapper bad = *good;
    bad.magic = 1;
    eq_error(load(&bad), cudaErrorInvalidKernelImage, "a wrapper with another magic number");
    bad = *good;
    bad.fatbin = "garbage in place of a container";
    eq_error(load(&bad), cudaErrorInvalidKernelImage, "a container with another magic number");
    const uint32_t empty[4] = {OBJ_FATBIN_MAGIC, 0x00100001, 0, 0};
    bad.fatbin = empty;
    eq_error(load(&bad), cudaErrorNoKernelImageForDevice, "an empty container");
    eq_error(load(NULL), cudaErrorInvalidValue, "no wrapper at all is found out by its use");
}

static void test_faults(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(faulty));
    unsigned *device, value = 0;
    fixture_function(handle, &store, "store");
    fixture_function(handle, &divide, "divide");
    fixture_function(handle, &stop, "stop");
    __cudaRegisterFatBinaryEnd(handle);
    cudaMalloc((void **)&device, 8);
    eq_error(launch(&divide, device, 0), cudaSuccess, "division by zero");
    eq_error(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost), cudaSuccess, "is no fault");
    eq_error(launch(&store, (void *)8, 0), cudaSuccess, "a store to address 8");
    eq_error(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "is one");
    eq_error(cudaMalloc(&(void *){NULL}, 4), cudaErrorIllegalAddress, "and sticks");
    eq_error(launch(&divide, device, 1), cudaErrorIllegalAddress, "to launches as well");
    eq_error(cudaGetLastError(), cudaErrorIllegalAddress, "asking");
    eq_error(cudaGetLastError(), cudaErrorIllegalAddress, "does not clear it");
    eq_error(cudaDeviceReset(), cudaSuccess, "a reset does");
    eq_error(cudaGetLastError(), cudaSuccess, "clean again");
    eq_error(cudaMalloc((void **)&device, 8), cudaSuccess, "and usable");
    eq_error(launch(&store, (char *)device + 1, 0), cudaSuccess, "an unaligned store");
    eq_error(cudaDeviceSynchronize(), cudaErrorMisalignedAddress, "is a fault");
    eq_error(cudaDeviceReset(), cudaSuccess, "reset");
    eq_error(launch(&stop, NULL, 0), cudaSuccess, "trap");
    eq_error(cudaDeviceSynchronize(), cudaErrorLaunchFailure, "is a launch failure");
    eq_error(cudaDeviceReset(), cudaSuccess, "reset");
}

static void test_pointers(void)
{
    unsigned word;
    void *device;
    eq_error(cudaMalloc(NULL, 4), cudaErrorInvalidValue, "nowhere to put the pointer");
    eq_error(cudaMalloc(&device, 16), cudaSuccess, "16 bytes");
    eq_error(cudaMemcpy(device, &word, 1024, cudaMemcpyHostToDevice), cudaErrorInvalidValue,
             "copying beyond the end");
    eq_error(cudaMemset((char *)device + 4096, 0, 4), cudaErrorInvalidValue, "setting beyond it");
    eq_error(cudaFree((char *)device + 4), cudaErrorInvalidValue, "freeing the middle");
    eq_error(cudaFree(&word), cudaErrorInvalidValue, "freeing a local variable");
    eq_error(cudaFree(device), cudaSuccess, "freeing it");
    eq_error(cudaMemcpy(&word, device, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue,
             "copying from freed memory");
    eq_error(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue, "no place for properties");
    eq_error(cudaEventRecord(NULL, NULL), cudaErrorInvalidResourceHandle, "no event");
    eq_error(cudaStreamSynchronize((cudaStream_t)&word), cudaErrorInvalidResourceHandle,
             "not a stream");
    (void)cudaGetLastError();
}

static void test_missing(void)
{
    eq_error(cudaCtxResetPersistingL2Cache(), cudaErrorNotSupported, "what no device has");
    eq_error(cudaGetLastError(), cudaErrorNotSupported, "leaves its error");
    eq_str(cudaGetErrorString(cudaErrorNotSupported), "operation not supported", "text");
}

int main(void)
{
    test_pointers();
    test_images();
    test_faults();
    test_missing();
    return done();
}
