/*
 * How the libraries that compute launch the kernel library's kernels: native kernels, in the stream
 * of a handle. Small work runs on the thread that launches, if the stream has nothing else to do;
 * the rest on the device's threads.
 */
#ifndef HD_API_LIB_BASE_LIB_COMPUTE_H
#define HD_API_LIB_BASE_LIB_COMPUTE_H

#include <heddle/native.h>

#include "api/lib_base/lib_base.h"

struct klib;

/* The kernel library; NULL, and an error, when it is not there. Opened at the first call. */
const struct klib *lib_klib(const struct lib_info *info);
/* Threads of the device, at most. */
unsigned lib_threads(void);

/*
 * A kernel, registered at its first launch: static data of who launches. Devices that do not call
 * functions of the host run `ptx`, a kernel of heddle-klib.ptx with the same parameters, by blocks
 * of `threads`, one for each tile; without one the launch is CUDA_ERROR_NOT_SUPPORTED there.
 */
struct lib_kernel {
    const char *ptx;
    uint32_t threads;
    struct heddle_native_kernel *_Atomic kernels[3]; /* for the rest, for small work, as PTX */
};

/*
 * CUresult. Parameters are copied; `name` is what tools say. `work_ns` is about what all tiles cost
 * on one thread.
 */
int lib_launch(const struct lib_handle *handle, struct lib_kernel *kernel, const char *name,
               heddle_native_fn *function, const void *params, uint32_t params_B, uint64_t tiles,
               uint64_t work_ns);

/* The enum klib_type of a cudaDataType; -1: there is none. */
int lib_type(uint32_t type);

/* CUresult: the calling thread has a context, the first device's if nothing else. */
int lib_context(void);
/* Waits for the handle's stream. CUresult. */
int lib_wait(const struct lib_handle *handle);

#endif
