/*
 * cuSOLVER's singular values and eigenvalues, its interface for any type, and iterative refinement:
 * residuals, orthogonal vectors and matrices whose values are known.
 */
#include "solver_fixture.h"

enum { N = 9, M = 13, K = 3, LD = 17, MANY = 5 };

static const cublasFillMode_t fills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};

static void *work;
static int work_n;
static size_t device_B, host_B;
static int *info;

static void give(cusolverStatus_t status, enum letter t)
{
    ok(!status && work_n > 0, "%c: a workspace's size", letters[t]);
    work = room((size_t)work_n * sizes[t]);
}

static struct matrix diagonal(enum letter r, const void *s, int m, int n)
{
    struct matrix a = {.m = m, .n = n};

    for (int i = 0; i < m && i < n; i++)
        a.at[i + i * m] = get(r, s, i);
    return a;
}

static bool descends(enum letter r, const void *s, int n)
{
    for (int i = 0; i < n; i++)
        if (!(creal(get(r, s, i)) >= (i + 1 < n ? creal(get(r, s, i + 1)) : 0)))
            return false;
    return true;
}

/* A = U S V^H, with V as VT or not. */
static void check_svd(enum letter t, struct matrix was, const void *s, struct matrix u,
                      struct matrix v, char opv, const char *what)
{
    struct matrix mid = diagonal(real_of(t), s, u.n, opv == 'N' ? v.m : v.n);

    near(t, times('N', times('N', u, 'N', mid), opv, v), was, what);
    near(t, times('C', u, 'N', u), identity(u.n), "U^H U = 1");
    near(t, opv == 'N' ? times('N', v, 'C', v) : times('C', v, 'N', v),
         identity(opv == 'N' ? v.m : v.n), "V^H V = 1");
    ok(descends(real_of(t), s, was.m < was.n ? was.m : was.n), "values descend");
}

static void test_gesvd(enum letter t, signed char job)
{
    enum letter r = real_of(t);
    void *a = array(t, LD * N), *s = array(r, N), *u = array(t, LD * M), *vt = array(t, LD * N);
    struct matrix was = from(t, a, M, N, LD);

    give(OF(gesvd_bufferSize, int, int, int *)(handle, M, N, &work_n), t);
    solved(OF(gesvd, signed char, signed char, int, int, void *, int, void *, void *, int, void *,
              int, void *, int, void *, int *)(handle, job, job == 'O' ? 'S' : job, M, N, a, LD, s,
                                               u, LD, vt, LD, work, work_n, NULL, info),
           info, 0, "gesvd");
    if (job == 'N') {
        void *again = array(r, N);
        to(t, a, LD, &was);
        solved(OF(gesvd, signed char, signed char, int, int, void *, int, void *, void *, int,
                  void *, int, void *, int, void *, int *)(handle, 'S', 'N', M, N, a, LD, again, u,
                                                           LD, NULL, 0, work, work_n, NULL, info),
               info, 0, "gesvd with U alone");
        near(t, diagonal(r, s, N, N), diagonal(r, again, N, N), "the same values without vectors");
    } else {
        check_svd(t, was, s, from(t, job == 'O' ? a : u, M, job == 'A' ? M : N, LD),
                  from(t, vt, N, N, LD), 'N', "gesvd: U S VT = A");
    }
}

static void test_gesvdj(enum letter t, int m, int n, int econ)
{
    enum letter r = real_of(t);
    int least = m < n ? m : n, sweeps = -1;
    void *a = array(t, LD * n), *s = array(r, least), *u = array(t, LD * m), *v = array(t, LD * n);
    struct matrix was = from(t, a, m, n, LD);
    double residual = -1;
    gesvdjInfo_t params = NULL;

    ok(!cusolverDnCreateGesvdjInfo(&params) && !cusolverDnXgesvdjSetTolerance(params, 1e-7) &&
           !cusolverDnXgesvdjSetMaxSweeps(params, 15) && !cusolverDnXgesvdjSetSortEig(params, 1),
       "parameters");
    give(OF(gesvdj_bufferSize, cusolverEigMode_t, int, int, int, void *, int, void *, void *, int,
            void *, int, int *, gesvdjInfo_t)(handle, CUSOLVER_EIG_MODE_VECTOR, econ, m, n, a, LD,
                                              s, u, LD, v, LD, &work_n, params),
         t);
    solved(OF(gesvdj, cusolverEigMode_t, int, int, int, void *, int, void *, void *, int, void *,
              int, void *, int, int *, gesvdjInfo_t)(handle, CUSOLVER_EIG_MODE_VECTOR, econ, m, n,
                                                     a, LD, s, u, LD, v, LD, work, work_n, info,
                                                     params),
           info, 0, "gesvdj");
    check_svd(t, was, s, from(t, u, m, econ ? least : m, LD), from(t, v, n, econ ? least : n, LD),
              'C', "gesvdj: U S V^H = A");
    ok(!cusolverDnXgesvdjGetResidual(handle, params, &residual) && residual > 0 &&
           residual < close_to[t],
       "%c: a small residual, and not 0: %g", letters[t], residual);
    ok(!cusolverDnXgesvdjGetSweeps(handle, params, &sweeps) && sweeps == 0, "no sweeps");
    ok(!cusolverDnDestroyGesvdjInfo(params), "destroyed");
}

static void test_svd_batches(enum letter t)
{
    enum letter r = real_of(t);
    void *a = array(t, LD * N * MANY), *s = array(r, N * MANY), *u = array(t, LD * M * MANY),
         *v = array(t, LD * N * MANY), *copy = array(t, LD * N * MANY);
    int *infos = room(MANY * sizeof(int));
    double norms[MANY];
    gesvdjInfo_t params = NULL;

    memcpy(copy, a, (size_t)(LD * N * MANY) * sizes[t]);
    ok(!cusolverDnCreateGesvdjInfo(&params), "parameters");
    give(OF(gesvdjBatched_bufferSize, cusolverEigMode_t, int, int, void *, int, void *, void *, int,
            void *, int, int *, gesvdjInfo_t, int)(handle, CUSOLVER_EIG_MODE_VECTOR, M, N, a, LD, s,
                                                   u, LD, v, LD, &work_n, params, MANY),
         t);
    solved(OF(gesvdjBatched, cusolverEigMode_t, int, int, void *, int, void *, void *, int, void *,
              int, void *, int, int *, gesvdjInfo_t, int)(handle, CUSOLVER_EIG_MODE_VECTOR, M, N, a,
                                                          LD, s, u, LD, v, LD, work, work_n, infos,
                                                          params, MANY),
           infos, 0, "gesvdjBatched");
    for (int i = 0; i < MANY; i++) {
        size_t size = sizes[t];
        check_svd(t, from(t, (char *)copy + i * LD * N * size, M, N, LD),
                  (char *)s + i * N * sizes[r], from(t, (char *)u + i * LD * M * size, M, M, LD),
                  from(t, (char *)v + i * LD * N * size, N, N, LD), 'C', "gesvdjBatched: A");
    }
    ok(!cusolverDnDestroyGesvdjInfo(params), "destroyed");

    give(OF(gesvdaStridedBatched_bufferSize, cusolverEigMode_t, int, int, int, void *, int,
            long long, void *, long long, void *, int, long long, void *, int, long long, int *,
            int)(handle, CUSOLVER_EIG_MODE_VECTOR, K, M, N, copy, LD, LD * N, s, N, u, LD, LD * N,
                 v, LD, LD * N, &work_n, MANY),
         t);
    void *top = array(r, N * MANY);
    solved(OF(gesvdaStridedBatched, cusolverEigMode_t, int, int, int, void *, int, long long,
              void *, long long, void *, int, long long, void *, int, long long, void *, int, int *,
              double *, int)(handle, CUSOLVER_EIG_MODE_VECTOR, K, M, N, copy, LD, LD * N, top, N, u,
                             LD, LD * N, v, LD, LD * N, work, work_n, infos, norms, MANY),
           infos, 0, "gesvdaStridedBatched");
    for (int i = 0; i < MANY; i++) {
        size_t at = (size_t)(i * LD * N) * sizes[t];
        struct matrix left = from(t, (char *)u + at, M, K, LD),
                      right = from(t, (char *)v + at, N, K, LD);
        void *si = (char *)top + i * N * sizes[r];
        near(t, times('N', from(t, (char *)copy + at, M, N, LD), 'N', right),
             times('N', left, 'N', diagonal(r, si, K, K)), "gesvda: A V = U S");
        near(t, diagonal(r, si, K, K), diagonal(r, (char *)s + i * N * sizes[r], K, K),
             "gesvda: the largest values");
        ok(norms[i] >= 0 && norms[i] < close_to[t], "gesvda: residual %d", i);
    }
}

/* A with the eigenvalues 1, 2, 3...: Q^H diag Q, of Q that a QR gives. */
static struct matrix known(enum letter t, void *a)
{
    struct matrix h = hermitian(from(t, a, N, N, LD), 0);
    void *w = array(real_of(t), N);

    to(t, a, LD, &h);
    give(OF2(syevd_bufferSize, heevd_bufferSize, cusolverEigMode_t, cublasFillMode_t, int, void *,
             int, void *, int *)(handle, CUSOLVER_EIG_MODE_VECTOR, fills[0], N, a, LD, w, &work_n),
         t);
    solved(OF2(syevd, heevd, cusolverEigMode_t, cublasFillMode_t, int, void *, int, void *, void *,
               int,
               int *)(handle, CUSOLVER_EIG_MODE_VECTOR, fills[0], N, a, LD, w, work, work_n, info),
           info, 0, "syevd");
    struct matrix v = from(t, a, N, N, LD), values = {.m = N, .n = N};
    near(t, times('C', v, 'N', v), identity(N), "V^H V = 1");
    near(t, times('N', h, 'N', v), times('N', v, 'N', diagonal(real_of(t), w, N, N)),
         "syevd: A V = V W");
    for (int i = 0; i < N; i++)
        values.at[i + i * N] = i + 1;
    h = times('N', times('N', v, 'N', values), 'C', v);
    to(t, a, LD, &h);
    return h;
}

static struct matrix counting(int first, int n)
{
    struct matrix a = {.m = n, .n = n};

    for (int i = 0; i < n; i++)
        a.at[i + i * n] = first + i;
    return a;
}

static void test_symmetric(enum letter t, int u)
{
    enum letter r = real_of(t);
    void *a = array(t, LD * N), *w = array(r, N);
    struct matrix was = known(t, a), v;
    double residual = -1;
    int found = -1, sweeps;
    syevjInfo_t params = NULL;

    for (int vectors = 0; vectors < 2; vectors++) {
        cusolverEigMode_t job = vectors;
        to(t, a, LD, &was);
        solved(OF2(syevd, heevd, cusolverEigMode_t, cublasFillMode_t, int, void *, int, void *,
                   void *, int, int *)(handle, job, fills[u], N, a, LD, w, work, work_n, info),
               info, 0, "syevd");
        near(t, diagonal(r, w, N, N), counting(1, N), "syevd: known values");
    }
    near(t, times('N', was, 'N', from(t, a, N, N, LD)),
         times('N', from(t, a, N, N, LD), 'N', counting(1, N)), "syevd: A V = V W");

    ok(!cusolverDnCreateSyevjInfo(&params) && !cusolverDnXsyevjSetTolerance(params, 1e-7) &&
           !cusolverDnXsyevjSetMaxSweeps(params, 15) && !cusolverDnXsyevjSetSortEig(params, 1),
       "parameters");
    to(t, a, LD, &was);
    give(OF2(syevj_bufferSize, heevj_bufferSize, cusolverEigMode_t, cublasFillMode_t, int, void *,
             int, void *, int *,
             syevjInfo_t)(handle, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, a, LD, w, &work_n, params),
         t);
    solved(OF2(syevj, heevj, cusolverEigMode_t, cublasFillMode_t, int, void *, int, void *, void *,
               int, int *, syevjInfo_t)(handle, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, a, LD, w,
                                        work, work_n, info, params),
           info, 0, "syevj");
    v = from(t, a, N, N, LD);
    near(t, times('N', was, 'N', v), times('N', v, 'N', diagonal(r, w, N, N)), "syevj: A V = V W");
    ok(!cusolverDnXsyevjGetResidual(handle, params, &residual) && residual > 0 &&
           residual < 10 * close_to[t],
       "%c: a small residual, and not 0: %g", letters[t], residual);
    ok(!cusolverDnXsyevjGetSweeps(handle, params, &sweeps) && sweeps == 0, "no sweeps");

    void *many = array(t, LD * N * MANY), *values = array(r, N * MANY);
    int *infos = room(MANY * sizeof(int));
    for (int i = 0; i < MANY; i++) {
        struct matrix one = was;
        for (int k = 0; k < N; k++)
            one.at[k + k * N] += i;
        to(t, (char *)many + (size_t)(i * LD * N) * sizes[t], LD, &one);
    }
    give(OF2(syevjBatched_bufferSize, heevjBatched_bufferSize, cusolverEigMode_t, cublasFillMode_t,
             int, void *, int, void *, int *, syevjInfo_t,
             int)(handle, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, many, LD, values, &work_n, params,
                  MANY),
         t);
    solved(OF2(syevjBatched, heevjBatched, cusolverEigMode_t, cublasFillMode_t, int, void *, int,
               void *, void *, int, int *, syevjInfo_t,
               int)(handle, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, many, LD, values, work, work_n,
                    infos, params, MANY),
           infos + MANY - 1, 0, "syevjBatched");
    for (int i = 0; i < MANY; i++)
        near(t, diagonal(r, (char *)values + i * N * sizes[r], N, N), counting(1 + i, N),
             "syevjBatched: values");
    ok(!cusolverDnDestroySyevjInfo(params), "destroyed");

    /* Those from 2.5 to 5.5, and the 2nd to the 4th. */
    for (int by_number = 0; by_number < 2; by_number++) {
        cusolverEigRange_t range = by_number ? CUSOLVER_EIG_RANGE_I : CUSOLVER_EIG_RANGE_V;
        to(t, a, LD, &was);
        if (r == S) {
            give(OF2(syevdx_bufferSize, heevdx_bufferSize, cusolverEigMode_t, cusolverEigRange_t,
                     cublasFillMode_t, int, void *, int, float, float, int, int, int *, void *,
                     int *)(handle, CUSOLVER_EIG_MODE_VECTOR, range, fills[u], N, a, LD, 2.5f, 5.5f,
                            2, 4, &found, w, &work_n),
                 t);
            solved(OF2(syevdx, heevdx, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int,
                       void *, int, float, float, int, int, int *, void *, void *, int,
                       int *)(handle, CUSOLVER_EIG_MODE_VECTOR, range, fills[u], N, a, LD, 2.5f,
                              5.5f, 2, 4, &found, w, work, work_n, info),
                   info, 0, "syevdx");
        } else {
            give(OF2(syevdx_bufferSize, heevdx_bufferSize, cusolverEigMode_t, cusolverEigRange_t,
                     cublasFillMode_t, int, void *, int, double, double, int, int, int *, void *,
                     int *)(handle, CUSOLVER_EIG_MODE_VECTOR, range, fills[u], N, a, LD, 2.5, 5.5,
                            2, 4, &found, w, &work_n),
                 t);
            solved(OF2(syevdx, heevdx, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int,
                       void *, int, double, double, int, int, int *, void *, void *, int,
                       int *)(handle, CUSOLVER_EIG_MODE_VECTOR, range, fills[u], N, a, LD, 2.5, 5.5,
                              2, 4, &found, w, work, work_n, info),
                   info, 0, "syevdx");
        }
        ok(found == 3, "three are found: %d", found);
        near(t, diagonal(r, w, 3, 3), counting(by_number ? 2 : 3, 3), "syevdx: values");
        v = from(t, a, N, 3, LD);
        near(t, times('N', was, 'N', v), times('N', v, 'N', diagonal(r, w, 3, 3)),
             "syevdx: A V = V W");
    }
}

static struct matrix general(int type, struct matrix a, struct matrix b, struct matrix v)
{
    return type == 1   ? times('N', a, 'N', v)
           : type == 2 ? times('N', a, 'N', times('N', b, 'N', v))
                       : times('N', b, 'N', times('N', a, 'N', v));
}

static void test_general(enum letter t, int u, int type)
{
    enum letter r = real_of(t);
    void *a = array(t, LD * N), *b = array(t, LD * N), *w = array(r, N);
    struct matrix was = hermitian(from(t, a, N, N, LD), 0);
    struct matrix by = hermitian(from(t, b, N, N, LD), 3 * N), v;
    syevjInfo_t params = NULL;
    double residual = -1;
    int found = -1;

    for (int jacobi = 0; jacobi < 2; jacobi++) {
        to(t, a, LD, &was), to(t, b, LD, &by);
        if (!jacobi) {
            give(OF2(sygvd_bufferSize, hegvd_bufferSize, cusolverEigType_t, cusolverEigMode_t,
                     cublasFillMode_t, int, void *, int, void *, int, void *, int *)(
                     handle, type, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, a, LD, b, LD, w, &work_n),
                 t);
            solved(OF2(sygvd, hegvd, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
                       void *, int, void *, int, void *, void *, int,
                       int *)(handle, type, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, a, LD, b, LD, w,
                              work, work_n, info),
                   info, 0, "sygvd");
        } else {
            ok(!cusolverDnCreateSyevjInfo(&params), "parameters");
            give(OF2(sygvj_bufferSize, hegvj_bufferSize, cusolverEigType_t, cusolverEigMode_t,
                     cublasFillMode_t, int, void *, int, void *, int, void *, int *,
                     syevjInfo_t)(handle, type, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, a, LD, b, LD,
                                  w, &work_n, params),
                 t);
            solved(OF2(sygvj, hegvj, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
                       void *, int, void *, int, void *, void *, int, int *,
                       syevjInfo_t)(handle, type, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, a, LD, b,
                                    LD, w, work, work_n, info, params),
                   info, 0, "sygvj");
            ok(!cusolverDnXsyevjGetResidual(handle, params, &residual) && residual > 0 &&
                   residual < 10 * close_to[t] && !cusolverDnDestroySyevjInfo(params),
               "%c: a small residual, and not 0: %g", letters[t], residual);
        }
        v = from(t, a, N, N, LD);
        struct matrix left = general(type, was, by, v);
        struct matrix right = times('N', v, 'N', diagonal(r, w, N, N));
        if (type == 1)
            right = times('N', by, 'N', right);
        for (int i = 0; i < N * N; i++) /* to the size of the matrices */
            left.at[i] /= 3 * N, right.at[i] /= 3 * N;
        near(t, left, right, "sygvd: the pencil's equation");
    }
    if (r == D) { /* the two least */
        to(t, a, LD, &was), to(t, b, LD, &by);
        give(OF2(sygvdx_bufferSize, hegvdx_bufferSize, cusolverEigType_t, cusolverEigMode_t,
                 cusolverEigRange_t, cublasFillMode_t, int, void *, int, void *, int, double,
                 double, int, int, int *, void *, int *)(handle, type, CUSOLVER_EIG_MODE_VECTOR,
                                                         CUSOLVER_EIG_RANGE_I, fills[u], N, a, LD,
                                                         b, LD, 0, 0, 1, 2, &found, w, &work_n),
             t);
        void *some = array(r, N);
        solved(OF2(sygvdx, hegvdx, cusolverEigType_t, cusolverEigMode_t, cusolverEigRange_t,
                   cublasFillMode_t, int, void *, int, void *, int, double, double, int, int, int *,
                   void *, void *, int, int *)(handle, type, CUSOLVER_EIG_MODE_VECTOR,
                                               CUSOLVER_EIG_RANGE_I, fills[u], N, a, LD, b, LD, 0,
                                               0, 1, 2, &found, some, work, work_n, info),
               info, 0, "sygvdx");
        ok(found == 2, "two are found");
        near(t, diagonal(r, some, 2, 2), diagonal(r, w, 2, 2), "sygvdx: the least");
        v = columns(from(t, a, N, N, LD), 0, 2);
        struct matrix right = times('N', v, 'N', diagonal(r, some, 2, 2));
        near(t, general(type, was, by, v), type == 1 ? times('N', by, 'N', right) : right,
             "sygvdx: the pencil's equation");
    }
    by.at[0] = -1;
    to(t, b, LD, &by);
    solved(OF2(sygvd, hegvd, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int, void *,
               int, void *, int, void *, void *, int,
               int *)(handle, type, CUSOLVER_EIG_MODE_VECTOR, fills[u], N, a, LD, b, LD, w, work,
                      work_n, info),
           info, u ? N + 1 : N + 1, "sygvd of a B that is not positive");
}

/* ---- the interface for any type */

#define SPACES room(device_B), device_B, room(host_B), host_B

static void test_any_type(enum letter t)
{
    cudaDataType type = types[t], real = types[real_of(t)];
    enum letter r = real_of(t);
    void *a = array(t, LD * N), *b = array(t, LD * K), *tau = array(t, N), *w = array(r, 2 * N);
    int64_t *pivots = room(N * sizeof(*pivots)), found = 0;
    struct matrix was = hermitian(from(t, a, N, N, LD), 3 * N), rhs = from(t, b, N, K, LD), got;

    to(t, a, LD, &was);
    ok(!cusolverDnXpotrf_bufferSize(handle, NULL, fills[0], N, type, a, LD, type, &device_B,
                                    &host_B),
       "Xpotrf_bufferSize");
    solved(cusolverDnXpotrf(handle, NULL, fills[0], N, type, a, LD, type, SPACES, info), info, 0,
           "Xpotrf");
    solved(cusolverDnXpotrs(handle, NULL, fills[0], N, K, type, a, LD, type, b, LD, info), info, 0,
           "Xpotrs");
    near(t, times('N', was, 'N', from(t, b, N, K, LD)), rhs, "Xpotrs: A X = B");

    to(t, a, LD, &was), to(t, b, LD, &rhs);
    ok(!cusolverDnXgetrf_bufferSize(handle, NULL, N, N, type, a, LD, type, &device_B, &host_B),
       "Xgetrf_bufferSize");
    solved(cusolverDnXgetrf(handle, NULL, N, N, type, a, LD, pivots, type, SPACES, info), info, 0,
           "Xgetrf");
    solved(
        cusolverDnXgetrs(handle, NULL, CUBLAS_OP_N, N, K, type, a, LD, pivots, type, b, LD, info),
        info, 0, "Xgetrs");
    near(t, times('N', was, 'N', from(t, b, N, K, LD)), rhs, "Xgetrs: A X = B");

    to(t, a, LD, &was), to(t, b, LD, &rhs);
    size_t one_B = 0;
    ok(!cusolverDnGetrf_bufferSize(handle, NULL, N, N, type, a, LD, type, &one_B),
       "Getrf_bufferSize");
    solved(cusolverDnGetrf(handle, NULL, N, N, type, a, LD, pivots, type, room(one_B), one_B, info),
           info, 0, "Getrf");
    solved(cusolverDnGetrs(handle, NULL, CUBLAS_OP_N, N, K, type, a, LD, pivots, type, b, LD, info),
           info, 0, "Getrs");
    near(t, times('N', was, 'N', from(t, b, N, K, LD)), rhs, "Getrs: A X = B");

    /* Reflectors' block: H = 1 - V T V^H is what they make together. */
    void *q = array(t, LD * N), *block = array(t, LD * N);
    ok(!cusolverDnXgeqrf_bufferSize(handle, NULL, N, N, type, q, LD, type, tau, type, &device_B,
                                    &host_B),
       "Xgeqrf_bufferSize");
    struct matrix before = from(t, q, N, N, LD);
    solved(cusolverDnXgeqrf(handle, NULL, N, N, type, q, LD, type, tau, type, SPACES, info), info,
           0, "Xgeqrf");
    ok(!cusolverDnXlarft_bufferSize(handle, NULL, CUBLAS_DIRECT_FORWARD, CUBLAS_STOREV_COLUMNWISE,
                                    N, N, type, q, LD, type, tau, type, block, LD, type, &device_B,
                                    &host_B) &&
           !cusolverDnXlarft(handle, NULL, CUBLAS_DIRECT_FORWARD, CUBLAS_STOREV_COLUMNWISE, N, N,
                             type, q, LD, type, tau, type, block, LD, type, SPACES),
       "Xlarft");
    struct matrix v = unit_diagonal(triangle(from(t, q, N, N, LD), 'L')), h = identity(N);
    got = times('N', times('N', v, 'N', triangle(from(t, block, N, N, LD), 'U')), 'C', v);
    for (int i = 0; i < N * N; i++)
        h.at[i] -= got.at[i];
    near(t, times('N', h, 'N', triangle(from(t, q, N, N, LD), 'U')), before, "larft: H R = A");

    for (int u = 0; u < 2; u++) {
        struct matrix tri = triangle(was, "LU"[u]);
        to(t, a, LD, &tri);
        ok(!cusolverDnXtrtri_bufferSize(handle, fills[u], CUBLAS_DIAG_NON_UNIT, N, type, a, LD,
                                        &device_B, &host_B),
           "Xtrtri_bufferSize");
        solved(
            cusolverDnXtrtri(handle, fills[u], CUBLAS_DIAG_NON_UNIT, N, type, a, LD, SPACES, info),
            info, 0, "Xtrtri");
        near(t, times('N', tri, 'N', from(t, a, N, N, LD)), identity(N), "Xtrtri: the inverse");
    }

    was = known(t, a);
    ok(!cusolverDnXsyevd_bufferSize(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, fills[0], N, type, a,
                                    LD, real, w, type, &device_B, &host_B),
       "Xsyevd_bufferSize");
    solved(cusolverDnXsyevd(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, fills[0], N, type, a, LD, real,
                            w, type, SPACES, info),
           info, 0, "Xsyevd");
    near(t, diagonal(r, w, N, N), counting(1, N), "Xsyevd: values");
    to(t, a, LD, &was);
    float vl = 2.5f, vu = 5.5f;
    double dl = 2.5, du = 5.5;
    void *low = r == S ? (void *)&vl : &dl, *high = r == S ? (void *)&vu : &du;
    ok(!cusolverDnXsyevdx_bufferSize(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_V,
                                     fills[0], N, type, a, LD, low, high, 0, 0, &found, real, w,
                                     type, &device_B, &host_B),
       "Xsyevdx_bufferSize");
    solved(cusolverDnXsyevdx(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_V, fills[0],
                             N, type, a, LD, low, high, 0, 0, &found, real, w, type, SPACES, info),
           info, 0, "Xsyevdx");
    ok(found == 3, "three are found");
    near(t, diagonal(r, w, 3, 3), counting(3, 3), "Xsyevdx: values");
    void *many = array(t, LD * N * 2), *values = array(r, 2 * N);
    to(t, many, LD, &was), to(t, (char *)many + (size_t)(LD * N) * sizes[t], LD, &was);
    int *infos = room(2 * sizeof(int));
    ok(!cusolverDnXsyevBatched_bufferSize(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, fills[0], N, type,
                                          many, LD, real, values, type, &device_B, &host_B, 2),
       "XsyevBatched_bufferSize");
    solved(cusolverDnXsyevBatched(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, fills[0], N, type, many,
                                  LD, real, values, type, SPACES, infos, 2),
           infos + 1, 0, "XsyevBatched");
    near(t, diagonal(r, (char *)values + N * sizes[r], N, N), counting(1, N),
         "XsyevBatched: values");

    ok(cusolverDnXpotrf(handle, NULL, fills[0], N, CUDA_R_16F, a, LD, CUDA_R_16F, NULL, 0, NULL, 0,
                        info) == CUSOLVER_STATUS_INVALID_VALUE &&
           cusolverDnXpotrf(handle, NULL, fills[0], N, type, a, LD, types[t ^ 1], NULL, 0, NULL, 0,
                            info) == CUSOLVER_STATUS_INVALID_VALUE &&
           cusolverDnXsyevd(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, fills[0], N, type, a, LD,
                            types[r ^ 1], w, type, NULL, 0, NULL, 0,
                            info) == CUSOLVER_STATUS_INVALID_VALUE,
       "types that do not go together");
}

static void test_any_svd(enum letter t)
{
    cudaDataType type = types[t], real = types[real_of(t)];
    void *a = array(t, LD * N), *s = array(real_of(t), N), *u = array(t, LD * M),
         *v = array(t, LD * N);
    struct matrix was = from(t, a, M, N, LD);
    double error = -1;

    ok(!cusolverDnXgesvd_bufferSize(handle, NULL, 'A', 'A', M, N, type, a, LD, real, s, type, u, LD,
                                    type, v, LD, type, &device_B, &host_B),
       "Xgesvd_bufferSize");
    solved(cusolverDnXgesvd(handle, NULL, 'A', 'A', M, N, type, a, LD, real, s, type, u, LD, type,
                            v, LD, type, SPACES, info),
           info, 0, "Xgesvd");
    check_svd(t, was, s, from(t, u, M, M, LD), from(t, v, N, N, LD), 'N', "Xgesvd: U S VT = A");

    to(t, a, LD, &was);
    ok(!cusolverDnXgesvdp_bufferSize(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, 1, M, N, type, a, LD,
                                     real, s, type, u, LD, type, v, LD, type, &device_B, &host_B),
       "Xgesvdp_bufferSize");
    solved(cusolverDnXgesvdp(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, 1, M, N, type, a, LD, real, s,
                             type, u, LD, type, v, LD, type, SPACES, info, &error),
           info, 0, "Xgesvdp");
    check_svd(t, was, s, from(t, u, M, N, LD), from(t, v, N, N, LD), 'C', "Xgesvdp: U S V^H = A");
    ok(error == 0, "Xgesvdp: nothing is perturbed");

    void *top = array(real_of(t), N);
    to(t, a, LD, &was);
    ok(!cusolverDnXgesvdr_bufferSize(handle, NULL, 'S', 'S', M, N, K, 2, 2, type, a, LD, real, top,
                                     type, u, LD, type, v, LD, type, &device_B, &host_B),
       "Xgesvdr_bufferSize");
    solved(cusolverDnXgesvdr(handle, NULL, 'S', 'S', M, N, K, 2, 2, type, a, LD, real, top, type, u,
                             LD, type, v, LD, type, SPACES, info),
           info, 0, "Xgesvdr");
    near(t, diagonal(real_of(t), top, K, K), diagonal(real_of(t), s, K, K), "Xgesvdr: the largest");
    near(t, times('N', was, 'N', from(t, v, N, K, LD)),
         times('N', from(t, u, M, K, LD), 'N', diagonal(real_of(t), top, K, K)),
         "Xgesvdr: A V = U S");
}

/* Complex vectors, and those of real matrices as pairs of columns. */
static void test_geev(enum letter t, bool folded)
{
    enum letter r = real_of(t), c = r + C;
    enum letter of = folded ? t : c;
    void *a = array(t, LD * N), *w = array(c, N), *vl = array(c, LD * N), *vr = array(c, LD * N);
    struct matrix was = from(t, a, N, N, LD), values = {.m = N, .n = N}, v[2];

    ok(!cusolverDnXgeev_bufferSize(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_MODE_VECTOR,
                                   N, types[t], a, LD, types[of], w, types[of], vl, LD, types[of],
                                   vr, LD, types[t], &device_B, &host_B),
       "Xgeev_bufferSize");
    solved(cusolverDnXgeev(handle, NULL, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_MODE_VECTOR, N,
                           types[t], a, LD, types[of], w, types[of], vl, LD, types[of], vr, LD,
                           types[t], SPACES, info),
           info, 0, "Xgeev");
    bool packed = folded && !is_complex(t);
    for (int i = 0; i < N; i++)
        values.at[i + i * N] = packed ? get(r, w, i) + I * get(r, w, N + i) : get(c, w, i);
    for (int side = 0; side < 2; side++) {
        v[side] = from(of, side ? vr : vl, N, N, LD);
        for (int j = 0; packed && j < N; j++)
            for (int i = 0; cimag(values.at[j + j * N]) > 0 && i < N; i++) {
                num even = v[side].at[i + j * N], odd = v[side].at[i + (j + 1) * N];
                v[side].at[i + j * N] = even + I * odd;
                v[side].at[i + (j + 1) * N] = even - I * odd;
            }
    }
    near(t, times('N', was, 'N', v[1]), times('N', v[1], 'N', values), "geev: A V = V W");
    near(t, times('C', v[0], 'N', was), times('N', values, 'C', v[0]), "geev: V^H A = W V^H");
}

/* ---- iterative refinement */

static void test_refined(enum letter t)
{
    void *a = array(t, LD * N), *b = array(t, LD * K), *x = array(t, LD * K);
    struct matrix was = from(t, a, N, N, LD), rhs = from(t, b, N, K, LD);
    static const cusolverPrecType_t precisions[] = {CUSOLVER_R_32F, CUSOLVER_R_64F, CUSOLVER_C_32F,
                                                    CUSOLVER_C_64F};
    cusolverDnIRSParams_t params = NULL;
    cusolverDnIRSInfos_t infos = NULL;
    int *pivots = room(N * sizeof(int)), niters = 99, n = -1;
    size_t bytes = 0;

#define GESV(low, ...) OF4(S##gesv##low, D##gesv##low, C##gesv##low, Z##gesv##low, __VA_ARGS__)
    ok(!GESV(_bufferSize, int, int, void *, int, int *, void *, int, void *, int, void *,
             size_t *)(handle, N, K, a, LD, pivots, b, LD, x, LD, NULL, &bytes) &&
           bytes,
       "gesv_bufferSize");
    solved(
        GESV(, int, int, void *, int, int *, void *, int, void *, int, void *, size_t, int *,
             int *)(handle, N, K, a, LD, pivots, b, LD, x, LD, room(bytes), bytes, &niters, info),
        info, 0, "gesv");
    ok(niters == 0, "no iterations");
    near(t, times('N', was, 'N', from(t, x, N, K, LD)), rhs, "gesv: A X = B");
    near(t, from(t, a, N, N, LD), was, "gesv: A stays");

    ok(!cusolverDnIRSParamsCreate(&params) && !cusolverDnIRSInfosCreate(&infos), "parameters");
    ok(cusolverDnIRSXgesv(handle, params, infos, N, K, a, LD, b, LD, x, LD, NULL, 0, &niters,
                          info) == CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC &&
           cusolverDnIRSInfosGetNiters(infos, &n) == CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED &&
           cusolverDnIRSParamsSetSolverMainPrecision(params, CUSOLVER_R_16F) ==
               CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC,
       "no precision is set");
    ok(!cusolverDnIRSParamsSetSolverPrecisions(params, precisions[t], precisions[t]) &&
           !cusolverDnIRSParamsSetRefinementSolver(params, CUSOLVER_IRS_REFINE_GMRES) &&
           !cusolverDnIRSParamsSetMaxIters(params, 7) &&
           !cusolverDnIRSParamsGetMaxIters(params, &n) && n == 7,
       "precisions");
    ok(!cusolverDnIRSXgesv_bufferSize(handle, params, N, K, &bytes), "IRSXgesv_bufferSize");
    memset(x, 0, 1);
    solved(cusolverDnIRSXgesv(handle, params, infos, N, K, a, LD, b, LD, x, LD, room(bytes), bytes,
                              &niters, info),
           info, 0, "IRSXgesv");
    near(t, times('N', was, 'N', from(t, x, N, K, LD)), rhs, "IRSXgesv: A X = B");
    ok(!cusolverDnIRSInfosGetNiters(infos, &n) && n == niters, "iterations");

    void *tall = array(t, LD * N), *c = array(t, LD * K);
    struct matrix of = from(t, tall, M, N, LD), want = from(t, c, M, K, LD), rest;
#define GELS(low, ...) OF4(S##gels##low, D##gels##low, C##gels##low, Z##gels##low, __VA_ARGS__)
    ok(!GELS(_bufferSize, int, int, int, void *, int, void *, int, void *, int, void *,
             size_t *)(handle, M, N, K, tall, LD, c, LD, x, LD, NULL, &bytes),
       "gels_bufferSize");
    solved(GELS(, int, int, int, void *, int, void *, int, void *, int, void *, size_t, int *,
                int *)(handle, M, N, K, tall, LD, c, LD, x, LD, room(bytes), bytes, &niters, info),
           info, 0, "gels");
    rest = times('N', of, 'N', from(t, x, N, K, LD));
    near(t, times('C', of, 'N', rest), times('C', of, 'N', want), "gels: the normal equations");
    solved(cusolverDnIRSXgels(handle, params, infos, M, N, K, tall, LD, c, LD, x, LD, NULL, 0,
                              &niters, info),
           info, 0, "IRSXgels");
    near(t, times('N', of, 'N', from(t, x, N, K, LD)), rest, "IRSXgels: the same");
    ok(!cusolverDnIRSParamsDestroy(params) && !cusolverDnIRSInfosDestroy(infos), "destroyed");

    memset(was.at, 0, N * sizeof(num));
    to(t, a, LD, &was);
    solved(GESV(, int, int, void *, int, int *, void *, int, void *, int, void *, size_t, int *,
                int *)(handle, N, K, a, LD, NULL, b, LD, x, LD, room(bytes), bytes, &niters, info),
           info, 1, "gesv of a singular matrix");
}

static void test_no_number(void)
{
    double *a = array(D, LD * N), *s = array(D, N);
    gesvdjInfo_t params;

    a[3] = NAN;
    ok(!cusolverDnCreateGesvdjInfo(&params), "parameters");
    solved(cusolverDnDgesvdj(handle, CUSOLVER_EIG_MODE_NOVECTOR, 0, N, N, a, LD, s, NULL, 1, NULL,
                             1, a, 1, info, params),
           info, N + 1, "gesvdj of no numbers");
    ok(isnan(s[0]) && !cusolverDnDestroyGesvdjInfo(params), "no number");
}

int main(void)
{
    begin();
    for (enum letter t = S; t < TYPES; t++) {
        used = 0;
        info = room(sizeof(*info));
        for (int i = 0; i < 4; i++)
            test_gesvd(t, "ASON"[i]);
        for (int econ = 0; econ < 2; econ++) {
            test_gesvdj(t, M, N, econ);
            test_gesvdj(t, N, M, econ);
        }
        test_svd_batches(t);
        for (int u = 0; u < 2; u++) {
            test_symmetric(t, u);
            for (int type = 1; type <= 3; type++)
                test_general(t, u, type);
        }
        test_any_type(t);
        test_any_svd(t);
        test_geev(t, true);
        test_geev(t, false);
        test_refined(t);
    }
    test_no_number();
    ok(!cusolverDnDestroy(handle), "destroyed");
    return done();
}
