/*
 * Kernels that a program has as machine code of GPUs only, and what stands in for them
 * (heddle_native_stand_in()): by name, by a pattern, native ones and compiled ones.
 */
#include "runtime_fixture.h"

#include <assert.h>
#include <stdatomic.h>

#include "api/driver/cuda_abi.h"
#include "heddle/native.h"

/* A container with nothing that runs here. */
static struct fixture_wrapper *wrap_machine_code(void)
{
    static const char code[64] = "\177ELF";
    struct fixture_wrapper *wrapper = calloc(1, sizeof(*wrapper));
    const struct obj_fatbin_source source = {
        .kind = OBJ_ENTRY_CUBIN,
        .arch = 90,
        .version_major = 8,
        .payload = code,
        .size_B = sizeof(code),
    };
    struct hd_buf buf;

    hd_buf_init(&buf);
    if (!wrapper || obj_fatbin_write(&source, 1, OBJ_CODEC_RAW, &buf) != HD_OK)
        abort();
    *wrapper = (struct fixture_wrapper){(int)OBJ_WRAPPER_MAGIC, 1, hd_buf_take(&buf), NULL};
    return wrapper;
}

/* Two parameters, of which the second is not where the first one is. */
static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry add(.param .u64 to, .param .u32 by) {\n"
                          ".reg .b32 %r<3>; .reg .b64 %d<2>;\n"
                          "ld.param.u64 %d0, [to]; ld.param.u32 %r0, [by];\n"
                          "ld.global.u32 %r1, [%d0]; add.u32 %r1, %r1, %r0;\n"
                          "st.global.u32 [%d0], %r1; ret; }\n";

static _Atomic unsigned calls;

static int add(struct heddle_native_call *call)
{
    const struct {
        uint32_t *to, by;
    } *p = call->params;

    atomic_fetch_add(&calls, 1);
    *p->to += p->by;
    return 0;
}

static void stub_named(void)
{
}
static void stub_pattern(void)
{
}
static void stub_missing(void)
{
}

static cudaError_t launch(void (*stub)(void), uint32_t *to, uint32_t by)
{
    void *args[] = {&to, &by};
    cudaError_t error =
        cudaLaunchKernel((const void *)stub, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL);

    return error ? error : cudaDeviceSynchronize();
}

/* A kernel that stands in for others is one for the rest of the process: nobody unregisters it. */
static struct heddle_native_kernel *kept[4];

static CUkernel native_kernel(void)
{
    static size_t n;

    const struct heddle_native desc = {
        .size_B = sizeof(desc), .name = "add to", .function = add, .ptx = ptx, .entry = "add"};
    CUkernel kernel;

    assert(n < HD_COUNT_OF(kept));
    if (heddle_native_register(&desc, &kept[n]) || heddle_native_get_kernel(kept[n], &kernel))
        abort();
    n++;
    return kernel;
}

static CUkernel compiled_kernel(void)
{
    CUlibrary library;
    CUkernel kernel;

    if (cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0) ||
        cuLibraryGetKernel(&kernel, library, "add"))
        abort();
    return kernel;
}

int main(void)
{
    const char *device = getenv("HEDDLE_DEVICE");
    const bool is_native = !device || !*device;
    void **handle = __cudaRegisterFatBinary(wrap_machine_code());
    const char *name;
    uint32_t *number;

    fixture_function(handle, (const void *)stub_named, "_Z5namedPjj");
    fixture_function(handle, (const void *)stub_pattern, "_ZN12_GLOBAL__N__77partEPjj");
    fixture_function(handle, (const void *)stub_missing, "_Z7missingPjj");
    __cudaRegisterFatBinaryEnd(handle);
    eq_error(cudaMallocManaged((void **)&number, sizeof(*number), 1), cudaSuccess, "memory");
    *number = 1;

    eq_error(launch(stub_missing, number, 2), cudaErrorNoKernelImageForDevice,
             "nothing runs here, and nothing stands in");
    eq_error(cudaGetLastError(), cudaErrorNoKernelImageForDevice, "which is the last error");

    eq_u64(heddle_native_stand_in(NULL, native_kernel()), CUDA_ERROR_INVALID_VALUE, "no name");
    eq_u64(heddle_native_stand_in("", native_kernel()), CUDA_ERROR_INVALID_VALUE, "an empty one");
    eq_u64(heddle_native_stand_in("x", NULL), CUDA_ERROR_INVALID_HANDLE, "no kernel");
    eq_u64(heddle_native_stand_in("_Z5namedPjj", native_kernel()), CUDA_SUCCESS, "a native one");
    eq_u64(heddle_native_stand_in("_ZN*part*", native_kernel()), CUDA_SUCCESS, "a pattern");
    eq_u64(heddle_native_stand_in("_ZN*7partE*", compiled_kernel()), CUDA_SUCCESS,
           "and a later one that matches, too");

    eq_error(launch(stub_named, number, 4), cudaSuccess, "the native one runs");
    eq_u64(*number, 5, "with the program's parameters");
    eq_u64(atomic_load(&calls), is_native ? 1 : 0, "in this process, if the device can");
    eq_error(cudaFuncGetName(&name, (const void *)stub_named), cudaSuccess, "its name");
    eq_str(name, "add to", "is its own");
    eq_error(launch(stub_pattern, number, 8), cudaSuccess, "the compiled one runs");
    eq_u64(*number, 13, "with the program's parameters");
    eq_u64(atomic_load(&calls), is_native ? 1 : 0, "and not the one that was first");
    eq_error(cudaGetLastError(), cudaSuccess, "no error is left");
    eq_error(launch(stub_missing, number, 2), cudaErrorNoKernelImageForDevice,
             "others are as they were");
    (void)cudaGetLastError();
    (void)cudaFree(number);
    return done();
}
