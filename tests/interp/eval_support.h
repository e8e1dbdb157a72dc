/* Building one bare instruction and evaluating it. */
#ifndef HD_TESTS_EVAL_SUPPORT_H
#define HD_TESTS_EVAL_SUPPORT_H

#include "model/eval.h"
#include "tap.h"

struct ev {
    enum ir_op op;
    enum ir_type type, type2;
    enum ir_rnd rnd;
    enum ir_cmp cmp;
    uint32_t mods;
    uint64_t imm;
};

static inline uint64_t ev4(struct ev e, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    struct ir_instr in = {.op = e.op,
                          .type = e.type,
                          .type2 = e.type2,
                          .rnd = e.rnd,
                          .cmp = e.cmp,
                          .mods = e.mods,
                          .imm = e.imm,
                          .ndst = 1};
    struct ir_bits src[4] = {{a, 0}, {b, 0}, {c, 0}, {d, 0}}, out = {0, 0};
    int nsrc = ir_operands_fixed(ir_op_infos[e.op].src);
    in.nsrc = nsrc < 0 ? 2 : (uint32_t)nsrc;
    if (!ir_eval(&in, src, &out))
        out.lo = 0xdeadbeefdeadbeef;
    return out.lo;
}

#define ev(op_, type_, a, b, c, ...)                                                               \
    ev4((struct ev){.op = IR_OP_##op_, .type = IR_##type_, __VA_ARGS__}, (uint64_t)(a),            \
        (uint64_t)(b), (uint64_t)(c), 0)

#endif
