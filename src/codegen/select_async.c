/* Copies without a register in between, barriers in memory, and all replicas of an address. */
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

/* The mask of bytes, a source, where UBLKCP has it. */
static uint32_t upper_half(struct sel *s, unsigned i)
{
    uint32_t mask = sel_new(s, 1);

    EMIT(s, SHF, D(mask), A(sel_src(s, i)), B(sel_number(16)), C(SEL_RZ), MOD(SHF_DIR, L),
         MOD(SHF_TYPE, U32));
    return mask;
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
    if (masked)
        mask = upper_half(s, 4);
    EMIT(s, UBLKCP, A(sel_unit(to)), B(sel_unit(from)), C(sel_unit(n)), OPERAND(E, sel_unit(mask)),
         MODV(COPY_PATH, path), MODV(COPY_MASKED, masked));
}

/* ---- to several CTAs: one after the other, where the mask has a bit for it */

/* Whether bit `at` of a word is set. */
static struct isa_operand bit(struct sel *s, struct isa_operand word, unsigned at)
{
    uint32_t p = sel_new_pred(s);

    EMIT(s, LOP3, D(ISA_RZ), PD(p), A(word), B(sel_number(1u << at)), NUMBER(LUT, LUT_AND),
         PA(sel_not(SEL_TRUE)));
    return sel_p(p);
}

/* The same place in the window of CTA `rank`; ir_cluster_address(). */
static uint32_t in_rank(struct sel *s, uint32_t address, unsigned rank)
{
    uint32_t own = sel_new(s, 1), d = sel_new(s, 1);

    EMIT(s, LOP3, D(own), A(sel_unit(address)), B(sel_number(IR_CLUSTER_STRIDE_B - 1)),
         NUMBER(LUT, LUT_AND));
    EMIT(s, IADD3, D(d), A(sel_unit(own)), B(sel_number(rank * IR_CLUSTER_STRIDE_B)));
    return d;
}

static void select_cast_copy(struct sel *s, const struct ir_instr *in)
{
    uint32_t to = window_address(s, in), mask = sel_in_unit(s, sel_src(s, 4)), shifted;
    unsigned path =
        is_shared_address(in->src[1]) ? ISA_COPY_PATH_CLUSTER_SHARED : ISA_COPY_PATH_SHARED_GLOBAL;
    uint32_t from = source(s, path), n = sel_in_unit(s, sel_word(s, in->src[2], 0));

    shifted = sel_new(s, 1);
    EMIT(s, SHF, D(shifted), A(sel_unit(mask)), B(sel_number(16)), C(SEL_RZ), MOD(SHF_DIR, L),
         MOD(SHF_TYPE, U32));
    for (unsigned rank = 0; rank < IR_CLUSTER_MAX_CTAS; rank++) {
        struct isa_operand there[2] = {sel_unit(in_rank(s, to, rank)), SEL_RZ};
        EMIT(s, UBLKCP, GUARD(bit(s, sel_unit(mask), IR_COPY_RANKS_AT + rank)),
             A(sel_unit(sel_tuple(s, there, 2))), B(sel_unit(from)), C(sel_unit(n)),
             OPERAND(E, sel_unit(shifted)), MODV(COPY_PATH, path), MODV(COPY_MASKED, 1));
    }
}

/* ---- tensor copies */

enum { BARRIER_UR = 2 };

/* A value that all lanes must have, in a uniform register; else the launch stops. */
static struct isa_operand uniform(struct sel *s, uint32_t unit)
{
    struct isa_operand ur = sel_ureg(BARRIER_UR);
    uint32_t p = sel_new_pred(s);

    EMIT(s, R2UR, OPERAND(UD, ur), PD(p), A(sel_unit(unit)));
    EMIT(s, BPT, GUARD(sel_not(sel_p(p))), NUMBER(IMM16, ISA_TRAP_UNREACHABLE));
    s->unit->code->uniform_registers = HD_MAX(s->unit->code->uniform_registers, BARRIER_UR + 1u);
    return ur;
}

static unsigned tensor_mode(const struct ir_tensor_what *what)
{
    switch (what->mode) {
    case IR_TENSOR_PIXELS:
        return ISA_TMA_MODE_IM2COL;
    case IR_TENSOR_PIXELS_W:
        return ISA_TMA_MODE_IM2COL_W;
    case IR_TENSOR_PIXELS_W_128:
        return ISA_TMA_MODE_IM2COL_W128;
    case IR_TENSOR_ROWS4:
        return what->way == IR_TENSOR_LOAD ? ISA_TMA_MODE_GATHER4 : ISA_TMA_MODE_SCATTER4;
    default:
        return ISA_TMA_MODE_DEFAULT;
    }
}

/* Coordinates, then offsets of im2col: two of 16 bits in a word and the third in one of its own. */
static void tensor_words(struct sel *s, const struct ir_instr *in,
                         const struct ir_tensor_what *what, struct isa_operand *c,
                         struct isa_operand *e)
{
    unsigned n = ir_tensor_coordinates(what), infos = ir_tensor_infos(what);
    unsigned at = IR_TENSOR_OPERAND_0 + n;
    uint32_t pair;

    for (unsigned i = 0; i < 4; i++) {
        c[i] = i < n ? sel_src(s, IR_TENSOR_OPERAND_0 + i) : SEL_RZ;
        e[i] = SEL_RZ;
    }
    if (n > 4)
        e[0] = sel_src(s, IR_TENSOR_OPERAND_0 + 4);
    if (infos == 1)
        e[1] = sel_src(s, at);
    if (infos > 1) {
        pair = sel_new(s, 1);
        EMIT(s, PRMT, D(pair), A(sel_src(s, at)), B(sel_number(0x5410)), C(sel_src(s, at + 1)));
        e[1] = sel_unit(pair);
    }
    if (infos > 2)
        e[2] = sel_src(s, at + 2);
    if (what->casts)
        e[3] = sel_src(s, 3);
}

static void select_tensor_copy(struct sel *s, const struct ir_instr *in)
{
    const struct ir_tensor_what what = ir_tensor_unpack(in->imm);
    unsigned mode = tensor_mode(&what), dims = what.rank - 1;
    uint32_t a = window_address(s, in), map = sel_in_pair(s, sel_src64(s, 1)), barrier, c, e;
    struct isa_operand coordinates[4], extra[4];

    tensor_words(s, in, &what, coordinates, extra);
    c = sel_tuple(s, coordinates, 4);
    e = sel_tuple(s, extra, 4);
#define BOX                                                                                        \
    A(sel_unit(a)), B(sel_unit(map)), C(sel_unit(c)), OPERAND(E, sel_unit(e)),                     \
        MODV(TMA_DIMS, dims), MODV(TMA_MODE, mode)
    if (what.way == IR_TENSOR_STORE) {
        EMIT(s, UTMASTG, BOX);
    } else if (what.way == IR_TENSOR_REDUCE) {
        EMIT(s, UTMAREDG, BOX, MODV(TMA_OP, what.atom));
    } else {
        barrier = sel_new(s, 2);
        EMIT(s, CVTA, D(barrier), A(sel_unit(sel_in_pair(s, sel_src64(s, 2)))), MOD(SPACE, SHARED),
             MOD(TO_WINDOW, TO));
        EMIT(s, UTMALDG, BOX, OPERAND(UBASE, uniform(s, barrier)), MODV(MULTICAST, what.casts),
             MODV(CTA_PAIR, what.pairs));
    }
}

/* ---- zeros: nothing is read */

static void store_zeros(struct sel *s, const struct ir_instr *in, uint32_t at, unsigned size)
{
    if (ir_space_is_shared(in->mem.space))
        EMIT(s, STS, A(sel_unit(at)), B(SEL_RZ), MODV(SZ, size));
    else
        EMIT(s, ST, A(sel_unit(at)), B(SEL_RZ), MODV(SZ, size), MODV(WIDE, 1));
}

/* Eight bytes in each round, as many as the lane has. */
static void select_zeros(struct sel *s, const struct ir_instr *in)
{
    bool window = ir_space_is_window(in->mem.space);
    unsigned words = window ? 1 : 2;
    uint32_t from = window ? window_address(s, in) : any_address(s, in), at = sel_new(s, words);
    uint32_t left = sel_new(s, 1), p = sel_new_pred(s), carry = sel_new_pred(s), barrier;
    struct mc_block *loop = sel_block(s), *body = sel_block(s), *done = sel_block(s);

    for (unsigned i = 0; i < words; i++)
        EMIT(s, MOV, D(at + i), B(sel_unit(from + i)));
    EMIT(s, MOV, D(left), B(sel_word(s, in->src[3], 0)));
    barrier = sel_part(s, done);
    sel_jump(s, loop);
    s->b = loop;
    EMIT(s, ISETP, PD(p), A(sel_unit(left)), B(SEL_RZ), MOD(CMP, EQ), MOD(SIGN, U32));
    sel_branch(s, sel_p(p), done, body);
    s->b = body;
    store_zeros(s, in, at, ISA_SZ_64);
    EMIT(s, IADD3, D(at), PD(carry), A(sel_unit(at)), B(sel_number(8)));
    if (!window)
        EMIT(s, IADD3, D(at + 1), A(sel_unit(at + 1)), PA(sel_p(carry)), MOD(X, X));
    EMIT(s, IADD3, D(left), A(sel_unit(left)), B(sel_number((uint32_t)-8)));
    sel_jump(s, loop);
    sel_meet(s, done, barrier);
}

static void select_cast_zeros(struct sel *s, const struct ir_instr *in)
{
    uint32_t to = window_address(s, in), mask = sel_in_unit(s, sel_src(s, 4));

    for (unsigned rank = 0; rank < IR_CLUSTER_MAX_CTAS; rank++)
        EMIT(s, STS, GUARD(bit(s, sel_unit(mask), IR_COPY_RANKS_AT + rank)),
             A(sel_unit(in_rank(s, to, rank))), B(SEL_RZ), MOD(SZ, 128));
}

static void select_copy(struct sel *s, const struct ir_instr *in)
{
    uint64_t total, read;
    bool zeros = sel_is_number(s, in->src[2], &read) && !read;
    bool casts = (in->imm & IR_COPY_CASTS) != 0;
    bool small = sel_is_number(s, in->src[3], &total) && total == in->imm && is_all(s, in->src[4]);

    if (casts && zeros)
        select_cast_zeros(s, in);
    else if (casts)
        select_cast_copy(s, in);
    else if (zeros && !small && is_all(s, in->src[4]))
        select_zeros(s, in);
    else if (small && in->mem.space == IR_SPACE_SHARED)
        select_small_copy(s, in, total);
    else
        select_bulk_copy(s, in);
}

static void select_reduce(struct sel *s, const struct ir_instr *in)
{
    unsigned path = path_of(in);
    int type = sel_atom_type(in->type);
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
         NUMBER(LUT, LUT_AND));
    EMIT(s, MOV, D(bit), B(sel_number(1)));
    sel_jump(s, loop);
    s->b = loop;
    EMIT(s, LOP3, D(named), A(ctas), B(sel_unit(bit)), NUMBER(LUT, LUT_AND));
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
    uint32_t b, d = ISA_RZ, p = ISA_PT;
    struct sel_address a;

    if (ir_mbarrier_of_cast(op) != op && ir_space_is_shared(in->mem.space)) {
        select_cast(s, in);
        return;
    }
    if (what < 0 || !ir_space_is_shared(in->mem.space)) {
        sel_refuse(s, "a barrier in memory that is used in another way");
        return;
    }
    a = sel_address(s, in);
    b = sel_in_pair(s, sel_src64(s, 1));
    if (in->ndst && tests)
        p = sel_def(s, 0);
    else if (in->ndst)
        d = sel_def(s, 0);
    EMIT(s, SYNCS, D(d), PD(p), A(a.base), NUMBER(OFFSET, a.offset), B(sel_unit(b)),
         MODV(SYNCS, what));
}

/* ---- all replicas of a multimem address */

static int multimem_type(const struct ir_instr *in, const struct ir_multimem *m)
{
    if (m->verb == IR_MULTIMEM_STORE || m->verb == IR_MULTIMEM_COPY) /* bits */
        return m->register_B == 8 ? ISA_ATOM_TYPE_U64 : ISA_ATOM_TYPE_U32;
    if (m->verb == IR_MULTIMEM_LOAD && (in->type == IR_E4M3 || in->type == IR_E5M2))
        return ISA_ATOM_TYPE_U32;
    return sel_atom_type(in->type);
}

/* Registers lie side by side, like the elements in memory. */
static uint32_t multimem_source(struct sel *s, const struct ir_multimem *m)
{
    unsigned bits = HD_MIN(8u * m->register_B, 32u), each = 32 / bits, n = 0;
    unsigned words = m->register_B / 4;
    struct isa_operand word[4];

    for (unsigned i = 0; i < m->registers; i += each) {
        struct isa_operand part[4];

        for (unsigned k = 0; k < each; k++)
            part[k] = sel_word(s, s->at->src[1 + i + k], 0);
        word[n++] = sel_packed(s, part, each, bits);
        if (words == 2)
            word[n++] = sel_word(s, s->at->src[1 + i], 1);
    }
    return sel_tuple(s, word, n);
}

static void select_multimem_copy(struct sel *s, const struct ir_multimem *m, uint32_t to,
                                 unsigned type)
{
    uint32_t from = source(s, ISA_COPY_PATH_REPLICAS_SHARED), mask = ISA_RZ;
    uint32_t n = sel_in_unit(s, sel_word(s, s->at->src[2], 0));
    bool masked = m->verb == IR_MULTIMEM_COPY && !is_all(s, s->at->src[3]);

    if (masked)
        mask = upper_half(s, 3);
    if (m->verb == IR_MULTIMEM_COPY)
        EMIT(s, UBLKCP, A(sel_unit(to)), B(sel_unit(from)), C(sel_unit(n)),
             OPERAND(E, sel_unit(mask)), MOD(COPY_PATH, REPLICAS_SHARED),
             MODV(COPY_MASKED, masked));
    else
        EMIT(s, UBLKRED, A(sel_unit(to)), B(sel_unit(from)), C(sel_unit(n)),
             MOD(COPY_PATH, REPLICAS_SHARED), MODV(ATOM_OP, m->atom), MODV(ATOM_TYPE, type));
}

static void select_multimem(struct sel *s, const struct ir_instr *in)
{
    const struct ir_multimem m = ir_multimem_of(in);
    unsigned bytes = m.registers * m.register_B;
    unsigned size = bytes == 4 ? ISA_SZ_DEFAULT : bytes == 8 ? ISA_SZ_64 : ISA_SZ_128;
    int type = multimem_type(in, &m);
    uint32_t a, d;

    if (type < 0) {
        sel_refuse(s, "a multimem reduction of another type");
        return;
    }
    a = any_address(s, in);
    if (ir_multimem_copies(&m)) {
        select_multimem_copy(s, &m, a, (unsigned)type);
        return;
    }
#define REPLICAS                                                                                   \
    A(sel_unit(a)), MODV(WIDE, 1), MODV(SZ, size), MODV(ATOM_TYPE, type), MODV(SEM, sel_sem(in)),  \
        MODV(SCOPE, in->mem.scope)
    if (m.verb == IR_MULTIMEM_STORE) {
        d = multimem_source(s, &m);
        EMIT(s, STGMC, B(sel_unit(d)), REPLICAS);
        return;
    }
    if (m.verb == IR_MULTIMEM_RED) {
        d = multimem_source(s, &m);
        EMIT(s, REDGMC, B(sel_unit(d)), REPLICAS, MODV(ATOM_OP, m.atom));
        return;
    }
    d = sel_new(s, bytes / 4);
    EMIT(s, LDGMC, D(d), REPLICAS, MODV(ATOM_OP, m.atom), MODV(MC_ACC, m.wide),
         MODV(MC_SMALL, in->type == IR_E4M3   ? ISA_MC_SMALL_E4M3
                        : in->type == IR_E5M2 ? ISA_MC_SMALL_E5M2
                                              : 0));
    for (unsigned i = 0; i < in->ndst; i++)
        sel_set_units(s, in->dst[i], sel_part_of(s, d, i, 8u * m.register_B));
}

bool select_async(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_MULTIMEM:
        select_multimem(s, in);
        return true;
    case IR_OP_COPY:
        select_copy(s, in);
        return true;
    case IR_OP_REDUCE:
        select_reduce(s, in);
        return true;
    case IR_OP_MBARRIER:
        select_mbarrier(s, in);
        return true;
    case IR_OP_TENSORCOPY:
        select_tensor_copy(s, in);
        return true;
    default:
        return false;
    }
}
