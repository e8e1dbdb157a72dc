/*
 * libheddle-klib.so: the kernel library's native kernels, over OpenBLAS, which is in it: without
 * threads of its own, as the device's threads each take blocks. Its symbols are hidden, so that a
 * program's own BLAS is the program's.
 */
#include "klib/klib.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/host.h"
#include "base/log.h"
#include "klib/blas.h"
#include "klib/curand.h"

/*
 * What OpenBLAS asks of the environment, before it chooses among its kernels. It takes a processor
 * that is newer than itself for one of 2004, so it is told; OPENBLAS_CORETYPE of the user's counts
 * more. Its own getenv() is linked to this.
 */
char *__wrap_getenv(const char *name);
char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name)
{
    char *value = __real_getenv(name);

    if (value || strcmp(name, "OPENBLAS_CORETYPE") != 0)
        return value;
    if (hd_host_has(HD_HOST_AVX512))
        return "SkylakeX";
    return hd_host_has(HD_HOST_AVX2) ? "Haswell" : NULL;
}

/* Arguments are checked before; what comes here is a fault of ours, and says which. */
void xerbla_(const char *name, const int64_t *info, size_t name_B);
void xerbla_(const char *name, const int64_t *info, size_t name_B)
{
    hd_log("%.*s: argument %d is wrong", (int)HD_MIN(name_B, 8), name, (int)*info);
}

HD_EXPORT const struct klib *heddle_klib(void);
HD_EXPORT const struct klib *heddle_klib(void)
{
    static const struct klib klib = {.blas = klib_blas,
                                     .gemm = klib_gemm_run,
                                     .gemm_blocks = klib_gemm_blocks,
                                     .gemm_ns = klib_gemm_ns,
                                     .routines = klib_routines,
                                     .curand = &klib_curand};
    return &klib;
}
