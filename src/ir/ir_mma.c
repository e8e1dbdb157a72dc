/* Matrix products: what is legal, how many registers, which element is where. */
#include "ir/mma.h"

#include "ir/ir_ext.h"

enum {
    WORD = 32, /* elements of b1 that are multiplied at once */
    DESCRIPTOR_REGISTERS = 2
};

/* ---- shapes */

static unsigned mma_in_elements(const struct ir_mma *mma, unsigned k)
{
    return mma->a == IR_B1 ? k / WORD : k;
}

unsigned ir_mma_full_k(const struct ir_mma *mma)
{
    return mma_in_elements(mma, mma->k);
}

unsigned ir_mma_stored_k(const struct ir_mma *mma)
{
    return mma_in_elements(mma, mma->k) >> ir_mma_has(mma, IR_MMA_SPARSE);
}

unsigned ir_mma_rows(const struct ir_mma *mma)
{
    return ir_mma_has(mma, IR_MMA_QUADS) ? 4u * mma->m : mma->m;
}

unsigned ir_mma_b_columns(const struct ir_mma *mma)
{
    return ir_mma_has(mma, IR_MMA_QUADS) ? 4u * mma->n : mma->n;
}

static enum ir_type mma_operand_type(const struct ir_mma *mma, char operand)
{
    return operand == 'a' ? mma->a : operand == 'b' ? mma->b : operand == 'c' ? mma->c : mma->d;
}

unsigned ir_mma_width(const struct ir_mma *mma, char operand)
{
    enum ir_type type = mma_operand_type(mma, operand);

    if (type == IR_B1)
        return WORD;
    return ir_mma_has(mma, IR_MMA_BYTES) && (operand == 'a' || operand == 'b') ? 8
                                                                               : ir_type_bits(type);
}

unsigned ir_mma_register_bits(const struct ir_mma *mma)
{
    return mma->d == IR_F64 ? 64 : 32;
}

static unsigned mma_elements(const struct ir_mma *mma, char operand)
{
    if (operand == 'a')
        return ir_mma_rows(mma) * ir_mma_stored_k(mma);
    if (operand == 'b')
        return ir_mma_b_columns(mma) * ir_mma_full_k(mma);
    return ir_mma_rows(mma) * mma->n;
}

static unsigned mma_fragment_bits(const struct ir_mma *mma, char operand)
{
    return mma_elements(mma, operand) * ir_mma_width(mma, operand);
}

static bool mma_is_in_window(const struct ir_mma *mma, char operand)
{
    return (operand == 'a' && ir_mma_has(mma, IR_MMA_A_WINDOW)) ||
           (operand == 'b' && ir_mma_has(mma, IR_MMA_B_WINDOW));
}

unsigned ir_mma_registers(const struct ir_mma *mma, char operand)
{
    if (mma_is_in_window(mma, operand))
        return DESCRIPTOR_REGISTERS;
    if (operand == 's')
        return ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b') +
               ir_mma_registers(mma, 'c') + ir_mma_has(mma, IR_MMA_SPARSE) +
               (mma->scales ? 6u : 0u);
    return mma_fragment_bits(mma, operand) / (ir_mma_register_bits(mma) * IR_MMA_LANES);
}

/* ---- fragments */

/* m8n8k4: lanes 4 * q .. + 3 and 16 + 4 * q .. + 3 hold the matrices number q. */
static struct ir_mma_coord mma_quad_coord(const struct ir_mma *mma, char operand, unsigned reg,
                                          unsigned lane, unsigned j)
{
    unsigned quad = lane % 16 / 4, t = lane % 4, upper = lane / 16 * 4;
    unsigned i = reg * ir_mma_register_bits(mma) / ir_mma_width(mma, operand) + j;

    if (operand == 'a')
        return ir_mma_has(mma, IR_MMA_A_COLUMNS) ? (struct ir_mma_coord){8 * quad + i + upper, t}
                                                 : (struct ir_mma_coord){8 * quad + t + upper, i};
    if (operand == 'b')
        return ir_mma_has(mma, IR_MMA_B_ROWS) ? (struct ir_mma_coord){t, 8 * quad + i + upper}
                                              : (struct ir_mma_coord){i, 8 * quad + t + upper};
    if (mma_operand_type(mma, operand) == IR_F16)
        return (struct ir_mma_coord){8 * quad + t + upper, i};
    return (struct ir_mma_coord){8 * quad + (t & 1) + (i & 2) + upper, (i & 4) + (t & 2) + (i & 1)};
}

/* a: `line` is the row, `along` the column; b: the other way round. */
static void mma_factor_coord(const struct ir_mma *mma, char operand, unsigned reg, unsigned lane,
                             unsigned j, unsigned *out_line, unsigned *out_along)
{
    unsigned lines = operand == 'a' ? HD_MIN(mma->m, 16u) : 8;
    unsigned groups = (operand == 'a' ? mma->m : mma->n) / lines;
    unsigned per_group = ir_mma_registers(mma, operand) / groups, r = reg % per_group;
    unsigned n = ir_mma_register_bits(mma) / ir_mma_width(mma, operand);

    *out_line = reg / per_group * lines + lane / 4 + 8 * (r % (lines / 8));
    *out_along = r / (lines / 8) * 4 * n + lane % 4 * n + j;
}

static struct ir_mma_coord mma_sum_coord(const struct ir_mma *mma, char operand, unsigned reg,
                                         unsigned lane, unsigned j)
{
    unsigned n = ir_mma_register_bits(mma) / ir_mma_width(mma, operand);
    unsigned lines = HD_MIN(mma->m, 16u), per_tile = lines * 8 / IR_MMA_LANES;
    unsigned i = reg * n + j, tile = i / per_tile, across = mma->n / 8;

    i %= per_tile;
    return (struct ir_mma_coord){tile / across * lines + lane / 4 + i / 2 * 8,
                                 tile % across * 8 + lane % 4 * 2 + i % 2};
}

struct ir_mma_coord ir_mma_coord_of(const struct ir_mma *mma, char operand, unsigned reg,
                                    unsigned lane, unsigned j)
{
    struct ir_mma_coord p;

    if (ir_mma_has(mma, IR_MMA_QUADS))
        return mma_quad_coord(mma, operand, reg, lane, j);
    if (operand == 'a')
        mma_factor_coord(mma, operand, reg, lane, j, &p.row, &p.col);
    else if (operand == 'b')
        mma_factor_coord(mma, operand, reg, lane, j, &p.col, &p.row);
    else
        p = mma_sum_coord(mma, operand, reg, lane, j);
    return p;
}

/* ---- sparse matrices */

/* tf32 counts as two elements of 16 bits; elements of 4 bits come in pairs. */
unsigned ir_mma_metadata_bits(const struct ir_mma *mma)
{
    unsigned width = ir_mma_width(mma, 'a');
    return width == 32 ? 2u * mma->k : width == 4 ? mma->k / 2u : mma->k;
}

bool ir_mma_selector_fits(const struct ir_mma *mma)
{
    return mma->selector < 64 / ir_mma_metadata_bits(mma);
}

static unsigned mma_metadata_at(const struct ir_mma *mma, const uint32_t *metadata, unsigned row,
                                unsigned bit)
{
    unsigned bits = ir_mma_metadata_bits(mma), lane = row % 8 * 4, upper = row / 8;

    /* Elements of 16 bits and more: half a register is of a row, the other half of row + 8. */
    if (ir_mma_width(mma, 'a') >= 16) {
        lane += mma->selector * (bits / 16) + bit / 16;
        return metadata[lane] >> (16 * upper + bit % 16) & 3;
    }
    return metadata[lane + 2 * mma->selector + upper + bit / 32 * 2] >> bit % 32 & 3;
}

unsigned ir_mma_sparse_column(const struct ir_mma *mma, const uint32_t *metadata, unsigned row,
                              unsigned j)
{
    switch (ir_mma_width(mma, 'a')) {
    case 32:
        return 2 * j + mma_metadata_at(mma, metadata, row, 4 * j) / 2;
    case 4:
        return j / 4 * 8 + 2 * mma_metadata_at(mma, metadata, row, j / 2 * 2) + j % 2;
    default:
        return j / 2 * 4 + mma_metadata_at(mma, metadata, row, 2 * j);
    }
}

/* ---- what is legal */

enum kind { NONE, FLOATS, DOUBLES, INTEGERS, BITS };

static enum kind mma_kind_of(enum ir_type type)
{
    switch (type) {
    case IR_F16:
    case IR_BF16:
    case IR_TF32:
    case IR_E4M3:
    case IR_E5M2:
    case IR_E3M2:
    case IR_E2M3:
    case IR_E2M1:
        return FLOATS;
    case IR_F64:
        return DOUBLES;
    case IR_S8:
    case IR_U8:
    case IR_S4:
    case IR_U4:
        return INTEGERS;
    case IR_B1:
        return BITS;
    default:
        return NONE;
    }
}

static bool mma_sum_is_legal(enum kind kind, enum ir_type type)
{
    return kind == FLOATS    ? type == IR_F16 || type == IR_F32
           : kind == DOUBLES ? type == IR_F64
                             : type == IR_S32;
}

static bool mma_types_are_legal(const struct ir_mma *mma)
{
    enum kind kind = mma_kind_of(mma->a);

    return kind != NONE && kind == mma_kind_of(mma->b) &&
           ir_mma_width(mma, 'a') == ir_mma_width(mma, 'b') && mma_sum_is_legal(kind, mma->c) &&
           mma_sum_is_legal(kind, mma->d);
}

static bool mma_fragment_is_whole(const struct ir_mma *mma, char operand, unsigned max)
{
    unsigned bits = mma_fragment_bits(mma, operand), n = mma_elements(mma, operand);
    return n <= max && bits && bits % (ir_mma_register_bits(mma) * IR_MMA_LANES) == 0;
}

static bool mma_shape_is_legal(const struct ir_mma *mma)
{
    bool quads = ir_mma_has(mma, IR_MMA_QUADS);

    if ((mma->m != 8 && mma->m != 16 && mma->m != 32) || !mma->n || mma->n % 8 || mma->n > 256 ||
        mma->k < 4 || mma->k > 256 || !hd_is_pow2(mma->k))
        return false;
    if (ir_mma_has(mma, IR_MMA_B_WINDOW)) {
        /* Those of a warp that works on its rows of a larger product: any n, and b is whole. */
        return mma->m == 16 && !mma->scales && !ir_mma_has(mma, IR_MMA_QUADS) &&
               mma_kind_of(mma->a) != DOUBLES && ir_mma_width(mma, 'a') >= 8 &&
               (ir_mma_has(mma, IR_MMA_A_WINDOW) || !ir_mma_has(mma, IR_MMA_A_COLUMNS)) &&
               mma->k * ir_mma_width(mma, 'b') / (mma->a == IR_B1 ? WORD : 1) <= 512 &&
               ir_mma_registers(mma, 'd') && mma_fragment_bits(mma, 'a') % (32 * IR_MMA_LANES) == 0;
    }
    if (ir_mma_has(mma, IR_MMA_A_WINDOW))
        return false;
    if (quads && (mma->m != 8 || mma->n != 8 || mma->k != 4 || mma->a != IR_F16))
        return false;
    return mma_fragment_is_whole(mma, 'a', IR_MMA_A_MAX) &&
           mma_fragment_is_whole(mma, 'b', IR_MMA_B_MAX) &&
           mma_fragment_is_whole(mma, 'c', IR_MMA_C_MAX) &&
           mma_fragment_is_whole(mma, 'd', IR_MMA_C_MAX);
}

static bool mma_sparsity_is_legal(const struct ir_mma *mma)
{
    unsigned bits = ir_mma_metadata_bits(mma);

    if (!ir_mma_has(mma, IR_MMA_SPARSE))
        return !mma->selector && !ir_mma_has(mma, IR_MMA_ORDERED);
    return mma->m == 16 && mma_kind_of(mma->a) != DOUBLES && mma_kind_of(mma->a) != BITS &&
           (bits == 16 || bits == 32 || bits == 64) && ir_mma_selector_fits(mma);
}

static bool mma_scaling_is_legal(const struct ir_mma *mma)
{
    if (!mma->scales)
        return mma->scale == IR_VOID;
    return (mma->scale == IR_UE8M0 || mma->scale == IR_UE4M3) && mma->m == 16 && mma->n == 8 &&
           mma->scales <= 4 && hd_is_pow2(mma->scales) && mma_kind_of(mma->a) == FLOATS;
}

const char *ir_ext_check_mma(const struct ir_mma *mma)
{
    bool counts = ir_mma_has(mma, IR_MMA_XOR) || ir_mma_has(mma, IR_MMA_AND);

    if (mma->a >= IR_TYPE_COUNT || mma->b >= IR_TYPE_COUNT || mma->c >= IR_TYPE_COUNT ||
        mma->d >= IR_TYPE_COUNT || !mma_types_are_legal(mma))
        return "element types that have no product";
    if (counts != (mma->a == IR_B1))
        return "xor and and are for bits";
    if (ir_mma_has(mma, IR_MMA_MINUS) && mma_kind_of(mma->a) != FLOATS)
        return "minus is for floats";
    if (!mma_shape_is_legal(mma))
        return "a shape that has no fragments";
    if (!mma_sparsity_is_legal(mma))
        return "metadata that fit no lanes";
    return mma_scaling_is_legal(mma) ? NULL : "scales that fit no elements";
}
