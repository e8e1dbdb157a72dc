/*
 * Gathers and scatters whose lanes are known, scalarised: one access for each lane.
 *
 * Once a region runs for the first warp only (gen_cta.c), the masks of its tests are constants, and
 * so are the distances of its lanes: the last levels of a tree whose threads are far apart. The
 * next level reads what a scatter has written only when that is in the cache; what a lane's own
 * store wrote it takes from there.
 */
#include <assert.h>

#include "jit/gen/post/gen_post.h"

/* How many operations make an address of lanes. */
#define DEPTH 8

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

/* What all lanes are made of: shuffle (insert nothing, x, 0), nothing, zero; NULL: not such. */
static LLVMValueRef splatted(LLVMValueRef v)
{
    if (!LLVMIsAShuffleVectorInst(v))
        return NULL;
    for (unsigned i = 0; i < LLVMGetNumMaskElements(v); i++) {
        if (LLVMGetMaskValue(v, i) > 0)
            return NULL;
    }
    LLVMValueRef x = LLVMGetOperand(v, 0), zero;
    zero = LLVMIsAInsertElementInst(x) ? LLVMGetOperand(x, 2) : NULL;
    return zero && LLVMIsAConstantInt(zero) && !LLVMConstIntGetZExtValue(zero)
               ? LLVMGetOperand(x, 1)
               : NULL;
}

static LLVMValueRef lane_of(LLVMBuilderRef b, LLVMValueRef v, unsigned lane, unsigned depth);

static LLVMValueRef lane_of_gep(LLVMBuilderRef b, LLVMValueRef v, unsigned lane, unsigned depth)
{
    LLVMValueRef base = LLVMGetOperand(v, 0), index = LLVMGetOperand(v, 1);
    if (LLVMGetNumOperands(v) != 2)
        return NULL;
    base = lane_of(b, base, lane, depth);
    index = base ? lane_of(b, index, lane, depth) : NULL;
    return index ? LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(v), base, &index, 1, "") : NULL;
}

/* The value of one lane without the vector; NULL: it is not made lane by lane. */
static LLVMValueRef lane_of(LLVMBuilderRef b, LLVMValueRef v, unsigned lane, unsigned depth)
{
    LLVMValueRef x, y;
    if (!is_vector(v))
        return v;
    if (LLVMIsConstant(v))
        return LLVMGetAggregateElement(v, lane);
    if (depth == DEPTH || !LLVMIsAInstruction(v))
        return NULL;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    switch (op) {
    case LLVMShuffleVector:
        return splatted(v);
    case LLVMGetElementPtr:
        return lane_of_gep(b, v, lane, depth + 1);
    case LLVMIntToPtr:
    case LLVMSExt:
    case LLVMZExt:
        x = lane_of(b, LLVMGetOperand(v, 0), lane, depth + 1);
        return x ? LLVMBuildCast(b, op, x, LLVMGetElementType(LLVMTypeOf(v)), "") : NULL;
    case LLVMAdd:
    case LLVMShl:
        x = lane_of(b, LLVMGetOperand(v, 0), lane, depth + 1);
        y = x ? lane_of(b, LLVMGetOperand(v, 1), lane, depth + 1) : NULL;
        return y ? LLVMBuildBinOp(b, op, x, y, "") : NULL;
    default:
        return NULL;
    }
}

/* Of the lanes that run, as scalars, one bit for each; 0: they are not known. */
static unsigned known_lanes(LLVMValueRef mask)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(mask)), lanes = 0;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef lane = LLVMIsConstant(mask) ? LLVMGetAggregateElement(mask, i) : NULL;
        if (!lane || !LLVMIsAConstantInt(lane))
            return 0;
        lanes |= (unsigned)LLVMConstIntGetZExtValue(lane) << i;
    }
    return lanes;
}

static bool find_places(LLVMBuilderRef b, LLVMValueRef ptrs, unsigned lanes,
                        LLVMValueRef out[GEN_LANES])
{
    for (unsigned l = 0; l < GEN_LANES; l++) {
        if (lanes >> l & 1 && !(out[l] = lane_of(b, ptrs, l, 0)))
            return false;
    }
    return lanes;
}

static bool is_ours(LLVMTypeRef type)
{
    return LLVMGetVectorSize(type) <= GEN_LANES;
}

/* llvm.masked.gather(pointers, alignment, mask, what the other lanes hold) */
static bool split_gather(LLVMBuilderRef b, LLVMValueRef call)
{
    LLVMTypeRef type = LLVMTypeOf(call), elem = LLVMGetElementType(type);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    unsigned lanes = known_lanes(LLVMGetOperand(call, 2));
    LLVMValueRef at[GEN_LANES], x = LLVMGetOperand(call, 3);
    LLVMPositionBuilderBefore(b, call);
    if (!is_ours(type) || !find_places(b, LLVMGetOperand(call, 0), lanes, at))
        return false;
    for (unsigned l = 0; l < GEN_LANES; l++) {
        if (!(lanes >> l & 1))
            continue;
        LLVMValueRef word = LLVMBuildLoad2(b, elem, at[l], "");
        LLVMSetAlignment(word, (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 1)));
        x = LLVMBuildInsertElement(b, x, word, LLVMConstInt(i32, l, false), "");
    }
    LLVMReplaceAllUsesWith(call, x);
    return true;
}

/* llvm.masked.scatter(value, pointers, alignment, mask): in the order of lanes */
static bool split_scatter(LLVMBuilderRef b, LLVMValueRef call)
{
    LLVMValueRef x = LLVMGetOperand(call, 0), at[GEN_LANES];
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    unsigned lanes = known_lanes(LLVMGetOperand(call, 3));
    LLVMPositionBuilderBefore(b, call);
    if (!is_ours(type) || !find_places(b, LLVMGetOperand(call, 1), lanes, at))
        return false;
    for (unsigned l = 0; l < GEN_LANES; l++) {
        if (!(lanes >> l & 1))
            continue;
        LLVMValueRef word = LLVMBuildExtractElement(b, x, LLVMConstInt(i32, l, false), "");
        LLVMSetAlignment(LLVMBuildStore(b, word, at[l]),
                         (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 2)));
    }
    return true;
}

static bool split(LLVMBuilderRef b, LLVMValueRef i)
{
    if (gen_is_call_of(i, "llvm.masked.gather"))
        return split_gather(b, i);
    return gen_is_call_of(i, "llvm.masked.scatter") && split_scatter(b, i);
}

bool gen_scalar_gather(struct gen_unit *u)
{
    return gen_replace_all(u, split);
}
