/*
 * Matrices in shared memory, as wgmma and tcgen05 have them.
 *
 * A matrix is lines of 16-byte pieces. By default a line runs along k: it is a row of a, a column
 * of b. A transposed matrix has lines that run along the rows of a, the columns of b: one for each
 * k. The descriptor says where pieces lie:
 *
 *   - eight lines follow each other, 16 bytes apart or, with a swizzle of 32, 64 or 128 bytes, that
 *     many, and these bytes are the line's next pieces;
 *   - from eight lines to the next eight it is `stride_B`, from one such run of pieces to the next
 *     `lead_B`; the other way round for transposed ones without swizzle;
 *   - a swizzle exchanges pieces: bits 4 .. 6 of the address are xored with bits 7 .. 9, as many as
 *     number the pieces of a run. `base` is subtracted from the latter.
 */
#ifndef HD_MODEL_MATRIX_H
#define HD_MODEL_MATRIX_H

#include "ir/ir.h"

enum { IR_MATRIX_PIECE_B = 16 };

struct ir_matrix {
    uint32_t start_B, stride_B, lead_B;
    uint32_t base;
    uint32_t run_B; /* 16, or the swizzle's bytes */
    bool trans;
};

/* A CTA's shared memory. */
struct ir_matrix_window {
    const char *base;
    uint64_t size_B;
};

struct ir_matrix ir_matrix_of(uint64_t descriptor, bool trans);
/* The swizzle. */
static inline uint32_t ir_matrix_swizzled(const struct ir_matrix *m, uint32_t at)
{
    return at ^ (((at >> 7) - m->base) & (m->run_B / IR_MATRIX_PIECE_B - 1)) << 4;
}

/* Where a piece of a line is before the swizzle; the next lines up to eight follow each other. */
static inline uint32_t ir_matrix_plain(const struct ir_matrix *m, unsigned line, unsigned piece)
{
    unsigned run = m->run_B / IR_MATRIX_PIECE_B, shift = (unsigned)__builtin_ctz(run);

    return m->start_B + line % 8 * m->run_B + line / 8 * m->stride_B +
           (piece & (run - 1)) * IR_MATRIX_PIECE_B + (piece >> shift) * m->lead_B;
}

/* Where a piece of a line is in the window, whatever the window's size. */
static inline uint32_t ir_matrix_piece(const struct ir_matrix *m, unsigned line, unsigned piece)
{
    return ir_matrix_swizzled(m, ir_matrix_plain(m, line, piece));
}

/* The same, for a host; NULL: outside of the window. */
static inline const char *ir_matrix_at(const struct ir_matrix_window *w, uint32_t offset)
{
    return (uint64_t)offset + IR_MATRIX_PIECE_B <= w->size_B ? w->base + offset : NULL;
}

/*
 * A matrix, or its rows (of a) or columns (of b) from `first` on, that becomes f32: of number o and
 * of k at out[o * outer_stride + k * k_stride].
 */
struct ir_matrix_panel {
    struct ir_matrix from;
    struct ir_matrix_window window;
    enum ir_type type;
    unsigned first, outer, inner; /* inner: along k */
    unsigned outer_stride, k_stride;
    float *out;
};

/*
 * The product of a warp whose b, and maybe a, is in shared memory. `src` as for ir_eval_mma(), of a
 * descriptor two registers, which `lane` has. The warp's rows of a are the 16 of its number modulo
 * four. False: the matrix is not inside of the window, *out_bad_B is an offset that is not.
 */
struct ir_matrix_access {
    struct ir_matrix_window window;
    unsigned warp, lane;
};
bool ir_eval_mma_window(const struct ir_mma *mma, const struct ir_matrix_access *at,
                        const void *src, void *dst, uint64_t *out_bad_B) HD_MUST_CHECK;
/* Of each piece that somebody reads: where it is in the window of a block. */
typedef void ir_matrix_visit(void *user, unsigned block, uint32_t offset);
/* Those of operand 'a' or 'b' that a warp reads; block 0. */
void ir_mma_pieces(const struct ir_mma *mma, char operand, unsigned warp, uint64_t descriptor,
                   ir_matrix_visit *visit, void *user);
/* Of operand 'a' or 'b'. */
struct ir_matrix ir_mma_matrix(const struct ir_mma *mma, char operand,
                               const struct ir_matrix_access *at, const void *src);

#endif
