/* What a product in tensor memory works on: matrices as f32, metadata, scales. */
#include <math.h>
#include <string.h>

#include "model/mma.h"
#include "model/tensor_mma.h"

enum { WARP = 32, PIECE_MAX = 32 };

/* ---- elements */

unsigned ir_tensor_mma_bits(enum ir_type type)
{
    return type == IR_E2M3 || type == IR_E3M2 ? 6 : ir_type_bits(type);
}

static float read_decode(const struct ir_tensor_mma *p, enum ir_type type, uint32_t bits)
{
    return p->d == IR_S32 ? (float)ir_mma_integer(type, bits) : ir_mma_float(type, bits);
}

/* Elements of a piece of shared memory; how many there are. */
static unsigned read_piece_elements(const struct ir_tensor_mma *p, enum ir_type type)
{
    unsigned bits = ir_tensor_mma_bits(type);
    return p->kind->padded && bits < 8 ? 16 : IR_MATRIX_PIECE_B * 8 / bits;
}

static uint32_t read_piece_bits(const char *piece, unsigned at, unsigned bits)
{
    uint8_t byte[IR_MATRIX_PIECE_B + 4] = {0};
    uint32_t word, next;

    memcpy(byte, piece, IR_MATRIX_PIECE_B);
    memcpy(&word, byte + at / 8, sizeof(word));
    next = word >> at % 8;
    return bits == 32 ? next : next & ((1u << bits) - 1);
}

static void read_piece_decode(const struct ir_tensor_mma *p, enum ir_type type, const char *piece,
                              float *out)
{
    unsigned bits = ir_tensor_mma_bits(type), n = read_piece_elements(p, type);

    for (unsigned i = 0; i < n; i++)
        out[i] = read_decode(p, type, read_piece_bits(piece, i * bits, bits));
}

/* ---- matrices */

struct target {
    enum ir_type type;
    unsigned outer, inner;           /* rows of a or columns of b; along k */
    unsigned outer_stride, k_stride; /* in `out` */
    float *out;
};

static bool window_read(const struct ir_tensor_mma *p, const struct ir_tensor_block *block,
                        struct ir_matrix from, const struct target *t)
{
    unsigned per = read_piece_elements(p, t->type);
    unsigned lines = from.trans ? t->inner : t->outer, along = from.trans ? t->outer : t->inner;
    unsigned line_stride = from.trans ? t->k_stride : t->outer_stride;
    unsigned along_stride = from.trans ? t->outer_stride : t->k_stride;
    float elements[PIECE_MAX];

    const struct ir_matrix_panel panel = {.from = from,
                                          .window = block->window,
                                          .type = t->type,
                                          .outer = t->outer,
                                          .inner = t->inner,
                                          .outer_stride = t->outer_stride,
                                          .k_stride = t->k_stride,
                                          .out = t->out};
    if (p->cta->fast && t->outer % 8 == 0 && p->cta->fast->read(&panel))
        return true;
    for (unsigned line = 0; line < lines; line++) {
        for (unsigned at = 0; at < along; at += per) {
            uint32_t offset = ir_matrix_piece(&from, line, at / per);
            const char *piece = ir_matrix_at(&block->window, offset);
            float *to = t->out + line * line_stride + at * along_stride;
            if (!piece)
                return ir_tensor_refuse(p->error, HD_ILLEGAL_ADDRESS, offset,
                                        "a matrix reaches outside of shared memory");
            read_piece_decode(p, t->type, piece, elements);
            for (unsigned i = 0; i < HD_MIN(per, along - at); i++)
                to[i * along_stride] = elements[i];
        }
    }
    return true;
}

unsigned ir_tensor_mma_a_columns(const struct ir_tensor_mma *p)
{
    return p->stored_k / (32 / (p->kind->box ? p->kind->box : ir_tensor_mma_bits(p->a)));
}

static void tensor_read(const struct ir_tensor_mma *p, struct ir_tensor_coord at, unsigned row,
                        float *out)
{
    unsigned bits = ir_tensor_mma_bits(p->a), box = p->kind->box ? p->kind->box : bits;
    unsigned shift = box == 8 && bits == 4 ? 2 : 0, per = 32 / box;
    unsigned lane = at.lane + ir_tensor_mma_lane(p, row);
    uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    const uint32_t *cells;

    if (ir_tensor_has(p->op, IR_TENSOR_ASHIFT))
        lane = ir_tensor_shifted(lane);
    cells = &ir_tensor_mma_block(p, row)->memory->cell[lane][at.column];
    for (unsigned i = 0; i < p->stored_k; i++)
        out[i] = read_decode(p, p->a, cells[i / per] >> (i % per * box + shift) & mask);
}

static bool a_read(const struct ir_tensor_mma *p, float *out)
{
    uint64_t descriptor = ir_tensor_pair(p->cta, p->src, IR_TENSOR_A);
    struct target t = {p->a, p->rows, p->stored_k, p->stored_k, 1, out};
    struct ir_tensor_coord at;

    for (unsigned i = 0; i < p->cta->nblocks && !ir_tensor_has(p->op, IR_TENSOR_A_TENSOR); i++) {
        t.out = out + i * p->rows * p->stored_k;
        if (!window_read(p, &p->cta->block[i], ir_matrix_of(descriptor, p->trans_a), &t))
            return false;
    }
    if (!ir_tensor_has(p->op, IR_TENSOR_A_TENSOR))
        return true;
    if (!ir_tensor_locate(p->cta, ir_tensor_mma_source(p, IR_TENSOR_A),
                          ir_tensor_mma_lanes(p, false), ir_tensor_mma_a_columns(p), &at, p->error))
        return false;
    for (unsigned row = 0; row < p->m; row++)
        tensor_read(p, at, row, out + row * p->stored_k);
    return true;
}

/* Rows of b become shorter by the columns before the first one; those that are masked are zero. */
static void read_columns_select(const struct ir_tensor_mma *p, float *b)
{
    for (unsigned i = 0; i < p->k; i++) {
        float *row = b + i * p->n;
        memmove(row, b + i * (p->n + p->shift) + p->shift, p->n * sizeof(*row));
        for (unsigned col = 0; col < p->n; col++)
            if (ir_tensor_mma_is_zero(p, col))
                row[col] = 0;
    }
}

static bool b_read(const struct ir_tensor_mma *p, float *out)
{
    struct ir_matrix from = ir_matrix_of(ir_tensor_pair(p->cta, p->src, IR_TENSOR_B), p->trans_b);
    unsigned columns = p->n / p->cta->nblocks + p->shift;
    struct target t = {p->b, columns, p->k, 1, p->n + p->shift, out};

    for (unsigned i = 0; i < p->cta->nblocks; i++) {
        t.out = out + i * columns;
        if (!window_read(p, &p->cta->block[i], from, &t))
            return false;
    }
    if (p->zeros)
        read_columns_select(p, out);
    return true;
}

static bool matrices_read(const struct ir_tensor_mma *p)
{
    struct ir_tensor_memory *memory = ir_tensor_own(p->cta);

    if (!a_read(p, memory->a) || !b_read(p, memory->b))
        return false;
    for (unsigned i = 0; p->minus && i < p->m * p->stored_k; i++)
        memory->a[i] = -memory->a[i];
    return true;
}

/* ---- what of shared memory they are */

static void read_target_pieces(const struct ir_tensor_mma *p, struct ir_matrix from,
                               const struct target *t, ir_matrix_visit *visit, void *user)
{
    unsigned per = read_piece_elements(p, t->type);
    unsigned lines = from.trans ? t->inner : t->outer, along = from.trans ? t->outer : t->inner;

    for (unsigned block = 0; block < p->cta->nblocks; block++)
        for (unsigned line = 0; line < lines; line++)
            for (unsigned at = 0; at < along; at += per)
                visit(user, block, ir_matrix_piece(&from, line, at / per));
}

/* The product is large: what is used is written first. */
static bool read_describe(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                          const uint32_t *src, struct ir_tensor_mma *p)
{
    struct ir_tensor_error unused;

    p->op = op;
    p->cta = cta;
    p->src = src;
    p->error = &unused;
    return ir_tensor_mma_describe(p);
}

bool ir_tensor_shape(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                     const uint32_t *src, unsigned out_mnk[3])
{
    struct ir_tensor_mma p;

    if (!read_describe(op, cta, src, &p))
        return false;
    out_mnk[0] = p.m;
    out_mnk[1] = p.n;
    out_mnk[2] = p.k;
    return true;
}

bool ir_tensor_mma_pieces(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                          const uint32_t *src, ir_matrix_visit *visit, void *user)
{
    struct ir_tensor_mma p;

    if (!read_describe(op, cta, src, &p))
        return false;
    struct target a = {.type = p.a, .outer = p.rows, .inner = p.stored_k};
    struct target b = {.type = p.b, .outer = p.n / cta->nblocks + p.shift, .inner = p.k};
    if (!ir_tensor_has(op, IR_TENSOR_A_TENSOR))
        read_target_pieces(&p, ir_matrix_of(ir_tensor_pair(cta, src, IR_TENSOR_A), p.trans_a), &a,
                           visit, user);
    read_target_pieces(&p, ir_matrix_of(ir_tensor_pair(cta, src, IR_TENSOR_B), p.trans_b), &b,
                       visit, user);
    return true;
}

/* ---- sparsity */

unsigned ir_tensor_mma_metadata_columns(const struct ir_tensor_mma *p)
{
    return ir_tensor_mma_bits(p->a) >= 16 ? 1 : 2;
}

static bool read_metadata_find(struct ir_tensor_mma *p)
{
    uint32_t address = ir_tensor_mma_source(p, IR_TENSOR_METADATA) + p->selector;
    unsigned columns = ir_tensor_mma_metadata_columns(p);

    p->metadata = (struct ir_tensor_coord){0, 0};
    return !p->sparse || ir_tensor_locate(p->cta, address, ir_tensor_mma_lanes(p, false), columns,
                                          &p->metadata, p->error);
}

static unsigned read_metadata_bits(const struct ir_tensor_mma *p, unsigned row, unsigned bit)
{
    const struct ir_tensor_memory *memory = ir_tensor_mma_block(p, row)->memory;
    unsigned lane = p->metadata.lane, column = p->metadata.column;

    if (ir_tensor_mma_bits(p->a) >= 16) { /* 16 bits of a row, and of the row 8 below it */
        lane += ir_tensor_mma_lane(p, row / 16 * 16) + bit / 16 * 8 + row % 8;
        return memory->cell[lane][column] >> (row % 16 / 8 * 16 + bit % 16) & 3;
    }
    lane += ir_tensor_mma_lane(p, row);
    return memory->cell[lane][column + bit / 32] >> bit % 32 & 3;
}

unsigned ir_tensor_mma_column(const struct ir_tensor_mma *p, unsigned row, unsigned j)
{
    if (!p->sparse)
        return j;
    if (p->a == IR_TF32)
        return 2 * j + read_metadata_bits(p, row, 4 * j) / 2;
    if (p->kind->k == 64) /* pairs of elements of 4 bits */
        return j / 4 * 8 + 2 * read_metadata_bits(p, row, j / 2 * 2) + j % 2;
    return j / 2 * 4 + read_metadata_bits(p, row, 2 * j);
}

/* ---- scales: of 32 rows in a column, of the quarter of lanes that needs them */

static void scale_read(const struct ir_tensor_mma *p, uint32_t word, unsigned id, float *out)
{
    for (unsigned s = 0; s < p->op->scales; s++)
        out[s] = ir_mma_scale(p->scale, word >> (id + s) * 8 & 0xff);
}

static bool a_scales_read(struct ir_tensor_mma *p)
{
    uint32_t address = ir_tensor_mma_source(p, IR_TENSOR_SCALE_A) & IR_TENSOR_SCALE_ADDRESS_MASK;
    struct ir_tensor_coord at, from;

    if (!ir_tensor_locate(p->cta, address, WARP, ir_tensor_mma_a_scale_columns(p), &at, p->error))
        return false;
    for (unsigned row = 0; row < p->m; row++) {
        from = ir_tensor_mma_a_scale(p, at, row);
        scale_read(p, ir_tensor_mma_block(p, row)->memory->cell[from.lane][from.column],
                   p->scale_id_a, p->scale_a[row]);
    }
    return true;
}

static bool b_scales_read(struct ir_tensor_mma *p)
{
    uint32_t address = ir_tensor_mma_source(p, IR_TENSOR_SCALE_B) & IR_TENSOR_SCALE_ADDRESS_MASK;
    unsigned width = p->n / p->parts;
    struct ir_tensor_coord at, from;

    if (!ir_tensor_locate(p->cta, address, WARP, (width + WARP - 1) / WARP, &at, p->error))
        return false;
    for (unsigned i = 0; i < p->cta->nblocks * p->n; i++) {
        from = ir_tensor_mma_b_scale(p, at, i % p->n);
        scale_read(p, p->cta->block[i / p->n].memory->cell[from.lane][from.column], p->scale_id_b,
                   p->scale_b[i / p->n][i % p->n]);
    }
    return true;
}

/* Are they so far from the ends of f32's range that elements, times two of them, are inside? */
static bool read_scales_are_tame(const struct ir_tensor_mma *p, unsigned n,
                                 float scales[][IR_TENSOR_SCALES_MAX])
{
    for (unsigned i = 0; i < n * p->op->scales; i++) {
        float x = scales[i / p->op->scales][i % p->op->scales];
        if (!(x == 0 || (x >= 0x1p-40f && x <= 0x1p40f)))
            return false;
    }
    return true;
}

static bool read_are_finite(const float *x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static bool read_scales_are_same(const struct ir_tensor_mma *p)
{
    for (unsigned i = 0; p->cta->nblocks > 1 && i < p->n * p->op->scales; i++) {
        unsigned col = i / p->op->scales, s = i % p->op->scales;
        if (p->scale_b[0][col][s] != p->scale_b[1][col][s])
            return false;
    }
    return true;
}

/*
 * Scales the elements where their products are then what scaled products would be, which are
 * exact: elements have 4 bits, scales too, and elements lie between 2^-16 and 2^16.
 */
static bool read_scales_fold(struct ir_tensor_mma *p)
{
    struct ir_tensor_memory *memory = ir_tensor_own(p->cta);
    unsigned block = p->k / p->op->scales, na = p->m * p->stored_k, nb = p->k * p->n;

    if (p->sparse || !read_scales_are_same(p) || !read_scales_are_tame(p, p->m, p->scale_a) ||
        !read_scales_are_tame(p, p->n, p->scale_b[0]) || !read_are_finite(memory->a, na) ||
        !read_are_finite(memory->b, nb))
        return false;
    for (unsigned i = 0; i < na; i++)
        memory->a[i] *= p->scale_a[i / p->k][i % p->k / block];
    for (unsigned i = 0; i < nb; i++)
        memory->b[i] *= p->scale_b[0][i % p->n][i / p->n / block];
    return true;
}

bool ir_tensor_mma_read(struct ir_tensor_mma *p)
{
    if (!read_metadata_find(p) || !matrices_read(p))
        return false;
    if (!p->kind->scaled)
        return true;
    if (!a_scales_read(p) || !b_scales_read(p))
        return false;
    /* A GPU aligns by the exponents of scales and elements, which are no longer told apart. */
    p->folded_scales = !tcore_is_set() && read_scales_fold(p);
    return true;
}
