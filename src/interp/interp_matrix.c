/* Matrix instructions: the lanes' registers and rows on their way to the model (model/eval.h). */
#include <assert.h>
#include <string.h>

#include "interp/interp_priv.h"
#include "model/matrix.h"

enum { ROW_B = 16, REGISTERS_MAX = 136 };

struct warp_regs {
    uint64_t wide[REGISTERS_MAX * INTERP_WARP]; /* room; registers of 4 or 8 bytes lie in it */
};

#define FOR_MEMBERS(lane, members)                                                                 \
    for (uint32_t lane##_left = (members), lane = 0;                                               \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

static void regs_read(struct interp_warp *warp, uint32_t members, const struct ir_instr *in,
                      uint32_t first, unsigned reg_B, struct warp_regs *out)
{
    uint32_t n = in->nsrc - first;
    assert(n <= REGISTERS_MAX);
    memset(out, 0, (size_t)n * reg_B * INTERP_WARP);
    FOR_MEMBERS(lane, members)
    for (uint32_t i = 0; i < n; i++)
        memcpy((char *)out + ((size_t)i * INTERP_WARP + lane) * reg_B,
               interp_reg(&warp->lanes[lane], in->src[first + i]), reg_B);
}

static void regs_write(struct interp_warp *warp, uint32_t members, const struct ir_instr *in,
                       unsigned reg_B, const struct warp_regs *regs)
{
    assert(in->ndst <= REGISTERS_MAX);
    FOR_MEMBERS(lane, members)
    for (uint32_t i = 0; i < in->ndst; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)regs + ((size_t)i * INTERP_WARP + lane) * reg_B, reg_B);
        interp_set(&warp->lanes[lane], i, bits);
    }
}

/* Rows whose lane is not there are not touched: they read as zeros. */
static bool rows_find(struct interp_warp *warp, uint32_t members, uint32_t nrows,
                      char *out_rows[INTERP_WARP])
{
    for (uint32_t i = 0; i < nrows; i++) {
        bool here = (members >> i & 1) != 0;
        out_rows[i] = here ? interp_row(&warp->lanes[i]) : NULL;
        if (here && !out_rows[i])
            return false;
    }
    return true;
}

static bool load(struct interp_warp *warp, uint32_t members, const struct ir_instr *in)
{
    uint8_t rows[INTERP_WARP][ROW_B] = {{0}};
    char *at[INTERP_WARP];
    struct warp_regs out;
    if (!rows_find(warp, members, 8 * in->ndst, at))
        return false;
    for (uint32_t i = 0; i < 8 * in->ndst; i++) {
        if (at[i])
            memcpy(rows[i], at[i], ROW_B);
    }
    ir_eval_ldmatrix((enum ir_tile)in->imm, in->ndst, (const uint8_t(*)[16])rows,
                     (uint32_t(*)[32]) & out);
    regs_write(warp, members, in, 4, &out);
    return true;
}

static bool store(struct interp_warp *warp, uint32_t members, const struct ir_instr *in)
{
    uint8_t rows[INTERP_WARP][ROW_B];
    char *at[INTERP_WARP];
    struct warp_regs regs;
    uint32_t n = in->nsrc - 1;
    if (!rows_find(warp, members, 8 * n, at))
        return false;
    regs_read(warp, members, in, 1, 4, &regs);
    ir_eval_stmatrix((enum ir_tile)in->imm, n, (const uint32_t(*)[32]) & regs, rows);
    for (uint32_t i = 0; i < 8 * n; i++) {
        if (at[i])
            memcpy(at[i], rows[i], ROW_B);
    }
    return true;
}

/* One whose matrices are in shared memory. */
static bool window_product(struct interp_warp *warp, uint32_t members, const struct ir_mma *mma,
                           const struct warp_regs *src, struct warp_regs *dst)
{
    unsigned lane = (unsigned)__builtin_ctz(members);
    struct interp_thread *t = &warp->lanes[lane];
    const struct ir_matrix_access at = {{t->cta->shared, t->cta->run->shared_B}, warp->index, lane};
    uint64_t bad_B;
    if (ir_eval_mma_window(mma, &at, src, dst, &bad_B))
        return true;
    interp_fail(t, HD_ILLEGAL_ADDRESS,
                "a matrix reaches offset %#llx of %llu bytes of shared memory",
                (unsigned long long)bad_B, (unsigned long long)at.window.size_B);
    return false;
}

static bool product(struct interp_warp *warp, uint32_t members, const struct ir_instr *in)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    unsigned reg_B = ir_mma_register_bits(mma) / 8;
    struct warp_regs src, dst;
    regs_read(warp, members, in, 0, reg_B, &src);
    if (!(mma->flags >> IR_MMA_B_WINDOW & 1))
        ir_eval_mma(mma, &src, &dst);
    else if (!window_product(warp, members, mma, &src, &dst))
        return false;
    regs_write(warp, members, in, reg_B, &dst);
    return true;
}

static bool tensor(struct interp_warp *warp, uint32_t members, const struct ir_instr *in)
{
    unsigned lane = (unsigned)__builtin_ctz(members);
    struct warp_regs src, dst;
    regs_read(warp, members, in, 0, 4, &src);
    if (!interp_tensor(&warp->lanes[lane], ir_ext_tensor_warp(in), lane, (const uint32_t *)&src,
                       (uint32_t *)&dst))
        return false;
    regs_write(warp, members, in, 4, &dst);
    for (uint32_t m = members; m; m &= m - 1)
        interp_note_poll(&warp->lanes[__builtin_ctz(m)]);
    return true;
}

static void transpose(struct interp_warp *warp, uint32_t members, const struct ir_instr *in)
{
    struct warp_regs src, dst;
    regs_read(warp, members, in, 0, 4, &src);
    ir_eval_movmatrix((const uint32_t *)&src, (uint32_t *)&dst);
    regs_write(warp, members, in, 4, &dst);
}

bool interp_matrix(struct interp_warp *warp, uint32_t members, const struct ir_instr *in)
{
    assert(ir_op_is_matrix(in->op) && members);
    if (!interp_probe_warp(warp, members, in->prev))
        return false;
    switch (in->op) {
    case IR_OP_LDMATRIX:
        return load(warp, members, in);
    case IR_OP_STMATRIX:
        return store(warp, members, in);
    case IR_OP_MMA:
        return product(warp, members, in);
    case IR_OP_TENSOR_WARP:
        return tensor(warp, members, in);
    default:
        transpose(warp, members, in);
        return true;
    }
}
