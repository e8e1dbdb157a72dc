/*
 * Products of matrices with epilogues. A block's sums are made in memory of the block's own, or in
 * D itself where the elements are BLAS's, and are ended column by column while they are in the
 * cache.
 */
#include "klib/lt.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "klib/blas.h"
#include "klib/halves.h"
#include "klib/real_gemm.h"

/* Rows of a block are a multiple: no two blocks write bits of one byte, or factors of one tile. */
#define ROWS_UNIT 128
/* Of D, when it does not end with the product: a block's sums are in the L2 for the epilogue. */
#define BLOCK_WITH_EPILOGUE 512

static int64_t blocks_of(int64_t size, int64_t edge)
{
    return HD_MAX((size + edge - 1) / edge, 1);
}

static uint64_t lt_blocks(struct klib_lt_matmul *p, uint64_t problems, unsigned threads)
{
    struct klib_gemm *g = &p->g;

    klib_gemm_blocks(g, problems, threads);
    int64_t rows = blocks_of(g->m, g->row_blocks), columns = blocks_of(g->n, g->column_blocks);
    if (p->epilogue > 1) {
        rows = HD_MIN(rows, BLOCK_WITH_EPILOGUE);
        columns = HD_MIN(columns, BLOCK_WITH_EPILOGUE);
    }
    p->block_rows = blocks_of(rows, ROWS_UNIT) * ROWS_UNIT;
    p->block_columns = blocks_of(columns, 2) * 2; /* whole bytes of elements of 4 bits */
    g->row_blocks = (uint32_t)blocks_of(g->m, p->block_rows);
    /* A sum over D's columns is one tile's, so that it has one order. */
    g->column_blocks =
        p->epilogue & KLIB_LT_BGRAD ? 1 : (uint32_t)blocks_of(g->n, p->block_columns);
    return problems * g->row_blocks * g->column_blocks;
}

/* ---- factors of blocks along k */

static float e4m3_factor(uint8_t b)
{
    return klib_f32_of_e4m3(b & 0x7f);
}

/* Where the factor of an outer and a block of k is, of `blocks` along k: tiles of 128 x 4, 32 x 16
 * bytes each. */
static int64_t tiled(int64_t outer, int64_t block, int64_t blocks)
{
    return ((outer / 128) * ((blocks + 3) / 4) + block / 4) * 512 + outer % 32 * 16 +
           outer % 128 / 32 * 4 + block % 4;
}

static float factor_at(const struct klib_lt_factors *f, int64_t outer, int64_t outers, int64_t k,
                       int64_t whole_k)
{
    switch ((enum klib_lt_scale)f->mode) {
    case KLIB_LT_VEC16:
        return e4m3_factor(
            ((const uint8_t *)f->address)[tiled(outer, k / 16, (whole_k + 15) / 16)]);
    case KLIB_LT_VEC32:
        return klib_f32_of_ue8m0(
            ((const uint8_t *)f->address)[tiled(outer, k / 32, (whole_k + 31) / 32)]);
    case KLIB_LT_VEC128:
        return ((const float *)f->address)[outer + k / 128 * outers];
    case KLIB_LT_BLOCK128:
        return ((const float *)
                    f->address)[outer / 128 * (((whole_k + 127) / 128 + 3) / 4 * 4) + k / 128];
    default:
        return 1;
    }
}

static int64_t block_of_k(uint8_t mode)
{
    return mode == KLIB_LT_VEC16 ? 16 : mode == KLIB_LT_VEC32 ? 32 : 128;
}

/* A panel's elements, `w` of k from `k` on: along k, or k after k. */
static void scale_panel(float *panel, const struct klib_lt_factors *f, int64_t first, int64_t n,
                        int64_t outers, int64_t k, int64_t w, int64_t whole_k, bool along_k)
{
    int64_t edge = block_of_k(f->mode);

    if (f->mode < KLIB_LT_VEC16)
        return;
    for (int64_t o = 0; o < n; o++)
        for (int64_t q = 0; q < w; q += edge) {
            float by = factor_at(f, first + o, outers, k + q, whole_k);
            int64_t end = HD_MIN(q + edge, w);
            for (int64_t i = q; i < end; i++)
                panel[along_k ? i + o * w : o + i * n] *= by;
        }
}

/* One call's view of a block. */
struct view {
    const struct klib_lt_matmul *p;
    uint64_t problem;
    int64_t row, column, m, n; /* of D */
    struct klib_block at;
};

static void scale_panels(const void *user, struct klib_sums *s, int64_t k, int64_t w)
{
    const struct view *v = user;
    const struct klib_gemm *g = &v->p->g;

    scale_panel(s->a, &v->p->a_factors, v->row, v->m, g->m, k, w, g->k, !klib_lies(&g->a));
    scale_panel(s->b, &v->p->b_factors, v->column, v->n, g->n, k, w, g->k, klib_lies(&g->b));
}

/* ---- conversions of rows of elements */

/* To the nearest whole number, of |x| < 2^22: straight code on every processor. */
static inline float round_f32(float x)
{
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

static void narrow_f32(char *to, enum klib_type type, const float *from, int64_t n)
{
#define ROW(name, T)                                                                               \
    for (int64_t i = 0; i < n; i++)                                                                \
        ((T *)to)[i] = name(from[i]);                                                              \
    break
    switch (type) {
    case KLIB_F16:
        ROW(klib_f16_of_f32, uint16_t);
    case KLIB_BF16:
        ROW(klib_bf16_of_f32, uint16_t);
    case KLIB_E4M3:
        ROW(klib_e4m3_of_f32, uint8_t);
    case KLIB_E5M2:
        ROW(klib_e5m2_of_f32, uint8_t);
    case KLIB_I8:
        for (int64_t i = 0; i < n; i++)
            ((int8_t *)to)[i] = (int8_t)round_f32(from[i] < -128       ? -128
                                                  : from[i] > 127      ? 127
                                                  : from[i] == from[i] ? from[i]
                                                                       : 0);
        break;
    case KLIB_E2M1:
        for (int64_t i = 0; i < n; i += 2)
            ((uint8_t *)to)[i / 2] =
                (uint8_t)(klib_e2m1_of_f32(from[i]) |
                          (i + 1 < n ? klib_e2m1_of_f32(from[i + 1]) << 4 : 0));
        break;
    default:
        assert(type == KLIB_F32);
        memcpy(to, from, (size_t)n * sizeof(float));
    }
#undef ROW
}

static void narrow_f64(char *to, enum klib_type type, const double *from, int64_t n)
{
    assert(type == KLIB_F64);
    (void)type;
    memcpy(to, from, (size_t)n * sizeof(double));
}

static void widen_f32(float *to, const char *from, enum klib_type type, int64_t n)
{
    klib_widen(to, from, type, n, n, 1);
}

static void widen_f64(double *to, const char *from, enum klib_type type, int64_t n)
{
    if (type == KLIB_F64)
        memcpy(to, from, (size_t)n * sizeof(double));
    else /* factors are floats */
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const float *)from)[i];
}

/* ---- the largest of absolute values, over all blocks: whole numbers order as floats >= 0 do */

static void note_amax(float *amax, float value)
{
    uint32_t *at = (uint32_t *)amax, bits = klib_bits_of(value);
    uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

    while (bits > old &&
           !__atomic_compare_exchange_n(at, &old, bits, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

static float amax_of(const float *v, int64_t n)
{
    uint32_t largest = 0;

    for (int64_t i = 0; i < n; i++)
        largest = HD_MAX(largest, klib_bits_of(v[i]) & 0x7fffffff);
    return klib_float_of(largest);
}

/* ---- factors that are made for D: the largest of a block becomes the type's largest number */

static uint8_t ue8m0_of(float f)
{
    uint32_t bits = klib_bits_of(f), exponent = bits >> 23, rest = bits & 0x7fffff;

    if (exponent == 255)
        return f > 0 && !rest ? 254 : 255;
    if (exponent > 0 ? rest > 0 : rest > 0x400000) /* upwards */
        exponent++;
    return (uint8_t)HD_MIN(exponent, 254);
}

static void scale_out(const struct view *view, int64_t column, float *v)
{
    const struct klib_lt_matmul *p = view->p;
    int64_t edge = block_of_k(p->d_out_mode), blocks = (p->g.m + edge - 1) / edge;
    float largest = p->g.c.type == KLIB_E4M3 ? 448 : p->g.c.type == KLIB_E5M2 ? 57344 : 6;
    uint8_t *out = p->d_out;

    for (int64_t i = 0; i < view->m; i += edge) {
        int64_t n = HD_MIN(edge, view->m - i);
        float wanted = amax_of(v + i, n) / largest, by;
        uint8_t *factor = &out[tiled(column, (view->row + i) / edge, blocks)];
        if (p->d_out_mode == KLIB_LT_VEC32) {
            *factor = ue8m0_of(wanted);
            by = 1 / klib_f32_of_ue8m0(*factor);
        } else {
            *factor = klib_e4m3_of_f32(wanted);
            by = 1 / e4m3_factor(*factor);
        }
        for (int64_t q = i; q < i + n; q++)
            v[q] = by <= FLT_MAX ? v[q] * by : 0; /* a factor of 0: all is */
    }
}

/* ---- activations */

#define GELU_A 0.7978845608028654 /* sqrt(2 / pi) */
#define GELU_B 0.044715

/* e^x for x of [-87, 88], within some 2 units of the last place: 2^n e^r, |r| < ln(2) / 2. */
static inline float exp_f32(float x)
{
    float n = round_f32(x * 1.44269504f);
    float r = (x - n * 6.93145752e-1f) - n * 1.42860677e-6f;
    float e = 1.37805939e-3f;

    e = e * r + 8.37312452e-3f;
    e = e * r + 4.16695364e-2f;
    e = e * r + 1.66664720e-1f;
    e = e * r + 4.99999851e-1f;
    e = e * r + 1;
    e = e * r + 1;
    return e * klib_float_of((uint32_t)((int32_t)n + 127) << 23);
}

static inline float tanh_f32(float x)
{
    float a = fabsf(x), e = exp_f32(a < 20 ? -2 * a : -40);
    float large = (1 - e) / (1 + e);
    /* Where 1 - e loses digits: the series of tanh. */
    float q = a * a;
    float small = a + a * q * (-0x1.555556p-2f + q * (0x1.111112p-3f + q * -0x1.ba1ba2p-5f));
    float t = a < 0.15f ? small : large;

    t = a == a ? t : a;
    return klib_float_of((klib_bits_of(t) & 0x7fffffff) | (klib_bits_of(x) & 0x80000000));
}

static inline float gelu_f32(float x)
{
    return 0.5f * x * (1 + tanh_f32((float)GELU_A * (x + (float)GELU_B * x * x * x)));
}

static inline float dgelu_f32(float x)
{
    float t = tanh_f32((float)GELU_A * (x + (float)GELU_B * x * x * x));
    float d = (float)GELU_A * (1 + 3 * (float)GELU_B * x * x);

    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * d;
}

static inline double gelu_f64(double x)
{
    return 0.5 * x * (1 + tanh(GELU_A * (x + GELU_B * x * x * x)));
}

static inline double dgelu_f64(double x)
{
    double t = tanh(GELU_A * (x + GELU_B * x * x * x));

    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * GELU_A * (1 + 3 * GELU_B * x * x);
}

/* ---- a block, in floats and in doubles */

#define T         float
#define TYPE      KLIB_F32
#define F(name)   name##_f32
#define IS_DOUBLE 0
#include "lt_block.inc"
#define T         double
#define TYPE      KLIB_F64
#define F(name)   name##_f64
#define IS_DOUBLE 1
#include "lt_block.inc"

/* ---- blocks that BLAS computes alone, and whole numbers */

/* C's block to D's, whose beta comes with the product. */
static void copy_c(const struct view *v)
{
    const struct klib_lt_matmul *p = v->p;
    const struct klib_matrix *c = &p->c, *d = &p->g.c;
    const char *from =
        klib_base_of(c, v->problem) + klib_bytes(c->type, v->row + v->column * c->ld);

    if (from == v->at.c && c->ld == d->ld)
        return;
    for (int64_t j = 0; j < v->n; j++)
        memcpy(v->at.c + klib_bytes(d->type, j * d->ld), from + klib_bytes(c->type, j * c->ld),
               (size_t)klib_bytes(c->type, v->m));
}

static bool is_zero(const void *factor, enum klib_type type)
{
    switch (type) {
    case KLIB_F64:
        return *(const double *)factor == 0;
    case KLIB_C32:
        return ((const float *)factor)[0] == 0 && ((const float *)factor)[1] == 0;
    case KLIB_C64:
        return ((const double *)factor)[0] == 0 && ((const double *)factor)[1] == 0;
    default:
        return *(const float *)factor == 0;
    }
}

static void direct(const struct view *v)
{
    const struct klib_lt_matmul *p = v->p;
    const struct klib_gemm *g = &p->g;
    const void *alpha = p->alpha_there ? g->alpha.address : g->alpha.value;
    const void *beta = p->beta_there ? g->beta.address : g->beta.value;

    if (!is_zero(beta, g->factors))
        copy_c(v);
    if (!klib_gemm_may_end(g, alpha, beta) || !klib_gemm_ends(g, &v->at, alpha, beta))
        klib_gemm_direct(g, &v->at, alpha, beta, v->at.c, g->c.ld);
}

/* alpha and beta are whole, and so is D. */
static int whole(struct heddle_native_call *call, const struct view *v)
{
    const struct klib_lt_matmul *p = v->p;
    const struct klib_gemm *g = &p->g;
    const void *alpha = p->alpha_there ? g->alpha.address : g->alpha.value;
    const void *beta = p->beta_there ? g->beta.address : g->beta.value;
    uint32_t by = *(const uint32_t *)alpha, old = *(const uint32_t *)beta;
    struct klib_sums s;

    if (old)
        copy_c(v);
    if (klib_gemm_may_end(g, alpha, beta) && klib_gemm_ends(g, &v->at, alpha, beta))
        return 0;
    if (!klib_sums_init(&s, g, v->m, v->n))
        return heddle_native_fail(call, 1, "no memory for a block of a product");
    if (!klib_gemm_sums(g, &v->at, &s, NULL, NULL)) {
        klib_sums_fini(&s);
        return heddle_native_fail(call, 1, "no memory for panels of a product");
    }
    for (int64_t j = 0; j < v->n; j++) {
        uint32_t *d = (uint32_t *)v->at.c + j * g->c.ld;
        for (int64_t i = 0; i < v->m; i++)
            d[i] = by * (uint32_t)s.i[i + j * v->m] + (old ? old * d[i] : 0);
    }
    klib_sums_fini(&s);
    return 0;
}

static int block(struct heddle_native_call *call, const struct view *v, void *gradient)
{
    const struct klib_lt_matmul *p = v->p;
    const struct klib_gemm *g = &p->g;
    bool plain = p->epilogue <= 1 && !p->alpha_vector && !p->beta_vector;

    if (g->sums == KLIB_C32 || g->sums == KLIB_C64 ||
        (plain && g->a.type == g->sums && g->c.type == g->sums && g->factors == g->sums)) {
        direct(v);
        return 0;
    }
    if (g->factors == KLIB_I32)
        return whole(call, v);
    return g->sums == KLIB_F64 ? block_f64(call, v, gradient) : block_f32(call, v, gradient);
}

/* ---- gradients of biases */

static void put_gradient(const struct klib_lt_matmul *p, uint64_t problem, int64_t first, int64_t n,
                         const double *sums)
{
    const struct klib_lt_beside *bias = &p->bias;
    char *to = (char *)bias->address;

    for (int64_t i = 0; i < n; i++) {
        char *at = to + klib_bytes(bias->type, (int64_t)problem * bias->step + first + i);
        float f = (float)sums[i];
        if (bias->type == KLIB_F64)
            *(double *)at = sums[i];
        else
            narrow_f32(at, bias->type, &f, 1);
    }
}

/* Sums over k of op(A)'s rows, or of op(B)'s columns. */
static int operand_gradient(struct heddle_native_call *call, const struct klib_lt_matmul *p,
                            uint64_t problem, int64_t first, int64_t n)
{
    const struct klib_gemm *g = &p->g;
    bool of_a = p->epilogue & KLIB_LT_BGRADA;
    const struct klib_matrix *x = of_a ? &g->a : &g->b;
    struct klib_block at = klib_block_at(g, problem, of_a ? first : 0, of_a ? 0 : first, 1, 1);
    const char *from = of_a ? at.a : at.b;
    bool along_k = klib_lies(x) != of_a;
    double *sums = calloc((size_t)n, sizeof(*sums));

    if (!sums)
        return heddle_native_fail(call, 1, "no memory for a gradient");
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t i = 0; i < n; i++) {
            const char *e = from + klib_bytes(x->type, along_k ? k + i * x->ld : i + k * x->ld);
            float f = 0;
            if (x->type == KLIB_F64) {
                sums[i] += *(const double *)e;
            } else {
                klib_widen(&f, e, x->type, 1, 1, 1);
                sums[i] += f;
            }
        }
    put_gradient(p, problem, first, n, sums);
    free(sums);
    return 0;
}

static int tile(struct heddle_native_call *call, const struct klib_lt_matmul *p, uint64_t number)
{
    const struct klib_gemm *g = &p->g;
    uint64_t i = number % g->row_blocks, j = number / g->row_blocks % g->column_blocks;
    uint64_t problem = number / g->row_blocks / g->column_blocks;
    int64_t row = (int64_t)i * p->block_rows, m = HD_MIN(p->block_rows, g->m - row);
    int64_t first = (int64_t)j * p->block_columns;
    bool all = p->epilogue & KLIB_LT_BGRAD;
    int64_t last = all ? g->n : HD_MIN(first + p->block_columns, g->n);
    double *gradient = all ? calloc((size_t)m, sizeof(*gradient)) : NULL;
    int failed = all && !gradient ? heddle_native_fail(call, 1, "no memory for a gradient") : 0;

    for (int64_t column = first; !failed && column < last; column += p->block_columns) {
        int64_t n = HD_MIN(p->block_columns, last - column);
        struct view v = {
            p, problem, row, column, m, n, klib_block_at(g, problem, row, column, m, n)};
        failed = block(call, &v, gradient);
    }
    if (!failed && all)
        put_gradient(p, problem, row, m, gradient);
    if (!failed && p->epilogue & KLIB_LT_BGRADA && !j)
        failed = operand_gradient(call, p, problem, row, m);
    if (!failed && p->epilogue & KLIB_LT_BGRADB && !i)
        failed = operand_gradient(call, p, problem, first, last - first);
    free(gradient);
    return failed;
}

static int run_matmul(struct heddle_native_call *call)
{
    for (uint64_t number = call->first; number < call->last; number++)
        if (tile(call, call->params, number))
            return call->code;
    return 0;
}

/* ---- sums of matrices */

static double number_at(const void *p, enum klib_type type, int64_t i)
{
    const uint16_t *h = p;

    switch (type) {
    case KLIB_F16:
        return klib_f32_of_f16(h[i]);
    case KLIB_BF16:
        return klib_f32_of_bf16(h[i]);
    case KLIB_I8:
        return ((const int8_t *)p)[i];
    case KLIB_I32:
        return ((const int32_t *)p)[i];
    case KLIB_F64:
        return ((const double *)p)[i];
    default:
        assert(type == KLIB_F32);
        return ((const float *)p)[i];
    }
}

static void put_number(void *p, enum klib_type type, int64_t i, double v)
{
    uint16_t *h = p;

    switch (type) {
    case KLIB_F16:
        h[i] = klib_f16_of_f32((float)v);
        break;
    case KLIB_BF16:
        h[i] = klib_bf16_of_f32((float)v);
        break;
    case KLIB_I8:
        ((int8_t *)p)[i] = (int8_t)rint(v < -128 ? -128 : v > 127 ? 127 : v == v ? v : 0);
        break;
    case KLIB_I32:
        ((int32_t *)p)[i] = (int32_t)rint(v < INT32_MIN   ? INT32_MIN
                                          : v > INT32_MAX ? INT32_MAX
                                          : v == v        ? v
                                                          : 0);
        break;
    case KLIB_F64:
        ((double *)p)[i] = v;
        break;
    default:
        assert(type == KLIB_F32);
        ((float *)p)[i] = (float)v;
    }
}

static int run_transform(struct heddle_native_call *call)
{
    const struct klib_lt_transform *p = call->params;
    int64_t blocks = blocks_of(p->n, KLIB_LT_TRANSFORM_COLUMNS);
    double alpha = number_at(p->factors_there ? p->alpha.address : &p->alpha.value, p->factors, 0);
    double beta =
        p->b.address ? number_at(p->factors_there ? p->beta.address : &p->beta.value, p->factors, 0)
                     : 0;

    for (uint64_t tile = call->first; tile < call->last; tile++) {
        int64_t problem = (int64_t)tile / blocks;
        int64_t first = (int64_t)tile % blocks * KLIB_LT_TRANSFORM_COLUMNS;
        int64_t last = HD_MIN(first + KLIB_LT_TRANSFORM_COLUMNS, p->n);
        for (int64_t j = first; j < last; j++)
            for (int64_t i = 0; i < p->m; i++) {
                double sum = 0;
                if (alpha != 0)
                    sum += alpha * number_at(p->a.address, p->a.type,
                                             problem * p->a.step + i * p->a.row + j * p->a.column);
                if (beta != 0)
                    sum += beta * number_at(p->b.address, p->b.type,
                                            problem * p->b.step + i * p->b.row + j * p->b.column);
                put_number(p->c.address, p->c.type,
                           problem * p->c.step + i * p->c.row + j * p->c.column, sum);
            }
    }
    return 0;
}

const struct klib_lt klib_lt = {
    .matmul = run_matmul, .transform = run_transform, .blocks = lt_blocks};
