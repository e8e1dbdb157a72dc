/* Counters (ir/count.h): what compiled code adds to those of its CTA, which is on one thread. */
#include "ir/count.h"
#include "ir/probe.h"
#include "jit/gen/gen_access.h"

static LLVMValueRef counters(struct gen *g)
{
    return gen_load_ctx(g, g->t->ptr, g->cta, offsetof(struct jit_cta, counts));
}

static void add(struct gen *g, LLVMValueRef to, size_t word, LLVMValueRef n)
{
    LLVMValueRef at = gen_gep(g, to, word * sizeof(uint64_t));
    LLVMValueRef sum = LLVMBuildAdd(g->b, LLVMBuildLoad2(g->b, g->t->i64, at, ""), n, "");
    LLVMBuildStore(g->b, sum, at);
}

static LLVMValueRef lanes_of(struct gen *g, LLVMValueRef mask32)
{
    LLVMValueRef n = gen_intrinsic(g, "llvm.ctpop", &g->t->i32, 1, &mask32, 1);
    return LLVMBuildZExt(g->b, n, g->t->i64, "");
}

static LLVMValueRef one_if(struct gen *g, LLVMValueRef is)
{
    return LLVMBuildZExt(g->b, is, g->t->i64, "");
}

static LLVMValueRef is_any(struct gen *g, LLVMValueRef mask32)
{
    return LLVMBuildICmp(g->b, LLVMIntNE, mask32, gen_i32(g, 0), "");
}

static void count_group(struct gen *g, uint32_t group)
{
    LLVMValueRef to = counters(g), lanes = gen_mask32(g);
    size_t word = ir_count_group_word(group);
    add(g, to, word + IR_COUNT_WARPS, one_if(g, is_any(g, lanes)));
    add(g, to, word + IR_COUNT_LANES, lanes_of(g, lanes));
}

/* The lanes of the warp for which it holds, as i32. */
static LLVMValueRef holds(struct gen *g, const struct ir_value *p)
{
    LLVMValueRef x[GEN_HALVES], all = gen_i32(g, 0);
    gen_vector(g, p, x);
    for (int h = 0; h < gen_halves(g) && h < 2; h++) {
        LLVMValueRef bits = LLVMBuildZExt(g->b, gen_bits(g, x[h]), g->t->i32, "");
        bits = LLVMBuildShl(g->b, bits, gen_i32(g, (uint64_t)h * GEN_LANES), "");
        all = LLVMBuildOr(g->b, all, bits, "");
    }
    return all;
}

static void count_branch(struct gen *g, const struct ir_instr *probe, uint32_t instr)
{
    size_t word = ir_count_instr_word(g->func->module, instr);
    LLVMValueRef to = counters(g), lanes = gen_mask32(g);
    LLVMValueRef taken = LLVMBuildAnd(g->b, holds(g, probe->src[0]), lanes, "");
    LLVMValueRef parts = LLVMBuildICmp(g->b, LLVMIntNE, taken, lanes, "");
    parts = LLVMBuildAnd(g->b, parts, is_any(g, taken), "");
    add(g, to, word + IR_COUNT_TAKEN, lanes_of(g, taken));
    add(g, to, word + IR_COUNT_DIVERGENT, one_if(g, parts));
}

bool gen_count(struct gen *g, const struct ir_instr *probe)
{
    if (!g->func->module->has_counts)
        return false;
    switch (ir_probe_op(probe)) {
    case IR_OP_NOTE:
        count_group(g, ir_probe_its_imm(probe));
        return true;
    case IR_OP_CBR:
        count_branch(g, probe, ir_probe_its_imm(probe));
        return true;
    default:
        return false;
    }
}
