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
 * Some of OpenBLAS's products and solvers read one element more than a vector has, where may be no
 * memory (tests/api/test_blas_bounds.c finds them). Calls of these, LAPACK's among them, are linked
 * to what follows: they get a copy of the vector, with an element more.
 */
/* A vector with an element more. */
struct longer {
    void *copy; /* in `few`, of the heap, or the vector itself */
    int64_t step;
    double complex few[128];
};

/* Element i of a vector, in its own order: a negative step begins at the end. */
static char *element(const void *x, int64_t n, int64_t step, size_t element_B, int64_t i)
{
    return (char *)x + (step < 0 ? (i - n + 1) * step : i * step) * (int64_t)element_B;
}

static void longer_init(struct longer *v, const void *x, int64_t n, int64_t step, size_t element_B)
{
    size_t size_B = n > 0 ? (size_t)n * element_B : 0;

    v->step = 1;
    v->copy = size_B + element_B <= sizeof(v->few) ? v->few : malloc(size_B + element_B);
    if (!v->copy) { /* as OpenBLAS has it */
        *v = (struct longer){.copy = (void *)x, .step = step};
        return;
    }
    if (step == 1)
        memcpy(v->copy, x, size_B);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)v->copy + (size_t)i * element_B, element(x, n, step, element_B, i),
                   element_B);
    memset((char *)v->copy + size_B, 0, element_B);
}

/* `written`: what was made goes back to `x`. */
static void longer_fini(struct longer *v, void *x, int64_t n, int64_t step, size_t element_B,
                        bool written)
{
    if (v->copy == x)
        return;
    for (int64_t i = 0; written && i < n; i++)
        memcpy(element(x, n, step, element_B, i), (char *)v->copy + (size_t)i * element_B,
               element_B);
    if (v->copy != v->few)
        free(v->copy);
}

/* A function that calls of `name` are linked to, and the one that they mean. */
#define WRAPPED(name, ...)                                                                         \
    void __real_##name(__VA_ARGS__);                                                               \
    void __wrap_##name(__VA_ARGS__);                                                               \
    void __wrap_##name(__VA_ARGS__)

#define GEMV(gemv, T)                                                                              \
    WRAPPED(gemv, const char *trans, const int64_t *m, const int64_t *n, const T *alpha,           \
            const T *a, const int64_t *lda, const T *x, const int64_t *incx, const T *beta, T *y,  \
            const int64_t *incy)                                                                   \
    {                                                                                              \
        struct longer v;                                                                           \
        int64_t length = *trans == 'N' || *trans == 'n' ? *n : *m;                                 \
                                                                                                   \
        longer_init(&v, x, length, *incx, sizeof(T));                                              \
        __real_##gemv(trans, m, n, alpha, a, lda, v.copy, &v.step, beta, y, incy);                 \
        longer_fini(&v, (void *)x, length, *incx, sizeof(T), false);                               \
    }
GEMV(cgemv_, float complex)
GEMV(zgemv_, double complex)

#define SYMV(symv, T)                                                                              \
    WRAPPED(symv, const char *uplo, const int64_t *n, const T *alpha, const T *a,                  \
            const int64_t *lda, const T *x, const int64_t *incx, const T *beta, T *y,              \
            const int64_t *incy)                                                                   \
    {                                                                                              \
        struct longer v, w;                                                                        \
                                                                                                   \
        longer_init(&v, x, *n, *incx, sizeof(T));                                                  \
        longer_init(&w, y, *n, *incy, sizeof(T));                                                  \
        __real_##symv(uplo, n, alpha, a, lda, v.copy, &v.step, beta, w.copy, &w.step);             \
        longer_fini(&w, y, *n, *incy, sizeof(T), true);                                            \
        longer_fini(&v, (void *)x, *n, *incx, sizeof(T), false);                                   \
    }
SYMV(dsymv_, double)
SYMV(chemv_, float complex)
SYMV(zhemv_, double complex)

#define TRSV(trsv, T)                                                                              \
    WRAPPED(trsv, const char *uplo, const char *trans, const char *diag, const int64_t *n,         \
            const T *a, const int64_t *lda, T *x, const int64_t *incx)                             \
    {                                                                                              \
        struct longer v;                                                                           \
                                                                                                   \
        longer_init(&v, x, *n, *incx, sizeof(T));                                                  \
        __real_##trsv(uplo, trans, diag, n, a, lda, v.copy, &v.step);                              \
        longer_fini(&v, x, *n, *incx, sizeof(T), true);                                            \
    }
TRSV(ctrsv_, float complex)
TRSV(ztrsv_, double complex)

/* A system of triangles with one right side, likewise. */
#define TRTRS(trtrs, T)                                                                            \
    WRAPPED(trtrs, const char *uplo, const char *trans, const char *diag, const int64_t *n,        \
            const int64_t *nrhs, const T *a, const int64_t *lda, T *b, const int64_t *ldb,         \
            int64_t *info)                                                                         \
    {                                                                                              \
        struct longer v = {.copy = b};                                                             \
                                                                                                   \
        if (*nrhs == 1)                                                                            \
            longer_init(&v, b, *n, 1, sizeof(T));                                                  \
        __real_##trtrs(uplo, trans, diag, n, nrhs, a, lda, v.copy, ldb, info);                     \
        longer_fini(&v, b, *n, 1, sizeof(T), true);                                                \
    }
TRTRS(ctrtrs_, float complex)
TRTRS(ztrtrs_, double complex)

/* Arguments are checked before; what comes here is a fault of ours, and says which. */
void xerbla_(const char *name, const int64_t *info, size_t name_B);
void xerbla_(const char *name, const int64_t *info, size_t name_B)
{
    hd_log("%.*s: argument %d is wrong", (int)HD_MIN(name_B, 8), name, (int)*info);
}
