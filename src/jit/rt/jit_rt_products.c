/* Matrix products that stand together, which gen/gen_products.c calls: jit/jit_products.h. */
#include "jit/rt/jit_rt_products.h"

#include <assert.h>
#include <string.h>

#include "ir/ir.h"
#include "model/matrix.h"

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
    const unsigned na = t->list->a_registers, nb = t->list->b_registers,
                   ns = t->list->sum_registers;
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
    const struct jit_products_task t = {.mma = &mma, .list = list, .area = area};
    if (mask != UINT32_MAX || !jit_products_vectors(&t, how))
        make_one_by_one(&t, how, mask);
}

/* ---- wgmma: factors in shared memory become fragments */

enum { N_MAX = 256, PIECES = 2, A_REGISTERS = 4, B_REGISTERS = 2 };

/* What becomes fragments as it lies there: lines of 32 bytes along k. */
static bool is_plain(const struct ir_mma *mma)
{
    const unsigned others = 1 << IR_MMA_SPARSE | 1 << IR_MMA_MINUS | 1 << IR_MMA_SAT |
                            1 << IR_MMA_A_COLUMNS | 1 << IR_MMA_B_ROWS;
    return !(mma->flags & others) && mma->a != IR_B1 && mma->c == mma->d && mma->m == ROWS &&
           mma->n <= N_MAX && mma->k * ir_type_bits(mma->a) == 8 * PIECES * IR_MATRIX_PIECE_B;
}

/* Where eight lines have their pieces; later eights of lines have them `stride_B` on. */
struct eight_lines {
    const char *at[PIECES][COLUMNS];
    uint32_t stride_B;
};

/* Of lines from `first` on. False: not all are in the window, or a swizzle is in the way. */
static bool lines_find(const struct ir_matrix *m, const struct ir_matrix_window *w, unsigned first,
                       unsigned nlines, struct eight_lines *out)
{
    const uint64_t more_B = (uint64_t)(nlines / COLUMNS - 1) * m->stride_B;
    out->stride_B = m->stride_B;
    if (m->run_B > IR_MATRIX_PIECE_B && m->stride_B % (COLUMNS * m->run_B))
        return false;
    for (unsigned i = 0; i < PIECES * COLUMNS; i++) {
        uint32_t at = ir_matrix_piece(m, first + i % COLUMNS, i / COLUMNS);
        if (at + more_B + IR_MATRIX_PIECE_B > w->size_B)
            return false;
        out->at[i / COLUMNS][i % COLUMNS] = w->base + at;
    }
    return true;
}

/* A piece of each of eight lines. */
static void register_read(const struct eight_lines *lines, unsigned eight, unsigned piece,
                          uint32_t reg[LANES])
{
    for (unsigned i = 0; i < COLUMNS; i++)
        memcpy((char *)reg + (size_t)i * IR_MATRIX_PIECE_B,
               lines->at[piece][i] + (size_t)eight * lines->stride_B, IR_MATRIX_PIECE_B);
}

static bool a_read(const struct ir_matrix *m, const struct ir_matrix_access *at,
                   uint32_t (*regs)[LANES])
{
    struct eight_lines lines;
    if (!lines_find(m, &at->window, at->warp % 4 * ROWS, ROWS, &lines))
        return false;
    for (unsigned i = 0; i < A_REGISTERS; i++)
        register_read(&lines, i % 2, i / 2, regs[i]);
    return true;
}

static bool b_read(const struct ir_matrix *m, const struct ir_matrix_access *at, unsigned ntiles,
                   uint32_t (*regs)[LANES])
{
    struct eight_lines lines;
    if (!lines_find(m, &at->window, 0, ntiles * COLUMNS, &lines))
        return false;
    for (unsigned i = 0; i < ntiles * B_REGISTERS; i++)
        register_read(&lines, i / 2, i % 2, regs[i]);
    return true;
}

/* All tiles of a product whose only fragment of a is number 0. */
struct row_of_tiles {
    struct jit_products head;
    uint16_t unit[N_MAX / COLUMNS / JIT_PRODUCTS_TILES]
                 [2 + JIT_PRODUCTS_TILES + 1 + JIT_PRODUCTS_TILES];
};

bool jit_products_window(const struct ir_mma *mma, uint32_t how, const struct ir_matrix_access *at,
                         const void *src, void *dst)
{
    const uint32_t(*regs)[LANES] = src;
    const uint16_t ntiles = mma->n / COLUMNS;
    uint32_t a[A_REGISTERS][LANES], b[N_MAX / COLUMNS * B_REGISTERS][LANES];
    struct jit_products_area area; /* what is used is written first */
    struct row_of_tiles list;
    const struct ir_mma tile = tile_of(mma);
    const struct jit_products_task t = {.mma = mma, .list = &list.head, .area = &area};
    const uint16_t sum_registers = (uint16_t)ir_mma_registers(&tile, 'd');
    const struct ir_matrix from_a = ir_mma_matrix(mma, 'a', at, src),
                           from_b = ir_mma_matrix(mma, 'b', at, src);
    const bool loads_a = (mma->flags >> IR_MMA_A_WINDOW & 1) != 0;
    const unsigned factors = ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b');
    if (!jit_products_have_dots(mma, how) || !is_plain(mma) ||
        (loads_a && !a_read(&from_a, at, a)) || !b_read(&from_b, at, ntiles, b))
        return false;
    area.a[0] = loads_a ? (const uint32_t(*)[LANES])a : regs;
    memcpy(dst, regs + factors, (size_t)ntiles * sum_registers * sizeof(*regs));
    for (unsigned i = 0; i < ntiles; i++) {
        area.b[i] = (const uint32_t(*)[LANES])b + (size_t)i * B_REGISTERS;
        area.tile[i] = (uint32_t(*)[LANES])dst + (size_t)i * sum_registers;
    }
    list.head.a_registers = A_REGISTERS, list.head.b_registers = B_REGISTERS;
    list.head.sum_registers = sum_registers;
    struct row_of_tiles *row = &list;
    row->head.na = 1, row->head.nb = row->head.ntiles = ntiles;
    row->head.nunits = (uint16_t)((ntiles + 1) / 2);
    for (uint16_t i = 0; i < row->head.nunits; i++) {
        uint16_t first = 2 * i, second = first + 1 < ntiles ? first + 1 : first,
                 n = second - first + 1;
        const uint16_t unit[] = {n, 1, first, second, 0, first, second};
        _Static_assert(sizeof(unit) == sizeof(row->unit[0]), "a unit of one step");
        memcpy(row->unit[i], unit, sizeof(unit));
    }
    return jit_products_vectors(&t, how);
}
