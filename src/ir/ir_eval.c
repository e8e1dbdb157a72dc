/* Dispatch of the semantics table: operands in, one row's expression, result cut to its width. */
#include "ir/ir_eval.h"

static uint64_t eval_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

unsigned ir_eval_result_bits(const struct ir_instr *instr)
{
    switch (ir_op_infos[instr->op].result) {
    case IR_RES_T:
        return ir_type_bits(instr->type);
    case IR_RES_T2:
        return ir_type_bits(instr->type2);
    case IR_RES_P:
        return 1;
    case IR_RES_W:
        return 2 * ir_type_bits(instr->type);
    case IR_RES_B32:
        return 32;
    case IR_RES_B64:
        return 64;
    default:
        return 0;
    }
}

static bool eval_is_signed(enum ir_type type)
{
    return type == IR_S8 || type == IR_S16 || type == IR_S32 || type == IR_S64;
}

static uint64_t eval_int(const struct ir_instr *in, const struct ir_bits *src)
{
    uint64_t v[4] = {0};
    for (uint32_t i = 0; i < in->nsrc && i < 4; i++)
        v[i] = src[i].lo;
    const uint64_t a = v[0], b = v[1], c = v[2], d = v[3];
    const unsigned w = ir_type_bits(in->type), n = (unsigned)in->imm;
    const bool sgn = eval_is_signed(in->type);
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

/* One element. */
static uint64_t eval_float(const struct ir_instr *in, uint64_t a, uint64_t b, uint64_t c)
{
    const struct ir_fp fp = {in, ir_fp_format(in->type), ir_fp_round(in->rnd), in->ftz}, *f = &fp;
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

static uint64_t eval_lanes(const struct ir_instr *in, const struct ir_bits *src, bool pred)
{
    uint64_t v[3] = {0};
    for (uint32_t i = 0; i < in->nsrc && i < 3; i++)
        v[i] = src[i].lo;
    if (in->type != IR_F16X2 && in->type != IR_BF16X2)
        return eval_float(in, v[0], v[1], v[2]);
    uint64_t lo = eval_float(in, v[0] & 0xffff, v[1] & 0xffff, v[2] & 0xffff);
    uint64_t hi = eval_float(in, v[0] >> 16, v[1] >> 16, v[2] >> 16);
    if (pred)
        return (in->imm & 1) ? hi : lo;
    return hi << 16 | lo;
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
#define ANY(name)
#define INT(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        r.lo = eval_int(instr, src);                                                               \
        break;
#define FLT(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        r.lo = eval_lanes(instr, src, false);                                                      \
        break;
#define FLP(name, expr)                                                                            \
    case IR_OP_##name:                                                                             \
        r.lo = eval_lanes(instr, src, true);                                                       \
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
        return eval_lanes(&in, src, false);
    }
    return atom_int(atom, eval_is_signed(type), w, old, operand, swap) & eval_mask(w);
}

uint32_t ir_eval_redux(enum ir_redux redux, enum ir_type type, uint32_t a, uint32_t b)
{
    static const enum ir_atom atoms[] = {
        [IR_REDUX_ADD] = IR_ATOM_ADD, [IR_REDUX_MIN] = IR_ATOM_MIN, [IR_REDUX_MAX] = IR_ATOM_MAX,
        [IR_REDUX_AND] = IR_ATOM_AND, [IR_REDUX_OR] = IR_ATOM_OR,   [IR_REDUX_XOR] = IR_ATOM_XOR};
    return (uint32_t)atom_int(atoms[redux], eval_is_signed(type), 32, a, b, 0);
}
