/*
 * What OpenBLAS of Debian is told, and spared: it is built without threads and so without locks,
 * does not know processors newer than itself, and reads an element too many. Its calls are linked
 * to the functions here.
 */
#include <complex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/host.h"
#include "base/log.h"

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
