/* Copies without a register in between, and barriers in memory. */
#include "codegen/select.h"
#include "ir/payload.h"

/* The address of a window, plus the instruction's offset, in a unit. */
static uint32_t window_address(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand a = sel_word(s, in->src[0], 0);
    uint32_t d;

    if (!in->mem.offset)
        return sel_in_unit(s, a);
    d = sel_new(s, 1);
    EMIT(s, IADD3, D(d), A(a), B(sel_number((uint32_t)in->mem.offset)));
    return d;
}

/* The same of any space, as a pair. */
static uint32_t any_address(struct sel *s, const struct ir_instr *in)
{
    uint32_t d, carry;

    if (ir_space_is_window(in->mem.space))
        return sel_tuple(s, (struct isa_operand[]){sel_unit(window_address(s, in)), SEL_RZ}, 2);
    if (!in->mem.offset)
        return sel_in_pair(s, sel_src64(s, 0));
    d = sel_new(s, 2);
    carry = sel_new_pred(s);
    EMIT(s, IADD3, D(d), PD(carry), A(sel_word(s, in->src[0], 0)),
         B(sel_number((uint32_t)in->mem.offset)));
    EMIT(s, IADD3, D(d + 1), A(sel_word(s, in->src[0], 1)),
         B(sel_number((uint64_t)in->mem.offset >> 32)), PA(sel_p(carry)), MOD(X, X));
    return d;
}

static bool is_all(const struct sel *s, const struct ir_value *mask)
{
    uint64_t bits;

    return sel_is_number(s, mask, &bits) && (bits & 0xffff) == 0xffff;
}

static bool same(const struct sel *s, const struct ir_value *a, const struct ir_value *b)
{
    uint64_t x, y;

    return a == b || (sel_is_number(s, a, &x) && sel_is_number(s, b, &y) && x == y);
}

/* 4, 8 or 16 bytes to shared memory. */
static void select_small_copy(struct sel *s, const struct ir_instr *in, uint64_t bytes)
{
    bool part = !same(s, in->src[2], in->src[3]);
    uint32_t to = window_address(s, in), from = sel_in_pair(s, sel_src64(s, 1));
    uint32_t n = part ? sel_in_unit(s, sel_word(s, in->src[2], 0)) : ISA_RZ;

    EMIT(s, LDGSTS, B(sel_unit(to)), A(sel_unit(from)), C(sel_unit(n)),
         MODV(COPY_SIZE, bytes == 4   ? 0
                         : bytes == 8 ? 1
                                      : 2),
         MODV(COPY_PART, part), MODV(WIDE, 1));
}

/* Does this generic address come from one of shared memory? */
static bool is_shared_address(const struct ir_value *v)
{
    while (v->instr && ir_is_plain_add(v->instr))
        v = v->instr->src[0];
    return v->instr && v->instr->op == IR_OP_CVTA && ir_space_is_shared(v->instr->mem.space);
}

static unsigned path_of(const struct ir_instr *in)
{
    if (!ir_space_is_shared(in->mem.space))
        return ISA_COPY_PATH_GLOBAL_SHARED;
    return is_shared_address(in->src[1]) ? ISA_COPY_PATH_CLUSTER_SHARED
                                         : ISA_COPY_PATH_SHARED_GLOBAL;
}

/* The generic source as the path wants it: an address of its window, or of global memory. */
static uint32_t source(struct sel *s, unsigned path)
{
    uint32_t from = sel_in_pair(s, sel_src64(s, 1)), d;

    if (path == ISA_COPY_PATH_SHARED_GLOBAL)
        return from;
    d = sel_new(s, 2);
    EMIT(s, CVTA, D(d), A(sel_unit(from)), MOD(SPACE, SHARED), MOD(TO_WINDOW, TO));
    return d;
}

static void select_bulk_copy(struct sel *s, const struct ir_instr *in)
{
    unsigned path = path_of(in);
    bool masked = !is_all(s, in->src[4]);
    uint32_t to = any_address(s, in), from = source(s, path), mask = ISA_RZ;
    uint32_t n = sel_in_unit(s, sel_word(s, in->src[2], 0));

    if (!same(s, in->src[2], in->src[3])) {
        sel_refuse(s, "a bulk copy that fills with zeros");
        return;
    }
    if (masked) {
        mask = sel_new(s, 1);
        EMIT(s, SHF, D(mask), A(sel_src(s, 4)), B(sel_number(16)), C(SEL_RZ), MOD(SHF_DIR, L),
             MOD(SHF_TYPE, U32));
    }
    EMIT(s, UBLKCP, A(sel_unit(to)), B(sel_unit(from)), C(sel_unit(n)), OPERAND(E, sel_unit(mask)),
         MODV(COPY_PATH, path), MODV(COPY_MASKED, masked));
}

static void select_copy(struct sel *s, const struct ir_instr *in)
{
    uint64_t total;
    bool small = sel_is_number(s, in->src[3], &total) && total == in->imm && is_all(s, in->src[4]);

    if (in->imm & IR_COPY_CASTS)
        sel_refuse(s, "a copy to several CTAs");
    else if (small && in->mem.space == IR_SPACE_SHARED)
        select_small_copy(s, in, total);
    else
        select_bulk_copy(s, in);
}

static int reduce_type(enum ir_type type)
{
    switch (type) {
    case IR_U32:
    case IR_B32:
        return ISA_ATOM_TYPE_U32;
    case IR_S32:
        return ISA_ATOM_TYPE_S32;
    case IR_U64:
    case IR_B64:
        return ISA_ATOM_TYPE_U64;
    case IR_S64:
        return ISA_ATOM_TYPE_S64;
    case IR_F32:
        return ISA_ATOM_TYPE_F32;
    case IR_F64:
        return ISA_ATOM_TYPE_F64;
    case IR_F16:
        return ISA_ATOM_TYPE_F16;
    case IR_BF16:
        return ISA_ATOM_TYPE_BF16;
    default:
        return -1;
    }
}

static void select_reduce(struct sel *s, const struct ir_instr *in)
{
    unsigned path = path_of(in);
    int type = reduce_type(in->type);
    uint32_t to = any_address(s, in), from = source(s, path);

    if (type < 0) {
        sel_refuse(s, "a reduction of another type");
        return;
    }
    EMIT(s, UBLKRED, A(sel_unit(to)), B(sel_unit(from)),
         C(sel_unit(sel_in_unit(s, sel_word(s, in->src[2], 0)))), MODV(COPY_PATH, path),
         MODV(ATOM_OP, in->mem.atom), MODV(ATOM_TYPE, type));
}

static int syncs_of(enum ir_mbarrier op)
{
    switch (op) {
    case IR_MBARRIER_INIT:
        return ISA_SYNCS_INIT;
    case IR_MBARRIER_ARRIVE:
        return ISA_SYNCS_ARRIVE;
    case IR_MBARRIER_DROP:
        return ISA_SYNCS_DROP;
    case IR_MBARRIER_EXPECT_TX:
        return ISA_SYNCS_EXPECT_TX;
    case IR_MBARRIER_COMPLETE_TX:
        return ISA_SYNCS_COMPLETE_TX;
    case IR_MBARRIER_TEST:
        return ISA_SYNCS_TEST;
    case IR_MBARRIER_TEST_PARITY:
        return ISA_SYNCS_TEST_PARITY;
    case IR_MBARRIER_INVAL:
        return ISA_SYNCS_INVAL;
    default:
        return -1;
    }
}

/* At the barriers of CTAs of the cluster, which a mask in the upper word names. */
static void select_cast(struct sel *s, const struct ir_instr *in)
{
    int what = syncs_of(ir_mbarrier_of_cast((enum ir_mbarrier)in->imm));
    struct mc_block *loop = sel_block(s), *behind = sel_block(s);
    uint32_t at = sel_new(s, 1), bit = sel_new(s, 1), named = sel_new(s, 1);
    uint32_t p = sel_new_pred(s), more = sel_new_pred(s);
    const struct isa_operand number[] = {sel_word(s, in->src[1], 0), SEL_RZ};
    struct isa_operand ctas = sel_unit(sel_in_unit(s, sel_word(s, in->src[1], 1)));
    uint32_t b = sel_tuple(s, number, 2);

    EMIT(s, IADD3, D(at), A(sel_src(s, 0)), B(sel_number((uint32_t)in->mem.offset)));
    EMIT(s, LOP3, D(at), A(sel_unit(at)), B(sel_number(IR_CLUSTER_STRIDE_B - 1)),
         NUMBER(LUT, 0xc0));
    EMIT(s, MOV, D(bit), B(sel_number(1)));
    sel_jump(s, loop);
    s->b = loop;
    EMIT(s, LOP3, D(named), A(ctas), B(sel_unit(bit)), NUMBER(LUT, 0xc0));
    EMIT(s, ISETP, PD(p), A(sel_unit(named)), MOD(CMP, NE), MOD(SIGN, U32));
    EMIT(s, SYNCS, A(sel_unit(at)), B(sel_unit(b)), MODV(SYNCS, what), GUARD(sel_p(p)));
    EMIT(s, IADD3, D(at), A(sel_unit(at)), B(sel_number(IR_CLUSTER_STRIDE_B)));
    EMIT(s, IADD3, D(bit), A(sel_unit(bit)), B(sel_unit(bit)));
    EMIT(s, ISETP, PD(more), A(sel_unit(bit)), B(sel_number(1 << 16)), MOD(CMP, NE),
         MOD(SIGN, U32));
    sel_branch(s, sel_p(more), loop, behind);
    s->b = behind;
}

static void select_mbarrier(struct sel *s, const struct ir_instr *in)
{
    enum ir_mbarrier op = (enum ir_mbarrier)in->imm;
    bool tests = ir_mbarrier_tests(op);
    int what = syncs_of(op);
    uint32_t a, b, d = ISA_RZ, p = ISA_PT;

    if (ir_mbarrier_of_cast(op) != op && ir_space_is_shared(in->mem.space)) {
        select_cast(s, in);
        return;
    }
    if (what < 0 || !ir_space_is_shared(in->mem.space)) {
        sel_refuse(s, "a barrier in memory that is used in another way");
        return;
    }
    a = sel_in_unit(s, sel_word(s, in->src[0], 0));
    b = sel_in_pair(s, sel_src64(s, 1));
    if (in->ndst && tests)
        p = sel_def(s, 0);
    else if (in->ndst)
        d = sel_def(s, 0);
    EMIT(s, SYNCS, D(d), PD(p), A(sel_unit(a)), NUMBER(OFFSET, in->mem.offset), B(sel_unit(b)),
         MODV(SYNCS, what));
}

bool select_async(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_COPY:
        select_copy(s, in);
        return true;
    case IR_OP_REDUCE:
        select_reduce(s, in);
        return true;
    case IR_OP_MBARRIER:
        select_mbarrier(s, in);
        return true;
    default:
        return false;
    }
}
