/*
 * libheddle-klib.so: the kernel library's native kernels, over OpenBLAS, which is in it: without
 * threads of its own, as the device's threads each take blocks. Its symbols are hidden, so that a
 * program's own BLAS is the program's.
 */
#include "klib/klib.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/host.h"
#include "base/log.h"
#include "klib/blas.h"
#include "klib/fft.h"
#include "klib/lt.h"
#include "klib/sparse.h"

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

/*
 * Its memory for panels, of which it keeps a table. Built without threads it has no lock for that,
 * and two threads that multiply at once would get the same memory.
 */
void *__wrap_blas_memory_alloc(int procpos);
void *__real_blas_memory_alloc(int procpos);
void __wrap_blas_memory_free(void *buffer);
void __real_blas_memory_free(void *buffer);
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;

void *__wrap_blas_memory_alloc(int procpos)
{
    pthread_mutex_lock(&buffers_lock);
    void *buffer = __real_blas_memory_alloc(procpos);
    pthread_mutex_unlock(&buffers_lock);
    return buffer;
}

void __wrap_blas_memory_free(void *buffer)
{
    pthread_mutex_lock(&buffers_lock);
    __real_blas_memory_free(buffer);
    pthread_mutex_unlock(&buffers_lock);
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
                                     .fft = &klib_fft_api,
                                     .lt = &klib_lt,
                                     .sparse = &klib_sparse_library};
    return &klib;
}
