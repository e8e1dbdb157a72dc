/*
 * libheddle-klib.so: the kernel library's native kernels, over OpenBLAS, which is in it: without
 * threads of its own, as the device's threads each take blocks. Its symbols are hidden, so that a
 * program's own BLAS is the program's.
 */
#include "klib/klib.h"

#include <complex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/host.h"
#include "base/log.h"
#include "klib/blas.h"
#include "klib/solver.h"

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
 * OpenBLAS's products of a complex matrix (not transposed) and a vector read one element more than
 * the vector has, where may be no memory. Calls of these, LAPACK's among them, are linked to this:
 * they get a copy of the vector, with an element more.
 */
#define GEMV(gemv, T)                                                                              \
    void __real_##gemv(const char *trans, const int64_t *m, const int64_t *n, const T *alpha,      \
                       const T *a, const int64_t *lda, const T *x, const int64_t *incx,            \
                       const T *beta, T *y, const int64_t *incy);                                  \
    void __wrap_##gemv(const char *trans, const int64_t *m, const int64_t *n, const T *alpha,      \
                       const T *a, const int64_t *lda, const T *x, const int64_t *incx,            \
                       const T *beta, T *y, const int64_t *incy);                                  \
    void __wrap_##gemv(const char *trans, const int64_t *m, const int64_t *n, const T *alpha,      \
                       const T *a, const int64_t *lda, const T *x, const int64_t *incx,            \
                       const T *beta, T *y, const int64_t *incy)                                   \
    {                                                                                              \
        T few[128], *copy = *n < 128 ? few : malloc(((size_t)*n + 1) * sizeof(T));                 \
        bool is_copied = copy && (*trans == 'N' || *trans == 'n') && *n > 0;                       \
        const int64_t one = 1;                                                                     \
                                                                                                   \
        for (int64_t i = 0; is_copied && i < *n; i++)                                              \
            copy[i] = x[*incx < 0 ? (i - *n + 1) * *incx : i * *incx];                             \
        if (is_copied)                                                                             \
            copy[*n] = 0;                                                                          \
        __real_##gemv(trans, m, n, alpha, a, lda, is_copied ? copy : x, is_copied ? &one : incx,   \
                      beta, y, incy);                                                              \
        if (copy != few)                                                                           \
            free(copy);                                                                            \
    }
GEMV(cgemv_, float complex)
GEMV(zgemv_, double complex)

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
                                     .solver = &klib_solver};
    return &klib;
}
