/*
 * cuBLAS's routines, each of each type, beside plain loops over complex numbers. Elements are small
 * whole numbers, so that sums are exact in every type and results are compared for equality.
 */
#include <complex.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>

#include "support/tap.h"

typedef double complex num;

enum letter { S, D, C, Z, TYPES };
static const char letters[] = "SDCZ";
static const size_t sizes[] = {4, 8, 8, 16};

enum { N = 7, M = 5, K = 6, LD = 9, CELLS = LD * LD };

static cublasHandle_t handle;
static bool at_device; /* factors and results */
static char *memory;   /* of the device, for all arrays */
static size_t used;

static bool is_complex(enum letter t)
{
    return t >= C;
}

static num complex_of(double re, double im)
{
    return re + im * I;
}

static num get(enum letter t, const void *p, int i)
{
    switch (t) {
    case S:
        return ((const float *)p)[i];
    case D:
        return ((const double *)p)[i];
    case C:
        return ((const float complex *)p)[i];
    default:
        return ((const num *)p)[i];
    }
}

static void put(enum letter t, void *p, int i, num v)
{
    switch (t) {
    case S:
        ((float *)p)[i] = (float)creal(v);
        break;
    case D:
        ((double *)p)[i] = creal(v);
        break;
    case C:
        ((float complex *)p)[i] = (float complex)v;
        break;
    default:
        ((num *)p)[i] = v;
    }
}

static int small(void)
{
    static uint32_t state = 12345;

    state = state * 1664525 + 1013904223;
    return (int)(state >> 24) % 7 - 3;
}

/* An array of the device's, of small numbers. */
static void *array(enum letter t, int n)
{
    void *p = memory + used;

    used += ((size_t)n * sizes[t] + 255) & ~(size_t)255;
    for (int i = 0; i < n; i++)
        put(t, p, i, is_complex(t) ? complex_of(small(), small()) : small());
    return p;
}

/* A factor, where the pointer mode wants it. `real`: of the real type. */
static void *factor(enum letter t, num v, bool real)
{
    static _Alignas(16) char host[8][16];
    static unsigned next;
    enum letter of = real && is_complex(t) ? t - 2 : t;
    void *p = at_device ? array(of, 1) : host[next++ % 8];

    put(of, p, 0, v);
    return p;
}

static void fill(num *out, enum letter t, const void *p, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = get(t, p, i);
}

static bool same(const char *what, enum letter t, const void *got, const num *want, int n,
                 double within)
{
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) {
        num g = get(t, got, i);
        if (!(cabs(g - want[i]) <= within)) {
            diag("%c%s [%d]: got %g%+gi, want %g%+gi", letters[t], what, i, creal(g), cimag(g),
                 creal(want[i]), cimag(want[i]));
            return false;
        }
    }
    return true;
}

static num op_of(cublasOperation_t op, num v)
{
    return op == CUBLAS_OP_C ? conj(v) : v;
}

/* Element (i, j) of op(A). */
static num at(const num *a, int ld, cublasOperation_t op, int i, int j)
{
    return op == CUBLAS_OP_N ? a[i + j * ld] : op_of(op, a[j + i * ld]);
}

static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
static const cublasFillMode_t fills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
static const cublasSideMode_t sides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};
static const cublasDiagType_t diags[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};

/* The functions of one name, as one type with untyped pointers. */
#define OF4(name, ...)                                                                             \
    ((cublasStatus_t(*[])(cublasHandle_t, __VA_ARGS__)){                                           \
        (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasS##name,                             \
        (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasD##name,                             \
        (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasC##name,                             \
        (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasZ##name})
#define OF_COMPLEX(name, ...)                                                                      \
    ((cublasStatus_t(*[])(cublasHandle_t, __VA_ARGS__)){                                           \
        NULL, NULL, (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasC##name,                 \
        (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasZ##name})
#define OF_REAL(name, ...)                                                                         \
    ((cublasStatus_t(*[])(cublasHandle_t, __VA_ARGS__)){                                           \
        (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasS##name,                             \
        (cublasStatus_t(*)(cublasHandle_t, __VA_ARGS__))cublasD##name, NULL, NULL})
#define VP void *
#define OP cublasOperation_t
#define FI cublasFillMode_t
#define SI cublasSideMode_t
#define DI cublasDiagType_t

static num some(enum letter t)
{
    return is_complex(t) ? complex_of(2, -1) : 2;
}

/* ---- vectors */

static void test_vectors(enum letter t)
{
    num x[CELLS], y[CELLS], a = some(t);
    void *px = array(t, 2 * N), *py = array(t, 3 * N);
    bool pass = true;
    int64_t wide;
    int index;

    fill(x, t, px, 2 * N);
    fill(y, t, py, 3 * N);
    for (int i = 0; i < N; i++)
        y[3 * i] += a * x[2 * (N - 1 - i)];
    pass &= !OF4(axpy, int, VP, VP, int, VP, int)[t](handle, N, factor(t, a, false), px, -2, py, 3);
    pass &= same("axpy", t, py, y, 3 * N, 0);
    for (int i = 0; i < N; i++)
        x[2 * i] *= a;
    pass &= !OF4(scal, int, VP, VP, int)[t](handle, N, factor(t, a, false), px, 2);
    pass &= same("scal", t, px, x, 2 * N, 0);
    for (int i = 0; i < N; i++) {
        num v = x[2 * i];
        x[2 * i] = y[3 * i];
        y[3 * i] = v;
    }
    pass &= !OF4(swap, int, VP, int, VP, int)[t](handle, N, px, 2, py, 3);
    pass &= same("swap", t, px, x, 2 * N, 0) && same("swap", t, py, y, 3 * N, 0);
    for (int i = 0; i < N; i++)
        y[3 * i] = x[2 * i];
    pass &= !OF4(copy_64, int64_t, VP, int64_t, VP, int64_t)[t](handle, N, px, 2, py, 3);
    pass &= same("copy", t, py, y, 3 * N, 0);

    num dot = 0, dotc = 0, largest = 0;
    double sum = 0, squares = 0, most = -1, least = INFINITY;
    int first_most = 0, first_least = 0;
    for (int i = 0; i < N; i++) {
        num v = x[2 * i];
        double size = fabs(creal(v)) + fabs(cimag(v));
        dot += v * y[3 * i];
        dotc += conj(v) * y[3 * i];
        sum += size;
        squares += creal(v) * creal(v) + cimag(v) * cimag(v);
        if (size > most) {
            most = size;
            first_most = i + 1;
        }
        if (size < least) {
            least = size;
            first_least = i + 1;
        }
    }
    (void)largest;
    void *r = factor(t, 0, false);
    if (is_complex(t)) {
        pass &= !OF_COMPLEX(dotu, int, VP, int, VP, int, VP)[t](handle, N, px, 2, py, 3, r);
        pass &= same("dotu", t, r, &dot, 1, 0);
        pass &= !OF_COMPLEX(dotc, int, VP, int, VP, int, VP)[t](handle, N, px, 2, py, 3, r);
        pass &= same("dotc", t, r, &dotc, 1, 0);
    } else {
        pass &= !OF_REAL(dot, int, VP, int, VP, int, VP)[t](handle, N, px, 2, py, 3, r);
        pass &= same("dot", t, r, &dot, 1, 0);
    }
    enum letter real = is_complex(t) ? t - 2 : t;
    cublasStatus_t (*nrm2[])(cublasHandle_t, int, VP, int, VP) = {
        (VP)cublasSnrm2, (VP)cublasDnrm2, (VP)cublasScnrm2, (VP)cublasDznrm2};
    cublasStatus_t (*asum[])(cublasHandle_t, int, VP, int, VP) = {
        (VP)cublasSasum, (VP)cublasDasum, (VP)cublasScasum, (VP)cublasDzasum};
    cublasStatus_t (*amax[])(cublasHandle_t, int, VP, int, int *) = {
        (VP)cublasIsamax, (VP)cublasIdamax, (VP)cublasIcamax, (VP)cublasIzamax};
    cublasStatus_t (*amin_64[])(cublasHandle_t, int64_t, VP, int64_t, int64_t *) = {
        (VP)cublasIsamin_64, (VP)cublasIdamin_64, (VP)cublasIcamin_64, (VP)cublasIzamin_64};
    num want = sum;
    pass &= !asum[t](handle, N, px, 2, r) && same("asum", real, r, &want, 1, 0);
    want = sqrt(squares);
    pass &= !nrm2[t](handle, N, px, 2, r) && same("nrm2", real, r, &want, 1, 1e-5);
    want = 0;
    pass &= !nrm2[t](handle, N, px, -2, r) && same("nrm2 back", real, r, &want, 1, 0);
    int *index_at = at_device ? array(D, 1) : &index;
    int64_t *wide_at = at_device ? array(D, 1) : &wide;
    pass &= !amax[t](handle, N, px, 2, index_at) && !amin_64[t](handle, N, px, 2, wide_at);
    cudaDeviceSynchronize();
    pass &= *index_at == first_most && *wide_at == first_least;
    ok(pass, "vectors, %c, factors at the %s", letters[t], at_device ? "device" : "host");
}

static void test_rotations(enum letter t)
{
    void *px = array(t, N), *py = array(t, N), *c = factor(t, 3, true), *s = factor(t, 2, true);
    cublasStatus_t (*rot[])(cublasHandle_t, int, VP, int, VP, int, VP, VP) = {
        (VP)cublasSrot, (VP)cublasDrot, (VP)cublasCsrot, (VP)cublasZdrot};
    num x[N], y[N];
    bool pass = true;

    fill(x, t, px, N);
    fill(y, t, py, N);
    for (int i = 0; i < N; i++) {
        num v = 3 * x[i] + 2 * y[i];
        y[i] = 3 * y[i] - 2 * x[i];
        x[i] = v;
    }
    pass &= !rot[t](handle, N, px, 1, py, 1, c, s);
    pass &= same("rot", t, px, x, N, 0) && same("rot", t, py, y, N, 0);
    void *a = factor(t, 3, false), *b = factor(t, 4, false);
    c = factor(t, 0, true);
    s = factor(t, 0, false);
    num r = 5, third = 0.6, fifth = 0.8;
    pass &= !OF4(rotg, VP, VP, VP, VP)[t](handle, a, b, c, s);
    pass &= same("rotg", t, a, &r, 1, 1e-6) && same("rotg s", t, s, &fifth, 1, 1e-6);
    pass &= same("rotg c", is_complex(t) ? t - 2 : t, c, &third, 1, 1e-6);
    if (!is_complex(t)) { /* H = (2 3; 5 7): a flag of -1 */
        void *param = at_device ? array(t, 5) : malloc(5 * sizes[t]);
        const double h[] = {-1, 2, 5, 3, 7};
        for (int i = 0; i < 5; i++)
            put(t, param, i, h[i]);
        for (int i = 0; i < N; i++) {
            num v = 2 * x[i] + 3 * y[i];
            y[i] = 5 * x[i] + 7 * y[i];
            x[i] = v;
        }
        pass &= !OF_REAL(rotm, int, VP, int, VP, int, VP)[t](handle, N, px, 1, py, 1, param);
        pass &= same("rotm", t, px, x, N, 0) && same("rotm", t, py, y, N, 0);
        if (!at_device)
            free(param);
    }
    ok(pass, "rotations, %c, factors at the %s", letters[t], at_device ? "device" : "host");
}

/* ---- matrices as wholes: what a triangle, a band, a packed matrix stands for */

/* Of an n x n matrix of which `fill` is stored. */
static num whole(const num *a, int ld, cublasFillMode_t fill, bool hermitian, int i, int j)
{
    bool stored = fill == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
    num v = stored ? a[i + j * ld] : a[j + i * ld];

    if (hermitian && i == j)
        return creal(v);
    return hermitian && !stored ? conj(v) : v;
}

static num triangle(const num *a, int ld, cublasFillMode_t fill, cublasDiagType_t diag, int i,
                    int j)
{
    if (i == j)
        return diag == CUBLAS_DIAG_UNIT ? 1 : a[i + j * ld];
    return (fill == CUBLAS_FILL_MODE_UPPER) == (i < j) ? a[i + j * ld] : 0;
}

static int packed_at(cublasFillMode_t fill, int n, int i, int j)
{
    return fill == CUBLAS_FILL_MODE_UPPER ? i + j * (j + 1) / 2 : i + j * (2 * n - j - 1) / 2;
}

static int band_at(cublasFillMode_t fill, int k, int ld, int i, int j)
{
    return fill == CUBLAS_FILL_MODE_UPPER ? k + i - j + j * ld : i - j + j * ld;
}

static bool is_stored(cublasFillMode_t fill, int i, int j)
{
    return fill == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
}

/* y += alpha A x, with beta 1, for a whole A. */
static void add_product(num *y, const num *a, const num *x, int m, int n, num alpha, num beta)
{
    for (int i = 0; i < m; i++) {
        num sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i + j * LD] * x[j];
        y[i] = alpha * sum + beta * y[i];
    }
}

static void test_matrix_vector(enum letter t)
{
    num a[CELLS], w[CELLS], x[N], y[N], alpha = some(t),
                                        beta = is_complex(t) ? complex_of(0, 1) : -1;
    bool pass = true;

    for (int o = 0; o < 3; o++) {
        void *pa = array(t, CELLS), *px = array(t, N), *py = array(t, N);
        int rows = o ? N : M, cols = o ? M : N; /* of op(A), A is M x N */
        fill(a, t, pa, CELLS);
        fill(x, t, px, N);
        fill(y, t, py, N);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                w[i + j * LD] = at(a, LD, ops[o], i, j);
        add_product(y, w, x, rows, cols, alpha, beta);
        pass &= !OF4(gemv, OP, int, int, VP, VP, int, VP, int, VP, VP,
                     int)[t](handle, ops[o], M, N, factor(t, alpha, false), pa, LD, px, 1,
                             factor(t, beta, false), py, 1);
        pass &= same("gemv", t, py, y, N, 0);

        int kl = 1, ku = 2;
        fill(y, t, py, N);
        num whole_a[CELLS] = {0};
        for (int j = 0; j < N; j++)
            for (int i = HD_MAX(0, j - ku); i < HD_MIN(M, j + kl + 1); i++)
                whole_a[i + j * LD] = a[ku + i - j + j * LD];
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                w[i + j * LD] = at(whole_a, LD, ops[o], i, j);
        add_product(y, w, x, rows, cols, alpha, beta);
        pass &= !OF4(gbmv, OP, int, int, int, int, VP, VP, int, VP, int, VP, VP,
                     int)[t](handle, ops[o], M, N, kl, ku, factor(t, alpha, false), pa, LD, px, 1,
                             factor(t, beta, false), py, 1);
        pass &= same("gbmv", t, py, y, N, 0);
    }
    void *pa = array(t, CELLS), *px = array(t, N), *py = array(t, N);
    for (int c = 0; c <= is_complex(t); c++) { /* ger, geru; gerc */
        fill(a, t, pa, CELLS);
        fill(x, t, px, N);
        fill(y, t, py, N);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                a[i + j * LD] += alpha * x[i] * (c ? conj(y[j]) : y[j]);
        cublasStatus_t (*ger)(cublasHandle_t, int, int, VP, VP, int, VP, int, VP, int) =
            t == S   ? (VP)cublasSger
            : t == D ? (VP)cublasDger
            : t == C ? (c ? (VP)cublasCgerc : (VP)cublasCgeru)
                     : (c ? (VP)cublasZgerc : (VP)cublasZgeru);
        pass &= !ger(handle, M, N, factor(t, alpha, false), px, 1, py, 1, pa, LD);
        pass &= same("ger", t, pa, a, CELLS, 0);
    }
    ok(pass, "matrix times vector, %c, factors at the %s", letters[t],
       at_device ? "device" : "host");
}

/* Symmetric and Hermitian, in their three ways of storage. */
static void test_symmetric(enum letter t)
{
    num alpha = some(t), beta = -1;
    bool pass = true;

    for (int f = 0; f < 2; f++)
        for (int h = 0; h <= is_complex(t); h++) {
            num a[CELLS], b[CELLS], p[CELLS], w[CELLS], x[N], y[N], v[N];
            void *pa = array(t, CELLS), *pb = array(t, CELLS), *pp = array(t, CELLS);
            void *px = array(t, N), *py = array(t, N);
            const int k = 2;
            fill(a, t, pa, CELLS);
            fill(x, t, px, N);
            memset(w, 0, sizeof(w));
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    w[i + j * LD] = whole(a, LD, fills[f], h, i, j);
                    if (is_stored(fills[f], i, j)) {
                        put(t, pp, packed_at(fills[f], N, i, j), a[i + j * LD]);
                        if (abs(i - j) <= k)
                            put(t, pb, band_at(fills[f], k, LD, i, j), a[i + j * LD]);
                    }
                }
            fill(y, t, py, N);
            memcpy(v, y, sizeof(v));
            add_product(v, w, x, N, N, alpha, beta);
            cublasStatus_t (*mv)(cublasHandle_t, FI, int, VP, VP, int, VP, int, VP, VP, int) =
                h ? (t == C ? (VP)cublasChemv : (VP)cublasZhemv)
                  : (VP)OF4(symv, FI, int, VP, VP, int, VP, int, VP, VP, int)[t];
            pass &= !mv(handle, fills[f], N, factor(t, alpha, false), pa, LD, px, 1,
                        factor(t, beta, false), py, 1);
            pass &= same("symv", t, py, v, N, 0);
            cublasStatus_t (*pv[])(cublasHandle_t, FI, int, VP, VP, VP, int, VP, VP, int) = {
                (VP)cublasSspmv, (VP)cublasDspmv, (VP)cublasChpmv, (VP)cublasZhpmv};
            cublasStatus_t (*bv[])(cublasHandle_t, FI, int, int, VP, VP, int, VP, int, VP, VP,
                                   int) = {(VP)cublasSsbmv, (VP)cublasDsbmv, (VP)cublasChbmv,
                                           (VP)cublasZhbmv};
            if (h == is_complex(t)) {
                for (int i = 0; i < N; i++)
                    put(t, py, i, y[i]);
                pass &= !pv[t](handle, fills[f], N, factor(t, alpha, false), pp, px, 1,
                               factor(t, beta, false), py, 1);
                pass &= same("spmv", t, py, v, N, 0);
                for (int i = 0; i < N; i++) {
                    put(t, py, i, y[i]);
                    for (int j = 0; j < N; j++)
                        if (abs(i - j) > k)
                            w[i + j * LD] = 0;
                }
                memcpy(v, y, sizeof(v));
                add_product(v, w, x, N, N, alpha, beta);
                pass &= !bv[t](handle, fills[f], N, k, factor(t, alpha, false), pb, LD, px, 1,
                               factor(t, beta, false), py, 1);
                pass &= same("sbmv", t, py, v, N, 0);
            }
            /* a += alpha x x^T, then x y^T + y x^T, of a triangle; ^H with a real diagonal */
            double real = 3;
            fill(y, t, py, N);
            fill(p, t, pp, CELLS);
            num *sum = b;
            memcpy(sum, a, sizeof(a));
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    if (is_stored(fills[f], i, j)) {
                        num add = h ? real * x[i] * conj(x[j]) : alpha * x[i] * x[j];
                        sum[i + j * LD] += add;
                        if (h && i == j)
                            sum[i + j * LD] = creal(sum[i + j * LD]);
                        num *at_p = &p[packed_at(fills[f], N, i, j)];
                        *at_p += add;
                        if (h && i == j)
                            *at_p = creal(*at_p);
                    }
            void *one = h ? factor(t, real, true) : factor(t, alpha, false);
            cublasStatus_t (*r)(cublasHandle_t, FI, int, VP, VP, int, VP, int) =
                h ? (t == C ? (VP)cublasCher : (VP)cublasZher)
                  : (VP)OF4(syr, FI, int, VP, VP, int, VP, int)[t];
            pass &= !r(handle, fills[f], N, one, px, 1, pa, LD);
            pass &= same("syr", t, pa, sum, CELLS, 0);
            cublasStatus_t (*pr[])(cublasHandle_t, FI, int, VP, VP, int, VP) = {
                (VP)cublasSspr, (VP)cublasDspr, (VP)cublasChpr, (VP)cublasZhpr};
            if (h == is_complex(t)) {
                pass &= !pr[t](handle, fills[f], N, one, px, 1, pp);
                pass &= same("spr", t, pp, p, N * (N + 1) / 2, 0);
            }
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    if (is_stored(fills[f], i, j)) {
                        num add = h ? alpha * x[i] * conj(y[j]) + conj(alpha) * y[i] * conj(x[j])
                                    : alpha * (x[i] * y[j] + y[i] * x[j]);
                        sum[i + j * LD] += add;
                        p[packed_at(fills[f], N, i, j)] += add;
                    }
            cublasStatus_t (*r2)(cublasHandle_t, FI, int, VP, VP, int, VP, int, VP, int) =
                h ? (t == C ? (VP)cublasCher2 : (VP)cublasZher2)
                  : (VP)OF4(syr2, FI, int, VP, VP, int, VP, int, VP, int)[t];
            pass &= !r2(handle, fills[f], N, factor(t, alpha, false), px, 1, py, 1, pa, LD);
            pass &= same("syr2", t, pa, sum, CELLS, 0);
            cublasStatus_t (*pr2[])(cublasHandle_t, FI, int, VP, VP, int, VP, int, VP) = {
                (VP)cublasSspr2, (VP)cublasDspr2, (VP)cublasChpr2, (VP)cublasZhpr2};
            if (h == is_complex(t)) {
                pass &= !pr2[t](handle, fills[f], N, factor(t, alpha, false), px, 1, py, 1, pp);
                pass &= same("spr2", t, pp, p, N * (N + 1) / 2, 0);
            }
        }
    ok(pass, "symmetric matrices and vectors, %c, factors at the %s", letters[t],
       at_device ? "device" : "host");
}

/* Products with triangles, and the equations that undo them. Diagonals of 2 keep these exact. */
static void test_triangles(enum letter t)
{
    bool pass = true;

    for (int f = 0; f < 2; f++)
        for (int o = 0; o < 3; o++)
            for (int d = 0; d < 2; d++) {
                num a[CELLS], w[CELLS], x[N], zero[N] = {0};
                void *pa = array(t, CELLS), *pp = array(t, CELLS), *pb = array(t, CELLS);
                void *px = array(t, N);
                const int k = 2;
                for (int i = 0; i < N; i++)
                    put(t, pa, i + i * LD, 2);
                fill(a, t, pa, CELLS);
                for (int i = 0; i < N; i++)
                    for (int j = 0; j < N; j++)
                        if (is_stored(fills[f], i, j)) {
                            put(t, pp, packed_at(fills[f], N, i, j), a[i + j * LD]);
                            if (abs(i - j) <= k)
                                put(t, pb, band_at(fills[f], k, LD, i, j), a[i + j * LD]);
                        }
                for (int kind = 0; kind < 3; kind++) { /* as it is, packed, band */
                    for (int i = 0; i < N; i++)
                        for (int j = 0; j < N; j++) {
                            num v = ops[o] == CUBLAS_OP_N
                                        ? triangle(a, LD, fills[f], diags[d], i, j)
                                        : op_of(ops[o], triangle(a, LD, fills[f], diags[d], j, i));
                            w[i + j * LD] = kind == 2 && abs(i - j) > k ? 0 : v;
                        }
                    num before[N], y[N];
                    fill(x, t, px, N);
                    memcpy(before, x, sizeof(before));
                    memcpy(y, zero, sizeof(y));
                    add_product(y, w, x, N, N, 1, 0);
                    cublasStatus_t result[2];
                    if (kind == 0) {
                        result[0] = OF4(trmv, FI, OP, DI, int, VP, int, VP, int)[t](
                            handle, fills[f], ops[o], diags[d], N, pa, LD, px, 1);
                        pass &= same("trmv", t, px, y, N, 0);
                        result[1] = OF4(trsv, FI, OP, DI, int, VP, int, VP, int)[t](
                            handle, fills[f], ops[o], diags[d], N, pa, LD, px, 1);
                    } else if (kind == 1) {
                        result[0] = OF4(tpmv, FI, OP, DI, int, VP, VP,
                                        int)[t](handle, fills[f], ops[o], diags[d], N, pp, px, 1);
                        pass &= same("tpmv", t, px, y, N, 0);
                        result[1] = OF4(tpsv, FI, OP, DI, int, VP, VP,
                                        int)[t](handle, fills[f], ops[o], diags[d], N, pp, px, 1);
                    } else {
                        result[0] = OF4(tbmv, FI, OP, DI, int, int, VP, int, VP, int)[t](
                            handle, fills[f], ops[o], diags[d], N, k, pb, LD, px, 1);
                        pass &= same("tbmv", t, px, y, N, 0);
                        result[1] = OF4(tbsv, FI, OP, DI, int, int, VP, int, VP, int)[t](
                            handle, fills[f], ops[o], diags[d], N, k, pb, LD, px, 1);
                    }
                    pass &= !result[0] && !result[1] && same("trsv", t, px, before, N, 1e-3);
                }
            }
    ok(pass, "triangles and vectors, %c", letters[t]);
}

static void test_triangles_of_matrices(enum letter t)
{
    bool pass = true;
    num alpha = 2;

    for (int s = 0; s < 2; s++)
        for (int f = 0; f < 2; f++)
            for (int o = 0; o < 3; o++)
                for (int d = 0; d < 2; d++) {
                    num a[CELLS], b[CELLS], c[CELLS];
                    void *pa = array(t, CELLS), *pb = array(t, CELLS), *pc = array(t, CELLS);
                    int n = s ? N : M; /* of A */
                    for (int i = 0; i < n; i++)
                        put(t, pa, i + i * LD, 2);
                    fill(a, t, pa, CELLS);
                    fill(b, t, pb, CELLS);
                    fill(c, t, pc, CELLS);
                    for (int i = 0; i < M; i++)
                        for (int j = 0; j < N; j++) {
                            num sum = 0;
                            for (int q = 0; q < n; q++) {
                                int r = s ? q : i, l = s ? j : q;
                                num v =
                                    ops[o] == CUBLAS_OP_N
                                        ? triangle(a, LD, fills[f], diags[d], r, l)
                                        : op_of(ops[o], triangle(a, LD, fills[f], diags[d], l, r));
                                sum += v * (s ? b[i + q * LD] : b[q + j * LD]);
                            }
                            c[i + j * LD] = alpha * sum;
                        }
                    pass &= !OF4(trmm, SI, FI, OP, DI, int, int, VP, VP, int, VP, int, VP,
                                 int)[t](handle, sides[s], fills[f], ops[o], diags[d], M, N,
                                         factor(t, alpha, false), pa, LD, pb, LD, pc, LD);
                    pass &= same("trmm", t, pc, c, CELLS, 0);
                    /* what undoes it, with 1/alpha */
                    pass &= !OF4(trsm, SI, FI, OP, DI, int, int, VP, VP, int, VP,
                                 int)[t](handle, sides[s], fills[f], ops[o], diags[d], M, N,
                                         factor(t, 0.5, false), pa, LD, pc, LD);
                    for (int j = 0; j < N; j++)
                        for (int i = 0; i < M; i++)
                            c[i + j * LD] = b[i + j * LD];
                    pass &= same("trsm", t, pc, c, CELLS, 1e-2);
                }
    ok(pass, "triangles and matrices, %c, factors at the %s", letters[t],
       at_device ? "device" : "host");
}

/* ---- products of matrices */

static void test_gemm(enum letter t)
{
    num alpha = some(t), beta = is_complex(t) ? complex_of(1, 1) : 3;
    bool pass = true;

    for (int oa = 0; oa < 3; oa++)
        for (int ob = 0; ob < 3; ob++) {
            num a[CELLS], b[CELLS], c[CELLS];
            void *pa = array(t, CELLS), *pb = array(t, CELLS), *pc = array(t, CELLS);
            fill(a, t, pa, CELLS);
            fill(b, t, pb, CELLS);
            fill(c, t, pc, CELLS);
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++) {
                    num sum = 0;
                    for (int k = 0; k < K; k++)
                        sum += at(a, LD, ops[oa], i, k) * at(b, LD, ops[ob], k, j);
                    c[i + j * LD] = alpha * sum + beta * c[i + j * LD];
                }
            pass &= !OF4(gemm, OP, OP, int, int, int, VP, VP, int, VP, int, VP, VP,
                         int)[t](handle, ops[oa], ops[ob], M, N, K, factor(t, alpha, false), pa, LD,
                                 pb, LD, factor(t, beta, false), pc, LD);
            pass &= same("gemm", t, pc, c, CELLS, 0);
        }
    ok(pass, "gemm, %c, factors at the %s", letters[t], at_device ? "device" : "host");
}

/* symm, hemm; syrk, herk, syr2k, her2k, syrkx, herkx */
static void test_symmetric_products(enum letter t)
{
    num alpha = some(t), beta = is_complex(t) ? complex_of(0, 2) : -2;
    double ra = 3, rb = -1;
    bool pass = true;

    for (int f = 0; f < 2; f++)
        for (int h = 0; h <= is_complex(t); h++)
            for (int s = 0; s < 2; s++) {
                num a[CELLS], b[CELLS], c[CELLS], want[CELLS];
                void *pa = array(t, CELLS), *pb = array(t, CELLS), *pc = array(t, CELLS);
                fill(a, t, pa, CELLS);
                fill(b, t, pb, CELLS);
                fill(c, t, pc, CELLS);
                memcpy(want, c, sizeof(c));
                for (int i = 0; i < M; i++)
                    for (int j = 0; j < N; j++) {
                        num sum = 0;
                        for (int q = 0; q < (s ? N : M); q++)
                            sum += s ? b[i + q * LD] * whole(a, LD, fills[f], h, q, j)
                                     : whole(a, LD, fills[f], h, i, q) * b[q + j * LD];
                        want[i + j * LD] = alpha * sum + beta * c[i + j * LD];
                    }
                cublasStatus_t (*mm)(cublasHandle_t, SI, FI, int, int, VP, VP, int, VP, int, VP, VP,
                                     int) =
                    h ? (t == C ? (VP)cublasChemm : (VP)cublasZhemm)
                      : (VP)OF4(symm, SI, FI, int, int, VP, VP, int, VP, int, VP, VP, int)[t];
                pass &= !mm(handle, sides[s], fills[f], M, N, factor(t, alpha, false), pa, LD, pb,
                            LD, factor(t, beta, false), pc, LD);
                pass &= same("symm", t, pc, want, CELLS, 0);

                /* s: A^T A, else A A^T */
                cublasOperation_t op = !s ? CUBLAS_OP_N : h ? CUBLAS_OP_C : CUBLAS_OP_T;
                for (int kind = 0; kind < 3; kind++) {
                    num fa = h && kind != 1 && kind != 2 ? ra : alpha, fb = h ? rb : beta;
                    fill(c, t, pc, CELLS);
                    memcpy(want, c, sizeof(c));
                    for (int i = 0; i < N; i++)
                        for (int j = 0; j < N; j++) {
                            num sum = 0;
                            if (!is_stored(fills[f], i, j))
                                continue;
                            for (int q = 0; q < K; q++) {
                                num ai = s ? a[q + i * LD] : a[i + q * LD];
                                num aj = s ? a[q + j * LD] : a[j + q * LD];
                                num bi = s ? b[q + i * LD] : b[i + q * LD];
                                num bj = s ? b[q + j * LD] : b[j + q * LD];
                                if (h && s) { /* op C: conj of the left one */
                                    sum += kind == 0 ? fa * conj(ai) * aj
                                           : kind == 1
                                               ? fa * conj(ai) * bj + conj(fa) * conj(bi) * aj
                                               : fa * conj(ai) * bj;
                                } else if (h) {
                                    sum += kind == 0 ? fa * ai * conj(aj)
                                           : kind == 1
                                               ? fa * ai * conj(bj) + conj(fa) * bi * conj(aj)
                                               : fa * ai * conj(bj);
                                } else {
                                    sum += kind == 0   ? fa * ai * aj
                                           : kind == 1 ? fa * (ai * bj + bi * aj)
                                                       : fa * ai * bj;
                                }
                            }
                            num old = c[i + j * LD];
                            if (h && i == j)
                                old = creal(old);
                            want[i + j * LD] = sum + fb * old;
                            if (h && i == j)
                                want[i + j * LD] = creal(want[i + j * LD]);
                        }
                    void *pfa = h && kind == 0 ? factor(t, ra, true) : factor(t, fa, false);
                    void *pfb = h ? factor(t, rb, true) : factor(t, fb, false);
                    cublasStatus_t status;
                    if (kind == 0) {
                        cublasStatus_t (*rk)(cublasHandle_t, FI, OP, int, int, VP, VP, int, VP, VP,
                                             int) =
                            h ? (t == C ? (VP)cublasCherk : (VP)cublasZherk)
                              : (VP)OF4(syrk, FI, OP, int, int, VP, VP, int, VP, VP, int)[t];
                        status = rk(handle, fills[f], op, N, K, pfa, pa, LD, pfb, pc, LD);
                    } else {
                        cublasStatus_t (*r2k)(cublasHandle_t, FI, OP, int, int, VP, VP, int, VP,
                                              int, VP, VP, int) =
                            kind == 1 ? (h ? (t == C ? (VP)cublasCher2k : (VP)cublasZher2k)
                                           : (VP)OF4(syr2k, FI, OP, int, int, VP, VP, int, VP, int,
                                                     VP, VP, int)[t])
                                      : (h ? (t == C ? (VP)cublasCherkx : (VP)cublasZherkx)
                                           : (VP)OF4(syrkx, FI, OP, int, int, VP, VP, int, VP, int,
                                                     VP, VP, int)[t]);
                        status = r2k(handle, fills[f], op, N, K, pfa, pa, LD, pb, LD, pfb, pc, LD);
                    }
                    pass &= !status && same(kind == 0   ? "syrk"
                                            : kind == 1 ? "syr2k"
                                                        : "syrkx",
                                            t, pc, want, CELLS, 0);
                }
            }
    ok(pass, "symmetric products, %c, factors at the %s", letters[t],
       at_device ? "device" : "host");
}

/* geam, dgmm, tpttr, trttp */
static void test_plain(enum letter t)
{
    num alpha = some(t), beta = -1, a[CELLS], b[CELLS], c[CELLS], x[N];
    void *pa = array(t, CELLS), *pb = array(t, CELLS), *pc = array(t, CELLS), *px = array(t, N);
    bool pass = true;

    fill(a, t, pa, CELLS);
    fill(b, t, pb, CELLS);
    fill(c, t, pc, CELLS);
    fill(x, t, px, N);
    for (int oa = 0; oa < 3; oa++)
        for (int ob = 0; ob < 3; ob++) {
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++)
                    c[i + j * LD] =
                        alpha * at(a, LD, ops[oa], i, j) + beta * at(b, LD, ops[ob], i, j);
            pass &= !OF4(geam, OP, OP, int, int, VP, VP, int, VP, VP, int, VP,
                         int)[t](handle, ops[oa], ops[ob], M, N, factor(t, alpha, false), pa, LD,
                                 factor(t, beta, false), pb, LD, pc, LD);
            pass &= same("geam", t, pc, c, CELLS, 0);
        }
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                c[i + j * LD] = a[i + j * LD] * x[s ? j : i];
        pass &= !OF4(dgmm, SI, int, int, VP, int, VP, int, VP, int)[t](handle, sides[s], M, N, pa,
                                                                       LD, px, 1, pc, LD);
        pass &= same("dgmm", t, pc, c, CELLS, 0);
        for (int i = 0; i < M; i++) /* an increment of 0: a factor for all */
            for (int j = 0; j < N; j++)
                c[i + j * LD] = a[i + j * LD] * x[0];
        pass &= !OF4(dgmm, SI, int, int, VP, int, VP, int, VP, int)[t](handle, sides[s], M, N, pa,
                                                                       LD, px, 0, pc, LD);
        pass &= same("dgmm", t, pc, c, CELLS, 0);
    }
    for (int f = 0; f < 2; f++) {
        void *pp = array(t, CELLS), *back = array(t, CELLS);
        num p[CELLS], w[CELLS];
        fill(p, t, pp, CELLS);
        fill(w, t, back, CELLS);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                if (is_stored(fills[f], i, j)) {
                    p[packed_at(fills[f], N, i, j)] = a[i + j * LD];
                    w[i + j * LD] = a[i + j * LD];
                }
        pass &= !OF4(trttp, FI, int, VP, int, VP)[t](handle, fills[f], N, pa, LD, pp);
        pass &= same("trttp", t, pp, p, CELLS, 0);
        pass &= !OF4(tpttr, FI, int, VP, VP, int)[t](handle, fills[f], N, pp, back, LD);
        pass &= same("tpttr", t, back, w, CELLS, 0);
    }
    ok(pass, "plain matrices, %c, factors at the %s", letters[t], at_device ? "device" : "host");
}

/* ---- batches */

enum { BATCH = 3 };

static void **list(char *first, size_t step)
{
    void **p = array(D, BATCH);

    for (int i = 0; i < BATCH; i++)
        p[i] = first + (size_t)i * step;
    return p;
}

static void test_batches(enum letter t)
{
    size_t step = CELLS * sizes[t];
    num alpha = some(t), beta = -1, a[BATCH * CELLS], b[BATCH * CELLS], c[BATCH * CELLS];
    void *pa = array(t, BATCH * CELLS), *pb = array(t, BATCH * CELLS);
    void *pc = array(t, BATCH * CELLS), *pd = array(t, BATCH * CELLS);
    bool pass = true;

    memcpy(pd, pc, BATCH * step);
    fill(a, t, pa, BATCH * CELLS);
    fill(b, t, pb, BATCH * CELLS);
    fill(c, t, pc, BATCH * CELLS);
    for (int q = 0; q < BATCH; q++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                num sum = 0;
                for (int k = 0; k < K; k++)
                    sum += at(a + q * CELLS, LD, CUBLAS_OP_N, i, k) *
                           at(b + q * CELLS, LD, CUBLAS_OP_T, k, j);
                num *at_c = &c[q * CELLS + i + j * LD];
                *at_c = alpha * sum + beta * *at_c;
            }
    pass &= !OF4(gemmBatched, OP, OP, int, int, int, VP, VP, int, VP, int, VP, VP, int, int)[t](
        handle, CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, factor(t, alpha, false), list(pa, step), LD,
        list(pb, step), LD, factor(t, beta, false), list(pc, step), LD, BATCH);
    pass &= same("gemmBatched", t, pc, c, BATCH * CELLS, 0);
    pass &= !OF4(gemmStridedBatched, OP, OP, int, int, int, VP, VP, int, long long, VP, int,
                 long long, VP, VP, int, long long,
                 int)[t](handle, CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, factor(t, alpha, false), pa, LD,
                         CELLS, pb, LD, CELLS, factor(t, beta, false), pd, LD, CELLS, BATCH);
    pass &= same("gemmStridedBatched", t, pd, c, BATCH * CELLS, 0);

    void *px = array(t, BATCH * N), *py = array(t, BATCH * N), *pz = array(t, BATCH * N);
    num x[BATCH * N], y[BATCH * N];
    memcpy(pz, py, BATCH * N * sizes[t]);
    fill(x, t, px, BATCH * N);
    fill(y, t, py, BATCH * N);
    for (int q = 0; q < BATCH; q++)
        add_product(y + q * N, a + q * CELLS, x + q * N, M, N, alpha, beta);
    pass &= !OF4(gemvBatched, OP, int, int, VP, VP, int, VP, int, VP, VP, int, int)[t](
        handle, CUBLAS_OP_N, M, N, factor(t, alpha, false), list(pa, step), LD,
        list(px, N * sizes[t]), 1, factor(t, beta, false), list(py, N * sizes[t]), 1, BATCH);
    pass &= same("gemvBatched", t, py, y, BATCH * N, 0);
    pass &=
        !OF4(gemvStridedBatched, OP, int, int, VP, VP, int, long long, VP, int, long long, VP, VP,
             int, long long, int)[t](handle, CUBLAS_OP_N, M, N, factor(t, alpha, false), pa, LD,
                                     CELLS, px, 1, N, factor(t, beta, false), pz, 1, N, BATCH);
    pass &= same("gemvStridedBatched", t, pz, y, BATCH * N, 0);
    ok(pass, "batches, %c, factors at the %s", letters[t], at_device ? "device" : "host");
}

/* LU, its inverse and solutions, least squares: each by what multiplied gives the matrix again. */
static void test_factorisations(enum letter t)
{
    size_t step = CELLS * sizes[t];
    num a[BATCH * CELLS], b[BATCH * CELLS];
    double within = t == S || t == C ? 1e-3 : 1e-10;
    bool pass = true;
    int info = 7;

    for (int with_pivots = 0; with_pivots < 2; with_pivots++) {
        void *pa = array(t, BATCH * CELLS), *inverse = array(t, BATCH * CELLS);
        void *copy = array(t, BATCH * CELLS), *pb = array(t, BATCH * CELLS);
        int *pivots = with_pivots ? array(D, BATCH * N) : NULL, *infos = array(D, BATCH);
        for (int q = 0; q < BATCH; q++) /* more on the diagonal than beside it */
            for (int i = 0; i < N; i++)
                put(t, pa, q * CELLS + i + i * LD, 40 + i);
        fill(a, t, pa, BATCH * CELLS);
        fill(b, t, pb, BATCH * CELLS);
        memcpy(copy, pa, BATCH * step);
        pass &= !OF4(getrfBatched, int, VP, int, int *, int *, int)[t](handle, N, list(pa, step),
                                                                       LD, pivots, infos, BATCH);
        pass &= !OF4(getriBatched, int, VP, int, int *, VP, int, int *, int)[t](
            handle, N, list(pa, step), LD, pivots, list(inverse, step), LD, infos, BATCH);
        pass &= !OF4(getrsBatched, OP, int, int, VP, int, int *, VP, int, int *,
                     int)[t](handle, CUBLAS_OP_N, N, M, list(pa, step), LD, pivots, list(pb, step),
                             LD, &info, BATCH);
        cudaDeviceSynchronize();
        pass &= info == 0 && infos[0] == 0 && infos[BATCH - 1] == 0;
        for (int q = 0; q < BATCH; q++)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    num sum = 0, solved = 0;
                    for (int k = 0; k < N; k++) {
                        num v = a[q * CELLS + i + k * LD];
                        sum += v * get(t, inverse, q * CELLS + k + j * LD);
                        if (j < M)
                            solved += v * get(t, pb, q * CELLS + k + j * LD);
                    }
                    pass &= cabs(sum - (i == j)) < within;
                    if (j < M)
                        pass &= cabs(solved - b[q * CELLS + i + j * LD]) < within;
                }
        void *again = array(t, BATCH * CELLS);
        pass &= !OF4(matinvBatched, int, VP, int, VP, int, int *,
                     int)[t](handle, N, list(copy, step), LD, list(again, step), LD, infos, BATCH);
        cudaDeviceSynchronize();
        for (int i = 0; i < N; i++)
            pass &= cabs(get(t, again, i) - get(t, inverse, i)) < within;
    }
    ok(pass, "LU in batches, %c", letters[t]);

    void *pa = array(t, BATCH * CELLS), *pc = array(t, BATCH * CELLS);
    int *infos = array(D, BATCH);
    num x[N * BATCH];
    pass = true;
    for (int q = 0; q < BATCH; q++)
        for (int i = 0; i < N; i++)
            put(t, pa, q * CELLS + i + i * LD, 20);
    fill(a, t, pa, BATCH * CELLS);
    fill(x, t, pc, N * BATCH);
    for (int q = 0; q < BATCH; q++) /* N equations for M unknowns that have a solution */
        for (int i = 0; i < N; i++) {
            num sum = 0;
            for (int k = 0; k < M; k++)
                sum += a[q * CELLS + i + k * LD] * x[q * N + k];
            put(t, pc, q * CELLS + i, sum);
        }
    fill(b, t, pc, BATCH * CELLS);
    pass &= !OF4(gelsBatched, OP, int, int, int, VP, int, VP, int, int *, int *, int)[t](
        handle, CUBLAS_OP_N, N, M, 1, list(pa, step), LD, list(pc, step), LD, &info, infos, BATCH);
    cudaDeviceSynchronize();
    for (int q = 0; q < BATCH; q++)
        for (int i = 0; i < N; i++) {
            num sum = 0;
            for (int k = 0; k < M; k++)
                sum += a[q * CELLS + i + k * LD] * get(t, pc, q * CELLS + k);
            pass &= cabs(sum - b[q * CELLS + i]) < 10 * within && infos[q] == 0;
        }
    ok(pass, "least squares in batches, %c", letters[t]);
}

/* A vector with gaps that ends where memory does: nothing behind it is read. */
static void test_end_of_memory(void)
{
    enum { PAGE = 8 << 20 };
    static const double complex one = 1;
    char *page = NULL;
    num *a = array(Z, M * N), *y = array(Z, M);

    ok(!cudaMalloc((void **)&page, PAGE), "memory of its own");
    num *x = (num *)(page + PAGE) - (2 * 2 + 1);
    memset(page, 0, PAGE);
    ok(!cublasZgemv(handle, CUBLAS_OP_N, 2, 3, (const void *)&one, (const void *)a, M,
                    (const void *)x, 2, (const void *)&one, (void *)y, 1) &&
           !cudaDeviceSynchronize(),
       "zgemv of a vector at the end of memory");
    ok(!cudaFree(page), "freed");
}

int main(void)
{
    const size_t size_B = 32 << 20;

    if (cudaMalloc((void **)&memory, size_B) || cublasCreate(&handle))
        return 1;
    test_end_of_memory();
    for (int device = 0; device < 2; device++) {
        at_device = device;
        cublasSetPointerMode(handle,
                             device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
        for (enum letter t = S; t < TYPES; t++) {
            used = 0;
            test_vectors(t);
            test_rotations(t);
            test_matrix_vector(t);
            test_symmetric(t);
            test_triangles(t);
            test_triangles_of_matrices(t);
            test_gemm(t);
            test_symmetric_products(t);
            test_plain(t);
            test_batches(t);
            test_factorisations(t);
            if (used > size_B)
                return 1;
        }
    }
    ok(!cublasDestroy(handle) && !cudaFree(memory), "the end");
    return done();
}
