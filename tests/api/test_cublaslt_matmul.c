/*
 * cublasLtMatmul() against plain loops in doubles: types x layouts x batches x pointer modes x
 * epilogues x modes of factors. A result may differ by what its type cannot hold (half a unit of
 * the last place) and by the rounding of the sums: (k + 16) units of the type of sums, of the sum
 * of absolute products.
 *
 * Conversions here are by tables of all codes, of the formats' definitions.
 */
#include <complex.h>
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <string.h>

#include "support/tap.h"

static cublasLtHandle_t handle;
static uint32_t state;

static int below(int n)
{
    state = state * 1664525 + 1013904223;
    return (int)((uint64_t)(state >> 8) * (uint64_t)n >> 24);
}

/* ---- elements */

#define E4M3 CUDA_R_8F_E4M3
#define E5M2 CUDA_R_8F_E5M2
#define E2M1 CUDA_R_4F_E2M1

struct format {
    int exponent, mantissa; /* bits */
};

static struct format format_of(cudaDataType type)
{
    switch (type) {
    case CUDA_R_16F:
        return (struct format){5, 10};
    case CUDA_R_16BF:
        return (struct format){8, 7};
    case E4M3:
        return (struct format){4, 3};
    case E5M2:
        return (struct format){5, 2};
    case E2M1:
        return (struct format){2, 1};
    case CUDA_R_64F:
    case CUDA_C_64F:
        return (struct format){11, 52};
    default:
        return (struct format){8, 23};
    }
}

static int bits_of(cudaDataType type)
{
    return type == E2M1                                        ? 4
           : type == CUDA_R_8I || type == E4M3 || type == E5M2 ? 8
           : type == CUDA_R_16F || type == CUDA_R_16BF         ? 16
           : type == CUDA_R_64F || type == CUDA_C_32F          ? 64
           : type == CUDA_C_64F                                ? 128
                                                               : 32;
}

/* Of no infinities: these tests have none. */
static double decode(struct format f, unsigned code)
{
    int bias = (1 << (f.exponent - 1)) - 1, e = (int)(code >> f.mantissa) & ((1 << f.exponent) - 1);
    double m = code & ((1u << f.mantissa) - 1);
    double v =
        e ? ldexp(m + (1 << f.mantissa), e - bias - f.mantissa) : ldexp(m, 1 - bias - f.mantissa);

    return code >> (f.exponent + f.mantissa) & 1 ? -v : v;
}

static double complex get(cudaDataType type, const void *p, int64_t i)
{
    const uint8_t *b = p;

    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return decode(format_of(type), ((const uint16_t *)p)[i]);
    case E4M3:
    case E5M2:
        return decode(format_of(type), b[i]);
    case E2M1:
        return decode(format_of(type), (unsigned)b[i / 2] >> i % 2 * 4 & 15);
    case CUDA_R_8I:
        return ((const int8_t *)p)[i];
    case CUDA_R_32I:
        return ((const int32_t *)p)[i];
    case CUDA_R_64F:
        return ((const double *)p)[i];
    case CUDA_C_32F:
        return ((const float complex *)p)[i];
    case CUDA_C_64F:
        return ((const double complex *)p)[i];
    default:
        return ((const float *)p)[i];
    }
}

/* A number of about [-4, 4] in a format of up to 16 bits. */
static unsigned any_code(cudaDataType type)
{
    struct format f = format_of(type);
    unsigned sign = (unsigned)below(2) << (f.exponent + f.mantissa);
    unsigned bias = (1u << (f.exponent - 1)) - 1;

    return sign | ((bias - 1 + (unsigned)below(f.exponent > 2 ? 3 : 2)) << f.mantissa) |
           (unsigned)below(1 << f.mantissa);
}

/* A number of the type, likewise. */
static void put_any(cudaDataType type, void *p, int64_t i)
{
    double real = (below(4097) - 2048) / 512.0, imaginary = (below(4097) - 2048) / 512.0;

    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
        ((uint16_t *)p)[i] = (uint16_t)any_code(type);
        break;
    case E4M3:
    case E5M2:
        ((uint8_t *)p)[i] = (uint8_t)any_code(type);
        break;
    case E2M1:
        ((uint8_t *)p)[i / 2] =
            (uint8_t)((((uint8_t *)p)[i / 2] & (i % 2 ? 15 : 240)) | below(16) << i % 2 * 4);
        break;
    case CUDA_R_8I:
        ((int8_t *)p)[i] = (int8_t)(below(256) - 128);
        break;
    case CUDA_R_32I:
        ((int32_t *)p)[i] = below(2001) - 1000;
        break;
    case CUDA_R_64F:
        ((double *)p)[i] = real;
        break;
    case CUDA_C_32F:
        ((float complex *)p)[i] = (float complex)(real + imaginary * I);
        break;
    case CUDA_C_64F:
        ((double complex *)p)[i] = real + imaginary * I;
        break;
    default:
        ((float *)p)[i] = (float)real;
    }
}

static void *memory(size_t bytes)
{
    void *p;

    if (cudaMalloc(&p, bytes + 16) || cudaMemset(p, 0, bytes + 16))
        exit(1);
    return p;
}

static void *elements(cudaDataType type, int64_t n)
{
    void *p = memory((size_t)n * (size_t)bits_of(type) / 8);

    cudaDeviceSynchronize();
    for (int64_t i = 0; i < n; i++)
        put_any(type, p, i);
    return p;
}

/* ---- a case */

struct types {
    const char *name;
    cublasComputeType_t compute;
    cudaDataType scale, ab, b, c, d, bias;
};

struct scenario {
    const struct types *t;
    int m, n, k, batch;
    int ta, tb;
    bool rows_a, rows_b, rows_d, in_place;
    unsigned epilogue;
    int pointer_mode;
    int a_mode, b_mode; /* -1: no factors */
    bool c_scale, d_scale, d_out, beta_zero;
};

struct matrix {
    cudaDataType type;
    int rows, cols, ld;
    int64_t step;
    bool by_rows;
    void *p;
    cublasLtMatrixLayout_t layout;
};

static int64_t at(const struct matrix *x, int batch, int i, int j)
{
    return batch * x->step + (x->by_rows ? (int64_t)i * x->ld + j : i + (int64_t)j * x->ld);
}

static struct matrix matrix(cudaDataType type, int rows, int cols, bool by_rows, int batch)
{
    int pad = 2 * below(3), order = by_rows;
    struct matrix x = {type, rows,    cols, HD_MAX(by_rows ? cols : rows, 1) + pad,
                       0,    by_rows, NULL, NULL};

    if (type == E2M1)
        x.ld += x.ld % 2;
    x.step = (int64_t)x.ld * (by_rows ? rows : cols) + 2;
    x.p = elements(type, x.step * batch);
    cublasLtMatrixLayoutCreate(&x.layout, type, (uint64_t)rows, (uint64_t)cols, x.ld);
    cublasLtMatrixLayoutSetAttribute(x.layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, 4);
    cublasLtMatrixLayoutSetAttribute(x.layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
    cublasLtMatrixLayoutSetAttribute(x.layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &x.step,
                                     8);
    return x;
}

/* Is what is between the lines as it was? */
static bool kept(const struct matrix *x, const void *old, int batches)
{
    int lines = x->by_rows ? x->rows : x->cols, length = x->by_rows ? x->cols : x->rows;

    for (int batch = 0; batch < batches; batch++)
        for (int line = 0; line < lines; line++)
            for (int i = length; i < x->ld; i++) {
                int64_t cell = batch * x->step + (int64_t)line * x->ld + i;
                if (get(x->type, x->p, cell) != get(x->type, old, cell))
                    return false;
            }
    return true;
}

static void unmatrix(struct matrix *x)
{
    cudaFree(x->p);
    cublasLtMatrixLayoutDestroy(x->layout);
}

/* Factors of `outers` x `k`: memory, and what belongs to an element. */
struct factors {
    int mode, outers, k;
    void *p;
};

static int tiled(int outer, int block, int blocks)
{
    int tile = outer / 128 * ((blocks + 3) / 4) + block / 4;
    return tile * 512 + outer % 32 * 16 + outer / 32 % 4 * 4 + block % 4;
}

static struct factors factors(int mode, int outers, int k)
{
    struct factors f = {mode, outers, k, NULL};

    if (mode < 0)
        return f;
    int blocks = (outers + 127) / 128 * 128 * ((k + 15) / 16 + 4), n = HD_MAX(blocks, 1);
    f.p = memory((size_t)n * 4);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++)
        if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3)
            ((uint8_t *)f.p)[i] = (uint8_t)(40 + below(32));
        else if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0)
            ((uint8_t *)f.p)[i] = (uint8_t)(124 + below(6));
        else
            ((float *)f.p)[i] = (float)(1 + below(1000)) / 512;
    return f;
}

static double factor(const struct factors *f, int outer, int k)
{
    const uint8_t *b = f->p;
    const float *p = f->p;

    switch (f->mode) {
    case -1:
        return 1;
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
        return decode((struct format){4, 3}, b[tiled(outer, k / 16, (f->k + 15) / 16)]);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
        return ldexp(1, b[tiled(outer, k / 32, (f->k + 31) / 32)] - 127);
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
        return p[outer];
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
        return p[outer + k / 128 * f->outers];
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
        return p[outer / 128 * (((f->k + 127) / 128 + 3) / 4 * 4) + k / 128];
    default:
        return p[0];
    }
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double dgelu(double x)
{
    double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/* May `got`, of a type, stand for `want`, which is known within `error`? */
static bool near(cudaDataType type, double complex got, double complex want, double error)
{
    struct format f = format_of(type);
    double size = cabs(want), largest = type == E4M3   ? 448
                                        : type == E5M2 ? 57344
                                        : type == E2M1 ? 6
                                                       : 1e300;
    double least = ldexp(1, 1 - ((1 << (f.exponent - 1)) - 1) - f.mantissa);

    if (type == CUDA_R_8I) {
        double w = creal(want) > 127 ? 127 : creal(want) < -128 ? -128 : creal(want);
        return fabs(creal(got) - w) <= 0.5 + error;
    }
    if (type == CUDA_R_32I)
        return got == want;
    if (size > largest)
        return fabs(fabs(creal(got)) - largest) <= error && creal(got) * creal(want) > 0;
    return cabs(got - want) <= error + size * ldexp(1, -f.mantissa - 1) * 1.001 + least / 2;
}

/* Quiet where it works: a line for each case is enough. */
#define SET(desc, attr, value)                                                                     \
    do {                                                                                           \
        if (cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_##attr, &(value),            \
                                           sizeof(value)))                                         \
            ok(false, "set " #attr);                                                               \
    } while (0)

static void run(const struct scenario *s)
{
    const struct types *t = s->t;
    bool is_complex = t->scale == CUDA_C_32F || t->scale == CUDA_C_64F;
    bool whole = t->scale == CUDA_R_32I;
    struct matrix a = s->ta ? matrix(t->ab, s->k, s->m, s->rows_a, s->batch)
                            : matrix(t->ab, s->m, s->k, s->rows_a, s->batch);
    struct matrix b = s->tb ? matrix(t->b, s->n, s->k, s->rows_b, s->batch)
                            : matrix(t->b, s->k, s->n, s->rows_b, s->batch);
    struct matrix c = matrix(t->c, s->m, s->n, s->rows_d, s->batch);
    struct matrix d = s->in_place ? c : matrix(t->d, s->m, s->n, s->rows_d, s->batch);
    struct factors fa = factors(s->a_mode, s->m, s->k), fb = factors(s->b_mode, s->n, s->k);
    cublasLtMatmulDesc_t desc;
    int64_t cells = c.step * s->batch;
    size_t c_B = (size_t)cells * (size_t)bits_of(t->c) / 8 + 16;
    void *old = malloc(c_B);
    double *gradient = calloc((size_t)(s->m + s->n), sizeof(double));
    double *gradient_error = calloc((size_t)(s->m + s->n), sizeof(double));
    double unit = t->compute == CUBLAS_COMPUTE_64F ? 0x1p-52 : 0x1p-23;
    char why[160] = "";

    memcpy(old, c.p, c_B);
    size_t d_B = (size_t)(d.step * s->batch) * (size_t)bits_of(d.type) / 8 + 16;
    void *d_old = malloc(d_B);
    memcpy(d_old, d.p, d_B);
    cublasLtMatmulDescCreate(&desc, t->compute, t->scale);
    SET(desc, TRANSA, s->ta);
    SET(desc, TRANSB, s->tb);
    SET(desc, EPILOGUE, s->epilogue);
    SET(desc, POINTER_MODE, s->pointer_mode);
    if (s->a_mode >= 0) {
        SET(desc, A_SCALE_POINTER, fa.p);
        SET(desc, A_SCALE_MODE, s->a_mode);
    }
    if (s->b_mode >= 0) {
        SET(desc, B_SCALE_POINTER, fb.p);
        SET(desc, B_SCALE_MODE, s->b_mode);
    }

    /* Vectors of factors have a stride of their own. */
    int64_t vector = s->m + 3;
    void *alphas = elements(t->scale, vector * s->batch),
         *betas = elements(t->scale, vector * s->batch);
    SET(desc, ALPHA_VECTOR_BATCH_STRIDE, vector);
    if (s->beta_zero && s->pointer_mode < 2)
        memset(betas, 0, 16);
    bool alpha_vector = s->pointer_mode >= 2, beta_vector = s->pointer_mode == 2;

    int64_t bias_step = HD_MAX(s->m, s->n) + 5;
    void *bias = elements(t->bias, bias_step * s->batch);
    if (s->epilogue & (4 | 16 | 256 | 512)) {
        SET(desc, BIAS_POINTER, bias);
        SET(desc, BIAS_BATCH_STRIDE, bias_step);
        if (s->m % 2) /* the default is the same */
            SET(desc, BIAS_DATA_TYPE, t->bias);
    }
    bool with_bits = s->epilogue & (2 | 8);
    cudaDataType aux_type = t->d;
    int64_t aux_ld = with_bits ? (s->m + 127) / 128 * 128 : s->m + 1, aux_step = aux_ld * s->n;
    uint8_t *aux =
        s->epilogue & 128 ? elements(with_bits ? CUDA_R_8I : aux_type, aux_step * s->batch) : NULL;
    uint8_t *aux_old = malloc((size_t)(aux_step * s->batch) * 8 + 16);
    float *values = memory(64);
    float *amax = values, *aux_amax = values + 1, *scales = values + 2;
    cudaDeviceSynchronize();
    amax[0] = aux_amax[0] = 1e30f; /* set, not raised */
    scales[0] = 0.75f;
    scales[1] = 1.5f;
    if (aux) {
        memcpy(aux_old, aux,
               (size_t)(aux_step * s->batch) * (with_bits ? 8 : (size_t)bits_of(aux_type)) / 8);
        SET(desc, EPILOGUE_AUX_POINTER, aux);
        SET(desc, EPILOGUE_AUX_LD, aux_ld);
        SET(desc, EPILOGUE_AUX_BATCH_STRIDE, aux_step);
    }
    bool narrow = t->d == E4M3 || t->d == E5M2 || t->d == E2M1;
    float *p;
    if (narrow && t->d != E2M1) {
        SET(desc, AMAX_D_POINTER, amax);
        if (aux && !with_bits) {
            p = scales + 1;
            SET(desc, EPILOGUE_AUX_SCALE_POINTER, p);
            SET(desc, EPILOGUE_AUX_AMAX_POINTER, aux_amax);
        }
    }
    p = scales + 1;
    if (s->c_scale)
        SET(desc, C_SCALE_POINTER, p);
    if (s->d_scale)
        SET(desc, D_SCALE_POINTER, scales);
    uint8_t *d_out = memory((size_t)((s->n + 127) / 128 * 128 * (s->m / 16 + 8)));
    int out_mode = t->d == E2M1 ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3
                                : CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    if (s->d_out) {
        SET(desc, D_OUT_SCALE_POINTER, d_out);
        SET(desc, D_OUT_SCALE_MODE, out_mode);
    }

    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    cublasLtMatmulPreferenceCreate(&preference);
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, desc, a.layout, b.layout, c.layout, d.layout, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    if (!status)
        status = cublasLtMatmul(handle, desc, alphas, a.p, a.layout, b.p, b.layout, betas, c.p,
                                c.layout, d.p, d.layout, count ? &found.algo : NULL, NULL, 0, NULL);
    cudaDeviceSynchronize();
    if (status)
        snprintf(why, sizeof(why), "%s", cublasLtGetStatusName(status));

    double complex *pa = malloc((size_t)(s->m * s->k + 1) * sizeof(*pa));
    double complex *pb = malloc((size_t)(s->n * s->k + 1) * sizeof(*pb));
    double largest = 0, aux_largest = 0, largest_error = 0;
    for (int batch = 0; batch < s->batch && !*why; batch++) {
        double complex alpha = get(t->scale, alphas, 0), beta = get(t->scale, betas, 0);
        for (int q = 0; q < s->k; q++) {
            for (int i = 0; i < s->m; i++) {
                double complex v =
                    get(t->ab, a.p, s->ta ? at(&a, batch, q, i) : at(&a, batch, i, q));
                pa[q + i * s->k] = (s->ta == CUBLAS_OP_C ? conj(v) : v) * factor(&fa, i, q);
            }
            for (int j = 0; j < s->n; j++) {
                double complex v =
                    get(t->b, b.p, s->tb ? at(&b, batch, j, q) : at(&b, batch, q, j));
                pb[q + j * s->k] = (s->tb == CUBLAS_OP_C ? conj(v) : v) * factor(&fb, j, q);
            }
        }
        memset(gradient, 0, (size_t)(s->m + s->n) * sizeof(double));
        memset(gradient_error, 0, (size_t)(s->m + s->n) * sizeof(double));
        for (int j = 0; j < s->n && !*why; j++)
            for (int i = 0; i < s->m && !*why; i++) {
                double complex sum = 0;
                double products = 0;
                const double complex *x = pa + i * s->k, *y = pb + j * s->k;
                for (int q = 0; q < s->k && is_complex; q++) {
                    sum += x[q] * y[q];
                    products += cabs(x[q]) * cabs(y[q]);
                }
                double real = 0;
                for (int q = 0; q < s->k && !is_complex; q++) {
                    double product = creal(x[q]) * creal(y[q]);
                    real += product;
                    products += fabs(product);
                }
                sum += real;
                if (alpha_vector)
                    alpha = get(t->scale, alphas, batch * vector + i);
                if (beta_vector)
                    beta = get(t->scale, betas, batch * vector + i);
                else if (s->pointer_mode == 3)
                    beta = 0;
                else
                    beta = get(t->scale, betas, 0) * (s->c_scale ? 1.5 : 1);
                double complex v = alpha * sum + beta * get(t->c, old, at(&c, batch, i, j));
                double size =
                    cabs(alpha) * products + cabs(beta) * cabs(get(t->c, old, at(&c, batch, i, j)));
                if (s->epilogue & 4) {
                    double add = creal(get(t->bias, bias, batch * bias_step + i));
                    v += add;
                    size += fabs(add);
                }
                double error = whole ? 0 : (s->k + 16) * unit * size;
                int64_t aux_at = batch * aux_step + i + j * aux_ld;
                bool bit = with_bits && aux && aux[aux_at / 8] >> aux_at % 8 & 1;
                if (s->epilogue & 2) {
                    if (aux && fabs(creal(v)) > error && bit != (creal(v) > 0))
                        snprintf(why, sizeof(why), "mask at [%d, %d] of %d", i, j, batch);
                    v = creal(v) > 0 ? v : 0;
                } else if (s->epilogue & 32) {
                    if (aux) {
                        double by = narrow ? 1.5 : 1;
                        if (!near(aux_type, get(aux_type, aux, aux_at), v * by, error * by))
                            snprintf(why, sizeof(why), "auxiliary [%d, %d] of %d: %g, not %g", i, j,
                                     batch, creal(get(aux_type, aux, aux_at)), creal(v * by));
                        aux_largest = fmax(aux_largest, cabs(v));
                    }
                    error = error * 1.13 + 4 * unit * cabs(v);
                    v = gelu(creal(v));
                } else if (s->epilogue & 8) {
                    v = bit ? v : 0;
                } else if (s->epilogue & 64) {
                    double input = creal(get(aux_type, aux_old, aux_at));
                    error = error * 1.13 + 4 * unit * cabs(v);
                    v *= dgelu(input);
                }
                if (s->epilogue & 16) {
                    gradient[i] += creal(v);
                    gradient_error[i] += error;
                }
                largest = fmax(largest, cabs(v));
                largest_error = fmax(largest_error, error);
                if (s->d_scale) {
                    v *= 0.75;
                    error *= 0.75;
                }
                double complex got = get(t->d, d.p, at(&d, batch, i, j));
                if (s->d_out) {
                    uint8_t code = d_out[t->d == E2M1 ? tiled(j, i / 16, (s->m + 15) / 16)
                                                      : tiled(j, i / 32, (s->m + 31) / 32)];
                    double by =
                        t->d == E2M1 ? decode((struct format){4, 3}, code) : ldexp(1, code - 127);
                    if (by > 0)
                        v /= by, error /= by;
                    /* A block's factor is rounded: a number may be a little too large. */
                    if (t->d == E2M1 && cabs(v) > 6 && cabs(v) < 6.5)
                        v *= 6 / cabs(v);
                    if (code != 0x7e && /* the largest there is */
                        cabs(v) > (t->d == E2M1   ? 6.001
                                   : t->d == E4M3 ? 448.001
                                                  : 57344.1) +
                                      error)
                        snprintf(why, sizeof(why), "[%d, %d]: %g with the block's factor", i, j,
                                 cabs(v));
                }
                if (!*why && !near(t->d, got, v, error))
                    snprintf(why, sizeof(why), "[%d, %d] of %d: %.9g, not %.9g (%.3g)", i, j, batch,
                             creal(got), creal(v), error);
            }
        for (int i = 0; i < s->m && s->epilogue & 256; i++)
            for (int q = 0; q < s->k; q++) {
                gradient[i] += creal(pa[q + i * s->k]);
                gradient_error[i] += unit * cabs(pa[q + i * s->k]);
            }
        for (int j = 0; j < s->n && s->epilogue & 512; j++)
            for (int q = 0; q < s->k; q++) {
                gradient[j] += creal(pb[q + j * s->k]);
                gradient_error[j] += unit * cabs(pb[q + j * s->k]);
            }
        for (int i = 0;
             i < (s->epilogue & 512 ? s->n : s->m) && s->epilogue & (16 | 256 | 512) && !*why; i++)
            if (!near(t->bias, get(t->bias, bias, batch * bias_step + i), gradient[i],
                      gradient_error[i] + 1e-30))
                snprintf(why, sizeof(why), "gradient %d of %d: %g, not %g", i, batch,
                         creal(get(t->bias, bias, batch * bias_step + i)), gradient[i]);
    }
    if (!*why && narrow && t->d != E2M1 && fabs(amax[0] - largest) > largest_error + largest * 1e-6)
        snprintf(why, sizeof(why), "largest of D: %g, not %g", amax[0], largest);
    if (!*why && narrow && t->d != E2M1 && aux && s->epilogue & 32 &&
        fabs(aux_amax[0] - aux_largest) > largest_error + aux_largest * 1e-6)
        snprintf(why, sizeof(why), "largest of the auxiliary matrix: %g, not %g", aux_amax[0],
                 aux_largest);
    if (!*why && !kept(&d, d_old, s->batch))
        (void)snprintf(why, sizeof(why), "something between D's lines was written");
    ok(!*why,
       "%s, %d x %d x %d, batch %d, ops %d%d, by rows %d%d%d%s, epilogue %u, pointers %d, factors "
       "%d %d%s%s",
       t->name, s->m, s->n, s->k, s->batch, s->ta, s->tb, s->rows_a, s->rows_b, s->rows_d,
       s->in_place ? ", in place" : "", s->epilogue, s->pointer_mode, s->a_mode, s->b_mode,
       *why ? ": " : "", why);
    free(pa);
    free(pb);
    free(d_old);
    free(old);
    free(gradient);
    free(gradient_error);
    free(aux_old);
    if (!s->in_place)
        unmatrix(&d);
    unmatrix(&a);
    unmatrix(&b);
    unmatrix(&c);
    cudaFree(fa.p);
    cudaFree(fb.p);
    cudaFree(alphas);
    cudaFree(betas);
    cudaFree(bias);
    cudaFree(aux);
    cudaFree(values);
    cudaFree(d_out);
    cublasLtMatmulDescDestroy(desc);
}

/* ---- tables */

static const unsigned epilogues[] = {1,  2,  4,   6,   130, 134, 136, 152,
                                     32, 36, 160, 164, 192, 208, 256, 512};

#define R(type) CUDA_R_##type
static const struct types wide[] = {
    {"floats", CUBLAS_COMPUTE_32F, R(32F), R(32F), R(32F), R(32F), R(32F), R(32F)},
    {"doubles", CUBLAS_COMPUTE_64F, R(64F), R(64F), R(64F), R(64F), R(64F), R(64F)},
    {"halves", CUBLAS_COMPUTE_32F, R(32F), R(16F), R(16F), R(16F), R(16F), R(16F)},
    {"halves with factors of halves", CUBLAS_COMPUTE_16F, R(16F), R(16F), R(16F), R(16F), R(16F),
     R(16F)},
    {"bfloat16", CUBLAS_COMPUTE_32F_FAST_16BF, R(32F), R(16BF), R(16BF), R(16BF), R(16BF), R(16BF)},
    {"halves to floats", CUBLAS_COMPUTE_32F, R(32F), R(16F), R(16F), R(32F), R(32F), R(32F)},
    {"bfloat16 to floats", CUBLAS_COMPUTE_32F, R(32F), R(16BF), R(16BF), R(32F), R(32F), R(32F)},
    {"bytes to floats", CUBLAS_COMPUTE_32F, R(32F), R(8I), R(8I), R(32F), R(32F), R(32F)},
    {"bytes to whole numbers", CUBLAS_COMPUTE_32I, R(32I), R(8I), R(8I), R(32I), R(32I), R(32F)},
    {"bytes to bytes", CUBLAS_COMPUTE_32I, R(32F), R(8I), R(8I), R(8I), R(8I), R(32F)},
    {"complex floats", CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F,
     CUDA_C_32F, R(32F)},
    {"complex doubles", CUBLAS_COMPUTE_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F,
     CUDA_C_64F, R(32F)},
};

static bool takes(const struct types *t, unsigned epilogue, bool by_rows)
{
    bool is_complex = t->scale == CUDA_C_32F || t->scale == CUDA_C_64F;

    if (is_complex || t->scale == R(32I) || (t->ab == R(8I) && t->d == R(32F)))
        return epilogue == 1;
    return !(epilogue & (128 | 256 | 512 | 16)) || (!by_rows && t->ab != R(8I));
}

static void test_wide(void)
{
    for (size_t t = 0; t < HD_COUNT_OF(wide); t++) {
        bool is_complex = wide[t].scale == CUDA_C_32F || wide[t].scale == CUDA_C_64F;
        bool vectors = !is_complex && wide[t].scale != R(32I);
        /* Operations, and who is stored by rows, each with each. */
        for (int layout = 0; layout < (is_complex ? 72 : 32); layout++) {
            struct scenario s = {.t = &wide[t], .a_mode = -1, .b_mode = -1};
            s.rows_a = layout & 1;
            s.rows_b = layout & 2;
            s.rows_d = layout & 4;
            s.ta = layout / 8 % (is_complex ? 3 : 2);
            s.tb = layout / 8 / (is_complex ? 3 : 2);
            s.m = 1 + below(layout % 5 ? 40 : 300);
            s.n = 1 + below(40);
            s.k = layout == 9 ? 0 : 1 + below(layout % 7 ? 60 : 1200);
            s.batch = 1 + 2 * below(2);
            s.in_place = wide[t].c == wide[t].d && below(2);
            s.pointer_mode = below(vectors ? 5 : 2);
            s.beta_zero = !below(3);
            do
                s.epilogue = epilogues[below(HD_COUNT_OF(epilogues))];
            while (!takes(&wide[t], s.epilogue, s.rows_d));
            run(&s);
        }
        for (size_t e = 0; e < HD_COUNT_OF(epilogues); e++)
            for (int size = 0; size < (t < 3 ? 2 : 1); size++) {
                struct scenario s = {.t = &wide[t],
                                     .m = size ? 515 : 29,
                                     .n = size ? 520 : 31,
                                     .k = size ? 9 : 37,
                                     .batch = size ? 1 : 2,
                                     .tb = (int)e % 2,
                                     .epilogue = epilogues[e],
                                     .a_mode = -1,
                                     .b_mode = -1};
                if (takes(&wide[t], epilogues[e], false))
                    run(&s);
            }
    }
}

static void test_large(void)
{
    struct scenario s = {.t = &wide[0],
                         .m = 1300,
                         .n = 1100,
                         .k = 5,
                         .batch = 1,
                         .epilogue = 164,
                         .a_mode = -1,
                         .b_mode = -1};

    run(&s);
    s.t = &wide[2];
    s.epilogue = 1;
    run(&s);
    s.epilogue = 152;
    run(&s);
}

/* ---- elements of 8 and 4 bits */

#define NARROW(name, a, b, c, d, bias) {name, CUBLAS_COMPUTE_32F, R(32F), a, b, c, d, bias}
static const struct types fp8[] = {
    NARROW("e4m3 to bfloat16", E4M3, E4M3, R(16BF), R(16BF), R(16BF)),
    NARROW("e4m3 by e5m2 to halves", E4M3, E5M2, R(16F), R(16F), R(16F)),
    NARROW("e5m2 by e4m3 to floats", E5M2, E4M3, R(32F), R(32F), R(16BF)),
    NARROW("e4m3 to e4m3", E4M3, E4M3, R(16BF), E4M3, R(16BF)),
    NARROW("e5m2 by e4m3 to e5m2", E5M2, E4M3, R(16F), E5M2, R(16F)),
};
static const struct types fp4[] = {
    NARROW("e2m1 to bfloat16", E2M1, E2M1, R(16BF), R(16BF), R(16BF)),
    NARROW("e2m1 to halves", E2M1, E2M1, R(16F), R(16F), R(16F)),
    NARROW("e2m1 to floats", E2M1, E2M1, R(32F), R(32F), R(16BF)),
    NARROW("e2m1 to e2m1", E2M1, E2M1, R(16BF), E2M1, R(16BF)),
};

static void test_narrow(void)
{
    static const int modes[][2] = {{-1, -1}, {0, 0}, {0, -1}, {3, 3},
                                   {2, 2},   {4, 4}, {4, 5},  {5, 4}};

    for (size_t t = 0; t < HD_COUNT_OF(fp8); t++)
        for (size_t mode = 0; mode < HD_COUNT_OF(modes); mode++)
            for (int layout = 0; layout < 5; layout++) {
                struct scenario s = {
                    .t = &fp8[t], .a_mode = modes[mode][0], .b_mode = modes[mode][1]};
                bool narrow = fp8[t].d == E4M3 || fp8[t].d == E5M2;
                s.ta = layout != 1 && layout != 2;
                s.tb = layout == 2 || layout == 3;
                s.rows_d = layout == 4;
                s.m = 16 + 16 * below(20);
                s.n = 16 * (1 + below(layout ? 4 : 10));
                s.k = 16 * (1 + below(layout ? 10 : 40));
                s.batch = s.a_mode < 1 && below(2) ? 2 : 1;
                s.beta_zero = below(2);
                s.d_scale = narrow && below(2);
                s.d_out = narrow && s.a_mode == 2;
                s.c_scale = below(2);
                if (narrow && (s.a_mode > 2 || (s.d_out && s.rows_d)))
                    continue;
                do
                    s.epilogue = epilogues[below(HD_COUNT_OF(epilogues))];
                while (s.epilogue >= 256 || (s.rows_d && s.epilogue & (128 | 16)) ||
                       (s.d_out && s.epilogue & (8 | 64)));
                run(&s);
            }
    for (size_t t = 0; t < HD_COUNT_OF(fp4); t++)
        for (int layout = 0; layout < 6; layout++) {
            struct scenario s = {.t = &fp4[t], .ta = 1, .a_mode = 1, .b_mode = 1};
            s.m = 32 * (1 + below(10));
            s.n = 32 * (1 + below(6));
            s.k = 32 * (1 + below(30));
            s.batch = 1;
            s.rows_d = layout == 5 && fp4[t].d != E2M1;
            s.beta_zero = below(2);
            s.epilogue = (unsigned[]){1, 4, 2, 6, 32, 36}[layout];
            s.d_out = fp4[t].d == E2M1;
            s.d_scale = s.d_out && below(2);
            run(&s);
        }
}

/* Every number of a type, and what lies between: the nearest of all, ties to even. */
static void test_rounding(void)
{
    static const cudaDataType types[] = {E4M3, E5M2};
    enum { N = 4096 };

    for (size_t t = 0; t < HD_COUNT_OF(types); t++) {
        struct format f = format_of(types[t]);
        unsigned last = types[t] == E4M3 ? 0x7e : 0x7b, wrong = 0;
        uint8_t *one = elements(E4M3, 1), *a = elements(E4M3, 1), *d = memory(N);
        uint16_t *c = memory(N * 2);
        float alpha = 0, beta = 1;
        cublasLtMatrixLayout_t la, lb, lc, ld;
        cublasLtMatmulDesc_t desc;
        cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, R(32F));
        cublasLtMatrixLayoutCreate(&la, E4M3, N, 1, N);
        cublasLtMatrixLayoutCreate(&lb, t ? E5M2 : E4M3, 1, 1, 1);
        cublasLtMatrixLayoutCreate(&lc, R(16F), N, 1, N);
        cublasLtMatrixLayoutCreate(&ld, types[t], N, 1, N);
        cudaFree(a);
        a = elements(E4M3, N);
        for (unsigned from = 0; from < 0x7c00; from += N) {
            for (unsigned i = 0; i < N; i++)
                c[i] = (uint16_t)HD_MIN(from + i, 0x7bffu);
            cublasStatus_t status = cublasLtMatmul(handle, desc, &alpha, a, la, one, lb, &beta, c,
                                                   lc, d, ld, NULL, NULL, 0, NULL);
            cudaDeviceSynchronize();
            wrong += status != CUBLAS_STATUS_SUCCESS;
            for (unsigned i = 0; i < N; i++) {
                double x = decode((struct format){5, 10}, c[i]);
                unsigned best = 0;
                for (unsigned code = 1; code <= last; code++) {
                    double there = fabs(decode(f, code) - x), here = fabs(decode(f, best) - x);
                    if (there < here || (there == here && code % 2 == 0))
                        best = code;
                }
                if (d[i] != best && wrong++ < 5)
                    diag("%g is %#x, not %#x", x, d[i], best);
            }
        }
        ok(!wrong, "halves to %s: each is the nearest", t ? "e5m2" : "e4m3");
        cublasLtMatmulDescDestroy(desc);
        cublasLtMatrixLayoutDestroy(la);
        cublasLtMatrixLayoutDestroy(lb);
        cublasLtMatrixLayoutDestroy(lc);
        cublasLtMatrixLayoutDestroy(ld);
        cudaFree(one);
        cudaFree(a);
        cudaFree(c);
        cudaFree(d);
    }
}

int main(void)
{
    state = (uint32_t)tap_seed();
    if (cublasLtCreate(&handle))
        return 1;
    test_wide();
    test_large();
    test_narrow();
    test_rounding();
    cublasLtDestroy(handle);
    return done();
}
