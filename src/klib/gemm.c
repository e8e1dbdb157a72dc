/*
 * Products of matrices: a tile is a block of C. Elements of BLAS's types go to its gemm as they
 * lie; halves and bytes are made floats, a slice of k at a time, and summed as floats, where oneDNN
 * doesn't multiply them as they are.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "klib/blas.h"
#include "klib/cores.h"
#include "klib/halves.h"
#include "klib/onednn.h"

/* Of C: smaller blocks spend more on packing their panels than threads gain. */
#define BLOCK_MIN 96
#define BLOCK_MAX 1024
#define GFLOPS    30.0 /* of a thread, about */
/* Of oneDNN's, which copies both operands of a block and needs no panels of ours. */
#define ONEDNN_MIN 128
#define ONEDNN_MAX 2048
/* Blocks of its products of halves, whatever the threads: its order of a sum follows the block. */
#define HALVES_BLOCKS 32
#define HALVES_MIN    256

uint64_t klib_gemm_ns(const struct klib_gemm *g, uint64_t problems)
{
    double products = (double)g->m * (double)g->n * (double)g->k * (double)problems;

    return (uint64_t)(products * (g->sums == KLIB_C32 || g->sums == KLIB_C64 ? 8 : 2) / GFLOPS);
}

static uint32_t blocks_of(int64_t size, int64_t edge)
{
    return (uint32_t)HD_MAX((size + edge - 1) / edge, 1);
}

/* Halves of the longer edge, until there are `wanted` blocks in all. */
static void cut(struct klib_gemm *g, uint64_t problems, uint64_t wanted, int64_t smallest,
                int64_t largest)
{
    int64_t rows = HD_MIN(g->m, largest), columns = HD_MIN(g->n, largest);

    while (problems * blocks_of(g->m, rows) * blocks_of(g->n, columns) < wanted &&
           HD_MAX(rows, columns) >= 2 * smallest) {
        if (columns >= rows)
            columns = (columns + 1) / 2;
        else
            rows = (rows + 1) / 2;
    }
    g->row_blocks = blocks_of(g->m, rows);
    g->column_blocks = blocks_of(g->n, columns);
}

void klib_gemm_blocks(struct klib_gemm *g, uint64_t problems, unsigned threads)
{
    /* Every thread has two: threads are not alike in speed. */
    uint64_t wanted = threads > 1 ? 2 * (uint64_t)threads : 1;

    g->engine = klib_cores_has(g)           ? KLIB_CORES
                : klib_onednn_has(g)        ? KLIB_ONEDNN
                : klib_onednn_has_floats(g) ? KLIB_ONEDNN_FLOATS
                                            : KLIB_OPENBLAS;
    if (g->engine != KLIB_ONEDNN)
        cut(g, problems, wanted, BLOCK_MIN, BLOCK_MAX);
    else if (g->a.type == KLIB_F32 || g->a.type == KLIB_I8)
        cut(g, problems, wanted, ONEDNN_MIN, ONEDNN_MAX);
    else
        cut(g, 1, HALVES_BLOCKS, HALVES_MIN, ONEDNN_MAX);
}

/* ---- one block */

const char *klib_base_of(const struct klib_matrix *x, uint64_t problem)
{
    if (x->is_listed)
        return ((char *const *)x->address)[problem];
    return (const char *)x->address + klib_bytes(x->type, (int64_t)problem * x->step);
}

struct klib_block klib_block_at(const struct klib_gemm *g, uint64_t problem, int64_t row,
                                int64_t column, int64_t m, int64_t n)
{
    const struct klib_matrix *a = &g->a, *b = &g->b, *c = &g->c;

    return (struct klib_block){
        .a = klib_base_of(a, problem) + klib_bytes(a->type, row * (klib_lies(a) ? 1 : a->ld)),
        .b = klib_base_of(b, problem) + klib_bytes(b->type, column * (klib_lies(b) ? b->ld : 1)),
        .c = (char *)klib_base_of(c, problem) + klib_bytes(c->type, row + column * c->ld),
        .m = m,
        .n = n};
}

static struct klib_block block_of(const struct klib_gemm *g, uint64_t tile)
{
    uint64_t i = tile % g->row_blocks, j = tile / g->row_blocks % g->column_blocks;
    int64_t rows = (g->m + g->row_blocks - 1) / g->row_blocks;
    int64_t columns = (g->n + g->column_blocks - 1) / g->column_blocks;
    int64_t r = (int64_t)i * rows, c = (int64_t)j * columns;

    return klib_block_at(g, tile / g->row_blocks / g->column_blocks, r, c, HD_MIN(rows, g->m - r),
                         HD_MIN(columns, g->n - c));
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

void klib_gemm_direct(const struct klib_gemm *g, const struct klib_block *at, const void *alpha,
                      const void *beta, void *c, int64_t ldc)
{
    static void (*const gemm[])(const char *, const char *, const int64_t *, const int64_t *,
                                const int64_t *, const void *, const void *, const int64_t *,
                                const void *, const int64_t *, const void *, void *,
                                const int64_t *) = {
        [KLIB_F32] = sgemm_, [KLIB_F64] = dgemm_, [KLIB_C32] = cgemm_, [KLIB_C64] = zgemm_};
    char op[2] = {(char)g->a.op, (char)g->b.op};

    gemm[g->sums](&op[0], &op[1], &at->m, &at->n, &g->k, alpha, at->a, &g->a.ld, at->b, &g->b.ld,
                  beta, c, &ldc);
}

bool klib_gemm_sums(const struct klib_gemm *g, const struct klib_block *at, struct klib_sums *s,
                    klib_panels_fn *scale, const void *user)
{
    if (g->engine == KLIB_CORES && !scale)
        return klib_cores_multiply(g, at, s->f);
    if (g->engine == KLIB_ONEDNN && !scale) {
        /* Sums of bytes that are wanted as floats are whole numbers until their end. */
        bool is_whole = g->a.type == KLIB_I8;
        int32_t *whole = s->i ? s->i : (int32_t *)s->f;
        bool done = klib_onednn_multiply(g, at, is_whole ? (void *)whole : s->f,
                                         is_whole ? KLIB_I32 : KLIB_F32, at->m, false);
        for (int64_t i = 0; done && is_whole && !s->i && i < at->m * at->n; i++)
            s->f[i] = (float)whole[i];
        if (done)
            return true;
    }
    const float one = 1;
    int64_t slice = s->i ? KLIB_SLICE_I8 : KLIB_SLICE;
    bool an = klib_lies(&g->a), bn = klib_lies(&g->b);
    char ta = an ? 'N' : 'T', tb = bn ? 'N' : 'T';

    for (int64_t k = 0; k < g->k; k += slice) {
        int64_t w = HD_MIN(slice, g->k - k);
        float beta = k && !s->i ? 1 : 0;
        int64_t lda = an ? at->m : w, ldb = bn ? w : at->n;
        klib_widen(s->a, at->a + klib_bytes(g->a.type, k * (an ? g->a.ld : 1)), g->a.type, g->a.ld,
                   lda, an ? w : at->m);
        klib_widen(s->b, at->b + klib_bytes(g->b.type, k * (bn ? 1 : g->b.ld)), g->b.type, g->b.ld,
                   ldb, bn ? at->n : w);
        if (scale)
            scale(user, s, k, w);
        if (g->engine == KLIB_OPENBLAS || g->engine == KLIB_CORES ||
            !klib_onednn_floats(!an, !bn, at->m, at->n, w, s->a, lda, s->b, ldb, beta != 0, s->f,
                                at->m))
            sgemm_(&ta, &tb, &at->m, &at->n, &w, &one, s->a, &lda, s->b, &ldb, &beta, s->f, &at->m);
        for (int64_t i = 0; s->i && i < at->m * at->n; i++)
            s->i[i] = (int32_t)((uint32_t)s->i[i] + (uint32_t)(int32_t)s->f[i]);
    }
    return true;
}

bool klib_sums_init(struct klib_sums *s, const struct klib_gemm *g, int64_t m, int64_t n)
{
    bool whole = g->sums == KLIB_I32;
    int64_t slice = HD_MIN(whole ? KLIB_SLICE_I8 : KLIB_SLICE, HD_MAX(g->k, 1));
    size_t block = (size_t)(m * n), panels = (size_t)(slice * (m + n));

    *s = (struct klib_sums){.f = malloc((block * (whole ? 2 : 1) + panels) * sizeof(float))};
    if (!s->f)
        return false;
    s->a = s->f + block;
    s->b = s->a + slice * m;
    if (whole) {
        s->i = (int32_t *)(s->b + slice * n);
        memset(s->i, 0, block * sizeof(*s->i));
    }
    return true;
}

void klib_sums_fini(struct klib_sums *s)
{
    free(s->f);
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

static void finish(const struct klib_gemm *g, const struct klib_block *at,
                   const struct klib_sums *s, const void *alpha, const void *beta)
{
    for (int64_t j = 0; j < at->n; j++) {
        char *c = at->c + klib_bytes(g->c.type, j * g->c.ld);
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

bool klib_gemm_may_end(const struct klib_gemm *g, const void *alpha, const void *beta)
{
    if (g->engine != KLIB_ONEDNN)
        return false;
    if (g->sums == KLIB_I32) {
        int32_t old = *(const int32_t *)beta;
        return *(const int32_t *)alpha == 1 && (old == 0 || old == 1);
    }
    float by = *(const float *)alpha, old = *(const float *)beta;
    if (g->a.type == KLIB_F32)
        return old == 0 ? by != 0 : by == 1 && old == 1;
    return g->a.type != KLIB_I8 && by == 1 && old == 0;
}

bool klib_gemm_ends(const struct klib_gemm *g, const struct klib_block *at, const void *alpha,
                    const void *beta)
{
    bool is_whole = g->sums == KLIB_I32;
    bool is_added = is_whole ? *(const int32_t *)beta != 0 : *(const float *)beta != 0;
    float by = is_whole ? 1 : *(const float *)alpha;

    assert(klib_gemm_may_end(g, alpha, beta));
    if (!klib_onednn_multiply(g, at, at->c, g->c.type, g->c.ld, is_added))
        return false;
    /* Its own alpha would be multiplied in other places for other sizes. */
    for (int64_t j = 0; by != 1 && j < at->n; j++) {
        float *c = (float *)at->c + j * g->c.ld;
        for (int64_t i = 0; i < at->m; i++)
            c[i] *= by;
    }
    return true;
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
        struct klib_block at = block_of(g, tile);
        if (at.m <= 0 || at.n <= 0)
            continue;
        if (klib_gemm_may_end(g, alpha, beta) && klib_gemm_ends(g, &at, alpha, beta))
            continue;
        if (lies) {
            klib_gemm_direct(g, &at, alpha, beta, at.c, g->c.ld);
            continue;
        }
        struct klib_sums s;
        if (!klib_sums_init(&s, g, at.m, at.n))
            return heddle_native_fail(call, 1, "no memory for a block of a product");
        bool done = klib_gemm_sums(g, &at, &s, NULL, NULL);
        if (done)
            finish(g, &at, &s, alpha, beta);
        klib_sums_fini(&s);
        if (!done)
            return heddle_native_fail(call, 1, "no memory for panels of a product");
    }
    return 0;
}
