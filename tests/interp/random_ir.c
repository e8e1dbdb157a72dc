/* See random_ir.h. SSA is built directly: an environment of current values, phis at every join. */
#include "random_ir.h"

#include "model/eval.h"
#include "tap.h"

/* Values by class: pred, b16, b32, b64. */
enum { CLASSES = 4, PER_CLASS = RANDOM_IR_VALUES / CLASSES };
static const enum ir_type class_types[CLASSES] = {IR_PRED, IR_B16, IR_B32, IR_B64};

struct env {
    struct ir_value *v[CLASSES][PER_CLASS];
};

struct gen {
    struct ir_builder b;
    struct env env;
    uint64_t seed;
    unsigned left, depth;
    struct ir_module *module;
    struct ir_func *helper;
    struct ir_value *out, *in, *sums, *tid, *full;
    struct ir_var *depot, *shared;
    struct ir_value *last; /* put() most recently */
    bool computes;         /* in a loop that does nothing else */
    bool knows;            /* some statements are `known` */
    bool known;            /* operands of which compilers know bits are as frequent as others */
};

static unsigned below(struct gen *g, unsigned n)
{
    return (unsigned)(tap_random(&g->seed) >> 33) % n;
}

static struct ir_value *konst(struct gen *g, enum ir_type type, uint64_t bits)
{
    return ir_build_const(&g->b, type, bits);
}

static int class_of(enum ir_type type)
{
    unsigned bits = ir_type_bits(type);
    return bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
}

/* Where operations change: widths, and the ends of ranges of integers and of floats. */
static struct ir_value *limit(struct gen *g, enum ir_type type)
{
    static const uint64_t small[] = {0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 255};
    static const uint64_t words[] = {
        0x80000000, 0x7fffffff, 0xffffffff, 0x9e3779b9, 0x8000,     0x7fff,     0x3f800000,
        0xbf000000, 0x7f800000, 0x7fc00000, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001,
        0x4f7fffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x3c003c00, 0x7c00fc00};
    static const uint64_t longs[] = {
        0x8000000000000000, 0x7fffffffffffffff, 0xffffffffffffffff, 0x9e3779b97f4a7c15,
        0x80000000,         0xffffffff,         0x100000000,        0x41dfffffffc00000,
        0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000,
        0x41f0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
        0x7ff0000000000000, 0x7ff8000000000000, 0xbfe0000000000000, 0x3ff0000000000000};
    unsigned bits = ir_type_bits(type);
    uint64_t k = small[below(g, HD_COUNT_OF(small))];

    if (below(g, 2))
        k = bits == 64 ? longs[below(g, HD_COUNT_OF(longs))] : words[below(g, HD_COUNT_OF(words))];
    return konst(g, type, bits == 64 ? k : k & ((1ull << bits) - 1));
}

/* Made of the thread's number: compilers know some of its bits, other ones in each lane. */
static struct ir_value *of_thread(struct gen *g, enum ir_type type)
{
    static const uint64_t ends[] = {0, 1, 7, 15, 16, 31, 32, 33, 63, 64, 255, UINT32_MAX};
    struct ir_value *k = konst(g, IR_B32, ends[below(g, HD_COUNT_OF(ends))]), *x = g->tid;

    if (!below(g, 3))
        x = ir_build_sreg(&g->b, IR_SREG_LANEID);
    switch (below(g, 7)) {
    case 0:
        x = ir_build2(&g->b, IR_OP_AND, IR_B32, x, k);
        break;
    case 1:
        x = ir_build2(&g->b, IR_OP_SUB, IR_U32, k, x);
        break;
    case 2:
        x = ir_build2(&g->b, IR_OP_SHL, IR_B32, x, konst(g, IR_B32, below(g, 7)));
        break;
    case 3:
        x = ir_build2(&g->b, IR_OP_XOR, IR_B32, x, k);
        break;
    case 4:
        x = ir_build2(&g->b, IR_OP_MUL, IR_U32, x, k);
        break;
    default:
        break;
    }
    if (type == IR_PRED)
        return ir_build_setp(&g->b, IR_OP_SETP, below(g, 2) ? IR_U32 : IR_S32,
                             (enum ir_cmp)(IR_EQ + below(g, IR_GE - IR_EQ + 1)), x, k);
    if (type == IR_B32)
        return x;
    return ir_build_cvt(&g->b, type == IR_B16 ? IR_U16 : IR_U64, below(g, 2) ? IR_U32 : IR_S32,
                        IR_RND_NONE, x);
}

enum operand_kind { OPERAND_LIMIT, OPERAND_THREAD, OPERAND_LOADED, OPERAND_KINDS };

static struct ir_value *operand(struct gen *g, enum ir_type type, enum operand_kind kind)
{
    int c = class_of(type);

    return kind == OPERAND_LIMIT    ? limit(g, class_types[c])
           : kind == OPERAND_THREAD ? of_thread(g, class_types[c])
                                    : g->env.v[c][below(g, PER_CLASS)];
}

/* A value of this width; a constant now and then. */
static struct ir_value *pick(struct gen *g, enum ir_type type)
{
    if (g->known)
        return operand(g, type, (enum operand_kind)below(g, OPERAND_KINDS));
    static const uint64_t constants[] = {
        0,          1,          UINT64_MAX, 0x80000000,         0x7fffffff, 31,        32,
        0x3f800000, 0x7fc00000, 0x3c003c00, 0x8000000000000000, 5,          0x7f800000};
    int c = class_of(type);
    if (!below(g, 6)) {
        uint64_t k = constants[below(g, HD_COUNT_OF(constants))];
        unsigned bits = ir_type_bits(type);
        return konst(g, class_types[c], bits == 64 ? k : k & ((1ull << bits) - 1));
    }
    return g->env.v[c][below(g, PER_CLASS)];
}

static void put(struct gen *g, struct ir_value *value)
{
    int c = class_of(value->type);
    g->last = value;
    if (c >= 0)
        g->env.v[c][below(g, PER_CLASS)] = value;
}

static struct ir_instr *build(struct gen *g, enum ir_op op, enum ir_type type, uint32_t nsrc,
                              struct ir_value **src, uint32_t ndst)
{
    return ir_build_instr(&g->b, op, type, nsrc, src, ndst);
}

/* ---- pure operations */

static enum ir_type random_type(struct gen *g, enum ir_op op)
{
    for (;;) {
        enum ir_type t = (enum ir_type)(1 + below(g, IR_TYPE_COUNT - 1));
        if (ir_op_takes(op, t) && class_of(t) >= 0)
            return t;
    }
}

static bool is_wide_float(enum ir_type t)
{
    return t == IR_F32 || t == IR_F64;
}

static void random_rounding(struct gen *g, struct ir_instr *in)
{
    static const enum ir_rnd rnds[] = {IR_RN, IR_RZ, IR_RM, IR_RP};
    in->rnd = is_wide_float(in->type) ? rnds[below(g, 4)] : IR_RN;
    bool approx = in->op == IR_OP_FDIV || in->op == IR_OP_FRCP || in->op == IR_OP_FSQRT;
    if (approx && in->type == IR_F32 && below(g, 2))
        in->rnd = in->op == IR_OP_FDIV && below(g, 2) ? IR_FULL : IR_APPROX;
    if (in->op == IR_OP_FRCP && in->type == IR_F64 && below(g, 2)) {
        in->rnd = IR_APPROX;
        ir_set_mod(in, IR_MOD_FTZ, true);
    }
}

static uint64_t random_imm(struct gen *g, enum ir_op op)
{
    switch (op) {
    case IR_OP_LOP3:
        return below(g, 256);
    case IR_OP_PRMT:
        return below(g, 7);
    case IR_OP_FTESTP:
        return below(g, 6);
    default:
        return 0;
    }
}

/* Does PTX have this modifier, legal for the operation, with the instruction's type? */
static bool mod_fits(struct gen *g, const struct ir_instr *in, enum ir_mod mod)
{
    switch (mod) {
    case IR_MOD_FTZ:
        return in->type == IR_F32 || (in->op == IR_OP_FRSQRT && in->type == IR_F64);
    case IR_MOD_SAT:
        return ir_type_is_float(in->type) ? in->type != IR_F64 && below(g, 2) : in->type == IR_S32;
    case IR_MOD_RELU:
        return in->op != IR_OP_CVTPACK && !is_wide_float(in->type);
    case IR_MOD_HI:
        return in->op != IR_OP_FSETP || ir_type_lanes(in->type) > 1;
    default:
        return true;
    }
}

static void random_modifiers(struct gen *g, struct ir_instr *in)
{
    uint32_t mods = ir_op_infos[in->op].mods;
    in->imm = random_imm(g, in->op);
    in->type2 =
        in->op == IR_OP_DP4A || in->op == IR_OP_DP2A ? (below(g, 2) ? IR_S32 : IR_U32) : IR_VOID;
    for (unsigned bit = 0; bit < IR_MOD_COUNT; bit++)
        ir_set_mod(in, 1u << bit, (mods >> bit & 1) && below(g, 2) && mod_fits(g, in, 1u << bit));
    if (ir_op_has(in->op, IR_F_RND))
        random_rounding(g, in);
    if (in->op == IR_OP_SETP)
        in->cmp = (enum ir_cmp)below(g, in->type == IR_PRED ? 2 : 6);
    if (in->op == IR_OP_FSETP)
        in->cmp = (enum ir_cmp)below(g, 14);
}

static bool is_plain(enum ir_op op)
{
    switch (op) {
    case IR_OP_CONST:
    case IR_OP_UNDEF:
    case IR_OP_PHI:
    case IR_OP_AGREE: /* its answer is up to the device */
    case IR_OP_PACK:
    case IR_OP_UNPACK:
    case IR_OP_VARADDR:
    case IR_OP_FUNCADDR:
    case IR_OP_POLICY_FRACTIONAL: /* at most one priority: gen_ptx.py has them */
    case IR_OP_POLICY_RANGE:
    case IR_OP_POLICY_CVT:
    case IR_OP_CVT:
    case IR_OP_CVTUNPACK:
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
    case IR_OP_ISSPACEP:
        return false;
    default:
        return ir_op_has(op, IR_F_PURE);
    }
}

/* PTX does not say which NaN f64 arithmetic gives: make it one. */
static struct ir_value *defined_nan(struct gen *g, struct ir_instr *in)
{
    struct ir_value *r = in->dst[0];
    bool bits = in->op == IR_OP_FNEG || in->op == IR_OP_FABS || in->op == IR_OP_FCOPYSIGN;
    if (in->type != IR_F64 || r->type != IR_B64 || bits || in->op == IR_OP_SELECT)
        return r;
    struct ir_instr *test = build(g, IR_OP_FTESTP, IR_F64, 1, &r, 1);
    test->imm = IR_TESTP_NOTANUMBER;
    return ir_build3(&g->b, IR_OP_SELECT, IR_B64, test->dst[0],
                     konst(g, IR_B64, 0x7ff8000000000000), r);
}

static void gen_pure(struct gen *g)
{
    enum ir_op op;
    do
        op = (enum ir_op)below(g, IR_OP_COUNT);
    while (!is_plain(op));
    struct ir_instr like = {.op = op, .type = random_type(g, op)};
    if (op == IR_OP_CVTPACK)
        like.type = below(g, 2) ? IR_F16X2 : IR_BF16X2;
    if (op == IR_OP_MADHI_SAT)
        like.type = IR_S32;
    struct ir_value *src[4];
    uint32_t nsrc = ir_operands_min(ir_op_infos[op].src);
    for (uint32_t s = 0; s < nsrc; s++) {
        src[s] = pick(g, ir_role_type(ir_operand_role(ir_op_infos[op].src, s), like.type, IR_VOID));
        if (g->known && s && src[s]->type == src[s - 1]->type && !below(g, 4))
            src[s] = src[s - 1]; /* rotations, squares, differences that are 0 */
    }
    struct ir_instr *in = build(g, op, like.type, nsrc, src, 1);
    random_modifiers(g, in);
    put(g, defined_nan(g, in));
}

/* Pairs of small floats, there and back; tf32. */
static void gen_small(struct gen *g)
{
    static const enum ir_type types[] = {IR_E4M3X2, IR_E5M2X2, IR_E2M3X2, IR_E3M2X2, IR_UE8M0X2};
    enum ir_type t = types[below(g, HD_COUNT_OF(types))];
    bool scale = t == IR_UE8M0X2, random = !scale && below(g, 3) == 0;
    struct ir_value *src[] = {pick(g, IR_B32), pick(g, IR_B32), pick(g, IR_B32)};
    struct ir_instr *in;
    if (below(g, 3) == 0) {
        in = ir_build_cvt(&g->b, IR_TF32, IR_F32, below(g, 2) ? IR_RNA : IR_RZ, src[0])->instr;
    } else if (below(g, 2)) {
        in = build(g, IR_OP_CVTPACK, t, random ? 3 : 2, src, 1);
        in->rnd = random ? IR_RS : !scale ? IR_RN : below(g, 2) ? IR_RP : IR_RZ;
        ir_set_mod(in, IR_MOD_SATFINITE, below(g, 2));
    } else {
        struct ir_value *pair = pick(g, IR_B16);
        in = ir_build_instr(&g->b, IR_OP_CVTUNPACK, scale ? IR_BF16X2 : IR_F16X2, 1, &pair, 1);
        in->type2 = t;
    }
    ir_set_mod(in, IR_MOD_RELU, !scale && below(g, 2));
    put(g, in->dst[0]);
}

static void gen_cvt(struct gen *g)
{
    if (below(g, 4) == 0) {
        gen_small(g);
        return;
    }
    static const enum ir_type types[] = {IR_U16, IR_S16, IR_U32,  IR_S32, IR_U64,
                                         IR_S64, IR_F16, IR_BF16, IR_F32, IR_F64};
    static const enum ir_rnd rnds[] = {IR_RN, IR_RZ, IR_RM, IR_RP};
    static const enum ir_rnd integral[] = {IR_RNI, IR_RZI, IR_RMI, IR_RPI};
    enum ir_type to = types[below(g, HD_COUNT_OF(types))],
                 from = types[below(g, HD_COUNT_OF(types))];
    bool fto = ir_type_is_float(to), ffrom = ir_type_is_float(from);
    bool narrows = fto && (!ffrom || ir_type_bits(to) < ir_type_bits(from));
    enum ir_rnd rnd = IR_RND_NONE;
    if (ffrom && (!fto || (to == from && to != IR_BF16)))
        rnd = integral[below(g, 4)];
    else if (narrows)
        rnd = is_wide_float(to) ? rnds[below(g, 4)] : rnds[below(g, 2)];
    else if (fto && ffrom && from != to && ir_type_bits(to) == 16)
        return; /* f16 to bf16 and back: not in PTX */
    struct ir_value *r = ir_build_cvt(&g->b, to, from, rnd, pick(g, from));
    bool flushes = ffrom && (from == IR_F32 || (to == IR_F32 && from == IR_F64));
    ir_set_mod(r->instr, IR_MOD_SAT, !ffrom && !fto && below(g, 3) == 0);
    ir_set_mod(r->instr, IR_MOD_FTZ, flushes && !below(g, 3));
    put(g, defined_nan(g, r->instr));
}

/* Halves apart and together again. */
static void gen_pieces(struct gen *g)
{
    struct ir_value *wide = pick(g, IR_B64), *pieces[2];
    for (uint64_t i = 0; i < 2; i++) {
        struct ir_instr *in = build(g, IR_OP_UNPACK, IR_B32, 1, &wide, 1);
        in->imm = i;
        pieces[1 - i] = in->dst[0];
    }
    put(g, pieces[0]);
    put(g, build(g, IR_OP_PACK, IR_B64, 2, pieces, 1)->dst[0]);
}

/* ---- memory */

/* base + (index & mask), b64 */
static struct ir_value *address(struct gen *g, struct ir_value *base, uint64_t mask)
{
    struct ir_value *at =
        ir_build2(&g->b, IR_OP_AND, IR_B32, pick(g, IR_B32), konst(g, IR_B32, mask));
    struct ir_value *wide = ir_build_cvt(&g->b, IR_U64, IR_U32, IR_RND_NONE, at);
    return ir_build2(&g->b, IR_OP_ADD, IR_U64, base, wide);
}

static struct ir_value *load(struct gen *g, enum ir_type type, enum ir_space space,
                             struct ir_value *at)
{
    struct ir_instr *in = build(g, IR_OP_LD, type, 1, &at, 1);
    in->dst[0]->type = ir_type_value(type);
    in->mem.space = space;
    return in->dst[0];
}

static void store(struct gen *g, enum ir_type type, enum ir_space space, struct ir_value *at,
                  struct ir_value *value)
{
    struct ir_value *src[2] = {at, value};
    build(g, IR_OP_ST, type, 2, src, 0)->mem.space = space;
}

static struct ir_value *var_address(struct gen *g, struct ir_var *var)
{
    struct ir_instr *in = build(g, IR_OP_VARADDR, IR_VOID, 0, NULL, 1);
    in->var = var;
    return in->dst[0];
}

static void gen_memory(struct gen *g)
{
    static const enum ir_type types[] = {IR_B16, IR_B32, IR_B64};
    enum ir_type t = types[below(g, 3)];
    unsigned size_B = ir_type_bits(t) / 8;
    switch (below(g, 3)) {
    case 0:
        put(g, load(g, t, below(g, 2) ? IR_SPACE_GLOBAL : IR_SPACE_GENERIC,
                    address(g, g->in, RANDOM_IR_WORDS * 4 - size_B)));
        break;
    case 1:
        put(g, load(g, t, IR_SPACE_LOCAL, address(g, var_address(g, g->depot), 64 - size_B)));
        break;
    default:
        store(g, t, IR_SPACE_LOCAL, address(g, var_address(g, g->depot), 64 - size_B), pick(g, t));
        break;
    }
}

static void gen_atom(struct gen *g)
{
    struct ir_value *src[2] = {g->sums, pick(g, IR_B64)};
    struct ir_instr *in = build(g, IR_OP_ATOM, IR_U64, 2, src, 0);
    in->mem.space = IR_SPACE_GLOBAL;
    in->mem.atom = below(g, 2) ? IR_ATOM_ADD : IR_ATOM_XOR;
    in->mem.offset =
        in->mem.atom == IR_ATOM_ADD ? (int64_t)below(g, 2) * 8 : 16 + (int64_t)below(g, 2) * 8;
    in->mem.sem = IR_SEM_RELAXED;
    in->mem.scope = IR_SCOPE_GPU;
}

static void gen_call(struct gen *g)
{
    struct ir_value *src[2] = {pick(g, IR_B32), pick(g, IR_B32)};
    struct ir_instr *in = build(g, IR_OP_CALL, IR_VOID, 2, src, 1);
    in->callee = g->helper;
    in->dst[0]->type = IR_B32;
    put(g, in->dst[0]);
}

/* ---- convergent statements */

static void gen_bar(struct gen *g)
{
    build(g, IR_OP_BAR, IR_VOID, 0, NULL, 0)->imm = IR_BAR_SYNC;
}

static void gen_exchange(struct gen *g)
{
    struct ir_value *base = var_address(g, g->shared), *eight = konst(g, IR_B32, 8);
    struct ir_value *mine = ir_build2(&g->b, IR_OP_MULWIDE, IR_U32, g->tid, eight);
    store(g, IR_B64, IR_SPACE_SHARED, ir_build2(&g->b, IR_OP_ADD, IR_U64, base, mine),
          pick(g, IR_B64));
    gen_bar(g);
    struct ir_value *at = address(g, base, (RANDOM_IR_THREADS - 1) * 8);
    put(g, load(g, IR_B64, IR_SPACE_SHARED, at));
    gen_bar(g);
}

static void gen_shfl(struct gen *g)
{
    unsigned mode = below(g, 4), width = 32u >> below(g, 3);
    struct ir_value *lane = below(g, 2) ? konst(g, IR_B32, below(g, 32)) : pick(g, IR_B32);
    uint64_t clamp = (32 - width) << 8 | (mode == IR_SHFL_UP ? 0 : 31);
    struct ir_value *src[4] = {pick(g, IR_B32), lane, konst(g, IR_B32, clamp), g->full};
    struct ir_instr *in = build(g, IR_OP_SHFL, IR_B32, 4, src, 2);
    in->imm = mode;
    in->dst[0]->type = IR_B32;
    in->dst[1]->type = IR_PRED;
    put(g, in->dst[0]);
    put(g, in->dst[1]);
}

static void gen_collective(struct gen *g)
{
    struct ir_value *src[3] = {pick(g, IR_B32), g->full, NULL};
    struct ir_instr *in;
    switch (below(g, 4)) {
    case 0:
        src[0] = pick(g, IR_PRED);
        in = build(g, IR_OP_VOTE, IR_VOID, 2, src, 1);
        in->imm = below(g, 4);
        in->dst[0]->type = in->imm == IR_VOTE_BALLOT ? IR_B32 : IR_PRED;
        break;
    case 1:
        src[0] = ir_build2(&g->b, IR_OP_AND, IR_B32, src[0], konst(g, IR_B32, 3));
        in = build(g, IR_OP_MATCH, IR_B32, 2, src, 1);
        in->dst[0]->type = IR_B32;
        break;
    case 2:
        in = build(g, IR_OP_REDUX, below(g, 2) ? IR_S32 : IR_U32, 2, src, 1);
        in->imm = below(g, 6);
        break;
    default:
        src[0] = konst(g, IR_B32, 2);
        src[1] = konst(g, IR_B32, 0);
        src[2] = pick(g, IR_PRED);
        in = build(g, IR_OP_BAR, IR_VOID, 3, src, 1);
        in->imm = IR_BAR_RED_POPC + below(g, 3);
        in->dst[0]->type = in->imm == IR_BAR_RED_POPC ? IR_B32 : IR_PRED;
        break;
    }
    put(g, in->dst[0]);
}

/* ---- control flow */

static void gen_block(struct gen *g, bool convergent);

static struct ir_block *start_block(struct gen *g)
{
    return ir_block_create(g->b.func);
}

static void link_to(struct gen *g, struct ir_block *from, struct ir_block *to)
{
    g->b.block = from;
    ir_build_br(&g->b, to);
}

/* Phis in `join` for `n` edges (all preds, linked) of which pred[i] leaves with envs[i]. */
static void join_envs(struct gen *g, struct ir_block *join, struct ir_block *const *pred,
                      const struct env *envs, unsigned n)
{
    g->b.block = join;
    for (int c = 0; c < CLASSES; c++) {
        for (int i = 0; i < PER_CLASS; i++) {
            bool same = true;
            for (unsigned k = 1; k < n; k++)
                same &= envs[k].v[c][i] == envs[0].v[c][i];
            if (same) {
                g->env.v[c][i] = envs[0].v[c][i];
                continue;
            }
            struct ir_instr *phi = ir_build_phi(join, class_types[c]);
            for (uint32_t p = 0; p < join->npreds; p++)
                for (unsigned k = 0; k < n; k++)
                    if (join->preds[p] == pred[k])
                        phi->src[p] = envs[k].v[c][i];
            g->env.v[c][i] = phi->dst[0];
        }
    }
}

/* Guards, which the thread's number decides for all of a block or for some of it. */
static struct ir_value *gen_guard(struct gen *g)
{
    static const uint64_t ends[] = {0, 1, 16, 31, 32, 33, 64, 128, 1000, 0x7fffffff, UINT32_MAX};
    struct ir_value *x = g->tid, *end = konst(g, IR_B32, ends[below(g, HD_COUNT_OF(ends))]);
    enum ir_cmp cmp = (enum ir_cmp)(IR_EQ + below(g, IR_GE - IR_EQ + 1));

    if (below(g, 2))
        x = ir_build2(&g->b, IR_OP_ADD, IR_U32, x, konst(g, IR_B32, below(g, 9) - 4u));
    if (below(g, 3)) {
        struct ir_value *block = ir_build_sreg(&g->b, IR_SREG_CTAID_X);
        block = ir_build2(&g->b, IR_OP_MUL, IR_S32, block, konst(g, IR_B32, below(g, 3) * 32));
        x = ir_build2(&g->b, IR_OP_ADD, IR_U32, x, block);
    }
    return ir_build_setp(&g->b, IR_OP_SETP, below(g, 2) ? IR_U32 : IR_S32, cmp, x, end);
}

static struct ir_value *gen_condition(struct gen *g)
{
    struct ir_value *p = below(g, 2) ? pick(g, IR_PRED) : gen_guard(g);

    if (below(g, 4) == 0)
        p = ir_build2(&g->b, below(g, 2) ? IR_OP_AND : IR_OP_OR, IR_PRED, p, gen_guard(g));
    return p;
}

static void gen_branch(struct gen *g)
{
    struct ir_block *arms[4], *ends[4], *join;
    struct env before = g->env, envs[4];
    unsigned n = below(g, 4) ? 2 : 2 + below(g, 3);
    struct ir_block *head = g->b.block;
    for (unsigned k = 0; k < n; k++)
        arms[k] = start_block(g);
    join = start_block(g);
    if (n == 2) {
        ir_build_cbr(&g->b, gen_condition(g), arms[0], arms[1]);
    } else {
        struct ir_value *index =
            ir_build2(&g->b, IR_OP_REM, IR_U32, pick(g, IR_B32), konst(g, IR_B32, n));
        build(g, IR_OP_SWITCH, IR_VOID, 1, &index, 0);
        ir_block_set_succs(head, n, arms);
    }
    for (unsigned k = 0; k < n; k++) {
        g->env = before;
        g->b.block = arms[k];
        if (k == 0 || below(g, 3))
            gen_block(g, false);
        ends[k] = g->b.block;
        envs[k] = g->env;
        link_to(g, ends[k], join);
    }
    ir_func_link_cfg(g->b.func);
    join_envs(g, join, ends, envs, n);
}

/* How often a loop goes round: at most seven times, as data or as the thread's number says. */
static struct ir_value *gen_trips(struct gen *g)
{
    struct ir_value *x = pick(g, IR_B32);
    if (below(g, 2)) {
        struct ir_value *shift = konst(g, IR_B32, below(g, 7));
        x = ir_build2(&g->b, IR_OP_SHR, IR_U32, g->tid, shift);
    }
    return ir_build2(&g->b, IR_OP_AND, IR_B32, x, konst(g, IR_B32, 7));
}

static struct ir_value *gen_nonzero(struct gen *g, struct ir_value *x)
{
    return ir_build_setp(&g->b, IR_OP_SETP, IR_U32, IR_NE, x, konst(g, IR_B32, 0));
}

/*
 * for (i = n & 7; i; i--), or the same with the test at the end and in front, with phis for every
 * value; sometimes with a break in the middle.
 */
static void gen_loop(struct gen *g)
{
    struct ir_value *trips = gen_trips(g);
    struct ir_block *entry = g->b.block, *head = start_block(g), *body = head;
    struct ir_block *out = start_block(g), *latch, *leave[3];
    struct ir_instr *phis[CLASSES][PER_CLASS], *count;
    struct env at_exit[3];
    unsigned nleave = 0;
    bool head_tested = below(g, 2), computed = g->computes;
    g->computes |= below(g, 3) == 0;
    if (head_tested) {
        link_to(g, entry, head);
    } else {
        at_exit[nleave] = g->env;
        leave[nleave++] = entry;
        ir_build_cbr(&g->b, gen_nonzero(g, trips), head, out);
    }
    ir_func_link_cfg(g->b.func);
    for (int c = 0; c < CLASSES; c++) {
        for (int i = 0; i < PER_CLASS; i++) {
            phis[c][i] = ir_build_phi(head, class_types[c]);
            phis[c][i]->src[0] = g->env.v[c][i];
            g->env.v[c][i] = phis[c][i]->dst[0];
        }
    }
    count = ir_build_phi(head, IR_B32);
    count->src[0] = trips;
    g->b.block = head;
    if (head_tested) {
        body = start_block(g);
        at_exit[nleave] = g->env;
        leave[nleave++] = head;
        ir_build_cbr(&g->b, gen_nonzero(g, count->dst[0]), body, out);
    }
    g->b.block = body;
    gen_block(g, false);
    if (below(g, 2)) {
        struct ir_block *rest = start_block(g);
        at_exit[nleave] = g->env;
        leave[nleave++] = g->b.block;
        ir_build_cbr(&g->b, pick(g, IR_PRED), out, rest);
        g->b.block = rest;
        gen_block(g, false);
    }
    struct ir_value *next = ir_build2(&g->b, IR_OP_SUB, IR_U32, count->dst[0], konst(g, IR_B32, 1));
    latch = g->b.block;
    if (head_tested) {
        link_to(g, latch, head);
    } else {
        at_exit[nleave] = g->env;
        leave[nleave++] = latch;
        ir_build_cbr(&g->b, gen_nonzero(g, next), head, out);
    }
    ir_func_link_cfg(g->b.func);
    for (uint32_t p = 0; p < head->npreds; p++) {
        if (head->preds[p] != latch)
            continue;
        count->src[p] = next;
        for (int c = 0; c < CLASSES; c++)
            for (int i = 0; i < PER_CLASS; i++)
                phis[c][i]->src[p] = g->env.v[c][i];
    }
    join_envs(g, out, leave, at_exit, nleave);
    g->computes = computed;
}

static void gen_statement(struct gen *g, bool convergent)
{
    unsigned r = below(g, 100);
    g->left -= g->left > 0;
    g->known = g->knows && !below(g, 3);
    if (r < 11 && g->depth < 3)
        gen_branch(g);
    else if (r < 15 && g->depth < 3)
        gen_loop(g);
    else if (r < 21 && !g->computes)
        gen_memory(g);
    else if (r < 23 && !g->computes)
        gen_atom(g);
    else if (r < 25 && !g->computes)
        gen_call(g);
    else if (r < 27)
        gen_pieces(g);
    else if (r < 39)
        gen_cvt(g);
    else if (r < 43 && convergent)
        gen_exchange(g);
    else if (r < 46 && convergent)
        gen_shfl(g);
    else if (r < 49 && convergent)
        gen_collective(g);
    else
        gen_pure(g);
}

static void gen_block(struct gen *g, bool convergent)
{
    g->depth++;
    for (unsigned n = 2 + below(g, 5); n; n--)
        gen_statement(g, convergent);
    g->depth--;
}

/* ---- the module */

/* helper(a, b) = a < b ? a * 1664525 + b : a ^ b */
static void make_helper(struct gen *g)
{
    static const enum ir_type params[] = {IR_B32, IR_B32};
    struct ir_func *f = g->helper = ir_func_create(g->module, "helper");
    ir_func_set_proto(f, 2, params, 1, params);
    struct ir_block *entry = ir_block_create(f), *less = ir_block_create(f),
                    *more = ir_block_create(f);
    g->b = (struct ir_builder){.func = f, .block = entry};
    struct ir_value *a = f->args[0], *b = f->args[1];
    ir_build_cbr(&g->b, ir_build_setp(&g->b, IR_OP_SETP, IR_U32, IR_LT, a, b), less, more);
    g->b.block = less;
    struct ir_value *r = ir_build2(&g->b, IR_OP_MUL, IR_U32, a, konst(g, IR_B32, 1664525));
    r = ir_build2(&g->b, IR_OP_ADD, IR_U32, r, b);
    build(g, IR_OP_RET, IR_VOID, 1, &r, 0);
    g->b.block = more;
    r = ir_build2(&g->b, IR_OP_XOR, IR_B32, a, b);
    build(g, IR_OP_RET, IR_VOID, 1, &r, 0);
    ir_func_link_cfg(f);
}

static struct ir_value *param(struct gen *g, uint64_t offset)
{
    return load(g, IR_B64, IR_SPACE_PARAM, konst(g, IR_B64, offset));
}

static struct ir_value *thread_id(struct gen *g)
{
    g->tid = ir_build_sreg(&g->b, IR_SREG_TID_X);
    struct ir_value *cta = ir_build_sreg(&g->b, IR_SREG_CTAID_X);
    struct ir_value *size = konst(g, IR_B32, RANDOM_IR_THREADS);
    return ir_build2(&g->b, IR_OP_ADD, IR_U32, ir_build2(&g->b, IR_OP_MUL, IR_U32, cta, size),
                     g->tid);
}

static void load_env(struct gen *g, struct ir_value *id)
{
    struct ir_value *skew = ir_build2(&g->b, IR_OP_MUL, IR_U32, id, konst(g, IR_B32, 8));
    struct ir_value *limit = konst(g, IR_B32, (RANDOM_IR_WORDS - 64) * 4 - 8);
    skew = ir_build2(&g->b, IR_OP_AND, IR_B32, skew, limit);
    struct ir_value *at = ir_build2(&g->b, IR_OP_ADD, IR_U64, g->in,
                                    ir_build_cvt(&g->b, IR_U64, IR_U32, IR_RND_NONE, skew));
    for (int c = 0; c < CLASSES; c++) {
        for (int i = 0; i < PER_CLASS; i++) {
            enum ir_type t = c ? class_types[c] : IR_B32;
            struct ir_value *v = load(g, t, IR_SPACE_GLOBAL, at);
            v->instr->mem.offset = 8 * (c * PER_CLASS + i);
            if (!c) {
                v = ir_build2(&g->b, IR_OP_AND, IR_B32, v, konst(g, IR_B32, 1));
                v = ir_build_setp(&g->b, IR_OP_SETP, IR_U32, IR_NE, v, konst(g, IR_B32, 0));
            }
            g->env.v[c][i] = v;
        }
    }
    g->env.v[2][0] = id;
    g->env.v[2][1] = g->tid;
}

static void store_env(struct gen *g, struct ir_value *id)
{
    struct ir_value *size = konst(g, IR_B32, 8 * RANDOM_IR_VALUES);
    struct ir_value *at = ir_build2(&g->b, IR_OP_ADD, IR_U64, g->out,
                                    ir_build2(&g->b, IR_OP_MULWIDE, IR_U32, id, size));
    for (int c = 0; c < CLASSES; c++) {
        for (int i = 0; i < PER_CLASS; i++) {
            struct ir_value *v = g->env.v[c][i];
            if (!c)
                v = ir_build3(&g->b, IR_OP_SELECT, IR_B32, v, konst(g, IR_B32, 1),
                              konst(g, IR_B32, 0));
            store(g, v->type, IR_SPACE_GLOBAL, at, v);
            g->b.block->last->mem.offset = 8 * (c * PER_CLASS + i);
        }
    }
}

/* ---- operations at their limits */

struct limit_row {
    enum ir_op op; /* OR: a rotation that is made of two shifts */
    enum ir_type type;
    uint32_t mods;
};

static const struct limit_row limit_rows[RANDOM_IR_LIMITS] = {
    {IR_OP_SHFL_L, IR_B32, IR_MOD_WRAP},
    {IR_OP_SHFL_R, IR_B32, IR_MOD_WRAP},
    {IR_OP_SHFL_L, IR_B32, 0},
    {IR_OP_SHFL_R, IR_B32, 0},
    {IR_OP_OR, IR_B16, 0},
    {IR_OP_OR, IR_B32, 0},
    {IR_OP_OR, IR_B64, 0},
    {IR_OP_SHL, IR_B16, 0},
    {IR_OP_SHL, IR_B32, 0},
    {IR_OP_SHL, IR_B64, 0},
    {IR_OP_SHR, IR_U16, 0},
    {IR_OP_SHR, IR_S16, 0},
    {IR_OP_SHR, IR_U32, 0},
    {IR_OP_SHR, IR_S32, 0},
    {IR_OP_SHR, IR_U64, 0},
    {IR_OP_SHR, IR_S64, 0},
    {IR_OP_BFE, IR_U32, 0},
    {IR_OP_BFE, IR_S32, 0},
    {IR_OP_BFE, IR_U64, 0},
    {IR_OP_BFE, IR_S64, 0},
    {IR_OP_BFI, IR_B32, 0},
    {IR_OP_BFI, IR_B64, 0},
    {IR_OP_BMSK, IR_B32, 0},
    {IR_OP_BMSK, IR_B32, IR_MOD_WRAP},
    {IR_OP_SZEXT, IR_U32, 0},
    {IR_OP_SZEXT, IR_S32, IR_MOD_WRAP},
    {IR_OP_DIV, IR_S16, 0},
    {IR_OP_DIV, IR_S32, 0},
    {IR_OP_DIV, IR_U32, 0},
    {IR_OP_DIV, IR_S64, 0},
    {IR_OP_REM, IR_U16, 0},
    {IR_OP_REM, IR_S32, 0},
    {IR_OP_REM, IR_U32, 0},
    {IR_OP_REM, IR_U64, 0},
    {IR_OP_PRMT, IR_B32, 0},
    {IR_OP_MULHI, IR_S32, 0},
    {IR_OP_MULHI, IR_S64, 0},
    {IR_OP_SAD, IR_S32, 0},
    {IR_OP_ADD, IR_S32, IR_MOD_SAT},
    {IR_OP_SUB, IR_S32, IR_MOD_SAT},
    {IR_OP_MADHI_SAT, IR_S32, 0},
    {IR_OP_FNS, IR_B32, 0},
};

/* x << n | x >> w - n, in one of the ways to say that; shifts by w and more give 0. */
static void gen_rotation(struct gen *g, enum ir_type type, struct ir_value *x, struct ir_value *n,
                         unsigned way)
{
    struct ir_value *mask = konst(g, IR_B32, ir_type_bits(type) - 1), *rest;

    rest = konst(g, IR_B32, way ? 0 : ir_type_bits(type));
    rest = ir_build2(&g->b, IR_OP_SUB, IR_U32, rest, n);
    if (way)
        rest = ir_build2(&g->b, IR_OP_AND, IR_B32, rest, mask);
    if (way == 2)
        n = ir_build2(&g->b, IR_OP_AND, IR_B32, n, mask);
    enum ir_type number = type == IR_B16 ? IR_U16 : type == IR_B32 ? IR_U32 : IR_U64;
    struct ir_value *high = ir_build2(&g->b, IR_OP_SHL, type, x, n);
    struct ir_value *low = ir_build2(&g->b, IR_OP_SHR, number, x, rest);
    put(g, ir_build2(&g->b, IR_OP_OR, type, high, low));
}

/* Result number i: of other kinds of operands each. */
static void gen_limit(struct gen *g, const struct limit_row *row, unsigned i)
{
    enum operand_kind kinds[4] = {i % OPERAND_KINDS, i / OPERAND_KINDS % OPERAND_KINDS,
                                  i / OPERAND_KINDS / OPERAND_KINDS % OPERAND_KINDS,
                                  below(g, OPERAND_KINDS)};
    uint32_t nsrc = ir_operands_min(ir_op_infos[row->op].src);
    struct ir_value *src[4];

    for (uint32_t s = 0; s < nsrc; s++) {
        const char role = ir_operand_role(ir_op_infos[row->op].src, s);
        src[s] = operand(g, ir_role_type(role, row->type, IR_VOID), kinds[s]);
    }
    if (row->op == IR_OP_OR) {
        gen_rotation(g, row->type, src[0], operand(g, IR_B32, kinds[1]), kinds[2]);
        return;
    }
    if (nsrc > 2 && src[0]->type == src[1]->type && kinds[1] == OPERAND_LIMIT)
        src[1] = src[0];
    struct ir_instr *in = build(g, row->op, row->type, nsrc, src, 1);
    ir_set_mod(in, row->mods, row->mods != 0);
    put(g, in->dst[0]);
}

static struct ir_value *single(struct gen *g, const struct limit_row *limits, unsigned i)
{
    struct env loaded = g->env;

    for (g->last = NULL; !g->last; g->env = loaded) {
        g->known = g->knows && below(g, 3);
        if (limits)
            gen_limit(g, limits, i);
        else if (below(g, 3))
            gen_pure(g);
        else
            gen_cvt(g);
    }
    if (g->last->type != IR_PRED)
        return g->last;
    return ir_build3(&g->b, IR_OP_SELECT, IR_B32, g->last, konst(g, IR_B32, 1),
                     konst(g, IR_B32, 0));
}

/*
 * Single operations, each result stored in its own place. Limits come behind barriers, where code
 * computes thread numbers anew, and before stores, which end blocks: instruction selection sees
 * both.
 */
static void gen_singles(struct gen *g, struct ir_value *id, const struct limit_row *limits)
{
    enum { TOGETHER = 4 };
    unsigned n = limits ? TOGETHER : 1;
    struct ir_value *size = konst(g, IR_B32, 8 * RANDOM_IR_VALUES), *value[TOGETHER];
    struct ir_value *at = ir_build2(&g->b, IR_OP_ADD, IR_U64, g->out,
                                    ir_build2(&g->b, IR_OP_MULWIDE, IR_U32, id, size));

    _Static_assert(RANDOM_IR_VALUES % TOGETHER == 0, "whole groups");
    for (unsigned i = 0; i < RANDOM_IR_VALUES; i += n) {
        if (limits)
            gen_bar(g);
        for (unsigned k = 0; k < n; k++)
            value[k] = single(g, limits, i + k);
        for (unsigned k = 0; k < n; k++) {
            store(g, value[k]->type, IR_SPACE_GLOBAL, at, value[k]);
            g->b.block->last->mem.offset = 8 * (i + k);
        }
    }
}

static void make_kernel(struct gen *g, unsigned size, const struct limit_row *limits)
{
    struct ir_func *f = ir_func_create(g->module, "k");
    f->is_kernel = true;
    f->linkage = IR_LINK_VISIBLE;
    f->param_size_B = 16;
    g->depot = ir_var_create(g->module, f, "depot", IR_SPACE_LOCAL);
    g->depot->size_B = 64;
    g->depot->align_B = 8;
    g->shared = ir_var_create(g->module, f, "slots", IR_SPACE_SHARED);
    g->shared->size_B = 8 * RANDOM_IR_THREADS;
    g->shared->align_B = 8;
    g->b = (struct ir_builder){.func = f, .block = ir_block_create(f)};
    g->out = param(g, 0);
    g->in = param(g, 8);
    g->full = konst(g, IR_B32, 0xffffffff);
    uint64_t sums_at = 8ull * RANDOM_IR_THREADS * RANDOM_IR_CTAS * RANDOM_IR_VALUES;
    g->sums = ir_build2(&g->b, IR_OP_ADD, IR_U64, g->out, konst(g, IR_B64, sums_at));
    struct ir_value *id = thread_id(g), *depot = var_address(g, g->depot),
                    *zero = konst(g, IR_B64, 0);
    for (int64_t i = 0; i < 8; i++) {
        store(g, IR_B64, IR_SPACE_LOCAL, depot, zero);
        g->b.block->last->mem.offset = 8 * i;
    }
    load_env(g, id);
    for (g->left = size; g->left;)
        gen_statement(g, true);
    if (size)
        store_env(g, id);
    else
        gen_singles(g, id, limits);
    build(g, IR_OP_RET, IR_VOID, 0, NULL, 0);
    ir_func_link_cfg(f);
}

static struct ir_module *make_module(uint64_t seed, unsigned size, const struct limit_row *limits)
{
    struct gen g = {.seed = seed, .knows = limits || seed >= RANDOM_IR_KNOWS};
    if (ir_module_create("random", &g.module) != HD_OK)
        return NULL;
    make_helper(&g);
    make_kernel(&g, size, limits);
    if (ir_validate(g.module) != HD_OK || ir_layout_windows(g.module) != HD_OK) {
        diag("seed %llu: %s", (unsigned long long)seed, hd_error_message());
        ir_module_destroy(g.module);
        return NULL;
    }
    return g.module;
}

struct ir_module *random_ir_module(uint64_t seed, unsigned size)
{
    return make_module(seed, size, NULL);
}

struct ir_module *random_ir_limits(uint64_t seed)
{
    return make_module(seed, 0, &limit_rows[seed % RANDOM_IR_LIMITS]);
}

void random_ir_input(uint64_t seed, uint32_t in[RANDOM_IR_WORDS])
{
    static const uint32_t special[] = {0,          1,          0x80000000, 0xffffffff,
                                       0x3f800000, 0x7f800000, 0x7fc00000, 0x00000001,
                                       0x3c003c00, 0x7c007e00, 0x3ff00000};
    for (unsigned i = 0; i < RANDOM_IR_WORDS; i++) {
        uint64_t r = tap_random(&seed);
        in[i] = r % 4 == 0   ? special[(r >> 8) % HD_COUNT_OF(special)]
                : r % 4 == 1 ? (uint32_t)(r >> 32)
                             : (uint32_t)((r >> 63) << 31 | (118 + (r >> 8) % 18) << 23 |
                                          ((r >> 32) & 0x7fffff));
    }
}
