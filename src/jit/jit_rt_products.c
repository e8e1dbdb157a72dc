/* Matrix products that stand together, which gen/gen_products.c calls: jit/jit_products.h. */
#include "jit/jit_rt_products.h"

#include <assert.h>
#include <string.h>

#include "ir/ir.h"

enum { LANES = 32, ROWS = 16, COLUMNS = 8, REGISTERS_MAX = 16, SUMS_MAX = 4 };

/* A tile as a product of its own. */
static struct ir_mma tile_of(const struct ir_mma *mma)
{
    struct ir_mma tile = *mma;
    tile.m = ROWS, tile.n = COLUMNS;
    return tile;
}

/* Lanes that are missing keep what they have. */
static void sums_take(uint32_t mask, unsigned n, const uint32_t (*from)[LANES],
                      uint32_t (*tile)[LANES])
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned lane = 0; lane < LANES; lane++)
            tile[i][lane] = mask >> lane & 1 ? from[i][lane] : tile[i][lane];
    }
}

static void step_make(const struct jit_products_task *t, uint32_t how, uint32_t mask, unsigned a,
                      unsigned b, uint32_t (*tile)[LANES])
{
    const struct ir_mma mma = tile_of(t->mma);
    const unsigned na = t->a_registers, nb = t->b_registers, ns = t->sum_registers;
    uint32_t src[REGISTERS_MAX][LANES], dst[SUMS_MAX][LANES];
    uint64_t words[2];
    assert(na + nb + ns <= REGISTERS_MAX && ns <= SUMS_MAX);
    memcpy(words, &mma, sizeof(words));
    memcpy(src, t->area->a[a], na * sizeof(src[0]));
    memcpy(src + na, t->area->b[b], nb * sizeof(src[0]));
    memcpy(src + na + nb, tile, ns * sizeof(src[0]));
    jit_rt_mma(words[0], words[1], how, mask, src, dst);
    sums_take(mask, ns, (const uint32_t(*)[LANES])dst, tile);
}

static void make_one_by_one(const struct jit_products_task *t, uint32_t how, uint32_t mask)
{
    const struct jit_products_unit *u = jit_products_first(t->list);
    for (unsigned i = 0; i < t->list->nunits; i++, u = jit_products_next(u)) {
        for (unsigned s = 0; s < u->nsteps; s++) {
            for (unsigned k = 0; k < u->ntiles; k++)
                step_make(t, how, mask, u->step[s].a, u->step[s].b[k], t->area->tile[u->tile[k]]);
        }
    }
}

void jit_rt_products(uint64_t low, uint64_t high, uint32_t how, uint32_t mask,
                     const struct jit_products *list, const struct jit_products_area *area)
{
    const uint64_t words[2] = {low, high};
    struct ir_mma mma;
    memcpy(&mma, words, sizeof(mma));
    const struct ir_mma tile = tile_of(&mma);
    struct jit_products_task t = {.mma = &mma,
                                  .list = list,
                                  .area = area,
                                  .a_registers = ir_mma_registers(&tile, 'a'),
                                  .b_registers = ir_mma_registers(&tile, 'b'),
                                  .sum_registers = ir_mma_registers(&tile, 'd')};
    if (mask != UINT32_MAX || !jit_products_vectors(&t, how))
        make_one_by_one(&t, how, mask);
}
