/*
 * Matrix instructions of a warp, which gen/gen_matrix.c calls: registers are arrays of 32 lanes.
 * The lanes outside of `mask` hold anything and count as zeros.
 */
#include "jit/rt/jit_rt_mma.h"
#include "jit/rt/jit_rt_products.h"

#include <assert.h>
#include <string.h>

#include "model/eval.h"
#include "model/matrix.h"

enum { LANES = 32, ROW_B = 16, REGISTERS_MAX = 136, SMALL_MAX = 24, ROWS_PER_REGISTER = 8 };

/* Copies registers; those of lanes that are missing become zeros. */
static const void *present(uint32_t mask, unsigned n, unsigned reg_B, const void *regs, void *room)
{
    if (mask == UINT32_MAX)
        return regs;
    assert(n <= REGISTERS_MAX);
    for (unsigned i = 0; i < n * LANES; i++) {
        char *to = (char *)room + (size_t)i * reg_B;
        if (mask >> i % LANES & 1)
            memcpy(to, (const char *)regs + (size_t)i * reg_B, reg_B);
        else
            memset(to, 0, reg_B);
    }
    return room;
}

void jit_rt_mma(uint64_t low, uint64_t high, uint32_t how, uint32_t mask, const void *src,
                void *dst)
{
    const uint64_t words[2] = {low, high};
    uint64_t room[SMALL_MAX * LANES];
    struct ir_mma mma;
    memcpy(&mma, words, sizeof(mma));
    if (mask != UINT32_MAX)
        src = present(mask, ir_mma_registers(&mma, 's'), ir_mma_register_bits(&mma) / 8, src, room);
    if (!jit_mma_vectors(&mma, how, src, dst))
        ir_eval_mma(&mma, src, dst);
}

/* The same with matrices in shared memory. */
void jit_rt_mma_window(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx,
                       uint32_t mask, uint64_t low, uint64_t high, uint32_t how, const void *src,
                       void *dst);
void jit_rt_mma_window(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx,
                       uint32_t mask, uint64_t low, uint64_t high, uint32_t how, const void *src,
                       void *dst)
{
    const uint64_t words[2] = {low, high};
    const struct ir_matrix_access at = {
        {cta->shared, cta->launch->shared_B}, warp->index, (unsigned)__builtin_ctz(mask)};
    uint64_t room[REGISTERS_MAX * LANES / 2], bad_B = 0;
    struct ir_mma mma;
    memcpy(&mma, words, sizeof(mma));
    if (mask != UINT32_MAX)
        src = present(mask, ir_mma_registers(&mma, 's'), sizeof(uint32_t), src, room);
    if (!jit_products_window(&mma, how, &at, src, dst) &&
        !jit_mma_window(&mma, how, &at, src, dst) &&
        !ir_eval_mma_window(&mma, &at, src, dst, &bad_B))
        cta->launch->services->fault(cta, warp, mask & -mask, instr_idx, HD_ILLEGAL_ADDRESS, bad_B);
}

/* ---- rows */

/* Rows may be anywhere that lanes may load from: the program's memory, which can change. */
static void row_read(uint64_t address, void *row)
{
    memcpy(row, (const void *)(uintptr_t)address, ROW_B);
}

typedef uint16_t halves __attribute__((vector_size(ROW_B)));
typedef uint16_t halves_anywhere __attribute__((vector_size(ROW_B), aligned(1), may_alias));

/* Elements of both in turns, of their first or their last four. */
static halves interleave_low(halves a, halves b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

static halves interleave_high(halves a, halves b)
{
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* Rows that are four apart, side by side. */
static inline __attribute__((always_inline)) void rows_mix(const halves *from, halves *to)
{
    to[0] = interleave_low(from[0], from[4]), to[1] = interleave_high(from[0], from[4]);
    to[2] = interleave_low(from[1], from[5]), to[3] = interleave_high(from[1], from[5]);
    to[4] = interleave_low(from[2], from[6]), to[5] = interleave_high(from[2], from[6]);
    to[6] = interleave_low(from[3], from[7]), to[7] = interleave_high(from[3], from[7]);
}

/*
 * The same as ir_eval_ldmatrix() of IR_TILE_M8N8_TRANS: lane 4 g + t has the elements g of the rows
 * 2 t and 2 t + 1, so that a register is the transposed matrix. Written out, the rows stay in
 * registers.
 */
static void halves_transpose(const void *from, void *to)
{
    const halves_anywhere *f = from;
    halves row[ROWS_PER_REGISTER] = {f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]};
    halves mixed[ROWS_PER_REGISTER];

    rows_mix(row, mixed);
    rows_mix(mixed, row);
    rows_mix(row, mixed);
    for (int i = 0; i < ROWS_PER_REGISTER; i++)
        memcpy((halves_anywhere *)to + i, &mixed[i], ROW_B);
}

static void rows_spread(enum ir_tile tile, uint32_t nregs, const uint8_t (*rows)[ROW_B],
                        uint32_t (*regs)[LANES])
{
    if (tile != IR_TILE_M8N8_TRANS) {
        ir_eval_ldmatrix(tile, nregs, rows, regs);
        return;
    }
    for (uint32_t i = 0; i < nregs; i++)
        halves_transpose(rows[i * ROWS_PER_REGISTER], regs[i]);
}

void jit_rt_ldmatrix(uint32_t tile, uint32_t nregs, uint32_t mask, const uint64_t *address,
                     uint32_t (*regs)[32]);
void jit_rt_ldmatrix(uint32_t tile, uint32_t nregs, uint32_t mask, const uint64_t *address,
                     uint32_t (*regs)[32])
{
    uint8_t room[LANES][ROW_B], (*rows)[ROW_B] = room;
    if (tile == IR_TILE_M8N8) /* a register is eight rows */
        rows = (uint8_t(*)[ROW_B])regs;
    const uint32_t n = nregs * ROWS_PER_REGISTER, all = UINT32_MAX >> (LANES - n);
    if ((mask & all) == all) {
        for (uint32_t i = 0; i < n; i++)
            row_read(address[i], rows[i]);
    } else {
        memset(rows, 0, n * sizeof(*rows));
        for (uint32_t i = 0; i < n; i++) {
            if (mask >> i & 1)
                row_read(address[i], rows[i]);
        }
    }
    if (tile != IR_TILE_M8N8)
        rows_spread((enum ir_tile)tile, nregs, (const uint8_t(*)[ROW_B])rows, regs);
}

/* mask: of rows; members: lanes whose registers count. */
void jit_rt_stmatrix(uint32_t tile, uint32_t nregs, uint32_t mask, uint32_t members,
                     const uint64_t *address, const void *regs);
void jit_rt_stmatrix(uint32_t tile, uint32_t nregs, uint32_t mask, uint32_t members,
                     const uint64_t *address, const void *regs)
{
    uint8_t rows[LANES][ROW_B];
    uint32_t room[REGISTERS_MAX * LANES];
    regs = present(members, nregs, sizeof(uint32_t), regs, room);
    ir_eval_stmatrix((enum ir_tile)tile, nregs, regs, rows);
    for (uint32_t i = 0; i < nregs * ROWS_PER_REGISTER; i++) {
        if (mask >> i & 1)
            memcpy((void *)(uintptr_t)address[i], rows[i], ROW_B);
    }
}

void jit_rt_movmatrix(uint32_t mask, const void *src, uint32_t *dst);
void jit_rt_movmatrix(uint32_t mask, const void *src, uint32_t *dst)
{
    uint32_t room[LANES];
    halves_transpose(present(mask, 1, sizeof(uint32_t), src, room), dst);
}

/* ---- external names */

static const struct {
    const char *name;
    void *address;
} names[] = {
    {"jit_rt_mma", (void *)jit_rt_mma},
    {"jit_rt_products", (void *)jit_rt_products},
    {"jit_rt_mma_window", (void *)jit_rt_mma_window},
    {"jit_rt_ldmatrix", (void *)jit_rt_ldmatrix},
    {"jit_rt_stmatrix", (void *)jit_rt_stmatrix},
    {"jit_rt_movmatrix", (void *)jit_rt_movmatrix},
};

void *jit_rt_mma_lookup(const char *name)
{
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        if (!strcmp(names[i].name, name))
            return names[i].address;
    }
    return NULL;
}
