/* What a product in tensor memory is: its kind, and what the instruction descriptor says. */
#include "model/tensor_mma.h"

static unsigned field(uint32_t word, unsigned at, unsigned n)
{
    return word >> at & ((1u << n) - 1);
}

/* ---- kinds */

static const struct ir_tensor_kind_info kinds[] = {
    [IR_TENSOR_KIND_F16] = {16, 0, 0, false, {IR_F16, IR_BF16}, {IR_F16, IR_F32}},
    [IR_TENSOR_KIND_TF32] = {8, 0, 0, false, {IR_VOID, IR_VOID, IR_TF32}, {IR_VOID, IR_F32}},
    [IR_TENSOR_KIND_F8F6F4] =
        {32, 1, 8, false, {IR_E4M3, IR_E5M2, IR_VOID, IR_E2M3, IR_E3M2, IR_E2M1}, {IR_F16, IR_F32}},
    [IR_TENSOR_KIND_I8] = {32, 0, 0, false, {IR_U8, IR_S8}, {IR_VOID, IR_VOID, IR_S32}},
    [IR_TENSOR_KIND_MXF8F6F4] =
        {32, 1, 8, true, {IR_E4M3, IR_E5M2, IR_VOID, IR_E2M3, IR_E3M2, IR_E2M1}, {IR_VOID}},
    [IR_TENSOR_KIND_MXF4] = {64, 0, 0, true, {IR_VOID, IR_E2M1}, {IR_VOID}},
    [IR_TENSOR_KIND_MXF4NVF4] = {64, 0, 0, true, {IR_VOID, IR_E2M1}, {IR_VOID}},
};

static enum ir_type type_of(const struct ir_tensor_kind_info *kind, unsigned number)
{
    return number < HD_COUNT_OF(kind->types) ? kind->types[number] : IR_VOID;
}

/* ---- the instruction descriptor */

static bool shape_is_legal(const struct ir_tensor_mma *p)
{
    bool wide = p->op->kind == IR_TENSOR_KIND_I8 && p->n > 32;

    if (ir_tensor_has(p->op, IR_TENSOR_PAIR)) {
        unsigned step = p->op->kind == IR_TENSOR_KIND_I8 ? 32 : 16;

        return (p->m == 256 || (p->m == 128 && !(p->kind->scaled && p->sparse))) && p->n >= step &&
               p->n <= 256 && p->n % step == 0;
    }
    if (ir_tensor_has(p->op, IR_TENSOR_WS))
        return (p->m == 32 || p->m == 64 || p->m == 128) &&
               (p->n == 64 || p->n == 128 || (p->n == 256 && !p->sparse));
    return (p->m == 128 || (p->m == 64 && !p->kind->scaled)) && p->n >= 8 && p->n <= 256 &&
           p->n % (wide ? 16 : 8) == 0;
}

static void types_read(struct ir_tensor_mma *p, uint32_t idesc)
{
    p->a = type_of(p->kind, field(idesc, 7, 3));
    p->b =
        type_of(p->kind, field(idesc, 10, p->kind->types[0] == IR_VOID && p->kind->scaled ? 2 : 3));
    if (p->kind->scaled)
        p->d = IR_F32;
    else
        p->d = field(idesc, 4, 2) < 3 ? p->kind->sums[field(idesc, 4, 2)] : IR_VOID;
}

static void scales_describe(struct ir_tensor_mma *p, uint32_t idesc)
{
    p->scale = field(idesc, 23, 1) ? IR_UE8M0 : IR_UE4M3;
    p->scale_id_a = field(idesc, 29, 2);
    p->scale_id_b = field(idesc, 4, 2);
}

static bool scales_are_legal(const struct ir_tensor_mma *p)
{
    unsigned n = p->op->scales, ids = p->scale_id_a | p->scale_id_b;

    if (p->scale == IR_UE4M3 && (p->op->kind != IR_TENSOR_KIND_MXF4NVF4 || n != 4))
        return false;
    return ids % n == 0; /* one of four bytes, one of two halves, all */
}

/* ---- columns of b that are zero, and the first one that is used */

static bool zeros_describe(struct ir_tensor_mma *p, uint32_t idesc)
{
    static const uint8_t most[] = {0, 8, 16, 32}; /* that the descriptor allows */

    p->zeros = ir_tensor_pair(p->cta, p->src, IR_TENSOR_ZEROS);
    p->shift = p->zeros >> 56 & 63;
    return p->shift <= most[idesc >> 30] && p->shift <= (p->m == 32 ? 16u : 32u);
}

/*
 * Each part of n has a mask of its own: columns that are used and that are zero take turns, in
 * spans. Which comes first, and how much of it is over already, is said for each part.
 */
bool ir_tensor_mma_is_zero(const struct ir_tensor_mma *p, unsigned column)
{
    unsigned width = p->n / p->parts, part = column / width;
    unsigned zero = (p->zeros >> 40 & 0xff) + 1, used = (p->zeros >> 48 & 0xff) + 1;
    unsigned start = p->zeros >> 8 * part & 0xff, first = p->zeros >> (32 + part) & 1;
    unsigned at;

    if (!(p->zeros >> 39 & 1))
        return false;
    /* One column of the first span is left at least. */
    at = (column % width + HD_MIN(start, (first ? zero : used) - 1)) % (zero + used);
    return first ? at < zero : at >= used;
}

/* ---- the whole */

static void layout_describe(struct ir_tensor_mma *p)
{
    bool ws = ir_tensor_has(p->op, IR_TENSOR_WS);

    p->rows = p->m / p->cta->nblocks;
    p->layout = p->rows == 128                              ? IR_TENSOR_WHOLE
                : ws || (p->cta->nblocks > 1 && !p->sparse) ? IR_TENSOR_FOLDED
                                                            : IR_TENSOR_SCATTERED;
    p->parts = p->layout == IR_TENSOR_FOLDED ? IR_TENSOR_LANES / HD_MAX(p->rows, 32u) : 1;
}

static void fields_read(struct ir_tensor_mma *p, uint32_t idesc)
{
    p->m = field(idesc, 24, 5) << 4;
    p->n = field(idesc, 17, 6) << 3;
    p->sparse = field(idesc, 2, 1);
    p->selector = field(idesc, 0, 2);
    p->k = (unsigned)p->kind->k << p->sparse;
    p->stored_k = p->kind->k;
    p->saturates = p->op->kind == IR_TENSOR_KIND_I8 && field(idesc, 3, 1);
    p->minus = field(idesc, 13, 1) != field(idesc, 14, 1);
    p->trans_a = field(idesc, 15, 1);
    p->trans_b = field(idesc, 16, 1);
    types_read(p, idesc);
    if (p->kind->scaled)
        scales_describe(p, idesc);
}

static const char *why_not(const struct ir_tensor_mma *p, uint32_t idesc)
{
    if (p->a == IR_VOID || p->b == IR_VOID || p->d == IR_VOID ||
        (p->op->kind == IR_TENSOR_KIND_F16 && p->a != p->b))
        return "an instruction descriptor with types that this kind does not have";
    if (!shape_is_legal(p))
        return "an instruction descriptor with a shape that this kind does not have";
    if (p->sparse != ir_tensor_has(p->op, IR_TENSOR_SPARSE))
        return "an instruction descriptor that is sparse with a dense instruction, or the other "
               "way round";
    if (ir_tensor_has(p->op, IR_TENSOR_ASHIFT) && p->m < 128)
        return "rows of a are shifted in products of 128 or 256 rows only";
    if (p->kind->scaled && field(idesc, 31, 1))
        return "products of k 96 are sm_103a's";
    if (p->kind->scaled && !scales_are_legal(p))
        return "an instruction descriptor with scales that this kind does not have";
    return NULL;
}

bool ir_tensor_mma_describe(struct ir_tensor_mma *p)
{
    uint32_t idesc = ir_tensor_mma_source(p, IR_TENSOR_IDESC);
    const char *why;

    p->kind = &kinds[p->op->kind];
    fields_read(p, idesc);
    why = why_not(p, idesc);
    if (!why) {
        layout_describe(p);
        if (!zeros_describe(p, idesc))
            why = "columns of b that are shifted by more than the instruction descriptor allows";
    }
    return !why || ir_tensor_refuse(p->error, HD_TRAP, idesc, why);
}
