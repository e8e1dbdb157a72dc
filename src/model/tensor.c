/* Tensor memory: loads and stores, copies from shared memory, shifts. See tensor.h. */
#include "model/tensor_private.h"

#include <assert.h>
#include <string.h>

#include "ir/ir_ext.h"
#include "ir/ir_names.h"

enum {
    WARP = 32,
    QUARTERS = 4,
    PIECE_COLUMNS = IR_MATRIX_PIECE_B / 4,
    PADDED = 16, /* elements of a piece in formats with padding */
    SHIFT_COLUMNS = 8
};

/* ---- loads and stores of a warp */

static const struct movement {
    uint8_t lanes;   /* of tensor memory */
    uint8_t columns; /* of one repetition */
} movements[] = {
    [IR_TENSOR_32X32B] = {32, 1},  [IR_TENSOR_16X64B] = {16, 2},   [IR_TENSOR_16X128B] = {16, 4},
    [IR_TENSOR_16X256B] = {16, 8}, [IR_TENSOR_16X32BX2] = {16, 1},
};

/* What register `reg` of thread `t` holds, from the address on. */
static struct ir_tensor_coord tensor_coord_of(const struct ir_tensor *op, unsigned reg, unsigned t)
{
    switch (op->shape) {
    case IR_TENSOR_32X32B:
        return (struct ir_tensor_coord){t, reg};
    case IR_TENSOR_16X64B:
        return (struct ir_tensor_coord){t / 4 + 8 * (t & 1), 2 * reg + (t >> 1 & 1)};
    case IR_TENSOR_16X128B:
        return (struct ir_tensor_coord){t / 4 + 8 * (reg & 1), 4 * (reg / 2) + t % 4};
    case IR_TENSOR_16X256B:
        return (struct ir_tensor_coord){t / 4 + 8 * (reg >> 1 & 1),
                                        8 * (reg / 4) + t % 4 * 2 + (reg & 1)};
    default:
        return (struct ir_tensor_coord){t % 16, reg};
    }
}

/* Columns that are accessed, from the address on; packed ones have two for each register's. */
static unsigned tensor_columns_of(const struct ir_tensor *op)
{
    unsigned n = movements[op->shape].columns * op->num;
    return ir_tensor_has(op, IR_TENSOR_PACK) ? 2 * n : n;
}

static bool tensor_lanes_check(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                               uint32_t address, struct ir_tensor_error *error)
{
    unsigned lane = address >> 16;

    if (lane % movements[op->shape].lanes || lane / WARP != cta->warp % QUARTERS)
        return ir_tensor_refuse(error, HD_ILLEGAL_ADDRESS, address,
                                "these lanes are not the warp's");
    return true;
}

static bool tensor_move_check(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                              uint32_t address, struct ir_tensor_coord *out,
                              struct ir_tensor_error *error)
{
    unsigned lanes = movements[op->shape].lanes, columns = tensor_columns_of(op);
    bool two = op->shape == IR_TENSOR_16X32BX2;
    struct ir_tensor_coord second;

    if (!ir_tensor_locate(cta, address, lanes, columns, out, error) ||
        (two && !ir_tensor_locate(cta, address + op->offset, lanes, columns, &second, error)))
        return false;
    return tensor_lanes_check(op, cta, address, error);
}

/* The cells of a register, of thread `t`; the second is NULL when it is not packed. */
static void tensor_cells_find(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                              struct ir_tensor_coord at, unsigned reg, unsigned t, uint32_t *out[2])
{
    struct ir_tensor_coord p = tensor_coord_of(op, reg, t);
    bool pack = ir_tensor_has(op, IR_TENSOR_PACK);
    unsigned column = at.column + (pack ? 2 * p.column : p.column);

    if (op->shape == IR_TENSOR_16X32BX2 && t >= 16)
        column += op->offset;
    out[0] = &ir_tensor_own(cta)->cell[at.lane + p.lane][column];
    out[1] = pack ? out[0] + 1 : NULL;
}

/* As unsigned numbers that are in the order of the type's. */
static uint32_t tensor_in_order(enum ir_type type, uint32_t bits)
{
    if (type == IR_U32)
        return bits;
    if (type == IR_F32 && bits >> 31)
        return ~bits;
    return bits ^ 0x80000000u;
}

static bool tensor_is_nan(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

/* The smaller or greater one; NaN loses, or with .NaN wins. */
static uint32_t tensor_reduce(const struct ir_tensor *op, uint32_t a, uint32_t b)
{
    bool nan_a = op->type == IR_F32 && tensor_is_nan(a),
         nan_b = op->type == IR_F32 && tensor_is_nan(b);
    bool less = tensor_in_order(op->type, b) < tensor_in_order(op->type, a);

    if (nan_a || nan_b)
        return (nan_a && nan_b) || ir_tensor_has(op, IR_TENSOR_NAN) ? 0x7fffffffu : nan_a ? b : a;
    return less == ir_tensor_has(op, IR_TENSOR_MIN) ? b : a;
}

static uint32_t tensor_reduce_all(const struct ir_tensor *op, const uint32_t *regs, unsigned t)
{
    uint32_t mask = ir_tensor_has(op, IR_TENSOR_ABS) ? 0x7fffffffu : ~0u, out = regs[t] & mask;

    if (op->type == IR_F32 && tensor_is_nan(out))
        out = 0x7fffffffu;
    for (unsigned i = 1; i < ir_tensor_registers(op); i++)
        out = tensor_reduce(op, out, regs[i * WARP + t] & mask);
    return out;
}

static bool load(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                 uint32_t *dst, struct ir_tensor_error *error)
{
    unsigned n = ir_tensor_registers(op);
    struct ir_tensor_coord at;
    uint32_t *cell[2];

    if (!tensor_move_check(op, cta, src[cta->lane], &at, error))
        return false;
    for (unsigned i = 0; i < n * WARP; i++) {
        tensor_cells_find(op, cta, at, i / WARP, i % WARP, cell);
        dst[i] = cell[1] ? (*cell[0] & 0xffff) | *cell[1] << 16 : *cell[0];
    }
    for (unsigned t = 0; op->type != IR_VOID && t < WARP; t++)
        dst[n * WARP + t] = tensor_reduce_all(op, dst, t);
    return true;
}

static bool store(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                  struct ir_tensor_error *error)
{
    struct ir_tensor_coord at;
    uint32_t *cell[2];

    if (!tensor_move_check(op, cta, src[cta->lane], &at, error))
        return false;
    src += WARP;
    for (unsigned i = 0; i < ir_tensor_registers(op) * WARP; i++) {
        tensor_cells_find(op, cta, at, i / WARP, i % WARP, cell);
        *cell[0] = cell[1] ? src[i] & 0xffff : src[i];
        if (cell[1])
            *cell[1] = src[i] >> 16;
    }
    return true;
}

/* ---- copies from shared memory */

static const struct copy {
    uint8_t rows, pieces; /* in shared memory */
    uint8_t lanes;        /* from the address on that are written */
} copies[] = {
    [IR_TENSOR_CP_128X256B] = {128, 2, 128},  [IR_TENSOR_CP_4X256B] = {4, 2, 97},
    [IR_TENSOR_CP_128X128B] = {128, 1, 128},  [IR_TENSOR_CP_64X128B_02] = {64, 1, 128},
    [IR_TENSOR_CP_64X128B_01] = {64, 1, 128}, [IR_TENSOR_CP_32X128B] = {32, 1, 128},
};

/* Where copy number `i` of a row goes; false: there is none. */
static bool tensor_copy_lane(unsigned shape, unsigned row, unsigned i, unsigned *out)
{
    switch (shape) {
    case IR_TENSOR_CP_4X256B:
        *out = row * WARP;
        return i == 0;
    case IR_TENSOR_CP_64X128B_02: /* rows 0 .. 31 in quarters 0 and 2 */
        *out = row + i * 64;
        return i < 2;
    case IR_TENSOR_CP_64X128B_01:
        *out = row % WARP + row / WARP * 64 + i * WARP;
        return i < 2;
    case IR_TENSOR_CP_32X128B:
        *out = row + i * WARP;
        return i < QUARTERS;
    default:
        *out = row;
        return i == 0;
    }
}

/* Sixteen elements of 6 or 4 bits, packed, get a byte each, as products have them there. */
static void tensor_unpack(const struct ir_tensor *op, const char *piece,
                          uint8_t out[IR_MATRIX_PIECE_B])
{
    unsigned bits = ir_tensor_has(op, IR_TENSOR_B6) ? 6 : 4, shift = bits == 4 ? 2 : 0;
    uint64_t words[2];

    memcpy(words, piece, sizeof(words));
    for (unsigned i = 0; i < PADDED; i++) {
        unsigned at = i * bits;
        uint64_t word = words[at / 64] >> at % 64;
        if (at % 64 + bits > 64)
            word |= words[1] << (64 - at % 64);
        out[i] = (uint8_t)((word & ((1u << bits) - 1)) << shift);
    }
}

struct copying {
    const struct ir_tensor *op;
    const struct copy *shape;
    struct ir_matrix from;
    struct ir_tensor_coord to;
    struct ir_tensor_error *error;
};

/* Of each block from its own shared memory. */
static bool tensor_copy_check(const struct copying *c, const struct ir_tensor_block *block)
{
    for (unsigned i = 0; i < (unsigned)c->shape->rows * c->shape->pieces; i++) {
        uint32_t offset = ir_matrix_piece(&c->from, i / c->shape->pieces, i % c->shape->pieces);
        if (!ir_matrix_at(&block->window, offset))
            return ir_tensor_refuse(c->error, HD_ILLEGAL_ADDRESS, offset,
                                    "a matrix reaches outside of shared memory");
    }
    return true;
}

static void tensor_copy_block(const struct copying *c, const struct ir_tensor_block *block)
{
    bool padded = ir_tensor_has(c->op, IR_TENSOR_B6) || ir_tensor_has(c->op, IR_TENSOR_B4);

    for (unsigned i = 0; i < (unsigned)c->shape->rows * c->shape->pieces; i++) {
        unsigned row = i / c->shape->pieces, at = i % c->shape->pieces, lane;
        unsigned column = c->to.column + at * PIECE_COLUMNS;
        const char *piece = ir_matrix_at(&block->window, ir_matrix_piece(&c->from, row, at));
        uint8_t bytes[IR_MATRIX_PIECE_B];
        memcpy(bytes, piece, sizeof(bytes));
        if (padded)
            tensor_unpack(c->op, piece, bytes);
        for (unsigned n = 0; tensor_copy_lane(c->op->shape, row, n, &lane); n++)
            memcpy(&block->memory->cell[c->to.lane + lane][column], bytes, sizeof(bytes));
    }
}

static bool copy(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                 struct ir_tensor_error *error)
{
    struct copying c = {.op = op, .shape = &copies[op->shape], .error = error};

    c.from = ir_matrix_of(ir_tensor_pair(cta, src, 1), false);
    if (!ir_tensor_locate(cta, src[cta->lane], c.shape->lanes, c.shape->pieces * PIECE_COLUMNS,
                          &c.to, error))
        return false;
    for (unsigned i = 0; i < cta->nblocks; i++)
        if (!tensor_copy_check(&c, &cta->block[i]))
            return false;
    for (unsigned i = 0; i < cta->nblocks; i++)
        tensor_copy_block(&c, &cta->block[i]);
    return true;
}

static void tensor_copy_pieces(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                               const uint32_t *src, ir_matrix_visit *visit, void *user)
{
    struct ir_matrix from = ir_matrix_of(ir_tensor_pair(cta, src, 1), false);
    const struct copy *shape = &copies[op->shape];

    for (unsigned block = 0; block < cta->nblocks; block++)
        for (unsigned i = 0; i < (unsigned)shape->rows * shape->pieces; i++)
            visit(user, block, ir_matrix_piece(&from, i / shape->pieces, i % shape->pieces));
}

bool ir_tensor_pieces(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                      const uint32_t *src, ir_matrix_visit *visit, void *user)
{
    if (op->op == IR_TENSOR_MMA)
        return ir_tensor_mma_pieces(op, cta, src, visit, user);
    if (op->op == IR_TENSOR_CP)
        tensor_copy_pieces(op, cta, src, visit, user);
    return true;
}

/* ---- shifts: eight columns of each lane, in the quarters from the address on */

static bool tensor_shift_check(uint32_t address, struct ir_tensor_error *error)
{
    if ((address >> 16) % WARP)
        return ir_tensor_refuse(error, HD_MISALIGNED, address,
                                "rows are shifted from a lane on that is a multiple of 32");
    return true;
}

static bool shift(const struct ir_tensor_cta *cta, uint32_t address, struct ir_tensor_error *error)
{
    struct ir_tensor_coord at;

    if (!tensor_shift_check(address, error) ||
        !ir_tensor_locate(cta, address, WARP, SHIFT_COLUMNS, &at, error))
        return false;
    for (unsigned i = 0; i < cta->nblocks; i++)
        for (unsigned lane = at.lane; lane < IR_TENSOR_LANES; lane++)
            memmove(&cta->block[i].memory->cell[lane][at.column],
                    &cta->block[i].memory->cell[ir_tensor_shifted(lane)][at.column],
                    SHIFT_COLUMNS * sizeof(uint32_t));
    return true;
}

/* ---- which cells they are */

struct visiting {
    const struct ir_tensor *op;
    const struct ir_tensor_cta *cta;
    uint32_t address;
    ir_tensor_visit *visit;
    void *user;
};

static void tensor_visit_lanes(const struct visiting *v, struct ir_tensor_cells cells)
{
    cells.lane += v->address >> 16;
    cells.column += v->address & 0xffff;
    v->visit(v->user, &cells);
}

static void tensor_move_cells(const struct visiting *v)
{
    struct ir_tensor_cells cells = {.use = v->op->op == IR_TENSOR_LD ? IR_TENSOR_READS
                                                                     : IR_TENSOR_WRITES,
                                    .block = v->cta->own,
                                    .nlanes = movements[v->op->shape].lanes,
                                    .ncolumns = tensor_columns_of(v->op)};

    tensor_visit_lanes(v, cells);
    cells.column = v->op->offset;
    if (v->op->shape == IR_TENSOR_16X32BX2)
        tensor_visit_lanes(v, cells);
}

static void tensor_copy_cells(const struct visiting *v)
{
    const struct copy *shape = &copies[v->op->shape];
    struct ir_tensor_cells cells = {
        .use = IR_TENSOR_WRITES, .nlanes = 1, .ncolumns = shape->pieces * PIECE_COLUMNS};

    for (cells.block = 0; cells.block < v->cta->nblocks; cells.block++)
        for (unsigned row = 0; row < shape->rows; row++)
            for (unsigned n = 0; tensor_copy_lane(v->op->shape, row, n, &cells.lane); n++)
                tensor_visit_lanes(v, cells);
}

static void tensor_shift_cells(const struct visiting *v)
{
    unsigned lane = v->address >> 16;
    struct ir_tensor_cells cells = {.use = IR_TENSOR_MOVES,
                                    .nlanes =
                                        lane < IR_TENSOR_LANES ? IR_TENSOR_LANES - lane : WARP,
                                    .ncolumns = SHIFT_COLUMNS};

    for (cells.block = 0; cells.block < v->cta->nblocks; cells.block++)
        tensor_visit_lanes(v, cells);
}

bool ir_tensor_cells(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                     const uint32_t *src, ir_tensor_visit *visit, void *user,
                     struct ir_tensor_error *error)
{
    const struct visiting v = {op, cta, src[cta->lane], visit, user};

    switch (op->op) {
    case IR_TENSOR_LD:
    case IR_TENSOR_ST:
        if (!tensor_lanes_check(op, cta, v.address, error))
            return false;
        tensor_move_cells(&v);
        return true;
    case IR_TENSOR_CP:
        tensor_copy_cells(&v);
        return true;
    case IR_TENSOR_SHIFT:
        if (!tensor_shift_check(v.address, error))
            return false;
        tensor_shift_cells(&v);
        return true;
    case IR_TENSOR_MMA:
        return ir_tensor_mma_cells(op, cta, src, visit, user, error);
    default:
        return true;
    }
}

/* ---- the whole */

bool ir_tensor_do(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                  uint32_t *dst, struct ir_tensor_error *error)
{
    uint32_t address;

    if (ir_tensor_has(op, IR_TENSOR_PAIR) && cta->nblocks != IR_TENSOR_BLOCKS)
        return ir_tensor_refuse(error, HD_TRAP, 0,
                                "a pair of blocks needs a cluster of an even number of blocks");
    switch (op->op) {
    case IR_TENSOR_ALLOC:
        if (!ir_tensor_allocate(cta, src[cta->lane], &address, error))
            return false;
        for (unsigned t = 0; t < WARP; t++)
            dst[t] = address;
        return true;
    case IR_TENSOR_DEALLOC:
        return ir_tensor_deallocate(cta, src[cta->lane], src[WARP + cta->lane], error);
    case IR_TENSOR_RELINQUISH:
        ir_tensor_own(cta)->relinquished = true;
        return true;
    case IR_TENSOR_LD:
        return load(op, cta, src, dst, error);
    case IR_TENSOR_ST:
        return store(op, cta, src, error);
    case IR_TENSOR_CP:
        return copy(op, cta, src, error);
    case IR_TENSOR_SHIFT:
        return shift(cta, src[cta->lane], error);
    default:
        assert(op->op == IR_TENSOR_MMA);
        return ir_tensor_mma(op, cta, src, error);
    }
}
