/*
 * Accesses by the first lanes only, as plain accesses to shorter vectors.
 *
 * Once a region runs for the first warp only (gen_cta.c), the masks of its tests are constants: the
 * last levels of a tree in shared memory work on 16, 8, 4, 2, 1 lanes. A load that reads what a
 * masked store has just written waits until it is in the cache; what a plain store wrote it takes
 * from there. So the levels, each of which reads what the one before wrote, follow sooner.
 */
#include <assert.h>
#include <string.h>

#include "jit/gen/post/gen_post.h"

bool gen_is_call_of(LLVMValueRef v, const char *name)
{
    return LLVMIsAIntrinsicInst(v) &&
           LLVMGetIntrinsicID(LLVMGetCalledValue(v)) == LLVMLookupIntrinsicID(name, strlen(name));
}

bool gen_replace_all(struct gen_unit *u, gen_replace *by)
{
    bool changed = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(u->mod));

    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block)) {
            LLVMValueRef next;
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (!by(b, i))
                    continue;
                LLVMInstructionEraseFromParent(i);
                changed = true;
            }
        }
    }
    LLVMDisposeBuilder(b);
    return changed;
}

unsigned gen_prefix_of(LLVMValueRef mask)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(mask)), first = 0;
    if (!LLVMIsConstant(mask) || LLVMIsUndef(mask))
        return 0;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(mask, i);
        if (!lane || !LLVMIsAConstantInt(lane))
            return 0;
        bool set = LLVMConstIntGetZExtValue(lane);
        if (set && first < i)
            return 0;
        first += set;
    }
    return first && hd_is_pow2(first) && first < n ? first : 0;
}

/* The first n lanes of `x`, as a vector of `size`; the others hold anything. */
static LLVMValueRef lanes_of(LLVMBuilderRef b, LLVMValueRef x, unsigned n, unsigned size)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
    LLVMValueRef pick[GEN_LANES];
    assert(size <= GEN_LANES);
    for (unsigned i = 0; i < size; i++)
        pick[i] = i < n ? LLVMConstInt(i32, i, false) : LLVMGetPoison(i32);
    return LLVMBuildShuffleVector(b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(pick, size),
                                  "");
}

/* The first n lanes at `ptr`, as a vector of `type`: one register is loaded, whatever its size. */
static LLVMValueRef load_first(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef ptr, unsigned n,
                               unsigned align)
{
    LLVMTypeRef elem = LLVMGetElementType(type);
    unsigned size = LLVMGetVectorSize(type), bits = n * LLVMGetIntTypeWidth(elem);
    bool word = bits <= 64;
    LLVMTypeRef one =
        word ? LLVMIntTypeInContext(LLVMGetTypeContext(type), bits) : LLVMVectorType(elem, n);
    LLVMValueRef x = LLVMBuildLoad2(b, one, ptr, "");
    LLVMSetAlignment(x, align);
    if (!word)
        return lanes_of(b, x, n, size);
    LLVMValueRef words = LLVMGetPoison(LLVMVectorType(one, size / n));
    LLVMValueRef zero = LLVMConstNull(LLVMInt32TypeInContext(LLVMGetTypeContext(type)));
    return LLVMBuildBitCast(b, LLVMBuildInsertElement(b, words, x, zero, ""), type, "");
}

static bool is_int_vector(LLVMTypeRef type)
{
    return LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMIntegerTypeKind;
}

/* Zero, which gen_masked_load() names for want of anything better. */
bool gen_is_nothing(LLVMValueRef v)
{
    for (unsigned i = 0; LLVMIsConstant(v) && i < LLVMGetVectorSize(LLVMTypeOf(v)); i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(v, i);
        if (!lane || !(LLVMIsNull(lane) || LLVMIsUndef(lane)))
            return false;
    }
    return LLVMIsConstant(v);
}

/* llvm.masked.load(pointer, alignment, mask, what the other lanes hold) */
static bool shorten_load(LLVMBuilderRef b, LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(load);
    unsigned n = gen_prefix_of(LLVMGetOperand(load, 2)), size = LLVMGetVectorSize(type);
    if (!n || size > GEN_LANES || !is_int_vector(type) || !gen_is_nothing(LLVMGetOperand(load, 3)))
        return false;
    LLVMPositionBuilderBefore(b, load);
    uint64_t align = LLVMConstIntGetZExtValue(LLVMGetOperand(load, 1));
    LLVMValueRef x = load_first(b, type, LLVMGetOperand(load, 0), n, (unsigned)align);
    LLVMReplaceAllUsesWith(load, LLVMBuildFreeze(b, x, ""));
    return true;
}

/* llvm.masked.store(value, pointer, alignment, mask) */
static bool shorten_store(LLVMBuilderRef b, LLVMValueRef store)
{
    LLVMValueRef x = LLVMGetOperand(store, 0);
    unsigned n = gen_prefix_of(LLVMGetOperand(store, 3));
    if (!n || LLVMGetVectorSize(LLVMTypeOf(x)) > GEN_LANES)
        return false;
    LLVMPositionBuilderBefore(b, store);
    x = lanes_of(b, x, n, n);
    LLVMValueRef plain = LLVMBuildStore(b, x, LLVMGetOperand(store, 1));
    LLVMSetAlignment(plain, (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(store, 2)));
    return true;
}

static bool shorten(LLVMBuilderRef b, LLVMValueRef i)
{
    if (gen_is_call_of(i, "llvm.masked.load"))
        return shorten_load(b, i);
    return gen_is_call_of(i, "llvm.masked.store") && shorten_store(b, i);
}

bool gen_prefix_accesses(struct gen_unit *u)
{
    return gen_replace_all(u, shorten);
}
