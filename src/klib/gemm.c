/*
 * Products of matrices: a tile is a block of C. Elements of BLAS's types go to its gemm as they
 * lie; halves and bytes are made floats, a slice of k at a time, and summed as floats.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "klib/blas.h"
#include "klib/halves.h"

/* Of C: smaller blocks spend more on packing their panels than threads gain. */
#define BLOCK_MIN 96
#define BLOCK_MAX 1024
/* Elements of k that are made floats at once: a slice of both panels stays in the L2. */
#define SLICE 512
/* Sums of that many products of bytes are whole numbers below 2^24, which floats hold. */
#define SLICE_I8 1024
#define GFLOPS   30.0 /* of a thread, about */

static size_t size_of(enum klib_type type)
{
    static const uint8_t sizes[] = {
        [KLIB_F32] = 4, [KLIB_F64] = 8,  [KLIB_C32] = 8, [KLIB_C64] = 16,
        [KLIB_F16] = 2, [KLIB_BF16] = 2, [KLIB_I8] = 1,  [KLIB_I32] = 4};
    return sizes[type];
}

uint64_t klib_gemm_ns(const struct klib_gemm *g, uint64_t problems)
{
    double products = (double)g->m * (double)g->n * (double)g->k * (double)problems;

    return (uint64_t)(products * (g->sums == KLIB_C32 || g->sums == KLIB_C64 ? 8 : 2) / GFLOPS);
}

static uint32_t blocks_of(int64_t size, int64_t edge)
{
    return (uint32_t)HD_MAX((size + edge - 1) / edge, 1);
}

void klib_gemm_blocks(struct klib_gemm *g, uint64_t problems, unsigned threads)
{
    int64_t rows = HD_MIN(g->m, BLOCK_MAX), columns = HD_MIN(g->n, BLOCK_MAX);

    /* Halves of the longer edge, until every thread has two: threads are not alike in speed. */
    while (problems * blocks_of(g->m, rows) * blocks_of(g->n, columns) < 2 * (uint64_t)threads &&
           HD_MAX(rows, columns) >= 2 * BLOCK_MIN) {
        if (columns >= rows)
            columns = (columns + 1) / 2;
        else
            rows = (rows + 1) / 2;
    }
    g->row_blocks = blocks_of(g->m, rows);
    g->column_blocks = blocks_of(g->n, columns);
}

/* ---- one block */

struct block {
    const char *a, *b; /* of its rows, of its columns */
    char *c;
    int64_t m, n;
};

static const char *base_of(const struct klib_matrix *x, uint64_t problem)
{
    if (x->is_listed)
        return ((char *const *)x->address)[problem];
    return (const char *)x->address + (int64_t)problem * x->step * (int64_t)size_of(x->type);
}

static struct block block_of(const struct klib_gemm *g, uint64_t tile)
{
    uint64_t i = tile % g->row_blocks, j = tile / g->row_blocks % g->column_blocks;
    uint64_t problem = tile / g->row_blocks / g->column_blocks;
    int64_t rows = (g->m + g->row_blocks - 1) / g->row_blocks;
    int64_t columns = (g->n + g->column_blocks - 1) / g->column_blocks;
    int64_t r = (int64_t)i * rows, c = (int64_t)j * columns;
    const struct klib_matrix *ma = &g->a, *mb = &g->b, *mc = &g->c;

    return (struct block){
        .a = base_of(ma, problem) + r * (ma->op == 'N' ? 1 : ma->ld) * (int64_t)size_of(ma->type),
        .b = base_of(mb, problem) + c * (mb->op == 'N' ? mb->ld : 1) * (int64_t)size_of(mb->type),
        .c = (char *)base_of(mc, problem) + (r + c * mc->ld) * (int64_t)size_of(mc->type),
        .m = HD_MIN(rows, g->m - r),
        .n = HD_MIN(columns, g->n - c)};
}

#define GEMM(name)                                                                                 \
    void name(const char *transa, const char *transb, const int64_t *m, const int64_t *n,          \
              const int64_t *k, const void *alpha, const void *a, const int64_t *lda,              \
              const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
GEMM(sgemm_)
GEMM(dgemm_)
GEMM(cgemm_)
GEMM(zgemm_)
#undef GEMM

static void as_it_lies(const struct klib_gemm *g, const struct block *at, const void *alpha,
                       const void *beta)
{
    static void (*const gemm[])(const char *, const char *, const int64_t *, const int64_t *,
                                const int64_t *, const void *, const void *, const int64_t *,
                                const void *, const int64_t *, const void *, void *,
                                const int64_t *) = {
        [KLIB_F32] = sgemm_, [KLIB_F64] = dgemm_, [KLIB_C32] = cgemm_, [KLIB_C64] = zgemm_};
    char op[2] = {(char)g->a.op, (char)g->b.op};

    gemm[g->sums](&op[0], &op[1], &at->m, &at->n, &g->k, alpha, at->a, &g->a.ld, at->b, &g->b.ld,
                  beta, at->c, &g->c.ld);
}

/* `rows` x `columns` floats of what is at `from`, whose columns are `ld` apart. */
static void widen(float *to, const char *from, enum klib_type type, int64_t ld, int64_t rows,
                  int64_t columns)
{
    for (int64_t j = 0; j < columns; j++, to += rows) {
        const char *column = from + j * ld * (int64_t)size_of(type);
        const uint16_t *h = (const uint16_t *)column;
        const int8_t *b = (const int8_t *)column;
        switch (type) {
        case KLIB_F16:
            for (int64_t i = 0; i < rows; i++)
                to[i] = klib_f32_of_f16(h[i]);
            break;
        case KLIB_BF16:
            for (int64_t i = 0; i < rows; i++)
                to[i] = klib_f32_of_bf16(h[i]);
            break;
        case KLIB_I8:
            for (int64_t i = 0; i < rows; i++)
                to[i] = b[i];
            break;
        default:
            assert(type == KLIB_F32);
            memcpy(to, column, (size_t)rows * sizeof(float));
        }
    }
}

/* Sums of one block: floats, and of products of bytes whole numbers beside them. */
struct sums {
    float *f;
    int32_t *i; /* or NULL */
    float *a, *b;
};

static void sum_up(const struct klib_gemm *g, const struct block *at, struct sums *s)
{
    const float one = 1;
    int64_t slice = s->i ? SLICE_I8 : SLICE;
    bool an = g->a.op == 'N', bn = g->b.op == 'N';
    char ta = an ? 'N' : 'T', tb = bn ? 'N' : 'T';

    for (int64_t k = 0; k < g->k; k += slice) {
        int64_t w = HD_MIN(slice, g->k - k);
        float beta = k && !s->i ? 1 : 0;
        int64_t lda = an ? at->m : w, ldb = bn ? w : at->n;
        widen(s->a, at->a + k * (an ? g->a.ld : 1) * (int64_t)size_of(g->a.type), g->a.type,
              g->a.ld, lda, an ? w : at->m);
        widen(s->b, at->b + k * (bn ? 1 : g->b.ld) * (int64_t)size_of(g->b.type), g->b.type,
              g->b.ld, ldb, bn ? at->n : w);
        sgemm_(&ta, &tb, &at->m, &at->n, &w, &one, s->a, &lda, s->b, &ldb, &beta, s->f, &at->m);
        for (int64_t i = 0; s->i && i < at->m * at->n; i++)
            s->i[i] = (int32_t)((uint32_t)s->i[i] + (uint32_t)(int32_t)s->f[i]);
    }
}

static float float_at(const void *p, enum klib_type type, int64_t i)
{
    switch (type) {
    case KLIB_F16:
        return klib_f32_of_f16(((const uint16_t *)p)[i]);
    case KLIB_BF16:
        return klib_f32_of_bf16(((const uint16_t *)p)[i]);
    default:
        assert(type == KLIB_F32);
        return ((const float *)p)[i];
    }
}

static void put_float(void *p, enum klib_type type, int64_t i, float f)
{
    switch (type) {
    case KLIB_F16:
        ((uint16_t *)p)[i] = klib_f16_of_f32(f);
        break;
    case KLIB_BF16:
        ((uint16_t *)p)[i] = klib_bf16_of_f32(f);
        break;
    default:
        assert(type == KLIB_F32);
        ((float *)p)[i] = f;
    }
}

static void finish(const struct klib_gemm *g, const struct block *at, const struct sums *s,
                   const void *alpha, const void *beta)
{
    for (int64_t j = 0; j < at->n; j++) {
        char *c = at->c + j * g->c.ld * (int64_t)size_of(g->c.type);
        for (int64_t i = 0; i < at->m; i++) {
            int64_t from = i + j * at->m;
            if (s->i) {
                uint32_t sum = *(const uint32_t *)alpha * (uint32_t)s->i[from];
                if (*(const int32_t *)beta)
                    sum += *(const uint32_t *)beta * ((const uint32_t *)c)[i];
                ((uint32_t *)c)[i] = sum;
                continue;
            }
            float sum = *(const float *)alpha * (g->k ? s->f[from] : 0);
            if (*(const float *)beta != 0)
                sum += *(const float *)beta * float_at(c, g->c.type, i);
            put_float(c, g->c.type, i, sum);
        }
    }
}

static int widened(struct heddle_native_call *call, const struct klib_gemm *g,
                   const struct block *at, const void *alpha, const void *beta)
{
    bool whole = g->sums == KLIB_I32;
    int64_t slice = HD_MIN(whole ? SLICE_I8 : SLICE, HD_MAX(g->k, 1));
    size_t block = (size_t)(at->m * at->n), panels = (size_t)(slice * (at->m + at->n));
    float *memory = malloc((block * (whole ? 2 : 1) + panels) * sizeof(float));
    struct sums s = {.f = memory};

    if (!memory)
        return heddle_native_fail(call, 1, "no memory for a block of a product");
    s.a = s.f + block;
    s.b = s.a + slice * at->m;
    if (whole) {
        s.i = (int32_t *)(s.b + slice * at->n);
        memset(s.i, 0, block * sizeof(*s.i));
    }
    sum_up(g, at, &s);
    finish(g, at, &s, alpha, beta);
    free(memory);
    return 0;
}

int klib_gemm_run(struct heddle_native_call *call)
{
    const struct klib_gemm *g = call->params;
    const void *alpha = g->factors_there ? g->alpha.address : g->alpha.value;
    const void *beta = g->factors_there ? g->beta.address : g->beta.value;
    float halves[2];
    bool lies = g->a.type == g->sums && g->b.type == g->sums && g->c.type == g->sums;

    if (g->factors == KLIB_F16) {
        halves[0] = klib_f32_of_f16(*(const uint16_t *)alpha);
        halves[1] = klib_f32_of_f16(*(const uint16_t *)beta);
        alpha = &halves[0];
        beta = &halves[1];
    }
    for (uint64_t tile = call->first; tile < call->last; tile++) {
        struct block at = block_of(g, tile);
        if (at.m <= 0 || at.n <= 0)
            continue;
        if (lies)
            as_it_lies(g, &at, alpha, beta);
        else if (widened(call, g, &at, alpha, beta))
            return call->code;
    }
    return 0;
}
