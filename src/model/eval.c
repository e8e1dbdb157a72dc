/* Dispatch of the semantics table: operands in, one row's expression, result cut to its width. */
#include "model/eval_private.h"

#include <assert.h>

static uint64_t eval_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

unsigned ir_eval_result_bits(const struct ir_instr *instr)
{
    const char *roles = ir_op_infos[instr->op].dst;
    bool has = ir_operands_fixed(roles) == 1;
    enum ir_type type = has ? ir_dst_type(instr, 0) : IR_VOID;
    return type != IR_VOID ? ir_type_bits(type) : 0;
}

/* The sources of one lane. */
struct lane {
    const struct ir_instr *in;
    enum ir_type type; /* of the lane's element */
    uint64_t v[4];
};

static uint64_t eval_int(const struct lane *lane)
{
    const struct ir_instr *in = lane->in;
    const uint64_t a = lane->v[0], b = lane->v[1], c = lane->v[2], d = lane->v[3];
    const unsigned w = ir_type_bits(lane->type), n = (unsigned)in->imm;
    const bool sgn = ir_type_is_signed(lane->type);
    const bool wrap = ir_has(in, IR_MOD_WRAP), shiftamt = ir_has(in, IR_MOD_SHIFTAMT);
    const int64_t sa = (int64_t)ir_int_extend(a, w);
    const int64_t sb = (int64_t)ir_int_extend(b, w);
    const int64_t sc = (int64_t)ir_int_extend(c, w);
    switch (in->op) {
#define ANY(name)
#define INT(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        return (uint64_t)(expr);
#define FLT(name, expr)
#define FLP(name, expr)
#include "ir_semantics.def"
#undef INT
#undef FLT
#undef FLP
    default:
        return 0;
    }
}

static uint64_t eval_float(const struct lane *lane)
{
    const struct ir_instr *in = lane->in;
    const uint64_t a = lane->v[0], b = lane->v[1], c = lane->v[2];
    const struct ir_fp fp = {in, ir_fp_format(lane->type), ir_fp_round(in->rnd),
                             ir_has(in, IR_MOD_FTZ)};
    const struct ir_fp *f = &fp;
    assert(f->fmt);
    switch (in->op) {
#define INT(name, expr)
#define FLT(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        return (expr);
#define FLP(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        return (uint64_t)(expr);
#include "ir_semantics.def"
#undef INT
#undef FLT
#undef FLP
#undef ANY
    default:
        return 0;
    }
}

static struct lane lane_take(const struct ir_instr *in, const struct ir_bits *src, unsigned index)
{
    struct lane lane = {.in = in, .type = ir_type_element(in->type)};
    unsigned w = ir_type_bits(lane.type);
    bool packed = ir_type_lanes(in->type) > 1;
    assert(in->nsrc <= HD_COUNT_OF(lane.v));
    for (uint32_t i = 0; i < in->nsrc; i++)
        lane.v[i] = packed ? src[i].lo >> (index * w) & eval_mask(w) : src[i].lo;
    return lane;
}

/* A row computes one lane; packed types have several. */
static uint64_t eval_lanes(const struct ir_instr *in, const struct ir_bits *src,
                           uint64_t row(const struct lane *lane))
{
    unsigned lanes = ir_type_lanes(in->type), w = ir_type_bits(ir_type_element(in->type));
    uint64_t r = 0;
    assert(lanes && (lanes == 1 || lanes * w <= 64));
    if (lanes == 1) {
        struct lane lane = lane_take(in, src, 0);
        return row(&lane);
    }
    for (unsigned i = 0; i < lanes; i++) {
        struct lane lane = lane_take(in, src, i);
        r |= (row(&lane) & eval_mask(w)) << (i * w);
    }
    return r;
}

/* Comparisons of packed types: .hi says which lane's answer is wanted. */
static uint64_t eval_pred(const struct ir_instr *in, const struct ir_bits *src)
{
    bool packed = ir_type_lanes(in->type) > 1;
    assert(ir_type_lanes(in->type) <= 2);
    struct lane lane = lane_take(in, src, packed && ir_has(in, IR_MOD_HI));
    return eval_float(&lane);
}

static struct ir_bits eval_pack(const struct ir_instr *in, const struct ir_bits *src)
{
    struct ir_bits r = {0, 0};
    unsigned each = in->nsrc ? ir_type_bits(in->type) / in->nsrc : 0;
    for (uint32_t i = 0; i < in->nsrc; i++) {
        unsigned at = i * each;
        if (at >= 64)
            r.hi |= src[i].lo << (at - 64);
        else
            r.lo |= src[i].lo << at;
    }
    return r;
}

static struct ir_bits eval_unpack(const struct ir_instr *in, struct ir_bits a)
{
    assert(ir_type_bits(in->type));
    unsigned each = ir_type_bits(in->type);
    uint64_t at = in->imm * each;
    uint64_t word = at >= 128 ? 0 : at >= 64 ? a.hi >> (at - 64) : a.lo >> at;
    return (struct ir_bits){word & eval_mask(each), each == 128 ? a.hi : 0};
}

bool ir_eval(const struct ir_instr *instr, const struct ir_bits *src, struct ir_bits *out)
{
    struct ir_bits r = {0, 0};
    switch (instr->op) {
    case IR_OP_CONST:
        r = (struct ir_bits){instr->imm, instr->imm_hi};
        break;
    case IR_OP_UNDEF:
        break;
    case IR_OP_SELECT:
        r = (src[0].lo & 1) ? src[1] : src[2];
        break;
    case IR_OP_PACK:
        r = eval_pack(instr, src);
        break;
    case IR_OP_UNPACK:
        r = eval_unpack(instr, src[0]);
        break;
    case IR_OP_CVTPACK:
        r.lo = ir_cvtpack(instr, src[0].lo, src[1].lo, instr->nsrc > 2 ? src[2].lo : 0);
        break;
    case IR_OP_CVTUNPACK:
        r.lo = ir_cvtunpack(instr, src[0].lo);
        break;
#define ANY(name)
#define INT(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        r.lo = eval_lanes(instr, src, eval_int);                                                   \
        break;
#define FLT(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        r.lo = eval_lanes(instr, src, eval_float);                                                 \
        break;
#define FLP(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        r.lo = eval_pred(instr, src);                                                              \
        break;
#include "ir_semantics.def"
#undef ANY
#undef INT
#undef FLT
#undef FLP
    default:
        return false;
    }
    unsigned bits = ir_eval_result_bits(instr);
    r.lo &= eval_mask(bits);
    if (bits < 128)
        r.hi = 0;
    *out = r;
    return true;
}

static uint64_t atom_int(enum ir_atom atom, bool is_signed, unsigned w, uint64_t old,
                         uint64_t operand, uint64_t swap)
{
    int64_t so = (int64_t)ir_int_extend(old, w), sv = (int64_t)ir_int_extend(operand, w);
    switch (atom) {
    case IR_ATOM_ADD:
        return old + operand;
    case IR_ATOM_MIN:
        return (is_signed ? so < sv : old < operand) ? old : operand;
    case IR_ATOM_MAX:
        return (is_signed ? so > sv : old > operand) ? old : operand;
    case IR_ATOM_INC:
        return old >= operand ? 0 : old + 1;
    case IR_ATOM_DEC:
        return !old || old > operand ? operand : old - 1;
    case IR_ATOM_AND:
        return old & operand;
    case IR_ATOM_OR:
        return old | operand;
    case IR_ATOM_XOR:
        return old ^ operand;
    case IR_ATOM_EXCH:
        return operand;
    case IR_ATOM_CAS:
        return old == operand ? swap : old;
    }
    return old;
}

uint64_t ir_eval_atom(enum ir_atom atom, enum ir_type type, bool noftz, uint64_t old,
                      uint64_t operand, uint64_t swap)
{
    enum ir_op op = atom == IR_ATOM_MIN   ? IR_OP_FMIN
                    : atom == IR_ATOM_MAX ? IR_OP_FMAX
                                          : IR_OP_FADD;
    bool arithmetic = atom == IR_ATOM_ADD || atom == IR_ATOM_MIN || atom == IR_ATOM_MAX;
    unsigned w = ir_type_bits(type);
    (void)noftz; /* denormals are always kept */
    if (ir_fp_format(type) && arithmetic) {
        struct ir_instr in = {.op = op, .type = type, .nsrc = 2};
        struct ir_bits src[2] = {{old, 0}, {operand, 0}};
        return eval_lanes(&in, src, eval_float);
    }
    return atom_int(atom, ir_type_is_signed(type), w, old, operand, swap) & eval_mask(w);
}

uint32_t ir_eval_redux(enum ir_redux redux, enum ir_type type, uint32_t a, uint32_t b)
{
    static const enum ir_atom atoms[] = {
        [IR_REDUX_ADD] = IR_ATOM_ADD, [IR_REDUX_MIN] = IR_ATOM_MIN, [IR_REDUX_MAX] = IR_ATOM_MAX,
        [IR_REDUX_AND] = IR_ATOM_AND, [IR_REDUX_OR] = IR_ATOM_OR,   [IR_REDUX_XOR] = IR_ATOM_XOR};
    return (uint32_t)atom_int(atoms[redux], ir_type_is_signed(type), 32, a, b, 0);
}
