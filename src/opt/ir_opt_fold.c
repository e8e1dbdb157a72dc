/* requires: nothing. keeps: cfg, dominance. breaks: liveness, shapes. */
#include "opt/passes.h"

#include "model/eval.h"

/* What to do with an instruction: nothing, use `value` instead, or it was rewritten in place. */
struct folded {
    struct ir_value *value;
    bool rewritten;
};

static struct folded fold_use(struct ir_value *value)
{
    return (struct folded){.value = value};
}

static struct folded fold_make_const(struct ir_instr *instr, uint64_t bits)
{
    opt_make_const(instr, bits, 0);
    return (struct folded){.rewritten = true};
}

static const struct folded nothing;

/* ---- constants */

static bool fold_const(struct ir_instr *instr)
{
    struct ir_bits src[8], out;

    if (!ir_op_has(instr->op, IR_F_PURE) || instr->op == IR_OP_CONST || instr->ndst != 1 ||
        instr->nsrc > HD_COUNT_OF(src) || instr->op == IR_OP_PHI)
        return false;
    for (uint32_t i = 0; i < instr->nsrc; i++) {
        const struct ir_instr *c = instr->src[i]->instr;
        if (!c || (c->op != IR_OP_CONST && c->op != IR_OP_UNDEF))
            return false;
        src[i] = (struct ir_bits){c->op == IR_OP_CONST ? c->imm : 0,
                                  c->op == IR_OP_CONST ? c->imm_hi : 0};
    }
    if (!ir_eval(instr, src, &out))
        return false;
    opt_make_const(instr, out.lo, out.hi);
    return true;
}

/* ---- what ranges decide */

/* a < b, and all other comparisons made of that and of `same`. */
static bool fold_compare_ranges(enum ir_cmp cmp, struct opt_range a, struct opt_range b, bool *out)
{
    const bool below = a.greatest < b.least;
    const bool above = b.greatest < a.least;
    const bool not_above = a.greatest <= b.least, not_below = a.least >= b.greatest;

    switch (cmp) {
    case IR_EQ:
    case IR_NE:
        *out = cmp == IR_NE;
        return below || above;
    case IR_LT:
    case IR_GE:
        *out = below == (cmp == IR_LT);
        return below || not_below;
    case IR_LE:
    case IR_GT:
        *out = not_above == (cmp == IR_LE);
        return not_above || above;
    default:
        return false;
    }
}

/* Comparisons and extrema whose operands' ranges lie apart, and shifts that leave one number. */
static struct folded fold_range(struct ir_instr *instr)
{
    bool is_setp = instr->op == IR_OP_SETP, answer, least_first;

    if ((!is_setp && instr->op != IR_OP_MIN && instr->op != IR_OP_MAX && instr->op != IR_OP_SHR) ||
        !opt_type_is_int(instr->type) || ir_type_lanes(instr->type) > 1)
        return nothing;
    if (instr->op == IR_OP_SHR) {
        struct opt_range x = opt_range(instr->dst[0]);
        return x.least == x.greatest ? fold_make_const(instr, x.least) : nothing;
    }
    struct opt_range a = opt_range(instr->src[0]), b = opt_range(instr->src[1]);
    uint64_t half = opt_mask(instr->src[0]->type) >> 1;
    if (ir_type_is_signed(instr->type) && (a.greatest > half || b.greatest > half))
        return nothing;
    if (is_setp)
        return fold_compare_ranges(instr->cmp, a, b, &answer) ? fold_make_const(instr, answer)
                                                              : nothing;
    if (!fold_compare_ranges(IR_LE, a, b, &least_first))
        return nothing;
    return fold_use(instr->src[least_first == (instr->op == IR_OP_MAX)]);
}

/* ---- canonical operand order: constants last */

static enum ir_cmp fold_cmp_mirror(enum ir_cmp cmp)
{
    switch (cmp) {
    case IR_LT:
        return IR_GT;
    case IR_LE:
        return IR_GE;
    case IR_GT:
        return IR_LT;
    case IR_GE:
        return IR_LE;
    default:
        return cmp;
    }
}

static bool fold_is_constant(const struct ir_value *value)
{
    return value->instr && value->instr->op == IR_OP_CONST;
}

static bool fold_canonical_order(struct ir_instr *instr)
{
    struct ir_value *first;
    bool setp = instr->op == IR_OP_SETP && instr->type != IR_PRED;

    if (instr->nsrc < 2 || (!setp && !opt_commutes(instr)) || !fold_is_constant(instr->src[0]) ||
        fold_is_constant(instr->src[1]))
        return false;
    first = instr->src[0];
    instr->src[0] = instr->src[1];
    instr->src[1] = first;
    if (setp)
        instr->cmp = fold_cmp_mirror(instr->cmp);
    return true;
}

/* ---- integer identities. c: the constant second source */

static struct folded fold_add(struct ir_instr *instr, uint64_t c)
{
    struct ir_instr *inner = instr->src[0]->instr;
    uint64_t c2;

    if (!ir_is_plain_add(instr))
        return nothing;
    if (!c)
        return fold_use(instr->src[0]);
    if (inner && ir_is_plain_add(inner) && ir_value_const(inner->src[1], &c2) &&
        ir_type_bits(inner->type) == ir_type_bits(instr->type)) {
        struct ir_builder b = opt_before(instr);
        instr->src[0] = inner->src[0];
        instr->src[1] = ir_build_const(&b, instr->dst[0]->type, c + c2);
        return (struct folded){.rewritten = true};
    }
    return nothing;
}

/* x - c is x + -c, so that chains meet. */
static struct folded fold_sub(struct ir_instr *instr, uint64_t c)
{
    struct ir_builder b = opt_before(instr);

    if (ir_has(instr, IR_MOD_SAT))
        return nothing;
    if (!c)
        return fold_use(instr->src[0]);
    instr->op = IR_OP_ADD;
    instr->src[1] = ir_build_const(&b, instr->dst[0]->type, 0 - c);
    return (struct folded){.rewritten = true};
}

static struct folded fold_mul(struct ir_instr *instr, uint64_t c)
{
    if (!c)
        return fold_make_const(instr, 0);
    return c == 1 ? fold_use(instr->src[0]) : nothing;
}

static struct folded fold_and(struct ir_instr *instr, uint64_t c)
{
    if (!c)
        return fold_make_const(instr, 0);
    return opt_filled(opt_bound(instr->src[0])) & ~c ? nothing : fold_use(instr->src[0]);
}

/*
 * The lowest bits of an address that are known from its variable's alignment: *out_rest is the
 * address modulo the result, which is 1 when nothing is known.
 */
static uint64_t fold_known_modulus(const struct ir_value *address, uint64_t *out_rest)
{
    const struct ir_instr *in = address->instr;
    uint64_t c, offset = 0;

    for (; in && ir_is_plain_add(in) && ir_value_const(in->src[1], &c); in = in->src[0]->instr)
        offset += c;
    if (in && in->op == IR_OP_CVTA)
        in = in->src[0]->instr;
    if (!in || in->op != IR_OP_VARADDR)
        return 1;
    uint64_t align = HD_MIN(HD_MAX(in->var->align_B, 1u), (uint64_t)IR_WINDOW_ALIGN_B);
    *out_rest = (in->imm + offset) & (align - 1);
    return align;
}

/* Compilers write the sum of an aligned address and a small constant like this. */
static bool fold_is_sum(const struct ir_instr *instr, uint64_t c)
{
    uint64_t rest = 0;

    return instr->dst[0]->type == IR_B64 && c < fold_known_modulus(instr->src[0], &rest) &&
           !(c & rest);
}

static struct folded fold_or(struct ir_instr *instr, uint64_t c)
{
    if (!c)
        return fold_use(instr->src[0]);
    if (fold_is_sum(instr, c)) {
        instr->op = IR_OP_ADD;
        return (struct folded){.rewritten = true};
    }
    return c == opt_mask(instr->dst[0]->type) ? fold_make_const(instr, c) : nothing;
}

static struct folded fold_xor(struct ir_instr *instr, uint64_t c)
{
    if (!c)
        return fold_use(instr->src[0]);
    if (c != opt_mask(instr->dst[0]->type))
        return nothing;
    instr->op = IR_OP_NOT;
    instr->nsrc = 1;
    return (struct folded){.rewritten = true};
}

/* A shift of what is never negative brings in zeros only. */
static struct folded fold_sign(struct ir_instr *instr, uint64_t c)
{
    uint64_t bound = opt_bound(instr->src[0]);

    if (bound > opt_mask(instr->src[0]->type) >> 1)
        return nothing;
    if (c >= ir_type_bits(instr->type) || !(bound >> c))
        return fold_make_const(instr, 0);
    instr->type = ir_type_bits(instr->type) == 64 ? IR_U64 : IR_U32;
    return (struct folded){.rewritten = true};
}

static struct folded fold_shift(struct ir_instr *instr, uint64_t c)
{
    struct ir_instr *inner = instr->src[0]->instr;
    unsigned bits = ir_type_bits(instr->type);
    uint64_t c2;

    if (!c)
        return fold_use(instr->src[0]);
    if (instr->op == IR_OP_SHR && ir_type_is_signed(instr->type) && bits >= 32) {
        struct folded f = fold_sign(instr, c);
        if (f.rewritten)
            return f;
    }
    if (c >= bits && (instr->op == IR_OP_SHL || !ir_type_is_signed(instr->type)))
        return fold_make_const(instr, 0);
    if (inner && inner->op == instr->op && inner->type == instr->type && c < bits &&
        ir_value_const(inner->src[1], &c2) && c2 < bits && c + c2 < bits) {
        struct ir_builder b = opt_before(instr);
        instr->src[0] = inner->src[0];
        instr->src[1] = ir_build_const(&b, IR_B32, c + c2);
        return (struct folded){.rewritten = true};
    }
    return nothing;
}

/* May the dividend, or c, be negative? */
static bool fold_rounds_to_zero(const struct ir_instr *instr, uint64_t c)
{
    return ir_type_is_signed(instr->type) &&
           (!opt_is_never_negative(instr->src[0]) || c > opt_mask(instr->dst[0]->type) >> 1);
}

static struct folded fold_div(struct ir_instr *instr, uint64_t c)
{
    struct ir_builder b = opt_before(instr);

    if (c == 1)
        return fold_use(instr->src[0]);
    if (!hd_is_pow2(c) || fold_rounds_to_zero(instr, c))
        return nothing;
    instr->op = IR_OP_SHR;
    instr->src[1] = ir_build_const(&b, IR_B32, (unsigned)__builtin_ctzll(c));
    return (struct folded){.rewritten = true};
}

static struct folded fold_rem(struct ir_instr *instr, uint64_t c)
{
    struct ir_builder b = opt_before(instr);

    if (c == 1)
        return fold_make_const(instr, 0);
    if (!hd_is_pow2(c) || fold_rounds_to_zero(instr, c))
        return nothing;
    instr->op = IR_OP_AND;
    instr->src[1] = ir_build_const(&b, instr->dst[0]->type, c - 1);
    return (struct folded){.rewritten = true};
}

/* x < 0, and what says the same, of what is never negative. */
static struct folded fold_setp_sign(struct ir_instr *instr, uint64_t c)
{
    bool is_zero = !c, is_ones = c == opt_mask(instr->src[0]->type);

    if (!(is_zero || is_ones) || !ir_type_is_signed(instr->type) ||
        !opt_is_never_negative(instr->src[0]))
        return nothing;
    if ((instr->cmp == IR_LT && is_zero) || (instr->cmp == IR_LE && is_ones))
        return fold_make_const(instr, 0);
    if ((instr->cmp == IR_GE && is_zero) || (instr->cmp == IR_GT && is_ones))
        return fold_make_const(instr, 1);
    return nothing;
}

/* x + k < c, where nothing wraps: x < c - k. What rounds t / 32 for a negative t leaves t + 31 < 63
 * of the question whether it is 0. */
static struct folded fold_setp_sum(struct ir_instr *instr, uint64_t c)
{
    struct ir_instr *sum = instr->src[0]->instr;
    uint64_t half = opt_mask(instr->src[0]->type) >> 1, k;

    if (!sum || !ir_is_plain_add(sum) || !opt_type_is_int(instr->type) ||
        !ir_value_const(sum->src[1], &k) || !k || k > c || c > half ||
        opt_bound(sum->src[0]) > half - k)
        return nothing;
    struct ir_builder b = opt_before(instr);
    instr->src[0] = sum->src[0];
    instr->src[1] = ir_build_const(&b, instr->src[0]->type, c - k);
    return (struct folded){.rewritten = true};
}

/* setp.ne (select p, 1, 0), 0 and setp.eq of it: p or its inverse. */
static struct folded fold_setp(struct ir_instr *instr, uint64_t c)
{
    struct ir_instr *sel = instr->src[0]->instr;
    uint64_t t, f;
    struct folded sign = fold_setp_sign(instr, c);

    if (sign.rewritten)
        return sign;
    struct folded sum = fold_setp_sum(instr, c);
    if (sum.rewritten)
        return sum;
    if (c || instr->type == IR_PRED || (instr->cmp != IR_EQ && instr->cmp != IR_NE) || !sel ||
        sel->op != IR_OP_SELECT || !ir_value_const(sel->src[1], &t) ||
        !ir_value_const(sel->src[2], &f) || !t == !f)
        return nothing;
    if ((instr->cmp == IR_NE) == (t != 0))
        return fold_use(sel->src[0]);
    instr->op = IR_OP_NOT;
    instr->type = IR_PRED;
    instr->cmp = IR_EQ;
    instr->nsrc = 1;
    instr->src[0] = sel->src[0];
    return (struct folded){.rewritten = true};
}

static struct folded fold_second_const(struct ir_instr *instr, uint64_t c)
{
    switch (instr->op) {
    case IR_OP_ADD:
        return fold_add(instr, c);
    case IR_OP_SUB:
        return fold_sub(instr, c);
    case IR_OP_MUL:
        return fold_mul(instr, c);
    case IR_OP_MULWIDE:
        return c ? nothing : fold_make_const(instr, 0);
    case IR_OP_AND:
        return fold_and(instr, c);
    case IR_OP_OR:
        return fold_or(instr, c);
    case IR_OP_XOR:
        return fold_xor(instr, c);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return fold_shift(instr, c);
    case IR_OP_DIV:
        return fold_div(instr, c);
    case IR_OP_REM:
        return fold_rem(instr, c);
    case IR_OP_SETP:
        return fold_setp(instr, c);
    default:
        return nothing;
    }
}

/* ---- other shapes */

/* Both sources are the same value. */
static struct folded fold_same(struct ir_instr *instr)
{
    switch (instr->op) {
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_MIN:
    case IR_OP_MAX:
        return fold_use(instr->src[0]);
    case IR_OP_XOR:
    case IR_OP_SUB:
        return fold_make_const(instr, 0);
    case IR_OP_SETP:
        return fold_make_const(instr,
                               instr->cmp == IR_EQ || instr->cmp == IR_LE || instr->cmp == IR_GE);
    default:
        return nothing;
    }
}

/* Truth tables that are a plain operation of two sources. */
static struct folded fold_lop3(struct ir_instr *instr)
{
    static const struct {
        uint8_t lut;
        uint8_t a, b;
        enum ir_op op;
    } plain[] = {
        {0xc0, 0, 1, IR_OP_AND}, {0xa0, 0, 2, IR_OP_AND}, {0x88, 1, 2, IR_OP_AND},
        {0xfc, 0, 1, IR_OP_OR},  {0xfa, 0, 2, IR_OP_OR},  {0xee, 1, 2, IR_OP_OR},
        {0x3c, 0, 1, IR_OP_XOR}, {0x5a, 0, 2, IR_OP_XOR}, {0x66, 1, 2, IR_OP_XOR},
    };

    switch (instr->imm & 0xff) {
    case 0x00:
        return fold_make_const(instr, 0);
    case 0xff:
        return fold_make_const(instr, UINT32_MAX);
    case 0xf0:
        return fold_use(instr->src[0]);
    case 0xcc:
        return fold_use(instr->src[1]);
    case 0xaa:
        return fold_use(instr->src[2]);
    default:
        break;
    }
    for (size_t i = 0; i < HD_COUNT_OF(plain); i++) {
        struct ir_value *a = instr->src[plain[i].a], *b = instr->src[plain[i].b];
        if (plain[i].lut != (instr->imm & 0xff))
            continue;
        instr->op = plain[i].op;
        instr->src[0] = a;
        instr->src[1] = b;
        instr->nsrc = 2;
        instr->imm = 0;
        return (struct folded){.rewritten = true};
    }
    return nothing;
}

/* A field at a constant place is two shifts, or shift and mask: the shape analysis knows those. */
static struct folded fold_bfe(struct ir_instr *instr)
{
    unsigned bits = ir_type_bits(instr->type);
    uint64_t pos, len;
    struct ir_builder b = opt_before(instr);
    struct ir_value *x = instr->src[0];

    if (!ir_value_const(instr->src[1], &pos) || !ir_value_const(instr->src[2], &len))
        return nothing;
    pos &= 0xff;
    len &= 0xff;
    if (!len)
        return fold_make_const(instr, 0);
    if (pos + len > bits || ir_type_is_signed(instr->type))
        return nothing;
    if (pos)
        x = ir_build2(&b, IR_OP_SHR, instr->type, x, ir_build_const(&b, IR_B32, pos));
    instr->op = IR_OP_AND;
    instr->src[0] = x;
    instr->src[1] =
        ir_build_const(&b, instr->dst[0]->type, len < 64 ? (1ull << len) - 1 : UINT64_MAX);
    instr->nsrc = 2;
    return (struct folded){.rewritten = true};
}

/* select p, c1, c0 with pred results: p or !p. */
static struct folded fold_select(struct ir_instr *instr)
{
    uint64_t t, f;

    if (instr->type != IR_PRED || !ir_value_const(instr->src[1], &t) ||
        !ir_value_const(instr->src[2], &f))
        return nothing;
    if (t && !f)
        return fold_use(instr->src[0]);
    if (t || !f)
        return nothing;
    instr->op = IR_OP_NOT;
    instr->nsrc = 1;
    return (struct folded){.rewritten = true};
}

/* x - (x & c) is x & ~c: how compilers write t % 16. */
static struct folded fold_rest(struct ir_instr *instr)
{
    struct ir_instr *part = instr->src[1]->instr;
    struct ir_builder b = opt_before(instr);
    uint64_t c;

    if (!part || part->op != IR_OP_AND || part->src[0] != instr->src[0] ||
        !ir_value_const(part->src[1], &c) || ir_has(instr, IR_MOD_SAT) ||
        ir_type_lanes(instr->type) > 1)
        return nothing;
    instr->op = IR_OP_AND;
    instr->type = part->type;
    instr->src[1] = ir_build_const(&b, instr->dst[0]->type, ~c & opt_mask(instr->dst[0]->type));
    return (struct folded){.rewritten = true};
}

static struct folded fold_instr(struct ir_instr *instr)
{
    uint64_t c;

    if (fold_const(instr))
        return (struct folded){.rewritten = true};
    switch (instr->op) {
    case IR_OP_LOP3:
        return fold_lop3(instr);
    case IR_OP_BFE:
        return fold_bfe(instr);
    case IR_OP_SELECT:
        return fold_select(instr);
    default:
        break;
    }
    if (instr->nsrc != 2 || instr->dst[0]->type == IR_B128)
        return nothing;
    if (instr->src[0] == instr->src[1] && !ir_has(instr, IR_MOD_SAT))
        return fold_same(instr);
    struct folded range = fold_range(instr);
    if (range.value || range.rewritten)
        return range;
    if (ir_value_const(instr->src[1], &c))
        return fold_second_const(instr, c);
    return instr->op == IR_OP_SUB ? fold_rest(instr) : nothing;
}

/* A branch on !p is the other branch on p. */
static bool fold_branch(struct ir_instr *instr)
{
    struct ir_instr *not = instr->op == IR_OP_CBR ? instr->src[0]->instr : NULL;
    struct ir_block *swapped[2];

    if (!not|| not->op != IR_OP_NOT || instr->block->succs[0] == instr->block->succs[1])
        return false;
    instr->src[0] = not->src[0];
    swapped[0] = instr->block->succs[1];
    swapped[1] = instr->block->succs[0];
    ir_block_set_succs(instr->block, 2, swapped);
    return true;
}

/* A loop that all threads leave together, although each counts from its own number, counts for all:
 * its branch is uniform then. */
static bool fold_trip_count(struct ir_instr *instr)
{
    struct ir_block *b = instr->block;
    const uint64_t iterations = instr->op == IR_OP_CBR ? opt_trip_count(b) : 0;

    if (!iterations)
        return false;
    const unsigned again = b->preds[1] == b;
    struct ir_builder in_front = opt_before(b->preds[!again]->last), at_end = opt_before(instr);
    struct ir_instr *iteration = ir_build_phi(b, IR_B32);
    struct ir_value *one = ir_build_const(&at_end, IR_B32, 1);
    iteration->src[!again] = ir_build_const(&in_front, IR_B32, 0);
    iteration->src[again] = ir_build2(&at_end, IR_OP_ADD, IR_S32, iteration->dst[0], one);
    instr->src[0] =
        ir_build_setp(&at_end, IR_OP_SETP, IR_S32, b->succs[0] == b ? IR_LT : IR_GE,
                      iteration->src[again], ir_build_const(&at_end, IR_B32, iterations));
    return true;
}

static bool fold_block(struct opt_replace *r, struct ir_block *block, bool *edges)
{
    bool changed = false;

    ir_foreach_instr_safe(instr, block) {
        struct folded f;
        opt_replace_sources(r, instr);
        if (ir_op_has(instr->op, IR_F_TERM)) {
            bool swapped = fold_branch(instr);
            *edges |= swapped;
            changed |= swapped;
            changed |= fold_trip_count(instr);
            continue;
        }
        if (!ir_op_has(instr->op, IR_F_PURE) || instr->op == IR_OP_CONST)
            continue;
        changed |= fold_canonical_order(instr);
        f = fold_instr(instr);
        changed |= f.rewritten;
        if (!f.value)
            continue;
        opt_replace_set(r, instr->dst[0], f.value);
        ir_instr_remove(instr);
    }
    return changed;
}

bool ir_opt_fold(struct ir_func *func)
{
    struct opt_replace r;
    bool changed = false, edges = false;

    if (!opt_replace_init(&r, func))
        return false;
    for (uint32_t b = 0; b < func->nblocks; b++)
        changed |= fold_block(&r, func->blocks[b], &edges);
    changed |= opt_replace_fini(&r);
    if (edges)
        ir_func_link_cfg(func);
    return changed;
}
