/*
 * Options of what compiles or links: cuModuleLoadDataEx, cuLibraryLoad*, cuLink*.
 *
 * Every option is checked. The logs, their sizes and the time are answers: they are written into
 * the program's buffers and into the array of values. Of links, CU_JIT_LTO and what
 * goes with it say what the host uses. The others are hints to NVIDIA's assembler
 * (registers, optimisation, caches) without a meaning here, or describe the machine we have anyway.
 */
#ifndef HD_API_DRIVER_MODULE_JIT_H
#define HD_API_DRIVER_MODULE_JIT_H

#include "api/driver/driver.h"

/* A buffer of the program, and the value that its length is written to. */
struct drv_jit_log {
    char *text;
    size_t size_B;
    void **out_B; /* NULL: not asked for */
};

/* Names, the program's or those of drv_jit_keep(). */
struct drv_jit_names {
    const char *const *at;
    unsigned count;
};

/* The options of a call, or of a link until it is destroyed: the program keeps the memory. */
struct drv_jit {
    struct drv_jit_log info, error;
    void **out_time;           /* a float, in ms; NULL: not asked for */
    bool lto, drops_variables; /* CU_JIT_LTO, CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES */
    struct drv_jit_names kernels, variables; /* CU_JIT_REFERENCED_* */
    _Atomic uint64_t start_ns, spent_ns;
};

/* CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_NO_BINARY_FOR_GPU. */
CUresult drv_jit_begin(struct drv_jit *jit, unsigned count, const CUjit_option *options,
                       void **values);
/* A copy that has the names too, for hd_free(); NULL: out of memory. */
struct drv_jit *drv_jit_keep(const struct drv_jit *jit);
/* For the next call that works with the same options. */
void drv_jit_resume(struct drv_jit *jit);
/*
 * Writes the answers. `error` (may be NULL) is what is said beside the thread's error message. The
 * result for the API call `name`; what no log was given for goes to Heddle's log.
 */
CUresult drv_jit_end(struct drv_jit *jit, const char *name, enum hd_status status,
                     const char *error);

#endif
