/*
 * Products by oneDNN. Those of floats and of bytes are its gemm, which makes nothing beforehand.
 * Products of 16 bits are primitives.
 *
 * Its gemm chooses among loops by size and leading dimension, and these add in different orders
 * beyond some hundred elements of k. So floats are given to it in slices of k, in which all add in
 * order: a sum is the same whatever the block, and so the number of threads.
 *
 * oneDNN's matrices are stored by rows: C' = op(B)' op(A)', whose rows are C's columns.
 */
#include "klib/onednn.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "klib/onednn_open.h"
#include "klib/real_gemm.h"

/* ---- what is its */

/*
 * Types, what the processor has to have for them (one of the bits), and from how many products of
 * elements on it is faster. Bytes: without these instructions it adds pairs of products in 16 bits,
 * which overflow. Halves, without: its own loops are slower than floats'. Floats: OpenBLAS is as
 * fast with AVX2.
 */
static const struct {
    uint8_t type;
    uint32_t isa;
    double products;
} limits[] = {
    {KLIB_F32, DNNL_AVX512, 128.0 * 128 * 128},
    {KLIB_I8, DNNL_AVX2_VNNI | DNNL_AVX512_VNNI, 24.0 * 24 * 24},
    {KLIB_BF16, DNNL_AVX512_BF16, 256.0 * 256 * 256},
    {KLIB_F16, DNNL_AMX_FP16, 256.0 * 256 * 256},
};

/* Longer sums of products of bytes may overflow. */
#define K_MAX_I8 131071

static bool has(enum klib_type type, const struct klib_gemm *g)
{
    double products = (double)g->m * (double)g->n * (double)g->k;

    for (size_t i = 0; i < HD_COUNT_OF(limits); i++)
        if (limits[i].type == type) {
            const struct klib_onednn *info =
                products >= limits[i].products ? klib_onednn_info() : NULL;
            return info && info->isa & limits[i].isa;
        }
    return false;
}

bool klib_onednn_has(const struct klib_gemm *g)
{
    if (g->a.type != g->b.type || (g->a.type == KLIB_I8 && g->k > K_MAX_I8))
        return false;
    if (g->is_pedantic && (g->a.type == KLIB_BF16 || g->a.type == KLIB_F16))
        return false;
    return has(g->a.type, g);
}

bool klib_onednn_has_floats(const struct klib_gemm *g)
{
    return (g->sums == KLIB_F32 || g->sums == KLIB_I32) && has(KLIB_F32, g);
}

/* ---- primitives, which are kept */

struct shape {
    int64_t m, n, k, lda, ldb, ldc;
    uint16_t type, c_type, ta, tb;
};
_Static_assert(sizeof(struct shape) == 6 * 8 + 4 * 2, "compared as bytes");

struct product {
    struct klib_dnnl_kept kept;
    struct shape shape;
    dnnl_handle primitive; /* NULL: oneDNN has no such product */
    dnnl_handle desc, a, b, c, scratch;
    size_t scratch_B;
};

/* rows x columns, stored by rows, or its transpose. */
static bool describe(dnnl_handle *out, int64_t rows, int64_t columns, int64_t ld, bool transposed,
                     enum klib_type type)
{
    const int64_t dims[] = {rows, columns}, strides[] = {transposed ? 1 : ld, transposed ? ld : 1};

    return !klib_dnnl.memory_desc_create_with_strides(out, 2, dims, klib_dnnl_type(type), strides);
}

static void product_destroy(struct klib_dnnl_kept *kept)
{
    struct product *p = (struct product *)kept;
    dnnl_handle descs[] = {p->a, p->b, p->c};

    if (p->primitive)
        (void)klib_dnnl.primitive_destroy(p->primitive);
    if (p->desc)
        (void)klib_dnnl.primitive_desc_destroy(p->desc);
    for (size_t i = 0; i < HD_COUNT_OF(descs); i++)
        if (descs[i])
            (void)klib_dnnl.memory_desc_destroy(descs[i]);
    free(p);
}

static bool make_primitive(struct product *p)
{
    dnnl_handle attr = klib_dnnl_attr();

    if (!attr)
        return false;
    bool is_made = !klib_dnnl.matmul_primitive_desc_create(&p->desc, klib_dnnl.engine, p->b, p->a,
                                                           NULL, p->c, attr) &&
                   !klib_dnnl.primitive_create(&p->primitive, p->desc);
    (void)klib_dnnl.primitive_attr_destroy(attr);
    if (!is_made)
        return false;
    p->scratch = klib_dnnl.primitive_desc_query_md(p->desc, DNNL_QUERY_SCRATCHPAD, 0);
    p->scratch_B = p->scratch ? klib_dnnl.memory_desc_get_size(p->scratch) : 0;
    return true;
}

/* A shape that oneDNN doesn't have is one, too: it is asked once. */
static struct klib_dnnl_kept *product_create(const void *key)
{
    const struct shape *s = key;
    struct product *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->shape = *s;
    p->kept = (struct klib_dnnl_kept){
        .key = &p->shape, .key_B = sizeof(p->shape), .destroy = product_destroy};
    if (!describe(&p->a, s->k, s->m, s->lda, s->ta, s->type) ||
        !describe(&p->b, s->n, s->k, s->ldb, s->tb, s->type) ||
        !describe(&p->c, s->n, s->m, s->ldc, false, s->c_type) || !make_primitive(p))
        hd_log_debug(HD_DEBUG_LOAD, "oneDNN has no product of %lld x %lld x %lld, types %u and %u",
                     (long long)s->m, (long long)s->n, (long long)s->k, s->type, s->c_type);
    return &p->kept;
}

static bool multiply_halves(const struct klib_gemm *g, const struct klib_block *at, void *c,
                            enum klib_type type, int64_t ldc)
{
    const struct shape shape = {.m = at->m,
                                .n = at->n,
                                .k = g->k,
                                .lda = g->a.ld,
                                .ldb = g->b.ld,
                                .ldc = ldc,
                                .type = g->a.type,
                                .c_type = type,
                                .ta = !klib_lies(&g->a),
                                .tb = !klib_lies(&g->b)};
    struct product *p = (struct product *)klib_dnnl_get(&shape, sizeof(shape), product_create);
    struct klib_dnnl_helper *h = p && p->primitive ? klib_dnnl_helper_get(p->scratch_B) : NULL;
    bool done = false;

    if (h) {
        const struct klib_dnnl_operand operands[] = {{DNNL_ARG_SRC, p->b, (void *)at->b},
                                                     {DNNL_ARG_WEIGHTS, p->a, (void *)at->a},
                                                     {DNNL_ARG_DST, p->c, c},
                                                     {DNNL_ARG_SCRATCHPAD, p->scratch, h->scratch}};
        done = klib_dnnl_execute(p->primitive, h, operands, p->scratch_B ? 4 : 3);
        klib_dnnl_helper_put(h);
    }
    if (p)
        klib_dnnl_put(&p->kept);
    return done;
}

bool klib_onednn_floats(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a,
                        int64_t lda, const float *b, int64_t ldb, bool is_added, float *c,
                        int64_t ldc)
{
    if (!klib_onednn_info())
        return false;
    int threads = klib_dnnl_enter();
    bool done = true;
    for (int64_t from = 0; done && from < k; from += KLIB_SLICE) {
        int64_t w = HD_MIN(KLIB_SLICE, k - from);
        const float one = 1, beta = is_added || from ? 1 : 0;
        const float *p = a + from * (ta ? 1 : lda), *q = b + from * (tb ? ldb : 1);
        done = !klib_dnnl.sgemm(tb ? 'T' : 'N', ta ? 'T' : 'N', n, m, w, 1, q, ldb, p, lda, beta, c,
                                ldc);
        if (!done && from) { /* it had no memory, and C is begun */
            sgemm_(ta ? "T" : "N", tb ? "T" : "N", &m, &n, &w, &one, p, &lda, q, &ldb, &beta, c,
                   &ldc);
            done = true;
        }
    }
    klib_dnnl_leave(threads);
    return done;
}

bool klib_onednn_multiply(const struct klib_gemm *g, const struct klib_block *at, void *c,
                          enum klib_type type, int64_t ldc, bool is_added)
{
    assert(type == (g->a.type == KLIB_I8 ? KLIB_I32 : type));
    assert(!is_added || type == KLIB_I32 || g->a.type == KLIB_F32);
    if (g->a.type == KLIB_F32)
        return klib_onednn_floats(!klib_lies(&g->a), !klib_lies(&g->b), at->m, at->n, g->k,
                                  (const float *)at->a, g->a.ld, (const float *)at->b, g->b.ld,
                                  is_added, c, ldc);
    if (!klib_onednn_info())
        return false;
    const int32_t zero = 0;
    int threads = klib_dnnl_enter();
    bool done = g->a.type == KLIB_I8
                    ? !klib_dnnl.gemm_s8s8s32(
                          klib_lies(&g->b) ? 'N' : 'T', klib_lies(&g->a) ? 'N' : 'T', 'F', at->n,
                          at->m, g->k, 1, (const int8_t *)at->b, g->b.ld, 0, (const int8_t *)at->a,
                          g->a.ld, 0, is_added ? 1 : 0, c, ldc, &zero)
                    : multiply_halves(g, at, c, type, ldc);
    klib_dnnl_leave(threads);
    return done;
}
