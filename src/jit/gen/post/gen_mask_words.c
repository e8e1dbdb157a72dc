/*
 * Masks of quick code on hosts whose vectors have no mask registers.
 *
 * LLVM makes sixteen shifts, ANDs and insertions of an integer that becomes <16 x i1>, and packs
 * vectors for the way back. Its optimiser, which quick code does without, would see that most of
 * that is for nothing: masks come from memory as integers, logic combines them, and a branch asks
 * for an integer. So logic of masks that were integers is done on integers, and those that are
 * still wanted as vectors are compared out of a broadcast.
 */
#include "jit/gen/post/gen_post.h"

#include <assert.h>

struct masks {
    struct gen_unit *u;
    LLVMBuilderRef b;
    LLVMTypeRef mask, bits;
};

/* The integer that a mask was, or NULL. */
static LLVMValueRef bits_of(const struct masks *m, LLVMValueRef mask)
{
    if (LLVMIsABitCastInst(mask) && LLVMTypeOf(LLVMGetOperand(mask, 0)) == m->bits)
        return LLVMGetOperand(mask, 0);
    return LLVMIsConstant(mask) && !LLVMIsUndef(mask) && !LLVMIsPoison(mask)
               ? LLVMConstBitCast(mask, m->bits)
               : NULL;
}

static bool replace(LLVMValueRef old, LLVMValueRef by)
{
    LLVMReplaceAllUsesWith(old, by);
    LLVMInstructionEraseFromParent(old);
    return true;
}

static bool is_logic(LLVMOpcode op)
{
    return op == LLVMAnd || op == LLVMOr || op == LLVMXor;
}

/* and, or, xor of masks that were integers; an integer that was a mask that was an integer. */
static bool combine(const struct masks *m, LLVMValueRef in)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(in);

    if (op == LLVMBitCast && LLVMTypeOf(in) == m->bits &&
        LLVMTypeOf(LLVMGetOperand(in, 0)) == m->mask) {
        LLVMValueRef bits = bits_of(m, LLVMGetOperand(in, 0));
        return bits && replace(in, bits);
    }
    if (!is_logic(op) || LLVMTypeOf(in) != m->mask)
        return false;
    LLVMValueRef a = bits_of(m, LLVMGetOperand(in, 0)), b = bits_of(m, LLVMGetOperand(in, 1));
    if (!a || !b)
        return false;
    LLVMPositionBuilderBefore(m->b, in);
    LLVMSetCurrentDebugLocation2(m->b, LLVMInstructionGetDebugLoc(in));
    LLVMValueRef bits = LLVMBuildBinOp(m->b, op, a, b, "");
    return replace(in, LLVMBuildBitCast(m->b, bits, m->mask, ""));
}

/* The selection sees what selects by such a mask, but only next to it. */
static bool is_used_well(LLVMValueRef mask)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(mask);

    for (LLVMUseRef use = LLVMGetFirstUse(mask); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        bool selects = LLVMIsASelectInst(user) && LLVMGetOperand(user, 0) == mask;

        if (!selects || LLVMGetInstructionParent(user) != block)
            return false;
    }
    return true;
}

/* <16 x i1> out of a broadcast, in lanes as wide as the integer. */
static bool widen(const struct masks *m, LLVMValueRef in)
{
    LLVMTypeRef lanes = LLVMVectorType(m->bits, GEN_LANES), i32 = LLVMInt32TypeInContext(m->u->ctx);
    LLVMValueRef bit[GEN_LANES], x = LLVMGetPoison(lanes);

    for (unsigned l = 0; l < GEN_LANES; l++)
        bit[l] = LLVMConstInt(m->bits, 1u << l, false);
    LLVMPositionBuilderBefore(m->b, in);
    LLVMSetCurrentDebugLocation2(m->b, LLVMInstructionGetDebugLoc(in));
    x = LLVMBuildInsertElement(m->b, x, LLVMGetOperand(in, 0), LLVMConstNull(i32), "");
    x = LLVMBuildShuffleVector(m->b, x, LLVMGetPoison(lanes),
                               LLVMConstNull(LLVMVectorType(i32, GEN_LANES)), "");
    LLVMValueRef every = LLVMConstVector(bit, GEN_LANES);
    x = LLVMBuildAnd(m->b, x, every, "");
    return replace(in, LLVMBuildICmp(m->b, LLVMIntEQ, x, every, ""));
}

static bool was_bits(const struct masks *m, LLVMValueRef in)
{
    return LLVMIsABitCastInst(in) && LLVMTypeOf(in) == m->mask &&
           LLVMTypeOf(LLVMGetOperand(in, 0)) == m->bits;
}

static bool settle(const struct masks *m, LLVMValueRef in)
{
    if (!was_bits(m, in))
        return false;
    if (LLVMGetFirstUse(in))
        return !is_used_well(in) && widen(m, in);
    LLVMInstructionEraseFromParent(in);
    return true;
}

static bool each(const struct masks *m, bool (*f)(const struct masks *, LLVMValueRef))
{
    bool changed = false;
    for (LLVMValueRef fn = LLVMGetFirstFunction(m->u->mod); fn; fn = LLVMGetNextFunction(fn)) {
        LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn);
        for (; b; b = LLVMGetNextBasicBlock(b)) {
            for (LLVMValueRef in = LLVMGetFirstInstruction(b), next; in; in = next) {
                next = LLVMGetNextInstruction(in);
                changed |= f(m, in);
            }
        }
    }
    return changed;
}

bool gen_mask_words(struct gen_unit *u)
{
    struct masks m = {.u = u,
                      .b = LLVMCreateBuilderInContext(u->ctx),
                      .mask = u->types.mask,
                      .bits = u->types.bits};

    assert(u->path != JIT_AVX512);
    bool changed = each(&m, combine);
    changed |= each(&m, settle);
    LLVMDisposeBuilder(m.b);
    return changed;
}
