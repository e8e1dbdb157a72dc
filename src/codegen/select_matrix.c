/* Matrix loads, stores and products: products of the IR are cut into those of the machine. */
#include <string.h>

#include "codegen/select.h"

enum { TILE_COLUMNS = 8 };

static bool has(const struct ir_mma *mma, enum ir_mma_flag flag)
{
    return mma->flags >> flag & 1;
}

static unsigned count_code(unsigned n)
{
    return n == 1 ? 0 : n == 2 ? 1 : 2;
}

static void select_rows(struct sel *s, const struct ir_instr *in)
{
    bool load = in->op == IR_OP_LDMATRIX;
    unsigned n = load ? in->ndst : in->nsrc - 1;
    struct isa_operand word[4];
    struct sel_address a;
    uint32_t unit;

    if (in->mem.space != IR_SPACE_SHARED && in->mem.space != IR_SPACE_SHARED_CLUSTER) {
        sel_refuse(s, "a matrix that is not in shared memory");
        return;
    }
    sel_come_together(s);
    a = sel_address(s, in);
    if (load) {
        unit = sel_new(s, n);
        EMIT(s, LDSM, D(unit), A(a.base), NUMBER(OFFSET, a.offset), MODV(MATRIX_KIND, in->imm),
             MODV(MATRIX_COUNT, count_code(n)));
        for (unsigned i = 0; i < n; i++)
            sel_set_units(s, in->dst[i], unit + i);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        word[i] = sel_src(s, 1 + i);
    EMIT(s, STSM, A(a.base), NUMBER(OFFSET, a.offset), B(sel_unit(sel_tuple(s, word, n))),
         MODV(MATRIX_KIND, in->imm), MODV(MATRIX_COUNT, count_code(n)));
}

/* ---- products */

/* One of the machine: which part of the IR's, and its registers. */
struct tile {
    const struct ir_mma *mma;
    unsigned words;      /* of a register */
    uint32_t a, b, c, d; /* units */
    uint32_t e;          /* metadata */
    uint32_t scale_a, scale_b;
    unsigned byte_a, byte_b; /* and lanes */
    unsigned na, nb, nc;     /* registers of a tile */
};

static unsigned small_code(enum ir_type type)
{
    switch (type) {
    case IR_E4M3:
        return ISA_MMA_A8_E4M3;
    case IR_E5M2:
        return ISA_MMA_A8_E5M2;
    case IR_E2M3:
        return ISA_MMA_A8_E2M3;
    case IR_E3M2:
        return ISA_MMA_A8_E3M2;
    default:
        return ISA_MMA_A8_E2M1;
    }
}

static unsigned int_code(enum ir_type type)
{
    return type == IR_S8 ? 0 : type == IR_U8 ? 1 : type == IR_S4 ? 2 : 3;
}

/* Bytes of a row of a, as it is stored. */
static unsigned row_B(const struct ir_mma *mma)
{
    unsigned bits = has(mma, IR_MMA_BYTES) ? 8 : ir_type_bits(mma->a);

    return mma->k * bits / 8 / (has(mma, IR_MMA_SPARSE) ? 2 : 1);
}

#define TILE  D(t->d), A(sel_unit(t->a)), B(sel_unit(t->b)), C(sel_unit(t->c))
#define SHAPE MODV(MMA_SHAPE, shape), MODV(MMA_DEPTH, depth)
#define SPARSE                                                                                     \
    MODV(MMA_SPARSE, has(mma, IR_MMA_SPARSE)), MODV(MMA_ORDERED, has(mma, IR_MMA_ORDERED))
#define META OPERAND(E, sel_unit(t->e)), MODV(MMA_SPARSE_LANE, mma->selector)

static void emit_scaled(struct sel *s, const struct tile *t, unsigned depth)
{
    const struct ir_mma *mma = t->mma;
    unsigned stored_k = mma->k >> has(mma, IR_MMA_SPARSE);
    unsigned type = mma->scale == IR_UE4M3 ? 2 : stored_k / mma->scales == 32 ? 0 : 1;

#define SCALES                                                                                     \
    OPERAND(E, sel_unit(t->scale_a)), OPERAND(F, sel_unit(t->scale_b)),                            \
        OPERAND(G, sel_unit(t->e)), MODV(MMA_SCALE_TYPE, type), MODV(MMA_SCALE_A, t->byte_a),      \
        MODV(MMA_SCALE_B, t->byte_b)
    if (mma->a == IR_E2M1 && !has(mma, IR_MMA_BYTES))
        EMIT(s, OMMA_SF, TILE, MODV(MMA_DEPTH, depth), SPARSE, SCALES);
    else
        EMIT(s, QMMA_SF, TILE, MODV(MMA_DEPTH, depth), SPARSE, SCALES,
             MODV(MMA_A8, small_code(mma->a)), MODV(MMA_B8, small_code(mma->b)));
}

static void emit_double(struct sel *s, const struct tile *t)
{
    const struct ir_mma *mma = t->mma;
    unsigned rnd = mma->rnd == IR_RM ? 1 : mma->rnd == IR_RP ? 2 : mma->rnd == IR_RZ ? 3 : 0;
    unsigned shape = mma->m == 8 ? 0 : mma->k == 4 ? 1 : mma->k == 8 ? 2 : 3;

    EMIT(s, DMMA, TILE, MODV(MMA_DOUBLE, shape), MODV(RND_MMA, rnd));
}

static void emit_tile(struct sel *s, const struct tile *t)
{
    const struct ir_mma *mma = t->mma;
    bool quads = has(mma, IR_MMA_QUADS);
    unsigned shape = quads ? 2 : mma->m == 8 ? 1 : 0, depth = row_B(mma) > 16;
    unsigned to = mma->d == IR_F16;

    switch (mma->a) {
    case IR_F16:
    case IR_BF16:
    case IR_TF32:
        EMIT(s, HMMA, TILE, SHAPE, SPARSE, META, MODV(MMA_F_TO, to),
             MODV(QUAD_A_T, has(mma, IR_MMA_A_COLUMNS)), MODV(QUAD_B_T, has(mma, IR_MMA_B_ROWS)),
             MODV(MMA_C, mma->c != mma->d),
             MODV(MMA_F16, mma->a == IR_F16    ? 0
                           : mma->a == IR_BF16 ? 1
                                               : 2));
        return;
    case IR_S8:
    case IR_U8:
    case IR_S4:
    case IR_U4:
        EMIT(s, IMMA, TILE, SHAPE, SPARSE, META, MODV(MMA_INT_A, int_code(mma->a)),
             MODV(MMA_INT_B, int_code(mma->b)), MODV(MMA_INT_SAT, has(mma, IR_MMA_SAT)));
        return;
    case IR_B1:
        EMIT(s, BMMA, TILE, SHAPE, MODV(MMA_BIT_OP, has(mma, IR_MMA_AND)));
        return;
    case IR_F64:
        emit_double(s, t);
        return;
    default:
        if (mma->scales)
            emit_scaled(s, t, depth);
        else
            EMIT(s, QMMA, TILE, SHAPE, SPARSE, META, MODV(MMA_F_TO, to),
                 MODV(MMA_A8, small_code(mma->a)), MODV(MMA_B8, small_code(mma->b)));
        return;
    }
}

static bool is_machines(const struct ir_mma *mma)
{
    unsigned tall = mma->m >= 16, row = row_B(mma);

    if (has(mma, IR_MMA_QUADS))
        return true;
    if (mma->c != mma->d && ir_type_bits(mma->a) < 16)
        return false;
    if (mma->a == IR_F64)
        return mma->n == 8;
    if (mma->m % (tall ? 16 : 8) || mma->n % TILE_COLUMNS || (row != 16 && row != 32))
        return false;
    return tall || row == 16;
}

/* Where the copies of these words are, or go; NULL: they are no registers, or too many. */
static struct sel_made_tuple *made_of(struct sel *s, const struct isa_operand *words, unsigned n)
{
    struct sel_made_tuple wanted = {.n = n}, *made;

    if (n > SEL_TUPLE_WORDS)
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        if (words[i].kind != ISA_KIND_REG || words[i].negate || words[i].absolute)
            return NULL;
        wanted.words[i] = (uint32_t)words[i].value;
    }
    if (s->tuples.b != s->b)
        s->tuples = (struct sel_tuples){.b = s->b};
    made = &s->tuples.at[(wanted.words[0] * 31 + n) % SEL_TUPLES];
    if (memcmp(made->words, wanted.words, sizeof(wanted.words)) != 0 || made->n != n)
        *made = wanted;
    return made;
}

/*
 * Units of registers first .. of the sources, side by side, to be read: RZ for zeroes. Products of
 * a row of tiles share a fragment, whose copies are made once.
 */
static uint32_t fragment(struct sel *s, const struct ir_instr *in, unsigned first, unsigned n,
                         unsigned words)
{
    struct isa_operand word[32];
    struct sel_made_tuple *made;
    bool is_zero = true;

    assert(n * words <= HD_COUNT_OF(word));
    for (unsigned i = 0; i < n * words; i++) {
        word[i] = sel_word(s, in->src[first + i / words], i % words);
        is_zero &= word[i].kind == ISA_KIND_IMMEDIATE && !word[i].value;
    }
    if (is_zero)
        return ISA_RZ;
    made = made_of(s, word, n * words);
    if (!made)
        return sel_tuple(s, word, n * words);
    if (made->unit == MC_NO_UNIT)
        made->unit = sel_tuple(s, word, n * words);
    return made->unit;
}

/*
 * A register of scales such that those from `byte` on lie from byte `lanes` on: the word has one
 * number for both.
 */
static uint32_t scale_of(struct sel *s, const struct ir_instr *in, unsigned at,
                         unsigned *out_number)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    uint64_t byte, lanes;
    uint32_t unit = sel_in_unit(s, sel_src(s, at)), d;
    unsigned how = 0;

    if (!sel_is_number(s, in->src[at + 1], &byte) || !sel_is_number(s, in->src[at + 2], &lanes)) {
        sel_refuse(s, "scales whose place is not a constant");
        return unit;
    }
    *out_number = (unsigned)lanes & 3;
    if (byte == lanes)
        return unit;
    for (unsigned i = 0; i < mma->scales; i++)
        how |= (unsigned)((byte + i) & 3) << 4 * ((lanes + i) & 3);
    d = sel_new(s, 1);
    EMIT(s, PRMT, D(d), A(sel_unit(unit)), B(sel_number(how)), C(SEL_RZ));
    return d;
}

/* ---- products of shared memory: each warp of four makes its 16 rows */

enum { UREG_A = 0, UREG_B = 2, UREGS = 4 }; /* of descriptors, which are written right before */

static int window_kind(const struct ir_mma *mma)
{
    static const struct {
        enum ir_type a, b;
    } kinds[] = {{IR_F16, IR_F16},   {IR_BF16, IR_BF16}, {IR_TF32, IR_TF32}, {IR_E4M3, IR_E4M3},
                 {IR_E4M3, IR_E5M2}, {IR_E5M2, IR_E4M3}, {IR_E5M2, IR_E5M2}, {IR_S8, IR_S8},
                 {IR_S8, IR_U8},     {IR_U8, IR_S8},     {IR_U8, IR_U8},     {IR_B1, IR_B1}};

    for (unsigned i = 0; i < HD_COUNT_OF(kinds); i++)
        if (kinds[i].a == mma->a && kinds[i].b == mma->b)
            return (int)i;
    return -1;
}

/* NULL: a GMMA makes it. */
static const char *why_no_window(const struct ir_mma *mma)
{
    if (!has(mma, IR_MMA_B_WINDOW) || window_kind(mma) < 0)
        return "a product of shared memory with elements of other types";
    if (mma->m != 16 || mma->n > 256 || row_B(mma) != 32)
        return "a product of shared memory of another shape";
    if (mma->c != mma->d || has(mma, IR_MMA_XOR) || has(mma, IR_MMA_BYTES))
        return "a product of shared memory of another form";
    return NULL;
}

/* All lanes have the same one. */
static struct isa_operand descriptor(struct sel *s, unsigned first, unsigned ureg)
{
    for (unsigned i = 0; i < 2; i++)
        EMIT(s, R2UR, OPERAND(UD, sel_ureg(ureg + i)), A(sel_src(s, first + i)));
    return sel_ureg(ureg);
}

/* Metadata of other lanes of four go to the first ones, where they are looked for. */
static uint32_t window_metadata(struct sel *s, const struct ir_mma *mma, unsigned at)
{
    uint32_t unit = sel_in_unit(s, sel_src(s, at)), d;

    if (!mma->selector)
        return unit;
    d = sel_new(s, 1);
    EMIT(s, SHFL_I, D(d), A(sel_unit(unit)), NUMBER(LANE, 2 * mma->selector), NUMBER(LANES, 31),
         MOD(SHFL, BFLY));
    return d;
}

static void select_window(struct sel *s, const struct ir_instr *in)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    unsigned na = ir_mma_registers(mma, 'a'), nc = ir_mma_registers(mma, 'c');
    bool has_a = !has(mma, IR_MMA_A_WINDOW), minus = has(mma, IR_MMA_MINUS);
    struct isa_operand ua = sel_ureg(ISA_URZ), ub;
    uint32_t a = ISA_RZ, e = ISA_RZ, d = sel_new(s, nc);
    const char *why = why_no_window(mma);

    if (why) {
        sel_refuse(s, why);
        return;
    }
    sel_come_together(s);
    if (has(mma, IR_MMA_SPARSE))
        e = window_metadata(s, mma, na + 2 + nc);
    if (has_a)
        a = fragment(s, in, 0, na, 1);
    for (unsigned i = 0; i < nc; i++) /* sums are where they are added to */
        EMIT(s, MOV, D(d + i), B(sel_src(s, na + 2 + i)));
    if (!has_a)
        ua = descriptor(s, 0, UREG_A);
    ub = descriptor(s, na, UREG_B);
    s->unit->code->uniform_registers = HD_MAX(s->unit->code->uniform_registers, (uint32_t)UREGS);
    EMIT(s, GMMA, D(d), A(sel_unit(a)), OPERAND(UC, ua), OPERAND(UB, ub), OPERAND(F, sel_unit(e)),
         MODV(GMMA_N, mma->n / TILE_COLUMNS - 1), MODV(GMMA_KIND, window_kind(mma)),
         MODV(MMA_F_TO, mma->d == IR_F16), MODV(GMMA_A, has_a),
         MODV(GMMA_A_T, has(mma, IR_MMA_A_COLUMNS)), MODV(GMMA_B_T, has(mma, IR_MMA_B_ROWS)),
         MODV(GMMA_NEG_A, minus), MODV(GMMA_SPARSE, has(mma, IR_MMA_SPARSE)),
         MODV(GMMA_SAT, has(mma, IR_MMA_SAT)));
    for (unsigned i = 0; i < nc; i++)
        sel_set_units(s, in->dst[i], d + i);
}

/* ---- products of registers */

static void select_mma(struct sel *s, const struct ir_instr *in)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    unsigned rows = mma->m >= 16 ? mma->m / 16 : 1, columns = mma->n / TILE_COLUMNS;
    unsigned words = ir_mma_register_bits(mma) / 32, na = ir_mma_registers(mma, 'a');
    unsigned nb = ir_mma_registers(mma, 'b'), nc = ir_mma_registers(mma, 'c');
    unsigned nd = ir_mma_registers(mma, 'd') / (rows * columns), at = na + nb + nc;
    struct tile t = {.mma = mma, .words = words, .e = ISA_RZ};

    if (!is_machines(mma)) {
        sel_refuse(s, "a product of another form");
        return;
    }
    sel_come_together(s);
    if (has(mma, IR_MMA_SPARSE))
        t.e = sel_in_unit(s, sel_src(s, at++));
    if (mma->scales) {
        t.scale_a = scale_of(s, in, at, &t.byte_a);
        t.scale_b = scale_of(s, in, at + 3, &t.byte_b);
    }
    t.na = na / rows;
    t.nb = nb / columns;
    t.nc = nc / (rows * columns);
    for (unsigned r = 0; r < rows; r++) {
        t.a = fragment(s, in, r * t.na, t.na, words);
        for (unsigned c = 0; c < columns; c++) {
            unsigned tile = r * columns + c;

            t.b = fragment(s, in, na + c * t.nb, t.nb, words);
            t.c = fragment(s, in, na + nb + tile * t.nc, t.nc, words);
            t.d = sel_new(s, nd * words);
            emit_tile(s, &t);
            for (unsigned i = 0; i < nd; i++)
                sel_set_units(s, in->dst[tile * nd + i], t.d + i * words);
        }
    }
}

bool select_matrix(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_LDMATRIX:
    case IR_OP_STMATRIX:
        select_rows(s, in);
        return true;
    case IR_OP_MOVMATRIX:
        sel_come_together(s);
        EMIT(s, MOVM, D(sel_def(s, 0)), A(sel_src(s, 0)));
        return true;
    case IR_OP_MMA:
        if (has(ir_ext_mma(in), IR_MMA_A_WINDOW) || has(ir_ext_mma(in), IR_MMA_B_WINDOW))
            select_window(s, in);
        else
            select_mma(s, in);
        return true;
    default:
        return false;
    }
}
