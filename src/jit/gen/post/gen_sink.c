/*
 * What only the next block needs is made there: loads in the best code, and in quick code, whose
 * values have to pass the end of a block through memory, what is computed.
 *
 * LLVM's code generator moves loads itself, but then takes the place in the program off them, and a
 * fault of such a load would have none (gen_srcloc.c).
 */
#include <string.h>

#include "jit/gen/post/gen_post.h"

static bool is_intrinsic(LLVMValueRef in)
{
    LLVMValueRef fn = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
    return fn && LLVMIsAFunction(fn) && LLVMGetIntrinsicID(fn);
}

static bool is_masked_load(LLVMValueRef in)
{
    static const char name[] = "llvm.masked.load";
    size_t len;
    return is_intrinsic(in) &&
           !strncmp(LLVMGetValueName2(LLVMGetCalledValue(in), &len), name, sizeof(name) - 1);
}

static bool is_load(LLVMValueRef in)
{
    if (!LLVMIsALoadInst(in))
        return is_masked_load(in);
    return !LLVMGetVolatile(in) && LLVMGetOrdering(in) == LLVMAtomicOrderingNotAtomic;
}

/* Does nothing to memory that loads see, as far as one can tell without looking closely. */
static bool leaves_memory(LLVMValueRef in)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(in);
    if (op == LLVMCall)
        return is_intrinsic(in) && LLVMGetTypeKind(LLVMTypeOf(in)) != LLVMVoidTypeKind;
    return op != LLVMStore && op != LLVMFence && op != LLVMAtomicRMW && op != LLVMAtomicCmpXchg;
}

/* The block behind this one that has all uses, and no other way to it; NULL: there is none. */
static LLVMBasicBlockRef only_user(LLVMValueRef load)
{
    LLVMBasicBlockRef block = NULL, own = LLVMGetInstructionParent(load);
    for (LLVMUseRef u = LLVMGetFirstUse(load); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAPHINode(user) || (block && LLVMGetInstructionParent(user) != block))
            return NULL;
        block = LLVMGetInstructionParent(user);
    }
    if (!block || block == own)
        return NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAInstruction(user) && LLVMGetInstructionParent(user) != own)
            return NULL;
    }
    return block;
}

static LLVMValueRef first_place(LLVMBasicBlockRef block)
{
    LLVMValueRef in = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(in))
        in = LLVMGetNextInstruction(in);
    return in;
}

static bool sink(LLVMBuilderRef b, LLVMValueRef in)
{
    LLVMBasicBlockRef to = only_user(in);
    if (!to)
        return false;
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(in);
    LLVMPositionBuilderBefore(b, first_place(to));
    LLVMInstructionRemoveFromParent(in);
    LLVMInsertIntoBuilder(b, in);
    LLVMInstructionSetDebugLoc(in, place);
    return true;
}

static bool sink_from(LLVMBuilderRef b, LLVMBasicBlockRef block)
{
    bool changed = false;
    LLVMValueRef in = LLVMGetLastInstruction(block);
    while (in && leaves_memory(in)) {
        LLVMValueRef before = LLVMGetPreviousInstruction(in);
        if (is_load(in))
            changed |= sink(b, in);
        in = before;
    }
    return changed;
}

bool gen_sink_loads(struct gen_unit *u)
{
    bool changed = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(u->ctx);
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            changed |= sink_from(b, block);
    }
    LLVMDisposeBuilder(b);
    return changed;
}

static bool is_pure(LLVMValueRef in)
{
    return LLVMIsABinaryOperator(in) || LLVMIsACastInst(in) || LLVMIsACmpInst(in) ||
           LLVMIsASelectInst(in) || LLVMIsAGetElementPtrInst(in) || LLVMIsAExtractElementInst(in) ||
           LLVMIsAInsertElementInst(in) || LLVMIsAShuffleVectorInst(in);
}

bool gen_sink_pure(struct gen_unit *u)
{
    bool changed = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(u->ctx);
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
        for (; block; block = LLVMGetNextBasicBlock(block)) {
            LLVMValueRef in = LLVMGetLastInstruction(block), before;
            for (; in; in = before) {
                before = LLVMGetPreviousInstruction(in);
                if (is_pure(in))
                    changed |= sink(b, in);
            }
        }
    }
    LLVMDisposeBuilder(b);
    return changed;
}
