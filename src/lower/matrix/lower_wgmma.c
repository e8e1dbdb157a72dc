/*
 * wgmma: the product of four warps. Each works on its sixteen rows of d, which is what its
 * registers hold, so a warp needs no other: it is an MMA whose b, and maybe a, is in shared memory
 * (struct ir_mma). It is made where it is issued, so there are no groups to wait for.
 */
#include "lower/lower_async.h"
#include "lower/matrix/lower_matrix.h"

#include <string.h>

typedef struct ir_value *val;

enum { SUMS_MAX = 128, SOURCES_MAX = 4 + 2 + SUMS_MAX + 1, WARP_M = 16, GROUP_M = 64 };

/* What goes with the elements of a. */
static const struct kind {
    enum ir_type a, b[2], d[2];
    uint16_t k;
    bool steps;  /* n is a multiple of 16 above 32, and 8 or 24 */
    bool scales; /* has imm-scale-a and -b */
    bool trans;  /* has imm-trans */
} kinds[] = {
    {IR_F16, {IR_F16}, {IR_F16, IR_F32}, 16, false, true, true},
    {IR_BF16, {IR_BF16}, {IR_F32}, 16, false, true, true},
    {IR_TF32, {IR_TF32}, {IR_F32}, 8, false, true, false},
    {IR_E4M3, {IR_E4M3, IR_E5M2}, {IR_F16, IR_F32}, 32, false, true, false},
    {IR_E5M2, {IR_E4M3, IR_E5M2}, {IR_F16, IR_F32}, 32, false, true, false},
    {IR_S8, {IR_S8, IR_U8}, {IR_S32}, 32, true, false, false},
    {IR_U8, {IR_S8, IR_U8}, {IR_S32}, 32, true, false, false},
    {IR_B1, {IR_B1}, {IR_S32}, 256, true, false, false},
};

static const struct kind *kind_of(enum ir_type a)
{
    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++) {
        if (kinds[i].a == a)
            return &kinds[i];
    }
    return NULL;
}

static bool is_one_of(enum ir_type type, const enum ir_type list[2])
{
    return type != IR_VOID && (type == list[0] || type == list[1]);
}

static bool kind_has_n(const struct kind *kind, unsigned n)
{
    bool multiple = kind->steps && n > 32 ? n % 16 == 0 : n % 8 == 0;
    return n >= 8 && n <= 256 && multiple;
}

/* ---- the form */

static void flag_set(struct ir_mma *mma, enum ir_mma_flag flag, bool on)
{
    mma->flags |= (uint16_t)((on ? 1u : 0u) << flag);
}

static const char *form_check(const struct ptx_form *form, const struct kind *kind, bool sparse,
                              const struct ir_mma *mma)
{
    if (form->ntypes != 3)
        return "the types of d, a and b are missing";
    if (!kind || !is_one_of(mma->b, kind->b) || (sparse && mma->a == IR_B1))
        return "there is no product of these element types";
    if (!is_one_of(mma->d, kind->d))
        return "the type of d does not go with those of a and b";
    if (form->shape.m != GROUP_M || !kind_has_n(kind, mma->n) || mma->k != kind->k << sparse)
        return "these element types do not have this shape";
    if (mma->a == IR_B1 && !ptx_form_has(form, PTX_MOD_AND))
        return "a product of bits is .and.popc";
    return NULL;
}

static const char *wgmma_read(const struct ptx_insn *in, struct ir_mma *mma,
                              const struct kind **out_kind)
{
    const struct ptx_form *form = in->form;
    bool sparse = ptx_form_has(form, PTX_MOD_SP);
    enum ir_type type[3];
    for (unsigned i = 0; i < 3; i++)
        type[i] = lower_element((enum ptx_type)form->types[i]);
    *mma = (struct ir_mma){.m = WARP_M,
                           .n = form->shape.n,
                           .k = form->shape.k,
                           .a = type[1],
                           .b = type[2],
                           .c = type[0],
                           .d = type[0]};
    *out_kind = kind_of(type[1]);
    const char *why = form_check(form, *out_kind, sparse, mma);
    if (why)
        return why;
    flag_set(mma, IR_MMA_SPARSE, sparse);
    flag_set(mma, IR_MMA_B_WINDOW, true);
    flag_set(mma, IR_MMA_A_WINDOW, in->nops > 1 && in->ops[1].kind != PTX_OPND_VEC);
    return lower_mma_modifiers(form, mma);
}

/* ---- what follows a and b: metadata and selector, scale-d, imm-scale-a, -b, imm-trans-a, -b */

static unsigned operands_wanted(const struct kind *kind, const struct ir_mma *mma)
{
    bool sparse = (mma->flags >> IR_MMA_SPARSE & 1) != 0;
    unsigned trans = mma->flags >> IR_MMA_A_WINDOW & 1 ? 2 : 1;
    return 4u + (sparse ? 2u : 0u) + (kind->scales ? 2u : 0u) + (kind->trans ? trans : 0u);
}

/* An immediate that is one of two numbers; *out: is it the second? */
static bool choice_read(struct lower_fn *f, const struct ptx_operand *op, uint64_t first,
                        uint64_t second, const char *why, bool *out)
{
    *out = op->u.bits == second;
    if (op->kind == PTX_OPND_INT && (*out || op->u.bits == first))
        return true;
    return lower_refuse(f, why);
}

static bool immediates_read(struct lower_fn *f, const struct ptx_operand *op,
                            const struct kind *kind, struct ir_mma *mma)
{
    static const char scale_why[] = "imm-scale is 1 or -1", trans_why[] = "imm-trans is 0 or 1";
    bool minus_a = false, minus_b = false, trans = false;
    if (kind->scales && (!choice_read(f, op++, 1, (uint64_t)-1, scale_why, &minus_a) ||
                         !choice_read(f, op++, 1, (uint64_t)-1, scale_why, &minus_b)))
        return false;
    flag_set(mma, IR_MMA_MINUS, minus_a != minus_b);
    if (!kind->trans)
        return true;
    if (mma->flags >> IR_MMA_A_WINDOW & 1) {
        if (!choice_read(f, op++, 0, 1, trans_why, &trans))
            return false;
        flag_set(mma, IR_MMA_A_COLUMNS, trans);
    }
    if (!choice_read(f, op, 0, 1, trans_why, &trans))
        return false;
    flag_set(mma, IR_MMA_B_ROWS, trans);
    return true;
}

static bool metadata_read(struct lower_fn *f, const struct ptx_operand *op, struct ir_mma *mma,
                          val *out)
{
    *out = lower_src(f, op, IR_B32);
    if (op[1].kind != PTX_OPND_INT || op[1].u.bits > 3)
        return lower_refuse(f, "the sparsity selector is a constant of 0 to 3");
    mma->selector = (uint8_t)op[1].u.bits;
    if (ir_mma_selector_fits(mma))
        return true;
    return lower_refuse(f, "the sparsity selector is too big for this shape");
}

/* ---- sources */

static void descriptor_read(struct lower_fn *f, const struct ptx_operand *op, val *out)
{
    val whole = lower_src(f, op, IR_B64);
    for (uint64_t i = 0; i < 2; i++) {
        struct ir_instr *r = lower_emit(f, IR_OP_UNPACK, IR_B32, 1, &whole, 1);
        r->imm = i;
        out[i] = r->dst[0];
    }
}

/* Without scale-d, c is zero. */
static bool sums_read(struct lower_fn *f, const struct ptx_operand *op,
                      const struct ptx_operand *scale, unsigned n, val *out)
{
    if (!lower_fragment(f, op, n, IR_B32, out))
        return false;
    val keep = lower_pred(f, scale), zero = lower_const(f, IR_B32, 0);
    for (unsigned i = 0; i < n; i++)
        out[i] = lower_op3(f, IR_OP_SELECT, IR_B32, keep, out[i], zero);
    return true;
}

static bool sources_read(struct lower_fn *f, const struct ptx_insn *in, const struct kind *kind,
                         struct ir_mma *mma, val *src)
{
    const struct ptx_operand *scale = &in->ops[3];
    unsigned na = ir_mma_registers(mma, 'a'), nc = ir_mma_registers(mma, 'c');
    if (mma->flags >> IR_MMA_A_WINDOW & 1)
        descriptor_read(f, &in->ops[1], src);
    else if (!lower_fragment(f, &in->ops[1], na, IR_B32, src))
        return false;
    descriptor_read(f, &in->ops[2], src + na);
    if (mma->flags >> IR_MMA_SPARSE & 1) {
        if (!metadata_read(f, &in->ops[3], mma, src + na + 2 + nc))
            return false;
        scale += 2;
    }
    return sums_read(f, &in->ops[0], scale, nc, src + na + 2) &&
           immediates_read(f, scale + 1, kind, mma);
}

bool lower_do_wgmma(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct kind *kind;
    struct ir_mma mma;
    val src[SOURCES_MAX], dst[SUMS_MAX];
    const char *why = wgmma_read(in, &mma, &kind);
    if (!why && in->nops != operands_wanted(kind, &mma))
        why = "another number of operands";
    if (why)
        return lower_refuse(f, why), true;
    assert(ir_mma_registers(&mma, 's') <= SOURCES_MAX);
    if (sources_read(f, in, kind, &mma, src) && lower_mma_emit(f, &mma, src, dst))
        lower_fragment_dst(f, &in->ops[0], ir_mma_registers(&mma, 'd'), IR_B32, dst);
    return true;
}

/* Nothing is under way that could be ordered or waited for; checkers want to know. */
bool lower_do_wgmma_order(struct lower_fn *f, const struct ptx_insn *in)
{
    if (!in->form->sync || !in->form->aligned)
        return lower_refuse(f, ".sync.aligned is missing"), true;
    if (in->form->op == PTX_OP_WGMMA_COMMIT_GROUP)
        lower_report_async(f, IR_ASYNC_PRODUCT_COMMIT, 0);
    if (in->form->op == PTX_OP_WGMMA_WAIT_GROUP)
        lower_report_async(f, IR_ASYNC_PRODUCT_WAIT, in->ops[0].u.bits);
    return true;
}
