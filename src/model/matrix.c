/* Matrices in shared memory: see matrix.h. And the model of wgmma, which is ir_eval_mma()'s. */
#include "model/matrix.h"

#include <assert.h>
#include <string.h>

#include "model/eval.h"
#include "model/mma.h"

enum { PIECE_SHIFT = 4, TILE_N = 8, A_REGISTERS = 8, B_REGISTERS = 8, C_REGISTERS = 4 };

/* ---- descriptors */

static uint32_t field_B(uint64_t descriptor, unsigned at)
{
    return (uint32_t)(descriptor >> at & 0x3fff) << PIECE_SHIFT;
}

struct ir_matrix ir_matrix_of(uint64_t descriptor, bool trans)
{
    static const uint8_t runs_B[4] = {16, 128, 64, 32};
    struct ir_matrix m = {.start_B = field_B(descriptor, 0),
                          .lead_B = field_B(descriptor, 16),
                          .stride_B = field_B(descriptor, 32),
                          .base = descriptor >> 49 & 7,
                          .run_B = runs_B[descriptor >> 62],
                          .trans = trans};

    if (trans && m.run_B == IR_MATRIX_PIECE_B) {
        m.lead_B = m.stride_B;
        m.stride_B = field_B(descriptor, 16);
    }
    return m;
}

/* ---- fragments of matrices */

static uint64_t descriptor_of(const uint32_t *registers, unsigned lane)
{
    return registers[lane] | (uint64_t)registers[IR_MMA_LANES + lane] << 32;
}

struct ir_matrix ir_mma_matrix(const struct ir_mma *mma, char operand,
                               const struct ir_matrix_access *at, const void *src)
{
    const uint32_t *regs = src;
    bool is_a = operand == 'a';

    if (!is_a)
        regs += IR_MMA_LANES * ir_mma_registers(mma, 'a');
    return ir_matrix_of(descriptor_of(regs, at->lane),
                        ir_mma_has(mma, is_a ? IR_MMA_A_COLUMNS : IR_MMA_B_ROWS));
}

struct gather {
    const struct ir_mma *mma; /* of a tile, all in registers */
    const struct ir_matrix_access *at;
    struct ir_matrix from;
    char operand;
    unsigned first; /* row of a, column of b */
    uint64_t bad_B;
};

static bool element_read(struct gather *g, unsigned reg, unsigned lane, unsigned j, uint32_t *out)
{
    unsigned width = ir_mma_width(g->mma, g->operand);
    struct ir_mma_coord p = ir_mma_coord_of(g->mma, g->operand, reg, lane, j);
    unsigned outer = g->first + (g->operand == 'a' ? p.row : p.col);
    unsigned inner = g->operand == 'a' ? p.col : p.row;
    unsigned line = g->from.trans ? inner : outer, along = g->from.trans ? outer : inner;
    unsigned byte = along * width / 8;
    uint32_t offset = ir_matrix_piece(&g->from, line, byte / IR_MATRIX_PIECE_B);
    const char *piece = ir_matrix_at(&g->at->window, offset);
    uint32_t bits = 0;

    g->bad_B = offset;
    if (!piece)
        return false;
    memcpy(&bits, piece + byte % IR_MATRIX_PIECE_B, width / 8);
    *out |= bits << (j * width % 32);
    return true;
}

/* Fills the registers of a fragment. */
static bool gather(struct gather *g, uint32_t *out)
{
    unsigned per_register = 32 / ir_mma_width(g->mma, g->operand);
    unsigned n = ir_mma_registers(g->mma, g->operand) * IR_MMA_LANES;

    memset(out, 0, n * sizeof(*out));
    for (unsigned i = 0; i < n * per_register; i++) {
        unsigned at = i / per_register;
        if (!element_read(g, at / IR_MMA_LANES, at % IR_MMA_LANES, i % per_register, &out[at]))
            return false;
    }
    return true;
}

/* ---- what is read */

void ir_mma_pieces(const struct ir_mma *mma, char operand, unsigned warp, uint64_t descriptor,
                   ir_matrix_visit *visit, void *user)
{
    bool is_a = operand == 'a';
    unsigned first = is_a ? warp % 4 * 16 : 0, outer = is_a ? mma->m : mma->n;
    unsigned inner = is_a ? ir_mma_stored_k(mma) : ir_mma_full_k(mma);
    struct ir_matrix m =
        ir_matrix_of(descriptor, ir_mma_has(mma, is_a ? IR_MMA_A_COLUMNS : IR_MMA_B_ROWS));
    unsigned line = m.trans ? 0 : first, lines = m.trans ? inner : first + outer;
    unsigned width = ir_mma_width(mma, operand), along = m.trans ? first : 0;
    unsigned from = along * width / 8 / IR_MATRIX_PIECE_B;
    unsigned end_B = (along + (m.trans ? outer : inner)) * width / 8;

    for (; line < lines; line++)
        for (unsigned piece = from; piece * IR_MATRIX_PIECE_B < end_B; piece++)
            visit(user, 0, ir_matrix_piece(&m, line, piece));
}

/* ---- products */

/* The product of eight columns, all in registers. */
static struct ir_mma tile_of(const struct ir_mma *mma)
{
    struct ir_mma tile = *mma;

    tile.n = TILE_N;
    tile.flags &= (uint16_t)~(1u << IR_MMA_A_WINDOW | 1u << IR_MMA_B_WINDOW |
                              1u << IR_MMA_A_COLUMNS | 1u << IR_MMA_B_ROWS);
    return tile;
}

bool ir_eval_mma_window(const struct ir_mma *mma, const struct ir_matrix_access *at,
                        const void *src, void *dst, uint64_t *out_bad_B)
{
    const struct ir_mma tile = tile_of(mma);
    uint32_t in[(A_REGISTERS + B_REGISTERS + C_REGISTERS + 1) * IR_MMA_LANES];
    unsigned na = ir_mma_registers(&tile, 'a') * IR_MMA_LANES;
    unsigned nb = ir_mma_registers(&tile, 'b') * IR_MMA_LANES;
    unsigned nc = ir_mma_registers(&tile, 'c') * IR_MMA_LANES;
    struct gather b = {
        .mma = &tile, .at = at, .from = ir_mma_matrix(mma, 'b', at, src), .operand = 'b'};
    const uint32_t *c = src, *metadata;
    uint32_t *d = dst;

    assert(mma->m == 16 && nb <= B_REGISTERS * IR_MMA_LANES && nc <= C_REGISTERS * IR_MMA_LANES);
    c += (ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b')) * IR_MMA_LANES;
    metadata = c + ir_mma_registers(mma, 'c') * IR_MMA_LANES;
    struct gather g = {.mma = &tile, .at = at, .operand = 'a', .first = at->warp % 4 * 16};
    unsigned n = ir_mma_registers(&tile, 'a') * IR_MMA_LANES;
    bool ok = true;
    assert(n <= A_REGISTERS * IR_MMA_LANES);
    if (ir_mma_has(mma, IR_MMA_A_WINDOW)) {
        g.from = ir_mma_matrix(mma, 'a', at, src);
        ok = gather(&g, in);
        *out_bad_B = g.bad_B;
    } else
        memcpy(in, src, n * sizeof(*in));
    if (!ok)
        return false;
    if (ir_mma_has(mma, IR_MMA_SPARSE))
        memcpy(in + na + nb + nc, metadata, IR_MMA_LANES * sizeof(*metadata));
    for (; b.first < mma->n; b.first += TILE_N) {
        if (!gather(&b, in + na)) {
            *out_bad_B = b.bad_B;
            return false;
        }
        memcpy(in + na + nb, c, nc * sizeof(*c));
        ir_eval_mma_of(&tile, TCORE_WGMMA, in, d);
        c += nc;
        d += ir_mma_registers(&tile, 'd') * IR_MMA_LANES;
    }
    return true;
}
