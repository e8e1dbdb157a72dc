/*
 * The model of matrix instructions (docs/decisions/0090): what mma.sync, ldmatrix, stmatrix and
 * movmatrix compute, which every device reproduces bit for bit.
 *
 * The PTX ISA leaves the order of additions and the precision between them open. Here products are
 * exact and are added one by one in the order of k, starting from c, each sum rounded to nearest
 * even in f32 (f64: in f64, as the instruction says); f16 results are rounded once more at the
 * end. Integers are exact and wrap, or clamp at the end. NaN results are canonical. A product
 * with scales is scaled exactly, then rounded to f32, which matters beyond f32's range only.
 * Sparse matrices: what is not stored is not multiplied, not even with infinity.
 */
#include <assert.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "model/eval_private.h"
#include "model/mma.h"
#include "model/tensor_core.h"

enum { SCALES_MAX = 4, ROWS_MAX = 32, ROW_B = 16, K_MAX = 128 };

/* Elements of 8 bytes are f64, others 32 bits: as stored, then as f32 or integers. */
union element {
    uint32_t bits;
    int32_t number;
    float single;
    double wide;
    uint64_t wide_bits;
};

struct product {
    const struct ir_mma *mma;
    struct tcore_rule rule; /* what a GPU's bits are made by */
    bool has_rule;
    const uint32_t *metadata;
    const uint32_t *scales; /* six registers */
    unsigned k;             /* stored columns of a */
    unsigned columns;       /* of b: distance between its rows */
    union element a[IR_MMA_A_MAX], b[IR_MMA_B_MAX], sum[IR_MMA_C_MAX];
    unsigned column[IR_MMA_A_MAX]; /* row of b that meets an element of a */
};

/* ---- elements in registers */

static uint64_t mma_cut(uint64_t bits, unsigned width, unsigned j)
{
    return width == 64 ? bits : bits >> (j * width) & ((1ull << width) - 1);
}

static uint64_t mma_register_read(const void *regs, unsigned bits, unsigned index)
{
    return bits == 64 ? ((const uint64_t *)regs)[index] : ((const uint32_t *)regs)[index];
}

/*
 * Where the lanes have element `j` of a register. But for QUADS it is a sum of what the group of
 * four and the number in it add.
 */
static void mma_coords_find(const struct ir_mma *mma, char operand, unsigned reg, unsigned j,
                            struct ir_mma_coord out[IR_MMA_LANES])
{
    struct ir_mma_coord first = ir_mma_coord_of(mma, operand, reg, 0, j);
    struct ir_mma_coord thread = ir_mma_coord_of(mma, operand, reg, 1, j);
    struct ir_mma_coord group = ir_mma_coord_of(mma, operand, reg, 4, j);

    for (unsigned lane = 0; lane < IR_MMA_LANES; lane++) {
        unsigned g = lane / 4, t = lane % 4;
        if (ir_mma_has(mma, IR_MMA_QUADS))
            out[lane] = ir_mma_coord_of(mma, operand, reg, lane, j);
        else
            out[lane] = (struct ir_mma_coord){
                first.row + g * (group.row - first.row) + t * (thread.row - first.row),
                first.col + g * (group.col - first.col) + t * (thread.col - first.col)};
    }
}

static void mma_unpack(const struct ir_mma *mma, char operand, const void *regs, unsigned stride,
                       union element *out)
{
    unsigned bits = ir_mma_register_bits(mma), width = ir_mma_width(mma, operand);
    unsigned nregs = ir_mma_registers(mma, operand);
    struct ir_mma_coord at[IR_MMA_LANES];

    for (unsigned i = 0; i < nregs * (bits / width); i++) {
        unsigned reg = i / (bits / width), j = i % (bits / width);
        mma_coords_find(mma, operand, reg, j, at);
        for (unsigned lane = 0; lane < IR_MMA_LANES; lane++) {
            uint64_t word = mma_register_read(regs, bits, reg * IR_MMA_LANES + lane);
            out[at[lane].row * stride + at[lane].col].wide_bits = mma_cut(word, width, j);
        }
    }
}

static void mma_pack(const struct ir_mma *mma, const union element *from, void *regs)
{
    unsigned bits = ir_mma_register_bits(mma), width = ir_mma_width(mma, 'd');
    unsigned nregs = ir_mma_registers(mma, 'd');
    struct ir_mma_coord at[IR_MMA_LANES];

    memset(regs, 0, (size_t)nregs * IR_MMA_LANES * bits / 8);
    for (unsigned i = 0; i < nregs * (bits / width); i++) {
        unsigned reg = i / (bits / width), j = i % (bits / width);
        mma_coords_find(mma, 'd', reg, j, at);
        for (unsigned lane = 0; lane < IR_MMA_LANES; lane++) {
            uint64_t element = from[at[lane].row * mma->n + at[lane].col].wide_bits;
            const unsigned index = reg * IR_MMA_LANES + lane;
            const uint64_t more = mma_cut(element, width, 0) << (j * width);
            if (bits == 64)
                ((uint64_t *)regs)[index] |= more;
            else
                ((uint32_t *)regs)[index] |= (uint32_t)more;
        }
    }
}

/* ---- formats */

enum special { IEEE, ONE_NAN, NUMBERS_ONLY };

struct format {
    unsigned frac_bits, exp_bits, bias;
    enum special special; /* what the largest exponent means */
};

static const struct format formats[IR_TYPE_COUNT] = {
    [IR_F16] = {10, 5, 15, IEEE},        [IR_BF16] = {7, 8, 127, IEEE},
    [IR_F32] = {23, 8, 127, IEEE},       [IR_TF32] = {23, 8, 127, IEEE},
    [IR_E5M2] = {2, 5, 15, IEEE},        [IR_E4M3] = {3, 4, 7, ONE_NAN},
    [IR_E3M2] = {2, 3, 3, NUMBERS_ONLY}, [IR_E2M3] = {3, 2, 1, NUMBERS_ONLY},
    [IR_E2M1] = {1, 2, 1, NUMBERS_ONLY},
};

static float mma_as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static uint32_t mma_as_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* Exact: f32 has all numbers of the others. */
float ir_mma_float(enum ir_type type, uint32_t bits)
{
    const struct format *f = &formats[type];
    unsigned width = f->frac_bits + f->exp_bits;
    uint32_t magnitude, sign, top = ((1u << f->exp_bits) - 1) << f->frac_bits;

    if (type == IR_TF32)
        bits &= ~0x1fffu;
    magnitude = bits & ((1u << width) - 1);
    sign = (bits >> width & 1) << 31;
    if (f->special == IEEE && magnitude >= top)
        return mma_as_float(sign | 0x7f800000u | (magnitude - top) << (23 - f->frac_bits));
    if (f->special == ONE_NAN && magnitude == (1u << width) - 1)
        return mma_as_float(sign | 0x7fffffffu);
    /* A denormal is one of f32 here, and its factor makes it right. */
    magnitude = mma_as_bits(mma_as_float(magnitude << (23 - f->frac_bits)) *
                            mma_as_float((254 - f->bias) << 23));
    return mma_as_float(sign | magnitude);
}

/* Where an element is in its byte, see BYTES in ir.h. */
static float mma_factor(const struct ir_mma *mma, enum ir_type type, uint32_t bits)
{
    bool in_byte = ir_mma_has(mma, IR_MMA_BYTES) && type == IR_E2M1;
    return ir_mma_float(type, in_byte ? bits >> 2 : bits);
}

int32_t ir_mma_integer(enum ir_type type, uint32_t bits)
{
    unsigned unused = 32 - ir_type_bits(type);
    return ir_type_is_signed(type) ? (int32_t)(bits << unused) >> unused : (int32_t)bits;
}

float ir_mma_scale(enum ir_type type, uint32_t byte)
{
    if (type == IR_UE4M3)
        return ir_mma_float(IR_E4M3, byte & 0x7f);
    if (byte == 0xff)
        return mma_as_float(0x7fffffffu);
    return byte ? mma_as_float(byte << 23) : mma_as_float(1u << 22); /* 2^-127 is a denormal */
}

/* ---- the sums */

static void mma_sum_integers(struct product *p, unsigned row, unsigned col)
{
    const struct ir_mma *mma = p->mma;
    bool bits = mma->a == IR_B1, and = ir_mma_has(mma, IR_MMA_AND);
    union element *out = &p->sum[row * mma->n + col];
    int64_t sum = out->number;

    for (unsigned j = 0; j < p->k; j++) {
        const union element *a = &p->a[row * p->k + j];
        const union element *b = &p->b[p->column[row * p->k + j] * p->columns + col];
        if (bits)
            sum += __builtin_popcount(and? a->bits & b->bits : a->bits ^ b->bits);
        else
            sum += (int64_t)a->number * b->number;
    }
    if (ir_mma_has(mma, IR_MMA_SAT))
        sum = HD_MAX(HD_MIN(sum, INT32_MAX), INT32_MIN);
    out->wide_bits = (uint32_t)sum;
}

/* Do products of these elements always fit f32? Then a sum of both rounds like a fused one. */
static bool mma_product_fits(enum ir_type a, enum ir_type b)
{
    return a != IR_BF16 && a != IR_TF32 && b != IR_BF16 && b != IR_TF32;
}

static void mma_scales_read(const struct product *p, unsigned row, bool is_b, float out[SCALES_MAX])
{
    const uint32_t *reg = p->scales + (is_b ? 3 * IR_MMA_LANES : 0);
    unsigned byte = reg[IR_MMA_LANES], thread = reg[2 * IR_MMA_LANES];
    unsigned lane = is_b ? row * 4 + thread % 4 : row % 8 * 4 + thread % 2 * 2 + row / 8;

    for (unsigned i = 0; i < p->mma->scales; i++)
        out[i] = ir_mma_scale(p->mma->scale, reg[lane] >> ((byte + i) % 4 * 8) & 0xff);
}

static float mma_sum_scaled(const struct product *p, unsigned row, unsigned col, float sum)
{
    unsigned block = ir_mma_full_k(p->mma) / p->mma->scales;
    float sa[SCALES_MAX], sb[SCALES_MAX];

    mma_scales_read(p, row, false, sa);
    mma_scales_read(p, col, true, sb);
    for (unsigned j = 0; j < p->k; j++) {
        unsigned at = p->column[row * p->k + j], s = at / block;
        double exact = (double)p->a[row * p->k + j].single * p->b[at * p->columns + col].single;
        sum += (float)(exact * sa[s] * sb[s]);
    }
    return sum;
}

static float mma_sum_plain(const struct product *p, unsigned row, unsigned col, float sum)
{
    const union element *a = &p->a[row * p->k], *b = &p->b[col];
    const unsigned *at = &p->column[row * p->k];

    if (mma_product_fits(p->mma->a, p->mma->b)) {
        for (unsigned j = 0; j < p->k; j++)
            sum += a[j].single * b[at[j] * p->columns].single;
        return sum;
    }
    for (unsigned j = 0; j < p->k; j++)
        sum = fmaf(a[j].single, b[at[j] * p->columns].single, sum);
    return sum;
}

uint32_t ir_mma_narrow(enum ir_type type, float sum)
{
    if (isnan(sum))
        return type == IR_F16 ? 0x7fff : 0x7fffffff;
    if (type == IR_F16)
        return (uint32_t)hd_fp_pack(&hd_fp_f16, hd_fp_unpack(&hd_fp_f32, mma_as_bits(sum)),
                                    HD_FP_RN, false);
    return mma_as_bits(sum);
}

/* As a GPU's tensor cores do. */
static float mma_sum_as_core(const struct product *p, unsigned row, unsigned col, float c)
{
    const struct ir_mma *mma = p->mma;
    const unsigned *at = &p->column[row * p->k];
    float a[K_MAX], b[K_MAX], scale_a[K_MAX], scale_b[K_MAX], sa[SCALES_MAX], sb[SCALES_MAX];
    struct tcore_products products = {.a_least = ir_core_least(mma->a),
                                      .b_least = ir_core_least(mma->b),
                                      .scale_least = ir_core_least(mma->scale),
                                      .c_least = ir_core_least(mma->c),
                                      .d_is_half = mma->d == IR_F16,
                                      .n = p->k,
                                      .a = a,
                                      .b = b};

    assert(p->k <= K_MAX);
    for (unsigned j = 0; j < p->k; j++) {
        a[j] = p->a[row * p->k + j].single;
        b[j] = p->b[at[j] * p->columns + col].single;
    }
    if (mma->scales) {
        unsigned block = ir_mma_full_k(mma) / mma->scales;
        mma_scales_read(p, row, false, sa);
        mma_scales_read(p, col, true, sb);
        for (unsigned j = 0; j < p->k; j++)
            scale_a[j] = sa[at[j] / block], scale_b[j] = sb[at[j] / block];
        products.scale_a = scale_a, products.scale_b = scale_b;
    }
    return tcore_sum(&p->rule, &products, c);
}

static void mma_sum_floats(struct product *p, unsigned row, unsigned col)
{
    union element *out = &p->sum[row * p->mma->n + col];
    unsigned b_col = ir_mma_has(p->mma, IR_MMA_QUADS) ? row / 8 * 8 + col : col;
    float sum = out->single;

    if (p->has_rule)
        sum = mma_sum_as_core(p, row, b_col, sum);
    else if (p->mma->scales)
        sum = mma_sum_scaled(p, row, b_col, sum);
    else
        sum = mma_sum_plain(p, row, b_col, sum);
    out->wide_bits = ir_mma_narrow(p->mma->d, sum);
}

static uint64_t mma_fma_f64(enum ir_rnd rnd, uint64_t a, uint64_t b, uint64_t c)
{
    enum hd_fp_round r = ir_fp_round(rnd);
    struct hd_fp x = hd_fp_unpack(&hd_fp_f64, a), y = hd_fp_unpack(&hd_fp_f64, b);
    return hd_fp_pack(&hd_fp_f64, hd_fp_fma(x, y, hd_fp_unpack(&hd_fp_f64, c), r), r, false);
}

static void mma_sum_doubles(struct product *p, unsigned row, unsigned col)
{
    union element *out = &p->sum[row * p->mma->n + col], sum = *out;
    bool nearest = p->mma->rnd == IR_RND_NONE || p->mma->rnd == IR_RN;

    for (unsigned j = 0; j < p->k; j++) {
        const union element *a = &p->a[row * p->k + j], *b = &p->b[j * p->columns + col];
        if (nearest)
            sum.wide = fma(a->wide, b->wide, sum.wide);
        else
            sum.wide_bits = mma_fma_f64(p->mma->rnd, a->wide_bits, b->wide_bits, sum.wide_bits);
    }
    if (isnan(sum.wide))
        sum.wide_bits = 0xfff8000000000000u;
    *out = sum;
}

/* ---- the whole */

static void mma_factors_convert(struct product *p)
{
    const struct ir_mma *mma = p->mma;
    bool is_integer = mma->d == IR_S32;
    unsigned na = ir_mma_rows(mma) * p->k, nb = ir_mma_full_k(mma) * p->columns;

    if (mma->a == IR_B1 || mma->a == IR_F64)
        return;
    for (unsigned i = 0; i < na; i++) {
        if (is_integer)
            p->a[i].number = ir_mma_integer(mma->a, p->a[i].bits);
        else
            p->a[i].single = mma_factor(mma, mma->a, p->a[i].bits);
    }
    for (unsigned i = 0; i < nb; i++) {
        if (is_integer)
            p->b[i].number = ir_mma_integer(mma->b, p->b[i].bits);
        else
            p->b[i].single = mma_factor(mma, mma->b, p->b[i].bits);
    }
}

static void mma_columns_find(struct product *p)
{
    bool sparse = ir_mma_has(p->mma, IR_MMA_SPARSE);

    for (unsigned row = 0; row < ir_mma_rows(p->mma); row++) {
        for (unsigned j = 0; j < p->k; j++)
            p->column[row * p->k + j] =
                sparse ? ir_mma_sparse_column(p->mma, p->metadata, row, j) : j;
    }
}

static void mma_sums_make(struct product *p)
{
    const struct ir_mma *mma = p->mma;

    for (unsigned row = 0; row < ir_mma_rows(mma); row++) {
        for (unsigned col = 0; col < mma->n; col++) {
            if (mma->d == IR_F64)
                mma_sum_doubles(p, row, col);
            else if (mma->d == IR_S32)
                mma_sum_integers(p, row, col);
            else
                mma_sum_floats(p, row, col);
        }
    }
}

static void mma_multiply(const struct ir_mma *mma, enum tcore_unit unit, const void *src, void *dst)
{
    struct product p; /* large: what is used is written first */
    unsigned reg_B = ir_mma_register_bits(mma) / 8 * IR_MMA_LANES;
    const char *at = src;

    p.mma = mma;
    p.has_rule =
        ir_core_rule_find(unit, mma->a, mma->b, mma->scales != 0, ir_mma_full_k(mma), &p.rule);
    p.k = ir_mma_stored_k(mma);
    p.columns = ir_mma_b_columns(mma);
    mma_unpack(mma, 'a', at, p.k, p.a);
    at += ir_mma_registers(mma, 'a') * reg_B;
    mma_unpack(mma, 'b', at, p.columns, p.b);
    at += ir_mma_registers(mma, 'b') * reg_B;
    mma_unpack(mma, 'c', at, mma->n, p.sum);
    at += ir_mma_registers(mma, 'c') * reg_B;
    p.metadata = (const uint32_t *)(const void *)at;
    p.scales = p.metadata + (ir_mma_has(mma, IR_MMA_SPARSE) ? IR_MMA_LANES : 0);
    mma_factors_convert(&p);
    if (ir_mma_has(mma, IR_MMA_MINUS)) {
        /* That a product is subtracted is one factor's sign. */
        for (unsigned i = 0; i < ir_mma_rows(p.mma) * p.k; i++)
            p.a[i].single = -p.a[i].single;
    }
    mma_columns_find(&p);
    for (unsigned i = 0; mma->c == IR_F16 && i < ir_mma_rows(mma) * mma->n; i++)
        p.sum[i].single = ir_mma_float(IR_F16, p.sum[i].bits);
    mma_sums_make(&p);
    mma_pack(mma, p.sum, dst);
}

/* Called through memory: the arithmetic must stay between the two changes of environment. */
static void (*volatile const multiply_call)(const struct ir_mma *, enum tcore_unit, const void *,
                                            void *) = mma_multiply;

void ir_eval_mma_of(const struct ir_mma *mma, enum tcore_unit unit, const void *src, void *dst)
{
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV);
    multiply_call(mma, unit, src, dst);
    fesetenv(&env);
}

void ir_eval_mma(const struct ir_mma *mma, const void *src, void *dst)
{
    ir_eval_mma_of(mma, TCORE_MMA, src, dst);
}

/* ---- rows and registers */

static bool mma_tile_is_trans(enum ir_tile tile)
{
    return tile != IR_TILE_M8N8 && tile != IR_TILE_M8N16_B6 && tile != IR_TILE_M8N16_B4;
}

static unsigned mma_tile_bits(enum ir_tile tile)
{
    switch (tile) {
    case IR_TILE_M8N16_B6:
    case IR_TILE_M16N16_TRANS_B6:
        return 6;
    case IR_TILE_M8N16_B4:
    case IR_TILE_M16N16_TRANS_B4:
        return 4;
    default:
        return 8;
    }
}

struct byte_coord {
    unsigned row, byte;
};

/* Of byte `j` of a lane's register. */
static struct byte_coord mma_tile_coord(enum ir_tile tile, unsigned reg, unsigned lane, unsigned j)
{
    unsigned g = lane / 4, t = lane % 4;

    if (!mma_tile_is_trans(tile))
        return (struct byte_coord){8 * reg + g, 4 * t + j};
    if (tile == IR_TILE_M8N8_TRANS)
        return (struct byte_coord){8 * reg + 2 * t + j / 2, 2 * g + j % 2};
    if (tile == IR_TILE_M16N8_TRANS)
        return (struct byte_coord){8 * reg + 2 * t + j % 2, g + j / 2 * 8};
    return (struct byte_coord){reg / 2 * 16 + 4 * t + j, g + reg % 2 * 8};
}

/* Element `i` of a row of elements of `bits` bits. */
static uint8_t mma_row_element(const uint8_t *row, unsigned bits, unsigned i)
{
    unsigned at = i * bits, word = row[at / 8] | (unsigned)row[HD_MIN(at / 8 + 1, ROW_B - 1u)] << 8;
    return (uint8_t)(word >> at % 8 & ((1u << bits) - 1));
}

void ir_eval_ldmatrix(enum ir_tile tile, unsigned nregs, const uint8_t (*rows)[16],
                      uint32_t (*regs)[32])
{
    unsigned bits = mma_tile_bits(tile);

    for (unsigned i = 0; i < nregs * IR_MMA_LANES; i++) {
        uint32_t word = 0;
        for (unsigned j = 0; j < 4; j++) {
            struct byte_coord p = mma_tile_coord(tile, i / IR_MMA_LANES, i % IR_MMA_LANES, j);
            word |= (uint32_t)mma_row_element(rows[p.row], bits, p.byte) << (8 * j);
        }
        regs[i / IR_MMA_LANES][i % IR_MMA_LANES] = word;
    }
}

void ir_eval_stmatrix(enum ir_tile tile, unsigned nregs, const uint32_t (*regs)[32],
                      uint8_t (*rows)[16])
{
    for (unsigned i = 0; i < nregs * IR_MMA_LANES; i++) {
        for (unsigned j = 0; j < 4; j++) {
            struct byte_coord p = mma_tile_coord(tile, i / IR_MMA_LANES, i % IR_MMA_LANES, j);
            rows[p.row][p.byte] = (uint8_t)(regs[i / IR_MMA_LANES][i % IR_MMA_LANES] >> (8 * j));
        }
    }
}

void ir_eval_movmatrix(const uint32_t src[32], uint32_t dst[32])
{
    uint8_t rows[8][ROW_B];

    for (unsigned row = 0; row < 8; row++)
        memcpy(rows[row], src + 4 * row, ROW_B);
    ir_eval_ldmatrix(IR_TILE_M8N8_TRANS, 1, (const uint8_t(*)[16])rows, (uint32_t(*)[32])dst);
}
