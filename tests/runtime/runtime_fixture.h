/*
 * What tests of the runtime share: registering device code as a compiler's constructors would, from
 * PTX given as text.
 */
#ifndef HD_TESTS_RUNTIME_FIXTURE_H
#define HD_TESTS_RUNTIME_FIXTURE_H

#include <stdlib.h>

#include "tap.h"
#include "cuda_runtime_api.h"
#include "obj/fatbin.h"

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_func, char *device_func,
                            const char *name, int thread_limit, void *tid, void *bid, void *bdim,
                            void *gdim, int *warp_size);
void __cudaRegisterVar(void **handle, char *host_var, char *device_addr, const char *name, int ext,
                       size_t size_B, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host_ptr, char *device_addr, const char *name,
                              int ext, size_t size_B, int constant, int global);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *out_kernel, const void *host_func);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared_B, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                    size_t shared_B, cudaStream_t stream);

struct fixture_wrapper {
    int magic, version;
    const void *fatbin;
    const void *parts;
};

/* A container with one PTX module; never freed, as in a program. */
static inline struct fixture_wrapper *fixture_wrap(const char *ptx)
{
    struct fixture_wrapper *wrapper = calloc(1, sizeof(*wrapper));
    const struct obj_fatbin_source source = {
        .kind = OBJ_ENTRY_PTX,
        .arch = 75,
        .version_major = 8,
        .payload = ptx,
        .size_B = strlen(ptx),
    };
    struct hd_buf buf;
    hd_buf_init(&buf);
    if (!wrapper || obj_fatbin_write(&source, 1, OBJ_CODEC_RAW, &buf) != HD_OK)
        abort();
    *wrapper = (struct fixture_wrapper){(int)OBJ_WRAPPER_MAGIC, 1, hd_buf_take(&buf), NULL};
    return wrapper;
}

static inline void fixture_function(void **handle, const void *stub, const char *name)
{
    __cudaRegisterFunction(handle, stub, (char *)(uintptr_t)name, name, -1, NULL, NULL, NULL, NULL,
                           NULL);
}

static inline void fixture_variable(void **handle, char *shadow, const char *name, size_t size_B,
                                    int constant)
{
    char *device = (char *)(uintptr_t)name;
    __cudaRegisterVar(handle, shadow, device, name, 0, size_B, constant, 0);
}

static inline void fixture_managed(void **handle, void **pointer, const char *name, size_t size_B)
{
    char *device = (char *)(uintptr_t)name;
    __cudaRegisterManagedVar(handle, pointer, device, name, 0, size_B, 0, 0);
}

#define eq_error(got, want, ...) eq_str(cudaGetErrorName(got), cudaGetErrorName(want), __VA_ARGS__)

#endif
