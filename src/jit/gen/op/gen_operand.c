/*
 * Constants and types in the form that operands of one operation have, all of them scalars or all
 * vectors, and what operations on floats have in common.
 */
#include "jit/gen/gen.h"

#include <assert.h>

LLVMValueRef gen_k(struct gen *g, bool vec, LLVMTypeRef elem, uint64_t v)
{
    return vec ? gen_splat_const(g, elem, v) : LLVMConstInt(elem, v, false);
}

LLVMTypeRef gen_type_as(struct gen *g, bool vec, LLVMTypeRef elem)
{
    return vec ? gen_vec(g, elem) : elem;
}

LLVMValueRef gen_kf(struct gen *g, bool vec, LLVMTypeRef elem, double v)
{
    LLVMValueRef c = LLVMConstReal(elem, v);
    return vec ? gen_splat(g, c) : c;
}

LLVMValueRef gen_flush(struct gen *g, bool vec, LLVMValueRef x)
{
    assert(LLVMTypeOf(x) == gen_type_as(g, vec, g->t->i32));
    LLVMValueRef exp = LLVMBuildAnd(g->b, x, gen_k(g, vec, g->t->i32, 0x7f800000), "");
    LLVMValueRef tiny = LLVMBuildICmp(g->b, LLVMIntEQ, exp, gen_k(g, vec, g->t->i32, 0), "");
    LLVMValueRef zero = LLVMBuildAnd(g->b, x, gen_k(g, vec, g->t->i32, 0x80000000u), "");
    return LLVMBuildSelect(g->b, tiny, zero, x, "");
}

LLVMValueRef gen_fix_up(struct gen *g, LLVMValueRef y, LLVMValueRef x, uint32_t table)
{
    LLVMValueRef args[] = {y,
                           x,
                           gen_splat_const(g, g->t->i32, table),
                           gen_i32(g, 0),
                           gen_ci(g->t->i16, 0xffff),
                           gen_i32(g, 4)};
    return gen_intrinsic(g, "llvm.x86.avx512.mask.fixupimm.ps.512", NULL, 0, args, 6);
}

LLVMRealPredicate gen_real_predicate(enum ir_cmp c)
{
    static const LLVMRealPredicate table[] = {
        [IR_EQ] = LLVMRealOEQ,  [IR_NE] = LLVMRealONE,  [IR_LT] = LLVMRealOLT,
        [IR_LE] = LLVMRealOLE,  [IR_GT] = LLVMRealOGT,  [IR_GE] = LLVMRealOGE,
        [IR_EQU] = LLVMRealUEQ, [IR_NEU] = LLVMRealUNE, [IR_LTU] = LLVMRealULT,
        [IR_LEU] = LLVMRealULE, [IR_GTU] = LLVMRealUGT, [IR_GEU] = LLVMRealUGE,
        [IR_NUM] = LLVMRealORD, [IR_NAN] = LLVMRealUNO,
    };
    return table[c];
}
