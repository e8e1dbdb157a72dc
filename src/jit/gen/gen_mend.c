/*
 * LLVM 19 selects a wrong instruction for some masked three-operand logic on AVX-512:
 *
 *     y = select k, (x & c) | (y & ~c), y        with x from memory
 *
 * becomes vpternlogd with the truth table of another order of operands, when the value that is kept
 * where the mask is not set is also one of the three, and the load another. (Two of the patterns
 * for memory operands are mixed up; the C intrinsics show it as well.) So the two stay apart: what
 * is chosen goes through an empty piece of assembly, which costs nothing but the masking.
 */
#include <assert.h>
#include <string.h>

#include "jit/gen/gen.h"
#include "jit/gen/gen_flow.h"

enum { ELEMENTS_MAX = 256 };

static LLVMValueRef strip(LLVMValueRef v)
{
    while (LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    return v;
}

static bool is_copysign(LLVMValueRef v)
{
    return LLVMIsAIntrinsicInst(v) &&
           LLVMGetIntrinsicID(LLVMGetCalledValue(v)) ==
               LLVMLookupIntrinsicID("llvm.copysign", strlen("llvm.copysign"));
}

static bool is_logic(LLVMValueRef v)
{
    return LLVMIsABinaryOperator(v) &&
           (LLVMGetInstructionOpcode(v) == LLVMAnd || LLVMGetInstructionOpcode(v) == LLVMOr ||
            LLVMGetInstructionOpcode(v) == LLVMXor);
}

/* Is `kept` an operand somewhere in an expression of logic? */
static bool is_operand(LLVMValueRef kept, LLVMValueRef expr, unsigned depth)
{
    enum { DEPTH = 4 }; /* three operands fit into one instruction */

    expr = strip(expr);
    if (expr == kept)
        return true;
    if (depth == DEPTH || !(is_logic(expr) || is_copysign(expr)))
        return false;
    return is_operand(kept, LLVMGetOperand(expr, 0), depth + 1) ||
           is_operand(kept, LLVMGetOperand(expr, 1), depth + 1);
}

static bool is_expression(LLVMValueRef v)
{
    return is_copysign(v) || (is_logic(v) && (is_logic(strip(LLVMGetOperand(v, 0))) ||
                                              is_logic(strip(LLVMGetOperand(v, 1)))));
}

/* Of a vector of whole bytes; 0: of anything else. */
static unsigned bits_of(LLVMTypeRef type)
{
    LLVMTypeRef elem;
    unsigned bits = 0;

    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return 0;
    elem = LLVMGetElementType(type);
    if (LLVMGetTypeKind(elem) == LLVMFloatTypeKind || LLVMGetTypeKind(elem) == LLVMDoubleTypeKind)
        bits = LLVMGetTypeKind(elem) == LLVMFloatTypeKind ? 32 : 64;
    else if (LLVMGetTypeKind(elem) == LLVMIntegerTypeKind)
        bits = LLVMGetIntTypeWidth(elem);
    return bits < 8 ? 0 : bits * LLVMGetVectorSize(type);
}

/* n elements of the vectors, one behind the other, from number `first` on. */
static LLVMValueRef elements(LLVMBuilderRef b, LLVMValueRef lo, LLVMValueRef hi, unsigned first,
                             unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(lo)));
    LLVMValueRef which[ELEMENTS_MAX];

    assert(n <= ELEMENTS_MAX);
    for (unsigned i = 0; i < n; i++)
        which[i] = LLVMConstInt(i32, first + i, false);
    return LLVMBuildShuffleVector(b, lo, hi, LLVMConstVector(which, n), "");
}

/* Nothing is known of the result but that it is v: register by register. */
static LLVMValueRef apart(LLVMBuilderRef b, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v), fn = LLVMFunctionType(type, &type, 1, false);
    unsigned half = LLVMGetVectorSize(type) / 2;

    if (bits_of(type) > 512)
        return elements(b, apart(b, elements(b, v, v, 0, half)),
                        apart(b, elements(b, v, v, half, half)), 0, 2 * half);
    LLVMValueRef nothing =
        LLVMGetInlineAsm(fn, "", 0, "=v,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(b, fn, nothing, &v, 1, "");
}

/* Whole registers, or vectors that are some of them. */
static bool is_whole(LLVMTypeRef type)
{
    unsigned bits = bits_of(type);

    return bits >= 128 && hd_is_pow2(bits) && LLVMGetVectorSize(type) <= ELEMENTS_MAX;
}

static void mend_select(LLVMBuilderRef b, LLVMValueRef select)
{
    if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(select, 0))) != LLVMVectorTypeKind)
        return;
    for (unsigned side = 1; side <= 2; side++) {
        LLVMValueRef chosen = LLVMGetOperand(select, side), expr = strip(chosen);
        LLVMValueRef kept = strip(LLVMGetOperand(select, 3 - side));

        if (!is_expression(expr) || !is_whole(LLVMTypeOf(expr)) || !is_operand(kept, expr, 0))
            continue;
        LLVMPositionBuilderBefore(b, select);
        expr = LLVMBuildBitCast(b, apart(b, expr), LLVMTypeOf(chosen), "");
        LLVMSetOperand(select, side, expr);
    }
}

void gen_mend_selects(struct gen_unit *u)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(u->mod));

    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
                if (LLVMIsASelectInst(i))
                    mend_select(b, i);
    LLVMDisposeBuilder(b);
}
