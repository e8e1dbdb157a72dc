/*
 * What wgmma and tcgen05 read of shared memory. Pieces of 16 bytes overlap and come in any order,
 * so they are collected first, and told as the stretches that they make.
 */
#include <assert.h>

#include "model/matrix.h"
#include "model/tensor.h"
#include "san/lanes.h"
#include "san/payload.h"

enum { WINDOW_MAX_B = 1 << 18, PIECES = WINDOW_MAX_B / IR_MATRIX_PIECE_B, WORD = 64 };

struct window {
    uint64_t has[PIECES / WORD]; /* a bit for each piece */
    uint64_t beyond;             /* a piece that lies outside; UINT64_MAX: none does */
    uint32_t end;                /* pieces behind the last one */
};

struct matrices {
    struct window window[IR_TENSOR_BLOCKS];
    uint64_t window_B;
};

static void take(void *user, unsigned block, uint32_t offset)
{
    struct matrices *m = user;
    struct window *w = &m->window[block];
    uint32_t piece = offset / IR_MATRIX_PIECE_B;

    assert(block < IR_TENSOR_BLOCKS);
    if (offset + UINT64_C(16) > m->window_B || piece >= PIECES) {
        w->beyond = HD_MIN(w->beyond, offset);
        return;
    }
    w->has[piece / WORD] |= UINT64_C(1) << piece % WORD;
    w->end = HD_MAX(w->end, piece + 1);
}

static bool has(const struct window *w, uint32_t piece)
{
    return w->has[piece / WORD] >> piece % WORD & 1;
}

/* ---- telling */

struct telling {
    struct san_access part;
    const struct san_payload_to *to;
    enum hd_status status;
};

static void report(struct telling *t, uint64_t offset, uint64_t size_B)
{
    uint64_t address[SAN_LANES];

    address[__builtin_ctz(t->part.lanes)] = offset;
    t->part.address = address;
    t->part.size_B = size_B;
    enum hd_status said = t->to->access(t->to->user, &t->part);
    t->status = t->status == HD_OK ? said : t->status;
}

/* ---- what is read */

static uint64_t descriptor(const struct san_access *a, unsigned operand)
{
    uint32_t lane = (uint32_t)__builtin_ctz(a->lanes);

    return (uint32_t)a->operands[operand][lane] | a->operands[operand + 1][lane] << 32;
}

static void tensor(const struct san_access *a, const struct ir_tensor *op, unsigned nblocks,
                   struct matrices *out)
{
    const struct ir_tensor_cta cta = {.nblocks = nblocks, .lane = 0};
    uint32_t src[IR_TENSOR_MMA_SOURCES * SAN_LANES] = {0}, lane = (uint32_t)__builtin_ctz(a->lanes);

    for (unsigned i = 0; a->operands[i]; i++)
        src[i * SAN_LANES] = (uint32_t)a->operands[i][lane];
    (void)!ir_tensor_pieces(op, &cta, src, take, out); /* else the device says so */
}

static enum hd_status report_all(const struct san_cta *cta, const struct san_access *access,
                                 const struct san_payload_to *to, const struct matrices *m,
                                 unsigned nblocks)
{
    struct telling t = {.part = *access, .to = to, .status = HD_OK};

    t.part.lanes &= -access->lanes;
    t.part.space = IR_SPACE_SHARED;
    t.part.what = SAN_READ;
    t.part.align_B = 1;
    for (unsigned i = 0; i < nblocks; i++) {
        uint32_t rank = nblocks > 1 ? (cta->rank & ~1u) + i : cta->rank;
        t.part.peer = rank == cta->rank ? 0 : rank + 1;
        const struct window *w = &m->window[i];
        for (uint32_t first = 0, end; first < w->end; first = end) {
            end = first + 1;
            if (!has(w, first))
                continue;
            while (end < w->end && has(w, end))
                end++;
            report(&t, (uint64_t)first * IR_MATRIX_PIECE_B,
                   (uint64_t)(end - first) * IR_MATRIX_PIECE_B);
        }
        if (w->beyond != UINT64_MAX)
            report(&t, w->beyond, IR_MATRIX_PIECE_B);
    }
    return t.status;
}

enum hd_status san_matrix_access(const struct san_cta *cta, const struct san_access *access,
                                 const struct san_payload_to *to)
{
    const struct ir_instr *in = ir_probed(access->probe);
    struct matrices m = {.window_B = cta->launch->about.shared_B};
    struct san_access one = *access;
    enum hd_status status = HD_OK;
    unsigned nblocks = 1;

    m.window[0].beyond = m.window[1].beyond = UINT64_MAX;
    if (in->op == IR_OP_MMA) {
        const struct ir_mma *mma = ir_ext_mma(in);
        bool both = mma->flags >> IR_MMA_A_WINDOW & 1;

        if (both)
            ir_mma_pieces(mma, 'a', access->warp, descriptor(access, 0), take, &m);
        ir_mma_pieces(mma, 'b', access->warp, descriptor(access, both ? 2 : 0), take, &m);
        return report_all(cta, access, to, &m, nblocks);
    }
    /* Of a pair of blocks both windows: the even one's first. */
    const struct ir_tensor *op = ir_ext_tensor(in);
    const uint32_t *c = cta->launch->about.cluster;
    nblocks = op->flags >> IR_TENSOR_PAIR & 1 && (cta->rank | 1) < c[0] * c[1] * c[2] ? 2 : 1;
    san_foreach_lane(lane, access->lanes) {
        struct matrices own = m;
        enum hd_status said;
        one.lanes = 1u << lane;
        tensor(&one, ir_ext_tensor(in), nblocks, &own);
        said = report_all(cta, &one, to, &own, nblocks);
        status = status == HD_OK ? said : status;
    }
    return status;
}
