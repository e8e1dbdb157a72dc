/*
 * cuSOLVER's routines for dense matrices, each of each type, by what defines its result: A = L U,
 * Q R = A, residuals of systems, orthogonal vectors. Leading dimensions are larger than need be.
 */
#include "solver_fixture.h"

enum { N = 9, M = 13, K = 4, LD = 17, MANY = 5 };

static const cublasFillMode_t fills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
static const char uplos[] = "LU";
static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
static const char op_letters[] = "NTC";

static void *work; /* as much as _bufferSize said */
static int work_n;
static int *info;

/* A buffer of what was asked for, not more. */
static void give(cusolverStatus_t status, enum letter t)
{
    ok(!status && work_n > 0, "%c: a workspace's size", letters[t]);
    work = room((size_t)work_n * sizes[t]);
}

static struct matrix positive(enum letter t, void *a, int n)
{
    struct matrix h = hermitian(from(t, a, n, n, LD), 3 * n);

    to(t, a, LD, &h);
    return h;
}

static void test_cholesky(enum letter t, int u)
{
    void *a = array(t, LD * N), *b = array(t, LD * K);
    struct matrix was = positive(t, a, N), rhs = from(t, b, N, K, LD), got;

    give(OF(potrf_bufferSize, cublasFillMode_t, int, void *, int, int *)(handle, fills[u], N, a, LD,
                                                                         &work_n),
         t);
    solved(OF(potrf, cublasFillMode_t, int, void *, int, void *, int,
              int *)(handle, fills[u], N, a, LD, work, work_n, info),
           info, 0, "potrf");
    got = triangle(from(t, a, N, N, LD), uplos[u]);
    near(t, u ? times('C', got, 'N', got) : times('N', got, 'C', got), was, "A = L L^H");
    solved(OF(potrs, cublasFillMode_t, int, int, void *, int, void *, int,
              int *)(handle, fills[u], N, K, a, LD, b, LD, info),
           info, 0, "potrs");
    near(t, times('N', was, 'N', from(t, b, N, K, LD)), rhs, "potrs: A X = B");

    void *twice = array(t, LD * N);
    to(t, twice, LD, &got);
    give(OF(lauum_bufferSize, cublasFillMode_t, int, void *, int, int *)(handle, fills[u], N, twice,
                                                                         LD, &work_n),
         t);
    solved(OF(lauum, cublasFillMode_t, int, void *, int, void *, int,
              int *)(handle, fills[u], N, twice, LD, work, work_n, info),
           info, 0, "lauum");
    near(t, triangle(from(t, twice, N, N, LD), uplos[u]),
         triangle(u ? times('N', got, 'C', got) : times('C', got, 'N', got), uplos[u]),
         "lauum: U U^H, L^H L");

    give(OF(potri_bufferSize, cublasFillMode_t, int, void *, int, int *)(handle, fills[u], N, a, LD,
                                                                         &work_n),
         t);
    solved(OF(potri, cublasFillMode_t, int, void *, int, void *, int,
              int *)(handle, fills[u], N, a, LD, work, work_n, info),
           info, 0, "potri");
    got = triangle(from(t, a, N, N, LD), uplos[u]);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            if (u ? i > j : i < j)
                got.at[i + j * N] = conj(got.at[j + i * N]);
    near(t, times('N', was, 'N', got), identity(N), "potri: the inverse");

    was.at[2 + 2 * N] = -1;
    to(t, a, LD, &was);
    solved(OF(potrf, cublasFillMode_t, int, void *, int, void *, int,
              int *)(handle, fills[u], N, a, LD, work, work_n, info),
           info, 3, "potrf of what is not positive");
}

static void test_cholesky_batched(enum letter t)
{
    void **as = room(MANY * sizeof(*as)), **bs = room(MANY * sizeof(*bs));
    int *infos = room(MANY * sizeof(*infos));
    struct matrix was[MANY], rhs[MANY];

    for (int i = 0; i < MANY; i++) {
        as[i] = array(t, LD * N), bs[i] = array(t, LD * K);
        was[i] = positive(t, as[i], N);
        rhs[i] = from(t, bs[i], N, 1, LD);
    }
    put(t, as[3], 0, -1);
    ok(!OF(potrfBatched, cublasFillMode_t, int, void **, int, int *, int)(handle, fills[0], N, as,
                                                                          LD, infos, MANY),
       "potrfBatched");
    solved(OF(potrsBatched, cublasFillMode_t, int, int, void **, int, void **, int, int *,
              int)(handle, fills[0], N, 1, as, LD, bs, LD, info, 3),
           info, 0, "potrsBatched");
    for (int i = 0; i < MANY; i++)
        ok(infos[i] == (i == 3), "%c: potrfBatched: info %d", letters[t], i);
    for (int i = 0; i < 3; i++)
        near(t, times('N', was[i], 'N', from(t, bs[i], N, 1, LD)), rhs[i], "potrsBatched: A X = B");
    ok(!OF(potrfBatched, cublasFillMode_t, int, void **, int, int *, int)(handle, fills[0], N, as,
                                                                          LD, infos, 0),
       "an empty batch");
}

/* Rows of an m x n matrix exchanged as LAPACK's pivots say, from 1. */
static struct matrix exchanged(struct matrix a, const int *pivots, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < a.n; j++) {
            num one = a.at[i + j * a.m];
            a.at[i + j * a.m] = a.at[pivots[i] - 1 + j * a.m];
            a.at[pivots[i] - 1 + j * a.m] = one;
        }
    return a;
}

static void test_lu(enum letter t, int m, int n, bool pivoted)
{
    int least = m < n ? m : n, *pivots = pivoted ? room(sizeof(int) * N) : NULL;
    void *a = array(t, LD * n);
    struct matrix was = from(t, a, m, n, LD), lower = {.m = m, .n = least},
                  upper = {.m = least, .n = n}, got;

    for (int i = 0; !pivoted && i < least; i++)
        was.at[i + i * m] += n;
    to(t, a, LD, &was);
    give(OF(getrf_bufferSize, int, int, void *, int, int *)(handle, m, n, a, LD, &work_n), t);
    solved(OF(getrf, int, int, void *, int, void *, int *, int *)(handle, m, n, a, LD, work, pivots,
                                                                  info),
           info, 0, "getrf");
    got = from(t, a, m, n, LD);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            if (i > j)
                lower.at[i + j * m] = got.at[i + j * m];
            else
                upper.at[i + j * least] = got.at[i + j * m];
    lower = unit_diagonal(lower);
    near(t, times('N', lower, 'N', upper), pivoted ? exchanged(was, pivots, least) : was,
         pivoted ? "P A = L U" : "A = L U");
    for (int op = 0; m == n && op < 3; op++) {
        void *b = array(t, LD * K);
        struct matrix rhs = from(t, b, n, K, LD);
        solved(OF(getrs, cublasOperation_t, int, int, void *, int, int *, void *, int,
                  int *)(handle, ops[op], n, K, a, LD, pivots, b, LD, info),
               info, 0, "getrs");
        near(t, times(op_letters[op], was, 'N', from(t, b, n, K, LD)), rhs, "getrs: op(A) X = B");
    }
    if (m == n && pivoted) {
        void *b = array(t, LD * K);
        struct matrix rows = from(t, b, n, K, LD);
        ok(!OF(laswp, int, void *, int, int, int, int *, int)(handle, K, b, LD, 1, n, pivots, 1),
           "laswp");
        near(t, from(t, b, n, K, LD), exchanged(rows, pivots, n), "laswp: rows");
        ok(!OF(laswp, int, void *, int, int, int, int *, int)(handle, K, b, LD, 1, n, pivots, -1),
           "laswp backwards");
        near(t, from(t, b, n, K, LD), rows, "laswp backwards: as it was");
    }
    for (int i = 0; i < m; i++)
        was.at[i + 0] = 0;
    to(t, a, LD, &was);
    solved(OF(getrf, int, int, void *, int, void *, int *, int *)(handle, m, n, a, LD, work, pivots,
                                                                  info),
           info, 1, "getrf of a singular matrix");
}

static struct matrix upper_part(struct matrix a, int n)
{
    struct matrix r = {.m = n, .n = a.n};

    for (int j = 0; j < a.n; j++)
        for (int i = 0; i <= j && i < n; i++)
            r.at[i + j * n] = a.at[i + j * a.m];
    return r;
}

static void test_qr(enum letter t)
{
    void *a = array(t, LD * N), *tau = array(t, N), *c = array(t, LD * K), *d = array(t, LD * M);
    struct matrix was = from(t, a, M, N, LD), of = from(t, c, M, K, LD), right, r, q;

    give(OF(geqrf_bufferSize, int, int, void *, int, int *)(handle, M, N, a, LD, &work_n), t);
    solved(OF(geqrf, int, int, void *, int, void *, void *, int, int *)(handle, M, N, a, LD, tau,
                                                                        work, work_n, info),
           info, 0, "geqrf");
    r = upper_part(from(t, a, M, N, LD), N);
    give(OF2(ormqr_bufferSize, unmqr_bufferSize, cublasSideMode_t, cublasOperation_t, int, int, int,
             void *, int, void *, void *, int,
             int *)(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_C, M, K, N, a, LD, tau, c, LD, &work_n),
         t);
    solved(OF2(ormqr, unmqr, cublasSideMode_t, cublasOperation_t, int, int, int, void *, int,
               void *, void *, int, void *, int, int *)(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_C, M, K,
                                                        N, a, LD, tau, c, LD, work, work_n, info),
           info, 0, "ormqr");
    right = from(t, d, K, M, LD);
    solved(OF2(ormqr, unmqr, cublasSideMode_t, cublasOperation_t, int, int, int, void *, int,
               void *, void *, int, void *, int, int *)(handle, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, K,
                                                        M, N, a, LD, tau, d, LD, work, work_n,
                                                        info),
           info, 0, "ormqr from the right");
    give(OF2(orgqr_bufferSize, ungqr_bufferSize, int, int, int, void *, int, void *,
             int *)(handle, M, N, N, a, LD, tau, &work_n),
         t);
    solved(OF2(orgqr, ungqr, int, int, int, void *, int, void *, void *, int,
               int *)(handle, M, N, N, a, LD, tau, work, work_n, info),
           info, 0, "orgqr");
    q = from(t, a, M, N, LD);
    near(t, times('N', q, 'N', r), was, "Q R = A");
    near(t, times('C', q, 'N', q), identity(N), "Q^H Q = 1");
    struct matrix qc = from(t, c, M, K, LD), first = {.m = N, .n = K};
    for (int j = 0; j < K; j++)
        for (int i = 0; i < N; i++)
            first.at[i + j * N] = qc.at[i + j * M];
    near(t, first, times('C', q, 'N', of), "ormqr: Q^H C");
    near(t, columns(from(t, d, K, M, LD), 0, N), times('N', right, 'N', q), "ormqr: C Q");
}

/* The middle factor of A = U D U^T, U with LAPACK's pivots: here only that systems are solved. */
static void test_symmetric(enum letter t, int u, bool pivoted)
{
    void *a = array(t, LD * N), *b = array(t, LD * K);
    int *pivots = pivoted ? room(N * sizeof(int)) : NULL;
    struct matrix was = from(t, a, N, N, LD), inverse;

    for (int j = 0; j < N; j++)
        for (int i = 0; i <= j; i++)
            was.at[i + j * N] = was.at[j + i * N] += i == j && !pivoted ? 9 : 0;
    to(t, a, LD, &was);
    give(OF(sytrf_bufferSize, int, void *, int, int *)(handle, N, a, LD, &work_n), t);
    solved(OF(sytrf, cublasFillMode_t, int, void *, int, int *, void *, int,
              int *)(handle, fills[u], N, a, LD, pivots, work, work_n, info),
           info, 0, pivoted ? "sytrf" : "sytrf without exchanges");
    if (!pivoted) {
        struct matrix f = triangle(from(t, a, N, N, LD), uplos[u]), scaled = unit_diagonal(f), l;
        l = scaled;
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                scaled.at[i + j * N] *= f.at[j + j * N];
        near(t, times('N', scaled, 'T', l), was, "A = L D L^T");
    } else {
        int64_t *wide = room(N * sizeof(*wide));
        size_t device, host;
        static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
        struct matrix rhs = from(t, b, N, K, LD);
        for (int i = 0; i < N; i++)
            wide[i] = pivots[i];
        ok(!cusolverDnXsytrs_bufferSize(handle, fills[u], N, K, types[t], a, LD, wide, types[t], b,
                                        LD, &device, &host),
           "Xsytrs_bufferSize");
        solved(cusolverDnXsytrs(handle, fills[u], N, K, types[t], a, LD, wide, types[t], b, LD,
                                room(device), device, room(host), host, info),
               info, 0, "Xsytrs");
        near(t, times('N', was, 'N', from(t, b, N, K, LD)), rhs, "sytrs: A X = B");
    }
    give(OF(sytri_bufferSize, cublasFillMode_t, int, void *, int, int *,
            int *)(handle, fills[u], N, a, LD, pivots, &work_n),
         t);
    solved(OF(sytri, cublasFillMode_t, int, void *, int, int *, void *, int,
              int *)(handle, fills[u], N, a, LD, pivots, work, work_n, info),
           info, 0, "sytri");
    inverse = triangle(from(t, a, N, N, LD), uplos[u]);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            if (u ? i > j : i < j)
                inverse.at[i + j * N] = inverse.at[j + i * N];
    near(t, times('N', was, 'N', inverse), identity(N), "sytri: the inverse");
}

static void test_reductions(enum letter t)
{
    enum letter r = real_of(t);
    void *a = array(t, LD * N), *d = array(r, N), *e = array(r, N);
    void *tauq = array(t, N), *taup = array(t, N);
    struct matrix was = from(t, a, M, N, LD), b = {.m = N, .n = N}, q, p;

    give(OF(gebrd_bufferSize, int, int, int *)(handle, M, N, &work_n), t);
    solved(OF(gebrd, int, int, void *, int, void *, void *, void *, void *, void *, int,
              int *)(handle, M, N, a, LD, d, e, tauq, taup, work, work_n, info),
           info, 0, "gebrd");
    for (int i = 0; i < N; i++) {
        b.at[i + i * N] = get(r, d, i);
        if (i + 1 < N)
            b.at[i + (i + 1) * N] = get(r, e, i);
    }
    void *copy = array(t, LD * N);
    memcpy(copy, a, LD * N * sizes[t]);
    for (int side = 0; side < 2; side++) {
        void *of = side ? copy : a, *tau = side ? taup : tauq;
        int rows = side ? N : M;
        cublasSideMode_t which = side ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
        give(OF2(orgbr_bufferSize, ungbr_bufferSize, cublasSideMode_t, int, int, int, void *, int,
                 void *, int *)(handle, which, rows, N, side ? M : N, of, LD, tau, &work_n),
             t);
        solved(OF2(orgbr, ungbr, cublasSideMode_t, int, int, int, void *, int, void *, void *, int,
                   int *)(handle, which, rows, N, side ? M : N, of, LD, tau, work, work_n, info),
               info, 0, "orgbr");
    }
    q = from(t, a, M, N, LD), p = from(t, copy, N, N, LD);
    near(t, times('N', times('N', q, 'N', b), 'N', p), was, "gebrd: Q B P^H = A");
    near(t, times('C', q, 'N', q), identity(N), "gebrd: Q^H Q = 1");

    for (int u = 0; u < 2; u++) {
        void *h = array(t, LD * N), *tau = array(t, N), *c = array(t, LD * N);
        struct matrix is = hermitian(from(t, h, N, N, LD), 0), tri = {.m = N, .n = N};
        struct matrix of = from(t, c, N, N, LD);
        to(t, h, LD, &is);
        give(OF2(sytrd_bufferSize, hetrd_bufferSize, cublasFillMode_t, int, void *, int, void *,
                 void *, void *, int *)(handle, fills[u], N, h, LD, d, e, tau, &work_n),
             t);
        solved(OF2(sytrd, hetrd, cublasFillMode_t, int, void *, int, void *, void *, void *, void *,
                   int, int *)(handle, fills[u], N, h, LD, d, e, tau, work, work_n, info),
               info, 0, "sytrd");
        for (int i = 0; i < N; i++) {
            tri.at[i + i * N] = get(r, d, i);
            if (i + 1 < N)
                tri.at[i + (i + 1) * N] = tri.at[i + 1 + i * N] = get(r, e, i);
        }
        give(OF2(ormtr_bufferSize, unmtr_bufferSize, cublasSideMode_t, cublasFillMode_t,
                 cublasOperation_t, int, int, void *, int, void *, void *, int, int *)(
                 handle, CUBLAS_SIDE_LEFT, fills[u], CUBLAS_OP_N, N, N, h, LD, tau, c, LD, &work_n),
             t);
        solved(OF2(ormtr, unmtr, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, int, int,
                   void *, int, void *, void *, int, void *, int,
                   int *)(handle, CUBLAS_SIDE_LEFT, fills[u], CUBLAS_OP_N, N, N, h, LD, tau, c, LD,
                          work, work_n, info),
               info, 0, "ormtr");
        give(OF2(orgtr_bufferSize, ungtr_bufferSize, cublasFillMode_t, int, void *, int, void *,
                 int *)(handle, fills[u], N, h, LD, tau, &work_n),
             t);
        solved(OF2(orgtr, ungtr, cublasFillMode_t, int, void *, int, void *, void *, int,
                   int *)(handle, fills[u], N, h, LD, tau, work, work_n, info),
               info, 0, "orgtr");
        q = from(t, h, N, N, LD);
        near(t, times('N', times('N', q, 'N', tri), 'C', q), is, "sytrd: Q T Q^H = A");
        near(t, from(t, c, N, N, LD), times('N', q, 'N', of), "ormtr: Q C");
    }
}

static void test_errors(void)
{
    int n = 0, *pivots = room(64);
    float *a = array(S, LD * N);
    cudaStream_t stream = (cudaStream_t)1, got = NULL;
    cusolverDeterministicMode_t mode;
    cusolverMathMode_t math;
    cusolverDnParams_t params;

    ok(cusolverDnCreate(NULL) == CUSOLVER_STATUS_INVALID_VALUE, "no place for a handle");
    ok(cusolverDnDestroy(NULL) == CUSOLVER_STATUS_NOT_INITIALIZED, "no handle to destroy");
    ok(cusolverDnSpotrf_bufferSize(NULL, fills[0], N, a, LD, &n) == CUSOLVER_STATUS_NOT_INITIALIZED,
       "no handle");
    ok(cusolverDnSpotrf_bufferSize(handle, fills[0], -1, a, LD, &n) ==
               CUSOLVER_STATUS_INVALID_VALUE &&
           cusolverDnSpotrf(handle, fills[0], N, a, N - 1, a, 1, info) ==
               CUSOLVER_STATUS_INVALID_VALUE &&
           cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_FULL, N, a, LD, a, 1, info) ==
               CUSOLVER_STATUS_INVALID_VALUE,
       "a negative size, a leading dimension that is too small, no triangle");
    ok(cusolverDnSpotrf_bufferSize(handle, fills[0], N, a, LD, NULL) ==
           CUSOLVER_STATUS_INVALID_VALUE,
       "no place for a size");
    ok(cusolverDnSgetrs(handle, (cublasOperation_t)7, N, 1, a, LD, pivots, a, LD, info) ==
           CUSOLVER_STATUS_INVALID_VALUE,
       "no such operation");
    ok(cusolverDnSgesvd(handle, 'X', 'N', N, N, a, LD, a, a, LD, a, LD, a, 1, NULL, info) ==
           CUSOLVER_STATUS_INVALID_VALUE,
       "no such job");
    ok(!cusolverDnSetStream(handle, stream) && !cusolverDnGetStream(handle, &got) && got == stream,
       "a stream");
    ok(!cusolverDnSetStream(handle, NULL), "the default stream");
    ok(!cusolverDnGetDeterministicMode(handle, &mode) && mode == CUSOLVER_DETERMINISTIC_RESULTS,
       "deterministic");
    ok(!cusolverDnSetDeterministicMode(handle, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS) &&
           !cusolverDnGetDeterministicMode(handle, &mode) &&
           mode == CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS &&
           cusolverDnSetDeterministicMode(handle, 0) == CUSOLVER_STATUS_INVALID_VALUE,
       "another mode, and none");
    ok(!cusolverDnGetMathMode(handle, &math) && math == CUSOLVER_DEFAULT_MATH, "math mode");
    ok(!cusolverDnCreateParams(&params) &&
           !cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_1) &&
           cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, 9) == CUSOLVER_STATUS_INVALID_VALUE &&
           !cusolverDnDestroyParams(params),
       "advanced options");
    ok(!cusolverGetVersion(&n) && n == CUSOLVER_VERSION, "a version");
    ok(!cusolverGetProperty(MAJOR_VERSION, &n) && n == CUSOLVER_VER_MAJOR &&
           cusolverGetProperty(9, &n) == CUSOLVER_STATUS_INVALID_VALUE,
       "a property");
    ok(!cusolverDnSpotrf(handle, fills[0], 0, a, 1, a, 1, info) && !cudaDeviceSynchronize() &&
           !*info,
       "nothing to do");
}

/* Twice the graph's runs: what A becomes follows from what it was at each. */
static void test_capture(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    double *a = array(D, N * N), *start = room(N * N * sizeof(double));

    for (int i = 0; i < N * N; i++)
        start[i] = i % (N + 1) ? 0 : 4;
    ok(!cudaStreamCreate(&stream) && !cusolverDnSetStream(handle, stream), "a stream");
    ok(!cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "captures");
    ok(!cudaMemcpyAsync(a, start, N * N * sizeof(double), cudaMemcpyDeviceToDevice, stream),
       "a copy");
    ok(!cusolverDnDpotrf(handle, fills[0], N, a, N, a, 1, info), "potrf is captured");
    ok(!cudaStreamEndCapture(stream, &graph) && !cudaGraphInstantiate(&exec, graph, 0), "a graph");
    *info = 77;
    ok(*info == 77, "it has not run");
    for (int i = 0; i < 2; i++) {
        ok(!cudaGraphLaunch(exec, stream) && !cudaStreamSynchronize(stream), "it runs");
        ok(!*info && a[0] == 2 && a[N * N - 1] == 2, "the square roots");
    }
    ok(!cudaGraphExecDestroy(exec) && !cudaGraphDestroy(graph), "destroyed");
    ok(!cusolverDnSetStream(handle, NULL) && !cudaStreamDestroy(stream), "the stream, too");
}

int main(void)
{
    begin();
    for (enum letter t = S; t < TYPES; t++) {
        used = 0;
        info = room(sizeof(*info));
        for (int u = 0; u < 2; u++) {
            test_cholesky(t, u);
            test_symmetric(t, u, true);
            test_symmetric(t, u, false);
        }
        test_cholesky_batched(t);
        for (int pivoted = 0; pivoted < 2; pivoted++) {
            test_lu(t, N, N, pivoted);
            test_lu(t, M, N, pivoted);
            test_lu(t, N, M, pivoted);
        }
        test_qr(t);
        test_reductions(t);
    }
    test_errors();
    test_capture();
    ok(!cusolverDnDestroy(handle), "destroyed");
    return done();
}
