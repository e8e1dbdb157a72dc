/*
 * cuSOLVER's sparse systems and eigenvalue: what is left of A x = b and A x = mu x, of grids,
 * random matrices and singular ones, in all four types. What describes a matrix is cuSPARSE's: this
 * program answers for it.
 */
#include <cusolverSp.h>

#include "base/compiler.h"
#include "solver_fixture.h"

enum { GENERAL, SYMMETRIC };
struct cusparseMatDescr {
    int base, type;
};

HD_EXPORT int cusparseGetMatIndexBase(const cusparseMatDescr_t descr);
HD_EXPORT int cusparseGetMatIndexBase(const cusparseMatDescr_t descr)
{
    return descr->base;
}
HD_EXPORT int cusparseGetMatType(const cusparseMatDescr_t descr);
HD_EXPORT int cusparseGetMatType(const cusparseMatDescr_t descr)
{
    return descr->type;
}

static cusolverSpHandle_t sparse;
static struct cusparseMatDescr descr;

struct csr {
    int n, nnz, *rows, *columns;
    void *values;
};

static struct csr begin_csr(enum letter t, int n, int most)
{
    struct csr a = {.n = n, .rows = room((size_t)(n + 1) * sizeof(int))};

    a.columns = room((size_t)most * sizeof(int));
    a.values = room((size_t)most * sizes[t]);
    return a;
}

static void add(struct csr *a, enum letter t, int column, num v)
{
    a->columns[a->nnz] = column + descr.base;
    put(t, a->values, a->nnz++, v);
}

/* Five points of an edge x edge grid, numbered so that neighbours are far apart. */
static struct csr grid(enum letter t, int edge, double middle, bool is_skew)
{
    int n = edge * edge;
    struct csr a = begin_csr(t, n, 5 * n);
    static const int by[][2] = {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}};
    int *place = room((size_t)n * sizeof(int)), *of = room((size_t)n * sizeof(int));

    for (int i = 0; i < n; i++) {
        place[i] = (int)((long long)i * 7 % n);
        of[place[i]] = i;
    }
    for (int row = 0; row < n; row++) {
        int i = of[row] / edge, j = of[row] % edge;
        a.rows[row] = a.nnz + descr.base;
        for (int k = 0; k < 5; k++) {
            int ii = i + by[k][0], jj = j + by[k][1];
            bool is_forward = by[k][0] + by[k][1] > 0;
            num turned = is_complex(t) ? (is_forward ? 0.3 * I : -0.3 * I) : 0;
            if (ii >= 0 && ii < edge && jj >= 0 && jj < edge)
                add(&a, t, place[ii * edge + jj],
                    !k ? middle : -1 + turned + (is_skew && is_forward ? 0.5 : 0));
        }
    }
    a.rows[n] = a.nnz + descr.base;
    return a;
}

static struct csr random_csr(enum letter t, int n)
{
    struct csr a = begin_csr(t, n, 8 * n);

    for (int i = 0; i < n; i++) {
        a.rows[i] = a.nnz + descr.base;
        for (int k = 0; k < 4; k++) /* a column may come twice: the sum counts */
            add(&a, t, (int)((unit() + 1) / 2 * n) % n, unit() + (is_complex(t) ? unit() * I : 0));
        add(&a, t, (i * 7 + 1) % n, 3 + unit());
    }
    a.rows[n] = a.nnz + descr.base;
    return a;
}

/* The largest of |A x - mu x - b|; b NULL: 0. */
static double left(enum letter t, const struct csr *a, const void *x, num mu, const void *b)
{
    double most = 0;

    cudaDeviceSynchronize();
    for (int i = 0; i < a->n; i++) {
        num sum = -mu * get(t, x, i) - (b ? get(t, b, i) : 0);
        for (int p = a->rows[i] - descr.base; p < a->rows[i + 1] - descr.base; p++)
            sum += get(t, a->values, p) * get(t, x, a->columns[p] - descr.base);
        most = cabs(sum) <= most ? most : cabs(sum);
    }
    return most;
}

#define UNTYPED_SP(name) ((void (*)(void))cusolverSp##name)
#define SP4(name)                                                                                  \
    ((void (*[])(void)){UNTYPED_SP(S##name), UNTYPED_SP(D##name), UNTYPED_SP(C##name),             \
                        UNTYPED_SP(Z##name)}[t])

/* Tolerances are the real type's. */
static cusolverStatus_t lsv(enum letter t, void (*function)(void), const struct csr *a,
                            const void *b, double tol, int reorder, void *x, int *singularity)
{
    if (real_of(t) == S)
        return ((cusolverStatus_t(*)(cusolverSpHandle_t, int, int, cusparseMatDescr_t, void *,
                                     int *, int *, const void *, float, int, void *,
                                     int *))function)(sparse, a->n, a->nnz, &descr, a->values,
                                                      a->rows, a->columns, b, (float)tol, reorder,
                                                      x, singularity);
    return ((cusolverStatus_t(*)(cusolverSpHandle_t, int, int, cusparseMatDescr_t, void *, int *,
                                 int *, const void *, double, int, void *, int *))function)(
        sparse, a->n, a->nnz, &descr, a->values, a->rows, a->columns, b, tol, reorder, x,
        singularity);
}

static void test_systems(enum letter t)
{
    struct csr plain = grid(t, 12, 4.5, false), skew = grid(t, 10, 4.5, true);
    struct csr any = random_csr(t, 60);
    const struct {
        const char *name;
        void (*function)(void);
        bool is_cholesky;
    } functions[] = {{"csrlsvqr", SP4(csrlsvqr), false},
                     {"csrlsvqrHost", SP4(csrlsvqrHost), false},
                     {"csrlsvluHost", SP4(csrlsvluHost), false},
                     {"csrlsvchol", SP4(csrlsvchol), true},
                     {"csrlsvcholHost", SP4(csrlsvcholHost), true}};

    for (size_t f = 0; f < HD_COUNT_OF(functions); f++)
        for (int reorder = 0; reorder < 4; reorder++) {
            const struct csr *matrices[] = {&plain, &skew, &any};
            for (int i = 0; i < (functions[f].is_cholesky ? 1 : 3); i++) {
                size_t before = used;
                void *b = array(t, matrices[i]->n), *x = array(t, matrices[i]->n);
                int singularity = 99;
                cusolverStatus_t status =
                    lsv(t, functions[f].function, matrices[i], b, 1e-12, reorder, x, &singularity);
                double by = left(t, matrices[i], x, 0, b);
                if (!ok(!status && singularity == -1 && by < close_to[t],
                        "%c%s: A x = b of matrix %d, order %d", letters[t], functions[f].name, i,
                        reorder))
                    diag("status %d, singularity %d, left %g", status, singularity, by);
                used = before;
            }
        }
}

static void test_singular(enum letter t)
{
    struct csr a = begin_csr(t, 4, 8);
    void *b = array(t, 4), *x = array(t, 4);
    int singularity = 99;

    /* The third row is twice the first. */
    for (int i = 0; i < 4; i++) {
        a.rows[i] = a.nnz + descr.base;
        add(&a, t, i == 2 ? 0 : i, i == 2 ? 2 : 1);
    }
    a.rows[4] = a.nnz + descr.base;
    ok(!lsv(t, SP4(csrlsvqr), &a, b, 1e-12, 0, x, &singularity) && singularity == 2,
       "%c: a column without a pivot is told: %d", letters[t], singularity);
    a.columns[2] = 2 + descr.base;
    put(t, a.values, 2, -1);
    ok(!lsv(t, SP4(csrlsvchol), &a, b, 1e-12, 0, x, &singularity) && singularity == 2,
       "%c: a row that is not positive is told: %d", letters[t], singularity);
    ok(!lsv(t, SP4(csrlsvqr), &a, b, 2, 0, x, &singularity) && singularity == 0,
       "%c: so is what the tolerance says is small", letters[t]);
}

static void test_eigenvalue(enum letter t)
{
    struct csr a = grid(t, 6, 4, false);
    void *x0 = array(t, a.n), *x = array(t, a.n), *mu = array(t, 1);
    void (*functions[])(void) = {SP4(csreigvsi), SP4(csreigvsiHost)};

    for (int i = 0; i < 2; i++) {
        cusolverStatus_t status;
#define ARGUMENTS(T, R)                                                                            \
    ((cusolverStatus_t(*)(cusolverSpHandle_t, int, int, cusparseMatDescr_t, void *, int *, int *,  \
                          T, void *, int, R, void *, void *))functions[i])
        if (t == S)
            status = ARGUMENTS(float, float)(sparse, a.n, a.nnz, &descr, a.values, a.rows,
                                             a.columns, 0.1f, x0, 100, 1e-5f, mu, x);
        else if (t == D)
            status = ARGUMENTS(double, double)(sparse, a.n, a.nnz, &descr, a.values, a.rows,
                                               a.columns, 0.1, x0, 100, 1e-12, mu, x);
        else if (t == C)
            status =
                ARGUMENTS(cuComplex, float)(sparse, a.n, a.nnz, &descr, a.values, a.rows, a.columns,
                                            make_cuComplex(0.1f, 0), x0, 100, 1e-5f, mu, x);
        else
            status = ARGUMENTS(cuDoubleComplex,
                               double)(sparse, a.n, a.nnz, &descr, a.values, a.rows, a.columns,
                                       make_cuDoubleComplex(0.1, 0), x0, 100, 1e-12, mu, x);
        cudaDeviceSynchronize();
        num value = get(t, mu, 0);
        double size = 0, by = left(t, &a, x, value, NULL);
        for (int k = 0; k < a.n; k++)
            size += cabs(get(t, x, k)) * cabs(get(t, x, k));
        if (!ok(!status && by < close_to[t] && fabs(size - 1) < close_to[t],
                "%c: csreigvsi: A x = mu x", letters[t]))
            diag("status %d, mu %g, left %g, size %g", status, creal(value), by, size);
    }
    /* The grid's least eigenvalue is known. */
    double least = 4 - 4 * cos(M_PI / 7) * (is_complex(t) ? sqrt(1.09) : 1);
    ok(fabs(creal(get(t, mu, 0)) - least) < 10 * close_to[t], "%c: the least one: %g, %g",
       letters[t], creal(get(t, mu, 0)), least);
}

static void test_batch(enum letter t)
{
    struct csr a = random_csr(t, 40), one = a;
    enum { MANY = 3 };
    size_t each = (size_t)a.nnz * sizes[t], row = (size_t)a.n * sizes[t], internal = 0, size = 0;
    char *values = room(MANY * each), *b = array(t, MANY * a.n), *x = array(t, MANY * a.n);
    csrqrInfo_t qr = NULL;

    for (int i = 0; i < MANY; i++)
        for (int p = 0; p < a.nnz; p++)
            put(t, values + (size_t)i * each, p, get(t, a.values, p) * (i + 1));
    ok(!cusolverSpCreateCsrqrInfo(&qr), "what is known of a batch");
#define SP(function, ...)                                                                          \
    ((cusolverStatus_t(*)(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, void *, int *,    \
                          int *, __VA_ARGS__))SP4(function))
    ok(SP(csrqrsvBatched, void *, void *, int, csrqrInfo_t,
          void *)(sparse, a.n, a.n, a.nnz, &descr, values, a.rows, a.columns, b, x, MANY, qr,
                  NULL) == CUSOLVER_STATUS_INVALID_VALUE,
       "%c: it is not analysed", letters[t]);
    ok(!cusolverSpXcsrqrAnalysisBatched(sparse, a.n, a.n, a.nnz, &descr, a.rows, a.columns, qr) &&
           !SP(csrqrBufferInfoBatched, int, csrqrInfo_t, size_t *,
               size_t *)(sparse, a.n, a.n, a.nnz, &descr, values, a.rows, a.columns, MANY, qr,
                         &internal, &size),
       "%c: analysed", letters[t]);
    ok(!SP(csrqrsvBatched, void *, void *, int, csrqrInfo_t, void *)(
           sparse, a.n, a.n, a.nnz, &descr, values, a.rows, a.columns, b, x, MANY, qr, room(size)),
       "%c: csrqrsvBatched", letters[t]);
    for (int i = 0; i < MANY; i++) {
        one.values = values + (size_t)i * each;
        ok(left(t, &one, x + (size_t)i * row, 0, b + (size_t)i * row) < close_to[t],
           "%c: csrqrsvBatched: A x = b of problem %d", letters[t], i);
    }
    ok(SP(csrqrsvBatched, void *, void *, int, csrqrInfo_t,
          void *)(sparse, a.n + 1, a.n, a.nnz, &descr, values, a.rows, a.columns, b, x, MANY, qr,
                  NULL) == CUSOLVER_STATUS_NOT_SUPPORTED,
       "%c: least squares", letters[t]);
    ok(!cusolverSpDestroyCsrqrInfo(qr), "destroyed");
}

static void test_errors(void)
{
    struct csr a = begin_csr(D, 1, 1);
    double *b = array(D, 1), *x = array(D, 1);
    int singularity;
    cudaStream_t stream = (cudaStream_t)1, got = NULL;

    a.rows[0] = descr.base, a.rows[1] = 1 + descr.base;
    add(&a, D, 0, 2);
    ok(cusolverSpDcsrlsvqr(NULL, 1, 1, &descr, a.values, a.rows, a.columns, b, 0, 0, x,
                           &singularity) == CUSOLVER_STATUS_NOT_INITIALIZED,
       "no handle");
    ok(cusolverSpDcsrlsvqr(sparse, -1, 1, &descr, a.values, a.rows, a.columns, b, 0, 0, x,
                           &singularity) == CUSOLVER_STATUS_INVALID_VALUE &&
           cusolverSpDcsrlsvqr(sparse, 1, 1, NULL, a.values, a.rows, a.columns, b, 0, 0, x,
                               &singularity) == CUSOLVER_STATUS_INVALID_VALUE &&
           cusolverSpDcsrlsvqr(sparse, 1, 1, &descr, a.values, a.rows, a.columns, b, 0, 0, x,
                               NULL) == CUSOLVER_STATUS_INVALID_VALUE,
       "no size, no description, no place for what is singular");
    descr.type = SYMMETRIC;
    ok(cusolverSpDcsrlsvqr(sparse, 1, 1, &descr, a.values, a.rows, a.columns, b, 0, 0, x,
                           &singularity) == CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
       "a triangle stands for the matrix");
    descr.type = GENERAL;
    ok(!cusolverSpSetStream(sparse, stream) && !cusolverSpGetStream(sparse, &got) && got == stream,
       "a stream");
    ok(!cusolverSpSetStream(sparse, NULL), "the default stream");
    ok(cusolverSpCreate(NULL) == CUSOLVER_STATUS_INVALID_VALUE &&
           cusolverSpDestroy(NULL) == CUSOLVER_STATUS_NOT_INITIALIZED,
       "no handle to make, none to destroy");
}

int main(void)
{
    begin();
    ok(!cusolverSpCreate(&sparse), "a handle for sparse matrices");
    for (descr.base = 0; descr.base < 2; descr.base++)
        for (enum letter t = S; t < TYPES; t++) {
            used = 0;
            test_systems(t);
            test_singular(t);
            test_batch(t);
            test_eigenvalue(t);
        }
    descr.base = 0;
    test_errors();
    ok(!cusolverSpDestroy(sparse) && !cusolverDnDestroy(handle), "destroyed");
    return done();
}
