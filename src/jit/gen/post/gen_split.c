/*
 * Cuts long blocks into short ones.
 *
 * For each operation LLVM's instruction selection looks back through what it was computed from, six
 * operations deep along every operand, several times, but never out of the block. Straight code
 * of thousands of operations takes most of its time there: four times as much as in short blocks.
 */
#include "jit/gen/post/gen_post.h"

#include <assert.h>

/* Blocks this long keep nearly all that the selection could see; half of them take no less time. */
#define BLOCK_MAX 128u

/* Allocas behind the function's first block would take stack each time they are passed. */
static bool stays_in_front(LLVMValueRef instr)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(instr);

    return op == LLVMPHI || op == LLVMAlloca;
}

/* The first of the instructions that stay when `block` gives up its head; NULL = it is short. */
static LLVMValueRef cut_after(LLVMBasicBlockRef block)
{
    unsigned n = 0;
    LLVMValueRef at = LLVMGetFirstInstruction(block);

    for (; at && n < BLOCK_MAX; at = LLVMGetNextInstruction(at))
        n += !stays_in_front(at);
    return at && at != LLVMGetBasicBlockTerminator(block) ? at : NULL;
}

/*
 * Whoever branches to `block` branches to `head`. Replacing a block would also rename it in the
 * phis of the blocks behind it, which it stays before: so it must not have any at that moment.
 */
static void entries_move(LLVMBuilderRef b, LLVMBasicBlockRef block, LLVMBasicBlockRef head)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);

    LLVMInstructionRemoveFromParent(end);
    LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(block), LLVMBasicBlockAsValue(head));
    LLVMPositionBuilderAtEnd(b, block);
    LLVMInsertIntoBuilder(b, end);
}

/* All before `keep` goes into a block of its own in front. */
static void head_cut(LLVMContextRef ctx, LLVMBuilderRef b, LLVMBasicBlockRef block,
                     LLVMValueRef keep)
{
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(ctx, block, "");
    LLVMValueRef next;

    entries_move(b, block, head);
    LLVMPositionBuilderAtEnd(b, head);
    for (LLVMValueRef in = LLVMGetFirstInstruction(block); in != keep; in = next) {
        next = LLVMGetNextInstruction(in);
        LLVMInstructionRemoveFromParent(in);
        LLVMInsertIntoBuilder(b, in);
    }
    LLVMBuildBr(b, block);
    assert(LLVMGetFirstInstruction(block) == keep && LLVMGetBasicBlockTerminator(head));
}

bool gen_split_blocks(struct gen_unit *u)
{
    bool changed = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(u->ctx);

    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(f);
        for (; at; at = LLVMGetNextBasicBlock(at)) {
            LLVMValueRef keep;
            while ((keep = cut_after(at))) {
                head_cut(u->ctx, b, at, keep);
                changed = true;
            }
        }
    }
    LLVMDisposeBuilder(b);
    return changed;
}
