/*
 * Matrix products as a GPU's tensor cores add: fragments become numbers by k, which tcore prepares
 * and multiplies. What it does not take, the model makes.
 */
#include "jit/rt/jit_rt_mma.h"
#include "jit/rt/jit_rt_products.h"

#include <assert.h>
#include <string.h>

#include "ir/ir.h"
#include "model/eval.h"
#include "model/matrix.h"
#include "model/tensor_core.h"

#if defined(__x86_64__)

enum {
    ROWS = TCORE_ROWS,
    COLUMNS = TCORE_COLUMNS,
    N_MAX = 256,
    REGISTERS_MAX = 16,
    SUMS_MAX = 4,
    ROW_TILES_MAX = 2, /* of a warp's product */
    COLUMN_TILES_MAX = 4
};

/* What a path's products of a kind are made with. */
struct maker {
    struct tcore_form form;
    const struct tcore_vectors *vectors;
    const struct jit_core_level *level;
};

static bool maker_init(struct maker *m, const struct ir_mma *mma, enum tcore_unit unit,
                       enum jit_path path)
{
    struct tcore_rule rule;
    const bool is_avx512 = path == JIT_AVX512;

    m->level = is_avx512 ? &jit_core_level_avx512 : &jit_core_level_avx2;
    m->vectors =
        tcore_vectors_get((enum hd_host_level)path, is_avx512 && jit_uses(JIT_AVX512, "vpopcntdq"));
    return ir_core_rule_find(unit, mma->a, mma->b, false, mma->k, &rule) &&
           tcore_form_init(&m->form, &rule, mma->k, ir_core_least(mma->a), ir_core_least(mma->b),
                           mma->c == IR_F16, mma->d == IR_F16);
}

static void a_prepare(const struct maker *m, const struct ir_mma *mma, const void *regs,
                      struct tcore_a *out)
{
    float x[TCORE_K][ROWS] __attribute__((aligned(64)));

    m->level->a(mma->a, regs, mma->k, x);
    m->vectors->prepare_a(&m->form, (const float(*)[ROWS])x, out);
}

static void b_prepare(const struct maker *m, const struct ir_mma *mma, const void *regs,
                      struct tcore_b *out)
{
    float x[TCORE_K][COLUMNS] __attribute__((aligned(64)));

    m->level->b(mma->b, regs, mma->k, x);
    m->vectors->prepare_b(&m->form, (const float(*)[COLUMNS])x, out);
}

static bool tile_add(const struct maker *m, const struct ir_mma *mma,
                     const struct tcore_pair *pairs, unsigned n, const void *c, void *d)
{
    float sum[COLUMNS][ROWS] __attribute__((aligned(64)));

    m->level->sums(mma->c, c, sum);
    if (!m->vectors->add(&m->form, pairs, n, sum))
        return false;
    m->level->put(mma->d, (const float(*)[ROWS])sum, d);
    return true;
}

/* ---- products that stand together */

/* A tile by the model. */
static void tile_evaluate(const struct jit_products_task *t, const struct jit_products_unit *u,
                          unsigned number)
{
    const unsigned na = t->list->a_registers, nb = t->list->b_registers,
                   ns = t->list->sum_registers;
    uint32_t(*sums)[32] = t->area->tile[u->tile[number]];
    struct ir_mma tile = *t->mma;
    uint32_t src[REGISTERS_MAX][32], dst[SUMS_MAX][32];

    tile.m = ROWS, tile.n = COLUMNS;
    assert(na + nb + ns <= REGISTERS_MAX && ns <= SUMS_MAX);
    for (unsigned s = 0; s < u->nsteps; s++) {
        memcpy(src, t->area->a[u->step[s].a], na * sizeof(src[0]));
        memcpy(src + na, t->area->b[u->step[s].b[number]], nb * sizeof(src[0]));
        memcpy(src + na + nb, sums, ns * sizeof(src[0]));
        ir_eval_mma(&tile, src, dst);
        memcpy(sums, dst, ns * sizeof(dst[0]));
    }
}

struct ready {
    struct tcore_a a[JIT_PRODUCTS_A_MAX];
    struct tcore_b b[JIT_PRODUCTS_B_MAX];
};

bool jit_core_products(const struct jit_products_task *t, enum jit_path path)
{
    const struct jit_products_unit *u = jit_products_first(t->list);
    struct tcore_pair pairs[JIT_PRODUCTS_MAX];
    struct ready ready; /* what is used is written first */
    struct maker m;
    bool done[JIT_PRODUCTS_MAX];

    if (t->mma->c != t->mma->d || !maker_init(&m, t->mma, TCORE_MMA, path))
        return false;
    unsigned mode = tcore_enter(false);
    for (unsigned i = 0; i < t->list->na; i++)
        a_prepare(&m, t->mma, t->area->a[i], &ready.a[i]);
    for (unsigned i = 0; i < t->list->nb; i++)
        b_prepare(&m, t->mma, t->area->b[i], &ready.b[i]);
    (void)tcore_enter(true);
    for (unsigned i = 0; i < t->list->nunits; i++, u = jit_products_next(u)) {
        for (unsigned tile = 0; tile < u->ntiles; tile++) {
            uint32_t(*sums)[32] = t->area->tile[u->tile[tile]];
            for (unsigned s = 0; s < u->nsteps; s++)
                pairs[s] =
                    (struct tcore_pair){&ready.a[u->step[s].a], &ready.b[u->step[s].b[tile]]};
            done[u->tile[tile]] = tile_add(&m, t->mma, pairs, u->nsteps, sums, sums);
        }
    }
    tcore_leave(mode);
    u = jit_products_first(t->list);
    for (unsigned i = 0; i < t->list->nunits; i++, u = jit_products_next(u)) {
        for (unsigned tile = 0; tile < u->ntiles; tile++)
            if (!done[u->tile[tile]])
                tile_evaluate(t, u, tile);
    }
    return true;
}

/* ---- one product */

static const void *registers_after(const void *regs, unsigned n)
{
    return (const uint32_t(*)[32])regs + n;
}

/* Registers of a tile's sums. */
static unsigned sum_registers(enum ir_type type)
{
    return type == IR_F16 ? 2 : 4;
}

bool jit_core_multiply(const struct ir_mma *mma, enum jit_path path, const void *src, void *dst)
{
    const unsigned column_tiles = mma->n / COLUMNS, row_tiles = mma->m / ROWS;
    const unsigned a_step = ir_mma_registers(mma, 'a') / HD_MAX(row_tiles, 1u),
                   b_step = ir_mma_registers(mma, 'b') / column_tiles;
    const void *b_regs = registers_after(src, ir_mma_registers(mma, 'a'));
    const void *c = registers_after(b_regs, ir_mma_registers(mma, 'b'));
    struct tcore_a a[ROW_TILES_MAX];
    struct tcore_b b[COLUMN_TILES_MAX];
    struct maker m;
    bool done = true;

    if (mma->m < ROWS || !maker_init(&m, mma, TCORE_MMA, path))
        return false;
    assert(row_tiles <= ROW_TILES_MAX && column_tiles <= COLUMN_TILES_MAX);
    unsigned mode = tcore_enter(false);
    for (unsigned i = 0; i < row_tiles; i++)
        a_prepare(&m, mma, registers_after(src, i * a_step), &a[i]);
    for (unsigned i = 0; i < column_tiles; i++)
        b_prepare(&m, mma, registers_after(b_regs, i * b_step), &b[i]);
    (void)tcore_enter(true);
    for (unsigned i = 0; done && i < row_tiles * column_tiles; i++) {
        const struct tcore_pair pair = {&a[i / column_tiles], &b[i % column_tiles]};
        done = tile_add(&m, mma, &pair, 1, registers_after(c, i * sum_registers(mma->c)),
                        (uint32_t(*)[32])dst + i * sum_registers(mma->d));
    }
    tcore_leave(mode);
    return done;
}

bool jit_core_window(const struct ir_mma *mma, enum jit_path path,
                     const struct ir_matrix_access *at, const void *src, void *dst)
{
    const void *c = registers_after(src, ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b'));
    float a_numbers[TCORE_K][ROWS] __attribute__((aligned(64)));
    float b_numbers[N_MAX / COLUMNS * TCORE_K][COLUMNS] __attribute__((aligned(64)));
    struct tcore_a a;
    struct tcore_b b[N_MAX / COLUMNS]; /* what is used is written first */
    struct maker m;

    if (!maker_init(&m, mma, TCORE_WGMMA, path))
        return false;
    if (!(path == JIT_AVX512 ? jit_core_window_read_avx512(mma, at, src, a_numbers, b_numbers)
                             : jit_core_window_read_avx2(mma, at, src, a_numbers, b_numbers)))
        return false;
    unsigned mode = tcore_enter(false);
    bool done = true;
    m.vectors->prepare_a(&m.form, (const float(*)[ROWS])a_numbers, &a);
    for (unsigned i = 0; i < mma->n / COLUMNS; i++)
        m.vectors->prepare_b(&m.form, (const float(*)[COLUMNS])b_numbers + (size_t)i * mma->k,
                             &b[i]);
    (void)tcore_enter(true);
    for (unsigned i = 0; done && i < mma->n / COLUMNS; i++) {
        const struct tcore_pair pair = {&a, &b[i]};
        done = tile_add(&m, mma, &pair, 1, registers_after(c, i * sum_registers(mma->c)),
                        (uint32_t(*)[32])dst + i * sum_registers(mma->d));
    }
    tcore_leave(mode);
    return done;
}

#endif
